/* SPDX-License-Identifier: Apache-2.0 */
/* How a convolution job is walked: panels, parts of K, lines, blocks of rows. The same at every
 * vector level; a level brings its register blocks and the policy that chooses among them. Static
 * inline only: each level compiles its own copy. */
#ifndef IPEX_KERNELS_X86_CONV_WALK_H
#define IPEX_KERNELS_X86_CONV_WALK_H

#include "kernels/x86/rows.h"
#include "kernels/x86/vec_math.h"

/* What x and a row of a tile hold; kernels on bf16 say so before they include this file. Weights
 * are counted in words of 4 bytes: `floats` of w. */
#ifndef CONV_X
#define CONV_X         float
#define CONV_K_PER_ROW 1
#endif
/* Register blocks read x in place; kernels/x86/conv_widen.h says otherwise. */
#ifndef CONV_WIDENS
#define BLOCK_X CONV_X
enum { PANELS_ONCE = 0 };
#endif

/* What a step of k prefetches, a line of 64 bytes for every panel. Where weights stay in L2, and x
 * and y do not: x of the next block, from its first element on, which 16 pixels of a dense x just
 * fill, and for every panel but the first its part of y of the next block, whose stores would else
 * wait for L3 (1x1 48->96 at 92x92 and 5x5 1->64 at 224x224: 0.95 and 0.9 of the time). Else the
 * weights of 64 steps later, which near a panel's end are the next one's: it pays where
 * they come from L3 and every one is used for 36 to 49 pixels only (the last stage of a ResNet: 4
 * to 10 % of peak), so only where a panel's part is no small piece of L1, or where all of them are
 * more than half of L2; else the prefetch hits what is being read. Blocks of 1 or 2 rows leave it
 * to the hardware. */
enum { WEIGHT_AHEAD = 64 * IPEX_PANEL * 4, WEIGHT_AHEAD_LEAST_K = 256 };

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
    bool two;                  /* whether the second half is of the next line */
    int32_t count;             /* of blocks */
    int64_t x_next, init_next, y_next, r_next;     /* from a block to the next one */
    uintptr_t ahead_first_next, ahead_others_next; /* and what it prefetches */
    int32_t block;                                 /* of the part's blocks of rows */
    float lo, hi;                                  /* clamp of the store */
    int32_t act; /* hard_swish or its affine form, or none: blocks may apply them */
    float act_a, act_b;
    struct ipex_act_rows pending; /* of the block before: its activation, which is no clamp */
};

typedef void (*conv_block_fn)(const struct conv_block *);

/* b is now what lies one block further along the line. */
static inline void to_next_block(struct conv_block *b) {
    b->x = (const BLOCK_X *)b->x + b->x_next;
    b->init += b->init_next;
    b->y += b->y_next;
    if (b->residual)
        b->residual += b->r_next;
    b->ahead_first += b->ahead_first_next;
    b->ahead_others += b->ahead_others_next;
}

/* All of b's blocks; b lies where the last one does then. */
static inline void run_blocks(struct conv_block *b, conv_block_fn block) {
    block(b);
    for (int32_t left = b->count; left > 1; left--) {
        to_next_block(b);
        block(b);
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

struct conv_walk;

/* What a level brings. walk: panels [begin, end) of a job; where that is walk_blocks (below), also
 * panels_for: how many panels a block of so many rows takes when so many are left, of so many
 * columns (no matter how many: where its rows are of two lines), and run: computes b's blocks, b
 * being the last one then, and says whether they applied b->act. prefetches_y: its blocks use
 * ahead_others. fetches_next: those of two panels and many rows use far_first and far_step. */
struct conv_level {
    void (*walk)(const struct conv_walk *walk, int64_t begin, int64_t end);
    int32_t max_rows, max_rows_half; /* max_rows_half: of products of up to 8 columns */
    int32_t max_rows_3;              /* of products of three panels, the last more than half */
    int64_t (*panels_for)(int64_t rows, int64_t panels_left, int64_t columns_left);
    bool (*run)(struct conv_block *b, int64_t rows, int64_t panels);
    bool prefetches_y, fetches_next;
    bool acts_at_once;
    int32_t panels_at_once; /* see blocks_at_once */
};

/* What stays the same over one part of K: `segments` whole segments from `segment` on, or `k_count`
 * elements of one. next: floats from its weights to those that are used after all of its `blocks`
 * blocks of rows; 0: nobody fetches them. */
struct conv_part {
    int64_t segment, segments, k, k_count;
    int64_t next, blocks;
    bool first, last;
};

/* How every job of a convolution is cut into register blocks: whole lines, an image's last one, and
 * two lines at once, which go together where that makes fewer, fuller blocks; and the panels that
 * are taken over all lines before the next ones. */
struct conv_cuts {
    struct ipex_line_cut line, last, pair;
    bool pairs;
    int64_t panels;
    int64_t at_once; /* see blocks_at_once */
    int64_t most;    /* rows of a block */
};

/* A job, with the bases of its image and group. */
struct conv_walk {
    const struct conv_level *level;
    const struct conv_cuts *cuts;
    const struct ipex_conv_args *args;
    const struct ipex_conv_job *job;
    const CONV_X *x;
    const float *w, *bias, *residual;
    float *y;
    int64_t w_kw, w_kh; /* from a tap's weights to the next tap's, and to the next kernel row's */
    bool streams;       /* x and y, through caches that keep the weights */
    bool fetches_y;     /* see fetch_y */
};

enum { THREE_MOST_K = 192 };

/* Rows whose distance is a multiple of 4 KiB fall into one set of an 8-way (or 12-way) L1 cache: 14
 * of them evict each other at every k, 6 leave room for the weights that pass. Three panels go into
 * one block of fewer rows where there is one and chains are short, not into two and one, which
 * loads nearly as often as it multiplies (1x1 16->48 at 3x96, 32->48 at 184x184: 0.9 of the time,
 * 384->48 at 13x13: 1.02); unless 256 bits hold the last one, which cost half where 512 bits take
 * two passes. */
static inline int64_t most_rows(const struct conv_level *level, const struct ipex_conv_args *args) {
    const bool three = args->n > 5 * IPEX_PANEL / 2 && args->n <= 3 * IPEX_PANEL &&
                       ipex_conv_depth(args) <= THREE_MOST_K;
    const int64_t most = args->n <= IPEX_PANEL / 2 ? level->max_rows_half
                         : three                   ? level->max_rows_3
                                                   : level->max_rows;
    const bool in_place = sizeof(BLOCK_X) == sizeof(CONV_X);
    return in_place && args->x_pixel * (int64_t)sizeof(CONV_X) % 4096 == 0 && most > 6 ? 6 : most;
}

/* Activations that are not clamps: a pass over the block before this one, whose stores have reached
 * L1 by now. This one's have not: loads would wait for them. */
static inline void activate(struct conv_block *b, const struct ipex_conv_args *args, float *y,
                            int64_t rows, int64_t columns) {
    IPEX_LEVEL(activate)(&b->pending);
    b->pending = (struct ipex_act_rows){
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

/* What a line takes of a part. */
static inline struct ipex_conv_run line_run(const struct conv_walk *walk,
                                            const struct conv_part *part, int64_t line) {
    struct ipex_conv_run ret =
        ipex_conv_run(walk->args, part->segment, part->segments, line, walk->w_kh, walk->w_kw);
    ret.x += part->k;
    ret.w += part->k / CONV_K_PER_ROW * IPEX_PANEL;
    return ret;
}

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
    b->far_step = (uintptr_t)ipex_div_up(2 / CONV_K_PER_ROW * LINE, part->blocks);
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
enum { FETCH_Y_LEAST_K = 128 };

static inline bool fetches_y(const struct ipex_conv_args *args, bool streams) {
    const int64_t y_bytes = (int64_t)sizeof(float) * args->images * args->lines * args->y_line;
    return !streams && !args->w_line && ipex_conv_depth(args) >= FETCH_Y_LEAST_K &&
           (args->residual || y_bytes > args->cache_l2);
}

PREFETCHES fetch_y(const struct conv_block *b, int64_t rows, int64_t panels) {
    const float *y = b->residual ? b->residual : b->y;
    const int64_t row = b->residual ? b->r_row : b->y_row;
    const int64_t half = b->residual ? b->r_half : b->y_half;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t panel = 0; panel < panels; panel++)
            prefetch_at((uintptr_t)(y + row_at(rows, row, half, r) + panel * IPEX_PANEL));
}

/* `all` panels of one block of rows, which have `columns` columns; b is the first panel's. */
static inline void walk_panels(const struct conv_walk *walk, const struct conv_part *part,
                               struct conv_block *b, int64_t rows, int64_t all, int64_t columns) {
    const struct ipex_conv_args *args = walk->args;
    const float *w = b->w, *init = b->init, *residual = b->residual;
    const void *x = b->x;
    float *y = b->y;
    const uintptr_t ahead_first = b->ahead_first;
    for (int64_t panel = 0, panels; panel < all; panel += panels) {
        const int64_t column = panel * IPEX_PANEL;
        panels = walk->level->panels_for(rows, all - panel, b->two ? INT64_MAX : columns - column);
        const int64_t left = columns - (panel + panels - 1) * IPEX_PANEL;
        b->w = w + panel * b->w_panel;
        b->y = y + column;
        b->init = init + column;
        b->residual = residual ? residual + column : NULL;
        b->columns = left < IPEX_PANEL ? (int32_t)left : IPEX_PANEL;
        if (walk->streams) {
            const float *ahead = y + rows * (args->y_pixel + panel * IPEX_PANEL);
            b->ahead_others = part->last ? (uintptr_t)ahead : b->ahead_first;
            prefetch_rest(ahead, part->k_count * b->segments, rows, panels);
        }
        if (walk->fetches_y && part->last)
            fetch_y(b, rows, panels);
        const bool activated = walk->level->run(b, rows, panels);
        if (b->count > 1)
            b->x = x, b->ahead_first = ahead_first;
        if (part->last && !activated && !act_is_clamp(args->act))
            activate(b, args, y + column, rows, (panels - 1) * IPEX_PANEL + b->columns);
    }
}

#ifdef CONV_WIDENS
static void walk_widened(const struct conv_walk *walk, const struct conv_part *part,
                         struct conv_block *b, int64_t rows, int64_t all, int64_t columns);
#define WALK_PANELS walk_widened
#else
#define WALK_PANELS walk_panels
#endif

/* What all blocks of a part have alike; a line says which taps it takes. */
static inline struct conv_block part_block(const struct conv_walk *walk,
                                           const struct conv_part *part) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t w_panel = ipex_conv_panel_words(args, CONV_K_PER_ROW);
    const uintptr_t ahead =
        part->k_count < WEIGHT_AHEAD_LEAST_K && !args->panels_outside ? 0 : WEIGHT_AHEAD;
    const bool swish =
        part->last && (args->act == IPEX_ACT_hard_swish || args->act == IPEX_ACT_hard_swish_affine);
    return (struct conv_block){
        .x_row = args->x_pixel,
        .x_kw = args->x_kw,
        .w_panel = w_panel,
        .w_kw = walk->w_kw,
        .ahead_first = ahead,
        .ahead_others = ahead + w_panel * sizeof(float),
        .ahead_base = walk->streams ? UINTPTR_MAX : 0,
        .init_row = part->first ? 0 : args->y_pixel,
        .y_row = args->y_pixel,
        .r_row = args->r_pixel,
        .k = (int32_t)part->k_count,
        .lo = part->last ? act_low(args->act, args->act_a) : -__builtin_inff(),
        .hi = part->last ? act_high(args->act, args->act_b) : __builtin_inff(),
        .act = swish ? args->act : IPEX_ACT_none,
        .act_a = args->act_a,
        .act_b = args->act_b,
    };
}

/* Pixels of one line, or of two short ones (`lines` = 2), from `first` on. */
static inline void walk_pixels(const struct conv_walk *walk, const struct conv_part *part,
                               const struct ipex_conv_run *run, const struct ipex_line_cut *cut,
                               struct conv_block *b, int64_t line, int64_t lines, int64_t first,
                               int64_t begin, int64_t end) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t column = begin * IPEX_PANEL;
    const bool two = b->two = lines == 2;
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
        rows = cut->small + (i < cut->larger);
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
        const CONV_X *x = walk->x + line * args->x_line + pixel * args->x_pixel + run->x;
        b->x = x;
        b->x_half = two ? args->x_line : half * args->x_pixel;
        b->w = walk->w + run->w + begin * b->w_panel + line * args->w_line;
        b->y = walk->y + line * args->y_line + pixel * args->y_pixel + column;
        b->y_half = two ? args->y_line : half * args->y_pixel;
        b->init = part->first ? walk->bias + column : b->y;
        b->init_half = part->first ? 0 : b->y_half;
        b->r_half = two ? args->r_line : half * args->r_pixel;
        b->residual = walk->residual && part->last
                          ? walk->residual + line * args->r_line + pixel * args->r_pixel + column
                          : NULL;
        if (walk->streams)
            b->ahead_first = (uintptr_t)(x + rows * args->x_pixel);
        if (part->next)
            fetch_next(part, b);
        WALK_PANELS(walk, part, b, rows * lines, end - begin, args->n - column);
    }
}

static inline bool same_run(struct ipex_conv_run a, struct ipex_conv_run b) {
    return a.segments == b.segments && a.w == b.w;
}

/* Two lines that take the same segments go together, each with half a block's rows in each line,
 * where cuts->pairs says so. Where taps are left out, a line comes in runs of pixels that take the
 * same ones. */
static __attribute__((noinline, unused)) void
walk_lines(const struct conv_walk *walk, const struct conv_part *part, int64_t begin, int64_t end) {
    const struct ipex_conv_args *args = walk->args;
    const struct conv_cuts *cuts = walk->cuts;
    const bool apart = ipex_conv_leaves_out_taps(args);
    struct conv_block b = part_block(walk, part);
    for (int64_t line = walk->job->line, lines; line < walk->job->line_end; line += lines) {
        const bool whole = ipex_conv_line_pixels(args, line) == args->pixels;
        const struct ipex_conv_run all = line_run(walk, part, line);
        const bool two = cuts->pairs && whole && line + 1 < walk->job->line_end &&
                         ipex_conv_line_pixels(args, line + 1) == args->pixels &&
                         same_run(all, line_run(walk, part, line + 1));
        struct ipex_line_cut cut = two ? cuts->pair : whole ? cuts->line : cuts->last;
        struct ipex_conv_run run = all;
        lines = two ? 2 : 1;
        for (int64_t first = 0, next = args->pixels; first < args->pixels; first = next) {
            if (apart) {
                run = ipex_conv_pixel_run(args, &all, first, walk->w_kw, &next);
                cut = ipex_cut_line(next - first, cuts->most);
            }
            walk_pixels(walk, part, &run, &cut, &b, line, lines, first, begin, end);
        }
    }
    if (b.pending.rows > 0)
        IPEX_LEVEL(activate)(&b.pending);
}

/* Blocks of rows that use the same weights one after the other, if all lines are whole. */
static inline int64_t row_blocks(const struct conv_walk *walk) {
    const int64_t lines = walk->job->line_end - walk->job->line;
    const struct conv_cuts *cuts = walk->cuts;
    if (walk->args->w_line)
        return cuts->line.count;
    if (ipex_conv_leaves_out_taps(walk->args))
        return lines * ipex_conv_pixel_blocks(walk->args, cuts->most);
    return cuts->pairs ? ipex_div_up(lines, 2) * cuts->pair.count : lines * cuts->line.count;
}

static inline bool fetches(const struct conv_level *level, const struct ipex_conv_args *args) {
    return level->fetches_next && args->weights_far;
}

/* conv_part's next: the next line's own weights, or the next part of K, else the next panels, else
 * what lies behind these in the file: another node's weights. */
static inline int64_t next_weights(const struct conv_walk *walk, const struct conv_part *part,
                                   int64_t begin, int64_t end) {
    const struct ipex_conv_args *args = walk->args;
    if (!fetches(walk->level, args) || part->blocks < 2)
        return 0;
    if (args->w_line)
        return args->w_line;
    const int64_t k = part->k / CONV_K_PER_ROW * IPEX_PANEL;
    if (part->last)
        return (end - begin) * ipex_conv_panel_words(args, CONV_K_PER_ROW) -
               part->segment * walk->w_kw - k;
    return part->k + part->k_count < args->k ? part->k_count / CONV_K_PER_ROW * IPEX_PANEL
                                             : part->segments * walk->w_kw - k;
}

/* Cuts K so that the weights of panels [begin, end) stay in half of L2 while the lines go by: into
 * groups of segments, or inside a segment where one is too long. */
static inline void walk_parts(const struct conv_walk *walk, int64_t begin, int64_t end) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t segments = (int64_t)args->segments_h * args->segments_w;
    int64_t limit = ipex_div(args->cache_l2 / 2 * CONV_K_PER_ROW,
                             (end - begin) * IPEX_PANEL * (int64_t)sizeof(float));
    if (limit < IPEX_TILE_ROWS)
        limit = IPEX_TILE_ROWS;
    if (args->residual == args->y) /* a parked chain would overwrite it */
        limit = segments * args->k;
    /* Segments in a part; 0: cut inside segments. */
    const int64_t whole = ipex_conv_part_segments(args, ipex_div(limit, args->k));
    const int64_t cuts = whole ? 1 : ipex_div_up(args->k, limit);
    const int64_t step = ipex_div_up(ipex_div_up(args->k, cuts), IPEX_TILE_ROWS) * IPEX_TILE_ROWS;
    struct conv_part part = {.first = true, .last = true, .blocks = row_blocks(walk)};
    if (segments == 0) /* the bias alone */
        walk_lines(walk, &part, begin, end);
    for (part.segment = 0; part.segment < segments; part.segment += part.segments) {
        part.segments = whole ? whole : 1;
        if (part.segments > segments - part.segment)
            part.segments = segments - part.segment;
        for (part.k = 0; part.k < args->k; part.k += part.k_count) {
            part.k_count = whole || step > args->k - part.k ? args->k - part.k : step;
            part.first = part.segment == 0 && part.k == 0 && !args->resume;
            part.last =
                part.segment + part.segments == segments && part.k + part.k_count == args->k;
            part.next = next_weights(walk, &part, begin, end);
            walk_lines(walk, &part, begin, end);
        }
    }
}

/* Panels that are taken over all lines before the next ones: all, or with panels_outside as many as
 * half of L2 holds with their whole K, at least one block's. Where the next ones are fetched
 * meanwhile, an eighth: the first ones are fetched by nobody. */
static inline int64_t panels_at_once(const struct conv_level *level,
                                     const struct ipex_conv_args *args,
                                     const struct conv_cuts *cuts) {
    const int64_t panels = ipex_conv_panels(args);
    if (!args->panels_outside || args->w_line)
        return panels;
    if (PANELS_ONCE > 0 && args->residual != args->y)
        return PANELS_ONCE;
    const int64_t panel_bytes =
        ipex_conv_depth(args) * IPEX_PANEL * (int64_t)sizeof(float) / CONV_K_PER_ROW;
    const int64_t cache = fetches(level, args) ? args->cache_l2 / 8 : args->cache_l2 / 2;
    const int64_t fit = ipex_div(cache, panel_bytes);
    const int64_t least =
        level->panels_for(cuts->pairs ? 2 * cuts->pair.small : cuts->line.small, panels, INT64_MAX);
    return fit > least ? ipex_div(fit, least) * least : least;
}

static __attribute__((noinline, unused)) void walk_blocks(const struct conv_walk *walk,
                                                          int64_t begin, int64_t end) {
    const int64_t step = walk->cuts->panels;
    for (int64_t panel = begin; panel < end; panel += step)
        walk_parts(walk, panel, panel + step < end ? panel + step : end);
}

/* Blocks of rows that go through a set of panels before the next set does: what a block costs
 * beside its products is mostly the walk to it (1x1 8->24 at 12x96 with AVX2: half of the time).
 * Their x stays in L1 meanwhile, and their y where an activation goes over it. */
enum { AT_ONCE_BYTES = 8192 };

static inline int64_t blocks_at_once(const struct conv_level *level,
                                     const struct ipex_conv_args *args,
                                     const struct conv_cuts *cuts, bool streams) {
    const bool clamp = act_is_clamp(args->act), in_place = sizeof(BLOCK_X) == sizeof(CONV_X);
    const bool few =
        ipex_conv_panels(args) <= level->panels_at_once && (clamp || level->acts_at_once);
    const int64_t depth = ipex_conv_depth(args);
    const bool rest = streams && depth <= level->max_rows; /* prefetch_rest */
    if (!in_place || !few || rest || fetches(level, args) || fetches_y(args, streams))
        return 1;
    const int64_t rows = cuts->pairs ? 2 * cuts->pair.small : cuts->line.small;
    const int64_t x = depth * (int64_t)sizeof(CONV_X);
    const int64_t y = clamp ? 0 : args->n * (int64_t)sizeof(float);
    const int64_t bytes = rows * (x > y ? x : y);
    return 0 < bytes && bytes < AT_ONCE_BYTES ? ipex_div(AT_ONCE_BYTES, bytes) : 1;
}

static inline bool conv_streams(const struct conv_level *level, const struct ipex_conv_args *args) {
    const int64_t weights = (int64_t)args->segments_h * args->segments_w *
                            ipex_conv_segment_words(args, CONV_K_PER_ROW) * 4;
    int64_t line = args->x_line * (int64_t)sizeof(CONV_X);
    if (level->prefetches_y)
        line += args->y_line * (int64_t)sizeof(float);
    return !args->w_line && weights <= args->cache_l2 / 2 && args->lines * line > args->cache_l2;
}

/* For levels whose walk is walk_blocks. Two lines go together where 7 pixels and at most 6 rows are
 * 3 + 3, 2 + 2, 2 + 2 instead of 4, 3, 4, 3; not where x and y stream: what is prefetched follows
 * one line (1x1 16->32 at 368x368: 1.4 of the time). */
static __attribute__((noinline, unused)) struct conv_cuts
conv_cuts(const struct conv_level *level, const struct ipex_conv_args *args, bool streams) {
    if (level->panels_for == NULL)
        return (struct conv_cuts){.pairs = false};
    const int64_t most = most_rows(level, args);
    struct conv_cuts ret = {
        .line = ipex_cut_line(args->pixels, most),
        .last = ipex_cut_line(args->last_pixels, most),
        .pair = ipex_cut_line(args->pixels, most / 2),
        .most = most,
    };
    ret.pairs = !streams && !args->w_line && !ipex_conv_leaves_out_taps(args) &&
                ret.pair.count < 2 * ret.line.count;
    ret.panels = panels_at_once(level, args, &ret);
    ret.at_once = blocks_at_once(level, args, &ret, streams);
    return ret;
}

/* A kernel's whole body. */
static __attribute__((noinline, unused)) void conv_jobs(const struct conv_level *level,
                                                        const struct ipex_conv_args *args,
                                                        int64_t job_begin, int64_t job_end) {
    const bool streams = conv_streams(level, args), fetched = fetches_y(args, streams);
    const struct conv_cuts cuts = conv_cuts(level, args, streams);
    const int64_t w_kw = ipex_conv_segment_words(args, CONV_K_PER_ROW);
    const int64_t w_kh = args->segments_w * w_kw;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_job(args, j);
        const int64_t column = job.group * args->n;
        struct conv_walk walk = {
            .level = level,
            .cuts = &cuts,
            .args = args,
            .job = &job,
            .x = (const CONV_X *)args->x + job.image * args->x_image + job.group * args->x_group,
            .w = (const float *)args->w + job.group * args->segments_h * w_kh,
            .bias = args->bias + column,
            .y = args->y + job.image * args->y_image + column,
            .streams = streams,
            .fetches_y = fetched,
            .w_kw = w_kw,
            .w_kh = w_kh,
        };
        if (args->residual)
            walk.residual = args->residual + job.image * args->r_image + column;
        level->walk(&walk, job.panel, job.panel_end);
    }
}

#endif
