#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`convert --image`: files that take a picture's bytes against ONNX Runtime after the same preprocessing in numpy, at sizes
that every run chooses; what is folded into the first convolution and why the rest is not; what is refused."""
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import CLI, Tap, cli, command

import numpy as np

from small_graphs import Bench, Graph, expected_outputs

COLOURS = ("mean=123.675,116.28,103.53", "std=58.395,57.12,57.375")
SIZES = [(1, 9, 12), (2, 16, 7)]  # batch, height, width
BOUNDS = ["--dim", "n=1..4", "--dim", "h=8..20", "--dim", "w=7..24"]


def conv(channels=3, **attributes):
    g = Graph()
    g.output(g.conv(g.input("n", channels, "h", "w", name="x"), channels, 8, bias=True, **attributes))
    return g


def grouped():
    g = Graph()
    g.output(g.conv(g.input("n", 3, "h", "w", name="x"), 3, 6, groups=3))
    return g


def channels_last():
    g = Graph()
    x = g.op("Transpose", g.input("n", "h", "w", 3, name="x"), perm=[0, 3, 1, 2])
    g.output(g.op("Relu", g.conv(x, 3, 8)))
    return g


def two_readers():
    g = Graph()
    x = g.input("n", 3, "h", "w", name="x")
    g.output(g.conv(x, 3, 8), g.op("Relu", x))
    return g


def no_conv():
    g = Graph()
    g.output(g.op("Relu", g.input("n", 3, "h", "w", name="x")))
    return g


def shared_weight():
    g = Graph()
    w = g.weight(3, 3, 3, 3)
    g.output(g.conv(g.conv(g.input("n", 3, "h", "w", name="x"), 3, 3, weight=w), 3, 3, weight=w))
    return g


def with_batch_norm():
    g = Graph()
    x = g.conv(g.input("n", 3, "h", "w", name="x"), 3, 8, strides=[2, 2])
    g.output(g.op("Relu", g.batch_norm(x, 8)))
    return g


# Name, graph, words of the option, verdicts of the pass: of the affine, then of the order.
CASES = [
    ("without padding", conv, COLOURS, ["applied"]),
    ("without padding, bgr", conv, (*COLOURS, "order=bgr"), ["applied", "applied"]),
    ("with padding", lambda: conv(pads=[1, 1, 1, 1]), COLOURS, ["padding_is_not_mean"]),
    ("with padding, bgr", lambda: conv(pads=[1, 1, 1, 1]), (*COLOURS, "order=bgr"), ["padding_is_not_mean", "applied"]),
    ("with padding, mean 0", lambda: conv(pads=[0, 1, 2, 1]), ("std=255",), ["applied"]),
    ("with padding, mean 0 spelled out, rgb", lambda: conv(pads=[0, 1, 2, 1]), ("order=rgb", "std=255", "mean=0"), ["applied"]),
    ("order alone", lambda: conv(pads=[1, 1, 1, 1]), ("order=bgr",), ["applied"]),
    ("bytes as they are", conv, (), []),
    ("one channel", lambda: conv(1), ("mean=127.5", "std=127.5"), ["applied"]),
    ("four channels", lambda: conv(4), ("mean=1,2,3,4", "std=-2"), ["applied"]),
    ("a model of channels last", channels_last, (*COLOURS, "order=bgr"), ["applied", "applied"]),
    ("BatchNorm behind", with_batch_norm, (*COLOURS, "order=bgr"), ["applied", "applied"]),
    ("groups", grouped, (*COLOURS, "order=bgr"), ["grouped", "grouped"]),
    ("two readers", two_readers, (*COLOURS, "order=bgr"), ["two_consumers", "two_consumers"]),
    ("no convolution", no_conv, (*COLOURS, "order=bgr"), ["not_a_window", "not_a_window"]),
    ("a weight of two convolutions", shared_weight, COLOURS, ["shared_weight"]),
]


def numbers(words, key, otherwise):
    return next(([float(n) for n in word.split("=")[1].split(",")] for word in words if word.startswith(key)), [otherwise])


def preprocess(pixels, words, last):
    """What the model gets, in f64 and then rounded, of [N][height][width][channels]."""
    x = pixels[..., ::-1] if "order=bgr" in words else pixels
    x = (x.astype(np.float64) - numbers(words, "mean", 0)) / numbers(words, "std", 1)
    return np.ascontiguousarray(x if last else x.transpose(0, 3, 1, 2), np.float32)


def check_case(tap, bench, name, make, words, verdicts):
    model = make().model()
    dims = model.graph.input[0].type.tensor_type.shape.dim
    last = dims[1].dim_value == 0
    done = bench.convert(model, *BOUNDS, "--image", ",".join(["x=u8", *words]))
    if not tap.ok(f"{name}: converted", done.returncode == 0, done.stderr):
        return
    wrong = []
    for seed, (n, h, w) in enumerate(SIZES):
        pixels = np.random.default_rng(seed).integers(0, 256, (n, h, w, dims[3 if last else 1].dim_value), np.uint8)
        why = bench.compare({"x": pixels}, expected_outputs(model, {"x": preprocess(pixels, words, last)}))
        wrong += [f"{n}x{h}x{w}: {why}"] if why else []
    tap.ok(f"{name}: right at {len(SIZES)} sizes", not wrong, *wrong)
    rows = [row for row in bench.ledger() if row["pass"] == "image"]
    said = [row["reason"] or row["verdict"] for row in rows]
    tap.ok(f"{name}: {', '.join(verdicts) or 'nothing'} in the ledger", said == verdicts, *rows)


def check_fixed_size(tap, bench):
    """The command line: u8 input from a file, stored answers, the same bytes at every level, the option in the file."""
    done = bench.convert(conv(pads=[1, 1, 1, 1]).model(), "--input", "x=1x3x9x12", "--golden", "2", "--image",
                         ",".join(("x=u8", *COLOURS, "order=bgr")))
    if tap.ok("fixed size: converted", done.returncode == 0, done.stderr):
        pixels = np.random.default_rng(7).integers(0, 256, (1, 9, 12, 3), np.uint8)
        wrong = bench.verify() or bench.compare_bits({"x": pixels})
        tap.ok("fixed size: known answers, and the same bytes at every level", not wrong, wrong)
        text = cli("inspect", bench.ipex)
        tap.ok("fixed size: the option stands in the file", "--image x=u8,mean=123.675" in text, text)


def check_bf16(tap, bench):
    """Weights that hold a folded scale and are then rounded to bf16: near the answer, and the same bytes at every level."""
    model, words = conv().model(), (*COLOURS, "order=bgr")
    pixels = np.random.default_rng(8).integers(0, 256, (1, 9, 12, 3), np.uint8)
    (wanted,) = expected_outputs(model, {"x": preprocess(pixels, words, False)}).values()
    for flag in ("--dtype", "--weights"):
        done = bench.convert(model, "--input", "x=1x3x9x12", flag, "bf16", "--image", ",".join(("x=u8", *words)))
        if tap.ok(f"{flag} bf16: converted", done.returncode == 0, done.stderr):
            (ours,) = bench.run({"x": pixels}).values()
            off = float(np.abs(ours - wanted).max() / np.abs(wanted).max())
            wrong = bench.compare_bits({"x": pixels})
            tap.ok(f"{flag} bf16: within 2 % of f32, and the same bytes at every level", off < 0.02 and not wrong, off, wrong)


def check_refused(tap, bench, name, code, part, *flags, model=None, bounds=()):
    """The model, with its bounds, of other cases unless one is given."""
    done = bench.convert(model or conv().model(), *(bounds if model else BOUNDS), *flags)
    tap.ok(f"{name} is refused", done.returncode == code and part in done.stderr and not bench.ipex.exists(),
           f"exit {done.returncode}, wanted {part}", done.stderr)


def no_picture(*dims, dtype=1):
    g = Graph()
    g.output(g.op("Relu" if dtype == 1 else "Neg", g.input(*dims, name="x", dtype=dtype)))
    return g.model()


def check_failures(tap, bench):
    expected = "INPUT=u8[,mean=M"
    for text in ("x", "=u8", "x=", "x=f32", "x=u88", "x=u8;mean=1"):
        check_refused(tap, bench, f"--image {text}", 2, expected, "--image", text)
    for word in ("what", "1", "mean", "mean=", "mean=a", "mean=1,2,3,4,5", "mean=nan", "std=inf", "mean=1e7", "mean=1,mean=2", "",
                 "order=gbr", "order=rgb,order=rgb", "std=1,order=bgr,2"):
        check_refused(tap, bench, f"--image x=u8,{word}", 2, "is not expected there", "--image", f"x=u8,{word}")
    check_refused(tap, bench, "a std of zero", 2, "std is zero", "--image", "x=u8,std=1,0,1")
    check_refused(tap, bench, "a std next to zero", 2, "next to it", "--image", "x=u8,std=1e-30")
    check_refused(tap, bench, "a picture twice", 2, "--image x is given twice", "--image", "x=u8", "--image", "x=u8,std=2")
    check_refused(tap, bench, "an input that is not there", 2, "--image y: the model has no input", "--image", "y=u8")
    check_refused(tap, bench, "two means for three channels", 2, "one per channel", "--image", "x=u8,mean=1,2")
    check_refused(tap, bench, "bgr of one channel", 2, "3 channels", "--image", "x=u8,order=bgr", model=conv(1).model(),
                  bounds=BOUNDS)
    check_refused(tap, bench, "a vector", 2, "is no picture", "--image", "x=u8", model=no_picture(1, 3))
    check_refused(tap, bench, "seven channels", 2, "is no picture", "--image", "x=u8", model=no_picture(1, 7, 8, 8))
    check_refused(tap, bench, "an input of integers", 2, "is not f32", "--image", "x=u8", model=no_picture(1, 3, 8, 8, dtype=6))
    check_refused(tap, bench, "a constant", 2, "no input of that name", "--image", "x=u8", "--const", "x=1",
                  model=no_picture(1, 1, 1, 1))


def check_entries(tap, bench):
    """Without an entry's name the option is for every entry that it fits; one that names an entry counts more."""
    for name, graph in (("a", conv()), ("b", conv()), ("c", no_picture)):
        (bench.folder / f"{name}.onnx").write_bytes((graph(1, 2) if name == "c" else graph.model()).SerializeToString())
    entries = [word for name in "abc" for word in ("--entry", f"{name}={bench.folder}/{name}.onnx")]
    bounds = [word for word in BOUNDS]
    given = ["--image", "a:x=u8,std=255", "--image", "b:x=u8,mean=1,order=bgr"]
    done = command(CLI, "convert", "-o", bench.ipex, *entries, *bounds, *given, "--quiet")
    if tap.ok("entries: converted", done.returncode == 0, done.stderr):
        parts = json.loads(cli("inspect", bench.ipex, "--json"))["entries"]
        kinds = [part["inputs"][0]["dtype"] for part in parts]
        tap.ok("entries: each its own input", kinds == ["u8", "u8", "f32"], kinds)
    bench.ipex.unlink(missing_ok=True)
    done = command(CLI, "convert", "-o", bench.ipex, *entries, *bounds, "--image", "y=u8")
    tap.ok("entries: a picture for none is refused", done.returncode == 2 and "--image y: no entry" in done.stderr
           and not bench.ipex.exists(), done.stderr)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for case in CASES:
            check_case(tap, bench, *case)
        check_fixed_size(tap, bench)
        check_bf16(tap, bench)
        check_failures(tap, bench)
        check_entries(tap, bench)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
