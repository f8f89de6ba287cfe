#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators that count or look up with sizes that every run chooses, against ONNX Runtime; and what of them is refused."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import CLI, Tap, command

import numpy as np
import onnx
from onnx import TensorProto

from small_graphs import Bench, Graph, expected_outputs

BOUNDS = ["--dim", "n=1..5", "--dim", "m=2..7"]
SIZES = [(1, 2), (3, 7), (5, 4)]
CASES = {}


def case(name):
    def mark(function):
        CASES[name] = function
        return function
    return mark


def size(g, x, axis):
    return g.op("Squeeze", g.op("Shape", x, start=axis, end=axis + 1))


def count(g, x, axis, start=0, step=1):
    """start, start + step, ... as many as axis of x has, as floats."""
    limit = g.op("Add", g.op("Mul", size(g, x, axis), g.constant(np.int64(step))), g.constant(np.int64(start)))
    return g.op("Range", g.constant(np.int64(start)), limit, g.constant(np.int64(step)))


@case("Range of a size")
def range_of_size(g, n, m):
    x = g.input("n", "m")
    for start, step in ((0, 1), (3, 1), (-2, 3)):
        g.output(g.op("Add", x, g.op("Cast", count(g, x, 1, start, step), to=TensorProto.FLOAT)))
    return {x: (n, m)}


@case("Trilu, EyeLike and extremes of integers")
def triangles(g, n, m):
    """A decoder's mask, and the longest of lengths."""
    x = g.input("n", "m")
    shape = g.op("Shape", x)
    mask = g.op("Trilu", g.op("ConstantOfShape", shape), g.constant(np.int64(1)), upper=1)
    full = g.op("Trilu", g.op("Expand", g.scalar(-3e4), shape), g.constant(np.int64(-1)), upper=0)
    g.output(g.op("Add", x, g.op("Add", mask, full)), g.op("Trilu", x, upper=0), g.op("EyeLike", x, k=1))
    lengths = g.op("Cast", g.op("Mul", x, g.scalar(9)), to=TensorProto.INT64)
    for op_type in ("ReduceMax", "ReduceMin"):
        g.output(g.op("Cast", g.op(op_type, lengths, g.ints(1)), to=TensorProto.FLOAT),
                 g.op("Cast", g.op(op_type, lengths, keepdims=0), to=TensorProto.FLOAT))
    return {x: (n, m)}


@case("GatherElements along an axis that varies")
def gather_elements(g, n, m):
    x, index = g.input("n", 3, "m"), g.input("n", 2, "m")
    places = g.op("Cast", g.op("Mul", g.op("Tanh", index), g.scalar(1.99)), to=TensorProto.INT64)  # -1, 0, 1
    for axis in (1, 2):
        g.output(g.op("GatherElements", x, places, axis=axis))
    return {x: (n, 3, m), index: (n, 2, m)}


@case("GatherND at counted places")
def gather_nd(g, n, m):
    """The mask of a Hugging Face encoder as PyTorch exports it."""
    x = g.input("n", "m")
    row = g.op("Unsqueeze", count(g, x, 0), g.ints(1))
    column = g.op("Unsqueeze", count(g, x, 1), g.ints(0))
    shape = g.op("Shape", g.op("Max", row, column))
    places = [g.op("Unsqueeze", g.op("Expand", part, shape), g.ints(-1)) for part in (row, column)]
    g.output(g.op("GatherND", x, g.op("Concat", *places, axis=-1)))
    return {x: (n, m)}


@case("GatherND of a batch of rows")
def gather_nd_batch(g, n, m):
    x = g.input("n", "m", 3)
    last = g.op("Sub", size(g, x, 1), g.constant(np.int64(1)))
    index = g.op("Expand", g.op("Reshape", last, g.ints(1, 1)), g.op("Concat", g.op("Shape", x, start=0, end=1), g.ints(1), axis=0))
    g.output(g.op("GatherND", x, index, batch_dims=1))
    g.output(g.op("Div", x, g.op("Cast", size(g, x, 1), to=TensorProto.FLOAT)))
    return {x: (n, m, 3)}


@case("NonZero of ones, as many as a size says")
def non_zero(g, n, m):
    x = g.input("n", "m")
    one = onnx.helper.make_tensor("one", TensorProto.INT64, [1], [1])
    ones = g.op("ConstantOfShape", g.op("Unsqueeze", size(g, x, 0), g.ints(0)), value=one)
    rows = g.op("Squeeze", g.op("NonZero", ones), g.ints(0))
    g.output(g.op("Gather", x, rows), g.op("Cast", rows, to=TensorProto.FLOAT))
    return {x: (n, m)}


@case("products and the largest along some axes of sizes that vary")
def products(g, n, m):
    x = g.input("n", 3, "m")
    numbers = g.op("Cast", g.op("Mul", x, g.scalar(5)), to=TensorProto.INT64)
    g.output(g.op("ReduceProd", x, g.ints(1)), g.op("ReduceProd", x, g.ints(1), keepdims=0),
             g.op("Cast", g.op("ReduceProd", numbers, g.ints(-2)), to=TensorProto.FLOAT))
    for axis in range(3):
        g.output(g.op("Hardmax", x, axis=axis))
    return {x: (n, 3, m)}


@case("as many of the largest as sizes say")
def top_k(g, n, m):
    """All of an axis, sorted; at most a number of them; infinities stay before what is not there."""
    x = g.input("n", 3, "m")
    huge = g.op("Where", g.op("Less", x, g.scalar(-0.5)), g.scalar(-np.inf),
                g.op("Where", g.op("Less", x, g.scalar(0.7)), x, g.scalar(np.inf)))
    for axis in (0, 2, -1):
        size_of = g.op("Shape", x, start=axis % 3, end=axis % 3 + 1)
        for k in (size_of, g.op("Min", size_of, g.ints(4)), g.op("Add", g.op("Div", size_of, g.ints(2)), g.ints(1)),
                  g.op("Min", size_of, g.ints(1000))):
            for largest in (0, 1):
                values, places = g.op("TopK", huge if axis < 0 else x, k, axis=axis, largest=largest, outputs=2)
                g.output(values, g.op("Cast", places, to=TensorProto.FLOAT))
    return {x: (n, 3, m)}


def check(tap, bench, name, make):
    g = Graph(20)
    make(g, *SIZES[0])
    model = g.model()
    done = bench.convert(model, *BOUNDS)
    if not tap.ok(f"{name}: converted", done.returncode == 0, done.stderr):
        return
    wrong = []
    for seed, sizes in enumerate(SIZES):
        random = np.random.default_rng(seed)
        feeds = {port: random.standard_normal(dims).astype(np.float32) for port, dims in make(Graph(20), *sizes).items()}
        why = bench.compare(feeds, expected_outputs(model, feeds))
        wrong += [f"sizes {sizes}: {why}"] if why else []
    tap.ok(f"{name}: right at {len(SIZES)} sizes", not wrong, *wrong)


def check_sums(tap, bench):
    """A dimension named by a sum of others is that sum: of a cache, one position more."""
    g = Graph(17)
    mask, past = g.input("n", "past + 1", name="mask"), g.input("n", 4, "past", 8, name="past")
    keys = g.op("Concat", past, g.input("n", 4, 1, 8, name="key"), axis=2)
    scores = g.op("MatMul", g.input("n", 4, 1, 8, name="query"), g.op("Transpose", keys, perm=[0, 1, 3, 2]))
    p = g.op("Softmax", g.op("Add", scores, g.op("Unsqueeze", mask, g.ints(1, 2))), axis=-1)
    two = g.op("Concat", past, keys, axis=2)
    g.output(g.op("MatMul", p, keys), g.op("Add", two, g.op("Unsqueeze", g.input("past+1 + past", 8, name="bias"), g.ints(0, 1))))
    for flags, all_sizes in ((("--dim", "past=1..9"), ((1, 3), (2, 9))), (("--dim", "past=7", "--dim", "n=2"), ((2, 7),))):
        sizes = [{"n": n, "past": p, "past + 1": p + 1, "past+1 + past": 2 * p + 1} for n, p in all_sizes]
        why = bench.right(g, "--golden", "2", *flags, sizes=sizes)
        tap.ok(f"dims that are sums, {' '.join(flags)}", why is None, why)
    done = bench.convert(g.model())
    tap.ok("only what a sum is made of is asked for", done.returncode == 2 and "--dim 'past=LO..HI'" in done.stderr
           and done.stderr.count("--dim") == 1, done.stderr)
    done = bench.convert(g.model(), "--dim", "past=1..9", "--dim", "past + 1=5")
    tap.ok("a sum that is given all the same is taken", done.returncode == 1 and "cannot be broadcast" in done.stderr, done.stderr)


def check_given_sums(tap, bench):
    """--dim NAME=SUM, of names that have sizes, sums or other names; in circles they are refused."""
    g = Graph(17)
    g.output(g.op("Concat", g.input("n", "p"), g.input("n", "t"), g.input("n", "q"), axis=1))
    flags = ["--dim", "t=p+1", "--dim", "q=t + k+2", "--dim", "k=p", "--dim", "p=1..5"]
    why = bench.right(g, "--golden", "2", *flags, sizes=[{"n": n, "p": p, "t": p + 1, "q": 2 * p + 3} for n, p in ((1, 1), (3, 5), (2, 2))])
    tap.ok("sizes given as sums", why is None, why)
    for t, q, said in (("p+t", "q=1", "t is a sum of itself"), ("q+1", "q=t+2", "a sum of itself"), ("p+z", "q=1", "what size p+z has"),
                       ("p+", "q=1", "what size p+ has")):
        done = bench.convert(g.model(), "--dim", f"t={t}", "--dim", q, "--dim", "p=1..5")
        tap.ok(f"--dim t={t} --dim {q}: refused", done.returncode == 2 and said in done.stderr, done.stderr)


def check_names(tap, bench):
    """Two names of one size are made one by --dim NAME=OTHER, in sums and from name to name."""
    g = Graph(17)
    x, past = g.input("n", 3), g.input("k + 1", 4)
    g.output(g.op("Add", x, g.input("m", 3)), g.op("MatMul", g.op("Transpose", g.input("l", 5), perm=[1, 0]), past))
    flags = ["--dim", "m=n", "--dim", "n=b", "--dim", "b=1..4", "--dim", "k=p", "--dim", "p=2..6", "--dim", "l=5"]
    done = bench.convert(g.model(), *flags[:-4], "--dim", "p=2..6", "--dim", "l=5")
    tap.ok("a name is asked for where nothing makes it another", done.returncode != 0, done.stderr)
    why = bench.right(g, *flags[:8], "--dim", "p=4", "--dim", "l=5", "--golden", "2",
                      sizes=[{"n": b, "m": b, "k + 1": 5, "l": 5} for b in (1, 4, 3)])
    tap.ok("names of one size", why is None, why)


def check_refused(tap, bench, name, graph, *parts):
    flags = [flag for i in (0, 2) if f'"{BOUNDS[i + 1][0]}"' in str(graph.inputs) for flag in BOUNDS[i:i + 2]]
    done = bench.convert(graph.model(), *flags)
    tap.ok(f"{name} is refused", done.returncode == 1 and all(part in done.stderr for part in parts), done.stderr)


def refused_range(start, limit, step):
    g = Graph(20)
    x = g.input("n", 3)
    values = [g.op("Sub", size(g, x, 0), g.constant(np.int64(2))) if v == "n - 2" else size(g, x, 0) if v == "n"
              else g.constant(np.int64(v)) for v in (start, limit, step)]
    numbers = g.op("Cast", g.op("Range", *values), to=TensorProto.FLOAT)
    g.output(numbers, g.op("Relu", x))
    return g


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for name, make in CASES.items():
            check(tap, bench, name, make)
        check_sums(tap, bench)
        check_given_sums(tap, bench)
        check_names(tap, bench)
        g = Graph(20)
        g.output(g.op("ReduceProd", g.input("n", 3), g.ints(0)))
        check_refused(tap, bench, "ReduceProd along an axis that varies", g, "ReduceProd", "n elements are multiplied")
        g = Graph(20)
        g.output(g.op("Gather", g.input("n", 3), g.constant(np.int64(1)), axis=0))
        check_refused(tap, bench, "Gather of what there may not be", g, "Gather", "place 1 of axis 0 of in0, which has n elements: give")
        g = Graph(20)
        g.output(g.op("Gather", g.input("n", 4), g.ints(0, -5), axis=1))
        check_refused(tap, bench, "Gather of what there is not", g, "Gather", "place -5 of axis 1 of in0, which has 4 elements")
        g = Graph(20)
        g.output(g.op("Squeeze", g.input("n", 1, 3), name="the_node"))
        bench.convert(g.model(), *BOUNDS[:2])
        done = command(CLI, "convert", bench.onnx, "-o", bench.ipex, *BOUNDS[:2])  # not quiet
        said = ["the_node (Squeeze) names no axes: axis 0 (n) stays", "sizes at which it never is (--dim)"]
        tap.ok("Squeeze of what may be 1: said", done.returncode == 0 and all(part in done.stderr + done.stdout for part in said),
               done.stderr, done.stdout)
        done = command(CLI, "convert", bench.onnx, "-o", bench.ipex, "--dim", "n=2..5")
        tap.ok("Squeeze of what is never 1: nothing to say", done.returncode == 0 and "names no axes" not in done.stdout + done.stderr,
               done.stderr, done.stdout)
        g = Graph(20)
        g.output(g.op("Squeeze", g.input("n", 1, 3), g.ints(0)))
        check_refused(tap, bench, "Squeeze of an axis that may be longer", g, "Squeeze", "axis 0 has n elements, not 1 at all sizes: give")
        g = Graph(20)
        g.output(g.op("MatMul", g.input(3, "n"), g.input("m", 4)))
        check_refused(tap, bench, "MatMul of two sizes", g, "MatMul", "the inner dims n and m differ; say that they are one size")
        g = Graph(20)
        index = g.op("Cast", g.input("m", 3), to=TensorProto.INT64)
        g.output(g.op("GatherElements", g.input("n", 3), index, axis=1))
        check_refused(tap, bench, "GatherElements of two sizes", g, "GatherElements", "dim 0 of the indices is m, more than the n", "--dim")
        g = Graph(20)
        g.output(g.op("TopK", g.input("n", 3), g.ints(3), axis=0, outputs=2)[0])
        check_refused(tap, bench, "TopK of more than there may be", g, "TopK", "k is 3 for n elements")
        check_refused(tap, bench, "Range that may be empty", refused_range(0, "n - 2", 1), "Range", "may be no element")
        check_refused(tap, bench, "Range backwards that may be empty", refused_range("n - 2", -1, -1), "Range", "may be no element")
        check_refused(tap, bench, "Range backwards by too much", refused_range("n", 0, -(1 << 40)), "Range", "delta is")
        check_refused(tap, bench, "Range by a size", refused_range(0, 9, "n"), "Range", "delta is n")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
