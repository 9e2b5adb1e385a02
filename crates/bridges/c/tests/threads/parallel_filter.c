/* A filter of the program: on the thread that calls, one chunk after the other, or on all cores if HYPERSLAB_PARALLEL_FILTERS has its
 * number. Then a chunk waits for another one that is filtered at the same time, on machines that have several cores. */
#include "check.h"
#include <pthread.h>

enum { FILTER = 300, CHUNKS = 16, CHUNK = 1 << 16, WAITS = 30000 };

static pthread_t caller;
static int       is_parallel, inside, most, elsewhere;

static size_t filter(unsigned flags, size_t count, const unsigned *values, size_t bytes, size_t *size, void **buffer)
{
    (void)flags, (void)count, (void)values, (void)size;
    int now = __sync_add_and_fetch(&inside, 1);
    if (now > most)
        most = now;
    if (!pthread_equal(pthread_self(), caller))
        elsewhere = 1;
    /* The first one that meets another ends the wait of all. */
    for (int n = 0; is_parallel && __sync_add_and_fetch(&most, 0) < 2 && n < WAITS; n++)
        usleep(1000);
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)*buffer)[i] ^= 0xff;
    __sync_sub_and_fetch(&inside, 1);
    return bytes;
}

int main(void)
{
    const H5Z_class2_t class = {H5Z_CLASS_T_VERS, FILTER, 1, 1, "invert", NULL, NULL, filter};
    hsize_t            dims[1] = {CHUNKS * CHUNK}, chunk[1] = {CHUNK};
    int               *values = malloc(sizeof *values * dims[0]);
    caller = pthread_self();
    is_parallel = getenv("HYPERSLAB_PARALLEL_FILTERS") && sysconf(_SC_NPROCESSORS_ONLN) > 1;
    CHECK(H5Zregister(&class) >= 0);
    hid_t file = H5Fcreate("parallel_filter.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 1, chunk);
    H5Pset_filter(list, FILTER, 0, 0, NULL);
    hid_t dataset = H5Dcreate2(file, "values", H5T_NATIVE_INT, space, H5P_DEFAULT, list, H5P_DEFAULT);
    CHECK(dataset >= 0);
    for (int i = 0; i < CHUNKS * CHUNK; i++)
        values[i] = i;
    CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    CHECK(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
    file = H5Fopen("parallel_filter.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    dataset = H5Dopen2(file, "values", H5P_DEFAULT);
    memset(values, 0, sizeof *values * dims[0]);
    CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (int i = 0; i < CHUNKS * CHUNK; i++)
        CHECK(values[i] == i);
    CHECK(is_parallel ? most > 1 : most == 1);
    CHECK(is_parallel || getenv("HYPERSLAB_PARALLEL_FILTERS") || !elsewhere);
    H5Dclose(dataset), H5Fclose(file), H5Sclose(space), H5Pclose(list);
    free(values);
    puts(is_parallel ? "filter: on several threads, as it was asked for" : "filter: on the thread that called");
    return 0;
}
