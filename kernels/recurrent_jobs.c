/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and scratch of recurrent layers: the same at every ISA level. */
#include "kernels/recurrent_jobs.h"

int64_t ipex_recurrent_jobs(const struct ipex_recurrent_args *args) {
    return args->directions * ipex_div_up(args->batches, args->batches_per_job);
}

size_t ipex_recurrent_scratch(const struct ipex_recurrent_args *args) {
    return (size_t)ipex_recurrent_layout(args).total * sizeof(float);
}
