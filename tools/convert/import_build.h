/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks for ONNX operators that are made of several simpler ones: each call appends a
 * node and returns its result. A NULL operand gives NULL, so that one check at the end of a chain
 * suffices: the refusal has been noted by then. Results are named after the current node's first
 * output; the last is bound with ipex_import_out. */
#ifndef IPEX_TOOLS_IMPORT_BUILD_H
#define IPEX_TOOLS_IMPORT_BUILD_H

#include "tools/convert/import.h"

/* Constants that import makes itself have at most this many elements. */
#define IPEX_BUILD_MAX (1 << 24)

/* Binds output i of the current node; not to NULL. */
void ipex_build_out(struct ipex_import *import, size_t i, struct ipex_value *y);

/* f32, elementwise, with broadcasting; `with` has a number as right operand. */
struct ipex_value *ipex_build_unary(struct ipex_import *import, enum ipex_step step,
                                    struct ipex_value *x);
struct ipex_value *ipex_build_binary(struct ipex_import *import, enum ipex_step step,
                                     struct ipex_value *a, struct ipex_value *b);
struct ipex_value *ipex_build_with(struct ipex_import *import, enum ipex_step step,
                                   struct ipex_value *x, float number);
/* x sigmoid(alpha x) */
struct ipex_value *ipex_build_swish(struct ipex_import *import, struct ipex_value *x, float alpha);

/* Elementwise with broadcasting, as the plan operators of these names. */
struct ipex_value *ipex_build_compare(struct ipex_import *import, enum ipex_compare kind,
                                      struct ipex_value *a, struct ipex_value *b);
struct ipex_value *ipex_build_where(struct ipex_import *import, struct ipex_value *condition,
                                    struct ipex_value *a, struct ipex_value *b);
struct ipex_value *ipex_build_integer(struct ipex_import *import, enum ipex_integer kind,
                                      struct ipex_value *a, struct ipex_value *b);
/* Nothing is done where x has this type; constants become f32 right away. */
struct ipex_value *ipex_build_cast(struct ipex_import *import, struct ipex_value *x,
                                   enum ipex_dtype dtype);

/* x, which has whole numbers in the range of this type of integers: a cast back is x again. */
struct ipex_value *ipex_build_whole(struct ipex_import *import, struct ipex_value *x,
                                    enum ipex_dtype dtype);

/* Input i as f32 for an operator that chooses among its elements, which may be u8 or i8: casting
 * what is chosen back is exact. NULL after refusing. */
struct ipex_value *ipex_build_chosen(struct ipex_import *import, size_t i);

/* Over the axes of the bit mask, which stay as 1. */
struct ipex_value *ipex_build_reduce(struct ipex_import *import, enum ipex_reduce kind,
                                     struct ipex_value *x, uint32_t axes);
/* The sum of integers (i32 or i64), exact. */
struct ipex_value *ipex_build_integer_sum(struct ipex_import *import, struct ipex_value *x,
                                          uint32_t axes);
/* What this leaves of an x without elements: this number everywhere. */
struct ipex_value *ipex_build_reduced_none(struct ipex_import *import, const struct ipex_value *x,
                                           uint32_t axes, struct ipex_value *number);
/* `count` elements of an axis from `start` on. */
struct ipex_value *ipex_build_slice(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                    int64_t start, int64_t count);
/* Likewise, but every `step`-th. */
struct ipex_value *ipex_build_every(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                    int64_t start, int64_t count, int64_t step);
/* So many zeros before and after x along an axis. */
struct ipex_value *ipex_build_zeros(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                    int64_t before, int64_t after);
/* Before and after each axis of x, by dims, which are left as numbers; negative ones take away.
 * NULL after refusing. */
struct ipex_value *ipex_build_pad(struct ipex_import *import, struct ipex_value *x,
                                  enum ipex_pad_mode mode, float value, int64_t *before,
                                  int64_t *after);
/* stride - 1 zeros behind every position of an axis. */
struct ipex_value *ipex_build_apart(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                    int64_t stride);
/* The sum of `count` values of one shape, each `apart` further along an axis than the one before,
 * of which `out` positions from `cut` on are left, zeros where none reaches. */
struct ipex_value *ipex_build_overlapped(struct ipex_import *import, int64_t count,
                                         struct ipex_value *const *x, int32_t axis, int64_t apart,
                                         int64_t cut, int64_t out);
struct ipex_value *ipex_build_reshape(struct ipex_import *import, struct ipex_value *x,
                                      int32_t rank, const int64_t *dims);
/* x broadcast to these dims. */
struct ipex_value *ipex_build_expand(struct ipex_import *import, struct ipex_value *x, int32_t rank,
                                     const int64_t *dims);
struct ipex_value *ipex_build_gather(struct ipex_import *import, struct ipex_value *data,
                                     struct ipex_value *indices, int64_t axis);
struct ipex_value *ipex_build_matmul(struct ipex_import *import, struct ipex_value *a,
                                     struct ipex_value *b);

/* x [..., K] times a constant matrix, [K][N] or, without kn, [N][K]. */
struct ipex_value *ipex_build_linear(struct ipex_import *import, struct ipex_value *x,
                                     struct ipex_value *w, bool kn);
struct ipex_value *ipex_build_transpose(struct ipex_import *import, struct ipex_value *x,
                                        const int32_t *perm);
/* An axis at another place, the ones in between further on by one. */
struct ipex_value *ipex_build_moved(struct ipex_import *import, struct ipex_value *x, int32_t from,
                                    int32_t to);
/* The last two axes change places; a vector stays as it is. */
struct ipex_value *ipex_build_turned(struct ipex_import *import, struct ipex_value *x);
/* Of values with the same other dims. */
struct ipex_value *ipex_build_concat(struct ipex_import *import, int32_t axis, int32_t count,
                                     struct ipex_value *const *x);
struct ipex_value *ipex_build_softmax(struct ipex_import *import, struct ipex_value *x,
                                      int32_t axis);
/* ONNX's ArgMax or ArgMin along the last axis, which stays as 1: the first of equals, or the last.
 */
struct ipex_value *ipex_build_arg(struct ipex_import *import, struct ipex_value *x, bool largest,
                                  bool last);
/* The elements of a constant from number `from` on, as many as these dims have, as f32. */
struct ipex_value *ipex_build_part(struct ipex_import *import, const struct ipex_value *x,
                                   int64_t from, int32_t rank, const int64_t *dims);
/* Over the last axis, with vectors of its size or NULL (no beta without gamma); kind 1: without the
 * mean (RMS). */
struct ipex_value *ipex_build_layer_norm(struct ipex_import *import, struct ipex_value *x,
                                         struct ipex_value *gamma, struct ipex_value *beta,
                                         float eps, int64_t kind);

/* x [N][C][...] with groups of channels normalised, and a scale and a shift per channel; by the
 * attribute epsilon. NULL after refusing. */
struct ipex_value *ipex_build_group_norm(struct ipex_import *import, struct ipex_value *x,
                                         struct ipex_value *scale, struct ipex_value *shift,
                                         int64_t groups);

/* One number of this type. */
struct ipex_value *ipex_build_number(struct ipex_import *import, enum ipex_dtype dtype,
                                     double value);
/* A dim as one number (i32 or i64) that this run has. NULL after refusing. */
struct ipex_value *ipex_build_size(struct ipex_import *import, enum ipex_dtype dtype, int64_t dim);
/* 0, step, 2 step, ... (n of them, a dim; i32 or i64) along `axis` of `rank` dims, the others 1.
 * NULL after refusing too many. */
struct ipex_value *ipex_build_count(struct ipex_import *import, enum ipex_dtype dtype, int64_t n,
                                    int64_t step, int32_t rank, int32_t axis);
/* x - max - log(sum(exp(x - max))) along an axis. */
struct ipex_value *ipex_build_log_softmax(struct ipex_import *import, struct ipex_value *x,
                                          int32_t axis);
/* An index counted from the end of n (a dim) where it is negative, as i64. */
struct ipex_value *ipex_build_wrapped(struct ipex_import *import, struct ipex_value *index,
                                      int64_t n);
/* ONNX's CumSum of integers (i32 or i64), exact. */
struct ipex_value *ipex_build_cum_sum(struct ipex_import *import, struct ipex_value *x,
                                      int32_t axis, bool exclusive, bool reverse);
/* All dims are numbers; false after refusing. */
bool ipex_build_fixed(struct ipex_import *import, const struct ipex_value *x);
/* A value of constant operand i with one element, as i64; `otherwise` where it is absent. False
 * after refusing. */
bool ipex_build_scalar(struct ipex_import *import, size_t i, int64_t otherwise, int64_t *ret);
/* Images are [N][C][H][W]; a signal [N][C][L] is handled as [N][C][1][L]. */
struct ipex_value *ipex_build_image(struct ipex_import *import, struct ipex_value *x);
/* An image back in the rank that x had: of a signal, or a volume's one position. */
struct ipex_value *ipex_build_image_back(struct ipex_import *import, struct ipex_value *y,
                                         int32_t rank);
/* Binds output 0 to it; not to NULL. */
void ipex_build_image_out(struct ipex_import *import, struct ipex_value *y, int32_t rank);
/* The same with a new value of these dims as the node's result. */
void ipex_build_image_result(struct ipex_import *import, struct ipex_node *node, int32_t rank,
                             const int64_t *dims);
/* A list attribute of `n` spatial values into the last n of three (depth, height, width); the
 * others stay as they are, and all where it is not given. False after refusing. */
enum { IPEX_SPATIAL = 3 };
bool ipex_build_spatial(struct ipex_import *import, const char *name, int n, int64_t *ret);
/* The attribute pads likewise, into six: front top left back bottom right. */
bool ipex_build_pads(struct ipex_import *import, int n, int64_t *ret);
/* A convolution's bias (NULL: none) has an element per output channel. False after refusing. */
bool ipex_build_bias_fits(struct ipex_import *import, const struct ipex_value *bias, int64_t n);
/* Gives a layer of n outputs this bias, a constant of n elements or one; NULL: none. */
void ipex_build_bias(struct ipex_import *import, struct ipex_node *layer,
                     const struct ipex_value *bias, int64_t n);
/* An image convolved as `conv` says, transposed or not, by w of struct ipex_conv; out: the result's
 * H and W. */
struct ipex_value *ipex_build_conv(struct ipex_import *import, struct ipex_value *image,
                                   struct ipex_value *w, const struct ipex_value *bias,
                                   const struct ipex_conv *conv, const int64_t *out);
/* y [N][M][...] plus a bias [M] (NULL: none) that no layer can take. */
struct ipex_value *ipex_build_plus_bias(struct ipex_import *import, struct ipex_value *y,
                                        struct ipex_value *bias);

#endif
