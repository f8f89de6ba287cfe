/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution with pixels in lanes, for few output columns, which would leave most of a panel's
 * lanes empty. A row of x is transposed once so that every lane walks along its own part of the
 * line (kernels/conv_parts.h): whatever stride and kernel are, a step of k is a weight, broadcast,
 * times an aligned vector. While the row is in L1, all lines of y that see it take it, and blocks
 * have columns of several lines, so that a vector that is loaded has several products. The chain of
 * an output is that of kernels/ref/conv_ref.c. Pixels whose windows have nothing in common are
 * those of kernels/x86/conv_few.h. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_CONV_PLANAR_H
#define IPEX_KERNELS_X86_CONV_PLANAR_H

#include <string.h>

#include "kernels/conv_parts.h"
#include "kernels/x86/conv_few.h"
#include "kernels/x86/rows.h"
#include "kernels/x86/transpose_8x8.h"
#include "kernels/x86/vec_math.h"

/* A loop over few columns, of which clang would make vectors (2 KB). */
#define PLANAR_EACH_COLUMN(n)                                                                      \
    _Pragma("clang loop vectorize(disable) unroll(disable)") for (int64_t c = 0; c < (n); c++)

/* Lines of y at work. */
struct planar {
    const struct ipex_conv_args *args;
    const struct ipex_conv_job *job;
    float *x, *chains, *line, *w; /* as in struct ipex_conv_parts */
    int64_t line_row;
    int64_t step;         /* rows of x from one line to the next */
    int64_t pixels, part; /* of the lines that take the row in x, and of a lane */
};

/* The chains of one column of one line, and their weights in the row of x at work. */
struct planar_chains {
    const float *w; /* [k] */
    float *of;      /* [part][LANES] */
};

/* So many chains are collected before they are multiplied. */
enum { PLANAR_CHAINS = 12 };

/* The row of x at work by the weights of all that see it. */
struct planar_product {
    const float *x;  /* [..][LANES] */
    uintptr_t next;  /* address of the row of x that comes next, or of what is left of it */
    uintptr_t ahead; /* bytes of it that a step of k prefetches */
    int64_t x_pixel; /* in floats of x */
    int64_t k, part;
    int64_t columns;
    struct planar_chains chains[PLANAR_CHAINS];
};

#define PLANAR_OF(c)                                                                               \
    const float *w_##c = chains[c].w;                                                              \
    float *of_##c = chains[c].of + pixel * LANES;
#define PLANAR_OF_1       PLANAR_OF(0)
#define PLANAR_OF_2       PLANAR_OF_1 PLANAR_OF(1)
#define PLANAR_OF_3       PLANAR_OF_2 PLANAR_OF(2)
#define PLANAR_OF_4       PLANAR_OF_3 PLANAR_OF(3)
#define PLANAR_INIT(u, c) vec acc##u##_##c = vec_load(of_##c + (u)*LANES);
#define PLANAR_INIT_1(u)  PLANAR_INIT(u, 0)
#define PLANAR_INIT_2(u)  PLANAR_INIT_1(u) PLANAR_INIT(u, 1)
#define PLANAR_INIT_3(u)  PLANAR_INIT_2(u) PLANAR_INIT(u, 2)
#define PLANAR_INIT_4(u)  PLANAR_INIT_3(u) PLANAR_INIT(u, 3)
/* With one column every product is a load: no time for the next row. */
#define PLANAR_W_1 const vec w0 = vec_set(w_0[k]);
#define PLANAR_W_2                                                                                 \
    PLANAR_W_1 const vec w1 = vec_set(w_1[k]);                                                     \
    _mm_prefetch((const char *)(next + ahead * k), _MM_HINT_T0);
#define PLANAR_W_3       PLANAR_W_2 const vec w2 = vec_set(w_2[k]);
#define PLANAR_W_4       PLANAR_W_3 const vec w3 = vec_set(w_3[k]);
#define PLANAR_X(u)      vec_load(AT(x0, x1, x_pixel, u))
#define PLANAR_FMA(u, c) acc##u##_##c = vec_fma(x, w##c, acc##u##_##c);
#define PLANAR_FMA_1(u)  acc##u##_0 = vec_fma(PLANAR_X(u), w0, acc##u##_0);
#define PLANAR_FMA_MORE(u, more)                                                                   \
    {                                                                                              \
        const vec x = vec_in_register(PLANAR_X(u));                                                \
        PLANAR_FMA(u, 0) more                                                                      \
    }
#define PLANAR_FMA_2(u)    PLANAR_FMA_MORE(u, PLANAR_FMA(u, 1))
#define PLANAR_FMA_3(u)    PLANAR_FMA_MORE(u, PLANAR_FMA(u, 1) PLANAR_FMA(u, 2))
#define PLANAR_FMA_4(u)    PLANAR_FMA_MORE(u, PLANAR_FMA(u, 1) PLANAR_FMA(u, 2) PLANAR_FMA(u, 3))
#define PLANAR_STORE(u, c) vec_store(of_##c + (u)*LANES, acc##u##_##c);
#define PLANAR_STORE_1(u)  PLANAR_STORE(u, 0)
#define PLANAR_STORE_2(u)  PLANAR_STORE_1(u) PLANAR_STORE(u, 1)
#define PLANAR_STORE_3(u)  PLANAR_STORE_2(u) PLANAR_STORE(u, 2)
#define PLANAR_STORE_4(u)  PLANAR_STORE_3(u) PLANAR_STORE(u, 3)

/* U pixels of every lane from `pixel` on, N columns. */
#define PLANAR(U, N)                                                                               \
    static void planar_##U##x##N(const struct planar_product *p,                                   \
                                 const struct planar_chains *chains, int64_t pixel) {              \
        enum { HALF = (U + 1) / 2 };                                                               \
        const int64_t x_pixel = p->x_pixel;                                                        \
        const float *x0 = p->x + pixel * x_pixel, *x1 = x0 + HALF * x_pixel;                       \
        const uintptr_t next = p->next, ahead = p->ahead;                                          \
        (void)next, (void)ahead;                                                                   \
        PLANAR_OF_##N;                                                                             \
        ROWS_##U(PLANAR_INIT_##N);                                                                 \
        for (int64_t k = 0; k < p->k; k++, x0 += LANES, x1 += LANES) {                             \
            PLANAR_W_##N;                                                                          \
            ROWS_##U(PLANAR_FMA_##N);                                                              \
        }                                                                                          \
        ROWS_##U(PLANAR_STORE_##N);                                                                \
    }

PLANAR(1, 1)
PLANAR(2, 1)
PLANAR(3, 1)
PLANAR(4, 1)
PLANAR(5, 1)
PLANAR(6, 1)
PLANAR(7, 1)
PLANAR(8, 1)
PLANAR(1, 2)
PLANAR(2, 2)
PLANAR(3, 2)
PLANAR(4, 2)
PLANAR(1, 3)
PLANAR(2, 3)
PLANAR(3, 3)
#if VEC_REGISTERS == 32
PLANAR(4, 3)
PLANAR(1, 4)
PLANAR(2, 4)
PLANAR(3, 4)
PLANAR(4, 4)
#endif

/* Blocks of so many columns, by their pixels less one. */
typedef void (*planar_fn)(const struct planar_product *p, const struct planar_chains *chains,
                          int64_t pixel);
struct planar_blocks {
    int64_t most;
    planar_fn of[8];
};
static const struct planar_blocks planar_blocks[] = {
    {8,
     {planar_1x1, planar_2x1, planar_3x1, planar_4x1, planar_5x1, planar_6x1, planar_7x1,
      planar_8x1}},
    {4, {planar_1x2, planar_2x2, planar_3x2, planar_4x2}},
#if VEC_REGISTERS == 32
    {4, {planar_1x3, planar_2x3, planar_3x3, planar_4x3}},
    {4, {planar_1x4, planar_2x4, planar_3x4, planar_4x4}},
#else
    {3, {planar_1x3, planar_2x3, planar_3x3}},
#endif
};

enum { PLANAR_COLUMNS = sizeof planar_blocks / sizeof planar_blocks[0] };

/* `pixels` of every lane from `pixel` on, all columns, in groups of about the same size. */
static inline void planar_columns(struct planar_product *p, int64_t groups, int64_t pixel,
                                  int64_t pixels) {
    for (int64_t c = 0, columns; c < p->columns; c += columns) {
        columns = ipex_div_up(p->columns - c, groups--);
        planar_blocks[columns - 1].of[pixels - 1](p, p->chains + c, pixel);
        p->next += p->ahead * p->k;
    }
}

/* All chains that were collected. Blocks have about the same size, for those of few chains wait for
 * one another; what they see of x stays in L1 for all columns. */
static __attribute__((noinline)) void planar_multiply(struct planar_product *p) {
    if (p->columns == 0)
        return;
    const int64_t columns = p->columns < PLANAR_COLUMNS ? p->columns : PLANAR_COLUMNS;
    const int64_t groups = ipex_div_up(p->columns, PLANAR_COLUMNS);
    int64_t blocks = ipex_div_up(p->part, planar_blocks[columns - 1].most);
    const int64_t bytes = p->part * p->x_pixel * (int64_t)sizeof(float);
    p->ahead = (uintptr_t)ipex_div(bytes, blocks * groups * p->k);
    for (int64_t b = 0, pixels; blocks > 0; b += pixels) {
        pixels = ipex_div_up(p->part - b, blocks--);
        planar_columns(p, groups, b, pixels);
    }
    p->columns = 0;
}

/* The first pixel of a lane. Where the line ends before a lane's part does, the lane does the
 * line's last pixels, which a neighbour may do as well: nothing is read behind them. */
static inline int64_t planar_first(const struct planar *p, int64_t lane) {
    const int64_t first = lane * p->part, last = p->pixels - p->part;
    return first < last ? first : last;
}

/* Eight lanes of a row of x, each of which sees so many elements; to has room for 8. */
static inline void planar_transpose(const float *lanes[8], int64_t elements, float *to) {
    float copy[8][8];
    if (elements < 8) {
        memset(copy, 0, sizeof copy);
        for (int64_t l = 0; l < 8; l++)
            lanes[l] = memcpy(copy[l], lanes[l], (size_t)elements * sizeof(float));
        elements = 8;
    }
    for (int64_t i = 0; i < elements; i += 8) {
        const int64_t at = i + 8 <= elements ? i : elements - 8; /* some for the second time */
        transpose_8x8_rows(lanes, at, to + at * LANES, LANES);
    }
}

/* Transposes a row of x for lines of p->pixels. */
static __attribute__((noinline)) void planar_take(const struct planar *p, const float *x) {
    const int64_t elements = (p->part - 1) * p->args->x_pixel + p->args->k;
    for (int64_t eight = 0; eight < LANES; eight += 8) {
        const float *lanes[8];
        for (int64_t l = 0; l < 8; l++)
            lanes[l] = x + planar_first(p, eight + l) * p->args->x_pixel;
        planar_transpose(lanes, elements, p->x + eight);
    }
}

static __attribute__((noinline)) void planar_begin(const struct planar *p, float *chains) {
    for (int64_t c = 0; c < p->args->n; c++) {
        const vec bias = vec_set(p->args->bias[c]);
        for (int64_t b = 0; b < p->part; b++, chains += LANES)
            vec_store(chains, bias);
    }
}

/* A column's chains [part][LANES] in the order of pixels, in blocks of 8 x 8: what the last of a
 * lane's blocks writes behind its part, the next lane's first, which comes later, overwrites. */
static inline void planar_order(const struct planar *p, const float *chains, float *line) {
    const int64_t part = p->part, rest = ipex_divide(p->pixels, part).rest,
                  whole = p->pixels - rest;
    for (int64_t b = (part - 1) / 8 * 8; b >= 0; b -= 8)
        for (int64_t lane = 0; lane < LANES; lane += 8)
            transpose_8x8(chains + b * LANES + lane, LANES, line + lane * part + b, part);
    /* The next lane's last chains are the line's last. */
    memmove(line + whole, line + whole + part - rest, (size_t)rest * sizeof(float));
}

static __attribute__((noinline)) void planar_finish(const struct planar *p, const float *chains,
                                                    int64_t line) {
    const struct ipex_conv_args *args = p->args;
    for (int64_t c = 0; c < args->n; c++)
        planar_order(p, chains + c * p->part * LANES, p->line + c * p->line_row);
    const struct ipex_columns columns = {
        .chains = p->line,
        .row = p->line_row,
        .columns = args->n,
        .pixels = p->pixels,
        .residual = args->residual
                        ? args->residual + p->job->image * args->r_image + line * args->r_line
                        : NULL,
        .y = args->y + p->job->image * args->y_image + line * args->y_line,
        .bias_alone = true, /* perhaps */
    };
    ipex_conv_finish_columns(args, IPEX_LEVEL(activate), &columns);
}

/* Row r of x, counted from the job's first, is kernel row h of a line. */
static inline int64_t planar_h(const struct planar *p, int64_t r, int64_t line) {
    return r - (line - p->job->line) * p->step;
}

static inline float *planar_line_chains(const struct planar *p, int64_t line) {
    const struct ipex_conv_args *args = p->args;
    const int64_t place = ipex_divide(line - p->job->line, args->segments_h).rest;
    return p->chains + place * args->n * p->part * LANES;
}

static inline struct ipex_kernel_rows planar_rows(const struct planar *p, int64_t line) {
    return ipex_kernel_rows(&p->args->padding, p->args->lines, line, p->args->segments_h);
}

/* What kernel row h of a line brings to its chains. */
static inline void planar_collect(const struct planar *p, int64_t line, int64_t h,
                                  struct planar_product *product) {
    const struct ipex_conv_args *args = p->args;
    float *chains = planar_line_chains(p, line);
    for (int64_t c = 0; c < args->n; c++, chains += p->part * LANES) {
        if (product->columns == PLANAR_CHAINS)
            planar_multiply(product);
        product->chains[product->columns++] =
            (struct planar_chains){p->w + (h * args->n + c) * args->k, chains};
    }
}

/* Where row r of x, counted from the job's first, lies. */
static inline const float *planar_x(const struct planar *p, int64_t r) {
    const struct ipex_conv_args *args = p->args;
    const struct ipex_quotient line = ipex_divide(r, p->step);
    return (const float *)args->x + p->job->image * args->x_image +
           (p->job->line + line.whole) * args->x_line + line.rest * args->x_kh;
}

/* Row r of x, counted from the job's first: for all lines that see it. */
static inline void planar_row(struct planar *p, int64_t r) {
    const struct ipex_conv_args *args = p->args;
    const struct ipex_conv_job *job = p->job;
    const int64_t begin =
        job->line + (r < args->segments_h ? 0 : ipex_div(r - args->segments_h, p->step) + 1);
    const int64_t last = job->line + ipex_div(r, p->step);
    const int64_t end = last < job->line_end ? last + 1 : job->line_end;
    bool taken = false;
    struct planar_product product = {.x = p->x,
                                     .next = (uintptr_t)planar_x(p, r + 1),
                                     .x_pixel = args->x_pixel * LANES,
                                     .k = args->k};
    for (int64_t line = begin; line < end; line++) {
        const struct ipex_kernel_rows rows = planar_rows(p, line);
        const int64_t h = planar_h(p, r, line);
        if (h < rows.begin || h >= rows.end)
            continue;
        if (!taken) {
            p->pixels = ipex_conv_line_pixels(args, line);
            p->part = product.part = ipex_div_up(p->pixels, LANES);
            planar_take(p, planar_x(p, r));
            taken = true;
        }
        if (h == rows.begin)
            planar_begin(p, planar_line_chains(p, line));
        planar_collect(p, line, h, &product);
    }
    planar_multiply(&product);
    for (int64_t line = begin; line < end; line++)
        if (planar_h(p, r, line) + 1 == planar_rows(p, line).end)
            planar_finish(p, planar_line_chains(p, line), line);
}

/* A column's in a row. */
static __attribute__((noinline)) void planar_weights(const struct planar *p, float *to) {
    const float *w = p->args->w;
    const int64_t k = p->args->k;
    const int64_t n = p->args->n;
    for (int64_t h = 0; h < p->args->segments_h; h++, w += ipex_conv_segment_floats(p->args))
        for (int64_t i = 0; i < k; i++)
            PLANAR_EACH_COLUMN(n) {
                to[(h * n + c) * k + i] = w[i * IPEX_PANEL + c];
            }
}

static void planar_jobs(const struct ipex_conv_args *args, int64_t job_begin, int64_t job_end,
                        float *scratch) {
    const struct ipex_conv_parts at = ipex_conv_parts(args, LANES);
    struct planar p = {
        .args = args,
        .x = scratch,
        .chains = scratch + at.chains,
        .line = scratch + at.line,
        .line_row = at.line_row,
        .w = scratch + at.w,
        .step = ipex_conv_step(args),
    };
    planar_weights(&p, p.w);
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_job(args, j);
        const int64_t rows = (job.line_end - job.line - 1) * p.step + args->segments_h;
        p.job = &job;
        for (int64_t r = 0; r < rows; r++)
            planar_row(&p, r);
    }
}

#endif
