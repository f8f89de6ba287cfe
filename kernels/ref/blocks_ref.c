/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers on f32 whose weights are numbers of 4 or 8 bits in blocks, or of f16. */
#include "format/f16.h"
#include "kernels/ref/blocks_ref.h"

static void blocks_panel(const struct ipex_blocks_args *args, int64_t row, int64_t panel) {
    float chain[IPEX_PANEL];
    ref_blocks_begin(args, panel, chain);
    for (int64_t k = 0; k < args->k; k++)
        for (int64_t c = 0; c < IPEX_PANEL; c++)
            chain[c] =
                fmaf(args->x[row * args->x_row + k],
                     (float)ref_blocks_number(args, panel, k, c) *
                         ref_blocks_scale(args, ref_blocks_at(args, panel, k / args->block, c)),
                     chain[c]);
    ref_blocks_end(args, row, panel, chain);
}

void IPEX_REF(linear_blocks_f32)(const struct ipex_blocks_args *args, int64_t job_begin,
                                 int64_t job_end, void *scratch) {
    (void)scratch;
    ref_blocks_jobs(args, job_begin, job_end, blocks_panel);
}

static void f16_panel(const struct ipex_blocks_args *args, int64_t row, int64_t panel) {
    const uint16_t *w = (const uint16_t *)(const void *)(args->w + panel * ipex_blocks_panel(args));
    float chain[IPEX_PANEL];
    ref_blocks_begin(args, panel, chain);
    for (int64_t k = 0; k < args->k; k++, w += IPEX_PANEL)
        for (int64_t c = 0; c < IPEX_PANEL; c++)
            chain[c] = fmaf(args->x[row * args->x_row + k], ipex_float_of_f16(w[c]), chain[c]);
    ref_blocks_end(args, row, panel, chain);
}

void IPEX_REF(linear_f16)(const struct ipex_blocks_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    (void)scratch;
    ref_blocks_jobs(args, job_begin, job_end, f16_panel);
}
