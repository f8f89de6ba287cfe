# SPDX-License-Identifier: Apache-2.0
"""Small graphs with what the ledger must say of them: each is converted, compared with ONNX Runtime, and replays its own
known answers of the unoptimised graph, for refusing must not mean wrong."""
import collections
import tempfile

from ipextest import Tap, cli_json
from small_graphs import Bench, Graph

APPLIED = ""


class Cases(list):
    """Functions that fill a Graph, each with the rows that it must lead to: (pass, site, reason code or APPLIED).

    steps: how many of these plan operators the file has; sizes: other dims to run at; flags: of convert."""

    def case(self, *expected, steps=None, opset=13, sizes=(), flags=()):
        def mark(function):
            self.append((function.__name__.replace("_", " "), expected, function, steps or {}, opset, sizes, flags))
            return function
        return mark


def fits(row, wanted):
    """The site may have been joined with others by then, in any order: its names count."""
    step, site, reason = wanted
    names = row["site"].split("+")
    same_site = sorted(names) == sorted(site.split("+")) or names[-1] == site
    return row["pass"] == step and same_site and row["reason"] == reason


def check_verdicts(tap, name, rows, expected):
    """Whether rows of the ledger say what is expected, (pass, site, reason) each."""
    listing = [f"{row['pass']} {row['site']}: {row['reason'] or row['verdict']}" for row in rows]
    for wanted in expected:
        title = f"{name}: {wanted[0]} of {wanted[1]} is {wanted[2] or 'applied'}"
        tap.ok(title, any(fits(row, wanted) for row in rows), *listing)
    return listing


def check_case(tap, bench, case):
    """The rows of the ledger, after checking them, the numbers and the steps."""
    name, expected, fill, steps, opset, sizes, flags = case
    graph = Graph(opset=opset)
    fill(graph)
    why = bench.right(graph, *flags, "--golden", "2", sizes=sizes)
    if not tap.ok(f"{name}: agrees with ONNX Runtime and its known answers", why is None, why):
        return []
    rows = bench.ledger()
    listing = check_verdicts(tap, name, rows, expected)
    broken = [row for row in rows if (row["verdict"] == "applied") != (row["reason"] == "") or not row["text"]]
    tap.ok(f"{name}: every row has a verdict and a text", (rows or not expected) and not broken, *broken)
    if steps:
        here = collections.Counter(node["op"] for node in cli_json("inspect", bench.ipex)["entries"][0]["nodes"])
        tap.ok(f"{name}: the plan has {', '.join(f'{n} {op}' for op, n in steps.items())}",
               all(here[op] == n for op, n in steps.items()), dict(here), *listing)
    return rows


def run(cases, *more):
    """A test program: all cases, then the functions of (tap, bench). Its exit status."""
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for case in cases:
            check_case(tap, bench, case)
        for check in more:
            check(tap, bench)
    return tap.done()
