/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels: arithmetic only. No memory, no threads, no operating system.
 *
 * Every kernel has the form  fn(const args *, job_begin, job_end, scratch): the work of one step is
 * cut into `jobs`, any range of which may be done by any thread in any order; jobs write disjoint
 * elements. kernels/ops.inc lists the slots. kernels/ref is the specification: every level gives
 * the same bits (with MXCSR set to round-to-nearest, FTZ, DAZ, all exceptions masked; the caller
 * sets it).
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
 * blocks of lines_per_job and panels_per_job.
 *
 * Where K is cut (see cache_l2), unfinished chains are parked in y. */
struct ipex_conv_args {
    const float *x;
    const float *w;        /* [groups][segments][panels][k_tiles][16][16] */
    const float *bias;     /* [groups * n], never NULL; readable up to a multiple of 16 */
    const float *residual; /* NULL, or addressed like y with r_*; may be y (then K is not cut) */
    float *y;
    int64_t x_image, x_line, x_pixel, x_group, x_kh, x_kw;
    int64_t y_image, y_line, y_pixel;
    int64_t r_image, r_line, r_pixel;
    int32_t images, lines, pixels, last_pixels;
    int32_t groups, segments_h, segments_w, k, n;
    int32_t lines_per_job, panels_per_job;
    int32_t act;
    float act_a, act_b;
    bool panels_outside; /* in a job: panels outside lines (weights larger than activations) */
    int32_t cache_l2;    /* bytes of L2 that one thread may count on: K blocking */
};

/* 3x3 convolution of stride 1 by Winograd's F(4,3): 36 products for the 16 outputs of a tile
 * instead of 144.
 *
 * Tile (i, a, b) is outputs [4a, 4a + 4) x [4b, 4b + 4) of image i, as far as they exist, from
 * d[r][s] = x at row 4a + r, pixel 4b + s. Rows from lines + 2 and pixels from pixels + 2 on are
 * never read: they count as +0. For every channel,
 *
 *   v: the columns of d, then the rows of the result, through
 *        v0 = fma(4, d0, fma(-5, d2, d4))         v5 = fma(4, d1, fma(-5, d3, d5))
 *        v1 = e + o, v2 = e - o                   with e = fma(-4, d2, d4), o = fma(-4, d1, d3)
 *        v3 = fma(2, o, e), v4 = fma(-2, o, e)    with e = d4 - d2, o = d3 - d1
 *   m[z] = chain from +0 over k ascending of fma(v[z], w[z], chain), z = 6 * row + column
 *   o: the columns of m, then the rows of the result, through
 *        o0 = m0 + (a + c), o1 = fma(2, d, b), o2 = fma(4, c, a), o3 = fma(8, d, b) + m5
 *        with a = m1 + m2, b = m1 - m2, c = m3 + m4, d = m3 - m4
 *   y = act((o + bias) + residual); without residual nothing is added
 *
 * Tiles of all images are numbered row-major. job = tile_block * panel_blocks + panel_block, in
 * blocks of tiles_per_job and panels_per_job. */
struct ipex_winograd_args {
    const float *x;        /* of output (0, 0): its first row's first pixel */
    const float *w;        /* [36][panels][k_tiles][16][16] */
    const float *bias;     /* [n], never NULL */
    const float *residual; /* NULL, or addressed like y with r_*; may be y */
    float *y;
    int64_t x_image, x_row, x_pixel;
    int64_t y_image, y_line, y_pixel;
    int64_t r_image, r_line, r_pixel;
    int32_t images, lines, pixels; /* of y */
    int32_t channels, n;           /* of x and of y */
    int32_t tiles_per_job, panels_per_job;
    int32_t act;
    float act_a, act_b;
    int32_t cache_l2; /* as in ipex_conv_args */
};

/* y[i][l][p][c] = act(chain + residual[i][l][p][c])
 *
 * chain = bias[c], then for kh, kw ascending: chain = fma(x, w[kh][kw][c], chain)
 *
 * Job = (image, block of lines). */
struct ipex_depthwise_args {
    const float *x;        /* first tap of output pixel (0, 0) */
    const float *w;        /* [kernel_h][kernel_w][channels rounded up to 16] */
    const float *bias;     /* [channels] */
    const float *residual; /* NULL, or addressed like y with r_*; may be y */
    float *y;
    int64_t x_image, x_line, x_pixel, x_kh, x_kw;
    int64_t y_image, y_line, y_pixel;
    int64_t r_image, r_line, r_pixel;
    int32_t images, lines, pixels, channels;
    int32_t kernel_h, kernel_w;
    int32_t lines_per_job;
    int32_t act;
    float act_a, act_b;
};

/* Windows cut at the borders of x; taps in the order of (kh, kw).
 *
 * max: m = first tap; then m = v if v is NaN, else v > m ? v : m. A denormal maximum gives 0.
 *
 * avg: one chain of additions from the first tap on, then a division.
 *
 * A window with no tap inside x gives 0 (max) or 0 / divisor (avg). Job = (image, output line). */
struct ipex_pool_args {
    const float *x; /* element (0, 0) of image 0, inside any halo */
    float *y;
    int64_t x_image, x_row, x_pixel; /* between rows and pixels of x itself */
    int64_t y_image, y_line, y_pixel;
    int32_t images, height, width, channels; /* of x */
    int32_t lines, pixels;                   /* of y */
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right;
    int32_t dilation_h, dilation_w;
    bool count_pad;
};

#define IPEX_POINTWISE_BLOCK 256 /* elements that a pointwise program works on at a time */

/* A register program over up to 8 broadcast inputs, run block by block along the innermost dim.
 *
 * Strides: 0 broadcasts; the innermost one of every input is 0 or 1, y's is 1. y may be an input
 * that is not broadcast.
 *
 * Operand codes are those of format/ops.inc, but results live in registers: `dst` is the register
 * that a step writes, IPEX_POINTWISE_RESULT + r reads register r. The last step also gives y.
 * Register r is scratch + r * IPEX_POINTWISE_BLOCK floats.
 *
 * A row is all of the innermost dim; job = rows_per_job rows, counted row-major. */
struct ipex_pointwise_step {
    int16_t op, dst, a, b;
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
    const float *constants;
};

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
};

/* rows x [columns], dense along columns: m = max; e = exp(x - m); y = e / sum of e. Job = one row.
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
 * element. mean = sum / middle. max and min keep a NaN. */
struct ipex_reduce_args {
    const float *x;
    float *y;
    int64_t outer, middle, inner;
    int64_t x_outer, x_middle, y_outer; /* inner is dense */
    int32_t kind;
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
};
struct ipex_cpu {
    uint32_t features;
    int32_t l1d_bytes, l2_bytes; /* of one core; 32 KiB and 512 KiB where cpuid does not say */
};
void ipex_cpu_detect(struct ipex_cpu *ret);

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
int64_t ipex_winograd_jobs(const struct ipex_winograd_args *args);
int64_t ipex_depthwise_jobs(const struct ipex_depthwise_args *args);
int64_t ipex_pool_jobs(const struct ipex_pool_args *args);
int64_t ipex_pointwise_jobs(const struct ipex_pointwise_args *args);
size_t ipex_conv_scratch(const struct ipex_conv_args *args);
size_t ipex_winograd_scratch(const struct ipex_winograd_args *args);
size_t ipex_pointwise_scratch(const struct ipex_pointwise_args *args);

#endif
