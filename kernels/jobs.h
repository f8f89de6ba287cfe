/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels find their part of a step: a job number taken apart into blocks. What is done once a
 * job or line is in jobs.c, the same code for every ISA level; the rest is static inline, so that
 * files with ISA flags may include it. */
#ifndef IPEX_KERNELS_JOBS_H
#define IPEX_KERNELS_JOBS_H

#include "kernels/kernels.h"

/* In loops beside the products, which stay as they are written: compilers would vectorise and
 * unroll them to several times the code, of which a copy is in every kernel. */
#define AS_WRITTEN __asm__ volatile("")

/* a / b as C has it, and what is left. Almost all divisors that are not known to the compiler are 1
 * or, like what they divide, fit into 32 bits: Intel's CPUs before Ice Lake divide 64 bits in 42 to
 * 95 cycles, 32 in 26, and blocks of a few hundred cycles are cut by several divisions. */
struct ipex_quotient {
    int64_t whole, rest;
};

struct ipex_quotient ipex_divide(int64_t a, int64_t b);

static inline int64_t ipex_div(int64_t a, int64_t b) {
    return __builtin_constant_p(b) ? a / b : ipex_divide(a, b).whole;
}

static inline int64_t ipex_smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t ipex_div_up(int64_t a, int64_t b) {
    return ipex_div(a + b - 1, b);
}

/* A line of pixels in `count` register blocks of `most` pixels or fewer: the first `larger` of them
 * have `more` pixels than `small`. They are of nearly equal size, `more` is 1, or all but the last
 * one are full. */
struct ipex_line_cut {
    int64_t count, small, larger, more;
};

struct ipex_line_cut ipex_cut_line(int64_t pixels, int64_t most);
struct ipex_line_cut ipex_fill_line(int64_t pixels, int64_t most);

/* Kernel rows [begin, end) that a line's windows take, of `rows`. */
struct ipex_kernel_rows {
    int64_t begin, end;
};

struct ipex_kernel_rows ipex_kernel_rows(const struct ipex_padding *padding, int64_t lines,
                                         int64_t line, int64_t rows);

/* Panels of one group. */
static inline int64_t ipex_conv_panels(const struct ipex_conv_args *args) {
    return ipex_div_up(args->n, IPEX_PANEL);
}

/* From a row of middle to the next one. */
static inline int64_t ipex_conv_middle_pitch(const struct ipex_conv_args *args) {
    return ipex_channels_pitch((int64_t)args->groups * args->n);
}

/* Words of 4 bytes from one panel's weights to the next, and from one segment's to the next, where
 * a row of a tile holds k_per_row elements of K. */
static inline int64_t ipex_conv_panel_words(const struct ipex_conv_args *args, int64_t k_per_row) {
    return ipex_div_up(args->k, IPEX_TILE_ROWS * k_per_row) * IPEX_TILE_ROWS * IPEX_PANEL;
}

static inline int64_t ipex_conv_segment_words(const struct ipex_conv_args *args,
                                              int64_t k_per_row) {
    return ipex_conv_panels(args) * ipex_conv_panel_words(args, k_per_row);
}

static inline int64_t ipex_conv_panel_floats(const struct ipex_conv_args *args) {
    return ipex_conv_panel_words(args, 1);
}

static inline int64_t ipex_conv_segment_floats(const struct ipex_conv_args *args) {
    return ipex_conv_segment_words(args, 1);
}

/* Segments of a part of K, at most so many: whole kernel rows where that is possible, and as many
 * in every part, so that each can fetch the next one's weights. */
int64_t ipex_conv_part_segments(const struct ipex_conv_args *args, int64_t most);

/* Whether taps beside x are left out. */
static inline bool ipex_conv_leaves_out_taps(const struct ipex_conv_args *args) {
    return args->padding_w.dilation != 0 && args->columns == 0;
}

/* Segments of a convolution that go into chains, kernel rows and taps in the padding left out: so
 * many, so many of every kernel row, the first one's place among these; where x (elements) and w
 * (words) begin. */
struct ipex_conv_run {
    int64_t segments, taps, tap_w, x, w;
};

/* What a line takes of `segments` from `segment` on; w_kh, w_kw: words from a kernel row to the
 * next one, and from a tap. */
struct ipex_conv_run ipex_conv_run(const struct ipex_conv_args *args, int64_t segment,
                                   int64_t segments, int64_t line, int64_t w_kh, int64_t w_kw);
/* What a pixel takes of a line's run, which is one segment or whole kernel rows, and ret_end: the
 * first pixel behind it that takes others. */
struct ipex_conv_run ipex_conv_pixel_run(const struct ipex_conv_args *args,
                                         const struct ipex_conv_run *line, int64_t pixel,
                                         int64_t w_kw, int64_t *ret_end);
/* Blocks of `most` pixels or fewer that take the same, in a line. */
int64_t ipex_conv_pixel_blocks(const struct ipex_conv_args *args, int64_t most);

/* What chains take before anything else: the columns of a kernel that is taken column by column;
 * else there is one, of whole rows. */
static inline int64_t ipex_conv_columns(const struct ipex_conv_args *args) {
    return args->columns ? args->columns : 1;
}

/* The i-th in the order of chains: its elements of every segment begin at k, and are so many;
 * pixels [begin, end) take it, all of them the last one. */
struct ipex_conv_column {
    int64_t k, k_count, begin, end;
};

struct ipex_conv_column ipex_conv_column(const struct ipex_conv_args *args, int64_t i);

/* One job of a convolution: lines [line, line_end) of one image, panels [panel, panel_end) of
 * groups [group, group_end): one, or with eights two. */
struct ipex_conv_job {
    int64_t image, line, line_end, group, group_end, panel, panel_end;
};

struct ipex_conv_job ipex_conv_job(const struct ipex_conv_args *args, int64_t job);

static inline int64_t ipex_conv_line_pixels(const struct ipex_conv_args *args, int64_t line) {
    return line == args->lines - 1 ? args->last_pixels : args->pixels;
}

/* A transposed convolution is cut like a convolution. */
struct ipex_conv_job ipex_conv_transpose_job(const struct ipex_conv_transpose_args *args,
                                             int64_t job);

/* One job of a winograd convolution: tiles [tile, tile_end), panels [panel, panel_end). */
struct ipex_winograd_job {
    int64_t tile, tile_end, panel, panel_end;
};

struct ipex_winograd_job ipex_winograd_job(const struct ipex_winograd_args *args, int64_t job);

/* Where a tile begins in y and in x, and how many of its rows and columns exist: of its inputs and
 * of its outputs, all a dilation apart. */
struct ipex_winograd_tile {
    int64_t image, line, pixel, x_line, x_pixel;
    int64_t rows_in, columns_in, rows_out, columns_out;
};

/* Tiles of an image. */
struct ipex_winograd_grid {
    int64_t down, across;
};

static inline struct ipex_winograd_grid ipex_winograd_grid(const struct ipex_winograd_args *args) {
    return (struct ipex_winograd_grid){
        ipex_winograd_tiles_along(args->lines, args->dilation_h, args->tile_h),
        ipex_winograd_tiles_along(args->pixels, args->dilation_w, args->tile_w),
    };
}

struct ipex_winograd_tile ipex_winograd_tile(const struct ipex_winograd_args *args,
                                             const struct ipex_winograd_grid *grid, int64_t tile);

/* A job's scratch in floats: v [tiles][points][channels], m [points][tiles][columns], what one
 * vector of a tile holds between its two transforms [36][16], and the bias of the products, zeros.
 * A tile's points go to v one behind the other, as what writes them wants it (3x3 of 16 channels at
 * 32x32 to 64x64 takes 0.93 to 0.95 of the time on Intel, OIDN 0.97 on AMD), and lie an odd number
 * of cache lines from those of the next; rows of m are 64 bytes longer than their data, and its
 * matrices an odd number of cache lines apart: so neither the rows of one product nor the places of
 * one tile share a few sets of the L1 cache. (m like v takes 1.02 to 1.04 of the time on Intel.) */
struct ipex_winograd_space {
    int64_t v_row, v_point, m_row, m_point, v, m, between, zeros, total;
};

static inline struct ipex_winograd_space
ipex_winograd_space(const struct ipex_winograd_args *args) {
    const int64_t columns = (int64_t)args->panels_per_job * IPEX_PANEL;
    const int64_t points = ipex_winograd_products(args);
    struct ipex_winograd_space ret;
    ret.v_point = ipex_div_up(args->channels, IPEX_PANEL) * IPEX_PANEL;
    ret.v_row = (points * ret.v_point) | IPEX_PANEL;
    ret.m_row = columns + IPEX_PANEL;
    ret.m_point = (args->tiles_per_job * ret.m_row) | IPEX_PANEL;
    ret.v = 0;
    ret.m = ret.v + args->tiles_per_job * ret.v_row;
    ret.between = ret.m + points * ret.m_point;
    ret.zeros = ret.between + IPEX_WINOGRAD_POINTS_MAX * IPEX_PANEL;
    ret.total = ret.zeros + columns;
    return ret;
}

/* One job of a depthwise convolution: lines [line, line_end) of one image. */
struct ipex_depthwise_job {
    int64_t image, line, line_end;
};

/* args with the pixels of a job alone; *job becomes its number among theirs. */
struct ipex_depthwise_args ipex_depthwise_part(const struct ipex_depthwise_args *args,
                                               int64_t *job);

struct ipex_depthwise_job ipex_depthwise_job(const struct ipex_depthwise_args *args, int64_t job);

/* Columns of x that pixels of depthwise_u8 see: those between two pixels, and between two taps. */
struct ipex_depthwise_columns {
    int64_t step, per_pixel, per_tap; /* step: elements of x from one to the next */
};

struct ipex_depthwise_columns ipex_depthwise_columns(const struct ipex_conv_args *args);

/* Most pixels that depthwise_u8 takes at once, and channels. */
enum { IPEX_DEPTHWISE_PIXELS = 32, IPEX_DEPTHWISE_CHANNELS = 64 };

/* The body of depthwise_bf16y: a level's kernel leaves a few lines in f32 at `stage`, from where
 * they are rounded, n elements at a time, to the y-th of args' y and behind. */
struct ipex_depthwise_rounding {
    void (*kernel)(const struct ipex_depthwise_args *, int64_t, int64_t, void *);
    void (*round)(const struct ipex_depthwise_args *args, const float *x, int64_t y, int64_t n);
};

void ipex_depthwise_rounded(const struct ipex_depthwise_args *args,
                            const struct ipex_depthwise_rounding *by, int64_t job_begin,
                            int64_t job_end, float *stage);

/* One window of a pool, cut at the borders of x: taps [h, h_end) x [w, w_end), where tap (i, j) is
 * row row + i * dilation_h, column column + j * dilation_w of x. */
struct ipex_pool_window {
    int64_t row, column, h, h_end, w, w_end;
};

/* First and end of the taps i in [0, kernel) with 0 <= start + i * dilation < size. */
static inline void ipex_pool_taps(int64_t start, int64_t dilation, int64_t kernel, int64_t size,
                                  int64_t *ret_begin, int64_t *ret_end) {
    const int64_t begin = start < 0 ? ipex_div_up(-start, dilation) : 0;
    int64_t end = start >= size ? 0 : ipex_div_up(size - start, dilation);
    if (end > kernel)
        end = kernel;
    *ret_begin = begin;
    *ret_end = end;
}

static inline struct ipex_pool_window ipex_pool_window(const struct ipex_pool_args *args,
                                                       int64_t line, int64_t pixel) {
    struct ipex_pool_window ret;
    ret.row = line * args->stride_h - args->pad_top;
    ret.column = pixel * args->stride_w - args->pad_left;
    ipex_pool_taps(ret.row, args->dilation_h, args->kernel_h, args->height, &ret.h, &ret.h_end);
    ipex_pool_taps(ret.column, args->dilation_w, args->kernel_w, args->width, &ret.w, &ret.w_end);
    return ret;
}

/* What avg_pool divides by: the taps inside x, or, with count_pad, inside x plus its padding. */
static inline int64_t ipex_pool_divisor(const struct ipex_pool_args *args,
                                        const struct ipex_pool_window *window) {
    if (!args->count_pad)
        return (window->h_end - window->h) * (window->w_end - window->w);
    int64_t begin_h, end_h, begin_w, end_w;
    ipex_pool_taps(window->row + args->pad_top, args->dilation_h, args->kernel_h,
                   args->height + args->pad_top + args->pad_bottom, &begin_h, &end_h);
    ipex_pool_taps(window->column + args->pad_left, args->dilation_w, args->kernel_w,
                   args->width + args->pad_left + args->pad_right, &begin_w, &end_w);
    return (end_h - begin_h) * (end_w - begin_w);
}

/* Rows: the dims before the innermost, counted row-major. Where `lead` dims are counted, the
 * product of dims [first, lead). */
static inline int64_t ipex_row_count(const int64_t *dims, int32_t first, int32_t lead) {
    int64_t ret = 1;
    for (int32_t i = first; i < lead; i++)
        ret *= dims[i];
    return ret;
}

int64_t ipex_row_offset(const int64_t *dims, const int64_t *stride, int32_t lead, int64_t row);

/* A move or fill of one dim has rows of one element, since its job is an element. */
static inline int32_t ipex_move_lead(int32_t rank) {
    return rank > 1 ? rank - 1 : 1;
}

static inline int64_t ipex_move_length(const int64_t *dims, int32_t rank) {
    return rank > 1 ? dims[rank - 1] : 1;
}

#endif
