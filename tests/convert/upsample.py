#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Convolutions of nearest upsampled images, alone or beside other channels, which read the small images: each compared
with ONNX Runtime and with the known answers of the graph as it was; and those that stay as they are."""
import sys

import numpy as np

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
case = CASES.case

FLOOR = dict(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
HALF = dict(coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_floor")
CEIL = dict(coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_ceil")
ALONE = dict(resize=0, upsampled_conv=1, conv=0, winograd=0)


def up(g, x, factor=2, across=None, mode="nearest", **attributes):
    scales = np.float32([1, 1, factor, across or factor])
    return g.op("Resize", x, "", g.constant(scales), mode=mode, **(attributes or FLOOR))


def mix(g, x, c, m, kernel=(3, 3), name="mix", **attributes):
    pads = attributes.pop("pads", [kernel[0] // 2, kernel[1] // 2] * 2)
    return g.conv(x, c, m, kernel, pads=pads, name=name, scale=0.2, **attributes)


def joined(g, *parts):
    return g.op("Concat", *parts, axis=1)


# ---- alone ----

@case(("upsample", "act", APPLIED), steps=ALONE)
def alone(g):
    g.output(g.op("Relu", mix(g, up(g, g.input(2, 12, 5, 7)), 12, 20), name="act"))


@case(("upsample", "mix", APPLIED), steps=ALONE)
def three_times(g):
    g.output(mix(g, up(g, g.input(1, 9, 4, 3), 3), 9, 37, bias=False))


@case(("upsample", "mix", APPLIED), steps=ALONE)
def five_times_by_centres(g):
    g.output(mix(g, up(g, g.input(1, 8, 2, 5), 5, **HALF), 8, 5))


@case(("upsample", "mix", APPLIED), steps=ALONE)
def four_times_by_centres_to_the_larger(g):
    g.output(mix(g, up(g, g.input(1, 8, 3, 2), 4, **CEIL), 8, 16))


@case(("upsample", "mix", APPLIED), steps=ALONE)
def one_pixel(g):
    g.output(mix(g, up(g, g.input(1, 16, 1, 1), 2), 16, 8))


@case(("upsample", "act", APPLIED), steps=ALONE | dict(pointwise=0))
def with_residual_and_activation(g):
    x = g.input(1, 10, 6, 5)
    y = g.op("Add", mix(g, up(g, x), 10, 11), g.input(1, 11, 12, 10), name="add")
    g.output(g.op("Tanh", y, name="act"))


@case(("upsample", "mix", APPLIED), steps=dict(upsampled_conv=1), sizes=[dict(n=1, h=1, w=9), dict(n=3, h=8, w=2)],
      flags=["--dim", "n=1..3", "--dim", "h=1..8", "--dim", "w=1..9"])
def sizes_chosen_by_the_caller(g):
    x = g.conv(g.input("n", 3, "h", "w"), 3, 9, pads=[1, 1, 1, 1])
    g.output(mix(g, up(g, g.op("Relu", x)), 9, 10))


@case(("upsample", "mix", APPLIED), ("upsample", "next", APPLIED), steps=dict(upsampled_conv=2, resize=1))
def read_by_others_too(g):
    """The upsampled image is an output, and a second convolution reads it."""
    big = up(g, g.input(1, 8, 6, 6))
    g.output(big, mix(g, big, 8, 8), mix(g, big, 8, 9, name="next"))


# ---- beside other channels ----

@case(("upsample", "act", APPLIED), steps=dict(resize=0, upsampled_conv=2, conv=1, winograd=0))
def a_pyramid(g):
    """Factors above 2 are taken apart by themselves; that of 2, here, since nothing may grow."""
    x = joined(g, up(g, g.input(1, 9, 2, 3), 4), g.input(1, 5, 8, 12), up(g, g.input(1, 8, 4, 6)))
    g.output(g.op("Relu", mix(g, x, 22, 12), name="act"))


@case(("upsample", "act", APPLIED), steps=dict(resize=0, upsampled_conv=1, conv=1))
def a_decoder(g):
    """Of several others, a concatenation; the residual is added first."""
    x = joined(g, g.input(2, 3, 8, 6), up(g, g.input(2, 16, 4, 3)), g.input(2, 4, 8, 6))
    g.output(g.op("Relu", g.op("Add", mix(g, x, 23, 9), g.input(2, 9, 8, 6), name="add"), name="act"))


@case(("upsample", "act", APPLIED), steps=dict(resize=0, upsampled_conv=2, conv=0))
def nothing_but_upsampled_parts(g):
    x = joined(g, up(g, g.input(1, 8, 4, 6)), up(g, g.input(1, 9, 2, 3), 4))
    g.output(g.op("Relu", g.op("Add", mix(g, x, 17, 12), g.input(1, 12, 8, 12), name="add"), name="act"))


@case(("winograd", "mix", APPLIED), steps=dict(upsampled_conv=0, winograd=1), flags=["--speed"])
def together_by_winograd(g):
    """As many products, and more room in the file than it needs."""
    g.output(mix(g, joined(g, up(g, g.input(1, 40, 24, 24)), g.input(1, 40, 48, 48)), 80, 32))


# ---- 1x1 ----

@case(("upsample", "act", APPLIED), steps=dict(resize=1, conv=1))
def upsampled_behind_a_1x1_convolution(g):
    g.output(g.op("Sigmoid", mix(g, up(g, g.input(1, 32, 5, 7)), 32, 9, (1, 1)), name="act"))


@case(("upsample", "act", APPLIED), ("upsample", "short", APPLIED), steps=dict(resize=2, conv=4, copy=0))
def as_detectors_join_scales(g):
    x = joined(g, up(g, g.input(2, 40, 4, 3)), g.op("Abs", g.input(2, 24, 8, 6)))
    g.output(g.op("Relu", mix(g, x, 64, 20, (1, 1)), name="act"), mix(g, x, 64, 30, (1, 1), name="short"))


@case(("upsample", "mix+add", "epilogue_full"))
def a_1x1_convolution_that_adds(g):
    x = joined(g, up(g, g.input(1, 40, 4, 3)), g.input(1, 24, 8, 6))
    g.output(g.op("Add", mix(g, x, 64, 20, (1, 1)), g.input(1, 20, 8, 6), name="add"))


# ---- what stays ----

@case(("upsample", "wide", "not_3x3_stride_1"), ("upsample", "far", "dilated"), ("upsample", "valid", "padding_not_1"),
      ("upsample", "few", "few_channels"), ("upsample", "narrow", "few_channels"), ("upsample", "strided", "not_3x3_stride_1"),
      ("upsample", "little", "few_channels"), steps=dict(upsampled_conv=0))
def others(g):
    x = up(g, g.input(1, 8, 6, 7))
    g.output(mix(g, x, 8, 8, (5, 5), name="wide"), mix(g, x, 8, 8, name="far", dilations=[2, 2], pads=[2, 2, 2, 2]),
             mix(g, x, 8, 8, name="valid", pads=[0, 0, 0, 0]), mix(g, x, 8, 4, name="few"),
             mix(g, up(g, g.input(1, 7, 4, 4)), 7, 9, name="narrow"), mix(g, x, 8, 8, name="strided", strides=[2, 2]),
             mix(g, x, 8, 8, (1, 1), name="little"))


@case(("upsample", "mix", "shared_weight"), ("upsample", "next", "shared_weight"), steps=dict(upsampled_conv=0))
def heads_that_share_their_weight(g):
    w = g.weight(9, 8, 3, 3)
    g.output(*(g.op("Conv", up(g, g.input(1, 8, n, n)), w, pads=[1, 1, 1, 1], name=name) for n, name in ((4, "mix"), (5, "next"))))


@case(steps=dict(resize=6, upsampled_conv=0))
def other_ways_to_resize(g):
    x = g.input(1, 8, 6, 7)
    ceil = dict(coordinate_transformation_mode="asymmetric", nearest_mode="ceil")
    prefer = dict(coordinate_transformation_mode="asymmetric", nearest_mode="round_prefer_floor")
    g.output(*(mix(g, image, 8, 8, name=f"mix{i}") for i, image in enumerate((
        up(g, x, 2, 3), up(g, x, 2.5), up(g, x, 2, **ceil), up(g, x, 4, **prefer),
        up(g, x, 2, mode="linear", coordinate_transformation_mode="half_pixel"),
        up(g, x, 2, coordinate_transformation_mode="align_corners", nearest_mode="floor")))))


# ---- on bf16: transposed convolutions. All values are exact in it, also sums of taps, and so are all sums ----

def signs(g, *dims):
    return g.op("Sign", g.input(*dims))


def exact(g, m, c, size=3):
    return g.constant((np.arange(m * c * size * size) * 7 % 13 - 6).astype(np.float32).reshape(m, c, size, size) / np.float32(8))


def exact_mix(g, x, c, m, name="mix", **attributes):
    return g.op("Conv", x, exact(g, m, c), g.constant(np.arange(m, dtype=np.float32)), pads=[1, 1, 1, 1], name=name, **attributes)


BF16 = ["--dtype", "bf16"]


@case(*[("upsample", name, APPLIED) for name in ("act", "three", "five")], flags=BF16 + ["--speed"],
      steps=dict(resize=0, upsampled_conv=0, conv=0, conv_transpose=3))
def alone_on_bf16(g):
    x = signs(g, 2, 12, 5, 7)
    g.output(g.op("Relu", exact_mix(g, up(g, x), 12, 20), name="act"), exact_mix(g, up(g, x, 3), 12, 37, name="three"),
             exact_mix(g, up(g, x, 5, **HALF), 12, 5, name="five"))


@case(("upsample", "act", APPLIED), flags=BF16 + ["--speed"], steps=dict(resize=0, upsampled_conv=0, conv=1, conv_transpose=1))
def beside_others_on_bf16(g):
    x = joined(g, signs(g, 1, 5, 8, 6), up(g, signs(g, 1, 24, 4, 3)), signs(g, 1, 8, 8, 6))
    g.output(g.op("Relu", exact_mix(g, x, 37, 20), name="act"))


@case(("upsample", "act", APPLIED), flags=BF16 + ["--speed", "--dim", "n=1..3", "--dim", "h=1..40"], sizes=[{"n": 1, "h": 4}, {"n": 3, "h": 1}],
      steps=dict(resize=0, upsampled_conv=0, conv=0, conv_transpose=1))
def of_any_size_on_bf16(g):
    g.output(g.op("Relu", exact_mix(g, up(g, signs(g, "n", 16, "h", 5), 4), 16, 33), name="act"))


@case(("upsample", "small", "file_budget"), ("upsample", "large", APPLIED), flags=BF16, steps=dict(resize=1, conv=1, conv_transpose=1))
def room_for_one_on_bf16(g):
    """The one that saves more per byte."""
    g.output(*(exact_mix(g, up(g, signs(g, 1, 24, n, n)), 24, 20, name=name) for n, name in ((4, "small"), (9, "large"))))


@case(("upsample", "mix", "file_budget"), flags=BF16 + ["--size"], steps=dict(resize=1, conv=1, conv_transpose=0))
def no_room_on_bf16(g):
    g.output(exact_mix(g, up(g, signs(g, 1, 24, 9, 9)), 24, 20))


@case(("upsample", "mix", "epilogue_full"), ("upsample", "sum", "epilogue_full"), flags=BF16, steps=dict(conv_transpose=0))
def no_place_for_a_residual_on_bf16(g):
    both = joined(g, up(g, signs(g, 1, 16, 4, 4)), signs(g, 1, 8, 8, 8), up(g, signs(g, 1, 8, 2, 2), 4))
    y = exact_mix(g, up(g, signs(g, 1, 9, 4, 3)), 9, 9, name="add")
    g.output(exact_mix(g, both, 32, 9), g.op("Add", y, g.op("Sign", g.input(1, 9, 8, 6)), name="sum"))


@case(("upsample", "mix", "bf16_weights"), flags=["--weights", "bf16"], steps=dict(upsampled_conv=0, conv_transpose=0))
def weights_on_bf16(g):
    g.output(exact_mix(g, up(g, g.input(1, 12, 4, 5)), 12, 20))


def check_bits(tap, bench):
    """All levels and thread counts give the same bits."""
    g = Graph(opset=13)
    y = g.op("Relu", mix(g, joined(g, up(g, g.input(3, 24, 9, 11)), g.input(3, 7, 18, 22)), 31, 40))
    g.output(y, mix(g, up(g, y, 3), 40, 21, name="next"))
    why = bench.right(g, "--golden", "1", bits=True)
    tap.ok("the same bits at all levels and thread counts", not why, why)
    why = bench.convert(g.model(), *BF16).stderr or bench.compare_bits(g.feeds())
    tap.ok("the same bits at all levels and thread counts on bf16", not why, why)


sys.exit(run(CASES, check_bits))
