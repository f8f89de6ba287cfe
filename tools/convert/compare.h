/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `ipexpack compare` share: a model, a file made from it, inputs for both, and
 * what computes the model another way. */
#ifndef IPEX_TOOLS_COMPARE_H
#define IPEX_TOOLS_COMPARE_H

#include "tools/cli.h"
#include "tools/convert/onnx_read.h"
#include "tools/convert/scratch.h"
#include "tools/metadata.h"
#include "tools/model.h"
#include "tools/run_sizes.h"
#include "tools/tensor_compare.h"

/* A tensor of the model that both sides have computed. */
struct ipex_comparison {
    const char *name;
    const struct ipex_onnx_node *node; /* that computes it; NULL for outputs that no node does */
    bool fits; /* same type and shape; `by` says how far they are apart then */
    struct ipex_tensor_difference by;
    bool departs;
    int64_t dims[IPEX_MAX_RANK]; /* of the reference */
    int32_t rank;
    enum ipex_dtype dtype;
};

struct ipex_contrast {
    /* as given */
    const char *model_path, *file, *folder;
    const char *entry_wanted, *entry;
    double tolerance;
    bool json;
    struct ipex_machine_options machine;
    const struct ipex_cli_verb *verb;

    struct ipex_arena arena;
    struct ipex_onnx_model onnx;
    size_t inputs; /* of the model; those with a default are none */
    const struct ipex_onnx_value **input;
    struct ipex_tensor_data *given; /* [inputs] */
    struct ipex_model model;        /* the file */
    struct ipex_metadata metadata;
    struct ipex_run_sizes sizes;

    struct ipex_scratch scratch;    /* the temporary files */
    char reference[64];             /* "ONNX Runtime 1.20.0" once it has run */
    char absent[256];               /* why it cannot */
    struct ipex_comparison *output; /* [outputs] */
    size_t outputs;
    struct ipex_comparison first; /* the first that departs */
    const char **first_inputs;    /* tensors that its node reads, which agree */
    size_t n_first_inputs;
    bool bisected, other_model; /* the latter: the model converted anew agrees */
    size_t probes;
};

/* compare_reference.c. The folder of temporary files with the inputs in it; an exit code. */
int ipex_reference_open(struct ipex_contrast *c);
/* Runs the model: `outputs` and, where inner is not NULL, that tensor, into ret[0 ..]. An exit
 * code, or IPEX_REFERENCE_ABSENT with c->absent where there is no ONNX Runtime. */
#define IPEX_REFERENCE_ABSENT 3
int ipex_reference_run(struct ipex_contrast *c, const char *const *outputs, size_t count,
                       const char *inner, struct ipex_tensor_data *ret);

/* compare_bisect.c: finds c->first, by converting the model again with one tensor more as an
 * output. An exit code. */
int ipex_compare_bisect(struct ipex_contrast *c);

/* verb_compare.c: runs an opened file on the given inputs; outputs by name into ret, [count]. */
int ipex_compare_run(struct ipex_contrast *c, struct ipex_model *model,
                     struct ipex_run_sizes *sizes, const char *const *names, size_t count,
                     struct ipex_tensor_data *ret);
/* Fills what follows from both tensors. */
void ipex_compare_tensors(const struct ipex_contrast *c, const struct ipex_tensor_data *got,
                          const struct ipex_tensor_data *expected, struct ipex_comparison *ret);

#endif
