/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzz target offers to libFuzzer and to the plain driver (fuzz_main.c). */
#ifndef IPEX_TESTS_FUZZ_H
#define IPEX_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* How far inputs came since the program began: all, those opened, those run. */
struct fuzz_counts {
    uint64_t inputs, opened, run;
};
extern struct fuzz_counts fuzz_counts;

#endif
