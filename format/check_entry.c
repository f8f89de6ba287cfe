/* SPDX-License-Identifier: Apache-2.0 */
/* The checker's entry half: ports, labels, bands, symbols, known answers of one entry; tensors and
 * nodes are check_graph.c's. Rule numbers are those of format/FORMAT.md. */
#include "format/check_parts.h"
#include "format/tile.h"

typedef struct ipex_fb_port (*port_fn)(struct ipex_fb_entry entry, uint32_t i);

/* R32: a name of its own. */
static enum ipex_status check_port_name(const struct ipex_checked_entry *e, port_fn ports,
                                        uint32_t index) {
    struct ipex_fb_port port = ports(e->fb, index);
    const char *name = ipex_fb_port_name(port);
    uint32_t length = ipex_fb_port_name_len(port);
    IPEX_TRY(ipex_check_text(name, length, IPEX_PORT_NAME_MAX, "name", e->report));
    IPEX_CHECK(length > 0, e->report, IPEX_ERROR_MODEL_ENTRY, "a port has no name");
    for (uint32_t i = 0; i < index; i++) {
        struct ipex_fb_port other = ports(e->fb, i);
        IPEX_CHECK(ipex_fb_port_name_len(other) != length ||
                       memcmp(ipex_fb_port_name(other), name, length) != 0,
                   e->report, IPEX_ERROR_MODEL_ENTRY, "port %u has the same name", i);
    }
    return IPEX_OK;
}

static bool port_has_dims(const struct ipex_checked_entry *e, struct ipex_fb_port port,
                          const int64_t *dims, uint32_t rank) {
    if (ipex_fb_port_dims_len(port) != rank)
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t dim = 0;
        if (!ipex_dims_number(e->values, ipex_fb_port_dims(port)[i], &dim) || dim != dims[i])
            return false;
    }
    return true;
}

/* R32: an existing tensor, and that tensor's dims. */
static enum ipex_status check_port(const struct ipex_checked_entry *e, port_fn ports,
                                   uint32_t index, int32_t *ret_tensor) {
    struct ipex_fb_port port = ports(e->fb, index);
    uint32_t tensor = ipex_fb_port_tensor(port);
    if (!e->again)
        IPEX_TRY(check_port_name(e, ports, index));
    IPEX_CHECK(tensor < (uint32_t)e->tensors, e->report, IPEX_ERROR_MODEL_ENTRY,
               "tensor %u does not exist", tensor);
    const struct ipex_tensor_info *t = &e->tensor[tensor];
    IPEX_CHECK(port_has_dims(e, port, t->dims, t->rank), e->report, IPEX_ERROR_MODEL_ENTRY,
               "the dims are not those of tensor %u", tensor);
    IPEX_CHECK(t->weight < 0 && (t->halo[0] | t->halo[1] | t->halo[2] | t->halo[3]) == 0, e->report,
               IPEX_ERROR_MODEL_ENTRY, "tensor %u is a constant or has a halo", tensor);
    *ret_tensor = (int32_t)tensor;
    return IPEX_OK;
}

/* R33: an input is a storage of its own. */
static enum ipex_status check_input(struct ipex_checked_entry *e, uint32_t index) {
    int32_t tensor = 0;
    IPEX_TRY(check_port(e, ipex_fb_entry_inputs, index, &tensor));
    IPEX_CHECK(e->tensor[tensor].root == tensor, e->report, IPEX_ERROR_MODEL_ENTRY,
               "tensor %d is a view", tensor);
    IPEX_CHECK(!e->tensor[tensor].is_input, e->report, IPEX_ERROR_MODEL_ENTRY,
               "tensor %d is an input already", tensor);
    e->tensor[tensor].is_input = true;
    return IPEX_OK;
}

/* R34: an output is something that nodes write (check_graph.c looks at the writing). */
static enum ipex_status check_output(struct ipex_checked_entry *e, uint32_t index) {
    int32_t tensor = 0;
    IPEX_TRY(check_port(e, ipex_fb_entry_outputs, index, &tensor));
    struct ipex_tensor_info *root = &e->tensor[e->tensor[tensor].root];
    IPEX_CHECK(!root->is_input, e->report, IPEX_ERROR_MODEL_ENTRY,
               "tensor %d is an input, which no node writes", tensor);
    root->is_output = true;
    root->last = e->nodes;
    return IPEX_OK;
}

static enum ipex_status check_inputs(struct ipex_checked_entry *e) {
    uint32_t count = ipex_fb_entry_inputs_len(e->fb);
    IPEX_CHECK(count <= IPEX_PORTS_MAX, e->report, IPEX_ERROR_FILE_LIMIT, "%u inputs", count);
    for (uint32_t i = 0; i < count; i++) {
        enum ipex_status status = check_input(e, i);
        if (status != IPEX_OK)
            return ipex_fail_at(e->report, status, "input %u '%s': ", i,
                                ipex_fb_port_name(ipex_fb_entry_inputs(e->fb, i)));
    }
    return IPEX_OK;
}

static enum ipex_status check_outputs(struct ipex_checked_entry *e) {
    uint32_t count = ipex_fb_entry_outputs_len(e->fb);
    IPEX_CHECK(count <= IPEX_PORTS_MAX, e->report, IPEX_ERROR_FILE_LIMIT, "%u outputs", count);
    IPEX_CHECK(count > 0, e->report, IPEX_ERROR_MODEL_ENTRY, "no outputs");
    for (uint32_t i = 0; i < count; i++) {
        enum ipex_status status = check_output(e, i);
        if (status != IPEX_OK)
            return ipex_fail_at(e->report, status, "output %u '%s': ", i,
                                ipex_fb_port_name(ipex_fb_entry_outputs(e->fb, i)));
    }
    return IPEX_OK;
}

/* R35: none, or one per element of the first output's last axis. */
static enum ipex_status check_labels(const struct ipex_checked_entry *e) {
    uint32_t count = ipex_fb_entry_labels_len(e->fb);
    const struct ipex_tensor_info *t =
        &e->tensor[ipex_fb_port_tensor(ipex_fb_entry_outputs(e->fb, 0))];
    if (count == 0)
        return IPEX_OK;
    IPEX_CHECK(t->rank > 0 && t->dims[t->rank - 1] == count, e->report, IPEX_ERROR_MODEL_ENTRY,
               "%u labels are not one per class of the first output", count);
    for (uint32_t i = 0; i < count && !e->again; i++)
        IPEX_TRY(ipex_check_text(ipex_fb_entry_labels(e->fb, i),
                                 ipex_fb_entry_labels_length(e->fb, i), IPEX_TEXT_MAX, "a label",
                                 e->report));
    return IPEX_OK;
}

/* R36: ids of band groups ascend, so that each group is one run of neighbours. */
static enum ipex_status check_bands(const struct ipex_checked_entry *e) {
    uint32_t highest = 0, before = 0;
    for (int32_t i = 0; i < e->nodes; i++) {
        uint32_t band = ipex_fb_node_band(ipex_fb_entry_nodes(e->fb, (uint32_t)i));
        IPEX_CHECK(band == 0 || band == before || band > highest, e->report, IPEX_ERROR_MODEL_ENTRY,
                   "node %d: band group %u is torn apart or out of order", i, band);
        if (band > highest)
            highest = band;
        before = band;
    }
    return IPEX_OK;
}

/* R38: one tensor of an answer, as the port wants it but for its dims. */
static enum ipex_status check_answer_weight(const struct ipex_checked_entry *e, uint32_t weight,
                                            struct ipex_fb_port port) {
    const struct ipex_tensor_info *t = &e->tensor[ipex_fb_port_tensor(port)];
    IPEX_CHECK(weight < ipex_fb_model_weights_len(e->model), e->report, IPEX_ERROR_MODEL_ANSWER,
               "weight %u does not exist", weight);
    struct ipex_fb_weight w = ipex_fb_model_weights(e->model, weight);
    IPEX_CHECK(ipex_fb_weight_layout(w) == IPEX_LAYOUT_plain && ipex_weight_kind(e->model, w) == 1,
               e->report, IPEX_ERROR_MODEL_ANSWER,
               "weight %u is not plain or not in a section of known answers", weight);
    IPEX_CHECK(ipex_fb_weight_dtype(w) == t->dtype && ipex_fb_weight_dims_len(w) == t->rank,
               e->report, IPEX_ERROR_MODEL_ANSWER,
               "weight %u has not the dtype and rank of port '%s'", weight,
               ipex_fb_port_name(port));
    return IPEX_OK;
}

static enum ipex_status check_answer_dims(const struct ipex_checked_entry *e, uint32_t weight,
                                          struct ipex_fb_port port) {
    struct ipex_fb_weight w = ipex_fb_model_weights(e->model, weight);
    IPEX_CHECK(port_has_dims(e, port, ipex_fb_weight_dims(w), ipex_fb_weight_dims_len(w)),
               e->report, IPEX_ERROR_MODEL_ANSWER, "weight %u has not the dims of port '%s'",
               weight, ipex_fb_port_name(port));
    return IPEX_OK;
}

/* R38: the dims are those of the ports for the symbols that the inputs' dims give, as in a run. */
static enum ipex_status check_answer_shapes(const struct ipex_checked_entry *e,
                                            struct ipex_fb_answer a) {
    const int64_t *dims[IPEX_PORTS_MAX];
    int64_t symbols[IPEX_SYMBOLS_MAX], lo[IPEX_SYMBOLS_MAX], hi[IPEX_SYMBOLS_MAX];
    struct ipex_dim_values values;
    struct ipex_checked_entry at = *e;
    at.values = &values;
    ipex_dims_lowest(e->fb, lo);
    ipex_dims_highest(e->fb, hi);
    for (uint32_t i = 0; i < ipex_fb_answer_inputs_len(a); i++)
        dims[i] = ipex_fb_weight_dims(ipex_fb_model_weights(e->model, ipex_fb_answer_inputs(a)[i]));
    if (ipex_dims_bind(e->fb, dims, lo, hi, symbols, e->report) != IPEX_OK)
        return IPEX_ERROR_MODEL_ANSWER;
    IPEX_TRY(ipex_dims_evaluate(e->fb, symbols, &values, e->report));
    for (uint32_t i = 0; i < ipex_fb_answer_outputs_len(a); i++) {
        int32_t weight = ipex_fb_answer_outputs(a)[i];
        if (weight != -1)
            IPEX_TRY(check_answer_dims(&at, (uint32_t)weight, ipex_fb_entry_outputs(e->fb, i)));
    }
    return IPEX_OK;
}

static bool known_origin(const char *origin) {
    static const char *const origins[] = {"given", "upstream", "onnxruntime", "torch", "self"};
    for (unsigned i = 0; i < sizeof origins / sizeof origins[0]; i++)
        if (strcmp(origin, origins[i]) == 0)
            return true;
    return false;
}

/* R37: all inputs, and at least one output. */
static enum ipex_status check_answer(const struct ipex_checked_entry *e, struct ipex_fb_answer a) {
    uint32_t inputs = ipex_fb_answer_inputs_len(a), outputs = ipex_fb_answer_outputs_len(a);
    uint32_t given = 0;
    IPEX_TRY(ipex_check_text(ipex_fb_answer_origin(a), ipex_fb_answer_origin_len(a), IPEX_TEXT_MAX,
                             "origin", e->report));
    IPEX_CHECK(known_origin(ipex_fb_answer_origin(a)), e->report, IPEX_ERROR_MODEL_ANSWER,
               "unknown origin");
    IPEX_CHECK(inputs == ipex_fb_entry_inputs_len(e->fb) &&
                   outputs == ipex_fb_entry_outputs_len(e->fb),
               e->report, IPEX_ERROR_MODEL_ANSWER, "not one tensor per port");
    for (uint32_t i = 0; i < inputs; i++)
        IPEX_TRY(
            check_answer_weight(e, ipex_fb_answer_inputs(a)[i], ipex_fb_entry_inputs(e->fb, i)));
    for (uint32_t i = 0; i < outputs; i++) {
        int32_t weight = ipex_fb_answer_outputs(a)[i];
        if (weight == -1)
            continue;
        given++;
        IPEX_TRY(check_answer_weight(e, (uint32_t)weight, ipex_fb_entry_outputs(e->fb, i)));
    }
    IPEX_CHECK(given > 0, e->report, IPEX_ERROR_MODEL_ANSWER, "no output is given");
    return check_answer_shapes(e, a);
}

enum ipex_status ipex_check_answers(const struct ipex_checked_entry *e) {
    for (uint32_t i = 0; i < ipex_fb_entry_answers_len(e->fb); i++) {
        enum ipex_status status = check_answer(e, ipex_fb_entry_answers(e->fb, i));
        if (status != IPEX_OK)
            return ipex_fail_at(e->report, status, "answer %u: ", i);
    }
    return IPEX_OK;
}

enum ipex_status ipex_check_entry_records(const struct ipex_checked_entry *e) {
    uint8_t arithmetic = ipex_fb_entry_arithmetic(e->fb);
    IPEX_CHECK(arithmetic == IPEX_ARITHMETIC_AUTO || ipex_arithmetic_name(arithmetic), e->report,
               IPEX_ERROR_MODEL_ENTRY, "arithmetic %u is unknown", (unsigned)arithmetic); /* R39 */
    IPEX_TRY(check_bands(e));
    return ipex_dims_check(e->fb, e->report);
}

enum ipex_status ipex_check_entry_dims(struct ipex_checked_entry *e) {
    IPEX_TRY(ipex_check_tensors(e));
    IPEX_TRY(check_inputs(e));
    IPEX_TRY(ipex_check_nodes(e));
    IPEX_TRY(check_outputs(e));
    IPEX_TRY(ipex_check_storages(e));
    return check_labels(e);
}
