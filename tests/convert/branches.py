#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Convolutions of one value that are added, as RepVGG, MobileOne, RepViT and FastViT train them: one convolution
computes the sum, and what follows it folds into that one. Each compared with ONNX Runtime; which pairs stay apart,
and why."""
import sys

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case

PADS = [1, 1, 1, 1]


def added(*names):
    return tuple(("branch", name, APPLIED) for name in names)


# ---- what becomes one ----

@case(*added("inner", "add"), ("epilogue", "relu", APPLIED), steps=dict(conv=1, pointwise=0, copy=0))
def block_of_repvgg(g):
    x = g.input(2, 8, 9, 7)
    small = g.batch_norm(g.conv(x, 8, 8, (1, 1)), 8)
    large = g.batch_norm(g.conv(x, 8, 8, pads=PADS, bias=True), 8)
    y = g.op("Add", g.op("Add", small, large, name="inner"), g.batch_norm(x, 8), name="add")
    g.output(g.op("Relu", y, name="relu"))


@case(*added("a", "b", "c", "d", "e"), ("affine", "zero", APPLIED), ("epilogue", "relu", APPLIED),
      steps=dict(depthwise=1, pointwise=0))
def block_of_mobileone(g):
    """Four kernels of one size, one of a single pixel, the value itself; a zero added on the way."""
    x = g.input(1, 6, 8, 10)
    y = g.op("Add", g.conv(x, 6, 6, (1, 1), groups=6), g.batch_norm(x, 6), name="a")
    for name in "bcde":
        y = g.op("Add", y, g.conv(x, 6, 6, groups=6, pads=PADS, bias=name != "b"), name=name)
    g.output(g.op("Relu", g.op("Add", y, g.scalar(0.0), name="zero"), name="relu"))


@case(*added("inner", "add"), ("affine", "bn", APPLIED), steps=dict(depthwise=1, pointwise=0))
def block_of_repvit(g):
    """The value itself goes into the weights too: it would keep the BatchNorm behind the sum from them."""
    x = g.input(1, 6, 8, 10)
    y = g.op("Add", g.conv(x, 6, 6, groups=6, pads=PADS), g.conv(x, 6, 6, (1, 1), groups=6, bias=True), name="inner")
    g.output(g.batch_norm(g.op("Add", y, x, name="add"), 6, name="bn"))


@case(*added("a", "b", "c"), ("affine", "gamma", APPLIED), ("epilogue", "add", APPLIED),
      steps=dict(depthwise=1, pointwise=0))
def block_of_fastvit(g):
    """A BatchNorm is subtracted, the difference scaled, and the value itself stays a residual."""
    x = g.input(1, 6, 8, 10)
    y = g.op("Add", g.conv(x, 6, 6, (1, 1), groups=6, bias=True), g.batch_norm(x, 6), name="a")
    y = g.op("Add", y, g.conv(x, 6, 6, groups=6, pads=PADS), name="b")
    y = g.op("Sub", y, g.op("Add", g.batch_norm(x, 6), g.scalar(0.25)), name="c")
    g.output(g.op("Add", x, g.op("Mul", y, g.weight(6, 1, 1), name="gamma"), name="add"))


@case(*added("add"), steps=dict(conv=1))
def uneven_padding_and_strides(g):
    x = g.input(1, 3, 12, 15)
    large = g.conv(x, 3, 5, (5, 4), pads=[3, 2, 1, 1], strides=[2, 3], bias=True)
    small = g.conv(x, 3, 5, (2, 3), pads=[1, 2, 0, 0], strides=[2, 3], bias=True)
    g.output(g.op("Add", small, large, name="add"))


@case(*added("add"), steps=dict(conv=1))
def first_and_last_tap(g):
    """The small kernel lies in the last row and the first column of the large one."""
    x = g.input(1, 3, 6, 6)
    g.output(g.op("Add", g.conv(x, 3, 5, pads=[2, 0, 0, 2]), g.conv(x, 3, 5, (1, 1)), name="add"))


@case(*added("inner", "add"), steps=dict(conv=1))
def groups_with_a_batch_norm(g):
    x = g.input(1, 6, 5, 5)
    y = g.op("Add", g.conv(x, 6, 6, groups=2, pads=PADS), g.conv(x, 6, 6, (1, 1), groups=2), name="inner")
    g.output(g.op("Add", y, g.batch_norm(x, 6), name="add"))


@case(*added("inner", "add"), steps=dict(conv=1))
def dilations(g):
    """Of a kernel of one row its dilation says nothing."""
    x = g.input(1, 4, 11, 11)
    large = g.conv(x, 4, 4, (3, 3), dilations=[2, 3], pads=[2, 3, 2, 3])
    row = g.conv(x, 4, 4, (1, 3), dilations=[5, 3], pads=[0, 3, 0, 3])
    g.output(g.op("Add", g.op("Add", row, large, name="inner"), g.batch_norm(x, 4), name="add"))


@case(*added("inner", "add"), ("affine", "bn", APPLIED), steps=dict(conv=1, pointwise=0))
def signals(g):
    x = g.input(2, 4, 19)
    y = g.op("Add", g.conv(x, 4, 4, (3,), pads=[1, 1]), g.conv(x, 4, 4, (5,), pads=[2, 2], bias=True), name="inner")
    g.output(g.batch_norm(g.op("Add", y, g.batch_norm(x, 4), name="add"), 4, name="bn"))


@case(*added("inner", "add"), steps=dict(conv=1), sizes=[{"n": 1, "h": 5, "w": 9}, {"n": 3, "h": 12, "w": 4}],
      flags=["--dim", "n=1..4", "--dim", "h=4..16", "--dim", "w=4..16"])
def sizes_that_vary(g):
    x = g.input("n", 5, "h", "w")
    y = g.op("Add", g.conv(x, 5, 5, pads=PADS), g.conv(x, 5, 5, (1, 1)), name="inner")
    g.output(g.op("Add", y, g.batch_norm(x, 5), name="add"))


@case(*added("add"), steps=dict(conv=2))
def value_read_by_others_too(g):
    x = g.op("Abs", g.input(1, 3, 6, 6))
    y = g.op("Add", g.conv(x, 3, 5, pads=PADS), g.conv(x, 3, 5, (1, 1)), name="add")
    g.output(y, g.conv(x, 3, 4), x)


@case(*added("outer"), ("epilogue", "inner", APPLIED), steps=dict(conv=1, pointwise=0))
def around_a_residual(g):
    """The sum need not begin with the convolutions."""
    x = g.input(1, 5, 6, 6)
    y = g.op("Add", x, g.conv(x, 5, 5, pads=PADS), name="inner")
    g.output(g.op("Relu", g.op("Add", g.conv(x, 5, 5, (1, 1)), y, name="outer")))


@case(("branch", "inner", "windows_differ"), *added("outer", "outer"), steps=dict(conv=1, pointwise=0))
def row_and_column_before_the_square(g):
    x = g.input(1, 4, 7, 7)
    y = g.op("Add", g.conv(x, 4, 5, (1, 3), pads=[0, 1, 0, 1]), g.conv(x, 4, 5, (3, 1), pads=[1, 0, 1, 0]), name="inner")
    g.output(g.op("Add", y, g.conv(x, 4, 5, pads=PADS), name="outer"))


@case(*added("outer", "outer"), steps=dict(conv=2, pointwise=1))
def sums_of_two_values(g):
    """conv(x) + conv(y) - (conv(x) + conv(y))."""
    x, y = g.input(1, 3, 6, 6), g.input(1, 3, 6, 6)
    left = g.op("Add", g.conv(x, 3, 5, pads=PADS), g.conv(y, 3, 5, (1, 1)))
    right = g.op("Add", g.conv(x, 3, 5, (1, 1), bias=True), g.conv(y, 3, 5, pads=PADS, bias=True))
    g.output(g.op("Sub", left, right, name="outer"))


@case(*added("sub"), steps=dict(conv=1, pointwise=0))
def smaller_minus_larger(g):
    x = g.input(1, 3, 6, 6)
    y = g.op("Sub", g.conv(x, 3, 5, (1, 1), bias=True), g.conv(x, 3, 5, pads=PADS, bias=True), name="sub")
    g.output(g.op("Relu", y))


@case(*added("add"), steps=dict(conv=1, pointwise=0))
def sum_that_is_an_output(g):
    x = g.input(1, 3, 6, 6)
    g.output(g.op("Add", g.conv(x, 3, 5, pads=PADS), g.conv(x, 3, 5, (1, 1)), name="add", out="y"))


@case(*added("add"), flags=["--weights", "bf16"], steps=dict(conv=1))
def zeros_in_bf16(g):
    """Weights that lose nothing when they are rounded."""
    x = g.input(1, 2, 6, 6)
    whole = [g.constant(g.random.integers(-4, 5, (3, 2, k, k)).astype("float32")) for k in (3, 1)]
    g.output(g.op("Add", g.conv(x, 2, 3, weight=whole[0], pads=PADS), g.conv(x, 2, 3, (1, 1), weight=whole[1]), name="add"))


# ---- what stays apart ----

@case(("branch", "add", "two_consumers"), steps=dict(conv=2))
def branch_read_by_another(g):
    x = g.input(1, 3, 6, 6)
    y = g.conv(x, 3, 5, (1, 1))
    g.output(g.op("Add", g.conv(x, 3, 5, pads=PADS), y, name="add"), g.op("Abs", y))


@case(("branch", "add", "two_consumers"), steps=dict(conv=1, pointwise=1))
def normalised_value_read_by_another(g):
    x = g.input(1, 5, 6, 6)
    y = g.batch_norm(x, 5)
    g.output(g.op("Add", g.conv(x, 5, 5, pads=PADS), y, name="add"), y)


@case(("branch", "add", "windows_differ"), steps=dict(conv=2))
def other_dilations(g):
    x = g.input(1, 3, 9, 9)
    g.output(g.op("Add", g.conv(x, 3, 5, pads=PADS), g.conv(x, 3, 5, pads=[2, 2, 2, 2], dilations=[2, 2]), name="add"))


@case(("branch", "add", "windows_differ"), steps=dict(conv=2))
def pixels_beside_the_window(g):
    x = g.input(1, 3, 8, 8)
    shifted = g.conv(x, 3, 5, (1, 1), pads=[0, 0, 0, 2])
    g.output(g.op("Add", g.conv(x, 3, 5, (1, 3), pads=[0, 4, 0, 0]), shifted, name="add"))


@case(("branch", "add", "windows_differ"), steps=dict(conv=2))
def pixels_between_the_taps(g):
    x = g.input(1, 3, 9, 9)
    large = g.conv(x, 3, 5, (3, 3), dilations=[2, 2], pads=[1, 1, 3, 3])
    g.output(g.op("Add", large, g.conv(x, 3, 5, (1, 1)), name="add"))


@case(("branch", "add", "windows_differ"), steps=dict(conv=2))
def other_strides_on_one_pixel(g):
    x = g.input(1, 3, 1, 1)
    g.output(g.op("Add", g.conv(x, 3, 5, pads=PADS, strides=[2, 2]), g.conv(x, 3, 5, (1, 1)), name="add"))


@case(("branch", "add", "shape_mismatch"), steps=dict(conv=1, depthwise=1))
def other_groups(g):
    x = g.input(1, 4, 6, 6)
    g.output(g.op("Add", g.conv(x, 4, 4, pads=PADS), g.conv(x, 4, 4, groups=4, pads=PADS), name="add"))


@case(("branch", "add", "shared_weight"), steps=dict(conv=3))
def weight_of_others(g):
    x, w = g.input(1, 3, 6, 6), g.weight(5, 3, 3, 3)
    y = g.op("Add", g.conv(x, 3, 5, weight=w, pads=PADS), g.conv(x, 3, 5, (1, 1)), name="add")
    g.output(y, g.conv(g.op("Neg", x), 3, 5, weight=w))


@case(("branch", "add", "mixed_inputs"))
def what_something_else_is_subtracted_from(g):
    x, z = g.input(1, 3, 6, 6), g.input(1, 5, 6, 6)
    y = g.op("Sub", g.conv(x, 3, 5, (1, 1)), z)
    g.output(g.op("Add", g.conv(x, 3, 5, pads=PADS), y, name="add"))


def check_no_noise(tap, bench):
    """Sums that are no such sites are not in the ledger: of a layer and its own value, of other values, of products."""
    g = Graph()
    x = g.input(1, 5, 6, 6)
    y = g.op("Add", g.conv(x, 5, 5, pads=PADS), x)
    z = g.op("Add", g.conv(y, 5, 5, pads=PADS), g.conv(x, 5, 5, (1, 1)))
    scaled = g.op("Mul", x, g.op("Sigmoid", x))
    g.output(g.op("Add", z, g.op("Add", g.conv(z, 5, 5, pads=PADS), scaled)), g.op("Add", y, g.op("Exp", x)))
    why = bench.right(g, "--golden", "1")
    rows = [row for row in bench.ledger() if row["pass"] == "branch"]
    tap.ok("sums of other things are right, and not in the ledger", not why and not rows, why, *rows)


if __name__ == "__main__":
    sys.exit(run(CASES, check_no_noise))
