#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Resize by scales that are no whole numbers, at fixed sizes and at sizes that vary: against ONNX Runtime, against the
places that follow from a scale as a fraction, as PyTorch computes them, and against the ONNX project's evaluator. And
with antialias, by sizes that are fixed."""
import fractions
import itertools
import pathlib
import sys
import tempfile

import numpy as np
import onnx.reference

from small_graphs import Bench, Graph, difference, expected_outputs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

SCALES = ["1/3", "1/10", "16/5", "11/10", "3/5", "7/10", "13/10", "9/10", "3/2", "17/10", "2/3", "4/3", "3/10", "11/5",
          "6/5", "2/5", "11/20", "1/7", "123/1000"]
# Where ONNX Runtime, whose places are f32, takes another element than PyTorch does (and where sizes stay, it copies).
ROUNDED_ELSEWHERE = ["3/5", "3/10", "6/5", "1/7"]
SIZES = [1, 2, 3, 4, 5, 7, 9, 10, 12, 16, 20, 27, 31, 49, 50, 63, 64, 100]
BOUNDS = ["--dim", "n=1..2", "--dim", "h=3..24", "--dim", "w=3..25", "--golden", "1"]
VARYING = [{"n": 1, "h": 3, "w": 3}, {"n": 2, "h": 24, "w": 25}, {"n": 1, "h": 5, "w": 4}, {"n": 1, "h": 13, "w": 10}]


def resized_size(size, scale):
    return int(np.floor(np.float32(size) * np.float32(scale)))


def by_scale(scale, sizes, **attributes):
    g = Graph(13)
    scales = g.constant(np.array([1, 1, 1, scale], np.float32))
    for size in sizes:
        g.output(g.op("Resize", g.input(1, 2, 3, size), "", scales, **attributes))
    return g


def nearest(bench, text):
    """Whether pixel i is pixel floor(i / scale) of a row that holds its own places."""
    scale = fractions.Fraction(text)
    sizes = [size for size in SIZES if resized_size(size, scale) > 0]
    g = by_scale(float(scale), sizes, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    done = bench.convert(g.model())
    if done.returncode != 0:
        return done.stderr
    rows = {f"in{i}": np.tile(np.arange(size, dtype=np.float32), (1, 2, 3, 1)) for i, size in enumerate(sizes)}
    got = bench.run(rows)
    if isinstance(got, str):
        return got
    for name, size in zip(g.outputs, sizes):
        places = [min(int(i / scale), size - 1) for i in range(resized_size(size, scale))]
        if why := difference(name, got[name], np.tile(np.array(places, np.float32), (1, 2, 3, 1))):
            return f"{size} pixels: {why}"
    return None


def aligned_whole(bench, scale, sizes, mode):
    """A file by PyTorch: corners of the sizes as they are."""
    g = by_scale(scale, sizes, mode=mode, coordinate_transformation_mode="align_corners")
    model = g.model()
    model.producer_name = "pytorch"
    done = bench.convert(model)
    if done.returncode != 0:
        return done.stderr
    feeds = g.feeds()
    return bench.compare(feeds, expected_outputs(model, feeds))


def as_evaluated(bench, g):
    model = g.model()
    done = bench.convert(model)
    if done.returncode != 0:
        return done.stderr
    feeds = g.feeds()
    return bench.compare(feeds, dict(zip(g.outputs, onnx.reference.ReferenceEvaluator(model).run(None, feeds))))


def keeps_aspect(policy, mode, sizes):
    g = Graph(19)
    g.output(g.op("Resize", g.input(1, 2, 7, 10), "", "", g.ints(*sizes), mode=mode, axes=[2, 3],
                  keep_aspect_ratio_policy=policy))
    return g


def varying(scale, **attributes):
    g = Graph(18)
    g.output(g.op("Resize", g.input("n", 2, "h", "w"), "", g.constant(np.array([1, 1, scale, scale], np.float32)),
                  **attributes))
    return g


def antialiased(rank, sizes, mode, coordinates, **attributes):
    """One result for each (height, width); of a signal, width."""
    g = Graph(19)
    shape = [1, 3, 11, 14] if rank == 4 else [2, 3, 14]
    x = g.input(*shape)
    for size in sizes:
        g.output(g.op("Resize", x, "", "", g.ints(*shape[:2], *size[4 - rank:]), mode=mode, antialias=1,
                      coordinate_transformation_mode=coordinates, **attributes))
    return g


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for text in SCALES:
            why = nearest(bench, text)
            tap.ok(f"nearest by {text}: pixel i is pixel i / scale, rounded down", why is None, why)
        for text, mode, coordinates in itertools.product(SCALES, ("linear", "cubic"), ("half_pixel", "asymmetric")):
            scale = float(fractions.Fraction(text))
            changed = [s for s in SIZES if resized_size(s, scale) not in (0, s)]
            why = bench.right(by_scale(scale, changed, mode=mode, coordinate_transformation_mode=coordinates))
            tap.ok(f"{mode}, {coordinates} by {text} as ONNX Runtime", why is None, why)
        for text in [t for t in SCALES if t not in ROUNDED_ELSEWHERE]:
            scale = float(fractions.Fraction(text))
            changed = [s for s in SIZES if resized_size(s, scale) not in (0, s)]
            g = by_scale(scale, changed, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
            why = bench.right(g)
            tap.ok(f"nearest by {text} as ONNX Runtime", why is None, why)
        for rounding in "floor", "round_prefer_floor":
            g = Graph(11)
            none = g.constant(np.zeros(0, np.float32))  # opset 11 has no absent roi and scales
            for to in itertools.product((3, 7, 10, 20), (5, 9, 14, 33)):
                g.output(g.op("Resize", g.input(1, 2, 7, 10), none, none, g.ints(1, 2, *to), mode="nearest",
                              nearest_mode=rounding, coordinate_transformation_mode="tf_half_pixel_for_nn"))
            why = bench.right(g)
            tap.ok(f"nearest, tf_half_pixel_for_nn, {rounding}", why is None, why)
        for scale, mode in itertools.product((0.5, 1.5, 0.7), ("linear", "cubic")):
            why = aligned_whole(bench, scale, [2, 3, 5, 6, 9, 25], mode)
            tap.ok(f"{mode}, corners aligned by {scale}, a file by PyTorch", why is None, why)
            g = by_scale(scale, [3, 5, 9, 25], mode=mode, coordinate_transformation_mode="align_corners")
            why = as_evaluated(bench, g)
            tap.ok(f"{mode}, corners aligned by {scale}, by ONNX's evaluator", why is None, why)
        shrunk = [(5, 6), (4, 14), (11, 9), (10, 13), (3, 20), (16, 3), (22, 15), (2, 1), (11, 14)]
        for mode, coordinates, excluded in itertools.product(
                ("linear", "cubic"), ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"), (0, 1)):
            for rank in (3, 4):
                # the evaluator puts one element at -0.5, the operator's text and ONNX Runtime at 0
                taken = [s for s in shrunk if s[1] > 1 or coordinates != "pytorch_half_pixel" or rank == 4]
                g = antialiased(rank, taken, mode, coordinates, exclude_outside=excluded, cubic_coeff_a=-0.5)
                runs_elsewhere = coordinates != "align_corners" and (rank, mode) != (3, "cubic")
                why = bench.right(g) if runs_elsewhere else as_evaluated(bench, g)
                tap.ok(f"antialias, {mode}, {coordinates}, exclude_outside {excluded}, rank {rank}", why is None, why)
        g = antialiased(4, shrunk, "nearest", "half_pixel")
        done = bench.convert(g.model())
        for node in g.nodes:  # which others refuse
            node.attribute.remove(next(a for a in node.attribute if a.name == "antialias"))
        feeds = g.feeds()
        why = done.stderr if done.returncode else bench.compare(feeds, expected_outputs(g.model(), feeds))
        tap.ok("antialias, nearest: as without", why is None, why)
        for policy, mode in itertools.product(("not_larger", "not_smaller"), ("linear", "nearest")):
            for sizes in (14, 30), (5, 6), (21, 20):
                why = as_evaluated(bench, keeps_aspect(policy, mode, sizes))
                tap.ok(f"{mode}, {policy} of {sizes}", why is None, why)
        for scale in 1.5, 0.75, 2.2:
            why = bench.right(varying(scale, mode="linear"), *BOUNDS, sizes=VARYING)
            tap.ok(f"linear by {scale} of sizes that vary", why is None, why)
        done = bench.convert(varying(0.5, mode="linear", antialias=1).model(), *BOUNDS)
        tap.ok("antialias needs fixed sizes", done.returncode == 1 and "antialias from h to" in done.stderr, done.stderr)
        done = bench.convert(varying(3.77771, mode="linear").model(), *BOUNDS)
        tap.ok("a scale that is no fraction needs a fixed size", done.returncode == 1 and "3.77771" in done.stderr, done.stderr)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
