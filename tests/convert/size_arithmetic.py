#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on sizes that every run chooses: what models compute from them to pad, to roll, to count and to resize, at
all kinds of sizes against ONNX Runtime; and what of it is refused."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

import numpy as np
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


@case("roll", "4..64", SIZES[2:] + (4, 5))
def roll(g):
    for shift in (-3, 3, -1):
        at = g.calculate("Mod", g.ints(-shift), g.h)
        parts = [g.op("Slice", g.x, *limits, g.ints(2)) for limits in ((at, g.h), (g.ints(0), at))]
        g.output(g.op("Concat", *parts, axis=2))


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


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for name, given in CASES.items():
            check(tap, bench, name, *given)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
