/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations of the domain com.microsoft: behind an addition. */
#include "tools/convert/import_build.h"

/* input + skip + bias normalised; `kind`, gamma, beta: as ipex_build_layer_norm. */
static void skip_norm(struct ipex_import *import, int64_t kind) {
    const size_t beta_at = 3, bias_at = kind ? 3 : 4;
    const bool has_beta = !kind && ipex_import_in(import, beta_at),
               has_bias = ipex_import_in(import, bias_at) != NULL;
    struct ipex_value *x = ipex_import_f32(import, 0),
                      *skip = x ? ipex_import_f32(import, 1) : NULL,
                      *gamma = skip ? ipex_import_f32(import, 2) : NULL,
                      *beta = gamma && has_beta ? ipex_import_f32(import, beta_at) : NULL,
                      *bias = gamma && has_bias ? ipex_import_f32(import, bias_at) : NULL;
    if (!gamma || (has_beta && !beta) || (has_bias && !bias))
        return;
    struct ipex_value *sum = ipex_build_binary(import, IPEX_STEP_add, x, skip);
    if (bias)
        sum = ipex_build_binary(import, IPEX_STEP_add, sum, bias);
    if (!sum)
        return;
    const int64_t size = sum->dims[sum->rank - 1];
    if (gamma->rank != 1 || gamma->dims[0] != size ||
        (beta && (beta->rank != 1 || beta->dims[0] != size))) {
        ipex_import_refuse(import, "gamma or beta do not have the size of a row");
        return;
    }
    for (size_t i = 1; i < 3; i++)
        if (i < import->node->outputs && *import->node->output[i]) {
            ipex_import_refuse(import, "the mean and the deviation are not supported as results");
            return;
        }
    ipex_build_out(import, 0,
                   ipex_build_layer_norm(import, sum, gamma, beta,
                                         ipex_import_float(import, "epsilon", 1e-12f), kind));
    ipex_build_out(import, 3, sum);
}

static void import_skip_layer_norm(struct ipex_import *import) {
    skip_norm(import, 0);
}
static void import_skip_rms_norm(struct ipex_import *import) {
    skip_norm(import, 1);
}

const struct ipex_import_op ipex_import_contrib_norm[] = {
    {"SkipLayerNormalization", import_skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", import_skip_rms_norm},
    {NULL, NULL},
};
