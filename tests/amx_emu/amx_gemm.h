/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the kernels of level amx run here; matrices in bf16 for them, and what tests/amx_model.c
 * says of those. */
#ifndef AMX_GEMM_H
#define AMX_GEMM_H

#include "kernels/jobs.h"
#include "tests/checkkern/checkkern.h"

enum { AMX_TILE = 16, AMX_TILE_K = 32 }; /* rows and columns; elements of K, of bf16 */

/* As kernels_begin. False, and `what` is told as skipped: no kernel of level amx can run here. */
bool amx_kernels_begin(const char *what);

/* y [m][n] = x [m][k] times w, k contiguous in rows that are row elements apart. */
struct amx_gemm {
    struct ipex_conv_args args;
    struct buffer x, w, bias, y;
};

/* Rows of x have `gap` elements of poison behind them. special: infinities, NaNs and denormals in x
 * and the bias, too. */
struct amx_gemm amx_gemm_make(struct rng *rng, int32_t m, int32_t n, int32_t k, int32_t gap,
                              bool special);
void amx_gemm_free(struct amx_gemm *g);

/* y by the kernel, and by the model. */
struct buffer amx_gemm_run(const struct ipex_kernels *kernels, const struct amx_gemm *g);
struct buffer amx_gemm_model(const struct amx_gemm *g);

uint16_t amx_random_bf16(struct rng *rng, bool special);

#endif
