/* SPDX-License-Identifier: Apache-2.0 */
/* See proof.h. */
#include "tests/proof/proof.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static int checks, failures;

bool proof_ok(bool condition, const char *name, const char *why) {
    checks++;
    failures += !condition;
    printf("%s - %s\n", condition ? "ok" : "not ok", name);
    if (!condition)
        printf("# %s\n", why);
    fflush(stdout);
    return condition;
}

void proof_skip(const char *name, const char *reason) {
    checks++;
    printf("ok - %s # SKIP %s\n", name, reason);
    fflush(stdout);
}

int proof_result(void) {
    if (checks == 0)
        proof_ok(false, "checks were made", "no model was given");
    return failures != 0;
}

const char *proof_name(const char *path, const char *what) {
    static char name[256];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "%s: %s", slash ? slash + 1 : path, what);
    return name;
}

static bool map_block(struct proof_block *block, size_t size, int sharing) {
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return false;
    *block = (struct proof_block){data, size};
    return true;
}

static void unmap_block(struct proof_block *block) {
    if (block->data)
        munmap(block->data, block->size);
    *block = (struct proof_block){0};
}

static size_t tensor_elements(const struct ipex_tensor *tensor) {
    size_t elements = 1;
    for (int32_t i = 0; i < tensor->rank; i++)
        elements *= (size_t)tensor->dims[i];
    return elements;
}

static bool open_image(struct proof_model *model, const char *path) {
    struct ipex_image_options options = {.size_of_struct = sizeof options,
                                         .message = model->message,
                                         .message_size = sizeof model->message};
    size_t size;
    return ipex_image_measure(path, &options, &size) == IPEX_OK &&
           map_block(&model->image_memory, size, MAP_PRIVATE) &&
           ipex_image_open(&model->image, path, model->image_memory.data, size, &options) ==
               IPEX_OK;
}

static bool open_pool(struct proof_model *model, int threads) {
    struct ipex_pool_options options = {.size_of_struct = sizeof options,
                                        .threads = threads,
                                        .message = model->message,
                                        .message_size = sizeof model->message};
    size_t size;
    if (threads == 1)
        return true;
    return ipex_pool_measure(&options, &size) == IPEX_OK &&
           map_block(&model->pool_memory, size, MAP_PRIVATE) &&
           ipex_pool_init(&model->pool, &options, model->pool_memory.data, size) == IPEX_OK;
}

static bool open_session(struct proof_model *model) {
    struct ipex_session_options options = {.size_of_struct = sizeof options,
                                           .pool = model->pool,
                                           .message = model->message,
                                           .message_size = sizeof model->message};
    struct ipex_requirements need;
    return ipex_session_measure(model->image, &options, &need) == IPEX_OK &&
           map_block(&model->session_memory, need.memory, MAP_PRIVATE) &&
           ipex_session_init(&model->session, model->image, &options, model->session_memory.data,
                             need.memory) == IPEX_OK;
}

/* The input lies in shared memory, which the kernel does not count as anonymous: it is the caller's
 * business, not the library's. */
static bool make_input(struct proof_model *model) {
    struct ipex_port port;
    if (ipex_image_input(model->image, NULL, 0, &port) != IPEX_OK || port.dtype != IPEX_DTYPE_f32)
        return false;
    model->input.dtype = port.dtype;
    model->input.rank = port.rank;
    memcpy(model->input.dims, port.dims, sizeof port.dims);
    size_t elements = tensor_elements(&model->input);
    if (!map_block(&model->input_memory, elements * sizeof(float), MAP_SHARED))
        return false;
    float *x = model->input.data = model->input_memory.data;
    uint32_t seed = 1;
    for (size_t i = 0; i < elements; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    return true;
}

bool proof_open(struct proof_model *model, const char *path, int threads) {
    *model = (struct proof_model){.message = "no message"};
    return open_image(model, path) && open_pool(model, threads) && open_session(model) &&
           make_input(model);
}

bool proof_run(struct proof_model *model) {
    model->output = (struct ipex_tensor){0};
    if (ipex_run(model->session, NULL, &model->input, 1, &model->output, 1) != IPEX_OK)
        return false;
    model->output_bytes = tensor_elements(&model->output) * sizeof(float);
    return true;
}

void proof_close(struct proof_model *model) {
    ipex_session_finish(model->session);
    ipex_pool_finish(model->pool);
    ipex_image_close(model->image);
    unmap_block(&model->session_memory);
    unmap_block(&model->pool_memory);
    unmap_block(&model->image_memory);
    unmap_block(&model->input_memory);
}

struct proof_block proof_expected(const char *path) {
    struct proof_block copy = {0};
    struct proof_model model;
    if (proof_open(&model, path, 1) && proof_run(&model) &&
        map_block(&copy, model.output_bytes, MAP_PRIVATE))
        memcpy(copy.data, model.output.data, copy.size);
    proof_close(&model);
    return copy;
}
