#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --dtype bf16 and --weights bf16 gain over f32, on the networks and at the sizes of compare.py:

bf16_gain.py [--rounds N] [--seconds S] [--threads N] [NAME...]     (all of the geometric mean without names)

Rounds alternate between the files of a network; ratios are of minima. The first table compares with f32 as it is
converted by default, the second one with f32 of the same algorithm (--size: no Winograd, which bf16 has not), and says
what is asked. What the columns are stands in tests/bench/README.md."""
import argparse
import os
import sys

from compare import FIRST_WORK, FOLDER, Load, WORK, Work, bound, cpu_name, measure_machine, print_heads, print_row  # also finds ipextest
from ipextest import CLI, cli_json

KINDS = {"f32": (), "direct": ("--size",), "dtype": ("--dtype", "bf16"), "weights": ("--weights", "bf16")}
RUNS = [(kind, ()) for kind in KINDS] + [("dtype", ("--isa", "avx512"))]
# what is asked of bf16 over f32 of the same algorithm
FASTER, SLOWER, PEAK, WEIGHTS = 1.6, 1.15, 0.88, 1.03


def bench(file, options, *more):
    return bound(options.threads, CLI, "bench", file, "--threads", options.threads, "--seconds", options.seconds, "--json", *more)


def peak_gflops(peaks, steps):
    """Of bf16, by the instructions of these steps or by FMA; None where the machine has no instruction for it."""
    tiles = any("_bf16t__amx" in step["kernel"] for step in steps)
    if not any(peak["dtype"] == "bf16" for peak in peaks):
        return None
    return max(peak["gflops"] for peak in peaks if tiles or peak["isa"] != "amx")


def products_gflops(steps):
    """Of all convolutions and linear layers on bf16 together, with what rides along in their epilogues."""
    kernels = ("conv_bf16__", "conv_bf16t__")
    products = [step for step in steps if step["op"] in ("conv", "linear") and step["kernel"].startswith(kernels)]
    return sum(step["flops"] for step in products) / sum(step["median_us"] for step in products) / 1e3


def share_of_casts(steps):
    return sum(step["median_us"] for step in steps if step["op"] == "cast") / sum(step["median_us"] for step in steps)


def quickest(files, options):
    """{(kind, flags): minimum in us}"""
    best = dict.fromkeys(RUNS, float("inf"))
    for _ in range(options.rounds):
        for kind, flags in RUNS:
            best[kind, flags] = min(best[kind, flags], bench(files[kind], options, *flags)["min_us"])
    return best


def verdict(text, holds):
    return f"{text} {'yes' if holds else 'no'}"


def measure(name, options):
    """What is known of a network: times by run, steps of the --dtype file, sizes of the files."""
    work = Work(name)
    files = {kind: FOLDER / f"{name.replace(' ', '_')}.{kind}.ipex" for kind in KINDS}
    for kind, flags in KINDS.items():
        work.convert(files[kind], *flags)
    best = quickest(files, options)
    steps = bench(files["dtype"], options, "--profile")["steps"]
    size = {kind: cli_json("inspect", file)["file_bytes"] for kind, file in files.items()}
    for file in files.values():
        os.unlink(file)
    return best, steps, size


def row_default(best, steps, size):
    us = best["f32", ()]
    return [f"{us / 1000:.3f} ms", f"{best['dtype', ()] / us:.3f}", f"{best['weights', ()] / us:.3f}", f"{share_of_casts(steps):.1%}",
            f"{size['dtype'] / size['f32']:.2f}"]


def row_direct(best, steps, peak):
    us = best["direct", ()]
    faster, slower, weights = us / best["dtype", ()], best["dtype", ("--isa", "avx512")] / us, best["weights", ()] / us
    share = products_gflops(steps) / peak if peak else None
    return [f"{us / 1000:.3f} ms", verdict(f"{faster:.2f}", faster >= FASTER) if peak else "-", verdict(f"{slower:.2f}", slower <= SLOWER),
            verdict(f"{share:.1%}", share >= PEAK) if peak else "-", verdict(f"{weights:.3f}", weights <= WEIGHTS)]


def print_table(heads, rows):
    print()
    print_heads(heads)
    for row in rows:
        print_row(row)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("names", nargs="*", default=list(WORK)[:FIRST_WORK])
    options = parser.parse_args()
    default, direct = [], []
    with Load() as load:
        peaks = measure_machine(options.threads)["peaks"]
        for name in options.names:
            if not Work(name).is_here():
                continue
            print(f"  measuring {name}", file=sys.stderr)
            best, steps, size = measure(name, options)
            default.append([name, *row_default(best, steps, size)])
            direct.append([name, *row_direct(best, steps, peak_gflops(peaks, steps))])
    print(f"{cpu_name()}, {options.threads} thread(s), {options.rounds} rounds")
    print_table(["network", "f32", "--dtype bf16", "--weights bf16", "casts", "file"], default)
    print_table(["network", "f32 --size", f"--dtype bf16: times as fast, >= {FASTER}", f"at avx512: time, <= {SLOWER}",
                 f"its products, >= {PEAK:.0%} of the peak", f"--weights bf16: time, <= {WEIGHTS}"], direct)
    print(f"\nothers used {load.others():.1%} of the machine meanwhile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
