/* SPDX-License-Identifier: Apache-2.0 */
/* See pointwise_rows.h. */
#include "kernels/pointwise_rows.h"

#include <string.h>

/* A program, who runs it, and the scratch that it has. */
struct pointwise {
    const struct ipex_pointwise_level *level;
    const struct ipex_pointwise_args *args;
    float *registers;
};

/* Elements of a strip. */
static int64_t strip_of(const struct pointwise *pw) {
    return IPEX_STRIP_VECTORS * pw->level->lanes;
}

/* Operands and y of a tile, from its first element on. */
struct places {
    struct ipex_pointwise_operand x[IPEX_POINTWISE_INPUTS], y;
};

static float *block_of(const struct pointwise *pw, int64_t block) {
    return pw->registers + block * IPEX_POINTWISE_BLOCK;
}

/* What a step or link reads, or where its result goes; rows of blocks are of n elements. */
static struct ipex_pointwise_operand operand_of(const struct pointwise *pw, const struct places *at,
                                                int16_t code, int64_t n) {
    if (code < 0)
        return ipex_pointwise_floats(pw->args->constants - 1 - code, 0, 0);
    if (code == IPEX_LINK_NONE)
        return ipex_pointwise_floats(pw->registers, 0, 0);
    if (code == IPEX_LINK_RESULT)
        return at->y;
    if (code >= IPEX_POINTWISE_RESULT)
        return ipex_pointwise_floats(block_of(pw, code - IPEX_POINTWISE_RESULT), 1, n);
    return at->x[code];
}

/* Of the scratch. */
static bool is_block(int16_t code) {
    return code >= IPEX_POINTWISE_RESULT && code < IPEX_LINK_NONE;
}

/* A link over a tile. Blocks are of one strip where its chain is all of the program. */
static void bind(const struct pointwise *pw, const struct ipex_link *link,
                 struct ipex_pointwise_operand operand, struct ipex_bound_link *ret) {
    ret->op = link->op;
    if (ret->op == IPEX_LINK_READ && (!operand.bytes || operand.step == 0))
        ret->op = IPEX_STEP_copy;
    else if (ret->op == IPEX_LINK_STORE && operand.bytes)
        ret->op = IPEX_LINK_STORE_BYTES;
    if (operand.step == 0 && link->code != IPEX_LINK_NONE)
        ret->op += IPEX_LINK_ONE;
    if (operand.step == 0 && operand.bytes) {
        ret->value = *(const uint8_t *)operand.p;
        operand = ipex_pointwise_floats(&ret->value, 0, 0);
    }
    const int64_t size =
        is_block(link->code) && pw->args->chains->one ? 0 : ipex_pointwise_size(operand);
    ret->p = operand.p;
    ret->step = operand.step * size;
    ret->row = operand.row * size;
}

/* The links up to the end of a chain, over a tile; returns what is behind it. */
static const struct ipex_link *run_chain(const struct pointwise *pw, const struct places *at,
                                         struct ipex_pointwise_tile tile,
                                         const struct ipex_link *link) {
    struct ipex_bound_link bound[IPEX_LINKS_MOST], *to = bound;
    bool gaps = false;
    for (; link->op != IPEX_LINK_END; link++, to++) {
        const struct ipex_pointwise_operand operand = operand_of(pw, at, link->code, tile.n);
        gaps |= operand.row != operand.step * tile.n;
        bind(pw, link, operand, to);
    }
    to->op = IPEX_LINK_END;
    pw->level->run(bound, gaps ? tile.rows : 1, gaps ? tile.n : tile.rows * tile.n);
    return link + 1;
}

/* Rows of f32 that a step may have one by one. */
struct floats {
    float *p;
    int64_t row;
};

/* Those of an operand, or of y; they are in `block` if they have to be copied: bytes, single
 * values, rows that end within a vector, and short ones that are apart. */
static struct floats floats_of(const struct pointwise *pw, struct ipex_pointwise_operand operand,
                               int64_t n, float *block) {
    enum { SHORT = 64 };
    const bool whole = (n & (pw->level->lanes - 1)) == 0 && (n >= SHORT || operand.row == n);
    if (operand.bytes || operand.step == 0 || !whole)
        return (struct floats){block, n};
    return (struct floats){(float *)operand.p, operand.row};
}

/* A step that is no link of a chain, over a tile; its first operand may be in its result's block.
 */
static void run_step(const struct pointwise *pw, const struct places *at,
                     struct ipex_pointwise_tile tile, int32_t s, bool in_place) {
    const struct ipex_pointwise_args *args = pw->args;
    const struct ipex_pointwise_step *step = &args->program[s];
    const int16_t a = ipex_chain_code(args, args->chains, step->a);
    const int16_t b = ipex_chain_code(args, args->chains, ipex_second_operand(step));
    const struct ipex_pointwise_operand from = operand_of(pw, at, a, tile.n);
    const struct ipex_pointwise_operand other = operand_of(pw, at, b, tile.n);
    const bool last = s + 1 == args->steps, is_one = other.step == 0 && other.row == 0;
    float *block = block_of(pw, step->dst);
    float *packed = block_of(pw, args->registers + args->inputs);
    struct floats x = {block, tile.n}, y = x;
    if (!is_one)
        pw->level->pack(other, packed, tile);
    if (!in_place && is_block(a))
        x.p = (float *)from.p;
    else if (!in_place)
        x = floats_of(pw, from, tile.n, block);
    if (last)
        y = floats_of(pw, at->y, tile.n, block);
    if (x.p == block && !in_place && !is_block(a))
        pw->level->pack(from, block, tile);
    const bool dense = x.row == tile.n && y.row == tile.n;
    const int64_t n = dense ? tile.rows * tile.n : tile.n;
    for (int64_t at_row = 0, r = 0; at_row < tile.rows * tile.n; at_row += n, r++)
        pw->level->step(step->op, x.p + r * x.row, is_one ? other.p : packed + at_row, is_one,
                        y.p + r * y.row, n);
    if (last && y.p == block)
        pw->level->unpack(block, at->y, tile);
}

static void run_steps(const struct pointwise *pw, const struct places *at,
                      struct ipex_pointwise_tile tile) {
    const struct ipex_chains *chains = pw->args->chains;
    for (const struct ipex_link *link = chains->link; link < chains->link + chains->count;) {
        if (link->op < IPEX_LINK_STEP) {
            link = run_chain(pw, at, tile, link);
            continue;
        }
        run_step(pw, at, tile, link->code, link->op == IPEX_LINK_STEP_IN_PLACE);
        link++;
    }
}

/* What is no whole number of vectors is often short. */
void ipex_copy_rows(const uint8_t *x, int64_t x_row, uint8_t *y, int64_t y_row, int64_t n,
                    int64_t rows) {
    for (; rows > 0; rows--, x += x_row, y += y_row) {
        int64_t i = 0;
        for (; i + 16 <= n; i += 16)
            memcpy(y + i, x + i, 16);
        for (; i + 4 <= n; i += 4)
            memcpy(y + i, x + i, 4);
        for (; i < n; i++)
            y[i] = x[i];
    }
}

/* A tile that is no whole number of strips, in the blocks behind the registers, where there is
 * room for what its last strip computes beside it; bytes stay bytes. */
static void run_packed(const struct pointwise *pw, const struct places *at,
                       struct ipex_pointwise_tile tile) {
    const struct ipex_pointwise_args *args = pw->args;
    struct places packed;
    float *block = block_of(pw, args->registers);
    const int64_t n = ipex_div_up(tile.rows * tile.n, strip_of(pw)) * strip_of(pw);
    for (int32_t k = 0; k < args->inputs; k++) {
        packed.x[k] = at->x[k];
        if (at->x[k].step == 0 && (at->x[k].row == 0 || tile.rows == 1))
            continue; /* one value */
        const bool bytes = at->x[k].bytes && at->x[k].step != 0;
        if (bytes)
            ipex_copy_rows(at->x[k].p, at->x[k].row, (uint8_t *)block, tile.n, tile.n, tile.rows);
        else
            pw->level->pack(at->x[k], block, tile);
        packed.x[k] = (struct ipex_pointwise_operand){block, 1, n, bytes};
        block += IPEX_POINTWISE_BLOCK;
    }
    packed.y = (struct ipex_pointwise_operand){block, 1, n, at->y.bytes};
    run_steps(pw, &packed, (struct ipex_pointwise_tile){1, n});
    if (at->y.bytes)
        ipex_copy_rows((const uint8_t *)block, tile.n, (uint8_t *)at->y.p, at->y.row, tile.n,
                       tile.rows);
    else
        pw->level->unpack(block, at->y, tile);
}

/* Columns [begin, end) of all rows, tile by tile, each of as many elements as blocks hold; of any
 * number where none does. */
static void run_tiles(const struct pointwise *pw, const struct places *at, int64_t begin,
                      int64_t end, int64_t rows, bool packed) {
    const struct ipex_pointwise_args *args = pw->args;
    const bool all = pw->args->chains->one && !packed;
    const int64_t most = all ? end - begin : ipex_smaller(end - begin, IPEX_POINTWISE_BLOCK);
    const int64_t fit = all ? rows : ipex_div(IPEX_POINTWISE_BLOCK, most);
    if (begin == 0 && fit >= rows && most == end && !packed) {
        run_steps(pw, at, (struct ipex_pointwise_tile){rows, end});
        return;
    }
    for (int64_t row = 0, now; row < rows; row += now) {
        now = ipex_smaller(rows - row, fit);
        for (int64_t i = begin; i < end; i += most) {
            const struct ipex_pointwise_tile tile = {now, ipex_smaller(end - i, most)};
            struct places here;
            for (int32_t k = 0; k < args->inputs; k++)
                here.x[k] = ipex_pointwise_on(at->x[k], row * at->x[k].row + i * at->x[k].step);
            here.y = ipex_pointwise_on(at->y, row * at->y.row + i);
            if (packed)
                run_packed(pw, &here, tile);
            else
                run_steps(pw, &here, tile);
        }
    }
}

/* What less packing pays for: links, or of rows that are no shorter than half a strip, as many for
 * each operand and y. */
enum { SHORT_CHAIN = 6, PACKED_LINKS = 3 };

/* Rows of n elements: whole strips of them where they lie, the rest packed, as are all where a row
 * has a byte for all of its elements, which no link reads more than once. */
static void run_rows(const struct pointwise *pw, const struct places *at,
                     struct ipex_pointwise_tile all) {
    bool dense = at->y.row == all.n, bytes = false;
    int32_t packs = 1;
    for (int32_t k = 0; k < pw->args->inputs; k++) {
        packs += at->x[k].step != 0 || at->x[k].row != 0;
        dense &= at->x[k].row == at->x[k].step * all.n;
        bytes |= at->x[k].bytes && at->x[k].step == 0 && at->x[k].row != 0;
    }
    if (dense)
        all = (struct ipex_pointwise_tile){1, all.rows * all.n};
    const int32_t most = all.n * 2 >= strip_of(pw) ? PACKED_LINKS * packs : SHORT_CHAIN;
    const bool is_short =
        pw->args->chains->longest <= most && (all.rows == 1 || all.n >= pw->level->lanes);
    const int64_t rest = is_short ? 0 : ipex_divide(all.n, strip_of(pw)).rest;
    const int64_t whole = bytes && all.rows > 1 ? 0 : all.n - rest;
    if (whole > 0)
        run_tiles(pw, at, 0, whole, all.rows, false);
    if (whole < all.n)
        run_tiles(pw, at, whole, all.n, all.rows, true);
}

/* An operand of all rows alike. */
static bool is_same(struct ipex_pointwise_operand operand) {
    return operand.row == 0 && operand.step == 1;
}

/* Rows of such an operand that pay for laying it out once more; elements of it that are laid out,
 * if rows are shorter. */
enum { JOINT_LEAST = 4, JOINT_BLOCK = 256 };

/* How many rows may be taken as one, which is of whole strips: those of y and of the operands lie
 * behind each other, but for operands of all rows alike, for which there is room. */
static int64_t joint_rows(const struct pointwise *pw, const struct places *at,
                          struct ipex_pointwise_tile all) {
    const struct ipex_pointwise_args *args = pw->args;
    int64_t same = 0;
    for (int32_t k = 0; k < args->inputs; k++) {
        if (!is_same(at->x[k]) && at->x[k].row != at->x[k].step * all.n)
            return 1;
        same += is_same(at->x[k]);
    }
    if (same == 0 || at->y.row != all.n)
        return 1;
    const int64_t room = ipex_div(args->inputs * IPEX_POINTWISE_BLOCK, same * all.n);
    const int64_t even = ipex_div(strip_of(pw), ipex_smaller(strip_of(pw), all.n & -all.n));
    const int64_t block = ipex_div(JOINT_BLOCK, all.n);
    const int64_t wanted = block > even ? block - ipex_divide(block, even).rest : even;
    return wanted > room || all.rows < JOINT_LEAST * wanted ? 1 : wanted;
}

/* `rows` neighbours of the last but innermost dim. A short row by which all others are multiplied,
 * as by a gate of channels, is laid out several times, behind the registers: then these are fewer,
 * longer rows of whole strips. */
static void run_neighbours(const struct pointwise *pw, struct places *at,
                           struct ipex_pointwise_tile all) {
    const struct ipex_pointwise_args *args = pw->args;
    const int64_t joint = joint_rows(pw, at, all), n = all.n;
    if (joint > 1) {
        const struct ipex_quotient parts = ipex_divide(all.rows, joint);
        const int64_t done = parts.whole * joint;
        struct places joined;
        float *block = block_of(pw, args->registers);
        for (int32_t k = 0; k < args->inputs; k++) {
            joined.x[k] = at->x[k];
            joined.x[k].row *= joint;
            at->x[k] = ipex_pointwise_on(at->x[k], done * at->x[k].row);
            if (!is_same(at->x[k]))
                continue;
            pw->level->pack(joined.x[k], block, (struct ipex_pointwise_tile){joint, n});
            joined.x[k] = ipex_pointwise_floats(block, 1, 0);
            block += joint * n;
        }
        joined.y = at->y;
        joined.y.row *= joint;
        at->y = ipex_pointwise_on(at->y, done * n);
        run_rows(pw, &joined, (struct ipex_pointwise_tile){parts.whole, joint * n});
        all.rows = parts.rest;
    }
    if (all.rows > 0)
        run_rows(pw, at, all);
}

/* An operand or y from a row on. */
static struct ipex_pointwise_operand place(const float *floats, const uint8_t *bytes,
                                           const struct ipex_pointwise_args *args,
                                           const int64_t *stride, int64_t row) {
    const int32_t lead = args->rank - 1;
    const struct ipex_pointwise_operand ret = {bytes ? (const void *)bytes : floats, stride[lead],
                                               lead > 0 ? stride[lead - 1] : 0, bytes};
    return ipex_pointwise_on(ret, ipex_row_offset(args->dims, stride, lead, row));
}

void ipex_pointwise_rows(const struct ipex_pointwise_level *level,
                         const struct ipex_pointwise_args *args, int64_t job_begin, int64_t job_end,
                         void *scratch) {
    const int32_t lead = args->rank - 1;
    const int64_t run = lead > 0 ? args->dims[lead - 1] : 1;
    const int64_t end =
        ipex_smaller(job_end * args->rows_per_job, ipex_row_count(args->dims, 0, lead));
    const struct pointwise pw = {level, args, scratch};
    for (int64_t row = job_begin * args->rows_per_job, rows; row < end; row += rows) {
        struct places at;
        rows = ipex_smaller(run - ipex_divide(row, run).rest, end - row);
        for (int32_t k = 0; k < args->inputs; k++)
            at.x[k] = place(args->x[k], args->x_u8[k], args, args->x_stride[k], row);
        at.y = place(args->y, args->y_u8, args, args->y_stride, row);
        at.y.step = 1;
        run_neighbours(&pw, &at, (struct ipex_pointwise_tile){rows, args->dims[lead]});
    }
}
