#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators as older operator sets have them: with attributes that became inputs later, other defaults, other meanings
of shapes. Compared with ONNX Runtime from opset 7 on, which is where it begins, and with numpy before that. What gives
up says which operator it is."""
import sys
import tempfile

import numpy as np
from onnx import TensorProto

from errors import Errors
from operators import f32, i64, single
from small_graphs import Graph, expected_outputs

from ipextest import Tap


def top_k(opset, k, x=(3, 5), **attributes):
    g = Graph(opset)
    values, places = g.op("TopK", g.input(*x), k=k, outputs=2, **attributes)
    g.output(values, g.op("Cast", places, to=TensorProto.FLOAT if opset > 5 else "FLOAT"))
    return g


def dropout(opset, read):
    g = Graph(opset)
    y, mask = g.op("Dropout", g.input(3, 4), outputs=2, name="drop")
    g.output(y, *([g.op("Cast", mask, to=TensorProto.FLOAT, name="reader")] if read else []))
    return g


def normalised(opset=18, groups=2, channels=6):
    return single("GroupNormalization", (2, channels, 3, 4), f32(groups), f32(groups, seed=4), opset=opset, num_groups=groups)


def run_by_others():
    """(name, graph)"""
    yield "TopK", top_k(9, 2)
    yield "TopK of all, along the first axis", top_k(9, 3, axis=0)
    yield "TopK of one, an image", top_k(8, 1, (1, 4, 3, 2), axis=1)
    yield "Dropout whose mask nobody reads", dropout(9, False)
    yield "Dropout with a mask", dropout(13, True)
    yield "GroupNormalization by groups", normalised()
    yield "GroupNormalization by channels", normalised(groups=6)
    yield "GroupNormalization of a signal", single("GroupNormalization", (2, 4, 9), f32(2), f32(2), opset=20, num_groups=2)
    for x, scales in ((2, 3, 10), (1, 1, 0.75)), ((1, 2, 4, 10), (1, 1, 0.6, 0.75)), ((1, 2, 4, 7), (1, 1, 1.5, 0.75)), ((1, 2, 7, 5, 3), (
            1, 1, 0.4, 2, 0.7)):
        yield f"nearest Resize of {x} by {scales}", single("Resize", x, np.float32(scales), opset=10)
    yield "LogSoftmax of all", single("LogSoftmax", (3, 4), opset=11, axis=0)
    yield "Hardmax of all", single("Hardmax", (3, 4), opset=11, axis=0)
    yield "Slice", single("Slice", (3, 5), opset=9, starts=[1, -2], ends=[3, 9])
    yield "Unsqueeze", single("Unsqueeze", (3, 5), opset=9, axes=[0, 3])
    yield "Split", single("Split", (6, 5), opset=9, axis=1, split=[5])
    yield "ReduceSum", single("ReduceSum", (3, 4, 5), opset=9, axes=[1], keepdims=0)
    yield "Scatter", single("Scatter", (3, 4), np.array([[1, 3]]), f32(1, 2), opset=9, axis=1)


def by_hand():
    """(name, graph, function from the input to the outputs)"""
    scale, shift, mean, variance = f32(3), f32(3, seed=4), f32(3, seed=5), np.abs(f32(3, seed=6)) + 0.5
    yield "TopK", top_k(1, 2), lambda x: (np.sort(x)[:, :2:-1], np.argsort(-x)[:, :2].astype(np.float32))
    g = Graph(5)
    g.output(g.op("Cast", g.op("Cast", g.input(3, 4), to="INT32"), to="FLOAT"))
    yield "Cast to a name and back", g, lambda x: (np.trunc(x),)
    g = Graph(3)
    g.output(g.op("Concat", *[g.input(2, 3)] * 2))
    yield "Concat without an axis", g, lambda x: (np.concatenate([x, x], 1),)
    for width in 5, 3:  # of as many columns as channels too
        yield f"PRelu by channels, {width} columns", single("PRelu", (2, 3, 4, width), scale, opset=6), lambda x: (
            np.where(x < 0, x * scale[:, None, None], x),)
    yield "PRelu of a matrix", single("PRelu", (2, 3), scale, opset=6), lambda x: (np.where(x < 0, x * scale, x),)
    at = (slice(None), None, None)
    for said in {}, {"is_test": 1}:
        yield f"BatchNormalization {said}", single("BatchNormalization", (2, 3, 4, 4), scale, shift, mean, variance, opset=6, **said), (
            lambda x: ((x - mean[at]) / np.sqrt(variance[at] + 1e-5) * scale[at] + shift[at],))
    yield "BatchNormalization by its own statistics", single(
        "BatchNormalization", (2, 3, 4, 4), scale, shift, mean, variance, opset=6, is_test=0), lambda x: (
            (x - x.mean((0, 2, 3), keepdims=True)) / np.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5) * scale[at] + shift[at],)


def refused():
    """(name, words, graph)"""
    g = Graph(9)
    g.output(*g.op("TopK", g.input(3, 5), outputs=2, name="the_node"))
    yield "TopK without k", ["the_node (TopK): k, the number of elements that it takes, is missing"], g
    yield "CumSum without an axis", ["the_node (CumSum): input 1, the axis, is missing"], single(
        "CumSum", (3, 5), opset=11, name="the_node")
    yield "Concat of nothing", ["the_node (Concat): it has no inputs"], single("Concat", axis=0, name="the_node")
    yield "a mask that is read", ["reader (Cast): reads drop_out1: output 1 of drop (Dropout), which is not supported"], dropout(9, True)
    g = Graph(9)
    g.output(*g.op("Dropout", g.input(3, 4), outputs=2, name="drop"))
    yield "a mask as an output", ["drop_out1 (graph output): output 1 of drop (Dropout), which is not supported"], g
    yield "statistics per element", ["the_node (BatchNormalization): statistics per element (spatial=0)"], single(
        "BatchNormalization", (2, 3, 4), *[f32(3, 4)] * 4, opset=7, spatial=0, name="the_node")
    yield "tiles as floats", ["the_node (Tile): input 1 (const0) decides a shape and is f32, not an integer"], single(
        "Tile", (3, 4), np.float32(2), np.float32(1), opset=5, name="the_node")
    yield "a cast to a name of no type", ["the_node (Cast): a cast to undefined"], single(
        "Cast", (3, 4), opset=5, to="REAL", name="the_node")


def check(tap, bench, name, graph, expected):
    model = graph.model()
    done = bench.convert(model)
    why = done.stderr if done.returncode else None
    if not why:
        feeds = graph.feeds()
        outputs = expected_outputs(model, feeds) if expected is expected_outputs else dict(zip(graph.outputs, expected(feeds["in0"])))
        why = bench.compare(feeds, outputs)
    tap.ok(f"opset {graph.opset}: {name}", not why, why)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Errors(tap, folder)
        for name, graph in run_by_others():
            check(tap, bench, name, graph, expected_outputs)
        for name, graph, expected in by_hand():
            check(tap, bench, name, graph, expected)
        for name, words, graph in refused():
            bench.fails(name, 1, words, model=graph.model())
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
