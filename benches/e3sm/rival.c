/* The same variables through libhdf5 with MPI in canonical layout: written by independent or collective calls, one for each request or
 * one for all of a variable, and read back. */
#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t count, count_max, *starts, *lengths;
} Map;

typedef struct {
    char name[128], units[64];
    char type;
    int is_record, map, has_fill, rank;
    uint64_t dims[4];
    hid_t dataset;
} Variable;

static int rank, size;
static uint64_t maps_count, variables_count, records;
static Map *maps;
static Variable *variables;

static uint64_t number(FILE *file) {
    unsigned long value;
    if (fscanf(file, "%lu", &value) != 1) MPI_Abort(MPI_COMM_WORLD, 1);
    return value;
}

static void read_plan(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file || number(file) != (uint64_t)size) MPI_Abort(MPI_COMM_WORLD, 1);
    maps_count = number(file), variables_count = number(file), records = number(file);
    maps = calloc(maps_count, sizeof *maps);
    for (uint64_t m = 0; m < maps_count; m++)
        for (int r = 0; r < size; r++) {
            uint64_t count = number(file), *starts = malloc(count * 8 + 8), *lengths = malloc(count * 8 + 8);
            for (uint64_t n = 0; n < count; n++) starts[n] = number(file), lengths[n] = number(file);
            if (count > maps[m].count_max) maps[m].count_max = count;
            if (r == rank) maps[m].count = count, maps[m].starts = starts, maps[m].lengths = lengths;
        }
    variables = calloc(variables_count, sizeof *variables);
    for (uint64_t v = 0; v < variables_count; v++) {
        Variable *var = &variables[v];
        if (fscanf(file, "%127s %c %d %d %d %63s %d", var->name, &var->type, &var->is_record, &var->map, &var->has_fill, var->units, &var->rank) != 7)
            MPI_Abort(MPI_COMM_WORLD, 1);
        for (int d = 0; d < var->rank; d++) var->dims[d] = number(file);
    }
    fclose(file);
}

static hid_t type_of(char type) {
    return type == 'f' ? H5T_NATIVE_FLOAT : type == 'd' ? H5T_NATIVE_DOUBLE : type == 'i' ? H5T_NATIVE_INT : H5T_NATIVE_UCHAR;
}

static uint64_t bytes_of(char type) { return type == 'd' ? 8 : type == 'c' ? 1 : 4; }

static uint64_t elements_of(const Variable *var) {
    uint64_t count = 1;
    for (int d = 0; d < var->rank; d++) count *= var->dims[d];
    return count;
}

static void attribute(hid_t object, const char *name, hid_t type, const void *value) {
    hid_t space = H5Screate(H5S_SCALAR), attr = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attr, type, value);
    H5Aclose(attr);
    H5Sclose(space);
}

static void text(hid_t object, const char *name, const char *value) {
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(value));
    attribute(object, name, type, value);
    H5Tclose(type);
}

/* The extent of a variable: records first. Returns its rank. */
static int extent(const Variable *var, hsize_t *dims) {
    int n = 0;
    if (var->is_record) dims[n++] = records;
    for (int d = 0; d < var->rank; d++) dims[n++] = var->dims[d];
    return n;
}

static void define(hid_t file, Variable *var) {
    hsize_t dims[5], max[5], chunk[5];
    int n = extent(var, dims);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(create, H5D_FILL_TIME_NEVER);
    for (int d = 0; d < n; d++) max[d] = dims[d], chunk[d] = dims[d];
    if (var->is_record) {
        max[0] = H5S_UNLIMITED, chunk[0] = 1;
        H5Pset_chunk(create, n, chunk);
    }
    float fill = 1e20f;
    if (var->has_fill) H5Pset_fill_value(create, H5T_NATIVE_FLOAT, &fill);
    hid_t space = n ? H5Screate_simple(n, dims, max) : H5Screate(H5S_SCALAR);
    var->dataset = H5Dcreate2(file, var->name, type_of(var->type), space, H5P_DEFAULT, create, H5P_DEFAULT);
    char long_name[256];
    snprintf(long_name, sizeof long_name, "%s of the model", var->name);
    text(var->dataset, "long_name", long_name);
    text(var->dataset, "units", var->units);
    if (var->has_fill) {
        text(var->dataset, "cell_methods", "time: mean");
        attribute(var->dataset, "_FillValue", H5T_NATIVE_FLOAT, &fill);
        attribute(var->dataset, "missing_value", H5T_NATIVE_FLOAT, &fill);
    }
    H5Sclose(space);
    H5Pclose(create);
}

/* Returns where element `at` of a record lies. */
static void coordinates(const Variable *var, uint64_t record, uint64_t at, hsize_t *out) {
    int first = var->is_record;
    if (first) out[0] = record;
    for (int d = var->rank - 1; d >= 0; d--) out[first + d] = at % var->dims[d], at /= var->dims[d];
}

static hid_t space_of(const Variable *var) {
    hsize_t dims[5];
    int n = extent(var, dims);
    return n ? H5Screate_simple(n, dims, NULL) : H5Screate(H5S_SCALAR);
}

/* All requests of a rank in a record as one selection: points where all are of one element, else a union of blocks. */
static void select_all(hid_t space, const Variable *var, uint64_t record, uint64_t *elements) {
    const Map *map = &maps[var->map];
    int n = var->rank + var->is_record, are_points = 1;
    *elements = 0;
    for (uint64_t k = 0; k < map->count; k++) are_points &= map->lengths[k] == 1, *elements += map->lengths[k];
    if (map->count == 0) {
        H5Sselect_none(space);
    } else if (are_points) {
        hsize_t *points = malloc(map->count * n * sizeof *points);
        for (uint64_t k = 0; k < map->count; k++) coordinates(var, record, map->starts[k], points + k * n);
        H5Sselect_elements(space, H5S_SELECT_SET, map->count, points);
        free(points);
    } else {
        for (uint64_t k = 0; k < map->count; k++) {
            hsize_t start[5], count[5] = {1, 1, 1, 1, 1};
            coordinates(var, record, map->starts[k], start);
            count[n - 1] = map->lengths[k];
            H5Sselect_hyperslab(space, k ? H5S_SELECT_OR : H5S_SELECT_SET, start, NULL, count, NULL);
        }
    }
}

/* A variable that is not divided: the first rank writes a record of it. */
static void write_whole(Variable *var, uint64_t record, hid_t transfer, const void *values) {
    hid_t space = space_of(var);
    hsize_t start[5] = {record, 0, 0, 0, 0}, count[5], one = elements_of(var);
    int n = extent(var, count);
    if (var->is_record) count[0] = 1;
    hid_t memory = H5Screate_simple(1, &one, NULL);
    if (n) {
        if (!var->is_record) start[0] = 0;
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    }
    if (rank) H5Sselect_none(space), H5Sselect_none(memory);
    H5Dwrite(var->dataset, type_of(var->type), memory, space, transfer, values);
    H5Sclose(space);
    H5Sclose(memory);
}

/* Each request by itself. Collective calls need all ranks: one that has no request left takes part with nothing selected. */
static void write_each(Variable *var, uint64_t record, const void *values, hid_t transfer, int is_collective, uint64_t *calls_left, uint64_t *done) {
    const Map *map = &maps[var->map];
    hid_t space = space_of(var);
    hsize_t one = 1;
    hid_t nothing = H5Screate_simple(1, &one, NULL);
    H5Sselect_none(nothing);
    int n = var->rank + var->is_record;
    uint64_t calls = is_collective ? map->count_max : map->count;
    for (uint64_t k = 0; k < calls && *calls_left > 0; k++, --*calls_left) {
        if (k >= map->count) {
            H5Sselect_none(space);
            H5Dwrite(var->dataset, type_of(var->type), nothing, space, transfer, values);
            continue;
        }
        hsize_t start[5], count[5] = {1, 1, 1, 1, 1}, len = map->lengths[k];
        coordinates(var, record, map->starts[k], start);
        count[n - 1] = len;
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        hid_t memory = H5Screate_simple(1, &len, NULL);
        H5Dwrite(var->dataset, type_of(var->type), memory, space, transfer, values);
        ++*done;
        H5Sclose(memory);
    }
    H5Sclose(space);
    H5Sclose(nothing);
}

/* One call for all requests of a variable; `space` and `memory` serve all variables of a map. */
static void write_record(uint64_t record, const void *values, hid_t transfer, uint64_t *done) {
    hid_t *spaces = calloc(maps_count * 2, sizeof *spaces), *memories = calloc(maps_count * 2, sizeof *memories);
    for (uint64_t v = 0; v < variables_count; v++) {
        Variable *var = &variables[v];
        if (var->map < 0 || (record && !var->is_record)) continue;
        int key = var->map * 2 + var->is_record;
        if (!spaces[key]) {
            uint64_t elements;
            spaces[key] = space_of(var);
            select_all(spaces[key], var, record, &elements);
            hsize_t len = elements ? elements : 1;
            memories[key] = H5Screate_simple(1, &len, NULL);
            if (!elements) H5Sselect_none(memories[key]);
        }
        if (H5Dwrite(var->dataset, type_of(var->type), memories[key], spaces[key], transfer, values) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
        *done += maps[var->map].count;
    }
    for (uint64_t k = 0; k < maps_count * 2; k++)
        if (spaces[k]) H5Sclose(spaces[k]), H5Sclose(memories[k]);
    free(spaces);
    free(memories);
}

static void report(double seconds, uint64_t done, double defined) {
    double slowest;
    uint64_t all;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&done, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%.0f %lu 0 0 %.0f\n", slowest * 1e6, (unsigned long)all, defined * 1e6);
}

/* Reads variables whole, each by one rank, as the other program does. */
static void read_back(const char *path, hid_t access) {
    void **buffers = calloc(variables_count, sizeof *buffers);
    for (uint64_t v = 0; v < variables_count; v++)
        if ((int)(v % size) == rank) {
            uint64_t bytes = elements_of(&variables[v]) * bytes_of(variables[v].type) * (variables[v].is_record ? records : 1);
            memset(buffers[v] = malloc(bytes), 1, bytes);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    for (uint64_t v = 0; v < variables_count; v++) {
        if (!buffers[v]) continue;
        hid_t dataset = H5Dopen2(file, variables[v].name, H5P_DEFAULT);
        if (H5Dread(dataset, type_of(variables[v].type), H5S_ALL, H5S_ALL, H5P_DEFAULT, buffers[v]) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
        H5Dclose(dataset);
    }
    H5Fclose(file);
    report(MPI_Wtime() - start, 0, 0);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 6) return 1;
    read_plan(argv[1]);
    /* "each", "variable" or "read"; "independent" or "collective"; how many calls a rank makes at most. */
    int is_each = strcmp(argv[3], "each") == 0, is_collective = strcmp(argv[4], "collective") == 0;
    uint64_t calls_left = strtoull(argv[5], NULL, 10), done = 0, elements_max = 1;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (strcmp(argv[3], "read") == 0) {
        /* Every rank for itself: opened with MPI, each look-up would be a collective call. */
        read_back(argv[2], access);
        MPI_Finalize();
        return 0;
    }
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_all_coll_metadata_ops(access, 1);
    H5Pset_coll_metadata_write(access, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    hid_t out = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    for (uint64_t v = 0; v < variables_count; v++) {
        define(out, &variables[v]);
        if (elements_of(&variables[v]) > elements_max) elements_max = elements_of(&variables[v]);
    }
    H5Fflush(out, H5F_SCOPE_GLOBAL);
    MPI_Barrier(MPI_COMM_WORLD);
    double defined = MPI_Wtime() - start;
    double *values = calloc(elements_max, sizeof *values);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, is_collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (uint64_t record = 0; record < records; record++) {
        for (uint64_t v = 0; v < variables_count; v++) {
            Variable *var = &variables[v];
            if (record && !var->is_record) continue;
            if (var->map < 0) {
                if (is_collective || rank == 0) write_whole(var, record, transfer, values);
            } else if (is_each) {
                write_each(var, record, values, transfer, is_collective, &calls_left, &done);
            }
        }
        if (!is_each) write_record(record, values, transfer, &done);
    }
    for (uint64_t v = 0; v < variables_count; v++) H5Dclose(variables[v].dataset);
    H5Fclose(out);
    report(MPI_Wtime() - start, done, defined);
    MPI_Finalize();
    return 0;
}
