/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow groups: a vector holds the outputs of several groups, and one vector of x all that they
 * read. A pixel's x is loaded once per tap; for every input of a group it is permuted so that each
 * lane has that input of its own group. The first input of groups with as many inputs as outputs
 * lies there already (ipex_depthwise_input). Included by kernels/x86/depthwise_body.h. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_GROUPS_H
#define IPEX_KERNELS_X86_DEPTHWISE_GROUPS_H

enum { GROUP_INPUTS_MAX = 4 };

/* What all blocks share. */
struct depthwise_groups {
    int64_t inputs, outputs;                 /* of a group */
    int64_t seen;                            /* channels of x that a vector of outputs reads */
    int32_t places[GROUP_INPUTS_MAX][LANES]; /* where lanes find their k-th inputs, in a vector */
};

/* Pixels of a block: their chains and their x in registers. */
enum { GROUPS_ROWS = VEC_REGISTERS == 32 ? 8 : 6 };

#define DG_X(r)       const vec x##r = vec_load_masked(AT(t0, t1, x_row, r), seen);
#define DG_OWN(r)     acc##r = vec_fma(x##r, w, acc##r);
#define DG_PERMUTE(r) acc##r = vec_fma(vec_permute(x##r, at), w, acc##r);

#define GROUPS(MR)                                                                                 \
    static void groups_##MR(const struct depthwise_block *b, const struct depthwise_groups *g) {   \
        enum { HALF = (MR + 1) / 2 };                                                              \
        const int64_t x_row = b->x_row, w_tap = b->w_tap, inputs = g->inputs;                      \
        const int64_t own = inputs == g->outputs;                                                  \
        const float *x = b->x;                                                                     \
        for (int64_t c = 0; c < b->channels; c += LANES, x += g->seen) {                           \
            const int64_t columns = b->channels - c < LANES ? b->channels - c : LANES;             \
            const vec_mask mask = vec_first(columns);                                              \
            const vec_mask seen =                                                                  \
                vec_first(columns < LANES ? ipex_div(columns, g->outputs) * inputs : g->seen);     \
            const vec init = vec_load_masked(b->bias + c, mask);                                   \
            const float *wp = b->w + b->rows.begin * b->kernel_w * inputs * w_tap + c;             \
            ROWS_##MR(DW_INIT) for (int64_t i = b->rows.begin; i < b->rows.end; i++) {             \
                const float *t0 = x + i * b->x_kh, *t1 = t0 + HALF * x_row;                        \
                for (int64_t j = 0; j < b->kernel_w; j++, t0 += b->x_kw, t1 += b->x_kw) {          \
                    ROWS_##MR(DG_X) if (own) {                                                     \
                        const vec w = vec_load(wp);                                                \
                        ROWS_##MR(DG_OWN) wp += w_tap;                                             \
                    }                                                                              \
                    for (int64_t k = own; k < inputs; k++, wp += w_tap) {                          \
                        const vec w = vec_load(wp);                                                \
                        const vec_int at = vec_load_bytes(g->places[k], sizeof at);                \
                        ROWS_##MR(DG_PERMUTE)                                                      \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
            DW_FINISH(ROWS_##MR(DW_RESIDUAL_CUT), ROWS_##MR(DW_STORE_CUT))                         \
        }                                                                                          \
    }

GROUPS(1)
GROUPS(2)
GROUPS(3)
GROUPS(4)
GROUPS(5)
GROUPS(6)
#if VEC_REGISTERS == 32
GROUPS(7)
GROUPS(8)
#endif

typedef void (*groups_fn)(const struct depthwise_block *, const struct depthwise_groups *);
static const groups_fn groups_rows[GROUPS_ROWS + 1] = {
    NULL,     groups_1, groups_2, groups_3, groups_4, groups_5, groups_6,
#if VEC_REGISTERS == 32
    groups_7, groups_8,
#endif
};

static inline struct depthwise_groups depthwise_groups_of(const struct ipex_depthwise_args *args) {
    struct depthwise_groups ret = {
        .inputs = args->group_inputs,
        .outputs = args->group_outputs,
        .seen = LANES / args->group_outputs * args->group_inputs,
    };
    for (int32_t k = 0; k < args->group_inputs; k++)
        for (int32_t lane = 0; lane < LANES; lane++)
            ret.places[k][lane] = (int32_t)(lane / args->group_outputs * args->group_inputs +
                                            ipex_depthwise_input(lane, k, args->group_inputs));
    return ret;
}

static inline void depthwise_groups_line(const struct ipex_depthwise_args *args, int64_t image,
                                         int64_t line, const struct depthwise_groups *groups,
                                         struct ipex_act_rows *pending) {
    const struct ipex_line_cut cut = ipex_cut_line(args->pixels, GROUPS_ROWS);
    struct depthwise_block b = depthwise_block_at(args, image, line, 1);
    for (int64_t i = 0, rows; i < cut.count; i++, depthwise_block_next(&b, rows)) {
        rows = cut.small + (i < cut.larger);
        groups_rows[rows](&b, groups);
        depthwise_activate(args, b.y, rows, pending);
    }
}

static inline void depthwise_groups_run(const struct ipex_depthwise_args *args, int64_t job_begin,
                                        int64_t job_end) {
    const struct depthwise_groups groups = depthwise_groups_of(args);
    struct ipex_act_rows pending = {.rows = 0};
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_depthwise_job job = ipex_depthwise_job(args, j);
        for (int64_t line = job.line; line < job.line_end; line++)
            depthwise_groups_line(args, job.image, line, &groups, &pending);
    }
    IPEX_LEVEL(activate)(&pending);
}

#endif
