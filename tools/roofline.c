/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes are counted once each, whatever the order in which a kernel walks them: what is more than
 * that is the kernel's doing. */
#include "tools/roofline.h"

#include <string.h>

/* bf16 is widened where there is nothing faster. */
double ipex_machine_peak_gflops(const struct ipex_machine *machine, enum ipex_isa isa,
                                enum ipex_dtype dtype) {
    double best = 0;
    for (size_t i = 0; i < machine->peaks; i++) {
        const struct ipex_machine_peak *peak = &machine->peak[i];
        const bool fits =
            peak->isa <= isa && (peak->dtype == IPEX_DTYPE_f32 || peak->dtype == dtype);
        if (fits && peak->gflops.all > best)
            best = peak->gflops.all;
    }
    return best;
}

/* The nearest that holds so many bytes; NULL: none was measured. */
static const struct ipex_machine_store *store_of(const struct ipex_machine *machine, double bytes) {
    for (size_t i = 0; i < machine->stores; i++) {
        const struct ipex_machine_store *store = &machine->store[i];
        const double room = (double)store->size * (store->own ? machine->threads : 1);
        if (!store->size || bytes <= room)
            return store;
    }
    return NULL;
}

struct ipex_roofline ipex_machine_roofline(const struct ipex_machine *machine, enum ipex_isa isa,
                                           enum ipex_dtype dtype, double flops, double bytes) {
    const double gflops = ipex_machine_peak_gflops(machine, isa, dtype);
    const struct ipex_machine_store *store = store_of(machine, bytes);
    if (!(gflops > 0) || !store || !(store->gbs.all > 0))
        return (struct ipex_roofline){.store = ""};
    return (struct ipex_roofline){flops / gflops * 1e-3, bytes / store->gbs.all * 1e-3,
                                  store->name};
}

double ipex_roofline_us(const struct ipex_roofline *bound) {
    return bound->computing_us > bound->reading_us ? bound->computing_us : bound->reading_us;
}

enum ipex_isa ipex_step_isa(enum ipex_isa session, bool tiles) {
    return session == IPEX_ISA_amx && !tiles ? IPEX_ISA_avx512_bf16 : session;
}

struct ipex_roofline ipex_step_roofline(const struct ipex_machine *machine, enum ipex_isa isa,
                                        const struct ipex_step_info *step) {
    const double flops = (double)(step->flops - step->spared_flops);
    const bool of_bf16 = strstr(step->kernel, "_bf16t__") || strstr(step->kernel, "_bf16__");
    const bool of_bytes =
        strstr(step->kernel, "conv_u8__") || strstr(step->kernel, "depthwise_u8__") ||
        strstr(step->kernel, "matmul_u8__") || strstr(step->kernel, "linear_blocks_i8__");
    const bool tiles = strstr(step->kernel, "_bf16t__") || !strcmp(step->kernel, "conv_u8__amx");
    return ipex_machine_roofline(machine, ipex_step_isa(isa, tiles),
                                 of_bf16    ? IPEX_DTYPE_bf16
                                 : of_bytes ? IPEX_DTYPE_u8
                                            : IPEX_DTYPE_f32,
                                 flops, (double)step->bytes);
}
