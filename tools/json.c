/* SPDX-License-Identifier: Apache-2.0 */
/* Every failure of jansson that is left here is lack of memory, which is fatal in the tools. */
#include "tools/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arena.h"
#include "tools/text_table.h"

static json_t *need(json_t *value) {
    if (!value)
        ipex_die_memory();
    return value;
}

json_t *ipex_json_object(void) {
    return need(json_object());
}

json_t *ipex_json_array(void) {
    return need(json_array());
}

void ipex_json_set(json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, value))
        ipex_die_memory();
}

void ipex_json_append(json_t *array, json_t *value) {
    if (json_array_append_new(array, value))
        ipex_die_memory();
}

static json_t *make_text(const char *text) {
    json_t *value = json_string(text);
    if (value)
        return value;
    char *ascii = ipex_alloc(strlen(text) + 1);
    strcpy(ascii, text);
    ipex_make_ascii(ascii);
    value = need(json_string(ascii));
    free(ascii);
    return value;
}

void ipex_json_set_text(json_t *object, const char *key, const char *text) {
    ipex_json_set(object, key, text ? make_text(text) : json_null());
}

void ipex_json_append_text(json_t *array, const char *text) {
    ipex_json_append(array, make_text(text));
}

static json_t *make_real(double value) {
    return isfinite(value) ? need(json_real(value)) : json_null();
}

void ipex_json_append_real(json_t *array, double value) {
    ipex_json_append(array, make_real(value));
}

void ipex_json_set_integer(json_t *object, const char *key, long long value) {
    ipex_json_set(object, key, need(json_integer(value)));
}

void ipex_json_set_real(json_t *object, const char *key, double value) {
    ipex_json_set(object, key, make_real(value));
}

void ipex_json_set_bool(json_t *object, const char *key, int value) {
    ipex_json_set(object, key, json_boolean(value));
}

void ipex_json_set_dims(json_t *object, const char *key, const int64_t *dims, int32_t rank) {
    json_t *array = ipex_json_array();
    for (int32_t i = 0; i < rank; i++)
        ipex_json_append(array, need(json_integer(dims[i])));
    ipex_json_set(object, key, array);
}

#define DIGITS JSON_REAL_PRECISION(9) /* tell every f32 apart */

void ipex_json_print(const json_t *object) {
    json_dumpf(object, stdout, JSON_INDENT(2) | DIGITS);
    putchar('\n');
}

void ipex_json_finish(json_t *object) {
    ipex_json_print(object);
    json_decref(object);
}

char *ipex_json_text(const json_t *object) {
    char *text = json_dumps(object, JSON_COMPACT | DIGITS);
    if (!text)
        ipex_die_memory();
    return text;
}
