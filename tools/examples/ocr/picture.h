/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h: pictures for the text reader. Reading JPEG and PNG, scaling, cutting out, turning;
 * every function that makes a picture gives memory that the caller frees (picture.rgb). Out of
 * memory ends the program. */
#ifndef PICTURE_H
#define PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture {
    int width, height;
    uint8_t *rgb; /* [height][width][3], red first */
};

struct point {
    double x, y;
};

/* malloc that ends the program with a message when there is no memory. */
void *allocate(size_t count, size_t size);

/* False, with a message on stderr, when the file is no picture, or cannot be written. */
bool picture_read(const char *path, struct picture *ret);

bool picture_write_png(const struct picture *picture, const char *path);

struct picture picture_copy(const struct picture *from);
/* Bilinear, between pixel centres. */
struct picture picture_resize(const struct picture *from, int width, int height);
/* `rows` black rows above and below. */
struct picture picture_letterbox(const struct picture *from, int rows);
/* The quadrilateral `corner` (from the top left one clockwise) as an upright picture; bicubic. */
struct picture picture_cut(const struct picture *from, const struct point corner[4], int width,
                           int height);
/* Paints the sides of the quadrilateral, thicker in a larger picture. */
void picture_outline(struct picture *picture, const struct point corner[4]);
/* Turned against the clock by `quarters` quarters. */
struct picture picture_turn(const struct picture *from, int quarters);

#endif
