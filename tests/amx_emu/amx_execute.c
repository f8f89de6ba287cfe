/* SPDX-License-Identifier: Apache-2.0 */
/* The operation sections of the manual's pages, in its order. */
#include "tests/amx_emu/amx_execute.h"

#include <math.h>
#include <string.h>

enum { WORDS = IPEX_TILE_ROW_BYTES / 4 };

/* ---- shapes ---- */

static bool any_byte(const void *data, size_t size) {
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return true;
    return false;
}

static bool config_is_valid(const struct ipex_tile_config *c) {
    if (c->palette == 0)
        return true;
    if (c->palette != IPEX_TILE_PALETTE || any_byte(c->reserved, sizeof c->reserved) ||
        any_byte(c->row_bytes + IPEX_TILES, sizeof c->row_bytes / 2) ||
        any_byte(c->rows + IPEX_TILES, sizeof c->rows / 2))
        return false;
    for (int t = 0; t < IPEX_TILES; t++)
        if (c->row_bytes[t] > IPEX_TILE_ROW_BYTES || c->rows[t] > IPEX_TILE_ROWS ||
            (c->rows[t] == 0) != (c->row_bytes[t] == 0))
            return false;
    return true;
}

static bool tile_is_usable(const struct amx_tiles *tiles, uint8_t tile) {
    const struct ipex_tile_config *c = &tiles->config;
    return c->palette != 0 && c->rows[tile] != 0 && c->row_bytes[tile] % 4 == 0;
}

static bool product_is_valid(const struct amx_tiles *tiles, const struct amx_instruction *i) {
    const struct ipex_tile_config *c = &tiles->config;
    return tile_is_usable(tiles, i->tile) && tile_is_usable(tiles, i->a) &&
           tile_is_usable(tiles, i->b) && i->tile != i->a && i->tile != i->b && i->a != i->b &&
           c->rows[i->tile] == c->rows[i->a] && c->row_bytes[i->tile] == c->row_bytes[i->b] &&
           c->row_bytes[i->a] / 4 == c->rows[i->b];
}

/* ---- configuration and memory ---- */

static enum amx_fault configure(struct amx_tiles *tiles, const void *address) {
    struct ipex_tile_config config;
    memcpy(&config, address, sizeof config);
    if (!config_is_valid(&config))
        return AMX_PROTECTION;
    memset(tiles, 0, sizeof *tiles);
    if (config.palette != 0)
        tiles->config = config;
    return AMX_DONE;
}

static void zero_from(struct amx_tiles *tiles, uint8_t tile, int row) {
    memset(tiles->row[tile] + row, 0, (size_t)(IPEX_TILE_ROWS - row) * sizeof(union amx_row));
}

static void load(struct amx_tiles *tiles, uint8_t tile, uint64_t address, int64_t stride) {
    const int rows = tiles->config.rows[tile];
    for (int r = tiles->config.start_row; r < rows; r++) {
        const uint64_t from = address + (uint64_t)r * (uint64_t)stride;
        union amx_row row = {{0}};
        memcpy(&row, (const void *)from, tiles->config.row_bytes[tile]);
        tiles->row[tile][r] = row;
    }
    zero_from(tiles, tile, rows);
}

static void store(const struct amx_tiles *tiles, uint8_t tile, uint64_t address, int64_t stride) {
    for (int r = tiles->config.start_row; r < tiles->config.rows[tile]; r++)
        memcpy((void *)(address + (uint64_t)r * (uint64_t)stride), &tiles->row[tile][r],
               tiles->config.row_bytes[tile]);
}

static enum amx_fault transfer(struct amx_tiles *tiles, const struct amx_instruction *i,
                               uint64_t address, int64_t stride) {
    if (!tile_is_usable(tiles, i->tile) || tiles->config.start_row >= tiles->config.rows[i->tile])
        return AMX_UNDEFINED;
    if (i->op == AMX_OP_tilestored)
        store(tiles, i->tile, address, stride);
    else
        load(tiles, i->tile, address, stride);
    tiles->config.start_row = 0;
    return AMX_DONE;
}

/* ---- products ---- */

static float as_float(uint32_t bits) {
    float ret;
    memcpy(&ret, &bits, sizeof ret);
    return ret;
}

/* Row m of c: the chain over the even k and that over the odd, their sum, then the sum with c. */
static void dot_bf16_row(const struct amx_tiles *tiles, const struct amx_instruction *i, int m,
                         union amx_row *c) {
    float even[WORDS] = {0}, odd[WORDS] = {0}, before[WORDS];
    for (int k = 0; k < tiles->config.row_bytes[i->a] / 4; k++) {
        const uint32_t a = tiles->row[i->a][m].words[k];
        const uint32_t *b = tiles->row[i->b][k].words;
        const float a_even = as_float(a << 16), a_odd = as_float(a & UINT32_C(0xffff0000));
        for (int n = 0; n < WORDS; n++) {
            even[n] = fmaf(a_even, as_float(b[n] << 16), even[n]);
            odd[n] = fmaf(a_odd, as_float(b[n] & UINT32_C(0xffff0000)), odd[n]);
        }
    }
    memcpy(before, c, sizeof before);
    for (int n = 0; n < WORDS; n++)
        before[n] += even[n] + odd[n];
    memcpy(c, before, sizeof before);
}

static int32_t byte_at(uint32_t word, int index, bool is_signed) {
    const uint32_t byte = word >> 8 * index & 255;
    return is_signed && byte > 127 ? (int32_t)byte - 256 : (int32_t)byte;
}

static void dot_i8_row(const struct amx_tiles *tiles, const struct amx_instruction *i, int m,
                       union amx_row *c) {
    const bool a_signed = i->op == AMX_OP_tdpbssd || i->op == AMX_OP_tdpbsud;
    const bool b_signed = i->op == AMX_OP_tdpbssd || i->op == AMX_OP_tdpbusd;
    for (int k = 0; k < tiles->config.row_bytes[i->a] / 4; k++)
        for (int n = 0; n < WORDS; n++)
            for (int j = 0; j < 4; j++)
                c->words[n] += (uint32_t)(byte_at(tiles->row[i->a][m].words[k], j, a_signed) *
                                          byte_at(tiles->row[i->b][k].words[n], j, b_signed));
}

/* c is written as a whole: what lies behind its shape becomes 0. */
static enum amx_fault multiply(struct amx_tiles *tiles, const struct amx_instruction *i) {
    if (!product_is_valid(tiles, i))
        return AMX_UNDEFINED;
    const int rows = tiles->config.rows[i->tile];
    const size_t bytes = tiles->config.row_bytes[i->tile];
    for (int m = 0; m < rows; m++) {
        union amx_row *c = &tiles->row[i->tile][m];
        if (i->op == AMX_OP_tdpbf16ps)
            dot_bf16_row(tiles, i, m, c);
        else
            dot_i8_row(tiles, i, m, c);
        memset(c->bytes + bytes, 0, sizeof *c - bytes);
    }
    zero_from(tiles, i->tile, rows);
    tiles->config.start_row = 0;
    return AMX_DONE;
}

/* ---- all ---- */

static enum amx_fault zero(struct amx_tiles *tiles, uint8_t tile) {
    if (!tile_is_usable(tiles, tile))
        return AMX_UNDEFINED;
    zero_from(tiles, tile, 0);
    tiles->config.start_row = 0;
    return AMX_DONE;
}

enum amx_fault amx_execute(struct amx_tiles *tiles, const struct amx_instruction *instruction,
                           uint64_t address, int64_t stride) {
    switch (instruction->op) {
    case AMX_OP_ldtilecfg:
        return configure(tiles, (const void *)address);
    case AMX_OP_sttilecfg:
        memcpy((void *)address, &tiles->config, sizeof tiles->config);
        return AMX_DONE;
    case AMX_OP_tilerelease:
        memset(tiles, 0, sizeof *tiles);
        return AMX_DONE;
    case AMX_OP_tilezero:
        return zero(tiles, instruction->tile);
    case AMX_OP_tileloadd:
    case AMX_OP_tileloaddt1:
    case AMX_OP_tilestored:
        return transfer(tiles, instruction, address, stride);
    default:
        return multiply(tiles, instruction);
    }
}
