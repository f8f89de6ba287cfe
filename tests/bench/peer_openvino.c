/* SPDX-License-Identifier: Apache-2.0 */
/* OpenVINO through its C interface. The PyPI package has the library but no headers; the few
 * functions used are declared here. */
#include "tests/bench/peer.h"

#include <stdio.h>

struct ov_shape {
    int64_t rank;
    int64_t *dims;
};

static struct {
    int (*core_create)(void **core);
    int (*read_model)(void *core, const char *path, const char *weights, void **model);
    int (*compile_model)(void *core, void *model, const char *device, size_t properties,
                         void **compiled, ...);
    int (*create_request)(void *compiled, void **request);
    int (*tensor_from_pointer)(int element, struct ov_shape shape, void *data, void **tensor);
    int (*set_input)(void *request, const char *name, void *tensor);
    int (*infer)(void *request);
    int (*get_output)(void *request, size_t index, void **tensor);
    int (*tensor_data)(void *tensor, void **data);
} ov;

static void *request;

static void check(int status, const char *what) {
    char why[32];
    snprintf(why, sizeof why, "status %d", status);
    if (status != 0)
        peer_fail(what, why);
}

static void load(const char *path) {
    void *library = peer_library(path);
    *(void **)&ov.core_create = peer_symbol(library, "ov_core_create");
    *(void **)&ov.read_model = peer_symbol(library, "ov_core_read_model");
    *(void **)&ov.compile_model = peer_symbol(library, "ov_core_compile_model");
    *(void **)&ov.create_request = peer_symbol(library, "ov_compiled_model_create_infer_request");
    *(void **)&ov.tensor_from_pointer = peer_symbol(library, "ov_tensor_create_from_host_ptr");
    *(void **)&ov.set_input = peer_symbol(library, "ov_infer_request_set_tensor");
    *(void **)&ov.infer = peer_symbol(library, "ov_infer_request_infer");
    *(void **)&ov.get_output = peer_symbol(library, "ov_infer_request_get_output_tensor_by_index");
    *(void **)&ov.tensor_data = peer_symbol(library, "ov_tensor_data");
}

/* ov_element_type_e */
static int element(enum peer_type type) {
    return type == PEER_F32 ? 4 : type == PEER_I32 ? 9 : 10;
}

static void create(const struct peer_job *job) {
    void *core, *model, *compiled, *tensor;
    char threads[16];
    snprintf(threads, sizeof threads, "%d", job->threads);
    check(ov.core_create(&core), "core");
    check(ov.read_model(core, job->model, NULL, &model), "read model");
    check(ov.compile_model(core, model, "CPU", 6, &compiled, "PERFORMANCE_HINT", "LATENCY",
                           "INFERENCE_PRECISION_HINT", job->precision, "INFERENCE_NUM_THREADS",
                           threads),
          "compile model");
    check(ov.create_request(compiled, &request), "create request");
    for (size_t i = 0; i < job->inputs; i++) {
        const struct peer_input *input = &job->input[i];
        const struct ov_shape shape = {(int64_t)input->rank, (int64_t *)input->dims};
        check(ov.tensor_from_pointer(element(input->type), shape, input->data, &tensor), "tensor");
        check(ov.set_input(request, input->name, tensor), "set input");
    }
}

static const float *run(void) {
    void *tensor, *data;
    check(ov.infer(request), "infer");
    check(ov.get_output(request, 0, &tensor), "get output");
    check(ov.tensor_data(tensor, &data), "output data");
    return data;
}

const struct peer peer_openvino = {"openvino", load, create, run};
