/* SPDX-License-Identifier: Apache-2.0 */
/* scatter: a copy, and updates of its rows in their order. No address comes from an index that has
 * not been brought inside. */
#include "kernels/ref/ref.h"

/* The usual kind, without a choice per element. */
static void add_f32(float *restrict y, const float *restrict updates, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] += updates[i];
}

static void combine_f32(int32_t kind, float *restrict y, const float *restrict updates, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const float p = y[i], q = updates[i];
        y[i] = kind == IPEX_SCATTER_mul   ? p * q
               : kind == IPEX_SCATTER_max ? ref_max_nan(p, q)
                                          : ref_min_nan(p, q);
    }
}

static void combine_i64(int32_t kind, int64_t *restrict y, const int64_t *restrict updates,
                        int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t p = y[i], q = updates[i];
        y[i] = kind == IPEX_SCATTER_add   ? (int64_t)((uint64_t)p + (uint64_t)q)
               : kind == IPEX_SCATTER_mul ? (int64_t)((uint64_t)p * (uint64_t)q)
               : kind == IPEX_SCATTER_max ? (q > p ? q : p)
                                          : (q < p ? q : p);
    }
}

static void combine(const struct ipex_scatter_args *args, void *y, const void *updates) {
    if (args->kind == IPEX_SCATTER_none)
        ref_copy(y, updates, args->inner);
    else if (!args->real)
        combine_i64(args->kind, y, updates, args->inner / 8);
    else if (args->kind == IPEX_SCATTER_add)
        add_f32(y, updates, args->inner / 4);
    else
        combine_f32(args->kind, y, updates, args->inner / 4);
}

void IPEX_REF(scatter)(const struct ipex_scatter_args *args, int64_t job_begin, int64_t job_end,
                       void *scratch) {
    (void)scratch;
    const int64_t begin = job_begin * args->rows_per_job, limit = job_end * args->rows_per_job;
    const int64_t end = limit < args->rows ? limit : args->rows, inner = args->inner;
    const char *x = args->x, *updates = args->updates;
    char *y = args->y;
    if (x != y)
        memcpy(y + begin * inner, x + begin * inner, (size_t)((end - begin) * inner));
    for (int64_t i = 0; i < args->count; i++) {
        const int64_t row = ref_index(args->index[i], args->rows);
        if (row >= begin && row < end)
            combine(args, y + row * inner, updates + i * inner);
    }
}
