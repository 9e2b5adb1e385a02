/* Types of identifiers, whose numbers differ between 1.10 and later versions, and types of the program's own. */
#include "show.h"

static int freed;

static herr_t release(void *object)
{
    freed += *(int *)object;
    return 0;
}

static void library_types(void)
{
    hid_t file, group, dataset, attribute, space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_NATIVE_INT);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), class, message, stack;
    SHOW_ID(file, H5Fcreate("identifiers.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    SHOW_ID(group, H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    SHOW_ID(dataset, H5Dcreate2(file, "dataset", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    SHOW_ID(attribute, H5Acreate2(file, "attribute", type, space, H5P_DEFAULT, H5P_DEFAULT));
    SHOW_ID(class, H5Eregister_class("class", "library", "1"));
    SHOW_ID(message, H5Ecreate_msg(class, H5E_MAJOR, "message"));
    SHOW_ID(stack, H5Ecreate_stack());
    SHOW(H5Iget_type(file) == H5I_FILE);
    SHOW(H5Iget_type(group) == H5I_GROUP);
    SHOW(H5Iget_type(dataset) == H5I_DATASET);
    SHOW(H5Iget_type(attribute) == H5I_ATTR);
    SHOW(H5Iget_type(space) == H5I_DATASPACE);
    SHOW(H5Iget_type(type) == H5I_DATATYPE);
    SHOW(H5Iget_type(H5T_NATIVE_INT) == H5I_DATATYPE);
    SHOW(H5Iget_type(list) == H5I_GENPROP_LST);
    SHOW(H5Iget_type(H5P_DATASET_CREATE) == H5I_GENPROP_CLS);
    SHOW(H5Iget_type(class) == H5I_ERROR_CLASS);
    SHOW(H5Iget_type(message) == H5I_ERROR_MSG);
    SHOW(H5Iget_type(stack) == H5I_ERROR_STACK);
    SHOW(H5Iget_type(H5FD_SEC2) == H5I_VFL);
    SHOW(H5Iget_type(12345) == H5I_BADID);
    SHOW(H5Iobject_verify(file, H5I_FILE) == NULL);
    SHOW(H5Itype_exists(H5I_GENPROP_LST) < 0);
    H5Aclose(attribute), H5Dclose(dataset), H5Gclose(group);
    SHOW(H5Fclose(file));
    SHOW(H5Iget_type(file));
    H5Pclose(list), H5Tclose(type), H5Sclose(space), H5Eclose_stack(stack), H5Eclose_msg(message), H5Eunregister_class(class);
}

static void own_types(void)
{
    int        values[3] = {1, 7, 100};
    hid_t      ids[3];
    hsize_t    count;
    H5I_type_t type = H5Iregister_type(64, 0, (H5I_free_t)release);
    SHOW(type >= H5I_NTYPES);
    for (int i = 0; i < 3; i++)
        SHOW_ID(ids[i], H5Iregister(type, &values[i]));
    SHOW(H5Iget_type(ids[1]) == type);
    SHOW(H5Iobject_verify(ids[1], type) == &values[1]);
    SHOW(H5Inmembers(type, &count));
    SHOW(count);
    SHOW(H5Iinc_ref(ids[2]));
    SHOW(H5Idec_ref(ids[2]));
    SHOW(H5Idec_ref(ids[2]));
    SHOW(freed);
    SHOW(H5Iremove_verify(ids[1], type) == &values[1]);
    SHOW(H5Iis_valid(ids[1]));
    SHOW(H5Itype_exists(type));
    SHOW(H5Idestroy_type(type));
    SHOW(freed);
    SHOW(H5Itype_exists(type));
    SHOW(H5Iregister(type, &values[0]) < 0);
}

int main(void)
{
    quiet();
    library_types();
    own_types();
    return 0;
}
