#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A BatchNorm or a scale and shift that no layer before it can take goes into the layers behind it: behind activations,
pools and additions, over a flattened image, into several readers. Each compared with ONNX Runtime; where it cannot, and
why."""
import sys

import numpy as np

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case

PADS = [1, 1, 1, 1]


def act(g, channels=5, *more, **attributes):
    """What no scale can be folded into: a layer with its activation."""
    return g.op("Tanh", g.conv(g.input(2, 3, 6, 6), 3, channels, *more, bias=True, **attributes))


# ---- what goes ahead ----

@case(("affine", "bn", APPLIED), steps=dict(conv=2, pointwise=0))
def batch_norm_behind_an_activation(g):
    g.output(g.conv(g.batch_norm(act(g), 5, name="bn"), 5, 4, bias=True))


@case(("affine", "bn", APPLIED), ("affine", "bn2", APPLIED), steps=dict(conv=2, pointwise=0))
def batch_norms_on_both_sides(g):
    y = g.conv(g.batch_norm(act(g), 5, name="bn"), 5, 4, (1, 1))
    g.output(g.op("Relu", g.batch_norm(y, 4, name="bn2")))


@case(("affine", "mul", APPLIED), ("affine", "bn", APPLIED), ("affine", "neg", APPLIED), ("affine", "div", APPLIED),
      steps=dict(conv=2, pointwise=0))
def row_of_scales_and_a_shift(g):
    y = g.batch_norm(g.op("Mul", act(g), g.weight(5, 1, 1), name="mul"), 5, name="bn")
    y = g.op("Mul", y, g.scalar(-0.25), name="neg")
    g.output(g.conv(g.op("Div", y, g.positive(1, 5, 1, 1), name="div"), 5, 4, bias=True))


@case(("affine", "mul", APPLIED), steps=dict(conv=2, pointwise=0))
def scale_before_padding(g):
    g.output(g.conv(g.op("Mul", act(g), g.weight(5, 1, 1), name="mul"), 5, 4, pads=PADS))


@case(("affine", "bn", APPLIED), steps=dict(depthwise=1, pointwise=0))
def before_a_depthwise_layer(g):
    g.output(g.conv(g.batch_norm(act(g, 6), 6, name="bn"), 6, 6, groups=6))


@case(("affine", "bn", APPLIED), steps=dict(conv=2, pointwise=0))
def before_groups(g):
    g.output(g.conv(g.batch_norm(act(g, 6), 6, name="bn"), 6, 9, groups=3))


@case(("affine", "mul", APPLIED), steps=dict(conv_transpose=1, pointwise=0))
def scale_before_a_transposed_layer(g):
    x = g.op("Mul", act(g, 6), g.weight(6, 1, 1), name="mul")
    g.output(g.op("ConvTranspose", x, g.weight(6, 2, 3, 3), g.weight(4), group=2, strides=[2, 2]))


@case(("affine", "bn", APPLIED), steps=dict(conv=2, pointwise=0))
def signals(g):
    y = g.op("Relu", g.conv(g.input(2, 3, 9), 3, 5, (3,)))
    g.output(g.conv(g.batch_norm(y, 5, name="bn"), 5, 4, (3,), bias=True))


@case(("affine", "bn", APPLIED), steps=dict(conv=2, pointwise=0), opset=18)
def mirrored_borders(g):
    """As x-vectors have them: what repeats values changes all of a channel alike."""
    y = g.batch_norm(g.op("Relu", g.conv(g.input(2, 3, 12), 3, 5, (3,))), 5, name="bn")
    g.output(g.conv(g.op("Pad", y, g.ints(0, 0, 2, 0, 0, 1), mode="reflect"), 5, 4, (3,), bias=True))


@case(("affine", "bn", APPLIED), steps=dict(conv=1, linear=1, pointwise=0), opset=18)
def repeated_edges_flattened(g):
    y = g.op("Pad", g.batch_norm(act(g), 5, name="bn"), g.ints(0, 0, 1, 0, 0, 0, 0, 2), mode="edge")
    g.output(g.op("Gemm", g.op("Flatten", y), g.weight(7, 5 * 5 * 6), g.weight(7), transB=1))


@case(("affine", "bn", APPLIED), steps=dict(linear=1, pointwise=0))
def flattened_image(g):
    y = g.op("Flatten", g.batch_norm(act(g), 5, name="bn"))
    g.output(g.op("Gemm", y, g.weight(7, 5 * 4 * 4), g.weight(7), transB=1))


@case(("affine", "bn", APPLIED), ("affine", "double", APPLIED), steps=dict(linear=1, pointwise=0))
def pooled_image(g):
    y = g.batch_norm(g.op("GlobalAveragePool", act(g)), 5, name="bn")
    y = g.op("Mul", g.op("Flatten", y), g.scalar(2), name="double")
    g.output(g.op("Gemm", y, g.weight(5, 7)))


@case(("affine", "mul", APPLIED), ("affine", "div", APPLIED), steps=dict(linear=1, pointwise=0))
def rows_of_a_linear_layer(g):
    y = g.op("Mul", g.op("Softmax", g.input(2, 4, 6)), g.weight(6), name="mul")
    g.output(g.op("MatMul", g.op("Div", y, g.positive(1, 1, 6), name="div"), g.weight(6, 5)))


@case(("affine", "bn", APPLIED), steps=dict(linear=1, pointwise=1))
def shifted_rows_of_a_linear_layer(g):
    y = g.op("Relu", g.input(4, 6))
    g.output(g.op("Gemm", g.batch_norm(y, 6, name="bn"), g.weight(6, 5)))


@case(("affine", "bn", APPLIED), steps=dict(conv=4, pointwise=0))
def several_readers(g):
    """Each with a bias or scale of its own, and another weight."""
    y = g.batch_norm(act(g), 5, name="bn")
    g.output(g.op("Tanh", g.conv(y, 5, 4)), g.op("Relu", g.batch_norm(g.conv(y, 5, 3, (1, 1), bias=True), 3)),
             g.op("Sigmoid", g.conv(y, 5, 6, (2, 3))))


@case(("affine", "mul", APPLIED), steps=dict(linear=1))
def readers_that_become_one(g):
    y = g.op("Mul", g.op("Tanh", g.input(4, 6)), g.weight(6), name="mul")
    g.output(*[g.op("Neg", g.op("Gemm", y, g.weight(n, 6), g.weight(n), transB=1)) for n in (20, 33, 7)])


@case(("affine", "bn", APPLIED), steps=dict(conv=2, pointwise=0))
def reader_with_a_residual(g):
    x = act(g, pads=PADS)
    g.output(g.op("Add", g.conv(g.batch_norm(x, 5, name="bn"), 5, 5, (1, 1)), x))


@case(("affine", "bn", APPLIED), steps=dict(conv=1, pointwise=0))
def batch_norm_of_an_input(g):
    g.output(g.conv(g.batch_norm(g.input(1, 3, 6, 6), 3, name="bn"), 3, 5))


@case(("affine", "bn", APPLIED), steps=dict(conv=2, pointwise=0),
      sizes=[{"h": 5, "w": 9}, {"h": 12, "w": 4}], flags=["--dim", "h=4..16", "--dim", "w=4..16"])
def sizes_that_vary(g):
    y = g.op("Relu", g.conv(g.input(1, 3, "h", "w"), 3, 5, pads=PADS))
    g.output(g.conv(g.batch_norm(y, 5, name="bn"), 5, 4))


# ---- what stays ----

@case(("affine", "bn", "act_between"), steps=dict(pointwise=1))
def shift_before_padding(g):
    """The padding is zeros of what the convolution reads, not of what the BatchNorm reads."""
    g.output(g.conv(g.batch_norm(act(g), 5, name="bn"), 5, 4, pads=[0, 0, 0, 1]))


def far_batch_norm(g, x, mean, variance):
    parameters = [g.constant(np.full(5, value, np.float32)) for value in (1, 0.5, mean, variance)]
    return g.op("BatchNormalization", x, *parameters, name="bn")


@case(("affine", "bn", APPLIED), steps=dict(pointwise=0))
def mean_of_some_deviations(g):
    g.output(g.conv(far_batch_norm(g, act(g), -12, 0.6), 5, 4))


@case(("affine", "bn", "act_between"), steps=dict(pointwise=1))
def mean_of_many_deviations(g):
    """Products of what the mean is not yet taken from would lose the digits of what is left."""
    g.output(g.conv(far_batch_norm(g, act(g), 17, 1), 5, 4))


@case(("affine", "bn", "act_between"), steps=dict(pointwise=2))
def one_reader_of_several_is_no_layer(g):
    y = g.batch_norm(act(g), 5, name="bn")
    g.output(g.conv(y, 5, 4), g.op("Exp", y))


@case(("affine", "bn", "act_between"))
def value_that_is_an_output(g):
    y = g.batch_norm(act(g), 5, name="bn")
    g.output(g.conv(y, 5, 4), y)


@case(("affine", "bn", "act_between"), ("affine", "bn2", "act_between"))
def layers_with_one_weight(g):
    w = g.weight(4, 5, 3, 3)
    g.output(g.conv(g.batch_norm(act(g), 5, name="bn"), 5, 4, weight=w),
             g.conv(g.batch_norm(act(g), 5, name="bn2"), 5, 4, weight=w))


@case(("affine", "bn", "act_between"))
def also_the_residual(g):
    y = g.batch_norm(act(g), 5, name="bn")
    g.output(g.op("Add", g.conv(y, 5, 5, (1, 1)), y))


@case(("affine", "bn", "no_linear_producer"))
def reshape_that_moves_rows(g):
    y = g.batch_norm(g.op("MaxPool", g.input(2, 4, 6, 6), kernel_shape=[1, 1]), 4, name="bn")
    g.output(g.conv(g.op("Reshape", y, g.ints(4, 2, 6, 6)), 2, 5))


@case(("affine", "bn", "act_between"), opset=18)
def border_of_zeros(g):
    y = g.op("Pad", g.batch_norm(act(g), 5, name="bn"), g.ints(0, 0, 1, 0, 0, 0, 0, 2), g.scalar(0.25))
    g.output(g.conv(y, 5, 4))


@case(("affine", "bn", "act_between"), opset=18)
def mirrored_channels(g):
    y = g.op("Pad", g.batch_norm(act(g), 5, name="bn"), g.ints(0, 1, 0, 0, 0, 1, 0, 0), mode="reflect")
    g.output(g.conv(y, 7, 4))


@case(("affine", "bn", "no_linear_producer"))
def rows_of_pixels(g):
    """The layer's inputs are the width, the scale runs along the channels."""
    y = g.batch_norm(g.op("MaxPool", g.input(2, 4, 6, 6), kernel_shape=[1, 1]), 4, name="bn")
    g.output(g.op("MatMul", y, g.weight(6, 5)))


def check_no_noise(tap, bench):
    """An ordinary scale of an image that no layer can take is no site, nor is a shift: who knows of what."""
    g = Graph()
    y = act(g)
    g.output(g.conv(g.op("Mul", y, g.weight(4)), 5, 4), g.conv(g.op("Mul", y, g.input(2, 5, 1, 1)), 5, 4),
             g.conv(g.op("Sub", g.op("Add", g.input(2, 5, 4, 4), g.scalar(1e4)), g.scalar(1e4)), 5, 4))
    why = bench.right(g, "--golden", "1")
    rows = [row for row in bench.ledger() if row["pass"] == "affine"]
    tap.ok("scales along another axis and of another value, and shifts, are right, and not in the ledger", not why and not rows,
           why, *rows)


def check_bf16(tap, bench):
    """There a shift before the rounding is worth its digits; a scale changes none."""
    for flags in (["--dtype", "bf16"], ["--weights", "bf16"]):
        g = Graph()
        scaled = g.op("Mul", act(g), g.weight(5, 1, 1), name="mul")
        g.output(g.conv(g.batch_norm(act(g), 5, name="bn"), 5, 4), g.conv(scaled, 5, 4))
        done = bench.convert(g.model(), *flags)
        rows = {row["site"].split("+")[0]: row["reason"] for row in bench.ledger() if row["pass"] == "affine"}
        tap.ok(f"{' '.join(flags)}: a scale goes ahead, a shift stays",
               done.returncode == 0 and rows == {"bn": "act_between", "mul": APPLIED}, done.stderr, rows)


if __name__ == "__main__":
    sys.exit(run(CASES, check_no_noise, check_bf16))
