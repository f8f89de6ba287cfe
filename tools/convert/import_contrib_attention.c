/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of encoders and rotary positions of the domain com.microsoft. */
#include "tools/convert/import_attention.h"

/* Elements [start, start + n) of a bias vector added to the last axis of x; x without a bias. */
static struct ipex_value *add_part(struct ipex_import *import, struct ipex_value *x,
                                   struct ipex_value *bias, int64_t start) {
    if (!x || !bias)
        return x;
    const int64_t n = x->dims[x->rank - 1];
    if (bias->rank != 1 || n < 1 || bias->dims[0] < start + n) {
        ipex_import_refuse(import, "the bias %s does not fit %s", bias->name, x->name);
        return NULL;
    }
    return ipex_build_binary(import, IPEX_STEP_add, x, ipex_build_slice(import, bias, 0, start, n));
}

/* A mask of 0 and 1 per key [B][keys], or per query and key, and a bias of the scores; false after
 * refusing. */
static bool read_masks(struct ipex_import *import, size_t key_mask_at, size_t bias_at,
                       struct ipex_attention *a) {
    struct ipex_value *mask = ipex_import_in(import, key_mask_at);
    if (mask && !(mask = ipex_import_any(import, key_mask_at)))
        return false;
    if (mask && mask->rank != 2 && mask->rank != 3) {
        ipex_import_refuse(import,
                           "the mask %s has rank %d: lengths instead of a mask are not "
                           "supported",
                           mask->name, mask->rank);
        return false;
    }
    if (mask) {
        const int64_t keys[4] = {mask->dims[0], 1, 1, mask->dims[1]},
                      both[4] = {mask->dims[0], 1, mask->dims[1], mask->dims[2]};
        struct ipex_value *seen = ipex_build_cast(import, mask, IPEX_DTYPE_bool);
        seen = ipex_build_reshape(import, seen, 4, mask->rank == 2 ? keys : both);
        a->mask =
            ipex_build_mask(import, seen, ipex_import_float(import, "mask_filter_value", -10000));
    }
    if (!ipex_import_in(import, bias_at))
        return true;
    struct ipex_value *bias = ipex_import_f32(import, bias_at);
    a->mask = a->mask && bias ? ipex_build_binary(import, IPEX_STEP_add, a->mask, bias) : bias;
    return bias != NULL;
}

/* Splits q, k and v, each [B][rows][heads D], into heads and binds the result. */
static void finish_attention(struct ipex_import *import, struct ipex_attention *a) {
    const int64_t heads = ipex_import_int(import, "num_heads", 0);
    a->scale = ipex_import_float(import, "scale", 0);
    a->causal = ipex_import_int(import, "unidirectional", 0) != 0;
    a->q = ipex_build_split_heads(import, a->q, heads);
    a->k = a->q ? ipex_build_split_heads(import, a->k, heads) : NULL;
    a->v = a->k ? ipex_build_split_heads(import, a->v, heads) : NULL;
    ipex_build_out(import, 0, ipex_build_join_heads(import, ipex_build_attention(import, a)));
}

/* One of these inputs (a bit mask) or a result but the first is used: refused. */
static bool uses_cache(struct ipex_import *import, uint32_t inputs) {
    bool used = false;
    for (size_t i = 0; i < import->node->inputs && i < 32; i++)
        used |= (inputs >> i & 1) && *import->node->input[i];
    for (size_t i = 1; i < import->node->outputs; i++)
        used |= *import->node->output[i] != 0;
    if (used)
        ipex_import_refuse(import, "a cache of keys and values inside of it is not "
                                   "supported");
    return used;
}

static void import_multi_head_attention(struct ipex_import *import) {
    struct ipex_value *bias = ipex_import_in(import, 3) ? ipex_import_f32(import, 3) : NULL;
    struct ipex_attention a = {.q = ipex_import_f32(import, 0)};
    if (!a.q || (ipex_import_in(import, 3) && !bias) || uses_cache(import, ~0u << 6))
        return;
    a.k = ipex_import_f32(import, 1);
    a.v = a.k ? ipex_import_f32(import, 2) : NULL;
    if (!a.v || !read_masks(import, 4, 5, &a))
        return;
    if (a.q->rank != 3 || a.k->rank != 3 || a.v->rank != 3) {
        ipex_import_refuse(import,
                           "queries, keys and values of rank %d, %d and %d: all must be "
                           "[batch][rows][heads x size]",
                           a.q->rank, a.k->rank, a.v->rank);
        return;
    }
    const int64_t size = a.q->dims[2];
    a.q = add_part(import, a.q, bias, 0);
    a.k = a.q ? add_part(import, a.k, bias, size) : NULL;
    a.v = a.k ? add_part(import, a.v, bias, 2 * size) : NULL;
    if (a.v)
        finish_attention(import, &a);
}

/* Queries, keys and values by one product: input [B][S][K], weight [K][sizes of all three]. */
static void import_fused_attention(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *w = x ? ipex_import_f32(import, 1) : NULL,
                      *bias = ipex_import_in(import, 2) ? ipex_import_f32(import, 2) : NULL;
    struct ipex_attention a = {.q = NULL};
    if (!w || (ipex_import_in(import, 2) && !bias) || uses_cache(import, 1u << 4 | ~0u << 6) ||
        !read_masks(import, 3, 5, &a))
        return;
    const struct ipex_onnx_attr *given = ipex_import_attr(import, "qkv_hidden_sizes");
    if (!w->constant || w->rank != 2 || x->rank != 3 || w->dims[1] % 3 ||
        (given && (given->count != 3 || !given->ints)) || ipex_import_int(import, "do_rotary", 0)) {
        ipex_import_refuse(import,
                           "its input, its weight or its sizes are not those of an encoder");
        return;
    }
    const int64_t third = w->dims[1] / 3;
    int64_t start = 0;
    struct ipex_value *all = add_part(import, ipex_build_linear(import, x, w, true), bias, 0);
    struct ipex_value **part[] = {&a.q, &a.k, &a.v};
    for (size_t i = 0; i < 3; i++) {
        const int64_t size = given ? given->ints[i] : third;
        if (size < 1 || size > w->dims[1] - start) {
            ipex_import_refuse(import, "qkv_hidden_sizes do not fit the weight");
            return;
        }
        *part[i] = ipex_build_slice(import, all, 2, start, size);
        start += size;
    }
    if (all)
        finish_attention(import, &a);
}

static void import_rotary(struct ipex_import *import) {
    const float scale = ipex_import_float(import, "scale", 1);
    if (scale != 1 || ipex_import_int(import, "is_packed_batching", 0))
        ipex_import_refuse(import, "a scale and packed batches are not supported");
    else
        ipex_import_rotary(import, 2, 3, 1);
}

const struct ipex_import_op ipex_import_contrib_attention[] = {
    {"Attention", import_fused_attention},
    {"MultiHeadAttention", import_multi_head_attention},
    {"RotaryEmbedding", import_rotary},
    {NULL, NULL},
};
