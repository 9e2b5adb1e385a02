/* Prints what a call returns, and how it fails: two libraries agree if their output does. */
#ifndef SHOW_H
#define SHOW_H
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The error that the called function itself recorded: programs decide by it. */
static herr_t outermost(unsigned n, const H5E_error2_t *error, void *data)
{
    char *text = data;
    char  major[128] = "", minor[128] = "";
    (void)n;
    H5Eget_msg(error->maj_num, NULL, major, sizeof major);
    H5Eget_msg(error->min_num, NULL, minor, sizeof minor);
    snprintf(text, 300, "%s / %s", major, minor);
    return 0;
}

static void show(const char *call, long long value)
{
    char text[300] = "";
    if (value < 0) {
        hid_t stack = H5Eget_current_stack();
        H5Ewalk2(stack, H5E_WALK_UPWARD, outermost, text);
        H5Eclose_stack(stack);
    }
    printf("%s = %lld%s%s\n", call, value, *text ? "  " : "", text);
}

/* A number. */
#define SHOW(call) show(#call, (long long)(call))
/* An identifier: only whether it is one. */
#define SHOW_ID(into, call)                                                                                  \
    do {                                                                                                     \
        into = (call);                                                                                       \
        show(#call, into < 0 ? -1 : 0);                                                                      \
    } while (0)

__attribute__((unused)) static void show_text(const char *call, char *text)
{
    printf("%s = %s\n", call, text ? text : "(null)");
    H5free_memory(text);
}
#define SHOW_TEXT(call) show_text(#call, call)

__attribute__((unused)) static void show_bytes(const char *name, const void *bytes, size_t count)
{
    printf("%s =", name);
    for (size_t i = 0; i < count; i++)
        printf(" %02x", ((const unsigned char *)bytes)[i]);
    printf("\n");
}

static void quiet(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}
#endif
