/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's tensors: matched to ports, checked, their sizes bound, used in place where they are
 * plain, copied where they are not. */
#include <string.h>

#include "runtime/loops.h"
#include "runtime/session.h"
#include "runtime/sizes.h"

/* ---- matching ---- */

static struct ipex_report report_of(struct ipex_session *session) {
    return (struct ipex_report){.text = session->message, .size = sizeof session->message};
}

/* Writes "1x3x224x224"; "scalar" for rank 0. */
static void dims_text(const int64_t *dims, int32_t rank, char *text, size_t size) {
    const struct ipex_report whole = {.text = text, .size = size};
    if (rank <= 0)
        (void)ipex_fail(&whole, IPEX_OK, "scalar");
    for (int32_t d = 0, used = 0; d < rank; d++) {
        const struct ipex_report rest = {.text = text + used, .size = size - (size_t)used};
        (void)ipex_fail(&rest, IPEX_OK, d > 0 ? "x%lld" : "%lld", (long long)dims[d]);
        used += (int32_t)strlen(rest.text);
    }
}

static bool same_dims(const struct ipex_tensor *tensor, const struct ipex_tensor_info *info) {
    if (tensor->rank != info->rank)
        return false;
    for (int32_t d = 0; d < info->rank; d++)
        if (tensor->dims[d] != info->dims[d])
            return false;
    return true;
}

static bool is_aligned(const struct ipex_tensor *tensor) {
    return (uintptr_t)tensor->data % ipex_dtype_size(tensor->dtype) == 0;
}

/* What does not depend on sizes. */
static enum ipex_status check_form(const struct ipex_report *report, const char *kind,
                                   const struct ipex_plan_port *port,
                                   const struct ipex_tensor *tensor) {
    if (tensor->dtype != (enum ipex_dtype)port->info->dtype) {
        const char *name = ipex_dtype_name(tensor->dtype);
        return ipex_fail(report, IPEX_ERROR_DTYPE, "%s '%s' is %s, %s given", kind, port->name,
                         ipex_dtype_name((enum ipex_dtype)port->info->dtype),
                         name != NULL ? name : "no data type");
    }
    IPEX_CHECK(tensor->rank >= 0 && tensor->rank <= IPEX_RANK_MAX, report, IPEX_ERROR_SHAPE,
               "%s '%s': rank %d given", kind, port->name, (int)tensor->rank);
    /* Elements that are not aligned are copied as bytes, one dim more. */
    IPEX_CHECK(is_aligned(tensor) || tensor->rank < IPEX_RANK_MAX, report, IPEX_ERROR_ARGUMENT,
               "%s '%s' of rank %d must be aligned to its elements", kind, port->name,
               IPEX_RANK_MAX);
    return IPEX_OK;
}

/* The dims of a tensor with data are the port's. */
static enum ipex_status check_dims(const struct ipex_report *report, const char *kind,
                                   const struct ipex_plan_port *port,
                                   const struct ipex_tensor *tensor) {
    char want[96], have[96];
    if (same_dims(tensor, port->info))
        return IPEX_OK;
    dims_text(port->info->dims, port->info->rank, want, sizeof want);
    dims_text(tensor->dims, tensor->rank, have, sizeof have);
    return ipex_fail(report, IPEX_ERROR_SHAPE, "%s '%s' has shape %s, %s given", kind, port->name,
                     want, have);
}

/* The port that tensor `index` of the call means. */
static enum ipex_status find_port(const struct ipex_report *report, const char *kind,
                                  struct ipex_plan_port *ports, int32_t count, size_t index,
                                  const char *name, struct ipex_plan_port **ret) {
    struct ipex_plan_port *port = NULL;
    if (name == NULL && index < (size_t)count)
        port = &ports[index];
    for (int32_t i = 0; name != NULL && i < count; i++)
        if (strcmp(ports[i].name, name) == 0)
            port = &ports[i];
    if (port == NULL)
        return name != NULL
                   ? ipex_fail(report, IPEX_ERROR_NOT_FOUND, "there is no %s '%s'", kind, name)
                   : ipex_fail(report, IPEX_ERROR_ARGUMENT,
                               "more %ss given than the entry has (%d)", kind, (int)count);
    IPEX_CHECK(port->given == NULL, report, IPEX_ERROR_ARGUMENT, "%s '%s' is given twice", kind,
               port->name);
    *ret = port;
    return IPEX_OK;
}

static enum ipex_status match_inputs(const struct ipex_report *report, struct ipex_plan *plan,
                                     const struct ipex_tensor *inputs, size_t count) {
    const int32_t ports = plan->entry->inputs;
    for (int32_t i = 0; i < ports; i++)
        plan->input[i].given = NULL;
    for (size_t i = 0; i < count; i++) {
        struct ipex_plan_port *port = NULL;
        IPEX_TRY(find_port(report, "input", plan->input, ports, i, inputs[i].name, &port));
        IPEX_TRY(check_form(report, "input", port, &inputs[i]));
        IPEX_CHECK(inputs[i].data != NULL, report, IPEX_ERROR_ARGUMENT, "input '%s' has no data",
                   port->name);
        port->given = (struct ipex_tensor *)(uintptr_t)&inputs[i]; /* only read */
    }
    for (int32_t i = 0; i < ports; i++)
        IPEX_CHECK(plan->input[i].given != NULL, report, IPEX_ERROR_ARGUMENT,
                   "input '%s' is not given", plan->input[i].name);
    return IPEX_OK;
}

/* Binds the plan to the sizes that the inputs' dims say, where they are others than before. */
static enum ipex_status bind_sizes(const struct ipex_report *report, struct ipex_plan *plan) {
    const int64_t *dims[IPEX_PORTS_MAX];
    int64_t symbols[IPEX_SYMBOLS_MAX];
    const struct ipex_plan_sizes *sizes = plan->sizes;
    for (int32_t i = 0; i < plan->entry->inputs; i++) {
        const struct ipex_plan_port *port = &plan->input[i];
        IPEX_CHECK(port->given->rank == port->info->rank, report, IPEX_ERROR_SHAPE,
                   "input '%s' has %d dims, %d given", port->name, (int)port->info->rank,
                   (int)port->given->rank);
        dims[i] = port->given->dims;
    }
    IPEX_TRY(ipex_dims_bind(plan->entry->fb, dims, sizes->lo, sizes->hi, symbols, report));
    return ipex_sizes_bind(plan, symbols, report);
}

static enum ipex_status check_input_dims(const struct ipex_report *report,
                                         const struct ipex_plan *plan) {
    for (int32_t i = 0; i < plan->entry->inputs; i++)
        IPEX_TRY(check_dims(report, "input", &plan->input[i], plan->input[i].given));
    return IPEX_OK;
}

static enum ipex_status match_outputs(const struct ipex_report *report, struct ipex_plan *plan,
                                      struct ipex_tensor *outputs, size_t count) {
    const int32_t ports = plan->entry->outputs;
    for (int32_t i = 0; i < ports; i++)
        plan->output[i].given = NULL;
    for (size_t i = 0; i < count; i++) {
        struct ipex_plan_port *port = NULL;
        IPEX_TRY(find_port(report, "output", plan->output, ports, i, outputs[i].name, &port));
        if (outputs[i].data != NULL) {
            IPEX_TRY(check_form(report, "output", port, &outputs[i]));
            IPEX_TRY(check_dims(report, "output", port, &outputs[i]));
        }
        port->given = &outputs[i];
    }
    return IPEX_OK;
}

enum ipex_status ipex_ports_match(struct ipex_session *session, struct ipex_plan *plan,
                                  const struct ipex_tensor *inputs, size_t n_inputs,
                                  struct ipex_tensor *outputs, size_t n_outputs) {
    const struct ipex_report report = report_of(session);
    IPEX_CHECK((inputs != NULL || n_inputs == 0) && (outputs != NULL || n_outputs == 0), &report,
               IPEX_ERROR_ARGUMENT, "inputs or outputs are NULL");
    IPEX_TRY(match_inputs(&report, plan, inputs, n_inputs));
    if (plan->sizes != NULL)
        IPEX_TRY(bind_sizes(&report, plan));
    IPEX_TRY(check_input_dims(&report, plan));
    return match_outputs(&report, plan, outputs, n_outputs);
}

/* ---- copying ---- */

/* Strides of a caller's tensor, the default filled in. True when it is plain row-major. */
static bool plain_strides(const struct ipex_tensor *tensor, int64_t *ret) {
    bool none = true, plain = true;
    int64_t stride = 1;
    for (int32_t d = 0; d < tensor->rank; d++)
        none = none && tensor->strides[d] == 0;
    for (int32_t d = tensor->rank - 1; d >= 0; d--) {
        ret[d] = none ? stride : tensor->strides[d];
        plain = plain && (ret[d] == stride || tensor->dims[d] == 1);
        stride *= tensor->dims[d];
    }
    return plain;
}

/* Whether steps can use the caller's memory as the port's storage. */
static bool usable_in_place(const struct ipex_plan_port *port) {
    int64_t strides[IPEX_RANK_MAX];
    return port->direct && port->given != NULL && port->given->data != NULL &&
           plain_strides(port->given, strides) && is_aligned(port->given);
}

/* Elements that are not aligned are moved as bytes. */
static void as_bytes(struct ipex_loops *loops, int32_t size) {
    for (int32_t o = 0; o < loops->operands; o++) {
        for (int32_t d = 0; d < loops->rank; d++)
            loops->stride[o][d] *= size;
        loops->stride[o][loops->rank] = 1;
    }
    loops->dims[loops->rank++] = size;
}

/* Copies between a caller's tensor and the port's own place. */
static void copy_port(const struct ipex_session *session, const struct ipex_plan_port *port,
                      const void *x, const int64_t *x_stride, void *y, const int64_t *y_stride) {
    const struct ipex_tensor_info *info = port->info;
    struct ipex_loops loops = {.rank = info->rank, .operands = 2};
    memcpy(loops.dims, info->dims, sizeof loops.dims);
    memcpy(loops.stride[0], x_stride, (size_t)info->rank * sizeof *x_stride);
    memcpy(loops.stride[1], y_stride, (size_t)info->rank * sizeof *y_stride);
    ipex_loops_collapse(&loops, 0, 16384);
    int32_t size = (int32_t)ipex_dtype_size((enum ipex_dtype)info->dtype);
    if (!is_aligned(port->given)) {
        as_bytes(&loops, size);
        size = 1;
    }
    struct ipex_move_args args = {.x = x, .y = y, .rank = loops.rank, .size = size};
    memcpy(args.dims, loops.dims, sizeof args.dims);
    memcpy(args.x_stride, loops.stride[0], sizeof args.x_stride);
    memcpy(args.y_stride, loops.stride[1], sizeof args.y_stride);
    const bool alone = ipex_info_numel(info) < 1 << 18;
    ipex_team_do(&session->team, (ipex_kernel_fn)session->setup.kernels.move, &args, args.dims[0],
                 1, alone);
}

static uint8_t *port_address(const struct ipex_plan *plan, const struct ipex_plan_port *port) {
    return plan->storage[port->root].base +
           port->info->offset * (int64_t)ipex_dtype_size((enum ipex_dtype)port->info->dtype);
}

/* ---- before and after the steps ---- */

static void begin_input(struct ipex_session *session, struct ipex_plan *plan,
                        const struct ipex_plan_port *port) {
    if (usable_in_place(port)) {
        ipex_plan_move_storage(plan, port->root, port->given->data);
        return;
    }
    ipex_plan_move_storage(plan, port->root, plan->storage[port->root].arena);
    int64_t strides[IPEX_RANK_MAX];
    (void)plain_strides(port->given, strides);
    copy_port(session, port, port->given->data, strides, port_address(plan, port),
              port->info->strides);
}

void ipex_ports_begin(struct ipex_session *session, struct ipex_plan *plan) {
    for (int32_t i = 0; i < plan->entry->inputs; i++)
        begin_input(session, plan, &plan->input[i]);
    for (int32_t i = 0; i < plan->entry->outputs; i++) {
        const struct ipex_plan_port *port = &plan->output[i];
        if (port->direct)
            ipex_plan_move_storage(plan, port->root,
                                   usable_in_place(port) ? port->given->data
                                                         : plan->storage[port->root].arena);
    }
}

static void end_output(const struct ipex_session *session, const struct ipex_plan *plan,
                       const struct ipex_plan_port *port) {
    struct ipex_tensor *given = port->given;
    uint8_t *address = port_address(plan, port);
    int64_t strides[IPEX_RANK_MAX];
    if (given->data == NULL) {
        given->data = address;
        given->dtype = (enum ipex_dtype)port->info->dtype;
        given->rank = port->info->rank;
        memcpy(given->dims, port->info->dims, sizeof given->dims);
        memcpy(given->strides, port->info->strides, sizeof given->strides);
        return;
    }
    if (given->data == address && usable_in_place(port))
        return;
    (void)plain_strides(given, strides);
    copy_port(session, port, address, port->info->strides, given->data, strides);
}

void ipex_ports_end(struct ipex_session *session, struct ipex_plan *plan) {
    for (int32_t i = 0; i < plan->entry->outputs; i++)
        if (plan->output[i].given != NULL)
            end_output(session, plan, &plan->output[i]);
}
