/* SPDX-License-Identifier: Apache-2.0 */
/* Thin helpers over jansson for `--json`: one object on stdout. They differ from jansson's own
 * constructors in never giving NULL: text that is not UTF-8 and numbers that JSON does not have
 * (NaN, infinity) would otherwise vanish, or take their object with them. */
#ifndef IPEX_TOOLS_JSON_H
#define IPEX_TOOLS_JSON_H

#include <jansson.h>

json_t *ipex_json_object(void);
json_t *ipex_json_array(void);

/* NULL gives null; bytes that are not UTF-8 become '?'. */
void ipex_json_set_text(json_t *object, const char *key, const char *text);
void ipex_json_set_integer(json_t *object, const char *key, long long value);
/* NaN and infinities give null. */
void ipex_json_set_real(json_t *object, const char *key, double value);
void ipex_json_set_bool(json_t *object, const char *key, int value);
/* Takes over the reference to `value`. */
void ipex_json_set(json_t *object, const char *key, json_t *value);
void ipex_json_append(json_t *array, json_t *value);
void ipex_json_append_text(json_t *array, const char *text);
void ipex_json_append_real(json_t *array, double value);
/* "dims": [1, 3, 224, 224] */
void ipex_json_set_dims(json_t *object, const char *key, const int64_t *dims, int32_t rank);

/* Prints the object to stdout; the second also releases it. */
void ipex_json_print(const json_t *object);
void ipex_json_finish(json_t *object);
/* The same numbers without line ends; freed with free(). */
char *ipex_json_text(const json_t *object);

#endif
