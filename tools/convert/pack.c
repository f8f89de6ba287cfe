/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out weight recipes: reads the source where it lies, scales in f64, rounds once, and
 * writes the packed layout of format/tile.h. */
#include "tools/convert/draft.h"

#include <string.h>

static double scaled_f64(const struct ipex_value *source, int64_t at, const struct ipex_fold *fold,
                         int64_t n) {
    double w = ipex_constant_f64(source, at);
    return fold && fold->scale ? w * fold->scale[n] : w;
}

uint16_t ipex_bf16_of_f64(double value) {
    float nearest = (float)value;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    if (value != value)
        return (uint16_t)(bits >> 16 | 0x40);
    if ((double)nearest != value) { /* the float below it in magnitude, made odd, rounds like it */
        const bool above = nearest < 0 ? (double)nearest < value : (double)nearest > value;
        bits = (bits - above) | 1;
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* f16's exponent is 112 less than that of f32, which has no denormals there. */
uint16_t ipex_exact_f16(double value) {
    const float exact = (float)value;
    uint32_t bits;
    memcpy(&bits, &exact, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & INT32_MAX;
    if (magnitude < 113u << 23)
        return (uint16_t)(sign | (uint32_t)((exact < 0 ? -exact : exact) * 0x1p24f));
    return (uint16_t)(sign | ((magnitude >> 13) - (112u << 10)));
}

/* Element k of column j of one panel, in a segment's tiles. */
static void put(const struct ipex_plan_weight *w, float *panel, int64_t k, int64_t j,
                double value) {
    if (w->dtype == IPEX_DTYPE_bf16) {
        const uint16_t rounded = ipex_bf16_of_f64(value);
        memcpy((uint8_t *)panel + ((k / 2 * IPEX_PANEL + j) * 2 + k % 2) * 2, &rounded, 2);
    } else if (w->dtype == IPEX_DTYPE_f16) {
        ((uint16_t *)(void *)panel)[k * IPEX_PANEL + j] = ipex_exact_f16(value);
    } else if (w->dtype == IPEX_DTYPE_i8) {
        ((int8_t *)panel)[(k / 4 * IPEX_PANEL + j) * 4 + k % 4] = (int8_t)value;
    } else {
        panel[k * IPEX_PANEL + j] = (float)value;
    }
}

/* Tiles [G][segments][panels][k_tiles][16 k][16 n] from W[m][c][kh][kw]: a segment's k runs over
 * taps, then channels. */
static void pack_conv(const struct ipex_plan_weight *w, float *out) {
    int64_t groups = w->dims[0], segments = w->dims[1], n_count = w->dims[2], taps = w->dims[3],
            channels = w->dims[4];
    int64_t window = segments * taps;
    struct ipex_tiles tiles;
    if (!ipex_tiles_of(w->dtype, w->dims, (unsigned)w->rank, &tiles))
        return;
    for (int64_t g = 0; g < groups; g++)
        for (int64_t s = 0; s < segments; s++)
            for (int64_t p = 0; p < tiles.panels; p++, out += tiles.k_tiles * 256)
                for (int64_t k = 0; k < taps * channels; k++)
                    for (int64_t j = 0; j < IPEX_PANEL && p * IPEX_PANEL + j < n_count; j++) {
                        int64_t m = g * n_count + p * IPEX_PANEL + j, c = k % channels,
                                tap = s * taps + k / channels;
                        put(w, out, k, j,
                            scaled_f64(w->source, (m * channels + c) * window + tap, w->fold, m));
                    }
}

/* As pack_conv, from W[c][m][kh][kw]; columns run over the taps that go together, then their
 * outputs. */
static void pack_conv_transpose(const struct ipex_plan_weight *w, float *out) {
    const int64_t groups = w->dims[0], segments = w->dims[1], channels = w->dims[4];
    const int64_t outputs = w->source->dims[1], window = w->source->dims[2] * w->source->dims[3];
    const int64_t together = window / segments;
    struct ipex_tiles tiles;
    if (!ipex_tiles_of(w->dtype, w->dims, (unsigned)w->rank, &tiles))
        return;
    for (int64_t g = 0; g < groups; g++)
        for (int64_t s = 0; s < segments; s++)
            for (int64_t p = 0; p < tiles.panels; p++, out += tiles.k_tiles * 256)
                for (int64_t c = 0; c < channels; c++)
                    for (int64_t j = 0; j < IPEX_PANEL && p * IPEX_PANEL + j < tiles.n; j++) {
                        const int64_t column = p * IPEX_PANEL + j;
                        const int64_t m = column % outputs;
                        const int64_t tap = s * together + column / outputs;
                        const int64_t at = ((g * channels + c) * outputs + m) * window + tap;
                        put(w, out, c, j, scaled_f64(w->source, at, w->fold, g * outputs + m));
                    }
}

/* Winograd's G along one side of a kernel: points from taps, and how many of both. */
struct points {
    int64_t points, taps;
    double g[IPEX_WINOGRAD_SIDE_MAX][5];
};

/* Six points are those of 0, 1, -1, 2, -2 and infinity, four those of 0, 1, -1 and infinity; three,
 * of an upsampled image, the first tap, all of them and the last; one is the only tap. */
static struct points points_along(int64_t points, int64_t taps) {
    static const double at[5] = {0, 1, -1, 2, -2};
    static const double six[5] = {1 / 4.0, -1 / 6.0, -1 / 6.0, 1 / 24.0, 1 / 24.0},
                        four[3] = {1, 1 / 2.0, 1 / 2.0};
    struct points ret = {.points = points, .taps = taps};
    ret.g[points - 1][taps - 1] = 1;
    for (int64_t i = 0; i < points - 1; i++) {
        double power = points == 6 ? six[i] : points == 4 ? four[i] : 1;
        for (int64_t t = 0; t < taps; t++, power *= at[i])
            ret.g[i][t] = power;
    }
    return ret;
}

/* u = (G g) G^T of a kernel, row-major. */
static void transform_kernel(const double *g, const struct points *h, const struct points *w,
                             double *u) {
    for (int64_t i = 0; i < h->points; i++) {
        double half[5] = {0}; /* row i of G g */
        for (int64_t a = 0; a < h->taps; a++)
            for (int64_t b = 0; b < w->taps; b++)
                half[b] += h->g[i][a] * g[a * w->taps + b];
        for (int64_t j = 0; j < w->points; j++) {
            double sum = 0;
            for (int64_t b = 0; b < w->taps; b++)
                sum += half[b] * w->g[j][b];
            u[i * w->points + j] = sum;
        }
    }
}

/* Tiles [points][panels][k_tiles][16 k][16 n] from W[m][c][kh][kw]. */
static void pack_winograd(const struct ipex_plan_weight *w, float *out) {
    const int64_t channels = w->dims[4], points = w->dims[1];
    const int64_t kernel_h = w->source->dims[2], kernel_w = w->source->dims[3];
    const bool upsampled = points == IPEX_UPSAMPLED_POINTS;
    const struct points along_h =
        points_along(upsampled ? 3 : ipex_winograd_side(kernel_h, kernel_w, points), kernel_h);
    const struct points along_w =
        points_along(upsampled ? 3 : ipex_winograd_side(kernel_w, kernel_h, points), kernel_w);
    struct ipex_tiles tiles;
    if (!ipex_tiles_of(w->dtype, w->dims, (unsigned)w->rank, &tiles))
        return;
    int64_t panel_floats = tiles.k_tiles * 256, point_floats = tiles.panels * panel_floats;
    for (int64_t m = 0; m < tiles.n; m++)
        for (int64_t c = 0; c < channels; c++) {
            double g[25], u[IPEX_WINOGRAD_POINTS_MAX];
            for (int64_t t = 0; t < kernel_h * kernel_w; t++)
                g[t] =
                    scaled_f64(w->source, (m * channels + c) * kernel_h * kernel_w + t, w->fold, m);
            transform_kernel(g, &along_h, &along_w, u);
            float *at = out + m / IPEX_PANEL * panel_floats + c * IPEX_PANEL + m % IPEX_PANEL;
            for (int64_t z = 0; z < points; z++)
                at[z * point_floats] = (float)u[z];
        }
}

/* A row of a linear layer's weight: element k is element first + k * step of the source. */
struct row {
    const struct ipex_value *source;
    int64_t first, step;
};

/* Through all rows: where the next one lies. */
struct row_cursor {
    int32_t part;
    int64_t row; /* of the part */
};

static struct row next_row(const struct ipex_plan_weight *w, struct row_cursor *at) {
    struct ipex_fold_part from = {w->source, w->weight_kn, w->dims[0]};
    if (w->fold->parts)
        from = w->fold->part[at->part];
    const int64_t row = at->row++;
    if (at->row == from.n)
        *at = (struct row_cursor){.part = at->part + 1};
    return from.kn ? (struct row){from.weight, row, from.n}
                   : (struct row){from.weight, row * w->dims[1], 1};
}

static void pack_linear(const struct ipex_plan_weight *w, float *out) {
    const int64_t n_count = w->dims[0], k_count = w->dims[1];
    struct row_cursor at = {0};
    struct row row[IPEX_PANEL];
    struct ipex_tiles tiles;
    if (!ipex_tiles_of(w->dtype, w->dims, (unsigned)w->rank, &tiles))
        return;
    for (int64_t n = 0; n < n_count; n += IPEX_PANEL, out += tiles.k_tiles * 256) {
        const int64_t rows = n_count - n < IPEX_PANEL ? n_count - n : IPEX_PANEL;
        for (int64_t j = 0; j < rows; j++)
            row[j] = next_row(w, &at);
        for (int64_t k = 0; k < k_count; k++) {
            const int64_t from = w->fold->k_order ? w->fold->k_order[k] : k;
            for (int64_t j = 0; j < rows; j++)
                put(w, out, k, j,
                    scaled_f64(row[j].source, row[j].first + from * row[j].step, w->fold, n + j));
        }
    }
}

/* Sets of every tap from W[m][i][kh][kw]. */
static void pack_sets(const struct ipex_plan_weight *w, int8_t *out) {
    const int64_t inputs = w->source->dims[1], channels = w->dims[2];
    const int64_t window = w->dims[0] * w->dims[1] / inputs;
    for (int64_t tap = 0; tap < window; tap++, out += inputs * ipex_channels_pitch(channels))
        for (int64_t set = 0; set * IPEX_SET < channels; set++)
            for (int64_t m = 0; m < IPEX_SET; m++)
                for (int64_t k = 0; k < inputs; k++) {
                    const int64_t output = ipex_set_first(set, channels) + m;
                    const int64_t from = (output * inputs + k) * window + tap;
                    out[set * IPEX_SET * inputs + ipex_set_weight(m, k, inputs)] =
                        (int8_t)scaled_f64(w->source, from, w->fold, output);
                }
}

/* [KH][KW * I][M] from W[m][i][kh][kw] */
static void pack_depthwise(const struct ipex_plan_weight *w, float *out) {
    const int64_t inputs = w->source->dims[1], channels = w->dims[2];
    const int64_t window = w->dims[0] * w->dims[1] / inputs;
    const int64_t pitch = ipex_channels_pitch(channels);
    for (int64_t row = 0; row < window * inputs; row++)
        for (int64_t m = 0; m < channels; m++) {
            const int64_t i = ipex_depthwise_input(m, row % inputs, inputs);
            const double value =
                scaled_f64(w->source, (m * inputs + i) * window + row / inputs, w->fold, m);
            if (w->dtype == IPEX_DTYPE_i8)
                ((int8_t *)out)[row * pitch + m] = (int8_t)value;
            else
                out[row * pitch + m] = (float)value;
        }
}

static void pack_vector(const struct ipex_plan_weight *w, float *out) {
    const int64_t n = w->dims[w->rank - 1], pitch = ipex_channels_pitch(n);
    const int64_t rows = w->rank == 1 ? 1 : w->dims[0] * w->dims[1];
    for (int64_t i = 0; i < rows * n; i++)
        out[i / n * pitch + i % n] = (float)w->vector[i];
}

/* One element of the source, of its own type or rounded to bf16. */
static void put_element(const struct ipex_plan_weight *w, int64_t at, uint8_t *out) {
    const size_t size = ipex_dtype_size(w->source->dtype);
    if (w->dtype == w->source->dtype) {
        memcpy(out, ipex_constant_data(w->source) + (size_t)at * size, size);
        return;
    }
    const uint16_t rounded = ipex_bf16_of_f64(ipex_constant_f64(w->source, at));
    memcpy(out, &rounded, sizeof rounded);
}

/* Row-major copy of the source with its axes permuted; the source's dims get leading ones up to the
 * rank. */
static void pack_permute(const struct ipex_plan_weight *w, uint8_t *out) {
    int64_t stride[IPEX_MAX_RANK], index[IPEX_MAX_RANK] = {0}, by_axis[IPEX_MAX_RANK], at = 0,
                                   step = 1;
    size_t size = ipex_dtype_size(w->dtype);
    int32_t pad = w->rank - w->source->rank;
    for (int32_t i = w->rank; i-- > 0;) {
        by_axis[i] = step;
        step *= i < pad ? 1 : w->source->dims[i - pad];
    }
    for (int32_t i = 0; i < w->rank; i++)
        stride[i] = by_axis[w->perm[i]];
    for (int64_t n = ipex_value_numel(w->source); n-- > 0; out += size) {
        put_element(w, at, out);
        for (int32_t i = w->rank; i-- > 0;) {
            at += stride[i];
            if (++index[i] < w->dims[i])
                break;
            at -= stride[i] * w->dims[i];
            index[i] = 0;
        }
    }
}

/* What has been made of the sources to pack them. */
static void let_go(const struct ipex_plan_weight *weight) {
    const struct ipex_fold *fold = weight->fold;
    ipex_constant_let_go(weight->source);
    for (int32_t i = 0; fold && i < fold->parts; i++)
        ipex_constant_let_go(fold->part[i].weight);
}

void ipex_pack(const struct ipex_plan_weight *weight, uint8_t *out) {
    float *f32 = (float *)(void *)out;
    memset(out, 0, (size_t)weight->bytes);
    switch (weight->recipe) {
    case IPEX_RECIPE_conv:
        pack_conv(weight, f32);
        break;
    case IPEX_RECIPE_conv_transpose:
        pack_conv_transpose(weight, f32);
        break;
    case IPEX_RECIPE_winograd:
        pack_winograd(weight, f32);
        break;
    case IPEX_RECIPE_linear:
        pack_linear(weight, f32);
        break;
    case IPEX_RECIPE_depthwise:
        if (weight->dtype == IPEX_DTYPE_i8 && weight->source->dims[1] > 1)
            pack_sets(weight, (int8_t *)out);
        else
            pack_depthwise(weight, f32);
        break;
    case IPEX_RECIPE_block_numbers:
    case IPEX_RECIPE_block_scales:
    case IPEX_RECIPE_block_zeros:
        ipex_pack_blocks(weight, out);
        break;
    case IPEX_RECIPE_vector:
        pack_vector(weight, f32);
        break;
    case IPEX_RECIPE_permute:
        pack_permute(weight, out);
        break;
    case IPEX_RECIPE_bytes:
        memcpy(out, weight->data, (size_t)weight->bytes);
        break;
    }
    let_go(weight);
}
