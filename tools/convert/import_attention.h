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

/* [B][S][heads D] -> [B][S][heads][D]. NULL after refusing. */
struct ipex_value *ipex_build_with_heads(struct ipex_import *import, struct ipex_value *x,
                                         int64_t heads);
/* [B][S][heads D] -> [B][heads][S][D], and back. NULL after refusing. */
struct ipex_value *ipex_build_split_heads(struct ipex_import *import, struct ipex_value *x,
                                          int64_t heads);
struct ipex_value *ipex_build_join_heads(struct ipex_import *import, struct ipex_value *x);

/* Past keys or values (NULL: none) and then those of x, [B][heads][rows][D]. NULL after refusing.
 */
struct ipex_value *ipex_build_behind(struct ipex_import *import, struct ipex_value *past,
                                     struct ipex_value *x);

/* 0 where `mask` (bool) is true, else `masked`. */
struct ipex_value *ipex_build_mask(struct ipex_import *import, struct ipex_value *mask,
                                   float masked);

/* Of every key, whether its position is less than the number of its sequence, from element `start`
 * of `numbers` on: bool [batch][keys]. */
struct ipex_value *ipex_build_keys_before(struct ipex_import *import, struct ipex_value *numbers,
                                          int64_t start, int64_t batch, int64_t keys);

/* The current node's inputs from `input` on or results from `output` on are used: refused. */
bool ipex_attention_uses_more(struct ipex_import *import, size_t input, size_t output);

struct ipex_rotary {
    size_t cosines, sines;       /* the inputs of the tables, [positions][half] */
    struct ipex_value *position; /* [B][S]; NULL: the tables are [B][S][half] */
    int64_t rotated;             /* so many first elements of a head; 0: all */
    bool interleaved;            /* pairs are neighbours, not halves */
    bool heads_first;
};
/* x [B][S][heads][D] or, with heads first, [B][heads][S][D] rotated. NULL after refusing. */
struct ipex_value *ipex_build_rotary(struct ipex_import *import, const struct ipex_rotary *r,
                                     struct ipex_value *x);
#endif
