/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX reductions and normalisations that are made of sums and elementwise steps. */
#include "tools/convert/import_modulated.h"
#include "tools/convert/import_scope.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The axes to reduce as a bit mask; false after refusing. Without any: all, or none. */
static bool reduced_axes(struct ipex_import *import, const struct ipex_value *x, uint32_t *ret) {
    int64_t axes[IPEX_MAX_RANK];
    int count = ipex_import_ints(import, "axes", 1, axes, IPEX_MAX_RANK);
    if (count < 0)
        return false;
    const bool all = !count && !ipex_import_flag(import, "noop_with_empty_axes", false);
    *ret = all ? (1u << x->rank) - 1 : 0;
    for (int i = 0; i < count; i++) {
        if (!ipex_import_axis(import, &axes[i], x->rank))
            return false;
        *ret |= 1u << axes[i];
    }
    return true;
}

/* Binds the output: y, in which the reduced axes are 1, with or without them. */
static void bind_reduced(struct ipex_import *import, struct ipex_value *y, uint32_t axes) {
    int64_t dims[IPEX_MAX_RANK];
    int32_t rank = 0;
    if (!y)
        return;
    bool keep = ipex_import_flag(import, "keepdims", true);
    for (int32_t i = 0; i < y->rank; i++)
        if (keep || !(axes >> i & 1))
            dims[rank++] = y->dims[i];
    ipex_import_out(import, 0, rank == y->rank ? y : ipex_build_reshape(import, y, rank, dims));
}

static bool is_integer(const struct ipex_value *x) {
    return x && (x->dtype == IPEX_DTYPE_i32 || x->dtype == IPEX_DTYPE_i64);
}

/* Of integers: exact, without a root or a logarithm. */
static void integer_sum_of(struct ipex_import *import, bool square) {
    struct ipex_value *x = ipex_import_any(import, 0);
    uint32_t axes;
    if (!x || !reduced_axes(import, x, &axes))
        return;
    x = ipex_build_integer(import, square ? IPEX_INTEGER_mul : IPEX_INTEGER_abs, x, x);
    bind_reduced(import, ipex_build_integer_sum(import, x, axes), axes);
}

/* sum(before(x)), then a step over the sum. */
static void sum_of(struct ipex_import *import, bool square, bool absolute, bool root, bool log) {
    if (is_integer(ipex_import_in(import, 0)) && !root && !log) {
        integer_sum_of(import, square);
        return;
    }
    struct ipex_value *x = ipex_import_f32(import, 0);
    uint32_t axes;
    if (!x || !reduced_axes(import, x, &axes))
        return;
    if (square)
        x = ipex_build_binary(import, IPEX_STEP_mul, x, x);
    else if (absolute)
        x = ipex_build_unary(import, IPEX_STEP_abs, x);
    struct ipex_value *y = square ? ipex_modulated_squares(import, x, axes) : NULL;
    y = y ? y : ipex_build_reduce(import, IPEX_REDUCE_sum, x, axes);
    if (root || log)
        y = ipex_build_unary(import, root ? IPEX_STEP_sqrt : IPEX_STEP_log, y);
    bind_reduced(import, y, axes);
}

static void import_reduce_l1(struct ipex_import *import) {
    sum_of(import, false, true, false, false);
}
static void import_reduce_l2(struct ipex_import *import) {
    sum_of(import, true, false, true, false);
}
static void import_reduce_log_sum(struct ipex_import *import) {
    sum_of(import, false, false, false, true);
}
static void import_reduce_sum_square(struct ipex_import *import) {
    sum_of(import, true, false, false, false);
}

/* max + log(sum(exp(x - max))); the largest is kept finite, so that infinities stay. */
static void import_reduce_log_sum_exp(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    uint32_t axes;
    if (!x || !reduced_axes(import, x, &axes))
        return;
    struct ipex_value *top = ipex_build_reduce(import, IPEX_REDUCE_max, x, axes);
    top = ipex_build_with(import, IPEX_STEP_max, top, -FLT_MAX);
    top = ipex_build_with(import, IPEX_STEP_min, top, FLT_MAX);
    struct ipex_value *e =
        ipex_build_unary(import, IPEX_STEP_exp, ipex_build_binary(import, IPEX_STEP_sub, x, top));
    struct ipex_value *sum = ipex_build_reduce(import, IPEX_REDUCE_sum, e, axes);
    bind_reduced(
        import,
        ipex_build_binary(import, IPEX_STEP_add, top, ipex_build_unary(import, IPEX_STEP_log, sum)),
        axes);
}

static struct ipex_value *times(struct ipex_import *import, struct ipex_value *a,
                                struct ipex_value *b) {
    return a && a->dtype != IPEX_DTYPE_f32 ? ipex_build_integer(import, IPEX_INTEGER_mul, a, b)
                                           : ipex_build_binary(import, IPEX_STEP_mul, a, b);
}

/* The product along an axis: two halves are multiplied until one element is left; the odd ones
 * come last. */
static struct ipex_value *product(struct ipex_import *import, struct ipex_value *x, int32_t axis) {
    struct ipex_value *odd = NULL;
    int64_t n;
    if (!ipex_dim_number(&import->graph->dims, x->dims[axis], &n)) {
        ipex_import_refuse(import, "%s elements are multiplied; a fixed number is needed",
                           ipex_import_text(import, x->dims[axis]));
        return NULL;
    }
    for (; n > 1; n /= 2) {
        if (n % 2) {
            struct ipex_value *one = ipex_build_slice(import, x, axis, n - 1, 1);
            odd = odd ? times(import, odd, one) : one;
        }
        x = times(import, ipex_build_slice(import, x, axis, 0, n / 2),
                  ipex_build_slice(import, x, axis, n / 2, n / 2));
    }
    return odd ? times(import, x, odd) : x;
}

static void import_reduce_prod(struct ipex_import *import) {
    struct ipex_value *x = is_integer(ipex_import_in(import, 0)) ? ipex_import_any(import, 0)
                                                                 : ipex_import_f32(import, 0);
    uint32_t axes;
    if (!x || !reduced_axes(import, x, &axes))
        return;
    if (ipex_import_is_none(x)) {
        bind_reduced(
            import,
            ipex_build_reduced_none(import, x, axes, ipex_build_number(import, x->dtype, 1)), axes);
        return;
    }
    for (int32_t i = 0, rank = x->rank; x && i < rank; i++)
        if (axes >> i & 1)
            x = product(import, x, i);
    bind_reduced(import, x, axes);
}

/* ---- normalisations ---- */

/* (x - mean) / (sqrt(mean((x - mean)^2)) + 1e-9) */
static void import_mean_variance(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    int64_t axes[IPEX_MAX_RANK];
    uint32_t mask = 0;
    int count = x ? ipex_import_ints(import, "axes", SIZE_MAX, axes, IPEX_MAX_RANK) : -1;
    if (count < 0)
        return;
    static const int64_t otherwise[] = {0, 2, 3};
    if (!count)
        memcpy(axes, otherwise, sizeof otherwise);
    for (int i = 0; i < (count ? count : 3); i++) {
        if (!ipex_import_axis(import, &axes[i], x->rank))
            return;
        mask |= 1u << axes[i];
    }
    struct ipex_value *d = ipex_build_binary(import, IPEX_STEP_sub, x,
                                             ipex_build_reduce(import, IPEX_REDUCE_mean, x, mask));
    struct ipex_value *v = ipex_build_reduce(import, IPEX_REDUCE_mean,
                                             ipex_build_binary(import, IPEX_STEP_mul, d, d), mask);
    v = ipex_build_with(import, IPEX_STEP_add, ipex_build_unary(import, IPEX_STEP_sqrt, v), 1e-9f);
    ipex_import_out(import, 0, ipex_build_binary(import, IPEX_STEP_div, d, v));
}

/* Of zeros, whose size is 0, zeros. */
static void import_lp_norm(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    int64_t axis = ipex_import_int(import, "axis", -1), p = ipex_import_int(import, "p", 2);
    if (!x || !ipex_import_axis(import, &axis, x->rank))
        return;
    if (p != 1 && p != 2) {
        ipex_import_refuse(import, "p is %lld; 1 and 2 are possible", (long long)p);
        return;
    }
    struct ipex_value *size = p == 1 ? ipex_build_unary(import, IPEX_STEP_abs, x)
                                     : ipex_build_binary(import, IPEX_STEP_mul, x, x);
    size = ipex_build_reduce(import, IPEX_REDUCE_sum, size, 1u << axis);
    if (p == 2)
        size = ipex_build_unary(import, IPEX_STEP_sqrt, size);
    struct ipex_value *none = ipex_build_compare(import, IPEX_COMPARE_equal, size,
                                                 ipex_build_number(import, IPEX_DTYPE_f32, 0));
    size = ipex_build_where(import, none,
                            ipex_build_number(import, IPEX_DTYPE_f32, (double)INFINITY), size);
    ipex_import_out(import, 0, ipex_build_binary(import, IPEX_STEP_div, x, size));
}

/* x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels)^beta; the mean over a
 * window with its padding counted, times alpha, is that sum. */
static void import_lrn(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    int64_t size = ipex_import_int(import, "size", 0), dims[4] = {1, 1, 1, 1};
    if (!x)
        return;
    if (x->rank < 2 || size < 1 || size > 255) {
        ipex_import_refuse(import, "size %lld, rank %d", (long long)size, x->rank);
        return;
    }
    dims[0] = x->dims[0];
    dims[2] = x->dims[1];
    for (int32_t i = 2; i < x->rank; i++)
        dims[3] = ipex_dim_mul(&import->graph->dims, dims[3], x->dims[i]);
    struct ipex_value *square =
        ipex_build_reshape(import, ipex_build_binary(import, IPEX_STEP_mul, x, x), 4, dims);
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_pool);
    node->u.pool = (struct ipex_pool){.count_pad = true,
                                      .kernel = {size, 1},
                                      .stride = {1, 1},
                                      .dilation = {1, 1},
                                      .pad = {(size - 1) / 2, 0, size / 2, 0}};
    ipex_node_add_input(node, square);
    ipex_node_set_output(
        node, ipex_graph_value(import->graph, import->node->output[0], IPEX_DTYPE_f32, 4, dims));
    struct ipex_value *v = ipex_build_reshape(import, node->output, x->rank, x->dims);
    v = ipex_build_with(import, IPEX_STEP_mul, v, ipex_import_float(import, "alpha", 1e-4f));
    v = ipex_build_with(import, IPEX_STEP_add, v, ipex_import_float(import, "bias", 1));
    v = ipex_build_with(import, IPEX_STEP_pow, v, ipex_import_float(import, "beta", 0.75f));
    ipex_import_out(import, 0, ipex_build_binary(import, IPEX_STEP_div, x, v));
}

const struct ipex_import_op ipex_import_reduce[] = {
    {"LRN", import_lrn},
    {"LpNormalization", import_lp_norm},
    {"MeanVarianceNormalization", import_mean_variance},
    {"ReduceL1", import_reduce_l1},
    {"ReduceL2", import_reduce_l2},
    {"ReduceLogSum", import_reduce_log_sum},
    {"ReduceLogSumExp", import_reduce_log_sum_exp},
    {"ReduceProd", import_reduce_prod},
    {"ReduceSumSquare", import_reduce_sum_square},
    {NULL, NULL},
};
