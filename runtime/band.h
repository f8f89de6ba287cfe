/* SPDX-License-Identifier: Apache-2.0 */
/* Band groups (format/FORMAT.md): neighbouring nodes run together as one step, band of lines by
 * band of lines, so that what lies between them stays in L2. Every output is the chain that it is
 * without bands; only the order of the outputs differs.
 *
 * A member computes any lines of its output: windows, elementwise programs, resizes, copies. What
 * it writes is read by one later member; several may write slices of the channels of one tensor. In
 * between lies a buffer in the thread's scratch: a window of the rows that the tensor would have in
 * the arena, borders included, which slides down with the bands. Such a tensor has no place in the
 * arena. */
#ifndef IPEX_RUNTIME_BAND_H
#define IPEX_RUNTIME_BAND_H

#include "runtime/emit.h"

/* How many nodes from `index` on are run as one step: 1, or the members of a band group that can be
 * and are worth it. The same at all sizes of a session. */
int32_t ipex_band_length(const struct ipex_plan_builder *b, int32_t index);

/* Emits the step of `count` nodes from `index` on. */
IPEX_WARN_UNUSED enum ipex_status ipex_band_build(struct ipex_plan_builder *b, int32_t index,
                                                  int32_t count);

#endif
