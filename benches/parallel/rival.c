/* The cases through libhdf5 with MPI; src/rank.rs has the same through Hyperslab. Prints microseconds of each step. */
#include <hdf5.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 200000, RUN_STEP = 8, CALLS = 2000, ROWS = 8192, COLUMNS = 8192, CHUNK = 256, DATASETS = 1000, SMALL = 1000 };
static const hsize_t LARGE = 1 << 27;

static int rank, ranks;
static const char *path;
static hid_t transfer;

static void check(int is_right, const char *what) {
    if (is_right) return;
    fprintf(stderr, "%s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static uint64_t state;

static void seed(uint64_t from) { state = (from + 1) * 0x9e3779b97f4a7c15u | 1; }

static uint64_t below(uint64_t end) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((state * 0x2545f4914f6cdd1du) >> 11) % end;
}

static void make_runs(hsize_t *starts, hsize_t *lengths) {
    seed(rank);
    for (hsize_t n = 0; n < RUNS; n++) {
        starts[n] = (n * ranks + rank) * RUN_STEP + below(4);
        lengths[n] = 1 + below(4);
    }
}

static hid_t access_list(void) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_all_coll_metadata_ops(access, 1);
    H5Pset_coll_metadata_write(access, 1);
    return access;
}

static hid_t create_file(void) {
    hid_t access = access_list(), file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    check(file >= 0, "create");
    H5Pclose(access);
    return file;
}

static hid_t open_file(void) {
    hid_t access = access_list(), file = H5Fopen(path, H5F_ACC_RDONLY, access);
    check(file >= 0, "open");
    H5Pclose(access);
    return file;
}

static hid_t create_dataset(hid_t file, const char *name, hid_t type, int dimensions, const hsize_t *dims, hid_t create) {
    hid_t space = H5Screate_simple(dimensions, dims, NULL);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    check(dataset >= 0, "create dataset");
    H5Sclose(space);
    return dataset;
}

/* A selection of one dimension in the file, and as many elements in memory. */
static hid_t block(hsize_t extent, hsize_t start, hsize_t count) {
    hid_t space = H5Screate_simple(1, &extent, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
    return space;
}

static hid_t elements(hsize_t count) { return H5Screate_simple(1, &count, NULL); }

static double begin(int is_new) {
    if (is_new && rank == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

static void end(double start) {
    double seconds = MPI_Wtime() - start, slowest;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) printf("%.0f ", slowest * 1e6);
}

static void contiguous(void) {
    hsize_t own = LARGE / ranks, dims = LARGE;
    double *values = malloc(own * sizeof *values), *found = calloc(own, sizeof *found);
    for (hsize_t n = 0; n < own; n++) values[n] = (double)(rank * own + n);
    memset(found, 1, own * sizeof *found);
    hid_t space = block(LARGE, rank * own, own), memory = elements(own);
    double start = begin(1);
    hid_t file = create_file(), data = create_dataset(file, "data", H5T_NATIVE_DOUBLE, 1, &dims, H5P_DEFAULT);
    check(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, transfer, values) >= 0, "write");
    H5Dclose(data);
    H5Fclose(file);
    end(start);
    start = begin(0);
    file = open_file();
    data = H5Dopen2(file, "data", H5P_DEFAULT);
    check(H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, transfer, found) >= 0, "read");
    H5Dclose(data);
    H5Fclose(file);
    end(start);
    check(memcmp(found, values, own * sizeof *values) == 0, "comparison");
}

static void write_scattered(hid_t space, hsize_t count) {
    hsize_t dims = (hsize_t)RUNS * ranks * RUN_STEP;
    int *values = malloc(count * sizeof *values);
    for (hsize_t n = 0; n < count; n++) values[n] = (int)n * 2 + rank;
    hid_t memory = elements(count);
    double start = begin(1);
    hid_t file = create_file(), data = create_dataset(file, "data", H5T_NATIVE_INT, 1, &dims, H5P_DEFAULT);
    check(H5Dwrite(data, H5T_NATIVE_INT, memory, space, transfer, values) >= 0, "write");
    H5Dclose(data);
    H5Fclose(file);
    end(start);
}

static hsize_t starts[RUNS], lengths[RUNS];

/* The union of some runs. Half and half: added one by one, each would cost as much as all before it. */
static hid_t union_of(hsize_t first, hsize_t count) {
    if (count == 1) return block((hsize_t)RUNS * ranks * RUN_STEP, starts[first], lengths[first]);
    hid_t left = union_of(first, count / 2), right = union_of(first + count / 2, count - count / 2);
    check(H5Smodify_select(left, H5S_SELECT_OR, right) >= 0, "union");
    H5Sclose(right);
    return left;
}

static void blocks(void) {
    hsize_t total = 0;
    make_runs(starts, lengths);
    for (hsize_t n = 0; n < RUNS; n++) total += lengths[n];
    write_scattered(union_of(0, RUNS), total);
}

static void points(void) {
    hsize_t extent = (hsize_t)RUNS * ranks * RUN_STEP;
    make_runs(starts, lengths);
    seed(99);
    for (hsize_t n = RUNS - 1; n > 0; n--) {
        hsize_t with = below(n + 1), start = starts[n];
        starts[n] = starts[with];
        starts[with] = start;
    }
    hid_t space = H5Screate_simple(1, &extent, NULL);
    H5Sselect_elements(space, H5S_SELECT_SET, RUNS, starts);
    write_scattered(space, RUNS);
}

static void calls(void) {
    hsize_t dims = (hsize_t)RUNS * ranks * RUN_STEP;
    int values[8] = {rank, rank, rank, rank, rank, rank, rank, rank};
    make_runs(starts, lengths);
    for (int is_collective = 1; is_collective >= 0; is_collective--) {
        double start = begin(1);
        hid_t file = create_file(), data = create_dataset(file, "data", H5T_NATIVE_INT, 1, &dims, H5P_DEFAULT);
        hid_t space = elements(dims);
        for (hsize_t n = 0; n < CALLS; n++) {
            hid_t memory = elements(lengths[n]), how = is_collective ? transfer : H5P_DEFAULT;
            H5Sselect_hyperslab(space, H5S_SELECT_SET, &starts[n], NULL, &lengths[n], NULL);
            check(H5Dwrite(data, H5T_NATIVE_INT, memory, space, how, values) >= 0, "write");
            H5Sclose(memory);
        }
        H5Sclose(space);
        H5Dclose(data);
        H5Fclose(file);
        end(start);
    }
}

static void deflate(void) {
    hsize_t own = ROWS / ranks, dims[2] = {ROWS, COLUMNS}, chunk[2] = {CHUNK, CHUNK};
    hsize_t at[2] = {rank * own, 0}, count[2] = {own, COLUMNS};
    float *values = malloc(own * COLUMNS * sizeof *values), *found = malloc(own * COLUMNS * sizeof *found);
    seed(rank);
    for (hsize_t n = 0; n < own * COLUMNS; n++) {
        double smooth = 280.0 + 20.0 * sin(n * 1e-4) + 3.0 * cos(n * 7e-3);
        values[n] = (float)(round((smooth + below(100) * 1e-3) * 1e3) / 1e3);
    }
    memset(found, 1, own * COLUMNS * sizeof *found);
    hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, count, NULL);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(create, 2, chunk);
    H5Pset_shuffle(create);
    check(H5Pset_deflate(create, 4) >= 0, "deflate");
    double start = begin(1);
    hid_t file = create_file(), data = create_dataset(file, "data", H5T_NATIVE_FLOAT, 2, dims, create);
    check(H5Dwrite(data, H5T_NATIVE_FLOAT, memory, space, transfer, values) >= 0, "write");
    H5Dclose(data);
    H5Fclose(file);
    end(start);
    start = begin(0);
    file = open_file();
    data = H5Dopen2(file, "data", H5P_DEFAULT);
    check(H5Dread(data, H5T_NATIVE_FLOAT, memory, space, transfer, found) >= 0, "read");
    H5Dclose(data);
    H5Fclose(file);
    end(start);
    check(memcmp(found, values, own * COLUMNS * sizeof *values) == 0, "comparison");
}

static void datasets(void) {
    hsize_t own = SMALL / ranks, dims = SMALL;
    double values[SMALL];
    for (hsize_t n = 0; n < own; n++) values[n] = (double)(rank * own + n);
    hid_t space = block(SMALL, rank * own, own), memory = elements(own);
    double start = begin(1);
    hid_t file = create_file();
    for (int n = 0; n < DATASETS; n++) {
        char name[16];
        snprintf(name, sizeof name, "d%04d", n);
        hid_t data = create_dataset(file, name, H5T_NATIVE_DOUBLE, 1, &dims, H5P_DEFAULT);
        check(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, transfer, values) >= 0, "write");
        H5Dclose(data);
    }
    H5Fclose(file);
    end(start);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(argc == 3, "usage: rival CASE FILE:");
    path = argv[2];
    transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"contiguous", contiguous}, {"blocks", blocks}, {"points", points},
                 {"calls", calls},           {"deflate", deflate}, {"datasets", datasets}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        if (strcmp(argv[1], cases[n].name) == 0) cases[n].run();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
