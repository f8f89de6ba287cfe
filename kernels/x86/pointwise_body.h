/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise programs for either vector width. One chain of steps runs over all of a job's rows; if
 * there is more, every chain and other step runs over a tile, a part of a row or several short rows
 * of IPEX_POINTWISE_BLOCK elements in all, while it is in L1. Include a vec_*.h first. */
#ifndef IPEX_KERNELS_X86_POINTWISE_BODY_H
#define IPEX_KERNELS_X86_POINTWISE_BODY_H

#include "kernels/x86/pointwise_chain.h"
#include "kernels/x86/vec_math.h"

/* An operand over a tile of rows, or y: step is 1, or 0 for one value that is broadcast along a
 * row; row is the distance between rows, 0 where they are the same. Of f32, or of bytes. */
struct pointwise_operand {
    const void *p;
    int64_t step, row;
    bool bytes;
};

/* A tile: rows of n elements. */
struct pointwise_tile {
    int64_t rows, n;
};

static inline struct pointwise_operand pointwise_floats(const float *p, int64_t step, int64_t row) {
    return (struct pointwise_operand){p, step, row, false};
}

static inline int64_t pointwise_size(struct pointwise_operand operand) {
    return operand.bytes ? 1 : (int64_t)sizeof(float);
}

/* The operand from `elements` further on. */
static inline struct pointwise_operand pointwise_on(struct pointwise_operand operand,
                                                    int64_t elements) {
    operand.p = (const char *)operand.p + elements * pointwise_size(operand);
    return operand;
}

/* The activation that a step is; none: it is no such step. */
static inline int32_t pointwise_act(int16_t op) {
    switch (op) {
#define ACT_OF(name)                                                                               \
    case IPEX_STEP_##name:                                                                         \
        return IPEX_ACT_##name;
        ACT_OF(sigmoid)
        ACT_OF(tanh)
        ACT_OF(softplus)
        ACT_OF(gelu)
        ACT_OF(gelu_tanh)
        ACT_OF(mish)
#undef ACT_OF
    default:
        return IPEX_ACT_none;
    }
}

/* What a step that is no link of a chain makes of n elements of x, or more to whole vectors; b: of
 * the other operand, or one value. y may be x. */
static __attribute__((noinline)) void pointwise_step(int16_t op, const float *x, const float *b,
                                                     bool is_one, float *y, int64_t n) {
    const int32_t act = pointwise_act(op);
    if (act != IPEX_ACT_none) { /* whose code is in one place of a level (activate_body.h) */
        for (int64_t i = 0; i < n && x != y; i += LANES)
            vec_store(y + i, vec_load(x + i));
        const struct ipex_act_rows rows = ipex_act_rows(y, 1, n, n, act, 0, 0);
        IPEX_LEVEL(activate)(&rows);
        return;
    }
    switch (op) {
#define POINTWISE_LOOP(name, expression)                                                           \
    case IPEX_STEP_##name:                                                                         \
        for (int64_t i = 0; i < n; i += LANES) {                                                   \
            const vec v = vec_load(x + i);                                                         \
            vec_store(y + i, expression);                                                          \
        }                                                                                          \
        break;
#define POINTWISE_B is_one ? vec_set(*b) : vec_load(b + i)
        POINTWISE_LOOP(exp, vec_exp(v))
        POINTWISE_LOOP(log, vec_log(v))
        POINTWISE_LOOP(sin, vec_sin(v))
        POINTWISE_LOOP(cos, vec_cos(v))
        POINTWISE_LOOP(erf, vec_erf(v))
        POINTWISE_LOOP(pow, vec_pow(v, POINTWISE_B))
        POINTWISE_LOOP(elu, vec_elu(v, POINTWISE_B))
        POINTWISE_LOOP(expm1, vec_expm1(v))
        POINTWISE_LOOP(log1p, vec_log1p(v))
        POINTWISE_LOOP(atan, vec_atan(v))
    default:
        break; /* a link */
    }
}

/* A program, and the scratch that it has. */
struct pointwise {
    const struct ipex_pointwise_args *args;
    float *registers;
};

/* Operands and y of a tile, from its first element on. */
struct pointwise_places {
    struct pointwise_operand x[IPEX_POINTWISE_INPUTS], y;
};

static inline float *pointwise_block(const struct pointwise *pw, int64_t block) {
    return pw->registers + block * IPEX_POINTWISE_BLOCK;
}

/* What a step or link reads, or where its result goes; rows of blocks are of n elements. */
static inline struct pointwise_operand pointwise_operand(const struct pointwise *pw,
                                                         const struct pointwise_places *at,
                                                         int16_t code, int64_t n) {
    if (code < 0)
        return pointwise_floats(pw->args->constants - 1 - code, 0, 0);
    if (code == IPEX_LINK_NONE)
        return pointwise_floats(pw->registers, 0, 0);
    if (code == IPEX_LINK_RESULT)
        return at->y;
    if (code >= IPEX_POINTWISE_RESULT)
        return pointwise_floats(pointwise_block(pw, code - IPEX_POINTWISE_RESULT), 1, n);
    return at->x[code];
}

/* A link over a tile. Blocks are of one strip where its chain is all of the program. */
static inline void pointwise_bind(const struct pointwise *pw, const struct ipex_link *link,
                                  struct pointwise_operand operand, struct bound_link *ret) {
    const bool is_block = link->code >= IPEX_POINTWISE_RESULT && link->code < IPEX_LINK_NONE;
    ret->op = link->op;
    if (ret->op == IPEX_LINK_READ && (!operand.bytes || operand.step == 0))
        ret->op = IPEX_STEP_copy;
    else if (ret->op == IPEX_LINK_STORE && operand.bytes)
        ret->op = IPEX_LINK_STORE_BYTES;
    if (operand.step == 0 && link->code != IPEX_LINK_NONE)
        ret->op += IPEX_LINK_ONE;
    if (operand.step == 0 && operand.bytes) {
        ret->value = *(const uint8_t *)operand.p;
        operand = pointwise_floats(&ret->value, 0, 0);
    }
    const int64_t size = is_block && pw->args->chains->one ? 0 : pointwise_size(operand);
    ret->p = operand.p;
    ret->step = operand.step * size;
    ret->row = operand.row * size;
}

/* The links up to the end of a chain, over a tile; returns what is behind it. */
static __attribute__((noinline)) const struct ipex_link *
pointwise_chain(const struct pointwise *pw, const struct pointwise_places *at,
                struct pointwise_tile tile, const struct ipex_link *link) {
    struct bound_link bound[IPEX_LINKS_MOST], *to = bound;
    bool gaps = false;
    for (; link->op != IPEX_LINK_END; link++, to++) {
        const struct pointwise_operand operand = pointwise_operand(pw, at, link->code, tile.n);
        gaps |= operand.row != operand.step * tile.n;
        pointwise_bind(pw, link, operand, to);
    }
    to->op = IPEX_LINK_END;
    run_rows(bound, gaps ? tile.rows : 1, gaps ? tile.n : tile.rows * tile.n);
    return link + 1;
}

/* Rows of `from` as f32, one behind the other. */
static __attribute__((noinline)) void pointwise_pack(struct pointwise_operand from, float *to,
                                                     struct pointwise_tile tile) {
    const float *end = to + tile.rows * tile.n;
    for (; to < end; from = pointwise_on(from, from.row), to += tile.n) {
        const float *floats = from.p;
        const uint8_t *bytes = from.p;
        int64_t i = 0;
        for (; i + LANES <= tile.n && from.step == 1 && !from.bytes; i += LANES)
            vec_store(to + i, vec_load(floats + i));
        for (; i < tile.n; i += LANES) {
            const vec v = from.step == 0 ? vec_set(from.bytes ? (float)*bytes : *floats)
                          : from.bytes   ? vec_load_u8_part(bytes + i, tile.n - i)
                                         : vec_load_part(floats + i, tile.n - i);
            vec_store_part(to + i, end - to - i, v);
        }
    }
}

/* The reverse. */
static __attribute__((noinline)) void
pointwise_unpack(const float *from, struct pointwise_operand y, struct pointwise_tile tile) {
    for (int64_t r = 0; r < tile.rows; r++, from += tile.n, y = pointwise_on(y, y.row)) {
        int64_t i = 0;
        for (; i + LANES <= tile.n && !y.bytes; i += LANES)
            vec_store((float *)y.p + i, vec_load(from + i));
        for (; i < tile.n; i += LANES) {
            const vec v = vec_load_part(from + i, tile.n - i);
            if (y.bytes)
                vec_store_bytes_part((uint8_t *)y.p + i, tile.n - i, chain_byte(v));
            else
                vec_store_masked((float *)y.p + i, vec_first(tile.n - i), v);
        }
    }
}

/* Whether an operand or y lies behind each other in whole vectors of f32, or where there is room.
 */
static inline bool pointwise_is_whole(struct pointwise_operand operand, int16_t code,
                                      struct pointwise_tile tile) {
    const bool block = code >= IPEX_POINTWISE_RESULT && code < IPEX_LINK_NONE;
    return block || (!operand.bytes && operand.step == 1 &&
                     (tile.rows == 1 || operand.row == tile.n) && tile.rows * tile.n % LANES == 0);
}

/* A step that is no link of a chain, over a tile; its first operand may be in its result's block.
 */
static __attribute__((noinline)) void pointwise_block_step(const struct pointwise *pw,
                                                           const struct pointwise_places *at,
                                                           struct pointwise_tile tile, int32_t s,
                                                           bool in_place) {
    const struct ipex_pointwise_args *args = pw->args;
    const struct ipex_pointwise_step *step = &args->program[s];
    const int16_t a = ipex_chain_code(args, args->chains, step->a);
    const int16_t b = ipex_chain_code(args, args->chains, ipex_second_operand(step));
    const struct pointwise_operand from = pointwise_operand(pw, at, a, tile.n);
    const struct pointwise_operand other = pointwise_operand(pw, at, b, tile.n);
    const bool last = s + 1 == args->steps;
    const bool is_one = other.step == 0 && other.row == 0;
    float *packed = pointwise_block(pw, args->registers + args->inputs);
    float *block = pointwise_block(pw, step->dst), *y = block;
    if (!is_one)
        pointwise_pack(other, packed, tile);
    if (!in_place && !pointwise_is_whole(from, a, tile)) {
        pointwise_pack(from, block, tile);
        in_place = true;
    }
    if (last && pointwise_is_whole(at->y, IPEX_LINK_RESULT, tile))
        y = (float *)at->y.p;
    pointwise_step(step->op, in_place ? block : from.p, is_one ? other.p : packed, is_one, y,
                   tile.rows * tile.n);
    if (last && y == block)
        pointwise_unpack(block, at->y, tile);
}

static __attribute__((noinline)) void pointwise_steps(const struct pointwise *pw,
                                                      const struct pointwise_places *at,
                                                      struct pointwise_tile tile) {
    const struct ipex_chains *chains = pw->args->chains;
    for (const struct ipex_link *link = chains->link; link < chains->link + chains->count;) {
        if (link->op < IPEX_LINK_STEP) {
            link = pointwise_chain(pw, at, tile, link);
            continue;
        }
        pointwise_block_step(pw, at, tile, link->code, link->op == IPEX_LINK_STEP_IN_PLACE);
        link++;
    }
}

/* A tile that is no whole number of strips, in the blocks behind the registers, where there is
 * room for what its last strip computes beside it. */
static __attribute__((noinline)) void pointwise_packed(const struct pointwise *pw,
                                                       const struct pointwise_places *at,
                                                       struct pointwise_tile tile) {
    const struct ipex_pointwise_args *args = pw->args;
    struct pointwise_places packed;
    float *block = pointwise_block(pw, args->registers);
    const int64_t n = ipex_div_up(tile.rows * tile.n, STRIP) * STRIP;
    for (int32_t k = 0; k < args->inputs; k++) {
        packed.x[k] = at->x[k];
        if (at->x[k].step == 0 && (at->x[k].row == 0 || tile.rows == 1))
            continue; /* one value */
        pointwise_pack(at->x[k], block, tile);
        packed.x[k] = pointwise_floats(block, 1, n);
        block += IPEX_POINTWISE_BLOCK;
    }
    packed.y = pointwise_floats(block, 1, n);
    pointwise_steps(pw, &packed, (struct pointwise_tile){1, n});
    pointwise_unpack(block, at->y, tile);
}

/* Columns [begin, end) of all rows, tile by tile, each of as many elements as blocks hold; of any
 * number where none does. */
static __attribute__((noinline)) void pointwise_tiles(const struct pointwise *pw,
                                                      const struct pointwise_places *at,
                                                      int64_t begin, int64_t end, int64_t rows,
                                                      bool packed) {
    const struct ipex_pointwise_args *args = pw->args;
    const bool all = pw->args->chains->one && !packed;
    const int64_t most = all ? end - begin : ipex_smaller(end - begin, IPEX_POINTWISE_BLOCK);
    const int64_t fit = all ? rows : ipex_div(IPEX_POINTWISE_BLOCK, most);
    if (begin == 0 && fit >= rows && most == end && !packed) {
        pointwise_steps(pw, at, (struct pointwise_tile){rows, end});
        return;
    }
    for (int64_t row = 0, now; row < rows; row += now) {
        now = ipex_smaller(rows - row, fit);
        for (int64_t i = begin; i < end; i += most) {
            const struct pointwise_tile tile = {now, ipex_smaller(end - i, most)};
            struct pointwise_places here;
            for (int32_t k = 0; k < args->inputs; k++)
                here.x[k] = pointwise_on(at->x[k], row * at->x[k].row + i * at->x[k].step);
            here.y = pointwise_on(at->y, row * at->y.row + i);
            if (packed)
                pointwise_packed(pw, &here, tile);
            else
                pointwise_steps(pw, &here, tile);
        }
    }
}

/* What less packing pays for. */
enum { SHORT_CHAIN = 6 };

/* Rows of n elements: whole strips of them where they lie, the rest packed, as are all where a row
 * has a byte for all of its elements, which no link reads more than once. */
static __attribute__((noinline)) void pointwise_rows(const struct pointwise *pw,
                                                     const struct pointwise_places *at,
                                                     struct pointwise_tile all) {
    bool dense = at->y.row == all.n, bytes = false;
    for (int32_t k = 0; k < pw->args->inputs; k++) {
        dense &= at->x[k].row == at->x[k].step * all.n;
        bytes |= at->x[k].bytes && at->x[k].step == 0 && at->x[k].row != 0;
    }
    if (dense)
        all = (struct pointwise_tile){1, all.rows * all.n};
    const bool is_short =
        pw->args->chains->longest <= SHORT_CHAIN && (all.rows == 1 || all.n >= LANES);
    const int64_t rest = is_short ? 0 : ipex_divide(all.n, STRIP).rest;
    const int64_t whole = bytes && all.rows > 1 ? 0 : all.n - rest;
    if (whole > 0)
        pointwise_tiles(pw, at, 0, whole, all.rows, false);
    if (whole < all.n)
        pointwise_tiles(pw, at, whole, all.n, all.rows, true);
}

/* An operand of all rows alike. */
static inline bool pointwise_is_same(struct pointwise_operand operand) {
    return operand.row == 0 && operand.step == 1;
}

/* Rows of such an operand that pay for laying it out once more; elements of it that are laid out,
 * if rows are shorter. */
enum { JOINT_LEAST = 4, JOINT_BLOCK = 256 };

/* How many rows may be taken as one, which is of whole strips: those of y and of the operands lie
 * behind each other, but for operands of all rows alike, for which there is room. */
static inline int64_t pointwise_joint(const struct ipex_pointwise_args *args,
                                      const struct pointwise_places *at,
                                      struct pointwise_tile all) {
    int64_t same = 0;
    for (int32_t k = 0; k < args->inputs; k++) {
        if (!pointwise_is_same(at->x[k]) && at->x[k].row != at->x[k].step * all.n)
            return 1;
        same += pointwise_is_same(at->x[k]);
    }
    if (same == 0 || at->y.row != all.n)
        return 1;
    const int64_t room = ipex_div(args->inputs * IPEX_POINTWISE_BLOCK, same * all.n);
    const int64_t even = ipex_div(STRIP, ipex_smaller(STRIP, all.n & -all.n));
    const int64_t block = ipex_div(JOINT_BLOCK, all.n);
    const int64_t wanted = block > even ? block - ipex_divide(block, even).rest : even;
    return wanted > room || all.rows < JOINT_LEAST * wanted ? 1 : wanted;
}

/* `rows` neighbours of the last but innermost dim. A short row by which all others are multiplied,
 * as by a gate of channels, is laid out several times, behind the registers: then these are fewer,
 * longer rows of whole strips. */
static __attribute__((noinline)) void
pointwise_run(const struct pointwise *pw, struct pointwise_places *at, struct pointwise_tile all) {
    const struct ipex_pointwise_args *args = pw->args;
    const int64_t joint = pointwise_joint(args, at, all), n = all.n;
    if (joint > 1) {
        const struct ipex_quotient parts = ipex_divide(all.rows, joint);
        const int64_t done = parts.whole * joint;
        struct pointwise_places joined;
        float *block = pointwise_block(pw, args->registers);
        for (int32_t k = 0; k < args->inputs; k++) {
            joined.x[k] = at->x[k];
            joined.x[k].row *= joint;
            at->x[k] = pointwise_on(at->x[k], done * at->x[k].row);
            if (!pointwise_is_same(at->x[k]))
                continue;
            pointwise_pack(joined.x[k], block, (struct pointwise_tile){joint, n});
            joined.x[k] = pointwise_floats(block, 1, 0);
            block += joint * n;
        }
        joined.y = at->y;
        joined.y.row *= joint;
        at->y = pointwise_on(at->y, done * n);
        pointwise_rows(pw, &joined, (struct pointwise_tile){parts.whole, joint * n});
        all.rows = parts.rest;
    }
    pointwise_rows(pw, at, all);
}

/* An operand or y from a row on. */
static inline struct pointwise_operand pointwise_place(const float *floats, const uint8_t *bytes,
                                                       const struct ipex_pointwise_args *args,
                                                       const int64_t *stride, int64_t row) {
    const int32_t lead = args->rank - 1;
    const struct pointwise_operand ret = {bytes ? (const void *)bytes : floats, stride[lead],
                                          lead > 0 ? stride[lead - 1] : 0, bytes};
    return pointwise_on(ret, ipex_row_offset(args->dims, stride, lead, row));
}

void IPEX_LEVEL(pointwise_f32)(const struct ipex_pointwise_args *args, int64_t job_begin,
                               int64_t job_end, void *scratch) {
    const int32_t lead = args->rank - 1;
    const int64_t run = lead > 0 ? args->dims[lead - 1] : 1;
    const int64_t end =
        ipex_smaller(job_end * args->rows_per_job, ipex_row_count(args->dims, 0, lead));
    const struct pointwise pw = {args, scratch};
    for (int64_t row = job_begin * args->rows_per_job, rows; row < end; row += rows) {
        struct pointwise_places at;
        rows = ipex_smaller(run - ipex_divide(row, run).rest, end - row);
        for (int32_t k = 0; k < args->inputs; k++)
            at.x[k] = pointwise_place(args->x[k], args->x_u8[k], args, args->x_stride[k], row);
        at.y = pointwise_place(args->y, args->y_u8, args, args->y_stride, row);
        at.y.step = 1;
        pointwise_run(&pw, &at, (struct pointwise_tile){rows, args->dims[lead]});
    }
}

#endif
