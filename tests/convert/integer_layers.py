#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers of quantised models run on bytes, or do not and say why, and give what ONNX Runtime gives, which computes in f32
what the integers stand for. Every graph comes twice: with scales that are powers of two, where all
arithmetic is exact and results are the same bits, and with any scales, where a number in the middle between two steps may
be rounded to either of them: quantised results may differ by one step. What is not quantised differs by less than f32
rounds in sums: of k products of a byte and an integer of 8 bits, in units of their scales, each of at most 255 * 128, and
the same again of what the zero point takes away,
    2 k 255 128 (k + 4) 2^-24.
All kernel levels and thread counts give the same bits, and known answers are as far off as `verify` allows."""
import sys
import tempfile

import numpy as np
import onnx

from small_graphs import Bench, Graph, expected_outputs, variants  # also finds ipextest
from ipextest import Tap, cli_json

DOMAIN = "com.microsoft"
P = onnx.TensorProto
TYPES = {"u8": (np.uint8, P.UINT8), "i8": (np.int8, P.INT8), "u16": (np.uint16, P.UINT16), "i16": (np.int16, P.INT16)}
CASES = []
APPLIED = ""


class Layers(Graph):
    """exact: scales are powers of two, numbers multiples of 1/64."""
    ir_version, domains = 10, (DOMAIN,)

    def __init__(self, exact, opset=21, sizes=None):
        super().__init__(opset=opset)
        self.exact, self.sizes, self.bound = exact, sizes, {}

    def random_array(self, tensor, sizes):
        array = super().random_array(tensor, sizes)
        return np.round(array * 64) / np.float32(64) if self.exact and array.dtype == np.float32 else array

    # ---- scales and numbers ----

    def scale(self, around, *dims):
        values = 2.0 ** self.random.integers(-1, 2, dims) if self.exact else self.random.uniform(0.5, 2, dims)
        return self.constant((values * around).astype(np.float32))

    def point(self, kind, zero):
        return self.constant(TYPES[kind][0](zero))

    def to(self, kind="u8", around=2 ** -5, zero=None, like=None):
        """Scale and zero point of activations: (scale, zero point), for quantize and dequantize. like: a value, of whose
        numbers four deviations are then 128 steps or, exact, 91 to 181."""
        if like:
            around = self.deviation(like) / 32
            around = 2.0 ** np.round(np.log2(around)) if self.exact else around
        scale = self.constant(np.float32(around)) if like else self.scale(around)
        return scale, self.point(kind, {"u8": 121, "i8": -17}[kind] if zero is None else zero)

    def deviation(self, name):
        """Of the numbers of a value, as ONNX Runtime computes it from random inputs."""
        before = self.outputs, self.random
        self.outputs, self.random = [name], np.random.default_rng(7)
        numbers = expected_outputs(self.model(), self.feeds(self.sizes))[name]
        self.outputs, self.random = before
        return float(np.std(numbers))

    def quantize(self, x, to):
        return self.op("QuantizeLinear", x, *to)

    def dequantize(self, q, to):
        return self.op("DequantizeLinear", q, *to)

    def through(self, x, to=None, kind="u8"):
        """x, quantised and dequantised."""
        to = to or self.to(kind, like=x)
        return self.dequantize(self.quantize(x, to), to)

    def weights(self, *dims, kind="i8", zero=0, axis=None, most=None, around=None):
        """Dequantised; axis: with a scale per element of it."""
        numbers = self.numbers(kind, dims, zero, most)
        each = () if axis is None else (dims[axis],)
        zeros = self.constant(np.full(each, zero, TYPES[kind][0]))
        scale = self.scale(around or 2 ** -9, *each)
        return self.op("DequantizeLinear", self.constant(numbers), scale, zeros, axis=axis or 0)

    def numbers(self, kind, dims, zero=0, most=None):
        limits = np.iinfo(TYPES[kind][0])
        low, high = (limits.min, limits.max) if most is None else (max(limits.min, zero - most), min(limits.max, zero + most))
        return self.random.integers(low, high + 1, dims).astype(TYPES[kind][0])

    def whole_bias(self, n):
        """i32, dequantised."""
        numbers = self.constant(self.random.integers(-3000, 3000, n).astype(np.int32))
        return self.op("DequantizeLinear", numbers, self.scale(2 ** -11, n), axis=0)

    # ---- layers and results ----

    def convolved(self, x, c, m, kernel=(3, 3), group=1, name="layer", bias=(), w=None, **attributes):
        w = w or self.weights(m, c // group, *kernel, axis=0)
        return self.op("Conv", x, w, *bias, group=group, name=name, **attributes)

    def gives(self, x, kind="u8"):
        """x, quantised, is an output."""
        self.gives_numbers(self.quantize(x, self.to(kind, like=x)), kind)

    def gives_numbers(self, q, kind="u8"):
        self.output(q, dtype=TYPES[kind][1])

    def gives_floats(self, y, k, unit):
        """y, an output, is of sums of k products in units of two scales, of which the product is at most `unit`."""
        self.bound[y] = 2 * k * 255 * 128 * (k + 4) * 2.0 ** -24 * unit
        self.output(y)


def case(*expected, exact=(True, False), flags=(), sizes=({},), ops=None, bytes_=None, opset=21):
    """expected: rows of the ledger, (pass, site, reason). ops: how many steps multiply bytes, by operator; those of the
    rows by default. bytes_: how many tensors between steps hold bytes, at least."""
    def mark(function):
        for way in exact:
            title = f"{function.__name__.replace('_', ' ').strip()}{'' if way else ', any scales'}"
            CASES.append((title, function, way, expected, flags, sizes, ops, bytes_, opset))
        return function
    return mark


def on_bytes(*names, fused=(), **options):
    """All of these layers multiply bytes; fused: those that give them too."""
    rows = [("integer", name, APPLIED) for name in names or ("layer",)] + [("requantise", name, APPLIED) for name in fused]
    return case(*rows, **options)


def on_floats(reason, name="layer", **options):
    return case(*([("integer", name, reason)] if reason else []), ops={}, **options)


def variant(name, decorator, *arguments, **options):
    """One more case, of a function with other arguments."""
    def mark(function):
        def fill(g):
            function(g, *arguments, **options)
        fill.__name__ = f"{function.__name__} {name}"
        decorator(fill)
        return function
    return mark


def families(decorator, **each):
    """A case for each name, of the function with these arguments."""
    def mark(function):
        for name, options in each.items():
            variant(name, decorator, **options)(function)
        return function
    return mark


# ---- convolutions ----

FUSED = on_bytes(fused=("layer",), bytes_=2)


def behind(g, y, m):
    """Bytes are stored where another layer reads them."""
    g.gives(g.convolved(g.through(y), m, 6, (1, 1), name="behind"))


WITH_ONE_BEHIND = on_bytes("layer", "behind", fused=("layer",), bytes_=2)


@families(WITH_ONE_BEHIND,
          of_u8=dict(), of_i8=dict(kind="i8"), of_zero_0=dict(zero=0), of_zero_255=dict(zero=255),
          of_the_lowest_i8=dict(kind="i8", zero=-128), padded=dict(pads=[1] * 4), padded_i8=dict(kind="i8", pads=[1] * 4),
          padded_with_zero_0=dict(pads=[1] * 4, zero=0), padded_i8_with_zero_0=dict(kind="i8", pads=[1] * 4, zero=0),
          padded_on_two_sides=dict(pads=[2, 0, 0, 1]), padded_unevenly_i8=dict(kind="i8", pads=[0, 1, 2, 0]),
          with_strides=dict(strides=[2, 1]), with_strides_padded=dict(strides=[2, 2], pads=[1] * 4),
          dilated=dict(dilations=[2, 2]), dilated_in_rows=dict(dilations=[2, 1], pads=[2] * 4),
          in_groups=dict(group=2, pads=[1] * 4), of_1x1=dict(kernel=(1, 1)), of_1x1_padded=dict(kernel=(1, 1), pads=[1, 0, 2, 1]),
          of_1x1_with_strides=dict(kernel=(1, 1), strides=[2, 2]), of_rows=dict(kernel=(1, 5), pads=[0, 2, 0, 2]),
          of_columns=dict(kernel=(5, 1), pads=[2, 0, 2, 0]), of_5x5=dict(kernel=(5, 5), pads=[2] * 4),
          larger_than_its_image=dict(kernel=(9, 9), pads=[6] * 4), of_many_channels=dict(c=70, m=50, pads=[1] * 4),
          of_3_channels=dict(c=3, pads=[1] * 4), of_1_channel=dict(c=1, kernel=(4, 4)), of_17_channels=dict(c=17, m=33),
          to_5_channels=dict(m=5), to_many=dict(m=100), of_a_batch=dict(n=3, pads=[1] * 4))
def convolution(g, kind="u8", zero=None, n=1, c=8, m=12, **attributes):
    x = g.through(g.input(n, c, 9, 10), g.to(kind, zero=zero))
    behind(g, g.convolved(x, c, m, **attributes), m)


@on_bytes("layer", fused=("layer",), exact=(False,))
def convolution_of_a_large_image(g):
    """Large enough for several threads and blocks."""
    x = g.through(g.input(1, 32, 70, 65))
    g.gives(g.op("Add", g.through(g.convolved(x, 32, 48, pads=[1] * 4), g.to()), g.scalar(0.5)))


@on_bytes("first", "second", "third", fused=("first", "second"), bytes_=3)
def three_of_a_large_image(g):
    x = g.through(g.input(1, 16, 64, 65))
    x = g.through(g.convolved(x, 16, 32, name="first", pads=[1] * 4))
    x = g.through(g.convolved(x, 32, 32, name="second", pads=[1, 0, 1, 2], strides=[2, 1]))
    g.gives(g.convolved(x, 32, 16, (1, 1), name="third"))


@families(on_floats("few_products"), of_one=dict(c=1, kernel=(1, 1)), of_two=dict(c=2, kernel=(1, 1)), of_three=dict(c=3, kernel=(1, 1)), in_a_dilated_row=dict(c=2, kernel=(3, 3), dilations=[1, 2]))
def few_products(g, c, **attributes):
    g.gives(g.convolved(g.through(g.input(1, c, 9, 10)), c, 8, **attributes))


DEPTHWISE = on_bytes("first", "depth", "behind", fused=("first", "depth"), bytes_=3, ops=dict(conv=2, depthwise=1))


@families(DEPTHWISE,
          of_zero_0=dict(zero=0), of_an_odd_zero=dict(zero=77), of_i8=dict(kind="i8"), with_strides=dict(strides=[2, 2]), of_5x5=dict(kernel=(5, 5), pads=[2] * 4),
          of_7x7=dict(kernel=(7, 7), pads=[3] * 4), of_rows=dict(kernel=(1, 5), pads=[0, 2, 0, 2]), of_columns=dict(kernel=(6, 1), pads=[3, 0, 2, 0]),
          dilated=dict(dilations=[2, 3], pads=[2, 3, 2, 3]), padded_unevenly=dict(pads=[0, 1, 2, 0]), of_8_channels=dict(c=8), of_many_channels=dict(c=75),
          of_a_batch=dict(n=3), with_relu=dict(act="Relu"), with_sigmoid=dict(act="Sigmoid"))
@variant("of a large image", on_bytes("first", "depth", "behind", fused=("first", "depth"), exact=(False,), ops=dict(conv=2, depthwise=1)), size=(90, 85), c=40)
@variant("of one column", case(("integer", "first", APPLIED), ("integer", "depth", "weight_differs"), ("taps", "depth", APPLIED), ops=dict(conv=2)), size=(9, 1))
@variant("alone", on_bytes("depth", "behind", fused=("depth",), bytes_=2, ops=dict(conv=1, depthwise=1)), before=False)
def depthwise(g, n=1, c=16, size=(9, 10), kernel=(3, 3), kind="u8", zero=None, act=None, before=True, **attributes):
    attributes = {"pads": [1] * 4} | attributes
    x = g.through(g.input(n, c, *size), g.to(kind, zero=zero))
    x = g.through(g.convolved(x, c, c, (1, 1), name="first"), kind=kind) if before else x
    y = g.convolved(x, c, c, kernel, group=c, name="depth", **attributes)
    behind(g, g.op(act, y) if act else y, c)


@families(DEPTHWISE,
          of_4=dict(group=8), of_8=dict(c=48, group=6), of_16=dict(c=48, group=3), of_4_that_fill_no_set=dict(c=44, group=11), of_8_that_fill_no_set=dict(c=24, group=3),
          of_8_and_a_zero=dict(c=40, group=5, zero=77), of_i8=dict(group=4, kind="i8"), with_strides=dict(group=8, strides=[2, 2]), of_5x5=dict(group=4, kernel=(5, 5), pads=[2] * 4),
          of_1x1=dict(group=2, kernel=(1, 1), pads=[0] * 4), of_5x5_of_4=dict(group=8, kernel=(5, 5), pads=[2] * 4), dilated=dict(group=4, dilations=[2, 3], pads=[2, 3, 2, 3]), of_narrow_images=dict(group=4, size=(9, 3)),
          of_wide_images=dict(group=8, size=(4, 70)), of_a_batch=dict(n=3, group=2), with_relu=dict(group=4, act="Relu"), with_sigmoid=dict(group=8, act="Sigmoid"))
def groups(g, group, n=1, c=32, size=(9, 10), kernel=(3, 3), kind="u8", zero=None, act=None, **attributes):
    attributes = {"pads": [1] * 4} | attributes
    x = g.through(g.input(n, c, *size), g.to(kind, zero=zero))
    x = g.through(g.convolved(x, c, c, (1, 1), name="first"), kind=kind)
    y = g.convolved(x, c, c, kernel, group=group, name="depth", **attributes)
    behind(g, g.op(act, y) if act else y, c)


@families(on_bytes("first", "depth", "behind", bytes_=3, ops=dict(conv=3)), of_12=dict(c=48, group=4), of_32=dict(c=64, group=2), of_8_to_16=dict(c=32, m=64, group=4), of_the_only_8=dict(c=8, group=1))
def groups_that_are_convolutions(g, c, group, m=None):
    x = g.through(g.convolved(g.through(g.input(1, c, 9, 10)), c, c, (1, 1), name="first"))
    behind(g, g.convolved(x, c, m or c, (3, 3), group=group, name="depth", pads=[1] * 4), m or c)


@on_bytes("depth", "behind", fused=("depth",), bytes_=2, ops=dict(conv=1, depthwise=1))
def groups_and_a_sum(g):
    x = g.through(g.input(1, 24, 9, 10))
    y = g.through(g.convolved(x, 24, 24, group=3, name="depth", pads=[1] * 4))
    behind(g, g.op("Relu", g.op("Add", y, x)), 24)


@on_bytes("depth", "behind", fused=("depth",), bytes_=2, ops=dict(conv=1, depthwise=1))
def depthwise_and_a_sum(g):
    x = g.through(g.input(1, 24, 9, 10))
    y = g.through(g.convolved(x, 24, 24, group=24, name="depth", pads=[1] * 4))
    behind(g, g.op("Relu", g.op("Add", y, x)), 24)


@variant("in bf16", on_bytes("depth", "behind", flags=("--dtype", "bf16"), exact=(False,), ops=dict(conv=1, depthwise=1)), c=48)
@families(on_bytes("depth", "behind", ops=dict(conv=1, depthwise=1)), padded_with_its_zero=dict(), of_i8=dict(kind="i8"))
def depthwise_before_padding(g, kind="u8", c=8):
    y = g.convolved(g.through(g.input(1, c, 29, 30)), c, c, group=c, name="depth")
    g.gives(g.convolved(g.through(y, g.to(kind, like=y)), c, 6, name="behind", pads=[1, 2, 0, 1]))


@case(("integer", "depth", APPLIED), ops=dict(depthwise=1))
def depthwise_that_others_read(g):
    """As an output, and by what moves elements."""
    y = g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 8, group=8, name="depth")
    q = g.quantize(y, g.to(like=y))
    g.gives_numbers(q)
    g.gives_numbers(g.op("Transpose", q, perm=[0, 2, 3, 1]))


@families(on_floats("no_byte_kernel"), of_seven_channels=dict(c=7, group=7), in_groups_of_two=dict(group=4), in_groups_of_four=dict(c=12, group=3), of_more_outputs=dict(m=16, group=8))
def narrow_groups(g, group, c=8, m=None):
    g.gives(g.convolved(g.through(g.input(1, c, 9, 10)), c, m or c, group=group, pads=[1] * 4))


@on_floats("no_byte_kernel")
def transposed(g):
    x = g.through(g.input(1, 8, 9, 10))
    g.gives(g.op("ConvTranspose", x, g.weights(8, 6, 2, 2), strides=[2, 2], name="layer"))


@families(on_bytes("layer", "behind"), of_4_taps=dict(kernel=4), padded=dict(kernel=3, pads=[1, 2]), padded_i8=dict(kernel=3, pads=[1, 1], kind="i8"),
          padded_with_zero_0=dict(kernel=3, pads=[1, 1], zero=0), with_strides=dict(kernel=5, strides=[2]), of_1=dict(kernel=1))
def signal(g, kernel, kind="u8", zero=None, **attributes):
    x = g.through(g.input(2, 8, 30), g.to(kind, zero=zero))
    x = g.through(g.convolved(x, 8, 12, (kernel,), **attributes), kind=kind)
    g.gives(g.convolved(x, 12, 6, (3,), name="behind", pads=[1, 1]))


@case(ops={})
def volume(g):
    x = g.through(g.input(1, 4, 5, 6, 7))
    g.gives(g.op("Conv", x, g.weights(8, 4, 3, 3, 3), pads=[1] * 6))


# ---- weights and biases ----

@families(WITH_ONE_BEHIND, of_one_scale=dict(axis=None), of_a_scale_per_output=dict(axis=0), of_u8_around_128=dict(kind="u8", zero=128),
          of_u8_around_128_per_output=dict(kind="u8", zero=128, axis=0), of_i8_around_10=dict(zero=10, most=100),
          of_u8_around_100=dict(kind="u8", zero=100, most=90), of_small_u8_around_0=dict(kind="u8", zero=0, most=127))
@families(on_floats("sums_cost_more"), of_u8_around_0=dict(kind="u8", zero=0, one=True), of_u8_around_40=dict(kind="u8", zero=40, one=True),
          of_i8_around_90=dict(zero=-90, one=True))
def weight(g, one=False, **options):
    x = g.through(g.input(1, 8, 9, 10))
    y = g.convolved(x, 8, 12, w=g.weights(12, 8, 3, 3, **options), pads=[1] * 4)
    if one:
        g.gives(y)
    else:
        behind(g, y, 12)


@on_floats("weight_differs")
def weight_with_a_scale_per_input(g):
    g.gives(g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12, w=g.weights(12, 8, 3, 3, axis=1)))


@on_floats("weight_differs")
def weight_with_as_many_scales_per_input_as_outputs(g):
    g.gives(g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 8, w=g.weights(8, 8, 3, 3, axis=1)))


@on_bytes("layer", fused=())
def weight_with_a_scale_of_0(g):
    numbers, scales = g.numbers("i8", (12, 8, 3, 3)), np.full(12, 2 ** -9, np.float32)
    scales[3:5] = 0
    w = g.op("DequantizeLinear", g.constant(numbers), g.constant(scales), g.constant(np.zeros(12, np.int8)), axis=0)
    g.gives(g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12, w=w, pads=[1] * 4, bias=[g.whole_bias(12)]))


@on_bytes("layer", fused=())
def weight_without_a_zero_point(g):
    w = g.op("DequantizeLinear", g.constant(g.numbers("i8", (12, 8, 3, 3))), g.scale(2 ** -9))
    g.gives(g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12, w=w))


@on_bytes("layer", fused=())
def weight_with_a_zero_point_per_output(g):
    zero = g.constant(np.int8([-3, 0, 4, 2, 1]))
    w = g.op("DequantizeLinear", g.constant(g.numbers("i8", (5, 8, 3, 3), most=100)), g.scale(2 ** -9, 5), zero, axis=0)
    g.gives(g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 5, w=w, pads=[1] * 4))


@families(on_bytes("layer", ops=dict(conv=2)), of_u8=dict(zero=0), of_u8_padded=dict(zero=200, pads=[1] * 4), of_i8=dict(kind="i8", zero=-90),
          of_i8_by_i8=dict(kind="i8", zero=77, x="i8", pads=[1, 0, 0, 2]), with_strides=dict(zero=31, strides=[2, 2], dilations=[1, 2]))
@families(on_floats("weight_differs"), in_groups=dict(zero=0, group=2))
@families(on_floats("sums_cost_more"), of_few_outputs=dict(zero=0, m=31), of_few_products=dict(zero=0, kernel=(1, 7)))
def weight_that_leaves_i8(g, zero, kind="u8", x="u8", m=34, kernel=(3, 3), group=1, **attributes):
    """About the middle of its type the weight is in i8; the sums of the input are a layer of their own."""
    x = g.through(g.input(1, 8, 9, 10), kind=x)
    w = g.weights(m, 8 // group, *kernel, kind=kind, zero=zero, axis=0)
    g.gives(g.op("Relu", g.convolved(x, 8, m, w=w, group=group, bias=[g.whole_bias(m)], **attributes)))


@families(on_bytes("layer", ops=dict(linear=2)), plain=dict(), turned=dict(transB=1))
def gemm_of_a_weight_that_leaves_i8(g, **attributes):
    """With a zero point per output."""
    n, k, turned = 40, 65, "transB" in attributes
    zero = g.constant(g.numbers("u8", (n,)))
    w = g.op("DequantizeLinear", g.constant(g.numbers("u8", (n, k) if turned else (k, n))), g.scale(2 ** -9, n), zero, axis=0 if turned else 1)
    g.gives(g.op("Gemm", g.through(g.input(3, k)), w, g.whole_bias(n), name="layer", **attributes))


@on_bytes("layer", ops=dict(linear=2), exact=(True,), flags=("--dim", "N=1..5"), sizes=({"N": 1}, {"N": 4}))
def product_by_quantize_dynamic_of_u8(g):
    """Numbers from 0 to 255, as below."""
    x = g.op("Clip", g.input("N", 68), g.scalar(-40.0), g.scalar(215.0))
    ends = g.op("Expand", g.constant(np.float32([[-40, 215]])), g.op("Concat", g.op("Shape", x, start=0, end=1), g.constant(np.int64([2])), axis=0))
    q, scale, zero = g.op("DynamicQuantizeLinear", g.op("Concat", x, ends, axis=1), outputs=3)
    y = g.op("MatMulInteger", q, g.constant(g.numbers("u8", (70, 50))), zero, g.point("u8", 77), name="layer")
    g.output(g.op("Mul", g.op("Cast", y, to=P.FLOAT), scale))


@families(on_bytes("layer", ops=dict(linear=1)), of_a_scale_per_output=dict(axis=0), of_one_scale=dict(axis=None))
@families(on_floats("weight_differs"), of_a_scale_per_input=dict(axis=1))
def product_of_a_turned_weight(g, axis):
    """As layers that were trained quantised are exported."""
    w = g.op("Transpose", g.weights(9, 40, axis=axis), perm=[1, 0])
    g.gives(g.op("Relu", g.op("MatMul", g.through(g.input(2, 3, 40)), w, name="layer")))


@on_bytes("layer", ops=dict(linear=2))
def product_of_a_turned_weight_that_leaves_i8(g):
    zero = g.constant(g.numbers("u8", (40,)))
    w = g.op("DequantizeLinear", g.constant(g.numbers("u8", (40, 65))), g.scale(2 ** -9, 40), zero, axis=0)
    g.gives(g.op("MatMul", g.through(g.input(3, 65)), g.op("Transpose", w, perm=[1, 0]), name="layer"))


@families(WITH_ONE_BEHIND, of_a_scale_per_output=dict(axis=3), of_one_scale=dict(axis=None))
def convolution_of_a_turned_weight(g, axis):
    """Rows, columns, inputs, outputs, as other frameworks have them."""
    w = g.op("Transpose", g.weights(3, 2, 8, 12, axis=axis), perm=[3, 2, 0, 1])
    behind(g, g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12, w=w), 12)


@on_floats("few_outputs")
def few_outputs(g):
    g.gives(g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 4, pads=[1] * 4))


@case(("integer", "one", APPLIED), ("integer", "two", APPLIED), ops=dict(conv=2))
def weight_of_two(g):
    x, w = g.through(g.input(1, 8, 9, 10)), g.weights(12, 8, 3, 3, axis=0)
    g.gives(g.convolved(x, 8, 12, w=w, name="one", bias=[g.whole_bias(12)]))
    g.gives(g.convolved(x, 8, 12, w=w, name="two", pads=[1] * 4))


@families(WITH_ONE_BEHIND, of_floats=dict(of="f32"), of_i32=dict(of="i32"), none=dict(of=None))
def bias(g, of):
    b = {"f32": lambda: [g.constant(np.float32(np.arange(12) - 6) / 4)], "i32": lambda: [g.whole_bias(12)], None: list}[of]()
    behind(g, g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12, bias=b, pads=[1] * 4), 12)


@on_bytes("layer", "behind", fused=("layer",))
def batch_normalisation_behind(g):
    y = g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12, pads=[1] * 4)
    y = g.op("Add", g.op("Mul", y, g.scale(1, 12, 1, 1)), g.constant(np.float32(np.arange(12) - 6).reshape(12, 1, 1) / 8))
    behind(g, y, 12)


# ---- between the layer and what quantises it ----

@families(WITH_ONE_BEHIND, relu=dict(op="Relu"), leaky=dict(op="LeakyRelu", alpha=0.25))
@families(on_bytes("layer", "behind", fused=("layer",), exact=(False,)), sigmoid=dict(op="Sigmoid"), hard_swish=dict(op="HardSwish"), tanh=dict(op="Tanh"))
def activation(g, op, **attributes):
    y = g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12, pads=[1] * 4, bias=[g.whole_bias(12)])
    behind(g, g.op(op, y, **attributes), 12)


@families(WITH_ONE_BEHIND, of_6=dict(low=0, high=6), around_0=dict(low=-0.5, high=1), above=dict(low=-1, high=None))
def clip(g, low, high):
    y = g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12, pads=[1] * 4)
    behind(g, g.op("Clip", y, g.scalar(low), g.scalar(high) if high else ""), 12)


@on_bytes("layer", "behind", fused=("layer",), exact=(False,))
def silu(g):
    y = g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12, pads=[1] * 4)
    behind(g, g.op("Mul", y, g.op("Sigmoid", y)), 12)


@case(("integer", "layer", APPLIED), ("requantise", "layer", "no_bytes_behind"), ops=dict(conv=2))
def two_activations(g):
    y = g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12, pads=[1] * 4)
    behind(g, g.op("Clip", g.op("LeakyRelu", y, alpha=0.25), g.scalar(-0.25), g.scalar(0.5)), 12)


@case(("integer", "layer", APPLIED), ("requantise", "layer", APPLIED), ops=dict(conv=2))
def residual_of_floats(g):
    """Added where the layer's result is stored, before that is quantised."""
    x = g.input(1, 8, 9, 10)
    y = g.op("Relu", g.op("Add", g.convolved(g.through(x), 8, 8, pads=[1] * 4), x))
    behind(g, y, 8)


# ---- what becomes a table ----

ONE_PASS = case(("integer", "layer", APPLIED), ("requantise", "layer", APPLIED), ("integer", "behind", APPLIED), ops=dict(conv=2), exact=(False,), bytes_=3)


def swish(g, t):
    """As quantisers spell it: quantised twice."""
    return g.through(g.op("Mul", t, g.through(g.op("Sigmoid", t))))


@families(ONE_PASS, u8=dict(), i8=dict(kind="i8"), of_a_small_image=dict(size=3))
def swish_of_bytes(g, kind="u8", size=30):
    t = g.through(g.convolved(g.through(g.input(1, 8, size, 33)), 8, 12, pads=[1] * 4), kind=kind)
    g.gives(g.convolved(swish(g, t), 12, 6, (1, 1), name="behind"))


@ONE_PASS
def swish_of_bytes_and_a_sum(g):
    """Of which others are a part: the swish is a table, the sum is not."""
    t = g.through(g.convolved(g.through(g.input(1, 8, 30, 33)), 8, 12, pads=[1] * 4))
    y = g.through(g.op("Add", swish(g, t), g.through(g.input(1, 12, 30, 33))))
    g.gives(g.convolved(y, 12, 6, (1, 1), name="behind"))


@ONE_PASS
def swish_of_bytes_that_others_read(g):
    t = g.through(g.convolved(g.through(g.input(1, 8, 30, 33)), 8, 12, pads=[1] * 4))
    y = swish(g, t)
    g.gives(g.convolved(y, 12, 6, (1, 1), name="behind"))
    g.gives(g.op("Exp", y))
    g.gives(g.op("Tanh", t))


@case(("integer", "layer", APPLIED), ("integer", "behind", APPLIED), ops=dict(linear=2), exact=(False,))
def bias_and_gelu_of_bytes(g):
    """The bias, which a scale per channel would need, is no part of the table behind it."""
    t = g.through(g.op("MatMul", g.through(g.input(2, 20, 16)), g.weights(16, 48, axis=1), name="layer"))
    t = g.through(g.op("Add", t, g.constant(np.float32(g.random.integers(-64, 64, 48) / 64))))
    e = g.through(g.op("Add", g.through(g.op("Erf", g.through(g.op("Div", t, g.scalar(2 ** 0.5))))), g.scalar(1)))
    y = g.through(g.op("Mul", g.through(g.op("Mul", t, e)), g.scalar(0.5)))
    g.gives(g.op("MatMul", y, g.weights(48, 7, axis=1), name="behind"))


@families(case(("integer", "layer", APPLIED), ops=dict(conv=1), exact=(False,)), sigmoid=dict(ops=("Sigmoid",)), of_many_steps=dict(ops=("Sigmoid", "Erf", "Tanh", "Softplus")))
def floats_of_bytes(g, ops):
    y = g.through(g.convolved(g.through(g.input(1, 8, 30, 33)), 8, 12, pads=[1] * 4))
    for op in ops:
        y = g.op(op, y)
    g.output(y)


# ---- readers ----

@case(("integer", "layer", APPLIED), ("requantise", "layer", "no_bytes_behind"), ops=dict(conv=2))
def result_read_by_two(g):
    y = g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 12)
    behind(g, y, 12)
    g.gives(g.op("Neg", y))


@case(("integer", "layer", APPLIED), ("requantise", "layer", "no_bytes_behind"), exact=(False,), ops=dict(conv=2))
def result_that_is_an_output(g):
    to = g.scalar(0.03), g.point("u8", 120)
    w = g.op("DequantizeLinear", g.constant(g.numbers("i8", (12, 8, 3, 3))), g.scalar(0.002), g.point("i8", 0))
    y = g.convolved(g.through(g.input(1, 8, 9, 10), to), 8, 12, w=w)
    g.gives_floats(y, 72, 0.03 * 0.002)
    behind(g, y, 12)


@on_bytes("one", "two", "three", ops=dict(conv=3))
def bytes_read_by_three(g):
    x = g.through(g.input(1, 8, 9, 10))
    for name, attributes in ("one", dict(pads=[1] * 4)), ("two", dict(pads=[0, 2, 1, 0])), ("three", dict(kernel=(1, 1))):
        g.gives(g.convolved(x, 8, 12, name=name, **attributes))


@case(("integer", "one", APPLIED), ("integer", "two", "padded_otherwise"), ops=dict(conv=1))
def bytes_padded_with_two_numbers(g):
    """Dequantised with another zero point than that they were quantised with."""
    to = g.to()
    q = g.quantize(g.input(1, 8, 9, 10), to)
    g.gives(g.convolved(g.dequantize(q, to), 8, 12, name="one", pads=[1] * 4))
    g.gives(g.convolved(g.dequantize(q, (to[0], g.point("u8", 60))), 8, 12, name="two", pads=[1] * 4))


@on_bytes("one", "two", ops=dict(conv=2))
def bytes_dequantised_in_two_ways(g):
    to = g.to()
    q = g.quantize(g.input(1, 8, 9, 10), to)
    g.gives(g.convolved(g.dequantize(q, to), 8, 12, name="one", pads=[1] * 4))
    g.gives(g.convolved(g.dequantize(q, (g.scale(2 ** -6), g.point("u8", 60))), 8, 12, name="two"))


@families(on_bytes("layer", ops=dict(conv=1)), u8=dict(kind="u8"), i8=dict(kind="i8"))
def bytes_read_by_a_layer_and_others(g, kind):
    """Of a sign: what else reads them takes the 128 away again."""
    to = g.to(kind)
    q = g.quantize(g.input(1, 8, 9, 10), to)
    x = g.dequantize(q, to)
    g.gives(g.convolved(x, 8, 12, pads=[1] * 4), kind)
    g.output(g.op("ReduceMax", x, g.ints(2, 3)))
    g.output(g.op("Mul", g.dequantize(q, to), g.scalar(0.5)))
    g.gives_numbers(g.op("MaxPool", q, kernel_shape=[2, 2]), kind)
    g.gives_numbers(g.op("Concat", q, q, axis=1), kind)


@families(on_bytes("layer", ops=dict(conv=1)), u8=dict(kind="u8"), i8=dict(kind="i8"))
def bytes_that_are_an_output(g, kind):
    to = g.to(kind)
    q = g.quantize(g.input(1, 8, 9, 10), to)
    g.gives_numbers(q, kind)
    g.gives(g.convolved(g.dequantize(q, to), 8, 12, pads=[1] * 4), kind)


@families(on_bytes("layer", ops=dict(conv=1)), u8=dict(kind="u8"), i8=dict(kind="i8"))
def input_of_bytes(g, kind):
    q = g.input(1, 8, 9, 10, dtype=TYPES[kind][1])
    g.gives(g.convolved(g.dequantize(q, g.to(kind)), 8, 12, pads=[1] * 4), kind)


# ---- sums ----

def sum_case(*layers, **options):
    rows = [("integer", name, APPLIED) for name in (*layers, "behind")] + [("byte_sum", "add", APPLIED)]
    return case(*rows, ops=dict(conv=len(layers) + 1), bytes_=3, **options)


@families(sum_case("layer"), first=dict(), last=dict(turned=True), with_relu=dict(act="Relu"), last_with_relu=dict(turned=True, act="Relu"),
          with_clip=dict(act="Clip"), i8=dict(kind="i8"), i8_last_with_relu=dict(kind="i8", turned=True, act="Relu"),
          difference=dict(op="Sub"), difference_last=dict(op="Sub", turned=True), of_1x1=dict(kernel=(1, 1)))
def sum_of_bytes(g, kind="u8", turned=False, act=None, op="Add", kernel=(3, 3)):
    x = g.through(g.input(2, 8, 9, 10), g.to(kind))
    y = g.convolved(x, 8, 8, kernel, pads=[kernel[0] // 2] * 4, bias=[g.whole_bias(8)])
    y = g.through(y, kind=kind)
    y = g.op(op, *((x, y) if turned else (y, x)), name="add")
    y = g.op("Clip", y, g.scalar(-0.5), g.scalar(1)) if act == "Clip" else g.op(act, y) if act else y
    behind_sum(g, y, kind)


def behind_sum(g, y, kind="u8"):
    g.gives(g.convolved(g.through(y, kind=kind), 8, 6, name="behind", pads=[1] * 4), kind)


@sum_case("one", "two")
def sum_of_two_layers(g):
    x = g.through(g.input(1, 8, 9, 10))
    y, z = (g.through(g.convolved(x, 8, 8, pads=[1] * 4, name=name)) for name in ("one", "two"))
    behind_sum(g, g.op("Relu", g.op("Add", y, z, name="add")))


@case(("byte_sum", "add", APPLIED), ("byte_sum", "again", APPLIED), ("integer", "behind", APPLIED), ops=dict(conv=3))
def sums_of_sums(g):
    x = g.through(g.input(1, 8, 9, 10))
    for name, add in ("one", "add"), ("two", "again"):
        y = g.through(g.convolved(x, 8, 8, pads=[1] * 4, name=name))
        x = g.through(g.op("Relu", g.op("Add", x, y, name=add)))
    g.gives(g.convolved(x, 8, 6, name="behind", pads=[1] * 4))


@sum_case("layer")
def sum_read_by_two_layers_and_the_next_sum(g):
    x = g.through(g.input(1, 8, 9, 10))
    y = g.op("Add", g.through(g.convolved(x, 8, 8, pads=[1] * 4)), x, name="add")
    y = g.through(y)
    g.gives(g.convolved(y, 8, 6, name="behind", pads=[1] * 4))
    g.output(g.op("GlobalMaxPool", y))


@case(("integer", "layer", APPLIED), ("integer", "behind", APPLIED), ops=dict(conv=2), exact=(True, False))
def sum_of_a_layer_with_itself(g):
    x = g.through(g.input(1, 8, 9, 10))
    y = g.through(g.convolved(x, 8, 8, pads=[1] * 4))
    behind_sum(g, g.op("Add", y, y, name="add"))


@case(("integer", "layer", APPLIED), ("requantise", "layer", APPLIED), ("integer", "behind", APPLIED), ("byte_sum", "add", None), ops=dict(conv=2))
def sum_that_widens(g):
    """Channel by channel: the layer does not take it over."""
    x = g.through(g.input(1, 8, 9, 10))
    y = g.through(g.convolved(x, 8, 8, pads=[1] * 4))
    z = g.through(g.op("GlobalMaxPool", x))
    behind_sum(g, g.op("Add", y, z, name="add"))


@case(("integer", "layer", APPLIED), ("integer", "behind", APPLIED), ("byte_sum", "add", None), ops=dict(conv=2))
def sum_of_a_smaller_layer(g):
    x = g.through(g.input(1, 8, 9, 10))
    y = g.through(g.convolved(g.through(g.op("GlobalMaxPool", x)), 8, 8, (1, 1)))
    behind_sum(g, g.op("Add", y, x, name="add"))


@case(("integer", "layer", APPLIED), ("integer", "behind", APPLIED), ("byte_sum", "add", None), ops=dict(conv=2))
def sum_of_a_layer_that_another_reads(g):
    x = g.through(g.input(1, 8, 9, 10))
    y = g.through(g.convolved(x, 8, 8, pads=[1] * 4))
    behind_sum(g, g.op("Add", y, x, name="add"))
    g.output(g.op("GlobalMaxPool", y))


@families(sum_case("layer"), relu=dict(low=None), clip=dict(low=-0.5, high=0.75), beyond_bytes=dict(low=90, high=100), below_bytes=dict(low=-100, high=-90))
def sum_of_a_clamped_layer(g, low, high=None):
    """The layer's own activation comes before its first rounding."""
    x = g.through(g.input(1, 8, 9, 10))
    y = g.convolved(x, 8, 8, pads=[1] * 4)
    to = g.to(like=y)
    y = g.op("Relu", y) if low is None else g.op("Clip", y, g.scalar(low), g.scalar(high))
    behind_sum(g, g.op("Add", g.through(y, to), x, name="add"))


@case(("integer", "layer", APPLIED), ("byte_sum", "hard", None), exact=(False,), ops=dict(conv=1))
def clip_that_leaves_the_ends_as_they_are(g):
    """Most bytes become others (PP-OCR's gates)."""
    to, then = ((g.constant(np.float32(scale)), g.constant(np.uint8(zero))) for scale, zero in ((0.01666369, 152), (0.00330504, 0)))
    t = g.through(g.op("Add", g.through(g.input(1, 8, 30, 30)), g.scalar(0.01)), to)
    y = g.through(g.op("HardSigmoid", t, alpha=0.2, beta=0.5, name="hard"), then)
    g.output(y)
    g.gives(g.convolved(y, 8, 5))


# ---- numbers per output between roundings ----

def row(g, n, kind="Add"):
    """Numbers for n channels."""
    whole = g.random.integers(-64, 64, n) / 64 if kind == "Add" else 2.0 ** g.random.integers(-1, 2, n) * g.random.choice([-1, 1], n)
    return np.float32(whole if g.exact else whole * g.random.uniform(0.9, 1.1, n))


def behind_row(g, t, n):
    g.gives(g.op("MatMul", t, g.weights(n, 7, axis=1), name="behind"))


BETWEEN = case(("integer", "layer", APPLIED), ("byte_sum", "between", APPLIED), ("integer", "behind", APPLIED), ops=dict(linear=2), bytes_=2)


@families(BETWEEN, bias=dict(op="Add"), bias_first=dict(op="Add", turned=True), factor=dict(op="Mul"), difference=dict(op="Sub"), i8=dict(op="Add", kind="i8"),
          with_relu=dict(op="Add", act="Relu"), long_row=dict(op="Add", dims=(1, 1, 48)), some_zeros=dict(op="Mul", zeros=3), all_zeros=dict(op="Add", zeros=1), number=dict(op="Mul", dims=(1,)), wide=dict(op="Add", n=70))
def product_and_a_row_of_bytes(g, op, turned=False, kind="u8", act=None, dims=None, n=48, zeros=0):
    t = g.through(g.op("MatMul", g.through(g.input(2, 20, 16)), g.weights(16, n, axis=1), name="layer"), kind=kind)
    numbers = row(g, int(np.prod(dims or n)), op)
    if zeros:
        numbers[::zeros] = 0
    c = g.constant(numbers.reshape(dims or n))
    t = g.op(op, *((c, t) if turned else (t, c)), name="between")
    behind_row(g, g.through(g.op(act, t) if act else t, kind=kind), n)


@families(case(("integer", "layer", APPLIED), ("byte_sum", "between", APPLIED), ("integer", "behind", APPLIED), ops=dict(conv=2), bytes_=3),
          convolution=dict(), of_a_large_image=dict(size=(80, 64)), i8=dict(kind="i8"))
def convolution_and_a_row_of_bytes(g, kind="u8", size=(9, 10)):
    y = g.through(g.convolved(g.through(g.input(2, 8, *size)), 8, 34, pads=[1] * 4), kind=kind)
    y = g.through(g.op("Add", y, g.constant(row(g, 34).reshape(34, 1, 1)), name="between"), kind=kind)
    g.gives(g.convolved(y, 34, 6, name="behind", pads=[1] * 4))


@case(("integer", "depth", APPLIED), ("byte_sum", "between", APPLIED), ("integer", "behind", APPLIED), ops=dict(depthwise=1, conv=1))
def depthwise_and_a_row_of_bytes(g):
    y = g.through(g.convolved(g.through(g.input(2, 16, 9, 10)), 16, 16, group=16, name="depth", pads=[1] * 4))
    y = g.through(g.op("Mul", y, g.constant(row(g, 16, "Mul").reshape(1, 16, 1, 1)), name="between"))
    g.gives(g.convolved(y, 16, 6, name="behind", pads=[1] * 4))


@families(case(*(("byte_sum", name, APPLIED) for name in ("one", "two", "add")), ("integer", "behind", APPLIED), ops=dict(linear=2), bytes_=2), u8=dict(), i8=dict(kind="i8"), few=dict(n=20), long=dict(rows=200))
def rows_and_a_sum_of_bytes(g, kind="u8", n=48, rows=20):
    """A bias, a factor of each channel and what an earlier layer gave, all of them quantised."""
    x = g.through(g.input(2, rows, n), kind=kind)
    t = g.through(g.op("MatMul", x, g.weights(n, n, axis=1), name="layer"), kind=kind)
    t = g.through(g.op("Add", t, g.constant(row(g, n)), name="one"), kind=kind)
    t = g.through(g.op("Mul", g.constant(row(g, n, "Mul")), t, name="two"), kind=kind)
    behind_row(g, g.through(g.op("Add", x, t, name="add"), kind=kind), n)


@case(*(("byte_sum", name, APPLIED) for name in ("one", "two", "three")), ("byte_sum", "four", None), ("integer", "behind", APPLIED), ops=dict(linear=2))
def more_rows_than_a_layer_takes(g):
    t = g.through(g.op("MatMul", g.through(g.input(2, 20, 16)), g.weights(16, 48, axis=1), name="layer"))
    for name in "one", "two", "three", "four":
        t = g.through(g.op("Add", t, g.constant(row(g, 48)), name=name))
    behind_row(g, t, 48)


@families(case(("integer", "layer", APPLIED), ("byte_sum", "between", None), ("integer", "behind", APPLIED), ops=dict(linear=2)),
          per_row=dict(dims=(20, 1)), per_element=dict(dims=(20, 48)))
def product_and_other_numbers(g, dims):
    t = g.through(g.op("MatMul", g.through(g.input(2, 20, 16)), g.weights(16, 48, axis=1), name="layer"))
    c = g.constant(row(g, int(np.prod(dims))).reshape(dims))
    behind_row(g, g.through(g.op("Add", t, c, name="between")), 48)


@case(("integer", "layer", APPLIED), ("byte_sum", "between", None), ("integer", "behind", APPLIED), ops=dict(linear=2))
def product_and_a_bound_per_channel(g):
    t = g.through(g.op("MatMul", g.through(g.input(2, 20, 16)), g.weights(16, 48, axis=1), name="layer"))
    behind_row(g, g.through(g.op("Min", t, g.constant(row(g, 48)), name="between")), 48)


@case(("integer", "layer", APPLIED), ("byte_sum", "between", APPLIED), ops=dict(linear=1))
def product_and_a_row_with_floats_behind(g):
    t = g.through(g.op("MatMul", g.through(g.input(2, 20, 16)), g.weights(16, 48, axis=1), name="layer"))
    g.output(g.through(g.op("Add", t, g.constant(row(g, 48)), name="between")))


@case(("integer", "layer", APPLIED), ("integer", "behind", APPLIED), ("byte_sum", "mul", None), exact=(False,), ops=dict(conv=2))
def product_of_bytes(g):
    x = g.through(g.input(1, 8, 9, 10))
    y = g.through(g.convolved(x, 8, 8, pads=[1] * 4))
    behind_sum(g, g.op("Mul", y, x, name="mul"))


@case(("integer", "layer", APPLIED), ("byte_sum", "add", APPLIED), ("integer", "behind", APPLIED), exact=(False,), ops=dict(conv=2))
def sum_of_a_large_image(g):
    x = g.through(g.input(1, 8, 80, 64))
    y = g.through(g.convolved(x, 8, 8, pads=[1] * 4))
    behind_sum(g, g.op("Relu", g.op("Add", x, y, name="add")))


# ---- what moves or chooses integers between ----

@on_bytes("one", "two", "layer", "part", ops=dict(conv=4))
def concatenation_of_which_a_layer_pads_a_part(g):
    """With the zero point of the whole."""
    x = g.through(g.input(1, 8, 9, 10))
    layers = [g.convolved(x, 8, m, name=name, pads=[1] * 4) for name, m in (("one", 8), ("two", 16))]
    to = g.to(like=layers[0])
    parts = [g.quantize(y, to) for y in layers]
    g.gives(g.convolved(g.dequantize(g.op("Concat", *parts, axis=1), to), 24, 12, pads=[1] * 4))
    g.gives(g.convolved(g.dequantize(parts[1], to), 16, 12, pads=[2] * 4, name="part"))


@on_bytes("one", "two", "part", ops=dict(conv=3))
def concatenation_of_which_a_layer_pads_a_part_only(g):
    x = g.through(g.input(1, 8, 9, 10))
    layers = [g.convolved(x, 8, m, name=name, pads=[1] * 4) for name, m in (("one", 8), ("two", 16))]
    to = g.to(like=layers[0])
    parts = [g.quantize(y, to) for y in layers]
    g.gives(g.convolved(g.dequantize(parts[1], to), 16, 12, pads=[2] * 4, name="part"))
    x = g.dequantize(g.op("Concat", *parts, axis=1), to)
    g.gives(g.op("ConvTranspose", x, g.weights(24, 6, 2, 2), strides=[2, 2]))


@families(on_bytes("layer", ops=dict(conv=1)), quantised=dict(again=True), integers=dict(integers=True),
          integers_i8=dict(integers=True, kind="i8"), floats=dict())
def maximum_between(g, integers=False, again=False, kind="u8"):
    to = g.to(kind)
    x = g.quantize(g.input(1, 8, 9, 10), to)
    if not integers:
        x = g.dequantize(x, to)
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    x = g.dequantize(x, to) if integers else g.through(x, to) if again else x
    g.gives(g.convolved(x, 8, 12, pads=[1] * 4), kind)


@families(case(ops={}), u8=dict(kind="u8"), i8=dict(kind="i8"), u16=dict(kind="u16"), i16=dict(kind="i16"))
def quantised_again_alike(g, kind):
    """Which gives the same integers."""
    to = g.scale(2 ** -5 if "8" in kind else 2 ** -10), g.point(kind, {"u8": 120, "i8": -18, "u16": 30000, "i16": -600}[kind])
    q = g.quantize(g.input(1, 8, 9, 10), to)
    again = g.quantize(g.op("MaxPool", g.dequantize(q, to), kernel_shape=[3, 3]), to)
    twice = g.quantize(g.dequantize(q, to), to)
    if "8" in kind:
        for y in q, again, twice:
            g.gives_numbers(y, kind)
    g.output(g.dequantize(again, to), g.dequantize(twice, to))


@families(on_bytes("layer", ops=dict(conv=1)), quantised=dict(again=True), integers=dict(integers=True), integers_i8=dict(integers=True, kind="i8"))
@families(on_floats("not_quantised"), floats=dict())
def concatenation_between(g, integers=False, again=False, kind="u8"):
    to = g.to(kind)
    parts = [g.quantize(g.input(1, c, 9, 10), to) for c in (8, 5)]
    x = g.op("Concat", *(parts if integers else [g.dequantize(q, to) for q in parts]), axis=1)
    x = g.dequantize(x, to) if integers else g.through(x, to) if again else x
    g.gives(g.convolved(x, 13, 12, pads=[1] * 4), kind)


@families(on_bytes("one", "two", "layer", ops=dict(conv=3)), quantised=dict(), integers=dict(integers=True), quantised_i8=dict(kind="i8"))
def concatenation_of_layers(g, integers=False, kind="u8"):
    x = g.through(g.input(1, 8, 9, 10))
    layers = [g.convolved(x, 8, m, name=name, pads=[1] * 4) for name, m in (("one", 8), ("two", 16))]
    to = g.to(kind, like=layers[0])
    parts = [g.quantize(y, to) for y in layers]
    x = g.dequantize(g.op("Concat", *parts, axis=1), to) if integers else \
        g.through(g.op("Concat", *[g.dequantize(q, to) for q in parts], axis=1), to)
    g.gives(g.convolved(x, 24, 12, pads=[1] * 4))


def moved(g, x, op):
    if op == "Resize":
        return g.op(op, x, "", g.constant(np.float32([1, 1, 2, 2])), mode="nearest", nearest_mode="floor",
                    coordinate_transformation_mode="asymmetric"), (8, 18, 20)
    if op == "Shrink":
        return g.op("Resize", x, "", g.constant(np.float32([1, 1, 0.5, 0.7])), mode="nearest"), (8, 4, 7)
    if op == "Transpose":
        return g.op(op, x, perm=[0, 1, 3, 2]), (8, 10, 9)
    if op == "Slice":
        return g.op(op, x, g.ints(0), g.ints(4), g.ints(1)), (4, 9, 10)
    if op == "Pad":
        return g.op(op, x, g.ints(0, 0, 1, 1, 0, 0, 1, 1)), (8, 11, 12)
    return g.op("Reshape", x, g.ints(1, 16, 9, 5)), (16, 9, 5)


@families(on_bytes("layer", ops=dict(conv=1)),
          **{f"{op}_of_integers{kind}": dict(op=op, kind=kind) for op in ("Resize", "Transpose", "Slice", "Reshape") for kind in ("u8", "i8")})
def moved_integers(g, op, kind):
    to = g.to(kind)
    q, (c, _, _) = moved(g, g.quantize(g.input(1, 8, 9, 10), to), op)
    g.gives(g.convolved(g.dequantize(q, to), c, 12, pads=[1] * 4), kind)


@families(on_floats("not_quantised"), resized=dict(op="Resize"))
@families(on_bytes("layer", ops=dict(conv=1)), turned=dict(op="Transpose"), turned_i8=dict(op="Transpose", kind="i8"), cut=dict(op="Slice"), cut_i8=dict(op="Slice", kind="i8"), reshaped=dict(op="Reshape"), reshaped_i8=dict(op="Reshape", kind="i8"), padded=dict(op="Pad"),
          padded_i8=dict(op="Pad", kind="i8"))
def moved_floats(g, op, kind="u8"):
    x, (c, _, _) = moved(g, g.through(g.input(1, 8, 9, 10), g.to(kind)), op)
    g.gives(g.convolved(x, c, 12, pads=[1] * 4), kind)


@families(case(("integer", "layer", APPLIED), ("integer", "behind", APPLIED), ops=dict(conv=2)),
          turned=dict(op="Transpose"), turned_i8=dict(op="Transpose", kind="i8"), reshaped=dict(op="Reshape"),
          resized=dict(op="Resize"), resized_i8=dict(op="Resize", kind="i8"), shrunk=dict(op="Shrink"), shrunk_for_two=dict(op="Shrink", two=True),
          resized_and_quantised_otherwise=dict(op="Resize", alike=False), resized_for_two=dict(op="Resize", two=True),
          shrunk_and_quantised_otherwise=dict(op="Shrink", alike=False),
          turned_and_quantised_otherwise=dict(op="Transpose", alike=False), turned_for_two=dict(op="Transpose", two=True))
def moved_between_layers(g, op, kind="u8", alike=True, two=False):
    """Quantised on both sides of what moves it, as before or otherwise."""
    y = g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 8, pads=[1] * 4)
    to = g.to(kind, like=y)
    y, (c, _, _) = moved(g, g.through(y, to), op)
    g.gives(g.convolved(g.through(y, to if alike else g.to(around=2 ** -4, zero=77)), c, 12, pads=[1] * 4, name="behind"), kind)
    if two:
        g.output(g.op("Relu", y))


@families(on_bytes("layer", ops=dict(conv=1)), turned=dict(op="Transpose"), resized=dict(op="Resize"), shrunk=dict(op="Shrink"), reshaped=dict(op="Reshape"))
def elementwise_on_both_sides(g, op):
    """Of what moves elements."""
    x, (c, _, _) = moved(g, g.op("Relu", g.op("Add", g.input(1, 8, 9, 10), g.input(1, 8, 9, 10))), op)
    g.gives(g.convolved(g.through(g.op("Mul", x, g.scalar(0.5))), c, 12, pads=[1] * 4))


@families(case(("integer", "layer", APPLIED), ("integer", "behind", APPLIED), ops=dict(conv=2), bytes_=4),
          quantised_alike=dict(), quantised_otherwise=dict(alike=False), with_floats_beside=dict(floats=True))
def resized_part_of_a_concatenation(g, alike=True, floats=False):
    """As U-Nets have it: the other part is as it was."""
    x = g.through(g.input(1, 8, 9, 10))
    y = g.convolved(x, 8, 8, pads=[1] * 4, strides=[1, 1])
    to = g.to(like=y)
    y, _ = moved(g, g.through(y, to), "Resize")
    y = g.through(y, to) if alike else y
    beside = g.input(1, 5, 18, 20)
    both = g.op("Concat", y, g.through(beside) if floats else g.op("Relu", beside), axis=1)
    g.gives(g.convolved(g.through(both), 13, 12, pads=[1] * 4, name="behind"))


@families(on_bytes("layer", ops=dict(linear=1)), u8=dict(), i8=dict(kind="i8"), integers=dict(integers=True), integers_i8=dict(integers=True, kind="i8"))
def flattened(g, integers=False, kind="u8"):
    to = g.to(kind)
    q = g.quantize(g.op("Abs", g.conv(g.input(2, 3, 6, 6), 3, 5)), to) if not g.exact else g.quantize(g.input(2, 5, 4, 4), to)
    x = g.dequantize(g.op("Flatten", q), to) if integers else g.op("Flatten", g.dequantize(q, to))
    g.gives(g.op("Gemm", x, g.weights(80, 7, axis=1), name="layer"), kind)


@on_bytes("conv", "layer", fused=("conv", "layer"), ops=dict(conv=1, linear=2))
def flattened_behind_a_layer(g):
    x = g.through(g.input(2, 8, 9, 10))
    x = g.op("Flatten", g.through(g.convolved(x, 8, 12, name="conv", strides=[2, 2])))
    x = g.through(g.op("Gemm", x, g.weights(7, 192, axis=0), g.whole_bias(7), transB=1, name="layer"))
    g.gives(g.op("MatMul", x, g.weights(7, 5)))


@families(on_bytes("layer", "one", "two", "whole", ops=dict(conv=4)), padded_as_the_whole=dict(pads=[0, 2, 1, 0]), padded_alone=dict(pads=[0] * 4))
def parts_of_bytes(g, pads):
    """Two layers pad halves of what a third pads, or does not."""
    x = g.through(g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 16))
    for name, part in zip(("one", "two"), g.op("Split", x, outputs=2, axis=1, num_outputs=2)):
        g.gives(g.convolved(part, 8, 12, pads=[1] * 4, dilations=[2, 2], name=name))
    g.gives(g.convolved(x, 16, 12, pads=pads, name="whole"))


@families(on_bytes("layer", "whole", "part", ops=dict(conv=3)), first=dict(ahead=True), last=dict(ahead=False))
def part_of_bytes_padded_with_another_number(g, ahead):
    """Than what it is part of: it cannot share the padding around that, as a dilated kernel, which reads a part where it
    lies, otherwise would."""
    y = g.convolved(g.through(g.input(1, 8, 9, 10)), 8, 16)
    to = g.to(like=y)
    q = g.quantize(y, to)
    def whole():
        g.gives(g.convolved(g.dequantize(q, to), 16, 12, pads=[1] * 4, name="whole"))
    if not ahead:
        whole()
    x, _ = g.op("Split", g.dequantize(q, (to[0], g.point("u8", 60))), outputs=2, axis=1, num_outputs=2)
    g.gives(g.convolved(x, 8, 12, pads=[1] * 4, dilations=[1, 2], name="part"))
    if ahead:
        whole()


def joined(g, parts, axis=1, name="join"):
    return g.op("Concat", *parts, axis=axis, name=name)


def normalised(g, x, c, relu=True):
    """Scaled and shifted per channel, by numbers of both signs and a 0, and quantised."""
    a, b = row(g, c, "Mul"), row(g, c)
    a[1] = 0
    x = g.op("Add", g.op("Mul", x, g.constant(a.reshape(c, 1, 1))), g.constant(b.reshape(c, 1, 1)))
    return g.through(g.op("Relu", x) if relu else x)


@families(case(("byte_moves", "join2", APPLIED), ("byte_moves", "join3", APPLIED), ("byte_steps", "join3", APPLIED), ("integer", "behind", APPLIED), ops=dict(conv=4), bytes_=5), u8=dict(), i8=dict(kind="i8"), of_odd_zeros=dict(zeros=(77, 31, 200)), without_relu=dict(relu=False),
          quantised_as_a_whole=dict(whole=True), whole_i8=dict(whole=True, kind="i8"), of_a_large_image=dict(size=(64, 40), whole=True))
def parts_that_others_read(g, kind="u8", zeros=(None,) * 3, relu=True, whole=False, size=(9, 10)):
    """As the layers of a DenseNet do: every concatenation is of all that there is, whatever it is quantised by."""
    x = g.input(1, 8, *size)
    parts = [g.through(x, g.to(kind, zero=zeros[0], around=2 ** -6))]
    for name, m, zero in (("one", 12, zeros[1]), ("two", 9, zeros[2])):
        y = g.convolved(parts[-1], 8 if len(parts) == 1 else 12, m, pads=[1] * 4, name=name)
        parts.append(g.through(y, g.to(kind, zero=zero, like=y)))
    for n, name in ((2, "middle"), (3, "behind")):
        both = joined(g, parts[:n], name=f"join{n}")
        both = g.through(both, kind=kind) if whole else both
        c = (8, 20, 29)[n - 1]
        g.gives(g.convolved(normalised(g, both, c, relu), c, 6, name=name), kind)


@families(case(("byte_moves", "join", APPLIED), ops={}, bytes_=3), of_channels=dict(axis=1), of_rows=dict(axis=2), of_columns=dict(axis=3))
def parts_of_any_axis(g, axis):
    parts = [g.through(g.input(1, 8, 9, 10), g.to(around=2 ** -e, zero=zero)) for e, zero in ((5, 120), (4, 50))]
    g.output(*[g.op("GlobalMaxPool", part) for part in parts])
    numbers = g.constant(row(g, 8, "Mul").reshape(8, 1, 1))
    g.gives(g.op("Mul", joined(g, parts, axis), numbers) if axis != 1 else normalised(g, joined(g, parts), 16))


@case(("byte_moves", "join", None), ("byte_concat", "hard", APPLIED), ops=dict(conv=1), bytes_=2)
def parts_of_which_tables_are_made(g):
    parts = [g.through(g.input(1, 8, 9, 10), g.to(around=2 ** -e)) for e in (5, 4)]
    g.gives(g.convolved(g.through(g.op("HardSigmoid", joined(g, parts), alpha=0.25, beta=0.5, name="hard")), 16, 6, name="behind"))


@case(("byte_moves", "join", None), ("byte_concat", "join", None), ops={})
def parts_that_nobody_else_reads(g):
    """But for one, which is the smaller: each could be quantised for itself."""
    parts = [g.through(g.input(1, c, 9, 10)) for c in (9, 8)]
    g.output(g.op("GlobalMaxPool", parts[1]))
    g.gives(normalised(g, joined(g, parts), 17))


@case(("byte_moves", "join", None), ops={})
def parts_of_floats_and_bytes(g):
    both = joined(g, [g.through(g.input(1, 8, 9, 10)), g.op("Relu", g.input(1, 8, 9, 10))])
    g.output(normalised(g, both, 16))


@families(on_bytes("one", "two", ops=dict(conv=2)), alike=dict(), i8=dict(kind="i8"), otherwise=dict(alike=False), of_which_one_is_read_elsewhere=dict(elsewhere=True), of_rows=dict(axis=2))
def quantised_parts(g, kind="u8", alike=True, elsewhere=False, axis=1):
    """Of one value: bytes are cut; and quantised again as they were or otherwise."""
    to = g.to(kind)
    x = g.through(g.input(1, 16, 10, 12), to)
    parts = g.op("Split", x, outputs=2, axis=axis, num_outputs=2)
    for name, part in zip(("one", "two"), parts):
        part = g.through(part, to if alike else g.to(kind, around=2 ** -4, zero=77 if kind == "u8" else 7))
        g.gives(g.convolved(part, 8 if axis == 1 else 16, 12, pads=[1] * 4, name=name), kind)
    if elsewhere:
        g.output(g.op("GlobalMaxPool", parts[1]))


@families(case(("byte_steps", "gate", APPLIED), ("integer", "behind", APPLIED), ops=dict(conv=1)), u8=dict(), i8=dict(kind="i8"), added_to=dict(residual=True), of_a_large_image=dict(size=(60, 40), residual=True))
def gated_channels(g, kind="u8", size=(9, 10), residual=False):
    """Bytes times numbers per image and channel, quantised, and a residual of bytes."""
    x = g.through(g.input(2, 16, *size), kind=kind)
    gate = g.op("HardSigmoid", g.op("GlobalMaxPool", x), alpha=0.25, beta=0.5) if g.exact else g.op("Sigmoid", g.op("GlobalMaxPool", x))
    y = g.through(g.op("Mul", x, gate, name="gate"), kind=kind)
    y = g.through(g.op("Relu", g.op("Add", y, g.through(g.input(2, 16, *size), kind=kind)))) if residual else y
    g.gives(g.convolved(y, 16, 6, name="behind", pads=[1] * 4), kind)


@families(case(("byte_steps", "sum", APPLIED), ops=dict(conv=2)), sum=dict(op="Add"), difference=dict(op="Sub"), product=dict(op="Mul"), clipped=dict(op="Add", clip=True), with_itself=dict(op="Add", same=True))
def sum_of_quantised_sums(g, op, clip=False, same=False):
    """Of bytes that a factor and a summand per channel, and a quantisation, come between."""
    x = g.through(g.input(1, 8, 9, 10))
    layers = [g.convolved(x, 8, 8, (1, 1), name=name) for name in ("one", "two")]
    x, y = (g.through(layer, g.to(zero=zero, like=layer)) for layer, zero in zip(layers, (120, 31)))
    g.output(g.op("GlobalMaxPool", x), g.op("GlobalMaxPool", y))
    t = g.op("Mul", x, g.constant(np.abs(row(g, 8, "Mul")).reshape(8, 1, 1)))
    t = g.op("Clip", t, g.scalar(-1.0), g.scalar(0.75)) if clip else t
    g.gives(g.op(op, g.through(t, g.to(around=2 ** -5, zero=100)), t if same else y, name="sum"))



@families(case(("byte_steps", "join", APPLIED), ops=dict(conv=2)), of_an_even_zero=dict(zero=120), of_an_odd_zero=dict(zero=121), of_zero_0=dict(zero=0), of_i8=dict(kind="i8", zero=-18), with_relu=dict(zero=64, act="Relu"),
          in_bytes=dict(zero=120, inside=True), in_bytes_with_relu=dict(zero=64, act="Relu", inside=True), in_bytes_of_i8=dict(kind="i8", zero=-18, inside=True))
def sum_that_is_rounded(g, zero, kind="u8", act=None, inside=False):
    """Where it is stored in bytes, or before it is stored as floats, since it is an output, too."""
    x = g.through(g.input(1, 8, 9, 10))
    parts = [g.through(g.convolved(x, 8, 8, (1, 1), name=name)) for name in ("one", "two")]
    g.output(*[g.op("GlobalMaxPool", part) for part in parts])
    y = g.op("Add", *parts, name="join")
    q = g.quantize(g.op(act, y) if act else y, g.to(kind, zero=zero, like=y))
    if inside:
        g.gives_numbers(g.op("Transpose", q, perm=[0, 2, 3, 1]), kind)
    else:
        g.gives_numbers(q, kind)


def averaged(**options):
    return case(("byte_pool", "pool", APPLIED), ("integer", "pool", APPLIED), ("requantise", "pool", APPLIED), ("integer", "behind", APPLIED), ops=dict(conv=1, depthwise=1), bytes_=3, **options)


NOT_AVERAGED = case(("byte_pool", "pool", None), ("integer", "behind", APPLIED), ops=dict(conv=1))


@families(averaged(), u8=dict(), i8=dict(kind="i8"), of_zero_0=dict(zero=0), of_2x2=dict(kernel_shape=[2, 2], strides=[2, 2]), padded=dict(pads=[1] * 4, count_include_pad=1),
          padded_i8=dict(kind="i8", pads=[1, 0, 1, 2], count_include_pad=1), of_a_batch=dict(n=3), of_9_channels=dict(c=9), dilated_by_1=dict(dilations=[1, 1]))
@families(averaged(exact=(False,)), of_3x3=dict(kernel_shape=[3, 3]), of_7x7=dict(kernel_shape=[7, 7]), of_rows=dict(kernel_shape=[1, 5], strides=[1, 2]))
@families(NOT_AVERAGED, of_what_there_is=dict(pads=[1] * 4), rounded_up=dict(strides=[2, 2], ceil_mode=1), of_many=dict(kernel_shape=[8, 8]), of_few_channels=dict(c=7), dilated=dict(dilations=[2, 2]), that_another_reads=dict(elsewhere=True))
def averages(g, kind="u8", zero=None, n=1, c=16, elsewhere=False, **attributes):
    x = g.through(g.input(n, c, 9, 10), g.to(kind, zero=zero))
    y = g.op("AveragePool", x, name="pool", **dict(dict(kernel_shape=[4, 4]), **attributes))
    if elsewhere:
        g.output(y)
    g.gives(g.convolved(g.through(y, kind=kind), c, 6, name="behind", pads=[1] * 4), kind)



@families(case(("byte_moves", "mean", APPLIED), ("integer", "behind", APPLIED), ops=dict(conv=1), bytes_=2), u8=dict(), i8=dict(kind="i8"), of_7_channels=dict(c=7), of_a_batch=dict(n=3), that_gates=dict(gates=True), pooled=dict(op="GlobalAveragePool"))
@families(case(("byte_moves", "mean", None), ("integer", "behind", APPLIED), ops=dict(conv=1)), of_rows=dict(axes=[2]), of_channels=dict(axes=[1]))
@variant("of sums", case(("byte_moves", "mean", None), ("integer", "behind", APPLIED), ops=dict(conv=1), exact=(True,)), op="ReduceSum")
def means(g, kind="u8", n=1, c=16, op="ReduceMean", axes=(2, 3), gates=False):
    """Over images of bytes, which another layer reads, or which they gate."""
    x = g.through(g.input(n, c, 8, 16), kind=kind)
    y = g.op(op, x, *([g.ints(*axes)] if op != "GlobalAveragePool" else []), name="mean")
    z = g.op("Mul", x, g.op("HardSigmoid", y, alpha=0.25, beta=0.5)) if gates else x
    g.gives(g.convolved(g.through(z, kind=kind) if gates else z, c, 6, name="behind", pads=[1] * 4), kind)
    if not gates:
        g.output(y)


# ---- tables of integers ----

def looked_up(g, index, kind="u8", scales=None, axis=0):
    table = g.weights(30, 24, kind=kind, zero=9, around=2 ** -6, axis=scales)
    y = g.op("Gather", table, index, axis=axis)
    g.output(g.op("Add", y, y))
    g.gives(y)


@families(case(ops={}, bytes_=2), u8=dict(), of_columns=dict(axis=1))
@families(case(ops={}), i8=dict(kind="i8"), of_scales_per_row=dict(scales=0))
def rows_of_a_table(g, **options):
    """They are looked up as integers, so that the table stays as small as it is."""
    looked_up(g, g.input(2, 7, dtype=P.INT64), **options)


@case(ops={})
def rows_of_a_table_that_are_known(g):
    looked_up(g, g.constant(np.int64([3, -1, 29])))


@case(("integer", "layer", APPLIED), ops=dict(linear=1))
def table_that_is_a_weight_too(g):
    """As tied embeddings are."""
    table = g.weights(30, 24, around=2 ** -6)
    x = g.op("Gather", table, g.input(5, dtype=P.INT64))
    g.output(x)
    g.gives(g.op("MatMul", g.through(g.op("Relu", x)), g.op("Transpose", table, perm=[1, 0]), name="layer"))


# ---- linear layers ----

@families(on_bytes("layer", ops=dict(linear=2), bytes_=1), plain=dict(), turned=dict(transB=1), i8=dict(kind="i8"), turned_per_output=dict(transB=1, axis=0),
          per_output=dict(axis=1), with_alpha_and_beta=dict(alpha=0.5, beta=2.0, bias=True), with_a_bias=dict(bias=True, transB=1),
          square_per_output=dict(n=40, axis=1), square_turned_per_output=dict(n=40, axis=0, transB=1), of_one_row=dict(rows=1), of_many_rows=dict(rows=70))
@families(on_floats("weight_differs"), square_per_input=dict(n=40, axis=0, one=True), square_turned_per_input=dict(n=40, axis=1, transB=1, one=True))
def gemm(g, n=9, rows=3, axis=None, bias=False, kind="u8", one=False, **attributes):
    w = g.weights(*((n, 40) if "transB" in attributes else (40, n)), axis=axis)
    x = g.through(g.input(rows, 40), g.to(kind))
    y = g.op("Gemm", x, w, *([g.whole_bias(n)] if bias else []), name="layer", **attributes)
    if one:
        g.gives(y, kind)
        return
    y = g.through(g.op("Relu", y), kind=kind)
    g.gives(g.op("MatMul", y, g.weights(n, 6)), kind)


@families(on_bytes("layer", ops=dict(linear=1)), of_rank_2=dict(dims=(3, 40)), of_rank_3=dict(dims=(2, 5, 40)), of_rank_4=dict(dims=(2, 3, 4, 40)),
          of_rank_3_i8=dict(dims=(2, 5, 40), kind="i8"))
def product(g, dims, kind="u8"):
    x = g.through(g.input(*dims), g.to(kind))
    y = g.op("MatMul", x, g.weights(40, 9, axis=1), name="layer")
    g.gives(g.op("Add", y, g.constant(np.float32(np.arange(9) - 4) / 4)), kind)


@on_bytes("q", "k", ops=dict(linear=2))
def products_of_one_value(g):
    """Of which layers on floats would become one."""
    x = g.through(g.input(2, 5, 40))
    for name in "q", "k":
        g.gives(g.op("MatMul", x, g.weights(40, 16, axis=1), name=name))


@on_bytes("layer", ops=dict(linear=1))
def product_with_a_sum_behind(g):
    x = g.through(g.input(2, 5, 40))
    y = g.through(g.op("MatMul", x, g.weights(40, 40), name="layer"))
    g.gives(g.op("Add", x, y))


@case(("integer", "one", APPLIED), ("byte_sum", "add", APPLIED), ("integer", "layer", APPLIED), ops=dict(linear=2))
def product_with_a_sum_of_bytes_behind(g):
    x = g.through(g.input(2, 5, 40))
    y = g.through(g.op("MatMul", x, g.weights(40, 40), name="one"))
    y = g.through(g.op("Add", x, y, name="add"))
    g.gives(g.op("MatMul", y, g.weights(40, 9), name="layer"))


@on_floats("few_products")
def product_of_three(g):
    g.gives(g.op("MatMul", g.through(g.input(5, 3)), g.weights(3, 9), name="layer"))


@on_bytes("layer", ops=dict(linear=1), exact=(False,))
def product_of_floats(g):
    x = g.through(g.input(3, 300), (g.scalar(0.02), g.point("u8", 131)))
    w = g.op("DequantizeLinear", g.constant(g.numbers("i8", (300, 9))), g.scalar(0.003), g.point("i8", 0))
    g.gives_floats(g.op("MatMul", x, w, name="layer"), 300, 0.02 * 0.003)


@on_floats("not_quantised")
def scale_of_the_run(g):
    """Known in a run alone."""
    scale = g.op("Abs", g.op("ReduceMax", g.input(3, 5), keepdims=0))
    x = g.dequantize(g.quantize(g.input(3, 40), g.to()), (scale, g.point("u8", 120)))
    g.gives(g.op("MatMul", x, g.weights(40, 9), name="layer"))


@on_floats("not_quantised")
def scales_per_channel_of_activations(g):
    x, to = g.input(1, 8, 9, 10), (g.scale(2 ** -5, 8), g.constant(np.full(8, 120, np.uint8)))
    x = g.op("DequantizeLinear", g.op("QuantizeLinear", x, *to, axis=1), *to, axis=1)
    g.gives(g.convolved(x, 8, 12))


@families(on_floats("not_quantised"), u16=dict(kind="u16", zero=30000), i16=dict(kind="i16", zero=-6))
def integers_of_16_bits(g, kind, zero):
    x = g.through(g.input(3, 40), (g.scale(2 ** -9), g.point(kind, zero)))
    g.gives(g.op("MatMul", x, g.weights(40, 9), name="layer"))


@families(on_bytes("layer", ops=dict(linear=1)), activations=dict(x=True))
@families(on_bytes("layer", ops=dict(linear=1)), weights=dict(x=False))
def integers_of_4_bits(g, x):
    def four(name, values):
        g.constants.append(onnx.helper.make_tensor(name, P.INT4, values.shape, values.flatten().tolist()))
        return name
    to = (g.scale(2 ** -1), four("zero", np.array(2))) if x else g.to()
    w = g.weights(40, 9) if x else g.op("DequantizeLinear", four("w", g.random.integers(-8, 8, (40, 9))), g.scale(2 ** -5, 9), axis=1)
    g.gives(g.op("MatMul", g.through(g.input(3, 40), to), w, name="layer"))


@on_floats("weight_in_blocks")
def weights_in_blocks(g):
    w = g.op("DequantizeLinear", g.constant(g.numbers("i8", (40, 9))), g.scale(2 ** -9, 5, 9), axis=0, block_size=8)
    g.gives(g.op("MatMul", g.through(g.input(3, 40)), w, name="layer"))


# ---- operators on integers ----

def qlinear_conv(g, q, to, c, m, way, name="layer", group=1, kind="i8", zero=0, **attributes):
    """Weights within 60: ONNX Runtime's kernels for older CPUs saturate pairs of larger ones."""
    w = g.constant(g.numbers(kind, (m, c // group, 3, 3), zero, most=60))
    bias = g.constant(g.random.integers(-3000, 3000, m).astype(np.int32))
    operands = [q, *to, w, g.scale(2 ** -8, m), g.constant(np.full(m, zero, TYPES[kind][0])), *way, bias]
    return g.op("QLinearConv", *operands, name=name, group=group, **attributes)


@families(on_bytes("layer", "behind", fused=("layer",), ops=dict(conv=2), bytes_=2), u8=dict(), i8=dict(kind="i8"), padded=dict(pads=[1] * 4),
          padded_i8=dict(kind="i8", pads=[1, 0, 1, 2]), in_groups=dict(group=2, pads=[1] * 4), i8_of_zero_0=dict(kind="i8", point=0, pads=[1] * 4),
          of_zero_0=dict(point=0, pads=[1] * 4))
def QLinearConv(g, kind="u8", point=None, **attributes):
    to, way = g.to(kind, zero=point), g.to(kind, zero=point)
    q = qlinear_conv(g, g.quantize(g.input(2, 8, 9, 10), to), to, 8, 12, way, **attributes)
    g.gives_numbers(qlinear_conv(g, q, way, 12, 6, g.to(kind), name="behind", pads=[1] * 4), kind)


@on_bytes("one", "two", "three", ops=dict(conv=3))
def QLinearConvs_of_the_same_i8(g):
    """Of zero point 0: they read the integers themselves."""
    to = g.to("i8", zero=0)
    q = g.quantize(g.input(2, 8, 9, 10), to)
    for name, attributes in ("one", dict(pads=[1] * 4)), ("two", dict(strides=[2, 2])), ("three", dict(group=2)):
        g.gives_numbers(qlinear_conv(g, q, to, 8, 12, g.to("i8"), name=name, **attributes), "i8")
    g.gives_numbers(q, "i8")


@on_bytes("one", "two", ops=dict(conv=2), opset=17)
def QLinearConv_with_a_sum_behind(g):
    """As quantize_static writes a residual block."""
    to, way, end = g.to(), g.to(), g.to()
    x = g.quantize(g.input(1, 8, 9, 10), to)
    y = qlinear_conv(g, x, to, 8, 8, way, name="one", pads=[1] * 4)
    y = g.op("QLinearAdd", y, *way, x, *to, *end, domain=DOMAIN)
    g.gives_numbers(qlinear_conv(g, y, end, 8, 6, g.to(), name="two", pads=[1] * 4))


@families(on_bytes("layer", "behind", ops=dict(linear=2)), u8=dict(), i8=dict(kind="i8"), of_rank_3=dict(dims=(2, 5, 40)))
def QLinearMatMul(g, kind="u8", dims=(3, 40)):
    to, way, end = g.to(kind), g.to(kind), g.to(kind)
    def times(q, k, n, a, b, name):
        w = g.constant(g.numbers("i8", (k, n), most=60))
        return g.op("QLinearMatMul", q, *a, w, g.scale(2 ** -8), g.point("i8", 0), *b, name=name)
    q = times(g.quantize(g.input(*dims), to), 40, 12, to, way, "layer")
    g.gives_numbers(times(q, 12, 7, way, end, "behind"), kind)


@families(on_bytes("layer", ops=dict(linear=1), opset=17), plain=dict(), turned=dict(transB=1), with_alpha=dict(alpha=0.5))
def QGemm(g, **attributes):
    to, dims = g.to(), (7, 40) if "transB" in attributes else (40, 7)
    w, c = g.constant(g.numbers("i8", dims, most=60)), g.constant(g.random.integers(-3000, 3000, 7).astype(np.int32))
    operands = [g.quantize(g.input(3, 40), to), *to, w, g.scale(2 ** -8, 7), g.constant(np.zeros(7, np.int8)), c, *g.to()]
    g.gives_numbers(g.op("QGemm", *operands, domain=DOMAIN, name="layer", **attributes))


@families(case(exact=(True,)), ConvInteger=dict(op="ConvInteger"), MatMulInteger=dict(op="MatMulInteger"))
def sums_as_they_are(g, op):
    """Not rounded at all."""
    to = g.to()
    q = g.quantize(g.input(*((1, 8, 9, 10) if op == "ConvInteger" else (3, 40))), to)
    w = g.constant(g.numbers("i8", (6, 8, 3, 3) if op == "ConvInteger" else (40, 6), most=60))
    attributes = dict(pads=[1] * 4) if op == "ConvInteger" else {}
    g.output(g.op(op, q, w, to[1], g.point("i8", 0), name="layer", **attributes), dtype=P.INT32)


@on_bytes("layer", ops=dict(conv=1), exact=(True,))
def ConvInteger_as_quantize_dynamic_writes_it(g):
    """Its scale is known in a run alone: it is that of the sums."""
    q, scale, zero = g.op("DynamicQuantizeLinear", g.input(1, 8, 9, 10), outputs=3)
    w = g.constant(g.numbers("i8", (6, 8, 3, 3), most=60))
    y = g.op("Cast", g.op("ConvInteger", q, w, g.point("u8", 0), g.point("i8", 0), name="layer"), to=P.FLOAT)
    g.output(y)
    g.gives_numbers(q), g.output(scale), g.gives_numbers(zero)


@families(on_bytes("layer", ops=dict(conv=1), exact=(True,)), without_padding=dict())
@families(on_floats("zero_moves", exact=(True,)), padded=dict(pads=[1] * 4))
def ConvInteger_with_a_zero_point_of_the_run(g, **attributes):
    """Numbers from 0 to 255, of which one is 0 and one 255: scale and zero point are the same in every run."""
    x = g.op("Clip", g.input(1, 8, 9, 10), g.scalar(-40.0), g.scalar(215.0))
    ends = g.constant(np.array([-40, 215], np.float32).repeat(45).reshape(1, 1, 9, 10))
    q, scale, zero = g.op("DynamicQuantizeLinear", g.op("Concat", x, ends, axis=1), outputs=3)
    w = g.constant(g.numbers("i8", (6, 9, 3, 3), most=60))
    y = g.op("Cast", g.op("ConvInteger", q, w, zero, g.point("i8", 0), name="layer", **attributes), to=P.FLOAT)
    g.output(g.op("Mul", y, scale))


@families(case(ops=dict(linear=8), exact=(True,)), of_weights_of_one_zero_point=dict(zero=(77,)))
@families(case(ops=dict(linear=12), exact=(True,)), of_zero_points_per_output=dict(zero=None))
@families(case(ops=dict(linear=4), exact=(True,)), of_i8=dict(kind="i8", zero=(0,)))
def MatMulInteger_of_long_sums(g, zero, kind="u8"):
    """In parts whose sums f32 holds, each of which is a layer, and so are the sums of its input where the weight leaves i8."""
    x, w = g.quantize(g.input(3, 1500), g.to(zero=3)), g.constant(g.numbers(kind, (1500, 40)))
    zero = np.array(zero).astype(TYPES[kind][0])[0] if zero else g.numbers(kind, (40,))
    g.output(g.op("MatMulInteger", x, w, g.point("u8", 3), g.constant(zero), name="layer"), dtype=P.INT32)


@families(case(ops=dict(conv=8), exact=(True,)), padded=dict(pads=[1] * 4), plain=dict())
def ConvInteger_of_long_sums(g, **attributes):
    x, w = g.quantize(g.input(1, 170, 5, 6), g.to(zero=3)), g.constant(g.numbers("u8", (40, 170, 3, 3)))
    g.output(g.op("ConvInteger", x, w, g.point("u8", 3), g.point("u8", 120), name="layer", **attributes), dtype=P.INT32)


# ---- products of two ----

def products(*names, fused=(), **options):
    rows = [("byte_products", name, APPLIED) for name in names or ("product",)] + [("requantise", name, APPLIED) for name in fused]
    return case(*rows, **{"ops": dict(matmul=1, linear=1)} | options)


def not_a_product(reason, **options):
    return case(("byte_products", "product", reason), **{"ops": {}} | options)


@families(products(fused=("product",), bytes_=2),
          of_rows=dict(a=(7, 40), b=(40, 9)), of_zero_0=dict(zeros=(0, 0)), of_zero_255=dict(zeros=(255, 255)), of_the_middle=dict(zeros=(3, 128)),
          of_i8=dict(kinds=("i8", "i8")), of_i8_around_0=dict(kinds=("i8", "i8"), zeros=(0, 0)), of_i8_and_u8=dict(kinds=("i8", "u8")), of_u8_and_i8=dict(kinds=("u8", "i8")),
          of_a_batch=dict(a=(2, 3, 7, 40), b=(2, 3, 40, 9)), of_one_of_a_batch=dict(a=(2, 3, 7, 40), b=(3, 40, 9)), of_broadcasts=dict(a=(3, 1, 7, 40), b=(1, 2, 40, 9)),
          of_three=dict(a=(7, 3), b=(3, 9)), of_one=dict(a=(7, 1), b=(1, 9)), of_a_row=dict(a=(1, 65), b=(65, 40)),
          of_many=dict(a=(130, 70), b=(70, 150)), of_long_sums=dict(a=(9, 1500), b=(1500, 20)))
@families(products(ops=dict(matmul=1)), of_a_column=dict(a=(70, 65), b=(65, 1)))
def product(g, a=(5, 16), b=(16, 20), kinds=("u8", "u8"), zeros=(None, None)):
    x = [g.through(g.input(*dims), g.to(kind, zero=zero)) for dims, kind, zero in zip((a, b), kinds, zeros)]
    y = g.through(g.op("MatMul", *x, name="product"))
    g.gives(g.op("MatMul", y, g.weights(b[-1], 7, axis=1)) if b[-1] > 4 else g.op("Neg", y))


@products(exact=(True,), ops=dict(matmul=1))
def product_that_is_an_output(g):
    g.output(g.op("MatMul", g.through(g.input(5, 40)), g.through(g.input(40, 30)), name="product"))


@families(products("scores", "product", fused=("scores", "product"), ops=dict(matmul=2, linear=2), bytes_=5), of_heads=dict(), of_i8=dict(kind="i8"), of_short_heads=dict(size=3),
          of_many=dict(positions=70, size=33))
@families(products("scores", "product", fused=("scores", "product"), ops=dict(matmul=2, linear=2), bytes_=5, flags=("--dim", "N=1..3", "--dim", "P=2..40"),
                   sizes=({"N": 1, "P": 17}, {"N": 3, "P": 40}, {"N": 2, "P": 2})), of_any_sizes=dict(n="N", positions="P"))
def attention_of_bytes(g, kind="u8", n=2, positions=19, heads=4, size=16):
    """Quantised after every step, as ONNX Runtime's quantiser does."""
    width = heads * size
    x = g.through(g.input(n, positions, 24), kind=kind)
    y = g.through(g.op("MatMul", x, g.weights(24, 3 * width, axis=1), name="first"), kind=kind)
    y = g.op("Transpose", g.op("Reshape", y, g.ints(0, 0, 3, heads, size)), perm=[2, 0, 3, 1, 4])
    q, k, v = (g.op("Squeeze", part, g.ints(0)) for part in g.op("Split", y, outputs=3, axis=0, num_outputs=3))
    scores = g.through(g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]), name="scores"), kind=kind)
    weight = g.through(g.op("Softmax", g.op("Mul", scores, g.scalar(0.25)), axis=-1), g.to(kind, around=2 ** -8, zero={"u8": 0, "i8": -128}[kind]), kind)
    y = g.through(g.op("MatMul", weight, v, name="product"), kind=kind)
    y = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(0, 0, width))
    g.gives(g.op("MatMul", y, g.weights(width, 20, axis=1), name="last"))


@products(fused=("product",))
def product_that_is_scaled(g):
    x, y = g.through(g.input(5, 40)), g.through(g.input(40, 30))
    y = g.through(g.op("Mul", g.op("MatMul", x, y, name="product"), g.scalar(0.125)))
    g.gives(g.op("MatMul", y, g.weights(30, 7, axis=1)))


@products(bytes_=2)
def product_and_a_sum(g):
    """What is added is added to floats."""
    y = g.op("MatMul", g.through(g.input(5, 40)), g.through(g.input(40, 30)), name="product")
    y = g.through(g.op("Add", y, g.through(g.input(5, 30))))
    g.gives(g.op("MatMul", y, g.weights(30, 7, axis=1)))


@products(fused=("product",))
def product_with_itself(g):
    x = g.through(g.input(3, 9, 40))
    y = g.through(g.op("MatMul", x, g.op("Transpose", x, perm=[0, 2, 1]), name="product"))
    g.gives(g.op("MatMul", y, g.weights(9, 7, axis=1)))


@products(fused=("product",))
def product_that_turns_the_first(g):
    x = g.op("Transpose", g.through(g.input(3, 40, 9)), perm=[0, 2, 1])
    y = g.through(g.op("MatMul", x, g.through(g.input(3, 40, 12)), name="product"))
    g.gives(g.op("MatMul", y, g.weights(12, 7, axis=1)))


@not_a_product("operands_differ")
def product_of_one(g):
    g.gives(g.op("MatMul", g.through(g.input(5, 40)), g.input(40, 30), name="product"))


@not_a_product("operands_differ")
def product_of_16_bits(g):
    x = g.through(g.input(5, 40), (g.scale(2 ** -9), g.point("i16", 0)), "i16")
    g.gives(g.op("MatMul", x, g.through(g.input(40, 30)), name="product"))


@not_a_product("operands_differ", exact=(False,))
def product_of_a_scale_per_row(g):
    scale, zero = g.scale(2 ** -5, 5), g.constant(np.zeros(5, np.uint8))
    x = g.op("DequantizeLinear", g.op("QuantizeLinear", g.input(5, 40), scale, zero, axis=0), scale, zero, axis=0)
    g.gives(g.op("MatMul", x, g.through(g.input(40, 30)), name="product"))


@not_a_product("operands_differ", exact=(True,))
def product_with_a_zero_point_of_the_run(g):
    x = g.op("Clip", g.input(5, 40), g.scalar(-40.0), g.scalar(215.0))
    q, scale, zero = g.op("DynamicQuantizeLinear", g.op("Concat", x, g.constant(np.array([[-40, 215] * 20], np.float32)), axis=0), outputs=3)
    b = g.quantize(g.input(40, 30), g.to(zero=7))
    g.output(g.op("MatMulInteger", q, b, zero, g.point("u8", 7), name="product"), dtype=P.INT32)


@not_a_product("many_products", exact=(True,))
def product_of_too_many(g):
    y = g.op("MatMul", g.through(g.input(1, 33026)), g.through(g.input(33026, 2)), name="product")
    g.output(g.op("Round", g.op("Mul", y, g.scalar(2 ** -8))))


# ---- sizes and precision ----

@families(case(("integer", "layer", APPLIED), ("byte_sum", "add", APPLIED), ops=dict(conv=2), flags=("--dim", "N=1..5"),
               sizes=({"N": 1}, {"N": 2}, {"N": 5})), batches=dict(n="N"))
@families(case(("integer", "layer", APPLIED), ("byte_sum", "add", APPLIED), ops=dict(conv=2), flags=("--dim", "H=3..60", "--dim", "N=2"),
               sizes=({"N": 2, "H": 3}, {"N": 2, "H": 17}, {"N": 2, "H": 60})), heights=dict(n="N", h="H"))
def any_of_several(g, n, h=9):
    x = g.through(g.input(n, 8, h, 10))
    y = g.through(g.convolved(x, 8, 8, pads=[1] * 4))
    behind_sum(g, g.op("Add", y, x, name="add"))


@on_bytes("layer", ops=dict(linear=1), flags=("--dim", "N=1..5"), sizes=({"N": 1}, {"N": 4}))
def any_of_several_rows(g):
    x = g.through(g.input("N", 5, 40))
    g.gives(g.op("MatMul", x, g.weights(40, 9), name="layer"))


@families(on_bytes("layer", "behind", ops=dict(conv=2), exact=(True,), flags=("--dtype", "bf16")), dtype=dict())
@families(on_bytes("layer", "behind", ops=dict(conv=2), exact=(True,), flags=("--weights", "bf16")), weights=dict())
def in_bf16(g):
    """Layers on integers stay as they are; the other's weight, small numbers times a power of two, is the same in bf16."""
    x, w = g.input(1, 8, 9, 10), g.constant(g.random.integers(-8, 9, (8, 8, 3, 3)).astype(np.float32) / 64)
    x = g.op("QuantizeLinear", x, g.scalar(2 ** -4), g.point("u8", 128))
    x = g.op("DequantizeLinear", x, g.scalar(2 ** -4), g.point("u8", 128))
    y = g.convolved(x, 8, 12, pads=[1] * 4)
    behind(g, y, 12)
    g.gives(g.op("Conv", x, w))


# ---- checks ----

def steps_on_bytes(file):
    """How many steps of which operator have a weight in i8 and read u8, or multiply two in u8, and how many tensors hold
    bytes; or what is wrong with one."""
    found = cli_json("inspect", file)
    tensors, steps = found["tensors"], {}
    for node in found["entries"][0]["nodes"]:
        kinds = [tensors[i]["dtype"] if i >= 0 else None for i in node["inputs"]]
        if len(kinds) > 1 and kinds[1] == "i8" and tensors[node["inputs"][1]]["weight"] >= 0:
            if kinds[0] != "u8":
                return f"{node['name']} multiplies {kinds[0]} by i8", 0
            steps[node["op"]] = steps.get(node["op"], 0) + 1
        if node["op"] == "matmul" and kinds == ["u8", "u8"]:
            steps["matmul"] = steps.get("matmul", 0) + 1
    return steps, sum(t["dtype"] == "u8" for t in tensors)


def fits(row, wanted):
    return row["pass"] == wanted[0] and wanted[1] in row["site"].split("+")


def verdicts_wrong(rows, expected):
    for wanted in expected:
        have = [row["reason"] for row in rows if fits(row, wanted)]
        if have != ([] if wanted[2] is None else [wanted[2]]):
            return f"{wanted[0]} of {wanted[1]}: {have}, not {wanted[2] or 'applied'!r}"
    return None


def outputs_wrong(g, got, expected):
    """None where all agree: of scales that are powers of two exactly; else integers within one step, floats within what the
    rounding of their sums allows."""
    for name, array in expected.items():
        have = got[name]
        if have.shape != array.shape or have.dtype != array.dtype:
            return f"{name}: {have.dtype} {have.shape}, expected {array.dtype} {array.shape}"
        if array.dtype.kind in "iu" and array.size > 20 and len(np.unique(array)) < 6:
            return f"the test's graph is wrong, {name} is {np.unique(array)} throughout"
        apart = np.abs(have.astype(np.float64) - array.astype(np.float64))
        allowed = 0 if g.exact else g.bound.get(name, 1 if array.dtype.kind in "iu" else 1e-6)
        steps = 0 if g.exact or name in g.bound else 1 + array.size // 50  # these may be another step away
        if not apart.max() <= allowed or (array.dtype.kind in "iu" and np.count_nonzero(apart) > steps):
            return f"{name}: {apart.max()} off, {np.count_nonzero(apart)} of {array.size} differ"
    return None


def ops_of(expected, ops):
    if ops is None:
        return {"conv": len({site for step, site, reason in expected if step == "integer" and reason == APPLIED})}
    return ops


def why_wrong(bench, g, flags, sizes):
    model = g.model()
    done = bench.convert(model, *flags, "--golden", "1")
    if done.returncode != 0:
        return f"convert: exit {done.returncode}\n{done.stderr}"
    if why := bench.verify():
        return why
    for values in sizes:
        feeds = g.feeds(values)
        try:
            expected = expected_outputs(model, feeds)
        except Exception as error:  # its classes are not public
            return f"the test's graph is wrong, ONNX Runtime refuses it: {error}"
        got = bench.run(feeds)
        why = got if isinstance(got, str) else outputs_wrong(g, got, expected)
        why = why or bench.compare_bits(feeds, ways())
        if why:
            return f"{values or 'fixed sizes'}: {why}"
    return None


def ways():
    """Every kernel level, with one thread and two in turn, and the last with both."""
    return variants()[::2] + variants()[1:2] + variants()[-1:]


def check(tap, bench, title, fill, exact, expected, flags, sizes, ops, bytes_, opset):
    g = Layers(exact, opset, sizes[0])
    fill(g)
    why = why_wrong(bench, g, flags, sizes)
    if not tap.ok(f"{title}: agrees with ONNX Runtime", why is None, why):
        return
    why = verdicts_wrong(bench.ledger(), expected)
    steps, held = steps_on_bytes(bench.ipex)
    if not why and (expected or ops is not None):
        wanted = ops_of(expected, ops)
        why = None if steps == wanted and held >= (bytes_ or 0) else f"steps on bytes {steps}, expected {wanted}; {held} tensors of bytes"
    tap.ok(f"{title}: is on integers, or says why not", not why, why, *[f"{r['pass']} {r['site']}: {r['reason']}" for r in bench.ledger()
           if r["pass"] in ("integer", "byte_products", "requantise", "byte_sum")])


def main(only=""):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for title, *rest in CASES:
            if only in title:
                check(tap, bench, title, *rest)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
