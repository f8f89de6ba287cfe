/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime through its C interface, a table of functions whose order is fixed for ever (append
 * only). The PyPI package has the library but no header, so the few entries used are named by their
 * index. */
#include "tests/bench/peer.h"

#include <string.h>

enum { API_VERSION = 17, LOG_ERROR = 3, ALL_OPTIMISATIONS = 99, ELEMENT_FLOAT = 1 };

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
    SESSION_GET_INPUT_NAME = 36,
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
    void *session, *input, *output;
    char *input_name, *output_name;
} state;

static void check(status failure, const char *what) {
    if (failure)
        peer_fail(what, ((const char *(*)(status))api[GET_ERROR_MESSAGE])(failure));
}

/* CALL(ENTRY, (argument types), arguments...) */
#define CALL(entry, types, ...) check(((status(*) types)api[entry])(__VA_ARGS__), #entry)

static void load(void *library) {
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

static void create(const struct peer_job *job) {
    void *env, *allocator, *memory;
    CALL(CREATE_ENV, (int, const char *, void **), LOG_ERROR, "peer", &env);
    CALL(CREATE_SESSION, (void *, const char *, void *, void **), env, job->model,
         make_options(job->threads), &state.session);
    CALL(GET_DEFAULT_ALLOCATOR, (void **), &allocator);
    CALL(SESSION_GET_INPUT_NAME, (void *, size_t, void *, char **), state.session, 0, allocator,
         &state.input_name);
    CALL(SESSION_GET_OUTPUT_NAME, (void *, size_t, void *, char **), state.session, 0, allocator,
         &state.output_name);
    CALL(CREATE_CPU_MEMORY_INFO, (int, int, void **), 1 /* arena */, 0 /* default */, &memory);
    CALL(CREATE_TENSOR_WITH_DATA, (void *, void *, size_t, const int64_t *, size_t, int, void **),
         memory, job->input, job->elements * sizeof(float), job->dims, job->rank, ELEMENT_FLOAT,
         &state.input);
}

/* The output of the first run is the buffer of all later ones: no allocation is timed that a
 * careful user would avoid. */
static const float *run(void) {
    const char *const inputs[] = {state.input_name}, *const outputs[] = {state.output_name};
    const float *data;
    CALL(RUN,
         (void *, const void *, const char *const *, void *const *, size_t, const char *const *,
          size_t, void **),
         state.session, NULL, inputs, &state.input, 1, outputs, 1, &state.output);
    CALL(GET_TENSOR_DATA, (void *, const float **), state.output, &data);
    return data;
}

const struct peer peer_onnxruntime = {load, create, run};
