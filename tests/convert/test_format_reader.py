#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""format/FORMAT.md is enough: tests/format_reader.py, written from it, unpacks the weights of every network here, and
they are the source model's, with BatchNorm folded in float64 and rounded once. flatc prints the files too, with the
same names."""
import json
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper

from small_graphs import Bench, Graph

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
import format_reader
from ipextest import ROOT, Tap, command, networks


class Source:
    """The ONNX model: nodes by the name that the converter calls them, constants by value name."""

    def __init__(self, path):
        graph = onnx.load(path).graph
        self.nodes = {node.name or node.output[0]: node for node in graph.node}
        self.producers = {name: node for node in graph.node for name in node.output}
        self.initializers = {tensor.name: tensor for tensor in graph.initializer}

    def constant(self, name):
        """The f64 array of a constant, through the nodes that exporters put between; None when it is none."""
        if name in self.initializers:
            return onnx.numpy_helper.to_array(self.initializers[name]).astype(np.float64)
        node = self.producers.get(name)
        if node is None or node.op_type not in ("Constant", "Identity", "Reshape"):
            return None
        if node.op_type == "Constant":
            return onnx.numpy_helper.to_array(attribute(node, "value")).astype(np.float64)
        x = self.constant(node.input[0])
        if x is None or node.op_type == "Identity":
            return x
        return x.reshape(self.constant(node.input[1]).astype(int))


def attribute(node, name, otherwise=None):
    found = [a for a in node.attribute if a.name == name]
    return onnx.helper.get_attribute_value(found[0]) if found else otherwise


def layer_of(source, node):
    """(the convolution or linear layer, the constant nodes folded into it), of the names that a step stands for."""
    parts = [source.nodes[name] for name in node["name"].split("+") if name in source.nodes]
    layer = next(p for p in parts if p.op_type in ("Conv", "Gemm", "MatMul"))
    return layer, [p for p in parts if p.op_type in ("BatchNormalization", "Add")]


def folded(source, layer, others):
    """scale and bias per output channel in f64, in the order of the nodes; the bias is None where there is none."""
    scale, bias = None, None
    if len(layer.input) > 2:
        bias = source.constant(layer.input[2]).reshape(-1)
    for node in others:
        if node.op_type == "Add":
            constants = [c for c in map(source.constant, node.input) if c is not None]
            if constants and constants[0].size > 1:  # else it is a residual, or the 3 of a hard-swish
                bias = constants[0].reshape(-1) + (0 if bias is None else bias)
            continue
        gamma, beta, mean, variance = map(source.constant, node.input[1:])
        s = gamma / np.sqrt(variance + np.float64(np.float32(attribute(node, "epsilon", 1e-5))))
        bias = (0 if bias is None else bias) * s + (beta - mean * s)
        scale = s if scale is None else scale * s
    return scale, bias


def rounded(weight, scale):
    """Scaled along the first axis in f64, rounded once."""
    if scale is not None:
        weight = weight * scale.reshape(-1, *[1] * (weight.ndim - 1))
    return weight.astype(np.float32)


def kept_taps(source, layer, node):
    """The kernel [M][C/G][KH][KW] without the taps that read nothing but padding; of those at its begin the file's
    padding is so much less."""
    w = source.constant(layer.input[1])
    if w.ndim != 4 or list(w.shape[2:]) == list(node["ints"][:2]):
        return w
    kept = []
    for axis, (size, pad) in enumerate(zip(node["ints"][:2], node["ints"][4:6])):
        begin = (attribute(layer, "pads")[axis] - pad) // attribute(layer, "dilations", [1, 1])[axis]
        kept.append(slice(begin, begin + size))
    return w[:, :, kept[0], kept[1]]


def conv_weight(w, scale, dims):
    """[M][C/G][KH][KW] as the file's [G][S][M/G][T][C/G]."""
    w = rounded(w, scale)
    groups, segments, m, taps, channels = dims
    return w.reshape(groups, m, channels, segments, taps).transpose(0, 3, 1, 4, 2)


def depthwise_weight(w, scale, dims):
    """[M][I][KH][KW] as the file's [KH][KW * I][M], where output m begins with input m mod I."""
    w = rounded(w, scale)
    outputs, inputs = w.shape[:2]
    w = w.reshape(outputs, inputs, dims[0], dims[1] // inputs)
    w = np.stack([np.roll(w[m], -m, axis=0) for m in range(outputs)])
    return w.transpose(2, 3, 1, 0).reshape(dims)


def winograd_points(side, taps):
    """G of so many points: 0, 1, -1, 2, -2 and infinity, the first four without 2 and -2, or none for one tap."""
    at, scale = {6: ([0, 1, -1, 2, -2], [1 / 4, -1 / 6, -1 / 6, 1 / 24, 1 / 24]), 4: ([0, 1, -1], [1, 1 / 2, 1 / 2]), 1: ([], [])}[side]
    rows = [[factor * point ** k for k in range(taps)] for point, factor in zip(at, scale)]
    return np.array(rows + [[0] * (taps - 1) + [1]])


def winograd_weight(w, scale, dims):
    """G g G^T of every scaled kernel, in f64, rounded once."""
    if scale is not None:
        w = w * np.asarray(scale)[:, None, None, None]
    side = {36: 6, 16: 4, 6: 6}[dims[1]]
    down, across = (winograd_points(side if taps > 1 else 1, taps) for taps in w.shape[2:])
    half = sum(down[None, None, :, k, None] * w[:, :, None, k, :] for k in range(w.shape[2]))
    whole = sum(half[:, :, :, None, k] * across[None, None, None, :, k] for k in range(w.shape[3]))
    return whole.astype(np.float32).reshape(*w.shape[:2], dims[1]).transpose(2, 0, 1).reshape(dims)


def linear_weight(source, layer, scale, image):
    """[N][K]; behind a flattened image [H][W][C] the columns follow the image's order in memory."""
    w = source.constant(layer.input[1])
    if layer.op_type == "MatMul" or not attribute(layer, "transB", 0):
        w = w.T
    w = rounded(w, scale)
    if image:
        height, width, channels = image
        w = w.reshape(-1, channels, height, width).transpose(0, 2, 3, 1).reshape(len(w), -1)
    return w


def flattened_image(entry, tensor):
    """[H, W, C] of the image that a matrix is a view of."""
    parent = entry["tensors"][tensor]["view_of"]
    while parent >= 0:
        dims = entry["tensors"][parent]["dims"]
        if len(dims) == 4 and dims[1] * dims[2] > 1:
            return dims[1:]
        parent = entry["tensors"][parent]["view_of"]
    return None


def expected_weight(source, entry, node, layer, scale, dims):
    operator = format_reader.OPERATORS[node["op"]]
    convolutions = {"conv": conv_weight, "depthwise": depthwise_weight, "winograd": winograd_weight}
    if operator in convolutions:
        return convolutions[operator](kept_taps(source, layer, node), scale, dims)
    return linear_weight(source, layer, scale, flattened_image(entry, node["inputs"][0]))


def check_weights(tap, name, file, source):
    """Every weight of a convolution or linear layer of the file, and every bias, equals what the source gives."""
    entry, layers, wrong = file.model["entries"][0], 0, []
    for node in entry["nodes"]:
        if format_reader.OPERATORS[node["op"]] not in ("conv", "winograd", "depthwise", "linear"):
            continue
        layers += 1
        layer, others = layer_of(source, node)
        scale, bias = folded(source, layer, others)
        weight, *more = [i if i < 0 else entry["tensors"][i]["weight"] for i in node["inputs"][1:3]]
        got = file.weight(weight)
        if not np.array_equal(got, expected_weight(source, entry, node, layer, scale, got.shape)):
            wrong.append(f"weight of {node['name']}")
        given = file.weight(more[0]) if more and more[0] >= 0 else None
        same = (bias is None) == (given is None)
        if not same or (bias is not None and not np.array_equal(given, bias.astype(np.float32))):
            wrong.append(f"bias of {node['name']}")
    wanted = sum(node.op_type in ("Conv", "Gemm", "MatMul") for node in source.nodes.values())
    tap.ok(f"{name}: {layers} layers are unpacked to the source's weights, bit by bit", layers == wanted and not wrong,
           f"{layers} of {wanted} layers", *wrong)


def flatc(path, folder, *options):
    done = command("flatc", "--json", "--raw-binary", *options, "-o", folder, ROOT / "format" / "model.fbs", "--", path)
    return done, folder / f"{path.stem}.json"


def check_flatc(tap, name, file, path, folder):
    done, _ = flatc(path, folder)
    tap.ok(f"{name}: flatc prints it", done.returncode == 0, done.stdout, done.stderr)
    done, printed = flatc(path, folder, "--strict-json")
    model = json.loads(printed.read_text()) if done.returncode == 0 else {}
    printed.unlink(missing_ok=True)
    tap.ok(f"{name}: flatc and the reader see the same names", names(model) and names(model) == names(file.model))


def names(model):
    """Of everything that has one."""
    found = [model.get("producer"), model.get("source")] + [w["name"] for w in model.get("weights", [])]
    for entry in model.get("entries", []):
        found.append(entry["name"])
        for kind in ("tensors", "nodes", "inputs", "outputs"):
            found += [row["name"] for row in entry[kind]]
    return found + [(s["site"], s["pass"], s.get("reason", ""), s["text"]) for s in model.get("ledger", [])]


def check_answers(tap, folder):
    """Known answers, labels and constants of a small graph, and a file without any weight."""
    g = Graph()
    x = g.input(2, 3)
    g.output(g.op("Add", x, g.constant(np.arange(3, dtype=np.float32))))
    bench = Bench(folder)
    labels = bench.folder / "labels.txt"
    labels.write_text("red\ngrün\nblue\n", encoding="utf-8")
    done = bench.convert(g.model(), "--golden", "2", "--labels", labels)
    file = format_reader.Model(bench.ipex)
    entry = file.model["entries"][0]
    tap.ok("labels", done.returncode == 0 and entry["labels"] == ["red", "grün", "blue"], done.stderr, entry["labels"])
    constant = next(t["weight"] for t in entry["tensors"] if t["weight"] >= 0)
    tap.ok("a constant", np.array_equal(file.weight(constant).reshape(-1), [0, 1, 2]))
    for index, answer in enumerate(entry["answers"]):
        x, y = file.weight(answer["inputs"][0]), file.weight(answer["outputs"][0])
        kinds = {file.model["sections"][file.model["weights"][w]["section"]]["kind"]
                 for w in answer["inputs"] + answer["outputs"]}
        right = np.array_equal(x + np.arange(3, dtype=np.float32), y) and kinds == {1} and answer["origin"] == "self"
        tap.ok(f"known answer {index}", right, answer)
    tap.ok("two known answers", len(entry["answers"]) == 2)
    g = Graph()
    dtypes = ("float32", "uint8", "int8", "int32", "int64", "bool")
    for dtype in dtypes:
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        x = g.input(3, 67, dtype=kind)
        g.output(g.op("Transpose", x, perm=[1, 0]))
    done = bench.convert(g.model(), "--golden", "3")
    file = format_reader.Model(bench.ipex)
    for index, dtype in enumerate(dtypes):
        answers = [[file.weight(a[kind][index]) for kind in ("inputs", "outputs")] for a in file.model["entries"][0]["answers"]]
        right = all(x.dtype == dtype and np.array_equal(x.T, y) and len(np.unique(x)) > 1 for x, y in answers)
        tap.ok(f"known answers of dtype {dtype}", right and len(answers) == 3, done.stderr, answers)
    g = Graph()
    g.output(g.op("Relu", g.input(2, 3)))
    done = bench.convert(g.model())
    file = format_reader.Model(bench.ipex)
    tap.ok("a file without weights", not file.model["sections"] and not file.model["weights"], file.model["sections"])


def check_damage(tap, folder):
    """One changed byte anywhere: the reader sees it by the digests."""
    g = Graph()
    g.output(g.op("MatMul", g.input(2, 3), g.weight(3, 4)))
    bench = Bench(folder)
    bench.convert(g.model())
    whole = bench.ipex.read_bytes()
    unseen = []
    places = (5, 17, 70, 200, format_reader.Model(bench.ipex).header["metadata_size"] - 1, 65536, len(whole) - 1)
    for place in places:
        bench.ipex.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            format_reader.Model(bench.ipex)
            unseen.append(place)
        except format_reader.FormatError:
            pass
    bench.ipex.write_bytes(whole)
    tap.ok("a changed byte is seen", not unseen, unseen)


def check_command(tap, path):
    done = command(sys.executable, TESTS / "format_reader.py", path)
    parts = ("entry main", "tensors", "nodes", "weights", "ledger", "digests good")
    tap.ok("the command line prints a file", done.returncode == 0 and all(p in done.stdout for p in parts), done.stderr)
    done = command(sys.executable, TESTS / "format_reader.py", __file__)
    refused = done.returncode == 1 and "not an .ipex file" in done.stderr
    tap.ok("the command line refuses what is none", refused, done.stderr)


def check_specification(tap):
    """What counts operators and rules counts all that there are."""
    ops = re.findall(r"^IPEX_OP\((\d+), (\w+),", (ROOT / "format" / "ops.inc").read_text(), re.MULTILINE)
    tap.ok("the reader knows every operator", {int(number): name for number, name in ops} == format_reader.OPERATORS)
    text = (ROOT / "format" / "FORMAT.md").read_text()
    last = max(int(rule) for rule in re.findall(r"^\| R(\d+)", text, re.MULTILINE))
    tap.ok("FORMAT.md says which rule is the last", f"R1 to R{last};" in text, f"R{last}")


def main():
    tap = Tap()
    check_specification(tap)
    here, absent = networks()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for network in here:
            try:
                file = format_reader.Model(network.ipex())
            except (format_reader.FormatError, OSError, ValueError, KeyError, UnicodeDecodeError) as error:
                tap.ok(f"{network.name}: is read", False, error)
                continue
            check_weights(tap, network.name, file, Source(network.onnx))
            check_flatc(tap, network.name, file, network.ipex(), folder)
        check_answers(tap, folder)
        check_damage(tap, folder)
        check_command(tap, Bench(folder).ipex if not here else here[0].ipex())
    for name in absent:
        tap.skip(f"{name}: weights", "its model is not here")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
