#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Einsum against numpy, which reads more equations than ONNX Runtime does, at fixed sizes and at sizes that vary;
which steps it becomes; and what of it is refused.

einsum.py [--only TEXT]"""
import collections
import itertools
import pathlib
import sys
import tempfile

import numpy as np
import onnx.numpy_helper

from small_graphs import Bench, Graph

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap, cli_json, only_option

EQUATIONS = [  # equation, shapes of the operands
    ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("ij->j", (3, 4)), ("ij", (3, 4)), ("ba", (3, 4)), ("ij->ij", (3, 4)),
    ("i->", (5,)), ("->", ()), ("Ab->bA", (2, 3)), ("bA", (2, 3)), ("abcd->dbca", (2, 3, 4, 5)),
    ("ii->i", (4, 4)), ("ii", (4, 4)), ("...ii->...i", (2, 3, 4, 4)), ("iji->j", (3, 4, 3)), ("iii->i", (3, 3, 3)),
    ("aabb->ba", (2, 2, 3, 3)),
    ("...ij->...ji", (2, 3, 4, 5)), ("...ij->ji", (4, 5)), ("i...->...", (2, 3, 4)), ("...i", (2, 3, 4)),
    ("i,i->", (5,), (5,)), ("i,i", (5,), (5,)), ("i,j->ij", (3,), (4,)), ("i,j", (3,), (4,)), ("i,j->ji", (3,), (4,)),
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("ij,jk->ki", (3, 4), (4, 5)), ("ij,kj->ik", (3, 4), (5, 4)),
    ("ji,jk->ik", (4, 3), (4, 5)), ("ij,j->i", (3, 4), (4,)), ("j,jk->k", (4,), (4, 5)), ("ij,ij->", (3, 4), (3, 4)),
    ("ij,ji->", (3, 4), (4, 3)), ("ij,jk->", (3, 4), (4, 5)), ("ij,jk->i", (3, 4), (4, 5)), ("ij,jk->k", (3, 4), (4, 5)),
    ("ij,jk->j", (3, 4), (4, 5)), ("ij,kl->il", (3, 4), (2, 5)), ("ij,kl->ijkl", (3, 4), (2, 5)), (",ij->ij", (), (3, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bij,bjk->ikb", (2, 3, 4), (2, 4, 5)), ("bij,bij->bij", (2, 3, 4), (2, 3, 4)),
    ("bij,bij->bi", (2, 3, 4), (2, 3, 4)), ("bij,bji->b", (2, 3, 4), (2, 4, 3)), ("bij,b->bij", (2, 3, 4), (2,)),
    ("ij,bj->bij", (3, 4), (2, 4)), ("b,bij->ji", (2,), (2, 3, 4)),
    ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)), ("bhij,bhjd->bhid", (2, 3, 4, 6), (2, 3, 6, 5)),
    ("bthd,bshd->bhts", (2, 4, 3, 5), (2, 6, 3, 5)), ("bhts,bshd->bthd", (2, 3, 4, 6), (2, 6, 3, 5)),
    ("bhjd,bhij->bhid", (2, 3, 6, 5), (2, 3, 4, 6)), ("b h i d , b h j d -> b h i j", (1, 3, 4, 5), (1, 3, 6, 5)),
    ("bnd,hdk->bhnk", (2, 3, 4), (2, 4, 5)), ("bhnk,hkd->bnd", (2, 3, 4, 5), (3, 5, 6)), ("bnd,dhk->bhnk", (2, 3, 4), (4, 2, 5)),
    ("bhnd,hde->bhne", (2, 3, 4, 5), (3, 5, 6)), ("bchw,mc->bmhw", (2, 3, 4, 5), (6, 3)), ("mc,bchw->bmhw", (6, 3), (2, 3, 4, 5)),
    ("xbc,ycb->xy", (2, 3, 4), (5, 4, 3)),
    ("...ij,...jk->...ik", (2, 3, 4, 5), (2, 3, 5, 6)), ("...ij,...jk->...ik", (2, 3, 4, 5), (5, 6)),
    ("...ij,...jk->...ik", (4, 5), (2, 3, 5, 6)), ("...ij,...jk", (2, 3, 4, 5), (3, 5, 6)),
    ("...ij,...jk->...ik", (2, 1, 4, 5), (1, 3, 5, 6)), ("...d,de->...e", (2, 3, 4), (4, 5)), ("...,...->...", (2, 3), (3,)),
    ("bij,bjk->bik", (1, 3, 4), (2, 4, 5)), ("ij,jk->ik", (3, 1), (4, 5)), ("ij,jk->ik", (3, 4), (1, 5)),
    ("bhid,bhjd->bhij", (2, 6, 4, 5), (2, 1, 7, 5)), ("bij,bij->ij", (1, 3, 4), (2, 3, 1)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("i,j,k->ijk", (2,), (3,), (4,)), ("ij,jk,ik->", (2, 3), (3, 4), (2, 4)),
    ("bi,bi,bi->b", (2, 3), (2, 3), (2, 3)), ("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 2)),
    ("a,b,c,d,e->edcba", (2,), (3,), (2,), (3,), (2,)), ("abcde,fghi,j->aj", (2,) * 5, (2,) * 4, (2,)),
]
VARYING = [  # equation, shapes; n is 2..5, m 1..9
    ("ij,jk->ik", ("n", "m"), ("m", 5)), ("bhid,bhjd->bhij", (1, 3, "n", 4), (1, 3, "m", 4)),
    ("bthd,bshd->bhts", ("n", "m", 2, 4), ("n", "m", 2, 4)), ("bhts,bshd->bthd", ("n", 2, "m", "m"), ("n", "m", 2, 4)),
    ("...ij->...ji", ("n", 3, "m")), ("ij->i", ("n", "m")), ("i,j->ij", ("n",), ("m",)), ("nmk,nmk->", ("n", "m", 3), ("n", "m", 3)),
    ("bij,bj->bi", ("n", "m", 4), (1, 4)), ("abc,adc->bd", ("n", 3, "m"), ("n", 4, "m")),
]
SIZES = [{"n": 2, "m": 1}, {"n": 3, "m": 7}, {"n": 5, "m": 9}]
BOUNDS = {"n": ("--dim", "n=2..5"), "m": ("--dim", "m=1..9")}
WEIGHTS = [  # equation, x, weight: one linear layer and no matmul
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,kj->ik", (3, 4), (5, 4)), ("...d,de->...e", (2, 3, 4), (4, 5)),
    ("bnd,hdk->bhnk", (2, 3, 4), (2, 4, 5)), ("bhnk,hkd->bnd", (2, 3, 4, 5), (3, 5, 6)), ("j,jk->k", (4,), (4, 5)),
    ("bchw,mc->bmhw", (2, 3, 4, 5), (6, 3)), ("bnd,de->ebn", (2, "n", 4), (4, 5)),
]


def einsum(equation, shapes, constants=()):
    """The operands with these indices are constants, the others inputs."""
    g = Graph()
    operands = [g.weight(*dims) if i in constants else g.input(*dims) for i, dims in enumerate(shapes)]
    g.output(g.op("Neg", g.op("Einsum", *operands, equation=equation), out="y"))
    return g


def wrong(bench, g, equation, sizes):
    """None where the converted graph gives what numpy does."""
    feeds = g.feeds(sizes)
    constants = {c.name: onnx.numpy_helper.to_array(c) for c in g.constants}
    operands = [(feeds | constants)[name] for name in g.nodes[0].input]
    return bench.compare(feeds, {"y": np.asarray(-np.einsum(equation, *operands), np.float32)})


def check_numbers(tap, bench, only):
    for equation, *shapes in EQUATIONS:
        every = range(len(shapes))
        for constants in itertools.chain.from_iterable(itertools.combinations(every, n) for n in range(min(len(every), 2) + 1)):
            title = f"{equation} {shapes} constant: {constants}"
            if only in title:
                g = einsum(equation, shapes, constants)
                done = bench.convert(g.model())
                why = wrong(bench, g, equation, {}) if done.returncode == 0 else done.stderr
                tap.ok(title, why is None, why)


def check_sizes(tap, bench, only):
    for equation, *shapes in VARYING:
        g = einsum(equation, shapes)
        flags = [flag for name, flag in BOUNDS.items() if any(name in dims for dims in shapes)]
        if only in f"{equation} {shapes}":
            done = bench.convert(g.model(), "--golden", "1", *itertools.chain.from_iterable(flags))
            why = done.stderr or bench.verify()
            for sizes in SIZES:
                why = why or wrong(bench, g, equation, sizes)
            tap.ok(f"{equation} {shapes}", why is None, why)


def steps(bench):
    return collections.Counter(node["op"] for node in cli_json("inspect", bench.ipex)["entries"][0]["nodes"])


def check_steps(tap, bench):
    for (equation, x, w), first in itertools.product(WEIGHTS, (0, 1)):
        terms, result = equation.split("->")
        left, right = terms.split(",")
        turned = f"{right},{left}->{result}"
        g = einsum(turned, (w, x), (0,)) if first else einsum(equation, (x, w), (1,))
        done = bench.convert(g.model(), *(BOUNDS["n"] if "n" in x else ()))
        found = steps(bench) if done.returncode == 0 else done.stderr
        tap.ok(f"{turned if first else equation} with a constant weight is a linear layer",
               done.returncode == 0 and found["linear"] == 1 and not found["matmul"], found)
    for q_k, p_v in ("bhid,bhjd->bhij", "bhij,bhjd->bhid"), ("bihd,bjhd->bhij", "bhij,bjhd->bihd"), (
            "b g h i d, b g h j d -> b g h i j", "b g h i j, b g h j d -> b g h i d"):
        g, extra = Graph(), (2,) if "g" in q_k else ()
        q, k, v = (g.input(2, *extra, 5, 5, 8) for _ in range(3))
        scores = g.op("Softmax", g.op("Mul", g.op("Einsum", q, k, equation=q_k), g.scalar(0.3)), axis=-1)
        g.output(g.op("Neg", g.op("Einsum", scores, v, equation=p_v)))
        why = bench.right(g)
        tap.ok(f"attention as {q_k} and {p_v} is right", why is None, why)
        found = steps(bench)
        tap.ok(f"attention as {q_k} and {p_v} is recognised", found["attention"] == 1 and not found["matmul"], found)


def check_refused(tap, bench):
    for name, words, equation, *shapes in (
            ("no equation", ["the equation names 0 axes of in0"], "", (3, 4)),
            ("an unknown sign", ["the equation cannot be read"], "i$->i", (3, 4)),
            ("a sum over ...", ["the equation's result lacks ..."], "...i->i", (3, 4)),
            ("two results", ["the equation cannot be read"], "ij->i->j", (3, 4)),
            ("too few operands", ["another number of operands"], "ij->i", (3, 4), (3,)),
            ("too many operands", ["input 1 is missing"], "ij,jk->i", (3, 4)),
            ("another rank", ["the equation names 3 axes of in0, which has rank 2"], "ijk->i", (3, 4)),
            ("a result from nowhere", ["one that no operand has"], "ij->k", (3, 4)),
            ("a result's axis twice", ["an axis twice"], "ij->ii", (3, 4)),
            ("sizes that differ", ["axis 0 of in1 has 5 elements where 4 are needed"], "ij,jk->ik", (3, 4), (5, 6)),
            ("a diagonal of no square", ["the diagonal of 1 by 4 elements"], "ii->i", (1, 4)),
            ("a diagonal of any size", ["the diagonal of n by n elements"], "ii->i", ("n", "n")),
            ("sizes that may differ", ["one size (--dim '"], "ij,jk->ik", (3, "n"), ("m", 6)),
            ("nine axes", ["more than 8"], "abcde,fghi->abcdefghi", (1,) * 5, (1,) * 4),
            ("nine axes on the way", ["a product of 9 axes"], "abcde,fghi,abcdefgh->i", (2,) * 5, (2,) * 4, (2,) * 8)):
        g = einsum(equation, shapes)
        flags = [flag for name, flag in BOUNDS.items() if any(name in dims for dims in shapes)]
        done = bench.convert(g.model(), *itertools.chain.from_iterable(flags))
        said = done.returncode == 1 and all(word in done.stderr for word in ("(Einsum)", *words))
        tap.ok(f"{name} is refused", said, done.stderr)


def main():
    only = only_option()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        check_numbers(tap, bench, only)
        check_sizes(tap, bench, only)
        if not only:
            check_steps(tap, bench)
            check_refused(tap, bench)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
