/* SPDX-License-Identifier: Apache-2.0 */
/* Attention as one operator: what the operators of ONNX and of ONNX Runtime share. */
#ifndef IPEX_TOOLS_IMPORT_ATTENTION_H
#define IPEX_TOOLS_IMPORT_ATTENTION_H

#include "tools/convert/import_build.h"

struct ipex_attention {
    struct ipex_value *q, *k, *v; /* [B][heads][rows][D] */
    struct ipex_value *mask;      /* f32, broadcasts to [B][heads][queries][keys]; NULL: none */
    float scale;                  /* of the scores; 0: 1 / sqrt(D) */
    float cap;                    /* scores are cap tanh(score / cap); 0: as they are */
    bool causal;                  /* query i sees keys up to past + i */
    int64_t past;                 /* keys before that of the first query; a dim */
    bool may_hide_all;            /* rows of which -inf masks every key give 0 */
};

/* The result [B][heads][queries][E]; NULL after refusing. */
struct ipex_value *ipex_build_attention(struct ipex_import *import, struct ipex_attention *a);

/* [B][S][heads D] -> [B][heads][S][D], and back. NULL after refusing. */
struct ipex_value *ipex_build_split_heads(struct ipex_import *import, struct ipex_value *x,
                                          int64_t heads);
struct ipex_value *ipex_build_join_heads(struct ipex_import *import, struct ipex_value *x);

/* 0 where `mask` (bool) is true, else `masked`. */
struct ipex_value *ipex_build_mask(struct ipex_import *import, struct ipex_value *mask,
                                   float masked);

/* RotaryEmbedding; which inputs hold the cosines, sines and positions. */
void ipex_import_rotary(struct ipex_import *import, size_t cosines, size_t sines, size_t positions);

#endif
