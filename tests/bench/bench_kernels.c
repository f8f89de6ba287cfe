/* SPDX-License-Identifier: Apache-2.0 */
/* Every convolution and product of converted files, one by one, against oneDNN: time, GFLOP/s,
 * share of the FMA peak, ratio. One thread, both hot: rounds alternate, minima are compared. oneDNN
 * may choose its own layouts of x and y, which a network would have to reorder; the better of that
 * and channels-last counts.
 *
 * bench_kernels [--isa LEVEL] [--rounds N] FILE.ipex... (f32 files of fixed sizes: --dim NAME=N) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/fpu.h"
#include "runtime/session.h"
#include "tests/bench/peer_onednn.h"
#include "tools/machine_loops.h"
#include "tools/model.h"

#define ROUND_US 8000.0 /* of one measurement of one side */

enum { SEEN_MAX = 4096 };

struct options {
    const char *isa;
    int rounds;
};

struct tally {
    struct onednn_layer seen[SEEN_MAX];
    int n_seen, measured, behind, unknown; /* behind: more than 5 % */
    double peak;
};

/* ---- from a node to a layer ---- */

static int64_t product(const int64_t *dims, int from, int to) {
    int64_t ret = 1;
    for (int i = from; i < to; i++)
        ret *= dims[i];
    return ret;
}

/* Attributes of a convolution in the order of format/ops.inc. */
static void set_window(struct onednn_layer *l, const int32_t *ints) {
    l->kernel_h = ints[0], l->kernel_w = ints[1];
    l->stride_h = ints[2], l->stride_w = ints[3];
    l->pad_top = ints[4], l->pad_left = ints[5];
    l->pad_bottom = ints[6], l->pad_right = ints[7];
    l->dilation_h = ints[8], l->dilation_w = ints[9];
    l->groups = ints[10];
    l->act = ints[11];
}

static void set_conv(struct onednn_layer *l, const struct ipex_tensor_info *x,
                     const struct ipex_tensor_info *y, const int32_t *ints) {
    set_window(l, ints);
    l->images = x->dims[0], l->height = x->dims[1], l->width = x->dims[2];
    l->channels = x->dims[3];
    l->out_height = y->dims[1], l->out_width = y->dims[2], l->n = y->dims[3];
}

/* oneDNN wants the padding from which its rule gives y's size. */
static void fit_padding(struct onednn_layer *l) {
    if (l->kind == ONEDNN_CONV) {
        l->pad_bottom = (l->out_height - 1) * l->stride_h + (l->kernel_h - 1) * l->dilation_h + 1 -
                        l->height - l->pad_top;
        l->pad_right = (l->out_width - 1) * l->stride_w + (l->kernel_w - 1) * l->dilation_w + 1 -
                       l->width - l->pad_left;
    } else {
        l->pad_bottom = (l->height - 1) * l->stride_h + (l->kernel_h - 1) * l->dilation_h + 1 -
                        l->out_height - l->pad_top;
        l->pad_right = (l->width - 1) * l->stride_w + (l->kernel_w - 1) * l->dilation_w + 1 -
                       l->out_width - l->pad_left;
    }
}

static void set_linear(struct onednn_layer *l, const struct ipex_tensor_info *x,
                       const struct ipex_tensor_info *y, const int32_t *ints) {
    l->kind = ONEDNN_MATMUL;
    l->constant = true;
    l->act = ints[0];
    l->batch = 1;
    l->k = x->dims[x->rank - 1];
    l->m = product(x->dims, 0, x->rank - 1);
    l->inner = y->dims[y->rank - 1];
}

static void set_matmul(struct onednn_layer *l, const struct ipex_tensor_info *a,
                       const struct ipex_tensor_info *y, const int32_t *ints) {
    l->kind = ONEDNN_MATMUL;
    l->transposed = ints[0] != 0;
    l->batch = product(y->dims, 0, y->rank - 2);
    l->k = a->dims[a->rank - 1];
    l->m = y->dims[y->rank - 2];
    l->inner = y->dims[y->rank - 1];
}

/* False for operators that oneDNN is not asked about. */
static bool layer_of_node(const struct ipex_image_entry *entry, struct ipex_fb_node node,
                          struct onednn_layer *l) {
    const int32_t *inputs = ipex_fb_node_inputs(node), *ints = ipex_fb_node_ints(node);
    const uint32_t op = ipex_fb_node_op(node), n_inputs = ipex_fb_node_inputs_len(node);
    const struct ipex_tensor_info *x = &entry->tensor[inputs[0]];
    const struct ipex_tensor_info *y = &entry->tensor[ipex_fb_node_outputs(node)[0]];
    memset(l, 0, sizeof *l); /* layers are compared as bytes */
    if (x->dtype != IPEX_DTYPE_f32)
        return false;
    switch (op) {
    case IPEX_OP_conv:
    case IPEX_OP_depthwise:
    case IPEX_OP_winograd:
        l->kind = ONEDNN_CONV;
        set_conv(l, x, y, ints);
        fit_padding(l);
        break;
    case IPEX_OP_conv_transpose:
        l->kind = ONEDNN_CONV_TRANSPOSE;
        set_conv(l, x, y, ints);
        fit_padding(l);
        break;
    case IPEX_OP_linear:
        set_linear(l, x, y, ints);
        break;
    case IPEX_OP_matmul:
        set_matmul(l, x, y, ints);
        return true;
    default:
        return false;
    }
    l->act_a = ipex_fb_node_floats(node)[0];
    l->act_b = ipex_fb_node_floats(node)[1];
    l->residual = n_inputs > 3 && inputs[3] >= 0;
    return true;
}

static bool seen_before(struct tally *tally, const struct onednn_layer *l) {
    for (int i = 0; i < tally->n_seen; i++)
        if (memcmp(&tally->seen[i], l, sizeof *l) == 0)
            return true;
    if (tally->n_seen < SEEN_MAX)
        tally->seen[tally->n_seen++] = *l;
    return false;
}

/* ---- measuring ---- */

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

struct side {
    const struct ipex_plan_step *step; /* ours, else theirs */
    uint8_t *scratch;
    const struct onednn_primitive *primitive;
    double best_us;
};

static void run_side(const struct side *side) {
    if (side->step)
        side->step->fn(side->step->args, 0, side->step->jobs, side->scratch);
    else
        onednn_run(side->primitive);
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

/* Ours, theirs in both layouts, ours, ... */
static void measure_layer(const struct options *options, struct tally *tally,
                          const struct ipex_session *session, const struct ipex_plan_step *step,
                          const struct onednn_layer *layer) {
    struct onednn_primitive *primitives[2] = {onednn_create(layer, false),
                                              onednn_create(layer, true)};
    struct side ours = {step, session->team.scratch, NULL, 1e30};
    struct side theirs[2] = {{NULL, NULL, primitives[0], 1e30}, {NULL, NULL, primitives[1], 1e30}};
    const uint32_t fpu = ipex_fpu_enter();
    for (int round = 0; round < options->rounds; round++) {
        measure(&ours);
        for (int i = 0; i < 2; i++)
            if (primitives[i])
                measure(&theirs[i]);
    }
    ipex_fpu_leave(fpu);
    const int better = theirs[1].best_us < theirs[0].best_us;
    const double rate = (double)step->flops * 1e-3 / ours.best_us;
    printf("%-11s %10.1f %7.1f %6.1f ", step->op, ours.best_us, rate, 100 * rate / tally->peak);
    if (primitives[better]) {
        const double ratio = ours.best_us / theirs[better].best_us;
        printf("%10.1f %6.2f  %-24s", theirs[better].best_us, ratio,
               onednn_implementation(primitives[better]));
        tally->measured++;
        tally->behind += ratio > 1.05;
    } else {
        printf("%10s %6s  %-24s", "-", "-", "none");
        tally->unknown++;
    }
    printf(" %s\n", step->name);
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        if (primitives[i])
            onednn_destroy(primitives[i]);
}

/* ---- files ---- */

static void fail(const char *file, const char *why) {
    fprintf(stderr, "bench_kernels: %s: %s\n", file, why);
    exit(1);
}

/* One run on zeros, so that every step's operands are there. */
static void run_once(const struct ipex_model *model, const char *file, const char *entry) {
    const size_t n = ipex_image_input_count(model->image, entry);
    const size_t n_outputs = ipex_image_output_count(model->image, entry);
    struct ipex_tensor *inputs = calloc(n + 1, sizeof *inputs);
    struct ipex_tensor *outputs = calloc(n_outputs + 1, sizeof *outputs);
    if (!inputs || !outputs)
        fail(file, "not enough memory");
    for (size_t i = 0; i < n; i++) {
        struct ipex_port port;
        if (!ipex_model_input(model, entry, i, &port))
            exit(1);
        const int64_t count = product(port.dims, 0, (int)port.rank);
        inputs[i] = (struct ipex_tensor){.name = port.name,
                                         .data = calloc((size_t)count + 1, 8),
                                         .dtype = port.dtype,
                                         .rank = port.rank};
        memcpy(inputs[i].dims, port.dims, sizeof port.dims);
        if (!inputs[i].data)
            fail(file, "not enough memory");
    }
    if (ipex_run(model->session, entry, inputs, n, outputs, n_outputs) != IPEX_OK)
        fail(file, ipex_session_message(model->session));
    for (size_t i = 0; i < n; i++)
        free(inputs[i].data);
    free(inputs);
    free(outputs);
}

/* Nodes and steps are in the same order; a step that copies for a node has no operator of it. */
static void measure_entry(const struct options *options, struct tally *tally,
                          const struct ipex_session *session, const struct ipex_plan *plan) {
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
        struct onednn_layer layer;
        if (layer_of_node(plan->entry, node, &layer) && !seen_before(tally, &layer))
            measure_layer(options, tally, session, &plan->step[found], &layer);
    }
}

static void measure_file(const struct options *options, struct tally *tally,
                         const struct ipex_cli_verb *verb, const char *file) {
    struct ipex_model model = {0};
    const struct ipex_machine_options machine = {
        .threads = 1, .isa = options->isa, .no_bands = true};
    if (ipex_model_open(&model, file, false) != 0 ||
        ipex_model_start(&model, verb, &machine, NULL, NULL, 0) != 0)
        exit(1);
    for (int32_t i = 0; i < model.session->plans; i++) {
        const struct ipex_plan *plan = &model.session->plan[i];
        if (plan->sizes)
            fail(file, "its sizes vary: convert it with --dim NAME=N");
        printf("%s, entry %s, level %s\n", file, plan->name,
               ipex_isa_name(ipex_session_isa(model.session)));
        run_once(&model, file, plan->name);
        measure_entry(options, tally, model.session, plan);
    }
    ipex_model_close(&model);
}

int main(int argc, char **argv) {
    static const struct ipex_cli_option none[] = {{0}};
    static const struct ipex_cli_verb verb = {"bench_kernels", "FILE", "", none, NULL};
    static struct tally tally;
    struct options options = {.isa = NULL, .rounds = 5};
    int first = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2)
        if (strcmp(argv[first], "--isa") == 0)
            options.isa = argv[first + 1];
        else if (strcmp(argv[first], "--rounds") == 0)
            options.rounds = atoi(argv[first + 1]);
        else
            break;
    if (first >= argc || argv[first][0] == '-' || options.rounds < 1) {
        fputs("usage: bench_kernels [--isa LEVEL] [--rounds N] FILE.ipex...\n", stderr);
        return 2;
    }
    const bool wide = options.isa == NULL ? __builtin_cpu_supports("avx512f")
                                          : strncmp(options.isa, "avx512", 6) == 0;
    tally.peak = ipex_multiply_gflops(wide ? IPEX_ISA_avx512 : IPEX_ISA_avx2, IPEX_DTYPE_f32);
    onednn_start();
    printf("%s; FMA peak %.1f GFLOP/s; minima of %d alternating rounds, one thread\n",
           onednn_version(), tally.peak, options.rounds);
    printf("%-11s %10s %7s %6s %10s %6s  %-24s %s\n", "operator", "us", "GFLOP/s", "% peak",
           "oneDNN us", "ratio", "its kernel", "node");
    for (int i = first; i < argc; i++)
        measure_file(&options, &tally, &verb, argv[i]);
    printf("%d layers, %d more than 5 %% behind oneDNN, %d that it has not\n",
           tally.measured + tally.unknown, tally.behind, tally.unknown);
    return 0;
}
