/* SPDX-License-Identifier: Apache-2.0 */
/* A thread waits for the signals, so that it may do what a handler must not: read a folder. */
#include "tools/convert/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cli.h"

extern char **environ;

#define REMOVE_ATTEMPTS 100 /* another thread may still be writing files */

static bool try_to_remove(const char *path) {
    DIR *folder = opendir(path);
    if (!folder)
        return true;
    for (struct dirent *file; (file = readdir(folder));)
        if (strcmp(file->d_name, ".") && strcmp(file->d_name, ".."))
            (void)unlinkat(dirfd(folder), file->d_name, 0);
    closedir(folder);
    return !rmdir(path);
}

static void remove_folder(const char *path) {
    for (int i = 0; i < REMOVE_ATTEMPTS && !try_to_remove(path); i++)
        sched_yield();
}

/* Ends the program as the signal would have. */
static void *watch(void *argument) {
    struct ipex_scratch *scratch = argument;
    int number = 0;
    while (sigwait(&scratch->ending, &number) != 0)
        continue;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    atomic_store(&scratch->over, true);
    int child = atomic_load(&scratch->child);
    if (child)
        kill(child, SIGKILL);
    remove_folder(scratch->path);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    return NULL;
}

/* A signal that is ignored, as under nohup, stays so. */
static void fill_ending(sigset_t *ret) {
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
    struct sigaction now;
    sigemptyset(ret);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!sigaction(numbers[i], NULL, &now) && now.sa_handler != SIG_IGN)
            sigaddset(ret, numbers[i]);
}

/* The watcher itself starts with every signal blocked: other handlers are not for it. */
static int start_watcher(struct ipex_scratch *scratch) {
    sigset_t all;
    fill_ending(&scratch->ending);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &scratch->before);
    int error = pthread_create(&scratch->watcher, NULL, watch, scratch);
    pthread_sigmask(SIG_SETMASK, &scratch->before, NULL);
    if (error)
        return error;
    pthread_sigmask(SIG_BLOCK, &scratch->ending, NULL);
    scratch->watched = true;
    return 0;
}

int ipex_scratch_open(struct ipex_scratch *scratch, struct ipex_arena *arena) {
    const char *base = getenv("TMPDIR");
    char *path = ipex_arena_printf(arena, "%s/ipexpack-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path))
        return ipex_cli_failed("cannot make a temporary folder %s: %s", path, strerror(errno));
    scratch->path = path;
    int error = start_watcher(scratch);
    return error ? ipex_cli_failed("cannot start a thread: %s", strerror(error)) : IPEX_EXIT_DONE;
}

void ipex_scratch_close(struct ipex_scratch *scratch) {
    if (!scratch->path)
        return;
    if (scratch->watched) { /* does not return where a signal has come */
        pthread_cancel(scratch->watcher);
        pthread_join(scratch->watcher, NULL);
    }
    remove_folder(scratch->path);
    scratch->path = NULL;
    if (scratch->watched)
        pthread_sigmask(SIG_SETMASK, &scratch->before, NULL);
    scratch->watched = false;
}

/* ---- the child ---- */

/* The process id stays the child's until `child` is 0, so that the watcher kills no other. */
static int wait_for(struct ipex_scratch *scratch, pid_t child, int *ret_status) {
    siginfo_t info;
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT))
        if (errno != EINTR)
            return errno;
    atomic_store(&scratch->child, 0);
    while (waitpid(child, ret_status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

int ipex_scratch_run(struct ipex_scratch *scratch, const char *const *argv, const char *out,
                     const char *err, int *ret_status) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t child;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &scratch->before);
    int error =
        posix_spawnp(&child, argv[0], &files, &attributes, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error)
        return error;
    atomic_store(&scratch->child, child);
    error = wait_for(scratch, child, ret_status);
    while (
        atomic_load(&scratch->over)) /* nothing is to be said of a child that the watcher ended */
        pause();
    return error;
}
