/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules R100 to R110: products of activations, attention, norms, recurrent layers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/check.h"
#include "format/ops.h"
#include "format/tile.h"

enum { OUTPUTS = 3 };

/* "2x3x4" is an activation; "t2x3" is a constant of tiles, "q2x3" one of tiles of u8, "c7" one of
 * layout channels, "p2x3" a plain constant; "i4" is i64, "b4" u8; "-" is none. */
static const struct ipex_shape_operand *parse(const char *text, struct ipex_shape_operand *ret) {
    *ret = (struct ipex_shape_operand){.dtype = IPEX_DTYPE_f32};
    if (strcmp(text, "-") == 0)
        return NULL;
    ret->constant = *text != 0 && strchr("tqcp", *text) != NULL;
    ret->layout = *text == 't' || *text == 'q' ? IPEX_LAYOUT_tiles
                  : *text == 'c'               ? IPEX_LAYOUT_channels
                                               : IPEX_LAYOUT_plain;
    if (*text == 'i')
        ret->dtype = IPEX_DTYPE_i64;
    if (*text == 'b' || *text == 'q')
        ret->dtype = IPEX_DTYPE_u8;
    text += ret->constant || *text == 'i' || *text == 'b';
    for (int used = 0; sscanf(text, "%ld%n", &ret->dims[ret->rank], &used) == 1; text += used) {
        ret->rank++;
        used = text[used] == 'x' ? used + 1 : used;
        if (text[used] == 0 && text[used - 1] != 'x')
            break;
    }
    return ret;
}

struct shape_case {
    enum ipex_op op;
    int32_t ints[3];
    const char *inputs[7], *outputs[OUTPUTS]; /* no outputs: refused ... */
    enum ipex_status status;                  /* ... with this */
};

#define ATTRIBUTE IPEX_ERROR_MODEL_ATTRIBUTE
#define OPERATOR  IPEX_ERROR_MODEL_OPERATOR
#define SHAPE     IPEX_ERROR_MODEL_SHAPE

static const struct shape_case cases[] = {
    {IPEX_OP_matmul, {0}, {"3x4", "4x5"}, {"3x5"}, 0},
    {IPEX_OP_matmul, {1}, {"3x4", "5x4"}, {"3x5"}, 0},
    {IPEX_OP_matmul, {0}, {"7x1x3x4", "2x4x5"}, {"7x2x3x5"}, 0},
    {IPEX_OP_matmul, {0}, {"3x4", "9x2x4x5"}, {"9x2x3x5"}, 0},
    {IPEX_OP_matmul, {0}, {"1x2x3x4x5x6x1x2", "2x1"}, {"1x2x3x4x5x6x1x1"}, 0},
    {IPEX_OP_matmul, {0}, {"3x4", "p4x5"}, {"3x5"}, 0},
    {IPEX_OP_matmul, {2}, {"3x4", "4x5"}, {0}, ATTRIBUTE},
    {IPEX_OP_matmul, {0}, {"3x4", "5x4"}, {0}, SHAPE},
    {IPEX_OP_matmul, {0}, {"4", "4x5"}, {0}, SHAPE},
    {IPEX_OP_matmul, {0}, {"3x4", "4"}, {0}, SHAPE},
    {IPEX_OP_matmul, {0}, {"2x3x4", "3x4x5"}, {0}, SHAPE},
    {IPEX_OP_matmul, {0}, {"3x4", "c4x5"}, {0}, OPERATOR},
    {IPEX_OP_matmul, {0}, {"i3x4", "4x5"}, {0}, OPERATOR},
    {IPEX_OP_matmul, {0}, {"2147483647x2", "2x2147483647"}, {0}, SHAPE},
    {IPEX_OP_matmul, {1, 3, 255}, {"b2x3x4", "b5x4"}, {"2x3x5"}, 0},
    {IPEX_OP_matmul, {0}, {"b3x33025", "b33025x5"}, {"3x5"}, 0},
    {IPEX_OP_matmul, {0}, {"b3x33026", "b33026x5"}, {0}, SHAPE},
    {IPEX_OP_matmul, {0, 256}, {"b3x4", "b4x5"}, {0}, ATTRIBUTE},
    {IPEX_OP_matmul, {0, 0, -1}, {"b3x4", "b4x5"}, {0}, ATTRIBUTE},
    {IPEX_OP_matmul, {0, 0, 1}, {"3x4", "4x5"}, {0}, ATTRIBUTE},
    {IPEX_OP_matmul, {0, 1}, {"3x4", "4x5"}, {0}, ATTRIBUTE},
    {IPEX_OP_matmul, {0}, {"b3x4", "4x5"}, {0}, OPERATOR},
    {IPEX_OP_matmul, {0}, {"3x4", "b4x5"}, {0}, OPERATOR},
    {IPEX_OP_matmul, {0}, {"b3x4", "b4"}, {0}, SHAPE},
    {IPEX_OP_matmul, {0}, {"b3x4", "q4x5"}, {0}, OPERATOR},
    {IPEX_OP_attention, {0}, {"6x8", "9x8", "9x5"}, {"6x5"}, 0},
    {IPEX_OP_attention, {1}, {"2x4x6x8", "2x4x9x8", "2x4x9x5", "6x9"}, {"2x4x6x5"}, 0},
    {IPEX_OP_attention, {0}, {"2x4x6x8", "2x2x9x8", "2x2x9x5", "2x1x1x9"}, {"2x4x6x5"}, 0},
    {IPEX_OP_attention, {0}, {"2x4x6x8", "2x9x8", "1x9x5"}, {"2x4x6x5"}, 0},
    {IPEX_OP_attention, {0}, {"6x8", "3x4x9x8", "9x5", "3x4x1x1"}, {"3x4x6x5"}, 0},
    {IPEX_OP_attention, {0}, {"2x4x6x8", "2x4x9x8", "2x4x9x5", "-"}, {"2x4x6x5"}, 0},
    {IPEX_OP_attention, {0, 1}, {"2x6x4x8", "2x9x4x8", "2x9x4x5", "2x4x6x9"}, {"2x6x4x5"}, 0},
    {IPEX_OP_attention, {0, 1}, {"6x4x8", "9x2x8", "9x2x5"}, {"6x4x5"}, 0},
    {IPEX_OP_attention, {0, 1}, {"6x8", "9x8", "9x5"}, {0}, SHAPE},
    {IPEX_OP_attention, {0, 1}, {"2x6x4x8", "2x9x3x8", "2x9x3x5"}, {0}, SHAPE},
    {IPEX_OP_attention, {0, 2}, {"6x2x4x8", "9x2x4x8", "9x2x4x5", "2x4x6x9"}, {"6x2x4x5"}, 0},
    {IPEX_OP_attention, {0, 2}, {"6x3x2x4x8", "9x1x2x2x8", "9x1x2x2x5"}, {"6x3x2x4x5"}, 0},
    {IPEX_OP_attention, {0, 2}, {"6x4x8", "9x2x8", "9x2x5"}, {"6x4x5"}, 0},
    {IPEX_OP_attention, {0, 2}, {"6x2x4x8", "2x9x4x8", "2x9x4x5"}, {0}, SHAPE},
    {IPEX_OP_attention, {0, 2}, {"6x8", "9x8", "9x5"}, {0}, SHAPE},
    {IPEX_OP_attention, {0, 3}, {"6x4x8", "9x4x8", "9x4x5"}, {0}, ATTRIBUTE},
    {IPEX_OP_attention, {2}, {"6x8", "9x8", "9x5"}, {0}, ATTRIBUTE},
    {IPEX_OP_attention, {0}, {"6x8", "9x7", "9x5"}, {0}, SHAPE},
    {IPEX_OP_attention, {0}, {"6x8", "9x8", "8x5"}, {0}, SHAPE},
    {IPEX_OP_attention, {0}, {"4x6x8", "3x9x8", "3x9x5"}, {0}, SHAPE},
    {IPEX_OP_attention, {0}, {"4x6x8", "2x9x8", "4x9x5"}, {0}, SHAPE},
    {IPEX_OP_attention, {0}, {"4x1x6x8", "2x1x9x8", "2x1x9x5"}, {0}, SHAPE},
    {IPEX_OP_attention, {0}, {"6x8", "9x8", "9x5", "2x6x9"}, {0}, SHAPE},
    {IPEX_OP_attention, {0}, {"6x8", "9x8", "9x5", "5x9"}, {0}, SHAPE},
    {IPEX_OP_attention, {0}, {"6x8", "9x8", "9x5", "i6x9"}, {0}, OPERATOR},
    {IPEX_OP_layer_norm, {0, 0}, {"2x3x4"}, {"2x3x4"}, 0},
    {IPEX_OP_layer_norm, {1, 0}, {"4", "4", "c4"}, {"4"}, 0},
    {IPEX_OP_layer_norm, {1, 0}, {"2x4", "-", "p4"}, {"2x4"}, 0},
    {IPEX_OP_layer_norm, {2, 0}, {"2x3x4"}, {0}, ATTRIBUTE},
    {IPEX_OP_layer_norm, {0, 99}, {"2x3x4"}, {0}, ATTRIBUTE},
    {IPEX_OP_layer_norm, {0, 0}, {""}, {0}, SHAPE},
    {IPEX_OP_layer_norm, {0, 0}, {"2x4", "3"}, {0}, SHAPE},
    {IPEX_OP_layer_norm, {0, 0}, {"2x4", "1x4"}, {0}, SHAPE},
    {IPEX_OP_layer_norm, {0, 0}, {"2x4", "4", "i4"}, {0}, OPERATOR},
    {IPEX_OP_layer_norm, {0, 0}, {"2x4", "t4x4"}, {0}, OPERATOR},
    {IPEX_OP_layer_norm, {0, 0}, {"2x4", "q4x4"}, {0}, OPERATOR},
    {IPEX_OP_group_norm, {4, 0}, {"2x3x3x12", "12", "c12"}, {"2x3x3x12"}, 0},
    {IPEX_OP_group_norm, {12, 0}, {"2x3x3x12"}, {"2x3x3x12"}, 0},
    {IPEX_OP_group_norm, {0, 0}, {"2x3x3x12"}, {0}, ATTRIBUTE},
    {IPEX_OP_group_norm, {1, -1}, {"2x3x3x12"}, {0}, ATTRIBUTE},
    {IPEX_OP_group_norm, {5, 0}, {"2x3x3x12"}, {0}, SHAPE},
    {IPEX_OP_group_norm, {3, 0}, {"3x3x12"}, {0}, SHAPE},
    {IPEX_OP_group_norm, {3, 0}, {"2x3x3x12", "4"}, {0}, SHAPE},
    {IPEX_OP_lstm,
     {1, 0},
     {"7x2x5", "t1x1x12x1x5", "t1x1x12x1x3"},
     {"7x1x2x3", "1x2x3", "1x2x3"},
     0},
    {IPEX_OP_lstm,
     {2, 0},
     {"7x2x5", "t2x1x12x1x5", "t2x1x12x1x3", "p2x24", "2x2x3", "2x2x3"},
     {"7x2x2x3", "2x2x3", "2x2x3"},
     0},
    {IPEX_OP_lstm, {2, 1}, {"7x2x5", "t2x1x12x1x5", "t2x1x12x1x3"}, {0}, ATTRIBUTE},
    {IPEX_OP_lstm, {3, 0}, {"7x2x5", "t3x1x12x1x5", "t3x1x12x1x3"}, {0}, ATTRIBUTE},
    {IPEX_OP_lstm, {0, 0}, {"7x2x5", "t1x1x12x1x5", "t1x1x12x1x3"}, {0}, ATTRIBUTE},
    {IPEX_OP_lstm, {1, 0}, {"2x5", "t1x1x12x1x5", "t1x1x12x1x3"}, {0}, SHAPE},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "t1x1x12x1x4", "t1x1x12x1x3"}, {0}, SHAPE},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "t1x1x13x1x5", "t1x1x12x1x3"}, {0}, SHAPE},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "t1x1x12x1x5", "t1x1x12x1x4"}, {0}, SHAPE},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "t2x1x12x1x5", "t1x1x12x1x3"}, {0}, SHAPE},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "t12x5", "t1x1x12x1x3"}, {0}, SHAPE},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "p1x1x12x1x5", "t1x1x12x1x3"}, {0}, OPERATOR},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "t1x1x12x1x5", "1x1x12x1x3"}, {0}, OPERATOR},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "t1x1x12x1x5", "t1x1x12x1x3", "1x12"}, {0}, SHAPE},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "t1x1x12x1x5", "t1x1x12x1x3", "c1x24"}, {0}, OPERATOR},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "t1x1x12x1x5", "t1x1x12x1x3", "-", "1x1x3"}, {0}, SHAPE},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "t1x1x12x1x5", "t1x1x12x1x3", "-", "-", "2x3"}, {0}, SHAPE},
    {IPEX_OP_gru,
     {1, 1, 1},
     {"7x2x5", "t1x1x9x1x5", "t1x1x9x1x3", "1x18", "1x2x3"},
     {"7x1x2x3", "1x2x3"},
     0},
    {IPEX_OP_lstm, {1, 0}, {"7x2x5", "q1x1x12x1x5", "q1x1x12x1x3"}, {0}, OPERATOR},
    {IPEX_OP_gru, {1, 0, 0}, {"7x2x5", "q1x1x9x1x5", "q1x1x9x1x3"}, {0}, OPERATOR},
    {IPEX_OP_gru, {1, 0, 2}, {"7x2x5", "t1x1x9x1x5", "t1x1x9x1x3"}, {0}, ATTRIBUTE},
    {IPEX_OP_gru, {1, 0, 0}, {"7x2x5", "t1x1x12x1x5", "t1x1x12x1x3"}, {0}, SHAPE},
};

static void check_case(const struct shape_case *c) {
    const struct ipex_op_info *info = ipex_op_info(c->op);
    const float floats[3] = {0};
    struct ipex_shape_operand in[7], y[OUTPUTS] = {{0}}, want;
    struct ipex_shape_node node = {
        .op = c->op, .ints = info->ints, .floats = info->floats, .int_ = c->ints, .float_ = floats};
    for (; node.inputs < 7 && c->inputs[node.inputs]; node.inputs++)
        node.input[node.inputs] = parse(c->inputs[node.inputs], &in[node.inputs]);
    const enum ipex_status status = ipex_shape_infer(&node, y, NULL);
    assert_int_equal(status, c->outputs[0] ? IPEX_OK : c->status);
    for (int o = 0; status == IPEX_OK && o < info->outputs; o++) {
        assert_non_null(parse(c->outputs[o], &want));
        assert_int_equal(y[o].rank, want.rank);
        assert_int_equal(y[o].dtype, IPEX_DTYPE_f32);
        assert_memory_equal(y[o].dims, want.dims, want.rank * sizeof want.dims[0]);
    }
}

static void shapes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("# case %zu: %s\n", i, ipex_op_info(cases[i].op)->name);
        check_case(&cases[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
