/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/runtime/harness.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks, failures;

bool check(bool condition, const char *name, const char *why) {
    checks++;
    failures += !condition;
    printf("%s - %s\n", condition ? "ok" : "not ok", name);
    if (!condition)
        printf("# %s\n", why);
    fflush(stdout);
    return condition;
}

int check_result(void) {
    return failures > 0 || checks == 0;
}

static void must(enum ipex_status status, const char *what, const char *message) {
    if (status == IPEX_OK)
        return;
    printf("Bail out! %s: %s: %s\n", what, ipex_status_name(status), message);
    exit(1);
}

static void *aligned(size_t size) {
    void *ret = aligned_alloc(IPEX_MEMORY_ALIGN,
                              (size + IPEX_MEMORY_ALIGN) & ~(size_t)(IPEX_MEMORY_ALIGN - 1));
    memset(ret, 0xa5, size); /* what nobody wrote must not look like a zero */
    return ret;
}

void harness_open(struct harness *h, const struct net *net) {
    memset(h, 0, sizeof *h);
    h->l2_bytes = net->l2_bytes;
    const struct ipex_image_options options = {
        .size_of_struct = sizeof options, .message = h->message, .message_size = sizeof h->message};
    h->file = net_file(net, &h->file_size);
    size_t need = 0;
    must(ipex_image_measure_memory(h->file, h->file_size, &options, &need), "measure", h->message);
    h->image_memory = aligned(need);
    must(ipex_image_from_memory(&h->image, h->file, h->file_size, h->image_memory, need, &options),
         "open", h->message);
}

static void end_session(struct harness *h) {
    ipex_session_finish(h->session);
    ipex_pool_finish(h->pool);
    free(h->session_memory);
    free(h->pool_memory);
    h->session = NULL;
    h->pool = NULL;
    h->session_memory = h->pool_memory = NULL;
}

struct part {
    void (*fn)(void *arg, int i);
    void *arg;
    int i;
};

static void *part_main(void *arg) {
    const struct part *part = arg;
    part->fn(part->arg, part->i);
    return NULL;
}

void harness_parallel_for(void *user, void (*fn)(void *arg, int i), void *arg, int n) {
    (void)user;
    pthread_t thread[16];
    struct part part[16];
    for (int i = 0; i < n; i++) {
        part[i] = (struct part){.fn = fn, .arg = arg, .i = i};
        if (pthread_create(&thread[i], NULL, part_main, &part[i]) != 0)
            abort();
    }
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

void harness_session(struct harness *h, enum ipex_isa isa, enum harness_threads threads) {
    harness_sized_session(h, isa, threads, NULL, 0);
}

void harness_sized_session(struct harness *h, enum ipex_isa isa, enum harness_threads threads,
                           const struct ipex_dim_range *dims, size_t n_dims) {
    end_session(h);
    struct ipex_session_options options = {
        .size_of_struct = sizeof options,
        .isa = isa,
        .dims = dims,
        .n_dims = n_dims,
        .l2_bytes = h->l2_bytes,
        .no_bands = h->no_bands,
        .request_amx = isa == IPEX_ISA_amx,
        .message = h->message,
        .message_size = sizeof h->message,
    };
    if (threads == POOL_OF_2) {
        /* Pinned threads work even where there are fewer CPUs. */
        const struct ipex_pool_options pool = {
            .size_of_struct = sizeof pool, .threads = 2, .pin = 1};
        size_t need = 0;
        must(ipex_pool_measure(&pool, &need), "pool", "");
        h->pool_memory = aligned(need);
        must(ipex_pool_init(&h->pool, &pool, h->pool_memory, need), "pool", "");
        options.pool = h->pool;
    }
    if (threads == PARALLEL_FOR_3) {
        options.parallel_for = harness_parallel_for;
        options.parallel_threads = 3;
    }
    struct ipex_requirements need;
    must(ipex_session_measure(h->image, &options, &need), "session measure", h->message);
    h->session_memory = aligned(need.memory);
    h->session_size = need.memory;
    must(ipex_session_init(&h->session, h->image, &options, h->session_memory, need.memory),
         "session init", h->message);
}

/* The step that does this node or, where there is none, the next one. */
static int64_t step_of(const struct harness *h, const char *entry, int32_t node) {
    struct ipex_step_info step;
    int64_t i = 0;
    while (ipex_session_step(h->session, entry, (size_t)i, &step) == IPEX_OK &&
           step.node + step.nodes <= node)
        i++;
    return i;
}

static bool is_apart(const struct harness *h, const char *entry, const struct ipex_storage_info *a,
                     const struct ipex_storage_info *b) {
    return step_of(h, entry, a->last) < step_of(h, entry, b->first) ||
           step_of(h, entry, b->last) < step_of(h, entry, a->first) ||
           a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset;
}

int harness_places(const struct harness *h, const char *entry) {
    struct ipex_storage_info one, other;
    int places = 0;
    for (size_t i = 0; ipex_session_storage(h->session, entry, i, &one) == IPEX_OK; i++) {
        if (one.bytes == 0)
            continue;
        places++;
        if (one.offset < 0 || one.first > one.last || one.name == NULL)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (ipex_session_storage(h->session, entry, k, &other) != IPEX_OK ||
                (other.bytes > 0 && !is_apart(h, entry, &one, &other)))
                return -1;
    }
    return places;
}

void harness_close(struct harness *h) {
    end_session(h);
    ipex_image_close(h->image);
    free(h->image_memory);
    free(h->file);
}

/* ---- tensors ---- */

/* Byte address of element `index`. */
static uint8_t *address(const struct ipex_tensor *t, const int64_t *index) {
    int64_t at = 0, stride = 1, dense = 0;
    bool plain = true;
    for (int d = t->rank - 1; d >= 0; d--) {
        plain = plain && t->strides[d] == 0;
        at += index[d] * t->strides[d];
        dense += index[d] * stride;
        stride *= t->dims[d];
    }
    return (uint8_t *)t->data + (plain ? dense : at) * (int64_t)ipex_dtype_size(t->dtype);
}

static bool next(const struct ipex_tensor *t, int64_t *index) {
    for (int d = t->rank - 1; d >= 0; d--) {
        if (++index[d] < t->dims[d])
            return true;
        index[d] = 0;
    }
    return false;
}

/* Every axis twice as wide as it has to be, the first one backwards. */
static void make_strided(struct ipex_tensor *t, uint8_t *memory) {
    int64_t stride = 2;
    for (int d = t->rank - 1; d >= 0; d--) {
        t->strides[d] = stride;
        stride *= t->dims[d] + 1;
    }
    t->data = memory;
    if (t->rank == 0)
        return;
    t->data = memory + (t->dims[0] - 1) * t->strides[0] * (int64_t)ipex_dtype_size(t->dtype);
    t->strides[0] = -t->strides[0];
}

struct ipex_tensor harness_tensor(const struct net *net, int t, enum harness_form form, bool fill,
                                  void **ret_memory) {
    const struct net_tensor *from = &net->tensor[t];
    struct ipex_tensor ret = {.dtype = from->dtype, .rank = from->rank};
    memcpy(ret.dims, from->dims, sizeof ret.dims);
    int64_t room = 16;
    for (int d = 0; d < from->rank; d++)
        room *= from->dims[d] + 1;
    uint8_t *memory = form == VIEW ? NULL : malloc((size_t)room * ipex_dtype_size(from->dtype));
    *ret_memory = memory;
    ret.data = form == MISALIGNED ? memory + 1 : memory;
    if (form == STRIDED)
        make_strided(&ret, memory);
    if (form == VIEW)
        return (struct ipex_tensor){0};
    if (!fill)
        return ret;
    float *value = net_value(net, t);
    int64_t index[8] = {0}, i = 0;
    do
        net_store(from->dtype, address(&ret, index), value[i++]);
    while (next(&ret, index));
    free(value);
    return ret;
}

bool harness_equal(const struct net *net, int t, const struct ipex_tensor *tensor,
                   double tolerance) {
    const struct net_tensor *want = &net->tensor[t];
    if (tensor->dtype != want->dtype || tensor->rank != want->rank ||
        memcmp(tensor->dims, want->dims, (size_t)want->rank * sizeof *want->dims) != 0)
        return false;
    float *value = net_value(net, t);
    int64_t index[8] = {0}, i = 0;
    bool equal = true;
    do {
        const float have = net_load(tensor->dtype, address(tensor, index));
        if (tolerance > 0 ? !(fabs((double)have - (double)value[i]) <= tolerance)
                          : memcmp(&have, &value[i], sizeof have) != 0)
            equal = false;
        i++;
    } while (next(tensor, index));
    free(value);
    return equal;
}

bool harness_run(struct harness *h, const struct net *net, enum harness_form inputs,
                 enum harness_form outputs, double tolerance) {
    struct ipex_tensor in[NET_PORTS], out[NET_PORTS];
    void *in_memory[NET_PORTS], *out_memory[NET_PORTS];
    for (int i = 0; i < net->inputs; i++)
        in[i] = harness_tensor(net, net->input[i], inputs, true, &in_memory[i]);
    for (int i = 0; i < net->outputs; i++)
        out[i] = harness_tensor(net, net->output[i], outputs, false, &out_memory[i]);
    const enum ipex_status status =
        ipex_run(h->session, NULL, in, (size_t)net->inputs, out, (size_t)net->outputs);
    bool right = status == IPEX_OK;
    snprintf(h->message, sizeof h->message, "%s", ipex_session_message(h->session));
    for (int i = 0; right && i < net->outputs; i++)
        if (!harness_equal(net, net->output[i], &out[i], tolerance)) {
            snprintf(h->message, sizeof h->message,
                     "output %d is wrong (inputs in form %d, outputs in form %d)", i, (int)inputs,
                     (int)outputs);
            right = false;
        }
    for (int i = 0; i < net->inputs; i++)
        free(in_memory[i]);
    for (int i = 0; i < net->outputs; i++)
        free(out_memory[i]);
    return right;
}

void check_net(struct net *net, const char *name, double tolerance) {
    static const enum ipex_isa levels[] = {IPEX_ISA_reference, IPEX_ISA_avx2, IPEX_ISA_avx512,
                                           IPEX_ISA_avx512_bf16};
    static const char *const threads[] = {"1 thread", "pool of 2", "parallel_for of 3"};
    static const enum harness_form forms[][2] = {
        {DENSE, VIEW},   {DENSE, DENSE},   {STRIDED, STRIDED},  {MISALIGNED, MISALIGNED},
        {STRIDED, VIEW}, {DENSE, STRIDED}, {MISALIGNED, DENSE}, {DENSE, VIEW},
    };
    struct harness h;
    net_oracle(net);
    harness_open(&h, net);
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
        for (int t = 0; t < HARNESS_THREADS; t++) {
            char text[128];
            snprintf(text, sizeof text, "%s, %s, %s", name, ipex_isa_name(levels[l]), threads[t]);
            if (!ipex_isa_available(levels[l])) {
                printf("ok - %s # SKIP this machine has no %s\n", text, ipex_isa_name(levels[l]));
                continue;
            }
            harness_session(&h, levels[l], (enum harness_threads)t);
            bool right = true;
            for (size_t f = 0; right && f < sizeof forms / sizeof *forms; f++)
                right = harness_run(&h, net, forms[f][0], forms[f][1], tolerance);
            check(right, text, h.message);
        }
    harness_close(&h);
    net_free(net);
}
