#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real networks on AMX and the levels below, which are emulated where the CPU has none (tests/amx_emu, tests/avx512_emu),
converted with --dtype bf16:

  same bits  level amx, with one and two threads, gives the bytes that --arithmetic bf16-amx gives at every other level
  profile    level amx takes bf16-amx by itself, and says so; other levels take bf16-dp
  near       over many inputs bf16-amx is no further from what the f32 model gives in ONNX Runtime than bf16-dp: the mean of
             the ratios of their distances is no more than 1 by more than two of its standard errors

amx.py NAME...   (of tests/sized_networks.py, at their first size; prints TAP, then a table of what was measured)"""
import json
import os
import pathlib
import shutil
import sys

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
from at_sizes import peer
from bf16 import distance, run_all
from ipextest import CLI, MODELS, Tap, cli_at, command
from sized_networks import SIZED, make_models

INPUTS = 64
ERRORS = 2
OTHERS = ("avx512_bf16", "avx512", "avx2", "reference")


class Runs:
    """One network's file, and a folder for its inputs and outputs."""

    def __init__(self, tap, network):
        self.tap, self.network = tap, network
        self.folder = MODELS / f"{network.name}.amx.{os.getpid()}"
        self.file = self.folder / "network.ipex"
        self.folder.mkdir(parents=True)

    def run(self, program, inputs, *options):
        """(the report, {file: bytes} of all outputs)"""
        words = []
        for name, x in inputs.items():
            np.save(self.folder / f"{name}.npy", x)
            words += ["--input", f"{name}={self.folder / name}.npy"]
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        done = command(program, "run", self.file, *words, "--output", out, "--json", *options)
        if done.returncode != 0:
            self.tap.ok(f"{self.network.name}: run {' '.join(options)}", False, done.stderr)
            return None, {}
        return json.loads(done.stdout), {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def at_amx(tap, runs, inputs):
    """The outputs at level amx, {} where it fails."""
    name = runs.network.name
    report, want = runs.run(cli_at("amx"), inputs, "--isa", "amx")
    if report is None:
        return {}
    tap.ok(f"{name}: level amx takes bf16-amx", (report["isa"], report["arithmetic"]) == ("amx", "bf16-amx"), report)
    _, got = runs.run(cli_at("amx"), inputs, "--isa", "amx", "--threads", "2")
    tap.ok(f"{name}: same bits, amx, 2 threads", got == want and want, "other bytes")
    return want


def bits(tap, runs, inputs):
    name, want = runs.network.name, at_amx(tap, runs, inputs)
    if not want:
        return
    for level in OTHERS:
        report, got = runs.run(cli_at(level), inputs, "--isa", level, "--arithmetic", "bf16-amx", "--threads", "2")
        tap.ok(f"{name}: same bits, {level}", got == want and report["arithmetic"] == "bf16-amx", "other bytes")
    report, got = runs.run(CLI, inputs, "--isa", "avx2")
    tap.ok(f"{name}: other levels take bf16-dp, which has other bits", report["arithmetic"] == "bf16-dp" and got != want, report)


def outputs_of(runs, session, inputs, profile):
    _, files = runs.run(CLI, inputs, "--arithmetic", profile, "--threads", "2")
    return [np.load(runs.folder / "out" / f"{o.name.replace('/', '_')}.npy") for o in session.get_outputs()]


def varied(network, seed):
    """Inputs of which no two are alike: some networks have only a few, which get noise."""
    random = np.random.default_rng(seed)
    return {name: x + np.float32(0.1) * random.standard_normal(x.shape, np.float32) if x.dtype == np.float32 else x
            for name, x in network.inputs(network.sizes[-1], seed).items()}


def near(tap, rows, runs):
    session = peer(runs.network)
    far = {"bf16-dp": [], "bf16-amx": []}
    for seed in range(INPUTS):
        given = varied(runs.network, seed)
        f32 = run_all(session, runs.network, [given])
        for profile, distances in far.items():
            distances.append(distance([outputs_of(runs, session, given, profile)], f32))
    ratios = np.divide(far["bf16-amx"], far["bf16-dp"])
    mean, error = ratios.mean(), ratios.std(ddof=1) / np.sqrt(INPUTS)
    rows.append((runs.network.name, *(np.sqrt(np.mean(np.square(far[profile]))) for profile in far), mean, error))
    tap.ok(f"{runs.network.name}: over {INPUTS} inputs bf16-amx no further from f32 than bf16-dp",
           mean - ERRORS * error <= 1, mean, error, far)


def check(tap, rows, network):
    runs = Runs(tap, network)
    try:
        done = network.convert(runs.file, "--dtype", "bf16")
        if tap.ok(f"{network.name}: converts", done.returncode == 0, done.stderr):
            bits(tap, runs, network.inputs(network.sizes[0], 1))
            near(tap, rows, runs)
    finally:
        shutil.rmtree(runs.folder)


def main(names):
    tap, rows = Tap(), []
    chosen = [n for n in SIZED if n.name in names]
    make_models([n.name for n in chosen])
    for network in chosen:
        if network.path.exists():
            check(tap, rows, network)
        else:
            tap.skip(network.name, "its model is not here (IPEX_TEST_DATA, IPEX_TEST_MODELS)")
    print("# distance to f32      bf16-dp  bf16-amx  mean ratio, standard error")
    for name, pairs, tiles, mean, error in rows:
        print(f"# {name:17} {pairs:10.2e} {tiles:9.2e}  {mean:.4f} {error:.4f}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
