/* SPDX-License-Identifier: Apache-2.0 */
/* Dims of the converter: expressions made at random are what their operations give at all sizes and
 * lie inside their bounds; and how narrow the bounds are, and which spellings are the same dim. */
#include <stdint.h>
#include <stdlib.h>

#include "tests/tools/tool_test.h"
#include "tools/convert/dim.h"

enum { H_COUNT = 21, W_COUNT = 5, SIZES = H_COUNT * W_COUNT, POOL = 40, ROUNDS = 300 };

struct table {
    struct ipex_arena arena;
    struct ipex_dims dims;
    int64_t h, w; /* 1 .. 21, and 4 .. 20 step 4 */
};

/* A dim, and what it is at every size. */
struct known {
    int64_t dim, value[SIZES];
};

static void start(struct table *t) {
    *t = (struct table){.h = 0};
    ipex_dims_init(&t->dims, &t->arena);
    t->h = ipex_dim_symbol(&t->dims, "h", 1, H_COUNT, 1);
    t->w = ipex_dim_symbol(&t->dims, "w", 4, 4 * W_COUNT, 4);
}

static void finish(struct table *t) {
    ipex_dims_finish(&t->dims);
    ipex_arena_finish(&t->arena);
}

static void sizes_at(int i, int64_t *symbols) {
    symbols[0] = 1 + i % H_COUNT;
    symbols[1] = 4 * (1 + i / H_COUNT);
}

static int64_t floor_of(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static int64_t apply(unsigned op, int64_t a, int64_t b) {
    switch (op) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return a * b;
    case 3:
        return a < b ? a : b;
    case 4:
        return a > b ? a : b;
    case 5:
        return floor_of(a, b);
    default:
        return a - b * floor_of(a, b);
    }
}

static int64_t dim_of(struct ipex_dims *dims, unsigned op, int64_t a, int64_t b) {
    int64_t (*const simple[])(struct ipex_dims *, int64_t, int64_t) = {
        ipex_dim_add, ipex_dim_sub, ipex_dim_mul, ipex_dim_min, ipex_dim_max, ipex_dim_floor_div};
    if (op < 6)
        return simple[op](dims, a, b);
    return ipex_dim_sub(dims, a, ipex_dim_mul(dims, b, ipex_dim_floor_div(dims, a, b)));
}

/* NULL where a dim is what it should be. */
static const char *wrong(const struct ipex_dims *dims, const struct known *k) {
    int64_t lo, hi, symbols[2], number;
    ipex_dim_range(dims, k->dim, &lo, &hi);
    const bool is_number = ipex_dim_number(dims, k->dim, &number);
    for (int i = 0; i < SIZES; i++) {
        sizes_at(i, symbols);
        if (ipex_dim_value(dims, k->dim, symbols) != k->value[i])
            return "another value";
        if (k->value[i] < lo || k->value[i] > hi)
            return "outside the bounds";
        if (is_number && number != k->value[i])
            return "another number";
    }
    return NULL;
}

/* Like rand(), but the same everywhere. */
static unsigned next(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static bool divides(const struct ipex_dims *dims, int64_t b) {
    int64_t lo, hi;
    ipex_dim_range(dims, b, &lo, &hi);
    return lo >= 1;
}

static void fill(struct known *k, struct ipex_dims *dims, int64_t dim) {
    int64_t symbols[2];
    k->dim = dim;
    for (int i = 0; i < SIZES; i++) {
        sizes_at(i, symbols);
        k->value[i] = ipex_dim_value(dims, dim, symbols);
    }
}

/* NULL where no value of a that is said to be at most b's is above it. */
static const char *wrongly_at_most(struct ipex_dims *dims, const struct known *a,
                                   const struct known *b) {
    if (ipex_dim_at_most(dims, a->dim, b->dim))
        for (int i = 0; i < SIZES; i++)
            if (a->value[i] > b->value[i])
                return "said to be at most what it is above";
    return NULL;
}

/* Expressions of expressions; those that overflow or grow too long are left out. */
static int random_expressions(unsigned seed, const char **ret_wrong) {
    static struct known pool[POOL];
    struct table t;
    unsigned state = seed;
    int made = 0;
    start(&t);
    fill(&pool[0], &t.dims, t.h);
    fill(&pool[1], &t.dims, t.w);
    for (int i = 2; i < POOL; i++)
        fill(&pool[i], &t.dims, ipex_dim_of(&t.dims, (int64_t)(next(&state) % 19) - 6));
    for (int round = 0; round < ROUNDS && !*ret_wrong; round++) {
        const unsigned op = next(&state) % 7;
        const struct known *a = &pool[next(&state) % POOL], *b = &pool[next(&state) % POOL];
        struct known k = {.dim = 0};
        if (op >= 5 && !divides(&t.dims, b->dim))
            continue;
        k.dim = dim_of(&t.dims, op, a->dim, b->dim);
        int64_t size = 0;
        for (int i = 0; i < SIZES; i++) {
            k.value[i] = apply(op, a->value[i], b->value[i]);
            size |= llabs(k.value[i]);
        }
        if (k.dim == IPEX_DIM_NONE || size > 1 << 24)
            continue;
        *ret_wrong = wrong(&t.dims, &k);
        if (!*ret_wrong)
            *ret_wrong = wrongly_at_most(&t.dims, &k, a);
        if (!*ret_wrong)
            *ret_wrong = wrongly_at_most(&t.dims, b, &k);
        pool[2 + next(&state) % (POOL - 2)] = k;
        made++;
    }
    finish(&t);
    return made;
}

static void test_random(void) {
    const char *why = NULL;
    int made = 0;
    for (unsigned seed = 1; seed <= 300 && !why; seed++)
        made += random_expressions(seed, &why);
    test_ok(!why && made > 30000, why, "expressions at random");
}

static void bounds(struct table *t, int64_t dim, int64_t lo, int64_t hi, const char *name) {
    int64_t least, most;
    ipex_dim_range(&t->dims, dim, &least, &most);
    test_ok(least == lo && most == hi, ipex_dim_text(&t->dims, dim), "%s: %lld .. %lld", name,
            (long long)lo, (long long)hi);
}

static int64_t mod(struct table *t, int64_t a, int64_t b) {
    return dim_of(&t->dims, 6, a, b);
}

static void test_remainders(void) {
    struct table t;
    start(&t);
    struct ipex_dims *d = &t.dims;
    const int64_t rest = mod(&t, t.h, 8), up = ipex_dim_floor_div(d, ipex_dim_add(d, t.h, 7), 8),
                  multiple = ipex_dim_mul(d, up, 8), below = ipex_dim_sub(d, multiple, t.h),
                  half = ipex_dim_floor_div(d, t.h, 2);
    bounds(&t, rest, 0, 7, "h % 8");
    bounds(&t, ipex_dim_sub(d, 8, rest), 1, 8, "8 - h % 8");
    bounds(&t, below, 0, 7, "to the next multiple of 8");
    bounds(&t, ipex_dim_sub(d, t.h, half), 1, 11, "h - h/2");
    bounds(&t, ipex_dim_sub(d, ipex_dim_floor_div(d, ipex_dim_add(d, t.h, 1), 2), half), 0, 1,
           "(h + 1)/2 - h/2");
    bounds(&t, ipex_dim_add(d, mod(&t, t.h, 5), mod(&t, t.w, 3)), 0, 6, "h % 5 + w % 3");
    bounds(&t, mod(&t, ipex_dim_of(d, -3), t.h), 0, 20, "-3 % h");
    bounds(&t, mod(&t, t.w, ipex_dim_mul(d, t.h, 2)), 0, 20, "w % 2h");
    test_ok(mod(&t, ipex_dim_sub(d, 8, rest), 8) == below, NULL, "(8 - h %% 8) %% 8");
    test_ok(mod(&t, ipex_dim_sub(d, 0, t.h), 8) == below, NULL, "-h %% 8");
    test_ok(mod(&t, t.w, 4) == 0, NULL, "a remainder of a size in steps");
    finish(&t);
}

static void test_at_most(void) {
    struct table t;
    start(&t);
    struct ipex_dims *d = &t.dims;
    const int64_t few = ipex_dim_min(d, t.h, 4), either = ipex_dim_min(d, t.h, t.w),
                  both = ipex_dim_max(d, t.h, t.w);
    test_ok(ipex_dim_at_most(d, few, t.h) && !ipex_dim_at_most(d, t.h, few), NULL, "min(h, 4), h");
    test_ok(ipex_dim_at_most(d, either, t.w) && ipex_dim_at_most(d, t.h, both), NULL,
            "min(h, w), w and h, max(h, w)");
    test_ok(ipex_dim_at_most(d, either, both) && !ipex_dim_at_most(d, both, either), NULL,
            "min(h, w), max(h, w)");
    test_ok(ipex_dim_at_most(d, both, ipex_dim_add(d, t.h, t.w)), NULL, "max(h, w), h + w");
    test_ok(!ipex_dim_at_most(d, t.h, t.w) && !ipex_dim_at_most(d, t.h, IPEX_DIM_NONE), NULL,
            "h and w, h and what is none");
    finish(&t);
}

int main(void) {
    test_start();
    test_random();
    test_remainders();
    test_at_most();
    return test_done();
}
