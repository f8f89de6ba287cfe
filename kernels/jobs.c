/* SPDX-License-Identifier: Apache-2.0 */
/* How many jobs a step has and how much scratch each thread needs: the same at every ISA level. */
#include "kernels/conv_parts.h"
#include "kernels/resize_taps.h"

int64_t ipex_conv_jobs(const struct ipex_conv_args *args) {
    return args->images * ipex_div_up(args->lines, args->lines_per_job) * args->groups *
           ipex_div_up(ipex_conv_panels(args), args->panels_per_job);
}

int64_t ipex_winograd_jobs(const struct ipex_winograd_args *args) {
    return ipex_div_up(ipex_winograd_tiles(args), args->tiles_per_job) *
           ipex_div_up(ipex_div_up(args->n, IPEX_PANEL), args->panels_per_job);
}

int64_t ipex_depthwise_jobs(const struct ipex_depthwise_args *args) {
    return args->images * ipex_div_up(args->lines, args->lines_per_job);
}

int64_t ipex_pool_jobs(const struct ipex_pool_args *args) {
    return (int64_t)args->images * args->lines;
}

int64_t ipex_pointwise_jobs(const struct ipex_pointwise_args *args) {
    return ipex_div_up(ipex_row_count(args->dims, 0, args->rank - 1), args->rows_per_job);
}

int64_t ipex_conv_transpose_jobs(const struct ipex_conv_transpose_args *args) {
    return args->images * ipex_div_up(args->lines, args->lines_per_job) * args->groups *
           ipex_div_up(ipex_div_up(args->n, IPEX_PANEL), args->panels_per_job);
}

int64_t ipex_resize_jobs(const struct ipex_resize_args *args) {
    return args->images * ipex_div_up(args->lines, args->lines_per_job);
}

int64_t ipex_gather_jobs(const struct ipex_gather_args *args) {
    return ipex_div_up(args->outer * args->count, args->rows_per_job);
}

int64_t ipex_map_jobs(const struct ipex_map_args *args) {
    return ipex_div_up(ipex_row_count(args->dims, 0, args->rank - 1), args->rows_per_job);
}

size_t ipex_conv_scratch(const struct ipex_conv_args *args) {
    return args->planar ? (size_t)ipex_conv_parts(args, IPEX_PANEL).total * sizeof(float) : 0;
}

size_t ipex_winograd_scratch(const struct ipex_winograd_args *args) {
    return (size_t)ipex_winograd_space(args).total * sizeof(float);
}

size_t ipex_pointwise_scratch(const struct ipex_pointwise_args *args) {
    return (size_t)args->registers * IPEX_POINTWISE_BLOCK * sizeof(float);
}

/* The columns of x and their weights, for every pixel of a line. */
size_t ipex_resize_scratch(const struct ipex_resize_args *args) {
    return (size_t)args->pixels * sizeof(struct ipex_resize_taps);
}
