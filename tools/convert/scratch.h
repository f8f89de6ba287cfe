/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of temporary files and a child process that works in it, both gone when the program is,
 * also when SIGHUP, SIGINT or SIGTERM end it. */
#ifndef IPEX_TOOLS_CONVERT_SCRATCH_H
#define IPEX_TOOLS_CONVERT_SCRATCH_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tools/arena.h"

/* All zeros: no folder. Must not move while there is one. */
struct ipex_scratch {
    char *path;      /* NULL: none */
    sigset_t before; /* the signals that were blocked */
    sigset_t ending; /* those that end the program */
    bool watched;
    pthread_t watcher;
    atomic_int child; /* its process id; 0: none */
    atomic_bool over; /* a signal ends the program */
};

/* Makes the folder, in $TMPDIR or /tmp; an exit code. From now on the signals that end the program
 * are the watcher's alone. */
int ipex_scratch_open(struct ipex_scratch *scratch, struct ipex_arena *arena);
/* Runs a program to its end, with its standard output and error in files; its status as waitpid
 * gives it, and 0, or an error number. */
int ipex_scratch_run(struct ipex_scratch *scratch, const char *const *argv, const char *out,
                     const char *err, int *ret_status);
void ipex_scratch_close(struct ipex_scratch *scratch);

#endif
