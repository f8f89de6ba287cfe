/* SPDX-License-Identifier: Apache-2.0 */
/* Equal weights are found by SHA-256 of what they are packed to. Only weights of which there are
 * several with one type, layout, shape and section are packed for that. */
#include "tools/convert/share.h"

#include <stdlib.h>
#include <string.h>

#include "format/sha256.h"

struct candidate {
    struct ipex_plan_weight *weight;
    size_t order;     /* over all plans */
    uint32_t *number; /* where its number goes */
    size_t same;      /* order of the first that is equal */
    uint8_t digest[IPEX_SHA256_BYTES];
};

static int compare_shapes(const struct ipex_plan_weight *a, const struct ipex_plan_weight *b) {
    const int64_t keys[][2] = {{a->section, b->section},
                               {a->layout, b->layout},
                               {a->dtype, b->dtype},
                               {a->bytes, b->bytes},
                               {a->rank, b->rank}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return a->dims[i] < b->dims[i] ? -1 : 1;
    return 0;
}

static int by_order(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

static int by_shape(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    int result = compare_shapes(x->weight, y->weight);
    return result ? result : by_order(a, b);
}

static int by_digest(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    int result = memcmp(x->digest, y->digest, sizeof x->digest);
    return result ? result : by_order(a, b);
}

static void take_digest(struct candidate *c) {
    struct ipex_sha256 hash;
    uint8_t *packed = ipex_alloc_aligned(64, (size_t)c->weight->bytes + 1);
    ipex_pack(c->weight, packed);
    ipex_sha256_init(&hash);
    ipex_sha256_update(&hash, packed, (size_t)c->weight->bytes);
    ipex_sha256_final(&hash, c->digest);
    free(packed);
}

/* Candidates of one shape. */
static void match_group(struct candidate *group, size_t count) {
    if (count < 2 || group->weight->bytes < 0) /* too large: refused when it is placed */
        return;
    for (size_t i = 0; i < count; i++)
        take_digest(&group[i]);
    qsort(group, count, sizeof *group, by_digest);
    for (size_t i = 1; i < count; i++)
        if (!memcmp(group[i].digest, group[i - 1].digest, sizeof group[i].digest))
            group[i].same = group[i - 1].same;
}

static void match_all(struct candidate *candidate, size_t count) {
    qsort(candidate, count, sizeof *candidate, by_shape);
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && !compare_shapes(candidate[first].weight, candidate[end].weight))
            end++;
        match_group(candidate + first, end - first);
    }
    qsort(candidate, count, sizeof *candidate, by_order);
}

void ipex_weight_table_init(struct ipex_weight_table *table, struct ipex_plan *const *plan,
                            size_t plans) {
    size_t total = 0;
    *table = (struct ipex_weight_table){.plans = plans};
    for (size_t p = 0; p < plans; p++)
        total += plan[p]->weights;
    struct candidate *candidate = ipex_alloc((total + 1) * sizeof *candidate);
    table->weight = ipex_alloc((total + 1) * sizeof *table->weight);
    table->number = ipex_alloc((plans + 1) * sizeof *table->number);
    total = 0;
    for (size_t p = 0; p < plans; p++) {
        table->number[p] = ipex_alloc((plan[p]->weights + 1) * sizeof **table->number);
        for (size_t i = 0; i < plan[p]->weights; i++, total++)
            candidate[total] = (struct candidate){.weight = &plan[p]->weight[i],
                                                  .order = total,
                                                  .number = &table->number[p][i],
                                                  .same = total};
    }
    if (plans > 1)
        match_all(candidate, total);
    for (size_t i = 0; i < total; i++) {
        struct candidate *c = &candidate[i];
        if (c->same != i) {
            *c->number = *candidate[c->same].number;
            continue;
        }
        *c->number = (uint32_t)table->weights;
        table->weight[table->weights++] = c->weight;
    }
    free(candidate);
}

void ipex_weight_table_finish(struct ipex_weight_table *table) {
    for (size_t p = 0; p < table->plans; p++)
        free(table->number[p]);
    free(table->number);
    free(table->weight);
    *table = (struct ipex_weight_table){0};
}
