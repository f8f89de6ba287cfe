#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a second thread brings, and what sessions that share a pool keep. See tests/bench/README.md.

threads.py [--rounds 7] [--seconds 0.5] [--threads 2]

Rounds alternate; every measurement is a process of its own, bound to as many CPUs as it has threads of its pool. The best
of the rounds counts: the shortest inference, the highest throughput."""
import argparse
import os
import sys

from compare import Load, Work, bound, cpu_name, make_models  # also finds ipextest
from ipextest import BUILD, CLI

SPEED_UP = {"resnet34": 1.85, "oidn_unet": 1.85, "ppocr_cls": 1.0}  # asked of two threads over one
SHARED = ("resnet34", "oidn_unet", "mobilenetv2", "ppocr_cls")
KEPT = 0.9  # asked of the throughput of two sessions together, over that of one alone


def shortest_us(work, threads, options):
    return bound(threads, CLI, "bench", work.ipex, "--threads", threads, "--seconds", options.seconds, "--json")["min_us"]


def runs_per_second(work, sessions, options):
    program = BUILD / "tests" / "bench" / "pool_sessions"
    return bound(options.threads, program, work.ipex, options.threads, options.seconds, sessions)["runs_per_second"]


def in_turns(first, second, rounds):
    """Two lists of measurements, taken in turns."""
    pairs = [(first(), second()) for _ in range(rounds)]
    return zip(*pairs)


def verdict(got, asked):
    return "yes" if got >= asked else "no"


def print_speed_up(works, options):
    print(f"| network | 1 thread | {options.threads} threads | speed-up | asked | holds |\n|---|---|---|---|---|---|")
    for work in works:
        one, more = in_turns(lambda: shortest_us(work, 1, options), lambda: shortest_us(work, options.threads, options), options.rounds)
        got, asked = min(one) / min(more), SPEED_UP[work.name]
        print(f"| {work.name} | {min(one) / 1e3:.3f} ms | {min(more) / 1e3:.3f} ms | {got:.2f} | {asked} | {verdict(got, asked)} |", flush=True)


def print_shared(works, options):
    print(f"\n| network | one session, runs/s | two on one pool of {options.threads}, together | kept | asked | holds |\n|---|---|---|---|---|---|")
    for work in works:
        alone, both = in_turns(lambda: runs_per_second(work, 1, options), lambda: runs_per_second(work, 2, options), options.rounds)
        got = max(both) / max(alone)
        print(f"| {work.name} | {max(alone):.1f} | {max(both):.1f} | {got:.2f} | {KEPT} | {verdict(got, KEPT)} |", flush=True)


def prepared(names):
    make_models(names)
    works = [Work(name) for name in names]
    for work in works:
        if work.network.path.exists():
            work.convert(work.ipex)
        else:
            print(f"  {work.name} is skipped: {work.network.path} is not here", file=sys.stderr)
    return [work for work in works if work.network.path.exists()]


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
    print(f"\nothers used {load.others():.1%} of the machine meanwhile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
