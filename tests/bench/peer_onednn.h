/* SPDX-License-Identifier: Apache-2.0 */
/* One layer computed by oneDNN (2.6 and 3.x), f32, for tests/bench/bench_kernels.c. */
#ifndef IPEX_TESTS_PEER_ONEDNN_H
#define IPEX_TESTS_PEER_ONEDNN_H

#include <stdbool.h>
#include <stdint.h>

#include "format/ops.h"

enum onednn_kind { ONEDNN_CONV, ONEDNN_CONV_TRANSPOSE, ONEDNN_MATMUL };

struct onednn_layer {
    enum onednn_kind kind;
    bool residual;
    int32_t act; /* enum ipex_act, with its two attributes */
    float act_a, act_b;
    /* convolutions: x [images][height][width][channels], y [images][out_height][out_width][n] */
    int64_t images, channels, height, width, n, out_height, out_width;
    int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, groups;
    int64_t pad_top, pad_left, pad_bottom, pad_right;
    /* products: batch x [m][k] with [k][inner] or, with transposed, [inner][k]; constant: weights
     */
    int64_t batch, m, k, inner;
    bool transposed, constant;
    int32_t bits; /* of weights in blocks, which oneDNN is not asked about; else 0 */
};

struct onednn_primitive;

/* One thread from here on; avx2_only: no instructions of later levels. Ends the program when the
 * library cannot start. */
void onednn_start(bool avx2_only);
const char *onednn_version(void);

/* blocked: oneDNN chooses the layouts of x and y; else they are channels-last. Weights are in the
 * layout that it asks for. NULL when it has no such primitive. Memory is filled with small numbers.
 */
struct onednn_primitive *onednn_create(const struct onednn_layer *layer, bool blocked);
/* The name of the implementation, owned by the primitive. */
const char *onednn_implementation(const struct onednn_primitive *primitive);
void onednn_run(const struct onednn_primitive *primitive);
void onednn_destroy(struct onednn_primitive *primitive);

#endif
