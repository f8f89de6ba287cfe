/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes [N][C][D][H][W] as images, of which convolutions and pools are made: windows that are
 * longer than one position along H or W see [N D][C][H][W], an image for every depth; those along D
 * alone see [N][C][D][H W], an image whose lines are the depths. Channels lie last in both, so
 * going from one to the other moves nothing, and what is computed between convolutions is found
 * behind the moves (pass_affine.c, pass_epilogue.c). */
#ifndef IPEX_TOOLS_IMPORT_VOLUME_H
#define IPEX_TOOLS_IMPORT_VOLUME_H

#include "tools/convert/import_build.h"

/* A window over volumes; over images and signals it is 1 along the axes that they lack. */
struct ipex_window {
    int64_t kernel[IPEX_SPATIAL], stride[IPEX_SPATIAL], dilation[IPEX_SPATIAL]; /* D H W */
    int64_t pad[2 * IPEX_SPATIAL]; /* front top left back bottom right */
    bool same; /* as many outputs as there are strides in what it goes over, which may have been
                  padded before */
};
#define IPEX_WINDOW_ONE                                                                            \
    {                                                                                              \
        .kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = { 1, 1, 1 }                          \
    }

/* All but the pads are positive, and none is beyond the format's limit, which also keeps sums of
 * these numbers far from overflow. False after refusing. */
bool ipex_window_fits(struct ipex_import *import, const struct ipex_window *w);

/* The window along D, or along H and W, is of one position. */
bool ipex_window_flat(const struct ipex_window *w);
bool ipex_window_deep(const struct ipex_window *w);

/* The convolution of an image by w [M][C / groups][KH][KW] that is computed at run time, with
 * windows along H and W; NULL after refusing. */
struct ipex_value *ipex_correlate(struct ipex_import *import, struct ipex_value *x,
                                  struct ipex_value *w, const struct ipex_window *window,
                                  int64_t groups, const int64_t *out);

/* Likewise the transposed convolution by w [C][M / groups][KH][KW], which gives out_pad more at the
 * ends. */
struct ipex_value *ipex_correlate_transposed(struct ipex_import *import, struct ipex_value *x,
                                             struct ipex_value *w, const struct ipex_window *window,
                                             const int64_t *out_pad, int64_t groups,
                                             const int64_t *out);

/* Its axes [first, first + 2), as those of an image: two numbers each, and four of pad. */
void ipex_window_along(const struct ipex_window *w, int first, int64_t *kernel, int64_t *stride,
                       int64_t *dilation, int64_t *pad);

/* x is a signal (rank 3), an image or a volume; false after refusing. */
bool ipex_volume_check_rank(struct ipex_import *import, const struct ipex_value *x);
/* Its sizes along D, H and W: 1 where it has no such axis. */
void ipex_volume_sizes(const struct ipex_value *x, int64_t *ret);

struct ipex_value *ipex_volume_slices(struct ipex_import *import, struct ipex_value *x);
/* Of n volumes of so many depths. */
struct ipex_value *ipex_volume_of_slices(struct ipex_import *import, struct ipex_value *image,
                                         int64_t n, int64_t depth);
struct ipex_value *ipex_volume_lines(struct ipex_import *import, struct ipex_value *x);
struct ipex_value *ipex_volume_of_lines(struct ipex_import *import, struct ipex_value *image,
                                        int64_t height, int64_t width);

/* What a convolution of a volume by w [M][C / groups][KD][KH][KW] convolves as images, `depth` of
 * them for every volume, and by which weights: one of each, with the KD depths that a window sees
 * side by side as channels; or several, to be added, where every channel is a group. */
struct ipex_volume_parts {
    struct ipex_value **image, **weight;
    int64_t count;
};
struct ipex_volume_parts ipex_volume_windows(struct ipex_import *import, struct ipex_value *x,
                                             const struct ipex_value *w,
                                             const struct ipex_window *window, int64_t groups,
                                             int64_t depth);

/* The result [N][M][out...] of a transposed convolution by `window` along D of which image holds
 * what every depth of x gives to its taps: [N D][KD M][P][Q]. */
struct ipex_value *ipex_volume_spread(struct ipex_import *import, struct ipex_value *image,
                                      int64_t n, int64_t depth, const struct ipex_window *window,
                                      int64_t depth_out);
/* A transposed convolution's weight [C][M][KD][KH][KW] as [C][KD M][KH][KW]. */
struct ipex_value *ipex_volume_spread_weight(struct ipex_import *import,
                                             const struct ipex_value *w);

#endif
