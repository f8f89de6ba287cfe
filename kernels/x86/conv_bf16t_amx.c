/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on bf16 with tdpbf16ps (profile bf16-amx). */
#define CONV_X         uint16_t
#define CONV_K_PER_ROW 2
#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/amx_tile.h"
#include "kernels/x86/conv_tiles.h"

#define TILE_DOT(c, a, b) IPEX_TILE_DOT_BF16(c, a, b)

enum { SUMS_ARE_RESULTS = 1 };

/* The bias. */
static inline const float *begin_sums(const struct conv_walk *walk, int64_t panel, float *row) {
    const float *bias = walk->bias + panel * IPEX_PANEL;
    const int64_t columns = tile_columns(walk, panel);
    if (columns == IPEX_PANEL)
        return bias;
    load_columns(row, bias, columns);
    return row;
}

static inline void finish_tile(const struct conv_walk *walk, const struct tile_rows *rows,
                               int64_t panel, float *tile) {
    finish_rows(walk, rows, panel, tile);
}

#include "kernels/x86/conv_tiles_amx.h"
#include "kernels/x86/conv_transpose_walk.h"

/* Rectangles of a transposed convolution are convolutions of their own. */
static void configure_and_walk(const struct conv_walk *walk, int64_t begin, int64_t end) {
    configure(rows_of_tiles(walk->args));
    walk_amx(walk, begin, end);
}

static const struct conv_level level = {CONV_OPERANDS, .walk = walk_amx};
static const struct conv_level transposed = {CONV_OPERANDS, .walk = configure_and_walk};

/* One row fills a sixteenth of a tile: it is left to vectors, which read weights as fast. */
void ipex_k_conv_bf16t__amx(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                            void *scratch) {
    const int64_t rows = rows_of_tiles(args);
    if (rows == 1) {
        IPEX_LEVEL(conv_bf16t)(args, job_begin, job_end, scratch);
        return;
    }
    configure(rows);
    ipex_conv_walk(&level, args, job_begin, job_end);
    ipex_tile_release();
}

void ipex_k_conv_transpose_bf16t__amx(const struct ipex_conv_transpose_args *args,
                                      int64_t job_begin, int64_t job_end, void *scratch) {
    (void)scratch;
    conv_transpose_jobs(&transposed, args, job_begin, job_end);
    ipex_tile_release();
}
