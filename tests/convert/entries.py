#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several graphs in one file: each computes what it computes alone, equal constants are stored once, options and
verbs find their entry, and every wrong use has its message and leaves no file."""
import sys

import numpy as np
import onnx

from small_graphs import Bench, Graph, difference, expected_outputs, file_name

from ipextest import BUILD, CLI, Tap, cli_json, command

tap = Tap()
FOLDER = BUILD / "test-entries"


def network(seed, classes, size="size"):
    """A convolution that all networks here share (seed 1), then one of their own."""
    g, own = Graph(seed=1), Graph(seed=seed)
    x = g.input(1, 3, size, size, name="image")
    y = g.op("Relu", g.conv(x, 3, 32, weight=g.weight(32, 3, 3, 3, name="shared_weight")))
    w = g.constant((own.random.standard_normal((classes, 32, 1, 1)) * 0.5).astype(np.float32), "own_weight")
    pooled = g.op("GlobalAveragePool", g.op("Conv", y, w, name="own"))
    g.output(g.op("Softmax", g.op("Flatten", pooled), out="classes"))
    return g


def save(name, graph):
    path = FOLDER / f"{name}.onnx"
    onnx.save(graph.model(), path)
    return path


def convert(target, *arguments):
    target.unlink(missing_ok=True)
    return command(CLI, "convert", "-o", target, *arguments)


def feed(size):
    return {"image": np.random.default_rng(size).standard_normal((1, 3, size, size)).astype(np.float32)}


def run(path, feeds, *options):
    np.save(FOLDER / "x.npy", feeds["image"])
    return command(CLI, "run", path, "--input", f"image={FOLDER / 'x.npy'}", "--output", FOLDER / "out", *options)


def check_numbers(path, graphs, sizes):
    for name, graph in graphs.items():
        done = run(path, feed(sizes[name]), "--entry", name)
        expected = expected_outputs(graph.model(), feed(sizes[name]))["classes"]
        wrong = done.stderr if done.returncode else difference("classes", np.load(FOLDER / "out" / "classes.npy"), expected)
        tap.ok(f"entry {name}: what ONNX Runtime computes", not wrong, wrong)


def check_sharing(both, first, second):
    one, other, two = (cli_json("inspect", f) for f in (first, second, both))
    total = sum(w["bytes"] for f in (one, other) for w in f["weights"])
    bytes = sum(w["bytes"] for w in two["weights"])
    shared = next(w["bytes"] for w in one["weights"] if w["name"] == "shared_weight")
    tap.ok("equal constants are stored once", bytes == total - shared, bytes, total, shared)
    names = [entry["name"] for entry in two["entries"]]
    tap.ok("inspect: both entries in order", names == ["first", "second"], names)
    owners = {row["entry"] for row in two["ledger"]}
    tap.ok("inspect --why: rows of both entries", owners == {"first", "second"}, owners)
    rows = [len([r for r in two["ledger"] if r["entry"] == e]) for e in names]
    tap.ok("ledger rows are those of the entries alone", rows == [len(one["ledger"]), len(other["ledger"])], rows)


def check_options(paths):
    """Options for one entry, for all, and the positional model."""
    labels = {}
    for name, count in ("first", 5), ("second", 7):
        labels[name] = FOLDER / f"{name}.txt"
        labels[name].write_text("".join(f"{name} {i}\n" for i in range(count)))
    both = FOLDER / "options.ipex"
    done = convert(both, *paths, "--dim", "first:size=8", "--dim", "size=12", "--golden", "2",
                   *[f"--labels={name}={file}" for name, file in labels.items()])
    tap.ok("options with and without entry", done.returncode == 0, done.stderr)
    entries = {e["name"]: e for e in cli_json("inspect", both)["entries"]}
    sizes = {name: e["inputs"][0]["dims"] for name, e in entries.items()}
    tap.ok("the option that names the entry counts more", sizes == {"first": [1, 3, 8, 8], "second": [1, 3, 12, 12]}, sizes)
    tap.ok("labels per entry", all(e["labels"] == [f"{name} {i}" for i in range(c)]
                                   for (name, e), c in zip(entries.items(), (5, 7))))
    answers = cli_json("verify", both)["outputs"]
    tap.ok("verify: answers of both entries", [a["entry"] for a in answers] == ["first"] * 2 + ["second"] * 2, answers)
    answers = cli_json("verify", both, "--entry", "second")["outputs"]
    tap.ok("verify --entry: its answers only", [a["entry"] for a in answers] == ["second"] * 2, answers)
    done = run(both, feed(12), "--entry", "second")
    tap.ok("run shows the entry's labels", done.returncode == 0 and done.stdout.count("second ") == 5, done.stdout, done.stderr)
    done = command(CLI, "bench", both, "--entry", "first", "--seconds", "0.01", "--profile")
    tap.ok("bench --entry", done.returncode == 0 and "conv" in done.stdout, done.stderr)
    main = FOLDER / "main.ipex"
    done = convert(main, paths[1].split("=", 1)[1], paths[2], paths[3], "--dim", "size=8")
    names = [e["name"] for e in cli_json("inspect", main)["entries"]] if done.returncode == 0 else done.stderr
    tap.ok("the positional model is entry main", names == ["main", "second"], names)
    done = run(main, feed(8))
    tap.ok("main needs no --entry", done.returncode == 0 and "5" in done.stdout, done.stderr)
    for verb in "run", "bench":
        done = command(CLI, verb, both)
        tap.ok(f"{verb}: without main, --entry is asked for", done.returncode == 2 and "first, second" in done.stderr, done.stderr)
    for verb in "run", "bench", "verify":
        done = command(CLI, verb, both, "--entry", "third")
        tap.ok(f"{verb}: an unknown entry is named, and those there are",
               done.returncode == 2 and "third" in done.stderr and "first, second" in done.stderr, done.stderr)


def scaled(elements):
    g = Graph()
    x = g.input(elements, name="image")
    g.output(g.op("Mul", x, g.input(1, name="gain"), out="classes"))
    return g


def check_constants():
    """--const with and without entry, from numbers and from a file."""
    sizes = {"small": 2, "large": 3}
    paths = [w for name, size in sizes.items() for w in ("--entry", f"{name}={save(name, scaled(size))}")]
    np.save(FOLDER / "gain.npy", np.full(1, 7, np.float32))
    target = FOLDER / "constants.ipex"
    rows = [
        ("a constant for all entries", ["gain=3"], [3, 3]),
        ("the constant that names the entry counts more", ["large:gain=2", "gain=3"], [3, 2]),
        ("a constant of all entries from a file", ["gain=" + str(FOLDER / "gain.npy")], [7, 7]),
        ("a constant of one entry from a file", ["gain=4", f"small:gain={FOLDER / 'gain.npy'}"], [7, 4]),
    ]
    for what, given, expected in rows:
        done = convert(target, *paths, *[w for g in given for w in ("--const", g)])
        results = []
        for name, size in sizes.items():
            run(target, {"image": np.ones(size, np.float32)}, "--entry", name)
            results.append(np.load(FOLDER / "out" / "classes.npy").tolist())
        wanted = [[float(gain)] * size for gain, size in zip(expected, sizes.values())]
        tap.ok(what, done.returncode == 0 and results == wanted, done.stderr, results, wanted)
        told = [g.replace(f"{FOLDER}/", "") for g in given]  # a file tells no folders
        tap.ok(f"{what}: inspect says so", all(f"--const {g}" in cli_json("inspect", target)["options"] for g in told))
    check_failures(target, [
        ("a constant for no entry", 2, "--const other: no entry", ["--const", "other=1"]),
        ("a constant that the entry has not", 2, "--const other: the model has no input", ["--const", "small:other=1"]),
        ("a constant of an unknown entry", 2, "--const third:gain: no entry", ["--const", "third:gain=1"]),
        ("a constant of all entries twice", 2, "--const gain is given twice", ["--const", "gain=1", "--const", "gain=1"]),
        ("a constant of one entry twice", 2, "--const gain is given twice", ["--const=small:gain=1", "--const=small:gain=2"]),
        ("a constant without a value", 2, "NAME=VALUE", ["--const", "small:gain="]),
        ("a constant that is no number", 2, "no value of its type (f32)", ["--const", "small:gain=x"]),
    ], paths)


def check_failures(target, rows, common=()):
    for name, code, words, arguments in rows:
        done = convert(target, *common, *arguments)
        tap.ok(f"{name}: exit {code}, said, no file",
               done.returncode == code and words in done.stderr and not target.exists() and not done.stdout,
               f"exit {done.returncode}", done.stderr, done.stdout)


def check_wrong_use(paths):
    first, second = paths[1], paths[3]
    good = [*paths, "--dim", "size=8"]
    target = FOLDER / "wrong.ipex"
    (FOLDER / "none.onnx").write_bytes(b"none")
    rows = [
        ("no model at all", 2, "MODEL.onnx is missing", []),
        ("no '=' in --entry", 2, "NAME=MODEL.onnx is expected", ["--entry", "first.onnx"]),
        ("an entry without a name", 2, "NAME=MODEL.onnx is expected", ["--entry", "=first.onnx"]),
        ("an entry without a path", 2, "NAME=MODEL.onnx is expected", ["--entry", "first="]),
        ("a name with a colon", 2, "a:b", ["--entry", f"a:b={first.split('=')[1]}"]),
        ("a name that is too long", 2, "at most 256", ["--entry", "a" * 257 + "=x.onnx"]),
        ("an entry twice", 2, "there is an entry first already", [*good, "--entry", first]),
        ("an entry main beside the model", 2, "main already", [first.split("=")[1], "--entry", "main=" + second.split("=")[1]]),
        ("a missing model", 1, "nowhere.onnx", [*good, "--entry", "third=nowhere.onnx"]),
        ("a model that is a folder", 1, "not a regular file", [*good, "--entry", f"third={FOLDER}"]),
        ("a model that is none", 1, "none.onnx", [*good, "--entry", f"third={FOLDER / 'none.onnx'}"]),
        ("more than 256 entries", 2, "at most 256", [w for i in range(257) for w in ("--entry", f"e{i}=x.onnx")]),
        ("a size that no entry has", 2, "--dim other: no entry", [*good, "--dim", "other=3"]),
        ("a size that the entry has not", 2, "--dim other: no input", [*good, "--dim", "first:other=3"]),
        ("a size of an unknown entry", 2, "--dim third:size: no entry", [*good, "--dim", "third:size=3"]),
        ("a size given twice", 2, "other sizes", [*good, "--dim", "size=9"]),
        ("sizes missing: flags with the entry", 2, "--dim 'second:size=LO..HI'", [*paths, "--dim", "first:size=8"]),
        ("an input that no entry has", 2, "--input other: no entry", [*good, "--input", "other=3x4"]),
        ("an input given twice", 2, "another shape", [*good, "--input", "image=1x3x8x8", "--input", "image=1x3x9x9"]),
        ("labels for no entry", 2, "they are: first, second", [*good, "--labels", "x.txt"]),
        ("labels without a path", 2, "nothing behind the '='", [*good, "--labels", "first="]),
        ("labels twice", 2, "already", [*good, "--labels", "first=x.txt", "--labels", "first=y.txt"]),
        ("labels missing", 1, "nowhere.txt", [*good, "--labels", "first=nowhere.txt"]),
        ("too few labels", 1, "second has 7 classes", [*good, "--labels", f"second={FOLDER / 'first.txt'}"]),
        ("answers for no entry", 2, "they are: first, second", [*good, "--golden-from", "folder"]),
        ("answers from nowhere", 1, "nowhere", [*good, "--golden-from", "second=nowhere"]),
    ]
    check_failures(target, rows)
    done = convert(target, "--entry", "a=" + str(save("bad", unsupported())), "--entry", "b=" + str(FOLDER / "bad.onnx"))
    tap.ok("what cannot be converted is said of all entries", done.returncode == 1 and done.stderr.count("node_magic") == 2,
           done.stderr)


def unsupported():
    g = Graph()
    g.output(g.op("Magic", g.input(2), name="node_magic"))
    return g


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    graphs = {"first": network(2, 5), "second": network(3, 7)}
    paths = [w for name, g in graphs.items() for w in ("--entry", f"{name}={save(name, g)}")]
    sizes = {"first": 8, "second": 12}
    both = FOLDER / "both.ipex"
    flags = [f"--dim={name}:size={size}" for name, size in sizes.items()]
    done = convert(both, *paths, *flags)
    if tap.ok("two entries convert", done.returncode == 0 and "entry second: " in done.stdout, done.stderr, done.stdout):
        for name, size in sizes.items():
            convert(FOLDER / f"{name}.ipex", FOLDER / f"{name}.onnx", "--dim", f"size={size}")
        check_numbers(both, graphs, sizes)
        check_sharing(both, FOLDER / "first.ipex", FOLDER / "second.ipex")
        check_options(paths)
        check_constants()
        check_wrong_use(paths)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
