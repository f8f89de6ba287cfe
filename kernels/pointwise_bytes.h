/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise programs on bytes that are run at once: those that change the type alone, quantise, or
 * are of one byte, which run for all that it may be, and are looked up then. All others are the
 * level's pointwise_f32's. */
#ifndef IPEX_KERNELS_POINTWISE_BYTES_H
#define IPEX_KERNELS_POINTWISE_BYTES_H

#include "kernels/jobs.h"

/* A quantisation: x / divisor rounded to a whole number, ties to even, plus zero, from 0 to 255; of
 * a NaN 0. */
struct ipex_quantisation {
    float divisor, zero;
};

/* A level's loops over n neighbours. narrow: from 0 to 255, rounded to nearest, ties to even, of a
 * NaN 0. look_up: of a table of 256 bytes. quantise: NULL where a
 * program that is one runs as others do. */
struct ipex_byte_loops {
    void (*widen)(const uint8_t *x, float *y, int64_t n);
    void (*narrow)(const float *x, uint8_t *y, int64_t n);
    void (*look_up)(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n);
    void (*quantise)(const float *x, uint8_t *y, int64_t n, struct ipex_quantisation to);
};

/* AVX2's, of which a level above it may have some itself. */
struct ipex_byte_loops ipex_byte_loops__avx2(void);

/* A kernel's whole body: jobs [job_begin, job_end). */
void ipex_pointwise_bytes(const struct ipex_byte_loops *loops,
                          const struct ipex_pointwise_args *args, int64_t job_begin,
                          int64_t job_end, void *scratch);

#endif
