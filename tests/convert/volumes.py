#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Convolutions, pools and resizes of volumes [N][C][D][H][W], which are made of images: windows of every kind, blocks as
of R3D, X3D and 3-d U-Nets, sizes that each run chooses. Each compared with ONNX Runtime, with the same bytes at every
kernel level and thread count; what is refused names itself."""
import sys

import numpy as np

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case


def conv(g, x, c, m, kernel=(3, 3, 3), **attributes):
    """Of the same size where strides are 1."""
    if "auto_pad" not in attributes:
        attributes.setdefault("pads", 2 * [k // 2 for k in kernel])
    return g.conv(x, c, m, kernel, bias=True, scale=0.2, **attributes)


# ---- networks ----

@case(*(("epilogue", name, APPLIED) for name in ("relu1", "add", "relu2", "relu3")), ("affine", "bn1", APPLIED),
      ("affine", "bn2", APPLIED), steps=dict(conv=4, pointwise=0))
def block_of_r3d(g):
    x = g.op("Relu", conv(g, g.input(2, 3, 4, 9, 8), 3, 8, (1, 3, 3), strides=[1, 2, 2]), name="relu1")
    y = g.op("Relu", g.batch_norm(conv(g, x, 8, 8), 8, name="bn1"), name="relu2")
    y = g.batch_norm(conv(g, y, 8, 8), 8, name="bn2")
    x = g.op("Relu", g.op("Add", y, x, name="add"), name="relu3")
    g.output(g.op("GlobalAveragePool", conv(g, x, 8, 5, (1, 1, 1))))


@case(("epilogue", "add", APPLIED), ("epilogue", "relu", APPLIED), steps=dict(conv=3))
def layer_of_r2plus1d(g):
    """Planes and depths apart, a shortcut that is a layer too."""
    x = g.input(1, 6, 5, 6, 7)
    y = conv(g, conv(g, x, 6, 10, (1, 3, 3)), 10, 8, (3, 1, 1), strides=[2, 1, 1])
    y = g.op("Add", conv(g, x, 6, 8, (1, 1, 1), strides=[2, 1, 1]), y, name="add")
    g.output(g.op("Relu", y, name="relu"))


@case(("affine", "bn", APPLIED), steps=dict(depthwise=3))
def block_of_x3d(g):
    """A depth of a depthwise window is a convolution of its own."""
    x = conv(g, g.input(1, 4, 4, 8, 8), 4, 12, (1, 1, 1))
    x = g.batch_norm(conv(g, x, 12, 12, groups=12, strides=[1, 2, 2]), 12, name="bn")
    s = g.op("Sigmoid", conv(g, g.op("ReduceMean", x, axes=[2, 3, 4]), 12, 12, (1, 1, 1)))
    x = g.op("Mul", x, s)
    g.output(conv(g, g.op("Mul", x, g.op("Sigmoid", x)), 12, 6, (1, 1, 1)))


@case(steps=dict(conv_transpose=1))
def u_net(g):
    x = g.op("Relu", conv(g, g.input(1, 2, 4, 8, 6), 2, 6))
    y = g.op("Relu", conv(g, g.op("MaxPool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 2]), 6, 8))
    y = g.op("InstanceNormalization", y, g.positive(8), g.weight(8))
    y = g.op("ConvTranspose", y, g.weight(8, 6, 2, 2, 2, scale=0.2), g.weight(6), strides=[2, 2, 2])
    y = g.op("LeakyRelu", conv(g, g.op("Concat", x, y, axis=1), 12, 4), alpha=0.1)
    g.output(conv(g, y, 4, 3, (1, 1, 1)))


FLAGS = ["--dim", "n=1..3", "--dim", "d=2..8:2", "--dim", "h=4..12", "--dim", "w=6..10:2"]


@case(sizes=[dict(n=1, d=2, h=4, w=6), dict(n=3, d=6, h=9, w=10), dict(n=2, d=8, h=12, w=8)], flags=FLAGS)
def sizes_that_a_run_chooses(g):
    x = g.op("Relu", conv(g, g.input("n", 2, "d", "h", "w"), 2, 6))
    y = g.op("AveragePool", x, kernel_shape=[2, 3, 3], strides=[2, 1, 1], pads=[0, 1, 1, 0, 1, 1])
    y = g.op("ConvTranspose", y, g.weight(6, 6, 2, 3, 3, scale=0.2), strides=[2, 1, 1], pads=[0, 1, 1, 0, 1, 1])
    g.output(g.op("Add", conv(g, x, 6, 6, (3, 1, 1)), y), g.op("GlobalMaxPool", y))


# ---- windows ----

WINDOWS = [
    dict(kernel=(3, 3, 3), pads=[0] * 6), dict(kernel=(2, 3, 1), pads=[1, 0, 0, 0, 2, 0]),
    dict(kernel=(3, 3, 3), strides=[2, 1, 2], pads=[1, 1, 1, 1, 1, 1]), dict(kernel=(3, 3, 2), dilations=[2, 1, 3]),
    dict(kernel=(4, 4, 4), strides=[4, 4, 4], pads=[0] * 6), dict(kernel=(3, 3, 3), strides=[2, 2, 1], auto_pad="SAME_UPPER"),
    dict(kernel=(5, 1, 1), strides=[2, 1, 1]), dict(kernel=(3, 1, 1), auto_pad="SAME_LOWER"), dict(kernel=(3, 1, 1), dilations=[2, 1, 1]),
    dict(kernel=(1, 1, 1), strides=[2, 1, 1]), dict(kernel=(1, 5, 5)), dict(kernel=(1, 1, 1), pads=[1, 0, 0, 0, 0, 0]),
    dict(kernel=(3, 3, 3), groups=2), dict(kernel=(3, 1, 1), groups=4), dict(kernel=(1, 3, 3), groups=8),
    dict(kernel=(3, 3, 3), groups=8, strides=[2, 2, 2]), dict(kernel=(3, 1, 1), groups=8),
]
TRANSPOSED = [
    dict(kernel=(2, 2, 2), strides=[2, 2, 2]), dict(kernel=(3, 4, 4), strides=[2, 2, 2], pads=[1, 1, 1, 1, 1, 1], output_padding=[1, 0, 0]),
    dict(kernel=(3, 3, 3), dilations=[2, 1, 1]), dict(kernel=(2, 2, 2), strides=[3, 2, 2], output_padding=[1, 0, 1]),
    dict(kernel=(1, 3, 3), strides=[1, 2, 2], group=2), dict(kernel=(3, 1, 1), strides=[3, 1, 1], pads=[1, 0, 0, 2, 0, 0]),
    dict(kernel=(4, 2, 2), strides=[2, 2, 2], output_shape=[7, 12, 10]), dict(kernel=(2, 3, 3), strides=[2, 2, 2], auto_pad="SAME_UPPER"),
    dict(kernel=(1, 1, 1), strides=[2, 1, 1], output_padding=[1, 0, 0]),
    dict(kernel=(2, 2, 2), group=2, strides=[2, 2, 2]),  # groups that spread along the depth
    dict(kernel=(3, 2, 3), group=2, strides=[2, 1, 2], pads=[1, 0, 1, 1, 0, 1], output_padding=[1, 0, 1]),
    dict(kernel=(3, 1, 1), group=2, strides=[1, 1, 1], dilations=[2, 1, 1]),
]
POOLS = [
    dict(kernel_shape=[2, 2, 2], strides=[2, 2, 2]), dict(kernel_shape=[3, 3, 3], strides=[2, 2, 2], pads=[1, 1, 1, 1, 1, 1]),
    dict(kernel_shape=[1, 3, 3], strides=[1, 2, 2], pads=[0, 1, 1, 0, 1, 1]), dict(kernel_shape=[3, 1, 1], pads=[1, 0, 0, 1, 0, 0]),
    dict(kernel_shape=[3, 2, 3], strides=[2, 2, 3], ceil_mode=1), dict(kernel_shape=[2, 2, 2], dilations=[2, 1, 2], auto_pad="VALID"),
    dict(kernel_shape=[3, 3, 3], auto_pad="SAME_LOWER"), dict(kernel_shape=[1, 1, 1], strides=[2, 1, 1]),
    dict(kernel_shape=[9, 10, 3], strides=[4, 4, 2], ceil_mode=1, pads=[0, 0, 1, 0, 0, 0]),
]


def describe(window):
    return ", ".join(f"{key} {value}" for key, value in window.items())


def right(tap, bench, title, graph, *flags, **more):
    why = bench.right(graph, *flags, **more)
    tap.ok(title, why is None, why)


def check_convolutions(tap, bench):
    for window in WINDOWS:
        graph = Graph()
        graph.output(conv(graph, graph.input(2, 8, 6, 7, 8), 8, 16, **window))
        right(tap, bench, f"a convolution with {describe(window)}", graph, bits=True)


def check_transposed(tap, bench):
    for window in TRANSPOSED:
        graph, window = Graph(), dict(window)
        kernel, group = window.pop("kernel"), window.get("group", 1)
        weight = graph.weight(8, 6 // group, *kernel, scale=0.2)
        graph.output(graph.op("ConvTranspose", graph.input(2, 8, 4, 6, 5), weight, graph.weight(6), **window))
        right(tap, bench, f"a transposed convolution of {kernel} with {describe(window)}", graph, bits=True)


def check_pools(tap, bench):
    for window in POOLS:
        graph = Graph(opset=19)
        x = graph.input(2, 5, 6, 9, 8)
        graph.output(graph.op("MaxPool", x, **window))
        for count in (0, 1):
            if window.get("ceil_mode") and count:
                continue  # ONNX Runtime of today counts what lies beyond the padding too
            graph.output(graph.op("AveragePool", x, count_include_pad=count, **window))
        right(tap, bench, f"pools with {describe(window)}", graph, bits=True)


def check_resizes(tap, bench):
    for mode, place, sizes, scales in (
            ("linear", "half_pixel", None, [1, 1, 2, 2, 2]), ("linear", "align_corners", [1, 3, 7, 9, 11], None),
            ("nearest", "asymmetric", None, [1, 1, 2, 1, 3]), ("nearest", "half_pixel", [1, 3, 4, 12, 5], None),
            ("linear", "half_pixel", None, [1, 1, 0.5, 1, 1])):
        graph = Graph()
        operands = [graph.constant(np.array(scales, np.float32))] if scales else ["", graph.ints(*sizes)]
        graph.output(graph.op("Resize", graph.input(1, 3, 4, 6, 5), "", *operands, mode=mode, nearest_mode="floor",
                              coordinate_transformation_mode=place))
        right(tap, bench, f"a volume resized by {mode}, {place}, to {sizes or scales}", graph, bits=True)


def check_axes_of_resize(tap, bench):
    for x, axes, sizes, scales, more in (
            ((1, 3, 6, 5), [2, 3], None, [2, 3], {}), ((1, 3, 6, 5), [3, 2], [10, 9], None, {}),
            ((1, 3, 6, 5), [-1], None, [2], {}), ((2, 3, 4, 6, 5), [2, 4], [8, 10], None, {}),
            ((1, 3, 6, 5), [2, 3], [12, 20], None, dict(keep_aspect_ratio_policy="not_larger")),
            ((1, 3, 6, 5), [2, 3], [12, 20], None, dict(keep_aspect_ratio_policy="not_smaller"))):
        graph = Graph(opset=18)
        operands = [graph.constant(np.array(scales, np.float32))] if scales else ["", graph.ints(*sizes)]
        graph.output(graph.op("Resize", graph.input(*x), "", *operands, mode="nearest", axes=axes, **more))
        right(tap, bench, f"axes {axes} of {x} resized to {sizes or scales} {more or ''}", graph)


def refusal(tap, bench, title, graph, *words):
    done = bench.convert(graph.model())
    tap.ok(title, done.returncode == 1 and all(word in done.stderr for word in words), done.stderr)


def check_refusals(tap, bench):
    graph = Graph()
    graph.output(graph.op("MaxPool", graph.input(1, 2, 3, 4, 5, 6), kernel_shape=[2, 2, 2, 2], name="pool"))
    refusal(tap, bench, "windows over four axes are refused", graph, "pool (MaxPool)", "has rank 6")
    graph = Graph()
    graph.output(conv(graph, graph.input(1, 4, 2, 4, 5), 4, 2, (3, 3, 3), pads=[0] * 6, name="large"))
    refusal(tap, bench, "a window deeper than the volume is refused", graph, "large (Conv)", "window (3)")
    graph = Graph(opset=18)
    graph.output(graph.op("Resize", graph.input(1, 3, 6, 5), "", graph.scalar(2), mode="nearest", axes=[2, 3], name="up"))
    refusal(tap, bench, "scales that are not as many as axes are refused", graph, "up (Resize)", "2 axes")


if __name__ == "__main__":
    sys.exit(run(CASES, check_convolutions, check_transposed, check_pools, check_resizes, check_axes_of_resize, check_refusals))
