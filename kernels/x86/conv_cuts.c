/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts convolutions, for all levels. */
#include "kernels/x86/conv_cuts.h"

#include "kernels/x86/activate.h"
#include "kernels/x86/conv_few.h"

enum { THREE_MOST_K = 192 };

/* Rows whose distance is a multiple of 4 KiB fall into one set of the L1 cache: 14 of them evict
 * each other at every k; where there may be 8 ways, 6 leave room for the weights that pass. Three
 * panels go into one block of fewer rows where there is one and chains are short, not into two and
 * one, which loads nearly as often as it multiplies (1x1 16->48 at 3x96, 32->48 at 184x184: 0.9 of
 * the time, 384->48 at 13x13: 1.02); unless 256 bits hold the last one, which cost half where 512
 * bits take two passes. */
static int64_t most_rows(const struct conv_level *level, const struct ipex_conv_args *args) {
    /* Few columns of a last panel are on their own. */
    const int64_t n =
        args->few && args->n > IPEX_PANEL ? args->n / IPEX_PANEL * IPEX_PANEL : args->n;
    const bool three =
        n > 5 * IPEX_PANEL / 2 && n <= 3 * IPEX_PANEL && ipex_conv_depth(args) <= THREE_MOST_K;
    const int64_t most = n <= IPEX_PANEL / 2 ? level->max_rows_half
                         : three             ? level->max_rows_3
                                             : level->max_rows;
    const bool conflicts = ipex_rows_share_set(args->x_pixel * level->x_size);
    if (level->panels_widened > 0) /* x is not read where it lies */
        return most;
    return ipex_smaller(args->most_rows ? args->most_rows : conflicts ? 6 : most, most);
}

static bool same_run(struct ipex_conv_run a, struct ipex_conv_run b) {
    return a.segments == b.segments && a.w == b.w;
}

/* What a line takes of a part. */
static struct ipex_conv_run line_run(const struct conv_walk *walk, const struct conv_part *part,
                                     int64_t line) {
    struct ipex_conv_run ret =
        ipex_conv_run(walk->args, part->segment, part->segments, line, walk->w_kh, walk->w_kw);
    ret.x += part->k;
    ret.w += part->k / walk->level->k_per_row * IPEX_PANEL;
    return ret;
}

static struct ipex_line_cut cut_line(const struct conv_level *level, int64_t pixels, int64_t most) {
    return level->fills ? ipex_fill_line(pixels, most) : ipex_cut_line(pixels, most);
}

struct conv_lines ipex_conv_lines(const struct conv_walk *walk, const struct conv_part *part,
                                  int64_t line) {
    const struct ipex_conv_args *args = walk->args;
    const bool whole = ipex_conv_line_pixels(args, line) == args->pixels;
    const struct ipex_conv_run run = line_run(walk, part, line);
    const bool two = part->lines.pairs && whole && line + 1 < walk->job->line_end &&
                     ipex_conv_line_pixels(args, line + 1) == args->pixels &&
                     same_run(run, line_run(walk, part, line + 1));
    return (struct conv_lines){two ? 2 : 1, run,
                               two     ? part->lines.pair
                               : whole ? part->lines.line
                                       : walk->cuts->last};
}

int64_t ipex_conv_piece(const struct conv_walk *walk, const struct conv_part *part,
                        const struct conv_lines *all, int64_t first, struct conv_lines *ret) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t most = ipex_div(walk->cuts->most, all->count);
    int64_t next;
    *ret = *all;
    if (!args->columns) {
        ret->run = ipex_conv_pixel_run(args, &all->run, first, walk->w_kw, &next);
        ret->cut = cut_line(walk->level, next - first, most);
        return next;
    }
    if (part->pixel <= first && first < part->pixel_end)
        return part->pixel_end;
    next = first < part->pixel ? part->pixel : args->pixels;
    ret->run = (struct ipex_conv_run){.segments = 0, .taps = 1};
    ret->cut = cut_line(walk->level, part->first ? next - first : 0, most);
    return next;
}

/* See fetch_y (kernels/x86/conv_walk.h). What is only written matters where stores of 512 bits take
 * two passes, of which a block has more than the queue of stores has places (Zen 4: 0.98 of the
 * time of ResNet-50 and MiniLM in a batch of 8; Zen 5: 1.01 to 1.02 of those of their layers). */
enum { FETCH_Y_LEAST_K = 128 };

static bool fetches_y(const struct ipex_conv_args *args, bool streams) {
    /* Of bf16, too: half as many bytes were fetched too late. */
    const int64_t y_bytes = (int64_t)sizeof(float) * args->images * args->lines * args->y_line;
    return !streams && !args->w_line && ipex_conv_depth(args) >= FETCH_Y_LEAST_K &&
           (args->residual || (args->fetches_y && y_bytes > args->cache_l2));
}

/* Blocks of rows of a part that use all of its weights, one after the other. */
static int64_t row_blocks(const struct conv_walk *walk, const struct conv_part *part) {
    const int64_t line_end = walk->job->line_end;
    int64_t ret = 0;
    if (walk->args->w_line)
        return part->lines.line.count;
    for (int64_t line = walk->job->line; line < line_end;) {
        const struct conv_lines lines = ipex_conv_lines(walk, part, line);
        if (ipex_conv_leaves_out_taps(walk->args))
            ret += ipex_conv_pixel_blocks(walk->args, ipex_div(walk->cuts->most, lines.count));
        else if (lines.run.segments == part->segments)
            ret += lines.cut.count;
        line += lines.count;
    }
    return ret;
}

/* Not where a job has some panels of all lines: the next lines' are those that L2 has. */
static bool fetches(const struct conv_level *level, const struct ipex_conv_args *args) {
    return level->fetches_next && args->weights_far && args->panels_outside;
}

/* Words from a panel's weights to those of element k of a segment. */
static int64_t words_to(const struct conv_walk *walk, int64_t segment, int64_t k) {
    return segment * walk->w_kw + k / walk->level->k_per_row * IPEX_PANEL;
}

/* conv_part's next: the next line's own weights, or the next part of K, else the next panels, else
 * what lies behind these in the file: another node's weights. column: the part's. */
static int64_t next_weights(const struct conv_walk *walk, const struct conv_part *part,
                            const struct ipex_conv_column *column, int64_t begin, int64_t end) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t at = words_to(walk, part->segment, part->k);
    const int64_t segment = part->segment + part->segments;
    if (args->w_line)
        return args->w_line;
    if (part->last)
        return (end - begin) * ipex_conv_panel_words(args, walk->level->k_per_row) +
               words_to(walk, 0, ipex_conv_column(args, 0).k) - at;
    if (part->k + part->k_count < column->k + column->k_count)
        return words_to(walk, part->segment, part->k + part->k_count) - at;
    return segment < (int64_t)args->segments_h * args->segments_w
               ? words_to(walk, segment, column->k) - at
               : words_to(walk, 0, ipex_conv_column(args, part->column + 1).k) - at;
}

static struct conv_line_cuts line_cuts(const struct conv_level *level, const struct conv_cuts *cuts,
                                       int64_t pixels) {
    struct conv_line_cuts ret = {
        .line = cut_line(level, pixels, cuts->most),
        .pair = cut_line(level, pixels, cuts->most / 2),
    };
    ret.pairs = cuts->may_pair && ret.pair.count < 2 * ret.line.count;
    return ret;
}

/* Cuts K so that the weights of panels [begin, end) stay in half of L2 while the lines go by: into
 * groups of segments, or inside a segment where one is too long; a kernel's columns first. */
static void walk_parts(const struct conv_walk *walk, int64_t begin, int64_t end) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t segments = (int64_t)args->segments_h * args->segments_w;
    const int64_t columns = ipex_conv_columns(args), depth = ipex_div(args->k, columns);
    struct conv_part part = {.first = !args->resume, .lines = walk->cuts->lines};
    part.pixel_end = args->pixels;
    if (segments == 0) { /* the bias alone */
        part.last = true;
        walk->level->lines(walk, &part, begin, end);
        return;
    }
    int64_t limit = ipex_div(args->cache_l2 / 2 * walk->level->k_per_row,
                             (end - begin) * IPEX_PANEL * (int64_t)sizeof(float));
    if (limit < IPEX_TILE_ROWS)
        limit = IPEX_TILE_ROWS;
    if (args->residual == args->y || args->y_bf16 || walk->level->sums ||
        walk->cuts->apart) /* no place to park */
        limit = segments * depth;
    /* Segments in a part; 0: cut inside segments. */
    const int64_t whole = ipex_conv_part_segments(args, ipex_div(limit, depth));
    const int64_t cuts = whole ? 1 : ipex_div_up(depth, limit);
    const int64_t step = ipex_div_up(ipex_div_up(depth, cuts), IPEX_TILE_ROWS) * IPEX_TILE_ROWS;
    for (; part.column < columns; part.column++) {
        const struct ipex_conv_column column = ipex_conv_column(args, part.column);
        const int64_t k_end = column.k + column.k_count;
        part.pixel = column.begin;
        part.pixel_end = column.end;
        if (args->columns)
            part.lines = line_cuts(walk->level, walk->cuts, column.end - column.begin);
        for (part.segment = 0; part.segment < segments; part.segment += part.segments) {
            part.segments = ipex_smaller(whole ? whole : 1, segments - part.segment);
            for (part.k = column.k; part.k < k_end; part.k += part.k_count) {
                part.k_count = whole ? depth : ipex_smaller(step, k_end - part.k);
                part.last = part.column + 1 == columns &&
                            part.segment + part.segments == segments &&
                            part.k + part.k_count == k_end;
                part.blocks = fetches(walk->level, args) ? row_blocks(walk, &part) : 0;
                part.next = part.blocks < 2 ? 0 : next_weights(walk, &part, &column, begin, end);
                walk->level->lines(walk, &part, begin, end);
                part.first = false;
            }
        }
    }
}

/* Rows of the smaller blocks; where others are full, of these. */
static int64_t block_rows(const struct conv_cuts *cuts) {
    const struct ipex_line_cut *cut = cuts->lines.pairs ? &cuts->lines.pair : &cuts->lines.line;
    const int64_t rows = cut->small + (cut->larger > 0 && cut->more > 1 ? cut->more : 0);
    return cuts->lines.pairs ? 2 * rows : rows;
}

/* Panels that are taken over all lines before the next ones: all, or with panels_outside as many as
 * half of L2 holds with their whole K, at least one block's. Where the next ones are fetched
 * meanwhile, an eighth: the first ones are fetched by nobody. */
static int64_t panels_at_once(const struct conv_level *level, const struct ipex_conv_args *args,
                              const struct conv_cuts *cuts) {
    const int64_t panels = ipex_conv_panels(args);
    if (!args->panels_outside || args->w_line || cuts->apart)
        return panels;
    if (level->panels_widened > 0 && !level->sums && args->residual != args->y && !args->y_bf16)
        return level->panels_widened;
    const int64_t panel_bytes =
        ipex_conv_depth(args) * IPEX_PANEL * (int64_t)sizeof(float) / level->k_per_row;
    const int64_t cache = fetches(level, args) ? args->cache_l2 / 8 : args->cache_l2 / 2;
    const int64_t fit = ipex_div(cache, panel_bytes);
    const int64_t least = level->panels_for(block_rows(cuts), panels, INT64_MAX);
    return fit > least ? ipex_div(fit, least) * least : least;
}

/* Behind sets of three panels not one alone: two and two. */
void ipex_conv_walk_blocks(const struct conv_walk *walk, int64_t begin, int64_t end) {
    const int64_t step = walk->cuts->panels;
    for (int64_t panel = begin, next; panel < end; panel = next) {
        next = ipex_smaller(panel + (step == 3 && end - panel == 4 ? 2 : step), end);
        walk_parts(walk, panel, next);
    }
}

/* Blocks of rows that go through a set of panels before the next set does: what a block costs
 * beside its products is mostly the walk to it (1x1 8->24 at 12x96 with AVX2: half of the time).
 * Their x stays in L1 meanwhile, and their y where an activation goes over it. */
enum { AT_ONCE_BYTES = 16384 };

static int64_t blocks_at_once(const struct conv_level *level, const struct ipex_conv_args *args,
                              const struct conv_cuts *cuts, bool streams) {
    if (cuts->lines.line.count < 2)
        return 1;
    const bool staged = args->y_bf16 || args->residual_bf16;
    const bool clamp = ipex_act_is_clamp(args->act), in_place = level->panels_widened == 0;
    const int64_t depth = ipex_conv_depth(args);
    const bool rest = streams && depth <= level->max_rows; /* prefetch_rest */
    if (!in_place || level->sums || rest || fetches(level, args) || fetches_y(args, streams))
        return 1;
    const int64_t rows = staged ? cuts->most : block_rows(cuts); /* a stage holds all of them */
    const int64_t x = depth * level->x_size;
    const int64_t columns = staged ? ipex_conv_panels(args) * IPEX_PANEL : args->n;
    const int64_t y = clamp && !staged ? 0 : columns * (int64_t)sizeof(float);
    const int64_t bytes = rows * (x > y ? x : y);
    const int64_t most = staged ? CONV_STAGED_BYTES : AT_ONCE_BYTES;
    return 0 < bytes && bytes < most ? ipex_div(most, bytes) : 1;
}

static bool conv_streams(const struct conv_level *level, const struct ipex_conv_args *args) {
    const int64_t weights = (int64_t)args->segments_h * args->segments_w *
                            ipex_conv_segment_words(args, level->k_per_row) * 4;
    int64_t line = args->x_line * level->x_size;
    if (level->prefetches_y)
        line += args->y_line * (int64_t)sizeof(float);
    return !args->w_line && weights <= args->cache_l2 / 2 && args->lines * line > args->cache_l2;
}

/* Whether blocks have panels that lie apart, whose K is then not cut: of a matrix of few rows,
 * whose x should stay in L1 meanwhile (8x3072 x 3072 takes 1.1 of the time), but for bytes, whose K
 * never is. */
enum { APART_BYTES = 24576 };

static bool lie_apart(const struct conv_level *level, const struct ipex_conv_args *args,
                      int64_t most) {
    const int64_t x = args->pixels * ipex_conv_depth(args) * level->x_size;
    return level->panels_apart > 0 && args->lines == 1 && args->pixels <= most &&
           (level->sums || x <= APART_BYTES) &&
           level->panels_for(args->pixels, ipex_conv_panels(args), INT64_MAX) >=
               level->panels_apart;
}

/* Two lines go together where 7 pixels and at most 6 rows are 3 + 3, 2 + 2, 2 + 2 instead of 4, 3,
 * 4, 3; not where x and y stream: what is prefetched follows one line (1x1 16->32 at 368x368: 1.4
 * of the time). */
struct conv_cuts ipex_conv_cuts(const struct conv_level *level, const struct ipex_conv_args *args,
                                bool streams) {
    if (level->panels_for == NULL) /* no register blocks */
        return (struct conv_cuts){.may_pair = false};
    const int64_t most = most_rows(level, args);
    struct conv_cuts ret = {
        .last = cut_line(level, args->last_pixels, most),
        .may_pair = !streams && !args->w_line && args->lines > 1,
        .most = most,
    };
    ret.lines = line_cuts(level, &ret, args->pixels);
    if (ret.may_pair && ipex_conv_leaves_out_taps(args))
        ret.lines.pairs =
            ipex_conv_pixel_blocks(args, most / 2) < 2 * ipex_conv_pixel_blocks(args, most);
    ret.apart = lie_apart(level, args, most);
    ret.panels = panels_at_once(level, args, &ret);
    ret.at_once = blocks_at_once(level, args, &ret, streams);
    return ret;
}

/* So many lines at a time that L2 still has x when the last panel's few columns are taken. */
void ipex_conv_walk_job(struct conv_walk *walk, struct ipex_conv_job job) {
    const struct ipex_conv_args *args = walk->args;
    const int64_t last = ipex_conv_panels(args) - 1, end = job.line_end;
    const int64_t line_bytes = args->x_line * walk->level->x_size;
    const bool few = args->few && walk->level->few && job.panel_end > last;
    const int64_t lines = !few              ? end - job.line
                          : line_bytes <= 0 ? 1
                                            : ipex_div(args->cache_l2 / 4, line_bytes) + 1;
    walk->job = &job;
    for (; job.line < end; job.line = job.line_end) {
        job.line_end = ipex_smaller(job.line + lines, end);
        if (job.panel < job.panel_end - few)
            walk->level->walk(walk, job.panel, job.panel_end - few);
        if (few && !ipex_conv_few(walk, last))
            walk->level->walk(walk, last, job.panel_end);
    }
    walk->job = NULL;
}

void ipex_conv_walk(const struct conv_level *level, const struct ipex_conv_args *args,
                    int64_t job_begin, int64_t job_end) {
    const bool streams = conv_streams(level, args), fetched = fetches_y(args, streams);
    const struct conv_cuts cuts = ipex_conv_cuts(level, args, streams);
    const int64_t w_kw = ipex_conv_segment_words(args, level->k_per_row);
    const int64_t w_kh = args->segments_w * w_kw;
    for (int64_t j = job_begin; j < job_end; j++) {
        const struct ipex_conv_job job = ipex_conv_job(args, j);
        const int64_t column = job.group * args->n;
        struct conv_walk walk = {
            .level = level,
            .cuts = &cuts,
            .args = args,
            .x = (const char *)args->x +
                 (job.image * args->x_image + job.group * args->x_group) * level->x_size,
            .w = (const float *)args->w + job.group * args->segments_h * w_kh,
            .bias = args->bias + column,
            .y = args->y ? args->y + job.image * args->y_image + column : NULL,
            .y_bf16 = args->y_bf16 ? args->y_bf16 + job.image * args->y_image + column : NULL,
            .streams = streams,
            .fetches_y = fetched,
            .w_kw = w_kw,
            .w_kh = w_kh,
        };
        if (args->residual)
            walk.residual = args->residual + job.image * args->r_image + column;
        if (args->residual_bf16)
            walk.residual_bf16 = args->residual_bf16 + job.image * args->r_image + column;
        ipex_conv_walk_job(&walk, job);
    }
}
