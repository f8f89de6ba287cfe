/* SPDX-License-Identifier: Apache-2.0 */
/* --image: the option's text, and the nodes between pixels and the model's input: a cast, the
 * channels in the other order, channels first where the model wants that, (pixel - mean) / std.
 * pass_image.c then folds what it can into the first convolution. */
#include "tools/convert/pixels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli.h"
#include "tools/convert/import_build.h"
#include "tools/convert/import_scope.h"

/* ---- the option ---- */

struct numbers {
    double *value;
    int32_t *count;
};

/* Of mean, std and 1 / std: pixels are 0 to 255, and nothing must become infinite. */
#define NUMBER_MAX 1e6

/* One more number of a list. */
static bool add_number(const struct numbers *list, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (!list->value || *list->count == IPEX_IMAGE_CHANNELS || end == text || *end ||
        !(fabs(value) <= NUMBER_MAX))
        return false;
    list->value[(*list->count)++] = value;
    return true;
}

static bool take_order(struct ipex_image_option *image, const char *text) {
    bool known = !strcmp(text, "rgb") || !strcmp(text, "bgr");
    if (!known || image->has_order)
        return false;
    image->has_order = true;
    image->reversed = *text == 'b';
    return true;
}

/* "mean=1", "std=1", "order=bgr", or a further number of the list before it. */
static bool take_word(struct ipex_image_option *image, const char *word, struct numbers *list) {
    if (!strncmp(word, "order=", 6)) {
        *list = (struct numbers){0};
        return take_order(image, word + 6);
    }
    if (!strncmp(word, "mean=", 5) && !image->means)
        *list = (struct numbers){image->mean, &image->means};
    else if (!strncmp(word, "std=", 4) && !image->stds)
        *list = (struct numbers){image->std, &image->stds};
    else
        return add_number(list, word);
    return add_number(list, strchr(word, '=') + 1);
}

bool ipex_image_parse(const char *text, struct ipex_arena *arena, struct ipex_image_option *ret,
                      const char **ret_wrong) {
    const char *rest;
    size_t length;
    struct numbers list = {0};
    *ret = (struct ipex_image_option){0};
    *ret_wrong = "INPUT=u8[,mean=M,...][,std=S,...][,order=rgb|bgr] is expected";
    if (!ipex_cli_split(text, &length, &rest) || strncmp(rest, "u8", 2) ||
        (rest[2] && rest[2] != ','))
        return false;
    ret->name = ipex_arena_strndup(arena, text, length);
    for (rest += 2; *rest;) {
        rest++; /* the comma */
        length = strcspn(rest, ",");
        const char *word = ipex_arena_strndup(arena, rest, length);
        if (!take_word(ret, word, &list)) {
            *ret_wrong =
                ipex_arena_printf(arena,
                                  "'%s' is not expected there; INPUT=u8[,mean=M,...][,std=S,...]"
                                  "[,order=rgb|bgr] is, with at most %d numbers",
                                  word, IPEX_IMAGE_CHANNELS);
            return false;
        }
        rest += length;
    }
    for (int32_t i = 0; i < ret->stds; i++)
        if (fabs(ret->std[i]) < 1 / NUMBER_MAX) {
            *ret_wrong = "a std is zero or next to it";
            return false;
        }
    return true;
}

/* ---- the nodes ---- */

static bool holds_channels(int64_t dim) {
    return dim == 1 || dim == 3 || dim == 4;
}

/* Where the channels of a model's input lie: 1, or 3 for channels last. -1: nowhere. */
static int32_t channel_axis(const struct ipex_value *x) {
    if (x->rank != 4)
        return -1;
    return holds_channels(x->dims[1]) ? 1 : holds_channels(x->dims[3]) ? 3 : -1;
}

static const char *check(const struct ipex_image_option *image, const struct ipex_value *x) {
    int32_t axis = channel_axis(x);
    if (x->dtype != IPEX_DTYPE_f32)
        return "the model's input is not f32";
    if (axis < 0)
        return "the model's input is no picture: 1, 3 or 4 channels along axis 1 or 3 of 4";
    if ((image->means > 1 && image->means != x->dims[axis]) ||
        (image->stds > 1 && image->stds != x->dims[axis]))
        return "mean and std have one number, or one per channel of the model's input";
    if (image->reversed && x->dims[axis] != 3)
        return "order=bgr needs an input of 3 channels";
    return NULL;
}

static struct ipex_value *reverse(struct ipex_import *import, struct ipex_value *x) {
    struct ipex_value *y = ipex_build_slice(import, x, 3, 2, 3);
    y->producer->u.slice.step[3] = -1;
    return y;
}

static double number_of(const double *list, int32_t count, int64_t channel, double otherwise) {
    return count ? list[count == 1 ? 0 : channel] : otherwise;
}

/* (x - mean) / std along the channels. */
static struct ipex_value *normalise(struct ipex_import *import, struct ipex_value *x, int32_t axis,
                                    const struct ipex_image_option *image) {
    const int64_t n = x->dims[axis];
    struct ipex_arena *arena = &import->graph->arena;
    struct ipex_node *node = ipex_import_node(import, IPEX_KIND_affine);
    node->u.affine.axis = axis;
    node->u.affine.n = n;
    node->u.affine.scale = ipex_arena_array(arena, (size_t)n, sizeof *node->u.affine.scale);
    node->u.affine.shift = ipex_arena_array(arena, (size_t)n, sizeof *node->u.affine.shift);
    for (int64_t c = 0; c < n; c++) {
        const double scale = 1 / number_of(image->std, image->stds, c, 1);
        node->u.affine.scale[c] = scale;
        node->u.affine.shift[c] = -number_of(image->mean, image->means, c, 0) * scale;
    }
    ipex_node_add_input(node, x);
    ipex_node_set_output(node, ipex_graph_value(import->graph, import->node->output[0],
                                                IPEX_DTYPE_f32, x->rank, x->dims));
    return node->output;
}

static struct ipex_value *adapt(struct ipex_import *import, struct ipex_value *pixels, int32_t axis,
                                const struct ipex_image_option *image) {
    static const int32_t channels_first[4] = {0, 3, 1, 2};
    struct ipex_value *x = ipex_build_cast(import, pixels, IPEX_DTYPE_f32);
    if (image->reversed)
        x = reverse(import, x);
    if (axis == 1)
        x = ipex_import_transpose(import, x, import->node->output[0], channels_first);
    return image->means || image->stds ? normalise(import, x, axis, image) : x;
}

/* Takes the place of graph input `i`. */
static void replace_input(struct ipex_import *import, size_t i,
                          const struct ipex_image_option *image) {
    struct ipex_graph *graph = import->graph;
    const struct ipex_value *x = graph->input[i];
    const int32_t axis = channel_axis(x);
    const int64_t dims[4] = {x->dims[0], x->dims[axis == 1 ? 2 : 1], x->dims[axis == 1 ? 3 : 2],
                             x->dims[axis]};
    const char *result = ipex_arena_printf(&graph->arena, "%s normalised", x->name);
    const struct ipex_onnx_node node = {
        .name = x->name, .op_type = IPEX_IMAGE_OP, .output = &result, .outputs = 1};
    import->node = &node;
    import->label = x->name;
    graph->input[i] = ipex_graph_value(graph, x->name, IPEX_DTYPE_u8, 4, dims);
    ipex_import_bind(import, x->name, adapt(import, graph->input[i], axis, image));
    import->node = NULL;
}

const char *ipex_import_images(struct ipex_import *import, struct ipex_import_options *options) {
    struct ipex_graph *graph = import->graph;
    const char *wrong = "";
    for (size_t k = 0; k < options->images; k++) {
        struct ipex_image_option *image = &options->image[k];
        size_t i = 0;
        while (i < graph->inputs && strcmp(graph->input[i]->name, image->name))
            i++;
        image->used = i < graph->inputs;
        if (!image->used && image->shared) /* another entry may have it */
            continue;
        const char *what =
            image->used ? check(image, graph->input[i]) : "the model has no input of that name";
        if (what)
            wrong =
                ipex_arena_printf(&graph->arena, "%s  --image %s: %s\n", wrong, image->name, what);
        else
            replace_input(import, i, image);
    }
    return *wrong
               ? ipex_arena_printf(&graph->arena, "the pictures do not fit the model:\n%s", wrong)
               : NULL;
}
