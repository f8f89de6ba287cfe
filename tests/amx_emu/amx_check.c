/* SPDX-License-Identifier: Apache-2.0 */
/* See amx_check.h. */
#include "tests/amx_emu/amx_check.h"

#include <math.h>
#include <string.h>

#include "kernels/x86/amx_tile.h"
#include "tests/amx_model.h"

enum { WORDS = IPEX_TILE_ROW_BYTES / 4, ROOM = 2 * IPEX_TILE_ROWS * WORDS };

/* A matrix in memory: rows `stride` words apart, the words between them none of the tile's. */
struct matrix {
    int rows, words, stride;
    uint32_t data[ROOM];
};

static uint32_t random_half(enum amx_values values, struct rng *rng) {
    static const uint16_t specials[] = {0x0000, 0x8000, 0x0001, 0x807f, 0x0080, 0x8080,
                                        0x7f80, 0xff80, 0x7fc0, 0x7f7f, 0x2000, 0x9f80};
    const float value = rng_float(rng);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (values == AMX_SPECIAL && rng_one_in(rng, 4))
        return specials[rng_next(rng) % (sizeof specials / sizeof *specials)];
    if (values == AMX_SPECIAL && rng_one_in(rng, 3))
        return (uint32_t)(rng_next(rng) & 0xffff);
    if (values != AMX_NORMAL && rng_one_in(rng, 3))
        return (bits >> 16 & 0x8000) | (uint32_t)rng_range(rng, 0x1e00, 0x21ff);
    return bits >> 16;
}

uint32_t amx_random_pair(enum amx_values values, struct rng *rng) {
    const uint32_t low = random_half(values, rng);
    return low | random_half(values, rng) << 16;
}

static void make_matrix(struct matrix *m, int rows, int words, struct rng *rng) {
    m->rows = rows;
    m->words = words;
    m->stride = (int)rng_range(rng, words, 2 * WORDS);
}

static void fill_pairs(struct matrix *m, enum amx_values values, struct rng *rng) {
    for (int i = 0; i < ROOM; i++)
        m->data[i] = amx_random_pair(values, rng);
}

static void fill_bytes(struct matrix *m, struct rng *rng) {
    for (int i = 0; i < ROOM; i++)
        m->data[i] = (uint32_t)rng_next(rng);
}

/* f32 have bits that no pair of bf16 has, and a pair's special values are f32's, too. */
static void fill_sums(struct matrix *m, enum amx_values values, struct rng *rng) {
    fill_pairs(m, values, rng);
    for (int i = 0; values != AMX_SPECIAL && i < ROOM; i++) {
        const float value = rng_float(rng);
        memcpy(&m->data[i], &value, sizeof value);
    }
}

static bool same(uint32_t got, uint32_t wanted, bool bf16) {
    float a, b;
    memcpy(&a, &got, sizeof a);
    memcpy(&b, &wanted, sizeof b);
    return got == wanted || (bf16 && isnan(a) && isnan(b));
}

static uint32_t wanted_element(const struct matrix *c, const struct matrix *a,
                               const struct matrix *b, int m, int n, bool bf16) {
    const uint32_t before = c->data[m * c->stride + n];
    uint32_t ret = 0;
    if (!bf16)
        return (uint32_t)amx_model_i8((int32_t)before, a->data + m * a->stride, b->data + n,
                                      b->stride, a->words, false, true);
    float sum;
    memcpy(&sum, &before, sizeof sum);
    sum = amx_model_bf16(sum, a->data + m * a->stride, b->data + n, b->stride, a->words);
    memcpy(&ret, &sum, sizeof ret);
    return ret;
}

static bool is_product(const struct matrix *got, const struct matrix *c, const struct matrix *a,
                       const struct matrix *b, bool bf16) {
    for (int i = 0; i < ROOM; i++) {
        const int m = i / c->stride, n = i % c->stride;
        const bool inside = m < c->rows && n < c->words;
        const uint32_t wanted = inside ? wanted_element(c, a, b, m, n, bf16) : c->data[i];
        if (!same(got->data[i], wanted, bf16 && inside))
            return false;
    }
    return true;
}

static void multiply(struct matrix *c, const struct matrix *a, const struct matrix *b, bool bf16) {
    struct ipex_tile_config config = {.palette = IPEX_TILE_PALETTE};
    const struct matrix *const operands[] = {c, a, b};
    for (int i = 0; i < 3; i++) {
        config.rows[5 + i] = (uint8_t)operands[i]->rows;
        config.row_bytes[5 + i] = (uint16_t)(4 * operands[i]->words);
    }
    ipex_tile_configure(&config);
    IPEX_TILE_LOAD(5, c->data, 4 * c->stride);
    IPEX_TILE_LOAD(6, a->data, 4 * a->stride);
    IPEX_TILE_LOAD_ONCE(7, b->data, 4 * b->stride);
    if (bf16)
        IPEX_TILE_DOT_BF16(5, 6, 7);
    else
        IPEX_TILE_DOT_U8(5, 6, 7);
    IPEX_TILE_STORE(c->data, 4 * c->stride, 5);
    ipex_tile_release();
}

/* c, a and b of shapes that fit. */
static void make_operands(struct matrix operand[3], struct rng *rng) {
    const int m = (int)rng_range(rng, 1, IPEX_TILE_ROWS), n = (int)rng_range(rng, 1, WORDS),
              k = (int)rng_range(rng, 1, WORDS);
    make_matrix(&operand[0], m, n, rng);
    make_matrix(&operand[1], m, k, rng);
    make_matrix(&operand[2], k, n, rng);
}

static bool product_is_right(const struct matrix operand[3], bool bf16) {
    struct matrix got = operand[0];
    multiply(&got, &operand[1], &operand[2], bf16);
    return is_product(&got, &operand[0], &operand[1], &operand[2], bf16);
}

bool amx_check_bf16(enum amx_values values, struct rng *rng) {
    struct matrix operand[3];
    make_operands(operand, rng);
    fill_sums(&operand[0], values, rng);
    fill_pairs(&operand[1], values, rng);
    fill_pairs(&operand[2], values, rng);
    return product_is_right(operand, true);
}

bool amx_check_i8(struct rng *rng) {
    struct matrix operand[3];
    make_operands(operand, rng);
    for (int i = 0; i < 3; i++)
        fill_bytes(&operand[i], rng);
    return product_is_right(operand, false);
}

bool amx_check_order(void) {
    static const struct ipex_tile_config config = {
        .palette = IPEX_TILE_PALETTE, .row_bytes = {64, 64}, .rows = {16, 16}};
    uint8_t pack[IPEX_TILE_BYTES], got[3][IPEX_TILE_BYTES];
    ipex_tile_configure(&config);
    memset(pack, 1, sizeof pack);
    IPEX_TILE_LOAD(0, pack, IPEX_TILE_ROW_BYTES);
    memset(pack, 2, sizeof pack);
    IPEX_TILE_LOAD(1, pack, IPEX_TILE_ROW_BYTES);
    memset(got, 3, sizeof got);
    IPEX_TILE_STORE(got[0], IPEX_TILE_ROW_BYTES, 0);
    IPEX_TILE_STORE(got[1], IPEX_TILE_ROW_BYTES, 1);
    ipex_tile_configure(&config);
    IPEX_TILE_STORE(got[2], IPEX_TILE_ROW_BYTES, 1);
    ipex_tile_release();
    for (int i = 0; i < IPEX_TILE_BYTES; i++)
        if (got[0][i] != 1 || got[1][i] != 2 || got[2][i] != 0)
            return false;
    return true;
}
