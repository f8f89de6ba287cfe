#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Values without elements inside a model, as slices, masks and look-ups of nothing give them: what is made of them has
the shape and, in the end, the elements that ONNX Runtime gives; none reaches a file. Where one would, the message says
where it came from."""
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto

from errors import Errors
from operators import f32
from small_graphs import Graph

from ipextest import Tap

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def cut(g, x, start=2, end=2, axis=1, step=1):
    return g.op("Slice", x, g.ints(start), g.ints(end), g.ints(axis), g.ints(step))


def cast(g, x, to):
    return g.op("Cast", x, to=to)


OPERATORS = {  # of e [3, 0, 5], which has no elements, and x [3, 4, 5]
    "Add of a number": lambda g, e, x: g.op("Add", e, g.scalar(2)),
    "Add to a row": lambda g, e, x: g.op("Add", g.weight(5), e),
    "Add of itself": lambda g, e, x: g.op("Add", e, e),
    "Mul by one of one": lambda g, e, x: g.op("Mul", e, g.op("ReduceSum", x, g.ints(1))),
    "Max of three": lambda g, e, x: g.op("Max", e, g.scalar(1), g.weight(5)),
    "Pow": lambda g, e, x: g.op("Pow", e, g.scalar(2)),
    "functions": lambda g, e, x: g.op("Exp", g.op("Sqrt", g.op("Abs", g.op("Neg", g.op("Sigmoid", e))))),
    "Clip": lambda g, e, x: g.op("Clip", e, g.scalar(0), g.scalar(1)),
    "Identity": lambda g, e, x: g.op("Identity", e),
    "integers": lambda g, e, x: g.op("Add", cast(g, e, I64), g.op("Mul", cast(g, e, I64), g.ints(3))),
    "a vector of integers": lambda g, e, x: g.op("Add", g.op("Reshape", cast(g, e, I64), g.ints(-1)), g.ints(3)),
    "a vector of integers and Where": lambda g, e, x: g.op("Where", g.op("Equal", g.op("Reshape", cast(g, e, I64), g.ints(-1)), g.ints(3)),
                                                           g.ints(1), g.ints(2)),
    "comparisons": lambda g, e, x: g.op("And", g.op("Less", e, g.scalar(0)), g.op("Not", cast(g, e, BOOL))),
    "Where": lambda g, e, x: g.op("Where", cast(g, e, BOOL), g.weight(5), g.scalar(3)),
    "Reshape": lambda g, e, x: g.op("Reshape", e, g.ints(0, 0, 7)),
    "Reshape with an open dim": lambda g, e, x: g.op("Reshape", e, g.ints(5, -1)),
    "Reshape to none by allowzero": lambda g, e, x: g.op("Reshape", e, g.ints(6, 0), allowzero=1),
    "Flatten": lambda g, e, x: g.op("Flatten", e, axis=2),
    "Transpose": lambda g, e, x: g.op("Transpose", e, perm=[2, 0, 1]),
    "Squeeze and Unsqueeze": lambda g, e, x: g.op("Squeeze", g.op("Unsqueeze", e, g.ints(0, 4)), g.ints(0)),
    "Expand": lambda g, e, x: g.op("Expand", e, g.ints(2, 3, 1, 5)),
    "Expand to none": lambda g, e, x: g.op("Expand", cut(g, x, 0, 1), g.ints(3, 0, 1)),
    "Tile": lambda g, e, x: g.op("Tile", e, g.ints(2, 3, 1)),
    "Tile to none": lambda g, e, x: g.op("Tile", x, g.ints(1, 0, 2)),
    "Slice along another axis": lambda g, e, x: cut(g, e, 1, 3, axis=2),
    "Slice along the same axis": lambda g, e, x: cut(g, e, 0, 9),
    "Slice back": lambda g, e, x: cut(g, e, -1, -9, step=-1),
    "Slice of a slice": lambda g, e, x: cut(g, cut(g, x, 0, 1), 1, 2),
    "Concat": lambda g, e, x: g.op("Concat", e, e, axis=1),
    "Concat along another axis": lambda g, e, x: g.op("Concat", e, e, e, axis=0),
    "Split": lambda g, e, x: g.op("Split", x, g.ints(4, 0), axis=1, outputs=2)[1],
    "Split of none": lambda g, e, x: g.op("Split", e, g.ints(2, 3), axis=2, outputs=2)[1],
    "Gather of no places": lambda g, e, x: g.op("Gather", x, g.constant(np.zeros((2, 0), np.int64)), axis=1),
    "Gather from none": lambda g, e, x: g.op("Gather", e, g.ints(2, 0), axis=0),
    "GatherElements": lambda g, e, x: g.op("GatherElements", x, cast(g, e, I64), axis=2),
    "GatherND": lambda g, e, x: g.op("GatherND", x, g.constant(np.zeros((0, 2), np.int64))),
    "ReduceSum of others": lambda g, e, x: g.op("ReduceSum", e, g.ints(0), keepdims=0),
    "ConstantOfShape": lambda g, e, x: g.op("ConstantOfShape", g.ints(2, 0)),
    "ConstantOfShape of its shape": lambda g, e, x: g.op("ConstantOfShape", g.op("Shape", e)),
    "NonZero": lambda g, e, x: g.op("NonZero", g.constant(np.zeros((2, 3), np.float32))),
}

SOME = {  # what has elements again
    "Concat": lambda g, e, x: g.op("Concat", e, x, cut(g, x, 3, 9), e, axis=1),
    "ReduceSum": lambda g, e, x: g.op("Add", x, g.op("ReduceSum", e, g.ints(1))),
    "ReduceSum of all": lambda g, e, x: g.op("Add", x, g.op("ReduceSum", e)),
    "ReduceMax and ReduceMin": lambda g, e, x: g.op("Add", x, g.op("Max", g.op("ReduceMax", e, axes=[1]), g.op("Clip", g.op("ReduceMin", e,
                                                                                axes=[1], keepdims=1), g.scalar(-3), g.scalar(3)))),
    "ReduceMax and ReduceMin of integers": lambda g, e, x: g.op("Add", x, g.op("Div", cast(g, g.op("Add", g.op(
        "ReduceMax", cast(g, e, I64), axes=[1]), g.op("ReduceMin", cast(g, e, I64), axes=[1])), F32), g.scalar(2))),
    "ReduceProd": lambda g, e, x: g.op("Mul", x, g.op("ReduceProd", e, axes=[0, 1], keepdims=0)),
    "Size": lambda g, e, x: g.op("Add", x, cast(g, g.op("Size", e), F32)),
    "Shape": lambda g, e, x: g.op("Add", cut(g, x, 0, 3, axis=2), cast(g, g.op("Shape", e), F32)),
    "ScatterND of no rows": lambda g, e, x: g.op("ScatterND", x, g.constant(np.zeros((0, 1), np.int64)), g.weight(0, 4, 5)),
    "ScatterND of empty rows": lambda g, e, x: g.op("Concat", x, g.op("ScatterND", e, g.constant(np.array([[1]])), g.weight(1, 0, 5)), axis=1),
    "ScatterElements": lambda g, e, x: g.op("ScatterElements", x, cast(g, e, I64), e, axis=1),
    "a list of none": lambda g, e, x: g.op("Squeeze", g.op("Resize", g.op("Unsqueeze", x, g.ints(0)), g.op("ConstantOfShape", g.ints(0)),
                                                           g.constant(np.float32([1, 1, 2, 2])), mode="nearest"), g.ints(0)),
    "ConstantOfShape of none": lambda g, e, x: g.op("Add", x, g.op("ConstantOfShape", g.op("Constant", value=onnx.numpy_helper.from_array(
        np.zeros(0, np.int64))), value=onnx.numpy_helper.from_array(np.float32([2])))),
    "an unread one": lambda g, e, x: g.op("Relu", x),
    "an assigned mask": lambda g, e, x: assigned(g, x, (1, 3), (0, 0), (2, 4)),
}


def assigned(g, x, *spans):
    """x plus a mask that is 0 but for rows of the second axis, which are assigned a number each."""
    mask = g.op("ConstantOfShape", g.ints(4, 5))
    for number, (start, end) in enumerate(spans, 1):
        places = g.op("Unsqueeze", g.op("Range", g.ints0(start), g.ints0(end), g.ints0(1)), g.ints(1))
        rows = g.op("Expand", g.scalar(number), g.op("Shape", cut(g, mask, start, end, axis=0)))
        mask = g.op("ScatterND", mask, places, rows)
    return g.op("Add", x, mask)


class Numbers(Graph):
    def ints0(self, value):
        return self.constant(np.array(value))


def graphs():
    """(name, graph, flags, sizes)"""
    for kind in "constant", "input", "sized":
        for family, makers in ("none", OPERATORS), ("some", SOME):
            for name, make in makers.items():
                g = Numbers(13 if name == "ReduceProd" else 17)
                x = g.constant(f32(3, 4, 5)) if kind == "constant" else g.input("n" if kind == "sized" else 3, 4, 5)
                if kind == "sized" and name in FIXED:
                    continue
                y = make(g, cut(g, x), x)
                if family == "some":
                    g.output(g.op("Add", y, g.input(1)))
                else:  # its elements, none, before others
                    g.output(g.op("Concat", g.op("Reshape", cast(g, y, F32), g.ints(-1)), g.input(7), axis=0))
                if family == "none" and kind != "sized":
                    g.output(g.op("Mul", cast(g, g.op("Shape", y), F32), g.input(1)))
                flags, sizes = (("--dim", "n=1..4", "--golden", "1"), [{"n": n} for n in (1, 3)]) if kind == "sized" else ((), ())
                yield f"{family}, {kind}: {name}", g, flags, sizes


# Those that write the 3 that may be another number, or whose rank of the result would depend on it.
FIXED = {"Reshape", "Reshape with an open dim", "Reshape to none by allowzero", "Expand", "Expand to none", "Gather from none", "Shape",
         "Concat along another axis", "ScatterND of no rows", "ScatterND of empty rows", "a vector of integers",
         "a vector of integers and Where"}


def refused():
    """(name, words, graph)"""
    origin = "the_slice (Slice): nothing is left of axis 1 (from 2 to 2 by 1 of 4)"
    for name, make in (("Softmax", lambda g, e: g.op("Softmax", e)), ("MatMul", lambda g, e: g.op("MatMul", e, g.weight(5, 6))),
                       ("Add and TopK", lambda g, e: g.op("TopK", g.op("Add", e, g.scalar(1)), g.ints(1), outputs=2)[0]),
                       ("Mul, an output", lambda g, e: g.op("Mul", e, g.scalar(2))), ("an output", lambda g, e: e)):
        for constant in False, True:
            g = Graph()
            x = g.constant(f32(3, 4, 5)) if constant else g.input(3, 4, 5)
            y = make(g, g.op("Slice", x, g.ints(2), g.ints(2), g.ints(1), name="the_slice"))
            g.output(y, g.op("Relu", g.input(2)))
            yield f"{name} of {'a constant' if constant else 'an input'}", ["1 thing", origin], g
    g = Graph()
    g.output(g.op("ScatterND", g.constant(f32(2, 0, 4)), g.constant(np.zeros((1, 3), np.int64)), g.weight(1), name="the_node"),
             g.op("Relu", g.input(2)))
    yield "ScatterND into an initializer", ["1 thing", "the_node (ScatterND)", "no elements"], g
    g = Graph()
    g.output(g.op("Softmax", g.constant(f32(2, 0, 4)), name="the_node"), g.op("Relu", g.input(2)))
    yield "Softmax of an initializer", ["1 thing", "the_node (Softmax): reads const0, which has no elements"], g
    g = Graph()
    e = g.op("Slice", g.input(3, 4, 5), g.ints(2), g.ints(2), g.ints(1), name="the_slice")
    g.output(e, g.op("Exp", e), *g.op("Split", e, g.ints(2, 3), axis=2, outputs=2), g.op("Softmax", g.op("Neg", e)))
    yield "five readers", ["1 thing", origin], g
    g = Graph()
    e = g.op("Slice", g.input(3, 4, 5), g.ints(2), g.ints(2), g.ints(1), name="the_slice")
    g.output(g.op("Add", e, g.weight(2, 5), name="the_sum"))
    yield "Add that does not fit", ["2 things", origin, "the_sum (Add): the operands cannot be broadcast together (0 and 2)"], g
    g = Graph()
    factors = [g.constant(np.zeros(shape, np.float32)) for shape in ((2, 0), (0, 3))]
    g.output(g.op("Concat", g.op("MatMul", *factors, name="the_product"), g.input(2, 3), axis=0))
    yield "a product over none", ["the_product (MatMul)", "no elements"], g
    g = Graph()
    g.output(g.op("Reshape", g.op("Slice", g.input(3, 4), g.ints(2), g.ints(2), g.ints(1), name="the_slice"), g.ints(0, -1, 0), name="it"))
    yield "Reshape of none with two ways", ["it (Reshape)"], g
    g = Graph()
    none = g.constant(np.zeros((2, 0), np.float32))
    g.output(g.op("Identity", none, name="it"), none, g.op("Relu", g.input(2)))
    yield "constants as outputs", ["2 things", "it (Identity): the result it_out would have no elements",
                                   f"{none} (graph output): it has no elements"], g


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Errors(tap, folder)
        for name, graph, flags, sizes in graphs():
            why = bench.right(graph, *flags, sizes=sizes)
            tap.ok(name, why is None, why)
        for name, words, graph in refused():
            bench.fails(name, 1, words, model=graph.model())
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
