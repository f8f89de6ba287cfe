#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What follows a concatenation of layers goes into each of them: a BatchNorm or a scale and shift into the weights, an
activation into the epilogues, as MixNet has them. Each compared with ONNX Runtime; where it cannot, and why."""
import sys

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case

PADS = [1, 1, 1, 1]


def join(g, *parts, axis=1):
    return g.op("Concat", *parts, axis=axis, name="join")


def two_layers(g, height=6):
    x = g.input(1, 3, height, 6)
    return g.conv(x, 3, 5, bias=True), g.conv(x, 3, 4)


# ---- what goes into the layers ----

@case(("affine", "bn", APPLIED), ("epilogue", "relu", APPLIED), steps=dict(conv=2, pointwise=0))
def block_of_mixnet(g):
    """Halves of the channels through a layer each."""
    x = g.input(2, 6, 5, 7)
    halves = [g.op("Slice", x, g.ints(start), g.ints(start + 3), g.ints(1)) for start in (0, 3)]
    y = join(g, g.conv(halves[0], 3, 8, (1, 1)), g.conv(halves[1], 3, 5, (1, 1)))
    g.output(g.op("Relu", g.batch_norm(y, 13, name="bn"), name="relu"))


@case(("affine", "bn", APPLIED), ("epilogue", "clip", APPLIED), steps=dict(depthwise=2, conv=1, pointwise=0))
def kernels_of_several_sizes(g):
    x = g.input(1, 4, 8, 8)
    y = join(g, g.conv(x, 4, 4, groups=4, pads=PADS), g.conv(x, 4, 4, (5, 5), groups=4, pads=[2, 2, 2, 2]),
             g.conv(x, 4, 6, bias=True, groups=2, pads=PADS))
    g.output(g.op("Clip", g.batch_norm(y, 14, name="bn"), g.scalar(-0.5), g.scalar(0.75), name="clip"))


@case(("affine", "mul", APPLIED), ("affine", "add", APPLIED), ("epilogue", "tanh", APPLIED),
      steps=dict(linear=2, pointwise=0))
def linear_layers(g):
    y = join(g, g.op("MatMul", g.input(4, 6), g.weight(6, 5)), g.op("MatMul", g.input(4, 7), g.weight(7, 3)))
    y = g.op("Mul", y, g.weight(8), name="mul")
    g.output(g.op("Tanh", g.op("Add", y, g.weight(1, 8), name="add"), name="tanh"))


@case(("affine", "bn", APPLIED), ("affine", "half", APPLIED), ("epilogue", "relu", APPLIED),
      steps=dict(conv=2, pointwise=0))
def images_below_each_other(g):
    """Along another axis every layer gets all of it; so it does of a number."""
    x = g.input(1, 3, 6, 6)
    y = join(g, g.conv(x, 3, 5), g.conv(x, 3, 5, (2, 3), bias=True), axis=2)
    y = g.op("Mul", g.batch_norm(y, 5, name="bn"), g.scalar(0.5), name="half")
    g.output(g.op("Relu", y, name="relu"))


@case(("affine", "bn", APPLIED), ("epilogue", "relu", APPLIED), steps=dict(conv=2, pointwise=0))
def signals(g):
    x = g.input(2, 3, 9)
    y = join(g, g.conv(x, 3, 5, (3,)), g.conv(x, 3, 4, (3,), bias=True))
    g.output(g.op("Relu", g.batch_norm(y, 9, name="bn"), name="relu"))


@case(("affine", "bn", APPLIED), ("epilogue", "relu", APPLIED), steps=dict(conv=2, pointwise=0),
      sizes=[{"h": 5, "w": 9}, {"h": 12, "w": 4}], flags=["--dim", "h=4..16", "--dim", "w=4..16"])
def sizes_that_vary(g):
    x = g.input(1, 3, "h", "w")
    y = join(g, g.conv(x, 3, 5, pads=PADS), g.conv(x, 3, 4, (1, 1)))
    g.output(g.op("Relu", g.batch_norm(y, 9, name="bn"), name="relu"))


@case(("affine", "shift", APPLIED), steps=dict(conv=2, pointwise=0))
def shift_of_layers_with_one_weight(g):
    x, w = g.input(1, 3, 6, 6), g.weight(5, 3, 3, 3)
    y = join(g, g.conv(x, 3, 5, weight=w), g.conv(g.op("Transpose", x, perm=[0, 1, 3, 2]), 3, 5, weight=w))
    g.output(g.op("Add", y, g.weight(10, 1, 1), name="shift"))


@case(("epilogue", "relu", APPLIED), steps=dict(conv=3, pointwise=0))
def read_by_a_padded_layer(g):
    y = g.op("Sigmoid", join(g, *two_layers(g)), name="relu")
    g.output(g.conv(y, 9, 4, pads=PADS))


@case(("affine", "bn", APPLIED), ("epilogue", "relu", APPLIED))
def concatenation_that_is_an_output(g):
    g.output(g.op("Relu", g.batch_norm(join(g, *two_layers(g)), 9, name="bn"), name="relu", out="y"))


@case(("epilogue", "relu", APPLIED), steps=dict(conv=2, pointwise=0))
def layers_behind_moves(g):
    """Flattened predictions of two sizes."""
    rows = [g.op("Reshape", g.op("Transpose", g.conv(g.input(1, 3, n, n), 3, 4), perm=[0, 2, 3, 1]), g.ints(1, -1, 4))
            for n in (5, 8)]
    g.output(g.op("Sigmoid", join(g, *rows), name="relu"))


# ---- what stays behind it ----

@case(("affine", "bn", "after_concat"))
def one_input_is_no_layer(g):
    x = g.input(1, 3, 6, 6)
    pool = g.op("MaxPool", x, kernel_shape=[3, 3])
    g.output(g.op("Relu", g.batch_norm(join(g, g.conv(x, 3, 5), pool), 8, name="bn")))


@case(("epilogue", "relu", "after_concat"), steps=dict(pointwise=1))
def activation_of_what_is_no_layer(g):
    x = g.input(1, 3, 6, 6)
    g.output(g.op("Relu", join(g, g.conv(x, 3, 5), g.op("MaxPool", x, kernel_shape=[3, 3])), name="relu"))


@case(("affine", "bn", "after_concat"), ("epilogue", "relu", "after_concat"))
def input_read_by_another(g):
    a, b = two_layers(g)
    c, d = two_layers(g)
    g.output(g.batch_norm(join(g, a, b), 9, name="bn"), a)
    g.output(g.op("Relu", g.op("Concat", c, d, axis=1), name="relu"), g.op("Exp", d))


@case(("affine", "bn", "after_concat"), ("epilogue", "relu", "two_consumers"))
def concatenation_read_by_another(g):
    first, second = join(g, *two_layers(g)), g.op("Concat", *two_layers(g), axis=1)
    g.output(g.batch_norm(first, 9, name="bn"), g.op("Abs", first))
    g.output(g.op("Relu", second, name="relu"), g.op("Exp", second))


@case(("affine", "bn", "after_concat"))
def one_value_twice(g):
    a, b = two_layers(g)
    g.output(g.op("Exp", g.batch_norm(join(g, a, b, a), 14, name="bn")))


@case(("affine", "bn", "after_concat"))
def layers_with_one_weight(g):
    x, w = g.input(1, 3, 6, 6), g.weight(5, 3, 3, 3)
    y = join(g, g.conv(x, 3, 5, weight=w), g.conv(g.op("Neg", x), 3, 5, weight=w))
    g.output(g.batch_norm(y, 10, name="bn"))


@case(("epilogue", "relu", "after_concat"))
def layer_with_an_activation(g):
    a, b = two_layers(g)
    g.output(g.op("Relu", join(g, a, g.op("Tanh", b)), name="relu"))


def check_no_noise(tap, bench):
    """An ordinary scale behind a concatenation that cannot take it is no site."""
    g = Graph()
    x = g.input(1, 3, 6, 6)
    along_width = g.op("Mul", join(g, *two_layers(g)), g.weight(4))
    g.output(along_width, g.op("Add", g.op("Concat", x, g.conv(x, 3, 4, pads=PADS), axis=1), g.weight(7, 1, 1)))
    why = bench.right(g, "--golden", "1")
    rows = [row for row in bench.ledger() if row["pass"] == "affine"]
    tap.ok("scales behind other concatenations are right, and not in the ledger", not why and not rows, why, *rows)


if __name__ == "__main__":
    sys.exit(run(CASES, check_no_noise))
