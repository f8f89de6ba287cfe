#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Linear layers whose weights are numbers of 4 or 8 bits in blocks keep them, and so do tables of which rows are looked up: a file has what the model has, in other bytes, and gives bit for bit what the same model with floats gives. With inputs rounded to i8 it gives what the definition in
format/ops.inc says, and about what ONNX Runtime gives, which rounds them too."""
import collections
import functools
import itertools
import os
import pathlib
import sys
import tempfile

import numpy as np
import onnx

from small_graphs import Bench, Graph, expected_outputs  # also finds ipextest
from ipextest import CLI, Tap, cli_json, command
import format_reader

P = onnx.TensorProto
CASES = []


class Blocks(Graph):
    """floats: the weights are given as the f32 that they stand for. Both draw the same numbers."""
    ir_version, domains = 10, ("com.microsoft",)

    def __init__(self, floats=False, scales_bf16=False):
        super().__init__(opset=21)
        self.floats, self.layers, self.scales_bf16 = floats, [], scales_bf16

    def named(self, *names):
        for name in names:
            self.output(self.op("Identity", name, out=f"y{len(self.outputs)}"))

    def parts(self, n, k, block, bits=4, zero=True):
        """q [n][k], scale and zero [n][blocks], and the f32 that they stand for."""
        blocks = -(-k // block)
        q = self.random.integers(0, 2 ** bits, (n, k))
        scale = self.random.uniform(0.16, 1.6, (n, blocks)).astype(np.float32) / np.float32(2 ** max(bits, 4))
        if self.scales_bf16:
            scale = (scale.view(np.uint32) & 0xffff0000).view(np.float32)
        points = self.random.integers(0, 2 ** bits, (n, blocks)) if zero else np.full((n, blocks), 2 ** (bits - 1))
        spread = lambda p: np.repeat(p, block, axis=1)[:, :k]
        return q, scale, points, (q - spread(points)).astype(np.float32) * spread(scale)

    def nbits(self, x, k, n, block=32, bits=4, zero=None, bias=False, level=0, name=None, scattered=False):
        """MatMulNBits. zero: None, "packed", "f32", or "half", which is no whole number. scattered: which block each number is of is
        given, and another one than that beside it."""
        q, scale, points, w = self.parts(n, k, block, bits, zero)
        order = self.random.permutation(q.shape[1]) % scale.shape[1] if scattered else None
        if scattered:
            w = (q - points[:, order[:k]]).astype(np.float32) * scale[:, order[:k]]
        if zero == "half":
            points = points + 0.5
            w = (q - np.repeat(points, block, axis=1)[:, :k]).astype(np.float32) * np.repeat(scale, block, axis=1)[:, :k]
        add = self.random.standard_normal(n).astype(np.float32) if bias else None
        name = name or f"layer{len(self.layers)}"
        known = block <= 256 and (bits < 8 or zero in (None, "packed")) and not scattered  # to ONNX Runtime, which forgets zero points of those
        self.layers.append(collections.namedtuple("Layer", "q scale points w bias block known")(q, scale, points, w, add, block, known))
        if self.floats:
            y = self.op("MatMul", x, self.constant(np.ascontiguousarray(w.T)), name=name)
            return self.op("Add", y, self.constant(add)) if bias else y
        width = -(-k // block) * block
        operands = [self.constant(packed(np.pad(q, ((0, 0), (0, width - k))), bits).reshape(n, -1, block * bits // 8)), self.constant(scale.ravel())]
        operands += [self.constant(packed(points, bits).ravel() if zero == "packed" else points.astype(np.float32).ravel()) if zero else ""]
        operands += ["" if order is None else self.constant(order.astype(np.int32)), self.constant(add)] if bias else []
        return self.op("MatMulNBits", x, *operands, name=name, domain="com.microsoft", K=k, N=n, bits=bits, block_size=block,
                       accuracy_level=level)

    def numbers(self, values, signed, bits=4):
        name = f"numbers{len(self.constants)}"
        values = values - 2 ** (bits - 1) if signed else values
        if bits == 8:
            return self.constant(values.astype(np.int8 if signed else np.uint8), name)
        self.constants.append(onnx.helper.make_tensor(name, P.INT4 if signed else P.UINT4, values.shape, values.flatten().tolist()))
        return name

    def dequantised(self, n, k, block=32, signed=True, zero=True, kn=False, bits=4):
        """A weight [n][k], or [k][n], by DequantizeLinear. block None: a scale for each output."""
        q, scale, points, w = self.parts(n, k, block or k, bits, zero=zero or not signed)
        points = points if zero else np.full_like(points, 2 ** (bits - 1) if signed else 0)
        w = (q - np.repeat(points, block or k, axis=1)[:, :k]).astype(np.float32) * np.repeat(scale, block or k, axis=1)[:, :k]
        turn = (lambda a: np.ascontiguousarray(a.T)) if kn else (lambda a: a)
        if self.floats:
            return self.constant(turn(w))
        of_k, flat = (0 if kn else 1), (lambda a: turn(a) if block else a.ravel())
        operands = [self.numbers(turn(q), signed, bits), self.constant(flat(scale))]
        operands += [self.numbers(flat(points), signed, bits)] if zero else []
        how = dict(axis=of_k, block_size=block) if block else dict(axis=1 - of_k)
        return self.op("DequantizeLinear", *operands, **how)

    def rows(self, *dims, kind="u8", bits=4, zero=True, block=32, rows=500, width=320):
        """Some of a table's, by GatherBlockQuantized."""
        q, scale, points, _ = self.parts(rows, width, block, bits, zero)
        points = points if zero or kind == "u8" else np.full_like(points, 8 if kind == "int4" else 0)
        spread = lambda p: np.repeat(p, block, axis=1)[:, :width]
        places = self.op("Mul", self.input(*dims, dtype=P.INT64), self.ints(37))
        if self.floats:
            return self.op("Gather", self.constant((q - spread(points)).astype(np.float32) * spread(scale)), places)
        put = lambda values: self.constant(packed(values, bits)) if kind == "u8" else self.numbers(values, kind == "int4")
        operands = [put(q), places, self.constant(scale)] + ([put(points)] if zero else [])
        return self.op("GatherBlockQuantized", *operands, domain="com.microsoft", bits=bits, block_size=block, gather_axis=0, quantize_axis=1)


def packed(values, bits):
    """Rows of numbers, the first in the lowest bits of a byte."""
    per_byte = 8 // bits
    values = np.pad(values, ((0, 0), (0, -values.shape[1] % per_byte))).reshape(len(values), -1, per_byte)
    return (values << (np.arange(per_byte) * bits)).sum(2).astype(np.uint8)


def case(sizes=(), flags=(), bits=False, twin=True, **steps):
    """steps: how many of these operators the file has, linear none where nothing is said. bits: all levels and thread counts
    give the same. twin: so does the model with floats."""
    def mark(function):
        CASES.append((function.__name__.replace("_", " "), function, sizes, flags, bits, twin, dict(linear=0) | steps))
        return function
    return mark


def each(rows, **steps):
    """The function is a case for every row of its further arguments."""
    def mark(function):
        for row in rows:
            part = functools.partial(function, **row)
            part.__name__ = f"{function.__name__}: " + ", ".join(f"{key} {value}" for key, value in row.items())
            case(**steps or dict(linear_blocks=1))(part)
        return function
    return mark


# ---- MatMulNBits ----

@each([dict(k=64, n=7, block=16), dict(k=96, n=20, block=32, zero="packed"), dict(k=256, n=16, block=128, zero="packed"),
       dict(k=72, n=5, block=32, bias=True), dict(k=600, n=24, block=512, zero="packed"), dict(k=600, n=33, block=1024),
       dict(k=40, n=17, block=64, zero="packed"), dict(k=16, n=1, block=16), dict(k=264, n=16, block=128, zero="f32", bias=True),
       dict(k=64, n=7, block=32, bits=2), dict(k=100, n=7, block=32, bits=2, zero="packed"), dict(k=64, n=7, block=32, bits=2, zero="f32"),
       dict(k=64, n=7, block=16, bits=8), dict(k=96, n=20, block=32, bits=8, zero="packed"), dict(k=70, n=5, block=32, bits=8, bias=True),
       dict(k=600, n=33, block=512, bits=8, zero="packed"), dict(k=264, n=16, block=128, bits=8, zero="f32", bias=True)])
def MatMulNBits(g, **how):
    g.named(g.nbits(g.input(3, how["k"]), **how))


@case(linear=1)
def zero_points_that_are_no_numbers_are_floats(g):
    g.named(g.nbits(g.input(3, 64), 64, 7, zero="half"))


@case(linear=1)
def zero_points_of_8_bits_that_are_no_numbers_are_floats(g):
    g.named(g.nbits(g.input(3, 64), 64, 7, zero="half", bits=8))


@case(linear_blocks=1, sizes=[dict(b=1, s=1), dict(b=2, s=5), dict(b=3, s=17)], flags=("--dim", "b=1..3", "--dim", "s=1..17"), bits=True)
def rows_of_any_number(g):
    g.named(g.nbits(g.input("b", "s", 200), 200, 37, zero="packed", bias=True))


@each([dict(zero="packed"), dict(zero="packed", bits=2), dict(bits=8)], linear=1, linear_blocks=0)
def scattered_blocks_are_floats(g, **how):
    g.named(g.nbits(g.input(3, 72), 72, 7, block=16, bias=True, scattered=True, **how))


@case(linear_blocks=1, sizes=[dict(s=1), dict(s=128), dict(s=250), dict(s=300)], flags=("--dim", "s=1..300"), twin=False)
def rows_beyond_half_of_L2(g):  # which are rounded in parts, of one L2 or another
    g.named(g.nbits(g.input("s", 4096), 4096, 20, level=4))


@case(linear_blocks=1, sizes=[dict(b=1, s=1), dict(b=2, s=5), dict(b=3, s=17)], flags=("--dim", "b=1..3", "--dim", "s=1..17"), bits=True)
def rows_of_any_number_times_8_bits(g):
    g.named(g.nbits(g.input("b", "s", 200), 200, 37, zero="packed", bias=True, bits=8))


@case(linear_blocks=2)
def one_weight_of_two_layers(g):
    y = g.nbits(g.input(2, 64), 64, 64)
    node = onnx.NodeProto()
    node.CopyFrom(g.nodes[-1])
    node.name, node.input[0], node.output[0] = "again", g.op("Relu", y), "z"
    g.nodes.append(node)
    g.named("z")


# ---- DequantizeLinear ----

@each([dict(bits=bits, signed=signed, zero=zero, kn=kn, block=block) for bits in (4, 8) for signed in (True, False) for zero in (True, False)
       for kn in (True, False) for block in (16, 32, None)])
def DequantizeLinear(g, kn, **how):
    g.named(g.op("Gemm", g.input(4, 80), g.dequantised(19, 80, kn=kn, **how), transB=int(not kn)))


@case(linear_blocks=4)
def a_transposed_weight(g):
    for kn, bits in (False, 4), (True, 4), (False, 8), (True, 8):
        w = g.op("Transpose", g.dequantised(19, 80, kn=kn, bits=bits), perm=[1, 0])
        g.named(g.op("Gemm", g.input(4, 80), w, g.weight(19), transB=int(kn)))


@case(linear_blocks=2)
def blocks_of_odd_sizes(g):
    """48 as it is, 320 as 160."""
    g.named(g.op("MatMul", g.input(3, 100), g.dequantised(9, 100, 48, kn=True)))
    g.named(g.op("MatMul", g.input(3, 640), g.dequantised(9, 640, 320, kn=True)))


@case(linear=4)
def blocks_that_no_kernel_takes(g):
    """Of 24, and of outputs."""
    for bits in 4, 8:
        g.named(g.op("MatMul", g.input(3, 96), g.dequantised(9, 96, 24, kn=True, bits=bits)))
        g.named(g.op("MatMul", g.input(3, 9), g.dequantised(9, 96, 32, bits=bits)))


@case(linear_blocks=2)
def one_scale_of_all(g):
    for bits in 4, 8:
        q = g.random.integers(0, 2 ** bits, (33, 300))
        w = ((q - 2 ** (bits - 1)).astype(np.float32) * np.float32(0.04)).T
        w = g.constant(np.ascontiguousarray(w)) if g.floats else g.op("DequantizeLinear", g.numbers(q.T, True, bits), g.scalar(0.04))
        g.named(g.op("MatMul", g.input(3, 300), w))


@case(linear=0, linear_blocks=0, conv=1)
def kernels_are_floats(g):
    w = g.random.integers(-128, 128, (6, 4, 3, 3))
    scale = g.random.uniform(0.01, 0.1, 6).astype(np.float32)
    real = w.astype(np.float32) * scale[:, None, None, None]
    w = g.constant(real) if g.floats else g.op("DequantizeLinear", g.constant(w.astype(np.int8)), g.constant(scale), axis=0)
    g.named(g.op("Conv", g.input(1, 4, 8, 8), w))


# ---- what passes make of such layers ----

@case(linear_blocks=1, bits=True)
def merged(g):
    x = g.input(5, 64)
    parts = [g.nbits(x, 64, n, zero=zero, bias=bias) for n, zero, bias in ((20, None, False), (33, "packed", True), (7, "f32", False))]
    g.named(*(g.op("Exp", y) for y in parts))


@case(linear_blocks=1, bits=True)
def merged_8_bits(g):
    """Also by another operator: blocks are as long."""
    x = g.input(5, 64)
    parts = [g.nbits(x, 64, n, zero=zero, bias=bias, bits=8) for n, zero, bias in ((20, None, False), (33, "packed", True))]
    parts.append(g.op("MatMul", x, g.dequantised(7, 64, kn=True, bits=8)))
    g.named(*(g.op("Exp", y) for y in parts))


@case(linear_blocks=3, linear=1)
def not_merged_with_others(g):
    """Blocks of other sizes, other bits, or floats."""
    x = g.input(5, 64)
    parts = g.nbits(x, 64, 20), g.nbits(x, 64, 20, block=16), g.nbits(x, 64, 20, bits=8), g.op("MatMul", x, g.weight(64, 20))
    g.named(*(g.op("Neg", y) for y in parts))


@case(linear_blocks=2, pointwise=0)
def residual_and_activation(g):
    x = g.input(5, 64)
    y = g.op("Relu", g.nbits(x, 64, 80, bias=True))
    y = g.op("Add", g.nbits(y, 80, 64, block=16, zero="packed"), x)
    g.named(g.op("Relu", y))


@case(linear_blocks=1, pointwise=0)
def a_factor_behind(g):
    """A power of two, which changes no bit."""
    y = g.nbits(g.input(5, 64), 64, 20, bias=True)
    g.named(g.op("Mul", y, g.scalar(0.125)))


@case(linear_blocks=1, pointwise=1, twin=False)
def factors_before(g):
    """They stay where they are, while floats take them."""
    g.named(g.nbits(g.op("Mul", g.input(5, 64), g.positive(64)), 64, 20))


@case(linear_blocks=1, transpose=2, twin=False)
def a_flattened_image(g):
    """Its transpose is a step, besides that of the picture, while columns of floats are put in another order."""
    y = g.op("Relu", g.conv(g.input(1, 3, 9, 9), 3, 8))
    g.named(g.nbits(g.op("Flatten", y), 392, 10, block=16))


# ---- tables ----

@each([dict(kind=kind, zero=False, block=block) for kind in ("u8", "int4", "uint4") for block in (32, 64)], gather=2)
@each([dict(kind=kind, zero=True, block=block) for kind in ("u8", "int4", "uint4") for block in (32, 64)], gather=3)
def GatherBlockQuantized(g, **how):
    g.named(g.rows(2, 3, **how))


@each([dict(bits=bits, zero=False, block=block) for bits in (2, 8) for block in (16, 64)], gather=2)
@each([dict(bits=bits, zero=True, block=block) for bits in (2, 8) for block in (16, 64)], gather=3)
def GatherBlockQuantized_of_bytes(g, **how):
    g.named(g.rows(7, **how))


@case(gather=1, pointwise=0)
def tables_whose_last_block_is_cut_are_floats(g):
    g.named(g.rows(7, width=330))


@case(gather=1, pointwise=0)
def small_tables_are_floats(g):
    g.named(g.rows(7, rows=200))


@case(gather=3, sizes=[dict(b=1, s=1), dict(b=2, s=5)], flags=("--dim", "b=1..3", "--dim", "s=1..17"), bits=True)
def any_number_of_rows(g):
    g.named(g.rows("b", "s"))


def looked_up(g, w):
    return g.op("Gather", w, g.op("Mul", g.input(2, 3, dtype=P.INT64), g.ints(37)))


@each([dict(bits=bits, signed=signed, zero=False, block=block) for bits in (4, 8) for signed in (True, False) for block in (32, None)], gather=2)
@each([dict(bits=bits, signed=signed, zero=True, block=block) for bits in (4, 8) for signed in (True, False) for block in (32, None)], gather=3)
def Gather_of_DequantizeLinear(g, **how):
    g.named(looked_up(g, g.dequantised(500, 320, **how)))


@case(linear_blocks=1, gather=3)
def a_table_that_is_a_weight_too(g):
    w = g.dequantised(500, 320, bits=8)
    g.named(looked_up(g, w), g.op("MatMul", g.input(3, 320), g.op("Transpose", w, perm=[1, 0])))


def norm(g, x, width):
    mean = g.op("ReduceMean", g.op("Mul", x, x), g.ints(-1))
    return g.op("Mul", g.op("Div", x, g.op("Sqrt", g.op("Add", mean, g.scalar(1e-5)))), g.positive(width))


def attention(g, q, k, v, batch, count, width):
    heads = lambda y, perm: g.op("Transpose", g.op("Reshape", y, g.ints(batch, -1, count, width // count)), perm=perm)
    scores = g.op("MatMul", heads(q, [0, 2, 1, 3]), heads(k, [0, 2, 3, 1]))
    p = g.op("Softmax", g.op("Mul", scores, g.scalar((width // count) ** -0.5)), axis=-1)
    y = g.op("MatMul", p, heads(v, [0, 2, 1, 3]))
    return g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(batch, -1, width))


def decoder(g, width=64, inner=160, level=0, dims=(2, 7), bits=4):
    x = g.input(*dims, width)
    layer = functools.partial(g.nbits, zero="packed", level=level, bits=bits)
    y = norm(g, x, width)
    q, k, v = (layer(y, width, width, name=name) for name in "qkv")
    x = g.op("Add", layer(attention(g, q, k, v, dims[0], 4, width), width, width), x)
    y = norm(g, x, width)
    gate, up = (layer(y, width, inner, name=name) for name in ("gate", "up"))
    y = g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), up)
    g.named(g.op("Add", layer(y, inner, width), x))


@case(linear_blocks=5, attention=1, layer_norm=2, pointwise=1, bits=True)
def layers_of_a_decoder(g):
    """Queries, keys and values are one layer, both residuals are added where layers store, so are SiLU and the norms' factors part
    of others."""
    decoder(g)


@case(linear_blocks=5, attention=1, layer_norm=2, pointwise=1, bits=True)
def layers_of_a_decoder_of_8_bits(g):
    decoder(g, bits=8)


@case(linear_blocks=5, attention=1, layer_norm=2, cast=0, flags=("--weights", "bf16"))
def beside_weights_of_bf16(g):
    decoder(g)


# ---- checks ----

def steps_of(bench):
    return collections.Counter(node["op"] for node in cli_json("inspect", bench.ipex)["entries"][0]["nodes"])


def differing(got, other):
    return next((name for name in got if got[name].tobytes() != other[name].tobytes()), None)


def check_case(tap, bench, other, each):
    title, fill, sizes, flags, bits, twin, steps = each
    g, floats = Blocks(), Blocks(floats=True)
    fill(g), fill(floats)
    known = all(layer.known for layer in g.layers)
    why = bench.right(g, "--golden", "2", *flags, sizes=sizes) if known else bench.convert(g.model()).stderr
    if not tap.ok(f"{title}: agrees with ONNX Runtime and its known answers", not why, why):
        return
    here = steps_of(bench)
    tap.ok(f"{title}: the plan has {', '.join(f'{n} {op}' for op, n in steps.items())}", all(here[op] == n for op, n in steps.items()),
           dict(here), *bench.ledger())
    feeds = g.feeds((sizes or [{}])[-1])
    if twin:
        done = other.convert(floats.model(), *(flag for flag in flags if flag != "bf16" and flag != "--weights"))
        got, expected = bench.run(feeds), done.stderr or other.run(feeds)
        wrong = got if isinstance(got, str) else expected if isinstance(expected, str) else differing(got, expected)
        tap.ok(f"{title}: the same bits as with floats", not wrong, wrong)
    if bits:
        why = bench.compare_bits(feeds)
        tap.ok(f"{title}: the same bits at all levels", not why, why)


def check_bytes(tap, bench):
    """What stands in the file is what stood in the model, and is small."""
    for bits, zero, most in (4, None, 5.1), (4, "packed", 5.4), (8, None, 9.1), (8, "packed", 9.4):
        g, title = Blocks(), f"{bits} bits, zero points {zero}"
        g.named(g.nbits(g.input(1, 1024), 1024, 1000, zero=zero, bits=bits))
        bench.convert(g.model())
        layer = g.layers[0]
        per_weight = sum(weight["bytes"] for weight in cli_json("inspect", bench.ipex)["weights"]) * 8 / layer.q.size
        tap.ok(f"{title}: at most {most} bits per weight", per_weight <= most, per_weight)
        arrays = {name.split(".")[-1] if "." in name else "w": array for name, array in weights(bench.ipex)}
        q, halves = arrays["w"], arrays["w"].reshape(1000, -1, 4)
        if bits == 4:
            q = np.concatenate([halves & 15, halves >> 4], axis=2).reshape(1000, -1)
        tap.ok(f"{title}: the numbers are those of the model", np.array_equal(q, layer.q))
        columns = lambda a: a.transpose(0, 2, 1).reshape(-1, a.shape[1])
        tap.ok(f"{title}: so are the scales, and zeros stand behind them",
               np.array_equal(columns(arrays["scale"])[:1000], layer.scale) and not columns(arrays["scale"])[1000:].any())
        tap.ok(f"{title}: so are these", np.array_equal(columns(arrays["zero"])[:1000], layer.points) if zero else "zero" not in arrays,
               list(arrays))


def scale_weights(bench):
    return [weight for weight in cli_json("inspect", bench.ipex)["weights"] if weight["name"].endswith(".scale")]


def finds_wrong_answer(bench, model, feeds, got):
    """verify, where the stored answer is 1e-3 of its largest magnitude off."""
    x, y = next(iter(feeds.values())), next(iter(got.values()))
    folder = bench.answers(input_0=x, output_0=y + np.float32(1e-3) * np.abs(y).max())
    return bench.convert(model, "--golden-from", folder).returncode == 0 and command(CLI, "verify", bench.ipex).returncode == 1


def check_scales(tap, bench):
    """Scales that are numbers of bf16 are stored as such, in a layer all or none; at every level and number of rows the bits are those
    of the same scales in f32."""
    for bits, zero, level, rows in itertools.product((4, 8), (None, "packed"), (0, 4), (1, 5, 13)):
        g = Blocks(scales_bf16=True)
        g.named(g.nbits(g.input(rows, 200), 200, 150, zero=zero, bits=bits, level=level))
        title = f"scales of bf16, {bits} bits, zero points {zero}, level {level}, {rows} rows"
        why = bench.right(g, "--golden", "1", bits=True)
        tap.ok(f"{title}: agrees with ONNX Runtime, the same bits at all levels", not why, why)
        halved = scale_weights(bench)
        tap.ok(f"{title}: are stored in bf16", [weight["dtype"] for weight in halved] == ["bf16"], halved)
        feeds = g.feeds()
        got, model = bench.run(feeds), g.model()
        tap.ok(f"{title}: verify is strict where nothing is rounded", level == 4 or finds_wrong_answer(bench, model, feeds, got))
        layer = next(node for node in model.graph.node if node.op_type == "MatMulNBits")
        scale = next(constant for constant in model.graph.initializer if constant.name == layer.input[2])
        values = onnx.numpy_helper.to_array(scale).copy()
        values[-1] = np.nextafter(values[-1], np.float32(9))
        scale.CopyFrom(onnx.numpy_helper.from_array(values, scale.name))
        bench.convert(model)
        other, full = bench.run(feeds), scale_weights(bench)
        tap.ok(f"{title}: one that is none has all in f32", [weight["dtype"] for weight in full] == ["f32"], full)
        same = [np.array_equal(got[name][..., :149].view(np.uint32), other[name][..., :149].view(np.uint32)) for name in got]
        tap.ok(f"{title}: which give the same bits, but for that output", all(same), same)


def check_tables(tap, bench):
    """A table takes a byte for each number, besides scales and zero points."""
    for bits, zero, most in (4, True, 1.2), (4, False, 1.15), (8, True, 1.2):
        g = Blocks()
        g.named(g.rows(7, bits=bits, zero=zero))
        bench.convert(g.model())
        per_number = sum(weight["bytes"] for weight in cli_json("inspect", bench.ipex)["weights"]) / (500 * 320)
        tap.ok(f"table of {bits} bits, zero points {zero}: at most {most} bytes per number", per_number <= most, per_number)


def weights(path):
    """Name and array of every weight of a file, as the second reader has them."""
    file = format_reader.Model(path)
    return [(weight["name"], file.weight(index)) for index, weight in enumerate(file.model["weights"])]


def rounded_layer(x, layer, block):
    """y with x rounded to i8 block by block, in doubles but for the rounding."""
    k = x.shape[-1]
    y = np.zeros((*x.shape[:-1], len(layer.q))) + (0 if layer.bias is None else layer.bias)
    spread = lambda p: np.repeat(p, layer.block, axis=1)[:, :k]
    centred, scale = layer.q - spread(layer.points), spread(layer.scale)
    for at in range(0, k, block):
        part = x[..., at:at + block]
        top = np.abs(part).max(axis=-1, keepdims=True)
        inverse = np.divide(np.float32(127), top, out=np.zeros_like(top), where=top > 0)
        q = np.clip(np.rint(part * inverse), -128, 127).astype(np.int64)
        y += (q @ centred[:, at:at + block].T) * scale[:, at].astype(np.float64) * (top / np.float32(127))
    return y


def off(got, expected):
    return float(np.linalg.norm(got - expected) / np.linalg.norm(expected))


def check_rounded(tap, bench):
    for how in dict(k=96, n=20, block=32), dict(k=72, n=7, block=16, zero="packed", bias=True), dict(k=600, n=33, block=128, zero="packed"), \
            dict(k=600, n=33, block=256), dict(k=40, n=17, block=64), dict(k=64, n=16, block=32, bits=2, zero="packed"), \
            dict(k=96, n=20, block=32, bits=8), dict(k=70, n=7, block=16, bits=8, zero="packed", bias=True), \
            dict(k=600, n=33, block=256, bits=8, zero="packed"):
        g, title = Blocks(), f"rounded to i8: {', '.join(f'{key} {value}' for key, value in how.items())}"
        g.named(g.nbits(g.input(5, how["k"]), level=4, **how))
        done = bench.convert(g.model(), "--golden", "2")
        feeds = g.feeds()
        feeds["in0"][1] = 0
        feeds["in0"][2, :16] *= 1e4
        got = done.stderr or bench.run(feeds)
        if not tap.ok(f"{title}: converts and runs", not isinstance(got, str), got):
            continue
        ints = cli_json("inspect", bench.ipex)["entries"][0]["nodes"][0]["ints"]
        tap.ok(f"{title}: says so", ints[3] == 1, ints)
        wrong = off(got["y0"], rounded_layer(feeds["in0"], g.layers[0], ints[2]))
        tap.ok(f"{title}: is what the operator is defined to be", wrong <= 1e-5, wrong)
        wrong = off(got["y0"], expected_outputs(g.model(), feeds)["y0"])
        tap.ok(f"{title}: within 2 % of ONNX Runtime", wrong <= 0.02, wrong)
        why = bench.compare_bits(feeds) or bench.verify()
        tap.ok(f"{title}: the same bits at all levels, and its known answers", not why, why)


def check_activations(tap, bench):
    """--activations says what the model does not, or otherwise."""
    for level, bits in (0, 4), (4, 4), (0, 8), (4, 8):
        for given in (), ("--activations", "f32"), ("--activations", "i8"):
            g, title = Blocks(), f"accuracy_level {level} of {bits} bits {' '.join(given)}"
            decoder(g, level=level, bits=bits)
            done = bench.convert(g.model(), *given, "--golden", "1")
            expected = int(given[1] == "i8" if given else level == 4)
            shown = cli_json("inspect", bench.ipex) if done.returncode == 0 else {"entries": [{"nodes": []}], "options": done.stderr}
            flags = [node["ints"][3] for node in shown["entries"][0]["nodes"] if node["op"] == "linear_blocks"]
            tap.ok(f"{title}: inputs are {'rounded' if expected else 'floats'}", flags == [expected] * 5, flags)
            tap.ok(f"{title}: the file says so", shown["options"] == " ".join(given), shown["options"])
            why = command(CLI, "inspect", bench.ipex, "--why", "blocks").stdout
            words = "its input rounded to i8 block by block" if expected else "its input as it is (--activations i8 would"
            tap.ok(f"{title}: and why", why.count(f"numbers of {bits} bits in blocks of 32, times {words}") == 5, why)
            feeds = g.feeds()
            wrong, most = off(bench.run(feeds)["y0"], expected_outputs(g.model(), feeds)["y0"]), 0.02 if expected == (level == 4) else 0.1
            tap.ok(f"{title}: within {most:.0%} of ONNX Runtime", wrong <= most, wrong)
            if not given:
                why = bench.verify()
                tap.ok(f"{title}: known answers are as the model says", not why, why)
    done = command(CLI, "convert", bench.onnx, "-o", bench.ipex, "--activations", "i4")
    tap.ok("--activations i4 is refused", done.returncode == 2 and "f32 or i8 is expected" in done.stderr, done.stderr)


def check_compare(tap, bench):
    """`compare` converts again as the file was."""
    g = Blocks()
    decoder(g, level=0)
    bench.convert(g.model(), "--activations", "i8")
    folder = bench.folder / "given"
    folder.mkdir()
    np.save(folder / "in0.npy", g.feeds()["in0"])
    here = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = command(CLI, "compare", bench.onnx, bench.ipex, "--inputs", folder, "--tolerance", "0.2", env=here)
    tap.ok("compare: agrees within a fifth", done.returncode == 0, done.stdout, done.stderr)
    done = command(CLI, "compare", bench.onnx, bench.ipex, "--inputs", folder, "--tolerance", "1e-6", env=here)
    tap.ok("compare: finds the first layer that departs", done.returncode == 1 and "MatMulNBits" in done.stdout, done.stdout, done.stderr)


def check_entries(tap, bench):
    """Two graphs of one model: their weights are there once."""
    g = Blocks()
    decoder(g)
    bench.convert(g.model())
    alone = cli_json("inspect", bench.ipex)["weights"]
    done = command(CLI, "convert", "--entry", f"a={bench.onnx}", "--entry", f"b={bench.onnx}", "-o", bench.ipex)
    both = cli_json("inspect", bench.ipex)["weights"]
    tap.ok("two entries share what they have", done.returncode == 0 and both == alone, done.stderr, both)


def check_bf16(tap, bench):
    """With --dtype bf16 such layers stay, on f32; attention takes bf16."""
    for bits in 4, 8:
        g = Blocks()
        decoder(g, width=128, inner=320, dims=(1, 300), bits=bits)
        done = bench.convert(g.model(), "--dtype", "bf16", "--golden", "1")
        why = done.stderr or bench.verify()
        tap.ok(f"--dtype bf16: of {bits} bits: converts, and gives its known answers", not why, why)
        here = steps_of(bench)
        tap.ok(f"--dtype bf16: the layers are on numbers of {bits} bits", here["linear_blocks"] == 5 and not here["linear"], dict(here))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as second:
        bench, other = Bench(folder), Bench(second)
        for each_case in CASES:
            check_case(tap, bench, other, each_case)
        check_bytes(tap, bench)
        check_scales(tap, bench)
        check_tables(tap, bench)
        check_rounded(tap, bench)
        check_activations(tap, bench)
        check_compare(tap, bench)
        check_entries(tap, bench)
        check_bf16(tap, bench)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
