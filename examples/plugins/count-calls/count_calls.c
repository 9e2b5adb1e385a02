/* A layer that changes nothing and counts calls.
 *
 *     cc -shared -fPIC -O2 -I crates/plugin/include -o libcount_calls.so examples/plugins/count-calls/count_calls.c
 *
 * optional("count-calls") answers one line for each operation that was called: its name and how often.
 */
#include "hyperslab_connector.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct counted {
    atomic_uint holders;
    hyperslab_object inner;
    atomic_uint_least64_t calls[HYPERSLAB_OP_LIMIT];
} counted;

/* All lines fit: the longest name has 24 letters, a number 20 digits. */
enum { TEXT_MAX = HYPERSLAB_OP_LIMIT * 48 };

static int32_t tell(counted *self, hyperslab_answer *answer) {
    char text[TEXT_MAX];
    size_t length = 0;
    for (uint32_t code = 0; code < HYPERSLAB_OP_LIMIT; code++) {
        unsigned long long calls = atomic_load(&self->calls[code]);
        const char *name = hyperslab_operation_name(code);
        if (name && calls)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s %llu\n", name, calls);
    }
    if (!hyperslab_put_bulk(answer, text, length))
        return hyperslab_fail(answer, HYPERSLAB_LIMIT, "tell counts", "no memory");
    return HYPERSLAB_OK;
}

static int asks_for_counts(const hyperslab_request *request) {
    hyperslab_reader arguments = hyperslab_read(request->arguments);
    return request->code == HYPERSLAB_OP_optional && hyperslab_is(hyperslab_get_text(&arguments), "count-calls");
}

static int32_t call(void *opaque, const hyperslab_request *request, hyperslab_answer *answer) {
    counted *self = opaque;
    if (asks_for_counts(request)) return tell(self, answer);
    if (request->code < HYPERSLAB_OP_LIMIT) atomic_fetch_add(&self->calls[request->code], 1);
    return self->inner.call(self->inner.self, request, answer);
}

static void retain(void *opaque) { atomic_fetch_add(&((counted *)opaque)->holders, 1); }

static void release(void *opaque) {
    counted *self = opaque;
    if (atomic_fetch_sub(&self->holders, 1) > 1) return;
    self->inner.release(self->inner.self);
    free(self);
}

/* Arguments: location (text), parameters (a list), and more that is of no interest here. */
static int32_t wrap(void *unused, const hyperslab_request *request, hyperslab_answer *answer) {
    (void)unused;
    hyperslab_reader arguments = hyperslab_read(request->arguments);
    hyperslab_get_text(&arguments);
    uint32_t parameters = hyperslab_get_u32(&arguments);
    if (arguments.failed || !request->inner)
        return hyperslab_fail(answer, HYPERSLAB_CORRUPT, "wrap", "the request is short");
    if (parameters)
        return hyperslab_fail(answer, HYPERSLAB_INVALID, "wrap", "count-calls has no parameters");
    counted *self = calloc(1, sizeof *self);
    if (!self) return hyperslab_fail(answer, HYPERSLAB_LIMIT, "wrap", "no memory");
    atomic_init(&self->holders, 1);
    self->inner = *request->inner;
    self->inner.retain(self->inner.self);
    answer->object = (hyperslab_object){self, call, retain, release};
    return HYPERSLAB_OK;
}

const hyperslab_table *hyperslab_connector_v1(void) {
    static const hyperslab_table table = {
        .abi = HYPERSLAB_ABI,
        .size = sizeof(hyperslab_table),
        .wire = HYPERSLAB_WIRE,
        .kind = HYPERSLAB_KIND_LAYER,
        .value = 402,
        .version = 1,
        .name = "count-calls",
        .about = "counts calls, and tells how many through optional(\"count-calls\")",
        .wrap = wrap,
    };
    return &table;
}
