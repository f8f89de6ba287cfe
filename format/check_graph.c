/* SPDX-License-Identifier: Apache-2.0 */
/* The checker's graph half: resolves tensors (strides, halos, views), checks every node's operands
 * and shapes, and proves that everything read has been written. Rule numbers are those of
 * format/FORMAT.md.
 *
 * Caps come first: every dim is below 2^31 and every storage, halo included, holds at most 2^40
 * elements, so strides, offsets and starts inside a storage cannot overflow an int64. */
#include "format/check_parts.h"
#include "format/ops.h"
#include "format/tile.h"

enum { ALL_OF_ROOT = -1, OTHER_VIEW = -2 }; /* ipex_tensor_info.slice_axis */

static bool has_halo(const struct ipex_tensor_info *t) {
    return (t->halo[0] | t->halo[1] | t->halo[2] | t->halo[3]) != 0;
}

/* At most 2^40: checked with the dims. */
static int64_t numel_of(const struct ipex_tensor_info *t) {
    int64_t numel = 1;
    for (int i = 0; i < t->rank; i++)
        numel *= t->dims[i];
    return numel;
}

/* ---- tensors ---- */

static void set_dense_strides(struct ipex_tensor_info *t) {
    int64_t stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        t->strides[i] = stride;
        stride *= t->dims[i];
    }
    t->dense = true;
}

/* Row-major without gaps; the stride of an axis of one element does not matter. */
static bool is_dense(const struct ipex_tensor_info *t) {
    int64_t stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->dims[i] != 1 && t->strides[i] != stride)
            return false;
        stride *= t->dims[i];
    }
    return !has_halo(t);
}

/* R41: dtype and dims. */
static enum ipex_status read_dims(const struct ipex_checked_entry *e, struct ipex_tensor_info *t,
                                  struct ipex_fb_tensor fb) {
    const struct ipex_report *report = e->report;
    uint32_t rank = ipex_fb_tensor_dims_len(fb);
    int64_t numel = 0;
    t->dtype = ipex_fb_tensor_dtype(fb);
    IPEX_CHECK(ipex_dtype_size(t->dtype) > 0, report, IPEX_ERROR_MODEL_TENSOR,
               "dtype %u is unknown", (unsigned)t->dtype);
    IPEX_CHECK(rank <= IPEX_MAX_RANK, report, IPEX_ERROR_MODEL_TENSOR, "rank %u", rank);
    t->rank = (uint8_t)rank;
    for (uint32_t i = 0; i < rank; i++) {
        IPEX_CHECK(ipex_dims_number(e->values, ipex_fb_tensor_dims(fb)[i], &t->dims[i]), report,
                   IPEX_ERROR_MODEL_TENSOR, "dim %u is an expression that does not exist", i);
        IPEX_CHECK(t->dims[i] >= 1 && t->dims[i] <= IPEX_MAX_DIM, report, IPEX_ERROR_MODEL_TENSOR,
                   "dim %u is %lld", i, (long long)t->dims[i]);
    }
    IPEX_CHECK(ipex_numel(t->dims, rank, &numel), report, IPEX_ERROR_MODEL_TENSOR,
               "too many elements");
    return IPEX_OK;
}

/* R42: a halo lies around the images of a tensor [N][H][W][C] of f32, bf16 or u8; of u8 it may hold
 * another byte than 0. */
static enum ipex_status read_halo(struct ipex_tensor_info *t, struct ipex_fb_tensor fb,
                                  const struct ipex_report *report) {
    uint32_t sides = ipex_fb_tensor_halo_len(fb);
    IPEX_CHECK(sides == 0 || sides == 4, report, IPEX_ERROR_MODEL_TENSOR, "a halo of %u sides",
               sides);
    for (uint32_t i = 0; i < sides; i++) {
        t->halo[i] = ipex_fb_tensor_halo(fb)[i];
        IPEX_CHECK(t->halo[i] <= IPEX_HALO_MAX, report, IPEX_ERROR_MODEL_TENSOR,
                   "a halo of %u; at most %u", (unsigned)t->halo[i], (unsigned)IPEX_HALO_MAX);
    }
    const bool u8 = t->dtype == IPEX_DTYPE_u8;
    const bool may =
        t->rank == 4 && (t->dtype == IPEX_DTYPE_f32 || t->dtype == IPEX_DTYPE_bf16 || u8);
    IPEX_CHECK(!has_halo(t) || may, report, IPEX_ERROR_MODEL_TENSOR,
               "only f32, bf16 and u8 tensors of rank 4 have a halo");
    t->halo_value = ipex_fb_tensor_halo_value(fb);
    IPEX_CHECK(t->halo_value == 0 || (u8 && has_halo(t)), report, IPEX_ERROR_MODEL_TENSOR,
               "halo_value without a halo of u8");
    return IPEX_OK;
}

/* R43: constants lie in weight sections, as their weight says. */
static enum ipex_status resolve_constant(const struct ipex_checked_entry *e,
                                         struct ipex_tensor_info *t) {
    IPEX_CHECK((uint32_t)t->weight < ipex_fb_model_weights_len(e->model), e->report,
               IPEX_ERROR_MODEL_TENSOR, "weight %d does not exist", t->weight);
    struct ipex_fb_weight w = ipex_fb_model_weights(e->model, (uint32_t)t->weight);
    IPEX_CHECK(ipex_weight_matches(w, t->dtype, t->dims, t->rank), e->report,
               IPEX_ERROR_MODEL_TENSOR, "dtype and dims are not those of weight %d", t->weight);
    IPEX_CHECK(ipex_weight_kind(e->model, w) == 0, e->report, IPEX_ERROR_MODEL_TENSOR,
               "weight %d is a known answer", t->weight);
    IPEX_CHECK(!has_halo(t), e->report, IPEX_ERROR_MODEL_TENSOR, "a constant has no halo");
    set_dense_strides(t);
    t->storage = numel_of(t);
    return IPEX_OK;
}

/* Elements from a row of so many to the next one, where rows have borders: an odd number of lines
 * of 64 bytes, so that rows, and the pixels of some hundred channels in them, lie in many sets of a
 * cache. It does not fall where rows grow. */
static int64_t row_pitch(const struct ipex_tensor_info *t, int64_t row) {
    enum { LINE = 64 };
    const int64_t size = ipex_dtype_size((enum ipex_dtype)t->dtype);
    if (t->halo[1] + t->halo[3] == 0)
        return row;
    return ((row * size + LINE - 1) / LINE | 1) * LINE / size;
}

/* Strides and storage with a halo: rows and columns are wider than the dims say. False: too many
 * elements. */
static bool set_halo_strides(struct ipex_tensor_info *t) {
    const int64_t height = t->halo[0] + t->dims[1] + t->halo[2];
    const int64_t width = t->halo[1] + t->dims[2] + t->halo[3];
    const int64_t pixels[2] = {width, t->dims[3]};
    int64_t row;
    if (!ipex_numel(pixels, 2, &row))
        return false;
    const int64_t rows[3] = {t->dims[0], height, row_pitch(t, row)};
    if (!ipex_numel(rows, 3, &t->storage))
        return false;
    t->strides[3] = 1;
    t->strides[2] = t->dims[3];
    t->strides[1] = rows[2];
    t->strides[0] = height * t->strides[1];
    t->offset = t->halo[0] * t->strides[1] + t->halo[1] * t->strides[2];
    return true;
}

/* R44: the storage of a root. */
static enum ipex_status resolve_root(const struct ipex_checked_entry *e, struct ipex_tensor_info *t,
                                     int64_t room) {
    if (has_halo(t)) {
        IPEX_CHECK(set_halo_strides(t), e->report, IPEX_ERROR_MODEL_TENSOR,
                   "too many elements with the halo");
    } else {
        set_dense_strides(t);
        t->storage = numel_of(t);
    }
    if (t->storage < room)
        t->storage = room;
    return IPEX_OK;
}

/* R46: the same elements under other dims. */
static enum ipex_status resolve_reshape(const struct ipex_checked_entry *e,
                                        struct ipex_tensor_info *t,
                                        const struct ipex_tensor_info *parent) {
    IPEX_CHECK(parent->dense && !has_halo(t), e->report, IPEX_ERROR_MODEL_VIEW,
               "a reshape of or into a tensor with gaps or a halo");
    IPEX_CHECK(numel_of(t) == numel_of(parent), e->report, IPEX_ERROR_MODEL_VIEW,
               "a reshape changes the number of elements");
    set_dense_strides(t);
    t->slice_axis = parent->slice_axis == ALL_OF_ROOT ? ALL_OF_ROOT : OTHER_VIEW;
    return IPEX_OK;
}

/* R47: part of the parent along one axis. A slice of channels sees the parent's halo; across any
 * other axis there is none. */
static enum ipex_status check_slice(const struct ipex_checked_entry *e,
                                    const struct ipex_tensor_info *t,
                                    const struct ipex_tensor_info *parent, int32_t axis,
                                    int64_t start) {
    IPEX_CHECK(t->rank == parent->rank && axis < t->rank, e->report, IPEX_ERROR_MODEL_VIEW,
               "a slice along axis %d of another rank", axis);
    for (int i = 0; i < t->rank; i++)
        IPEX_CHECK(i == axis || t->dims[i] == parent->dims[i], e->report, IPEX_ERROR_MODEL_VIEW,
                   "a slice differs from its parent in dim %d", i);
    IPEX_CHECK(start >= 0 && ipex_range_ok((uint64_t)start, (uint64_t)t->dims[axis],
                                           (uint64_t)parent->dims[axis]),
               e->report, IPEX_ERROR_MODEL_VIEW, "a slice leaves its parent");
    IPEX_CHECK(memcmp(t->halo, parent->halo, sizeof t->halo) == 0 &&
                   t->halo_value == parent->halo_value && (axis == t->rank - 1 || !has_halo(t)),
               e->report, IPEX_ERROR_MODEL_VIEW, "a slice with another halo, or across one");
    return IPEX_OK;
}

static enum ipex_status resolve_slice(const struct ipex_checked_entry *e,
                                      struct ipex_tensor_info *t,
                                      const struct ipex_tensor_info *parent, int32_t axis,
                                      int64_t start) {
    IPEX_TRY(check_slice(e, t, parent, axis, start));
    memcpy(t->strides, parent->strides, sizeof t->strides);
    t->offset = parent->offset + start * parent->strides[axis];
    bool of_root = parent == &e->tensor[t->root];
    bool of_same_cut = parent->slice_axis == axis;
    t->slice_axis = (int8_t)(of_root || of_same_cut ? axis : OTHER_VIEW);
    t->slice_start = (of_same_cut ? parent->slice_start : 0) + start;
    t->dense = is_dense(t);
    if (t->dense)
        set_dense_strides(t);
    return IPEX_OK;
}

/* R45: a view's parent comes before it, is no constant, and has its dtype. */
static enum ipex_status resolve_view(const struct ipex_checked_entry *e, struct ipex_tensor_info *t,
                                     int32_t index, struct ipex_fb_tensor fb) {
    int32_t view_of = ipex_fb_tensor_view_of(fb), axis = ipex_fb_tensor_view_axis(fb);
    int64_t start = 0;
    IPEX_CHECK(ipex_dims_number(e->values, ipex_fb_tensor_view_start(fb), &start), e->report,
               IPEX_ERROR_MODEL_VIEW, "a slice starts at an expression that does not exist");
    IPEX_CHECK(view_of >= 0 && view_of < index, e->report, IPEX_ERROR_MODEL_VIEW,
               "a view of tensor %d, which does not come before it", view_of);
    const struct ipex_tensor_info *parent = &e->tensor[view_of];
    IPEX_CHECK(parent->weight < 0 && t->weight < 0, e->report, IPEX_ERROR_MODEL_VIEW,
               "a constant cannot be viewed or be a view");
    IPEX_CHECK(t->dtype == parent->dtype, e->report, IPEX_ERROR_MODEL_VIEW,
               "a view has another dtype than its parent");
    t->root = parent->root;
    t->offset = parent->offset;
    if (axis >= 0)
        return resolve_slice(e, t, parent, axis, start);
    IPEX_CHECK(axis == -1 && start == 0, e->report, IPEX_ERROR_MODEL_VIEW, "a slice along axis %d",
               axis);
    return resolve_reshape(e, t, parent);
}

static enum ipex_status resolve_tensor(const struct ipex_checked_entry *e, int32_t index,
                                       struct ipex_fb_tensor fb) {
    struct ipex_tensor_info *t = &e->tensor[index];
    memset(t, 0, sizeof *t);
    t->root = index;
    t->weight = ipex_fb_tensor_weight(fb);
    t->first = t->last = -1;
    t->slice_axis = ALL_OF_ROOT;
    if (!e->again)
        IPEX_TRY(ipex_check_text(ipex_fb_tensor_name(fb), ipex_fb_tensor_name_len(fb),
                                 IPEX_TEXT_MAX, "name", e->report));
    IPEX_TRY(read_dims(e, t, fb));
    IPEX_TRY(read_halo(t, fb, e->report));
    IPEX_CHECK(t->weight >= -1, e->report, IPEX_ERROR_MODEL_TENSOR, "weight %d", t->weight);
    const bool storage = t->weight < 0 && ipex_fb_tensor_view_of(fb) == -1;
    int64_t room = -1;
    IPEX_CHECK(ipex_dims_number(e->values, ipex_fb_tensor_room(fb), &room) && room >= 0 &&
                   room <= (storage ? IPEX_MAX_NUMEL : 0),
               e->report, IPEX_ERROR_MODEL_TENSOR, "room for %lld elements",
               (long long)room); /* R44 */
    if (ipex_fb_tensor_view_of(fb) != -1)
        return resolve_view(e, t, index, fb);
    IPEX_CHECK(ipex_fb_tensor_view_axis(fb) == -1 && ipex_fb_tensor_view_start(fb) == 0, e->report,
               IPEX_ERROR_MODEL_VIEW, "a slice of no tensor"); /* R45 */
    return t->weight >= 0 ? resolve_constant(e, t) : resolve_root(e, t, room);
}

enum ipex_status ipex_check_tensors(struct ipex_checked_entry *e) {
    for (int32_t i = 0; i < e->tensors; i++) {
        struct ipex_fb_tensor fb = ipex_fb_entry_tensors(e->fb, (uint32_t)i);
        enum ipex_status status = resolve_tensor(e, i, fb);
        if (status != IPEX_OK)
            return ipex_fail_at(e->report, status, "tensor %d '%s': ", i, ipex_fb_tensor_name(fb));
    }
    return IPEX_OK;
}

/* ---- nodes, one by one ---- */

static struct ipex_shape_operand operand_of(const struct ipex_checked_entry *e,
                                            const struct ipex_tensor_info *t) {
    struct ipex_shape_operand operand = {.dtype = t->dtype, .rank = t->rank};
    memcpy(operand.dims, t->dims, sizeof operand.dims);
    memcpy(operand.halo, t->halo, sizeof operand.halo);
    operand.constant = t->weight >= 0;
    if (operand.constant)
        operand.layout =
            ipex_fb_weight_layout(ipex_fb_model_weights(e->model, (uint32_t)t->weight));
    return operand;
}

/* R50: a tensor that exists, or none. */
static enum ipex_status check_operands(const struct ipex_checked_entry *e,
                                       struct ipex_fb_node node) {
    uint32_t inputs = ipex_fb_node_inputs_len(node);
    IPEX_CHECK(inputs <= IPEX_MAX_RANK, e->report, IPEX_ERROR_MODEL_OPERATOR, "%u operands",
               inputs);
    for (uint32_t i = 0; i < inputs; i++) {
        int32_t tensor = ipex_fb_node_inputs(node)[i];
        IPEX_CHECK(tensor >= -1 && tensor < e->tensors, e->report, IPEX_ERROR_MODEL_OPERATOR,
                   "operand %u: tensor %d does not exist", i, tensor);
    }
    return IPEX_OK;
}

/* R51: an output exists and is written here and nowhere else. */
static enum ipex_status check_result(const struct ipex_checked_entry *e, int32_t index,
                                     int32_t tensor) {
    IPEX_CHECK(tensor >= 0 && tensor < e->tensors, e->report, IPEX_ERROR_MODEL_OPERATOR,
               "output tensor %d does not exist", tensor);
    struct ipex_tensor_info *t = &e->tensor[tensor];
    IPEX_CHECK(t->weight < 0 && !e->tensor[t->root].is_input, e->report, IPEX_ERROR_MODEL_ORDER,
               "output tensor %d is a constant or an input", tensor);
    IPEX_CHECK(t->tally == 0, e->report, IPEX_ERROR_MODEL_ORDER,
               "output tensor %d is written by node %lld already", tensor, (long long)t->tally - 1);
    IPEX_CHECK(t->slice_axis != OTHER_VIEW, e->report, IPEX_ERROR_MODEL_VIEW,
               "output tensor %d is neither a storage nor a slice of one", tensor);
    t->tally = index + 1;
    return IPEX_OK;
}

/* R51: as many outputs as the operator gives (R60 looks for those that do not exist). */
static enum ipex_status check_results(const struct ipex_checked_entry *e, int32_t index,
                                      struct ipex_fb_node node) {
    const struct ipex_op_info *op = ipex_op_info(ipex_fb_node_op(node));
    uint32_t outputs = ipex_fb_node_outputs_len(node);
    IPEX_CHECK(outputs == (op ? op->outputs : 1), e->report, IPEX_ERROR_MODEL_OPERATOR,
               "%u outputs", outputs);
    for (uint32_t i = 0; i < outputs; i++)
        IPEX_TRY(check_result(e, index, ipex_fb_node_outputs(node)[i]));
    return IPEX_OK;
}

static enum ipex_status compare_output(const struct ipex_checked_entry *e, uint32_t index,
                                       const struct ipex_shape_operand *given,
                                       const struct ipex_tensor_info *stated) {
    IPEX_CHECK(given->dtype == stated->dtype && given->rank == stated->rank, e->report,
               IPEX_ERROR_MODEL_SHAPE, "output %u: dtype or rank is not what the operator gives",
               index);
    for (int i = 0; i < stated->rank; i++)
        IPEX_CHECK(given->dims[i] == stated->dims[i], e->report, IPEX_ERROR_MODEL_SHAPE,
                   "dim %d of output %u is %lld; the operator gives %lld", i, index,
                   (long long)stated->dims[i], (long long)given->dims[i]);
    return IPEX_OK;
}

/* R52: what the shape rule computes is what the output tensors state. */
static enum ipex_status check_shapes(const struct ipex_checked_entry *e, struct ipex_fb_node node,
                                     const int32_t *ints) {
    struct ipex_shape_operand operands[IPEX_MAX_RANK];
    struct ipex_shape_node shape = {.op = ipex_fb_node_op(node),
                                    .inputs = ipex_fb_node_inputs_len(node),
                                    .ints = ipex_fb_node_ints_len(node),
                                    .floats = ipex_fb_node_floats_len(node),
                                    .int_ = ints,
                                    .float_ = ipex_fb_node_floats(node)};
    for (uint32_t i = 0; i < shape.inputs; i++) {
        int32_t tensor = ipex_fb_node_inputs(node)[i];
        if (tensor < 0)
            continue;
        operands[i] = operand_of(e, &e->tensor[tensor]);
        shape.input[i] = &operands[i];
    }
    struct ipex_shape_operand output[IPEX_OUTPUTS_MAX];
    const int32_t *outputs = ipex_fb_node_outputs(node);
    for (uint32_t i = 0; i < ipex_fb_node_outputs_len(node); i++)
        output[i] = operand_of(e, &e->tensor[outputs[i]]);
    IPEX_TRY(ipex_shape_infer(&shape, output, e->report));
    for (uint32_t i = 0; i < ipex_fb_node_outputs_len(node); i++)
        IPEX_TRY(compare_output(e, i, &output[i], &e->tensor[outputs[i]]));
    return IPEX_OK;
}

static bool multiplies_bf16(struct ipex_fb_entry entry, struct ipex_fb_node node) {
    const uint16_t op = ipex_fb_node_op(node);
    const bool product = op == IPEX_OP_linear || op == IPEX_OP_conv || op == IPEX_OP_matmul ||
                         op == IPEX_OP_conv_transpose || op == IPEX_OP_attention;
    return product && ipex_fb_tensor_dtype(ipex_fb_entry_tensors(
                          entry, (uint32_t)ipex_fb_node_inputs(node)[0])) == IPEX_DTYPE_bf16;
}

bool ipex_entry_multiplies_bf16(struct ipex_fb_entry entry) {
    for (uint32_t i = 0; i < ipex_fb_entry_nodes_len(entry); i++)
        if (multiplies_bf16(entry, ipex_fb_entry_nodes(entry, i)))
            return true;
    return false;
}

/* R39: f32 says nothing about what products of bf16 round, and when. */
static enum ipex_status check_profile(const struct ipex_checked_entry *e,
                                      struct ipex_fb_node node) {
    IPEX_CHECK(ipex_fb_entry_arithmetic(e->fb) != IPEX_ARITHMETIC_f32 ||
                   !multiplies_bf16(e->fb, node),
               e->report, IPEX_ERROR_MODEL_ENTRY,
               "a product of bf16 in an entry that pins the profile f32");
    return IPEX_OK;
}

/* R53: where a kernel row is one segment, its taps must be neighbours in memory. */
static enum ipex_status check_pixels(const struct ipex_checked_entry *e, struct ipex_fb_node node,
                                     const int32_t *ints) {
    if (ipex_fb_node_op(node) != IPEX_OP_conv || ints[IPEX_CONV_GROUPS] > 1 ||
        ints[IPEX_CONV_DILATION_W] > 1 || ints[IPEX_CONV_KERNEL_W] == 1)
        return IPEX_OK;
    const struct ipex_tensor_info *x = &e->tensor[ipex_fb_node_inputs(node)[0]];
    IPEX_CHECK(x->strides[2] == x->dims[3], e->report, IPEX_ERROR_MODEL_VIEW,
               "the kernel is wider than 1 and x is a slice of channels");
    return IPEX_OK;
}

static enum ipex_status check_node(const struct ipex_checked_entry *e, int32_t index,
                                   struct ipex_fb_node node) {
    int32_t room[IPEX_DYNAMIC_INTS_MAX];
    const int32_t *ints = NULL;
    if (!e->again)
        IPEX_TRY(ipex_check_text(ipex_fb_node_name(node), ipex_fb_node_name_len(node),
                                 IPEX_LONG_TEXT_MAX, "name", e->report));
    IPEX_TRY(check_operands(e, node));
    IPEX_TRY(check_results(e, index, node));
    IPEX_TRY(ipex_dims_ints(node, e->values, room, &ints, e->report));
    IPEX_TRY(check_shapes(e, node, ints));
    IPEX_TRY(check_profile(e, node));
    return check_pixels(e, node, ints);
}

/* ---- what is written covers its storage exactly ---- */

/* First element that a written tensor covers, counted as if its storage had no gaps and its cut
 * axis came first. */
static int64_t cover_begin(const struct ipex_checked_entry *e, const struct ipex_tensor_info *t) {
    if (t->slice_axis < 0)
        return 0;
    const struct ipex_tensor_info *root = &e->tensor[t->root];
    return t->slice_start * (numel_of(root) / root->dims[t->slice_axis]);
}

/* By storage, then by place in it. */
static bool before(const struct ipex_checked_entry *e, int32_t a, int32_t b) {
    const struct ipex_tensor_info *x = &e->tensor[a], *y = &e->tensor[b];
    if (x->root != y->root)
        return x->root < y->root;
    return cover_begin(e, x) < cover_begin(e, y);
}

static void sift_down(struct ipex_checked_entry *e, int32_t at, int32_t count) {
    struct ipex_tensor_info *t = e->tensor;
    for (int32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(e, t[child].order, t[child + 1].order))
            child++;
        if (!before(e, t[at].order, t[child].order))
            return;
        int32_t swap = t[at].order;
        t[at].order = t[child].order;
        t[child].order = swap;
    }
}

/* Heapsort of the indices of written tensors, which lie in `order` of the first `count` tensors: no
 * memory, no recursion, n log n. */
static void sort_written(struct ipex_checked_entry *e, int32_t count) {
    for (int32_t i = count / 2; i-- > 0;)
        sift_down(e, i, count);
    for (int32_t last = count - 1; last > 0; last--) {
        int32_t swap = e->tensor[0].order;
        e->tensor[0].order = e->tensor[last].order;
        e->tensor[last].order = swap;
        sift_down(e, 0, last);
    }
}

static int32_t collect_written(struct ipex_checked_entry *e) {
    int32_t count = 0;
    for (int32_t i = 0; i < e->tensors; i++)
        if (e->tensor[i].tally != 0)
            e->tensor[count++].order = i;
    return count;
}

/* R54: the tensors that nodes write in one storage are the whole of it, or slices of one axis that
 * follow each other without gap or overlap. */
static enum ipex_status check_cover(struct ipex_checked_entry *e) {
    int32_t count = collect_written(e);
    sort_written(e, count);
    for (int32_t i = 0; i < count; i++) {
        int32_t index = e->tensor[i].order;
        const struct ipex_tensor_info *t = &e->tensor[index];
        const struct ipex_tensor_info *prev = i > 0 ? &e->tensor[e->tensor[i - 1].order] : NULL;
        const struct ipex_tensor_info *next =
            i + 1 < count ? &e->tensor[e->tensor[i + 1].order] : NULL;
        bool follows = prev && prev->root == t->root;
        int64_t begin = cover_begin(e, t), end = begin + numel_of(t);
        int64_t wanted = follows ? cover_begin(e, prev) + numel_of(prev) : 0;
        IPEX_CHECK(begin == wanted && (!follows || prev->slice_axis == t->slice_axis), e->report,
                   IPEX_ERROR_MODEL_ORDER,
                   "tensor %d: the slices written of tensor %d overlap, leave "
                   "gaps, or differ in axis",
                   index, t->root);
        IPEX_CHECK((next && next->root == t->root) || end == numel_of(&e->tensor[t->root]),
                   e->report, IPEX_ERROR_MODEL_ORDER, "tensor %d is written in part only", t->root);
    }
    return IPEX_OK;
}

/* ---- order and lifetimes ---- */

static int32_t parent_of(const struct ipex_checked_entry *e, int32_t tensor) {
    return ipex_fb_tensor_view_of(ipex_fb_entry_tensors(e->fb, (uint32_t)tensor));
}

/* R55: what is read has been written: all of its storage, or of the nearest one that nodes write
 * or write parts of (`order`), which is the tensor itself or one that it is a view of. Outputs are
 * written once (R51) and do not overlap (R54), so no node works in place. */
static enum ipex_status check_reads(struct ipex_checked_entry *e, int32_t index,
                                    struct ipex_fb_node node) {
    for (uint32_t i = 0; i < ipex_fb_node_inputs_len(node); i++) {
        int32_t tensor = ipex_fb_node_inputs(node)[i];
        if (tensor < 0 || e->tensor[tensor].weight >= 0)
            continue;
        struct ipex_tensor_info *root = &e->tensor[e->tensor[tensor].root];
        IPEX_CHECK(root->is_input || root->tally == 0 ||
                       e->tensor[e->tensor[tensor].order].tally == 0,
                   e->report, IPEX_ERROR_MODEL_ORDER,
                   "operand %u: tensor %d is read before it is written", i, tensor);
        root->last = index;
    }
    return IPEX_OK;
}

/* Counts down what is not written yet: of the tensor, then of what it is a view of, which gets a
 * part at a time, once all of that is written; of the storage at once. */
static void note_write(struct ipex_checked_entry *e, int32_t tensor) {
    const int32_t root = e->tensor[tensor].root;
    int64_t elements = numel_of(&e->tensor[tensor]);
    e->tensor[root].tally -= elements;
    for (int32_t at = tensor; at != root; at = parent_of(e, at)) {
        e->tensor[at].tally -= elements;
        if (e->tensor[at].tally != 0)
            return;
        elements = numel_of(&e->tensor[at]);
    }
}

static void note_writes(struct ipex_checked_entry *e, int32_t index, struct ipex_fb_node node) {
    for (uint32_t i = 0; i < ipex_fb_node_outputs_len(node); i++) {
        const int32_t tensor = ipex_fb_node_outputs(node)[i];
        struct ipex_tensor_info *root = &e->tensor[e->tensor[tensor].root];
        note_write(e, tensor);
        if (root->first < 0)
            root->first = index;
        root->last = index;
    }
}

/* `order` of every tensor: the nearest one, itself or what it is a view of, that a node writes or
 * writes a part of; its storage where there is none. Views come after what they look at. `tally`:
 * from who writes it to its elements, none of which is written yet. */
static void find_writers(struct ipex_checked_entry *e) {
    for (int32_t i = e->tensors, parent; i-- > 0;)
        if (e->tensor[i].tally != 0 && (parent = parent_of(e, i)) >= 0)
            e->tensor[parent].tally = 1;
    for (int32_t i = 0; i < e->tensors; i++) {
        struct ipex_tensor_info *t = &e->tensor[i];
        const int32_t parent = parent_of(e, i);
        t->order = t->tally != 0 || parent < 0 ? i : e->tensor[parent].order;
        t->tally = numel_of(t);
    }
}

static enum ipex_status check_order(struct ipex_checked_entry *e) {
    find_writers(e);
    for (int32_t i = 0; i < e->nodes; i++) {
        struct ipex_fb_node node = ipex_fb_entry_nodes(e->fb, (uint32_t)i);
        enum ipex_status status = check_reads(e, i, node);
        if (status != IPEX_OK)
            return ipex_fail_at(e->report, status, "node %d '%s': ", i, ipex_fb_node_name(node));
        note_writes(e, i, node);
    }
    return IPEX_OK;
}

enum ipex_status ipex_check_nodes(struct ipex_checked_entry *e) {
    for (int32_t i = 0; i < e->nodes; i++) {
        struct ipex_fb_node node = ipex_fb_entry_nodes(e->fb, (uint32_t)i);
        enum ipex_status status = check_node(e, i, node);
        if (status != IPEX_OK)
            return ipex_fail_at(e->report, status, "node %d '%s': ", i, ipex_fb_node_name(node));
    }
    IPEX_TRY(check_cover(e));
    return check_order(e);
}

/* R57: `tally` counts, at node k, the storages that begin to live there less those that ended
 * before. Every node writes a tensor of its own, so there are at least as many tensors as nodes. */
static enum ipex_status check_live(struct ipex_checked_entry *e) {
    int64_t live = 0;
    for (int32_t i = 0; i < e->tensors; i++)
        e->tensor[i].tally = 0;
    for (int32_t i = 0; i < e->tensors; i++) {
        const struct ipex_tensor_info *t = &e->tensor[i];
        if (t->root != i || t->weight >= 0)
            continue;
        int32_t first = t->first < 0 ? 0 : t->first;
        int32_t last = t->last < 0 ? 0 : t->last;
        e->tensor[first].tally++;
        if (last + 1 < e->nodes)
            e->tensor[last + 1].tally--;
    }
    for (int32_t i = 0; i < e->nodes; i++) {
        live += e->tensor[i].tally;
        IPEX_CHECK(live <= IPEX_LIVE_MAX, e->report, IPEX_ERROR_FILE_LIMIT,
                   "node %d '%s': more than %u tensors are alive", i,
                   ipex_fb_node_name(ipex_fb_entry_nodes(e->fb, (uint32_t)i)),
                   (unsigned)IPEX_LIVE_MAX);
    }
    return IPEX_OK;
}

enum ipex_status ipex_check_storages(struct ipex_checked_entry *e) {
    for (int32_t i = 0; i < e->tensors; i++) {
        const struct ipex_tensor_info *t = &e->tensor[i];
        IPEX_CHECK(t->root != i || t->weight >= 0 || t->is_input || t->first >= 0, e->report,
                   IPEX_ERROR_MODEL_ORDER, "tensor %d '%s' is no input and nothing writes it", i,
                   ipex_fb_tensor_name(ipex_fb_entry_tensors(e->fb, (uint32_t)i))); /* R56 */
    }
    return check_live(e);
}
