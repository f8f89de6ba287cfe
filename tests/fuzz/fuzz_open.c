/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: whatever the metadata says, opening it gives a status, and what opens runs without
 * touching memory that is not its own (the sanitizers watch), without depending on what memory held
 * before, and with the same bits at every level.
 *
 * An input is the metadata of a file. Its digest is made right, and the data that the header speaks
 * of is made up, so that inputs are small and changes go where they matter. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/check.h"
#include "runtime/ipex.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"

#define FILE_MOST    ((size_t)2 << 20) /* larger files are opened without their data, and refused */
#define MEMORY_MOST  ((size_t)64 << 20) /* of a session; what wants more is not run */
#define FLOPS_MOST   100000000
#define BYTES_MOST   100000000
#define PORTS_MOST   32
#define TENSORS_MOST ((size_t)16 << 20) /* bytes of all ports together */

struct fuzz_counts fuzz_counts;

static void broken(const char *promise) {
    fprintf(stderr, "fuzz_open: broken promise: %s\n", promise);
    abort();
}

/* Exactly as large as asked for, so that the sanitizer sees the first byte too far. */
static void *block(size_t alignment, size_t size) {
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, size) != 0)
        exit(1);
    return memory;
}

static void fill_floats(uint8_t *bytes, size_t size, uint32_t state) {
    for (size_t i = 0; i + 4 <= size; i += 4) {
        state = state * 1664525 + 1013904223;
        float value = (float)(int32_t)state / 2147483648.0f;
        memcpy(bytes + i, &value, sizeof value);
    }
}

/* ---- the file ---- */

static uint8_t *make_file(const uint8_t *data, size_t size, size_t *ret_size) {
    static uint8_t *floats;
    uint64_t file_size = 0;
    if (!floats) {
        floats = malloc(FILE_MOST);
        fill_floats(floats, FILE_MOST, 1);
    }
    if (size >= IPEX_HEADER_SIZE)
        memcpy(&file_size, data + 24, sizeof file_size);
    *ret_size = file_size < size || file_size > FILE_MOST ? size : (size_t)file_size;
    uint8_t *file = block(4096, *ret_size);
    memcpy(file, data, size);
    memcpy(file + size, floats, *ret_size - size);
    mutate_repair(file, size);
    return file;
}

/* ---- tensors of the caller ---- */

struct tensors {
    struct ipex_tensor input[PORTS_MOST], output[PORTS_MOST];
    size_t inputs, outputs, bytes;
};

/* Which sizes an entry with symbols is run at. */
enum sizes { LOWEST, HIGHEST, BETWEEN, SIZES };

static bool make_tensor(struct tensors *t, const struct ipex_port *port, enum sizes sizes,
                        struct ipex_tensor *ret, uint32_t seed) {
    size_t bytes = ipex_dtype_size(port->dtype);
    int64_t dims[IPEX_RANK_MAX] = {0};
    for (int32_t i = 0; i < port->rank; i++) {
        dims[i] = sizes == LOWEST    ? port->dims[i]
                  : sizes == HIGHEST ? port->max_dims[i]
                                     : (port->dims[i] + port->max_dims[i]) / 2;
        if (__builtin_mul_overflow(bytes, (size_t)dims[i], &bytes) || bytes > TENSORS_MOST)
            return false;
    }
    t->bytes += bytes;
    if (t->bytes > TENSORS_MOST)
        return false;
    *ret = (struct ipex_tensor){.data = block(64, bytes), .dtype = port->dtype, .rank = port->rank};
    memcpy(ret->dims, dims, sizeof ret->dims);
    memset(ret->data, 0x11, bytes);
    fill_floats(ret->data, bytes, seed);
    return true;
}

static bool make_tensors(struct tensors *t, const struct ipex_image *image, const char *entry,
                         enum sizes sizes) {
    struct ipex_port port;
    *t = (struct tensors){0};
    if (ipex_image_input_count(image, entry) > PORTS_MOST ||
        ipex_image_output_count(image, entry) > PORTS_MOST)
        return false;
    for (; ipex_image_input(image, entry, t->inputs, &port) == IPEX_OK; t->inputs++)
        if (!make_tensor(t, &port, sizes, &t->input[t->inputs], (uint32_t)t->inputs + 7))
            return false;
    for (; ipex_image_output(image, entry, t->outputs, &port) == IPEX_OK; t->outputs++)
        if (!make_tensor(t, &port, sizes, &t->output[t->outputs], 3))
            return false;
    return true;
}

static void free_tensors(struct tensors *t) {
    for (size_t i = 0; i < PORTS_MOST; i++) {
        free(t->input[i].data);
        free(t->output[i].data);
    }
}

/* Equal elements; a NaN equals any other. */
static bool same(const struct ipex_tensor *a, const struct ipex_tensor *b) {
    size_t numel = 1, size = ipex_dtype_size(a->dtype);
    for (int32_t i = 0; i < a->rank; i++)
        numel *= (size_t)a->dims[i];
    if (a->dtype != IPEX_DTYPE_f32)
        return memcmp(a->data, b->data, numel * size) == 0;
    for (size_t i = 0; i < numel; i++) {
        float x = ((const float *)a->data)[i], y = ((const float *)b->data)[i];
        bool both_nan = x != x && y != y;
        if (!both_nan && memcmp(&x, &y, sizeof x) != 0)
            return false;
    }
    return true;
}

/* ---- sessions ---- */

struct session {
    struct ipex_session *session;
    void *memory;
};

static bool start(struct session *s, const struct ipex_image *image, const char *entry,
                  enum ipex_isa isa, int garbage) {
    char message[256] = "";
    const struct ipex_session_options options = {.size_of_struct = sizeof options,
                                                 .entry = entry,
                                                 .isa = isa,
                                                 .message = message,
                                                 .message_size = sizeof message};
    struct ipex_requirements need;
    *s = (struct session){0};
    if (ipex_session_measure(image, &options, &need) != IPEX_OK) {
        if (!message[0])
            broken("a refused session has a message");
        return false;
    }
    if (need.memory > MEMORY_MOST)
        return false;
    s->memory = block(IPEX_MEMORY_ALIGN, need.memory);
    memset(s->memory, garbage, need.memory);
    if (ipex_session_init(&s->session, image, &options, s->memory, need.memory) != IPEX_OK)
        broken("a session fits the memory that was measured");
    return true;
}

static void end(struct session *s) {
    ipex_session_finish(s->session);
    free(s->memory);
}

static bool affordable(const struct session *s, const char *entry) {
    struct ipex_step_info step;
    int64_t flops = 0, bytes = 0;
    for (size_t i = 0; ipex_session_step(s->session, entry, i, &step) == IPEX_OK; i++)
        if (step.flops < 0 || __builtin_add_overflow(flops, step.flops, &flops) || step.bytes < 0 ||
            __builtin_add_overflow(bytes, step.bytes, &bytes))
            return false;
    return flops <= FLOPS_MOST && bytes <= BYTES_MOST;
}

/* Between the ends of their ranges, symbols may give shapes that do not fit together: then the run
 * says so. */
static enum ipex_status run(const struct session *s, const char *entry, struct tensors *t,
                            enum sizes sizes) {
    const enum ipex_status status =
        ipex_run(s->session, entry, t->input, t->inputs, t->output, t->outputs);
    if (status != IPEX_OK && (sizes != BETWEEN || status != IPEX_ERROR_SHAPE))
        broken("what could be initialised runs");
    return status;
}

/* Twice: by the reference into the caller's memory, at the best level into the session's own. */
static void run_at(const struct session *plain, const struct session *best,
                   const struct ipex_image *image, const char *entry, enum sizes sizes) {
    struct tensors t, again;
    if (make_tensors(&t, image, entry, sizes)) {
        again = t;
        for (size_t i = 0; i < again.outputs; i++)
            again.output[i].data = NULL;
        if (sizes == BETWEEN) {
            struct tensors views = again; /* nobody has said what dims the outputs have */
            if (run(plain, entry, &views, sizes) != run(best, entry, &again, sizes))
                broken("the same sizes run at every level");
        } else {
            run(plain, entry, &t, sizes);
            run(best, entry, &again, sizes);
            for (size_t i = 0; i < t.outputs; i++)
                if (!same(&t.output[i], &again.output[i]))
                    broken("the same bits at every level, whatever the memory held before");
        }
        fuzz_counts.run++;
    }
    free_tensors(&t);
}

static void run_entry(const struct ipex_image *image, const char *entry) {
    struct session plain, best;
    if (!start(&plain, image, entry, IPEX_ISA_reference, 0xff))
        return;
    if (affordable(&plain, entry)) {
        if (!start(&best, image, entry, IPEX_ISA_AUTO, 0x3e))
            broken("a session that the reference has is there at every level");
        const int last = ipex_image_symbol_count(image, entry) > 0 ? SIZES : HIGHEST;
        for (int sizes = LOWEST; sizes < last; sizes++)
            run_at(&plain, &best, image, entry, (enum sizes)sizes);
        end(&best);
    }
    end(&plain);
}

static void use(const struct ipex_image *image) {
    fuzz_counts.opened++;
    for (size_t i = 0; i < ipex_image_entry_count(image); i++) {
        const char *entry = ipex_image_entry_name(image, i);
        for (size_t k = 0; k < ipex_image_label_count(image, entry); k++)
            if (strlen(ipex_image_label(image, entry, k)) > IPEX_TEXT_MAX)
                broken("labels are short texts");
        run_entry(image, entry);
    }
    (void)ipex_image_metadata(image, "author");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char message[256] = "";
    const struct ipex_image_options options = {
        .size_of_struct = sizeof options, .message = message, .message_size = sizeof message};
    struct ipex_image *image = NULL;
    size_t file_size, need = 0;
    uint8_t *file = make_file(data, size, &file_size);
    fuzz_counts.inputs++;
    enum ipex_status status = ipex_image_measure_memory(file, file_size, &options, &need);
    if (status == IPEX_OK) {
        void *memory = block(IPEX_MEMORY_ALIGN, need);
        memset(memory, 0xa5, need);
        status = ipex_image_from_memory(&image, file, file_size, memory, need, &options);
        if (status == IPEX_OK)
            use(image);
        ipex_image_close(image);
        free(memory);
    }
    if (status != IPEX_OK && !message[0])
        broken("a refused file has a message");
    free(file);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    (void)max_size;
    uint8_t *aligned = block(64, size + 1);
    memcpy(aligned, data, size);
    mutate_metadata(aligned, size, seed, seed % 16 == 0);
    memcpy(data, aligned, size);
    free(aligned);
    return size;
}
