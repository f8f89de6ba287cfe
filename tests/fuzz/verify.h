/* SPDX-License-Identifier: Apache-2.0 */
/* Our FlatBuffers verifier for tests that are not C. */
#ifndef IPEX_TESTS_VERIFY_H
#define IPEX_TESTS_VERIFY_H

#include <stddef.h>
#include <stdint.h>

/* metadata: header included, aligned to 8. */
int verify_metadata(const void *metadata, size_t size);

#endif
