/* SPDX-License-Identifier: Apache-2.0 */
/* What `ipexpack bench` prints: text, or one JSON object. */
#include "tools/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/roofline.h"
#include "tools/text_table.h"

/* Nearest rank; the runs are sorted. */
static double percentile(const struct ipex_bench *bench, double share) {
    size_t rank = (size_t)ceil(share * (double)bench->runs);
    return (double)bench->run_us[rank ? rank - 1 : 0];
}

/* ---- steps ---- */

static int slowest_first(const void *a, const void *b) {
    double x = ((const struct ipex_bench_step *)a)->median_us,
           y = ((const struct ipex_bench_step *)b)->median_us;
    return (x < y) - (x > y);
}

static void print_steps(const struct ipex_bench *bench) {
    static const struct ipex_table_column columns[] = {
        {"us", true, 0},  {"share", true, 0},   {"GFLOP/s", true, 0}, {"GB/s", true, 0},
        {"op", false, 0}, {"kernel", false, 0}, {"step", false, 60},
    };
    struct ipex_table table;
    const size_t bytes = bench->steps * sizeof(struct ipex_bench_step);
    struct ipex_bench_step *list = ipex_alloc(bytes);
    double total = 0;
    memcpy(list, bench->step, bytes);
    ipex_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < bench->steps; i++)
        total += list[i].median_us;
    qsort(list, bench->steps, sizeof *list, slowest_first);
    for (size_t i = 0; i < bench->steps; i++) {
        double us = list[i].median_us > 0 ? list[i].median_us : NAN;
        ipex_table_cell(&table, "%.1f", list[i].median_us);
        ipex_table_cell(&table, "%.1f %%", 100 * list[i].median_us / total);
        ipex_table_cell(&table, "%.1f", (double)list[i].info.flops * 1e-3 / us);
        ipex_table_cell(&table, "%.1f", (double)list[i].info.bytes * 1e-3 / us);
        ipex_table_cell(&table, "%s", list[i].info.op);
        ipex_table_cell(&table, "%s", list[i].info.kernel);
        ipex_table_cell(&table, "%s", list[i].info.name);
    }
    ipex_cli_say("\nsteps, medians of %zu runs, slowest first; all together %.1f us\n\n",
                 bench->profiled, total);
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
    free(list);
}

static double bound_us(const struct ipex_bench *bench, const struct ipex_step_info *step) {
    const struct ipex_roofline bound =
        ipex_step_roofline(&bench->machine, ipex_session_isa(bench->model.session), step);
    return ipex_roofline_us(&bound);
}

static json_t *steps_json(const struct ipex_bench *bench) {
    const struct ipex_bench_step *list = bench->step;
    json_t *array = ipex_json_array();
    for (size_t i = 0; i < bench->steps; i++) {
        json_t *object = ipex_json_object();
        ipex_json_set_text(object, "name", list[i].info.name);
        ipex_json_set_text(object, "op", list[i].info.op);
        ipex_json_set_text(object, "kernel", list[i].info.kernel);
        ipex_json_set_real(object, "median_us", list[i].median_us);
        ipex_json_set_integer(object, "flops", list[i].info.flops);
        ipex_json_set_integer(object, "spared_flops", list[i].info.spared_flops);
        ipex_json_set_integer(object, "bytes", list[i].info.bytes);
        if (bench->html)
            ipex_json_set_real(object, "bound_us", bound_us(bench, &list[i].info));
        ipex_json_append(array, object);
    }
    return array;
}

/* The steps, which are in the order of the nodes, from which to which a tensor is kept. */
static void kept_at(const struct ipex_bench *bench, const struct ipex_storage_info *storage,
                    long long *ret_first, long long *ret_last) {
    *ret_first = 0;
    *ret_last = -1;
    for (size_t i = 0; i < bench->steps; i++) {
        const struct ipex_step_info *step = &bench->step[i].info;
        *ret_first += step->node + step->nodes <= storage->first;
        *ret_last += step->node <= storage->last;
    }
}

static json_t *storages_json(const struct ipex_bench *bench) {
    json_t *array = ipex_json_array();
    struct ipex_storage_info storage;
    for (size_t i = 0;
         ipex_session_storage(bench->model.session, bench->entry, i, &storage) == IPEX_OK; i++) {
        if (!storage.bytes)
            continue;
        long long first, last;
        kept_at(bench, &storage, &first, &last);
        json_t *object = ipex_json_object();
        ipex_json_set_text(object, "name", storage.name);
        ipex_json_set_integer(object, "offset", storage.offset);
        ipex_json_set_integer(object, "bytes", storage.bytes);
        ipex_json_set_integer(object, "first", first);
        ipex_json_set_integer(object, "last", last);
        ipex_json_append(array, object);
    }
    return array;
}

/* ---- all ---- */

/* Of the profile that the session computes in. */
static double peak_gflops(const struct ipex_bench *bench) {
    const enum ipex_arithmetic profile = ipex_session_arithmetic(bench->model.session);
    const enum ipex_isa isa =
        ipex_step_isa(ipex_session_isa(bench->model.session), profile == IPEX_ARITHMETIC_bf16_amx);
    return ipex_machine_peak_gflops(
        &bench->machine, isa, profile == IPEX_ARITHMETIC_f32 ? IPEX_DTYPE_f32 : IPEX_DTYPE_bf16);
}

json_t *ipex_bench_json(const struct ipex_bench *bench) {
    json_t *object = ipex_json_object();
    ipex_json_set_text(object, "file", bench->file);
    ipex_json_set_text(object, "entry", bench->entry);
    ipex_run_sizes_json(&bench->sizes, object);
    ipex_json_set_real(object, "min_us", percentile(bench, 0));
    ipex_json_set_real(object, "median_us", percentile(bench, 0.5));
    ipex_json_set_real(object, "p90_us", percentile(bench, 0.9));
    ipex_json_set_real(object, "p99_us", percentile(bench, 0.99));
    ipex_json_set_real(object, "max_us", percentile(bench, 1));
    ipex_json_set_integer(object, "runs", (long long)bench->runs);
    ipex_model_json(&bench->model, object);
    ipex_json_set_real(object, "open_us", bench->model.open_us);
    ipex_json_set_real(object, "init_us", bench->model.init_us);
    ipex_json_set_real(object, "first_run_us", bench->first_run_us);
    ipex_json_set_integer(object, "session_bytes", (long long)bench->model.session_bytes);
    ipex_json_set_integer(object, "file_bytes", (long long)bench->model.file_bytes);
    ipex_json_set_integer(object, "peak_rss_kb", bench->peak_rss_kb);
    ipex_json_set_integer(object, "anon_kb", bench->anon_kb);
    ipex_json_set_integer(object, "page_faults", bench->page_faults);
    if (bench->profile)
        ipex_json_set(object, "steps", steps_json(bench));
    if (bench->html) {
        ipex_json_set_real(object, "peak_gflops", peak_gflops(bench));
        ipex_json_set(object, "machine", ipex_machine_json(&bench->machine));
        ipex_json_set(object, "storages", storages_json(bench));
    }
    return object;
}

void ipex_bench_print(const struct ipex_bench *bench) {
    char file[16], session[16];
    struct ipex_arena arena = {0};
    ipex_bytes_text((double)bench->model.file_bytes, file);
    ipex_bytes_text((double)bench->model.session_bytes, session);
    ipex_cli_say("%s: ", bench->file);
    ipex_model_print(&bench->model);
    if (bench->sizes.count)
        ipex_cli_say(", %s", ipex_run_sizes_text(&bench->sizes, &arena));
    ipex_cli_say("\n\n");
    ipex_cli_say("run       min %.1f us, median %.1f, p90 %.1f, p99 %.1f, max %.1f (%zu runs)\n",
                 percentile(bench, 0), percentile(bench, 0.5), percentile(bench, 0.9),
                 percentile(bench, 0.99), percentile(bench, 1), bench->runs);
    ipex_cli_say("start     open %.1f us, init %.1f us, first run %.1f us\n", bench->model.open_us,
                 bench->model.init_us, bench->first_run_us);
    ipex_cli_say("memory    file %s, session %s, peak resident %ld kB, anonymous %ld kB\n", file,
                 session, bench->peak_rss_kb, bench->anon_kb);
    ipex_cli_say("faults    %ld page faults while running\n", bench->page_faults);
    if (bench->profile)
        print_steps(bench);
    if (bench->html)
        ipex_cli_say("\npage      %s\n", bench->html);
    ipex_arena_finish(&arena);
}
