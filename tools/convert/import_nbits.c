/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of few bits in blocks along their columns, as ONNX Runtime's quantiser packs them into
 * bytes, and tables of such rows. Weights become f32, of which it is noted what they are made of,
 * so that a linear layer can keep it (weight_blocks.h). Of tables a run looks up numbers and scales
 * where that saves room; else they become f32, too. */
#include "tools/convert/import_quantized.h"
#include "tools/convert/import_scope.h"
#include "tools/convert/weight_blocks.h"

#include <string.h>

/* [n][blocks] scales of `block` numbers each, of which the last may be cut. */
struct packed {
    int64_t n, k, block, bits, blocks;
    unsigned more;                   /* by which the file's numbers are larger */
    struct ipex_value *weight;       /* u8 [n][blocks][block * bits / 8] */
    struct ipex_value *scale, *zero; /* f32 [n][blocks]; zero may be u8 [n][bytes of blocks], or
                                        NULL: the middle of the range */
    struct ipex_value *block_of;     /* [k]: whose scale and zero point it has; NULL: k / block */
};

static bool is_constant(struct ipex_import *import, const struct ipex_value *x, const char *what,
                        bool typed, int64_t count) {
    if (x && x->constant && typed && ipex_value_numel(x) == count)
        return true;
    ipex_import_refuse(import, "the %s %s is not a constant of %lld elements of its type", what,
                       x ? x->name : "(absent)", (long long)count);
    return false;
}

static bool read_attributes(struct ipex_import *import, struct packed *p) {
    p->n = ipex_import_int(import, "N", 0);
    p->k = ipex_import_int(import, "K", 0);
    p->block = ipex_import_int(import, "block_size", 0);
    p->bits = ipex_import_int(import, "bits", 4);
    const bool known = p->n > 0 && p->n < IPEX_MAX_DIM && p->k > 0 && p->k < IPEX_MAX_DIM &&
                       p->block >= 16 && p->block < IPEX_MAX_DIM && p->block % 8 == 0 &&
                       (p->bits == 2 || p->bits == 4 || p->bits == 8) &&
                       !ipex_import_int(import, "weight_prepacked", 0);
    if (!known)
        ipex_import_refuse(import,
                           "N %lld, K %lld, block_size %lld, bits %lld; blocks of 16 and more, of "
                           "2, 4 or 8 bits, not prepacked, are supported",
                           (long long)p->n, (long long)p->k, (long long)p->block,
                           (long long)p->bits);
    p->blocks = known ? (p->k - 1) / p->block + 1 : 0;
    return known;
}

static int64_t block_of(const struct packed *p, int64_t k) {
    return p->block_of ? ipex_constant_i64(p->block_of, k) : k / p->block;
}

/* Blocks may be named one by one, in an order that sorted columns of a weight had. */
static bool read_block_of(struct ipex_import *import, struct packed *p) {
    struct ipex_value *of = ipex_import_in(import, 4);
    bool plain = true;
    p->block_of = NULL;
    if (!of)
        return true;
    if (!of->constant || of->dtype != IPEX_DTYPE_i32 || ipex_value_numel(of) < p->k) {
        ipex_import_refuse(import, "the blocks %s are not a constant of %lld elements of i32",
                           of->name, (long long)p->k);
        return false;
    }
    for (int64_t k = 0; k < p->k; k++) {
        const int64_t block = ipex_constant_i64(of, k);
        plain = plain && block == k / p->block;
        if (block >= 0 && block < p->blocks)
            continue;
        ipex_import_refuse(import, "element %lld of the blocks %s is %lld, of %lld", (long long)k,
                           of->name, (long long)block, (long long)p->blocks);
        return false;
    }
    p->block_of = plain ? NULL : of;
    return true;
}

static bool read_packed(struct ipex_import *import, struct packed *p) {
    if (!read_attributes(import, p) || !read_block_of(import, p))
        return false;
    p->weight = ipex_import_in(import, 1);
    p->scale = ipex_import_in(import, 2);
    p->zero = ipex_import_in(import, 3);
    const bool real = p->zero && p->zero->dtype == IPEX_DTYPE_f32;
    return is_constant(import, p->weight, "weight", p->weight && p->weight->dtype == IPEX_DTYPE_u8,
                       p->n * p->blocks * (p->block * p->bits / 8)) &&
           is_constant(import, p->scale, "scale", p->scale && p->scale->dtype == IPEX_DTYPE_f32,
                       p->n * p->blocks) &&
           (!p->zero ||
            is_constant(import, p->zero, "zero point", real || p->zero->dtype == IPEX_DTYPE_u8,
                        p->n * (real ? p->blocks : (p->blocks * p->bits + 7) / 8)));
}

/* Number i of those that begin at `at`, the lowest bits of a byte first. */
static unsigned number(const uint8_t *at, int64_t i, int64_t bits) {
    return at[i * bits / 8] >> i * bits % 8 & ((1u << bits) - 1);
}

static float zero_point(const struct packed *p, int64_t n, int64_t block) {
    if (!p->zero)
        return (float)(1 << (p->bits - 1));
    if (p->zero->dtype == IPEX_DTYPE_f32)
        return (float)ipex_constant_f64(p->zero, n * p->blocks + block);
    return (float)number(ipex_constant_data(p->zero) + n * ((p->blocks * p->bits + 7) / 8), block,
                         p->bits);
}

/* ---- as they are ---- */

/* [n][k]; `more` is added to each. */
static void make_numbers(const void *from, void *to) {
    const struct packed *p = from;
    const int64_t bytes = p->block * p->bits / 8;
    uint8_t *at = to;
    for (int64_t n = 0; n < p->n; n++) {
        const uint8_t *column = ipex_constant_data(p->weight) + n * p->blocks * bytes;
        for (int64_t k = 0; k < p->k; k++)
            *at++ =
                (uint8_t)(number(column + k / p->block * bytes, k % p->block, p->bits) + p->more);
    }
}

/* [n][blocks]; NULL where one of them is no whole number from 0 to 15 or, of 8 bits, to 255. */
static struct ipex_value *zero_points(struct ipex_import *import, const struct packed *p) {
    const int64_t dims[2] = {p->n, p->blocks};
    const float most = p->bits == 8 ? 255 : 15;
    uint8_t *ret = ipex_arena_array(&import->graph->arena, (size_t)(p->n * p->blocks), sizeof *ret);
    for (int64_t i = 0; i < p->n * p->blocks; i++) {
        const float zero = zero_point(p, i / p->blocks, i % p->blocks);
        if (!(zero >= 0 && zero <= most) || zero != (float)(int)zero)
            return NULL;
        ret[i] = (uint8_t)zero;
    }
    return ipex_graph_constant(import->graph, p->zero->name, IPEX_DTYPE_u8, 2, dims, ret);
}

/* Without zero points it is the middle of the file's bits that stands for 0, whatever the model's.
 */
static void note_blocks(struct ipex_import *import, struct packed *p, struct ipex_value *y) {
    struct ipex_blocks *note = ipex_arena_alloc(&import->graph->arena, sizeof *note);
    *note = (struct ipex_blocks){.scale = p->scale,
                                 .stride = {p->k, 1},
                                 .by = {p->blocks, 1},
                                 .block = p->block,
                                 .axis = 1,
                                 .bits = (int32_t)p->bits,
                                 .bytes = ipex_import_int(import, "accuracy_level", 0) == 4};
    p->more = p->zero ? 0 : ipex_blocks_middle(note) - (1u << (p->bits - 1));
    note->q = ipex_graph_late_constant(import->graph, p->weight->name, IPEX_DTYPE_u8, 2, y->dims,
                                       make_numbers, p);
    note->zero = p->zero ? zero_points(import, p) : NULL;
    if (p->zero && !note->zero)
        note->wanting = IPEX_REASON_zero_points;
    if (p->block_of)
        note->wanting = IPEX_REASON_scattered_blocks;
    y->blocks = note;
}

/* ---- as f32 ---- */

/* [n][k] */
static void make_floats(const void *from, void *to) {
    const struct packed *p = from;
    const int64_t bytes = p->block * p->bits / 8;
    struct ipex_arena arena = {0};
    float *data = to;
    float *const scale = ipex_arena_array(&arena, (size_t)p->blocks, sizeof *scale);
    float *const zero = ipex_arena_array(&arena, (size_t)p->blocks, sizeof *zero);
    for (int64_t n = 0; n < p->n; n++) {
        const uint8_t *column = ipex_constant_data(p->weight) + n * p->blocks * bytes;
        for (int64_t b = 0; b < p->blocks; b++) {
            scale[b] = (float)ipex_constant_f64(p->scale, n * p->blocks + b);
            zero[b] = zero_point(p, n, b);
        }
        for (int64_t k = 0; k < p->k; k++) {
            const int64_t b = block_of(p, k);
            *data++ =
                ((float)number(column + k / p->block * bytes, k % p->block, p->bits) - zero[b]) *
                scale[b];
        }
    }
    ipex_arena_finish(&arena);
}

static struct ipex_value *unpacked(struct ipex_import *import, const struct packed *packed) {
    const int64_t dims[2] = {packed->n, packed->k};
    struct packed *p = ipex_arena_alloc(&import->graph->arena, sizeof *p);
    *p = *packed;
    struct ipex_value *ret = ipex_graph_late_constant(import->graph, p->weight->name,
                                                      IPEX_DTYPE_f32, 2, dims, make_floats, p);
    note_blocks(import, p, ret);
    return ret;
}

static void import_matmul_nbits(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0), *bias = NULL;
    struct packed packed;
    if (!x || !read_packed(import, &packed) ||
        (ipex_import_in(import, 5) && !(bias = ipex_import_f32(import, 5))))
        return;
    if (bias && (bias->rank != 1 || bias->dims[0] != packed.n)) {
        ipex_import_refuse(import, "the bias %s does not have one element per column", bias->name);
        return;
    }
    struct ipex_value *y = ipex_build_linear(import, x, unpacked(import, &packed), false);
    if (bias)
        y = ipex_build_binary(import, IPEX_STEP_add, y, bias);
    if (y)
        ipex_import_out(import, 0, y);
}

/* ---- as numbers of floating point ---- */

/* [n * k] of 4 bits, the higher ones of a byte first, in blocks that may cross columns. */
struct bits_and_bytes {
    int64_t n, k, block;
    const float *value;                /* [16] */
    struct ipex_value *weight, *scale; /* u8 [(n * k + 1) / 2], f32 [blocks] */
};

/* bitsandbytes' numbers: FP4, NF4. */
static const float values_of_4_bits[2][16] = {
    {0.0f, 5.208333333e-03f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f,
     -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
     -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
     0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
     0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f}};

/* [n][k] */
static void make_values(const void *from, void *to) {
    const struct bits_and_bytes *p = from;
    float *data = to;
    for (int64_t i = 0; i < p->n * p->k; i++) {
        const uint8_t byte = ipex_constant_data(p->weight)[i / 2];
        data[i] = p->value[i % 2 ? byte & 15 : byte >> 4] *
                  (float)ipex_constant_f64(p->scale, i / p->block);
    }
}

static bool read_bits_and_bytes(struct ipex_import *import, struct bits_and_bytes *p) {
    const int64_t type = ipex_import_int(import, "quant_type", 1);
    p->n = ipex_import_int(import, "N", 0);
    p->k = ipex_import_int(import, "K", 0);
    p->block = ipex_import_int(import, "block_size", 0);
    p->weight = ipex_import_in(import, 1);
    p->scale = ipex_import_in(import, 2);
    if (p->n < 1 || p->n >= IPEX_MAX_DIM || p->k < 1 || p->k >= IPEX_MAX_DIM || p->block < 1 ||
        (type != 0 && type != 1) || !ipex_import_int(import, "transB", 1)) {
        ipex_import_refuse(import,
                           "N %lld, K %lld, block_size %lld, quant_type %lld, transB %lld; FP4 (0) "
                           "and NF4 (1) of a weight of N by K (transB 1) are supported",
                           (long long)p->n, (long long)p->k, (long long)p->block, (long long)type,
                           (long long)ipex_import_int(import, "transB", 1));
        return false;
    }
    p->value = values_of_4_bits[type];
    const int64_t count = p->n * p->k;
    return is_constant(import, p->weight, "weight", p->weight && p->weight->dtype == IPEX_DTYPE_u8,
                       (count + 1) / 2) &&
           is_constant(import, p->scale, "scale", p->scale && p->scale->dtype == IPEX_DTYPE_f32,
                       (count - 1) / p->block + 1);
}

static void import_matmul_bnb4(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct bits_and_bytes *p = ipex_arena_alloc(&import->graph->arena, sizeof *p);
    if (!x || !read_bits_and_bytes(import, p))
        return;
    const int64_t dims[2] = {p->n, p->k};
    struct ipex_value *w = ipex_graph_late_constant(import->graph, p->weight->name, IPEX_DTYPE_f32,
                                                    2, dims, make_values, p);
    struct ipex_blocks *note = ipex_arena_alloc(&import->graph->arena, sizeof *note);
    *note = (struct ipex_blocks){.bits = 4, .wanting = IPEX_REASON_floating_numbers};
    w->blocks = note;
    struct ipex_value *y = ipex_build_linear(import, x, w, false);
    if (y)
        ipex_import_out(import, 0, y);
}

/* ---- tables ---- */

struct table {
    struct ipex_value *value, *scale, *zero; /* constants; zero may be NULL: 0 */
    int64_t bits, block, axis, gathered;
    bool several; /* numbers to a byte */
};

static bool read_table(struct ipex_import *import, struct table *t) {
    t->value = ipex_import_in(import, 0);
    t->scale = ipex_import_in(import, 2);
    t->zero = ipex_import_in(import, 3);
    t->bits = ipex_import_int(import, "bits", 4);
    t->block = ipex_import_int(import, "block_size", 128);
    t->gathered = ipex_import_int(import, "gather_axis", 0);
    t->axis = ipex_import_int(import, "quantize_axis", 1);
    const bool constants = t->value && t->value->constant && t->scale && t->scale->constant &&
                           (!t->zero || t->zero->constant);
    if (!constants || (t->value->dtype != IPEX_DTYPE_u8 && t->value->dtype != IPEX_DTYPE_i8)) {
        ipex_import_refuse(import, "the table, its scales and zero points are not constants of 4 "
                                   "and 8 bits");
        return false;
    }
    if (!ipex_import_axis(import, &t->gathered, t->value->rank) ||
        !ipex_import_axis(import, &t->axis, t->value->rank))
        return false;
    const bool bits = t->bits == 2 || t->bits == 4 || t->bits == 8;
    t->several = bits && t->value->dtype == IPEX_DTYPE_u8 && !t->value->narrow && t->bits < 8;
    if (bits && t->block >= 16 &&
        (!t->several || (t->axis == t->value->rank - 1 && t->gathered != t->axis)))
        return true;
    ipex_import_refuse(import,
                       "blocks of %lld along axis %lld, of %lld bits; 16 and more along the last "
                       "one, of 2, 4 or 8 bits, are supported",
                       (long long)t->block, (long long)t->axis, (long long)t->bits);
    return false;
}

/* Of those in x's bytes `last` along the last axis, a byte for each. NULL after refusing. */
static struct ipex_value *apart(struct ipex_import *import, const struct ipex_value *x,
                                int64_t bits, int64_t last) {
    int64_t dims[IPEX_MAX_RANK];
    const int64_t bytes = x->rank ? x->dims[x->rank - 1] : 0;
    if (x->dtype != IPEX_DTYPE_u8 || bytes < 1 || bytes != (last * bits + 7) / 8) {
        ipex_import_refuse(import, "%s does not have %lld numbers along its last axis", x->name,
                           (long long)last);
        return NULL;
    }
    const int64_t rows = ipex_value_numel(x) / bytes;
    uint8_t *data = ipex_arena_array(&import->graph->arena, (size_t)(rows * last), sizeof *data);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < last; i++)
            data[r * last + i] = (uint8_t)number(ipex_constant_data(x) + r * bytes, i, bits);
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = last;
    return ipex_graph_constant(import->graph, x->name, IPEX_DTYPE_u8, x->rank, dims, data);
}

/* A byte for each number. False after refusing. */
static bool take_apart(struct ipex_import *import, struct table *t) {
    if (!t->several)
        return true;
    const int64_t bytes = t->value->dims[t->value->rank - 1];
    const bool zero = t->zero;
    t->value = apart(import, t->value, t->bits, bytes * (8 / t->bits));
    if (t->value && t->zero)
        t->zero = apart(import, t->zero, t->bits, (t->value->dims[t->axis] - 1) / t->block + 1);
    return t->value && (t->zero || !zero);
}

/* Without zero points it is the middle of u8 that stands for 0. */
static void state_middle(struct ipex_import *import, struct table *t) {
    const size_t count = (size_t)ipex_value_numel(t->scale);
    if (t->zero || t->value->dtype != IPEX_DTYPE_u8 || t->value->narrow)
        return;
    uint8_t *data = ipex_arena_array(&import->graph->arena, count + 1, sizeof *data);
    memset(data, 1 << (t->bits - 1), count);
    t->zero = ipex_graph_constant(import->graph, t->scale->name, IPEX_DTYPE_u8, t->scale->rank,
                                  t->scale->dims, data);
}

/* As f32. NULL after refusing. */
static struct ipex_value *table_rows(struct ipex_import *import, const struct table *t) {
    struct ipex_node *before = import->graph->last;
    struct ipex_value *rows = ipex_build_cast(import, t->value, IPEX_DTYPE_f32);
    struct ipex_value *scale =
        ipex_quantized_per_block(import, t->scale, t->value, t->axis, t->block);
    if (t->zero)
        rows = ipex_build_binary(
            import, IPEX_STEP_sub, rows,
            ipex_quantized_per_block(import, t->zero, t->value, t->axis, t->block));
    rows = ipex_build_binary(import, IPEX_STEP_mul, rows, scale);
    if (rows)
        ipex_import_fold(import, before);
    return rows;
}

/* Where that takes less room, of numbers and scales that a run looks up; else NULL. */
static struct ipex_value *look_up_numbers(struct ipex_import *import, const struct table *t,
                                          struct ipex_value *indices) {
    const struct ipex_block_parameters parameters = {t->scale, t->zero, t->axis, t->block};
    struct ipex_value *floats = ipex_graph_value(import->graph, t->value->name, IPEX_DTYPE_f32,
                                                 t->value->rank, t->value->dims);
    if (t->gathered != 0)
        return NULL;
    ipex_blocks_note(import->graph, floats, t->value, &parameters,
                     t->several || t->value->narrow ? 4 : 8);
    return ipex_quantized_look_up_rows(import, floats, indices);
}

static void import_gather_block_quantized(struct ipex_import *import) {
    struct ipex_value *indices = ipex_import_any(import, 1);
    struct table table;
    if (!indices || !read_table(import, &table))
        return;
    if (indices->dtype != IPEX_DTYPE_i64 && indices->dtype != IPEX_DTYPE_i32) {
        ipex_import_refuse(import, "the indices are %s", ipex_dtype_name(indices->dtype));
        return;
    }
    if (!take_apart(import, &table))
        return;
    state_middle(import, &table);
    struct ipex_value *y = look_up_numbers(import, &table, indices);
    if (!y)
        y = ipex_build_gather(import, table_rows(import, &table), indices, table.gathered);
    if (y)
        ipex_import_out(import, 0, y);
}

const struct ipex_import_op ipex_import_nbits[] = {
    {"GatherBlockQuantized", import_gather_block_quantized},
    {"MatMulBnb4", import_matmul_bnb4},
    {"MatMulNBits", import_matmul_nbits},
    {NULL, NULL},
};
