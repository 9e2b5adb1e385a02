/* Checks that end the program with the place where one failed. */
#ifndef CHECK_H
#define CHECK_H
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            H5Eprint2(H5E_DEFAULT, stderr);                                                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

/* A dataset of doubles in deflated chunks, large enough that several threads compress it. */
__attribute__((unused)) static hid_t make_deflated(hid_t where, const char *name, hsize_t rows, hsize_t columns)
{
    hsize_t dims[2] = {rows, columns}, most[2] = {H5S_UNLIMITED, columns}, chunk[2] = {rows / 16, columns / 4};
    hid_t   space = H5Screate_simple(2, dims, most), list = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_chunk(list, 2, chunk) >= 0 && H5Pset_deflate(list, 1) >= 0);
    hid_t made = H5Dcreate2(where, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    CHECK(made >= 0);
    H5Pclose(list);
    H5Sclose(space);
    return made;
}

__attribute__((unused)) static void set_attribute(hid_t object, const char *name, int value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT, &value) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
}

__attribute__((unused)) static int attribute_of(hid_t object, const char *name)
{
    int   value = -1;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    CHECK(attribute >= 0 && H5Aread(attribute, H5T_NATIVE_INT, &value) >= 0);
    H5Aclose(attribute);
    return value;
}
#endif
