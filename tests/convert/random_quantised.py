#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random quantised networks, the same for the same seed: 6 to 16 steps, each taken on one of the last values. Scales are
powers of two and so are all other factors, so that every result is that of ONNX Runtime to the bit, whatever the
converter made of the quantisations between the steps; and the same with every kernel level, two threads and no bands.

usage: random_quantised.py [FIRST END]      seeds; 0 to 40 by default"""
import sys
import tempfile

import numpy as np

from integer_layers import Layers
from small_graphs import Bench, expected_outputs
from ipextest import Tap

STEPS, MOST = [], 60000


def step(*, often=1):
    """Marks a step: it gets (net, x, channels, height, width) and returns a value and its sizes, or None."""
    def mark(function):
        STEPS.extend([function] * often)
        return function
    return mark


class Net:
    def __init__(self, seed):
        self.graph = Layers(True, sizes={})
        self.graph.random = self.random = np.random.default_rng(seed)
        self.values = [(self.graph.input(1, 8, 6, 7), (8, 6, 7)) for _ in range(self.pick(1, 2))]
        self.usual = None

    def pick(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def quantised(self, x):
        """As before, mostly: then what was quantised between is quantised again as it was."""
        if self.usual is None or self.pick(True, False, False):
            kind = self.pick("u8", "u8", "i8")
            zero = self.pick(None, 120, 0, 64) if kind == "u8" else self.pick(None, -18, 4)
            self.usual = kind, self.graph.to(kind, around=2.0 ** self.pick(-5, -4, -3), zero=zero)
        kind, to = self.usual
        return self.graph.through(x, to, kind)

    def other(self, fits):
        """A value that fits, which may be the same one."""
        values = [value for value in self.values if fits(value[1])]
        return values[int(self.random.integers(len(values)))]

    def grow(self):
        x, sizes = self.values[-1 - int(self.random.integers(min(3, len(self.values))))]
        made = self.pick(*STEPS)(self, x, *sizes)
        if made and 0 < np.prod(made[1]) <= MOST:
            self.values.append(made)


@step(often=3)
def quantise(net, x, *sizes):
    return net.quantised(x), sizes


@step(often=2)
def convolve(net, x, c, h, w):
    m = net.pick(6, 8, 16, 33)
    y = net.graph.convolved(net.quantised(x), c, m, pads=[1] * 4, name=f"layer{len(net.graph.nodes)}")
    return (y, (m, h, w)) if c <= 33 else None


@step(often=2)
def elementwise(net, x, *sizes):
    return net.graph.op(net.pick("Relu", "Neg", "Abs"), x), sizes


@step(often=2)
def with_number(net, x, *sizes):
    if net.pick(True, False):
        return net.graph.op("Clip", x, net.graph.scalar(-1.0), net.graph.scalar(2.0)), sizes
    return net.graph.op("Mul", x, net.graph.scalar(net.pick(0.5, 2.0, -1.0))), sizes


@step(often=2)
def with_row(net, x, *sizes):
    """Numbers per channel, or per column."""
    n = net.pick((sizes[0], 1, 1), (sizes[2],))
    op = net.pick("Add", "Add", "Mul", "Sub")
    row = net.random.integers(-64, 65, n) / 64 if op != "Mul" else 2.0 ** net.random.integers(-1, 2, n) * net.random.choice([-1, 1], n)
    row = net.graph.constant(np.float32(row))
    return net.graph.op(op, *((x, row) if net.pick(True, False) else (row, x))), sizes


@step(often=2)
def multiply(net, x, c, h, w):
    n = net.pick(8, 24, 35)
    return net.graph.op("MatMul", net.quantised(x), net.graph.weights(w, n, axis=1), name=f"layer{len(net.graph.nodes)}"), (c, h, n)


@step(often=2)
def multiply_two(net, x, c, h, w):
    """Of any two whose products fit, one of them turned."""
    y, (_, n, k) = net.other(lambda other: other[0] in (1, c) and other[2] == w)
    y = net.graph.op("Transpose", net.quantised(y), perm=[0, 1, 3, 2])
    return net.graph.op("MatMul", net.quantised(x), y, name=f"product{len(net.graph.nodes)}"), (c, h, n)


@step()
def add(net, x, *sizes):
    return net.graph.op("Add", x, net.other(lambda other: other == sizes)[0]), sizes


@step()
def concatenate(net, x, c, h, w):
    y, (more, _, _) = net.other(lambda other: other[1:] == (h, w))
    return net.graph.op("Concat", x, y, axis=1), (c + more, h, w)


@step()
def transpose(net, x, c, h, w):
    return net.graph.op("Transpose", x, perm=[0, 1, 3, 2]), (c, w, h)


@step()
def reshape(net, x, c, h, w):
    return (net.graph.op("Reshape", x, net.graph.ints(1, 2 * c, h // 2, w)), (2 * c, h // 2, w)) if h % 2 == 0 else None


@step()
def part(net, x, c, h, w):
    return (net.graph.op("Slice", x, net.graph.ints(0), net.graph.ints(c // 2), net.graph.ints(1)), (c // 2, h, w)) if c > 3 else None


@step()
def enlarge(net, x, c, h, w):
    scales = net.graph.constant(np.float32([1, 1, 2, 2]))
    y = net.graph.op("Resize", x, "", scales, mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    return y, (c, 2 * h, 2 * w)


@step()
def shrink(net, x, c, h, w):
    scales = net.graph.constant(np.float32([1, 1, 0.5, 0.5]))
    return (net.graph.op("Resize", x, "", scales, mode="nearest"), (c, h // 2, w // 2)) if min(h, w) > 3 else None


@step()
def pool(net, x, *sizes):
    return net.graph.op("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4), sizes


@step()
def average(net, x, c, h, w):
    """Of windows of a power of two."""
    if min(h, w) < 4:
        return None
    stride = net.pick(1, 2)
    y = net.graph.op("AveragePool", net.quantised(x), kernel_shape=[2, 4], strides=[stride] * 2)
    return y, (c, (h - 2) // stride + 1, (w - 4) // stride + 1)


@step()
def gate(net, x, *sizes):
    """Channels times what their largest numbers say."""
    x = net.quantised(x)
    return net.quantised(net.graph.op("Mul", x, net.quantised(net.graph.op("GlobalMaxPool", x)))), sizes


@step()
def separate(net, x, c, h, w):
    """The halves, quantised again, which both go on."""
    if c % 2:
        return None
    parts = net.graph.op("Split", net.quantised(x), outputs=2, axis=1, num_outputs=2)
    net.values.append((net.quantised(parts[0]), (c // 2, h, w)))
    return net.quantised(parts[1]), (c // 2, h, w)


def random_quantised(seed):
    net = Net(seed)
    inputs = len(net.values)
    for _ in range(int(net.random.integers(6, 17))):
        net.grow()
    made = [x for x, _ in net.values[inputs:][-3:]] or [net.graph.op("Relu", net.values[0][0])]
    net.graph.output(*made)
    return net.graph


def why_wrong(bench, seed):
    graph = random_quantised(seed)
    model, feeds = graph.model(), graph.feeds({})
    done = bench.convert(model, "--golden", "1")
    if done.returncode:
        return f"convert: exit {done.returncode}\n{done.stderr}"
    got = bench.run(feeds)
    if isinstance(got, str):
        return got
    for name, array in expected_outputs(model, feeds).items():
        if not np.array_equal(got[name], array):
            return f"{name} is not what ONNX Runtime gives"
    return bench.verify() or bench.compare_bits(feeds)


def main(first="0", end="40"):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for seed in range(int(first), int(end)):
            why = why_wrong(bench, seed)
            tap.ok(f"random quantised network {seed}", not why, why)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
