/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the domain com.microsoft, which ONNX Runtime's optimiser writes into models that are
 * saved behind it: activations with a bias, products and convolutions with more in them. Others are
 * in import_contrib_norm.c and import_contrib_attention.c. */
#include "tools/convert/import_build.h"
#include "tools/convert/import_scope.h"

#include <string.h>

/* Input 0, plus input 1 where there is one. */
static struct ipex_value *with_bias(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    return x && ipex_import_in(import, 1)
               ? ipex_build_binary(import, IPEX_STEP_add, x, ipex_import_f32(import, 1))
               : x;
}

/* ---- activations ---- */

static void import_gelu(struct ipex_import *import) { /* and BiasGelu */
    ipex_build_out(import, 0, ipex_build_unary(import, IPEX_STEP_gelu, with_bias(import)));
}

static void import_fast_gelu(struct ipex_import *import) {
    ipex_build_out(import, 0, ipex_build_unary(import, IPEX_STEP_gelu_tanh, with_bias(import)));
}

static void import_quick_gelu(struct ipex_import *import) {
    const float alpha = ipex_import_float(import, "alpha", 1.702f);
    ipex_build_out(import, 0, ipex_build_swish(import, ipex_import_f32(import, 0), alpha));
}

/* A sum's softmax over all axes from `axis` on, seen as one. */
static void import_bias_softmax(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0),
                      *bias = x ? ipex_import_f32(import, 1) : NULL;
    int64_t axis = ipex_import_int(import, "axis", 1), dims[IPEX_MAX_RANK], count = 1;
    x = bias ? ipex_build_binary(import, IPEX_STEP_add, x, bias) : NULL;
    if (!x || !ipex_import_axis(import, &axis, x->rank))
        return;
    memcpy(dims, x->dims, sizeof dims);
    for (int32_t i = (int32_t)axis; i < x->rank; i++)
        count = ipex_dim_mul(&import->graph->dims, count, x->dims[i]);
    dims[axis] = count;
    struct ipex_value *y = ipex_build_softmax(
        import, ipex_build_reshape(import, x, (int32_t)axis + 1, dims), (int32_t)axis);
    ipex_build_out(import, 0, ipex_build_reshape(import, y, x->rank, x->dims));
}

/* ---- activations of products ---- */

/* ONNX's operators that a product has in it, and their attributes in the order of
 * activation_params. */
enum { PARAMETERS = 2 };
static const struct activation {
    const char *name, *parameter[PARAMETERS];
} activations[] = {
    {"Clip", {"min", "max"}},     {"Elu", {"alpha"}},       {"HardSigmoid", {"alpha", "beta"}},
    {"HardSwish", {NULL}},        {"LeakyRelu", {"alpha"}}, {"Relu", {NULL}},
    {"Selu", {"alpha", "gamma"}}, {"Sigmoid", {NULL}},      {"Softplus", {NULL}},
    {"Softsign", {NULL}},         {"Tanh", {NULL}},         {"ThresholdedRelu", {"alpha"}},
};

/* Parameter i of the activation: an element of activation_params (FusedConv), or an attribute like
 * activation_alpha (FusedGemm). False where it is not given. */
static bool parameter(const struct ipex_import *import, size_t i, const char *name, float *ret) {
    const struct ipex_onnx_attr *list = ipex_import_attr(import, "activation_params");
    const struct ipex_onnx_attr *one =
        ipex_import_attr(import, ipex_arena_printf(&import->graph->arena, "activation_%s", name));
    if (i < ipex_onnx_floats(list))
        *ret = list->floats[i];
    else if (one)
        *ret = one->f;
    return one || i < ipex_onnx_floats(list);
}

/* Output 0 becomes the activation of y. */
static void bind_act(struct ipex_import *import, const struct activation *act,
                     struct ipex_value *y) {
    struct ipex_onnx_attr attr[PARAMETERS] = {{.name = act->parameter[0]},
                                              {.name = act->parameter[1]}};
    const char *const from[] = {
        ipex_arena_printf(&import->graph->arena, "%s before %s", y->name, act->name)};
    struct ipex_onnx_node node = *import->node;
    node.op_type = act->name;
    node.domain = "";
    node.input = from;
    node.inputs = 1;
    node.attr = attr;
    node.attrs = 0;
    while (node.attrs < PARAMETERS && attr[node.attrs].name &&
           parameter(import, node.attrs, attr[node.attrs].name, &attr[node.attrs].f))
        node.attrs++;
    ipex_import_bind(import, from[0], y);
    ipex_import_as(import, &node);
    ipex_import_bind(import, from[0], NULL);
}

/* Output 0 becomes y (NULL: refused) behind what the attribute `activation` says. */
static void bind_activated(struct ipex_import *import, struct ipex_value *y) {
    const char *name = ipex_import_string(import, "activation", "");
    if (!*name || !y) {
        ipex_build_out(import, 0, y);
        return;
    }
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (!strcmp(activations[i].name, name)) {
            bind_act(import, &activations[i], y);
            return;
        }
    ipex_import_refuse(import, "the activation %s is not supported", name);
}

/* ---- products ---- */

/* The current node's result as this operator of ONNX; NULL after refusing. */
static struct ipex_value *result_as(struct ipex_import *import, const char *op_type) {
    struct ipex_onnx_node node = *import->node;
    const size_t before = import->unsupported_count;
    node.op_type = op_type;
    node.domain = "";
    ipex_import_as(import, &node);
    return import->unsupported_count == before ? ipex_import_result(import, 0) : NULL;
}

static void import_fused_conv(struct ipex_import *import) {
    struct ipex_value *sum = ipex_import_in(import, 3) ? ipex_import_f32(import, 3) : NULL;
    if (ipex_import_in(import, 3) && !sum)
        return;
    struct ipex_value *y = result_as(import, "Conv");
    bind_activated(import, sum ? ipex_build_binary(import, IPEX_STEP_add, y, sum) : y);
}

static void import_fused_gemm(struct ipex_import *import) {
    bind_activated(import, result_as(import, "Gemm"));
}

/* A factor as the attributes say: its first axis behind the others but the last, then the last two
 * in the other order. */
static struct ipex_value *turned(struct ipex_import *import, struct ipex_value *x,
                                 const char *first, bool last) {
    if (x && ipex_import_int(import, first, 0) && x->rank > 2)
        x = ipex_build_moved(import, x, 0, x->rank - 2);
    return last ? ipex_build_turned(import, x) : x;
}

static void import_fused_matmul(struct ipex_import *import) {
    struct ipex_value *a = ipex_import_f32(import, 0), *b = a ? ipex_import_f32(import, 1) : NULL;
    const bool turn_a = ipex_import_flag(import, "transA", false),
               turn_b = ipex_import_flag(import, "transB", false);
    const float alpha = ipex_import_float(import, "alpha", 1);
    if (!b)
        return;
    a = turned(import, a, "transBatchA", turn_a);
    struct ipex_value *y =
        b->constant && b->rank == 2
            ? ipex_build_linear(import, a, b, !turn_b)
            : ipex_build_matmul(import, a, turned(import, b, "transBatchB", turn_b));
    ipex_build_out(import, 0, alpha == 1 ? y : ipex_build_with(import, IPEX_STEP_mul, y, alpha));
}

const struct ipex_import_op ipex_import_contrib[] = {
    {"BiasGelu", import_gelu},
    {"BiasSoftmax", import_bias_softmax},
    {"FastGelu", import_fast_gelu},
    {"FusedConv", import_fused_conv},
    {"FusedGemm", import_fused_gemm},
    {"FusedMatMul", import_fused_matmul},
    {"Gelu", import_gelu},
    {"QuickGelu", import_quick_gelu},
    {NULL, NULL},
};
