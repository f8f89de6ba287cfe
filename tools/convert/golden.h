/* SPDX-License-Identifier: Apache-2.0 */
/* Known answers: inputs and outputs that travel in the file, so that `ipexpack verify` can replay
 * them on any machine. */
#ifndef IPEX_TOOLS_GOLDEN_H
#define IPEX_TOOLS_GOLDEN_H

#include "tools/convert/draft.h"
#include "tools/tensor_file.h"

/* Inputs and outputs of one answer, in the order of the graph's; an output may have no data (not
 * given). Where the graph has symbols, each answer has sizes of its own. */
struct ipex_golden {
    const char *origin;
    struct ipex_tensor_data *input, *output;
};
struct ipex_golden_set {
    struct ipex_golden *answer;
    size_t answers, capacity, inputs, outputs;
};
void ipex_golden_finish(struct ipex_golden_set *set);

/* `count` seeded inputs (standard normal, by exact integer arithmetic: the same on every machine),
 * answered by the reference kernels on the graph as imported. Origin "self". Symbols are at their
 * lowest in the first answer and elsewhere in their ranges in the others. The graph must not be
 * used for anything else afterwards. */
IPEX_WARN_UNUSED enum ipex_status ipex_golden_compute(struct ipex_golden_set *set,
                                                      struct ipex_graph *graph, int64_t count,
                                                      const struct ipex_report *report);

/* Reads DIR: input_*.pb with output_*.pb (an ONNX test data set; positions count), or NAME.npy for
 * inputs and outputs. One answer; its origin is the word in DIR/origin.txt, else "given". Shapes
 * and types must be the graph's, for the sizes that the inputs have; every input must be there,
 * outputs may be missing but not all. */
IPEX_WARN_UNUSED enum ipex_status ipex_golden_read(struct ipex_golden_set *set,
                                                   const struct ipex_graph *graph,
                                                   const char *folder,
                                                   const struct ipex_report *report);

/* The file of a port: KIND_INDEX.pb, else that of ipex_tensor_path. NULL when neither exists. */
const char *ipex_golden_find_file(struct ipex_arena *arena, const char *folder, const char *kind,
                                  size_t index, const char *name);

/* Turns the set into weights and answers of the plan; the set must outlive the writing. */
void ipex_golden_store(const struct ipex_golden_set *set, const struct ipex_graph *graph,
                       struct ipex_plan *plan);

#endif
