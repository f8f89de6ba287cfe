#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Symbolic import alone: the shape and type of every tensor of a network, as the importer's expressions say, equal what
ONNX Runtime computes at five random sizes of every network of tests/sized_networks.py, and on the ONNX node tests.

symbolic_shapes.py IMPORT_SHAPES networks|nodes [NAME...]   prints TAP"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS)]
from ipextest import MODELS, Tap, command
from node_tests import ARCHIVE, bindings
from sized_networks import networks_here

SIZES = 5
IMPORTED = 800  # at least so many of the node tests' models are imported and compared
# half precision and doubles are computed in f32; ONNX Runtime hands out bfloat16 as its bits, and the importer has no uint16
OURS = {"float32": "f32", "float16": "f32", "uint16": "f32", "float64": "f32", "int8": "i8", "uint8": "u8", "int32": "i32",
        "int64": "i64", "bool": "bool"}


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def observed(model):
    """(a session that returns every tensor that a node of the graph computes, their names)"""
    names = [name for node in model.graph.node for name in node.output if name]
    seen = onnx.ModelProto()
    seen.CopyFrom(model)
    del seen.graph.output[:]
    seen.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return session(seen), names


def without_ifs(model, feeds):
    """The model with the branch that `feeds` choose in the place of every If."""
    while any(node.op_type == "If" for node in model.graph.node):
        run, names = observed(model)
        wanted = {i.name for i in run.get_inputs()}
        values = dict(zip(names, run.run(None, {name: x for name, x in feeds.items() if name in wanted})))
        nodes = list(model.graph.node)
        del model.graph.node[:]
        for node in nodes:
            if node.op_type != "If":
                model.graph.node.append(node)
                continue
            branches = {a.name: a.g for a in node.attribute}
            branch = branches["then_branch" if values[node.input[0]].all() else "else_branch"]
            model.graph.initializer.extend(branch.initializer)
            model.graph.node.extend(branch.node)
            for inner, outer in zip(branch.output, node.output):
                model.graph.node.append(onnx.helper.make_node("Identity", [inner.name], [outer]))
    return model


def shape(x):
    return "x".join(map(str, x.shape))


def differences(lines, names, columns):
    """What the importer says of every tensor against arrays of ONNX Runtime, one list per size."""
    said = {name: rest for name, *rest in (line.split("\t") for line in lines)}
    for i, name in enumerate(names):
        expected = [OURS.get(columns[0][i].dtype.name, "?"), *[shape(column[i]) for column in columns]]
        if said.get(name) != expected:
            yield f"{name}: {said.get(name, 'is not there')}, expected {expected}"


def random_sizes(network, seed):
    random, ranges = np.random.default_rng(seed), network.wider()
    picks = [{s: int(random.integers(lo // step, hi // step + 1)) * step for s, (lo, hi, step) in ranges.items()}
             for _ in range(SIZES)]
    return ranges, picks


def check_network(tap, program, network):
    ranges, picks = random_sizes(network, 3)
    picks = picks if ranges else picks[:1]
    feeds = [network.feeds(network.inputs(size, seed)) for seed, size in enumerate(picks)]
    model = without_ifs(onnx.load(network.path), feeds[0])
    path = MODELS / "without_ifs.onnx"
    onnx.save(model, path)
    words = [f"dim {symbol} {lo} {hi} {step}" for symbol, (lo, hi, step) in ranges.items()]
    words += [f"const {name} {value}" for name, value in network.bound.items()]
    words += ["at " + ",".join(str(size[symbol]) for symbol in ranges) for size in picks]
    done = command(program, path, *" ".join(words).split(" "))
    path.unlink()
    if not tap.ok(f"{network.name}: imports", done.returncode == 0, done.stderr):
        return
    run, names = observed(model)
    wanted = {i.name for i in run.get_inputs()}
    columns = [run.run(None, {name: x for name, x in given.items() if name in wanted}) for given in feeds]
    wrong = list(differences(done.stdout.splitlines(), names, columns))
    tap.ok(f"{network.name}: {len(names)} tensors at {len(picks)} size(s)", names and not wrong, *wrong[:20])


def networks(tap, program, names):
    for network in networks_here(tap, names):
        check_network(tap, program, network)


def node_feeds(model, data):
    return {value.name: onnx.numpy_helper.to_array(onnx.load_tensor(str(data / f"input_{i}.pb")))
            for i, value in enumerate(model.graph.input)}


def check_node(program, test, folder):
    """None where the model is refused, else what is wrong: a text, or ""."""
    model, data = onnx.load(test / "model.onnx"), test / "test_data_set_0"
    done = command(program, test / "model.onnx", "at", "")
    if done.returncode != 0:
        given = [word for word in bindings(model, data, folder) if word != "--const"]
        words = [part for text in given for part in ("const", *text.split("=", 1))]
        done = command(program, test / "model.onnx", *words, "at", "") if given else done
    if done.returncode != 0:
        return f"died: {done.returncode}" if done.returncode != 1 else None
    try:
        run, names = observed(model)
        column = run.run(None, node_feeds(model, data))
    except Exception:  # ONNX Runtime does not know the operator for this type: the test's own results
        names = [value.name for value in model.graph.output]
        column = [onnx.numpy_helper.to_array(onnx.load_tensor(str(data / f"output_{i}.pb"))) for i in range(len(names))]
    return "\n".join(differences(done.stdout.splitlines(), names, [column]))


def nodes(tap, program, names):
    if not ARCHIVE.exists():
        tap.skip("the ONNX node tests", f"{ARCHIVE.name} is not here (see IPEX_TEST_DATA)")
        return
    imported = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command("tar", "--zstd", "-xf", ARCHIVE, "-C", folder, check=True)
        for path in sorted(folder.rglob("model.onnx")):
            if names and path.parent.name not in names:
                continue
            wrong = check_node(program, path.parent, folder)
            imported += wrong == ""
            if wrong:
                tap.ok(path.parent.name, False, wrong)
    if not names:
        tap.ok(f"{imported} node tests' models are imported with the right shapes", imported >= IMPORTED)


if __name__ == "__main__":
    what = {"networks": networks, "nodes": nodes}.get(sys.argv[2] if len(sys.argv) > 2 else "")
    if not what:
        sys.exit("usage: symbolic_shapes.py IMPORT_SHAPES networks|nodes [NAME...]")
    result = Tap()
    what(result, sys.argv[1], sys.argv[3:])
    sys.exit(result.done())
