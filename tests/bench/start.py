#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From exec to the first output, in C processes: ipexpack, ONNX Runtime, OpenVINO. See tests/bench/README.md.

start.py [--rounds 7] [--seconds 0.5] [--threads 1] [NETWORK...]    (resnet34, minilm and squeezenet without names)

Rounds alternate; every measurement is a fresh process, the page cache is warm. Beside ipexpack's time stand what it is
allowed (its shortest inference afterwards, 5 ms, and the time in which a loop touches every page of a mapped file of the
same size), its page faults, and its anonymous memory against that of its session."""
import argparse
import json
import sys

from compare import Load, Work, bound, bound_output, cpu_name, make_models, peer_libraries, print_heads, print_row  # also finds ipextest
from ipextest import BUILD, cli_json

PROGRAMS = BUILD / "tests" / "bench"
MARGIN_US, MARGIN_KB = 5000, 1024


def first_output(threads, program, runtime, library, model, seconds, words):
    """What the program prints, and the time from exec to its first output."""
    text = bound_output(threads, PROGRAMS / "start", "exec", PROGRAMS / program, runtime, library, model, threads, "f32", seconds, *words)
    start, got = map(json.loads, text.splitlines())
    return got | {"us": got["first_at_us"] - start["exec_at_us"]}


def measure_round(work, peers, options, load):
    with load:
        got = {"ipexpack": first_output(options.threads, "peer_ipexpack", "ipexpack", "-", work.ipex, options.seconds, work.inputs)}
        got["touch"] = bound(1, PROGRAMS / "start", "touch", work.ipex)
        for peer, (library, _version) in peers.items():
            got[peer] = first_output(options.threads, "peer", peer, library, work.model, options.seconds, work.inputs)
    return got


def measure(work, peers, options, load):
    """{what: the quickest of the rounds}, and ipexpack's shortest inference."""
    rounds = [measure_round(work, peers, options, load) for _ in range(options.rounds)]
    best = {what: min((got[what] for got in rounds), key=lambda one: one["us"]) for what in rounds[0]}
    return best, min(got["ipexpack"]["min_us"] for got in rounds)


def row(name, best, steady_us, session_bytes, peers):
    ours, touch = best["ipexpack"], best["touch"]
    allowed = steady_us + MARGIN_US + touch["us"]
    more_kb = ours["anon_kb"] - session_bytes / 1024
    cells = [name, f"{ours['us'] / 1e3:.1f} ms", f"{steady_us / 1e3:.1f} + 5 + {touch['us'] / 1e3:.1f} = {allowed / 1e3:.1f}",
             "yes" if ours["us"] <= allowed else "no", f"{touch['bytes'] / touch['us'] / 1e3:.1f} GB/s",
             f"{ours['faults_minor']} / {ours['faults_major']} ({touch['minor']} / {touch['major']})",
             f"session + {more_kb:.0f} KiB", "yes" if more_kb <= MARGIN_KB else "no"]
    return cells + [f"{best[peer]['us'] / 1e3:.0f} ms ({ours['us'] / best[peer]['us']:.2f})" for peer in peers]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of inferences after the first")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("names", nargs="*", default=["resnet34", "minilm", "squeezenet"])
    options = parser.parse_args()
    make_models(options.names)
    peers, load = peer_libraries(), Load()
    heads = ["network", "exec to first output", "allowed, ms", "holds", "touching", "faults, minor / major (touching)", "anonymous", "holds"]
    heads += [f"{peer} (ratio)" for peer in peers]
    print(f"{cpu_name()}, {options.threads} thread(s), {options.rounds} rounds\n")
    print_heads(heads)
    for work in map(Work, options.names):
        if not work.is_here():
            continue
        work.prepare("f32")
        best, steady_us = measure(work, peers, options, load)
        session_bytes = cli_json("bench", work.ipex, "--threads", options.threads, "--seconds", 0.001)["session_bytes"]
        print_row(row(work.name, best, steady_us, session_bytes, peers))
    print(f"\nothers used {load.others():.1%} of the machine meanwhile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
