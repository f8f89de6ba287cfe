/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM and GRU for either vector width: the product with w for many steps at once and the one with
 * r step by step, both through the convolution's register blocks, then the gates' arithmetic.
 * Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_RECURRENT_BODY_H
#define IPEX_KERNELS_X86_RECURRENT_BODY_H

#include "kernels/recurrent_jobs.h"
#include "kernels/x86/vec_math.h"

#define NOT_INLINED __attribute__((noinline))

/* A job at work. Gates of a step: [batches][gate_row]. */
struct recurrent {
    const struct ipex_recurrent_args *args;
    struct ipex_recurrent_place place;
    struct ipex_recurrent_job job;
    struct ipex_recurrent_layout layout;
    float *scratch;
    const float *h; /* the step before's */
    int64_t h_batch, gates;
};

/* A product of all batches with columns [column, columns) of tiles, column a multiple of 16. */
struct recurrent_product {
    const float *x, *w, *bias;
    float *y;
    int64_t x_line, x_row, y_line, y_row; /* lines: steps */
    int64_t lines, k, column, columns;
    bool resume;
};

/* Its arguments would be made anew within the loops over batches. */
NOT_INLINED static void recurrent_multiply(const struct recurrent *s,
                                           const struct recurrent_product *p) {
    const bool flat = s->job.batches == 1; /* then steps are the rows */
    const int64_t rows = flat ? p->lines : s->job.batches;
    const int64_t n = p->columns - p->column;
    const struct ipex_conv_args conv = {
        .x = p->x,
        .w = p->w + ipex_recurrent_weight(s->args, p->column, p->k),
        .bias = p->bias + p->column,
        .y = p->y,
        .x_line = p->x_line,
        .x_pixel = flat ? p->x_line : p->x_row,
        .y_line = p->y_line,
        .y_pixel = flat ? p->y_line : p->y_row,
        .images = 1,
        .lines = flat ? 1 : (int32_t)p->lines,
        .pixels = (int32_t)rows,
        .last_pixels = (int32_t)rows,
        .groups = 1,
        .segments_h = 1,
        .segments_w = 1,
        .k = (int32_t)p->k,
        .n = (int32_t)n,
        .lines_per_job = flat ? 1 : (int32_t)p->lines,
        .panels_per_job = (int32_t)ipex_div_up(n, IPEX_PANEL),
        .panels_outside = true,
        .cache_l2 = s->args->cache_l2,
        .resume = p->resume,
    };
    if (s->args->bf16_weights)
        IPEX_LEVEL(conv_bf16w)(&conv, 0, 1, NULL);
    else
        IPEX_LEVEL(conv_f32)(&conv, 0, 1, NULL);
}

/* The columns of gates [gate, end) that the job's units have, of rows of gates at p->y: together,
 * or, where it has not all units, gate by gate. */
NOT_INLINED static void recurrent_multiply_gates(const struct recurrent *s,
                                                 struct recurrent_product *p, int64_t gate,
                                                 int64_t end) {
    const int64_t hidden = s->args->hidden;
    float *const y = p->y;
    const bool whole = s->args->parts == 1;
    for (int64_t next; gate < end; gate = next) {
        next = whole ? end : gate + 1;
        p->column = gate * hidden + s->place.unit;
        p->columns = (next - 1) * hidden + s->place.unit_end;
        p->y = y + p->column;
        recurrent_multiply(s, p);
    }
}

/* bias: wb + rb, for the last gate of linear_before_reset wb alone; bias_r: rb. */
NOT_INLINED static void recurrent_biases(const struct recurrent *s) {
    const vec zero = vec_set(0.0f);
    for (int64_t gate = 0; gate < s->gates; gate++) {
        const bool both = s->job.wb && (!s->args->linear_before_reset || gate < 2);
        const int64_t first = gate * s->args->hidden, end = first + s->place.unit_end;
        for (int64_t i = first + s->place.unit; i < end; i += LANES) {
            const vec r = s->job.rb ? vec_load_part(s->job.rb + i, end - i) : zero;
            const vec w = s->job.wb ? vec_load_part(s->job.wb + i, end - i) : zero;
            vec_store_part(s->scratch + s->layout.bias_r + i, end - i, r);
            vec_store_part(s->scratch + s->layout.bias + i, end - i, both ? vec_add(w, r) : w);
        }
    }
}

/* The gates' chains over x for `steps` steps, of which the first has x as its input. */
NOT_INLINED static void recurrent_inputs(const struct recurrent *s, const float *x, int64_t steps) {
    struct recurrent_product p = {
        .x = x,
        .w = s->job.w,
        .bias = s->scratch + s->layout.bias,
        .y = s->scratch + s->layout.gates,
        .x_line = s->job.x_step,
        .x_row = s->args->x_batch,
        .y_line = s->job.batches * s->layout.gate_row,
        .y_row = s->layout.gate_row,
        .lines = steps,
        .k = s->args->inputs,
    };
    recurrent_multiply_gates(s, &p, 0, s->gates);
}

/* Goes on with the first `count` of a step's gates over h. */
NOT_INLINED static void recurrent_hidden(const struct recurrent *s, float *gates, int64_t count) {
    struct recurrent_product p = {
        .x = s->h,
        .w = s->job.r,
        .bias = s->scratch + s->layout.bias_r,
        .y = gates,
        .x_row = s->h_batch,
        .y_row = s->layout.gate_row,
        .lines = 1,
        .k = s->args->hidden,
        .resume = true,
    };
    recurrent_multiply_gates(s, &p, 0, count);
}

/* Not inlined into the loops over steps and batches, out of which compilers would take the
 * constants: AVX2 has just registers enough for this loop alone. */
NOT_INLINED static void recurrent_sigmoid(float *y, int64_t n) {
    for (int64_t j = 0; j < n; j += LANES)
        vec_store_part(y + j, n - j, vec_sigmoid(vec_load_part(y + j, n - j)));
}

NOT_INLINED static void recurrent_tanh(float *y, const float *x, int64_t n) {
    for (int64_t j = 0; j < n; j += LANES)
        vec_store_part(y + j, n - j, vec_tanh(vec_load_part(x + j, n - j)));
}

/* c from the gates of one batch element, n apart, which are functions' values by now. */
NOT_INLINED static void lstm_cells(const float *gates, float *c, int64_t n, int64_t units) {
    for (int64_t j = 0; j < units; j += LANES) {
        const int64_t left = units - j;
        const vec i = vec_load_part(gates + j, left), f = vec_load_part(gates + 2 * n + j, left);
        const vec in = vec_mul(i, vec_load_part(gates + 3 * n + j, left));
        vec_store_part(c + j, left, vec_fma(f, vec_load_part(c + j, left), in));
    }
}

/* Units of one batch element: gates i, o, f and c, n apart. */
NOT_INLINED static void lstm_row(float *gates, float *c, float *y, int64_t n, int64_t units) {
    if (units == n)
        recurrent_sigmoid(gates, 3 * n);
    for (int64_t gate = 0; units != n && gate < 3; gate++)
        recurrent_sigmoid(gates + gate * n, units);
    recurrent_tanh(gates + 3 * n, gates + 3 * n, units);
    lstm_cells(gates, c, n, units);
    recurrent_tanh(y, c, units);
    for (int64_t j = 0; j < units; j += LANES) {
        const vec o = vec_load_part(gates + n + j, units - j);
        vec_store_part(y + j, units - j, vec_mul(o, vec_load_part(y + j, units - j)));
    }
}

static inline void lstm_step(const struct recurrent *s, float *gates, float *y) {
    const struct ipex_recurrent_args *args = s->args;
    const int64_t unit = s->place.unit, units = s->place.unit_end - unit;
    recurrent_hidden(s, gates, s->gates);
    for (int64_t b = 0; b < s->job.batches; b++)
        lstm_row(gates + b * s->layout.gate_row + unit, s->job.c + b * args->c_batch + unit,
                 y + b * args->y_batch + unit, args->hidden, units);
}

/* z, and r or, where the reset comes before the product, r * h. */
NOT_INLINED static void gru_reset_row(const float *gates, const float *h, float *z, float *r,
                                      int64_t n, int64_t units, bool linear_before_reset) {
    for (int64_t j = 0; j < units; j += LANES) {
        const int64_t left = units - j;
        const vec reset = vec_sigmoid(vec_load_part(gates + n + j, left));
        const vec with = linear_before_reset ? reset : vec_mul(reset, vec_load_part(h + j, left));
        vec_store_part(z + j, left, vec_sigmoid(vec_load_part(gates + j, left)));
        vec_store_part(r + j, left, with);
    }
}

/* p: the last gate's chain; q: NULL, or its chain over h, which r multiplies. */
NOT_INLINED static void gru_row(const float *p, const float *q, const float *z, const float *r,
                                const float *h, float *y, int64_t n) {
    const vec one = vec_set(1.0f);
    for (int64_t j = 0; j < n; j += LANES) {
        const int64_t left = n - j;
        const vec update = vec_load_part(z + j, left);
        vec gate = vec_load_part(p + j, left);
        if (q)
            gate = vec_fma(vec_load_part(r + j, left), vec_load_part(q + j, left), gate);
        const vec new_part = vec_mul(vec_sub(one, update), vec_tanh(gate));
        vec_store_part(y + j, left, vec_fma(update, vec_load_part(h + j, left), new_part));
    }
}

/* The last gate's product with r begins at a panel, in which columns of the gate before may lie:
 * they are not used any more. */
static inline void gru_step(const struct recurrent *s, float *gates, float *y) {
    const struct ipex_recurrent_args *args = s->args;
    const struct ipex_recurrent_layout *layout = &s->layout;
    const int64_t n = args->hidden, row = layout->hidden_row;
    const int64_t unit = s->place.unit, units = s->place.unit_end - unit;
    float *z = s->scratch + layout->a + unit, *r = s->scratch + layout->b + unit;
    const bool before = args->linear_before_reset;
    recurrent_hidden(s, gates, 2);
    for (int64_t b = 0; b < s->job.batches; b++)
        gru_reset_row(gates + b * layout->gate_row + unit, s->h + b * s->h_batch + unit,
                      z + b * row, r + b * row, n, units, before);
    const int64_t first = 2 * n + unit, column = first / IPEX_PANEL * IPEX_PANEL;
    float *q = s->scratch + layout->c + unit;
    const struct recurrent_product p = {
        .x = before ? s->h : r,
        .w = s->job.r,
        .bias = s->scratch + layout->bias_r,
        .y = before ? q : gates + column,
        .x_row = before ? s->h_batch : row,
        .y_row = before ? row : layout->gate_row,
        .lines = 1,
        .k = n,
        .column = column,
        .columns = first + units,
        .resume = !before,
    };
    recurrent_multiply(s, &p);
    for (int64_t b = 0; b < s->job.batches; b++)
        gru_row(gates + b * layout->gate_row + first, before ? q + b * row + first - column : NULL,
                z + b * row, r + b * row, s->h + b * s->h_batch + unit,
                y + b * args->y_batch + unit, units);
}

static inline void recurrent_copy(float *to, const float *from, int64_t n) {
    for (int64_t j = 0; j < n; j += LANES)
        vec_store_part(to + j, n - j, from ? vec_load_part(from + j, n - j) : vec_set(0.0f));
}

typedef void (*recurrent_step_fn)(const struct recurrent *s, float *gates, float *y);

/* The job's units of all batches, from rows `from` (NULL: zeros) to rows `to`. */
NOT_INLINED static void recurrent_copy_rows(const struct recurrent *s, float *to, int64_t to_batch,
                                            const float *from, int64_t from_batch) {
    const int64_t unit = s->place.unit, units = s->place.unit_end - unit;
    for (int64_t b = 0; b < s->job.batches; b++)
        recurrent_copy(to + b * to_batch + unit, from ? from + b * from_batch + unit : NULL, units);
}

static inline void recurrent_time(struct recurrent *s, recurrent_step_fn step, int64_t t) {
    const struct ipex_recurrent_args *args = s->args;
    const int64_t ahead = t % args->times_at_once;
    float *y = s->job.y + t * s->job.y_step;
    if (t == 0) {
        recurrent_biases(s);
        if (s->job.c)
            recurrent_copy_rows(s, s->job.c, args->c_batch, s->job.c0, args->c0_batch);
    }
    if (ahead == 0)
        recurrent_inputs(s, s->job.x + t * s->job.x_step,
                         ipex_smaller(args->times - t, args->times_at_once));
    s->h = t > 0 ? y - s->job.y_step : s->job.h0 ? s->job.h0 : args->zeros;
    s->h_batch = t > 0 ? args->y_batch : s->job.h0 ? args->h0_batch : 0;
    step(s, s->scratch + s->layout.gates + ahead * s->job.batches * s->layout.gate_row, y);
    if (t == args->times - 1)
        recurrent_copy_rows(s, s->job.h, args->h_batch, y, args->y_batch);
}

static inline void recurrent_jobs(const struct ipex_recurrent_args *args, int64_t job_begin,
                                  int64_t job_end, void *scratch, int64_t gates,
                                  recurrent_step_fn step) {
    struct recurrent s = {.args = args, .layout = ipex_recurrent_layout(args), .gates = gates};
    for (int64_t j = job_begin; j < job_end; j++) {
        s.place = ipex_recurrent_place(args, j);
        s.job = ipex_recurrent_job(args, s.place.block, gates);
        s.scratch = (float *)scratch + ipex_recurrent_own(args, s.place.block);
        for (int64_t t = s.place.time; t < s.place.time_end; t++)
            recurrent_time(&s, step, t);
    }
}

void IPEX_LEVEL(lstm_f32)(const struct ipex_recurrent_args *args, int64_t job_begin,
                          int64_t job_end, void *scratch) {
    recurrent_jobs(args, job_begin, job_end, scratch, IPEX_LSTM_GATES, lstm_step);
}

void IPEX_LEVEL(gru_f32)(const struct ipex_recurrent_args *args, int64_t job_begin, int64_t job_end,
                         void *scratch) {
    recurrent_jobs(args, job_begin, job_end, scratch, IPEX_GRU_GATES, gru_step);
}

#endif
