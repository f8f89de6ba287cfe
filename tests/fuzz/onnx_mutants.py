#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hands small ONNX models that together use most of what the converter knows to fuzz_onnx:
onnx_mutants.py FUZZ_ONNX MUTANTS [--from I] [--seconds S] [--more]. TAP of fuzz_onnx.

--seconds S: MUTANTS at a time, until S seconds have passed. --more: also of the smaller real networks, of the onnx package's
node tests, and of all models that the tests of the converter make (which run once for that, some minutes)."""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time
import warnings

import onnx
import onnx.numpy_helper
from onnx.backend.test.case.node import collect_testcases

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "convert")]
from ipextest import BUILD
from onnx_seeds import SMALL
from sized_networks import SIZED

NETWORKS = ["mnist", "basic_pitch", "super_resolution", "ppocr_cls", "resnet20", "silero_vad", "silero_vad_op18", "magika"]
NO_MODELS = {"random_networks", "random_quantised"}  # tests whose models are many and alike
MOST_BYTES = 100_000


def bind(model, arrays):
    """Inputs of these names become constants, as --const makes them."""
    for value in [v for v in model.graph.input if v.name in arrays]:
        model.graph.initializer.append(onnx.numpy_helper.from_array(arrays[value.name], value.name))
        model.graph.input.remove(value)
    return model


def real_networks():
    """(name, model, a size)"""
    for network in SIZED:
        if network.name in NETWORKS and network.path.exists():
            yield network.name, bind(onnx.load(network.path), network.bound), network.sizes[0]


def node_tests():
    """As they are, and with every input but the first a constant, as weights and axes are in real networks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, about numbers that are meant to overflow
        cases = collect_testcases()
    for case in cases:
        ports = case.model.graph.input
        if case.model.ByteSize() > MOST_BYTES or any(not port.type.HasField("tensor_type") for port in ports):
            continue
        yield case.name, case.model, {}
        arrays = {port.name: array for port, array in zip(ports, case.data_sets[0][0]) if hasattr(array, "dtype")}
        try:
            yield f"{case.name}.bound", bind(onnx.ModelProto.FromString(case.model.SerializeToString()),
                                             {port.name: arrays[port.name] for port in list(ports)[1:]}), {}
        except (KeyError, ValueError):  # types that numpy has not
            pass


def models_of_tests(folder):
    """Paths of what the converter's tests convert: the first few of those of the same operators."""
    if not folder.exists():
        folder.mkdir()
        run = lambda test: subprocess.run([sys.executable, test], stdin=subprocess.DEVNULL, capture_output=True, env=environment)
        environment = os.environ | {"IPEX_KEEP_MODELS": str(folder)}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(run, [t for t in sorted((TESTS / "convert").glob("*.py")) if t.stem not in NO_MODELS]))
    return [path for path in sorted(folder.glob("*.onnx")) if path.stat().st_size <= MOST_BYTES]


def fix_sizes(model, size):
    """A mutant may lose them again."""
    for value in model.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.dim_value:
                dim.dim_value = size.get(dim.dim_param, size.get(f"{value.name}[{axis}]", 2))


def write_seeds(more):
    folder = BUILD / "onnx-mutants"
    folder.mkdir(exist_ok=True)
    models = [(make.__name__, make().model(), {}) for make in SMALL]
    for name, model, size in [*models, *real_networks(), *node_tests()] if more else models:
        fix_sizes(model, size)
        onnx.save(model, folder / f"{name}.onnx")
        yield folder / f"{name}.onnx"
    if more:
        yield from models_of_tests(BUILD / "models-of-tests")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fuzz_onnx")
    parser.add_argument("mutants", type=int)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--more", action="store_true")
    options = parser.parse_args()
    paths, end, result = list(write_seeds(options.more)), time.monotonic() + options.seconds, None
    while result is None or (result == 0 and time.monotonic() < end):
        words = [options.fuzz_onnx, str(options.mutants), *paths, "--from", str(options.first)]
        result = subprocess.run(words, stdin=subprocess.DEVNULL).returncode
        options.first += options.mutants
    return result


if __name__ == "__main__":
    sys.exit(main())
