/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators over classes: log-softmax, hardmax, and the two losses, which choose each
 * element's class by comparing its label with all of them. */
#include "tools/convert/import_build.h"
#include "tools/convert/match.h"

#include <string.h>

/* Scores of the labelled class, 0 where the label is ignored. */
struct loss {
    struct ipex_value *score, *label, *weight; /* [N][C][...], [N][...], [C] or NULL */
    int64_t classes, ignored;
    bool ignores;
};

static bool read_loss(struct ipex_import *import, struct loss *loss) {
    const struct ipex_value *x = loss->score = ipex_import_f32(import, 0);
    struct ipex_value *label = loss->label = x ? ipex_import_any(import, 1) : NULL;
    loss->weight = ipex_import_in(import, 2);
    if (!label || (loss->weight && !ipex_import_f32(import, 2)))
        return false;
    bool fits = x->rank >= 2 && label->rank == x->rank - 1 && x->dims[1] >= 1;
    for (int32_t i = 0; fits && i < label->rank; i++)
        fits = label->dims[i] == x->dims[i ? i + 1 : 0];
    if (!fits || (label->dtype != IPEX_DTYPE_i64 && label->dtype != IPEX_DTYPE_i32) ||
        (loss->weight && (loss->weight->rank != 1 || loss->weight->dims[0] != x->dims[1]))) {
        ipex_import_refuse(import, "scores, labels (%s) and weights do not fit together",
                           ipex_dtype_name(label->dtype));
        return false;
    }
    loss->classes = x->dims[1];
    loss->ignores = ipex_import_attr(import, "ignore_index") != NULL;
    loss->ignored = ipex_import_int(import, "ignore_index", 0);
    return true;
}

/* [N][C][...]: this is the labelled class. The ignored class has a number that no label has. */
static struct ipex_value *is_label(struct ipex_import *import, const struct loss *loss) {
    const int32_t rank = loss->score->rank;
    int64_t dims[IPEX_MAX_RANK];
    dims[0] = loss->score->dims[0];
    dims[1] = 1;
    memcpy(dims + 2, loss->score->dims + 2, (size_t)(rank - 2) * sizeof *dims);
    struct ipex_value *number = ipex_build_count(import, IPEX_DTYPE_i64, loss->classes, 1, rank, 1);
    if (number && loss->ignores && loss->ignored >= 0 && loss->ignored < loss->classes) {
        const int64_t none = INT64_MIN;
        uint8_t *data = ipex_arena_array(&import->graph->arena, (size_t)loss->classes, sizeof none);
        memcpy(data, ipex_constant_data(number), (size_t)loss->classes * sizeof none);
        memcpy(data + (size_t)loss->ignored * sizeof none, &none, sizeof none);
        number = ipex_graph_constant(import->graph, number->name, IPEX_DTYPE_i64, rank,
                                     number->dims, data);
    }
    struct ipex_value *label = ipex_build_cast(
        import, ipex_build_reshape(import, loss->label, rank, dims), IPEX_DTYPE_i64);
    return ipex_build_compare(import, IPEX_COMPARE_equal, label, number);
}

static struct ipex_value *pick(struct ipex_import *import, struct ipex_value *chosen,
                               struct ipex_value *x) {
    struct ipex_value *zero = ipex_build_number(import, IPEX_DTYPE_f32, 0);
    return ipex_build_reduce(import, IPEX_REDUCE_sum, ipex_build_where(import, chosen, x, zero),
                             1u << 1);
}

static struct ipex_value *negative_log_likelihood(struct ipex_import *import,
                                                  const struct loss *loss, struct ipex_value *x) {
    const char *how = ipex_import_string(import, "reduction", "mean");
    const int32_t rank = x->rank;
    const uint32_t all = (1u << rank) - 1;
    int64_t column[IPEX_MAX_RANK] = {loss->classes, 1, 1, 1, 1, 1, 1, 1};
    struct ipex_value *weight = ipex_build_reshape(import, loss->weight, rank - 1, column);
    struct ipex_value *chosen = is_label(import, loss), *total;
    struct ipex_value *each =
        pick(import, chosen, weight ? ipex_build_binary(import, IPEX_STEP_mul, x, weight) : x);
    each = ipex_build_unary(import, IPEX_STEP_neg, each);
    if (!strcmp(how, "none"))
        return ipex_build_reshape(import, each, rank - 1, loss->label->dims);
    if (strcmp(how, "sum") && strcmp(how, "mean")) {
        ipex_import_refuse(import, "reduction %s is unknown", how);
        return NULL;
    }
    if (!strcmp(how, "sum"))
        total = ipex_build_reduce(import, IPEX_REDUCE_sum, each, all);
    else if (!weight && !loss->ignores)
        total = ipex_build_reduce(import, IPEX_REDUCE_mean, each, all);
    else {
        struct ipex_value *one = ipex_build_number(import, IPEX_DTYPE_f32, 1);
        struct ipex_value *count = pick(import, chosen, weight ? weight : one);
        total = ipex_build_binary(import, IPEX_STEP_div,
                                  ipex_build_reduce(import, IPEX_REDUCE_sum, each, all),
                                  ipex_build_reduce(import, IPEX_REDUCE_sum, count, all));
    }
    return ipex_build_reshape(import, total, 0, NULL);
}

static void import_negative_log_likelihood(struct ipex_import *import) {
    struct loss loss;
    if (!read_loss(import, &loss))
        return;
    struct ipex_value *y = negative_log_likelihood(import, &loss, loss.score);
    if (y)
        ipex_import_out(import, 0, y);
}

static void import_cross_entropy(struct ipex_import *import) {
    struct loss loss;
    if (!read_loss(import, &loss))
        return;
    struct ipex_value *log_prob = ipex_build_log_softmax(import, loss.score, 1);
    struct ipex_value *y = negative_log_likelihood(import, &loss, log_prob);
    if (!y)
        return;
    ipex_import_out(import, 0, y);
    ipex_import_out(import, 1, log_prob);
}

/* ---- LogSoftmax, Hardmax ---- */

/* x as rows along *axis; before opset 13 everything from the axis on is one row. */
static struct ipex_value *rows(struct ipex_import *import, int64_t *axis) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    const bool flattened = import->model->opset < 13;
    int64_t dims[2] = {1, 1};
    *axis = ipex_import_int(import, "axis", flattened ? 1 : -1);
    if (!x || !ipex_import_axis(import, axis, x->rank))
        return NULL;
    if (!flattened)
        return x;
    for (int32_t i = 0; i < x->rank; i++)
        dims[i >= *axis] = ipex_dim_mul(&import->graph->dims, dims[i >= *axis], x->dims[i]);
    *axis = 1;
    return ipex_build_reshape(import, x, 2, dims);
}

static void bind_rows(struct ipex_import *import, struct ipex_value *y) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    if (y)
        ipex_import_out(
            import, 0, ipex_same_shape(x, y) ? y : ipex_build_reshape(import, y, x->rank, x->dims));
}

static void import_log_softmax(struct ipex_import *import) {
    int64_t axis;
    struct ipex_value *x = rows(import, &axis);
    if (x)
        bind_rows(import, ipex_build_log_softmax(import, x, (int32_t)axis));
}

/* 1 at the first of the largest: its number equals the one that arg finds. */
static void import_hardmax(struct ipex_import *import) {
    int64_t axis;
    int32_t perm[IPEX_MAX_RANK];
    struct ipex_value *x = rows(import, &axis);
    if (!x)
        return;
    for (int32_t i = 0; i < x->rank; i++)
        perm[i] = i;
    perm[axis] = x->rank - 1;
    perm[x->rank - 1] = (int32_t)axis; /* its own inverse */
    struct ipex_value *last = ipex_import_transpose(import, x, x->name, perm);
    struct ipex_value *place = ipex_build_arg(import, last, true, false);
    struct ipex_value *number =
        ipex_build_count(import, IPEX_DTYPE_i64, x->dims[axis], 1, last->rank, last->rank - 1);
    struct ipex_value *y = ipex_build_cast(
        import, ipex_build_compare(import, IPEX_COMPARE_equal, place, number), IPEX_DTYPE_f32);
    bind_rows(import, ipex_import_transpose(import, y, import->node->output[0], perm));
}

const struct ipex_import_op ipex_import_loss[] = {
    {"Hardmax", import_hardmax},
    {"LogSoftmax", import_log_softmax},
    {"NegativeLogLikelihoodLoss", import_negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", import_cross_entropy},
    {NULL, NULL},
};
