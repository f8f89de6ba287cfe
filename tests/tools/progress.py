#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converting shows on a terminal what it does once it takes over a second, and leaves no trace of it; not before, not
into a file, not with --quiet. The largest networks here convert in under ten seconds."""
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / part) for part in (".", "convert")]
from ipextest import CLI, Tap, command
from sized_networks import SIZED, make_models
from small_graphs import Graph

ANSWERS = 1024
MOST_SECONDS = 10


def slow_model(path):
    """Of little to convert; its known answers take a while at the reference level, and each takes 4 KB of the disk."""
    g = Graph()
    x = g.input(1, 1, 32, 32)
    for inputs in 1, 32, 32:
        x = g.conv(x, inputs, 32, (5, 5))
    g.output(g.op("GlobalAveragePool", x))
    path.write_bytes(g.model().SerializeToString())


def on_terminal(*arguments):
    """(exit code, what was written to a terminal on stderr, seconds)"""
    ours, theirs = pty.openpty()
    begin = time.monotonic()
    program = subprocess.Popen([str(a) for a in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65536):
            text += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    return program.wait(), text.decode(), time.monotonic() - begin


def check_line(tap, folder):
    model, target = folder / "slow.onnx", folder / "slow.ipex"
    slow_model(model)
    convert = CLI, "convert", model, "-o", target
    code, text, seconds = on_terminal(*convert)
    if seconds < 1:
        tap.ok("under a second: nothing is shown", code == 0 and not text, repr(text))
    for answers in 8, 64, 256, ANSWERS:
        code, text, seconds = on_terminal(*convert, "--golden", answers)
        if seconds > 2.5:
            break
    lines = text.split("\r")
    tap.ok("over a second: every step of the work is shown",
           code == 0 and sum(f" of {answers}" in line for line in lines) > 2, f"{seconds:.1f} s", repr(text))
    tap.ok("the line goes away", lines[-2].isspace() and len(lines[-2]) >= max(map(len, lines)) and not lines[-1], repr(text))
    tap.ok("it is one line", "\n" not in text, repr(text))
    code, text, _ = on_terminal(*convert, "--golden", answers, "--quiet")
    tap.ok("--quiet: nothing is shown", code == 0 and not text, repr(text))
    done = command(*convert, "--golden", answers)
    tap.ok("into a file: nothing is shown", done.returncode == 0 and not done.stderr, done.stderr)
    target.unlink()
    target.mkdir()
    code, text, _ = on_terminal(*convert, "--golden", answers)
    tap.ok("a failure stands on a line of its own", code == 1 and text.split("\r")[-2].startswith("ipexpack: "), repr(text))


def check_time(tap, folder):
    """Of the file that is largest; the better of two, as the disk and the machine are shared."""
    make_models(["resnet50", "convnext_tiny", "cond_unet"])
    here = sorted((n for n in SIZED if n.path.exists()), key=lambda n: -n.path.stat().st_size)[:3]
    for network in here:
        seconds = []
        for _ in range(2):
            begin = time.monotonic()
            done = network.convert(folder / "large.ipex")
            seconds.append(time.monotonic() - begin)
        size = network.path.stat().st_size / 1e6
        if tap.ok(f"{network.name}, {size:.0f} MB, converts in under {MOST_SECONDS} s",
                  done.returncode == 0 and min(seconds) < MOST_SECONDS, f"{min(seconds):.1f} s", done.stderr):
            print(f"# {min(seconds):.2f} s")
    if not here:
        tap.skip("the largest networks convert in time", "their models are not here (IPEX_TEST_DATA)")


if __name__ == "__main__":
    result = Tap()
    with tempfile.TemporaryDirectory() as path:
        check_line(result, pathlib.Path(path))
        check_time(result, pathlib.Path(path))
    sys.exit(result.done())
