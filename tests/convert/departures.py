#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ipexpack compare: agrees, finds the one operator whose last bits differ from ONNX Runtime's, tells a file of another
model, does without ONNX Runtime, and leaves nothing behind.

All other numbers are small integers, which both sides compute exactly, so that with tolerance 0 the sigmoid departs."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import onnx

from small_graphs import Graph

from ipextest import BUILD, CLI, Tap, command

tap = Tap()
FOLDER = BUILD / "test-compare"
TEMPORARY = FOLDER / "temporary"
# The tests' own Python has ONNX Runtime.
HERE = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(TEMPORARY)}


def integers(g, *dims):
    return g.constant(g.random.integers(-2, 3, dims).astype(np.float32))


def network(gain=1):
    """Two branches; the tensor that departs is early in one, exact nodes follow it in the order of the other."""
    g = Graph()
    x = g.input("n", 3, "h", "w", name="image")
    y = g.op("Conv", x, integers(g, 4, 3, 3, 3), pads=[1, 1, 1, 1])
    s = g.op("Sigmoid", g.op("Mul", y, g.scalar(0.125)), name="rounds", out="rounded")
    for index in range(5):
        y = g.op("Conv", g.op("Clip", y, g.scalar(-4), g.scalar(4)), integers(g, 4, 4, 1, 1), name=f"after{index}")
    y = g.op("Mul", y, g.input(1, name="gain"))
    g.output(g.op("Add", s, g.op("Mul", y, g.scalar(gain)), out="sum"), g.op("Relu", y, out="exact"))
    return g.model()


def compare(*arguments, env=None):
    return command(CLI, "compare", *arguments, env=env or HERE)


def inputs(name, n, h, w):
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    np.save(folder / "image.npy", np.random.default_rng(h).integers(-3, 4, (n, 3, h, w)).astype(np.float32))
    np.save(folder / "gain.npy", np.full(1, 2, np.float32))
    return folder


def convert(path, target, *words):
    done = command(CLI, "convert", path, "-o", target, "--quiet", "--dim=n=1..2", "--dim=h=4..32", "--dim=w=4..32", *words)
    tap.ok(f"{target.name} converts", done.returncode == 0, done.stderr)
    return target


def check_agrees(model, file, *words):
    for sizes in (1, 16, 8), (2, 5, 32):
        done = compare(model, file, "--inputs", inputs("in", *sizes), *words)
        text = f"n = {sizes[0]}, h = {sizes[1]}, w = {sizes[2]}"
        tap.ok(f"{file.name}: agrees at {sizes}", done.returncode == 0 and done.stdout.count("agrees") == 2 and text in done.stdout
               and "ONNX Runtime" in done.stdout and not done.stderr, done.stdout, done.stderr)


def check_departs(model, file):
    folder = inputs("in", 2, 16, 16)
    done = compare(model, file, "--inputs", folder, "--tolerance", "0", "--json")
    report = json.loads(done.stdout or "{}")
    first = report.get("first") or {}
    tap.ok("departs: exit 1, said", done.returncode == 1 and "1 of 2 outputs depart" in done.stderr, done.stderr)
    tap.ok("departs: which outputs", [(o["name"], o["departs"]) for o in report["outputs"]] == [("sum", True), ("exact", False)],
           report)
    tap.ok("departs: the first tensor, its node and operator", (first.get("name"), first.get("node"), first.get("op"))
           == ("rounded", "rounds", "Sigmoid") and 0 < first["relative"] < 1e-5, first)
    tap.ok("departs: its input agrees", len(report["inputs_that_agree"]) == 1 and 2 < report["conversions"] < 12, report)
    tap.ok("--json: sizes, reference, tolerance", report["sizes"] == {"n": 2, "h": 16, "w": 16} and report["tolerance"] == 0
           and report["reference"].startswith("ONNX Runtime ") and report["passed"] is False, report)
    done = compare(model, file, "--inputs", folder, "--tolerance", "0", "--isa", "reference", "--threads", "2")
    tap.ok("departs: in words", done.returncode == 1 and "the first tensor that departs is rounded" in done.stdout
           and "computed by rounds (Sigmoid)" in done.stdout and "reference" in done.stdout, done.stdout)
    other = FOLDER / "other.onnx"
    onnx.save(network(gain=3), other)
    done = compare(other, file, "--inputs", folder)
    tap.ok("a file of another model is told", done.returncode == 1 and "converted anew agrees" in done.stdout
           and "first tensor" not in done.stdout, done.stdout, done.stderr)


def check_precision():
    """A file of rounded weights departs, and so does the model converted again with the options that the file names."""
    g = Graph()
    g.output(g.op("Relu", g.conv(g.input(1, 3, 12, 12, name="image"), 3, 64, name="rounds"), out="y"))
    model, file, folder = FOLDER / "rounding.onnx", FOLDER / "rounding.ipex", inputs("rounding", 1, 12, 12)
    onnx.save(g.model(), model)
    for option in "--weights", "--dtype":
        done = command(CLI, "convert", model, "-o", file, "--quiet", option, "bf16")
        done = compare(model, file, "--inputs", folder)
        tap.ok(f"{option} bf16: departs at the convolution", done.returncode == 1 and "computed by rounds (Conv)" in done.stdout
               and "converted anew" not in done.stdout, done.stdout, done.stderr)
        done = compare(model, file, "--inputs", folder, "--tolerance", "0.01")
        tap.ok(f"{option} bf16: agrees within its rounding", done.returncode == 0, done.stdout, done.stderr)


def python(name, text):
    """A folder with a python3 that does as told."""
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    if text:
        (folder / "python3").write_text(f"#!/bin/sh\n{text}\n")
        (folder / "python3").chmod(0o755)
    return {**HERE, "PATH": str(folder)}


def check_absent(model, file, plain):
    words = ["--inputs", inputs("in", 1, 8, 8)]
    for name, text, said in (("none", "", "python3 cannot be run"), ("bare", "echo no module >&2; exit 3", "no module")):
        done = compare(model, file, *words, "--json", env=python(name, text))
        report = json.loads(done.stdout or "{}")
        tap.ok(f"without ONNX Runtime ({name}): said, known answers replayed", done.returncode == 0 and said in done.stderr
               and "known answers" in done.stderr and report.get("passed") is True, done.stderr, done.stdout)
    done = compare(model, plain, *words, env=python("none", ""))
    tap.ok("without ONNX Runtime and answers: exit 1, how to get them", done.returncode == 1 and "--golden" in done.stderr, done.stderr)
    done = compare(model, file, *words, env=python("broken", "echo it broke >&2; exit 1"))
    tap.ok("ONNX Runtime fails: exit 1, its words", done.returncode == 1 and "it broke" in done.stderr and not done.stdout, done.stderr)
    done = compare(model, file, *words, env=python("dead", "kill -9 $$"))
    tap.ok("ONNX Runtime dies: exit 1", done.returncode == 1 and "without a message" in done.stderr, done.stderr)


def ends(process):
    """Within ten seconds: whoever ends it does not wait for it."""
    for _ in range(1000):
        try:
            if b"sleep" not in process.read_bytes():
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def check_signals(model, file):
    """Ended while the other side runs, which goes too."""
    folder, runs = inputs("in", 1, 8, 8), FOLDER / "runs"
    environment = python("slow", f"echo $$ > {runs}.part; mv {runs}.part {runs}; exec sleep 100")
    environment["PATH"] += ":/bin:/usr/bin"
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        runs.unlink(missing_ok=True)
        # who runs the tests in the background may ignore the signal, which programs inherit
        process = subprocess.Popen([CLI, "compare", model, file, "--inputs", folder], env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
        while not runs.exists() and process.poll() is None:
            time.sleep(0.01)
        before = list(TEMPORARY.glob("ipexpack*"))
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        child = pathlib.Path("/proc", runs.read_text().strip(), "cmdline")
        tap.ok(f"{number.name}: ends the program as it does others", process.returncode == -number and not said,
               process.returncode, said)
        tap.ok(f"{number.name}: no temporary file is left", len(before) == 1 and not list(TEMPORARY.glob("ipexpack*")), before)
        tap.ok(f"{number.name}: the other side ends", ends(child), child)


def fails(name, code, parts, *words):
    done = compare(*words)
    tap.ok(f"{name}: exit {code}, said", done.returncode == code and all(p in done.stderr for p in parts) and not done.stdout,
           f"exit {done.returncode}, wanted {code} with {parts}", done.stderr, done.stdout)


def check_errors(model, file):
    good = inputs("in", 1, 8, 8)
    fails("no file", 2, ["FILE is missing"], model, "--inputs", good)
    fails("no inputs", 2, ["--inputs DIR is missing"], model, file)
    fails("three arguments", 2, ["one FILE only"], model, file, file, "--inputs", good)
    fails("an unknown entry", 2, ["--entry none", "main"], model, file, "--inputs", good, "--entry", "none")
    fails("an unknown level", 2, ["'sse9'"], model, file, "--inputs", good, "--isa", "sse9")
    fails("a tolerance below 0", 2, ["--tolerance"], model, file, "--inputs", good, "--tolerance=-1")
    fails("no such file", 1, ["gone.ipex"], model, FOLDER / "gone.ipex", "--inputs", good)
    fails("no such model", 1, ["gone.onnx"], FOLDER / "gone.onnx", file, "--inputs", good)
    fails("not a model", 1, ["m.ipex"], file, file, "--inputs", good)
    fails("no such folder", 1, ["gone has neither input_0.pb nor image.npy"], model, file, "--inputs", FOLDER / "gone")
    fails("sizes outside the file's", 1, ["h = 40", "4 .. 32"], model, file, "--inputs", inputs("large", 1, 40, 8))
    np.save(good / "gain.npy", np.ones(1, np.int64))
    fails("an input of another type", 1, ["'gain'", "1 f32", "1 i64"], model, file, "--inputs", good)
    g = Graph()
    g.output(g.op("Relu", g.input(1, 3, 8, 8, name="image"), out="sum"))
    onnx.save(g.model(), FOLDER / "relu.onnx")
    fails("a model without one of the file's inputs", 1, ["'gain'", "relu.onnx has none"], FOLDER / "relu.onnx", file, "--inputs", good)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    TEMPORARY.mkdir(parents=True)
    model = FOLDER / "m.onnx"
    onnx.save(network(), model)
    file, plain = convert(model, FOLDER / "m.ipex", "--golden", "2"), convert(model, FOLDER / "plain.ipex", "--size")
    constant = convert(model, FOLDER / "constant.ipex", "--const", "gain=2")
    check_agrees(model, file)
    check_agrees(model, constant)
    check_agrees(model, plain, "--tolerance", "1e-5")
    check_departs(model, file)
    check_precision()
    check_absent(model, file, plain)
    check_errors(model, file)
    check_signals(model, file)
    tap.ok("no temporary file is left", not list(TEMPORARY.glob("ipexpack*")), *TEMPORARY.iterdir())
    shutil.rmtree(TEMPORARY)
    fails("no temporary folder", 1, ["temporary folder"], model, file, "--inputs", inputs("in", 1, 8, 8))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
