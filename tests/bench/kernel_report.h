/* SPDX-License-Identifier: Apache-2.0 */
/* What bench_kernels.c tells: a row per layer with its distance to the roofline, and a summary.
 * What a layer should reach stands in tests/bench/README.md. */
#ifndef IPEX_TESTS_BENCH_KERNEL_REPORT_H
#define IPEX_TESTS_BENCH_KERNEL_REPORT_H

#include "tests/bench/layer.h"
#include "tools/roofline.h"
#include "tools/text_table.h"

/* What is asked of a layer. */
enum kernel_rule {
    KERNEL_PEAK,      /* bound by arithmetic, 32 columns and a depth of 64 or more: near the peak */
    KERNEL_ONE_PANEL, /* at most 16 columns */
    KERNEL_ROOFLINE,  /* all others */
    KERNEL_WINOGRAD,  /* no slower than the direct algorithm would have to be */
    KERNEL_NONE,      /* products of two activations, of numbers; what takes next to nothing */
    KERNEL_RULES
};

struct kernel_row {
    const char *op, *network, *node, *layer;
    double us, flops;
    struct ipex_roofline bound; /* by the multiplications that are done */
    double direct_us;           /* roofline of the direct algorithm */
    double activation_us;       /* of its activation alone, in L1, which no roofline counts */
    enum kernel_rule rule;
    double their_us; /* 0: there is no such layer */
    const char *implementation;
};

struct kernel_report {
    double peak; /* GFLOP/s */
    bool wide;   /* AVX-512, whose shares of the peak are asked */
    struct ipex_table table;
    struct ipex_arena arena; /* names kept for the summary */
    int tiny;                /* next to nothing by their roofline */
    int layers[KERNEL_RULES], holding[KERNEL_RULES];
    int activated[KERNEL_RULES]; /* hold where their activation's time counts */
    double lowest[KERNEL_RULES]; /* share of what the rule counts */
    const char *lowest_name[KERNEL_RULES];
    int near;                  /* at 90 % or more */
    double least_us[2], us[2]; /* what all take at least, and take; [1]: those by Winograd */
    int compared, behind, unknown;
    char **behind_name; /* [behind] */
    size_t behind_room;
};

enum kernel_rule kernel_rule_of(const struct onednn_layer *layer, const char *op,
                                const struct ipex_roofline *bound);

void kernel_report_init(struct kernel_report *ret, double peak, bool wide);
void kernel_report_add(struct kernel_report *report, const struct kernel_row *row);
/* Rows, as text or in Markdown, then the summary. */
void kernel_report_print(const struct kernel_report *report, bool markdown);
void kernel_report_finish(struct kernel_report *report);

#endif
