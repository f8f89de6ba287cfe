#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real networks against ONNX Runtime and the vectors that their authors published, and against themselves:

  right      max |difference| <= 1e-4 of the largest magnitude of the expected output, equal top-1
  same bits  outputs byte-equal between instruction set levels, thread counts, and batch 1 against a sample in batch 3

networks.py [NAME...]   (all networks of tests/models.py; prints TAP, then a table of what was measured)"""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "tools" / "examples")]
import text_line
from ipextest import DATA, Tap, cli_at, isa_levels, networks, run_network

TOLERANCE = 1e-4
DLIB_MEAN = np.array([122.782, 117.001, 104.298], np.float32)  # of dlib's input layer; it divides by 256


class Case:
    """One input [1][...] and, where somebody else published it, the expected output and its origin."""

    def __init__(self, name, x, expected=None, origin=None):
        self.name, self.x, self.expected, self.origin = name, x, expected, origin


def photos():
    folder = DATA / "resnet34_imagenet"
    for path in sorted(folder.glob("*.rgb")):
        name = path.name.split(".")[0]
        pixels = np.fromfile(path, np.uint8).reshape(227, 227, 3).astype(np.float32)
        x = ((pixels - DLIB_MEAN) / np.float32(256)).transpose(2, 0, 1)[None]
        logits = np.fromfile(folder / f"{name}.logits1000.f32", np.float32)[None]
        yield Case(name, np.ascontiguousarray(x), logits, "dlib")


def vectors(folder, load):
    for index, path in enumerate(sorted(folder.rglob("input_0.*"))):
        yield Case(f"set {index}", load(path), load(path.with_name(path.name.replace("input", "output"))), "upstream")


def load_pb(path):
    return onnx.numpy_helper.to_array(onnx.load_tensor(str(path)))


def lines():
    picture = text_line.draw(text_line.TEXT)
    for turned in (0, 180):
        yield Case(f"text at {turned}", text_line.prepare(picture.rotate(turned)))


def cases(network):
    real = {
        "resnet34": photos,
        "squeezenet": lambda: vectors(DATA / "squeezenet1.1_imagenet" / "test_data_set", np.load),
        "super_resolution": lambda: vectors(DATA / "zoo_small" / "super_resolution_10", load_pb),
        "mnist": lambda: vectors(DATA / "zoo_small" / "mnist_8", load_pb),
        "text_direction": lines,
    }.get(network.name, lambda: ())
    return list(real()) or [Case(f"seed {seed}", network.random_input(1, seed)) for seed in (1, 2)]


def reference_session(network):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(str(network.onnx), options, providers=["CPUExecutionProvider"])


def compare(tap, rows, network, case, got, expected, origin):
    name = f"{network.name}, {case.name}: against {origin}"
    if not tap.ok(f"{name}, shape", got.shape == expected.shape, f"{got.shape}, expected {expected.shape}"):
        return
    magnitude = float(np.abs(expected).max())
    difference = float(np.abs(got.astype(np.float64) - expected).max())
    classes = expected.ndim == 2
    equal = bool(got.argmax() == expected.argmax())
    rows.append((network.name, case.name, origin, difference, magnitude, ("DIFFERS", "equal")[equal] if classes else "-"))
    tap.ok(f"{name}, difference", difference <= TOLERANCE * magnitude, f"{difference:.3g} of {magnitude:.3g}")
    if classes:
        tap.ok(f"{name}, top-1", equal, f"{got.argmax()}, expected {expected.argmax()}")


def same_bits(tap, network, x, folder):
    baseline = run_network(network.ipex(), {network.port: x}, folder)[0].tobytes()
    for isa, available in isa_levels().items():
        for threads in (1, 2):
            name = f"{network.name}: same bits, {isa}{'' if available else ' emulated'}, {threads} thread(s)"
            options, program = ("--isa", isa, "--threads", str(threads)), cli_at(isa)
            if not program.exists():
                tap.skip(name, f"this CPU has no {isa}, and this build does not emulate it")
                continue
            got = run_network(network.ipex(), {network.port: x}, folder, *options, program=program)
            tap.ok(name, got[0].tobytes() == baseline, "other bytes than the default level gives")


def same_in_batch(tap, network, samples, folder):
    stack = np.concatenate(samples)
    together = run_network(network.ipex(3), {network.port: stack}, folder)[0]
    for index, x in enumerate(samples):
        alone = run_network(network.ipex(), {network.port: x}, folder)[0]
        same = alone.tobytes() == together[index : index + 1].tobytes()
        tap.ok(f"{network.name}: same bits, sample {index} of batch 3", same, "other bytes than alone")


def check(tap, rows, network, folder):
    session = reference_session(network)
    all_cases = cases(network)
    for case in all_cases:
        got = run_network(network.ipex(), {network.port: case.x}, folder)[0]
        compare(tap, rows, network, case, got, session.run(None, {network.port: case.x})[0], "ONNX Runtime")
        if case.expected is not None:
            compare(tap, rows, network, case, got, case.expected, case.origin)
    same_bits(tap, network, all_cases[0].x, folder)
    if network.fixed:
        tap.skip(f"{network.name}: same bits in a batch", "its batch is not symbolic")
        return
    samples = [case.x for case in all_cases] + [network.random_input(1, seed) for seed in (7, 8)]
    same_in_batch(tap, network, samples[:3], folder)


def print_table(rows):
    line = "# {:17} {:14} {:13} {:>11} {:>11} {:>9}  {}".format
    print(line("network", "input", "against", "max |diff|", "of max |y|", "relative", "top-1"))
    for name, case, origin, difference, magnitude, top in rows:
        numbers = f"{difference:.3g}", f"{magnitude:.4g}", f"{difference / magnitude:.2g}"
        print(line(name, case, origin, *numbers, top))


def main(names):
    tap, rows = Tap(), []
    here, absent = networks()
    with tempfile.TemporaryDirectory() as folder:
        for network in here:
            if names and network.name not in names:
                continue
            try:
                check(tap, rows, network, pathlib.Path(folder) / "run")
            except (RuntimeError, OSError, ValueError) as error:
                tap.ok(f"{network.name}: runs", False, error)
    for name in absent:
        if not names or name in names:
            tap.skip(name, "its model is not here")
    print_table(rows)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
