/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's Col2Im over images: blocks [N][C KH KW][LH LW] are laid where they came from and added.
 * Positions of a block that lie closer together than blocks do touch those of its neighbours: of
 * all blocks they make one whole image by a transposition. As many of these as a block is strides
 * long are added, one further on than the other; one where blocks do not overlap. */
#include "tools/convert/import_build.h"

#include "format/check.h"

enum { PARTS_MAX = 1024 }; /* along an axis: each is a node */

/* Along H or W. */
struct fold {
    int64_t kernel, stride, dilation, before, after; /* numbers; before and after: what is cut */
    int64_t out, blocks;                             /* dims */
    int64_t parts, taps; /* a block is so many parts of so many positions, rounded up */
    int64_t apart;       /* of parts */
};

static bool read_fold(struct ipex_import *import, struct fold *f) {
    int64_t kernel[IPEX_MAX_RANK], stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[6] = {0},
                                   out[IPEX_MAX_RANK];
    const int sizes = ipex_import_dims(import, "image_shape", 1, out, IPEX_MAX_RANK),
              kernels = sizes < 0
                            ? -1
                            : ipex_import_ints(import, "block_shape", 2, kernel, IPEX_MAX_RANK);
    if (kernels < 0)
        return false;
    if (sizes != 2 || kernels != 2) {
        ipex_import_refuse(
            import, "image_shape has %d elements and block_shape %d; only images (2) are supported",
            sizes, kernels);
        return false;
    }
    if (!ipex_build_spatial(import, "strides", 2, stride) ||
        !ipex_build_spatial(import, "dilations", 2, dilation) || !ipex_build_pads(import, 2, pad))
        return false;
    for (int i = 0; i < 2; i++) {
        f[i] = (struct fold){kernel[i],  stride[1 + i], dilation[1 + i],
                             pad[1 + i], pad[4 + i],    .out = out[i]};
        const int64_t number[] = {f[i].kernel, f[i].stride, f[i].dilation, f[i].before, f[i].after};
        for (int k = 0; k < 5; k++)
            if (number[k] < (k < 3) || number[k] > IPEX_WINDOW_MAX) {
                ipex_import_refuse(import,
                                   "block %lld, stride %lld, dilation %lld and pads %lld and %lld: "
                                   "at least 1, pads 0, and at most %d are supported",
                                   (long long)f[i].kernel, (long long)f[i].stride,
                                   (long long)f[i].dilation, (long long)f[i].before,
                                   (long long)f[i].after, IPEX_WINDOW_MAX);
                return false;
            }
    }
    return true;
}

/* How many blocks there are, and what they are made of. False after refusing. */
static bool plan_fold(struct ipex_import *import, struct fold *f) {
    struct ipex_dims *dims = &import->graph->dims;
    const int64_t span = f->dilation * (f->kernel - 1) + 1;
    int64_t least, most;
    const int64_t room = ipex_dim_sub(dims, ipex_dim_add(dims, f->out, f->before + f->after), span);
    ipex_dim_range(dims, room, &least, &most);
    if (least < 0) {
        ipex_import_refuse(import, "a block of %lld can be larger than the padded image (%s)",
                           (long long)span, ipex_import_text(import, f->out));
        return false;
    }
    f->blocks = ipex_dim_add(dims, ipex_dim_floor_div(dims, room, f->stride), 1);
    f->taps = f->dilation > 1 ? 1 : f->kernel < f->stride ? f->kernel : f->stride;
    f->parts = (f->kernel + f->taps - 1) / f->taps;
    f->apart = f->dilation > 1 ? f->dilation : f->stride;
    if (f->parts > PARTS_MAX)
        ipex_import_refuse(import,
                           "blocks of %lld every %lld (dilation %lld) are %lld parts to be added; "
                           "at most %d are supported",
                           (long long)f->kernel, (long long)f->stride, (long long)f->dilation,
                           (long long)f->parts, PARTS_MAX);
    return f->parts <= PARTS_MAX;
}

/* Adds what lies along `part` of x, each `apart` further on along `axis`, and cuts the result. */
static struct ipex_value *add_parts(struct ipex_import *import, struct ipex_value *x, int32_t part,
                                    int32_t axis, const struct fold *f) {
    struct ipex_value **y = ipex_arena_array(&import->graph->arena, (size_t)f->parts, sizeof *y);
    for (int64_t i = 0; i < f->parts; i++)
        y[i] = f->parts > 1 ? ipex_build_slice(import, x, part, i, 1) : x;
    return ipex_build_overlapped(import, f->parts, y, axis, f->apart, f->before, f->out);
}

/* x [N C][KH][KW][LH][LW] -> [N C][H][W] */
static struct ipex_value *fold(struct ipex_import *import, struct ipex_value *x,
                               const struct fold *f) {
    static const int32_t beside[] = {0, 1, 3, 5, 2, 6, 4};
    struct ipex_dims *dims = &import->graph->dims;
    for (int i = 0; i < 2; i++)
        x = ipex_build_zeros(import, x, 1 + i, 0, f[i].parts * f[i].taps - f[i].kernel);
    const int64_t apart[] = {x->dims[0], f[0].parts,  f[0].taps,  f[1].parts,
                             f[1].taps,  f[0].blocks, f[1].blocks};
    x = ipex_build_reshape(import, x, 7, apart);
    for (int i = 0; i < 2; i++)
        x = ipex_build_zeros(import, x, 2 + 2 * i, 0, f[i].stride - f[i].taps);
    const int64_t images[] = {apart[0], f[0].parts, f[1].parts,
                              ipex_dim_mul(dims, f[0].blocks, f[0].stride),
                              ipex_dim_mul(dims, f[1].blocks, f[1].stride)};
    x = ipex_build_reshape(import, ipex_build_transpose(import, x, beside), 5, images);
    return add_parts(import, add_parts(import, x, 2, 4, &f[1]), 1, 3, &f[0]);
}

static void import_col2im(struct ipex_import *import) {
    struct ipex_value *x = ipex_import_f32(import, 0);
    struct fold f[2];
    if (!x || !read_fold(import, f) || !plan_fold(import, &f[0]) || !plan_fold(import, &f[1]))
        return;
    struct ipex_dims *dims = &import->graph->dims;
    const int64_t block = f[0].kernel * f[1].kernel,
                  blocks = ipex_dim_mul(dims, f[0].blocks, f[1].blocks);
    if (x->rank != 3 || x->dims[1] < 0 || x->dims[1] % block || x->dims[2] != blocks) {
        ipex_import_refuse(import,
                           "the input has to be [N, C * %lld * %lld, %s * %s], as its block and "
                           "image shapes, strides, dilations and pads say",
                           (long long)f[0].kernel, (long long)f[1].kernel,
                           ipex_import_text(import, f[0].blocks),
                           ipex_import_text(import, f[1].blocks));
        return;
    }
    const int64_t c = x->dims[1] / block, n = ipex_dim_mul(dims, x->dims[0], c),
                  apart[] = {n, f[0].kernel, f[1].kernel, f[0].blocks, f[1].blocks},
                  image[] = {x->dims[0], c, f[0].out, f[1].out};
    struct ipex_value *y = fold(import, ipex_build_reshape(import, x, 5, apart), f);
    if (y)
        ipex_import_out(import, 0, ipex_build_reshape(import, y, 4, image));
}

const struct ipex_import_op ipex_import_blocks[] = {
    {"Col2Im", import_col2im},
    {NULL, NULL},
};
