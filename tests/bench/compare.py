#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ipexpack, ONNX Runtime and OpenVINO on the same networks, side by side. See tests/bench/README.md.

compare.py [--models A,MODEL.onnx] [--dim NAME=N]... [--threads 1,2] [--rounds 5] [--seconds 1] [--isa LEVEL]
           [--dtype f32|bf16] [--json FILE]

Networks are those of tests/sized_networks.py at the sizes of WORK, or any ONNX files, whose symbolic sizes are those of
--dim, else 1; converted by the default flags, but for the sizes. With --dtype bf16 ipexpack and OpenVINO multiply in
bf16; ONNX Runtime, which has no such products on a CPU, stays in f32.

Rounds alternate between the runtimes; each measurement is a process of its own, bound to as many CPUs as it has
threads. Minima are compared, medians stand beside them."""
import argparse
import collections
import glob
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, CLI, cli_json, command
from sized_networks import P2O, SIZED, Sized, make_models

FOLDER = BUILD / "bench"
P0, P1, P2 = (P2O + axis for axis in "012")
# name: (network, sizes); a batch of one where nothing else is said
WORK = {
    "resnet34": ("resnet34", {}),
    "resnet50": ("resnet50", {}),
    "convnext_tiny": ("convnext_tiny", {}),
    "minilm": ("minilm", {"seq": 128}),
    "mobilenetv2": ("mobilenetv2", {}),
    "squeezenet": ("squeezenet", {}),
    "yolox_nano": ("yolox_nano", {}),
    "ppocr_det": ("ppocr_det", {P1: 736, P2: 736}),
    "ppocr_rec": ("ppocr_rec", {P1: 320}),
    "ppocr_cls": ("ppocr_cls", {P1: 48, P2: 192}),
    "oidn_unet": ("oidn_unet", {"H": 256, "W": 256}),
    "silero_vad": ("silero_vad_op18", {"sequence": 576}),
    "magika": ("magika", {}),
    "basic_pitch": ("basic_pitch", {}),
    "cond_unet": ("cond_unet", {}),
    "resnet34 x8": ("resnet34", {"N": 8}),
    "resnet50 x8": ("resnet50", {"batch": 8}),
    "minilm x8": ("minilm", {"batch": 8, "seq": 128}),
    "resnet20": ("resnet20", {}),
    "super_resolution": ("super_resolution", {}),
    "mnist": ("mnist", {}),
}
FIRST_WORK = 15  # of these the geometric mean is taken
TYPES = {1: ("f32", "float32"), 6: ("i32", "int32"), 7: ("i64", "int64")}  # by TensorProto.DataType
LIBRARIES = {
    "onnxruntime": ("onnxruntime", "capi/libonnxruntime.so.*"),
    "openvino": ("openvino", "libs/libopenvino_c.so*"),
}


def peer_libraries():
    """{peer: (library, version)} of the opponents that this Python has."""
    found = {}
    for peer, (package, pattern) in LIBRARIES.items():
        spec = importlib.util.find_spec(package)
        files = sorted(glob.glob(os.path.join(os.path.dirname(spec.origin), pattern))) if spec else []
        if files:
            found[peer] = (files[0], importlib.metadata.version(package))
    return found


def cpu_name():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        fields = dict(line.split(":", 1) for line in lines.read().split("\n\n")[0].splitlines())
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    return f"{fields['model name']} (family {fields['cpu family']}, model {fields['model']})"


def cpu_ticks():
    """(busy, all) ticks of the whole machine."""
    with open("/proc/stat", encoding="ascii") as lines:
        ticks = [int(word) for word in lines.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


class Load:
    """The share of the machine that others used while measurements ran."""

    def __init__(self):
        self.busy = self.own = self.all = 0

    def __enter__(self):
        self.begin, self.begin_own = cpu_ticks(), os.times()
        return self

    def __exit__(self, *_):
        now, own = cpu_ticks(), os.times()
        self.busy += now[0] - self.begin[0]
        self.all += now[1] - self.begin[1]
        seconds = sum(own[:4]) - sum(self.begin_own[:4])
        self.own += seconds * os.sysconf("SC_CLK_TCK")

    def others(self):
        return max(0.0, self.busy - self.own) / max(1, self.all)


def cpus_of(threads):
    """As many CPUs, for taskset."""
    return ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))[:threads])


def bound_output(threads, *arguments):
    """Runs a measuring program on as many CPUs as it has threads; returns what it prints."""
    done = command("taskset", "-c", cpus_of(threads), *arguments)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def bound(threads, *arguments):
    """The same of a program that prints one object."""
    return json.loads(bound_output(threads, *arguments))


def measure_machine(threads):
    """What this machine can do at most with so many threads."""
    return bound(threads, CLI, "bench", "--machine", "--threads", threads, "--json")


def print_heads(heads):
    """Of a table in Markdown."""
    print_row(heads)
    print("|" + "---|" * len(heads))


def print_row(cells):
    print("|", " | ".join(cells), "|", flush=True)


def inputs_of(model):
    weights = {w.name for w in model.graph.initializer}
    return [port for port in model.graph.input if port.name not in weights]


def is_file(name):
    return name.endswith(".onnx")


def network_of_file(path):
    """Of an ONNX file, with every size that is not written in it as 1."""
    import onnx
    try:
        ports = inputs_of(onnx.load(path, load_external_data=False))
    except Exception as error:  # of the file system or of protobuf
        sys.exit(f"compare: {path}: {error}")
    for port in ports:
        if port.type.tensor_type.elem_type not in TYPES:
            sys.exit(f"compare: {path}: input {port.name} is neither f32 nor i32 nor i64")
    return Sized(pathlib.Path(path).name, path, [{dim.dim_param or f"{port.name}[{axis}]": 1 for port in ports
                 for axis, dim in enumerate(port.type.tensor_type.shape.dim) if not dim.HasField("dim_value")}], None)


class Work:
    """A network at fixed sizes: the file that ipexpack made, and what the opponents read: the model with the sizes
    written into it, and inputs. dims: {symbol: size} for those of an ONNX file."""

    def __init__(self, name, dims=None):
        if is_file(name):
            self.network = network_of_file(name)
            sizes = {symbol: size for symbol, size in (dims or {}).items() if symbol in self.network.sizes[0]}
            name = self.network.name
        else:
            network, sizes = WORK[name]
            self.network = next(n for n in SIZED if n.name == network)
        self.name = name
        self.sizes = {symbol: 1 for symbol in self.network.sizes[0]} | sizes
        stem = FOLDER / name.replace(" ", "_").replace(".", "_")  # no file's is another's
        self.ipex, self.model, self.stem = stem.with_suffix(".ipex"), stem.with_suffix(".onnx"), stem

    def is_here(self):
        """Whether its model is here; says so where not."""
        if not self.network.path.exists():
            print(f"  {self.name} is skipped: {self.network.path} is not here", file=sys.stderr)
        return self.network.path.exists()

    def convert(self, target, *flags):
        """At these sizes alone."""
        FOLDER.mkdir(exist_ok=True)
        dims = [word for symbol, value in self.sizes.items() for word in ("--dim", f"{symbol}={value}")]
        given = [word for name, value in self.network.bound.items() for word in ("--const", f"{name}={value}")]
        done = command(CLI, "convert", self.network.path, "-o", target, "--quiet", *dims, *given, *flags)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {done.stderr}")

    def prepare(self, dtype):
        self.convert(self.ipex, *([] if dtype == "f32" else ["--dtype", dtype]))
        self.inputs = self.write_model()

    def write_model(self):
        """The opponents' model and inputs; returns the words that name these."""
        import numpy as np
        import onnx
        graph, words = onnx.load(str(self.network.path)), []
        for index, port in enumerate(inputs_of(graph)):
            kind, dtype = TYPES[port.type.tensor_type.elem_type]
            for axis, dim in enumerate(port.type.tensor_type.shape.dim):
                if not dim.HasField("dim_value"):
                    dim.dim_value = self.sizes.get(dim.dim_param) or self.sizes[f"{port.name}[{axis}]"]
            shape = [dim.dim_value for dim in port.type.tensor_type.shape.dim]
            values = self.network.bound.get(port.name)
            if values is None:
                random = np.random.default_rng(1234).standard_normal(shape)
                values = random if kind == "f32" else np.ones(shape)
            file = self.stem.with_suffix(f".{index}.bin")
            np.ascontiguousarray(values, dtype).tofile(file)
            words += [port.name, kind, "x".join(map(str, shape)) or "scalar", file]
        onnx.save(graph, str(self.model))
        return words


def measure_ours(work, threads, options):
    isa = ["--isa", options.isa] if options.isa else []
    got = bound(threads, CLI, "bench", work.ipex, "--threads", threads, "--seconds", options.seconds, "--json", *isa)
    got["create_us"] = got["open_us"] + got["init_us"]
    return got


def measure_peer(peer, library, work, threads, options):
    program = BUILD / "tests" / "bench" / "peer"
    return bound(threads, program, peer, library, work.model, threads, options.dtype, options.seconds, *work.inputs)


def steps_of(work, threads, options):
    """Of one profile: flops of the direct algorithm (2 per multiply-add), what the steps take at least together by the
    roofline, what they took, and what each operator took beyond it, in us."""
    isa = ["--isa", options.isa] if options.isa else []
    steps = bound(threads, CLI, "bench", work.ipex, "--threads", threads, "--seconds", options.seconds, "--profile",
                  "--html", work.stem.with_suffix(".html"), "--json", *isa)["steps"]
    beyond = collections.Counter()
    for step in steps:
        beyond[step["op"]] += step["median_us"] - step["bound_us"]
    return {"flops": sum(step["flops"] for step in steps), "bound_us": sum(step["bound_us"] for step in steps),
            "steps_us": sum(step["median_us"] for step in steps), "beyond_us": dict(beyond.most_common())}


def summary(rounds):
    return {
        "min_us": min(r["min_us"] for r in rounds),
        "median_us": statistics.median(r["median_us"] for r in rounds),
        "create_us": min(r["create_us"] for r in rounds),
        "first_run_us": min(r["first_run_us"] for r in rounds),
    }


def first_number(work, threads, options):
    """Of our first output."""
    program, given = BUILD / "tests" / "bench" / "peer_ipexpack", work.network.bound  # what the file already has
    words = [word for i in range(0, len(work.inputs), 4) if work.inputs[i] not in given for word in work.inputs[i:i + 4]]
    return bound(threads, program, "ipexpack", "-", work.ipex, threads, options.dtype, 0, *words)["output_0"]


def check_result(theirs, ours):
    """Where a runtime's first number is nowhere near ours, it did not do this model's work. None: it is infinite or NaN."""
    if (theirs is None) != (ours is None) or theirs is not None and not abs(theirs - ours) <= 0.5 * max(1, abs(ours)):
        raise ValueError(f"its output begins with {theirs}, ipexpack's with {ours}")


def peers_that_run(work, threads, peers, options):
    """Those of the opponents that take this model with so many threads; says which do not, and why."""
    able, ours = {}, first_number(work, threads, options) if peers else None
    for peer, (library, version) in peers.items():
        try:
            got = measure_peer(peer, library, work, threads, argparse.Namespace(dtype=options.dtype, seconds=0))
            check_result(got["output_0"], ours)
            able[peer] = (library, version)
        except (RuntimeError, ValueError) as error:  # it fails, or what it says is no JSON, or not the result
            print(f"  {work.name} without {peer}: {str(error).splitlines()[-1]}", file=sys.stderr)
    return able


def measure(work, threads, peers, options, load):
    peers = peers_that_run(work, threads, peers, options)
    rounds = {"ipexpack": []} | {peer: [] for peer in peers}
    for _ in range(options.rounds):
        with load:
            rounds["ipexpack"].append(measure_ours(work, threads, options))
            for peer, (library, _version) in peers.items():
                rounds[peer].append(measure_peer(peer, library, work, threads, options))
    used = rounds["ipexpack"][0]
    return {"network": work.name, "threads": threads, "isa": used["isa"], **steps_of(work, threads, options),
            "times": {who: summary(got) for who, got in rounds.items()}}


def ratio(row, peer, key="min_us"):
    return row["times"]["ipexpack"][key] / row["times"][peer][key] if peer in row["times"] else float("nan")


def print_machine(peers, peaks, rounds):
    versions = ", ".join(f"{peer} {version}" for peer, (_, version) in peers.items()) or "nobody"
    print(f"{time.strftime('%Y-%m-%d')}, {cpu_name()}, Linux {platform.release()}")
    print(f"against {versions}; {rounds} alternating rounds")
    for threads, machine in peaks.items():
        rates = ", ".join(f"{p['isa']} {p['dtype']} {p['gflops']:.1f}" for p in machine["peaks"])
        reads = ", ".join(f"{store['name']} {store['gbs']:.1f}" for store in machine["read"])
        print(f"{threads} thread(s): GFLOP/s at most: {rates}; GB/s read: {reads}")


def pair(times):
    """Minimum and median in ms; a dash of who did not run."""
    return f"{times['min_us'] / 1e3:9.3f} /{times['median_us'] / 1e3:8.3f}" if times else f"{'-':>19}"


def print_times(rows, peers, peaks):
    print("\ntimes of one inference in ms, minimum / median; ratio = ipexpack's minimum over theirs;"
          " GFLOP/s and % of the FMA peak are ipexpack's")
    heads = "".join(f"{peer:>19} {'ratio':>6}" for peer in peers)
    print(f"{'network':17} thr {'isa':12}{'ipexpack':>19}{heads} {'GFLOP/s':>8} {'% peak':>6}")
    for row in rows:
        ours = row["times"]["ipexpack"]
        cells = f"{row['network']:17} {row['threads']:3} {row['isa']:12}{pair(ours)}"
        for peer in peers:
            cells += f"{pair(row['times'].get(peer))} {ratio(row, peer):6.2f}"
        rate = row["flops"] / ours["min_us"] / 1e3
        print(f"{cells} {rate:8.1f} {100 * rate / peak_of(row, peaks):6.1f}")


def peak_of(row, peaks):
    level = "avx512" if "512" in row["isa"] or row["isa"] == "amx" else "avx2"
    return next(p["gflops"] for p in peaks[row["threads"]]["peaks"] if (p["isa"], p["dtype"]) == (level, "f32"))


def print_rooflines(rows):
    print("\nhow far from the roofline: what the steps take at least together (arithmetic at the peak, or bytes once each"
          " from the nearest cache that holds them; ms), its share of what they took in the same process, and the operators"
          " that take most of the rest, with their part")
    for row in rows:
        beyond, steps_us = row["beyond_us"], row["steps_us"]
        holds = ", ".join(f"{op} {100 * us / steps_us:.0f} %" for op, us in list(beyond.items())[:3] if us > 0.01 * steps_us)
        share = 100 * row["bound_us"] / steps_us
        print(f"{row['network']:17} {row['threads']:3} {row['bound_us'] / 1e3:9.3f} {share:5.0f} %  {holds}")


def print_means(rows, peers):
    """Of ipexpack's minimum over the best opponent's, over the first networks of WORK: real ones, a batch of one."""
    for t in sorted({row["threads"] for row in rows}):
        ran = [row for row in rows if row["threads"] == t and len(row["times"]) > 1]
        ratios = {row["network"]: max(ratio(row, peer) for peer in peers if peer in row["times"]) for row in ran}
        ratios = {name: value for name, value in ratios.items() if name in list(WORK)[:FIRST_WORK]}
        if ratios:
            worst = max(ratios, key=ratios.get)
            print(f"{t} thread(s): geometric mean of ipexpack over the better opponent, {len(ratios)} networks:"
                  f" {statistics.geometric_mean(ratios.values()):.3f}; highest {ratios[worst]:.2f} ({worst})")


def print_starts(rows, peers):
    print("\ntime to a session that can run, in ms (minimum): ipexpack open + init, theirs session creation;"
          " ratio = theirs over ipexpack's")
    print(f"{'network':17} thr {'ipexpack':>9}" + "".join(f"{peer:>13} {'ratio':>7}" for peer in peers))
    for row in rows:
        cells = f"{row['network']:17} {row['threads']:3} {row['times']['ipexpack']['create_us'] / 1e3:9.3f}"
        for peer in peers:
            create = row["times"][peer]["create_us"] if peer in row["times"] else float("nan")
            cells += f"{create / 1e3:13.2f} {1 / ratio(row, peer, 'create_us'):7.1f}"
        print(cells)


def print_scaling(rows):
    one = {row["network"]: row["times"] for row in rows if row["threads"] == 1}
    two = {row["network"]: row["times"] for row in rows if row["threads"] == 2}
    both = [name for name in one if name in two]
    if both:
        print("\nspeed-up of two threads over one (minima)")
    for name in both:
        cells = [f"{who} {one[name][who]['min_us'] / two[name][who]['min_us']:.2f}" for who in one[name] if who in two[name]]
        print(f"{name:17} {', '.join(cells)}")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", help="names or ONNX files, comma-separated (default: all networks that are here)")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="a size of the files (1)")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of one measurement")
    parser.add_argument("--isa", help="level for ipexpack (default: the best)")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32", help="what ipexpack and OpenVINO multiply in")
    parser.add_argument("--json", type=pathlib.Path, help="also write everything here")
    return parser.parse_args()


def sizes_given(words):
    """{NAME: N} of --dim NAME=N."""
    given = dict(word.rpartition("=")[::2] for word in words)
    if wrong := [f"{name}={size}" for name, size in given.items() if not name or not size.isdecimal() or not int(size)]:
        sys.exit(f"compare: --dim {', '.join(wrong)}: want NAME=N, N above 0")
    return {name: int(size) for name, size in given.items()}


def main():
    options = arguments()
    wanted = options.models.split(",") if options.models else list(WORK)
    dims = sizes_given(options.dim)
    if unknown := [name for name in wanted if name not in WORK and not is_file(name)]:
        sys.exit(f"compare: no network {', '.join(unknown)}; there are {', '.join(WORK)}, and ONNX files")
    make_models([WORK[name][0] for name in wanted if not is_file(name)])
    counts = [int(t) for t in options.threads.split(",")]
    if max(counts) > len(os.sched_getaffinity(0)):
        sys.exit("compare: more threads than CPUs")
    chosen = [work for work in (Work(name, dims) for name in wanted) if work.is_here()]
    if unused := set(dims) - {symbol for work in chosen for symbol in work.sizes}:
        sys.exit(f"compare: --dim {', '.join(sorted(unused))}: no model has this size")
    try:
        for work in chosen:
            work.prepare(options.dtype)
    except RuntimeError as error:  # it cannot be converted: all reasons are in the message
        sys.exit(f"compare: {error}")
    peers, load, rows = peer_libraries(), Load(), []
    peaks = {t: measure_machine(t) for t in counts}
    print_machine(peers, peaks, options.rounds)
    for t in counts:
        for work in chosen:
            print(f"  measuring {work.name}, {t} thread(s)", file=sys.stderr)
            rows.append(measure(work, t, peers, options, load))
    print_times(rows, peers, peaks)
    print_means(rows, peers)
    print_rooflines(rows)
    print_starts(rows, peers)
    print_scaling(rows)
    print(f"\nother processes used {100 * load.others():.1f} % of the machine while this ran")
    if options.json:
        everything = {"cpu": cpu_name(), "peaks": peaks, "others": load.others(), "rows": rows}
        options.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
