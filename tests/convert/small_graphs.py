# SPDX-License-Identifier: Apache-2.0
"""Small ONNX graphs for the tests of the converter: a builder with few words per node, and a bench that converts a
graph, runs it and compares every output with ONNX Runtime (which gets the graph as it is: its own rewriting is off)."""
import functools
import hashlib
import json
import os
import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import CLI, cli_json, command, isa_levels

TOLERANCE = 1e-4  # of the largest magnitude of the expected output
IR_VERSION = 9
FLOAT = onnx.TensorProto.FLOAT
KEPT_ALIKE = 3
SMALL_INTEGERS = {onnx.TensorProto.UINT8, onnx.TensorProto.INT8, onnx.TensorProto.UINT16, onnx.TensorProto.INT16}


class Graph:
    """An ONNX graph under construction. Every method that makes a value returns its name."""
    ir_version, domains = IR_VERSION, ()

    def __init__(self, opset=17, seed=1):
        self.random = np.random.default_rng(seed)
        self.opset, self.nodes, self.inputs, self.outputs, self.constants = opset, [], [], [], []
        self.output_dtypes = {}

    def input(self, *dims, name=None, dtype=FLOAT):
        """A graph input; a dim may be a symbol."""
        name = name or f"in{len(self.inputs)}"
        self.inputs.append(onnx.helper.make_tensor_value_info(name, dtype, dims))
        return name

    def constant(self, array, name=None):
        name = name or f"const{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *dims, name=None, scale=0.5):
        return self.constant((self.random.standard_normal(dims) * scale).astype(np.float32), name)

    def positive(self, *dims, name=None):
        return self.constant(self.random.uniform(0.5, 1.5, dims).astype(np.float32), name)

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def scalar(self, value):
        return self.constant(np.array(value, np.float32))

    def op(self, op_type, *inputs, outputs=1, name=None, out=None, domain="", **attributes):
        """A node; its name is OP_TYPE and its number unless given. Several outputs come as a list."""
        label = name or f"{op_type}{len(self.nodes)}"
        names = [out or f"{label}_out"] if outputs == 1 else [f"{label}_out{i}" for i in range(outputs)]
        self.nodes.append(onnx.helper.make_node(op_type, inputs, names, name=label, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, c, m, kernel=(3, 3), groups=1, bias=False, weight=None, name=None, scale=0.5, **attributes):
        weight = weight or self.weight(m, c // groups, *kernel, scale=scale)
        operands = [x, weight] + ([self.weight(m)] if bias else [])
        return self.op("Conv", *operands, name=name, group=groups, **attributes)

    def batch_norm(self, x, channels, name=None, **attributes):
        parameters = self.positive(channels), self.weight(channels), self.weight(channels), self.positive(channels)
        return self.op("BatchNormalization", x, *parameters, name=name, **attributes)

    def output(self, *names, dtype=FLOAT):
        self.outputs += names
        self.output_dtypes |= dict.fromkeys(names, dtype)

    def model(self):
        outputs = [onnx.helper.make_tensor_value_info(name, self.output_dtypes.get(name, FLOAT), None) for name in self.outputs]
        graph = onnx.helper.make_graph(self.nodes, "small", self.inputs, outputs, self.constants)
        opsets = [onnx.helper.make_opsetid("", self.opset), *(onnx.helper.make_opsetid(domain, 1) for domain in self.domains)]
        return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=self.ir_version)

    def feeds(self, sizes=None):
        """Random inputs; `sizes` gives the values of symbols."""
        return {i.name: self.random_array(i.type.tensor_type, sizes or {}) for i in self.inputs}

    def random_array(self, tensor, sizes):
        shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in tensor.shape.dim]
        if tensor.elem_type == onnx.TensorProto.BOOL:
            return self.random.random(shape) < 0.6
        if tensor.elem_type in (onnx.TensorProto.INT32, onnx.TensorProto.INT64):
            return self.random.integers(0, 6, shape).astype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        if tensor.elem_type in SMALL_INTEGERS:
            limits = np.iinfo(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
            return self.random.integers(limits.min, limits.max + 1, shape).astype(limits.dtype)
        return self.random.standard_normal(shape).astype(np.float32)


def expected_outputs(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return dict(zip([o.name for o in session.get_outputs()],
                    session.run(None, {name: feeds[name] for name in names})))


def file_name(port):
    """The name under which `ipexpack run` writes an output, without .npy."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in port)


@functools.cache
def variants():
    """The run options of every kernel level here and thread count; the first is what others are compared with."""
    levels = [level for level, available in isa_levels().items() if available]
    return [("--isa", level, "--threads", str(n)) for level in levels for n in (1, 2)]


def keep_model(path):
    """Where IPEX_KEEP_MODELS names a folder: a copy there, of those of the same operators the first few."""
    if folder := os.environ.get("IPEX_KEEP_MODELS"):
        kinds = "-".join(node.op_type for node in onnx.load(path, load_external_data=False).graph.node)
        for index in range(KEPT_ALIKE):
            kept = pathlib.Path(folder) / f"{hashlib.sha256(kinds.encode()).hexdigest()[:16]}.{index}.onnx"
            if not kept.exists():
                return shutil.copyfile(path, kept)


class Bench:
    """Converts and runs models in a folder of its own. Methods return None or say what is wrong."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.onnx, self.ipex = self.folder / "model.onnx", self.folder / "model.ipex"

    def convert(self, model, *flags):
        """The finished process of `ipexpack convert`; an older result is gone before."""
        self.ipex.unlink(missing_ok=True)
        onnx.save(model, self.onnx)
        keep_model(self.onnx)
        return command(CLI, "convert", self.onnx, "-o", self.ipex, "--quiet", *flags)

    def run(self, feeds, *options):
        """{output name of the file: array}, or the text of what went wrong."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        arguments = []
        for index, (name, array) in enumerate(feeds.items()):
            np.save(self.folder / f"{index}.npy", array)
            arguments += ["--input", f"{name}={self.folder / f'{index}.npy'}"]
        done = command(CLI, "run", self.ipex, *arguments, "--output", out, "--json", *options)
        if done.returncode != 0:
            return f"run: exit {done.returncode}\n{done.stderr}"
        return {o["name"]: np.load(out / f"{file_name(o['name'])}.npy") for o in json.loads(done.stdout)["outputs"]}

    def compare(self, feeds, expected):
        got = self.run(feeds)
        if isinstance(got, str):
            return got
        wrong = [text for name in expected if (text := difference(name, got.get(name), expected[name]))]
        return "\n".join(wrong) or None

    def compare_bits(self, feeds, ways=None):
        """All these run options give the same bytes; without any, all kernel levels and thread counts."""
        first, *others = ways or variants()
        baseline = self.run(feeds, *first)
        for options in others:
            got = baseline if isinstance(baseline, str) else self.run(feeds, *options)
            if isinstance(got, str):
                return got
            for name, array in got.items():
                if array.tobytes() != baseline[name].tobytes():
                    return f"{name}: {' '.join(options)} gives other bytes than {' '.join(first)}"
        return None

    def answers(self, **tensors):
        """A folder for `convert --golden-from` that has these, such as input_0."""
        folder = self.folder / "answers"
        folder.mkdir(exist_ok=True)
        for name, array in tensors.items():
            (folder / f"{name}.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
        return folder

    def verify(self):
        done = command(CLI, "verify", self.ipex)
        return None if done.returncode == 0 else f"verify: exit {done.returncode}\n{done.stderr}{done.stdout}"

    def right(self, graph, *flags, bits=False, sizes=()):
        """Converts a Graph, compares with ONNX Runtime, and replays known answers where `flags` ask for some. `sizes`:
        values of the symbols, one dict per run. bits: all kernel levels and thread counts give the same, or the run
        options of this list."""
        model = graph.model()
        done = self.convert(model, *flags)
        if done.returncode != 0:
            return f"convert: exit {done.returncode}\n{done.stderr}"
        for values in sizes or [{}]:
            feeds = graph.feeds(values)
            try:
                expected = expected_outputs(model, feeds)
            except Exception as error:  # its classes are not public
                return f"the test's graph is wrong, ONNX Runtime refuses it: {error}"
            why = self.compare(feeds, expected)
            if bits and not why:
                why = self.compare_bits(feeds, None if bits is True else bits)
            if why:
                return f"{values or 'fixed sizes'}: {why}"
        return self.verify() if flags else None

    def ledger(self):
        return cli_json("inspect", self.ipex)["ledger"]


def difference(name, got, expected):
    """None when they agree; NaN and infinities must be the same."""
    if got is None:
        return f"output {name} is missing"
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{name}: {got.dtype} {got.shape}, expected {expected.dtype} {expected.shape}"
    finite = np.isfinite(expected)
    if not np.array_equal(got[~finite], expected[~finite], equal_nan=True):
        return f"{name}: other infinities or NaNs"
    if not finite.any():
        return None
    magnitude = float(np.abs(expected[finite]).max())
    worst = float(np.abs(got[finite].astype(np.float64) - expected[finite]).max())
    if worst <= TOLERANCE * magnitude:
        return None
    return f"{name}: {worst:.3g} off, the largest magnitude is {magnitude:.3g}"
