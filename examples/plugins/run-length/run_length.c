/* A filter as a plugin: runs of equal bytes become a count and a byte.
 *
 *   cc -shared -fPIC -O2 -I crates/plugin/include -o librun_length.so examples/plugins/run-length/run_length.c
 */
#include "hyperslab_connector.h"

/* Numbers from 256 to 511 are for filters that are not registered with the HDF Group. */
#define RUN_LENGTH 310u

static uint64_t run_at(const uint8_t *data, uint64_t length) {
    uint64_t run = 1;
    while (run < length && run < 255 && data[run] == data[0]) run++;
    return run;
}

static int32_t encode(hyperslab_bytes in, hyperslab_answer *answer) {
    uint64_t runs = 0;
    for (uint64_t at = 0; at < in.length; at += run_at(in.data + at, in.length - at)) runs++;
    if (2 * runs >= in.length) return hyperslab_fail(answer, HYPERSLAB_UNSUPPORTED, "encode runs", "it would not get shorter");
    uint8_t *out = answer->bulk(answer->self, 2 * runs);
    if (!out) return hyperslab_fail(answer, HYPERSLAB_LIMIT, "encode runs", "no memory");
    for (uint64_t at = 0, run; at < in.length; at += run) {
        run = run_at(in.data + at, in.length - at);
        *out++ = (uint8_t)run;
        *out++ = in.data[at];
    }
    return HYPERSLAB_OK;
}

static int32_t decode(hyperslab_bytes in, uint64_t bytes_max, hyperslab_answer *answer) {
    uint64_t length = 0;
    if (in.length % 2) return hyperslab_fail(answer, HYPERSLAB_CORRUPT, "decode runs", "half a run at the end");
    for (uint64_t at = 0; at < in.length; at += 2) length += in.data[at];
    if (length > bytes_max) return hyperslab_fail(answer, HYPERSLAB_LIMIT, "decode runs", "more bytes than allowed");
    uint8_t *out = answer->bulk(answer->self, length);
    if (!out) return hyperslab_fail(answer, HYPERSLAB_LIMIT, "decode runs", "no memory");
    for (uint64_t at = 0; at < in.length; at += 2) {
        memset(out, in.data[at + 1], in.data[at]);
        out += in.data[at];
    }
    return HYPERSLAB_OK;
}

static int32_t filter(void *self, const hyperslab_request *request, hyperslab_answer *answer) {
    (void)self;
    hyperslab_reader arguments = hyperslab_read(request->arguments);
    /* This filter has no client values. */
    for (uint32_t values = hyperslab_get_u32(&arguments); values && !arguments.failed; values--) hyperslab_get_u32(&arguments);
    hyperslab_get_u64(&arguments); /* bytes expected */
    uint64_t bytes_max = hyperslab_get_u64(&arguments);
    if (arguments.failed || request->bulk_count != 1)
        return hyperslab_fail(answer, HYPERSLAB_INVALID, "run filter", "arguments");
    switch (request->code) {
        case HYPERSLAB_ENCODE: return encode(request->bulk[0], answer);
        case HYPERSLAB_DECODE: return decode(request->bulk[0], bytes_max, answer);
        default: return hyperslab_fail(answer, HYPERSLAB_UNSUPPORTED, "run filter", "unknown code");
    }
}

static const hyperslab_table table = {
    .abi = HYPERSLAB_ABI,
    .size = sizeof(hyperslab_table),
    .wire = HYPERSLAB_WIRE,
    .kind = HYPERSLAB_KIND_FILTER,
    .value = RUN_LENGTH,
    .version = 1,
    .name = "run-length",
    .about = "runs of equal bytes",
    .filter = filter,
};

const hyperslab_table *hyperslab_connector_v1(void) { return &table; }
