#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --dtype bf16 and --weights bf16 gain over f32, on the networks and at the sizes of compare.py:

bf16_gain.py [--rounds N] [--seconds S] [--threads N] [NAME...]     (all of the geometric mean without names)

Rounds alternate between the three files of a network; ratios are of minima, below 1 is faster than f32. Also the share of
the --dtype file's time that goes into casts (a profiled run), and the sizes of the files' weights."""
import argparse
import os
import sys

from compare import FIRST_WORK, FOLDER, Load, WORK, Work, bound, cpu_name  # also finds ipextest
from ipextest import CLI, cli_json

KINDS = {"f32": (), "dtype": ("--dtype", "bf16"), "weights": ("--weights", "bf16")}


def bench(file, options, *more):
    return bound(options.threads, CLI, "bench", file, "--threads", options.threads, "--seconds", options.seconds, "--json", *more)


def share_of_casts(file, options):
    steps = bench(file, options, "--profile")["steps"]
    times = [(step["op"], step["median_us"]) for step in steps]
    return sum(us for op, us in times if op == "cast") / sum(us for _, us in times)


def measure(name, options):
    """A row of the table."""
    work = Work(name)
    files = {kind: FOLDER / f"{name.replace(' ', '_')}.{kind}.ipex" for kind in KINDS}
    for kind, flags in KINDS.items():
        work.convert(files[kind], *flags)
    best = {kind: float("inf") for kind in KINDS}
    for _ in range(options.rounds):
        for kind, file in files.items():
            best[kind] = min(best[kind], bench(file, options)["min_us"])
    size = {kind: cli_json("inspect", file)["file_bytes"] for kind, file in files.items()}
    row = [name, f"{best['f32'] / 1000:.3f} ms", f"{best['dtype'] / best['f32']:.3f}", f"{best['weights'] / best['f32']:.3f}",
           f"{share_of_casts(files['dtype'], options):.1%}", f"{size['dtype'] / size['f32']:.2f}"]
    for file in files.values():
        os.unlink(file)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    print(cpu_name())
    print("| network | f32 | --dtype bf16 | --weights bf16 | casts | file |\n|---|---|---|---|---|---|")
    with Load() as load:
        for name in options.names or list(WORK)[:FIRST_WORK]:
            if Work(name).network.path.exists():
                print("|", " | ".join(measure(name, options)), "|", flush=True)
    print(f"others used {load.others():.1%} of the machine meanwhile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
