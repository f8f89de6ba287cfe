/* SPDX-License-Identifier: Apache-2.0 */
/* A node of a file as the layer that bench_kernels.c asks oneDNN or ggml about. */
#ifndef IPEX_TESTS_BENCH_LAYER_H
#define IPEX_TESTS_BENCH_LAYER_H

#include "format/ipex_types.h"
#include "loader/loader.h"
#include "tests/bench/peer_onednn.h"

enum { LAYER_TEXT = 96 };

/* False for operators that neither is asked about. Unused fields and padding are 0: layers can
 * be compared as bytes. */
bool layer_of_node(const struct ipex_image_entry *entry, struct ipex_fb_node node,
                   struct onednn_layer *ret);

/* "56x56x64 3x3 64", "56x56x64 3x3/2 128 g32", "128x384 x 1536", "1x2048 x 5632 of 4 bits": a batch
 * of 1 is not told. Returns `ret`. */
const char *layer_text(const struct onednn_layer *layer, char ret[LAYER_TEXT]);

/* Of one output value: so many multiply-adds. */
int64_t layer_depth(const struct onednn_layer *layer);
/* Output columns that share an input: of a group. */
int64_t layer_columns(const struct onednn_layer *layer);

#endif
