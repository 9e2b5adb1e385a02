/* Processes that disagree, fail or die: all that are left get an error, and none waits for ever. Each that saw what it should see
 * leaves a file rank.N in the folder.
 * usage: disagree FOLDER [die | silent] */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

static herr_t find(unsigned n, const H5E_error2_t *error, void *text)
{
    (void)n;
    strncat((char *)text, error->desc ? error->desc : "", 4095 - strlen((char *)text));
    strncat((char *)text, "\n", 4095 - strlen((char *)text));
    return 0;
}

/* The error stack of this process has a text. */
static void expect(int has_failed, const char *what, const char *text)
{
    char stack[4096] = "";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, find, stack);
    if (!has_failed || !strstr(stack, text)) {
        fprintf(stderr, "rank %d: %s: failed %d, \"%s\" is not in:\n%s", rank, what, has_failed, text, stack);
        _exit(1);
    }
}

/* Writes one element each, with a selection that may be wrong. */
static herr_t write_one(hid_t dataset, hid_t dxpl, int is_wrong, const int *value)
{
    hsize_t start = (hsize_t)rank, one = 1, two = 2;
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, is_wrong ? &two : &one, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &one, NULL);
    /* The dataspaces stay: closing them would clear the error stack. */
    return H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, dxpl, value);
}

/* The last process says nothing. The others wait for so long as they may, and tell it that they are done. */
static void silent(const char *folder, int is_last)
{
    char  path[4096];
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;
    setenv("HYPERSLAB_MPI_SECONDS", "soon", 1);
    expect(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL) < 0, "no number", "HYPERSLAB_MPI_SECONDS");
    setenv("HYPERSLAB_MPI_SECONDS", "5", 1);
    H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
    snprintf(path, sizeof path, "%s/silent.h5", folder);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    if (file < 0)
        _exit(1);
    for (int other = 0; is_last && other < ranks - 1; other++)
        MPI_Recv(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!is_last) {
        expect(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) < 0, "a silent process", "keep silent");
        MPI_Send(NULL, 0, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD);
    }
}

int main(int count, char **arguments)
{
    char path[4096], name[32];
    int value, is_last, level;
    hid_t fapl, file, dataset, dxpl, space;
    MPI_Init_thread(&count, &arguments, MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    is_last = rank == ranks - 1;
    value = rank;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    snprintf(path, sizeof path, "%s/disagree.h5", arguments[1]);

    fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
    dxpl = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hsize_t dims = (hsize_t)ranks;
    space = H5Screate_simple(1, &dims, NULL);
    dataset = H5Dcreate2(file, "data", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    snprintf(name, sizeof name, "group%d", is_last);
    expect(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) < 0, "other arguments", "different arguments");
    expect((is_last ? H5Fflush(file, H5F_SCOPE_GLOBAL) : write_one(dataset, dxpl, 0, &value)) < 0, "other calls", "different calls");
    if (is_last)
        expect(write_one(dataset, dxpl, 1, &value) < 0, "wrong selection", "number of elements selected");
    else
        expect(write_one(dataset, dxpl, 0, &value) < 0, "wrong selection of another", "number of elements selected");
    if (is_last)
        expect(write_one(dataset, dxpl, 0, NULL) < 0, "no buffer", "buffer is NULL");
    else
        expect(write_one(dataset, dxpl, 0, &value) < 0, "no buffer of another", "buffer is NULL");

    /* All can go on. */
    if (write_one(dataset, dxpl, 0, &value) < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) {
        H5Eprint2(H5E_DEFAULT, stderr);
        _exit(1);
    }
    snprintf(path, sizeof path, "%s/rank.%d", arguments[1], rank);
    if (count > 2 && strcmp(arguments[2], "silent") == 0) {
        silent(arguments[1], is_last);
        fclose(fopen(path, "w"));
        /* The file cannot be closed together any more. */
        MPI_Barrier(MPI_COMM_WORLD);
        _exit(0);
    }
    if (count > 2) {
        /* The last process dies, and the others say who. */
        if (is_last)
            _exit(0);
        snprintf(name, sizeof name, "rank: %d", ranks - 1);
        expect(write_one(dataset, dxpl, 0, &value) < 0, "a process died", name);
        expect(H5Fflush(file, H5F_SCOPE_GLOBAL) < 0, "after that", "another member is gone");
        fclose(fopen(path, "w"));
        /* MPI would wait for the process that died. */
        _exit(0);
    }
    H5Dclose(dataset);
    if (H5Fclose(file) < 0)
        _exit(1);
    H5Pclose(fapl);
    fclose(fopen(path, "w"));
    MPI_Finalize();
    return 0;
}
