/* SPDX-License-Identifier: Apache-2.0 */
/* Every convolution and product of converted files, one by one, beside the machine's roofline and
 * oneDNN, or of layers of weights in blocks ggml. One thread, both hot: rounds alternate, minima
 * are compared. oneDNN may choose its own layouts of x and y, which a network would have to
 * reorder; the better of that and channels-last counts. Layers that several files have are measured
 * once.
 *
 * bench_kernels [--isa LEVEL] [--rounds N] [--markdown] FILE.ipex...
 *
 * Files are f32 and of fixed sizes (convert --dim NAME=N). At level avx2 oneDNN is limited to AVX2
 * too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/x86/activate.h"
#include "runtime/fpu.h"
#include "runtime/session.h"
#include "tests/bench/kernel_report.h"
#include "tests/bench/peer_ggml.h"
#include "tools/model.h"

#define ROUND_US 8000.0 /* of one measurement of one side */

enum { SEEN_MAX = 4096 };

struct options {
    const char *isa;
    int rounds;
    bool markdown;
};

struct seen {
    struct onednn_layer layer;
    const char *op;
};

struct bench {
    struct options options;
    struct ipex_machine machine;
    struct kernel_report report;
    struct seen seen[SEEN_MAX];
    int n_seen;
    double activation_us[IPEX_ACT_COUNT]; /* of a value; 0: not measured yet */
};

/* One layer may be computed by two algorithms, in different files. */
static bool seen_before(struct bench *bench, const struct onednn_layer *layer, const char *op) {
    for (int i = 0; i < bench->n_seen; i++)
        if (memcmp(&bench->seen[i].layer, layer, sizeof *layer) == 0 &&
            strcmp(bench->seen[i].op, op) == 0)
            return true;
    if (bench->n_seen < SEEN_MAX)
        bench->seen[bench->n_seen++] = (struct seen){*layer, op};
    return false;
}

/* ---- measuring ---- */

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

struct side {
    const struct ipex_plan_step *step; /* ours, else one of theirs */
    uint8_t *scratch;
    struct onednn_primitive *primitive;
    struct ggml_side *ggml;
    double best_us;
};

static bool is_there(const struct side *side) {
    return side->step || side->primitive || side->ggml;
}

/* What is measured. */
struct subject {
    const struct ipex_session *session;
    const char *network;
    struct ipex_step_info info;
    struct onednn_layer layer;
};

static void run_side(const struct side *side) {
    if (side->step)
        side->step->fn(side->step->args, 0, side->step->jobs, side->scratch);
    else if (side->primitive)
        onednn_run(side->primitive);
    else
        ggml_side_run(side->ggml);
}

static void measure(struct side *side) {
    double start = now_us();
    run_side(side);
    const int64_t calls = 1 + (int64_t)(ROUND_US / (now_us() - start + 0.1));
    start = now_us();
    for (int64_t i = 0; i < calls; i++)
        run_side(side);
    const double each = (now_us() - start) / (double)calls;
    side->best_us = each < side->best_us ? each : side->best_us;
}

/* Ours, theirs in both layouts, ours, ... Returns the better layout of theirs. */
static int measure_sides(int rounds, struct side *ours, struct side theirs[2]) {
    const uint32_t fpu = ipex_fpu_enter();
    for (int round = 0; round < rounds; round++) {
        measure(ours);
        for (int i = 0; i < 2; i++)
            if (is_there(&theirs[i]))
                measure(&theirs[i]);
    }
    ipex_fpu_leave(fpu);
    return theirs[1].best_us < theirs[0].best_us;
}

/* ---- activations ---- */

enum { ACT_VALUES = 1024, ACT_CALLS = 2000 }; /* they fit L1 */

/* So many copies of values, with an activation of each or without. */
static double copies_us(bool wide, int32_t act, const float *from, float *to) {
    const struct ipex_act_rows rows = ipex_act_rows(to, 1, ACT_VALUES, ACT_VALUES, act, 1, 0);
    const double start = now_us();
    for (int i = 0; i < ACT_CALLS; i++) {
        memcpy(to, from, ACT_VALUES * sizeof *to);
        if (wide)
            ipex_k_activate__avx512(&rows);
        else
            ipex_k_activate__avx2(&rows);
    }
    return now_us() - start;
}

/* Of a value, by itself; clamps take none. */
static double activation_us(struct bench *bench, int32_t act) {
    static float from[ACT_VALUES], to[ACT_VALUES];
    if (ipex_act_is_clamp(act))
        return 0;
    if (bench->activation_us[act] == 0) {
        double with = 1e30, without = 1e30;
        for (int i = 0; i < ACT_VALUES; i++)
            from[i] = 8.0f * (float)i / ACT_VALUES - 4.0f;
        for (int round = 0; round < bench->options.rounds; round++) {
            const double a = copies_us(bench->report.wide, act, from, to);
            const double b = copies_us(bench->report.wide, IPEX_ACT_none, from, to);
            with = a < with ? a : with;
            without = b < without ? b : without;
        }
        bench->activation_us[act] = (with - without) / ACT_CALLS / ACT_VALUES;
    }
    return bench->activation_us[act];
}

static void add_row(struct bench *bench, const struct subject *subject, double us,
                    const struct side *theirs) {
    char layer[LAYER_TEXT];
    const struct ipex_step_info *info = &subject->info;
    const enum ipex_isa isa = ipex_session_isa(subject->session);
    const struct ipex_roofline bound = ipex_step_roofline(&bench->machine, isa, info),
                               direct =
                                   ipex_machine_roofline(&bench->machine, isa, IPEX_DTYPE_f32,
                                                         (double)info->flops, (double)info->bytes);
    const struct kernel_row row = {
        .op = info->op,
        .network = subject->network,
        .node = info->name,
        .layer = layer_text(&subject->layer, layer),
        .us = us,
        .flops = (double)info->flops,
        .bound = bound,
        .direct_us = ipex_roofline_us(&direct),
        .activation_us = activation_us(bench, subject->layer.act) * (double)info->flops / 2 /
                         (double)layer_depth(&subject->layer),
        .rule = kernel_rule_of(&subject->layer, info->op, &bound),
        .their_us = is_there(theirs) ? theirs->best_us : 0,
        .implementation = theirs->primitive          ? onednn_implementation(theirs->primitive)
                          : !theirs->ggml            ? "none"
                          : subject->layer.bits == 4 ? "ggml Q4_0"
                                                     : "ggml Q8_0",
    };
    kernel_report_add(&bench->report, &row);
}

static void measure_layer(struct bench *bench, const struct subject *subject,
                          const struct ipex_plan_step *step) {
    struct side ours = {.step = step, .scratch = subject->session->team.scratch, .best_us = 1e30};
    struct side theirs[2] = {{.best_us = 1e30}, {.best_us = 1e30}};
    const struct onednn_layer *l = &subject->layer;
    if (l->bits) {
        theirs[0].ggml = ggml_side_create(&(struct ggml_layer){l->m, l->k, l->inner, l->bits});
    } else {
        for (int i = 0; i < 2; i++)
            theirs[i].primitive = onednn_create(l, i == 1);
    }
    const int better = measure_sides(bench->options.rounds, &ours, theirs);
    add_row(bench, subject, ours.best_us, &theirs[better]);
    for (int i = 0; i < 2; i++)
        if (theirs[i].primitive)
            onednn_destroy(theirs[i].primitive);
    if (theirs[0].ggml)
        ggml_side_destroy(theirs[0].ggml);
}

/* ---- files ---- */

static void fail(const char *file, const char *why) {
    fprintf(stderr, "bench_kernels: %s: %s\n", file, why);
    exit(1);
}

/* What a run was given. Steps that read an input go on reading it. */
struct inputs {
    struct ipex_arena arena;
    struct ipex_tensor_data *data;
    size_t n;
};

static void finish_inputs(struct inputs *inputs) {
    for (size_t i = 0; i < inputs->n; i++)
        ipex_tensor_data_finish(&inputs->data[i]);
    ipex_arena_finish(&inputs->arena);
}

/* One run on zeros, so that every step's operands are there. */
static void run_once(const struct ipex_model *model, const char *file, const char *entry,
                     struct inputs *ret) {
    const size_t n = ipex_image_input_count(model->image, entry);
    const size_t n_outputs = ipex_image_output_count(model->image, entry);
    *ret = (struct inputs){.n = n};
    ret->data = ipex_arena_array(&ret->arena, n, sizeof *ret->data);
    struct ipex_tensor *tensor = ipex_arena_array(&ret->arena, n, sizeof *tensor);
    struct ipex_tensor *outputs = ipex_arena_array(&ret->arena, n_outputs, sizeof *outputs);
    for (size_t i = 0; i < n; i++) {
        struct ipex_port port;
        if (!ipex_model_input(model, entry, i, &port) ||
            !ipex_tensor_data_init(&ret->data[i], port.dtype, port.dims, port.rank))
            fail(file, "an input is not valid");
        tensor[i] = ipex_model_tensor(port.name, &ret->data[i]);
    }
    const enum ipex_status status = ipex_run(model->session, entry, tensor, n, outputs, n_outputs);
    if (status != IPEX_OK)
        exit(ipex_model_run_failed(model, file, status));
}

/* Nodes and steps are in the same order; a step that copies for a node has no operator of it. */
static void measure_entry(struct bench *bench, struct subject *subject,
                          const struct ipex_plan *plan) {
    int64_t at = 0;
    for (int32_t i = 0; i < plan->entry->nodes; i++) {
        const struct ipex_fb_node node = ipex_fb_entry_nodes(plan->entry->fb, (uint32_t)i);
        const char *name = ipex_fb_node_name(node);
        const char *op = ipex_op_info(ipex_fb_node_op(node))->name;
        int64_t found = at;
        while (found < plan->steps &&
               (plan->step[found].name != name || strcmp(plan->step[found].op, op) != 0))
            found++;
        if (found == plan->steps)
            continue; /* nothing is left to do for it */
        at = found + 1;
        if (layer_of_node(plan->entry, node, &subject->layer) &&
            !seen_before(bench, &subject->layer, op) &&
            ipex_session_step(subject->session, plan->name, (size_t)found, &subject->info) ==
                IPEX_OK)
            measure_layer(bench, subject, &plan->step[found]);
    }
}

/* "resnet34" of "build/bench/resnet34.ipex". */
static const char *network_of(struct bench *bench, const char *file) {
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    return ipex_arena_strndup(&bench->report.arena, name, strcspn(name, "."));
}

static void measure_file(struct bench *bench, const struct ipex_cli_verb *verb, const char *file) {
    struct ipex_model model = {0};
    const struct ipex_machine_options machine = {
        .threads = 1, .isa = bench->options.isa, .no_bands = true};
    if (ipex_model_open(&model, file, false) != 0 ||
        ipex_model_start(&model, verb, &machine, NULL, NULL, 0) != 0)
        exit(1);
    struct subject subject = {.session = model.session, .network = network_of(bench, file)};
    for (int32_t i = 0; i < model.session->plans; i++) {
        const struct ipex_plan *plan = &model.session->plan[i];
        if (plan->sizes)
            fail(file, "its sizes vary: convert it with --dim NAME=N");
        fprintf(stderr, "%s, entry %s\n", file, plan->name);
        struct inputs inputs;
        run_once(&model, file, plan->name, &inputs);
        measure_entry(bench, &subject, plan);
        finish_inputs(&inputs);
    }
    ipex_model_close(&model);
}

/* ---- the program ---- */

/* Index of the first file; 0: not understood. */
static int read_options(int argc, char **argv, struct options *ret) {
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++)
        if (strcmp(argv[at], "--markdown") == 0)
            ret->markdown = true;
        else if (strcmp(argv[at], "--isa") == 0 && at + 1 < argc)
            ret->isa = argv[++at];
        else if (strcmp(argv[at], "--rounds") == 0 && at + 1 < argc)
            ret->rounds = atoi(argv[++at]);
        else
            return 0;
    return at < argc && ret->rounds > 0 ? at : 0;
}

/* The level that all files are measured at. */
static enum ipex_isa find_isa(const char *name) {
    enum ipex_isa isa = ipex_isa_detect();
    while (name && isa > IPEX_ISA_reference && strcmp(ipex_isa_name(isa), name) != 0)
        isa--;
    return isa;
}

static void print_head(const struct bench *bench, enum ipex_isa isa) {
    const struct ipex_machine *machine = &bench->machine;
    printf("%s, level %s, %s, %s; FMA peak %.1f GFLOP/s; GB/s read:", machine->cpu,
           ipex_isa_name(isa), onednn_version(), ggml_name(), bench->report.peak);
    for (size_t i = 0; i < machine->stores; i++)
        printf("%s %s %.1f", i ? "," : "", machine->store[i].name, machine->store[i].gbs.one);
    printf("; minima of %d alternating rounds, one thread\n\n", bench->options.rounds);
}

int main(int argc, char **argv) {
    static const struct ipex_cli_option none[] = {{0}};
    static const struct ipex_cli_verb verb = {"bench_kernels", "FILE", "", none, NULL};
    static struct bench bench = {.options = {.rounds = 5}};
    const int first = read_options(argc, argv, &bench.options);
    if (!first) {
        fputs("usage: bench_kernels [--isa LEVEL] [--rounds N] [--markdown] FILE.ipex...\n",
              stderr);
        return 2;
    }
    const enum ipex_isa isa = find_isa(bench.options.isa);
    const bool wide = isa >= IPEX_ISA_avx512;
    if (ipex_machine_measure(1, isa, &bench.machine) != 0)
        return 1;
    const double peak = ipex_machine_peak_gflops(&bench.machine, isa, IPEX_DTYPE_f32);
    if (!(peak > 0))
        fail(bench.options.isa, "this machine has no such level above the reference");
    onednn_start(!wide);
    kernel_report_init(&bench.report, peak, wide);
    print_head(&bench, isa);
    for (int i = first; i < argc; i++)
        measure_file(&bench, &verb, argv[i]);
    kernel_report_print(&bench.report, bench.options.markdown);
    kernel_report_finish(&bench.report);
    return 0;
}
