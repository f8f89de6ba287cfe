#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GridSample against ONNX Runtime, inside and far outside of images, at fixed sizes and at sizes that vary; and what of
it is refused."""
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


def sampled(image, grid, opset, **attributes):
    g = Graph(opset)
    places = g.op("Mul", g.input(*grid), g.scalar(1.2))  # some outside
    g.output(g.op("GridSample", g.input(*image), places, name="the_node", **attributes))
    return g


def at_corners():
    """Places on pixels, between them, on edges and beyond."""
    g = Graph(20)
    steps = np.array([-9, -2, -1.25, -1, -0.75, -0.5, 0, 0.25, 0.5, 0.75, 1, 1.25, 2, 9], np.float32)
    grid = np.stack(np.meshgrid(steps, steps), -1)[None]
    image = g.input(1, 2, 4, 4)
    for mode, padding, corners in itertools.product(("linear", "nearest"), ("zeros", "border"), (0, 1)):
        g.output(g.op("GridSample", image, g.constant(grid), mode=mode, padding_mode=padding, align_corners=corners))
    return g


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for opset, modes in (16, ("bilinear", "nearest")), (20, ("linear", "nearest")):
            for mode, padding, corners in itertools.product(modes, ("zeros", "border"), (0, 1)):
                attributes = dict(mode=mode, padding_mode=padding, align_corners=corners)
                title = f"opset {opset} {mode} {padding} align_corners {corners}"
                why = bench.right(sampled((2, 3, 5, 7), (2, 4, 6, 2), opset, **attributes), bits=True)
                tap.ok(title, why is None, why)
                why = bench.right(sampled(("n", 3, "h", 7), ("n", 4, "q", 2), opset, **attributes), *BOUNDS, sizes=SIZES)
                tap.ok(f"{title}, sizes that vary", why is None, why)
        why = bench.right(at_corners())
        tap.ok("places on pixels, edges and beyond", why is None, why)
        for name, words, attributes, image, grid in (
                ("cubic", "mode cubic", dict(mode="cubic"), (1, 2, 4, 4), (1, 3, 3, 2)),
                ("reflection", "padding_mode reflection", dict(padding_mode="reflection"), (1, 2, 4, 4), (1, 3, 3, 2)),
                ("a volume", "only images", {}, (1, 2, 4, 4, 4), (1, 3, 3, 3, 3)),
                ("a grid of another batch", "only images", {}, (1, 2, 4, 4), (2, 3, 3, 2))):
            done = bench.convert(sampled(image, grid, 20, **attributes).model())
            said = done.returncode == 1 and "the_node (GridSample)" in done.stderr and words in done.stderr
            tap.ok(f"{name} is refused", said, done.stderr)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
