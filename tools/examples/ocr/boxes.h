/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.h: where the detector saw text. Its output, for every pixel the probability of lying in the
 * shrunk middle of a line of text, becomes quadrilaterals around whole lines ("differentiable
 * binarisation"). */
#ifndef BOXES_H
#define BOXES_H

#include "tools/examples/ocr/picture.h"

struct box {
    struct point corner[4]; /* from the top left one clockwise, in pixels of the picture */
};

/* map: [height][width]. The boxes, scaled to a picture of picture_width x picture_height, in
 * reading order; *ret_count of them, memory that the caller frees. */
struct box *boxes_find(const float *map, int width, int height, int picture_width,
                       int picture_height, size_t *ret_count);

#endif
