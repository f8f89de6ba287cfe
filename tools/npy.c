/* SPDX-License-Identifier: Apache-2.0 */
/* "\x93NUMPY", version, length, then a Python dictionary literal of exactly three keys, which a
 * small strict parser reads:
 * {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } */
#include "tools/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC      "\x93NUMPY"
#define MAGIC_SIZE 6

/* Element types: '|' is used for single bytes, '<' for little-endian. */
static const struct {
    char descr[4];
    enum ipex_dtype dtype;
} types[] = {
    {"<f4", IPEX_DTYPE_f32},  {"<f2", IPEX_DTYPE_f16}, {"|i1", IPEX_DTYPE_i8},
    {"|u1", IPEX_DTYPE_u8},   {"<i4", IPEX_DTYPE_i32}, {"<i8", IPEX_DTYPE_i64},
    {"|b1", IPEX_DTYPE_bool}, {"<f8", IPEX_DTYPE_f64},
};

#define TYPES (sizeof types / sizeof *types)

bool ipex_npy_is(const void *bytes, uint64_t size) {
    return size >= MAGIC_SIZE && !memcmp(bytes, MAGIC, MAGIC_SIZE);
}

struct text {
    const char *at, *end;
};

static void skip_space(struct text *text) {
    while (text->at < text->end && strchr(" \t\n", *text->at) && *text->at)
        text->at++;
}

static bool take(struct text *text, char what) {
    skip_space(text);
    if (text->at == text->end || *text->at != what)
        return false;
    text->at++;
    return true;
}

static bool take_word(struct text *text, const char *word) {
    size_t length = strlen(word);
    skip_space(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length))
        return false;
    text->at += length;
    return true;
}

/* A quoted string without escapes, cut to size - 1 bytes. */
static bool take_string(struct text *text, char *ret, size_t size) {
    skip_space(text);
    if (text->at == text->end || (*text->at != '\'' && *text->at != '"'))
        return false;
    char quote = *text->at++;
    const char *start = text->at;
    while (text->at < text->end && *text->at != quote && *text->at != '\\')
        text->at++;
    if (text->at == text->end || *text->at != quote)
        return false;
    size_t length = (size_t)(text->at++ - start);
    snprintf(ret, size, "%.*s", (int)(length < size ? length : size - 1), start);
    return true;
}

static bool take_dim(struct text *text, int64_t *ret) {
    skip_space(text);
    int64_t value = 0;
    const char *start = text->at;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        value = value * 10 + (*text->at - '0');
        if (value > IPEX_MAX_DIM)
            return false;
    }
    *ret = value;
    bool any = text->at > start;
    if (any && text->at < text->end && *text->at == 'L') /* written by Python 2 */
        text->at++;
    return any;
}

/* "(2, 3)", "(3,)", "()" */
static bool take_shape(struct text *text, struct ipex_npy *ret) {
    if (!take(text, '('))
        return false;
    ret->rank = 0;
    while (!take(text, ')')) {
        if (ret->rank == IPEX_MAX_RANK || !take_dim(text, &ret->dims[ret->rank++]))
            return false;
        if (!take(text, ',')) {
            if (ret->rank == 1) /* "(3)" is a number, not a tuple */
                return false;
            return take(text, ')');
        }
    }
    return true;
}

struct header {
    char descr[16];
    bool descr_seen, order_seen, shape_seen;
};

static bool take_entry(struct text *text, struct header *header, struct ipex_npy *ret) {
    char key[16];
    if (!take_string(text, key, sizeof key) || !take(text, ':'))
        return false;
    if (!strcmp(key, "descr"))
        return header->descr_seen = take_string(text, header->descr, sizeof header->descr);
    if (!strcmp(key, "shape"))
        return header->shape_seen = take_shape(text, ret);
    if (strcmp(key, "fortran_order"))
        return false;
    ret->fortran_order = take_word(text, "True");
    return header->order_seen = ret->fortran_order || take_word(text, "False");
}

static bool take_dictionary(struct text *text, struct header *header, struct ipex_npy *ret) {
    if (!take(text, '{'))
        return false;
    while (!take(text, '}')) {
        if (!take_entry(text, header, ret))
            return false;
        if (!take(text, ',')) {
            if (!take(text, '}'))
                return false;
            break;
        }
    }
    skip_space(text);
    return text->at == text->end && header->descr_seen && header->order_seen && header->shape_seen;
}

static enum ipex_status find_type(const char *descr, enum ipex_dtype *ret,
                                  const struct ipex_report *report) {
    for (size_t i = 0; i < TYPES; i++)
        if (!strcmp(descr, types[i].descr)) {
            *ret = types[i].dtype;
            return IPEX_OK;
        }
    IPEX_CHECK(descr[0] != '>', report, IPEX_ERROR_DTYPE,
               "elements are big-endian ('%s'): save a.astype(a.dtype.newbyteorder('<'))", descr);
    return ipex_fail(report, IPEX_ERROR_DTYPE,
                     "element type '%s' is not supported (float16 float32 float64 int8 uint8 int32 "
                     "int64 bool are)",
                     descr);
}

/* Where the dictionary lies. */
static enum ipex_status find_header(const uint8_t *bytes, uint64_t size, struct text *ret,
                                    const struct ipex_report *report) {
    IPEX_CHECK(ipex_npy_is(bytes, size), report, IPEX_ERROR_FILE_METADATA, "not an .npy file");
    IPEX_CHECK(size >= MAGIC_SIZE + 4, report, IPEX_ERROR_FILE_TRUNCATED, "the header is cut off");
    uint8_t major = bytes[MAGIC_SIZE];
    IPEX_CHECK(major >= 1 && major <= 3, report, IPEX_ERROR_FILE_METADATA,
               ".npy version %u is not supported", (unsigned)major);
    uint64_t start = major == 1 ? 10 : 12, length = 0;
    IPEX_CHECK(size >= start, report, IPEX_ERROR_FILE_TRUNCATED, "the header is cut off");
    memcpy(&length, bytes + MAGIC_SIZE + 2, major == 1 ? 2 : 4);
    IPEX_CHECK(ipex_range_ok(start, length, size), report, IPEX_ERROR_FILE_TRUNCATED,
               "the header is cut off");
    *ret = (struct text){(const char *)bytes + start, (const char *)bytes + start + length};
    return IPEX_OK;
}

enum ipex_status ipex_npy_parse(const void *bytes, uint64_t size, struct ipex_npy *ret,
                                const struct ipex_report *report) {
    struct text text = {0};
    struct header header = {0};
    struct ipex_npy npy = {0};
    int64_t numel;
    IPEX_TRY(find_header(bytes, size, &text, report));
    npy.data_offset = (uint64_t)((const uint8_t *)text.end - (const uint8_t *)bytes);
    IPEX_CHECK(take_dictionary(&text, &header, &npy), report, IPEX_ERROR_FILE_METADATA,
               "byte %llu: the header is not as expected (a dictionary of descr, fortran_order and "
               "a shape of at most %d dimensions)",
               (unsigned long long)(text.at - (const char *)bytes), IPEX_MAX_RANK);
    IPEX_TRY(find_type(header.descr, &npy.dtype, report));
    IPEX_CHECK(ipex_numel(npy.dims, (unsigned)npy.rank, &numel), report, IPEX_ERROR_SHAPE,
               "the array is too large");
    npy.data_size = (uint64_t)numel * ipex_dtype_size(npy.dtype); /* numel <= 2^40 */
    IPEX_CHECK(npy.data_size <= size - npy.data_offset, report, IPEX_ERROR_FILE_TRUNCATED,
               "the shape needs %llu bytes of elements, the file has %llu",
               (unsigned long long)npy.data_size, (unsigned long long)(size - npy.data_offset));
    *ret = npy;
    return IPEX_OK;
}

size_t ipex_npy_format(enum ipex_dtype dtype, const int64_t *dims, int32_t rank,
                       char ret[IPEX_NPY_HEADER_MAX]) {
    const char *descr = NULL;
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype)
            descr = types[i].descr;
    if (!descr)
        return 0;
    /* at most 80 fixed characters and 8 dims of up to 12 */
    size_t length = 10;
    length += (size_t)snprintf(ret + length, IPEX_NPY_HEADER_MAX - length,
                               "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int32_t i = 0; i < rank; i++)
        length +=
            (size_t)snprintf(ret + length, IPEX_NPY_HEADER_MAX - length, "%" PRId64 "%s", dims[i],
                             i + 1 < rank ? ", "
                             : rank == 1  ? ","
                                          : "");
    length += (size_t)snprintf(ret + length, IPEX_NPY_HEADER_MAX - length, "), }");
    size_t whole = (length + 1 + 63) & ~(size_t)63;
    memset(ret + length, ' ', whole - length - 1);
    ret[whole - 1] = '\n';
    memcpy(ret, MAGIC "\x01\x00", 8);
    uint16_t dictionary = (uint16_t)(whole - 10);
    memcpy(ret + 8, &dictionary, sizeof dictionary);
    return whole;
}
