/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of weights in their layouts (format/tile.h). Whatever dims a file states, the results are
 * exact or refused. */
#include "format/tile.h"

#include "format/base.h"

/* Bytes of one weight are capped like elements of a tensor, times the widest element. */
#define MAX_WEIGHT_BYTES (IPEX_MAX_NUMEL * 8)

static bool in_caps(int64_t dim) {
    return dim >= 1 && dim <= IPEX_MAX_DIM;
}

static bool multiply(int64_t *product, int64_t factor) {
    return !__builtin_mul_overflow(*product, factor, product) && *product <= MAX_WEIGHT_BYTES;
}

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
} /* a below 2^31 */

bool ipex_tiles_make(enum ipex_dtype dtype, int64_t groups, int64_t segments, int64_t n, int64_t k,
                     struct ipex_tiles *ret) {
    int64_t k_per_tile = IPEX_TILE_ROWS * ipex_tile_k_per_row(dtype);
    if (k_per_tile == 0 || !in_caps(groups) || !in_caps(segments) || !in_caps(n) || !in_caps(k))
        return false;
    struct ipex_tiles tiles = {.groups = groups, .segments = segments, .n = n, .k = k};
    tiles.panels = divide_up(n, IPEX_PANEL);
    tiles.k_tiles = divide_up(k, k_per_tile);
    tiles.bytes = IPEX_TILE_BYTES;
    if (!multiply(&tiles.bytes, groups) || !multiply(&tiles.bytes, segments) ||
        !multiply(&tiles.bytes, tiles.panels) || !multiply(&tiles.bytes, tiles.k_tiles))
        return false;
    *ret = tiles;
    return true;
}

bool ipex_tiles_of(enum ipex_dtype dtype, const int64_t *dims, unsigned rank,
                   struct ipex_tiles *ret) {
    int64_t numel;
    if (!ipex_numel(dims, rank, &numel))
        return false;
    if (rank == 2)
        return ipex_tiles_make(dtype, 1, 1, dims[0], dims[1], ret);
    if (rank == 5 && dtype != IPEX_DTYPE_u8 &&
        dtype != IPEX_DTYPE_f16) /* [G][segments][M/G][taps][C/G] */
        return ipex_tiles_make(dtype, dims[0], dims[1], dims[2], dims[3] * dims[4], ret);
    return false;
}

bool ipex_weight_bytes(enum ipex_dtype dtype, enum ipex_layout layout, const int64_t *dims,
                       unsigned rank, int64_t *ret) {
    int64_t bytes, size = ipex_dtype_size(dtype);
    struct ipex_tiles tiles;
    for (unsigned i = 0; i < rank; i++)
        if (!in_caps(dims[i]))
            return false;
    if (size == 0 || !ipex_numel(dims, rank, &bytes))
        return false;
    switch (layout) {
    case IPEX_LAYOUT_plain:
        *ret = bytes * size;
        return true;
    case IPEX_LAYOUT_channels:
        if (rank == 0)
            return false;
        bytes /= dims[rank - 1];
        if (!multiply(&bytes, ipex_channels_pitch(dims[rank - 1]) * size))
            return false;
        *ret = bytes - ipex_channels_gap(dims[rank - 1]) * size;
        return true;
    case IPEX_LAYOUT_tiles:
        if (!ipex_tiles_of(dtype, dims, rank, &tiles))
            return false;
        *ret = tiles.bytes;
        return true;
    }
    return false;
}
