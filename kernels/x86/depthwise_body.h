/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution for either vector width: register blocks of up to 8 pixels x one vector of
 * channels. Each tap is one load of weights and one fma with x from memory per pixel; the windows
 * that networks use slide or roll (kernels/x86/depthwise_slide.h, depthwise_roll.h; which of them:
 * depthwise_choice.h), narrow groups have blocks of their own (kernels/x86/depthwise_groups.h). The
 * chain of an output is that of kernels/ref/depthwise_ref.c. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_BODY_H
#define IPEX_KERNELS_X86_DEPTHWISE_BODY_H

#include <string.h>

#include "kernels/x86/rows.h"
#include "kernels/x86/vec_math.h"

enum { DEPTHWISE_ROWS = 8 };

/* Pixels of one line, or of two, all channels. Strides in floats. */
struct depthwise_block {
    const float *x, *w, *bias, *residual;
    float *y;
    int64_t x_row, x_kh, x_kw, w_tap, y_row, y_line, r_row, r_line;
    int64_t x_last;                    /* from a kernel row's first tap to its last */
    struct ipex_kernel_rows rows, low; /* that the line takes, and of two lines the lower one */
    int64_t apart;                     /* rows of x from one line to the other */
    /* For blocks that roll, so that they need not multiply for every vector of channels: */
    int64_t w_begin, x_begin; /* to the taps of rows.begin and the elements they take */
    int64_t w_apart;          /* from a row's taps to those `apart` rows on */
    int64_t kernel_h, kernel_w, channels;
    float lo, hi;
};

/* Vectors of channels [c, end); the last one ends there. */
#define DW_EACH_VECTOR                                                                             \
    for (; c < end; c = c + LANES < end && c + 2 * LANES > end ? end - LANES : c + LANES)
#define DW_INIT(r)         vec acc##r = init;
#define DW_TAP(r)          acc##r = vec_fma(vec_load(AT(t0, t1, x_row, r)), w, acc##r);
#define DW_TAP_CUT(r)      acc##r = vec_fma(vec_load_masked(AT(t0, t1, x_row, r), mask), w, acc##r);
#define DW_RESIDUAL(r)     acc##r = vec_add(acc##r, vec_load(z + (r)*z_row));
#define DW_RESIDUAL_CUT(r) acc##r = vec_add(acc##r, vec_load_masked(z + (r)*z_row, mask));
#define DW_STORE(r)        vec_store(y + (r)*y_row, vec_clip(acc##r, lo, hi));
#define DW_STORE_CUT(r)    vec_store_masked(y + (r)*y_row, mask, vec_clip(acc##r, lo, hi));
/* What becomes of finished chains. Addresses are read once: for all that compilers know, a store
 * may change what the block says of them (3x3 at 28x28 takes 0.93 of the time). */
#define DW_FINISH(RESIDUALS, STORES)                                                               \
    if (b->residual) {                                                                             \
        const float *z = b->residual + c;                                                          \
        const int64_t z_row = b->r_row, z_line = b->r_line;                                        \
        (void)z_line;                                                                              \
        RESIDUALS                                                                                  \
    }                                                                                              \
    const vec lo = vec_set(b->lo), hi = vec_set(b->hi);                                            \
    float *y = b->y + c;                                                                           \
    const int64_t y_row = b->y_row, y_line = b->y_line;                                            \
    (void)y_line;                                                                                  \
    STORES

/* MR pixels, channels [c, end) by vectors; TAP, RESIDUAL and STORE are for whole or cut ones. */
#define DEPTHWISE_VECTOR(MR, SUFFIX, TAP, RESIDUAL, STORE)                                         \
    static __attribute__((noinline)) void depthwise_##MR##SUFFIX(                                  \
        const struct depthwise_block *b, int64_t c, int64_t end, vec_mask mask) {                  \
        enum { HALF = (MR + 1) / 2 };                                                              \
        const int64_t x_row = b->x_row;                                                            \
        DW_EACH_VECTOR {                                                                           \
            const vec init = vec_load_masked(b->bias + c, mask);                                   \
            const float *wp = b->w + b->rows.begin * b->kernel_w * b->w_tap + c;                   \
            ROWS_##MR(DW_INIT) for (int64_t i = b->rows.begin; i < b->rows.end; i++) {             \
                const float *t0 = b->x + i * b->x_kh + c, *t1 = t0 + HALF * x_row;                 \
                for (int64_t j = 0; j < b->kernel_w; j++) {                                        \
                    const vec w = vec_load(wp);                                                    \
                    ROWS_##MR(TAP) wp += b->w_tap;                                                 \
                    t0 += b->x_kw;                                                                 \
                    t1 += b->x_kw;                                                                 \
                }                                                                                  \
            }                                                                                      \
            DW_FINISH(ROWS_##MR(RESIDUAL), ROWS_##MR(STORE))                                       \
        }                                                                                          \
    }

/* With AVX-512 a mask costs nothing. */
#if VEC_REGISTERS == 32
#define DEPTHWISE(MR) DEPTHWISE_VECTOR(MR, _cut, DW_TAP_CUT, DW_RESIDUAL_CUT, DW_STORE_CUT)
#define WHOLE_APART   0
#else
#define DEPTHWISE(MR)                                                                              \
    DEPTHWISE_VECTOR(MR, _whole, DW_TAP, DW_RESIDUAL, DW_STORE)                                    \
    DEPTHWISE_VECTOR(MR, _cut, DW_TAP_CUT, DW_RESIDUAL_CUT, DW_STORE_CUT)
#define WHOLE_APART 1
#endif

#define ALL_PIXELS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
ALL_PIXELS(DEPTHWISE)

#include "kernels/x86/depthwise_slide.h"
#include "kernels/x86/depthwise_roll.h"
#include "kernels/x86/depthwise_choice.h"

/* Activations that are not clamps: a pass over the pixels that the block before has written. Those
 * of this one have not reached L1 yet: loads would wait for them. */
static inline void depthwise_activate(const struct ipex_depthwise_args *args, float *y,
                                      int64_t pixels, struct ipex_act_rows *pending) {
    if (ipex_act_is_clamp(args->act))
        return;
    IPEX_LEVEL(activate)(pending);
    *pending = ipex_act_rows(y, pixels, args->channels, args->y_pixel, args->act, args->act_a,
                             args->act_b);
}

static inline struct ipex_kernel_rows rows_of_line(const struct ipex_depthwise_args *args,
                                                   int64_t line) {
    return ipex_kernel_rows(&args->padding, args->lines, line, args->kernel_h);
}

/* Whether a line and the next one are one block: the rows of x that both see are those that both
 * take. Where windows slide, at most one row above and one below is left out. */
static inline bool depthwise_pairs(const struct ipex_depthwise_args *args, enum depthwise_kind kind,
                                   int64_t line) {
    const struct ipex_kernel_rows upper = rows_of_line(args, line);
    const struct ipex_kernel_rows lower = rows_of_line(args, line + 1);
    const int64_t apart = depthwise_lines_apart(args), rows = args->kernel_h;
    if (kind_slides(kind) && (upper.begin > 1 || lower.end < rows - 1))
        return false;
    return lower.begin == (upper.begin > apart ? upper.begin - apart : 0) &&
           upper.end == (lower.end + apart < rows ? lower.end + apart : rows);
}

/* All channels of a block of `rows` pixels in each of `lines` lines. */
static inline void depthwise_rows(const struct ipex_depthwise_args *args,
                                  const struct depthwise_block *b, const uint8_t *blocks,
                                  int64_t rows, int64_t lines, struct ipex_act_rows *pending) {
    const int64_t whole = blocks[rows] ? blocks[rows] : DEPTHWISE_WHOLE + rows;
    /* A last vector that overlaps the one before computes some channels once more. */
    const bool overlaps = b->channels >= LANES && b->residual != b->y;
    const int64_t c = overlaps ? b->channels : b->channels / LANES * LANES;
    if (c > 0)
        depthwise_run_block(b, 0, c, vec_first(LANES), whole);
    struct depthwise_block line = *b;
    for (int64_t l = 0; l < lines; l++) {
        line.rows = l == 0 ? b->rows : b->low;
        if (c < b->channels)
            depthwise_run_block(&line, c, c + LANES, vec_first(b->channels - c),
                                DEPTHWISE_CUT + rows);
        depthwise_activate(args, line.y, rows, pending);
        line.x += args->x_line;
        line.y += b->y_line;
        if (line.residual)
            line.residual += b->r_line;
    }
}

/* The block that begins a line, of so many lines. */
static inline struct depthwise_block depthwise_block_at(const struct ipex_depthwise_args *args,
                                                        int64_t image, int64_t line,
                                                        int64_t lines) {
    struct depthwise_block b = {
        .x = args->x + image * args->x_image + line * args->x_line,
        .w = args->w,
        .bias = args->bias,
        .y = args->y + image * args->y_image + line * args->y_line,
        .x_row = args->x_pixel,
        .x_kh = args->x_kh,
        .x_kw = args->x_kw,
        .x_last = (args->kernel_w - 1) * args->x_kw,
        .w_tap = ipex_channels_pitch(args->channels),
        .y_row = args->y_pixel,
        .y_line = args->y_line,
        .r_row = args->r_pixel,
        .r_line = args->r_line,
        .rows = rows_of_line(args, line),
        .low = rows_of_line(args, line + lines - 1),
        .apart = depthwise_lines_apart(args),
        .kernel_h = args->kernel_h,
        .kernel_w = args->kernel_w,
        .channels = args->channels,
        .lo = act_low(args->act, args->act_a),
        .hi = act_high(args->act, args->act_b),
    };
    b.w_begin = b.rows.begin * b.kernel_w * b.w_tap;
    b.w_apart = b.apart * b.kernel_w * b.w_tap;
    b.x_begin = b.rows.begin * b.x_kh;
    if (args->residual)
        b.residual = args->residual + image * args->r_image + line * args->r_line;
    return b;
}

/* `rows` pixels on. */
static inline void depthwise_block_next(struct depthwise_block *b, int64_t rows) {
    b->x += rows * b->x_row;
    b->y += rows * b->y_row;
    if (b->residual)
        b->residual += rows * b->r_row;
}

/* One line, or two of them together, by those blocks. */
static inline void depthwise_lines(const struct ipex_depthwise_args *args, int64_t image,
                                   const uint8_t *blocks, int64_t line, int64_t lines,
                                   struct ipex_act_rows *pending) {
    const struct ipex_line_cut cut = ipex_cut_line(args->pixels, depthwise_most(blocks));
    struct depthwise_block b = depthwise_block_at(args, image, line, lines);
    for (int64_t i = 0, rows; i < cut.count; i++, depthwise_block_next(&b, rows)) {
        rows = cut.small + (i < cut.larger);
        depthwise_rows(args, &b, blocks, rows, lines, pending);
    }
}

static inline void depthwise_run(const struct ipex_depthwise_args *args, int64_t job_begin,
                                 int64_t job_end) {
    const enum depthwise_kind kind = depthwise_kind(args);
    const uint8_t *one = depthwise_one[kind], *two = depthwise_two(args, kind);
    struct ipex_act_rows pending = {.rows = 0};
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_depthwise_job job = ipex_depthwise_job(args, j);
        for (int64_t line = job.line, lines; line < job.line_end; line += lines) {
            lines = two && line + 1 < job.line_end && depthwise_pairs(args, kind, line) ? 2 : 1;
            depthwise_lines(args, job.image, lines == 2 ? two : one, line, lines, &pending);
        }
    }
    IPEX_LEVEL(activate)(&pending);
}

#include "kernels/x86/depthwise_groups.h"

/* ---- pixels of half a vector or less ---- */

enum { FOLD_TAPS = 49 }; /* with more of them, the copy of the weights would grow */

/* How many neighbours in a line fill a vector where its pixels lie without gaps and windows move by
 * one of them: they are one pixel of so many more channels. Else 1. */
static inline int64_t depthwise_fold(const struct ipex_depthwise_args *args) {
    const int64_t c = args->channels, n = ipex_div(LANES, c);
    const bool dense = args->x_pixel == c && args->x_kw == c && args->y_pixel == c &&
                       (args->residual == NULL || args->r_pixel == c);
    const bool fits = n * c == LANES && args->kernel_h * args->kernel_w <= FOLD_TAPS;
    return dense && fits && args->pixels >= n ? n : 1;
}

static void depthwise_folded(const struct ipex_depthwise_args *args, int64_t n, int64_t job_begin,
                             int64_t job_end) {
    const size_t pixel = (size_t)args->channels * sizeof(float);
    float w[FOLD_TAPS * IPEX_PANEL], bias[LANES];
    for (int64_t c = 0; c < LANES; c += args->channels) {
        memcpy(bias + c, args->bias, pixel);
        for (int64_t tap = 0; tap < args->kernel_h * args->kernel_w; tap++)
            memcpy(w + tap * IPEX_PANEL + c, args->w + tap * IPEX_PANEL, pixel);
    }
    struct ipex_depthwise_args part = *args;
    part.w = w;
    part.bias = bias;
    part.channels = LANES;
    const struct ipex_quotient pixels = ipex_divide(args->pixels, n);
    part.pixels = (int32_t)pixels.whole;
    part.x_pixel = part.y_pixel = part.r_pixel = LANES;
    depthwise_run(&part, job_begin, job_end);
    if (pixels.rest == 0)
        return;
    const int64_t done = pixels.whole * LANES;
    part = *args;
    part.pixels = (int32_t)pixels.rest;
    part.x += done;
    part.y += done;
    if (args->residual)
        part.residual += done;
    depthwise_run(&part, job_begin, job_end);
}

/* Once, not in both loops below. */
__attribute__((noinline)) static void depthwise_jobs(const struct ipex_depthwise_args *args,
                                                     int64_t job_begin, int64_t job_end) {
    const int64_t n = depthwise_fold(args);
    if (args->group_outputs > 1)
        depthwise_groups_run(args, job_begin, job_end);
    else if (n > 1)
        depthwise_folded(args, n, job_begin, job_end);
    else
        depthwise_run(args, job_begin, job_end);
}

void IPEX_LEVEL(depthwise_f32)(const struct ipex_depthwise_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    (void)scratch;
    if (args->pixels_per_job == 0)
        depthwise_jobs(args, job_begin, job_end);
    for (int64_t j = job_begin; args->pixels_per_job > 0 && j < job_end; j++) {
        int64_t job = j;
        const struct ipex_depthwise_args part = ipex_depthwise_part(args, &job);
        depthwise_jobs(&part, job, job + 1);
    }
}

#endif
