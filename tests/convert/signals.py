#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of 1-d convolutions: what stands between them works on images of one line, as they do, and so folds, joins and
keeps room for padding as in networks of images. Vocoders, WaveNet, Conv-TasNet, causal layers; each compared with ONNX
Runtime, and the same bytes at every kernel level and thread count."""
import sys

import numpy as np

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case


def conv(g, x, c, m, size, dilation=1, **attributes):
    """Of the same length."""
    pad = dilation * (size - 1) // 2
    return g.conv(x, c, m, (size,), bias=True, scale=0.2, pads=[pad, pad], dilations=[dilation], **attributes)


def leaky(g, x):
    return g.op("LeakyRelu", x, alpha=0.1)


def residual_block(g, x, channels, size, dilations=(1, 3)):
    for i, dilation in enumerate(dilations):
        y = conv(g, leaky(g, x), channels, channels, size, dilation)
        x = g.op("Add", conv(g, leaky(g, y), channels, channels, size), x, name=f"add{size}{i}")
    return x


def vocoder(g, x):
    """As HiFi-GAN: twice the length, blocks of several kernel sizes, their mean, a wave."""
    x = leaky(g, conv(g, x, 6, 16, 7))
    x = g.op("ConvTranspose", x, g.weight(16, 8, 4, scale=0.2), g.weight(8), strides=[2], pads=[1, 1])
    y = g.op("Add", residual_block(g, x, 8, 3), residual_block(g, x, 8, 5), name="sum")
    y = leaky(g, g.op("Mul", y, g.scalar(0.5), name="mean"))
    return g.op("Tanh", conv(g, y, 8, 1, 7), name="wave")


def gated_layers(g, x, channels, layers=3):
    """As WaveNet: halves of a dilated convolution are value and gate, halves of the next go on and out."""
    skip = None
    for i in range(layers):
        y = conv(g, x, channels, 2 * channels, 3, 2 ** i)
        value, gate = g.op("Split", y, outputs=2, axis=1, name=f"halves{i}")
        y = g.op("Mul", g.op("Tanh", value), g.op("Sigmoid", gate))
        on, out = g.op("Split", conv(g, y, channels, 2 * channels, 1), outputs=2, axis=1, name=f"parts{i}")
        x = g.op("Add", x, on, name=f"on{i}")
        skip = out if skip is None else g.op("Add", skip, out, name=f"skip{i}")
    return g.op("Relu", skip)


def rows(*names):
    return [("signal", name, APPLIED) for name in names]


# ---- networks ----

@case(*rows("sum", "mean", "wave"), *(("epilogue", f"add{n}", APPLIED) for n in (30, 31, 50, 51)),
      steps=dict(conv=10, conv_transpose=1, copy=0))
def layers_of_a_vocoder(g):
    g.output(vocoder(g, g.input(1, 6, 20)))


@case(*rows("on0", "skip1"), steps=dict(conv=7, copy=0),
      sizes=[{"n": 1, "l": 9}, {"n": 3, "l": 30}], flags=["--dim", "n=1..3", "--dim", "l=8..40"])
def layers_of_wavenet(g):
    g.output(gated_layers(g, conv(g, g.input("n", 4, "l"), 4, 8, 1), 8))


@case(*rows("bn", "add"), ("epilogue", "add", APPLIED), ("epilogue", "prelu", APPLIED), ("affine", "next", APPLIED),
      steps=dict(conv=3, depthwise=1, copy=0, pointwise=1))
def layers_of_conv_tasnet(g):
    """An activation keeps the scale before a padded layer apart; the one behind it goes into the weights."""
    x = conv(g, g.input(2, 4, 30), 4, 6, 1)
    y = g.op("PRelu", conv(g, x, 6, 12, 1), g.constant(np.full((1, 1), 0.25, np.float32)), name="prelu")
    y = conv(g, g.batch_norm(y, 12, name="bn"), 12, 12, 3, 2, groups=12)
    y = conv(g, g.batch_norm(y, 12, name="next"), 12, 6, 1)
    g.output(g.op("Add", x, y, name="add"))


@case(*rows("before"), ("pad", "before", APPLIED), steps=dict(conv=2, pad=0, copy=0))
def causal_layers(g):
    """Padded on one side by a node of its own."""
    x = g.op("Relu", conv(g, g.input(1, 4, 25), 4, 8, 1))
    g.output(g.conv(g.op("Pad", x, g.ints(0, 0, 4, 0, 0, 0), name="before"), 8, 5, (3,), dilations=[2]))


@case(*rows("mean", "scaled"), steps=dict(conv=4, reduce=1, copy=0))
def squeeze_and_excitation(g):
    x = conv(g, g.input(2, 4, 21), 4, 8, 3)
    s = g.op("Relu", conv(g, g.op("ReduceMean", x, axes=[2], name="mean"), 8, 4, 1))
    s = g.op("Sigmoid", conv(g, s, 4, 8, 1))
    g.output(conv(g, g.op("Mul", x, s, name="scaled"), 8, 3, 5))


@case(*rows("join", "longer", "part"), *(("concat", f"join[{i}]", APPLIED) for i in (0, 1)),
      ("slice", "part", APPLIED), ("concat", "longer[0]", "not_adjacent"), steps=dict(slice=0, conv=4))
def parts_of_signals(g):
    """Channels of several layers, signals behind each other (the first part is one already), a part of the channels."""
    x = conv(g, g.input(1, 4, 16), 4, 4, 1)
    y = g.op("Concat", conv(g, x, 4, 5, 3), conv(g, x, 4, 3, 5), axis=1, name="join")
    longer = g.op("Concat", y, g.op("Relu", y), axis=2, name="longer")
    part = g.op("Slice", y, g.ints(2), g.ints(6), g.ints(1), name="part")
    g.output(conv(g, longer, 8, 2, 3), conv(g, part, 4, 4, 3, groups=4))


@case(*rows("per_channel", "per_place", "both", "number"), steps=dict(copy=0, conv=2))
def constants_of_every_rank(g):
    x = conv(g, g.input(2, 3, 12), 3, 6, 3)
    x = g.op("Max", x, g.weight(6, 1), name="per_channel")
    x = g.op("Max", g.weight(12), x, name="per_place")
    x = g.op("Min", x, g.weight(1, 6, 12), name="both")
    g.output(conv(g, g.op("Max", x, g.scalar(-0.5), name="number"), 6, 4, 3))


@case(*rows("sum", "cut"), steps=dict(conv=2))
def signals_that_are_outputs(g):
    """In the middle, and one that a layer and others read; a value of another layout joins them."""
    x, other = g.input(1, 4, 10), g.op("Softmax", g.input(1, 6, 10), axis=1)
    y = conv(g, x, 4, 6, 3)
    total = g.op("Add", y, other, name="sum")
    g.output(total, y, conv(g, total, 6, 2, 3), g.op("Slice", y, g.ints(1), g.ints(9), g.ints(2), g.ints(3), name="cut"))


@case(*rows("bn"), steps=dict(conv=2, copy=0))
def input_that_layers_read_too(g):
    """Before any convolution, and for one that comes later."""
    x = g.input(2, 4, 15)
    y = g.op("Sigmoid", g.batch_norm(x, 4, name="bn"))
    g.output(conv(g, y, 4, 5, 3), conv(g, x, 4, 3, 3))


# ---- what stays a signal ----

@case(("signal", "add", "broadcast"), steps=dict(conv=2))
def operand_of_another_rank(g):
    x = conv(g, g.input(1, 4, 10), 4, 6, 3)
    g.output(conv(g, g.op("Add", x, g.op("Exp", g.input(10)), name="add"), 6, 3, 3))


@case(*rows("pad"), ("pad", "pad", "pads_channels"), steps=dict(conv=2, pad=1))
def channels_that_are_padded(g):
    x = conv(g, g.input(1, 4, 10), 4, 6, 3)
    g.output(conv(g, g.op("Pad", x, g.ints(0, 1, 0, 0, 1, 0), name="pad"), 8, 3, 3))


def check_bits(tap, bench):
    graph = Graph()
    graph.output(vocoder(graph, graph.input(2, 6, 37)), gated_layers(graph, graph.input(3, 8, 50), 8))
    why = bench.right(graph, "--golden", "1", bits=True)
    tap.ok("networks of signals have the same bytes at every kernel level and thread count", not why, why)


def check_no_noise(tap, bench):
    """Values of three axes that no convolution takes are no signals."""
    graph = Graph()
    x = graph.op("MatMul", graph.input(2, 5, 6), graph.weight(6, 8))
    graph.output(graph.op("Add", graph.op("Exp", x), graph.weight(5, 1)))
    why = bench.right(graph, "--golden", "1")
    found = [row for row in bench.ledger() if row["pass"] == "signal"]
    tap.ok("rows of a linear layer are no signals", not why and not found, why, *found)


if __name__ == "__main__":
    sys.exit(run(CASES, check_bits, check_no_noise))
