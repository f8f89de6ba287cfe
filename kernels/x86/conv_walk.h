/* SPDX-License-Identifier: Apache-2.0 */
/* How a part of a convolution job (kernels/x86/conv_cuts.h) is walked: lines, blocks of rows,
 * panels. The same at every vector level; a level brings its register blocks and the policy that
 * chooses among them. Static inline only: each level compiles its own copy. */
#ifndef IPEX_KERNELS_X86_CONV_WALK_H
#define IPEX_KERNELS_X86_CONV_WALK_H

#include "kernels/x86/conv_cuts.h"
#include "kernels/x86/rows.h"
#include "kernels/x86/vec_math.h"

/* What x and a row of a tile hold; kernels on bf16 say so before they include this file. Weights
 * are counted in words of 4 bytes: `floats` of w. */
#ifndef CONV_X
#define CONV_X         float
#define CONV_K_PER_ROW 1
#endif
/* CONV_ROUNDS: y and the residual may be bf16; CONV_STORES_BF16: blocks can round as they store.
 * CONV_SUMS: blocks leave sums, which kernels/x86/scale_sums.h scales, in a stage where x is read
 * in place; CONV_PANELS_APART: blocks of a matrix of few rows that have so many panels or
 * more have panels that lie apart.
 *
 * Register blocks read x in place; kernels/x86/conv_widen.h says otherwise. */
#ifndef CONV_WIDENS
#define BLOCK_X CONV_X
enum { PANELS_ONCE = 0 };
#ifdef CONV_SUMS
#define CONV_STAGES_SUMS
#endif
#endif
/* A level's part of that. */
#define CONV_OPERANDS                                                                              \
    .x_size = sizeof(CONV_X), .k_per_row = CONV_K_PER_ROW, .panels_widened = PANELS_ONCE

/* And of those whose register blocks read x in place. */
#define CONV_BLOCKS                                                                                \
    CONV_OPERANDS, .walk = ipex_conv_walk_blocks, .lines = walk_lines, .panels_for = panels_for,   \
                   .run = run, .max_rows = MAX_ROWS, .max_rows_half = MAX_ROWS_HALF,               \
                   .max_rows_3 = MAX_ROWS_3

/* What a step of k prefetches, a line of 64 bytes for every panel. Where weights stay in L2, and x
 * and y do not: x of the next block, from its first element on, which 16 pixels of a dense x just
 * fill, and for every panel but the first its part of y of the next block, whose stores would else
 * wait for L3 (1x1 48->96 at 92x92 and 5x5 1->64 at 224x224: 0.95 and 0.9 of the time). Else the
 * weights of 64 steps later, which near a panel's end are the next one's: it pays where
 * they come from L3 and every one is used for 36 to 49 pixels only (the last stage of a ResNet: 4
 * to 10 % of peak), so only where a panel's part is no small piece of L1, or where all of them are
 * more than half of L2; else the prefetch hits what is being read. Blocks of few rows leave it to
 * the hardware: they wait for memory, which brings four panels in order sooner than with what is
 * asked for beside (4x768 x 3072 from memory: 0.8 of the time). */
enum { WEIGHT_AHEAD = 64 * IPEX_PANEL * 4, WEIGHT_AHEAD_LEAST_K = 256 };

/* What is left to do of the block before: its activation, if that is no clamp, or its sums. */
struct conv_pending {
#ifdef CONV_SUMS
    struct sums sums;
#else
    struct ipex_act_rows act;
#endif
#ifdef CONV_ROUNDS
    uint16_t *to; /* NULL, or where it goes, rounded: rows `row` apart, the second half of a block's
                     `rows` from `half` on, blocks `next` apart */
    int64_t rows, row, half, next;
#endif
};

/* So many register blocks of the same shape, one behind the other along a line. Of the first one:
 * rows [0, HALF) start at x, rows [HALF, MR) at x + x_half, with HALF half of MR rounded up: the
 * second half is either the following pixels or, where lines are short, the same pixels of the next
 * line. All strides in floats. */
struct conv_block {
    const void *x;         /* first row's first k: of CONV_X, or widened */
    const float *w;        /* first panel's first k */
    const float *init;     /* bias (strides 0), or y where a chain is taken up again */
    const float *residual; /* NULL, or added to the finished chain */
    float *y;
    int64_t x_row, x_half; /* between rows, and to the second half's first row */
    int64_t x_kw, x_kh;    /* to the next tap, and from a kernel row's last tap to the next row */
    int64_t w_panel, w_kw, w_kh;                     /* as x_kw and x_kh */
    uintptr_t ahead_first, ahead_others, ahead_base; /* see prefetch_distance */
    uintptr_t far_first, far_step;                   /* see fetch_next */
    int64_t init_row, init_half, y_row, y_half, r_row, r_half;
    int32_t k, segments;
    int32_t segments_w, tap_w; /* taps in a kernel row, and the first segment's place in it */
    int32_t columns;           /* of the last panel: 1 to 16 */
#ifdef CONV_PANELS_APART
    int64_t panel_columns; /* from one panel's columns to the next one's, of blocks of so many */
#endif
    bool two;                                      /* whether the second half is of the next line */
    int32_t count;                                 /* of blocks */
    int64_t x_next, init_next, y_next, r_next;     /* from a block to the next one */
    uintptr_t ahead_first_next, ahead_others_next; /* and what it prefetches */
    int32_t block;                                 /* of the part's blocks of rows */
    float lo, hi;                                  /* clamp of the store */
    bool clamps_low, clamps_high; /* whether there is such a bound: less code than comparing it */
    int32_t act;                  /* a swish or leaky_relu that blocks may apply, or none */
    float act_a, act_b;
    struct conv_pending pending;
#ifdef CONV_ROUNDS
    uint16_t *y_bf16; /* NULL, or where y goes, addressed as y */
    const uint16_t *residual_bf16;
    uint16_t *to; /* where blocks that round (CONV_STORES_BF16) leave their rows instead of in y */
    struct conv_stage *stage; /* NULL: neither is bf16 */
#endif
#ifdef CONV_SUMS
    int64_t y_at, residual_at; /* elements from the arguments' y and residual to the walk's place */
    struct sums_bounds bounds;
    struct conv_stage *stage;           /* with CONV_STAGES_SUMS */
    const struct ipex_conv_args *makes; /* NULL: sums do not become bytes, or not simply */
    int64_t column;                     /* of the first panel's, from init on */
#endif
};

/* The block called which: a switch, since each pointer of a table would be relocated (32 bytes of
 * the library). */
typedef void (*conv_block_fn)(const struct conv_block *, int64_t which);

/* Of what is stored. A bound that is none would cost an instruction for every vector, of units that
 * multiply on Intel's CPUs (Cascade Lake by LLVM's model of it: blocks of 64 of K take 0.976 of the
 * time without bounds, 0.99 with one). */
static inline void set_clamp(struct conv_block *b, float lo, float hi) {
    b->lo = lo, b->hi = hi;
    b->clamps_low = lo != -__builtin_inff();
    b->clamps_high = hi != __builtin_inff();
}

/* b is now what lies one block further along the line. */
static inline void to_next_block(struct conv_block *b) {
    b->x = (const BLOCK_X *)b->x + b->x_next;
    b->init += b->init_next;
#ifdef CONV_STORES_BF16
    if (b->to)
        b->to += b->y_next;
#endif
    b->y += b->y_next;
    if (b->residual)
        b->residual += b->r_next;
    b->ahead_first += b->ahead_first_next;
    b->ahead_others += b->ahead_others_next;
}

#ifdef CONV_WIDENS
/* Where a segment begins. */
struct widen_place {
    const CONV_X *x;
    const float *w;
    int32_t tap_w;
};

static inline void next_segment(const struct conv_block *b, struct widen_place *at) {
    const bool row_ends = ++at->tap_w == b->segments_w;
    at->x += row_ends ? b->x_kh : b->x_kw;
    at->w += row_ends ? b->w_kh : b->w_kw;
    at->tap_w = row_ends ? 0 : at->tap_w;
}
#endif

#ifdef CONV_SUMS
/* Of a block: rows of sums, `row` words apart, of columns from `column` of its first panel on, and
 * where their results go. */
static inline struct sums block_sums(const struct ipex_conv_args *args, const struct conv_block *b,
                                     float *sum, int64_t rows, int64_t row, int64_t column,
                                     int64_t columns) {
    return (struct sums){
        .bounds = b->bounds,
        .sum = sum,
        .rows = rows,
        .row = row,
        .columns = columns,
        .column = b->init - args->bias + column,
        .y = b->y_at + column,
        .y_row = b->y_row,
        .y_half = b->y_half,
        .residual = b->residual_at + column,
        .r_row = b->r_row,
        .r_half = b->r_half,
    };
}
#endif

/* LOWS and HIGHS bound all rows of a block from `lo` and to `hi`. Out of the way of what else it
 * does: gcc would keep accumulators of bf16 on the stack (kernels/x86/conv_bf16_avx512.c). */
#define CLAMP(LOWS, HIGHS)                                                                         \
    if (__builtin_expect(b->clamps_low, false)) {                                                  \
        const vec lo = vec_set(b->lo);                                                             \
        LOWS                                                                                       \
    }                                                                                              \
    if (__builtin_expect(b->clamps_high, false)) {                                                 \
        const vec hi = vec_set(b->hi);                                                             \
        HIGHS                                                                                      \
    }

#ifdef CONV_STAGES_SUMS
/* Sums of a block, while the pass over those of the one before goes on: 14 rows of two panels, or 8
 * of four, or fewer of more. */
enum { STAGE_FLOATS = 32 * IPEX_PANEL };
struct conv_stage {
    _Alignas(64) float sums[2][STAGE_FLOATS];
    int32_t turn;
};
#endif

#ifdef CONV_ROUNDS
/* Where blocks of a step that reads or writes bf16 beside its products find the residual, widened,
 * and leave their results until the block behind them is done: in L1. */
#ifdef CONV_WIDENS
enum { STAGE_FLOATS = 28 * IPEX_PANEL }; /* one block: 14 rows of 2 panels at most */
#else
enum { STAGE_FLOATS = CONV_STAGED_BYTES / sizeof(float) };
#endif
struct conv_stage {
    _Alignas(64) float y[2][STAGE_FLOATS], residual[CONV_STAGED_BYTES / sizeof(float)];
    int32_t turn;
};
#endif

/* All of b's blocks; b lies where the last one does then. */
static inline void run_blocks(struct conv_block *b, conv_block_fn run_block, int64_t which) {
    run_block(b, which);
    for (int32_t left = b->count; left > 1; left--) {
        to_next_block(b);
        run_block(b, which);
    }
}

/* From a step's weights to what it prefetches: from w on where ahead is a distance (base is 0), to
 * there where it is an address (base is all ones). The first panel's weights count for the first
 * two panels, the second's for the third, and so on. */
static inline uintptr_t prefetch_distance(const struct conv_block *b, uintptr_t ahead) {
    return ahead - ((uintptr_t)b->w & b->ahead_base);
}

PREFETCHES prefetch_at(uintptr_t address) {
    _mm_prefetch((const char *)address, _MM_HINT_T0);
}

PREFETCHES prefetch(const float *w, uintptr_t distance) {
    prefetch_at((uintptr_t)w + distance);
}

static inline const CONV_X *walk_x(const struct conv_walk *walk) {
    return walk->x;
}

#ifdef CONV_ROUNDS
static __attribute__((noinline)) void round_pending(struct conv_pending *pending) {
    const struct ipex_act_rows *from = &pending->act;
    const float *x = from->y;
    for (int64_t r = 0, i = 0; r < from->rows; r++, x += from->row) {
        uint16_t *to = pending->to + row_at(pending->rows, pending->row, pending->half, i);
        int64_t c = 0;
        for (; c + LANES <= from->columns; c += LANES)
            vec_store_bf16(to + c, vec_load(x + c));
        if (c < from->columns)
            vec_store_bf16_part(to + c, from->columns - c, vec_load(x + c));
        if (++i == pending->rows)
            i = 0, pending->to += pending->next;
    }
}
#endif

/* What is left to do of the block before this one, whose stores have reached L1 by now; this one's
 * have not: loads would wait for them. */
#ifdef CONV_SUMS
static inline void finish_pending(const struct ipex_conv_args *args, struct conv_block *b) {
    if (b->pending.sums.rows > 0)
        IPEX_LEVEL(scale_sums)(args, &b->pending.sums);
    b->pending.sums.rows = 0;
}
#else
static inline void finish_pending(const struct ipex_conv_args *args, struct conv_block *b) {
    struct conv_pending *pending = &b->pending;
    (void)args;
    if (!ipex_act_is_clamp(pending->act.act))
        IPEX_LEVEL(activate)(&pending->act);
#ifdef CONV_ROUNDS
    if (pending->to)
        round_pending(pending);
    pending->to = NULL;
#endif
    pending->act.rows = 0;
}

/* Activations that are not clamps: a pass over the block before this one. */
static inline void activate(struct conv_block *b, const struct ipex_conv_args *args, float *y,
                            int64_t rows, int64_t columns) {
    finish_pending(args, b);
    b->pending.act = (struct ipex_act_rows){
        .y = y,
        .rows = rows * b->count,
        .columns = columns,
        .row = b->y_row,
        .half = b->two ? b->y_half : (rows * b->count + 1) / 2 * b->y_row,
        .act = args->act,
        .act_a = args->act_a,
        .act_b = args->act_b,
    };
}
#endif

/* Weights that come from L3 or from memory are there too late for the first block of rows that uses
 * them: at 22 GB/s two panels take as long as 14 rows compute, and memory gives half of that. So
 * every block of rows, while it computes, fetches its share of those that come next: a line for
 * either of its panels every two steps of k, at far_first from its own weights and far_step further
 * each time (ResNet-34's products of winograd by 128 channels take 0.85 of the time, MiniLM 0.95).
 */
static inline void fetch_next(const struct conv_part *part, struct conv_block *b) {
    enum { LINE = IPEX_PANEL * sizeof(float) };
    const int64_t lines = part->k_count / CONV_K_PER_ROW;
    const int64_t at = ipex_div(lines * b->block++, part->blocks);
    b->far_first = (uintptr_t)part->next * sizeof(float) + (uintptr_t)at * LINE;
    b->far_step = (uintptr_t)ipex_div_up((CONV_K_PER_ROW == 1 ? 2 : 1) * LINE, part->blocks);
}

/* What the steps of a block do not reach of the lines of y that the next block writes, where they
 * are fewer than its rows: 1x1 12->96 at 184x184 takes 0.6 of the time. */
PREFETCHES prefetch_rest(const float *ahead, int64_t steps, int64_t rows, int64_t panels) {
    if (steps >= rows)
        return;
    for (int64_t i = steps * (panels - 1); i < rows * panels; i++)
        prefetch_at((uintptr_t)(ahead + i * IPEX_PANEL));
}

/* What a block of rows begins to read or write when its chains are finished, fetched when they
 * begin: its part of the residual, or of a y that L2 does not hold (linear layers of 1024 rows take
 * 0.95 to 0.98 of the time, 1x1 256->1024 with a residual at 14x14 0.96). */
PREFETCHES fetch_y(const struct conv_block *b, int64_t rows, int64_t panels) {
    const float *y = b->residual ? b->residual : b->y;
    const int64_t row = b->residual ? b->r_row : b->y_row;
    const int64_t half = b->residual ? b->r_half : b->y_half;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t panel = 0; panel < panels; panel++)
            prefetch_at((uintptr_t)(y + row_at(rows, row, half, r) + panel * IPEX_PANEL));
}

/* How many of the panels left the next block takes; b->columns becomes those of the last one. */
static inline int64_t take_panels(const struct conv_walk *walk, struct conv_block *b, int64_t rows,
                                  int64_t panels_left, int64_t columns_left) {
    const bool joins = VEC_REGISTERS == 32 || !b->two; /* half a panel (conv_blocks_avx2.h) */
    const int64_t panels =
        walk->level->panels_for(rows, panels_left, joins ? columns_left : INT64_MAX);
    const int64_t last = columns_left - (panels - 1) * IPEX_PANEL;
    b->columns = (int32_t)ipex_smaller(last, IPEX_PANEL);
    return panels;
}

/* How many panels the blocks of a matrix of few rows have that lie apart (see walk_apart); 0: none
 * do. */
static inline int64_t panels_apart(const struct conv_walk *walk, int64_t rows, int64_t all,
                                   int64_t columns) {
#ifdef CONV_PANELS_APART
    const int64_t ret = walk->cuts->apart ? walk->level->panels_for(rows, all, columns) : 0;
    return ret >= CONV_PANELS_APART ? ret : 0;
#else
    (void)walk, (void)rows, (void)all, (void)columns;
    return 0;
#endif
}

#ifndef CONV_SUMS
/* b's panels are every `between`-th one of those that are w_panel words apart. */
static inline void set_apart(struct conv_block *b, int64_t w_panel, int64_t between) {
#ifdef CONV_PANELS_APART
    b->w_panel = between * w_panel;
    b->panel_columns = between * IPEX_PANEL;
    b->ahead_others = b->ahead_first + (uintptr_t)b->w_panel * sizeof(float);
#else
    (void)b, (void)w_panel, (void)between;
#endif
}

/* `all` panels of one block of rows, which have `columns` columns; b is the first panel's. */
static inline void walk_panels(const struct conv_walk *walk, const struct conv_part *part,
                               struct conv_block *b, int64_t rows, int64_t all, int64_t columns) {
    const struct ipex_conv_args *args = walk->args;
    const float *w = b->w, *init = b->init, *residual = b->residual;
    const void *x = b->x;
    float *y = b->y;
    const uintptr_t ahead_first = b->ahead_first;
    const int64_t w_panel = b->w_panel, wide = panels_apart(walk, rows, all, columns);
    const int64_t between = wide > 0 ? ipex_div(all, wide) : 0;
    int64_t blocks = 0;
    for (int64_t panel = 0, panels; panel < all; panel += panels) {
        const bool apart = blocks < between;
        panels =
            take_panels(walk, b, rows, apart ? wide : all - panel, columns - panel * IPEX_PANEL);
        const int64_t first = apart ? blocks++ : panel, column = first * IPEX_PANEL;
        set_apart(b, w_panel, apart ? between : 1);
        b->w = w + first * w_panel;
        b->y = y + column;
        b->init = init + column;
        b->residual = residual ? residual + column : NULL;
        if (walk->streams) {
            const float *ahead = y + rows * (args->y_pixel + column);
            b->ahead_others = part->last ? (uintptr_t)ahead : b->ahead_first;
            prefetch_rest(ahead, part->k_count * b->segments, rows, panels);
        }
        if (walk->fetches_y && part->last)
            fetch_y(b, rows, panels);
        const bool activated = walk->level->run(b, rows, panels);
        if (b->count > 1)
            b->x = x, b->ahead_first = ahead_first;
        if (!part->last || activated || ipex_act_is_clamp(args->act) || blocks < between)
            continue;
        /* Behind the last of those that lie apart, all of them. */
        activate(b, args, apart ? y : y + column, rows,
                 ((apart ? panel : 0) + panels - 1) * IPEX_PANEL + b->columns);
    }
    set_apart(b, w_panel, 1);
}
#endif

#ifdef CONV_ROUNDS
/* A block's rows of the residual become those of `stage` that lie `row` apart, and those of the
 * rows behind them are fetched. */
static __attribute__((noinline)) void stage_residual(const struct conv_block *b,
                                                     const uint16_t *from, int64_t rows,
                                                     int64_t row, int64_t columns) {
    const int64_t next = b->two ? 2 * b->r_half : rows * b->r_row;
    float *to = b->stage->residual;
    for (int32_t i = 0; i < b->count; i++, from += b->r_next)
        for (int64_t r = 0; r < rows; r++, to += row) {
            const uint16_t *at = from + row_at(rows, b->r_row, b->r_half, r);
            int64_t c = 0;
            for (; c + LANES <= columns; c += LANES) {
                prefetch_at((uintptr_t)(at + next + c));
                vec_store(to + c, vec_load_bf16(at + c));
            }
            if (c < columns)
                vec_store(to + c, vec_load_bf16_part(at + c, columns - c));
        }
}

/* Whether blocks of so many rows and panels round as they store, if nothing is left to do behind
 * them: where the level has the instruction, those that most are. */
enum { ROUNDS_FROM = 7 };
static inline bool blocks_round(const struct ipex_conv_args *args, int64_t rows, int64_t panels) {
#ifdef CONV_STORES_BF16
    return rows >= ROUNDS_FROM && panels == 2 && ipex_act_is_clamp(args->act);
#else
    (void)args, (void)rows, (void)panels;
    return false;
#endif
}

/* As fetch_y, where y is bf16: 2 panels a line. */
PREFETCHES fetch_y_bf16(const struct conv_block *b, const uint16_t *y, int64_t rows,
                        int64_t panels) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t panel = 0; panel < panels; panel += 2)
            prefetch_at((uintptr_t)(y + row_at(rows, b->y_row, b->y_half, r) + panel * IPEX_PANEL));
}

/* Strides of y (and, the same fields, of the residual) as a stage has them: rows `row` apart. */
static inline void stage_rows(int64_t rows, int64_t row, int64_t *ret_row, int64_t *ret_half,
                              int64_t *ret_next) {
    *ret_row = row, *ret_half = (rows + 1) / 2 * row, *ret_next = rows * row;
}

/* As walk_panels, where y or the residual is bf16. */
static __attribute__((noinline)) void walk_staged(const struct conv_walk *walk,
                                                  const struct conv_part *part,
                                                  struct conv_block *b, int64_t rows, int64_t all,
                                                  int64_t columns) {
    const struct ipex_conv_args *args = walk->args;
    const float *w = b->w, *init = b->init, *residual = b->residual;
    const void *x = b->x;
    float *y = b->y;
    const uintptr_t ahead_first = b->ahead_first;
    const int64_t y_row = b->y_row, y_half = b->y_half, y_next = b->y_next;
    const int64_t r_row = b->r_row, r_half = b->r_half, r_next = b->r_next;
    const int64_t stage_panels = rows > 7 ? 4 : 8; /* of the residual: blocks have 2^n <= 8 */
    const int64_t stage_row = ipex_smaller(all, stage_panels) * IPEX_PANEL;
    for (int64_t panel = 0, panels; panel < all; panel += panels) {
        const int64_t column = panel * IPEX_PANEL;
        panels = take_panels(walk, b, rows, all - panel, columns - column);
        b->w = w + panel * b->w_panel;
        b->init = init + column;
        if (walk->streams)
            b->ahead_others = b->ahead_first;
        if (b->residual_bf16 && panel % stage_panels == 0) {
            b->r_row = r_row, b->r_half = r_half, b->r_next = r_next;
            stage_residual(b, b->residual_bf16 + column, rows, stage_row,
                           ipex_smaller(columns - column, stage_row));
            stage_rows(rows, stage_row, &b->r_row, &b->r_half, &b->r_next);
        }
        b->residual = b->residual_bf16 ? b->stage->residual + panel % stage_panels * IPEX_PANEL
                      : residual       ? residual + column
                                       : NULL;
        const bool staged = b->y_bf16 && !blocks_round(args, rows, panels);
        b->to = NULL;
        b->y_row = y_row, b->y_half = y_half, b->y_next = y_next;
        if (staged) {
            b->y = b->stage->y[b->stage->turn ^= 1];
            stage_rows(rows, panels * IPEX_PANEL, &b->y_row, &b->y_half, &b->y_next);
        } else if (b->y_bf16) {
            b->to = b->y_bf16 + column;
            if (walk->fetches_y)
                fetch_y_bf16(b, b->to, rows, panels);
        } else {
            b->y = y + column;
        }
        float *written = b->y;
        const bool activated = walk->level->run(b, rows, panels);
        if (b->count > 1)
            b->x = x, b->ahead_first = ahead_first;
        if (!part->last || (!staged && (activated || ipex_act_is_clamp(args->act))))
            continue;
        activate(b, args, written, rows, (panels - 1) * IPEX_PANEL + b->columns);
        if (activated)
            b->pending.act.act = IPEX_ACT_none;
        if (staged) {
            b->pending.act.row = b->y_row;
            b->pending.act.half = (b->pending.act.rows + 1) / 2 * b->y_row;
            b->pending.to = b->y_bf16 + column, b->pending.rows = rows;
            b->pending.row = y_row, b->pending.half = y_half, b->pending.next = y_next;
        }
    }
    b->y_row = y_row, b->r_row = r_row; /* the others are every line's */
}

static inline void walk_block(const struct conv_walk *walk, const struct conv_part *part,
                              struct conv_block *b, int64_t rows, int64_t all, int64_t columns) {
    if (b->stage)
        walk_staged(walk, part, b, rows, all, columns);
    else
        walk_panels(walk, part, b, rows, all, columns);
}
#endif

#ifdef CONV_STAGES_SUMS
/* Blocks of a few rows wait for memory, which brings streams that go on for long sooner than those
 * that end with a panel: their `panels` lie a part of all apart. How many that does; what is left
 * are fewer than a block's. (4x2048 x 5632 and back: 0.74 of the time.) */
static __attribute__((noinline)) int64_t walk_apart(const struct conv_walk *walk,
                                                    struct conv_block *b, int64_t rows, int64_t all,
                                                    int64_t columns, int64_t panels) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t w_panel = b->w_panel, apart = ipex_div(all, panels);
    const float *w = b->w;
    b->w_panel = apart * w_panel;
    for (int64_t panel = 0; panel < apart; panel++) {
        b->w = w + panel * w_panel;
        b->y = b->stage->sums[b->stage->turn ^= 1];
        const int64_t first = b->init - args->bias + panel * IPEX_PANEL;
        for (int64_t i = 0; i < panels; i++) {
            prefetch_at((uintptr_t)(args->scale + first + i * apart * IPEX_PANEL));
            prefetch_at((uintptr_t)(args->bias + first + i * apart * IPEX_PANEL));
        }
        (void)walk->level->run(b, rows, panels);
        for (int64_t i = 0; i < panels; i++) {
            const int64_t column = (panel + i * apart) * IPEX_PANEL;
            finish_pending(args, b);
            b->pending.sums = block_sums(args, b, b->y + i * IPEX_PANEL, rows, panels * IPEX_PANEL,
                                         column, ipex_smaller(columns - column, IPEX_PANEL));
        }
    }
    b->w = w;
    b->w_panel = w_panel;
    return apart * panels;
}

/* As walk_panels: while a block's sums are made, those of the block before become results. */
static __attribute__((noinline)) void walk_sums(const struct conv_walk *walk, struct conv_block *b,
                                                int64_t rows, int64_t all, int64_t columns) {
    const struct ipex_conv_args *args = walk->args;
    const float *w = b->w;
    const int64_t wide = panels_apart(walk, rows, all, columns);
    int64_t panel = wide > 0 ? walk_apart(walk, b, rows, all, columns, wide) : 0;
    for (int64_t panels; panel < all; panel += panels) {
        const int64_t column = panel * IPEX_PANEL;
        panels = take_panels(walk, b, rows, all - panel, columns - column);
        b->w = w + panel * b->w_panel;
        b->y = b->stage->sums[b->stage->turn ^= 1];
        b->column = column;
        const bool made = walk->level->run(b, rows, panels);
        finish_pending(args, b);
        if (made)
            continue;
        b->pending.sums = block_sums(args, b, b->y, rows, panels * IPEX_PANEL, column,
                                     (panels - 1) * IPEX_PANEL + b->columns);
    }
}
#endif

#if defined(CONV_WIDENS)
static void walk_widened(const struct conv_walk *walk, const struct conv_part *part,
                         struct conv_block *b, int64_t rows, int64_t all, int64_t columns);
#define WALK_PANELS walk_widened
#elif defined(CONV_ROUNDS)
#define WALK_PANELS walk_block
#elif defined(CONV_SUMS)
#define WALK_PANELS(walk, part, b, rows, all, columns) walk_sums(walk, b, rows, all, columns)
#else
#define WALK_PANELS walk_panels
#endif

/* What all blocks of a part have alike; a line says which taps it takes. */
static __attribute__((noinline, cold)) struct conv_block part_block(const struct conv_walk *walk,
                                                                    const struct conv_part *part) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t w_panel = ipex_conv_panel_words(args, CONV_K_PER_ROW);
    const uintptr_t ahead =
        part->k_count < WEIGHT_AHEAD_LEAST_K && !args->panels_outside ? 0 : WEIGHT_AHEAD;
    const bool applied = part->last && ipex_act_in_blocks(args->act, args->act_a);
    struct conv_block ret = {
        .x_row = args->x_pixel,
        .x_kw = args->x_kw,
        .w_panel = w_panel,
#ifdef CONV_PANELS_APART
        .panel_columns = IPEX_PANEL,
#endif
        .w_kw = walk->w_kw,
        .ahead_first = ahead,
        .ahead_others = ahead + w_panel * sizeof(float),
        .ahead_base = walk->streams ? UINTPTR_MAX : 0,
        .init_row = part->first ? 0 : args->y_pixel,
        .y_row = args->y_pixel,
        .r_row = args->r_pixel,
        .k = (int32_t)part->k_count,
        .act = applied ? args->act : IPEX_ACT_none,
        .act_a = args->act_a,
        .act_b = args->act_b,
    };
    set_clamp(&ret, part->last ? act_low(args->act, args->act_a) : -__builtin_inff(),
              part->last ? act_high(args->act, args->act_b) : __builtin_inff());
#ifdef CONV_SUMS
    ret.bounds = ipex_k_sums_bounds__avx2(args);
    if (ret.bounds.units && args->y_u8 && !args->residual && args->middles <= 1 &&
        ipex_act_is_clamp(args->act))
        ret.makes = args;
#endif
    if (part->segments == 0) /* the bias alone: no product has made its denormals zero */
        ret.clamps_low = true;
    return ret;
}

/* A block's places in y and in the residual, so many elements from the walk's. */
static inline void take_places(const struct conv_walk *walk, const struct conv_part *part,
                               struct conv_block *b, int64_t y, int64_t residual) {
#ifndef CONV_SUMS
    b->residual = walk->residual && part->last ? walk->residual + residual : NULL;
#else
    (void)part;
#endif
#ifdef CONV_ROUNDS
    if (b->stage) {
        b->y = walk->y ? walk->y + y : NULL;
        b->y_bf16 = walk->y_bf16 ? walk->y_bf16 + y : NULL;
        b->residual_bf16 =
            walk->residual_bf16 && part->last ? walk->residual_bf16 + residual : NULL;
        return;
    }
#endif
#ifdef CONV_SUMS
    const struct ipex_conv_args *args = walk->args;
    const int64_t group = walk->job->group * args->n;
    b->y_at = walk->job->image * args->y_image + group + y;
    b->residual_at = walk->job->image * args->r_image + group + residual;
#else
    b->y = walk->y + y;
#endif
}

/* Pixels of lines from `first` on. */
static inline void walk_pixels(const struct conv_walk *walk, const struct conv_part *part,
                               const struct conv_lines *lines, struct conv_block *b, int64_t line,
                               int64_t first, int64_t begin, int64_t end) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t column = begin * IPEX_PANEL;
    const struct ipex_conv_run *run = &lines->run;
    const struct ipex_line_cut *cut = &lines->cut;
    const bool two = b->two = lines->count == 2;
    if (args->w_line)
        b->block = 0;
    b->segments = (int32_t)run->segments;
    b->tap_w = (int32_t)run->tap_w;
    if (b->segments_w != run->taps) {
        b->segments_w = (int32_t)run->taps;
        b->x_kh = args->x_kh - (run->taps - 1) * args->x_kw;
        b->w_kh = walk->w_kh - (run->taps - 1) * walk->w_kw;
    }
    for (int64_t i = 0, pixel = first, rows, count; i < cut->count;
         i += count, pixel += rows * count) {
        const int64_t alike = i < cut->larger ? cut->larger - i : cut->count - i;
        rows = cut->small + (i < cut->larger ? cut->more : 0);
        count = alike < walk->cuts->at_once ? alike : walk->cuts->at_once;
        b->count = (int32_t)count;
        if (count > 1) {
            b->x_next = rows * args->x_pixel;
            b->y_next = rows * args->y_pixel;
            b->r_next = rows * args->r_pixel;
            b->init_next = part->first ? 0 : b->y_next;
            b->ahead_first_next = walk->streams ? (uintptr_t)b->x_next * sizeof(CONV_X) : 0;
            b->ahead_others_next = walk->streams ? (uintptr_t)b->y_next * sizeof(float) : 0;
        }
        const int64_t half = (rows + 1) / 2;
        const CONV_X *x = walk_x(walk) + line * args->x_line + pixel * args->x_pixel + run->x;
        b->x = x;
        b->x_half = two ? args->x_line : half * args->x_pixel;
        b->w = walk->w + run->w + begin * b->w_panel + line * args->w_line;
        const int64_t y = line * args->y_line + pixel * args->y_pixel + column;
        const int64_t residual = line * args->r_line + pixel * args->r_pixel + column;
        take_places(walk, part, b, y, residual);
        b->y_half = two ? args->y_line : half * args->y_pixel;
        b->init = part->first ? walk->bias + column : b->y;
        b->init_half = part->first ? 0 : b->y_half;
        b->r_half = two ? args->r_line : half * args->r_pixel;
        if (walk->streams)
            b->ahead_first = (uintptr_t)(x + rows * args->x_pixel);
        if (part->next && (run->segments == part->segments || ipex_conv_leaves_out_taps(args)))
            fetch_next(part, b);
        else
            b->far_step = 0;
        WALK_PANELS(walk, part, b, rows * lines->count, end - begin, args->n - column);
    }
}

/* Where taps are left out, or columns, lines come in pieces. */
static __attribute__((noinline, unused)) void walk_all_lines(const struct conv_walk *walk,
                                                             const struct conv_part *part,
                                                             struct conv_block *b, int64_t begin,
                                                             int64_t end) {
    const struct ipex_conv_args *args = walk->args;
    const bool apart = ipex_conv_leaves_out_taps(args) || args->columns;
    for (int64_t line = walk->job->line; line < walk->job->line_end;) {
        struct conv_lines lines = ipex_conv_lines(walk, part, line);
        const struct conv_lines all = lines;
        for (int64_t first = 0, next = args->pixels; first < args->pixels; first = next) {
            if (apart)
                next = ipex_conv_piece(walk, part, &all, first, &lines);
            if (lines.cut.count > 0)
                walk_pixels(walk, part, &lines, b, line, first, begin, end);
        }
        line += lines.count;
    }
    finish_pending(args, b);
}

#if defined(CONV_ROUNDS) || defined(CONV_STAGES_SUMS)
/* With a stage: 7 KiB of stack where x is widened (22 and 14 KiB), 4 of sums, else 12. */
static __attribute__((noinline)) void walk_all_staged(const struct conv_walk *walk,
                                                      const struct conv_part *part,
                                                      struct conv_block *b, int64_t begin,
                                                      int64_t end) {
    struct conv_stage stage;
    stage.turn = 0;
    b->stage = &stage;
    walk_all_lines(walk, part, b, begin, end);
}
#endif

static __attribute__((unused)) void
walk_lines(const struct conv_walk *walk, const struct conv_part *part, int64_t begin, int64_t end) {
    struct conv_block b = part_block(walk, part);
#ifdef CONV_ROUNDS
    if (walk->y_bf16 || walk->residual_bf16) {
        walk_all_staged(walk, part, &b, begin, end);
        return;
    }
#endif
#ifdef CONV_STAGES_SUMS
    walk_all_staged(walk, part, &b, begin, end);
#else
    walk_all_lines(walk, part, &b, begin, end);
#endif
}

#endif
