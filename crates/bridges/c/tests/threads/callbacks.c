/* Callbacks run on the thread that called the library, and on no other, whatever the library does with threads of its own. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, FILTER = 300, ROWS = 256, COLUMNS = 256 };

/* Whether this thread is in a call of the library, and how often callbacks ran. */
static __thread int inside;
static int          calls;

static void note(void)
{
    CHECK(inside == 1);
    __sync_fetch_and_add(&calls, 1);
}

#define CALL(call)                                                                                           \
    do {                                                                                                     \
        inside = 1;                                                                                          \
        CHECK((call) >= 0);                                                                                  \
        inside = 0;                                                                                          \
    } while (0)

/* Inverts all bytes. */
static size_t filter(unsigned flags, size_t count, const unsigned *values, size_t bytes, size_t *size, void **buffer)
{
    (void)flags, (void)count, (void)values, (void)size;
    note();
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)*buffer)[i] ^= 0xff;
    return bytes;
}

static herr_t link_found(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    (void)group, (void)name, (void)info, (void)data;
    note();
    /* A callback may call the library. */
    CHECK(H5Lexists(group, name, H5P_DEFAULT) > 0);
    return 0;
}

static herr_t attribute_found(hid_t object, const char *name, const H5A_info_t *info, void *data)
{
    (void)object, (void)name, (void)info, (void)data;
    note();
    return 0;
}

static herr_t element(void *value, hid_t type, unsigned rank, const hsize_t *point, void *data)
{
    (void)value, (void)type, (void)rank, (void)point, (void)data;
    note();
    return 0;
}

static H5T_conv_ret_t exception(H5T_conv_except_t what, hid_t from, hid_t to, void *source, void *target, void *data)
{
    (void)what, (void)from, (void)to, (void)source, (void)data;
    note();
    *(signed char *)target = 7;
    return H5T_CONV_HANDLED;
}

static void *allocate(size_t size, void *data)
{
    (void)data;
    note();
    return malloc(size);
}

static void release(void *memory, void *data)
{
    (void)data;
    note();
    free(memory);
}

static herr_t convert(hid_t from, hid_t to, H5T_cdata_t *cdata, size_t count, size_t stride, size_t bkg, void *buffer, void *b, hid_t dxpl)
{
    (void)from, (void)to, (void)bkg, (void)b, (void)dxpl;
    note();
    if (cdata->command == H5T_CONV_CONV)
        for (size_t i = 0; i < count; i++) {
            char *at = (char *)buffer + i * (stride ? stride : 4);
            int   value;
            memcpy(&value, at, 4);
            value += 1000;
            memcpy(at, &value, 4);
        }
    return 0;
}

static void filtered(hid_t file)
{
    hsize_t dims[2] = {ROWS, COLUMNS}, chunk[2] = {16, 16};
    int    *values = malloc(sizeof *values * ROWS * COLUMNS);
    hid_t   space = H5Screate_simple(2, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 2, chunk);
    H5Pset_shuffle(list);
    H5Pset_filter(list, FILTER, 0, 0, NULL);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = i;
    hid_t dataset = H5Dcreate2(file, "filtered", H5T_NATIVE_INT, space, H5P_DEFAULT, list, H5P_DEFAULT);
    CHECK(dataset >= 0);
    CALL(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    CALL(H5Dclose(dataset));
    CALL(H5Fflush(file, H5F_SCOPE_GLOBAL));
    dataset = H5Dopen2(file, "filtered", H5P_DEFAULT);
    memset(values, 0, sizeof *values * ROWS * COLUMNS);
    CALL(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        CHECK(values[i] == i);
    CALL(H5Diterate(values, H5T_NATIVE_INT, space, element, NULL));
    H5Dclose(dataset), H5Sclose(space), H5Pclose(list);
    free(values);
}

static void exceptional(hid_t file)
{
    hsize_t dims[1] = {100000};
    int    *values = malloc(sizeof *values * dims[0]);
    for (hsize_t i = 0; i < dims[0]; i++)
        values[i] = 1000;
    hid_t space = H5Screate_simple(1, dims, NULL), list = H5Pcreate(H5P_DATASET_XFER);
    CHECK(H5Pset_type_conv_cb(list, exception, NULL) >= 0);
    hid_t dataset = H5Dcreate2(file, "narrow", H5T_NATIVE_SCHAR, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CALL(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, list, values));
    CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (hsize_t i = 0; i < dims[0]; i++)
        CHECK(values[i] == 7);
    H5Dclose(dataset), H5Sclose(space), H5Pclose(list);
    free(values);
}

static void variable(hid_t file)
{
    enum { COUNT = 20000 };
    hsize_t     dims[1] = {COUNT};
    hid_t       type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, dims, NULL), list = H5Pcreate(H5P_DATASET_XFER);
    const char *texts[COUNT];
    char       *found[COUNT];
    H5Tset_size(type, H5T_VARIABLE);
    for (int i = 0; i < COUNT; i++)
        texts[i] = i % 2 ? "a text" : "another, longer text";
    hid_t dataset = H5Dcreate2(file, "texts", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0);
    CHECK(H5Pset_vlen_mem_manager(list, allocate, NULL, release, NULL) >= 0);
    CALL(H5Dread(dataset, type, H5S_ALL, H5S_ALL, list, found));
    for (int i = 0; i < COUNT; i++)
        CHECK(strcmp(texts[i], found[i]) == 0);
    CALL(H5Dvlen_reclaim(type, space, list, found));
    H5Dclose(dataset), H5Sclose(space), H5Pclose(list), H5Tclose(type);
}

static void converted(hid_t file)
{
    hsize_t dims[2] = {ROWS, COLUMNS};
    hid_t   mine = H5Tcreate(H5T_OPAQUE, 4), space = H5Screate_simple(2, dims, NULL);
    int    *values = calloc(sizeof *values, ROWS * COLUMNS);
    H5Tset_tag(mine, "mine");
    hid_t dataset = H5Dcreate2(file, "converted", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    CALL(H5Tregister(H5T_PERS_HARD, "int to mine", H5T_NATIVE_INT, mine, convert));
    CALL(H5Dread(dataset, mine, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        CHECK(values[i] == 1000);
    CALL(H5Tunregister(H5T_PERS_HARD, "int to mine", H5T_NATIVE_INT, mine, convert));
    H5Dclose(dataset), H5Sclose(space), H5Tclose(mine);
    free(values);
}

static void *run(void *argument)
{
    char name[64];
    snprintf(name, sizeof name, "callbacks %d.h5", (int)(size_t)argument);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(file >= 0);
    set_attribute(file, "one", 1);
    filtered(file);
    exceptional(file);
    variable(file);
    if ((size_t)argument == 0)
        converted(file);
    CALL(H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, link_found, NULL));
    CALL(H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, attribute_found, NULL));
    inside = 1;
    CHECK(H5Fclose(file) >= 0);
    return NULL;
}

int main(void)
{
    pthread_t          threads[THREADS];
    const H5Z_class2_t class = {H5Z_CLASS_T_VERS, FILTER, 1, 1, "invert", NULL, NULL, filter};
    CHECK(H5Zregister(&class) >= 0);
    for (size_t thread = 0; thread < THREADS; thread++)
        CHECK(pthread_create(&threads[thread], NULL, run, (void *)thread) == 0);
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    inside = 1;
    CHECK(calls > THREADS * (2 * 256 + ROWS * COLUMNS));
    puts("callbacks: all ran on the thread that called");
    return 0;
}
