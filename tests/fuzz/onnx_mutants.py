#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes small ONNX models that together use most of what the converter knows, and hands them to fuzz_onnx:
onnx_mutants.py FUZZ_ONNX MUTANTS [--from I] [--seconds S] [--networks]. TAP of fuzz_onnx.

--seconds S: MUTANTS at a time, until S seconds have passed; --networks: the smaller real networks are mutated too."""
import argparse
import pathlib
import subprocess
import sys
import time

import numpy as np
import onnx

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "convert")]
from ipextest import BUILD
from sized_networks import SIZED
from small_graphs import Graph


def classifier():
    g = Graph()
    x = g.op("Relu", g.batch_norm(g.conv(g.input(1, 3, 8, 8, name="image"), 3, 4, bias=True, pads=[1, 1, 1, 1]), 4))
    x = g.op("Add", g.conv(x, 4, 4, groups=4, pads=[1, 1, 1, 1]), x)
    x = g.op("MaxPool", g.op("Clip", x, g.scalar(0), g.scalar(6)), kernel_shape=[2, 2], strides=[2, 2])
    x = g.op("Flatten", g.op("GlobalAveragePool", g.conv(x, 4, 6, (1, 1))))
    g.output(g.op("Softmax", g.op("Gemm", x, g.weight(5, 6), g.weight(5), transB=1)))
    return g


def branches():
    g = Graph()
    x = g.input("batch", 4, 6, 6)
    parts = [g.conv(x, 4, 3, (1, 1)), g.op("LeakyRelu", g.conv(x, 4, 5, pads=[1, 1, 1, 1], dilations=[1, 1]), alpha=0.1)]
    x = g.op("Concat", *parts, axis=1)
    x = g.op("AveragePool", g.op("HardSwish", x), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)
    g.output(g.op("Transpose", x, perm=[0, 2, 3, 1]), g.op("ReduceMean", x, axes=[2, 3], keepdims=0))
    return g


def shape_arithmetic():
    g = Graph()
    x = g.input(2, 3, 4)
    rows = g.op("Gather", g.op("Shape", x), g.constant(np.array(0)))
    shape = g.op("Concat", g.op("Unsqueeze", rows, g.ints(0)), g.ints(-1), axis=0)
    y = g.op("MatMul", g.op("Reshape", x, shape), g.weight(12, 7))
    g.output(g.op("Slice", y, g.ints(6, 0), g.ints(-8, 2), g.ints(1, 0), g.ints(-2, 1)))
    return g


def elementwise():
    g = Graph()
    x, y = g.input(2, 5), g.input(5)
    z = g.op("Mul", g.op("Sigmoid", g.op("Add", x, y)), g.op("Div", x, g.positive(2, 1)))
    z = g.op("Sub", g.op("Sqrt", g.op("Abs", z)), g.op("PRelu", x, g.weight(5)))
    z = g.op("Pad", z, g.ints(0, 1, 1, 2), g.scalar(0.5))
    g.output(g.op("Squeeze", g.op("Unsqueeze", z, g.ints(0)), g.ints(0)), g.op("Identity", g.op("Exp", y)))
    return g


def movement():
    g = Graph()
    a, b = g.op("Split", g.op("SpaceToDepth", g.input(1, 2, 4, 4), blocksize=2), g.ints(3, 5), axis=1, outputs=2)
    a = g.op("Dropout", a, g.scalar(0.5), g.constant(np.array(False)))
    b = g.op("BatchNormalization", b, *[g.positive(5) for _ in range(4)])
    c = g.op("DepthToSpace", g.op("Concat", a, b, axis=1), blocksize=2)
    g.output(g.op("GlobalMaxPool", c), g.op("ReduceMax", a, axes=[1], keepdims=1), g.op("Pow", b, g.scalar(2)))
    return g


def sizes():
    g = Graph(opset=12)
    x = g.input(2, 3, 4, 4)
    shape = g.op("Shape", x)
    first = g.op("Slice", shape, g.ints(0), g.ints(2), g.ints(0), g.ints(1))
    area = g.op("Div", g.op("Size", x), g.op("Mul", *[g.op("Gather", shape, g.constant(np.array(i))) for i in (0, 1)]))
    rest = g.op("Unsqueeze", g.op("Cast", g.op("Sub", g.op("Add", area, area), area), to=7), axes=[0])
    y = g.op("Reshape", x, g.op("Concat", first, rest, axis=0))
    one = g.op("ConstantOfShape", g.ints(1), value=onnx.numpy_helper.from_array(np.ones(1, np.int64)))
    flat = g.op("Reshape", y, g.op("Concat", one, g.ints(-1), axis=0))
    g.output(g.op("Max", g.op("Min", y, y), g.op("Neg", y)), g.op("Softmax", flat),
             g.op("ReduceSum", y, axes=[-1]), g.op("HardSigmoid", y, alpha=0.3))
    return g


NETWORKS = ["mnist", "basic_pitch", "super_resolution", "ppocr_cls", "resnet20", "silero_vad", "silero_vad_op18", "magika"]


def attention():
    """Attention as an operator of ONNX and of ONNX Runtime, and in nodes, with rotated queries."""
    g = Graph(opset=23)
    x, mask = g.input("batch", 5, 24), g.input(5, 5, name="mask")
    table = [g.weight(8, 4) for _ in range(2)]
    places = g.constant(np.arange(5).reshape(1, 5))
    q = g.op("RotaryEmbedding", x, *table, places, num_heads=3)
    y = g.op("Attention", q, x, x, mask, q_num_heads=3, kv_num_heads=3, is_causal=1, softcap=5.0)
    y = g.op("MultiHeadAttention", y, x, x, g.weight(72), num_heads=3, domain="com.microsoft")
    y = g.op("SkipLayerNormalization", y, x, g.positive(24), g.weight(24), domain="com.microsoft")
    scores = g.op("FusedMatMul", y, y, transB=1, alpha=0.2, domain="com.microsoft")
    scores = g.op("Mul", g.op("Add", scores, mask), g.scalar(0.5))
    g.output(g.op("MatMul", g.op("Softmax", scores), g.op("FastGelu", y, g.weight(24), domain="com.microsoft")))
    return g


def half_precision():
    g = Graph()
    f16, bf16 = onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16
    x = g.op("Cast", g.input(1, 3, 6, 6, dtype=f16), to=bf16)
    w = g.constant(g.random.standard_normal((4, 3, 3, 3)).astype(np.float16))
    y = g.op("Cast", g.op("Conv", x, w), to=1)
    g.output(g.op("Gemm", g.op("Flatten", y), g.constant(g.random.standard_normal((64, 5)).astype(np.float16))))
    return g


def real_networks():
    """(name, model, a size), with the inputs that --const binds as constants."""
    for network in SIZED:
        if network.name in NETWORKS and network.path.exists():
            model = onnx.load(network.path)
            for value in [v for v in model.graph.input if v.name in network.bound]:
                model.graph.initializer.append(onnx.numpy_helper.from_array(network.bound[value.name], value.name))
                model.graph.input.remove(value)
            yield network.name, model, network.sizes[0]


def fix_sizes(model, size):
    """A mutant may lose them again."""
    for value in model.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.dim_value:
                dim.dim_value = size.get(dim.dim_param, size.get(f"{value.name}[{axis}]", 2))


def write_seeds(networks):
    folder = BUILD / "onnx-mutants"
    folder.mkdir(exist_ok=True)
    small = (classifier, branches, shape_arithmetic, elementwise, movement, sizes, attention, half_precision)
    models = [(make.__name__, make().model(), {}) for make in small] + (list(real_networks()) if networks else [])
    for name, model, size in models:
        fix_sizes(model, size)
        onnx.save(model, folder / f"{name}.onnx")
        yield folder / f"{name}.onnx"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fuzz_onnx")
    parser.add_argument("mutants", type=int)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--networks", action="store_true")
    options = parser.parse_args()
    paths, end, result = list(write_seeds(options.networks)), time.monotonic() + options.seconds, None
    while result is None or (result == 0 and time.monotonic() < end):
        words = [options.fuzz_onnx, str(options.mutants), *paths, "--from", str(options.first)]
        result = subprocess.run(words, stdin=subprocess.DEVNULL).returncode
        options.first += options.mutants
    return result


if __name__ == "__main__":
    sys.exit(main())
