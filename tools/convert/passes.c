/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes of passes.inc in their order. */
#include "tools/convert/passes.h"

void ipex_passes_run(struct ipex_graph *graph) {
#define IPEX_PASS(name, what)                                                                      \
    ipex_pass_##name(graph);                                                                       \
    ipex_graph_prune(graph);
#include "tools/convert/passes.inc"
}
