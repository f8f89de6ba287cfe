/* SPDX-License-Identifier: Apache-2.0 */
/* See proof.h. */
#include "tests/proof/proof.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int checks, failures;
static enum ipex_isa level = IPEX_ISA_AUTO;

/* tests/amx_emu, in the programs that link it. */
bool amx_emu_installed(void) __attribute__((weak));

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

int proof_start(int argc, char **argv) {
    if (argc < 3 || strcmp(argv[1], "--isa") != 0)
        return 1;
#define LEVEL(name, value)                                                                         \
    if (strcmp(argv[2], #name) == 0)                                                               \
        level = IPEX_ISA_##name;
    IPEX_ISA_LIST(LEVEL)
#undef LEVEL
    const bool may_ask = level == IPEX_ISA_amx && ipex_amx_detect() == IPEX_AMX_not_requested;
    if (level == IPEX_ISA_AUTO || (!may_ask && !ipex_isa_available(level))) {
        proof_skip(argv[2], "this machine has no such level");
        exit(77);
    }
    return 3;
}

bool proof_is_emulated(void) {
    return amx_emu_installed && amx_emu_installed();
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
                                           .isa = level,
                                           .request_amx = level == IPEX_ISA_amx,
                                           .pool = model->pool,
                                           .message = model->message,
                                           .message_size = sizeof model->message};
    struct ipex_requirements need;
    return ipex_session_measure(model->image, &options, &need) == IPEX_OK &&
           map_block(&model->session_memory, need.memory, MAP_PRIVATE) &&
           ipex_session_init(&model->session, model->image, &options, model->session_memory.data,
                             need.memory) == IPEX_OK;
}

static size_t most_elements(const struct ipex_port *port) {
    size_t elements = 1;
    for (int32_t i = 0; i < port->rank; i++)
        elements *= (size_t)port->max_dims[i];
    return elements;
}

/* Real numbers from -1 to 1; integers are 0 or 1, which all networks take: tokens, masks, bytes. */
static bool fill(void *data, enum ipex_dtype dtype, size_t elements) {
    uint32_t seed = 1;
    for (size_t i = 0; i < elements; i++) {
        seed = seed * 1664525u + 1013904223u;
        switch (dtype) {
        case IPEX_DTYPE_f32:
            ((float *)data)[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
            break;
        case IPEX_DTYPE_i32:
            ((int32_t *)data)[i] = (int32_t)(seed >> 31);
            break;
        case IPEX_DTYPE_i64:
            ((int64_t *)data)[i] = (int64_t)(seed >> 31);
            break;
        case IPEX_DTYPE_bool:
        case IPEX_DTYPE_u8:
            ((uint8_t *)data)[i] = (uint8_t)(seed >> 31);
            break;
        default:
            return false;
        }
    }
    return true;
}

/* The inputs lie in shared memory, which the kernel does not count as anonymous: they are the
 * caller's business, not the library's. */
static bool make_inputs(struct proof_model *model) {
    model->inputs = ipex_image_input_count(model->image, NULL);
    model->outputs = ipex_image_output_count(model->image, NULL);
    if (model->inputs > PROOF_PORTS || model->outputs > PROOF_PORTS)
        return false;
    for (size_t i = 0; i < model->inputs; i++) {
        struct ipex_port *port = &model->port[i];
        struct proof_block *memory = &model->input_memory[i];
        if (ipex_image_input(model->image, NULL, i, port) != IPEX_OK ||
            !map_block(memory, most_elements(port) * ipex_dtype_size(port->dtype), MAP_SHARED) ||
            !fill(memory->data, port->dtype, most_elements(port)))
            return false;
        model->input[i] =
            (struct ipex_tensor){.data = memory->data, .dtype = port->dtype, .rank = port->rank};
    }
    return true;
}

bool proof_open(struct proof_model *model, const char *path, int threads) {
    *model = (struct proof_model){.message = "no message"};
    return open_image(model, path) && open_pool(model, threads) && open_session(model) &&
           make_inputs(model);
}

/* FNV-1a over the dims and the elements, which may be a view with strides. */
static uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return digest;
}

static uint64_t digest_tensor(uint64_t digest, const struct ipex_tensor *tensor, int32_t axis,
                              const uint8_t *data) {
    const size_t element = ipex_dtype_size(tensor->dtype);
    if (axis == tensor->rank)
        return digest_bytes(digest, data, element);
    digest = digest_bytes(digest, &tensor->dims[axis], sizeof tensor->dims[axis]);
    for (int64_t i = 0; i < tensor->dims[axis]; i++)
        digest = digest_tensor(digest, tensor, axis + 1,
                               data + i * tensor->strides[axis] * (int64_t)element);
    return digest;
}

static bool run_at(struct proof_model *model, bool high, uint64_t *ret) {
    struct ipex_tensor output[PROOF_PORTS] = {0};
    for (size_t i = 0; i < model->inputs; i++)
        memcpy(model->input[i].dims, high ? model->port[i].max_dims : model->port[i].dims,
               sizeof model->input[i].dims);
    if (ipex_run(model->session, NULL, model->input, model->inputs, output, model->outputs) !=
        IPEX_OK)
        return false;
    *ret = 1469598103934665603u;
    for (size_t i = 0; i < model->outputs; i++)
        *ret = digest_tensor(*ret, &output[i], 0, output[i].data);
    return true;
}

bool proof_run(struct proof_model *model) {
    uint64_t again;
    model->answer = (struct proof_answer){0};
    return run_at(model, false, &model->answer.low) && run_at(model, true, &model->answer.high) &&
           run_at(model, false, &again) && again == model->answer.low;
}

void proof_close(struct proof_model *model) {
    ipex_session_finish(model->session);
    ipex_pool_finish(model->pool);
    ipex_image_close(model->image);
    unmap_block(&model->session_memory);
    unmap_block(&model->pool_memory);
    unmap_block(&model->image_memory);
    for (size_t i = 0; i < model->inputs; i++)
        unmap_block(&model->input_memory[i]);
}

bool proof_expected(const char *path, struct proof_answer *ret) {
    struct proof_model model;
    bool good = proof_open(&model, path, 1) && proof_run(&model);
    *ret = model.answer;
    proof_close(&model);
    return good;
}

bool proof_is(const struct proof_model *model, struct proof_answer expected) {
    return model->answer.low == expected.low && model->answer.high == expected.high;
}
