# SPDX-License-Identifier: Apache-2.0
"""Turns a PyTorch module into one .ipex file: exports it to ONNX with sizes that may vary, converts that with their
bounds, and stores what the module itself answers to examples, so that `ipexpack verify` can compare on any machine.

    import from_torch
    from_torch.convert(module, "net.ipex", [{"x": torch.rand(2, 3, 224, 224)}], {"x": ["batch=1..8", 3, 224, 224]})

Needs torch 2.6 or later with onnxscript. docs/from-pytorch.md shows whole examples."""
import collections.abc
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import torch

BOUNDS = re.compile(r"([^=]+)=(\d+)\.\.(\d+)(?::(\d+))?")
BUILT = pathlib.Path(__file__).resolve().parents[1] / "build" / "tools" / "ipexpack"


def convert(module, path, examples, shapes=None, outputs=None, options=()):
    """Writes `path`. module: an nn.Module; it is put into eval mode. examples: one {name: tensor} or a list of them, by
    the parameters of forward; the first one is traced, all become known answers. shapes: {name: dims} of inputs whose
    sizes vary, a dim a number or "NAME=LO..HI[:STEP]". outputs: names for the outputs (default: the keys of the result,
    or "output", "output_0", ...). options: further ones for `ipexpack convert`. IPEXPACK names the program."""
    examples = [examples] if isinstance(examples, collections.abc.Mapping) else list(examples)
    ranges = {name: [_range(name, dim) for dim in dims] for name, dims in (shapes or {}).items()}
    _check(examples, ranges)
    module.eval()
    with torch.no_grad():
        answers = [_flat(module(**example)) for example in examples]
    names = list(outputs or answers[0])
    if len(names) != len(answers[0]):
        raise ValueError(f"{len(names)} names for {len(answers[0])} outputs: {', '.join(answers[0])}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        _export(module, examples[0], ranges, names, folder / "model.onnx")
        flags = [f"--golden-from={_store(folder / str(i), example, dict(zip(names, answer.values())))}"
                 for i, (example, answer) in enumerate(zip(examples, answers))]
        bounds = {flag for dims in ranges.values() for name, lo, hi, step in filter(None, dims)
                  for flag in [f"--dim={name}={lo}..{hi}:{step}"]}
        program = os.environ.get("IPEXPACK") or (BUILT if BUILT.exists() else "ipexpack")
        command = [program, "convert", folder / "model.onnx", "-o", path, *sorted(bounds), *flags, *options]
        done = subprocess.run([os.fspath(word) for word in command], check=False)
        if done.returncode:
            raise RuntimeError(f"ipexpack convert: exit {done.returncode}, for the reason that it gave")


def _range(port, dim):
    """(name, lo, hi, step) of a dim that varies, None of a number."""
    if isinstance(dim, int):
        return None
    match = BOUNDS.fullmatch(dim)
    if not match:
        raise ValueError(f"{port}: {dim!r} is neither a number nor NAME=LO..HI[:STEP]")
    name, lo, hi, step = match.groups()
    return name, int(lo), int(hi), int(step or 1)


def _check(examples, ranges):
    """What torch would say in many lines, or not at all."""
    if not examples:
        raise ValueError("an example is needed")
    for name, dims in ranges.items():
        for i, example in enumerate(examples):
            if name not in example:
                raise ValueError(f"example {i} has no {name}, but shapes has")
            given = example[name].shape
            if len(given) != len(dims):
                raise ValueError(f"{name}: example {i} has {len(given)} dims, shapes says {len(dims)}")
            for axis, (size, dim) in enumerate(zip(given, dims)):
                if dim and not (dim[1] <= size <= dim[2] and size % dim[3] == 0):
                    raise ValueError(f"{name}: example {i} has {size} along axis {axis}, outside of {dim[0]}={dim[1]}..{dim[2]}:{dim[3]}")
                if dim and i == 0 and size == 1:
                    raise ValueError(f"{name}: the first example has 1 along axis {axis} ({dim[0]}): torch would trace that as fixed")


def _flat(result, name="output"):
    """{name: tensor} of what a module returned, in the order of the export."""
    if isinstance(result, torch.Tensor):
        return {name: result}
    if isinstance(result, collections.abc.Mapping):
        parts = result.items()
    elif isinstance(result, (tuple, list)):
        parts = ((f"{name}_{i}", part) for i, part in enumerate(result))
    else:
        raise TypeError(f"{name} is a {type(result).__name__}, which is no tensor")
    return {key: tensor for part_name, part in parts if part is not None for key, tensor in _flat(part, part_name).items()}


def _dynamic(example, ranges):
    """What torch.export wants to know: a Dim per axis, of names that several axes may share."""
    dims, made = {}, {}
    for port in example:
        made[port] = {}
        for axis, dim in enumerate(ranges.get(port, [])):
            if dim:
                name, lo, hi, step = dim
                steps = dims.setdefault(name, torch.export.Dim(f"dim{len(dims)}", min=-(-lo // step), max=hi // step))
                made[port][axis] = step * steps if step > 1 else steps
    return made


def _export(module, example, ranges, names, path):
    with torch.no_grad():
        program = torch.onnx.export(module, (), kwargs=dict(example), input_names=list(example), output_names=names,
                                    dynamic_shapes=_dynamic(example, ranges), dynamo=True, verbose=False)
    for port in program.model.graph.inputs:
        for axis, dim in enumerate(ranges.get(port.name, [])):
            if dim:
                port.shape[axis] = dim[0]  # by the caller's name
    program.save(path, external_data=False)


def _store(folder, inputs, outputs):
    """A folder of known answers for --golden-from."""
    folder.mkdir()
    (folder / "origin.txt").write_text("torch\n")
    for name, tensor in {**inputs, **outputs}.items():
        np.save(folder / (re.sub(r"[^0-9A-Za-z._-]", "_", name) + ".npy"), tensor.detach().cpu().numpy())
    return folder
