/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM and GRU, one batch element at a time. */
#include "kernels/recurrent_jobs.h"
#include "kernels/ref/bf16_ref.h"

/* Takes up a chain with row `gate` of tiles with n elements per row. */
static float gate_chain(const struct ipex_recurrent_args *args, float chain, const float *x,
                        const float *w, int64_t gate, int64_t n) {
    const int64_t column = gate % IPEX_PANEL;
    const float *panel = w + ipex_recurrent_weight(args, gate - column, n);
    for (int64_t k = 0; k < n; k++) {
        const float weight = args->bf16_weights ? ref_bf16_weight((const char *)panel, k, column)
                                                : panel[k * IPEX_PANEL + column];
        chain = fmaf(x[k], weight, chain);
    }
    return chain;
}

/* One element of one job's batch, at one step. */
struct step {
    const struct ipex_recurrent_args *args;
    const struct ipex_recurrent_job *job;
    const float *x, *h; /* inputs, and the step before's h */
    float *y;
    int64_t unit, unit_end;
};

/* wb + rb and the chain over x. */
static float input_gate(const struct step *s, int64_t gate, bool with_rb) {
    float bias = s->job->wb ? s->job->wb[gate] : 0.0f;
    if (s->job->wb && with_rb)
        bias = bias + s->job->rb[gate];
    return gate_chain(s->args, bias, s->x, s->job->w, gate, s->args->inputs);
}

static float whole_gate(const struct step *s, int64_t gate) {
    return gate_chain(s->args, input_gate(s, gate, true), s->h, s->job->r, gate, s->args->hidden);
}

/* Out of line: the test that looks for vectors on the stack in loops with an fma would take what is
 * kept over the calls in here for a spill. */
static __attribute__((noinline)) void lstm_element(const struct step *s, float *c, int64_t j) {
    const int64_t n = s->args->hidden;
    const float i = ref_sigmoid(whole_gate(s, j)), o = ref_sigmoid(whole_gate(s, n + j));
    const float f = ref_sigmoid(whole_gate(s, 2 * n + j)), g = ref_tanh(whole_gate(s, 3 * n + j));
    c[j] = fmaf(f, c[j], i * g);
    s->y[j] = o * ref_tanh(c[j]);
}

static void lstm_step(const struct step *s, float *c, float *scratch) {
    (void)scratch;
    for (int64_t j = s->unit; j < s->unit_end; j++)
        lstm_element(s, c, j);
}

/* scratch: [hidden], r * h. */
static void gru_step(const struct step *s, float *c, float *scratch) {
    const int64_t n = s->args->hidden;
    const bool before = s->args->linear_before_reset;
    (void)c;
    for (int64_t j = s->unit; j < s->unit_end; j++)
        scratch[j] = ref_sigmoid(whole_gate(s, n + j)) * (before ? 1.0f : s->h[j]);
    for (int64_t j = s->unit; j < s->unit_end; j++) {
        const float z = ref_sigmoid(whole_gate(s, j));
        float p = input_gate(s, 2 * n + j, !before);
        if (before)
            p = fmaf(scratch[j],
                     gate_chain(s->args, s->job->rb ? s->job->rb[2 * n + j] : 0.0f, s->h, s->job->r,
                                2 * n + j, n),
                     p);
        else
            p = gate_chain(s->args, p, scratch, s->job->r, 2 * n + j, n);
        s->y[j] = fmaf(z, s->h[j], (1.0f - z) * ref_tanh(p));
    }
}

static void copy_row(float *to, const float *from, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j++)
        to[j] = from ? from[j] : 0.0f;
}

static void run_element(const struct ipex_recurrent_args *args,
                        const struct ipex_recurrent_job *job,
                        const struct ipex_recurrent_place *place, int64_t batch,
                        void (*step)(const struct step *, float *, float *), float *scratch) {
    struct step s = {.args = args, .job = job, .unit = place->unit, .unit_end = place->unit_end};
    const float *h0 = job->h0 ? job->h0 + batch * args->h0_batch : args->zeros;
    float *c = job->c ? job->c + batch * args->c_batch : NULL;
    if (c && place->time == 0)
        copy_row(c, job->c0 ? job->c0 + batch * args->c0_batch : NULL, s.unit, s.unit_end);
    for (int64_t t = place->time; t < place->time_end; t++) {
        s.x = job->x + batch * args->x_batch + t * job->x_step;
        s.y = job->y + batch * args->y_batch + t * job->y_step;
        s.h = t == 0 ? h0 : s.y - job->y_step;
        step(&s, c, scratch);
    }
    if (place->time_end == args->times)
        copy_row(job->h + batch * args->h_batch, s.y, s.unit, s.unit_end);
}

static void run_jobs(const struct ipex_recurrent_args *args, int64_t job_begin, int64_t job_end,
                     int64_t gates, void (*step)(const struct step *, float *, float *),
                     float *scratch) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_recurrent_place place = ipex_recurrent_place(args, j);
        const struct ipex_recurrent_job job = ipex_recurrent_job(args, place.block, gates);
        float *own = scratch + ipex_recurrent_own(args, place.block);
        for (int64_t batch = 0; batch < job.batches; batch++)
            run_element(args, &job, &place, batch, step, own);
    }
}

void IPEX_REF(lstm_f32)(const struct ipex_recurrent_args *args, int64_t job_begin, int64_t job_end,
                        void *scratch) {
    run_jobs(args, job_begin, job_end, IPEX_LSTM_GATES, lstm_step, scratch);
}

void IPEX_REF(gru_f32)(const struct ipex_recurrent_args *args, int64_t job_begin, int64_t job_end,
                       void *scratch) {
    run_jobs(args, job_begin, job_end, IPEX_GRU_GATES, gru_step, scratch);
}
