/* SPDX-License-Identifier: Apache-2.0 */
/* P2: weights are used where they lie. A running process holds no anonymous memory beyond the
 * session's and the image's (and a margin for libc and stack), changing sizes do not add to it, its
 * map of the file stays clean, and two processes share one copy of it.
 *
 * memory [--isa LEVEL] FILE.ipex... */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/proof/proof.h"

#define MARGIN_KB         512  /* over what was given: libc and stack */
#define MARGIN_SESSION_KB 1024 /* over the session alone: the image too */

/* Of the maps of one file in one process, in KiB. */
struct share {
    long rss, pss, anonymous;
};

/* The value of "key:" in a line of /proc, or -1. */
static long field(const char *line, const char *key) {
    long value;
    size_t length = strlen(key);
    return strncmp(line, key, length) == 0 && sscanf(line + length, ": %ld", &value) == 1 ? value
                                                                                          : -1;
}

static long process_anonymous_kb(void) {
    char line[512];
    long found = -1;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    if (!rollup)
        return -1;
    while (fgets(line, sizeof line, rollup)) {
        long value = field(line, "Anonymous");
        found = value >= 0 ? value : found;
    }
    fclose(rollup);
    return found;
}

static void add_field(struct share *share, const char *line) {
    long rss = field(line, "Rss"), pss = field(line, "Pss"), anonymous = field(line, "Anonymous");
    share->rss += rss > 0 ? rss : 0;
    share->pss += pss > 0 ? pss : 0;
    share->anonymous += anonymous > 0 ? anonymous : 0;
}

/* A line that begins a map has its range first ("55d0-55e0 r--p ..."); the lines of its fields have
 * "Name:". */
static struct share file_share(const char *path) {
    char line[1024];
    unsigned long low, high;
    bool ours = false;
    struct share share = {0};
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2)
            ours = strstr(line, base) != NULL;
        else if (ours)
            add_field(&share, line);
    }
    if (maps)
        fclose(maps);
    return share;
}

/* In a child, so that nothing of the harness counts: opens, runs three rounds of changing sizes,
 * measures. The first round makes pages of the stack; after it nothing may grow. */
static int child_anonymous(const char *path, char *why, size_t why_size) {
    struct proof_model model;
    if (!proof_open(&model, path, 1) || !proof_run(&model))
        return 1;
    long before = process_anonymous_kb();
    before = before < 0 ? before : process_anonymous_kb(); /* reading it takes memory once, too */
    for (int i = 0; i < 2; i++) {
        if (!proof_run(&model))
            return 1;
    }
    long anonymous = process_anonymous_kb();
    long session = (long)(model.session_memory.size / 1024);
    long given = session + (long)(model.image_memory.size / 1024) + MARGIN_KB;
    long allowed = given < session + MARGIN_SESSION_KB ? given : session + MARGIN_SESSION_KB;
    long file = file_share(path).anonymous;
    snprintf(why, why_size,
             "%ld KiB anonymous, allowed %ld (session %zu, image %zu), grown by %ld over changing "
             "sizes; %ld KiB of the file copied",
             anonymous, allowed, model.session_memory.size / 1024, model.image_memory.size / 1024,
             anonymous - before, file);
    return anonymous < 0 || anonymous > allowed || anonymous > before || file != 0;
}

static void prove_anonymous(const char *path) {
    char why[256] = "cannot open or run it";
    int pipe_ends[2], status = -1;
    if (pipe(pipe_ends) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        int result = child_anonymous(path, why, sizeof why);
        if (write(pipe_ends[1], why, strlen(why) + 1) < 0)
            result = 1;
        _exit(result);
    }
    close(pipe_ends[1]);
    if (child > 0 && waitpid(child, &status, 0) == child && read(pipe_ends[0], why, sizeof why) < 0)
        status = -1;
    close(pipe_ends[0]);
    if (proof_ok(
            status == 0,
            proof_name(path, "anonymous memory within session + 1 MB and given + 512 KB, constant"),
            why))
        printf("# %s\n", why);
}

/* Opens and runs, then meets the other process twice: both have run; both have measured. */
static struct share run_beside(const char *path, int to_other, int from_other) {
    struct proof_model model;
    struct share share = {0};
    char token = 0;
    bool ran = proof_open(&model, path, 1) && proof_run(&model);
    bool met = write(to_other, &token, 1) == 1 && read(from_other, &token, 1) == 1;
    if (ran && met)
        share = file_share(path);
    met = met && write(to_other, &token, 1) == 1 && read(from_other, &token, 1) == 1;
    proof_close(&model);
    return met ? share : (struct share){0};
}

static void prove_shared(const char *path) {
    int there[2], back[2], status = -1;
    char why[128];
    if (pipe(there) != 0 || pipe(back) != 0)
        return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct share share = run_beside(path, back[1], there[0]);
        _exit(share.rss == 0);
    }
    struct share share = run_beside(path, there[1], back[0]);
    waitpid(child, &status, 0);
    for (int i = 0; i < 2; i++) {
        close(there[i]);
        close(back[i]);
    }
    snprintf(why, sizeof why, "of %ld KiB resident, %ld are this process's share", share.rss,
             share.pss);
    bool shared = status == 0 && share.rss > 0 && share.pss * 100 <= share.rss * 55;
    if (proof_ok(shared, proof_name(path, "two processes share the weights"), why))
        printf("# %s\n", why);
}

int main(int argc, char **argv) {
    for (int i = proof_start(argc, argv); i < argc; i++) {
        if (access(argv[i], R_OK) != 0) {
            proof_skip(proof_name(argv[i], "memory"), "the model is not here");
            continue;
        }
        prove_anonymous(argv[i]);
        prove_shared(argv[i]);
    }
    return proof_result();
}
