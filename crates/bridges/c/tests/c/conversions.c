/* H5T: conversions by the library's rules and by the program's own functions. */
#include "show.h"
#if H5_VERSION_GE(2, 0, 0)
#include <math.h>
#include <stddef.h>

static void numbers(void)
{
    double  d[4] = {1.5, -3.7, 1e10, 300.0};
    int     i[4];
    SHOW(H5Tconvert(H5T_NATIVE_DOUBLE, H5T_STD_I32BE, 4, d, NULL, H5P_DEFAULT));
    show_bytes("double to I32BE", d, 16);
    memcpy(i, d, 16);
    SHOW(H5Tconvert(H5T_STD_I32BE, H5T_NATIVE_SHORT, 4, i, NULL, H5P_DEFAULT));
    show_bytes("to short", i, 8);
    short s[8] = {-1, 2, 300, -400};
    SHOW(H5Tconvert(H5T_NATIVE_SHORT, H5T_NATIVE_UCHAR, 4, s, NULL, H5P_DEFAULT));
    show_bytes("to uchar", s, 4);
    char buffer[16] = {1, 2, 3, 4};
    SHOW(H5Tconvert(H5T_STD_I8LE, H5T_IEEE_F32BE, 4, buffer, NULL, H5P_DEFAULT));
    show_bytes("to F32BE", buffer, 16);
    char text[12] = "abcdefghijk";
    hid_t three = H5Tcreate(H5T_STRING, 3), five = H5Tcreate(H5T_STRING, 5);
    H5Tset_strpad(five, H5T_STR_SPACEPAD);
    SHOW(H5Tconvert(three, five, 2, text, NULL, H5P_DEFAULT));
    show_bytes("padded", text, 10);
    SHOW(H5Tconvert(H5T_NATIVE_INT, three, 1, text, NULL, H5P_DEFAULT));
    SHOW(H5Tconvert(H5T_NATIVE_INT, H5T_STD_REF_OBJ, 1, text, NULL, H5P_DEFAULT));
    SHOW(H5Tconvert(H5T_NATIVE_INT, H5T_NATIVE_INT, 1, text, NULL, H5P_DEFAULT));
    SHOW(H5Tcompiler_conv(H5T_NATIVE_INT, H5T_NATIVE_DOUBLE));
    SHOW(H5Tcompiler_conv(H5T_STD_I32BE, H5T_NATIVE_DOUBLE));
    SHOW(H5Tcompiler_conv(H5T_NATIVE_INT, H5T_NATIVE_INT));
    SHOW(H5Tcompiler_conv(H5T_NATIVE_INT, three));
    long double x[2] = {1.25L, -7.0L};
    SHOW(H5Tconvert(H5T_NATIVE_LDOUBLE, H5T_NATIVE_DOUBLE, 2, x, NULL, H5P_DEFAULT));
    show_bytes("long double", x, 16);
    H5Tclose(three); H5Tclose(five);
}

typedef struct { int a; char *text; double d; hvl_t list; } from_t;
typedef struct { hvl_t list; char *text; short a; } to_t;

static void structures(void)
{
    hid_t vs = H5Tcreate(H5T_STRING, H5T_VARIABLE), vi = H5Tvlen_create(H5T_NATIVE_INT), vd = H5Tvlen_create(H5T_NATIVE_DOUBLE);
    hid_t from = H5Tcreate(H5T_COMPOUND, sizeof(from_t)), to = H5Tcreate(H5T_COMPOUND, sizeof(to_t));
    H5Tinsert(from, "a", offsetof(from_t, a), H5T_NATIVE_INT);
    H5Tinsert(from, "text", offsetof(from_t, text), vs);
    H5Tinsert(from, "d", offsetof(from_t, d), H5T_NATIVE_DOUBLE);
    H5Tinsert(from, "list", offsetof(from_t, list), vi);
    H5Tinsert(to, "list", offsetof(to_t, list), vd);
    H5Tinsert(to, "text", offsetof(to_t, text), vs);
    H5Tinsert(to, "a", offsetof(to_t, a), H5T_NATIVE_SHORT);
    int     numbers[3] = {7, 8, 9};
    from_t *buffer     = calloc(2, sizeof(from_t));
    to_t   *background = calloc(2, sizeof(to_t)), *out = (to_t *)buffer;
    buffer[0] = (from_t){5, "hello", 2.5, {3, numbers}};
    buffer[1] = (from_t){-6, "", 3.5, {0, NULL}};
    SHOW(H5Tconvert(from, to, 2, buffer, background, H5P_DEFAULT));
    for (int n = 0; n < 2; n++) {
        printf("a %d text %s list", out[n].a, out[n].text ? out[n].text : "(null)");
        for (size_t k = 0; k < out[n].list.len; k++)
            printf(" %g", ((double *)out[n].list.p)[k]);
        printf("\n");
    }
    /* Enumerations by name. */
    hid_t e1 = H5Tenum_create(H5T_NATIVE_INT), e2 = H5Tenum_create(H5T_NATIVE_SHORT);
    int   one = 1, two = 2;
    short ten = 10, twenty = 20;
    H5Tenum_insert(e1, "x", &one); H5Tenum_insert(e1, "y", &two);
    H5Tenum_insert(e2, "y", &twenty); H5Tenum_insert(e2, "x", &ten);
    int values[3] = {1, 2, 3};
    SHOW(H5Tconvert(e1, e2, 3, values, NULL, H5P_DEFAULT));
    show_bytes("enum", values, 6);
    hsize_t dim[1] = {2};
    hid_t   a1 = H5Tarray_create2(H5T_NATIVE_INT, 1, dim), a2 = H5Tarray_create2(H5T_STD_I16BE, 1, dim);
    int     array[4] = {1, 2, 3, 4};
    SHOW(H5Tconvert(a1, a2, 2, array, NULL, H5P_DEFAULT));
    show_bytes("array", array, 8);
    H5T_cdata_t *data = NULL;
    SHOW(H5Tfind(from, to, &data) != NULL);
    SHOW(data != NULL);
    SHOW(H5Tfind(H5T_NATIVE_INT, vs, &data) != NULL);
    H5Tclose(vi); H5Tclose(vd); H5Tclose(from); H5Tclose(to); H5Tclose(e1); H5Tclose(e2); H5Tclose(a1); H5Tclose(a2); H5Tclose(vs);
}

static int calls[3], refuse;

/* Strings of variable length to their lengths. */
static herr_t length(hid_t src, hid_t dst, H5T_cdata_t *cdata, size_t n, size_t stride, size_t bkg, void *buf, void *bg, hid_t list)
{
    (void)bkg; (void)bg; (void)list;
    calls[cdata->command]++;
    if (cdata->command == H5T_CONV_INIT) {
        cdata->need_bkg = H5T_BKG_NO;
        return refuse || !H5Tis_variable_str(src) || H5Tget_size(dst) != 4 ? -1 : 0;
    }
    if (cdata->command == H5T_CONV_CONV) {
        for (size_t i = 0; i < n; i++) {
            char *from = *(char **)((char *)buf + i * (stride ? stride : sizeof(char *)));
            *(int *)((char *)buf + i * (stride ? stride : sizeof(int))) = (int)strlen(from);
        }
    }
    return 0;
}

typedef struct { char *text; double d; } pair_t;
typedef struct { double d; int text; } result_t;

static void own(void)
{
    hid_t  vs       = H5Tcreate(H5T_STRING, H5T_VARIABLE);
    hid_t  pair     = H5Tcreate(H5T_COMPOUND, sizeof(pair_t)), result = H5Tcreate(H5T_COMPOUND, sizeof(result_t));
    char  *texts[3] = {"a", "bcd", ""};
    H5Tinsert(pair, "text", offsetof(pair_t, text), vs);
    H5Tinsert(pair, "d", offsetof(pair_t, d), H5T_NATIVE_DOUBLE);
    H5Tinsert(result, "d", offsetof(result_t, d), H5T_NATIVE_DOUBLE);
    H5Tinsert(result, "text", offsetof(result_t, text), H5T_NATIVE_INT);
    SHOW(H5Tconvert(vs, H5T_NATIVE_INT, 3, texts, NULL, H5P_DEFAULT));
    SHOW(H5Tregister(H5T_PERS_HARD, "length", vs, H5T_NATIVE_INT, length));
    SHOW(H5Tconvert(vs, H5T_NATIVE_INT, 3, texts, NULL, H5P_DEFAULT));
    printf("%d %d %d\n", ((int *)texts)[0], ((int *)texts)[1], ((int *)texts)[2]);
    SHOW(calls[0] > 0); SHOW(calls[1] > 0); SHOW(calls[2]);
    pair_t   pairs[2] = {{"hello", 1.5}, {"you", 2.5}};
    result_t old[2]   = {{9, 9}, {9, 9}}, *out = (result_t *)pairs;
    SHOW(H5Tconvert(pair, result, 2, pairs, old, H5P_DEFAULT));
    printf("%g %d %g %d\n", out[0].d, out[0].text, out[1].d, out[1].text);
    H5T_cdata_t *data = NULL;
    SHOW(H5Tfind(vs, H5T_NATIVE_INT, &data) == length);
    SHOW(data->need_bkg);
    SHOW(H5Tcompiler_conv(vs, H5T_NATIVE_INT));
    SHOW(H5Tunregister(H5T_PERS_HARD, "length", vs, H5T_NATIVE_INT, length));
    SHOW(calls[2] > 0);
    SHOW(H5Tconvert(vs, H5T_NATIVE_INT, 3, texts, NULL, H5P_DEFAULT));
    refuse = 1;
    SHOW(H5Tregister(H5T_PERS_HARD, "length", vs, H5T_NATIVE_INT, length));
    refuse = 0;
    SHOW(H5Tregister(H5T_PERS_SOFT, "length", vs, H5T_NATIVE_INT, length));
    char *more[2] = {"four", "sixsix"};
    SHOW(H5Tconvert(vs, H5T_NATIVE_UINT, 2, more, NULL, H5P_DEFAULT));
    printf("%d %d\n", ((int *)more)[0], ((int *)more)[1]);
    SHOW(H5Tconvert(vs, H5T_NATIVE_LONG, 2, more, NULL, H5P_DEFAULT));
    SHOW(H5Tregister(H5T_PERS_SOFT, "", vs, H5T_NATIVE_INT, length));
    SHOW(H5Tregister(H5T_PERS_SOFT, "x", vs, H5T_NATIVE_INT, NULL));
    SHOW(H5Tregister(7, "x", vs, H5T_NATIVE_INT, length));
    SHOW(H5Tregister(H5T_PERS_SOFT, "x", -1, H5T_NATIVE_INT, length));
    SHOW(H5Tunregister(H5T_PERS_DONTCARE, NULL, -1, -1, length));
    char *last[2] = {"four", "sixsix"};
    SHOW(H5Tconvert(vs, H5T_NATIVE_UINT, 2, last, NULL, H5P_DEFAULT));
    H5Tclose(vs); H5Tclose(pair); H5Tclose(result);
}

static H5T_conv_ret_t exception(H5T_conv_except_t what, hid_t src, hid_t dst, void *from, void *to, void *data)
{
    printf("exception %d from %zu bytes to %zu bytes: %d\n", what, H5Tget_size(src), H5Tget_size(dst), *(int *)data);
    if (what == H5T_CONV_EXCEPT_RANGE_HI) {
        *(signed char *)to = 42;
        return H5T_CONV_HANDLED;
    }
    (void)from;
    return what == H5T_CONV_EXCEPT_NAN ? H5T_CONV_ABORT : H5T_CONV_UNHANDLED;
}

static void exceptions(void)
{
    hid_t list = H5Pcreate(H5P_DATASET_XFER);
    int   data = 77;
    SHOW(H5Pset_type_conv_cb(list, exception, &data));
    int values[3] = {1, 300, -300};
    SHOW(H5Tconvert(H5T_NATIVE_INT, H5T_NATIVE_SCHAR, 3, values, NULL, list));
    show_bytes("chars", values, 3);
    double floats[3] = {1.5, INFINITY, NAN};
    SHOW(H5Tconvert(H5T_NATIVE_DOUBLE, H5T_NATIVE_SCHAR, 3, floats, NULL, list));
    H5Pclose(list);
}

static int taken, given;
static void *take(size_t n, void *info) { (void)info; taken++; return malloc(n); }
static void give(void *p, void *info) { (void)info; given++; free(p); }

static void memory(void)
{
    hid_t list = H5Pcreate(H5P_DATASET_XFER), vs = H5Tcreate(H5T_STRING, H5T_VARIABLE), vvs = H5Tvlen_create(vs);
    hid_t   vi = H5Tvlen_create(H5T_NATIVE_INT), vd = H5Tvlen_create(H5T_NATIVE_DOUBLE);
    hsize_t three[1] = {3};
    hid_t   space    = H5Screate_simple(1, three, NULL);
    SHOW(H5Pset_vlen_mem_manager(list, take, NULL, give, NULL));
    int   numbers[3]   = {1, 2, 3};
    hvl_t sequences[3] = {{3, numbers}, {1, numbers}, {0, NULL}};
    SHOW(H5Tconvert(vi, vd, 3, sequences, NULL, list));
    SHOW(taken);
    for (int n = 0; n < 3; n++)
        printf("%zu %g\n", sequences[n].len, sequences[n].len ? ((double *)sequences[n].p)[sequences[n].len - 1] : 0);
    SHOW(H5Treclaim(vd, space, list, sequences));
    SHOW(given);
    hvl_t lists[3];
    for (int n = 0; n < 3; n++) {
        lists[n].len = n;
        lists[n].p   = n ? malloc(n * sizeof(char *)) : NULL;
        for (int k = 0; k < n; k++)
            ((char **)lists[n].p)[k] = strdup("text");
    }
    SHOW(H5Treclaim(vvs, space, H5P_DEFAULT, lists));
    SHOW(H5Treclaim(vvs, space, H5P_DEFAULT, NULL));
    SHOW(H5Treclaim(vvs, vvs, H5P_DEFAULT, lists));
    H5Pclose(list); H5Tclose(vs); H5Tclose(vvs); H5Tclose(vi); H5Tclose(vd); H5Sclose(space);
}

int main(void)
{
    quiet();
    numbers();
    structures();
    own();
    exceptions();
    memory();
    return 0;
}
#else
int main(void)
{
    printf("SKIPPED: this program needs the headers of HDF5 2\n");
    return 0;
}
#endif
