# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models that together use most of what the converter knows: what mutants of models begin with."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "convert"))
from blocks import Blocks
from integer_layers import Layers
from loops import goes_on, loop_body, scanned
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
    f16, bf16 = TensorProto.FLOAT16, TensorProto.BFLOAT16
    x = g.op("Cast", g.input(1, 3, 6, 6, dtype=f16), to=bf16)
    w = g.constant(g.random.standard_normal((4, 3, 3, 3)).astype(np.float16))
    y = g.op("Cast", g.op("Conv", x, w), to=1)
    g.output(g.op("Gemm", g.op("Flatten", y), g.constant(g.random.standard_normal((64, 5)).astype(np.float16))))
    return g


def quantised():
    g = Layers(exact=False)
    through = lambda x, around, zero: g.through(x, g.to(around=around, zero=zero))
    x = through(g.input(1, 8, 6, 6), 0.02, 120)
    y = through(g.op("Relu", g.convolved(x, 8, 16, name="first", pads=[1, 1, 1, 1])), 0.01, 0)
    y = through(g.op("Add", g.convolved(y, 16, 8, (1, 1), name="second", bias=(g.weight(8),)), x), 0.03, 110)
    y = through(g.op("Concat", y, g.op("MaxPool", y, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), axis=1), 0.03, 110)
    y = through(g.op("HardSwish", g.convolved(y, 16, 16, group=16, name="third", strides=[2, 2])), 0.02, 10)
    y = through(g.op("GlobalAveragePool", y), 0.01, 100)
    g.output(g.op("MatMul", g.op("Flatten", y), g.weights(16, 5, axis=1)))
    return g


def quantised_operators():
    g = Layers(exact=False)
    a, b = g.to(around=0.02, zero=3), g.to(around=0.05, zero=7)
    numbers = lambda *dims: g.constant(g.numbers("i8", dims))
    x = g.quantize(g.input(1, 4, 6, 6), a)
    w = numbers(8, 4, 3, 3), g.scalar(0.01), g.point("i8", 0)
    y = g.op("QLinearConv", x, *a, *w, *b, g.constant(np.arange(8, dtype=np.int32)), strides=[2, 2])
    y = g.op("QLinearAdd", y, *b, y, *b, *a, domain="com.microsoft")
    y = g.op("QLinearMatMul", g.op("Flatten", y), *a, numbers(32, 6), g.scalar(0.01), g.point("i8", 1), *b)
    q, scale, zero = g.op("DynamicQuantizeLinear", g.dequantize(y, b), outputs=3)
    z = g.op("MatMulInteger", q, numbers(6, 7), zero)
    g.output(g.op("Mul", g.op("Cast", z, to=1), g.op("Mul", scale, g.scalar(0.01))))
    return g


def blocks():
    g = Blocks()
    x = g.rows(2, 3, width=64)
    y = g.nbits(x, 64, 48, zero="packed", bias=True, level=4)
    y = g.op("Add", g.nbits(y, 48, 64, block=16, bits=8), x)
    y = g.op("MatMul", y, g.dequantised(32, 64, kn=True))
    values = g.constant(g.random.integers(0, 256, 32 * 40 // 2).astype(np.uint8))
    y = g.op("MatMulBnb4", y, values, g.positive(20), domain="com.microsoft", K=32, N=40, block_size=64, quant_type=1)
    g.output(y)
    return g


def recurrent():
    g = Graph()
    x = g.input(4, 2, 6)
    lengths = g.constant(np.array([4, 3], np.int32))
    y, h, _ = g.op("LSTM", x, g.weight(2, 20, 6), g.weight(2, 20, 5), g.weight(2, 40), lengths, direction="bidirectional",
                   hidden_size=5, outputs=3)
    y = g.op("Squeeze", g.op("GRU", x, g.weight(1, 15, 6), g.weight(1, 15, 5), "", "", g.op("Slice", h, g.ints(0), g.ints(1)),
                             hidden_size=5, linear_before_reset=1), g.ints(1))
    g.output(g.op("RNN", y, g.weight(1, 3, 5), g.weight(1, 3, 3), hidden_size=3, activations=["Relu"]), h)
    return g


def control():
    g = Graph()
    x, outside = g.input(3, 4), g.weight(4, 4)
    body, _, condition, (h,) = loop_body((3, 4))
    goes_on(body, condition)
    h = body.op("Tanh", body.op("MatMul", h, outside))
    body.output(h, body.op("ReduceSum", h, keepdims=0))
    y, sums = g.op("Loop", g.constant(np.int64(3)), "", x, body=body.graph(), outputs=2)
    parts = g.op("SplitToSequence", y, g.constant(np.int64(2)), axis=1)
    g.output(g.op("ConcatFromSequence", parts, axis=0), g.op("SequenceAt", parts, g.constant(np.int64(-1))), sums)
    scanned(g, (g.input(5, 3), g.input(5, 3)))
    return g


def places():
    g = Graph()
    x, at = g.input(4, 6), g.input(2, 3, dtype=TensorProto.INT64)
    values, found = g.op("TopK", x, g.ints(3), axis=-1, outputs=2)
    y = g.op("GatherElements", x, found, axis=1)
    z = g.op("ScatterND", x, g.constant(np.array([[1], [3]])), g.op("Gather", x, g.ints(0, 2)))
    z = g.op("ScatterElements", z, g.constant(np.array([[0, 5]])), g.weight(1, 2), axis=1)
    z = g.op("Where", g.op("Greater", z, g.scalar(0)), z, g.op("CumSum", z, g.constant(np.int64(1)), exclusive=1))
    g.output(g.op("Add", y, values), g.op("Trilu", z, upper=0), g.op("GatherND", x, g.constant(np.array([[0, 1], [2, 2]]))),
             g.op("OneHot", at, g.constant(np.int64(6)), g.constant(np.array([0, 1], np.float32))),
             g.op("Tile", g.op("Expand", g.op("ReduceL2", x, axes=[1]), g.ints(4, 2)), g.ints(1, 3)))
    g.output(g.op("ArgMax", x, axis=1, select_last_index=1), dtype=TensorProto.INT64)
    return g


def images():
    g = Graph(opset=20)
    x = g.input(1, 3, 8, 10)
    y = g.op("ConvTranspose", x, g.weight(3, 4, 3, 3), g.weight(4), strides=[2, 2], pads=[1, 1, 0, 0], output_padding=[1, 0])
    y = g.op("Resize", y, "", "", g.ints(1, 4, 9, 12), mode="linear", coordinate_transformation_mode="align_corners")
    y = g.op("Resize", y, "", g.constant(np.array([1, 1, 2, 1.5], np.float32)), mode="cubic")
    z = g.op("GridSample", x, g.input(1, 5, 6, 2), padding_mode="border", mode="linear")
    z = g.op("LRN", g.op("Pad", z, g.ints(0, 0, 1, 2, 0, 0, 0, 1), mode="reflect"), size=3)
    z = g.op("LpPool", z, kernel_shape=[2, 2], strides=[2, 1], p=2)
    y = g.op("MaxPool", y, kernel_shape=[3, 2], dilations=[2, 1], ceil_mode=1, strides=[2, 2])
    g.output(y, g.op("CenterCropPad", z, g.ints(2, 8), axes=[2, 3]))
    return g


def signals():
    g = Graph(opset=17)
    x = g.input(1, 64, 1)
    window = g.op("HannWindow", g.constant(np.int64(16)))
    spectrum = g.op("STFT", x, g.constant(np.int64(8)), window, g.constant(np.int64(16)))
    power = g.op("ReduceSumSquare", spectrum, axes=[3], keepdims=0)
    g.output(g.op("Log", g.op("Add", g.op("MatMul", power, g.weight(9, 4)), g.scalar(1))), g.op("DFT", x, axis=1, onesided=1),
             g.op("Einsum", power, g.weight(9, 5), equation="bij,jk->bki"))
    return g


def norms():
    g = Graph(opset=21)
    x = g.input(2, 6, 4, 5)
    y = g.op("InstanceNormalization", x, g.positive(6), g.weight(6))
    y = g.op("GroupNormalization", y, g.positive(6), g.weight(6), num_groups=3)
    y = g.op("LayerNormalization", g.op("Transpose", y, perm=[0, 2, 3, 1]), g.positive(6), g.weight(6), axis=-1)
    z = g.op("Conv", g.op("Unsqueeze", x, g.ints(2)), g.weight(4, 6, 1, 3, 3), dilations=[1, 1, 2], pads=[0, 1, 1, 0, 1, 1])
    g.output(g.op("LpNormalization", y, axis=1, p=1), g.op("MeanVarianceNormalization", x), g.op("LogSoftmax", z, axis=3))
    return g


SMALL = (classifier, branches, shape_arithmetic, elementwise, movement, sizes, attention, half_precision, quantised,
         quantised_operators, blocks, recurrent, control, places, images, signals, norms)
