#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of signal processing: Col2Im (blocks that are laid into an image and added), each against ONNX Runtime with
the same bytes at every kernel level and thread count; and what of it is refused."""
import pathlib
import sys
import tempfile

from small_graphs import Bench, Graph

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

GOLDEN = ["--golden", "1"]
RIGHT, REFUSED = [], []


def right(title, graph, *flags, sizes=()):
    RIGHT.append((title, graph, flags, sizes))


def refused(title, graph, words):
    """The message names the_node and says these words."""
    REFUSED.append((title, graph, words))


# ---- Col2Im ----

def col2im(x, image, block, **attributes):
    g = Graph(18)
    g.output(g.op("Col2Im", g.input(*x), g.ints(*image), g.ints(*block), name="the_node", **attributes))
    return g


def there_and_back(stride):
    """An image of sizes that vary as blocks of 2 by 2, by a convolution, and back."""
    g = Graph(18)
    x = g.input("n", 3, "h", "w")
    y = g.op("Reshape", g.conv(x, 3, 12, (2, 2), strides=[stride, stride]), g.ints(0, 12, -1))
    size = g.op("Slice", g.op("Shape", x), g.ints(2), g.ints(4), g.ints(0))
    g.output(g.op("Col2Im", y, size, g.ints(2, 2), strides=[stride, stride], name="the_node"))
    return g


def blocks():
    right("blocks that touch", col2im((2, 12, 12), (6, 8), (2, 2), strides=[2, 2]))
    right("blocks that touch, of another shape", col2im((1, 30, 6), (6, 10), (2, 5), strides=[2, 5]))
    right("blocks that overlap", col2im((2, 27, 20), (6, 7), (3, 3)))
    right("overlap, strides 2 and pads", col2im((1, 27, 16), (8, 8), (3, 3), strides=[2, 2], pads=[1, 1, 1, 1]))
    right("overlap, pads of each side", col2im((1, 36, 9), (6, 3), (3, 4), pads=[0, 1, 1, 2], strides=[2, 1]))
    right("gaps between blocks", col2im((1, 8, 9), (8, 8), (2, 2), strides=[3, 3]))
    right("gaps, and pads that cut blocks", col2im((1, 8, 9), (6, 6), (2, 2), strides=[3, 3], pads=[1, 1, 1, 1]))
    right("dilations", col2im((1, 12, 12), (7, 9), (2, 3), dilations=[3, 2], strides=[1, 2]))
    right("dilations and pads", col2im((1, 27, 25), (7, 6), (3, 3), dilations=[2, 1], pads=[1, 0, 1, 1]))
    right("more of an image than blocks reach", col2im((1, 8, 4), (7, 7), (2, 2), strides=[3, 4]))
    right("frames of a signal", col2im((2, 16, 10), (1, 52), (1, 16), strides=[1, 4]))
    right("frames, the last part of one is shorter", col2im((2, 14, 10), (1, 50), (1, 14), strides=[1, 4]))
    for stride in 1, 2:
        right(f"stride {stride}, sizes that vary", there_and_back(stride), "--dim", "n=1..2", "--dim", "h=4..8:2", "--dim",
              "w=2..8:2", *GOLDEN, sizes=[{"n": 1, "h": 4, "w": 2}, {"n": 2, "h": 8, "w": 6}])
    refused("volumes", col2im((1, 8, 8), (4, 4, 4), (2, 2, 2), strides=[2, 2, 2]), "image_shape has 3 elements")
    refused("other blocks than there are", col2im((1, 8, 9), (8, 8), (2, 2), strides=[2, 2]), "4 * 4]")
    refused("a block larger than the image", col2im((1, 8, 9), (1, 8), (2, 2)), "a block of 2 can be larger")


def main():
    tap = Tap()
    blocks()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for title, graph, flags, sizes in RIGHT:
            why = bench.right(graph, *flags, bits=True, sizes=sizes)
            tap.ok(title, why is None, why)
        for title, graph, words in REFUSED:
            done = bench.convert(graph.model())
            said = done.returncode == 1 and "the_node (" in done.stderr and words in done.stderr
            tap.ok(f"{title}: refused", said, done.stderr)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
