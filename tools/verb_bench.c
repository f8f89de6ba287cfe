/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack bench`: how long opening, preparing and running a file takes, and what memory the
 * process uses for it. Inputs are seeded pseudo-random numbers, outputs stay where the session has
 * them: nothing but ipex_run is inside the timed calls. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/bench.h"
#include "tools/verbs.h"

/* Recording must not disturb what is measured: its memory is taken before the runs and bounded. A
 * measurement ends early when its record is full, which only networks of a few microseconds reach.
 */
#define MAX_RUNS     100000
#define MIN_RUNS     3
#define MAX_PROFILED 1000 /* runs whose steps are recorded */

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

static int make_inputs(struct ipex_bench *bench) {
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
        bench->inputs[i] = ipex_model_tensor(port.name, data);
    }
    bench->output_count = ipex_image_output_count(bench->model.image, bench->entry);
    bench->outputs = ipex_arena_array(&bench->arena, bench->output_count, sizeof *bench->outputs);
    return 0;
}

/* ---- measuring ---- */

static int run_once(struct ipex_bench *bench, double *ret_start, double *ret_end) {
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
    return status == IPEX_OK ? 0 : ipex_model_run_failed(&bench->model, bench->file, status);
}

static long page_faults(struct rusage *usage) {
    getrusage(RUSAGE_SELF, usage);
    return usage->ru_minflt + usage->ru_majflt;
}

/* Takes the memory for the records of about `runs` runs, and touches it. */
static void make_records(struct ipex_bench *bench, size_t runs) {
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

static void record_steps(struct ipex_bench *bench, double start, double end) {
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

static int measure(struct ipex_bench *bench) {
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
    struct rusage usage = {0}; /* touched: where counting writes is no fault of the runs */
    long faults = 0;
    double deadline = ipex_now_us() + bench->seconds * 1e6;
    while (bench->runs < most && (bench->runs < MIN_RUNS || ipex_now_us() < deadline)) {
        code = run_once(bench, &start, &end);
        if (code)
            return code;
        bench->run_us[bench->runs++] = (float)(end - start);
        record_steps(bench, start, end);
        if (bench->runs == 1) /* this loop's own code has its pages now */
            faults = page_faults(&usage);
    }
    bench->page_faults = page_faults(&usage) - faults;
    bench->peak_rss_kb = proc_kb("/proc/self/status", "VmHWM:");
    bench->anon_kb = proc_kb("/proc/self/smaps_rollup", "Anonymous:");
    qsort(bench->run_us, bench->runs, sizeof *bench->run_us, compare_float);
    if (bench->last_tick > bench->first_tick)
        bench->us_per_tick =
            (bench->last_us - bench->first_us) / (double)(bench->last_tick - bench->first_tick);
    return 0;
}

/* ---- steps ---- */

static int compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void make_steps(struct ipex_bench *bench) {
    struct ipex_bench_step *list = ipex_arena_array(&bench->arena, bench->steps, sizeof *list);
    uint32_t *one = ipex_arena_array(&bench->arena, bench->profiled, sizeof *one);
    for (size_t i = 0; i < bench->steps; i++) {
        if (ipex_session_step(bench->model.session, bench->entry, i, &list[i].info) != IPEX_OK)
            list[i].info = (struct ipex_step_info){.name = "", .op = "", .kernel = ""};
        for (size_t run = 0; run < bench->profiled; run++)
            one[run] = bench->step_ticks[run * bench->steps + i];
        qsort(one, bench->profiled, sizeof *one, compare_u32);
        list[i].median_us = one[(bench->profiled - 1) / 2] * bench->us_per_tick;
    }
    bench->step = list;
}

/* ---- the verb ---- */

/* The page's file is opened first: what is wrong with its path is told before all measuring. */
static int open_page(struct ipex_bench *bench) {
    char message[IPEX_CLI_MESSAGE_SIZE] = "";
    const struct ipex_report report = {message, sizeof message};
    if (!bench->html || ipex_atomic_open(bench->html, &bench->page, &report) == IPEX_OK)
        return IPEX_EXIT_DONE;
    return ipex_cli_failed("--html: %s", message);
}

static int write_page(struct ipex_bench *bench, const json_t *data) {
    char message[IPEX_CLI_MESSAGE_SIZE] = "";
    const struct ipex_report report = {message, sizeof message};
    if (ipex_bench_page(&bench->page, data, &report) == IPEX_OK)
        return IPEX_EXIT_DONE;
    return ipex_cli_failed("--html: %s", message);
}

static int tell(struct ipex_bench *bench) {
    json_t *data = bench->json || bench->html ? ipex_bench_json(bench) : NULL;
    int code = bench->html ? write_page(bench, data) : IPEX_EXIT_DONE;
    if (!code && !bench->json)
        ipex_bench_print(bench);
    if (!code && bench->json)
        ipex_json_print(data);
    json_decref(data);
    return code;
}

static int start(struct ipex_bench *bench, const struct ipex_cli_verb *verb) {
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
        code = ipex_model_start(&bench->model, verb, &bench->options, bench->entry,
                                bench->sizes.range, bench->sizes.count);
    return code;
}

/* A page's roofline is that of the CPUs, also where more threads share them. */
static int machine_threads(const struct ipex_bench *bench) {
    const int cpus = ipex_machine_threads();
    return bench->options.threads < cpus ? (int)bench->options.threads : cpus;
}

static int work(struct ipex_bench *bench, const struct ipex_cli_verb *verb) {
    int code = start(bench, verb);
    if (!code)
        code = open_page(bench);
    if (!code)
        code = make_inputs(bench);
    if (!code)
        code = measure(bench);
    if (!code && bench->profile)
        make_steps(bench);
    if (!code && bench->html)
        code = ipex_machine_measure(machine_threads(bench), ipex_session_isa(bench->model.session),
                                    &bench->machine);
    return code ? code : tell(bench);
}

/* --machine: no file is measured. */
static int work_machine(struct ipex_bench *bench, const struct ipex_cli_verb *verb) {
    if (bench->file)
        return ipex_cli_wrong(verb, "--machine measures no file: what is '%s'?", bench->file);
    if (bench->profile || bench->html || bench->entry_wanted || bench->dims.count ||
        bench->options.isa || bench->options.arithmetic || bench->options.no_bands)
        return ipex_cli_wrong(verb, "--machine goes with --threads and --json alone");
    const int threads = (int)bench->options.threads, cpus = ipex_machine_threads();
    if (threads > cpus)
        return ipex_cli_failed("--machine measures one thread for each CPU at most: --threads %d, "
                               "but %d may be used",
                               threads, cpus);
    int code = ipex_machine_measure(threads, ipex_isa_detect(), &bench->machine);
    if (code)
        return code;
    if (bench->json)
        ipex_json_finish(ipex_machine_json(&bench->machine));
    else
        ipex_machine_print(&bench->machine);
    return IPEX_EXIT_DONE;
}

int ipex_verb_bench(int argc, char **argv) {
    struct ipex_bench bench = {.seconds = 3, .page = {.fd = -1, .folder_fd = -1}};
    const struct ipex_cli_option options[] = {
        {"dim", "[ENTRY:]NAME=N", "a size that each run chooses (the lowest of its range)",
         IPEX_CLI_LIST, false, &bench.dims, 0, 0},
        IPEX_ENTRY_OPTION(bench.entry_wanted),
        IPEX_MACHINE_OPTIONS(bench.options),
        {"seconds", "S", "how long to run (3)", IPEX_CLI_REAL, false, &bench.seconds, 0.001, 86400},
        {"profile", NULL, "also time every step", IPEX_CLI_FLAG, false, &bench.profile, 0, 0},
        {"html", "PAGE",
         "also write a page: roofline of this machine, steps, operators, memory (with --profile)",
         IPEX_CLI_TEXT, false, &bench.html, 0, 0},
        {"machine", NULL,
         "instead of a file, measure this machine: arithmetic of every level, reading from caches "
         "and memory, with one thread and with --threads (as many as CPUs, and no more)",
         IPEX_CLI_FLAG, false, &bench.machine_only, 0, 0},
        {"json", NULL, "print one JSON object", IPEX_CLI_FLAG, false, &bench.json, 0, 0},
        {0},
    };
    const struct ipex_cli_verb verb = {"bench", "[FILE]",
                                       "Measures a file on seeded random inputs: opening, "
                                       "preparing, running, memory, page faults.",
                                       options, NULL};
    int code;
    if (ipex_cli_parse(&verb, argc, argv, &bench.file, &code)) {
        if (!bench.options.threads)
            bench.options.threads = bench.machine_only ? ipex_machine_threads() : 1;
        bench.profile |= bench.html != NULL;
        code = bench.machine_only ? work_machine(&bench, &verb)
               : bench.file       ? work(&bench, &verb)
                                  : ipex_cli_wrong(&verb, "FILE is missing");
    }
    for (size_t i = 0; i < bench.input_count && bench.input_data; i++)
        ipex_tensor_data_finish(&bench.input_data[i]);
    ipex_atomic_discard(&bench.page);
    ipex_metadata_close(&bench.metadata);
    ipex_model_close(&bench.model);
    ipex_cli_list_finish(&bench.dims);
    ipex_arena_finish(&bench.arena);
    return code;
}
