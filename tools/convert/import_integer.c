/* SPDX-License-Identifier: Apache-2.0 */
/* Products and convolutions of 8-bit numbers whose results are the sums themselves, as i32. A sum
 * in f32 is exact while it stays below 2^24, so longer ones are added up of parts that do, as i32;
 * how long a part may be is known from the weights where they are constants. Half of that is kept
 * for a zero point that passes take out of the sum, which then has two of that size. */
#include "tools/convert/import_quantized.h"
#include "tools/convert/import_scope.h"

#include <math.h>

enum {
    EXACT = 1 << 23,
    MOST = 255,     /* a number of 8 bits less its zero point */
    MAX_PARTS = 256 /* of one sum */
};

/* A weight as [outer][k][inner]: sums are over k and, unless `apart`, over inner. */
struct weight {
    struct ipex_value *value;
    int32_t axis; /* k's */
    int64_t outer, k, inner;
    bool apart;
};
typedef struct ipex_value *(*part_fn)(struct ipex_import *import, struct ipex_value *x,
                                      struct ipex_value *w);

/* How many of k, from `from` on, have sums that are sure to be exact. */
static int64_t exact_run(struct ipex_import *import, const struct weight *w, int64_t from) {
    const int64_t inner_sums = w->apart ? w->inner : 1, each = w->apart ? 1 : w->inner;
    if (!w->value->constant) {
        const int64_t run = EXACT / (MOST * MOST) / each;
        return run < w->k - from ? run : w->k - from;
    }
    double *sum =
        ipex_arena_array(&import->graph->arena, (size_t)(w->outer * inner_sums), sizeof *sum);
    for (int64_t k = from; k < w->k; k++)
        for (int64_t o = 0; o < w->outer; o++)
            for (int64_t i = 0; i < w->inner; i++) {
                double *s = &sum[o * inner_sums + i % inner_sums];
                *s += MOST * fabs(ipex_constant_f64(w->value, (o * w->k + k) * w->inner + i));
                if (*s >= EXACT)
                    return k - from;
            }
    return w->k - from;
}

/* `part` of x and w as i32; x_axis: that of x which w's k goes with. NULL after refusing. */
static struct ipex_value *exact_sum(struct ipex_import *import, struct ipex_value *x,
                                    int32_t x_axis, const struct weight *w, part_fn part) {
    struct ipex_value *sum = NULL;
    int parts = 0;
    if (w->k < 1 || (!w->apart && w->inner < 1)) {
        ipex_import_refuse(import, "%s has no elements, or how many depends on the run",
                           w->value->name);
        return NULL;
    }
    for (int64_t from = 0, run; from < w->k; from += run) {
        run = exact_run(import, w, from);
        const bool whole = run == w->k;
        if (run < 1 || ++parts > MAX_PARTS ||
            (!whole && ipex_import_int(import, "group", 1) != 1)) {
            ipex_import_refuse(import,
                               "its sums are not known to be exact: %lld products per sum are too "
                               "many",
                               (long long)w->k);
            return NULL;
        }
        struct ipex_node *last = import->graph->last;
        struct ipex_value *some =
            whole ? w->value : ipex_build_slice(import, w->value, w->axis, from, run);
        if (w->value->constant && !whole) {
            ipex_import_fold(import, last);
            ipex_quantized_note_part(import, some, w->value, w->axis, from, run);
        }
        struct ipex_value *y =
            part(import, whole ? x : ipex_build_slice(import, x, x_axis, from, run), some);
        y = (whole ? ipex_build_whole : ipex_build_cast)(import, y, IPEX_DTYPE_i32);
        sum = sum ? ipex_build_integer(import, IPEX_INTEGER_add, sum, y) : y;
        if (!sum)
            return NULL;
    }
    return sum;
}

static void import_matmul_integer(struct ipex_import *import) {
    const struct ipex_value *a = ipex_import_in(import, 0), *b = ipex_import_in(import, 1);
    if (a && b && (a->rank < 2 || b->rank < 2)) {
        ipex_import_refuse(import, "%s is no matrix", a->rank < 2 ? a->name : b->name);
        return;
    }
    struct ipex_value *x = ipex_quantized_centred(import, 0, 2, a ? a->rank - 2 : -1),
                      *w = x ? ipex_quantized_centred(import, 1, 3, b ? b->rank - 1 : -1) : NULL;
    if (!w)
        return;
    struct weight weight = {w, w->rank - 2, 1, w->dims[w->rank - 2], w->dims[w->rank - 1], true};
    if (x->dims[x->rank - 1] != weight.k) {
        ipex_import_refuse(import, "the inner dims of %s and %s differ: %s and %s", a->name,
                           b->name, ipex_import_text(import, x->dims[x->rank - 1]),
                           ipex_import_text(import, weight.k));
        return;
    }
    for (int32_t i = 0; w->constant && i < w->rank - 2; i++)
        weight.outer *= w->dims[i];
    struct ipex_value *y = exact_sum(import, x, x->rank - 1, &weight, ipex_quantized_product);
    if (y)
        ipex_import_out(import, 0, y);
}

static struct ipex_value *convolved(struct ipex_import *import, struct ipex_value *x,
                                    struct ipex_value *w) {
    struct ipex_node *last = import->graph->last;
    struct ipex_value *y = x && w ? ipex_import_convolved(import, x, w, NULL) : NULL;
    for (struct ipex_node *node = last ? last->next : import->graph->first; y && node;
         node = node->next)
        if (node->kind == IPEX_KIND_conv)
            node->u.conv.exact = true;
    return y;
}

static void import_conv_integer(struct ipex_import *import) {
    struct ipex_value *x = ipex_quantized_centred(import, 0, 2, -1),
                      *w = x ? ipex_quantized_centred(import, 1, 3, 0) : NULL;
    if (!w || (!w->constant && !ipex_build_fixed(import, w)))
        return;
    const bool grouped = ipex_import_int(import, "group", 1) != 1; /* convolved checks that */
    if (w->rank < 3 || x->rank != w->rank || (!grouped && x->dims[1] != w->dims[1])) {
        ipex_import_refuse(import, "the weight %s does not fit %s", w->name,
                           ipex_import_in(import, 0)->name);
        return;
    }
    struct weight weight = {w, 1, w->dims[0], w->dims[1], 1, false};
    for (int32_t i = 2; i < w->rank; i++)
        weight.inner *= w->dims[i];
    struct ipex_value *y = exact_sum(import, x, 1, &weight, convolved);
    if (y)
        ipex_import_out(import, 0, y);
}

const struct ipex_import_op ipex_import_integer[] = {
    {"ConvInteger", import_conv_integer},
    {"MatMulInteger", import_matmul_integer},
    {NULL, NULL},
};
