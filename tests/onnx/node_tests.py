#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ONNX project's own node tests: each is converted with its expected outputs as known answers and verified. A
model is tried as it is and, where that is refused, with every input but the first bound by --const, as weights and
axes are in real networks; sizes that make the whole graph constant are all bound. Right answer or refusal with a
message that names the operator; never a wrong answer, never a crash.

node_tests.py [--only TEXT] [--refusals]   prints TAP, then a table by operator and the refusals by class; --refusals: why"""
import argparse
import collections
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import CLI, DATA, ROOT, Tap, command

ARCHIVE = DATA / "onnx_backend_node_1.17.tar.zst"
INTEGERS = {onnx.TensorProto.INT32, onnx.TensorProto.INT64}
BINDABLE = {"float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"}
FLOOR = 940  # of the 1,283 tests, at least so many are right
CORRECTED = {"test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",  # later: see newer_node_tests.py
             *(f"test_qlinearmatmul_{rank}_int8_{scale}" for rank in ("2D", "3D") for scale in ("float16", "float32"))}
NO_TESTS = {"Cast", "CastLike", "CumSum", "Einsum", "NonZero", "ReduceLogSumExp",  # whose node tests are all on what is refused
            "SequenceInsert", "SplitToSequence"}  # and of these give or take sequences, which files do not
RIGHT, REFUSED, WRONG, CRASHED = "right", "refused", "wrong", "crashed"


def operators():
    """What the converter's import tables list."""
    rows = re.compile(r'^    \{"(\w+)", (?:ipex_)?import_\w+\},$', re.MULTILINE)
    sources = (ROOT / "tools" / "convert").glob("import_*.c")
    return {name for path in sources for name in rows.findall(path.read_text())}


def bindings(model, data, folder):
    """--const for every input but the first, or for all where they are sizes (an only one that is an integer, or all
    scalars: the graph is constant then); [] when there is none to bind, or one is no tensor or of a type that --const
    does not take."""
    inputs = list(model.graph.input)
    if any(not value.type.HasField("tensor_type") for value in inputs):
        return []
    kinds = [value.type.tensor_type for value in inputs]
    sizes = all(len(k.shape.dim) == 0 for k in kinds) or (len(kinds) == 1 and kinds[0].elem_type in INTEGERS)
    first = 0 if sizes else 1
    arguments = []
    for index, value in enumerate(inputs[first:], first):
        array = onnx.numpy_helper.to_array(onnx.load_tensor(str(data / f"input_{index}.pb")))
        if array.dtype.name not in BINDABLE:
            return []
        np.save(folder / f"input_{index}.npy", array)
        arguments += ["--const", f"{value.name}={folder / f'input_{index}.npy'}"]
    return arguments


def all_nodes(graph):
    """The graph's nodes and those of the graphs in their attributes."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from all_nodes(attribute.g)


def names_something(message, graph):
    """The message speaks of an operator, or of an input, output or constant by name, or of a file of the answers whose
    type is none of a tensor here."""
    if re.search(r"known answers: \S*put_\d+\.pb: ONNX element type \d+ is not supported", message):
        return True
    ports = [value.name for value in (*graph.input, *graph.output, *graph.initializer)]
    return any(f"({node.op_type}): " in message for node in all_nodes(graph)) or any(
        f"{name} ({kind}): " in message for name in ports for kind in ("graph input", "graph output", "initializer")
    ) or any(f"{kind} {name}: " in message for name in ports for kind in ("input", "output"))


def attempt(model, data, folder, arguments=()):
    """(verdict, what was said)"""
    source, target = folder / "model.onnx", folder / "model.ipex"
    onnx.save(model, source)
    target.unlink(missing_ok=True)
    done = command(CLI, "convert", source, "-o", target, "--quiet", "--golden-from", data, *arguments)
    if done.returncode in (1, 2) and not target.exists():
        return (REFUSED if names_something(done.stderr, model.graph) else CRASHED), done.stderr
    if done.returncode != 0:
        return CRASHED, f"convert: exit {done.returncode}\n{done.stderr}"
    done = command(CLI, "verify", target)
    if done.returncode not in (0, 1):
        return CRASHED, f"verify: exit {done.returncode}\n{done.stderr}"
    return (RIGHT if done.returncode == 0 else WRONG), done.stdout + done.stderr


def judge(test, folder):
    data = test / "test_data_set_0"
    model = onnx.load(test / "model.onnx")
    verdict, text = attempt(model, data, folder)
    arguments = bindings(model, data, folder) if verdict == REFUSED else []
    if arguments:
        verdict, text = attempt(model, data, folder, arguments)
    return model, verdict, text


def main_operator(test, model):
    """The operator that the test is about: of several nodes (an expanded function) the test's own name tells."""
    kinds = {node.op_type for node in model.graph.node}
    return kinds.pop() if len(kinds) == 1 else "(several)"


CLASSES = [("input kind", "is not a tensor"), ("operator", "perator is not supported"),
           ("operator", "operators of domain"),
           ("operator", "loops are not"), ("operator", "shape arithmetic only"),
           ("data type",
            re.compile(r"data type|a cast to|ONNX type|this holds .* b?f16;|(input|indices|comparing|result) \S* ?(is|are|with) \S*\d")),
           ("empty tensor", "dims go from 1"), ("attribute or operand", "")]


def refusal_class(text):
    """What a refusal is about: the first of the classes that its text fits."""
    return next(name for name, words in CLASSES if (words in text if isinstance(words, str) else words.search(text)))


def print_table(counts, verdicts):
    line = "# {:28} {:>7} {:>9} {:>7} {:>9}".format
    print(line("operator", *verdicts))
    for operator in sorted(counts):
        print(line(operator, *[counts[operator][v] for v in verdicts]))
    print(line("all", *[sum(c[v] for c in counts.values()) for v in verdicts]))


def check(tap, tests, folder, refusals):
    counts, classes = collections.defaultdict(collections.Counter), collections.Counter()
    for test in tests:
        model, verdict, text = judge(test, folder)
        counts[main_operator(test, model)][verdict] += 1
        if verdict in (WRONG, CRASHED):
            tap.ok(f"{test.name}: {verdict}", False, text)
        elif verdict == REFUSED:
            classes[refusal_class(text)] += 1
            if refusals:
                print(f"# {test.name}: {text.strip()}")
    return counts, classes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--refusals", action="store_true")
    options = parser.parse_args()
    tap = Tap()
    if not ARCHIVE.exists():
        tap.skip("the ONNX node tests", f"{ARCHIVE.name} is not here (see IPEX_TEST_DATA)")
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command("tar", "--zstd", "-xf", ARCHIVE, "-C", folder, check=True)
        tests = sorted(p.parent for p in folder.rglob("model.onnx") if options.only in p.parent.name and p.parent.name not in CORRECTED)
        counts, classes = check(tap, tests, folder, options.refusals)
    verdicts = [RIGHT, REFUSED, WRONG, CRASHED]
    total = {v: sum(c[v] for c in counts.values()) for v in verdicts}
    tap.ok(f"{total[RIGHT]} of {len(tests)} node tests are right, {total[REFUSED]} refused by name, none else",
           tests and total[RIGHT] + total[REFUSED] == len(tests))
    if not options.only:
        tap.ok(f"at least {FLOOR} node tests are right", total[RIGHT] >= FLOOR)
        missing = {name for name in (operators() - NO_TESTS) & set(counts) if not counts[name][RIGHT]}
        tap.ok("every imported operator with node tests on types that run has right ones", not missing,
               *sorted(missing))
    print_table(counts, verdicts)
    print("# refused for", ", ".join(f"{name}: {count}" for name, count in classes.most_common()))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
