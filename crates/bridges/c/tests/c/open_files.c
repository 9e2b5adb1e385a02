/* What is set of files and objects that are open: version bounds, and flushes of metadata. */
#include "show.h"

static void group(hid_t file, const char *name)
{
    hid_t group;
    SHOW_ID(group, H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(group);
}

/* Object headers have a signature since the second version. */
static void version(hid_t file, const char *name)
{
    H5O_info_t info;
    char       signature[4] = "";
    FILE      *bytes = fopen("open_files.h5", "rb");
    SHOW(H5Oget_info_by_name(file, name, &info, H5P_DEFAULT));
    fseek(bytes, (long)info.addr, SEEK_SET);
    fread(signature, 1, 4, bytes);
    fclose(bytes);
    printf("  %s has a header of version %d\n", name, memcmp(signature, "OHDR", 4) == 0 ? 2 : 1);
}

static void bounds(hid_t fapl)
{
    H5F_libver_t low, high;
    hid_t        file = H5Fcreate("open_files.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl), list;
    group(file, "early");
    SHOW(H5Fset_libver_bounds(file, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    group(file, "late");
    list = H5Fget_access_plist(file);
    SHOW(H5Pget_libver_bounds(list, &low, &high));
    printf("  %d %d\n", low == H5F_LIBVER_LATEST, high == H5F_LIBVER_LATEST);
    H5Pclose(list);
    SHOW(H5Fset_libver_bounds(file, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18));
    group(file, "early again");
    SHOW(H5Fset_latest_format(file, 1));
    group(file, "latest");
    SHOW(H5Fclose(file));
    file = H5Fopen("open_files.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    version(file, "early"), version(file, "late"), version(file, "early again"), version(file, "latest");
    SHOW(H5Fclose(file));
}

static void flushes(hid_t file)
{
    hbool_t are = 7;
    hid_t   group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), same;
    SHOW(H5Oare_mdc_flushes_disabled(group, &are));
    printf("  %d\n", are);
    SHOW(H5Odisable_mdc_flushes(group));
    SHOW(H5Odisable_mdc_flushes(group));
    SHOW_ID(same, H5Gopen2(file, "group", H5P_DEFAULT));
    SHOW(H5Oare_mdc_flushes_disabled(same, &are));
    printf("  %d\n", are);
    SHOW(H5Oenable_mdc_flushes(same));
    SHOW(H5Oare_mdc_flushes_disabled(group, &are));
    printf("  %d\n", are);
    H5Gclose(same), H5Gclose(group);
}

int main(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5Pset_libver_bounds(fapl, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    bounds(fapl);
    file = H5Fcreate("flushes.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    flushes(file);
    H5Fclose(file), H5Pclose(fapl);
    return 0;
}
