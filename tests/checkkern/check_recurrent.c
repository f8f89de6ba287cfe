/* SPDX-License-Identifier: Apache-2.0 */
/* lstm_f32 and gru_f32: random sizes, gaps, directions and absent operands, weights of f32 and of
 * bf16; the reference against f64. Some share the hidden units of every step out. */
#include <math.h>
#include <string.h>

#include "tests/checkkern/checkkern.h"

enum { MOST_HIDDEN = 70, OUTPUTS = 3 };

struct recurrent_case {
    struct ipex_recurrent_args args;
    bool gru;
    struct buffer x, w, r, bias, h0, c0, zeros;
    struct buffer w_bf16, r_bf16; /* of the same values, with args.bf16_weights */
    int64_t y_floats, h_floats, c_floats;
};

static struct buffer make_values(struct rng *rng, int64_t count, bool special) {
    struct buffer ret = buffer_make((size_t)count * 4);
    for (int64_t i = 0; i < count; i++)
        ((float *)ret.data)[i] = rng_value(rng, special);
    return ret;
}

/* Tiles of [directions][rows][k]; edges zero. */
static struct buffer make_tiles(struct rng *rng, int64_t directions, int64_t rows, int64_t k) {
    const int64_t panels = (rows + 15) / 16, tiles = (k + 15) / 16;
    struct buffer ret = buffer_make((size_t)(directions * panels * tiles * 1024));
    float *w = ret.data;
    memset(w, 0, ret.bytes);
    for (int64_t d = 0; d < directions; d++)
        for (int64_t n = 0; n < rows; n++)
            for (int64_t i = 0; i < k; i++)
                w[((d * panels + n / 16) * tiles * 16 + i) * 16 + n % 16] = rng_float(rng);
    return ret;
}

static float tile_at(const float *w, int64_t rows, int64_t k, int64_t d, int64_t n, int64_t i) {
    const int64_t panels = (rows + 15) / 16, tiles = (k + 15) / 16;
    return w[((d * panels + n / 16) * tiles * 16 + i) * 16 + n % 16];
}

static void random_strides(struct rng *rng, struct recurrent_case *c) {
    struct ipex_recurrent_args *a = &c->args;
    a->x_batch = a->inputs + rng_range(rng, 0, 3);
    a->x_time = a->batches * a->x_batch + rng_range(rng, 0, 3);
    a->y_batch = a->hidden + rng_range(rng, 0, 3);
    a->y_direction = a->batches * a->y_batch + rng_range(rng, 0, 3);
    a->y_time = a->directions * a->y_direction;
    a->h_batch = a->hidden + rng_range(rng, 0, 3);
    a->h_direction = a->batches * a->h_batch;
    a->c_batch = a->hidden + rng_range(rng, 0, 3);
    a->c_direction = a->batches * a->c_batch;
    a->h0_batch = a->hidden + rng_range(rng, 0, 3);
    a->h0_direction = a->batches * a->h0_batch;
    a->c0_batch = a->hidden + rng_range(rng, 0, 3);
    a->c0_direction = a->batches * a->c0_batch;
    c->y_floats = a->times * a->y_time;
    c->h_floats = a->directions * a->h_direction;
    c->c_floats = a->directions * a->c_direction;
}

static void random_case(struct rng *rng, struct recurrent_case *c) {
    struct ipex_recurrent_args *a = &c->args;
    const int64_t gates = c->gru ? 3 : 4;
    *a = (struct ipex_recurrent_args){
        .times = (int32_t)rng_range(rng, 1, 7),
        .batches = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? 20 : 4),
        .directions = (int32_t)rng_range(rng, 1, 2),
        .inputs = (int32_t)rng_range(rng, 1, 40),
        .hidden = (int32_t)rng_range(rng, 1, rng_one_in(rng, 3) ? MOST_HIDDEN : 20),
        .linear_before_reset = c->gru && rng_one_in(rng, 2),
        .cache_l2 = rng_one_in(rng, 2) ? 1 << 20 : (int32_t)rng_range(rng, 2000, 20000),
    };
    a->parts = 1;
    if (rng_one_in(rng, 3) && (!c->gru || a->linear_before_reset)) {
        const int64_t panels = rng_range(rng, 1, MOST_HIDDEN / 16);
        a->hidden = (int32_t)(16 * panels);
        a->parts = (int32_t)rng_range(rng, 1, panels);
    }
    a->reverse = a->directions == 1 && rng_one_in(rng, 2);
    a->batches_per_job = (int32_t)rng_range(rng, 1, a->batches);
    a->times_at_once = (int32_t)rng_range(rng, 1, a->times);
    a->bias_direction = 2 * gates * a->hidden;
    random_strides(rng, c);
    const bool special = rng_one_in(rng, 6);
    c->x = make_values(rng, a->times * a->x_time, special);
    c->w = make_tiles(rng, a->directions, gates * a->hidden, a->inputs);
    c->r = make_tiles(rng, a->directions, gates * a->hidden, a->hidden);
    c->bias = make_values(rng, a->directions * a->bias_direction, false);
    c->h0 = make_values(rng, a->directions * a->h0_direction, false);
    c->c0 = make_values(rng, a->directions * a->c0_direction, false);
    c->zeros = buffer_make((size_t)a->hidden * 4);
    memset(c->zeros.data, 0, c->zeros.bytes);
    a->x = c->x.data;
    a->w = c->w.data;
    a->r = c->r.data;
    a->zeros = c->zeros.data;
    a->bf16_weights = rng_one_in(rng, 2);
    if (a->bf16_weights) {
        const int64_t panels = a->directions * ((gates * a->hidden + 15) / 16);
        c->w_bf16 = cut_tiles_to_bf16(&c->w, panels, a->inputs);
        c->r_bf16 = cut_tiles_to_bf16(&c->r, panels, a->hidden);
    }
    a->bias = rng_one_in(rng, 3) ? NULL : c->bias.data;
    a->h0 = rng_one_in(rng, 3) ? NULL : c->h0.data;
    a->c0 = c->gru || rng_one_in(rng, 3) ? NULL : c->c0.data;
}

static void free_case(struct recurrent_case *c) {
    struct buffer *const all[] = {&c->x, &c->w, &c->r, &c->bias, &c->h0, &c->c0, &c->zeros};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        buffer_free(all[i]);
    if (c->args.bf16_weights) {
        buffer_free(&c->w_bf16);
        buffer_free(&c->r_bf16);
    }
}

static const char *slot_of(const struct recurrent_case *c) {
    return c->gru ? "gru_f32" : "lstm_f32";
}

/* Every round's jobs in any order, all with one scratch. */
static void run_rounds(struct rng *rng, ipex_kernel_fn fn, const struct ipex_recurrent_args *a) {
    const int64_t jobs = ipex_recurrent_jobs(a), rounds = ipex_recurrent_rounds(a);
    struct buffer scratch = buffer_make((size_t)jobs * ipex_recurrent_scratch(a));
    fill_poison(&scratch);
    for (int64_t i = 0; i < rounds; i++) {
        const int64_t cut = rng_range(rng, 0, jobs - 1), begin = i * jobs, end = begin + jobs;
        fn(a, begin + cut, end, scratch.data);
        if (cut > 0)
            fn(a, begin, begin + cut, scratch.data);
    }
    buffer_free(&scratch);
}

/* y, h, c */
static void run_level(const struct level *level, const struct recurrent_case *c, struct rng *rng,
                      struct buffer out[OUTPUTS]) {
    struct ipex_recurrent_args a = c->args;
    if (a.bf16_weights) {
        a.w = c->w_bf16.data;
        a.r = c->r_bf16.data;
    }
    const int64_t floats[OUTPUTS] = {c->y_floats, c->h_floats, c->c_floats};
    for (int i = 0; i < OUTPUTS; i++) {
        out[i] = buffer_make((size_t)floats[i] * 4);
        fill_canary(&out[i]);
    }
    a.y = out[0].data;
    a.h = out[1].data;
    a.c = c->gru ? NULL : out[2].data;
    running(slot_of(c), level->name);
    const ipex_kernel_fn fn =
        c->gru ? (ipex_kernel_fn)level->kernels.gru_f32 : (ipex_kernel_fn)level->kernels.lstm_f32;
    if (a.parts > 1)
        run_rounds(rng, fn, &a);
    else
        run_jobs(rng, fn, &a, ipex_recurrent_jobs(&a), ipex_recurrent_scratch(&a));
}

/* ---- f64 ---- */

struct exact {
    const struct ipex_recurrent_args *a;
    int64_t d, rows;
    const float *x;
    double h[MOST_HIDDEN], c[MOST_HIDDEN];
};

static double exact_x(const struct exact *e, int64_t gate) {
    double sum = e->a->bias ? (double)e->a->bias[e->d * e->a->bias_direction + gate] : 0;
    for (int64_t i = 0; i < e->a->inputs; i++)
        sum += (double)e->x[i] * (double)tile_at(e->a->w, e->rows, e->a->inputs, e->d, gate, i);
    return sum;
}

static double exact_h(const struct exact *e, const double *h, int64_t gate) {
    double sum = e->a->bias ? (double)e->a->bias[e->d * e->a->bias_direction + e->rows + gate] : 0;
    for (int64_t i = 0; i < e->a->hidden; i++)
        sum += h[i] * (double)tile_at(e->a->r, e->rows, e->a->hidden, e->d, gate, i);
    return sum;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void exact_lstm(struct exact *e) {
    const int64_t n = e->a->hidden;
    double next[MOST_HIDDEN];
    for (int64_t j = 0; j < n; j++) {
        const double i = sigmoid(exact_x(e, j) + exact_h(e, e->h, j));
        const double o = sigmoid(exact_x(e, n + j) + exact_h(e, e->h, n + j));
        const double f = sigmoid(exact_x(e, 2 * n + j) + exact_h(e, e->h, 2 * n + j));
        const double g = tanh(exact_x(e, 3 * n + j) + exact_h(e, e->h, 3 * n + j));
        e->c[j] = f * e->c[j] + i * g;
        next[j] = o * tanh(e->c[j]);
    }
    memcpy(e->h, next, sizeof next);
}

static void exact_gru(struct exact *e) {
    const int64_t n = e->a->hidden;
    double next[MOST_HIDDEN] = {0}, reset[MOST_HIDDEN], with[MOST_HIDDEN];
    for (int64_t j = 0; j < n; j++) {
        reset[j] = sigmoid(exact_x(e, n + j) + exact_h(e, e->h, n + j));
        with[j] = reset[j] * e->h[j];
    }
    for (int64_t j = 0; j < n; j++) {
        const double z = sigmoid(exact_x(e, j) + exact_h(e, e->h, j));
        const double g = e->a->linear_before_reset
                             ? tanh(exact_x(e, 2 * n + j) + reset[j] * exact_h(e, e->h, 2 * n + j))
                             : tanh(exact_x(e, 2 * n + j) + exact_h(e, with, 2 * n + j));
        next[j] = (1 - z) * g + z * e->h[j];
    }
    memcpy(e->h, next, sizeof next);
}

/* Largest difference to f64 over y, h and c of one batch element. */
static double element_error(const struct recurrent_case *c, struct buffer out[OUTPUTS], int64_t d,
                            int64_t b) {
    const struct ipex_recurrent_args *a = &c->args;
    struct exact e = {.a = a, .d = d, .rows = (c->gru ? 3 : 4) * a->hidden};
    double worst = 0;
    for (int64_t j = 0; j < a->hidden; j++) {
        e.h[j] = a->h0 ? (double)a->h0[d * a->h0_direction + b * a->h0_batch + j] : 0;
        e.c[j] = a->c0 ? (double)a->c0[d * a->c0_direction + b * a->c0_batch + j] : 0;
    }
    for (int64_t t = 0; t < a->times; t++) {
        const int64_t at = a->reverse || d == 1 ? a->times - 1 - t : t;
        const float *y =
            (float *)out[0].data + at * a->y_time + d * a->y_direction + b * a->y_batch;
        e.x = a->x + at * a->x_time + b * a->x_batch;
        (c->gru ? exact_gru : exact_lstm)(&e);
        for (int64_t j = 0; j < a->hidden; j++)
            worst = fmax(worst, fabs((double)y[j] - e.h[j]));
    }
    for (int64_t j = 0; j < a->hidden; j++) {
        const float h = ((float *)out[1].data)[d * a->h_direction + b * a->h_batch + j];
        const float cell = ((float *)out[2].data)[d * a->c_direction + b * a->c_batch + j];
        worst = fmax(worst, fabs((double)h - e.h[j]));
        worst = fmax(worst, c->gru ? 0 : fabs((double)cell - e.c[j]));
    }
    return worst;
}

/* Gates are sums of inputs + hidden terms below 1, each step adds its error to the one before. */
static double error_bound(const struct ipex_recurrent_args *a) {
    const double terms = a->inputs + a->hidden + 2;
    return a->times * (terms * 4 + 16) * 0x1p-23;
}

static bool has_special(const struct buffer *x) {
    for (size_t i = 0; i < x->bytes / 4; i++)
        if (!(fabsf(((float *)x->data)[i]) < 2))
            return true;
    return false;
}

static int check_case(const struct context *context, struct rng *rng, bool gru) {
    struct recurrent_case c = {.gru = gru};
    struct buffer want[OUTPUTS], got[OUTPUTS];
    int failed = 0;
    random_case(rng, &c);
    run_level(&context->levels[0], &c, rng, want);
    double error = 0;
    for (int64_t i = 0; !has_special(&c.x) && i < c.args.directions * c.args.batches; i++)
        error = fmax(error, element_error(&c, want, i / c.args.batches, i % c.args.batches));
    if (!(error <= error_bound(&c.args)))
        failed += !report(false, "recurrent reference against f64", "%s: off by %g, bound %g",
                          slot_of(&c), error, error_bound(&c.args));
    for (size_t level = 1; level < context->n_levels; level++) {
        run_level(&context->levels[level], &c, rng, got);
        for (int i = 0; i < OUTPUTS; i++) {
            const int64_t at = first_difference(&want[i], &got[i]);
            if (at >= 0)
                failed += !report(
                    false, "recurrent shape",
                    "%s %s: %d steps of %d, batches %d of %d, %d directions, %d -> %d, before %d, "
                    "bf16 %d, output %d, element %lld: %a, want %a",
                    slot_of(&c), context->levels[level].name, c.args.times, c.args.times_at_once,
                    c.args.batches, c.args.batches_per_job, c.args.directions, c.args.inputs,
                    c.args.hidden, c.args.linear_before_reset, c.args.bf16_weights, i,
                    (long long)at, (double)((float *)got[i].data)[at],
                    (double)((float *)want[i].data)[at]);
            buffer_free(&got[i]);
        }
    }
    for (int i = 0; i < OUTPUTS; i++)
        buffer_free(&want[i]);
    free_case(&c);
    return failed;
}

void check_recurrent(const struct context *context) {
    struct rng rng = {context->seed + 11};
    int failed_lstm = 0, failed_gru = 0;
    for (int i = 0; i < context->cases; i++) {
        failed_lstm += wanted(context, "lstm_f32") ? check_case(context, &rng, false) : 0;
        failed_gru += wanted(context, "gru_f32") ? check_case(context, &rng, true) : 0;
    }
    if (wanted(context, "lstm_f32"))
        report(failed_lstm == 0, "lstm_f32: random shapes", "%d failed", failed_lstm);
    if (wanted(context, "gru_f32"))
        report(failed_gru == 0, "gru_f32: random shapes", "%d failed", failed_gru);
}
