/* SPDX-License-Identifier: Apache-2.0 */
/* Strided copies and fills. A copy is brought to its simplest form (no dims of 1, neighbours merged
 * where both sides allow it); then dense rows are copied, two dims whose dense sides differ are
 * transposed in 8 x 8 blocks of registers (elements of 4 bytes and of one; NCHW to NHWC and
 * back; of bytes two or three that become one, too), and the rest goes element by element. */
#include <string.h>

#include "kernels/x86/transpose_8x8.h"
#include "kernels/x86/vec_avx2.h"

enum { MAX_DIMS = 8, BLOCK = 8, SET_STRIDE = 256 /* floats */ };

/* A copy with the jobs of this call as its first dim. Strides in elements. */
struct copy {
    const char *x;
    char *y;
    int32_t rank, size;
    int64_t dims[MAX_DIMS], x_stride[MAX_DIMS], y_stride[MAX_DIMS];
    bool empty;
};

static __attribute__((noinline)) void append(struct copy *copy, int64_t dim, int64_t x_stride,
                                             int64_t y_stride) {
    const int32_t last = copy->rank - 1;
    copy->empty |= dim == 0;
    if (dim == 1)
        return;
    if (copy->rank > 0 && copy->x_stride[last] == dim * x_stride &&
        copy->y_stride[last] == dim * y_stride) {
        copy->dims[last] *= dim;
        copy->x_stride[last] = x_stride;
        copy->y_stride[last] = y_stride;
        return;
    }
    copy->dims[copy->rank] = dim;
    copy->x_stride[copy->rank] = x_stride;
    copy->y_stride[copy->rank++] = y_stride;
}

static __attribute__((noinline)) struct copy simplify(const struct ipex_move_args *args,
                                                      int64_t begin, int64_t end) {
    struct copy ret = {
        .x = (const char *)args->x + begin * args->x_stride[0] * args->size,
        .y = (char *)args->y + begin * args->y_stride[0] * args->size,
        .size = args->size,
    };
    append(&ret, end - begin, args->x_stride[0], args->y_stride[0]);
    for (int32_t i = 1; i < args->rank; i++)
        append(&ret, args->dims[i], args->x_stride[i], args->y_stride[i]);
    return ret;
}

/* Takes dim i out of the copy and puts it last. */
static __attribute__((noinline)) void move_last(struct copy *copy, int32_t i) {
    const int64_t dim = copy->dims[i], x = copy->x_stride[i], y = copy->y_stride[i];
    for (; i + 1 < copy->rank; i++) {
        copy->dims[i] = copy->dims[i + 1];
        copy->x_stride[i] = copy->x_stride[i + 1];
        copy->y_stride[i] = copy->y_stride[i + 1];
    }
    copy->dims[i] = dim;
    copy->x_stride[i] = x;
    copy->y_stride[i] = y;
}

static int32_t find_dense(const int64_t *stride, int32_t rank) {
    for (int32_t i = rank - 1; i >= 0; i--)
        if (stride[i] == 1)
            return i;
    return -1;
}

/* Columns from `from` on, and all columns of rows from `whole` on. */
static __attribute__((noinline)) void transpose_edges(const float *x, int64_t x_stride, float *y,
                                                      int64_t y_stride, int64_t rows,
                                                      int64_t columns, int64_t whole,
                                                      int64_t from) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = r < whole ? from : 0; c < columns; c++)
            y[c * y_stride + r] = x[r * x_stride + c];
}

/* y[c][r] = x[r][c] of 2 rows and 8 columns. */
static void weave_2x8(const float *x, int64_t x_stride, float *y) {
    const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(x + x_stride);
    const __m256 low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
    _mm256_storeu_ps(y, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(y + 8, _mm256_permute2f128_ps(low, high, 0x31));
}

/* Lanes 0 3 6 of a, 1 4 7 of b and 2 5 of c. */
static __m256 take_turns(__m256 a, __m256 b, __m256 c) {
    return _mm256_blend_ps(_mm256_blend_ps(a, b, 0x92), c, 0x24);
}

/* The same of 3 rows. Lane i of a's, b's and c's permutation is of the third of y that i is in. */
static void weave_3x8(const float *x, int64_t x_stride, float *y) {
    const __m256 a =
        _mm256_permutevar8x32_ps(_mm256_loadu_ps(x), _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
    const __m256 b = _mm256_permutevar8x32_ps(_mm256_loadu_ps(x + x_stride),
                                              _mm256_setr_epi32(5, 0, 3, 6, 1, 4, 7, 2));
    const __m256 c = _mm256_permutevar8x32_ps(_mm256_loadu_ps(x + 2 * x_stride),
                                              _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
    _mm256_storeu_ps(y, take_turns(a, b, c));
    _mm256_storeu_ps(y + 8, take_turns(c, a, b));
    _mm256_storeu_ps(y + 16, take_turns(b, c, a));
}

/* y[c][r] = x[r][c] of 8 rows and 3 columns, the other way. */
static void unweave_8x3(const float *x, float *y, int64_t y_stride) {
    const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(x + 8), c = _mm256_loadu_ps(x + 16);
    _mm256_storeu_ps(y, _mm256_permutevar8x32_ps(take_turns(a, b, c),
                                                 _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5)));
    _mm256_storeu_ps(
        y + y_stride,
        _mm256_permutevar8x32_ps(take_turns(c, a, b), _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6)));
    _mm256_storeu_ps(
        y + 2 * y_stride,
        _mm256_permutevar8x32_ps(take_turns(b, c, a), _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7)));
}

/* y[c][r] = x[r][c] of 4 rows and 8 columns, anywhere. */
static void transpose_4x8(const float *x, int64_t x_stride, float *y, int64_t y_stride) {
    __m256 v[4] = {_mm256_loadu_ps(x), _mm256_loadu_ps(x + x_stride),
                   _mm256_loadu_ps(x + 2 * x_stride), _mm256_loadu_ps(x + 3 * x_stride)};
    transpose_halves(v);
    for (int i = 0; i < 4; i++) {
        _mm_storeu_ps(y + i * y_stride, _mm256_castps256_ps128(v[i]));
        _mm_storeu_ps(y + (i + 4) * y_stride, _mm256_extractf128_ps(v[i], 1));
    }
}

/* The same of 8 rows and 4 columns, anywhere. */
static void transpose_8x4(const float *x, int64_t x_stride, float *y, int64_t y_stride) {
    __m256 v[4];
    for (int i = 0; i < 4; i++)
        v[i] = load_halves(x + i * x_stride, x + (i + 4) * x_stride);
    transpose_halves(v);
    store_rows(v, y, y_stride);
}

/* y[c][r] = x[r][c] of 8 columns and rows that are a multiple of 4. Once, not in both its callers.
 */
static __attribute__((noinline)) void
transpose_8_columns(const float *x, int64_t x_stride, float *y, int64_t y_stride, int64_t rows) {
    int64_t r = 0;
    for (; r + BLOCK <= rows; r += BLOCK)
        transpose_8x8(x + r * x_stride, x_stride, y + r, y_stride);
    if (r < rows)
        transpose_4x8(x + r * x_stride, x_stride, y + r, y_stride);
}

/* The same of 16 columns, so that a cache line of x is read at once, and one of y written soon. */
static void transpose_16_columns(const float *x, int64_t x_stride, float *y, int64_t y_stride,
                                 int64_t rows) {
    int64_t r = 0;
    for (; r + 2 * BLOCK <= rows; r += 2 * BLOCK)
        for (int64_t i = 0; i < 4; i++) {
            const int64_t row = r + i / 2 * BLOCK, column = i % 2 * BLOCK;
            transpose_8x8(x + row * x_stride + column, x_stride, y + column * y_stride + row,
                          y_stride);
        }
    for (int64_t column = 0; column < 2 * BLOCK && r < rows; column += BLOCK)
        transpose_8_columns(x + r * x_stride + column, x_stride, y + column * y_stride + r,
                            y_stride, rows - r);
}

/* The same of 4 columns. */
static void transpose_4_columns(const float *x, int64_t x_stride, float *y, int64_t y_stride,
                                int64_t rows) {
    int64_t r = 0;
    for (; r + BLOCK <= rows; r += BLOCK)
        transpose_8x4(x + r * x_stride, x_stride, y + r, y_stride);
    transpose_edges(x + r * x_stride, x_stride, y + r, y_stride, rows - r, BLOCK / 2, 0, 0);
}

/* The colours of a picture, apart. */
static void unweave(const float *x, float *y, int64_t y_stride, int64_t rows) {
    int64_t r = 0;
    for (; r + BLOCK <= rows; r += BLOCK)
        unweave_8x3(x + 3 * r, y + r, y_stride);
    transpose_edges(x + 3 * r, 3, y + r, y_stride, rows - r, 3, 0, 0);
}

/* y[c][r] = x[r][c]; blocks go down the columns of x so that y is written in runs. Two or three
 * rows that become one, as shuffled channels and the colours of a picture do, are a block. */
static void transpose(const float *x, int64_t x_stride, float *y, int64_t y_stride, int64_t rows,
                      int64_t columns) {
    const bool weaves = (rows == 2 || rows == 3) && y_stride == rows;
    if (columns == 3 && x_stride == 3) {
        unweave(x, y, y_stride, rows);
        return;
    }
    /* Where rows of x fall into few sets of a cache, lines are gone when their second half is
     * wanted (64 by 64 pixels of 64 channels: 0.45 of the time; others 1.15). */
    const bool shares_sets =
        x_stride % SET_STRIDE == 0 && (y_stride % SET_STRIDE != 0 || y_stride <= x_stride);
    const int64_t whole_rows = weaves ? rows : rows / (BLOCK / 2) * (BLOCK / 2);
    int64_t c = 0;
    for (; shares_sets && !weaves && c + 2 * BLOCK <= columns; c += 2 * BLOCK)
        transpose_16_columns(x + c, x_stride, y + c * y_stride, y_stride, whole_rows);
    for (; c + BLOCK <= columns; c += BLOCK)
        if (weaves && rows == 2)
            weave_2x8(x + c, x_stride, y + 2 * c);
        else if (weaves)
            weave_3x8(x + c, x_stride, y + 3 * c);
        else
            transpose_8_columns(x + c, x_stride, y + c * y_stride, y_stride, whole_rows);
    if (!weaves && c + BLOCK / 2 <= columns) {
        transpose_4_columns(x + c, x_stride, y + c * y_stride, y_stride, whole_rows);
        c += BLOCK / 2;
    }
    transpose_edges(x, x_stride, y, y_stride, rows, columns, whole_rows, c);
}

/* Of bytes 16 part to 16 part + 15 of pixels of three bytes, those that are `row`'s: which ones. */
#define TURN(part, row, i)                                                                         \
    ((16 * (part) + (i)) % 3 == (row) ? (char)((16 * (part) + (i)) / 3) : (char)-1)
#define TURN_4(part, row, i)                                                                       \
    TURN(part, row, i), TURN(part, row, i + 1), TURN(part, row, i + 2), TURN(part, row, i + 3)
#define TURN_16(part, row)                                                                         \
    _mm_setr_epi8(TURN_4(part, row, 0), TURN_4(part, row, 4), TURN_4(part, row, 8),                \
                  TURN_4(part, row, 12))
#define WEAVE(part)                                                                                \
    _mm_storeu_si128((__m128i *)(void *)(y + 16 * (part)),                                         \
                     _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(r0, TURN_16(part, 0)),             \
                                               _mm_shuffle_epi8(r1, TURN_16(part, 1))),            \
                                  _mm_shuffle_epi8(r2, TURN_16(part, 2))))

/* The colours of a picture of bytes: y[3 i + r] = x[r][i]. */
static void weave_bytes(const char *x, int64_t x_stride, char *y, int64_t n) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16, x += 16, y += 48) {
        const __m128i r0 = _mm_loadu_si128((const __m128i *)(const void *)x);
        const __m128i r1 = _mm_loadu_si128((const __m128i *)(const void *)(x + x_stride));
        const __m128i r2 = _mm_loadu_si128((const __m128i *)(const void *)(x + 2 * x_stride));
        WEAVE(0);
        WEAVE(1);
        WEAVE(2);
    }
    for (; i < n; i++, x++)
        for (int r = 0; r < 3; r++)
            *y++ = x[r * x_stride];
}

/* Two rows of bytes that become one, as shuffled channels do: y[2 i + r] = x[r][i], of 8 columns or
 * more, of which the last ones overlap those before. */
static void weave_two(const char *x, int64_t x_stride, char *y, int64_t n) {
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t at = ipex_smaller(i, n - BLOCK);
        const __m128i r0 = _mm_loadl_epi64((const __m128i *)(const void *)(x + at));
        const __m128i r1 = _mm_loadl_epi64((const __m128i *)(const void *)(x + x_stride + at));
        _mm_storeu_si128((__m128i *)(void *)(y + 2 * at), _mm_unpacklo_epi8(r0, r1));
    }
}

/* y[c][r] = x[r][c] of 8 rows and columns of bytes. */
static void transpose_8x8_bytes(const char *x, int64_t x_stride, char *y, int64_t y_stride) {
    __m128i v[4], pairs[4];
    for (int i = 0; i < 4; i++, x += 2 * x_stride)
        pairs[i] =
            _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(const void *)x),
                              _mm_loadl_epi64((const __m128i *)(const void *)(x + x_stride)));
    for (int i = 0; i < 2; i++) { /* columns 0 to 3, 4 to 7; of rows 0 to 3, 4 to 7 */
        v[i] = _mm_unpacklo_epi16(pairs[2 * i], pairs[2 * i + 1]);
        v[i + 2] = _mm_unpackhi_epi16(pairs[2 * i], pairs[2 * i + 1]);
    }
    for (int i = 0; i < 4; i += 2, y += 4 * y_stride) {
        const __m128d low = _mm_castsi128_pd(_mm_unpacklo_epi32(v[i], v[i + 1]));
        const __m128d high = _mm_castsi128_pd(_mm_unpackhi_epi32(v[i], v[i + 1]));
        _mm_storel_pd((double *)(void *)y, low);
        _mm_storeh_pd((double *)(void *)(y + y_stride), low);
        _mm_storel_pd((double *)(void *)(y + 2 * y_stride), high);
        _mm_storeh_pd((double *)(void *)(y + 3 * y_stride), high);
    }
}

/* The same of any number of both from 8 on: the last blocks overlap those before. */
static void transpose_bytes(const char *x, int64_t x_stride, char *y, int64_t y_stride,
                            int64_t rows, int64_t columns) {
    for (int64_t c = 0; c < columns; c += BLOCK)
        for (int64_t r = 0; r < rows; r += BLOCK) {
            const int64_t row = ipex_smaller(r, rows - BLOCK),
                          column = ipex_smaller(c, columns - BLOCK);
            transpose_8x8_bytes(x + row * x_stride + column, x_stride, y + column * y_stride + row,
                                y_stride);
        }
}

/* Every second element of 4 bytes. What lies behind the last one is not read. */
static void copy_seconds(const char *x, char *y, int64_t n) {
    int64_t i = 0;
    for (; i + BLOCK < n; i += BLOCK, x += 8 * BLOCK, y += 4 * BLOCK) {
        const float *from = (const float *)(const void *)x;
        const __m256d both = _mm256_castps_pd(
            _mm256_shuffle_ps(_mm256_loadu_ps(from), _mm256_loadu_ps(from + BLOCK), 0x88));
        _mm256_storeu_pd((double *)(void *)y, _mm256_permute4x64_pd(both, 0xd8));
    }
    for (; i < n; i++, x += 8, y += 4) {
        AS_WRITTEN;
        memcpy(y, x, 4);
    }
}

/* As many runs of `bytes` as dim `dim` has, which lie apart. */
static void copy_runs(const struct copy *c, int32_t dim, const char *x, char *y, int64_t bytes) {
    const int64_t x_step = c->x_stride[dim] * c->size, y_step = c->y_stride[dim] * c->size;
    const int64_t n = c->dims[dim];
    switch (bytes) {
#define RUNS(length)                                                                               \
    for (int64_t i = 0; i < n; i++)                                                                \
        memcpy(y + i * y_step, x + i * x_step, (size_t)(length));                                  \
    break;
    case 1:
        RUNS(1)
    case 2:
        RUNS(2)
    case 4:
        if (x_step == 8 && y_step == 4) {
            copy_seconds(x, y, n);
            break;
        }
        RUNS(4)
    case 8:
        RUNS(8)
    case 12:
        RUNS(12)
    case 16:
        RUNS(16)
    case 24:
        RUNS(24)
    case 32:
        RUNS(32)
    default:
        RUNS(bytes)
#undef RUNS
    }
}

enum inner { ROWS, ELEMENTS, TRANSPOSE, COLOURS, PAIRS, BYTES };

/* The last dim of BLOCK elements or more, or the longest: to go along it element by element. */
static int32_t find_long(const struct copy *copy) {
    int32_t ret = copy->rank - 1;
    for (int32_t i = ret - 1; i >= 0 && copy->dims[ret] < BLOCK; i--)
        if (copy->dims[i] > copy->dims[ret])
            ret = i;
    return ret;
}

/* Brings the dims that the inner loops take to the end: a dense one, or two that are dense on one
 * side each and hold more than single elements of a block. */
static __attribute__((noinline)) enum inner choose_inner(struct copy *copy) {
    const int32_t dense_y = find_dense(copy->y_stride, copy->rank);
    const int32_t dense_x = find_dense(copy->x_stride, copy->rank);
    if (dense_y >= 0 && copy->x_stride[dense_y] == 1) {
        move_last(copy, dense_y);
        return ROWS;
    }
    const bool turned = dense_x >= 0 && dense_y >= 0, turned_bytes = turned && copy->size == 1;
    const bool colours = turned_bytes && copy->dims[dense_y] == 3 && copy->y_stride[dense_x] == 3;
    const bool pairs = turned_bytes && copy->dims[dense_y] == 2 && copy->y_stride[dense_x] == 2 &&
                       copy->dims[dense_x] >= BLOCK;
    const bool bytes = turned_bytes && copy->dims[dense_x] >= BLOCK && copy->dims[dense_y] >= BLOCK;
    if (!turned || (copy->size != 4 && !colours && !pairs && !bytes) ||
        (copy->dims[dense_x] < BLOCK / 2 && copy->dims[dense_y] < BLOCK / 2)) {
        move_last(copy, find_long(copy));
        return ELEMENTS;
    }
    move_last(copy, dense_x);
    move_last(copy, find_dense(copy->y_stride, copy->rank));
    return colours ? COLOURS : pairs ? PAIRS : bytes ? BYTES : TRANSPOSE;
}

/* Dims of the inner loops. */
static int32_t inner_dims(const struct copy *c, enum inner inner) {
    return inner == ELEMENTS || c->rank == 1 ? 1 : 2;
}

static void copy_inner(const struct copy *c, enum inner inner, const char *x, char *y) {
    const int32_t last = c->rank - 1;
    if (inner == ROWS && last == 0)
        memcpy(y, x, (size_t)(c->dims[last] * c->size));
    else if (inner == ROWS)
        copy_runs(c, last - 1, x, y, c->dims[last] * c->size);
    else if (inner == ELEMENTS)
        copy_runs(c, last, x, y, c->size);
    else if (inner == COLOURS)
        weave_bytes(x, c->x_stride[last], y, c->dims[last - 1]);
    else if (inner == PAIRS)
        weave_two(x, c->x_stride[last], y, c->dims[last - 1]);
    else if (inner == BYTES)
        transpose_bytes(x, c->x_stride[last], y, c->y_stride[last - 1], c->dims[last],
                        c->dims[last - 1]);
    else
        transpose((const float *)(const void *)x, c->x_stride[last], (float *)(void *)y,
                  c->y_stride[last - 1], c->dims[last], c->dims[last - 1]);
}

/* Where a walk over the first dims is. */
struct position {
    int64_t index[MAX_DIMS];
    const char *x;
    char *y;
};

/* The next index of the first `lead` dims, the last of them fastest; false behind the last. No dim
 * is empty. */
static bool next_position(const struct copy *c, int32_t lead, struct position *at) {
    for (int32_t i = lead - 1; i >= 0; i--) {
        at->x += c->x_stride[i] * c->size;
        at->y += c->y_stride[i] * c->size;
        if (++at->index[i] < c->dims[i])
            return true;
        at->x -= c->dims[i] * c->x_stride[i] * c->size;
        at->y -= c->dims[i] * c->y_stride[i] * c->size;
        at->index[i] = 0;
    }
    return false;
}

void ipex_k_move__avx2(const struct ipex_move_args *args, int64_t job_begin, int64_t job_end,
                       void *scratch) {
    (void)scratch;
    struct copy c = simplify(args, job_begin, job_end);
    if (c.empty)
        return;
    if (c.rank == 0) { /* one element */
        memcpy(c.y, c.x, (size_t)c.size);
        return;
    }
    const enum inner inner = choose_inner(&c);
    struct position at = {.x = c.x, .y = c.y};
    do
        copy_inner(&c, inner, at.x, at.y);
    while (next_position(&c, c.rank - inner_dims(&c, inner), &at));
}

/* ---- fill ---- */

/* The box with the jobs of this call as its first dim, as a copy onto itself. */
static struct copy simplify_box(const struct ipex_fill_args *args, int64_t begin, int64_t end) {
    const int32_t size = args->size;
    struct copy ret = {.y = (char *)args->y + begin * args->y_stride[0] * size, .size = size};
    append(&ret, end - begin, args->y_stride[0], args->y_stride[0]);
    for (int32_t i = 1; i < args->rank; i++)
        append(&ret, args->dims[i], args->y_stride[i], args->y_stride[i]);
    ret.x = ret.y;
    return ret;
}

static __attribute__((noinline)) void fill_row(const struct copy *c, char *to, uint32_t pattern) {
    const int32_t last = c->rank - 1;
    const int64_t n = c->rank > 0 ? c->dims[last] : 1;
    const int64_t step = c->rank > 0 ? c->y_stride[last] : 1;
    uint16_t *halves = (uint16_t *)(void *)to;
    uint32_t *y = (uint32_t *)(void *)to;
    int64_t i = 0;
    if (c->size < 4) { /* short borders: compilers vectorise them well enough */
        for (; c->size == 2 && i < n; i++)
            halves[i * step] = (uint16_t)pattern;
        for (; i < n; i++)
            to[i * step] = (char)pattern;
        return;
    }
    const __m256i wide = _mm256_set1_epi32((int32_t)pattern);
    for (; step == 1 && i + 8 <= n; i += 8)
        _mm256_storeu_si256((__m256i *)(void *)(y + i), wide);
    for (; i < n; i++)
        y[i * step] = pattern;
}

void ipex_k_fill__avx2(const struct ipex_fill_args *args, int64_t job_begin, int64_t job_end,
                       void *scratch) {
    (void)scratch;
    const struct copy box = simplify_box(args, job_begin, job_end);
    if (box.empty)
        return;
    struct position at = {.x = box.x, .y = box.y};
    do
        fill_row(&box, at.y, args->pattern);
    while (next_position(&box, box.rank - 1, &at));
}
