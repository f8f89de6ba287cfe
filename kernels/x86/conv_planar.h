/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution with pixels in lanes, for few output columns, which would leave most of a panel's
 * lanes empty: rows of x are taken apart into planes (kernels/conv_planes.h), and a step of k is a
 * weight, broadcast, times neighbouring pixels. The chain of an output is that of
 * kernels/ref/conv_ref.c. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_CONV_PLANAR_H
#define IPEX_KERNELS_X86_CONV_PLANAR_H

#include "kernels/conv_planes.h"
#include "kernels/x86/rows.h"
#include "kernels/x86/transpose_8x8.h"
#include "kernels/x86/vec_math.h"

/* A line of y at work. */
struct planar_line {
    const struct ipex_conv_args *args;
    struct ipex_conv_planes layout;
    float *x;       /* the ring */
    float *out;     /* chains */
    int64_t oldest; /* place in the ring of the line's first row of x */
    struct ipex_kernel_rows rows;
};

#define PLANAR_INIT_1(u) vec acc##u##_0 = i0;
#define PLANAR_INIT_2(u) PLANAR_INIT_1(u) vec acc##u##_1 = i1;
#define PLANAR_INIT_4(u) PLANAR_INIT_2(u) vec acc##u##_2 = i2, acc##u##_3 = i3;
#define PLANAR_FMA_1(u)                                                                            \
    const vec v##u = vec_load(p + (u)*LANES);                                                      \
    acc##u##_0 = vec_fma(v##u, w0, acc##u##_0);
#define PLANAR_FMA_2(u) PLANAR_FMA_1(u) acc##u##_1 = vec_fma(v##u, w1, acc##u##_1);
#define PLANAR_FMA_4(u)                                                                            \
    PLANAR_FMA_2(u)                                                                                \
    acc##u##_2 = vec_fma(v##u, w2, acc##u##_2);                                                    \
    acc##u##_3 = vec_fma(v##u, w3, acc##u##_3);
#define PLANAR_STORE_1(u) vec_store(out + (u)*LANES, acc##u##_0);
#define PLANAR_STORE_2(u) PLANAR_STORE_1(u) vec_store(out + out_row + (u)*LANES, acc##u##_1);
#define PLANAR_STORE_4(u)                                                                          \
    PLANAR_STORE_2(u)                                                                              \
    vec_store(out + 2 * out_row + (u)*LANES, acc##u##_2);                                          \
    vec_store(out + 3 * out_row + (u)*LANES, acc##u##_3);
#define PLANAR_SET_1(name, from) const vec name##0 = vec_set((from)[0]);
#define PLANAR_SET_2(name, from) PLANAR_SET_1(name, from) const vec name##1 = vec_set((from)[1]);
#define PLANAR_SET_4(name, from)                                                                   \
    PLANAR_SET_2(name, from)                                                                       \
    const vec name##2 = vec_set((from)[2]), name##3 = vec_set((from)[3]);

/* U vectors of pixels from `pixel` on, N columns from `column` on. */
#define PLANAR(U, N)                                                                               \
    static void planar_##U##x##N(const struct planar_line *l, int64_t pixel, int64_t column) {     \
        const struct ipex_conv_args *args = l->args;                                               \
        const int64_t plane = l->layout.plane, out_row = l->layout.out_row;                        \
        PLANAR_SET_##N(i, args->bias + column);                                                    \
        ROWS_##U(PLANAR_INIT_##N);                                                                 \
        const int64_t w_row = ipex_conv_segment_floats(args);                                      \
        const float *ws = (const float *)args->w + l->rows.begin * w_row + column;                 \
        int64_t at = (l->oldest + l->rows.begin) % args->segments_h;                               \
        for (int64_t h = l->rows.begin; h < l->rows.end; h++) {                                    \
            const float *x = l->x + at * l->layout.row + pixel, *w = ws;                           \
            for (int64_t k = args->k; k > 0; k -= l->layout.planes, x++) {                         \
                const float *p = x;                                                                \
                int64_t planes = k < l->layout.planes ? k : l->layout.planes;                      \
                for (; planes > 0; planes--, p += plane, w += IPEX_PANEL) {                        \
                    PLANAR_SET_##N(w, w);                                                          \
                    ROWS_##U(PLANAR_FMA_##N);                                                      \
                }                                                                                  \
            }                                                                                      \
            ws += w_row;                                                                           \
            at = at + 1 < args->segments_h ? at + 1 : 0;                                           \
        }                                                                                          \
        float *out = l->out + column * out_row + pixel;                                            \
        ROWS_##U(PLANAR_STORE_##N);                                                                \
    }

PLANAR(1, 1)
PLANAR(2, 1)
PLANAR(4, 1)
PLANAR(8, 1)
PLANAR(1, 2)
PLANAR(2, 2)
PLANAR(4, 2)
PLANAR(1, 4)
PLANAR(2, 4)
#if VEC_REGISTERS == 32
PLANAR(4, 4)
#else
#define planar_4x4 NULL
#endif

/* [columns][vectors], by their logarithms. */
typedef void (*planar_fn)(const struct planar_line *l, int64_t pixel, int64_t column);
static const planar_fn planar_blocks[3][4] = {
    {planar_1x1, planar_2x1, planar_4x1, planar_8x1},
    {planar_1x2, planar_2x2, planar_4x2, NULL},
    {planar_1x4, planar_2x4, planar_4x4, NULL},
};

/* The logarithm of the largest block of so many columns that has no more than `left` vectors. */
static inline int planar_block(const planar_fn *blocks, int64_t left) {
    int log = 3;
    while (blocks[log] == NULL || 1 << log > left)
        log--;
    return log;
}

static inline void planar_columns(const struct planar_line *l, int64_t pixels, int64_t column,
                                  int log_columns) {
    const planar_fn *blocks = planar_blocks[log_columns];
    const int64_t vectors = ipex_div_up(pixels, LANES);
    for (int64_t i = 0, log; i < vectors; i += 1 << log) {
        log = planar_block(blocks, vectors - i);
        blocks[log](l, i * LANES, column);
    }
}

static inline void planar_copy(const float *x, int64_t period, int64_t plane, int64_t begin,
                               int64_t end, int64_t columns, float *to) {
    for (int64_t r = begin; r < end; r++)
        for (int64_t j = 0; j < columns; j++)
            to[r * plane + j] = x[j * period + r];
}

/* Takes a row of x apart. The last column exists in as many planes as the last tap has elements;
 * what is behind the columns is computed with and thrown away. */
static inline void planar_take_apart(const struct ipex_conv_args *args,
                                     const struct ipex_conv_planes *layout, const float *x,
                                     float *to) {
    const int64_t period = args->x_pixel, plane = layout->plane;
    const int64_t in_last = (args->k - 1) % period + 1, columns = layout->columns;
    const int64_t whole = columns / 8 * 8 - 8 * (columns % 8 == 0 && in_last < layout->planes);
    const int64_t planes = layout->planes / 8 * 8;
    for (int64_t j = 0; j < whole; j += 8)
        for (int64_t r = 0; r < planes; r += 8)
            transpose_8x8(x + j * period + r, period, to + r * plane + j, plane);
    planar_copy(x, period, plane, planes, layout->planes, whole, to);
    const int64_t rest = columns - whole - 1;
    planar_copy(x + whole * period, period, plane, 0, layout->planes, rest, to + whole);
    planar_copy(x + (columns - 1) * period, period, plane, 0, in_last, 1, to + columns - 1);
    for (int64_t r = 0; r < layout->planes; r++)
        for (int64_t j = r < in_last ? columns : columns - 1; j < plane; j++)
            to[r * plane + j] = 0.0f;
}

static inline void planar_add(const struct planar_line *l, const float *residual, int64_t pixels) {
    for (int64_t c = 0; c < l->args->n; c++)
        for (int64_t p = 0; p < pixels; p++)
            l->out[c * l->layout.out_row + p] += residual[p * l->args->r_pixel + c];
}

static inline void planar_activate(const struct planar_line *l, int64_t pixels) {
    const struct ipex_conv_args *args = l->args;
    const struct ipex_act_rows rows = ipex_act_rows(l->out, args->n, pixels, l->layout.out_row,
                                                    args->act, args->act_a, args->act_b);
    const vec lo = vec_set(act_low(args->act, args->act_a));
    const vec hi = vec_set(act_high(args->act, args->act_b));
    if (!act_is_clamp(args->act)) {
        IPEX_LEVEL(activate)(&rows);
        return;
    }
    for (int64_t i = 0; i < args->n * l->layout.out_row; i += LANES)
        vec_store(l->out + i, vec_clip(vec_load(l->out + i), lo, hi));
}

static inline void planar_store(const struct planar_line *l, float *y, int64_t pixels) {
    for (int64_t c = 0; c < l->args->n; c++)
        for (int64_t p = 0; p < pixels; p++)
            y[p * l->args->y_pixel + c] = l->out[c * l->layout.out_row + p];
}

/* All columns of a line, chains only. */
static inline void planar_multiply(const struct planar_line *l, int64_t pixels) {
    const int64_t n = l->args->n;
    for (int64_t c = 0; c + 4 <= n; c += 4)
        planar_columns(l, pixels, c, 2);
    if (n & 2)
        planar_columns(l, pixels, n & ~3, 1);
    if (n & 1)
        planar_columns(l, pixels, n - 1, 0);
}

/* Rows of x from one line of y to the next; 0: lines have no rows in common. */
static inline int64_t planar_step(const struct ipex_conv_args *args) {
    return args->x_kh > 0 && args->x_line % args->x_kh == 0 ? args->x_line / args->x_kh : 0;
}

static inline void planar_job(const struct ipex_conv_args *args, const struct ipex_conv_job *job,
                              float *scratch) {
    const int64_t step = planar_step(args), rows = args->segments_h;
    struct planar_line l = {.args = args, .layout = ipex_conv_planes(args), .x = scratch};
    int64_t next = 0; /* the first row, counted from the job's first, that is not in the ring */
    l.out = scratch + l.layout.out;
    for (int64_t line = job->line; line < job->line_end; line++) {
        const int64_t pixels = ipex_conv_line_pixels(args, line);
        const int64_t first = (line - job->line) * step;
        const float *x = (const float *)args->x + job->image * args->x_image + line * args->x_line;
        l.oldest = first % rows;
        l.rows = ipex_kernel_rows(&args->padding, args->lines, line, rows);
        for (next = step == 0 || next < first ? first : next; next < first + rows; next++)
            planar_take_apart(args, &l.layout, x + (next - first) * args->x_kh,
                              l.x + next % rows * l.layout.row);
        planar_multiply(&l, pixels);
        if (args->residual)
            planar_add(&l, args->residual + job->image * args->r_image + line * args->r_line,
                       pixels);
        planar_activate(&l, pixels);
        planar_store(&l, args->y + job->image * args->y_image + line * args->y_line, pixels);
    }
}

static inline void planar_jobs(const struct ipex_conv_args *args, int64_t job_begin,
                               int64_t job_end, float *scratch) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_job(args, j);
        planar_job(args, &job, scratch);
    }
}

#endif
