/* SPDX-License-Identifier: Apache-2.0 */
/* What is tested at which levels. */
#include "tests/checkkern/checkkern.h"

/* The portable reference, which no level of this CPU uses by itself. */
#define IPEX_KERNEL(slot, args_struct)                                                             \
    void ipex_k_##slot##__reference(const struct args_struct *, int64_t, int64_t, void *);
#include "kernels/ops.inc"

static struct level baseline(void) {
    struct level ret = {.name = "reference without FMA", .isa = IPEX_ISA_reference};
#define IPEX_KERNEL(slot, args_struct) ret.kernels.slot = ipex_k_##slot##__reference;
#include "kernels/ops.inc"
    return ret;
}

size_t make_levels(enum ipex_isa only, struct level *levels) {
    struct ipex_cpu cpu;
    int error;
    ipex_cpu_detect(&cpu);
    if (ipex_cpu_amx(IPEX_AMX_ASK_PERMISSION, &error) != IPEX_AMX_permitted)
        cpu.features &= ~(uint32_t)IPEX_CPU_AMX;
    size_t n = 0;
    for (int i = IPEX_ISA_reference; i <= IPEX_ISA_amx; i++) {
        const enum ipex_isa isa = (enum ipex_isa)i;
        const bool chosen = only == IPEX_ISA_AUTO || isa == only || isa == IPEX_ISA_reference;
        if (!chosen || !ipex_isa_usable(isa, cpu.features))
            continue;
        levels[n] = (struct level){.name = ipex_isa_name(isa), .isa = isa};
        ipex_kernels_init(&levels[n++].kernels, NULL, isa);
        if (isa == IPEX_ISA_reference)
            levels[n++] = baseline();
    }
    return n;
}

void check_all(const struct context *context) {
    check_math(context);
    check_conv(context);
    check_u8(context);
    check_winograd(context);
    check_depthwise(context);
    check_pool(context);
    check_pointwise(context);
    check_rows(context);
    check_move(context);
    check_products(context);
    check_linear_blocks(context);
    check_matmul_u8(context);
    check_norms(context);
    check_recurrent(context);
    check_image(context);
    check_grid(context);
    check_element(context);
    check_order(context);
}
