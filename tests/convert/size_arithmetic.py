#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on sizes that every run chooses: what models compute from them to pad, to roll, to count and to resize, at
all kinds of sizes against ONNX Runtime; and what of it is refused."""
import itertools
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

import numpy as np
import onnx.helper
from onnx import TensorProto

from small_graphs import Bench, Graph

SIZES = (1, 2, 7, 8, 9, 15, 16, 23, 24, 25, 31, 33, 40, 63, 64)
CASES = {}


def case(name, bounds="1..64", sizes=SIZES):
    def mark(function):
        CASES[name] = function, bounds, sizes
        return function
    return mark


class Sizes(Graph):
    """A graph of x (1, 2, h, 3) with few words for integers."""

    def __init__(self):
        super().__init__(18)
        self.x = self.input(1, 2, "h", 3)
        self.h = self.op("Shape", self.x, start=2, end=3)

    def integers(self, value):
        return value if isinstance(value, str) else self.ints(value)

    def calculate(self, op_type, *operands, **attributes):
        return self.op(op_type, *map(self.integers, operands), **attributes)

    def lines(self, count, pixel=1.5):
        """An output of so many lines."""
        self.output(self.op("Expand", self.scalar(pixel), self.op("Concat", self.ints(2), count, axis=0)))


@case("Mod of what may be negative")
def remainders(g):
    """To the next multiple of 8, in three spellings."""
    for spelled in (g.calculate("Mod", g.calculate("Sub", 8, g.calculate("Mod", g.h, 8)), 8),
                    g.calculate("Mod", g.op("Neg", g.h), 8), g.calculate("Mod", g.calculate("Mul", g.h, -1), 8)):
        g.lines(g.calculate("Add", g.h, spelled))
        g.lines(g.calculate("Add", spelled, 1))
    for divisor in (3, 7, 100):
        for value in (g.h, g.op("Neg", g.h), g.calculate("Sub", 5, g.h), g.calculate("Sub", g.calculate("Mul", g.h, 3), 100)):
            g.lines(g.calculate("Add", g.calculate("Mod", value, divisor), 1))


@case("Mod with the sign of the dividend, Div towards zero")
def truncated(g):
    for value in (g.h, g.op("Neg", g.h)):
        g.lines(g.calculate("Add", g.calculate("Mod", value, 8, fmod=1), 8))
        g.lines(g.calculate("Add", g.calculate("Div", value, 5), 20))


@case("Mod by a size")
def remainders_by(g):
    twice = g.calculate("Mul", g.h, 2)
    for value in (-1, -3, 0, 5, g.h, g.op("Neg", g.h), twice, g.calculate("Sub", g.h, 1)):
        g.lines(g.calculate("Add", g.calculate("Mod", value, g.h), 1))
        g.lines(g.calculate("Add", g.calculate("Mod", value, twice), 1))


@case("sizes below zero as data")
def below_zero(g):
    for value in (g.op("Neg", g.h), g.calculate("Sub", 20, g.h), g.calculate("Mul", g.calculate("Mod", g.h, 5), -3)):
        g.output(g.op("Add", g.x, g.op("Cast", value, to=TensorProto.FLOAT)))


@case("several sizes as data")
def several_as_data(g):
    shape = g.op("Shape", g.x)
    corners = g.op("Concat", g.ints(3), g.h, g.ints(3), g.calculate("Sub", 5, g.h), axis=0)
    boxes = g.weight(6, 4)
    g.output(g.op("Mul", boxes, to(g, corners)), g.op("Div", boxes, g.op("Add", to(g, corners), g.scalar(100))))
    g.output(g.op("Exp", g.op("Neg", to(g, shape))), to(g, g.op("CumSum", shape, g.constant(np.int64(0)))))
    g.output(g.op("Mul", boxes, g.op("Sqrt", g.op("Add", g.op("Mul", to(g, corners), to(g, corners)), g.scalar(1)))))


@case("sizes as outputs")
def as_outputs(g):
    shape = g.op("Shape", g.x)
    g.output(g.op("Relu", g.x))
    g.output(shape, g.calculate("Add", g.h, 1), g.op("Squeeze", g.h), g.op("Neg", g.h), g.op("Concat", shape, shape, axis=0),
             dtype=TensorProto.INT64)
    g.output(g.op("Cast", shape, to=TensorProto.INT32), dtype=TensorProto.INT32)
    g.output(to(g, shape), g.op("Mul", to(g, g.h), g.scalar(0.3)))


@case("triangles from a diagonal that sizes say")
def triangles(g):
    square = g.op("Expand", g.op("Slice", g.x, g.ints(0), g.ints(1), g.ints(1)), g.ints(1, 1, 1, 3))
    for k in (g.h, g.op("Neg", g.h), g.calculate("Sub", g.h, 7), g.calculate("Sub", 3, g.calculate("Mul", g.h, 2))):
        for upper in (0, 1):
            g.output(g.op("Trilu", square, g.op("Squeeze", k), upper=upper))


@case("roll", "4..64", SIZES[2:] + (4, 5))
def roll(g):
    for shift in (-3, 3, -1):
        at = g.calculate("Mod", g.ints(-shift), g.h)
        parts = [g.op("Slice", g.x, *limits, g.ints(2)) for limits in ((at, g.h), (g.ints(0), at))]
        g.output(g.op("Concat", *parts, axis=2))


def to(g, x, dtype=TensorProto.FLOAT):
    return g.op("Cast", x, to=dtype)


def scalar_size(g):
    return g.op("Squeeze", g.h)


@case("Range of floats, and down")
def ranges(g):
    h, column = scalar_size(g), g.ints(1)
    for start, limit, delta in ((0, h, 1), (-3, h, 2), (2, g.op("Add", h, g.constant(np.int64(2))), 1)):
        whole = [v if isinstance(v, str) else g.constant(np.int64(v)) for v in (start, limit, delta)]
        for dtype in (TensorProto.FLOAT, TensorProto.DOUBLE):
            floats = [to(g, v, dtype) if v is limit else g.constant(np.array(v, np.float32 if dtype == TensorProto.FLOAT else
                                                                             np.float64)) for v in (start, limit, delta)]
            g.output(to(g, g.op("Range", *floats)))
        g.output(to(g, g.op("Range", *whole)))
    g.output(g.op("Add", g.x, g.op("Unsqueeze", g.op("Range", g.scalar(0), to(g, h), g.scalar(1)), column)))
    last = g.op("Sub", h, g.constant(np.int64(1)))
    down = [g.op("Range", last, *(g.constant(np.int64(v)) for v in limits)) for limits in ((-1, -1), (-2, -1), (-9, -3))]
    g.output(g.op("Gather", g.x, down[0], axis=2), *(to(g, numbers) for numbers in down))
    g.output(g.op("Range", to(g, last), g.scalar(-1), g.scalar(-1)))


ROUNDINGS = [("Mul", 2), ("Div", 2), ("Mul", 0.5), ("Mul", 1.5), ("Div", 3), ("Mul", 1 / 3), ("Mul", 0.7), ("Div", 0.7),
             ("Mul", 2.2), ("Div", 49), ("Mul", 1 / 49), ("Mul", 0.1), ("Div", 32), ("Mul", 1.0)]
# as floats, what should be whole is a little above or below it
BLURRED = [(np.float64, 0.7, "Ceil"), (np.float64, 2.2, "Ceil"), (np.float64, 1 / 49, ""), (np.float64, 1 / 49, "Floor")]


@case("Sizes scaled in floats")
def scaled(g):
    """All but what rounding as floats changes. Every result is one line longer: of few lines some have none."""
    for dtype in (np.float32, np.float64):
        size = to(g, g.h, TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE)
        for op_type, factor in ROUNDINGS:
            product = g.op(op_type, size, g.constant(np.array(factor, dtype)))
            for function in "", "Floor", "Ceil":
                if (dtype, factor, function) not in BLURRED:
                    rounded = g.op(function, product) if function else product
                    g.lines(g.calculate("Add", to(g, rounded, TensorProto.INT64), 1))


@case("Sizes rounded in floats and scaled again")
def rounded(g):
    half, two = g.op("Div", to(g, g.h), g.scalar(2)), g.scalar(2)
    g.lines(to(g, g.op("Mul", g.op("Ceil", half), two), TensorProto.INT64))
    twice = g.op("Mul", g.op("Ceil", g.op("Div", to(g, scalar_size(g)), g.scalar(32))), g.scalar(32))
    g.lines(g.op("Unsqueeze", to(g, g.op("Add", twice, g.op("Sub", two, g.scalar(1))), TensorProto.INT64), g.ints(0)))
    g.output(g.op("Mul", g.x, twice))  # data all the same
    for fraction in half, g.scalar(0.5):  # true
        g.output(to(g, to(g, fraction, TensorProto.BOOL)))


@case("Shapes scaled in floats, for Resize", "2..64", SIZES[1:])
def resized(g):
    for factor in (1.5, 0.5, 2.0):
        shape = to(g, g.op("Mul", to(g, g.op("Shape", g.x, start=2)), g.scalar(factor)), TensorProto.INT64)
        shape = g.op("Concat", g.ints(1, 2), shape, axis=0)
        g.output(g.op("Resize", g.x, "", "", shape, mode="linear"))
    parts = [g.op("Unsqueeze", g.op("Floor", g.op("Mul", to(g, g.op("Gather", g.op("Shape", g.x), g.constant(np.int64(axis)))),
                                                  g.scalar(1.5))), g.ints(0)) for axis in (2, 3)]
    shape = g.op("Concat", g.ints(1, 2), to(g, g.op("Concat", *parts, axis=0), TensorProto.INT64), axis=0)
    g.output(g.op("Resize", g.x, "", "", shape, mode="nearest", nearest_mode="floor"))


def windows(g, x, kernel, spatial, **attributes):
    """Every operator with windows, over x with two channels."""
    taps = [kernel] * spatial
    g.output(g.conv(x, 2, 3, taps, bias=True, **attributes), g.conv(x, 2, 4, taps, groups=2, **attributes))
    pool = {"kernel_shape": taps} | attributes
    if kernel >= attributes["strides"][0]:  # ONNX Runtime refuses others
        g.output(g.op("MaxPool", x, **pool), g.op("AveragePool", x, **pool), g.op("AveragePool", x, count_include_pad=1, **pool))


@case("windows padded to as many as there are strides")
def same_windows(g):
    for mode, kernel, stride in itertools.product(("SAME_UPPER", "SAME_LOWER"), (1, 2, 3, 4, 5), (1, 2, 3)):
        windows(g, g.x, kernel, 2, auto_pad=mode, strides=[stride, stride])


@case("windows padded so, lines, volumes and apart")
def same_windows_of(g):
    line = g.op("Reshape", g.op("Transpose", g.x, perm=[0, 1, 3, 2]), g.ints(3, 2, -1))
    volume = g.op("Reshape", g.op("Concat", g.x, g.x, axis=3), g.ints(1, 2, -1, 3, 2))
    for mode in "SAME_UPPER", "SAME_LOWER":
        windows(g, line, 3, 1, auto_pad=mode, strides=[2])
        windows(g, volume, 3, 3, auto_pad=mode, strides=[2, 2, 2])
        g.output(g.op("LpPool", g.x, kernel_shape=[3, 3], strides=[2, 2], auto_pad=mode))
        half = g.op("Relu", g.conv(g.x, 2, 2, auto_pad=mode, strides=[2, 2]))  # and a shorter way
        g.output(g.op("Add", g.op("MaxPool", g.x, kernel_shape=[2, 2], strides=[2, 2], auto_pad=mode), half))


def check(tap, bench, name, make, bounds, sizes):
    g = Sizes()
    make(g)
    low, high = map(int, bounds.split(".."))
    assert min(sizes) == low and max(sizes) == high
    why = bench.right(g, "--golden", "2", "--dim", f"h={bounds}", sizes=[{"h": h} for h in sizes])
    tap.ok(f"{name}: right at {len(sizes)} sizes", why is None, why)


def check_refused(tap, bench, name, make, *parts):
    g = Sizes()
    make(g)
    done = bench.convert(g.model(), "--dim", "h=1..64")
    tap.ok(f"{name} is refused", done.returncode == 1 and all(part in done.stderr for part in parts), done.stderr)


def pads(g, top, bottom, left=0, right=0):
    """Pads of the lines and pixels."""
    return g.op("Concat", g.ints(0, 0), g.integers(top), g.ints(left), g.ints(0, 0), g.integers(bottom), g.ints(right), axis=0)


def to_multiple(g, n):
    return g.calculate("Mod", g.calculate("Sub", n, g.calculate("Mod", g.h, n)), n)


@case("Pad to a multiple and to a size")
def padded(g):
    more, fill = to_multiple(g, 8), g.calculate("Sub", 64, g.h)
    half = g.calculate("Div", more, 2)
    for amounts in ((0, more), (more, 0), (half, g.calculate("Sub", more, half)), (0, fill), (2, more, 1, 3), (fill, more, 0, -1)):
        y = g.op("Pad", g.x, pads(g, *amounts))
        g.output(y, g.op("Pad", g.x, pads(g, *amounts), g.scalar(-2.5)), g.conv(y, 2, 2, pads=[1, 1, 1, 1]))
    ceiled = g.calculate("Sub", g.calculate("Mul", g.calculate("Div", g.calculate("Add", g.h, 15), 16), 16), g.h)
    y = g.op("Pad", g.x, pads(g, 0, ceiled))
    g.output(g.conv(y, 2, 4, kernel=(16, 3), strides=[16, 1], pads=[0, 1, 0, 1]))
    windows = g.op("Reshape", y, g.ints(1, 2, -1, 16, 3))
    g.output(windows, g.op("ReduceMax", windows, g.ints(3)))
    g.output(g.op("Pad", g.x, g.op("Concat", ceiled, ceiled, axis=0), "", g.ints(2)))


@case("Pad that crops", "17..64", (17, 18, 31, 32, 33, 48, 63, 64))
def cropped(g):
    """To 32 lines, from both sides; what is left of more or fewer."""
    less = g.calculate("Sub", 32, g.h)
    half = g.calculate("Mul", g.calculate("Div", g.calculate("Sub", g.h, 16), 2), -1)
    for amounts in ((0, less), (less, 0), (half, half), (less, 3, 1, 1), (4, half)):
        g.output(g.op("Pad", g.x, pads(g, *amounts), g.scalar(0.25)))


@case("Pad in other modes", "9..64", SIZES[4:])
def reflected(g):
    more = to_multiple(g, 8)
    for mode in "reflect", "edge", "wrap":
        for amounts in ((0, more), (more, 2), (more, more, 1, 0)):
            g.output(g.op("Pad", g.x, pads(g, *amounts), mode=mode))


@case("Pad as PyTorch spells it")
def legacy_pads(g):
    """Pairs from the last axis on, filled up with zeros and turned round."""
    more = to_multiple(g, 8)
    pairs = g.op("Concat", g.ints(1, 2), g.ints(0), more, axis=0)
    zeros = g.op("ConstantOfShape", g.ints(4), value=onnx.helper.make_tensor("zero", TensorProto.INT64, [1], [0]))
    table = g.op("Reshape", g.op("Concat", pairs, zeros, axis=0), g.ints(-1, 2))
    table = g.op("Slice", table, g.ints(-1), g.ints(-(1 << 63) + 1), g.ints(0), g.ints(-1))
    turned = g.op("Reshape", g.op("Transpose", table, perm=[1, 0]), g.ints(-1))
    g.output(g.op("Pad", g.x, to(g, turned, TensorProto.INT64), "", mode="constant"))


@case("Pad as TensorFlow's exporter spells it")
def tables_of_pads(g):
    """A table of what is before and behind every axis, as a list and in parts."""
    more = to_multiple(g, 8)
    lines = g.op("Unsqueeze", g.op("Concat", g.ints(2), more, axis=0), g.ints(0))
    pixels = g.op("Unsqueeze", g.op("Concat", g.ints(0), g.ints(1), axis=0), g.ints(0))
    table = g.op("Concat", lines, pixels, axis=0)
    top, bottom, left, right = g.op("Split", g.op("Cast", g.op("Reshape", table, g.ints(-1)), to=TensorProto.INT64), outputs=4,
                                    num_outputs=4)
    zeros = g.ints(0, 0)
    g.output(g.op("Pad", g.x, g.op("Concat", zeros, top, left, zeros, bottom, right, axis=0)))
    two, rest = g.op("Split", g.op("Concat", top, bottom, left, axis=0), g.ints(1, 2), outputs=2)
    squeezed = g.op("Squeeze", g.op("Unsqueeze", rest, g.ints(0, 2)), g.ints(0, -1))
    g.output(g.op("Pad", g.x, g.op("Concat", zeros, two, g.ints(0), zeros, squeezed, axis=0)))


@case("Pad of integers and bools with a value")
def pads_of_integers(g):
    more = to_multiple(g, 8)
    for dtype, value in ((TensorProto.INT64, np.int64(-100)), (TensorProto.INT32, np.int32(7)), (TensorProto.BOOL, np.array(True))):
        x = to(g, g.op("Mul", g.x, g.scalar(3)), dtype)
        for amounts in g.ints(0, 1, 2, 0, 0, 0, 1, 3), g.ints(1, 0, 2, -1, 0, 0, 0, 2), pads(g, 0, more, 1, 2), pads(g, more, more):
            g.output(to(g, g.op("Pad", x, amounts, g.constant(value))))


def may_be_empty(g):
    g.output(g.op("Pad", g.x, pads(g, 0, g.calculate("Sub", 32, g.calculate("Mul", g.h, 2)))))


def reflected_below(g):
    g.output(g.op("Pad", g.x, pads(g, 0, g.calculate("Sub", 9, g.h)), mode="reflect"))


def irrational(g):
    g.lines(to(g, g.op("Mul", to(g, g.h), g.scalar((1 + 5 ** 0.5) / 2)), TensorProto.INT64))


def blurred(g):
    g.lines(to(g, g.op("Mul", to(g, g.h, TensorProto.DOUBLE), g.constant(np.float64(1 / 49))), TensorProto.INT64))


def fractional_range(g):
    g.output(g.op("Range", g.scalar(0), g.op("Mul", to(g, scalar_size(g)), g.scalar(0.3)), g.scalar(1)))


def empty_range(g):
    g.output(to(g, g.op("Range", scalar_size(g), g.constant(np.int64(1)), g.constant(np.int64(-1)))))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for name, given in CASES.items():
            check(tap, bench, name, *given)
        check_refused(tap, bench, "a factor that is no fraction", irrational, "Expand", "decides a shape")
        check_refused(tap, bench, "a factor whose rounding shows", blurred, "Expand", "decides a shape")
        check_refused(tap, bench, "Range up to a fraction", fractional_range, "Range", "no whole numbers")
        check_refused(tap, bench, "Pad that may leave nothing", may_be_empty, "Pad", "may leave nothing of axis 2 (h)")
        check_refused(tap, bench, "Pad that may reflect backwards", reflected_below, "Pad", "-h + 9", "may be negative")
        check_refused(tap, bench, "Range down that may be empty", empty_range, "Range", "may be no element")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
