/* What is set of files and objects that are open: version bounds, sizes, and flushes of metadata; and what is free. */
#include "show.h"
#include <sys/stat.h>

static void group(hid_t file, const char *name)
{
    hid_t group;
    SHOW_ID(group, H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(group);
}

/* Object headers have a signature since the second version. */
static void version(hid_t file, const char *name)
{
    H5O_info_t info;
    char       signature[4] = "";
    FILE      *bytes = fopen("open_files.h5", "rb");
    SHOW(H5Oget_info_by_name(file, name, &info, H5P_DEFAULT));
    fseek(bytes, (long)info.addr, SEEK_SET);
    fread(signature, 1, 4, bytes);
    fclose(bytes);
    printf("  %s has a header of version %d\n", name, memcmp(signature, "OHDR", 4) == 0 ? 2 : 1);
}

static void bounds(hid_t fapl)
{
    H5F_libver_t low, high;
    hid_t        file = H5Fcreate("open_files.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl), list;
    group(file, "early");
    SHOW(H5Fset_libver_bounds(file, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    group(file, "late");
    list = H5Fget_access_plist(file);
    SHOW(H5Pget_libver_bounds(list, &low, &high));
    printf("  %d %d\n", low == H5F_LIBVER_LATEST, high == H5F_LIBVER_LATEST);
    H5Pclose(list);
    SHOW(H5Fset_libver_bounds(file, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18));
    group(file, "early again");
    SHOW(H5Fset_latest_format(file, 1));
    group(file, "latest");
    SHOW(H5Fclose(file));
    file = H5Fopen("open_files.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    version(file, "early"), version(file, "late"), version(file, "early again"), version(file, "latest");
    SHOW(H5Fclose(file));
}

static void flushes(hid_t file)
{
    hbool_t are = 7;
    hid_t   group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), same;
    SHOW(H5Oare_mdc_flushes_disabled(group, &are));
    printf("  %d\n", are);
    SHOW(H5Odisable_mdc_flushes(group));
    SHOW(H5Odisable_mdc_flushes(group));
    SHOW_ID(same, H5Gopen2(file, "group", H5P_DEFAULT));
    SHOW(H5Oare_mdc_flushes_disabled(same, &are));
    printf("  %d\n", are);
    SHOW(H5Oenable_mdc_flushes(same));
    SHOW(H5Oare_mdc_flushes_disabled(group, &are));
    printf("  %d\n", are);
    H5Gclose(same), H5Gclose(group);
}

static long long bytes_of(const char *name)
{
    struct stat found;
    return stat(name, &found) == 0 ? (long long)found.st_size : -1;
}

static void larger(hid_t fapl)
{
    hid_t     file = H5Fcreate("larger.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    long long before;
    H5Gclose(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    before = bytes_of("larger.h5");
    file = H5Fopen("larger.h5", H5F_ACC_RDWR, fapl);
    SHOW(H5Fincrement_filesize(file, 10000));
    SHOW(H5Fclose(file));
    printf("  %lld bytes more\n", bytes_of("larger.h5") - before);
    file = H5Fopen("larger.h5", H5F_ACC_RDONLY, fapl);
    SHOW(H5Lexists(file, "group", H5P_DEFAULT));
    H5Fclose(file);
}

/* Where a dataset was that is gone. */
static void holes(hid_t fapl)
{
    hsize_t         dims[1] = {10000};
    hid_t           fcpl = H5Pcreate(H5P_FILE_CREATE), dcpl = H5Pcreate(H5P_DATASET_CREATE), file, first, second;
    hid_t           space = H5Screate_simple(1, dims, NULL);
    H5F_sect_info_t sections[20];
    ssize_t         count;
    haddr_t         place;
    int             is_there = 0;
    H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY);
    SHOW(H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_FSM_AGGR, 1, 1));
    file = H5Fcreate("holes.h5", H5F_ACC_TRUNC, fcpl, fapl);
    first = H5Dcreate2(file, "first", H5T_NATIVE_CHAR, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    second = H5Dcreate2(file, "second", H5T_NATIVE_CHAR, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    place = H5Dget_offset(first);
    H5Dclose(first), H5Dclose(second), H5Fclose(file);
    file = H5Fopen("holes.h5", H5F_ACC_RDWR, fapl);
    SHOW(H5Ldelete(file, "first", H5P_DEFAULT));
    H5Fclose(file);
    file = H5Fopen("holes.h5", H5F_ACC_RDONLY, fapl);
    count = H5Fget_free_sections(file, H5FD_MEM_DEFAULT, 20, sections);
    for (ssize_t n = 0; n < count && n < 20; n++)
        is_there |= sections[n].addr <= place && place + 10000 <= sections[n].addr + sections[n].size;
    printf("  some %d, the dataset's %d\n", count > 0, is_there);
    H5Fclose(file), H5Sclose(space), H5Pclose(dcpl), H5Pclose(fcpl);
}

int main(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5Pset_libver_bounds(fapl, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    bounds(fapl);
    larger(fapl);
    holes(fapl);
    file = H5Fcreate("flushes.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    flushes(file);
    H5Fclose(file), H5Pclose(fapl);
    return 0;
}
