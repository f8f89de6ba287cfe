/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and linear on u8 and i8 with vpdpbusd: blocks of up to 14 pixels and two panels, as
 * those of f32 (kernels/x86/conv_blocks_avx512.h). */
#include "kernels/x86/vec_avx512.h"

#define CONV_PANELS_APART 3
#include "kernels/x86/conv_sums.h"

#define WEIGHT(v) const vec_int w##v = vec_bits(vec_load(w + v * w_panel));
#define ADD(r, v) sum##r##_##v = _mm512_dpbusd_epi32(sum##r##_##v, a, w##v);
#define ADD_ROW(NV, r)                                                                             \
    {                                                                                              \
        const vec_int a = vec_int_set(four_at(AT(a0, a1, x_row, r)));                              \
        VECS_##NV(ADD, r)                                                                          \
    }
#define ADD_ROW_1(r) ADD_ROW(1, r)
#define ADD_ROW_2(r) ADD_ROW(2, r)
#define ADD_ROW_3(r) ADD_ROW(3, r)
#define ADD_ROW_4(r) ADD_ROW(4, r)
#define ADD_ROW_8(r) ADD_ROW(8, r)
#define WEIGHTS_1    WEIGHT(0)
#define WEIGHTS_2    WEIGHTS_1 WEIGHT(1)
#define WEIGHTS_3    WEIGHTS_2 WEIGHT(2)
#define WEIGHTS_4    WEIGHTS_3 WEIGHT(3)
#define WEIGHTS_8    WEIGHTS_4 WEIGHT(4) WEIGHT(5) WEIGHT(6) WEIGHT(7)
/* A line of either panel of the weights that come next (see fetch_next), of large blocks. */
enum { FETCH_ROWS = 6 };
/* Blocks of more panels fetch their own, 20 lines ahead, where their products take longer than
 * memory (8x2048 x 5632 and back: 0.93 of the time); those of fewer rows wait for it, and are
 * disturbed (3 rows: 1.2). */
enum { AHEAD_ROWS = 5, AHEAD_WORDS = 20 * IPEX_PANEL };
#define AHEAD(r, v) prefetch_at((uintptr_t)(w + v * w_panel + AHEAD_WORDS));
#define STEP(MR, NV)                                                                               \
    if (NV == 2 && MR >= FETCH_ROWS) {                                                             \
        prefetch_at(far);                                                                          \
        prefetch_at(far + (uintptr_t)w_panel * sizeof(float));                                     \
        far += far_step;                                                                           \
    }                                                                                              \
    if (NV > 2 && MR >= AHEAD_ROWS) {                                                              \
        VECS_##NV(AHEAD, )                                                                         \
    }                                                                                              \
    WEIGHTS_##NV ROWS_##MR(ADD_ROW_##NV)

/* Blocks are code: of more than 7 rows there are only those of all 14, which alone can make bytes
 * of their sums, and one of 8, of three panels; others go in halves, which keep all units busy too.
 */
enum { MAX_ROWS = 14, MAX_ROWS_HALF = MAX_ROWS, MAX_ROWS_3 = MAX_ROWS };
enum { HALF_ROWS = MAX_ROWS / 2 };
#define BLOCKS_1_TO_7(X, NP) X(1, NP) X(2, NP) X(3, NP) X(4, NP) X(5, NP) X(6, NP) X(7, NP)
#define BLOCKS_2_TO_6(X, NP) X(2, NP) X(3, NP) X(4, NP) X(5, NP) X(6, NP)
#define BLOCKS(X)            BLOCKS_1_TO_7(X, 1) BLOCKS_1_TO_7(X, 2) BLOCKS_2_TO_6(X, 4) X(8, 3) X(1, 8)
#define BLOCK(MR, NP)        SUM_BLOCK(MR, NP, NP, )
BLOCKS(BLOCK)
SUM_BLOCK(14, 1, 1, MAKE_BYTES(PAIRS_14(PAIR_1)))
SUM_BLOCK(14, 2, 2, MAKE_BYTES(PAIRS_14(PAIR_2)))

/* Which block: that of so many panels, and of rows beside. */
enum { BLOCKS_1 = 16, BLOCKS_2 = 32, BLOCKS_3 = 48, BLOCKS_4 = 64, BLOCKS_8 = 128 };

#define CASE(MR, NP)                                                                               \
    case BLOCKS_##NP + MR:                                                                         \
        sums_##MR##x##NP(b);                                                                       \
        return;
static __attribute__((noinline)) void run_block(const struct conv_block *b, int64_t which) {
    switch (which) {
        BLOCKS(CASE)
    default:
        __builtin_unreachable();
    }
}

/* Of 7 rows the halves have four panels, too. */
static int64_t panels_for(int64_t rows, int64_t panels, int64_t columns) {
    (void)columns;
    if (rows == 1 && panels >= 8)
        return 8;
    if (1 < rows && rows <= 7 && panels >= 4)
        return 4;
    if (rows == 8 && panels >= 3 && panels != 4)
        return 3;
    return panels >= 2 ? 2 : 1;
}

static __attribute__((noinline)) void run_halves(const struct conv_block *b, int64_t rows,
                                                 int64_t panels) {
    const int64_t first = (rows + 1) / 2, blocks = panels * BLOCKS_1;
    struct conv_block half = *b;
    half.x_half = (first + 1) / 2 * b->x_row;
    run_block(&half, blocks + first);
    half.x = (const uint8_t *)b->x + b->x_half;
    half.x_half = (rows - first + 1) / 2 * b->x_row;
    half.y = b->y + first * panels * IPEX_PANEL;
    run_block(&half, blocks + rows - first);
}

static bool run(struct conv_block *b, int64_t rows, int64_t panels) {
    if (rows == MAX_ROWS) {
        panels == 2 ? sums_14x2(b) : sums_14x1(b);
        return makes_bytes(b);
    }
    if (panels > 2 ? rows != 7 : rows <= HALF_ROWS)
        run_block(b, panels * BLOCKS_1 + rows);
    else
        run_halves(b, rows, panels);
    return false;
}

static const struct conv_level level = {
    CONV_BLOCKS,
    .fetches_next = true,
    .sums = true,
    .fills = true,
    .panels_apart = CONV_PANELS_APART,
};

void ipex_k_conv_u8__avx512_vnni(const struct ipex_conv_args *args, int64_t job_begin,
                                 int64_t job_end, void *scratch) {
    (void)scratch;
    ipex_conv_walk(&level, args, job_begin, job_end);
}
