#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GridSample against ONNX Runtime, inside and far outside of images and volumes, at fixed sizes and at sizes that vary;
AffineGrid, which makes such places; and what of them is refused."""
import itertools
import pathlib
import sys
import tempfile

import numpy as np

from small_graphs import Bench, Graph

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

BOUNDS = ["--dim", "n=1..3", "--dim", "h=2..9", "--dim", "q=1..6", "--golden", "1"]
SIZES = [{"n": 1, "h": 2, "q": 1}, {"n": 3, "h": 9, "q": 6}, {"n": 2, "h": 5, "q": 4}]


VOLUME_BOUNDS = ["--dim", "n=1..2", "--dim", "d=1..4", "--dim", "q=1..6", "--golden", "1"]
VOLUME_SIZES = [{"n": 1, "d": 1, "q": 1}, {"n": 2, "d": 4, "q": 6}]
PADDINGS = ("zeros", "border", "reflection")


def sampled(image, grid, opset, **attributes):
    g = Graph(opset)
    places = g.op("Mul", g.input(*grid), g.scalar(1.2))  # some outside
    g.output(g.op("GridSample", g.input(*image), places, name="the_node", **attributes))
    return g


def at_corners():
    """Places on pixels, between them, on edges and beyond."""
    g = Graph(20)
    steps = np.array([-9, -2, -1.25, -1, -0.75, -0.5, 0, 0.25, 0.5, 0.75, 1, 1.25, 2, 9], np.float32)
    grid, image = g.constant(np.stack(np.meshgrid(steps, steps), -1)[None]), g.input(1, 2, 4, 4)
    for mode, padding, corners in itertools.product(("linear", "nearest", "cubic"), PADDINGS, (0, 1)):
        g.output(g.op("GridSample", image, grid, mode=mode, padding_mode=padding, align_corners=corners))
    return g


def at_corners_of_volumes():
    g = Graph(20)
    steps = np.array([-9, -1.25, -1, -0.5, 0, 0.25, 0.75, 1, 2], np.float32)
    grid, volume = g.constant(np.stack(np.meshgrid(steps, steps, steps), -1)[None]), g.input(1, 2, 4, 2, 4)
    for mode, padding, corners in itertools.product(("linear", "nearest"), PADDINGS, (0, 1)):
        g.output(g.op("GridSample", volume, grid, mode=mode, padding_mode=padding, align_corners=corners))
    return g


def of_one_pixel():
    """Images that are one pixel high, wide or both, which have no range to be reflected in."""
    g = Graph(20)
    grid = g.op("Mul", g.input(1, 5, 6, 2), g.scalar(2))
    for height, width in (1, 5), (5, 1), (1, 1):
        image = g.input(1, 3, height, width)
        for mode, padding in itertools.product(("linear", "nearest", "cubic"), PADDINGS):
            g.output(g.op("GridSample", image, grid, mode=mode, padding_mode=padding))
    return g


def affine(theta, sizes, **attributes):
    g = Graph(20)
    g.output(g.op("AffineGrid", g.input(*theta), g.ints(*sizes), name="the_node", **attributes))
    return g


def transformer(batch):
    """An image that is looked up through an affine map of itself, as spatial transformers do."""
    g = Graph(20)
    image = g.input(batch, 3, 6, 8)
    mean = g.op("Reshape", g.op("GlobalAveragePool", image), g.ints(-1, 3))
    theta = g.op("Reshape", g.op("MatMul", mean, g.weight(3, 6)), g.ints(-1, 2, 3))
    grid = g.op("AffineGrid", theta, g.op("Shape", image))
    g.output(g.op("GridSample", image, grid))
    return g


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for opset, modes in (16, ("bilinear", "nearest", "bicubic")), (20, ("linear", "nearest", "cubic")):
            for mode, padding, corners in itertools.product(modes, PADDINGS, (0, 1)):
                attributes = dict(mode=mode, padding_mode=padding, align_corners=corners)
                title = f"opset {opset} {mode} {padding} align_corners {corners}"
                why = bench.right(sampled((2, 3, 5, 7), (2, 4, 6, 2), opset, **attributes), bits=True)
                tap.ok(title, why is None, why)
                why = bench.right(sampled(("n", 3, "h", 7), ("n", 4, "q", 2), opset, **attributes), *BOUNDS, sizes=SIZES)
                tap.ok(f"{title}, sizes that vary", why is None, why)
        for mode, padding, channels in itertools.product(("linear", "nearest", "cubic"), PADDINGS, (1, 5, 20)):
            attributes = dict(mode=mode, padding_mode=padding)  # more places than fit a vector, and a rest
            why = bench.right(sampled((3, channels, 6, 9), (3, 7, 5, 2), 20, **attributes), bits=True)
            tap.ok(f"{mode} {padding}, {channels} channels", why is None, why)
        for mode, padding, corners in itertools.product(("linear", "nearest"), PADDINGS, (0, 1)):
            attributes = dict(mode=mode, padding_mode=padding, align_corners=corners)
            title = f"a volume, {mode} {padding} align_corners {corners}"
            why = bench.right(sampled((2, 3, 3, 5, 4), (2, 4, 2, 6, 3), 20, **attributes), bits=True)
            tap.ok(title, why is None, why)
            if (padding, corners) != ("reflection", 1):  # of one depth: nothing that others define
                varying = sampled(("n", 3, "d", 5, 4), ("n", 2, 4, "q", 3), 20, **attributes)
                why = bench.right(varying, *VOLUME_BOUNDS, sizes=VOLUME_SIZES)
                tap.ok(f"{title}, sizes that vary", why is None, why)
        for title, graph in ("images", at_corners()), ("volumes", at_corners_of_volumes()):
            why = bench.right(graph)
            tap.ok(f"{title}: places on pixels, edges and beyond", why is None, why)
        why = bench.right(of_one_pixel())
        tap.ok("images of one pixel", why is None, why)
        for theta, sizes in ((2, 2, 3), (2, 3, 4, 5)), ((2, 3, 4), (2, 1, 3, 4, 5)), ((1, 2, 3), (1, 1, 2, 9)):
            for corners in 0, 1:
                why = bench.right(affine(theta, sizes, align_corners=corners), bits=True)
                tap.ok(f"affine grid of {sizes}, align_corners {corners}", why is None, why)
        why = bench.right(affine((1, 3, 4), (1, 1, 1, 1, 3)))
        tap.ok("affine grid of single pixels", why is None, why)
        why = bench.right(transformer("n"), "--dim", "n=1..3", "--golden", "1", sizes=[{"n": 1}, {"n": 3}])
        tap.ok("a spatial transformer", why is None, why)
        for name, words, graph in (
                ("one pixel between corners", "a size of 1; numbers from 2", affine((1, 2, 3), (1, 1, 1, 3), align_corners=1)),
                ("theta of another size", "only theta [N, 2, 3]", affine((1, 3, 4), (1, 1, 2, 3)))):
            done = bench.convert(graph.model())
            said = done.returncode == 1 and "the_node (AffineGrid)" in done.stderr and words in done.stderr
            tap.ok(f"{name}: refused", said, done.stderr)
        for name, words, attributes, image, grid in (
                ("cubic over volumes", "mode cubic", dict(mode="cubic"), (1, 2, 4, 4, 4), (1, 3, 3, 3, 3)),
                ("another mode", "mode lanczos", dict(mode="lanczos"), (1, 2, 4, 4), (1, 3, 3, 2)),
                ("another padding", "padding_mode wrap", dict(padding_mode="wrap"), (1, 2, 4, 4), (1, 3, 3, 2)),
                ("a signal", "only images", {}, (1, 2, 4), (1, 3, 1)),
                ("a grid of another batch", "only images", {}, (1, 2, 4, 4), (2, 3, 3, 2))):
            done = bench.convert(sampled(image, grid, 20, **attributes).model())
            said = done.returncode == 1 and "the_node (GridSample)" in done.stderr and words in done.stderr
            tap.ok(f"{name} is refused", said, done.stderr)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
