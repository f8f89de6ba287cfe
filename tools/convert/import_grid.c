/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's GridSample: an image looked up at computed places, which deformable attention and warps
 * are made of. Places become numbers of pixels, by which whole pixels (all channels) are gathered:
 * one for the nearest, four that are weighted for linear interpolation. */
#include "tools/convert/import_build.h"

#include <string.h>

/* A coordinate of every place [N][P][Q][1], in pixels. */
struct coordinate {
    struct ipex_value *low, *fraction; /* f32: low is a whole number; fraction NULL: the nearest */
    int64_t size;                      /* of the image along it, a dim */
};

struct sampler {
    struct ipex_value *pixels; /* [N H W][C] */
    struct ipex_value *first;  /* i64 [N][1][1][1]: the number of each image's first pixel */
    struct coordinate at[2];   /* x, y */
    bool border;               /* places outside are moved to the border; else pixels there are 0 */
};

static struct ipex_value *add(struct ipex_import *import, struct ipex_value *x, float number) {
    return ipex_build_with(import, IPEX_STEP_add, x, number);
}

/* A dim, plus a number, as f32. */
static struct ipex_value *length(struct ipex_import *import, int64_t dim, int64_t more) {
    dim = ipex_dim_add(&import->graph->dims, dim, ipex_dim_of(&import->graph->dims, more));
    return ipex_build_cast(import, ipex_build_size(import, IPEX_DTYPE_i64, dim), IPEX_DTYPE_f32);
}

/* x, between 0 and the last pixel. */
static struct ipex_value *clamped(struct ipex_import *import, struct ipex_value *x, int64_t size) {
    x = ipex_build_with(import, IPEX_STEP_max, x, 0);
    return ipex_build_binary(import, IPEX_STEP_min, x, length(import, size, -1));
}

/* Coordinate `axis` of the grid, from -1 .. 1 to pixels. */
static struct coordinate read_coordinate(struct ipex_import *import, struct ipex_value *grid,
                                         int32_t axis, int64_t size, bool nearest, bool border) {
    struct coordinate c = {.size = size};
    struct ipex_value *x = add(import, ipex_build_slice(import, grid, 3, axis, 1), 1);
    if (ipex_import_int(import, "align_corners", 0)) { /* -1 and 1 are the middles of pixels */
        x = ipex_build_with(import, IPEX_STEP_mul, x, 0.5f);
        x = ipex_build_binary(import, IPEX_STEP_mul, x, length(import, size, -1));
    } else { /* -1 and 1 are the image's edges */
        x = ipex_build_binary(import, IPEX_STEP_mul, x, length(import, size, 0));
        x = ipex_build_with(import, IPEX_STEP_mul, add(import, x, -1), 0.5f);
    }
    x = border ? clamped(import, x, size) : x;
    c.low = ipex_build_unary(import, nearest ? IPEX_STEP_round : IPEX_STEP_floor, x);
    c.fraction = nearest ? NULL : ipex_build_binary(import, IPEX_STEP_sub, x, c.low);
    return c;
}

/* The whole number `low + step`, moved into the image, and its part in the sum of pixels: *weight
 * times what the fraction says, and nothing where it has been moved. */
static struct ipex_value *corner(struct ipex_import *import, const struct sampler *s,
                                 const struct coordinate *c, int step, struct ipex_value **weight) {
    struct ipex_value *at = step ? add(import, c->low, 1) : c->low, *part = c->fraction;
    struct ipex_value *inside = clamped(import, at, c->size);
    if (part && !step)
        part = add(import, ipex_build_unary(import, IPEX_STEP_neg, part), 1);
    if (!s->border) { /* 1 - min(1, how far) */
        struct ipex_value *far = ipex_build_unary(
            import, IPEX_STEP_abs, ipex_build_binary(import, IPEX_STEP_sub, at, inside));
        far = ipex_build_with(import, IPEX_STEP_min, far, 1);
        far = add(import, ipex_build_unary(import, IPEX_STEP_neg, far), 1);
        part = part ? ipex_build_binary(import, IPEX_STEP_mul, part, far) : far;
    }
    if (part)
        *weight = *weight ? ipex_build_binary(import, IPEX_STEP_mul, *weight, part) : part;
    return ipex_build_cast(import, inside, IPEX_DTYPE_i64);
}

/* The pixels at one corner of every place, weighted: [N][P][Q][C]. */
static struct ipex_value *look_up(struct ipex_import *import, const struct sampler *s, int step_x,
                                  int step_y) {
    struct ipex_value *weight = NULL;
    struct ipex_value *x = corner(import, s, &s->at[0], step_x, &weight),
                      *y = corner(import, s, &s->at[1], step_y, &weight);
    y = ipex_build_integer(import, IPEX_INTEGER_mul, y,
                           ipex_build_size(import, IPEX_DTYPE_i64, s->at[0].size));
    struct ipex_value *number = ipex_build_integer(
        import, IPEX_INTEGER_add, ipex_build_integer(import, IPEX_INTEGER_add, y, x), s->first);
    if (!number)
        return NULL;
    number = ipex_build_reshape(import, number, 3, number->dims);
    struct ipex_value *pixels = ipex_build_gather(import, s->pixels, number, 0);
    return weight ? ipex_build_binary(import, IPEX_STEP_mul, pixels, weight) : pixels;
}

static bool check_grid(struct ipex_import *import, const struct ipex_value *x,
                       const struct ipex_value *grid) {
    const char *mode = ipex_import_string(import, "mode", "linear"),
               *padding = ipex_import_string(import, "padding_mode", "zeros");
    if (x->rank != 4 || grid->rank != 4 || grid->dims[3] != 2 || grid->dims[0] != x->dims[0])
        ipex_import_refuse(import, "only images (rank 4) with a grid [N, P, Q, 2] are supported");
    else if (strcmp(mode, "linear") && strcmp(mode, "bilinear") && strcmp(mode, "nearest"))
        ipex_import_refuse(import, "mode %s is not supported", mode);
    else if (strcmp(padding, "zeros") && strcmp(padding, "border"))
        ipex_import_refuse(import, "padding_mode %s is not supported", padding);
    else
        return true;
    return false;
}

static void import_grid_sample(struct ipex_import *import) {
    static const int32_t to_last[4] = {0, 2, 3, 1}, to_second[4] = {0, 3, 1, 2};
    struct ipex_value *x = ipex_import_f32(import, 0),
                      *grid = x ? ipex_import_f32(import, 1) : NULL;
    if (!grid || !check_grid(import, x, grid))
        return;
    struct ipex_dims *table = &import->graph->dims;
    const bool nearest = !strcmp(ipex_import_string(import, "mode", "linear"), "nearest");
    const int64_t image = ipex_dim_mul(table, x->dims[2], x->dims[3]),
                  rows[2] = {ipex_dim_mul(table, x->dims[0], image), x->dims[1]};
    struct sampler s = {.border =
                            !strcmp(ipex_import_string(import, "padding_mode", "zeros"), "border")};
    s.pixels = ipex_build_reshape(import, ipex_build_transpose(import, x, to_last), 2, rows);
    s.first = ipex_build_integer(import, IPEX_INTEGER_mul,
                                 ipex_build_count(import, IPEX_DTYPE_i64, x->dims[0], 1, 4, 0),
                                 ipex_build_size(import, IPEX_DTYPE_i64, image));
    for (int32_t axis = 0; axis < 2; axis++)
        s.at[axis] = read_coordinate(import, grid, axis, x->dims[3 - axis], nearest, s.border);
    struct ipex_value *y = look_up(import, &s, 0, 0);
    for (int corner = 1; !nearest && corner < 4; corner++)
        y = ipex_build_binary(import, IPEX_STEP_add, y,
                              look_up(import, &s, corner & 1, corner >> 1));
    if (y)
        ipex_import_out(import, 0, ipex_build_transpose(import, y, to_second));
}

const struct ipex_import_op ipex_import_grid[] = {
    {"GridSample", import_grid_sample},
    {NULL, NULL},
};
