/* A program of the high-level interface, through Debian's libhdf5_hl: lite functions, tables, dimension scales, packet tables and
 * images. It prints what it reads back, and must print the same on libhdf5 and on this library. */
#include <hdf5.h>
#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOW(call) printf("%s = %lld\n", #call, (long long)(call))

typedef struct {
    char   name[16];
    int    number;
    double mass;
} row_t;

static const size_t offsets[3] = {HOFFSET(row_t, name), HOFFSET(row_t, number), HOFFSET(row_t, mass)};
static const size_t sizes[3] = {16, sizeof(int), sizeof(double)};

static void lite(hid_t file)
{
    hsize_t     dims[2] = {2, 3}, found_dims[2];
    int         values[6] = {1, 2, 3, 4, 5, 6}, found[6] = {0}, rank;
    double      reals[2] = {0.5, 1.5}, back[2];
    char        text[32];
    H5T_class_t class;
    size_t      size;
    SHOW(H5LTmake_dataset_int(file, "numbers", 2, dims, values));
    SHOW(H5LTread_dataset_int(file, "numbers", found));
    printf("%d %d %d\n", found[0], found[3], found[5]);
    SHOW(H5LTget_dataset_ndims(file, "numbers", &rank));
    SHOW(H5LTget_dataset_info(file, "numbers", found_dims, &class, &size));
    printf("%d %llu %llu %d %zu\n", rank, (unsigned long long)found_dims[0], (unsigned long long)found_dims[1], class, size);
    SHOW(H5LTmake_dataset_string(file, "text", "some text"));
    SHOW(H5LTread_dataset_string(file, "text", text));
    puts(text);
    SHOW(H5LTset_attribute_double(file, "numbers", "factors", reals, 2));
    SHOW(H5LTget_attribute_double(file, "numbers", "factors", back));
    printf("%g %g\n", back[0], back[1]);
    SHOW(H5LTset_attribute_string(file, "numbers", "unit", "metre"));
    SHOW(H5LTset_attribute_string(file, "numbers", "unit", "kilometre"));
    SHOW(H5LTget_attribute_string(file, "numbers", "unit", text));
    puts(text);
    SHOW(H5LTget_attribute_info(file, "numbers", "factors", found_dims, &class, &size));
    SHOW(H5LTfind_dataset(file, "text"));
    SHOW(H5LTfind_attribute(file, "none"));
    SHOW(H5LTpath_valid(file, "/numbers", 1));
    SHOW(H5LTpath_valid(file, "/none", 1));
    hid_t  type = H5LTtext_to_dtype("H5T_COMPOUND { H5T_STD_I32LE \"a\"; H5T_IEEE_F64BE \"b\"; }", H5LT_DDL);
    size_t length = 0;
    SHOW(H5LTdtype_to_text(type, NULL, H5LT_DDL, &length));
    char *ddl = malloc(length);
    SHOW(H5LTdtype_to_text(type, ddl, H5LT_DDL, &length));
    puts(ddl);
    free(ddl);
    SHOW(H5Tclose(type));
}

static void show_table(hid_t file)
{
    row_t   rows[10];
    hsize_t fields, records;
    SHOW(H5TBget_table_info(file, "table", &fields, &records));
    memset(rows, 0, sizeof rows);
    SHOW(H5TBread_table(file, "table", sizeof(row_t), offsets, sizes, rows));
    for (hsize_t i = 0; i < records; i++)
        printf("  %s %d %g\n", rows[i].name, rows[i].number, rows[i].mass);
}

static void tables(hid_t file)
{
    row_t       rows[3] = {{"one", 1, 0.5}, {"two", 2, 1.5}, {"three", 3, 2.5}}, more[2] = {{"four", 4, 3.5}, {"five", 5, 4.5}};
    const char *names[3] = {"name", "number", "mass"};
    hid_t       types[3] = {H5Tcopy(H5T_C_S1), H5T_NATIVE_INT, H5T_NATIVE_DOUBLE};
    H5Tset_size(types[0], 16);
    SHOW(H5TBmake_table("title", file, "table", 3, 3, sizeof(row_t), names, offsets, types, 2, NULL, 1, rows));
    show_table(file);
    SHOW(H5TBappend_records(file, "table", 2, sizeof(row_t), offsets, sizes, more));
    SHOW(H5TBwrite_records(file, "table", 1, 1, sizeof(row_t), offsets, sizes, more));
    SHOW(H5TBdelete_record(file, "table", 0, 1));
    SHOW(H5TBinsert_record(file, "table", 1, 2, sizeof(row_t), offsets, sizes, rows));
    show_table(file);
    double masses[10];
    size_t zero = 0, bytes = sizeof(double);
    SHOW(H5TBread_fields_name(file, "table", "mass", 1, 3, sizeof(double), &zero, &bytes, masses));
    printf("%g %g %g\n", masses[0], masses[1], masses[2]);
    H5Tclose(types[0]);
}

static herr_t scale(hid_t dataset, unsigned dimension, hid_t of, void *data)
{
    char name[32];
    (void)dataset, (void)data;
    H5DSget_scale_name(of, name, sizeof name);
    printf("  dimension %u has %s\n", dimension, name);
    return 0;
}

static void scales(hid_t file)
{
    hsize_t two[1] = {2}, three[1] = {3};
    int     values[3] = {10, 20, 30};
    char    label[32];
    SHOW(H5LTmake_dataset_int(file, "rows", 1, two, values));
    SHOW(H5LTmake_dataset_int(file, "columns", 1, three, values));
    hid_t dataset = H5Dopen2(file, "numbers", H5P_DEFAULT), rows = H5Dopen2(file, "rows", H5P_DEFAULT);
    hid_t columns = H5Dopen2(file, "columns", H5P_DEFAULT);
    SHOW(H5DSset_scale(rows, "the rows"));
    SHOW(H5DSset_scale(columns, "the columns"));
    SHOW(H5DSattach_scale(dataset, rows, 0));
    SHOW(H5DSattach_scale(dataset, columns, 1));
    SHOW(H5DSattach_scale(dataset, columns, 0));
    SHOW(H5DSset_label(dataset, 1, "across"));
    SHOW(H5DSget_label(dataset, 1, label, sizeof label));
    puts(label);
    SHOW(H5DSget_num_scales(dataset, 0));
    SHOW(H5DSis_scale(rows));
    SHOW(H5DSis_scale(dataset));
    SHOW(H5DSis_attached(dataset, columns, 1));
    SHOW(H5DSiterate_scales(dataset, 0, NULL, scale, NULL));
    SHOW(H5DSdetach_scale(dataset, columns, 0));
    SHOW(H5DSget_num_scales(dataset, 0));
    H5Dclose(dataset), H5Dclose(rows), H5Dclose(columns);
}

static void packets(hid_t file)
{
    int     values[5] = {1, 2, 3, 4, 5}, found[5] = {0};
    hsize_t count;
    hid_t   table = H5PTcreate(file, "packets", H5T_NATIVE_INT, 100, H5P_DEFAULT);
    SHOW(table >= 0);
    SHOW(H5PTappend(table, 5, values));
    SHOW(H5PTappend(table, 2, values));
    SHOW(H5PTget_num_packets(table, &count));
    SHOW(H5PTread_packets(table, 3, 4, found));
    printf("%llu: %d %d %d %d\n", (unsigned long long)count, found[0], found[1], found[2], found[3]);
    SHOW(H5PTcreate_index(table));
    SHOW(H5PTget_next(table, 2, found));
    SHOW(H5PTis_valid(table));
    SHOW(H5PTclose(table));
}

static void images(hid_t file)
{
    unsigned char pixels[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, palette[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, found[12];
    hsize_t       width, height, planes, dims[2] = {3, 3};
    char          interlace[32];
    hssize_t      palettes;
    SHOW(H5IMmake_image_8bit(file, "image", 4, 3, pixels));
    SHOW(H5IMmake_palette(file, "palette", dims, palette));
    SHOW(H5IMlink_palette(file, "image", "palette"));
    SHOW(H5IMis_image(file, "image"));
    SHOW(H5IMget_image_info(file, "image", &width, &height, &planes, interlace, &palettes));
    printf("%llu %llu %llu\n", (unsigned long long)width, (unsigned long long)height, (unsigned long long)palettes);
    SHOW(H5IMread_image(file, "image", found));
    printf("%d %d\n", found[0], found[11]);
}

static void optimized(void)
{
    size_t size;
    hid_t  file = H5Fopen("highlevel.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    size = (size_t)H5Fget_file_image(file, NULL, 0);
    void *image = malloc(size);
    SHOW(H5Fget_file_image(file, image, size) == (ssize_t)size);
    H5Fclose(file);
    hid_t opened = H5LTopen_file_image(image, size, H5LT_FILE_IMAGE_DONT_RELEASE);
    SHOW(opened >= 0);
    SHOW(H5LTfind_dataset(opened, "table"));
    SHOW(H5Fclose(opened));
}

static herr_t flushed(hid_t dataset, hsize_t *dims, void *data)
{
    printf("flushed at %llu, call %d\n", (unsigned long long)dims[0], ++*(int *)data);
    return H5Iget_type(dataset) == H5I_DATASET ? 0 : -1;
}

/* Appends, with a function that is called where a boundary is passed: by the high-level interface, and by nothing else. */
static void append(hid_t file)
{
    int     calls = 0, values[7] = {1, 2, 3, 4, 5, 6, 7}, found[30] = {0};
    hsize_t dims[1] = {0}, max[1] = {H5S_UNLIMITED}, chunk[1] = {4}, boundary[1] = {5};
    hid_t   dcpl = H5Pcreate(H5P_DATASET_CREATE), dapl = H5Pcreate(H5P_DATASET_ACCESS), space = H5Screate_simple(1, dims, max);
    SHOW(H5Pset_chunk(dcpl, 1, chunk));
    SHOW(H5Pset_append_flush(dapl, 1, boundary, flushed, &calls));
    hid_t dataset = H5Dcreate2(file, "appended", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, dapl);
    for (size_t count = 1; count < 8; count++)
        SHOW(H5DOappend(dataset, H5P_DEFAULT, 0, count, H5T_NATIVE_INT, values));
    dims[0] = 30;
    SHOW(H5Dset_extent(dataset, dims));
    SHOW(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found));
    printf("%d calls, %d %d %d %d\n", calls, found[0], found[2], found[27], found[29]);
    H5Dclose(dataset), H5Sclose(space), H5Pclose(dapl), H5Pclose(dcpl);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fcreate("highlevel.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    lite(file);
    tables(file);
    scales(file);
    packets(file);
    images(file);
    append(file);
    SHOW(H5Fclose(file));
    optimized();
    return 0;
}
