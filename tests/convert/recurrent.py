#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recurrent operators: RNN, and LSTM and GRU of other activations, which become layers step by step, LSTM and GRU whose
hidden units threads share, and the layout with the batch first (which ONNX Runtime lacks: there the same is computed by
transpositions), sequences of one batch that end at different steps, each against ONNX Runtime with the same bytes at
every kernel level and thread count; what of them is refused; and that a long RNN is converted in no time."""
import itertools
import pathlib
import sys
import tempfile
import time

import numpy as np
import onnx

from small_graphs import Bench, Graph, difference, expected_outputs, variants

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STATES = {"RNN": 1, "GRU": 1, "LSTM": 2}
MORE_THREADS = [("--threads", str(n)) for n in (3, 4)]
LONG_SECONDS = 10  # takes 0.1 where nothing else runs


def recurrent(op_type, steps, batch, inputs, hidden, direction="forward", bias=True, state=False, layout=0, moved=False,
              scale=0.3, lengths=None, peepholes=False, **attributes):
    """moved: the layout by transpositions around the node. lengths: of the sequences, constants, or True for an input."""
    g, gates, directions = Graph(17), GATES[op_type] * hidden, 2 if direction == "bidirectional" else 1
    weights = g.weight(directions, gates, inputs, scale=0.4), g.weight(directions, gates, hidden, scale=scale)
    bias = g.weight(directions, 2 * gates) if bias else ""
    x = g.input(*((batch, steps) if layout or moved else (steps, batch)), inputs)
    states = [g.input(*((batch, directions) if layout or moved else (directions, batch)), hidden)
              for _ in range(STATES[op_type] if state else 0)]
    if moved:
        x, *states = [g.op("Transpose", v, perm=[1, 0, 2]) for v in (x, *states)]
    if lengths is True:
        lengths = g.op("Add", g.input(batch, dtype=onnx.TensorProto.INT32), g.constant(np.array(1, np.int32)))
    elif lengths is not None:
        lengths = g.constant(np.array(lengths, np.int32))
    if peepholes:
        states = [*states, *[""] * (2 - len(states)), g.weight(directions, 3 * hidden)]
    y, *left = g.op(op_type, x, *weights, bias, lengths or "", *states, outputs=1 + STATES[op_type], name="the_node",
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
    yield "RNN, 600 steps", recurrent("RNN", 600, 2, 5, 9, both, state=True), [], []
    for direction, bias in ("forward", False), ("reverse", True), (both, True):
        for lengths in (None, True):
            yield (f"RNN, {direction}, steps that vary{', lengths' if lengths else ''}",
                   recurrent("RNN", "t", "b", 5, 9, direction, bias, state=bias, lengths=lengths),
                   ["--dim", "t=6..9", "--dim", "b=1..3", "--golden", "1"], [{"t": 6, "b": 3}, {"t": 9, "b": 1}])
    yield "RNN, a batch that varies", recurrent("RNN", 6, "b", 5, 9, both, state=True), *varying
    for bias in True, False:
        g = Graph()  # all of it constant, with results that others of its nodes read
        y, left = g.op("RNN", g.weight(4, 1, 3), g.weight(1, 5, 3), g.weight(1, 5, 5), *([g.weight(1, 10)] if bias else []),
                       outputs=2, hidden_size=5)
        g.output(g.op("Add", y, g.input(5)), g.op("Mul", left, g.input(5)))
        yield f"RNN of a constant, bias {bias}", g, [], []
    g = Graph()
    y, left = g.op("RNN", g.input(4, 1, 3), g.weight(1, 5, 3), g.weight(1, 5, 5), outputs=2, hidden_size=5)
    g.output(left)
    yield "RNN of which only the state is read", g, [], []


def ending():
    """Sequences of one batch that end at different steps: (title, graph, flags, sizes)"""
    both, varying = "bidirectional", ["--dim", "b=1..4", "--golden", "1"]
    for op_type in GATES:
        for direction, state in itertools.product(("forward", "reverse", both), (False, True)):
            yield f"{op_type}, {direction}, state {state}", recurrent(op_type, 7, 6, 5, 9, direction, state=state, lengths=True), [], []
        yield f"{op_type}, lengths known", recurrent(op_type, 7, 4, 5, 9, both, lengths=[7, 3, 1, 4]), [], []
        yield f"{op_type}, none of them shorter", recurrent(op_type, 7, 2, 5, 9, both, lengths=[7, 7]), [], []
        yield (f"{op_type}, a batch that varies", recurrent(op_type, 6, "b", 5, 9, both, state=True, lengths=True),
               varying, [{"b": 1}, {"b": 4}])
        g = recurrent(op_type, 7, 5, 5, 9, both, lengths=True)
        g.outputs = g.outputs[:1]
        yield f"{op_type}, of which nothing but y is read", g, [], []
    for op_type in "LSTM", "GRU":
        yield (f"{op_type}, steps that vary", recurrent(op_type, "t", "b", 5, 9, both, state=True, lengths=True),
               ["--dim", "t=6..9", "--dim", "b=1..5", "--golden", "1"], [{"t": 6, "b": 5}, {"t": 8, "b": 1}, {"t": 9, "b": 3}])
    yield "GRU, linear before reset", recurrent("GRU", 7, 5, 5, 9, both, lengths=True, linear_before_reset=1), [], []
    for axes in {"time_axis": 0, "batch_axis": 1}, {"time_axis": 1, "batch_axis": 0}:
        for rest in (), (3,), (2, 3):
            g, (time, batch) = Graph(17), (axes["time_axis"], axes["batch_axis"])
            shape = ("t", 4) if time == 0 else (4, "t")
            x, lengths = g.input(*shape, *rest), g.op("Add", g.input(4, dtype=onnx.TensorProto.INT64), g.ints(1))
            g.output(g.op("ReverseSequence", x, lengths, **axes))
            yield f"ReverseSequence, {axes}, rows {rest}", g, ["--dim", "t=6..9", "--golden", "1"], [{"t": 6}, {"t": 9}]


PLAIN = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
OTHERS = {"Relu": {}, "HardSigmoid": {}, "LeakyRelu": {"activation_alpha": [0.1]}, "Elu": {}, "Softsign": {}, "Softplus": {},
          "Affine": {"activation_alpha": [0.5], "activation_beta": [0.25]}, "ThresholdedRelu": {"activation_alpha": [0.2]},
          "ScaledTanh": {"activation_alpha": [0.9], "activation_beta": [1.2]}}


def other_activations():
    """Layers that are no operator of the plan: (title, graph, flags, sizes)"""
    both = "bidirectional"
    for op_type, plain in PLAIN.items():
        for name, attributes in OTHERS.items():
            for i in range(len(plain)):
                acts = plain[:i] + [name] + plain[i + 1:]
                yield f"{op_type}, {acts}", recurrent(op_type, 6, 2, 5, 9, activations=acts, **attributes), [], []
        acts = ["Relu"] + plain[1:] + ["HardSigmoid"] + plain[1:]
        for lengths in None, True:
            yield (f"{op_type}, {acts}, lengths {lengths}",
                   recurrent(op_type, 7, "b", 5, 9, both, state=True, activations=acts, activation_alpha=[0.3], lengths=lengths),
                   ["--dim", "b=1..4", "--golden", "1"], [{"b": 1}, {"b": 4}])
            yield (f"{op_type}, clip, lengths {lengths}",
                   recurrent(op_type, 7, 3, 5, 9, "reverse", state=True, clip=0.4, lengths=lengths), [], [])
    hard = ["HardSigmoid", "Relu"]
    yield ("GRU, linear before reset", recurrent("GRU", 6, 2, 5, 9, both, activations=hard * 2, linear_before_reset=1,
                                                 activation_alpha=[0.3, 0.1], activation_beta=[0.4, 0.6]), [], [])
    yield "GRU, without bias", recurrent("GRU", 6, 2, 5, 9, activations=hard, linear_before_reset=1, bias=False), [], []
    for direction, state in ("forward", False), (both, True):
        for attributes in {"peepholes": True}, {"input_forget": 1}, {"peepholes": True, "clip": 0.5, "input_forget": 1}:
            yield f"LSTM, {direction}, {attributes}", recurrent("LSTM", 6, 2, 5, 9, direction, state=state, **attributes), [], []


def at_the_ends(bench, op_type):
    """What a sequence without steps leaves is the state that it began with (ONNX Runtime: zeros; TensorFlow, too, passes
    it on). Lengths beyond either end are that end."""
    g = recurrent(op_type, 4, 4, 5, 9, "bidirectional", state=True, lengths=True)
    done = bench.convert(g.model())
    if done.returncode != 0:
        return done.stderr
    feeds = g.feeds()
    lengths = next(name for name, x in feeds.items() if x.dtype == np.int32)
    runs = [bench.run(feeds | {lengths: np.array(values, np.int32) - 1}) for values in ([0, 2, 4, 0], [-3, 2, 99, 0])]
    if any(isinstance(run, str) for run in runs):
        return runs
    y, *left = (runs[0][name] for name in g.outputs)
    kept = all(np.array_equal(after[:, [0, 3]], before[:, [0, 3]])
               for after, before in zip(left, [x for name, x in feeds.items() if name != lengths][1:]))
    same = all(np.array_equal(runs[0][name], runs[1][name]) for name in g.outputs)
    return None if kept and same and not y[:, :, [0, 3]].any() and y[:2, :, 1].all() else f"{runs}"


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
    relu = {"activations": ["Relu"]}
    yield "many steps", recurrent("RNN", 513, 1, 3, 4, **relu), "513 steps, each of which becomes layers", []
    yield "steps that vary", recurrent("RNN", "t", 1, 3, 4, **relu), "t steps, each of which becomes layers", ["--dim", "t=1..9"]
    yield "another activation", recurrent("RNN", 5, 1, 3, 4, activations=["Sine"]), "activation Sine is not supported", []
    yield ("another number of activations", recurrent("GRU", 5, 1, 3, 4, "bidirectional", activations=["Relu", "Tanh"]),
           "2 activations; 4 are expected", [])
    yield ("clip over steps that vary", recurrent("LSTM", "t", 1, 3, 4, clip=1.0), "t steps, each of which becomes layers",
           ["--dim", "t=1..9"])
    yield "a length beyond", recurrent("LSTM", 5, 2, 3, 4, lengths=[5, 6]), "length 6 of 5 steps", []
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
        for title, graph, flags, sizes in ending():
            why = bench.right(graph, *flags, bits=True, sizes=sizes)
            tap.ok(f"lengths: {title}", why is None, why)
        for title, graph, flags, sizes in other_activations():
            why = bench.right(graph, *flags, bits=True, sizes=sizes)
            tap.ok(f"step by step: {title}", why is None, why)
        for op_type in GATES:
            why = at_the_ends(bench, op_type)
            tap.ok(f"lengths: {op_type}, no steps and too many", why is None, why)
        for title, arguments, flags, sizes in batch_first():
            why = as_moved(bench, arguments, flags, sizes)
            tap.ok(f"batch first: {title}", why is None, why)
        for title, graph, words, flags in refusals():
            done = bench.convert(graph.model(), *flags)
            said = done.returncode == 1 and "the_node (" in done.stderr and words in done.stderr
            tap.ok(f"{title}: refused", said, done.stderr)
        start = time.monotonic()
        done = bench.convert(recurrent("RNN", 512, 1, 64, 256, "bidirectional").model())
        took = time.monotonic() - start
        tap.ok("512 steps of both directions", done.returncode == 0 and took < LONG_SECONDS, f"{took:.1f} s", done.stderr)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
