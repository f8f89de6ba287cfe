/* SPDX-License-Identifier: Apache-2.0 */
/* See amx_counted.h. */
#include "tests/amx_emu/amx_counted.h"

#include "tests/amx_emu/amx_gemm.h"

void amx_work_add_run(struct amx_work *work, int64_t tiles, int64_t panels, int64_t k_tiles,
                      bool copied) {
    const int64_t most_x = tiles == 1 || (copied && panels > 2) ? 1 : 2, most_w = 4 / most_x;
    for (int64_t t = 0; t < tiles; t += most_x)
        for (int64_t p = 0; p < panels; p += most_w) {
            const int64_t x = ipex_smaller(tiles - t, most_x);
            const int64_t w = ipex_smaller(panels - p, most_w);
            work->products += (uint64_t)(x * w * k_tiles);
            work->loads += (uint64_t)((x + w) * k_tiles + x * w);
            work->stores += (uint64_t)(x * w);
        }
}

void amx_work_add_gemm(struct amx_work *work, int64_t m, int64_t n, int64_t k) {
    if (m == 1)
        return;
    amx_work_add_run(work, ipex_div_up(m, AMX_TILE), ipex_div_up(n, AMX_TILE),
                     ipex_div_up(k, AMX_TILE_K), k < AMX_TILE_K);
    work->configurations++;
    work->releases++;
}

/* Products of all kinds together, so that none of another kind hides. */
static uint64_t all_products(const struct amx_counts *counts) {
    uint64_t ret = 0;
    for (int op = AMX_OP_tdpbf16ps; op < AMX_OPS_COUNT; op++)
        ret += counts->of[op];
    return ret;
}

bool amx_work_is(const char *what, enum amx_op op, const struct amx_work *want) {
    const struct amx_counts got = amx_emu_counts();
    const uint64_t loads = got.of[AMX_OP_tileloadd] + got.of[AMX_OP_tileloaddt1];
    const bool same = got.of[op] == want->products && all_products(&got) == want->products &&
                      loads == want->loads && got.of[AMX_OP_tilestored] == want->stores &&
                      got.of[AMX_OP_ldtilecfg] == want->configurations &&
                      got.of[AMX_OP_tilerelease] == want->releases;
    return same || !amx_emu_installed() ||
           report(
               false, what,
               "%llu products (of all kinds %llu), %llu loads, %llu stores, %llu configurations, "
               "%llu releases; want %llu, %llu, %llu, %llu, %llu",
               (unsigned long long)got.of[op], (unsigned long long)all_products(&got),
               (unsigned long long)loads, (unsigned long long)got.of[AMX_OP_tilestored],
               (unsigned long long)got.of[AMX_OP_ldtilecfg],
               (unsigned long long)got.of[AMX_OP_tilerelease], (unsigned long long)want->products,
               (unsigned long long)want->loads, (unsigned long long)want->stores,
               (unsigned long long)want->configurations, (unsigned long long)want->releases);
}
