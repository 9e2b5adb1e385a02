#include <hdf5.h>
#include <stdio.h>

int main(void)
{
    unsigned major, minor, release;
    hsize_t  dims[1] = {3};
    int      values[3] = {1, 2, 3}, found[3] = {0};
    hid_t    file = H5Fcreate("program.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(1, dims, NULL);
    hid_t    dataset = H5Dcreate(file, "x", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found);
    H5get_libversion(&major, &minor, &release);
    printf("%d %d %d %d\n", found[0], found[1], found[2], H5_VERSION_GE(major, minor, release));
    return H5Dclose(dataset) < 0 || H5Sclose(space) < 0 || H5Fclose(file) < 0;
}
