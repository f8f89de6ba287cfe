/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IPEX_TOOLS_ONNX_SORT_H
#define IPEX_TOOLS_ONNX_SORT_H

#include "tools/arena.h"
#include "tools/convert/onnx_read.h"

/* Puts every node behind the ones that it reads from, where they are not: some tools append theirs
 * at the end. Otherwise nodes stay in order; those in a cycle have none. Graphs inside of nodes
 * count as what they read. */
void ipex_onnx_sort(struct ipex_onnx_graph *graph, struct ipex_arena *arena);

#endif
