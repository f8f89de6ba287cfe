/* SPDX-License-Identifier: Apache-2.0 */
/* How a node of the file becomes a kernel call. A binder (one per operator, runtime/ops/) sees
 * shapes and strides, never addresses: it fills the kernel's arguments and says which pointer field
 * means which operand. The plan builder puts the addresses in. All choices are made here: block
 * sizes, loop orders, number of jobs.
 *
 * Where dims depend on symbols, a node is bound again whenever they change, in memory that was
 * measured at both ends of their ranges. So args_size and the number of refs must follow from the
 * node alone, and scratch and zeros must not shrink where dims grow. */
#ifndef IPEX_RUNTIME_BIND_H
#define IPEX_RUNTIME_BIND_H

#include <stddef.h>

#include "format/check.h"
#include "kernels/kernels.h"
#include "runtime/loops.h"

/* What a session has decided before anything is bound. */
struct ipex_setup {
    struct ipex_kernels kernels;
    struct ipex_kernel_names names;
    enum ipex_isa isa;
    enum ipex_arithmetic arithmetic;
    enum ipex_amx_state amx;
    int32_t threads;
    bool callers_threads; /* not a pool's: what one call of them costs is not known */
    int32_t l2_bytes;
    int32_t l1_ways; /* lines of L1 whose addresses may be multiples of IPEX_L1_SET_BYTES apart */
    bool splits_512, few_shuffles; /* see enum ipex_cpu_feature */
    bool no_bands;                 /* members of band groups are run one by one */
};

#define IPEX_BIND_INPUTS 8
#define IPEX_BIND_REFS   12
#define IPEX_BIND_FILLS  (2 * IPEX_MAX_RANK + 4 * IPEX_OUTPUTS_MAX) /* borders of a pad, halos */

/* Columns of a product, or of a kernel row, that leave so many lanes of a panel empty that pixels
 * go into lanes instead (planar, few). */
#define IPEX_FEW_COLUMNS 4

/* What a pointer field points to: an input by its number, an output (IPEX_REF_OUTPUT + its number),
 * or one of these. */
enum ipex_ref_target {
    IPEX_REF_OUTPUT = IPEX_BIND_INPUTS,
    IPEX_REF_ZEROS = IPEX_REF_OUTPUT + IPEX_OUTPUTS_MAX, /* `zeros` zero bytes */
    IPEX_REF_PROGRAM,                                    /* `program` */
    IPEX_REF_CHAINS,                                     /* `chains` */
    IPEX_REF_CONSTANTS,                                  /* the node's own floats, in the image */
};

struct ipex_ref {
    uint32_t field; /* offset of the pointer in the arguments */
    uint32_t target;
    int64_t delta; /* elements from the operand's element (0, ..., 0) */
};

/* A box of an output that is filled before the kernel runs. */
struct ipex_bind_fill {
    struct ipex_fill_args args;
    int64_t delta;   /* elements from the output's element (0, ..., 0) */
    uint32_t output; /* its number */
};

struct ipex_bind {
    /* given */
    const struct ipex_setup *setup;
    uint32_t op;
    const int32_t *ints;
    const float *floats;
    uint32_t n_ints, n_floats, n_inputs, n_outputs;
    const struct ipex_tensor_info *input[IPEX_BIND_INPUTS]; /* NULL: absent */
    union {
        const struct ipex_tensor_info *output; /* the first, for operators with one */
        const struct ipex_tensor_info *outputs[IPEX_OUTPUTS_MAX];
    };
    bool lines; /* lines of y must be lines of the kernel: they will be cut into bands */
    bool dense; /* bound again, to dense copies, input 0 in `order` where that was asked for */

    /* found */
    ipex_kernel_fn fn;
    const char *kernel;
    size_t args_size;
    int64_t jobs, rounds; /* rounds 0: one; else all jobs of a round precede those of the next, and
                           * have one scratch together */
    int64_t flops, spared_flops;
    size_t scratch; /* bytes per thread */
    size_t zeros;   /* bytes */
    uint32_t n_refs, n_fills, n_program;
    bool reorder; /* with NEEDS_DENSE: axis d of input 0's copy is axis order[d] of the original */
    int8_t order[IPEX_MAX_RANK];
    union {
        struct ipex_conv_args conv;
        struct ipex_blocks_args blocks;
        struct ipex_winograd_args winograd;
        struct ipex_depthwise_args depthwise;
        struct ipex_pool_args pool;
        struct ipex_pointwise_args pointwise;
        struct ipex_move_args move;
        struct ipex_softmax_args softmax;
        struct ipex_reduce_args reduce;
        struct ipex_matmul_args matmul;
        struct ipex_attention_args attention;
        struct ipex_layer_norm_args layer_norm;
        struct ipex_group_norm_args group_norm;
        struct ipex_recurrent_args recurrent;
        struct ipex_conv_transpose_args conv_transpose;
        struct ipex_resize_args resize;
        struct ipex_grid_args grid;
        struct ipex_gather_args gather;
        struct ipex_scatter_args scatter;
        struct ipex_pad_args pad;
        struct ipex_map_args map;
        struct ipex_arg_args arg;
        struct ipex_topk_args topk;
        struct ipex_cumsum_args cumsum;
    } args;
    struct ipex_ref ref[IPEX_BIND_REFS];
    struct ipex_bind_fill fill[IPEX_BIND_FILLS];
    struct ipex_pointwise_step program[IPEX_POINTWISE_STEPS];
    struct ipex_chains chains;
};

enum ipex_bound {
    IPEX_BOUND,
    IPEX_BOUND_NEEDS_DENSE, /* strides do not suit the kernel: bind again with dense copies */
    IPEX_BOUND_TOO_LARGE,   /* a count does not fit the kernel's arguments */
};

/* One per operator of format/ops.inc. */
#define IPEX_OP(id, name, min_in, max_in, n_out, n_ints, n_floats)                                 \
    enum ipex_bound ipex_bind_##name(struct ipex_bind *bind);
#include "format/ops.inc"

/* Chooses the kernel of a slot; `member` of the union holds its arguments. */
#define IPEX_BIND_KERNEL(bind, slot, member)                                                       \
    ((bind)->fn = (ipex_kernel_fn)(bind)->setup->kernels.slot,                                     \
     (bind)->kernel = (bind)->setup->names.slot, (bind)->args_size = sizeof(bind)->args.member)

/* The same of the slots for bf16, by the session's profile. */
#define IPEX_BIND_BF16_KERNEL(bind, operation, member)                                             \
    ((bind)->setup->arithmetic == IPEX_ARITHMETIC_bf16_amx                                         \
         ? IPEX_BIND_KERNEL(bind, operation##_bf16t, member)                                       \
         : IPEX_BIND_KERNEL(bind, operation##_bf16, member))

/* Declares that pointer `name` of `member` points `shift` elements behind the target's first. */
#define IPEX_BIND_REF(bind, member, name, target_, shift)                                          \
    ((bind)->ref[(bind)->n_refs++] =                                                               \
         (struct ipex_ref){.field = (uint32_t)((const uint8_t *)&(bind)->args.member.name -        \
                                               (const uint8_t *)&(bind)->args),                    \
                           .target = (target_),                                                    \
                           .delta = (shift)})

/* True when every value fits a field of 32 bits. */
static inline bool ipex_fits_i32(int64_t value) {
    return value >= INT32_MIN && value <= INT32_MAX;
}

static inline int64_t ipex_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t ipex_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline int64_t ipex_ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

/* Products of counts for reports and estimates: saturating. */
static inline int64_t ipex_mul_sat(int64_t a, int64_t b) {
    int64_t ret;
    return __builtin_mul_overflow(a, b, &ret) ? INT64_MAX : ret;
}

static inline int64_t ipex_add_sat(int64_t a, int64_t b) {
    int64_t ret;
    return __builtin_add_overflow(a, b, &ret) ? INT64_MAX : ret;
}

/* Elements of a resolved tensor (its caps keep the product in range). */
static inline int64_t ipex_info_numel(const struct ipex_tensor_info *info) {
    int64_t ret = 1;
    for (int32_t d = 0; d < info->rank; d++)
        ret *= info->dims[d];
    return ret;
}

/* Whether dims [begin, end) are walked as one, of an operand that may be absent (*ret 0), and by
 * which stride (runtime/loops.h). */
static inline bool ipex_info_stride(const struct ipex_tensor_info *info, int32_t begin, int32_t end,
                                    int64_t *ret) {
    *ret = 0;
    return info == NULL || ipex_loops_merge(info->dims, info->strides, begin, end, ret);
}

/* Input 2 of a layer of so many outputs: where there is none its bias is zeros. */
#define IPEX_BIND_BIAS(bind_, member, outputs)                                                     \
    do {                                                                                           \
        if ((bind_)->input[2] == NULL)                                                             \
            (bind_)->zeros =                                                                       \
                (size_t)ipex_ceil_div(outputs, IPEX_PANEL) * IPEX_PANEL * sizeof(float);           \
        IPEX_BIND_REF(bind_, member, bias, (bind_)->input[2] != NULL ? 2 : IPEX_REF_ZEROS, 0);     \
    } while (0)

/* A linear layer of a weight in f16 (ops/linear_blocks.c). */
enum ipex_bound ipex_bind_linear_f16(struct ipex_bind *bind);

/* Whether the arguments are a convolution's: depthwise's are, too, on bytes. */
static inline bool ipex_bind_has_conv(const struct ipex_bind *bind) {
    return bind->op == IPEX_OP_conv ||
           (bind->op == IPEX_OP_depthwise && bind->input[1]->dtype == IPEX_DTYPE_i8);
}
/* Sets those of depthwise but for its jobs (ops/linear_conv.c); false: they do not fit. */
bool ipex_bind_depthwise_u8(struct ipex_bind *bind);

/* Padding above and below (axis 0), or left and right (1), of the image that a convolution's window
 * (its ints) sees: from that of the first line follows that of the last. */
static inline struct ipex_padding ipex_bind_padding(const struct ipex_bind *bind, int axis) {
    const int32_t *window = bind->ints + axis; /* those of W follow those of H */
    const int64_t kernel =
        (int64_t)(window[IPEX_CONV_KERNEL_H] - 1) * window[IPEX_CONV_DILATION_H] + 1;
    const int64_t last = (bind->output->dims[1 + axis] - 1) * window[IPEX_CONV_STRIDE_H];
    return (struct ipex_padding){
        .above = window[IPEX_CONV_PAD_TOP],
        .below = last + kernel - window[IPEX_CONV_PAD_TOP] - bind->input[0]->dims[1 + axis],
        .stride = window[IPEX_CONV_STRIDE_H],
        .dilation = window[IPEX_CONV_DILATION_H],
    };
}

/* With several threads a step is cut into at least this many jobs where it is long enough. */
static inline int64_t ipex_jobs_wanted(const struct ipex_setup *setup) {
    return setup->threads > 1 ? 4 * (int64_t)setup->threads : 1;
}

/* So many units of `unit_cost` (flops or elements) each are worth a job of `job_cost`. */
static inline int64_t ipex_units_worth(int64_t job_cost, int64_t unit_cost) {
    return ipex_ceil_div(job_cost, ipex_max_i64(1, unit_cost));
}

/* Blocks of `count` units: large enough that they are worth a job, small enough for the jobs
 * wanted. (Convolutions, which take most of the time, are cut into even shares: runtime/cut.h.) */
static inline int64_t ipex_block_size(const struct ipex_setup *setup, int64_t count,
                                      int64_t unit_cost, int64_t job_cost) {
    const int64_t least = ipex_units_worth(job_cost, unit_cost);
    const int64_t share = ipex_ceil_div(count, ipex_jobs_wanted(setup));
    return ipex_max_i64(1, ipex_min_i64(count, ipex_max_i64(least, share)));
}

/* Whether the last panel of n columns has so few that pixels go into lanes for them, and that is
 * worth while: `pixels` that follow each other, k elements of each, x_pixel apart (elements). */
bool ipex_last_columns_few(const struct ipex_bind *bind, int64_t n, int64_t pixels, int64_t k,
                           int64_t x_pixel);

#endif
