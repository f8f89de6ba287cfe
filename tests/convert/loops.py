#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loop and Scan whose number of iterations is known when converting, and sequences of tensors, each against ONNX Runtime;
and which are refused."""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto

from small_graphs import FLOAT, Bench, Graph

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

CASES = {}


def case(name, flags=(), sizes=()):
    def mark(function):
        CASES[name] = (function, flags, sizes)
        return function
    return mark


class Body(Graph):
    """A graph inside of a node, whose names all begin alike."""
    count = 0

    def __init__(self):
        super().__init__(17)
        Body.count += 1
        self.prefix = f"body{Body.count}_"

    def input(self, *dims, name=None, dtype=FLOAT):
        return super().input(*dims, name=name or f"{self.prefix}in{len(self.inputs)}", dtype=dtype)

    def constant(self, array, name=None):
        return super().constant(array, name or f"{self.prefix}const{len(self.constants)}")

    def op(self, op_type, *inputs, name=None, **attributes):
        return super().op(op_type, *inputs, name=name or f"{self.prefix}{op_type}{len(self.nodes)}", **attributes)

    def graph(self):
        outputs = [onnx.helper.make_tensor_value_info(name, self.output_dtypes[name], None) for name in self.outputs]
        return onnx.helper.make_graph(self.nodes, self.prefix, self.inputs, outputs, self.constants)


def loop_body(*carried):
    """A body with its iteration, its condition and inputs of these dims."""
    body = Body()
    iteration, condition = body.input(dtype=TensorProto.INT64), body.input(dtype=TensorProto.BOOL)
    return body, iteration, condition, [body.input(*dims) for dims in carried]


def goes_on(body, condition):
    body.output(body.op("Identity", condition), dtype=TensorProto.BOOL)


def counted(g, times):
    """A recurrence with weights inside and outside, and a result of every iteration."""
    x = g.input(3, 4)
    outside = g.weight(4, 4)
    body, i, condition, (h,) = loop_body((3, 4))
    y = body.op("Tanh", body.op("Add", body.op("MatMul", h, outside), body.op("MatMul", x, body.weight(4, 4))))
    y = body.op("Add", y, body.op("Cast", i, to=FLOAT))
    two = body.op("Constant", value=onnx.numpy_helper.from_array(np.float32(2)))
    goes_on(body, condition)
    body.output(y, body.op("ReduceSum", body.op("Mul", y, two), body.ints(1), keepdims=0))
    g.output(*g.op("Loop", times, "", x, body=body.graph(), outputs=2, name="the_node"))


@case("a number of times")
def number_of_times(g):
    counted(g, g.constant(np.int64(5)))


@case("once")
def once(g):
    counted(g, g.constant(np.int64(1)))


@case("600 times")
def many_times(g):
    counted(g, g.constant(np.int64(600)))


@case("Scan over 300 steps, backwards")
def long_scan(g):
    scanned(g, (g.input(300, 3), g.input(300, 3)), scan_output_directions=[1, 0], scan_input_directions=[1, 1])


@case("as often as a fixed size says", ["--dim", "n=4"], [{"n": 4}])
def fixed_size(g):
    counted(g, g.op("Squeeze", g.op("Shape", g.input("n", 2), end=1)))


@case("never")
def never(g):
    x = g.input(2, 3)
    body, _, condition, (h,) = loop_body((2, 3))
    goes_on(body, condition)
    body.output(body.op("Exp", h))
    g.output(g.op("Neg", g.op("Loop", g.constant(np.int64(0)), "", x, body=body.graph())))


@case("while a counter is below a number, as TensorFlow's exporter writes recurrences")
def while_below(g):
    """Steps of x, the last of them masked, which a condition inside of the body picks."""
    x, mask = g.input(6, 2, 4), g.input(6, 2, 1)
    body = Body()
    body.input(dtype=TensorProto.INT64)
    body.input(dtype=TensorProto.BOOL)
    time, h, limit = body.input(dtype=TensorProto.INT32), body.input(2, 4), body.input(dtype=TensorProto.INT32)
    step = body.op("Gather", x, time)
    new = body.op("Tanh", body.op("Add", body.op("MatMul", step, body.weight(4, 4)), body.op("MatMul", h, body.weight(4, 4))))
    new = body.op("Where", body.op("Greater", body.op("Gather", mask, time), body.scalar(0)), new, h)
    later = body.op("Add", time, body.constant(np.int32(1)))
    body.output(body.op("Less", later, limit), dtype=TensorProto.BOOL)
    body.output(later, dtype=TensorProto.INT32)
    body.output(new)
    body.output(limit, dtype=TensorProto.INT32)
    body.output(body.op("Identity", new))
    zero, six = g.constant(np.int32(0)), g.constant(np.int32(6))
    start = g.op("Less", zero, six)
    results = g.op("Loop", "", start, zero, g.constant(np.zeros((2, 4), np.float32)), six, body=body.graph(), outputs=4)
    g.output(results[1], results[3])


@case("what is carried on grows")
def grows(g):
    x = g.input(1, 3)
    body, i, condition, (h, count) = loop_body(("k", 3), (1,))
    goes_on(body, condition)
    body.output(body.op("Concat", h, body.op("Mul", x, count), axis=0), body.op("Add", count, body.scalar(1)))
    g.output(*g.op("Loop", g.constant(np.int64(4)), "", x, g.constant(np.ones(1, np.float32)), body=body.graph(), outputs=2))


@case("a loop in a loop, and an If")
def nested(g):
    x = g.input(2, 3)
    body, i, condition, (h,) = loop_body((2, 3))
    inner, j, inside, (k,) = loop_body((2, 3))
    goes_on(inner, inside)
    inner.output(inner.op("Add", inner.op("Mul", k, inner.scalar(0.5)), inner.op("Cast", i, to=FLOAT)))
    k = body.op("Loop", body.op("Add", i, body.constant(np.int64(1))), "", h, body=inner.graph())
    branches = []
    for op_type in "Sin", "Cos":
        branch = Body()
        branch.output(branch.op(op_type, k))
        branches.append(branch.graph())
    chosen = body.op("Equal", body.op("Mod", i, body.constant(np.int64(2))), body.constant(np.int64(0)))
    y = body.op("If", chosen, then_branch=branches[0], else_branch=branches[1])
    goes_on(body, condition)
    body.output(y, body.op("Identity", k))
    g.output(*g.op("Loop", g.constant(np.int64(3)), g.constant(np.array(True)), x, body=body.graph(), outputs=2))


@case("other sizes vary", ["--dim", "n=1..5"], [{"n": 1}, {"n": 5}])
def sizes_vary(g):
    x = g.input("n", 4)
    body, _, condition, (h,) = loop_body(("n", 4))
    goes_on(body, condition)
    body.output(body.op("Relu", body.op("MatMul", h, body.weight(4, 4))))
    body.output(body.op("Neg", h))
    g.output(*g.op("Loop", g.constant(np.int64(3)), "", x, body=body.graph(), outputs=2))


def scanned(g, x, **attributes):
    """A sum so far, of two sequences; `attributes` of the node."""
    body = Body()
    total, a, b = body.input(3), body.input(3), body.input(3)
    total = body.op("Add", total, body.op("Mul", a, b))
    body.output(total, body.op("Exp", a), body.op("Sub", total, b))
    g.output(*g.op("Scan", g.weight(3), *x, body=body.graph(), num_scan_inputs=2, outputs=3, name="the_node", **attributes))


@case("Scan")
def scan(g):
    scanned(g, (g.input(5, 3), g.input(5, 3)))


@case("Scan along other axes, backwards")
def scan_backwards(g):
    scanned(g, (g.input(3, 5), g.input(5, 3)), scan_input_axes=[1, 0], scan_input_directions=[0, 1])


@case("Scan along other axes, of stacked results too")
def scan_outputs(g):
    scanned(g, (g.input(5, 3), g.input(3, 5)), scan_input_axes=[0, -1], scan_output_axes=[1, 0], scan_output_directions=[1, 0],
            scan_input_directions=[1, 1])


@case("nodes out of order around a body that reads what comes last")
def out_of_order(g):
    x = g.input(2, 3)
    body, _, condition, (h,) = loop_body((2, 3))
    a = body.op("Exp", body.op("Mul", h, "outside"))
    goes_on(body, condition)
    body.output(body.op("Sub", a, body.op("Abs", h)))
    y = g.op("Loop", g.constant(np.int64(2)), "", x, body=body.graph())
    g.output(g.op("Neg", y), g.op("Add", g.op("Cos", x), "outside"))
    g.op("Tanh", g.op("Sin", x), out="outside")
    g.nodes.reverse()


@case("sequences", ["--dim", "n=1..4"], [{"n": 1}, {"n": 4}])
def sequences(g):
    x, y, z = (g.input("n", 3) for _ in range(3))
    two = g.op("SequenceConstruct", x, g.op("Exp", y))
    three = g.op("SequenceInsert", two, z, g.constant(np.int64(1)))
    four = g.op("Identity", g.op("SequenceInsert", three, g.op("Neg", x)))
    fewer = g.op("SequenceErase", g.op("SequenceErase", four, g.constant(np.int64(-3))))
    g.output(g.op("ConcatFromSequence", two, axis=0), g.op("ConcatFromSequence", four, axis=-1, new_axis=1),
             g.op("ConcatFromSequence", three, axis=1), g.op("ConcatFromSequence", fewer, axis=0, new_axis=1),
             g.op("SequenceAt", four, g.constant(np.int64(-2))), g.op("SequenceAt", three, g.constant(np.int32(0))),
             g.op("Add", x, g.op("Cast", g.op("SequenceLength", four), to=FLOAT)))


@case("split into sequences")
def split(g):
    x = g.input(2, 7, 3)
    for sizes, attributes in ((None, {}), (None, {"keepdims": 0}), (g.constant(np.int64(3)), {}), (g.ints(2, 4, 1), {})):
        parts = g.op("SplitToSequence", x, *([sizes] if sizes else []), axis=1, **attributes)
        g.output(g.op("SequenceAt", parts, g.constant(np.int64(1))), g.op("SequenceAt", parts, g.constant(np.int64(-1))))
        if sizes is None:
            g.output(g.op("ConcatFromSequence", parts, axis=0))


def carried_list(g, x, dtype=TensorProto.FLOAT):
    """A list that every iteration makes longer, as scripted models have it."""
    body, i, condition, (h,) = loop_body((2, 3))
    kind = onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(dtype, None))
    body.inputs.append(onnx.helper.make_value_info(f"{body.prefix}list", kind))
    goes_on(body, condition)
    y = body.op("Sin", body.op("Add", h, body.op("Cast", i, to=FLOAT)))
    longer = body.op("SequenceInsert", f"{body.prefix}list", y)
    graph = body.graph()
    graph.output.append(onnx.helper.make_tensor_value_info(y, FLOAT, None))
    graph.output.append(onnx.helper.make_value_info(longer, kind))
    return g.op("Loop", g.constant(np.int64(4)), "", x, g.op("SequenceEmpty"), body=graph, outputs=2, name="the_loop")


@case("a list that a loop makes longer")
def longer_list(g):
    last, parts = carried_list(g, g.input(2, 3))
    g.output(last, g.op("ConcatFromSequence", parts, axis=1, new_axis=1))


def refused_lists():
    """(title, graph, what is said, flags)"""
    g = Graph(17)
    g.output(g.op("Exp", g.op("SequenceConstruct", g.input(2)), name="the_node"))
    yield "a sequence as a tensor", g, "is a sequence of tensors", []
    g = Graph(17)
    g.output(g.op("SequenceAt", g.input(2), g.constant(np.int64(0)), name="the_node"))
    yield "a tensor as a sequence", g, "input in0 is no sequence", []
    g = Graph(17)
    g.output(g.op("SequenceAt", g.op("SequenceConstruct", g.input(2)), g.constant(np.int64(1)), name="the_node"))
    yield "a place beyond a sequence", g, "place 1 of a sequence of 1", []
    g = Graph(17)
    g.output(g.op("SequenceAt", g.op("SequenceConstruct", g.input(2)), g.input(dtype=TensorProto.INT64), name="the_node"))
    yield "a place that data says", g, "is not known when converting", []
    g = Graph(17)
    g.output(g.op("ConcatFromSequence", g.op("SequenceConstruct", g.input(2, 3), g.input(2, 4)), axis=0, name="the_node"))
    yield "tensors that do not fit", g, "tensor in1 of the sequence does not fit in0", []
    g = Graph(17)
    g.output(g.op("SequenceConstruct", g.input(2), out="the_node"))
    yield "a sequence as an output", g, "it is a sequence of tensors: let the model", []
    g = Graph(17)
    g.output(g.op("SequenceLength", g.op("SplitToSequence", g.input("n"), name="the_node")))
    yield "split of an axis that varies", g, "parts of 1 of n elements", ["--dim", "n=1..4"]
    for sizes, words in (((-1, 8), "part 0 has -1 elements"), ((7, 0), "part 1 has 0 elements"), ((3, 3), "the parts do not add up")):
        g = Graph(17)
        g.output(g.op("SequenceLength", g.op("SplitToSequence", g.input(7), g.ints(*sizes), name="the_node")))
        yield f"split into {sizes}", g, words, []
    g = Graph(17)
    g.output(g.op("SequenceLength", g.op("SequenceConstruct", g.input(7), "", name="the_node")))
    yield "a sequence with a hole", g, "input 1 is missing", []


def refused():
    """(title, graph, what is said, flags)"""
    g = Graph(17)
    counted(g, g.op("Squeeze", g.op("Shape", g.input("n", 2), end=1)))
    yield "as often as a size that varies", g, "its number of iterations", ["--dim", "n=1..4"]
    g = Graph(17)
    body, _, _, (h,) = loop_body((2, 3))
    y = body.op("Mul", h, body.scalar(2))
    body.output(body.op("Less", body.op("ReduceSum", y, keepdims=0), body.scalar(100)), dtype=TensorProto.BOOL)
    body.output(y)
    g.output(g.op("Loop", "", g.constant(np.array(True)), g.input(2, 3), body=body.graph(), name="the_node"))
    yield "while data says so", g, "computed at run time; a loop becomes", []
    g = Graph(17)
    counted(g, g.constant(np.int64(5000)))
    yield "too often", g, "more than 4096 iterations", []
    g = Graph(17)
    x = g.input(2, 3)
    body = None
    for _ in range(3):  # 4096^3 times
        inside, (body, _, condition, (h,)) = body, loop_body((2, 3))
        goes_on(body, condition)
        times = body.constant(np.int64(4096))
        body.output(body.op("Loop", times, "", h, body=inside.graph(), name="the_node") if inside else body.op("Neg", h))
    g.output(g.op("Loop", g.constant(np.int64(4096)), "", x, body=body.graph()))
    yield "too often in all", g, "262144 nodes of all loops", []
    g = Graph(17)
    counted(g, g.constant(np.int64(0)))
    yield "never, of which something would be stacked", g, "it has no iteration", []
    g = Graph(17)
    body, _, condition, (h,) = loop_body((2, 3))
    goes_on(body, condition)
    body.output(body.op("Det", h, name="the_node"))
    g.output(g.op("Loop", g.constant(np.int64(3)), "", g.input(2, 3), body=body.graph()))
    yield "an operator inside", g, "1 thing", []
    g = Graph(17)
    body, i, condition, (h,) = loop_body(("k", 3))
    goes_on(body, condition)
    body.output(body.op("Concat", h, h, axis=0), h)
    g.output(*g.op("Loop", g.constant(np.int64(3)), "", g.input(1, 3), body=body.graph(), outputs=2, name="the_node"))
    yield "stacked results whose shape varies", g, "type or shape of its result", []
    g = Graph(17)
    body, i, condition, (h,) = loop_body([1] * 8)
    goes_on(body, condition)
    body.output(body.op("Exp", h), h)
    g.output(*g.op("Loop", g.constant(np.int64(3)), "", g.input(*[1] * 8), body=body.graph(), outputs=2, name="the_node"))
    yield "stacked results of too high a rank", g, "would have rank 9", []
    g = Graph(17)
    scanned(g, (g.input(5, 3), g.input(4, 3)))
    yield "sequences of different lengths", g, "has to be that of the others", []
    g = Graph(17)
    scanned(g, (g.input("n", 3), g.input("n", 3)))
    yield "sequences of a length that varies", g, "known when converting", ["--dim", "n=1..4"]
    g = Graph(17)
    g.output(g.op("Loop", g.constant(np.int64(3)), "", g.input(2), name="the_node"))
    yield "without a body", g, "its body is missing", []


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for name, (make, flags, sizes) in CASES.items():
            g = Graph(17)
            make(g)
            why = bench.right(g, "--golden", "1", *flags, bits=True, sizes=sizes)
            tap.ok(name, why is None, why)
        for title, g, words, flags in (*refused(), *refused_lists()):
            done = bench.convert(g.model(), *flags)
            tap.ok(f"{title}: refused", done.returncode == 1 and "the_node" in done.stderr and words in done.stderr, done.stderr)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
