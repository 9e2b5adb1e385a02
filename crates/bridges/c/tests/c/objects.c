/* Groups, links, attributes, iteration, copies, names. Prints what it sees. */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

static herr_t on_link(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    printf("%s link %s type %d\n", (char *)data, name, info->type);
    return 0;
}

static herr_t on_object(hid_t object, const char *name, const H5O_info_t *info, void *data) {
    printf("object %s type %d rc %u attrs %llu\n", name, info->type, info->rc, (unsigned long long)info->num_attrs);
    return 0;
}

static herr_t on_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data) {
    printf("attribute %s size %llu\n", name, (unsigned long long)info->data_size);
    return strcmp(name, (char *)data) == 0;
}

static void name_of(hid_t id) {
    char name[100];
    printf("length %zd", H5Iget_name(id, name, sizeof name));
    printf(" name %s\n", name);
}

int main(void) {
    hid_t file = H5Fcreate("objects.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t deep = H5Gcreate2(file, "a/b/c", links, H5P_DEFAULT, H5P_DEFAULT);
    name_of(deep);
    H5Lcreate_soft("/a/b", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file, "a/b/c", file, "hard", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/x", file, "external", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("nowhere", file, "dangling", H5P_DEFAULT, H5P_DEFAULT);
    hid_t through = H5Gopen2(file, "soft/c", H5P_DEFAULT);
    name_of(through);
    printf("exists %d %d %d\n", H5Lexists(file, "soft", H5P_DEFAULT), H5Lexists(file, "nothing", H5P_DEFAULT),
           H5Oexists_by_name(file, "dangling", H5P_DEFAULT));
    hid_t scalar = H5Screate(H5S_SCALAR);
    double value = 2.5, back = 0;
    hid_t attribute = H5Acreate2(deep, "height", H5T_IEEE_F32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    printf("write %d\n", H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value));
    printf("read %d\n", H5Aread(attribute, H5T_NATIVE_DOUBLE, &back));
    printf("value %g size %llu\n", back, (unsigned long long)H5Aget_storage_size(attribute));
    H5Aclose(attribute);
    int number = 3;
    const char *names[3] = {"zeta", "alpha", "mid"};
    for (int i = 0; i < 3; i++) {
        attribute = H5Acreate2(deep, names[i], H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(attribute, H5T_NATIVE_INT, &number);
        H5Aclose(attribute);
    }
    hsize_t at = 0;
    printf("iterate %d", H5Aiterate2(deep, H5_INDEX_NAME, H5_ITER_INC, &at, on_attribute, "height"));
    printf(" at %llu\n", (unsigned long long)at);
    printf("rest %d\n", H5Aiterate2(deep, H5_INDEX_NAME, H5_ITER_INC, &at, on_attribute, "-"));
    printf("rename %d exists %d %d\n", H5Arename(deep, "mid", "middle"), H5Aexists(deep, "mid"), H5Aexists(deep, "middle"));
    printf("delete %d count %d\n", H5Adelete(deep, "zeta"), H5Aget_num_attrs(deep));
    H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, on_link, "inc");
    H5Literate(file, H5_INDEX_NAME, H5_ITER_DEC, NULL, on_link, "dec");
    H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, on_link, "visit");
    H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, on_object, NULL);
    printf("move %d\n", H5Lmove(file, "a", file, "moved", H5P_DEFAULT, H5P_DEFAULT));
    name_of(deep);
    printf("copy %d\n", H5Ocopy(file, "moved", file, "copied", H5P_DEFAULT, H5P_DEFAULT));
    H5O_info_t info;
    H5Oget_info_by_name(file, "copied/b/c", &info, H5P_DEFAULT);
    printf("copied type %d attrs %llu rc %u\n", info.type, (unsigned long long)info.num_attrs, info.rc);
    H5G_info_t group;
    H5Gget_info(file, &group);
    printf("links %llu storage %d\n", (unsigned long long)group.nlinks, group.storage_type);
    char text[50];
    H5Lget_val(file, "soft", text, sizeof text, H5P_DEFAULT);
    printf("soft to %s\n", text);
    const char *other, *path;
    H5Lget_val(file, "external", text, sizeof text, H5P_DEFAULT);
    H5Lunpack_elink_val(text, sizeof text, NULL, &other, &path);
    printf("external to %s %s\n", other, path);
    printf("comment %d", H5Oset_comment(deep, "a comment"));
    printf(" length %zd", H5Oget_comment(deep, text, sizeof text));
    printf(" %s\n", text);
    printf("unlink %d\n", H5Ldelete(file, "hard", H5P_DEFAULT));
    hid_t by_index = H5Oopen_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT);
    name_of(by_index);
    printf("refs %d\n", H5Iget_ref(by_index));
    H5Iinc_ref(by_index);
    printf("close %d valid %d\n", H5Oclose(by_index), H5Iis_valid(by_index));
    printf("close %d valid %d\n", H5Oclose(by_index), H5Iis_valid(by_index));
    hid_t anonymous = H5Gcreate_anon(file, H5P_DEFAULT, H5P_DEFAULT);
    printf("link %d\n", H5Olink(anonymous, file, "named", H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(anonymous); H5Gclose(through); H5Gclose(deep); H5Sclose(scalar); H5Pclose(links);
    printf("open %lld\n", (long long)H5Fget_obj_count(file, H5F_OBJ_ALL));
    printf("close %d\n", H5Fclose(file));
    return 0;
}
