#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Activations and normalisations as exporters spell them: each becomes one operator, or part of the layer before it;
what looks like one and is none stays, and is right."""
import sys

import numpy as np

from small_graphs import Graph
from ledger_cases import APPLIED, Cases, run

CASES = Cases()
ROOT2, TANH = 2 ** 0.5, (2 / np.pi) ** 0.5


class Ops:
    """Ops(g).Add(x, 3.0): a node per call, numbers become constants."""

    def __init__(self, g):
        self.g = g

    def __getattr__(self, op):
        def node(*operands, **attributes):
            return self.g.op(op, *(x if isinstance(x, str) else self.g.scalar(x) for x in operands), **attributes)
        return node


# ---- activations, each behind a linear layer whose epilogue takes it ----

def activation(name, spell, pointwise=0, opset=13):
    def fill(g):
        x = g.op("MatMul", g.input(4, 9), g.weight(9, 37))
        g.output(g.op("MatMul", spell(Ops(g), x), g.weight(37, 5)))
    fill.__name__ = name
    CASES.case(steps=dict(linear=2, pointwise=pointwise), opset=opset)(fill)


def cube(o, x):
    return o.Mul(x, o.Mul(x, x))


activation("gelu: x / 2 * (1 + erf(x / root 2))", lambda o, x: o.Mul(o.Mul(x, 0.5), o.Add(o.Erf(o.Div(x, ROOT2)), 1.0)))
activation("gelu: x * ((1 + erf(x root 1/2)) / 2)", lambda o, x: o.Mul(x, o.Mul(o.Add(1.0, o.Erf(o.Mul(x, 1 / ROOT2))), 0.5)))
activation("gelu: (x * (erf + 1)) * 0.5", lambda o, x: o.Mul(o.Mul(x, o.Add(o.Erf(o.Div(x, ROOT2)), 1.0)), 0.5))
activation("gelu: x * (0.5 + erf / 2)", lambda o, x: o.Mul(o.Add(o.Mul(o.Erf(o.Div(x, ROOT2)), 0.5), 0.5), x))
activation("gelu: the operator", lambda o, x: o.Gelu(x), opset=20)
activation("gelu with tanh: powers", lambda o, x: o.Mul(o.Mul(0.5, x), o.Add(1.0, o.Tanh(o.Mul(TANH, o.Add(x, o.Mul(0.044715, o.Pow(x, 3.0))))))))
activation("gelu with tanh: products", lambda o, x: o.Mul(x, o.Mul(0.5, o.Add(o.Tanh(o.Mul(o.Add(o.Mul(cube(o, x), 0.044715), x), TANH)), 1.0))))
activation("gelu with tanh: factored", lambda o, x: o.Mul(o.Mul(x, 0.5), o.Add(o.Tanh(o.Mul(o.Mul(x, TANH), o.Add(o.Mul(o.Mul(x, x), 0.044715), 1.0))), 1.0)))
activation("gelu with tanh: by a sigmoid", lambda o, x: o.Mul(x, o.Sigmoid(o.Mul(2 * TANH, o.Add(x, o.Mul(0.044715, cube(o, x)))))))
activation("gelu with tanh: the operator", lambda o, x: o.Gelu(x, approximate="tanh"), opset=20)
activation("no gelu: x * sigmoid(1.702 x)", lambda o, x: o.Mul(x, o.Sigmoid(o.Mul(x, 1.702))), pointwise=1)
activation("no gelu: erf without the root", lambda o, x: o.Mul(o.Mul(x, 0.5), o.Add(o.Erf(x), 1.0)), pointwise=1)
activation("no gelu: 0.0447 for 0.044715", lambda o, x: o.Mul(o.Mul(x, 0.5), o.Add(o.Tanh(o.Mul(TANH, o.Add(x, o.Mul(0.0447, cube(o, x))))), 1.0)), pointwise=1)
activation("silu: x * sigmoid(x)", lambda o, x: o.Mul(x, o.Sigmoid(x)))
activation("silu: sigmoid(x) * x", lambda o, x: o.Mul(o.Sigmoid(x), x))
activation("silu: x / (1 + exp(-x))", lambda o, x: o.Div(x, o.Add(1.0, o.Exp(o.Neg(x)))))
activation("silu: x * (1 / (1 + exp(-x)))", lambda o, x: o.Mul(x, o.Div(1.0, o.Add(o.Exp(o.Neg(x)), 1.0))))
activation("no silu: x * sigmoid(-x)", lambda o, x: o.Mul(x, o.Sigmoid(o.Neg(x))), pointwise=1)
activation("sigmoid: 1 / (1 + exp(-x))", lambda o, x: o.Div(1.0, o.Add(1.0, o.Exp(o.Neg(x)))))
activation("sigmoid: reciprocal", lambda o, x: o.Reciprocal(o.Add(o.Exp(o.Mul(x, -1.0)), 1.0)))
activation("hard-swish: x * clip(x + 3) / 6", lambda o, x: o.Div(o.Mul(x, o.Clip(o.Add(x, 3.0), 0.0, 6.0)), 6.0))
activation("hard-swish: x * (clip(x + 3) / 6)", lambda o, x: o.Mul(x, o.Mul(o.Clip(o.Add(x, 3.0), 0.0, 6.0), 1 / 6)))
activation("hard-swish: relu and min", lambda o, x: o.Mul(x, o.Div(o.Min(o.Relu(o.Add(x, 3.0)), 6.0), 6.0)))
activation("hard-swish: x * hard-sigmoid", lambda o, x: o.Mul(x, o.HardSigmoid(x, alpha=1 / 6, beta=0.5)))
activation("hard-swish: the operator", lambda o, x: o.HardSwish(x), opset=14)
activation("no hard-swish: x * hard-sigmoid of 0.2", lambda o, x: o.Mul(x, o.HardSigmoid(x)), pointwise=1)
activation("hard-sigmoid: clip(x + 3) / 6", lambda o, x: o.Div(o.Clip(o.Add(x, 3.0), 0.0, 6.0), 6.0))
activation("hard-sigmoid: the operator", lambda o, x: o.HardSigmoid(x, alpha=0.3, beta=0.4))
activation("mish: x * tanh(softplus(x))", lambda o, x: o.Mul(x, o.Tanh(o.Softplus(x))))
activation("mish: x * tanh(log(1 + exp(x)))", lambda o, x: o.Mul(o.Tanh(o.Log(o.Add(o.Exp(x), 1.0))), x))
activation("mish: the operator", lambda o, x: o.Mish(x), opset=18)
activation("softplus: log(1 + exp(x))", lambda o, x: o.Log(o.Add(1.0, o.Exp(x))))
activation("relu: max(x, 0)", lambda o, x: o.Max(x, 0.0))
activation("relu6: min(max(x, 0), 6)", lambda o, x: o.Min(o.Max(x, 0.0), 6.0))
activation("leaky relu: max(x, 0.1 x)", lambda o, x: o.Max(x, o.Mul(x, 0.1)))
activation("no leaky relu: max(x, -0.1 x)", lambda o, x: o.Max(x, o.Mul(x, -0.1)), pointwise=1)


# ---- normalisations ----

def norm(name, spell, shape=(2, 5, 24), channels=24, opset=13, sites=(APPLIED,), pointwise=0, **steps):
    def fill(g):
        spell_with(g, spell, shape, channels)
    fill.__name__ = name
    expected = [("norm", "norm", site) for site in sites]
    CASES.case(*expected, steps=dict(pointwise=pointwise, **steps), opset=opset)(fill)


def spell_with(g, spell, shape, channels):
    x = g.input(*shape)
    lead = (1,) * (len(shape) - 2) if len(shape) == 4 else ()
    g.output(spell(Ops(g), x, g.weight(channels, *lead), g.weight(channels, *lead)))


def mean(o, x, axes=(-1,)):
    return o.ReduceMean(x, axes=list(axes))


def centred(o, x):
    return o.Sub(x, mean(o, x))


def deviation(o, d, eps=1e-5):
    return o.Sqrt(o.Add(mean(o, o.Mul(d, d)), eps))


def affine(o, y, gamma, beta):
    return o.Add(o.Mul(y, gamma), beta)


def layer(spell):
    def whole(o, x, gamma, beta):
        return affine(o, spell(o, centred(o, x)), gamma, beta)
    return whole


LAYER = dict(layer_norm=1)
norm("layer: d / sqrt", layer(lambda o, d: o.Div(d, deviation(o, d), name="norm")), **LAYER)
norm("layer: powers of 2", layer(lambda o, d: o.Div(d, o.Sqrt(o.Add(1e-5, mean(o, o.Pow(d, 2.0)))), name="norm")), **LAYER)
norm("layer: reciprocal", layer(lambda o, d: o.Mul(d, o.Reciprocal(deviation(o, d)), name="norm")), **LAYER)
norm("layer: 1 / sqrt", layer(lambda o, d: o.Mul(o.Div(1.0, deviation(o, d)), d, name="norm")), **LAYER)
norm("layer: power of -0.5", layer(lambda o, d: o.Mul(d, o.Pow(o.Add(mean(o, o.Mul(d, d)), 1e-6), -0.5), name="norm")), **LAYER)
norm("layer: the difference computed twice", lambda o, x, g, b: affine(o, o.Div(centred(o, x), deviation(o, centred(o, x)), name="norm"), g, b), **LAYER)
norm("layer: mean computed once, difference twice",
     lambda o, x, g, b: (lambda m: affine(o, o.Div(o.Sub(x, m), deviation(o, o.Sub(x, m)), name="norm"), g, b))(mean(o, x)), **LAYER)
norm("layer: parameters on the left", lambda o, x, g, b: o.Add(b, o.Mul(g, (lambda d: o.Div(d, deviation(o, d), name="norm"))(centred(o, x)))), **LAYER)
norm("layer: gamma alone", lambda o, x, g, b: o.Mul((lambda d: o.Div(d, deviation(o, d), name="norm"))(centred(o, x)), g), **LAYER)
norm("layer: beta alone", lambda o, x, g, b: o.Add((lambda d: o.Div(d, deviation(o, d), name="norm"))(centred(o, x)), b), **LAYER)
norm("layer: the operator", lambda o, x, g, b: o.LayerNormalization(x, g, b, axis=-1), opset=17, sites=(), **LAYER)
norm("layer: the operator over two axes", lambda o, x, g, b: o.LayerNormalization(x, o.g.weight(5, 24), o.g.weight(5, 24), axis=1), opset=17, sites=(), **LAYER)
norm("no layer: the variance of another value",
     lambda o, x, g, b: affine(o, o.Div(centred(o, x), deviation(o, x)), g, b), sites=(), pointwise=3, layer_norm=0)
norm("no layer: squared by another value",
     lambda o, x, g, b: o.Div(centred(o, x), o.Sqrt(o.Add(mean(o, o.Mul(x, centred(o, x))), 1.0))), sites=(), pointwise=3, layer_norm=0)


def inverse_rms(o, x, eps=1e-6):
    return o.Reciprocal(o.Sqrt(o.Add(mean(o, o.Pow(x, 2.0)), eps)))


norm("rms: x * (1 / sqrt) * gamma", lambda o, x, g, b: o.Mul(o.Mul(x, inverse_rms(o, x), name="norm"), g), **LAYER)
norm("rms: gamma * (x * (1 / sqrt))", lambda o, x, g, b: o.Mul(g, o.Mul(x, inverse_rms(o, x), name="norm")), **LAYER)
norm("rms: x / sqrt", lambda o, x, g, b: o.Mul(g, o.Div(x, o.Sqrt(o.Add(mean(o, o.Mul(x, x)), 1e-6)), name="norm")), **LAYER)
norm("rms: power of -0.5", lambda o, x, g, b: o.Mul(o.Mul(x, o.Pow(o.Add(mean(o, o.Mul(x, x)), 1e-6), -0.5), name="norm"), g), **LAYER)
norm("rms: 1 + gamma", lambda o, x, g, b: o.Mul(o.Mul(x, inverse_rms(o, x), name="norm"), o.Add(g, 1.0)), **LAYER)
norm("rms: without gamma", lambda o, x, g, b: o.Mul(x, inverse_rms(o, x), name="norm"), **LAYER)


def instance(groups, shape, back):
    def spell(o, x, gamma, beta):
        ones, zeros = (o.g.constant(np.full(groups, v, np.float32)) for v in (1, 0))
        rows = o.InstanceNormalization(o.Reshape(x, o.g.ints(*shape)), ones, zeros, name="norm")
        return affine(o, o.Reshape(rows, o.g.ints(*back)), gamma, beta)
    return spell


IMAGE = dict(shape=(2, 12, 4, 5), channels=12)
norm("group: three dims", instance(4, (2, 4, -1), (2, 12, 4, 5)), **IMAGE, group_norm=1)
norm("group: four dims", instance(4, (0, 4, -1, 5), (0, 12, 4, 5)), **IMAGE, group_norm=1)
norm("group: four dims, a pixel each", instance(3, (2, 3, 20, 4), (2, 12, 4, 5)), **IMAGE, group_norm=1)
norm("group: the operator", lambda o, x, g, b: o.GroupNormalization(x, o.g.weight(12), o.g.weight(12), num_groups=4),
     **IMAGE, opset=21, sites=(), group_norm=1)
norm("group: one group", instance(1, (2, 1, -1), (2, 12, 4, 5)), **IMAGE, group_norm=1)
norm("instance: the operator", lambda o, x, g, b: o.InstanceNormalization(x, o.g.weight(12), o.g.weight(12)), **IMAGE, sites=(), group_norm=1)


if __name__ == "__main__":
    sys.exit(run(CASES))
