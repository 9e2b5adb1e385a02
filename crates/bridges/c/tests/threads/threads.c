/* Eight threads create, write and read in one file, all at once. `threads verify` reads the file again, on any library. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 25, ROWS = 64, COLUMNS = 512, VALUES = 1000 };

static hid_t             file, shared;
static pthread_barrier_t together;

static double expected(int row, int column) { return row * 1000.0 + column; }

/* Each thread has rows of its own in the dataset that all write to. */
static void write_rows(int thread)
{
    int     mine = ROWS / THREADS;
    hsize_t start[2] = {(hsize_t)(thread * mine), 0}, count[2] = {(hsize_t)mine, COLUMNS};
    double *values = malloc(sizeof *values * mine * COLUMNS);
    for (int row = 0; row < mine; row++)
        for (int column = 0; column < COLUMNS; column++)
            values[row * COLUMNS + column] = expected(thread * mine + row, column);
    hid_t space = H5Dget_space(shared), memory = H5Screate_simple(2, count, NULL);
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    CHECK(H5Dwrite(shared, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) >= 0);
    memset(values, 0, sizeof *values * mine * COLUMNS);
    CHECK(H5Dread(shared, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) >= 0);
    for (int row = 0; row < mine; row++)
        for (int column = 0; column < COLUMNS; column++)
            CHECK(values[row * COLUMNS + column] == expected(thread * mine + row, column));
    H5Sclose(space), H5Sclose(memory);
    free(values);
}

static void create_one(hid_t group, int thread, int round)
{
    char    name[64], text[64];
    int     values[VALUES];
    hsize_t dims[1] = {VALUES};
    snprintf(name, sizeof name, "dataset %d", round);
    for (int i = 0; i < VALUES; i++)
        values[i] = thread * 1000000 + round * 10000 + i;
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t dataset = H5Dcreate2(group, name, H5T_STD_I32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(dataset >= 0 && H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    set_attribute(dataset, "round", round);
    /* Objects of the root group are made by all threads too. */
    snprintf(text, sizeof text, "root of %d in %d", thread, round);
    hid_t other = H5Gcreate2(file, text, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(other >= 0);
    set_attribute(other, "thread", thread);
    H5Gclose(other);
    H5Dclose(dataset), H5Sclose(space);
}

static void check_one(hid_t group, int thread, int round)
{
    char name[64];
    int  values[VALUES];
    snprintf(name, sizeof name, "dataset %d", round);
    hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    CHECK(dataset >= 0 && H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (int i = 0; i < VALUES; i++)
        CHECK(values[i] == thread * 1000000 + round * 10000 + i);
    CHECK(attribute_of(dataset, "round") == round);
    H5Dclose(dataset);
}

static herr_t count_one(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    (void)group, (void)name, (void)info;
    ++*(int *)data;
    return 0;
}

/* An error is on the stack of the thread that made it, and on no other. */
static void check_errors(hid_t group)
{
    H5Eclear2(H5E_DEFAULT);
    CHECK(H5Dopen2(group, "there is none", H5P_DEFAULT) < 0);
    CHECK(H5Eget_num(H5E_DEFAULT) > 0);
    H5Eclear2(H5E_DEFAULT);
}

static void *run(void *argument)
{
    int  thread = (int)(size_t)argument;
    char name[32];
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    snprintf(name, sizeof name, "thread %d", thread);
    hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(group >= 0);
    pthread_barrier_wait(&together);
    for (int round = 0; round < ROUNDS; round++) {
        create_one(group, thread, round);
        if (round % 5 == thread % 5)
            write_rows(thread);
        if (round % 10 == 0)
            CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
        check_one(group, thread, round / 2);
        check_errors(group);
        int count = 0;
        CHECK(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, count_one, &count) >= 0);
        CHECK(count == round + 1);
    }
    CHECK(H5Eget_num(H5E_DEFAULT) == 0);
    H5Gclose(group);
    return NULL;
}

static void verify(void)
{
    char name[64];
    file = H5Fopen("threads.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(file >= 0);
    for (int thread = 0; thread < THREADS; thread++) {
        snprintf(name, sizeof name, "thread %d", thread);
        hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
        CHECK(group >= 0);
        for (int round = 0; round < ROUNDS; round++) {
            check_one(group, thread, round);
            snprintf(name, sizeof name, "root of %d in %d", thread, round);
            hid_t other = H5Gopen2(file, name, H5P_DEFAULT);
            CHECK(other >= 0 && attribute_of(other, "thread") == thread);
            H5Gclose(other);
        }
        H5Gclose(group);
    }
    double *values = malloc(sizeof *values * ROWS * COLUMNS);
    shared = H5Dopen2(file, "shared", H5P_DEFAULT);
    CHECK(shared >= 0 && H5Dread(shared, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (int at = 0; at < ROWS * COLUMNS; at++)
        CHECK(values[at] == expected(at / COLUMNS, at % COLUMNS));
    free(values);
    CHECK(H5Dclose(shared) >= 0 && H5Fclose(file) >= 0);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc > 1 && strcmp(argv[1], "verify") == 0) {
        verify();
        puts("the file is as the threads left it");
        return 0;
    }
    file = H5Fcreate("threads.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(file >= 0);
    shared = make_deflated(file, "shared", ROWS, COLUMNS);
    pthread_barrier_init(&together, NULL, THREADS);
    for (size_t thread = 0; thread < THREADS; thread++)
        CHECK(pthread_create(&threads[thread], NULL, run, (void *)thread) == 0);
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    CHECK(H5Dclose(shared) >= 0 && H5Fclose(file) >= 0);
    verify();
    puts("threads: 8 threads created, wrote and read in one file");
    return 0;
}
