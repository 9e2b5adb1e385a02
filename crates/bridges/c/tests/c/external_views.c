/* Data in other files: prefixes of external raw data, of virtual datasets and of external links; views and gaps. */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void show(const char *what, hid_t dataset)
{
    int     values[64];
    hsize_t dims[1] = {0};
    hid_t   space = H5Dget_space(dataset);
    memset(values, 99, sizeof values);
    H5Sget_simple_extent_dims(space, dims, NULL);
    herr_t done;
    H5E_BEGIN_TRY { done = H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values); } H5E_END_TRY
    printf("%s: read %d, %llu:", what, done >= 0, (unsigned long long)dims[0]);
    for (hsize_t n = 0; done >= 0 && n < dims[0] && n < 64; n++)
        printf(" %d", values[n]);
    printf("\n");
    H5Sclose(space);
}

static hid_t with_prefix(const char *external, const char *virtual)
{
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    if (external)
        H5Pset_efile_prefix(dapl, external);
    if (virtual)
        H5Pset_virtual_prefix(dapl, virtual);
    return dapl;
}

static void open_and_show(const char *path, const char *name, hid_t dapl, const char *what)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dataset;
    H5E_BEGIN_TRY { dataset = H5Dopen2(file, name, dapl); } H5E_END_TRY
    if (dataset >= 0) {
        show(what, dataset);
        H5Dclose(dataset);
    } else
        printf("%s: not opened\n", what);
    H5Fclose(file);
    if (dapl != H5P_DEFAULT)
        H5Pclose(dapl);
}

/* Elements in a file that a prefix leads to. */
static void raw_data(const char *path, const char *prefix, const char *stored)
{
    int     values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    hsize_t dims[1]   = {8};
    hid_t   file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(1, dims, NULL);
    hid_t   dcpl = H5Pcreate(H5P_DATASET_CREATE), dapl = with_prefix(prefix, NULL);
    H5Pset_external(dcpl, "part one.bin", 0, 12);
    H5Pset_external(dcpl, "part two.bin", 4, H5F_UNLIMITED);
    hid_t dataset = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, dapl);
    printf("%s: written %d\n", path, H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    hid_t list = H5Dget_access_plist(dataset);
    char  text[64] = "";
    ssize_t len = H5Pget_efile_prefix(list, text, sizeof text);
    printf("prefix %d, of an absolute path %d, in its place %d\n", len > 0, text[0] == '/', exists(stored));
    H5Pclose(list);
    H5Dclose(dataset);
    H5Pclose(dapl);
    H5Pclose(dcpl);
    H5Sclose(space);
    H5Fclose(file);
    open_and_show(path, "d", with_prefix(prefix, NULL), "with the prefix");
    open_and_show(path, "d", H5P_DEFAULT, "without");
    open_and_show(path, "d", with_prefix("absent", NULL), "with another");
}

static void source(int number)
{
    char    path[32];
    int     values[4];
    hsize_t dims[1] = {4};
    snprintf(path, sizeof path, "data/src-%d.h5", number);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(1, dims, NULL);
    hid_t dataset = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int n = 0; n < 4; n++)
        values[n] = 10 * number + n;
    H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
}

/* A dataset of blocks in files that are numbered, of which some are missing. */
static void numbered(const char *path, hsize_t first, hsize_t apart)
{
    hsize_t dims[1] = {4}, unlimited[1] = {H5S_UNLIMITED}, start[1] = {first}, stride[1] = {apart}, extent[1] = {first + 4};
    int     fill = -1;
    hid_t   file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t   space = H5Screate_simple(1, extent, unlimited), from = H5Screate_simple(1, dims, NULL);
    hid_t   dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fill_value(dcpl, H5T_NATIVE_INT, &fill);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, unlimited, dims);
    printf("mapped %d\n", H5Pset_virtual(dcpl, space, "src-%b.h5", "d", from) >= 0);
    hid_t all = H5Screate_simple(1, extent, unlimited);
    hid_t dataset = H5Dcreate2(file, "d", H5T_NATIVE_INT, all, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Dclose(dataset);
    H5Sclose(all);
    H5Pclose(dcpl);
    H5Sclose(from);
    H5Sclose(space);
    H5Fclose(file);
    for (int gap = 0; gap < 4; gap++)
        for (int view = 0; view < 2; view++) {
            char  what[64];
            hid_t dapl = with_prefix(NULL, "data");
            H5Pset_virtual_view(dapl, view ? H5D_VDS_LAST_AVAILABLE : H5D_VDS_FIRST_MISSING);
            H5Pset_virtual_printf_gap(dapl, (hsize_t)gap);
            snprintf(what, sizeof what, "%s, gap %d", view ? "last available" : "first missing", gap);
            open_and_show(path, "d", dapl, what);
        }
    open_and_show(path, "d", H5P_DEFAULT, "without the prefix");
}

/* Two datasets that grow, of different lengths. */
static void growing(void)
{
    hsize_t unlimited[1] = {H5S_UNLIMITED}, chunk[1] = {4};
    int     values[6] = {1, 2, 3, 4, 5, 6};
    for (int n = 0; n < 2; n++) {
        hsize_t many[1] = {n ? 6 : 3};
        hid_t   file = H5Fcreate(n ? "data/b.h5" : "data/a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        hid_t   space = H5Screate_simple(1, many, unlimited), dcpl = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(dcpl, 1, chunk);
        hid_t dataset = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        H5Dclose(dataset);
        H5Pclose(dcpl);
        H5Sclose(space);
        H5Fclose(file);
    }
}

/* Every third element is from one of two datasets, or from a fixed one if `fixed` says so: where the views end. */
static void interleaved(const char *path, const char *first, const char *second, int fixed)
{
    hsize_t dims[1] = {6}, unlimited[1] = {H5S_UNLIMITED}, start[1] = {0}, one[1] = {1}, three[1] = {3}, third[1] = {2};
    hsize_t four[1] = {4}, nine[1] = {9};
    int     fill = -1;
    hid_t   file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t   space = H5Screate_simple(1, nine, unlimited), from = H5Screate_simple(1, dims, unlimited);
    H5Pset_fill_value(dcpl, H5T_NATIVE_INT, &fill);
    if (fixed) {
        hid_t part = H5Screate_simple(1, four, NULL);
        H5Sselect_hyperslab(part, H5S_SELECT_SET, start, NULL, three, NULL);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, third, three, three, one);
        printf("mapped %d\n", H5Pset_virtual(dcpl, space, "src-0.h5", "d", part) >= 0);
        H5Sclose(part);
    }
    H5Sselect_hyperslab(from, H5S_SELECT_SET, start, one, unlimited, one);
    for (int n = 0; n < 2; n++) {
        start[0] = (hsize_t)n;
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, three, unlimited, one);
        printf("mapped %d\n", H5Pset_virtual(dcpl, space, n ? second : first, "d", from) >= 0);
    }
    hid_t all = H5Screate_simple(1, nine, unlimited);
    H5Dclose(H5Dcreate2(file, "d", H5T_NATIVE_INT, all, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    H5Sclose(all);
    H5Sclose(from);
    H5Sclose(space);
    H5Pclose(dcpl);
    H5Fclose(file);
    for (int view = 0; view < 2; view++) {
        hid_t dapl = with_prefix(NULL, "data");
        H5Pset_virtual_view(dapl, view ? H5D_VDS_LAST_AVAILABLE : H5D_VDS_FIRST_MISSING);
        open_and_show(path, "d", dapl, view ? "last available" : "first missing");
    }
}

/* A link to another file, followed with a prefix and with access flags. */
static void links(void)
{
    hid_t file = H5Fcreate("data/target.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    file = H5Fcreate("links.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("target.h5", "g", file, "link", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    const char *prefixes[] = {NULL, "data", "absent"};
    unsigned    flags[]    = {H5F_ACC_DEFAULT, H5F_ACC_RDWR, H5F_ACC_RDONLY};
    for (int writes = 0; writes < 2; writes++)
        for (int p = 0; p < 3; p++)
            for (int f = 0; f < 3; f++) {
                hid_t gapl = H5Pcreate(H5P_GROUP_ACCESS), group;
                char  name[32];
                if (prefixes[p])
                    H5Pset_elink_prefix(gapl, prefixes[p]);
                H5Pset_elink_acc_flags(gapl, flags[f]);
                file = H5Fopen("links.h5", writes ? H5F_ACC_RDWR : H5F_ACC_RDONLY, H5P_DEFAULT);
                H5E_BEGIN_TRY { group = H5Gopen2(file, "link", gapl); } H5E_END_TRY
                printf("writes %d, prefix %s, flags %d: opened %d", writes, prefixes[p] ? prefixes[p] : "none", f, group >= 0);
                if (group >= 0) {
                    hid_t made;
                    snprintf(name, sizeof name, "new %d%d%d", writes, p, f);
                    H5E_BEGIN_TRY { made = H5Gcreate2(group, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT); } H5E_END_TRY
                    printf(", changed %d", made >= 0);
                    if (made >= 0)
                        H5Gclose(made);
                    H5Gclose(group);
                }
                printf("\n");
                H5Fclose(file);
                H5Pclose(gapl);
            }
}

int main(void)
{
    mkdir("data", 0755);
    mkdir("data/raw", 0755);
    raw_data("raw.h5", "data", "data/part one.bin");
    raw_data("data/origin.h5", "${ORIGIN}/raw", "data/raw/part one.bin");
    source(0);
    source(1);
    source(3);
    source(6);
    numbered("views.h5", 0, 4);
    numbered("apart.h5", 2, 7);
    growing();
    interleaved("interleaved.h5", "a.h5", "b.h5", 0);
    interleaved("swapped.h5", "b.h5", "a.h5", 0);
    interleaved("second missing.h5", "a.h5", "absent.h5", 0);
    interleaved("first missing.h5", "absent.h5", "b.h5", 0);
    interleaved("fixed.h5", "a.h5", "b.h5", 1);
    interleaved("only fixed.h5", "absent.h5", "absent.h5", 1);
    links();
    return 0;
}
