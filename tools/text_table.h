/* SPDX-License-Identifier: Apache-2.0 */
/* Small text tables for people: a heading, rows of cells, column widths from the contents. */
#ifndef IPEX_TOOLS_TEXT_TABLE_H
#define IPEX_TOOLS_TEXT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/arena.h"

struct ipex_table_column {
    const char *title;
    bool right;   /* aligned; numbers are */
    size_t limit; /* characters; longer cells are cut and end in "..."; 0: none */
};

struct ipex_table {
    const struct ipex_table_column *column;
    size_t columns;
    struct ipex_arena arena;
    char **cell; /* row after row */
    size_t cells, capacity;
};

/* `column` must outlive the table. */
void ipex_table_init(struct ipex_table *ret, const struct ipex_table_column *column,
                     size_t columns);
/* Appends a cell; every `columns` cells are a row. */
void ipex_table_cell(struct ipex_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The last row may be short. */
void ipex_table_print(const struct ipex_table *table, FILE *file);
void ipex_table_finish(struct ipex_table *table);

/* Control characters become '?', but line ends where there may be some: names out of files would
 * break tables, or drive the terminal. */
void ipex_make_printable(char *text, bool lines);

/* What is not ASCII becomes '?': for texts that need not be UTF-8, as names of files. */
void ipex_make_ascii(char *text);

/* 1234567 -> "1.2 MB" (powers of 1000). Returns `ret`. */
const char *ipex_bytes_text(double bytes, char ret[16]);

#endif
