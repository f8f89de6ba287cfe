#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reshapes that are views of what lies in memory already, in other orders than that of the axes: heads cut from one
projection, as timm's transformers have them, shuffled channels, images read as rows. Each compared with ONNX Runtime; the
same bytes at every kernel level and thread count."""
import sys

import numpy as np

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case

PADS = [1, 1, 1, 1]
VIEW = ("layout", "heads", APPLIED)


def heads_of_one_projection(g, x, tokens, width, heads, batch=2):
    """Query, key and value of all heads: [B, T, 3, H, D], transposed, cut apart."""
    size = width // heads
    qkv = g.op("Add", g.op("MatMul", x, g.weight(width, 3 * width, scale=0.2)), g.weight(3 * width))
    qkv = g.op("Reshape", qkv, g.ints(batch, tokens, 3, heads, size), name="heads")
    parts = g.op("Split", g.op("Transpose", qkv, perm=[2, 0, 3, 1, 4]), outputs=3, axis=0, name="cut")
    q, k, v = (g.op("Squeeze", part, g.ints(0), name=f"squeeze{i}") for i, part in enumerate(parts))
    scores = g.op("MatMul", g.op("Mul", q, g.scalar(size ** -0.5)), g.op("Transpose", k, perm=[0, 1, 3, 2]))
    y = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    y = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(batch, tokens, width), name="joined")
    return g.op("MatMul", y, g.weight(width, width, scale=0.2))


def shuffled(g, x, channels, groups=2, height=6, width=7, name="shuffle"):
    """As ShuffleNet: channels of the groups by turns."""
    x = g.op("Reshape", x, g.ints(0, groups, channels // groups, height, width), name=name)
    return g.op("Reshape", g.op("Transpose", x, perm=[0, 2, 1, 3, 4]), g.ints(0, channels, height, width))


def in_patches(g, x, channels, rows=3, columns=4):
    """Patches of 2x2 pixels as MobileViT v2 has them: [B, C, 4, patches]."""
    x = g.op("Reshape", x, g.ints(0, channels, rows, 2, columns, 2))
    x = g.op("Transpose", x, perm=[0, 1, 3, 5, 2, 4])
    return g.op("Reshape", x, g.ints(0, channels, 4, rows * columns), name="patches")


def from_patches(g, x, channels, rows=3, columns=4):
    x = g.op("Reshape", x, g.ints(0, channels, 2, 2, rows, columns))
    x = g.op("Transpose", x, perm=[0, 1, 4, 2, 5, 3])
    return g.op("Reshape", x, g.ints(0, channels, 2 * rows, 2 * columns), name="image")


def conv(g, x, c, m, size=1, **attributes):
    return g.conv(x, c, m, (size, size), scale=0.2, pads=[size // 2] * 4, **attributes)


@case(VIEW, *(("layout", f"squeeze{i}", APPLIED) for i in range(3)), ("layout", "joined", APPLIED),
      steps=dict(attention=1, transpose=0, copy=0, linear=2))
def heads_of_a_batch(g):
    g.output(heads_of_one_projection(g, g.input(2, 9, 16), 9, 16, 4))


@case(VIEW, *(("layout", f"squeeze{i}", APPLIED) for i in range(3)), ("layout", "joined", APPLIED),
      steps=dict(attention=1, transpose=0, copy=0))
def heads_of_one(g):
    """A batch of one and a single head: dims of 1 may lie anywhere."""
    g.output(heads_of_one_projection(g, g.input(1, 9, 16), 9, 16, 4, batch=1),
             g.op("Relu", g.op("Reshape", g.op("Exp", g.input(1, 5, 1, 6)), g.ints(5, 6))))


@case(*(("layout", f"squeeze{i}", APPLIED) for i in range(3)), steps=dict(attention=1, transpose=0, copy=0),
      sizes=[{"n": 1, "t": 5}, {"n": 3, "t": 11}], flags=["--dim", "n=1..4", "--dim", "t=2..16"])
def heads_of_sizes_that_vary(g):
    x = g.input("n", "t", 16)
    sizes = g.op("Slice", g.op("Shape", x), g.ints(0), g.ints(2))
    qkv = g.op("Reshape", g.op("MatMul", x, g.weight(16, 48, scale=0.2)),
               g.op("Concat", sizes, g.ints(3, 4, 4), axis=0), name="heads")
    parts = g.op("Split", g.op("Transpose", qkv, perm=[2, 0, 3, 1, 4]), outputs=3, axis=0)
    q, k, v = (g.op("Squeeze", part, g.ints(0), name=f"squeeze{i}") for i, part in enumerate(parts))
    y = g.op("Softmax", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
    y = g.op("Transpose", g.op("MatMul", y, v), perm=[0, 2, 1, 3])
    g.output(g.op("MatMul", g.op("Reshape", y, g.op("Concat", sizes, g.ints(16), axis=0)), g.weight(16, 8)))


@case(VIEW, *(("slice", f"take{i}", APPLIED) for i in (0, 1, -1)), *(("layout", f"split{i}", APPLIED) for i in (0, 1, -1)),
      steps=dict(attention=1, gather=0, transpose=0, copy=0))
def heads_as_torch_has_them(g):
    """The parts are taken by number, and split into heads after that; tokens come before the batch."""
    x = g.op("MatMul", g.input(9, 1, 16), g.weight(16, 48, scale=0.2))
    x = g.op("Unsqueeze", g.op("Reshape", x, g.ints(9, 1, 3, 16), name="heads"), g.ints(0))
    x = g.op("Squeeze", g.op("Transpose", x, perm=[3, 1, 2, 0, 4]), g.ints(3))
    parts = [g.op("Gather", x, g.constant(np.array(i)), axis=0, name=f"take{i}") for i in (0, 1, -1)]
    parts = [g.op("Transpose", g.op("Reshape", part, g.ints(9, 4, 4), name=f"split{i}"), perm=[1, 0, 2])
             for part, i in zip(parts, (0, 1, -1))]
    q, k, v = (g.op("Reshape", part, g.ints(1, 4, 9, 4)) for part in parts)
    y = g.op("Softmax", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
    y = g.op("Reshape", g.op("Transpose", g.op("MatMul", y, v), perm=[2, 0, 1, 3]), g.ints(9, 16))
    g.output(g.op("MatMul", y, g.weight(16, 8)))


def flat_rows(g, x, w):
    """[5][3][k] by way of a layer of 15 rows, as PyTorch's attention ends, and back to [3][5][n]."""
    y = g.op("MatMul", g.op("Reshape", g.op("Transpose", x, perm=[1, 0, 2]), g.ints(15, -1)), w)
    return g.op("Transpose", g.op("Reshape", y, g.ints(5, 3, -1)), perm=[1, 0, 2])


@case(("epilogue", "sum", APPLIED), steps=dict(linear=2, pointwise=0, transpose=0, copy=0))
def flat_rows_before_a_sum(g):
    """The rows of what the layer reads are moved instead, which is free, and the sum is computed in it."""
    x = g.op("MatMul", g.input(3, 5, 8), g.weight(8, 16))
    g.output(g.op("Add", flat_rows(g, x, g.weight(16, 24)), g.input(3, 5, 24), name="sum"))


@case(steps=dict(linear=2, pointwise=1))
def flat_rows_that_are_wider_before_the_layer(g):
    x = g.op("MatMul", g.input(3, 5, 8), g.weight(8, 32))
    g.output(g.op("Add", g.input(3, 5, 24), flat_rows(g, x, g.weight(32, 24)), name="sum"))


@case(steps=dict(linear=2, pointwise=1))
def columns_moved_before_a_sum(g):
    x = g.op("MatMul", g.op("MatMul", g.input(4, 6, 8), g.weight(8, 8)), g.weight(8, 24))
    y = g.op("Transpose", g.op("Reshape", x, g.ints(4, 6, 4, 6)), perm=[0, 3, 2, 1])
    g.output(g.op("Add", y, g.input(4, 6, 4, 6), name="sum"))


@case(steps=dict(attention=1, transpose=0, copy=0, gather=0))
def one_token_asks(g):
    """The class token alone: it lies as its keys do."""
    x = g.op("Tanh", g.op("MatMul", g.input(2, 9, 16), g.weight(16, 16)))
    token = g.op("Gather", x, g.constant(np.array(0)), axis=1)
    q = g.op("Reshape", g.op("MatMul", token, g.weight(16, 16)), g.ints(2, 1, 4, 4))
    k, v = (g.op("Reshape", g.op("MatMul", x, g.weight(16, 16)), g.ints(2, 9, 4, 4)) for _ in range(2))
    q, k, v = (g.op("Transpose", part, perm=[0, 2, 1, 3]) for part in (q, k, v))
    y = g.op("Softmax", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
    y = g.op("Transpose", g.op("MatMul", y, v), perm=[0, 2, 1, 3])
    g.output(g.op("MatMul", g.op("Reshape", y, g.ints(2, 16)), g.weight(16, 8)))


@case(("slice", "take", APPLIED), steps=dict(gather=2), sizes=[{"n": 2}, {"n": 5}], flags=["--dim", "n=1..6"])
def positions_that_are_taken(g):
    """By a number that is known: a slice. Of an axis of any length, and by a computed one: a look-up."""
    x, y = g.op("Exp", g.input(3, 4, 5)), g.op("Exp", g.input("n", 4))
    index = g.op("Cast", g.op("Mul", g.op("ReduceMax", g.op("Sigmoid", g.input(2)), keepdims=0), g.scalar(3)), to=7)
    g.output(g.op("Neg", g.op("Gather", x, g.ints(-2), axis=1, name="take")),
             g.op("Neg", g.op("Gather", y, g.constant(np.array(-1)), axis=0)),
             g.op("Neg", g.op("Gather", x, index, axis=2)))


@case(("layout", "wide", APPLIED), steps=dict(copy=0, transpose=0))
def cut_of_several(g):
    """Two of four stay, and the ones beside them go."""
    x = g.op("Reshape", g.op("Tanh", g.op("MatMul", g.input(3, 6), g.weight(6, 20))), g.ints(3, 4, 1, 1, 5))
    x = g.op("Slice", x, g.ints(1), g.ints(3), g.ints(1))
    g.output(g.op("Exp", g.op("Reshape", x, g.ints(3, 2, 5), name="wide")))


@case(("layout", "last", "not_adjacent"), steps=dict(copy=1))
def cut_of_the_last_axis(g):
    """Every fifth element: nothing lies in it that could be as wide."""
    x = g.op("Reshape", g.op("Tanh", g.op("MatMul", g.input(3, 6), g.weight(6, 20))), g.ints(3, 4, 5))
    g.output(g.op("Exp", g.op("Reshape", g.op("Slice", x, g.ints(2), g.ints(3), g.ints(2)), g.ints(3, 4), name="last")))


@case(("layout", "joined", "not_adjacent"), steps=dict(copy=1))
def cut_that_is_joined(g):
    """Rows of a part that become one row."""
    x = g.op("Reshape", g.op("Tanh", g.op("MatMul", g.input(3, 6), g.weight(6, 20))), g.ints(3, 4, 5))
    g.output(g.op("Exp", g.op("Reshape", g.op("Slice", x, g.ints(1), g.ints(3), g.ints(1)), g.ints(3, 10), name="joined")))


@case(("layout", "squeezed", "not_adjacent"))
def cut_that_is_an_output(g):
    x = g.op("Reshape", g.op("Tanh", g.op("MatMul", g.input(3, 6), g.weight(6, 20))), g.ints(3, 4, 5))
    x = g.op("Reshape", g.op("Slice", x, g.ints(1), g.ints(2), g.ints(1)), g.ints(3, 5), name="squeezed", out="y")
    g.output(x, g.op("Exp", x))


@case(("layout", "shuffle", APPLIED), ("concat", "join[0]", APPLIED), ("slice", "half", APPLIED),
      steps=dict(transpose=4, copy=0))
def shuffled_channels(g):
    """The shuffle is one step, and all around it stays channels-last; the others are the input and the outputs."""
    x = conv(g, g.input(2, 3, 6, 7), 3, 8)
    y = g.op("Concat", x, conv(g, x, 8, 8), axis=1, name="join")
    y = shuffled(g, y, 16)
    half = g.op("Slice", y, g.ints(8), g.ints(16), g.ints(1), name="half")
    g.output(conv(g, half, 8, 5), conv(g, y, 16, 4))


@case(("layout", "shuffle", APPLIED), steps=dict(transpose=3))
def channels_shuffled_in_three(g):
    g.output(conv(g, shuffled(g, conv(g, g.input(2, 3, 6, 7), 3, 15), 15, 3), 15, 5))


@case(steps=dict(transpose=4, copy=0))
def pixels_that_change_places(g):
    """Channels are moved as they lie, both ways; the others are the input and the output."""
    x = in_patches(g, conv(g, g.input(2, 3, 6, 8), 3, 24), 24)
    g.output(conv(g, from_patches(g, conv(g, x, 24, 20), 20), 20, 5))


@case(("layout", "rows", "not_adjacent"), ("layout", "turn", APPLIED), steps=dict(copy=1, transpose=2))
def rows_of_a_padded_image(g):
    """The image has room for padding: its pixels are copied together, not turned to channels first and back."""
    x = conv(g, g.input(1, 3, 6, 7), 3, 8)
    rows = g.op("Transpose", g.op("Reshape", x, g.ints(1, 8, 42), name="rows"), perm=[0, 2, 1], name="turn")
    g.output(conv(g, x, 8, 4, 3), g.op("MatMul", rows, g.weight(8, 5)))


def check_bits(tap, bench):
    graph = Graph()
    graph.output(heads_of_one_projection(graph, graph.input(2, 19, 24), 19, 24, 3),
                 shuffled(graph, conv(graph, graph.input(2, 3, 6, 7), 3, 34), 34),
                 shuffled(graph, conv(graph, graph.input(2, 3, 6, 7), 3, 57), 57, 3, name="three"),
                 in_patches(graph, conv(graph, graph.input(2, 3, 6, 8), 3, 24), 24),
                 from_patches(graph, conv(graph, graph.input(2, 3, 4, 12), 3, 37), 37))
    why = bench.right(graph, "--golden", "1", bits=True)
    tap.ok("reshapes have the same bytes at every kernel level and thread count", not why, why)


if __name__ == "__main__":
    sys.exit(run(CASES, check_bits))
