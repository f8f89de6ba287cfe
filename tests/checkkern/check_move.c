/* SPDX-License-Identifier: Apache-2.0 */
/* move and fill: random permutations of random dims with gaps, broadcasts and reversed axes, all
 * element sizes, and large two-dim transposes. The reference is compared with an index-by-index
 * copy written here. */
#include "tests/checkkern/checkkern.h"

#include <string.h>

struct box {
    struct ipex_move_args args;
    int64_t x_bytes, y_bytes;
    struct buffer x;
};

/* Strides of dims laid out in the order of `perm`, last fastest, with gaps; returns the elements
 * that are spanned. */
static int64_t lay_out(const struct ipex_move_args *a, const int32_t *perm, struct rng *rng,
                       int64_t *stride) {
    int64_t step = rng_one_in(rng, 6) ? 2 : 1, span = 1; /* 2: every second element */
    for (int32_t i = a->rank - 1; i >= 0; i--) {
        const int32_t d = perm[i];
        stride[d] = step;
        span += (a->dims[d] - 1) * step;
        step = step * a->dims[d] + (rng_one_in(rng, 4) ? rng_range(rng, 1, 3) : 0);
        if (a->size == 4 && rng_one_in(rng, 6)) /* rows of few sets of a cache */
            step = (step + 255) / 256 * 256;
    }
    return span;
}

static void shuffle(struct rng *rng, int32_t *perm, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        perm[i] = i;
    for (int32_t i = n - 1; i > 0; i--) {
        const int32_t j = (int32_t)rng_range(rng, 0, i), swap = perm[i];
        perm[i] = perm[j];
        perm[j] = swap;
    }
}

static struct box random_box(struct rng *rng, bool large) {
    struct box b;
    memset(&b, 0, sizeof b);
    struct ipex_move_args *a = &b.args;
    int32_t perm[8];
    a->size = !large ? 1 << rng_range(rng, 0, 3) : rng_one_in(rng, 3) ? 1 : 4;
    a->rank = (int32_t)rng_range(rng, large ? 2 : 1, large ? 3 : 5);
    for (int32_t i = 0; i < a->rank; i++)
        a->dims[i] = rng_range(rng, 1, large ? 40 : 6);
    if (large && rng_one_in(rng, 2)) /* colours of a picture, shuffled channels */
        a->dims[rng_range(rng, 0, a->rank - 1)] = rng_range(rng, 2, 3);
    shuffle(rng, perm, a->rank);
    b.y_bytes = lay_out(a, perm, rng, a->y_stride) * a->size;
    shuffle(rng, perm, a->rank);
    b.x_bytes = lay_out(a, perm, rng, a->x_stride) * a->size;
    b.x = buffer_make((size_t)b.x_bytes);
    for (int64_t i = 0; i < b.x_bytes; i++)
        ((unsigned char *)b.x.data)[i] = (unsigned char)rng_next(rng);
    const char *x = b.x.data;
    for (int32_t i = 0; i < a->rank; i++) {
        if (rng_one_in(rng, 8)) {
            a->x_stride[i] = 0;
        } else if (rng_one_in(rng, 8)) { /* reversed: start at the far end */
            x += (a->dims[i] - 1) * a->x_stride[i] * a->size;
            a->x_stride[i] = -a->x_stride[i];
        }
    }
    a->x = x;
    return b;
}

/* The definition, for every index. */
static void plain_move(const struct ipex_move_args *a, char *y) {
    int64_t total = 1;
    for (int32_t i = 0; i < a->rank; i++)
        total *= a->dims[i];
    for (int64_t n = 0; n < total; n++) {
        int64_t rest = n, from = 0, to = 0;
        for (int32_t i = a->rank - 1; i >= 0; i--) {
            from += rest % a->dims[i] * a->x_stride[i];
            to += rest % a->dims[i] * a->y_stride[i];
            rest /= a->dims[i];
        }
        memcpy(y + to * a->size, (const char *)a->x + from * a->size, (size_t)a->size);
    }
}

static int check_box(const struct context *context, struct rng *rng, bool large) {
    struct box b = random_box(rng, large);
    struct buffer want = buffer_make((size_t)b.y_bytes);
    fill_canary(&want);
    plain_move(&b.args, want.data);
    int failed = 0;
    for (size_t i = 0; i < context->n_levels; i++) {
        struct ipex_move_args a = b.args;
        struct buffer got = buffer_make((size_t)b.y_bytes);
        fill_canary(&got);
        a.y = got.data;
        running("move", context->levels[i].name);
        run_jobs(rng, (ipex_kernel_fn)context->levels[i].kernels.move, &a, a.dims[0], 0);
        const int64_t at = first_byte_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, "move box", "%s: rank %d size %d, byte %lld",
                              context->levels[i].name, a.rank, a.size, (long long)at);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&b.x);
    return failed;
}

static int check_fill(const struct context *context, struct rng *rng) {
    struct box b = random_box(rng, rng_one_in(rng, 2));
    b.args.size = 1 << rng_range(rng, 0, 2);
    const size_t size = (size_t)b.args.size;
    const uint32_t pattern = (uint32_t)rng_next(rng);
    int64_t elements = 1;
    for (int32_t i = 0; i < b.args.rank; i++) {
        b.args.x_stride[i] = 0;
        elements += (b.args.dims[i] - 1) * b.args.y_stride[i];
    }
    b.args.x = &pattern;
    struct buffer want = buffer_make((size_t)elements * size);
    fill_canary(&want);
    plain_move(&b.args, want.data);
    int failed = 0;
    for (size_t i = 0; i < context->n_levels; i++) {
        struct buffer got = buffer_make((size_t)elements * size);
        fill_canary(&got);
        struct ipex_fill_args a = {
            .y = got.data, .rank = b.args.rank, .pattern = pattern, .size = (int32_t)size};
        memcpy(a.dims, b.args.dims, sizeof a.dims);
        memcpy(a.y_stride, b.args.y_stride, sizeof a.y_stride);
        running("fill", context->levels[i].name);
        run_jobs(rng, (ipex_kernel_fn)context->levels[i].kernels.fill, &a, a.dims[0], 0);
        const int64_t at = first_byte_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, "fill box", "%s: rank %d, byte %lld", context->levels[i].name,
                              a.rank, (long long)at);
        buffer_free(&got);
    }
    buffer_free(&want);
    buffer_free(&b.x);
    return failed;
}

void check_move(const struct context *context) {
    struct rng rng = {context->seed + 5};
    int failed = 0;
    for (int i = 0; wanted(context, "move") && i < context->cases * 3; i++)
        failed += check_box(context, &rng, i % 3 == 0);
    if (wanted(context, "move"))
        report(failed == 0, "move: random boxes", "%d failed", failed);
    failed = 0;
    for (int i = 0; wanted(context, "fill") && i < context->cases; i++)
        failed += check_fill(context, &rng);
    if (wanted(context, "fill"))
        report(failed == 0, "fill: random boxes", "%d failed", failed);
}
