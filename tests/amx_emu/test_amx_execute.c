/* SPDX-License-Identifier: Apache-2.0 */
/* The emulator without traps: every form of an instruction as the assembler writes it, the forms
 * that CPUs refuse, the conditions of #UD and #GP, and products against tests/amx_model.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xmmintrin.h>

#include "tests/amx_emu/amx_check.h"
#include "tests/amx_emu/amx_execute.h"
#include "tests/amx_model.h"
#include "tests/tools/tool_test.h"

enum { SLOT = 16, HALT = 0xf4, NONE = AMX_NO_REGISTER };

/* ---- decoding ---- */

/* X(instruction, op, tile, a, b, base, index, scale, displacement) */
#define FORMS(X)                                                                                   \
    X("tilerelease", tilerelease, 0, 0, 0, 0, 0, 0, 0)                                             \
    X("tilezero %tmm0", tilezero, 0, 0, 0, 0, 0, 0, 0)                                             \
    X("tilezero %tmm7", tilezero, 7, 0, 0, 0, 0, 0, 0)                                             \
    X("ldtilecfg (%rax)", ldtilecfg, 0, 0, 0, 0, NONE, 0, 0)                                       \
    X("ldtilecfg (%rsp)", ldtilecfg, 0, 0, 0, 4, NONE, 0, 0)                                       \
    X("ldtilecfg (%r12)", ldtilecfg, 0, 0, 0, 12, NONE, 0, 0)                                      \
    X("ldtilecfg (%rbp)", ldtilecfg, 0, 0, 0, 5, NONE, 0, 0)                                       \
    X("ldtilecfg (%r13)", ldtilecfg, 0, 0, 0, 13, NONE, 0, 0)                                      \
    X("ldtilecfg -64(%rbp)", ldtilecfg, 0, 0, 0, 5, NONE, 0, -64)                                  \
    X("ldtilecfg 0x1234(%r9)", ldtilecfg, 0, 0, 0, 9, NONE, 0, 0x1234)                             \
    X("ldtilecfg 0x1234(%rip)", ldtilecfg, 0, 0, 0, AMX_RIP, NONE, 0, 0x1234)                      \
    X("ldtilecfg -8(%rcx,%rdi,8)", ldtilecfg, 0, 0, 0, 1, 7, 3, -8)                                \
    X("ldtilecfg 0x7654321", ldtilecfg, 0, 0, 0, NONE, NONE, 0, 0x7654321)                         \
    X("ldtilecfg (%edx)", ldtilecfg, 0, 0, 0, 2, NONE, 0, 0)                                       \
    X("sttilecfg (%rbx)", sttilecfg, 0, 0, 0, 3, NONE, 0, 0)                                       \
    X("sttilecfg 64(%r14,%r15,2)", sttilecfg, 0, 0, 0, 14, 15, 1, 64)                              \
    X("tileloadd (%rax,%rbx,1), %tmm0", tileloadd, 0, 0, 0, 0, 3, 0, 0)                            \
    X("tileloadd (%rsi), %tmm1", tileloadd, 1, 0, 0, 6, NONE, 0, 0)                                \
    X("tileloadd (%rbp,%rcx,2), %tmm2", tileloadd, 2, 0, 0, 5, 1, 1, 0)                            \
    X("tileloadd (%r13,%r12,4), %tmm3", tileloadd, 3, 0, 0, 13, 12, 2, 0)                          \
    X("tileloadd 127(%rsp,%rbp,8), %tmm4", tileloadd, 4, 0, 0, 4, 5, 3, 127)                       \
    X("tileloadd -128(%r8,%r15,1), %tmm5", tileloadd, 5, 0, 0, 8, 15, 0, -128)                     \
    X("tileloadd 0x12345678(%r10,%r11,1), %tmm6", tileloadd, 6, 0, 0, 10, 11, 0, 0x12345678)       \
    X("tileloadd -0x12345678(,%rdx,4), %tmm7", tileloadd, 7, 0, 0, NONE, 2, 2, -0x12345678)        \
    X("tileloaddt1 (%rdi,%r9,1), %tmm7", tileloaddt1, 7, 0, 0, 7, 9, 0, 0)                         \
    X("tileloaddt1 32(%r12,%r14,8), %tmm0", tileloaddt1, 0, 0, 0, 12, 14, 3, 32)                   \
    X("tilestored %tmm4, (%rcx,%rax,1)", tilestored, 4, 0, 0, 1, 0, 0, 0)                          \
    X("tilestored %tmm5, 0x400(%r15,%r8,2)", tilestored, 5, 0, 0, 15, 8, 1, 0x400)                 \
    X("tilestored %tmm6, (%ebx,%esi,1)", tilestored, 6, 0, 0, 3, 6, 0, 0)                          \
    X("tdpbf16ps %tmm3, %tmm2, %tmm1", tdpbf16ps, 1, 2, 3, 0, 0, 0, 0)                             \
    X("tdpbf16ps %tmm0, %tmm7, %tmm4", tdpbf16ps, 4, 7, 0, 0, 0, 0, 0)                             \
    X("tdpbf16ps %tmm7, %tmm0, %tmm5", tdpbf16ps, 5, 0, 7, 0, 0, 0, 0)                             \
    X("tdpbssd %tmm6, %tmm5, %tmm7", tdpbssd, 7, 5, 6, 0, 0, 0, 0)                                 \
    X("tdpbsud %tmm1, %tmm2, %tmm0", tdpbsud, 0, 2, 1, 0, 0, 0, 0)                                 \
    X("tdpbusd %tmm4, %tmm3, %tmm2", tdpbusd, 2, 3, 4, 0, 0, 0, 0)                                 \
    X("tdpbuud %tmm5, %tmm4, %tmm3", tdpbuud, 3, 4, 5, 0, 0, 0, 0)

struct form {
    const char *text;
    enum amx_op op;
    uint8_t tile, a, b;
    int8_t base, index;
    uint8_t scale;
    int64_t displacement;
};
static const struct form forms[] = {
#define FORM_WANTED(text, op, ...) {text, AMX_OP_##op, __VA_ARGS__},
    FORMS(FORM_WANTED)};

/* The same by the assembler, each in a slot of its own filled up with another instruction. */
extern const uint8_t amx_forms[][SLOT];
#define FORM_BYTES(text, ...) text "\n.balign 16, 0xf4\n"
__asm__(".pushsection .rodata\n.balign 16\n.globl amx_forms\namx_forms:\n" FORMS(
    FORM_BYTES) ".popsection\n");

static bool fills_slot(const uint8_t *bytes, int length) {
    for (int i = length; i < SLOT; i++)
        if (bytes[i] != HALT)
            return false;
    return length > 0 && bytes[length - 1] != HALT;
}

static void check_form(const struct form *f, const uint8_t *bytes) {
    struct amx_instruction i;
    const bool read = amx_decode(bytes, &i);
    const bool memory =
        f->op < AMX_OP_tdpbf16ps && f->op != AMX_OP_tilerelease && f->op != AMX_OP_tilezero;
    const bool operands =
        !memory || (i.base == f->base && i.index == f->index &&
                    (i.index == NONE || i.scale == f->scale) && i.displacement == f->displacement);
    test_ok(read && i.op == f->op && i.tile == f->tile && i.a == f->a && i.b == f->b && operands &&
                i.short_address == (strstr(f->text, "(%e") != NULL) && fills_slot(bytes, i.length),
            "read as another instruction", "decodes %s", f->text);
}

/* What is close to an AMX instruction and is none, or is refused by every CPU. */
static const struct {
    const char *why;
    uint8_t bytes[8];
} refused[] = {
    {"no VEX", {0x0f, 0x0b}},
    {"VEX of two bytes", {0xc5, 0xf8, 0x49, 0xc0}},
    {"map 0F3A", {0xc4, 0xe3, 0x78, 0x49, 0xc0}},
    {"W1", {0xc4, 0xe2, 0xf8, 0x49, 0xc0}},
    {"256 bits", {0xc4, 0xe2, 0x7c, 0x49, 0xc0}},
    {"another opcode", {0xc4, 0xe2, 0x78, 0x48, 0xc0}},
    {"tilerelease with a tile", {0xc4, 0xe2, 0x78, 0x49, 0xc8}},
    {"tilerelease with rm", {0xc4, 0xe2, 0x78, 0x49, 0xc1}},
    {"tilerelease with vvvv", {0xc4, 0xe2, 0x70, 0x49, 0xc0}},
    {"tilezero with rm", {0xc4, 0xe2, 0x7b, 0x49, 0xc1}},
    {"tilezero of tile 8", {0xc4, 0x62, 0x7b, 0x49, 0xc0}},
    {"register form with 66", {0xc4, 0xe2, 0x79, 0x49, 0xc0}},
    {"configuration of /1", {0xc4, 0xe2, 0x78, 0x49, 0x08}},
    {"configuration with F3", {0xc4, 0xe2, 0x7a, 0x49, 0x00}},
    {"load without SIB", {0xc4, 0xe2, 0x7b, 0x4b, 0x00}},
    {"load from rip", {0xc4, 0xe2, 0x7b, 0x4b, 0x05}},
    {"load from a register", {0xc4, 0xe2, 0x7b, 0x4b, 0xc4}},
    {"load without prefix", {0xc4, 0xe2, 0x78, 0x4b, 0x04, 0x18}},
    {"load with vvvv", {0xc4, 0xe2, 0x73, 0x4b, 0x04, 0x18}},
    {"load of tile 8", {0xc4, 0x62, 0x7b, 0x4b, 0x04, 0x18}},
    {"FP16 product", {0xc4, 0xe2, 0x63, 0x5c, 0xca}},
    {"product with memory", {0xc4, 0xe2, 0x62, 0x5c, 0x0a}},
    {"product with a of tile 8", {0xc4, 0xc2, 0x62, 0x5c, 0xca}},
    {"product with b of tile 8", {0xc4, 0xe2, 0x3a, 0x5c, 0xca}},
    {"segment FS", {0x64, 0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x18}},
    {"operand size prefix", {0x66, 0xc4, 0xe2, 0x78, 0x49, 0xc0}},
};

static void check_decoding(void) {
    struct amx_instruction i;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        check_form(&forms[f], amx_forms[f]);
    for (size_t f = 0; f < sizeof refused / sizeof *refused; f++)
        test_ok(!amx_decode(refused[f].bytes, &i), "taken for an instruction", "refuses: %s",
                refused[f].why);
}

/* ---- faults ---- */

static struct ipex_tile_config full_config(void) {
    struct ipex_tile_config ret = {.palette = IPEX_TILE_PALETTE};
    for (int t = 0; t < IPEX_TILES; t++) {
        ret.row_bytes[t] = IPEX_TILE_ROW_BYTES;
        ret.rows[t] = IPEX_TILE_ROWS;
    }
    return ret;
}

static enum amx_fault configure(struct amx_tiles *tiles, const struct ipex_tile_config *config) {
    const struct amx_instruction i = {.op = AMX_OP_ldtilecfg};
    return amx_execute(tiles, &i, (uint64_t)config, 0);
}

static void check_config(size_t byte, uint8_t value, enum amx_fault wanted, const char *what) {
    static struct amx_tiles tiles, before;
    struct ipex_tile_config config = full_config();
    memset(&tiles, 0x5a, sizeof tiles);
    before = tiles;
    ((uint8_t *)&config)[byte] = value;
    const enum amx_fault got = configure(&tiles, &config);
    const bool kept = memcmp(&tiles, &before, sizeof tiles) == 0;
    test_ok(got == wanted && kept == (wanted != AMX_DONE), NULL, "ldtilecfg: %s", what);
}

static void check_configs(void) {
    check_config(0, 1, AMX_DONE, "eight full tiles");
    check_config(0, 0, AMX_DONE, "palette 0");
    check_config(0, 2, AMX_PROTECTION, "palette 2 is #GP");
    check_config(1, 5, AMX_DONE, "a start row");
    for (size_t byte = 2; byte < 16; byte++)
        check_config(byte, 1, AMX_PROTECTION, "a reserved byte is #GP");
    check_config(16, 65, AMX_PROTECTION, "65 bytes per row are #GP");
    check_config(17, 1, AMX_PROTECTION, "320 bytes per row are #GP");
    check_config(16, 0, AMX_PROTECTION, "rows of no bytes are #GP");
    check_config(48, 17, AMX_PROTECTION, "17 rows are #GP");
    check_config(55, 0, AMX_PROTECTION, "no rows of 64 bytes are #GP");
    check_config(32, 64, AMX_PROTECTION, "a ninth tile's bytes are #GP");
    check_config(56, 16, AMX_PROTECTION, "a ninth tile's rows are #GP");
    check_config(63, 16, AMX_PROTECTION, "a sixteenth tile's rows are #GP");
}

/* A product, load, store or zero on a configuration with one byte changed. */
static void check_undefined(enum amx_op op, size_t byte, uint8_t value, const uint8_t tile[3],
                            enum amx_fault wanted, const char *what) {
    static struct amx_tiles tiles;
    static uint8_t memory[1024];
    const struct amx_instruction i = {.op = op, .tile = tile[0], .a = tile[1], .b = tile[2]};
    tiles = (struct amx_tiles){.config = full_config()};
    ((uint8_t *)&tiles.config)[byte] = value;
    test_ok(amx_execute(&tiles, &i, (uint64_t)memory, 64) == wanted, NULL, "%s", what);
}

static void check_faults(void) {
    static const uint8_t three[] = {0, 1, 2}, same_ca[] = {1, 1, 2}, same_cb[] = {2, 1, 2},
                         same_ab[] = {0, 1, 1};
    static const enum amx_op memory[] = {AMX_OP_tileloadd, AMX_OP_tileloaddt1, AMX_OP_tilestored,
                                         AMX_OP_tilezero};
    static const enum amx_op products[] = {AMX_OP_tdpbf16ps, AMX_OP_tdpbssd, AMX_OP_tdpbsud,
                                           AMX_OP_tdpbusd, AMX_OP_tdpbuud};
    const enum amx_fault ud = AMX_UNDEFINED;
    check_configs();
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        check_undefined(memory[i], 0, 1, three, AMX_DONE, "memory: a full tile");
        check_undefined(memory[i], 0, 0, three, ud, "memory: no configuration is #UD");
        check_undefined(memory[i], 48, 0, three, ud, "memory: no such tile is #UD");
        check_undefined(memory[i], 16, 62, three, ud, "memory: 62 bytes per row are #UD");
    }
    check_undefined(AMX_OP_tileloadd, 1, 16, three, ud, "memory: start row behind the tile is #UD");
    check_undefined(AMX_OP_tileloadd, 1, 15, three, AMX_DONE, "memory: start row in the tile");
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        check_undefined(products[i], 0, 1, three, AMX_DONE, "product: full tiles");
        check_undefined(products[i], 0, 0, three, ud, "product: no configuration is #UD");
        check_undefined(products[i], 0, 1, same_ca, ud, "product: c is a: #UD");
        check_undefined(products[i], 0, 1, same_cb, ud, "product: c is b: #UD");
        check_undefined(products[i], 0, 1, same_ab, ud, "product: a is b: #UD");
        check_undefined(products[i], 48, 15, three, ud, "product: rows of c and a differ: #UD");
        check_undefined(products[i], 16, 60, three, ud, "product: columns of c and b differ: #UD");
        check_undefined(products[i], 18, 60, three, ud, "product: k of a and b differ: #UD");
        check_undefined(products[i], 50, 15, three, ud, "product: k of b and a differ: #UD");
        check_undefined(products[i], 18, 63, three, ud, "product: 63 bytes of k are #UD");
    }
}

/* ---- loads and stores ---- */

/* The data lies between canaries; `stride` may be anything that keeps rows inside. */
static void check_transfer(int rows, int bytes, int64_t stride, struct rng *rng) {
    static struct amx_tiles tiles;
    static uint8_t from[8192], to[8192], wanted[8192];
    const struct amx_instruction load = {.op = AMX_OP_tileloadd, .tile = 3};
    const struct amx_instruction store = {.op = AMX_OP_tilestored, .tile = 3};
    tiles = (struct amx_tiles){.config = full_config()};
    tiles.config.rows[3] = (uint8_t)rows;
    tiles.config.row_bytes[3] = (uint16_t)bytes;
    memset(tiles.row, 0x77, sizeof tiles.row);
    memset(to, 0x3c, sizeof to);
    memcpy(wanted, to, sizeof to);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)rng_next(rng);
    for (int r = 0; r < rows; r++)
        memcpy(wanted + 4096 + r * stride, from + 4096 + r * stride, (size_t)bytes);
    bool good = amx_execute(&tiles, &load, (uint64_t)(from + 4096), stride) == AMX_DONE;
    for (int r = 0; r < IPEX_TILE_ROWS; r++)
        for (int i = 0; i < IPEX_TILE_ROW_BYTES; i++)
            good &= tiles.row[3][r].bytes[i] ==
                    (r < rows && i < bytes ? from[4096 + r * stride + i] : 0);
    good &= amx_execute(&tiles, &store, (uint64_t)(to + 4096), stride) == AMX_DONE;
    good &= memcmp(to, wanted, sizeof to) == 0;
    test_ok(good, "other bytes", "loads and stores %d x %d bytes, stride %lld", rows, bytes,
            (long long)stride);
}

/* ---- products ---- */

static bool same_float(uint32_t got, float wanted) {
    uint32_t bits;
    float value;
    memcpy(&bits, &wanted, sizeof bits);
    memcpy(&value, &got, sizeof value);
    return got == bits || (isnan(value) && isnan(wanted));
}

static bool same_element(const struct amx_tiles *before, const struct amx_tiles *after,
                         const struct amx_instruction *i, int m, int n) {
    const int k = before->config.row_bytes[i->a] / 4;
    const uint32_t *a = before->row[i->a][m].words, *b = &before->row[i->b][0].words[n];
    const uint32_t c = before->row[i->tile][m].words[n], got = after->row[i->tile][m].words[n];
    float c_value;
    memcpy(&c_value, &c, sizeof c);
    if (i->op == AMX_OP_tdpbf16ps)
        return same_float(got, amx_model_bf16(c_value, a, b, IPEX_TILE_ROW_BYTES / 4, k));
    return got == (uint32_t)amx_model_i8((int32_t)c, a, b, IPEX_TILE_ROW_BYTES / 4, k,
                                         i->op == AMX_OP_tdpbssd || i->op == AMX_OP_tdpbsud,
                                         i->op == AMX_OP_tdpbssd || i->op == AMX_OP_tdpbusd);
}

/* Tiles of random shapes that fit, full of data, also where no shape reaches. */
static void make_tiles(struct amx_tiles *tiles, const struct amx_instruction *i, bool special,
                       struct rng *rng) {
    const uint8_t m = (uint8_t)rng_range(rng, 1, 16), n = (uint8_t)rng_range(rng, 1, 16),
                  k = (uint8_t)rng_range(rng, 1, 16);
    struct ipex_tile_config *c = &tiles->config;
    *c = full_config();
    c->rows[i->tile] = c->rows[i->a] = m;
    c->row_bytes[i->tile] = c->row_bytes[i->b] = 4 * n;
    c->row_bytes[i->a] = 4 * k;
    c->rows[i->b] = k;
    for (int t = 0; t < IPEX_TILES; t++)
        for (int r = 0; r < IPEX_TILE_ROWS; r++)
            for (int w = 0; w < IPEX_TILE_ROW_BYTES / 4; w++)
                tiles->row[t][r].words[w] = i->op == AMX_OP_tdpbf16ps
                                                ? amx_random_pair(special, rng)
                                                : (uint32_t)rng_next(rng);
}

static bool product_is_right(const struct amx_instruction *i, bool special, struct rng *rng) {
    static struct amx_tiles before, after;
    make_tiles(&before, i, special, rng);
    after = before;
    const unsigned mxcsr = _mm_getcsr();
    _mm_setcsr(0x9fc0);
    bool good = amx_execute(&after, i, 0, 0) == AMX_DONE;
    _mm_setcsr(mxcsr);
    for (int m = 0; m < IPEX_TILE_ROWS; m++)
        for (int n = 0; n < IPEX_TILE_ROW_BYTES / 4; n++)
            good &= m < before.config.rows[i->tile] && 4 * n < before.config.row_bytes[i->tile]
                        ? same_element(&before, &after, i, m, n)
                        : after.row[i->tile][m].words[n] == 0;
    memcpy(before.row[i->tile], after.row[i->tile], sizeof before.row[i->tile]);
    return good && memcmp(&before, &after, sizeof before) == 0;
}

static void check_products_of(enum amx_op op, const char *name, struct rng *rng) {
    enum { CASES = 400 };
    int right[2] = {0, 0};
    for (int n = 0; n < 2 * CASES; n++) {
        struct amx_instruction i = {.op = op, .tile = (uint8_t)rng_range(rng, 0, 7)};
        i.a = (uint8_t)((i.tile + rng_range(rng, 1, 3)) % 8);
        i.b = (uint8_t)((i.tile + rng_range(rng, 4, 7)) % 8);
        right[n % 2] += product_is_right(&i, n % 2, rng);
    }
    test_ok(right[0] == CASES, "other bits", "%s: %d random products as the model", name, CASES);
    test_ok(right[1] == CASES, "other bits", "%s: %d with special values", name, CASES);
}

/* The model itself, at the edges that its arithmetic takes care of. */
static void check_model(void) {
    const float tiny = 0x1p-126f, ulp = 0x1p-149f;
    test_ok(amx_model_fma(1, 1, 0x1p-24f) == 1, NULL, "model: a tie goes to even");
    test_ok(amx_model_fma(1, 1, 0x1.8p-24f) == 1 + 0x1p-23f, NULL, "model: over a tie goes up");
    test_ok(amx_model_fma(1 + 0x1p-7f, 0x1p-24f, 1 + 0x1p-23f) == 1 + 0x1p-22f, NULL,
            "model: a bit far below breaks a tie");
    test_ok(amx_model_fma(tiny - ulp, 1, 0) == 0, NULL, "model: a denormal operand is 0");
    test_ok(signbit(amx_model_fma(-tiny, 0.5f, 0)) != 0, NULL, "model: a denormal result is -0");
    test_ok(amx_model_fma(-0x1p-75f, 0x1p-75f, tiny) == 0, NULL,
            "model: what stays under the smallest normal number at 24 bits is 0");
    test_ok(amx_model_fma(-0x1p-75f, 0x1p-76f, tiny) == tiny, NULL,
            "model: what rounds to the smallest normal number at 24 bits is that");
    test_ok(amx_model_fma(0x1p100f, 0x1p100f, -INFINITY) == -INFINITY, NULL,
            "model: a product over the range is finite");
    test_ok(isinf(amx_model_fma(0x1.fffffep127f, 1, 0x1p103f)), NULL, "model: rounds to infinity");
    test_ok(amx_model_fma(0x1p64f, 0x1p64f, -0x1.fffffep127f) == 0x1p104f, NULL,
            "model: only the sum is rounded");
    test_ok(isnan(amx_model_fma(0, INFINITY, 1)), NULL, "model: 0 x inf is NaN");
    test_ok(signbit(amx_model_fma(-1, 0, 0)) == 0, NULL, "model: -0 + 0 is +0");
}

int main(void) {
    struct rng rng = {.state = 1};
    test_start();
    check_decoding();
    check_faults();
    check_transfer(16, 64, 64, &rng);
    check_transfer(1, 4, 0, &rng);
    check_transfer(16, 60, -200, &rng);
    check_transfer(7, 36, 0, &rng);
    check_transfer(13, 8, 129, &rng);
    check_model();
#define CHECK_PRODUCTS(name) check_products_of(AMX_OP_##name, #name, &rng);
    CHECK_PRODUCTS(tdpbf16ps)
    CHECK_PRODUCTS(tdpbssd)
    CHECK_PRODUCTS(tdpbsud)
    CHECK_PRODUCTS(tdpbusd)
    CHECK_PRODUCTS(tdpbuud)
    return test_done();
}
