/* SPDX-License-Identifier: Apache-2.0 */
/* What a measuring program asks of the system about its own process. */
#ifndef IPEX_TESTS_BENCH_PROCESS_H
#define IPEX_TESTS_BENCH_PROCESS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct process_faults {
    long minor, major;
};

static inline double process_now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static inline struct process_faults process_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct process_faults){usage.ru_minflt, usage.ru_majflt};
}

/* Resident anonymous memory; -1 when the system does not say. */
static inline long process_anon_kb(void) {
    char line[256];
    long kb = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && kb < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "RssAnon:", 8) == 0)
            kb = strtol(line + 8, NULL, 10);
    if (file)
        fclose(file);
    return kb;
}

#endif
