/* SPDX-License-Identifier: Apache-2.0 */
/* Instead of peer_ggml.c, where there is no ggml. */
#include <stddef.h>

#include "tests/bench/peer_ggml.h"

const char *ggml_name(void) {
    return "no ggml";
}

struct ggml_side *ggml_side_create(const struct ggml_layer *layer) {
    (void)layer;
    return NULL;
}

void ggml_side_run(const struct ggml_side *side) {
    (void)side;
}

void ggml_side_destroy(struct ggml_side *side) {
    (void)side;
}
