/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels find their part of a step: a job number taken apart into blocks. Static inline only,
 * so that files with ISA flags may include it. */
#ifndef IPEX_KERNELS_JOBS_H
#define IPEX_KERNELS_JOBS_H

#include "kernels/kernels.h"

static inline int64_t ipex_div_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* A line of pixels in register blocks of nearly equal size, `most` pixels or fewer: the first
 * `larger` of `count` have a pixel more than `small`. */
struct ipex_line_cut {
    int64_t count, small, larger;
};

static inline struct ipex_line_cut ipex_cut_line(int64_t pixels, int64_t most) {
    const int64_t count = ipex_div_up(pixels, most), small = count > 0 ? pixels / count : 0;
    return (struct ipex_line_cut){count, small, pixels - count * small};
}

/* Kernel rows [begin, end) that a line's windows take, of `rows`. */
struct ipex_kernel_rows {
    int64_t begin, end;
};

static inline struct ipex_kernel_rows ipex_kernel_rows(const struct ipex_padding *padding,
                                                       int64_t lines, int64_t line, int64_t rows) {
    const int64_t above = padding->above - line * padding->stride;
    const int64_t below = padding->below - (lines - 1 - line) * padding->stride;
    const int64_t begin = above > 0 ? ipex_div_up(above, padding->dilation) : 0;
    const int64_t end = below > 0 ? rows - ipex_div_up(below, padding->dilation) : rows;
    return begin < end ? (struct ipex_kernel_rows){begin, end} : (struct ipex_kernel_rows){0, rows};
}

/* Panels of one group. */
static inline int64_t ipex_conv_panels(const struct ipex_conv_args *args) {
    return ipex_div_up(args->n, IPEX_PANEL);
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

/* One job of a convolution: lines [line, line_end) of one image, panels [panel, panel_end) of one
 * group. */
struct ipex_conv_job {
    int64_t image, line, line_end, group, panel, panel_end;
};

static inline struct ipex_conv_job ipex_conv_job(const struct ipex_conv_args *args, int64_t job) {
    const int64_t panels = ipex_conv_panels(args);
    const int64_t panel_blocks = ipex_div_up(panels, args->panels_per_job);
    const int64_t line_blocks = ipex_div_up(args->lines, args->lines_per_job);
    struct ipex_conv_job ret;
    ret.panel = job % panel_blocks * args->panels_per_job;
    job /= panel_blocks;
    ret.group = job % args->groups;
    job /= args->groups;
    ret.line = job % line_blocks * args->lines_per_job;
    ret.image = job / line_blocks;
    ret.panel_end = ret.panel + args->panels_per_job;
    if (ret.panel_end > panels)
        ret.panel_end = panels;
    ret.line_end = ret.line + args->lines_per_job;
    if (ret.line_end > args->lines)
        ret.line_end = args->lines;
    return ret;
}

static inline int64_t ipex_conv_line_pixels(const struct ipex_conv_args *args, int64_t line) {
    return line == args->lines - 1 ? args->last_pixels : args->pixels;
}

/* A transposed convolution is cut like a convolution. */
static inline struct ipex_conv_job
ipex_conv_transpose_job(const struct ipex_conv_transpose_args *args, int64_t job) {
    const struct ipex_conv_args grid = {
        .lines = args->lines,
        .groups = args->groups,
        .n = args->n,
        .lines_per_job = args->lines_per_job,
        .panels_per_job = args->panels_per_job,
    };
    return ipex_conv_job(&grid, job);
}

/* One job of a winograd convolution: tiles [tile, tile_end), panels [panel, panel_end). */
struct ipex_winograd_job {
    int64_t tile, tile_end, panel, panel_end;
};

static inline struct ipex_winograd_job ipex_winograd_job(const struct ipex_winograd_args *args,
                                                         int64_t job) {
    const int64_t tiles = ipex_winograd_tiles(args), panels = ipex_div_up(args->n, IPEX_PANEL);
    const int64_t panel_blocks = ipex_div_up(panels, args->panels_per_job);
    struct ipex_winograd_job ret;
    ret.tile = job / panel_blocks * args->tiles_per_job;
    ret.tile_end = ret.tile + args->tiles_per_job;
    if (ret.tile_end > tiles)
        ret.tile_end = tiles;
    ret.panel = job % panel_blocks * args->panels_per_job;
    ret.panel_end = ret.panel + args->panels_per_job;
    if (ret.panel_end > panels)
        ret.panel_end = panels;
    return ret;
}

/* Where a tile begins, and how many of its rows and columns exist: of its 6 x 6 inputs and of its
 * 4 x 4 outputs, all a dilation apart. */
struct ipex_winograd_tile {
    int64_t image, line, pixel;
    int64_t rows_in, columns_in, rows_out, columns_out;
};

/* Tile `tile` along an axis of `size` outputs: its first output, and how many it has. Outputs that
 * lie a dilation apart are an image of their own; the first images are the longer ones. */
static inline int64_t ipex_winograd_along(int64_t size, int64_t dilation, int64_t tile,
                                          int64_t *ret_count) {
    const int64_t least = size / dilation, longer = size % dilation;
    const int64_t tiles_longer = ipex_div_up(least + 1, IPEX_WINOGRAD_TILE);
    const bool in_longer = tile < longer * tiles_longer;
    const int64_t tiles = in_longer ? tiles_longer : ipex_div_up(least, IPEX_WINOGRAD_TILE);
    const int64_t rest = in_longer ? tile : tile - longer * tiles_longer;
    const int64_t image = in_longer ? rest / tiles : longer + rest / tiles;
    const int64_t at = rest % tiles * IPEX_WINOGRAD_TILE, left = least + in_longer - at;
    *ret_count = left < IPEX_WINOGRAD_TILE ? left : IPEX_WINOGRAD_TILE;
    return image + at * dilation;
}

static inline struct ipex_winograd_tile ipex_winograd_tile(const struct ipex_winograd_args *args,
                                                           int64_t tile) {
    const int64_t across = ipex_winograd_tiles_along(args->pixels, args->dilation_w);
    const int64_t down = ipex_winograd_tiles_along(args->lines, args->dilation_h);
    struct ipex_winograd_tile ret;
    ret.image = tile / across / down;
    ret.line =
        ipex_winograd_along(args->lines, args->dilation_h, tile / across % down, &ret.rows_out);
    ret.pixel =
        ipex_winograd_along(args->pixels, args->dilation_w, tile % across, &ret.columns_out);
    ret.rows_in = ret.rows_out + 2;
    ret.columns_in = ret.columns_out + 2;
    return ret;
}

/* A job's scratch in floats: v [36][tiles][channels], m [36][tiles][columns], what one vector of a
 * tile holds between its two transforms [36][16], and the bias of the products, zeros. Rows are 64
 * bytes longer than their data, and the 36 matrices lie an odd number of cache lines apart, so that
 * neither the rows of one product nor the 36 places of one tile share a few sets of the L1 cache.
 */
struct ipex_winograd_space {
    int64_t v_row, v_point, m_row, m_point, v, m, between, zeros, total;
};

static inline struct ipex_winograd_space
ipex_winograd_space(const struct ipex_winograd_args *args) {
    const int64_t columns = (int64_t)args->panels_per_job * IPEX_PANEL;
    struct ipex_winograd_space ret;
    ret.v_row = ipex_div_up(args->channels, IPEX_PANEL) * IPEX_PANEL + IPEX_PANEL;
    ret.v_point = (args->tiles_per_job * ret.v_row) | IPEX_PANEL;
    ret.m_row = columns + IPEX_PANEL;
    ret.m_point = (args->tiles_per_job * ret.m_row) | IPEX_PANEL;
    ret.v = 0;
    ret.m = ret.v + IPEX_WINOGRAD_POINTS * ret.v_point;
    ret.between = ret.m + IPEX_WINOGRAD_POINTS * ret.m_point;
    ret.zeros = ret.between + IPEX_WINOGRAD_POINTS * IPEX_PANEL;
    ret.total = ret.zeros + columns;
    return ret;
}

/* One job of a depthwise convolution: lines [line, line_end) of one image. */
struct ipex_depthwise_job {
    int64_t image, line, line_end;
};

static inline struct ipex_depthwise_job ipex_depthwise_job(const struct ipex_depthwise_args *args,
                                                           int64_t job) {
    const int64_t line_blocks = ipex_div_up(args->lines, args->lines_per_job);
    struct ipex_depthwise_job ret;
    ret.image = job / line_blocks;
    ret.line = job % line_blocks * args->lines_per_job;
    ret.line_end = ret.line + args->lines_per_job;
    if (ret.line_end > args->lines)
        ret.line_end = args->lines;
    return ret;
}

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

static inline int64_t ipex_row_offset(const int64_t *dims, const int64_t *stride, int32_t lead,
                                      int64_t row) {
    int64_t ret = 0;
    for (int32_t i = lead - 1; i >= 0; i--) {
        ret += row % dims[i] * stride[i];
        row /= dims[i];
    }
    return ret;
}

/* A move or fill of one dim has rows of one element, since its job is an element. */
static inline int32_t ipex_move_lead(int32_t rank) {
    return rank > 1 ? rank - 1 : 1;
}

static inline int64_t ipex_move_length(const int64_t *dims, int32_t rank) {
    return rank > 1 ? dims[rank - 1] : 1;
}

#endif
