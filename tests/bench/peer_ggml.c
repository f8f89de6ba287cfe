/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of one product. Weights are small numbers; ggml's rows are f32, as ours, and rounded by
 * itself. */
#include "tests/bench/peer_ggml.h"

#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ggml_side {
    ggml_backend_t backend;
    struct ggml_context *weights, *values;
    ggml_backend_buffer_t weights_at, values_at;
    struct ggml_cgraph *graph;
};

const char *ggml_name(void) {
    static char ret[64];
    snprintf(ret, sizeof ret, "ggml %s", ggml_version());
    return ret;
}

/* Where its kernels find weights in an order of their own. */
static ggml_backend_buffer_type_t repacked(ggml_backend_t backend) {
    const ggml_backend_dev_t device = ggml_backend_get_device(backend);
    const ggml_backend_dev_get_extra_bufts_t list =
        (ggml_backend_dev_get_extra_bufts_t)ggml_backend_reg_get_proc_address(
            ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts");
    for (ggml_backend_buffer_type_t *at = list ? list(device) : NULL; at && *at; at++)
        if (strcmp(ggml_backend_buft_name(*at), "CPU_REPACK") == 0)
            return *at;
    return ggml_backend_get_default_buffer_type(backend);
}

/* NULL where its kernels have no such order for the product's sizes. */
static ggml_backend_buffer_t place_repacked(ggml_backend_t backend, struct ggml_context *weights,
                                            const struct ggml_tensor *product) {
    ggml_backend_buffer_t ret =
        ggml_backend_alloc_ctx_tensors_from_buft(weights, repacked(backend));
    if (ggml_backend_supports_op(backend, product))
        return ret;
    ggml_backend_buffer_free(ret);
    for (struct ggml_tensor *t = ggml_get_first_tensor(weights); t;
         t = ggml_get_next_tensor(weights, t)) {
        t->buffer = NULL;
        t->data = t->extra = NULL;
    }
    return NULL;
}

static struct ggml_context *make_context(void) {
    const struct ggml_init_params params = {
        .mem_size = 16 * ggml_tensor_overhead() + ggml_graph_overhead(),
        .no_alloc = true,
    };
    return ggml_init(params);
}

static void fill_numbers(float *value, int64_t n) {
    uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        value[i] = (float)(int32_t)state * 0x1p-31f;
    }
}

static void set_values(struct ggml_tensor *tensor) {
    const int64_t n = ggml_nelements(tensor);
    const size_t bytes = ggml_nbytes(tensor);
    float *value = malloc((size_t)n * sizeof *value);
    void *stored = malloc(bytes);
    if (!value || !stored)
        exit(1);
    fill_numbers(value, n);
    if (tensor->type == GGML_TYPE_F32)
        memcpy(stored, value, bytes);
    else
        ggml_quantize_chunk(tensor->type, value, stored, 0, tensor->ne[1], tensor->ne[0], NULL);
    ggml_backend_tensor_set(tensor, stored, 0, bytes);
    free(stored);
    free(value);
}

/* It tells of every tensor that it repacks. */
static void say_nothing(enum ggml_log_level level, const char *text, void *user) {
    (void)level, (void)text, (void)user;
}

struct ggml_side *ggml_side_create(const struct ggml_layer *layer) {
    const enum ggml_type type = layer->bits == 4 ? GGML_TYPE_Q4_0 : GGML_TYPE_Q8_0;
    if (layer->k % ggml_blck_size(type) != 0)
        return NULL;
    struct ggml_side *ret = calloc(1, sizeof *ret);
    if (!ret)
        exit(1);
    ggml_log_set(say_nothing, NULL);
    ret->backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(ret->backend, 1);
    ret->weights = make_context();
    ret->values = make_context();
    struct ggml_tensor *w = ggml_new_tensor_2d(ret->weights, type, layer->k, layer->n);
    struct ggml_tensor *x = ggml_new_tensor_2d(ret->values, GGML_TYPE_F32, layer->k, layer->rows);
    ret->graph = ggml_new_graph(ret->values);
    struct ggml_tensor *product = ggml_mul_mat(ret->values, w, x);
    ggml_build_forward_expand(ret->graph, product);
    ret->weights_at = place_repacked(ret->backend, ret->weights, product);
    if (!ret->weights_at)
        ret->weights_at = ggml_backend_alloc_ctx_tensors(ret->weights, ret->backend);
    ret->values_at = ggml_backend_alloc_ctx_tensors(ret->values, ret->backend);
    set_values(w);
    set_values(x);
    return ret;
}

void ggml_side_run(const struct ggml_side *side) {
    ggml_backend_graph_compute(side->backend, side->graph);
}

void ggml_side_destroy(struct ggml_side *side) {
    ggml_backend_buffer_free(side->values_at);
    ggml_backend_buffer_free(side->weights_at);
    ggml_free(side->values);
    ggml_free(side->weights);
    ggml_backend_free(side->backend);
    free(side);
}
