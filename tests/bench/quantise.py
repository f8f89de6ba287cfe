#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of compare.py as quantised models, by ONNX Runtime's quantiser, and what compare.py is called with for them.

quantise.py [--models A,B] [--forms F,G]

Forms: u8 (QuantizeLinear and DequantizeLinear, activations without a sign, weights of i8 per output), i8 (activations
with a sign), operator (QLinearConv and its kind), dynamic-i8, dynamic-u8 (MatMulInteger and ConvInteger; weights with
and without a sign). Ranges come from real inputs. Files are build/bench/quantised/NETWORK-FORM.onnx."""
import argparse
import sys

from compare import FOLDER, WORK, Work, make_models

QUANTISED = FOLDER / "quantised"
FORMS = ("u8", "i8", "operator", "dynamic-i8", "dynamic-u8")
# what there are figures of
USUAL = {"resnet50": ("u8", "i8", "operator"), "resnet34": ("u8",), "squeezenet": ("u8",), "mobilenetv2": ("u8",),
         "minilm": ("dynamic-i8", "dynamic-u8")}


class RealInputs:
    """What the quantiser reads ranges from: two real inputs."""

    def __init__(self, network, size):
        self.feeds = iter([network.feeds(network.inputs(size, seed)) for seed in range(2)])

    def get_next(self):
        return next(self.feeds, None)


def save_of_opset_13(path, target):
    """The model, of an opset that knows scales per output."""
    import onnx
    from onnx import version_converter
    model = onnx.load(path)
    version = next(i.version for i in model.opset_import if i.domain in ("", "ai.onnx"))
    onnx.save(version_converter.convert_version(model, 13) if version < 13 else model, target)


def quantise(network, size, form, target):
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process
    kinds = {"u8": quantization.QuantType.QUInt8, "i8": quantization.QuantType.QInt8}
    prepared = target.with_suffix(".prepared.onnx")
    save_of_opset_13(network.path, prepared)
    quant_pre_process(str(prepared), str(prepared), skip_symbolic_shape=True)
    if form.startswith("dynamic"):
        quantization.quantize_dynamic(prepared, target, per_channel=True, weight_type=kinds[form[-2:]])
    else:
        layout = quantization.QuantFormat.QOperator if form == "operator" else quantization.QuantFormat.QDQ
        quantization.quantize_static(prepared, target, RealInputs(network, size), quant_format=layout, per_channel=True,
                                     activation_type=kinds["i8" if form == "i8" else "u8"], weight_type=kinds["i8"])
    prepared.unlink()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default=",".join(USUAL))
    parser.add_argument("--forms", help="default: those that there are figures of, else u8")
    options = parser.parse_args()
    names = options.models.split(",")
    forms = options.forms.split(",") if options.forms else None
    if unknown := [name for name in names if name not in WORK] + [form for form in forms or [] if form not in FORMS]:
        sys.exit(f"quantise: no {', '.join(unknown)}; networks are {', '.join(WORK)}, forms {', '.join(FORMS)}")
    make_models([WORK[name][0] for name in names])
    QUANTISED.mkdir(parents=True, exist_ok=True)
    for name in names:
        work = Work(name)
        if not work.is_here():
            continue
        targets = []
        for form in forms or USUAL.get(name, ("u8",)):
            targets.append(QUANTISED / f"{work.stem.name}-{form}.onnx")
            quantise(work.network, work.sizes, form, targets[-1])
        dims = "".join(f" --dim {symbol}={value}" for symbol, value in work.sizes.items())
        print(f"compare.py --models {','.join(map(str, targets))}{dims}")


if __name__ == "__main__":
    main()
