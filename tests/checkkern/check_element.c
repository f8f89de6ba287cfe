/* SPDX-License-Identifier: Apache-2.0 */
/* cast, compare, logical, where, integer over random strided, broadcast boxes; gather and scatter
 * with wild indices and pad: every element against its definition, which is written here once more.
 */
#include "tests/checkkern/checkkern.h"

#include <math.h>
#include <string.h>

static int64_t size_of(int32_t dtype) {
    return ipex_dtype_size((enum ipex_dtype)dtype);
}

/* Bits of every kind of f32: NaNs, infinities, denormals, and often halfway between two bf16. */
static void random_bits(struct rng *rng, char *to) {
    static const uint32_t upper[] = {0x7f80, 0xff80, 0x7f7f, 0x0080, 0x007f, 0x8000, 0x3f80};
    static const uint32_t lower[] = {0, 0x8000, 0x7fff, 0x8001, 1, 0xffff};
    const uint32_t high =
        rng_one_in(rng, 3) ? upper[rng_range(rng, 0, 6)] : (uint32_t)rng_range(rng, 0, 0xffff);
    const uint32_t low =
        rng_one_in(rng, 2) ? lower[rng_range(rng, 0, 5)] : (uint32_t)rng_range(rng, 0, 0xffff);
    const uint32_t bits = high << 16 | low;
    memcpy(to, &bits, sizeof bits);
}

/* Integers at the ends of their ranges, small ones, and floats around those. */
static void random_element(struct rng *rng, int32_t dtype, char *to) {
    if (dtype == IPEX_DTYPE_bf16) {
        const uint16_t bits = (uint16_t)rng_range(rng, 0, 0xffff);
        memcpy(to, &bits, sizeof bits);
        return;
    }
    static const int64_t ends[] = {0, 1, -1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    const int64_t integer = rng_one_in(rng, 3) ? ends[rng_range(rng, 0, 6)] : rng_range(rng, -9, 9);
    static const float edges[] = {0x1p31f, -0x1p31f, 0x1.fffffep30f, 0x1p63f, -0x1p63f, 255.9f,
                                  256.0f,  -0.9f,    127.5f,         128.0f,  -128.9f,  -129.0f};
    float real = rng_value(rng, true);
    if (rng_one_in(rng, 3))
        real = rng_one_in(rng, 2) ? edges[rng_range(rng, 0, 11)] : (float)rng_range(rng, -3, 3);
    if (dtype == IPEX_DTYPE_f32)
        memcpy(to, &real, sizeof real);
    else /* little-endian: the low bytes */
        memcpy(to, &integer, (size_t)size_of(dtype));
}

static int64_t get_integer(int32_t dtype, const char *from) {
    int64_t i64;
    int32_t i32;
    switch (dtype) {
    case IPEX_DTYPE_i64:
        memcpy(&i64, from, sizeof i64);
        return i64;
    case IPEX_DTYPE_i32:
        memcpy(&i32, from, sizeof i32);
        return i32;
    case IPEX_DTYPE_i8:
        return *(const int8_t *)from;
    default:
        return *(const uint8_t *)from;
    }
}

static float get_float(const char *from) {
    float ret;
    memcpy(&ret, from, sizeof ret);
    return ret;
}

/* ---- one element of every slot, as kernels/kernels.h says ---- */

static void put_integer(int32_t dtype, int64_t value, char *to) {
    memcpy(to, &value, (size_t)size_of(dtype));
}

static int64_t float_to_integer(float v, int32_t dtype) {
    const double low = dtype == IPEX_DTYPE_u8    ? 0
                       : dtype == IPEX_DTYPE_i8  ? -128
                       : dtype == IPEX_DTYPE_i32 ? INT32_MIN
                                                 : -0x1p63;
    const double high = dtype == IPEX_DTYPE_u8    ? 255
                        : dtype == IPEX_DTYPE_i8  ? 127
                        : dtype == IPEX_DTYPE_i32 ? INT32_MAX
                                                  : 0x1p63;
    if (isnan(v))
        return 0;
    const double cut = trunc((double)v);
    if (cut >= high)
        return dtype == IPEX_DTYPE_i64 ? INT64_MAX : (int64_t)high;
    return cut <= low ? (int64_t)low : (int64_t)cut;
}

/* By the distance between neighbours at v, which has 8 bits; no product or quotient here rounds. */
static uint16_t rounded_to_bf16(float v) {
    uint32_t bits;
    int exponent;
    memcpy(&bits, &v, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (isnan(v))
        return (uint16_t)(bits >> 16 | 0x40);
    if (fabs((double)v) < 0x1p-126)
        return sign;
    if (isinf(v))
        return sign | 0x7f80;
    frexp((double)v, &exponent);
    const double step = ldexp(1, exponent - 8), count = fabs((double)v) / step;
    double whole = floor(count);
    if (count - whole > 0.5 || (count - whole == 0.5 && fmod(whole, 2) != 0))
        whole++;
    const float near = (float)(whole * step); /* infinity where it is beyond the largest */
    memcpy(&bits, &near, sizeof bits);
    return sign | (uint16_t)(bits >> 16);
}

static void want_cast_bf16(const struct ipex_map_args *a, const char *const *x, char *y) {
    if (a->y_dtype == IPEX_DTYPE_bf16) {
        const uint16_t value = rounded_to_bf16(get_float(x[0]));
        memcpy(y, &value, sizeof value);
    } else {
        const char f32[4] = {0, 0, x[0][0], x[0][1]};
        memcpy(y, f32, sizeof f32);
    }
}

static void want_cast_f16(const struct ipex_map_args *a, const char *const *x, char *y) {
    uint16_t half;
    memcpy(&half, x[0], sizeof half);
    const float value = (float)f16_value(half);
    uint32_t bits;
    (void)a;
    memcpy(&bits, &value, sizeof bits);
    if ((half & 0x7fff) > 0x7c00) /* a NaN */
        bits |= 1u << 22 | (uint32_t)(half & 1023) << 13;
    memcpy(y, &bits, sizeof bits);
}

static void want_cast(const struct ipex_map_args *a, const char *const *x, char *y) {
    const bool real = a->dtype == IPEX_DTYPE_f32;
    const bool is_true = real ? get_float(x[0]) != 0 : get_integer(a->dtype, x[0]) != 0;
    if (a->y_dtype == IPEX_DTYPE_bool) {
        *y = is_true;
    } else if (a->y_dtype == IPEX_DTYPE_f32) {
        float value = real ? get_float(x[0]) : (float)get_integer(a->dtype, x[0]);
        if (a->dtype == IPEX_DTYPE_bool)
            value = is_true;
        memcpy(y, &value, sizeof value);
    } else {
        const int64_t value = a->dtype == IPEX_DTYPE_bool ? is_true
                              : real ? float_to_integer(get_float(x[0]), a->y_dtype)
                                     : get_integer(a->dtype, x[0]);
        put_integer(a->y_dtype, value, y);
    }
}

/* The sign of a - b; 2: not comparable. Denormals are zeros. */
static int order(int32_t dtype, const char *a, const char *b) {
    if (dtype == IPEX_DTYPE_f32) {
        const float p = get_float(a), q = get_float(b);
        return p < q ? -1 : p > q ? 1 : p == q ? 0 : 2;
    }
    const int64_t p = get_integer(dtype, a), q = get_integer(dtype, b);
    return (p > q) - (p < q);
}

static void want_compare(const struct ipex_map_args *a, const char *const *x, char *y) {
    const int sign = order(a->dtype, x[0], x[1]);
    const bool result[] = {
        [IPEX_COMPARE_equal] = sign == 0,
        [IPEX_COMPARE_less] = sign == -1,
        [IPEX_COMPARE_less_equal] = sign == -1 || sign == 0,
        [IPEX_COMPARE_greater] = sign == 1,
        [IPEX_COMPARE_greater_equal] = sign == 1 || sign == 0,
        [IPEX_COMPARE_not_equal] = sign != 0,
    };
    *y = result[a->kind];
}

static void want_logical(const struct ipex_map_args *a, const char *const *x, char *y) {
    const bool p = *x[0] != 0, q = a->inputs > 1 && *x[1] != 0;
    const bool result[] = {
        [IPEX_LOGICAL_and] = p && q,
        [IPEX_LOGICAL_or] = p || q,
        [IPEX_LOGICAL_xor] = p != q,
        [IPEX_LOGICAL_not] = !p,
    };
    *y = result[a->kind];
}

static void want_where(const struct ipex_map_args *a, const char *const *x, char *y) {
    memcpy(y, *x[0] != 0 ? x[1] : x[2], (size_t)size_of(a->dtype));
}

/* Floored, exact: in twice the width. */
static __int128 floored_rest(__int128 p, __int128 q) {
    const __int128 rest = p % q;
    return rest != 0 && (rest < 0) != (q < 0) ? rest + q : rest;
}

static void want_integer(const struct ipex_map_args *a, const char *const *x, char *y) {
    const __int128 p = get_integer(a->dtype, x[0]);
    const __int128 q = a->inputs > 1 ? get_integer(a->dtype, x[1]) : 1;
    const __int128 result[] = {
        [IPEX_INTEGER_add] = p + q,
        [IPEX_INTEGER_sub] = p - q,
        [IPEX_INTEGER_mul] = p * q,
        [IPEX_INTEGER_div] = q == 0 ? 0 : p / q,
        [IPEX_INTEGER_min] = p < q ? p : q,
        [IPEX_INTEGER_max] = p > q ? p : q,
        [IPEX_INTEGER_neg] = -p,
        [IPEX_INTEGER_abs] = p < 0 ? -p : p,
        [IPEX_INTEGER_mod] = q == 0 ? 0 : floored_rest(p, q),
    };
    put_integer(a->dtype, (int64_t)(uint64_t)result[a->kind], y);
}

/* ---- boxes ---- */

typedef void (*want_fn)(const struct ipex_map_args *, const char *const *x, char *y);

/* Strides of the dims laid out row-major with gaps; returns the elements that are spanned. */
static int64_t lay_out(const struct ipex_map_args *a, struct rng *rng, bool may_broadcast,
                       int64_t *stride) {
    int64_t step = rng_one_in(rng, 4) ? rng_range(rng, 2, 3) : 1, span = 1;
    for (int32_t d = a->rank - 1; d >= 0; d--) {
        const bool broadcast = may_broadcast && rng_one_in(rng, 4);
        stride[d] = broadcast ? 0 : step;
        span += (a->dims[d] - 1) * stride[d];
        if (!broadcast)
            step = step * a->dims[d] + (rng_one_in(rng, 4) ? rng_range(rng, 1, 3) : 0);
    }
    return span;
}

static int64_t offset_of(const struct ipex_map_args *a, const int64_t *stride, int64_t n) {
    int64_t ret = 0;
    for (int32_t d = a->rank - 1; d >= 0; d--) {
        ret += n % a->dims[d] * stride[d];
        n /= a->dims[d];
    }
    return ret;
}

static void plain_map(const struct ipex_map_args *a, want_fn want, const int64_t *x_size,
                      int64_t y_size, char *y) {
    int64_t total = 1;
    for (int32_t d = 0; d < a->rank; d++)
        total *= a->dims[d];
    for (int64_t n = 0; n < total; n++) {
        const char *x[3] = {0};
        for (int32_t i = 0; i < a->inputs; i++)
            x[i] = (const char *)a->x[i] + offset_of(a, a->x_stride[i], n) * x_size[i];
        want(a, x, y + offset_of(a, a->y_stride, n) * y_size);
    }
}

/* What of a level's table a case is about. */
typedef ipex_kernel_fn (*slot_fn)(const struct level *level);
#define SLOT(name)                                                                                 \
    static ipex_kernel_fn slot_##name(const struct level *level) {                                 \
        return (ipex_kernel_fn)level->kernels.name;                                                \
    }
SLOT(cast)
SLOT(compare)
SLOT(logical)
SLOT(where)
SLOT(integer)
SLOT(gather)
SLOT(scatter)
SLOT(pad)

/* A box of the args' kind and dtypes at all levels. */
static int check_map(const struct context *context, struct rng *rng, const char *name, slot_fn slot,
                     want_fn want_element, struct ipex_map_args a, const int32_t *x_dtype) {
    struct buffer x[3];
    int64_t x_size[3], rows = 1;
    a.rank = (int32_t)rng_range(rng, 1, 4);
    for (int32_t d = 0; d < a.rank; d++)
        a.dims[d] = rng_range(rng, 1, d + 1 < a.rank || !rng_one_in(rng, 3) ? 7 : 700);
    for (int32_t d = 0; d + 1 < a.rank; d++)
        rows *= a.dims[d];
    a.rows_per_job = rng_range(rng, 1, rows);
    for (int32_t i = 0; i < a.inputs; i++) {
        x_size[i] = size_of(x_dtype[i]);
        const int64_t span = lay_out(&a, rng, true, a.x_stride[i]);
        x[i] = buffer_make((size_t)(span * x_size[i]));
        for (int64_t e = 0; e < span; e++) {
            char *to = (char *)x[i].data + e * x_size[i];
            if (a.y_dtype == IPEX_DTYPE_bf16)
                random_bits(rng, to);
            else
                random_element(rng, x_dtype[i], to);
        }
        a.x[i] = x[i].data;
    }
    const int64_t y_size = size_of(a.y_dtype);
    const int64_t y_bytes = lay_out(&a, rng, false, a.y_stride) * y_size;
    struct buffer want = buffer_make((size_t)y_bytes);
    fill_canary(&want);
    plain_map(&a, want_element, x_size, y_size, want.data);
    int failed = 0;
    for (size_t l = 0; l < context->n_levels; l++) {
        struct buffer got = buffer_make((size_t)y_bytes);
        fill_canary(&got);
        a.y = got.data;
        running(name, context->levels[l].name);
        run_jobs(rng, slot(&context->levels[l]), &a, ipex_map_jobs(&a), 0);
        const int64_t at = first_byte_difference(&want, &got);
        if (at >= 0)
            failed +=
                !report(false, name, "%s: kind %d dtype %d -> %d rank %d, byte %lld",
                        context->levels[l].name, a.kind, a.dtype, a.y_dtype, a.rank, (long long)at);
        buffer_free(&got);
    }
    for (int32_t i = 0; i < a.inputs; i++)
        buffer_free(&x[i]);
    buffer_free(&want);
    return failed;
}

static const int32_t dtypes[] = {IPEX_DTYPE_f32,  IPEX_DTYPE_i32, IPEX_DTYPE_i64,
                                 IPEX_DTYPE_bool, IPEX_DTYPE_u8,  IPEX_DTYPE_i8};

static int cast_case(const struct context *context, struct rng *rng, int i) {
    const int32_t from = dtypes[i % 6];
    const struct ipex_map_args a = {.inputs = 1, .dtype = from, .y_dtype = dtypes[i / 6 % 6]};
    return check_map(context, rng, "cast", slot_cast, want_cast, a, &from);
}

static int cast_bf16_case(const struct context *context, struct rng *rng, int i) {
    const int32_t dtype[] = {IPEX_DTYPE_f32, IPEX_DTYPE_bf16}, from = dtype[i % 4 == 3];
    const struct ipex_map_args a = {.inputs = 1, .dtype = from, .y_dtype = dtype[i % 4 != 3]};
    return check_map(context, rng, "cast", slot_cast, want_cast_bf16, a, &from);
}

static int cast_f16_case(const struct context *context, struct rng *rng, int i) {
    const int32_t from = IPEX_DTYPE_f16;
    const struct ipex_map_args a = {.inputs = 1, .dtype = from, .y_dtype = IPEX_DTYPE_f32};
    (void)i;
    return check_map(context, rng, "cast", slot_cast, want_cast_f16, a, &from);
}

static int compare_case(const struct context *context, struct rng *rng, int i) {
    const int32_t dtype = dtypes[i % 3];
    const struct ipex_map_args a = {.inputs = 2,
                                    .kind = i / 3 % IPEX_COMPARE_COUNT,
                                    .dtype = dtype,
                                    .y_dtype = IPEX_DTYPE_bool};
    return check_map(context, rng, "compare", slot_compare, want_compare, a,
                     (const int32_t[]){dtype, dtype});
}

static int logical_case(const struct context *context, struct rng *rng, int i) {
    const int32_t kind = i % IPEX_LOGICAL_COUNT;
    const struct ipex_map_args a = {.inputs = kind == IPEX_LOGICAL_not ? 1 : 2,
                                    .kind = kind,
                                    .dtype = IPEX_DTYPE_bool,
                                    .y_dtype = IPEX_DTYPE_bool};
    return check_map(context, rng, "logical", slot_logical, want_logical, a,
                     (const int32_t[]){IPEX_DTYPE_bool, IPEX_DTYPE_bool});
}

static int where_case(const struct context *context, struct rng *rng, int i) {
    const int32_t dtype = dtypes[i % 6];
    const struct ipex_map_args a = {.inputs = 3, .dtype = dtype, .y_dtype = dtype};
    return check_map(context, rng, "where", slot_where, want_where, a,
                     (const int32_t[]){IPEX_DTYPE_bool, dtype, dtype});
}

static int integer_case(const struct context *context, struct rng *rng, int i) {
    const int32_t dtype = dtypes[1 + i % 2], kind = i / 2 % IPEX_INTEGER_COUNT;
    const bool unary = kind == IPEX_INTEGER_neg || kind == IPEX_INTEGER_abs;
    const struct ipex_map_args a = {
        .inputs = unary ? 1 : 2, .kind = kind, .dtype = dtype, .y_dtype = dtype};
    return check_map(context, rng, "integer", slot_integer, want_integer, a,
                     (const int32_t[]){dtype, dtype});
}

/* ---- gather ---- */

/* Indices of every kind: inside, from the end, outside, and the ends of the type. */
static int64_t wild_index(struct rng *rng, int64_t axis, bool wide) {
    switch (rng_range(rng, 0, 9)) {
    case 0:
        return wide ? INT64_MIN : INT32_MIN;
    case 1:
        return wide ? INT64_MAX : INT32_MAX;
    case 2:
        return rng_range(rng, -3 * axis, 3 * axis);
    default:
        return rng_range(rng, -axis, axis - 1);
    }
}

static int64_t clamp_index(int64_t index, int64_t axis) {
    if (index < 0)
        index = index < -axis ? 0 : index + axis;
    return index >= axis ? axis - 1 : index;
}

static int gather_case(const struct context *context, struct rng *rng, int i) {
    static const int64_t inners[] = {1, 4, 8, 12, 100};
    struct ipex_gather_args a = {
        .outer = rng_range(rng, 1, 3),
        .count = rng_range(rng, 1, 9),
        .axis = rng_range(rng, 1, 9),
        .inner = inners[i % 5],
        .index_stride = rng_range(rng, 1, 2),
        .index_i64 = rng_one_in(rng, 2),
    };
    a.x_axis = a.inner + 4 * rng_range(rng, 0, 1);
    a.x_outer = a.axis * a.x_axis;
    a.y_index = a.inner + 4 * rng_range(rng, 0, 1);
    a.y_outer = a.count * a.y_index;
    a.rows_per_job = rng_range(rng, 1, a.outer * a.count);
    const int64_t element = a.index_i64 ? 8 : 4;
    struct buffer x =
        buffer_make((size_t)((a.outer - 1) * a.x_outer + (a.axis - 1) * a.x_axis + a.inner));
    struct buffer index = buffer_make((size_t)(((a.count - 1) * a.index_stride + 1) * element));
    struct buffer want =
        buffer_make((size_t)((a.outer - 1) * a.y_outer + (a.count - 1) * a.y_index + a.inner));
    for (size_t b = 0; b < x.bytes; b++)
        ((char *)x.data)[b] = (char)rng_next(rng);
    fill_canary(&want);
    for (int64_t n = 0; n < a.count; n++) {
        const int64_t value = wild_index(rng, a.axis, a.index_i64);
        memcpy((char *)index.data + n * a.index_stride * element, &value, (size_t)element);
        for (int64_t o = 0; o < a.outer; o++)
            memcpy((char *)want.data + o * a.y_outer + n * a.y_index,
                   (char *)x.data + o * a.x_outer + clamp_index(value, a.axis) * a.x_axis,
                   (size_t)a.inner);
    }
    a.x = x.data;
    a.index = index.data;
    int failed = 0;
    for (size_t l = 0; l < context->n_levels; l++) {
        struct buffer got = buffer_make(want.bytes);
        fill_canary(&got);
        a.y = got.data;
        running("gather", context->levels[l].name);
        run_jobs(rng, slot_gather(&context->levels[l]), &a, ipex_gather_jobs(&a), 0);
        const int64_t at = first_byte_difference(&want, &got);
        if (at >= 0)
            failed +=
                !report(false, "gather", "%s: byte %lld", context->levels[l].name, (long long)at);
        buffer_free(&got);
    }
    buffer_free(&x);
    buffer_free(&index);
    buffer_free(&want);
    return failed;
}

/* ---- scatter ---- */

/* Denormals count as 0; looked at by its bits, as comparing does not see them. */
static float flushed(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (!(bits & 0x7f800000u))
        bits &= 0x80000000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* One element, y = kind of it and the update. */
static void want_scattered(int32_t kind, int32_t dtype, char *y, const char *update) {
    const int64_t size = size_of(dtype);
    if (kind == IPEX_SCATTER_none) {
        memcpy(y, update, (size_t)size);
    } else if (dtype == IPEX_DTYPE_f32) {
        float p, q;
        memcpy(&p, y, sizeof p);
        memcpy(&q, update, sizeof q);
        const bool takes = q != q || (kind == IPEX_SCATTER_max ? q > p : q < p);
        p = kind == IPEX_SCATTER_add   ? p + q
            : kind == IPEX_SCATTER_mul ? p * q
                                       : flushed(takes ? q : p);
        memcpy(y, &p, sizeof p);
    } else {
        const int64_t p = get_integer(dtype, y), q = get_integer(dtype, update);
        const uint64_t value = kind == IPEX_SCATTER_add   ? (uint64_t)p + (uint64_t)q
                               : kind == IPEX_SCATTER_mul ? (uint64_t)p * (uint64_t)q
                               : kind == IPEX_SCATTER_max ? (uint64_t)(q > p ? q : p)
                                                          : (uint64_t)(q < p ? q : p);
        memcpy(y, &value, (size_t)size); /* little-endian: the low bytes */
    }
}

static int scatter_case(const struct context *context, struct rng *rng, int i) {
    static const int32_t with_kind[] = {IPEX_DTYPE_f32, IPEX_DTYPE_i64};
    const int32_t kind = i % IPEX_SCATTER_COUNT, turn = i / IPEX_SCATTER_COUNT;
    const int32_t dtype = kind == IPEX_SCATTER_none ? dtypes[turn % 6] : with_kind[turn % 2];
    const int64_t size = size_of(dtype), inner = rng_one_in(rng, 2) ? 1 : rng_range(rng, 1, 50);
    struct ipex_scatter_args a = {
        .rows = rng_range(rng, 1, 9),
        .count = rng_range(rng, 1, 20),
        .inner = inner * size,
        .kind = kind,
        .real = dtype == IPEX_DTYPE_f32,
    };
    a.rows_per_job = rng_range(rng, 1, a.rows);
    struct buffer x = buffer_make((size_t)(a.rows * a.inner)), want = buffer_make(x.bytes);
    struct buffer updates = buffer_make((size_t)(a.count * a.inner));
    struct buffer index = buffer_make((size_t)a.count * sizeof(int64_t));
    for (int64_t n = 0; n < a.rows * inner; n++)
        random_element(rng, dtype, (char *)x.data + n * size);
    for (int64_t n = 0; n < a.count * inner; n++)
        random_element(rng, dtype, (char *)updates.data + n * size);
    memcpy(want.data, x.data, x.bytes);
    for (int64_t n = 0; n < a.count; n++) {
        const int64_t value = wild_index(rng, a.rows, true), row = clamp_index(value, a.rows);
        ((int64_t *)index.data)[n] = value;
        for (int64_t k = 0; k < inner; k++)
            want_scattered(kind, dtype, (char *)want.data + (row * inner + k) * size,
                           (const char *)updates.data + (n * inner + k) * size);
    }
    a.index = index.data;
    a.updates = updates.data;
    int failed = 0;
    for (size_t l = 0; l < context->n_levels; l++) {
        struct buffer got = buffer_make(want.bytes);
        const bool in_place = rng_one_in(rng, 2);
        a.x = in_place ? got.data : x.data;
        a.y = got.data;
        fill_canary(&got);
        if (in_place)
            memcpy(got.data, x.data, x.bytes);
        running("scatter", context->levels[l].name);
        run_jobs(rng, slot_scatter(&context->levels[l]), &a, ipex_scatter_jobs(&a), 0);
        const int64_t at = first_byte_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, "scatter", "%s: kind %d dtype %d, byte %lld",
                              context->levels[l].name, kind, dtype, (long long)at);
        buffer_free(&got);
    }
    buffer_free(&x);
    buffer_free(&updates);
    buffer_free(&index);
    buffer_free(&want);
    return failed;
}

/* ---- pad ---- */

/* numpy's pad, one step at a time. */
static int64_t padded_from(int32_t mode, int64_t at, int64_t n) {
    if (mode == IPEX_PAD_constant)
        return at >= 0 && at < n ? at : -1;
    if (mode == IPEX_PAD_edge)
        return at < 0 ? 0 : at >= n ? n - 1 : at;
    while (at < 0 || at >= n) {
        if (mode == IPEX_PAD_wrap)
            at += at < 0 ? n : -n;
        else
            at = n == 1 ? 0 : at < 0 ? -at : 2 * (n - 1) - at;
    }
    return at;
}

static int pad_case(const struct context *context, struct rng *rng, int i) {
    static const int32_t sizes[] = {1, 4, 8};
    struct ipex_pad_args a = {.rank = (int32_t)rng_range(rng, 2, 4),
                              .size = sizes[i % 3],
                              .mode = i / 3 % IPEX_PAD_COUNT};
    int64_t x_step = rng_one_in(rng, 4) ? 2 : 1, y_step = rng_one_in(rng, 4) ? 2 : 1;
    int64_t x_span = 1, y_span = 1, total = 1;
    for (int32_t d = a.rank - 1; d >= 0; d--) {
        a.x_dims[d] = rng_range(rng, 1, 6);
        a.before[d] = rng_one_in(rng, 2) ? rng_range(rng, 0, 9) : 0;
        a.dims[d] = a.before[d] + a.x_dims[d] + (rng_one_in(rng, 2) ? rng_range(rng, 0, 9) : 0);
        a.x_stride[d] = x_step;
        a.y_stride[d] = y_step;
        x_span += (a.x_dims[d] - 1) * x_step;
        y_span += (a.dims[d] - 1) * y_step;
        x_step *= a.x_dims[d];
        y_step *= a.dims[d];
        total *= a.dims[d];
    }
    struct buffer x = buffer_make((size_t)(x_span * a.size));
    struct buffer want = buffer_make((size_t)(y_span * a.size));
    for (size_t b = 0; b < x.bytes; b++)
        ((char *)x.data)[b] = (char)rng_next(rng);
    fill_canary(&want);
    for (int64_t n = 0; n < total; n++) {
        int64_t rest = n, from = 0, to = 0;
        bool inside = true;
        for (int32_t d = a.rank - 1; d >= 0; d--) {
            const int64_t at = padded_from(a.mode, rest % a.dims[d] - a.before[d], a.x_dims[d]);
            inside = inside && at >= 0;
            from += at * a.x_stride[d];
            to += rest % a.dims[d] * a.y_stride[d];
            rest /= a.dims[d];
        }
        char *y = (char *)want.data + to * a.size;
        if (inside)
            memcpy(y, (char *)x.data + from * a.size, (size_t)a.size);
        else
            memset(y, 0, (size_t)a.size);
    }
    a.x = x.data;
    int failed = 0;
    for (size_t l = 0; l < context->n_levels; l++) {
        struct buffer got = buffer_make(want.bytes);
        fill_canary(&got);
        a.y = got.data;
        running("pad", context->levels[l].name);
        run_jobs(rng, slot_pad(&context->levels[l]), &a, a.dims[0], 0);
        const int64_t at = first_byte_difference(&want, &got);
        if (at >= 0)
            failed += !report(false, "pad", "%s: mode %d rank %d, byte %lld",
                              context->levels[l].name, a.mode, a.rank, (long long)at);
        buffer_free(&got);
    }
    buffer_free(&x);
    buffer_free(&want);
    return failed;
}

void check_element(const struct context *context) {
    static const struct {
        const char *slot, *name;
        int (*run)(const struct context *, struct rng *, int i);
    } slots[] = {
        {"cast", "cast: every pair of dtypes, random boxes", cast_case},
        {"cast", "cast: f32 to bf16 and back, bits of every kind", cast_bf16_case},
        {"cast", "cast: f16 to f32, bits of every kind", cast_f16_case},
        {"compare", "compare: every kind and dtype, random boxes", compare_case},
        {"logical", "logical: every kind, random boxes", logical_case},
        {"where", "where: every dtype, random boxes", where_case},
        {"integer", "integer: every kind and dtype, random boxes", integer_case},
        {"gather", "gather: indices inside and outside", gather_case},
        {"scatter", "scatter: every kind and dtype, indices inside and outside", scatter_case},
        {"pad", "pad: every mode and size, random boxes", pad_case},
    };
    struct rng rng = {context->seed + 7};
    for (size_t s = 0; s < sizeof slots / sizeof *slots; s++) {
        int failed = 0;
        if (!wanted(context, slots[s].slot))
            continue;
        for (int i = 0; i < context->cases; i++)
            failed += slots[s].run(context, &rng, i);
        report(failed == 0, slots[s].name, "%d failed", failed);
    }
}
