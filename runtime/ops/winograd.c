/* SPDX-License-Identifier: Apache-2.0 */
/* winograd and upsampled_conv: blocks of tiles whose transforms stay in L2, beside the weights
 * where those fit: every block walks over all weights once, 1 to 4 times a direct
 * convolution's. Where there are too few tiles for all threads, threads share out the panels, and
 * each transforms the input for itself. */
#include "runtime/bind.h"

/* Tiles that a block has at least where there are so many: the weights must be used for this many
 * rows to come fast enough from L2, one of the largest register blocks, or from L3, two. */
#define BLOCK_TILES    14
#define BLOCK_TILES_L3 28

/* Tiles per thread below which threads split panels. */
#define THREAD_TILES 14

static int64_t tile_bytes(const struct ipex_winograd_args *args) {
    return ipex_winograd_products(args) * ((int64_t)args->channels + args->n) *
           (int64_t)sizeof(float);
}

static int64_t weight_bytes(const struct ipex_winograd_args *args) {
    struct ipex_tiles tiles; /* they fit: the weight is there */
    return ipex_tiles_make(IPEX_DTYPE_f32, 1, ipex_winograd_products(args), args->n, args->channels,
                           &tiles)
               ? tiles.bytes
               : 0;
}

/* Tiles of a block at most. Weights that L2 holds, or nearly, with the transforms of a small block
 * are found there by every block: 3/8 of it for both leave room for x and y, which pass, and a
 * block of more tiles gains little. Others come from L3 for every block. With 1 MiB of L2, of the
 * time of blocks that fill L2 with their transforms: 3x3 64->64 at 56x56 0.82, 67->64 at 256x256
 * 0.75, 32->9 at 224x224 0.82. */
static bool weights_far(const struct ipex_setup *setup, const struct ipex_winograd_args *args) {
    return weight_bytes(args) + BLOCK_TILES * tile_bytes(args) > setup->l2_bytes * 11 / 8;
}

static int64_t tiles_that_fit(const struct ipex_setup *setup,
                              const struct ipex_winograd_args *args) {
    const int64_t tile = tile_bytes(args), weights = weight_bytes(args), l2 = setup->l2_bytes;
    if (weights_far(setup, args))
        return ipex_max_i64(BLOCK_TILES_L3, l2 / 2 / tile);
    return ipex_max_i64(BLOCK_TILES, (l2 * 3 / 8 - weights) / tile);
}

static void choose_blocks(const struct ipex_setup *setup, struct ipex_winograd_args *args,
                          int64_t tiles) {
    const int64_t panels = ipex_ceil_div(args->n, IPEX_PANEL), threads = setup->threads;
    const bool split_panels = threads > 1 && tiles < threads * THREAD_TILES;
    int64_t blocks = ipex_ceil_div(tiles, tiles_that_fit(setup, args));
    if (!split_panels)
        blocks = ipex_ceil_div(blocks, threads) * threads;
    args->weights_far = weights_far(setup, args);
    args->cache_l2 = setup->l2_bytes;
    args->tiles_per_job = (int32_t)ipex_ceil_div(tiles, blocks);
    args->panels_per_job = (int32_t)(split_panels ? ipex_ceil_div(panels, threads) : panels);
}

/* Of any division of as many tiles or fewer, so that it grows with them. */
static size_t most_scratch(const struct ipex_setup *setup, const struct ipex_winograd_args *args,
                           int64_t tiles) {
    struct ipex_winograd_args most = *args;
    most.tiles_per_job = (int32_t)ipex_min_i64(tiles, tiles_that_fit(setup, args));
    most.panels_per_job = (int32_t)ipex_ceil_div(args->n, IPEX_PANEL);
    return ipex_winograd_scratch(&most);
}

static bool set_i32(int32_t *field, int64_t value) {
    *field = (int32_t)value;
    return ipex_fits_i32(value) && value >= 0;
}

static bool set_geometry(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output, *r = bind->input[3];
    struct ipex_winograd_args *args = &bind->args.winograd;
    args->x_image = x->strides[0];
    args->x_row = x->strides[1];
    args->x_pixel = x->strides[2];
    args->y_image = y->strides[0];
    args->y_line = y->strides[1];
    args->y_pixel = y->strides[2];
    if (r != NULL) {
        args->r_image = r->strides[0];
        args->r_line = r->strides[1];
        args->r_pixel = r->strides[2];
    }
    return set_i32(&args->images, y->dims[0]) && set_i32(&args->lines, y->dims[1]) &&
           set_i32(&args->pixels, y->dims[2]) && set_i32(&args->channels, x->dims[3]) &&
           set_i32(&args->n, y->dims[3]);
}

/* x begins so many lines and pixels before its first element. */
static void set_operands(struct ipex_bind *bind, int64_t top, int64_t left) {
    const struct ipex_winograd_args *args = &bind->args.winograd;
    IPEX_BIND_REF(bind, winograd, x, 0, -(top * args->x_row + left * args->x_pixel));
    IPEX_BIND_REF(bind, winograd, w, 1, 0);
    if (bind->input[2] != NULL) {
        IPEX_BIND_REF(bind, winograd, bias, 2, 0);
    } else {
        bind->zeros = (size_t)args->n * sizeof(float);
        IPEX_BIND_REF(bind, winograd, bias, IPEX_REF_ZEROS, 0);
    }
    if (bind->input[3] != NULL)
        IPEX_BIND_REF(bind, winograd, residual, 3, 0);
    IPEX_BIND_REF(bind, winograd, y, IPEX_REF_OUTPUT, 0);
}

/* Tiles and dilations are set; the kernel that is computed has so many taps. */
static void finish(struct ipex_bind *bind, int32_t act, int64_t taps) {
    struct ipex_winograd_args *args = &bind->args.winograd;
    args->act = act;
    args->act_a = bind->floats[0];
    args->act_b = bind->floats[1];
    const int64_t tiles = ipex_winograd_tiles(args);
    choose_blocks(bind->setup, args, tiles);
    bind->jobs = ipex_winograd_jobs(args);
    bind->scratch = most_scratch(bind->setup, args, tiles);
    /* Of the direct convolution, so that speeds can be compared. */
    bind->flops = ipex_mul_sat(ipex_info_numel(bind->output), 2 * taps * args->channels);
    const int64_t direct = taps * args->tile_h * args->tile_w; /* products of a tile */
    bind->spared_flops = bind->flops / direct * (direct - ipex_winograd_products(args));
    IPEX_BIND_KERNEL(bind, winograd_f32, winograd);
}

enum ipex_bound ipex_bind_winograd(struct ipex_bind *bind) {
    struct ipex_winograd_args *args = &bind->args.winograd;
    if (!set_geometry(bind))
        return IPEX_BOUND_TOO_LARGE;
    const int32_t kernel_h = bind->ints[IPEX_CONV_KERNEL_H];
    const int32_t kernel_w = bind->ints[IPEX_CONV_KERNEL_W];
    const int64_t points = bind->input[1]->dims[1];
    args->side_h = ipex_winograd_side(kernel_h, kernel_w, points);
    args->side_w = ipex_winograd_side(kernel_w, kernel_h, points);
    args->tile_h = args->side_h - kernel_h + 1;
    args->tile_w = args->side_w - kernel_w + 1;
    args->dilation_h = bind->ints[IPEX_CONV_DILATION_H];
    args->dilation_w = bind->ints[IPEX_CONV_DILATION_W];
    set_operands(bind, bind->ints[IPEX_CONV_PAD_TOP], bind->ints[IPEX_CONV_PAD_LEFT]);
    finish(bind, bind->ints[IPEX_CONV_ACT], (int64_t)kernel_h * kernel_w);
    return IPEX_BOUND;
}

enum ipex_bound ipex_bind_upsampled_conv(struct ipex_bind *bind) {
    struct ipex_winograd_args *args = &bind->args.winograd;
    if (!set_geometry(bind))
        return IPEX_BOUND_TOO_LARGE;
    args->up = args->tile_h = args->tile_w = bind->ints[IPEX_UPSAMPLED_FACTOR];
    args->side_h = args->side_w = 3;
    args->dilation_h = args->dilation_w = 1;
    set_operands(bind, 1, 1);
    finish(bind, bind->ints[IPEX_UPSAMPLED_ACT], 9);
    return IPEX_BOUND;
}
