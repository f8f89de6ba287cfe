#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/python/ipex.py against ONNX Runtime: two sizes, inputs given in every way, strides, inspection, failures, memory."""
import os
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, ROOT, Tap, cli

os.environ["IPEX_LIBRARY"] = str(BUILD / "runtime" / "libipex.so")
sys.path.insert(0, str(ROOT / "tools" / "python"))

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import ipex

FOLDER = BUILD / "test-python"


def make_model():
    """y = relu(x W + b), h = x W + b; x [rows][3]"""
    random = np.random.default_rng(5)
    weights = [numpy_helper.from_array(random.standard_normal(shape, np.float32), name)
               for name, shape in (("w", (3, 4)), ("b", (4,)))]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", size]) for name, size in
             (("x", 3), ("y", 4), ("h", 4))]
    graph = helper.make_graph([helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Relu", ["h"], ["y"])],
                              "g", ports[:1], ports[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    onnx.save(model, FOLDER / "model.onnx")
    (FOLDER / "labels.txt").write_text("a\nb\nc\nd\n")
    cli("convert", FOLDER / "model.onnx", "-o", FOLDER / "model.ipex", "--dim", "rows=1..9", "--labels",
        FOLDER / "labels.txt", "--quiet")


def near(ours, wanted):
    return len(ours) == len(wanted) and all(a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, atol=1e-5)
                                            for a, b in zip(ours, wanted))


def check_runs(tap, model, peer):
    for rows in (2, 9, 1):
        x = np.random.default_rng(rows).standard_normal((rows, 3), np.float32)
        wanted = peer.run(None, {"x": x})
        for way, given in (("array", x), ("list", [x]), ("names", {"x": x}), ("columns", np.asfortranarray(x)),
                           ("backwards", x[::-1].copy()[::-1])):
            tap.ok(f"{rows} rows, {way}", near(model.run(given), wanted))
        same = np.broadcast_to(np.float32(0.5), (rows, 3))
        tap.ok(f"{rows} rows, all of them one number", near(model.run(same), peer.run(None, {"x": same.copy()})))
    first = model.run(x)[0]
    kept = first.copy()
    model.run(x + 1)
    tap.ok("an output outlives the next run", np.array_equal(first, kept))


def refused(tap, name, part, call):
    try:
        call()
    except ipex.Error as error:
        tap.ok(f"{name} is refused", part in str(error), error)
    else:
        tap.ok(f"{name} is refused", False, "it was accepted")


def check_failures(tap, model):
    x = np.zeros((2, 3), np.float32)
    file = FOLDER / "model.ipex"
    refused(tap, "a wrong shape", "ERROR_SHAPE", lambda: model.run(x[:, :2]))
    refused(tap, "too many rows", "rows", lambda: model.run(np.zeros((10, 3), np.float32)))
    refused(tap, "another type", "ERROR_DTYPE", lambda: model.run(x.astype(np.float64)))
    refused(tap, "a type without a code", "complex64", lambda: model.run(x.astype(np.complex64)))
    refused(tap, "an unknown input", "'q'", lambda: model.run({"q": x}))
    refused(tap, "an unknown entry", "ERROR_NOT_FOUND", lambda: model.run(x, entry="other"))
    refused(tap, "no file", "ERROR_FILE_IO", lambda: ipex.Model(FOLDER / "none.ipex"))
    refused(tap, "no file, and no UTF-8", "ERROR_FILE_IO", lambda: ipex.Model(b"none\xff.ipex"))
    refused(tap, "a file that is none", "ERROR_FILE", lambda: ipex.Model(FOLDER / "labels.txt"))
    refused(tap, "an unknown size", "columns", lambda: ipex.Model(file, dims={"columns": (1, 2)}))
    refused(tap, "no thread", "ERROR_ARGUMENT", lambda: ipex.Model(file, threads=0))


def threads():
    return len(os.listdir("/proc/self/task"))


def check_forgotten(tap, file):
    """Models that nobody closed: their threads must not outlive the memory that they run in."""
    before, x = threads(), np.ones((2, 3), np.float32)
    model = ipex.Model(file, threads=3)
    model.run(x)
    tap.ok("a model has threads of its own", threads() == before + 2, before, threads())
    del model
    tap.ok("they end with the model, also where nobody closed it", threads() == before, before, threads())
    try:
        ipex.Model(FOLDER / "labels.txt", threads=3)
    except ipex.Error:
        pass
    tap.ok("a model that could not be opened leaves no thread", threads() == before, before, threads())


def check_forked(tap, file):
    """A child has none of its parent's threads: it computes alone, and closing does not wait for them."""
    model, x = ipex.Model(file, threads=3), np.ones((2, 3), np.float32)
    wanted = model.run(x)
    child = os.fork()
    if not child:
        signal.alarm(20)
        same = near(model.run(x), wanted)
        model.close()
        os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    tap.ok("a forked child runs and closes the model", status == 0, status)
    tap.ok("... and its parent runs on", near(model.run(x), wanted))
    model.close()


def main():
    tap = Tap()
    make_model()
    file = FOLDER / "model.ipex"
    peer = onnxruntime.InferenceSession(FOLDER / "model.onnx", providers=["CPUExecutionProvider"])
    with ipex.Model(file) as model:
        check_runs(tap, model, peer)
        check_failures(tap, model)
        tap.ok("entries", model.entries() == ["main"], model.entries())
        tap.ok("inputs", model.ports("input") == [("x", np.float32, (("rows", 1, 9), 3))], model.ports("input"))
        tap.ok("outputs", [name for name, _, _ in model.ports("output")] == ["y", "h"], model.ports("output"))
        tap.ok("symbols", model.symbols() == {"rows": (1, 9, 1)}, model.symbols())
        tap.ok("labels", model.labels() == list("abcd"), model.labels())
        tap.ok("as text", "main input x: float32" in str(model), model)
        whole = model.memory
    x = np.ones((2, 3), np.float32)
    with ipex.Model(file, threads=2) as model:
        tap.ok("two threads", near(model.run(x), peer.run(None, {"x": x})))
    with ipex.Model(file, dims={"rows": (1, 2)}) as model:
        tap.ok("narrowed: right", near(model.run(x), peer.run(None, {"x": x})))
        tap.ok("narrowed: less memory", model.memory < whole, model.memory, whole)
        refused(tap, "more than the narrowed rows", "ERROR_SHAPE", lambda: model.run(np.ones((3, 3), np.float32)))
    model.close()
    check_forgotten(tap, file)
    check_forked(tap, file)
    for name, use in (("run", lambda: model.run(x)), ("ports", lambda: model.ports("input")), ("entries", model.entries),
                      ("symbols", model.symbols), ("labels", model.labels)):
        refused(tap, f"{name} of a closed model", "closed", use)
    lines = len((ROOT / "tools" / "python" / "ipex.py").read_text().splitlines())
    tap.ok("the module has at most 200 lines", lines <= 200, lines)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
