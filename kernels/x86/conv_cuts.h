/* SPDX-License-Identifier: Apache-2.0 */
/* How a convolution is cut before it is walked: panels, parts of K, lines that go together. What is
 * done once a job, a part or a line is here, the same code for every level; kernels/x86/conv_walk.h
 * cuts lines into register blocks, each level its own. */
#ifndef IPEX_KERNELS_X86_CONV_CUTS_H
#define IPEX_KERNELS_X86_CONV_CUTS_H

#include <stdbool.h>

#include "kernels/jobs.h"

struct conv_block; /* kernels/x86/conv_walk.h */
struct few_groups;
struct ipex_act_rows;
struct conv_part;
struct conv_walk;

/* What a level brings. walk: panels [begin, end) of a job; where that is ipex_conv_walk_blocks,
 * also lines: a part of them, panels_for: how many panels a block of so many rows takes when so
 * many are left, of so many columns (no matter how many: where its rows are of two lines), and run:
 * computes b's blocks, b being the last one then, and says whether they applied b->act.
 * prefetches_y: its blocks use ahead_others. fetches_next: those of two panels and many rows use
 * far_first and far_step. */
struct conv_level {
    void (*walk)(const struct conv_walk *walk, int64_t begin, int64_t end);
    void (*lines)(const struct conv_walk *walk, const struct conv_part *part, int64_t begin,
                  int64_t end);
    int32_t x_size, k_per_row;       /* bytes of an element of x; what a row of a tile holds */
    int32_t panels_widened;          /* x is widened for so many panels at once; 0: read in place */
    int32_t max_rows, max_rows_half; /* max_rows_half: of products of up to 8 columns */
    int32_t max_rows_3;              /* of products of three panels, the last more than half */
    int32_t panels_apart;            /* of so many or more: they lie apart (conv_walk.h); 0: none */
    int64_t (*panels_for)(int64_t rows, int64_t panels_left, int64_t columns_left);
    bool (*run)(struct conv_block *b, int64_t rows, int64_t panels);
    void (*few)(const struct few_groups *groups, int64_t columns); /* conv_few.h; or NULL */
    void (*activate)(const struct ipex_act_rows *rows);            /* with few */
    bool prefetches_y, fetches_next;
    bool sums;  /* its blocks leave sums: K is not cut */
    bool fills; /* blocks of all rows cost less than those of nearly all */
    bool dots;  /* by AVX-VNNI (kernels/x86/conv_u8_avx2.c) */
};

/* How lines are cut into register blocks: one, or two at once, which go together where that makes
 * fewer, fuller blocks. */
struct conv_line_cuts {
    struct ipex_line_cut line, pair;
    bool pairs;
};

/* What stays the same over one part of K: `k_count` elements from k on of each of `segments`
 * segments from `segment` on, which are all of a segment, or of column `column` of it, or some of
 * one. Pixels [pixel, pixel_end) take it. next: floats from its weights to those that are used
 * after all of its `blocks` blocks of rows; 0: nobody fetches them. */
struct conv_part {
    int64_t column, segment, segments, k, k_count;
    int64_t pixel, pixel_end;
    struct conv_line_cuts lines; /* of those pixels */
    int64_t next, blocks;
    bool first, last;
};

/* How every job of a convolution is cut into register blocks: whole lines, and an image's last one;
 * and the panels that are taken over all lines before the next ones. */
struct conv_cuts {
    struct conv_line_cuts lines;
    struct ipex_line_cut last;
    bool may_pair;
    bool apart; /* a matrix whose blocks have panels apart */
    int64_t panels;
    int64_t at_once; /* see blocks_at_once */
    int64_t most;    /* rows of a block */
};

/* Most bytes of y, as f32, of blocks at once that leave it in a stage (conv_walk.h). */
enum { CONV_STAGED_BYTES = 4096 };

/* A job, with the bases of its image and group. */
struct conv_walk {
    const struct conv_level *level;
    const struct conv_cuts *cuts;
    const struct ipex_conv_args *args;
    const struct ipex_conv_job *job;
    const void *x;
    const float *w, *bias, *residual;
    float *y;
    const uint16_t *residual_bf16;
    uint16_t *y_bf16;
    int64_t w_kw, w_kh; /* from a tap's weights to the next tap's, and to the next kernel row's */
    bool streams;       /* x and y, through caches that keep the weights */
    bool fetches_y;     /* see fetch_y */
};

/* A line, or two that go together: those that take the same segments, each with half a block's
 * rows, where the part's cuts say so. */
struct conv_lines {
    int64_t count;
    struct ipex_conv_run run;
    struct ipex_line_cut cut;
};

struct conv_lines ipex_conv_lines(const struct conv_walk *walk, const struct conv_part *part,
                                  int64_t line);

/* Where taps are left out, or columns: the pixels from `first` on that take the same of a part,
 * what that is of `all`, and where they end. Pixels that take nothing begin their chains in the
 * first part, in a piece of no segments; in others theirs has no blocks. */
int64_t ipex_conv_piece(const struct conv_walk *walk, const struct conv_part *part,
                        const struct conv_lines *all, int64_t first, struct conv_lines *ret);

/* streams: x and y go through caches that keep the weights. */
struct conv_cuts ipex_conv_cuts(const struct conv_level *level, const struct ipex_conv_args *args,
                                bool streams);

/* The walk of levels that have blocks: panels [begin, end), part by part. */
void ipex_conv_walk_blocks(const struct conv_walk *walk, int64_t begin, int64_t end);

/* One job of a convolution: of walk's, which has none yet. */
void ipex_conv_walk_job(struct conv_walk *walk, struct ipex_conv_job job);

/* A kernel's whole body: jobs [job_begin, job_end). */
void ipex_conv_walk(const struct conv_level *level, const struct ipex_conv_args *args,
                    int64_t job_begin, int64_t job_end);

#endif
