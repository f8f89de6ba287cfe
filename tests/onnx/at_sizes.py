#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real networks at changing sizes, through the C interface (tools/python/ipex.py), one session each:

  right      max |difference| <= 1e-4 of the largest magnitude of what ONNX Runtime gives, every output, at two sizes
  same bits  outputs byte-equal between instruction set levels and thread counts, when a size comes back, and without bands

at_sizes.py right|bits [NAME...]   (all of tests/sized_networks.py; prints TAP; `right` then a table of what was measured)"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, ROOT, Tap

os.environ["IPEX_LIBRARY"] = str(BUILD / "runtime" / "libipex.so")
sys.path.insert(0, str(ROOT / "tools" / "python"))

import numpy as np
import onnxruntime

import ipex
from sized_networks import networks_here

TOLERANCE = 1e-4


def peer(network):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(str(network.path), options, providers=["CPUExecutionProvider"])


def shape_text(inputs):
    return " ".join("x".join(map(str, x.shape)) or "1" for x in inputs.values())


def compare(tap, rows, name, port, shapes, got, expected):
    what = f"{name}, {shapes}: {port}"
    if not tap.ok(f"{what}, shape and type", (got.shape, got.dtype) == (expected.shape, expected.dtype),
                  f"{got.dtype} {got.shape}, expected {expected.dtype} {expected.shape}"):
        return
    magnitude = float(np.abs(expected).max())
    difference = float(np.abs(got.astype(np.float64) - expected).max())
    rows.append((name, shapes, port, difference, magnitude))
    tap.ok(f"{what}, difference", difference <= TOLERANCE * magnitude, f"{difference:.3g} of {magnitude:.3g}")


def right(tap, rows, network):
    session = peer(network)
    wanted = {i.name for i in session.get_inputs()}
    with ipex.Model(network.ipex, threads=2) as model:
        for seed, size in enumerate(network.sizes * (3 - len(network.sizes))):
            inputs = network.inputs(size, seed)
            feeds = {name: x for name, x in network.feeds(inputs).items() if name in wanted}
            for port, got, expected in zip(session.get_outputs(), model.run(inputs), session.run(None, feeds)):
                compare(tap, rows, network.name, port.name, shape_text(inputs), got, expected)


def levels():
    """{name: number} of the levels of this machine."""
    library = ipex._lib
    library.ipex_isa_name.restype = ipex.TEXT
    named = {number: library.ipex_isa_name(number) for number in range(1, 64)}
    return {name.decode(): number for number, name in named.items() if name and library.ipex_isa_available(number)}


def bits(tap, rows, network):
    """Sizes A, B, A in one session of every level and thread count; the reference level, which is slow, takes the whole
    way with two threads and size B alone with one."""
    inputs = [network.inputs(size, 1) for size in network.sizes]
    way = [0, 1, 0] if len(inputs) == 2 else [0, 0]
    with ipex.Model(network.ipex, bands=False) as model:
        baseline = {i: [x.tobytes() for x in model.run(inputs[i])] for i in set(way)}
    for level, number in sorted(levels().items(), key=lambda item: -item[1]):
        for threads in (1, 2):
            short = level == "reference" and threads == 1
            with ipex.Model(network.ipex, threads=threads, isa=number) as model:
                got = [(i, [x.tobytes() for x in model.run(inputs[i])]) for i in (way[-2:-1] if short else way)]
            same = [outputs == baseline[i] for i, outputs in got]
            tap.ok(f"{network.name}: same bits, {level}, {threads} thread(s), {len(same)} run(s)", all(same),
                   f"runs with the bytes of the best level without bands: {same}")


def print_table(rows):
    if not rows:
        return
    wide = [max(len(row[i]) for row in rows) for i in range(3)]
    line = f"# {{:{wide[0]}}}  {{:{wide[1]}}}  {{:{wide[2]}}}  {{:>10}}  {{:>10}}  {{:>8}}".format
    print(line("network", "inputs", "output", "max |diff|", "of max |y|", "relative"))
    for name, shapes, port, difference, magnitude in rows:
        print(line(name, shapes, port, f"{difference:.3g}", f"{magnitude:.4g}", f"{difference / magnitude:.2g}"))


def check_networks(tap, names, conversions, check):
    """check(tap, rows, network) on the networks (of these names), each converted in the ways of conversions(network):
    {title: (file, flags)}. What the checks put into `rows`."""
    rows = []
    for network in networks_here(tap, names):
        ways = conversions(network)
        done = {title: network.convert(file, *flags) for title, (file, flags) in ways.items()}
        try:
            if all([tap.ok(f"{title}: converts", d.returncode == 0, d.stderr) for title, d in done.items()]):
                check(tap, rows, network)
        except (ipex.Error, OSError) as error:
            tap.ok(f"{network.name}: runs", False, error)
        finally:
            for file, _flags in ways.values():
                file.unlink(missing_ok=True)
    return rows


def main(what, names):
    tap = Tap()
    print_table(check_networks(tap, names, lambda n: {n.name: (n.ipex, ())}, {"right": right, "bits": bits}[what]))
    return tap.done()


if __name__ == "__main__":
    if sys.argv[1:2] not in (["right"], ["bits"]):
        sys.exit("usage: at_sizes.py right|bits [NAME...]")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
