#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line as its users see it: exit codes, messages, JSON fields, files. Uses a model written here (two layers of
numbers that can be computed by hand), so it needs no data. verbs.py [FOLDER]"""
import json
import os
import pathlib
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, CLI, Tap, cli_at, cli_json, command

AMX_CLI = cli_at("amx")
FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else BUILD / "test-verbs"
tap = Tap()


# ---- a model in ONNX: y = relu(x W + b), x [2][3], W [3][4], y [2][4] ----

def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, values):
    body = b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name)
    return body + field(9, struct.pack(f"<{len(values)}f", *values))


def value_info(name, dims):
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def node(op, inputs, output):
    return b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, output) + field(4, op)


X = [[1, -2, 3], [0.5, 0.25, -1]]
W = [[1, 0, -1, 2], [0, 1, 1, 0.5], [2, -1, 0.5, 1]]
B = [0.5, 0, -0.25, 1]
Y = [max(0.0, sum(X[n][k] * W[k][m] for k in range(3)) + B[m]) for n in range(2) for m in range(4)]


def flat(rows):
    return [v for row in rows for v in row]


def write_model(path):
    graph = (field(1, node("Gemm", ["x", "w", "b"], "h")) + field(1, node("Relu", ["h"], "out/y:0")) + field(2, "g")
             + field(5, tensor("w", [3, 4], flat(W))) + field(5, tensor("b", [4], B))
             + field(11, value_info("x", [2, 3])) + field(12, value_info("out/y:0", [2, 4])))
    path.write_bytes(field(1, 8) + field(8, field(2, 13)) + field(7, graph))


def write_npy(path, dims, values, descr="<f4", code="f"):
    shape = "(" + "".join(f"{d}, " for d in dims) + ")"
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head
                     + struct.pack(f"<{len(values)}{code}", *values))


def read_npy(path):
    data = path.read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return list(struct.unpack(f"<{(len(data) - start) // 4}f", data[start:]))


# ---- checks ----

def check(name, arguments, code, *parts):
    """The exit code, and parts that stderr must have; on failure stdout must be empty."""
    done = command(CLI, *arguments)
    right = done.returncode == code and all(part in done.stderr for part in parts)
    quiet = code == 0 or not done.stdout
    shape = code == 0 or done.stderr.startswith("ipexpack: ")
    tap.ok(name, right and quiet and shape, f"exit {done.returncode}, wanted {code} and {parts}", done.stderr, done.stdout)
    return done


def load_json(name, arguments, keys):
    done = command(CLI, *arguments, "--json")
    try:
        value = json.loads(done.stdout)
    except ValueError as error:
        tap.ok(name, False, error, done.stdout, done.stderr)
        return {}
    missing = [key for key in keys.split() if key not in value]
    tap.ok(name, done.returncode == 0 and not missing, f"missing {missing}, exit {done.returncode}", done.stderr)
    return value


def check_usage():
    done = command(CLI)
    tap.ok("no verb: exit 2, help on stderr", done.returncode == 2 and "verbs:" in done.stderr and not done.stdout)
    check("unknown verb: exit 2, named", ["frobnicate"], 2, "unknown verb 'frobnicate'", "verbs:")
    done = command(CLI, "--version")
    tap.ok("--version", done.returncode == 0 and done.stdout.startswith("ipexpack 0."), done.stdout)
    for verb, options in {"convert": "-o --entry --dim --input --const --labels --golden-from --golden --dtype --arithmetic --quiet --json",
                          "inspect": "--why --json --dot",
                          "run": "--input --output --dim --entry --threads --isa --arithmetic --no-bands --json",
                          "bench": "--dim --entry --threads --isa --arithmetic --no-bands --seconds --profile --html --machine --json",
                          "compare": "--inputs --tolerance --entry --threads --isa --arithmetic --no-bands --json",
                          "verify": "--entry --threads --isa --arithmetic --no-bands --json"}.items():
        done = command(CLI, verb, "--help")
        missing = [o for o in options.split() if o + " " not in done.stdout]
        tap.ok(f"{verb} --help: every option", done.returncode == 0 and not missing and not done.stderr, missing)
        check(f"{verb}: no file: exit 2", [verb], 2, "is missing", f"usage: ipexpack {verb} ")
        check(f"{verb}: unknown option: exit 2", [verb, "f", "--frob"], 2, "unknown option '--frob'", "usage:")


def check_machine(model):
    for verb in ["run", "bench", "verify"]:
        check(f"{verb}: unknown level: exit 2, lists levels", [verb, model, "--isa", "sse9"], 2, "'sse9'", "reference")
        check(f"{verb}: unknown profile: exit 2, lists profiles", [verb, model, "--arithmetic", "f8"], 2, "'f8'", "f32")
        check(f"{verb}: threads 0: exit 2", [verb, model, "--threads", "0"], 2, "between 1 and")
    check("a profile that the file does not compute in: exit 1", ["bench", model, "--arithmetic", "bf16-amx"], 1,
          "computes in f32, not in bf16-amx")


# What AMX_EMU says of the machine (tests/amx_emu/amx_seam.c): "amx" in the report, and words on stderr for --isa amx.
AMX_MACHINES = {"": ("permitted", None), "refused": ("refused", "refuses permission to use AMX (error 1)"),
                "no-state": ("no_state", "does not save the registers of AMX"), "masked": ("absent", "a hypervisor hides it")}


def check_amx(model):
    """The command line with the emulator: it asks for AMX by itself, says what came of it, and never takes it unasked."""
    if not AMX_CLI.exists():
        tap.skip("amx", "this CPU has no AVX512-BF16, and this build does not emulate it")
        return
    for machine, (state, words) in AMX_MACHINES.items():
        env = dict(os.environ, **({"AMX_EMU": machine} if machine else {}))
        report = command(AMX_CLI, "bench", model, "--seconds", "0.01", "--json", env=env).stdout
        found = json.loads(report or "{}")
        tap.ok(f"amx {machine}: the best level asks, and says what came of it",
               found.get("amx") == state and (found["isa"] == "amx") == (words is None), report)
        done = command(AMX_CLI, "bench", model, "--seconds", "0.01", "--isa", "amx", env=env)
        tap.ok(f"amx {machine}: --isa amx", done.returncode == (1 if words else 0) and (words or "") in done.stderr
               and ("this machine has: reference" in done.stderr) == bool(words), done.stderr, done.stdout)
        if state in ["permitted", "refused"]:
            done = command(AMX_CLI, "bench", model, "--seconds", "0.01", env=env)
            tap.ok(f"amx {machine}: the text report says so", "to use AMX)" in done.stdout or "may use AMX)" in done.stdout,
                   done.stdout)
    done = command(AMX_CLI, "bench", model, "--isa", "amx", env=dict(os.environ, AMX_EMU="0"))
    tap.ok("amx: without emulator a status, not a signal", done.returncode in [0, 1], done.returncode, done.stderr)


def check_run(model):
    x, out = FOLDER / "x.npy", FOLDER / "out"
    write_npy(x, [2, 3], flat(X))
    check("run: writes the output", ["run", model, "--input", f"x={x}", "--output", out], 0)
    got = read_npy(out / "out_y_0.npy") if (out / "out_y_0.npy").exists() else []
    tap.ok("run: '/' and ':' of a name become '_', values are right",
           len(got) == 8 and all(abs(a - b) < 1e-5 for a, b in zip(got, Y)), got, Y)
    tap.ok("run: nothing else in the folder", len(list(out.iterdir())) == 1)
    (FOLDER / "x.pb").write_bytes(tensor("x", [2, 3], flat(X)))
    report = load_json("run --json: .pb input, levels", ["run", model, "--input", f"x={FOLDER / 'x.pb'}", "--isa", "reference"],
                       "outputs isa arithmetic threads open_us init_us run_us top")
    outputs = report.get("outputs", [{}])
    tap.ok("run --json: statistics", abs(outputs[0].get("max", 0) - max(Y)) < 1e-5 and outputs[0].get("dims") == [2, 4]
           and report["isa"] == "reference", outputs)
    best = [row[0]["label"] for row in report.get("top", [])]
    wanted = ["abcd"[Y[row * 4:row * 4 + 4].index(max(Y[row * 4:row * 4 + 4]))] for row in range(2)]
    tap.ok("run --json: best class with its label, per row", best == wanted, best, wanted)


def check_run_errors(model):
    bad = FOLDER / "bad.npy"
    check("run: a missing input is listed", ["run", model], 1, "'x' (2x3 f32)")
    check("run: an unknown input", ["run", model, "--input", f"z={bad}"], 1, "'z=", "'x' (2x3 f32)")
    check("run: --input without '=': exit 2", ["run", model, "--input", "x"], 2, "NAME=FILE", "usage:")
    write_npy(bad, [3, 2], [0] * 6)
    check("run: wrong shape: input, expected, got", ["run", model, "--input", f"x={bad}"], 1, "'x'", "2x3 f32", "3x2 f32")
    write_npy(bad, [2, 3], [0] * 6, "<i8", "q")
    check("run: wrong dtype: input, expected, got", ["run", model, "--input", f"x={bad}"], 1, "'x'", "2x3 f32", "2x3 i64")
    bad.write_bytes(b"not a tensor")
    check("run: a file that is no tensor", ["run", model, "--input", f"x={bad}"], 1, "'x'", "bad.npy")
    (FOLDER / "empty").write_bytes(b"")
    check("run: an empty file as tensor", ["run", model, "--input", f"x={FOLDER / 'empty'}"], 1, "'x'", "empty: the file is empty")
    check("run: given twice", ["run", model, "--input", f"x={FOLDER}/x.npy", "--input", f"x={FOLDER}/x.npy"], 1, "twice")
    check("run: an output folder that cannot be", ["run", model, "--input", f"x={FOLDER}/x.npy", "--output", bad], 1, "bad.npy")
    check("run: no such file", ["run", FOLDER / "gone.ipex"], 1, "gone.ipex")
    check("run: not an .ipex file", ["run", FOLDER / "m.onnx"], 1, "m.onnx")


def check_long_paths(model):
    """The path, once and whole, and what is wrong with it."""
    odd = FOLDER / "odd\x1bname.ipex"
    done = check("a name with a control character", ["inspect", odd], 1, "no such file")
    tap.ok("... is shown once", done.stderr.count("name.ipex") == 1, done.stderr)
    x = FOLDER / "x.npy"
    for parts in 1, 4:
        folder = FOLDER / "/".join("d" * 200 for _ in range(parts))
        folder.mkdir(parents=True, exist_ok=True)
        gone = folder / "gone" / "file"
        shutil.copy(model, folder / "m.ipex")
        (folder / "bad.ipex").write_bytes(b"IPEX")
        for what, arguments, path, why in [
                ("inspect", ["inspect", gone], gone, "no such file"),
                ("a file that is none", ["inspect", folder / "bad.ipex"], folder / "bad.ipex", "4 bytes"),
                ("run: an input", ["run", model, "--input", f"x={gone}"], gone, "No such file"),
                ("run: an output", ["run", model, "--input", f"x={x}", "--output", folder / "m.ipex"], folder / "m.ipex/", "Not a dir"),
                ("bench --html", ["bench", model, "--html", gone], gone.parent, "No such file"),
                ("convert: a model", ["convert", gone, "-o", FOLDER / "no.ipex"], gone, "No such file"),
                ("convert -o", ["convert", FOLDER / "m.onnx", "-o", gone], gone.parent, "No such file")]:
            done = check(f"a path of {len(str(path))} bytes: {what}", arguments, 1, str(path), why)
            tap.ok(f"a path of {len(str(path))} bytes: {what}: once", done.stderr.count(str(FOLDER)[:50]) == 1, done.stderr)


def check_bench(model):
    keys = ("min_us median_us p90_us p99_us max_us runs threads isa arithmetic open_us init_us first_run_us "
            "session_bytes file_bytes peak_rss_kb anon_kb page_faults")
    report = load_json("bench --json: every field", ["bench", model, "--seconds", "0.05"], keys)
    tap.ok("bench: order of the percentiles, file size", report and report["min_us"] <= report["median_us"] <= report["p90_us"]
           <= report["p99_us"] <= report["max_us"] and report["file_bytes"] == model.stat().st_size, report)
    faults = [cli_json("bench", model, "--seconds", "0.001")["page_faults"] for _ in range(24)]
    tap.ok("bench: no page faults while running, wherever the stack lies", not any(faults), faults)
    report = load_json("bench --profile --json, 2 threads", ["bench", model, "--seconds", "0.05", "--profile", "--threads", "2"],
                       keys + " steps")
    steps = report.get("steps", [])
    tap.ok("bench --profile: fields of a step", steps and all(set("name op kernel median_us flops bytes".split()) <= set(s)
                                                             for s in steps) and report["threads"] == 2, steps)
    tap.ok("bench --profile: flops of the linear step", [s["flops"] for s in steps if s["op"] == "linear"] == [2 * 2 * 3 * 4], steps)
    done = check("bench --profile: a table", ["bench", model, "--seconds", "0.05", "--profile"], 0)
    tap.ok("bench --profile: heads of the table", "GFLOP/s" in done.stdout and "share" in done.stdout, done.stdout)


def check_inspect(model):
    report = load_json("inspect --json: every field", ["inspect", model],
                       "entries tensors memory passes ledger weights digest file_bytes")
    entry = report.get("entries", [{}])[0]
    tap.ok("inspect --json: ports", entry.get("inputs") == [{"name": "x", "dtype": "f32", "dims": [2, 3]}]
           and entry.get("outputs") == [{"name": "out/y:0", "dtype": "f32", "dims": [2, 4]}], entry)
    tap.ok("inspect --json: labels and answers", entry.get("labels") == list("abcd") and entry.get("answers") == ["self"], entry)
    tap.ok("inspect --json: memory per thread count", [m["threads"] for m in report.get("memory", [])] == [1, 2, 4])
    rows = report.get("ledger", [])
    tap.ok("inspect --json: ledger rows", rows and all({"site", "pass", "verdict", "reason", "text"} <= set(r) for r in rows)
           and {r["verdict"] for r in rows} <= {"applied", "refused"}, rows)
    counted = sum(p["applied"] + p["refused"] for p in report.get("passes", []))
    tap.ok("inspect --json: the passes' counts are the rows", counted == len(rows), counted, rows)
    name = rows[0]["pass"] if rows else "?"
    done = check("inspect --why TEXT", ["inspect", model, "--why", name], 0)
    only = [r["pass"] for r in rows if name in r["site"] or name in r["pass"]]
    tap.ok("inspect --why TEXT: these sites only", done.stdout.count("\n  applied") + done.stdout.count("\n  refused") == len(only),
           done.stdout)
    done = check("inspect --why TEXT without a match", ["inspect", model, "--why", "zzz"], 0)
    tap.ok("inspect --why: says that nothing matches", "zzz" in done.stdout, done.stdout)
    done = check("inspect --dot", ["inspect", model, "--dot"], 0)
    tap.ok("inspect --dot: a graph from input to output", done.stdout.startswith("digraph") and "-> out0_0" in done.stdout
           and "in0_0 ->" in done.stdout and done.stdout.count("{") == done.stdout.count("}"), done.stdout)
    for pin, words in ((), "not pinned: bf16-amx at level amx, else bf16-dp"), (("--arithmetic", "bf16-amx"), "bf16-amx, pinned"):
        file = convert(FOLDER / "profile.ipex", "--dtype", "bf16", *pin)
        done = check(f"inspect: profile with {pin}", ["inspect", file], 0)
        tap.ok(f"inspect: says {words}", f"  profile {words}\n" in done.stdout, done.stdout)
        report = load_json(f"inspect --json: profile with {pin}", ["inspect", file, "--json"], "entries")
        tap.ok(f"inspect --json: says {words}", [e["profile"] for e in report["entries"]] == [words], report)
        report = load_json(f"bench: profile with {pin}", ["bench", file, "--seconds", "0.01", "--isa", "avx2", "--json"], "arithmetic")
        tap.ok(f"bench: takes it {pin}", report["arithmetic"] == (pin[-1] if pin else "bf16-dp"), report)
    check("a profile other than the pinned one", ["bench", FOLDER / "profile.ipex", "--arithmetic", "bf16-dp"], 1,
          "pins the arithmetic profile bf16-amx")
    check("convert --arithmetic f32", ["convert", FOLDER / "m.onnx", "-o", FOLDER / "n.ipex", "--arithmetic", "f32"], 2, "bf16-dp or bf16-amx")
    check("convert --arithmetic without bf16", ["convert", FOLDER / "m.onnx", "-o", FOLDER / "n.ipex", "--arithmetic", "bf16-dp"], 2,
          "only with --dtype bf16")
    done = check("inspect: summary", ["inspect", model], 0)
    tap.ok("inspect: summary names ports and operators", "out/y:0" in done.stdout and "linear" in done.stdout, done.stdout)


def check_verify(model, plain):
    report = load_json("verify --json", ["verify", model], "passed outputs isa arithmetic threads tolerance")
    rows = report.get("outputs", [{}])
    tap.ok("verify: passed, origin self, equal top-1", report.get("passed") is True and rows[0].get("origin") == "self"
           and rows[0].get("top1_equal") is True, report)
    check("verify: no answers: exit 1, says how to make them", ["verify", plain], 1, "--golden")
    damaged = FOLDER / "damaged.ipex"
    data = bytearray(model.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    check("verify: a flipped bit in the data", ["verify", damaged], 1, "damaged.ipex")
    wrong = FOLDER / "wrong"
    shutil.rmtree(wrong, ignore_errors=True)
    wrong.mkdir()
    (wrong / "input_0.pb").write_bytes(tensor("x", [2, 3], flat(X)))
    (wrong / "output_0.pb").write_bytes(tensor("y", [2, 4], [v + 0.01 for v in Y]))
    convert(FOLDER / "wrong.ipex", "--golden-from", wrong)
    done = command(CLI, "verify", FOLDER / "wrong.ipex")
    tap.ok("verify: another answer: exit 1, FAILED, origin given", done.returncode == 1 and "FAILED" in done.stdout
           and "given" in done.stdout and "differ" in done.stderr, done.stdout, done.stderr)
    (wrong / "origin.txt").write_text("torch\n")
    convert(FOLDER / "wrong.ipex", "--golden-from", wrong)
    done = command(CLI, "verify", FOLDER / "wrong.ipex")
    tap.ok("verify: origin torch", done.returncode == 1 and "torch" in done.stdout, done.stdout, done.stderr)
    check_verify_bf16(wrong)


def check_verify_bf16(wrong):
    """An answer 1 % off is what rounding may do, one 10 % off is not."""
    for flag, arithmetic in (("--dtype", "bf16-dp"), ("--weights", "f32")):
        for factor, passes in ((1.01, True), (1.1, False)):
            (wrong / "output_0.pb").write_bytes(tensor("y", [2, 4], [v * factor for v in Y]))
            file = convert(FOLDER / "rounded.ipex", flag, "bf16", "--golden-from", wrong)
            done = command(CLI, "verify", file, "--json")
            report = json.loads(done.stdout)
            tap.ok(f"verify, {flag} bf16: an answer times {factor}", (done.returncode == 0) == passes
                   and report["passed"] == passes and report["tolerance"] == 0.0625 and report["arithmetic"] == arithmetic,
                   done.stdout, done.stderr)
        done = command(CLI, "verify", file)
        tap.ok(f"verify, {flag} bf16: says how it compares", "FAILED" in done.stdout and "0.0625 of the norm" in done.stdout,
               done.stdout, done.stderr)
    check("run: a profile that the file does not compute in", ["verify", FOLDER / "rounded.ipex", "--arithmetic", "bf16-dp"], 1,
          "computes in f32")


def convert(target, *options):
    done = command(CLI, "convert", FOLDER / "m.onnx", "-o", target, "--quiet", *options)
    tap.ok(f"convert {target.name}", done.returncode == 0 and target.exists(), done.stderr)
    return target


def check_what_files_tell():
    """No folders of the build machine, names of files that are not UTF-8, metadata of any length."""
    (FOLDER / "given").mkdir()
    write_npy(FOLDER / "given" / "x.npy", [2, 3], flat(X))
    given = convert(FOLDER / "given.ipex", "--const", f"x={FOLDER / 'given' / 'x.npy'}")
    report = load_json("inspect: a constant from a file", ["inspect", given], "options")
    tap.ok("a file tells the name of a constant's file, without its folder", report.get("options") == "--const x=x.npy"
           and str(FOLDER / "given").encode() not in given.read_bytes(), report.get("options"))
    latin = os.fsencode(FOLDER) + b"/mod\xe8le.onnx"
    properties = [("short", "s"), ("character", "x" * 70000)]
    with open(latin, "wb") as file:
        file.write((FOLDER / "m.onnx").read_bytes() + b"".join(field(14, field(1, k) + field(2, v)) for k, v in properties))
    done = command(CLI, "convert", os.fsdecode(latin), "-o", FOLDER / "latin.ipex")
    tap.ok("a model's file whose name is not UTF-8", done.returncode == 0, done.stderr)
    tap.ok("metadata that is too long is left out, and convert says so", "'character'" in done.stdout and "70000" in done.stdout
           and "'short'" not in done.stdout, done.stdout)
    report = load_json("inspect: such a file", ["inspect", FOLDER / "latin.ipex"], "source metadata")
    tap.ok("such a name has '?' for what is not ASCII", report.get("source") == "mod?le.onnx", report.get("source"))
    tap.ok("the rest of the metadata stays", report.get("metadata") == {"short": "s"}, report.get("metadata"))


def check_control_characters():
    """Names out of files cannot drive the terminal that shows them, nor end a string of graphviz."""
    name, size = "x\x1b[2J\u009b2J\r\x7f", 'n"\x1b[2J'
    dims = field(1, field(2, size)) + field(1, field(1, 3))
    shape = field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))
    for op in "Relu", "Magic":
        graph = (field(1, node(op, [name], name + "y")) + field(1, node("Neg", [name + "y"], "z")) + field(2, "g")
                 + field(11, shape) + field(12, value_info("z", [])))
        (FOLDER / f"{op}.onnx").write_bytes(field(1, 8) + field(8, field(2, 13)) + field(7, graph))
    ipex = FOLDER / "control.ipex"
    ways = {"a refusal": ["convert", FOLDER / "Magic.onnx", "-o", FOLDER / "no.ipex"],
            "a note of a size": ["convert", FOLDER / "Relu.onnx", "-o", ipex],
            "convert": ["convert", FOLDER / "Relu.onnx", "-o", ipex, "--dim", size + "=1..4"],
            "inspect": ["inspect", ipex], "--why": ["inspect", ipex, "--why"], "one site": ["inspect", ipex, "--why", "x"],
            "run": ["run", ipex], "bench": ["bench", ipex, "--seconds", "0.01", "--profile"]}
    for what, arguments in ways.items():
        done = command(CLI, *arguments)
        shown = done.stdout + done.stderr
        bad = sorted({c for c in shown if ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160})
        tap.ok(f"control characters in names: {what} shows none", not bad and (what == "convert" or "?[2J" in shown), bad, shown)
    done = command(CLI, "inspect", ipex, "--dot")
    tap.ok("--dot: a quote in the name of a size is escaped", 'n\\"' in done.stdout and 'n"\x1b' not in done.stdout, done.stdout)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    write_model(FOLDER / "m.onnx")
    (FOLDER / "labels.txt").write_text("a\nb\nc\nd\n")
    check_usage()
    model = convert(FOLDER / "m.ipex", "--labels", FOLDER / "labels.txt", "--golden", "1")
    plain = convert(FOLDER / "plain.ipex")
    check_machine(model)
    check_amx(model)
    check_run(model)
    check_run_errors(model)
    check_long_paths(model)
    check_bench(model)
    check_inspect(model)
    check_verify(model, plain)
    check_what_files_tell()
    check_control_characters()
    return tap.done()


sys.exit(main())
