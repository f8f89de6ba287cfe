/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise programs on bytes: kernels/pointwise_bytes.h with plain loops. */
#include "kernels/pointwise_bytes.h"
#include "kernels/ref/ref.h"

static void widen(const uint8_t *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)x[i];
}

static void narrow(const float *x, uint8_t *y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = ref_u8(x[i]);
}

static void look_up(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = table[x[i]];
}

void IPEX_REF(pointwise_u8)(const struct ipex_pointwise_args *args, int64_t job_begin,
                            int64_t job_end, void *scratch) {
    static const struct ipex_byte_loops loops = {widen, narrow, look_up, NULL};
    ipex_pointwise_bytes(&loops, args, job_begin, job_end, scratch);
}
