/* SPDX-License-Identifier: Apache-2.0 */
/* What of a pointwise program's operands runs when, and where, at every vector level. One chain of
 * steps runs over all of a job's rows; if there is more, every chain and other step runs over a
 * tile, a part of a row or several short rows of IPEX_POINTWISE_BLOCK elements in all, while it is
 * in L1. */
#ifndef IPEX_KERNELS_POINTWISE_ROWS_H
#define IPEX_KERNELS_POINTWISE_ROWS_H

#include "kernels/chains.h"
#include "kernels/jobs.h"

/* An operand over a tile of rows, or y: step is 1, or 0 for one value that is broadcast along a
 * row; row is the distance between rows, 0 where they are the same. Of f32, or of bytes. */
struct ipex_pointwise_operand {
    const void *p;
    int64_t step, row;
    bool bytes;
};

/* A tile: rows of n elements. */
struct ipex_pointwise_tile {
    int64_t rows, n;
};

static inline struct ipex_pointwise_operand ipex_pointwise_floats(const float *p, int64_t step,
                                                                  int64_t row) {
    return (struct ipex_pointwise_operand){p, step, row, false};
}

static inline int64_t ipex_pointwise_size(struct ipex_pointwise_operand operand) {
    return operand.bytes ? 1 : (int64_t)sizeof(float);
}

/* The operand from `elements` further on. */
static inline struct ipex_pointwise_operand ipex_pointwise_on(struct ipex_pointwise_operand operand,
                                                              int64_t elements) {
    operand.p = (const char *)operand.p + elements * ipex_pointwise_size(operand);
    return operand;
}

/* A link of a row: from p on, whose next element is `step` bytes behind it, as that of the next row
 * is `row` bytes. */
struct ipex_bound_link {
    const char *p;
    int64_t step, row;
    int32_t op;
    float value; /* of one byte, which p points to then */
};

/* What a level does. run: a chain's links over rows of n elements. step: what one that is no link
 * makes of n elements of x, or more to whole vectors; b: of the other operand, or one value; y may
 * be x. pack: rows of `from` as f32, one behind the other; unpack: the reverse. */
struct ipex_pointwise_level {
    int64_t lanes;
    void (*run)(struct ipex_bound_link *links, int64_t rows, int64_t n);
    void (*step)(int16_t op, const float *x, const float *b, bool is_one, float *y, int64_t n);
    void (*pack)(struct ipex_pointwise_operand from, float *to, struct ipex_pointwise_tile tile);
    void (*unpack)(const float *from, struct ipex_pointwise_operand y,
                   struct ipex_pointwise_tile tile);
};

/* A strip is of as many vectors. */
enum { IPEX_STRIP_VECTORS = 8 };

/* Rows of n bytes, x_row and y_row apart. */
void ipex_copy_rows(const uint8_t *x, int64_t x_row, uint8_t *y, int64_t y_row, int64_t n,
                    int64_t rows);

/* A kernel's whole body: jobs [job_begin, job_end). */
void ipex_pointwise_rows(const struct ipex_pointwise_level *level,
                         const struct ipex_pointwise_args *args, int64_t job_begin, int64_t job_end,
                         void *scratch);

#endif
