/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a graph once it is lowered, on the reference kernels, through the public API: constant
 * folding and known answers compute with the same operators that a file is run with. The file is a
 * temporary one without a name. */
#ifndef IPEX_TOOLS_EVALUATE_H
#define IPEX_TOOLS_EVALUATE_H

#include "runtime/ipex.h"
#include "tools/convert/graph.h"

struct ipex_evaluator {
    struct ipex_image *image;
    struct ipex_session *session;
    void *image_memory, *session_memory;
};

/* The graph must be free of affine nodes. On failure nothing is held. */
IPEX_WARN_UNUSED enum ipex_status ipex_evaluator_open(struct ipex_evaluator *ret,
                                                      struct ipex_graph *graph,
                                                      const struct ipex_report *report);
/* Dense inputs and outputs in the order of the graph's. outputs[i] has room for the value. symbols:
 * the sizes where the graph has symbols (graph->dims.symbol), for which a session is made; else
 * NULL. */
IPEX_WARN_UNUSED enum ipex_status ipex_evaluator_run(struct ipex_evaluator *evaluator,
                                                     const struct ipex_graph *graph,
                                                     const int64_t *symbols, void *const *inputs,
                                                     void *const *outputs,
                                                     const struct ipex_report *report);
void ipex_evaluator_close(struct ipex_evaluator *evaluator);

#endif
