/* SPDX-License-Identifier: Apache-2.0 */
/* checkkern [--isa LEVEL] [--slot NAME] [--seed N] [--cases N] [--bench]: prints TAP, or with --bench a table of speeds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include "checkkern.h"

/* Round to nearest, flush to zero, denormals are zero, all exceptions masked. */
#define MXCSR_KERNELS 0x9fc0u

static int usage(void) {
    fprintf(stderr,
            "usage: checkkern [--isa LEVEL] [--slot NAME] [--seed N] [--cases N] [--bench]\n");
    return 2;
}

static enum ipex_isa parse_isa(const char *text) {
#define ISA_NAMED(name, value)                                                                     \
    if (strcmp(text, #name) == 0)                                                                  \
        return IPEX_ISA_##name;
    IPEX_ISA_LIST(ISA_NAMED)
    fprintf(stderr, "checkkern: no such level: %s\n", text);
    exit(2);
}

/* The reference, then `only`, or every level that this machine has. */
static size_t make_levels(enum ipex_isa only, struct level *levels) {
    struct ipex_cpu cpu;
    ipex_cpu_detect(&cpu);
    size_t n = 0;
    for (int isa = IPEX_ISA_reference; isa <= IPEX_ISA_amx; isa++) {
        const bool chosen = only == IPEX_ISA_AUTO || isa == (int)only || isa == IPEX_ISA_reference;
        if (!chosen || !ipex_isa_usable((enum ipex_isa)isa, cpu.features))
            continue;
        levels[n].isa = (enum ipex_isa)isa;
        ipex_kernels_init(&levels[n++].kernels, NULL, (enum ipex_isa)isa);
    }
    return n;
}

int main(int argc, char **argv) {
    struct context context = {.seed = 1, .cases = 300};
    enum ipex_isa only = IPEX_ISA_AUTO;
    bool want_bench = false;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--bench") == 0) {
            want_bench = true;
            continue;
        }
        if (!value)
            return usage();
        if (strcmp(argv[i], "--isa") == 0)
            only = parse_isa(value);
        else if (strcmp(argv[i], "--slot") == 0)
            context.slot = value;
        else if (strcmp(argv[i], "--seed") == 0)
            context.seed = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--cases") == 0)
            context.cases = atoi(value);
        else
            return usage();
        i++;
    }
    _mm_setcsr(MXCSR_KERNELS);
    struct level levels[IPEX_ISA_amx];
    context.levels = levels;
    context.n_levels = make_levels(only, levels);
    if (want_bench) {
        bench(&context);
        return 0;
    }
    printf("# seed %llu, levels:", (unsigned long long)context.seed);
    for (size_t i = 0; i < context.n_levels; i++)
        printf(" %s", ipex_isa_name(levels[i].isa));
    printf("\n");
    check_math(&context);
    check_conv(&context);
    check_depthwise(&context);
    check_pool(&context);
    check_pointwise(&context);
    check_rows(&context);
    check_move(&context);
    return report_failures() != 0;
}
