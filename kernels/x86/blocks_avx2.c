/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers of weights in blocks. For products of bytes rows are rounded first, a
 * register block's side by side in words of four, and a level's blocks multiply them with one pair
 * of panels after the other. What lies how far apart matters where weights come from memory:
 * multiply_all. For products of floats some panels become floats, with which the
 * level's convolution goes on. */
#include <immintrin.h>

#include <string.h>

#include "kernels/x86/avx_vnni.h"
#include "kernels/x86/blocks.h"
#include "kernels/x86/product.h"
#include "kernels/x86/x86.h"

enum { FOUR = 4, STEP = 16, HALF = IPEX_PANEL / 2 };

/* ---- rows of bytes ---- */

static inline __m256i load_bits(const float *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* n: a multiple of 16, here and below */
static float top_of(const float *x, int64_t n) {
    const __m256i magnitude = _mm256_set1_epi32(INT32_MAX);
    __m256i top = _mm256_setzero_si256();
    for (int64_t i = 0; i < n; i += 8)
        top = _mm256_max_epi32(top, _mm256_and_si256(load_bits(x + i), magnitude));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    return _mm_cvtss_f32(_mm_castsi128_ps(m));
}

static inline __m256i rounded(const float *x, __m256 by) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), by));
}

/* Words of four elements, `step` words apart; returns what is behind them, the sum in *ret. */
static int32_t *round_block(const float *x, int64_t n, float by, int32_t *to, int64_t step,
                            int32_t *ret) {
    const __m256 scale = _mm256_set1_ps(by);
    const __m128i ones = _mm_set1_epi8(1), ones_16 = _mm_set1_epi16(1);
    __m128i sum = _mm_setzero_si128();
    for (int64_t i = 0; i < n; i += STEP, to += FOUR * step) {
        const __m256i words = _mm256_permute4x64_epi64(
            _mm256_packs_epi32(rounded(x + i, scale), rounded(x + i + 8, scale)), 0xd8);
        const __m128i q =
            _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_maddubs_epi16(ones, q), ones_16));
        to[0] = _mm_extract_epi32(q, 0);
        to[step] = _mm_extract_epi32(q, 1);
        to[2 * step] = _mm_extract_epi32(q, 2);
        to[3 * step] = _mm_extract_epi32(q, 3);
    }
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
    *ret = _mm_cvtsi128_si32(sum);
    return to;
}

/* A row, of which those beside it in a register block lie `step` elements apart. */
static void round_row(const struct ipex_blocks_args *args, const float *x, int64_t step,
                      int32_t *to, float *scale, int32_t *sum) {
    const int32_t times = args->zero ? 1 : -blocks_middle(args->bits == 8);
    float last[IPEX_BLOCK_MOST] = {0};
    for (int64_t k = 0; k < args->k; k += args->block, scale += step, sum += step) {
        const float *at = x + k;
        if (k + args->block > args->k) {
            memcpy(last, at, (size_t)(args->k - k) * sizeof *last);
            at = last;
        }
        const float top = top_of(at, args->block);
        int32_t all;
        to = round_block(at, args->block, top == 0.0f ? 0.0f : 127.0f / top, to, step, &all);
        *scale = top / 127.0f;
        *sum = all * times;
    }
}

/* ---- the walk ---- */

/* Rows that are rounded, and their products. */
struct rows {
    const struct ipex_blocks_args *args;
    const struct blocks_level *level;
    int32_t *x, *sum;
    float *scale, *tile;
    int64_t first, count;
    int64_t blocks, words; /* of a row */
};

/* Of a register block, where so many are left. */
static int64_t rows_of_block(const struct rows *r, int64_t left) {
    return left == 1                                                ? 1
           : left <= IPEX_BLOCKS_FEW || left == 2 * IPEX_BLOCKS_FEW ? IPEX_BLOCKS_FEW
                                                                    : r->level->rows;
}

/* Rows that there are not are the last one. */
static void round_rows(const struct rows *r) {
    for (int64_t row = 0, n; row < r->count; row += n) {
        n = rows_of_block(r, r->count - row);
        for (int64_t i = 0; i < n; i++)
            round_row(r->args,
                      r->args->x +
                          (r->first + ipex_smaller(row + i, r->count - 1)) * r->args->x_row,
                      n, r->x + row * r->words + i, r->scale + row * r->blocks + i,
                      r->sum + row * r->blocks + i);
    }
}

enum { TILE = IPEX_BLOCKS_PANELS * IPEX_PANEL };

/* Results of some rows, TILE floats apart, and panels: with their residual and activation to y. */
static void store_tile(const struct ipex_blocks_args *args, blocks_activate_fn activate,
                       const float *tile, int64_t row, int64_t count, int64_t panel,
                       int64_t panels) {
    const int64_t column = panel * IPEX_PANEL;
    const int64_t columns = ipex_smaller(panels * IPEX_PANEL, args->n - column);
    float *const first = args->y + row * args->y_row + column;
    const float *r = args->residual ? args->residual + row * args->r_row + column : NULL;
    float *y = first;
    for (int64_t i = 0; i < count; i++, tile += TILE, y += args->y_row) {
        int64_t c = 0;
        for (; c + 8 <= columns; c += 8) {
            const __m256 all = _mm256_loadu_ps(tile + c);
            _mm256_storeu_ps(y + c, r ? _mm256_add_ps(all, _mm256_loadu_ps(r + c)) : all);
        }
        for (; c < columns; c++)
            y[c] = r ? tile[c] + r[c] : tile[c];
        r = r ? r + args->r_row : NULL;
    }
    if (args->act == IPEX_ACT_none)
        return;
    const struct ipex_act_rows rows =
        ipex_act_rows(first, count, columns, args->y_row, args->act, args->act_a, args->act_b);
    activate(&rows);
}

/* Where results of some rows and two panels go: rows of y may be far from each other. gcc leaves
 * out calls of functions that only prefetch. */
static inline __attribute__((always_inline)) void
prefetch_tile(const struct ipex_blocks_args *args, int64_t row, int64_t count, int64_t panel) {
    const float *y = args->y + row * args->y_row + panel * IPEX_PANEL;
    for (int64_t i = 0; i < count; i++, y += args->y_row)
        _mm_prefetch(y, _MM_HINT_T0);
}

/* Of a panel and, where `second` is another one, that; `ahead` panels before the next product's. */
static struct blocks_product product_of(const struct rows *r, int64_t panel, int64_t second,
                                        int64_t ahead) {
    const struct ipex_blocks_args *args = r->args;
    const int64_t panel_factors = r->blocks * IPEX_PANEL, factors = panel * panel_factors;
    const int64_t w_panel = ipex_blocks_panel(args), next = second - panel;
    return (struct blocks_product){
        .panels = next ? 2 : 1,
        .w_next = next * w_panel,
        .factor_next = next * panel_factors,
        .bias_next = next * IPEX_PANEL,
        .ahead = ahead * w_panel,
        .w = args->w + panel * w_panel,
        .scale = args->scale ? args->scale + factors : NULL,
        .scale_bf16 = args->scale ? NULL : args->scale_bf16 + factors,
        .zero = args->zero ? args->zero + factors : NULL,
        .bias = args->bias + panel * IPEX_PANEL,
        .x = r->x,
        .x_scale = r->scale,
        .x_sum = r->sum,
        .y = r->tile,
        .blocks = (int32_t)r->blocks,
        .steps = args->block / IPEX_BLOCK_STEP,
        .last_steps =
            (int32_t)ipex_div_up(args->k - (r->blocks - 1) * args->block, IPEX_BLOCK_STEP),
        .wide = args->bits == 8,
    };
}

/* A pair of panels, or twice the same one. */
static void multiply_panels(const struct rows *r, int64_t panel, int64_t second, int64_t ahead) {
    const struct ipex_blocks_args *args = r->args;
    struct blocks_product p = product_of(r, panel, second, ahead);
    for (int64_t row = 0, n; row < r->count; row += n) {
        n = rows_of_block(r, r->count - row);
        p.x = r->x + row * r->words;
        p.x_scale = r->scale + row * r->blocks;
        p.x_sum = r->sum + row * r->blocks;
        const int64_t first = r->first + row, count = ipex_smaller(n, r->count - row);
        if (n > 1) {
            prefetch_tile(args, first, count, panel);
            prefetch_tile(args, first, count, second);
        }
        r->level->multiply(&p, n);
        store_tile(args, r->level->activate, r->tile, first, count, panel, 1);
        if (second != panel)
            store_tile(args, r->level->activate, r->tile + IPEX_PANEL, first, count, second, 1);
    }
}

/* Pairs of panels that lie next to each other, or, where steps of both are taken in turns, one of
 * either half: what is read from memory in two places that go on for long comes as fast as from
 * one, from two that are a panel apart at half of that speed. */
static void multiply_all(const struct rows *r, int64_t begin, int64_t end) {
    const int64_t pairs = ipex_div_up(end - begin, IPEX_BLOCKS_PANELS);
    const bool far = r->level->in_turns;
    for (int64_t i = 0; i < pairs; i++) {
        const int64_t panel = begin + i * (far ? 1 : IPEX_BLOCKS_PANELS);
        const int64_t second = panel + (far ? pairs : 1);
        multiply_panels(r, panel, second < end ? second : panel, far ? 1 : IPEX_BLOCKS_PANELS);
    }
}

void ipex_blocks_walk(const struct blocks_level *level, const struct ipex_blocks_args *args,
                      int64_t job_begin, int64_t job_end, void *scratch) {
    const struct ipex_blocks_layout layout = ipex_blocks_layout(args);
    char *at = scratch;
    struct rows r = {
        .args = args,
        .level = level,
        .x = (int32_t *)(void *)at,
        .scale = (float *)(void *)(at + layout.scale),
        .sum = (int32_t *)(void *)(at + layout.sum),
        .tile = (float *)(void *)(at + layout.tile),
        .blocks = ipex_blocks_count(args),
    };
    r.words = r.blocks * args->block / FOUR;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_blocks_job job = ipex_blocks_job(args, j);
        for (r.first = job.row; r.first < job.row_end; r.first += layout.rows_at_once) {
            r.count = ipex_smaller(layout.rows_at_once, job.row_end - r.first);
            round_rows(&r);
            multiply_all(&r, job.panel, job.panel_end);
        }
    }
}

/* ---- register blocks of AVX2 and AVX-VNNI: half a panel at a time ---- */

static inline __m256i load_words(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline __m256i lower_half(__m256i bytes) {
    return _mm256_and_si256(bytes, _mm256_set1_epi8(15));
}

static inline __m256i upper_half(__m256i bytes) {
    return lower_half(_mm256_srli_epi32(bytes, 4));
}

/* Four numbers of each of eight columns, in their words: the first of a step, or the next ones. w:
 * half of a row of tiles; wide ones are in the next row. */
static inline __attribute__((always_inline)) __m256i first_four(const uint8_t *w, bool wide) {
    return wide ? load_words(w) : lower_half(load_words(w));
}

static inline __attribute__((always_inline)) __m256i next_four(const uint8_t *w, bool wide) {
    return wide ? load_words(w + BLOCKS_ROW) : upper_half(load_words(w));
}

/* Both. */
struct numbers {
    __m256i low, high;
};

static inline __attribute__((always_inline)) struct numbers load_numbers(const uint8_t *w,
                                                                         bool wide) {
    return (struct numbers){first_four(w, wide), next_four(w, wide)};
}

/* Scales of half a panel's columns, of which one pointer is NULL. */
static inline __m256 scales_at(const float *scale, const uint16_t *scale_bf16, int64_t at) {
    if (scale)
        return _mm256_loadu_ps(scale + at);
    const __m128i bits = _mm_loadu_si128((const __m128i *)(const void *)(scale_bf16 + at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

/* Zero points of half a panel's columns, in words. */
static inline __m256i zeros_of(const uint8_t *zero, bool wide) {
    return zero ? _mm256_and_si256(
                      _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)zero)),
                      _mm256_set1_epi32(blocks_most(wide)))
                : _mm256_set1_epi32(blocks_middle(wide));
}

/* Of these 16 bits, negative: a sum of q may be as low as -128 * IPEX_BLOCK_MOST, and no higher. */
static inline __m256i zeros_less(const uint8_t *zero, bool wide) {
    return _mm256_and_si256(_mm256_sub_epi32(_mm256_setzero_si256(), zeros_of(zero, wide)),
                            _mm256_set1_epi32(UINT16_MAX));
}

/* So many steps of eight products of 4 bits each fit 16 bits: 8 * 2 * 15 * 127. Of 8 bits the lower
 * and upper halves are multiplied apart, and a step is widened at once. */
enum { STEPS_16 = 4 };

#define PAIRS(a, words, next)                                                                      \
    _mm256_add_epi16(_mm256_maddubs_epi16(a.low, _mm256_set1_epi32(words)),                        \
                     _mm256_maddubs_epi16(a.high, _mm256_set1_epi32(next)))
#define CHAIN(r) __m256 chain##r = bias;
#define SUM(r)   __m256i sum##r = _mm256_set1_epi32(x_sum[r]);
#define PART(r)  __m256i part##r = _mm256_setzero_si256();
#define NO_PART(r)
#define TIMES_ZERO(r) sum##r = _mm256_madd_epi16(zero, sum##r);
#define ADD(r)        part##r = _mm256_add_epi16(part##r, PAIRS(w4, x[r], x[ROWS + r]));
#define ADD_WIDE(r)                                                                                \
    sum##r = _mm256_add_epi32(                                                                     \
        sum##r, _mm256_add_epi32(_mm256_madd_epi16(PAIRS(lower, x[r], x[ROWS + r]), ones),         \
                                 _mm256_madd_epi16(PAIRS(upper, x[r], x[ROWS + r]), sixteens)));
#define WIDEN(r)                                                                                   \
    sum##r = _mm256_add_epi32(sum##r, _mm256_madd_epi16(part##r, ones));                           \
    part##r = _mm256_setzero_si256();
#define SCALE(r)                                                                                   \
    chain##r = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum##r), scale),                   \
                               _mm256_set1_ps(x_scale[r]), chain##r);
#define KEEP(r) _mm256_storeu_ps(p->y + r * TILE + column, chain##r);

/* With AVX-VNNI sums have 32 bits from the start. */
#define DOT(r)                                                                                     \
    DPBUSD_256(sum##r, low, _mm256_set1_epi32(x[r]));                                              \
    DPBUSD_256(sum##r, high, _mm256_set1_epi32(x[ROWS + r]));

#define MULTIPLY_PAIRS(ROWS_R)                                                                     \
    for (int32_t left = p->wide ? all : 0; left > 0; left--) {                                     \
        const struct numbers n = load_numbers(w, true);                                            \
        const struct numbers lower = {lower_half(n.low), lower_half(n.high)};                      \
        const struct numbers upper = {upper_half(n.low), upper_half(n.high)};                      \
        ROWS_R(ADD_WIDE) x += 2 * ROWS;                                                            \
        w += blocks_step(true);                                                                    \
    }                                                                                              \
    for (int32_t left = p->wide ? 0 : all; left > 0; left -= STEPS_16) {                           \
        for (int32_t s = left < STEPS_16 ? left : STEPS_16; s > 0; s--) {                          \
            const struct numbers w4 = load_numbers(w, false);                                      \
            ROWS_R(ADD) x += 2 * ROWS;                                                             \
            w += blocks_step(false);                                                               \
        }                                                                                          \
        ROWS_R(WIDEN)                                                                              \
    }

#define MULTIPLY_FOURS(ROWS_R)                                                                     \
    for (int32_t left = all; left > 0; left--, x += 2 * ROWS, w += step) {                         \
        const __m256i low = _mm256_and_si256(load_words(w), most);                                 \
        const __m256i high =                                                                       \
            _mm256_and_si256(_mm256_srl_epi32(load_words(w + second), shift), most);               \
        ROWS_R(DOT)                                                                                \
    }

#define PAIRS_BEGIN const __m256i ones = _mm256_set1_epi16(1), sixteens = _mm256_set1_epi16(16);
#define FOURS_BEGIN                                                                                \
    const __m256i most = _mm256_set1_epi8((char)blocks_most(p->wide));                             \
    const __m128i shift = _mm_cvtsi32_si128(p->wide ? 0 : 4);                                      \
    const int64_t second = p->wide ? BLOCKS_ROW : 0, step = blocks_step(p->wide);

#define BLOCK(name, R, BEGIN, MULTIPLY, PARTS)                                                     \
    static void name(const struct blocks_product *p, int64_t panel, int64_t half) {                \
        enum { ROWS = R };                                                                         \
        const int64_t column = panel * IPEX_PANEL + half;                                          \
        const int64_t first = panel * p->factor_next + half;                                       \
        BEGIN const __m256 bias = _mm256_loadu_ps(p->bias + panel * p->bias_next + half);          \
        const uint8_t *w = p->w + panel * p->w_next + half * FOUR;                                 \
        const float *x_scale = p->x_scale;                                                         \
        const int32_t *x = p->x, *x_sum = p->x_sum;                                                \
        ROWS_##R(CHAIN) for (int32_t b = 0; b < p->blocks; b++, x_scale += R, x_sum += R) {        \
            const int32_t all = b + 1 < p->blocks ? p->steps : p->last_steps;                      \
            const int64_t factors = first + b * IPEX_PANEL;                                        \
            const __m256 scale = scales_at(p->scale, p->scale_bf16, factors);                      \
            ROWS_##R(SUM) ROWS_##R(PARTS) if (p->zero) {                                           \
                const __m256i zero = zeros_less(p->zero + factors, p->wide);                       \
                ROWS_##R(TIMES_ZERO)                                                               \
            }                                                                                      \
            MULTIPLY(ROWS_##R)                                                                     \
            ROWS_##R(SCALE)                                                                        \
        }                                                                                          \
        ROWS_##R(KEEP)                                                                             \
    }

BLOCK(pairs_1, 1, PAIRS_BEGIN, MULTIPLY_PAIRS, PART)
BLOCK(pairs_4, 4, PAIRS_BEGIN, MULTIPLY_PAIRS, PART)
BLOCK(fours_1, 1, FOURS_BEGIN, MULTIPLY_FOURS, NO_PART)
BLOCK(fours_4, 4, FOURS_BEGIN, MULTIPLY_FOURS, NO_PART)

typedef void (*half_fn)(const struct blocks_product *, int64_t panel, int64_t half);

static void multiply_halves(const struct blocks_product *p, half_fn multiply) {
    for (int64_t panel = 0; panel < p->panels; panel++)
        for (int64_t half = 0; half < IPEX_PANEL; half += HALF)
            multiply(p, panel, half);
}

static void multiply_pairs(const struct blocks_product *p, int64_t rows) {
    multiply_halves(p, rows == 1 ? pairs_1 : pairs_4);
}

static void multiply_fours(const struct blocks_product *p, int64_t rows) {
    multiply_halves(p, rows == 1 ? fours_1 : fours_4);
}

void ipex_k_linear_blocks_i8__avx2(const struct ipex_blocks_args *args, int64_t job_begin,
                                   int64_t job_end, void *scratch) {
    static const struct blocks_level level = {IPEX_BLOCKS_FEW, false, multiply_pairs,
                                              ipex_k_activate__avx2};
    ipex_blocks_walk(&level, args, job_begin, job_end, scratch);
}

void ipex_k_linear_blocks_i8__avx_vnni(const struct ipex_blocks_args *args, int64_t job_begin,
                                       int64_t job_end, void *scratch) {
    static const struct blocks_level level = {IPEX_BLOCKS_FEW, false, multiply_fours,
                                              ipex_k_activate__avx2};
    ipex_blocks_walk(&level, args, job_begin, job_end, scratch);
}

/* ---- products of floats ---- */

/* Byte i of every word. */
#define BYTE_OF(words, i)                                                                          \
    ((i) == 0   ? _mm256_and_si256(words, _mm256_set1_epi32(255))                                  \
     : (i) == 3 ? _mm256_srli_epi32(words, 24)                                                     \
                : _mm256_and_si256(_mm256_srli_epi32(words, 8 * (i)), _mm256_set1_epi32(255)))
#define WEIGHT(bytes, zero, scale)                                                                 \
    _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(bytes, zero)), scale)

/* Where the tiles of a panel's columns from `half` on have a step of K, and where their block's
 * scales and zero points are. */
static const uint8_t *tiles_at(const struct ipex_blocks_args *args, int64_t panel, int64_t half,
                               int64_t k) {
    return args->w + panel * ipex_blocks_panel(args) + half * FOUR +
           k / IPEX_BLOCK_STEP * blocks_step(args->bits == 8);
}

static int64_t factors_at(const struct ipex_blocks_args *args, int64_t panel, int64_t half,
                          int64_t block) {
    return (panel * ipex_blocks_count(args) + block) * IPEX_PANEL + half;
}

static __m256i zeros_at(const struct ipex_blocks_args *args, int64_t at) {
    return zeros_of(args->zero ? args->zero + at : NULL, args->bits == 8);
}

/* Number i of a step, 0 to 7. */
static inline __attribute__((always_inline)) __m256i number_at(const uint8_t *w, bool wide,
                                                               int64_t i) {
    return _mm256_and_si256(_mm256_srl_epi32(i < FOUR ? first_four(w, wide) : next_four(w, wide),
                                             _mm_cvtsi64_si128(8 * (i % FOUR))),
                            _mm256_set1_epi32(255));
}

#define FLOATS(four, i)                                                                            \
    _mm256_store_ps(to + (i)*IPEX_PANEL, WEIGHT(BYTE_OF(four, (i) % FOUR), zero, scale))

static void widen_half(const struct ipex_blocks_args *args, int64_t panel, int64_t half,
                       int64_t begin, int64_t end, float *to) {
    const bool wide = args->bits == 8;
    const uint8_t *w = tiles_at(args, panel, half, begin);
    for (int64_t k = begin, next; k < end; k = next) {
        const int64_t block = ipex_div(k, args->block), at = factors_at(args, panel, half, block);
        const __m256 scale = scales_at(args->scale, args->scale_bf16, at);
        const __m256i zero = zeros_at(args, at);
        next = ipex_smaller((block + 1) * args->block, end);
        for (int64_t i = k; i < next; i += IPEX_BLOCK_STEP) {
            const struct numbers n = load_numbers(w, wide);
            FLOATS(n.low, 0);
            FLOATS(n.low, 1);
            FLOATS(n.low, 2);
            FLOATS(n.low, 3);
            FLOATS(n.high, 4);
            FLOATS(n.high, 5);
            FLOATS(n.high, 6);
            FLOATS(n.high, 7);
            w += blocks_step(wide);
            to += IPEX_BLOCK_STEP * IPEX_PANEL;
        }
    }
}

static void widen(const struct ipex_blocks_args *args, int64_t panel, int64_t begin, int64_t end,
                  float *to) {
    for (int64_t half = 0; half < IPEX_PANEL; half += HALF)
        widen_half(args, panel, half, begin, end, to + half);
}

/* A panel as two halves, whose chains are taken in turns: each alone would wait for its last
 * product. */
#define ROW_ADD(h, words, i)                                                                       \
    chain##h = _mm256_fmadd_ps(_mm256_set1_ps(x[i]), WEIGHT(words, zero##h, scale##h), chain##h)
#define ROW_ADD_2(i)                                                                               \
    ROW_ADD(0, BYTE_OF(four0, (i) % FOUR), i);                                                     \
    ROW_ADD(1, BYTE_OF(four1, (i) % FOUR), i);                                                     \
    READ_AGAIN

static void multiply_row(const struct ipex_blocks_args *args, const float *x, int64_t panel,
                         float *tile) {
    const bool wide = args->bits == 8;
    const int64_t step = blocks_step(wide);
    const uint8_t *w = tiles_at(args, panel, 0, 0);
    __m256 chain0 = _mm256_loadu_ps(args->bias + panel * IPEX_PANEL);
    __m256 chain1 = _mm256_loadu_ps(args->bias + panel * IPEX_PANEL + HALF);
    for (int64_t b = 0, k = 0; k < args->k; b++, k += args->block) {
        const int64_t at = factors_at(args, panel, 0, b);
        const __m256 scale0 = scales_at(args->scale, args->scale_bf16, at);
        const __m256 scale1 = scales_at(args->scale, args->scale_bf16, at + HALF);
        const __m256i zero0 = zeros_at(args, at), zero1 = zeros_at(args, at + HALF);
        int64_t left = ipex_smaller(args->block, args->k - k);
        for (; left >= IPEX_BLOCK_STEP; left -= IPEX_BLOCK_STEP, x += IPEX_BLOCK_STEP, w += step) {
            __m256i four0 = first_four(w, wide), four1 = first_four(w + HALF * FOUR, wide);
            ROW_ADD_2(0);
            ROW_ADD_2(1);
            ROW_ADD_2(2);
            ROW_ADD_2(3);
            four0 = next_four(w, wide);
            four1 = next_four(w + HALF * FOUR, wide);
            ROW_ADD_2(4);
            ROW_ADD_2(5);
            ROW_ADD_2(6);
            ROW_ADD_2(7);
        }
        for (int64_t i = 0; i < left; i++) {
            ROW_ADD(0, number_at(w, wide, i), i);
            ROW_ADD(1, number_at(w + HALF * FOUR, wide, i), i);
        }
    }
    _mm256_storeu_ps(tile, chain0);
    _mm256_storeu_ps(tile + HALF, chain1);
}

static void row_times_panels(const struct ipex_blocks_args *args, const float *x, int64_t panel,
                             int64_t panels, int64_t apart, float *tile) {
    for (int64_t i = 0; i < panels; i++)
        multiply_row(args, x, panel + i * apart, tile + i * IPEX_PANEL);
}

/* Elements [k, end) of K of some rows and the panels in `packed`, to y. */
static void add_part(const struct blocks_float_level *level, const struct ipex_blocks_args *args,
                     int64_t row, int64_t rows, int64_t panel, int64_t panels, int64_t k,
                     int64_t end, float *packed, float *y) {
    const struct product p = {
        .conv = level->conv,
        .x = args->x + row * args->x_row + k,
        .packed = packed,
        .bias = args->bias + panel * IPEX_PANEL,
        .y = y,
        .x_row = args->x_row,
        .y_row = TILE,
        .rows = rows,
        .k = end - k,
        .n = panels * IPEX_PANEL,
        .cache_l2 = args->cache_l2,
        .resume = k > 0,
    };
    ipex_multiply_packed(&p);
}

/* The products of rows that are not worth it, with weights as they are: each by itself, */
static void multiply_each(const struct blocks_float_level *level,
                          const struct ipex_blocks_args *args, const struct ipex_blocks_job *job,
                          float *tile) {
    const int64_t sets = ipex_div_up(job->panel_end - job->panel, BLOCKS_ROW_PANELS);
    const int64_t apart = level->in_turns ? sets : 1;
    for (int64_t set = 0; set < sets; set++) {
        const int64_t panel = job->panel + set * (level->in_turns ? 1 : BLOCKS_ROW_PANELS);
        const int64_t panels =
            ipex_smaller(ipex_div_up(job->panel_end - panel, apart), BLOCKS_ROW_PANELS);
        for (int64_t row = job->row; row < job->row_end; row++) {
            level->multiply_row(args, args->x + row * args->x_row, panel, panels, apart, tile);
            for (int64_t i = 0; i < panels; i++)
                store_tile(args, level->activate, tile + i * IPEX_PANEL, row, 1, panel + i * apart,
                           1);
        }
    }
}

/* ... or some at once. */
static void multiply_some(const struct blocks_float_level *level,
                          const struct ipex_blocks_args *args, const struct ipex_blocks_job *job,
                          float *tile) {
    const int64_t pairs = ipex_div_up(job->panel_end - job->panel, IPEX_BLOCKS_PANELS);
    for (int64_t pair = 0; pair < pairs; pair++) {
        const int64_t panel = job->panel + pair * (level->in_turns ? 1 : IPEX_BLOCKS_PANELS);
        const int64_t second = panel + (level->in_turns ? pairs : 1);
        const bool both = second < job->panel_end;
        for (int64_t row = job->row, count; row < job->row_end; row += count) {
            count = ipex_smaller(level->rows, job->row_end - row);
            level->multiply_rows(args, args->x + row * args->x_row, count, panel,
                                 both ? second - panel : 0, 0, args->k, NULL, tile);
            store_tile(args, level->activate, tile, row, count, panel, 1);
            if (both)
                store_tile(args, level->activate, tile + IPEX_PANEL, row, count, second, 1);
        }
    }
}

/* The products of some rows, no fewer than are worth it, and up to IPEX_BLOCKS_PANELS panels. Where
 * a level can, it makes floats while it multiplies the first rows, which memory need not wait for.
 */
static void multiply_floats(const struct blocks_float_level *level,
                            const struct ipex_blocks_args *args, int64_t row, int64_t rows,
                            int64_t panel, int64_t panels, float *packed) {
    float *const tile = packed + IPEX_BLOCKS_FLOATS;
    const int64_t done = level->multiply_rows ? level->rows : 0;
    for (int64_t k = 0, end; k < args->k; k = end) {
        end = ipex_smaller(k + IPEX_BLOCKS_PART, args->k);
        if (level->multiply_rows)
            level->multiply_rows(args, args->x + row * args->x_row, done, panel, panels - 1, k, end,
                                 packed, tile);
        for (int64_t i = 0; i < panels && !level->multiply_rows; i++)
            level->widen(args, panel + i, k, end,
                         packed + i * ipex_packed_floats(end - k, IPEX_PANEL));
        add_part(level, args, row + done, rows - done, panel, panels, k, end, packed,
                 tile + done * TILE);
    }
    store_tile(args, level->activate, tile, row, rows, panel, panels);
}

void ipex_blocks_floats(const struct blocks_float_level *level, const struct ipex_blocks_args *args,
                        int64_t job_begin, int64_t job_end, float *packed) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_blocks_job all = ipex_blocks_job(args, j);
        struct ipex_blocks_job job = all;
        for (; job.row < all.row_end; job.row = job.row_end) {
            job.row_end = ipex_smaller(job.row + IPEX_BLOCKS_FLOAT_ROWS, all.row_end);
            const int64_t rows = job.row_end - job.row;
            if (rows < level->few)
                multiply_each(level, args, &job, packed);
            else if (rows < level->worth)
                multiply_some(level, args, &job, packed);
            else
                for (int64_t panel = job.panel; panel < job.panel_end; panel += IPEX_BLOCKS_PANELS)
                    multiply_floats(level, args, job.row, rows, panel,
                                    ipex_smaller(IPEX_BLOCKS_PANELS, job.panel_end - panel),
                                    packed);
        }
    }
}

void ipex_k_linear_blocks_f32__avx2(const struct ipex_blocks_args *args, int64_t job_begin,
                                    int64_t job_end, void *scratch) {
    static const struct blocks_float_level level = {
        .few = BLOCKS_FEW_FLOATS,
        .worth = BLOCKS_FEW_FLOATS,
        .conv = ipex_k_conv_f32__avx2,
        .activate = ipex_k_activate__avx2,
        .widen = widen,
        .multiply_row = row_times_panels,
    };
    ipex_blocks_floats(&level, args, job_begin, job_end, scratch);
}
