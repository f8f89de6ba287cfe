/* SPDX-License-Identifier: Apache-2.0 */
/* Weight layouts: how a weight's elements lie in its bytes.
 *
 * tiles:
 *   [groups][segments][panels][k_tiles] tiles of 16 rows x 64 bytes (1 KiB), 16 output columns
 *   wide. Row r of an f32 tile holds k = 16 * tile + r for the panel's 16 columns, which are
 *   n = 16 * panel + 0..15; of bf16 it holds 2, of i8 4 neighbouring k of a column, then those of
 *   the next, so a tile has 32 or 64 k; of f16 one k of all columns, then the next. Edges (k >= K,
 *   n >= N) are zero.
 *   Tiles of u8 are those of linear_blocks. Numbers of 8 bits are a byte each; of 4 bits byte 4 * i
 *   + j of a column, j < 4, holds number k = 8 * i + j in its lower half and k = 8 * i + 4 + j in
 *   its upper half, so a row of 64 bytes has 8 numbers of each column. Numbers behind K are 0.
 *   A linear weight has one group and one segment of K elements. A convolution has groups, which
 *   panels never span, and per group KH segments of KW * C/G elements (taps of one kernel row,
 *   contiguous in a channels-last activation), or, where groups > 1 or dilation_w > 1, KH * KW
 *   segments of C/G. A winograd weight has one group and 36, 16 or 6 segments of C, one of an
 *   upsampled image 9.
 *
 * plain:
 *   row-major, no padding
 *
 * channels:
 *   the last dim rounded up to 16 elements, zero-padded: biases, depthwise weights. Those are
 *   [KH][KW * C/G][M]: of each tap the inputs of the group, in the order of ipex_depthwise_input;
 *   but in i8, of groups of several channels, its rows' bytes hold sets (ipex_has_sets).
 */
#ifndef IPEX_FORMAT_TILE_H
#define IPEX_FORMAT_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/ipex_types.h"
#include "format/ops.h"

#define IPEX_TILE_BYTES   1024
#define IPEX_TILE_ROWS    16
#define IPEX_PANEL        16 /* output columns of a tile */
#define IPEX_WEIGHT_ALIGN 64 /* of every weight inside its section; of tiles IPEX_TILE_BYTES */

/* Winograd's tiles have 6 or 4 inputs along an axis with several taps, and as many products. */
#define IPEX_WINOGRAD_SIDE_MAX   6
#define IPEX_WINOGRAD_POINTS_MAX 36
/* Of a convolution of an upsampled image. */
#define IPEX_UPSAMPLED_POINTS 9

/* Inputs along an axis with so many taps of tiles whose weight has so many segments; 0: there are
 * no such tiles. 3x3 has tiles of two sizes, 5x5 and a row or a column of 3 to 5 taps one. */
static inline int32_t ipex_winograd_side(int64_t taps, int64_t other_taps, int64_t points) {
    const bool square = taps == other_taps && (taps == 3 || taps == 5);
    const bool line =
        taps + other_taps >= 4 && taps + other_taps <= 6 && (taps == 1 || other_taps == 1);
    if (square)
        return points == 36 ? 6 : points == 16 && taps == 3 ? 4 : 0;
    if (!line || points != 6)
        return 0;
    return taps == 1 ? 1 : 6;
}

/* Tiles along an axis of `size` outputs, of which every `dilation`th is in one image. */
static inline int64_t ipex_winograd_tiles_along(int64_t size, int64_t dilation, int32_t tile) {
    const int64_t least = size / dilation, longer = size % dilation;
    const int64_t tiles = (least + tile - 1) / tile;
    return dilation * tiles + (least % tile == 0 ? longer : 0);
}

enum ipex_layout {
    IPEX_LAYOUT_plain = 0,
    IPEX_LAYOUT_channels = 1,
    IPEX_LAYOUT_tiles = 2,
};

/* The shape of a tiled weight, derived from its logical dims; see ipex_tiles_of. */
struct ipex_tiles {
    int64_t groups, segments, panels, k_tiles; /* as in the comment above */
    int64_t k;                                 /* true elements per segment */
    int64_t n;                                 /* true columns per group */
    int64_t bytes;
};

/* Elements of K that one 64-byte row of 16 columns holds: 1 for 4-byte, 2 for 2-byte, 4 for 1-byte
 * types. */
static inline int64_t ipex_tile_k_per_row(enum ipex_dtype dtype) {
    switch (dtype) {
    case IPEX_DTYPE_f32:
        return 1;
    case IPEX_DTYPE_bf16:
    case IPEX_DTYPE_f16:
        return 2;
    case IPEX_DTYPE_i8:
    case IPEX_DTYPE_u8:
        return 4;
    default:
        return 0;
    }
}

/* Bytes of a column of k numbers of linear_blocks, of which those of 4 bits come in steps, or of 16
 * bits. */
static inline int64_t ipex_block_column_bytes(int64_t k, int32_t bits) {
    return bits >= 8 ? k * (bits / 8)
                     : (k + IPEX_BLOCK_STEP - 1) / IPEX_BLOCK_STEP * (IPEX_BLOCK_STEP / 2);
}

/* Elements from a row of layout `channels` to the next one: an odd multiple of 16, so that the rows
 * of a window's taps lie in different sets of a cache. */
static inline int64_t ipex_channels_pitch(int64_t channels) {
    return ((channels + IPEX_PANEL - 1) / IPEX_PANEL | 1) * IPEX_PANEL;
}

/* Those of them that the last row does without: 0 or 16. */
static inline int64_t ipex_channels_gap(int64_t channels) {
    return ipex_channels_pitch(channels) - (channels + IPEX_PANEL - 1) / IPEX_PANEL * IPEX_PANEL;
}

/* Whether groups of so many inputs and outputs are narrow: 1, 2 or 4 outputs of 1, 2 or 4 inputs,
 * no more than outputs, so that all that a vector of 8 or 16 outputs reads fits a vector. depthwise
 * takes them, many to a vector. */
static inline bool ipex_is_narrow(int64_t inputs, int64_t outputs) {
    return (inputs == 1 || inputs == 2 || inputs == 4) &&
           (outputs == 1 || outputs == 2 || outputs == 4) && inputs <= outputs;
}

/* The input that output m takes as its k-th, of its group: another one for every m, so that where
 * groups have as many inputs as outputs, the first of all of them lie as the outputs do. */
static inline int64_t ipex_depthwise_input(int64_t m, int64_t k, int64_t inputs) {
    return (m + k) % inputs;
}

/* Whether groups of so many inputs and outputs are taken in sets of IPEX_SET channels, in i8. A
 * set's weights for a tap are inputs / 4 rows of 64 bytes. In a row, words of four inputs lie as
 * those that four neighbours read of x: their groups and, in those, fours of inputs side by side;
 * then the same for the next output of the row. */
#define IPEX_SET 16
static inline bool ipex_has_sets(int64_t inputs, int64_t outputs, int64_t channels) {
    return inputs == outputs && (inputs == 4 || inputs == 8 || inputs == 16) &&
           channels >= IPEX_SET;
}

/* The first channel of a set: the last set ends with the last channel, and may begin with some that
 * the one before has, too. */
static inline int64_t ipex_set_first(int64_t set, int64_t channels) {
    const int64_t last = channels - IPEX_SET;
    return set * IPEX_SET < last ? set * IPEX_SET : last;
}

/* Where a set's weights have that of its output m for input k of m's group. */
static inline int64_t ipex_set_weight(int64_t m, int64_t k, int64_t inputs) {
    const int64_t words = inputs / 4, output = m % inputs;
    const int64_t lane = output / words * 4 + m / inputs * words + k / 4;
    return output % words * 64 + lane * 4 + k % 4;
}

/* Tiling of groups x segments x [n][k]. All arguments within the caps of format/base.h. False on a
 * dtype without tiles or on overflow. */
bool ipex_tiles_make(enum ipex_dtype dtype, int64_t groups, int64_t segments, int64_t n, int64_t k,
                     struct ipex_tiles *ret);

/* Bytes of a weight: dims are logical. For tiles the dims are
 *   rank 2  [N][K]                            linear, the only one of f16
 *           [N][bytes of K]                   linear_blocks, the only one of u8
 *   rank 5  [G][segments][M/G][taps][C/G]     conv: taps = KW with KH segments, or 1 with KH*KW
 *           [1][36, 16 or 6][M][1][C]         winograd
 *           [1][9][M][1][C]                   upsampled_conv
 * False when dims, dtype and layout do not fit together or overflow. */
bool ipex_weight_bytes(enum ipex_dtype dtype, enum ipex_layout layout, const int64_t *dims,
                       unsigned rank, int64_t *ret);

/* The tiling of a weight with layout tiles and dims as above. */
bool ipex_tiles_of(enum ipex_dtype dtype, const int64_t *dims, unsigned rank,
                   struct ipex_tiles *ret);

#endif
