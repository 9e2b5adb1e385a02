/* Workloads of C programs, for the benchmark: `objects WORKLOAD FOLDER` prints the seconds that it took, and a sum.
 * It is compiled with the headers of a libhdf5 of any version. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DATASETS 10000
#define ATTRIBUTES 5
#define READS 200000

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int64_t done) {
    if (done < 0) exit(1);
}

static void create(const char *path) {
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hsize_t dims = 10;
    hid_t space = H5Screate_simple(1, &dims, NULL), scalar = H5Screate(H5S_SCALAR);
    int values[10];
    check(file);
    for (int n = 0; n < DATASETS; n++) {
        char name[32];
        for (int i = 0; i < 10; i++) values[i] = n;
        snprintf(name, sizeof name, "dataset %d", n);
        hid_t dataset =
            H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        check(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        for (int a = 0; a < ATTRIBUTES; a++) {
            int value = n + a;
            snprintf(name, sizeof name, "attribute %d", a);
            hid_t attribute =
                H5Acreate2(dataset, name, H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
            check(H5Awrite(attribute, H5T_NATIVE_INT, &value));
            check(H5Aclose(attribute));
        }
        check(H5Dclose(dataset));
    }
    check(H5Sclose(space) | H5Sclose(scalar));
    check(H5Fclose(file));
}

static double read_all(const char *path) {
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    double total = 0;
    int values[10];
    check(file);
    for (int n = 0; n < DATASETS; n++) {
        char name[32];
        snprintf(name, sizeof name, "dataset %d", n);
        hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
        check(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        total += values[3];
        for (int a = 0; a < ATTRIBUTES; a++) {
            int value = 0;
            snprintf(name, sizeof name, "attribute %d", a);
            hid_t attribute = H5Aopen(dataset, name, H5P_DEFAULT);
            check(H5Aread(attribute, H5T_NATIVE_INT, &value));
            check(H5Aclose(attribute));
            total += value;
        }
        check(H5Dclose(dataset));
    }
    check(H5Fclose(file));
    return total;
}

static double read_attribute(const char *path) {
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "dataset 77", H5P_DEFAULT);
    double total = 0;
    for (int n = 0; n < READS; n++) {
        int value = 0;
        hid_t attribute = H5Aopen(dataset, "attribute 3", H5P_DEFAULT);
        check(H5Aread(attribute, H5T_NATIVE_INT, &value));
        check(H5Aclose(attribute));
        total += value;
    }
    check(H5Dclose(dataset));
    check(H5Fclose(file));
    return total;
}

int main(int count, char **words) {
    char path[4096];
    double total = 1, start;
    if (count != 3) return 2;
    int creates = strcmp(words[1], "created") == 0;
    snprintf(path, sizeof path, "%s/%s", words[2], creates ? "created.h5" : "objects.h5");
    start = now();
    if (creates) create(path);
    else if (strcmp(words[1], "read") == 0) total = read_all(path);
    else total = read_attribute(path);
    printf("%.9f %.1f\n", now() - start, total);
    if (creates) unlink(path);
    return 0;
}
