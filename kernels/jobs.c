/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of a step, and the scratch that each thread needs: the same at every ISA level. */
#include "kernels/conv_parts.h"
#include "kernels/grid_taps.h"
#include "kernels/resize_taps.h"

struct ipex_quotient ipex_divide(int64_t a, int64_t b) {
    if (b == 1)
        return (struct ipex_quotient){a, 0};
    if (((uint64_t)a | (uint64_t)b) <= UINT32_MAX) {
        const uint32_t small = (uint32_t)a, divisor = (uint32_t)b;
        return (struct ipex_quotient){small / divisor, small % divisor};
    }
    return (struct ipex_quotient){a / b, a % b};
}

struct ipex_line_cut ipex_cut_line(int64_t pixels, int64_t most) {
    const int64_t count = ipex_div_up(pixels, most);
    if (count <= 0)
        return (struct ipex_line_cut){.count = 0};
    const struct ipex_quotient share = ipex_divide(pixels, count);
    return (struct ipex_line_cut){count, share.whole, share.rest, 1};
}

struct ipex_line_cut ipex_fill_line(int64_t pixels, int64_t most) {
    const struct ipex_quotient full = ipex_divide(pixels, most);
    if (full.rest == 0)
        return (struct ipex_line_cut){full.whole, most, 0, 0};
    return (struct ipex_line_cut){full.whole + 1, full.rest, full.whole, most - full.rest};
}

struct ipex_conv_job ipex_conv_job(const struct ipex_conv_args *args, int64_t job) {
    const int64_t panels = ipex_conv_panels(args);
    const int64_t panel_blocks = ipex_div_up(panels, args->panels_per_job);
    const int64_t line_blocks = ipex_div_up(args->lines, args->lines_per_job);
    const struct ipex_quotient panel = ipex_divide(job, panel_blocks);
    const struct ipex_quotient group = ipex_divide(panel.whole, ipex_conv_sets(args));
    const int64_t groups = args->eights ? IPEX_EIGHTS_GROUPS : 1;
    const struct ipex_quotient line = ipex_divide(group.whole, line_blocks);
    struct ipex_conv_job ret;
    ret.panel = panel.rest * args->panels_per_job;
    ret.group = group.rest * groups;
    ret.group_end = ipex_smaller(ret.group + groups, args->groups);
    ret.line = line.rest * args->lines_per_job;
    ret.image = line.whole;
    ret.panel_end = ret.panel + args->panels_per_job;
    if (ret.panel_end > panels)
        ret.panel_end = panels;
    ret.line_end = ret.line + args->lines_per_job;
    if (ret.line_end > args->lines)
        ret.line_end = args->lines;
    return ret;
}

int64_t ipex_conv_part_segments(const struct ipex_conv_args *args, int64_t most) {
    if (most >= (int64_t)args->segments_h * args->segments_w)
        return most;
    if (most < args->segments_w)
        return most > 1 && ipex_conv_leaves_out_taps(args) ? 1 : most;
    int64_t rows = ipex_div(most, args->segments_w);
    while (args->segments_h % rows != 0)
        rows--;
    return rows * args->segments_w;
}

struct ipex_conv_job ipex_conv_transpose_job(const struct ipex_conv_transpose_args *args,
                                             int64_t job) {
    const struct ipex_conv_args grid = {
        .lines = args->lines,
        .groups = args->groups,
        .n = args->n,
        .lines_per_job = args->lines_per_job,
        .panels_per_job = args->panels_per_job,
    };
    return ipex_conv_job(&grid, job);
}

struct ipex_winograd_job ipex_winograd_job(const struct ipex_winograd_args *args, int64_t job) {
    const int64_t tiles = ipex_winograd_tiles(args), panels = ipex_div_up(args->n, IPEX_PANEL);
    const struct ipex_quotient block = ipex_divide(job, ipex_div_up(panels, args->panels_per_job));
    struct ipex_winograd_job ret;
    ret.tile = block.whole * args->tiles_per_job;
    ret.tile_end = ret.tile + args->tiles_per_job;
    if (ret.tile_end > tiles)
        ret.tile_end = tiles;
    ret.panel = block.rest * args->panels_per_job;
    ret.panel_end = ret.panel + args->panels_per_job;
    if (ret.panel_end > panels)
        ret.panel_end = panels;
    return ret;
}

/* Tile `tile` of `side` outputs along an axis of `size`: its first output, and how many it has.
 * Outputs that lie a dilation apart are an image of their own; the first images are the longer
 * ones. */
static int64_t winograd_along(int64_t size, int64_t dilation, int64_t side, int64_t tile,
                              int64_t *ret_count) {
    if (dilation == 1) { /* one image */
        const int64_t rest = size - tile * side;
        *ret_count = rest < side ? rest : side;
        return tile * side;
    }
    const struct ipex_quotient image_size = ipex_divide(size, dilation);
    const int64_t least = image_size.whole, longer = image_size.rest;
    const int64_t tiles_longer = ipex_div_up(least + 1, side);
    const bool in_longer = tile < longer * tiles_longer;
    const int64_t tiles = in_longer ? tiles_longer : ipex_div_up(least, side);
    const int64_t before = in_longer ? 0 : longer;
    const struct ipex_quotient image = ipex_divide(tile - before * tiles_longer, tiles);
    const int64_t at = image.rest * side, left = least + in_longer - at;
    *ret_count = left < side ? left : side;
    return before + image.whole + at * dilation;
}

struct ipex_winograd_tile ipex_winograd_tile(const struct ipex_winograd_args *args,
                                             const struct ipex_winograd_grid *grid, int64_t tile) {
    const struct ipex_quotient pixel = ipex_divide(tile, grid->across);
    const struct ipex_quotient line = ipex_divide(pixel.whole, grid->down);
    int64_t rows, columns; /* not of what is returned: its copy would wait for them to be stored */
    const int64_t first_line =
        winograd_along(args->lines, args->dilation_h, args->tile_h, line.rest, &rows);
    const int64_t first_pixel =
        winograd_along(args->pixels, args->dilation_w, args->tile_w, pixel.rest, &columns);
    return (struct ipex_winograd_tile){
        .image = line.whole,
        .line = first_line,
        .pixel = first_pixel,
        .x_line = args->up ? line.rest : first_line,
        .x_pixel = args->up ? pixel.rest : first_pixel,
        .rows_in = rows + args->side_h - args->tile_h,
        .columns_in = columns + args->side_w - args->tile_w,
        .rows_out = rows,
        .columns_out = columns,
    };
}

static int64_t pixel_blocks(const struct ipex_depthwise_args *args) {
    return args->pixels_per_job > 0 ? ipex_div_up(args->pixels, args->pixels_per_job) : 1;
}

struct ipex_depthwise_args ipex_depthwise_part(const struct ipex_depthwise_args *args,
                                               int64_t *job) {
    const struct ipex_quotient block = ipex_divide(*job, pixel_blocks(args));
    const int64_t first = block.rest * args->pixels_per_job, left = args->pixels - first;
    struct ipex_depthwise_args ret = *args;
    *job = block.whole;
    if (args->pixels_per_job == 0)
        return ret;
    ret.pixels_per_job = 0;
    ret.pixels = (int32_t)ipex_smaller(left, args->pixels_per_job);
    ret.x += first * args->x_pixel;
    if (args->y)
        ret.y += first * args->y_pixel;
    if (args->y_bf16)
        ret.y_bf16 += first * args->y_pixel;
    if (args->residual)
        ret.residual += first * args->r_pixel;
    return ret;
}

struct ipex_depthwise_job ipex_depthwise_job(const struct ipex_depthwise_args *args, int64_t job) {
    const int64_t line_blocks = ipex_div_up(args->lines, args->lines_per_job);
    const struct ipex_quotient image = ipex_divide(job, line_blocks);
    struct ipex_depthwise_job ret;
    ret.image = image.whole;
    ret.line = image.rest * args->lines_per_job;
    ret.line_end = ret.line + args->lines_per_job;
    if (ret.line_end > args->lines)
        ret.line_end = args->lines;
    return ret;
}

int64_t ipex_row_offset(const int64_t *dims, const int64_t *stride, int32_t lead, int64_t row) {
    int64_t ret = 0;
    for (int32_t i = lead - 1; i >= 0; i--) {
        const struct ipex_quotient index = ipex_divide(row, dims[i]);
        ret += index.rest * stride[i];
        row = index.whole;
    }
    return ret;
}

struct ipex_kernel_rows ipex_kernel_rows(const struct ipex_padding *padding, int64_t lines,
                                         int64_t line, int64_t rows) {
    const int64_t above = padding->above - line * padding->stride;
    const int64_t below = padding->below - (lines - 1 - line) * padding->stride;
    const int64_t begin = above > 0 ? ipex_div_up(above, padding->dilation) : 0;
    const int64_t end = below > 0 ? rows - ipex_div_up(below, padding->dilation) : rows;
    return begin < end ? (struct ipex_kernel_rows){begin, end} : (struct ipex_kernel_rows){0, rows};
}

/* Lines at a border, where the first one sees `rows` rows of padding, that see some. */
static int64_t border_lines(int64_t rows, int64_t stride, int64_t lines) {
    return rows > 0 ? ipex_smaller(ipex_div_up(rows, stride), lines) : 0;
}

int64_t ipex_kernel_rows_left_out(const struct ipex_padding *padding, int64_t lines, int64_t rows) {
    int64_t ret = 0;
    if (padding->dilation == 0)
        return 0;
    if (padding->stride == 0) { /* all lines are one */
        const struct ipex_kernel_rows taken = ipex_kernel_rows(padding, lines, 0, rows);
        return lines * (rows - (taken.end - taken.begin));
    }
    const int64_t top = border_lines(padding->above, padding->stride, lines);
    const int64_t bottom = border_lines(padding->below, padding->stride, lines - top);
    for (int64_t i = 0; i < top + bottom; i++) {
        const int64_t line = i < top ? i : lines - 1 - (i - top);
        const struct ipex_kernel_rows taken = ipex_kernel_rows(padding, lines, line, rows);
        ret += rows - (taken.end - taken.begin);
    }
    return ret;
}

struct ipex_conv_run ipex_conv_run(const struct ipex_conv_args *args, int64_t segment,
                                   int64_t segments, int64_t line, int64_t w_kh, int64_t w_kw) {
    const struct ipex_kernel_rows rows =
        ipex_kernel_rows(&args->padding, args->lines, line, args->segments_h);
    const int64_t taps = args->segments_w;
    int64_t begin = segment, end = begin + segments;
    if (begin < rows.begin * taps)
        begin = rows.begin * taps;
    if (end > rows.end * taps)
        end = rows.end * taps;
    if (begin >= end)
        return (struct ipex_conv_run){.segments = 0, .taps = taps};
    const int64_t row = ipex_div(begin, taps), tap = begin - row * taps;
    return (struct ipex_conv_run){
        .segments = end - begin,
        .taps = taps,
        .tap_w = tap,
        .x = row * args->x_kh + tap * args->x_kw,
        .w = row * w_kh + tap * w_kw,
    };
}

static struct ipex_kernel_rows pixel_taps(const struct ipex_conv_args *args, int64_t pixel) {
    return ipex_kernel_rows(&args->padding_w, args->pixels, pixel, args->segments_w);
}

static int64_t taps_end(const struct ipex_conv_args *args, int64_t pixel) {
    const struct ipex_kernel_rows taps = pixel_taps(args, pixel);
    while (++pixel < args->pixels) {
        const struct ipex_kernel_rows other = pixel_taps(args, pixel);
        if (other.begin != taps.begin || other.end != taps.end)
            break;
    }
    return pixel;
}

struct ipex_conv_run ipex_conv_pixel_run(const struct ipex_conv_args *args,
                                         const struct ipex_conv_run *line, int64_t pixel,
                                         int64_t w_kw, int64_t *ret_end) {
    const struct ipex_kernel_rows taps = pixel_taps(args, pixel);
    struct ipex_conv_run ret = *line;
    *ret_end = taps_end(args, pixel);
    if (line->segments <= 1 && args->segments_w > 1) {
        const bool taken = taps.begin <= line->tap_w && line->tap_w < taps.end;
        ret.segments = taken ? line->segments : 0;
        return ret;
    }
    ret.taps = taps.end - taps.begin;
    ret.segments = ipex_div(line->segments, args->segments_w) * ret.taps;
    ret.x += taps.begin * args->x_kw;
    ret.w += taps.begin * w_kw;
    return ret;
}

int64_t ipex_conv_pixel_blocks(const struct ipex_conv_args *args, int64_t most) {
    int64_t blocks = 0;
    for (int64_t begin = 0, end; begin < args->pixels; begin = end) {
        end = taps_end(args, begin);
        blocks += ipex_cut_line(end - begin, most).count;
    }
    return blocks;
}

struct ipex_conv_column ipex_conv_column(const struct ipex_conv_args *args, int64_t i) {
    const struct ipex_padding *padding = &args->padding_w;
    const int64_t before = padding->above > 0 ? padding->above : 0;
    const int64_t behind = padding->below > 0 ? padding->below : 0;
    const int64_t whole = args->columns - behind; /* those from before to here are */
    const int64_t column = i < before ? i : i < before + behind ? whole + i - before : i - behind;
    if (args->columns == 0)
        return (struct ipex_conv_column){.k_count = args->k, .end = args->pixels};
    const int64_t depth = ipex_div(args->k, args->columns);
    return (struct ipex_conv_column){
        .k = column * depth,
        .k_count = depth,
        .begin = border_lines(before - column, padding->stride, args->pixels),
        .end = args->pixels - border_lines(column - whole + 1, padding->stride, args->pixels),
    };
}

int64_t ipex_conv_jobs(const struct ipex_conv_args *args) {
    return args->images * ipex_div_up(args->lines, args->lines_per_job) * ipex_conv_sets(args) *
           ipex_div_up(ipex_conv_panels(args), args->panels_per_job);
}

int64_t ipex_winograd_jobs(const struct ipex_winograd_args *args) {
    return ipex_div_up(ipex_winograd_tiles(args), args->tiles_per_job) *
           ipex_div_up(ipex_div_up(args->n, IPEX_PANEL), args->panels_per_job);
}

int64_t ipex_depthwise_jobs(const struct ipex_depthwise_args *args) {
    return args->images * ipex_div_up(args->lines, args->lines_per_job) * pixel_blocks(args);
}

int64_t ipex_pool_jobs(const struct ipex_pool_args *args) {
    return (int64_t)args->images * args->lines;
}

int64_t ipex_pointwise_jobs(const struct ipex_pointwise_args *args) {
    return ipex_div_up(ipex_row_count(args->dims, 0, args->rank - 1), args->rows_per_job);
}

int64_t ipex_conv_transpose_jobs(const struct ipex_conv_transpose_args *args) {
    return args->images * ipex_div_up(args->lines, args->lines_per_job) * args->groups *
           ipex_div_up(ipex_div_up(args->n, IPEX_PANEL), args->panels_per_job);
}

int64_t ipex_resize_jobs(const struct ipex_resize_args *args) {
    return args->images * ipex_div_up(args->lines, args->lines_per_job);
}

int64_t ipex_grid_jobs(const struct ipex_grid_args *args) {
    return args->images * ipex_div_up(args->places, args->places_per_job);
}

int64_t ipex_gather_jobs(const struct ipex_gather_args *args) {
    return ipex_div_up(args->outer * args->count, args->rows_per_job);
}

int64_t ipex_scatter_jobs(const struct ipex_scatter_args *args) {
    return ipex_div_up(args->rows, args->rows_per_job);
}

int64_t ipex_map_jobs(const struct ipex_map_args *args) {
    return ipex_div_up(ipex_row_count(args->dims, 0, args->rank - 1), args->rows_per_job);
}

size_t ipex_conv_scratch(const struct ipex_conv_args *args) {
    if (args->planar)
        return (size_t)ipex_conv_parts(args, IPEX_PANEL).total * sizeof(float);
    if (args->eights)
        return (size_t)ipex_conv_eights(args, IPEX_EIGHTS_GROUPS).total * sizeof(float);
    return args->spread ? (size_t)ipex_conv_rows(args) * ipex_conv_spread_row(args) : 0;
}

size_t ipex_conv_transpose_scratch(const struct ipex_conv_transpose_args *args) {
    return args->touching ? (size_t)args->k * IPEX_PANEL * sizeof(float) : 0;
}

size_t ipex_winograd_scratch(const struct ipex_winograd_args *args) {
    return (size_t)ipex_winograd_space(args).total * sizeof(float);
}

size_t ipex_pointwise_scratch(const struct ipex_pointwise_args *args) {
    const size_t blocks = (size_t)(args->registers + args->inputs + 1);
    return blocks * IPEX_POINTWISE_BLOCK * sizeof(float);
}

struct ipex_depthwise_columns ipex_depthwise_columns(const struct ipex_conv_args *args) {
    int64_t a = args->x_pixel, b = args->segments_w > 1 ? args->x_kw : args->x_pixel;
    while (b > 0) { /* the largest that divides both */
        const int64_t rest = ipex_divide(a, b).rest;
        a = b;
        b = rest;
    }
    return (struct ipex_depthwise_columns){
        .step = a,
        .per_pixel = ipex_div(args->x_pixel, a),
        .per_tap = args->segments_w > 1 ? ipex_div(args->x_kw, a) : 0,
    };
}

/* Sums, and stacks of weights and columns, of four rows. */
size_t ipex_depthwise_u8_scratch(const struct ipex_conv_args *args) {
    const struct ipex_depthwise_columns columns = ipex_depthwise_columns(args);
    const int64_t stacks = args->k > 1 ? 0 : ipex_div_up(args->segments_h, 4);
    const int64_t most = (IPEX_DEPTHWISE_PIXELS - 1) * columns.per_pixel +
                         (args->segments_w - 1) * columns.per_tap + 1;
    return (size_t)(IPEX_DEPTHWISE_PIXELS + stacks * (args->segments_w + most)) *
           IPEX_DEPTHWISE_CHANNELS * sizeof(float);
}

size_t ipex_pointwise_u8_scratch(const struct ipex_pointwise_args *args) {
    return ipex_pointwise_scratch(args) +
           (size_t)(args->inputs + 1) * IPEX_POINTWISE_BLOCK * sizeof(float);
}

/* The columns of x and their weights, for every pixel of a line. */
size_t ipex_resize_scratch(const struct ipex_resize_args *args) {
    return (size_t)args->pixels * sizeof(struct ipex_resize_taps);
}

size_t ipex_grid_scratch(void) {
    return IPEX_GRID_SCRATCH;
}
