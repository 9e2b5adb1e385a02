/* hyperslab_connector.h - connectors, layers, filters and drivers for Hyperslab, written in C.
 *
 * A plugin is a shared library with one symbol, hyperslab_connector_v1, that returns a table. The table says who the
 * plugin is and holds its functions. All of them, and all objects that they make, have one form: a request goes in,
 * an answer comes out. docs/plugins.md has the form of every request and answer; examples/plugins/count-calls is a
 * whole layer, examples/plugins/run-length a whole filter.
 *
 * Rules:
 *  - Every function may be called from any thread, and from many at once.
 *  - Everything in a request is lent until the call returns: bytes, buffers and objects. To keep an object, retain it.
 *  - Bytes and buffers of one request do not overlap. An answer is used by one thread at a time.
 *  - No memory changes hands. An answer is written into buffers that the answer makes (bytes, bulk).
 *  - A call returns HYPERSLAB_OK, or HYPERSLAB_FAILED with the error as the bytes of the answer (hyperslab_fail).
 *  - What a plugin cannot do answers HYPERSLAB_UNSUPPORTED; it never answers success instead.
 *  - Nothing may be thrown or jumped through a call.
 *  - A plugin is never unloaded.
 */
#ifndef HYPERSLAB_CONNECTOR_H
#define HYPERSLAB_CONNECTOR_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface, and of the bytes of requests and answers. */
#define HYPERSLAB_ABI 1u
#define HYPERSLAB_WIRE 6u

/* hyperslab_table.kind */
#define HYPERSLAB_KIND_CONNECTOR 1u
#define HYPERSLAB_KIND_LAYER 2u
#define HYPERSLAB_KIND_FILTER 3u
#define HYPERSLAB_KIND_DRIVER 4u

/* What a call returns. */
#define HYPERSLAB_OK 0
#define HYPERSLAB_FAILED 1

/* What went wrong. */
enum hyperslab_error_kind {
    HYPERSLAB_CORRUPT = 1,     /* stored bytes break the rules of their format */
    HYPERSLAB_LIMIT = 2,       /* a number is beyond what the caller allows */
    HYPERSLAB_UNSUPPORTED = 3, /* the plugin cannot do this */
    HYPERSLAB_NOT_FOUND = 4,   /* there is no such thing */
    HYPERSLAB_EXISTS = 5,      /* there is one already */
    HYPERSLAB_INVALID = 6,     /* the arguments make no sense */
    HYPERSLAB_IO = 7,          /* the system or the network said no */
    HYPERSLAB_DENIED = 8,      /* open read-only, or not allowed */
    HYPERSLAB_CONVERSION = 9,  /* a value does not fit its type */
    HYPERSLAB_BUSY = 10,       /* somebody else holds it */
    HYPERSLAB_CANCELLED = 11   /* it was cancelled */
};

/* hyperslab_table.capability: the sum of what containers can do. */
#define HYPERSLAB_CAN_WRITE (1ull << 0)
#define HYPERSLAB_CAN_HARD_LINKS (1ull << 1)
#define HYPERSLAB_CAN_SOFT_LINKS (1ull << 2)
#define HYPERSLAB_CAN_EXTERNAL_LINKS (1ull << 3)
#define HYPERSLAB_CAN_USER_LINKS (1ull << 4)
#define HYPERSLAB_CAN_CREATION_ORDER (1ull << 5)
#define HYPERSLAB_CAN_ATTRIBUTES (1ull << 6)
#define HYPERSLAB_CAN_COMMITTED_DATATYPES (1ull << 7)
#define HYPERSLAB_CAN_ANONYMOUS_OBJECTS (1ull << 8)
#define HYPERSLAB_CAN_MAPS (1ull << 9)
#define HYPERSLAB_CAN_VARIABLE_LENGTH (1ull << 10)
#define HYPERSLAB_CAN_OBJECT_REFERENCES (1ull << 11)
#define HYPERSLAB_CAN_REGION_REFERENCES (1ull << 12)
#define HYPERSLAB_CAN_ATTRIBUTE_REFERENCES (1ull << 13)
#define HYPERSLAB_CAN_RESIZE (1ull << 14)
#define HYPERSLAB_CAN_FILL_VALUES (1ull << 15)
#define HYPERSLAB_CAN_FILTERS (1ull << 16)
#define HYPERSLAB_CAN_RAW_CHUNKS (1ull << 17)
#define HYPERSLAB_CAN_EXTERNAL_DATA (1ull << 18)
#define HYPERSLAB_CAN_VIRTUAL_DATASETS (1ull << 19)
#define HYPERSLAB_CAN_OBJECT_COPY (1ull << 20)
#define HYPERSLAB_CAN_COMMENTS (1ull << 21)
#define HYPERSLAB_CAN_TIMES (1ull << 22)
#define HYPERSLAB_CAN_PERSISTENT (1ull << 23)
#define HYPERSLAB_CAN_REFRESH (1ull << 24)

/* Operations of a container: hyperslab_request.code. Numbers never change their meaning. */
#define HYPERSLAB_OPERATIONS(X) \
    X(info, 1) X(commit, 2) X(close, 3) X(optional, 4) \
    X(start_swmr, 5) X(storage_check, 6) X(storage_repair, 7) X(storage_show, 8) \
    X(retain, 16) X(release, 17) X(object_info, 18) X(object_copy, 19) X(object_set_comment, 20) \
    X(object_adjust_references, 21) X(object_kinds, 22) X(object_refresh, 23) \
    X(group_create, 32) X(group_info, 33) X(link_create, 34) X(link_get, 35) X(link_list, 36) X(link_delete, 37) \
    X(link_move, 38) X(lookup, 39) \
    X(attribute_create, 48) X(attribute_info, 49) X(attribute_list, 50) X(attribute_read, 51) \
    X(attribute_write, 52) X(attribute_delete, 53) X(attribute_rename, 54) \
    X(dataset_create, 64) X(dataset_info, 65) X(dataset_storage, 66) X(dataset_read, 67) X(dataset_write, 68) \
    X(dataset_resize, 69) X(chunk_list, 70) X(chunk_read, 71) X(chunk_write, 72) \
    X(elements_find, 73) X(elements_place, 74) X(elements_changed, 75) \
    X(stored_blocks, 76) X(chunk_cache_info, 77) X(chunk_cache_set, 78) \
    X(datatype_commit, 80) X(datatype_get, 81) \
    X(map_create, 96) X(map_info, 97) X(map_put, 98) X(map_get, 99) X(map_keys, 100) X(map_delete, 101) \
    X(blob_put, 112) X(blob_get, 113) X(blob_delete, 114) X(reference_get, 115) X(reference_put, 116) \
    X(blob_pin, 117) X(blob_unpin, 118)

#define HYPERSLAB_OPERATION_CODE(name, number) HYPERSLAB_OP_##name = number,
enum hyperslab_operation { HYPERSLAB_OPERATIONS(HYPERSLAB_OPERATION_CODE) HYPERSLAB_OP_LIMIT = 128 };

/* Codes of requests to a connector or layer, whose functions each have their own place in the table as well. */
enum hyperslab_connector_code {
    HYPERSLAB_CREATE = 1,
    HYPERSLAB_OPEN = 2,
    HYPERSLAB_REMOVE = 3,
    HYPERSLAB_IS_ACCESSIBLE = 4,
    HYPERSLAB_WRAP = 5
};

/* Codes of requests to a filter. Arguments: list of u32 (client values), u64 bytes expected, u64 bytes allowed; one byte
 * string: the input. Answer: one or more byte strings, which are the output one after another. An encoder that gains
 * nothing fails with HYPERSLAB_UNSUPPORTED: where the filter is optional, the chunk is stored without it. */
enum hyperslab_filter_code { HYPERSLAB_ENCODE = 1, HYPERSLAB_DECODE = 2 };

/* Codes of requests to a driver. Arguments: text (path), list of (text, text) (parameters), bool. Create: the bool says
 * whether a file may be there, which is opened with its content; answer: bool (there was none), object. Open: whether it
 * is opened for writing; answer: object. A driver that cannot say whether it could create something answers
 * HYPERSLAB_CHECK_CREATE with success. */
enum hyperslab_driver_code {
    HYPERSLAB_DRIVER_CREATE = 1,
    HYPERSLAB_DRIVER_OPEN = 2,
    HYPERSLAB_DRIVER_DELETE = 3,
    HYPERSLAB_DRIVER_CHECK_CREATE = 4
};

/* Codes of requests to a file of a driver. Read: u64 offset, one buffer; fails with HYPERSLAB_CORRUPT if the file ends
 * before. Write: u64 offset, one byte string. Len: answer u64. Set_len: u64. Sync: u8, 0 for data, 1 for all. Lock: u8, 0
 * shared, 1 exclusive, 2 none; fails with HYPERSLAB_BUSY at once. Identity: answer (u64, u64)?, the same for two handles
 * of one file. */
enum hyperslab_file_code {
    HYPERSLAB_FILE_READ_AT = 1,
    HYPERSLAB_FILE_WRITE_AT = 2,
    HYPERSLAB_FILE_LEN = 3,
    HYPERSLAB_FILE_SET_LEN = 4,
    HYPERSLAB_FILE_SYNC = 5,
    HYPERSLAB_FILE_LOCK = 6,
    HYPERSLAB_FILE_IDENTITY = 7
};

/* Codes of requests to hyperslab_request.resolver; each answers with an object. */
enum hyperslab_resolver_code {
    HYPERSLAB_RESOLVE_CONTAINER = 1,
    HYPERSLAB_RESOLVE_CONTAINER_FOR_WRITING = 2,
    HYPERSLAB_RESOLVE_BYTES = 3
};

/* Codes of requests to a file that a resolver found. */
enum hyperslab_raw_code { HYPERSLAB_READ_AT = 1, HYPERSLAB_WRITE_AT = 2 };

/* Codes of requests to hyperslab_request.registry. */
enum hyperslab_registry_code {
    HYPERSLAB_CONNECTORS = 1,
    HYPERSLAB_LAYERS = 2,
    HYPERSLAB_CONNECTOR = 3,
    HYPERSLAB_LAYER = 4
};

/* Bytes to read. Where length is 0, data has no meaning. */
typedef struct hyperslab_bytes {
    const uint8_t *data;
    uint64_t length;
} hyperslab_bytes;

/* Bytes to write. Where length is 0, data has no meaning. */
typedef struct hyperslab_buffer {
    uint8_t *data;
    uint64_t length;
} hyperslab_buffer;

typedef struct hyperslab_request hyperslab_request;
typedef struct hyperslab_answer hyperslab_answer;
typedef int32_t (*hyperslab_call)(void *self, const hyperslab_request *request, hyperslab_answer *answer);

/* Something that answers requests: a container, a resolver, a file, a registry, a connector. */
typedef struct hyperslab_object {
    void *self;
    hyperslab_call call;
    void (*retain)(void *self);  /* one holder more */
    void (*release)(void *self); /* one holder less; after the last nobody calls it */
} hyperslab_object;

struct hyperslab_request {
    uint32_t size;                    /* of this structure */
    uint32_t code;                    /* what is asked */
    hyperslab_bytes arguments;        /* values, in the form that docs/plugins.md describes */
    const hyperslab_bytes *bulk;      /* byte strings: elements, values, keys, chunks, blobs */
    uint64_t bulk_count;
    const hyperslab_buffer *into;       /* buffers for elements that are read */
    uint64_t into_count;
    const hyperslab_object *inner;    /* wrap: the inner container */
    const hyperslab_object *resolver; /* create, open, wrap: the way to other files; NULL where there is none */
    const hyperslab_object *registry; /* create, open, wrap: other connectors; may be NULL */
};

struct hyperslab_answer {
    void *self;
    uint8_t *(*bytes)(void *self, uint64_t length); /* buffer for the next values, until the next call of it */
    uint8_t *(*bulk)(void *self, uint64_t length);  /* buffer for the next byte string, until the call returns */
    hyperslab_object object;                        /* create, open, wrap: the container, with one holder counted */
};

/* What hyperslab_connector_v1 returns. It stays unchanged for the rest of the process. */
typedef struct hyperslab_table {
    uint32_t abi;        /* HYPERSLAB_ABI */
    uint32_t size;       /* sizeof(hyperslab_table) */
    uint32_t wire;       /* HYPERSLAB_WIRE */
    uint32_t kind;       /* HYPERSLAB_KIND_... */
    uint32_t value;      /* unique number, as registered with the HDF Group; 256 to 511 are for experiments. Of a filter:
                          * its number in files */
    uint32_t version;    /* of the plugin */
    uint64_t capability; /* HYPERSLAB_CAN_... ; a layer leaves it 0 */
    const char *name;    /* unique: two or more of a-z, 0-9, - and _, a letter first */
    const char *about;   /* one line for people */
    void *self;          /* what the functions are given */
    /* A connector has the first four, a layer the fifth, a filter the sixth, a driver the last. NULL: unsupported. */
    hyperslab_call create;        /* arguments: open request; answer: object */
    hyperslab_call open;          /* arguments: open request; answer: object */
    hyperslab_call remove;        /* arguments: text (path) */
    hyperslab_call is_accessible; /* arguments: text (path), access; answer: bool */
    hyperslab_call wrap;          /* arguments: wrap request; inner; answer: object */
    hyperslab_call filter;        /* hyperslab_filter_code */
    hyperslab_call driver;        /* hyperslab_driver_code */
} hyperslab_table;

#if defined(_WIN32)
#define HYPERSLAB_EXPORT __declspec(dllexport)
#else
#define HYPERSLAB_EXPORT __attribute__((visibility("default")))
#endif

/* What a plugin defines. */
HYPERSLAB_EXPORT const hyperslab_table *hyperslab_connector_v1(void);

/* ---- reading: every function checks the bytes that are there; after the first lack, all is zero ---- */

typedef struct hyperslab_reader {
    const uint8_t *at;
    uint64_t left;
    int failed;
} hyperslab_reader;

static inline hyperslab_reader hyperslab_read(hyperslab_bytes bytes) {
    hyperslab_reader reader = {bytes.data, bytes.length, 0};
    return reader;
}

/* The next bytes where they are, or NULL. */
static inline const uint8_t *hyperslab_get(hyperslab_reader *reader, uint64_t length) {
    const uint8_t *at = reader->at;
    if (reader->failed || length > reader->left) {
        reader->failed = 1;
        return NULL;
    }
    reader->at += length;
    reader->left -= length;
    return at;
}

static inline uint64_t hyperslab_get_number(hyperslab_reader *reader, unsigned bytes) {
    const uint8_t *at = hyperslab_get(reader, bytes);
    uint64_t number = 0;
    while (at && bytes--) number = number << 8 | at[bytes];
    return number;
}

static inline uint8_t hyperslab_get_u8(hyperslab_reader *reader) { return (uint8_t)hyperslab_get_number(reader, 1); }
static inline uint16_t hyperslab_get_u16(hyperslab_reader *reader) { return (uint16_t)hyperslab_get_number(reader, 2); }
static inline uint32_t hyperslab_get_u32(hyperslab_reader *reader) { return (uint32_t)hyperslab_get_number(reader, 4); }
static inline uint64_t hyperslab_get_u64(hyperslab_reader *reader) { return hyperslab_get_number(reader, 8); }

/* Text, not ended by a NUL; also any list of single bytes. */
static inline hyperslab_bytes hyperslab_get_text(hyperslab_reader *reader) {
    hyperslab_bytes text = {NULL, hyperslab_get_u32(reader)};
    text.data = hyperslab_get(reader, text.length);
    if (!text.data) text.length = 0;
    return text;
}

static inline int hyperslab_is(hyperslab_bytes text, const char *word) {
    return text.length == strlen(word) && (text.length == 0 || memcmp(text.data, word, (size_t)text.length) == 0);
}

/* ---- writing: into the bytes of an answer; 0 where there is no memory ---- */

static inline int hyperslab_put(hyperslab_answer *answer, const void *data, uint64_t length) {
    uint8_t *buffer = answer->bytes(answer->self, length);
    if (!buffer) return 0;
    if (length) memcpy(buffer, data, (size_t)length);
    return 1;
}

static inline int hyperslab_put_number(hyperslab_answer *answer, uint64_t number, unsigned bytes) {
    uint8_t *buffer = answer->bytes(answer->self, bytes);
    if (!buffer) return 0;
    for (unsigned n = 0; n < bytes; n++) buffer[n] = (uint8_t)(number >> 8 * n);
    return 1;
}

static inline int hyperslab_put_u8(hyperslab_answer *answer, uint8_t n) { return hyperslab_put_number(answer, n, 1); }
static inline int hyperslab_put_u16(hyperslab_answer *answer, uint16_t n) { return hyperslab_put_number(answer, n, 2); }
static inline int hyperslab_put_u32(hyperslab_answer *answer, uint32_t n) { return hyperslab_put_number(answer, n, 4); }
static inline int hyperslab_put_u64(hyperslab_answer *answer, uint64_t n) { return hyperslab_put_number(answer, n, 8); }

static inline int hyperslab_put_text(hyperslab_answer *answer, const char *text) {
    return hyperslab_put_u32(answer, (uint32_t)strlen(text)) && hyperslab_put(answer, text, strlen(text));
}

/* One byte string next to the values. */
static inline int hyperslab_put_bulk(hyperslab_answer *answer, const void *data, uint64_t length) {
    uint8_t *buffer = answer->bulk(answer->self, length);
    if (!buffer) return 0;
    if (length) memcpy(buffer, data, (size_t)length);
    return 1;
}

/* The error that a call ends with: return hyperslab_fail(...), before anything else is put into the answer.
 * operation says what was being done, problem (may be NULL) what was wrong. */
static inline int32_t hyperslab_fail(
    hyperslab_answer *answer, enum hyperslab_error_kind kind, const char *operation, const char *problem) {
    hyperslab_put_u32(answer, 1); /* one error, without causes */
    hyperslab_put_u8(answer, (uint8_t)kind);
    hyperslab_put_text(answer, operation);
    hyperslab_put_u8(answer, 0); /* no address */
    hyperslab_put_u32(answer, problem ? 1 : 0);
    if (problem) {
        hyperslab_put_text(answer, "problem");
        hyperslab_put_text(answer, problem);
    }
    return HYPERSLAB_FAILED;
}

/* The name of an operation, or NULL. */
static inline const char *hyperslab_operation_name(uint32_t code) {
#define HYPERSLAB_OPERATION_NAME(name, number) case number: return #name;
    switch (code) {
        HYPERSLAB_OPERATIONS(HYPERSLAB_OPERATION_NAME)
        default: return NULL;
    }
#undef HYPERSLAB_OPERATION_NAME
}

#ifdef __cplusplus
}
#endif
#endif
