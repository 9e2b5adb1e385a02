/* A program that ends without closing anything loses nothing. `exit verify` reads the file again, on any library.
 * usage: exit return|exit|thread|verify */
#include "check.h"
#include <pthread.h>

enum { ROWS = 128, COLUMNS = 256, TEXTS = 500, GROUPS = 200 };

static void leave_open(void)
{
    hid_t   file = H5Fcreate("exit.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    hsize_t dims[1] = {TEXTS}, larger[2] = {2 * ROWS, COLUMNS};
    double *values = malloc(sizeof *values * 2 * ROWS * COLUMNS);
    CHECK(file >= 0);
    for (int at = 0; at < 2 * ROWS * COLUMNS; at++)
        values[at] = at;
    hid_t dataset = make_deflated(file, "data", ROWS, COLUMNS);
    CHECK(H5Dset_extent(dataset, larger) >= 0);
    CHECK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    set_attribute(dataset, "attribute", 17);
    const char *texts[TEXTS];
    for (int i = 0; i < TEXTS; i++)
        texts[i] = i % 3 ? "text" : "a longer text";
    H5Tset_size(type, H5T_VARIABLE);
    hid_t strings = H5Dcreate2(file, "texts", type, H5Screate_simple(1, dims, NULL), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Dwrite(strings, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0);
    for (int i = 0; i < GROUPS; i++) {
        char name[32];
        snprintf(name, sizeof name, "group %d", i);
        hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        CHECK(group >= 0);
        set_attribute(group, "number", i);
    }
    /* An attribute and a file access that are still open, and a second file of which only a dataset is. */
    H5Acreate2(file, "open", H5T_NATIVE_INT, H5Screate(H5S_SCALAR), H5P_DEFAULT, H5P_DEFAULT);
    hid_t other = H5Fcreate("exit2.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    dataset = make_deflated(other, "data", 2 * ROWS, COLUMNS);
    CHECK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    CHECK(H5Fclose(other) >= 0);
    free(values);
}

static void check_data(hid_t file)
{
    double *values = calloc(sizeof *values, 2 * ROWS * COLUMNS);
    hid_t   dataset = H5Dopen2(file, "data", H5P_DEFAULT);
    CHECK(dataset >= 0 && H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (int at = 0; at < 2 * ROWS * COLUMNS; at++)
        CHECK(values[at] == at);
    H5Dclose(dataset);
    free(values);
}

static void verify(void)
{
    hid_t file = H5Fopen("exit.h5", H5F_ACC_RDONLY, H5P_DEFAULT), other = H5Fopen("exit2.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t type = H5Tcopy(H5T_C_S1);
    char *texts[TEXTS];
    CHECK(file >= 0 && other >= 0);
    check_data(file);
    check_data(other);
    hid_t strings = H5Dopen2(file, "texts", H5P_DEFAULT);
    H5Tset_size(type, H5T_VARIABLE);
    CHECK(strings >= 0 && H5Dread(strings, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0);
    for (int i = 0; i < TEXTS; i++)
        CHECK(strcmp(texts[i], i % 3 ? "text" : "a longer text") == 0);
    for (int i = 0; i < GROUPS; i++) {
        char name[32];
        snprintf(name, sizeof name, "group %d", i);
        hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
        CHECK(group >= 0 && attribute_of(group, "number") == i);
        H5Gclose(group);
    }
    CHECK(H5Aexists(file, "open") > 0);
}

static void *leave(void *unused)
{
    (void)unused;
    leave_open();
    exit(0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    pthread_t   thread;
    if (strcmp(how, "verify") == 0) {
        verify();
        puts("nothing is lost");
    } else if (strcmp(how, "thread") == 0) {
        CHECK(pthread_create(&thread, NULL, leave, NULL) == 0);
        pthread_join(thread, NULL);
    } else {
        leave_open();
        if (strcmp(how, "exit") == 0)
            exit(0);
    }
    return 0;
}
