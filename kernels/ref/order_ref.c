/* SPDX-License-Identifier: Apache-2.0 */
/* arg, topk, cumsum: what depends on the order along one axis. */
#include "kernels/ref/ref.h"

/* a before b: larger, or smaller where the smallest are asked for. A NaN is larger than all. */
static bool before(float a, float b, bool largest) {
    if (!largest) {
        const float swap = a;
        a = b;
        b = swap;
    }
    return a > b || (a != a && b == b);
}

void IPEX_REF(arg_f32)(const struct ipex_arg_args *args, int64_t job_begin, int64_t job_end,
                       void *scratch) {
    (void)scratch;
    for (int64_t row = job_begin; row < job_end; row++) {
        const float *x = args->x + row * args->x_row;
        int64_t best = 0;
        for (int64_t i = 1; i < args->columns; i++)
            if (args->last ? !before(x[best], x[i], args->largest)
                           : before(x[i], x[best], args->largest))
                best = i;
        args->y[row] = best;
    }
}

/* Which of two elements of a row comes first in the result. */
static bool ranks_before(const float *x, int64_t a, int64_t b, bool largest) {
    return before(x[a], x[b], largest) || (!before(x[b], x[a], largest) && a < b);
}

/* A heap of indices whose root comes last in the result. */
static __attribute__((noinline)) void sift_down(const float *x, int64_t *heap, int64_t at,
                                                int64_t count, bool largest) {
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && ranks_before(x, heap[child], heap[child + 1], largest))
            child++;
        if (!ranks_before(x, heap[at], heap[child], largest))
            return;
        const int64_t swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

/* The best k so far are a heap; what is better than the worst of them takes its place. */
static void topk_row(const float *x, int64_t columns, int64_t k, bool largest, int64_t *heap) {
    for (int64_t i = 0; i < k; i++)
        heap[i] = i;
    for (int64_t i = k / 2; i-- > 0;)
        sift_down(x, heap, i, k, largest);
    for (int64_t i = k; i < columns; i++)
        if (ranks_before(x, i, heap[0], largest)) {
            heap[0] = i;
            sift_down(x, heap, 0, k, largest);
        }
    for (int64_t last = k - 1; last > 0; last--) {
        const int64_t swap = heap[0];
        heap[0] = heap[last];
        heap[last] = swap;
        sift_down(x, heap, 0, last, largest);
    }
}

void IPEX_REF(topk_f32)(const struct ipex_topk_args *args, int64_t job_begin, int64_t job_end,
                        void *scratch) {
    (void)scratch;
    for (int64_t row = job_begin; row < job_end; row++) {
        const float *x = args->x + row * args->x_row;
        float *values = args->values + row * args->values_row;
        int64_t *indices = args->indices + row * args->indices_row;
        topk_row(x, args->columns, args->k, args->largest, indices);
        for (int64_t i = 0; i < args->k; i++)
            values[i] = x[indices[i]];
    }
}

/* One outer index: every step adds a row of `inner` to the sums, which are y's row before. */
#define CUMSUM(name, T, SUM)                                                                       \
    static void name(const struct ipex_cumsum_args *args, const T *x, T *y) {                      \
        const int64_t step = args->reverse ? -1 : 1, n = args->middle, inner = args->inner;        \
        const int64_t first = args->reverse ? n - 1 : 0;                                           \
        for (int64_t m = 0; m < n; m++) {                                                          \
            const int64_t at = first + m * step;                                                   \
            T *to = y + at * args->y_middle;                                                       \
            const T *sum = to - step * args->y_middle;                                             \
            const T *add = x + (args->exclusive ? at - step : at) * args->x_middle;                \
            for (int64_t i = 0; i < inner; i++) {                                                  \
                __asm__ volatile(""); /* one loop: compilers would make eight, of vectors */       \
                const T p = m == 0 ? 0 : sum[i], q = m == 0 && args->exclusive ? 0 : add[i];       \
                to[i] = (T)(SUM);                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
CUMSUM(cumsum_f32, float, p + q)
CUMSUM(cumsum_i32, int32_t, (uint32_t)p + (uint32_t)q)
CUMSUM(cumsum_i64, int64_t, (uint64_t)p + (uint64_t)q)

void IPEX_REF(cumsum)(const struct ipex_cumsum_args *args, int64_t job_begin, int64_t job_end,
                      void *scratch) {
    (void)scratch;
    for (int64_t outer = job_begin; outer < job_end; outer++) {
        const int64_t x = outer * args->x_outer, y = outer * args->y_outer;
        if (args->dtype == IPEX_DTYPE_f32)
            cumsum_f32(args, (const float *)args->x + x, (float *)args->y + y);
        else if (args->dtype == IPEX_DTYPE_i32)
            cumsum_i32(args, (const int32_t *)args->x + x, (int32_t *)args->y + y);
        else
            cumsum_i64(args, (const int64_t *)args->x + x, (int64_t *)args->y + y);
    }
}
