/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's AffineGrid, and GridSample: an image or a volume looked up at computed places, which
 * deformable attention and warps are made of. Places become numbers of pixels, by which whole
 * pixels (all channels) are gathered: one for the nearest; two along every axis for linear
 * interpolation and four for cubic, which are weighted. */
#include "tools/convert/import_build.h"

#include <string.h>

enum { TAPS = 4 }; /* at most, along one axis */

enum padding { ZEROS, BORDER, REFLECTION };

/* A coordinate of every place [N][P][Q][1] ([N][O][P][Q][1] of a volume), in pixels. */
struct coordinate {
    struct ipex_value *low, *fraction; /* f32: low is a whole number; fraction NULL: the nearest */
    int64_t size;                      /* of the image along it, a dim */
    /* Of every tap, once it has been asked for: where it is in the image (i64), and its part in the
     * sum of pixels (NULL: all). */
    struct ipex_value *at[TAPS], *part[TAPS];
};

struct sampler {
    struct ipex_value *pixels; /* [N H W][C], [N D H W][C] */
    struct ipex_value *first;  /* i64 [N][1][1][1]: the number of each image's first pixel */
    int32_t axes;              /* 2 or 3 */
    int32_t taps;              /* along every axis: 1, 2 or 4 */
    enum padding padding;
    bool corners;                       /* align_corners */
    struct coordinate at[IPEX_SPATIAL]; /* x, y, z */
};

static struct ipex_value *add(struct ipex_import *import, struct ipex_value *x, float number) {
    return ipex_build_with(import, IPEX_STEP_add, x, number);
}

static struct ipex_value *minus(struct ipex_import *import, struct ipex_value *a,
                                struct ipex_value *b) {
    return ipex_build_binary(import, IPEX_STEP_sub, a, b);
}

static struct ipex_value *one_minus(struct ipex_import *import, struct ipex_value *x) {
    return add(import, ipex_build_unary(import, IPEX_STEP_neg, x), 1);
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

/* x, thrown back at both ends as often as it takes: with m = |x - low| mod 2 range it is
 * low + range - |m - range|. The ends are the middles of pixels or the image's edges. */
static struct ipex_value *reflected(struct ipex_import *import, const struct sampler *s,
                                    struct ipex_value *x, int64_t size) {
    struct ipex_value *range = length(import, size, s->corners ? -1 : 0);
    if (s->corners) /* one pixel has no range */
        range = ipex_build_with(import, IPEX_STEP_max, range, 1);
    struct ipex_value *twice = ipex_build_with(import, IPEX_STEP_mul, range, 2);
    x = ipex_build_unary(import, IPEX_STEP_abs, s->corners ? x : add(import, x, 0.5f));
    struct ipex_value *times = ipex_build_unary(import, IPEX_STEP_floor,
                                                ipex_build_binary(import, IPEX_STEP_div, x, twice));
    x = minus(import, x, ipex_build_binary(import, IPEX_STEP_mul, times, twice));
    x = ipex_build_unary(import, IPEX_STEP_abs, minus(import, x, range));
    x = minus(import, range, x);
    return s->corners ? x : add(import, x, -0.5f);
}

/* Coordinate `axis` of the grid, from -1 .. 1 to pixels. Where all taps of a place outside lie
 * beyond or next to the end, the place is moved and not every tap. (Not for cubic interpolation and
 * border, where ONNX's text would move places that are further out than the edge and no others: as
 * the frameworks do, taps are.) */
static struct coordinate read_coordinate(struct ipex_import *import, const struct sampler *s,
                                         struct ipex_value *grid, int32_t axis, int64_t size) {
    struct coordinate c = {.size = size};
    struct ipex_value *x = add(import, ipex_build_slice(import, grid, s->axes + 1, axis, 1), 1);
    if (s->corners) { /* -1 and 1 are the middles of pixels */
        x = ipex_build_with(import, IPEX_STEP_mul, x, 0.5f);
        x = ipex_build_binary(import, IPEX_STEP_mul, x, length(import, size, -1));
    } else { /* -1 and 1 are the image's edges */
        x = ipex_build_binary(import, IPEX_STEP_mul, x, length(import, size, 0));
        x = ipex_build_with(import, IPEX_STEP_mul, add(import, x, -1), 0.5f);
    }
    if (s->taps == 1)
        x = ipex_build_unary(import, IPEX_STEP_round, x);
    if (s->taps <= 2 && s->padding != ZEROS)
        x = s->padding == BORDER ? clamped(import, x, size) : reflected(import, s, x, size);
    c.low = s->taps == 1 ? x : ipex_build_unary(import, IPEX_STEP_floor, x);
    c.fraction = s->taps == 1 ? NULL : minus(import, x, c.low);
    return c;
}

/* The part of tap `step` (from low) of four: Keys' cubic convolution, a = -0.75, as polynomials in
 * how far the tap before the place, or the one behind it, is. */
static struct ipex_value *cubic(struct ipex_import *import, const struct coordinate *c, int step) {
    static const float a = -0.75f, outer[] = {a, -2 * a, a, 0}, inner[] = {a + 2, -(a + 3), 0, 1};
    const float *factor = step == 0 || step == 1 ? inner : outer;
    struct ipex_value *t = step <= 0 ? c->fraction : one_minus(import, c->fraction);
    struct ipex_value *y = ipex_build_with(import, IPEX_STEP_mul, t, factor[0]);
    for (int i = 1; i < 4; i++) {
        y = i > 1 ? ipex_build_binary(import, IPEX_STEP_mul, y, t) : y;
        y = factor[i] != 0 ? add(import, y, factor[i]) : y;
    }
    return y;
}

/* Tap `tap` of a coordinate: the whole number `low + step`, moved into the image, and what the
 * fraction says of its part; nothing where it has been moved and pixels outside are 0. */
static void make_tap(struct ipex_import *import, const struct sampler *s, struct coordinate *c,
                     int tap) {
    const int step = s->taps == TAPS ? tap - 1 : tap;
    struct ipex_value *at = step ? add(import, c->low, (float)step) : c->low, *part = c->fraction;
    if (s->taps == TAPS)
        part = cubic(import, c, step);
    else if (part && !step)
        part = one_minus(import, part);
    if (s->taps == TAPS && s->padding == REFLECTION)
        at = reflected(import, s, at, c->size);
    struct ipex_value *inside = clamped(import, at, c->size);
    if (s->padding == ZEROS) { /* 1 - min(1, how far) */
        struct ipex_value *far = ipex_build_unary(import, IPEX_STEP_abs, minus(import, at, inside));
        far = one_minus(import, ipex_build_with(import, IPEX_STEP_min, far, 1));
        part = part ? ipex_build_binary(import, IPEX_STEP_mul, part, far) : far;
    }
    c->part[tap] = part;
    c->at[tap] = ipex_build_cast(import, inside, IPEX_DTYPE_i64);
}

/* The pixels at one tap of every axis, x the fastest in `number`, weighted: [N][P][Q][C]. */
static struct ipex_value *look_up(struct ipex_import *import, struct sampler *s, int number) {
    struct ipex_value *weight = NULL, *pixel = NULL;
    for (int32_t axis = s->axes - 1, n = number; axis >= 0; axis--) {
        struct coordinate *c = &s->at[axis];
        const int tap = n / (axis == 2 ? s->taps * s->taps : axis ? s->taps : 1) % s->taps;
        if (!c->at[tap])
            make_tap(import, s, c, tap);
        if (!c->at[tap])
            return NULL;
        struct ipex_value *part = c->part[tap];
        weight = weight && part ? ipex_build_binary(import, IPEX_STEP_mul, weight, part)
                 : part         ? part
                                : weight;
        if (pixel)
            pixel = ipex_build_integer(import, IPEX_INTEGER_mul, pixel,
                                       ipex_build_size(import, IPEX_DTYPE_i64, c->size));
        pixel =
            pixel ? ipex_build_integer(import, IPEX_INTEGER_add, pixel, c->at[tap]) : c->at[tap];
    }
    pixel = ipex_build_integer(import, IPEX_INTEGER_add, pixel, s->first);
    if (!pixel)
        return NULL;
    pixel = ipex_build_reshape(import, pixel, s->axes + 1, pixel->dims);
    struct ipex_value *pixels = ipex_build_gather(import, s->pixels, pixel, 0);
    return weight ? ipex_build_binary(import, IPEX_STEP_mul, pixels, weight) : pixels;
}

static bool one_of(const char *text, const char *const *names, int *ret) {
    for (*ret = 0; names[*ret]; ++*ret)
        if (!strcmp(text, names[*ret]))
            return true;
    return false;
}

static bool read_sampler(struct ipex_import *import, const struct ipex_value *x,
                         const struct ipex_value *grid, struct sampler *s) {
    static const char *const modes[] = {"nearest", "linear", "bilinear", "cubic", "bicubic", NULL},
                             *const paddings[] = {"zeros", "border", "reflection", NULL};
    static const int32_t taps[] = {1, 2, 2, TAPS, TAPS};
    const char *mode = ipex_import_string(import, "mode", "linear"),
               *padding = ipex_import_string(import, "padding_mode", "zeros");
    int index;
    s->axes = x->rank - 2;
    s->corners = ipex_import_int(import, "align_corners", 0) != 0;
    if ((x->rank != 4 && x->rank != 5) || grid->rank != x->rank ||
        grid->dims[x->rank - 1] != s->axes || grid->dims[0] != x->dims[0])
        ipex_import_refuse(import,
                           "only images (rank 4) with a grid [N, P, Q, 2] and volumes (rank 5) "
                           "with a grid [N, O, P, Q, 3] are supported");
    else if (!one_of(mode, modes, &index))
        ipex_import_refuse(import, "mode %s is not supported", mode);
    else if ((s->taps = taps[index]) == TAPS && s->axes == 3)
        ipex_import_refuse(import, "mode %s is not supported for volumes", mode);
    else if (!one_of(padding, paddings, &index))
        ipex_import_refuse(import, "padding_mode %s is not supported", padding);
    else {
        s->padding = (enum padding)index;
        return true;
    }
    return false;
}

static void import_grid_sample(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0),
                      *grid = x ? ipex_import_f32(import, 1) : NULL;
    struct sampler s = {0};
    if (!grid || !read_sampler(import, x, grid, &s))
        return;
    const int32_t rank = x->rank;
    int32_t to_last[IPEX_MAX_RANK] = {0}, to_second[IPEX_MAX_RANK] = {0};
    struct ipex_dims *table = &import->graph->dims;
    int64_t image = 1;
    for (int32_t i = 1; i < rank; i++) {
        to_last[i] = i < rank - 1 ? i + 1 : 1;
        to_second[i] = i > 1 ? i - 1 : rank - 1;
        image = i > 1 ? ipex_dim_mul(table, image, x->dims[i]) : 1;
    }
    const int64_t rows[2] = {ipex_dim_mul(table, x->dims[0], image), x->dims[1]};
    s.pixels = ipex_build_reshape(import, ipex_build_transpose(import, x, to_last), 2, rows);
    s.first = ipex_build_integer(import, IPEX_INTEGER_mul,
                                 ipex_build_count(import, IPEX_DTYPE_i64, x->dims[0], 1, rank, 0),
                                 ipex_build_size(import, IPEX_DTYPE_i64, image));
    int corners = 1;
    for (int32_t axis = 0; axis < s.axes; axis++, corners *= s.taps)
        s.at[axis] = read_coordinate(import, &s, grid, axis, x->dims[rank - 1 - axis]);
    struct ipex_value *y = look_up(import, &s, 0);
    for (int corner = 1; corner < corners; corner++)
        y = ipex_build_binary(import, IPEX_STEP_add, y, look_up(import, &s, corner));
    if (y)
        ipex_import_out(import, 0, ipex_build_transpose(import, y, to_second));
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
    const bool corners = ipex_import_int(import, "align_corners", 0) != 0;
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
