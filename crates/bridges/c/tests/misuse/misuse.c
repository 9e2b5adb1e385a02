/* Calls every exported function with NULL, closed, foreign and random arguments: each call must return, with a record on the
 * error stack where it fails. `calls.h` is generated from the definitions of the library (interface/misuse.py).
 *
 * usage: misuse [--seed N] [--rounds N] [--jobs N] [--debug] [FUNCTION...]
 *
 * Each function has a process of its own, so that a crash or a hang names it. Pointers are NULL or point to zeroed buffers that
 * are larger than anything the arguments can ask for: libhdf5 too trusts a pointer that is not NULL. Sizes are therefore small
 * where there is a buffer, and anything where all pointers are NULL. */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20, BUFFERS = 16, IDS_MAX = 96, JOBS_MAX = 64, SECONDS_MAX = 60 };

typedef enum {
    EVERYTHING_WRONG, /* no identifier is valid and every pointer is NULL: it must fail */
    NO_POINTERS,      /* identifiers of any type, every pointer NULL, numbers of any size */
    BUFFERS_GIVEN,    /* identifiers of any type, buffers or NULL, small sizes */
    NEARLY_RIGHT,     /* identifiers of the type that the argument's name suggests, mostly */
    MODES
} mode_t_;

static mode_t_ mode;
static uint64_t state;
static char *buffers[BUFFERS];

static uint64_t any(void) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static unsigned below(unsigned limit) { return (unsigned)(any() % limit); }

#define ONE_OF(list) ((list)[below(sizeof(list) / sizeof *(list))])

/* Identifiers */

extern int H5Iis_valid(int64_t id);

typedef int64_t id_t_;
typedef enum { LOCATION, DATATYPE, DATASPACE, LIST, OTHER } kind_t_;

static id_t_ valid[5][IDS_MAX], closed[IDS_MAX];
static unsigned valid_count[5], closed_count;

static id_t_ wrong_id(void) {
    static const id_t_ fixed[] = {-1, 0, 1, 2, INT64_MIN, INT64_MAX, (id_t_)1 << 56, (id_t_)5 << 56 | 7, (id_t_)127 << 56 | 1};
    switch (below(4)) {
    case 0: return closed_count ? closed[below(closed_count)] : -1;
    case 1: return (id_t_)any();
    case 2: return (id_t_)((uint64_t)below(20) << 56 | below(1 << 17));
    default: return ONE_OF(fixed);
    }
}

static id_t_ invalid_id(void) {
    for (;;) {
        id_t_ id = wrong_id();
        /* 0 is H5P_DEFAULT and its like. Closed and other invalid ones are what is wanted. */
        if (id != 0 && H5Iis_valid(id) <= 0)
            return id;
    }
}

static id_t_ valid_id(kind_t_ kind) { return valid_count[kind] ? valid[kind][below(valid_count[kind])] : -1; }

static id_t_ id(kind_t_ likely) {
    if (mode == EVERYTHING_WRONG)
        return invalid_id();
    if (mode == NEARLY_RIGHT && below(8))
        return likely == LIST && below(2) ? 0 : valid_id(likely);
    return below(3) ? valid_id((kind_t_)below(5)) : wrong_id();
}

/* Numbers */

static int64_t integer(void) {
    static const int64_t numbers[] = {-2, -1, 0, 1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 33, 64, 255, 256, 1000, 65536, INT32_MAX, INT32_MIN};
    return mode == NEARLY_RIGHT && below(4) ? (int64_t)below(6) : ONE_OF(numbers);
}

static uint64_t size(void) {
    static const uint64_t sizes[] = {0, 1, 2, 255, 4096, 65537, 1u << 31, UINT32_MAX, (uint64_t)1 << 40, INT64_MAX, UINT64_MAX - 1, UINT64_MAX};
    return mode < BUFFERS_GIVEN ? ONE_OF(sizes) : below(33);
}

static double real(void) {
    static const double numbers[] = {0, 0.5, 1, -1, 2, 1e300, -1e300};
    return below(8) ? ONE_OF(numbers) : 0.0 / (double)(below(2) == 2);
}

/* Pointers */

static char long_name[70000];

static const char *text(void) {
    static const char *const names[] = {
        "", ".", "/", "group", "/group/inner", "dataset", "strings", "compound", "attribute", "soft", "external", "committed", "map",
        "missing", "a/b/c", "//group//", "../..", "group/./inner", "world.h5", "new", "\xff\xfe", "native", "sec2", "%s%n", "a\nb", long_name,
    };
    if (mode < BUFFERS_GIVEN || below(8) == 0)
        return NULL;
    return ONE_OF(names);
}

typedef enum { ZEROES, SMALL_NUMBERS, IDS } content_t_;

static void *buffer(int at, content_t_ content) {
    if (mode < BUFFERS_GIVEN || below(6) == 0)
        return NULL;
    uint64_t *words = (uint64_t *)buffers[at];
    for (int i = 0; content != ZEROES && i < 64; i++)
        words[i] = content == IDS ? (uint64_t)id((kind_t_)below(5)) : below(16) ? below(12) : any();
    return words;
}

/* A program frees only what the library or malloc gave it. */
static void *allocated(void) { return mode < BUFFERS_GIVEN ? NULL : malloc(16); }

static int callback_calls;
static int callback(void) {
    callback_calls++;
    return 0;
}

static FILE *stream(void) { return mode < BUFFERS_GIVEN ? NULL : stderr; }

#include "calls.h"

/* The objects that a process works with. */

static id_t_ keep(kind_t_ kind, id_t_ made) {
    if (made < 0) {
        fprintf(stderr, "misuse: the objects cannot be made (%d)\n", valid_count[kind]);
        H5Eprint2(0, stderr);
        _exit(3);
    }
    valid[kind][valid_count[kind]++] = made;
    return made;
}

static void make_spaces(void) {
    uint64_t dims[2] = {10, 20}, unlimited[2] = {UINT64_MAX, UINT64_MAX}, start[2] = {1, 2}, count[2] = {2, 3};
    keep(DATASPACE, H5Screate(0));
    keep(DATASPACE, H5Screate(2));
    keep(DATASPACE, H5Screate_simple(1, dims, NULL));
    keep(DATASPACE, H5Screate_simple(2, dims, NULL));
    keep(DATASPACE, H5Screate_simple(2, dims, unlimited));
    id_t_ some = keep(DATASPACE, H5Screate_simple(2, dims, NULL));
    H5Sselect_hyperslab(some, 0, start, NULL, count, NULL);
    id_t_ points = keep(DATASPACE, H5Screate_simple(2, dims, NULL));
    H5Sselect_elements(points, 0, 2, (uint64_t[]){1, 1, 9, 19});
    H5Sselect_none(keep(DATASPACE, H5Screate_simple(2, dims, NULL)));
}

static void make_types(void) {
    uint64_t dims[2] = {2, 3};
    int member = 1;
    keep(DATATYPE, H5T_NATIVE_INT_g);
    keep(DATATYPE, H5T_IEEE_F32BE_g);
    keep(DATATYPE, H5T_STD_REF_OBJ_g);
    keep(DATATYPE, H5T_STD_REF_DSETREG_g);
    keep(DATATYPE, H5T_STD_REF_g);
    keep(DATATYPE, H5Tcopy(H5T_NATIVE_INT_g));
    keep(DATATYPE, H5Tcopy(H5T_NATIVE_DOUBLE_g));
    keep(DATATYPE, H5Tcopy(H5T_C_S1_g));
    H5Tset_size(keep(DATATYPE, H5Tcopy(H5T_C_S1_g)), SIZE_MAX);
    id_t_ compound = keep(DATATYPE, H5Tcreate(6, 16));
    H5Tinsert(compound, "a", 0, H5T_NATIVE_INT_g);
    H5Tinsert(compound, "b", 8, H5T_NATIVE_DOUBLE_g);
    id_t_ of_enum = keep(DATATYPE, H5Tenum_create(H5T_NATIVE_INT_g));
    H5Tenum_insert(of_enum, "one", &member);
    keep(DATATYPE, H5Tvlen_create(H5T_NATIVE_INT_g));
    keep(DATATYPE, H5Tarray_create2(H5T_NATIVE_INT_g, 2, dims));
    keep(DATATYPE, H5Tcreate(5, 7));
    keep(DATATYPE, H5Tcomplex_create(H5T_NATIVE_FLOAT_g));
}

static void make_lists(void) {
    static int64_t *const classes[] = {
        &H5P_CLS_OBJECT_CREATE_ID_g, &H5P_CLS_FILE_CREATE_ID_g, &H5P_CLS_FILE_ACCESS_ID_g, &H5P_CLS_DATASET_CREATE_ID_g,
        &H5P_CLS_DATASET_ACCESS_ID_g, &H5P_CLS_DATASET_XFER_ID_g, &H5P_CLS_FILE_MOUNT_ID_g, &H5P_CLS_GROUP_CREATE_ID_g,
        &H5P_CLS_GROUP_ACCESS_ID_g, &H5P_CLS_DATATYPE_CREATE_ID_g, &H5P_CLS_DATATYPE_ACCESS_ID_g, &H5P_CLS_STRING_CREATE_ID_g,
        &H5P_CLS_ATTRIBUTE_CREATE_ID_g, &H5P_CLS_OBJECT_COPY_ID_g, &H5P_CLS_LINK_CREATE_ID_g, &H5P_CLS_LINK_ACCESS_ID_g,
        &H5P_CLS_ATTRIBUTE_ACCESS_ID_g, &H5P_CLS_MAP_CREATE_ID_g, &H5P_CLS_MAP_ACCESS_ID_g, &H5P_CLS_REFERENCE_ACCESS_ID_g,
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        keep(LIST, H5Pcreate(*classes[i]));
    keep(LIST, H5P_LST_FILE_ACCESS_ID_g);
    keep(LIST, H5P_LST_LINK_CREATE_ID_g);
}

static void make_objects(void) {
    uint64_t dims[2] = {10, 20}, unlimited[2] = {UINT64_MAX, UINT64_MAX}, chunk[2] = {4, 5};
    id_t_ file = keep(LOCATION, H5Fcreate("world.h5", 2, 0, 0));
    keep(LOCATION, H5Gcreate2(file, "group", 0, 0, 0));
    H5Gclose(H5Gcreate2(file, "group/inner", 0, 0, 0));
    id_t_ space = H5Screate_simple(2, dims, unlimited), fixed = H5Screate_simple(2, dims, NULL), one = H5Screate(0);
    id_t_ list = H5Pcreate(H5P_CLS_DATASET_CREATE_ID_g);
    H5Pset_chunk(list, 2, chunk);
    H5Pset_deflate(list, 1);
    id_t_ string = H5Tcopy(H5T_C_S1_g);
    H5Tset_size(string, SIZE_MAX);
    keep(LOCATION, H5Dcreate2(file, "dataset", H5T_NATIVE_INT_g, space, 0, list, 0));
    keep(LOCATION, H5Dcreate2(file, "strings", string, fixed, 0, 0, 0));
    keep(LOCATION, H5Dcreate2(file, "compound", valid[DATATYPE][9], fixed, 0, 0, 0));
    keep(LOCATION, H5Acreate2(file, "attribute", H5T_NATIVE_INT_g, one, 0, 0));
    keep(LOCATION, H5Acreate2(file, "text", string, one, 0, 0));
    keep(LOCATION, H5Mcreate(file, "map", H5T_NATIVE_INT_g, H5T_NATIVE_INT_g, 0, 0, 0));
    H5Lcreate_soft("nowhere", file, "soft", 0, 0);
    H5Lcreate_external("other.h5", "/", file, "external", 0, 0);
    id_t_ committed = keep(DATATYPE, H5Tcopy(H5T_NATIVE_INT_g));
    H5Tcommit2(file, "committed", committed, 0, 0, 0);
    H5Pclose(list), H5Sclose(space), H5Sclose(fixed), H5Sclose(one), H5Tclose(string);
}

static void make_others(void) {
    keep(OTHER, H5P_CLS_FILE_ACCESS_ID_g);
    keep(OTHER, H5Pcreate_class(H5P_CLS_DATASET_XFER_ID_g, "mine", NULL, NULL, NULL, NULL, NULL, NULL));
    id_t_ class = keep(OTHER, H5Eregister_class("mine", "misuse", "1"));
    keep(OTHER, H5Ecreate_msg(class, 0, "message"));
    keep(OTHER, H5Ecreate_stack());
    keep(OTHER, H5EScreate());
    keep(OTHER, H5FD_SEC2_id_g);
    keep(OTHER, H5VL_NATIVE_g);
    keep(OTHER, H5Ssel_iter_create(valid[DATASPACE][5], 4, 0));
    /* There are not more than a hundred types of programs. */
    static int type, mine;
    if (H5Itype_exists(type) <= 0)
        type = H5Iregister_type2(0, NULL);
    keep(OTHER, H5Iregister(type, &mine));
}

static void make_closed(void) {
    for (int kind = 0; kind < 5; kind++)
        for (unsigned i = 0; i < valid_count[kind]; i += 3)
            closed[closed_count++] = valid[kind][i];
}

static void make_world(void) {
    memset(valid_count, 0, sizeof valid_count);
    make_spaces(), make_types(), make_lists(), make_objects(), make_others();
}

static void close_world(void) {
    for (int kind = 4; kind >= 0; kind--)
        for (unsigned i = 0; i < valid_count[kind]; i++)
            H5Idec_ref(valid[kind][i]);
}

static bool is_whole(void) {
    for (int kind = 0; kind < 5; kind++)
        for (unsigned i = 0; i < valid_count[kind]; i++)
            if (H5Iis_valid(valid[kind][i]) <= 0)
                return false;
    return true;
}

/* One function, in a process of its own. */

typedef struct {
    volatile int round;
    volatile int mode;
    volatile int faults; /* calls that had to fail and did not, or that failed without a record */
    volatile long failed;
} progress_t_;

static void complain(progress_t_ *progress, const call_t_ *call, const char *what) {
    if (progress->faults++ == 0)
        fprintf(stderr, "misuse: %s: %s (round %d, mode %d)\n", call->name, what, progress->round, (int)mode);
}

static void run_once(const call_t_ *call, progress_t_ *progress) {
    H5Eset_auto2(0, below(16) ? NULL : (void *)H5Eprint2, stderr);
    for (int i = 0; i < BUFFERS; i++)
        memset(buffers[i], 0, 4096);
    H5Eclear2(0);
    callback_calls = 0;
    answer_t_ answer = call->run();
    if (answer == FAILED) {
        progress->failed++;
        if (call->records && H5Eget_num(0) <= 0)
            complain(progress, call, "failed without a record on the error stack");
    } else if (answer == DONE && mode == EVERYTHING_WRONG && call->must_fail)
        complain(progress, call, "did not fail though every argument is wrong");
}

static void run_all(const call_t_ *call, progress_t_ *progress, int rounds) {
    make_world();
    make_closed();
    close_world();
    make_world();
    for (int round = 0; round < rounds; round++) {
        progress->round = round;
        mode = round < 8 ? EVERYTHING_WRONG : (mode_t_)below(MODES);
        progress->mode = (int)mode;
        run_once(call, progress);
        if (!is_whole()) {
            H5close();
            make_world();
        }
    }
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *walk) {
    (void)info, (void)flag, (void)walk;
    return remove(path);
}

static uint64_t hash(const char *name) {
    uint64_t sum = 1469598103934665603u;
    while (*name)
        sum = (sum ^ (unsigned char)*name++) * 1099511628211u;
    return sum;
}

typedef struct {
    pid_t pid;
    const call_t_ *call;
    progress_t_ *progress;
    char folder[64];
} job_t_;

static bool is_debugging;
static uint64_t seed = 20261117;

static void limit(void) {
    alarm(SECONDS_MAX);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#ifndef __SANITIZE_ADDRESS__
    /* An allocation that a wrong argument asks for must fail, not take the machine's memory. */
    setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)4 << 30, (rlim_t)4 << 30});
#endif
}

static void child(job_t_ *job, int rounds) {
    limit();
    if (chdir(job->folder) != 0 || (!is_debugging && !freopen("stderr.txt", "w", stderr)))
        _exit(3);
    setvbuf(stderr, NULL, _IOLBF, 0);
    for (int i = 0; i < BUFFERS; i++)
        buffers[i] = calloc(1, BUFFER_BYTES);
    state = seed ^ hash(job->call->name);
    run_all(job->call, job->progress, rounds);
    /* Whatever is open is closed by the library, as in any program that ends. */
    exit(0);
}

static void start(job_t_ *job, const call_t_ *call, int rounds) {
    job->call = call;
    *job->progress = (progress_t_){0};
    strcpy(job->folder, "/tmp/misuse.XXXXXX");
    if (!mkdtemp(job->folder))
        perror("mkdtemp"), exit(3);
    fflush(stdout);
    job->pid = fork();
    if (job->pid == 0)
        child(job, rounds);
}

/* Shows the last lines of what the process said, and returns whether it panicked. */
static bool show_errors(const job_t_ *job, bool always) {
    char path[128], line[1024];
    snprintf(path, sizeof path, "%s/stderr.txt", job->folder);
    FILE *errors = fopen(path, "r");
    bool panicked = false;
    int shown = 0;
    while (errors && fgets(line, sizeof line, errors)) {
        bool is_panic = strstr(line, "panicked at") || strstr(line, "memory allocation of");
        bool is_ours = strncmp(line, "misuse: ", 8) == 0 || strstr(line, "ERROR: AddressSanitizer");
        panicked |= is_panic;
        if ((is_panic || is_ours || (always && line[0] == ' ' && strstr(line, "#"))) && shown++ < 12)
            printf("    %s", line);
        if (is_panic && fgets(line, sizeof line, errors))
            printf("    %s", line);
    }
    if (errors)
        fclose(errors);
    return panicked;
}

static bool finish(job_t_ *job, int status) {
    bool crashed = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
    if (WIFSIGNALED(status))
        printf("%s: %s (round %d, mode %d)\n", job->call->name,
               WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status)), job->progress->round, job->progress->mode);
    else if (crashed)
        printf("%s: exit %d (round %d, mode %d)\n", job->call->name, WEXITSTATUS(status), job->progress->round, job->progress->mode);
    else if (job->progress->faults)
        printf("%s: %d wrong answers\n", job->call->name, job->progress->faults);
    bool panicked = show_errors(job, crashed);
    if (panicked && !crashed)
        printf("%s: panicked\n", job->call->name);
    nftw(job->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    job->pid = 0;
    return !crashed && !panicked && !job->progress->faults;
}

static bool is_chosen(const char *name, int count, char **names) {
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return count == 0;
}

static long failed_calls;
static int wrong_functions;

static void wait_for_one(job_t_ *jobs, int count) {
    int status;
    pid_t pid = wait(&status);
    for (int i = 0; i < count; i++)
        if (jobs[i].pid == pid) {
            failed_calls += jobs[i].progress->failed;
            wrong_functions += !finish(&jobs[i], status);
        }
}

static job_t_ *idle(job_t_ *jobs, int count) {
    for (;;) {
        for (int i = 0; i < count; i++)
            if (jobs[i].pid == 0)
                return &jobs[i];
        wait_for_one(jobs, count);
    }
}

int main(int argc, char **argv) {
    int rounds = 120, job_count = (int)sysconf(_SC_NPROCESSORS_ONLN), at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--debug") == 0)
            is_debugging = true;
        else if (at + 1 < argc && strcmp(argv[at], "--seed") == 0)
            seed = strtoull(argv[++at], NULL, 0);
        else if (at + 1 < argc && strcmp(argv[at], "--rounds") == 0)
            rounds = atoi(argv[++at]);
        else if (at + 1 < argc && strcmp(argv[at], "--jobs") == 0)
            job_count = atoi(argv[++at]);
    }
    memset(long_name, 'x', sizeof long_name - 1);
    job_count = job_count < 1 ? 1 : job_count > JOBS_MAX ? JOBS_MAX : job_count;
    static job_t_ jobs[JOBS_MAX];
    progress_t_ *progress = mmap(NULL, sizeof *progress * JOBS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < job_count; i++)
        jobs[i].progress = &progress[i];
    int functions = 0;
    for (const call_t_ *call = calls; call->name; call++)
        if (is_chosen(call->name, argc - at, argv + at)) {
            start(idle(jobs, job_count), call, rounds);
            functions++;
        }
    for (int i = 0; i < job_count; i++)
        while (jobs[i].pid)
            wait_for_one(jobs, job_count);
    printf("misuse: %d functions, %d calls each (%ld failed as they should), seed %llu: %d functions are wrong\n", functions, rounds,
           failed_calls, (unsigned long long)seed, wrong_functions);
    return wrong_functions != 0 || functions == 0;
}
