/* H5S: extents, selections, what is selected, encodings, iterators. */
#include "show.h"
#if H5_VERSION_GE(2, 0, 0)

static void describe(const char *name, hid_t s)
{
    hsize_t dims[32], max[32], low[32] = {0}, high[32] = {0};
    int     rank = H5Sget_simple_extent_dims(s, dims, max);
    printf("%s: class %d rank %d points %lld simple %d", name, H5Sget_simple_extent_type(s), rank,
           (long long)H5Sget_simple_extent_npoints(s), H5Sis_simple(s));
    for (int d = 0; d < rank; d++)
        printf(" %lld/%lld", (long long)dims[d], (long long)max[d]);
    printf(" selected %lld kind %d valid %d", (long long)H5Sget_select_npoints(s), H5Sget_select_type(s), H5Sselect_valid(s));
    if (H5Sget_select_bounds(s, low, high) >= 0)
        for (int d = 0; d < rank; d++)
            printf(" [%lld,%lld]", (long long)low[d], (long long)high[d]);
    else
        printf(" no bounds");
    printf("\n");
    if (H5Sget_select_type(s) == H5S_SEL_HYPERSLABS) {
        hsize_t a[32], b[32], c[32], e[32], corners[2000];
        hssize_t blocks = H5Sget_select_hyper_nblocks(s);
        printf("  regular %d blocks %lld", H5Sis_regular_hyperslab(s), (long long)blocks);
        if (H5Sget_regular_hyperslab(s, a, b, c, e) >= 0)
            for (int d = 0; d < rank; d++)
                printf(" %lld+%lld*%lld(%lld)", (long long)a[d], (long long)b[d], (long long)c[d], (long long)e[d]);
        printf("\n");
        if (blocks > 0 && blocks < 50 && H5Sget_select_hyper_blocklist(s, 0, blocks, corners) >= 0) {
            for (int n = 0; n < blocks * 2 * rank; n++)
                printf("%s%lld", n % (2 * rank) ? " " : "  | ", (long long)corners[n]);
            printf("\n");
        }
    }
    if (H5Sget_select_type(s) == H5S_SEL_POINTS) {
        hsize_t points[200];
        hssize_t count = H5Sget_select_elem_npoints(s);
        printf("  points %lld", (long long)count);
        H5Sget_select_elem_pointlist(s, 0, count, points);
        for (int n = 0; n < count * rank; n++)
            printf(" %lld", (long long)points[n]);
        printf("\n");
    }
    size_t count = 0;
    if (H5Sencode1(s, NULL, &count) >= 0) {
        unsigned char *bytes = calloc(1, count + 1);
        H5Sencode1(s, bytes, &count);
        show_bytes("  encoded", bytes, count);
        hid_t decoded = H5Sdecode(bytes);
        printf("  decoded: extent %d points %lld kind %d\n", H5Sextent_equal(s, decoded),
               (long long)H5Sget_select_npoints(decoded), H5Sget_select_type(decoded));
        H5Sclose(decoded);
        free(bytes);
    }
    if (H5Sget_select_npoints(s) >= 0 && H5Sselect_valid(s) > 0) {
        hid_t it = H5Ssel_iter_create(s, 4, 0);
        printf("  sequences");
        for (int round = 0; round < 20; round++) {
            size_t  nseq = 0, nelmts = 0, len[5];
            hsize_t off[5];
            if (H5Ssel_iter_get_seq_list(it, 5, 7, &nseq, &nelmts, off, len) < 0 || nseq == 0)
                break;
            printf(" <%zu %zu>", nseq, nelmts);
            for (size_t n = 0; n < nseq; n++)
                printf(" %lld:%zu", (long long)off[n], len[n]);
        }
        printf("\n");
        H5Ssel_iter_close(it);
    }
}

static void extents(void)
{
    hsize_t dims[2] = {4, 6}, max[2] = {H5S_UNLIMITED, 6}, bad[2] = {3, 6}, zero[1] = {0};
    hid_t   s, t;
    SHOW_ID(s, H5Screate(H5S_SCALAR));
    describe("scalar", s);
    SHOW_ID(t, H5Screate(H5S_NULL));
    describe("null", t);
    SHOW(H5Sextent_equal(s, t));
    H5Sclose(t);
    SHOW_ID(t, H5Screate(9));
    SHOW_ID(t, H5Screate_simple(2, dims, max));
    describe("simple", t);
    SHOW(H5Sextent_copy(s, t));
    describe("copied extent", s);
    SHOW(H5Sextent_equal(s, t));
    H5Sclose(s);
    SHOW_ID(s, H5Screate_simple(0, NULL, NULL));
    describe("rank zero", s);
    SHOW(H5Sset_extent_simple(s, 1, zero, NULL));
    describe("no elements", s);
    SHOW(H5Sset_extent_simple(s, 2, dims, bad));
    SHOW(H5Sset_extent_simple(s, 33, dims, NULL));
    SHOW(H5Sset_extent_simple(s, -1, dims, NULL));
    SHOW(H5Sset_extent_simple(s, 2, NULL, NULL));
    SHOW(H5Sset_extent_simple(s, 2, max, NULL));
    SHOW_ID(t, H5Screate_simple(2, dims, bad));
    SHOW_ID(t, H5Screate_simple(2, max, NULL));
    SHOW_ID(t, H5Screate_simple(40, dims, NULL));
    SHOW(H5Sclose(t));
    SHOW(H5Sclose(H5T_NATIVE_INT));
    H5Sclose(s);
}

static hid_t make(void)
{
    hsize_t dims[2] = {10, 12};
    return H5Screate_simple(2, dims, NULL);
}

static void hyperslabs(void)
{
    hsize_t start[2] = {1, 2}, stride[2] = {3, 4}, count[2] = {3, 2}, block[2] = {2, 4}, one[2] = {1, 1}, big[2] = {20, 1};
    hid_t   s = make();
    SHOW(H5Sget_select_hyper_nblocks(s));
    SHOW(H5Sget_select_elem_npoints(s));
    SHOW(H5Sis_regular_hyperslab(s));
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block));
    describe("regular", s);
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, count, NULL));
    describe("count alone", s);
    hsize_t w[2] = {3, 7}, wc[2] = {4, 3};
    for (int op = H5S_SELECT_OR; op <= H5S_SELECT_PREPEND; op++) {
        SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block));
        SHOW(H5Sselect_hyperslab(s, op, w, NULL, wc, NULL));
        describe("combined", s);
    }
    SHOW(H5Sselect_hyperslab(s, -1, w, NULL, wc, NULL));
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, NULL, NULL, wc, NULL));
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, w, NULL, NULL, NULL));
    hsize_t zero[2] = {0, 1};
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, zero, count, NULL));
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, one, count, block));
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, zero, NULL));
    describe("zero count", s);
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_OR, start, NULL, count, NULL));
    describe("none or", s);
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, big, NULL));
    describe("beyond", s);
    SHOW(H5Sselect_all(s));
    for (int op = H5S_SELECT_OR; op <= H5S_SELECT_NOTA; op++) {
        SHOW(H5Sselect_all(s));
        SHOW(H5Sselect_hyperslab(s, op, w, NULL, wc, NULL));
        describe("all combined", s);
        SHOW(H5Sselect_none(s));
        SHOW(H5Sselect_hyperslab(s, op, w, NULL, wc, NULL));
        describe("none combined", s);
    }
    H5Sclose(s);
    /* Blocks that grow into a regular hyperslab. */
    s = make();
    hsize_t a[2] = {0, 0}, b[2] = {0, 6}, c[2] = {2, 3};
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, a, NULL, c, NULL));
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_OR, b, NULL, c, NULL));
    describe("two blocks", s);
    hsize_t f[2] = {5, 1};
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_OR, f, NULL, one, NULL));
    describe("three blocks", s);
    hssize_t by[2] = {2, 1}, back[2] = {-1, 0}, far[2] = {100, 0};
    SHOW(H5Soffset_simple(s, by));
    describe("with offset", s);
    SHOW(H5Soffset_simple(s, NULL));
    SHOW(H5Sselect_adjust(s, back));
    describe("adjusted", s);
    SHOW(H5Sselect_adjust(s, far));
    SHOW(H5Soffset_simple(s, far));
    describe("far", s);
    H5Sclose(s);
}

static void unlimited(void)
{
    hsize_t dims[2] = {10, 12}, max[2] = {H5S_UNLIMITED, 12};
    hid_t   s        = H5Screate_simple(2, dims, max);
    hsize_t start[2] = {1, 2}, stride[2] = {3, 1}, count[2] = {H5S_UNLIMITED, 1}, block[2] = {2, 4};
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block));
    describe("unlimited", s);
    hsize_t whole[2] = {1, 1}, endless[2] = {H5S_UNLIMITED, 4};
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, whole, endless));
    describe("unlimited block", s);
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, endless));
    H5Sclose(s);
}

static void points(void)
{
    hsize_t p[8] = {1, 2, 9, 11, 0, 0, 0, 1}, q[2] = {3, 3}, out[2] = {10, 0};
    hid_t   s    = make();
    SHOW(H5Sselect_elements(s, H5S_SELECT_SET, 4, p));
    describe("points", s);
    SHOW(H5Sselect_elements(s, H5S_SELECT_APPEND, 1, q));
    describe("appended", s);
    SHOW(H5Sselect_elements(s, H5S_SELECT_PREPEND, 1, q));
    describe("prepended", s);
    SHOW(H5Sselect_elements(s, H5S_SELECT_OR, 1, q));
    SHOW(H5Sselect_elements(s, H5S_SELECT_SET, 0, q));
    SHOW(H5Sselect_elements(s, H5S_SELECT_SET, 1, NULL));
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_OR, q, NULL, q, NULL));
    SHOW(H5Sselect_hyperslab(s, H5S_SELECT_AND, q, NULL, q, NULL));
    SHOW(H5Sselect_elements(s, H5S_SELECT_SET, 1, out));
    hsize_t into[40];
    SHOW(H5Sget_select_elem_pointlist(s, 0, 2, into));
    SHOW(H5Sget_select_elem_pointlist(s, 1, 1, into));
    SHOW(H5Sget_select_hyper_blocklist(s, 0, 1, into));
    hid_t scalar = H5Screate(H5S_SCALAR);
    SHOW(H5Sselect_elements(scalar, H5S_SELECT_SET, 1, q));
    SHOW(H5Sselect_hyperslab(scalar, H5S_SELECT_SET, q, NULL, q, NULL));
    SHOW(H5Soffset_simple(scalar, NULL));
    SHOW(H5Sselect_none(scalar));
    describe("none of scalar", scalar);
    H5Sclose(scalar);
    hid_t it;
    SHOW(H5Sselect_elements(s, H5S_SELECT_SET, 4, p));
    SHOW_ID(it, H5Ssel_iter_create(s, 8, H5S_SEL_ITER_GET_SEQ_LIST_SORTED));
    size_t  nseq, nelmts, len[9];
    hsize_t off[9];
    for (int round = 0; round < 3; round++) {
        SHOW(H5Ssel_iter_get_seq_list(it, 9, 9, &nseq, &nelmts, off, len));
        printf("%zu %zu\n", nseq, nelmts);
        for (size_t n = 0; n < nseq; n++)
            printf(" %lld:%zu", (long long)off[n], len[n]);
        printf("\n");
    }
    SHOW(H5Ssel_iter_reset(it, s));
    SHOW(H5Ssel_iter_get_seq_list(it, 1, 9, &nseq, &nelmts, off, len));
    printf("%zu %zu %lld:%zu\n", nseq, nelmts, (long long)off[0], len[0]);
    SHOW(H5Ssel_iter_get_seq_list(it, 1, 9, NULL, &nelmts, off, len));
    SHOW(H5Ssel_iter_close(it));
    SHOW(H5Ssel_iter_close(it));
    SHOW_ID(it, H5Ssel_iter_create(s, 0, 0));
    SHOW_ID(it, H5Ssel_iter_create(s, 4, 0x100));
    H5Sclose(s);
}

static void pairs(void)
{
    hid_t   a = make(), b = make(), c, d;
    hsize_t s1[2] = {0, 0}, c1[2] = {4, 6}, s2[2] = {2, 3}, c2[2] = {4, 6}, e1[2] = {3, 3}, e2[2] = {2, 11};
    H5Sselect_hyperslab(a, H5S_SELECT_SET, s1, NULL, c1, NULL);
    H5Sselect_hyperslab(b, H5S_SELECT_SET, s2, NULL, c2, NULL);
    for (int op = -1; op <= H5S_SELECT_INVALID; op++) {
        SHOW_ID(c, H5Scombine_select(a, op, b));
        if (c >= 0) {
            describe("combination", c);
            H5Sclose(c);
        }
        SHOW_ID(c, H5Scombine_hyperslab(a, op, s2, NULL, c2, NULL));
        if (c >= 0) {
            describe("with hyperslab", c);
            H5Sclose(c);
        }
    }
    SHOW(H5Sselect_shape_same(a, b));
    SHOW(H5Sselect_intersect_block(a, e1, e1));
    SHOW(H5Sselect_intersect_block(a, e2, e1));
    SHOW(H5Sselect_intersect_block(a, s2, c2));
    hsize_t far[2] = {8, 8}, farther[2] = {100, 100};
    SHOW(H5Sselect_intersect_block(a, far, farther));
    SHOW(H5Sselect_intersect_block(a, NULL, farther));
    c = make();
    SHOW(H5Scombine_select(a, H5S_SELECT_OR, c) < 0);
    SHOW(H5Smodify_select(a, H5S_SELECT_XOR, b));
    describe("modified", a);
    SHOW(H5Sselect_shape_same(a, b));
    SHOW(H5Sselect_copy(c, a));
    describe("copied selection", c);
    hsize_t line[1] = {24}, ls[1] = {0};
    H5Sclose(c);
    c = H5Screate_simple(1, line, NULL);
    SHOW(H5Smodify_select(c, H5S_SELECT_OR, a));
    H5Sclose(c);
    c = H5Screate_simple(1, line, NULL);
    H5Sselect_hyperslab(a, H5S_SELECT_SET, s1, NULL, c1, NULL);
    H5Sselect_hyperslab(c, H5S_SELECT_SET, ls, NULL, line, NULL);
    SHOW_ID(d, H5Sselect_project_intersection(a, c, b));
    describe("projection", d);
    H5Sclose(d);
    SHOW_ID(d, H5Sselect_project_intersection(a, b, b));
    describe("projection onto block", d);
    H5Sclose(d);
    hid_t all = make();
    SHOW_ID(d, H5Sselect_project_intersection(a, all, b));
    SHOW(H5Sselect_shape_same(a, all));
    H5Sclose(a); H5Sclose(b); H5Sclose(c); H5Sclose(all);
}

static void versions(void)
{
    hid_t   s = make(), fapl = H5Pcreate(H5P_FILE_ACCESS);
    hsize_t start[2] = {1, 2}, stride[2] = {3, 4}, count[2] = {3, 2}, block[2] = {1, 2}, p[2] = {3, 4};
    H5F_libver_t low[] = {H5F_LIBVER_V18, H5F_LIBVER_V110, H5F_LIBVER_V112, H5F_LIBVER_V114};
    for (int v = 0; v < 4; v++)
        for (int kind = 0; kind < 4; kind++) {
            unsigned char bytes[400];
            size_t        n = 0, room = sizeof bytes;
            H5Pset_libver_bounds(fapl, low[v], H5F_LIBVER_LATEST);
            H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block);
            if (kind == 1)
                H5Sselect_hyperslab(s, H5S_SELECT_OR, p, NULL, block, NULL);
            if (kind == 2)
                H5Sselect_elements(s, H5S_SELECT_SET, 1, p);
            if (kind == 3)
                H5Sselect_all(s);
            H5Sencode2(s, NULL, &n, fapl);
            printf("version %d kind %d: %d ", v, kind, H5Sencode2(s, bytes, &room, fapl));
            show_bytes("", bytes, n);
            printf("%zu\n", room);
        }
    SHOW(H5Sdecode(NULL) < 0);
    H5Pclose(fapl);
    H5Sclose(s);
}

int main(void)
{
    quiet();
    extents();
    hyperslabs();
    unlimited();
    points();
    pairs();
    versions();
    return 0;
}
#else
int main(void)
{
    printf("SKIPPED: this program needs the headers of HDF5 2\n");
    return 0;
}
#endif
