/* SPDX-License-Identifier: Apache-2.0 */
/* A thread with a stack of 64 KiB can run a session: sizes that change and the kernels of every
 * level have room there. The stack is filled with a pattern, and a page below it cannot be touched.
 *
 * stack [--isa LEVEL] FILE.ipex... */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/proof/proof.h"

#define STACK_BYTES (64u << 10)
#define GUARD_BYTES (4u << 10)
#define PATTERN     0xa5

struct run {
    struct proof_model *model;
    bool ran;
};

static void *run_model(void *context) {
    struct run *run = context;
    run->ran = proof_run(run->model);
    return NULL;
}

/* Runs on the stack; false where no thread can be started on it. */
static bool run_on(uint8_t *stack, struct run *run) {
    pthread_attr_t attr;
    pthread_t thread;
    memset(stack, PATTERN, STACK_BYTES);
    pthread_attr_init(&attr);
    const bool started = pthread_attr_setstack(&attr, stack, STACK_BYTES) == 0 &&
                         pthread_create(&thread, &attr, run_model, run) == 0;
    pthread_attr_destroy(&attr);
    return started && pthread_join(thread, NULL) == 0;
}

static size_t used(const uint8_t *stack) {
    size_t untouched = 0;
    while (untouched < STACK_BYTES && stack[untouched] == PATTERN)
        untouched++;
    return STACK_BYTES - untouched;
}

static void prove(const char *path, uint8_t *stack) {
    struct proof_model model;
    struct proof_answer expected;
    if (!proof_expected(path, &expected) || !proof_open(&model, path, 1)) {
        proof_ok(false, proof_name(path, "opens"), "cannot open or run it");
        return;
    }
    struct run run = {.model = &model};
    const bool started = run_on(stack, &run);
    proof_ok(started && run.ran && proof_is(&model, expected),
             proof_name(path, "runs on a stack of 64 KiB"),
             !started ? "no thread" : "the run failed or gave other bytes");
    printf("# %zu bytes of stack\n", used(stack));
    proof_close(&model);
}

int main(int argc, char **argv) {
    uint8_t *guard = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (guard == MAP_FAILED || mprotect(guard, GUARD_BYTES, PROT_NONE) != 0) {
        proof_ok(false, "a stack", "no memory");
        return proof_result();
    }
    for (int i = proof_start(argc, argv); i < argc; i++) {
        if (access(argv[i], R_OK) != 0)
            proof_skip(proof_name(argv[i], "stack"), "the model is not here");
        else
            prove(argv[i], guard + GUARD_BYTES);
    }
    return proof_result();
}
