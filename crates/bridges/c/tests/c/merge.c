/* Copies that share committed datatypes of their target: at paths that the program names, and all others if it wants that. */
#include "show.h"

static int answer, calls;

static H5O_mcdt_search_ret_t search(void *data)
{
    calls += *(int *)data;
    return (H5O_mcdt_search_ret_t)answer;
}

static void commit(hid_t file, const char *path, hid_t base)
{
    hid_t list = H5Pcreate(H5P_LINK_CREATE), type = H5Tcopy(base);
    H5Pset_create_intermediate_group(list, 1);
    SHOW(H5Tcommit2(file, path, type, list, H5P_DEFAULT, H5P_DEFAULT));
    H5Tclose(type), H5Pclose(list);
}

static void share(hid_t file, const char *name, const char *path)
{
    hsize_t dims[1] = {3};
    hid_t   type = H5Topen2(file, path, H5P_DEFAULT), space = H5Screate_simple(1, dims, NULL);
    hid_t   dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(dataset), H5Sclose(space), H5Tclose(type);
}

static haddr_t address(hid_t file, const char *path)
{
    H5O_info_t info;
    return H5Oget_info_by_name(file, path, &info, H5P_DEFAULT) < 0 ? HADDR_UNDEF : info.addr;
}

/* Prints which datatype a copy shares. */
static void shared(hid_t file, const char *name)
{
    static const char *const paths[] = {"/types/a", "/types/b", "/types/c", "/other/d"};
    H5O_info_t               info;
    hid_t                    dataset = H5Dopen2(file, name, H5P_DEFAULT), type = H5Dget_type(dataset);
    printf("  committed %d", (int)H5Tcommitted(type));
    H5Oget_info(type, &info);
    for (int n = 0; n < 4; n++)
        if (info.addr == address(file, paths[n]))
            printf(", %s", paths[n]);
    printf(", %d calls\n", calls);
    calls = 0;
    H5Tclose(type), H5Dclose(dataset);
}

static void copy(hid_t from, hid_t to, const char *name, hid_t list)
{
    static int number;
    char       copy[16];
    snprintf(copy, sizeof copy, "copy%d", number++);
    SHOW(H5Ocopy(from, name, to, copy, list, H5P_DEFAULT));
    if (H5Lexists(to, copy, H5P_DEFAULT) > 0)
        shared(to, copy);
    else
        printf("  no copy, %d calls\n", calls), calls = 0;
}

int main(void)
{
    int   one = 1;
    hid_t list, from, to;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    from = H5Fcreate("merge_from.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    commit(from, "/int", H5T_STD_I32LE), commit(from, "/float", H5T_IEEE_F64LE), commit(from, "/short", H5T_STD_I16BE);
    share(from, "ints", "/int"), share(from, "floats", "/float"), share(from, "shorts", "/short");
    to = H5Fcreate("merge.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    commit(to, "/types/a", H5T_STD_I32LE), commit(to, "/types/b", H5T_STD_I32LE);
    commit(to, "/types/c", H5T_IEEE_F64LE), commit(to, "/other/d", H5T_STD_I32LE);
    share(to, "user", "/other/d");

    list = H5Pcreate(H5P_OBJECT_COPY);
    copy(from, to, "ints", list);
    SHOW(H5Pset_copy_object(list, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG));
    SHOW(H5Padd_merge_committed_dtype_path(list, "/types/b"));
    copy(from, to, "ints", list);
    SHOW(H5Padd_merge_committed_dtype_path(list, "other/d"));
    copy(from, to, "ints", list);
    puts("what is not at a path is looked for, if the program wants that");
    copy(from, to, "floats", list);
    SHOW(H5Pset_mcdt_search_cb(list, search, &one));
    for (answer = -1; answer < 2; answer++) {
        printf("answer %d\n", answer);
        copy(from, to, "ints", list);
        copy(from, to, "floats", list);
        copy(from, to, "shorts", list);
    }
    puts("paths that lead nowhere, or to a dataset");
    SHOW(H5Pfree_merge_committed_dtype_paths(list));
    SHOW(H5Padd_merge_committed_dtype_path(list, "/types/none"));
    answer = 1;
    copy(from, to, "floats", list);
    SHOW(H5Padd_merge_committed_dtype_path(list, "/user"));
    copy(from, to, "ints", list);
    H5Pclose(list), H5Fclose(from), H5Fclose(to);
    return 0;
}
