/* Writes, changes and reads a file through a virtual file driver, and prints what is in it.
 * usage: drivers create|change|read DRIVER FILE [REVISION]
 * The same program runs on libhdf5 and on this library; what one wrote, the other must read. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef H5_HAVE_PARALLEL
#include <mpi.h>
#endif

#define COUNT 5000

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

static hid_t access_list(const char *driver, const char *file, const char *revision)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    herr_t set = -1;
    char   name[1024];

    if (!strcmp(driver, "sec2"))
        set = H5Pset_fapl_sec2(fapl);
#ifdef H5_HAVE_DIRECT
    else if (!strcmp(driver, "direct")) {
        size_t a = 0, b = 0, c = 0;
        set = H5Pset_fapl_direct(fapl, 4096, 4096, 65536);
        H5Pget_fapl_direct(fapl, &a, &b, &c);
        check(a == 4096 && b == 4096 && c == 65536, "H5Pget_fapl_direct");
    }
#endif
    else if (!strcmp(driver, "log")) {
        snprintf(name, sizeof name, "%s.log", file);
        set = H5Pset_fapl_log(fapl, name, H5FD_LOG_LOC_IO | H5FD_LOG_NUM_IO | H5FD_LOG_ALLOC, 0);
    }
    else if (!strcmp(driver, "splitter")) {
        H5FD_splitter_vfd_config_t config, got;
        memset(&config, 0, sizeof config);
        memset(&got, 0, sizeof got);
        config.magic = got.magic = H5FD_SPLITTER_MAGIC;
        config.version = got.version = H5FD_CURR_SPLITTER_VFD_CONFIG_VERSION;
        config.rw_fapl_id = config.wo_fapl_id = H5P_DEFAULT;
        snprintf(config.wo_path, sizeof config.wo_path, "%s.copy", file);
        snprintf(config.log_file_path, sizeof config.log_file_path, "%s.failures", file);
        set = H5Pset_fapl_splitter(fapl, &config);
        check(H5Pget_fapl_splitter(fapl, &got) >= 0 && !strcmp(got.wo_path, config.wo_path) && !got.ignore_wo_errs,
              "H5Pget_fapl_splitter");
    }
#ifdef H5_HAVE_MIRROR_VFD
    else if (!strcmp(driver, "mirror")) {
        H5FD_splitter_vfd_config_t config;
        H5FD_mirror_fapl_t         mirror = {H5FD_MIRROR_FAPL_MAGIC, H5FD_MIRROR_CURR_FAPL_T_VERSION, 0, "127.0.0.1"};
        hid_t                      copy = H5Pcreate(H5P_FILE_ACCESS);
        mirror.handshake_port = atoi(getenv("MIRROR_PORT"));
        check(H5Pset_fapl_mirror(copy, &mirror) >= 0, "H5Pset_fapl_mirror");
        memset(&config, 0, sizeof config);
        config.magic = H5FD_SPLITTER_MAGIC;
        config.version = H5FD_CURR_SPLITTER_VFD_CONFIG_VERSION;
        config.rw_fapl_id = H5P_DEFAULT;
        config.wo_fapl_id = copy;
        snprintf(config.wo_path, sizeof config.wo_path, "%s.copy", file);
        set = H5Pset_fapl_splitter(fapl, &config);
    }
#endif
    else if (!strcmp(driver, "onion")) {
        H5FD_onion_fapl_info_t info, got;
        memset(&info, 0, sizeof info);
        info.version = H5FD_ONION_FAPL_INFO_VERSION_CURR;
        /* libhdf5 needs a list here to change a file. */
        info.backing_fapl_id = H5Pcreate(H5P_FILE_ACCESS);
        info.page_size = 1024;
        info.store_target = H5FD_ONION_STORE_TARGET_ONION;
        info.revision_num = revision ? strtoull(revision, NULL, 10) : H5FD_ONION_FAPL_INFO_REVISION_ID_LATEST;
        strcpy(info.comment, "a revision");
        set = H5Pset_fapl_onion(fapl, &info);
        check(H5Pget_fapl_onion(fapl, &got) >= 0 && got.page_size == 1024 && got.revision_num == info.revision_num,
              "H5Pget_fapl_onion");
    }
#ifdef H5_HAVE_SUBFILING_VFD
    else if (!strcmp(driver, "subfiling")) {
        H5FD_subfiling_config_t config;
        H5E_BEGIN_TRY
        {
            H5Pset_mpi_params(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
        }
        H5E_END_TRY
        check(H5Pget_fapl_subfiling(fapl, &config) >= 0, "H5Pget_fapl_subfiling");
        config.shared_cfg.stripe_size = 4096;
        config.shared_cfg.stripe_count = 3;
        set = H5Pset_fapl_subfiling(fapl, &config);
        H5Pclose(config.ioc_fapl_id);
    }
#endif
    check(set >= 0, driver);
    return fapl;
}

static void put(hid_t file, const char *name, int factor)
{
    hsize_t size = COUNT, chunk = 500;
    int    *data = malloc(COUNT * sizeof *data);
    hid_t   space = H5Screate_simple(1, &size, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t   set;
    for (int i = 0; i < COUNT; i++)
        data[i] = i * factor;
    H5Pset_chunk(dcpl, 1, &chunk);
    set = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    check(set >= 0 && H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "write");
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(dcpl);
    free(data);
}

static void overwrite(hid_t file, const char *name)
{
    int     data[100];
    hsize_t start = 450, count = 100;
    hid_t   set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set), memory = H5Screate_simple(1, &count, NULL);
    for (int i = 0; i < 100; i++)
        data[i] = -1;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
    check(H5Dwrite(set, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, data) >= 0, "overwrite");
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
}

static herr_t show(hid_t file, const char *name, const H5L_info2_t *info, void *unused)
{
    int      *data = malloc(COUNT * sizeof *data);
    long long sum = 0;
    hid_t     set = H5Dopen2(file, name, H5P_DEFAULT);
    (void)info;
    (void)unused;
    check(set >= 0 && H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "read");
    for (int i = 0; i < COUNT; i++)
        sum = sum * 31 + data[i];
    printf("%s %d %d %lld\n", name, data[450], data[COUNT - 1], sum);
    H5Dclose(set);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argv[1], *driver = argv[2], *name = argv[3];
    hid_t       fapl, file;
#ifdef H5_HAVE_PARALLEL
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
#endif
    fapl = access_list(driver, name, argc > 4 ? argv[4] : NULL);
    if (!strcmp(what, "create")) {
        file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        check(file >= 0, "create");
        put(file, "first", 3);
    }
    else if (!strcmp(what, "change")) {
        file = H5Fopen(name, H5F_ACC_RDWR, fapl);
        check(file >= 0, "open to change");
        overwrite(file, "first");
        put(file, "second", 5);
    }
    else if (!strcmp(what, "count")) {
        uint64_t count = 0;
        check(H5FDonion_get_revision_count(name, fapl, &count) >= 0, "H5FDonion_get_revision_count");
        printf("%d revisions\n", (int)count);
        return 0;
    }
    else {
        file = H5Fopen(name, H5F_ACC_RDONLY, fapl);
        check(file >= 0, "open");
        H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, show, NULL);
    }
    check(H5Fclose(file) >= 0, "close");
    H5Pclose(fapl);
#ifdef H5_HAVE_PARALLEL
    H5close();
    MPI_Finalize();
#endif
    return 0;
}
