#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX files that no program would write: cycles, missing types, huge dims, wrong sizes, versions that do not exist.
Each ends `ipexpack convert` with an error that names the node, tensor or input, and no file."""
import sys
import tempfile

import onnx
import onnx.helper

from errors import Errors, Tap
from small_graphs import Graph


def edges(*pairs):
    """Nodes (inputs, output) in this order, each called by its output in capitals; the last one's is the graph's."""
    g = Graph()
    g.input(2)
    for inputs, output in pairs:
        g.op("Sum", *inputs, name=output.upper(), out=output)
    g.output(pairs[-1][1])
    return g.model()


def cycles():
    yield "a cycle of two", ["B (Sum): reads a, which A computes", "cycle"], edges((["in0", "b"], "a"), (["a"], "b"))
    yield "a node that reads itself", ["A (Sum): reads a, which A computes", "cycle"], edges((["in0", "a"], "a"))
    yield "a name that nothing computes", ["A (Sum): reads q, which nothing before it computes"], edges((["in0", "q"], "a"))
    far = [([f"v{i + 1}"], f"v{i}") for i in range(2000)] + [(["v0"], "v2000")]
    yield "a cycle of two thousand", ["1 thing", "V2000 (Sum): reads v0, which V0 computes"], edges(*far)


def changed(change):
    """A product of an input and a weight w, changed."""
    g = Graph()
    g.output(g.op("MatMul", g.input(2, 4), g.weight(4, 3, name="w"), name="the_node"))
    model = g.model()
    change(model, model.graph.input[0], model.graph.initializer[0])
    return model


def set_dim(value):
    def change(model, x, w):
        x.type.tensor_type.shape.dim[0].dim_value = value
    return change


def set_weight(**fields):
    def change(model, x, w):
        for name, value in fields.items():
            setattr(w, name, value)
    return change


def set_rows(value):
    def change(model, x, w):
        w.dims[0] = value
    return change


def set_type(code):
    def change(model, x, w):
        x.type.tensor_type.elem_type = code
    return change


def set_opset(*versions):
    def change(model, x, w):
        del model.opset_import[:]
        model.opset_import.extend(onnx.helper.make_opsetid("", version) for version in versions)
    return change


def damaged():
    yield "an input without a type", 1, ["in0 (graph input)", "no type"], lambda model, x, w: x.ClearField("type")
    yield "an input of type 0", 1, ["in0 (graph input)", "no type"], set_type(0)
    yield "an input of an unknown type", 1, ["in0 (graph input)", "data type"], set_type(99)
    yield "an input without a shape", 2, ["--input 'in0=AxBxC'"], lambda model, x, w: x.type.tensor_type.ClearField("shape")
    for size in (0, 2**31, 2**40, 2**63 - 1):
        yield f"an input's dim of {size}", 2, [f"input in0: dim 0 is {size}", "1 to 2147483647"], set_dim(size)
    yield "a weight without a type", 1, ["w (initializer): type undefined"], set_weight(data_type=0)
    yield "a weight of an unknown type", 1, ["w (initializer): type unknown"], set_weight(data_type=99)
    yield "a weight without data", 1, ["'w' holds 0 bytes", "needs 48"], set_weight(raw_data=b"")
    yield "a weight of another size", 1, ["'w' holds 48 bytes", "needs 60"], set_rows(5)
    for size in (-4, 2**40, -(2**63)):
        yield f"a weight's dim of {size}", 1, ["'w': its dimensions are negative or too large"], set_rows(size)
    for version in (0, -1, 29, 1000, 2**62):
        yield f"opset {version}", 1, [f"the model (opset): version {version} of the operators is not known"], set_opset(version)
    yield "no opset", 1, ["the model (opset): version 0"], set_opset()
    yield "two opsets", 1, ["two versions of the default operator set"], set_opset(17, 18)


def malformed(errors):
    for name, words, model in cycles():
        errors.fails(name, 1, words, model=model)
    for name, code, words, change in damaged():
        errors.fails(name, code, words, model=changed(change))
    g = Graph(opset=6)
    g.output(g.op("Add", g.input(2, 3), g.weight(2), name="the_node", broadcast=1, axis=0))
    errors.fails("operands joined as before opset 7", 1, ["the_node (Add): broadcast as in opset 6"], model=g.model())
    g = Graph()
    huge = [g.op("Expand", g.input(2), g.ints(2**40, 2), name="expand"), g.op("Tile", "in0", g.ints(2**62), name="tile")]
    g.output(*huge, g.op("Range", *[g.scalar(value) for value in (0, 1e12, 1)], name="range"))
    errors.fails("results of huge sizes", 1, ["expand (Expand)", "tile (Tile)", "too many elements", "range (Range): a range of 1e+12"],
                 model=g.model())


if __name__ == "__main__":
    result = Tap()
    with tempfile.TemporaryDirectory() as folder:
        malformed(Errors(result, folder))
    sys.exit(result.done())
