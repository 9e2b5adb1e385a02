/* The same requests through libhdf5 with MPI, in independent or collective calls: one for each request, or one for all of a variable. */
#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t variables, dims[2], count, count_max;
    uint64_t *rows, *columns, *lengths;
} Part;

static uint64_t *numbers;

static uint64_t next(void) { return *numbers++; }

/* All requests of a rank as one selection: points where all are of one element, else a union of blocks. */
static hid_t selection(const Part *part, uint64_t *elements) {
    hsize_t dims[2] = {part->dims[0], part->dims[1]};
    hid_t space = H5Screate_simple(2, dims, NULL);
    int are_points = 1;
    *elements = 0;
    for (uint64_t n = 0; n < part->count; n++) {
        are_points &= part->lengths[n] == 1;
        *elements += part->lengths[n];
    }
    if (part->count == 0) {
        H5Sselect_none(space);
    } else if (are_points) {
        hsize_t *points = malloc(part->count * 2 * sizeof *points);
        for (uint64_t n = 0; n < part->count; n++) {
            points[2 * n] = part->rows[n];
            points[2 * n + 1] = part->columns[n];
        }
        H5Sselect_elements(space, H5S_SELECT_SET, part->count, points);
        free(points);
    } else {
        for (uint64_t n = 0; n < part->count; n++) {
            hsize_t start[2] = {part->rows[n], part->columns[n]}, count[2] = {1, part->lengths[n]};
            H5Sselect_hyperslab(space, n ? H5S_SELECT_OR : H5S_SELECT_SET, start, NULL, count, NULL);
        }
    }
    return space;
}

/* Each request by itself. Collective calls need all ranks: one that has no request left takes part with nothing selected. */
static void write_each(hid_t dataset, const Part *part, const int64_t *values, hid_t transfer, int is_collective, uint64_t *calls_left,
                       uint64_t *done) {
    hsize_t dims[2] = {part->dims[0], part->dims[1]}, one = 1;
    hid_t space = H5Screate_simple(2, dims, NULL), nothing = H5Screate_simple(1, &one, NULL);
    H5Sselect_none(nothing);
    uint64_t calls = is_collective ? part->count_max : part->count;
    for (uint64_t n = 0; n < calls && *calls_left > 0; n++, --*calls_left) {
        if (n >= part->count) {
            H5Sselect_none(space);
            H5Dwrite(dataset, H5T_NATIVE_INT64, nothing, space, transfer, values);
            continue;
        }
        hsize_t start[2] = {part->rows[n], part->columns[n]}, count[2] = {1, part->lengths[n]}, len = part->lengths[n];
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        hid_t memory = H5Screate_simple(1, &len, NULL);
        H5Dwrite(dataset, H5T_NATIVE_INT64, memory, space, transfer, values);
        ++*done;
        H5Sclose(memory);
    }
    H5Sclose(space);
    H5Sclose(nothing);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 6) return 1;
    FILE *file = fopen(argv[1], "rb");
    if (!file) return 1;
    fseek(file, 0, SEEK_END);
    long bytes = ftell(file);
    rewind(file);
    numbers = malloc(bytes);
    if (fread(numbers, 1, bytes, file) != (size_t)bytes) return 1;
    fclose(file);
    uint64_t ranks = next(), parts_count = next();
    if ((int)ranks != size) return 1;
    Part *parts = calloc(parts_count, sizeof *parts);
    uint64_t elements_max = 1;
    for (uint64_t p = 0; p < parts_count; p++) {
        Part *part = &parts[p];
        part->variables = next();
        part->dims[0] = next();
        part->dims[1] = next();
        if (part->dims[0] * part->dims[1] > elements_max) elements_max = part->dims[0] * part->dims[1];
        for (uint64_t r = 0; r < ranks; r++) {
            uint64_t count = next();
            if (count > part->count_max) part->count_max = count;
            if ((int)r == rank) {
                part->count = count;
                part->rows = numbers;
                part->columns = numbers + count;
                part->lengths = numbers + 2 * count;
            }
            numbers += 3 * count;
        }
    }
    int64_t *values = calloc(elements_max, sizeof *values);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_all_coll_metadata_ops(access, 1);
    H5Pset_coll_metadata_write(access, 1);
    hid_t out = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(create, H5D_FILL_TIME_NEVER);
    uint64_t total = 0;
    for (uint64_t p = 0; p < parts_count; p++) total += parts[p].variables;
    hid_t *datasets = malloc(total * sizeof *datasets);
    uint64_t made = 0;
    for (uint64_t p = 0; p < parts_count; p++) {
        hsize_t dims[2] = {parts[p].dims[0], parts[p].dims[1]};
        hid_t space = H5Screate_simple(2, dims, NULL);
        for (uint64_t v = 0; v < parts[p].variables; v++) {
            char name[64];
            snprintf(name, sizeof name, "D%lu_%lu", (unsigned long)p, (unsigned long)v);
            datasets[made++] = H5Dcreate2(out, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, create, H5P_DEFAULT);
        }
        H5Sclose(space);
    }
    H5Fflush(out, H5F_SCOPE_GLOBAL);
    /* "each" or "variable", "independent" or "collective", and how many calls a rank makes at most. */
    int is_each = strcmp(argv[3], "each") == 0, is_collective = strcmp(argv[4], "collective") == 0;
    uint64_t calls_left = strtoull(argv[5], NULL, 10), done = 0, all_done;
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, is_collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    made = 0;
    for (uint64_t p = 0; p < parts_count; p++) {
        if (is_each) {
            for (uint64_t v = 0; v < parts[p].variables; v++) write_each(datasets[made++], &parts[p], values, transfer, is_collective, &calls_left, &done);
            continue;
        }
        uint64_t elements;
        /* One selection serves all variables of a shape. */
        hid_t space = selection(&parts[p], &elements);
        hsize_t len = elements ? elements : 1;
        hid_t memory = H5Screate_simple(1, &len, NULL);
        if (!elements) H5Sselect_none(memory);
        for (uint64_t v = 0; v < parts[p].variables; v++) {
            if (H5Dwrite(datasets[made++], H5T_NATIVE_INT64, memory, space, transfer, values) < 0) return 1;
            done += parts[p].count;
        }
        H5Sclose(space);
        H5Sclose(memory);
    }
    for (uint64_t n = 0; n < made; n++) H5Dclose(datasets[n]);
    H5Fclose(out);
    double seconds = MPI_Wtime() - start, slowest;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&done, &all_done, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%.0f %lu\n", slowest * 1e6, (unsigned long)all_done);
    MPI_Finalize();
    return 0;
}
