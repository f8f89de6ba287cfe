/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks for operators on numbers with a scale and a zero point: import_quantized.c. */
#ifndef IPEX_TOOLS_IMPORT_QUANTIZED_H
#define IPEX_TOOLS_IMPORT_QUANTIZED_H

#include "tools/convert/import_build.h"

/* Where x is (q - zero) * scale with one scale, above 0, and one zero point: what it is of, else
 * NULL. The largest of such x is that of the largest q. */
const struct ipex_dequantised *ipex_quantized_alike(const struct ipex_value *x);
/* Where x is a constant (q - zero) * scale with one scale and one zero point, of q in 8 bits: q,
 * else NULL. A part of x is that of a part of q. */
struct ipex_value *ipex_quantized_table(const struct ipex_value *x);
/* Notes on y what is known of the integers of x, a constant, of which it is `count` elements of an
 * axis from `from` on, or which it is with its axes in another order, axis i being x's perm[i]. */
void ipex_quantized_note_part(struct ipex_import *import, struct ipex_value *y,
                              const struct ipex_value *x, int32_t axis, int64_t from,
                              int64_t count);
void ipex_quantized_note_transposed(struct ipex_import *import, struct ipex_value *y,
                                    const struct ipex_value *x, const int32_t *perm);
/* (q - zero) * scale as d has them, of whole numbers from its range. */
struct ipex_value *ipex_quantized_again(struct ipex_import *import, struct ipex_value *q,
                                        const struct ipex_dequantised *d);

/* A scale or zero point, input i, as f32: one number, or one per element of `axis` of x (-1: of
 * none). NULL after refusing. */
struct ipex_value *ipex_quantized_parameter(struct ipex_import *import, size_t i,
                                            const struct ipex_value *x, int64_t axis);
/* p, which has an element per block of x along the axis, as f32 of x's shape: the last block may be
 * shorter. NULL after refusing, and of NULL. */
struct ipex_value *ipex_quantized_per_block(struct ipex_import *import, struct ipex_value *p,
                                            const struct ipex_value *x, int64_t axis,
                                            int64_t block);
/* Notes on y that it stands for constant numbers of so many bits whose scales are those of blocks.
 */
void ipex_quantized_note_blocks(struct ipex_import *import, struct ipex_value *y, int32_t bits);
/* Input `at`, of 8 bits, less its zero point, input `zero_at` (absent: 0; as above), as f32: a
 * constant right away where both are. NULL after refusing. */
struct ipex_value *ipex_quantized_centred(struct ipex_import *import, size_t at, size_t zero_at,
                                          int64_t axis);
/* The operands x, scale and zero point from input `at` on: (x - zero point) * scale. */
struct ipex_value *ipex_quantized_real(struct ipex_import *import, size_t at);
/* The same of a constant x, of inputs anywhere: right away. NULL after refusing. */
struct ipex_value *ipex_quantized_constant(struct ipex_import *import, size_t at, size_t scale_at,
                                           size_t zero_at);
/* Rows of a large table in blocks (weight_blocks.h) that lie in rows: their numbers and scales are
 * looked up, which take about a quarter of the room. NULL where it is none. */
struct ipex_value *ipex_quantized_look_up_rows(struct ipex_import *import,
                                               const struct ipex_value *table,
                                               struct ipex_value *indices);
/* Parts of a table along an axis; of one that ipex_quantized_table knows those of its bytes, a
 * quarter of the room, which are turned into floats behind, likewise rows in blocks. NULL after
 * refusing, and of NULL. */
struct ipex_value *ipex_quantized_look_up(struct ipex_import *import, struct ipex_value *table,
                                          struct ipex_value *indices, int64_t axis);
/* y times scale a times scale b, inputs of one number each, or b of one per element of y's axis. */
struct ipex_value *ipex_quantized_scaled(struct ipex_import *import, struct ipex_value *y, size_t a,
                                         size_t b, int64_t axis);
/* ONNX adds the zero point to what is rounded; some of ONNX Runtime's operators round after that,
 * which is another number where y is in the middle of two steps and the zero point is odd. */
enum ipex_rounding { IPEX_ROUND_THEN_ZERO, IPEX_ZERO_THEN_ROUND };
/* Output 0 is y (NULL: nothing is done), rounded, and the zero point `zero_at`, as its type, which
 * without one is that of input `like`. */
void ipex_quantized_round(struct ipex_import *import, struct ipex_value *y, size_t zero_at,
                          size_t like, enum ipex_rounding order);
/* The same of y / scale; scale and zero point are inputs `at` and the next. */
void ipex_quantized_out(struct ipex_import *import, struct ipex_value *y, size_t at, size_t like,
                        enum ipex_rounding order);
/* x as DynamicQuantizeLinear makes it of 8 bits. */
struct ipex_quantized {
    struct ipex_value *scale, *zero; /* f32 */
    struct ipex_value *q;            /* u8 */
};
struct ipex_quantized ipex_quantized_dynamic(struct ipex_import *import, struct ipex_value *x);
/* A product of matrices, [..., M][K] by [..., K][N]. */
struct ipex_value *ipex_quantized_product(struct ipex_import *import, struct ipex_value *a,
                                          struct ipex_value *b);

#endif
