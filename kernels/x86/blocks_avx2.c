/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers of 4-bit weights in blocks. For products of bytes rows are rounded first, a
 * register block's side by side in words of four, and a level's blocks multiply them with one panel
 * after the other. For products of floats some panels become floats, with which the level's
 * convolution goes on. */
#include <immintrin.h>

#include <string.h>

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
        *sum = -all;
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
    const int64_t few = IPEX_BLOCKS_ROWS_STEP;
    return left == 1 ? 1 : left <= 2 * few ? few : r->level->rows;
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

/* Residual and activation of a panel's results for some rows, and to y. */
static void store_tile(const struct ipex_blocks_args *args, blocks_activate_fn activate,
                       float *tile, int64_t row, int64_t count, int64_t panel) {
    const int64_t column = panel * IPEX_PANEL;
    const int64_t columns = ipex_smaller(IPEX_PANEL, args->n - column);
    float *const y = args->y + row * args->y_row + column;
    for (int64_t i = 0; i < count; i++, tile += IPEX_PANEL) {
        float part[IPEX_PANEL] = {0};
        if (args->residual) {
            memcpy(part, args->residual + (row + i) * args->r_row + column,
                   (size_t)columns * sizeof *part);
            for (int64_t c = 0; c < IPEX_PANEL; c += 8)
                _mm256_storeu_ps(
                    tile + c, _mm256_add_ps(_mm256_loadu_ps(tile + c), _mm256_loadu_ps(part + c)));
        }
        memcpy(y + i * args->y_row, tile, (size_t)columns * sizeof *tile);
    }
    if (args->act == IPEX_ACT_none)
        return;
    const struct ipex_act_rows rows =
        ipex_act_rows(y, count, columns, args->y_row, args->act, args->act_a, args->act_b);
    activate(&rows);
}

static void multiply_panel(const struct rows *r, int64_t panel) {
    const struct ipex_blocks_args *args = r->args;
    const int64_t factors = panel * r->blocks * IPEX_PANEL;
    struct blocks_product p = {
        .w = args->w + panel * ipex_blocks_panel(args),
        .scale = args->scale + factors,
        .zero = args->zero ? args->zero + factors : NULL,
        .bias = args->bias + panel * IPEX_PANEL,
        .y = r->tile,
        .blocks = (int32_t)r->blocks,
        .steps = args->block / IPEX_BLOCK_STEP,
    };
    p.last_steps = (int32_t)ipex_div_up(args->k - (r->blocks - 1) * args->block, IPEX_BLOCK_STEP);
    for (int64_t row = 0, n; row < r->count; row += n) {
        n = rows_of_block(r, r->count - row);
        p.x = r->x + row * r->words;
        p.x_scale = r->scale + row * r->blocks;
        p.x_sum = r->sum + row * r->blocks;
        r->level->multiply(&p, n);
        store_tile(args, r->level->activate, r->tile, r->first + row,
                   ipex_smaller(n, r->count - row), panel);
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
            for (int64_t panel = job.panel; panel < job.panel_end; panel++)
                multiply_panel(&r, panel);
        }
    }
}

/* ---- register blocks of AVX2: half a panel at a time ---- */

/* So many steps of eight products each fit 16 bits: 8 * 2 * 15 * 127. */
enum { STEPS_16 = 4 };

/* Zero points of half a panel's columns, in words. */
static inline __m256i zeros_of(const uint8_t *zero) {
    return zero ? _mm256_and_si256(
                      _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)zero)),
                      _mm256_set1_epi32(15))
                : _mm256_set1_epi32(8);
}

#define CHAIN(r) __m256 chain##r = bias;
#define SUM(r)                                                                                     \
    __m256i sum##r = _mm256_madd_epi16(zero, _mm256_set1_epi32(x_sum[r])),                         \
            part##r = _mm256_setzero_si256();
#define ADD(r)                                                                                     \
    part##r = _mm256_add_epi16(part##r, _mm256_maddubs_epi16(low, _mm256_set1_epi32(x[r])));
#define ADD_HIGH(r)                                                                                \
    part##r = _mm256_add_epi16(part##r, _mm256_maddubs_epi16(high, _mm256_set1_epi32(x[ROWS + r])));
#define WIDEN(r)                                                                                   \
    sum##r = _mm256_add_epi32(sum##r, _mm256_madd_epi16(part##r, ones));                           \
    part##r = _mm256_setzero_si256();
#define SCALE(r)                                                                                   \
    chain##r = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum##r), scale),                   \
                               _mm256_set1_ps(x_scale[r]), chain##r);
#define KEEP(r) _mm256_storeu_ps(p->y + half + r * IPEX_PANEL, chain##r);

#define BLOCK(R)                                                                                   \
    static void multiply_##R(const struct blocks_product *p, int64_t half) {                       \
        enum { ROWS = R };                                                                         \
        const __m256i nibble = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);                  \
        const __m256 bias = _mm256_loadu_ps(p->bias + half);                                       \
        const uint8_t *w = p->w + half * FOUR;                                                     \
        const float *x_scale = p->x_scale;                                                         \
        const int32_t *x = p->x, *x_sum = p->x_sum;                                                \
        const uint8_t *zeros = p->zero ? p->zero + half : NULL;                                    \
        ROWS_##R(CHAIN) for (int32_t b = 0; b < p->blocks; b++, x_scale += R, x_sum += R) {        \
            const int32_t all = b + 1 < p->blocks ? p->steps : p->last_steps;                      \
            const __m256i zero = zeros_of(zeros);                                                  \
            const __m256 scale = _mm256_loadu_ps(p->scale + b * IPEX_PANEL + half);                \
            ROWS_##R(SUM) for (int32_t left = all; left > 0; left -= STEPS_16) {                   \
                for (int32_t s = left < STEPS_16 ? left : STEPS_16; s > 0; s--) {                  \
                    const __m256i both = _mm256_loadu_si256((const __m256i *)(const void *)w);     \
                    const __m256i low = _mm256_and_si256(both, nibble);                            \
                    const __m256i high = _mm256_and_si256(_mm256_srli_epi32(both, 4), nibble);     \
                    ROWS_##R(ADD) ROWS_##R(ADD_HIGH) x += 2 * R;                                   \
                    w += FOUR * IPEX_PANEL;                                                        \
                }                                                                                  \
                ROWS_##R(WIDEN)                                                                    \
            }                                                                                      \
            ROWS_##R(SCALE) zeros += zeros ? IPEX_PANEL : 0;                                       \
        }                                                                                          \
        ROWS_##R(KEEP)                                                                             \
    }

BLOCK(1)
BLOCK(4)

static void multiply(const struct blocks_product *p, int64_t rows) {
    for (int64_t half = 0; half < IPEX_PANEL; half += HALF)
        (rows == 1 ? multiply_1 : multiply_4)(p, half);
}

void ipex_k_linear_blocks_i8__avx2(const struct ipex_blocks_args *args, int64_t job_begin,
                                   int64_t job_end, void *scratch) {
    static const struct blocks_level level = {4, multiply, ipex_k_activate__avx2};
    ipex_blocks_walk(&level, args, job_begin, job_end, scratch);
}

/* ---- products of floats ---- */

/* Byte i of every word, with its sign. */
#define BYTE_OF(words, i) _mm256_srai_epi32(_mm256_slli_epi32(words, 24 - 8 * ((i) % FOUR)), 24)
#define FLOATS(words, i)                                                                           \
    _mm256_store_ps(to + (i)*IPEX_PANEL,                                                           \
                    _mm256_mul_ps(_mm256_cvtepi32_ps(BYTE_OF(words, i)), scale));

/* Half of a panel's columns. */
static void widen(const struct ipex_blocks_args *args, int64_t panel, int64_t half, float *to) {
    const int64_t factors = panel * ipex_blocks_count(args) * IPEX_PANEL + half;
    const float *scales = args->scale + factors;
    const uint8_t *zeros = args->zero ? args->zero + factors : NULL;
    const uint8_t *w = args->w + panel * ipex_blocks_panel(args) + half * FOUR;
    const __m256i nibble = _mm256_set1_epi8(15), every = _mm256_set1_epi32(0x01010101);
    for (int64_t k = 0; k < args->k; k += args->block, scales += IPEX_PANEL) {
        const int64_t end = ipex_smaller(k + args->block, args->k);
        const __m256 scale = _mm256_loadu_ps(scales);
        const __m256i zero = _mm256_mullo_epi32(zeros_of(zeros), every);
        for (int64_t i = k; i < end; i += IPEX_BLOCK_STEP, w += FOUR * IPEX_PANEL) {
            const __m256i both = _mm256_loadu_si256((const __m256i *)(const void *)w);
            const __m256i low = _mm256_sub_epi8(_mm256_and_si256(both, nibble), zero);
            const __m256i high =
                _mm256_sub_epi8(_mm256_and_si256(_mm256_srli_epi32(both, 4), nibble), zero);
            FLOATS(low, 0)
            FLOATS(low, 1)
            FLOATS(low, 2)
            FLOATS(low, 3)
            FLOATS(high, 4)
            FLOATS(high, 5) FLOATS(high, 6) FLOATS(high, 7) to += IPEX_BLOCK_STEP * IPEX_PANEL;
        }
        zeros += zeros ? IPEX_PANEL : 0;
    }
}

/* A row times two panels, as four halves, whose chains are taken in turns: each alone would wait
 * for its last product. */
#define ROW_HALVES(X) X(0) X(1) X(2) X(3)
#define ROW_BEGIN(h)                                                                               \
    const int64_t panel##h = h < 2 ? panel : second, at##h = h % 2 * HALF;                         \
    const uint8_t *w##h = args->w + panel##h * ipex_blocks_panel(args) + at##h * FOUR;             \
    __m256 chain##h = _mm256_loadu_ps(args->bias + panel##h * IPEX_PANEL + at##h);
#define ROW_FACTORS(h)                                                                             \
    const int64_t factors##h = (panel##h * blocks + b) * IPEX_PANEL + at##h;                       \
    const __m256 scale##h = _mm256_loadu_ps(args->scale + factors##h);                             \
    const __m256i zero##h = _mm256_mullo_epi32(                                                    \
        zeros_of(args->zero ? args->zero + factors##h : NULL), _mm256_set1_epi32(0x01010101));
#define ROW_NUMBERS(h)                                                                             \
    const __m256i both##h = _mm256_loadu_si256((const __m256i *)(const void *)w##h);               \
    const __m256i low##h = _mm256_sub_epi8(_mm256_and_si256(both##h, nibble), zero##h);            \
    const __m256i high##h =                                                                        \
        _mm256_sub_epi8(_mm256_and_si256(_mm256_srli_epi32(both##h, 4), nibble), zero##h);         \
    w##h += FOUR * IPEX_PANEL;
#define ROW_ADD(h, words, i)                                                                       \
    chain##h = _mm256_fmadd_ps(_mm256_set1_ps(x[i]),                                               \
                               _mm256_mul_ps(_mm256_cvtepi32_ps(words), scale##h), chain##h)
/* Or compilers would keep elements of x, on the stack. */
#define READ_AGAIN __asm__ volatile("" ::: "memory")
#define ROW_ADD_2(h, g, part, i)                                                                   \
    ROW_ADD(h, BYTE_OF(part##h, i), i);                                                            \
    ROW_ADD(g, BYTE_OF(part##g, i), i);                                                            \
    READ_AGAIN
#define ROW_STEP_2(h, g)                                                                           \
    {                                                                                              \
        ROW_NUMBERS(h)                                                                             \
        ROW_NUMBERS(g)                                                                             \
        ROW_ADD_2(h, g, low, 0);                                                                   \
        ROW_ADD_2(h, g, low, 1);                                                                   \
        ROW_ADD_2(h, g, low, 2);                                                                   \
        ROW_ADD_2(h, g, low, 3);                                                                   \
        ROW_ADD_2(h, g, high, 4);                                                                  \
        ROW_ADD_2(h, g, high, 5);                                                                  \
        ROW_ADD_2(h, g, high, 6);                                                                  \
        ROW_ADD_2(h, g, high, 7);                                                                  \
    }
#define ROW_REST(h)                                                                                \
    {                                                                                              \
        ROW_NUMBERS(h)                                                                             \
        for (int32_t i = 0; i < rest; i++) {                                                       \
            const __m256i word = _mm256_sll_epi32(i < FOUR ? low##h : high##h,                     \
                                                  _mm_cvtsi32_si128(24 - 8 * (i % FOUR)));         \
            ROW_ADD(h, _mm256_srai_epi32(word, 24), i);                                            \
        }                                                                                          \
    }
#define ROW_KEEP(h) _mm256_storeu_ps(tile + h * HALF, chain##h);

/* second: the panel itself, where there is no other */
static void multiply_row(const struct ipex_blocks_args *args, const float *x, int64_t panel,
                         int64_t second, float *tile) {
    const int64_t blocks = ipex_blocks_count(args);
    const int32_t rest = args->k % IPEX_BLOCK_STEP;
    const __m256i nibble = _mm256_set1_epi8(15);
    ROW_HALVES(ROW_BEGIN)
    for (int64_t b = 0; b < blocks; b++) {
        ROW_HALVES(ROW_FACTORS)
        int64_t left = ipex_smaller(args->block, args->k - b * args->block);
        for (; left >= IPEX_BLOCK_STEP; left -= IPEX_BLOCK_STEP, x += IPEX_BLOCK_STEP) {
            ROW_STEP_2(0, 1);
            ROW_STEP_2(2, 3);
        }
        if (left > 0) {
            ROW_HALVES(ROW_REST)
        }
    }
    ROW_HALVES(ROW_KEEP)
}

/* Rows of a job with panels [panel, end), which lie in `packed`. */
static void multiply_floats(product_conv_fn conv_f32, const struct ipex_blocks_args *args,
                            const struct ipex_blocks_job *job, int64_t panel, int64_t end,
                            const float *packed) {
    const int64_t column = panel * IPEX_PANEL;
    const int64_t columns = ipex_smaller(end * IPEX_PANEL, args->n) - column;
    const int32_t rows = (int32_t)(job->row_end - job->row);
    const struct ipex_conv_args conv = {
        .x = args->x + job->row * args->x_row,
        .w = packed,
        .bias = args->bias + column,
        .residual = args->residual ? args->residual + job->row * args->r_row + column : NULL,
        .y = args->y + job->row * args->y_row + column,
        .x_pixel = args->x_row,
        .y_pixel = args->y_row,
        .r_pixel = args->r_row,
        .images = 1,
        .lines = 1,
        .pixels = rows,
        .last_pixels = rows,
        .groups = 1,
        .segments_h = 1,
        .segments_w = 1,
        .k = args->k,
        .n = (int32_t)columns,
        .lines_per_job = 1,
        .panels_per_job = (int32_t)(end - panel),
        .panels_outside = true,
        .act = args->act,
        .act_a = args->act_a,
        .act_b = args->act_b,
        .cache_l2 = args->cache_l2,
    };
    conv_f32(&conv, 0, 1, NULL);
}

/* Rows from which on panels become floats once for all of them. */
enum { ROWS_WORTH = 4 };

static void multiply_rows(blocks_activate_fn activate, const struct ipex_blocks_args *args,
                          const struct ipex_blocks_job *job) {
    for (int64_t panel = job->panel; panel < job->panel_end; panel += 2)
        for (int64_t row = job->row; row < job->row_end; row++) {
            float tile[2][IPEX_PANEL];
            const int64_t second = ipex_smaller(panel + 1, job->panel_end - 1);
            multiply_row(args, args->x + row * args->x_row, panel, second, tile[0]);
            store_tile(args, activate, tile[0], row, 1, panel);
            if (second > panel)
                store_tile(args, activate, tile[1], row, 1, second);
        }
}

static void multiply_widened(product_conv_fn conv_f32, const struct ipex_blocks_args *args,
                             const struct ipex_blocks_job *job, float *packed) {
    const int64_t panel_floats = ipex_packed_floats(args->k, IPEX_PANEL);
    const int64_t at_once = ipex_blocks_panels_at_once(args);
    for (int64_t panel = job->panel, end; panel < job->panel_end; panel = end) {
        end = ipex_smaller(panel + at_once, job->panel_end);
        for (int64_t i = 0; i < 2 * (end - panel); i++)
            widen(args, panel + i / 2, i % 2 * HALF, packed + i / 2 * panel_floats + i % 2 * HALF);
        multiply_floats(conv_f32, args, job, panel, end, packed);
    }
}

static __attribute__((noinline)) void
float_jobs(product_conv_fn conv_f32, blocks_activate_fn activate,
           const struct ipex_blocks_args *args, int64_t job_begin, int64_t job_end, float *packed) {
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_blocks_job job = ipex_blocks_job(args, j);
        if (job.row_end - job.row < ROWS_WORTH)
            multiply_rows(activate, args, &job);
        else
            multiply_widened(conv_f32, args, &job, packed);
    }
}

#define FLOAT_KERNEL(level)                                                                        \
    void ipex_k_linear_blocks_f32__##level(const struct ipex_blocks_args *args, int64_t job_begin, \
                                           int64_t job_end, void *scratch) {                       \
        product_conv_fn conv_f32 = ipex_k_conv_f32__##level;                                       \
        __asm__("" : "+r"(conv_f32)); /* or there would be a copy of all above for each */         \
        float_jobs(conv_f32, ipex_k_activate__##level, args, job_begin, job_end, scratch);         \
    }
FLOAT_KERNEL(avx2)
FLOAT_KERNEL(avx512)
