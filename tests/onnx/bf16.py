#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real networks converted with --dtype bf16 and with --weights bf16:

  right      --dtype bf16 no further from what the f32 model gives in ONNX Runtime than 1.25 times what ONNX Runtime itself
             gives once every operand of a product is cast to bf16 and back (the oracle), --weights bf16 no further than
             twice (what weights alone do is one throw of the same dice); equal top-1 of the classifiers and of YOLOX
  same bits  outputs byte-equal between instruction set levels and thread counts

The distance of a network is the root of the mean of |y - f32|^2 / |f32|^2 over all its outputs of floats and inputs.

bf16.py right|bits [NAME...]   (all of tests/sized_networks.py; prints TAP; `right` then a table of what was measured)"""
import os
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
from at_sizes import check_networks, ipex, levels, peer
from ipextest import DATA, MODELS, Tap
from networks import photos, vectors

FACTORS = {"dtype": 1.25, "weights": 2}
FLAGS = {"dtype": ("--dtype", "bf16"), "weights": ("--weights", "bf16")}
PRODUCTS = {"Conv": (0, 1), "ConvTranspose": (0, 1), "Gemm": (0, 1), "MatMul": (0, 1), "Einsum": (0, 1),
            "LSTM": (0, 1, 2), "GRU": (0, 1, 2)}
SEEDS = 2


# ---- the oracle ----

class Rounder:
    """Puts a rounding to bf16 before operands, once per value. Below opset 13, which has no cast to bf16, the rounding is
    Veltkamp's splitting: with c = (2^16 + 1) x, c - (c - x) is x to 8 bits."""

    def __init__(self, graph, opset, prefix):
        self.graph, self.opset, self.prefix, self.known = graph, opset, prefix, {}

    def steps(self, name, to):
        if self.opset >= 13:
            return [helper.make_node("Cast", [name], [f"{to}.bf16"], to=TensorProto.BFLOAT16),
                    helper.make_node("Cast", [f"{to}.bf16"], [to], to=TensorProto.FLOAT)]
        factor = f"{to}.factor"
        self.graph.initializer.append(helper.make_tensor(factor, TensorProto.FLOAT, [], [65537.0]))
        return [helper.make_node("Mul", [name, factor], [f"{to}.c"]), helper.make_node("Sub", [f"{to}.c", name], [f"{to}.d"]),
                helper.make_node("Sub", [f"{to}.c", f"{to}.d"], [to])]

    def round(self, name):
        """The rounded value's name, and the nodes that make it where it is new."""
        if name in self.known:
            return self.known[name], []
        self.known[name] = f"{self.prefix}rounded.{len(self.known)}"
        return self.known[name], self.steps(name, self.known[name])


def round_products(graph, opset, prefix=""):
    """Rewrites a graph and those inside it."""
    rounder, nodes = Rounder(graph, opset, prefix), []
    for index, node in enumerate(graph.node):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                round_products(attribute.g, opset, f"{prefix}{index}.{attribute.name}.")
        for operand in PRODUCTS.get(node.op_type, ()):
            node.input[operand], new = rounder.round(node.input[operand])
            nodes += new
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


def oracle(network):
    model = onnx.load(str(network.path))
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    round_products(model.graph, opset)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


# ---- right ----

def real_inputs(network):
    """Pictures where top-1 is compared, else random or real ones of every size."""
    if network.name == "resnet34":
        return [{"data": case.x} for case in photos()]
    if network.name == "squeezenet":
        sets = vectors(DATA / "squeezenet1.1_imagenet" / "test_data_set", np.load)
        return [{"data": case.x} for case in sets]
    return [network.inputs(size, seed) for size in network.sizes for seed in range(SEEDS)]


def best(network, outputs):
    """The best class of a classifier; of a detector, that of its surest box."""
    if network.name == "yolox_nano":
        boxes = outputs[0].reshape(-1, outputs[0].shape[-1])
        return int((boxes[:, 4:5] * boxes[:, 5:]).max(0).argmax())
    return int(outputs[0].reshape(-1).argmax())


def distance(all_got, all_wanted):
    terms = [np.square(np.linalg.norm((got - want).astype(np.float64))) / np.square(np.linalg.norm(want.astype(np.float64)))
             for outputs, wanted in zip(all_got, all_wanted) for got, want in zip(outputs, wanted)
             if want.dtype == np.float32 and np.any(want)]
    return float(np.sqrt(np.mean(terms)))


def run_all(session, network, inputs):
    wanted = {i.name for i in session.get_inputs()}
    return [session.run(None, {name: x for name, x in network.feeds(given).items() if name in wanted}) for given in inputs]


def right(tap, rows, network):
    inputs = real_inputs(network)
    f32 = run_all(peer(network), network, inputs)
    rounded = run_all(oracle(network), network, inputs)
    row = [network.name, distance(rounded, f32)]
    tap.ok(f"{network.name}: rounding operands tells in the oracle", row[1] > 0, "its result is that of f32")
    for kind in FLAGS:
        with ipex.Model(converted(network, kind), threads=2) as model:
            got = [model.run(given) for given in inputs]
        row.append(distance(got, f32))
        tap.ok(f"{network.name}, {kind}: at most {FACTORS[kind]} times as far from f32 as the oracle",
               row[-1] <= FACTORS[kind] * row[1], f"{row[-1]:.3g}, the oracle {row[1]:.3g}")
        if network.name in ("resnet34", "squeezenet", "yolox_nano"):
            mine, theirs = [[best(network, outputs) for outputs in all_] for all_ in (got, f32)]
            tap.ok(f"{network.name}, {kind}: top-1 of {len(mine)} pictures", mine == theirs, f"{mine}, expected {theirs}")
    rows.append(row)


# ---- same bits ----

def bits(tap, rows, network):
    """The reference level, which is slow, with two threads only."""
    inputs = network.inputs(network.sizes[0], 1)
    for kind in FLAGS:
        baseline, file = None, converted(network, kind)
        for level, number in sorted(levels().items(), key=lambda item: -item[1]):
            for threads in (1, 2) if level != "reference" else (2,):
                with ipex.Model(file, threads=threads, isa=number) as model:
                    got = [x.tobytes() for x in model.run(inputs)]
                baseline = baseline or got
                tap.ok(f"{network.name}, {kind}: same bits, {level}, {threads} thread(s)", got == baseline,
                       "other bytes than the best level gives")


# ---- all ----

def converted(network, kind):
    return MODELS / f"{network.name}.{kind}.{os.getpid()}.ipex"  # of its own: other tests run beside


def conversions(network):
    return {f"{network.name}, {kind}": (converted(network, kind), flags) for kind, flags in FLAGS.items()}


def print_table(rows):
    line = "# {:17} {:>9} {:>9} {:>9} {:>7}".format
    print(line("distance to f32", "oracle", "dtype", "weights", "ratio"))
    for name, theirs, dtype, weights in rows:
        print(line(name, f"{theirs:.2e}", f"{dtype:.2e}", f"{weights:.2e}", f"{dtype / theirs:.2f}"))


def main(what, names):
    tap = Tap()
    rows = check_networks(tap, names, conversions, {"right": right, "bits": bits}[what])
    if rows:
        print_table(rows)
    return tap.done()


if __name__ == "__main__":
    if sys.argv[1:2] not in (["right"], ["bits"]):
        sys.exit("usage: bf16.py right|bits [NAME...]")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
