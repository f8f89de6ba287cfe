/* SPDX-License-Identifier: Apache-2.0 */
/* VEX.128.pp.0F38.W0 with three bytes of prefix (C4, never C5: that form has map 0F only), opcode,
 * ModRM, and for memory SIB and displacement. */
#include "tests/amx_emu/amx_decode.h"

#include <string.h>

enum { PP_NONE, PP_66, PP_F3, PP_F2 };
enum { CONFIGURE = 0x49, TRANSFER = 0x4b, DOT_BF16 = 0x5c, DOT_I8 = 0x5e };

/* Bits of the VEX prefix as numbers that extend register fields (they are stored inverted). */
struct vex {
    uint8_t r, x, b; /* 0 or 8 */
    uint8_t vvvv;    /* 0..15; 0 also where the field must be unused */
    uint8_t pp;
};

struct modrm {
    uint8_t mod, reg, rm;
};

static bool read_vex(const uint8_t **at, struct vex *ret) {
    const uint8_t *p = *at;
    if (p[0] != 0xc4 || (p[1] & 0x1f) != 2 || (p[2] & 0x84) != 0) /* map 0F38, W0, L0 */
        return false;
    *ret = (struct vex){.r = p[1] & 0x80 ? 0 : 8,
                        .x = p[1] & 0x40 ? 0 : 8,
                        .b = p[1] & 0x20 ? 0 : 8,
                        .vvvv = (uint8_t)(~p[2] >> 3 & 15),
                        .pp = p[2] & 3};
    *at = p + 3;
    return true;
}

static void read_displacement(const uint8_t **at, int bytes, struct amx_instruction *ret) {
    int8_t small;
    int32_t large;
    if (bytes == 1) {
        memcpy(&small, *at, 1);
        ret->displacement = small;
    }
    if (bytes == 4) {
        memcpy(&large, *at, 4);
        ret->displacement = large;
    }
    *at += bytes;
}

/* Base, index and displacement of a memory operand. */
static void read_memory(const uint8_t **at, const struct vex *vex, struct modrm modrm,
                        struct amx_instruction *ret) {
    int bytes = modrm.mod == 1 ? 1 : modrm.mod == 2 ? 4 : 0;
    ret->index = AMX_NO_REGISTER;
    ret->base = (int8_t)(modrm.rm | vex->b);
    if (modrm.rm == 4) {
        const uint8_t sib = *(*at)++;
        const uint8_t index = (sib >> 3 & 7) | vex->x;
        ret->scale = sib >> 6;
        ret->index = index == 4 ? AMX_NO_REGISTER : (int8_t)index;
        ret->base = (int8_t)((sib & 7) | vex->b);
        if ((sib & 7) == 5 && modrm.mod == 0) {
            ret->base = AMX_NO_REGISTER;
            bytes = 4;
        }
    } else if (modrm.rm == 5 && modrm.mod == 0) {
        ret->base = AMX_RIP;
        bytes = 4;
    }
    read_displacement(at, bytes, ret);
}

/* ldtilecfg and sttilecfg: any memory operand, /0. tilerelease: C0. tilezero: a tile in reg. */
static bool read_configure(const uint8_t **at, const struct vex *vex, struct modrm modrm,
                           struct amx_instruction *ret) {
    if (vex->vvvv != 0 || vex->r != 0)
        return false;
    if (modrm.mod != 3) {
        ret->op = vex->pp == PP_NONE ? AMX_OP_ldtilecfg : AMX_OP_sttilecfg;
        read_memory(at, vex, modrm, ret);
        return modrm.reg == 0 && (vex->pp == PP_NONE || vex->pp == PP_66);
    }
    ret->op = vex->pp == PP_NONE ? AMX_OP_tilerelease : AMX_OP_tilezero;
    ret->tile = modrm.reg;
    return modrm.rm == 0 && (vex->pp == PP_F2 || (vex->pp == PP_NONE && modrm.reg == 0));
}

/* Loads and stores need a SIB byte. */
static bool read_transfer(const uint8_t **at, const struct vex *vex, struct modrm modrm,
                          struct amx_instruction *ret) {
    static const enum amx_op ops[] = {
        [PP_66] = AMX_OP_tileloaddt1, [PP_F3] = AMX_OP_tilestored, [PP_F2] = AMX_OP_tileloadd};
    if (vex->vvvv != 0 || vex->r != 0 || vex->pp == PP_NONE || modrm.mod == 3 || modrm.rm != 4)
        return false;
    ret->op = ops[vex->pp];
    ret->tile = modrm.reg;
    read_memory(at, vex, modrm, ret);
    return true;
}

/* tile (reg) += a (rm) times b (vvvv). */
static bool read_dot(uint8_t opcode, const struct vex *vex, struct modrm modrm,
                     struct amx_instruction *ret) {
    static const enum amx_op ops[] = {[PP_NONE] = AMX_OP_tdpbuud,
                                      [PP_66] = AMX_OP_tdpbusd,
                                      [PP_F3] = AMX_OP_tdpbsud,
                                      [PP_F2] = AMX_OP_tdpbssd};
    if (modrm.mod != 3 || vex->r != 0 || vex->b != 0 || vex->vvvv > 7 ||
        (opcode == DOT_BF16 && vex->pp != PP_F3))
        return false;
    ret->op = opcode == DOT_BF16 ? AMX_OP_tdpbf16ps : ops[vex->pp];
    ret->tile = modrm.reg;
    ret->a = modrm.rm;
    ret->b = vex->vvvv;
    return true;
}

static bool read_operands(const uint8_t **at, const struct vex *vex, struct amx_instruction *ret) {
    const uint8_t opcode = *(*at)++;
    if (opcode != CONFIGURE && opcode != TRANSFER && opcode != DOT_BF16 && opcode != DOT_I8)
        return false;
    const uint8_t byte = *(*at)++;
    const struct modrm modrm = {byte >> 6, byte >> 3 & 7, byte & 7};
    if (opcode == CONFIGURE)
        return read_configure(at, vex, modrm, ret);
    if (opcode == TRANSFER)
        return read_transfer(at, vex, modrm, ret);
    return read_dot(opcode, vex, modrm, ret);
}

/* 67 cuts addresses; CS, DS, ES and SS mean nothing in 64-bit code. */
static const uint8_t *skip_prefixes(const uint8_t *at, bool *ret_short) {
    for (;; at++) {
        if (*at == 0x67)
            *ret_short = true;
        else if (*at != 0x2e && *at != 0x3e && *at != 0x26 && *at != 0x36)
            return at;
    }
}

bool amx_decode(const uint8_t *code, struct amx_instruction *ret) {
    struct vex vex;
    memset(ret, 0, sizeof *ret);
    const uint8_t *at = skip_prefixes(code, &ret->short_address);
    if (!read_vex(&at, &vex) || !read_operands(&at, &vex, ret) || at - code > 15)
        return false;
    ret->length = (uint8_t)(at - code);
    return true;
}
