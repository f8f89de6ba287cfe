#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What several threads share although it is one line, row or image: pixels of signals and of channels that come first
again, panels of a product of one row, columns of a reduction. Each against ONNX Runtime, with the same bytes at every
kernel level and thread count."""
import pathlib
import sys
import tempfile

import numpy as np
import onnx

from small_graphs import Bench, Graph, variants

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap


def graphs():
    """(title, graph)"""
    for channels, window, stride in (40, 9, 1), (24, 3, 2), (7, 5, 1):
        g = Graph()
        w = g.weight(channels, 1, window)
        x = g.input(1, channels, 2003)
        y = g.op("Conv", x, w, g.weight(channels), group=channels, kernel_shape=[window], strides=[stride],
                 pads=[window // 2, window // 2])
        g.output(g.op("Relu", y))
        yield f"a depthwise signal of {channels} channels, windows of {window}, stride {stride}", g
    g = Graph()
    x = g.input(1, 512)
    g.output(g.op("MatMul", g.op("Relu", g.op("MatMul", x, g.weight(512, 520, scale=0.1))), g.weight(520, 37, scale=0.1)))
    yield "linear layers of one row", g
    for op_type in "ReduceMax", "ReduceMean", "ReduceSum":
        g = Graph(13)
        x = g.input(1, 900, 96)
        axes = [g.ints(1)] if op_type == "ReduceSum" else []
        g.output(g.op(op_type, x, *axes, keepdims=0, **({} if axes else {"axes": [1]})))
        yield f"{op_type} to one row", g
    for images, height, width in (1, 64, 96), (1, 61, 67), (2, 40, 48):
        g = Graph()
        g.output(g.conv(g.input(images, 8, height, width), 8, 19, pads=[1, 1, 1, 1], bias=True))
        yield f"19 channels first again, {images} x {height} x {width}", g
    g = Graph()
    shape = (90, 70, 8)
    x, mask = g.input(*shape), g.input(90, 70, 1, dtype=onnx.TensorProto.BOOL)
    g.output(g.op("Where", mask, x, g.constant(np.float32(-3.0))), g.op("Where", mask, x, g.input(1, 70, 8)))
    yield "where of short rows", g


MORE_THREADS = [("--threads", str(n)) for n in (3, 4)]


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for title, graph in graphs():
            why = bench.right(graph, bits=variants() + MORE_THREADS)
            tap.ok(title, why is None, why)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
