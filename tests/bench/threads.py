#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a second thread brings, and what sessions keep that share a pool, or CPUs. See tests/bench/README.md.

threads.py [--rounds 7] [--seconds 0.5] [--threads 2]

Rounds alternate; every measurement is a process of its own, bound to as many CPUs as it has threads of its pool. The best
of the rounds counts: the shortest inference, the highest throughput."""
import argparse
import contextlib
import os
import subprocess
import sys

from compare import Load, Work, bound, cpu_name, cpus_of, make_models, print_heads, print_row  # also finds ipextest
from ipextest import BUILD, CLI

SPEED_UP = {"resnet34": 1.85, "oidn_unet": 1.85, "ppocr_cls": 1.0}  # asked of two threads over one
SHARED = ("resnet34", "oidn_unet", "mobilenetv2", "ppocr_cls")
CROWDED = ("resnet34", "mobilenetv2", "minilm")
KEPT = 0.9  # asked of the throughput of two sessions together, or of too many threads, over that of one session alone


def shortest_us(work, threads, options):
    return bound(threads, CLI, "bench", work.ipex, "--threads", threads, "--seconds", options.seconds, "--json")["min_us"]


def runs_per_second(work, sessions, options, threads=None):
    """On options.threads CPUs, by a pool of so many threads or of another number."""
    program = BUILD / "tests" / "bench" / "pool_sessions"
    return bound(options.threads, program, work.ipex, threads or options.threads, options.seconds, sessions)["runs_per_second"]


@contextlib.contextmanager
def neighbour(threads):
    """A process that always computes, on the CPUs that bound() gives so many threads."""
    busy = subprocess.Popen(["taskset", "-c", cpus_of(threads), sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


def runs_beside_another(work, options):
    with neighbour(options.threads):
        return runs_per_second(work, 1, options)


def in_turns(first, second, rounds):
    """Two lists of measurements, taken in turns."""
    pairs = [(first(), second()) for _ in range(rounds)]
    return zip(*pairs)


def verdict(got, asked):
    return "yes" if got >= asked else "no"


def print_speed_up(works, options):
    print_heads(["network", "1 thread", f"{options.threads} threads", "speed-up", "asked", "holds"])
    for work in works:
        one, more = in_turns(lambda: shortest_us(work, 1, options), lambda: shortest_us(work, options.threads, options), options.rounds)
        got, asked = min(one) / min(more), SPEED_UP[work.name]
        print_row([work.name, f"{min(one) / 1e3:.3f} ms", f"{min(more) / 1e3:.3f} ms", f"{got:.2f}", str(asked), verdict(got, asked)])


def print_shared(works, options):
    print()
    print_heads(["network", "one session, runs/s", f"two on one pool of {options.threads}, together", "kept", "asked", "holds"])
    for work in works:
        alone, both = in_turns(lambda: runs_per_second(work, 1, options), lambda: runs_per_second(work, 2, options), options.rounds)
        got = max(both) / max(alone)
        print_row([work.name, f"{max(alone):.1f}", f"{max(both):.1f}", f"{got:.2f}", str(KEPT), verdict(got, KEPT)])


def print_crowded(works, options):
    print()
    fair, many = options.threads / (options.threads + 1), 4 * options.threads
    print_heads(["network", f"{options.threads} threads, runs/s", f"{many} threads", "kept", "asked", "holds",
                 "beside a process that computes", f"kept (its share is {fair:.2f})"])
    for work in works:
        rounds = [(runs_per_second(work, 1, options), runs_per_second(work, 1, options, many), runs_beside_another(work, options))
                  for _ in range(options.rounds)]
        alone, crowd, beside = (max(column) for column in zip(*rounds))
        kept = crowd / alone
        print_row([work.name, f"{alone:.1f}", f"{crowd:.1f}", f"{kept:.2f}", str(KEPT), verdict(kept, KEPT), f"{beside:.1f}", f"{beside / alone:.2f}"])


def prepared(names):
    make_models(names)
    works = [work for work in map(Work, names) if work.is_here()]
    for work in works:
        work.convert(work.ipex)
    return works


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.threads > len(os.sched_getaffinity(0)):
        sys.exit("threads: more threads than CPUs")
    print(f"{cpu_name()}, {options.rounds} rounds\n")
    with Load() as load:
        print_speed_up(prepared(SPEED_UP), options)
        print_shared(prepared(SHARED), options)
        print_crowded(prepared(CROWDED), options)
    print(f"\nothers used {load.others():.1%} of the machine meanwhile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
