/* SPDX-License-Identifier: Apache-2.0 */
/* The questions that detection (cpu.c) asks of the CPU and of Linux, and nothing else: tests put
 * answers of their own in place of this file's when they are linked. */
#ifndef IPEX_KERNELS_CPU_PROBE_H
#define IPEX_KERNELS_CPU_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct ipex_cpuid {
    uint32_t eax, ebx, ecx, edx;
};

/* All zero where the CPU has no such leaf. */
struct ipex_cpuid ipex_probe_cpuid(uint32_t leaf, uint32_t subleaf);

/* Which registers the operating system saves. Only where cpuid says OSXSAVE. */
uint64_t ipex_probe_xcr0(void);

/* Whether Linux lets this process use the data of AMX tiles: for all its threads, and for children
 * until they start another program. */
bool ipex_probe_amx_permission(void);

/* Asks for that permission. 0, or the error: EPERM where a filter forbids it, ENOSPC where a
 * thread's alternate signal stack is too small to save tiles on, EOPNOTSUPP or EINVAL where Linux
 * knows no such permission. */
int ipex_probe_amx_request(void);

#endif
