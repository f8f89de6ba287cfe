#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Node tests of operators that are younger than the stored archive, as the installed onnx package generates them:
Attention, RMSNormalization, RotaryEmbedding; and those whose answers it has corrected since (of AveragePool: what lies
beyond the padding counts for nothing; of QLinearMatMul: i8 saturates). Judged as the others are (node_tests.py); so many are right at
least.

newer_node_tests.py [--refusals]   --refusals: why those are refused"""
import collections
import pathlib
import sys
import tempfile
import warnings

import onnx
import onnx.numpy_helper
from onnx.backend.test.case.node import collect_testcases

from node_tests import CORRECTED, CRASHED, REFUSED, RIGHT, WRONG, judge, print_table, refusal_class  # also finds ipextest
from ipextest import Tap

LEAST = {"Attention": 54, "AveragePool": 1, "CausalConvWithState": 10, "LinearAttention": 13, "QLinearMatMul": 4,
         "RMSNormalization": 15, "RotaryEmbedding": 8, "SpaceToDepth": 4, "SwiGLU": 2, "Swish": 1, "TensorScatter": 3}  # that must be right
OLDER = {"AveragePool", "QLinearMatMul"}
NEWEST = 28  # of the operator set


def all_cases():
    """{operator: its test cases on its own, not expanded into others; of older operators those that were corrected}"""
    found = {operator: [] for operator in LEAST}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, about numbers that are meant to overflow
        collected = collect_testcases()
    for case in collected:
        kinds = {node.op_type for node in case.model.graph.node}
        opset = max((o.version for o in case.model.opset_import if o.domain in ("", "ai.onnx")), default=1)
        if len(kinds) == 1 and kinds <= set(found) and opset <= NEWEST and (not kinds & OLDER or case.name in CORRECTED):
            found[kinds.pop()].append(case)
    return found


def store(case, folder):
    """The case as files of a test data set: where judge looks for them."""
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(case.model, folder / case.name / "model.onnx")
    for kind, ports, arrays in zip(("input", "output"), (case.model.graph.input, case.model.graph.output), case.data_sets[0]):
        for index, (port, array) in enumerate(zip(ports, arrays)):
            tensor = onnx.numpy_helper.from_array(array, port.name)
            (data / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())
    return folder / case.name


def check(tap, operator, cases, folder, refusals):
    counts, classes = collections.Counter(), collections.Counter()
    for case in cases:
        _, verdict, text = judge(store(case, folder), folder)
        counts[verdict] += 1
        if verdict == REFUSED:
            classes[refusal_class(text)] += 1
            if refusals:
                print(f"# {case.name}: {text.strip()}")
        elif verdict != RIGHT:
            tap.ok(f"{case.name}: {verdict}", False, text)
    tap.ok(f"{operator}: {counts[RIGHT]} of {counts.total()} are right, at least {LEAST[operator]}, the rest refused by name",
           counts[RIGHT] >= LEAST[operator] and not counts[WRONG] and not counts[CRASHED], dict(counts))
    return counts, classes


def main():
    tap, counts, classes = Tap(), {}, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for operator, cases in all_cases().items():
            counts[operator], why = check(tap, operator, cases, pathlib.Path(folder), "--refusals" in sys.argv)
            classes += why
    print_table(counts, [RIGHT, REFUSED, WRONG, CRASHED])
    print("# refused for", ", ".join(f"{name}: {count}" for name, count in classes.most_common()))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
