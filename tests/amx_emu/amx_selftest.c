/* SPDX-License-Identifier: Apache-2.0 */
/* amx_selftest [--cases N] [--seed N] [--normal] [--heap] [--over-read]: AMX as this machine has
 * it, in one thread, without files.
 *
 * Executes the instructions and compares with tests/amx_model.c, then every kernel that uses them
 * with the reference, bit for bit. The last line is "N passed, M failed". Natively where the CPU
 * has AMX; else by the emulator; with AMX_EMU=0 by whatever else executes the instructions: another
 * emulator of the process or of the whole machine. Exit status 77: nothing executes them.
 *
 * --cases: random shapes per kernel. --normal: no denormals, infinities and NaNs: for valgrind,
 * which knows neither DAZ nor FTZ. --heap: buffers from the heap, whose bounds valgrind and
 * sanitizers know, and not between guard pages. --over-read: only a kernel that is given an x of
 * two bytes too few, for which they must end the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/amx_emu/amx_check.h"
#include "tests/amx_emu/amx_emu.h"
#include "tests/amx_emu/amx_gemm.h"
#include "tests/checkkern/checkkern.h"

enum { CASES = 200 }; /* of an instruction */

enum { AMX_LEVELS = 3 }; /* the reference twice, then level amx */

struct options {
    bool only_normal, over_read;
};

static bool child_can_use_tiles(void) {
    int status;
    const pid_t child = fork();
    if (child == 0) {
        ipex_amx_touch();
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* Who executes AMX instructions; NULL: nobody, and *ret_why says what detection has found. An
 * emulator that nobody told us of shows by a child process that does not die of them. */
static const char *executor(const char **ret_why) {
    int error;
    const enum ipex_amx_state state = ipex_cpu_amx(IPEX_AMX_ASK_PERMISSION, &error);
    *ret_why = "";
#define STATE(name, value, text)                                                                   \
    if (state == IPEX_AMX_##name)                                                                  \
        *ret_why = text;
    IPEX_AMX_LIST(STATE)
#undef STATE
    const char *machine = getenv("AMX_EMU");
    const bool announced = state == IPEX_AMX_permitted;
    if (!announced && (!machine || strcmp(machine, "0") != 0))
        return NULL;
    if (!child_can_use_tiles()) {
        *ret_why =
            announced ? "detection finds AMX, and its first instruction is refused" : *ret_why;
        return NULL;
    }
    if (announced)
        return amx_emu_installed() ? "this program's emulator" : "the CPU, or an emulated one";
    amx_seam_machine("foreign");
    return "another emulator of this process";
}

static void check_values(enum amx_values values, const char *what, struct rng *rng) {
    char name[64];
    int right = 0;
    for (int i = 0; i < CASES; i++)
        right += amx_check_bf16(values, rng);
    snprintf(name, sizeof name, "tdpbf16ps, %s", what);
    report(right == CASES, name, "%d of %d are right", right, CASES);
}

static void check_instructions(uint64_t seed, bool only_normal) {
    struct rng rng = {.state = seed};
    int i8 = 0;
    for (int i = 0; i < CASES; i++)
        i8 += amx_check_i8(&rng);
    report(amx_check_order(), "loads, stores and configurations in their order", "wrong bytes");
    report(i8 == CASES, "tdpbusd", "%d of %d are right", i8, CASES);
    check_values(AMX_NORMAL, "normal numbers", &rng);
    if (only_normal)
        return;
    check_values(AMX_DENORMAL, "products at the smallest normal number", &rng);
    check_values(AMX_SPECIAL, "denormals, infinities and NaN", &rng);
}

static void check_slot(struct context *context, const char *slot) {
    context->slot = slot;
    check_all(context);
}

/* The slots that level amx does not have from the level below. */
static int check_kernels(struct context *context) {
    const struct ipex_kernels *amx = &context->levels[AMX_LEVELS - 1].kernels;
    struct ipex_kernels below;
    int slots = 0;
    ipex_kernels_init(&below, NULL, IPEX_ISA_avx512_bf16);
#define IPEX_KERNEL(slot_, args_struct)                                                            \
    if (amx->slot_ != below.slot_) {                                                               \
        check_slot(context, #slot_);                                                               \
        slots++;                                                                                   \
    }
#include "kernels/ops.inc"
    return slots;
}

/* Tiles of two whole rows, of which the second ends two bytes behind the buffer. */
static int over_read(const struct level *level) {
    struct rng rng = {1};
    struct amx_gemm g = amx_gemm_make(&rng, 2, AMX_TILE, 2 * AMX_TILE_K, 0, false);
    struct buffer shorter = buffer_make(g.x.bytes - 2);
    memcpy(shorter.data, g.x.data, shorter.bytes);
    g.args.x = shorter.data;
    struct buffer y = amx_gemm_run(&level->kernels, &g);
    printf("a tile was loaded from two bytes behind its buffer\n");
    buffer_free(&y);
    buffer_free(&shorter);
    amx_gemm_free(&g);
    return 0;
}

static int run_checks(struct context *context, const struct options *options) {
    const bool kernels = context->n_levels == AMX_LEVELS;
    if (options->over_read && kernels)
        return over_read(&context->levels[AMX_LEVELS - 1]);
    check_instructions(context->seed, options->only_normal);
    if (kernels)
        printf("# %d kernels of level amx\n", check_kernels(context));
    else
        printf("# no kernel was run: level amx needs AVX512-BF16 beside AMX\n");
    printf("%d passed, %d failed\n", report_passes(), report_failures());
    return report_failures() != 0;
}

/* False: wrong use. */
static bool parse(int argc, char **argv, struct context *context, struct options *options) {
    for (int i = 1; i < argc; i++) {
        const bool value = i + 1 < argc;
        if (strcmp(argv[i], "--normal") == 0)
            options->only_normal = context->only_normal = true;
        else if (strcmp(argv[i], "--heap") == 0)
            buffers_from_heap();
        else if (strcmp(argv[i], "--over-read") == 0)
            options->over_read = true;
        else if (value && strcmp(argv[i], "--cases") == 0)
            context->cases = atoi(argv[++i]);
        else if (value && strcmp(argv[i], "--seed") == 0)
            context->seed = strtoull(argv[++i], NULL, 0);
        else
            return false;
    }
    return context->cases >= 1;
}

int main(int argc, char **argv) {
    struct context context = {.seed = 1, .cases = 100, .float_stride = 509};
    struct level levels[IPEX_ISA_amx + 1];
    struct options options = {0};
    const char *why;
    if (!parse(argc, argv, &context, &options)) {
        fprintf(stderr, "usage: amx_selftest [--cases N] [--seed N] [--normal] [--heap]"
                        " [--over-read]\n");
        return 2;
    }
    const char *by = executor(&why);
    if (!by) {
        printf("amx_selftest: AMX instructions cannot be executed here: %s\n", why);
        return 77;
    }
    printf("# AMX instructions are executed by %s\n", by);
    kernels_begin();
    context.levels = levels;
    context.n_levels = make_levels(IPEX_ISA_amx, levels);
    return run_checks(&context, &options);
}
