/* A file that libhdf5 writes in parallel, and reads after Hyperslab changed it. usage: theirs write|check FILE */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 24, COLUMNS = 10 };
static const char *const names[] = {"contiguous", "chunked", "deflated"};

static void check(int is_right, const char *what) {
    if (is_right) return;
    fprintf(stderr, "%s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static hid_t rows(hsize_t first, hsize_t count) {
    hsize_t dims[2] = {ROWS, COLUMNS}, start[2] = {first, 0}, block[2] = {count, COLUMNS};
    hid_t space = H5Screate_simple(2, dims, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, block, NULL);
    return space;
}

static void write_all(hid_t file, hid_t transfer, int rank, int ranks) {
    hsize_t dims[2] = {ROWS, COLUMNS}, chunk[2] = {5, 4}, own = ROWS / ranks, memory_dims[2] = {own, COLUMNS};
    hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, memory_dims, NULL);
    int values[ROWS * COLUMNS];
    for (hsize_t n = 0; n < own * COLUMNS; n++) values[n] = (int)(rank * own * COLUMNS + n);
    for (int n = 0; n < 3; n++) {
        hid_t create = H5Pcreate(H5P_DATASET_CREATE);
        if (n > 0) H5Pset_chunk(create, 2, chunk);
        if (n == 2) H5Pset_deflate(create, 4);
        hid_t data = H5Dcreate2(file, names[n], H5T_NATIVE_INT, space, H5P_DEFAULT, create, H5P_DEFAULT);
        check(H5Dwrite(data, H5T_NATIVE_INT, memory, rows(rank * own, own), transfer, values) >= 0, "write");
        H5Dclose(data);
    }
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), scalar = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(group, "ranks", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    check(H5Awrite(attribute, H5T_NATIVE_INT, &ranks) >= 0, "attribute");
    H5Aclose(attribute);
    H5Gclose(group);
}

/* All elements are negative now, and there is a dataset more. */
static void check_all(hid_t file, hid_t transfer, int rank, int ranks) {
    const char *const all[] = {"contiguous", "chunked", "deflated", "ours"};
    hsize_t own = ROWS / ranks, memory_dims[2] = {own, COLUMNS};
    hid_t memory = H5Screate_simple(2, memory_dims, NULL);
    int values[ROWS * COLUMNS];
    for (int n = 0; n < 4; n++) {
        hid_t data = H5Dopen2(file, all[n], H5P_DEFAULT);
        check(H5Dread(data, H5T_NATIVE_INT, memory, rows(rank * own, own), transfer, values) >= 0, "read");
        for (hsize_t k = 0; k < own * COLUMNS; k++) check(values[k] == -(int)(rank * own * COLUMNS + k), all[n]);
        H5Dclose(data);
    }
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(argc == 3, "usage");
    int is_write = strcmp(argv[1], "write") == 0;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    hid_t file = is_write ? H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(argv[2], H5F_ACC_RDONLY, access);
    check(file >= 0, "open");
    (is_write ? write_all : check_all)(file, transfer, rank, ranks);
    check(H5Fclose(file) >= 0, "close");
    MPI_Finalize();
    return 0;
}
