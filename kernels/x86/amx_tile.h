/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of AMX, in place of the compilers' intrinsics, which are not to be used: gcc's
 * declare that ldtilecfg reads 8 bytes (gcc 12) and tile loads none (to gcc 16), so that stores to
 * a local configuration or pack buffer are deleted before the load. Here every load and store is an
 * asm statement that may read or write any memory. Tiles are numbered 0 to 7 by literals, which are
 * spelled into the instruction; the compiler knows nothing of their contents. */
#ifndef IPEX_KERNELS_AMX_TILE_H
#define IPEX_KERNELS_AMX_TILE_H

#include <stdint.h>

#include "format/tile.h" /* IPEX_TILE_ROWS: a tile of a file is a tile of the CPU */

enum {
    IPEX_TILES = 8,
    IPEX_TILE_ROW_BYTES = IPEX_TILE_BYTES / IPEX_TILE_ROWS, /* 16 f32 or i32, 32 bf16, 64 i8 */
    IPEX_TILE_PALETTE = 1,
};

/* What ldtilecfg reads. Tile t has rows[t] rows of row_bytes[t] bytes; both 0: no such tile. A
 * product C += A B wants C.rows = A.rows, C.row_bytes = B.row_bytes and B.rows = A.row_bytes / 4,
 * row_bytes that are multiples of 4, and three different tiles. */
struct ipex_tile_config {
    uint8_t palette, start_row; /* IPEX_TILE_PALETTE, 0 */
    uint8_t reserved[14];
    uint16_t row_bytes[16]; /* [IPEX_TILES], then zeros */
    uint8_t rows[16];       /* [IPEX_TILES], then zeros */
};
_Static_assert(sizeof(struct ipex_tile_config) == 64, "what the instruction reads");

/* Sets all shapes and zeroes all tiles. One that the CPU refuses is a segmentation fault. */
static inline void ipex_tile_configure(const struct ipex_tile_config *config) {
    __asm__ volatile("ldtilecfg %0" : : "m"(*config) : "memory");
}

static inline void ipex_tile_store_config(struct ipex_tile_config *ret_config) {
    __asm__ volatile("sttilecfg %0" : "=m"(*ret_config) : : "memory");
}

/* Back to no tiles: before a kernel returns, or every context switch saves 8 KiB more. */
static inline void ipex_tile_release(void) {
    __asm__ volatile("tilerelease" : : : "memory");
}

#define IPEX_TILE_ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile : : : "memory")

/* Rows from `address` on, `stride` bytes apart (any, also 0 or negative); no alignment is needed.
 * What lies behind a tile's shape becomes 0. */
#define IPEX_TILE_LOAD(tile, address, stride)                                                      \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile                                            \
                     :                                                                             \
                     : "r"((const void *)(address)), "r"((int64_t)(stride))                        \
                     : "memory")
/* The same, with a hint that the data will not be used again soon. */
#define IPEX_TILE_LOAD_ONCE(tile, address, stride)                                                 \
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #tile                                          \
                     :                                                                             \
                     : "r"((const void *)(address)), "r"((int64_t)(stride))                        \
                     : "memory")
#define IPEX_TILE_STORE(address, stride, tile)                                                     \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)"                                        \
                     :                                                                             \
                     : "r"((void *)(address)), "r"((int64_t)(stride))                              \
                     : "memory")

/* c[m][n] += the dot product of row m of a and column n of b, whose element (k, n) lies in row k /
 * 2 (bf16) or k / 4 (a is u8, b i8). bf16: a fresh chain of FMA from +0 over the even k and one
 * over the odd, their sum added to c; denormals are zero, rounding is to nearest, MXCSR plays no
 * part. u8: exact, modulo 2^32. */
#define IPEX_TILE_DOT_BF16(c, a, b)                                                                \
    __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")
#define IPEX_TILE_DOT_U8(c, a, b)                                                                  \
    __asm__ volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")

#endif
