/* SPDX-License-Identifier: Apache-2.0 */
/* Which register blocks a depthwise convolution takes, by its windows' columns: those that slide or
 * roll, by their pixels, for one line and for two, one below the other. Included by
 * kernels/x86/depthwise_body.h. */
#ifndef IPEX_KERNELS_X86_DEPTHWISE_CHOICE_H
#define IPEX_KERNELS_X86_DEPTHWISE_CHOICE_H

/* 3S2, 5S2: at stride 2; LONG: of 4, 6, 8 or more columns; all but those two at stride 1. */
enum depthwise_kind { KIND_ANY, KIND_3, KIND_3S2, KIND_5, KIND_5S2, KIND_7, KIND_LONG, KINDS };

typedef void (*depthwise_fn)(const struct depthwise_block *, int64_t c, int64_t end, vec_mask mask);
typedef depthwise_fn depthwise_fns[DEPTHWISE_ROWS + 1]; /* by their pixels, or NULL */

#define ROLL_LINES                                                                                 \
    [KIND_5] = {ROLLS(ROLL_LINE_NAME)}, [KIND_7] = {ROLLS(ROLL_LINE_NAME)},                        \
    [KIND_LONG] = {ROLLS(ROLL_LINE_NAME)},
#define ROLL_TWOS                                                                                  \
    [KIND_5] = {ROLLS(ROLL_TWO_NAME)}, [KIND_7] = {ROLLS(ROLL_TWO_NAME)},                          \
    [KIND_LONG] = {ROLLS(ROLL_TWO_NAME)},

#if VEC_REGISTERS == 32
static const depthwise_fns depthwise_one[KINDS] = {[KIND_3] = {P_6_TO_8(SLIDE_NAME, 3, 3)},
                                                   [KIND_3S2] = {P_6_TO_8(SLIDE_NAME, 3S2, 3)},
                                                   ROLL_LINES};
/* Lines whose rows of x touch, and whose rows lie two apart. */
static const depthwise_fns depthwise_touch[KINDS] = {[KIND_3] = {P_4_TO_8(TOUCH_NAME, 3, 3)},
                                                     [KIND_3S2] = {P_4_TO_5(TOUCH_NAME, 3S2, 3)},
                                                     ROLL_TWOS};
static const depthwise_fns depthwise_apart[KINDS] = {[KIND_3] = {P_4_TO_5(APART_NAME, 3, 3)},
                                                     [KIND_3S2] = {P_6_TO_8(APART_NAME, 3S2, 3)},
                                                     [KIND_5S2] = {P_7_TO_8(APART_NAME, 5S2, 5)},
                                                     ROLL_TWOS};
#else
static const depthwise_fns depthwise_one[KINDS] = {
    [KIND_3] = {P_6_TO_8(SLIDE_NAME, 3, 3)},     [KIND_3S2] = {P_6_TO_8(SLIDE_NAME, 3S2, 3)},
    [KIND_5S2] = {P_7_TO_8(SLIDE_NAME, 5S2, 5)}, [KIND_5] = {P_6_TO_8(SLIDE_NAME, 5, 5)},
    [KIND_7] = {P_6_TO_7(SLIDE_NAME, 7, 7)},
};
static const depthwise_fns depthwise_touch[KINDS] = {
    [KIND_3] = {P_3_TOUCH(TOUCH_NAME)}, [KIND_3S2] = {P_3S2_TOUCH(TOUCH_NAME)}, ROLL_TWOS};
static const depthwise_fns depthwise_apart[KINDS] = {[KIND_3S2] = {P_3_TO_4(APART_NAME, 3S2, 3)},
                                                     ROLL_TWOS};
#endif

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
static inline int64_t depthwise_most(const depthwise_fn *fns) {
    int64_t ret = DEPTHWISE_ROWS;
    while (ret > 0 && !fns[ret])
        ret--;
    return ret > 0 ? ret : DEPTHWISE_ROWS;
}

/* Blocks of two lines, or NULL where a line cut evenly has one of a size that there is not. */
static inline const depthwise_fn *depthwise_two(const struct ipex_depthwise_args *args,
                                                enum depthwise_kind kind) {
    const int64_t apart = depthwise_lines_apart(args);
    if (apart == 0 || apart > args->kernel_h || (kind_slides(kind) && args->kernel_h != 3))
        return NULL;
    const depthwise_fn *ret = apart == 1 ? depthwise_touch[kind] : depthwise_apart[kind];
    const struct ipex_line_cut cut = ipex_cut_line(args->pixels, depthwise_most(ret));
    return ret[cut.small] && (cut.larger == 0 || ret[cut.small + 1]) ? ret : NULL;
}

#endif
