#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same model gives the same bytes, whatever the folder, the time, the umask, the environment, the name of the
result or what lay there before; and `convert` never holds more than the source, one and a half times the largest
tensor, and 64 MB."""
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx

from small_graphs import Bench, Graph
from random_networks import random_network

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import CLI, Tap, command, networks

MIB = 1 << 20
ALLOWANCE = 64 * MIB


# ---- same bytes ----

def variations(folder):
    """(what differs, working directory, source, target, further options of the run)"""
    model, elsewhere = folder / "model.onnx", folder / "elsewhere"
    elsewhere.mkdir()
    target = elsewhere / "a much longer name of the result, with spaces.ipex"
    moved = dict(os.environ, TZ="Asia/Tokyo", LC_ALL="C.UTF-8", HOME="/", MALLOC_PERTURB_="85")
    yield "another folder and name", elsewhere, model, target, {}
    yield "a relative path", folder, "model.onnx", "relative.ipex", {}
    yield "a file that was there", elsewhere, model, target, {}
    yield "another umask", folder, model, elsewhere / "umask.ipex", {"umask": 0o077}
    yield "another environment", folder, model, elsewhere / "environment.ipex", {"env": moved}
    os.utime(model, (1, 1))
    yield "an older source", folder, model, elsewhere / "time.ipex", {}


def check_same_bytes(tap, name, model, flags, folder):
    bench = Bench(folder)
    done = bench.convert(model, *flags)
    if not tap.ok(f"{name}: converts", done.returncode == 0, done.stderr):
        return
    first = bench.ipex.read_bytes()
    for what, cwd, source, target, options in variations(bench.folder):
        done = command(CLI, "convert", source, "-o", target, *flags, cwd=cwd, **options)
        again = (cwd / target).read_bytes() if done.returncode == 0 else b""
        at = next((i for i, (a, b) in enumerate(zip(first, again)) if a != b), min(len(first), len(again)))
        tap.ok(f"{name}: {what}, same bytes", again == first, done.stderr,
               f"{len(again)} bytes, the first difference at {at}")


# ---- memory ----

# Reports ru_maxrss of one child, which nothing else of this process's history is mixed into.
WATCH = """import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(done.returncode)"""


def check_memory(tap, name, source_bytes, largest, *arguments):
    done = command(sys.executable, "-c", WATCH, CLI, "convert", *arguments)
    if not tap.ok(f"{name}: converts", done.returncode == 0, done.stderr):
        return
    peak, limit = int(done.stdout), source_bytes + 1.5 * largest + ALLOWANCE
    tap.ok(f"{name}: peak memory {peak / MIB:.0f} MiB of {limit / MIB:.0f} (source {source_bytes / MIB:.0f}, "
           f"largest tensor {largest / MIB:.0f})", peak <= limit)


def sanitized():
    """Sanitizers keep shadow memory of their own: no figure of theirs counts."""
    return re.search(rb"__asan_init", CLI.read_bytes()) is not None


def big_model(folder):
    """A linear layer whose 400 MB of weights lie beside the model; sparse on disk but for some rows."""
    k, n = 10_000, 10_000
    with open(folder / "big.bin", "wb") as data:
        data.truncate(4 * k * n)
        for row in range(0, k, 1000):
            data.seek(4 * n * row)
            data.write(np.arange(n, dtype=np.float32).tobytes())
    g = Graph()
    g.output(g.op("MatMul", g.input(1, k), "w"))
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[k, n], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="big.bin")
    g.constants.append(tensor)
    onnx.save(g.model(), folder / "big.onnx")
    return folder / "big.onnx", 4 * k * n


def check_big(tap, folder):
    free = os.statvfs(folder)
    if free.f_bavail * free.f_frsize < 600 * 1000 * 1000:
        tap.skip("a tensor of 400 MB", "less than 600 MB of disk are free")
        return
    model, size = big_model(folder)
    check_memory(tap, "a tensor of 400 MB in external data", size, size, model, "-o", folder / "big.ipex")


def check_numbers_in_blocks(tap, folder):
    """Eight layers of 4 bits, with zero points, of which each would be as much in f32 as all of them are in the model."""
    size, g = 4096, Graph()
    x, numbers = g.input(1, size), np.random.default_rng(5).integers(0, 256, (size, size // 32, 16), dtype=np.uint8)
    for _ in range(8):
        x = g.op("MatMulNBits", x, g.constant(numbers), g.constant(np.full(size * size // 32, 0.01, np.float32)),
                 g.constant(np.full(size * size // 64, 0x79, np.uint8)), domain="com.microsoft", K=size, N=size, bits=4, block_size=32)
        numbers = np.roll(numbers, 1)
    g.output(x)
    onnx.save(g.model(), folder / "numbers.onnx")
    check_memory(tap, "layers of 4 bits", (folder / "numbers.onnx").stat().st_size, size * size, folder / "numbers.onnx",
                 "-o", folder / "numbers.ipex")


def check_networks(tap, folder):
    here, absent = networks()
    for network in here:
        if network.name in ("resnet34", "resnet50", "squeezenet"):
            source = network.onnx.stat().st_size
            largest = max(len(t.raw_data) or 4 * len(t.float_data) for t in onnx.load(network.onnx).graph.initializer)
            check_memory(tap, network.name, source, largest, network.onnx, "-o", folder / "network.ipex",
                         *network.batch_flags(1))
    if "resnet34" in absent:
        tap.skip("resnet34: peak memory", "its model is not here")


def main():
    tap = Tap()
    models = [("random network 3", random_network(3).model(), ["--golden", "2"]),
              ("random network 8", random_network(8).model(), [])]
    models += [(n.name, onnx.load(n.onnx), n.batch_flags(1)) for n in networks()[0] if n.name in ("resnet20", "mnist")]
    for name, model, flags in models:
        with tempfile.TemporaryDirectory() as folder:
            check_same_bytes(tap, name, model, flags, pathlib.Path(folder))
    if sanitized():
        tap.skip("peak memory", "sanitizers need memory of their own")
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        check_networks(tap, pathlib.Path(folder))
        check_big(tap, pathlib.Path(folder))
        check_numbers_in_blocks(tap, pathlib.Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
