#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `ipexpack convert` cannot do, it says: exit 1 (the work failed) or 2 (wrong use), a message that names what
and where, and no new file, not even a part of one; an older file of that name stays as it was."""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from small_graphs import Bench, Graph

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import CLI, Tap, command

OLD = b"an older file"
LONG_SECONDS = 10  # takes 0.1 where nothing else runs


class Errors(Bench):
    """A bench with a file already at the target, which a failure must leave alone."""

    def __init__(self, tap, folder):
        super().__init__(folder)
        self.tap = tap

    def fails(self, name, code, words, *flags, model=None, bytes=None, target=None, **options):
        """Converting ends with `code`, all of `words` in the message, and nothing changed in the folder."""
        if model is not None:
            bytes = model.SerializeToString()
        if bytes is not None:
            self.onnx.write_bytes(bytes)
        self.ipex.write_bytes(OLD)
        before = sorted(os.listdir(self.folder))
        done = command(CLI, "convert", self.onnx, "-o", target or self.ipex, *flags, **options)
        missing = [word for word in words if word not in done.stderr]
        self.tap.ok(f"{name}: exit {code} and a message", done.returncode == code and not missing and not done.stdout,
                    f"exit {done.returncode}, not in the message: {missing}", done.stderr, done.stdout)
        same = self.ipex.read_bytes() == OLD and sorted(os.listdir(self.folder)) == before
        self.tap.ok(f"{name}: no file is written", same, *os.listdir(self.folder))


def good():
    g = Graph()
    g.output(g.op("Softmax", g.op("Flatten", g.conv(g.input(1, 3, 8, 8, name="image"), 3, 4)), out="classes"))
    return g


def symbolic():
    g = Graph()
    x = g.input("batch", 3, "height", "width", name="image")
    g.output(g.op("Add", g.conv(x, 3, 4), g.input("batch", 4, None, None, name="more")))
    return g.model()


# ---- what cannot be converted ----

def unsupported(errors):
    g = Graph(opset=16)
    x = g.input(1, 4, 8, 8)
    a = g.op("Unique", x, name="node_unique")
    b = g.op("Conv", g.op("Reshape", x, g.ints(1, 4, 4, 2, 8)), g.input(4, 4, 1, 1, 1, name="run_time_weight"), name="node_conv")
    c = g.op("Pad", x, g.ints(0, 0, 1, 1, 0, 0, 1, 1), name="node_pad", mode="diagonal")
    d = g.op("StringNormalizer", x, name="node_string")
    e = g.op("Magic", x, name="node_magic", domain="com.example")
    g.output(*[g.op("Relu", v) for v in (a, b, c, d, e)])
    rows = ["5 things", "node_unique (Unique): this operator is not supported", "node_conv (Conv): dynamic_weight",
            "run_time_weight", "node_pad (Pad): mode diagonal", "node_string (StringNormalizer)", "node_magic (Magic)",
            "com.example"]
    errors.fails("five unsupported nodes", 1, rows, model=g.model())
    behind(errors)
    for name, words, model, *flags in single_refusals():
        errors.fails(name, 1, words, *flags, model=model)


def behind(errors):
    """What stands behind something refused is looked at too, where the shape between them is certain; sites with one
    operator and one reason in common are one line."""
    g = Graph(opset=18)
    x = g.op("RandomNormalLike", g.input(2, 4, 6, 6), name="node_random")  # the shape of its operand
    x = g.op("MaxPool", x, kernel_shape=[9, 9], name="node_pool")
    y = g.op("Magic", g.input("n", 4), name="node_magic", domain="com.example", out="magic")  # a shape that the model gives
    y = g.op("Add", y, g.weight(5), name="node_add")
    z = g.op("Unique", g.input(2, 3), name="node_unique")  # none
    z = g.op("NonZero", g.op("Add", z, g.weight(7), name="node_behind"), name="node_zero")
    g.output(x, y, z)
    model = g.model()
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("magic", onnx.TensorProto.FLOAT, ["n", 4]))
    rows = ["6 things", "node_random (RandomNormalLike)", "node_pool (MaxPool): the window (9)", "node_magic (Magic)",
            "node_add (Add): the operands cannot be broadcast together (4 and 5)", "node_unique (Unique)", "node_zero (NonZero)"]
    errors.fails("refused behind something refused", 1, rows, "--dim", "n=1..3", model=model)
    errors.tap.ok("nothing is said of what cannot be known", "node_behind" not in command(
        CLI, "convert", errors.onnx, "-o", errors.ipex, "--dim", "n=1..3").stderr)
    g = Graph()
    x = g.input(2, 3)
    g.output(*[g.op("Unique", g.op("Relu", x), name=f"unique_{i}") for i in range(5)])
    g.output(*[g.op("StringNormalizer", x, name=f"string_{i}") for i in range(3)])
    rows = ["8 things", "Unique (5 sites: first unique_0, unique_1, unique_2, ...): this operator is not supported\n",
            *[f"  string_{i} (StringNormalizer): " for i in range(3)]]
    errors.fails("many sites with one reason", 1, rows, model=g.model())
    rows = [f"  unique_{i} (Unique): this operator is not supported\n" for i in range(5)]
    errors.fails("many sites with --json", 1, ["8 things", *rows], "--json", model=g.model())
    g = Graph()
    x = g.input(2, 3)
    g.output([g.op(f"Magic{i}", x, name=f"node_{i}") for i in range(16000)][-1])
    start = time.monotonic()
    errors.fails("a long list", 1, ["16000 things", *[f"\n  node_{i} (Magic{i}): " for i in (0, 9999, 15999)]], model=g.model())
    took = time.monotonic() - start
    errors.tap.ok("a long list takes no longer for each of its lines", took < LONG_SECONDS, f"{took:.1f} s")


def refused(op_type, *inputs, opset=17, outputs=1, inputs_of=onnx.TensorProto.FLOAT, **attributes):
    g = Graph(opset)
    names = [g.input(*x, dtype=inputs_of) if isinstance(x, tuple) else g.constant(x) for x in inputs]
    out = g.op(op_type, *names, outputs=outputs, name="the_node", **attributes)
    g.output(*([out] if outputs == 1 else out))
    return g.model()


def beyond_the_format():
    """More of something than a file holds: how many, and how many would do."""
    g = Graph()
    x = g.input(2, 4)
    g.output(*[g.op("Softmax", x) for _ in range(257)])
    yield "more outputs than a file has", ["the model (graph outputs)", "257", "1 to 256"], g.model()
    g = Graph()
    g.op("Softmax", g.input(2, 4))
    yield "no outputs", ["the model (graph outputs)", "it has 0, a file has 1 to 256"], g.model()
    g = Graph()
    g.output(g.op("Concat", *[g.input(2, 4) for _ in range(257)], axis=0))
    yield "more inputs than a file has", ["the model (graph inputs)", "257", "0 to 256"], g.model()
    g = Graph()
    x, ends = g.input(2, 4), [g.ints(i) for i in (0, 1, 4)]
    for _ in range(13200):  # 5 tensors each
        x = g.op("Concat", g.op("Slice", x, *ends[1:], ends[1]), g.op("Slice", x, *ends[:2], ends[1]), axis=1)
    g.output(x)
    yield "more tensors than a file has", ["main: 66001 tensors, at most 65536"], g.model()
    g = Graph()
    x = g.input(2, 4)
    parts = [g.op("Softmax", g.op("Mul", x, g.scalar(i + 1))) for i in range(1100)]
    y = parts.pop()
    while parts:
        y = g.op("Add", y, parts.pop())
    g.output(y)
    yield "more alive than a file may have", ["over a limit of the file format", "node ", "more than 1024 tensors are alive"], g.model()


def single_refusals():
    f32 = np.float32
    yield "a convolution over four axes", ["the_node (Conv)", "rank 6"], refused(
        "Conv", (1, 2, 4, 4, 4, 4), np.ones((2, 2, 1, 1, 1, 1), f32))
    yield "groups that do not divide", ["the_node (Conv)", "group 2"], refused(
        "Conv", (1, 3, 4, 4), np.ones((4, 3, 1, 1), f32), group=2)
    for op_type, weight in ("Conv", (4, 3, 1, 1)), ("ConvTranspose", (3, 4, 1, 1)):
        yield f"a {op_type} with a bias too short", [f"the_node ({op_type})", "3 elements for 4"], refused(
            op_type, (1, 3, 4, 4), np.ones(weight, f32), np.ones(3, f32))
    yield "a weight without elements", ["no elements"], refused("MatMul", (2, 3), np.ones((3, 0), f32))
    yield "a window larger than the input", ["the_node (Conv)", "larger"], refused(
        "Conv", (1, 3, 4, 4), np.ones((4, 3, 5, 5), f32))
    yield "a pool's window larger than the input", ["the_node (AveragePool)", "(7)", "(5)"], refused(
        "AveragePool", (1, 3, 5, 5), kernel_shape=[7, 7], strides=[2, 2], ceil_mode=1)
    for op_type, *dims in ("MaxPool", 1, 1, 2), ("AveragePool", 1, 1, 5, 2), ("LpPool", 1, 1, 7, 2, 5):
        yield f"a window of {op_type} beside the input", [f"the_node ({op_type})", "can hold no element of 2"], refused(
            op_type, tuple(dims), opset=19, kernel_shape=[2] * len(dims[2:]), dilations=[3] * len(dims[2:]), pads=[1] * 2 * len(dims[2:]))
    yield "a window of padding alone", ["the_node (MaxPool)", "as large as the window"], refused(
        "MaxPool", (1, 1, 9), kernel_shape=[2], dilations=[3], pads=[4, 0])
    yield "negative padding of all there is", ["the_node (Pad)", "nothing of axis 0"], refused("Pad", (4, 4), np.array([-1, 0, -3, 0]))
    yield "negative padding that mirrors", ["the_node (Pad)", "axis 0 has negative padding, which only mode constant"], refused(
        "Pad", (4, 4), np.array([-1, 0, 1, 0]), mode="reflect")
    yield "matrices that do not fit", ["the_node (MatMul)"], refused("MatMul", (3, 4), (5, 6))
    yield "Gemm with a bias of two rows", ["the_node (Gemm)", "3", "2"], refused(
        "Gemm", (3, 4), np.ones((4, 5), f32), np.ones((2, 5), f32))
    yield "NonZero of data", ["the_node (NonZero)", "run time"], refused("NonZero", (3, 4))
    yield "integers to a power of a fraction", ["the_node (Pow)", "const1"], refused("Pow", np.array([2, 3]), np.float32([0.5, 1]))
    yield "indices of MaxPool", ["the_node (MaxPool)", "indices"], refused(
        "MaxPool", (1, 1, 4, 4), kernel_shape=[2, 2], outputs=2)
    yield "more parts than there is room for", ["the_node (Split)", "has 4097 parts, at most 4096 are supported"], refused(
        "Split", (4097,), outputs=4097)
    yield "another number of parts than said", ["the_node (Split)", "has 2 outputs, but num_outputs is 3"], refused(
        "Split", (6,), num_outputs=3, outputs=2, opset=18)
    yield "operands that do not fit", ["the_node (Add)", "broadcast"], refused("Add", (3, 4), (3, 5))
    yield "a shape that does not fit", ["the_node (Reshape)", "elements"], refused("Reshape", (3, 4), np.array([5, -1]))
    yield "an axis out of range", ["the_node (Softmax)", "axis"], refused("Softmax", (3, 4), axis=2)
    for op_type, constants, more in (("Conv", [np.ones((2, 1, 5), f32)], {}), ("MaxPool", [], {"kernel_shape": [5]}), ("TopK", [[5]], {"outputs": 2}), (
            "Slice", [[4], [9], [2]], {}), ("Gather", [[4]], {"axis": 2}), ("Pad", [[0, 0, -2, 0, 0, -2]], {})):
        yield f"{op_type} of a size that may be too small", [f"the_node ({op_type})", "give it a range that begins above (--dim NAME=LO..HI)"], (
            refused(op_type, (1, 1, "w"), *map(np.asarray, constants), **more)), "--dim", "w=4..9"
    yield "channels resized", ["the_node (Resize)", "axis 1 is to become 6 from 3; only depth, height and width"], refused(
        "Resize", (1, 3, 4, 4), np.zeros(0, f32), np.float32([1, 2, 2, 2]))
    yield "a resized image in a batch of one size", ["the_node (Resize)", "axis 0 is to become 2 from n", "give --dim 'n=2'"], refused(
        "Resize", ("n", 3, 4, 4), np.zeros(0, f32), np.zeros(0, f32), np.array([2, 3, 8, 8])), "--dim", "n=1..4"
    yield "look-ups in another batch", ["the_node (GatherND)", "dim 0 of the indices is 3, of the data 2"], refused(
        "GatherND", (2, 4), np.zeros((3, 1), np.int64), batch_dims=1)
    yield "padding beyond the format", ["the_node (Conv)", "2000", "1024"], refused(
        "Conv", (1, 1, 4, 4), np.ones((1, 1, 1, 1), f32), pads=[2000, 0, 0, 0])
    yield "padding beyond 16 bits", ["the_node (Conv)", "65535"], refused(
        "Conv", (1, 1, 4, 4), np.ones((1, 1, 1, 1), f32), pads=[65540, 0, 0, 0])
    yield "stride beyond 32 bits", ["the_node (MaxPool)", "65535"], refused(
        "MaxPool", (1, 1, 4, 4), kernel_shape=[2, 2], strides=[2**32 + 1, 1])
    yield "padding beyond 64 bits", ["the_node (Pad)", "axis 1 has huge padding"], refused("Pad", (4, 4), np.array([0, 2**62, 0, 2**62]))
    yield "a result beyond the format", ["the_node (Sum)", "too many elements"], refused(
        "Sum", (2**20, 1, 1), (1, 2**20, 1), (2**20,))
    for op_type, ends in (("Exp", [9]), ("", [4])):
        g = Graph()
        part = g.op("Slice", g.input(2, 8), g.ints(8 if op_type else 5), g.ints(*ends), g.ints(1), name="the_node")
        g.output(g.op(op_type, part) if op_type else part)
        yield f"an empty slice, {op_type or 'an output'}", [
            "1 thing", "the_node (Slice)", "nothing is left of axis 1 (from 8 to 9 by 1 of 8)" if op_type else "(from 5 to 4 by 1 of 8)"], g.model()
    yield "a result of no elements", ["the_node (Resize)", "no elements"], refused(
        "Resize", (1, 1, 2, 2), np.zeros(0, f32), np.float32([1, 1, 0.25, 0.25]), mode="nearest")
    for scale in (-1, np.nan, np.inf):
        yield f"a scale of {scale}", ["the_node (Resize)", f"2 times the scale {scale} leaves no elements, or too many"], refused(
            "Resize", (1, 1, 2, 2), np.zeros(0, f32), np.float32([1, 1, 1, scale]), mode="nearest")
        yield f"a scale of {scale} of a size that varies", ["the_node (Resize)", f"the size w is not fixed, and the scale {scale}"], refused(
            "Resize", (1, 1, 2, "w"), np.zeros(0, f32), np.float32([1, 1, 1, scale]), mode="nearest"), "--dim", "w=1..8"
    yield "scales that are none", ["the_node (Resize)", "neither sizes nor scales for 4 axes are known"], refused(
        "Resize", (1, 1, 2, 2), np.zeros(0, f32), np.float32([1, 2]), mode="nearest")
    for name in ("strides", "dilations"):
        yield f"negative {name} of a transposed convolution", ["the_node (ConvTranspose)", "must be positive"], refused(
            "ConvTranspose", (1, 2, 4, 4), np.ones((2, 2, 3, 3), f32), **{name: [1, -1]})
    yield "output_padding below 0", ["the_node (ConvTranspose)", "output_padding -1"], refused(
        "ConvTranspose", (1, 2, 4, 4), np.ones((2, 2, 3, 3), f32), output_padding=[0, -1])
    yield "an output_shape that is none", ["the_node (ConvTranspose)", "output_shape -6"], refused(
        "ConvTranspose", (1, 2, 4, 4), np.ones((2, 2, 3, 3), f32), output_shape=[6, -6])
    yield "slopes of bytes by channels", ["the_node (PRelu)", "in0 is u8"], refused(
        "PRelu", (1, 2, 3), np.ones(2, f32), opset=6, inputs_of=onnx.TensorProto.UINT8)
    yield "a mode that is none", ["the_node (SpaceToDepth)", "mode XYZ is unknown"], refused(
        "SpaceToDepth", (1, 1, 4, 4), blocksize=2, mode="XYZ", opset=28)
    yield "a vector turned", ["the_node (FusedMatMul)", "do not fit"], refused(
        "FusedMatMul", (5,), (5, 3), domain="com.microsoft", transA=1)
    yield "floats without fmod", ["the_node (Mod)", "with fmod only"], refused("Mod", (2, 3), np.float32(2))
    g = Graph()
    g.output(g.op("Relu", g.input(2, name="x" * 300)))
    yield "a port name beyond the format", ["not be a valid file", "name"], g.model()
    yield from beyond_the_format()
    g = Graph()
    g.output(g.op("Reshape", g.input(3, 4), g.input(2, dtype=onnx.TensorProto.INT64), name="the_node"))
    yield "a shape known at run time only", ["the_node (Reshape)", "run time"], g.model()
    g = Graph()
    g.output(g.op("Relu", g.input(3, dtype=onnx.TensorProto.DOUBLE)))
    yield "an input of f64", ["in0 (graph input)", "data type"], g.model()
    g = Graph()
    y = g.op("Relu", g.input(2, 3), out="y")
    g.output(y, g.op("Neg", y), y, y)
    yield "an output listed three times", ["1 thing", "y (graph output): the model has several outputs of this name: list it once"], g.model()
    g = Graph()
    g.output(g.op("Relu", g.input(2)), "nobody")
    yield "two inputs of one name", ["in0 (graph input)", "several inputs of this name"], twins()
    for op_type, name, values in (("Conv", "strides", [1.0, 1.0]), ("Conv", "pads", [0.5] * 4), ("ConvTranspose", "dilations", ["a", "b"]),
                                  ("ConvTranspose", "output_shape", [1.5, 2.5]), ("Transpose", "perm", [0.0, 1.0, 2.0, 3.0]),
                                  ("MaxPool", "kernel_shape", "ab"), ("Constant", "value_ints", [1.0])):
        yield f"{name} of another type", [f"({op_type})"], of_another_type(op_type, name, values)
    yield "two initializers of one name", ["(initializer)", "another initializer has this name"], twin_weights()
    yield "an output that nothing computes", ["nobody (graph output)"], g.model()
    yield "an If on data", ["(If)", "its condition chosen", "--const"], branching()
    yield "a branch with a name in use", ["(If)", "in0, a name that is in use"], branching(np.array(True), "in0")
    yield "a recurrent state of another batch", ["the_node (LSTM)", "state in1 is m, but has to be n",
                                                 "one size (--dim 'n=m')"], states("m"), "--dim", "n=1..4", "--dim", "m=1..4"
    yield "a recurrent state of another size", ["the_node (LSTM)", "dim 1 of its state in1 is 3", "give --dim 'n=3'"], states(
        3), "--dim", "n=1..4"
    yield "a convolution of channels that vary", ["the_node (Conv)", "and c input channels"], of_channels(
        "Conv", np.ones((2, 4, 1, 1), f32)), "--dim", "c=1..4"
    yield "a normalisation of channels that vary", ["the_node (InstanceNormalization)", "dim 1 of in0 depends on c: a fixed size"], (
        of_channels("InstanceNormalization", *[np.ones(4, f32)] * 2)), "--dim", "c=1..4"
    yield "an If on a number of an input", ["(If)", "computed from the input rate", "--const 'rate=VALUE'"], rated()
    for op_type in "Add", "Concat":
        yield f"{op_type} of sizes that are rounded differently", [f"the_node ({op_type})", "a step (--dim NAME=LO..HI:32)"], (
            pyramid(op_type)), "--dim", "h=8..32", "--dim", "w=16"
        yield f"{op_type} of two sizes", [f"the_node ({op_type})", "one size (--dim 'w=h')"], joined(op_type, "h", "w"), (
            "--dim"), "h=8..32", "--dim", "w=8..32"
        yield f"{op_type} of a size and a number", [f"the_node ({op_type})", "give --dim 'h=5'"], joined(op_type, "h", 5), (
            "--dim"), "h=4..32"
    yield "Concat of two ranks", ["the_node (Concat)", "the ranks or data types of in0 and in1"], joined("Concat", 4, 4, 1)
    yield "a name computed twice", ["twice (Neg)", "y has been computed before"], twice()
    yield "a sparse initializer", ["sparse"], sparse()
    yield "a function", ["Twice", "function"], function()


def of_channels(op_type, *constants):
    g = Graph()
    g.output(g.op(op_type, g.input(1, "c", 5, 5), *map(g.constant, constants), name="the_node"))
    return g.model()


def states(batch):
    """An LSTM whose state has a batch of its own."""
    g = Graph()
    x, h, c = g.input(4, "n", 2), g.input(1, batch, 3), g.input(1, "n", 3)
    y = g.op("LSTM", x, g.weight(1, 12, 2), g.weight(1, 12, 3), "", "", h, c, outputs=3, hidden_size=3, name="the_node")
    g.output(y[0])
    return g.model()


def branching(condition=None, result="y"):
    """An If on a bool input, or on a constant."""
    branch = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["in0"], [result])], "branch", [],
                                    [onnx.helper.make_tensor_value_info(result, 1, [2])])
    g = Graph()
    g.input(2)
    chosen = (g.input(dtype=onnx.TensorProto.BOOL, name="chosen") if condition is None else g.constant(condition))
    g.output(g.op("If", chosen, then_branch=branch, else_branch=branch))
    return g.model()


def rated():
    """An If on whether an input equals a number."""
    branch = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["in0"], ["y"])], "branch", [],
                                    [onnx.helper.make_tensor_value_info("y", 1, [2])])
    g = Graph()
    g.input(2)
    rate = g.op("Cast", g.input(name="rate", dtype=onnx.TensorProto.INT64), to=1)
    g.output(g.op("If", g.op("Equal", rate, g.scalar(16000)), then_branch=branch, else_branch=branch))
    return g.model()


def pyramid(op_type):
    """A picture and its half, doubled: equal where the height is even."""
    g = Graph()
    x = g.input(1, 3, "h", "w")
    half = g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    twice_as_large = g.op("Resize", half, "", g.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
                          coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    g.output(g.op(op_type, twice_as_large, x, name="the_node", **{"axis": 1} if op_type == "Concat" else {}))
    return g.model()


def joined(op_type, a, b, ones=0):
    g = Graph()
    x, y = g.input(2, a), g.input(2, b, *[1] * ones)
    g.output(g.op(op_type, x, y, name="the_node", **{"axis": 0} if op_type == "Concat" else {}))
    return g.model()


def twins():
    g = Graph()
    g.output(g.op("Add", g.input(2), g.input(2, name="in0")))
    return g.model()


def of_another_type(op_type, name, values):
    g = Graph()
    x = g.input(1, 4, 6, 6)
    operands = {"Transpose": [x], "MaxPool": [x], "Constant": []}.get(op_type, [x, g.weight(4, 4, 3, 3)])
    g.output(g.op("Add", x, g.op(op_type, *operands, **{name: values})))
    return g.model()


def twin_weights():
    g = Graph()
    g.output(g.op("Add", g.input(2), g.weight(2)))
    model = g.model()
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(2, np.float32), model.graph.initializer[0].name))
    return model


def twice():
    g = Graph()
    x = g.input(2)
    g.output(g.op("Relu", x, out="y"))
    g.op("Neg", x, out="y", name="twice")
    return g.model()


def constants(errors):
    model = branching()
    errors.fails("--const without a value", 2, ["--const chosen", "NAME=VALUE"], "--const", "chosen", model=model)
    errors.fails("--const of no input", 2, ["--const nobody", "no input"], "--const", "nobody=1")
    errors.fails("--const twice", 2, ["--const chosen is given twice"], "--const", "chosen=1", "--const", "chosen=0")
    for value in ("2", "-1", "yes", "1e30"):
        errors.fails(f"--const chosen={value}", 2, ["--const chosen", "no value of its type (bool)"],
                     "--const", f"chosen={value}")
    errors.fails("--const of many elements", 2, ["--const in0", "more than one element"], "--const", "in0=1")
    errors.fails("--const from no file", 1, ["--const chosen", "nowhere.npy"], "--const", "chosen=nowhere.npy")
    path = errors.folder / "wrong.npy"
    np.save(path, np.zeros((3, 2), np.int32))
    errors.fails("--const of another shape", 2, ["--const in0", "3x2 i32"], "--const", f"in0={path}")
    path.unlink()
    for value in ("true", "false", "1", "0"):
        done = command(CLI, "convert", errors.onnx, "-o", errors.ipex, "--quiet", "--const", f"chosen={value}")
        errors.tap.ok(f"an If with --const chosen={value} converts", done.returncode == 0, done.stderr)


def sparse():
    g = Graph()
    g.output(g.op("Add", g.input(4), "scarce"))
    model = g.model()
    values = onnx.numpy_helper.from_array(np.ones(1, np.float32), "scarce")
    indices = onnx.numpy_helper.from_array(np.array([2]), "")
    model.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, indices, [4]))
    return model


def function():
    g = Graph()
    g.output(g.op("Twice", g.input(4), domain="local"))
    model = g.model()
    body = [onnx.helper.make_node("Add", ["a", "a"], ["b"])]
    model.functions.append(onnx.helper.make_function("local", "Twice", ["a"], ["b"], body,
                                                     [onnx.helper.make_opsetid("", 17)]))
    return model


# ---- sizes ----

def relu(size, name="x"):
    g = Graph()
    g.output(g.op("Relu", g.input(size, 3, name=name)))
    return g.model()


def sizes(errors):
    model = symbolic()
    errors.fails("missing dims", 2, ["--dim 'height=LO..HI'", "--dim 'width=LO..HI'", "--dim 'more[2]=LO..HI'",
                                     "image [batch, 3"], model=model)
    errors.fails("a missing dim of several inputs, once", 2, ["give\n  --dim 'n=LO..HI'   (dim 1 of input in0; or one number)\nthe"],
                 model=states("n"))
    errors.onnx.write_bytes(model.SerializeToString())
    fixed = ["--dim", "height=8", "--dim", "width=9"]
    rest = ["--dim", "more[2]=6", "--dim", "more[3]=7"]
    errors.fails("a dim that nobody has", 2, ["depth"], *fixed, *rest, "--dim", "depth=2")
    errors.fails("an input that nobody has", 2, ["mask"], *fixed, *rest, "--input", "mask=1x2")
    errors.fails("an input of another rank", 2, ["image", "3 dims"], "--input", "image=3x8x9", *rest)
    errors.fails("an input of another size", 2, ["image", "dim 1", "3", "4"], "--input", "image=1x4x8x9", *rest)
    errors.fails("a dim given twice", 2, ["height", "8", "9"], "--dim", "height=9", "--input", "image=1x3x8x9", *rest)
    for value in ("height=0", "height=-1", "height=0..40", "height=-3..4:2", "height=0..0", "main:height=0"):
        errors.fails(f"--dim {value}", 2, [f"ipexpack: convert: --dim {value}: the least size is 1"], "--dim", value)
        lines = command(CLI, "convert", errors.onnx, "-o", errors.ipex, "--dim", value).stderr.splitlines()
        errors.tap.ok(f"--dim {value}: in one line", len(lines) == 1, *lines)
    for value, words in (("height=x", "--dim height=x: nothing says what size x has"), ("height=height", "--dim height=height: nothing says")):
        errors.fails(f"--dim {value}", 2, [words], "--dim", value, *rest)
    for value in ("height=", "=4", "height", "height=99999999999", "height=8x",
                  "height=4..2", "height=1..", "height=..4", "height=1..4:3", "height=2..4:0", "height=2..4:", "height=1...4",
                  "height=1..9999999999", "main:height=", "main:=3", "=0", "height=0x",
                  "height=+3", "height= 3", "height=2..+4", "height=2..4:+2"):
        errors.fails(f"--dim {value}", 2, ["--dim", value, "usage:"], "--dim", value)
    errors.fails("a dim with two values", 2, ["--dim height=9", "other sizes"], *fixed, *rest, "--dim", "height=9")
    errors.fails("a dim of an entry that is not there", 2, ["--dim other:height"], *fixed, *rest, "--dim", "other:height=8")
    errors.fails("an input with two shapes", 2, ["--input image=1x3x9x9", "another shape"],
                 "--input", "image=1x3x8x9", "--input", "image=1x3x9x9", *rest)
    errors.fails("an unknown dtype", 2, ["--dtype f16", "f32 or bf16"], "--dtype", "f16", *fixed, *rest)
    errors.fails("unknown weights", 2, ["--weights i8", "f32 or bf16"], "--weights", "i8", *fixed, *rest)
    errors.fails("dtype and weights", 2, ["--dtype bf16", "--weights f32"], "--dtype", "bf16", "--weights", "f32", *fixed, *rest)
    errors.fails("speed and size", 2, ["--speed", "--size", "usage:"], "--speed", "--size", *fixed, *rest)
    for shape in ("1x3x8", "", "1x3x8x", "x3", "1x3x8x9.5", "1x-3x8x9", "1x1x1x1x1x1x1x1x1"):
        errors.fails(f"--input image={shape}", 2, ["--input", "image"], "--input", f"image={shape}", *rest)
    huge = ["--dim", "height=2147483647", "--dim", "width=2147483647", *rest]
    errors.fails("more elements than can be", 2, ["image", "too many elements"], *huge)
    errors.fails("no such option", 2, ["--speed"], "--speed", "9")
    errors.fails("--golden out of range", 2, ["golden"], "--golden", "-1")
    many = Graph()
    for index in range(65):
        many.output(many.op("Relu", many.input(f"d{index}", 2)))
    errors.fails("more sizes than a file can have", 1, ["65 symbols", "at most 64"], model=many.model())
    errors.fails("a size with a name that is too long", 1, ["300 bytes", "at most 256"], model=relu("s" * 300))
    errors.fails("an input with a name that is too long", 1, ["300 bytes", "at most 256"], model=relu("n", "x" * 300))
    done = errors.convert(model, *fixed, *rest)
    errors.tap.ok("the flags as pasted convert it", done.returncode == 0, done.stderr)


# ---- labels and known answers ----

def labels(errors):
    path = errors.folder / "labels.txt"
    model = good().model()
    path.write_text("cat\ndog\n")
    errors.fails("labels of another count", 1, [str(path), "2 lines", "144 classes"], "--labels", path, model=model)
    path.write_bytes(b"cat\0dog\n" * 144)
    errors.fails("labels that are not text", 1, [str(path), "not text"], "--labels", path)
    path.write_bytes(b"cat\n" * 100 + b"d\xf6g\n" + b"cat\n" * 43)
    errors.fails("labels that are not UTF-8", 1, [str(path), "line 101 is not UTF-8"], "--labels", path)
    path.write_text("cat\n" * 143 + "x" * 4097)
    errors.fails("a label that is too long", 1, [str(path), "line 144 has 4097 bytes", "4096"], "--labels", path)
    path.write_text("")
    errors.fails("no labels", 1, [str(path), "0 lines", "144 classes"], "--labels", path)
    errors.fails("labels that never end", 1, ["/dev/zero", "not text"], "--labels", "/dev/zero")
    errors.fails("labels that are a folder", 1, [str(errors.folder), "directory"], "--labels", errors.folder)
    errors.fails("labels without a path", 2, ["--labels main=", "nothing behind"], "--labels", "main=")
    errors.fails("labels twice", 2, ["--labels", "labels from"], "--labels", path, "--labels", path)
    path.unlink()
    errors.fails("labels that are not there", 1, [str(path), "No such file"], "--labels", path)


def known_answers(errors):
    answers = errors.folder / "answers"
    model = good().model()
    errors.fails("a folder that is not there", 1, ["answers: No such file"], "--golden-from", answers, model=model)
    errors.fails("a folder of a longer name than paths have", 1, ["known answers: x/x/x/x"], "--golden-from", "x/" * 2500)
    errors.fails("a file as folder", 1, ["model.onnx is no folder"], "--golden-from", errors.onnx)
    answers.mkdir()
    errors.fails("an empty folder", 1, ["input_0.pb", "image.npy"], "--golden-from", answers)
    np.save(answers / "image.npy", np.zeros((1, 3, 8, 8), np.float32))
    errors.fails("an input without answer", 1, ["output"], "--golden-from", answers)
    np.save(answers / "classes.npy", np.zeros((1, 143), np.float32))
    errors.fails("an answer of another shape", 1, ["classes", "143", "144"], "--golden-from", answers)
    np.save(answers / "classes.npy", np.zeros((1, 144), np.float64))
    errors.fails("an answer of another type", 1, ["classes", "f64"], "--golden-from", answers)
    (answers / "classes.npy").write_bytes(b"\x93NUMPY\x01\x00")
    errors.fails("an answer that is cut off", 1, ["classes.npy"], "--golden-from", answers)
    (answers / "input_0.pb").write_bytes(b"\xff\xff\xff")
    errors.fails("a broken input_0.pb", 1, ["input_0.pb"], "--golden-from", answers)
    (answers / "origin.txt").write_text("self\n")
    errors.fails("answers of an unknown origin", 1, ["origin.txt", "'self'", "torch"], "--golden-from", answers)
    for path in answers.iterdir():
        path.unlink()
    answers.rmdir()


# ---- files ----

def files(errors):
    whole = good().model().SerializeToString()
    errors.fails("not an ONNX file", 1, ["model.onnx"], bytes=b"PK\x03\x04 this is not a model")
    errors.fails("an empty file", 1, ["model.onnx"], bytes=b"")
    errors.fails("text", 1, ["model.onnx"], bytes=b"import numpy as np\n" * 20)
    for part in (1, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        errors.fails(f"cut off after {part} bytes", 1, ["model.onnx"], bytes=whole[:part])
    errors.onnx.write_bytes(whole)
    errors.fails("a folder that does not exist", 1, ["no/such/model.ipex", "folder"],
                 target=errors.folder / "no" / "such" / "model.ipex")
    folder = errors.folder / "folder"
    folder.mkdir()
    errors.fails("a folder as target", 1, ["folder"], target=folder)
    errors.fails("a folder as target, with a slash", 1, ["folder"], target=f"{folder}/")
    errors.fails("a device as target", 1, ["/dev/null", "not a regular file"], target="/dev/null")
    folder.rmdir()
    pipe, link = errors.folder / "pipe", errors.folder / "link.ipex"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    errors.fails("a link to a pipe as target", 1, ["link.ipex", "not a regular file"], target=link)
    errors.tap.ok("a link to a pipe stays", link.is_symlink() and pipe.is_fifo())
    link.unlink()
    pipe.unlink()
    sources(errors)
    errors.onnx.unlink()
    errors.fails("no model", 1, ["model.onnx", "No such file"])
    errors.onnx.mkdir()
    errors.fails("a folder as model", 1, ["model.onnx"])
    errors.onnx.rmdir()


def sources(errors):
    """The target is a file that is read, under its own name or another: it stays what it is."""
    link, labels, constant = (errors.folder / name for name in ("link.onnx", "labels.txt", "constant.npy"))
    link.hardlink_to(errors.onnx)
    labels.write_text("\n".join(f"class {i}" for i in range(144)))
    np.save(constant, np.zeros((1, 3, 8, 8), np.float32))
    rows = [("the model", errors.onnx, []), ("another name of the model", link, []), ("the labels", labels, ["--labels", labels]),
            ("a constant", constant, ["--const", f"image={constant}"])]
    for name, path, flags in rows:
        before = path.read_bytes()
        done = command(CLI, "convert", errors.onnx, "-o", path, *flags)
        errors.tap.ok(f"{name} as target: exit 2, said, untouched", done.returncode == 2 and f"-o {path}: this is" in done.stderr
                      and "give another name" in done.stderr and path.read_bytes() == before, f"exit {done.returncode}", done.stderr)
    for path in (link, labels, constant):
        path.unlink()


def unwritable(tap, folder):
    """Root may write anywhere, so this needs a user of lower rights."""
    name = "a folder without write permission"
    if os.geteuid() == 0 and not pathlib.Path("/usr/bin/setpriv").exists():
        tap.skip(name, "no setpriv to give up root's rights")
        return
    model = folder / "model.onnx"
    model.write_bytes(good().model().SerializeToString())
    closed = folder / "closed"
    closed.mkdir(mode=0o555)
    os.chmod(folder, 0o755)
    model.chmod(0o644)
    drop = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    if command(*drop, "test", "-x", CLI, "-a", "-r", model).returncode != 0:
        tap.skip(name, "the build folder is not open to other users")
        return
    done = command(*drop, CLI, "convert", model, "-o", closed / "model.ipex")
    tap.ok(name, done.returncode == 1 and "Permission denied" in done.stderr and not os.listdir(closed),
           f"exit {done.returncode}", done.stderr)


def limit_file_size():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as a shell's `trap '' XFSZ` does: write() then fails with EFBIG
    resource.setrlimit(resource.RLIMIT_FSIZE, (70000, 70000))


def full_disk(errors):
    g = Graph()
    g.output(g.op("Gemm", g.input(1, 100), g.weight(100, 100)))
    errors.onnx.write_bytes(g.model().SerializeToString())
    errors.fails("a file size limit", 1, ["model.ipex", "cannot write"], preexec_fn=limit_file_size)
    name = "a full disk"
    script = ('mkdir -p "$1/disk" && mount -t tmpfs -o size=40k tmpfs "$1/disk" || exit 77\n'
              '"$2" convert "$1/model.onnx" -o "$1/disk/model.ipex"; code=$?; ls -A "$1/disk"; exit $code')
    done = command("unshare", "-rm", "sh", "-c", script, "sh", errors.folder, CLI)
    if done.returncode == 77 or "unshare" in done.stderr:
        errors.tap.skip(name, "no small file system can be mounted here")
        return
    failed = done.returncode == 1 and "the disk is full" in done.stderr
    errors.tap.ok(f"{name}: exit 1, a message, and nothing left", failed and not done.stdout,
                  f"exit {done.returncode}", done.stdout, done.stderr)


def killed(tap, folder):
    """kill -9 at different moments: the target is the old file or the whole new one, and nothing lies beside it."""
    g = Graph()
    x = g.input(1, 2000)
    for _ in range(3):
        x = g.op("Gemm", x, g.weight(2000, 2000, scale=0.01))
    g.output(x)
    model, target = folder / "model.onnx", folder / "out" / "model.ipex"
    model.write_bytes(g.model().SerializeToString())
    target.parent.mkdir()
    begin = time.monotonic()
    done = command(CLI, "convert", model, "-o", target, "--quiet")
    seconds, whole = time.monotonic() - begin, target.read_bytes()
    wrong, cut = [done.stderr] if done.returncode else [], 0
    for moment in range(12):
        target.write_bytes(OLD)
        with subprocess.Popen([CLI, "convert", model, "-o", target, "--quiet"], stdin=subprocess.DEVNULL) as program:
            time.sleep(seconds * moment / 10)
            program.kill()
        cut += program.returncode == -signal.SIGKILL
        if os.listdir(target.parent) != [target.name] or target.read_bytes() not in (OLD, whole):
            wrong.append(f"killed after {moment / 10:.1f} of its time: {os.listdir(target.parent)}, "
                         f"{target.stat().st_size} bytes")
    tap.ok("killed in the middle: the old file or the new one, nothing beside it", cut and not wrong,
           f"{cut} killed", *wrong)


# ---- external data ----

def external(errors, folder):
    """Weights beside the model are read; a location that leads out of the model's folder is refused."""
    inside, outside = folder / "model", folder / "secret.bin"
    inside.mkdir()
    errors = Errors(errors.tap, inside)
    w = np.random.default_rng(1).standard_normal((6, 5)).astype(np.float32)
    outside.write_bytes(w.tobytes())
    (inside / "weights.bin").write_bytes(b"\0" * 64 + w.tobytes())
    (inside / "sub").mkdir()
    (inside / "sub" / "weights.bin").write_bytes(w.tobytes())
    (inside / "link.bin").symlink_to(outside)
    (inside / "up").symlink_to(folder)
    (inside / "near.bin").symlink_to("sub/weights.bin")
    x = np.random.default_rng(2).standard_normal((3, 6)).astype(np.float32)
    for location, offset in (("weights.bin", 64), ("sub/weights.bin", 0), ("near.bin", 0)):
        done = errors.convert(model_with(location, offset))
        got = errors.run({"in0": x}) if done.returncode == 0 else done.stderr
        right = not isinstance(got, str) and np.allclose(got["MatMul0_out"], x @ w, atol=1e-5)
        errors.tap.ok(f"external data {location}", right, got)
    for location in ("../secret.bin", "sub/../../secret.bin", str(outside), "link.bin", "up/secret.bin", "", "/", "..",
                     "nobody.bin", "sub", "/dev/zero"):
        what = "not a regular file" if location == "sub" else "external data"
        errors.fails(f"external data '{location}'", 1, [what, location], model=model_with(location, 0))
    weights = inside / "weights.bin"
    errors.onnx.write_bytes(model_with("weights.bin", 64).SerializeToString())
    done = command(CLI, "convert", errors.onnx, "-o", weights)
    errors.tap.ok("external data as target: exit 2, said, untouched", done.returncode == 2 and "its weights that is read" in
                  done.stderr and weights.read_bytes()[64:] == w.tobytes(), f"exit {done.returncode}", done.stderr)
    errors.fails("external data that is too short", 1, ["weights.bin", "120 bytes"],
                 model=model_with("weights.bin", 68))
    errors.fails("external data beyond 64 bits", 1, ["weights.bin"], model=model_with("weights.bin", 2**64 - 8))
    errors.fails("external data at no number", 1, ["offset"], model=model_with("weights.bin", "x"))


def model_with(location, offset):
    g = Graph()
    g.output(g.op("MatMul", g.input(3, 6), "w"))
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[6, 5], data_location=onnx.TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", offset), ("length", 120)):
        tensor.external_data.add(key=key, value=str(value))
    g.constants.append(tensor)
    return g.model()


def main():
    tap = Tap()
    for test in (unsupported, sizes, constants, labels, known_answers, files, full_disk):
        with tempfile.TemporaryDirectory() as folder:
            test(Errors(tap, folder))
    for test in (unwritable, killed):
        with tempfile.TemporaryDirectory() as folder:
            test(tap, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        external(Errors(tap, folder), pathlib.Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
