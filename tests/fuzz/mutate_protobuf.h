/* SPDX-License-Identifier: Apache-2.0 */
/* Changes serialized protobuf messages at random, knowing only the wire format: most results still
 * parse as messages of the same schema. Deterministic. */
#ifndef IPEX_TESTS_MUTATE_PROTOBUF_H
#define IPEX_TESTS_MUTATE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes bytes[0..size) in place, in one to a few places; room: what the buffer holds; keep_data:
 * raw data of tensors stay as they are, so that weights and scales stay sensible. Returns the new
 * size. */
size_t mutate_protobuf(uint8_t *bytes, size_t size, size_t room, uint64_t seed, bool keep_data);

#endif
