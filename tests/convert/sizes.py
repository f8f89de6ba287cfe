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
    for word in "n", "n=", "=3", "n=x", "n=0", "n=-1", "n=1..2", "n=+3", "n= 3", "n=99999999999999999999":
        fails(f"run: --dim {word}", 2, [f"--dim {word}", "NAME=N"], "run", file, *given, "--dim", word)
    fails("run: --dim of a file of fixed sizes", 2, ["--dim n=1", "all sizes of entry main are fixed"],
          "run", fixed, "--dim", "n=1")
    fails("run: an input outside the range", 1, ["'image'", "axis 3 is 68", "w = 68", "8 .. 64"],
          "run", file, *arguments(feeds(1, 8, 68)))
    fails("run: an input off the step", 1, ["'image'", "axis 2 is 9", "h = 9", "step 4"], "run", file, *arguments(feeds(1, 9, 8)))
    two = feeds(1, 8, 8) | {"scale": feeds(3, 8, 8)["scale"]}
    fails("run: inputs that contradict each other", 1, ["'scale'", "axis 0 is 3", "n = 1", "n 1..4"], "run", file, *arguments(two))
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


def check_inspect(file, fixed):
    report, plain = cli_json("inspect", file), cli_json("inspect", fixed)
    entry = report["entries"][0]
    tap.ok("inspect --json: symbols", entry["symbols"] == [{"name": "n", "lo": 1, "hi": 4, "step": 1},
                                                           *[{"name": k, "lo": 8, "hi": 64, "step": 4} for k in "hw"]], entry["symbols"])
    tap.ok("inspect --json: an input's lowest and highest dims and their symbols", entry["inputs"][0] == {
        "name": "image", "dtype": "f32", "dims": [1, 3, 8, 8], "max_dims": [4, 3, 64, 64], "shape": ["n", 3, "h", "w"]}, entry["inputs"])
    half = entry["outputs"][0]
    tap.ok("inspect --json: an output's expressions", half["max_dims"] == [4, 4, 32, 32] and half["shape"][:2] == ["n", 4]
           and "h/4" in half["shape"][2], half)
    tap.ok("inspect --json: tensors have numbers or expressions", any("h" in t["dims"] for t in report["tensors"])
           and all(isinstance(d, str) or d >= 0 for t in report["tensors"] for d in t["dims"]), report["tensors"])
    rows = list(zip(report["memory"], plain["memory"]))
    tap.ok("inspect --json: memory for all sizes and for the lowest", all(m["lowest_session_bytes"] < m["session_bytes"] for m, _ in rows)
           and all(m["lowest_session_bytes"] == m["session_bytes"] for _, m in rows), rows)
    bench = cli_json("bench", file, "--seconds", "0.01")["session_bytes"]
    tap.ok("inspect: the lowest sizes need what bench takes for them", rows[0][0]["lowest_session_bytes"] == bench, bench, rows)
    text = command(CLI, "inspect", file).stdout
    tap.ok("inspect: symbols, ranges, expressions, both memories", all(part in text for part in (
        "n x 3 x h x w f32", "sizes   n 1..4, h 8..64 step 4, w 8..64 step 4", "(h/4)*2", "at the lowest sizes")), text)
    text = command(CLI, "inspect", fixed).stdout
    tap.ok("inspect: no word of sizes where they are fixed", "1x3x8x8 f32" in text and "lowest" not in text and "  sizes " not in text, text)
    tap.ok("inspect --dot: expressions", "n x 3 x h x w f32" in command(CLI, "inspect", file, "--dot").stdout)


def sizes_of(row):
    return {name: int(number) for name, number in (part.split(" = ") for part in row["sizes"].split(", "))}


def check_computed():
    """--golden N: seeded inputs at N sizes."""
    file, again = FOLDER / "golden.ipex", FOLDER / "again.ipex"
    done = convert(file, *RANGES, "--golden", "6")
    convert(again, *RANGES, "--golden", "6")
    tap.ok("--golden 6 with ranges", done.returncode == 0 and "6 known answers" in done.stdout, done.stderr, done.stdout)
    tap.ok("the same bytes again", file.read_bytes() == again.read_bytes())
    for words in ["--isa", "reference"], ["--threads", "2"]:
        rows = cli_json("verify", file, *words)["outputs"]
        tap.ok(f"verify {' '.join(words)}: two outputs of six answers", [r["passed"] for r in rows] == [True] * 12, rows)
    sizes = [sizes_of(row) for row in rows[::2]]
    tap.ok("the first answer is at the lowest sizes", sizes[0] == {"n": 1, "h": 8, "w": 8}, sizes)
    tap.ok("every answer has other sizes", len({tuple(s.values()) for s in sizes}) == 6, sizes)
    tap.ok("all are in their ranges", all(1 <= s["n"] <= 4 and all(8 <= s[k] <= 64 and s[k] % 4 == 0 for k in "hw")
                                         for s in sizes), sizes)
    tap.ok("height and width differ somewhere", any(s["h"] != s["w"] for s in sizes), sizes)
    done = command(CLI, "verify", file)
    tap.ok("verify's table shows the sizes", "n = 1, h = 8, w = 8" in done.stdout, done.stdout)


def answer_folder(name, inputs, outputs):
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    for kind in inputs, outputs:
        for port, array in kind.items():
            np.save(folder / f"{port}.npy", array)
    return folder


def check_given(model):
    """--golden-from DIR, several times, each with sizes of its own."""
    file = FOLDER / "given.ipex"
    sizes = [(3, 64, 8), (1, 8, 12), (4, 20, 24)]
    folders = [answer_folder("given" + "x".join(map(str, s)), feeds(*s), expected_outputs(model, feeds(*s))) for s in sizes]
    done = convert(file, *RANGES, *[w for f in folders for w in ("--golden-from", f)], "--golden", "1")
    tap.ok("answers of three sizes from folders, one computed", done.returncode == 0, done.stderr)
    rows = cli_json("verify", file)["outputs"]
    said = [tuple(sizes_of(row).values()) for row in rows[::2]]
    tap.ok("verify: all of them, at their sizes", said == [*sizes, (1, 8, 8)] and all(r["passed"] for r in rows), rows)
    wrong = expected_outputs(model, feeds(*sizes[1]))
    wrong["pooled"][0, 1] += 1
    done = convert(file, *RANGES, "--golden-from", folders[0], "--golden-from", answer_folder("other", feeds(*sizes[1]), wrong))
    done = command(CLI, "verify", file)
    tap.ok("verify: the answer that is wrong, alone", done.returncode == 1 and done.stdout.count("FAILED") == 1
           and "1 of 4 outputs" in done.stderr, done.stdout, done.stderr)


def check_given_errors(model):
    low, other = feeds(1, 8, 8), feeds(2, 8, 8)
    right = expected_outputs(model, low)
    rows = [
        ("an input above its range", feeds(1, 8, 68), right, ["image.npy: axis 3 is 68", "w goes from 8 to 64 step 4"]),
        ("an input off the step", feeds(1, 10, 8), right, ["image.npy: axis 2 is 10", "h goes from 8 to 64 step 4"]),
        ("inputs that contradict each other", low | {"scale": other["scale"]}, right, ["scale.npy: axis 0 is 2", "n is 1"]),
        ("an output of other sizes", low, {"half": expected_outputs(model, other)["half"]}, ["half.npy holds 2x4x4x4 f32"]),
        ("an input of another type", low | {"scale": np.ones((1, 4), np.int64)}, right, ["1x4 i64", "n x 4 f32"]),
        ("an input of another rank", low | {"scale": np.ones(4, np.float32)}, right, ["holds 4 f32", "n x 4 f32"]),
        ("no output", low, {}, ["no output_*.pb"]),
    ]
    file = FOLDER / "bad.ipex"
    for index, (name, inputs, outputs, parts) in enumerate(rows):
        done = convert(file, *RANGES, "--golden-from", answer_folder(f"bad{index}", inputs, outputs))
        tap.ok(f"--golden-from: {name}: exit 1, said, no file", done.returncode == 1 and not file.exists()
               and all(p in done.stderr for p in parts), f"exit {done.returncode}, wanted {parts}", done.stderr)


def strokes(height, width):
    """A white picture with a line of dark letters (H), normalised: something that a detector of text finds."""
    x = np.full((1, 3, height, width), 2, np.float32)
    for left in range(4, width - 10, 10):
        x[..., 24:40, left:left + 2] = x[..., 24:40, left + 6:left + 8] = x[..., 31:33, left:left + 8] = -2
    return x


def check_detector():
    """A text detector at two sizes."""
    path = DATA / "ppocrv4" / "ch_PP-OCRv4_det_infer.onnx"
    if not path.exists():
        tap.skip("a text detector at two sizes", f"{path} is not there")
        return
    model, file = onnx.load(path), FOLDER / "detector.ipex"
    port, folders = model.graph.input[0].name, []
    for height, width in (64, 96), (128, 32):
        x = {port: strokes(height, width)}
        folder = FOLDER / f"detector{height}"
        folder.mkdir(exist_ok=True)
        for kind, tensors in ("input", x), ("output", expected_outputs(model, x)):
            for index, array in enumerate(tensors.values()):
                (folder / f"{kind}_{index}.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
        folders.append((folder, height, width))
    symbols = [d.dim_param for d in model.graph.input[0].type.tensor_type.shape.dim]
    symbols = [s if s and s != "?" else f"{port}[{i}]" for i, s in enumerate(symbols)]
    ranges = [f"--dim={symbols[0]}=1..2", *[f"--dim={s}=32..160:32" for s in symbols[2:]]]
    done = convert(file, *ranges, *[w for f, *_ in folders for w in ("--golden-from", f)], "--golden", "2", model=path)
    tap.ok("a text detector with ranges converts", done.returncode == 0, done.stderr)
    rows = cli_json("verify", file)["outputs"]
    tap.ok("detector: verify at four sizes", len({r["sizes"] for r in rows}) == 4 and all(r["passed"] for r in rows), rows)
    for folder, height, width in folders:
        report = cli_json("run", file, "--input", f"{port}={folder / 'input_0.pb'}", "--dim", f"{symbols[2]}={height}")
        tap.ok(f"detector: run at {height}x{width}", report["outputs"][0]["dims"] == [1, 1, height, width], report)
        report = cli_json("bench", file, "--seconds", "0.01", f"--dim={symbols[2]}={height}", f"--dim={symbols[3]}={width}")
        tap.ok(f"detector: bench at {height}x{width}", report["sizes"][symbols[3]] == width and report["page_faults"] == 0, report)


def rest_of(g, x, axis):
    return g.op("Sub", g.ints(20), g.op("Shape", x, start=axis, end=axis + 1))


def between(case):
    """A graph in which something is as large as h times (20 - h)."""
    g = Graph()
    x = g.input("h", 20, 4, name="x")
    part = g.op("Slice", x, g.ints(0), rest_of(g, x, 0), g.ints(1))
    if case == "a slice and what is made of it, as outputs, of several types":
        y = g.op("Relu", part)
        g.output(y, g.op("Reshape", g.op("Sin", y), g.ints(-1, 4)))
        g.output(g.op("Greater", y, g.scalar(0.5)), dtype=onnx.TensorProto.BOOL)
        whole = g.op("Cast", g.op("Mul", y, g.scalar(9)), to=onnx.TensorProto.INT64)
        g.output(g.op("Add", whole, whole), dtype=onnx.TensorProto.INT64)
    if case == "views that steps would copy":
        g.output(g.op("MatMul", part, g.weight(4, 16)), g.op("ReduceSum", g.op("LayerNormalization", part, g.positive(4)), g.ints(0, 1, 2)))
        g.output(g.op("ReduceMax", g.op("Gather", part, g.ints(0, 3, 0), axis=2), axes=[0, 1]), g.op("Softmax", part))
    if case == "layers in a row, and a transpose":
        rows = g.op("Expand", g.op("ReduceMean", x, axes=[1]), g.op("Concat", g.ints(1), rest_of(g, x, 0), g.ints(1), axis=0))
        y = g.op("MatMul", g.op("Add", g.op("MatMul", rows, g.weight(4, 16)), g.weight(16)), g.weight(16, 8))
        g.output(g.op("Softmax", y, axis=1), g.op("Transpose", g.op("Tanh", y), perm=[2, 1, 0]))
    if case == "an image with borders, and parts of a concatenation":
        image = g.op("Transpose", g.op("Unsqueeze", part, g.ints(0)), perm=[0, 3, 1, 2])
        y = g.conv(g.op("Relu", g.conv(image, 4, 6, pads=[1, 1, 1, 1])), 6, 6, pads=[1, 1, 1, 1])
        g.output(g.op("Concat", y, g.op("Sin", y), axis=1), g.op("MaxPool", y, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
    if case == "a rest of a division":
        rest = g.op("Mod", g.op("Shape", x, start=0, end=1), g.ints(7))
        y = g.op("Expand", g.op("ReduceMean", x, axes=[0, 1]), g.op("Concat", g.ints(3), g.op("Add", rest, g.ints(1)), g.ints(4), axis=0))
        g.output(g.op("Sin", y), g.op("Transpose", y, perm=[2, 1, 0]))
    return g.model()


def check_between():
    """What is largest between the ends of a range has room in a session for all of it, by ONNX Runtime's answers."""
    file = FOLDER / "between.ipex"
    for case in ("a slice and what is made of it, as outputs, of several types", "views that steps would copy",
                 "layers in a row, and a transpose", "an image with borders, and parts of a concatenation",
                 "a rest of a division"):
        model, folders = between(case), []
        onnx.save(model, FOLDER / "between.onnx")
        for h in 1, 19, 2, 10, 13, 18:
            x = {"x": np.random.default_rng(h).standard_normal((h, 20, 4)).astype(np.float32)}
            folders.append(answer_folder(f"between{h}", x, expected_outputs(model, x)))
        done = convert(file, "--dim", "h=1..19", *[w for f in folders for w in ("--golden-from", f)], model=FOLDER / "between.onnx")
        tap.ok(f"larger between the ends: {case}: converts", done.returncode == 0, done.stderr)
        why = command(CLI, "inspect", file, "--why", "room").stdout
        tap.ok(f"larger between the ends: {case}: inspect --why says how large", "sessions have room for" in why and "0 refused" in why, why)
        memory = cli_json("inspect", file)["memory"][0]
        tap.ok(f"larger between the ends: {case}: the lowest size takes less", memory["lowest_session_bytes"] < memory["session_bytes"], memory)
        for words in [], ["--isa", "reference"]:
            done = command(CLI, "verify", file, *words)
            tap.ok(f"larger between the ends: {case}: verify {' '.join(words)}", done.returncode == 0, done.stdout, done.stderr)


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
        check_inspect(file, fixed)
        check_computed()
        check_given(model)
        check_given_errors(model)
        check_detector()
        check_between()
        check_entries()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
