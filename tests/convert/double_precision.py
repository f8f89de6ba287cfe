#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models with doubles (float64) inside: constants, casts there and back, ranges, arithmetic on sizes. Each case is compared
with ONNX Runtime, which computes in doubles. What decides a shape must be exact; tables of constants too, before they are
rounded to f32 once. Ports of type float64 are refused by name."""
import json
import sys
import tempfile

import numpy as np
import onnx

from small_graphs import Bench, Graph  # also finds ipextest
from ipextest import CLI, Tap, command

FLOAT, DOUBLE, INT64, INT32, BOOL = (getattr(onnx.TensorProto, name) for name in ("FLOAT", "DOUBLE", "INT64", "INT32", "BOOL"))
CASES = []


def case(function):
    CASES.append((function.__name__.replace("_", " "), function))
    return function


def to(g, x, dtype):
    return g.op("Cast", x, to=dtype)


def f64(g, *values):
    return g.constant(np.array(values[0] if len(values) == 1 else values, np.float64))


def size(g, x, axis):
    """A dim of x as a scalar."""
    return g.op("Gather", g.op("Shape", x), g.constant(np.array(axis, np.int64)))


@case
def constant_cast_down(g):
    g.output(g.op("Mul", g.input(2, 3), to(g, f64(g, 0.1), FLOAT)))


@case
def double_constant_in_the_middle(g):
    y = g.op("Mul", to(g, g.input(2, 3), DOUBLE), g.constant(np.array([[0.5], [2]])))
    g.output(to(g, y, FLOAT))


@case
def power_through_a_cast(g):
    x = g.op("Abs", g.input(1, 8))
    g.output(to(g, g.op("Pow", to(g, x, DOUBLE), f64(g, -0.5)), FLOAT))


@case
def integers_to_doubles_at_run_time(g):
    x = g.input(2, 5, dtype=INT64)
    g.output(to(g, g.op("Div", to(g, x, DOUBLE), f64(g, 3.0)), FLOAT))


@case
def constant_node(g):
    tensor = onnx.numpy_helper.from_array(np.array([0.1, 0.2, 0.3]))
    g.output(g.op("Add", g.input(2, 3), to(g, g.op("Constant", value=tensor), FLOAT)))


@case
def expanded_and_reshaped(g):
    e = g.op("Reshape", g.op("Expand", f64(g, 0.3), g.ints(2, 3)), g.ints(3, 2))
    filled = g.op("ConstantOfShape", g.ints(3, 2), value=onnx.helper.make_tensor("v", DOUBLE, [1], [0.7]))
    g.output(g.op("Add", g.input(3, 2), to(g, g.op("Add", e, filled), FLOAT)))


@case
def linspace_and_meshgrid(g):
    """As an exporter writes torch.linspace(0, 1, 7): a range of doubles, times a step, plus a start."""
    x = g.input(1, 1, 5, 7)
    steps = g.op("Range", f64(g, 0.0), to(g, size(g, x, 3), DOUBLE), f64(g, 1.0))
    row = g.op("Add", g.op("Mul", steps, f64(g, 1 / 6)), f64(g, 0.0))
    column = g.op("Unsqueeze", g.op("Range", f64(g, 0.5), f64(g, 5.5), f64(g, 1.0)), g.ints(1))
    g.output(g.op("Add", x, to(g, g.op("Add", row, column), FLOAT)))


@case
def frequencies_of_rope(g):
    """Angles of some thousands: f32 powers would be off in the third digit after the point."""
    steps = g.op("Range", f64(g, 0.0), f64(g, 64.0), f64(g, 2.0))
    inverse = g.op("Pow", f64(g, 10000.0), g.op("Neg", g.op("Div", steps, f64(g, 64.0))))
    position = to(g, g.constant(np.arange(4000, 4016).reshape(-1, 1)), DOUBLE)
    angles = g.op("Mul", position, inverse)
    g.output(g.op("Mul", g.input(16, 32), to(g, g.op("Cos", angles), FLOAT)))


@case
def shape_that_f32_gets_wrong(g):
    """floor(0.29 * 100) is 28 in doubles and 29 in f32."""
    x = g.input(1, 100)
    kept = to(g, g.op("Floor", g.op("Mul", to(g, size(g, x, 1), DOUBLE), f64(g, 0.29))), INT64)
    g.output(g.op("Slice", x, g.ints(0), g.op("Unsqueeze", kept, g.ints(0)), g.ints(1)))


@case
def integers_beyond_f32(g):
    big = to(g, g.op("Add", to(g, g.constant(np.array([2**24, 2**40])), DOUBLE), f64(g, 1.0)), INT64)
    rest = to(g, g.op("Sub", big, g.constant(np.array([2**24, 2**40]))), FLOAT)
    g.output(g.op("Mul", g.input(2), rest))


@case
def sizes_joined_and_chosen(g):
    x = g.input(1, 3, 6, 8)
    sides = g.op("Concat", g.op("Unsqueeze", to(g, size(g, x, 2), DOUBLE), g.ints(0)),
                 g.op("Unsqueeze", to(g, size(g, x, 3), DOUBLE), g.ints(0)), axis=0)
    longer = g.op("Max", g.op("Gather", sides, g.constant(np.array(0))), g.op("Gather", sides, g.constant(np.array(-1))))
    scale = to(g, g.op("Div", f64(g, 12.0), g.op("Sqrt", g.op("Mul", longer, longer))), FLOAT)
    scales = g.op("Concat", g.constant(np.ones(2, np.float32)), g.op("Expand", scale, g.ints(2)), axis=0)
    g.output(g.op("Resize", x, g.constant(np.zeros(0, np.float32)), scales, mode="nearest"))


@case
def comparison_of_doubles(g):
    less = g.op("Less", to(g, g.input(4, 5), DOUBLE), f64(g, 0.25))
    g.output(to(g, less, FLOAT))


@case
def rounding_between_doubles(g):
    """A cast to f32 and back rounds: what follows is of the rounded number."""
    rounded = to(g, to(g, f64(g, 0.1), FLOAT), DOUBLE)
    rest = g.op("Mul", g.op("Sub", rounded, f64(g, 0.1)), f64(g, 1e9))
    g.output(g.op("Mul", g.input(3), to(g, rest, FLOAT)))


@case
def large_constant(g):
    g.output(g.op("Add", g.input(1, 300, 300), to(g, g.constant(g.random.standard_normal((300, 300))), FLOAT)))


def check_told(tap, bench):
    g = Graph()
    x = g.op("Cast", g.input(2, 3), to=DOUBLE, name="up")
    g.output(g.op("Cast", g.op("Mul", x, f64(g, 0.1)), to=FLOAT, name="down"))
    done = bench.convert(g.model())
    sites = [(row["site"], row["verdict"]) for row in bench.ledger() if row["pass"] == "double"] if not done.returncode else []
    tap.ok("casts to float64 are in the ledger", sites == [("up", "applied")], done.stderr, sites)
    done = command(CLI, "convert", bench.onnx, "-o", bench.ipex, "--json")
    note = json.loads(done.stdout)["entries"][0]["notes"]
    tap.ok("the note says how many", "1 constants are rounded, 1 casts" in note, note)


def check_refused(tap, bench):
    g = Graph()
    wide = g.input(2, name="wide", dtype=DOUBLE)
    g.output(g.op("Cast", g.op("Neg", wide), to=FLOAT), g.op("Cast", g.input(2), to=DOUBLE, out="also_wide"))
    model = g.model()
    model.graph.output[1].type.tensor_type.elem_type = DOUBLE
    done = bench.convert(model)
    parts = ["wide (graph input): its data type float64", "also_wide (graph output): its data type float64"]
    tap.ok("ports of type float64 are refused together", done.returncode == 1 and all(p in done.stderr for p in parts), done.stderr)


def check_bound(tap, bench):
    """--const of an input of doubles, as a number and as a file."""
    g = Graph()
    wide = g.input(1, name="wide", dtype=DOUBLE)
    kept = to(g, g.op("Mul", wide, f64(g, 100.0)), INT64)
    g.output(g.op("Slice", g.input(40, name="x"), g.ints(0), kept))
    np.save(bench.folder / "wide.npy", np.array([0.29]))
    for value in ("0.29", bench.folder / "wide.npy"):
        done = bench.convert(g.model(), "--const", f"wide={value}")
        got = bench.run({"x": np.ones(40, np.float32)}) if done.returncode == 0 else done.stderr
        tap.ok(f"--const of doubles: {'a number' if value == '0.29' else 'a file'}",
               isinstance(got, dict) and list(got.values())[0].shape == (28,), got)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for name, fill in CASES:
            graph = Graph()
            fill(graph)
            why = bench.right(graph, "--golden", "1")
            tap.ok(name, why is None, why)
        for what in (check_told, check_refused, check_bound):
            what(tap, bench)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
