#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of signal processing: Col2Im (blocks that are laid into an image and added), DFT and STFT, each against ONNX
Runtime with the same bytes at every kernel level and thread count; and what of them is refused."""
import itertools
import pathlib
import sys
import tempfile

import numpy as np

from small_graphs import Bench, Graph, difference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap

GOLDEN = ["--golden", "1"]
RIGHT, REFUSED = [], []


def right(title, graph, *flags, sizes=()):
    RIGHT.append((title, graph, flags, sizes))


def refused(title, graph, words, *flags):
    """The message names the_node and says these words."""
    REFUSED.append((title, graph, words, flags))


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
    refused("blocks of very many strides", col2im((1, 2000, 3), (1, 2002), (1, 2000)), "are 2000 parts to be added")
    refused("a block larger than the image", col2im((1, 8, 9), (1, 8), (2, 2)), "a block of 2 can be larger")


# ---- DFT, STFT ----

def dft(x, length=None, axis=None, opset=20, **attributes):
    """From opset 20 on the axis is an input."""
    g = Graph(opset)
    operands = [g.input(*x), "" if length is None else g.constant(np.array(length, np.int64))]
    if axis is not None and opset >= 20:
        operands.append(g.constant(np.array(axis, np.int64)))
    elif axis is not None:
        attributes["axis"] = axis
    g.output(g.op("DFT", *operands, name="the_node", **attributes))
    return g


def transforms():
    for opset, numbers, inverse in itertools.product((17, 20), (1, 2), (0, 1)):
        title = f"DFT, opset {opset}, {numbers} number(s), inverse {inverse}"
        for length in None, 7, 16:
            right(f"{title}, length {length}", dft((2, 12, 3, numbers), length, 1, opset, inverse=inverse))
        right(f"{title}, axis 0", dft((5, 3, numbers), None, 0, opset, inverse=inverse))
        right(f"{title}, the default's axis", dft((3, 10, numbers), None, None, opset, inverse=inverse))
        right(f"{title}, an axis from the end", dft((2, 3, 9, numbers), None, -2, opset, inverse=inverse))
    for length in None, 7, 8, 15:
        right(f"DFT, one side, length {length}", dft((2, 3, 11, 1), length, 2, onesided=1))
    for length in 20, 21, None:
        right(f"DFT, back from one side, length {length}", dft((2, 11, 3, 2), length, 1, inverse=1, onesided=1))
    right("DFT of a length that is no power of two", dft((1, 60, 1), onesided=1))
    right("DFT of a batch that varies", dft(("n", 8, "c", 2), None, 1), "--dim", "n=1..3", "--dim", "c=1..4", *GOLDEN,
          sizes=[{"n": 1, "c": 1}, {"n": 3, "c": 4}])
    g = Graph(20)
    g.output(g.op("Add", g.input(1), g.op("DFT", g.weight(2, 9, 1), onesided=1)))
    right("DFT of a constant", g)
    refused("DFT along an axis that varies", dft((1, "l", 1)), "the length of its axis depends on", "--dim", "l=4..8")
    refused("DFT too long", dft((1, 8192, 2)), "16384 * 16384 numbers")
    refused("DFT of three numbers", dft((1, 8, 3)), "its last axis")
    refused("DFT along the last axis", dft((1, 8, 2), None, 2), "its last axis")


def stft(signal, step, window=None, length=None, **attributes):
    g = Graph(17)
    operands = [g.input(*signal), g.constant(np.array(step, np.int64)), "" if window is None else g.constant(window)]
    g.output(g.op("STFT", *operands, *([] if length is None else [g.constant(np.array(length, np.int64))]),
                  name="the_node", **attributes))
    return g


def spectra():
    hann = np.hanning(33)[:32].astype(np.float32)
    for shape, step, side in itertools.product(((2, 100), (1, 128, 1)), (8, 13), (0, 1)):
        right(f"STFT of {shape}, step {step}, one side {side}", stft(shape, step, hann, onesided=side))
    right("STFT with a length", stft((1, 90, 1), 10, hann, 32))
    right("STFT without a window", stft((1, 90, 1), 10, None, 21))
    right("STFT, frames apart", stft((1, 90), 40, hann))
    right("STFT of one frame", stft((1, 32), 40, hann))
    right("STFT of a signal that varies", stft(("n", "l"), 16, hann), "--dim", "n=1..2", "--dim", "l=64..256:16", *GOLDEN,
          sizes=[{"n": 1, "l": 64}, {"n": 2, "l": 256}])
    g = Graph(17)
    y = g.op("STFT", g.weight(2, 90), g.constant(np.array(10, np.int64)), g.constant(hann))
    g.output(g.op("Add", g.input(1), y))
    right("STFT of a constant", g)
    refused("STFT of a complex signal", stft((1, 90, 2), 10, hann, onesided=0), "only real signals")
    refused("STFT of a signal that is too short", stft((1, 30), 10, hann), "a frame of 32 can be longer")
    refused("STFT, window and length differ", stft((1, 90), 10, hann, 40), "frames of 40, but the window has 32")
    g = Graph(17)
    g.output(g.op("STFT", g.input(1, 64), g.constant(np.array(4, np.int64)), g.input(16), name="the_node"))
    refused("STFT with a window of the run", g, "is not a constant vector")


def cut_and_continued(bench):
    """A half spectrum of more or fewer frequencies than the length has, as numpy takes it."""
    for length in 10, 16, 30:
        g = dft((2, 12, 3, 2), length, 1, inverse=1, onesided=1)
        done, x = bench.convert(g.model()), g.feeds()
        y = bench.run(x) if done.returncode == 0 else done.stderr
        if isinstance(y, str):
            return y
        half = x["in0"].astype(np.float64)
        expected = np.fft.irfft(half[..., 0] + 1j * half[..., 1], n=length, axis=1)[..., None].astype(np.float32)
        why = difference(f"length {length}", *y.values(), expected)
        if why:
            return why
    return None


def main():
    tap = Tap()
    blocks()
    transforms()
    spectra()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for title, graph, flags, sizes in RIGHT:
            why = bench.right(graph, *flags, bits=True, sizes=sizes)
            tap.ok(title, why is None, why)
        for title, graph, words, flags in REFUSED:
            done = bench.convert(graph.model(), *flags)
            said = done.returncode == 1 and "the_node (" in done.stderr and words in done.stderr
            tap.ok(f"{title}: refused", said, done.stderr)
        why = cut_and_continued(bench)
        tap.ok("DFT, back from one side, of other numbers of frequencies", why is None, why)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
