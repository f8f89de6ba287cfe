/* SPDX-License-Identifier: Apache-2.0 */
/* `ipexpack VERB ...`: finds the verb and runs it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "runtime/ipex.h"
#include "tools/cli.h"
#include "tools/verbs.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} verbs[] = {
    {"convert", ipex_verb_convert, "turn an ONNX model into one packed, optimised .ipex file"},
    {"inspect", ipex_verb_inspect, "show what is in a file, and what the optimiser did and why"},
    {"run", ipex_verb_run, "run a file on tensors (.npy or ONNX .pb)"},
    {"bench", ipex_verb_bench,
     "measure opening and running a file, every step of it, or this machine"},
    {"verify", ipex_verb_verify, "replay the known answers that a file carries"},
    {"compare", ipex_verb_compare, "find the first tensor where a file departs from its model"},
};

#define VERBS (sizeof verbs / sizeof *verbs)

static void print_help(FILE *file) {
    fputs("usage: ipexpack VERB ...\n\nverbs:\n", file);
    for (size_t i = 0; i < VERBS; i++)
        fprintf(file, "  %-9s %s\n", verbs[i].name, verbs[i].help);
    fputs("\n`ipexpack VERB --help` lists the verb's options; `ipexpack --version` the version.\n"
          "Exit codes: 0 done; 1 the work failed (message on stderr); 2 wrong use.\n",
          file);
}

/* What was printed must have arrived: a full disk under a redirected stdout is a failure. */
static int finish_output(int code) {
    if ((fflush(stdout) || ferror(stdout)) && code == IPEX_EXIT_DONE)
        return ipex_cli_failed("cannot write to standard output");
    return code;
}

static int dispatch(int argc, char **argv) {
    for (size_t i = 0; i < VERBS; i++)
        if (!strcmp(argv[1], verbs[i].name))
            return verbs[i].run(argc - 1, argv + 1);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return IPEX_EXIT_DONE;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("ipexpack " IPEX_VERSION_STRING);
        return IPEX_EXIT_DONE;
    }
    fprintf(stderr, "ipexpack: unknown verb '%s'\n", argv[1]);
    print_help(stderr);
    return IPEX_EXIT_USAGE;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error with a message, not a death */
    if (argc < 2) {
        print_help(stderr);
        return IPEX_EXIT_USAGE;
    }
    return finish_output(dispatch(argc, argv));
}
