/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers on f32 whose weights are numbers of 4 or 8 bits in blocks, or of f16. */
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

/* f16: a sign, 5 bits of exponent, 10 of mantissa. */
static float f16_value(uint16_t bits) {
    const uint32_t sign = (uint32_t)(bits >> 15) << 31, magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00) /* infinite, or NaN, which becomes a quiet one */
        return ref_float(sign | 0x7f800000 | (magnitude > 0x7c00 ? 0x400000 : 0) |
                         (magnitude & 0x3ff) << 13);
    /* denormals are none in f32 */
    const float value = magnitude < 0x400 ? (float)magnitude * 0x1p-24f
                                          : ref_float((magnitude << 13) + (112u << 23));
    return sign ? -value : value;
}

static void f16_panel(const struct ipex_blocks_args *args, int64_t row, int64_t panel) {
    const uint16_t *w = (const uint16_t *)(const void *)(args->w + panel * ipex_blocks_panel(args));
    float chain[IPEX_PANEL];
    ref_blocks_begin(args, panel, chain);
    for (int64_t k = 0; k < args->k; k++, w += IPEX_PANEL)
        for (int64_t c = 0; c < IPEX_PANEL; c++)
            chain[c] = fmaf(args->x[row * args->x_row + k], f16_value(w[c]), chain[c]);
    ref_blocks_end(args, row, panel, chain);
}

void IPEX_REF(linear_f16)(const struct ipex_blocks_args *args, int64_t job_begin, int64_t job_end,
                          void *scratch) {
    (void)scratch;
    ref_blocks_jobs(args, job_begin, job_end, f16_panel);
}
