/* Chunks that are damaged: reads that verify checksums, that do not, and functions that are asked where a filter fails. */
#include "show.h"

enum { COUNT = 250, CHUNK = 100, SUM = 301 };

static int answers, calls;

static H5Z_cb_return_t failed(H5Z_filter_t filter, void *buffer, size_t size, void *data)
{
    /* Libraries compress to different sizes. */
    size = filter == H5Z_FILTER_DEFLATE ? size > 0 : size;
    printf("  filter %d fails with %zu bytes, %s\n", (int)filter, size, buffer ? (char *)data : "no buffer");
    calls++;
    return answers ? H5Z_CB_CONT : H5Z_CB_FAIL;
}

/* The bytes and their sum, which is not verified if the program does not want that. */
static size_t sum(unsigned flags, size_t count, const unsigned *values, size_t bytes, size_t *size, void **buffer)
{
    unsigned char *at = *buffer, total = 0;
    (void)count, (void)values;
    if (flags & H5Z_FLAG_REVERSE) {
        for (size_t i = 0; i + 1 < bytes; i++)
            total += at[i];
        return total == at[bytes - 1] || (flags & H5Z_FLAG_SKIP_EDC) ? bytes - 1 : 0;
    }
    unsigned char *longer = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        total += longer[i] = at[i];
    longer[bytes] = total;
    free(at);
    *buffer = longer, *size = bytes + 1;
    return bytes + 1;
}

static const H5Z_class2_t SUMS = {H5Z_CLASS_T_VERS, SUM, 1, 1, "sums", NULL, NULL, sum};

static void create(hid_t file, const char *name, void (*add)(hid_t))
{
    hsize_t dims[1] = {COUNT}, chunk[1] = {CHUNK};
    int     values[COUNT];
    hid_t   list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, dims, NULL), dataset;
    for (int i = 0; i < COUNT; i++)
        values[i] = i;
    H5Pset_chunk(list, 1, chunk);
    add(list);
    SHOW_ID(dataset, H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, list, H5P_DEFAULT));
    SHOW(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    H5Dclose(dataset), H5Sclose(space), H5Pclose(list);
}

/* Returns where a chunk lies in the file. */
static haddr_t place(hid_t file, const char *name, hsize_t first)
{
    haddr_t  address = HADDR_UNDEF;
    hsize_t  size;
    unsigned mask;
    hid_t    dataset = H5Dopen2(file, name, H5P_DEFAULT);
    SHOW(H5Dget_chunk_info_by_coord(dataset, &first, &mask, &address, &size));
    H5Dclose(dataset);
    return address;
}

static void damage(haddr_t address)
{
    FILE *file = fopen("damaged.h5", "r+b");
    fseek(file, (long)address + 10, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, (long)address + 10, SEEK_SET);
    fputc(byte ^ 0x40, file);
    fclose(file);
}

/* Each read opens the file anew: libhdf5 keeps chunks that it did not verify. */
static void reads(const char *name, hid_t list)
{
    int     values[COUNT];
    double  reals[3] = {0};
    hsize_t start = 60, stride = 70, count = 3, points[3] = {240, 103, 5};
    hid_t   file = H5Fopen("damaged.h5", H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t   space = H5Dget_space(dataset), memory = H5Screate_simple(1, &count, NULL);
    memset(values, 0, sizeof values);
    herr_t status;
    SHOW(status = H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, list, values));
    /* A read that fails may leave any chunks in the buffer: other threads decode them. */
    if (status >= 0)
        for (int i = 0; i < COUNT; i++)
            if (values[i] != i)
                printf("  %d is %#x\n", i, values[i]);
    H5Dclose(dataset), H5Fclose(file);
    file = H5Fopen("damaged.h5", H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(file, name, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &stride, &count, NULL);
    if (H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, list, reals) >= 0)
        printf("  %g %g %g\n", reals[0], reals[1], reals[2]);
    H5Dclose(dataset), H5Fclose(file);
    file = H5Fopen("damaged.h5", H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(file, name, H5P_DEFAULT);
    H5Sselect_elements(space, H5S_SELECT_SET, 3, points);
    if (H5Dread(dataset, H5T_NATIVE_INT, memory, space, list, values) >= 0)
        printf("  %d %d %d\n", values[0], values[1], values[2]);
    H5Dclose(dataset), H5Fclose(file);
    H5Sclose(space), H5Sclose(memory);
}

static void plain(hid_t list) { H5Pset_fletcher32(list); }
static void mixed(hid_t list) { H5Pset_shuffle(list), H5Pset_fletcher32(list); }
static void early(hid_t list) { H5Pset_fletcher32(list), H5Pset_shuffle(list); }
static void summed(hid_t list) { H5Pset_filter(list, SUM, 0, 0, NULL); }
static void packed(hid_t list) { H5Pset_deflate(list, 6); }

int main(void)
{
    static const char *const names[] = {"plain", "mixed", "early", "summed", "packed", "sound"};
    static void (*const adds[])(hid_t) = {plain, mixed, early, summed, packed, mixed};
    enum { NAMES = 6 };
    haddr_t addresses[NAMES];
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    SHOW(H5Zregister(&SUMS));
    hid_t file = H5Fcreate("damaged.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (int n = 0; n < NAMES; n++)
        create(file, names[n], adds[n]);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    for (int n = 0; n < NAMES; n++)
        addresses[n] = place(file, names[n], CHUNK);
    H5Fclose(file);
    for (int n = 0; n < NAMES - 1; n++)
        damage(addresses[n]);
    hid_t verified = H5Pcreate(H5P_DATASET_XFER), unverified = H5Pcreate(H5P_DATASET_XFER), asked = H5Pcreate(H5P_DATASET_XFER);
    SHOW(H5Pset_edc_check(unverified, H5Z_DISABLE_EDC));
    SHOW(H5Pset_filter_callback(asked, failed, "with data"));
    for (int n = 0; n < NAMES; n++) {
        printf("%s\n", names[n]);
        reads(names[n], verified);
        puts(" not verified");
        if (adds[n] != packed)
            reads(names[n], unverified);
        for (answers = 0; answers < (adds[n] == packed ? 1 : 2); answers++) {
            puts(answers ? " asked: go on" : " asked: fail");
            reads(names[n], asked);
        }
    }
    printf("%d calls\n", calls);
    puts("afterwards");
    reads("plain", verified);
    return 0;
}
