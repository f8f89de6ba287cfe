#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention as exporters spell it: recognised, or refused with the reason, and right either way."""
import sys

import numpy as np
import onnx

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case
BOOL = onnx.TensorProto.BOOL
LOWEST = float(np.finfo(np.float32).min)
ONE = dict(attention=1, softmax=0)
NONE = dict(attention=0, softmax=1)
ANY = dict(sizes=[dict(b=1, s=1), dict(b=2, s=7), dict(b=3, s=33)], flags=("--dim", "b=1..4", "--dim", "s=1..64"))


def applied(**more):
    return case(("attention", "p", APPLIED), **dict(steps=ONE) | more)


def refused(reason, **more):
    return case(("attention", "p", reason), **dict(steps=NONE) | more)


def qkv(g, b=2, h=3, m=7, n=9, d=8, e=5):
    """Queries [b][h][m][d], keys [b][h][d][n] (turned), values [b][h][n][e]."""
    return g.input(b, h, m, d), g.op("Transpose", g.input(b, h, n, d), perm=[0, 1, 3, 2]), g.input(b, h, n, e)


def attend(g, scores, v, **softmax):
    g.output(g.op("MatMul", g.op("Softmax", scores, **dict(axis=-1) | softmax, name="p"), v))


def boolean(g, array):
    return g.constant(np.asarray(array, bool))


def lower_triangle(m, n):
    return np.tril(np.ones((m, n)), n - m).astype(bool)


# ---- scales ----

def scaled(where, op, number):
    def fill(g):
        q, k, v = qkv(g)
        if where == "queries":
            q = g.op(op, q, g.scalar(number))
        if where == "keys":
            k = g.op(op, k, g.scalar(number))
        if where == "both":
            q, k = g.op(op, q, g.scalar(number)), g.op(op, k, g.scalar(number))
        scores = g.op("MatMul", q, k)
        attend(g, g.op(op, scores, g.scalar(number)) if where == "scores" else scores, v)
    fill.__name__ = f"{op}_of_{where}"
    return fill


for _where in "queries", "keys", "both", "scores":
    for _op, _number in ("Mul", 0.35), ("Div", 2.8):
        applied()(scaled(_where, _op, _number))


@applied()
def scale_on_the_left_and_twice(g):
    q, k, v = qkv(g)
    attend(g, g.op("Mul", g.scalar(0.7), g.op("Mul", g.op("MatMul", q, k), g.scalar(0.5))), v)


@applied()
def keys_scaled_before_they_are_turned(g):
    q, k, v = g.input(2, 3, 7, 8), g.input(2, 3, 9, 8), g.input(2, 3, 9, 5)
    k = g.op("Transpose", g.op("Mul", k, g.scalar(0.6)), perm=[0, 1, 3, 2])
    attend(g, g.op("MatMul", g.op("Mul", q, g.scalar(0.6)), k), v)


@applied(opset=17, **ANY)
def scale_computed_from_a_shape(g):
    """As TorchScript exports it: 1 / sqrt(last dim), then its root on both sides."""
    q, k, v = g.input("b", 3, "s", 8), g.input("b", 3, "s", 8), g.input("b", 3, "s", 5)
    d = g.op("Cast", g.op("Slice", g.op("Shape", q), g.ints(-1), g.ints(2 ** 62)), to=1)
    root = g.op("Sqrt", g.op("Div", g.constant(np.ones(1, np.float32)), g.op("Sqrt", d)))
    k = g.op("Transpose", k, perm=[0, 1, 3, 2])
    attend(g, g.op("MatMul", g.op("Mul", q, root), g.op("Mul", k, root)), v)


@applied()
def scale_behind_the_mask(g):
    q, k, v = qkv(g)
    attend(g, g.op("Mul", g.op("Add", g.op("MatMul", q, k), g.input(7, 9)), g.scalar(0.5)), v)


@applied()
def scales_before_and_behind_every_mask(g):
    q, k, v = qkv(g)
    scores = g.op("Add", g.op("Mul", g.op("MatMul", q, k), g.scalar(0.7)), g.input(7, 9))
    scores = g.op("Add", g.op("Div", scores, g.scalar(1.5)), g.weight(3, 1, 9))
    attend(g, g.op("Mul", scores, g.scalar(2)), v)


@applied()
def scale_behind_a_boolean_mask(g):
    q, k, v = qkv(g)
    scores = g.op("Where", g.input(2, 1, 7, 9, dtype=BOOL), g.op("MatMul", q, k), g.scalar(LOWEST))
    attend(g, g.op("Mul", scores, g.scalar(0.25)), v)


@applied(steps=dict(attention=1, where=0, pointwise=0))
def scale_behind_a_causal_mask(g):
    q, k, v = qkv(g, n=7)
    mask = np.where(lower_triangle(7, 7), 0, -np.inf).astype(np.float32)
    attend(g, g.op("Div", g.op("Add", g.op("MatMul", q, k), g.constant(mask)), g.scalar(2.8)), v)


@refused("scores_changed")
def negative_scale_behind_the_mask(g):
    q, k, v = qkv(g)
    attend(g, g.op("Mul", g.op("Add", g.op("MatMul", q, k), g.input(7, 9)), g.scalar(-0.5)), v)


@applied()
def scale_per_head(g):
    """Cosine attention: the scale goes to the queries."""
    q, k, v = qkv(g)
    attend(g, g.op("Mul", g.op("MatMul", q, k), g.weight(3, 1, 1)), v)


@applied()
def scale_per_head_and_image_of_a_run_before_masks(g):
    q, k, v = qkv(g)
    scores = g.op("Mul", g.input(2, 3, 1, 1), g.op("Mul", g.op("MatMul", q, k), g.scalar(-0.3)))
    attend(g, g.op("Add", g.op("Add", g.op("Mul", scores, g.scalar(2)), g.weight(1, 3, 7, 9)), g.input(7, 9)), v)


@applied()
def one_scale_of_a_run(g):
    q, k, v = qkv(g)
    attend(g, g.op("Mul", g.op("MatMul", q, k), g.input(1)), v)


@applied()
def one_scale_of_a_run_without_heads(g):
    q, k, v = g.input(7, 8), g.op("Transpose", g.input(9, 8), perm=[1, 0]), g.input(9, 5)
    attend(g, g.op("Mul", g.op("MatMul", q, k), g.input(1, 1)), v)


@applied()
def scale_per_head_over_the_rows(g):
    """All of it turned: the queries are the right operand."""
    k, q, v = g.input(2, 3, 9, 8), g.op("Transpose", g.input(2, 3, 7, 8), perm=[0, 1, 3, 2]), g.input(2, 3, 5, 9)
    scores = g.op("Mul", g.op("MatMul", k, q), g.weight(3, 1, 1))
    g.output(g.op("MatMul", v, g.op("Softmax", scores, axis=-2, name="p")))


@refused("scores_changed")
def scale_per_head_behind_a_mask(g):
    q, k, v = qkv(g)
    attend(g, g.op("Mul", g.op("Add", g.op("MatMul", q, k), g.input(7, 9)), g.weight(3, 1, 1)), v)


@refused("scores_changed")
def scale_per_query(g):
    q, k, v = qkv(g)
    attend(g, g.op("Mul", g.op("MatMul", q, k), g.weight(3, 7, 1)), v)


@refused("scores_changed")
def scale_per_key(g):
    q, k, v = qkv(g)
    attend(g, g.op("Mul", g.op("MatMul", q, k), g.weight(3, 1, 9)), v)


@refused("shape_mismatch")
def scale_per_head_of_queries_for_all(g):
    """The queries have no axis of heads that the scale could go to."""
    q, k, v = g.input(1, 7, 8), g.op("Transpose", g.input(3, 9, 8), perm=[0, 2, 1]), g.input(3, 9, 5)
    attend(g, g.op("Mul", g.op("MatMul", q, k), g.weight(3, 1, 1)), v)


def windows(masks, batch=1, mask_batch=1, known=True):
    """Scores of 4 windows an image, which get an axis of images while masks are added (Swin), once or twice."""
    def fill(g):
        q, k, v = qkv(g, b=4 * batch)
        scores = g.op("Add", g.op("MatMul", q, k), g.weight(1, 3, 7, 9))
        scores = g.op("Reshape", scores, g.ints(batch, 4, 3, 7, 9))
        mask = g.weight(mask_batch, 4, 1, 7, 9) if known else g.input(mask_batch, 4, 1, 7, 9)
        for _ in range(masks):
            scores = g.op("Add", scores, mask)
        attend(g, g.op("Reshape", scores, g.ints(-1, 3, 7, 9)), v)
    fill.__name__ = f"{masks}_masks_of_windows_of_{batch}_images_{'known' if known else 'of_a_run'}"
    return fill


for _known in True, False:
    for _masks in 1, 2:
        applied()(windows(_masks, known=_known))
refused("not_attention")(windows(1, batch=2))


# ---- masks ----

@applied()
def mask_of_every_rank(g):
    q, k, v = qkv(g)
    attend(g, g.op("Add", g.op("MatMul", q, k), g.input(9)), v)


@applied(**ANY)
def mask_per_key(g):
    q, k, v = (g.input("b", 3, "s", 8) for _ in range(3))
    k = g.op("Transpose", k, perm=[0, 1, 3, 2])
    attend(g, g.op("Add", g.op("Div", g.op("MatMul", q, k), g.scalar(2.8)), g.input("b", 1, 1, "s")), v)


@applied()
def two_masks_that_are_added(g):
    """A bias per head and position, and a mask per key."""
    q, k, v = qkv(g)
    attend(g, g.op("Add", g.input(2, 1, 1, 9), g.op("Add", g.op("MatMul", q, k), g.weight(1, 3, 7, 9))), v)


@applied()
def one_mask_added_twice(g):
    q, k, v = qkv(g)
    mask = g.input(2, 1, 7, 9)
    attend(g, g.op("Add", g.op("Add", g.op("MatMul", q, k), mask), mask), v)


@applied(**ANY)
def boolean_mask_that_keeps(g):
    q, k, v = (g.input("b", 3, "s", 8) for _ in range(3))
    k = g.op("Transpose", k, perm=[0, 1, 3, 2])
    attend(g, g.op("Where", g.input("b", 1, "s", "s", dtype=BOOL), g.op("MatMul", q, k), g.scalar(LOWEST)), v)


@applied()
def boolean_mask_that_drops(g):
    q, k, v = qkv(g)
    mask = g.op("Not", g.input(2, 1, 1, 9, dtype=BOOL))
    attend(g, g.op("Where", mask, g.scalar(LOWEST), g.op("MatMul", q, k)), v)


@applied()
def boolean_mask_made_a_number_first(g):
    q, k, v = qkv(g)
    mask = g.op("Where", g.input(2, 1, 7, 9, dtype=BOOL), g.scalar(0), g.scalar(LOWEST))
    attend(g, g.op("Add", g.op("MatMul", q, k), mask), v)


@case(("attention", "p", APPLIED), ("attention", "p2", APPLIED), steps=dict(attention=2, where=1))
def boolean_mask_of_two_layers_is_turned_into_numbers_once(g):
    q, k, v = qkv(g, n=7, e=8)
    mask = g.input(2, 1, 7, 7, dtype=BOOL)
    y = g.op("MatMul", g.op("Softmax", g.op("Where", mask, g.op("MatMul", q, k), g.scalar(LOWEST)), name="p"), v)
    scores = g.op("Where", mask, g.op("MatMul", y, k), g.scalar(LOWEST))
    g.output(g.op("MatMul", g.op("Softmax", scores, name="p2"), v))


@refused("scores_changed")
def boolean_mask_with_a_small_number(g):
    """-10000 is not what score - 10000 is, where all keys are masked."""
    q, k, v = qkv(g)
    attend(g, g.op("Where", g.input(2, 1, 7, 9, dtype=BOOL), g.op("MatMul", q, k), g.scalar(-1e4)), v)


@refused("finite_mask")
def boolean_mask_with_a_finite_number_and_another(g):
    q, k, v = qkv(g)
    scores = g.op("Add", g.op("MatMul", q, k), g.input(7, 9))
    attend(g, g.op("Where", g.input(2, 1, 7, 9, dtype=BOOL), scores, g.scalar(LOWEST)), v)


@applied(steps=dict(attention=1, where=0, pointwise=0))
def causal_by_a_constant_choice(g):
    q, k, v = qkv(g, n=7)
    attend(g, g.op("Where", boolean(g, lower_triangle(7, 7)), g.op("MatMul", q, k), g.scalar(LOWEST)), v)


@applied()
def causal_by_a_constant_sum_with_older_keys(g):
    q, k, v = qkv(g)
    mask = np.where(lower_triangle(7, 9), 0, -np.inf).astype(np.float32)
    attend(g, g.op("Add", g.op("MatMul", q, k), g.constant(mask.reshape(1, 1, 7, 9))), v)


@applied()
def causal_and_a_mask_per_key(g):
    q, k, v = qkv(g, n=7)
    scores = g.op("Where", boolean(g, lower_triangle(7, 7)), g.op("MatMul", q, k), g.scalar(-np.inf))
    attend(g, g.op("Add", scores, g.input(2, 1, 1, 7)), v)


@applied()
def constant_mask_that_is_nearly_causal(g):
    q, k, v = qkv(g, n=7)
    mask = lower_triangle(7, 7)
    mask[3, 1] = False
    attend(g, g.op("Where", boolean(g, mask), g.op("MatMul", q, k), g.scalar(LOWEST)), v)


@applied(**dict(sizes=[dict(s=1), dict(s=7), dict(s=33)], flags=("--dim", "s=1..64")))
def causal_cut_from_a_larger_triangle(g):
    """As GPT-2 does, with the size of the run."""
    q, k, v = (g.input(2, 3, "s", 8) for _ in range(3))
    size = g.op("Slice", g.op("Shape", q), g.ints(2), g.ints(3))
    mask = g.op("Slice", boolean(g, lower_triangle(64, 64)), g.ints(0), size, g.ints(0))
    mask = g.op("Slice", mask, g.ints(0), size, g.ints(1))
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    attend(g, g.op("Where", mask, scores, g.scalar(LOWEST)), v)


def safe(g, scores, v):
    p = g.op("Softmax", scores, axis=-1, name="p")
    g.output(g.op("MatMul", g.op("Where", g.op("IsNaN", p), g.scalar(0), p), v))


@applied()
def safe_softmax_with_rows_that_are_masked_throughout(g):
    q, k, v = qkv(g)
    mask = np.ones((2, 1, 7, 9), bool)
    mask[0, 0, 3] = mask[1, 0, 6] = False
    mask[:, :, 1, 2:5] = False
    additive = g.op("Where", boolean(g, mask), g.scalar(0), g.scalar(-np.inf))
    safe(g, g.op("Add", g.op("MatMul", q, k), additive), v)


@applied()
def safe_softmax_with_a_mask_of_the_run(g):
    q, k, v = qkv(g)
    additive = g.op("Where", g.op("Greater", g.input(2, 1, 7, 9), g.scalar(1)), g.scalar(0), g.scalar(-np.inf))
    safe(g, g.op("Add", g.op("MatMul", q, k), additive), v)


@applied(steps=dict(attention=1, where=0))
def safe_softmax_without_a_mask(g):
    q, k, v = qkv(g)
    safe(g, g.op("MatMul", q, k), v)


# ---- axes ----

@applied(opset=11)
def softmax_of_old_opsets(g):
    q, k, v = qkv(g)
    attend(g, g.op("MatMul", q, k), v, axis=3)


@applied()
def transposes_around_the_softmax(g):
    q, k, v = qkv(g)
    scores = g.op("Transpose", g.op("MatMul", q, k), perm=[0, 3, 2, 1])
    p = g.op("Softmax", scores, axis=1, name="p")
    g.output(g.op("MatMul", g.op("Transpose", p, perm=[0, 3, 2, 1]), v))


@applied()
def values_from_the_left(g):
    """Channels first, as in image models: v p^T."""
    q, k, v = g.input(2, 16, 6), g.input(2, 6, 20), g.input(2, 5, 20)
    p = g.op("Softmax", g.op("Mul", g.op("MatMul", q, k), g.scalar(0.4)), axis=-1, name="p")
    g.output(g.op("MatMul", v, g.op("Transpose", p, perm=[0, 2, 1])))


@applied()
def image_attention(g):
    """Queries, keys and values are cut from channels of one convolution, heads first, pixels last."""
    x = g.conv(g.input(1, 8, 5, 6), 8, 48, (1, 1))
    q, k, v = g.op("Split", g.op("Reshape", x, g.ints(1, 2, 24, 30)), g.ints(6, 6, 12), outputs=3, axis=2)
    p = g.op("Softmax", g.op("MatMul", g.op("Transpose", q, perm=[0, 1, 3, 2]), k), axis=-1, name="p")
    y = g.op("MatMul", v, g.op("Transpose", p, perm=[0, 1, 3, 2]))
    g.output(g.conv(g.op("Reshape", y, g.ints(1, 24, 5, 6)), 24, 3, (1, 1)))


@applied()
def scores_of_keys_by_queries(g):
    k, q, v = g.input(3, 9, 6), g.input(3, 6, 7), g.input(3, 9, 5)
    p = g.op("Softmax", g.op("MatMul", k, q), axis=1, name="p")
    g.output(g.op("MatMul", g.op("Transpose", p, perm=[0, 2, 1]), v))


@applied()
def scores_of_keys_by_queries_and_values_from_the_left(g):
    k, q, v = g.input(3, 9, 6), g.input(3, 6, 7), g.input(3, 5, 9)
    g.output(g.op("MatMul", v, g.op("Softmax", g.op("MatMul", k, q), axis=1, name="p")))


@refused("axis_mismatch")
def softmax_over_queries(g):
    q, k, v = qkv(g)
    attend(g, g.op("MatMul", q, k), v, axis=2)


@refused("axis_mismatch")
def softmax_over_heads(g):
    q, k, v = qkv(g)
    attend(g, g.op("MatMul", q, k), v, axis=1)


@refused("axis_mismatch")
def mask_over_scores_of_keys_by_queries(g):
    k, q, v = g.input(3, 9, 6), g.input(3, 6, 7), g.input(3, 5, 9)
    scores = g.op("Add", g.op("MatMul", k, q), g.input(9, 1))
    g.output(g.op("MatMul", v, g.op("Softmax", scores, axis=1, name="p")))


# ---- groups of heads ----

def repeated(g, x, b, h, group, n, d, how):
    """[b][h][n][d] -> [b][h * group][n][d], each head `group` times."""
    x = g.op("Unsqueeze", x, g.ints(2))
    if how == "Tile":
        x = g.op("Tile", x, g.ints(1, 1, group, 1, 1))
    else:
        x = g.op("Expand", x, g.ints(b, h, group, n, d))
    return g.op("Reshape", x, g.ints(b, h * group, n, d))


def grouped(how, h, queries, keys, masks=None):
    def fill(g):
        q, k, v = g.input(2, 6, queries, 8), g.input(2, keys, h, 8), g.input(2, keys, h, 5)
        k, v = (g.op("Transpose", x, perm=[0, 2, 1, 3]) for x in (k, v))
        k, v = repeated(g, k, 2, h, 6 // h, keys, 8, how), repeated(g, v, 2, h, 6 // h, keys, 5, how)
        scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
        attend(g, g.op("Add", scores, g.input(2, masks, 1, keys)) if masks else scores, v)
    fill.__name__ = f"{how}_of_{h}_heads_{queries}_queries_{keys}_keys_{masks}_masks"
    return fill


for _how in "Expand", "Tile":
    for _heads in 1, 2, 3:
        for _queries, _keys in (7, 9), (1, 9), (1, 2000):
            applied(steps=dict(attention=1, expand=0))(grouped(_how, _heads, _queries, _keys))
for _masks in 1, 6:
    applied(steps=dict(attention=1, expand=0))(grouped("Expand", 2, 1, 300, _masks))


def turned_merged(g, k, b, h, n, d):
    """Keys turned as PyTorch's exporter does: with batch and heads as one axis."""
    k = g.op("Transpose", g.op("Reshape", k, g.ints(-1, n, d)), perm=[0, 2, 1])
    return g.op("Reshape", k, g.ints(b, h, d, n))


@applied(steps=dict(attention=1, transpose=0))
def keys_turned_with_merged_heads(g):
    """Heads behind the rows: attention reads them where they lie."""
    q, k, v = (g.op("Transpose", g.op("Reshape", g.op("MatMul", g.input(2, 9, 24), g.weight(24, 24)), g.ints(2, 9, 3, 8)),
                    perm=[0, 2, 1, 3]) for _ in range(3))
    q, k = g.op("Mul", q, g.scalar(0.6)), g.op("Mul", turned_merged(g, k, 2, 3, 9, 8), g.scalar(0.6))
    y = g.op("MatMul", g.op("Softmax", g.op("MatMul", q, k), axis=-1, name="p"), v)
    g.output(g.op("MatMul", g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(2, 9, 24)), g.weight(24, 24)))


def merged_heads(g, x, n, b, h, d):
    """[n][b][h d] as PyTorch's MultiheadAttention reads it: by way of [n][b h][d]."""
    apart = g.op("Transpose", g.op("Reshape", x, g.ints(n, b * h, d)), perm=[1, 0, 2])
    return g.op("Reshape", apart, g.ints(b, h, n, d))


def attend_first(g, q, k, v, *mask):
    """[m][b][h e] of [b][h][..] operands: what follows has positions first again."""
    scores = g.op("MatMul", g.op("Mul", q, g.scalar(0.6)), g.op("Mul", g.op("Transpose", k, perm=[0, 1, 3, 2]), g.scalar(0.6)))
    for m in mask:
        scores = g.op("Add", scores, m)
    y = g.op("MatMul", g.op("Softmax", scores, axis=-1, name="p"), v)
    return g.op("Transpose", y, perm=[2, 0, 1, 3])


@applied(steps=dict(attention=1, transpose=0, copy=0, linear=2))
def sequences_of_a_joint_projection(g):
    """nn.MultiheadAttention of a batch: parts of a joint projection, positions first."""
    x = g.op("MatMul", g.input(7, 2, 24), g.weight(24, 72))
    parts = g.op("Split", x, g.ints(24, 24, 24), axis=2, outputs=3)
    y = attend_first(g, *(merged_heads(g, part, 7, 2, 3, 8) for part in parts))
    g.output(g.op("MatMul", g.op("Reshape", y, g.ints(7, 2, 24)), g.weight(24, 24)))


@applied(steps=dict(attention=1, transpose=0, copy=0, linear=2))
def sequences_before_positions_and_back(g):
    """... with batch_first: its transposes, and those back, are no steps either."""
    x = g.op("MatMul", g.op("Transpose", g.input(2, 7, 24), perm=[1, 0, 2]), g.weight(24, 72))
    parts = g.op("Split", x, g.ints(24, 24, 24), axis=2, outputs=3)
    y = attend_first(g, *(merged_heads(g, part, 7, 2, 3, 8) for part in parts))
    y = g.op("MatMul", g.op("Reshape", y, g.ints(7, 2, 24)), g.weight(24, 24))
    g.output(g.op("Transpose", y, perm=[1, 0, 2]))


@applied(steps=dict(attention=1, transpose=0, copy=0, linear=4))
def positions_first_of_two_sequences(g):
    """Other keys than queries, other values than keys, and a mask for the keys of a sequence."""
    m, n, b, h = 5, 9, 3, 2
    q, k, v = (g.op("MatMul", g.input(rows, b, 24), g.weight(24, h * d)) for rows, d in ((m, 8), (n, 8), (n, 6)))
    q, k, v = merged_heads(g, q, m, b, h, 8), merged_heads(g, k, n, b, h, 8), merged_heads(g, v, n, b, h, 6)
    y = attend_first(g, q, k, v, g.input(b, 1, 1, n))
    g.output(g.op("MatMul", g.op("Reshape", y, g.ints(m, b, h * 6)), g.weight(h * 6, 24)))


@applied(steps=dict(attention=1, transpose=0, copy=0), **ANY)
def positions_first_of_any_size(g):
    x = g.input("s", "b", 24)
    shape = g.op("Shape", x)
    n, b = (g.op("Slice", shape, g.ints(i), g.ints(i + 1)) for i in (0, 1))
    merged = g.op("Concat", n, g.op("Mul", b, g.ints(3)), g.ints(8), axis=0)
    apart = g.op("Concat", b, g.ints(3), n, g.ints(8), axis=0)
    q, k, v = (g.op("Reshape", g.op("Transpose", g.op("Reshape", g.op("MatMul", x, g.weight(24, 24)), merged), perm=[1, 0, 2]), apart)
               for _ in range(3))
    y = attend_first(g, q, k, v)
    g.output(g.op("MatMul", g.op("Reshape", y, g.ints(0, 0, 24)), g.weight(24, 24)))


@applied(steps=dict(attention=1, expand=0))
def repeated_keys_turned_with_merged_heads(g):
    q, k, v = g.input(2, 6, 7, 8), g.input(2, 2, 9, 8), g.input(2, 2, 9, 5)
    wide = g.op("Expand", g.op("Unsqueeze", k, g.ints(2)), g.ints(2, 2, 3, 9, 8))
    attend(g, g.op("MatMul", q, turned_merged(g, wide, 2, 6, 9, 8)), repeated(g, v, 2, 2, 3, 9, 5, "Expand"))


@applied(steps=dict(attention=1, expand=0), **ANY)
def groups_of_heads_of_any_size(g):
    q, k, v = g.input("b", 6, "s", 8), g.input("b", 2, "s", 8), g.input("b", 2, "s", 8)
    def repeat(x):
        shape = g.op("Shape", x)
        b, n = (g.op("Slice", shape, g.ints(i), g.ints(i + 1)) for i in (0, 2))
        wide = g.op("Expand", g.op("Unsqueeze", x, g.ints(2)), g.op("Concat", b, g.ints(2), g.ints(3), n, g.ints(8), axis=0))
        return g.op("Reshape", wide, g.op("Concat", b, g.ints(6), n, g.ints(8), axis=0))
    k, v = g.op("Transpose", repeat(k), perm=[0, 1, 3, 2]), repeat(v)
    attend(g, g.op("MatMul", q, k), v)


@applied()
def heads_repeated_in_another_order(g):
    """Head 0 1 2 0 1 2: not groups of neighbours, so the repetition stays."""
    q, k, v = g.input(2, 6, 7, 8), g.input(2, 3, 9, 8), g.input(2, 3, 9, 5)
    k, v = (g.op("Concat", x, x, axis=1) for x in (k, v))
    attend(g, g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), v)


@applied()
def heads_tiled_in_another_order(g):
    q, k, v = g.input(2, 6, 7, 8), g.input(2, 3, 9, 8), g.input(2, 3, 9, 5)
    k, v = (g.op("Tile", x, g.ints(1, 2, 1, 1)) for x in (k, v))
    attend(g, g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), v)


@applied()
def only_keys_repeated(g):
    q, k, v = g.input(2, 6, 7, 8), g.input(2, 2, 9, 8), g.input(2, 6, 9, 5)
    k = repeated(g, k, 2, 2, 3, 9, 8, "Expand")
    attend(g, g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), v)


@applied()
def one_head_of_keys_broadcast(g):
    q, k, v = g.input(2, 6, 7, 8), g.input(2, 1, 8, 9), g.input(2, 1, 9, 5)
    attend(g, g.op("MatMul", q, k), v)


@applied()
def one_head_of_keys_broadcast_one_query(g):
    q, k, v = g.input(2, 6, 1, 8), g.input(2, 1, 8, 700), g.input(2, 1, 700, 5)
    attend(g, g.op("MatMul", q, k), v)


@applied(sizes=[dict(m=m) for m in (1, 2, 4, 5, 9, 16, 17, 20)], flags=("--dim", "m=1..20"))
def few_queries_many_keys(g):
    q, k, v = qkv(g, 2, 3, "m", 900, 40, 24)
    attend(g, g.op("MatMul", q, k), v)


@applied(**dict(sizes=[dict(p=1, s=1), dict(p=9, s=1), dict(p=30, s=5)], flags=("--dim", "p=1..32", "--dim", "s=1..8")))
def keys_of_earlier_runs(g):
    q, k, v = (g.input(2, 3, "s", 8) for _ in range(3))
    k, v = (g.op("Concat", g.input(2, 3, "p", 8), x, axis=2) for x in (k, v))
    g.output(k, v)
    attend(g, g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), v)


# ---- what is no attention, or not only ----

@applied()
def heads_in_the_batch(g):
    """As torch.nn.MultiheadAttention is exported: [S][B H][D], then bmm."""
    x = g.input(7, 2, 24)
    q, k, v = (g.op("Transpose", g.op("Reshape", g.op("MatMul", x, g.weight(24, 24)), g.ints(7, 8, 6)), perm=[1, 0, 2])
               for _ in range(3))
    scores = g.op("MatMul", g.op("Mul", q, g.scalar(6 ** -0.5)), g.op("Transpose", k, perm=[0, 2, 1]))
    y = g.op("MatMul", g.op("Softmax", scores, axis=-1, name="p"), v)
    g.output(g.op("MatMul", g.op("Reshape", g.op("Transpose", y, perm=[1, 0, 2]), g.ints(14, 24)), g.weight(24, 24)))


@applied()
def dropout_of_the_weights(g):
    q, k, v = qkv(g)
    g.output(g.op("MatMul", g.op("Dropout", g.op("Softmax", g.op("MatMul", q, k), axis=-1, name="p")), v))


@refused("two_consumers")
def weights_are_an_output(g):
    q, k, v = qkv(g)
    p = g.op("Softmax", g.op("MatMul", q, k), axis=-1, name="p")
    g.output(g.op("MatMul", p, v), p)


@refused("two_consumers")
def masked_scores_read_again(g):
    q, k, v = qkv(g)
    scores = g.op("Add", g.op("MatMul", q, k), g.input(7, 9))
    g.output(g.op("Exp", scores))
    attend(g, scores, v)


@refused("two_consumers")
def scores_masked_in_a_batch_are_an_output(g):
    q, k, v = qkv(g)
    scores = g.op("Add", g.op("Unsqueeze", g.op("MatMul", q, k), g.ints(0)), g.input(7, 9))
    scores = g.op("Identity", g.op("Squeeze", scores, g.ints(0)), out="scores")
    g.output(scores)
    attend(g, scores, v)


@refused("port")
def values_are_weights(g):
    q, k, _ = qkv(g)
    attend(g, g.op("MatMul", q, k), g.weight(2, 3, 9, 5))


@refused("scores_changed")
def scores_capped(g):
    q, k, v = qkv(g)
    attend(g, g.op("Mul", g.op("Tanh", g.op("Mul", g.op("MatMul", q, k), g.scalar(0.1))), g.scalar(10)), v)


@refused("scores_changed")
def scores_capped_before_a_mask(g):
    q, k, v = qkv(g)
    scores = g.op("Mul", g.op("Tanh", g.op("Mul", g.op("MatMul", q, k), g.scalar(0.1))), g.scalar(10))
    attend(g, g.op("Add", scores, g.input(2, 1, 1, 9)), v)


@refused("not_attention")
def softmax_of_no_product(g):
    q, _, v = qkv(g)
    attend(g, g.op("Exp", g.input(2, 3, 7, 9)), v)


@refused("not_attention")
def mask_that_multiplies_the_weights(g):
    q, k, v = qkv(g)
    p = g.op("Softmax", g.op("MatMul", q, k), axis=-1, name="p")
    g.output(g.op("MatMul", g.op("Mul", p, g.input(7, 9)), v))


if __name__ == "__main__":
    sys.exit(run(CASES))
