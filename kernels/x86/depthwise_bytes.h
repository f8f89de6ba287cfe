/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution on u8 x and i8 weights. Instructions multiply words of four bytes, and add
 * the products of a word.
 *
 * Of groups of one channel a word has a channel's element of each of four rows of x, or zeros
 * where there are fewer (a stack). The stacks of the columns that some pixels see are made once, in
 * L1; a pixel's sum is then as many products as the kernel has columns, times stacks of rows.
 *
 * Groups of 4, 8 or 16 channels are taken in sets (format/tile.h), where they lie: a word has four
 * neighbouring inputs. A load repeats the four words of a set in all quarters of a vector, and the
 * file has the weights such that no lane is idle. A group's inputs lie in 1, 2 or 4 neighbouring
 * lanes, which are added when all taps are done.
 *
 * Sums become results as those of others do. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_BYTES_H
#define IPEX_KERNELS_X86_DEPTHWISE_BYTES_H

#include "kernels/jobs.h"
#include "kernels/x86/scale_sums.h"

/* What a job has for IPEX_DEPTHWISE_CHANNELS channels, or the rest. */
struct stacks {
    const struct ipex_conv_args *args;
    struct ipex_depthwise_columns columns;
    int64_t channel, channels;
    int64_t groups;     /* stacks of a column */
    float *weights, *x; /* as a level stacks them */
    float *sums;        /* [pixel][channel] */
};

/* Rows of bytes, `row` apart, in columns that are `step` apart. Of fewer than 8 channels those
 * before them can be read, too. */
struct byte_rows {
    const uint8_t *x;
    int64_t rows, row, columns, step, channels;
};

/* A level's part (kernels/x86/depthwise_bytes_body.h). Sums are of `pixels` pixels, for one vector
 * of channels or one set; _3: of windows of 3x3. */
struct depthwise_level {
    int32_t lanes, least_to_roll;
    /* Vectors [vector of channels][column][group]. */
    void (*stack)(const struct byte_rows *from, float *to);
    /* Stacks and sums of windows of 3x3 whose columns follow each other, of least_to_roll channels
     * or more. */
    void (*roll_3)(const struct byte_rows *from, const float *weights, float *sums, int64_t pixels);
    void (*multiply)(const struct stacks *s, const float *x, const float *weights, float *sums,
                     int64_t pixels);
    void (*multiply_3)(const struct stacks *s, const float *x, const float *weights, float *sums,
                       int64_t pixels);
    void (*multiply_set)(const struct ipex_conv_args *args, const uint8_t *x, const int8_t *w,
                         float *sums, int64_t pixels);
    void (*multiply_set_3)(const struct ipex_conv_args *args, const uint8_t *x, const int8_t *w,
                           float *sums, int64_t pixels);
    void (*scale)(const struct ipex_conv_args *args, const struct sums *sums);
};

/* Pixels of a block. The last one of a line may have some that the one before has, too; of fewer
 * pixels than a block all its rows are one of them. */
enum { BLOCK_PIXELS = 4 };

static inline int64_t ipex_block_step(int64_t pixels) {
    return pixels < BLOCK_PIXELS ? 1 : BLOCK_PIXELS;
}

/* Levels' products of sets. */
void ipex_k_multiply_set__avx2(const struct ipex_conv_args *args, const uint8_t *x, const int8_t *w,
                               float *sums, int64_t pixels);
void ipex_k_multiply_set_3__avx512_vnni(const struct ipex_conv_args *args, const uint8_t *x,
                                        const int8_t *w, float *sums, int64_t pixels);

/* A kernel's whole body: jobs [job_begin, job_end). */
void ipex_depthwise_bytes(const struct depthwise_level *level, const struct ipex_conv_args *args,
                          int64_t job_begin, int64_t job_end, void *scratch);

#endif
