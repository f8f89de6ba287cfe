/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle: every operator as the loops that define it (format/ops.inc, kernels/kernels.h), over
 * dense arrays without halo. Dots are chains of fma in stored order, so results must be equal bit
 * for bit; only softmax, whose exp is libm's here, is compared with a tolerance. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime/net.h"

/* Where element `index` of a tensor lies in its root's dense value. */
float *net_element(const struct net *net, int tensor, const int64_t *index) {
    const struct net_tensor *t = &net->tensor[tensor];
    int64_t at[8], flat = 0;
    if (t->view_of >= 0 && t->view_axis >= 0) {
        memcpy(at, index, sizeof at);
        at[t->view_axis] += t->view_start;
        return net_element(net, t->view_of, at);
    }
    for (int d = 0; d < t->rank; d++)
        flat = flat * t->dims[d] + index[d];
    if (t->view_of < 0)
        return &t->value[flat];
    const struct net_tensor *parent = &net->tensor[t->view_of];
    for (int d = parent->rank - 1; d >= 0; d--) {
        at[d] = flat % parent->dims[d];
        flat /= parent->dims[d];
    }
    return net_element(net, t->view_of, at);
}

/* Steps to the next index in row-major order; false after the last. */
static bool next(const struct net_tensor *t, int64_t *index) {
    for (int d = t->rank - 1; d >= 0; d--) {
        if (++index[d] < t->dims[d])
            return true;
        index[d] = 0;
    }
    return false;
}

float net_act(const struct net_node *node, int kind, float v) {
    switch (kind) {
    case IPEX_ACT_none:
        return v;
    case IPEX_ACT_relu:
        return 0.0f > v ? 0.0f : v;
    case IPEX_ACT_clip:
        v = node->floats[0] > v ? node->floats[0] : v;
        return node->floats[1] < v ? node->floats[1] : v;
    case IPEX_ACT_leaky_relu:
        return v > 0.0f ? v : node->floats[0] * v;
    default:
        abort();
    }
}

struct net_chain net_chain_begin(const struct net *net, int x, float sum) {
    const bool bf16 = net->tensor[x].dtype == IPEX_DTYPE_bf16;
    const bool tiles = net->arithmetic == IPEX_ARITHMETIC_bf16_amx;
    return (struct net_chain){.sum = sum, .pairs = bf16 && !tiles, .tiles = bf16 && tiles};
}

static void add_to_tile(struct net_chain *chain, float x, float w) {
    chain->of[chain->count % 2] = fmaf(x, w, chain->of[chain->count % 2]);
    if (++chain->count < 32)
        return;
    chain->sum += chain->of[0] + chain->of[1];
    chain->of[0] = chain->of[1] = 0;
    chain->count = 0;
}

void net_chain_add(struct net_chain *chain, float x, float w) {
    if (chain->tiles) {
        add_to_tile(chain, x, w);
        return;
    }
    if (chain->pairs && !chain->half) {
        chain->half = true;
        chain->x = x;
        chain->w = w;
        return;
    }
    chain->sum = fmaf(x, w, chain->sum);
    if (chain->half)
        chain->sum = fmaf(chain->x, chain->w, chain->sum);
    chain->half = false;
}

void net_chain_end(struct net_chain *chain) {
    while (chain->half || chain->count > 0)
        net_chain_add(chain, 0, 0);
}

/* Element of x, or what stands in the padding. */
static float padded(const struct net *net, int x, int64_t n, int64_t h, int64_t w, int64_t c) {
    const struct net_tensor *t = &net->tensor[x];
    if (h < 0 || w < 0 || h >= t->dims[1] || w >= t->dims[2])
        return t->halo_value;
    const int64_t at[8] = {n, h, w, c};
    return *net_element(net, x, at);
}

/* Weights in stored order: [G][segments][M/G][taps][C/G]. */
static float weight_at(const struct net *net, const struct net_node *node, int64_t m, int64_t kh,
                       int64_t kw, int64_t c) {
    const struct net_tensor *w = &net->tensor[node->inputs[1]];
    const int64_t per_group = w->dims[2], g = m / per_group, taps = w->dims[3];
    const int64_t segment = taps > 1 ? kh : kh * node->ints[IPEX_CONV_KERNEL_W] + kw;
    const int64_t tap = taps > 1 ? kw : 0;
    return w->value[(((g * w->dims[1] + segment) * per_group + m % per_group) * taps + tap) *
                        w->dims[4] +
                    c];
}

/* Row of x that kernel row kh meets in line p of y. */
static int64_t row_of(const struct net_node *node, int64_t p, int64_t kh) {
    const int32_t *a = node->ints;
    return p * a[IPEX_CONV_STRIDE_H] - a[IPEX_CONV_PAD_TOP] + kh * a[IPEX_CONV_DILATION_H];
}

/* Whether a kernel row above or below x is left out, rather than taken times zero. */
static bool leaves_out(const struct net *net, const struct net_node *node, int64_t p, int64_t kh) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    const bool tiles = x->dtype == IPEX_DTYPE_bf16 && net->arithmetic == IPEX_ARITHMETIC_bf16_amx;
    const bool column = net->tensor[node->output[0]].dims[2] == 1;
    const int64_t row = row_of(node, p, kh);
    bool any = false;
    for (int64_t i = 0; i < node->ints[IPEX_CONV_KERNEL_H]; i++)
        any = any || (0 <= row_of(node, p, i) && row_of(node, p, i) < x->dims[1]);
    return (node->op == IPEX_OP_depthwise || (!tiles && !column)) && any &&
           (row < 0 || row >= x->dims[1]);
}

static int64_t column_of(const struct net_node *node, int64_t q, int64_t kw) {
    const int32_t *a = node->ints;
    return q * a[IPEX_CONV_STRIDE_W] - a[IPEX_CONV_PAD_LEFT] + kw * a[IPEX_CONV_DILATION_W];
}

/* How many columns of y a kernel column meets x in. */
static int64_t meets_x(const struct net *net, const struct net_node *node, int64_t kw) {
    const int64_t width = net->tensor[node->inputs[0]].dims[2];
    int64_t ret = 0;
    for (int64_t q = 0; q < net->tensor[node->output[0]].dims[2]; q++)
        ret += 0 <= column_of(node, q, kw) && column_of(node, q, kw) < width;
    return ret;
}

/* Whether kernel columns come one after the other. */
static bool by_columns(const struct net *net, const struct net_node *node) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]], *y = &net->tensor[node->output[0]];
    const bool tiles = x->dtype == IPEX_DTYPE_bf16 && net->arithmetic == IPEX_ARITHMETIC_bf16_amx;
    bool all = false, none = false;
    for (int64_t kw = 0; kw < node->ints[IPEX_CONV_KERNEL_W]; kw++) {
        all = all || meets_x(net, node, kw) == y->dims[2];
        none = none || meets_x(net, node, kw) == 0;
    }
    return node->ints[IPEX_CONV_COLUMNS] && !tiles && y->dims[1] > 1 && y->dims[2] > 1 && all &&
           !none;
}

/* What a kernel's tap gives to an output. */
static void add_tap(const struct net *net, const struct net_node *node, const int64_t *at,
                    int64_t first, int64_t kh, int64_t kw, struct net_chain *chain) {
    const int x = node->inputs[0];
    for (int64_t c = 0; c < net->tensor[x].dims[3] / node->ints[IPEX_CONV_GROUPS]; c++)
        net_chain_add(
            chain,
            padded(net, x, at[0], row_of(node, at[1], kh), column_of(node, at[2], kw), first + c),
            weight_at(net, node, at[3], kh, kw, c));
}

/* Kernel columns that some column of y leaves out, then those that none does. */
static void add_columns(const struct net *net, const struct net_node *node, const int64_t *at,
                        struct net_chain *chain) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]], *y = &net->tensor[node->output[0]];
    for (int whole = 0; whole < 2; whole++)
        for (int64_t kw = 0; kw < node->ints[IPEX_CONV_KERNEL_W]; kw++) {
            const int64_t column = column_of(node, at[2], kw);
            if ((meets_x(net, node, kw) == y->dims[2]) != (whole == 1) || column < 0 ||
                column >= x->dims[2])
                continue;
            for (int64_t kh = 0; kh < node->ints[IPEX_CONV_KERNEL_H]; kh++, net_chain_end(chain))
                if (!leaves_out(net, node, at[1], kh))
                    add_tap(net, node, at, 0, kh, kw, chain);
        }
}

/* The byte of v: the product is rounded once, as f64 holds it. */
static float whole(float v, float scale, float zero) {
    return net_to_byte((float)rint((double)v * (double)scale) + zero);
}

/* What becomes of an exact sum of products of u8 and i8, for output m. */
static float finish_sum(const struct net *net, const struct net_node *node, const int64_t *at,
                        int64_t m, int act, int64_t sum) {
    const float *s = node->floats;
    const float bias = node->inputs[2] >= 0 ? net->tensor[node->inputs[2]].value[m] : 0.0f;
    float v = fmaf((float)sum, net->tensor[node->inputs[4]].value[m], bias);
    if (node->n_inputs == 6) {
        const struct net_tensor *middle = &net->tensor[node->inputs[5]];
        const int64_t n = middle->dims[2];
        for (int64_t l = 0; l < middle->dims[0]; l++) {
            const double low = (double)s[IPEX_MIDDLE_CUTS + 2 * l],
                         high = (double)s[IPEX_MIDDLE_CUTS + 2 * l + 1];
            v = fmaf((float)fmin(fmax(rint((double)v), low), high), middle->value[2 * l * n + m],
                     middle->value[(2 * l + 1) * n + m]);
        }
    }
    if (node->inputs[3] >= 0)
        v = fmaf(*net_element(net, node->inputs[3], at), s[IPEX_RESIDUAL_SCALE], v);
    v = net_act(node, act, v);
    return s[IPEX_Y_SCALE] != 0.0f ? whole(v, s[IPEX_Y_SCALE], s[IPEX_Y_ZERO]) : v;
}

static float conv_u8_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const int32_t *a = node->ints;
    const int64_t groups = a[IPEX_CONV_GROUPS];
    const int64_t channels = net->tensor[node->inputs[0]].dims[3] / groups;
    const int64_t first = at[3] / (net->tensor[node->output[0]].dims[3] / groups) * channels;
    int64_t sum = 0;
    for (int64_t kh = 0; kh < a[IPEX_CONV_KERNEL_H]; kh++)
        for (int64_t kw = 0; kw < a[IPEX_CONV_KERNEL_W]; kw++)
            for (int64_t c = 0; c < channels; c++)
                sum += (int64_t)padded(net, node->inputs[0], at[0], row_of(node, at[1], kh),
                                       column_of(node, at[2], kw), first + c) *
                       (int64_t)weight_at(net, node, at[3], kh, kw, c);
    return finish_sum(net, node, at, at[3], a[IPEX_CONV_ACT], sum);
}

static float depthwise_u8_at(const struct net *net, const struct net_node *node,
                             const int64_t *at) {
    const int32_t *a = node->ints;
    const struct net_tensor *w = &net->tensor[node->inputs[1]];
    const int64_t inputs = net->tensor[node->inputs[0]].dims[3] / a[IPEX_CONV_GROUPS];
    const int64_t first = at[3] / inputs * inputs;
    int64_t sum = 0;
    for (int64_t kh = 0; kh < w->dims[0]; kh++)
        for (int64_t kw = 0; kw < w->dims[1]; kw++)
            sum += (int64_t)padded(net, node->inputs[0], at[0], row_of(node, at[1], kh),
                                   column_of(node, at[2], kw / inputs), first + kw % inputs) *
                   (int64_t)w->value[(kh * w->dims[1] + kw) * w->dims[2] + at[3]];
    return finish_sum(net, node, at, at[3], a[IPEX_CONV_ACT], sum);
}

static float linear_u8_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]], *w = &net->tensor[node->inputs[1]];
    const int last = x->rank - 1;
    int64_t in[8], sum = 0;
    memcpy(in, at, sizeof in);
    for (in[last] = 0; in[last] < x->dims[last]; in[last]++)
        sum += (int64_t)*net_element(net, node->inputs[0], in) *
               (int64_t)w->value[at[last] * w->dims[1] + in[last]];
    return finish_sum(net, node, at, at[last], node->ints[0], sum);
}

static float conv_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const int32_t *a = node->ints;
    const int x = node->inputs[0], bias = node->inputs[2];
    const int64_t groups = a[IPEX_CONV_GROUPS], m = at[3];
    const int64_t channels = net->tensor[x].dims[3] / groups;
    const int64_t first = m / (net->tensor[node->output[0]].dims[3] / groups) * channels;
    const bool rows = groups == 1 && a[IPEX_CONV_DILATION_W] == 1; /* are segments; else taps are */
    const bool columns = by_columns(net, node);
    struct net_chain chain = net_chain_begin(net, x, bias >= 0 ? net->tensor[bias].value[m] : 0.0f);
    if (columns)
        add_columns(net, node, at, &chain);
    for (int64_t kh = 0; kh < a[IPEX_CONV_KERNEL_H] && !columns; kh++, net_chain_end(&chain)) {
        if (leaves_out(net, node, at[1], kh))
            continue;
        for (int64_t kw = 0; kw < a[IPEX_CONV_KERNEL_W]; kw++) {
            if (!rows)
                net_chain_end(&chain);
            add_tap(net, node, at, first, kh, kw, &chain);
        }
    }
    if (node->inputs[3] >= 0)
        chain.sum += *net_element(net, node->inputs[3], at);
    return net_act(node, a[IPEX_CONV_ACT], chain.sum);
}

/* Within a tap the inputs of the group, from m's own place on; weights [KH][KW * C/G][M]. */
static float depthwise_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const int32_t *a = node->ints;
    const int x = node->inputs[0], bias = node->inputs[2];
    const struct net_tensor *w = &net->tensor[node->inputs[1]];
    const int64_t groups = a[IPEX_CONV_GROUPS], m = at[3];
    const int64_t inputs = net->tensor[x].dims[3] / groups, outputs = w->dims[2] / groups;
    float sum = bias >= 0 ? net->tensor[bias].value[m] : 0.0f;
    for (int64_t kh = 0; kh < w->dims[0]; kh++) {
        if (leaves_out(net, node, at[1], kh))
            continue;
        for (int64_t t = 0; t < w->dims[1]; t++) {
            const int64_t column = at[2] * a[IPEX_CONV_STRIDE_W] - a[IPEX_CONV_PAD_LEFT] +
                                   t / inputs * a[IPEX_CONV_DILATION_W];
            sum = fmaf(padded(net, x, at[0], row_of(node, at[1], kh), column,
                              m / outputs * inputs + (m % outputs + t) % inputs),
                       w->value[(kh * w->dims[1] + t) * w->dims[2] + m], sum);
        }
    }
    if (node->inputs[3] >= 0)
        sum += *net_element(net, node->inputs[3], at);
    return net_act(node, a[IPEX_CONV_ACT], sum);
}

/* B^T d and A^T m of winograd with tiles of `side` inputs and `tile` outputs along an axis, for
 * values `step` apart: in the order of operations of kernels/kernels.h. */
static void winograd_input(int64_t side, float *d, int64_t step) {
    if (side == 1)
        return;
    const float t[4] = {d[0], d[step], d[2 * step], d[3 * step]};
    if (side == 4) {
        d[0] = t[0] - t[2];
        d[step] = t[1] + t[2];
        d[2 * step] = t[2] - t[1];
        d[3 * step] = t[1] - t[3];
        return;
    }
    const float t4 = d[4 * step], t5 = d[5 * step];
    const float e = fmaf(-4, t[2], t4), o = fmaf(-4, t[1], t[3]);
    d[0] = fmaf(4, t[0], fmaf(-5, t[2], t4));
    d[step] = e + o;
    d[2 * step] = e - o;
    d[3 * step] = fmaf(2, t[3] - t[1], t4 - t[2]);
    d[4 * step] = fmaf(-2, t[3] - t[1], t4 - t[2]);
    d[5 * step] = fmaf(4, t[1], fmaf(-5, t[3], t5));
}

static float winograd_output(int64_t side, int64_t tile, const float *m, int64_t step, int64_t at) {
    if (side == 1)
        return m[0];
    const float a = m[step] + m[2 * step], b = m[step] - m[2 * step];
    if (side == 4)
        return at == 0 ? m[0] + a : b - m[3 * step];
    const float c = m[3 * step] + m[4 * step], d = m[3 * step] - m[4 * step];
    const float o[4] = {m[0] + (a + c), fmaf(2, d, b), fmaf(4, c, a), fmaf(8, d, b)};
    return at == tile - 1 ? o[at] + m[5 * step] : o[at];
}

/* The same of a convolution of an upsampled image: at, of `factor` outputs, is the first, the last
 * or between them. */
static void upsampled_input(float *d, int64_t step) {
    d[0] = d[0] - d[step];
    d[2 * step] = d[2 * step] - d[step];
}

static float upsampled_output(const float *m, int64_t step, int64_t at, int64_t factor) {
    return at == 0 ? m[0] + m[step] : at == factor - 1 ? m[step] + m[2 * step] : m[step];
}

static float upsampled_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *w = &net->tensor[node->inputs[1]];
    const int64_t channels = w->dims[4], factor = node->ints[IPEX_UPSAMPLED_FACTOR];
    float m[9] = {0}, column[3];
    for (int64_t c = 0; c < channels; c++) {
        float d[9];
        for (int64_t i = 0; i < 9; i++)
            d[i] = padded(net, node->inputs[0], at[0], at[1] / factor + i / 3 - 1,
                          at[2] / factor + i % 3 - 1, c);
        for (int64_t i = 0; i < 3; i++)
            upsampled_input(d + i, 3);
        for (int64_t i = 0; i < 3; i++)
            upsampled_input(d + 3 * i, 1);
        for (int64_t z = 0; z < 9; z++)
            m[z] = fmaf(d[z], w->value[(z * w->dims[2] + at[3]) * channels + c], m[z]);
    }
    for (int64_t i = 0; i < 3; i++)
        column[i] = upsampled_output(m + i, 3, at[1] % factor, factor);
    float sum = upsampled_output(column, 1, at[2] % factor, factor);
    sum += node->inputs[2] >= 0 ? net->tensor[node->inputs[2]].value[at[3]] : 0.0f;
    if (node->inputs[3] >= 0)
        sum += *net_element(net, node->inputs[3], at);
    return net_act(node, node->ints[IPEX_UPSAMPLED_ACT], sum);
}

static float winograd_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const int32_t *a = node->ints;
    const struct net_tensor *w = &net->tensor[node->inputs[1]];
    const int64_t channels = w->dims[4], points = w->dims[1];
    const int64_t kernel_h = a[IPEX_CONV_KERNEL_H], kernel_w = a[IPEX_CONV_KERNEL_W];
    const int64_t side_h = kernel_h == 1 ? 1 : points == 16 ? 4 : 6;
    const int64_t side_w = kernel_w == 1 ? 1 : points == 16 ? 4 : 6;
    const int64_t tile_h = side_h - kernel_h + 1, tile_w = side_w - kernel_w + 1;
    const int64_t dh = a[IPEX_CONV_DILATION_H], dw = a[IPEX_CONV_DILATION_W];
    const int64_t row = at[1] / dh, line = row / tile_h * tile_h * dh + at[1] % dh;
    const int64_t col = at[2] / dw, pixel = col / tile_w * tile_w * dw + at[2] % dw;
    float m[36] = {0}, column[6];
    for (int64_t c = 0; c < channels; c++) {
        float d[36];
        for (int64_t i = 0; i < points; i++)
            d[i] =
                padded(net, node->inputs[0], at[0], line + i / side_w * dh - a[IPEX_CONV_PAD_TOP],
                       pixel + i % side_w * dw - a[IPEX_CONV_PAD_LEFT], c);
        for (int64_t i = 0; i < side_w; i++)
            winograd_input(side_h, d + i, side_w);
        for (int64_t i = 0; i < side_h; i++)
            winograd_input(side_w, d + side_w * i, 1);
        for (int64_t z = 0; z < points; z++)
            m[z] = fmaf(d[z], w->value[(z * w->dims[2] + at[3]) * channels + c], m[z]);
    }
    for (int64_t i = 0; i < side_w; i++)
        column[i] = winograd_output(side_h, tile_h, m + i, side_w, row % tile_h);
    float sum = winograd_output(side_w, tile_w, column, 1, col % tile_w);
    sum += node->inputs[2] >= 0 ? net->tensor[node->inputs[2]].value[at[3]] : 0.0f;
    if (node->inputs[3] >= 0)
        sum += *net_element(net, node->inputs[3], at);
    return net_act(node, a[IPEX_CONV_ACT], sum);
}

static float linear_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]], *w = &net->tensor[node->inputs[1]];
    const int last = x->rank - 1, bias = node->inputs[2];
    int64_t in[8];
    memcpy(in, at, sizeof in);
    struct net_chain chain =
        net_chain_begin(net, node->inputs[0], bias >= 0 ? net->tensor[bias].value[at[last]] : 0.0f);
    for (in[last] = 0; in[last] < x->dims[last]; in[last]++)
        net_chain_add(&chain, *net_element(net, node->inputs[0], in),
                      w->value[at[last] * w->dims[1] + in[last]]);
    net_chain_end(&chain);
    if (node->inputs[3] >= 0)
        chain.sum += *net_element(net, node->inputs[3], at);
    return net_act(node, node->ints[0], chain.sum);
}

static float pool_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const int32_t *a = node->ints;
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    float value = 0.0f;
    int64_t inside = 0, with_pad = 0;
    for (int64_t kh = 0; kh < a[IPEX_POOL_KERNEL_H]; kh++)
        for (int64_t kw = 0; kw < a[IPEX_POOL_KERNEL_W]; kw++) {
            const int64_t h = at[1] * a[IPEX_POOL_STRIDE_H] - a[IPEX_POOL_PAD_TOP] + kh;
            const int64_t w = at[2] * a[IPEX_POOL_STRIDE_W] - a[IPEX_POOL_PAD_LEFT] + kw;
            with_pad +=
                h < x->dims[1] + a[IPEX_POOL_PAD_BOTTOM] && w < x->dims[2] + a[IPEX_POOL_PAD_RIGHT];
            if (h < 0 || w < 0 || h >= x->dims[1] || w >= x->dims[2])
                continue;
            const float v = padded(net, node->inputs[0], at[0], h, w, at[3]);
            if (inside++ == 0)
                value = v;
            else if (node->op == IPEX_OP_avg_pool)
                value += v;
            else
                value = v > value ? v : value;
        }
    if (node->op == IPEX_OP_max_pool)
        return value;
    return value / (float)(a[IPEX_POOL_COUNT_PAD] ? with_pad : inside);
}

/* Element of an input that is broadcast to y, dims aligned at the last. */
static float broadcast_at(const struct net *net, int x, int y, const int64_t *at) {
    const struct net_tensor *t = &net->tensor[x];
    const int missing = net->tensor[y].rank - t->rank;
    int64_t in[8] = {0};
    for (int d = 0; d < t->rank; d++)
        in[d] = t->dims[d] == 1 ? 0 : at[d + missing];
    return *net_element(net, x, in);
}

static float pointwise_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    float result[IPEX_POINTWISE_STEPS] = {0}, v[2] = {0};
    const int steps = node->n_ints / 3;
    for (int s = 0; s < steps; s++) {
        for (int o = 0; o < 2; o++) {
            const int32_t code = node->ints[3 * s + 1 + o];
            v[o] = code < 0 ? node->floats[-1 - code]
                   : code >= IPEX_POINTWISE_RESULT
                       ? result[code - IPEX_POINTWISE_RESULT]
                       : broadcast_at(net, node->inputs[code], node->output[0], at);
        }
        switch (node->ints[3 * s]) {
        case IPEX_STEP_copy:
            result[s] = v[0];
            break;
        case IPEX_STEP_add:
            result[s] = v[0] + v[1];
            break;
        case IPEX_STEP_sub:
            result[s] = v[0] - v[1];
            break;
        case IPEX_STEP_mul:
            result[s] = v[0] * v[1];
            break;
        case IPEX_STEP_max:
            result[s] = v[1] > v[0] ? v[1] : v[0];
            break;
        case IPEX_STEP_neg:
            result[s] = -v[0];
            break;
        default:
            abort();
        }
    }
    return net->tensor[node->output[0]].dtype == IPEX_DTYPE_u8 ? net_to_byte(result[steps - 1])
                                                               : result[steps - 1];
}

static float move_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    int64_t in[8] = {0};
    for (int d = 0; d < x->rank; d++) {
        switch (node->op) {
        case IPEX_OP_copy:
            in[d] = at[d];
            break;
        case IPEX_OP_transpose:
            in[node->ints[d]] = at[d];
            break;
        default: /* slice */
            in[d] = node->ints[d] + at[d] * node->ints[x->rank + d];
            break;
        }
    }
    return *net_element(net, node->inputs[0], in);
}

static float softmax_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    const struct net_tensor *x = &net->tensor[node->inputs[0]];
    const int last = x->rank - 1;
    int64_t in[8];
    double sum = 0.0;
    memcpy(in, at, sizeof in);
    for (in[last] = 0; in[last] < x->dims[last]; in[last]++)
        sum += exp((double)*net_element(net, node->inputs[0], in));
    return (float)(exp((double)*net_element(net, node->inputs[0], at)) / sum);
}

static float combine(int kind, float a, float v) {
    if (kind == IPEX_REDUCE_max || kind == IPEX_REDUCE_min)
        return (kind == IPEX_REDUCE_max) == (v > a) ? v : a;
    return a + v;
}

/* The reduced elements in row-major order: one chain, or, where nothing follows the reduced axes,
 * 16 lanes and a tree. */
static float reduce_at(const struct net *net, const struct net_node *node, const int64_t *at) {
    struct net_tensor box = net->tensor[node->inputs[0]];
    const int kind = node->ints[0];
    int64_t index[8] = {0}, in[8], inner = 1, count = 0;
    float lane[16], chain = 0.0f;
    for (int i = 0; i < 16; i++)
        lane[i] = kind == IPEX_REDUCE_max ? -INFINITY : kind == IPEX_REDUCE_min ? INFINITY : 0.0f;
    for (int d = 0; d < box.rank; d++) {
        inner = (node->ints[1] >> d & 1) != 0 ? 1 : inner * box.dims[d];
        if ((node->ints[1] >> d & 1) == 0)
            box.dims[d] = 1;
    }
    do {
        for (int d = 0; d < box.rank; d++)
            in[d] = at[d] + index[d];
        const float v = *net_element(net, node->inputs[0], in);
        chain = count == 0 ? v : combine(kind, chain, v);
        lane[count % 16] = combine(kind, lane[count % 16], v);
        count++;
    } while (next(&box, index));
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] = combine(kind, lane[i], lane[i + half]);
    const float result = inner == 1 ? lane[0] : chain;
    return kind == IPEX_REDUCE_mean ? result / (float)count : result;
}

/* Element `at` of output number `output`. */
static float compute(const struct net *net, const struct net_node *node, int output,
                     const int64_t *at) {
    const bool bytes = net->tensor[node->inputs[0]].dtype == IPEX_DTYPE_u8;
    float product;
    if ((node->op >= IPEX_OP_conv_transpose && node->op <= IPEX_OP_cumsum) ||
        node->op == IPEX_OP_scatter || node->op == IPEX_OP_grid_sample)
        return net_data_at(net, node, output, at);
    if (net_product_at(net, node, output, at, &product))
        return product;
    switch (node->op) {
    case IPEX_OP_linear:
        return bytes ? linear_u8_at(net, node, at) : linear_at(net, node, at);
    case IPEX_OP_conv:
        return bytes ? conv_u8_at(net, node, at) : conv_at(net, node, at);
    case IPEX_OP_depthwise:
        return bytes ? depthwise_u8_at(net, node, at) : depthwise_at(net, node, at);
    case IPEX_OP_winograd:
        return winograd_at(net, node, at);
    case IPEX_OP_upsampled_conv:
        return upsampled_at(net, node, at);
    case IPEX_OP_max_pool:
    case IPEX_OP_avg_pool:
        return pool_at(net, node, at);
    case IPEX_OP_pointwise:
        return pointwise_at(net, node, at);
    case IPEX_OP_softmax:
        return softmax_at(net, node, at);
    case IPEX_OP_reduce:
        return reduce_at(net, node, at);
    case IPEX_OP_pad:
        return net_data_at(net, node, output, at);
    default:
        return move_at(net, node, at);
    }
}

void net_oracle(struct net *net) {
    for (int i = 0; i < net->inputs; i++)
        net_randomize(net, &net->tensor[net->input[i]]);
    for (int i = 0; i < net->nodes; i++) {
        const struct net_node *node = &net->node[i];
        for (int o = 0; o < node->n_outputs; o++) {
            int64_t at[8] = {0};
            const bool rounds = net->tensor[node->output[o]].dtype == IPEX_DTYPE_bf16;
            do {
                const float value = compute(net, node, o, at);
                *net_element(net, node->output[o], at) = rounds ? net_to_bf16(value) : value;
            } while (next(&net->tensor[node->output[o]], at));
        }
    }
}

float *net_value(const struct net *net, int tensor) {
    const struct net_tensor *t = &net->tensor[tensor];
    float *ret = malloc((size_t)net_numel(t) * sizeof *ret);
    int64_t at[8] = {0}, i = 0;
    do
        ret[i++] = *net_element(net, tensor, at);
    while (next(t, at));
    return ret;
}
