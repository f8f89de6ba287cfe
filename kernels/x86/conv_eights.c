/* SPDX-License-Identifier: Apache-2.0 */
/* Walks convolutions by groups of 8 columns, for all levels: set by set of groups, line by line. */
#include "kernels/x86/conv_eights.h"

/* A job's lines, of a set of its groups from job.group on. */
struct eights {
    const struct eights_level *level;
    const struct ipex_conv_args *args;
    const struct ipex_conv_eights *at;
    float *scratch;
    struct ipex_conv_job job;
    int64_t groups; /* of the set: as many as the level takes, or what is left */
    int64_t copied; /* rows of x, counted from the job's first, before the next one */
};

static struct ipex_kernel_rows rows_of(const struct eights *e, int64_t line) {
    return ipex_kernel_rows(&e->args->padding, e->args->lines, line, e->args->segments_h);
}

/* Where row r of x, counted from the job's first, is copied. */
static float *slot_of(const struct eights *e, int64_t r) {
    return e->scratch + ipex_divide(r, e->at->slots).rest * e->at->row;
}

static int64_t first_row(const struct eights *e, int64_t line) {
    return (line - e->job.line) * e->at->step;
}

/* The rows that a line takes and none before it did. */
static void copy_rows(struct eights *e, int64_t line) {
    const struct ipex_conv_args *args = e->args;
    const struct ipex_kernel_rows rows = rows_of(e, line);
    const int64_t x_pixel = args->segments_w > 1 ? args->x_kw : args->x_pixel;
    const int64_t pixels =
        ipex_eights_pixels(args, e->at->apart, ipex_conv_line_pixels(args, line));
    const float *x = (const float *)args->x + e->job.image * args->x_image +
                     e->job.group * args->x_group + line * args->x_line;
    for (int64_t h = rows.begin; h < rows.end; h++) {
        const int64_t r = first_row(e, line) + h;
        if (r < e->copied)
            continue;
        e->level->copy(x + h * args->x_kh, x_pixel, pixels, args->k,
                       e->groups > 1 ? args->x_group : 0, slot_of(e, r));
        e->copied = r + 1;
    }
}

static void copy_weights(const struct eights *e, bool bf16) {
    const struct ipex_conv_args *args = e->args;
    const int64_t segments = (int64_t)args->segments_h * args->segments_w;
    const int64_t segment = ipex_conv_segment_words(args, 1 + bf16), group = segments * segment;
    const float *w = (const float *)args->w + e->job.group * group;
    float *to = e->scratch + e->at->w;
    for (int64_t s = 0; s < segments; s++, w += segment, to += args->k * e->level->groups * EIGHT)
        e->level->weights(w, e->groups > 1 ? group : 0, args->k, bf16, to);
    e->level->weights(args->bias + e->job.group * EIGHT, e->groups > 1 ? EIGHT : 0, 1, false,
                      e->scratch + e->at->bias);
}

static struct eights_line line_of(const struct eights *e, int64_t line) {
    const struct ipex_conv_args *args = e->args;
    const int64_t column = e->job.group * EIGHT;
    struct eights_line ret = {
        .y = args->y + e->job.image * args->y_image + line * args->y_line + column,
        .columns = e->groups * EIGHT,
    };
    if (args->residual)
        ret.residual = args->residual + e->job.image * args->r_image + line * args->r_line + column;
    return ret;
}

/* Whether the next line takes the same rows, and both fit one block. */
static bool pairs(const struct eights *e, int64_t line) {
    if (line + 1 == e->job.line_end || 2 * e->args->pixels > EIGHTS_MOST ||
        ipex_conv_line_pixels(e->args, line + 1) != e->args->pixels)
        return false;
    const struct ipex_kernel_rows a = rows_of(e, line), b = rows_of(e, line + 1);
    return a.begin == b.begin && a.end == b.end;
}

/* Pixels of the block that does so many, or the first of them. */
static int64_t block_size(int64_t pixels) {
    const int64_t most = ipex_div_up(pixels, ipex_div_up(pixels, EIGHTS_MOST));
    return most <= 8 ? 8 : most <= 12 ? 12 : EIGHTS_MOST;
}

/* Pixels of a line, or of two, one after the other: from `begin` on the block's, of which [done,
 * end) are new: into a tile first where these are not all, or not all of a vector, or a residual is
 * to be added. */
static void run_block(const struct eights *e, struct eights_block *b,
                      const struct eights_line *lines, int64_t count, int64_t size, int64_t begin,
                      int64_t done, int64_t end) {
    const struct ipex_conv_args *args = e->args;
    const int64_t lanes = e->level->groups * EIGHT;
    float tile[EIGHTS_MOST * IPEX_PANEL];
    if (count * (end - done) == size && lines[0].columns == lanes && !args->residual) {
        b->lo = act_low(args->act, args->act_a);
        b->hi = act_high(args->act, args->act_b);
        b->y = lines[0].y + done * args->y_pixel;
        b->y_second = count > 1 ? lines[1].y : b->y + size / 2 * args->y_pixel;
        b->y_row = args->y_pixel;
        e->level->block[size](b);
        return;
    }
    b->lo = -__builtin_inff();
    b->hi = __builtin_inff();
    b->y = tile;
    b->y_second = tile + size / 2 * lanes;
    b->y_row = lanes;
    e->level->block[size](b);
    for (int64_t l = 0; l < count; l++)
        e->level->finish(args, &lines[l], done, end - done,
                         tile + (done - begin + l * (size / 2)) * lanes);
}

/* The block that begins a line, and what all of its blocks have alike; x_second: the next line's.
 */
static struct eights_block line_block(const struct eights *e, int64_t line) {
    const struct ipex_conv_args *args = e->args;
    const struct ipex_kernel_rows rows = rows_of(e, line);
    const int64_t groups = e->level->groups, steps = (int64_t)args->segments_w * args->k;
    const int64_t row = e->at->row * (int64_t)sizeof(float);
    const int64_t r = first_row(e, line) + rows.begin;
    return (struct eights_block){
        .x = (const char *)slot_of(e, r),
        .x_second = (const char *)slot_of(e, r + e->at->step),
        .slots_end = (const char *)e->scratch + e->at->slots * row,
        .w = e->scratch + e->at->w + rows.begin * steps * groups * EIGHT,
        .init = e->scratch + e->at->bias,
        .x_row = e->at->apart * groups * args->k * (int64_t)sizeof(float),
        .x_kh = row,
        .x_slots = e->at->slots * row,
        .rows = rows.end - rows.begin,
        .steps = steps,
    };
}

/* `count` lines together: 1 or 2. */
static void walk_lines(struct eights *e, int64_t line, int64_t count) {
    const struct ipex_conv_args *args = e->args;
    const int64_t pixels = ipex_conv_line_pixels(args, line);
    struct eights_block b = line_block(e, line);
    const char *x = b.x;
    struct eights_line lines[2];
    for (int64_t l = 0; l < count; l++) {
        copy_rows(e, line + l);
        lines[l] = line_of(e, line + l);
    }
    for (int64_t done = 0, end; done < pixels; done = end) {
        const int64_t size = block_size(count * (pixels - done));
        /* The last one goes back to where it is whole, over what is done. */
        const int64_t begin =
            count > 1 || done + size <= pixels || pixels < size ? done : pixels - size;
        end = ipex_smaller(begin + size, pixels);
        if (count == 1) {
            b.x = x + begin * b.x_row;
            b.x_second = b.x + size / 2 * b.x_row;
        }
        run_block(e, &b, lines, count, size, begin, done, end);
    }
    for (int64_t l = 0; l < count && !ipex_act_is_clamp(args->act); l++) {
        const struct ipex_act_rows rows =
            ipex_act_rows(lines[l].y, pixels, lines[l].columns, args->y_pixel, args->act,
                          args->act_a, args->act_b);
        e->level->activate(&rows);
    }
}

void ipex_conv_eights_walk(const struct eights_level *level, const struct ipex_conv_args *args,
                           int64_t job_begin, int64_t job_end, float *scratch, bool bf16) {
    const struct ipex_conv_eights at = ipex_conv_eights(args, level->groups);
    for (int64_t j = job_begin; j < job_end; j++) {
        struct eights set = {
            .level = level,
            .args = args,
            .at = &at,
            .scratch = scratch,
            .job = ipex_conv_job(args, j),
        };
        for (; set.job.group < set.job.group_end; set.job.group += set.groups) {
            set.groups = ipex_smaller(level->groups, set.job.group_end - set.job.group);
            set.copied = 0;
            copy_weights(&set, bf16);
            for (int64_t line = set.job.line, count; line < set.job.line_end; line += count) {
                count = pairs(&set, line) ? 2 : 1;
                walk_lines(&set, line, count);
            }
        }
    }
}
