/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do at most, measured: multiply-adds a second at every instruction set
 * level, and reading from every cache and from memory. What a step of a network can reach follows
 * (tools/roofline.h). */
#ifndef IPEX_TOOLS_MACHINE_H
#define IPEX_TOOLS_MACHINE_H

#include <stdbool.h>

#include "runtime/ipex.h"
#include "tools/json.h"
#include "tools/machine_loops.h"

struct ipex_machine_rate {
    double one, all; /* of one thread, of all together: GFLOP/s or GB/s */
};

struct ipex_machine_peak {
    enum ipex_isa isa;
    enum ipex_dtype dtype; /* of the factors */
    struct ipex_machine_rate gflops;
};

#define IPEX_MACHINE_CACHES 3
struct ipex_machine_store {
    const char *name; /* "L1", "memory" */
    int64_t size;     /* bytes of the cache; 0: memory */
    bool own;         /* every core has one */
    struct ipex_machine_rate gbs;
};

struct ipex_machine {
    char cpu[64];
    int threads; /* "all" */
    struct ipex_machine_peak peak[IPEX_MULTIPLY_LOOPS];
    size_t peaks;
    struct ipex_machine_store store[IPEX_MACHINE_CACHES + 1]; /* the fastest first */
    size_t stores;
};

/* The CPUs that this process may use. */
int ipex_machine_threads(void);

/* Measures with one thread and with so many, no more than CPUs: threads that take turns would each
 * seem to have one of their own. Takes about a second. Reading is by the widest loads of levels up
 * to `isa`. An exit code. Levels that the machine lacks and caches that the system does not tell of
 * are left out. */
int ipex_machine_measure(int threads, enum ipex_isa isa, struct ipex_machine *ret);

void ipex_machine_print(const struct ipex_machine *machine);
json_t *ipex_machine_json(const struct ipex_machine *machine);

#endif
