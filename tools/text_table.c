/* SPDX-License-Identifier: Apache-2.0 */
/* Widths are counted in characters (UTF-8 sequences), not bytes; columns are two spaces apart. */
#include "tools/text_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void ipex_table_init(struct ipex_table *ret, const struct ipex_table_column *column,
                     size_t columns) {
    *ret = (struct ipex_table){.column = column, .columns = columns};
}

static bool continues_character(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += !continues_character(*text);
    return width;
}

static bool is_control(const char *text) {
    const unsigned char byte = (unsigned char)text[0], next = (unsigned char)text[1];
    return byte < 0x20 || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next < 0xa0);
}

void ipex_make_printable(char *text, bool lines) {
    for (; *text; text++)
        if (is_control(text) && !(lines && *text == '\n')) {
            if ((unsigned char)*text == 0xc2)
                text[1] = '?';
            *text = '?';
        }
}

void ipex_make_ascii(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            *text = '?';
}

static void cut(char *text, size_t limit) {
    if (!limit || limit < 4 || width_of(text) <= limit)
        return;
    size_t width = 0;
    while (*text && (width < limit - 3 || continues_character(*text)))
        width += !continues_character(*text++);
    memcpy(text, "...", 4); /* more than 3 characters follow */
}

void ipex_table_cell(struct ipex_table *table, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = ipex_arena_alloc(&table->arena, (size_t)(length < 0 ? 0 : length) + 1);
    vsnprintf(text, (size_t)(length < 0 ? 0 : length) + 1, format, again);
    va_end(again);
    ipex_make_printable(text, false);
    cut(text, table->column[table->cells % table->columns].limit);
    table->cell = ipex_grow(table->cell, &table->capacity, table->cells + 1, sizeof *table->cell);
    table->cell[table->cells++] = text;
}

static void print_cell(FILE *file, const char *text, size_t width, bool right, bool last) {
    int padding = (int)(width - width_of(text));
    if (right)
        fprintf(file, "%*s%s", padding, "", text);
    else
        fprintf(file, "%s%*s", text, last ? 0 : padding, "");
    fputs(last ? "\n" : "  ", file);
}

void ipex_table_print(const struct ipex_table *table, FILE *file) {
    size_t columns = table->columns;
    size_t *width = ipex_alloc(columns * sizeof *width);
    for (size_t i = 0; i < columns; i++)
        width[i] = width_of(table->column[i].title);
    for (size_t i = 0; i < table->cells; i++)
        if (width_of(table->cell[i]) > width[i % columns])
            width[i % columns] = width_of(table->cell[i]);
    for (size_t i = 0; i < columns; i++)
        print_cell(file, table->column[i].title, width[i], table->column[i].right,
                   i + 1 == columns);
    for (size_t i = 0; i < table->cells; i++)
        print_cell(file, table->cell[i], width[i % columns], table->column[i % columns].right,
                   i % columns + 1 == columns || i + 1 == table->cells);
    free(width);
}

void ipex_table_finish(struct ipex_table *table) {
    ipex_arena_finish(&table->arena);
    free(table->cell);
    table->cell = NULL;
    table->cells = table->capacity = 0;
}

const char *ipex_bytes_text(double bytes, char ret[16]) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    snprintf(ret, 16, unit && bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return ret;
}
