/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the domain com.microsoft, which ONNX Runtime's optimiser writes into models that are
 * saved behind it: activations with a bias, products and convolutions with more in them. Others are
 * in import_contrib_norm.c and import_contrib_attention.c. */
#include "tools/convert/import_build.h"
#include "tools/convert/import_scope.h"

#include <float.h>
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

static void import_quick_gelu(struct ipex_import *import) { /* x sigmoid(alpha x) */
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct ipex_value *y =
        ipex_build_with(import, IPEX_STEP_mul, x, ipex_import_float(import, "alpha", 1.702f));
    ipex_build_out(import, 0,
                   ipex_build_binary(import, IPEX_STEP_mul, x,
                                     ipex_build_unary(import, IPEX_STEP_sigmoid, y)));
}

/* Attribute activation_params[i]. */
static float parameter(const struct ipex_import *import, size_t i, float otherwise) {
    const struct ipex_onnx_attr *attr = ipex_import_attr(import, "activation_params");
    return i < ipex_onnx_floats(attr) ? attr->floats[i] : otherwise;
}

/* The attribute `activation` of x; NULL after refusing. */
static struct ipex_value *activated(struct ipex_import *import, struct ipex_value *x) {
    const char *name = ipex_import_string(import, "activation", "");
    if (!strcmp(name, "Relu"))
        return ipex_build_with(import, IPEX_STEP_max, x, 0);
    if (!strcmp(name, "Tanh"))
        return ipex_build_unary(import, IPEX_STEP_tanh, x);
    if (!strcmp(name, "Sigmoid"))
        return ipex_build_unary(import, IPEX_STEP_sigmoid, x);
    if (!strcmp(name, "LeakyRelu"))
        return ipex_build_with(import, IPEX_STEP_leaky, x, parameter(import, 0, 0.01f));
    if (!strcmp(name, "Clip"))
        return ipex_build_with(
            import, IPEX_STEP_min,
            ipex_build_with(import, IPEX_STEP_max, x, parameter(import, 0, -FLT_MAX)),
            parameter(import, 1, FLT_MAX));
    if (!*name)
        return x;
    ipex_import_refuse(import, "the activation %s is not supported", name);
    return NULL;
}

/* ---- products ---- */

static void import_fused_conv(struct ipex_import *import) {
    struct ipex_value *sum = ipex_import_in(import, 3) ? ipex_import_f32(import, 3) : NULL;
    if (ipex_import_in(import, 3) && !sum)
        return;
    ipex_import_conv(import);
    struct ipex_value *y = ipex_import_lookup(import, import->node->output[0]);
    if (!y || y->unknown)
        return;
    if (sum)
        y = ipex_build_binary(import, IPEX_STEP_add, y, sum);
    ipex_build_out(import, 0, activated(import, y));
}

static void import_fused_matmul(struct ipex_import *import) {
    struct ipex_value *a = ipex_import_f32(import, 0), *b = a ? ipex_import_f32(import, 1) : NULL;
    const bool turn_a = ipex_import_int(import, "transA", 0) != 0,
               turn_b = ipex_import_int(import, "transB", 0) != 0;
    const float alpha = ipex_import_float(import, "alpha", 1);
    if (!b)
        return;
    if (ipex_import_int(import, "transBatchA", 0) || ipex_import_int(import, "transBatchB", 0)) {
        ipex_import_refuse(import, "transBatchA and transBatchB are not supported");
        return;
    }
    if (turn_a)
        a = ipex_build_turned(import, a);
    struct ipex_value *y =
        b->constant && b->rank == 2
            ? ipex_build_linear(import, a, b, !turn_b)
            : ipex_build_matmul(import, a, turn_b ? ipex_build_turned(import, b) : b);
    ipex_build_out(import, 0, alpha == 1 ? y : ipex_build_with(import, IPEX_STEP_mul, y, alpha));
}

const struct ipex_import_op ipex_import_contrib[] = {
    {"BiasGelu", import_gelu},
    {"FastGelu", import_fast_gelu},
    {"FusedConv", import_fused_conv},
    {"FusedMatMul", import_fused_matmul},
    {"Gelu", import_gelu},
    {"QuickGelu", import_quick_gelu},
    {NULL, NULL},
};
