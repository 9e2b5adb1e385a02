/* Datasets: layouts, selections, conversions, chunks, strings, resizing. Prints what it sees. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *what, const int *values, int count) {
    printf("%s:", what);
    for (int i = 0; i < count; i++) printf(" %d", values[i]);
    printf("\n");
}

static void contiguous(hid_t file) {
    hsize_t dims[2] = {4, 6};
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t set = H5Dcreate2(file, "grid", H5T_STD_I16BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int values[24], back[24] = {0};
    for (int i = 0; i < 24; i++) values[i] = i * 3 - 20;
    printf("write %d\n", H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    printf("read %d\n", H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    show("all", back, 24);
    hsize_t start[2] = {1, 1}, stride[2] = {2, 2}, count[2] = {2, 2}, block[2] = {1, 2};
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block);
    printf("selected %lld\n", (long long)H5Sget_select_npoints(space));
    hsize_t mdims[1] = {10}, mstart[1] = {1}, mcount[1] = {8};
    hid_t mem = H5Screate_simple(1, mdims, NULL);
    H5Sselect_hyperslab(mem, H5S_SELECT_SET, mstart, NULL, mcount, NULL);
    int part[10];
    memset(part, 0x7f, sizeof part);
    printf("read %d\n", H5Dread(set, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, part));
    show("part", part + 1, 8);
    hsize_t points[6] = {3, 5, 0, 0, 2, 4};
    H5Sselect_elements(space, H5S_SELECT_SET, 3, points);
    double three[3] = {-1000000, 2.7, 40000};
    hsize_t three_dims[1] = {3};
    hid_t line = H5Screate_simple(1, three_dims, NULL);
    printf("write %d\n", H5Dwrite(set, H5T_NATIVE_DOUBLE, line, space, H5P_DEFAULT, three));
    H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back);
    show("clipped", back, 24);
    printf("storage %llu\n", (unsigned long long)H5Dget_storage_size(set));
    H5Sclose(line); H5Sclose(mem); H5Sclose(space); H5Dclose(set);
}

static void chunked(hid_t file) {
    hsize_t dims[1] = {10}, max[1] = {H5S_UNLIMITED}, chunk[1] = {4};
    hid_t space = H5Screate_simple(1, dims, max), list = H5Pcreate(H5P_DATASET_CREATE);
    int fill = -7;
    H5Pset_chunk(list, 1, chunk);
    H5Pset_shuffle(list);
    H5Pset_deflate(list, 6);
    H5Pset_fill_value(list, H5T_NATIVE_INT, &fill);
    hid_t set = H5Dcreate2(file, "series", H5T_NATIVE_INT, space, H5P_DEFAULT, list, H5P_DEFAULT);
    int values[16], back[16];
    for (int i = 0; i < 10; i++) values[i] = i * i;
    H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    hsize_t more[1] = {16};
    printf("extend %d\n", H5Dset_extent(set, more));
    H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back);
    show("grown", back, 16);
    hid_t got = H5Dget_create_plist(set);
    unsigned flags; size_t n = 8; unsigned cd[8]; char name[64]; unsigned config;
    for (int i = 0; i < H5Pget_nfilters(got); i++) {
        n = 8;
        H5Z_filter_t id = H5Pget_filter2(got, i, &flags, &n, cd, sizeof name, name, &config);
        printf("filter %d %s flags %u values %zu config %u\n", id, name, flags, n, config);
    }
    hsize_t shape[4];
    int rank = H5Pget_chunk(got, 4, shape);
    printf("layout %d rank %d chunk %llu\n", H5Pget_layout(got), rank, (unsigned long long)shape[0]);
    int known = 0; H5D_fill_value_t defined;
    H5Pget_fill_value(got, H5T_NATIVE_INT, &known);
    H5Pfill_value_defined(got, &defined);
    printf("fill %d defined %d\n", known, defined);
    H5D_space_status_t status;
    H5Dget_space_status(set, &status);
    printf("status %d\n", status);
    H5Pclose(got); H5Pclose(list); H5Sclose(space); H5Dclose(set);
}

static void strings(hid_t file) {
    const char *texts[3] = {"one", "", "three hundred"};
    hsize_t dims[1] = {3};
    hid_t space = H5Screate_simple(1, dims, NULL), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t set = H5Dcreate2(file, "texts", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    printf("write %d\n", H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts));
    char *back[3];
    printf("read %d\n", H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    for (int i = 0; i < 3; i++) printf("text '%s'\n", back[i]);
    hsize_t bytes;
    H5Dvlen_get_buf_size(set, type, space, &bytes);
    printf("bytes %llu\n", (unsigned long long)bytes);
    printf("reclaim %d\n", H5Dvlen_reclaim(type, space, H5P_DEFAULT, back));
    H5Tclose(type); H5Sclose(space); H5Dclose(set);
}

typedef struct { int id; double height; hvl_t list; } station;

static void compounds(hid_t file) {
    hid_t list = H5Tvlen_create(H5T_NATIVE_SHORT), type = H5Tcreate(H5T_COMPOUND, sizeof(station));
    H5Tinsert(type, "id", HOFFSET(station, id), H5T_NATIVE_INT);
    H5Tinsert(type, "height", HOFFSET(station, height), H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "list", HOFFSET(station, list), list);
    short a[3] = {1, 2, 3};
    station in[2] = {{7, 1.5, {3, a}}, {8, -2.25, {0, NULL}}}, out[2];
    hsize_t dims[1] = {2};
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t set = H5Dcreate2(file, "stations", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    printf("write %d\n", H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, in));
    printf("read %d\n", H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out));
    for (int i = 0; i < 2; i++) {
        printf("station %d %g:", out[i].id, out[i].height);
        for (size_t j = 0; j < out[i].list.len; j++) printf(" %d", ((short *)out[i].list.p)[j]);
        printf("\n");
    }
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, out);
    hid_t one = H5Tcreate(H5T_COMPOUND, sizeof(float));
    H5Tinsert(one, "height", 0, H5T_NATIVE_FLOAT);
    float heights[2];
    printf("read %d\n", H5Dread(set, one, H5S_ALL, H5S_ALL, H5P_DEFAULT, heights));
    printf("heights %g %g\n", heights[0], heights[1]);
    H5Tclose(one); H5Tclose(type); H5Tclose(list); H5Sclose(space); H5Dclose(set);
}

int main(void) {
    hid_t file = H5Fcreate("datasets.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    contiguous(file);
    chunked(file);
    strings(file);
    compounds(file);
    printf("open objects %lld\n", (long long)H5Fget_obj_count(file, H5F_OBJ_ALL));
    printf("close %d\n", H5Fclose(file));
    file = H5Fopen("datasets.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "/series", H5P_DEFAULT);
    hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    hsize_t dims[1], max[1];
    printf("rank %d\n", H5Sget_simple_extent_dims(space, dims, max));
    printf("dims %llu unlimited %d class %d size %zu\n", (unsigned long long)dims[0], max[0] == H5S_UNLIMITED, H5Tget_class(type), H5Tget_size(type));
    H5E_BEGIN_TRY {
        int value = 1;
        printf("write to a file that is read %d\n", H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0);
        printf("missing %d\n", H5Dopen2(file, "nothing", H5P_DEFAULT) < 0);
        printf("closed %d\n", H5Dclose(12345) < 0);
    } H5E_END_TRY;
    H5Tclose(type); H5Sclose(space); H5Dclose(set);
    printf("close %d\n", H5Fclose(file));
    return 0;
}
