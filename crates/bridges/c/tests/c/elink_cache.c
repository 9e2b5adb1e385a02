/* Files that external links lead to stay open in a cache whose size is set, and are closed with it. */
#include <hdf5.h>
#include <stdio.h>

static hid_t open_link(hid_t file, const char *name)
{
    hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
    printf("%s opens %d\n", name, group >= 0);
    H5Gclose(group);
    return group;
}

/* A file that is open cannot be created anew. */
static void is_open(const char *name)
{
    hid_t file;
    H5E_BEGIN_TRY { file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT); } H5E_END_TRY
    printf("%s is open %d\n", name, file < 0);
    if (file >= 0) {
        H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        H5Fclose(file);
    }
}

static hid_t open_file(unsigned size)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    unsigned known = 99;
    H5Pset_elink_file_cache_size(fapl, size);
    H5Pget_elink_file_cache_size(fapl, &known);
    printf("size %u\n", known);
    hid_t file = H5Fopen("efc.h5", H5F_ACC_RDWR, fapl);
    H5Pclose(fapl);
    return file;
}

int main(void)
{
    char name[16], link[16];
    hid_t file = H5Fcreate("efc.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (int n = 0; n < 3; n++) {
        snprintf(name, sizeof name, "efc%d.h5", n);
        snprintf(link, sizeof link, "link%d", n);
        is_open(name);
        H5Lcreate_external(name, "g", file, link, H5P_DEFAULT, H5P_DEFAULT);
    }
    H5Fclose(file);

    file = open_file(0);
    open_link(file, "link0");
    is_open("efc0.h5");
    H5Fclose(file);

    file = open_file(2);
    open_link(file, "link0");
    open_link(file, "link1");
    is_open("efc0.h5");
    is_open("efc1.h5");
    open_link(file, "link0");
    open_link(file, "link2");
    is_open("efc0.h5");
    is_open("efc1.h5");
    is_open("efc2.h5");
    printf("clear %d\n", H5Fclear_elink_file_cache(file));
    is_open("efc0.h5");
    is_open("efc2.h5");
    open_link(file, "link1");
    H5Fclose(file);
    is_open("efc1.h5");
    return 0;
}
