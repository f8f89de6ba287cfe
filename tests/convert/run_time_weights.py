#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Convolutions, transposed ones and Gemm whose weight or bias is computed at run time (modulated convolutions, the correlation
of two images, mixtures of weights): every combination of what is constant, against ONNX Runtime."""
import itertools
import sys
import tempfile

from small_graphs import Bench, Graph  # also finds ipextest
from ipextest import Tap

CONVS = [  # input, weight, attributes
    ((1, 4, 8, 8), (6, 4, 3, 3), {}),
    ((2, 4, 9, 7), (6, 4, 3, 2), dict(pads=[1, 0, 2, 1], strides=[2, 3])),
    ((1, 4, 11, 10), (6, 4, 3, 3), dict(dilations=[2, 3], pads=[2, 3, 2, 3])),
    ((2, 6, 7, 7), (9, 2, 3, 3), dict(group=3, auto_pad="SAME_UPPER", strides=[2, 2])),
    ((1, 5, 8, 8), (5, 1, 5, 5), dict(group=5, pads=[2, 2, 2, 2])),
    ((2, 6, 5, 5), (4, 6, 1, 1), {}),
    ((2, 6, 5, 5), (4, 3, 1, 1), dict(group=2, strides=[2, 2])),
    ((1, 3, 6, 6), (4, 3, 6, 6), {}),
    ((1, 2, 34, 33), (3, 2, 32, 32), {}),
    ((1, 1, 700), (2, 1, 600), {}),
    ((2, 4, 15), (6, 4, 4), dict(strides=[2], pads=[1, 2])),
    ((2, 4, 15), (4, 1, 3), dict(group=4, dilations=[3])),
]
TRANSPOSED = [
    ((1, 4, 5, 6), (4, 3, 3, 3), dict(strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])),
    ((2, 4, 5, 4), (4, 3, 2, 2), dict(strides=[2, 2])),
    ((2, 6, 4, 4), (6, 2, 3, 4), dict(strides=[3, 1], group=3, dilations=[2, 1])),
    ((1, 4, 5, 5), (4, 3, 2, 3), dict(strides=[3, 2], pads=[1, 2, 0, 1])),
    ((1, 4, 5, 5), (4, 3, 1, 1), dict(strides=[2, 2], output_padding=[1, 0])),
    ((1, 4, 5, 5), (4, 3, 3, 3), dict(strides=[2, 2], output_shape=[12, 10])),
    ((2, 4, 9), (4, 3, 4), dict(strides=[2], pads=[1, 1])),
]
BIASES = [None, "constant", "run time"]


def operand(g, how, *dims):
    """A constant, or what a node gives."""
    return g.weight(*dims) if how == "constant" else g.op("Tanh", g.input(*dims))


def right(tap, bench, title, graph, *flags, **more):
    why = bench.right(graph, *flags, **more)
    tap.ok(title, why is None, why)


def check_windows(tap, bench):
    for op_type, rows in (("Conv", CONVS), ("ConvTranspose", TRANSPOSED)):
        for (x, w, attributes), bias in itertools.product(rows, BIASES):
            for weight in ("run time",) if bias != "run time" else ("run time", "constant"):
                g = Graph()
                m = w[0] if op_type == "Conv" else w[1] * attributes.get("group", 1)
                operands = [operand(g, "run time", *x), operand(g, weight, *w)] + ([operand(g, bias, m)] if bias else [])
                g.output(g.op("Relu", g.op(op_type, *operands, **attributes)))
                right(tap, bench, f"{op_type} {x} by {w} {attributes}, weight {weight}, bias {bias}", g, bits=bias == "run time")


def check_volume(tap, bench):
    g = Graph()
    g.output(g.op("Conv", g.input(1, 3, 4, 5, 6), g.weight(4, 3, 3, 3, 3), operand(g, "run time", 4), pads=[1] * 6))
    g.output(g.op("ConvTranspose", g.input(1, 3, 4, 5, 6), g.weight(3, 4, 2, 2, 2), operand(g, "run time", 4), strides=[2] * 3))
    right(tap, bench, "volumes with a bias of the run", g)


def check_constant_image(tap, bench):
    g = Graph()
    g.output(g.op("Conv", g.weight(1, 3, 9, 8), g.input(4, 3, 3, 3), pads=[1, 1, 1, 1]))
    right(tap, bench, "a constant image by a weight of the run", g)


def check_sizes(tap, bench):
    sizes = [dict(n=1, h=5, w=9), dict(n=3, h=12, w=5)]
    flags = ("--golden", "1", "--dim", "n=1..3", "--dim", "h=5..12", "--dim", "w=5..9")
    for title, attributes in (("", {}), (" by two", dict(strides=[2, 2], pads=[1, 1, 1, 1])), (" in groups", dict(group=2))):
        g = Graph()
        g.output(g.op("Conv", g.input("n", 4, "h", "w"), g.input(6, 4 // attributes.get("group", 1), 3, 3), g.input(6), **attributes))
        right(tap, bench, f"a convolution of any size{title}", g, *flags, sizes=sizes)
    g = Graph()
    g.output(g.op("ConvTranspose", g.input("n", 4, "h", "w"), g.input(4, 6, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1]))
    right(tap, bench, "a transposed convolution of any size", g, *flags, sizes=sizes)


def modulated_weight(g, n, m, c, window, scales, demodulated):
    """[N][M][C][KH][KW]: a constant times styles; by the root of its sum of squares, which is spelt in three ways."""
    style = g.op("Reshape", g.input(n, c), g.ints(n, 1, c, 1, 1))
    w = g.weight(1, m, c, *window)
    if scales == "out":
        style = g.op("Mul", style, g.input(n, m, 1, 1, 1))
    if scales == "constant":
        style = g.op("Mul", style, g.op("Mul", g.scalar(0.5), g.weight(1, 1, c, 1, 1)))
    if scales == "divided":
        w = g.op("Div", w, g.op("Exp", g.input(n, 1, c, 1, 1)))
    w = g.op("Mul", w, style)
    if demodulated == "divided":
        w = g.op("Div", w, g.op("Sqrt", g.op("ReduceSum", g.op("Mul", w, w), g.ints(2, 3, 4), keepdims=1)))
    if demodulated == "norm":
        w = g.op("Div", w, g.op("ReduceL2", w, axes=[2, 3, 4], keepdims=1))
    if demodulated == "root":
        square = g.op("ReduceSum", g.op("Pow", w, g.scalar(2)), g.ints(2, 3, 4), keepdims=0)
        root = g.op("Reciprocal", g.op("Sqrt", g.op("Add", square, g.scalar(1e-8))))
        w = g.op("Mul", w, g.op("Reshape", root, g.ints(n, m, 1, 1, 1)))
    return w


def modulated_graph(n, scales, demodulated, transposed):
    g, m, c = Graph(), 6, 4
    window = (1, 1) if demodulated is None else (3, 2)
    x = g.op("Reshape", g.input(n, c, 8, 7), g.ints(1, n * c, 8, 7))
    w = modulated_weight(g, n, m, c, window, scales, demodulated)
    if transposed:
        w = g.op("Transpose", g.op("Reshape", w, g.ints(n, m, c, *window)), perm=[0, 2, 1, 3, 4])
        y = g.op("ConvTranspose", x, g.op("Reshape", w, g.ints(n * c, m, *window)), group=n, strides=[2, 2], name="conv")
    else:
        y = g.op("Conv", x, g.op("Reshape", w, g.ints(n * m, c, *window)), group=n, pads=[window[0] // 2] * 4, name="conv")
    g.output(g.op("LeakyRelu", g.op("Add", y, g.weight(1, n * m, 1, 1))))
    return g


def modulated_sites(bench):
    return sorted(row["site"] for row in bench.ledger() if row["pass"] == "modulated" and row["verdict"] == "applied")


def check_modulated(tap, bench):
    """Weights that are a constant times scales of their channels, one for every image: constants again."""
    for n, scales, demodulated, transposed in itertools.product((1, 3), (None, "out", "constant", "divided"),
                                                                (None, "divided", "norm", "root"), (False, True)):
        g = modulated_graph(n, scales, demodulated, transposed)
        title = f"{n} images, scales {scales}, demodulated {demodulated}, transposed {transposed}"
        right(tap, bench, title, g, "--golden", "1", bits=scales == "out")
        sites = modulated_sites(bench)
        tap.ok(f"{title}: constant weights", "conv" in sites and len(sites) == (2 if demodulated else 1), sites)
    g = Graph()
    w = g.op("Mul", g.weight(6, 4, 3, 3), g.op("Mul", g.input(1, 4, 1, 1), g.input(6, 1, 1, 1)))
    g.output(g.op("Conv", g.input("n", 4, "h", 9), w, name="conv"))
    right(tap, bench, "images of any size", g, "--golden", "1", "--dim", "n=1..2", "--dim", "h=5..9", sizes=[dict(n=2, h=6), dict(n=1, h=9)])
    tap.ok("images of any size: constant weights", modulated_sites(bench) == ["conv"])


def check_not_modulated(tap, bench):
    """What must stay as it is: scales along the window, a constant for every image, groups, other sums of squares."""
    def one(weight, *shape, group=1):
        g = Graph()
        w = weight(g)
        if shape:
            w = g.op("Reshape", w, g.ints(*shape))
        g.output(g.op("Conv", g.input(1, 8, 6, 6), w, group=group))
        return g

    def squares(axes, exponent=2.0):
        g = Graph()
        w = g.op("Mul", g.weight(1, 6, 4, 3, 3), g.input(2, 1, 4, 1, 1))
        g.output(g.op("ReduceSum", g.op("Pow", g.op("Abs", w), g.scalar(exponent)), g.ints(*axes), keepdims=0),
                 g.op("ReduceSum", w, g.ints(2, 3, 4)), g.op("ReduceSum", g.op("Mul", w, g.op("Neg", w)), g.ints(2, 3, 4)))
        return g

    def powers(g):
        w = g.op("Mul", g.weight(6, 8, 1, 1), g.op("Tanh", g.input(1, 8, 1, 1)))
        for _ in range(40):
            w = g.op("Mul", w, w)
        return w

    rows = [("scales along the window", one(lambda g: g.op("Mul", g.weight(6, 8, 3, 3), g.input(1, 1, 3, 1)))),
            ("a constant for every image", one(lambda g: g.op("Mul", g.weight(2, 6, 4, 3, 3), g.input(2, 1, 4, 1, 1)), 12, 4, 3, 3, group=2)),
            ("groups", one(lambda g: g.op("Mul", g.weight(6, 4, 3, 3), g.input(1, 4, 1, 1)), group=2)),
            ("a sum", one(lambda g: g.op("Add", g.weight(6, 8, 3, 3), g.input(1, 8, 1, 1)))),
            ("divided by what varies along the window", one(lambda g: g.op("Div", g.weight(6, 8, 3, 3), g.op("Exp", g.input(6, 8, 3, 3))))),
            ("constants that are smaller", one(lambda g: g.op("Mul", g.op("Mul", g.input(6, 1, 1, 1), g.weight(1, 8, 1, 1)), g.input(6, 1, 1, 1)))),
            ("a square of squares of squares", one(powers)),
            ("a divisor without a constant", one(lambda g: g.op("Div", g.input(6, 1, 1, 1), g.op("Exp", g.input(1, 8, 1, 1))))),
            ("a power that is no square", squares((2, 3, 4), 3.0)), ("squares over other axes", squares((1, 3, 4))),
            ("squares of something else", squares((2, 3, 4)))]
    for title, g in rows:
        right(tap, bench, f"not modulated: {title}", g)
        tap.ok(f"not modulated: {title}: looked up", modulated_sites(bench) == [], bench.ledger())


def check_gemm(tap, bench):
    shapes = [None, (5,), (1, 5), (3, 1), (3, 5), (1,), ()]
    for weight, c, how, turned in itertools.product(("run time", "constant"), shapes, ("run time", "constant"), (0, 1)):
        if weight == "constant" and how == "constant" and c not in ((3, 1), (3, 5)):
            continue  # operators.py has these
        if c is None and how == "constant":
            continue
        for alpha, beta in ((1.0, 1.0), (0.5, -2.0)):
            g = Graph()
            operands = [g.input(*((7, 3) if turned else (3, 7))), operand(g, weight, *((5, 7) if turned else (7, 5)))]
            if c is not None:
                operands.append(operand(g, how, *c))
            g.output(g.op("Gemm", *operands, transA=turned, transB=turned, alpha=alpha, beta=beta))
            right(tap, bench, f"Gemm, weight {weight}, bias {how} {c}, turned {turned}, alpha {alpha}, beta {beta}", g)


def check_refused(tap, bench):
    rows = [("a volume", "Conv", (1, 3, 4, 5, 6), (4, 3, 1, 1, 1), "signals and images"),
            ("too many taps", "Conv", (1, 1, 40, 40), (1, 1, 33, 33), "1089 taps; at most 1024"),
            ("channels that do not fit", "Conv", (1, 3, 8, 8), (4, 2, 1, 1), "do not fit together")]
    for title, op_type, x, w, words in rows:
        g = Graph()
        g.output(g.op(op_type, g.input(*x), g.input(*w), name="the_node"))
        done = bench.convert(g.model())
        tap.ok(f"{title}: refused", done.returncode == 1 and f"the_node ({op_type})" in done.stderr and words in done.stderr, done.stderr)
    g = Graph()
    g.output(g.op("Gemm", g.input(3, 4), g.weight(4, 5), g.input(2, 5), name="the_node"))
    done = bench.convert(g.model())
    tap.ok("a bias that does not fit: refused", done.returncode == 1 and "the_node (Gemm)" in done.stderr, done.stderr)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for check in (check_windows, check_volume, check_constant_image, check_sizes, check_modulated, check_not_modulated, check_gemm, check_refused):
            check(tap, bench)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
