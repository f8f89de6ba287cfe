/* SPDX-License-Identifier: Apache-2.0 */
/* What `ipexpack bench` measures, and the forms in which it is told. */
#ifndef IPEX_TOOLS_BENCH_H
#define IPEX_TOOLS_BENCH_H

#include "tools/arena.h"
#include "tools/atomic_file.h"
#include "tools/cli.h"
#include "tools/machine.h"
#include "tools/metadata.h"
#include "tools/model.h"
#include "tools/run_sizes.h"
#include "tools/tensor_file.h"

struct ipex_bench_step {
    struct ipex_step_info info;
    double median_us;
};

struct ipex_bench {
    const char *file;
    const char *entry_wanted, *entry; /* as given, and the entry's name */
    const char *html;                 /* where the page goes; NULL: none */
    struct ipex_machine_options options;
    double seconds;
    bool profile, json, machine_only;
    struct ipex_cli_list dims;
    struct ipex_model model;
    struct ipex_metadata metadata;
    struct ipex_run_sizes sizes;
    struct ipex_arena arena;
    struct ipex_tensor *inputs, *outputs;
    struct ipex_tensor_data *input_data;
    size_t input_count, output_count;

    double first_run_us;
    float *run_us; /* [runs], sorted once all are done */
    size_t runs;
    long page_faults; /* of the runs in run_us */
    long peak_rss_kb, anon_kb;

    size_t steps, profiled;
    uint64_t *ticks;      /* [steps + 1] of the latest run */
    uint32_t *step_ticks; /* [profiled][steps] */
    double us_per_tick;
    uint64_t first_tick, last_tick; /* of all profiled runs, and the clock beside them */
    double first_us, last_us;

    struct ipex_bench_step *step; /* [steps], once all runs are done */
    struct ipex_machine machine;  /* measured where a page is wanted */
    struct ipex_atomic_file page;
};

void ipex_bench_print(const struct ipex_bench *bench);
/* All that was measured; with a page also what it needs of the machine and of the arena. */
json_t *ipex_bench_json(const struct ipex_bench *bench);

/* bench_page.c: a page that shows what ipex_bench_json gives. */
IPEX_WARN_UNUSED enum ipex_status ipex_bench_page(struct ipex_atomic_file *page, const json_t *data,
                                                  const struct ipex_report *report);

#endif
