/* SPDX-License-Identifier: Apache-2.0 */
/* page.h: what was read, and the ways to show it. */
#ifndef PAGE_H
#define PAGE_H

#include "tools/examples/ocr/boxes.h"

struct line {
    struct box box;
    struct picture picture;
    char *text;
    double score;
};

struct page {
    struct picture picture;
    struct line *line;
    size_t lines;
    int width, height;       /* of the file's picture, in whose pixels boxes are in the end */
    double spent[3];         /* ms: detect, classify, recognize */
    double scale_x, scale_y; /* from the working picture's pixels to the file's */
    int letterbox;           /* black rows above the working picture */
};

/* One JSON object a line on stdout: box, score, text. */
void page_write_json(const struct page *page);
/* `picture` is the file that was read. False after a message on stderr. */
bool page_write_html(const struct page *page, const char *picture, const char *path);
bool page_write_png(const struct page *page, const char *picture, const char *path);

#endif
