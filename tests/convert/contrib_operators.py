#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operators of domain com.microsoft that ONNX Runtime's optimiser writes: those imported give what ONNX Runtime gives,
also in a model that it optimised itself; all others are refused by name, with what to do."""
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from small_graphs import Bench, Graph, expected_outputs  # also finds ipextest
from ipextest import Tap, cli_json

DOMAIN = "com.microsoft"
INT32 = onnx.TensorProto.INT32
CASES, STAND_INS, REFUSED = [], [], []


class Contrib(Graph):
    domains = (DOMAIN,)

    def contrib(self, op_type, *inputs, **attributes):
        return self.op(op_type, *inputs, domain=DOMAIN, **attributes)

    def key_mask(self, *dims):
        return self.constant((self.random.random(dims) < 0.7).astype(np.int32))


def case(function, flags=(), sizes=()):
    CASES.append((function.__name__.replace("_", " "), function, flags, sizes))
    return function


def varying(**ranges):
    """As case, with --dim NAME=LO..HI of each (LO, HI); runs at both ends and in between."""
    flags = [part for name, (lo, hi) in ranges.items() for part in ("--dim", f"{name}={lo}..{hi}")]
    sizes = [{name: (lo, hi, (lo + hi) // 2)[(k + i) % 3] for i, (name, (lo, hi)) in enumerate(ranges.items())} for k in range(3)]
    sizes += [{name: bounds[end] for name, bounds in ranges.items()} for end in range(2)]
    return lambda function: case(function, flags, sizes)


def refused(*parts):
    def mark(function):
        REFUSED.append((function.__name__.replace("_", " "), function, parts))
        return function
    return mark


# ---- activations ----

def activation(op_type, bias, **attributes):
    def fill(g):
        x = g.input(2, 5, 16)
        g.output(g.contrib(op_type, x, *[g.weight(16)] * bias, **attributes))
    fill.__name__ = f"{op_type}_with_{bias}_biases"
    return case(fill)


for _arguments in ("Gelu", 0), ("BiasGelu", 1), ("FastGelu", 0), ("FastGelu", 1), ("QuickGelu", 0):
    activation(*_arguments)
activation("QuickGelu", 0, alpha=1.0)


# ---- products ----

def fused_matmul(a, b, constant, **attributes):
    def fill(g):
        g.output(g.contrib("FusedMatMul", g.input(*a), g.weight(*b) if constant else g.input(*b), **attributes))
    fill.__name__ = f"FusedMatMul_of_{'x'.join(map(str, a))}_and_{'x'.join(map(str, b))}_{'_'.join(attributes)}"
    return case(fill)


fused_matmul((2, 3, 7, 8), (2, 3, 8, 5), False, alpha=0.3)
fused_matmul((2, 3, 8, 7), (2, 3, 5, 8), False, transA=1, transB=1)
fused_matmul((2, 7, 8), (9, 8), True, transB=1, alpha=2.0)
fused_matmul((8, 7), (8, 9), True, transA=1)
fused_matmul((7, 2, 3, 8), (2, 3, 8, 5), False, transBatchA=1, alpha=0.5)
fused_matmul((8, 2, 7), (5, 2, 8), False, transBatchA=1, transA=1, transBatchB=1, transB=1)


def fused_conv(name, addend=False, **attributes):
    def fill(g):
        operands = [g.input(1, 4, 9, 9), g.weight(8, 4, 3, 3), g.weight(8)] + [g.input(1, 8, 9, 9)] * addend
        g.output(g.contrib("FusedConv", *operands, activation=name, pads=[1, 1, 1, 1], **attributes))
    fill.__name__ = f"FusedConv_with_{name}{'_behind_a_sum' * addend}"
    return case(fill)


fused_conv("Relu")
fused_conv("Sigmoid")
fused_conv("Tanh")
fused_conv("LeakyRelu", activation_params=[0.2])
fused_conv("Clip", activation_params=[-0.5, 0.75])
fused_conv("HardSigmoid", activation_params=[0.3, 0.4])
fused_conv("HardSwish")
fused_conv("Relu", addend=True)
fused_conv("HardSigmoid", addend=True, activation_params=[0.2, 0.5])


def fused_gemm(name, **attributes):
    def fill(g):
        g.output(g.contrib("FusedGemm", g.input("B", 8), g.weight(8, 12), g.weight(12), activation=name, **attributes))
    fill.__name__ = f"FusedGemm_with_{name}"
    return varying(B=(1, 9))(fill)


for _name in "Relu", "Sigmoid", "Softplus", "Softsign", "Tanh":
    fused_gemm(_name)
fused_gemm("Elu", activation_alpha=0.7)
fused_gemm("HardSigmoid", activation_alpha=0.3, activation_beta=0.4)
fused_gemm("LeakyRelu", activation_alpha=0.2)
fused_gemm("Selu", activation_alpha=1.5, activation_gamma=1.1)
fused_gemm("ThresholdedRelu", activation_alpha=0.5)


@case
def FusedGemm_scaled_and_turned(g):
    g.output(g.contrib("FusedGemm", g.input(8, 3), g.weight(12, 8), g.weight(3, 1), activation="Tanh", alpha=0.3, beta=2.0,
                       transA=1, transB=1))


@case
def FusedGemm_of_two_inputs(g):
    g.output(g.contrib("FusedGemm", g.input(3, 8), g.input(8, 12), activation="LeakyRelu", activation_alpha=0.1, alpha=0.3))


# ---- normalisation ----

@case
def SkipLayerNormalization_with_bias_and_sum(g):
    x, skip = g.input(2, 5, 16), g.input(2, 5, 16)
    names = g.op("SkipLayerNormalization", x, skip, g.positive(16), g.weight(16), g.weight(16), outputs=4, domain=DOMAIN,
                 epsilon=1e-5)
    for i in (1, 2):
        g.nodes[-1].output[i] = ""
    g.output(names[0], names[3])


@case
def SkipLayerNormalization_without_beta(g):
    g.output(g.contrib("SkipLayerNormalization", g.input(2, 5, 16), g.input(2, 5, 16), g.positive(16)))


@case
def SkipSimplifiedLayerNormalization_with_bias(g):
    g.output(g.contrib("SkipSimplifiedLayerNormalization", g.input(2, 5, 16), g.input(2, 5, 16), g.positive(16), g.weight(16),
                       epsilon=1e-6))


@case
def SimplifiedLayerNormalization_of_the_default_domain(g):
    g.output(g.op("SimplifiedLayerNormalization", g.input(2, 5, 16), g.positive(16), axis=-1, epsilon=1e-6))


def embeddings(g, batch=2, steps=5, segments=True, mask=True, positions=None, outputs=2, **attributes):
    ids = [g.input(batch, steps, dtype=INT32) for _ in range(1 + segments)]
    operands = [ids[0], ids[-1] if segments else "", g.weight(12, 16), g.weight(16, 16), g.weight(6, 16) if segments else "",
                g.positive(16), g.weight(16), g.input(batch, steps, dtype=INT32) if mask else ""]
    if positions:
        operands.append(g.input(*positions, dtype=INT32))
    return g.op("EmbedLayerNormalization", *operands, outputs=outputs, domain=DOMAIN, **attributes)


def embedded(name, *arguments, dims=None, **keywords):
    def fill(g):
        names = embeddings(g, *arguments, **keywords)
        g.output(names[0], *names[2:])
        g.output(names[1], dtype=INT32)
    fill.__name__ = f"EmbedLayerNormalization_{name}"
    return varying(**dims)(fill) if dims else case(fill)


embedded("plain", mask=False)
embedded("with_a_mask")
embedded("without_segments", segments=False, outputs=3)
embedded("with_its_sum_and_positions", positions=(2, 5), outputs=3, epsilon=1e-3)
embedded("with_positions_of_all", positions=(1, 5), mask=False)
embedded("of_one_step", 1, 1, mask_index_type=1)
embedded("of_varying_sizes", "B", "S", outputs=3, dims={"B": (1, 4), "S": (1, 16)})
embedded("of_varying_sizes_without_a_mask", "B", "S", mask=False, dims={"B": (1, 4), "S": (1, 16)})
embedded("of_varying_sizes_with_positions", "B", "S", positions=("B", "S"), dims={"B": (1, 4), "S": (1, 16)})


# ---- attention ----

def multi_head(name, mask=None, bias=False, scores=None, **attributes):
    def fill(g):
        operands = [g.input(2, 6, 24), g.input(2, 9, 24), g.input(2, 9, 24)]
        operands.append(g.weight(72) if bias else "")
        operands.append(g.key_mask(*mask) if mask else "")
        operands.append(g.input(*scores) if scores else "")
        while not operands[-1]:
            operands.pop()
        g.output(g.contrib("MultiHeadAttention", *operands, num_heads=3, **attributes))
    fill.__name__ = f"MultiHeadAttention_{name}"
    return case(fill)


multi_head("plain")
multi_head("with_a_bias", bias=True)
multi_head("with_a_mask_per_key", mask=(2, 9))
multi_head("with_a_bias_of_the_scores", scores=(2, 3, 6, 9))
multi_head("with_a_scale", scale=0.11)


def attention(name, mask=None, sizes=(24, 24, 24), **attributes):
    def fill(g):
        operands = [g.input(2, 7, 20), g.weight(20, sum(sizes)), g.weight(sum(sizes))] + ([g.key_mask(*mask)] if mask else [])
        g.output(g.contrib("Attention", *operands, num_heads=3, **attributes))
    fill.__name__ = f"Attention_{name}"
    return case(fill)


attention("plain")
attention("with_a_mask_per_key", mask=(2, 7))
attention("with_a_mask_per_query", mask=(2, 7, 7))
attention("causal", unidirectional=1)
attention("with_sizes", sizes=(15, 15, 21), qkv_hidden_sizes=[15, 15, 21])
attention("with_sizes_that_are_no_thirds", sizes=(15, 15, 24), qkv_hidden_sizes=[15, 15, 24], mask=(2, 7))


def lengths(name, lengths, operator="Attention", batch=2, **attributes):
    """Lengths (None: as an input) instead of a mask."""
    def fill(g):
        ends = g.input(2 * batch if "starts" in name else batch, dtype=INT32) if lengths is None else \
            g.constant(np.array(lengths, np.int32))
        x = g.input(batch, 7, 24)
        operands = [g.weight(24, 72), g.weight(72), ends] if operator == "Attention" else \
            [g.input(batch, 9, 24), g.input(batch, 9, 24), "", ends]
        g.output(g.contrib(operator, x, *operands, num_heads=3, **attributes))
    fill.__name__ = f"{operator}_with_lengths_{name}"
    return case(fill)


lengths("that_are_constants", [7, 3])
lengths("beyond_both_ends", [0, 9])
lengths("as_an_input", None, batch=3)
lengths("as_an_input", None, "MultiHeadAttention", batch=3)
lengths("and_a_filter_value", [2, 5], mask_filter_value=-3.0)
lengths("causal", [2, 5], unidirectional=1)
lengths("and_starts_that_are_constants", [7, 3, 2, 1])
lengths("and_starts_beyond_both_ends", [7, 3, 9, 3])
lengths("and_starts_as_an_input", None)


@varying(B=(1, 4), S=(1, 16))
def Attention_with_lengths_of_varying_sizes(g):
    x, ends = g.input("B", "S", 24), g.input("B", dtype=INT32)
    g.output(g.contrib("Attention", x, g.weight(24, 72), g.weight(72), ends, num_heads=3))


@varying(B=(1, 4), S=(1, 16))
def Attention_behind_embeddings_of_varying_sizes(g):
    x, ends = embeddings(g, "B", "S")
    for _ in range(2):
        x = g.contrib("Attention", x, g.weight(16, 48), g.weight(48), ends, num_heads=2)
    g.output(x)


@varying(B=(1, 4), S=(1, 16))
def Attention_with_a_mask_of_varying_sizes(g):
    x, mask = g.input("B", "S", 24), g.input("B", "S", dtype=INT32)
    g.output(g.contrib("Attention", x, g.weight(24, 72), g.weight(72), mask, num_heads=3))


@varying(B=(1, 4), S=(1, 9), L=(1, 16))
def MultiHeadAttention_with_lengths_of_varying_sizes(g):
    x, keys, values, ends = g.input("B", "S", 24), g.input("B", "L", 24), g.input("B", "L", 24), g.input("B", dtype=INT32)
    g.output(g.contrib("MultiHeadAttention", x, keys, values, "", ends, num_heads=3))


# ---- attention with past keys and values ----

def attention_past(name, mask=(), batch=2, steps=3, past=4, dims=None, mask_dtype=INT32, **attributes):
    """mask: its dims."""
    def fill(g):
        operands = [g.input(batch, steps, 24), g.weight(24, 72), g.weight(72), g.input(*mask, dtype=mask_dtype) if mask else ""]
        g.output(*g.op("Attention", *operands, g.input(2, batch, 3, past, 8), outputs=2, domain=DOMAIN, num_heads=3, **attributes))
    fill.__name__ = f"Attention_with_a_past_{name}"
    return varying(**dims)(fill) if dims else case(fill)


attention_past("plain")
attention_past("causal", unidirectional=1)
attention_past("causal_with_a_mask", mask=(2, 7), unidirectional=1)
attention_past("causal_with_lengths", mask=(2,), unidirectional=1)
attention_past("of_varying_sizes", batch="B", steps="S", past="P", unidirectional=1, dims={"B": (1, 3), "S": (1, 6), "P": (1, 8)})
attention_past("of_varying_sizes_step_by_step", batch="B", steps=1, past="P", unidirectional=1, dims={"B": (1, 3), "P": (1, 8)})
attention_past("of_varying_sizes_with_lengths", mask=("B",), batch="B", steps="S", past="P", unidirectional=1,
               dims={"B": (1, 3), "S": (1, 6), "P": (1, 8)})


@case
def Attention_whose_keys_and_values_are_a_result(g):
    g.output(*g.op("Attention", g.input(2, 7, 20), g.weight(20, 72), g.weight(72), outputs=2, domain=DOMAIN, num_heads=3,
                   unidirectional=1))


def multi_head_past(name, batch=2, steps=3, past=4, bias=True, dims=None, **attributes):
    def fill(g):
        operands = [g.input(batch, steps, 24) for _ in range(3)] + [g.weight(72) if bias else "", "", ""]
        operands += [g.input(batch, 3, past, 8) for _ in range(2)]
        g.output(*g.op("MultiHeadAttention", *operands, outputs=3, domain=DOMAIN, num_heads=3, **attributes))
    fill.__name__ = f"MultiHeadAttention_with_a_past_{name}"
    return varying(**dims)(fill) if dims else case(fill)


multi_head_past("plain", bias=False)
multi_head_past("causal_with_a_bias", unidirectional=1)
multi_head_past("of_varying_sizes", batch="B", steps="S", past="P", unidirectional=1,
                dims={"B": (1, 3), "S": (1, 6), "P": (1, 8)})


def multi_head_apart(name, bias=False, outputs=1, **attributes):
    """Keys and values [B][heads][rows][D]."""
    def fill(g):
        x = [g.input(2, 5, 24), g.input(2, 3, 7, 8), g.input(2, 3, 7, 8)] + ([g.weight(72)] if bias else [])
        g.output(*np.atleast_1d(g.op("MultiHeadAttention", *x, outputs=outputs, domain=DOMAIN, num_heads=3, **attributes)).tolist())
    fill.__name__ = f"MultiHeadAttention_of_keys_by_head_{name}"
    return case(fill)


multi_head_apart("plain")
multi_head_apart("with_a_bias", bias=True)
multi_head_apart("as_results_too", outputs=3)


# ---- ONNX's operator, of the same parts ----

def of_onnx(name, past=False, lengths=False, mask=False, heads=3, dims=None, **attributes):
    def fill(g):
        x = [g.input("B", "S", 8 * heads)] + [g.input("B", "S" if past else "L", 24) for _ in range(2)]
        x.append(g.input("S", "L", dtype=onnx.TensorProto.BOOL) if mask else "")
        x += [g.input("B", 3, "P", 8) for _ in range(2)] if past else ["", ""]
        x.append(g.input("B", dtype=onnx.TensorProto.INT64) if lengths else "")
        while not x[-1]:
            x.pop()
        g.output(*g.op("Attention", *x, outputs=3, q_num_heads=heads, kv_num_heads=3, **attributes))
    fill.__name__ = f"Attention_of_ONNX_{name}"
    fill.opset = 24
    return varying(**dims or {"B": (1, 3), "S": (1, 6), "P" if past else "L": (1, 8)})(fill)


of_onnx("causal", is_causal=1)
of_onnx("causal_with_a_mask", is_causal=1, mask=True)
of_onnx("with_a_past", past=True)
of_onnx("causal_with_a_past", past=True, is_causal=1)
of_onnx("of_groups_causal_with_a_past", past=True, heads=6, is_causal=1)
of_onnx("with_lengths", lengths=True, dims={"B": (1, 3), "S": (1, 6), "L": (5, 8)})
of_onnx("with_lengths_and_a_mask", lengths=True, mask=True, dims={"B": (1, 3), "S": (1, 6), "L": (5, 8)})
of_onnx("causal_with_lengths", lengths=True, is_causal=1, dims={"B": (1, 3), "S": (1, 6), "L": (5, 8)})


# ---- groups of heads ----

def groups(g, batch=2, steps=5, heads=4, shared=2, size=16, packed=False, lengths=None, past=("", ""), rotary=False, positions=False,
           bias=False, **attributes):
    """lengths: of sequences, minus one."""
    widths = [(heads + 2 * shared) * size] if packed else [heads * size, shared * size, shared * size]
    operands = [g.input(batch, steps, width) for width in widths] + [""] * (3 - len(widths)) + [*past]
    operands.append(g.input(batch, dtype=INT32) if lengths is None else g.constant(np.array(lengths, np.int32)))
    operands.append(g.constant(np.int32(steps)) if isinstance(steps, int) else
                    g.op("Cast", g.op("Gather", g.op("Shape", operands[0]), g.constant(1)), to=INT32))
    operands += [g.weight(16, size // 2), g.weight(16, size // 2)] if rotary else ["", ""]
    # ONNX Runtime reads the first position only
    operands.append(g.constant(np.tile(np.arange(3, 3 + steps), (batch, 1))) if positions else "")
    operands.append(g.input(batch, heads, steps, steps) if bias else "")
    while not operands[-1]:
        operands.pop()
    return g.op("GroupQueryAttention", *operands, outputs=3, domain=DOMAIN, num_heads=heads, kv_num_heads=shared,
                do_rotary=int(rotary), **attributes)


def grouped(name, dims=None, **keywords):
    def fill(g):
        g.output(*groups(g, **keywords))
    fill.__name__ = f"GroupQueryAttention_{name}"
    return varying(**dims)(fill) if dims else case(fill)


grouped("plain", lengths=[4, 4])
grouped("of_one_group_per_head", lengths=[4, 4], shared=4, scale=0.2)
grouped("of_sequences_that_end_earlier", lengths=[1, 3])
grouped("packed", lengths=[4, 2], packed=True)
grouped("with_rotary_positions", lengths=[4, 4], rotary=True)
grouped("with_given_rotary_positions", lengths=[4, 4], rotary=True, positions=True, rotary_interleaved=1)
grouped("packed_with_rotary_positions", lengths=[4, 2], packed=True, rotary=True)
grouped("with_a_bias_of_the_scores", lengths=[4, 2], bias=True)
grouped("with_capped_scores", lengths=[4, 2], shared=4, softcap=2.0)
grouped("in_a_window", lengths=[4, 2], local_window_size=3)
grouped("in_a_window_of_all", lengths=[4, 4], local_window_size=5, rotary=True)
grouped("of_varying_batches", batch="B", steps=6, rotary=True, dims={"B": (1, 3)})


def with_past(g, batch=2, steps=1, total=7, past=6, heads=4, shared=2, size=16, ends=None, rotary=False, positions=False, packed=False,
              bias=False, **attributes):
    """Keys and values behind past ones. ends: of sequences, the place of the last key; otherwise of 1 to 6 keys and one more (of
    several steps, as ONNX Runtime wants it, and of a single sequence, of all, but by a number that is not known)."""
    widths = [(heads + 2 * shared) * size] if packed else [heads * size, shared * size, shared * size]
    operands = [g.input(batch, steps, width) for width in widths] + [""] * (3 - len(widths))
    operands += [g.input(batch, shared, past, size) for _ in range(2)]
    longest = g.op("Cast", g.op("Gather", g.op("Shape", g.input(batch, total)), g.constant(1)), to=INT32)
    if ends is None:
        counted = g.input(batch, dtype=INT32)
        last = g.op("Sub", longest, g.constant(np.int32(1)))
        ends = g.op("Add", g.op("Sub", counted, counted), last) if steps != 1 or batch == 1 else g.op("Min", counted, last)
    operands += [ends if isinstance(ends, str) else g.constant(np.array(ends, np.int32)), longest]
    operands += [g.weight(32, size // 2), g.weight(32, size // 2)] if rotary else ["", ""]
    operands += [g.constant(np.tile(np.arange(3, 3 + steps), (batch, 1))) if positions else ""]
    operands += [g.input(batch, heads, steps, total) if bias else ""]
    while not operands[-1]:
        operands.pop()
    return g.op("GroupQueryAttention", *operands, outputs=3, domain=DOMAIN, num_heads=heads, kv_num_heads=shared,
                do_rotary=int(rotary), **attributes)


def behind_past(name, dims=(), sizes=(), **keywords):
    def fill(g):
        g.output(*with_past(g, **keywords))
    fill.__name__ = f"GroupQueryAttention_behind_past_keys_{name}"
    case(fill, [word for dim in dims for word in ("--dim", dim)], sizes)


behind_past("of_sequences_that_end_earlier", batch=5)
behind_past("of_full_sequences", ends=[6, 6])
behind_past("with_a_place_for_the_new_one", batch=3, past=9)
behind_past("that_are_full_with_it", batch=3, past=7)
behind_past("packed_and_rotated", batch=3, packed=True, rotary=True)
behind_past("of_full_sequences_rotated", ends=[6, 6], rotary=True, rotary_interleaved=1)
behind_past("with_given_positions", rotary=True, positions=True, batch=1, ends=[6])
behind_past("with_a_bias_of_the_scores", bias=True)
behind_past("of_full_sequences_with_a_bias", bias=True, ends=[6, 6])
for window in 1, 3, 7:
    behind_past(f"in_a_window_of_{window}", local_window_size=window)
    behind_past(f"of_full_sequences_in_a_window_of_{window}", ends=[6, 6], local_window_size=window, rotary=True)
    behind_past(f"several_steps_in_a_window_of_{window}", batch=1, steps=3, total=9, local_window_size=window)
behind_past("with_capped_scores", shared=4, softcap=2.0)
behind_past("of_one_group_per_head", shared=4, scale=0.3)
for rotary in False, True:
    how = "_rotated" if rotary else ""
    behind_past(f"of_one_sequence{how}", batch=1, rotary=rotary)
    behind_past(f"of_one_sequence_of_any_length{how}", ["P=1..20", "T=P+1"], [{"P": p, "T": p + 1} for p in (1, 7, 20)], batch=1, total="T",
                past="P", rotary=rotary)
    behind_past(f"several_steps{how}", batch=1, steps=3, total=9, rotary=rotary)
    behind_past(f"several_steps_of_a_full_sequence{how}", batch=1, steps=3, total=9, ends=[8], rotary=rotary)
    behind_past(f"several_steps_with_a_place_for_them{how}", batch=1, steps=3, total=9, past=12, rotary=rotary)
    behind_past(f"of_any_number{how}", ["B=1..3", "P=6..20", "T=P+1"], [{"B": b, "P": p, "T": p + 1} for b, p in ((1, 6), (3, 20), (2, 9))],
                batch="B", total="T", past="P", rotary=rotary)
    behind_past(f"several_steps_of_any_number{how}", ["S=1..4", "P=1..20", "T=P+S"],
                [{"S": s, "P": p, "T": p + s} for s, p in ((1, 1), (4, 20), (3, 7))], batch=1, steps="S", total="T", past="P", rotary=rotary)
    behind_past(f"of_any_number_with_a_place{how}", ["B=1..3", "T=6..16"], [{"B": b, "T": t} for b, t in ((1, 6), (3, 16), (2, 9))],
                batch="B", total="T", past=16, rotary=rotary)


# ---- rotary positions ----

@case
def RotaryEmbedding_with_positions(g):
    table = [g.weight(16, 4) for _ in range(2)]
    positions = g.constant(g.random.integers(0, 16, (2, 5)).astype(np.int64))
    g.output(g.contrib("RotaryEmbedding", g.input(2, 5, 24), positions, *table, num_heads=3))


def rotary_offset(name, *dims, shape=(1,), size=8, dims_of=None, **attributes):
    """One position, which the first step has; sizes are looked up in a table of 32 positions."""
    def fill(g):
        table = [g.weight(32, size // 2) for _ in range(2)]
        g.output(g.contrib("RotaryEmbedding", g.input(*dims), g.input(*shape, dtype=onnx.TensorProto.INT64), *table, **attributes))
    fill.__name__ = f"RotaryEmbedding_from_a_position_on_{name}"
    return varying(**dims_of)(fill) if dims_of else case(fill)


rotary_offset("with_heads_first", 2, 3, 5, 8)
rotary_offset("with_heads_last", 2, 5, 24, num_heads=3)
rotary_offset("without_a_number_of_heads", 2, 5, 24)
rotary_offset("that_is_a_scalar", 2, 5, 24, shape=())
rotary_offset("interleaved", 2, 3, 5, 8, interleaved=1)
rotary_offset("of_a_part", 2, 5, 36, num_heads=3, rotary_embedding_dim=8)
rotary_offset("of_varying_sizes", "B", 3, "S", 8, dims_of={"B": (1, 4), "S": (1, 16)})
rotary_offset("of_varying_sizes_with_heads_last", "B", "S", 24, num_heads=3, dims_of={"B": (1, 4), "S": (1, 16)})


# ---- operators that ONNX Runtime has for other devices only: compared with what they stand for ----

def instead(name, fill, **ranges):
    """fill(graph, whether as one operator)."""
    flags = [part for key, (lo, hi) in ranges.items() for part in ("--dim", f"{key}={lo}..{hi}")]
    STAND_INS.append((name, fill, flags, [{key: bounds[end] for key, bounds in ranges.items()} for end in range(2)]))


def group_norm(dims, last, activation):
    def fill(g, one):
        x, scale, shift = g.input(*dims), g.positive(8), g.weight(8)
        if one:
            g.output(g.contrib("GroupNorm", x, scale, shift, groups=4, activation=activation, epsilon=1e-3,
                               **{} if last else {"channels_last": 0}))
            return
        rank, y = len(dims), x
        y = g.op("Transpose", y, perm=[0, rank - 1, *range(1, rank - 1)]) if last else y
        y = g.op("GroupNormalization", y, scale, shift, num_groups=4, epsilon=1e-3)
        y = g.op("Mul", y, g.op("Sigmoid", y)) if activation else y
        g.output(g.op("Transpose", y, perm=[0, *range(2, rank), 1]) if last else y)
    return fill


instead("GroupNorm", group_norm((2, 6, 5, 8), True, 0))
instead("GroupNorm with SiLU", group_norm((2, 6, 5, 8), True, 1))
instead("GroupNorm with channels first", group_norm((2, 8, 6, 5), False, 1))
instead("GroupNorm of varying sizes", group_norm(("B", "H", 5, 8), True, 1), B=(1, 3), H=(2, 9))


def bias_softmax(dims, bias, axis):
    def fill(g, one):
        x, bias_ = g.input(*dims), g.input(*bias)
        if one:
            g.output(g.contrib("BiasSoftmax", x, bias_, axis=axis, is_inner_broadcast=0))
        else:
            y = g.op("Add", x, bias_)
            flat = g.op("Softmax", g.op("Reshape", y, g.ints(*[0] * axis, -1)), axis=-1)
            g.output(g.op("Reshape", flat, g.op("Shape", y)))
    return fill


instead("BiasSoftmax", bias_softmax((2, 3, 4, 5), (2, 1, 1, 5), 3))
instead("BiasSoftmax of two axes", bias_softmax((2, 3, 4, 5), (4, 5), 2))
instead("BiasSoftmax of varying sizes", bias_softmax(("B", 3, "S", "S"), ("B", 1, "S", "S"), 3), B=(1, 3), S=(1, 9))


# ---- refused ----

@refused("has rows of 6", "half the rotated size, 4, is needed")
def a_rotary_table_of_another_size(g):
    g.output(g.contrib("RotaryEmbedding", g.input(2, 3, 5, 8), g.constant(np.array([3])), g.weight(16, 6), g.weight(16, 6)))


@refused("of rank 1", "the one that the first step has")
def rotary_positions_without_a_batch(g):
    g.output(g.contrib("RotaryEmbedding", g.input(2, 3, 5, 8), g.constant(np.arange(5)), g.weight(16, 4), g.weight(16, 4)))


@refused("LongformerAttention0 (LongformerAttention)", "com.microsoft", "before that optimisation")
def an_operator_that_is_not_known(g):
    g.output(g.contrib("LongformerAttention", g.input(1, 4, 16), g.weight(16, 48), num_heads=2, window=2))


@refused("total_sequence_length, by which there are rows for past keys and new ones, is not known")
def groups_of_a_total_that_is_data(g):
    x, past = g.input(2, 1, 64), [g.input(2, 2, 6, 16) for _ in range(2)]
    g.output(g.contrib("GroupQueryAttention", x, *[g.input(2, 1, 32) for _ in range(2)], *past, g.input(2, dtype=INT32),
                       g.input(1, dtype=INT32), num_heads=4, kv_num_heads=2))


@refused("total_sequence_length is 9", "that of the past keys and the new ones, 7")
def groups_of_a_total_that_does_not_fit(g):
    g.output(with_past(g, total=9)[0])


@refused("past keys without past values")
def groups_of_past_keys_alone(g):
    g.output(groups(g, past=[g.input(2, 2, 4, 16), ""])[0])


@refused("local_window_size is 0")
def groups_in_a_window_of_nothing(g):
    g.output(groups(g, local_window_size=0)[0])


@refused("input in0 cannot be split into 4 heads of queries, and those")
def packed_groups_that_do_not_divide(g):
    x = g.input(1, 4, 17)
    g.output(g.contrib("GroupQueryAttention", x, "", "", "", "", g.constant(np.array([3], np.int32)), g.constant(np.int32(4)),
                       num_heads=4, kv_num_heads=2))


@refused("a cache of keys and values that is written in place")
def attention_with_a_buffer_of_past_keys(g):
    g.output(*g.op("Attention", g.input(2, 7, 20), g.weight(20, 72), g.weight(72), "", g.input(2, 2, 3, 4, 8), "",
                   g.input(1, dtype=INT32), outputs=2, domain=DOMAIN, num_heads=3, past_present_share_buffer=1))


@refused("in2 are not [batch][heads][rows][size]")
def past_keys_of_another_size(g):
    x, past = [g.input(2, 7, 24) for _ in range(2)], [g.input(2, 3, 4, 9) for _ in range(2)]
    g.output(g.contrib("MultiHeadAttention", x[0], x[1], x[1], "", "", "", *past, num_heads=3))


@refused("unidirectional with 5 queries and 7 keys")
def causal_attention_over_other_keys(g):
    g.output(g.contrib("MultiHeadAttention", g.input(2, 5, 24), g.input(2, 7, 24), g.input(2, 7, 24), num_heads=3, unidirectional=1))


@refused("past in1 is not [2][batch][heads][rows][size]")
def past_of_another_rank(g):
    g.output(g.contrib("Attention", g.input(2, 7, 20), g.weight(20, 72), g.weight(72), "", g.input(2, 2, 3, 8), num_heads=3))


@refused("is 8 i32", "an integer for each of 2 sequences")
def attention_with_lengths_and_offsets(g):
    g.output(g.contrib("Attention", g.input(2, 7, 20), g.weight(20, 72), g.weight(72), g.input(8, dtype=INT32), num_heads=3))


@refused("has rank 4", "[batch][queries][keys]")
def attention_with_a_mask_of_rank_4(g):
    g.output(g.contrib("Attention", g.input(2, 7, 20), g.weight(20, 72), g.weight(72), g.input(2, 1, 7, 7, dtype=INT32),
                       num_heads=3))


@refused("16 positions for up to 20 steps")
def more_steps_than_positions(g):
    g.output(embeddings(g, 2, 20)[0])


@refused("cannot be split into 5 heads")
def heads_that_do_not_divide(g):
    g.output(g.contrib("MultiHeadAttention", *[g.input(2, 7, 24) for _ in range(3)], num_heads=5))


@refused("the activation Softmax is not supported")
def an_activation_that_is_not_known(g):
    g.output(g.contrib("FusedConv", g.input(1, 4, 9, 9), g.weight(8, 4, 3, 3), activation="Softmax"))


@refused("the activation Gelu is not supported")
def an_activation_of_a_gemm_that_is_not_known(g):
    g.output(g.contrib("FusedGemm", g.input(2, 8), g.weight(8, 4), activation="Gelu"))


@refused("the inner dims 8 and 7 differ")
def a_fused_gemm_that_does_not_fit(g):
    g.output(g.contrib("FusedGemm", g.input(2, 8), g.weight(7, 4), activation="Relu"))


@refused("operators of domain my.own are not supported")
def a_domain_that_is_not_known(g):
    g.output(g.op("Gelu", g.input(4), domain="my.own"))


# ---- what ONNX Runtime writes ----

def encoder(g):
    """One layer as exporters write it: fusions make SkipLayerNormalization, BiasGelu and others of it."""
    x = g.input(2, 6, 32)
    def linear(x, k, n):
        return g.op("Add", g.op("MatMul", x, g.weight(k, n, scale=0.2)), g.weight(n))
    def norm(x, name):
        d = g.op("Sub", x, g.op("ReduceMean", x, axes=[-1]))
        v = g.op("ReduceMean", g.op("Pow", d, g.scalar(2)), axes=[-1])
        y = g.op("Div", d, g.op("Sqrt", g.op("Add", v, g.scalar(1e-5))))
        return g.op("Add", g.op("Mul", y, g.positive(32)), g.weight(32), name=name)
    def heads(x, perm):
        return g.op("Transpose", g.op("Reshape", x, g.ints(2, 6, 4, 8)), perm=perm)
    q, k, v = (linear(x, 32, 32) for _ in range(3))
    scores = g.op("MatMul", heads(q, [0, 2, 1, 3]), heads(k, [0, 2, 3, 1]))
    p = g.op("Softmax", g.op("Div", scores, g.scalar(8 ** 0.5)), axis=-1)
    y = g.op("Reshape", g.op("Transpose", g.op("MatMul", p, heads(v, [0, 2, 1, 3])), perm=[0, 2, 1, 3]), g.ints(2, 6, 32))
    x = norm(g.op("Add", linear(y, 32, 32), x), "norm1")
    y = linear(x, 32, 64)
    y = g.op("Mul", g.op("Mul", y, g.op("Add", g.op("Erf", g.op("Div", y, g.scalar(2 ** 0.5))), g.scalar(1))), g.scalar(0.5))
    g.output(norm(g.op("Add", linear(y, 64, 32), x), "norm2"))


def check_optimised(tap, bench):
    graph = Contrib(opset=17)
    encoder(graph)
    model, path = graph.model(), bench.folder / "optimised.onnx"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(path)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    optimised = onnx.load(path)
    kinds = {node.op_type for node in optimised.graph.node if node.domain == DOMAIN}
    feeds = graph.feeds()
    done = bench.convert(optimised, "--golden", "1")
    why = done.stderr if done.returncode else bench.compare(feeds, expected_outputs(model, feeds)) or bench.verify()
    tap.ok(f"an encoder layer optimised by ONNX Runtime ({', '.join(sorted(kinds))})", kinds and not why, kinds, why)


def check_stand_in(tap, bench, name, fill, flags, sizes):
    one, parts = Contrib(opset=21), Contrib(opset=21)
    fill(one, True)
    fill(parts, False)
    done = bench.convert(one.model(), "--golden", "1", *flags)
    why = done.stderr if done.returncode else bench.verify()
    for values in [] if why else sizes:
        feeds = parts.feeds(values)
        expected = expected_outputs(parts.model(), feeds).values()
        why = why or bench.compare(feeds, dict(zip(one.outputs, expected)))
    tap.ok(f"{name}: as what it stands for", not why, why)


def check_attention_is_one_step(tap, bench):
    graph = Contrib(opset=17)
    graph.output(graph.contrib("MultiHeadAttention", *[graph.input(2, 7, 24) for _ in range(3)], num_heads=3))
    bench.convert(graph.model())
    steps = [node["op"] for node in cli_json("inspect", bench.ipex)["entries"][0]["nodes"]]
    tap.ok("MultiHeadAttention is one step, with its heads where they lie", steps == ["attention"], steps)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for name, fill, flags, sizes in CASES:
            graph = Contrib(opset=getattr(fill, "opset", 17))
            fill(graph)
            why = bench.right(graph, "--golden", "1", *flags, sizes=sizes, bits=True)
            tap.ok(f"{name}: agrees with ONNX Runtime", why is None, why)
        for stand_in in STAND_INS:
            check_stand_in(tap, bench, *stand_in)
        for name, fill, parts in REFUSED:
            graph = Contrib(opset=17)
            fill(graph)
            done = bench.convert(graph.model())
            tap.ok(f"{name}: refused by name", done.returncode == 1 and all(part in done.stderr for part in parts),
                   f"exit {done.returncode}", done.stderr)
        check_optimised(tap, bench)
        check_attention_is_one_step(tap, bench)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
