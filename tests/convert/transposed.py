#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions whose windows touch within a line: the taps of a kernel row become one product where the
result has no gaps, and the bits are those of taps that stay apart."""
import sys

import numpy as np

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run
from ipextest import cli_json

CASES = Cases()
case = CASES.case


def up(g, x, c, m, kernel=(2, 2), name="up", bias=True, **attributes):
    operands = [x, g.weight(c, m, *kernel)] + ([g.weight(m)] if bias else [])
    return g.op("ConvTranspose", *operands, name=name, **{"strides": kernel, **attributes})


@case(("layout", "up+Relu1", APPLIED), ("layout", "again+Sigmoid3", APPLIED), steps=dict(conv_transpose=2, copy=0))
def two_in_a_row_as_a_text_detector_ends(g):
    x = g.op("Relu", up(g, g.input(2, 24, 7, 9), 24, 24))
    g.output(g.op("Sigmoid", up(g, x, 24, 1, name="again", bias=False)))


@case(("layout", "up+bn", APPLIED), ("affine", "bn", APPLIED))
def normalised_behind(g):
    g.output(g.batch_norm(up(g, g.input(1, 5, 4, 6), 5, 19), 19, name="bn"))


@case(("layout", "up", APPLIED))
def lines_that_overlap_have_padding_and_gaps(g):
    g.output(up(g, g.input(1, 18, 6, 5), 18, 7, (5, 3), strides=[2, 3], dilations=[2, 1], pads=[3, 0, 1, 0],
                output_padding=[1, 0]))


@case(("layout", "up+Sigmoid1", APPLIED), ("layout", "three", APPLIED), ("layout", "wide", APPLIED))
def few_columns_of_many_pixels(g):
    x = g.input(2, 24, 5, 37)
    g.output(g.op("Sigmoid", up(g, x, 24, 1)), up(g, x, 24, 1, (3, 3), name="three"),
             up(g, x, 24, 2, (4, 2), name="wide", bias=False))


@case(("layout", "up", APPLIED), sizes=[dict(h=1, w=16), dict(h=5, w=40), dict(h=3, w=7)],
      flags=("--dim", "h=1..5", "--dim", "w=1..40"))
def few_columns_of_as_many_pixels_as_the_caller_has(g):
    g.output(up(g, g.input(1, 9, "h", "w"), 9, 1))


@case(sizes=[dict(h=4), dict(h=9)], flags=("--dim", "h=4..9"))
def as_many_strides_as_sizes_that_vary(g):
    x = g.input(1, 4, "h", 6)
    g.output(*(up(g, x, 4, 3, (4, 3), name=mode, strides=[2, 2], auto_pad=mode) for mode in ("SAME_UPPER", "SAME_LOWER")))


@case(("layout", "up", APPLIED))
def one_line(g):
    g.output(up(g, g.input(1, 3, 1, 8), 3, 33, (1, 4)))


# ---- signals: one axis ----

@case()
def signals_as_decoders_of_sound_have_them(g):
    """Windows that overlap, more output at the end, then two groups."""
    x = up(g, g.input(2, 6, 11), 6, 10, (16,), strides=[8], pads=[4, 4], output_padding=[1])
    g.output(up(g, g.op("Relu", x), 10, 3, (3,), name="again", strides=[2], dilations=[2], pads=[1, 0], group=2, bias=False))


@case()
def signals_of_a_given_length(g):
    x = g.input(1, 4, 9)
    g.output(up(g, x, 4, 5, (4,), name="shape", strides=[3], output_shape=[30]),
             up(g, x, 4, 5, (4,), name="same", strides=[3], auto_pad="SAME_UPPER"))


@case(sizes=[dict(n=1, l=3), dict(n=3, l=40)], flags=("--dim", "n=1..3", "--dim", "l=3..40"))
def signals_of_a_length_chosen_by_the_caller(g):
    x = up(g, g.input("n", 4, "l"), 4, 5, (4,), strides=[2], pads=[1, 1])
    g.output(g.conv(g.op("LeakyRelu", x), 5, 3, (3,), pads=[1, 1]))


@case()
def signals_resized(g):
    x = g.input(2, 3, 7)
    scales = g.constant(np.float32([1, 1, 2.5]))
    g.output(g.op("Resize", x, "", g.constant(np.float32([1, 1, 2])), mode="nearest"),
             g.op("Resize", x, "", scales, mode="linear"),
             g.op("Resize", x, "", "", g.ints(2, 3, 12), mode="linear"))


@case(("layout", "up+Tanh1", APPLIED), sizes=[dict(n=1, h=3, w=4), dict(n=2, h=1, w=11)],
      flags=("--dim", "n=1..2", "--dim", "h=1..9", "--dim", "w=1..12"))
def sizes_chosen_by_the_caller(g):
    g.output(g.op("Tanh", up(g, g.input("n", 9, "h", "w"), 9, 5)))


@case(("layout", "up", "not_adjacent"), steps=dict(conv_transpose=1, copy=0))
def read_by_a_convolution_that_pads(g):
    g.output(g.conv(up(g, g.input(1, 3, 4, 5), 3, 6), 6, 2, pads=[1, 1, 1, 1]))


@case(("layout", "up", "not_adjacent"), ("concat", "joined[0]", APPLIED))
def written_into_a_concatenation(g):
    x = g.op("Concat", up(g, g.input(1, 3, 4, 5), 3, 6), g.op("Neg", g.input(1, 4, 8, 10)), axis=1, name="joined")
    g.output(g.conv(x, 10, 4, (1, 1)))


@case(("layout", "a+Relu3", APPLIED), ("layout", "b", "not_adjacent"))
def one_weight_packed_both_ways(g):
    x, w = g.input(1, 3, 4, 5), g.weight(3, 6, 2, 2)
    a = g.op("ConvTranspose", x, w, strides=[2, 2], name="a")
    b = g.op("ConvTranspose", g.op("Abs", x), w, strides=[2, 2], name="b")
    g.output(g.op("Relu", a), g.conv(b, 6, 2, pads=[1, 1, 1, 1]))


def windows(bench):
    """(kernel_h, kernel_w, stride_h, stride_w) of every transposed convolution of the file."""
    nodes = cli_json("inspect", bench.ipex)["entries"][0]["nodes"]
    return [tuple(node["ints"][:4]) for node in nodes if node["op"] == "conv_transpose"]


def check_others_stay(tap, bench):
    """Where windows overlap, leave gaps, are padded in a line or have groups, the kernel stays what it was."""
    for name, kernel, attributes in (("overlap", (2, 3), dict(strides=[2, 2])), ("gaps", (2, 2), dict(strides=[2, 3])),
                                     ("padding", (2, 2), dict(pads=[0, 1, 0, 0])),
                                     ("output padding", (2, 2), dict(output_padding=[0, 1])),
                                     ("dilation", (2, 2), dict(dilations=[1, 2]))):
        g = Graph()
        g.output(up(g, g.input(1, 4, 5, 6), 4, 3, kernel, **attributes))
        why = bench.right(g)
        strides = tuple(attributes.get("strides", kernel))
        tap.ok(f"{name}: right, and one tap after another", not why and windows(bench) == [(*kernel, *strides)], why)
    g = Graph()
    g.output(g.op("ConvTranspose", g.input(1, 4, 5, 6), g.weight(4, 3, 2, 2), strides=[2, 2], group=2))
    why = bench.right(g)
    tap.ok("groups: right, and one tap after another", not why and windows(bench) == [(2, 2, 2, 2)], why)


def check_output_shape(tap, bench):
    """Padding by the size wanted: where the excess is odd, on either side, and beyond what the windows reach."""
    for mode in "NOTSET", "SAME_UPPER", "SAME_LOWER":
        for wanted in [10, 11], [9, 12], [8, 8]:
            g = Graph()
            g.output(up(g, g.input(1, 3, 5, 5), 3, 4, (3, 3), strides=[2, 2], output_shape=wanted, auto_pad=mode))
            why = bench.right(g)
            tap.ok(f"output_shape {wanted}, {mode}: right", not why, why)


def check_bits(tap, bench):
    """The result as it is, and as a padding convolution reads it besides."""
    for flags in (), ("--weights", "bf16"), ("--dtype", "bf16"):
        for name, c, m, kernel in ("2x2", 24, 24, (2, 2)), ("to one", 37, 1, (2, 2)), ("3x4", 65, 17, (3, 4)):
            results, kernels = [], []
            for apart in False, True:
                g = Graph(seed=5)
                y = up(g, g.input(1, c, 5, 7), c, m, kernel)
                g.output(g.op("Relu", y, out="y"))
                if apart:
                    g.output(g.conv("y", m, 5, pads=[1, 1, 1, 1]))
                feeds = {"in0": np.random.default_rng(2).standard_normal((1, c, 5, 7), np.float32)}
                why = bench.convert(g.model(), *flags).stderr or bench.compare_bits(feeds)
                tap.ok(f"{name} {' '.join(flags)}: the same bits at all levels and thread counts", not why, why)
                results.append(bench.run(feeds)["y"].tobytes())
                kernels += windows(bench)
            wanted = [(kernel[0], 1, kernel[0], 1), (*kernel, *kernel)]
            if flags == ("--dtype", "bf16"):  # the convolution reads a rounded copy
                wanted[1] = wanted[0]
            tap.ok(f"{name} {' '.join(flags)}: the same bits together and apart",
                   results[0] == results[1] and kernels == wanted, kernels)


if __name__ == "__main__":
    sys.exit(run(CASES, check_others_stay, check_output_shape, check_bits))
