/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the classes along the last axis of an entry's first output: from a text file, one per
 * line, or from the model's own metadata. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/check_parts.h"
#include "tools/convert/convert.h"

#define FILE_MAX ((size_t)64 << 20) /* bytes */

/* NULL with *ret_why when the file cannot be read, or holds no text. */
static char *read_text(struct ipex_convert *c, const char *path, const char **ret_why) {
    FILE *file = fopen(path, "rb");
    *ret_why = file ? NULL : strerror(errno);
    if (!file)
        return NULL;
    size_t size = 0, capacity = 0, more;
    char *text = NULL;
    do {
        text = ipex_grow(text, &capacity, size + 65536, 1);
        more = fread(text + size, 1, 65535, file);
        if (memchr(text + size, 0, more))
            *ret_why = "it is not text";
        size += more;
        if (size > FILE_MAX)
            *ret_why = "it is larger than 64 MiB";
    } while (more && !*ret_why);
    if (ferror(file))
        *ret_why = strerror(errno);
    fclose(file);
    char *copy = *ret_why ? NULL : ipex_arena_strndup(&c->arena, text, size);
    free(text);
    return copy;
}

/* What a file can hold. */
static int check_labels(const struct ipex_convert_entry *entry) {
    char why[128] = "";
    const struct ipex_report report = {why, sizeof why};
    for (size_t i = 0; i < entry->labels; i++) {
        const size_t length = strlen(entry->label[i]);
        const uint32_t bytes = length > IPEX_TEXT_MAX ? IPEX_TEXT_MAX + 1 : (uint32_t)length;
        if (ipex_check_text(entry->label[i], bytes, IPEX_TEXT_MAX, "a label", &report) == IPEX_OK)
            continue;
        if (length > IPEX_TEXT_MAX)
            return ipex_cli_failed("%s: line %zu has %zu bytes, at most %d are possible",
                                   entry->labels_path, i + 1, length, IPEX_TEXT_MAX);
        return ipex_cli_failed("%s: line %zu is not UTF-8", entry->labels_path, i + 1);
    }
    return IPEX_EXIT_DONE;
}

/* Splits at `separator`; a trailing empty piece does not count. */
static size_t split_labels(struct ipex_convert *c, const char *text, char separator,
                           const char *const **ret) {
    size_t count = 0, pieces = 1;
    for (const char *at = text; *at; at++)
        pieces += *at == separator;
    const char **label = ipex_arena_array(&c->arena, pieces, sizeof *label);
    while (*text) {
        const char *end = strchr(text, separator);
        size_t length = end ? (size_t)(end - text) : strlen(text);
        if (length && text[length - 1] == '\r')
            length--;
        while (length > 1 && text[length - 1] == ' ') /* one that is a space alone stays */
            length--;
        label[count++] = ipex_arena_strndup(&c->arena, text, length);
        text = end ? end + 1 : text + strlen(text);
    }
    *ret = label;
    return count;
}

/* 0 also where the size varies. */
static int64_t class_count(const struct ipex_convert_entry *entry) {
    const struct ipex_value *y = entry->graph.outputs ? entry->graph.output[0] : NULL;
    return y && y->rank && y->dims[y->rank - 1] > 0 ? y->dims[y->rank - 1] : 0;
}

/* A text recogniser's `character` lists what it can write; its first class is the blank between
 * characters and its last one the space. */
static bool labels_of_recogniser(struct ipex_convert *c, struct ipex_convert_entry *entry,
                                 const char *characters) {
    const char *const *inner;
    size_t n = split_labels(c, characters, '\n', &inner);
    if (n < 2 || (int64_t)n + 2 != class_count(entry))
        return false;
    const char **label = ipex_arena_array(&c->arena, n + 2, sizeof *label);
    memcpy(label + 1, inner, n * sizeof *inner);
    label[0] = "";
    label[n + 1] = " ";
    entry->label = label;
    entry->labels = n + 2;
    return true;
}

/* A metadata property that lists as many names as the first output has classes. */
static void labels_from_metadata(struct ipex_convert *c, struct ipex_convert_entry *entry) {
    static const char *const keys[] = {"labels", "classes", "names", "character"};
    const struct ipex_onnx_model *model = &entry->model;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t i = 0; i < model->metadata; i++) {
            if (strcmp(model->metadata_keys[i], keys[k]))
                continue;
            if (k == 3 && labels_of_recogniser(c, entry, model->metadata_values[i]))
                return;
            for (const char *separator = "\n,"; *separator; separator++) {
                const char *const *label;
                size_t n = split_labels(c, model->metadata_values[i], *separator, &label);
                if (n > 1 && (int64_t)n == class_count(entry)) {
                    entry->label = label;
                    entry->labels = n;
                    return;
                }
            }
        }
}

int ipex_convert_read_labels(struct ipex_convert *c, struct ipex_convert_entry *entry) {
    if (!entry->labels_path) {
        labels_from_metadata(c, entry);
        return IPEX_EXIT_DONE;
    }
    const char *why;
    char *text = read_text(c, entry->labels_path, &why);
    if (!text)
        return ipex_cli_failed("cannot read the labels in %s: %s", entry->labels_path, why);
    entry->labels = split_labels(c, text, '\n', &entry->label);
    if ((int64_t)entry->labels != class_count(entry))
        return ipex_cli_failed("%s has %zu lines, but the first output of entry %s has %lld "
                               "classes along its last axis",
                               entry->labels_path, entry->labels, entry->name,
                               (long long)class_count(entry));
    return check_labels(entry);
}
