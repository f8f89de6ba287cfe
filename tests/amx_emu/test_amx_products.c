/* SPDX-License-Identifier: Apache-2.0 */
/* How many products, loads and stores of tiles the other kernels of level amx make, products of
 * activations, attention, transposed convolutions and u8: what follows from their sizes and blocks,
 * and no more. Bits are compared with the reference's along the way; tests/checkkern does it for
 * random shapes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/product_jobs.h"
#include "tests/amx_emu/amx_counted.h"
#include "tests/amx_emu/amx_emu.h"
#include "tests/amx_emu/amx_gemm.h"
#include "tests/checkkern/checkkern.h"
#include "tests/checkkern/conv_shape.h"

enum { REFERENCE, AMX, LEVELS };
static struct ipex_kernels kernels[LEVELS];

static struct buffer random_bf16(struct rng *rng, int64_t count) {
    struct buffer ret = buffer_make((size_t)count * 2);
    for (int64_t i = 0; i < count; i++)
        ((uint16_t *)ret.data)[i] = amx_random_bf16(rng, false);
    return ret;
}

static struct buffer zero_floats(int64_t count) {
    struct buffer ret = buffer_make((size_t)count * 4);
    memset(ret.data, 0, ret.bytes);
    return ret;
}

/* A kernel on all jobs of its arguments, whose y is at `y` within them. */
struct run {
    ipex_kernel_fn kernel[LEVELS];
    void *args;
    float **y;
    int64_t y_floats, jobs;
    size_t scratch;
};

/* By the reference and at level amx: whether bits and counts are as wanted. */
static bool check_run(const char *what, const struct run *run, enum amx_op op,
                      const struct amx_work *want) {
    struct buffer y[LEVELS], scratch = buffer_make(run->scratch + 64);
    void *aligned = (void *)(((uintptr_t)scratch.data + 63) / 64 * 64);
    for (int i = 0; i < LEVELS; i++) {
        y[i] = buffer_make((size_t)run->y_floats * 4);
        fill_canary(&y[i]);
        *run->y = y[i].data;
        running(what, i == AMX ? "amx" : "reference");
        amx_emu_reset_counts();
        run->kernel[i](run->args, 0, run->jobs, aligned);
    }
    bool passed = amx_work_is(what, op, want);
    const int64_t at = first_difference(&y[REFERENCE], &y[AMX]);
    if (at >= 0)
        passed = report(false, what, "element %lld is not the reference's", (long long)at);
    for (int i = 0; i < LEVELS; i++)
        buffer_free(&y[i]);
    buffer_free(&scratch);
    return passed;
}

/* ---- products of activations ---- */

struct product {
    int32_t batch, m, n, k, rows_per_job, columns_per_job, k_block;
    bool transposed;
};

static const struct product products[] = {
    {1, 40, 33, 64, 40, 48, 64, false},  {1, 40, 33, 70, 40, 16, 32, true},
    {3, 17, 50, 33, 16, 64, 64, true}, /* jobs of 16 rows and of one, which takes no tiles */
    {2, 1, 64, 64, 1, 64, 64, false},  /* no tiles at all */
    {2, 16, 100, 96, 16, 112, 64, true}, {4, 35, 20, 31, 18, 32, 32, false},
    {1, 96, 96, 256, 32, 48, 128, true},
};

/* Of every job, a product of its rows and columns for every block of K. */
static struct amx_work product_work(const struct product *p) {
    struct amx_work ret = {0};
    for (int64_t row = 0; row < p->m; row += p->rows_per_job)
        for (int64_t column = 0; column < p->n; column += p->columns_per_job)
            for (int64_t k = 0; k < p->k; k += p->k_block)
                for (int32_t b = 0; b < p->batch; b++)
                    amx_work_add_gemm(&ret, ipex_smaller(p->rows_per_job, p->m - row),
                                      ipex_smaller(p->columns_per_job, p->n - column),
                                      ipex_smaller(p->k_block, p->k - k));
    return ret;
}

static int check_product(const struct product *p) {
    struct rng rng = {7};
    struct buffer a = random_bf16(&rng, (int64_t)p->batch * p->m * p->k);
    struct buffer b = random_bf16(&rng, (int64_t)p->batch * p->k * p->n);
    struct buffer zeros = zero_floats(p->columns_per_job);
    struct ipex_matmul_args args = {
        .a = a.data,
        .b = b.data,
        .zeros = zeros.data,
        .batch = {p->batch},
        .a_batch = {(int64_t)p->m * p->k},
        .b_batch = {(int64_t)p->k * p->n},
        .y_batch = {(int64_t)p->m * p->n},
        .a_row = p->k,
        .b_row = p->transposed ? p->k : p->n,
        .y_row = p->n,
        .batch_rank = 1,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .rows_per_job = p->rows_per_job,
        .columns_per_job = p->columns_per_job,
        .k_block = p->k_block,
        .cache_l2 = 1 << 20,
        .transposed = p->transposed,
        .scale = 1.0f,
    };
    const struct run run = {
        .kernel = {(ipex_kernel_fn)kernels[REFERENCE].matmul_bf16t,
                   (ipex_kernel_fn)kernels[AMX].matmul_bf16t},
        .args = &args,
        .y = &args.y,
        .y_floats = (int64_t)p->batch * p->m * p->n,
        .jobs = ipex_matmul_jobs(&args),
        .scratch = ipex_matmul_scratch(&args),
    };
    const struct amx_work want = product_work(p);
    char what[100];
    snprintf(what, sizeof what, "matmul_bf16t %d of %d x %d x %d, jobs %d x %d, blocks of K %d",
             p->batch, p->m, p->k, p->n, p->rows_per_job, p->columns_per_job, p->k_block);
    const bool passed = check_run(what, &run, AMX_OP_tdpbf16ps, &want);
    buffer_free(&a);
    buffer_free(&b);
    buffer_free(&zeros);
    return !passed;
}

/* ---- attention ---- */

struct heads {
    int32_t heads, m, n, d, e, rows_per_job, rows_at_once, keys_at_once;
    bool causal;
};

static const struct heads attentions[] = {
    {2, 48, 48, 32, 32, 48, 48, 48, false}, {3, 40, 70, 33, 20, 40, 16, 32, false},
    {1, 64, 64, 64, 64, 32, 32, 32, true},  {2, 33, 50, 40, 24, 33, 16, 64, true},
    {1, 1, 80, 64, 64, 1, 1, 80, false}, /* no tiles at all */
};

/* Keys that query `row` sees. */
static int64_t visible(const struct heads *h, int64_t row) {
    const int64_t seen = row + h->n - h->m + 1;
    return !h->causal || seen > h->n ? h->n : seen;
}

/* Rows of some queries: their dots with all blocks of keys that the last of them sees, then their
 * sums of all blocks of values. */
static void add_rows(struct amx_work *work, const struct heads *h, int64_t row, int64_t rows) {
    for (int64_t key = 0; key < visible(h, row + rows - 1); key += h->keys_at_once)
        amx_work_add_gemm(work, rows, ipex_smaller(h->keys_at_once, h->n - key), h->d);
    for (int64_t key = 0; key < h->n; key += h->keys_at_once)
        amx_work_add_gemm(work, rows, h->e, ipex_smaller(h->keys_at_once, h->n - key));
}

static struct amx_work attention_work(const struct heads *h) {
    struct amx_work ret = {0};
    for (int32_t head = 0; head < h->heads; head++)
        for (int64_t job = 0; job < h->m; job += h->rows_per_job) {
            const int64_t end = ipex_smaller(job + h->rows_per_job, h->m);
            for (int64_t row = job; row < end; row += h->rows_at_once)
                add_rows(&ret, h, row, ipex_smaller(h->rows_at_once, end - row));
        }
    return ret;
}

static int check_attention(const struct heads *h) {
    struct rng rng = {9};
    struct buffer q = random_bf16(&rng, (int64_t)h->heads * h->m * h->d);
    struct buffer k = random_bf16(&rng, (int64_t)h->heads * h->n * h->d);
    struct buffer v = random_bf16(&rng, (int64_t)h->heads * h->n * h->e);
    struct buffer zeros = zero_floats(h->keys_at_once + h->e + AMX_TILE);
    struct ipex_attention_args args = {
        .q = q.data,
        .k = k.data,
        .v = v.data,
        .zeros = zeros.data,
        .batch = {h->heads},
        .q_batch = {(int64_t)h->m * h->d},
        .k_batch = {(int64_t)h->n * h->d},
        .v_batch = {(int64_t)h->n * h->e},
        .y_batch = {(int64_t)h->m * h->e},
        .q_row = h->d,
        .k_row = h->d,
        .v_row = h->e,
        .y_row = h->e,
        .batch_rank = 1,
        .m = h->m,
        .n = h->n,
        .d = h->d,
        .e = h->e,
        .rows_per_job = h->rows_per_job,
        .rows_at_once = h->rows_at_once,
        .keys_at_once = h->keys_at_once,
        .cache_l2 = 1 << 20,
        .causal = h->causal,
        .scale = 0.25f,
    };
    const struct run run = {
        .kernel = {(ipex_kernel_fn)kernels[REFERENCE].attention_bf16t,
                   (ipex_kernel_fn)kernels[AMX].attention_bf16t},
        .args = &args,
        .y = &args.y,
        .y_floats = (int64_t)h->heads * h->m * h->e,
        .jobs = ipex_attention_jobs(&args),
        .scratch = ipex_attention_scratch(&args),
    };
    const struct amx_work want = attention_work(h);
    char what[120];
    snprintf(what, sizeof what, "attention_bf16t %d heads of %d queries, %d keys, %d -> %d%s",
             h->heads, h->m, h->n, h->d, h->e, h->causal ? ", causal" : "");
    const bool passed = check_run(what, &run, AMX_OP_tdpbf16ps, &want);
    buffer_free(&q);
    buffer_free(&k);
    buffer_free(&v);
    buffer_free(&zeros);
    return !passed;
}

/* ---- transposed convolution ---- */

struct transpose {
    int32_t height, width, kernel, stride, pad, k, n;
};

static const struct transpose transposes[] = {
    {5, 9, 2, 2, 0, 40, 20},  {4, 20, 3, 2, 1, 16, 33},
    {3, 18, 4, 2, 1, 33, 16}, {3, 7, 2, 3, 0, 16, 16}, /* outputs without a tap */
    {1, 6, 3, 1, 1, 64, 80},
};

static int64_t outputs(const struct transpose *t, int64_t size) {
    return (size - 1) * t->stride + t->kernel - 2 * t->pad;
}

/* Which taps an output of an axis of x has, as bits. */
static unsigned taps_of(const struct transpose *t, int64_t size, int64_t out) {
    unsigned ret = 0;
    for (int32_t tap = 0; tap < t->kernel; tap++) {
        const int64_t at = out + t->pad - tap;
        ret |= (unsigned)(at >= 0 && at % t->stride == 0 && at / t->stride < size) << tap;
    }
    return ret;
}

/* Outputs a stride apart with the same taps. */
struct outputs_run {
    int64_t count;
    int taps;
};

static int runs_of(const struct transpose *t, int64_t size, struct outputs_run *runs) {
    int n = 0;
    for (int64_t phase = 0; phase < t->stride; phase++)
        for (int64_t o = phase; o < outputs(t, size); o += t->stride) {
            const unsigned taps = taps_of(t, size, o);
            if (o == phase || taps != taps_of(t, size, o - t->stride))
                runs[n++] = (struct outputs_run){0, __builtin_popcount(taps)};
            runs[n - 1].count++;
        }
    return n;
}

/* A rectangle of outputs with the same taps is a convolution of its own, with tiles of one line, or
 * of all where they follow each other in x. */
static struct amx_work transpose_work(const struct transpose *t) {
    struct outputs_run h[64], w[64];
    const int lines = runs_of(t, t->height, h), columns = runs_of(t, t->width, w);
    struct amx_work ret = {.releases = 1};
    for (int i = 0; i < lines; i++)
        for (int j = 0; j < columns; j++) {
            const bool follow = w[j].count == t->width;
            const int64_t tiles = follow ? ipex_div_up(h[i].count * w[j].count, AMX_TILE)
                                         : h[i].count * ipex_div_up(w[j].count, AMX_TILE);
            const int64_t taps = (int64_t)h[i].taps * w[j].taps;
            amx_work_add_run(&ret, tiles, ipex_div_up(t->n, AMX_TILE),
                             taps * ipex_div_up(t->k, AMX_TILE_K), t->k < AMX_TILE_K);
            ret.configurations++;
        }
    return ret;
}

static int check_transpose(const struct transpose *t) {
    struct rng rng = {13};
    const int64_t lines = outputs(t, t->height), pixels = outputs(t, t->width);
    const int64_t tiles = (int64_t)t->kernel * t->kernel * ipex_div_up(t->n, AMX_TILE) *
                          ipex_div_up(t->k, AMX_TILE_K);
    struct buffer x = random_bf16(&rng, (int64_t)t->height * t->width * t->k);
    struct buffer w = random_bf16(&rng, tiles * AMX_TILE * AMX_TILE_K);
    struct buffer bias = zero_floats(ipex_div_up(t->n, AMX_TILE) * AMX_TILE);
    struct ipex_conv_transpose_args args = {
        .x = x.data,
        .w = w.data,
        .bias = bias.data,
        .x_row = (int64_t)t->width * t->k,
        .x_pixel = t->k,
        .y_line = pixels * t->n,
        .y_pixel = t->n,
        .images = 1,
        .height = t->height,
        .width = t->width,
        .lines = (int32_t)lines,
        .pixels = (int32_t)pixels,
        .kernel_h = t->kernel,
        .kernel_w = t->kernel,
        .stride_h = t->stride,
        .stride_w = t->stride,
        .pad_top = t->pad,
        .pad_left = t->pad,
        .dilation_h = 1,
        .dilation_w = 1,
        .groups = 1,
        .k = t->k,
        .n = t->n,
        .lines_per_job = (int32_t)lines,
        .panels_per_job = (int32_t)ipex_div_up(t->n, AMX_TILE),
        .cache_l2 = 1 << 20,
    };
    const struct run run = {
        .kernel = {(ipex_kernel_fn)kernels[REFERENCE].conv_transpose_bf16t,
                   (ipex_kernel_fn)kernels[AMX].conv_transpose_bf16t},
        .args = &args,
        .y = &args.y,
        .y_floats = lines * pixels * t->n,
        .jobs = ipex_conv_transpose_jobs(&args),
    };
    const struct amx_work want = transpose_work(t);
    char what[120];
    snprintf(what, sizeof what,
             "conv_transpose_bf16t %d x %d, kernel %d, stride %d, pad %d, %d -> %d", t->height,
             t->width, t->kernel, t->stride, t->pad, t->k, t->n);
    const bool passed = check_run(what, &run, AMX_OP_tdpbf16ps, &want);
    buffer_free(&x);
    buffer_free(&w);
    buffer_free(&bias);
    return !passed;
}

/* ---- u8 and i8 ---- */

enum { TILE_K_U8 = 64 };

struct u8_size {
    int32_t m, n, k;
};

static const struct u8_size u8_sizes[] = {{1, 16, 64},   {16, 16, 64},  {16, 80, 65},
                                          {17, 16, 5},   {33, 40, 130}, {49, 512, 256},
                                          {128, 33, 64}, {40, 70, 27}};

/* [m][k] times [k][n] with tiles of 64 k; one row takes tiles like any other. */
static int check_u8_gemm(const struct u8_size *size) {
    const int32_t m = size->m, n = size->n, k = size->k;
    struct rng rng = {17};
    const int64_t panels = ipex_div_up(n, AMX_TILE), k_tiles = ipex_div_up(k, TILE_K_U8);
    struct buffer x = buffer_make((size_t)m * (size_t)k);
    struct buffer w = buffer_make((size_t)(panels * k_tiles * 1024));
    struct buffer bias = zero_floats(panels * AMX_TILE), scale = zero_floats(panels * AMX_TILE);
    for (size_t i = 0; i < x.bytes; i++)
        ((uint8_t *)x.data)[i] = (uint8_t)rng_next(&rng);
    for (size_t i = 0; i < w.bytes; i++)
        ((int8_t *)w.data)[i] = (int8_t)rng_next(&rng);
    for (int64_t i = 0; i < panels * AMX_TILE; i++)
        ((float *)scale.data)[i] = 0x1p-10f;
    const struct conv_shape shape = {.pixels = m, .k = k, .n = n};
    struct ipex_conv_args args = conv_shape_args(&shape);
    args.x = x.data;
    args.w = w.data;
    args.bias = bias.data;
    args.scale = scale.data;
    const struct run run = {
        .kernel = {(ipex_kernel_fn)kernels[REFERENCE].conv_u8,
                   (ipex_kernel_fn)kernels[AMX].conv_u8},
        .args = &args,
        .y = &args.y,
        .y_floats = (int64_t)m * n,
        .jobs = ipex_conv_jobs(&args),
    };
    struct amx_work want = {.configurations = 1, .releases = 1};
    char what[60];
    amx_work_add_run(&want, ipex_div_up(m, AMX_TILE), panels, k_tiles, k < TILE_K_U8);
    snprintf(what, sizeof what, "conv_u8 %d x %d x %d", m, k, n);
    const bool passed = check_run(what, &run, AMX_OP_tdpbusd, &want);
    buffer_free(&x);
    buffer_free(&w);
    buffer_free(&bias);
    buffer_free(&scale);
    return !passed;
}

/* check: a function of one of the cases. */
#define CHECK_ALL(name, check, cases)                                                              \
    do {                                                                                           \
        int failed = 0;                                                                            \
        for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++)                               \
            failed += check(&(cases)[i]);                                                          \
        report(failed == 0, name ": bits, products, loads and stores", "%d failed", failed);       \
    } while (0)

int main(void) {
    if (!amx_kernels_begin("products of level amx"))
        return 0;
    ipex_kernels_init(&kernels[REFERENCE], NULL, IPEX_ISA_reference);
    ipex_kernels_init(&kernels[AMX], NULL, IPEX_ISA_amx);
    CHECK_ALL("matmul_bf16t", check_product, products);
    CHECK_ALL("attention_bf16t", check_attention, attentions);
    CHECK_ALL("conv_transpose_bf16t", check_transpose, transposes);
    CHECK_ALL("conv_u8", check_u8_gemm, u8_sizes);
    return report_failures() != 0;
}
