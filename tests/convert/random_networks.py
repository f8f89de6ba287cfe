# SPDX-License-Identifier: Apache-2.0
"""Random small networks, the same for the same seed: 5 to 15 steps, each taken on a random earlier value, most often
on a late one, so that chains as well as forks, joins and values read twice arise. Large ones are of images that do not
fit into L2, and of steps that keep them images: what runs in bands."""
import numpy as np

from small_graphs import Graph

MAX_ELEMENTS, MAX_LARGE = 20000, 1500000
STEPS = {}
LARGE_STEPS = ["convolve", "convolve_again", "convolve_far", "dense_block", "residual_block", "branches", "activation", "silu",
               "pool", "with_other", "with_mean", "concat", "resize", "decode"]


def step(function):
    """Marks a step: it gets (net, name, dims) of a value and returns (name, dims) of the result, or None."""
    STEPS[function.__name__] = function
    return function


class Net:
    def __init__(self, seed, large):
        self.random = np.random.default_rng(seed)
        self.graph = Graph(opset=13, seed=seed)
        self.steps, self.most = (LARGE_STEPS, MAX_LARGE) if large else (list(STEPS), MAX_ELEMENTS)
        batch, channels = int(self.random.integers(1, 3)), int(self.pick(*(3, 8, 16, 24) if large else (1, 3, 4, 8)))
        dims = (batch, channels, *map(int, self.random.integers(*(90, 170) if large else (5, 13), 2)))
        self.values = [(self.graph.input(*dims), dims)]

    def pick(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def value(self):
        """A late value is likelier than an early one."""
        age = int(self.random.geometric(0.5))
        return self.values[max(-age, -len(self.values))]

    def grow(self):
        name = self.pick(*self.steps)
        result = STEPS[name](self, *self.value())
        if result and 0 < np.prod(result[1]) <= self.most:
            self.values.append((result[0], tuple(int(d) for d in result[1])))
            return True
        return False


def random_network(seed, large=False):
    net = Net(seed, large)
    wanted = int(net.random.integers(5, 16))
    while len(net.values) <= wanted:
        net.grow()
    computed = [name for name, _ in net.values[1:]]
    extra = [name for name in computed[:-1] if net.random.random() < 0.15]
    net.graph.output(computed[-1], *extra)
    return net.graph


def weight(net, *dims):
    """Weights small enough that values keep their size through the layers."""
    return net.graph.weight(*dims, scale=1 / max(1.0, float(np.prod(dims[1:]))) ** 0.5)


def convolve(net, x, dims):
    if len(dims) != 4:
        return None
    n, c, h, w = dims
    kernel = [int(k) for k in net.random.integers(1, 6, 2)]
    stride, dilation = [int(s) for s in net.random.integers(1, 3, 2)], [net.pick(1, 1, 2), net.pick(1, 1, 2)]
    pads = [int(p) for p in net.random.integers(0, 3, 4)]
    groups = net.pick(1, 1, c, *[g for g in (2, 3) if c % g == 0])
    m = groups * int(net.pick(1, 2, 3)) if groups > 1 else int(net.pick(1, 5, 16, 19))
    out = [(size + pads[i] + pads[i + 2] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
           for i, size in enumerate((h, w))]
    if min(out) < 1 or min(h + pads[0] + pads[2] - dilation[0] * (kernel[0] - 1),
                           w + pads[1] + pads[3] - dilation[1] * (kernel[1] - 1)) < 1:
        return None
    operands = [x, weight(net, m, c // groups, *kernel)] + net.pick([], [net.graph.weight(m)])
    y = net.graph.op("Conv", *operands, group=groups, strides=stride, dilations=dilation, pads=pads)
    return y, (n, m, *out)


step(convolve)
STEPS["convolve_again"] = convolve  # twice as likely as the others


@step
def convolve_far(net, x, dims):
    """Taps that lie apart, with and without enough channels for the transformed algorithm to pay."""
    if len(dims) != 4:
        return None
    n, c, h, w = dims
    d, m = [int(d) for d in net.random.integers(1, 5, 2)], int(net.pick(5, 16, 40))
    pads = net.pick([d[0], d[1], d[0], d[1]], [0, d[1], 2 * d[0], d[1]])
    y = net.graph.op("Conv", x, weight(net, m, c, 3, 3), net.graph.weight(m), dilations=d, pads=pads)
    return y, (n, m, h, w)


@step
def convolve_signal(net, x, dims):
    """Of a signal; an image becomes one, its lines one after the other."""
    n, c, *rest = dims if len(dims) > 2 else (1, *dims, 1)
    length, kernel, pace = int(np.prod(rest)), int(net.random.integers(1, 5)), int(net.pick(1, 1, 2))
    if length < kernel * pace:
        return None
    if len(dims) != 3:
        x = net.graph.op("Reshape", x, net.graph.ints(n, c, length))
    pads, m, groups = [int(p) for p in net.random.integers(0, 3, 2)], int(net.pick(4, 16)), net.pick(1, 1, c)
    m = c if groups > 1 else m
    y = net.graph.op("Conv", x, weight(net, m, c // groups, kernel), dilations=[pace], pads=pads, group=groups)
    return net.pick(y, net.graph.op("LeakyRelu", y)), (n, m, length + sum(pads) - pace * (kernel - 1))


@step
def dense_block(net, x, dims):
    """Every layer reads all that was made before it; parts of it are read alone too."""
    if len(dims) != 4:
        return None
    parts, channels = [x], dims[1]
    for _ in range(int(net.random.integers(1, 4))):
        y = net.pick(parts[-1:], parts, parts)
        width = channels if y is parts else (dims[1] if len(parts) == 1 else 4)
        y = net.graph.op("Concat", *y, axis=1) if len(y) > 1 else y[0]
        if net.pick(True, False):
            y = net.graph.op("Relu", net.graph.batch_norm(y, width))
        parts.append(net.graph.op("Conv", y, weight(net, 4, width, 3, 3), pads=[1, 1, 1, 1]))
        channels += 4
    return net.graph.op("Concat", *parts, axis=1), (dims[0], channels, *dims[2:])


@step
def residual_block(net, x, dims):
    if len(dims) != 4:
        return None
    c = dims[1]
    y = net.graph.op("Conv", x, weight(net, c, c, 3, 3), pads=[1, 1, 1, 1])
    if net.pick(True, False):
        y = net.graph.batch_norm(y, c)
    operands = net.pick([y, x], [x, y])
    y = net.graph.op("Add", *operands)
    return net.pick(y, net.graph.op("Relu", y)), dims


@step
def branches(net, x, dims):
    """Added or subtracted in any order: kernels of several sizes, a BatchNorm, the value itself; pairs may miss."""
    if len(dims) != 4:
        return None
    c = dims[1]
    groups = net.pick(1, c)
    parts = [net.graph.op("Conv", x, weight(net, c, c // groups, k, k), group=groups, pads=[k // 2] * 4)
             for k in net.random.choice([1, 1, 3, 3, 5], int(net.random.integers(1, 4)))]
    parts += net.pick([], [x]) + net.pick([], [net.graph.batch_norm(x, c)])
    y = parts.pop(int(net.random.integers(len(parts))))
    while parts:
        operands = [y, parts.pop(int(net.random.integers(len(parts))))]
        y = net.graph.op(net.pick("Add", "Sub"), *net.pick(operands, operands[::-1]))
    return net.pick(y, net.graph.batch_norm(y, c), net.graph.op("Relu", y)), dims


@step
def batch_norm(net, x, dims):
    return (net.graph.batch_norm(x, dims[1]), dims) if len(dims) >= 2 else None


@step
def activation(net, x, dims):
    op_type = net.pick("Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid", "Neg", "Abs", "Clip")
    operands = [net.graph.scalar(-0.5), net.graph.scalar(0.75)] if op_type == "Clip" else []
    return net.graph.op(op_type, x, *operands), dims


@step
def silu(net, x, dims):
    return net.graph.op("Mul", x, net.graph.op("Sigmoid", x)), dims


@step
def pool(net, x, dims):
    if len(dims) != 4:
        return None
    kernel = [int(k) for k in net.random.integers(1, net.pick(4, 4, 9), 2)]
    stride = [int(s) for s in net.random.integers(1, 3, 2)]
    pads = [int(net.random.integers(0, k)) for k in kernel * 2]
    if min(dims[2] - kernel[0], dims[3] - kernel[1]) < 0:
        return None
    out = [(size + pads[i] + pads[i + 2] - kernel[i]) // stride[i] + 1 for i, size in enumerate(dims[2:])]
    op_type, attributes = net.pick(("MaxPool", {}), ("AveragePool", {"count_include_pad": net.pick(0, 1)}))
    y = net.graph.op(op_type, x, kernel_shape=kernel, strides=stride, pads=pads, **attributes)
    return y, (*dims[:2], *out)


@step
def pyramid(net, x, dims):
    """Max pools of one value, most of them around the same places, of any order and size."""
    if len(dims) != 4:
        return None
    pools = []
    for _ in range(net.pick(1, 2, 3)):
        kernel = [int(k) for k in net.random.integers(1, 8, 2)]
        before = [k // 2 if net.pick(True, True, False) else int(net.random.integers(0, k)) for k in kernel]
        pads = before + [k - 1 - b for k, b in zip(kernel, before)]
        pools.append(net.graph.op("MaxPool", x, kernel_shape=kernel, pads=pads))
    return net.graph.op("Concat", *pools, axis=1), (dims[0], dims[1] * len(pools), *dims[2:])


@step
def resize(net, x, dims):
    if len(dims) != 4:
        return None
    scales = [float(net.pick(2, 2, 0.5, 1.5)) for _ in range(2)]
    out = [int(size * scale) for size, scale in zip(dims[2:], scales)]
    if min(out) < 1:
        return None
    how = net.pick({"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
                   {"mode": "nearest"}, {"mode": "linear"})
    y = net.graph.op("Resize", x, "", net.graph.constant(np.float32([1, 1, *scales])), **how)
    return y, (*dims[:2], *out)


@step
def decode(net, x, dims):
    """What is upsampled, alone or beside other channels, is convolved."""
    if len(dims) != 4:
        return None
    factor, m, k = int(net.pick(2, 2, 3)), int(net.pick(4, 8, 17)), int(net.pick(1, 3, 3, 3))
    out = [factor * size for size in dims[2:]]
    big = net.graph.op("Resize", x, "", net.graph.constant(np.float32([1, 1, factor, factor])), mode="nearest",
                       coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    skip = net.graph.op("Conv", big, weight(net, 5, dims[1], 3, 3), pads=[1, 1, 1, 1])
    parts, c = net.pick(([big], dims[1]), ([big, skip], dims[1] + 5), ([skip, big, big], 2 * dims[1] + 5))
    y = net.graph.op("Concat", *parts, axis=1) if len(parts) > 1 else big
    y = net.graph.op("Conv", y, weight(net, m, c, k, k), pads=[k // 2] * 4)
    return net.pick(y, net.graph.op("Relu", y)), (dims[0], m, *out)


@step
def per_channel(net, x, dims):
    if len(dims) < 2:
        return None
    other = net.graph.weight(dims[1], *[1] * (len(dims) - 2))
    return net.graph.op(net.pick("Add", "Mul", "Sub"), x, other), dims


@step
def per_row(net, x, dims):
    """A constant of one value for every row, which may be short."""
    if len(dims) < 3:
        return None
    other = net.graph.weight(*net.pick(dims[-2:-1], dims[-3:-1], (1, dims[-2])), 1)
    return net.graph.op(net.pick("Add", "Mul", "Sub"), x, other), dims


@step
def with_other(net, x, dims):
    """A binary node over two values of equal shape."""
    others = [name for name, shape in net.values if shape == dims]
    operands = net.pick([x, net.pick(*others)], [net.pick(*others), x])
    return net.graph.op(net.pick("Add", "Sub", "Mul", "Max", "Min"), *operands), dims


@step
def with_mean(net, x, dims):
    """Squeeze and excite: a value times something made of its own mean."""
    if len(dims) != 4:
        return None
    y = net.graph.op("GlobalAveragePool", x)
    y = net.graph.op("Sigmoid", net.graph.op("Conv", y, weight(net, dims[1], dims[1], 1, 1)))
    return net.graph.op("Mul", x, y), dims


@step
def concat(net, x, dims):
    axis = int(net.random.integers(len(dims)))
    fitting = [(name, shape) for name, shape in net.values
               if len(shape) == len(dims) and all(a == b for i, (a, b) in enumerate(zip(shape, dims)) if i != axis)]
    parts = [net.pick(*fitting) for _ in range(int(net.random.integers(1, 3)))] + [(x, dims)]
    total = sum(shape[axis] for _, shape in parts)
    y = net.graph.op("Concat", *[name for name, _ in parts], axis=axis)
    return y, (*dims[:axis], total, *dims[axis + 1:])


@step
def cut(net, x, dims):
    axis = int(net.random.integers(len(dims)))
    if dims[axis] < 2:
        return None
    first = int(net.random.integers(0, dims[axis] - 1))
    last = int(net.random.integers(first + 1, dims[axis] + 1))
    pace = int(net.pick(1, 1, 2))
    y = net.graph.op("Slice", x, *map(net.graph.ints, (first, last, axis, pace)))
    return y, (*dims[:axis], (last - first + pace - 1) // pace, *dims[axis + 1:])


@step
def halves(net, x, dims):
    axis = int(net.random.integers(len(dims)))
    if dims[axis] % 2:
        return None
    a, b = net.graph.op("Split", x, outputs=2, axis=axis)
    half = (*dims[:axis], dims[axis] // 2, *dims[axis + 1:])
    net.values.append((a, half))
    return b, half


@step
def turn(net, x, dims):
    perm = [int(p) for p in net.random.permutation(len(dims))]
    return net.graph.op("Transpose", x, perm=perm), tuple(dims[p] for p in perm)


@step
def reshape(net, x, dims):
    """Two neighbouring axes joined, or one split."""
    axis = int(net.random.integers(len(dims)))
    if axis + 1 < len(dims) and net.pick(True, False):
        new = (*dims[:axis], dims[axis] * dims[axis + 1], *dims[axis + 2:])
    elif dims[axis] % 2 == 0 and len(dims) < 6:
        new = (*dims[:axis], 2, dims[axis] // 2, *dims[axis + 1:])
    else:
        return None
    return net.graph.op("Reshape", x, net.graph.ints(*new)), new


@step
def back_to_image(net, x, dims):
    size = int(np.prod(dims))
    shapes = [(1, c, h, size // c // h) for c in (3, 4, 8) for h in (4, 5, 6) if size % (c * h) == 0]
    if len(dims) == 4 or not shapes:
        return None
    new = net.pick(*shapes)
    return net.graph.op("Reshape", x, net.graph.ints(*new)), new


@step
def linear(net, x, dims):
    if len(dims) < 2:
        return None
    n = int(net.pick(3, 16, 21))
    y = net.graph.op("MatMul", x, transposed(net, n, dims[-1]))
    return net.pick(y, net.graph.op("Add", y, net.graph.weight(n))), (*dims[:-1], n)


def transposed(net, n, k):
    return net.graph.constant((net.random.standard_normal((k, n)) / k ** 0.5).astype(np.float32))


@step
def flatten_linear(net, x, dims):
    if len(dims) != 4:
        return None
    k, n = int(np.prod(dims[1:])), int(net.pick(3, 12))
    y = net.graph.op("Gemm", net.graph.op("Flatten", x), weight(net, n, k), net.graph.weight(n), transB=1)
    return y, (dims[0], n)


@step
def softmax(net, x, dims):
    return net.graph.op("Softmax", x, axis=int(net.random.integers(len(dims)))), dims


@step
def mean(net, x, dims):
    axis = int(net.random.integers(len(dims)))
    keep = net.pick(0, 1) if len(dims) > 2 else 1
    y = net.graph.op(net.pick("ReduceMean", "ReduceMax"), x, axes=[axis], keepdims=keep)
    return y, (*dims[:axis], *([1] * keep), *dims[axis + 1:])


@step
def pad(net, x, dims):
    if len(dims) > 4:
        return None
    pads = [0] * (2 * len(dims))
    for axis in range(max(0, len(dims) - net.pick(2, 2, 3)), len(dims)):
        pads[axis], pads[axis + len(dims)] = (int(p) for p in net.random.integers(0, 3, 2))
    value = net.graph.scalar(net.pick(0.0, 0.0, 0.5))
    new = tuple(d + pads[i] + pads[i + len(dims)] for i, d in enumerate(dims))
    return net.graph.op("Pad", x, net.graph.ints(*pads), value), new


@step
def shuffle_space(net, x, dims):
    if len(dims) != 4:
        return None
    n, c, h, w = dims
    if c % 4 == 0:
        return net.graph.op("DepthToSpace", x, blocksize=2, mode=net.pick("DCR", "CRD")), (n, c // 4, 2 * h, 2 * w)
    if h % 2 == 0 and w % 2 == 0:
        return net.graph.op("SpaceToDepth", x, blocksize=2), (n, 4 * c, h // 2, w // 2)
    return None
