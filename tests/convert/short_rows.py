#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Constants of one value for every row of what they are computed with, where rows are short: stored for every element.
Each compared with ONNX Runtime; and those that stay as they are."""
import sys

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case


@case(("layout", "mul", APPLIED))
def complex_numbers_by_a_window(g):
    g.output(g.op("Mul", g.input(3, 40, 9, 2), g.weight(9, 1), name="mul"))


@case(("layout", "sub", APPLIED))
def constant_first_with_gaps_in_it(g):
    """It has ones further out as well, and is not the first of the operands that vary."""
    g.output(g.op("Sub", g.weight(4, 1, 6, 1), g.input(4, 5, 6, 3), name="sub"))


@case(("layout", "add", APPLIED))
def pixels_of_three_channels(g):
    """Channels lie last in memory: a map over the image has one value for every three."""
    y = g.op("Add", g.conv(g.input(2, 4, 9, 8), 4, 3, pads=[1, 1, 1, 1]), g.weight(1, 1, 9, 8), name="add")
    g.output(g.conv(y, 3, 5, pads=[1, 1, 1, 1]))


def check_others(tap, bench):
    """Long rows, no rows, values that come at run time, and one that would take more memory than it is worth."""
    g = Graph()
    x, y = g.input(2, 5, 16), g.input(600, 16, 2)
    g.output(g.op("Mul", x, g.weight(5, 1)), g.op("Mul", x, g.weight(16)), g.op("Mul", g.input(5, 2), g.input(5, 1)),
             g.op("Add", y, g.weight(600, 16, 1)), g.op("Add", g.op("Mul", y, g.weight(1, 1, 1)), g.weight(1, 1, 2)))
    why = bench.right(g, "--golden", "1")
    rows = [row for row in bench.ledger() if row["pass"] == "layout"]
    tap.ok("other operands are right, and not in the ledger", not why and not rows, why, *rows)


if __name__ == "__main__":
    sys.exit(run(CASES, check_others))
