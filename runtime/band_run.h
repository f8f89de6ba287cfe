/* SPDX-License-Identifier: Apache-2.0 */
/* The step of a band group: what runtime/band.c prepares and runtime/band_run.c runs. */
#ifndef IPEX_RUNTIME_BAND_RUN_H
#define IPEX_RUNTIME_BAND_RUN_H

#include "kernels/kernels.h"

#define IPEX_BAND_MEMBERS 8 /* a longer group is run as several */

/* What lies between members, in scratch: a window of `rows` rows of a tensor [rows of it][row].
 * Several members may write it, each its slice of the channels; one reads it. Row numbers count
 * from the tensor's topmost border. */
struct ipex_band_buffer {
    int64_t begin; /* bytes from scratch */
    int64_t size;  /* bytes of an element */
    int64_t row;   /* elements, borders included */
    int64_t rows;
    int64_t left, right;           /* elements of the borders of a row, and the gap behind it */
    int64_t top, lines, below;     /* rows: a border, the tensor's lines, a border */
    int32_t border;                /* bytes that stand in borders */
    int64_t above, stride, window; /* line l of the reader reads rows from above + l * stride on */
    int32_t reader;                /* member */
};

/* An operand: in a buffer, `shift` elements from the begin of a row; or buffer is -1. */
struct ipex_band_operand {
    int32_t buffer;
    int64_t shift;
};

struct ipex_band_member {
    ipex_kernel_fn fn;
    uint32_t op;                                   /* which args: of copy and transpose, move */
    int64_t x_size[IPEX_POINTWISE_INPUTS], y_size; /* bytes of an element */
    int64_t at_once; /* lines, at most, between two times that the buffers it reads are filled */
    union {
        struct ipex_conv_args conv;
        struct ipex_depthwise_args depthwise;
        struct ipex_winograd_args winograd;
        struct ipex_pool_args pool;
        struct ipex_pointwise_args pointwise; /* dims[0] images, dims[1] lines */
        struct ipex_resize_args resize;       /* lines_per_job 1 */
        struct ipex_move_args move;           /* dims as of pointwise */
    } args;
    struct ipex_band_operand x[IPEX_POINTWISE_INPUTS], y;
};

struct ipex_band_args {
    struct ipex_band_buffer buffer[IPEX_BAND_MEMBERS]; /* [buffers] */
    int32_t members, buffers;
    int32_t images, lines; /* of the last member's output */
    int32_t lines_per_job, lines_per_band;
    int64_t member_scratch;                            /* bytes from scratch: the members' own */
    struct ipex_band_member member[IPEX_BAND_MEMBERS]; /* [members]: plans hold no more */
};

/* Lays out the buffers for bands of so many lines; bytes of all of them. Does not fall where lines
 * or dims grow. */
int64_t ipex_band_buffers(struct ipex_band_args *args, int64_t lines);

/* The kernel. Job = image * blocks + block of lines_per_job lines. */
void ipex_band_run(const void *args, int64_t job_begin, int64_t job_end, void *scratch);

#endif
