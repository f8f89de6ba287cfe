#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Max pools over large windows, which go on from smaller ones around the same places and are taken row by row: each
compared with ONNX Runtime, with infinities in what they read; and pools that stay as they are."""
import sys
import time

import numpy as np

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case
LONG_SECONDS = 10  # takes 0.1 where nothing else runs


def pool(g, x, kernel, pads=None, **attributes):
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    pads = [k // 2 for k in kernel] * 2 if pads is None else pads
    return g.op("MaxPool", x, kernel_shape=list(kernel), pads=pads, **attributes)


def pyramid(g, x, *kernels, **names):
    return g.op("Concat", x, *(pool(g, x, k, name=f"pool{k}") for k in kernels), axis=1)


def applied(*names):
    return tuple(("pool", name, APPLIED) for name in names)


@case(*applied("pool5", "pool9", "pool13"), steps=dict(max_pool=6))
def pyramid_of_yolox(g):
    g.output(g.conv(pyramid(g, g.conv(g.input(2, 6, 13, 11), 6, 8), 5, 9, 13), 32, 5, (1, 1)))


@case(*applied("pool13", "pool9", "pool5"), steps=dict(max_pool=6))
def pyramid_from_the_largest_down(g):
    g.output(pyramid(g, g.input(1, 8, 19, 19), 13, 9, 5))


@case(*applied("pool9", "pool5"), steps=dict(max_pool=3))
def pyramid_with_a_pool_twice(g):
    """Both go on from the smaller one, and neither from the other."""
    x = g.input(1, 8, 10, 12)
    g.output(pyramid(g, x, 3, 5), pool(g, x, 5, name="pool9"))


@case(*applied("pool5", "last"), sizes=[dict(h=9, w=20), dict(h=30, w=4)], flags=["--dim", "h=3..40", "--dim", "w=3..40"])
def pyramid_over_sizes_that_change(g):
    x = g.conv(g.input(1, 3, "h", "w"), 3, 4, pads=[1, 1, 1, 1])
    g.output(pool(g, x, 5, name="pool5"), pool(g, x, 9, name="last"))


@case(*applied("even"), steps=dict(max_pool=2))
def windows_that_are_not_centred(g):
    x = g.input(1, 4, 9, 8)
    g.output(pool(g, x, 2, [0, 0, 1, 1]), pool(g, x, 4, [1, 1, 2, 2], name="even"))


@case(*applied("after"), steps=dict(max_pool=5))
def a_chain_as_in_yolov5_and_a_large_one_beside_it(g):
    """The chain is what it is already; of 3x3 neither is split. The large one goes on from its end: 9 by 7."""
    x = g.input(1, 4, 12, 12)
    second = pool(g, pool(g, x, 3), 3)
    g.output(pool(g, second, 3), second, pool(g, x, (15, 13), name="after"))


@case(*applied("rows"), steps=dict(max_pool=2))
def a_large_window_with_strides_and_gaps(g):
    g.output(pool(g, g.input(2, 5, 23, 29), 7, [2, 1, 3, 0], strides=[2, 3], dilations=[1, 2], name="rows"))


@case(*applied("rows"), steps=dict(max_pool=2))
def a_window_with_infinities(g):
    x = g.op("Where", g.op("Less", g.input(1, 3, 9, 9), g.scalar(0.4)), g.scalar(-np.inf), g.scalar(1.5))
    g.output(g.op("Tanh", pool(g, x, 5, name="rows")))


# ---- what stays ----

def check_others(tap, bench):
    """Small windows, windows that no smaller one lies in, other images, rows, strides, means."""
    g = Graph()
    x = g.input(1, 6, 14, 14)
    g.output(pool(g, x, 3), pool(g, x, (1, 9)), pool(g, x, (9, 1)), pool(g, g.op("Neg", x), 4, [0, 0, 3, 3], strides=[3, 3]),
             pool(g, x, 2, [0, 0, 0, 0]), pool(g, x, 4, [1, 1, 1, 1], strides=[2, 2]), pool(g, x, 14, [0] * 4, strides=[14, 14]),
             g.op("AveragePool", x, kernel_shape=[9, 9], pads=[4] * 4))
    why = bench.right(g, "--golden", "1")
    rows = [row for row in bench.ledger() if row["pass"] == "pool"]
    tap.ok("other pools are right, and not in the ledger", not why and not rows, why, *rows)


def check_many(tap, bench):
    """Pools beside a long chain of pools take no longer for each of it."""
    g = Graph()
    x = y = g.input(1, 4, 8, 8)
    beside = [pool(g, x, (1, 1 + i % 8), [0, 0, 0, i % 8]) for i in range(600)]
    for _ in range(600):
        y = pool(g, y, 3)
    g.output(g.op("Concat", *beside, y, axis=1))
    start = time.monotonic()
    done = bench.convert(g.model())
    took = time.monotonic() - start
    tap.ok("1200 pools", done.returncode == 0 and took < LONG_SECONDS, f"{took:.1f} s", done.stderr)


if __name__ == "__main__":
    sys.exit(run(CASES, check_others, check_many))
