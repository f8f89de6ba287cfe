# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime computes, for `ipexpack compare`, which runs this text with python3 -c:

  MODEL FOLDER INPUTS NAME... OUTPUTS NAME... INNER NAME...    (each count is followed by as many names)

Reads FOLDER/input_I.npy, writes FOLDER/output_I.npy for the outputs and then the inner tensors, which are made outputs
of the graph, and prints its version. Exit status 3: this Python has no onnxruntime or numpy; 1: it failed, the last line
on stderr says why."""
import os
import sys

try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def take(words):
    count = int(words.pop(0))
    return [words.pop(0) for _ in range(count)]


def main(path, folder, *words):
    words = list(words)
    inputs, outputs, inner = take(words), take(words), take(words)
    with open(path, "rb") as file:
        model = file.read()
    # Messages of protobuf that stand one behind the other are merged: ModelProto.graph is field 7, GraphProto.output 12,
    # ValueInfoProto.name 1.
    model += b"".join(field(7, field(12, field(1, name.encode()))) for name in inner)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.model_external_initializers_file_folder_path",
                                     os.path.dirname(os.path.abspath(path)))
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {name: numpy.load(os.path.join(folder, f"input_{index}.npy")) for index, name in enumerate(inputs)}
    halves = {i.name for i in session.get_inputs() if i.type == "tensor(float16)"}  # f32 in the file
    feeds = {name: value.astype(numpy.float16) if name in halves else value for name, value in feeds.items()}
    for index, value in enumerate(session.run(outputs + inner, feeds)):
        value = value.astype(numpy.float32) if value.dtype == numpy.float16 else value
        numpy.save(os.path.join(folder, f"output_{index}.npy"), value)
    print(f"ONNX Runtime {onnxruntime.__version__}")


try:
    main(*sys.argv[1:])
except Exception as error:  # ONNX Runtime's own classes are not public
    print(" ".join(str(error).split()), file=sys.stderr)
    sys.exit(1)
