/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file, makes a session and runs it, with all memory from here. Sizes that change from
 * picture to picture are symbols of the file; a session is measured for the range it will see. */
#include "tools/examples/ocr/network.h"

#include <stdio.h>
#include <stdlib.h>

static void *aligned(size_t size) {
    size_t whole = (size + IPEX_MEMORY_ALIGN - 1) / IPEX_MEMORY_ALIGN * IPEX_MEMORY_ALIGN;
    void *memory = aligned_alloc(IPEX_MEMORY_ALIGN, whole);
    if (!memory) {
        fprintf(stderr, "ocr: out of memory\n");
        exit(1);
    }
    return memory;
}

static bool failed(const char *what, enum ipex_status status, const char *why) {
    fprintf(stderr, "ocr: %s: %s (%s)\n", what, why, ipex_status_name(status));
    return false;
}

static bool add_threads(struct model *m, int threads) {
    char why[256] = "";
    struct ipex_pool_options options = {sizeof options, .threads = threads, .message = why,
                                        .message_size = sizeof why};
    size_t size;
    enum ipex_status status = ipex_pool_measure(&options, &size);
    if (!status) {
        m->pool_memory = aligned(size);
        status = ipex_pool_init(&m->pool, &options, m->pool_memory, size);
    }
    return !status || failed("threads", status, why);
}

bool model_open(const char *path, int threads, struct model *ret) {
    char why[256] = "";
    struct ipex_image_options options = {sizeof options, .message = why,
                                         .message_size = sizeof why};
    size_t size;
    enum ipex_status status = ipex_image_measure(path, &options, &size);
    if (!status) {
        ret->image_memory = aligned(size);
        status = ipex_image_open(&ret->image, path, ret->image_memory, size, &options);
    }
    return (!status || failed("model", status, why)) && (threads < 2 || add_threads(ret, threads));
}

void model_close(struct model *m) {
    ipex_pool_finish(m->pool);
    ipex_image_close(m->image);
    free(m->pool_memory), free(m->image_memory);
}

bool network_open(const struct model *model, const char *entry, struct network *ret) {
    *ret = (struct network){.model = model, .entry = entry};
    return ipex_image_input_count(model->image, entry) == 1 ||
           failed(entry, IPEX_ERROR_NOT_FOUND, "the file has no such entry of one input");
}

bool network_prepare(struct network *n, int batch, int height, int lo, int width) {
    char why[256] = "";
    struct ipex_port port;
    struct ipex_requirements need;
    struct ipex_dim_range range[IPEX_RANK_MAX];
    struct ipex_session_options options = {sizeof options,         .entry = n->entry,
                                           .pool = n->model->pool, .dims = range,
                                           .message = why,         .message_size = sizeof why};
    const int from[4] = {1, 3, height, lo}, to[4] = {batch, 3, height, width};
    enum ipex_status status = ipex_image_input(n->model->image, n->entry, 0, &port);
    if (status || port.rank != 4)
        return failed("input", IPEX_ERROR_SHAPE, "a network over pictures is wanted");
    for (int i = 0; i < port.rank; i++)
        if (port.symbol[i])
            range[options.n_dims++] =
                (struct ipex_dim_range){n->entry, port.symbol[i], from[i], to[i]};
    ipex_session_finish(n->session), n->session = NULL;
    free(n->session_memory), n->session_memory = NULL;
    if (!(status = ipex_session_measure(n->model->image, &options, &need))) {
        n->session_memory = aligned(need.memory);
        status = ipex_session_init(&n->session, n->model->image, &options, n->session_memory,
                                   need.memory);
    }
    return !status || failed(n->entry, status, why);
}

bool network_run(struct network *n, float *input, int batch, int height, int width,
                 struct ipex_tensor *ret_output) {
    struct ipex_tensor x = {
        .data = input, .dtype = IPEX_DTYPE_f32, .rank = 4, .dims = {batch, 3, height, width}};
    struct ipex_tensor y = {0};
    enum ipex_status status = ipex_run(n->session, n->entry, &x, 1, &y, 1);
    if (!status)
        *ret_output = y;
    return !status || failed("run", status, ipex_session_message(n->session));
}

int network_limit(const struct network *n, int axis) {
    struct ipex_port port;
    if (ipex_image_input(n->model->image, n->entry, 0, &port) || axis >= port.rank)
        return 0;
    return (int)port.max_dims[axis];
}

void network_close(struct network *n) {
    ipex_session_finish(n->session);
    free(n->session_memory);
}
