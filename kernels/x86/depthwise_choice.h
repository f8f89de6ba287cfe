/* SPDX-License-Identifier: Apache-2.0 */
/* Which register blocks a depthwise convolution takes, by its windows' columns: those that slide or
 * roll, by their pixels, for one line and for two, one below the other. Included by
 * kernels/x86/depthwise_body.h. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_CHOICE_H
#define IPEX_KERNELS_X86_DEPTHWISE_CHOICE_H

/* 3S2, 5S2: at stride 2; LONG: of 4, 6, 8 or more columns; all but those two at stride 1. */
enum depthwise_kind { KIND_ANY, KIND_3, KIND_3S2, KIND_5, KIND_5S2, KIND_7, KIND_LONG, KINDS };

/* All blocks. Those of windows of any size are DEPTHWISE_WHOLE or DEPTHWISE_CUT + their pixels. */
#define SLIDE_ID(KIND, K, P) SLIDE_##KIND##_##P,
#define TOUCH_ID(KIND, K, P) TOUCH_##KIND##_##P,
#define APART_ID(KIND, K, P) APART_##KIND##_##P,
#define ROLL_ID(P)           ROLL_##P,
#define ROLL_TWO_ID(P)       ROLL_TWO_##P,
enum depthwise_id {
    NO_BLOCK,
    SLIDES(SLIDE_ID) TOUCHES(TOUCH_ID) APARTS(APART_ID) ROLLS(ROLL_ID) ROLLS_TWO(ROLL_TWO_ID)
        DEPTHWISE_CUT,
    DEPTHWISE_WHOLE = DEPTHWISE_CUT + WHOLE_APART * DEPTHWISE_ROWS,
};

#define SLIDE_CASE(KIND, K, P) CASE(SLIDE_##KIND##_##P, slide_##KIND##_##P)
#define TOUCH_CASE(KIND, K, P) CASE(TOUCH_##KIND##_##P, slide_TOUCH_##KIND##_##P)
#define APART_CASE(KIND, K, P) CASE(APART_##KIND##_##P, slide_APART_##K##_##KIND##_##P)
#define ROLL_CASE(P)           CASE(ROLL_##P, roll_##P)
#define ROLL_TWO_CASE(P)       CASE(ROLL_TWO_##P, roll_two_##P)
#define CUT_CASE(P)            CASE(DEPTHWISE_CUT + P, depthwise_##P##_cut)
#define WHOLE_CASE(P)          CASE(DEPTHWISE_WHOLE + P, depthwise_##P##_whole)
#define CASE(ID, BLOCK)                                                                            \
    case ID:                                                                                       \
        BLOCK(b, c, end, mask);                                                                    \
        return;
/* A switch as in kernels/x86/conv_walk.h. */
static __attribute__((noinline)) void depthwise_run_block(const struct depthwise_block *b,
                                                          int64_t c, int64_t end, vec_mask mask,
                                                          int64_t id) {
    switch (id) {
        SLIDES(SLIDE_CASE)
        TOUCHES(TOUCH_CASE)
        APARTS(APART_CASE)
        ROLLS(ROLL_CASE)
        ROLLS_TWO(ROLL_TWO_CASE)
        ALL_PIXELS(CUT_CASE)
#if WHOLE_APART
        ALL_PIXELS(WHOLE_CASE)
#endif
    default:
        __builtin_unreachable();
    }
}

typedef uint8_t depthwise_blocks[DEPTHWISE_ROWS + 1]; /* by their pixels */
#define SLIDE_AT(KIND, K, P) [KIND_##KIND][P] = SLIDE_##KIND##_##P,
#define TOUCH_AT(KIND, K, P) [KIND_##KIND][P] = TOUCH_##KIND##_##P,
#define APART_AT(KIND, K, P) [KIND_##KIND][P] = APART_##KIND##_##P,
#define ROLL_AT(P)           [KIND_5][P] = ROLL_##P, [KIND_7][P] = ROLL_##P, [KIND_LONG][P] = ROLL_##P,
#define ROLL_TWO_AT(P)                                                                             \
    [KIND_5][P] = ROLL_TWO_##P, [KIND_7][P] = ROLL_TWO_##P, [KIND_LONG][P] = ROLL_TWO_##P,
static const depthwise_blocks depthwise_one[KINDS] = {SLIDES(SLIDE_AT) ROLLS(ROLL_AT)};
static const depthwise_blocks depthwise_touch[KINDS] = {TOUCHES(TOUCH_AT) ROLLS_TWO(ROLL_TWO_AT)};
static const depthwise_blocks depthwise_apart[KINDS] = {APARTS(APART_AT) ROLLS_TWO(ROLL_TWO_AT)};

static inline enum depthwise_kind depthwise_kind(const struct ipex_depthwise_args *args) {
    const bool touching = args->x_pixel == args->x_kw;
    if (args->x_pixel == 2 * args->x_kw && (args->kernel_w == 3 || args->kernel_w == 5))
        return args->kernel_w == 3 ? KIND_3S2 : KIND_5S2;
    if (args->kernel_w < 3 || !touching)
        return KIND_ANY;
    return args->kernel_w == 3   ? KIND_3
           : args->kernel_w == 5 ? KIND_5
           : args->kernel_w == 7 ? KIND_7
                                 : KIND_LONG;
}

/* Of two lines. */
static inline bool kind_slides(enum depthwise_kind kind) {
    return kind == KIND_3 || kind == KIND_3S2;
}

/* Rows of x from one line's windows to the next line's; 0: they lie between rows, or far apart. */
static inline int64_t depthwise_lines_apart(const struct ipex_depthwise_args *args) {
    return args->x_line == args->x_kh ? 1 : args->x_line == 2 * args->x_kh ? 2 : 0;
}

/* Pixels of the largest block. */
static inline int64_t depthwise_most(const uint8_t *blocks) {
    int64_t ret = DEPTHWISE_ROWS;
    while (ret > 0 && !blocks[ret])
        ret--;
    return ret > 0 ? ret : DEPTHWISE_ROWS;
}

/* Blocks of two lines, or NULL where a line cut evenly has one of a size that there is not. */
static inline const uint8_t *depthwise_two(const struct ipex_depthwise_args *args,
                                           enum depthwise_kind kind) {
    const int64_t apart = depthwise_lines_apart(args);
    if (apart == 0 || apart > args->kernel_h || (kind_slides(kind) && args->kernel_h != 3))
        return NULL;
    const uint8_t *ret = apart == 1 ? depthwise_touch[kind] : depthwise_apart[kind];
    const struct ipex_line_cut cut = ipex_cut_line(args->pixels, depthwise_most(ret));
    return ret[cut.small] && (cut.larger == 0 || ret[cut.small + 1]) ? ret : NULL;
}

#endif
