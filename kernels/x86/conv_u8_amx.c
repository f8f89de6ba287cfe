/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on u8 and i8 with tdpbusd. */
#define CONV_X         uint8_t
#define CONV_K_PER_ROW 4
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/amx_tile.h"
#include "kernels/x86/conv_tiles.h"
#include "kernels/x86/scale_sums.h"

#define TILE_DOT(c, a, b) IPEX_TILE_DOT_U8(c, a, b)

enum { SUMS_ARE_RESULTS = 0 };

static inline const float *begin_sums(const struct conv_walk *walk, int64_t panel, float *row) {
    (void)walk, (void)panel;
    for (int64_t c = 0; c < IPEX_PANEL; c += LANES)
        vec_store(row + c, vec_set(0.0f));
    return row;
}

/* Rows of one line at a time. */
static void finish_tile(const struct conv_walk *walk, const struct tile_rows *rows, int64_t panel,
                        float *tile) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t column = walk->job->group * args->n + panel * IPEX_PANEL;
    const struct sums_bounds bounds = ipex_k_sums_bounds__avx2(args);
    struct tile_rows at = *rows;
    for (int64_t left = rows->count, count; left > 0; left -= count) {
        count = ipex_smaller(left, at.left);
        const int64_t half = (count + 1) / 2;
        const struct sums sums = {
            .bounds = bounds,
            .sum = tile,
            .rows = count,
            .row = IPEX_PANEL,
            .columns = tile_columns(walk, panel),
            .column = column,
            .y = walk->job->image * args->y_image + at.y + column,
            .y_row = args->y_pixel,
            .y_half = half * args->y_pixel,
            .residual = walk->job->image * args->r_image + at.residual + column,
            .r_row = args->r_pixel,
            .r_half = half * args->r_pixel,
        };
        IPEX_LEVEL(scale_sums)(args, &sums);
        for (int64_t r = 0; r < count; r++, tile += IPEX_PANEL)
            next_row(args, &at);
    }
}

#include "kernels/x86/conv_tiles_amx.h"

static const struct conv_level level = {CONV_OPERANDS, .walk = walk_amx};

void ipex_k_conv_u8__amx(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                         void *scratch) {
    (void)scratch;
    configure(rows_of_tiles(args));
    ipex_conv_walk(&level, args, job_begin, job_end);
    ipex_tile_release();
}
