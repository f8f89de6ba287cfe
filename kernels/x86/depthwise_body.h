/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution for either vector width: register blocks of up to 8 pixels x one vector of
 * channels. Each tap is one load of weights and one fma with x from memory per pixel; 3 x 3 windows
 * at stride 1 load every x of a kernel row once. The chain of an output is that of
 * kernels/ref/depthwise_ref.c. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_BODY_H
#define IPEX_KERNELS_X86_DEPTHWISE_BODY_H

#include "kernels/x86/rows.h"
#include "kernels/x86/vec_math.h"

enum { DEPTHWISE_ROWS = 8 };

/* Pixels of one line, all channels. Strides in floats. */
struct depthwise_block {
    const float *x, *w, *bias, *residual;
    float *y;
    int64_t x_row, x_kh, x_kw, w_tap, y_row, r_row;
    int64_t kernel_h, kernel_w, channels;
    float lo, hi;
};

#define DW_INIT(r)    vec acc##r = init;
#define DW_TAP(r)     acc##r = vec_fma(vec_load(AT(t0, t1, x_row, r)), w, acc##r);
#define DW_TAP_CUT(r) acc##r = vec_fma(vec_load_masked(AT(t0, t1, x_row, r), mask), w, acc##r);
#define DW_RESIDUAL(r)                                                                             \
    acc##r = vec_add(acc##r, vec_load_masked(b->residual + (r)*b->r_row + c, mask));
#define DW_CLAMP(r)     vec_clip(acc##r, lo, hi)
#define DW_STORE(r)     vec_store(b->y + (r)*b->y_row + c, DW_CLAMP(r));
#define DW_STORE_CUT(r) vec_store_masked(b->y + (r)*b->y_row + c, mask, DW_CLAMP(r));

/* MR pixels of one vector of channels from c on; TAP and STORE are for whole or cut vectors. */
#define DEPTHWISE_VECTOR(MR, SUFFIX, TAP, STORE)                                                   \
    static void depthwise_##MR##SUFFIX(const struct depthwise_block *b, int64_t c,                 \
                                       vec_mask mask) {                                            \
        enum { HALF = (MR + 1) / 2 };                                                              \
        const vec init = vec_load_masked(b->bias + c, mask);                                       \
        const int64_t x_row = b->x_row;                                                            \
        const float *wp = b->w + c;                                                                \
        ROWS_##MR(DW_INIT) for (int64_t i = 0; i < b->kernel_h; i++) {                             \
            const float *t0 = b->x + i * b->x_kh + c, *t1 = t0 + HALF * x_row;                     \
            for (int64_t j = 0; j < b->kernel_w; j++) {                                            \
                const vec w = vec_load(wp);                                                        \
                ROWS_##MR(TAP) wp += b->w_tap;                                                     \
                t0 += b->x_kw;                                                                     \
                t1 += b->x_kw;                                                                     \
            }                                                                                      \
        }                                                                                          \
        if (b->residual) {                                                                         \
            ROWS_##MR(DW_RESIDUAL)                                                                 \
        }                                                                                          \
        const vec lo = vec_set(b->lo), hi = vec_set(b->hi);                                        \
        ROWS_##MR(STORE)                                                                           \
    }

#define DEPTHWISE(MR)                                                                              \
    DEPTHWISE_VECTOR(MR, _whole, DW_TAP, DW_STORE)                                                 \
    DEPTHWISE_VECTOR(MR, _cut, DW_TAP_CUT, DW_STORE_CUT)

DEPTHWISE(1)
DEPTHWISE(2)
DEPTHWISE(3)
DEPTHWISE(4)
DEPTHWISE(5)
DEPTHWISE(6)
DEPTHWISE(7)
DEPTHWISE(8)

/* 3 x 3 windows at pixel stride 1, 7 or 8 pixels: every x of a kernel row is loaded once and goes
 * to up to three chains. Loads run from the left, so each chain still takes its taps in order. accx
 * takes what falls outside the block, for nothing. */
#define DW3_X(a, b, c, q)                                                                          \
    {                                                                                              \
        const vec v = vec_load(t + (q)*x_kw);                                                      \
        acc##a = vec_fma(v, w2, acc##a);                                                           \
        acc##b = vec_fma(v, w1, acc##b);                                                           \
        acc##c = vec_fma(v, w0, acc##c);                                                           \
    }
#define DW3_7                                                                                      \
    DW3_X(x, x, 0, 0)                                                                              \
    DW3_X(x, 0, 1, 1)                                                                              \
    DW3_X(0, 1, 2, 2)                                                                              \
    DW3_X(1, 2, 3, 3)                                                                              \
    DW3_X(2, 3, 4, 4)                                                                              \
    DW3_X(3, 4, 5, 5)                                                                              \
    DW3_X(4, 5, 6, 6)                                                                              \
    DW3_X(5, 6, x, 7)                                                                              \
    DW3_X(6, x, x, 8)
#define DW3_8                                                                                      \
    DW3_X(x, x, 0, 0)                                                                              \
    DW3_X(x, 0, 1, 1)                                                                              \
    DW3_X(0, 1, 2, 2)                                                                              \
    DW3_X(1, 2, 3, 3)                                                                              \
    DW3_X(2, 3, 4, 4)                                                                              \
    DW3_X(3, 4, 5, 5)                                                                              \
    DW3_X(4, 5, 6, 6)                                                                              \
    DW3_X(5, 6, 7, 7)                                                                              \
    DW3_X(6, 7, x, 8)                                                                              \
    DW3_X(7, x, x, 9)

#define DEPTHWISE_3X3(MR)                                                                          \
    static void depthwise_##MR##_3x3(const struct depthwise_block *b, int64_t c, vec_mask mask) {  \
        const vec init = vec_load(b->bias + c);                                                    \
        const int64_t x_kw = b->x_kw;                                                              \
        const float *wp = b->w + c, *t = b->x + c;                                                 \
        ROWS_##MR(DW_INIT) vec accx = init;                                                        \
        for (int64_t i = 0; i < 3; i++, t += b->x_kh, wp += 3 * b->w_tap) {                        \
            const vec w0 = vec_load(wp), w1 = vec_load(wp + b->w_tap);                             \
            const vec w2 = vec_load(wp + 2 * b->w_tap);                                            \
            DW3_##MR                                                                               \
        }                                                                                          \
        (void)accx;                                                                                \
        if (b->residual) {                                                                         \
            ROWS_##MR(DW_RESIDUAL)                                                                 \
        }                                                                                          \
        const vec lo = vec_set(b->lo), hi = vec_set(b->hi);                                        \
        ROWS_##MR(DW_STORE)                                                                        \
    }

DEPTHWISE_3X3(7)
DEPTHWISE_3X3(8)

typedef void (*depthwise_fn)(const struct depthwise_block *, int64_t c, vec_mask mask);
static const depthwise_fn depthwise_whole[DEPTHWISE_ROWS + 1] = {
    NULL,
    depthwise_1_whole,
    depthwise_2_whole,
    depthwise_3_whole,
    depthwise_4_whole,
    depthwise_5_whole,
    depthwise_6_whole,
    depthwise_7_whole,
    depthwise_8_whole,
};
static const depthwise_fn depthwise_cut[DEPTHWISE_ROWS + 1] = {
    NULL,
    depthwise_1_cut,
    depthwise_2_cut,
    depthwise_3_cut,
    depthwise_4_cut,
    depthwise_5_cut,
    depthwise_6_cut,
    depthwise_7_cut,
    depthwise_8_cut,
};

static inline void depthwise_rows(const struct ipex_depthwise_args *args,
                                  const struct depthwise_block *b, int64_t rows) {
    const bool is_3x3 = b->kernel_h == 3 && b->kernel_w == 3 && b->x_row == b->x_kw;
    const depthwise_fn whole = !is_3x3     ? depthwise_whole[rows]
                               : rows == 8 ? depthwise_8_3x3
                               : rows == 7 ? depthwise_7_3x3
                                           : depthwise_whole[rows];
    int64_t c = 0;
    for (; c + LANES <= b->channels; c += LANES)
        whole(b, c, vec_first(LANES));
    if (c < b->channels)
        depthwise_cut[rows](b, c, vec_first(b->channels - c));
    if (act_is_clamp(args->act))
        return;
    for (int64_t r = 0; r < rows; r++)
        vec_act_row(b->y + r * b->y_row, b->channels, args->act, args->act_a, args->act_b);
}

static inline void depthwise_line(const struct ipex_depthwise_args *args, int64_t image,
                                  int64_t line) {
    const int64_t count = ipex_div_up(args->pixels, DEPTHWISE_ROWS);
    for (int64_t i = 0, pixel = 0, rows; i < count; i++, pixel += rows) {
        rows = args->pixels / count + (i < args->pixels % count);
        struct depthwise_block b = {
            .x = args->x + image * args->x_image + line * args->x_line + pixel * args->x_pixel,
            .w = args->w,
            .bias = args->bias,
            .y = args->y + image * args->y_image + line * args->y_line + pixel * args->y_pixel,
            .x_row = args->x_pixel,
            .x_kh = args->x_kh,
            .x_kw = args->x_kw,
            .w_tap = ipex_div_up(args->channels, IPEX_PANEL) * IPEX_PANEL,
            .y_row = args->y_pixel,
            .r_row = args->r_pixel,
            .kernel_h = args->kernel_h,
            .kernel_w = args->kernel_w,
            .channels = args->channels,
            .lo = act_low(args->act, args->act_a),
            .hi = act_high(args->act, args->act_b),
        };
        if (args->residual)
            b.residual = args->residual + image * args->r_image + line * args->r_line +
                         pixel * args->r_pixel;
        depthwise_rows(args, &b, rows);
    }
}

void IPEX_LEVEL(depthwise_f32)(const struct ipex_depthwise_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    (void)scratch;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_depthwise_job job = ipex_depthwise_job(args, j);
        for (int64_t line = job.line; line < job.line_end; line++)
            depthwise_line(args, job.image, line);
    }
}

#endif
