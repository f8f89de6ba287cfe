/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime through its C interface, a table of functions whose order is fixed for ever (append
 * only). The PyPI package has the library but no header, so the few entries used are named by their
 * index. */
#include "tests/bench/peer.h"

#include <string.h>

enum { API_VERSION = 17, LOG_ERROR = 3, ALL_OPTIMISATIONS = 99 };

/* Index of a function in struct OrtApi. */
enum entry {
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_OPTIMISATION_LEVEL = 23,
    SET_INTRA_OP_THREADS = 24,
    SET_INTER_OP_THREADS = 25,
    SESSION_GET_OUTPUT_COUNT = 31,
    SESSION_GET_OUTPUT_NAME = 37,
    CREATE_TENSOR_WITH_DATA = 49,
    GET_TENSOR_DATA = 51,
    CREATE_CPU_MEMORY_INFO = 69,
    GET_DEFAULT_ALLOCATOR = 78,
};

struct api_base {
    void *const *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

/* An OrtStatus: NULL is success. */
typedef void *status;

static void *const *api;
static struct {
    void *session, *input[PEER_INPUTS], *output[PEER_OUTPUTS];
    const char *input_name[PEER_INPUTS];
    char *output_name[PEER_OUTPUTS];
    size_t inputs, outputs;
} state;

static void check(status failure, const char *what) {
    if (failure)
        peer_fail(what, ((const char *(*)(status))api[GET_ERROR_MESSAGE])(failure));
}

/* CALL(ENTRY, (argument types), arguments...) */
#define CALL(entry, types, ...) check(((status(*) types)api[entry])(__VA_ARGS__), #entry)

static void load(const char *path) {
    void *library = peer_library(path);
    const struct api_base *(*get_base)(void);
    *(void **)&get_base = peer_symbol(library, "OrtGetApiBase");
    api = get_base()->get_api(API_VERSION);
    if (!api)
        peer_fail("OrtGetApiBase", "this version of the interface is not offered");
}

static void *make_options(int threads) {
    void *options;
    CALL(CREATE_SESSION_OPTIONS, (void **), &options);
    CALL(SET_INTRA_OP_THREADS, (void *, int), options, threads);
    CALL(SET_INTER_OP_THREADS, (void *, int), options, 1);
    CALL(SET_OPTIMISATION_LEVEL, (void *, int), options, ALL_OPTIMISATIONS);
    return options;
}

/* ONNXTensorElementDataType */
static int element(enum peer_type type) {
    return type == PEER_F32 ? 1 : type == PEER_I32 ? 6 : 7;
}

static void name_outputs(void) {
    void *allocator;
    CALL(GET_DEFAULT_ALLOCATOR, (void **), &allocator);
    CALL(SESSION_GET_OUTPUT_COUNT, (void *, size_t *), state.session, &state.outputs);
    if (state.outputs > PEER_OUTPUTS)
        peer_fail("onnxruntime", "too many outputs");
    for (size_t i = 0; i < state.outputs; i++)
        CALL(SESSION_GET_OUTPUT_NAME, (void *, size_t, void *, char **), state.session, i,
             allocator, &state.output_name[i]);
}

static void create(const struct peer_job *job) {
    void *env, *memory;
    CALL(CREATE_ENV, (int, const char *, void **), LOG_ERROR, "peer", &env);
    CALL(CREATE_SESSION, (void *, const char *, void *, void **), env, job->model,
         make_options(job->threads), &state.session);
    name_outputs();
    CALL(CREATE_CPU_MEMORY_INFO, (int, int, void **), 1 /* arena */, 0 /* default */, &memory);
    state.inputs = job->inputs;
    for (size_t i = 0; i < job->inputs; i++) {
        const struct peer_input *input = &job->input[i];
        state.input_name[i] = input->name;
        CALL(CREATE_TENSOR_WITH_DATA,
             (void *, void *, size_t, const int64_t *, size_t, int, void **), memory, input->data,
             input->bytes, input->dims, input->rank, element(input->type), &state.input[i]);
    }
}

/* The outputs of the first run are the buffers of all later ones: no allocation is timed that a
 * careful user would avoid. */
static const float *run(void) {
    const float *data;
    CALL(RUN,
         (void *, const void *, const char *const *, void *const *, size_t, char *const *, size_t,
          void **),
         state.session, NULL, state.input_name, state.input, state.inputs, state.output_name,
         state.outputs, state.output);
    CALL(GET_TENSOR_DATA, (void *, const float **), state.output[0], &data);
    return data;
}

const struct peer peer_onnxruntime = {"onnxruntime", load, create, run};
