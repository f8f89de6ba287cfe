/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and scratch of recurrent layers: the same at every ISA level. */
#include "kernels/recurrent_jobs.h"

int64_t ipex_recurrent_jobs(const struct ipex_recurrent_args *args) {
    return ipex_recurrent_blocks(args) * args->parts;
}

int64_t ipex_recurrent_rounds(const struct ipex_recurrent_args *args) {
    return args->parts > 1 ? args->times : 1;
}

size_t ipex_recurrent_scratch(const struct ipex_recurrent_args *args) {
    return (size_t)ipex_recurrent_layout(args).total * sizeof(float);
}
