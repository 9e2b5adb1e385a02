/* H5R: references of the new kind and of the two old ones, alone and in datasets. */
#include "show.h"
#if H5_VERSION_GE(2, 0, 0)

static char path[64];

static void show_name(const char *what, ssize_t length, const char *name)
{
    printf("%s = %lld %s\n", what, (long long)length, name);
}

static void objects(hid_t file)
{
    H5R_ref_t  ref, copy, attr, region, null;
    H5O_type_t type;
    char       name[100] = "";
    hid_t      id, space;
    memset(&null, 0, sizeof null);
    SHOW(H5Rcreate_object(file, "group/data", H5P_DEFAULT, &ref));
    SHOW(H5Rget_type(&ref));
    SHOW(H5Rcopy(&ref, &copy));
    SHOW(H5Requal(&ref, &copy));
    SHOW(H5Rget_obj_type3(&ref, H5P_DEFAULT, &type));
    SHOW(type);
    show_name("object name", H5Rget_obj_name(&ref, H5P_DEFAULT, name, sizeof name), name);
    ssize_t length = H5Rget_file_name(&ref, name, sizeof name);
    show_name("file name", length, strcmp(name, path) ? "other" : "same");
    SHOW_ID(id, H5Ropen_object(&ref, H5P_DEFAULT, H5P_DEFAULT));
    SHOW(H5Iget_type(id));
    H5Oclose(id);
    SHOW(H5Rcreate_object(file, "missing", H5P_DEFAULT, &region));
    SHOW(H5Rcreate_attr(file, "group/data", "note", H5P_DEFAULT, &attr));
    SHOW(H5Rget_type(&attr));
    show_name("attribute name", H5Rget_attr_name(&attr, name, sizeof name), name);
    SHOW_ID(id, H5Ropen_attr(&attr, H5P_DEFAULT, H5P_DEFAULT));
    SHOW(H5Iget_type(id));
    H5Aclose(id);
    hsize_t dims[2] = {4, 5}, start[2] = {1, 1}, count[2] = {2, 3};
    space = H5Screate_simple(2, dims, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    SHOW(H5Rcreate_region(file, "group/data", space, H5P_DEFAULT, &region));
    SHOW(H5Rget_type(&region));
    SHOW_ID(id, H5Ropen_region(&region, H5P_DEFAULT, H5P_DEFAULT));
    SHOW(H5Sget_select_npoints(id));
    H5Sclose(id);
    SHOW(H5Requal(&ref, &region));
    SHOW(H5Rget_attr_name(&region, name, sizeof name) < 0);
    SHOW(H5Rget_type(NULL));
    SHOW(H5Rdestroy(&copy));
    SHOW(H5Rdestroy(&attr));
    SHOW(H5Rdestroy(&ref));
    /* Through a dataset. */
    hsize_t two[1] = {2};
    hid_t   line = H5Screate_simple(1, two, NULL), dset = H5Dcreate2(file, "refs", H5T_STD_REF, line, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5R_ref_t pair[2], back[2];
    SHOW(H5Rcreate_object(file, "group", H5P_DEFAULT, &pair[0]));
    pair[1] = region;
    SHOW(H5Dwrite(dset, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, pair));
    SHOW(H5Dread(dset, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    SHOW(H5Requal(&pair[0], &back[0]));
    SHOW(H5Rget_type(&back[1]));
    SHOW_ID(id, H5Ropen_region(&back[1], H5P_DEFAULT, H5P_DEFAULT));
    SHOW(H5Sget_select_npoints(id));
    H5Sclose(id);
    SHOW(H5Treclaim(H5T_STD_REF, line, H5P_DEFAULT, back));
    SHOW(H5Rdestroy(&pair[0]));
    SHOW(H5Rdestroy(&region));
    H5Dclose(dset); H5Sclose(line); H5Sclose(space);
}

static void old(hid_t file)
{
    hobj_ref_t      refs[3] = {0}, back[3] = {9, 9, 9};
    hdset_reg_ref_t regions[2], again[2];
    H5O_type_t      type;
    char            name[100] = "";
    hid_t           id;
    memset(regions, 0, sizeof regions);
    SHOW(H5Rcreate(&refs[0], file, "group/data", H5R_OBJECT, -1));
    SHOW(H5Rcreate(&refs[1], file, "group", H5R_OBJECT, -1));
    SHOW(H5Rcreate(&refs[2], file, "missing", H5R_OBJECT, -1));
    SHOW(refs[0] != 0 && refs[0] != refs[1] && refs[2] == 0);
    SHOW(H5Rget_obj_type2(file, H5R_OBJECT, &refs[1], &type));
    SHOW(type);
    SHOW(H5Rget_obj_type1(file, H5R_OBJECT, &refs[0]));
    SHOW_ID(id, H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, &refs[0]));
    SHOW(H5Iget_type(id));
    H5Oclose(id);
    SHOW_ID(id, H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, &refs[2]));
    show_name("name", H5Rget_name(file, H5R_OBJECT, &refs[0], name, sizeof name), name);
    hsize_t dims[2] = {4, 5}, point[4] = {0, 0, 3, 4};
    hid_t   space   = H5Screate_simple(2, dims, NULL);
    H5Sselect_elements(space, H5S_SELECT_SET, 2, point);
    SHOW(H5Rcreate(&regions[0], file, "group/data", H5R_DATASET_REGION, space));
    SHOW(H5Rcreate(&regions[1], file, "group/data", H5R_DATASET_REGION, -1));
    SHOW_ID(id, H5Rget_region(file, H5R_DATASET_REGION, &regions[0]));
    SHOW(H5Sget_select_elem_npoints(id));
    H5Sclose(id);
    SHOW_ID(id, H5Rget_region(file, H5R_OBJECT, &refs[0]));
    hsize_t three[1] = {3}, two[1] = {2};
    hid_t   line = H5Screate_simple(1, three, NULL), short_line = H5Screate_simple(1, two, NULL);
    hid_t   d1 = H5Dcreate2(file, "old", H5T_STD_REF_OBJ, line, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t   d2 = H5Dcreate2(file, "regions", H5T_STD_REF_DSETREG, short_line, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    SHOW(H5Dwrite(d1, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, refs));
    SHOW(H5Dread(d1, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    SHOW(memcmp(refs, back, sizeof refs));
    SHOW(H5Dwrite(d2, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, regions));
    SHOW(H5Dread(d2, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, again));
    SHOW_ID(id, H5Rget_region(file, H5R_DATASET_REGION, &again[0]));
    SHOW(H5Sget_select_npoints(id));
    H5Sclose(id);
    SHOW_ID(id, H5Rdereference2(file, H5P_DEFAULT, H5R_DATASET_REGION, &again[0]));
    SHOW(H5Iget_type(id));
    H5Oclose(id);
    H5Dclose(d1); H5Dclose(d2); H5Sclose(line); H5Sclose(short_line); H5Sclose(space);
}

int main(void)
{
    quiet();
    snprintf(path, sizeof path, "references-%d.h5", (int)H5P_DEFAULT);
    hid_t   file    = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t   group   = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hsize_t dims[2] = {4, 5};
    hid_t   space = H5Screate_simple(2, dims, NULL), scalar = H5Screate(H5S_SCALAR);
    hid_t   data = H5Dcreate2(group, "data", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t   note = H5Acreate2(data, "note", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Aclose(note); H5Dclose(data); H5Gclose(group); H5Sclose(space); H5Sclose(scalar);
    objects(file);
    old(file);
    SHOW(H5Fclose(file));
    remove(path);
    return 0;
}
#else
int main(void)
{
    printf("SKIPPED: this program needs the headers of HDF5 2\n");
    return 0;
}
#endif
