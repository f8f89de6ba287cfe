/* SPDX-License-Identifier: Apache-2.0 */
/* RotaryEmbedding of ONNX and of the domain com.microsoft, which has the operands in another order.
 */
#include "tools/convert/import_attention.h"

#include <string.h>

/* Operand i, positions [B][S]; one number stands for itself and those that follow it. NULL after
 * refusing. */
static struct ipex_value *read_positions(struct ipex_import *import, size_t i, int64_t steps) {
    static const int64_t one[2] = {1, 1};
    struct ipex_value *x = ipex_import_any(import, i);
    if (!x || x->rank == 2)
        return x;
    if (ipex_value_size(import->graph, x) != 1 ||
        (x->dtype != IPEX_DTYPE_i32 && x->dtype != IPEX_DTYPE_i64)) {
        ipex_import_refuse(import,
                           "the positions %s are %s of rank %d: integers [batch][steps], or the "
                           "one that the first step has, are supported",
                           x->name, ipex_dtype_name(x->dtype), x->rank);
        return NULL;
    }
    return ipex_build_integer(import, IPEX_INTEGER_add, ipex_build_reshape(import, x, 2, one),
                              ipex_build_count(import, x->dtype, steps, 1, 2, 1));
}

/* The heads of x [B][S][heads D]: the attribute or, where it is not given, those of the table's
 * size. */
static int64_t count_heads(const struct ipex_import *import, const struct ipex_value *x,
                           const struct ipex_value *table) {
    const int64_t heads = ipex_import_int(import, "num_heads", 0),
                  half = table && table->rank ? table->dims[table->rank - 1] : 0;
    const bool fits = x->rank == 3 && half > 0 && x->dims[2] > 0 && x->dims[2] % (2 * half) == 0;
    return heads || !fits ? heads : x->dims[2] / (2 * half);
}

/* Cosines or sines as [B][S][1][..] or, with heads first, [B][1][S][..], along the other axis than
 * `pair` of the last two. */
static struct ipex_value *angles(struct ipex_import *import, const struct ipex_rotary *r, size_t i,
                                 int32_t pair, int64_t half) {
    struct ipex_value *table = ipex_import_f32(import, i);
    if (table && r->position)
        table = ipex_build_gather(import, table, r->position, 0);
    if (!table)
        return NULL;
    if (table->rank != 3 || table->dims[2] != half) {
        ipex_import_refuse(
            import, "the table %s has rows of %s; half the rotated size, %lld, is needed",
            ipex_import_in(import, i)->name,
            table->rank ? ipex_import_text(import, table->dims[table->rank - 1]) : "one number",
            (long long)half);
        return NULL;
    }
    int64_t dims[5] = {table->dims[0], 1, 1, 1, 1};
    dims[r->heads_first ? 2 : 1] = table->dims[1];
    dims[pair == 4 ? 3 : 4] = half;
    return ipex_build_reshape(import, table, 5, dims);
}

/* The rotated part, [..][2][half] or interleaved [..][half][2], its pairs along `pair`. */
static struct ipex_value *rotate(struct ipex_import *import, struct ipex_value *x, int32_t pair,
                                 struct ipex_value *cosine, struct ipex_value *sine) {
    struct ipex_value *a = ipex_build_slice(import, x, pair, 0, 1),
                      *b = ipex_build_slice(import, x, pair, 1, 1);
    struct ipex_value *part[2] = {
        ipex_build_binary(import, IPEX_STEP_sub,
                          ipex_build_binary(import, IPEX_STEP_mul, cosine, a),
                          ipex_build_binary(import, IPEX_STEP_mul, sine, b)),
        ipex_build_binary(import, IPEX_STEP_add, ipex_build_binary(import, IPEX_STEP_mul, sine, a),
                          ipex_build_binary(import, IPEX_STEP_mul, cosine, b))};
    return ipex_build_concat(import, pair, 2, part);
}

struct ipex_value *ipex_build_rotary(struct ipex_import *import, const struct ipex_rotary *r,
                                     struct ipex_value *x) {
    const int64_t size = x ? x->dims[3] : 0, rotated = r->rotated ? r->rotated : size,
                  half = rotated / 2;
    const int32_t pair = r->interleaved ? 4 : 3;
    if (!x)
        return NULL;
    if (rotated < 2 || rotated % 2 || size < rotated) {
        ipex_import_refuse(import, "%lld elements of a head of %s cannot be rotated",
                           (long long)rotated, ipex_import_text(import, size));
        return NULL;
    }
    struct ipex_value *cosine = angles(import, r, r->cosines, pair, half),
                      *sine = cosine ? angles(import, r, r->sines, pair, half) : NULL;
    if (!sine)
        return NULL;
    int64_t pairs[5] = {x->dims[0], x->dims[1], x->dims[2], half, half}, flat[4];
    pairs[pair] = 2;
    memcpy(flat, x->dims, sizeof flat);
    flat[3] = rotated;
    struct ipex_value *part[2] = {ipex_build_slice(import, x, 3, 0, rotated)};
    part[0] = rotate(import, ipex_build_reshape(import, part[0], 5, pairs), pair, cosine, sine);
    part[0] = ipex_build_reshape(import, part[0], 4, flat);
    if (rotated == size)
        return part[0];
    part[1] = ipex_build_slice(import, x, 3, rotated, size - rotated);
    return ipex_build_concat(import, 3, 2, part);
}

static void import_tables(struct ipex_import *import, size_t cosines, size_t sines,
                          size_t positions) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    if (!x)
        return;
    struct ipex_rotary r = {.cosines = cosines,
                            .sines = sines,
                            .rotated = ipex_import_int(import, "rotary_embedding_dim", 0),
                            .interleaved = ipex_import_flag(import, "interleaved", false),
                            .heads_first = x->rank == 4};
    struct ipex_value *y =
        x->rank == 4 ? x
                     : ipex_build_with_heads(
                           import, x, count_heads(import, x, ipex_import_in(import, cosines)));
    if (y && ipex_import_in(import, positions)) {
        r.position = read_positions(import, positions, x->dims[x->rank == 4 ? 2 : 1]);
        y = r.position ? y : NULL;
    }
    y = ipex_build_rotary(import, &r, y);
    if (y)
        ipex_import_out(import, 0, ipex_build_reshape(import, y, x->rank, x->dims));
}

static void import_rotary(struct ipex_import *import) {
    import_tables(import, 1, 2, 3);
}

static void import_contrib_rotary(struct ipex_import *import) {
    const float scale = ipex_import_float(import, "scale", 1);
    if (scale != 1 || ipex_import_int(import, "is_packed_batching", 0))
        ipex_import_refuse(import, "a scale and packed batches are not supported");
    else
        import_tables(import, 2, 3, 1);
}

const struct ipex_import_op ipex_import_rotary[] = {
    {"RotaryEmbedding", import_rotary},
    {NULL, NULL},
};
const struct ipex_import_op ipex_import_contrib_rotary[] = {
    {"RotaryEmbedding", import_contrib_rotary},
    {NULL, NULL},
};
