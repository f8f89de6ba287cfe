/* SPDX-License-Identifier: Apache-2.0 */
/* The first use of a tile by a thread. */
#include "kernels/kernels.h"
#include "kernels/x86/amx_tile.h"

void ipex_amx_touch(void) {
    static const struct ipex_tile_config config = {
        .palette = IPEX_TILE_PALETTE, .row_bytes = {IPEX_TILE_ROW_BYTES}, .rows = {IPEX_TILE_ROWS}};
    ipex_tile_configure(&config);
    IPEX_TILE_ZERO(0);
    ipex_tile_release();
}
