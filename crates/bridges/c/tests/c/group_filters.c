/* Groups whose links are compressed: filters of group and file creation lists, written, read and changed. */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

static void show_filters(const char *what, hid_t list)
{
    int count = H5Pget_nfilters(list);
    printf("%s has %d filters\n", what, count);
    for (int n = 0; n < count; n++) {
        unsigned flags, values[4] = {0}, config;
        size_t   used = 4;
        char     name[32] = "";
        H5Z_filter_t filter = H5Pget_filter2(list, (unsigned)n, &flags, &used, values, sizeof name, name, &config);
        printf("  %d flags %u values %zu %u name %s\n", (int)filter, flags, used, values[0], name);
    }
}

static void add(hid_t group, const char *turn, int count)
{
    char name[64];
    for (int n = 0; n < count; n++) {
        snprintf(name, sizeof name, "link %s number %06d", turn, n);
        H5Lcreate_soft("/some/object/far/away", group, name, H5P_DEFAULT, H5P_DEFAULT);
    }
}

static herr_t print_link(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    char to[64];
    H5Lget_val(group, name, to, sizeof to, H5P_DEFAULT);
    *(unsigned long *)data = *(unsigned long *)data * 31 + strlen(name) + (unsigned char)name[strlen(name) - 1];
    return strcmp(to, "/some/object/far/away") == 0 ? 0 : 1;
}

static void show(hid_t file, const char *name)
{
    hid_t group = H5Gopen2(file, name, H5P_DEFAULT), list = H5Gget_create_plist(group);
    H5G_info_t    info;
    unsigned long sum = 0;
    H5Gget_info(group, &info);
    herr_t done = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, print_link, &sum);
    printf("%s: %llu links, storage %d, read %d, sum %lu\n", name, (unsigned long long)info.nlinks,
           (int)info.storage_type, done, sum);
    show_filters(name, list);
    H5Pclose(list);
    H5Gclose(group);
}

static void make(const char *name, hid_t fapl)
{
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), gcpl = H5Pcreate(H5P_GROUP_CREATE);
    printf("set %d\n", H5Pset_deflate(fcpl, 4) >= 0);
    printf("set %d\n", H5Pset_deflate(gcpl, 6) >= 0);
    printf("set %d\n", H5Pset_fletcher32(gcpl) >= 0);
    show_filters("file list", fcpl);
    show_filters("group list", gcpl);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, fcpl, fapl);
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, gcpl, H5P_DEFAULT);
    add(group, "first", 2000);
    H5Gclose(group);
    hid_t back = H5Fget_create_plist(file);
    show_filters("file list of the file", back);
    H5Pclose(back);
    H5Fclose(file);
    FILE *stored = fopen(name, "rb");
    fseek(stored, 0, SEEK_END);
    printf("small %d\n", ftell(stored) < 2000 * 45);
    fclose(stored);
    H5Pclose(gcpl);
    H5Pclose(fcpl);
}

static void change(const char *name)
{
    char  link[64];
    hid_t file = H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT), group = H5Gopen2(file, "group", H5P_DEFAULT);
    for (int n = 0; n < 2000; n += 3) {
        snprintf(link, sizeof link, "link first number %06d", n);
        H5Ldelete(group, link, H5P_DEFAULT);
    }
    add(group, "second", 300);
    H5Gclose(group);
    show(file, "group");
    H5Fclose(file);
}

int main(void)
{
    hid_t latest = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(latest, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    hid_t lists[] = {H5P_DEFAULT, latest};
    for (int n = 0; n < 2; n++) {
        make("group_filters.h5", lists[n]);
        change("group_filters.h5");
        hid_t file = H5Fopen("group_filters.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
        show(file, "group");
        H5Fclose(file);
    }
    H5Pclose(latest);
    return 0;
}
