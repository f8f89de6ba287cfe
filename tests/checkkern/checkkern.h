/* SPDX-License-Identifier: Apache-2.0 */
/* checkkern: every kernel slot at every ISA level of this machine against the reference, bit for
 * bit, in buffers that end at guard pages; the reference against f64; a benchmark. */
#ifndef CHECKKERN_H
#define CHECKKERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

/* Memory between two inaccessible pages. The data ends at the second; every fourth buffer begins
 * right after the first. Or, where valgrind or a sanitizer watches, memory of the heap, whose first
 * and last bytes they know. */
struct buffer {
    char *map;
    size_t map_bytes;
    void *data;
    size_t bytes;
};
struct buffer buffer_make(size_t bytes);
void buffer_free(struct buffer *buffer);
struct buffer buffer_copy(const struct buffer *from);
void buffers_from_heap(void); /* all that are made from here on */

/* Fills with a NaN (what must not be read), or with a pattern that is no NaN (what must not be
 * written). */
void fill_poison(struct buffer *buffer);
void fill_canary(struct buffer *buffer);

/* Seeded random numbers, the same everywhere. */
struct rng {
    uint64_t state;
};
uint64_t rng_next(struct rng *rng);
int64_t rng_range(struct rng *rng, int64_t low, int64_t high); /* both included */
bool rng_one_in(struct rng *rng, int64_t n);
float rng_float(struct rng *rng); /* [-1, 1) */
/* Mostly rng_float; with `special` also inf, NaN, denormals, huge values and zeros of both signs.
 */
float rng_value(struct rng *rng, bool special);

/* The number that f16's bits are, infinite where they are no number. */
double f16_value(uint16_t bits);

/* bf16 from the upper halves of floats, which are cut to the same values. */
struct buffer cut_to_bf16(struct buffer *floats);
/* The same of `panels` panels of f32 tiles with k elements each: tiles of two k per row. */
struct buffer cut_tiles_to_bf16(struct buffer *tiles, int64_t panels, int64_t k);

/* Index of the first f32 that differs (any NaN equals any NaN), or -1. Sizes must be equal. */
int64_t first_difference(const struct buffer *a, const struct buffer *b);
/* The same of bf16. */
int64_t first_difference_bf16(const struct buffer *a, const struct buffer *b);
/* 0, or 1 after reporting where a level differs from the reference. */
int report_difference(const char *name, const char *level, const struct buffer *want,
                      const struct buffer *got);
int64_t first_byte_difference(const struct buffer *a, const struct buffer *b);

/* One level under test. */
struct level {
    const char *name;
    enum ipex_isa isa;
    struct ipex_kernels kernels;
};

struct context {
    const struct level *levels; /* [0] is the reference, [1] its build without FMA instructions */
    size_t n_levels;
    uint64_t seed;
    const char *slot;      /* NULL: all */
    int cases;             /* random shapes per slot */
    uint32_t float_stride; /* functions are tested on one in so many bit patterns */
    bool only_normal;      /* no special values in the slots that level amx has */
};

/* The reference twice, then `only`, or every level that this machine has (AUTO), into room for
 * IPEX_ISA_amx + 1. Asks for permission to use AMX. Returns how many there are. */
size_t make_levels(enum ipex_isa only, struct level *levels);
/* Every test of this folder, as far as the context wants it. */
void check_all(const struct context *context);

/* TAP. `ok` counts; the text of the reason follows as a comment. Returns passed. */
bool report(bool passed, const char *name, const char *reason, ...)
    __attribute__((format(printf, 3, 4)));
int report_failures(void);
int report_passes(void);
bool wanted(const struct context *context, const char *slot);

/* Before kernels are called: the rounding that the library gives them, and from here on one that
 * touches a guard page ends the program with what runs as the failed test. */
void kernels_begin(void);
void running(const char *slot, const char *level);

/* Runs all jobs in random ranges and random order. */
void run_jobs(struct rng *rng, ipex_kernel_fn fn, const void *args, int64_t jobs, size_t scratch);

/* Whether kernel row `row` of `rows` is part of a line's chains: it meets a row of x, or none does.
 */
bool takes_row(const struct ipex_padding *padding, int64_t lines, int64_t line, int64_t rows,
               int64_t row);

/* f64 versions for the comparison of the reference with the truth. */
double exact_act(double x, int32_t act, double a, double b);
/* How much an error of x can grow by the activation, at most. */
double act_slope(int32_t act, double a);

void check_conv(const struct context *context);
void check_u8(const struct context *context);
void check_winograd(const struct context *context);
void check_depthwise(const struct context *context);
void check_pool(const struct context *context);
void check_pointwise(const struct context *context);
void check_rows(const struct context *context);
void check_move(const struct context *context);
void check_products(const struct context *context);
void check_linear_blocks(const struct context *context);
void check_matmul_u8(const struct context *context);
void check_norms(const struct context *context);
void check_recurrent(const struct context *context);
void check_image(const struct context *context);
void check_grid(const struct context *context);
void check_element(const struct context *context);
void check_order(const struct context *context);
void check_math(const struct context *context);
void bench(const struct context *context);

#endif
