/* Filling buffers with values of variable length: every element gets a value of its own. */
#include "show.h"

static void texts(void)
{
    hsize_t     dims[1] = {4}, start = 1, stride = 2, count = 2;
    char       *found[4] = {NULL, NULL, NULL, NULL};
    const char *value = "a text";
    hid_t       type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, dims, NULL);
    H5Tset_size(type, H5T_VARIABLE);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &stride, &count, NULL);
    SHOW(H5Dfill(&value, type, found, type, space));
    for (int i = 0; i < 4; i++)
        printf("  %s\n", found[i] ? found[i] : "nothing");
    printf("  apart %d\n", found[1] && found[1] != found[3] && found[1] != value);
    SHOW(H5Dvlen_reclaim(type, space, H5P_DEFAULT, found));
    H5Tclose(type), H5Sclose(space);
}

static void sequences(void)
{
    hsize_t dims[2] = {2, 2};
    short   numbers[3] = {7, 8, 9};
    hvl_t   value = {3, numbers}, found[4];
    hid_t   from = H5Tvlen_create(H5T_NATIVE_SHORT), to = H5Tvlen_create(H5T_NATIVE_INT), space = H5Screate_simple(2, dims, NULL);
    memset(found, 0, sizeof found);
    SHOW(H5Dfill(&value, from, found, to, space));
    for (int i = 0; i < 4; i++) {
        printf("  %zu:", found[i].len);
        for (size_t n = 0; n < found[i].len; n++)
            printf(" %d", ((int *)found[i].p)[n]);
        putchar('\n');
    }
    SHOW(H5Dvlen_reclaim(to, space, H5P_DEFAULT, found));
    SHOW(H5Dfill(NULL, from, found, to, space));
    printf("  %zu %zu\n", found[0].len, found[3].len);
    H5Tclose(from), H5Tclose(to), H5Sclose(space);
}

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    texts();
    sequences();
    return 0;
}
