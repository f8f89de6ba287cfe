#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators that fill tensors, write updates into them, sum integers up, clamp them, and normalise by their own
statistics, at fixed sizes and at sizes that vary, against ONNX Runtime; and what of them is refused.

fill_and_scatter.py [--only TEXT]"""
import pathlib
import sys
import tempfile

import numpy as np
import onnx.helper
import onnx.numpy_helper
from onnx import TensorProto

from small_graphs import Bench, Graph

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap, only_option

BOUNDS = ["--dim", "n=2..5", "--dim", "m=1..9", "--golden", "1"]
SIZES = [{"n": 2, "m": 1}, {"n": 4, "m": 7}, {"n": 5, "m": 9}]
FIXED, VARYING, REFUSED = {}, {}, {}


def cases(kind):
    """Marks a generator of (name, Graph, words of the refusal where it is one)."""
    def mark(function):
        kind[function.__name__] = function
        return function
    return mark


def number(value, dtype):
    return {"value": onnx.numpy_helper.from_array(np.array([value], dtype))}


def as_f32(g, x):
    return g.op("Cast", x, to=TensorProto.FLOAT)


# ---- ConstantOfShape ----

NUMBERS = [("f32 by default", {}), ("f32", number(-2.5, np.float32)), ("f16", number(0.5, np.float16)),
           ("i64", number(2**40, np.int64)), ("i32", number(-7, np.int32)), ("u8", number(200, np.uint8)),
           ("bool", number(True, np.bool_))]


@cases(FIXED)
def constant_of_shape():
    for name, value in NUMBERS:
        for dims in ((3, 4), ()):
            g = Graph()
            filled = as_f32(g, g.op("ConstantOfShape", g.ints(*dims), **value))
            g.output(g.op("Add", g.input(2, 3, 4), filled))
            yield f"{name} {dims}", g
    g = Graph()
    g.output(g.op("Where", g.op("ConstantOfShape", g.ints(4), **number(True, np.bool_)), g.input(3, 4), g.scalar(0)))
    yield "a condition", g


@cases(VARYING)
def constant_of_size():
    for name, value in NUMBERS:
        g = Graph()
        x = g.input("n", "m")
        g.output(g.op("Mul", x, as_f32(g, g.op("ConstantOfShape", g.op("Shape", x), **value))))
        yield name, g
    g = Graph(opset=15)
    x = g.input("n", 3, "m")
    g.output(g.op("Concat", x, g.op("ConstantOfShape", g.op("Shape", x), **number(0.25, np.float32)), axis=1))
    yield "joined", g


@cases(REFUSED)
def no_constant_of_shape():
    def make(*dims, **value):
        g = Graph()
        g.output(g.op("Add", g.input(2, 3), as_f32(g, g.op("ConstantOfShape", g.ints(*dims), name="the_node", **value))))
        return g
    yield "an empty one", make(0), ["the_node (ConstantOfShape)", "dim 0 is 0; dims go from 1"]
    yield "a huge one", make(2**20, 2**20), ["the_node (ConstantOfShape)", "more than 16777216 elements"]
    yield "one of u16", make(3, **number(1, np.uint16)), ["the_node (ConstantOfShape)", "not one number of a type"]
    g = Graph()
    g.output(g.op("ConstantOfShape", g.input(2, dtype=TensorProto.INT64), name="the_node"))
    yield "a computed shape", g, ["the_node (ConstantOfShape)", "computed at run time"]


# ---- ScatterND, ScatterElements ----

ROWS = [  # data, indices
    ((7, 3), np.array([[0], [6], [-2]])),
    ((4, 5, 2), np.array([[0, 1], [-1, -5], [2, 4], [1, 0]])),
    ((4, 3), np.array([[[0, 0], [1, 2]], [[3, -1], [2, 1]], [[0, 2], [3, 0]]])),
    ((5, 2), np.array([[1], [3], [1], [1], [-2]])),
]
ELEMENTS = [  # data, axis, indices
    ((5,), 0, np.array([4, 0, -3])),
    ((4, 3), 0, np.array([[1, 0, 2], [3, -2, 2]])),
    ((4, 3), 1, np.array([[1, 0], [2, -3], [0, 0]], np.int32)),
    ((2, 3, 4), -1, np.array([[[3, 3, -4]] * 2, [[0, -1, 3]] * 2])),
]
REDUCTIONS = ["none", "add", "mul", "max", "min"]
KINDS = {"f32": np.float32, "i64": np.int64, "i32": np.int32}


def computed_indices(g, x, sizes, dtype=TensorProto.INT64):
    """Of this shape, from the first to the last of `sizes` and from the end; sizes: of one axis, or one per column."""
    return g.op("Cast", g.op("Floor", g.op("Mul", g.op("Tanh", x), sizes)), to=dtype)


def scattered(data, indices, update_shape, dtype, constant, op_type, computed=None, **attributes):
    """`constant`: of data and updates, which are constants; the others are inputs. computed: the sizes of the axes that
    indices are about, which an input gives in their place."""
    g = Graph(opset=18)
    index_type = onnx.helper.np_dtype_to_tensor_dtype(indices.dtype)
    places = g.constant(indices) if computed is None else computed_indices(
        g, g.input(*indices.shape), g.constant(np.array(computed, np.float32) * np.float32(0.99)), index_type)
    operands = {}
    for name, dims in (("data", data), ("updates", update_shape)):
        if name in constant:
            operands[name] = g.constant((g.random.standard_normal(dims) * 9).astype(dtype))
        else:
            x = g.op("Mul", g.input(*dims), g.scalar(9))
            operands[name] = x if dtype == np.float32 else g.op("Cast", x, to=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    y = g.op(op_type, operands["data"], places, operands["updates"], **attributes)
    g.output(g.op("Add", as_f32(g, y), g.input(*data)))
    return g


def scatters(dtype, constant, reduction, computed=False):
    for data, indices in ROWS:
        shape, sizes = indices.shape[:-1] + data[indices.shape[-1]:], data[:indices.shape[-1]]
        yield f"ND {data} {indices.tolist()}", scattered(
            data, indices, shape, dtype, constant, "ScatterND", sizes if computed else None, reduction=reduction)
    for data, axis, indices in ELEMENTS:
        yield f"Elements {data} {axis} {indices.tolist()}", scattered(
            data, indices, indices.shape, dtype, constant, "ScatterElements", data[axis] if computed else None, axis=axis,
            reduction=reduction)


@cases(FIXED)
def scatter():
    for kind, dtype in KINDS.items():
        for constant in (("data", "updates"), ("data",), ()):
            for reduction in REDUCTIONS:
                for name, g in scatters(dtype, constant, reduction):
                    yield f"{name} {kind} {reduction} constant: {constant}", g
    g = Graph(opset=10)
    g.output(g.op("Scatter", g.input(4, 3), g.constant(np.array([[2, 0, -1]])), g.input(1, 3)))
    yield "of opset 10", g


@cases(FIXED)
def scatter_at_computed_places():
    for kind, dtype in KINDS.items():
        for constant in (("data",), ("updates",), ()):
            for reduction in REDUCTIONS:
                for name, g in scatters(dtype, constant, reduction, computed=True):
                    yield f"{name} {kind} {reduction} constant: {constant}", g
    for op_type, shape in (("ScatterElements", (2, 3)), ("ScatterND", (2, 1))):
        g = Graph(opset=18)
        bits = g.constant(np.arange(12).reshape(4, 3) % 2 == 0)
        index = computed_indices(g, g.input(*shape), g.scalar(3.96))
        updates = g.op("Less", g.input(2, 3), g.scalar(0))
        g.output(as_f32(g, g.op(op_type, bits, index, updates)))
        yield f"{op_type} of bools", g


@cases(FIXED)
def scatter_of_many():
    """So many updates of one place that there is no table for each."""
    for reduction in REDUCTIONS:
        g = Graph(opset=18)
        indices = np.arange(300)[:, None] // 100
        g.output(g.op("ScatterND", g.input(4, 3), g.constant(indices), g.input(300, 3), reduction=reduction))
        yield f"ND {reduction}", g
        g = Graph(opset=18)
        y = g.op("ScatterElements", g.input(4, 3), g.constant(np.arange(60).reshape(4, 15) % 2 - 1), g.input(4, 15), axis=1,
                 reduction=reduction)
        g.output(y)
        yield f"Elements {reduction}", g


def summed_rows(g, data, updates, axis, index_dims):
    """As PyTorch exports a sum over the edges of a graph: one index for each row, repeated along it."""
    size = g.op("Cast", g.op("Shape", data, start=axis, end=axis + 1), to=TensorProto.FLOAT)
    index = computed_indices(g, g.input(*index_dims), g.op("Mul", size, g.scalar(0.99)))
    g.output(g.op("ScatterElements", data, g.op("Expand", index, g.op("Shape", updates)), updates, axis=axis, reduction="add"))
    return g


@cases(FIXED)
def scatter_of_equal_indices():
    for data, updates, axis, index in (
            ((5, 4), (9, 4), 0, (9, 1)), ((5, 4), (9, 3), 0, (9, 1)), ((5, 4, 3), (7, 4, 3), 0, (7, 1, 1)),
            ((5, 4, 3), (7, 4, 3), 0, (7, 4, 1)), ((2, 5, 3), (2, 8, 3), 1, (8, 1)), ((2, 5, 3), (1, 8, 3), 1, (1, 8, 1)),
            ((2, 5, 3), (2, 8, 3), 1, (2, 1, 1)), ((3, 4), (3, 4), 1, (1, 4)), ((5, 4), (9, 4), 0, (1,))):
        g = Graph(opset=18)
        yield f"{data} {updates} {axis} {index}", summed_rows(g, g.input(*data), g.input(*updates), axis, index)


@cases(VARYING)
def scatter_of_varying_size():
    for reduction in REDUCTIONS:
        for axis in (0, 1, 2):
            g = Graph(opset=18)
            x, size = g.input("n", 3, "m"), [2, 3, 1][axis] * 0.99
            index = computed_indices(g, g.input("n", 2, "m"), g.scalar(size))
            g.output(g.op("ScatterElements", x, index, g.input("n", 2, "m"), axis=axis, reduction=reduction))
            yield f"Elements {reduction} axis {axis}", g
        g = Graph(opset=18)
        index = computed_indices(g, g.input(6, 2), g.constant(np.array([2, 3], np.float32) * np.float32(0.99)))
        g.output(g.op("ScatterND", g.input("n", 3, "m"), index, g.input(6, "m"), reduction=reduction))
        yield f"ND {reduction}", g
    g = Graph(opset=18)
    yield "rows", summed_rows(g, g.input("n", 4), g.input("m", 4), 0, ("m", 1))
    g = Graph(opset=18)
    yield "rows of varying size", summed_rows(g, g.input("n", 3, "m"), g.input("m", 3, "m"), 0, ("m", 1, 1))
    g = Graph(opset=18)
    g.output(g.op("ScatterND", g.input("n", "m"), g.constant(np.array([[0, 0], [1, -1], [-2, 0]])), g.input(3)))
    yield "known indices into axes that vary", g
    g = Graph(opset=18)
    x = g.input("n", "m")
    y = g.op("ScatterElements", x, g.constant(np.array([[0], [1]])), g.input(2, 1), axis=0, reduction="max")
    g.output(y)
    yield "known elements of axes that vary", g


@cases(VARYING)
def scatter_of_a_mask():
    """A decoder's mask as Hugging Face's exports write it into one that is full, at counted places."""
    g = Graph(opset=18)
    x = g.input("n", "m")
    zero, one = g.constant(np.array(0)), g.constant(np.array(1))
    shape = g.op("Shape", x)
    counts = [g.op("Range", zero, g.op("Squeeze", g.op("Shape", x, start=i, end=i + 1)), one) for i in (0, 1)]
    places = [g.op("Unsqueeze", g.op("Expand", g.op("Unsqueeze", count, g.ints(1 - i)), shape), g.ints(-1))
              for i, count in enumerate(counts)]
    full = g.op("Expand", g.scalar(-3e4), shape)
    g.output(g.op("ScatterND", full, g.op("Concat", *places, axis=-1), g.op("Relu", x)))
    yield "whole", g


@cases(VARYING)
def scatter_of_rows():
    g = Graph(opset=18)
    g.output(g.op("ScatterND", g.input(4, "n", "m"), g.constant(np.array([[3], [0]])), g.input(2, "n", "m")))
    yield "rows whose size varies", g


@cases(REFUSED)
def no_scatter():
    i64 = np.int64

    def make(op_type, data, indices, updates, **attributes):
        g = Graph(opset=18)
        names = [g.input(*x[0], dtype=x[1]) if isinstance(x, tuple) else g.constant(x) for x in (data, indices, updates)]
        g.output(g.op("Relu", g.op(op_type, *names, name="the_node", **attributes)))
        return g
    data, updates = ((4, 3), TensorProto.FLOAT), ((2, 3), TensorProto.FLOAT)
    rows, elements = np.array([[0], [1]]), np.array([[0, 1, 2], [1, 2, 3]])
    yield "an index beyond the axis", make("ScatterND", data, rows + 3, updates), ["index 4 is outside of axis 0, which has 4"]
    yield "an index before the axis", make("ScatterElements", data, elements - 5, updates), ["index -5 is outside of axis 0"]
    yield "too many coordinates", make("ScatterND", data, np.zeros((2, 3), i64), ((2,), TensorProto.FLOAT)), [
        "the indices do not fit the data"]
    for op_type, indices in (("ScatterND", rows), ("ScatterElements", elements)):
        yield f"{op_type} with updates of another shape", make(op_type, data, indices, ((2, 2), TensorProto.FLOAT)), [
            f"the_node ({op_type})", "the updates (in1) do not fit"]
        yield f"{op_type} with updates of another type", make(op_type, data, indices, np.ones((2, 3), i64)), [
            "the data are f32, the updates i64"]
        yield f"{op_type} with a new reduction", make(op_type, data, indices, updates, reduction="mean"), [
            "reduction mean is unknown"]
    yield "a sum of bools", make("ScatterND", np.ones((4, 3), bool), rows, np.ones((2, 3), bool), reduction="add"), [
        "a reduction of bool"]
    places = ((2, 1), TensorProto.INT64)
    yield "a sum of bools at computed places", make("ScatterND", np.ones((4, 3), bool), places, np.ones((2, 3), bool),
                                                    reduction="add"), ["a reduction of bool"]
    yield "updates that do not fit computed places", make("ScatterND", data, places, ((2, 2), TensorProto.FLOAT)), [
        "the_node (ScatterND)", "the updates (in2) do not fit"]
    yield "too many elements", make("ScatterElements", data, ((5, 3), TensorProto.INT64), ((5, 3), TensorProto.FLOAT), axis=1), [
        "the_node (ScatterElements)", "the updates (in2) do not fit"]
    yield "indices that are no integers", make("ScatterND", data, ((2, 1), TensorProto.FLOAT), updates), ["the indices are f32"]


# ---- integers ----

def integers(g, x, dtype):
    return g.op("Cast", g.op("Mul", x, g.scalar(1000)), to=dtype)


@cases(VARYING)
def cum_sum_of_integers():
    for dtype in (TensorProto.INT32, TensorProto.INT64):
        for axis in (0, 1, -1):
            for exclusive, reverse in ((0, 0), (0, 1), (1, 0), (1, 1)):
                g = Graph()
                x = integers(g, g.input("n", 3, "m"), dtype)
                y = g.op("CumSum", x, g.constant(np.int64(axis)), exclusive=exclusive, reverse=reverse)
                g.output(as_f32(g, y))
                yield f"type {dtype} axis {axis} exclusive {exclusive} reverse {reverse}", g


@cases(VARYING)
def sums_of_integers():
    for dtype in (TensorProto.INT32, TensorProto.INT64):
        for axes in ([0], [1, -1], [0, 1, 2]):
            for keep in (0, 1):
                g = Graph()
                x = integers(g, g.input("n", 3, "m"), dtype)
                g.output(as_f32(g, g.op("ReduceSum", x, g.ints(*axes), keepdims=keep)))
                yield f"type {dtype} axes {axes} keepdims {keep}", g


@cases(VARYING)
def largest_of_integers():
    for op_type in ("ArgMax", "ArgMin"):
        for axis in (0, 1, -1):
            for last in (0, 1):
                g = Graph()
                x = g.op("Cast", g.op("Mul", g.input("n", 3, "m"), g.scalar(2)), to=TensorProto.INT32)  # many are equal
                x = g.op("Add", g.op("Mul", x, g.constant(np.int32(2**29))), x)  # most are no f32
                g.output(as_f32(g, g.op(op_type, x, axis=axis, select_last_index=last, keepdims=last)))
                yield f"{op_type} axis {axis} last {last}", g
    g = Graph()
    x = g.op("Mul", g.op("Cast", g.input("n", "m"), to=TensorProto.INT32), g.constant(np.int32(0)))
    ends = g.constant(np.array([2**31 - 1, -2**31, 2**31 - 2, -2**31 + 1], np.int32))
    ends = g.op("Add", ends, g.op("ReduceSum", x, g.ints(0, 1)))
    for op_type in ("ArgMax", "ArgMin"):
        g.output(as_f32(g, g.op(op_type, ends, axis=0)))
    yield "the ends of i32", g


@cases(FIXED)
def cum_sum_beyond_f32():
    g = Graph()
    x = g.op("Cast", g.input(9), to=TensorProto.INT64)
    big = g.op("CumSum", g.op("Add", x, g.constant(np.int64(2**40 + 1))), g.constant(np.int64(0)))
    g.output(as_f32(g, g.op("Sub", big, g.constant(np.arange(1, 10) * 2**40))))
    yield "exact sums", g
    g = Graph()
    total = g.op("CumSum", g.ints(5, -2, 2**33), g.constant(np.int64(0)))
    g.output(g.op("Add", g.input(3), as_f32(g, g.op("Div", total, g.ints(1, 1, 3)))))
    yield "of a constant", g


@cases(FIXED)
def clip_and_sign():
    for dtype, numpy_dtype in ((TensorProto.INT32, np.int32), (TensorProto.INT64, np.int64)):
        for low, high in ((-300, 500), (-300, None), (None, 500)):
            g = Graph()
            bounds = ["" if v is None else g.constant(numpy_dtype(v)) for v in (low, high)]
            g.output(as_f32(g, g.op("Clip", integers(g, g.input(5, 7), dtype), *bounds)))
            yield f"Clip type {dtype} {low} {high}", g
        g = Graph()
        x = g.op("Cast", g.op("Mul", g.input(5, 7), g.scalar(2)), to=dtype)
        g.output(as_f32(g, g.op("Sign", x)))
        yield f"Sign type {dtype}", g
    g = Graph()
    x = g.input(5, 7)
    low = g.op("ReduceMean", x, keepdims=0)
    g.output(g.op("Clip", x, low, g.op("Add", low, g.scalar(0.5))))
    yield "Clip between computed bounds", g


@cases(VARYING)
def sizes_as_integers():
    g = Graph(opset=15)
    x = g.input("n", "m")
    places, last = integers(g, x, TensorProto.INT64), g.op("Squeeze", g.op("Shape", x, start=1))
    g.output(as_f32(g, g.op("Clip", places, g.op("Neg", last), last)))
    yield "Clip between sizes", g
    g = Graph(opset=15)
    x = g.input("n", "m")
    rows = g.constant(np.arange(3).reshape(3, 1, 1))
    g.output(g.op("Add", x, as_f32(g, g.op("Mul", rows, g.op("Shape", x, start=1)))))
    yield "a product of higher rank", g


@cases(VARYING)
def sizes_that_are_equal():
    g = Graph(opset=15)
    x = g.input(1, "m", "n", 64)
    size = g.op("Shape", x, start=2, end=3)
    short = g.op("Slice", x, g.ints(0), g.op("Sub", size, g.ints(1)), g.ints(2))
    g.output(g.op("Add", g.op("Pad", short, g.ints(0, 0, 1, 0, 0, 0, 0, 0)), x))
    yield "cut and padded again", g
    g = Graph(opset=15)
    x = g.input(1, "n", 64, "m")
    halves = g.op("MaxPool", x, kernel_shape=[1, 1], strides=[1, 2])
    quarters = g.op("MaxPool", halves, kernel_shape=[1, 1], strides=[1, 2])
    g.output(g.op("Add", quarters, g.op("MaxPool", x, kernel_shape=[1, 1], strides=[1, 4])))
    yield "halved twice and quartered", g


# ---- BatchNormalization in training mode ----

@cases(FIXED)
def normalised_by_itself():
    for rank in (2, 3, 4):
        for x_is_constant in (False, True):
            yield f"rank {rank} constant {x_is_constant}", normalised(x_is_constant, rank)


def normalised(x_is_constant, rank):
    g = Graph(opset=15)
    dims = (4, 3, 5, 2)[:rank]
    x = g.weight(*dims) if x_is_constant else g.input(*dims)
    y, *statistics = g.batch_norm(x, 3, training_mode=1, epsilon=1e-3, momentum=0.75, outputs=3)
    g.output(g.op("Add", g.input(*dims), y), *statistics)
    return g


# ---- the test ----

def check(tap, bench, title, graph, *flags, words=None, sizes=()):
    if words:
        done = bench.convert(graph.model(), *flags)
        said = done.returncode == 1 and all(word in done.stderr for word in words)
        tap.ok(f"{title} is refused", said, done.stderr)
    else:
        why = bench.right(graph, *flags, sizes=sizes)
        tap.ok(title, why is None, why)


def main():
    only = only_option()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for kind, flags, sizes in ((FIXED, [], ()), (VARYING, BOUNDS, SIZES), (REFUSED, [], ())):
            for family, generate in kind.items():
                for name, graph, *words in generate():
                    if only in f"{family}: {name}":
                        check(tap, bench, f"{family}: {name}", graph, *flags, words=words and words[0], sizes=sizes)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
