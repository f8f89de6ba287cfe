#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs on graphs whose sizes each run chooses: run, bench, verify and inspect at several sizes, known answers of
different sizes in one file, and the message of every size that does not fit."""
import sys

import numpy as np
import onnx

from small_graphs import Graph, difference, expected_outputs

from ipextest import BUILD, CLI, DATA, Tap, cli_json, command

tap = Tap()
FOLDER = BUILD / "test-sizes"
RANGES = ["--dim", "n=1..4", "--dim", "h=8..64:4", "--dim", "w=8..64:4"]


def network():
    """Two inputs that share sizes, an output of half the size and one of a fixed one."""
    g = Graph()
    x, scale = g.input("n", 3, "h", "w", name="image"), g.input("n", 4, name="scale")
    y = g.op("Relu", g.conv(x, 3, 4, pads=[1, 1, 1, 1], strides=[2, 2]))
    y = g.op("Mul", y, g.op("Unsqueeze", scale, g.ints(2, 3)), out="half")
    pooled = g.op("Flatten", g.op("GlobalAveragePool", y), out="pooled")
    g.output(y, pooled)
    return g.model()


def feeds(n, h, w):
    random = np.random.default_rng(n * 10000 + h * 100 + w)
    return {"image": random.standard_normal((n, 3, h, w)).astype(np.float32),
            "scale": random.uniform(0.5, 2, (n, 4)).astype(np.float32)}


def arguments(given):
    words = []
    for name, array in given.items():
        np.save(FOLDER / f"{name}.npy", array)
        words += ["--input", f"{name}={FOLDER / name}.npy"]
    return words


def convert(target, *words, model=FOLDER / "m.onnx"):
    target.unlink(missing_ok=True)
    return command(CLI, "convert", model, "-o", target, *words)


def fails(name, code, parts, *words):
    done = command(CLI, *words)
    tap.ok(f"{name}: exit {code}, said", done.returncode == code and all(p in done.stderr for p in parts) and not done.stdout,
           f"exit {done.returncode}, wanted {code} with {parts}", done.stderr, done.stdout)


def check_run(file, model):
    for sizes in (1, 8, 8), (2, 12, 40), (4, 64, 64), (3, 64, 8):
        done = command(CLI, "run", file, *arguments(feeds(*sizes)), "--output", FOLDER / "out")
        wrong = done.stderr
        for name, expected in expected_outputs(model, feeds(*sizes)).items() if not wrong else ():
            wrong = wrong or difference(name, np.load(FOLDER / "out" / f"{name}.npy"), expected)
        tap.ok(f"run at {sizes}: what ONNX Runtime computes", not wrong, wrong)
    said = f"n = {sizes[0]}, h = {sizes[1]}, w = {sizes[2]}"
    tap.ok("run says the sizes", said in done.stdout, done.stdout)
    report = cli_json("run", file, *arguments(feeds(2, 8, 12)), "--dim", "h=8", "--dim", "main:w=12")
    tap.ok("run --dim that agrees, --json", report["sizes"] == {"n": 2, "h": 8, "w": 12}
           and [o["dims"] for o in report["outputs"]] == [[2, 4, 4, 6], [2, 4]], report)


def check_run_errors(file, fixed):
    given = arguments(feeds(2, 12, 16))
    fails("run: --dim against an input", 2, ["--dim h=8", "axis 2 of input 'image' is 12", "h: 8..64 step 4"],
          "run", file, *given, "--dim", "h=8")
    fails("run: --dim outside the range", 2, ["--dim n=5", "n is 1..4"], "run", file, *given, "--dim", "n=5")
    fails("run: --dim off the step", 2, ["--dim h=10", "h is 8..64 step 4"], "run", file, *given, "--dim", "h=10")
    fails("run: --dim of no size", 2, ["--dim q=1", "n 1..4, h 8..64 step 4, w 8..64 step 4"], "run", file, *given, "--dim", "q=1")
    fails("run: --dim of another entry", 2, ["--dim other:n=1", "n 1..4"], "run", file, *given, "--dim", "other:n=1")
    fails("run: --dim twice", 2, ["--dim main:n=3", "another --dim says 2"], "run", file, *given, "--dim=n=2", "--dim=main:n=3")
    for word in "n", "n=", "=3", "n=x", "n=0", "n=-1", "n=1..2", "n=99999999999999999999":
        fails(f"run: --dim {word}", 2, [f"--dim {word}", "NAME=N"], "run", file, *given, "--dim", word)
    fails("run: --dim of a file of fixed sizes", 2, ["--dim n=1", "all sizes of entry main are fixed"],
          "run", fixed, "--dim", "n=1")
    fails("run: an input outside the range", 2, ["'image'", "axis 3 is 68", "w = 68", "8 .. 64"],
          "run", file, *arguments(feeds(1, 8, 68)))
    fails("run: an input off the step", 2, ["'image'", "axis 2 is 9", "h = 9", "step 4"], "run", file, *arguments(feeds(1, 9, 8)))
    two = feeds(1, 8, 8) | {"scale": feeds(3, 8, 8)["scale"]}
    fails("run: inputs that contradict each other", 2, ["'scale'", "axis 0 is 3", "n = 1", "n 1..4"], "run", file, *arguments(two))
    missing = arguments({"image": feeds(1, 8, 8)["image"]})
    fails("run: a missing input with its sizes", 1, ["'scale' (n x 4 f32)"], "run", file, *missing)
    fixed_dim = feeds(1, 8, 8) | {"scale": np.ones((1, 5), np.float32)}
    fails("run: a fixed dim that differs", 1, ["'scale'", "n x 4 f32", "1x5 f32"], "run", file, *arguments(fixed_dim))


def check_bench(file):
    low, high = (cli_json("bench", file, "--seconds", "0.02", "--profile", *words)
                 for words in ((), ("--dim", "n=4", "--dim", "h=64", "--dim", "w=64")))
    tap.ok("bench: the lowest sizes unless --dim", low["sizes"] == {"n": 1, "h": 8, "w": 8}
           and high["sizes"] == {"n": 4, "h": 64, "w": 64}, low["sizes"], high["sizes"])
    flops = [next(s["flops"] for s in r["steps"] if "conv" in s["op"]) for r in (low, high)]
    tap.ok("bench: steps are those of the sizes", flops[1] == flops[0] * 4 * 64, flops)
    tap.ok("bench: the session is for these sizes alone", low["session_bytes"] < high["session_bytes"],
           low["session_bytes"], high["session_bytes"])
    done = command(CLI, "bench", file, "--seconds", "0.01", "--dim", "h=12")
    tap.ok("bench says the sizes", "n = 1, h = 12, w = 8" in done.stdout, done.stdout, done.stderr)
    fails("bench: --dim outside the range", 2, ["--dim n=5", "n is 1..4"], "bench", file, "--dim", "n=5")
    fails("bench: --dim of no size", 2, ["--dim q=1", "n 1..4"], "bench", file, "--dim", "q=1")


def check_entries():
    """--dim with the name of an entry."""
    file = FOLDER / "two.ipex"
    done = command(CLI, "convert", "-o", file, "--entry", f"a={FOLDER / 'm.onnx'}", "--entry", f"b={FOLDER / 'm.onnx'}",
                   *RANGES, "--dim", "b:n=1..9")
    tap.ok("two entries with ranges of their own", done.returncode == 0, done.stderr)
    report = cli_json("bench", file, "--entry", "b", "--seconds", "0.01", "--dim", "b:n=9", "--dim", "h=12")
    tap.ok("bench --dim ENTRY:NAME", report["sizes"] == {"n": 9, "h": 12, "w": 8}, report["sizes"])
    fails("bench: --dim of the entry that is not run", 2, ["--dim a:n=2", "entry b"],
          "bench", file, "--entry", "b", "--dim", "a:n=2")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    model = network()
    onnx.save(model, FOLDER / "m.onnx")
    file, fixed = FOLDER / "m.ipex", FOLDER / "fixed.ipex"
    done = convert(file, *RANGES)
    if tap.ok("a graph with ranges converts", done.returncode == 0, done.stderr):
        convert(fixed, "--dim", "n=1", "--dim", "h=8", "--dim", "w=8")
        check_run(file, model)
        check_run_errors(file, fixed)
        check_bench(file)
        check_entries()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
