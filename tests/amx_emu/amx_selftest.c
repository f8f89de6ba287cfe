/* SPDX-License-Identifier: Apache-2.0 */
/* amx_selftest [--cases N] [--seed N]: AMX as this machine has it, in one thread, without files.
 *
 * Executes the instructions and compares with tests/amx_model.c, then every kernel that uses them
 * with the reference, bit for bit. The last line is "N passed, M failed". Natively where the CPU
 * has AMX; else by the emulator; with AMX_EMU=0 by whatever else executes the instructions: another
 * emulator of the process or of the whole machine. Exit status 77: nothing executes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "tests/amx_emu/amx_check.h"
#include "tests/amx_emu/amx_emu.h"
#include "tests/checkkern/checkkern.h"

#define MXCSR_KERNELS 0x9fc0u

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

static void check_instructions(uint64_t seed) {
    enum { CASES = 200 };
    struct rng rng = {.state = seed};
    int plain = 0, special = 0, i8 = 0;
    for (int i = 0; i < CASES; i++) {
        plain += amx_check_product(true, false, &rng);
        special += amx_check_product(true, true, &rng);
        i8 += amx_check_product(false, false, &rng);
    }
    report(amx_check_order(), "loads, stores and configurations in their order", "wrong bytes");
    report(plain == CASES, "tdpbf16ps", "%d of %d are right", plain, CASES);
    report(special == CASES, "tdpbf16ps with special values", "%d of %d are right", special, CASES);
    report(i8 == CASES, "tdpbssd", "%d of %d are right", i8, CASES);
}

/* The slots that level amx does not have from the level below. */
static int check_kernels(struct context *context) {
    struct ipex_kernels below, amx;
    int slots = 0;
    ipex_kernels_init(&below, NULL, IPEX_ISA_avx512_bf16);
    ipex_kernels_init(&amx, NULL, IPEX_ISA_amx);
#define IPEX_KERNEL(slot_, args_struct)                                                            \
    if (amx.slot_ != below.slot_) {                                                                \
        context->slot = #slot_;                                                                    \
        check_all(context);                                                                        \
        slots++;                                                                                   \
    }
#include "kernels/ops.inc"
    return slots;
}

static int usage(void) {
    fprintf(stderr, "usage: amx_selftest [--cases N] [--seed N]\n");
    return 2;
}

int main(int argc, char **argv) {
    struct context context = {.seed = 1, .cases = 100, .float_stride = 509};
    struct level levels[IPEX_ISA_amx + 1];
    const char *why;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return usage();
        if (strcmp(argv[i], "--cases") == 0)
            context.cases = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--seed") == 0)
            context.seed = strtoull(argv[i + 1], NULL, 0);
        else
            return usage();
    }
    const char *by = executor(&why);
    if (context.cases < 1)
        return usage();
    if (!by) {
        printf("amx_selftest: AMX instructions cannot be executed here: %s\n", why);
        return 77;
    }
    printf("# AMX instructions are executed by %s\n", by);
    _mm_setcsr(MXCSR_KERNELS);
    catch_faults();
    check_instructions(context.seed);
    context.levels = levels;
    context.n_levels = make_levels(IPEX_ISA_amx, levels);
    const int slots = context.n_levels == 3 ? check_kernels(&context) : 0;
    printf("# %d slots with kernels of level amx\n", slots);
    if (context.n_levels != 3)
        printf("# none was run: level amx needs AVX512-BF16 beside AMX\n");
    printf("%d passed, %d failed\n", report_passes(), report_failures());
    return report_failures() != 0;
}
