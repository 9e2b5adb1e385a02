/* A process forks while a file is open and changed. Children read it, also what is not committed yet; they change nothing, not
 * even when they close it or end. `fork verify` reads the file again, on any library. */
#include "check.h"
#include <sys/stat.h>
#include <sys/wait.h>

enum { ROWS = 512, COLUMNS = 512, CHILDREN = 4 };

static hid_t file, dataset;

static double expected(int at, int turn) { return at * 3.0 + turn; }

static void write_all(int turn)
{
    double *values = malloc(sizeof *values * ROWS * COLUMNS);
    for (int at = 0; at < ROWS * COLUMNS; at++)
        values[at] = expected(at, turn);
    CHECK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    free(values);
}

static void check_all(hid_t of, int turn)
{
    double *values = calloc(sizeof *values, ROWS * COLUMNS);
    CHECK(H5Dread(of, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (int at = 0; at < ROWS * COLUMNS; at++)
        CHECK(values[at] == expected(at, turn));
    free(values);
}

/* A sum of the bytes of the file. */
static unsigned long sum_of(const char *name)
{
    unsigned long sum = 5381;
    FILE         *bytes = fopen(name, "rb");
    CHECK(bytes);
    for (int byte; (byte = getc(bytes)) != EOF;)
        sum = sum * 33 + (unsigned long)byte;
    fclose(bytes);
    return sum;
}

/* A file of the child's own: threads of the library start again. */
static void own_file(int number)
{
    char name[32];
    snprintf(name, sizeof name, "child %d.h5", number);
    hid_t own = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), parents = dataset;
    CHECK(own >= 0);
    dataset = make_deflated(own, "own", ROWS, COLUMNS);
    write_all(number);
    CHECK(H5Dclose(dataset) >= 0);
    dataset = H5Dopen2(own, "own", H5P_DEFAULT);
    check_all(dataset, number);
    /* Closed at exit, or here. */
    if (number % 2)
        CHECK(H5Dclose(dataset) >= 0 && H5Fclose(own) >= 0);
    dataset = parents;
}

static void child(int number)
{
    alarm(60);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    check_all(dataset, 2);
    CHECK(attribute_of(dataset, "not committed") == 2);
    own_file(number);
    /* What the parent opened is the parent's to change. */
    double *values = calloc(sizeof *values, ROWS * COLUMNS);
    CHECK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0);
    CHECK(H5Gcreate2(file, "of a child", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) < 0);
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) < 0);
    check_all(dataset, 2);
    if (number == 0)
        CHECK(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
    if (number == 1)
        CHECK(H5close() >= 0);
    exit(0);
}

static void parent(void)
{
    pid_t children[CHILDREN];
    file = H5Fcreate("fork.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(file >= 0);
    dataset = make_deflated(file, "data", ROWS, COLUMNS);
    write_all(1);
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    check_all(dataset, 1);
    write_all(2);
    set_attribute(dataset, "not committed", 2);
    unsigned long before = sum_of("fork.h5");
    fflush(NULL);
    for (int number = 0; number < CHILDREN; number++)
        if ((children[number] = fork()) == 0)
            child(number);
    for (int number = 0; number < CHILDREN; number++) {
        int status = 0;
        CHECK(waitpid(children[number], &status, 0) == children[number]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(sum_of("fork.h5") == before);
    check_all(dataset, 2);
    write_all(3);
    set_attribute(dataset, "after", 3);
    CHECK(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
}

static void verify(void)
{
    char name[32];
    file = H5Fopen("fork.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(file >= 0 && H5Lexists(file, "of a child", H5P_DEFAULT) == 0);
    dataset = H5Dopen2(file, "data", H5P_DEFAULT);
    check_all(dataset, 3);
    CHECK(attribute_of(dataset, "not committed") == 2 && attribute_of(dataset, "after") == 3);
    H5Dclose(dataset), H5Fclose(file);
    for (int number = 0; number < CHILDREN; number++) {
        snprintf(name, sizeof name, "child %d.h5", number);
        file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
        CHECK(file >= 0);
        dataset = H5Dopen2(file, "own", H5P_DEFAULT);
        check_all(dataset, number);
        H5Dclose(dataset), H5Fclose(file);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "verify") == 0) {
        verify();
        puts("the files are as the parent and its children left them");
        return 0;
    }
    parent();
    verify();
    puts("fork: children read the open file and changed nothing");
    return 0;
}
