/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels: arithmetic only. No memory, no threads, no operating system.
 *
 * Every kernel has the form  fn(const args *, job_begin, job_end, scratch): the work of one step is
 * cut into `jobs`, any range of which may be done by any thread in any order; jobs write disjoint
 * elements. kernels/ops.inc lists the slots. kernels/ref is the specification: every level gives
 * the same bits (with MXCSR set to round-to-nearest, FTZ, DAZ, all exceptions masked; the caller
 * sets it), but for the sign and payload of a NaN.
 *
 * All strides are in elements. Activations are f32 unless a slot's name says otherwise. Pointers
 * need the alignment of their element only; weights are aligned as format/tile.h says. */
#ifndef IPEX_KERNELS_H
#define IPEX_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/ipex_types.h"
#include "format/ops.h"
#include "format/tile.h"

/* Rows so many bytes apart share sets of L1, which is indexed by a page's offset. */
enum { IPEX_L1_SET_BYTES = 4096 };
static inline bool ipex_rows_share_set(int64_t bytes) {
    return bytes % IPEX_L1_SET_BYTES == 0;
}

static inline bool ipex_act_is_swish(int32_t act) {
    return act == IPEX_ACT_hard_swish || act == IPEX_ACT_hard_swish_affine;
}

/* What blocks of a convolution may apply before they store; all others take a pass over y. With
 * these slopes leaky_relu is the greater of x and slope * x, of infinities, too. */
static inline bool ipex_act_in_blocks(int32_t act, float slope) {
    return ipex_act_is_swish(act) ||
           (act == IPEX_ACT_leaky_relu && 0x1p-126f <= slope && slope <= 1.0f);
}

/* A float from which on, and for 2^22 below, floats are the whole numbers. */
#define IPEX_WHOLE_NUMBERS 0x1.8p23f

/* Rows that windows see above and below x, where only zeros are: `above` of line 0 and `below` of
 * the last line (below 0: that many rows of x are left), from line to line `stride` fewer or more.
 * A kernel's rows are `dilation` of x's apart; those that lie there are left out of a chain, unless
 * all do. All 0: there is no such row. */
struct ipex_padding {
    int64_t above, below;
    int32_t stride, dilation;
};

/* How many of a kernel's `rows` all lines together leave out. */
int64_t ipex_kernel_rows_left_out(const struct ipex_padding *padding, int64_t lines, int64_t rows);

/* Dense and grouped convolution, and linear (one image, kernel of one tap).
 *
 * y[i][l][p][g*n + c] = act(chain + residual[i][l][p][g*n + c]); without residual nothing is added
 *
 * chain = bias[g*n + c], then for s ascending over segments, for k ascending:
 *     chain = fma(x, w, chain)
 * with x at x + i*x_image + l*x_line + p*x_pixel + g*x_group
 *             + (s / segments_w)*x_kh + (s % segments_w)*x_kw + k
 *
 * Every line has `pixels` pixels but the last of an image, which has last_pixels (a matrix of M
 * rows is cut into such lines). An x_pixel that is a multiple of 1024 floats costs L1 conflicts.
 *
 * job = ((image * line_blocks + line_block) * groups + group) * panel_blocks + panel_block, in
 * blocks of lines_per_job and panels_per_job; with eights, group counts pairs of groups.
 *
 * conv_bf16w: w is bf16, which is widened: the bits are those of conv_f32 on the widened weights.
 * conv_bf16: x and w are bf16, widened, and K counts in pairs, as the instruction vdpbf16ps does:
 *     chain = fma(x[k + 1], w[k + 1], chain), then chain = fma(x[k], w[k], chain), k even;
 * behind an odd K's last element both x and w are +0.
 * conv_bf16t (profile bf16-amx): the same operands, and K counts in tiles of 32 from a segment's
 * first element on, as the instruction tdpbf16ps does: even = odd = +0, then for k ascending in
 * pairs, even = fma(x[k], w[k], even) and odd = fma(x[k + 1], w[k + 1], odd), then chain = chain +
 * (even + odd). Behind a segment's last element x and w are +0 to the end of its tile.
 *
 * conv_u8: x is u8 and w i8; sum = all products of all segments, modulo 2^32 (so exact up to 65,793
 * of them), and chain = fma((float)sum, scale[g*n + c], bias[g*n + c]). For l ascending over
 * middles, chain = fma(cut(chain), middle[l][0][g*n + c], middle[l][1][g*n + c]), where cut rounds
 * to nearest, ties to even, and leaves m_cut[l][0] at least (of a NaN, too), then m_cut[l][1] at
 * most. With residual or residual_u8, chain = fma(residual, r_scale, chain). With y_scale other
 * than 0 results are bytes(y, y_scale, y_zero), which with y_u8 go there instead; where the
 * activation is a clamp, a NaN becomes the least that it leaves. bytes(v, scale, zero) = fma(v,
 * scale, IPEX_WHOLE_NUMBERS) - (IPEX_WHOLE_NUMBERS - zero), cut to 0 to 255: the product rounded to
 * nearest, ties to even, and the zero point added; a NaN becomes 0. k is 4 or more. Kernels have
 * loops of their own for a y_scale of 1.
 *
 * depthwise_u8: as conv_u8, but n is all channels, 8 or more, of one group, and segments are taps.
 * k is 1, output c takes channel c alone, and w is i8 [segments_h][segments_w]
 * [ipex_channels_pitch(n)]; or k is 4, 8 or 16, output c takes the k channels from c / k * k on, n
 * is 16 or more, and w has sets (format/tile.h).
 *
 * conv_bf16t and depthwise_u8 take kernel rows and taps in the padding like all others: nothing is
 * set; nor in conv_u8, unless all that is in the padding is 0, where sums are the same without it.
 *
 * With columns, a segment is a kernel row of so many taps, k / columns elements each (even for
 * slots on bf16); chains take them column by column, in the order of ipex_conv_column
 * (kernels/jobs.h), which leaves out those in the padding:
 *     for i ascending over columns, s over segments, k over the column: chain = fma(x, w, chain)
 * padding_w counts taps of a segment then; of at least one no pixel sees padding, and none is all
 * padding. Only for one group with segments_w = 1, last_pixels = pixels and residual not y, not
 * with planar, and not in conv_bf16t.
 *
 * Where K is cut (see cache_l2), or is taken by columns, unfinished chains are parked in y.
 *
 * With y_bf16 results are rounded (kernels/bf16.h) and go there instead, addressed as y: then K is
 * neither cut nor taken by columns. residual_bf16 likewise is a residual that is widened.
 *
 * planar is advice to conv_f32: few columns, so pixels go into lanes (kernels/conv_parts.h). Only
 * for one group with segments_w = 1, x_pixel > 0, segments_h = 1 or last_pixels = pixels, not with
 * resume.
 *
 * few is advice to conv_f32: the last panel's columns, at most 15, are so few that pixels go into
 * lanes for them, 8 at a time (kernels/x86/conv_few.h).
 *
 * spread is advice to conv_f32 and conv_bf16w: rows of x share sets of the L1 cache, so jobs copy
 * them. Only for one group and one segment.
 *
 * eights is advice to conv_f32 and conv_bf16w: groups of 8 columns, whose x is copied so that those
 * of a vector lie side by side (kernels/conv_parts.h). Only without resume, columns, w_line, and
 * taps in the padding left out, and where x_pixel is a multiple of x_kw or segments_w is 1.
 *
 * most_rows is advice to kernels that read x where it lies: register blocks of at most so many
 * pixels, 2 or more; 0: as many as registers hold. */
struct ipex_conv_args {
    const void *x;         /* f32; conv_bf16, conv_bf16t: bf16; conv_u8: u8 */
    const void *w;         /* [groups][segments][panels][k_tiles] tiles of f32; else of bf16; i8 */
    const float *bias;     /* [groups * n], never NULL; readable up to a multiple of 16 */
    const float *scale;    /* [groups * n], as bias; conv_u8 only */
    const float *middle;   /* [middles][2][ipex_channels_pitch(groups * n)]; conv_u8 only */
    const float *residual; /* NULL, or addressed like y with r_*; may be y (then K is not cut) */
    float *y;
    const uint16_t *residual_bf16; /* NULL, or instead of residual; may be y_bf16 */
    uint16_t *y_bf16;           /* NULL, or instead of y; both in conv_bf16 and conv_bf16t only */
    const uint8_t *residual_u8; /* NULL, or instead of residual; may be y_u8 */
    uint8_t *y_u8;              /* NULL, or instead of y; both in conv_u8 only */
    float r_scale, y_scale, y_zero; /* conv_u8 only */
    float m_cut[IPEX_MIDDLES][2];   /* conv_u8 only */
    int32_t middles;                /* conv_u8 only */
    int64_t x_image, x_line, x_pixel, x_group, x_kh, x_kw;
    int64_t w_line; /* floats from a line's weights to the next one's; 0: one w for all lines.
                       conv_f32 only, not with planar */
    int64_t y_image, y_line, y_pixel;
    int64_t r_image, r_line, r_pixel;
    int32_t images, lines, pixels, last_pixels;
    int32_t groups, segments_h, segments_w, k, n;
    struct ipex_padding padding;   /* of kernel rows: segments_h */
    struct ipex_padding padding_w; /* likewise of the taps in a kernel row: segments_w or columns;
                                      what a pixel has on its left and right. last_pixels = pixels
                                      then */
    int32_t columns;               /* of the kernel, where they are taken one by one; else 0 */
    int32_t lines_per_job, panels_per_job, most_rows;
    int32_t act;
    float act_a, act_b;
    bool panels_outside; /* in a job: panels outside lines (weights larger than activations) */
    bool weights_far;    /* in L3 or in memory: the next ones may be fetched in good time */
    bool fetches_y;      /* what is written, where L2 does not hold it, before it is */
    int32_t cache_l2;    /* bytes of L2 that one thread may count on: K blocking */
    bool resume; /* the chains go on from what y holds, instead of from the bias; no residual */
    bool planar;
    bool few;
    bool spread;
    bool eights;
};

/* Rows of an image. */
static inline int64_t ipex_conv_rows(const struct ipex_conv_args *args) {
    return (int64_t)(args->lines - 1) * args->pixels + args->last_pixels;
}

/* Groups of 8 columns that a job has (eights): as many as fill the longest vector. */
enum { IPEX_EIGHTS_GROUPS = 2 };

/* Groups, or those pairs of them, that jobs are of. */
static inline int64_t ipex_conv_sets(const struct ipex_conv_args *args) {
    return args->eights ? (args->groups + IPEX_EIGHTS_GROUPS - 1) / IPEX_EIGHTS_GROUPS
                        : args->groups;
}

/* Products in the chain of an output. */
static inline int64_t ipex_conv_depth(const struct ipex_conv_args *args) {
    return (int64_t)args->segments_h * args->segments_w * args->k;
}

/* Bytes of a row of x that is copied so that rows lie apart (spread). */
static inline size_t ipex_conv_spread_row(const struct ipex_conv_args *args) {
    return (size_t)(args->k + IPEX_PANEL) * sizeof(float);
}

enum { IPEX_BLOCKS_ROWS = 6, IPEX_BLOCKS_FEW = 4 }; /* of register blocks: the widest level's */
enum { IPEX_BLOCKS_PANELS = 2 };                    /* that are multiplied at a time */

/* A linear layer whose weights are numbers of 4 or 8 bits, with a scale and a zero point for each
 * block of `block` elements of K of each column. y[m][n] = act(chain + residual[m][n]); without
 * residual nothing is added. Dense along the last axis of x, residual and y.
 *
 * linear_blocks_f32: chain = bias[n], then for k ascending chain = fma(x[m][k], weight, chain),
 * with weight = (float)(number - zero) * scale. linear_blocks_i8: top = the greatest of a block of
 * a row of x, as bits without their sign, so that a NaN is greater than all; q = cvt(x * (127 /
 * top)), or of a top of 0 cvt(x * 0), where cvt rounds to nearest, ties to even, and cuts to -128
 * to 127, a NaN and what is beyond 32 bits to -128; behind K q is 0. chain = bias[n], then for
 * blocks ascending chain = fma((float)(sum of q * (number - zero)) * scale, top / 127, chain)
 *
 * linear_f16: as linear_blocks_f32, but its weights are numbers of f16 and nothing else, which are
 * widened: the bits are those of conv_f32 on the widened weights.
 *
 * Job = (block of rows, block of panels). */
struct ipex_blocks_args {
    const float *x;
    const uint8_t *w;           /* [panels][k_tiles] tiles of u8 or f16 (format/tile.h) */
    const float *scale;         /* [panels][blocks][16] */
    const uint16_t *scale_bf16; /* or these; the other is NULL. Of f16: neither */
    const uint8_t *zero;        /* likewise, of which `bits` count; NULL: 8 or 128 throughout */
    const float *bias;          /* [n], never NULL; readable up to a multiple of 16 */
    const float *residual;      /* NULL, or addressed like y with r_row; may be y */
    float *y;
    int64_t x_row, r_row, y_row;
    int32_t rows, k, n;
    int32_t bits, block; /* 4 or 8, of f16 16; a multiple of 16, up to IPEX_BLOCK_MOST, of f16 1 */
    int32_t rows_per_job, panels_per_job;
    int32_t act;
    float act_a, act_b;
    int32_t cache_l2;
};

/* 3x3 convolution of stride 1 by Winograd's F(4,3), 36 products for the 16 outputs of a tile
 * instead of 144, or F(2,3), 16 for 4 instead of 36; 5x5 by F(2,5), 36 for 4 instead of 100; a row
 * or a column of 3, 4 or 5 taps by F(4,3), F(3,4) or F(2,5), 6 for 4, 3 or 2.
 *
 * Tile (i, a, b) is outputs [ta, ta + t) x [ub, ub + u) of image i, as far as they exist, from
 * d[r][s] = x at row ta + r, pixel ub + s, t and u being tile_h and tile_w. Rows from lines +
 * side_h - t and pixels from pixels + side_w - u on are never read: they count as +0. With
 * dilations, lines (pixels) that lie a dilation apart are an image of their own, each with its own
 * tiles; tiles of the first come first. For every channel, along each side that is not 1,
 *
 *   v: the columns of d, then the rows of the result, through
 *        v0 = fma(4, d0, fma(-5, d2, d4))         v5 = fma(4, d1, fma(-5, d3, d5))
 *        v1 = e + o, v2 = e - o                   with e = fma(-4, d2, d4), o = fma(-4, d1, d3)
 *        v3 = fma(2, o, e), v4 = fma(-2, o, e)    with e = d4 - d2, o = d3 - d1
 *      or of F(2,3)
 *        v0 = d0 - d2, v1 = d1 + d2, v2 = d2 - d1, v3 = d1 - d3
 *   m[z] = chain from +0 over k ascending of fma(v[z], w[z], chain), z = side_w * row + column
 *   o: the columns of m, then the rows of the result, through
 *        o0 = m0 + (a + c), o1 = fma(2, d, b), o2 = fma(4, c, a), o3 = fma(8, d, b)
 *        with a = m1 + m2, b = m1 - m2, c = m3 + m4, d = m3 - m4, the last one + m5
 *      or of F(2,3)
 *        o0 = m0 + (m1 + m2), o1 = (m1 - m2) - m3
 *   y = act((o + bias) + residual); without residual nothing is added
 *
 * With `up` x is a small image, of which the convolution sees every row and pixel `up` times, as
 * nearest upsampling makes them: up x up outputs of a pixel of x come of 9 products with the 3x3
 * pixels of x around it. The same with z = 3 * row + column and
 *
 *   v: v0 = d0 - d1, v1 = d1, v2 = d2 - d1
 *   o: o0 = m0 + m1, o1 to o[up - 2] = m1, o[up - 1] = m1 + m2
 *
 * Tiles of all images are numbered row-major. job = tile_block * panel_blocks + panel_block, in
 * blocks of tiles_per_job and panels_per_job. */
struct ipex_winograd_args {
    const float *x;        /* of output (0, 0): its first row's first pixel */
    const float *w;        /* [ipex_winograd_products][panels][k_tiles][16][16] */
    const float *bias;     /* [n], never NULL */
    const float *middle;   /* [middles][2][ipex_channels_pitch(groups * n)]; conv_u8 only */
    const float *residual; /* NULL, or addressed like y with r_*; may be y */
    float *y;
    int64_t x_image, x_row, x_pixel;
    int64_t y_image, y_line, y_pixel;
    int64_t r_image, r_line, r_pixel;
    int32_t images, lines, pixels; /* of y */
    int32_t channels, n;           /* of x and of y */
    int32_t tile_h, tile_w;        /* outputs of a tile along each axis */
    int32_t side_h, side_w;        /* inputs: 6 or 4, or 1, or 3 with up */
    int32_t up;                    /* 0, or 2 or more: tile_h and tile_w; dilations are 1 then */
    int32_t dilation_h, dilation_w;
    int32_t tiles_per_job, panels_per_job;
    int32_t act;
    float act_a, act_b;
    bool weights_far; /* as in ipex_conv_args */
    int32_t cache_l2;
};

/* Of a tile. */
static inline int64_t ipex_winograd_products(const struct ipex_winograd_args *args) {
    return (int64_t)args->side_h * args->side_w;
}

static inline int64_t ipex_winograd_tiles(const struct ipex_winograd_args *args) {
    return args->images * ipex_winograd_tiles_along(args->lines, args->dilation_h, args->tile_h) *
           ipex_winograd_tiles_along(args->pixels, args->dilation_w, args->tile_w);
}

/* y[i][l][p][c] = act(chain + residual[i][l][p][c])
 *
 * chain = bias[c], then for kh, kw ascending: chain = fma(x, w[kh][kw][c], chain)
 *
 * depthwise_bf16y: results are rounded (kernels/bf16.h) and go to y_bf16 instead, addressed as y.
 *
 * Job = (image, block of lines), or, with pixels_per_job, (image, block of lines, block of pixels).
 */
struct ipex_depthwise_args {
    const float *x;        /* first tap of output pixel (0, 0) */
    const float *w;        /* [kernel_h][kernel_w][group_inputs][ipex_channels_pitch] */
    const float *bias;     /* [channels] */
    const float *middle;   /* [middles][2][ipex_channels_pitch(groups * n)]; conv_u8 only */
    const float *residual; /* NULL, or addressed like y with r_*; may be y */
    float *y;              /* in depthwise_f32 */
    uint16_t *y_bf16;      /* in depthwise_bf16y */
    int64_t x_image, x_line, x_pixel, x_kh, x_kw;
    int64_t y_image, y_line, y_pixel;
    int64_t r_image, r_line, r_pixel;
    int32_t images, lines, pixels, channels; /* of y */
    int32_t group_inputs, group_outputs;     /* as ipex_is_narrow has them */
    int32_t kernel_h, kernel_w;
    struct ipex_padding padding;
    int32_t lines_per_job, pixels_per_job; /* 0: all pixels of a line */
    int32_t act;
    float act_a, act_b;
};

/* Windows cut at the borders of x; taps in the order of (kh, kw).
 *
 * max: m = first tap; then m = v if v is NaN, else v > m ? v : m. A denormal maximum gives 0.
 *
 * avg: one chain of additions from the first tap on, then a division.
 *
 * A window with no tap inside x gives 0 (max) or 0 / divisor (avg). Job = (image, output line).
 *
 * max_pool_u8: the same of bytes. */
struct ipex_pool_args {
    const void *x; /* element (0, 0) of image 0, inside any halo; f32; max_pool_u8: u8 */
    void *y;       /* as x */
    int64_t x_image, x_row, x_pixel; /* between rows and pixels of x itself */
    int64_t y_image, y_line, y_pixel;
    int32_t images, height, width, channels; /* of x */
    int32_t lines, pixels;                   /* of y */
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right;
    int32_t dilation_h, dilation_w;
    bool count_pad;
};

#define IPEX_POINTWISE_BLOCK 1024 /* elements that a pointwise program works on at a time */

/* A register program over up to 8 broadcast inputs.
 *
 * Strides: 0 broadcasts; the innermost one of every input is 0 or 1, y's is 1. y may be an input
 * that is not broadcast.
 *
 * Operand codes are those of format/ops.inc, but results live in registers: `dst` is the register
 * that a step writes, none of its operands', IPEX_POINTWISE_RESULT + r reads register r. The last
 * step gives y.
 * Inputs that x_u8 has are u8, as numbers, and with y_u8 results are rounded to nearest, ties to
 * even, and cut to 0 to 255 (a NaN is 0) and go there instead; then the scratch is that of
 * pointwise_u8.
 *
 * A row is all of the innermost dim; job = rows_per_job rows, counted row-major.
 *
 * Scratch, in blocks of IPEX_POINTWISE_BLOCK floats: the registers; one for every input and y,
 * which rows that are no whole number of strips are copied to; with u8 one more for every input, as
 * f32, and one for tables. Vector kernels read the program as `chains`.
 *
 * pointwise_u8: the same where there are u8, of which some programs are looked up or run at once.
 * `inner` is pointwise_f32 of any level. */
struct ipex_pointwise_step {
    int16_t op, dst, a, b;
};

/* What ipex_make_chains makes of a program: chains of simple steps, and steps between them
 * (kernels/chains.h). `code`: of the operand. */
struct ipex_link {
    int16_t op, code;
};
#define IPEX_LINKS_MOST (3 * IPEX_POINTWISE_STEPS + 3 * (IPEX_POINTWISE_INPUTS + 1))
struct ipex_chains {
    int32_t count, longest;                 /* chain, in links */
    bool one;                               /* chain is all of the program */
    bool widened[IPEX_POINTWISE_INPUTS];    /* inputs of bytes that become f32 in a block first */
    struct ipex_link link[IPEX_LINKS_MOST]; /* `count` */
};

struct ipex_pointwise_args {
    const float *x[IPEX_POINTWISE_INPUTS];
    float *y;
    int64_t x_stride[IPEX_POINTWISE_INPUTS][8];
    int64_t y_stride[8];
    int64_t dims[8];
    int32_t rank, inputs, steps, registers;
    int64_t rows_per_job;
    const struct ipex_pointwise_step *program;
    const struct ipex_chains *chains;
    const float *constants;
    const uint8_t *x_u8[IPEX_POINTWISE_INPUTS]; /* NULL, or instead of x */
    uint8_t *y_u8;                              /* NULL, or instead of y */
    void (*inner)(const struct ipex_pointwise_args *, int64_t, int64_t, void *);
};

/* Of args' program, steps, inputs, registers, and which of x_u8 are not NULL. */
void ipex_make_chains(const struct ipex_pointwise_args *args, struct ipex_chains *ret);

static inline size_t ipex_chains_size(const struct ipex_chains *chains) {
    return offsetof(struct ipex_chains, link) + (size_t)chains->count * sizeof(struct ipex_link);
}

/* y[i0..] = x[i0..] for strided x and y of `size`-byte elements (1, 2, 4, 8). Strides of x may be 0
 * or negative. Job = an index of dims[0]. */
struct ipex_move_args {
    const void *x;
    void *y;
    int64_t dims[8], x_stride[8], y_stride[8]; /* in elements */
    int32_t rank, size;
};

/* Fills a strided box with one 4-byte pattern. Job = an index of dims[0]. */
struct ipex_fill_args {
    void *y;
    int64_t dims[8], y_stride[8];
    int32_t rank;
    uint32_t pattern;
    int32_t size; /* bytes of an element: 4, or 2 or 1, the pattern's lowest */
};

/* rows x [columns], dense along columns: m = max; e = weight(x - m), e^(x - m) of fewer operations
 * (kernels/math_constants.h); y = e / sum of e. Job = one row.
 *
 * Sums (and reductions) along a dense row: lane j combines elements j, j + 16, ... in this order,
 * from +0 on (-inf for max, inf for min); then lane i with lane i + 8, + 4, + 2, + 1. */
struct ipex_softmax_args {
    const float *x;
    float *y;
    int64_t rows, columns, x_row, y_row;
};

/* [outer][middle][inner] -> [outer][inner], kind of format/ops.h. Job = an index of outer.
 *
 * inner == 1: 16 lanes and the fixed tree over middle; else one chain over middle per inner
 * element. mean = sum / middle. max and min keep a NaN.
 * reduce_u8: the mean of bytes, of which f32 holds all sums exactly. */
struct ipex_reduce_args {
    const void *x; /* f32; reduce_u8: u8 */
    float *y;
    int64_t outer, middle, inner;
    int64_t x_outer, x_middle, y_outer; /* inner is dense */
    int32_t kind;
};

/* y[..][m][n] = scale * chain, chain from +0, for k ascending: fma(a[m][k], b[k][n], chain); with
 * transposed b is [n][k]. matmul_bf16: a and b are bf16, and K counts in pairs as in conv_bf16.
 * matmul_bf16t: the same, and K counts in tiles as in conv_bf16t.
 * matmul_u8: a and b are u8; v = fma(sum a (b - b_zero), scale, scale * (-a_zero * sum (b -
 * b_zero))), both sums exact, modulo 2^32, as f32; y = v or, with a y_scale, bytes of it as in
 * conv_u8. Dense along the last axis of a, b and y. Work inside a job goes by blocks of k_block of
 * K, whose part of b is packed into panels. Job = ((batch * row blocks + row block) * column blocks
 * + column block). */
struct ipex_matmul_args {
    const void *a, *b;
    const float *zeros; /* [columns_per_job] */
    float *y;
    int64_t batch[8], a_batch[8], b_batch[8], y_batch[8]; /* dims, and strides (0: broadcast) */
    int64_t a_row, b_row, y_row;
    int32_t batch_rank;
    int32_t m, n, k;
    int32_t rows_per_job, columns_per_job; /* the last a multiple of 16 */
    int32_t k_block; /* a multiple of 16; of 32 where below k and K counts in tiles */
    int32_t cache_l2;
    bool transposed;
    float scale;
    /* matmul_u8 only */
    uint8_t *y_u8; /* NULL, or instead of y */
    int32_t a_zero, b_zero;
    float y_scale, y_zero;
};

/* So few queries of a head read its keys and values once, part by part. */
enum { IPEX_FEW_QUERIES = 16 };

/* For every row i of q: s[j] = scale * chain(q[i], k[j]) + mask[i][j] with the chain of a matmul,
 * no addition where there is no mask, and -inf for j > i + n - m where causal; t = max of s; e =
 * weight(s - t), z = sum of e in 16 lanes (both as softmax); y[i][c] = (chain from +0, for j
 * ascending: fma(e[j], v[j][c], chain)) / z. attention_bf16: q, k and v are bf16, e is rounded to
 * it once z is summed, and both chains count in pairs as in conv_bf16. attention_bf16t: the same,
 * in tiles as in conv_bf16t. Dense along the last axis; mask_column is 0 or 1. rows_at_once rows of
 * s and the packed k and v of keys_at_once keys (a multiple of 16, or of 32 as k_block of a matmul)
 * are in scratch at a time. Job = batch * row blocks + row block. */
struct ipex_attention_args {
    const void *q, *k, *v;
    const float *mask;  /* or NULL */
    const float *zeros; /* [max(keys_at_once, e rounded up to 16)] */
    float *y;
    int64_t batch[8], q_batch[8], k_batch[8], v_batch[8], mask_batch[8], y_batch[8];
    int64_t q_row, k_row, v_row, y_row, mask_row, mask_column;
    int32_t batch_rank;
    int32_t m, n, d, e; /* queries, keys, channels of q and k, channels of v and y */
    int32_t rows_per_job, rows_at_once, keys_at_once;
    int32_t cache_l2;
    bool causal;
    float scale;
};

/* mean = sum of x / columns (rms: 0); v = sum of squares of x - mean / columns, both sums in 16
 * lanes (fma for the squares) and the fixed tree; y = act(fma(x - mean, gamma * (1 / sqrt(v +
 * eps)), beta)). Without gamma 1 stands in for it, without beta -0. Job = one row. */
struct ipex_layer_norm_args {
    const float *x;
    const float *gamma, *beta; /* [columns], or NULL */
    float *y;
    int64_t rows, columns, x_row, y_row;
    bool rms;
    int32_t act;
    float eps, act_a, act_b;
};

/* As layer_norm, over all pixels of the channels [g * channels / groups, ...) of an image. Sums: of
 * a channel over IPEX_NORM_RUN pixels of a line (the last run may be shorter), one chain from +0;
 * of a channel, one chain over these; of a group, 16 lanes over its channels and the tree. Job =
 * image
 * * group blocks + block of groups_per_job. */
enum { IPEX_NORM_RUN = 64 };
struct ipex_group_norm_args {
    const float *x;
    const float *gamma, *beta; /* [channels], or NULL */
    float *y;
    int64_t x_image, x_line, x_pixel, y_image, y_line, y_pixel;
    int32_t images, lines, pixels, channels, groups, groups_per_job;
    int32_t act;
    float eps, act_a, act_b;
};

/* Transposed convolution.
 *
 * y[i][l][p][g*n + c] = act(chain), chain = bias[...], then for kh, kw ascending, where
 * h = (l + pad_top - kh * dilation_h) / stride_h is a whole number in [0, height), w likewise,
 * for j ascending over k: chain = fma(x[i][h][w][g*k + j], w, chain). Jobs as those of a
 * convolution (ipex_conv_transpose_job). conv_transpose_bf16w, _bf16 and _bf16t differ as those of
 * a convolution do, pairs and tiles beginning anew with every tap.
 *
 * few is advice to conv_transpose_f32, as to conv_f32. So is touching: of few columns, all kernel
 * rows' go together; only for one group, kernels one tap wide whose windows touch (stride_h =
 * kernel_h, lines of y as many times those of x; no padding), at most 16 columns of all kernel rows
 * together, k and width of 8 or more, and jobs of whole windows. */
struct ipex_conv_transpose_args {
    const void *x;     /* element (0, 0) of image 0, inside any halo */
    const void *w;     /* [groups][kernel_h * kernel_w][panels][k_tiles] tiles */
    const float *bias; /* as that of a convolution */
    float *y;
    int64_t x_image, x_row, x_pixel;
    int64_t y_image, y_line, y_pixel;
    int32_t images, height, width; /* of x */
    int32_t lines, pixels;         /* of y */
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w;
    int32_t groups, k, n; /* channels per group: in, out */
    int32_t lines_per_job, panels_per_job;
    int32_t act;
    float act_a, act_b;
    bool panels_outside;
    bool few, touching;
    int32_t cache_l2;
};

/* Resizing of images [height][width][channels]. kernels/resize_taps.h says which rows and columns
 * of x, with which weights, make a line and a pixel of y: 1 (nearest), 2 (linear) or 4 (cubic) of
 * each. nearest copies. Else, with rows i and columns j ascending:
 * row(i) = chain over j: x * weight_w(0), then fma(x, weight_w(j), chain); y = chain over i:
 * row(0) * weight_h(0), then fma(row(i), weight_h(i), chain). Job = (image, block of lines). */
struct ipex_resize_args {
    const void *x; /* of elements of `size` bytes: f32, or in mode nearest of any */
    void *y;
    int32_t size;
    int64_t x_image, x_row, x_pixel;
    int64_t y_image, y_line, y_pixel;
    int32_t images, height, width, channels; /* of x */
    int32_t lines, pixels;                   /* of y */
    int32_t mode, coordinates, rounding;     /* of format/ops.h */
    bool exclude_outside;
    float scale_h, scale_w, cubic_a; /* scale 0: size of y / size of x */
    int32_t lines_per_job;
};

/* Images [height][width][channels], or volumes with depths before, looked up at the places of a
 * grid as format/FORMAT.md says (kernels/grid_taps.h). Axes are those of a place: along the width,
 * the height (, the depth). Job = (image, block of places). */
#define IPEX_GRID_AXES   3
#define IPEX_GRID_EXTENT (1 << 29) /* elements from an image's first to its last are fewer */
#define IPEX_GRID_SIZE   (1 << 24) /* pixels along an axis, at most: f32 has all their numbers */
struct ipex_grid_args {
    const float *x;
    const float *grid;
    float *y;
    int64_t x_image, x_axis[IPEX_GRID_AXES]; /* channels are dense */
    int64_t grid_image, grid_place, grid_axis;
    int64_t y_image, y_place;
    int64_t places, places_per_job; /* of an image */
    int32_t size[IPEX_GRID_AXES];
    int32_t images, channels, axes;
    int32_t mode, padding; /* of format/ops.h */
    bool corners;          /* aligned */
};

/* y[o][i] = x[o][index[i]], rows of `inner` bytes. An index below 0 counts from the end; then it is
 * clamped to [0, axis). Job = a run of rows_per_job of the outer x count rows, row-major. */
struct ipex_gather_args {
    const void *x;
    const void *index; /* [count], i32 or i64 */
    void *y;
    int64_t x_outer, x_axis, y_outer, y_index; /* bytes */
    int64_t index_stride;                      /* elements */
    int64_t outer, count, axis, inner;
    int64_t rows_per_job;
    bool index_i64;
};

/* y = x; then, for i ascending over count, row index[i] of y = kind of format/ops.h of it and row i
 * of updates. Indices as in gather. All is dense, rows of `inner` bytes, which where there is a
 * kind are of f32 or, not `real`, of i64; x may be y. Job = a run of rows_per_job rows of y, to
 * which it applies the updates that they have. */
struct ipex_scatter_args {
    const void *x;        /* [rows] rows */
    const int64_t *index; /* [count] */
    const void *updates;  /* [count] rows */
    void *y;              /* [rows] rows */
    int64_t rows, count, inner;
    int64_t rows_per_job;
    int32_t kind;
    bool real;
};

/* y = x, and around it along every axis `before` elements and as many behind as y's dim wants: of
 * zero bytes, or of x as mode (format/ops.h) says. `size`-byte elements, rank at least 2. Job = an
 * index of dims[0]. */
struct ipex_pad_args {
    const void *x;
    void *y;
    int64_t dims[8]; /* of y */
    int64_t x_dims[8], before[8];
    int64_t x_stride[8], y_stride[8]; /* elements */
    int32_t rank, size, mode;
};

/* One result per element of y from broadcast operands, all strided as in ipex_pointwise_args but
 * for the innermost dim, where any stride is allowed. kind and dtype as each slot reads them:
 *   cast     dtype -> y_dtype: f32 to an integer is cut towards 0 and saturates, NaN is 0;
 *            integers wrap around; anything but 0 is a true bool, a bool is 0 or 1
 *            f32 to bf16 rounds to nearest even, a denormal to a zero of its sign; of f16 a NaN
 *            becomes quiet, and a denormal is none in f32
 *   compare  kind enum ipex_compare on f32, i32, i64 -> bool; a NaN is only not_equal
 *   logical  kind enum ipex_logical; a byte other than 0 is true
 *   where    x[0] ? x[1] : x[2] of `size` bytes
 *   integer  kind enum ipex_integer on i32, i64
 * A bool is written as 0 or 1. Job = a run of rows_per_job rows (all dims but the innermost). */
struct ipex_map_args {
    const void *x[3];
    void *y;
    int64_t x_stride[3][8], y_stride[8], dims[8]; /* elements */
    int32_t rank, inputs;
    int32_t kind, dtype, y_dtype;
    int64_t rows_per_job;
};

/* Index of the largest (or smallest) of a row; a NaN counts as larger than all. Of equals the first
 * or the last. Job = one row. */
struct ipex_arg_args {
    const float *x;
    int64_t *y; /* one per row */
    int64_t rows, columns, x_row, y_row;
    bool largest, last;
};

/* The k largest (or smallest) of a row in order, of equals the lower index first; a NaN counts as
 * larger than all. Job = one row. */
struct ipex_topk_args {
    const float *x;
    float *values;    /* [rows][k] */
    int64_t *indices; /* [rows][k] */
    int64_t rows, columns, k, x_row, values_row, indices_row;
    bool largest;
};

/* Sums along the middle of [outer][middle][inner]: one chain of additions from 0 per outer and
 * inner, in the order of the elements or reversed; y is the chain before (exclusive) or after
 * each addition. f32, i32 or i64. Job = an index of outer. */
struct ipex_cumsum_args {
    const void *x;
    void *y;
    int64_t outer, middle, inner;
    int64_t x_outer, x_middle, y_outer, y_middle; /* elements; inner is dense */
    int32_t dtype;
    bool exclusive, reverse;
};

/* LSTM (4 gates: i o f c) and GRU (3 gates: z r h) over x [times][batches][inputs], for each of
 * `directions`; the second runs backwards, and with `reverse` the first. Gate j of step t: p[j] =
 * (wb[j] + rb[j]), then for k ascending fma(x[t][k], w[j][k], p), then fma(h[k], r[j][k], p), where
 * h is the step before's, h0, or zeros.
 * lstm: c = fma(sigmoid(p_f), c, sigmoid(p_i) * tanh(p_c)); h = sigmoid(p_o) * tanh(c).
 * gru: z = sigmoid(p_z), and r alike; p_h takes r * h in place of h, or, linear_before_reset, p_h
 * is wb and the chain over x alone, q_h is rb and the chain over h, and p_h = fma(r, q_h, p_h); h =
 * fma(z, h, (1 - z) * tanh(p_h)). Weights are tiles of `directions` groups with one segment. Job =
 * direction * batch blocks + batch block. With bf16_weights w and r are bf16, which is widened.
 *
 * parts > 1 (lstm, gru with linear_before_reset, hidden a multiple of 16): every step is a round of
 * jobs, of which each has a part of the hidden units. Job = (step * blocks of batches + block) *
 * parts + part. Jobs of a round may run at once, after all of the round before. With several
 * rounds all jobs have one scratch, of the call's size for each block of batches. */
struct ipex_recurrent_args {
    const float *x;
    const void *w, *r;
    const float *bias;    /* [directions][wb of all gates, rb of all gates], or NULL */
    const float *h0, *c0; /* or NULL: zeros */
    const float *zeros;   /* [hidden] */
    float *y, *h, *c;     /* every step's h; the last step's h; lstm: its c */
    int64_t x_time, x_batch, y_time, y_direction, y_batch;
    int64_t bias_direction, h0_direction, h0_batch, c0_direction, c0_batch;
    int64_t h_direction, h_batch, c_direction, c_batch;
    int32_t times, batches, directions, inputs, hidden;
    int32_t batches_per_job, times_at_once; /* steps whose product with w is computed ahead */
    int32_t cache_l2;
    int32_t parts; /* 1: job = all steps */
    bool reverse, linear_before_reset, bf16_weights;
};

typedef void (*ipex_kernel_fn)(const void *args, int64_t job_begin, int64_t job_end, void *scratch);

struct ipex_kernels {
#define IPEX_KERNEL(slot, args_struct)                                                             \
    void (*slot)(const struct args_struct *, int64_t, int64_t, void *);
#include "kernels/ops.inc"
};

/* What a slot is running, for reports: "conv_f32__avx512". */
struct ipex_kernel_names {
#define IPEX_KERNEL(slot, args_struct) const char *slot;
#include "kernels/ops.inc"
};

/* CPU features as a bit mask that callers can lower. */
enum ipex_cpu_feature {
    IPEX_CPU_AVX2_FMA = 1 << 0, /* with F16C, BMI2 and the OS saving YMM state */
    IPEX_CPU_AVX_VNNI = 1 << 1,
    IPEX_CPU_AVX512 = 1 << 2, /* F, BW, DQ, VL, CD, and the OS saving ZMM state */
    IPEX_CPU_AVX512_VNNI = 1 << 3,
    IPEX_CPU_AVX512_BF16 = 1 << 4,
    IPEX_CPU_AMX_TILE = 1 << 5, /* with the OS saving tiles; permission is asked for apart */
    IPEX_CPU_AMX_BF16 = 1 << 6,
    IPEX_CPU_AMX_INT8 = 1 << 7,
    IPEX_CPU_AMX = IPEX_CPU_AMX_TILE | IPEX_CPU_AMX_BF16 | IPEX_CPU_AMX_INT8,
    IPEX_CPU_SLOW_BF16_DOT = 1 << 8, /* vdpbf16ps takes longer than widening and two FMA */
    IPEX_CPU_SPLITS_512 = 1 << 9,    /* 512 bits take two passes through units of 256 */
    IPEX_CPU_FEW_SHUFFLES = 1 << 10, /* fewer units move lanes than multiply */
    IPEX_CPU_AVX512_VBMI = 1 << 11,
};
struct ipex_cpu {
    uint32_t features;
    int32_t l1d_bytes, l2_bytes; /* of one core; 32 KiB and 512 KiB where cpuid does not say, and 1
                                    MiB of L2 where cores differ */
};

/* Makes no system call. Who has not got permission for AMX clears IPEX_CPU_AMX. */
void ipex_cpu_detect(struct ipex_cpu *ret);

enum ipex_amx_ask {
    IPEX_AMX_ASK_NOTHING,    /* no system call: never `permitted` */
    IPEX_AMX_ASK_LINUX,      /* whether the process has permission */
    IPEX_AMX_ASK_PERMISSION, /* and for it, where it has none */
};
/* Whether this process may use tiles. *ret_error: of a request that was refused, else 0. System
 * calls, arch_prctl only, are made only where the CPU has AMX and its registers are saved. */
enum ipex_amx_state ipex_cpu_amx(enum ipex_amx_ask ask, int *ret_error);
/* Uses a tile, so that Linux makes room for the calling thread's tiles now. */
void ipex_amx_touch(void);

/* The best level of a feature mask, and whether a level can run with it. Levels that no kernel of
 * this build uses (yet) run the kernels of the level below. */
enum ipex_isa ipex_isa_best(uint32_t features);
bool ipex_isa_usable(enum ipex_isa isa, uint32_t features);

/* Fills every slot for a usable level: the reference, then what the ladder overwrites. names may be
 * NULL. */
void ipex_kernels_init(struct ipex_kernels *kernels, struct ipex_kernel_names *names,
                       enum ipex_isa isa);

/* Number of jobs of a step, and bytes of scratch per thread (the same for every level). */
int64_t ipex_conv_jobs(const struct ipex_conv_args *args);
int64_t ipex_blocks_jobs(const struct ipex_blocks_args *args);
int64_t ipex_winograd_jobs(const struct ipex_winograd_args *args);
int64_t ipex_depthwise_jobs(const struct ipex_depthwise_args *args);
size_t ipex_depthwise_rounded_scratch(const struct ipex_depthwise_args *args);
int64_t ipex_pool_jobs(const struct ipex_pool_args *args);
int64_t ipex_pointwise_jobs(const struct ipex_pointwise_args *args);
int64_t ipex_matmul_jobs(const struct ipex_matmul_args *args);
int64_t ipex_attention_jobs(const struct ipex_attention_args *args);
int64_t ipex_group_norm_jobs(const struct ipex_group_norm_args *args);
int64_t ipex_recurrent_jobs(const struct ipex_recurrent_args *args); /* of a round */
int64_t ipex_recurrent_rounds(const struct ipex_recurrent_args *args);
size_t ipex_matmul_scratch(const struct ipex_matmul_args *args);
size_t ipex_matmul_u8_scratch(const struct ipex_matmul_args *args);
/* Bytes of a panel of b; and the most that the scratch of these sizes or smaller ones takes,
 * whatever the blocks, where a job's panels take l2_part or are one. */
int64_t ipex_matmul_u8_panel(const struct ipex_matmul_args *args);
size_t ipex_matmul_u8_scratch_most(const struct ipex_matmul_args *args, int64_t l2_part);
size_t ipex_blocks_scratch(const struct ipex_blocks_args *args, bool bytes); /* of which slot */
size_t ipex_attention_scratch(const struct ipex_attention_args *args);
size_t ipex_group_norm_scratch(const struct ipex_group_norm_args *args);
size_t ipex_recurrent_scratch(const struct ipex_recurrent_args *args); /* enough for lstm and gru */
int64_t ipex_conv_transpose_jobs(const struct ipex_conv_transpose_args *args);
int64_t ipex_resize_jobs(const struct ipex_resize_args *args);
int64_t ipex_grid_jobs(const struct ipex_grid_args *args);
int64_t ipex_gather_jobs(const struct ipex_gather_args *args);
int64_t ipex_scatter_jobs(const struct ipex_scatter_args *args);
int64_t ipex_map_jobs(const struct ipex_map_args *args);
size_t ipex_conv_scratch(const struct ipex_conv_args *args);
size_t ipex_conv_transpose_scratch(const struct ipex_conv_transpose_args *args);
size_t ipex_winograd_scratch(const struct ipex_winograd_args *args);
size_t ipex_pointwise_scratch(const struct ipex_pointwise_args *args);
size_t ipex_depthwise_u8_scratch(const struct ipex_conv_args *args);
size_t ipex_pointwise_u8_scratch(const struct ipex_pointwise_args *args);
size_t ipex_resize_scratch(const struct ipex_resize_args *args);
size_t ipex_grid_scratch(void);

#endif
