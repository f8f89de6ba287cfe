/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of the operator linear_blocks: numbers into tiles, and the scales and zero
 * points of their blocks, [panels][blocks][16 columns] (format/tile.h, format/ops.inc). */
#include "tools/convert/draft.h"
#include "tools/convert/weight_blocks.h"

/* The k-th number of a column. Of 8 bits it is byte k % 4 of row k / 4; of 4 bits it lies in the
 * lower half of byte k % 4 of row k / 8, those from 4 on in the upper halves. */
static void put_number(uint8_t *panel, int32_t bits, int64_t k, int64_t column, unsigned number) {
    const int64_t per_row = bits == 8 ? 4 : IPEX_BLOCK_STEP, in_row = k % per_row;
    panel[(k / per_row * IPEX_PANEL + column) * 4 + in_row % 4] |=
        (uint8_t)(number << in_row / 4 * 4);
}

static void pack_numbers(const struct ipex_plan_weight *w, uint8_t *out) {
    const int64_t k_count = w->source->dims[w->weight_kn ? 0 : 1];
    struct ipex_tiles tiles;
    if (!ipex_tiles_of(w->dtype, w->dims, (unsigned)w->rank, &tiles))
        return;
    for (int64_t n = 0; n < tiles.n; n++) {
        const struct ipex_block_row row = ipex_block_row_of(w->fold, w->source, w->weight_kn, n);
        const uint8_t *numbers = ipex_constant_data(row.numbers) + row.first;
        uint8_t *panel = out + n / IPEX_PANEL * tiles.k_tiles * IPEX_TILE_BYTES;
        for (int64_t k = 0; k < k_count; k++)
            put_number(panel, w->bits, k, n % IPEX_PANEL, numbers[k * row.q_step]);
    }
}

/* Of every block of every output, the scale or the zero point. */
static void pack_parameters(const struct ipex_plan_weight *w, uint8_t *out) {
    const struct ipex_fold *fold = w->fold;
    const int64_t blocks = w->dims[1];
    float *scale = (float *)(void *)out;
    uint16_t *scale_bf16 = (uint16_t *)(void *)out;
    for (int64_t n = 0; n < fold->n; n++) {
        const struct ipex_block_row row = ipex_block_row_of(fold, w->source, w->weight_kn, n);
        for (int64_t b = 0; b < blocks; b++) {
            const int64_t at = (n / IPEX_PANEL * blocks + b) * IPEX_PANEL + n % IPEX_PANEL,
                          k = b * w->block;
            if (w->recipe == IPEX_RECIPE_block_zeros)
                out[at] = ipex_block_zero(&row, k);
            else if (w->dtype == IPEX_DTYPE_bf16)
                scale_bf16[at] = ipex_bf16_of_f64((double)ipex_block_scaled(fold, &row, n, k));
            else
                scale[at] = ipex_block_scaled(fold, &row, n, k);
        }
    }
}

void ipex_pack_blocks(const struct ipex_plan_weight *weight, uint8_t *out) {
    if (weight->recipe == IPEX_RECIPE_block_numbers)
        pack_numbers(weight, out);
    else
        pack_parameters(weight, out);
}
