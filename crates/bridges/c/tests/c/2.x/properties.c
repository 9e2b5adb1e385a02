/* Classes and properties of programs, with their callbacks, and encoded lists. Prints what it sees. */
#include "hdf5.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static herr_t class_create(hid_t list, void *data) { (void)list; printf("class create %s\n", (char *)data); return 0; }
static herr_t class_copy(hid_t list, hid_t from, void *data) { (void)list; (void)from; printf("class copy %s\n", (char *)data); return 0; }
static herr_t class_close(hid_t list, void *data) { (void)list; printf("class close %s\n", (char *)data); return 0; }

#define VALUE_CB(what) \
    static herr_t prop_##what(const char *name, size_t size, void *value) { printf("  %s %s %zu %d\n", #what, name, size, *(int *)value); return 0; }
#define LIST_CB(what) \
    static herr_t prop_##what(hid_t list, const char *name, size_t size, void *value) { (void)list; printf("  %s %s %zu %d\n", #what, name, size, *(int *)value); return 0; }
VALUE_CB(create) VALUE_CB(copy) VALUE_CB(close)
LIST_CB(set) LIST_CB(get) LIST_CB(delete)
static int prop_compare(const void *a, const void *b, size_t size) { (void)size; return *(const int *)a % 10 - *(const int *)b % 10; }

static herr_t print_name(hid_t id, const char *name, void *data) {
    size_t size = 0;
    H5Pget_size(id, name, &size);
    printf("  %s %zu\n", name, size);
    return ++*(int *)data == 3 ? 7 : 0;
}

static void print_bytes(const char *what, hid_t list) {
    size_t size = 0;
    printf("%s:", what);
    if (H5Pencode2(list, NULL, &size, H5P_DEFAULT) < 0) { printf(" failed\n"); return; }
    unsigned char *bytes = malloc(size);
    H5Pencode2(list, bytes, &size, H5P_DEFAULT);
    for (size_t i = 0; i < size; i++) printf(bytes[i] > 32 && bytes[i] < 127 ? "%c" : "\\%02x", bytes[i]);
    hid_t back = H5Pdecode(bytes);
    printf(" %d\n", (int)H5Pequal(list, back));
    H5Pclose(back);
    free(bytes);
}

static void classes(void) {
    int five = 5, number = 0;
    hid_t mine = H5Pcreate_class(H5P_DATASET_XFER, "mine", class_create, "a", class_copy, "b", class_close, "c");
    printf("register %d\n", H5Pregister2(mine, "number", sizeof five, &five, prop_create, prop_set, prop_get, prop_delete, prop_copy, prop_compare, prop_close));
    printf("again %d\n", H5Pregister2(mine, "number", sizeof five, &five, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    printf("empty %d\n", H5Pregister2(mine, "empty", 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    hid_t list = H5Pcreate(mine), copy;
    printf("exist %d %d\n", (int)H5Pexist(list, "number"), (int)H5Pexist(list, "vec_size"));
    printf("get %d", H5Pget(list, "number", &number)); printf(" %d\n", number);
    number = 15;
    printf("set %d\n", H5Pset(list, "number", &number));
    copy = H5Pcopy(list);
    printf("equal %d\n", (int)H5Pequal(list, copy));
    number = 25;
    H5Pset(copy, "number", &number);
    printf("equal %d\n", (int)H5Pequal(list, copy));
    number = 26;
    H5Pset(copy, "number", &number);
    printf("equal %d\n", (int)H5Pequal(list, copy));
    printf("insert %d\n", H5Pinsert2(list, "own", sizeof number, &number, prop_set, prop_get, prop_delete, prop_copy, NULL, prop_close));
    printf("insert %d\n", H5Pinsert2(list, "own", sizeof number, &number, NULL, NULL, NULL, NULL, NULL, NULL));
    size_t count = 0;
    H5Pget_nprops(list, &count); printf("nprops %zu\n", count);
    H5Pget_nprops(mine, &count); printf("nprops %zu\n", count);
    int at = 0, seen = 0;
    printf("iterate %d", H5Piterate(list, &at, print_name, &seen)); printf(" %d\n", at);
    printf("copy_prop %d\n", H5Pcopy_prop(copy, list, "own"));
    printf("copy_prop %d\n", H5Pcopy_prop(copy, list, "max_temp_buf"));
    printf("remove %d\n", H5Premove(list, "own"));
    printf("remove %d\n", H5Premove(list, "number"));
    printf("exist %d\n", (int)H5Pexist(list, "number"));
    printf("unregister %d\n", H5Punregister(mine, "empty"));
    printf("exist %d %d\n", (int)H5Pexist(list, "empty"), (int)H5Pexist(mine, "empty"));
    printf("isa %d %d\n", (int)H5Pisa_class(list, H5P_DATASET_XFER), (int)H5Pisa_class(list, H5P_DATASET_ACCESS));
    printf("buffer %d\n", H5Pset_buffer(list, 77, NULL, NULL));
    size_t buffer = 0;
    printf("get %d", H5Pget(list, "max_temp_buf", &buffer)); printf(" %zu\n", buffer);
    H5Pclose(copy);
    H5Pclose(list);
    H5Pclose_class(mine);
}

static void encoded(void) {
    hsize_t dims[2] = {10, 20};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 2, dims); H5Pset_shuffle(dcpl); H5Pset_deflate(dcpl, 4); H5Pset_fletcher32(dcpl);
    H5Pset_attr_creation_order(dcpl, 3); H5Pset_obj_track_times(dcpl, 0); H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
    print_bytes("chunked", dcpl);
    hid_t copy = H5Pcopy(dcpl);
    printf("equal %d\n", (int)H5Pequal(dcpl, copy));
    H5Pset_deflate(copy, 1);
    printf("equal %d\n", (int)H5Pequal(dcpl, copy));
    H5Pset_layout(dcpl, H5D_COMPACT); H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY);
    print_bytes("compact", dcpl);
    hid_t external = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(external, "x.dat", 4, 100); H5Pset_external(external, "y.dat", 0, H5F_UNLIMITED);
    H5Pset_dset_no_attrs_hint(external, 1); H5Pset_fill_value(external, H5T_NATIVE_INT, NULL);
    print_bytes("external", external);
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(fcpl, 1024); H5Pset_sizes(fcpl, 4, 0); H5Pset_sym_k(fcpl, 20, 5); H5Pset_istore_k(fcpl, 9);
    H5Pset_shared_mesg_nindexes(fcpl, 2); H5Pset_shared_mesg_index(fcpl, 0, H5O_SHMESG_DTYPE_FLAG, 30);
    H5Pset_shared_mesg_phase_change(fcpl, 30, 20); H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_PAGE, 1, 3);
    H5Pset_file_space_page_size(fcpl, 8192); H5Pset_link_creation_order(fcpl, 1); H5Pset_est_link_info(fcpl, 9, 8);
    print_bytes("file", fcpl);
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_alignment(fapl, 100, 512); H5Pset_cache(fapl, 0, 7, 1000, 0.5); H5Pset_libver_bounds(fapl, H5F_LIBVER_V110, H5F_LIBVER_LATEST);
    H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG); H5Pset_meta_block_size(fapl, 4096); H5Pset_sieve_buf_size(fapl, 9);
    H5Pset_gc_references(fapl, 1); H5Pset_evict_on_close(fapl, 1); H5Pset_elink_file_cache_size(fapl, 8); H5Pset_file_locking(fapl, 0, 1);
    H5Pset_page_buffer_size(fapl, 8192, 10, 20); H5Pset_mdc_log_options(fapl, 1, "log", 1); H5Pset_metadata_read_attempts(fapl, 5);
    H5Pset_small_data_block_size(fapl, 99); H5Pset_family_offset(fapl, 70000);
    H5AC_cache_config_t config; config.version = 1;
    H5Pget_mdc_config(fapl, &config); config.initial_size = 1234567; config.increment = 3; H5Pset_mdc_config(fapl, &config);
    H5AC_cache_image_config_t image = {1, 1, 0, 5}; H5Pset_mdc_image_config(fapl, &image);
    print_bytes("access", fapl);
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(dapl, 100, H5D_CHUNK_CACHE_NBYTES_DEFAULT, 0.25); H5Pset_virtual_view(dapl, H5D_VDS_FIRST_MISSING);
    H5Pset_virtual_printf_gap(dapl, 3); H5Pset_virtual_prefix(dapl, "/vds"); H5Pset_efile_prefix(dapl, "${ORIGIN}");
    H5Pset_nlinks(dapl, 300); H5Pset_elink_prefix(dapl, "there"); H5Pset_elink_acc_flags(dapl, H5F_ACC_RDONLY);
    print_bytes("dataset access", dapl);
    hid_t small = H5Pcreate(H5P_FILE_ACCESS); H5Pset_gc_references(small, 1); H5Pset_elink_fapl(dapl, small);
    print_bytes("external access", dapl);
    hid_t dxpl = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_buffer(dxpl, 4096, NULL, NULL); H5Pset_preserve(dxpl, 1); H5Pset_edc_check(dxpl, H5Z_DISABLE_EDC);
    H5Pset_btree_ratios(dxpl, 0.2, 0.5, 0.75); H5Pset_hyper_vector_size(dxpl, 500); H5Pset_data_transform(dxpl, "2*x+1");
    H5Pset_modify_write_buf(dxpl, 1);
    print_bytes("transfer", dxpl);
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(lcpl, 1); H5Pset_char_encoding(lcpl, H5T_CSET_UTF8);
    print_bytes("link", lcpl);
    hid_t ocpypl = H5Pcreate(H5P_OBJECT_COPY);
    H5Pset_copy_object(ocpypl, 0x21); H5Padd_merge_committed_dtype_path(ocpypl, "/a"); H5Padd_merge_committed_dtype_path(ocpypl, "/b");
    print_bytes("copy", ocpypl);
    hid_t ids[] = {dcpl, copy, external, fcpl, fapl, dapl, small, dxpl, lcpl, ocpypl};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) printf("close %d\n", H5Pclose(ids[i]));
}

int main(void) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5open();
    classes();
    encoded();
    return 0;
}
