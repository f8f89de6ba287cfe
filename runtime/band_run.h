/* SPDX-License-Identifier: Apache-2.0 */
/* The step of a band group: what runtime/band.c prepares and runtime/band_run.c runs. */
#ifndef IPEX_RUNTIME_BAND_RUN_H
#define IPEX_RUNTIME_BAND_RUN_H

#include "kernels/kernels.h"

#define IPEX_BAND_MEMBERS 8 /* a longer group is run as several */

/* Between two members: a window of `rows` rows of a tensor [rows of it][row], in scratch. Row
 * numbers count from the tensor's topmost border. */
struct ipex_band_buffer {
    int64_t begin; /* floats from scratch */
    int64_t row;   /* floats, borders included */
    int64_t tap;   /* floats from a row's begin to the reader's leftmost tap of pixel 0 */
    int64_t rows;
    int64_t left, right;       /* floats of the borders of a row */
    int64_t top, lines, below; /* rows: a border, the tensor's lines, a border */
};

struct ipex_band_member {
    ipex_kernel_fn fn;
    bool depthwise; /* which args */
    int64_t x_size; /* bytes of an element of x: 4 but for a first member on bf16 */
    union {
        struct ipex_conv_args conv;
        struct ipex_depthwise_args depthwise;
    } args;
    /* Of the buffer that it reads: line l reads rows from above + l * stride on; not of the first
     * member. */
    int64_t above, stride, window;
    struct ipex_band_buffer buffer; /* that it writes; not of the last member */
};

struct ipex_band_args {
    struct ipex_band_member member[IPEX_BAND_MEMBERS];
    int32_t members;
    int32_t images, lines; /* of the last member's output */
    int32_t lines_per_job, lines_per_band;
    int64_t member_scratch; /* floats from scratch: the members' own */
};

/* Lays out the buffers for bands of so many lines; floats of all of them. Does not fall where lines
 * or dims grow. */
int64_t ipex_band_buffers(struct ipex_band_args *args, int64_t lines);

/* The kernel. Job = image * blocks + block of lines_per_job lines. */
void ipex_band_run(const void *args, int64_t job_begin, int64_t job_end, void *scratch);

#endif
