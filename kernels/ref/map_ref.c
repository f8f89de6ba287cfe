/* SPDX-License-Identifier: Apache-2.0 */
/* cast, compare, logical, where, integer: one result per element of y. Elements are worked on in
 * blocks, of a row or of several short ones; operands that are broadcast or have gaps are first
 * laid out densely, so that every operation on every type is one plain loop, which compilers
 * vectorise. */
#include "format/f16.h"
#include "kernels/bf16.h"
#include "kernels/ref/ref.h"

enum { BLOCK = 256, OPERANDS = 3, MAX_SIZE = 8 };

/* n results from dense operands. */
typedef void (*map_fn)(const void *const *x, void *restrict y, int64_t n);

/* The second, or NULL, is of the i64 that the first one gives. */
struct map_fns {
    map_fn first, second;
};

/* `rows` rows of n elements, and how far rows and their elements lie apart. */
struct map_tile {
    int64_t rows, n, row, step;
};

static bool map_dense(const struct map_tile *tile) {
    return tile->step == 1 && (tile->rows == 1 || tile->row == tile->n);
}

/* From the tile at x to dense elements of `size` bytes at y. */
static void map_gather(const char *x, struct map_tile tile, char *y, int64_t size) {
    if (tile.step == 1 && tile.n >= 8) { /* shorter rows: fewer steps than a call */
        for (int64_t r = 0; r < tile.rows; r++, x += tile.row * size, y += tile.n * size)
            memcpy(y, x, (size_t)(tile.n * size));
        return;
    }
    switch (size) {
#define GATHER(bytes)                                                                              \
    case bytes:                                                                                    \
        for (int64_t r = 0; r < tile.rows; r++, x += tile.row * bytes, y += tile.n * bytes)        \
            if (tile.step == 0) /* a loop of its own, which can be vectors */                      \
                for (int64_t i = 0; i < tile.n; i++)                                               \
                    memcpy(y + i * bytes, x, bytes);                                               \
            else                                                                                   \
                for (int64_t i = 0; i < tile.n; i++)                                               \
                    memcpy(y + i * bytes, x + i * tile.step * bytes, bytes);                       \
        break;
        GATHER(1)
        GATHER(2)
        GATHER(4)
        GATHER(8)
#undef GATHER
    default:
        break;
    }
}

static void map_scatter(const char *x, char *y, struct map_tile tile, int64_t size) {
    for (int64_t r = 0; r < tile.rows; r++, y += tile.row * size)
        for (int64_t i = 0; i < tile.n; i++, x += size)
            memcpy(y + i * tile.step * size, x, (size_t)size);
}

struct map_sizes {
    int64_t x[OPERANDS], y; /* bytes of an element */
};

/* Blocks at work. same: operands that are one element, of which `x` is full. */
struct map_blocks {
    _Alignas(32) char x[OPERANDS][BLOCK * MAX_SIZE], y[BLOCK * MAX_SIZE];
    int64_t between[BLOCK];
    bool same[OPERANDS];
};

static void map_begin(const struct ipex_map_args *args, const struct map_sizes *size,
                      struct map_blocks *blocks) {
    for (int32_t i = 0; i < args->inputs; i++) {
        blocks->same[i] = true;
        for (int32_t d = 0; d < args->rank; d++)
            blocks->same[i] = blocks->same[i] && args->x_stride[i][d] == 0;
        if (blocks->same[i])
            map_gather(args->x[i], (struct map_tile){.rows = 1, .n = BLOCK}, blocks->x[i],
                       size->x[i]);
    }
}

/* How an operand's rows and elements lie apart, and how far element `begin` of `row` is from its
 * first. */
static int64_t map_place(const struct ipex_map_args *args, const int64_t *stride, int64_t row,
                         int64_t begin, struct map_tile *tile) {
    const int32_t last = args->rank - 1;
    tile->row = last > 0 ? stride[last - 1] : 0;
    tile->step = stride[last];
    return ipex_row_offset(args->dims, stride, last, row) + begin * tile->step;
}

/* `rows` rows from `row` on, elements [begin, begin + n) of each. */
static __attribute__((noinline)) void map_block(const struct ipex_map_args *args,
                                                struct map_fns fns, const struct map_sizes *size,
                                                struct map_blocks *blocks, int64_t row,
                                                int64_t rows, int64_t begin, int64_t n) {
    const void *operand[OPERANDS];
    struct map_tile tile = {.rows = rows, .n = n};
    for (int32_t i = 0; i < args->inputs; i++) {
        const char *from = (const char *)args->x[i] +
                           map_place(args, args->x_stride[i], row, begin, &tile) * size->x[i];
        operand[i] = map_dense(&tile) ? from : blocks->x[i];
        if (operand[i] != from && !blocks->same[i])
            map_gather(from, tile, blocks->x[i], size->x[i]);
    }
    char *to = (char *)args->y + map_place(args, args->y_stride, row, begin, &tile) * size->y;
    const bool dense = map_dense(&tile);
    void *const y = dense ? to : blocks->y;
    const void *const between[] = {blocks->between};
    fns.first(operand, fns.second ? blocks->between : y, rows * n);
    if (fns.second)
        fns.second(between, y, rows * n);
    if (!dense)
        map_scatter(blocks->y, to, tile, size->y);
}

static __attribute__((noinline)) void map_run(const struct ipex_map_args *args, struct map_fns fns,
                                              struct map_sizes size, int64_t job_begin,
                                              int64_t job_end) {
    const int32_t last = args->rank - 1;
    const int64_t n = args->dims[last], neighbours = last > 0 ? args->dims[last - 1] : 1;
    const int64_t limit = job_end * args->rows_per_job;
    const int64_t end = ipex_smaller(limit, ipex_row_count(args->dims, 0, last));
    struct map_blocks blocks;
    map_begin(args, &size, &blocks);
    for (int64_t row = job_begin * args->rows_per_job, rows; row < end; row += rows) {
        const int64_t left = ipex_smaller(end - row, neighbours - row % neighbours);
        rows = n > BLOCK / 2 ? 1 : ipex_smaller(left, BLOCK / n);
        for (int64_t begin = 0; begin < n; begin += BLOCK)
            map_block(args, fns, &size, &blocks, row, rows, begin, ipex_smaller(n - begin, BLOCK));
    }
}

/* Functions of p, and of p and q, from type T to R. Each is there once. */
#define UNARY(name, T, R, EXPR)                                                                    \
    static __attribute__((noinline)) void name(const void *const *x, void *restrict y,             \
                                               int64_t n) {                                        \
        const T *a = x[0];                                                                         \
        R *restrict to = y;                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            if ((sizeof(T) == 8) != (sizeof(R) == 8)) /* shuffles, mostly: 300 bytes each */       \
                AS_WRITTEN;                                                                        \
            const T p = a[i];                                                                      \
            to[i] = (R)(EXPR);                                                                     \
        }                                                                                          \
    }
#define BINARY(name, T, R, EXPR)                                                                   \
    static __attribute__((noinline)) void name(const void *const *x, void *restrict y,             \
                                               int64_t n) {                                        \
        const T *a = x[0], *b = x[1];                                                              \
        R *restrict to = y;                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const T p = a[i], q = b[i];                                                            \
            to[i] = (R)(EXPR);                                                                     \
        }                                                                                          \
    }

/* ---- cast ---- */

/* Cut towards zero; out of range is the nearest that is in range, NaN is 0. */
#define FLOAT_TO(name, R, least)                                                                   \
    static inline R name(float v) {                                                                \
        return v != v          ? 0                                                                 \
               : v <= (least)  ? (R)(least)                                                        \
               : v >= -(least) ? (R)(-1 - (int64_t)(least))                                        \
                               : (R)v;                                                             \
    }
FLOAT_TO(f32_to_i32, int32_t, -0x1p31f)
FLOAT_TO(f32_to_i64, int64_t, -0x1p63f)

/* X(name, type) */
#define INTEGERS(X)                                                                                \
    X(i32, int32_t)                                                                                \
    X(i64, int64_t)                                                                                \
    X(u8, uint8_t)                                                                                 \
    X(i8, int8_t)

#define CAST_TO_BOOL(from, T) UNARY(cast_##from##_bool, T, uint8_t, p != 0)
#define CAST_OF_BOOL(to, R)   UNARY(cast_bool_##to, uint8_t, R, p != 0)
#define CAST_TO_F32(from, T)  UNARY(cast_##from##_f32, T, float, p)
#define CAST_OF_I64(to, R)    UNARY(cast_i64_##to, int64_t, R, p) /* i8: as u8 */
#define CAST_TO_I64(from, T)  UNARY(cast_##from##_i64, T, int64_t, p)
#define NARROW(X)                                                                                  \
    X(i32, int32_t)                                                                                \
    X(u8, uint8_t)                                                                                 \
    X(i8, int8_t)
CAST_TO_BOOL(f32, float)
CAST_TO_BOOL(i64, int64_t)
CAST_OF_BOOL(f32, float)
CAST_OF_BOOL(i64, int64_t)
UNARY(cast_f32_i32, float, int32_t, f32_to_i32(p))
UNARY(cast_f32_i64, float, int64_t, f32_to_i64(p))
INTEGERS(CAST_TO_F32)
CAST_OF_I64(i32, int32_t)
CAST_OF_I64(u8, uint8_t)
CAST_OF_I64(i64, int64_t)
NARROW(CAST_TO_I64)
UNARY(cast_f32_f32, float, float, p)

UNARY(cast_f32_bf16, uint32_t, uint16_t, ipex_bf16_of(p))
UNARY(cast_bf16_f32, uint16_t, uint32_t, (uint32_t)p << 16)
UNARY(cast_f16_f32, uint16_t, uint32_t, ipex_f32_of_f16(p))

UNARY(cut_i32, int32_t, uint8_t, p)

static __attribute__((noinline)) void clamp_i32(int32_t *y, int64_t n, int32_t low, int32_t high) {
    for (int64_t i = 0; i < n; i++)
        y[i] = y[i] < low ? low : y[i] > high ? high : y[i];
}

/* Those of f32 to bytes by way of i32. */
#define CLAMPED(to, low, high)                                                                     \
    static void cast_f32_##to(const void *const *x, void *restrict y, int64_t n) {                 \
        int32_t wide[BLOCK];                                                                       \
        const void *const between[] = {wide};                                                      \
        cast_f32_i32(x, wide, n);                                                                  \
        clamp_i32(wide, n, low, high);                                                             \
        cut_i32(between, y, n);                                                                    \
    }
CLAMPED(u8, 0, 255)
CLAMPED(i8, -128, 127)

/* Which, for every other type; bf16 is only from and to f32, f16 only to f32. */
#define BY_TYPE(dtype, f32, i32, i64, u8, i8, boolean)                                             \
    ((dtype) == IPEX_DTYPE_f32   ? (f32)                                                           \
     : (dtype) == IPEX_DTYPE_i32 ? (i32)                                                           \
     : (dtype) == IPEX_DTYPE_i64 ? (i64)                                                           \
     : (dtype) == IPEX_DTYPE_u8  ? (u8)                                                            \
     : (dtype) == IPEX_DTYPE_i8  ? (i8)                                                            \
                                 : (boolean))

static map_fn cast_to_f32(int32_t from) {
    return from == IPEX_DTYPE_bf16  ? cast_bf16_f32
           : from == IPEX_DTYPE_f16 ? cast_f16_f32
                                    : BY_TYPE(from, cast_f32_f32, cast_i32_f32, cast_i64_f32,
                                              cast_u8_f32, cast_i8_f32, cast_bool_f32);
}

static map_fn cast_of_f32(int32_t to) {
    return to == IPEX_DTYPE_bf16 ? cast_f32_bf16
                                 : BY_TYPE(to, cast_f32_f32, cast_f32_i32, cast_f32_i64,
                                           cast_f32_u8, cast_f32_i8, cast_f32_bool);
}

/* Integers by way of i64. */
static struct map_fns cast_fns(int32_t from, int32_t to) {
    if (to == IPEX_DTYPE_f32)
        return (struct map_fns){cast_to_f32(from), NULL};
    if (from == IPEX_DTYPE_f32)
        return (struct map_fns){cast_of_f32(to), NULL};
    const map_fn second =
        BY_TYPE(to, NULL, cast_i64_i32, NULL, cast_i64_u8, cast_i64_u8, cast_i64_bool);
    if (from == IPEX_DTYPE_i64 && second)
        return (struct map_fns){second, NULL};
    return (struct map_fns){
        BY_TYPE(from, NULL, cast_i32_i64, cast_i64_i64, cast_u8_i64, cast_i8_i64, cast_bool_i64),
        second};
}

void IPEX_REF(cast)(const struct ipex_map_args *args, int64_t job_begin, int64_t job_end,
                    void *scratch) {
    (void)scratch;
    const struct map_fns fns = cast_fns(args->dtype, args->y_dtype);
    const struct map_sizes size = {{ref_dtype_size(args->dtype)}, ref_dtype_size(args->y_dtype)};
    map_run(args, fns, size, job_begin, job_end);
}

/* ---- compare ---- */

static __attribute__((noinline)) void invert(uint8_t *y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] ^= 1;
}

/* Those of operands the other way round; and what they do not say. */
#define TURNED(name, of)                                                                           \
    static void name(const void *const *x, void *restrict y, int64_t n) {                          \
        const void *const turned[] = {x[1], x[0]};                                                 \
        of(turned, y, n);                                                                          \
    }
#define NOT(name, of)                                                                              \
    static void name(const void *const *x, void *restrict y, int64_t n) {                          \
        of(x, y, n);                                                                               \
        invert(y, n);                                                                              \
    }
#define COMPARE(dtype, T)                                                                          \
    BINARY(dtype##_equal, T, uint8_t, p == q)                                                      \
    BINARY(dtype##_less, T, uint8_t, p < q)                                                        \
    NOT(dtype##_not_equal, dtype##_equal)                                                          \
    TURNED(dtype##_greater, dtype##_less)
#define COMPARE_FN(dtype)                                                                          \
    static map_fn dtype##_compare(int32_t kind) {                                                  \
        return kind == IPEX_COMPARE_equal        ? dtype##_equal                                   \
               : kind == IPEX_COMPARE_less       ? dtype##_less                                    \
               : kind == IPEX_COMPARE_less_equal ? dtype##_less_equal                              \
               : kind == IPEX_COMPARE_greater    ? dtype##_greater                                 \
               : kind == IPEX_COMPARE_not_equal  ? dtype##_not_equal                               \
                                                 : dtype##_greater_equal;                           \
    }
COMPARE(f32, float)
BINARY(f32_less_equal, float, uint8_t, p <= q)
TURNED(f32_greater_equal, f32_less_equal)
COMPARE_FN(f32)
/* Of integers a <= b unless b < a. */
#define COMPARE_INTEGERS(dtype, T)                                                                 \
    COMPARE(dtype, T)                                                                              \
    NOT(dtype##_less_equal, dtype##_greater)                                                       \
    NOT(dtype##_greater_equal, dtype##_less)                                                       \
    COMPARE_FN(dtype)
COMPARE_INTEGERS(i32, int32_t)
COMPARE_INTEGERS(i64, int64_t)

void IPEX_REF(compare)(const struct ipex_map_args *args, int64_t job_begin, int64_t job_end,
                       void *scratch) {
    (void)scratch;
    const map_fn fn = args->dtype == IPEX_DTYPE_f32   ? f32_compare(args->kind)
                      : args->dtype == IPEX_DTYPE_i32 ? i32_compare(args->kind)
                                                      : i64_compare(args->kind);
    const int64_t size = ref_dtype_size(args->dtype);
    map_run(args, (struct map_fns){fn, NULL}, (struct map_sizes){{size, size}, 1}, job_begin,
            job_end);
}

/* ---- logical ---- */

BINARY(logical_and, uint8_t, uint8_t, (p != 0) & (q != 0))
BINARY(logical_or, uint8_t, uint8_t, (p | q) != 0)
BINARY(logical_xor, uint8_t, uint8_t, (p != 0) ^ (q != 0))
UNARY(logical_not, uint8_t, uint8_t, p == 0)

void IPEX_REF(logical)(const struct ipex_map_args *args, int64_t job_begin, int64_t job_end,
                       void *scratch) {
    const int32_t kind = args->kind;
    const map_fn fn = kind == IPEX_LOGICAL_and   ? logical_and
                      : kind == IPEX_LOGICAL_or  ? logical_or
                      : kind == IPEX_LOGICAL_xor ? logical_xor
                                                 : logical_not;
    (void)scratch;
    map_run(args, (struct map_fns){fn, NULL}, (struct map_sizes){{1, 1}, 1}, job_begin, job_end);
}

/* ---- where ---- */

#define WHERE(T)                                                                                   \
    static void where_##T(const void *const *x, void *restrict y, int64_t n) {                     \
        const uint8_t *c = x[0];                                                                   \
        const T *a = x[1], *b = x[2];                                                              \
        T *restrict to = y;                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const T p = a[i], q = b[i];                                                            \
            to[i] = c[i] ? p : q;                                                                  \
        }                                                                                          \
    }
WHERE(uint8_t)
WHERE(uint32_t)
WHERE(uint64_t)

void IPEX_REF(where)(const struct ipex_map_args *args, int64_t job_begin, int64_t job_end,
                     void *scratch) {
    (void)scratch;
    const int64_t size = ref_dtype_size(args->dtype);
    const map_fn fn = size == 1 ? where_uint8_t : size == 4 ? where_uint32_t : where_uint64_t;
    map_run(args, (struct map_fns){fn, NULL}, (struct map_sizes){{1, size, size}, size}, job_begin,
            job_end);
}

/* ---- integer ---- */

/* T: signed, U: its unsigned twin, in which overflow is defined. The divisor -1 is taken apart:
 * the least number divided by it traps. */
#define INTEGER(dtype, T, U)                                                                       \
    static inline T dtype##_quotient(T p, T q) {                                                   \
        return q == 0 ? 0 : q == -1 ? (T)(0 - (U)p) : p / q;                                       \
    }                                                                                              \
    static inline T dtype##_modulo(T p, T q) {                                                     \
        const T rest = q == 0 || q == -1 ? 0 : p % q;                                              \
        return rest != 0 && (rest ^ q) < 0 ? rest + q : rest;                                      \
    }                                                                                              \
    BINARY(dtype##_add, T, T, (U)p + (U)q)                                                         \
    BINARY(dtype##_sub, T, T, (U)p - (U)q)                                                         \
    BINARY(dtype##_mul, T, T, (U)p *(U)q)                                                          \
    BINARY(dtype##_div, T, T, dtype##_quotient(p, q))                                              \
    BINARY(dtype##_min, T, T, q < p ? q : p)                                                       \
    BINARY(dtype##_max, T, T, q > p ? q : p)                                                       \
    UNARY(dtype##_neg, T, T, 0 - (U)p)                                                             \
    UNARY(dtype##_abs, T, T, p < 0 ? 0 - (U)p : (U)p)                                              \
    BINARY(dtype##_mod, T, T, dtype##_modulo(p, q))                                                \
    static map_fn dtype##_integer(int32_t kind) {                                                  \
        return kind == IPEX_INTEGER_add   ? dtype##_add                                            \
               : kind == IPEX_INTEGER_sub ? dtype##_sub                                            \
               : kind == IPEX_INTEGER_mul ? dtype##_mul                                            \
               : kind == IPEX_INTEGER_div ? dtype##_div                                            \
               : kind == IPEX_INTEGER_min ? dtype##_min                                            \
               : kind == IPEX_INTEGER_max ? dtype##_max                                            \
               : kind == IPEX_INTEGER_neg ? dtype##_neg                                            \
               : kind == IPEX_INTEGER_abs ? dtype##_abs                                            \
                                          : dtype##_mod;                                           \
    }
INTEGER(i32, int32_t, uint32_t)
INTEGER(i64, int64_t, uint64_t)

void IPEX_REF(integer)(const struct ipex_map_args *args, int64_t job_begin, int64_t job_end,
                       void *scratch) {
    (void)scratch;
    const bool wide = args->dtype == IPEX_DTYPE_i64;
    const int64_t size = wide ? 8 : 4;
    map_run(args, (struct map_fns){(wide ? i64_integer : i32_integer)(args->kind), NULL},
            (struct map_sizes){{size, size}, size}, job_begin, job_end);
}
