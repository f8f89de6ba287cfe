#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models with float16 and bfloat16 in them, whole or mixed with f32, as half-precision checkpoints and torch.autocast leave
them. Each case is converted plainly, with --dtype bf16 and with --weights bf16, and compared
  with ONNX Runtime on the same graph with every half made f32 (1e-4; 2 % with bf16), which is what the converter promises
  with what the graph itself gives: float16 in ONNX Runtime, bfloat16 in ONNX's reference (to that type's precision)
The weights of a bfloat16 checkpoint are kept: --weights bf16 gives the bits of the plain file. What has no meaning in f32
is refused with all that is wrong, by name."""
import json
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
import onnx.reference

from small_graphs import Bench, Graph, difference, expected_outputs  # also finds ipextest
from ipextest import CLI, Tap, cli_json, command

FLOAT, F16, BF16 = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16
HALVES = {F16: np.float16, BF16: ml_dtypes.bfloat16}
PRECISION = {F16: 2e-2, BF16: 8e-2}  # of the largest magnitude, over a few layers
MODES = {"f32": (), "--dtype bf16": ("--dtype", "bf16"), "--weights bf16": ("--weights", "bf16")}
BF16_TOLERANCE = 2e-2
CASES = []


class HalfGraph(Graph):
    """A Graph whose constants can be of half precision, and whose outputs have types."""

    def __init__(self, half):
        super().__init__(opset=17)
        self.half, self.types = half, {}

    def half_weight(self, *dims):
        return self.constant((self.random.standard_normal(dims) * 0.3).astype(HALVES[self.half]))

    def to_half(self, x):
        return self.op("Cast", x, to=self.half)

    def to_f32(self, x):
        return self.op("Cast", x, to=FLOAT)

    def half_output(self, name):
        self.output(name)
        self.types[name] = self.half

    def model(self):
        model = super().model()
        for port in model.graph.output:
            port.type.tensor_type.elem_type = self.types.get(port.name, FLOAT)
        return model


def case(*halves, valid=True, attention=0):
    """valid: ONNX allows the graph (operands of one type); attention: how many are recognised."""
    def mark(function):
        for half in halves or (F16, BF16):
            CASES.append((f"{function.__name__.replace('_', ' ')}, {HALVES[half].__name__}", function, half, valid, attention))
        return function
    return mark


# ---- mixed by hand, as broken or partial conversions leave it ----

@case(valid=False)
def linear_in_half_fed_by_f32(g):
    g.output(g.op("MatMul", g.input(2, 5, 24), g.half_weight(24, 17)))


@case(valid=False)
def linear_in_f32_fed_by_half(g):
    g.output(g.op("Gemm", g.to_half(g.input(5, 24)), g.weight(17, 24), g.half_weight(17), transB=1))


@case(valid=False)
def conv_with_weight_in_half_and_bias_in_f32(g):
    g.output(g.op("Conv", g.input(1, 8, 9, 7), g.half_weight(16, 8, 3, 3), g.weight(16), pads=[1, 1, 1, 1]))


@case(valid=False)
def product_of_f32_and_half_computed_at_run_time(g):
    g.output(g.op("MatMul", g.input(2, 7, 12), g.to_half(g.input(2, 12, 9))))


@case(valid=False)
def sum_of_f32_and_half(g):
    g.output(g.op("Add", g.op("Relu", g.input(2, 7)), g.to_half(g.op("Exp", g.input(2, 7)))))


# ---- whole graphs in half precision ----

@case()
def checkpoint_with_ports_in_half(g):
    x = g.op("Conv", g.input(1, 3, 12, 10, dtype=g.half), g.half_weight(16, 3, 3, 3), g.half_weight(16), pads=[1, 1, 1, 1])
    y = g.op("GlobalAveragePool", g.op("Relu", x))
    g.half_output(g.op("Gemm", g.op("Flatten", y), g.half_weight(10, 16), g.half_weight(10), transB=1))


@case()
def checkpoint_with_ports_in_f32(g):
    x = g.to_half(g.input(2, 6, 24))
    scale = g.constant(np.array(0.5, HALVES[g.half]))
    y = g.op("Add", g.op("MatMul", g.op("Mul", x, scale), g.half_weight(24, 24)), g.half_weight(24))
    g.output(g.to_f32(g.op("Sub", g.op("Tanh", y), x)))


@case(BF16)
def input_straight_to_an_output(g):
    x = g.input(2, 6, dtype=g.half)
    g.half_output(g.op("Neg", x))
    g.output(g.to_f32(x))


# ---- torch.autocast ----

def autocast_linear(g, x, k, n):
    return g.op("Add", g.op("MatMul", g.to_half(x), g.to_half(g.weight(k, n))), g.to_half(g.weight(n)))


@case()
def autocast_layer_norm_between_linears(g):
    y = autocast_linear(g, g.input(2, 6, 24), 24, 32)
    mean = g.op("LayerNormalization", g.to_f32(y), g.positive(32), g.weight(32))
    g.output(g.to_f32(autocast_linear(g, mean, 32, 8)))


@case()
def autocast_casts_back_and_forth(g):
    x = g.input(3, 8)
    for _ in range(3):
        x = g.to_f32(g.to_half(x))
    g.output(g.op("Sigmoid", x))


@case(attention=1)
def autocast_attention_with_its_softmax_in_f32(g):
    q, k, v = (g.to_half(g.input(2, 3, 7, 8)) for _ in range(3))
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    p = g.to_half(g.op("Softmax", g.op("Mul", g.to_f32(scores), g.scalar(0.35)), axis=-1))
    g.output(g.to_f32(g.op("MatMul", p, v)))


# ---- references ----

def widened(model):
    """The model with f32 wherever it says float16 or bfloat16."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for tensor in model.graph.initializer:
        if tensor.data_type in HALVES:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i in HALVES:
                attribute.i = FLOAT
    for port in (*model.graph.input, *model.graph.output):
        if port.type.tensor_type.elem_type in HALVES:
            port.type.tensor_type.elem_type = FLOAT
    return model


def itself(model, half, feeds):
    """What the graph gives in its own types, as f32."""
    types = {port.name: port.type.tensor_type.elem_type for port in model.graph.input}
    feeds = {name: x.astype(HALVES[types[name]]) if types[name] in HALVES else x for name, x in feeds.items()}
    if half == F16:
        outputs = expected_outputs(model, feeds)
    else:
        session = onnx.reference.ReferenceEvaluator(model)
        outputs = dict(zip(session.output_names, session.run(None, feeds)))
    return {name: np.asarray(x).astype(np.float32) for name, x in outputs.items()}


def far(got, expected, tolerance):
    """None, or which output is further off than this part of its largest magnitude."""
    for name, want in expected.items():
        worst = np.abs(got[name].astype(np.float64) - want).max()
        if not worst <= tolerance * np.abs(want).max():
            return f"{name}: {worst:.3g} off, the largest magnitude is {np.abs(want).max():.3g}"
    return None


def check_mode(tap, bench, title, model, feeds, flags, expected, own, half):
    done = bench.convert(model, *flags, "--golden", "1")
    if not tap.ok(f"{title}: converts", done.returncode == 0, done.stderr):
        return None
    got = bench.run(feeds)
    if isinstance(got, str):
        tap.ok(f"{title}: runs", False, got)
        return None
    if flags:
        tap.ok(f"{title}: near the graph in f32", (why := far(got, expected, BF16_TOLERANCE)) is None, why)
    else:
        why = [text for name in expected if (text := difference(name, got[name], expected[name]))]
        tap.ok(f"{title}: the graph in f32", not why, *why)
    if own:
        tap.ok(f"{title}: the graph itself", (why := far(got, own, PRECISION[half])) is None, why)
    tap.ok(f"{title}: its known answer", bench.verify() is None, bench.verify())
    return {name: array.tobytes() for name, array in got.items()}


def check(tap, bench, name, fill, half, valid, attention):
    graph = HalfGraph(half)
    fill(graph)
    model = graph.model()
    feeds = {i.name: graph.random.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]).astype(
        HALVES[half]).astype(np.float32) for i in graph.inputs}  # numbers that both types hold
    expected = expected_outputs(widened(model), feeds)
    own = itself(model, half, feeds) if valid else None
    bits = {mode: check_mode(tap, bench, f"{name}, {mode}", model, feeds, flags, expected, own, half)
            for mode, flags in MODES.items()}
    if attention:
        rows = [row for row in bench.ledger() if row["pass"] == "attention" and row["verdict"] == "applied"]
        tap.ok(f"{name}: {attention} attention recognised", len(rows) == attention, *bench.ledger())
    if half == BF16 and not any(t.data_type == FLOAT and len(t.dims) > 1 for t in model.graph.initializer):
        tap.ok(f"{name}: --weights bf16 keeps the weights", bits["f32"] == bits["--weights bf16"], "other bits")


# ---- what is said ----

def check_told(tap, bench):
    """Casts in the ledger by name; ports and sums in the note."""
    graph = HalfGraph(F16)
    x = graph.input(1, 8, dtype=F16, name="pixels")
    y = graph.op("Cast", graph.op("MatMul", x, graph.half_weight(8, 4)), to=FLOAT, name="up")
    graph.half_output(graph.op("Cast", y, to=F16, name="down"))
    done = bench.convert(graph.model())
    tap.ok("half precision: converts", done.returncode == 0, done.stderr)
    sites = [(row["site"], row["verdict"]) for row in bench.ledger() if row["pass"] == "half"]
    tap.ok("half precision: casts are in the ledger", sites == [("down", "applied")], *bench.ledger())
    done = command(CLI, "convert", bench.onnx, "-o", bench.ipex, "--json")
    note = json.loads(done.stdout)["entries"][0]["notes"]
    wanted = ["1 constants are widened (", "1 casts round nothing", "pixels (float16)", "down_out (float16)", "--dtype bf16"]
    tap.ok("half precision: the note says what and where", all(part in note for part in wanted), note)


def check_bound(tap, bench):
    graph = HalfGraph(F16)
    graph.output(graph.op("Add", graph.to_f32(graph.input(3, dtype=F16, name="a")), graph.input(3, name="b")))
    given = np.array([1, -0.3333, 60000], np.float16)
    np.save(bench.folder / "a.npy", given)
    done = bench.convert(graph.model(), "--const", f"a={bench.folder / 'a.npy'}")
    got = bench.run({"b": np.zeros(3, np.float32)}) if done.returncode == 0 else done.stderr
    tap.ok("--const of a float16 file", isinstance(got, dict) and np.array_equal(list(got.values())[0], given.astype(np.float32)),
           got)


def check_constant_operand(tap, bench):
    """A constant on either side of a product is stored in bf16: only the other side is cast when it runs."""
    for side in (0, 1):
        graph = Graph()
        operands = [graph.input(2, 3, 8, 8), graph.weight(2, 3, 8, 8)]
        graph.output(graph.op("MatMul", *operands[::-1 if side else 1]))
        done = bench.convert(graph.model(), "--dtype", "bf16", "--golden", "1")
        steps = [node["op"] for node in cli_json("inspect", bench.ipex)["entries"][0]["nodes"]] if done.returncode == 0 else []
        feeds = graph.feeds()
        why = steps and (bench.verify() or far(bench.run(feeds), expected_outputs(graph.model(), feeds), BF16_TOLERANCE))
        tap.ok(f"--dtype bf16: a constant operand {'left' if side else 'right'} of a product is stored so",
               steps == ["cast", "matmul"] and not why, done.stderr, steps, why)


def check_refused(tap, bench):
    """Types that f32 does not hold: all of them are listed, each with its name."""
    graph = HalfGraph(F16)
    x = graph.input(2, 4, name="x")
    graph.constants.append(onnx.helper.make_tensor("eighth", onnx.TensorProto.FLOAT8E4M3FN, [4], bytes(4), raw=True))
    wide = graph.input(2, 4, name="wide", dtype=onnx.TensorProto.DOUBLE)
    graph.output(graph.op("Add", x, "eighth", name="add"), graph.op("Mul", wide, wide, name="mul"),
                 graph.op("Cast", x, to=onnx.TensorProto.UINT16, name="cast"))
    done = bench.convert(graph.model())
    parts = ["eighth (initializer): type float8e4m3fn", "wide (graph input): its data type float64", "cast (Cast): a cast to uint16 is not"]
    tap.ok("types that are not computed are refused together",
           done.returncode == 1 and all(part in done.stderr for part in parts), f"exit {done.returncode}", done.stderr)


def check_answers(tap, bench):
    graph = HalfGraph(F16)
    x = graph.input(4, dtype=F16, name="x")
    graph.half_output(graph.op("Neg", x))
    ones = np.ones(4, np.float16)
    folder = bench.answers(input_0=ones, output_0=ones)
    done = bench.convert(graph.model(), "--golden-from", folder)
    parts = ["input_0.pb: input x: f32 in the file, but this holds 4 f16", "give its answers in f32"]
    tap.ok("answers in half precision are refused by name", done.returncode == 1 and all(p in done.stderr for p in parts),
           f"exit {done.returncode}", done.stderr)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for each in CASES:
            check(tap, bench, *each)
        for what in (check_told, check_bound, check_constant_operand, check_refused, check_answers):
            what(tap, bench)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
