/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's AffineGrid, and GridSample: an image or a volume looked up at computed places, which
 * deformable attention and warps are made of. */
#include "tools/convert/import_build.h"

#include <string.h>

/* Attributes of the plan operator; false after refusing. */
static bool read_modes(struct ipex_import *import, int32_t axes, int64_t *ints) {
    static const char *const modes[] = {"nearest", "linear", "cubic"},
                             *const two[] = {"nearest", "bilinear", "bicubic"},
                             *const paddings[] = {"zeros", "border", "reflection"};
    const char *mode = ipex_import_string(import, "mode", "linear"),
               *padding = ipex_import_string(import, "padding_mode", "zeros");
    const int64_t index = ipex_import_word(mode, modes, 3);
    ints[IPEX_GRID_MODE] = index < 0 ? ipex_import_word(mode, two, 3) : index;
    ints[IPEX_GRID_PADDING] = ipex_import_word(padding, paddings, 3);
    ints[IPEX_GRID_CORNERS_ALIGNED] = ipex_import_flag(import, "align_corners", false);
    if (ints[IPEX_GRID_MODE] < 0)
        ipex_import_refuse(import, "mode %s is not supported", mode);
    else if (ints[IPEX_GRID_MODE] == IPEX_GRID_cubic && axes == 3)
        ipex_import_refuse(import, "mode %s is not supported for volumes", mode);
    else if (ints[IPEX_GRID_PADDING] < 0)
        ipex_import_refuse(import, "padding_mode %s is not supported", padding);
    else
        return true;
    return false;
}

static struct ipex_value *look_up(struct ipex_import *import, struct ipex_value *x,
                                  struct ipex_value *grid, enum ipex_order_policy order,
                                  const int64_t *dims, const int64_t *ints) {
    struct ipex_node *node =
        ipex_import_plan(import, IPEX_OP_grid_sample, order, IPEX_DTYPE_f32, x->rank, dims, false);
    ipex_node_add_input(node, x);
    ipex_node_add_input(node, grid);
    node->u.plan.ints = 3;
    memcpy(node->u.plan.int_, ints, 3 * sizeof *ints);
    return node->output;
}

/* x [N][C][D][H][W], places [N][O][P][Q][3] */
static struct ipex_value *look_up_volume(struct ipex_import *import, struct ipex_value *x,
                                         struct ipex_value *grid, const int64_t *ints) {
    static const int32_t to_last[] = {0, 2, 3, 4, 1}, to_second[] = {0, 4, 1, 2, 3};
    const int64_t dims[5] = {x->dims[0], grid->dims[1], grid->dims[2], grid->dims[3], x->dims[1]};
    x = ipex_build_transpose(import, x, to_last);
    return ipex_build_transpose(import, look_up(import, x, grid, IPEX_ORDER_logical, dims, ints),
                                to_second);
}

static void import_grid_sample(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0),
                      *grid = x ? ipex_import_f32(import, 1) : NULL;
    int64_t ints[3];
    if (!grid)
        return;
    const int32_t axes = x->rank - 2;
    if ((axes != 2 && axes != 3) || grid->rank != x->rank || grid->dims[axes + 1] != axes ||
        grid->dims[0] != x->dims[0]) {
        ipex_import_refuse(import,
                           "only images (rank 4) with a grid [N, P, Q, 2] and volumes (rank 5) "
                           "with a grid [N, O, P, Q, 3] are supported");
        return;
    }
    if (!read_modes(import, axes, ints))
        return;
    const int64_t dims[4] = {x->dims[0], x->dims[1], grid->dims[1], grid->dims[2]};
    ipex_import_out(import, 0,
                    axes == 3 ? look_up_volume(import, x, grid, ints)
                              : look_up(import, x, grid, IPEX_ORDER_channels_last, dims, ints));
}

/* ---- AffineGrid: theta [N][n][n + 1] times (x, y, 1) or (x, y, z, 1) of every place ---- */

/* The middles of `size` pixels or, with corners, as many places from -1 to 1: along `axis` of
 * `rank`. */
static struct ipex_value *places(struct ipex_import *import, int64_t size, bool corners,
                                 int32_t rank, int32_t axis) {
    int64_t dims[IPEX_MAX_RANK];
    float *at = ipex_arena_array(&import->graph->arena, (size_t)size, sizeof *at);
    for (int32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? size : 1;
    for (int64_t i = 0; i < size; i++)
        at[i] = (float)(corners ? 2 * (double)i / (double)(size - 1) - 1
                                : (2 * (double)i + 1) / (double)size - 1);
    return ipex_graph_constant(import->graph, import->label, IPEX_DTYPE_f32, rank, dims, at);
}

/* Column i of theta, [N][1][1][n] beside the places. */
static struct ipex_value *column(struct ipex_import *import, struct ipex_value *theta, int64_t i) {
    const int64_t n = theta->dims[1],
                  dims[] = {theta->dims[0], 1, 1, n == 2 ? n : 1, n == 2 ? 1 : n};
    return ipex_build_reshape(import, ipex_build_slice(import, theta, 2, i, 1), (int32_t)n + 2,
                              dims);
}

static bool check_affine(struct ipex_import *import, const struct ipex_value *theta,
                         const int64_t *size, int sizes, bool corners) {
    if (theta->rank != 3 || sizes != theta->dims[1] + 2 || (sizes != 4 && sizes != 5) ||
        theta->dims[2] != sizes - 1 || theta->dims[0] != size[0]) {
        ipex_import_refuse(import, "only theta [N, 2, 3] with sizes [N, C, H, W] and [N, 3, 4] "
                                   "with [N, C, D, H, W] are supported");
        return false;
    }
    for (int i = 2; i < sizes; i++)
        if (size[i] < (corners ? 2 : 1) || size[i] > IPEX_BUILD_MAX) {
            ipex_import_refuse(import, "a size of %s; numbers from %d to %d are supported%s",
                               ipex_import_text(import, size[i]), corners ? 2 : 1, IPEX_BUILD_MAX,
                               corners ? " with align_corners" : "");
            return false;
        }
    return true;
}

static void import_affine_grid(struct ipex_import *import) {
    struct ipex_value *theta = ipex_import_f32(import, 0);
    const bool corners = ipex_import_flag(import, "align_corners", false);
    int64_t size[IPEX_MAX_RANK];
    const int sizes = theta ? ipex_import_dims(import, "size", 1, size, IPEX_MAX_RANK) : -1;
    if (sizes < 0 || !check_affine(import, theta, size, sizes, corners))
        return;
    const int32_t n = sizes - 2;
    struct ipex_value *y = NULL;
    for (int32_t i = 0; i < n; i++) { /* x lies last */
        struct ipex_value *x = ipex_build_binary(
            import, IPEX_STEP_mul, places(import, size[sizes - 1 - i], corners, sizes, n - i),
            column(import, theta, i));
        y = i ? ipex_build_binary(import, IPEX_STEP_add, y, x) : x;
    }
    y = ipex_build_binary(import, IPEX_STEP_add, y, column(import, theta, n));
    if (y)
        ipex_import_out(import, 0, y);
}

const struct ipex_import_op ipex_import_grid[] = {
    {"AffineGrid", import_affine_grid},
    {"GridSample", import_grid_sample},
    {NULL, NULL},
};
