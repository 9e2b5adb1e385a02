/* H5T: datatypes made, changed, looked at, encoded. */
#include "show.h"
#if H5_VERSION_GE(2, 0, 0)
#include <complex.h>

static void describe(const char *name, hid_t t)
{
    size_t    a = 0, b = 0, c = 0, d = 0, e = 0;
    H5T_pad_t low = -9, high = -9;
    printf("%s: class %d size %zu order %d precision %zu offset %d sign %d", name, H5Tget_class(t), H5Tget_size(t),
           H5Tget_order(t), H5Tget_precision(t), H5Tget_offset(t), H5Tget_sign(t));
    if (H5Tget_fields(t, &a, &b, &c, &d, &e) >= 0)
        printf(" fields %zu %zu %zu %zu %zu bias %zu norm %d inpad %d", a, b, c, d, e, H5Tget_ebias(t), H5Tget_norm(t),
               H5Tget_inpad(t));
    if (H5Tget_pad(t, &low, &high) >= 0)
        printf(" pad %d %d", low, high);
    printf(" strpad %d cset %d variable %d members %d dims %d\n", H5Tget_strpad(t), H5Tget_cset(t), H5Tis_variable_str(t),
           H5Tget_nmembers(t), H5Tget_array_ndims(t));
    for (int m = 0; m < H5Tget_nmembers(t); m++) {
        char *member = H5Tget_member_name(t, m);
        printf("  %s", member);
        H5free_memory(member);
        if (H5Tget_class(t) == H5T_COMPOUND) {
            hid_t type = H5Tget_member_type(t, m);
            printf(" at %zu of class %d and %zu bytes\n", H5Tget_member_offset(t, m), H5Tget_member_class(t, m), H5Tget_size(type));
            H5Tclose(type);
        } else {
            unsigned char value[16] = {0};
            H5Tget_member_value(t, m, value);
            show_bytes("", value, H5Tget_size(t));
        }
    }
    size_t count = 0;
    if (H5Tencode(t, NULL, &count) >= 0) {
        unsigned char *bytes = calloc(1, count + 1);
        H5Tencode(t, bytes, &count);
        show_bytes("  encoded", bytes, count);
        hid_t decoded = H5Tdecode2(bytes, count);
        printf("  decoded equal %d size %zu\n", H5Tequal(t, decoded), H5Tget_size(decoded));
        hid_t again = H5Tdecode1(bytes);
        printf("  decoded again %d\n", H5Tequal(t, again));
        H5Tclose(decoded);
        H5Tclose(again);
        free(bytes);
    } else
        printf("  cannot be encoded\n");
    hid_t native = H5Tget_native_type(t, H5T_DIR_DEFAULT);
    if (native >= 0) {
        printf("  native class %d size %zu precision %zu order %d", H5Tget_class(native), H5Tget_size(native),
               H5Tget_precision(native), H5Tget_order(native));
        for (int m = 0; H5Tget_class(native) == H5T_COMPOUND && m < H5Tget_nmembers(native); m++)
            printf(" @%zu", H5Tget_member_offset(native, m));
        printf("\n");
        H5Tclose(native);
    } else
        printf("  no native type\n");
    for (int kind = -1; kind < 12; kind++)
        printf("%s%d", kind < 0 ? "  detect " : " ", H5Tdetect_class(t, kind));
    printf("\n");
}

static void predefined(void)
{
#define D(t) describe(#t, t)
    D(H5T_IEEE_F16BE); D(H5T_IEEE_F32LE); D(H5T_IEEE_F64BE); D(H5T_FLOAT_BFLOAT16LE); D(H5T_FLOAT_F8E4M3);
    D(H5T_FLOAT_F4E2M1); D(H5T_FLOAT_F6E3M2); D(H5T_COMPLEX_IEEE_F32BE); D(H5T_STD_I8BE); D(H5T_STD_U16LE); D(H5T_STD_B32BE);
    D(H5T_STD_REF_OBJ); D(H5T_STD_REF_DSETREG); D(H5T_STD_REF); D(H5T_UNIX_D32BE); D(H5T_C_S1); D(H5T_FORTRAN_S1);
    D(H5T_VAX_F32); D(H5T_VAX_F64); D(H5T_NATIVE_SCHAR); D(H5T_NATIVE_LONG); D(H5T_NATIVE_LDOUBLE);
    D(H5T_NATIVE_LDOUBLE_COMPLEX); D(H5T_NATIVE_OPAQUE); D(H5T_NATIVE_HBOOL); D(H5T_NATIVE_INT_FAST16); D(H5T_NATIVE_B64);
    SHOW(H5Tclose(H5T_NATIVE_INT));
    SHOW(H5Tset_size(H5T_NATIVE_INT, 8));
    SHOW(H5Tlock(H5T_NATIVE_INT));
}

static void strings(void)
{
    hid_t s, v;
    SHOW_ID(s, H5Tcreate(H5T_STRING, 5));
    describe("string of 5", s);
    SHOW(H5Tset_strpad(s, H5T_STR_SPACEPAD));
    SHOW(H5Tset_strpad(s, 7));
    SHOW(H5Tset_cset(s, H5T_CSET_UTF8));
    SHOW(H5Tset_cset(s, 9));
    SHOW(H5Tset_precision(s, 16));
    SHOW(H5Tset_offset(s, 1));
    SHOW(H5Tset_offset(s, 0));
    SHOW(H5Tset_order(s, H5T_ORDER_NONE));
    SHOW(H5Tset_sign(s, H5T_SGN_2));
    SHOW(H5Tset_size(s, 0));
    describe("padded string", s);
    SHOW(H5Tset_size(s, H5T_VARIABLE));
    describe("variable string", s);
    SHOW_ID(v, H5Tcreate(H5T_STRING, H5T_VARIABLE));
    describe("created variable string", v);
    hid_t base;
    SHOW_ID(base, H5Tget_super(v));
    describe("its base", base);
    H5Tclose(base);
    SHOW(H5Tequal(s, v));
    SHOW(H5Tset_cset(v, H5T_CSET_UTF8));
    SHOW(H5Tset_strpad(v, H5T_STR_SPACEPAD));
    SHOW(H5Tequal(s, v));
    SHOW_ID(base, H5Tget_super(H5T_C_S1));
    H5Tclose(s);
    H5Tclose(v);
    hid_t o;
    SHOW_ID(o, H5Tcreate(H5T_OPAQUE, 7));
    SHOW(H5Tset_tag(o, "a tag"));
    SHOW_TEXT(H5Tget_tag(o));
    describe("opaque", o);
    SHOW(H5Tset_size(o, 9));
    SHOW(H5Tset_order(o, H5T_ORDER_LE));
    SHOW(H5Tset_order(o, H5T_ORDER_NONE));
    SHOW(H5Tset_precision(o, 3));
    describe("opaque of 9", o);
    SHOW_TEXT(H5Tget_tag(H5T_NATIVE_INT));
    SHOW(H5Tset_tag(o, NULL));
    H5Tclose(o);
}

static void numbers(void)
{
    hid_t i = H5Tcopy(H5T_STD_I32LE), f = H5Tcopy(H5T_IEEE_F32LE);
    SHOW(H5Tset_precision(i, 17));
    SHOW(H5Tset_offset(i, 8));
    SHOW(H5Tset_pad(i, H5T_PAD_ONE, H5T_PAD_ZERO));
    describe("17 bits", i);
    SHOW(H5Tset_size(i, 2));
    describe("in 2 bytes", i);
    SHOW(H5Tset_size(i, 8));
    SHOW(H5Tset_offset(i, 60));
    describe("at 60", i);
    SHOW(H5Tset_precision(i, 100));
    describe("100 bits", i);
    SHOW(H5Tset_precision(i, 0));
    SHOW(H5Tset_order(i, H5T_ORDER_BE));
    SHOW(H5Tset_order(i, H5T_ORDER_NONE));
    SHOW(H5Tset_order(i, H5T_ORDER_MIXED));
    SHOW(H5Tset_order(i, 17));
    SHOW(H5Tset_sign(i, H5T_SGN_NONE));
    SHOW(H5Tset_sign(i, 2));
    SHOW(H5Tset_pad(i, 5, 0));
    SHOW(H5Tset_ebias(i, 2));
    SHOW(H5Tset_size(f, 2));
    SHOW(H5Tset_precision(f, 20));
    SHOW(H5Tset_fields(f, 15, 10, 5, 0, 10));
    SHOW(H5Tset_fields(f, 15, 10, 6, 0, 10));
    SHOW(H5Tset_fields(f, 15, 9, 5, 0, 10));
    SHOW(H5Tset_fields(f, 40, 10, 5, 0, 10));
    SHOW(H5Tset_precision(f, 16));
    SHOW(H5Tset_size(f, 2));
    SHOW(H5Tset_ebias(f, 15));
    SHOW(H5Tset_norm(f, H5T_NORM_MSBSET));
    SHOW(H5Tset_norm(f, 9));
    SHOW(H5Tset_inpad(f, H5T_PAD_ONE));
    describe("small float", f);
    SHOW(H5Tequal(f, H5T_IEEE_F16LE));
    SHOW(H5Tset_sign(f, H5T_SGN_2));
    SHOW(H5Tlock(f));
    SHOW(H5Tclose(f));
    H5Tclose(i);
    hid_t c;
    SHOW_ID(c, H5Tcomplex_create(H5T_IEEE_F64BE));
    describe("complex", c);
    SHOW(H5Tequal(c, H5T_COMPLEX_IEEE_F64BE));
    H5Tclose(c);
    SHOW_ID(c, H5Tcomplex_create(H5T_NATIVE_INT));
}

static void compounds(void)
{
    hid_t c, copy, s = H5Tcreate(H5T_STRING, H5T_VARIABLE), n;
    SHOW_ID(c, H5Tcreate(H5T_COMPOUND, 40));
    SHOW(H5Tinsert(c, "a", 0, H5T_STD_I16BE));
    SHOW(H5Tinsert(c, "a", 4, H5T_NATIVE_INT));
    SHOW(H5Tinsert(c, "b", 1, H5T_NATIVE_INT));
    SHOW(H5Tinsert(c, "b", 38, H5T_NATIVE_INT));
    SHOW(H5Tinsert(c, "", 8, H5T_NATIVE_INT));
    SHOW(H5Tinsert(c, NULL, 8, H5T_NATIVE_INT));
    SHOW(H5Tinsert(c, "x", 8, c));
    SHOW(H5Tinsert(c, "text", 24, s));
    SHOW(H5Tinsert(c, "d", 8, H5T_IEEE_F64LE));
    SHOW(H5Tinsert(c, "i", 20, H5T_STD_U8LE));
    describe("compound", c);
    SHOW(H5Tget_member_index(c, "d"));
    SHOW(H5Tget_member_index(c, "none"));
    SHOW(H5Tget_member_offset(c, 17));
    SHOW(H5Tget_member_class(c, 17));
    SHOW_TEXT(H5Tget_member_name(c, 17));
    SHOW(H5Tset_size(c, 30));
    SHOW(H5Tset_size(c, 32));
    SHOW_ID(copy, H5Tcopy(c));
    SHOW(H5Tequal(c, copy));
    SHOW(H5Tpack(copy));
    describe("packed", copy);
    SHOW(H5Tequal(c, copy));
    SHOW_ID(n, H5Tcreate(H5T_COMPOUND, 100));
    SHOW(H5Tinsert(n, "inner", 4, c));
    SHOW(H5Tinsert(n, "flag", 0, H5T_NATIVE_HBOOL));
    hsize_t dims[2] = {2, 3};
    hid_t   a       = H5Tarray_create2(H5T_STD_I16LE, 2, dims);
    SHOW(H5Tinsert(n, "array", 40, a));
    describe("nested", n);
    SHOW(H5Tpack(n));
    describe("packed nested", n);
    SHOW(H5Tpack(a));
    hid_t two = H5Tcreate(H5T_COMPOUND, 8), one = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(two, "p", 0, H5T_NATIVE_INT);
    H5Tinsert(two, "q", 4, H5T_NATIVE_INT);
    H5Tinsert(one, "q", 4, H5T_NATIVE_INT);
    H5Tinsert(one, "p", 0, H5T_NATIVE_INT);
    SHOW(H5Tequal(one, two));
    H5Tclose(c); H5Tclose(copy); H5Tclose(n); H5Tclose(a); H5Tclose(s); H5Tclose(one); H5Tclose(two);
}

static void enumerations(void)
{
    hid_t e, other;
    int   value = 3;
    char  name[8];
    SHOW_ID(e, H5Tenum_create(H5T_IEEE_F32LE));
    SHOW_ID(e, H5Tenum_create(H5T_STD_I32LE));
    describe("empty enum", e);
    SHOW(H5Tenum_insert(e, "three", &value));
    value = 70000;
    SHOW(H5Tenum_insert(e, "three", &value));
    SHOW(H5Tenum_insert(e, "big number", &value));
    SHOW(H5Tenum_insert(e, "same", &value));
    SHOW(H5Tenum_insert(e, "null", NULL));
    describe("enum", e);
    SHOW(H5Tenum_nameof(e, &value, name, sizeof name));
    value = 3;
    SHOW(H5Tenum_nameof(e, &value, name, sizeof name));
    printf("%s\n", name);
    value = 4;
    SHOW(H5Tenum_nameof(e, &value, name, sizeof name));
    SHOW(H5Tenum_valueof(e, "big number", &value));
    SHOW(value);
    SHOW(H5Tenum_valueof(e, "missing", &value));
    SHOW(H5Tget_member_index(e, "big number"));
    SHOW(H5Tget_member_value(e, 9, &value));
    SHOW(H5Tset_size(e, 8));
    SHOW(H5Tset_order(e, H5T_ORDER_BE));
    SHOW_ID(other, H5Tget_super(e));
    describe("base of enum", other);
    H5Tclose(other);
    SHOW_ID(other, H5Tcreate(H5T_ENUM, 2));
    describe("created enum", other);
    H5Tclose(other);
    SHOW_ID(other, H5Tcreate(H5T_ENUM, 3));
    SHOW_ID(other, H5Tcreate(H5T_VLEN, 16));
    SHOW_ID(other, H5Tcreate(42, 16));
    SHOW_ID(other, H5Tcreate(H5T_OPAQUE, 0));
    H5Tclose(e);
}

static void composites(void)
{
    hsize_t dims[3] = {2, 3, 4}, zero[1] = {0}, out[3] = {9, 9, 9};
    hid_t   a, v, s;
    SHOW_ID(a, H5Tarray_create2(H5T_STD_I16BE, 3, dims));
    describe("array", a);
    SHOW(H5Tget_array_dims2(a, out));
    printf("%d %d %d\n", (int)out[0], (int)out[1], (int)out[2]);
    SHOW(H5Tget_array_dims2(H5T_NATIVE_INT, out));
    SHOW(H5Tset_size(a, 4));
    describe("array of 4 bytes", a);
    SHOW_ID(v, H5Tarray_create2(H5T_STD_I16BE, 1, zero));
    SHOW_ID(v, H5Tarray_create2(H5T_STD_I16BE, 0, dims));
    SHOW_ID(v, H5Tarray_create2(H5T_STD_I16BE, 33, dims));
    SHOW_ID(v, H5Tvlen_create(a));
    describe("sequence of arrays", v);
    SHOW_ID(s, H5Tvlen_create(v));
    describe("sequence of sequences", s);
    H5Tclose(s);
    hid_t text = H5Tcreate(H5T_STRING, H5T_VARIABLE);
    SHOW_ID(s, H5Tvlen_create(text));
    describe("sequence of strings", s);
    SHOW(H5Tset_cset(s, H5T_CSET_UTF8));
    SHOW(H5Tset_size(s, 4));
    H5Tclose(s);
    H5Tclose(v); H5Tclose(a); H5Tclose(text);
}

static void misuse(void)
{
    hid_t space = H5Screate(H5S_SCALAR), closed = H5Tcopy(H5T_NATIVE_INT);
    H5Tclose(closed);
    SHOW(H5Tget_size(space));
    SHOW(H5Tget_class(closed));
    SHOW(H5Tget_class(-1));
    SHOW(H5Tget_class(0));
    SHOW(H5Tget_class(0x7fffffffffffffffLL));
    SHOW(H5Tclose(closed));
    SHOW(H5Tcopy(space) < 0);
    SHOW(H5Tequal(closed, H5T_NATIVE_INT));
    SHOW(H5Tencode(H5T_NATIVE_INT, NULL, NULL));
    SHOW(H5Tdecode2(NULL, 12) < 0);
    SHOW(H5Tdecode2("\3\0\x10", 3) < 0);
    SHOW(H5Tflush(H5T_NATIVE_INT));
    SHOW(H5Tget_native_type(H5T_NATIVE_INT, 7) < 0);
    H5Sclose(space);
}

int main(void)
{
    quiet();
    predefined();
    strings();
    numbers();
    compounds();
    enumerations();
    composites();
    misuse();
    return 0;
}
#else
int main(void)
{
    printf("SKIPPED: this program needs the headers of HDF5 2\n");
    return 0;
}
#endif
