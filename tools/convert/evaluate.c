/* SPDX-License-Identifier: Apache-2.0 */
/* Lower, write to an unnamed file, open, one session at the reference level for the sizes of the
 * run, run. */
#include "tools/convert/evaluate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/convert/write.h"

static enum ipex_status write_fd(void *user, const void *bytes, size_t size, uint64_t offset,
                                 const struct ipex_report *report) {
    int fd = *(int *)user;
    for (const char *at = bytes; size;) {
        ssize_t n = pwrite(fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        IPEX_CHECK(n > 0, report, IPEX_ERROR_FILE_IO, "cannot write a temporary file: %s",
                   strerror(errno));
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return IPEX_OK;
}

static enum ipex_status open_image(struct ipex_evaluator *e, int fd,
                                   const struct ipex_report *report) {
    size_t size;
    struct ipex_image_options options = {
        .size_of_struct = sizeof options, .message = report->text, .message_size = report->size};
    IPEX_TRY(ipex_image_measure_fd(fd, &options, &size));
    e->image_memory = ipex_alloc_aligned(IPEX_MEMORY_ALIGN, size);
    return ipex_image_from_fd(&e->image, fd, e->image_memory, size, &options);
}

static void end_session(struct ipex_evaluator *e) {
    ipex_session_finish(e->session);
    free(e->session_memory);
    e->session = NULL;
    e->session_memory = NULL;
}

static enum ipex_status start_session(struct ipex_evaluator *e, const struct ipex_dim_range *range,
                                      size_t ranges, const struct ipex_report *report) {
    struct ipex_requirements need;
    struct ipex_session_options options = {.size_of_struct = sizeof options,
                                           .isa = IPEX_ISA_reference,
                                           .dims = range,
                                           .n_dims = ranges,
                                           .message = report->text,
                                           .message_size = report->size};
    IPEX_TRY(ipex_session_measure(e->image, &options, &need));
    e->session_memory = ipex_alloc_aligned(IPEX_MEMORY_ALIGN, need.memory);
    return ipex_session_init(&e->session, e->image, &options, e->session_memory, need.memory);
}

enum ipex_status ipex_evaluator_open(struct ipex_evaluator *ret, struct ipex_graph *graph,
                                     const struct ipex_report *report) {
    struct ipex_plan plan;
    struct ipex_written written;
    struct ipex_evaluator e = {0};
    FILE *file = tmpfile();
    IPEX_CHECK(file, report, IPEX_ERROR_FILE_IO, "cannot make a temporary file: %s",
               strerror(errno));
    int fd = fileno(file);
    ipex_lower(graph, &plan);
    const struct ipex_write_entry entry = {.name = "main", .plan = &plan};
    struct ipex_write write = {.entry = &entry, .entries = 1, .source = "", .options = ""};
    enum ipex_status status = ipex_write(&write, write_fd, &fd, &written, report);
    ipex_plan_finish(&plan);
    if (status == IPEX_OK)
        status = open_image(&e, fd, report);
    fclose(file);
    if (status != IPEX_OK)
        ipex_evaluator_close(&e);
    else
        *ret = e;
    return status;
}

/* A session for these sizes, if there is none for them yet. */
static enum ipex_status prepare(struct ipex_evaluator *e, const struct ipex_graph *graph,
                                const int64_t *symbols, const struct ipex_report *report) {
    const size_t count = symbols ? graph->dims.symbols : 0;
    if (e->session && !count)
        return IPEX_OK;
    end_session(e);
    struct ipex_dim_range *range = ipex_alloc((count + 1) * sizeof *range);
    for (size_t i = 0; i < count; i++)
        range[i] = (struct ipex_dim_range){
            .symbol = graph->dims.symbol[i].name, .lo = symbols[i], .hi = symbols[i]};
    const enum ipex_status status = start_session(e, range, count, report);
    free(range);
    return status;
}

static void describe(struct ipex_tensor *tensor, const struct ipex_graph *graph,
                     const struct ipex_value *value, const int64_t *symbols, void *data) {
    *tensor = (struct ipex_tensor){.data = data, .dtype = value->dtype, .rank = value->rank};
    for (int32_t i = 0; i < value->rank; i++)
        tensor->dims[i] =
            symbols ? ipex_dim_value(&graph->dims, value->dims[i], symbols) : value->dims[i];
}

enum ipex_status ipex_evaluator_run(struct ipex_evaluator *evaluator,
                                    const struct ipex_graph *graph, const int64_t *symbols,
                                    void *const *inputs, void *const *outputs,
                                    const struct ipex_report *report) {
    IPEX_TRY(prepare(evaluator, graph, symbols, report));
    struct ipex_tensor *tensor = ipex_alloc((graph->inputs + graph->outputs + 1) * sizeof *tensor);
    for (size_t i = 0; i < graph->inputs; i++)
        describe(&tensor[i], graph, graph->input[i], symbols, inputs[i]);
    for (size_t i = 0; i < graph->outputs; i++)
        describe(&tensor[graph->inputs + i], graph, graph->output[i], symbols, outputs[i]);
    enum ipex_status status = ipex_run(evaluator->session, NULL, tensor, graph->inputs,
                                       tensor + graph->inputs, graph->outputs);
    if (status != IPEX_OK)
        (void)ipex_fail(report, status, "%s", ipex_session_message(evaluator->session));
    free(tensor);
    return status;
}

void ipex_evaluator_close(struct ipex_evaluator *evaluator) {
    end_session(evaluator);
    ipex_image_close(evaluator->image);
    free(evaluator->image_memory);
    *evaluator = (struct ipex_evaluator){0};
}
