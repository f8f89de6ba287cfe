#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights that bf16 or f16 hold exactly are stored so, and nothing else is: results are near ONNX Runtime's, and bit for bit those of
the same weights in f32, at all levels, numbers of rows, threads; the file's numbers are the model's. `verify` stays strict."""
import itertools
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx

from small_graphs import Bench, Graph, expected_outputs  # also finds ipextest
from ipextest import CLI, Tap, cli_json, command
import format_reader

HELD = {"f32": lambda a: a, "bf16": lambda a: a.astype(ml_dtypes.bfloat16).astype(np.float32),
        "f16": lambda a: a.astype(np.float16).astype(np.float32)}
NEITHER = 1 + 2 ** -12  # a number that 16 bits do not hold


class Held(Graph):
    """Its weights are numbers that a type holds."""

    def __init__(self, dtype, spoil=False, seed=1):
        super().__init__(seed=seed)
        self.dtype, self.spoil = dtype, spoil

    def weight(self, *dims, name=None, scale=0.5):
        array = HELD[self.dtype]((self.random.standard_normal(dims) * scale).astype(np.float32))
        if self.dtype == "f16":  # the smallest ones, and those between: f16's denormals
            places = self.random.random(dims) < 0.1
            array[places] = self.random.integers(-2047, 2048, places.sum()) * np.float32(2 ** -24)
        if self.spoil:
            array.flat[-1] = NEITHER
        return self.constant(array, name)


def layer(g, rows, k=70, n=37):
    """[n][k] and [k][n], with and without bias, activation and residual."""
    x = g.input(rows, k)
    y = g.op("Gemm", x, g.weight(n, k), g.weight(n), transB=1, name="turned")
    y = g.op("Relu", y)
    z = g.op("Add", g.op("MatMul", y, g.weight(n, n), name="plain"), y)
    g.output(g.op("Gelu", z, domain="com.microsoft") if "com.microsoft" in g.domains else g.op("Sigmoid", z))


def deep(g, rows):
    """More of K than is multiplied at a time, and two panels and a half."""
    g.output(g.op("MatMul", g.input(rows, 1100), g.weight(1100, 40, scale=0.05), name="deep"))


def merged(g, rows):
    """Three layers of one value become one; the queries' scale is no part of them."""
    x = g.input(2, rows, 48)
    q, k, v = (g.op("Reshape", g.op("MatMul", x, g.weight(48, 48), name=name), g.ints(2, -1, 3, 16)) for name in "qkv")
    scores = g.op("MatMul", g.op("Transpose", q, perm=[0, 2, 1, 3]), g.op("Transpose", k, perm=[0, 2, 3, 1]))
    p = g.op("Softmax", g.op("Mul", scores, g.scalar(0.25)), axis=-1)
    y = g.op("MatMul", p, g.op("Transpose", v, perm=[0, 2, 1, 3]))
    g.output(g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(2, -1, 48)))


def kinds(bench):
    """dtype of every weight with tiles."""
    return sorted(weight["dtype"] for weight in cli_json("inspect", bench.ipex)["weights"] if weight["layout"] == "tiles")


def verdicts(bench):
    return {row["site"].split("+")[0]: row["reason"] or row["verdict"] for row in bench.ledger() if row["pass"] == "lossless"}


def same_bits(a, b):
    return not isinstance(a, str) and not isinstance(b, str) and all(a[name].tobytes() == b[name].tobytes() for name in a)


def check_layers(tap, bench, other):
    fills = {"a layer": (layer, 2), "one of 1100 to 40": (deep, 1), "merged layers": (merged, 1)}
    for (title, (fill, layers)), dtype, rows in itertools.product(fills.items(), ("bf16", "f16"), (1, 3, 8, 13, 40, 530)):
        if fill is merged and rows != 40:  # all rows see each other
            continue
        g = Held(dtype)
        fill(g, rows)
        title = f"{title}, {dtype}, {rows} rows"
        why = bench.right(g, "--golden", "1", bits=rows < 530)
        tap.ok(f"{title}: agrees with ONNX Runtime, the same bits at all levels", not why, why)
        tap.ok(f"{title}: is stored in {dtype}", kinds(bench) == [dtype] * layers, kinds(bench), verdicts(bench))
        feeds = g.feeds()
        done = other.convert(widened(g.model(), rows), "--speed", "--golden", "1")
        got, wide = bench.run(feeds), done.stderr or other.run(spread(feeds, rows))
        tap.ok(f"{title}: f32 with --speed", not done.stderr and kinds(other) == ["f32"] * layers, done.stderr, verdicts(other))
        if not isinstance(wide, str):
            wide = {name: narrow(array, rows) for name, array in wide.items()}
        tap.ok(f"{title}: the same bits as f32", same_bits(got, wide), got if isinstance(got, str) else wide)


def widened(model, rows):
    """At least 40 rows, which --speed leaves in f32."""
    for port in model.graph.input:
        dim = port.type.tensor_type.shape.dim[-2]
        dim.dim_value = max(rows, 40)
    return model


def spread(feeds, rows):
    return {name: np.concatenate([x] * (40 // rows + 1), axis=-2)[..., :max(rows, 40), :] for name, x in feeds.items()}


def narrow(array, rows):
    return np.ascontiguousarray(array[..., :rows, :])


def check_spoilt(tap, bench):
    """One number of the weight is none of the type."""
    for dtype in ("bf16", "f16"):
        g = Held(dtype, spoil=True)
        g.output(g.op("MatMul", g.input(1, 70), g.weight(70, 37), name="layer"))
        why = bench.right(g, "--golden", "1", bits=True)
        tap.ok(f"a number that is not of {dtype}: f32, and why", not why and kinds(bench) == ["f32"] and verdicts(bench) == {"layer": "more_bits"},
               why, kinds(bench), verdicts(bench))


def check_edges(tap, bench):
    """What f16 and bf16 just hold, and what they just do not."""
    holds = {"f16": (65504, 2 ** -24, 2 ** -14, 1023 * 2 ** -24, 1 + 2 ** -10), "bf16": (2.0 ** 127, 2.0 ** -126, 1 + 2 ** -7, 65536)}
    lacks = {"f32": (65504 + 16, 2 ** -25 * 3, 2 ** -14 + 2 ** -25, 1 + 2 ** -11, 2.0 ** -126 * (1 + 2 ** -8))}
    for dtype, number in [(dtype, number) for numbers in (holds, lacks) for dtype, values in numbers.items() for number in values]:
        for sign in (1, -1):
            g = Graph()
            w = np.full((20, 20), 1 if dtype == "bf16" else 1 + 2 ** -10, np.float32)
            w[3, 4] = sign * number
            g.output(g.op("MatMul", g.input(1, 20), g.constant(w), name="layer"))
            done = bench.convert(g.model())
            array = format_reader.Model(bench.ipex).weight(0)
            wide = {"f32": lambda a: a, "f16": lambda a: a.astype(np.float32),
                    "bf16": lambda a: (a.astype(np.uint32) << 16).view(np.float32)}[kinds(bench)[0]](array)
            tap.ok(f"{sign * number:g}: {dtype}, the number itself", not done.stderr and kinds(bench) == [dtype] and np.array_equal(wide, w.T),
                   done.stderr, kinds(bench), wide[4, 3])


def check_factors(tap, bench):
    """A factor that is folded: what it makes of the weight counts."""
    for factor, dtype in ((0.125, "bf16"), (3.0, "f16"), (3.1415, "f32"), (-2.0, "bf16")):
        g = Held("bf16")
        y = g.op("MatMul", g.input(5, 33), g.weight(33, 20), name="layer")
        g.output(g.op("Mul", y, g.constant(np.full(20, factor, np.float32))))
        why = bench.right(g, "--golden", "1")
        tap.ok(f"times {factor}: {dtype}", not why and kinds(bench) == [dtype], why, kinds(bench), verdicts(bench))


def check_recurrent(tap, bench):
    for kind, gates in (("LSTM", 4), ("GRU", 3)):
        for dtype, expected in (("bf16", "bf16"), ("f16", "f32")):
            g = Held(dtype)
            x = g.input(7, 2, 12)
            y = g.op(kind, x, g.weight(1, gates * 20, 12), g.weight(1, gates * 20, 20), hidden_size=20,
                     **({"linear_before_reset": 1} if kind == "GRU" else {}))
            g.output(y)
            why = bench.right(g, "--golden", "1", bits=True)
            tap.ok(f"{kind} of {dtype}: {expected}", not why and kinds(bench) == [expected] * 2, why, kinds(bench), verdicts(bench))


def check_convolutions(tap, bench):
    """In f32 but for --size, with which they have the bits of f32 without Winograd, too."""
    for transposed in (False, True):
        g = Held("bf16")
        x = g.input(1, 12, 9, 11)
        if transposed:
            g.output(g.op("ConvTranspose", x, g.weight(12, 20, 3, 3), strides=[2, 2], name="conv"))
        else:
            g.output(g.conv(x, 12, 20, pads=[1, 1, 1, 1], name="conv"))
        title = "a transposed convolution" if transposed else "a convolution"
        why = bench.right(g, "--golden", "1")
        tap.ok(f"{title}: f32, and no site", not why and kinds(bench) == ["f32"] and not verdicts(bench), why, kinds(bench), verdicts(bench))
        plain = bench.run(feeds := g.feeds())
        why = bench.right(g, "--golden", "1", "--size", bits=True)
        tap.ok(f"{title}, --size: bf16", not why and kinds(bench) == ["bf16"], why, kinds(bench), verdicts(bench))
        tap.ok(f"{title}, --size: the same bits", same_bits(plain, bench.run(feeds)))


def check_sizes(tap, bench):
    """Rows that each run chooses: 16 bits with --speed, too, where there may be few."""
    for lowest, expected in ((1, "f16"), (16, "f32")):
        g = Held("f16")
        g.output(g.op("MatMul", g.input("rows", 70), g.weight(70, 37), name="layer"))
        flags = ("--dim", f"rows={lowest}..64", "--golden", "2", "--speed")
        why = bench.right(g, *flags, sizes=[{"rows": n} for n in (lowest, 16, 33, 64)], bits=True)
        tap.ok(f"{lowest} to 64 rows, --speed: {expected}", not why and kinds(bench) == [expected], why, kinds(bench))
        if expected == "f32":
            tap.ok("the ledger says why", verdicts(bench) == {"layer": "many_rows"}, verdicts(bench))


def plain(bench):
    """dtype of every plain weight of more than 1,000 elements."""
    return sorted(weight["dtype"] for weight in cli_json("inspect", bench.ipex)["weights"]
                  if weight["layout"] == "plain" and np.prod(weight["dims"]) > 1000)


def check_tables(tap, bench):
    """Tables of which rows or columns are looked up, once, twice, and as a layer's weight, too."""
    int64, int32 = onnx.TensorProto.INT64, onnx.TensorProto.INT32
    for dtype, axis, indices in itertools.product(("bf16", "f16", "f32"), (0, 1), (int64, int32)):
        g = Held("bf16" if dtype == "f32" else dtype, spoil=dtype == "f32")
        table = g.weight(70, 67)
        g.output(g.op("Gather", table, g.input(2, 5, dtype=indices), axis=axis, name="words"),
                 g.op("Neg", g.op("Gather", table, g.input("n", dtype=int64), axis=axis)))
        title = f"look-ups of {dtype} along axis {axis}, {onnx.TensorProto.DataType.Name(indices)}"
        why = bench.right(g, "--dim", "n=1..9", "--golden", "2", bits=True, sizes=[{"n": 1}, {"n": 9}])
        tap.ok(f"{title}: stored so, once", not why and plain(bench) == [dtype], why, plain(bench), verdicts(bench))
        expected = "more_bits" if dtype == "f32" else "applied"
        tap.ok(f"{title}: both are told", list(verdicts(bench).values()) == [expected] * 2, verdicts(bench))
    for flags in ("--weights", "bf16"), ("--dtype", "bf16"):
        g = Held("bf16")
        g.output(g.op("MatMul", g.op("Gather", g.weight(70, 67), g.input(3, dtype=int64)), g.weight(67, 20)))
        done = bench.convert(g.model(), "--golden", "1", *flags)
        wrong = done.stderr or bench.verify()
        tap.ok(f"a table, {' '.join(flags)}: bf16", not wrong and plain(bench) == ["bf16"], wrong, plain(bench))
    for shared in (False, True):
        g = Held("bf16")
        table = g.weight(70, 67)
        x = g.op("Gather", table, g.input(3, dtype=int64), name="words")
        g.output(g.op("MatMul", x, g.op("Transpose", table, perm=[1, 0]), name="layer"))
        if shared:
            g.output(g.op("Add", table, g.input(1)))
        why = bench.right(g, "--golden", "1", bits=True)
        title = "a table that is a layer's weight, too" + (", and added to something" if shared else "")
        tap.ok(f"{title}: {'f32' if shared else 'bf16'}", not why and set(plain(bench)) == {"f32" if shared else "bf16"} and kinds(bench) == ["bf16"],
               why, plain(bench), kinds(bench), verdicts(bench))
    for title, rows, flags, sizes in (("a table of few elements", 60, (), [{"n": 3}]), ("more look-ups than rows", 70, ("--dim", "n=1..71"), [{"n": 71}])):
        g = Held("bf16")
        g.output(g.op("Gather", g.weight(rows, 67), g.input("n", dtype=int64), name="words"))
        why = bench.right(g, "--golden", "1", *(flags or ("--dim", "n=3")), sizes=sizes)
        tap.ok(f"{title}: f32", not why and plain(bench) == ["f32"] and not verdicts(bench), why, plain(bench))


def check_half_models(tap, bench):
    """Constants of half precision, whole or behind casts."""
    for onnx_type, dtype, whole in itertools.product((onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16), ("",), (False, True)):
        name = "f16" if onnx_type == onnx.TensorProto.FLOAT16 else "bf16"
        g = Held(name)
        array = g.random.standard_normal((70, 37)).astype(np.float16 if name == "f16" else ml_dtypes.bfloat16)
        g.constants.append(onnx.helper.make_tensor("half", onnx_type, array.shape, array.tobytes(), raw=True))
        x = g.input(2, 70, dtype=onnx_type if whole else onnx.TensorProto.FLOAT)
        y = g.op("MatMul", x, "half" if whole else g.op("Cast", "half", to=onnx.TensorProto.FLOAT), name="layer")
        g.output(y, dtype=onnx_type if whole else onnx.TensorProto.FLOAT)
        done = bench.convert(g.model(), "--golden", "1")
        title = f"a constant of {name}, {'all in it' if whole else 'behind a cast'}"
        wrong = done.stderr or bench.verify()
        tap.ok(f"{title}: stored so", not wrong and kinds(bench) == [name], wrong, kinds(bench))


def check_verify(tap, bench):
    """Nothing was rounded: answers may be off by 1e-4, not by the 1/16 of bf16."""
    g = Held("bf16")
    g.output(g.op("MatMul", g.input(2, 70, name="x"), g.weight(70, 37), name="layer"))
    model, feeds = g.model(), g.feeds()
    y = next(iter(expected_outputs(model, feeds).values()))
    for off, code in ((0, 0), (2e-3, 1)):
        folder = bench.answers(input_0=feeds["x"], output_0=y + np.float32(off) * np.abs(y).max())
        bench.convert(model, "--golden-from", folder)
        done = command(CLI, "verify", bench.ipex)
        tap.ok(f"verify of answers that are {off} off: exit {code}", done.returncode == code and "tolerance 0.0001" in done.stdout,
               f"exit {done.returncode}", done.stdout, done.stderr)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as second:
        bench = Bench(folder)
        check_layers(tap, bench, Bench(second))
        for check in (check_spoilt, check_edges, check_factors, check_recurrent, check_convolutions, check_sizes, check_tables, check_half_models,
                      check_verify):
            check(tap, bench)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
