#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions that become convolutions, of all phases of their stride: each compared with ONNX Runtime and with
the known answers of the graph as it was; and those that stay as they are."""
import sys

import numpy as np

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case

ONE = dict(conv=1, conv_transpose=0)


def up(g, x, c, m, kernel=(4, 4), stride=(2, 2), bias=True, name="up", **attributes):
    attributes.setdefault("pads", [0] * (2 * len(kernel)))
    weights = [g.weight(c, m, *kernel, scale=0.2)] + ([g.weight(m)] if bias else [])
    return g.op("ConvTranspose", x, *weights, strides=list(stride), name=name, **attributes)


# ---- all phases at once ----

@case(("phases", "up", APPLIED), steps=ONE)
def to_one_channel(g):
    g.output(up(g, g.input(1, 32, 5, 7), 32, 1, pads=[1, 1, 1, 1]))


@case(("phases", "up+act", APPLIED), steps=ONE)
def with_activation(g):
    g.output(g.op("Sigmoid", up(g, g.input(2, 32, 6, 9), 32, 3, pads=[1, 1, 1, 1]), name="act"))


@case(("phases", "up", APPLIED), steps=ONE)
def phases_with_fewer_taps(g):
    """Of 9 taps along H every second phase has 4, of 3 along W one has 1."""
    g.output(up(g, g.input(1, 48, 4, 6), 48, 1, (9, 3), bias=False, pads=[3, 0, 2, 1], output_padding=[0, 1]))


@case(("phases", "up", APPLIED), steps=ONE)
def strides_of_three_and_four(g):
    g.output(up(g, g.input(1, 40, 5, 4), 40, 2, (9, 8), (3, 4), pads=[4, 2, 4, 2], output_padding=[2, 0]))


@case(("phases", "up", APPLIED), steps=ONE)
def along_one_axis(g):
    g.output(up(g, g.input(1, 32, 3, 11), 32, 2, (1, 8), (1, 4), pads=[0, 2, 0, 2]))


@case(("phases", "up", APPLIED), steps=ONE)
def taps_along_the_other_axis(g):
    """Windows touch along H."""
    g.output(up(g, g.input(1, 32, 3, 5), 32, 1, (2, 4), pads=[0, 1, 0, 1]))


@case(("phases", "up", APPLIED), steps=ONE)
def of_a_signal(g):
    g.output(up(g, g.input(2, 64, 13), 64, 1, (16,), (8,), pads=[4, 4]))


@case(("phases", "up", APPLIED), steps=ONE)
def of_one_pixel(g):
    g.output(up(g, g.input(1, 64, 1, 1), 64, 3, pads=[1, 0, 0, 1]))


@case(("phases", "up+norm+act", APPLIED), steps=ONE)
def that_a_normalisation_follows(g):
    y = up(g, g.input(1, 32, 5, 5), 32, 6, pads=[1, 1, 1, 1])
    y = g.op("BatchNormalization", y, *(g.weight(6) for _ in range(3)), g.constant(np.float32([1, 2, 3, 0.5, 1, 4])), name="norm")
    g.output(g.op("Relu", y, name="act"))


@case(("phases", "up", APPLIED), steps=ONE, sizes=[dict(n=1, h=1, w=9), dict(n=3, h=8, w=2)],
      flags=["--dim", "n=1..3", "--dim", "h=1..8", "--dim", "w=1..9"])
def sizes_chosen_by_the_caller(g):
    g.output(up(g, g.input("n", 32, "h", "w"), 32, 2, pads=[1, 1, 1, 1]))


@case(("phases", "up", APPLIED), steps=ONE, flags=["--weights", "bf16"])
def weights_on_bf16(g):
    weight = (np.arange(32 * 2 * 16) * 7 % 13 - 6).astype(np.float32).reshape(32, 2, 4, 4) / np.float32(8)
    g.output(g.op("ConvTranspose", g.input(1, 32, 5, 7), g.constant(weight), strides=[2, 2], name="up"))


# ---- depthwise ----

def apart(g, x, c, kernel=(4, 4), stride=(2, 2), bias=True, name="up", **attributes):
    attributes.setdefault("pads", [0] * (2 * len(kernel)))
    weights = [g.weight(c, 1, *kernel, scale=0.4)] + ([g.weight(c)] if bias else [])
    return g.op("ConvTranspose", x, *weights, strides=list(stride), group=c, name=name, **attributes)


@case(("phases", "up", APPLIED), steps=dict(conv_transpose=0, depthwise=4))
def of_one_channel_to_a_group(g):
    g.output(apart(g, g.input(2, 19, 6, 5), 19, pads=[1, 1, 1, 1]))


@case(("phases", "up+act", APPLIED), steps=dict(conv_transpose=0, depthwise=4))
def depthwise_with_fewer_taps_and_an_activation(g):
    y = apart(g, g.input(1, 32, 5, 7), 32, (3, 3), bias=False, pads=[1, 1, 1, 1], output_padding=[1, 1])
    g.output(g.op("Clip", y, g.constant(np.float32(-0.5)), g.constant(np.float32(1)), name="act"))


@case(("phases", "up+norm", APPLIED), steps=dict(conv_transpose=0, depthwise=16))
def depthwise_by_four(g):
    y = apart(g, g.input(1, 20, 3, 4), 20, (8, 7), (4, 4), pads=[2, 1, 2, 2])
    ones = np.ones(20, np.float32)
    g.output(g.op("BatchNormalization", y, g.weight(20), g.weight(20), g.weight(20), g.constant(ones), name="norm"))


@case(("phases", "up", APPLIED), steps=dict(conv_transpose=0), sizes=[dict(n=1, h=1, w=9), dict(n=3, h=8, w=2)],
      flags=["--dim", "n=1..3", "--dim", "h=1..8", "--dim", "w=1..9"])
def depthwise_of_any_size(g):
    g.output(apart(g, g.input("n", 16, "h", "w"), 16, pads=[1, 1, 1, 1]))


@case(("phases", "up", APPLIED), ("phases", "touching", APPLIED), steps=dict(conv_transpose=0))
def depthwise_of_signals_and_windows_that_touch(g):
    g.output(apart(g, g.input(1, 24, 9), 24, (6,), (3,)), apart(g, g.input(1, 24, 3, 4), 24, (2, 2), name="touching"))


@case(("phases", "many", "phases_slower"), steps=dict(conv_transpose=1))
def depthwise_of_many_phases(g):
    g.output(apart(g, g.input(1, 8, 2, 2), 8, (9, 9), (9, 9), name="many"))


# ---- a stride of 1 ----

@case(("phases", "up", APPLIED), ("phases", "few", APPLIED), ("phases", "apart", APPLIED), steps=dict(conv_transpose=0, depthwise=1))
def at_stride_1(g):
    x = g.input(2, 24, 7, 6)
    g.output(up(g, x, 24, 40, (3, 3), (1, 1), pads=[1, 1, 1, 1]), up(g, x, 24, 3, (5, 4), (1, 1), pads=[0, 3, 2, 1], name="few"),
             apart(g, x, 24, (3, 3), (1, 1), pads=[1, 0, 2, 1], name="apart"))


@case(("phases", "cut", "phases_slower"), steps=dict(conv_transpose=1))
def at_stride_1_with_more_padding_than_taps(g):
    g.output(up(g, g.input(1, 8, 6, 6), 8, 8, (2, 2), (1, 1), pads=[2, 0, 0, 0], name="cut"))


# ---- each phase on its own ----

@case(("phases", "grouped", "grouped"), ("phases", "far", "dilated"), ("phases", "wasteful", "phases_slower"),
      ("phases", "behind", "phases_slower"), steps=dict(conv=0, conv_transpose=4))
def others(g):
    x = g.input(1, 32, 6, 5)
    grouped = g.op("ConvTranspose", x, g.weight(32, 2, 4, 4, scale=0.2), group=2, strides=[2, 2], name="grouped")
    far = up(g, x, 32, 1, dilations=[2, 2], name="far")
    behind = up(g, x, 32, 1, pads=[0, 0, 0, 0], output_padding=[1, 1], name="behind")
    g.output(grouped, far, up(g, x, 32, 8, (3, 3), name="wasteful"), behind)


@case(("phases", "up", "padding_too_wide"), steps=dict(conv=0, conv_transpose=1))
def with_very_long_windows(g):
    g.output(up(g, g.input(1, 8, 3), 8, 1, (2050,), (2,)))


@case(steps=dict(conv_transpose=2))
def of_no_concern(g):
    """Windows that touch, many channels."""
    x = g.input(1, 32, 6, 5)
    g.output(up(g, x, 32, 1, (2, 2), name="touching"), up(g, x, 32, 13, name="many"))


@case(("phases", "one", "shared_weight"), ("phases", "two", "shared_weight"), steps=dict(conv_transpose=2))
def shared_weights(g):
    w = g.weight(32, 1, 4, 4)
    g.output(*(g.op("ConvTranspose", g.input(1, 32, n, 4), w, strides=[2, 2], name=name) for n, name in ((4, "one"), (5, "two"))))


@case(("phases", "up", APPLIED), steps=ONE | dict(pointwise=1))
def that_an_addition_follows(g):
    g.output(g.op("Add", up(g, g.input(1, 32, 4, 5), 32, 2, pads=[1, 1, 1, 1]), g.input(1, 2, 8, 10), name="add"))


def check_bits(tap, bench):
    """All levels and thread counts give the same bits."""
    g = Graph(opset=13)
    x = g.input(2, 32, 19, 23)
    g.output(*(up(g, x, 32, m, kernel, stride, name=f"up{m}")
               for m, kernel, stride in ((1, (9, 9), (3, 3)), (2, (4, 4), (2, 2)), (6, (8, 8), (4, 4)), (3, (5, 4), (2, 2)))))
    why = bench.right(g, "--golden", "1", bits=True)
    tap.ok("the same bits at all levels and thread counts", not why, why)


sys.exit(run(CASES, check_bits))
