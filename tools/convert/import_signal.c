/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's DFT and STFT: products with constant matrices of cosines and sines, which have as many
 * rows as a signal has numbers (a real and an imaginary part lie side by side) and as many columns
 * as its spectrum. */
#include "tools/convert/import_build.h"

#include <math.h>

#include "format/check.h"

static const double two_pi = 6.283185307179586;

/* What turns a signal into its spectrum or, where it is the inverse, back. */
struct transform {
    int64_t length;              /* N: e^(-+ 2 pi i k t / N) */
    int64_t from, parts;         /* so many positions of 1 or 2 numbers */
    int64_t to, to_parts;        /* become so many of 1 or 2 */
    bool inverse, halved;        /* halved: of the spectrum only the half is given or wanted */
    const struct ipex_value *by; /* a window [from], or NULL */
};

/* The real and imaginary part of e^(2 pi i turns / n): exact where it is a quarter of a turn. */
static void root(int64_t turns, int64_t n, double *ret) {
    static const double quarter[] = {1, 0, -1, 0, 1};
    const int64_t rest = turns % n;
    const bool exact = 4 * rest % n == 0;
    ret[0] = exact ? quarter[4 * rest / n] : cos(two_pi * (double)rest / (double)n);
    ret[1] = exact ? quarter[(4 * rest / n + 3) % 4] : sin(two_pi * (double)rest / (double)n);
}

/* What number `part` of position i adds to the numbers of position o. */
static void factors(const struct transform *t, int64_t i, int64_t part, int64_t o, double *ret) {
    double r[2], scale = t->by ? ipex_constant_f64(t->by, i) : 1;
    root(i * o, t->length, r);
    r[1] = t->inverse ? r[1] : -r[1];
    if (t->inverse)
        scale /= (double)t->length;
    if (t->inverse && t->halved && i && 2 * i != t->length) /* and its conjugate */
        scale *= 2;
    ret[0] = scale * (part ? -r[1] : r[0]);
    ret[1] = scale * (part ? r[0] : r[1]);
}

/* [from parts][to to_parts] or, turned, the other way round; NULL after refusing. */
static struct ipex_value *matrix(struct ipex_import *import, const struct transform *t,
                                 bool turned) {
    const int64_t rows = t->from * t->parts, columns = t->to * t->to_parts,
                  dims[] = {turned ? columns : rows, turned ? rows : columns};
    if (columns > IPEX_BUILD_MAX / rows) {
        ipex_import_refuse(import,
                           "a transform of length %lld is a product with a matrix of %lld * %lld "
                           "numbers; at most %d are supported",
                           (long long)t->length, (long long)rows, (long long)columns,
                           IPEX_BUILD_MAX);
        return NULL;
    }
    float *data = ipex_arena_array(&import->graph->arena, (size_t)(rows * columns), sizeof *data);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t o = 0; o < t->to; o++) {
            double value[2];
            factors(t, row / t->parts, row % t->parts, o, value);
            for (int64_t k = 0; k < t->to_parts; k++) {
                const int64_t column = o * t->to_parts + k;
                data[turned ? column * rows + row : row * columns + column] = (float)value[k];
            }
        }
    return ipex_graph_constant(import->graph, import->node->output[0], IPEX_DTYPE_f32, 2, dims,
                               data);
}

/* ---- DFT ---- */

/* From opset 20 on the axis is an input. */
static bool read_axis(struct ipex_import *import, const struct ipex_value *x, int64_t *axis) {
    *axis = ipex_import_int(import, "axis", 1);
    if (import->model->opset >= 20 && !ipex_build_scalar(import, 2, -2, axis))
        return false;
    if (!ipex_import_axis(import, axis, x->rank))
        return false;
    if (x->rank > 1 && *axis < x->rank - 1 &&
        (x->dims[x->rank - 1] == 1 || x->dims[x->rank - 1] == 2))
        return true;
    ipex_import_refuse(import,
                       "its last axis has to hold 1 or 2 numbers (real, imaginary) and to be "
                       "another one than is transformed");
    return false;
}

static bool read_dft(struct ipex_import *import, const struct ipex_value *x, int64_t axis,
                     struct transform *t) {
    const int64_t n = x->dims[axis];
    if (n < 0) {
        ipex_import_refuse(import, "the length of its axis depends on %s: a number is needed",
                           ipex_import_text(import, n));
        return false;
    }
    t->inverse = ipex_import_flag(import, "inverse", false);
    t->halved = ipex_import_flag(import, "onesided", false);
    t->parts = x->dims[x->rank - 1];
    const bool back = t->inverse && t->halved;
    if (!ipex_build_scalar(import, 1, back ? 2 * (n - 1) : n, &t->length))
        return false;
    if (t->length < 1 || t->length > IPEX_BUILD_MAX) {
        ipex_import_refuse(import, "a length of %lld: 1 to %d are supported", (long long)t->length,
                           IPEX_BUILD_MAX);
        return false;
    }
    const int64_t half = t->length / 2 + 1, used = back ? half : t->length;
    t->from = n < used ? n : used; /* the rest is not there, or 0 */
    t->to = t->halved && !back ? half : t->length;
    t->to_parts = back ? 1 : 2;
    return true;
}

static void import_dft(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct transform t = {0};
    int64_t axis, dims[IPEX_MAX_RANK];
    if (!x || !read_axis(import, x, &axis) || !read_dft(import, x, axis, &t))
        return;
    const int32_t rank = x->rank, beside = rank - 2; /* the numbers */
    if (t.from < x->dims[axis])
        x = ipex_build_slice(import, x, (int32_t)axis, 0, t.from);
    x = ipex_build_moved(import, x, (int32_t)axis, beside);
    for (int32_t i = 0; i < rank; i++)
        dims[i] = x->dims[i];
    dims[beside] *= dims[rank - 1];
    struct ipex_value *y = ipex_build_linear(import, ipex_build_reshape(import, x, rank - 1, dims),
                                             matrix(import, &t, false), true);
    dims[beside] = t.to;
    dims[rank - 1] = t.to_parts;
    y = ipex_build_moved(import, ipex_build_reshape(import, y, rank, dims), beside, (int32_t)axis);
    if (y)
        ipex_import_out(import, 0, y);
}

/* ---- STFT: a convolution ---- */

static bool read_frames(struct ipex_import *import, const struct ipex_value *x, int64_t *step,
                        struct transform *t) {
    t->by = ipex_import_in(import, 2);
    if (!ipex_import_in(import, 1))
        ipex_import_refuse(import, "input 1 (frame_step) is missing");
    else if (!ipex_build_scalar(import, 1, 0, step))
        return false;
    else if (t->by && (!t->by->constant || t->by->rank != 1))
        ipex_import_refuse(import, "the window %s is not a constant vector", t->by->name);
    else if (!t->by && !ipex_import_in(import, 3))
        ipex_import_refuse(import, "neither window nor frame_length is there");
    else if (!ipex_build_scalar(import, 3, t->by ? t->by->dims[0] : 0, &t->length))
        return false;
    else if (x->rank != 2 && (x->rank != 3 || x->dims[2] != 1))
        ipex_import_refuse(import, "only real signals [N, L] and [N, L, 1] are supported");
    else if (t->by && t->by->dims[0] != t->length)
        ipex_import_refuse(import, "frames of %lld, but the window has %lld elements",
                           (long long)t->length, (long long)t->by->dims[0]);
    else if (t->length < 1 || t->length > IPEX_WINDOW_MAX || *step < 1 || *step > IPEX_WINDOW_MAX)
        ipex_import_refuse(import, "frames of %lld every %lld: 1 to %d are supported",
                           (long long)t->length, (long long)*step, IPEX_WINDOW_MAX);
    else
        return true;
    return false;
}

static void import_stft(struct ipex_import *import) {
    static const int32_t frames_first[] = {0, 2, 3, 1};
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct ipex_dims *table = &import->graph->dims;
    struct transform t = {.parts = 1, .to_parts = 2};
    int64_t step, least, most;
    if (!x || !read_frames(import, x, &step, &t))
        return;
    const int64_t room = ipex_dim_sub(table, x->dims[1], t.length);
    ipex_dim_range(table, room, &least, &most);
    if (least < 0) {
        ipex_import_refuse(import, "a frame of %lld can be longer than the signal (%s)",
                           (long long)t.length, ipex_import_text(import, x->dims[1]));
        return;
    }
    t.from = t.length;
    t.to = ipex_import_int(import, "onesided", 1) ? t.length / 2 + 1 : t.length;
    struct ipex_value *w = matrix(import, &t, true);
    if (!w)
        return;
    const int64_t frames = ipex_dim_add(table, ipex_dim_floor_div(table, room, step), 1),
                  signal[] = {x->dims[0], 1, 1, x->dims[1]}, taps[] = {w->dims[0], 1, 1, t.length},
                  spectra[] = {x->dims[0], frames, t.to, 2};
    const struct ipex_conv conv = {
        .kernel = {1, t.length}, .stride = {1, step}, .dilation = {1, 1}, .groups = 1};
    const int64_t out[2] = {1, frames};
    struct ipex_value *y =
        ipex_build_conv(import, ipex_build_reshape(import, x, 4, signal),
                        ipex_build_reshape(import, w, 4, taps), NULL, &conv, out);
    y = ipex_build_transpose(import, y, frames_first);
    ipex_import_out(import, 0, ipex_build_reshape(import, y, 4, spectra));
}

const struct ipex_import_op ipex_import_signal[] = {
    {"DFT", import_dft},
    {"STFT", import_stft},
    {NULL, NULL},
};
