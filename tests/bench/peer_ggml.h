/* SPDX-License-Identifier: Apache-2.0 */
/* One layer of weights in blocks computed by ggml, the library below llama.cpp, for
 * tests/bench/bench_kernels.c. */
#ifndef IPEX_TESTS_PEER_GGML_H
#define IPEX_TESTS_PEER_GGML_H

#include <stdbool.h>
#include <stdint.h>

struct ggml_layer {
    int64_t rows, k, n;
    int32_t bits; /* 4: Q4_0, 8: Q8_0 */
};

struct ggml_side;

/* What this program was built with: a text for people. */
const char *ggml_name(void);
/* One thread; weights as its CPU backend would rather have them (repacked) where it has such a
 * layout for their sizes. NULL where it has no such layer, or the program was built without ggml.
 */
struct ggml_side *ggml_side_create(const struct ggml_layer *layer);
void ggml_side_run(const struct ggml_side *side);
void ggml_side_destroy(struct ggml_side *side);

#endif
