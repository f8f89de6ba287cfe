/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that are a constant times what a run computes for every input channel and every output
 * channel, as StyleGAN2 has them ("Analyzing and Improving the Image Quality of StyleGAN", Karras
 * et al., section 2.2): w[n][m][c][...] = constant[m][c][...] in[n][c] out[n][m]. The convolution
 * by such a weight is the one by the constant, of an image times `in`, times `out`: the weight is
 * packed, and the images of a batch, which had to be groups for a weight each, are images again.
 * Its sum of squares over c and the window is a product of in^2 with a constant matrix, times
 * out^2. */
#include "tools/convert/import_modulated.h"
#include "tools/convert/match.h"

#include <string.h>

/* The axes of a weight for every image; one without images lacks the first. */
enum { IMAGE, OUT, IN, WINDOW, RANK = 5 };
/* Constants that one weight may have, and products one below the other. */
enum { CONSTANTS = 4, DEPTH = 8 };

struct factors {
    struct ipex_import *import;
    int64_t dims[RANK];
    bool varies_in; /* with the input channel, too */
    const struct ipex_value *constant[CONSTANTS];
    int32_t constants;
    struct ipex_value *scale[IN + 1]; /* OUT, IN: [N][1 or M][1 or C][1][1]; NULL: none */
};

/* The size of v along one of the weight's axes, v aligned at the last. */
static int64_t size_along(const struct ipex_value *v, int axis) {
    const int at = axis - (RANK - v->rank);
    return at < 0 ? 1 : v->dims[at];
}

/* v is 1 along all axes but that of the images and `axis`. */
static bool varies_along(const struct ipex_value *v, int axis) {
    for (int i = OUT; i < RANK; i++)
        if (i != axis && size_along(v, i) != 1)
            return false;
    return true;
}

static bool is_step(const struct ipex_value *v, enum ipex_step op) {
    const struct ipex_node *node = ipex_match_step(v, op);
    return node && node->inputs == 2;
}

/* What a factor is, or of which factors. */
enum part { NO_PART, CONSTANT_PART, OUT_PART, IN_PART, PRODUCT_PART, QUOTIENT_PART };

static enum part part_of(const struct ipex_value *v) {
    if (v->dtype != IPEX_DTYPE_f32 || v->rank > RANK)
        return NO_PART;
    if (v->constant)
        return size_along(v, IMAGE) == 1 ? CONSTANT_PART : NO_PART;
    return varies_along(v, OUT)        ? OUT_PART
           : varies_along(v, IN)       ? IN_PART
           : is_step(v, IPEX_STEP_mul) ? PRODUCT_PART
           : is_step(v, IPEX_STEP_div) ? QUOTIENT_PART
                                       : NO_PART;
}

/* What is found below a product. */
struct found {
    const struct ipex_value *product;
    int32_t constants;
    bool whole; /* one of the constants is as large as a weight of the product */
    bool in;    /* there are scales of input channels */
};

static void find_constant(struct found *found, const struct ipex_value *v) {
    bool whole = true;
    for (int i = OUT; i < RANK; i++)
        whole &= size_along(v, i) == size_along(found->product, i);
    found->whole |= whole;
    found->constants++;
}

/* Whether v is made of such factors alone, in at most `depth` steps. */
static bool comes_apart(struct found *found, const struct ipex_value *v, int depth) {
    const enum part part = part_of(v);
    if (part == CONSTANT_PART)
        find_constant(found, v);
    found->in |= part == IN_PART;
    if (part < PRODUCT_PART)
        return part != NO_PART;
    struct ipex_value *const *of = v->producer->input;
    const enum part divisor = part == QUOTIENT_PART ? part_of(of[1]) : OUT_PART;
    return depth > 0 && (divisor == OUT_PART || divisor == IN_PART) &&
           comes_apart(found, of[0], depth - 1) && comes_apart(found, of[1], depth - 1);
}

static void add_scale(struct factors *f, struct ipex_value *v, int axis, bool divides) {
    int64_t dims[RANK];
    for (int i = 0; i < RANK; i++)
        dims[i] = size_along(v, i);
    v = ipex_build_reshape(f->import, v, RANK, dims);
    v = divides ? ipex_build_unary(f->import, IPEX_STEP_reciprocal, v) : v;
    struct ipex_value **scale = &f->scale[axis];
    *scale = *scale ? ipex_build_binary(f->import, IPEX_STEP_mul, *scale, v) : v;
}

static void take_apart(struct factors *f, struct ipex_value *v, bool divides) {
    const enum part part = part_of(v);
    if (part == CONSTANT_PART) {
        f->constant[f->constants++] = v;
    } else if (part == OUT_PART || part == IN_PART) {
        add_scale(f, v, part == OUT_PART ? OUT : IN, divides);
    } else {
        take_apart(f, v->producer->input[0], false);
        take_apart(f, v->producer->input[1], part == QUOTIENT_PART);
    }
}

/* Whether v is a weight of this kind: f's dims, and what take_apart is given then. */
static bool find_factors(struct ipex_import *import, struct ipex_value *v, struct factors *f) {
    struct found found = {.product = v};
    *f = (struct factors){.import = import};
    if (v->rank < RANK - 1 || part_of(v) < PRODUCT_PART || !comes_apart(&found, v, DEPTH) ||
        !found.whole || found.constants > CONSTANTS)
        return false;
    for (int i = 0; i < RANK; i++) {
        f->dims[i] = size_along(v, i);
        if (f->dims[i] < 0) /* depends on the sizes of a run */
            return false;
    }
    f->varies_in = found.in;
    return true;
}

/* The constants' product at (m, c, tap), where the last is a number of KH KW. */
static double constant_at(const struct factors *f, const int64_t *at) {
    double product = 1;
    for (int32_t i = 0; i < f->constants; i++) {
        const struct ipex_value *v = f->constant[i];
        int64_t element = 0;
        for (int axis = OUT; axis < RANK; axis++)
            element = element * size_along(v, axis) + (size_along(v, axis) > 1 ? at[axis] : 0);
        product *= ipex_constant_f64(v, element);
    }
    return product;
}

/* The next place of all but the images, the last axis the fastest; false after the last. */
static bool next_place(const struct factors *f, int64_t *at) {
    for (int axis = RANK - 1; axis >= OUT; axis--) {
        if (++at[axis] < f->dims[axis])
            return true;
        at[axis] = 0;
    }
    return false;
}

/* [M][C][KH][KW] or, of a transposed convolution, [C][M][KH][KW]. */
static struct ipex_value *constant_weight(const struct factors *f, bool transposed) {
    const int64_t m = f->dims[OUT], c = f->dims[IN], taps = f->dims[WINDOW] * f->dims[WINDOW + 1];
    const int64_t dims[4] = {transposed ? c : m, transposed ? m : c, f->dims[WINDOW],
                             f->dims[WINDOW + 1]};
    float *w = ipex_arena_array(&f->import->graph->arena, (size_t)(m * c * taps), sizeof *w);
    int64_t at[RANK] = {0};
    do {
        const int64_t row = transposed ? at[IN] * m + at[OUT] : at[OUT] * c + at[IN];
        w[row * taps + at[WINDOW] * f->dims[WINDOW + 1] + at[WINDOW + 1]] =
            (float)constant_at(f, at);
    } while (next_place(f, at));
    return ipex_graph_constant(f->import->graph, f->import->label, IPEX_DTYPE_f32, 4, dims, w);
}

/* image [N][channels][H][W] times a scale. */
static struct ipex_value *scaled(const struct factors *f, struct ipex_value *image, int axis) {
    struct ipex_value *scale = f->scale[axis];
    if (!scale)
        return image;
    const int64_t dims[4] = {scale->dims[IMAGE], scale->dims[axis], 1, 1};
    return ipex_build_binary(f->import, IPEX_STEP_mul, image,
                             ipex_build_reshape(f->import, scale, 4, dims));
}

/* The product that w is: by itself or, behind reshapes, one for every image and group. */
static struct ipex_value *product_of(struct ipex_value *w, bool transposed) {
    static const int32_t swapped[RANK] = {IMAGE, IN, OUT, WINDOW, WINDOW + 1};
    struct ipex_value *v = ipex_before_reshapes(w);
    if (!transposed)
        return v;
    const struct ipex_node *turn = v->producer;
    if (!turn || turn->kind != IPEX_KIND_transpose || v->rank != RANK ||
        memcmp(turn->u.perm, swapped, sizeof swapped))
        return w;
    return ipex_before_reshapes(turn->input[0]);
}

struct ipex_value *ipex_modulated_conv(struct ipex_import *import, struct ipex_value *x,
                                       struct ipex_value *w, const struct ipex_conv *conv,
                                       const int64_t *out) {
    struct factors f;
    struct ipex_value *v = product_of(w, conv->transposed);
    const bool per_image = v->rank == RANK;
    if ((conv->transposed && !per_image) || !find_factors(import, v, &f))
        return NULL;
    const int64_t n = f.dims[IMAGE], rows = conv->transposed ? f.dims[IN] : f.dims[OUT],
                  columns = conv->transposed ? f.dims[OUT] : f.dims[IN];
    if (w->dims[0] != n * rows || w->dims[1] != columns || w->dims[2] != f.dims[WINDOW] ||
        w->dims[3] != f.dims[WINDOW + 1] || conv->groups != n || (n > 1 && x->dims[0] != 1))
        return NULL;
    take_apart(&f, v, false);
    struct ipex_conv one = *conv;
    const int64_t in[4] = {n, f.dims[IN], x->dims[2], x->dims[3]},
                  result[4] = {1, n * f.dims[OUT], out[0], out[1]};
    one.groups = 1;
    x = scaled(&f, n > 1 ? ipex_build_reshape(import, x, 4, in) : x, IN);
    x = ipex_build_conv(import, x, constant_weight(&f, conv->transposed), NULL, &one, out);
    x = scaled(&f, x, OUT);
    ipex_ledger_add(import->graph->ledger, "modulated", import->label, IPEX_REASON_applied,
                    "a constant weight; the image is scaled before and behind it");
    return n > 1 ? ipex_build_reshape(import, x, 4, result) : x;
}

/* ---- the sum of squares ---- */

static struct ipex_value *squared(struct ipex_import *import, struct ipex_value *x) {
    return ipex_build_binary(import, IPEX_STEP_mul, x, x);
}

/* [C][M]: the squares of a kernel's taps, added. */
static struct ipex_value *square_sums(const struct factors *f) {
    const int64_t dims[2] = {f->dims[IN], f->dims[OUT]};
    double *sum =
        ipex_arena_array(&f->import->graph->arena, (size_t)(dims[0] * dims[1]), sizeof *sum);
    float *w = ipex_arena_array(&f->import->graph->arena, (size_t)(dims[0] * dims[1]), sizeof *w);
    int64_t at[RANK] = {0};
    do {
        const double one = constant_at(f, at);
        sum[at[IN] * dims[1] + at[OUT]] += one * one;
    } while (next_place(f, at));
    for (int64_t i = 0; i < dims[0] * dims[1]; i++)
        w[i] = (float)sum[i];
    return ipex_graph_constant(f->import->graph, f->import->label, IPEX_DTYPE_f32, 2, dims, w);
}

struct ipex_value *ipex_modulated_squares(struct ipex_import *import,
                                          const struct ipex_value *square, uint32_t axes) {
    static const uint32_t summed = 1u << IN | 1u << WINDOW | 1u << (WINDOW + 1);
    struct ipex_value *v;
    struct factors f;
    if (square->rank != RANK || axes != summed || !ipex_match_square(square, &v) ||
        !find_factors(import, v, &f) || !f.varies_in)
        return NULL;
    take_apart(&f, v, false);
    const int64_t rows[2] = {f.scale[IN]->dims[IMAGE], f.dims[IN]},
                  result[RANK] = {rows[0], f.dims[OUT], 1, 1, 1};
    struct ipex_value *y = squared(import, ipex_build_reshape(import, f.scale[IN], 2, rows));
    y = ipex_build_reshape(import, ipex_build_linear(import, y, square_sums(&f), true), RANK,
                           result);
    ipex_ledger_add(import->graph->ledger, "modulated", import->label, IPEX_REASON_applied,
                    "the sum of squares of a constant weight and scales is a product");
    return f.scale[OUT] ? ipex_build_binary(import, IPEX_STEP_mul, y, squared(import, f.scale[OUT]))
                        : y;
}
