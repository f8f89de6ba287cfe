/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in memory, and what each instruction does to them. */
#ifndef AMX_EXECUTE_H
#define AMX_EXECUTE_H

#include "kernels/x86/amx_tile.h"
#include "tests/amx_emu/amx_decode.h"

/* A row of a tile as its products read it. */
union amx_row {
    uint8_t bytes[IPEX_TILE_ROW_BYTES];
    uint32_t words[IPEX_TILE_ROW_BYTES / 4];
};

/* Of one thread. All zero: no tiles are configured. */
struct amx_tiles {
    struct ipex_tile_config config; /* palette 0: none */
    union amx_row row[IPEX_TILES][IPEX_TILE_ROWS];
};

/* What the CPU raises: #UD, which is SIGILL, or #GP, which is SIGSEGV. */
enum amx_fault { AMX_DONE, AMX_UNDEFINED, AMX_PROTECTION };

/* address: base + displacement of a memory operand; stride: its index << scale. After a fault the
 * tiles are as they were. MXCSR must be 0x9fc0. */
enum amx_fault amx_execute(struct amx_tiles *tiles, const struct amx_instruction *instruction,
                           uint64_t address, int64_t stride);

#endif
