#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Linear layers that read one value become one: who is merged with whom, in place (no step copies a part), why others
are not, and that no bit changes."""
import sys
import time

import numpy as np

from small_graphs import Graph
from ipextest import cli_json
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case
IN_PLACE = dict(copy=0, slice=0, transpose=0)
LONG_SECONDS = 10  # takes 0.5 where nothing else runs


def merged(*sites):
    return [("merge", site, APPLIED) for site in sites]


def linear(g, x, k, n, name, bias=False, transposed=False):
    """MatMul, or Gemm, which takes a bias, and a weight that lies the other way."""
    if bias or transposed:
        weight = g.weight(n, k) if transposed else g.weight(k, n)
        return g.op("Gemm", x, weight, *([g.weight(n)] if bias else []), transB=int(transposed), name=name)
    return g.op("MatMul", x, g.weight(k, n), name=name)


def heads(g, x, *shape, perm=(0, 2, 1, 3)):
    return g.op("Transpose", g.op("Reshape", x, g.ints(*shape)), perm=list(perm))


def attention(g, x, width, count, batch=2, kv_heads=None, mask=None):
    """Projections named q, k and v, split into heads, attended to, joined."""
    d = width // count
    kv = (kv_heads or count) * d
    q, k, v = (g.op("Add", g.op("MatMul", x, g.weight(width, n, scale=0.3), name=name), g.weight(n), name=f"{name}b")
               for name, n in (("q", width), ("k", kv), ("v", kv)))
    q = heads(g, q, batch, -1, count, d)
    k = heads(g, k, batch, -1, kv_heads or count, d, perm=(0, 2, 3, 1))
    v = heads(g, v, batch, -1, kv_heads or count, d)
    scores = g.op("Mul", g.op("MatMul", q, k), g.scalar(d ** -0.5))
    p = g.op("Softmax", g.op("Add", scores, mask) if mask else scores, axis=-1, name="probabilities")
    return g.op("Reshape", g.op("Transpose", g.op("MatMul", p, v), perm=[0, 2, 1, 3]), g.ints(batch, -1, width))


@case(*merged("q+qb", "k+kb", "v+vb"), steps=dict(linear=2, attention=1, **IN_PLACE))
def queries_keys_and_values(g):
    x = g.input(2, 7, 24)
    g.output(g.op("Add", g.op("MatMul", attention(g, x, 24, 4), g.weight(24, 24)), x))


@case(*merged("q+qb", "k+kb", "v+vb"), steps=dict(linear=2, attention=1, **IN_PLACE),
      sizes=[dict(b=1, s=1), dict(b=3, s=17), dict(b=2, s=64)], flags=("--dim", "b=1..4", "--dim", "s=1..64"))
def queries_keys_and_values_of_any_size(g):
    x = g.input("b", "s", 24)
    g.output(g.op("MatMul", attention(g, x, 24, 4, batch=0, mask=g.input("b", 1, 1, "s")), g.weight(24, 24)))


@case(*merged("q+qb", "k+kb", "v+vb"), steps=dict(linear=2, **IN_PLACE))
def one_head_of_keys_for_all(g):
    g.output(g.op("MatMul", attention(g, g.input(2, 7, 24), 24, 4, kv_heads=1), g.weight(24, 24)))


@case(*merged("a", "b", "c"), steps=dict(linear=1, **IN_PLACE))
def with_and_without_bias(g):
    x = g.input(5, 19)
    parts = [linear(g, x, 19, n, name, bias) for name, n, bias in (("a", 20, False), ("b", 33, True), ("c", 7, False))]
    g.output(*(g.op("Neg", part) for part in parts))


@case(*merged("a", "b", "c"), steps=dict(linear=1))
def weights_that_lie_either_way(g):
    x = g.input(5, 19)
    g.output(*(g.op("Exp", linear(g, x, 19, n, name, False, transposed))
               for name, n, transposed in (("a", 12, True), ("b", 16, False), ("c", 3, True))))


@case(*merged("a+norm", "b"), ("affine", "norm", APPLIED))
def one_with_a_folded_scale(g):
    x = g.input(5, 19)
    y = g.batch_norm(linear(g, x, 19, 8, "a"), 8, name="norm")
    g.output(g.op("Neg", y), g.op("Neg", linear(g, x, 19, 7, "b")))


@case(*merged("a+act1", "c+act2", "b", "d"), steps=dict(linear=2))
def several_groups_of_one_value(g):
    x = g.input(5, 19)
    a, b, c, d = (linear(g, x, 19, n, name) for name, n in zip("abcd", (12, 17, 20, 9)))
    a, c = g.op("Relu", a, name="act1"), g.op("Relu", c, name="act2")
    g.output(*(g.op("Neg", y) for y in (a, b, c, d)))


@case(*merged("a", "b"))
def other_readers_in_between(g):
    x = g.op("Abs", g.input(5, 19))
    a = g.op("Neg", linear(g, x, 19, 8, "a"))
    total = g.op("ReduceSum", g.op("Sqrt", x), g.ints(1), keepdims=1)
    g.output(g.op("Add", g.op("Mul", a, linear(g, x, 19, 8, "b")), total), g.op("Softmax", x))


@case(*merged("a", "b"), steps=dict(linear=2, **IN_PLACE))
def parts_read_by_a_linear_and_several_others(g):
    x = g.input(5, 19)
    a, b = linear(g, x, 19, 8, "a"), linear(g, x, 19, 8, "b")
    g.output(linear(g, a, 8, 4, "after"), g.op("Mul", g.op("Sigmoid", a), b), g.op("Neg", b))


@case(*merged("a", "b"), ("flatten", "flat", APPLIED))
def both_read_a_flattened_image(g):
    x = g.op("Flatten", g.conv(g.input(2, 3, 6, 6), 3, 5), name="flat")
    g.output(g.op("Neg", linear(g, x, 80, 10, "a")), g.op("Abs", linear(g, x, 80, 4, "b", bias=True)))


@case(("merge", "a", "port"), *merged("b", "c"))
def one_is_an_output(g):
    x = g.input(5, 19)
    a, b, c = (linear(g, x, 19, 8, name) for name in "abc")
    g.output(a, g.op("Mul", b, c))


@case(("merge", "a", "shared_weight"), ("merge", "b", "no_partner"))
def weight_used_elsewhere(g):
    x, w = g.input(5, 19), g.weight(19, 8)
    a = g.op("MatMul", x, w, name="a")
    g.output(g.op("Mul", a, linear(g, x, 19, 8, "b")), g.op("MatMul", g.op("Neg", x), w))


@case(("merge", "a+add", "epilogue_differs"), *merged("b", "c"))
def one_with_a_residual(g):
    x = g.input(5, 19)
    a = g.op("Add", linear(g, x, 19, 8, "a"), g.input(5, 8), name="add")
    g.output(g.op("Mul", g.op("Mul", g.op("Neg", a), linear(g, x, 19, 8, "b")), linear(g, x, 19, 8, "c")))


@case(("merge", "gate+Sigmoid1+act", "epilogue_differs"), ("merge", "up", "epilogue_differs"))
def gate_and_up_projection(g):
    x = g.input(5, 19)
    gate = linear(g, x, 19, 24, "gate")
    gate = g.op("Mul", gate, g.op("Sigmoid", gate), name="act")
    g.output(g.op("MatMul", g.op("Mul", gate, linear(g, x, 19, 24, "up")), g.weight(24, 19)))


@case(("merge", "a", "far_apart"), ("merge", "b", "far_apart"))
def one_before_and_one_behind_a_larger_step(g):
    x = g.input(5, 19)
    p = g.op("Softmax", g.op("Neg", linear(g, x, 19, 8, "a")))
    g.output(g.op("Mul", p, linear(g, x, 19, 8, "b")))


@case(("merge", "a", "not_adjacent"), ("merge", "b", "not_adjacent"), *merged("c", "d"))
def readers_that_want_rows_without_gaps(g):
    x = g.input(5, 20)
    a, b, c, d = (linear(g, x, 20, 8, name) for name in "abcd")
    g.output(g.op("Add", g.op("Softmax", a), g.op("Neg", c)), g.op("Reshape", b, g.ints(2, 20)), g.op("Abs", d))


@case(("merge", "a", "gaps_slower"), ("merge", "b", "gaps_slower"), *merged("c", "d"), steps=dict(linear=5, **IN_PLACE))
def gaps_that_cost_more_than_a_layer(g):
    """No column of padding is saved, and a sum reads the parts. A linear layer does not mind gaps."""
    x, y = g.input(5, 19), g.input(5, 18)
    a, b = linear(g, x, 19, 16, "a"), linear(g, x, 19, 16, "b")
    c, d = linear(g, y, 18, 16, "c"), linear(g, y, 18, 16, "d")
    g.output(g.op("Mul", g.op("Exp", a), b), linear(g, c, 16, 4, "e"), linear(g, d, 16, 4, "f"))


@case(("merge", "a", "shape_mismatch"), ("merge", "b", "shape_mismatch"))
def heads_that_do_not_begin_at_a_part(g):
    x = g.input(2, 5, 19)
    a, b = linear(g, x, 19, 12, "a"), linear(g, x, 19, 9, "b")
    g.output(g.op("Neg", heads(g, a, 2, 5, 3, 4)), g.op("Neg", b))


# ---- bits ----

def alone_and_together(together):
    """Graphs of the same three layers: in one, or in three."""
    graphs, names = [], "abc"
    for wanted in [names] if together else names:
        g = Graph(seed=3)
        x = g.input("rows", 37, name="x")
        parts = {name: linear(g, x, 37, n, name, bias) for name, n, bias in zip(names, (20, 33, 7), (True, False, True))}
        outputs = [g.op("Neg", parts[name], out=f"y_{name}") for name in wanted]
        g.output(*outputs)
        g.nodes = [node for node in g.nodes if together or node.name == wanted or node.op_type == "Neg"]
        graphs.append(g.model())
    return graphs


def check_bits(tap, bench):
    x = np.random.default_rng(7).standard_normal((29, 37)).astype(np.float32)
    bench.convert(*alone_and_together(True), "--dim", "rows=1..64")
    count = sum(row["pass"] == "merge" and row["verdict"] == "applied" for row in bench.ledger())
    tap.ok("three layers are merged", count == 3, bench.ledger())
    for rows in 1, 29:
        bench.convert(*alone_and_together(True), "--dim", "rows=1..64")
        together = bench.run({"x": x[:rows]})
        why = bench.compare_bits({"x": x[:rows]})
        tap.ok(f"merged, {rows} rows: the same at every level and on any number of threads", not why, why)
        for model in alone_and_together(False):
            bench.convert(model, "--dim", "rows=1..64")
            for name, y in bench.run({"x": x[:rows]}).items():
                tap.ok(f"{name}, {rows} rows: the same bytes merged and alone", y.tobytes() == together[name].tobytes())


# ---- names ----

def many_heads(count, length):
    """Layers with so many bytes in the names of each."""
    g = Graph()
    x = g.input(2, 8)
    for i in range(count):
        name = f"head_{i}_" + "\N{LATIN SMALL LETTER N WITH TILDE}" * (length // 2)
        g.output(g.op("Exp", g.op("MatMul", x, g.weight(8, 5, name=f"{name}.weight"), name=name)))
    return g


def check_names(tap, bench):
    """Joined names stay within what a file can have: those that are left out are not all of them."""
    for count, length in ((3, 1400), (3, 3000), (112, 60)):
        why = bench.right(many_heads(count, length))
        names = [] if why else [n["name"] for e in cli_json("inspect", bench.ipex)["entries"] for n in e["nodes"]]
        short = [name for name in names if name.startswith("head_0_") and name.endswith("+...") and 1024 < len(name.encode()) <= 2048]
        tap.ok(f"names of {count} layers, {length} bytes each", len(short) == 1, why, *[name[-80:] for name in names])
    g = Graph()
    x = g.input(2, 8)
    for i in range(64):
        x = g.op("Sin", x, name=f"sin_{i}_" + "n" * 1100, out=f"t{i}")
    g.output(x)
    why = bench.right(g)
    tap.ok("names of 64 steps, 1100 bytes each", not why, why)


# ---- many ----

def check_many(tap, bench):
    """Layers beside each other take no longer for each of them."""
    g = Graph()
    x = g.input(2, 4)
    g.output(g.op("Concat", *[g.op("Sqrt", linear(g, x, 4, 4, f"layer{i}")) for i in range(3000)], axis=1))
    start = time.monotonic()
    done = bench.convert(g.model())
    took = time.monotonic() - start
    count = sum(row["text"].startswith("one of 3000 ") for row in bench.ledger())
    tap.ok("3000 layers of one value", count == 3000 and took < LONG_SECONDS, f"{took:.1f} s, {count} merged", done.stderr)


if __name__ == "__main__":
    sys.exit(run(CASES, check_bits, check_names, check_many))
