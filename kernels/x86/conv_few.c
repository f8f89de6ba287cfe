/* SPDX-License-Identifier: Apache-2.0 */
/* Few columns of a convolution (kernels/x86/conv_few.h), the same code for every level. */
#include "kernels/x86/conv_few.h"

#include <immintrin.h>
#include <string.h>

#include "kernels/x86/activate.h"
#include "kernels/x86/conv_cuts.h"

enum { FEW_COLUMNS = IPEX_PANEL }; /* at most, of all passes */

/* Elements of K of which L1 holds those of two groups and of the next two. Parts of so many are
 * taken for all pixels before the next one where x comes from far, or L1 does not hold the weights.
 */
enum { FEW_PART = 128, FEW_WHOLE = 8 * FEW_PART };

/* Columns at work: of `up` lines of y, y_up apart, n each. */
struct few {
    const struct conv_level *level;
    const struct ipex_conv_args *args;
    const float *w, *bias;
    int64_t w_kw, w_kh;
    int64_t columns, up, n, y_up;
    bool fetches; /* x of the groups that come next */
};

/* `count` elements of a segment for all pixels. A line's last group, which may overlap the one
 * before, has chains of its own. */
static void few_part(const struct few *f, const float *x, const float *w, int64_t count,
                     int64_t pixels, float *chains) {
    const int64_t x_pixel = f->args->x_pixel, last = pixels - FEW_GROUP, rest = count % 8;
    struct few_groups g = {.x_pixel = x_pixel, .steps = count / 8};
    g.next_step = ipex_div(2 * FEW_GROUP * x_pixel, g.steps);
    for (int64_t p = 0; p < pixels; p += 2 * FEW_GROUP, chains += 2 * FEW_GROUP) {
        g.x0 = x + ipex_smaller(p, last) * x_pixel;
        g.x1 = x + ipex_smaller(p + FEW_GROUP, last) * x_pixel;
        g.next = f->fetches ? x + (p + 2 * FEW_GROUP) * x_pixel : NULL;
        for (int64_t c = 0; c < f->columns; c += FEW_AT_ONCE) {
            const int64_t columns = ipex_smaller(f->columns - c, FEW_AT_ONCE);
            g.w = w + c;
            g.chains = chains + c * FEW_PIXELS;
            f->level->few(&g, columns);
            if (rest > 0)
                ipex_conv_few_rest__avx2(&g, columns, rest);
        }
    }
}

/* What a run brings to the chains of `pixels` pixels, 8 or more. */
static void few_chains(const struct few *f, const struct ipex_conv_run *run, const float *x,
                       int64_t pixels, float *chains) {
    const struct ipex_conv_args *args = f->args;
    const bool whole = !f->fetches && args->k <= FEW_WHOLE;
    const int64_t parts = whole ? 1 : ipex_div_up(args->k, FEW_PART);
    const float *w = f->w + run->w;
    for (int64_t s = 0, tap = run->tap_w; s < run->segments; s++) {
        for (int64_t k = 0, count, left = parts; k < args->k; k += count) {
            count = left == 1 ? args->k - k : ipex_div_up(ipex_div_up(args->k - k, left), 8) * 8;
            left--;
            few_part(f, x + k, w + k * IPEX_PANEL, count, pixels, chains);
        }
        const bool row_ends = ++tap == run->taps;
        x += row_ends ? args->x_kh - (run->taps - 1) * args->x_kw : args->x_kw;
        w += row_ends ? f->w_kh - (run->taps - 1) * f->w_kw : f->w_kw;
        tap = row_ends ? 0 : tap;
    }
}

/* Chains of all groups begin with the bias. */
static void few_begin(const struct few *f, float *chains, int64_t pixels) {
    const int64_t all = ipex_div_up(pixels, 2 * FEW_GROUP) * 2 * FEW_GROUP;
    for (int64_t c = 0, n = 0; c < f->columns; c++, chains += FEW_PIXELS) {
        const __m128 bias = _mm_set1_ps(f->bias[n]);
        for (int64_t p = 0; p < all; p += 4)
            _mm_storeu_ps(chains + p, bias);
        n = n + 1 == f->n ? 0 : n + 1;
    }
}

/* Each column's chains in the order of pixels: those of the last group end where the line does. */
static void few_order(float *chains, int64_t columns, int64_t pixels) {
    const int64_t rest = pixels % FEW_GROUP, last = pixels - rest;
    for (int64_t c = 0; rest > 0 && c < columns; c++, chains += FEW_PIXELS)
        for (int64_t p = last; p < pixels; p++)
            chains[p] = chains[p + FEW_GROUP - rest];
}

static void clip_columns(const struct ipex_conv_args *args, const struct ipex_columns *all) {
    const __m128 lo = _mm_set1_ps(act_low(args->act, args->act_a));
    const __m128 hi = _mm_set1_ps(act_high(args->act, args->act_b));
    float *chains = all->chains;
    for (int64_t c = 0; c < all->columns; c++, chains += all->row)
        for (int64_t p = 0; p < all->pixels; p += 4)
            _mm_storeu_ps(chains + p, _mm_min_ps(hi, _mm_max_ps(lo, _mm_loadu_ps(chains + p))));
}

/* Up to 4 columns of a pixel. */
static inline void store_pixel(float *y, __m128 v, int64_t columns) {
    if (columns >= 4) {
        _mm_storeu_ps(y, v);
        return;
    }
    if (columns == 1) {
        _mm_store_ss(y, v);
        return;
    }
    _mm_storel_pi((__m64 *)y, v);
    if (columns == 3)
        _mm_store_ss(y + 2, _mm_movehl_ps(v, v));
}

/* Four columns from the first one on, of which what is not there is not stored. */
static void store_columns(const struct ipex_columns *all, int64_t first, int64_t y_pixel) {
    const int64_t columns = all->columns - first;
    const float *from = all->chains + first * all->row;
    const int64_t second = columns > 1 ? all->row : 0, third = columns > 2 ? 2 * all->row : 0,
                  fourth = columns > 3 ? 3 * all->row : 0;
    float *to = all->y + first;
    for (int64_t left = all->pixels; left > 0; left -= 4, from += 4, to += 4 * y_pixel) {
        __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + second);
        __m128 c = _mm_loadu_ps(from + third), d = _mm_loadu_ps(from + fourth);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        store_pixel(to, a, columns);
        if (left > 1)
            store_pixel(to + y_pixel, b, columns);
        if (left > 2)
            store_pixel(to + 2 * y_pixel, c, columns);
        if (left > 3)
            store_pixel(to + 3 * y_pixel, d, columns);
    }
}

void ipex_conv_finish_columns(const struct ipex_conv_args *args,
                              void (*activate)(const struct ipex_act_rows *rows),
                              const struct ipex_columns *all) {
    for (int64_t c = 0; all->residual && c < all->columns; c++)
        for (int64_t p = 0; p < all->pixels; p++)
            all->chains[c * all->row + p] += all->residual[p * args->r_pixel + c];
    const struct ipex_act_rows rows = ipex_act_rows(all->chains, all->columns, all->pixels,
                                                    all->row, args->act, args->act_a, args->act_b);
    if (!ipex_act_is_clamp(args->act))
        activate(&rows);
    else if (args->act != IPEX_ACT_none || all->bias_alone)
        clip_columns(args, all);
    if (args->y_pixel == 1) { /* and so the columns */
        memcpy(all->y, all->chains, (size_t)all->pixels * sizeof(float));
        return;
    }
    for (int64_t c = 0; c < all->columns; c += 4)
        store_columns(all, c, args->y_pixel);
}

/* Pixels of one line, 8 or more, and what they take. */
static void few_pixels(const struct few *f, const struct ipex_conv_run *run, const float *x,
                       float *y, const float *residual, int64_t pixels) {
    const struct ipex_conv_args *args = f->args;
    float chains[FEW_COLUMNS * FEW_PIXELS];
    int64_t count = ipex_div_up(pixels, FEW_PIXELS);
    for (int64_t first = 0, some; first < pixels; first += some) {
        some = ipex_div_up(pixels - first, count--);
        few_begin(f, chains, some);
        few_chains(f, run, x + first * args->x_pixel, some, chains);
        few_order(chains, f->columns, some);
        for (int64_t u = 0; u < f->up; u++) {
            const struct ipex_columns columns = {
                .chains = chains + u * f->n * FEW_PIXELS,
                .row = FEW_PIXELS,
                .columns = f->n,
                .pixels = some,
                .bias_alone = run->segments == 0,
                .residual = residual ? residual + first * args->r_pixel : NULL,
                .y = y + first * args->y_pixel + u * f->y_up,
            };
            ipex_conv_finish_columns(args, f->level->activate, &columns);
        }
    }
}

/* All pixels of a job's lines follow each other. */
static bool few_follow(const struct ipex_conv_args *args) {
    return args->x_line == args->pixels * args->x_pixel &&
           args->y_line == args->pixels * args->y_pixel &&
           (!args->residual || args->r_line == args->pixels * args->r_pixel) &&
           args->segments_h == 1;
}

bool ipex_conv_few(const struct conv_walk *walk, int64_t panel) {
    const struct ipex_conv_args *args = walk->args;
    const struct ipex_conv_job *job = walk->job;
    const int64_t column = panel * IPEX_PANEL;
    const bool follow = few_follow(args);
    const int64_t lines = job->line_end - job->line;
    const int64_t last = ipex_conv_line_pixels(args, job->line_end - 1);
    const int64_t all = (lines - 1) * args->pixels + last;
    if (args->k < 8 || (follow ? all : ipex_smaller(args->pixels, last)) < FEW_GROUP ||
        args->resume || args->columns || args->w_line || ipex_conv_leaves_out_taps(args))
        return false;
    struct few f = {
        .level = walk->level,
        .args = args,
        .w = walk->w + panel * ipex_conv_panel_words(args, 1),
        .bias = walk->bias + column,
        .w_kw = walk->w_kw,
        .w_kh = walk->w_kh,
        .columns = args->n - column,
        .up = 1,
        .n = args->n - column,
    };
    const int64_t segments = (int64_t)args->segments_h * args->segments_w;
    const int64_t x_bytes = (int64_t)args->lines * args->x_line * (int64_t)sizeof(float);
    f.fetches = args->x_pixel >= args->k && (args->k <= FEW_PART || x_bytes > args->cache_l2);
    for (int64_t line = job->line; line < job->line_end; line += follow ? lines : 1) {
        const struct ipex_conv_run run =
            ipex_conv_run(args, 0, segments, line, walk->w_kh, walk->w_kw);
        few_pixels(&f, &run, (const float *)walk->x + line * args->x_line + run.x,
                   walk->y + line * args->y_line + column,
                   walk->residual ? walk->residual + line * args->r_line + column : NULL,
                   follow ? all : ipex_conv_line_pixels(args, line));
    }
    return true;
}

/* A transposed convolution whose windows touch, one tap wide, as a convolution of x's lines, all
 * kernel rows' columns side by side: of a line, column u * n + c is column c of its window's line
 * u. */
static struct ipex_conv_args touching_as_conv(const struct ipex_conv_transpose_args *args) {
    return (struct ipex_conv_args){
        .x = args->x,
        .w = args->w,
        .bias = args->bias, /* [n / stride_h] */
        .y = args->y,
        .x_image = args->x_image,
        .x_line = args->x_row,
        .x_pixel = args->x_pixel,
        .y_image = args->y_image,
        .y_line = args->stride_h * args->y_line,
        .y_pixel = args->y_pixel,
        .images = args->images,
        .lines = args->height,
        .pixels = args->width,
        .last_pixels = args->width,
        .groups = 1,
        .segments_h = 1,
        .segments_w = 1,
        .k = args->k,
        .n = args->stride_h * args->n,
        .lines_per_job = (int32_t)ipex_div_up(args->lines_per_job, args->stride_h),
        .panels_per_job = 1,
        .act = args->act,
        .act_a = args->act_a,
        .act_b = args->act_b,
    };
}

/* Weights of all columns are put side by side in scratch [k][16]. */
void ipex_conv_few_touching(const struct conv_level *level,
                            const struct ipex_conv_transpose_args *args, int64_t job_begin,
                            int64_t job_end, float *scratch) {
    const struct ipex_conv_args conv = touching_as_conv(args);
    const int64_t segment = ipex_conv_panel_words(&conv, 1);
    const struct ipex_conv_run run = {.segments = 1, .taps = 1};
    const struct few f = {
        .level = level,
        .args = &conv,
        .w = scratch,
        .bias = args->bias,
        .columns = conv.n,
        .up = args->stride_h,
        .n = args->n,
        .y_up = args->y_line,
        .fetches = args->k <= FEW_PART,
    };
    for (int64_t k = 0; k < args->k; k++)
        for (int64_t u = 0, c = 0; u < f.up; u++)
            for (int64_t n = 0; n < f.n; n++, c++)
                scratch[k * IPEX_PANEL + c] =
                    ((const float *)args->w)[u * segment + k * IPEX_PANEL + n];
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_job(&conv, j);
        for (int64_t line = job.line; line < job.line_end; line++)
            few_pixels(&f, &run,
                       (const float *)args->x + job.image * conv.x_image + line * conv.x_line,
                       args->y + job.image * conv.y_image + line * conv.y_line, NULL, conv.pixels);
    }
}
