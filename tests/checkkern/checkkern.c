/* SPDX-License-Identifier: Apache-2.0 */
/* checkkern [--isa LEVEL] [--slot NAME] [--seed N] [--cases N] [--floats N] [--bench]
 * Prints TAP, or with --bench a table of speeds. --floats N tests exp, sigmoid and tanh on every
 * Nth float: 509 takes a second, 1 half an hour. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/checkkern/checkkern.h"

static int usage(void) {
    fprintf(stderr, "usage: checkkern [--isa LEVEL] [--slot NAME] [--seed N] [--cases N]"
                    " [--floats N] [--bench]\n");
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

int main(int argc, char **argv) {
    struct context context = {.seed = 1, .cases = 300, .float_stride = 509};
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
        else if (strcmp(argv[i], "--floats") == 0)
            context.float_stride = (uint32_t)strtoul(value, NULL, 0);
        else
            return usage();
        i++;
    }
    if (context.float_stride == 0 || context.cases < 1)
        return usage();
    kernels_begin();
    struct level levels[IPEX_ISA_amx + 1];
    context.levels = levels;
    context.n_levels = make_levels(only, levels);
    if (want_bench) {
        bench(&context);
        return 0;
    }
    printf("# seed %llu, levels:", (unsigned long long)context.seed);
    for (size_t i = 0; i < context.n_levels; i++)
        printf("%s %s", i ? "," : "", levels[i].name);
    printf("\n");
    check_all(&context);
    return report_failures() != 0;
}
