#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ONNX has had since operator set 24, which ONNX Runtime knows in part or not at all, against the onnx package's own
evaluator, with the same bytes at every kernel level and thread count: Swish and SwiGLU, TensorScatter,
CausalConvWithState, LinearAttention, remainders of floats, the other order of SpaceToDepth."""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.reference

from small_graphs import Bench, Graph

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

I64 = onnx.TensorProto.INT64
NEWEST = 28
CASES = []


def case(flags=(), sizes=({},), feeds=None):
    """sizes: values of the symbols, one dict per run; feeds: changes them."""
    def mark(function):
        CASES.append((function, flags, sizes, feeds))
        return function
    return mark


@case()
def Swish(g):
    x = g.input(3, 40)
    g.output(g.op("Swish", x), g.op("Swish", x, alpha=1.702))


@case(["--dim", "n=1..4"], [{"n": 1}, {"n": 4}])
def SwiGLU(g):
    x = g.input("n", 24)
    g.output(g.op("SwiGLU", g.op("MatMul", x, g.weight(24, 40)), g.op("MatMul", x, g.weight(24, 40)), alpha=0.5))


@case()
def SpaceToDepth(g):
    x = g.input(2, 3, 4, 6)
    g.output(g.op("SpaceToDepth", x, blocksize=2), g.op("SpaceToDepth", x, blocksize=2, mode="CRD"))


@case(feeds=lambda feeds: feeds["in0"].__setitem__((0, slice(9)), [0, 1, 2, -1, -2, 4, -4, 1e-20, 7.5]))
def Mod_of_floats(g):
    x = g.op("Mul", g.input(3, 50), g.scalar(5))
    g.output(*[g.op("Mod", x, g.scalar(by), fmod=fmod) for by in (1, 2, -1, -4) for fmod in (0, 1)])


def scattered(g, dims, new, axis, first=True, dtype=np.int64, **attributes):
    operands = [g.input(*dims), g.input(*dims[:axis], new, *dims[axis + 1:])]
    if first:
        operands.append(g.input(dims[0], dtype=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), name="first"))
    g.output(g.op("TensorScatter", *operands, axis=axis - len(dims) if axis % 2 else axis, **attributes))


@case()
def TensorScatter_of_one(g):
    scattered(g, (2, 3, 8, 4), 1, 2)


@case()
def TensorScatter_of_some(g):
    scattered(g, (2, 8, 5), 2, 1)


@case()
def TensorScatter_around_the_end(g):
    scattered(g, (3, 2, 4, 3), 3, 2, mode="circular")


@case()
def TensorScatter_to_the_beginning(g):
    scattered(g, (2, 6, 3), 4, 1, first=False)


@case(["--dim", "b=1..3", "--dim", "s=2..4"], [{"b": 1, "s": 4}, {"b": 3, "s": 2}])
def TensorScatter_of_any_size(g):
    scattered(g, ("b", 2, 10, 4), "s", 2)


def causal(g, window, batch=2, length=7, channels=20, past=True, bias=True, **attributes):
    operands = [g.input(batch, channels, length), g.weight(channels, 1, window), g.weight(channels) if bias else ""]
    operands += [g.input(batch, channels, window - 1)] if past else []
    g.output(*g.op("CausalConvWithState", *operands, outputs=2, **attributes))


@case()
def CausalConvWithState(g):
    causal(g, 4, activation="silu")
    causal(g, 3, past=False, bias=False)


@case()
def CausalConvWithState_of_one_position(g):
    causal(g, 4, length=1)


@case(["--dim", "b=1..3", "--dim", "l=1..9"], [{"b": 1, "l": 9}, {"b": 3, "l": 1}])
def CausalConvWithState_of_any_length(g):
    causal(g, 4, "b", "l", activation="swish")


def recurrence(g, rule, batch=2, positions=5, queries=4, heads=2, depth=8, width=6, past=True, per_depth=False, one_beta=False,
               **attributes):
    sizes = queries * depth, heads * depth, heads * width
    operands = [g.op("Mul", g.input(batch, positions, n), g.scalar(0.4)) for n in sizes]
    operands.append(g.input(batch, heads, depth, width) if past else "")
    gated, corrects = "gated" in rule, "delta" in rule
    operands.append(g.op("Neg", g.op("Abs", g.input(batch, positions, heads * (depth if per_depth else 1)))) if gated else "")
    operands.append(g.op("Sigmoid", g.input(batch, positions, 1 if one_beta else heads)) if corrects else "")
    g.output(*g.op("LinearAttention", *operands, outputs=2, update_rule=rule, q_num_heads=queries, kv_num_heads=heads, **attributes))


@case()
def LinearAttention(g):
    recurrence(g, "linear", past=False)
    recurrence(g, "delta", scale=0.3, one_beta=True)


@case()
def LinearAttention_gated(g):
    recurrence(g, "gated", per_depth=True, heads=4)
    recurrence(g, "gated_delta", queries=6)


@case(["--dim", "b=1..3"], [{"b": 1}, {"b": 3}])
def LinearAttention_of_one_position(g):
    recurrence(g, "gated_delta", batch="b", positions=1)


def check(tap, bench, make, flags, sizes, change):
    g, name = Graph(NEWEST), make.__name__
    make(g)
    model = g.model()
    done = bench.convert(model, *flags, "--golden", "1")
    if not tap.ok(f"{name}: converts", done.returncode == 0, done.stderr):
        return
    for values in sizes:
        feeds = g.feeds(values)
        if "first" in feeds:  # of a cache's rows
            feeds["first"] %= 4
        if change:
            change(feeds)
        expected = dict(zip(g.outputs, onnx.reference.ReferenceEvaluator(model).run(None, feeds)))
        wrong = bench.compare(feeds, expected) or bench.compare_bits(feeds)
        tap.ok(f"{name}, {values or 'fixed sizes'}: what onnx's evaluator gives, the same bytes everywhere", not wrong, wrong)
    wrong = bench.verify()
    tap.ok(f"{name}: its known answers", not wrong, wrong)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for make, flags, sizes, change in CASES:
            check(tap, bench, make, flags, sizes, change)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
