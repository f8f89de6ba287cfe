#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator that the converter imports, with odd attributes, against ONNX Runtime; and random networks of
several nodes, which must also give the same bytes at every kernel level and thread count, large ones with bands and
without.

operators.py [--only TEXT] [--random FIRST-LAST] [--large FIRST-LAST]"""
import argparse
import itertools
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from random_networks import random_network
from small_graphs import Bench, Graph

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

CASES = {}
RANDOM_NETWORKS, LARGE_NETWORKS = 150, 40
IN_BANDS = [("--no-bands",), (), ("--threads", "2"), ("--isa", "avx2")]


def cases(function):
    """Marks a generator of (name, Graph)."""
    CASES[function.__name__] = function
    return function


def single(op_type, *operands, opset=17, **attributes):
    """A graph of one node. An operand is the shape of a run-time input, or an array for a constant."""
    g = Graph(opset)
    names = [g.input(*x) if isinstance(x, tuple) else "" if x is None else g.constant(x) for x in operands]
    g.output(g.op(op_type, *names, **attributes))
    return g


def f32(*dims, seed=3):
    return np.random.default_rng(seed).standard_normal(dims).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


# ---- windows ----

@cases
def conv():
    shapes = [  # input, weight, attributes
        ((1, 3, 9, 9), (8, 3, 3, 3), {}),
        ((1, 3, 9, 9), (8, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((2, 5, 11, 7), (17, 5, 3, 3), {"pads": [0, 2, 1, 0]}),
        ((1, 1, 12, 12), (4, 1, 5, 5), {"pads": [2, 2, 2, 2]}),
        ((1, 16, 8, 8), (33, 16, 1, 1), {}),
        ((1, 16, 9, 8), (16, 16, 1, 1), {"strides": [2, 2]}),
        ((1, 7, 10, 10), (5, 7, 2, 4), {"strides": [2, 1], "pads": [1, 1, 0, 2]}),
        ((1, 4, 6, 6), (8, 4, 7, 7), {"pads": [3, 3, 3, 3]}),
        ((1, 4, 3, 3), (8, 4, 5, 5), {"pads": [2, 2, 2, 2], "strides": [2, 2]}),
        ((1, 4, 6, 6), (8, 4, 6, 6), {}),
        ((1, 3, 12, 12), (8, 3, 3, 3), {"dilations": [2, 2], "pads": [2, 2, 2, 2]}),
        ((1, 3, 12, 12), (8, 3, 3, 3), {"dilations": [2, 1], "pads": [2, 1, 2, 1]}),
        ((1, 3, 12, 12), (8, 3, 3, 3), {"dilations": [1, 3], "pads": [1, 3, 0, 3], "strides": [1, 2]}),
        ((1, 8, 9, 9), (8, 4, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
        ((2, 12, 9, 9), (18, 4, 3, 3), {"group": 3, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 40, 5, 5), (40, 20, 1, 1), {"group": 2}),
        ((1, 64, 121, 90), (48, 8, 3, 3), {"group": 8, "strides": [2, 2], "pads": [1, 1, 1, 1]}),  # more than L2 holds
        ((1, 6, 9, 9), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
        ((1, 35, 9, 9), (35, 1, 5, 3), {"group": 35, "pads": [2, 1, 2, 1], "strides": [2, 1]}),
        ((1, 6, 9, 9), (6, 1, 3, 3), {"group": 6, "dilations": [2, 2]}),
        ((1, 6, 9, 9), (12, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
        ((1, 1, 9, 9), (1, 1, 3, 3), {"group": 1}),
        ((1, 3, 9, 8), (8, 3, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 3, 9, 8), (8, 3, 2, 4), {"auto_pad": "SAME_LOWER", "strides": [2, 3]}),
        ((1, 3, 9, 8), (8, 3, 2, 2), {"auto_pad": "SAME_UPPER"}),
        ((1, 3, 9, 8), (8, 3, 3, 5), {"auto_pad": "SAME_LOWER"}),
        ((1, 3, 9, 8), (8, 3, 3, 3), {"auto_pad": "VALID", "kernel_shape": [3, 3]}),
        ((2, 5, 20), (7, 5, 3), {}),
        ((2, 6, 21), (8, 3, 4), {"group": 2, "strides": [2], "pads": [1, 2], "dilations": [2]}),
        ((1, 5, 20), (5, 1, 3), {"group": 5, "auto_pad": "SAME_UPPER"}),
    ]
    for index, (x, w, attributes) in enumerate(shapes):
        for bias in (False, True):
            operands = [x, f32(*w)] + ([f32(w[0], seed=4)] if bias else [])
            yield f"{index} {x} {w} {attributes} bias {bias}", single("Conv", *operands, **attributes)


@cases
def conv_weights():
    g = Graph()
    x, w = g.input(1, 4, 8, 8), g.weight(4, 4, 3, 3)
    turned = g.op("Transpose", w, perm=[1, 0, 2, 3])
    scaled = g.op("Mul", turned, g.scalar(0.5))
    g.output(g.op("Conv", x, scaled), g.op("Conv", x, w), g.op("Conv", x, turned, g.op("Neg", g.weight(4))))
    yield "computed from constants", g
    g = Graph()
    x = g.input(1, 6, 20)
    w = g.op("Unsqueeze", g.weight(4, 6), g.ints(2))
    g.output(g.op("Conv", x, w))
    yield "unsqueezed constant", g


@cases
def pool():
    windows = [
        ((1, 3, 9, 9), {"kernel_shape": [2, 2]}),
        ((1, 3, 9, 9), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((2, 5, 10, 7), {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 2, 1]}),
        ((1, 33, 7, 7), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
        ((1, 3, 10, 10), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1, "pads": [1, 1, 1, 1]}),
        ((1, 3, 8, 8), {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1, "pads": [0, 0, 1, 1]}),
        ((1, 3, 5, 5), {"kernel_shape": [1, 1], "strides": [3, 3], "ceil_mode": 1}),
        ((1, 3, 12, 12), {"kernel_shape": [3, 3], "dilations": [2, 2]}),
        ((1, 3, 12, 12), {"kernel_shape": [3, 3], "dilations": [2, 3], "pads": [2, 1, 1, 2], "strides": [2, 1]}),
        ((1, 3, 9, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 3, 9, 8), {"kernel_shape": [2, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ((1, 3, 9, 8), {"kernel_shape": [3, 3], "auto_pad": "VALID"}),
        ((1, 3, 6, 6), {"kernel_shape": [6, 6]}),
        ((2, 5, 20), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
        ((2, 5, 21), {"kernel_shape": [4], "strides": [3], "ceil_mode": 1}),
        ((1, 3, 7, 7), {"kernel_shape": [1280, 1280], "strides": [1280, 1280], "ceil_mode": 1}),
        ((1, 3, 5, 4), {"kernel_shape": [7, 3], "strides": [4, 1], "ceil_mode": 1}),
        ((1, 3, 5, 6), {"kernel_shape": [9, 9], "strides": [4, 4], "ceil_mode": 1, "pads": [1, 0, 1, 2]}),
        ((1, 3, 5, 4), {"kernel_shape": [3, 4], "strides": [3, 8], "ceil_mode": 1, "dilations": [3, 2]}),
        ((2, 5, 4), {"kernel_shape": [6], "strides": [3], "ceil_mode": 1}),
        ((2, 5, 2), {"kernel_shape": [2], "strides": [2], "ceil_mode": 1, "dilations": [3], "pads": [0, 1]}),
        ((1, 3, 5, 5), {"kernel_shape": [3, 2], "strides": [4, 5], "ceil_mode": 1, "dilations": [3, 6], "pads": [1, 0, 0, 1]}),
    ]
    for x, attributes in windows:
        yield f"max {x} {attributes}", single("MaxPool", x, opset=12, **attributes)
        dilated = "dilations" in attributes
        for count_pad in (0, 1):
            yield (f"average {x} {attributes} count_include_pad {count_pad}",
                   single("AveragePool", x, opset=19, count_include_pad=count_pad, **attributes))
            if not dilated:
                yield (f"average, opset 11 {x} {attributes} count_include_pad {count_pad}",
                       single("AveragePool", x, opset=11, count_include_pad=count_pad, **attributes))
    for x in ((2, 5, 7, 6), (1, 33, 1, 1), (2, 5, 9)):
        yield f"global average {x}", single("GlobalAveragePool", x)
        yield f"global max {x}", single("GlobalMaxPool", x)


@cases
def lp_pool():
    windows = [
        ((1, 3, 9, 9), {"kernel_shape": [2, 2]}),
        ((2, 5, 10, 7), {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 2, 1]}),
        ((1, 3, 12, 12), {"kernel_shape": [3, 3], "dilations": [2, 3], "pads": [2, 1, 1, 2]}),
        ((1, 3, 9, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 3, 9, 9), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),  # where nothing is left over
        ((1, 3, 7, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),  # and where windows reach beyond
        ((1, 2, 7, 8), {"kernel_shape": [3, 2], "strides": [3, 3], "pads": [0, 1, 0, 1], "ceil_mode": 1}),
        ((1, 2, 7, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "dilations": [2, 2], "ceil_mode": 1}),
        ((1, 2, 8), {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}),
        ((1, 2, 4, 7), {"kernel_shape": [3, 3], "strides": [3, 2], "dilations": [2, 1], "ceil_mode": 1}),
        ((1, 2, 5, 6, 8), {"kernel_shape": [2, 3, 3], "strides": [2, 2, 2], "pads": [0, 0, 1, 0, 0, 1], "ceil_mode": 1}),
        ((2, 5, 20), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
        ((1, 3, 5, 6, 7), {"kernel_shape": [2, 3, 2], "strides": [1, 2, 1], "pads": [1, 1, 0, 0, 1, 1]}),
    ]
    for (x, attributes), p in itertools.product(windows, (1, 2, 3)):
        yield f"{x} {attributes} p {p}", single("LpPool", x, opset=18, p=p, **attributes)
    yield "of opset 11", single("LpPool", (1, 3, 9, 9), opset=11, kernel_shape=[3, 3])
    for x, p in itertools.product(((2, 5, 7, 6), (1, 33, 9), (1, 3, 4, 5, 2)), (1, 2, 5)):
        yield f"global {x} p {p}", single("GlobalLpPool", x, p=p)


# ---- linear layers ----

@cases
def gemm():
    for trans_a, trans_b in itertools.product((0, 1), repeat=2):
        a, b = ((7, 3) if trans_a else (3, 7)), f32(*((18, 7) if trans_b else (7, 18)))
        for c in (None, f32(18), f32(1, 18), f32(1), np.float32(0.7), f32(1, 1)):
            shape = None if c is None else np.shape(c)
            for alpha, beta in ((1.0, 1.0), (0.5, -2.0)):
                operands = [a, b] + ([] if c is None else [c])
                yield (f"transA {trans_a} transB {trans_b} C {shape} alpha {alpha} beta {beta}",
                       single("Gemm", *operands, transA=trans_a, transB=trans_b, alpha=alpha, beta=beta))
    yield "square C of one row", single("Gemm", (1, 5), f32(5, 5), f32(5))
    yield "beta 0 and a C of NaN", single("Gemm", (3, 7), f32(7, 18), np.full(18, np.nan, np.float32), beta=0.0)
    yield "one column", single("Gemm", (5, 4), f32(4, 1), f32(1, 1))


@cases
def matmul():
    for x in ((7,), (3, 7), (2, 3, 7), (2, 1, 3, 7), (2, 2, 2, 3, 7)):
        yield f"{x} by a matrix", single("MatMul", x, f32(7, 18))
    g = Graph()
    x, w = g.input(3, 7), g.weight(18, 7)
    g.output(g.op("MatMul", x, g.op("Transpose", w, perm=[1, 0])))
    yield "transposed constant", g
    g = Graph()
    x, w = g.input(3, 7), g.weight(7, 7)
    g.output(g.op("MatMul", x, w), g.op("Gemm", x, w, transB=1), g.op("MatMul", g.op("MatMul", x, w), w))
    yield "one weight in both directions", g
    g = Graph()
    x = g.input(2, 5, 7)
    y = g.op("Add", g.op("MatMul", x, g.weight(7, 6)), g.weight(6))
    g.output(g.op("Relu", y), g.op("Add", g.op("MatMul", x, g.weight(7, 6)), g.weight(5, 1)))
    yield "biases along both axes", g


@cases
def batch_norm():
    for x in ((4, 6), (2, 6, 9), (2, 6, 5, 4), (1, 3, 2, 4, 3)):
        for epsilon in (1e-5, 0.1):
            g = Graph(15)
            g.output(g.batch_norm(g.input(*x), x[1], epsilon=epsilon))
            yield f"{x} epsilon {epsilon}", g
    for kernel in ((3, 3), (3,)):
        g = Graph(15)
        x = g.input(2, 4, *[8] * len(kernel))
        g.output(g.op("Relu", g.batch_norm(g.conv(x, 4, 10, kernel, bias=True), 10)))
        yield f"after a convolution with kernel {kernel}", g
    for groups, m in ((2, 8), (4, 4), (4, 8)):
        g = Graph(15)
        g.output(g.batch_norm(g.conv(g.input(1, 4, 6, 6), 4, m, groups=groups), m))
        yield f"after a convolution with {groups} groups, {m} channels", g
    g = Graph(15)
    g.output(g.batch_norm(g.op("Gemm", g.input(3, 7), g.weight(7, 9)), 9))
    yield "after Gemm", g


# ---- softmax and reductions ----

@cases
def softmax():
    for x in ((5,), (3, 5), (2, 3, 4, 5), (1, 4, 1, 1)):
        for axis in range(-len(x), len(x)):
            for opset in (11, 13):
                yield f"{x} axis {axis} opset {opset}", single("Softmax", x, opset=opset, axis=axis)
    yield "default axis, opset 11", single("Softmax", (2, 3, 4), opset=11)
    yield "default axis, opset 13", single("Softmax", (2, 3, 4), opset=13)
    for axis in (1, 2, 3):
        g = Graph(13)
        g.output(g.op("Softmax", g.conv(g.input(1, 3, 6, 5), 3, 7), axis=axis))
        yield f"over axis {axis} of an image", g


@cases
def reduce():
    lists = [[0], [1], [-1], [1, 2], [2, 3], [0, 3], [-2, -1], [0, 1, 2, 3]]
    for op_type in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"):
        for keep in (0, 1):
            for axes in lists:
                yield f"{op_type} axes {axes} keepdims {keep}", reduction(op_type, 11, axes, keep)
            yield f"{op_type} without axes, keepdims {keep}", single(op_type, (2, 3, 4, 5), opset=11, keepdims=keep)
            yield f"{op_type} axes as input, keepdims {keep}", single(op_type, (2, 3, 4, 5), i64(1, -1), opset=18,
                                                                      keepdims=keep)
        g = Graph(11)
        y = g.conv(g.input(1, 3, 6, 5), 3, 7)
        g.output(g.op(op_type, y, axes=[2, 3], keepdims=0), g.op(op_type, y, axes=[1]))
        yield f"{op_type} of an image", g
    yield "nothing to do", single("ReduceSum", (2, 3), opset=13, noop_with_empty_axes=1)
    g = Graph(18)
    g.output(g.op("Cast", g.op("Add", g.input(2, dtype=onnx.TensorProto.INT64), g.op(
        "ReduceMin", g.ints(3, 5), noop_with_empty_axes=1)), to=onnx.TensorProto.FLOAT))
    yield "nothing to do, of sizes", g


def reduction(op_type, opset, axes, keep):
    return single(op_type, (2, 3, 4, 5), opset=opset, axes=axes, keepdims=keep)


# ---- pointwise ----

@cases
def unary():
    for op_type in ("Abs", "Ceil", "Exp", "Floor", "HardSwish", "Identity", "Neg", "Reciprocal", "Relu", "Sigmoid",
                    "Tanh"):
        yield op_type, single(op_type, (2, 3, 5, 7))
    g = Graph()
    g.output(g.op("Sqrt", g.op("Abs", g.input(3, 40))))
    yield "Sqrt", g
    for op_type in ("LeakyRelu", "HardSigmoid"):
        yield f"{op_type} by default", single(op_type, (3, 40))
    yield "LeakyRelu 0.3", single("LeakyRelu", (3, 40), alpha=0.3)
    yield "LeakyRelu -0.5", single("LeakyRelu", (3, 40), alpha=-0.5)
    yield "HardSigmoid 0.3 0.4", single("HardSigmoid", (3, 40), alpha=0.3, beta=0.4)
    for exponent in (2.0, 0.5, -1.0, 1.0, 1.5, 3.0, 4.0, 2.5, -0.5, -2.0, 0.0):
        g = Graph()
        x = g.op("Add", g.op("Abs", g.input(3, 40)), g.scalar(0.1))
        g.output(g.op("Pow", x, g.scalar(exponent)))
        yield f"Pow {exponent}", g
    for exponent in (1.0, 2.0, 3.0, 4.0):
        yield f"Pow {exponent} of both signs", single("Pow", (3, 40), np.float32(exponent))
    yield "Pow 2 by an integer", single("Pow", (3, 40), np.array(2, np.int64))
    yield "Pow 2 of a lower rank", single("Pow", (3, 40), f32(1) * 0 + 2)
    yield "Cast to f32", single("Cast", (3, 40), to=1)
    yield "Dropout", single("Dropout", (3, 40))
    yield "Dropout with ratio and mode", single("Dropout", (3, 40), np.float32(0.5), np.array(False))


@cases
def clip():
    low, high = np.float32(-0.3), np.float32(0.6)
    yield "opset 6", single("Clip", (3, 40), opset=6, min=-0.3, max=0.6)
    yield "opset 6, min", single("Clip", (3, 40), opset=6, min=-0.3)
    yield "opset 6, max", single("Clip", (3, 40), opset=6, max=0.6)
    yield "opset 6, none", single("Clip", (3, 40), opset=6)
    yield "opset 11", single("Clip", (3, 40), low, high, opset=11)
    yield "opset 11, min", single("Clip", (3, 40), low, opset=11)
    yield "opset 11, max", single("Clip", (3, 40), None, high, opset=11)
    yield "opset 11, none", single("Clip", (3, 40), opset=11)
    yield "opset 13, min above max", single("Clip", (3, 40), high, low, opset=13)
    for bounds in ((0.0, 6.0), (-1.0, None), (0.0, None), (None, 2.0)):
        g = Graph()
        operands = ["" if b is None else g.scalar(b) for b in bounds]
        g.output(g.op("Clip", g.conv(g.input(1, 3, 6, 6), 3, 5), *operands))
        yield f"{bounds} after a convolution", g


@cases
def binary():
    pairs = [((2, 3, 4, 5), (2, 3, 4, 5)), ((2, 3, 4, 5), (5,)), ((2, 3, 4, 5), (4, 1)), ((2, 3, 4, 5), (3, 1, 1)),
             ((2, 3, 4, 5), (2, 1, 1, 1)), ((2, 3, 4, 5), (1, 3, 1, 5)), ((2, 3, 4, 5), ()), ((3, 1), (1, 7)),
             ((2, 3, 1, 5), (1, 4, 1)), ((1, 1, 1), (3, 4)), ((33,), (33,)), ((1, 40), (40,)), ((4, 1, 17), (4, 17))]
    for op_type in ("Add", "Sub", "Mul", "Div", "Min", "Max"):
        for a, b in pairs:
            yield f"{op_type} {a} {b}", single(op_type, a, b)
            yield f"{op_type} {b} {a}", single(op_type, b, a)
            yield f"{op_type} {a} constant {b}", single(op_type, a, f32(*b) + 3)
            yield f"{op_type} constant {b} {a}", single(op_type, f32(*b) + 3, a)
    for slope in ((1,), (3, 1, 1), (2, 3, 4, 5), (5,)):
        yield f"PRelu {slope}", single("PRelu", (2, 3, 4, 5), f32(*slope))
    yield "PRelu with a computed slope", single("PRelu", (2, 3, 4, 5), (3, 1, 1))
    for op_type in ("Sum", "Min", "Max"):
        yield f"{op_type} of one", single(op_type, (3, 5))
        yield f"{op_type} of four", single(op_type, (3, 5), (5,), f32(3, 1), (1, 1))
        yield f"{op_type} of eight", single(op_type, *[(3, 5)] * 8)
        yield f"{op_type} of nine", single(op_type, (5,), *[(3, 5)] * 7, (2, 1, 1))
        yield f"{op_type} of hundreds", single(op_type, *[(3, 5), f32(5)] * 120)
    yield "Mean of hundreds", single("Mean", *[(3, 5), f32(5)] * 120)
    for op_type in ("Min", "Max"):
        for count in 1, 3, 20:
            g = Graph()
            g.output(g.op(op_type, *[g.input(3, 5, dtype=onnx.TensorProto.INT64) for _ in range(count)]), dtype=onnx.TensorProto.INT64)
            yield f"{op_type} of {count} integers", g
    for op_type in ("Add", "Mul", "Div", "Sub", "Max"):
        g = Graph()
        x = g.input(2, 7)
        g.output(g.op(op_type, x, x))
        yield f"{op_type} of a value and itself", g


@cases
def images_with_others():
    """Pointwise nodes over a channels-last value and something of another shape, rank or axis order."""
    others = [(7, 1, 1), (1, 7, 1, 1), (5,), (6, 5), (7, 6, 5), (1, 7, 6, 5), (1, 1, 6, 5), (1, 1, 1, 1),
              (3, 7, 6, 5), ()]
    for op_type, other in itertools.product(("Add", "Sub", "Mul"), others):
        for constant in (False, True):
            g = Graph()
            y = g.conv(g.input(1, 3, 8, 7), 3, 7)
            g.output(g.op(op_type, y, g.weight(*other) if constant else g.input(*other)))
            yield f"{op_type} image and {'constant ' if constant else ''}{other}", g
    g = Graph()
    x = g.input(1, 3, 8, 7)
    y = g.conv(x, 3, 7)
    z = g.op("Transpose", g.conv(x, 3, 7), perm=[0, 1, 3, 2])
    z = g.op("Transpose", g.op("Relu", z), perm=[0, 1, 3, 2])
    g.output(g.op("Add", y, z))
    yield "two axis orders", g


@cases
def activations():
    def spelled(build):
        g = Graph(14)
        x = g.conv(g.input(1, 3, 7, 6), 3, 9)
        g.output(build(g, x))
        return g

    def clip(g, x, low, high):
        return g.op("Clip", x, g.scalar(low), g.scalar(high))

    def plus3(g, x):
        return clip(g, g.op("Add", x, g.scalar(3.0)), 0.0, 6.0)

    yield "hard-swish (x * clip) / 6", spelled(lambda g, x: g.op("Div", g.op("Mul", x, plus3(g, x)), g.scalar(6.0)))
    yield "hard-swish x * (clip / 6)", spelled(lambda g, x: g.op("Mul", x, g.op("Div", plus3(g, x), g.scalar(6.0))))
    yield "hard-swish (clip / 6) * x", spelled(lambda g, x: g.op("Mul", g.op("Div", plus3(g, x), g.scalar(6.0)), x))
    yield "hard-swish (x / 6) * clip", spelled(lambda g, x: g.op("Mul", g.op("Div", x, g.scalar(6.0)), plus3(g, x)))
    yield "hard-swish x * HardSigmoid", spelled(lambda g, x: g.op("Mul", x, g.op("HardSigmoid", x, alpha=1 / 6)))
    yield "hard-swish by a constant 1/6", spelled(
        lambda g, x: g.op("Mul", g.op("Mul", x, plus3(g, x)), g.scalar(1 / 6)))
    yield "almost hard-swish (clip at 5)", spelled(
        lambda g, x: g.op("Mul", x, clip(g, g.op("Add", x, g.scalar(3.0)), 0.0, 5.0)))
    yield "SiLU", spelled(lambda g, x: g.op("Mul", x, g.op("Sigmoid", x)))
    yield "SiLU turned", spelled(lambda g, x: g.op("Mul", g.op("Sigmoid", x), x))
    yield "almost SiLU (1.702)", spelled(
        lambda g, x: g.op("Mul", x, g.op("Sigmoid", g.op("Mul", x, g.scalar(1.702)))))
    yield "Relu spelled Max", spelled(lambda g, x: g.op("Max", x, g.scalar(0.0)))
    yield "x * sigmoid of another value", spelled(lambda g, x: g.op("Mul", x, g.op("Sigmoid", g.op("Neg", x))))
    for op_type in ("Relu", "LeakyRelu", "HardSigmoid", "HardSwish", "Sigmoid", "Tanh", "Exp"):
        g = Graph(14)
        y = g.op("Add", g.conv(g.input(1, 3, 7, 6), 3, 9), g.conv(g.inputs[0].name, 3, 9))
        g.output(g.op(op_type, y), g.op(op_type, g.op("Gemm", g.input(3, 5), g.weight(5, 4))))
        yield f"{op_type} in an epilogue", g


# ---- moving elements ----

@cases
def reshape():
    for shape in ((6, 20), (-1,), (0, -1), (2, 3, 0, 5), (1, 120), (2, 12, 5), (2, 3, 2, 2, 5), (4, 3, 2, 5),
                  (0, 0, -1)):
        yield f"{shape}", single("Reshape", (2, 3, 4, 5), i64(*shape))
    for axis in range(-4, 5):
        yield f"Flatten axis {axis}", single("Flatten", (2, 3, 4, 5), axis=axis)
    yield "Squeeze all", single("Squeeze", (1, 3, 1, 5), opset=11)
    yield "Squeeze attribute", single("Squeeze", (1, 3, 1, 5), opset=11, axes=[0])
    yield "Squeeze input", single("Squeeze", (1, 3, 1, 5), i64(-2), opset=13)
    yield "Unsqueeze attribute", single("Unsqueeze", (3, 5), opset=11, axes=[0, 3])
    yield "Unsqueeze input", single("Unsqueeze", (3, 5), i64(-1, 1), opset=13)
    for perm in itertools.permutations(range(3)):
        yield f"Transpose {perm}", single("Transpose", (3, 4, 5), perm=perm)
    yield "Transpose by default", single("Transpose", (3, 4, 5))


@cases
def images_moved():
    """Reshapes and transposes of a channels-last value, read by something that needs an order."""
    chains = {
        "flatten, linear": lambda g, y: g.op("Gemm", g.op("Flatten", y), g.weight(8 * 30, 11)),
        "flatten, two linears": lambda g, y: g.op("Add", g.op("Gemm", g.op("Flatten", y), g.weight(240, 11)),
                                                  g.op("MatMul", g.op("Flatten", y), g.weight(240, 11))),
        "flatten, softmax": lambda g, y: g.op("Softmax", g.op("Flatten", y)),
        "flatten at 2": lambda g, y: g.op("Relu", g.op("Flatten", y, axis=2)),
        "tokens": lambda g, y: g.op("MatMul", g.op("Transpose", g.op("Reshape", y, g.ints(2, 8, 30)), perm=[0, 2, 1]),
                                    g.weight(8, 5)),
        "tokens and back": lambda g, y: g.op("Relu", g.op("Reshape", g.op("Transpose", g.op("Reshape", y, g.ints(
            2, 8, 30)), perm=[0, 2, 1]), g.ints(2, 5, 6, 8))),
        "channels last": lambda g, y: g.op("MatMul", g.op("Transpose", y, perm=[0, 2, 3, 1]), g.weight(8, 5)),
        "shuffle": lambda g, y: g.conv(g.op("Reshape", g.op("Transpose", g.op("Reshape", y, g.ints(2, 4, 2, 5, 6)),
                                                            perm=[0, 2, 1, 3, 4]), g.ints(2, 8, 5, 6)), 8, 4),
        "rows joined": lambda g, y: g.op("Relu", g.op("Reshape", y, g.ints(2, 8, 30, 1))),
        "split height": lambda g, y: g.op("Neg", g.op("Reshape", y, g.ints(2, 8, 5, 2, 3))),
        "batch joined": lambda g, y: g.op("Abs", g.op("Reshape", y, g.ints(16, 5, 6))),
        "unsqueezed": lambda g, y: g.op("Abs", g.op("Unsqueeze", y, g.ints(0, 3))),
        "turned": lambda g, y: g.conv(g.op("Transpose", y, perm=[0, 3, 1, 2]), 6, 4),
        "turned and flattened": lambda g, y: g.op("Gemm", g.op("Flatten", g.op("Transpose", y, perm=[0, 2, 3, 1])),
                                                  g.weight(240, 3)),
        "pooled and squeezed": lambda g, y: g.op("Gemm", g.op("Squeeze", g.op("GlobalAveragePool", y), g.ints(2, 3)),
                                                 g.weight(8, 3)),
    }
    for name, chain in chains.items():
        for padded in (False, True):  # with padding, the reader gives the value a halo
            g = Graph()
            y = g.op("Relu", g.conv(g.input(2, 3, 7, 8), 3, 8))
            g.output(chain(g, y))
            if padded:
                g.output(g.conv(y, 8, 3, pads=[1, 1, 1, 1]))
            yield f"{name}{', padded' if padded else ''}", g


@cases
def concat():
    for axis in (-1, 0, 1, 2, 3):
        yield f"inputs, axis {axis}", single("Concat", (2, 3, 4, 5), (2, 3, 4, 5), axis=axis)
        g = Graph()
        x = g.input(2, 3, 8, 7)
        a, b = g.conv(x, 3, 5), g.op("Relu", g.conv(x, 3, 5))
        joined = g.op("Concat", a, b, g.op("MaxPool", g.conv(x, 3, 5, (1, 1)), kernel_shape=[3, 3]), axis=axis)
        g.output(g.op("Relu", joined), b)
        yield f"images, axis {axis}", g
        g = Graph()
        x = g.input(2, 3, 6, 5)
        a = g.conv(x, 3, 3, (1, 1))
        joined = g.op("Concat", a, a, x, g.weight(2, 3, 6, 5), axis=axis)
        joined = g.op("Concat", joined, joined, axis=axis)
        g.output(joined)
        yield f"repeated, an input, a constant, nested, axis {axis}", g
    g = Graph()
    x = g.input(1, 3, 8, 8)
    a = g.conv(x, 3, 5)
    for i in range(3):  # every value is part of all later ones
        a = g.op("Concat", a, g.op("Relu", g.conv(a, 5 + 4 * i, 4, pads=[1, 1, 1, 1])), axis=1)
    g.output(g.conv(a, 17, 6, (1, 1)))
    yield "dense block", g
    g = Graph()
    x = g.input(1, 3, 8, 8)
    a, b = g.conv(x, 3, 5), g.conv(x, 3, 6)
    joined = g.op("Concat", a, b, axis=1)
    g.output(g.conv(joined, 11, 4, pads=[1, 1, 1, 1]), g.conv(a, 5, 4, pads=[2, 2, 2, 2]), joined)
    yield "read with padding, whole and in part, and an output", g
    g = Graph()
    x = g.input(3, 6)
    a, b = g.op("Gemm", x, g.weight(6, 5)), g.op("Gemm", x, g.weight(6, 20))
    g.output(g.op("Concat", a, b, axis=1), g.op("Concat", b, b, axis=0))
    yield "linear layers", g
    yield "of one", single("Concat", (2, 3), axis=0)


@cases
def split_and_slice():
    yield "split in halves", splitted(13, 2, 1, None)
    yield "split in uneven parts", splitted(13, 3, 1, [1, 2, 5])
    yield "split by attribute", splitted(11, 3, -3, [1, 2, 5])
    yield "split of height", splitted(13, 3, 2, [1, 2, 3])
    yield "split with a remainder", splitted(18, 3, 3, None, num_outputs=3)
    slices = [((1,), (3,), None, None), ((0, 1), (2, -1), (2, 3), None), ((-3,), (100,), (-1,), None),
              ((5,), (0,), (2,), (-2,)), ((-1,), (-100,), (3,), (-1,)), ((0,), (8,), (1,), (3,)),
              ((7, 4), (-100, 1), (1, 2), (-3, -1)), ((0, 0, 0, 0), (1, 4, 2, 3), None, None),
              ((0,), (2**63 - 1,), (1,), None), ((1,), (-(2**63),), (1,), (-1,))]
    for starts, ends, axes, steps in slices:
        operands = [i64(*starts), i64(*ends)]
        if axes or steps:
            operands.append(i64(*axes) if axes else None)
        if steps:
            operands.append(i64(*steps))
        for padded in (False, True):
            g = Graph(13)
            y = g.conv(g.input(2, 3, 8, 7), 3, 8)
            parts = g.op("Slice", y, *["" if o is None else g.constant(o) for o in operands])
            g.output(g.op("Relu", parts), parts)
            if padded:
                g.output(g.conv(y, 8, 3, pads=[1, 1, 1, 1]))
            yield f"{starts} {ends} {axes} {steps}{', padded' if padded else ''}", g
        yield f"input {starts} {ends} {axes} {steps}", single("Slice", (2, 8, 6, 5), *operands, opset=13)
    for axis in (0, 1, 3):
        g = Graph()
        x = g.op("Relu", g.input(2, 3, 4, 5))
        nothing = g.op("Tanh", g.op("Slice", x, g.ints(5), g.ints(2**62), g.ints(axis)))
        still = g.op("Slice", nothing, g.ints(0), g.ints(9), g.ints(axis))
        g.output(g.op("Concat", nothing, x, still, axis=axis), g.op("Exp", g.op("Concat", nothing, x, x, axis=axis)))
        g.output(g.op("Exp", g.op("Concat", x, g.op("Concat", still, nothing, axis=axis), axis=axis)))
        yield f"concatenated with nothing along axis {axis}", g
    g = Graph()
    parts = g.op("Split", g.input(2, 6), g.ints(0, 4, 2), axis=1, outputs=3)
    g.output(g.op("Concat", *parts[::-1], axis=1), g.op("Concat", parts[1], g.constant(np.zeros((2, 0), np.float32)), axis=1))
    yield "a split with a part of nothing", g
    far = [i64(2), i64(8), i64(0), i64(2**32 + 1)]
    yield "a step beyond 32 bits", single("Slice", (8, 4), *far, opset=13)
    yield "slice, opset 9", single("Slice", (4, 5), opset=9, starts=[1, 0], ends=[3, 4], axes=[0, 1])
    yield "slice, opset 9, no axes", single("Slice", (4, 5), opset=9, starts=[1], ends=[-1])


@cases
def parts_of_channels():
    """Slices of channels have gaps between their pixels, which not every reader can skip."""
    readers = {
        "3x3": lambda g, x: g.conv(x, 4, 5),
        "3x3 padded": lambda g, x: g.conv(x, 4, 5, pads=[1, 1, 1, 1]),
        "3x3 twice": lambda g, x: g.op("Add", g.conv(x, 4, 5, pads=[1, 1, 1, 1]), g.conv(x, 4, 5, pads=[1, 1, 1, 1])),
        "3x1": lambda g, x: g.conv(x, 4, 5, (3, 1)),
        "1x1 strided": lambda g, x: g.conv(x, 4, 5, (1, 1), strides=[2, 2]),
        "dilated": lambda g, x: g.conv(x, 4, 5, dilations=[1, 2]),
        "groups": lambda g, x: g.conv(x, 4, 6, groups=2, pads=[1, 1, 1, 1]),
        "depthwise": lambda g, x: g.conv(x, 4, 4, groups=4, pads=[1, 1, 1, 1]),
        "pool": lambda g, x: g.op("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        "residual": lambda g, x: g.op("Add", g.conv(x, 4, 4, pads=[1, 1, 1, 1]), x),
        "softmax": lambda g, x: g.op("Softmax", x, axis=1),
        "reduce": lambda g, x: g.op("ReduceMean", x, axes=[1, 3]),
        "linear": lambda g, x: g.op("MatMul", g.op("Transpose", x, perm=[0, 2, 3, 1]), g.weight(4, 5)),
        "flatten": lambda g, x: g.op("Gemm", g.op("Flatten", x), g.weight(4 * 42, 5)),
        "pad": lambda g, x: g.op("Pad", x, g.ints(0, 1, 1, 1, 0, 0, 0, 0), g.scalar(1.0)),
    }
    for name, read in readers.items():
        g = Graph(13)
        a, b = g.op("Split", g.conv(g.input(2, 3, 8, 9), 3, 8), outputs=2, axis=1)
        g.output(read(g, a), read(g, b))
        yield f"split, {name}", g
        g = Graph(13)
        y = g.op("Slice", g.input(2, 6, 7, 9), g.ints(2), g.ints(6), g.ints(3))
        g.output(read(g, g.op("Transpose", y, perm=[0, 3, 1, 2])))
        yield f"sliced channels-last input, {name}", g
        g = Graph(13)
        x = g.input(1, 3, 8, 9)
        a, b = g.conv(x, 3, 4), g.op("Relu", g.conv(x, 3, 4))
        g.output(read(g, a), g.op("Concat", a, b, axis=1), read(g, b))
        yield f"parts of a concatenation, {name}", g


def splitted(opset, parts, axis, sizes, **attributes):
    g = Graph(opset)
    y = g.conv(g.input(2, 3, 8, 7), 3, 8)
    if sizes and opset < 13:
        attributes["split"] = sizes
    operands = [g.ints(*sizes)] if sizes and opset >= 13 else []
    out = g.op("Split", y, *operands, outputs=parts, axis=axis, **attributes)
    g.output(out[0], g.op("Relu", out[-1]), *[g.op("GlobalAveragePool", o) for o in out])
    return g


@cases
def pad():
    lists = [[0, 0, 1, 2, 0, 0, 3, 0], [0, 1, 0, 0, 0, 2, 0, 0], [1, 0, 0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1, 1, 1]]
    for pads, value in itertools.product(lists, (None, 0.0, -1.5)):
        g = Graph(13)
        operands = [g.ints(*pads)] + ([] if value is None else [g.scalar(value)])
        y = g.op("Pad", g.input(2, 3, 5, 4), *operands)
        g.output(y, g.conv(y, 3 + pads[1] + pads[5], 4))
        yield f"{pads} value {value}", g
        g = Graph(13)
        operands = [g.ints(*pads)] + ([] if value is None else [g.scalar(value)])
        y = g.op("Pad", g.conv(g.input(2, 3, 5, 4), 3, 3, (1, 1)), *operands)
        channels = 3 + pads[1] + pads[5]
        g.output(g.conv(y, channels, 4, pads=[1, 0, 1, 2]), g.conv(y, channels, 4, strides=[2, 2]))
        yield f"{pads} value {value} between convolutions", g
    cuts = [0, 0, -1, -1, 0, 0, 1, 1], [0, -1, 0, 0, 0, 0, -2, -1], [0, 2, -4, 0, 0, -2, 0, 3]
    for pads, value in itertools.product(cuts, (0.0, -1.5)):
        g = Graph(13)
        y = g.op("Pad", g.conv(g.input(2, 3, 5, 4), 3, 3, (1, 1)), g.ints(*pads), g.scalar(value))
        g.output(y, g.conv(y, 3 + pads[1] + pads[5], 4, (2, 2), pads=[1, 0, 1, 2]))
        yield f"{pads} value {value}, of which some cut", g
    yield "opset 2", single("Pad", (2, 3), opset=2, pads=[1, 0, 0, 2], value=2.0)
    yield "axes", single("Pad", (2, 3, 4), i64(1, 2), np.float32(1), i64(-1), opset=18)
    yield "infinite value", single("Pad", (2, 3), i64(1, 1, 1, 1), np.float32(-np.inf), opset=13)
    g = Graph(13)
    y = g.op("Pad", g.conv(g.input(1, 3, 7, 7), 3, 4), g.ints(0, 0, 1, 1, 0, 0, 1, 1))
    g.output(g.op("MaxPool", y, kernel_shape=[3, 3]), g.conv(y, 4, 3))
    yield "read by a pool", g


@cases
def depth_and_space():
    for block, channels in ((2, 12), (3, 18)):
        for mode in ("DCR", "CRD"):
            shape = (2, channels, 3, 4)
            yield f"depth to space {shape} {mode}", single("DepthToSpace", shape, blocksize=block, mode=mode)
            g = Graph()
            y = g.conv(g.input(1, 3, 5, 6), 3, channels)
            g.output(g.op("Relu", g.op("DepthToSpace", y, blocksize=block, mode=mode)))
            yield f"depth to space after a convolution, block {block} {mode}", g
        yield f"space to depth, block {block}", single("SpaceToDepth", (2, 3, 2 * block, 3 * block), blocksize=block)
        g = Graph()
        y = g.op("SpaceToDepth", g.input(1, 3, 2 * block, 3 * block), blocksize=block)
        g.output(g.conv(y, 3 * block * block, 5, (1, 1)))
        yield f"space to depth before a convolution, block {block}", g


# ---- constants, shapes, ports ----

@cases
def constants():
    g = Graph()
    a, b = g.weight(3, 5), g.weight(5)
    c = g.op("Mul", g.op("Add", a, b), g.op("Sigmoid", g.op("ReduceMean", a, axes=[1])))
    c = g.op("Concat", c, g.op("Softmax", a), axis=0)
    g.output(g.op("Add", g.input(6, 5), g.op("Slice", c, g.ints(5), g.ints(-10), g.ints(0), g.ints(-1))))
    yield "arithmetic", g
    g = Graph()
    w = g.op("MatMul", g.weight(4, 3), g.weight(3, 6))
    w = g.op("Conv", g.op("Reshape", w, g.ints(1, 1, 4, 6)), g.weight(2, 1, 3, 3))
    g.output(g.op("Mul", g.input(2, 1, 1), w), w)
    yield "through a linear layer and a convolution, and an output", g
    for kernel, groups, attributes in (((3, 3), 1, dict(pads=[1, 0, 2, 1])), ((3, 3), 4, dict(pads=[1] * 4, strides=[2, 2])),
                                       ((7, 7), 2, dict(pads=[3] * 4)), ((3, 3), 1, dict(pads=[2] * 4, dilations=[2, 2]))):
        g = Graph()
        w = g.conv(g.weight(1, 4, 6, 7), 4, 4, kernel, groups, **attributes)
        g.output(g.op("Mul", g.input(1, 4, 1, 1), w))
        yield f"a convolution of {kernel} with {attributes}, {groups} groups", g
    g = Graph(13)
    a = g.op("Constant", value_floats=[1.0, 2.0, 3.0])
    b = g.op("Constant", value_float=0.5)
    shape = g.op("Constant", value_ints=[3, 1])
    g.output(g.op("Mul", g.op("Reshape", a, shape), g.op("Add", g.input(3, 2), b)))
    yield "Constant nodes", g
    g = Graph()
    x = g.input(2, 3)
    g.output(g.op("Transpose", g.op("Pad", g.weight(3, 2), g.ints(1, 0, 0, 0))), g.op("Add", x, x))
    yield "an output of constants only", g


@cases
def shape_arithmetic():
    g = Graph(13)
    x = g.input(2, 3, 4, 5)
    shape = g.op("Shape", x)
    batch = g.op("Gather", shape, g.constant(np.array(0, np.int64)), axis=0)
    target = g.op("Concat", g.op("Unsqueeze", batch, g.ints(0)), g.ints(-1), axis=0)
    g.output(g.op("Reshape", x, target))
    yield "batch by Gather", g
    g = Graph(13)
    x = g.input(2, 6, 4, 5)
    shape = g.op("Shape", x)
    half = g.op("Div", g.op("Slice", shape, g.ints(1), g.ints(2)), g.ints(2))
    target = g.op("Concat", g.op("Slice", shape, g.ints(0), g.ints(1)), g.ints(2), half,
                  g.op("Slice", shape, g.ints(-2), g.ints(2**31)), axis=0)
    y = g.op("Transpose", g.op("Reshape", x, target), perm=[0, 2, 1, 3, 4])
    g.output(g.op("Reshape", y, shape))
    yield "shuffle by shape", g
    g = Graph(13)
    x = g.input(2, 6, 4, 5)
    size = g.op("Cast", g.op("Size", x), to=7)
    rows = g.op("Div", g.op("Mul", size, g.constant(np.array(1, np.int64))), g.constant(np.array(8, np.int64)))
    rows = g.op("Sub", g.op("Add", rows, g.constant(np.array(1, np.int64))), g.constant(np.array(1, np.int64)))
    g.output(g.op("Reshape", x, g.op("Concat", g.op("Unsqueeze", rows, g.ints(0)), g.ints(8), axis=0)))
    yield "size", g
    g = Graph(15)
    x = g.input(2, 6, 4, 5)
    last = g.op("Squeeze", g.op("Shape", x, start=-1), g.ints(0))
    index = g.op("Unsqueeze", g.op("Squeeze", g.op("Unsqueeze", last, g.ints(0))), g.ints(0))
    g.output(g.op("Reshape", x, g.op("Concat", g.op("Identity", index), g.ints(-1), axis=0)))
    yield "shape of the last axis", g
    g = Graph(13)
    x = g.input(1, 2, 4, 5)
    ends = g.op("Mul", g.op("Slice", g.op("Shape", x), g.ints(2), g.ints(4)), g.ints(2))
    starts = g.op("ConstantOfShape", g.ints(2), value=onnx.numpy_helper.from_array(i64(1)))
    y = g.op("Slice", x, starts, ends, g.ints(2, 3))
    g.output(y)
    yield "slice by shape", g
    g = Graph(13)
    x = g.input(2, 3, 4, 5)
    turned = g.op("Slice", g.op("Shape", x), g.ints(3), g.ints(-5), g.ints(0), g.ints(-1))
    g.output(g.op("Reshape", x, turned))
    yield "reversed shape", g
    g = Graph(13)
    x = g.input(2, 3, 4, 5)
    picked = g.op("Gather", g.op("Shape", x), g.ints(0, -1, 2, 1))
    g.output(g.op("Reshape", x, picked))
    yield "gathered shape", g
    for a, b in itertools.product((7, -7, 14, -14, 8, -8), (4, -4, 1, -1)):
        for fmod in (0, 1):
            g = Graph(13)
            x = g.input(2, 3)
            rest = g.op("Mod", g.op("Add", g.op("Slice", g.op("Shape", x), g.ints(0), g.ints(1)), g.ints(a - 2)), g.ints(b),
                        fmod=fmod)
            pads = g.op("Concat", g.ints(0, 0), g.op("Abs", rest), g.op("Add", rest, g.ints(4)), axis=0)
            g.output(g.op("Pad", x, pads), g.op("Add", x, g.op("Cast", rest, to=1)))
            yield f"{a} mod {b}, fmod {fmod}", g


@cases
def diagonals_of_any_size():
    for upper, k in itertools.product((0, 1), (0, 1, -2, 9, -9, 2**40)):
        g = Graph(14)
        x = g.input(2, 5, 6)
        g.output(g.op("Trilu", x, g.constant(np.array(k, np.int64)), upper=upper))
        yield f"Trilu upper {upper} k {k}", g
    for k, dtype in itertools.product((0, 1, -2), (1, 6, 7)):
        g = Graph(14)
        x = g.input(5, 6)
        g.output(g.op("Cast", g.op("EyeLike", x, k=k, dtype=dtype), to=1), x)
        yield f"EyeLike k {k} type {dtype}", g


@cases
def integers_compared_and_reduced():
    for dtype in (6, 7):
        g = Graph(18)
        x = g.input(3, 4, 5, dtype=dtype)
        for op_type in ("ReduceMax", "ReduceMin", "ReduceSum"):
            for axes, keep in (([0], 1), ([1, 2], 0), ([-1], 1), ([0, 1, 2], 0)):
                g.output(g.op("Cast", g.op(op_type, x, g.ints(*axes), keepdims=keep), to=1))
        yield f"reductions of type {dtype}", g
    for op_type in ("Equal", "Less", "Greater"):
        for to in (2, 3, 9):
            if to == 9 and op_type != "Equal":
                continue
            g = Graph(13)
            a, b = (g.op("Cast", g.input(2, 3, dtype=6), to=to) for _ in range(2))
            g.output(g.op("Cast", g.op(op_type, a, b), to=1))
            yield f"{op_type} of type {to}", g


def as_f32(g, x):
    return g.op("Cast", x, to=onnx.TensorProto.FLOAT)


@cases
def integers_ordered():
    """Numbers that differ in the lowest of their bits alone, equal ones, the ends of the types."""
    i32 = np.array([[5, -3, 2**30 + 1, 2**30, 5, -2**31], [7, 7, -1, 2**31 - 1, 65536, 65535]], np.int32)
    i64_ = np.array([[2**60 + 1, 2**60, -2**60, -2**60 - 1, 4194304], [5, 4194303, 5, -2**63, 2**63 - 1]])
    for name, given in (("i32", i32), ("i64", i64_), ("i32 volume", np.stack([i32, i32[::-1]])), ("u8", np.uint8([[3, 255, 3, 0]]))):
        for axis, largest, constant in itertools.product((-1, 0), (0, 1), (False, True)):
            g = Graph()
            x = g.constant(given)
            if not constant:  # as numbers of the run: what Add cannot see through
                zero = g.op("Cast", g.op("Mul", g.input(1), g.scalar(0)), to=onnx.helper.np_dtype_to_tensor_dtype(given.dtype))
                x = g.op("Where", g.op("Equal", g.op("Cast", zero, to=onnx.TensorProto.INT32), g.constant(np.zeros(1, np.int32))), x, x)
            outputs = []
            for k in (1, given.shape[axis]):
                values, places = g.op("TopK", x, g.ints(k), axis=axis, largest=largest, outputs=2)
                outputs += [as_f32(g, g.op("Equal", values, g.op("GatherElements", x, places, axis=axis))), as_f32(g, places)]
            outputs.append(as_f32(g, g.op("ArgMax" if largest else "ArgMin", x, axis=axis)))
            g.output(*[g.op("Add", y, g.input(1)) for y in outputs])
            if name != "u8" or constant:
                yield f"{name} along {axis}, largest {largest}, constant {constant}", g


@cases
def integers_to_a_power():
    def run(name, base, exponent):
        g = Graph()
        base = base if isinstance(base, str) else g.constant(base)
        if base in ("i64", "f32"):
            base = g.input(2, 3, dtype=onnx.TensorProto.INT64 if base == "i64" else onnx.TensorProto.FLOAT)
        exponent = g.input(2, 3, dtype=onnx.TensorProto.INT64) if exponent is None else g.constant(exponent)
        y = g.op("Pow", base, exponent)
        g.output(g.op("Add", as_f32(g, y), g.input(1)))
        return name, g
    yield run("f32 by a constant i64", "f32", i64(3))
    yield run("f32 by constants i32", "f32", np.array([[2, 3, 0]], np.int32))
    yield run("f32 by i64 of the run", "f32", None)
    yield run("i64 by a constant", "i64", np.int64(5))
    yield run("i64 by constants", "i64", i64(0, 3, 2))
    yield run("i64 by a number", "i64", np.float32(2))
    yield run("constants by constants", np.array([[2], [-3]]), i64(0, 1, 2, 13))
    yield run("one by arange", np.int64(2), np.arange(12).reshape(3, 4))
    g = Graph()
    x = g.input(2, 9)
    side = g.op("Gather", g.op("Shape", x), g.constant(np.int64(1)))
    g.output(g.op("Reshape", g.op("Expand", x, g.op("Concat", g.op("Unsqueeze", g.op("Pow", side, g.constant(np.int64(2))), g.ints(0)),
                                                    g.ints(2, 9), axis=0)), g.ints(-1)))
    yield "a size squared", g


@cases
def constants_reduced_and_found():
    given = np.random.default_rng(5).integers(-4, 5, (3, 4, 5))
    for dtype in (np.int32, np.int64, np.int8, np.uint8):
        x = np.abs(given).astype(dtype) if dtype == np.uint8 else given.astype(dtype)
        for op_type in ("ReduceMax", "ReduceMin", "ReduceProd"):
            if op_type == "ReduceProd" and x.itemsize == 1:
                continue
            for axes, keep in (([1], 1), ([0, 2], 0), (None, 0)):
                g = Graph(opset=13)
                attributes = {} if axes is None else {"axes": axes}
                y = g.op(op_type, g.constant(x), keepdims=keep, **attributes)
                g.output(g.op("Add", as_f32(g, y), g.input(1)))
                yield f"{op_type} of {x.dtype} {axes} {keep}", g
    for x in (given, given.astype(np.float32), given > 0, given[0, 0], np.float32([-0.0, 1e-40, np.nan])):
        g = Graph()
        g.output(g.op("Add", as_f32(g, g.op("NonZero", g.constant(x))), g.input(1)))
        yield f"NonZero of {x.dtype} {x.shape}", g
    for dims in (), (1,), (1, 1):
        g = Graph()
        g.output(as_f32(g, g.op("Expand", g.constant(np.full(dims, 7)), g.ints(2))), g.op("Neg", g.input(2)))
        yield f"one of rank {len(dims)} expanded", g
    g = Graph()
    x = g.input(2, 3)
    mask = g.op("NonZero", g.op("ConstantOfShape", g.op("Shape", x), value=onnx.helper.make_tensor("v", 7, [1], [1])))
    g.output(g.op("Add", g.op("GatherND", x, g.op("Transpose", mask)), g.input(1)))
    yield "NonZero of ones of a shape", g


@cases
def ports():
    g = Graph()
    x = g.input(2, 3)
    g.output(x, g.op("Neg", x))
    yield "an output that is an input", g
    g = Graph()
    x, c = g.input(2, 3), g.weight(4)
    g.output(g.op("Identity", x), g.op("Identity", c), g.op("Identity", g.op("Identity", x)))
    yield "outputs that are an input and a constant", g
    g = Graph()
    x = g.input(2, 3)
    y = g.op("Relu", x)
    g.output(g.op("Identity", y), g.op("Identity", y), y, g.op("Reshape", y, g.ints(6)))
    yield "one value as four outputs", g
    g = Graph()
    x = g.input(2, 3)
    g.input(4, 4, name="unused")
    g.output(g.op("Relu", x))
    yield "an unused input", g
    g = Graph()
    x = g.input(1, 3, 8, 8)
    a = g.conv(x, 3, 5)
    b = g.op("Relu", g.batch_norm(a, 5))
    c = g.op("Add", b, a)
    g.output(b, a, c, g.op("Sigmoid", c))
    yield "values that are outputs and go on", g
    g = Graph()
    x = g.input(1, 3, 8, 8)
    y = g.op("Transpose", x, perm=[0, 2, 3, 1])
    z = g.op("Reshape", x, g.ints(3, 64))
    g.output(y, z, g.op("Reshape", y, g.ints(64, 3)), g.op("Slice", x, g.ints(1), g.ints(2), g.ints(1)))
    yield "views of an input", g
    g = Graph()
    x = g.input(1, 3, 8, 8)
    y = g.conv(x, 3, 6, pads=[1, 1, 1, 1])
    a, b = g.op("Split", y, outputs=2, axis=1)
    g.output(a, b, g.op("Transpose", y, perm=[0, 2, 3, 1]), g.op("Flatten", y), g.conv(y, 6, 3, pads=[1, 1, 1, 1]))
    yield "views of a value with a halo", g
    g = Graph()
    scalar = g.input(name="scalar")
    g.output(g.op("Mul", scalar, g.input(3, 4)), g.op("Exp", scalar))
    yield "a scalar input", g
    g = Graph()
    x = g.input(1, 2, 3, name="x/with:odd name=1")
    g.output(g.op("Relu", x, out="out/with:odd name"))
    yield "odd names", g
    g = Graph()
    x = g.input(1, 1, 1, 1, 1, 1, 2, 3)
    g.output(g.op("Relu", g.op("Transpose", x)), g.op("Add", x, g.input(2, 1)))
    yield "rank 8", g


# ---- made of simpler ones ----

@cases
def functions():
    values = {"Asin": [-1, -0.7, -1e-4, 0, 0.3, 1], "Acos": [-1, -0.7, 0, 0.3, 0.999, 1],
              "Atanh": [-0.99, -1e-5, 0, 0.7],
              "Asinh": [-3e38, -1e10, -2, -1e-5, 0, 1e-3, 5, 2e9, 1e30], "Acosh": [-3e38, -1e10, -1e4, -2, 0.5, 1, 1.0001, 2, 1e5, 1e10, 3e38],
              "Cosh": [-89, -3, -1e-3, 0, 2, 19, 21, 89], "Sinh": [-89, -20.5, -3, -1e-5, 0, 2, 19.5, 21, 89],
              "Tan": [-1, 0, 0.5, 3], "Celu": [-9, -0.1, 0, 2], "Shrink": [-2, -0.5, 0.1, 0.5, 3],
              "ThresholdedRelu": [-1, 0.5, 1, 1.5]}
    for op_type, numbers in values.items():
        for bound in (1e-3, 5, 3e38):
            near = np.array([v for v in numbers if abs(v) <= bound] or [1], np.float32)
            g = Graph()
            g.output(g.op(op_type, g.constant(near)), g.op("Relu", g.input(2)))
            yield f"{op_type} up to {bound}", g
    yield "Mean", single("Mean", (3, 4), (4,), (2, 1, 1))


@cases
def no_numbers():
    """NaN on either side of an extreme stays."""
    for op_type in "Max", "Min":
        g = Graph(18)
        x, y = g.input(3, 40), g.input(3, 40)
        some, others = (g.op("Where", g.op("Greater", v, g.scalar(0.5)), g.scalar(np.nan), v) for v in (x, y))
        g.output(g.op(op_type, some, y), g.op(op_type, x, others), g.op(op_type, some, others), g.op(op_type, some, g.scalar(0)),
                 g.op(op_type, g.scalar(0), others), g.op(op_type, x, g.scalar(np.nan)), g.op(op_type, x, y, others))
        yield f"{op_type} with NaN", g


def after_zeros(op_type, **attributes):
    """Of rows and columns of which some are zeros."""
    g = Graph()
    kept = np.float32([[1, 0, 1], [0, 0, 0], [1, 0, 1]])
    g.output(g.op(op_type, g.op("Mul", g.input(2, 3, 3), g.constant(kept)), **attributes))
    return g


@cases
def composed_reductions():
    for op_type in ("ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceProd", "ReduceSumSquare"):
        for keep in (0, 1):
            for axes in ([0], [-1], [1, 3], [0, 1, 2, 3]):
                yield f"{op_type} axes {axes} keepdims {keep}", reduction(op_type, 11, axes, keep)
            yield f"{op_type} axes as input, keepdims {keep}", single(op_type, (2, 3, 4, 5), i64(1, -1), opset=18,
                                                                      keepdims=keep)
    for op_type in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceProd", "ReduceSumSquare"):
        g = Graph(18)
        x = g.op("Exp", g.input(2, 3)) if op_type == "ReduceLogSum" else g.input(2, 3)
        g.output(g.op(op_type, x, noop_with_empty_axes=1))
        yield f"{op_type} along no axis", g
    for n in (1, 2, 3, 7, 13):
        yield f"ReduceProd of {n}", single("ReduceProd", (2, n), axes=[1])
    for axis in (0, 1, -1):
        for op_type in ("LogSoftmax", "Hardmax", "LpNormalization"):
            yield f"{op_type} axis {axis}", single(op_type, (3, 4, 5), axis=axis)
    yield "LogSoftmax, opset 11", single("LogSoftmax", (3, 4, 5), opset=11, axis=1)
    for p in (1, 2):
        yield f"LpNormalization of zeros, p {p}", after_zeros("LpNormalization", axis=1, p=p)
    yield "LRN", single("LRN", (2, 7, 3, 4), size=5, alpha=0.2, beta=0.6, bias=2.0)
    yield "MeanVarianceNormalization", single("MeanVarianceNormalization", (2, 3, 4, 5))
    g = Graph()
    g.output(*g.op("LayerNormalization", g.input(2, 3, 5), g.constant(f32(5)), outputs=3))
    yield "statistics of LayerNormalization", g
    g = Graph()
    statistics = g.op("LayerNormalization", g.constant(f32(2, 3, 5)), g.constant(f32(5)), outputs=3)
    g.output(*(g.op("Add", v, g.input(1)) for v in statistics))
    yield "statistics of LayerNormalization of a constant", g


@cases
def layer_norm():
    """With a scale and a shift that broadcast, in rows and across them."""
    shapes = [(1,), (), (8,), (1, 8), (4, 8), (4, 1), (3, 1, 1), (2, 1, 1, 1), (1, 1, 4, 8), (1, 1, 1, 1), (2, 3, 4, 8)]
    for op_type, opset in ("LayerNormalization", 17), ("RMSNormalization", 23):
        for axis, shape in itertools.product((-1, 2, 1), shapes):
            shift = [f32(*shape, seed=5)] if op_type == "LayerNormalization" else []
            yield f"{op_type} axis {axis}, {shape}", single(op_type, (2, 3, 4, 8), f32(*shape), *shift, opset=opset, axis=axis)
    yield "a shift of one element", single("LayerNormalization", (2, 8), f32(8), f32(1))
    yield "a scale of one element, a shift across rows", single("LayerNormalization", (8, 8), f32(1), f32(8, 1))
    yield "a scale across rows, which are as long", single("LayerNormalization", (8, 8), f32(8, 1))
    yield "a scale and a shift of the run", single("LayerNormalization", (2, 3, 8), (8,), (3, 1))


def of_integers(dtype, fill, opset=18):
    """A graph of integers of this type, from -50 (0) to 50; the results leave as floats."""
    g = Graph(opset)
    to = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    cast = lambda x: g.op("Cast", x, to=to)
    size = g.op("Abs", g.input(3, 4, 5)) if dtype == np.uint8 else g.input(3, 4, 5)
    results = fill(g, cast(g.op("Clip", g.op("Mul", size, g.scalar(25)), g.scalar(-50), g.scalar(50))))
    g.output(*[g.op("Cast", y, to=onnx.TensorProto.FLOAT) for y in (results if isinstance(results, list) else [results])])
    return g


@cases
def integers_computed():
    """What ONNX Runtime computes of integers besides sums and products."""
    for dtype, op_type in itertools.product((np.int32, np.int64), ("ReduceMean", "ReduceL1", "ReduceSumSquare")):
        for axes, keep in itertools.product(([0], [-1], [0, 2], [0, 1, 2]), (0, 1)):
            yield f"{op_type} of {dtype.__name__}, axes {axes}, keepdims {keep}", of_integers(
                dtype, lambda g, x: g.op(op_type, x, g.ints(*axes), keepdims=keep))
        yield f"{op_type} of {dtype.__name__}, opset 13", of_integers(dtype, lambda g, x: g.op(op_type, x, axes=[1]), opset=13)
        yield f"{op_type} of {dtype.__name__} along no axis", of_integers(dtype, lambda g, x: g.op(op_type, x, noop_with_empty_axes=1))
    for dtype in np.int32, np.int8:
        yield f"Relu of {dtype.__name__}", of_integers(dtype, lambda g, x: g.op("Relu", x))
    for dtype in np.int8, np.uint8:
        some = np.array([[7], [0], [3], [120]], dtype)
        for op_type in ("Max", "Min"):
            yield f"{op_type} of {dtype.__name__}", of_integers(dtype, lambda g, x: [
                g.op(op_type, x, g.constant(some)), g.op(op_type, x, x, g.constant(dtype(9))), g.op(op_type, x)])
        yield f"Clip, Abs and Sign of {dtype.__name__}", of_integers(dtype, lambda g, x: [
            g.op("Clip", x, g.constant(dtype(3)), g.constant(dtype(20))), g.op("Clip", x, "", g.constant(dtype(20))), g.op("Abs", x),
            g.op("Sign", x)])
    yield "Neg of int8", of_integers(np.int8, lambda g, x: g.op("Neg", x))
    for dtype in np.int32, np.int64, np.int8, np.uint8:
        for fmod in 0, 1:
            divisors = np.array([[7], [1], [13], [4]], dtype) * (1 if dtype == np.uint8 else np.array([[1], [1], [-1], [-1]], dtype))
            yield f"Mod of {dtype.__name__}, fmod {fmod}", of_integers(dtype, lambda g, x: g.op("Mod", x, g.constant(divisors), fmod=fmod))
    for divisor in 1, 2, -4, 1024:
        g = Graph()
        g.output(g.op("Mod", g.op("Mul", g.input(3, 40), g.scalar(3000)), g.scalar(divisor), fmod=1))
        g.output(g.op("Mod", g.op("Sign", g.input(3, 40)), g.constant(np.full((1, 1, 1), divisor, np.float32)), fmod=1))
        yield f"Mod of floats by {divisor}", g


@cases
def look_ups():
    for axis in (0, 1, -1):
        index = np.random.default_rng(axis + 5).integers(-3, 3, (3, 3, 3))
        yield f"GatherElements axis {axis}", single("GatherElements", (3, 3, 3), index, axis=axis)
        yield f"OneHot axis {axis}", single("OneHot", index[0], i64(4), (2,), axis=axis)
    alike = np.random.default_rng(1).integers(-4, 4, (1, 1, 5, 4))
    for first, second in ((2, 3), (2, 1), (1, 3)):  # along both leading axes, or the first, of x or of a part of it
        index = np.broadcast_to(alike, (first, second, 5, 4))
        for axis in (-1, -2):
            yield f"GatherElements of {first}x{second} alike, axis {axis}", single("GatherElements", (2, 3, 5, 4), index,
                                                                                   axis=axis)
    index = np.broadcast_to(np.random.default_rng(2).integers(-4, 4, (2, 1, 5, 4)), (2, 3, 5, 4))
    yield "GatherElements alike along the second axis", single("GatherElements", (2, 3, 5, 4), index, axis=-1)
    yield "GatherND", single("GatherND", (3, 4, 5), np.array([[0, -1], [2, 1]]))
    yield "GatherND of a batch", single("GatherND", (2, 4, 5), np.array([[[1], [-1]], [[0], [3]]]), batch_dims=1)
    for k in (-5, -1, 0, 2):
        for upper in (0, 1):
            yield f"Trilu {k} upper {upper}", single("Trilu", (2, 3, 4), np.array(k), upper=upper)
    yield "CenterCropPad", single("CenterCropPad", (5, 8, 3), i64(8, 5, 3), opset=18)


@cases
def group_norm():
    for opset, scales in (18, 3), (21, 12):  # of a group, of a channel
        yield f"scales of opset {opset}", single("GroupNormalization", (2, 12, 5, 4), f32(scales), f32(scales, seed=2),
                                                 num_groups=3, opset=opset)


@cases
def losses():
    label = np.array([[0, 3, 2], [1, 3, 0]])
    for reduction_ in ("none", "sum", "mean"):
        for ignore in ({}, {"ignore_index": 3}, {"ignore_index": -1}):
            for weight in ((), (np.abs(f32(4)),)):
                for op_type in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
                    yield f"{op_type} {reduction_} {ignore} {len(weight)} weights", single(
                        op_type, (2, 4, 3), label, *weight, reduction=reduction_, **ignore)


@cases
def quantized():
    g = Graph()
    q = g.op("QuantizeLinear", g.input(3, 40), g.constant(np.float32(0.02)), g.constant(np.uint8(100)))
    g.output(g.op("DequantizeLinear", q, g.constant(np.float32(0.02)), g.constant(np.uint8(100))))
    yield "to u8 and back", g
    g = Graph()
    scale, zero = g.constant(np.float32([0.01, 0.02, 0.03])), g.constant(np.int8([3, -4, 5]))
    q = g.op("QuantizeLinear", g.input(2, 3, 40), scale, zero, axis=1)
    g.output(g.op("DequantizeLinear", q, scale, zero, axis=1))
    yield "to i8 per axis and back", g


# ---- rows ----

def row_by_row(tap, bench):
    """A linear layer gives a row the same bits alone and among 64 others."""
    rows = f32(64, 37)
    results = []
    for batch in (rows, rows[:1], rows[63:]):
        g = single("Gemm", batch.shape, f32(37, 45), f32(45, seed=4))
        done = bench.convert(g.model())
        got = bench.run({"in0": batch}) if done.returncode == 0 else done.stderr
        if isinstance(got, str):
            tap.ok("gemm: rows", False, got)
            return
        results.append(got["Gemm0_out"])
    whole, first, last = results
    tap.ok("gemm: a row alone and among 64 has the same bits",
           first.tobytes() == whole[:1].tobytes() and last.tobytes() == whole[63:].tobytes())


# ---- the test ----

def check_cases(tap, bench, only):
    for family, generate in CASES.items():
        for name, graph in generate():
            title = f"{family}: {name}"
            if only in title:
                why = bench.right(graph)
                tap.ok(title, why is None, why)


def check_random(tap, bench, first, last):
    for seed in range(first, last + 1):
        why = bench.right(random_network(seed), bits=True)
        tap.ok(f"random network {seed}: agrees, same bits at every level", why is None, why)


def check_large(tap, bench, first, last):
    for seed in range(first, last + 1):
        why = bench.right(random_network(seed, large=True), bits=IN_BANDS)
        tap.ok(f"large random network {seed}: agrees, same bits with bands and without", why is None, why)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--random", default=f"1-{RANDOM_NETWORKS}", help="seeds of random networks, FIRST-LAST")
    parser.add_argument("--large", default=f"1-{LARGE_NETWORKS}", help="seeds of large random networks, FIRST-LAST")
    options = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        check_cases(tap, Bench(folder), options.only)
        if not options.only:
            row_by_row(tap, Bench(folder))
            check_random(tap, Bench(folder), *map(int, options.random.split("-")))
            check_large(tap, Bench(folder), *map(int, options.large.split("-")))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
