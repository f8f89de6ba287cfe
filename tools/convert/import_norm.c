/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's normalisations: of layers, and of groups of an image's channels. */
#include "tools/convert/import_build.h"

#include <string.h>

/* ---- LayerNormalization over the axes from `axis` on, seen as one ---- */

/* The further outputs: the mean, and 1 / sqrt(variance + epsilon). */
static void layer_statistics(struct ipex_import *import, struct ipex_value *x, int32_t axis) {
    const uint32_t axes = ((1u << x->rank) - 1) & ~((1u << axis) - 1);
    struct ipex_value *mean = ipex_build_reduce(import, IPEX_REDUCE_mean, x, axes);
    struct ipex_value *d = ipex_build_binary(import, IPEX_STEP_sub, x, mean);
    struct ipex_value *v = ipex_build_reduce(import, IPEX_REDUCE_mean,
                                             ipex_build_binary(import, IPEX_STEP_mul, d, d), axes);
    v = ipex_build_with(import, IPEX_STEP_add, v, ipex_import_float(import, "epsilon", 1e-5f));
    v = ipex_build_unary(import, IPEX_STEP_reciprocal, ipex_build_unary(import, IPEX_STEP_sqrt, v));
    ipex_import_out(import, 1, mean);
    ipex_import_out(import, 2, v);
}

/* Whether p broadcasts to x. */
static bool broadcasts_to(const struct ipex_value *p, const struct ipex_value *x) {
    if (p->rank > x->rank)
        return false;
    for (int32_t i = 1; i <= p->rank; i++)
        if (p->dims[p->rank - i] != 1 && p->dims[p->rank - i] != x->dims[x->rank - i])
            return false;
    return true;
}

/* Whether p, which broadcasts to x, is the same for all rows: 1 in front of the axis. */
static bool is_of_a_row(const struct ipex_value *p, const struct ipex_value *x, int32_t axis) {
    for (int32_t i = x->rank - axis + 1; i <= p->rank; i++)
        if (p->dims[p->rank - i] != 1)
            return false;
    return true;
}

/* p, of a row, with one element for each of its `count`. */
static struct ipex_value *as_vector(struct ipex_import *import, struct ipex_value *p,
                                    const struct ipex_value *x, int32_t axis, int64_t count) {
    const int32_t rank = x->rank - axis;
    if (ipex_value_size(import->graph, p) != count) {
        if (p->rank > rank)
            p = ipex_build_reshape(import, p, rank, p->dims + p->rank - rank);
        p = ipex_build_expand(import, p, rank, x->dims + axis);
    }
    return p->rank == 1 ? p : ipex_import_reshape(import, p, p->name, 1, &count);
}

/* The scale and the shift, NULL where there is none; false after refusing. *ret_apart: not every
 * row has the same, so they are applied to what has been normalised. */
static bool layer_parameters(struct ipex_import *import, const struct ipex_value *x, int32_t axis,
                             int64_t count, struct ipex_value **ret, bool *ret_apart) {
    *ret_apart = false;
    for (size_t i = 0; i < 2; i++) {
        ret[i] = ipex_import_in(import, i + 1) ? ipex_import_f32(import, i + 1) : NULL;
        if (!ret[i] && ipex_import_in(import, i + 1))
            return false;
        if (ret[i] && !broadcasts_to(ret[i], x)) {
            ipex_import_refuse(import, "input %s does not have the shape of what is normalised",
                               ret[i]->name);
            return false;
        }
        *ret_apart |= ret[i] && !is_of_a_row(ret[i], x, axis);
    }
    for (size_t i = 0; i < 2 && !*ret_apart; i++)
        ret[i] = ret[i] ? as_vector(import, ret[i], x, axis, count) : NULL;
    return true;
}

static void layer_norm(struct ipex_import *import, int64_t kind) {
    struct ipex_value *x = ipex_import_f32(import, 0), *p[2] = {NULL, NULL};
    int64_t axis = ipex_import_int(import, "axis", -1), dims[IPEX_MAX_RANK], count = 1;
    struct ipex_dims *table = &import->graph->dims;
    bool apart;
    if (!x || !ipex_import_axis(import, &axis, x->rank))
        return;
    for (int32_t i = (int32_t)axis; i < x->rank; i++)
        count = ipex_dim_mul(table, count, x->dims[i]);
    if (!layer_parameters(import, x, (int32_t)axis, count, p, &apart))
        return;
    if (kind == 0 && import->node->outputs > 1)
        layer_statistics(import, x, (int32_t)axis);
    int32_t rank = (int32_t)axis + 1;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = count;
    struct ipex_value *rows =
        rank == x->rank ? x : ipex_import_reshape(import, x, x->name, rank, dims);
    struct ipex_value *y =
        ipex_build_layer_norm(import, rows, apart ? NULL : p[0], apart ? NULL : p[1],
                              ipex_import_float(import, "epsilon", 1e-5f), kind);
    if (rank != x->rank)
        y = ipex_import_reshape(import, y, import->node->output[0], x->rank, x->dims);
    if (apart && p[0])
        y = ipex_build_binary(import, IPEX_STEP_mul, y, p[0]);
    if (apart && p[1])
        y = ipex_build_binary(import, IPEX_STEP_add, y, p[1]);
    ipex_import_out(import, 0, y);
}

static void import_layer_norm(struct ipex_import *import) {
    layer_norm(import, 0);
}
static void import_rms_norm(struct ipex_import *import) {
    layer_norm(import, 1);
}

/* ---- normalisation over an image's channels ---- */

/* Before opset 21 GroupNormalization has a scale and a shift for every group, which are those of
 * its channels. */
static struct ipex_value *of_channels(struct ipex_import *import, struct ipex_value *p,
                                      int64_t channels, int64_t groups) {
    if (import->model->opset >= 21 || p->rank != 1 || p->dims[0] != groups || groups == channels ||
        groups < 1 || channels % groups)
        return p;
    const int64_t apart[2] = {groups, 1}, wide[2] = {groups, channels / groups};
    p = ipex_build_expand(import, ipex_build_reshape(import, p, 2, apart), 2, wide);
    return ipex_build_reshape(import, p, 1, &channels);
}

struct ipex_value *ipex_build_group_norm(struct ipex_import *import, struct ipex_value *x,
                                         struct ipex_value *scale, struct ipex_value *shift,
                                         int64_t groups) {
    struct ipex_value *const parameter[] = {scale, shift};
    if (!x || !scale || !shift)
        return NULL;
    if (x->rank > 1 && x->dims[1] < 1) {
        ipex_import_refuse(import, "dim 1 of %s depends on %s: a fixed size is needed", x->name,
                           ipex_import_text(import, x->dims[1]));
        return NULL;
    }
    if (x->rank < 3 || groups < 1 || x->dims[1] % groups) {
        ipex_import_refuse(import, "%lld groups of %s channels, rank %d", (long long)groups,
                           ipex_import_text(import, x->rank > 1 ? x->dims[1] : 0), x->rank);
        return NULL;
    }
    for (size_t i = 0; i < 2; i++)
        if (ipex_value_size(import->graph, parameter[i]) != x->dims[1]) {
            ipex_import_refuse(import, "input %s does not have one element per channel",
                               parameter[i]->name);
            return NULL;
        }
    int64_t dims[4] = {x->dims[0], x->dims[1], 1, 1};
    for (int32_t i = 2; i < x->rank; i++) /* one long line: the statistics run over all of it */
        dims[3] = ipex_dim_mul(&import->graph->dims, dims[3], x->dims[i]);
    struct ipex_value *image = x->rank == 4 ? x : ipex_build_reshape(import, x, 4, dims);
    struct ipex_node *node = ipex_import_plan(import, IPEX_OP_group_norm, IPEX_ORDER_channels_last,
                                              IPEX_DTYPE_f32, 4, image->dims, false);
    ipex_node_add_input(node, image);
    ipex_node_add_input(node, scale);
    ipex_node_add_input(node, shift);
    node->u.plan.ints = 2;
    node->u.plan.int_[0] = groups;
    node->u.plan.floats = 3;
    node->u.plan.float_[0] = ipex_import_float(import, "epsilon", 1e-5f);
    return x->rank == 4 ? node->output : ipex_build_reshape(import, node->output, x->rank, x->dims);
}

static void group_norm(struct ipex_import *import, int64_t groups) {
    struct ipex_value *x = ipex_import_f32(import, 0), *p[2] = {NULL, NULL};
    int64_t channels;
    for (size_t i = 0; x && i < 2; i++) {
        p[i] = ipex_import_f32(import, i + 1);
        if (!p[i])
            return;
        if (x->rank > 1 && ipex_dim_number(&import->graph->dims, x->dims[1], &channels))
            p[i] = of_channels(import, p[i], channels, groups);
    }
    ipex_build_out(import, 0, ipex_build_group_norm(import, x, p[0], p[1], groups));
}

static void import_instance_norm(struct ipex_import *import) {
    const struct ipex_value *x = ipex_import_in(import, 0);
    group_norm(import, x && x->rank > 1 ? x->dims[1] : 0);
}

static void import_group_norm(struct ipex_import *import) {
    group_norm(import, ipex_import_int(import, "num_groups", 0));
}

const struct ipex_import_op ipex_import_norm[] = {
    {"GroupNormalization", import_group_norm},
    {"InstanceNormalization", import_instance_norm},
    {"LayerNormalization", import_layer_norm},
    {"RMSNormalization", import_rms_norm},
    {"SimplifiedLayerNormalization", import_rms_norm},
    {NULL, NULL},
};
