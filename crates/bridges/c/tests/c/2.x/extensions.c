/* Filters, plugin paths, connectors and drivers that a program registers, without any file. Prints what it sees. */
#include "hdf5.h"
#include "H5FDdevelop.h"
#include "H5PLextern.h"
#include "H5VLconnector.h"
#include "H5VLconnector_passthru.h"
#include "H5Zdevelop.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t same(unsigned flags, size_t n, const unsigned v[], size_t nbytes, size_t *size, void **buf) {
    (void)flags; (void)n; (void)v; (void)size; (void)buf;
    return nbytes;
}

static const H5Z_class2_t FILTER = {H5Z_CLASS_T_VERS, 400, 1, 1, "same as before", NULL, NULL, same};
static const H5Z_class2_t READER = {H5Z_CLASS_T_VERS, 401, 0, 1, "reads only", NULL, NULL, same};
static const H5Z_class1_t OLD = {402, "old class", NULL, NULL, same};
static const H5Z_class2_t RESERVED = {H5Z_CLASS_T_VERS, 100, 1, 1, "reserved", NULL, NULL, same};
static const H5Z_class2_t EMPTY = {H5Z_CLASS_T_VERS, 403, 1, 1, "empty", NULL, NULL, NULL};

static void filters(void) {
    unsigned config = 99, flags = 99, values[4] = {9, 9, 9, 9};
    size_t count = 4;
    char name[12] = "";
    printf("own %d %d\n", (int)H5Zfilter_avail(2), (int)H5Zfilter_avail(3));
    printf("unknown %d %d\n", (int)H5Zfilter_avail(399), (int)H5Zfilter_avail(-5));
    printf("info %d", H5Zget_filter_info(2, &config)); printf(" %u\n", config);
    printf("info %d\n", H5Zget_filter_info(399, &config));
    printf("register %d %d %d\n", H5Zregister(&FILTER), H5Zregister(&READER), H5Zregister(&OLD));
    printf("refused %d %d %d\n", H5Zregister(&RESERVED), H5Zregister(&EMPTY), H5Zregister(NULL));
    printf("there %d %d %d\n", (int)H5Zfilter_avail(400), (int)H5Zfilter_avail(401), (int)H5Zfilter_avail(402));
    printf("info %d", H5Zget_filter_info(401, &config)); printf(" %u\n", config);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    values[0] = 7; values[1] = 8;
    printf("set %d\n", H5Pset_filter(dcpl, 400, H5Z_FLAG_OPTIONAL, 2, values));
    values[0] = values[1] = 0;
    printf("get %d", H5Pget_filter2(dcpl, 0, &flags, &count, values, sizeof name, name, &config));
    printf(" %u %zu %u %u %s %u\n", flags, count, values[0], values[1], name, config);
    printf("avail %d\n", (int)H5Pall_filters_avail(dcpl));
    printf("unregister %d %d\n", H5Zunregister(402), H5Zunregister(1));
    printf("again %d\n", H5Zunregister(402));
    count = 1;
    printf("by id %d", H5Pget_filter_by_id2(dcpl, 400, &flags, &count, values, 0, NULL, NULL)); printf(" %zu\n", count);
    printf("modify %d\n", H5Pmodify_filter(dcpl, 400, 0, 0, NULL));
    printf("count %d\n", H5Pget_nfilters(dcpl));
    printf("remove %d\n", H5Premove_filter(dcpl, H5Z_FILTER_ALL));
    printf("count %d\n", H5Pget_nfilters(dcpl));
    H5Pclose(dcpl);
}

static void show_paths(void) {
    unsigned count = 0;
    H5PLsize(&count);
    printf("paths %u:", count);
    for (unsigned i = 0; i < count; i++) {
        char path[100];
        long len = (long)H5PLget(i, path, sizeof path);
        printf(" %ld %s", len, path);
    }
    printf("\n");
}

static void plugins(void) {
    unsigned mask = 0;
    printf("state %d", H5PLget_loading_state(&mask)); printf(" %x\n", mask & 1);
    while (H5PLremove(0) >= 0) {}
    show_paths();
    printf("append %d\n", H5PLappend("/b"));
    printf("prepend %d\n", H5PLprepend("/a"));
    printf("insert %d %d\n", H5PLinsert("/ab", 1), H5PLinsert("/z", 9));
    show_paths();
    printf("replace %d %d\n", H5PLreplace("/c", 2), H5PLreplace("/c", 7));
    printf("remove %d %d\n", H5PLremove(0), H5PLremove(7));
    printf("bad %d %d %d\n", H5PLappend(NULL), H5PLappend(""), (int)H5PLget(9, NULL, 0));
    show_paths();
    printf("off %d\n", H5PLset_loading_state(0));
    H5PLget_loading_state(&mask); printf("state %x\n", mask);
}

static void connectors(void) {
    bool is_native = false;
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), vol = 0;
    printf("native %d %d\n", (int)H5VLis_connector_registered_by_name("native"), (int)H5VLis_connector_registered_by_value(0));
    printf("other %d %d\n", (int)H5VLis_connector_registered_by_name("nothing"), (int)H5VLis_connector_registered_by_value(9999));
    printf("get %d", H5Pget_vol_id(fapl, &vol)); printf(" %d\n", H5Iget_type(vol) == H5I_VOL);
    H5VL_class_value_t value = 77;
    printf("value %d", H5VLget_value(vol, &value)); printf(" %d\n", (int)value);
    printf("close %d\n", H5VLclose(vol));
    vol = H5VLget_connector_id_by_name("native");
    printf("by name %d\n", H5Iget_type(vol) == H5I_VOL);
    printf("set %d %d\n", H5Pset_vol(fapl, vol, NULL), H5Pset_vol(fapl, fapl, NULL));
    void *info = &vol;
    printf("info %d", H5Pget_vol_info(fapl, &info)); printf(" %d\n", info == NULL);
    printf("bad %d %d %d\n", (int)H5VLget_connector_id_by_name("nothing") < 0, (int)(H5VLregister_connector_by_name(NULL, 0) < 0), (int)(H5VLregister_connector(NULL, 0) < 0));
    printf("is native %d\n", H5VLobject_is_native(fapl, &is_native));
    H5Pclose(fapl);
}

static H5FD_t *d_open(const char *n, unsigned f, hid_t l, haddr_t m) { (void)n; (void)f; (void)l; (void)m; return NULL; }
static herr_t d_close(H5FD_t *f) { (void)f; return 0; }
static haddr_t d_get(const H5FD_t *f, H5FD_mem_t t) { (void)f; (void)t; return 0; }
static herr_t d_set(H5FD_t *f, H5FD_mem_t t, haddr_t a) { (void)f; (void)t; (void)a; return 0; }
static herr_t d_read(H5FD_t *f, H5FD_mem_t t, hid_t d, haddr_t a, size_t s, void *b) { (void)f; (void)t; (void)d; (void)a; (void)s; (void)b; return -1; }
static herr_t d_write(H5FD_t *f, H5FD_mem_t t, hid_t d, haddr_t a, size_t s, const void *b) { (void)f; (void)t; (void)d; (void)a; (void)s; (void)b; return -1; }
static void *d_copy(const void *info) { int *copy = malloc(sizeof *copy); *copy = *(const int *)info; printf("  copy %d\n", *copy); return copy; }
static herr_t d_free(void *info) { printf("  free %d\n", *(int *)info); free(info); return 0; }

static void drivers(void) {
    H5FD_class_t class = {.version = H5FD_CLASS_VERSION, .value = 700, .name = "mine", .maxaddr = HADDR_MAX, .fapl_size = sizeof(int), .fapl_copy = d_copy, .fapl_free = d_free,
        .open = d_open, .close = d_close, .get_eoa = d_get, .set_eoa = d_set, .get_eof = d_get, .read = d_read, .write = d_write};
    int number = 5;
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), driver = H5FDregister(&class);
    printf("type %d\n", H5Iget_type(driver) == H5I_VFL);
    printf("registered %d %d\n", (int)H5FDis_driver_registered_by_name("mine"), (int)H5FDis_driver_registered_by_value(700));
    printf("not %d %d\n", (int)H5FDis_driver_registered_by_name("other"), (int)H5FDis_driver_registered_by_value(701));
    printf("own %d %d\n", (int)H5FDis_driver_registered_by_name("sec2"), (int)H5FDis_driver_registered_by_value(H5_VFD_CORE));
    printf("set %d\n", H5Pset_driver(fapl, driver, &number));
    printf("get %d %d\n", H5Pget_driver(fapl) == driver, *(const int *)H5Pget_driver_info(fapl));
    printf("core %d\n", H5Pset_fapl_core(fapl, 1024, 0));
    size_t step = 0; bool store = 1;
    printf("core %d", H5Pget_fapl_core(fapl, &step, &store)); printf(" %zu %d\n", step, store);
    printf("is core %d\n", H5Pget_driver(fapl) == H5FD_CORE);
    printf("split %d\n", H5Pset_fapl_split(fapl, "-m.h5", 0, "-r.h5", 0));
    H5FD_mem_t map[H5FD_MEM_NTYPES]; hid_t lists[H5FD_MEM_NTYPES]; char *names[H5FD_MEM_NTYPES]; haddr_t at[H5FD_MEM_NTYPES]; bool relax;
    printf("multi %d\n", H5Pget_fapl_multi(fapl, map, lists, names, at, &relax));
    for (int i = 1; i < H5FD_MEM_NTYPES; i++) printf(" %d %s %llx\n", map[i], names[map[i]], (unsigned long long)at[map[i]]);
    unsigned long flags = 0;
    printf("query %d", H5FDdriver_query(H5FD_SEC2, &flags)); printf(" %lx\n", flags);
    printf("query %d", H5FDdriver_query(H5FD_CORE, &flags)); printf(" %lx\n", flags);
    printf("query %d", H5FDdriver_query(H5FD_STDIO, &flags)); printf(" %lx\n", flags);
    printf("query %d", H5FDdriver_query(H5FD_FAMILY, &flags)); printf(" %lx\n", flags);
    printf("query %d", H5FDdriver_query(H5FD_MULTI, &flags)); printf(" %lx\n", flags);
    class.open = NULL;
    printf("bad %d %d %d\n", (int)(H5FDregister(&class) < 0), (int)(H5FDregister(NULL) < 0), H5FDunregister(fapl));
    printf("unregister %d\n", H5FDunregister(driver));
    printf("registered %d\n", (int)H5FDis_driver_registered_by_name("mine"));
    H5Pclose(fapl);
}

int main(void) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5open();
    filters();
    plugins();
    connectors();
    drivers();
    return 0;
}
