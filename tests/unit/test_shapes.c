/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of pools, convolutions, elementwise operators and slices; those of products of
 * activations are test_product_shapes.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/check.h"
#include "format/ops.h"
#include "format/tile.h"

/* A pool over [1][size][1][1] with kernel, stride, pads, dilation along H: the output's H, or the
 * status negated. */
static int64_t pool_height(int64_t size, int kernel, int stride, int before, int after,
                           int dilation, int ceil) {
    const int32_t attributes[IPEX_POOL_ATTRS] = {kernel, 1, stride,   1, before, 0,
                                                 after,  0, dilation, 1, ceil,   0};
    struct ipex_shape_operand x = {.dtype = IPEX_DTYPE_f32, .rank = 4, .dims = {1, size, 1, 1}};
    struct ipex_shape_operand y = {0};
    struct ipex_shape_node node = {.op = IPEX_OP_max_pool,
                                   .inputs = 1,
                                   .ints = IPEX_POOL_ATTRS,
                                   .input = {&x},
                                   .int_ = attributes};
    enum ipex_status status = ipex_shape_infer(&node, &y, NULL);
    return status == IPEX_OK ? y.dims[1] : -(int64_t)status;
}

/* The definition: windows start every `stride` from -before while they fit (ceil: while they start
 * inside x or its leading pad and at least partly fit), and each holds a position of x. */
static int64_t pool_by_search(int64_t size, int kernel, int stride, int before, int after,
                              int dilation, int ceil) {
    int64_t count = 0, end = size + after, reach = dilation * (kernel - 1);
    for (int64_t start = -before;; start += stride) {
        bool fits = start + reach < end;
        bool begins_before = start - stride + reach < end - 1;
        if (!fits && !(ceil && count > 0 && begins_before && start < size))
            return count;
        bool touches = false;
        for (int tap = 0; tap < kernel; tap++)
            touches = touches || (start + tap * dilation >= 0 && start + tap * dilation < size);
        assert_true(touches);
        count++;
    }
}

static void pool_windows(void **state) {
    int accepted = 0;
    (void)state;
    for (int n = 0; n < 7 * 4 * 4 * 3 * 3 * 3 * 2; n++) {
        int r = n, size = 1 + r % 7, kernel = 1 + (r /= 7) % 4, stride = 1 + (r /= 4) % 4;
        int before = (r /= 4) % 3, after = (r /= 3) % 3, dilation = 1 + (r /= 3) % 3, ceil = r / 3;
        int64_t height = pool_height(size, kernel, stride, before, after, dilation, ceil);
        if (height < 0)
            continue;
        assert_int_equal(height,
                         pool_by_search(size, kernel, stride, before, after, dilation, ceil));
        accepted++;
    }
    assert_true(accepted > 2000);
}

/* A weight of so many segments and taps, from 16 channels to 24. */
static struct ipex_shape_operand tiles(int64_t segments, int64_t taps) {
    return (struct ipex_shape_operand){.dtype = IPEX_DTYPE_f32,
                                       .rank = 5,
                                       .layout = IPEX_LAYOUT_tiles,
                                       .constant = true,
                                       .dims = {1, segments, 24, taps, 16}};
}

/* Of x by w, whose `ints` the caller goes on to change. */
static struct ipex_shape_node conv_node(enum ipex_op op, uint32_t n_ints, const int32_t *ints,
                                        const struct ipex_shape_operand *x,
                                        const struct ipex_shape_operand *w) {
    static const float floats[2] = {0};
    return (struct ipex_shape_node){.op = op,
                                    .inputs = 2,
                                    .ints = n_ints,
                                    .floats = 2,
                                    .input = {x, w},
                                    .int_ = ints,
                                    .float_ = floats};
}

static void conv_shapes(void **state) {
    int32_t ints[IPEX_CONV_DIRECT_ATTRS] = {3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, IPEX_ACT_relu};
    struct ipex_shape_operand x = {
        .dtype = IPEX_DTYPE_f32, .rank = 4, .halo = {1, 1, 1, 1}, .dims = {2, 224, 200, 16}};
    struct ipex_shape_operand w = tiles(3, 3);
    struct ipex_shape_operand y = {0};
    struct ipex_shape_node node = conv_node(IPEX_OP_conv, IPEX_CONV_DIRECT_ATTRS, ints, &x, &w);
    (void)state;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.rank, 4);
    assert_memory_equal(y.dims, ((int64_t[]){2, 112, 100, 24}), 32);
    /* with a residual, which must be shaped as y */
    struct ipex_shape_operand residual = y;
    node.inputs = 4;
    node.input[3] = &residual;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    residual.dims[2]++;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_SHAPE);
    node.inputs = 2;
    /* column by column: of rows that are one segment */
    ints[IPEX_CONV_COLUMNS] = 1;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    ints[IPEX_CONV_DILATION_W] = 2;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_ATTRIBUTE);
    ints[IPEX_CONV_DILATION_W] = 1;
    ints[IPEX_CONV_GROUPS] = 4;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_ATTRIBUTE);
    ints[IPEX_CONV_COLUMNS] = 0;
    /* four groups: a segment per tap */
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_SHAPE);
    memcpy(w.dims, ((int64_t[]){4, 9, 6, 1, 4}), 40);
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_memory_equal(y.dims, ((int64_t[]){2, 112, 100, 24}), 32);
}

/* A result is bf16 where that is wanted, and may be; a residual, where x is. */
static void bf16_results(void **state) {
    int32_t ints[IPEX_CONV_DIRECT_ATTRS] = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, IPEX_ACT_relu};
    struct ipex_shape_operand x = {
        .dtype = IPEX_DTYPE_bf16, .rank = 4, .halo = {1, 1, 1, 1}, .dims = {2, 22, 20, 16}};
    struct ipex_shape_operand w = tiles(3, 3);
    struct ipex_shape_operand y = {.dtype = IPEX_DTYPE_bf16};
    struct ipex_shape_node node = conv_node(IPEX_OP_conv, IPEX_CONV_DIRECT_ATTRS, ints, &x, &w);
    (void)state;
    w.dtype = IPEX_DTYPE_bf16;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.dtype, IPEX_DTYPE_bf16);
    struct ipex_shape_operand residual = y;
    node.inputs = 4;
    node.input[3] = &residual;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    y.dtype = IPEX_DTYPE_f32;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.dtype, IPEX_DTYPE_f32);
    y.dtype = IPEX_DTYPE_bf16;
    ints[IPEX_CONV_COLUMNS] = 1; /* chains are parked in y */
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.dtype, IPEX_DTYPE_f32);
    ints[IPEX_CONV_COLUMNS] = 0;
    x.dtype = IPEX_DTYPE_f32;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_OPERATOR);
    node.inputs = 2;
    y.dtype = IPEX_DTYPE_bf16;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.dtype, IPEX_DTYPE_f32);
    /* depthwise, on f32 */
    struct ipex_shape_operand channels = {.dtype = IPEX_DTYPE_f32,
                                          .rank = 3,
                                          .layout = IPEX_LAYOUT_channels,
                                          .constant = true,
                                          .dims = {3, 3, 16}};
    ints[IPEX_CONV_GROUPS] = 16;
    node = conv_node(IPEX_OP_depthwise, IPEX_CONV_ATTRS, ints, &x, &channels);
    y.dtype = IPEX_DTYPE_bf16;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.dtype, IPEX_DTYPE_bf16);
}

/* The scales of a layer by bytes that writes f32, or bytes. */
static const float as_floats[IPEX_INTEGER_ATTRS] = {0};
static const float as_bytes[IPEX_INTEGER_ATTRS] = {[IPEX_Y_SCALE] = 2};

/* A result is u8 where that is wanted, x is u8 and the weight i8, and nowhere else. */
static void u8_results(void **state) {
    int32_t ints[IPEX_CONV_DIRECT_ATTRS] = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, IPEX_ACT_relu};
    struct ipex_shape_operand x = {
        .dtype = IPEX_DTYPE_u8, .rank = 4, .halo = {1, 1, 1, 1}, .dims = {2, 22, 20, 16}};
    struct ipex_shape_operand w = tiles(3, 3);
    const struct ipex_shape_operand scale = {.dtype = IPEX_DTYPE_f32,
                                             .rank = 1,
                                             .layout = IPEX_LAYOUT_channels,
                                             .constant = true,
                                             .dims = {24}};
    struct ipex_shape_operand y = {.dtype = IPEX_DTYPE_u8};
    struct ipex_shape_node node = conv_node(IPEX_OP_conv, IPEX_CONV_DIRECT_ATTRS, ints, &x, &w);
    (void)state;
    w.dtype = IPEX_DTYPE_i8;
    node.inputs = 5;
    node.input[4] = &scale;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_ATTRIBUTE);
    node.floats = IPEX_INTEGER_ATTRS;
    node.float_ = as_bytes;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.dtype, IPEX_DTYPE_u8);
    assert_memory_equal(y.dims, ((int64_t[]){2, 22, 20, 24}), 32);
    /* residuals of both dtypes, for results of both */
    struct ipex_shape_operand residual = y;
    node.input[3] = &residual;
    for (int i = 0; i < 4; i++) {
        const enum ipex_dtype wanted = i % 2 ? IPEX_DTYPE_u8 : IPEX_DTYPE_f32;
        residual.dtype = i / 2 ? IPEX_DTYPE_u8 : IPEX_DTYPE_f32;
        y.dtype = (uint8_t)wanted;
        assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
        assert_int_equal(y.dtype, wanted);
    }
    node.input[3] = NULL;
    /* f32 needs no scale of y; a dtype that it has not is not given */
    node.float_ = as_floats;
    y.dtype = IPEX_DTYPE_bf16;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.dtype, IPEX_DTYPE_f32);
    y.dtype = IPEX_DTYPE_u8;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_ATTRIBUTE);
    /* of x in bf16 or f32 it is f32 */
    w.dtype = x.dtype = IPEX_DTYPE_bf16;
    node.inputs = node.floats = 2;
    y.dtype = IPEX_DTYPE_u8;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.dtype, IPEX_DTYPE_f32);
    w.dtype = x.dtype = IPEX_DTYPE_f32;
    y.dtype = IPEX_DTYPE_u8;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.dtype, IPEX_DTYPE_f32);
    /* a pointwise program */
    const int32_t add[3] = {IPEX_STEP_add, 0, 1};
    struct ipex_shape_operand a = {.dtype = IPEX_DTYPE_u8, .rank = 2, .dims = {5, 1}};
    struct ipex_shape_operand b = {.dtype = IPEX_DTYPE_f32, .rank = 1, .dims = {6}};
    struct ipex_shape_node program = {
        .op = IPEX_OP_pointwise, .inputs = 2, .ints = 3, .input = {&a, &b}, .int_ = add};
    for (int i = 0; i < 4; i++) {
        a.dtype = i / 2 ? IPEX_DTYPE_u8 : IPEX_DTYPE_f32;
        const enum ipex_dtype wanted = i % 2 ? IPEX_DTYPE_u8 : IPEX_DTYPE_f32;
        y = (struct ipex_shape_operand){.dtype = (uint8_t)wanted};
        assert_int_equal(ipex_shape_infer(&program, &y, NULL), IPEX_OK);
        assert_int_equal(y.dtype, wanted);
        assert_memory_equal(y.dims, ((int64_t[]){5, 6}), 16);
    }
}

/* Sums of 32 bits, of segments of four elements or more. */
static void products_of_bytes(void **state) {
    static const struct {
        int64_t segments, taps, channels; /* segments 0: linear */
        enum ipex_status status;
    } cases[] = {
        {0, 1, 3, IPEX_ERROR_MODEL_SHAPE},
        {0, 1, 4, IPEX_OK},
        {0, 1, 65793, IPEX_OK},
        {0, 1, 65794, IPEX_ERROR_MODEL_SHAPE},
        {1, 1, 3, IPEX_ERROR_MODEL_SHAPE},
        {1, 1, 4, IPEX_OK},
        {3, 3, 1, IPEX_ERROR_MODEL_SHAPE},
        {2, 2, 2, IPEX_OK},
        {3, 3, 7310, IPEX_OK},
        {3, 3, 7311, IPEX_ERROR_MODEL_SHAPE},
        {9, 1, 4, IPEX_OK},
        {9, 1, 3, IPEX_ERROR_MODEL_SHAPE},
        {9, 1, 7310, IPEX_OK},
        {9, 1, 7311, IPEX_ERROR_MODEL_SHAPE},
        {0, 1, INT32_MAX, IPEX_ERROR_MODEL_SHAPE},
    };
    const struct ipex_shape_operand scale = {.dtype = IPEX_DTYPE_f32,
                                             .rank = 1,
                                             .layout = IPEX_LAYOUT_channels,
                                             .constant = true,
                                             .dims = {24}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool linear = cases[i].segments == 0, taps = cases[i].segments == 9;
        const int32_t kernel = taps ? 3 : (int32_t)cases[i].segments;
        const int32_t ints[IPEX_CONV_DIRECT_ATTRS] = {kernel,       kernel,       1, 1, 0, 0, 0, 0,
                                                      taps ? 2 : 1, taps ? 2 : 1, 1};
        const struct ipex_shape_operand x = {
            .dtype = IPEX_DTYPE_u8, .rank = 4, .dims = {2, 9, 9, cases[i].channels}};
        struct ipex_shape_operand w = tiles(cases[i].segments, cases[i].taps), y = {0};
        w.dtype = IPEX_DTYPE_i8;
        w.dims[4] = cases[i].channels;
        if (linear) {
            w.rank = 2;
            w.dims[0] = 24;
            w.dims[1] = cases[i].channels;
        }
        struct ipex_shape_node node =
            conv_node(linear ? IPEX_OP_linear : IPEX_OP_conv, linear ? 1 : IPEX_CONV_DIRECT_ATTRS,
                      linear ? &ints[IPEX_CONV_ACT] : ints, &x, &w);
        node.inputs = 5;
        node.input[4] = &scale;
        node.floats = IPEX_INTEGER_ATTRS;
        node.float_ = as_floats;
        assert_int_equal(ipex_shape_infer(&node, &y, NULL), cases[i].status);
    }
}

static void winograd_shapes(void **state) {
    int32_t ints[IPEX_CONV_ATTRS] = {3, 3, 1, 1, 1, 0, 1, 2, 1, 1, 1, IPEX_ACT_relu};
    struct ipex_shape_operand x = {
        .dtype = IPEX_DTYPE_f32, .rank = 4, .halo = {1, 0, 1, 2}, .dims = {2, 30, 41, 16}};
    struct ipex_shape_operand w = tiles(36, 1);
    struct ipex_shape_operand y = {0};
    struct ipex_shape_node node = conv_node(IPEX_OP_winograd, IPEX_CONV_ATTRS, ints, &x, &w);
    (void)state;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_memory_equal(y.dims, ((int64_t[]){2, 30, 41, 24}), 32);
    x.halo[3] = 1;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_SHAPE);
    x.halo[3] = 2;
    w.dims[4] = 15;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_SHAPE);
    w.dims[4] = 16;
    for (int i = IPEX_CONV_KERNEL_H; i <= IPEX_CONV_GROUPS; i++) {
        const int32_t kept = ints[i];
        if (i >= IPEX_CONV_PAD_TOP && i <= IPEX_CONV_DILATION_W)
            continue;
        ints[i] = 2;
        assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_ATTRIBUTE);
        ints[i] = kept;
    }
    ints[IPEX_CONV_DILATION_H] = 2;
    ints[IPEX_CONV_DILATION_W] = 3;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_memory_equal(y.dims, ((int64_t[]){2, 28, 37, 24}), 32);
    w.dims[1] = 16;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_memory_equal(y.dims, ((int64_t[]){2, 28, 37, 24}), 32);
    w.dims[1] = 25;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_SHAPE);
    ints[IPEX_CONV_DILATION_H] = ints[IPEX_CONV_DILATION_W] = 1;
    for (int high = 0; high <= 7; high++)
        for (int wide = 0; wide <= 7; wide++) {
            const bool square = high == wide && (high == 3 || high == 5);
            const bool row = high == 1 && wide >= 3 && wide <= 5;
            const bool column = wide == 1 && high >= 3 && high <= 5;
            ints[IPEX_CONV_KERNEL_H] = high;
            ints[IPEX_CONV_KERNEL_W] = wide;
            w.dims[1] = square ? 36 : 6;
            assert_int_equal(ipex_shape_infer(&node, &y, NULL),
                             square || row || column ? IPEX_OK : IPEX_ERROR_MODEL_ATTRIBUTE);
            w.dims[1] = square ? 6 : 36;
            assert_true(ipex_shape_infer(&node, &y, NULL) != IPEX_OK);
            w.dims[1] = 16;
            assert_int_equal(ipex_shape_infer(&node, &y, NULL) == IPEX_OK, square && high == 3);
        }
}

static void upsampled_conv_shapes(void **state) {
    int32_t ints[IPEX_UPSAMPLED_ATTRS] = {3, IPEX_ACT_relu};
    struct ipex_shape_operand x = {
        .dtype = IPEX_DTYPE_f32, .rank = 4, .halo = {1, 1, 1, 2}, .dims = {2, 30, 41, 16}};
    struct ipex_shape_operand w = tiles(IPEX_UPSAMPLED_POINTS, 1);
    struct ipex_shape_operand y = {0};
    struct ipex_shape_node node =
        conv_node(IPEX_OP_upsampled_conv, IPEX_UPSAMPLED_ATTRS, ints, &x, &w);
    (void)state;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_memory_equal(y.dims, ((int64_t[]){2, 90, 123, 24}), 32);
    for (int side = 0; side < 4; side++) {
        const uint16_t kept = x.halo[side];
        x.halo[side] = 0;
        assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_SHAPE);
        x.halo[side] = kept;
    }
    for (int i = 0; i < 5; i++) {
        const int64_t kept = w.dims[i];
        w.dims[i] = kept + 1;
        assert_int_equal(ipex_shape_infer(&node, &y, NULL),
                         i == 2 ? IPEX_OK : IPEX_ERROR_MODEL_SHAPE);
        w.dims[i] = kept;
    }
    for (int32_t factor = 0; factor <= IPEX_UPSAMPLED_FACTOR_MAX + 1; factor++) {
        ints[IPEX_UPSAMPLED_FACTOR] = factor;
        assert_int_equal(ipex_shape_infer(&node, &y, NULL),
                         factor < 2 || factor > IPEX_UPSAMPLED_FACTOR_MAX
                             ? IPEX_ERROR_MODEL_ATTRIBUTE
                             : IPEX_OK);
    }
    ints[IPEX_UPSAMPLED_FACTOR] = 2;
    ints[IPEX_UPSAMPLED_ACT] = 1000;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_ATTRIBUTE);
}

/* A constant of the dims of a scale or zero. */
static struct ipex_shape_operand of_blocks(enum ipex_dtype dtype, int64_t panels, int64_t blocks) {
    return (struct ipex_shape_operand){
        .dtype = (uint8_t)dtype, .rank = 3, .constant = true, .dims = {panels, blocks, 16}};
}

/* All sizes of K and of blocks, also with an operand that is one too long or too short. */
static void check_blocks_shapes(int32_t bits) {
    for (int64_t k = 1; k <= 600; k += k < 70 ? 1 : 37)
        for (int32_t block = 0; block <= IPEX_BLOCK_MOST + 16; block += 8) {
            const int32_t ints[IPEX_BLOCKS_ATTRS] = {IPEX_ACT_relu, bits, block, block % 32 / 16};
            const bool known = block % 16 == 0 && block >= 16 && block <= 256;
            const int64_t n = 1 + k % 40, panels = n <= 16 ? 1 : n <= 32 ? 2 : 3;
            const int64_t blocks = known ? k / block + (k % block > 0) : 1;
            struct ipex_shape_operand x = {.dtype = IPEX_DTYPE_f32, .rank = 3, .dims = {2, 5, k}};
            struct ipex_shape_operand w = {.dtype = IPEX_DTYPE_u8,
                                           .rank = 2,
                                           .layout = IPEX_LAYOUT_tiles,
                                           .constant = true,
                                           .dims = {n, bits == 8 ? k : 4 * (k / 8 + (k % 8 > 0))}};
            struct ipex_shape_operand scale = of_blocks(IPEX_DTYPE_f32, panels, blocks);
            struct ipex_shape_operand zero = of_blocks(IPEX_DTYPE_u8, panels, blocks);
            struct ipex_shape_operand y = {.dtype = IPEX_DTYPE_u8};
            struct ipex_shape_node node =
                conv_node(IPEX_OP_linear_blocks, IPEX_BLOCKS_ATTRS, ints, &x, &w);
            node.inputs = 5 + (uint32_t)(k % 2);
            node.input[4] = &scale;
            node.input[5] = &zero;
            assert_int_equal(ipex_shape_infer(&node, &y, NULL),
                             known ? IPEX_OK : IPEX_ERROR_MODEL_ATTRIBUTE);
            if (!known)
                continue;
            assert_int_equal(y.dtype, IPEX_DTYPE_f32);
            assert_int_equal(y.rank, 3);
            assert_memory_equal(y.dims, ((int64_t[]){2, 5, n}), 24);
            int64_t *const sizes[] = {&w.dims[1],     &scale.dims[0], &scale.dims[1],
                                      &scale.dims[2], &zero.dims[0],  &zero.dims[1]};
            for (size_t i = 0; i < (node.inputs == 6 ? 6 : 4); i++)
                for (int by = -1; by <= 1; by += 2) {
                    *sizes[i] += by;
                    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_SHAPE);
                    *sizes[i] -= by;
                }
        }
}

static void linear_blocks_shapes(void **state) {
    (void)state;
    check_blocks_shapes(4);
    check_blocks_shapes(8);
}

/* What 16 bits hold is looked up, and widened; of f16 nothing else is computed. */
static void halves(void **state) {
    static const struct {
        enum ipex_dtype from, to;
        enum ipex_status status;
    } casts[] = {
        {IPEX_DTYPE_f16, IPEX_DTYPE_f32, IPEX_OK},
        {IPEX_DTYPE_bf16, IPEX_DTYPE_f32, IPEX_OK},
        {IPEX_DTYPE_f32, IPEX_DTYPE_bf16, IPEX_OK},
        {IPEX_DTYPE_f32, IPEX_DTYPE_f16, IPEX_ERROR_MODEL_SHAPE},
        {IPEX_DTYPE_f16, IPEX_DTYPE_bf16, IPEX_ERROR_MODEL_OPERATOR},
        {IPEX_DTYPE_f16, IPEX_DTYPE_f16, IPEX_ERROR_MODEL_OPERATOR},
        {IPEX_DTYPE_f16, IPEX_DTYPE_i32, IPEX_ERROR_MODEL_OPERATOR},
    };
    static const enum ipex_dtype tables[] = {IPEX_DTYPE_f16, IPEX_DTYPE_bf16, IPEX_DTYPE_f32};
    const int32_t axis = 0;
    struct ipex_shape_operand x = {.rank = 2, .dims = {5, 6}}, y;
    struct ipex_shape_operand at = {.dtype = IPEX_DTYPE_i64, .rank = 1, .dims = {3}};
    struct ipex_shape_node cast = {.op = IPEX_OP_cast, .inputs = 1, .input = {&x}};
    struct ipex_shape_node gather = {
        .op = IPEX_OP_gather, .inputs = 2, .ints = 1, .input = {&x, &at}, .int_ = &axis};
    (void)state;
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        x.dtype = (uint8_t)casts[i].from;
        y = (struct ipex_shape_operand){.dtype = (uint8_t)casts[i].to};
        assert_int_equal(ipex_shape_infer(&cast, &y, NULL), casts[i].status);
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        x.dtype = (uint8_t)tables[i];
        y = (struct ipex_shape_operand){0};
        assert_int_equal(ipex_shape_infer(&gather, &y, NULL), IPEX_OK);
        assert_int_equal(y.dtype, tables[i]);
        assert_memory_equal(y.dims, ((int64_t[]){3, 6}), 16);
    }
    x.dtype = IPEX_DTYPE_f64;
    assert_int_equal(ipex_shape_infer(&gather, &y, NULL), IPEX_ERROR_MODEL_OPERATOR);
}

static void broadcast_shapes(void **state) {
    const int32_t add[3] = {IPEX_STEP_add, 0, 1};
    struct ipex_shape_operand a = {.dtype = IPEX_DTYPE_f32, .rank = 3, .dims = {4, 1, 6}};
    struct ipex_shape_operand b = {.dtype = IPEX_DTYPE_f32, .rank = 2, .dims = {5, 1}};
    struct ipex_shape_operand y = {0};
    struct ipex_shape_node node = {
        .op = IPEX_OP_pointwise, .inputs = 2, .ints = 3, .input = {&a, &b}, .int_ = add};
    (void)state;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.rank, 3);
    assert_memory_equal(y.dims, ((int64_t[]){4, 5, 6}), 24);
    node.input[0] = &b;
    node.input[1] = &a;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_memory_equal(y.dims, ((int64_t[]){4, 5, 6}), 24);
    b.dims[1] = 2;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_SHAPE);
}

/* A slice's wanted dims are the caller's; the converter's are not checked before. */
static void slice_shapes(void **state) {
    const int32_t attributes[2] = {3, -2};
    struct ipex_shape_operand x = {.dtype = IPEX_DTYPE_i64, .rank = 1, .dims = {4}};
    struct ipex_shape_operand y = {.rank = 1, .dims = {2}};
    struct ipex_shape_node node = {
        .op = IPEX_OP_slice, .inputs = 1, .ints = 2, .input = {&x}, .int_ = attributes};
    (void)state;
    assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_OK);
    assert_int_equal(y.dtype, IPEX_DTYPE_i64);
    assert_int_equal(y.dims[0], 2);
    static const int64_t wrong[] = {3, 0, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        y.dims[0] = wrong[i];
        assert_int_equal(ipex_shape_infer(&node, &y, NULL), IPEX_ERROR_MODEL_SHAPE);
        assert_true(y.dims[0] == wrong[i]); /* not touched */
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_windows),
        cmocka_unit_test(conv_shapes),
        cmocka_unit_test(bf16_results),
        cmocka_unit_test(u8_results),
        cmocka_unit_test(products_of_bytes),
        cmocka_unit_test(winograd_shapes),
        cmocka_unit_test(upsampled_conv_shapes),
        cmocka_unit_test(broadcast_shapes),
        cmocka_unit_test(slice_shapes),
        cmocka_unit_test(linear_blocks_shapes),
        cmocka_unit_test(halves),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
