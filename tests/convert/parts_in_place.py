#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Concatenations that grow, as the layers of a DenseNet have them: what begins one lies in it, and nothing is copied; so do
slices of channels that padded convolutions read, as MixNet has them: the whole has the room for padding. Each compared
with ONNX Runtime; where it cannot lie there, and why; the same bytes at every kernel level and thread count."""
import sys

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case

PADS = [1, 1, 1, 1]


def join(g, *parts, name=None, axis=1):
    return g.op("Concat", *parts, axis=axis, name=name)


def layer(g, x, channels, grown):
    """Of a DenseNet: BatchNorm, ReLU, 1x1, 3x3."""
    x = g.op("Relu", g.batch_norm(x, channels))
    x = g.op("Relu", g.batch_norm(g.conv(x, channels, 8, (1, 1)), 8))
    return g.conv(x, 8, grown, pads=PADS)


def block(g, x, channels, grown=4, layers=3):
    """What comes before and every layer's result, joined anew for each layer; ends with a layer that pads."""
    parts = [g.conv(x, 3, channels, pads=PADS)]
    for i in range(layers):
        y = parts[0] if i == 0 else join(g, *parts, name=f"join{i}")
        parts.append(layer(g, y, channels + i * grown, grown))
    y = join(g, *parts, name=f"join{layers}")
    return g.conv(g.op("Relu", g.batch_norm(y, channels + layers * grown)), channels + layers * grown, 6, pads=PADS)


def rows(*starts):
    return [("chain", name, APPLIED) for name in starts]


def in_place(name, *parts):
    return [("concat", f"{name}[{i}]", APPLIED) for i in parts]


# ---- what lies in another ----

@case(*rows("join2", "join3"), *in_place("join1", 0, 1), *in_place("join2", 0, 1), *in_place("join3", 0, 1),
      steps=dict(copy=0, slice=0))
def block_of_densenet(g):
    g.output(block(g, g.input(2, 3, 6, 7), 5))


@case(*rows("join2", "join3"), *in_place("join3", 0, 1), steps=dict(copy=0),
      sizes=[{"n": 1, "h": 5, "w": 9}, {"n": 3, "h": 12, "w": 4}],
      flags=["--dim", "n=1..3", "--dim", "h=4..16", "--dim", "w=4..16"])
def block_of_sizes_that_vary(g):
    x = g.op("MaxPool", g.input("n", 3, "h", "w"), kernel_shape=[3, 3], pads=PADS)
    g.output(block(g, x, 5))


@case(*in_place("outer", 0, 1), *in_place("inner", 0, 1), steps=dict(copy=0))
def concatenation_of_a_concatenation(g):
    """As its second part, padded by a reader of the whole and by a reader of the part."""
    x = g.input(1, 3, 6, 6)
    inner = join(g, g.conv(x, 3, 4, pads=PADS), g.op("MaxPool", x, kernel_shape=[3, 3], pads=PADS), name="inner")
    whole = join(g, g.conv(x, 3, 5, (1, 1)), inner, name="outer")
    g.output(g.conv(whole, 12, 4, pads=PADS), g.conv(inner, 7, 7, (5, 5), groups=7, pads=[2, 2, 2, 2]))


@case(*in_place("outer", 0, 1), *in_place("inner", 0, 1), steps=dict(copy=0))
def rows_below_each_other(g):
    x = g.input(4, 6)
    parts = [g.op("MatMul", x, g.weight(6, n)) for n in (5, 3, 7)]
    inner = join(g, parts[0], g.op("Tanh", parts[1]), name="inner")
    g.output(g.op("Exp", inner), g.op("Neg", join(g, inner, parts[2], name="outer")))


@case(*rows("third"), *in_place("third", 0, 1), steps=dict(copy=0))
def longest_beginning(g):
    """The third begins with the second, which begins with something else than the first."""
    x = g.input(1, 3, 6, 6)
    a, b, c, d = (g.conv(x, 3, n, (1, 1)) for n in (3, 4, 5, 6))
    second, third = join(g, b, a, c, name="second"), join(g, b, a, c, d, name="third")
    g.output(g.op("Exp", second), g.op("Neg", third))


# ---- what does not ----

@case(*rows("longer"), ("concat", "longer[0]", "port"), *in_place("shorter", 0, 1), steps=dict(copy=1))
def beginning_that_is_an_output(g):
    x = g.input(1, 3, 6, 6)
    a, b, c = (g.conv(x, 3, n, pads=PADS) for n in (3, 4, 5))
    shorter = join(g, a, b, name="shorter")
    g.output(shorter, g.op("Exp", join(g, a, b, c, name="longer")))


@case(*rows("longer"), ("concat", "longer[0]", "two_consumers"), *in_place("shorter", 0, 1), steps=dict(copy=1))
def beginning_that_is_read_by_rows(g):
    """A kernel that reads its taps as one segment wants no gaps between pixels: the beginning is copied as a whole."""
    x = g.input(1, 3, 6, 6)
    a, b, c = (g.conv(x, 3, n, pads=PADS) for n in (3, 4, 5))
    shorter = join(g, a, b, name="shorter")
    g.output(g.conv(shorter, 7, 4, pads=PADS), g.op("Exp", join(g, a, b, c, name="longer")))


@case(*rows("one", "other"), *in_place("both", 0, 1), steps=dict(copy=2))
def beginning_of_two(g):
    x = g.input(1, 3, 6, 6)
    a, b, c, d = (g.conv(x, 3, n, (1, 1)) for n in (3, 4, 5, 6))
    both, one, other = join(g, a, b, name="both"), join(g, a, b, c, name="one"), join(g, a, b, d, name="other")
    g.output(g.op("Abs", both), g.op("Exp", one), g.op("Neg", other))


@case(("concat", "outer[0]", "not_adjacent"), *in_place("inner", 0, 1), steps=dict(copy=1))
def another_axis(g):
    """Parts of a part along another axis would be no slices of the whole along one."""
    x = g.input(1, 3, 6, 6)
    inner = join(g, g.conv(x, 3, 4, (1, 1)), g.conv(x, 3, 4, (1, 1)), name="inner", axis=2)
    g.output(g.op("Exp", join(g, inner, g.conv(g.input(1, 3, 12, 6), 3, 5, (1, 1)), name="outer")))


@case(steps=dict(copy=4))
def other_beginnings(g):
    """In another order, along another axis, of one part: none begins another, and each part is read by two."""
    x = g.input(1, 3, 6, 6)
    a, b = g.conv(x, 3, 3, (1, 1)), g.conv(x, 3, 3, (1, 1))
    g.output(g.op("Exp", join(g, a, b)), g.op("Neg", join(g, b, a, axis=2)))


# ---- slices of channels ----

def cut(g, x, start, end, axis=1, step=1):
    return g.op("Slice", x, g.ints(start), g.ints(end), g.ints(axis), g.ints(step), name=f"cut{start}")


def depthwise(g, x, channels, size, **attributes):
    return g.conv(x, channels, channels, (size, size), groups=channels, pads=[size // 2] * 4, **attributes)


def mixed(g, x):
    """Kernels of several sizes, each for its channels, as MixNet has them."""
    y = g.op("Relu", g.conv(x, 3, 13, (1, 1)))
    parts = [depthwise(g, cut(g, y, start, end), end - start, size) for start, end, size in ((0, 4, 3), (4, 9, 5), (9, 13, 7))]
    return g.conv(join(g, *parts, name="join"), 13, 4, (1, 1))


def images(g, *dims):
    return g.op("MaxPool", g.input(*dims), kernel_shape=[3, 3], pads=PADS)


@case(*(("slice", f"cut{i}", APPLIED) for i in (0, 4, 9)), *in_place("join", 0, 1, 2),
      steps=dict(depthwise=3, copy=0, slice=0))
def kernels_of_several_sizes(g):
    g.output(mixed(g, images(g, 2, 3, 6, 7)))


@case(("slice", "cut0", APPLIED), steps=dict(copy=0, slice=0), sizes=[{"h": 9, "w": 7}, {"h": 7, "w": 12}],
      flags=["--dim", "h=7..16", "--dim", "w=7..16"])
def channels_of_sizes_that_vary(g):
    g.output(mixed(g, images(g, 1, 3, "h", "w")))


@case(("slice", "cut1", APPLIED), ("slice", "cut2", APPLIED), steps=dict(copy=0, slice=0))
def slice_of_a_slice_of_a_sum(g):
    """The sum is a part of a concatenation, which has the room; a dilated and a grouped layer read its parts."""
    x = images(g, 1, 3, 8, 8)
    whole = g.op("Add", g.conv(x, 3, 8, (1, 1)), g.op("Exp", g.conv(x, 3, 8, (1, 1))))
    part = cut(g, whole, 1, 7)
    g.output(depthwise(g, cut(g, part, 2, 6), 4, 5),
             g.conv(part, 6, 4, pads=[2] * 4, dilations=[2, 2]), g.op("Exp", join(g, whole, x)))


@case(("slice", "cut0", APPLIED), ("layout", "rows", "not_adjacent"), steps=dict(copy=1))
def slice_read_by_rows(g):
    """A kernel that reads its taps as one segment wants no gaps between pixels."""
    whole = g.conv(images(g, 1, 3, 8, 8), 3, 8, (1, 1))
    g.output(g.conv(cut(g, whole, 0, 4), 4, 4, pads=PADS, name="rows"))


@case(("slice", "cut0", APPLIED), ("layout", "deep", "not_adjacent"), steps=dict(copy=1))
def whole_is_averaged(g):
    """Sums over an image want it without gaps: a halo would have it copied, all of it."""
    whole = g.op("Relu", g.conv(images(g, 1, 3, 8, 8), 3, 8, (1, 1)))
    g.output(depthwise(g, cut(g, whole, 0, 4), 4, 3, name="deep"), g.op("ReduceMean", whole, axes=[2, 3]))


@case(("slice", "cut0", APPLIED), ("slice", "cut4", APPLIED), ("layout", "deep", "not_adjacent"), steps=dict(copy=1))
def another_part_is_averaged(g):
    whole = g.conv(images(g, 1, 3, 8, 8), 3, 8, (1, 1))
    g.output(depthwise(g, cut(g, whole, 0, 4), 4, 3, name="deep"),
             g.op("ReduceMean", cut(g, whole, 4, 8), axes=[2, 3]))


@case(("slice", "cut0", APPLIED), ("layout", "deep", "not_adjacent"))
def whole_is_an_output(g):
    whole = g.conv(images(g, 1, 3, 8, 8), 3, 8, (1, 1))
    g.output(whole, depthwise(g, cut(g, whole, 0, 4), 4, 3, name="deep"))


@case(("slice", "cut2", "not_adjacent"), steps=dict(copy=0, slice=1))
def lines_of_a_padded_image(g):
    """Lines of it have no halo of their own."""
    whole = g.conv(images(g, 1, 3, 8, 8), 3, 8, (1, 1))
    g.output(depthwise(g, whole, 8, 3), g.op("Exp", cut(g, whole, 2, 5, axis=2)))


@case(("slice", "cut1", "not_adjacent"), ("slice", "cut0", "not_adjacent"), steps=dict(copy=1, slice=2))
def every_second_channel(g):
    whole = g.conv(images(g, 1, 3, 8, 8), 3, 8, (1, 1))
    g.output(depthwise(g, cut(g, whole, 0, 8, step=2), 4, 3),
             g.conv(cut(g, g.conv(images(g, 1, 3, 8, 8), 3, 8, (1, 1)), 1, 8, step=3), 3, 4, (1, 1)))


def check_bits(tap, bench):
    graph = Graph()
    graph.output(block(graph, graph.input(3, 3, 9, 7), 5, layers=5), mixed(graph, images(graph, 2, 3, 9, 11)))
    why = bench.right(graph, "--golden", "1", bits=True)
    chained = [row for row in bench.ledger() if row["pass"] == "chain"]
    tap.ok("blocks have the same bytes at every kernel level and thread count", not why and len(chained) == 4, why)


if __name__ == "__main__":
    sys.exit(run(CASES, check_bits))
