#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing silent: a hand-made graph for every reason code of tools/convert/ledger.h, each also compared with ONNX
Runtime and with its own known answers of the unoptimised graph, for refusing must not mean wrong. Also every
BatchNorm of the networks as an applied site, and foldings that others have got wrong."""
import collections
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import CLI, ROOT, Tap, cli_json, command, networks
from ledger_cases import APPLIED, Cases, check_case, check_verdicts, fits
from small_graphs import Bench, Graph, expected_outputs

CASES = Cases()
case = CASES.case


# ---- affine: BatchNorm and constants per channel into the weights before them ----

@case(("affine", "bn", APPLIED))
def batch_norm_after_conv(g):
    g.output(g.batch_norm(g.conv(g.input(1, 3, 6, 6), 3, 5), 5, name="bn"))


@case(("affine", "bn", APPLIED))
def batch_norm_after_depthwise(g):
    g.output(g.batch_norm(g.conv(g.input(1, 6, 6, 6), 6, 6, groups=6, bias=True), 6, name="bn"))


@case(("affine", "bn", APPLIED))
def batch_norm_after_groups(g):
    g.output(g.batch_norm(g.conv(g.input(1, 6, 6, 6), 6, 9, groups=3, bias=True), 9, name="bn"))


@case(("affine", "bn", APPLIED))
def batch_norm_after_1d_conv(g):
    g.output(g.batch_norm(g.conv(g.input(2, 3, 9), 3, 5, (3,)), 5, name="bn"))


@case(("affine", "bn", APPLIED))
def batch_norm_after_linear(g):
    g.output(g.batch_norm(g.op("Gemm", g.input(4, 6), g.weight(6, 5)), 5, name="bn"))


@case(("affine", "mul", APPLIED), ("affine", "add", APPLIED), ("affine", "sub", APPLIED), ("affine", "div", APPLIED))
def scales_and_shifts(g):
    x = g.op("Mul", g.conv(g.input(1, 3, 6, 6), 3, 5, bias=True), g.weight(5, 1, 1), name="mul")
    x = g.op("Add", g.weight(1, 5, 1, 1), x, name="add")
    g.output(g.op("Div", g.op("Sub", x, g.scalar(0.5), name="sub"), g.positive(5, 1, 1), name="div"))


@case(("affine", "bn", "two_consumers"))
def conv_read_by_another(g):
    y = g.conv(g.input(1, 3, 6, 6), 3, 5)
    g.output(g.op("Add", g.batch_norm(y, 5, name="bn"), g.op("Sigmoid", y)))


@case(("affine", "bn", "two_consumers"))
def linear_read_by_another(g):
    y = g.op("Gemm", g.input(4, 6), g.weight(6, 5))
    g.output(g.batch_norm(y, 5, name="bn"), g.op("Tanh", y))


@case(("affine", "bn", "two_consumers"))
def conv_is_an_output(g):
    y = g.conv(g.input(1, 3, 6, 6), 3, 5)
    g.output(y, g.batch_norm(y, 5, name="bn"))


@case(("affine", "bn1", "shared_weight"), ("affine", "bn2", "shared_weight"))
def weight_of_two_convs(g):
    x, w = g.input(1, 3, 6, 6), g.weight(5, 3, 3, 3)
    g.output(g.batch_norm(g.conv(x, 3, 5, weight=w), 5, name="bn1"),
             g.batch_norm(g.conv(g.op("Neg", x), 3, 5, weight=w), 5, name="bn2"))


@case(("affine", "bn", "axis_mismatch"))
def batch_norm_over_rows_of_a_linear(g):
    """The channel is axis 1 [L], the linear layer's outputs are axis 2: folding would scale the wrong axis."""
    g.output(g.batch_norm(g.op("MatMul", g.input(2, 5, 6), g.weight(6, 5)), 5, name="bn"))


@case(("affine", "mul", "axis_mismatch"))
def scale_along_the_width(g):
    g.output(g.op("Mul", g.conv(g.input(1, 3, 7, 7), 3, 5), g.weight(5), name="mul"))


@case(("affine", "add", "axis_mismatch"))
def bias_per_row_of_a_linear(g):
    g.output(g.op("Add", g.op("MatMul", g.input(5, 6), g.weight(6, 5)), g.weight(5, 1), name="add"))


@case(("affine", "add", "axis_mismatch"))
def shift_along_two_axes(g):
    g.output(g.op("Add", g.conv(g.input(1, 3, 7, 7), 3, 5), g.weight(5, 5), name="add"))


@case(("affine", "bn", "dynamic_parameter"))
def scale_from_an_input(g):
    y = g.conv(g.input(1, 3, 6, 6), 3, 5)
    g.output(g.op("BatchNormalization", y, g.input(5), g.weight(5), g.weight(5), g.positive(5), name="bn"))


@case(("affine", "bn", APPLIED))
def batch_norm_after_concat(g):
    x = g.input(1, 3, 6, 6)
    g.output(g.batch_norm(g.op("Concat", g.conv(x, 3, 5), g.conv(x, 3, 4), axis=1), 9, name="bn"))


@case(("affine", "bn", "after_concat"))
def batch_norm_after_concat_with_an_input(g):
    """before_concat.py has the rest."""
    x = g.input(1, 3, 6, 6)
    g.output(g.batch_norm(g.op("Concat", x, g.conv(x, 3, 4, pads=[1, 1, 1, 1]), axis=1), 7, name="bn"))


@case(("affine", "bn", "no_producer"))
def batch_norm_of_an_input(g):
    g.output(g.conv(g.batch_norm(g.input(1, 3, 6, 6), 3, name="bn"), 3, 5, pads=[1, 1, 1, 1]))


@case(("affine", "bn", "no_linear_producer"))
def batch_norm_after_a_pool(g):
    g.output(g.batch_norm(g.op("MaxPool", g.input(1, 3, 6, 6), kernel_shape=[2, 2]), 3, name="bn"))


@case(("affine", "bn", "act_between"))
def batch_norm_after_an_activation(g):
    g.output(g.batch_norm(g.op("Relu", g.conv(g.input(1, 3, 6, 6), 3, 5)), 5, name="bn"))


@case(("affine", "bn", "residual_between"))
def batch_norm_after_an_addition(g):
    g.output(g.batch_norm(g.op("Add", g.conv(g.input(1, 3, 6, 6), 3, 5, pads=[1] * 4), g.input(1, 5, 6, 6)), 5, name="bn"))


@case(("affine", "bn", APPLIED), steps=dict(conv=3, pointwise=0))
def batch_norm_after_a_sum_of_layers(g):
    """All take the scale, one the shift."""
    x, y, z = (g.conv(g.input(1, 3, 6, 6), 3, 5, bias=True) for _ in range(3))
    g.output(g.op("Relu", g.batch_norm(g.op("Add", z, g.op("Add", x, y)), 5, name="bn")))


@case(("affine", "bn", "residual_between"), steps=dict(conv=2))
def batch_norm_after_a_sum_of_a_layer_that_others_read(g):
    x, y = (g.conv(g.input(1, 3, 6, 6), 3, 5) for _ in range(2))
    g.output(g.batch_norm(g.op("Add", x, y), 5, name="bn"), g.op("Relu", x))


@case(("affine", "bn", "residual_between"))
def batch_norm_after_a_sum_that_others_read(g):
    x, y = (g.conv(g.input(1, 3, 6, 6), 3, 5) for _ in range(2))
    total = g.op("Add", x, y)
    g.output(g.batch_norm(total, 5, name="bn"), g.op("Sigmoid", total))


# ---- branch: convolutions of one value that are added; branches.py has the rest ----

@case(("branch", "add", "windows_differ"), steps=dict(conv=2))
def row_and_column_added(g):
    x = g.input(1, 3, 6, 6)
    row, column = g.conv(x, 3, 5, (1, 3), pads=[0, 1, 0, 1]), g.conv(x, 3, 5, (3, 1), pads=[1, 0, 1, 0])
    g.output(g.op("Add", row, column, name="add"))


@case(("affine", "mul", "broadcast"))
def scale_of_a_higher_rank(g):
    g.output(g.op("Mul", g.op("Gemm", g.input(2, 6), g.weight(6, 5)), g.weight(1, 1, 1), name="mul"))


# ---- epilogue ----

@case(("epilogue", "add", APPLIED), ("epilogue", "relu", APPLIED))
def residual_and_activation(g):
    x = g.input(1, 5, 6, 6)
    g.output(g.op("Relu", g.op("Add", x, g.conv(x, 5, 5, pads=[1, 1, 1, 1]), name="add"), name="relu"))


@case(("epilogue", "second", "epilogue_full"))
def two_activations(g):
    y = g.op("Relu", g.conv(g.input(1, 3, 6, 6), 3, 5))
    g.output(g.op("Clip", y, g.scalar(0.1), g.scalar(0.4), name="second"))


@case(("epilogue", "second", "epilogue_full"))
def two_additions(g):
    x = g.input(1, 5, 6, 6)
    y = g.op("Add", g.conv(x, 5, 5, pads=[1, 1, 1, 1]), x)
    g.output(g.op("Add", y, g.op("Abs", x), name="second"))


@case(("epilogue", "add", "epilogue_full"))
def addition_after_an_activation(g):
    x = g.input(1, 5, 6, 6)
    g.output(g.op("Add", g.op("Relu", g.conv(x, 5, 5, (1, 1))), x, name="add"))


@case(("epilogue", "add", "broadcast"))
def addition_that_widens(g):
    y = g.conv(g.input(1, 3, 6, 6), 3, 5)
    g.output(g.op("Add", y, g.op("GlobalAveragePool", y), name="add"))


@case(("epilogue", "exp", "not_an_epilogue"))
def exponential(g):
    g.output(g.op("Exp", g.conv(g.input(1, 3, 6, 6), 3, 5), name="exp"))


@case(("affine", "add", APPLIED), ("epilogue", "relu", APPLIED), steps=dict(pointwise=0, slice=0))
def activation_behind_moves(g):
    """A convolution along one axis, with its bias behind a squeeze, all of it sliced on the way."""
    y = g.conv(g.input(2, 3, 40, 1), 3, 5, (4, 1))
    y = g.op("Slice", y, g.ints(0, 0), g.ints(2**31 - 1, 2**31 - 1), g.ints(0, 2))
    y = g.op("Add", g.op("Squeeze", y, g.ints(3)), g.weight(1, 5, 1), name="add")
    g.output(g.op("Relu", g.op("Transpose", y, perm=[0, 2, 1]), name="relu"))


@case(("epilogue", "relu", "no_linear_producer"))
def activation_of_a_move_read_twice(g):
    y = g.op("Squeeze", g.conv(g.input(1, 3, 40, 1), 3, 5, (4, 1)), g.ints(3))
    g.output(g.op("Relu", y, name="relu"), g.op("Abs", y))


@case(("epilogue", "relu", "no_linear_producer"))
def activation_of_a_pool(g):
    g.output(g.op("Relu", g.op("MaxPool", g.input(1, 3, 6, 6), kernel_shape=[2, 2]), name="relu"))


@case(("epilogue", "relu", "two_consumers"))
def activation_of_a_value_read_twice(g):
    y = g.conv(g.input(1, 3, 6, 6), 3, 5)
    g.output(g.op("Relu", y, name="relu"), g.op("MaxPool", y, kernel_shape=[2, 2]))


# ---- merge: linear layers of one value ----

def linears(g, x, *names):
    return [g.op("MatMul", x, g.weight(6, 5), name=name) for name in names]


@case(("merge", "a", APPLIED), ("merge", "b", APPLIED), ("merge", "c+relu", "epilogue_differs"))
def linears_of_one_value(g):
    a, b, c = linears(g, g.input(4, 6), "a", "b", "c")
    g.output(g.op("Add", g.op("Mul", a, b), g.op("Neg", g.op("Relu", c, name="relu"))))


@case(("merge", "a", "far_apart"), ("merge", "b", "far_apart"))
def linears_around_a_softmax(g):
    x = g.input(4, 6)
    y = g.op("Softmax", g.op("Neg", *linears(g, x, "a")))
    g.output(g.op("Mul", y, *linears(g, x, "b")))


@case(("merge", "a", "gaps_slower"), ("merge", "b", "gaps_slower"))
def linears_read_element_by_element(g):
    x = g.input(4, 6)
    g.output(g.op("Mul", g.op("MatMul", x, g.weight(6, 16), name="a"), g.op("MatMul", x, g.weight(6, 16), name="b")))


@case(("merge", "a", "port"), ("merge", "b", "no_partner"))
def linears_of_which_one_is_an_output(g):
    a, b = linears(g, g.input(4, 6), "a", "b")
    g.output(a, g.op("Neg", b))


# ---- pad ----

@case(("pad", "pad", APPLIED))
def zero_padding(g):
    x = g.op("Pad", g.input(1, 3, 6, 6), g.ints(0, 0, 1, 0, 0, 0, 0, 2), name="pad")
    g.output(g.conv(x, 3, 5), g.conv(x, 3, 5, pads=[1, 1, 1, 1]))


@case(("pad", "pad", "nonzero_padding"))
def padding_of_ones(g):
    x = g.op("Pad", g.input(1, 3, 6, 6), g.ints(0, 0, 1, 0, 0, 0, 0, 2), g.scalar(1.0), name="pad")
    g.output(g.conv(x, 3, 5))


@case(("pad", "pad", "pads_channels"))
def padding_of_channels(g):
    x = g.op("Pad", g.input(1, 3, 6, 6), g.ints(0, 1, 1, 0, 0, 0, 0, 0), name="pad")
    g.output(g.conv(x, 4, 5))


@case(("pad", "pad", "padding_too_wide"))
def padding_beyond_a_halo(g):
    x = g.op("Pad", g.input(1, 1, 2, 2), g.ints(0, 0, 0, 1000, 0, 0, 0, 0), name="pad")
    g.output(g.conv(x, 1, 2, (1, 1), pads=[0, 30, 0, 0]))


@case(("pad", "pad", "not_a_window"))
def padding_read_by_a_pool(g):
    x = g.op("Pad", g.op("Neg", g.input(1, 3, 6, 6)), g.ints(0, 0, 1, 1, 0, 0, 1, 1), name="pad")
    g.output(g.op("MaxPool", x, kernel_shape=[3, 3]), g.conv(x, 3, 4))


@case(("pad", "pad", "port"))
def padding_is_an_output(g):
    x = g.op("Pad", g.input(1, 3, 6, 6), g.ints(0, 0, 1, 1, 0, 0, 1, 1), name="pad")
    g.output(x, g.conv(x, 3, 4))


# ---- flatten ----

@case(("flatten", "flat", APPLIED))
def flatten_before_a_linear(g):
    g.output(g.op("Gemm", g.op("Flatten", g.conv(g.input(2, 3, 6, 6), 3, 5), name="flat"), g.weight(80, 7)))


@case(("flatten", "flat", "shared_weight"))
def flatten_before_a_shared_weight(g):
    w = g.weight(80, 7)
    y = g.op("Flatten", g.conv(g.input(2, 3, 6, 6), 3, 5), name="flat")
    g.output(g.op("Gemm", y, w), g.op("Gemm", g.input(3, 80), w))


@case(("flatten", "flat", "not_adjacent"))
def flatten_before_a_softmax(g):
    g.output(g.op("Softmax", g.op("Flatten", g.conv(g.input(2, 3, 6, 6), 3, 5), name="flat")))


@case(("flatten", "flat", "port"))
def flatten_is_an_output(g):
    y = g.op("Flatten", g.conv(g.input(2, 3, 6, 6), 3, 5), name="flat")
    g.output(y, g.op("Gemm", y, g.weight(80, 7)))


# ---- pointwise and activations ----

@case(("pointwise", "exp+neg", APPLIED))
def chain_of_two(g):
    g.output(g.op("Neg", g.op("Exp", g.input(3, 5), name="exp"), name="neg"))


@case(("pointwise", "exp+neg", "two_consumers"))
def chain_with_a_second_reader(g):
    y = g.op("Exp", g.input(3, 5), name="exp")
    g.output(g.op("Neg", y, name="neg"), g.op("ReduceMax", y, axes=[1]))


@case(("pointwise", "exp+add", "broadcast"))
def chain_that_widens(g):
    g.output(g.op("Add", g.op("Exp", g.input(5), name="exp"), g.input(3, 5), name="add"))


@case(("pointwise", "left+right", "program_full"))
def chain_of_nine_inputs(g):
    left = g.op("Sum", *[g.input(3, 5) for _ in range(5)], name="left")
    g.output(g.op("Sum", left, *[g.input(3, 5) for _ in range(4)], name="right"))


def spelled_hard_swish(g, x):
    y = g.op("Clip", g.op("Add", x, g.scalar(3.0), name="add"), g.scalar(0.0), g.scalar(6.0), name="clip")
    return g.op("Mul", x, g.op("Div", y, g.scalar(6.0), name="div"), name="mul")


@case(("activation", "add+clip+div+mul", APPLIED))
def hard_swish(g):
    g.output(spelled_hard_swish(g, g.conv(g.input(1, 3, 6, 6), 3, 5)))


@case(("epilogue", "times", APPLIED), ("epilogue", "plus", APPLIED))
def scale_and_shift_after_hard_swish(g):
    x = spelled_hard_swish(g, g.conv(g.input(1, 3, 6, 6), 3, 5))
    g.output(g.op("Add", g.op("Mul", x, g.scalar(1.25), name="times"), g.scalar(-0.5), name="plus"))


@case(("epilogue", "times", "two_consumers"))
def scale_of_a_value_read_twice(g):
    x = spelled_hard_swish(g, g.conv(g.input(1, 3, 6, 6), 3, 5))
    g.output(g.op("Mul", x, g.scalar(1.25), name="times"), g.op("Exp", x))


# ---- winograd: the algorithm of a convolution ----

@case(("winograd", "conv", APPLIED), ("winograd", "down", "no_tiles"), ("winograd", "few", "winograd_slower"))
def three_by_three(g):
    """The budget is half of all weights: a large linear layer makes room."""
    x = g.conv(g.input(1, 64, 30, 30), 64, 64, bias=True, pads=[1, 1, 1, 1], name="conv", scale=0.05)
    y = g.conv(g.op("Neg", x), 64, 4, strides=[2, 2], name="down", scale=0.05)
    g.output(g.conv(y, 4, 3, name="few", scale=0.05), g.op("Gemm", g.input(1, 700), g.weight(700, 700, scale=0.05)))


@case(("winograd", "wide+Relu1", APPLIED), ("winograd", "apart+HardSwish4", APPLIED), steps=dict(winograd=2), opset=14,
      sizes=[{"h": 31, "w": 50}, {"h": 6, "w": 3}, {"h": 60, "w": 7}], flags=["--dim", "h=5..160", "--dim", "w=3..160"])
def three_by_three_with_dilations(g):
    x = g.conv(g.input(1, 64, "h", "w"), 64, 64, bias=True, pads=[3, 3, 3, 3], dilations=[3, 3], name="wide", scale=0.05)
    y = g.conv(g.op("Relu", x), 64, 64, bias=True, pads=[5, 2, 3, 2], dilations=[4, 2], name="apart", scale=0.05)
    g.output(g.op("Gemm", g.input(1, 900), g.weight(900, 900, scale=0.05)), g.op("HardSwish", y))


@case(*[("winograd", name, APPLIED) for name in ("square+Relu1", "row", "column+Tanh4", "even", "pairs+Add7")], ("winograd", "far", "no_tiles"),
      ("winograd", "grouped", "no_tiles"), steps=dict(winograd=5), flags=["--dim", "h=4..160", "--dim", "w=7..180", "--speed"],
      sizes=[{"h": 31, "w": 50}, {"h": 4, "w": 7}, {"h": 17, "w": 20}])
def other_kernels(g):
    """5x5, and rows and columns of 3 to 5 taps, which may lie apart and of which there may be an even number."""
    def conv(x, name, high, wide, **attributes):
        return g.op("Conv", x, g.weight(128, 128, high, wide, scale=0.03), g.weight(128), name=name, **attributes)
    x = g.op("Relu", conv(g.input(1, 128, "h", "w"), "square", 5, 5, pads=[2, 2, 2, 2]))
    y = conv(x, "row", 1, 3, pads=[0, 2, 0, 2], dilations=[1, 2])
    y = g.op("Tanh", conv(y, "column", 5, 1, pads=[2, 0, 2, 0]))
    z = g.op("Add", conv(y, "even", 1, 4, pads=[0, 1, 0, 2]), conv(y, "pairs", 4, 1, pads=[2, 0, 1, 0]))
    far = conv(x, "far", 1, 7, pads=[0, 3, 0, 3])
    apart = g.op("Conv", x, g.weight(128, 64, 3, 3, scale=0.03), name="grouped", group=2)
    g.output(z, far, apart, g.op("Gemm", g.input(1, 900), g.weight(900, 900, scale=0.05)))


@case(("winograd", "sixteen+HardSwish1", APPLIED), ("winograd", "more+Sigmoid3+Mul4", APPLIED), ("winograd", "eight", "winograd_slower"),
      ("winograd", "row", "winograd_slower"), steps=dict(winograd=2), opset=14, flags=["--dim", "w=90..400", "--speed"],
      sizes=[{"w": 150}, {"w": 90}, {"w": 400}])
def few_channels_in_tiles(g):
    """Activations go over many tiles of a line at once."""
    x = g.op("HardSwish", g.conv(g.input(1, 16, 30, "w"), 16, 16, bias=True, pads=[1, 1, 1, 1], name="sixteen", scale=0.1))
    y = g.conv(x, 16, 24, pads=[1, 1, 1, 1], name="more", scale=0.1)
    y = g.op("Mul", y, g.op("Sigmoid", y))
    row = g.op("Conv", y, g.weight(24, 24, 1, 3, scale=0.1), name="row", pads=[0, 1, 0, 1])
    g.output(row, g.conv(g.conv(x, 16, 8, name="one", scale=0.1), 8, 8, name="eight", scale=0.1))


@case(*[("winograd", name, APPLIED) for name in ("first+Relu1", "second+Relu3", "third")], steps=dict(winograd=3),
      flags=["--dim", "t=20..80000", "--speed"], sizes=[{"t": 500}, {"t": 20}, {"t": 38}])
def signals_in_tiles(g):
    """1-d convolutions, dilated and causal."""
    x = g.input(2, 128, "t")
    for name, taps, pads, dilation in (("first", 3, [1, 1], 1), ("second", 5, [16, 0], 4), ("third", 4, [3, 0], 1)):
        x = g.conv(x, 128, 96 if name == "third" else 128, (taps,), bias=True, pads=pads, dilations=[dilation], name=name, scale=0.03)
        x = g.op("Relu", x) if name != "third" else x
    g.output(x, g.op("Gemm", g.input(1, 700), g.weight(700, 700, scale=0.05)))


@case(("winograd", "first", APPLIED), ("winograd", "second", APPLIED), ("winograd", "third", "file_budget"))
def more_growth_than_the_budget(g):
    """The first two save as much, and there is room for both by F(2,3) and for one, the first in the graph's order, by
    F(4,3); the third saves less per byte."""
    x = g.conv(g.input(1, 64, 32, 32), 64, 64, pads=[1, 1, 1, 1], name="first", scale=0.05)
    y = g.conv(g.op("Neg", x), 64, 64, pads=[1, 1, 1, 1], name="second", scale=0.05)
    y = g.conv(g.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]), 64, 256, pads=[1, 1, 1, 1], name="third",
               scale=0.05)
    g.output(y, g.op("Gemm", g.input(1, 300), g.weight(300, 300, scale=0.05)))


@case(("columns", "small+Relu1", APPLIED), ("columns", "down", APPLIED), ("columns", "line+HardSwish4", APPLIED), opset=14,
      sizes=[{"h": 7, "w": 7}, {"h": 1, "w": 6}, {"h": 5, "w": 1}, {"h": 8, "w": 2}], flags=["--dim", "h=1..14", "--dim", "w=1..8"])
def kernels_column_by_column(g):
    """As in the last stages of ResNets and of Inception; sizes at which nothing is left out."""
    x = g.op("Relu", g.conv(g.input(1, 32, "h", "w"), 32, 48, bias=True, pads=[1, 1, 1, 1], name="small", scale=0.05))
    y = g.conv(x, 48, 40, pads=[1, 1, 1, 1], strides=[2, 2], name="down", scale=0.05)
    w = g.weight(40, 48, 1, 7, scale=0.05)
    g.output(y, g.op("HardSwish", g.op("Conv", x, w, g.weight(40), name="line", pads=[0, 3, 0, 3], kernel_shape=[1, 7])))


@case(*[("winograd", f"step{i}+Tanh{2 * i + 1}", APPLIED) for i in range(5)], ("winograd", "small", "winograd_slower"), steps=dict(winograd=5))
def a_weight_of_several_layers(g):
    """Steps of a recurrence share their transformed kernels, which the budget has room for once, not five times; a layer
    that gains nothing stays direct."""
    shared = g.weight(64, 64, 3, 3, scale=0.05)
    x = g.input(1, 64, 32, 32)
    for i in range(5):
        x = g.op("Tanh", g.conv(x, 64, 64, pads=[1, 1, 1, 1], weight=shared, name=f"step{i}"))
    small = g.conv(g.op("MaxPool", x, kernel_shape=[11, 11], strides=[11, 11]), 64, 64, pads=[1, 1, 1, 1], weight=shared, name="small")
    g.output(x, small, g.op("Gemm", g.input(1, 400), g.weight(400, 400, scale=0.05)))


@case(("winograd", "first+Tanh1", APPLIED), ("winograd", "second", APPLIED), ("affine", "bn", "shared_weight"))
def a_weight_of_two_layers_one_with_a_norm(g):
    shared = g.weight(64, 64, 3, 3, scale=0.05)
    x = g.op("Tanh", g.conv(g.input(1, 64, 32, 32), 64, 64, pads=[1, 1, 1, 1], weight=shared, name="first"))
    y = g.batch_norm(g.conv(x, 64, 64, pads=[1, 1, 1, 1], weight=shared, name="second"), 64, name="bn")
    g.output(y, g.op("Gemm", g.input(1, 400), g.weight(400, 400, scale=0.05)))


# ---- bands: large values between convolutions that nobody else reads ----

@case(("band", "expand", APPLIED))
def expand_depthwise_project(g):
    x = g.conv(g.input(1, 8, 60, 60), 8, 48, (1, 1), name="expand")
    x = g.conv(x, 48, 48, groups=48, pads=[1, 1, 1, 1], strides=[2, 2], name="depthwise")
    g.output(g.conv(x, 48, 8, (1, 1), name="project"))


@case(("band", "expand", "two_consumers"), ("band", "wide", "weights_too_large"), ("band", "twice", "two_consumers"))
def values_that_must_exist(g):
    x = g.conv(g.input(1, 8, 60, 60), 8, 48, (1, 1), name="expand")
    y = g.conv(x, 48, 48, groups=48, pads=[1, 1, 1, 1], name="wide", scale=0.1)
    y = g.conv(y, 48, 1500, (1, 1), strides=[2, 2], name="twice", scale=0.1)
    z = g.conv(y, 1500, 4, (1, 1), name="project", scale=0.02)
    g.output(z, x, g.op("ReduceMean", y, axes=[2, 3]))


@case(("band", "up", APPLIED), ("concat", "join[0]", APPLIED))
def upsampled_and_joined(g):
    """A resized map and a copied one become slices of what the convolution reads."""
    small, skip = g.input(1, 16, 24, 24), g.input(1, 40, 48, 48)
    up = g.op("Resize", small, "", g.constant(np.float32([1, 1, 2, 2])), mode="nearest", name="up")
    g.output(g.conv(g.op("Concat", up, skip, axis=1, name="join"), 56, 8, (5, 5), pads=[2, 2, 2, 2], name="mix"))


@case(("band", "wide", APPLIED))
def pooled(g):
    x = g.conv(g.input(1, 3, 64, 64), 3, 24, pads=[1, 1, 1, 1], name="wide")
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], name="pool")
    g.output(x, g.op("GlobalAveragePool", x))


@case(("band", "scaled", APPLIED))
def read_later(g):
    """The product is computed just before the convolution, not before the layers between, and with it in bands."""
    x, y = g.conv(g.input(1, 3, 48, 48), 3, 32, name="first"), g.input(30, 40)
    scaled = g.op("Mul", x, g.op("GlobalAveragePool", x), name="scaled")
    for _ in range(3):
        y = g.op("Relu", g.op("Gemm", y, g.weight(40, 40, scale=0.1)))
    g.output(y, g.conv(scaled, 32, 8, pads=[1, 1, 1, 1], name="second"))


# ---- mean: the mean over what a 1x1 convolution gives ----

def excited(g, y):
    return g.op("Mul", y, g.op("Sigmoid", g.op("GlobalAveragePool", y, name="pool")))


@case(("mean", "pool", APPLIED))
def mean_of_a_layer(g):
    g.output(excited(g, g.batch_norm(g.conv(g.input(2, 6, 31, 20), 6, 20, (1, 1), bias=True), 20)))


@case(("mean", "pool", APPLIED), sizes=[{"h": 31, "w": 50}, {"h": 6, "w": 3}], flags=["--dim", "h=5..64", "--dim", "w=3..64"])
def mean_of_a_layer_of_groups(g):
    g.output(excited(g, g.conv(g.input(1, 6, "h", "w"), 6, 20, (1, 1), groups=2)))


@case(("mean", "mean", APPLIED))
def mean_that_alone_reads_a_layer(g):
    y = g.conv(g.input(1, 20, 9, 8), 20, 6, (1, 1), bias=True)
    g.output(g.op("ReduceMean", y, axes=[2, 3], keepdims=0, name="mean"))


@case(("mean", "pool", "more_channels"))
def mean_of_fewer_channels(g):
    g.output(excited(g, g.conv(g.input(1, 20, 9, 8), 20, 6, (1, 1))))


@case(("mean", "pool", "act_between"))
def mean_of_an_activation(g):
    g.output(excited(g, g.op("Relu", g.conv(g.input(1, 6, 9, 8), 6, 20, (1, 1)))))


@case(("mean", "pool", "residual_between"))
def mean_of_a_sum(g):
    x = g.input(1, 20, 9, 8)
    g.output(excited(g, g.op("Add", x, g.conv(x, 20, 20, (1, 1)))))


# ---- activations and normalisations spelled in several nodes ----

def gelu(g, x, name):
    erf = g.op("Erf", g.op("Div", x, g.scalar(2 ** 0.5)))
    return g.op("Mul", g.op("Mul", x, g.op("Add", erf, g.scalar(1))), g.scalar(0.5), name=name)


@case(("epilogue", "gelu", APPLIED))
def gelu_with_erf(g):
    g.output(gelu(g, g.op("MatMul", g.input(2, 5), g.weight(5, 7)), "gelu"))


@case(("activation", "gelu", APPLIED))
def gelu_with_tanh(g):
    x = g.input(2, 37)
    cube = g.op("Mul", g.scalar(0.044715), g.op("Pow", x, g.scalar(3)))
    inner = g.op("Mul", g.scalar((2 / np.pi) ** 0.5), g.op("Add", x, cube))
    g.output(g.op("Mul", g.op("Mul", g.scalar(0.5), x), g.op("Add", g.op("Tanh", inner), g.scalar(1)), name="gelu"))


@case(("activation", "mish", APPLIED))
def mish(g):
    x = g.input(2, 37)
    g.output(g.op("Mul", x, g.op("Tanh", g.op("Softplus", x)), name="mish"))


@case(("activation", "gate", APPLIED))
def hard_sigmoid(g):
    x = g.input(2, 37)
    clip = g.op("Clip", g.op("Add", x, g.scalar(3)), g.scalar(0), g.scalar(6))
    g.output(g.op("Mul", g.op("Div", clip, g.scalar(6), name="gate"), g.op("Neg", x)))


@case(("activation", "erf", "not_an_activation"))
def error_function(g):
    g.output(g.op("Neg", g.op("Sqrt", g.op("Abs", g.op("Erf", g.input(2, 5), name="erf")))))


@case(("activation", "erf", "two_consumers"))
def gelu_whose_inside_is_an_output(g):
    x = g.input(2, 5)
    erf = g.op("Erf", g.op("Div", x, g.scalar(2 ** 0.5)), name="erf")
    g.output(g.op("Mul", g.op("Mul", x, g.op("Add", erf, g.scalar(1))), g.scalar(0.5)), erf)


def layer_norm(g, x, axis, *parameters, root="Div", square="Pow"):
    d = g.op("Sub", x, g.op("ReduceMean", x, axes=[axis]))
    squares = g.op("Pow", d, g.scalar(2)) if square == "Pow" else g.op("Mul", d, d)
    deviation = g.op("Sqrt", g.op("Add", g.op("ReduceMean", squares, axes=[axis]), g.scalar(1e-5)))
    y = g.op("Div", d, deviation, name="norm") if root == "Div" else \
        g.op("Mul", g.op("Reciprocal", deviation), d, name="norm")
    for op, parameter in zip(("Mul", "Add"), parameters):
        y = g.op(op, y, parameter)
    return y


@case(("norm", "norm", APPLIED))
def layer_norm_in_nodes(g):
    g.output(layer_norm(g, g.input(2, 5, 19), -1, g.weight(19), g.weight(19)))


@case(("norm", "norm", APPLIED))
def layer_norm_without_parameters(g):
    g.output(layer_norm(g, g.input(3, 19), -1, root="Mul", square="Mul"))


@case(("norm", "norm", APPLIED))
def layer_norm_over_channels(g):
    x = g.conv(g.input(2, 3, 6, 6), 3, 19)
    g.output(g.conv(layer_norm(g, x, 1, g.weight(19, 1, 1), g.weight(1, 19, 1, 1)), 19, 5, (1, 1)))


@case(("norm", "norm", "axis_mismatch"))
def layer_norm_over_rows(g):
    g.output(layer_norm(g, g.input(2, 5, 19), 1))


@case(("norm", "norm", APPLIED))
def layer_norm_whose_mean_is_an_output(g):
    x = g.input(2, 19)
    mean = g.op("ReduceMean", x, axes=[-1])
    d = g.op("Sub", x, mean)
    variance = g.op("ReduceMean", g.op("Mul", d, d), axes=[-1])
    g.output(g.op("Div", d, g.op("Sqrt", g.op("Add", variance, g.scalar(1e-3))), name="norm"), mean)


@case(("norm", "norm", APPLIED))
def rms_norm_in_nodes(g):
    x = g.input(2, 5, 19)
    mean = g.op("ReduceMean", g.op("Pow", x, g.scalar(2)), axes=[-1])
    inverse = g.op("Div", g.scalar(1), g.op("Sqrt", g.op("Add", mean, g.scalar(1e-6))))
    g.output(g.op("Mul", g.weight(19), g.op("Mul", x, inverse, name="norm")))


def group_norm(g, x, scale, shape):
    rows = g.op("Reshape", x, g.ints(0, 4, -1))
    rows = g.op("InstanceNormalization", rows, scale, g.constant(np.zeros(4, np.float32)), name="norm")
    return g.op("Reshape", rows, g.ints(*shape))


@case(("norm", "norm", APPLIED), ("epilogue", "act", APPLIED))
def group_norm_as_instance_norm(g):
    x = g.conv(g.input(2, 3, 6, 6), 3, 12, pads=[1, 1, 1, 1])
    y = group_norm(g, x, g.constant(np.ones(4, np.float32)), (2, 12, 6, 6))
    y = g.op("Add", g.op("Mul", y, g.weight(12, 1, 1)), g.weight(12, 1, 1))
    g.output(g.conv(g.op("Mul", y, g.op("Sigmoid", y), name="act"), 12, 5))


@case(("norm", "norm", APPLIED), steps=dict(copy=0, group_norm=1))
def group_norm_between_padded_convs(g):
    """It writes between the borders that the next convolution pads with."""
    x = g.conv(g.input(1, 3, 6, 6), 3, 12, pads=[1, 1, 1, 1])
    y = group_norm(g, x, g.constant(np.ones(4, np.float32)), (1, 12, 6, 6))
    g.output(g.op("GlobalMaxPool", g.conv(y, 12, 5, pads=[1, 2, 1, 2])))


@case(("norm", "norm", APPLIED), ("epilogue", "act", APPLIED), steps=dict(copy=0, transpose=2, group_norm=1, pointwise=0))
def group_norm_of_a_signal(g):
    """As ConvTasNet and Encodec have it, between convolutions; the transposes are those of the input and the output."""
    x = g.conv(g.input(2, 3, 300), 3, 8, (3,), pads=[1, 1])
    y = group_norm(g, x, g.constant(np.ones(4, np.float32)), (2, 8, 300))
    y = g.op("Add", g.op("Mul", y, g.weight(8, 1)), g.weight(8, 1))
    g.output(g.conv(g.op("Mul", y, g.op("Sigmoid", y), name="act"), 8, 5, (3,), dilations=[2]))


@case(("norm", "norm", APPLIED), steps=dict(group_norm=1))
def group_norm_of_a_volume(g):
    x = g.conv(g.input(1, 3, 4, 6, 6), 3, 12, (3, 3, 3), pads=[1] * 6)
    y = group_norm(g, x, g.constant(np.ones(4, np.float32)), (1, 12, 4, 6, 6))
    g.output(g.op("Relu", g.op("Add", g.op("Mul", y, g.weight(12, 1, 1, 1)), g.weight(12, 1, 1, 1))))


@case(("norm", "norm", APPLIED), steps=dict(group_norm=0, layer_norm=1))
def instance_norm_of_one_channel(g):
    g.output(g.op("InstanceNormalization", g.input(2, 1, 5, 700), g.positive(1), g.weight(1), name="norm"))


@case(("norm", "norm", APPLIED), steps=dict(group_norm=0, layer_norm=1, pointwise=0))
def group_norm_of_one_group_alone(g):
    """Nothing goes back to the channels, so nothing tells how many there were."""
    rows = g.op("Reshape", g.input(2, 6, 50), g.ints(0, 1, -1))
    g.output(g.op("InstanceNormalization", rows, g.constant(np.ones(1, np.float32)), g.constant(np.zeros(1, np.float32)), name="norm"))


@case(("norm", "norm", "mixed_inputs"))
def group_norm_of_unequal_scales(g):
    g.output(group_norm(g, g.input(2, 12, 3, 3), g.weight(4), (2, 12, 3, 3)))


@case(("norm", "norm", "shape_mismatch"))
def group_norm_turned_into_rows(g):
    g.output(group_norm(g, g.input(2, 12, 3, 3), g.constant(np.ones(4, np.float32)), (2, 9, 12)))


# ---- crop ----

def cropped(g, y, starts, ends, axes=(2, 3)):
    """y without its border, by a node of the name "crop"."""
    return g.op("Slice", y, g.ints(*starts), g.ints(*ends), g.ints(*axes), name="crop")


@case(("crop", "crop", APPLIED), ("epilogue", "relu", APPLIED), steps=dict(conv=1, slice=0, pointwise=0, copy=0))
def crop_of_a_causal_convolution(g):
    """As temporal convolutional networks have it: padded on both sides, the end cut off."""
    x = g.input(2, 4, 30)
    y = g.op("Conv", x, g.weight(6, 4, 3), g.weight(6), dilations=[4], pads=[8, 8], kernel_shape=[3])
    g.output(g.op("Relu", cropped(g, y, [0], [-8], [2]), name="relu"))


@case(("crop", "crop", APPLIED), sizes=[{"t": 9}, {"t": 40}], flags=["--dim", "t=9..40"], steps=dict(slice=0))
def crop_of_a_signal_whose_length_varies(g):
    x = g.input(1, 4, "t")
    y = g.op("Conv", x, g.weight(6, 4, 3), g.weight(6), dilations=[4], pads=[8, 8], kernel_shape=[3])
    g.output(cropped(g, y, [0], [-8], [2]))


@case(("crop", "crop", APPLIED), steps=dict(conv=1, slice=0))
def crop_of_all_sides(g):
    y = g.conv(g.input(2, 4, 9, 11), 4, 5, (5, 5), bias=True, pads=[2, 3, 1, 4], strides=[1, 2])
    g.output(cropped(g, y, [1, 1], [7, 6]))


@case(("crop", "crop", APPLIED), steps=dict(conv_transpose=1, slice=0))
def crop_of_a_transposed_convolution(g):
    """Kernel rows and columns that touch nothing any more, too."""
    y = g.op("ConvTranspose", g.input(2, 4, 5, 6), g.weight(4, 3, 4, 4), g.weight(3), strides=[2, 2], pads=[1, 0, 0, 1])
    g.output(cropped(g, y, [3, 1], [10, 8]))


@case(("slice", "crop", "not_adjacent"), steps=dict(conv=1))
def crop_beyond_the_padding(g):
    y = g.conv(g.input(1, 4, 9, 9), 4, 5, bias=True, pads=[1, 1, 1, 1])
    g.output(cropped(g, y, [0, 0], [8, 7]))


@case(("slice", "crop", "not_adjacent"), steps=dict(conv=1))
def crop_of_what_others_read(g):
    y = g.conv(g.input(1, 4, 9, 9), 4, 5, bias=True, pads=[1, 1, 1, 1])
    g.output(cropped(g, y, [1, 1], [8, 8]))
    g.output(g.op("Relu", y))


@case(("slice", "crop", "not_adjacent"), steps=dict(conv=1))
def crop_of_channels(g):
    y = g.conv(g.input(1, 4, 9, 9), 4, 5, bias=True, pads=[1, 1, 1, 1])
    g.output(cropped(g, y, [1, 1], [4, 8], [1, 2]))


# ---- taps ----

def dilated(g, x, channels, window, group=1, **attributes):
    """A convolution of the node name "conv"."""
    w = g.weight(8 * group, channels // group, *window, scale=0.3)
    return g.op("Conv", x, w, g.weight(8 * group), name="conv", group=group, kernel_shape=list(window), **attributes)


@case(("taps", "conv", APPLIED))
def taps_dilated_beyond_the_image(g):
    """As in DeepLab's pyramid: 3x3 with dilation 12 at 9x12 becomes 1x1."""
    g.output(dilated(g, g.input(2, 5, 9, 12), 5, (3, 3), dilations=[12, 12], pads=[12, 12, 12, 12]))


@case(("taps", "conv", APPLIED))
def taps_dilated_beyond_the_height(g):
    g.output(dilated(g, g.input(1, 5, 7, 20), 5, (3, 3), dilations=[8, 8], pads=[8, 8, 8, 8]))


@case(("taps", "conv", APPLIED))
def taps_on_a_line(g):
    """Uneven padding, a stride: 1x3 of 5x3."""
    g.output(dilated(g, g.input(1, 4, 1, 9), 4, (5, 3), pads=[1, 1, 3, 0], strides=[1, 2]))


@case(("taps", "conv", APPLIED))
def taps_of_a_depthwise_kernel(g):
    """7x7 at 2x3: 3x5."""
    x = g.input(1, 6, 2, 3)
    w = g.weight(6, 1, 7, 7, scale=0.3)
    g.output(g.op("Conv", x, w, name="conv", group=6, pads=[3, 3, 3, 3], kernel_shape=[7, 7]))


@case(("taps", "conv", APPLIED))
def taps_of_a_signal(g):
    g.output(g.op("Conv", g.input(1, 4, 6), g.weight(5, 4, 3), name="conv", dilations=[7], pads=[7, 7], kernel_shape=[3]))


@case(("taps", "conv", APPLIED), sizes=[{"h": 1, "w": 3}, {"h": 6, "w": 20}], flags=["--dim", "h=1..6", "--dim", "w=3..20"])
def taps_of_sizes_that_vary(g):
    """Never more than 6 rows: the first and the last row of taps go, at 20 columns none does."""
    g.output(dilated(g, g.input(1, 4, "h", "w"), 4, (3, 3), dilations=[6, 6], pads=[6, 6, 6, 6]))


def check_taps(tap, bench):
    """The kernels that are left: (image, kernel, attributes, what the ledger says, nothing where every tap reads pixels
    somewhere or padding would become negative)."""
    for image, kernel, attributes, left in [
            ((9, 12), (3, 3), dict(dilations=[12, 12], pads=[12] * 4), "a 1x1 kernel"),
            ((7, 20), (3, 3), dict(dilations=[8, 8], pads=[8] * 4), "a 1x3 kernel"),
            ((1, 9), (5, 3), dict(pads=[1, 1, 3, 0], strides=[1, 2]), "a 1x3 kernel"),
            ((2, 3), (7, 7), dict(pads=[3] * 4), "a 3x5 kernel"),
            ((1, 1), (3, 3), dict(pads=[1] * 4, strides=[2, 2]), "a 1x1 kernel"),
            ((9, 12), (3, 3), dict(dilations=[8, 11], pads=[8, 11, 8, 11]), None),
            ((3, 3), (2, 2), dict(dilations=[5, 4], pads=[3, 2, 3, 2]), None),
            ((2, 2), (3, 3), dict(pads=[1] * 4), None)]:
        graph = Graph()
        graph.output(dilated(graph, graph.input(1, 5, *image), 5, kernel, **attributes))
        why = bench.right(graph)
        said = [row["text"] for row in bench.ledger() if row["pass"] == "taps"]
        tap.ok(f"{image} by {kernel}, {attributes}: {left or 'as it is'}", why is None and len(said) == bool(left)
               and all(text.startswith(left) for text in said), why, *said)


def check_columns(tap, bench):
    """Which convolutions are taken column by column, and what the ledger says of these."""
    for image, kernel, channels, attributes, left_out in [
            ((7, 7), (3, 3), 32, dict(pads=[1] * 4), "9.5 %"),
            ((14, 14), (3, 3), 64, dict(pads=[1] * 4, strides=[2, 2]), "4.8 %"),
            ((9, 17), (1, 7), 128, dict(pads=[0, 3, 0, 3]), "10.1 %"),
            ((9, 8), (3, 4), 32, dict(pads=[1, 0, 1, 3]), "18.8 %"),
            ((7, 7), (3, 3), 4, dict(pads=[1] * 4), None),
            ((7, 7), (3, 3), 33, dict(pads=[1] * 4), None),
            ((7, 7), (3, 3), 32, dict(pads=[1] * 4, dilations=[1, 2]), None),
            ((7, 7), (3, 3), 32, dict(pads=[1, 0, 1, 0]), None),
            ((1, 7), (1, 3), 32, dict(pads=[0, 1, 0, 1]), None),
            ((7, "w"), (3, 3), 32, dict(pads=[1] * 4), None),
            ((30, 60), (3, 5), 32, dict(pads=[1, 2, 1, 2]), None)]:
        graph = Graph()
        x, w = graph.input(1, channels, *image), graph.weight(20, channels, *kernel, scale=0.1)
        graph.output(graph.op("Conv", x, w, name="conv", kernel_shape=list(kernel), **attributes))
        flags, sizes = (["--dim", "w=1..90", "--golden", "2"], [{"w": 7}, {"w": 90}]) if "w" in image else ([], ())
        why = bench.right(graph, *flags, sizes=sizes)
        said = [row["text"] for row in bench.ledger() if row["pass"] == "columns"]
        tap.ok(f"{channels} channels of {image} by {kernel}, {attributes}: {left_out or 'rows whole'}", why is None and
               [text.split(" of")[0] for text in said] == [left_out] * bool(left_out), why, *said)


# ---- focus ----

def parts(g, x, order, block=2, at_once=True):
    """Every block-th row and column of x, from the corners of `order`, along the channels."""
    most = 2 ** 31 - 1
    made = []
    for row, column in order:
        if at_once:
            made.append(g.op("Slice", x, g.ints(row, column), g.ints(most, most), g.ints(2, 3), g.ints(block, block)))
        else:
            rows = g.op("Slice", x, g.ints(row), g.ints(most), g.ints(2), g.ints(block))
            made.append(g.op("Slice", rows, g.ints(column), g.ints(most), g.ints(3), g.ints(block)))
    return g.op("Concat", *made, axis=1, name="parts")


CORNERS = [(0, 0), (1, 0), (0, 1), (1, 1)]


@case(("focus", "parts", APPLIED), steps=dict(slice=0, copy=0, conv=1))
def focus_of_yolo(g):
    """The corners in its order, rows and columns one after the other; uneven padding."""
    x = parts(g, g.input(2, 3, 14, 22), CORNERS, at_once=False)
    g.output(g.op("Conv", x, g.weight(20, 12, 3, 3, scale=0.2), g.weight(20), pads=[1, 0, 1, 2], kernel_shape=[3, 3]))


@case(("focus", "parts", APPLIED), steps=dict(slice=0))
def focus_in_another_order_with_strides(g):
    x = parts(g, g.input(1, 1, 18, 12), [(1, 1), (0, 1), (0, 0), (1, 0)])
    g.output(g.op("Conv", x, g.weight(5, 4, 2, 3, scale=0.2), strides=[2, 1], kernel_shape=[2, 3]))


@case(("focus", "parts", APPLIED), steps=dict(slice=0))
def focus_of_every_third(g):
    x = parts(g, g.input(1, 4, 12, 9), [(i, j) for j in range(3) for i in (2, 0, 1)], block=3)
    g.output(g.op("Conv", x, g.weight(7, 36, 3, 3, scale=0.1), pads=[1, 1, 1, 1], kernel_shape=[3, 3]))


@case(("focus", "parts", APPLIED), steps=dict(slice=0), sizes=[{"h": 8, "w": 12}, {"h": 16, "w": 4}], flags=["--dim", "h=4..16:4", "--dim", "w=4..16:4"])
def focus_of_sizes_that_vary(g):
    x = parts(g, g.input(1, 3, "h", "w"), CORNERS)
    g.output(g.op("Conv", x, g.weight(16, 12, 3, 3, scale=0.2), pads=[1, 1, 1, 1], kernel_shape=[3, 3]))


@case(("focus", "parts", "winograd_faster"))
def focus_of_many_channels(g):
    x = parts(g, g.input(1, 8, 12, 12), CORNERS)
    g.output(g.op("Conv", x, g.weight(16, 32, 3, 3, scale=0.1), pads=[1, 1, 1, 1], kernel_shape=[3, 3]))


@case(("focus", "parts", "two_consumers"))
def focus_read_twice(g):
    x = parts(g, g.input(1, 3, 8, 8), CORNERS)
    g.output(g.op("Conv", x, g.weight(4, 12, 1, 1), kernel_shape=[1, 1]), g.op("Abs", x))


@case(("focus", "parts", "grouped"))
def focus_of_a_grouped_convolution(g):
    x = parts(g, g.input(1, 3, 8, 8), CORNERS)
    g.output(g.op("Conv", x, g.weight(8, 3, 3, 3), group=4, kernel_shape=[3, 3]))


@case(("focus", "parts", "dilated"))
def focus_of_a_dilated_convolution(g):
    x = parts(g, g.input(1, 3, 16, 16), CORNERS)
    g.output(g.op("Conv", x, g.weight(8, 12, 3, 3, scale=0.2), dilations=[2, 2], kernel_shape=[3, 3]))


@case(steps=dict(slice=4))
def parts_that_are_no_focus(g):
    """A corner twice, another not at all."""
    x = parts(g, g.input(1, 3, 8, 8), [(0, 0), (1, 0), (0, 1), (0, 0)])
    g.output(g.op("Conv", x, g.weight(8, 12, 3, 3, scale=0.2), kernel_shape=[3, 3]))


# ---- upsampled images (upsample.py has more of them) ----

@case(("upsample", "same", APPLIED), ("upsample", "valid", "padding_not_1"), steps=dict(upsampled_conv=1))
def upsampled_and_convolved(g):
    x = g.op("Resize", g.input(1, 8, 5, 6), "", g.constant(np.float32([1, 1, 2, 2])), mode="nearest",
             coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    g.output(g.conv(x, 8, 8, pads=[1, 1, 1, 1], name="same"), g.conv(x, 8, 8, name="valid"))


# ---- one-hot ----

def one_hot(g, depth, index=None):
    index = index or g.input(2, 7, name="index", dtype=onnx.TensorProto.INT32)
    hot = g.op("Equal", g.op("Unsqueeze", index, g.ints(2)), g.constant(np.arange(depth, dtype=np.int32).reshape(1, 1, depth)))
    return g.op("Cast", hot, to=onnx.TensorProto.FLOAT)


@case(("one_hot", "look+add", APPLIED), ("affine", "add", APPLIED), steps=dict(linear=0, compare=0, cast=0, gather=1))
def one_hot_rows_through_a_linear_layer(g):
    """Of the indices, some are below the rows and some behind them."""
    index = g.op("Sub", g.op("Mul", g.input(2, 7, name="index", dtype=onnx.TensorProto.INT32),
                             g.constant(np.int32(3))), g.constant(np.int32(4)))
    y = g.op("MatMul", one_hot(g, 9, index), g.weight(9, 5), name="look")
    g.output(g.op("Relu", g.op("Add", y, g.weight(5), name="add")))


@case(steps=dict(gather=0, linear=1))
def one_hot_rows_read_twice(g):
    hot = one_hot(g, 9)
    g.output(g.op("MatMul", hot, g.weight(9, 5)), g.op("Abs", hot))


# ---- integers: layers of quantised models (integer_layers.py has more of them) ----

def quantised(g, x, scale=2.0 ** -5, zero=120):
    to = g.scalar(scale), g.constant(np.uint8(zero))
    return g.op("DequantizeLinear", g.op("QuantizeLinear", x, *to), *to)


def whole_weight(g, *dims, scale=2.0 ** -9, zero=0):
    numbers = g.constant(g.random.integers(max(-127, zero - 127), 128, dims).astype(np.int8))
    return g.op("DequantizeLinear", numbers, g.scalar(scale), g.constant(np.int8(zero)))


def whole_conv(g, x, c, m, name="layer", **attributes):
    return g.op("Conv", x, whole_weight(g, m, c, 3, 3), name=name, **attributes)


@case(("integer", "layer", APPLIED), ("requantise", "layer+QuantizeLinear4", APPLIED), ("requantise", "last", "no_bytes_behind"),
      ("byte_scale", "layer+QuantizeLinear4", APPLIED),
      steps=dict(conv=2, pointwise=1))
def layers_on_integers(g):
    x = quantised(g, whole_conv(g, quantised(g, g.input(1, 8, 6, 6)), 8, 8))
    g.output(whole_conv(g, x, 8, 5, name="last", pads=[1, 1, 1, 1]))


@case(("requantise", "layer+Sigmoid4+Mul5", APPLIED), ("byte_scale", "layer+Sigmoid4+Mul5+QuantizeLinear6", "scaled_behind"),
      ("integer", "last", APPLIED), steps=dict(conv=2, pointwise=1))
def activation_before_rounding(g):
    y = whole_conv(g, quantised(g, g.input(1, 8, 6, 6)), 8, 8)
    g.output(whole_conv(g, quantised(g, g.op("Mul", y, g.op("Sigmoid", y))), 8, 5, name="last"))


@case(("integer", "depth", APPLIED), ("requantise", "depth+QuantizeLinear4", APPLIED), ("integer", "last", APPLIED), steps=dict(depthwise=1, conv=1))
def depthwise_on_integers(g):
    y = g.op("Conv", quantised(g, g.input(1, 8, 6, 6)), whole_weight(g, 8, 1, 3, 3), group=8, name="depth")
    g.output(whole_conv(g, quantised(g, y), 8, 5, name="last"))


@case(("byte_sum", "DequantizeLinear1+DequantizeLinear5+add+Relu7+QuantizeLinear8", APPLIED), ("integer", "last", APPLIED), steps=dict(conv=2, pointwise=1))
def residual_sum_of_bytes(g):
    x = quantised(g, g.input(1, 8, 6, 6))
    y = quantised(g, whole_conv(g, x, 8, 8, pads=[1, 1, 1, 1]), 2.0 ** -4)
    g.output(whole_conv(g, quantised(g, g.op("Relu", g.op("Add", x, y, name="add")), 2.0 ** -4), 8, 5, name="last"))


@case(("byte_concat", "QuantizeLinear5", APPLIED), ("integer", "layer", APPLIED), steps=dict(conv=1))
def concatenation_that_is_quantised(g):
    a, b = (quantised(g, g.input(1, 4, 6, 6)) for _ in range(2))
    g.output(whole_conv(g, quantised(g, g.op("Concat", a, b, axis=1)), 8, 5))


@case(("byte_table", "DequantizeLinear5+Sigmoid6+QuantizeLinear7+DequantizeLinear8+DequantizeLinear5+Mul9+QuantizeLinear10+"
       "QuantizeLinear12+DequantizeLinear13+DequantizeLinear11+Add14+QuantizeLinear15", "byte_table"), ("integer", "last", APPLIED),
      steps=dict(conv=2, pointwise=3))
def table_before_a_sum(g):
    y = quantised(g, whole_conv(g, quantised(g, g.input(1, 8, 6, 6)), 8, 8, pads=[1, 1, 1, 1]))
    y = quantised(g, g.op("Mul", y, quantised(g, g.op("Sigmoid", y))))
    g.output(whole_conv(g, quantised(g, g.op("Add", y, quantised(g, g.input(1, 8, 6, 6)))), 8, 5, name="last"))


@case(("byte_sum", "DequantizeLinear5+QuantizeLinear7", APPLIED), ("integer", "last", APPLIED), steps=dict(conv=2, pointwise=1, transpose=3))
def bytes_that_are_moved(g):
    y = quantised(g, whole_conv(g, quantised(g, g.input(1, 8, 6, 7)), 8, 8))
    y = quantised(g, g.op("Transpose", y, perm=[0, 1, 3, 2]))
    g.output(whole_conv(g, y, 8, 5, name="last"))


@case(("integer", "layer", "not_quantised"))
def layer_of_floats_and_integers(g):
    g.output(whole_conv(g, g.input(1, 8, 6, 6), 8, 5))


@case(("integer", "layer", "no_byte_kernel"))
def layer_of_groups_of_two(g):
    x, w = quantised(g, g.input(1, 8, 6, 6)), whole_weight(g, 8, 2, 3, 3)
    g.output(g.op("Conv", x, w, group=4, name="layer"))


@case(("integer", "layer", "zero_moves"))
def layer_that_pads_with_what_a_run_computes(g):
    q, scale, zero = g.op("DynamicQuantizeLinear", g.input(1, 8, 6, 6), outputs=3)
    w = g.constant(g.random.integers(-60, 61, (5, 8, 3, 3)).astype(np.int8))
    y = g.op("ConvInteger", q, w, zero, name="layer", pads=[1, 1, 1, 1])
    g.output(g.op("Mul", g.op("Cast", y, to=1), scale))


@case(("integer", "layer", "few_products"))
def layer_of_three_products(g):
    g.output(g.op("MatMul", quantised(g, g.input(4, 3)), whole_weight(g, 3, 5), name="layer"))


@case(("integer", "layer", "weight_differs"))
def layer_of_wide_weights(g):
    """From -37 to 217, in groups."""
    w = whole_weight(g, 64, 32, 3, 3, zero=-90)
    g.output(g.op("Conv", quantised(g, g.input(1, 64, 6, 6)), w, group=2, name="layer"))


@case(("integer", "layer", "weight_in_blocks"), opset=21)
def layer_of_bytes_times_weights_in_blocks(g):
    w = g.constant(g.random.integers(-127, 128, (8, 5)).astype(np.int8))
    scales = g.constant(np.float32(2.0 ** -g.random.integers(6, 9, (2, 5))))
    w = g.op("DequantizeLinear", w, scales, axis=0, block_size=4)
    g.output(g.op("MatMul", quantised(g, g.input(4, 8)), w, name="layer"))


def four_bits(g, k, n, block=16, axis=0, values=None, scales=None):
    """A weight [k][n] of numbers of 4 bits in blocks along an axis."""
    g.ir_version, name = 10, f"four{len(g.constants)}"
    values = g.random.integers(-8, 8, (k, n)) if values is None else values
    g.constants.append(onnx.helper.make_tensor(name, onnx.TensorProto.INT4, (k, n), values.flatten().tolist()))
    dims = (-(-k // block), n) if axis == 0 else (k, -(-n // block))
    scales = g.random.uniform(0.01, 0.1, dims) if scales is None else scales
    return g.op("DequantizeLinear", name, g.constant(scales.astype(np.float32)), axis=axis, block_size=block)


@case(("blocks", "layer", APPLIED), steps=dict(linear_blocks=1, linear=0), opset=21)
def layer_of_4_bits(g):
    g.output(g.op("MatMul", g.input(4, 48), four_bits(g, 48, 5), name="layer"))


@case(("blocks", "layer", "block_size"), steps=dict(linear=1), opset=21)
def layer_of_4_bits_in_blocks_of_24(g):
    g.output(g.op("MatMul", g.input(4, 48), four_bits(g, 48, 5, block=24), name="layer"))


@case(("blocks", "layer", "blocks_of_outputs"), steps=dict(linear=1), opset=21)
def layer_of_4_bits_with_a_scale_of_several_outputs(g):
    g.output(g.op("MatMul", g.input(4, 5), four_bits(g, 5, 48, axis=1), name="layer"))


@case(("blocks", "layer", "scattered_blocks"), steps=dict(linear=1), opset=21)
def layer_of_4_bits_whose_blocks_are_scattered(g):
    g.domains = ("com.microsoft",)
    w, scales = g.random.integers(0, 256, (5, 3, 8)).astype(np.uint8), g.random.uniform(0.01, 0.1, 15).astype(np.float32)
    g.output(g.op("MatMulNBits", g.input(4, 48), g.constant(w), g.constant(scales), "", g.constant((np.arange(48) % 3).astype(np.int32)),
                  name="layer", domain="com.microsoft", K=48, N=5, bits=4, block_size=16))


@case(("blocks", "layer", "floating_numbers"), steps=dict(linear=1), opset=21)
def layer_of_floats_of_4_bits(g):
    g.domains = ("com.microsoft",)
    w, scales = g.random.integers(0, 256, 5 * 24).astype(np.uint8), g.random.uniform(0.01, 0.1, 15).astype(np.float32)
    g.output(g.op("MatMulBnb4", g.input(4, 48), g.constant(w), g.constant(scales), name="layer", domain="com.microsoft", K=48, N=5,
                  block_size=16, quant_type=1))


@case(("blocks", "layer", "zero_points"), steps=dict(linear=1), opset=21)
def layer_of_4_bits_about_a_fraction(g):
    g.domains = ("com.microsoft",)
    w, scales = g.random.integers(0, 256, (5, 3, 8)).astype(np.uint8), g.random.uniform(0.01, 0.1, 15).astype(np.float32)
    g.output(g.op("MatMulNBits", g.input(4, 48), g.constant(w), g.constant(scales), g.constant(np.full(15, 7.5, np.float32)), name="layer",
                  domain="com.microsoft", K=48, N=5, bits=4, block_size=16))


@case(("blocks", "layer+behind", "scale_too_large"), steps=dict(linear=1), opset=21)
def layer_of_4_bits_with_a_large_scale_of_zeros(g):
    values, scales = g.random.integers(-8, 8, (48, 5)), g.random.uniform(1e-9, 1e-8, (3, 5))
    values[:16, 0], scales[0, 0] = 0, 1e30
    y = g.op("MatMul", g.input(4, 48), four_bits(g, 48, 5, values=values, scales=scales), name="layer")
    g.output(g.op("Mul", y, g.scalar(1e9), name="behind"))


@case(("lossless", "layer", "more_bits"), ("lossless", "held", APPLIED), steps=dict(linear=2))
def weights_that_16_bits_hold_and_do_not_hold(g):
    y = g.op("MatMul", g.input(4, 48), g.weight(48, 20), name="layer")
    g.output(g.op("MatMul", g.op("Sin", y), g.constant(np.full((20, 7), 0.5, np.float32)), name="held"))


@case(("lossless", "layer", "many_rows"), flags=("--speed",))
def many_rows_of_a_weight_that_16_bits_hold(g):
    g.output(g.op("MatMul", g.input(16, 48), g.constant(np.full((48, 7), 0.5, np.float32)), name="layer"))


@case(("merge", "four", "blocks_differ"), ("merge", "floats", "blocks_differ"), steps=dict(linear=1, linear_blocks=1), opset=21)
def layers_of_4_bits_and_of_floats(g):
    x = g.input(4, 48)
    g.output(g.op("Neg", g.op("MatMul", x, four_bits(g, 48, 5), name="four")), g.op("Neg", g.op("MatMul", x, g.weight(48, 6), name="floats")))


@case(("integer", "layer", "keeps_blocks"), ("blocks", "layer", APPLIED), steps=dict(linear_blocks=1), opset=21)
def layer_of_4_bits_on_bytes(g):
    g.output(g.op("MatMul", quantised(g, g.input(4, 48)), four_bits(g, 48, 5), name="layer"))


def eight_bits(g, k, n):
    """A weight [k][n] of numbers of 8 bits with a scale for each column."""
    return g.op("DequantizeLinear", g.constant(g.random.integers(-128, 128, (k, n)).astype(np.int8)), g.positive(n), axis=1)


@case(("integer", "layer", "not_quantised"), ("blocks", "layer", APPLIED), steps=dict(linear_blocks=1, linear=0))
def layer_of_8_bits_on_floats(g):
    g.output(g.op("MatMul", g.input(4, 48), eight_bits(g, 48, 5), name="layer"))


@case(("integer", "layer", "few_outputs"), ("blocks", "layer", "quantised_input"), steps=dict(linear=1))
def layer_of_8_bits_on_bytes(g):
    x = quantised(g, g.input(4, 48))
    g.output(x, g.op("MatMul", x, eight_bits(g, 48, 3), name="layer"))


@case(("merge", "four", "blocks_differ"), ("merge", "eight", "blocks_differ"), steps=dict(linear_blocks=2), opset=21)
def layers_of_4_and_of_8_bits(g):
    x = g.input(4, 48)
    g.output(*(g.op("Neg", g.op("MatMul", x, w, name=name)) for name, w in (("four", four_bits(g, 48, 5, 48)), ("eight", eight_bits(g, 48, 6)))))


@case(("flatten", "flat", "keeps_blocks"), ("blocks", "layer", APPLIED), steps=dict(linear_blocks=1), opset=21)
def layer_of_4_bits_of_a_flattened_image(g):
    y = g.op("Flatten", g.conv(g.input(1, 3, 6, 6), 3, 8), name="flat")
    g.output(g.op("MatMul", y, four_bits(g, 128, 5), name="layer"))


@case(("integer", "layer", "sums_cost_more"))
def small_layer_of_wide_weights(g):
    g.output(g.op("MatMul", quantised(g, g.input(4, 8)), whole_weight(g, 8, 5, zero=-90), name="layer"))


@case(("integer", "layer", "few_outputs"))
def layer_of_four_outputs(g):
    g.output(g.op("MatMul", quantised(g, g.input(4, 8)), whole_weight(g, 8, 4), name="layer"))


@case(("byte_products", "product", APPLIED), steps=dict(matmul=1, pointwise=2))
def product_of_two_quantised(g):
    g.output(g.op("MatMul", quantised(g, g.input(4, 8)), quantised(g, g.input(8, 5)), name="product"))


@case(("byte_products", "product", "operands_differ"))
def product_of_one_quantised(g):
    g.output(g.op("MatMul", quantised(g, g.input(4, 8)), g.input(8, 5), name="product"))


@case(("byte_products", "product", "many_products"))
def product_of_too_many(g):
    g.output(g.op("MatMul", quantised(g, g.input(1, 33026)), quantised(g, g.input(33026, 2)), name="product"))


@case(("integer", "one", APPLIED), ("integer", "two", "padded_otherwise"), steps=dict(conv=2))
def layers_that_pad_with_two_numbers(g):
    q = g.op("QuantizeLinear", g.input(1, 8, 6, 6), g.scalar(2.0 ** -5), g.constant(np.uint8(120)))
    for name, zero in ("one", 120), ("two", 60):
        x = g.op("DequantizeLinear", q, g.scalar(2.0 ** -5), g.constant(np.uint8(zero)))
        g.output(whole_conv(g, x, 8, 5, name=name, pads=[1, 1, 1, 1]))


# ---- attention ----

def heads(g, x, *shape, perm=(0, 2, 1, 3)):
    return g.op("Transpose", g.op("Reshape", x, g.ints(*shape)), perm=list(perm))


def projections(g, x, width):
    return [g.op("Add", g.op("MatMul", x, g.weight(width, width, scale=0.2)), g.weight(width)) for _ in range(3)]


@case(("attention", "probabilities", APPLIED))
def attention_of_an_encoder(g):
    """Both operands scaled, a mask per key, heads split and joined, as exported from an encoder."""
    x = g.input(2, 7, 24)
    q, k, v = projections(g, x, 24)
    root = g.scalar(6 ** -0.25)
    q = g.op("Mul", heads(g, q, 2, 7, 4, 6), root)
    k = g.op("Mul", heads(g, k, 2, 7, 4, 6, perm=(0, 2, 3, 1)), root)
    scores = g.op("Add", g.op("MatMul", q, k), g.input(2, 1, 1, 7))
    y = g.op("MatMul", g.op("Softmax", scores, axis=-1, name="probabilities"), heads(g, v, 2, 7, 4, 6))
    y = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(2, 7, 24))
    g.output(g.op("MatMul", y, g.weight(24, 24)))


@case(("attention", "probabilities", APPLIED))
def attention_with_scaled_scores(g):
    """Scores divided, keys turned from what is no transpose, the mask on the left."""
    q, k, v = g.input(3, 7, 6), g.input(3, 6, 9), g.input(3, 9, 5)
    scores = g.op("Add", g.weight(7, 9), g.op("Div", g.op("MatMul", q, k), g.scalar(2.5)))
    g.output(g.op("MatMul", g.op("Softmax", scores, axis=-1, name="probabilities"), v))


@case(("attention", "probabilities", "two_consumers"))
def attention_whose_probabilities_are_an_output(g):
    q, k, v = g.input(3, 7, 6), g.input(3, 6, 9), g.input(3, 9, 5)
    p = g.op("Softmax", g.op("MatMul", q, k), axis=-1, name="probabilities")
    g.output(g.op("MatMul", p, v), p)


@case(("attention", "probabilities", "two_consumers"))
def attention_whose_scores_are_an_output(g):
    q, k, v = g.input(3, 7, 6), g.input(3, 6, 9), g.input(3, 9, 5)
    scores = g.op("MatMul", q, k)
    g.output(g.op("MatMul", g.op("Softmax", scores, axis=-1, name="probabilities"), v), scores)


@case(("attention", "probabilities", "axis_mismatch"))
def attention_over_queries(g):
    q, k, v = g.input(3, 7, 6), g.input(3, 6, 9), g.input(3, 9, 5)
    g.output(g.op("MatMul", g.op("Softmax", g.op("MatMul", q, k), axis=1, name="probabilities"), v))


@case(("attention", "probabilities", "finite_mask"))
def attention_with_a_chosen_number_and_a_mask(g):
    q, k, v, m = g.input(3, 7, 6), g.input(3, 6, 9), g.input(3, 9, 5), g.input(7, 9)
    scores = g.op("Where", g.op("Greater", m, g.scalar(-1)), g.op("Add", g.op("MatMul", q, k), m), g.scalar(-3e38))
    g.output(g.op("MatMul", g.op("Softmax", scores, axis=-1, name="probabilities"), v))


@case(("attention", "probabilities", "scores_changed"))
def attention_with_capped_scores(g):
    q, k, v = g.input(3, 7, 6), g.input(3, 6, 9), g.input(3, 9, 5)
    scores = g.op("Mul", g.op("Tanh", g.op("MatMul", q, k)), g.scalar(30))
    g.output(g.op("MatMul", g.op("Softmax", scores, axis=-1, name="probabilities"), v))


@case(("attention", "probabilities", "not_attention"))
def softmax_of_a_product(g):
    g.output(g.op("Neg", g.op("Softmax", g.op("MatMul", g.input(3, 7, 6), g.input(3, 6, 9)), name="probabilities")))


# ---- memory: concatenations, slices, reshapes, transposes ----

@case(("concat", "join[0]", APPLIED), ("concat", "join[1]", APPLIED))
def concat_of_convs(g):
    x = g.input(1, 3, 6, 6)
    g.output(g.op("Relu", g.op("Concat", g.conv(x, 3, 5), g.conv(x, 3, 4), axis=1, name="join")))


@case(("concat", "join[0]", "port"), ("concat", "join[1]", "port"), ("concat", "join[2]", "port"))
def concat_of_an_input_a_constant_and_an_output(g):
    x = g.input(1, 3, 6, 6)
    y = g.conv(x, 3, 3, pads=[1, 1, 1, 1])
    g.output(g.op("Concat", x, g.weight(1, 3, 6, 6), y, axis=1, name="join"), y)


@case(("concat", "join[0]", "two_consumers"), ("concat", "join[1]", APPLIED))
def concat_of_a_value_read_before(g):
    y = g.conv(g.input(1, 3, 6, 6), 3, 5, pads=[1, 1, 1, 1])
    g.output(g.op("Abs", g.op("Concat", y, g.conv(y, 5, 5, pads=[1, 1, 1, 1]), axis=1, name="join")))


@case(("concat", "join[0]", APPLIED), ("concat", "join[1]", APPLIED))
def concat_of_a_value_pooled_before(g):
    """As in a U-Net: the skip is read, as a slice, before the other part exists."""
    y = g.conv(g.input(1, 3, 6, 6), 3, 16, pads=[1, 1, 1, 1])
    small = g.op("MaxPool", y, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    part = g.conv(small, 16, 5, pads=[1, 1, 1, 1])
    z = g.conv(g.op("Concat", y, part, axis=1, name="join"), 21, 4, pads=[1, 1, 1, 1])
    g.output(z, g.conv(y, 16, 8, (1, 1)))


@case(("concat", "join[0]", APPLIED), ("concat", "join[1]", APPLIED), steps=dict(copy=0, resize=1))
def concat_of_a_resize(g):
    """As in a U-Net: the upsampled part is written into its slice, between the borders for padding."""
    y = g.conv(g.input(1, 3, 6, 6), 3, 16, pads=[1, 1, 1, 1])
    small = g.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    large = g.op("Resize", small, "", g.constant(np.float32([1, 1, 2, 2])), mode="nearest")
    z = g.conv(g.op("Concat", large, y, axis=1, name="join"), 32, 4, pads=[1, 1, 1, 1])
    g.output(g.op("GlobalMaxPool", z))


@case(("concat", "one[0]", "two_consumers"), ("concat", "two[1]", "two_consumers"))
def value_in_two_concats(g):
    x = g.input(1, 3, 6, 6)
    y, z = g.conv(x, 3, 4), g.conv(x, 3, 4)
    g.output(g.op("Abs", g.op("Concat", y, z, axis=1, name="one")),
             g.op("Abs", g.op("Concat", z, y, axis=1, name="two")))


@case(("concat", "join[1]", "layout_differs"))
def concat_of_two_axis_orders(g):
    x = g.input(1, 3, 6, 6)
    g.output(g.op("Relu", g.op("Concat", g.conv(x, 3, 5, (1, 1)), g.op("Neg", x), axis=1, name="join")))


@case(("concat", "join[0]", "not_adjacent"))
def concat_of_softmaxes(g):
    x = g.input(2, 5)
    g.output(g.op("Concat", g.op("Softmax", x), g.op("Softmax", g.op("Neg", x)), axis=1, name="join"))


@case(("slice", "cut", APPLIED))
def slice_of_channels(g):
    y = g.conv(g.input(1, 3, 6, 6), 3, 8)
    g.output(g.op("Relu", g.op("Slice", y, g.ints(2), g.ints(6), g.ints(1), name="cut")))


@case(("slice", "cut", "not_adjacent"))
def slice_with_a_step(g):
    y = g.conv(g.input(1, 3, 6, 6), 3, 8)
    g.output(g.op("Relu", g.op("Slice", y, g.ints(0), g.ints(8), g.ints(1), g.ints(2), name="cut")))


@case(("layout", "turn", APPLIED), ("layout", "shape", APPLIED))
def views(g):
    y = g.op("Transpose", g.conv(g.input(1, 3, 6, 6), 3, 8), perm=[0, 2, 3, 1], name="turn")
    g.output(g.op("MatMul", g.op("Reshape", y, g.ints(16, 8), name="shape"), g.weight(8, 3)))


@case(("layout", "conv", "port"))
def input_in_another_order(g):
    g.output(g.conv(g.input(1, 3, 6, 6), 3, 8, name="conv"))


@case(("layout", "linear", "not_adjacent"))
def rows_of_an_image(g):
    """The width is the innermost axis of the linear layer, the channels of the image before it."""
    g.output(g.op("MatMul", g.conv(g.input(1, 3, 6, 6), 3, 8), g.weight(4, 3), name="linear"))


@case(("constant", "turn", APPLIED))
def transposed_weight(g):
    g.output(g.op("MatMul", g.input(2, 5), g.op("Transpose", g.weight(4, 5), perm=[1, 0], name="turn")))


@case(("constant", "look", APPLIED), steps=dict(gather=1, integer=0, compare=0, where=0))
def known_places(g):
    """The same for all heads, as relative positions are: one look-up of every head's rows, nothing counted in a run."""
    places = np.broadcast_to(np.random.default_rng(0).integers(-7, 7, (1, 1, 6, 6)), (1, 3, 6, 6))
    g.output(g.op("GatherElements", g.input(1, 3, 6, 7), g.constant(places), axis=-1, name="look"))


# ---- the test ----

def check_growth(tap, bench):
    """--size lets no weight grow, --speed every one that makes its layer faster, the default up to half of all."""
    graph = Graph(opset=13)
    more_growth_than_the_budget(graph)
    sizes = {}
    for flag, reason in (("--size", "file_budget"), ("--speed", APPLIED)):
        why = bench.right(graph, flag, "--golden", "1")
        rows = [row["reason"] for row in bench.ledger() if row["pass"] == "winograd"]
        tap.ok(f"{flag}: right, and all convolutions are {reason or 'applied'}", not why and rows == [reason] * 3,
               why, rows)
        sizes[flag] = cli_json("inspect", bench.ipex)["file_bytes"]
    bench.convert(graph.model(), "--golden", "1")
    default = cli_json("inspect", bench.ipex)["file_bytes"]
    chosen = [str(row["text"])[:6] for row in bench.ledger() if row["pass"] == "winograd"]
    tap.ok("the default: large tiles, small tiles, none", chosen == ["F(4,3)", "F(2,3)", "the tr"], chosen)
    steps = cli_json("bench", bench.ipex, "--seconds", "0.01", "--profile")["steps"]
    spared = [round(36 * step["spared_flops"] / step["flops"]) for step in steps if step["op"] in ("winograd", "conv")]
    tap.ok("bench: what each does without, in 36ths (the third: 1/24 of its kernel's rows, and of its columns)",
           spared == [27, 20, 3], spared)
    grown = sizes["--size"] < default < min(sizes["--speed"], 1.5 * sizes["--size"])
    tap.ok("the default grows the file, to at most 1.5 times", grown, default, sizes)


def check_pictures(tap, bench):
    """What --image puts before a convolution and cannot fold into it; image.py looks at the numbers."""
    seen = set()
    for reason, attributes in (("grouped", {"groups": 3}), ("padding_is_not_mean", {"pads": [1, 1, 1, 1]})):
        graph = Graph()
        graph.output(graph.conv(graph.input(1, 3, 6, 6, name="x"), 3, 6, **attributes))
        done = bench.convert(graph.model(), "--image", "x=u8,mean=100,std=50", "--golden", "1")
        why = done.stderr if done.returncode else bench.verify()
        rows = [row["reason"] for row in bench.ledger() if row["pass"] == "image"]
        tap.ok(f"{reason} picture: right, and in the ledger", not why and rows == [reason], why, rows)
        seen |= set(rows)
    return seen


def exact_in_bf16(g, *dims):
    """A weight of few bits."""
    return g.constant((np.arange(np.prod(dims)) % 13 - 6).astype(np.float32).reshape(dims) / np.float32(8))


def nearest_bf16(values):
    """Of finite f32, as f32."""
    bits = values.view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)


def check_bf16(tap, bench):
    """bf16 weights that lose nothing give what f32 gives; --dtype bf16 gives the same bits at all levels."""
    def graph():
        g = Graph(opset=14)
        wide = g.op("Conv", g.input(1, 16, 12, 12), exact_in_bf16(g, 16, 16, 3, 3), pads=[1, 1, 1, 1], name="wide")
        deep = g.op("Conv", g.op("Abs", wide), exact_in_bf16(g, 16, 1, 3, 3), group=16, name="deep")
        odd = g.op("Conv", deep, exact_in_bf16(g, 7, 16, 1, 1), name="odd")
        last = g.op("Conv", odd, exact_in_bf16(g, 21, 7, 3, 3), pads=[2, 1, 0, 1], name="last")
        up = g.op("ConvTranspose", last, exact_in_bf16(g, 21, 5, 2, 3), strides=[2, 2], name="up")
        rows = g.op("MatMul", up, g.op("Transpose", up, perm=[0, 1, 3, 2]), name="rows")
        sequence, _, _ = g.op("LSTM", g.input(4, 1, 9), exact_in_bf16(g, 1, 24, 9), exact_in_bf16(g, 1, 24, 6), outputs=3,
                              hidden_size=6, name="sequence")
        g.output(up, rows, sequence)
        return g
    wanted = {
        "--weights": [("dtype", "wide", APPLIED), ("dtype", "deep", "no_bf16_kernel"), ("dtype", "last", APPLIED),
                      ("dtype", "up", APPLIED), ("dtype", "rows", "no_weight"), ("dtype", "sequence", APPLIED),
                      ("winograd", "wide", "bf16_weights")],
        "--dtype": [("dtype", "deep", "no_bf16_kernel"), ("dtype", "up", APPLIED), ("dtype", "rows", APPLIED),
                    ("dtype", "sequence", APPLIED)],
    }
    seen = set()
    for flags in (["--weights", "bf16"], ["--dtype", "bf16"]):
        name, g = " ".join(flags), graph()
        if flags[0] == "--weights":
            why = bench.right(g, *flags, "--golden", "1", bits=True)
        else:
            done = bench.convert(g.model(), *flags)
            why = done.stderr or bench.compare_bits(g.feeds())
        tap.ok(f"{name}: converts and runs, with the same bits at all levels", not why, why)
        rows = bench.ledger()
        seen |= {row["reason"] for row in rows}
        check_verdicts(tap, name, rows, wanted[flags[0]])
    checks = (check_bf16_bands, check_bf16_stored, check_bf16_heads, check_bf16_groups, check_bf16_columns, check_bf16_tiles, check_bf16_one_hot)
    return seen.union(*(check(tap, bench) for check in checks))


def check_bf16_heads(tap, bench):
    """Attention by heads of few channels stays in f32, where they have more it does not."""
    g = Graph(opset=14)
    for name, channels, values in (("small", 12, 8), ("wide", 16, 16), ("wide values", 8, 16)):
        q, k = (g.input(2, 3, 10, channels) for _ in range(2))
        dots = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
        g.output(g.op("MatMul", g.op("Softmax", dots, axis=-1), g.input(2, 3, 10, values), name=name))
    done = bench.convert(g.model(), "--dtype", "bf16")
    why = done.stderr or bench.compare_bits(g.feeds())
    tap.ok("heads on bf16: converts and runs, with the same bits at all levels", not why, why)
    rows = bench.ledger()
    wanted = [("dtype", "small", "small_heads"), ("dtype", "wide", APPLIED), ("dtype", "wide values", APPLIED)]
    check_verdicts(tap, "heads on bf16", rows, wanted)
    return {row["reason"] for row in rows}


def check_bf16_groups(tap, bench):
    """Convolutions by groups of up to 8 channels compute in f32, by weights in bf16; by others in bf16."""
    g = Graph(opset=13)
    texts = {"eight": "bf16 weights, f32 arithmetic", "odd": "bf16 weights, f32 arithmetic", "nine": "bf16 operands, summed in f32"}
    for name, channels, groups in (("eight", 8, 5), ("odd", 5, 3), ("nine", 9, 2)):
        width = channels * groups
        g.output(g.conv(g.input(1, width, 9, 11), width, width, groups=groups, pads=[1, 1, 1, 1], name=name, scale=0.1))
    done = bench.convert(g.model(), "--dtype", "bf16")
    why = done.stderr or bench.compare_bits(g.feeds())
    tap.ok("groups on bf16: converts and runs, with the same bits at all levels", not why, why)
    rows = bench.ledger()
    for name, text in texts.items():
        mine = [row for row in rows if fits(row, ("dtype", name, APPLIED))]
        tap.ok(f"groups on bf16: {name} has {text}", [row["text"] for row in mine] == [text], *rows)
    return {row["reason"] for row in rows}


def check_bf16_columns(tap, bench):
    """Convolutions to few columns stay in f32 where it has pixels in its lanes."""
    wanted = {"window": "few_columns", "one": "few_columns", "joined": "few_columns", "pixels": APPLIED, "more": APPLIED, "apart": APPLIED}
    for flags in (["--weights", "bf16"], ["--dtype", "bf16"]):
        g = Graph(opset=13)
        x = g.input(1, 16, 20, 24)
        g.output(g.conv(x, 16, 3, pads=[1, 1, 1, 1], name="window", scale=0.1), g.conv(x, 16, 1, (1, 1), name="one", scale=0.1),
                 g.op("ConvTranspose", x, g.weight(16, 2, 2, 2, scale=0.1), strides=[2, 2], name="joined"),
                 g.conv(x, 16, 3, (1, 1), name="pixels", scale=0.1), g.conv(x, 16, 5, pads=[1, 1, 1, 1], name="more", scale=0.1),
                 g.op("ConvTranspose", x, g.weight(16, 3, 2, 2, scale=0.1), strides=[2, 2], name="apart"))
        name, done = " ".join(flags), bench.convert(g.model(), *flags)
        why = done.stderr or bench.compare_bits(g.feeds())
        tap.ok(f"{name}, few columns: converts and runs, with the same bits at all levels", not why, why)
        rows = bench.ledger()
        check_verdicts(tap, f"{name}, few columns", rows, [("dtype", site, reason) for site, reason in wanted.items()])
    return {row["reason"] for row in rows}


def check_bf16_tiles(tap, bench):
    """Where products on bf16 are said not to be AMX's, tiles are in f32: as exact as it is."""
    seen = set()
    for flags, tiles, dtype in (([], "may_be_amx", APPLIED), (["--arithmetic", "bf16-amx"], "bf16_weights", APPLIED),
                                (["--arithmetic", "bf16-dp"], APPLIED, "tiles_in_f32")):
        g = Graph(opset=14)
        y = g.conv(g.input(1, 64, 60, 62), 64, 64, bias=True, pads=[1, 1, 1, 1], name="conv", scale=0.05)
        g.output(g.op("HardSwish", y, name="act"))
        name = " ".join(["--dtype bf16", *flags])
        if tiles == APPLIED:
            why = bench.right(g, "--dtype", "bf16", *flags, "--speed", "--golden", "1")
        else:
            done = bench.convert(g.model(), "--dtype", "bf16", *flags, "--speed")
            why = done.stderr or bench.compare_bits(g.feeds())
        tap.ok(f"{name}, tiles: converts and runs, with the same bits at all levels", not why, why)
        rows = bench.ledger()
        check_verdicts(tap, f"{name}, tiles", rows, [("winograd", "conv+act", tiles), ("dtype", "conv+act", dtype)])
        seen |= {row["reason"] for row in rows}
    return seen


def check_bf16_one_hot(tap, bench):
    """A look-up takes rows that are rounded as the weight would have been."""
    for flags in (["--weights", "bf16"], ["--dtype", "bf16"]):
        g = Graph(opset=14)
        weight, bias = np.random.default_rng(7).standard_normal((9, 5)).astype(np.float32), np.float32([0, 1, -2, 8, 0.1])
        y = g.op("MatMul", one_hot(g, 9), g.constant(weight), name="look")
        g.output(g.op("Add", y, g.constant(bias), name="add"))
        name, done = " ".join(flags), bench.convert(g.model(), *flags)
        index = np.arange(-2, 12, dtype=np.int32).reshape(2, 7)
        there = ((index >= 0) & (index < 9))[..., None]
        got = done.stderr or bench.run({"index": index})
        right = isinstance(got, dict) and all(
            np.array_equal(y, np.where(there, nearest_bf16(weight)[index.clip(0, 8)], 0) + bias) for y in got.values())
        tap.ok(f"{name}, one-hot: rows are those of the rounded weight", right, got)
        rows = bench.ledger()
        check_verdicts(tap, f"{name}, one-hot", rows, [("one_hot", "look+add", APPLIED)])
    return {row["reason"] for row in rows}


def check_bf16_bands(tap, bench):
    """Groups may have bf16 between convolutions, if it is not a cast that makes it, as of few channels."""
    seen = set()
    for channels, verdict in ((48, None), (24, "rounded_between")):
        g = Graph(opset=13)
        x = g.conv(g.input(1, 8, 60, 60), 8, channels, (1, 1), name="expand")
        y = g.conv(x, channels, channels, groups=channels, pads=[1, 1, 1, 1], name="wide", scale=0.1)
        g.output(g.conv(y, channels, 4, (1, 1), name="project", scale=0.1))
        done, name = bench.convert(g.model(), "--dtype", "bf16"), f"bands on bf16, {channels} channels"
        why = done.stderr or bench.compare_bits(g.feeds())
        tap.ok(f"{name}: converts and runs, with the same bits at all levels", not why, why)
        rows = bench.ledger()
        seen |= {row["reason"] for row in rows}
        check_verdicts(tap, name, rows, [("band", "expand", APPLIED)] + [("band", "wide", verdict)] * (verdict is not None))
        nodes = next(row["text"] for row in rows if (row["pass"], row["site"]) == ("band", "expand"))
        tap.ok(f"{name}: of {2 if verdict else 3} nodes", nodes.startswith("2" if verdict else "3"), nodes)
    return seen


def stored_rows(rows):
    """Sites whose results the ledger says are stored in bf16."""
    return {row["site"] for row in rows if row["pass"] == "dtype" and "stored in bf16" in row["text"]}


def check_bf16_stored(tap, bench):
    """Results that products alone read, or add, are stored in bf16, through what only moves them; others are not."""
    g = Graph(opset=13)
    x = g.input(1, 8, 40, 40)
    first = g.conv(x, 8, 64, (1, 1), name="first")
    a = g.op("Relu", g.conv(first, 64, 64, pads=[1, 1, 1, 1], name="a", scale=0.05))
    inner = g.conv(a, 64, 40, (1, 1), name="inner", scale=0.1)
    other = g.conv(a, 64, 32, (1, 1), name="other", scale=0.1)
    joined = g.op("Concat", inner, other, axis=1, name="join")
    b = g.op("Relu", g.op("Add", g.conv(joined, 72, 64, (1, 1), name="b", scale=0.1), first))
    read = g.conv(b, 64, 64, (1, 1), name="read by a function", scale=0.1)
    few = g.conv(b, 64, 16, (1, 1), name="few channels", scale=0.1)
    g.output(g.conv(few, 16, 8, (1, 1), name="last"))
    g.output(g.op("Abs", read))
    g.output(g.op("MatMul", g.op("Transpose", g.op("Reshape", g.conv(b, 64, 64, (1, 1), name="moved", scale=0.1),
                                                   g.ints(1, 64, 1600)), perm=[0, 2, 1]), g.weight(64, 24), name="linear"))
    done = bench.convert(g.model(), "--dtype", "bf16")
    why = done.stderr or bench.compare_bits(g.feeds())
    tap.ok("stored in bf16: converts and runs, with the same bits at all levels", not why, why)
    rows = bench.ledger()
    wanted = {"first", "inner", "other", "moved"}
    got = {site for site in stored_rows(rows)}
    names = {part for site in got for part in site.split("+")}
    tap.ok("stored in bf16: the results that products take", wanted <= names and "b" in names and "a" in names, got)
    tap.ok("stored in bf16: no others", not names & {"read by a function", "few channels", "last", "linear"}, got)
    steps = collections.Counter(step["op"] for step in cli_json("inspect", bench.ipex)["entries"][0]["nodes"])
    tap.ok("stored in bf16: casts of x and of few channels are left", steps["cast"] == 2, steps)
    feeds = g.feeds()
    got, expected = bench.run(feeds), expected_outputs(g.model(), feeds)
    off = max(float(np.abs(got[name] - y).max() / np.abs(y).max()) for name, y in expected.items())
    tap.ok("stored in bf16: within 2 % of f32", off < 0.02, off)
    return {row["reason"] for row in rows}


def check_why(tap, bench):
    """inspect --why: by pass and reason, with the reason's words and the names of all sites once."""
    g = Graph()
    x = g.input(1, 3, 6, 6)
    y = g.batch_norm(g.conv(x, 3, 8), 8, name="folded")
    names = [f"a_normalisation_with_a_long_name_{i}" for i in range(5)]
    for name in names:
        read_twice = g.conv(y, 8, 8)
        g.output(g.op("Add", g.batch_norm(read_twice, 8, name=name), g.op("Sigmoid", read_twice)))
    bench.convert(g.model())
    rows, text = bench.ledger(), command(CLI, "inspect", bench.ipex, "--why").stdout
    blocks = {block.split(":")[0]: block for block in text.split("\n\n")}
    for step in {row["pass"] for row in rows}:
        mine = [row for row in rows if row["pass"] == step]
        refused = collections.Counter(row["reason"] for row in mine if row["reason"])
        block = blocks.get(step, "")
        counts = f"{step}: applied to {sum(not r['reason'] for r in mine)}, not to {sum(refused.values())}\n"
        tap.ok(f"--why: {step}: applied and refused sites are counted", (block + "\n").startswith(counts), counts, text)
        missing = [row["site"] for row in mine if row["reason"] and row["site"] not in block]
        lines = [reason for reason, n in refused.items() if block.count(f"  {n} {reason}") != 1]
        tap.ok(f"--why: {step}: every reason once, every refused site named", not missing and not lines, missing, lines, text)
    folding = blocks.get("affine", "")
    tap.ok("--why: the words of a reason once, the folded site not at all", folding.count("must exist on its own") == 1
           and "folded" not in folding and all(folding.count(name) == 1 for name in names), text)
    tap.ok("--why: lines are not long", all(len(line) <= 130 for line in text.splitlines()[:-1]), text)
    text = command(CLI, "inspect", bench.ipex, "--why", "folded").stdout
    tap.ok("--why TEXT: what was done at a site", "applied  " in text and "folded" in text and names[0] not in text, text)


def reason_codes():
    text = (ROOT / "tools" / "convert" / "ledger.h").read_text()
    return set(re.findall(r"^ *X\((\w+),", text, re.MULTILINE))


def check_networks(tap):
    here, absent = networks()
    for network in here:
        norms = [n.name or n.output[0] for n in onnx.load(network.onnx).graph.node if n.op_type == "BatchNormalization"]
        if not norms:
            continue
        rows = [row for row in cli_json("inspect", network.ipex())["ledger"] if row["pass"] == "affine"]
        applied = collections.Counter(row["site"] for row in rows if row["verdict"] == "applied")
        missing = [name for name in norms if applied[name] != 1]
        tap.ok(f"{network.name}: {len(norms)} BatchNorms are applied sites", not missing, *missing)
    for name in absent:
        tap.skip(f"{name}: BatchNorms are applied sites", "its model is not here")


def main():
    tap = Tap()
    seen = set()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for each in CASES:
            seen |= {row["reason"] for row in check_case(tap, bench, each)}
        check_growth(tap, bench)
        check_taps(tap, bench)
        check_columns(tap, bench)
        seen |= check_pictures(tap, bench)
        seen |= check_bf16(tap, bench)
        check_why(tap, bench)
    codes = reason_codes()
    tap.ok("every reason code is shown by a graph here", codes and codes <= seen, *sorted(codes - seen))
    tap.ok("every reason in a ledger is a known code", seen - {""} <= codes, *sorted(seen - codes))
    check_networks(tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
