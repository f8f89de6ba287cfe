#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recurrent operators: RNN, which becomes layers step by step, LSTM and GRU whose hidden units threads share, and the
layout with the batch first (which ONNX Runtime lacks: there the same is computed by transpositions), each against ONNX
Runtime with the same bytes at every kernel level and thread count; what of them is refused; and that a long RNN is
converted in no time."""
import itertools
import pathlib
import sys
import tempfile
import time

from small_graphs import Bench, Graph, difference, expected_outputs, variants

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STATES = {"RNN": 1, "GRU": 1, "LSTM": 2}
MORE_THREADS = [("--threads", str(n)) for n in (3, 4)]
LONG_SECONDS = 10  # takes 0.1 where nothing else runs


def recurrent(op_type, steps, batch, inputs, hidden, direction="forward", bias=True, state=False, layout=0, moved=False,
              scale=0.3, **attributes):
    """moved: the layout by transpositions around the node."""
    g, gates, directions = Graph(17), GATES[op_type] * hidden, 2 if direction == "bidirectional" else 1
    weights = g.weight(directions, gates, inputs, scale=0.4), g.weight(directions, gates, hidden, scale=scale)
    bias = g.weight(directions, 2 * gates) if bias else ""
    x = g.input(*((batch, steps) if layout or moved else (steps, batch)), inputs)
    states = [g.input(*((batch, directions) if layout or moved else (directions, batch)), hidden)
              for _ in range(STATES[op_type] if state else 0)]
    if moved:
        x, *states = [g.op("Transpose", v, perm=[1, 0, 2]) for v in (x, *states)]
    y, *left = g.op(op_type, x, *weights, bias, "", *states, outputs=1 + STATES[op_type], name="the_node",
                    hidden_size=hidden, direction=direction, **({"layout": 1} if layout else {}), **attributes)
    if moved:
        y, left = g.op("Transpose", y, perm=[2, 0, 1, 3]), [g.op("Transpose", v, perm=[1, 0, 2]) for v in left]
    g.output(y, *left)
    return g


def networks():
    """(title, graph, flags, sizes)"""
    both = "bidirectional"
    varying = ["--dim", "b=1..4", "--golden", "1"], [{"b": 1}, {"b": 4}]
    for direction in "forward", "reverse", both:
        for state in False, True:
            yield f"RNN, {direction}, state {state}", recurrent("RNN", 7, 2, 5, 9, direction, state=state), [], []
    for activations in ["Relu", "Relu"], ["Tanh", "Sigmoid"], ["Relu", "Tanh"]:
        yield f"RNN, {activations}", recurrent("RNN", 5, 1, 8, 33, both, activations=activations), [], []
    for op_type, attributes in ("LSTM", {}), ("GRU", {"linear_before_reset": 1}), ("GRU", {}):
        for direction, batch, state in ("forward", 1, False), ("reverse", 3, True), (both, 1, True):
            yield (f"{op_type} whose hidden units threads share, {attributes or ''} {direction}, batch {batch}",
                   recurrent(op_type, 70, batch, 24, 176, direction, state=state, scale=0.05, **attributes), [], [])
    for op_type, attributes in ("LSTM", {}), ("GRU", {"linear_before_reset": 1}):
        yield (f"{op_type} whose hidden units threads share, a length that varies",
               recurrent(op_type, "t", 1, 24, 240, both, state=True, scale=0.05, **attributes),
               ["--dim", "t=1..90", "--golden", "1"], [{"t": 1}, {"t": 90}])
    yield "RNN without bias", recurrent("RNN", 5, 2, 3, 4, bias=False), [], []
    yield "RNN, one step", recurrent("RNN", 1, 2, 3, 4, both), [], []
    yield "RNN, one step from a state", recurrent("RNN", 1, 2, 3, 4, state=True, activations=["Relu"]), [], []
    yield "RNN, 200 steps", recurrent("RNN", 200, 1, 40, 64), [], []
    yield "RNN, a batch that varies", recurrent("RNN", 6, "b", 5, 9, both, state=True), *varying
    g = Graph()
    y, left = g.op("RNN", g.input(4, 1, 3), g.weight(1, 5, 3), g.weight(1, 5, 5), outputs=2, hidden_size=5)
    g.output(left)
    yield "RNN of which only the state is read", g, [], []


def batch_first():
    """(title, arguments of recurrent, flags, sizes)"""
    for op_type in GATES:
        for direction, state in itertools.product(("forward", "reverse", "bidirectional"), (False, True)):
            yield f"{op_type}, {direction}, state {state}", (op_type, 6, 3, 5, 9, direction, True, state), [], [{}]
        yield (f"{op_type}, a batch that varies", (op_type, 6, "b", 5, 9, "bidirectional", True, True), ["--dim", "b=1..4"],
               [{"b": 1}, {"b": 4}])
    yield "GRU, steps that vary", ("GRU", "t", 2, 5, 9, "bidirectional"), ["--dim", "t=1..9"], [{"t": 1}, {"t": 9}]


def as_moved(bench, arguments, flags, sizes):
    """The layout gives what transpositions around the node give."""
    moved, graph = recurrent(*arguments, moved=True), recurrent(*arguments, layout=1)
    done = bench.convert(graph.model(), *flags)
    if done.returncode != 0:
        return done.stderr
    for values in sizes:
        feeds = moved.feeds(values)
        got, expected = bench.run(feeds), expected_outputs(moved.model(), feeds)
        if isinstance(got, str):
            return got
        for name, y in zip(graph.outputs, expected.values()):
            why = difference(f"{values} {name}", got.get(name), y)
            if why:
                return why
        why = bench.compare_bits(feeds)
        if why:
            return why
    return None


def refusals():
    """(title, graph, words, flags)"""
    yield "many steps", recurrent("RNN", 513, 1, 3, 4), "513 steps, each of which becomes a layer", []
    yield "steps that vary", recurrent("RNN", "t", 1, 3, 4), "t steps, each of which becomes a layer", ["--dim", "t=1..9"]
    yield "another activation", recurrent("RNN", 5, 1, 3, 4, activations=["Elu"]), "activation Elu; Tanh", []
    yield "clip", recurrent("RNN", 5, 1, 3, 4, clip=1.0), "clip and input_forget are not supported", []
    g = Graph()
    g.output(g.op("RNN", g.input(4, 1, 3), g.weight(1, 5, 3), g.weight(1, 5, 5), g.weight(1, 5), hidden_size=5,
                  name="the_node"))
    yield "half a bias", g, "the bias has 5 elements, 10 are expected", []


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for title, graph, flags, sizes in networks():
            why = bench.right(graph, *flags, bits=variants() + MORE_THREADS, sizes=sizes)
            tap.ok(title, why is None, why)
        for title, arguments, flags, sizes in batch_first():
            why = as_moved(bench, arguments, flags, sizes)
            tap.ok(f"batch first: {title}", why is None, why)
        for title, graph, words, flags in refusals():
            done = bench.convert(graph.model(), *flags)
            said = done.returncode == 1 and "the_node (RNN)" in done.stderr and words in done.stderr
            tap.ok(f"{title}: refused", said, done.stderr)
        start = time.monotonic()
        done = bench.convert(recurrent("RNN", 512, 1, 64, 256, "bidirectional").model())
        took = time.monotonic() - start
        tap.ok("512 steps of both directions", done.returncode == 0 and took < LONG_SECONDS, f"{took:.1f} s", done.stderr)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
