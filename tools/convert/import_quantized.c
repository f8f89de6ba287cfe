/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators between f32 and numbers of 4, 8, 16 and 32 bits with a scale and a zero point, and
 * what operators on those numbers are made of. They are computed in f32, in the order in which ONNX
 * states it. */
#include "tools/convert/import_quantized.h"
#include "tools/convert/import_narrow.h"
#include "tools/convert/import_scope.h"
#include "tools/convert/weight_blocks.h"

#include <string.h>

/* ---- scales and zero points ---- */

struct ipex_value *ipex_quantized_parameter(struct ipex_import *import, size_t i,
                                            const struct ipex_value *x, int64_t axis) {
    struct ipex_value *p = ipex_import_any(import, i);
    int64_t dims[IPEX_MAX_RANK];
    if (!p)
        return NULL;
    if (p->rank == 0 || (p->rank == 1 && p->dims[0] == 1))
        return ipex_build_reshape(import, ipex_build_cast(import, p, IPEX_DTYPE_f32), 0, NULL);
    if (p->rank != 1 || axis < 0 || axis >= x->rank || p->dims[0] != x->dims[axis]) {
        ipex_import_refuse(import, "%s is neither one number nor one per element of an axis",
                           p->name);
        return NULL;
    }
    for (int32_t k = 0; k < x->rank; k++)
        dims[k] = k == axis ? p->dims[0] : 1;
    return ipex_build_reshape(import, ipex_build_cast(import, p, IPEX_DTYPE_f32), x->rank, dims);
}

/* p has x's dims, but one element per block along the axis. False after refusing. */
static bool has_blocks(struct ipex_import *import, const struct ipex_value *p,
                       const struct ipex_value *x, int64_t axis, int64_t block) {
    bool fits = block > 0 && p->rank == x->rank && x->rank < IPEX_MAX_RANK && axis >= 0 &&
                axis < x->rank && x->dims[axis] > 0;
    for (int32_t k = 0; fits && k < x->rank; k++)
        fits =
            p->dims[k] == (k == axis ? (x->dims[axis] - 1) / block + 1 /* block may be any int64 */
                                     : x->dims[k]);
    if (!fits)
        ipex_import_refuse(import,
                           "%s does not have one element per block of %lld along an axis of %s "
                           "whose size is a number",
                           p->name, (long long)block, x->name);
    return fits;
}

struct ipex_value *ipex_quantized_per_block(struct ipex_import *import, struct ipex_value *p,
                                            const struct ipex_value *x, int64_t axis,
                                            int64_t block) {
    int64_t apart[IPEX_MAX_RANK], flat[IPEX_MAX_RANK];
    if (!p || !has_blocks(import, p, x, axis, block))
        return NULL;
    const int64_t size = x->dims[axis], blocks = p->dims[axis];
    if (block > size)
        block = size;
    for (int32_t k = 0; k <= x->rank; k++)
        apart[k] = k <= axis ? p->dims[k] : k == axis + 1 ? 1 : p->dims[k - 1];
    memcpy(flat, p->dims, sizeof flat);
    flat[axis] = blocks * block;
    p = ipex_build_reshape(import, ipex_build_cast(import, p, IPEX_DTYPE_f32), x->rank + 1, apart);
    apart[axis + 1] = block;
    p = ipex_build_reshape(import, ipex_build_expand(import, p, x->rank + 1, apart), x->rank, flat);
    return flat[axis] == size ? p : ipex_build_slice(import, p, (int32_t)axis, 0, size);
}

/* As the attributes axis and block_size of (De)QuantizeLinear say. */
static struct ipex_value *parameter(struct ipex_import *import, size_t i,
                                    const struct ipex_value *x) {
    const int64_t given = ipex_import_int(import, "axis", 1),
                  block = ipex_import_int(import, "block_size", 0),
                  axis = given < 0 ? given + x->rank : given;
    return block ? ipex_quantized_per_block(import, ipex_import_any(import, i), x, axis, block)
                 : ipex_quantized_parameter(import, i, x, axis);
}

/* ---- integers ---- */

struct integer {
    int64_t onnx_type;
    enum ipex_dtype dtype; /* whose values stand for it */
    int32_t bits;
    float low, high;
};
static const struct integer integers[] = {
    {IPEX_ONNX_UINT8, IPEX_DTYPE_u8, 8, 0, 255},
    {IPEX_ONNX_INT8, IPEX_DTYPE_i8, 8, -128, 127},
    {IPEX_ONNX_UINT4, IPEX_DTYPE_u8, 4, 0, 15},
    {IPEX_ONNX_INT4, IPEX_DTYPE_i8, 4, -8, 7},
    {IPEX_ONNX_UINT16, IPEX_DTYPE_i32, 16, 0, 65535},
    {IPEX_ONNX_INT16, IPEX_DTYPE_i32, 16, -32768, 32767},
};

static const struct integer *find_integer(int64_t onnx_type) {
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        if (integers[i].onnx_type == onnx_type)
            return &integers[i];
    return NULL;
}

/* NULL: x is of another type. */
static const struct integer *integer_of(const struct ipex_value *x) {
    return x->narrow                   ? find_integer(x->narrow)
           : x->dtype == IPEX_DTYPE_u8 ? find_integer(IPEX_ONNX_UINT8)
           : x->dtype == IPEX_DTYPE_i8 ? find_integer(IPEX_ONNX_INT8)
                                       : NULL;
}

static bool is_zero(const struct ipex_value *point) {
    for (int64_t i = 0; point->constant && i < ipex_value_numel(point); i++)
        if (ipex_constant_i64(point, i))
            return false;
    return point->constant != NULL;
}

/* Whole numbers, in the dtype that stands for that type. */
static struct ipex_value *of_type(struct ipex_import *import, struct ipex_value *whole,
                                  const struct integer *type) {
    struct ipex_value *y = ipex_build_whole(import, whole, type->dtype);
    if (y && ipex_import_narrow_dtype(type->onnx_type))
        y->narrow = (int32_t)type->onnx_type;
    return y;
}

/* x, rounded, and zero (NULL: 0), clamped to that type. */
static struct ipex_value *saturated(struct ipex_import *import, struct ipex_value *x,
                                    struct ipex_value *zero, const struct integer *type,
                                    enum ipex_rounding order) {
    struct ipex_value *y = x;
    if (order == IPEX_ROUND_THEN_ZERO)
        y = ipex_build_unary(import, IPEX_STEP_round, y);
    if (zero && !is_zero(zero))
        y = ipex_build_binary(import, IPEX_STEP_add, y, zero);
    if (order == IPEX_ZERO_THEN_ROUND)
        y = ipex_build_unary(import, IPEX_STEP_round, y);
    y = ipex_build_with(import, IPEX_STEP_max, y, type->low);
    y = ipex_build_with(import, IPEX_STEP_min, y, type->high);
    if (y)
        y->is_byte = type->low >= 0 && type->high <= 255;
    return of_type(import, y, type);
}

/* (whole - zero) * scale; zero NULL: 0, scale NULL: 1. */
static struct ipex_value *dequantised(struct ipex_import *import, struct ipex_value *whole,
                                      struct ipex_value *zero, struct ipex_value *scale) {
    struct ipex_value *y = whole;
    if (zero && !is_zero(zero))
        y = ipex_build_binary(import, IPEX_STEP_sub, y, zero);
    return scale ? ipex_build_binary(import, IPEX_STEP_mul, y, scale) : y;
}

/* Notes on y that it is (q - zero) * scale; q is x, which as f32 is `whole`. axis: that of the
 * parameters. */
static void note_integers(struct ipex_import *import, struct ipex_value *y, struct ipex_value *x,
                          struct ipex_value *whole, struct ipex_value *scale,
                          struct ipex_value *zero, int64_t axis) {
    const struct integer *type = integer_of(x);
    const bool moves = zero && !zero->constant; /* as DynamicQuantizeLinear gives it */
    if (!y || !type || (scale && !scale->constant) ||
        (moves && (x->constant || ipex_value_numel(zero) != 1)))
        return;
    struct ipex_dequantised *note = ipex_arena_alloc(&import->graph->arena, sizeof *note);
    *note = (struct ipex_dequantised){
        .raw = x->constant ? x : NULL,
        .whole = x->constant ? NULL : whole,
        .scale = scale,
        .zero = zero,
        .inner = 1,
        .low = type->low,
        .high = type->high,
    };
    for (int32_t i = x->rank - 1; x->constant && axis >= 0 && i > axis; i--)
        note->inner *= x->dims[i];
    y->dequantised = note;
}

void ipex_quantized_note_blocks(struct ipex_import *import, struct ipex_value *y, int32_t bits) {
    struct ipex_dequantised *note = ipex_arena_alloc(&import->graph->arena, sizeof *note);
    *note = (struct ipex_dequantised){.block_bits = bits};
    y->dequantised = note;
}

/* ---- ONNX's operators ---- */

static double number_of(const struct ipex_value *p, double otherwise) {
    return p ? ipex_constant_f64(p, 0) : otherwise;
}

/* Whether x has been made of numbers of that type with this scale and zero point. */
static bool is_undone(const struct ipex_value *x, const struct ipex_value *scale,
                      const struct ipex_value *zero, const struct integer *type) {
    const struct ipex_dequantised *d = ipex_quantized_alike(x);
    return d && ipex_is_one_number(scale) && ipex_is_one_number(zero) && d->low == type->low &&
           d->high == type->high && number_of(d->scale, 1) == number_of(scale, 1) &&
           number_of(d->zero, 0) == number_of(zero, 0);
}

static void import_quantize(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0), *zero = NULL;
    const struct ipex_value *point = ipex_import_in(import, 2);
    const int64_t said = ipex_import_int(import, "output_dtype", 0);
    const struct integer *type =
        point ? integer_of(point) : find_integer(said ? said : IPEX_ONNX_UINT8);
    if (!x)
        return;
    if (!type || (x->dtype != IPEX_DTYPE_f32 && x->dtype != IPEX_DTYPE_i32)) {
        ipex_import_refuse(import,
                           "%s to %s; f32 and i32 to integers of 4, 8 and 16 bits are "
                           "supported",
                           ipex_dtype_name(x->dtype),
                           type    ? ipex_import_type_name(type->onnx_type)
                           : point ? ipex_dtype_name(point->dtype)
                                   : ipex_import_type_name(said));
        return;
    }
    struct ipex_value *scale = parameter(import, 1, x);
    if (!scale || (point && !(zero = parameter(import, 2, x))))
        return;
    if (is_undone(x, scale, zero, type)) {
        ipex_import_out(import, 0, of_type(import, x->dequantised->whole, type));
        return;
    }
    x = ipex_build_cast(import, x, IPEX_DTYPE_f32);
    struct ipex_value *y = saturated(import, ipex_build_binary(import, IPEX_STEP_div, x, scale),
                                     zero, type, IPEX_ROUND_THEN_ZERO);
    if (y)
        ipex_import_out(import, 0, y);
}

/* Notes on y = (q - zero) * scale, of a constant q, which of its scales are whose. */
static void note_scales(struct ipex_import *import, struct ipex_value *y, struct ipex_value *q,
                        int64_t axis, int64_t block) {
    const int32_t bits = integer_of(q)->bits;
    const struct ipex_block_parameters parameters = {ipex_import_in(import, 1),
                                                     ipex_import_in(import, 2), axis, block};
    if (bits <= 8)
        ipex_blocks_note(import->graph, y, q, &parameters, bits);
    if (block && !y->blocks)
        ipex_quantized_note_blocks(import, y, bits);
}

static void import_dequantize(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_any(import, 0), *zero = NULL;
    const struct ipex_value *point = ipex_import_in(import, 2);
    if (!x)
        return;
    const bool sums = x->dtype == IPEX_DTYPE_i32 && !x->narrow;
    if (!sums && !integer_of(x)) {
        ipex_import_refuse(import, "input %s is %s; integers of 4, 8, 16 and 32 bits are supported",
                           x->name, ipex_dtype_name(x->dtype));
        return;
    }
    if (sums && point && !is_zero(point)) { /* some models state it, as that of a bias */
        ipex_import_refuse(import, "the zero point %s of %s, which is i32, is not known to be 0",
                           point->name, x->name);
        return;
    }
    struct ipex_value *scale = parameter(import, 1, x);
    if (!scale || (point && !sums && !(zero = parameter(import, 2, x))))
        return;
    struct ipex_value *whole = ipex_build_cast(import, x, IPEX_DTYPE_f32),
                      *y = dequantised(import, whole, zero, scale);
    const int64_t given = ipex_import_int(import, "axis", 1),
                  axis = given < 0 ? given + x->rank : given,
                  block = ipex_import_int(import, "block_size", 0);
    if (y && !sums && x->constant)
        note_scales(import, y, x, axis, block);
    if (!sums && !block)
        note_integers(import, y, x, whole, scale, zero, axis);
    if (y)
        ipex_import_out(import, 0, y);
}

/* Scale and zero point are from the range of x, which always holds 0; of zeros alone the scale is
 * 1. */
struct ipex_quantized ipex_quantized_dynamic(struct ipex_import *import, struct ipex_value *x) {
    struct ipex_quantized ret;
    const uint32_t all = (1u << x->rank) - 1;
    struct ipex_value *low =
        ipex_build_reshape(import, ipex_build_reduce(import, IPEX_REDUCE_min, x, all), 0, NULL);
    struct ipex_value *high =
        ipex_build_reshape(import, ipex_build_reduce(import, IPEX_REDUCE_max, x, all), 0, NULL);
    low = ipex_build_with(import, IPEX_STEP_min, low, 0);
    high = ipex_build_with(import, IPEX_STEP_max, high, 0);
    struct ipex_value *scale = ipex_build_with(
        import, IPEX_STEP_div, ipex_build_binary(import, IPEX_STEP_sub, high, low), 255);
    struct ipex_value *nothing = ipex_build_with(
        import, IPEX_STEP_add,
        ipex_build_unary(import, IPEX_STEP_neg, ipex_build_unary(import, IPEX_STEP_sign, scale)),
        1);
    ret.scale = scale = ipex_build_binary(import, IPEX_STEP_add, scale, nothing);
    struct ipex_value *zero = ipex_build_binary(
        import, IPEX_STEP_div, ipex_build_unary(import, IPEX_STEP_neg, low), scale);
    zero = ipex_build_with(import, IPEX_STEP_max, zero, 0);
    ret.zero = ipex_build_unary(import, IPEX_STEP_round,
                                ipex_build_with(import, IPEX_STEP_min, zero, 255));
    ret.q = saturated(import, ipex_build_binary(import, IPEX_STEP_div, x, scale), ret.zero,
                      find_integer(IPEX_ONNX_UINT8), IPEX_ROUND_THEN_ZERO);
    return ret;
}

static void import_dynamic_quantize(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    if (!x)
        return;
    const struct ipex_quantized quantized = ipex_quantized_dynamic(import, x);
    ipex_import_out(import, 0, quantized.q);
    /* The others are made of it: folded with them it would be no result. */
    ipex_import_out(import, 1, ipex_build_reshape(import, quantized.scale, 0, NULL));
    ipex_import_out(import, 2, ipex_build_cast(import, quantized.zero, IPEX_DTYPE_u8));
}

const struct ipex_dequantised *ipex_quantized_alike(const struct ipex_value *x) {
    const struct ipex_dequantised *d = x->dequantised;
    return d && d->whole && ipex_is_one_number(d->zero) && ipex_is_one_number(d->scale) &&
                   number_of(d->scale, 1) > 0
               ? d
               : NULL;
}

/* Of a constant of 8 bits. */
static bool is_constant(const struct ipex_dequantised *d) {
    return d && d->raw && !d->block_bits && !d->raw->narrow && ipex_dtype_size(d->raw->dtype) == 1;
}

static bool is_of_one_scale(const struct ipex_dequantised *d) {
    return ipex_is_one_number(d->scale) && ipex_is_one_number(d->zero);
}

struct ipex_value *ipex_quantized_table(const struct ipex_value *x) {
    const struct ipex_dequantised *d = x->dequantised;
    return is_constant(d) && is_of_one_scale(d) ? d->raw : NULL;
}

/* The axis whose elements have a scale or zero point each; -1: there is none. */
static int32_t axis_of(const struct ipex_dequantised *d) {
    const struct ipex_value *p = ipex_is_one_number(d->scale) ? d->zero : d->scale;
    int64_t inner = 1;
    for (int32_t i = d->raw->rank - 1; i >= 0 && !is_of_one_scale(d); i--) {
        if (inner == d->inner && d->raw->dims[i] == ipex_value_numel(p))
            return i;
        inner *= d->raw->dims[i];
    }
    return -1;
}

/* d's integers have become `raw`, which is made behind `last`, and their axis (axis_of) is `axis`.
 */
static void note_moved(struct ipex_import *import, struct ipex_value *y,
                       const struct ipex_dequantised *d, struct ipex_node *last,
                       struct ipex_value *raw, int32_t axis) {
    ipex_import_fold(import, last);
    if (!raw->constant || (axis < 0 && !is_of_one_scale(d)))
        return;
    struct ipex_dequantised *note = ipex_arena_alloc(&import->graph->arena, sizeof *note);
    *note = *d;
    note->raw = raw;
    note->inner = 1;
    for (int32_t i = raw->rank - 1; axis >= 0 && i > axis; i--)
        note->inner *= raw->dims[i];
    y->dequantised = note;
}

void ipex_quantized_note_part(struct ipex_import *import, struct ipex_value *y,
                              const struct ipex_value *x, int32_t axis, int64_t from,
                              int64_t count) {
    const struct ipex_dequantised *d = x->dequantised;
    struct ipex_node *last = import->graph->last;
    if (is_constant(d))
        note_moved(import, y, d, last, ipex_build_slice(import, d->raw, axis, from, count),
                   axis_of(d));
}

void ipex_quantized_note_transposed(struct ipex_import *import, struct ipex_value *y,
                                    const struct ipex_value *x, const int32_t *perm) {
    const struct ipex_dequantised *d = x->dequantised;
    struct ipex_node *last = import->graph->last;
    if (x->blocks && y != x)
        y->blocks = perm[0] ? ipex_blocks_turned(import->graph, x->blocks) : x->blocks;
    if (!is_constant(d))
        return;
    const int32_t from = axis_of(d);
    int32_t axis = d->raw->rank - 1;
    while (axis >= 0 && perm[axis] != from)
        axis--;
    note_moved(import, y, d, last, ipex_build_transpose(import, d->raw, perm), axis);
}

struct ipex_value *ipex_quantized_again(struct ipex_import *import, struct ipex_value *q,
                                        const struct ipex_dequantised *d) {
    struct ipex_value *y = dequantised(import, q, d->zero, d->scale);
    if (!y)
        return NULL;
    struct ipex_dequantised *note = ipex_arena_alloc(&import->graph->arena, sizeof *note);
    *note = *d;
    note->whole = q;
    note->raw = NULL;
    y->dequantised = note;
    return y;
}

/* ---- for operators on quantised numbers ---- */

struct ipex_value *ipex_quantized_centred(struct ipex_import *import, size_t at, size_t zero_at,
                                          int64_t axis) {
    struct ipex_node *last = import->graph->last;
    struct ipex_value *x = ipex_import_any(import, at), *zero = NULL;
    if (!x)
        return NULL;
    if (x->dtype != IPEX_DTYPE_u8 && x->dtype != IPEX_DTYPE_i8) {
        ipex_import_refuse(import, "input %s is %s; u8 and i8 are supported", x->name,
                           ipex_dtype_name(x->dtype));
        return NULL;
    }
    if (ipex_import_in(import, zero_at) &&
        !(zero = ipex_quantized_parameter(import, zero_at, x, axis)))
        return NULL;
    struct ipex_value *whole = ipex_build_cast(import, x, IPEX_DTYPE_f32),
                      *y = dequantised(import, whole, zero, NULL);
    note_integers(import, y, x, whole, NULL, zero, axis);
    if (x->constant && (!zero || zero->constant))
        ipex_import_fold(import, last);
    return y;
}

struct ipex_value *ipex_quantized_real(struct ipex_import *import, size_t at) {
    struct ipex_value *x = ipex_quantized_centred(import, at, at + 2, -1);
    struct ipex_value *scale = x ? ipex_quantized_parameter(import, at + 1, x, -1) : NULL;
    return scale ? ipex_build_binary(import, IPEX_STEP_mul, x, scale) : NULL;
}

struct ipex_value *ipex_quantized_constant(struct ipex_import *import, size_t at, size_t scale_at,
                                           size_t zero_at) {
    struct ipex_node *last = import->graph->last;
    struct ipex_value *x = ipex_quantized_centred(import, at, zero_at, -1),
                      *scale = x ? ipex_quantized_parameter(import, scale_at, x, -1) : NULL;
    const struct ipex_dequantised *d = x ? x->dequantised : NULL;
    if (!scale)
        return NULL;
    if (!x->constant || !scale->constant) {
        ipex_import_refuse(import, "input %s or its scale or zero point is no constant",
                           ipex_import_in(import, at)->name);
        return NULL;
    }
    x = ipex_build_binary(import, IPEX_STEP_mul, x, scale);
    if (d)
        note_integers(import, x, d->raw, NULL, scale, d->zero, -1);
    ipex_import_fold(import, last);
    return x;
}

/* Elements of a table of which as floats more room is taken than more steps are worth. */
enum { LARGE_TABLE = 1 << 16 };

/* Numbers to a scale in a row of a large table that blocks are those of; else 0. */
static int64_t block_of_rows(const struct ipex_value *table) {
    const struct ipex_blocks *b = table->blocks;
    const int64_t rows = table->dims[0];
    if (!b || b->axis != 1 || b->stride[1] != 1 || b->q->dims[0] != rows ||
        (b->zero && b->zero->dims[0] != rows) || ipex_value_numel(table) <= LARGE_TABLE)
        return 0;
    const int64_t block = b->block < table->dims[1] ? b->block : table->dims[1];
    return table->dims[1] % block ? 0 : block;
}

/* Rows of a part of a table in blocks, as f32 of these dims. */
static struct ipex_value *rows_of(struct ipex_import *import, struct ipex_value *part,
                                  struct ipex_value *indices, int32_t rank, const int64_t *dims) {
    struct ipex_value *rows = ipex_build_gather(import, part, indices, 0);
    return ipex_build_reshape(import, ipex_build_cast(import, rows, IPEX_DTYPE_f32), rank, dims);
}

/* All are the first one, or none is there. */
static bool is_alike(const struct ipex_value *zero) {
    for (int64_t i = 1; zero && i < ipex_value_numel(zero); i++)
        if (ipex_constant_data(zero)[i] != ipex_constant_data(zero)[0])
            return false;
    return true;
}

struct ipex_value *ipex_quantized_look_up_rows(struct ipex_import *import,
                                               const struct ipex_value *table,
                                               struct ipex_value *indices) {
    const struct ipex_blocks *b = table->blocks;
    const int64_t block = block_of_rows(table);
    int32_t rank = indices->rank;
    int64_t dims[IPEX_MAX_RANK];
    if (!block || rank > IPEX_MAX_RANK - 2)
        return NULL;
    memcpy(dims, indices->dims, sizeof dims);
    dims[rank++] = table->dims[1] / block;
    dims[rank++] = block;
    struct ipex_value *y = rows_of(import, b->q, indices, rank, dims);
    dims[rank - 1] = 1;
    if (is_alike(b->zero))
        y = ipex_build_with(import, IPEX_STEP_sub, y,
                            b->zero ? ipex_constant_data(b->zero)[0] : ipex_blocks_middle(b));
    else
        y = ipex_build_binary(import, IPEX_STEP_sub, y,
                              rows_of(import, b->zero, indices, rank, dims));
    y = ipex_build_binary(import, IPEX_STEP_mul, y, rows_of(import, b->scale, indices, rank, dims));
    dims[rank - 2] = table->dims[1];
    return ipex_build_reshape(import, y, rank - 1, dims);
}

struct ipex_value *ipex_quantized_look_up(struct ipex_import *import, struct ipex_value *table,
                                          struct ipex_value *indices, int64_t axis) {
    struct ipex_value *bytes = NULL, *y = NULL;
    if (table && indices && !indices->constant) {
        bytes = ipex_quantized_table(table);
        if (!bytes && axis == 0)
            y = ipex_quantized_look_up_rows(import, table, indices);
    }
    if (y)
        return y;
    y = ipex_build_gather(import, bytes ? bytes : table, indices, axis);
    return y && bytes ? ipex_quantized_again(import, ipex_build_cast(import, y, IPEX_DTYPE_f32),
                                             table->dequantised)
                      : y;
}

void ipex_quantized_round(struct ipex_import *import, struct ipex_value *y, size_t zero_at,
                          size_t like, enum ipex_rounding order) {
    const struct ipex_value *point = ipex_import_in(import, zero_at);
    const struct ipex_value *typed = point ? point : ipex_import_in(import, like);
    const struct integer *type = typed ? integer_of(typed) : NULL;
    struct ipex_value *zero = NULL;
    if (!y || (point && !(zero = ipex_quantized_parameter(import, zero_at, y, -1))))
        return;
    if (!type || ipex_import_narrow_dtype(type->onnx_type)) {
        ipex_import_refuse(import, "the result is neither u8 nor i8");
        return;
    }
    y = saturated(import, y, zero, type, order);
    if (y)
        ipex_import_out(import, 0, y);
}

void ipex_quantized_out(struct ipex_import *import, struct ipex_value *y, size_t at, size_t like,
                        enum ipex_rounding order) {
    struct ipex_value *scale = y ? ipex_quantized_parameter(import, at, y, -1) : NULL;
    if (scale)
        ipex_quantized_round(import, ipex_build_binary(import, IPEX_STEP_div, y, scale), at + 1,
                             like, order);
}

struct ipex_value *ipex_quantized_product(struct ipex_import *import, struct ipex_value *a,
                                          struct ipex_value *b) {
    return b && b->constant && b->rank == 2 ? ipex_build_linear(import, a, b, true)
                                            : ipex_build_matmul(import, a, b);
}

const struct ipex_import_op ipex_import_quantized[] = {
    {"DequantizeLinear", import_dequantize},
    {"DynamicQuantizeLinear", import_dynamic_quantize},
    {"QuantizeLinear", import_quantize},
    {NULL, NULL},
};
