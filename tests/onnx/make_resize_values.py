#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/checkkern/resize_values.inc: rows of numbers resized by the ONNX project's own reference evaluator, which
checkkern compares the reference kernel with. Needs the Python package onnx; run it by hand when cases are added:
make_resize_values.py > tests/checkkern/resize_values.inc"""
import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

COORDINATES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
MODES = ["nearest", "linear", "cubic"]
# Size of x, size of y or None, scale or None: whole factors, ties, fractions, one element.
SIZES = [(4, 8, None), (4, None, 2.0), (5, 15, None), (6, 3, None), (9, None, 0.7), (4, None, 0.6), (5, 1, None), (1, 4, None),
         (10, 7, None), (3, 10, None), (8, None, 1.75)]


def row(size):
    """As checkkern makes it."""
    i = np.arange(size)
    return (i * i * 7 % 23 - 5 + 0.25 * i).astype(np.float32)


def resize(size, out, scale, **attributes):
    inputs = ["x", "", "scales" if scale else "", "" if scale else "sizes"]
    node = helper.make_node("Resize", inputs, ["y"], **attributes)
    values = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, 1, size])]
    feeds = {"x": row(size).reshape(1, 1, 1, size)}
    if scale:
        values.append(helper.make_tensor_value_info("scales", onnx.TensorProto.FLOAT, [4]))
        feeds["scales"] = np.array([1, 1, 1, scale], np.float64)  # as it is meant: f32 would make 4.4999999 of ties
    else:
        values.append(helper.make_tensor_value_info("sizes", onnx.TensorProto.INT64, [4]))
        feeds["sizes"] = np.array([1, 1, 1, out], np.int64)
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    return ReferenceEvaluator(model).run(None, feeds)[0].reshape(-1)


def cases():
    for size, out, scale in SIZES:
        for coordinates in COORDINATES:
            for rounding in ROUNDINGS:
                yield size, out, scale, "nearest", coordinates, rounding, 0
            yield size, out, scale, "linear", coordinates, ROUNDINGS[0], 0
            for exclude in (0, 1):
                yield size, out, scale, "cubic", coordinates, ROUNDINGS[0], exclude


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* Made by tests/onnx/make_resize_values.py with the reference evaluator of onnx " + onnx.__version__ + ".")
    print(" * RESIZE(size of x, size of y, scale or 0, mode, coordinates, rounding, exclude_outside, values) */")
    for size, out, scale, mode, coordinates, rounding, exclude in cases():
        extra = {"cubic_coeff_a": -0.75, "exclude_outside": exclude} if mode == "cubic" else {}
        y = resize(size, out, scale, mode=mode, coordinate_transformation_mode=coordinates, nearest_mode=rounding, **extra)
        values = ", ".join(f"{v:.9g}" for v in y)
        print(f"RESIZE({size}, {len(y)}, {scale or 0:.9g}, {mode}, {coordinates}, {rounding}, {exclude}, {values})")
    print("#undef RESIZE")


if __name__ == "__main__":
    main()
