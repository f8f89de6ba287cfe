/* SPDX-License-Identifier: Apache-2.0 */
/* matmul and attention: batch dims become a nest of loops with strides of 0 where an operand is
 * broadcast, and blocks are chosen so that what is packed stays in L2. */
#include "runtime/bind.h"
#include "runtime/loops.h"

#include <string.h>

/* A job below this many flops costs more to hand out than another thread saves. */
#define JOB_FLOPS 1000000

/* Rows that make packing their right operand worth while: a multiple of all register blocks. */
#define ROWS_WORTH 84

/* Bytes of packed keys and values, and of scores, that may lie outside L2 rather than be packed
 * again. */
#define PACKED_MOST (4 << 20)
#define SCORES_MOST (8 << 20)

/* Few queries multiply what is packed once only: it stays in L1 until they have. Bytes, half of
 * them of keys. */
#define FEW_PACKED (64 << 10)

#define ROWS_LEAST     14 /* of scores: a register block of the widest level */
#define MATMUL_K_LEAST 256
#define K_TILE         32 /* blocks of K and of keys are multiples */

static bool set_i32(int32_t *field, int64_t value) {
    *field = (int32_t)value;
    return ipex_fits_i32(value);
}

static int64_t round_up_16(int64_t n) {
    return ipex_ceil_div(n, IPEX_PANEL) * IPEX_PANEL;
}

static int64_t dim_from_end(const struct ipex_tensor_info *x, int32_t i) {
    return i <= x->rank ? x->dims[x->rank - i] : 1;
}

/* Of the i-th dim from the last: 0 where there is none, or one element. */
static int64_t stride_from_end(const struct ipex_tensor_info *x, int32_t i) {
    return i <= x->rank && x->dims[x->rank - i] != 1 ? x->strides[x->rank - i] : 0;
}

/* Between rows. Of a single row it may be anything: its length then. */
static int64_t row_stride(const struct ipex_tensor_info *x) {
    return dim_from_end(x, 2) != 1 ? stride_from_end(x, 2) : dim_from_end(x, 1);
}

/* ---- matmul ---- */

/* Where b is one matrix for all of a batch, and rows follow rows, the batch is more rows. */
static void fold_batch(struct ipex_loops *loops, struct ipex_matmul_args *args, int64_t *m) {
    while (loops->rank > 0) {
        const int32_t d = loops->rank - 1;
        if (loops->dims[d] != 1 &&
            (loops->stride[1][d] != 0 || loops->stride[0][d] != *m * args->a_row ||
             loops->stride[2][d] != *m * args->y_row))
            return;
        *m *= loops->dims[d];
        loops->rank--;
    }
}

/* Panels that stay in L2, `fit` of them, and rows and columns for all threads: `wanted` jobs. */
static void share_matmul(const struct ipex_setup *setup, struct ipex_matmul_args *args, int64_t fit,
                         int64_t wanted) {
    args->cache_l2 = setup->l2_bytes;
    args->columns_per_job = (int32_t)ipex_min_i64(round_up_16(args->n), fit * IPEX_PANEL);
    args->rows_per_job = args->m;
    while (ipex_matmul_jobs(args) < wanted) {
        const int64_t flops =
            ipex_mul_sat(2 * (int64_t)args->rows_per_job, (int64_t)args->columns_per_job * args->k);
        if (flops < 2 * JOB_FLOPS)
            return;
        if (args->columns_per_job > 4 * IPEX_PANEL)
            args->columns_per_job =
                (int32_t)(ipex_ceil_div(args->columns_per_job, 8 * IPEX_PANEL) * 4 * IPEX_PANEL);
        else if (args->rows_per_job > ROWS_WORTH)
            args->rows_per_job = (args->rows_per_job + 1) / 2;
        else
            return;
    }
}

static void choose_matmul_blocks(const struct ipex_setup *setup, struct ipex_matmul_args *args) {
    const int64_t budget = setup->l2_bytes / 2, column = IPEX_PANEL * (int64_t)sizeof(float);
    const int64_t k_most = ipex_max_i64(MATMUL_K_LEAST, budget / (4 * column) / K_TILE * K_TILE);
    args->k_block = (int32_t)ipex_min_i64(round_up_16(args->k), k_most);
    share_matmul(setup, args, ipex_max_i64(4, budget / (args->k_block * column) / 4 * 4),
                 ipex_jobs_wanted(setup));
}

/* Of bytes all of K at once, and half as many jobs: what each packs, or copies, is more of it (2
 * threads, Zen 4: products of DeiT-tiny's three heads take 0.89 of the time, the network 0.976). */
static void choose_byte_blocks(struct ipex_bind *bind) {
    struct ipex_matmul_args *args = &bind->args.matmul;
    const int64_t panel = ipex_matmul_u8_panel(args), budget = bind->setup->l2_bytes / 2;
    share_matmul(bind->setup, args, ipex_max_i64(1, budget / panel),
                 ipex_jobs_wanted(bind->setup) / 2);
    bind->scratch = ipex_matmul_u8_scratch_most(args, budget);
}

/* Scratch and zeros are stated as bounds that grow with every dim, not as what these blocks take: a
 * session with symbols is measured at the ends of their ranges. */
static void bound_matmul_memory(struct ipex_bind *bind) {
    const struct ipex_matmul_args *args = &bind->args.matmul;
    const int64_t size = (int64_t)sizeof(float);
    const int64_t least = 4 * IPEX_PANEL * MATMUL_K_LEAST * size;
    const int64_t most = ipex_max_i64(bind->setup->l2_bytes / 2, least);
    const int64_t columns = round_up_16(ipex_max_i64(args->m, args->n)); /* turned, or not */
    const int64_t packed = ipex_mul_sat(round_up_16(args->k) * size, columns);
    bind->scratch = (size_t)ipex_min_i64(packed, most);
    bind->zeros = (size_t)ipex_min_i64(columns * size, most / IPEX_PANEL);
}

/* One column: the same chains as those of one row, which wastes no lanes, if y is dense. */
static bool is_column(const struct ipex_matmul_args *args) {
    return args->n == 1 && args->m > 1 && args->y_row == 1 &&
           (args->transposed || args->b_row == 1);
}

static void turn_column(struct ipex_matmul_args *args) {
    int64_t batch[8];
    memcpy(batch, args->a_batch, sizeof batch);
    memcpy(args->a_batch, args->b_batch, sizeof batch);
    memcpy(args->b_batch, batch, sizeof batch);
    args->b_row = args->a_row;
    args->a_row = args->k;
    args->y_row = args->n = args->m;
    args->m = 1;
    args->transposed = true;
}

static void bind_bytes(struct ipex_bind *bind) {
    struct ipex_matmul_args *args = &bind->args.matmul;
    args->a_zero = bind->ints[IPEX_MATMUL_A_ZERO];
    args->b_zero = bind->ints[IPEX_MATMUL_B_ZERO];
    args->y_scale = bind->floats[IPEX_MATMUL_Y_SCALE];
    args->y_zero = bind->floats[IPEX_MATMUL_Y_ZERO];
    choose_byte_blocks(bind);
    IPEX_BIND_REF(bind, matmul, a, 0, 0);
    IPEX_BIND_REF(bind, matmul, b, 1, 0);
    if (bind->output->dtype == IPEX_DTYPE_u8)
        IPEX_BIND_REF(bind, matmul, y_u8, IPEX_REF_OUTPUT, 0);
    else
        IPEX_BIND_REF(bind, matmul, y, IPEX_REF_OUTPUT, 0);
    bind->jobs = ipex_matmul_jobs(args);
    IPEX_BIND_KERNEL(bind, matmul_u8, matmul);
}

enum ipex_bound ipex_bind_matmul(struct ipex_bind *bind) {
    const struct ipex_tensor_info *a = bind->input[0], *b = bind->input[1], *y = bind->output;
    struct ipex_matmul_args *args = &bind->args.matmul;
    struct ipex_loops loops = {.rank = y->rank - 2, .operands = 3};
    for (int32_t d = 0; d < loops.rank; d++) {
        loops.dims[d] = y->dims[d];
        loops.stride[0][d] = stride_from_end(a, y->rank - d);
        loops.stride[1][d] = stride_from_end(b, y->rank - d);
        loops.stride[2][d] = y->strides[d];
    }
    int64_t m = dim_from_end(y, 2);
    args->a_row = row_stride(a);
    args->b_row = row_stride(b);
    args->y_row = row_stride(y);
    args->transposed = bind->ints[IPEX_MATMUL_TRANS_B] != 0;
    args->scale = bind->floats[IPEX_MATMUL_SCALE];
    fold_batch(&loops, args, &m);
    if (!set_i32(&args->m, m) || !set_i32(&args->n, dim_from_end(y, 1)) ||
        !set_i32(&args->k, dim_from_end(a, 1)))
        return IPEX_BOUND_TOO_LARGE;
    ipex_loops_collapse(&loops, 0, INT64_MAX);
    args->batch_rank = loops.rank;
    memcpy(args->batch, loops.dims, sizeof args->batch);
    memcpy(args->a_batch, loops.stride[0], sizeof args->a_batch);
    memcpy(args->b_batch, loops.stride[1], sizeof args->b_batch);
    memcpy(args->y_batch, loops.stride[2], sizeof args->y_batch);
    bind->flops = ipex_mul_sat(ipex_info_numel(y), 2 * (int64_t)args->k);
    if (a->dtype == IPEX_DTYPE_u8) {
        bind_bytes(bind);
        return IPEX_BOUND;
    }
    const bool turned = is_column(args);
    if (turned)
        turn_column(args);
    choose_matmul_blocks(bind->setup, args);
    IPEX_BIND_REF(bind, matmul, a, turned ? 1 : 0, 0);
    IPEX_BIND_REF(bind, matmul, b, turned ? 0 : 1, 0);
    IPEX_BIND_REF(bind, matmul, zeros, IPEX_REF_ZEROS, 0);
    IPEX_BIND_REF(bind, matmul, y, IPEX_REF_OUTPUT, 0);
    bound_matmul_memory(bind);
    bind->jobs = ipex_matmul_jobs(args);
    if (a->dtype == IPEX_DTYPE_bf16)
        IPEX_BIND_BF16_KERNEL(bind, matmul, matmul);
    else
        IPEX_BIND_KERNEL(bind, matmul_f32, matmul);
    return IPEX_BOUND;
}

/* ---- attention ---- */

enum { Q, K, V, MASK, Y, OPERANDS };

/* Batch loops. Heads of q that share one of k and v become two loops, of which the inner does not
 * move k and v. */
static void make_attention_loops(const struct ipex_tensor_info *const *x,
                                 struct ipex_loops *loops) {
    const struct ipex_tensor_info *y = x[Y];
    *loops = (struct ipex_loops){.operands = OPERANDS};
    for (int32_t i = y->rank; i > 2; i--) {
        const int64_t heads = dim_from_end(y, i);
        const int64_t shared = ipex_max_i64(dim_from_end(x[K], i), dim_from_end(x[V], i));
        const int64_t group = shared > 1 && shared < heads ? heads / shared : 1;
        const int32_t outer = loops->rank, inner = outer + 1;
        loops->dims[outer] = heads / group;
        loops->dims[inner] = group;
        for (int32_t o = 0; o < OPERANDS; o++) {
            const int64_t stride = x[o] != NULL ? stride_from_end(x[o], i) : 0;
            const bool together = o == K || o == V;
            loops->stride[o][outer] = together ? stride : stride * group;
            loops->stride[o][inner] = together ? 0 : stride;
        }
        loops->rank += group > 1 ? 2 : 1;
    }
}

/* One query of every head: those of heads that share keys and values become the rows of one, if
 * enough jobs are left. */
static void share_keys(const struct ipex_setup *setup, struct ipex_attention_args *args,
                       struct ipex_loops *loops) {
    const int32_t last = loops->rank - 1;
    int64_t jobs = 1;
    if (args->m != 1 || last < 0 || loops->stride[K][last] != 0 || loops->stride[V][last] != 0 ||
        loops->dims[last] > IPEX_FEW_QUERIES)
        return;
    for (int32_t i = 0; i < last; i++)
        jobs = ipex_mul_sat(jobs, loops->dims[i]);
    if (jobs < setup->threads)
        return;
    args->m = (int32_t)loops->dims[last];
    args->q_row = loops->stride[Q][last];
    args->y_row = loops->stride[Y][last];
    args->mask_row = loops->stride[MASK][last];
    args->causal = false; /* the last query sees all keys */
    loops->rank = last;
}

static void choose_attention_blocks(const struct ipex_setup *setup,
                                    struct ipex_attention_args *args) {
    const int64_t l2 = setup->l2_bytes, size = (int64_t)sizeof(float), n = round_up_16(args->n);
    const int64_t key = (round_up_16(args->d) + round_up_16(args->e)) * size;
    const bool resident = n * key <= PACKED_MOST;
    const bool few = args->m <= IPEX_FEW_QUERIES;
    const int64_t part = (few ? FEW_PACKED : l2 / 4) / key / K_TILE * K_TILE;
    const int64_t keys = resident && !few ? n : ipex_max_i64(64, part);
    args->keys_at_once = (int32_t)ipex_min_i64(n, keys);
    args->cache_l2 = setup->l2_bytes;
    args->rows_per_job = args->m;
    const int64_t flops = ipex_mul_sat(2 * (int64_t)args->n, (int64_t)args->d + args->e);
    while (ipex_attention_jobs(args) < ipex_jobs_wanted(setup) && args->rows_per_job > ROWS_WORTH &&
           ipex_mul_sat(args->rows_per_job, flops) >= 2 * JOB_FLOPS)
        args->rows_per_job = (args->rows_per_job + 1) / 2;
    /* Rows of scores in L2; where keys are packed for every block of rows, enough rows for that. */
    const int64_t fit = ipex_max_i64(ROWS_LEAST, l2 / 2 / (n * size));
    const int64_t most = ipex_max_i64(ROWS_LEAST, SCORES_MOST / (n * size));
    const int64_t rows = resident ? fit : ipex_max_i64(fit, ROWS_WORTH);
    args->rows_at_once = (int32_t)ipex_min_i64(args->rows_per_job, ipex_min_i64(rows, most));
}

/* As bound_matmul_memory. Gaps between rows of scores and the row of sums are the slack. */
static void bound_attention_memory(struct ipex_bind *bind) {
    const struct ipex_attention_args *args = &bind->args.attention;
    const int64_t l2 = bind->setup->l2_bytes, size = (int64_t)sizeof(float);
    const int64_t n = round_up_16(args->n), row = (n + 2 * IPEX_PANEL) * size;
    const int64_t key = (round_up_16(args->d) + round_up_16(args->e)) * size;
    const int64_t packed_most = ipex_max_i64(ipex_max_i64(PACKED_MOST, l2 / 4), 64 * key);
    const int64_t rows_worth = ipex_min_i64(ROWS_WORTH * n * size, SCORES_MOST);
    const int64_t scores_most =
        ipex_max_i64(l2 / 2, ipex_max_i64(rows_worth, ROWS_LEAST * n * size));
    const int64_t slack = l2 + 2 * IPEX_PANEL * ROWS_WORTH * size;
    const int64_t all_scores = ipex_mul_sat(round_up_16(args->m), row);
    const int64_t scores = ipex_min_i64(all_scores, scores_most + slack);
    bind->scratch = (size_t)(ipex_min_i64(ipex_mul_sat(n, key), packed_most) + scores);
    bind->zeros = (size_t)(ipex_max_i64(n, round_up_16(args->e)) * size);
}

static void set_attention_strides(struct ipex_bind *bind, const struct ipex_tensor_info *const *x) {
    const struct ipex_tensor_info *mask = x[MASK];
    struct ipex_attention_args *args = &bind->args.attention;
    struct ipex_loops loops;
    make_attention_loops(x, &loops);
    args->q_row = row_stride(x[Q]);
    args->k_row = row_stride(x[K]);
    args->v_row = row_stride(x[V]);
    args->y_row = row_stride(x[Y]);
    if (mask != NULL)
        args->mask_row = stride_from_end(mask, 2);
    share_keys(bind->setup, args, &loops);
    ipex_loops_collapse(&loops, 0, INT64_MAX);
    args->batch_rank = loops.rank;
    memcpy(args->batch, loops.dims, sizeof args->batch);
    memcpy(args->q_batch, loops.stride[Q], sizeof args->q_batch);
    memcpy(args->k_batch, loops.stride[K], sizeof args->k_batch);
    memcpy(args->v_batch, loops.stride[V], sizeof args->v_batch);
    memcpy(args->mask_batch, loops.stride[MASK], sizeof args->mask_batch);
    memcpy(args->y_batch, loops.stride[Y], sizeof args->y_batch);
    if (mask == NULL)
        return;
    args->mask_column = stride_from_end(mask, 1);
    IPEX_BIND_REF(bind, attention, mask, 3, 0);
}

/* The tensor as if its rows came behind its heads. */
static struct ipex_tensor_info rows_behind_heads(const struct ipex_tensor_info *info,
                                                 int32_t rows) {
    struct ipex_tensor_info ret = *info;
    const int32_t last = info->rank - 2, first = ipex_rows_dim(rows, info->rank);
    for (int32_t i = first; i < last; i++) {
        ret.dims[i] = info->dims[i + 1];
        ret.strides[i] = info->strides[i + 1];
    }
    ret.dims[last] = info->dims[first];
    ret.strides[last] = info->strides[first];
    return ret;
}

enum ipex_bound ipex_bind_attention(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x[OPERANDS] = {bind->input[0], bind->input[1], bind->input[2],
                                                  bind->input[3], bind->output};
    struct ipex_tensor_info turned[OPERANDS];
    const int32_t rows = bind->ints[1];
    for (int32_t o = 0; rows != IPEX_ROWS_behind_heads && o < OPERANDS; o++)
        if (o != MASK) {
            turned[o] = rows_behind_heads(x[o], rows);
            x[o] = &turned[o];
        }
    const struct ipex_tensor_info *k = x[K], *y = x[Y];
    struct ipex_attention_args *args = &bind->args.attention;
    if (!set_i32(&args->m, dim_from_end(y, 2)) || !set_i32(&args->n, dim_from_end(k, 2)) ||
        !set_i32(&args->d, dim_from_end(k, 1)) || !set_i32(&args->e, dim_from_end(y, 1)))
        return IPEX_BOUND_TOO_LARGE;
    args->causal = bind->ints[0] != 0;
    args->scale = bind->floats[0];
    set_attention_strides(bind, x);
    choose_attention_blocks(bind->setup, args);
    IPEX_BIND_REF(bind, attention, q, 0, 0);
    IPEX_BIND_REF(bind, attention, k, 1, 0);
    IPEX_BIND_REF(bind, attention, v, 2, 0);
    IPEX_BIND_REF(bind, attention, zeros, IPEX_REF_ZEROS, 0);
    IPEX_BIND_REF(bind, attention, y, IPEX_REF_OUTPUT, 0);
    bound_attention_memory(bind);
    bind->jobs = ipex_attention_jobs(args);
    bind->flops = ipex_mul_sat(ipex_info_numel(y) / args->e,
                               ipex_mul_sat(2 * (int64_t)args->n, (int64_t)args->d + args->e));
    if (k->dtype == IPEX_DTYPE_bf16)
        IPEX_BIND_BF16_KERNEL(bind, attention, attention);
    else
        IPEX_BIND_KERNEL(bind, attention_f32, attention);
    return IPEX_BOUND;
}
