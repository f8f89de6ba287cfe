#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second reader of .ipex files, written from format/FORMAT.md and format/model.fbs alone, with numpy and nothing of
the project: header, FlatBuffer tables, digests, and every weight layout unpacked to its logical array.

format_reader.py FILE   prints entries, tensors, nodes, weights, known answers and the ledger"""
import hashlib
import pathlib
import struct
import sys

import numpy as np

HEADER = struct.Struct("<I4s4sIIIQQQQII32sI28s")
SECTION_ALIGN, CHUNK = 65536, 1 << 20

# Field names by id, with how to read them: a scalar's struct code and default, or "string", or [element].
SCHEMA = {
    "Section": [("offset", "Q"), ("stored", "Q"), ("raw", "Q"), ("codec", "I"), ("kind", "I")],  # a struct
    "Weight": [("name", "string"), ("dtype", "B"), ("layout", "B"), ("dims", ["q"]), ("section", "I"), ("offset", "Q"),
               ("bytes", "Q")],
    "Tensor": [("name", "string"), ("dtype", "B"), ("dims", ["q"]), ("halo", ["H"]), ("weight", "i", -1),
               ("view_of", "i", -1), ("view_axis", "i", -1), ("view_start", "q"), ("room", "q"), ("halo_value", "B")],
    "Node": [("op", "H"), ("name", "string"), ("inputs", ["i"]), ("outputs", ["i"]), ("ints", ["i"]), ("floats", ["f"]),
             ("band", "I"), ("dynamic", ["i"])],
    "Port": [("name", "string"), ("tensor", "I"), ("dims", ["q"])],
    "Answer": [("origin", "string"), ("inputs", ["I"]), ("outputs", ["i"])],
    "Entry": [("name", "string"), ("tensors", ["Tensor"]), ("nodes", ["Node"]), ("inputs", ["Port"]),
              ("outputs", ["Port"]), ("labels", ["string"]), ("answers", ["Answer"]), ("arithmetic", "B"),
              ("symbols", ["Symbol"]), ("exprs", ["Expr"])],
    "Symbol": [("name", "string"), ("lo", "q"), ("hi", "q"), ("step", "q", 1)],
    "Expr": [("op", "I"), ("pad", "I"), ("a", "q"), ("b", "q")],  # a struct
    "Site": [("entry", "I"), ("site", "string"), ("pass", "string"), ("applied", "?"), ("reason", "string"),
             ("text", "string")],
    "Pair": [("key", "string"), ("value", "string")],
    "Model": [("producer", "string"), ("source", "string"), ("options", "string"), ("sections", ["Section"]),
              ("weights", ["Weight"]), ("entries", ["Entry"]), ("ledger", ["Site"]), ("metadata", ["Pair"]),
              ("chunk_digests", ["B"])],
}
STRUCTS = ("Section", "Expr")
DTYPES = {1: ("f32", np.dtype("<f4")), 2: ("bf16", np.dtype("<u2")), 3: ("f16", np.dtype("<f2")),
          4: ("i8", np.dtype("i1")), 5: ("u8", np.dtype("u1")), 6: ("i32", np.dtype("<i4")),
          7: ("i64", np.dtype("<i8")), 8: ("bool", np.dtype("?")), 9: ("f64", np.dtype("<f8"))}
LAYOUTS = {0: "plain", 1: "channels", 2: "tiles"}
OPERATORS = {1: "linear", 2: "conv", 3: "depthwise", 4: "max_pool", 5: "avg_pool", 6: "pointwise", 7: "transpose",
             8: "copy", 9: "pad", 10: "slice", 11: "softmax", 12: "reduce", 13: "matmul", 14: "attention",
             15: "layer_norm", 16: "group_norm", 17: "conv_transpose", 18: "resize", 19: "gather", 20: "cast",
             21: "compare", 22: "logical", 23: "where", 24: "integer", 25: "expand", 26: "arg", 27: "topk",
             28: "cumsum", 29: "lstm", 30: "gru", 31: "winograd", 32: "scatter", 33: "grid_sample",
             34: "upsampled_conv", 35: "linear_blocks"}
TILE_K_PER_ROW = {"f32": 1, "bf16": 2, "f16": 2, "i8": 4, "u8": 4}


class FormatError(Exception):
    pass


# ---- FlatBuffer ----

def scalar(data, at, code):
    return struct.unpack_from("<" + code, data, at)[0]


def reference(data, at):
    return at + scalar(data, at, "I")


def string(data, at):
    length = scalar(data, at, "I")
    return bytes(data[at + 4 : at + 4 + length]).decode("utf-8")


def vector(data, at, element):
    count, first = scalar(data, at, "I"), at + 4
    if element in STRUCTS:
        codes = struct.Struct("<" + "".join(code for _, code in SCHEMA[element]))
        names = [name for name, _ in SCHEMA[element]]
        return [dict(zip(names, codes.unpack_from(data, first + codes.size * i))) for i in range(count)]
    if element == "string":
        return [string(data, reference(data, first + 4 * i)) for i in range(count)]
    if element in SCHEMA:
        return [table(data, reference(data, first + 4 * i), element) for i in range(count)]
    return list(struct.unpack_from(f"<{count}{element}", data, first))


def table(data, at, name):
    """The table at position `at` as a dict of all its fields, defaults filled in."""
    vtable = at - scalar(data, at, "i")
    slots = (scalar(data, vtable, "H") - 4) // 2
    result = {}
    for index, (field, kind, *default) in enumerate(SCHEMA[name]):
        offset = scalar(data, vtable + 4 + 2 * index, "H") if index < slots else 0
        place = at + offset
        if isinstance(kind, list):
            result[field] = vector(data, reference(data, place), kind[0]) if offset else []
        elif kind == "string":
            result[field] = string(data, reference(data, place)) if offset else ""
        else:
            result[field] = scalar(data, place, kind) if offset else (default or [0])[0]
    return result


# ---- weights ----

def convolution_tiles(dims):
    """groups, segments, N per group, K per segment of a tiled weight."""
    if len(dims) == 2:
        return 1, 1, *dims
    groups, segments, n, taps, channels = dims
    return groups, segments, n, taps * channels


def untile(data, dtype, dims):
    """Tiles [groups][segments][panels][k_tiles][16 rows][16 n][q] to the logical array of `dims`."""
    q = TILE_K_PER_ROW[dtype[0]]
    groups, segments, n, k = convolution_tiles(dims)
    panels, k_tiles = -(-n // 16), -(-k // (16 * q))
    across = dtype[0] == "f16"  # a row has one k of all columns, then the next
    shape = (16 * q, 16, 1) if across else (16, 16, q)
    tiles = np.frombuffer(data, dtype[1]).reshape(groups, segments, panels, k_tiles, *shape)
    # panel, column -> n;  tile, row, position -> k
    matrix = tiles.transpose(0, 1, 2, 5, 3, 4, 6).reshape(groups, segments, panels * 16, k_tiles * 16 * q)
    if matrix[:, :, n:].any() or matrix[:, :, :, k:].any():
        raise FormatError("the padding of a tile is not zero")
    return matrix[:, :, :n, :k].reshape(dims)


def unpack(data, weight):
    """The logical array of a weight from its bytes; bf16 as the u16 that hold it."""
    dtype, layout, dims = DTYPES[weight["dtype"]], LAYOUTS[weight["layout"]], weight["dims"]
    if layout == "tiles":
        return untile(data, dtype, dims)
    if layout == "plain":
        return np.frombuffer(data, dtype[1]).reshape(dims)
    aligned, pitch = -(-dims[-1] // 16) * 16, (-(-dims[-1] // 16) | 1) * 16
    elements = np.frombuffer(data, dtype[1])
    rows = np.append(elements, np.zeros(pitch - aligned, dtype[1])).reshape(*dims[:-1], pitch)
    if rows[..., dims[-1]:].any():
        raise FormatError("the padding of a row of channels is not zero")
    return rows[..., : dims[-1]]


# ---- the file ----

class Model:
    """An .ipex file: `header`, `model` (dicts as in model.fbs), and weight(i), its logical array."""

    def __init__(self, path):
        self.data = np.memmap(path, np.uint8, mode="r")
        if len(self.data) < HEADER.size:
            raise FormatError("shorter than a header")
        names = ("root", "identifier", "tag", "header_size", "format_version", "writer_version", "file_size",
                 "metadata_size", "required_features", "optional_features", "entries", "tensors", "digest",
                 "dynamic_tensors", "reserved")
        self.header = dict(zip(names, HEADER.unpack(self.data[: HEADER.size])))
        self.check_header()
        metadata = bytes(self.data[: self.header["metadata_size"]])
        self.check_digest(metadata)
        self.model = table(metadata, self.header["root"], "Model")
        self.check_data()

    def check_header(self):
        header = self.header
        if header["identifier"] != b"IPEX" or header["tag"] != b"xh01" or header["header_size"] != 128:
            raise FormatError("not an .ipex file")
        if header["format_version"] != 0 or header["required_features"]:
            raise FormatError("of a format that this reader does not know")
        if header["file_size"] != len(self.data) or header["metadata_size"] > len(self.data):
            raise FormatError("cut off")

    def check_digest(self, metadata):
        if hashlib.sha256(metadata[:64] + bytes(32) + metadata[96:]).digest() != self.header["digest"]:
            raise FormatError("the metadata does not have its digest")

    def check_data(self):
        """Digest i covers MiB i from the first section to the end of the file."""
        sections, digests = self.model["sections"], bytes(self.model["chunk_digests"])
        begin = sections[0]["offset"] if sections else len(self.data)
        chunks = range(begin, len(self.data), CHUNK)
        if sections and begin != -(-self.header["metadata_size"] // SECTION_ALIGN) * SECTION_ALIGN:
            raise FormatError("data does not begin behind the metadata")
        if len(digests) != 32 * len(chunks):
            raise FormatError("not one digest per MiB")
        for index, at in enumerate(chunks):
            if hashlib.sha256(self.data[at : at + CHUNK]).digest() != digests[32 * index : 32 * index + 32]:
                raise FormatError(f"MiB {index} of the data does not have its digest")

    def weight(self, index):
        weight = self.model["weights"][index]
        at = self.model["sections"][weight["section"]]["offset"] + weight["offset"]
        return unpack(self.data[at : at + weight["bytes"]], weight)


# ---- printing ----

def shape(dims):
    return "x".join(map(str, dims)) or "scalar"


def describe_tensor(index, t):
    text = f"  {index:4} {DTYPES[t['dtype']][0]} {shape(t['dims'])} {t['name']}"
    if any(t["halo"]):
        text += f", halo {t['halo']}" + (f" of {t['halo_value']}" if t["halo_value"] else "")
    if t["room"]:
        text += f", room for {t['room']}"
    if t["weight"] >= 0:
        text += f", weight {t['weight']}"
    if t["view_of"] >= 0:
        cut = f"axis {t['view_axis']} from {t['view_start']}" if t["view_axis"] >= 0 else "other dims"
        text += f", view of {t['view_of']} ({cut})"
    return text


def print_entry(entry):
    print(f"entry {entry['name']}: {len(entry['labels'])} labels, {len(entry['answers'])} known answers")
    for kind in ("inputs", "outputs"):
        for port in entry[kind]:
            print(f"  {kind[:-1]} {port['name']}: {shape(port['dims'])}, tensor {port['tensor']}")
    print(" tensors")
    for index, tensor in enumerate(entry["tensors"]):
        print(describe_tensor(index, tensor))
    print(" nodes")
    for node in entry["nodes"]:
        print(f"  {OPERATORS[node['op']]} {node['inputs']} -> {node['outputs']} {node['ints']} {node['floats']} "
              f"{node['name']}")


def print_model(file):
    model = file.model
    print(f"{model['producer']}, from {model['source']}, {file.header['file_size']} bytes, digests good")
    for pair in model["metadata"]:
        print(f"  {pair['key']} = {pair['value']}")
    for entry in model["entries"]:
        print_entry(entry)
    print("weights")
    for index, weight in enumerate(model["weights"]):
        array = file.weight(index)
        print(f"  {index:4} {DTYPES[weight['dtype']][0]} {LAYOUTS[weight['layout']]} {shape(weight['dims'])} "
              f"{weight['name']}: {array.min():.6g} to {array.max():.6g}")
    print("ledger")
    for site in model["ledger"]:
        print(f"  {site['pass']} {site['site']}: {site['reason'] or 'applied'}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: format_reader.py FILE")
    try:
        print_model(Model(pathlib.Path(sys.argv[1])))
    except (FormatError, OSError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
