/* SPDX-License-Identifier: Apache-2.0 */
/* P3 and P8: after ipex_session_init a run makes no system call (one thread) or only futex (two
 * threads), and nothing the library does ever asks for executable memory. Every case is a child
 * process under a seccomp filter that kills it on anything else; control cases make a forbidden
 * call and must die, so that a filter which does not work cannot pass.
 *
 * seccomp [--isa LEVEL] [--tries N] FILE.ipex... */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/proof/proof.h"

/* A case is tried several times: a worker that is still starting up when the filter comes down is a
 * matter of luck. */
static int tries = 10;

enum { ROUNDS = 2, DONE = 42, WRONG = 43, NO_FILTER = 44 };

/* Kills the process, all its threads included, on every call but exit_group, on request futex, and
 * what returns from the emulator's signal handler. */
static bool allow_only(bool futex) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter)
        return false;
    int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    error |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(exit_group), 0);
    if (proof_is_emulated())
        error |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(rt_sigreturn), 0);
    if (futex)
        error |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(futex), 0);
    return error == 0 && seccomp_load(filter) == 0;
}

/* Kills the process when it maps or makes memory executable. */
static bool deny_executable_memory(void) {
    const struct scmp_arg_cmp executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC);
    const int calls[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect), SCMP_SYS(pkey_mprotect)};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return false;
    int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        error |= seccomp_rule_add_array(filter, SCMP_ACT_KILL_PROCESS, calls[i], 1, &executable);
    return error == 0 && seccomp_load(filter) == 0;
}

static int run_filtered(const char *path, struct proof_answer expected, int threads) {
    struct proof_model model;
    if (!proof_open(&model, path, threads))
        return WRONG;
    if (!allow_only(threads > 1))
        return NO_FILTER;
    for (int i = 0; i < ROUNDS; i++) {
        if (!proof_run(&model) || !proof_is(&model, expected))
            return WRONG;
    }
    return DONE;
}

static int one_thread(const char *path, struct proof_answer expected) {
    return run_filtered(path, expected, 1);
}

static int two_threads(const char *path, struct proof_answer expected) {
    return run_filtered(path, expected, 2);
}

static int no_executable_memory(const char *path, struct proof_answer expected) {
    struct proof_model model;
    if (!deny_executable_memory())
        return NO_FILTER;
    bool right = proof_open(&model, path, 2) && proof_run(&model) && proof_is(&model, expected);
    proof_close(&model);
    return right ? DONE : WRONG;
}

static int control_call(const char *path, struct proof_answer expected) {
    (void)path, (void)expected;
    if (!allow_only(true))
        return NO_FILTER;
    syscall(SYS_getpid);
    return DONE;
}

static int control_futex(const char *path, struct proof_answer expected) {
    int word = 0;
    (void)path, (void)expected;
    if (!allow_only(false))
        return NO_FILTER;
    syscall(SYS_futex, &word, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0);
    return DONE;
}

static int control_executable(const char *path, struct proof_answer expected) {
    (void)path, (void)expected;
    if (!deny_executable_memory())
        return NO_FILTER;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? WRONG : DONE;
}

typedef int (*case_fn)(const char *path, struct proof_answer expected);

/* How a case ends in a child process of its own: its result, or minus the signal that killed it. */
static int in_child(case_fn run, const char *path, struct proof_answer expected) {
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(run(path, expected));
    if (child < 0 || waitpid(child, &status, 0) != child)
        return WRONG;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static const char *ending(int result) {
    switch (result) {
    case -SIGSYS:
        return "killed by the filter: a forbidden system call was made";
    case WRONG:
        return "opening or running failed, or the output is wrong";
    case NO_FILTER:
        return "the filter could not be installed";
    case DONE:
        return "not killed: the filter does not work";
    default:
        return "the child died of something else";
    }
}

static void expect(int wanted, case_fn run, const char *path, struct proof_answer expected,
                   const char *what) {
    int result = in_child(run, path, expected);
    for (int i = 1; i < tries && result == wanted; i++)
        result = in_child(run, path, expected);
    proof_ok(result == wanted, proof_name(path, what), ending(result));
}

static void prove(const char *path) {
    if (access(path, R_OK) != 0) {
        proof_skip(proof_name(path, "system calls"), "the model is not here");
        return;
    }
    struct proof_answer expected;
    if (!proof_ok(proof_expected(path, &expected), proof_name(path, "runs"),
                  "cannot open or run it, or sizes that come back give other bytes"))
        return;
    expect(DONE, one_thread, path, expected, "one thread: no system call");
    expect(DONE, two_threads, path, expected, "two threads: futex only");
    expect(DONE, no_executable_memory, path, expected, "no executable memory");
}

int main(int argc, char **argv) {
    const struct proof_answer none = {0, 0};
    int first = proof_start(argc, argv);
    if (argc > first + 1 && strcmp(argv[first], "--tries") == 0) {
        tries = atoi(argv[first + 1]);
        first += 2;
    }
    expect(-SIGSYS, control_call, "control", none, "getpid is killed");
    expect(-SIGSYS, control_futex, "control", none, "futex is killed where it is not allowed");
    expect(-SIGSYS, control_executable, "control", none, "executable memory is killed");
    for (int i = first; i < argc; i++)
        prove(argv[i]);
    return proof_result();
}
