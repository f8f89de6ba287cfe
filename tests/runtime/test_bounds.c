/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that binders ask for: enough for what they chose, and growing with every dim, since a
 * session with symbols is measured at the ends of their ranges only. */
#include <stdio.h>
#include <string.h>

#include "runtime/bind.h"
#include "tests/runtime/harness.h"

enum { SIZES = 6 };

static struct ipex_tensor_info dense(int rank, const int64_t *dims) {
    struct ipex_tensor_info ret = {.dtype = IPEX_DTYPE_f32, .rank = (uint8_t)rank, .dense = true};
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        ret.dims[d] = dims[d];
        ret.strides[d] = stride;
        stride *= dims[d];
    }
    return ret;
}

/* One operator's tensors at `size`, bound; what its kernel takes for the blocks chosen. */
typedef enum ipex_bound (*bind_at_fn)(struct ipex_bind *bind, const int64_t *size,
                                      struct ipex_tensor_info *t, size_t *ret_scratch,
                                      size_t *ret_zeros);

/* t: two inputs and what is made of them. */
static void bind_two(struct ipex_bind *bind, const int32_t *ints, const float *floats,
                     const struct ipex_tensor_info *t) {
    bind->ints = ints;
    bind->floats = floats;
    bind->n_inputs = 2;
    bind->input[0] = &t[0];
    bind->input[1] = &t[1];
    bind->output = &t[2];
}

/* size: batch, m, k, n */
static enum ipex_bound matmul_at(struct ipex_bind *bind, const int64_t *size,
                                 struct ipex_tensor_info *t, size_t *ret_scratch,
                                 size_t *ret_zeros) {
    static const int32_t ints[] = {0};
    static const float floats[] = {1};
    t[0] = dense(3, (int64_t[]){size[0], size[1], size[2]});
    t[1] = dense(3, (int64_t[]){size[0], size[2], size[3]});
    t[2] = dense(3, (int64_t[]){size[0], size[1], size[3]});
    bind_two(bind, ints, floats, t);
    const enum ipex_bound ret = ipex_bind_matmul(bind);
    *ret_scratch = ipex_matmul_scratch(&bind->args.matmul);
    *ret_zeros = (size_t)bind->args.matmul.columns_per_job * sizeof(float);
    return ret;
}

/* size: batch, queries, keys, d, e */
static enum ipex_bound attention_at(struct ipex_bind *bind, const int64_t *size,
                                    struct ipex_tensor_info *t, size_t *ret_scratch,
                                    size_t *ret_zeros) {
    static const int32_t ints[] = {0, 0};
    static const float floats[] = {1};
    t[0] = dense(3, (int64_t[]){size[0], size[1], size[3]});
    t[1] = dense(3, (int64_t[]){size[0], size[2], size[3]});
    t[2] = dense(3, (int64_t[]){size[0], size[2], size[4]});
    t[3] = dense(3, (int64_t[]){size[0], size[1], size[4]});
    bind->ints = ints;
    bind->floats = floats;
    bind->n_inputs = 3;
    for (int i = 0; i < 3; i++)
        bind->input[i] = &t[i];
    bind->output = &t[3];
    const enum ipex_bound ret = ipex_bind_attention(bind);
    const struct ipex_attention_args *args = &bind->args.attention;
    const int64_t e = (args->e + 15) / 16 * 16;
    *ret_scratch = ipex_attention_scratch(args);
    *ret_zeros = (size_t)(e > args->keys_at_once ? e : args->keys_at_once) * sizeof(float);
    return ret;
}

/* size: images, lines, pixels, channels per group; 8 groups */
static enum ipex_bound group_norm_at(struct ipex_bind *bind, const int64_t *size,
                                     struct ipex_tensor_info *t, size_t *ret_scratch,
                                     size_t *ret_zeros) {
    static const int32_t ints[] = {8, 0};
    static const float floats[3] = {0};
    t[0] = dense(4, (int64_t[]){size[0], size[1], size[2], 8 * size[3]});
    bind->ints = ints;
    bind->floats = floats;
    bind->n_inputs = 1;
    bind->input[0] = bind->output = &t[0];
    const enum ipex_bound ret = ipex_bind_group_norm(bind);
    *ret_scratch = ipex_group_norm_scratch(&bind->args.group_norm);
    *ret_zeros = 0;
    return ret;
}

/* size: steps, batches, inputs, hidden */
static enum ipex_bound lstm_at(struct ipex_bind *bind, const int64_t *size,
                               struct ipex_tensor_info *t, size_t *ret_scratch, size_t *ret_zeros) {
    static const int32_t ints[] = {1, 0};
    t[0] = dense(3, size);
    t[1] = dense(5, (int64_t[]){1, 1, 4 * size[3], 1, size[2]});
    t[2] = dense(5, (int64_t[]){1, 1, 4 * size[3], 1, size[3]});
    t[3] = dense(4, (int64_t[]){size[0], 1, size[1], size[3]});
    t[4] = dense(3, (int64_t[]){1, size[1], size[3]});
    bind->ints = ints;
    bind->n_inputs = 3;
    bind->n_outputs = 3;
    for (int i = 0; i < 3; i++)
        bind->input[i] = &t[i];
    bind->outputs[0] = &t[3];
    bind->outputs[1] = bind->outputs[2] = &t[4];
    const enum ipex_bound ret = ipex_bind_lstm(bind);
    *ret_scratch = ipex_recurrent_scratch(&bind->args.recurrent);
    *ret_zeros = (size_t)size[3] * sizeof(float);
    return ret;
}

/* Taps that touch, and that lie 5 apart. */
static const int32_t touching[] = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
static const int32_t apart[] = {3, 3, 1, 1, 5, 5, 5, 5, 5, 5, 1, 0};

/* A row of five. */
static const int32_t line[] = {1, 5, 1, 1, 0, 2, 0, 2, 1, 1, 1, 0};

/* size: images, lines, pixels */
static enum ipex_bound winograd_of(struct ipex_bind *bind, const int64_t *size, int32_t points,
                                   int64_t channels, int64_t n, const int32_t *ints,
                                   struct ipex_tensor_info *t, size_t *ret_scratch,
                                   size_t *ret_zeros) {
    static const float floats[2] = {0};
    t[0] = dense(4, (int64_t[]){size[0], size[1], size[2], channels});
    t[1] = dense(5, (int64_t[]){1, points, n, 1, channels});
    t[2] = dense(4, (int64_t[]){size[0], size[1], size[2], n});
    bind_two(bind, ints, floats, t);
    const enum ipex_bound ret = ipex_bind_winograd(bind);
    *ret_scratch = ipex_winograd_scratch(&bind->args.winograd);
    *ret_zeros = (size_t)n * sizeof(float);
    return ret;
}

static enum ipex_bound narrow_winograd_at(struct ipex_bind *bind, const int64_t *size,
                                          struct ipex_tensor_info *t, size_t *ret_scratch,
                                          size_t *ret_zeros) {
    return winograd_of(bind, size, 36, 3, 37, touching, t, ret_scratch, ret_zeros);
}

static enum ipex_bound dilated_winograd_at(struct ipex_bind *bind, const int64_t *size,
                                           struct ipex_tensor_info *t, size_t *ret_scratch,
                                           size_t *ret_zeros) {
    return winograd_of(bind, size, 36, 5, 37, apart, t, ret_scratch, ret_zeros);
}

static enum ipex_bound wide_winograd_at(struct ipex_bind *bind, const int64_t *size,
                                        struct ipex_tensor_info *t, size_t *ret_scratch,
                                        size_t *ret_zeros) {
    return winograd_of(bind, size, 36, 256, 200, touching, t, ret_scratch, ret_zeros);
}

static enum ipex_bound upsampled_at(struct ipex_bind *bind, const int64_t *size,
                                    struct ipex_tensor_info *t, size_t *ret_scratch,
                                    size_t *ret_zeros) {
    static const int32_t ints[IPEX_UPSAMPLED_ATTRS] = {3, 0};
    static const float floats[2] = {0};
    t[0] = dense(4, (int64_t[]){size[0], size[1], size[2], 200});
    t[1] = dense(5, (int64_t[]){1, IPEX_UPSAMPLED_POINTS, 90, 1, 200});
    t[2] = dense(4, (int64_t[]){size[0], 3 * size[1], 3 * size[2], 90});
    bind_two(bind, ints, floats, t);
    const enum ipex_bound ret = ipex_bind_upsampled_conv(bind);
    *ret_scratch = ipex_winograd_scratch(&bind->args.winograd);
    *ret_zeros = 90 * sizeof(float);
    return ret;
}

static enum ipex_bound small_winograd_at(struct ipex_bind *bind, const int64_t *size,
                                         struct ipex_tensor_info *t, size_t *ret_scratch,
                                         size_t *ret_zeros) {
    return winograd_of(bind, size, 16, 256, 200, touching, t, ret_scratch, ret_zeros);
}

static enum ipex_bound line_winograd_at(struct ipex_bind *bind, const int64_t *size,
                                        struct ipex_tensor_info *t, size_t *ret_scratch,
                                        size_t *ret_zeros) {
    return winograd_of(bind, size, 6, 256, 200, line, t, ret_scratch, ret_zeros);
}

struct memory {
    size_t scratch, zeros;
};

/* What is asked for at a size; false when it is less than what is taken. */
static bool ask(const struct ipex_setup *setup, bind_at_fn bind_at, const int64_t *size,
                struct memory *ret) {
    struct ipex_tensor_info tensors[5];
    struct ipex_bind bind;
    struct memory taken;
    memset(&bind, 0, sizeof bind);
    bind.setup = setup;
    if (bind_at(&bind, size, tensors, &taken.scratch, &taken.zeros) != IPEX_BOUND)
        return false;
    *ret = (struct memory){bind.scratch, bind.zeros};
    return bind.scratch >= taken.scratch && bind.zeros >= taken.zeros;
}

static uint64_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void check_bounds(const char *name, bind_at_fn bind_at, int dims, int64_t most) {
    static const int32_t caches[] = {256 << 10, 1 << 20, 2 << 20};
    uint64_t state = 1;
    int failed = 0;
    for (int i = 0; i < 20000; i++) {
        struct ipex_setup setup = {.threads = 1 + (int32_t)(next(&state) % 4),
                                   .l2_bytes = caches[next(&state) % 3]};
        int64_t low[SIZES], high[SIZES];
        struct memory at_low, at_high;
        for (int d = 0; d < dims; d++) {
            const int64_t cap = next(&state) % 3 == 0 ? most : 70;
            low[d] = 1 + (int64_t)(next(&state) % (uint64_t)cap);
            high[d] = low[d] + (int64_t)(next(&state) % 3 == 0 ? next(&state) % (uint64_t)cap : 0);
        }
        const bool right = ask(&setup, bind_at, low, &at_low) &&
                           ask(&setup, bind_at, high, &at_high) &&
                           at_low.scratch <= at_high.scratch && at_low.zeros <= at_high.zeros;
        failed += !right;
    }
    char why[80];
    snprintf(why, sizeof why, "%d pairs of sizes failed", failed);
    check(failed == 0, name, why);
}

int main(void) {
    check_bounds("memory of matmul grows with its dims", matmul_at, 4, 5000);
    check_bounds("memory of attention grows with its dims", attention_at, 5, 9000);
    check_bounds("memory of group_norm grows with its dims", group_norm_at, 4, 300);
    check_bounds("memory of lstm grows with its dims", lstm_at, 4, 600);
    check_bounds("memory of winograd grows with its images", narrow_winograd_at, 3, 400);
    check_bounds("memory of a dilated winograd grows with its images", dilated_winograd_at, 3, 400);
    check_bounds("memory of a wide winograd grows with its images", wide_winograd_at, 3, 400);
    check_bounds("memory of a winograd of small tiles grows with its images", small_winograd_at, 3,
                 400);
    check_bounds("memory of a winograd of rows grows with its images", line_winograd_at, 3, 400);
    check_bounds("memory of an upsampled convolution grows with its images", upsampled_at, 3, 200);
    return check_result();
}
