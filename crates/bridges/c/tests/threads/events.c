/* Event sets on a file with the layer `async`: operations go on in the background, failures arrive in their set, and a set
 * that is not waited for loses nothing. Linked with the C library: libhdf5 1.10 has no event sets. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "check.h"

typedef struct {
    const char *api_name;
    char *api_args;
    const char *file_name, *func_name;
    unsigned line;
    uint64_t ins_count, ins_ts, exec_ts, exec_time;
} op_info_t;

typedef struct {
    char *api_name, *api_args, *file_name, *func_name;
    unsigned line;
    uint64_t ins_count, ins_ts, exec_ts, exec_time;
    hid_t err_stack_id;
} err_info_t;

typedef int (*complete_t)(const op_info_t *, int status, hid_t stack, void *data);

#define FOREVER UINT64_MAX
#define SITE __FILE__, __func__, __LINE__

hid_t H5EScreate(void);
herr_t H5ESwait(hid_t, uint64_t, size_t *, bool *);
herr_t H5EScancel(hid_t, size_t *, bool *);
herr_t H5ESget_count(hid_t, size_t *);
herr_t H5ESget_op_counter(hid_t, uint64_t *);
herr_t H5ESget_err_count(hid_t, size_t *);
herr_t H5ESget_err_info(hid_t, size_t, err_info_t *, size_t *);
herr_t H5ESfree_err_info(size_t, err_info_t *);
herr_t H5ESregister_complete_func(hid_t, complete_t, void *);
herr_t H5ESclose(hid_t);
hid_t H5Dcreate_async(const char *, const char *, unsigned, hid_t, const char *, hid_t, hid_t, hid_t, hid_t, hid_t, hid_t);
herr_t H5Dwrite_async(const char *, const char *, unsigned, hid_t, hid_t, hid_t, hid_t, hid_t, const void *, hid_t);
herr_t H5Dclose_async(const char *, const char *, unsigned, hid_t, hid_t);
herr_t H5Lcreate_soft_async(const char *, const char *, unsigned, const char *, hid_t, const char *, hid_t, hid_t, hid_t);

/* Whether something is still in progress is for the machine to say: so often it is looked for. */
enum { DATASETS = 10, SIDE = 512, ROUNDS = 20 };
static int values[SIDE * SIDE];
static int ended[4];
static pthread_t caller;

/* Counts by status, on the thread that asks only. */
static int complete(const op_info_t *info, int status, hid_t stack, void *data) {
    CHECK(pthread_equal(pthread_self(), caller) && info->ins_count > 0 && data == ended);
    CHECK((status == 3) == (stack > 0) && status > 0 && status < 4);
    ended[status]++;
    return 0;
}

/* Creates all, and then writes all, which takes longer than to ask for it. */
static void write_all(hid_t file, hid_t set) {
    hsize_t dims[2] = {SIDE, SIDE}, chunk[2] = {64, 64};
    hid_t space = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), datasets[DATASETS];
    char name[16];
    CHECK(H5Pset_chunk(dcpl, 2, chunk) >= 0 && H5Pset_deflate(dcpl, 6) >= 0);
    for (int n = 0; n < DATASETS; n++) {
        snprintf(name, sizeof name, "d%d", n);
        datasets[n] = H5Dcreate_async(SITE, file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT, set);
        CHECK(datasets[n] >= 0);
    }
    for (int i = 0; i < SIDE * SIDE; i++) values[i] = i * 7 % 1000;
    for (int n = 0; n < DATASETS; n++) {
        /* The buffer may change at once: what waits is a copy. */
        values[n] = -n;
        CHECK(H5Dwrite_async(SITE, datasets[n], H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values, set) >= 0);
        CHECK(H5Dclose_async(SITE, datasets[n], set) >= 0);
    }
    CHECK(H5Sclose(space) >= 0 && H5Pclose(dcpl) >= 0);
}

static void verify(const char *path) {
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    char name[16];
    CHECK(file >= 0);
    for (int n = 0; n < DATASETS; n++) {
        snprintf(name, sizeof name, "d%d", n);
        hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
        CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
        for (int i = 0; i < SIDE * SIDE; i++) CHECK(values[i] == (i <= n ? -i : i * 7 % 1000));
        CHECK(H5Dclose(dataset) >= 0);
    }
    CHECK(H5Fclose(file) >= 0);
}

/* Operations are in progress until the set was waited for, and then all are there. Returns whether some were seen so. */
static int waited_for(void) {
    hid_t file = H5Fcreate("events.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), set = H5EScreate();
    size_t before = 0, count = 0;
    uint64_t inserted = 0;
    bool failed = true;
    memset(ended, 0, sizeof ended);
    CHECK(file >= 0 && set >= 0 && H5ESregister_complete_func(set, complete, ended) >= 0);
    write_all(file, set);
    CHECK(H5ESwait(set, 0, &before, &failed) >= 0 && !failed);
    H5E_BEGIN_TRY { failed = H5ESclose(set) < 0; } H5E_END_TRY;
    /* What ended between the two calls lets it be closed. */
    if (!failed) {
        CHECK(H5Fclose(file) >= 0);
        return 0;
    }
    CHECK(before > 0);
    CHECK(H5ESwait(set, FOREVER, &count, &failed) >= 0 && count == 0 && !failed);
    CHECK(H5ESget_count(set, &count) >= 0 && count == 0);
    CHECK(H5ESget_op_counter(set, &inserted) >= 0 && inserted == 3 * DATASETS);
    CHECK(ended[1] == 3 * DATASETS && ended[2] == 0 && ended[3] == 0);
    CHECK(H5ESclose(set) >= 0 && H5Fclose(file) >= 0);
    verify("events.h5");
    return 1;
}

/* A failure has the name and the place of its call, and an error stack; the operations around it go well. */
static void failed(void) {
    hid_t file = H5Fcreate("failed.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), set = H5EScreate();
    size_t count = 0;
    bool has_failed = false;
    err_info_t info = {0};
    write_all(file, set);
    H5E_BEGIN_TRY {
        for (int n = 0; n < 2; n++)
            H5Lcreate_soft_async(SITE, "d0", file, "twice", H5P_DEFAULT, H5P_DEFAULT, set);
    } H5E_END_TRY;
    while (H5ESwait(set, FOREVER, &count, &has_failed) >= 0 && count > 0) continue;
    CHECK(has_failed && H5ESget_err_count(set, &count) >= 0 && count == 1);
    CHECK(H5ESget_err_info(set, 1, &info, &count) >= 0 && count == 1);
    CHECK(strcmp(info.api_name, "H5Lcreate_soft_async") == 0 && strcmp(info.func_name, "failed") == 0);
    CHECK(info.ins_count == 3 * DATASETS + 2 && H5Eget_num(info.err_stack_id) > 0);
    CHECK(H5ESfree_err_info(1, &info) >= 0 && H5ESget_err_count(set, &count) >= 0 && count == 0);
    CHECK(H5ESclose(set) >= 0 && H5Fclose(file) >= 0);
    verify("failed.h5");
}

/* What is cancelled did not happen; the rest did, and the file is whole. How much that is, is for the machine to say. */
static void cancelled(void) {
    hid_t file = H5Fcreate("cancelled.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), set = H5EScreate();
    size_t count = 0;
    bool has_failed = false;
    memset(ended, 0, sizeof ended);
    CHECK(H5ESregister_complete_func(set, complete, ended) >= 0);
    write_all(file, set);
    CHECK(H5EScancel(set, &count, &has_failed) >= 0 && !has_failed);
    while (H5ESwait(set, FOREVER, &count, &has_failed) >= 0 && count > 0) continue;
    CHECK(!has_failed && ended[3] == 0 && ended[1] + ended[2] == 3 * DATASETS);
    CHECK(H5ESclose(set) >= 0 && H5Fclose(file) >= 0);
    file = H5Fopen("cancelled.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(file >= 0 && H5Fclose(file) >= 0);
}

/* A file that is closed without waiting has everything. */
static void not_waited_for(void) {
    hid_t file = H5Fcreate("closed.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), set = H5EScreate();
    write_all(file, set);
    CHECK(H5Fclose(file) >= 0);
    verify("closed.h5");
    CHECK(H5ESclose(set) >= 0);
}

/* Whether a round of some sees what it looks for. */
static int once(int (*round)(void)) {
    for (int n = 0; n < ROUNDS; n++)
        if (round()) return 1;
    return 0;
}

int main(void) {
    caller = pthread_self();
    CHECK(once(waited_for));
    failed();
    for (int n = 0; n < 5; n++) cancelled();
    not_waited_for();
    puts("event sets: operations go on in the background, and failures arrive where they belong");
    return 0;
}
