#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantised operators and networks give what ONNX Runtime gives. Every operator comes twice: with scales that are powers of
two, where all of its arithmetic is exact and so are the results, and with any scales, where a sum that lies at the middle
between two steps may be rounded to either of them, as the factors are multiplied in another order: results may differ by
one step there. Weights of 8 bits stay within 60, as ONNX Runtime's kernels for older CPUs saturate pairs of larger ones."""
import functools
import itertools
import sys
import tempfile

import numpy as np
import onnx
from onnxruntime import quantization

from small_graphs import Bench, Graph, difference, expected_outputs  # also finds ipextest
from ipextest import CLI, Tap, cli_json, command

DOMAIN = "com.microsoft"
P = onnx.TensorProto
TYPES = {"u8": np.uint8, "i8": np.int8}
CASES, REFUSED = [], []


class Quantised(Graph):
    """exact: scales are powers of two."""
    ir_version, domains = 10, (DOMAIN,)

    def __init__(self, exact=True, opset=17):
        super().__init__(opset=opset)
        self.exact, self.flags, self.sizes = exact, (), [{}]

    def varying(self):
        self.flags, self.sizes = ("--dim", "N=1..5"), [{"N": 1}, {"N": 4}, {"N": 5}]
        return "N"

    def contrib(self, op_type, *inputs, **attributes):
        return self.op(op_type, *inputs, domain=DOMAIN, **attributes)

    def scales(self, *dims, around=2 ** -5):
        values = 2.0 ** self.random.integers(-1, 2, dims) if self.exact else self.random.uniform(0.5, 2, dims)
        return self.constant((values * around).astype(np.float32))

    def points(self, kind, *dims):
        return self.constant(self.numbers(kind, *dims, most=9) + TYPES[kind](100 if kind == "u8" else 0))

    def numbers(self, kind, *dims, most=None):
        low, high = (0, 256) if kind == "u8" else (-128, 128)
        if most:
            low, high = max(low, -most), min(high, most + 1)
        return np.asarray(self.random.integers(low, high, dims)).astype(TYPES[kind])

    def weights(self, kind, *dims):
        return self.constant(self.numbers(kind, *dims, most=60))

    def quantised_input(self, kind, *dims):
        return self.input(*dims, dtype=P.UINT8 if kind == "u8" else P.INT8)

    def quantised(self, kind, *dims, around=2 ** -5):
        """The three operands of a quantised input."""
        return self.quantised_input(kind, *dims), self.scales(around=around), self.points(kind)

    def to(self, kind, around=2 ** -5):
        """Scale and zero point of a result."""
        return self.scales(around=around), self.points(kind)

    def gives(self, kind, name):
        self.output(name, dtype=P.UINT8 if kind == "u8" else P.INT8)

    def four_bits(self, values, signed, name):
        tensor = onnx.helper.make_tensor(name, P.INT4 if signed else P.UINT4, values.shape, values.flatten().tolist())
        self.constants.append(tensor)
        return name

    def random_array(self, tensor, sizes):
        array = super().random_array(tensor, sizes)
        return np.round(array * 64) / np.float32(128) if self.exact and array.dtype == np.float32 else array


def case(exact=(True, False), opset=17):
    def mark(function):
        for way in exact:
            title = f"{function.__name__.replace('_', ' ')}{'' if way else ', any scales'}"
            CASES.append((title, function, way, opset))
        return function
    return mark


def for_types(*types, exact=(True, False), opset=17):
    """The function gets these, "u8 i8", one by one."""
    def mark(function):
        for names in types:
            part = functools.partial(function, kinds=names.split())
            part.__name__ = f"{function.__name__} of {names}"
            case(exact, opset)(part)
        return function
    return mark


def refused(*parts, opset=17):
    def mark(function):
        REFUSED.append((function.__name__.replace("_", " "), function, parts, opset))
        return function
    return mark


# ---- to integers and back ----

@for_types("u8", "i8")
def QuantizeLinear(g, kinds):
    x = g.input(3, 40)
    g.gives(kinds[0], g.op("QuantizeLinear", x, *g.to(kinds[0])))


@for_types("u8", "i8")
def QuantizeLinear_per_axis(g, kinds):
    x = g.input(g.varying(), 5, 7)
    g.gives(kinds[0], g.op("QuantizeLinear", x, g.scales(5), g.points(kinds[0], 5), axis=-2))


@for_types("u8", "i8")
def DequantizeLinear(g, kinds):
    x = g.quantised_input(kinds[0], g.varying(), 4)
    g.output(g.op("DequantizeLinear", x, g.scales(4), g.points(kinds[0], 4)), g.op("DequantizeLinear", x, g.scales()))


@case()
def DequantizeLinear_of_i32(g):
    x, y = (g.constant(g.random.integers(-2 ** 20, 2 ** 20, (4, 6)).astype(np.int32)) for _ in range(2))
    z = g.op("Add", g.op("DequantizeLinear", x, g.scales()), g.op("DequantizeLinear", y, g.scales(4), axis=0))
    zero = g.constant(np.int32(0))
    z = g.op("Add", z, g.op("DequantizeLinear", g.input(g.varying(), 4, 6, dtype=P.INT32), g.scales(), zero))
    g.output(g.op("Add", z, g.input(4, 6)))


def blocks(g, x, axis, shape, block, zero):
    dims = [-(-n // block) if i == axis else n for i, n in enumerate(shape)]
    return g.op("DequantizeLinear", x, g.scales(*dims), zero(*dims), axis=axis, block_size=block)


@for_types("u8", "i8", opset=21)
def DequantizeLinear_of_blocks(g, kinds):
    for axis, block in (0, 4), (1, 5), (-1, 32):
        zero = functools.partial(g.points, kinds[0])
        g.output(blocks(g, g.weights(kinds[0], 10, 64), axis % 2, (10, 64), block, zero))
    g.output(blocks(g, g.quantised_input(kinds[0], 2, 12, 3), 1, (2, 12, 3), 4, functools.partial(g.points, kinds[0])))


@case(opset=21)
def QuantizeLinear_of_blocks(g):
    x = g.input(4, 12)
    g.gives("u8", g.op("QuantizeLinear", x, g.scales(4, 3), g.points("u8", 4, 3), axis=1, block_size=4))


@case(opset=21)
def DequantizeLinear_of_4_bits(g):
    def four(name, signed, *dims):
        low = -8 if signed else 0
        return g.four_bits(g.random.integers(low, low + 16, dims), signed, name)
    for signed in False, True:
        w, z = four(f"w{signed}", signed, 32, 5), four(f"z{signed}", signed, 2, 5)
        w = g.op("DequantizeLinear", w, g.scales(2, 5), z, axis=0, block_size=16)
        g.output(g.op("MatMul", g.input(g.varying(), 32), w))
        w = g.op("Transpose", four(f"v{signed}", signed, 3, 5), perm=[1, 0])  # 15 of them, the last one alone in its byte
        g.output(g.op("MatMul", g.input(2, 5), g.op("DequantizeLinear", w, g.scales())))


@case(opset=21)
def to_4_bits_and_back(g):
    for signed in False, True:
        zero = g.four_bits(np.array(1), signed, f"zero{signed}")
        q = g.op("QuantizeLinear", g.input(3, 40), g.scales(around=2 ** -4), zero)
        g.output(g.op("DequantizeLinear", q, g.scales(), zero))


def sixteen_bits(g, domain):
    for kind, zero in (np.uint16, 32768), (np.int16, -5):
        x, point = g.input(g.varying(), 40), g.constant(kind(zero))
        q = g.op("QuantizeLinear", x, g.scales(around=2 ** -14), point, domain=domain)
        g.output(g.op("DequantizeLinear", q, g.scales(), point, domain=domain))
        w = g.constant(g.random.integers(0, 32768, (5, 3)).astype(kind))
        g.output(g.op("Add", g.op("DequantizeLinear", w, g.scales(), point, domain=domain), g.input(5, 3)))


@case(opset=21)
def to_16_bits_and_back(g):
    sixteen_bits(g, "")


@case()
def to_16_bits_and_back_by_ONNX_Runtimes_operators(g):
    sixteen_bits(g, DOMAIN)


@case(exact=(False,))
def DynamicQuantizeLinear(g):
    for x in g.input(5, 7), g.op("Mul", g.input(3, 4), g.scalar(0)), g.weight(3, 4):
        q, scale, zero = g.op("DynamicQuantizeLinear", x, outputs=3)
        g.gives("u8", q)
        g.output(scale)
        g.gives("u8", zero)


@for_types("u8", "i8")
def operators_that_choose_among_integers(g, kinds):
    x = g.quantised_input(kinds[0], 2, 3, 8, 6)
    y = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = g.op("Resize", y, "", g.constant(np.float32([1, 1, 2, 2])), mode="nearest", nearest_mode="floor",
             coordinate_transformation_mode="asymmetric")
    y = g.op("Transpose", g.op("Concat", x, y, axis=1), perm=[0, 2, 3, 1])
    g.gives(kinds[0], g.op("Reshape", y, g.ints(2, -1)))


# ---- convolutions ----

def conv(g, kinds, x, weight, bias=False, per_channel=True, **attributes):
    m = weight[0]
    each = (m,) if per_channel else ()
    x = g.quantised(kinds[0], *x)
    zero = g.constant(np.zeros(each, TYPES[kinds[1]])) if per_channel else g.points(kinds[1])
    operands = [*x, g.weights(kinds[1], *weight), g.scales(*each), zero, *g.to(kinds[0], around=2 ** -1)]
    if bias:
        operands.append(g.constant(g.random.integers(-3000, 3000, m).astype(np.int32)))
    g.gives(kinds[0], g.op("QLinearConv", *operands, **attributes))


@for_types("u8 u8", "u8 i8", "i8 i8")
def QLinearConv(g, kinds):
    conv(g, kinds, (g.varying(), 3, 9, 8), (6, 3, 3, 3), per_channel=False)
    conv(g, kinds, (2, 8, 9, 8), (16, 8, 3, 3), bias=True, per_channel=kinds[1] == "i8", pads=[1, 0, 1, 2], strides=[2, 1])
    conv(g, kinds, (1, 16, 5, 5), (24, 16, 1, 1), bias=True, per_channel=False)


@for_types("u8 i8", "i8 i8")
def QLinearConv_in_groups(g, kinds):
    conv(g, kinds, (2, 8, 9, 8), (8, 1, 3, 3), bias=True, group=8, pads=[1, 1, 1, 1])
    conv(g, kinds, (g.varying(), 8, 9, 8), (12, 4, 3, 3), group=2, strides=[2, 2], auto_pad="SAME_UPPER")
    conv(g, kinds, (1, 8, 9, 8), (6, 8, 3, 3), dilations=[2, 2])


@for_types("u8 i8")
def QLinearConv_of_signals_and_volumes(g, kinds):
    conv(g, kinds, (2, 4, 30), (6, 4, 5), bias=True, pads=[2, 2])
    conv(g, kinds, (1, 2, 5, 6, 7), (3, 2, 3, 3, 3), bias=True, pads=[1] * 6)


def bright(g, *dims):
    """Numbers from 230 to 255."""
    x = g.op("Add", g.op("Clip", g.input(*dims), g.scalar(-1), g.scalar(1)), g.scalar(19))
    return g.op("QuantizeLinear", x, g.scalar(5 / 64), g.constant(np.uint8(0)))


def conv_integer(g, kinds, x, w, **attributes):
    operands = g.quantised_input(kinds[0], *x), g.constant(g.numbers(kinds[1], *w, most=60)), g.points(kinds[0])
    g.output(g.op("ConvInteger", *operands, g.points(kinds[1]), **attributes), dtype=P.INT32)


@for_types("u8 u8", "u8 i8", exact=(True,))
def ConvInteger(g, kinds):
    conv_integer(g, kinds, (g.varying(), 3, 9, 8), (5, 3, 3, 3), pads=[1, 1, 1, 1])
    conv_integer(g, kinds, (1, 64, 12, 12), (16, 64, 3, 3), pads=[1, 1, 1, 1])  # Winograd would be faster
    conv_integer(g, kinds, (1, 512, 4, 4), (3, 512, 3, 3))  # sums beyond 2^24 if all went the same way
    conv_integer(g, kinds, (2, 6, 7, 7), (6, 1, 3, 3), group=6, strides=[2, 2])


@case(exact=(True,))
def ConvInteger_of_sums_beyond_24_bits(g):
    x, w = bright(g, 1, 700, 3, 3), g.constant(np.full((2, 700, 1, 1), 255, np.uint8))
    g.output(g.op("ConvInteger", x, w), dtype=P.INT32)


@for_types("u8 i8", "i8 i8")
def a_convolution_between_QuantizeLinear_and_DequantizeLinear(g, kinds):
    """As quantize_static writes it."""
    x = g.op("DequantizeLinear", *g.quantised(kinds[0], g.varying(), 3, 9, 8))
    w = g.op("DequantizeLinear", g.weights(kinds[1], 6, 3, 3, 3), g.scales(6), g.constant(np.zeros(6, np.int8)), axis=0)
    b = g.constant(g.random.integers(-3000, 3000, 6).astype(np.int32))
    b = g.op("DequantizeLinear", b, g.scales(6, around=2 ** -10), g.constant(np.zeros(6, np.int32)), axis=0)
    y = g.op("Relu", g.op("Conv", x, w, b, pads=[1, 1, 1, 1]))
    g.gives(kinds[0], g.op("QuantizeLinear", y, *g.to(kinds[0], around=2 ** -1)))


# ---- products ----

@for_types("u8 u8", "u8 i8", "i8 i8")
def QLinearMatMul(g, kinds):
    def product(a, *b, columns=(), constant=True):
        w = g.weights(kinds[1], *b) if constant else g.quantised_input(kinds[1], *b)
        w = w, g.scales(*columns), g.constant(np.zeros(columns, TYPES[kinds[1]])) if columns else g.points(kinds[1])
        g.gives(kinds[0], g.op("QLinearMatMul", *g.quantised(kinds[0], *a), *w, *g.to(kinds[0], around=2 ** -1)))
    product((g.varying(), 40), 40, 7)
    product((4, 300), 300, 7, columns=(7,))
    product((2, 5, 24), 24, 6, columns=(6,))
    if kinds[1] == "u8":
        product((2, 5, 24), 2, 24, 6, constant=False)


@for_types("u8 u8", "u8 i8", exact=(True,))
def MatMulInteger(g, kinds):
    def product(a, *b, constant=True, columns=()):
        w = g.constant(g.numbers(kinds[1], *b, most=60)) if constant else g.quantised_input(kinds[1], *b)
        operands = g.quantised_input(kinds[0], *a), w, g.points(kinds[0]), g.points(kinds[1], *columns)
        g.output(g.op("MatMulInteger", *operands), dtype=P.INT32)
    product((g.varying(), 40), 40, 7)
    product((3, 3000), 3000, 5, columns=(5,))
    product((2, 3, 24), 24, 5)
    if kinds[1] == "u8":
        product((2, 3, 400), 2, 400, 5, constant=False)


@case(exact=(True,))
def MatMulInteger_of_sums_beyond_24_bits(g):
    x, w = bright(g, 3, 1000), g.constant(np.full((1000, 2), 255, np.uint8))
    g.output(g.op("MatMulInteger", x, w), dtype=P.INT32)


@for_types("u8 u8", "u8 i8", "i8 i8")
def QGemm(g, kinds):
    def gemm(a, b, n, columns=(), bias=True, result=True, **attributes):
        zero = g.constant(np.zeros(columns, TYPES[kinds[1]])) if columns else g.points(kinds[1])
        c = g.constant(g.random.integers(-3000, 3000, n).astype(np.int32)) if bias else ""
        operands = [*g.quantised(kinds[0], *a), g.weights(kinds[1], *b), g.scales(*columns), zero, c]
        name = g.contrib("QGemm", *operands, *(g.to(kinds[0], around=2 ** -1) if result else ()), **attributes)
        if result:
            g.gives(kinds[0], name)
        else:
            g.output(name)
    gemm((g.varying(), 40), (40, 7), 7)
    gemm((3, 300), (7, 300), 7, columns=(7,), transB=1)
    gemm((40, 3), (40, 5), 5, bias=False, transA=1, alpha=2.0)
    gemm((3, 40), (5, 40), 5, result=False, transB=1, alpha=0.5)


@for_types("u8 u8", "u8 i8")
def MatMulIntegerToFloat(g, kinds):
    for columns, bias in ((), False), ((7,), True):
        operands = [g.quantised_input(kinds[0], 3, 40), g.weights(kinds[1], 40, 7), g.scales(), g.scales(*columns)]
        operands += [g.points(kinds[0]), g.points(kinds[1], *columns)] + [g.weight(7)] * bias
        g.output(g.contrib("MatMulIntegerToFloat", *operands))


def attention(g, kinds, rows, columns=(), mask="", past=None, **attributes):
    operands = [g.quantised_input(kinds[0], 2, rows, 20), g.weights(kinds[1], 20, 72), g.weight(72), g.scales(), g.scales(*columns, around=2 ** -7)]
    operands += [mask, g.points(kinds[0]), g.points(kinds[1], *columns), *([g.input(2, 2, 3, past, 8)] if past else [])]
    return g.op("QAttention", *operands, outputs=2 if past else 1, domain=DOMAIN, num_heads=3, **attributes)


@for_types("u8 u8", "u8 i8", exact=(False,))
def QAttention(g, kinds):
    for columns in (), (72,):
        g.output(attention(g, kinds, 7, columns))


@for_types("u8 i8", exact=(False,))
def QAttention_with_masks(g, kinds):
    g.output(attention(g, kinds, 7, mask=g.constant(np.int32([7, 4]))))
    g.output(attention(g, kinds, 7, mask=g.constant(np.int32([[1] * 7, [1] * 5 + [0] * 2]))))
    g.output(attention(g, kinds, 7, unidirectional=1))


@for_types("u8 i8", exact=(False,))
def QAttention_with_past_keys(g, kinds):
    g.output(*attention(g, kinds, 4, past=5, unidirectional=1))


@for_types("u8 i8", exact=(False,))
def QAttention_of_what_a_run_quantises(g, kinds):
    q, scale, zero = g.op("DynamicQuantizeLinear", g.input(2, 7, 20), outputs=3)
    operands = [q, g.weights(kinds[1], 20, 72), g.weight(72), scale, g.scales(around=2 ** -7), "", zero, g.points(kinds[1])]
    g.output(g.contrib("QAttention", *operands, num_heads=3))


@refused("weight in1 of rank 2", "a constant [size][columns]")
def QAttention_of_a_weight_of_the_run(g):
    operands = [g.quantised_input("u8", 2, 7, 20), g.quantised_input("i8", 20, 72), g.weight(72), g.scales(), g.scales()]
    g.output(g.contrib("QAttention", *operands, "", g.points("u8"), g.points("i8"), num_heads=3))


def embeddings(g, kind, segments=True, mask=True):
    ids = [g.input(2, 5, dtype=P.INT32) for _ in range(1 + segments)]
    dims = [(12, 16), (16, 16), (6, 16), (16,), (16,)]
    absent = () if segments else (2,)
    each = lambda make: ["" if i in absent else make(i) for i in range(5)]
    operands = [ids[0], ids[-1] if segments else "", *each(lambda i: g.weights(kind, *dims[i]))]
    operands += [g.input(2, 5, dtype=P.INT32) if mask else "", *each(lambda i: g.scales(around=2 ** -6)), *each(lambda i: g.points(kind))]
    return g.op("QEmbedLayerNormalization", *operands, outputs=2, domain=DOMAIN, epsilon=1e-5)


@for_types("u8", "i8", exact=(False,))
def QEmbedLayerNormalization(g, kinds):
    for options in dict(), dict(segments=False), dict(mask=False):
        y, lengths = embeddings(g, kinds[0], **options)
        g.output(y)
        g.output(lengths, dtype=P.INT32)


@refused("input in1 or its scale or zero point is no constant")
def QEmbedLayerNormalization_of_a_table_of_the_run(g):
    operands = [g.input(2, 5, dtype=P.INT32), "", g.quantised_input("u8", 12, 16), g.weights("u8", 16, 16), "", g.weights("u8", 16), g.weights("u8", 16), ""]
    operands += [*(g.scales() if i != 2 else "" for i in range(5)), *(g.points("u8") if i != 2 else "" for i in range(5))]
    g.output(g.op("QEmbedLayerNormalization", *operands, outputs=2, domain=DOMAIN)[0])


@for_types("u8", "i8", exact=(False,))
def DynamicQuantizeMatMul(g, kinds):
    for columns, bias in ((), False), ((7,), True):
        operands = [g.input(g.varying(), 5, 40), g.weights(kinds[0], 40, 7), g.scales(*columns)]
        operands += [g.points(kinds[0], *columns)] + [g.weight(7)] * bias
        g.output(g.contrib("DynamicQuantizeMatMul", *operands))


def n_bits(g, k, n, block, bits=4, zero=None, bias=False, dims=(3,), **attributes):
    blocks = -(-k // block)
    operands = [g.input(*dims, k), g.constant(g.random.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8))]
    operands.append(g.scales(n * blocks))
    if zero == "packed":
        operands.append(g.constant(g.random.integers(0, 256, n * -(-blocks * bits // 8)).astype(np.uint8)))
    elif zero == "f32":
        operands.append(g.constant(g.random.integers(0, 2 ** bits, n * blocks).astype(np.float32)))
    elif bias:
        operands.append("")
    operands += ["", g.weight(n)] if bias else []
    g.output(g.contrib("MatMulNBits", *operands, K=k, N=n, bits=bits, block_size=block, **attributes))


@case(exact=(False,))
def MatMulNBits(g):
    n_bits(g, 64, 7, 16)
    n_bits(g, 64, 7, 32, zero="packed", dims=(g.varying(), 2))
    n_bits(g, 96, 5, 32, zero="packed", accuracy_level=1)  # three blocks: half a byte is left of each row's zero points
    n_bits(g, 72, 5, 32, bias=True)  # the last block is cut
    n_bits(g, 128, 8, 128, zero="f32", bias=True)
    n_bits(g, 64, 7, 32, bits=8)
    n_bits(g, 96, 7, 32, bits=8, zero="packed")


@case(exact=(False,))
def MatMulNBits_of_blocks_that_are_named(g):
    for zero, sorted_ones in (None, False), ("f32", False), (None, True):  # of packed ones see blocks.py
        n_bits(g, 72, 7, 16, zero=zero)
        order = g.constant((np.arange(80) // 16 if sorted_ones else g.random.permutation(80) % 5).astype(np.int32))
        g.nodes[-1].input.extend([""] * (4 - len(g.nodes[-1].input)) + [order])


@case(exact=(False,))
def MatMulBnb4(g):
    for kind, (k, n, block) in itertools.product((0, 1), ((64, 7, 16), (48, 5, 32), (33, 3, 64))):  # blocks may cross columns
        w = g.constant(g.random.integers(0, 256, (k * n + 1) // 2).astype(np.uint8))
        g.output(g.contrib("MatMulBnb4", g.input(3, k), w, g.scales(-(-k * n // block)), K=k, N=n, block_size=block, quant_type=kind))


@case(exact=(False,), opset=21)
def GatherBlockQuantized(g):
    def table(kind, zero, bits=4, rows=50, width=80, block=32, **attributes):
        blocks, name = -(-width // block), f"{kind}{len(g.nodes)}"
        def numbers(width, name):
            if kind != "u8":
                low = -8 if kind == "int4" else 0
                return g.four_bits(g.random.integers(low, low + 16, (rows, width)), kind == "int4", name)
            return g.constant(g.random.integers(0, 256, (rows, -(-width * bits // 8))).astype(np.uint8))
        operands = [numbers(width, f"{name}_table"), g.input(g.varying(), 3, dtype=P.INT64), g.scales(rows, blocks)]
        operands += [numbers(blocks, f"{name}_zero")] * zero
        g.output(g.contrib("GatherBlockQuantized", *operands, bits=bits, block_size=block, gather_axis=0, quantize_axis=1,
                           **attributes))
    for kind, zero in ("int4", False), ("int4", True), ("uint4", False), ("uint4", True), ("u8", False), ("u8", True):
        table(kind, zero)
    table("u8", True, bits=8)
    table("u8", False, bits=8, block=16)


# ---- others of ONNX Runtime's ----

def elementwise(op_type):
    def fill(g, kinds):
        kind = kinds[0]
        for a, b in ((g.varying(), 3, 4), (1, 3, 4)), ((5, 4), (4,)), ((2, 3), ()):
            operands = *g.quantised(kind, *a), *g.quantised(kind, *b)
            g.gives(kind, g.contrib(op_type, *operands, *g.to(kind, around=2 ** -4 if op_type == "QLinearAdd" else 2 ** -3)))
    fill.__name__ = op_type
    for_types("u8", "i8")(fill)


elementwise("QLinearAdd")
elementwise("QLinearMul")


def of_one(op_type, *dims, exact=(True, False), name="", around=2 ** -5, varying=True, **attributes):
    def fill(g, kinds):
        batch = [g.varying()] if varying else []
        kind = kinds[0]
        g.gives(kind, g.contrib(op_type, *g.quantised(kind, *batch, *dims), *g.to(kind, around=around), **attributes))
    fill.__name__ = f"{op_type}{name}"
    for_types("u8", "i8", exact=exact)(fill)


of_one("QLinearSigmoid", 7, exact=(False,), around=2 ** -7)
of_one("QLinearLeakyRelu", 7, alpha=0.25)
of_one("QLinearLeakyRelu", 7, exact=(False,), name=" of alpha as it is left out")


def softmax(name, *dims, **attributes):
    """Scale and zero point of the result are those that the quantiser gives it: ONNX Runtime rounds 1 / scale down, and
    i8 beyond 127 comes back as negative."""
    def fill(g, kinds):
        to = g.scalar(1 / 256), g.constant(TYPES[kinds[0]](0 if kinds[0] == "u8" else -128))
        g.gives(kinds[0], g.contrib("QLinearSoftmax", *g.quantised(kinds[0], g.varying(), *dims), *to, **attributes))
    fill.__name__ = f"QLinearSoftmax {name}"
    for_types("u8", "i8", exact=(False,))(fill)


softmax("of rows", 7, opset=13, axis=-1)
softmax("along another axis", 7, 5, opset=13, axis=1)
softmax("of opset 12", 7, 5, opset=12, axis=2)
softmax("of opset 12, all from an axis on", 7, 5, opset=12, axis=1)
softmax("of opset 12, its default axis", 7, 5, opset=12)
of_one("QLinearGlobalAveragePool", 3, 4, 8, around=2 ** -6, channels_last=0)
of_one("QLinearGlobalAveragePool", 4, 8, 3, name=" channels last", around=2 ** -6, channels_last=1)
of_one("QLinearAveragePool", 3, 8, 9, kernel_shape=[2, 4], strides=[2, 1])
of_one("QLinearAveragePool", 3, 8, 9, exact=(False,), name=" with padding", kernel_shape=[3, 3], pads=[1, 1, 1, 1])


@for_types("u8", "i8")
def QLinearConcat(g, kinds):
    kind, n = kinds[0], g.varying()
    parts = *g.quantised(kind, n, 3, 4), *g.quantised(kind, n, 2, 4), *g.quantised(kind, n, 5, 4)
    g.gives(kind, g.contrib("QLinearConcat", *g.to(kind), *parts, axis=-2))


@for_types("u8", "i8")
def QLinearWhere(g, kinds):
    kind = kinds[0]
    operands = g.input(3, 4, dtype=P.BOOL), *g.quantised(kind, 3, 4), *g.quantised(kind, 1, 4)
    g.gives(kind, g.contrib("QLinearWhere", *operands, *g.to(kind)))


# ---- refused ----

@refused("input 0 is uint16, which is supported where it is dequantised", opset=21)
def sixteen_bits_where_they_are_computed_with(g):
    q = g.op("QuantizeLinear", g.input(4), g.scales(), g.constant(np.uint16(0)), out="0")
    g.output(g.op("Max", q, g.constant(np.uint16([7]))), dtype=P.UINT16)


@refused("its data type int4 has no operators at run time", opset=21)
def a_result_of_4_bits(g):
    g.output(g.op("QuantizeLinear", g.input(4), g.scales(), g.four_bits(np.array(0), True, "zero")), dtype=P.INT4)


@refused("graph input", "its data type uint4 has no operators at run time", opset=21)
def an_input_of_4_bits(g):
    g.output(g.op("DequantizeLinear", g.input(4, dtype=P.UINT4), g.scales()))


@refused("its data type uint16", opset=21)
def an_input_of_16_bits(g):
    g.output(g.op("DequantizeLinear", g.input(4, dtype=P.UINT16), g.scales()))


@refused("the zero point zero of in0, which is i32, is not known to be 0")
def a_zero_point_of_i32(g):
    g.output(g.op("DequantizeLinear", g.input(4, dtype=P.INT32), g.scales(), g.constant(np.int32(3), "zero")))


@refused("does not have one element per block of 5 along an axis of in0", opset=21)
def blocks_that_do_not_fit(g):
    g.output(g.op("DequantizeLinear", g.quantised_input("u8", 4, 12), g.scales(4, 4), axis=1, block_size=5))


@refused("f32 to float8e4m3fn; f32 and i32 to integers of 4, 8 and 16 bits are supported", opset=23)
def float8(g):
    g.output(g.op("QuantizeLinear", g.input(4), g.scales(), output_dtype=P.FLOAT8E4M3FN), dtype=P.FLOAT8E4M3FN)


@refused("wide is neither one number nor one per element of an axis")
def scales_that_do_not_fit(g):
    operands = *g.quantised("u8", 3, 8), g.weights("u8", 8, 5), g.constant(np.ones(4, np.float32), "wide"), g.points("u8")
    g.gives("u8", g.op("QLinearMatMul", *operands, *g.to("u8")))


@refused("element 2 of the blocks order is 2, of 2")
def blocks_that_there_are_not(g):
    n_bits(g, 64, 7, 32, zero="packed")
    g.nodes[-1].input.append(g.constant(np.arange(64, dtype=np.int32), "order"))


@refused("quant_type 2, transB 1; FP4 (0) and NF4 (1)")
def floats_of_another_kind(g):
    w = g.constant(g.random.integers(0, 256, 64).astype(np.uint8))
    g.output(g.contrib("MatMulBnb4", g.input(3, 32), w, g.scales(8), K=32, N=4, block_size=16, quant_type=2))


@refused("bits 3; blocks of 16 and more, of 2, 4 or 8 bits")
def three_bits(g):
    n_bits(g, 64, 7, 32, bits=3)


@refused("the weight late is not a constant of 224 elements of its type")
def a_weight_of_the_run(g):
    n_bits(g, 64, 7, 32)
    g.nodes[-1].input[1] = g.input(7, 2, 16, name="late", dtype=P.UINT8)


@refused("input floats is f32; u8 and i8 are supported")
def floats_where_integers_belong(g):
    x = g.input(1, 3, 5, 5, name="floats")
    g.output(g.op("ConvInteger", x, g.weights("u8", 2, 3, 3, 3)), dtype=P.INT32)


@refused("its sums are not known to be exact: 32 products per sum are too many")
def groups_of_long_sums(g):
    w = g.constant(np.full((4, 32, 9, 9), 255, np.uint8))
    g.output(g.op("ConvInteger", g.quantised_input("u8", 1, 64, 9, 9), w, group=2), dtype=P.INT32)


@refused("the weight w does not fit in0")
def more_channels_than_there_are(g):
    w = g.constant(np.full((4, 900, 3, 3), 255, np.uint8), "w")
    g.output(g.op("ConvInteger", g.quantised_input("u8", 1, 10, 9, 9), w), dtype=P.INT32)


@refused("the inner dims of in0 and w differ: 10 and 900")
def more_rows_than_columns(g):
    w = g.constant(np.full((900, 2), 255, np.uint8), "w")
    g.output(g.op("MatMulInteger", g.quantised_input("u8", 4, 10), w), dtype=P.INT32)


@refused("the operands have rank 1 and 2, not 2")
def a_vector_where_a_matrix_belongs(g):
    operands = *g.quantised("u8", 8), g.weights("u8", 8, 5), g.scales(), g.points("u8"), ""
    g.output(g.contrib("QGemm", *operands, transA=1))


@refused("the bias wide is larger than the product")
def a_bias_that_is_larger(g):
    operands = g.quantised_input("u8", 3, 40), g.weights("u8", 40, 7), g.scales(), g.scales(), "", ""
    g.output(g.contrib("MatMulIntegerToFloat", *operands, g.constant(np.ones((2, 1, 7), np.float32), "wide")))


@refused("the result has a scale or a zero point, not both or none")
def a_zero_point_without_a_scale(g):
    operands = *g.quantised("u8", 3, 8), g.weights("u8", 8, 5), g.scales(), g.points("u8"), "", "", g.points("u8")
    g.gives("u8", g.contrib("QGemm", *operands))


@refused("channels behind the positions are not supported")
def channels_last(g):
    g.gives("u8", g.contrib("QLinearAveragePool", *g.quantised("u8", 1, 4, 4, 3), *g.to("u8"), kernel_shape=[2, 2],
                            channels_last=1))


@refused("the bias wide does not have one element per column")
def a_bias_that_does_not_fit(g):
    n_bits(g, 64, 7, 32, bias=True)
    g.nodes[-1].input[5] = g.constant(np.ones((9, 1), np.float32), "wide")


@refused("blocks of 32 along axis 0, of 4 bits; 16 and more along the last one, of 2, 4 or 8 bits, are supported")
def bytes_across_rows(g):
    table, scales = g.constant(np.zeros((64, 8), np.uint8)), g.scales(2, 16)
    g.output(g.contrib("GatherBlockQuantized", table, g.input(3, dtype=P.INT64), scales, block_size=32, gather_axis=1,
                       quantize_axis=0))


@refused("zeros does not have 3 numbers along its last axis")
def zero_points_that_do_not_fit(g):
    table, zeros = g.constant(np.zeros((5, 40), np.uint8)), g.constant(np.zeros((5, 3), np.uint8), "zeros")
    g.output(g.contrib("GatherBlockQuantized", table, g.input(3, dtype=P.INT64), g.scales(5, 3), zeros, block_size=32,
                       gather_axis=0, quantize_axis=1))


@refused("which ONNX Runtime's quantiser writes", "convert the model from before that quantisation")
def an_operator_of_the_quantiser_that_is_not_known(g):
    g.output(g.contrib("DynamicQuantizeLSTM", g.input(4)))


@refused("which ONNX Runtime's optimiser writes", "convert the model from before that optimisation")
def an_operator_of_the_optimiser_that_is_not_known(g):
    g.output(g.contrib("QuickBroom", g.input(4)))


# ---- whole networks, as ONNX Runtime's tools quantise them ----

def network():
    g = Graph()
    x = g.op("Relu", g.conv(g.input("N", 3, 16, 16, name="x"), 3, 16, bias=True, pads=[1, 1, 1, 1], scale=0.2))
    y = g.op("LeakyRelu", g.conv(x, 16, 16, groups=16, bias=True, pads=[1, 1, 1, 1]), alpha=0.1)
    y = g.op("Add", g.conv(y, 16, 16, (1, 1), bias=True, scale=0.2), x)
    y = g.op("Concat", y, g.op("Sigmoid", y), axis=1)
    y = g.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    y = g.op("Mul", y, g.op("Sigmoid", g.conv(y, 32, 32, (1, 1), scale=0.2)))
    y = g.op("Flatten", g.op("GlobalAveragePool", y))
    y = g.op("MatMul", g.op("Gemm", y, g.weight(300, 32), g.weight(300), transB=1), g.weight(300, 10, scale=0.1))
    g.output(g.op("Softmax", y, axis=-1, out="y"))
    return g


class Calibration(quantization.CalibrationDataReader):
    def __init__(self, graph):
        self.feeds = iter([graph.feeds({"N": 4}) for _ in range(2)])

    def get_next(self):
        return next(self.feeds, None)


def statically(form, weights, activations=quantization.QuantType.QUInt8, **options):
    def quantise(graph, source, target):
        quantization.quantize_static(source, target, Calibration(graph), quant_format=form, weight_type=weights,
                                     activation_type=activations, **options)
    return quantise


def dynamically(graph, source, target):
    quantization.quantize_dynamic(source, target)


def networks():
    kinds, form = quantization.QuantType, quantization.QuantFormat
    yield "quantize_dynamic", dynamically
    yield "quantize_static, QDQ", statically(form.QDQ, kinds.QInt8)
    yield "quantize_static, QDQ, i8, per channel", statically(form.QDQ, kinds.QInt8, kinds.QInt8, per_channel=True)
    yield "quantize_static, QDQ, activations of 16 bits", statically(form.QDQ, kinds.QInt8, kinds.QUInt16)
    yield "quantize_static, QOperator", statically(form.QOperator, kinds.QUInt8)
    yield "quantize_static, QOperator, i8, per channel", statically(form.QOperator, kinds.QInt8, kinds.QInt8, per_channel=True)


def check_networks(tap, bench):
    """A value that is rounded to the other step changes what comes behind it: a few steps of 1/255 at most, of which
    probabilities are."""
    for name, quantise in networks():
        graph = network()
        source, target = bench.folder / "float.onnx", bench.folder / "quantised.onnx"
        onnx.save(graph.model(), source)
        quantise(graph, source, target)
        model = onnx.load(target)
        done = bench.convert(model, "--dim", "N=1..4")
        why = done.stderr or None
        for n in (1, 3) if not why else ():
            feeds = graph.feeds({"N": n})
            expected, got = expected_outputs(model, feeds), bench.run(feeds)
            wrong = got if isinstance(got, str) else np.abs(got["y"] - expected["y"]).max()
            if isinstance(wrong, str) or not wrong <= 3 / 255:
                why = wrong
        tap.ok(f"{name}: a network agrees with ONNX Runtime", not why, why)


def check_fused(tap, bench):
    """Bias and activation are the convolution's: it is one step, besides those that bring channels last and back."""
    g = Quantised()
    w = g.op("DequantizeLinear", g.weights("i8", 6, 3, 3, 3), g.scales(6), g.constant(np.zeros(6, np.int8)), axis=0)
    b = g.op("DequantizeLinear", g.constant(np.arange(6, dtype=np.int32)), g.scales(6), axis=0)
    g.output(g.op("Relu", g.op("Conv", g.input(1, 3, 9, 8), w, b)))
    bench.convert(g.model())
    steps = [node["op"] for node in cli_json("inspect", bench.ipex)["entries"][0]["nodes"]]
    tap.ok("a convolution with a quantised bias and an activation is one step, between those to and from its order", steps == ["transpose", "conv", "transpose"], steps)


def check_storage(tap, bench):
    """Four bits per element in raw_data and external data; of a wrong size they are refused."""
    for name, raw, size in ("raw", True, 15), ("not enough", True, 17), ("typed", False, 15):
        g = Quantised(opset=21)
        values = np.arange(15) - 8
        w = g.four_bits(values, True, "w")
        if raw:
            nibbles = np.append(values, 0).astype(np.uint8) & 15
            del g.constants[0].int32_data[:]
            g.constants[0].raw_data = (nibbles[::2] | nibbles[1::2] << 4).tobytes()
            g.constants[0].dims[0] = size
        g.output(g.op("Add", g.op("DequantizeLinear", w, g.scales()), g.input(size)))
        if size == 15:
            why = bench.right(g)
        else:
            done = bench.convert(g.model())
            why = None if done.returncode == 1 and "holds 8 bytes, its shape needs 9" in done.stderr else done.stderr or "converted"
        tap.ok(f"4 bits: {name}", not why, why)


# ---- the test ----

def decisions():
    """Products, then integers of every kind: quantised, cast, places, choices."""
    g = Graph()
    x = g.input(1, 3, 16, 16, name="x")
    y = g.op("Relu", g.conv(x, 3, 32, pads=[1] * 4))
    y = g.conv(g.op("Relu", g.conv(y, 32, 32, pads=[1] * 4, scale=0.2)), 32, 8, kernel=(1, 1))
    types = onnx.TensorProto
    fine, coarse = (g.op("QuantizeLinear", y, g.scalar(scale), g.constant(zero)) for scale, zero in
                    ((0.05, np.uint8(128)), (20, np.int8(0))))
    g.output(g.op("Transpose", fine, perm=[0, 2, 3, 1], out="fine"), dtype=types.UINT8)
    g.output(g.op("Concat", coarse, coarse, axis=1, out="coarse"), dtype=types.INT8)
    g.output(g.op("Add", g.op("Cast", y, to=types.INT32), g.constant(np.int32(1000)), out="whole"), dtype=types.INT32)
    places = g.op("ArgMax", y, axis=1, out="places")
    g.output(places, dtype=types.INT64)
    g.output(g.op("Cast", places, to=types.UINT8, out="classes"), dtype=types.UINT8)
    g.output(g.op("Greater", y, g.scalar(0), out="above"), dtype=types.BOOL)
    return g


def changed(answers):
    """What rounding does not do: (output, its answer with an error, what it is)."""
    step = answers["coarse"] + np.where(answers["coarse"] < 5, 1, -1).astype(np.int8)
    eighth = np.arange(answers["places"].size).reshape(answers["places"].shape) % 8 == 0
    yield "fine", 255 - answers["fine"], "upside down"
    yield "coarse", step, "a step off everywhere"
    yield "whole", answers["whole"] * 2 - 1000, "twice as large but for what all have in common"
    for name in ("places", "classes"):
        yield name, np.where(eighth, 7 - answers[name], answers[name]).astype(answers[name].dtype), "one of eight elsewhere"
    yield "above", answers["above"] ^ (np.arange(2048).reshape(1, 8, 16, 16) % 8 == 0), "one of eight is not so"


def check_answers_in_bf16(tap, bench):
    """Integers that rounded products led to are measured by what rounding may do, and no more."""
    g = decisions()
    model, feeds = g.model(), g.feeds()
    answers, folder = expected_outputs(model, feeds), bench.folder / "given"
    for flags in ("--dtype", "bf16"), ("--weights", "bf16"):
        done = bench.convert(model, *flags, "--golden", "3")
        tap.ok(f"{' '.join(flags)} --golden of integers: verify passes", done.returncode == 0 and bench.verify() is None,
               done.stderr or bench.verify())
    for name, array in answers.items():
        folder.mkdir(exist_ok=True)
        np.save(folder / f"{name}.npy", array)
    np.save(folder / "x.npy", feeds["x"])
    done = bench.convert(model, "--dtype", "bf16", "--golden-from", folder)
    tap.ok("--dtype bf16 --golden-from ONNX Runtime, of integers: verify passes", done.returncode == 0 and bench.verify() is None,
           done.stderr or bench.verify())
    rows = cli_json("verify", bench.ipex)["outputs"]
    by = {row["output"]: row["compared_by"] for row in rows}
    tap.ok("verify --json says what integers are compared by", by == {"fine": "norm", "coarse": "norm", "whole": "norm",
           "places": "share", "classes": "share", "above": "share"} and any(row["max_abs_diff"] for row in rows), rows)
    for name, array, how in changed(answers):
        np.save(folder / f"{name}.npy", array)
        bench.convert(model, "--dtype", "bf16", "--golden-from", folder)
        done = command(CLI, "verify", bench.ipex)
        tap.ok(f"--dtype bf16: verify of '{name}', {how}: fails", done.returncode == 1 and done.stdout.count("FAILED") == 1
               and "choices of their number" in done.stdout, done.stdout, done.stderr)
        np.save(folder / f"{name}.npy", answers[name])
    one = answers["fine"].copy()
    one.flat[0] = one.flat[0] - 1 if one.flat[0] else 1
    np.save(folder / "fine.npy", one)
    bench.convert(model, "--golden-from", folder)
    done = command(CLI, "verify", bench.ipex)
    tap.ok("without bf16 one element a step off fails", done.returncode == 1 and "FAILED" in done.stdout, done.stdout)


def check_answers_on_bytes(tap, bench):
    """Of layers on bytes one byte may be the next: answers are measured by their norm, and no less."""
    g = Quantised(exact=False)
    x = g.op("DequantizeLinear", *g.quantised("u8", 1, 16, 12, 12))
    w = g.op("DequantizeLinear", g.weights("i8", 32, 16, 3, 3), g.scales(32), g.constant(np.zeros(32, np.int8)), axis=0)
    to = g.to("u8", around=2 ** 1)
    y = g.op("QuantizeLinear", g.op("Conv", x, w, pads=[1] * 4), *to)
    g.gives("u8", g.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2], out="bytes"))
    y = g.op("DequantizeLinear", y, *to)
    g.output(g.op("Transpose", y, perm=[0, 2, 3, 1], out="numbers"))
    model, feeds = g.model(), g.feeds()
    answers, folder = expected_outputs(model, feeds), bench.folder / "on_bytes"
    folder.mkdir()
    np.save(folder / "in0.npy", feeds["in0"])

    def verified(**changed):
        for name, array in {**answers, **changed}.items():
            np.save(folder / f"{name}.npy", array)
        done = bench.convert(model, "--golden-from", folder)
        return done.stderr if done.returncode else command(CLI, "verify", bench.ipex)
    done = verified()
    tap.ok("answers of layers on bytes: verify passes", done.returncode == 0, done.stdout, done.stderr)
    by = {row["output"]: row["compared_by"] for row in cli_json("verify", bench.ipex)["outputs"]}
    tap.ok("answers of layers on bytes: by norm", by == {"bytes": "norm", "numbers": "norm"}, by)
    other = {name: array.copy() for name, array in answers.items()}
    other["bytes"].flat[7] ^= 1
    other["numbers"].flat[7] += 2  # some step
    done = verified(**other)
    tap.ok("answers of layers on bytes: one may be the next", done.returncode == 0, done.stdout, done.stderr)
    for name, array in ("bytes", 255 - answers["bytes"]), ("numbers", answers["numbers"] * np.float32(1.1)):
        done = verified(**{name: array})
        tap.ok(f"answers of layers on bytes: other {name} fail", done.returncode == 1 and done.stdout.count("FAILED") == 1,
               done.stdout, done.stderr)


def wrong(got, expected, exact):
    """None where all outputs agree: exactly, or but for few integers that are one step away."""
    for name, array in expected.items():
        have = got.get(name)
        if not exact and have is not None and array.dtype in (np.uint8, np.int8) and have.dtype == array.dtype:
            apart = np.abs(have.astype(int) - array.astype(int)) if have.shape == array.shape else np.array(999)
            if apart.max() <= 1 and np.count_nonzero(apart) <= 1 + array.size // 50:
                continue
        why = difference(name, have, array)
        if why:
            return why
    return None


def check(bench, graph):
    model = graph.model()
    done = bench.convert(model, *graph.flags)
    if done.returncode != 0:
        return f"convert: exit {done.returncode}\n{done.stderr}"
    for sizes in graph.sizes:
        feeds = graph.feeds(sizes)
        got = bench.run(feeds)
        try:
            expected = expected_outputs(model, feeds)
        except Exception as error:  # its classes are not public
            return f"the test's graph is wrong, ONNX Runtime refuses it: {error}"
        why = got if isinstance(got, str) else wrong(got, expected, graph.exact)
        if why:
            return f"{sizes}: {why}"
    return None


def main(only=""):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for name, fill, exact, opset in CASES:
            if only in name:
                graph = Quantised(exact, opset)
                fill(graph)
                why = check(bench, graph)
                tap.ok(f"{name}: agrees with ONNX Runtime", why is None, why)
        for name, fill, parts, opset in REFUSED:
            if only in name:
                graph = Quantised(opset=opset)
                fill(graph)
                done = bench.convert(graph.model())
                tap.ok(f"{name}: refused by name", done.returncode == 1 and all(part in done.stderr for part in parts),
                       f"exit {done.returncode}", done.stderr)
        if not only:
            check_networks(tap, bench)
            check_fused(tap, bench)
            check_storage(tap, bench)
            check_answers_in_bf16(tap, bench)
            check_answers_on_bytes(tap, bench)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
