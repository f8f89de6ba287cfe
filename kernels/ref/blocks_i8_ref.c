/* SPDX-License-Identifier: Apache-2.0 */
/* The same layers on rows that are rounded to i8, block by block. */
#include "kernels/ref/blocks_ref.h"

/* To nearest, ties to even. */
static int32_t rounded(float x) {
    if (!(fabsf(x) < 0x1p31f))
        return INT8_MIN;
    const float whole = rintf(x);
    return whole < INT8_MIN ? INT8_MIN : whole > INT8_MAX ? INT8_MAX : (int32_t)whole;
}

static float top_of(const float *x, int64_t n) {
    uint32_t top = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t bits = ref_bits(x[i]) & ~(UINT32_C(1) << 31);
        top = bits > top ? bits : top;
    }
    return ref_float(top);
}

static void add_block(const struct ipex_blocks_args *args, const float *x, int64_t panel,
                      int64_t block, float chain[IPEX_PANEL]) {
    const int64_t first = block * args->block;
    const int64_t n = ipex_smaller(args->block, args->k - first);
    const float top = top_of(x + first, n), by = ref_flush(top) == 0.0f ? 0.0f : 127.0f / top;
    int32_t sum[IPEX_PANEL] = {0};
    for (int64_t k = first; k < first + n; k++)
        for (int64_t c = 0; c < IPEX_PANEL; c++)
            sum[c] += rounded(x[k] * by) * ref_blocks_number(args, panel, k, c);
    for (int64_t c = 0; c < IPEX_PANEL; c++)
        chain[c] =
            fmaf((float)sum[c] * ref_blocks_scale(args, ref_blocks_at(args, panel, block, c)),
                 top / 127.0f, chain[c]);
}

static void blocks_panel(const struct ipex_blocks_args *args, int64_t row, int64_t panel) {
    float chain[IPEX_PANEL];
    ref_blocks_begin(args, panel, chain);
    for (int64_t block = 0; block < ipex_blocks_count(args); block++)
        add_block(args, args->x + row * args->x_row, panel, block, chain);
    ref_blocks_end(args, row, panel, chain);
}

void IPEX_REF(linear_blocks_i8)(const struct ipex_blocks_args *args, int64_t job_begin,
                                int64_t job_end, void *scratch) {
    (void)scratch;
    ref_blocks_jobs(args, job_begin, job_end, blocks_panel);
}
