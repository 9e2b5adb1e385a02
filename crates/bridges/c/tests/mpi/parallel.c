/* Files that the processes of an MPI job have open together. Prints what every process sees, one after another: the same on libhdf5.
 * usage: parallel FOLDER */
#include <hdf5.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, COLUMNS = 12 };

static int rank, ranks;
static char said[1 << 16];

static void say(const char *format, ...)
{
    size_t used = strlen(said);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said + used, sizeof said - used, format, arguments);
    va_end(arguments);
}

/* What all processes said, in order. */
static void tell(const char *title)
{
    if (rank == 0) {
        printf("== %s\n", title);
        for (int from = 0; from < ranks; from++) {
            if (from > 0)
                MPI_Recv(said, sizeof said, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("%d: %s\n", from, said);
        }
    }
    else {
        MPI_Send(said, (int)strlen(said) + 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    said[0] = 0;
    fflush(stdout);
}

static hid_t together(MPI_Comm comm)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    say("set %d ", H5Pset_fapl_mpio(fapl, comm, MPI_INFO_NULL));
    return fapl;
}

static hid_t transfers(H5FD_mpio_xfer_t mode)
{
    hid_t dxpl = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(dxpl, mode);
    return dxpl;
}

/* How the last transfer was done. libhdf5 1.10 and 2.x say different things of chunks of contiguous data. */
static void outcome(hid_t dxpl)
{
    H5D_mpio_actual_io_mode_t io;
    uint32_t local, global;
    H5Pget_mpio_actual_io_mode(dxpl, &io);
    H5Pget_mpio_no_collective_cause(dxpl, &local, &global);
    say("[io %d, local %x, global %x] ", (int)io, (unsigned)local, (unsigned)global);
    if (io == H5D_MPIO_CHUNK_COLLECTIVE) {
        H5D_mpio_actual_chunk_opt_mode_t chunks;
        H5Pget_mpio_actual_chunk_opt_mode(dxpl, &chunks);
        say("[chunks %d] ", (int)chunks);
    }
}

/* Selects the rows of a process; some processes may have none. */
static hid_t rows_of(hid_t dataset, int of, int has_rows)
{
    hid_t space = H5Dget_space(dataset);
    hsize_t start[2] = {(hsize_t)of * ROWS, 0}, count[2] = {ROWS, COLUMNS};
    if (has_rows)
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    else
        H5Sselect_none(space);
    return space;
}

static hid_t memory_of(hid_t space)
{
    hsize_t count = (hsize_t)H5Sget_select_npoints(space);
    hid_t memory;
    if (count > 0)
        return H5Screate_simple(1, &count, NULL);
    count = 1;
    memory = H5Screate_simple(1, &count, NULL);
    H5Sselect_none(memory);
    return memory;
}

static void write_rows(hid_t dataset, hid_t dxpl, int seed, int has_rows)
{
    int values[ROWS * COLUMNS];
    hid_t space = rows_of(dataset, rank, has_rows), memory = memory_of(space);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = seed + 1000 * rank + i;
    say("write %d ", H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, dxpl, values));
    outcome(dxpl);
    H5Sclose(memory);
    H5Sclose(space);
}

/* Reads the rows of the next process, as numbers of another type. */
static void read_rows(hid_t dataset, hid_t dxpl, int has_rows)
{
    double values[ROWS * COLUMNS] = {0}, sum = 0;
    hid_t space = rows_of(dataset, (rank + 1) % ranks, has_rows), memory = memory_of(space);
    say("read %d ", H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, dxpl, values));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        sum += values[i];
    say("first %g, sum %g ", values[0], sum);
    H5Sclose(memory);
    H5Sclose(space);
}

static hid_t dataset_of(hid_t file, const char *name, hid_t dcpl)
{
    hsize_t dims[2] = {(hsize_t)ranks * ROWS, COLUMNS}, dims_max[2] = {H5S_UNLIMITED, COLUMNS};
    hid_t space = H5Screate_simple(2, dims, H5Pget_layout(dcpl) == H5D_CHUNKED ? dims_max : NULL);
    hid_t dataset = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Sclose(space);
    return dataset;
}

static hid_t chunked(int has_filters)
{
    /* Chunks that two processes write to. */
    hsize_t chunk[2] = {3, 5};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 2, chunk);
    if (has_filters) {
        H5Pset_shuffle(dcpl);
        if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0)
            H5Pset_deflate(dcpl, 4);
        H5Pset_fletcher32(dcpl);
    }
    return dcpl;
}

static void transfer(hid_t file, const char *name, hid_t dcpl, int is_filtered)
{
    hid_t collective = transfers(H5FD_MPIO_COLLECTIVE), independent = transfers(H5FD_MPIO_INDEPENDENT);
    hid_t dataset = dataset_of(file, name, dcpl);
    write_rows(dataset, collective, 0, 1);
    read_rows(dataset, collective, 1);
    read_rows(dataset, independent, rank % 2 == 0);
    tell(name);
    /* libhdf5 caches chunks that a process read for itself. */
    H5Dclose(dataset);
    dataset = H5Dopen2(file, name, H5P_DEFAULT);

    say("some: ");
    write_rows(dataset, collective, 100000, rank == 0);
    read_rows(dataset, collective, rank == ranks - 1);
    if (!is_filtered) {
        write_rows(dataset, independent, 200000, rank == ranks - 1);
    }
    say("flush %d ", H5Fflush(file, H5F_SCOPE_GLOBAL));
    MPI_Barrier(MPI_COMM_WORLD);
    read_rows(dataset, independent, 1);
    tell(name);
    H5Dclose(dataset);
    H5Pclose(collective);
    H5Pclose(independent);
}

static void grow(hid_t file, const char *name)
{
    hsize_t dims[2] = {(hsize_t)(ranks + 1) * ROWS, COLUMNS};
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), dxpl = transfers(H5FD_MPIO_COLLECTIVE);
    int value = 7 * rank;
    hid_t space, memory;
    say("grow %d ", H5Dset_extent(dataset, dims));
    space = H5Dget_space(dataset);
    /* One element each, in the new rows. */
    hsize_t point[2] = {(hsize_t)ranks * ROWS + (hsize_t)(rank % ROWS), (hsize_t)rank}, one = 1;
    H5Sselect_elements(space, H5S_SELECT_SET, 1, point);
    memory = H5Screate_simple(1, &one, NULL);
    say("write %d ", H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, dxpl, &value));
    outcome(dxpl);
    value = -1;
    say("read %d: ", H5Dread(dataset, H5T_NATIVE_INT, memory, space, dxpl, &value));
    say("%d", value);
    tell("grow");
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(dxpl);
    H5Dclose(dataset);
}

static void structure(hid_t file)
{
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(group, "answer", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    int value = 42;
    say("attribute %d ", H5Awrite(attribute, H5T_NATIVE_INT, &value));
    value = 0;
    say("%d: ", H5Aread(attribute, H5T_NATIVE_INT, &value));
    say("%d ", value);
    H5Aclose(attribute);
    H5Sclose(space);
    say("links %d ", H5Lcreate_soft("/contiguous", group, "soft", H5P_DEFAULT, H5P_DEFAULT));
    say("%d ", H5Lcreate_hard(file, "contiguous", group, "hard", H5P_DEFAULT, H5P_DEFAULT));
    say("%d ", H5Lmove(group, "hard", group, "moved", H5P_DEFAULT, H5P_DEFAULT));
    say("%d ", H5Ldelete(group, "soft", H5P_DEFAULT));
    say("exists %d %d", H5Lexists(group, "moved", H5P_DEFAULT) > 0, H5Lexists(group, "hard", H5P_DEFAULT) > 0);
    H5Gclose(group);
    tell("structure");
}

static void properties(MPI_Comm comm)
{
    hid_t fapl = together(comm), dxpl = transfers(H5FD_MPIO_COLLECTIVE);
    MPI_Comm own;
    MPI_Info info;
    H5FD_mpio_xfer_t mode;
    hbool_t is_collective = 0;
    int compared = -1;
    say("get %d ", H5Pget_fapl_mpio(fapl, &own, &info));
    MPI_Comm_compare(comm, own, &compared);
    say("communicator %d, info %d ", compared == MPI_CONGRUENT, info == MPI_INFO_NULL);
    MPI_Comm_free(&own);
    say("driver %d ", H5Pget_driver(fapl) == H5FD_MPIO);
    say("metadata %d ", H5Pset_all_coll_metadata_ops(fapl, 1));
    say("%d ", H5Pget_all_coll_metadata_ops(fapl, &is_collective));
    say("%d ", is_collective);
    hid_t lists[4] = {H5Pcreate(H5P_LINK_ACCESS), H5Pcreate(H5P_GROUP_ACCESS), H5Pcreate(H5P_DATASET_ACCESS), dxpl};
    for (int n = 0; n < 4; n++) {
        H5E_BEGIN_TRY
        {
            is_collective = 0;
            say("%d ", H5Pset_all_coll_metadata_ops(lists[n], 1));
            say("%d ", H5Pget_all_coll_metadata_ops(lists[n], &is_collective));
            say("%d ", is_collective);
        }
        H5E_END_TRY
    }
    for (int n = 0; n < 3; n++)
        H5Pclose(lists[n]);
    say("%d ", H5Pset_coll_metadata_write(fapl, 1));
    say("%d ", H5Pget_coll_metadata_write(fapl, &is_collective));
    say("%d ", is_collective);
    H5Pget_dxpl_mpio(dxpl, &mode);
    say("mode %d ", (int)mode);
    say("options %d ", H5Pset_dxpl_mpio_collective_opt(dxpl, H5FD_MPIO_COLLECTIVE_IO));
    say("%d ", H5Pset_dxpl_mpio_chunk_opt(dxpl, H5FD_MPIO_CHUNK_ONE_IO));
    say("%d ", H5Pset_dxpl_mpio_chunk_opt_num(dxpl, 3));
    say("%d ", H5Pset_dxpl_mpio_chunk_opt_ratio(dxpl, 50));
    outcome(dxpl);
    H5Pclose(dxpl);
    H5Pclose(fapl);
    fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5E_BEGIN_TRY { say("without %d", H5Pget_fapl_mpio(fapl, &own, &info)); }
    H5E_END_TRY
    H5Pclose(fapl);
    tell("properties");
}

/* Files of some processes. */
static void parts(const char *folder)
{
    char path[4096];
    MPI_Comm part;
    hid_t fapl, file, dataset, dxpl = transfers(H5FD_MPIO_COLLECTIVE), space, memory;
    int place, size, value;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Comm_rank(part, &place);
    MPI_Comm_size(part, &size);
    snprintf(path, sizeof path, "%s/part%d.h5", folder, rank % 2);
    fapl = together(part);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hsize_t dims = (hsize_t)size, start = (hsize_t)place, one = 1;
    space = H5Screate_simple(1, &dims, NULL);
    memory = H5Screate_simple(1, &one, NULL);
    dataset = H5Dcreate2(file, "ranks", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &one, NULL);
    say("write %d ", H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, dxpl, &rank));
    value = -1;
    say("read %d: ", H5Dread(dataset, H5T_NATIVE_INT, memory, space, dxpl, &value));
    say("%d ", value);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Sclose(memory);
    say("close %d", H5Fclose(file));
    H5Pclose(fapl);
    H5Pclose(dxpl);
    MPI_Comm_free(&part);
    tell("parts");
}

/* What must fail, in every process. */
static void refusals(hid_t file, const char *path)
{
    hid_t independent = transfers(H5FD_MPIO_INDEPENDENT), dataset = H5Dopen2(file, "filtered", H5P_DEFAULT), plain;
    hbool_t is_atomic = 1;
    H5E_BEGIN_TRY
    {
        int values[ROWS * COLUMNS] = {0};
        hid_t space = rows_of(dataset, rank, 1), memory = memory_of(space);
        say("filters %d ", H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, independent, values));
        H5Sclose(memory);
        H5Sclose(space);
        say("open objects %d ", H5Fclose(file));
        say("again %d ", H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
    H5E_END_TRY
    H5Dclose(dataset);
    H5Pclose(independent);
    say("atomic %d ", H5Fget_mpi_atomicity(file, &is_atomic));
    say("%d ", is_atomic);
    say("%d ", H5Fset_mpi_atomicity(file, 1));
    say("%d ", H5Fget_mpi_atomicity(file, &is_atomic));
    say("%d ", is_atomic);
    say("%d ", H5Fset_mpi_atomicity(file, 0));
    say("close %d ", H5Fclose(file));
    plain = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    H5E_BEGIN_TRY { say("not parallel %d", H5Fset_mpi_atomicity(plain, 1)); }
    H5E_END_TRY
    H5Fclose(plain);
    tell("refusals");
}

/* Chunks one by one, for a program that asks for it. */
static void one_by_one(hid_t file, const char *name)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), dxpl = transfers(H5FD_MPIO_COLLECTIVE);
    say("options %d ", H5Pset_dxpl_mpio_chunk_opt(dxpl, H5FD_MPIO_CHUNK_MULTI_IO));
    say("%d ", H5Pset_dxpl_mpio_chunk_opt_ratio(dxpl, 0));
    write_rows(dataset, dxpl, 5, 1);
    read_rows(dataset, dxpl, 1);
    H5Pclose(dxpl);
    H5Dclose(dataset);
    tell("one by one");
}

/* Hints for MPI-IO: what is read does not depend on them. */
static void hinted(const char *folder)
{
    char     path[4096];
    MPI_Info info;
    hid_t    fapl = H5Pcreate(H5P_FILE_ACCESS), file, dcpl = chunked(0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "striping_unit", "65536");
    say("set %d ", H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, info));
    snprintf(path, sizeof path, "%s/hinted.h5", folder);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    transfer(file, "chunked", dcpl, 0);
    H5Pclose(dcpl);
    say("close %d", H5Fclose(file));
    H5Pclose(fapl);
    MPI_Info_free(&info);
    tell("hints");
}

int main(int count, char **arguments)
{
    char path[4096], forgotten[4096];
    hid_t fapl, file, dcpl;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(path, sizeof path, "%s/all.h5", arguments[1]);
    snprintf(forgotten, sizeof forgotten, "%s/forgotten.h5", arguments[1]);

    properties(MPI_COMM_WORLD);
    fapl = together(MPI_COMM_WORLD);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    say("create %d", file >= 0);
    tell("file");
    dcpl = H5Pcreate(H5P_DATASET_CREATE);
    transfer(file, "contiguous", dcpl, 0);
    H5Pclose(dcpl);
    dcpl = chunked(0);
    transfer(file, "chunked", dcpl, 0);
    H5Pclose(dcpl);
    dcpl = chunked(1);
    transfer(file, "filtered", dcpl, 1);
    H5Pclose(dcpl);
    grow(file, "chunked");
    grow(file, "filtered");
    one_by_one(file, "chunked");
    one_by_one(file, "filtered");
    structure(file);
    say("close %d", H5Fclose(file));
    tell("close");
    file = H5Fopen(path, H5F_ACC_RDWR, fapl);
    say("open %d ", file >= 0);
    grow(file, "chunked");
    refusals(file, path);
    parts(arguments[1]);
    hinted(arguments[1]);

    /* A file that is still open when MPI ends. */
    file = H5Fcreate(forgotten, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    H5Gclose(H5Gcreate2(file, "here", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Pclose(fapl);
    MPI_Finalize();
    return 0;
}
