/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing passes or fails here: times are facts about a machine. */
#include "tests/bench/kernel_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR    0.9  /* of the roofline */
#define BEHIND  1.05 /* of the opponent's time */
#define TINY_US 0.5  /* of the roofline: beside it the call itself counts */

enum { PEAK_COLUMNS = 32, PEAK_DEPTH = 64, PANEL_COLUMNS = 16 };

/* Shares that are asked, with AVX-512 and with AVX2. */
static const struct {
    const char *name, *of;
    double wide, narrow;
} rules[KERNEL_RULES] = {
    [KERNEL_PEAK] = {"peak", "the peak", 0.90, 0.80},
    [KERNEL_ONE_PANEL] = {"one panel", "the roofline", 0.65, 0.65},
    [KERNEL_ROOFLINE] = {"roofline", "the roofline", 0.90, 0.80},
    [KERNEL_WINOGRAD] = {"winograd", "the direct algorithm's roofline", 0.90, 0.80},
    [KERNEL_NONE] = {"-", "", 0, 0},
};

static const struct ipex_table_column columns[] = {
    {"operator", false, 0},  {"layer", false, 0}, {"us", true, 0},
    {"GFLOP/s", true, 0},    {"% peak", true, 0}, {"bound by", false, 0},
    {"% roofline", true, 0}, {"rule", false, 0},  {"holds", false, 0},
    {"their us", true, 0},   {"ratio", true, 0},  {"their kernel", false, 24},
    {"network", false, 0},   {"node", false, 48},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

enum kernel_rule kernel_rule_of(const struct onednn_layer *layer, const char *op,
                                const struct ipex_roofline *bound) {
    const bool constant = layer->kind != ONEDNN_MATMUL || layer->constant;
    const bool square = layer->kind == ONEDNN_MATMUL ||
                        (layer->kind == ONEDNN_CONV && layer->kernel_h == layer->kernel_w &&
                         (layer->kernel_h == 1 || layer->kernel_h == 3));
    if (!constant || layer->bits || ipex_roofline_us(bound) < TINY_US)
        return KERNEL_NONE;
    if (strcmp(op, "winograd") == 0)
        return KERNEL_WINOGRAD;
    if (strcmp(op, "depthwise") == 0)
        return KERNEL_ROOFLINE;
    if (layer_columns(layer) <= PANEL_COLUMNS)
        return KERNEL_ONE_PANEL;
    const bool large = layer_columns(layer) >= PEAK_COLUMNS && layer_depth(layer) >= PEAK_DEPTH;
    return square && large && bound->computing_us >= bound->reading_us ? KERNEL_PEAK
                                                                       : KERNEL_ROOFLINE;
}

void kernel_report_init(struct kernel_report *ret, double peak, bool wide) {
    *ret = (struct kernel_report){.peak = peak, .wide = wide};
    for (int i = 0; i < KERNEL_RULES; i++)
        ret->lowest[i] = 1e30;
    ipex_table_init(&ret->table, columns, COLUMNS);
}

/* ---- a layer ---- */

/* What the layer takes at least, by its rule. */
static double least_us(const struct kernel_report *report, const struct kernel_row *row) {
    switch (row->rule) {
    case KERNEL_PEAK:
        return row->flops * 1e-3 / report->peak;
    case KERNEL_WINOGRAD:
        return row->direct_us;
    default:
        return ipex_roofline_us(&row->bound);
    }
}

/* The share that the row's rule counts. */
static double share_of(const struct kernel_report *report, const struct kernel_row *row) {
    return least_us(report, row) / row->us;
}

static double asked(const struct kernel_report *report, enum kernel_rule rule) {
    return report->wide ? rules[rule].wide : rules[rule].narrow;
}

static void count_rule(struct kernel_report *report, const struct kernel_row *row,
                       const char *name) {
    const double share = share_of(report, row);
    report->layers[row->rule]++;
    if (share >= asked(report, row->rule))
        report->holding[row->rule]++;
    else if ((least_us(report, row) + row->activation_us) / row->us >= asked(report, row->rule))
        report->activated[row->rule]++;
    if (share < report->lowest[row->rule]) {
        report->lowest[row->rule] = share;
        report->lowest_name[row->rule] = name;
    }
}

static void count_roofline(struct kernel_report *report, const struct kernel_row *row) {
    const double share = share_of(report, row);
    const bool winograd = row->rule == KERNEL_WINOGRAD;
    if (ipex_roofline_us(&row->bound) < TINY_US) {
        report->tiny++;
        return;
    }
    report->near += share >= NEAR;
    report->least_us[winograd] += ipex_roofline_us(&row->bound);
    report->us[winograd] += row->us;
}

static void count_theirs(struct kernel_report *report, const struct kernel_row *row,
                         const char *name) {
    if (row->their_us <= 0) {
        report->unknown++;
        return;
    }
    report->compared++;
    const double ratio = row->us / row->their_us;
    if (ratio <= BEHIND)
        return;
    report->behind_name = ipex_grow(report->behind_name, &report->behind_room,
                                    (size_t)report->behind + 1, sizeof *report->behind_name);
    report->behind_name[report->behind++] =
        ipex_arena_printf(&report->arena, "%s %.2f", name, ratio);
}

static void add_rule(struct kernel_report *report, const struct kernel_row *row) {
    const double share = share_of(report, row), least = asked(report, row->rule);
    if (row->rule == KERNEL_NONE) {
        ipex_table_cell(&report->table, "-");
        ipex_table_cell(&report->table, "-");
        return;
    }
    ipex_table_cell(&report->table, "%s %.0f", rules[row->rule].name, 100 * least);
    if (share >= least)
        ipex_table_cell(&report->table, "yes");
    else
        ipex_table_cell(&report->table, "no: %.1f", 100 * share);
}

static void add_theirs(struct kernel_report *report, const struct kernel_row *row) {
    if (row->their_us > 0) {
        ipex_table_cell(&report->table, "%.1f", row->their_us);
        ipex_table_cell(&report->table, "%.2f", row->us / row->their_us);
    } else {
        ipex_table_cell(&report->table, "-");
        ipex_table_cell(&report->table, "-");
    }
    ipex_table_cell(&report->table, "%s", row->implementation);
}

void kernel_report_add(struct kernel_report *report, const struct kernel_row *row) {
    struct ipex_table *table = &report->table;
    const double rate = row->flops * 1e-3 / row->us;
    const bool computing = row->bound.computing_us >= row->bound.reading_us;
    ipex_table_cell(table, "%s", row->op);
    ipex_table_cell(table, "%s", row->layer);
    ipex_table_cell(table, "%.1f", row->us);
    ipex_table_cell(table, "%.1f", rate);
    ipex_table_cell(table, "%.1f", 100 * rate / report->peak);
    ipex_table_cell(table, "%s", computing ? "arithmetic" : row->bound.store);
    ipex_table_cell(table, "%.1f", 100 * ipex_roofline_us(&row->bound) / row->us);
    add_rule(report, row);
    add_theirs(report, row);
    ipex_table_cell(table, "%s", row->network);
    ipex_table_cell(table, "%s", row->node);
    const char *name = ipex_arena_printf(&report->arena, "%s %s", row->network, row->layer);
    count_rule(report, row, name);
    count_roofline(report, row);
    count_theirs(report, row, name);
}

/* ---- all ---- */

static void print_markdown(const struct ipex_table *table) {
    for (size_t i = 0; i < table->columns; i++)
        printf("| %s ", table->column[i].title);
    printf("|\n");
    for (size_t i = 0; i < table->columns; i++)
        printf(table->column[i].right ? "|--:" : "|---");
    printf("|\n");
    for (size_t i = 0; i < table->cells; i++)
        printf("| %s %s", table->cell[i], (i + 1) % table->columns ? "" : "|\n");
}

static void print_rules(const struct kernel_report *report) {
    for (int i = 0; i < KERNEL_NONE; i++)
        if (report->layers[i])
            printf("%s: %d of %d layers at >= %.0f %% of %s, %d more with the time of their "
                   "activation alone; lowest %.1f %% (%s)\n",
                   rules[i].name, report->holding[i], report->layers[i], 100 * asked(report, i),
                   rules[i].of, report->activated[i], 100 * report->lowest[i],
                   report->lowest_name[i]);
    if (report->layers[KERNEL_WINOGRAD])
        printf("winograd: all together %.1f %% of the roofline of their own multiplications\n",
               100 * report->least_us[1] / report->us[1]);
}

static void print_behind(const struct kernel_report *report) {
    printf("%d layers more than 5 %% behind oneDNN or ggml, of %d compared (%d that they have not)",
           report->behind, report->compared, report->unknown);
    for (int i = 0; i < report->behind; i++)
        printf("%s %s", i ? "," : ":", report->behind_name[i]);
    printf("\n");
}

void kernel_report_print(const struct kernel_report *report, bool markdown) {
    const int layers = report->compared + report->unknown - report->tiny;
    if (markdown)
        print_markdown(&report->table);
    else
        ipex_table_print(&report->table, stdout);
    printf("\n%d of %d layers at >= %.0f %% of their roofline (of the direct algorithm)",
           report->near, layers, 100 * NEAR);
    if (report->us[0] > 0)
        printf("; all but winograd together %.1f %%", 100 * report->least_us[0] / report->us[0]);
    printf("; %d below %.1f us by their roofline are not counted\n", report->tiny, TINY_US);
    print_rules(report);
    print_behind(report);
}

void kernel_report_finish(struct kernel_report *report) {
    ipex_table_finish(&report->table);
    ipex_arena_finish(&report->arena);
    free(report->behind_name);
}
