/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution on u8 x and i8 weights. Instructions that add products of neighbouring
 * bytes add those of a few kernel rows here: a vector has a word per channel, and in it an element
 * of each of some rows of x (a stack). The stacks of the columns that some pixels see are made
 * once, in L1; a pixel's sum is then as many products as the kernel has columns, times stacks of
 * rows. Sums become results as those of others do. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_BYTES_H
#define IPEX_KERNELS_X86_DEPTHWISE_BYTES_H

#include "kernels/jobs.h"
#include "kernels/x86/scale_sums.h"

/* What a job has for SUMS_COLUMNS channels, or the rest. `groups`: stacks of a column. */
struct stacks {
    const struct ipex_conv_args *args;
    struct ipex_depthwise_columns columns;
    int64_t channel, channels, groups;
    /* vectors [vector of channels][kernel column][group], [column][group], [pixel][vector] */
    float *weights, *x, *sums;
};

/* A level's vectors (kernels/x86/depthwise_bytes_body.h). */
struct depthwise_level {
    int32_t rows, lanes; /* of a stack; channels of a vector */
    void (*weights)(const struct stacks *s);
    /* Of `count` columns from x on, of n channels. */
    void (*columns)(const struct stacks *s, const uint8_t *x, int64_t count, int64_t n);
    /* Sums of `pixels` pixels for one vector of channels; of three rows and three taps. */
    void (*multiply)(const struct stacks *s, const float *weights, float *sums, int64_t pixels);
    void (*multiply_3)(const struct stacks *s, const float *weights, float *sums, int64_t pixels);
    void (*scale)(const struct ipex_conv_args *args, const struct sums *sums);
};

/* A kernel's whole body: jobs [job_begin, job_end). */
void ipex_depthwise_bytes(const struct depthwise_level *level, const struct ipex_conv_args *args,
                          int64_t job_begin, int64_t job_end, void *scratch);

#endif
