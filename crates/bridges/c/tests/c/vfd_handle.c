/* Handles of what stores a file: of which file, and until when. */
#include "show.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Returns whether a descriptor is of a file. */
static int is_of(int descriptor, const char *name)
{
    struct stat a, b;
    return fstat(descriptor, &a) == 0 && stat(name, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static void *handle_of(hid_t file, hid_t fapl)
{
    void *handle = NULL;
    SHOW(H5Fget_vfd_handle(file, fapl, &handle));
    return handle;
}

int main(void)
{
    hsize_t dims[1] = {5000}, offsets[3] = {0, 2999, 9000};
    int     values[5000] = {1, 2, 3}, descriptor;
    char    name[32];
    hid_t   fapl, file, space = H5Screate_simple(1, dims, NULL), dataset;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    file = H5Fcreate("one.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    int *pointer = handle_of(file, H5P_DEFAULT);
    printf("  the same %d, of the file %d\n", pointer == handle_of(file, H5P_DEFAULT), is_of(*pointer, "one.h5"));
    SHOW(H5Fget_vfd_handle(file, H5P_DEFAULT, NULL));
    descriptor = *pointer;
    SHOW(H5Fclose(file));
    printf("  open %d\n", fcntl(descriptor, F_GETFD) >= 0);

    fapl = H5Pcreate(H5P_FILE_ACCESS);
    SHOW(H5Pset_fapl_family(fapl, 4096, H5P_DEFAULT));
    file = H5Fcreate("family%03d.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    dataset = H5Dcreate2(file, "values", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(dataset);
    SHOW(H5Fflush(file, H5F_SCOPE_GLOBAL));
    for (int n = 0; n < 3; n++) {
        SHOW(H5Pset_family_offset(fapl, offsets[n]));
        pointer = handle_of(file, fapl);
        for (int member = 0; pointer && member < 6; member++) {
            snprintf(name, sizeof name, "family%03d.h5", member);
            if (is_of(*pointer, name))
                printf("  %s\n", name);
        }
    }
    SHOW(H5Fclose(file));
    H5Pclose(fapl);

    fapl = H5Pcreate(H5P_FILE_ACCESS);
    SHOW(H5Pset_fapl_core(fapl, 1024, 0));
    file = H5Fcreate("memory.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    void **memory = handle_of(file, fapl);
    printf("  signature %d\n", memcmp(*memory, "\211HDF\r\n\032\n", 8) == 0);
    SHOW(H5Fclose(file));
    H5Pclose(fapl), H5Sclose(space);
    return 0;
}
