/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle, second part: transposed convolution, resize, and the operators about integers, bools,
 * indices and order, each as its definition. Values of all dtypes are floats here, so tests keep
 * integers small. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime/net.h"

/* Element of an input that is broadcast to y, dims aligned at the last. */
static float broadcast_at(const struct net *net, int x, int y, const int64_t *at) {
    const struct net_tensor *t = &net->tensor[x];
    const int missing = net->tensor[y].rank - t->rank;
    int64_t in[8] = {0};
    for (int d = 0; d < t->rank; d++)
        in[d] = t->dims[d] == 1 ? 0 : at[d + missing];
    return *net_element(net, x, in);
}

/* The position of x that a tap brings to an output, or -1. */
static int64_t source(const struct net_node *node, int axis, int64_t out, int64_t tap,
                      int64_t size) {
    const int32_t *a = node->ints;
    const int64_t at = out + a[IPEX_CONV_PAD_TOP + axis] - tap * a[IPEX_CONV_DILATION_H + axis];
    const int64_t stride = a[IPEX_CONV_STRIDE_H + axis];
    return at >= 0 && at % stride == 0 && at / stride < size ? at / stride : -1;
}

static float conv_transpose_at(const struct net *net, const struct net_node *node,
                               const int64_t *at) {
    const int32_t *a = node->ints;
    const struct net_tensor *x = &net->tensor[node->inputs[0]], *w = &net->tensor[node->inputs[1]];
    const int bias = node->inputs[2];
    const int64_t per_group = w->dims[2], g = at[3] / per_group, channels = w->dims[4];
    struct net_chain chain =
        net_chain_begin(net, node->inputs[0], bias >= 0 ? net->tensor[bias].value[at[3]] : 0.0f);
    for (int64_t t = 0; t < w->dims[1]; t++, net_chain_end(&chain)) {
        const int64_t h = source(node, 0, at[1], t / a[IPEX_CONV_KERNEL_W], x->dims[1]);
        const int64_t v = source(node, 1, at[2], t % a[IPEX_CONV_KERNEL_W], x->dims[2]);
        if (h < 0 || v < 0)
            continue;
        const float *row =
            w->value + ((g * w->dims[1] + t) * per_group + at[3] % per_group) * channels;
        for (int64_t c = 0; c < channels; c++) {
            const int64_t in[8] = {at[0], h, v, g * channels + c};
            net_chain_add(&chain, *net_element(net, node->inputs[0], in), row[c]);
        }
    }
    return net_act(node, a[IPEX_CONV_ACT], chain.sum);
}

/* Where output i of an axis lies, for the two kinds of coordinates that tests use. */
static double resize_position(const struct net_node *node, int64_t i, int64_t in, int64_t out) {
    const double scale = (double)out / (double)in;
    if (node->ints[IPEX_RESIZE_COORDINATES] == IPEX_RESIZE_asymmetric)
        return (double)i / scale;
    return ((double)i + 0.5) / scale - 0.5;
}

static int64_t inside(double at, int64_t size) {
    return at < 0 ? 0 : at > (double)(size - 1) ? size - 1 : (int64_t)at;
}

/* Nearest with floor, or linear. */
static float resize_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    const struct net_tensor *y = &net->tensor[node->output[0]];
    const double h = resize_position(node, at[1], x->dims[1], y->dims[1]);
    const double w = resize_position(node, at[2], x->dims[2], y->dims[2]);
    const bool linear = node->ints[IPEX_RESIZE_MODE] == IPEX_RESIZE_linear;
    float row[2];
    for (int i = 0; i < 2; i++) {
        float v[2];
        for (int j = 0; j < 2; j++) {
            const int64_t in[8] = {at[0], inside(floor(h) + i, x->dims[1]),
                                   inside(floor(w) + j, x->dims[2]), at[3]};
            v[j] = *net_element(net, node->inputs[0], in);
        }
        if (!linear)
            return v[0];
        row[i] = fmaf(v[1], (float)(w - floor(w)), v[0] * (float)(1 - (w - floor(w))));
    }
    return fmaf(row[1], (float)(h - floor(h)), row[0] * (float)(1 - (h - floor(h))));
}

/* Linear, zeros outside, corners aligned; in the kernel's order. */
static float grid_sample_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    const int axes = x->rank - 2;
    float low[3], part[3], sum = 0;
    for (int axis = 0; axis < axes; axis++) {
        int64_t in[8] = {0};
        memcpy(in, at, (size_t)(axes + 1) * sizeof *in);
        in[axes + 1] = axis;
        const float last = (float)(x->dims[axes - axis] - 1);
        const float p = (*net_element(net, node->inputs[1], in) + 1) * 0.5f * last;
        low[axis] = floorf(p);
        part[axis] = p - low[axis];
    }
    for (int corner = 0; corner < 1 << axes; corner++) {
        int64_t in[8] = {at[0]};
        float weight = 1;
        bool inside = true;
        for (int axis = axes - 1; axis >= 0; axis--) {
            const int step = corner >> axis & 1;
            const float pixel = low[axis] + (float)step;
            inside &= pixel >= 0 && pixel < (float)x->dims[axes - axis];
            in[axes - axis] = inside ? (int64_t)pixel : 0;
            weight *= step ? part[axis] : 1 - part[axis];
        }
        in[axes + 1] = at[axes + 1];
        if (inside)
            sum = fmaf(*net_element(net, node->inputs[0], in), weight, sum);
    }
    return sum;
}

static float gather_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    const int indices = net->tensor[node->inputs[1]].rank, axis = node->ints[0];
    int64_t in[8] = {0};
    int64_t index = (int64_t)*net_element(net, node->inputs[1], at + axis);
    index = index < 0 ? index + x->dims[axis] : index;
    for (int d = 0; d < x->rank; d++)
        in[d] = d < axis ? at[d] : at[d + indices - 1];
    in[axis] = index < 0 ? 0 : index >= x->dims[axis] ? x->dims[axis] - 1 : index;
    return *net_element(net, node->inputs[0], in);
}

static float scatter_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    const struct net_tensor *indices = &net->tensor[node->inputs[1]];
    int64_t in[16] = {0}, count = 1; /* of updates */
    float y = *net_element(net, node->inputs[0], at);
    for (int d = 0; d < indices->rank; d++)
        count *= indices->dims[d];
    memcpy(in + indices->rank, at + 1, (size_t)(x->rank - 1) * sizeof *in);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        for (int d = indices->rank - 1; d >= 0; d--) {
            in[d] = rest % indices->dims[d];
            rest /= indices->dims[d];
        }
        int64_t index = (int64_t)*net_element(net, node->inputs[1], in);
        index = index < 0 ? index + x->dims[0] : index;
        if ((index < 0 ? 0 : index >= x->dims[0] ? x->dims[0] - 1 : index) != at[0])
            continue;
        const float q = *net_element(net, node->inputs[2], in);
        const float made[] = {q, y + q, y * q, q > y ? q : y, q < y ? q : y};
        y = made[node->ints[0]];
    }
    return y;
}

static float cast_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const float v = *net_element(net, node->inputs[0], at);
    switch (net->tensor[node->output[0]].dtype) {
    case IPEX_DTYPE_f32:
        return v;
    case IPEX_DTYPE_bf16:
        return net_to_bf16(v);
    case IPEX_DTYPE_bool:
        return v != 0;
    default:
        return truncf(v) + 0.0f; /* integers have no -0 */
    }
}

static float compare(int kind, float a, float b) {
    const bool result[] = {a == b, a<b, a <= b, a> b, a >= b, a != b};
    return result[kind];
}

static float logical(int kind, bool a, bool b) {
    const bool result[] = {a && b, a || b, a != b, !a};
    return result[kind];
}

static float integer(int kind, float a, float b) {
    switch (kind) {
    case IPEX_INTEGER_add:
        return a + b;
    case IPEX_INTEGER_sub:
        return a - b;
    case IPEX_INTEGER_mul:
        return a * b;
    case IPEX_INTEGER_div:
        return b == 0 ? 0 : (float)((int)a / (int)b);
    case IPEX_INTEGER_min:
        return fminf(a, b);
    case IPEX_INTEGER_max:
        return fmaxf(a, b);
    case IPEX_INTEGER_neg:
        return 0 - a;
    case IPEX_INTEGER_abs:
        return fabsf(a);
    default:
        return b == 0 ? 0 : (float)((int)a - (int)b * (int)floor((double)a / (double)b));
    }
}

/* All elements of the row that `at` is in, along `axis`. */
static float *row_of(const struct net *net, int tensor, int axis, const int64_t *at) {
    const int64_t n = net->tensor[tensor].dims[axis];
    float *ret = malloc((size_t)n * sizeof *ret);
    int64_t in[8];
    memcpy(in, at, sizeof in);
    for (in[axis] = 0; in[axis] < n; in[axis]++)
        ret[in[axis]] = *net_element(net, tensor, in);
    return ret;
}

/* Index of the element that stands at `place` in order; of equals the lower index first. */
static int64_t index_at_place(const float *row, int64_t n, int64_t place, bool largest) {
    for (int64_t i = 0; i < n; i++) {
        int64_t before = 0;
        for (int64_t j = 0; j < n; j++)
            before += (largest ? row[j] > row[i] : row[j] < row[i]) || (row[j] == row[i] && j < i);
        if (before == place)
            return i;
    }
    abort();
}

static float topk_at(const struct net *net, const struct net_node *node, int output,
                     const int64_t *at) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    const int last = x->rank - 1;
    const bool is_arg = node->op == IPEX_OP_arg;
    const bool largest = node->ints[is_arg ? IPEX_ARG_LARGEST : IPEX_TOPK_LARGEST] != 0;
    float *row = row_of(net, node->inputs[0], last, at);
    int64_t index = index_at_place(row, x->dims[last], at[last], largest);
    for (int64_t i = index + 1; is_arg && node->ints[IPEX_ARG_LAST] && i < x->dims[last]; i++)
        if (row[i] == row[index])
            index = i;
    const float ret = is_arg || output == 1 ? (float)index : row[index];
    free(row);
    return ret;
}

static float cumsum_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const int axis = node->ints[IPEX_CUMSUM_AXIS];
    const int64_t n = net->tensor[node->inputs[0]].dims[axis];
    float *row = row_of(net, node->inputs[0], axis, at), sum = 0;
    for (int64_t step = 0; step < n; step++) {
        const int64_t i = node->ints[IPEX_CUMSUM_REVERSE] ? n - 1 - step : step;
        if (i == at[axis] && node->ints[IPEX_CUMSUM_EXCLUSIVE])
            break;
        sum += row[i];
        if (i == at[axis])
            break;
    }
    free(row);
    return sum;
}

/* One step at a time, as numpy's pad is described. */
static int64_t padded_from(int mode, int64_t at, int64_t n) {
    while (at < 0 || at >= n) {
        if (mode == IPEX_PAD_edge)
            return at < 0 ? 0 : n - 1;
        if (mode == IPEX_PAD_wrap)
            at += at < 0 ? n : -n;
        else
            at = n == 1 ? 0 : at < 0 ? -at : 2 * (n - 1) - at;
    }
    return at;
}

static float pad_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    const int mode = node->ints[2 * x->rank];
    int64_t in[8] = {0};
    for (int d = 0; d < x->rank; d++) {
        in[d] = at[d] - node->ints[d];
        if (mode == IPEX_PAD_constant && (in[d] < 0 || in[d] >= x->dims[d]))
            return node->floats[0];
        in[d] = padded_from(mode, in[d], x->dims[d]);
    }
    return *net_element(net, node->inputs[0], in);
}

float net_data_at(const struct net *net, const struct net_node *node, int output,
                  const int64_t *at) {
    float v[3] = {0};
    const int kind = node->ints[0];
    switch (node->op) {
    case IPEX_OP_conv_transpose:
        return conv_transpose_at(net, node, at);
    case IPEX_OP_resize:
        return resize_at(net, node, at);
    case IPEX_OP_grid_sample:
        return grid_sample_at(net, node, at);
    case IPEX_OP_gather:
        return gather_at(net, node, at);
    case IPEX_OP_scatter:
        return scatter_at(net, node, at);
    case IPEX_OP_cast:
        return cast_at(net, node, at);
    case IPEX_OP_arg:
    case IPEX_OP_topk:
        return topk_at(net, node, output, at);
    case IPEX_OP_cumsum:
        return cumsum_at(net, node, at);
    case IPEX_OP_pad:
        return pad_at(net, node, at);
    default:
        break;
    }
    for (int i = 0; i < node->n_inputs; i++)
        v[i] = broadcast_at(net, node->inputs[i], node->output[0], at);
    return node->op == IPEX_OP_compare   ? compare(kind, v[0], v[1])
           : node->op == IPEX_OP_logical ? logical(kind, v[0] != 0, v[1] != 0)
           : node->op == IPEX_OP_where   ? v[0] != 0 ? v[1] : v[2]
             : node->op == IPEX_OP_integer ? integer(kind, v[0], v[1])
                                         : v[0]; /* expand */
}
