/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack bench`: how long opening, preparing and running a file takes, and what memory the
 * process uses for it. Inputs are seeded pseudo-random numbers, outputs stay where the session has
 * them: nothing but ipex_run is inside the timed calls. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/arena.h"
#include "tools/metadata.h"
#include "tools/model.h"
#include "tools/run_sizes.h"
#include "tools/text_table.h"
#include "tools/tensor_file.h"
#include "tools/verbs.h"

/* Recording must not disturb what is measured: its memory is taken before the runs and bounded. A
 * measurement ends early when its record is full, which only networks of a few microseconds reach.
 */
#define MAX_RUNS     100000
#define MIN_RUNS     3
#define MAX_PROFILED 1000 /* runs whose steps are recorded */

struct bench {
    const char *file;
    const char *entry_wanted, *entry; /* as given, and the entry's name */
    struct ipex_machine_options machine;
    double seconds;
    bool profile, json;
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

    size_t steps, profiled;
    uint64_t *ticks;      /* [steps + 1] of the latest run */
    uint32_t *step_ticks; /* [profiled][steps] */
    double us_per_tick;
    uint64_t first_tick, last_tick; /* of all profiled runs, and the clock beside them */
    double first_us, last_us;
};

/* ---- inputs ---- */

static double uniform(uint64_t *state) { /* (0, 1) */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 12) + 0.5) * 0x1p-52;
}

static double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

/* Floating-point inputs are standard normal (bf16: cut from f32; f16: +-[1, 2)), integers are 0
 * to 7. */
static void fill(struct ipex_tensor_data *tensor, uint64_t *state) {
    unsigned width = ipex_dtype_size(tensor->dtype);
    for (uint8_t *at = tensor->data; at < tensor->data + tensor->size; at += width) {
        float value = (float)normal(state);
        uint64_t small = (uint64_t)(uniform(state) * 8);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        uint16_t half = (uint16_t)(bits >> 16);
        double wide = (double)value;
        switch (tensor->dtype) {
        case IPEX_DTYPE_f32:
            memcpy(at, &value, width);
            break;
        case IPEX_DTYPE_f64:
            memcpy(at, &wide, width);
            break;
        case IPEX_DTYPE_bf16:
            memcpy(at, &half, width);
            break;
        case IPEX_DTYPE_f16: /* sign, exponent of 1, f32's leading fraction bits */
            half = (uint16_t)((bits >> 16 & 0x8000u) | 0x3c00u | (bits >> 13 & 0x3ffu));
            memcpy(at, &half, width);
            break;
        case IPEX_DTYPE_bool:
            *at = small & 1;
            break;
        default:
            memcpy(at, &small, width);
            break; /* little-endian */
        }
    }
}

static int make_inputs(struct bench *bench) {
    uint64_t state = 0x9e3779b97f4a7c15u;
    struct ipex_port port;
    bench->input_count = ipex_image_input_count(bench->model.image, bench->entry);
    bench->inputs = ipex_arena_array(&bench->arena, bench->input_count, sizeof *bench->inputs);
    bench->input_data =
        ipex_arena_array(&bench->arena, bench->input_count, sizeof *bench->input_data);
    for (size_t i = 0; i < bench->input_count; i++) {
        if (!ipex_model_input(&bench->model, bench->entry, i, &port))
            return IPEX_EXIT_FAILED;
        ipex_run_sizes_input(&bench->sizes, (uint32_t)i, &port);
        struct ipex_tensor_data *data = &bench->input_data[i];
        if (!ipex_tensor_data_init(data, port.dtype, port.dims, port.rank))
            return ipex_cli_failed("input '%s': its shape is not valid", port.name);
        fill(data, &state);
        bench->inputs[i] = (struct ipex_tensor){
            .name = port.name, .data = data->data, .dtype = port.dtype, .rank = port.rank};
        memcpy(bench->inputs[i].dims, port.dims, sizeof port.dims);
    }
    bench->output_count = ipex_image_output_count(bench->model.image, bench->entry);
    bench->outputs = ipex_arena_array(&bench->arena, bench->output_count, sizeof *bench->outputs);
    return 0;
}

/* ---- measuring ---- */

static int run_once(struct bench *bench, double *ret_start, double *ret_end) {
    struct ipex_run_options options = {
        .size_of_struct = sizeof options,
        .step_ticks = bench->ticks,
        .step_ticks_count = bench->ticks ? bench->steps + 1 : 0,
    };
    /* a view returned by the last run would be taken for the caller's buffer */
    memset(bench->outputs, 0, bench->output_count * sizeof *bench->outputs);
    *ret_start = ipex_now_us();
    enum ipex_status status =
        ipex_run_with(bench->model.session, bench->entry, bench->inputs, bench->input_count,
                      bench->outputs, bench->output_count, &options);
    *ret_end = ipex_now_us();
    if (status == IPEX_OK)
        return 0;
    const char *message = ipex_session_message(bench->model.session);
    return ipex_cli_failed("%s: %s", bench->file, *message ? message : ipex_status_text(status));
}

static long page_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* Takes the memory for the records of about `runs` runs, and touches it. */
static void make_records(struct bench *bench, size_t runs) {
    bench->run_us = ipex_arena_array(&bench->arena, runs, sizeof *bench->run_us);
    memset(bench->run_us, 0xff, runs * sizeof *bench->run_us);
    if (!bench->profile)
        return;
    bench->steps = ipex_session_step_count(bench->model.session, bench->entry);
    size_t count = (runs < MAX_PROFILED ? runs : MAX_PROFILED) * bench->steps;
    bench->step_ticks = ipex_arena_array(&bench->arena, count, sizeof *bench->step_ticks);
    memset(bench->step_ticks, 0xff, count * sizeof *bench->step_ticks);
    bench->ticks = ipex_arena_array(&bench->arena, bench->steps + 1, sizeof *bench->ticks);
}

static void record_steps(struct bench *bench, double start, double end) {
    if (!bench->ticks || bench->profiled == MAX_PROFILED)
        return;
    if (!bench->profiled) {
        bench->first_tick = bench->ticks[0];
        bench->first_us = start;
    }
    bench->last_tick = bench->ticks[bench->steps];
    bench->last_us = end;
    uint32_t *record = bench->step_ticks + bench->profiled++ * bench->steps;
    for (size_t i = 0; i < bench->steps; i++) {
        uint64_t ticks = bench->ticks[i + 1] - bench->ticks[i];
        record[i] = ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
    }
}

static int compare_float(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int measure(struct bench *bench) {
    double start, end;
    int code = run_once(bench, &start, &end);
    if (code)
        return code;
    bench->first_run_us = end - start;
    code = run_once(bench, &start, &end); /* warm: sizes the record */
    if (code)
        return code;
    double expected = bench->seconds * 1e6 / (end - start) * 2 + MIN_RUNS;
    size_t most = expected < MAX_RUNS ? (size_t)expected : MAX_RUNS;
    make_records(bench, most);
    long faults = page_faults();
    double deadline = ipex_now_us() + bench->seconds * 1e6;
    while (bench->runs < most && (bench->runs < MIN_RUNS || ipex_now_us() < deadline)) {
        code = run_once(bench, &start, &end);
        if (code)
            return code;
        bench->run_us[bench->runs++] = (float)(end - start);
        record_steps(bench, start, end);
    }
    bench->page_faults = page_faults() - faults;
    qsort(bench->run_us, bench->runs, sizeof *bench->run_us, compare_float);
    if (bench->last_tick > bench->first_tick)
        bench->us_per_tick =
            (bench->last_us - bench->first_us) / (double)(bench->last_tick - bench->first_tick);
    return 0;
}

/* Nearest rank; the runs are sorted. */
static double percentile(const struct bench *bench, double share) {
    size_t rank = (size_t)ceil(share * (double)bench->runs);
    return (double)bench->run_us[rank ? rank - 1 : 0];
}

/* "Name:   123 kB" of a file of /proc/self; -1 when it is not there. */
static long proc_kb(const char *path, const char *name) {
    char line[256];
    long value = -1;
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (value < 0 && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            value = strtol(line + strlen(name), NULL, 10);
    fclose(file);
    return value;
}

/* ---- steps ---- */

struct step {
    struct ipex_step_info info;
    double median_us;
};

static struct step *make_steps(struct bench *bench) {
    struct step *list = ipex_arena_array(&bench->arena, bench->steps, sizeof *list);
    uint32_t *one = ipex_arena_array(&bench->arena, bench->profiled, sizeof *one);
    for (size_t i = 0; i < bench->steps; i++) {
        if (ipex_session_step(bench->model.session, bench->entry, i, &list[i].info) != IPEX_OK)
            list[i].info = (struct ipex_step_info){.name = "", .op = "", .kernel = ""};
        for (size_t run = 0; run < bench->profiled; run++)
            one[run] = bench->step_ticks[run * bench->steps + i];
        qsort(one, bench->profiled, sizeof *one, compare_u32);
        list[i].median_us = one[(bench->profiled - 1) / 2] * bench->us_per_tick;
    }
    return list;
}

static int slowest_first(const void *a, const void *b) {
    double x = ((const struct step *)a)->median_us, y = ((const struct step *)b)->median_us;
    return (x < y) - (x > y);
}

static void print_steps(struct bench *bench) {
    static const struct ipex_table_column columns[] = {
        {"us", true, 0},  {"share", true, 0},   {"GFLOP/s", true, 0}, {"GB/s", true, 0},
        {"op", false, 0}, {"kernel", false, 0}, {"step", false, 60},
    };
    struct ipex_table table;
    struct step *list = make_steps(bench);
    double total = 0;
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
    printf("\nsteps, medians of %zu runs, slowest first; all together %.1f us\n\n", bench->profiled,
           total);
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
}

static json_t *steps_json(struct bench *bench) {
    struct step *list = make_steps(bench);
    json_t *array = ipex_json_array();
    for (size_t i = 0; i < bench->steps; i++) {
        json_t *object = ipex_json_object();
        ipex_json_set_text(object, "name", list[i].info.name);
        ipex_json_set_text(object, "op", list[i].info.op);
        ipex_json_set_text(object, "kernel", list[i].info.kernel);
        ipex_json_set_real(object, "median_us", list[i].median_us);
        ipex_json_set_integer(object, "flops", list[i].info.flops);
        ipex_json_set_integer(object, "bytes", list[i].info.bytes);
        ipex_json_append(array, object);
    }
    return array;
}

/* ---- report ---- */

static void print_json(struct bench *bench) {
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
    ipex_json_set_integer(object, "peak_rss_kb", proc_kb("/proc/self/status", "VmHWM:"));
    ipex_json_set_integer(object, "anon_kb", proc_kb("/proc/self/smaps_rollup", "Anonymous:"));
    ipex_json_set_integer(object, "page_faults", bench->page_faults);
    if (bench->profile)
        ipex_json_set(object, "steps", steps_json(bench));
    ipex_json_finish(object);
}

static void print_report(struct bench *bench) {
    char file[16], session[16];
    ipex_bytes_text((double)bench->model.file_bytes, file);
    ipex_bytes_text((double)bench->model.session_bytes, session);
    printf("%s: ", bench->file);
    ipex_model_print(&bench->model);
    if (bench->sizes.count)
        printf(", %s", ipex_run_sizes_text(&bench->sizes, &bench->arena));
    printf("\n\n");
    printf("run       min %.1f us, median %.1f, p90 %.1f, p99 %.1f, max %.1f (%zu runs)\n",
           percentile(bench, 0), percentile(bench, 0.5), percentile(bench, 0.9),
           percentile(bench, 0.99), percentile(bench, 1), bench->runs);
    printf("start     open %.1f us, init %.1f us, first run %.1f us\n", bench->model.open_us,
           bench->model.init_us, bench->first_run_us);
    printf("memory    file %s, session %s, peak resident %ld kB, anonymous %ld kB\n", file, session,
           proc_kb("/proc/self/status", "VmHWM:"),
           proc_kb("/proc/self/smaps_rollup", "Anonymous:"));
    printf("faults    %ld page faults while running\n", bench->page_faults);
    if (bench->profile)
        print_steps(bench);
}

static int work(struct bench *bench, const struct ipex_cli_verb *verb) {
    int code = ipex_model_open(&bench->model, bench->file, false);
    if (!code)
        code = ipex_model_entry(&bench->model, verb, bench->entry_wanted, &bench->entry);
    if (!code && !ipex_metadata_open(&bench->metadata, bench->file, bench->model.image))
        code = IPEX_EXIT_FAILED;
    if (!code)
        code =
            ipex_run_sizes_init(&bench->sizes, verb, &bench->metadata, bench->entry, &bench->dims);
    if (!code)
        code = ipex_run_sizes_lowest(&bench->sizes);
    if (!code)
        code = ipex_model_start(&bench->model, verb, &bench->machine, bench->entry,
                                bench->sizes.range, bench->sizes.count);
    if (!code)
        code = make_inputs(bench);
    if (!code)
        code = measure(bench);
    if (code)
        return code;
    if (bench->json)
        print_json(bench);
    else
        print_report(bench);
    return IPEX_EXIT_DONE;
}

int ipex_verb_bench(int argc, char **argv) {
    struct bench bench = {.machine = {.threads = 1}, .seconds = 3};
    const struct ipex_cli_option options[] = {
        {"dim", "[ENTRY:]NAME=N", "a size that each run chooses (the lowest of its range)",
         IPEX_CLI_LIST, false, &bench.dims, 0, 0},
        IPEX_ENTRY_OPTION(bench.entry_wanted),
        IPEX_MACHINE_OPTIONS(bench.machine),
        {"seconds", "S", "how long to run (3)", IPEX_CLI_REAL, false, &bench.seconds, 0.001, 86400},
        {"profile", NULL, "also time every step", IPEX_CLI_FLAG, false, &bench.profile, 0, 0},
        {"json", NULL, "print one JSON object", IPEX_CLI_FLAG, false, &bench.json, 0, 0},
        {0},
    };
    const struct ipex_cli_verb verb = {"bench", "FILE",
                                       "Measures a file on seeded random inputs: opening, "
                                       "preparing, running, memory, page faults.",
                                       options, NULL};
    int code;
    if (ipex_cli_parse(&verb, argc, argv, &bench.file, &code))
        code = work(&bench, &verb);
    for (size_t i = 0; i < bench.input_count && bench.input_data; i++)
        ipex_tensor_data_finish(&bench.input_data[i]);
    ipex_metadata_close(&bench.metadata);
    ipex_model_close(&bench.model);
    ipex_cli_list_finish(&bench.dims);
    ipex_arena_finish(&bench.arena);
    return code;
}
