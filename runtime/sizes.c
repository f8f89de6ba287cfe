/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of entries with symbols. Storages are placed once, for the most bytes that they take at
 * either end of the ranges, and stay where they are: placing goes by these capacities at any size,
 * so it gives the same places every time. Steps and arguments are built anew, by the same walk as
 * ever (runtime/plan.c), over a table of tensors that the checker has resolved for the new sizes.
 */
#include "runtime/sizes.h"

#include <string.h>

#include "runtime/threads.h"

/* ---- ranges ---- */

static int32_t find_symbol(struct ipex_fb_entry entry, const struct ipex_dim_range *range) {
    if (range->entry != NULL && strcmp(range->entry, ipex_fb_entry_name(entry)) != 0)
        return -1;
    for (uint32_t i = 0; i < ipex_fb_entry_symbols_len(entry); i++)
        if (strcmp(ipex_fb_symbol_name(ipex_fb_entry_symbols(entry, i)), range->symbol) == 0)
            return (int32_t)i;
    return -1;
}

/* The multiples of the symbol's step inside a range, of which 0 means the file's end. */
static void narrow_symbol(struct ipex_fb_symbol symbol, const struct ipex_dim_range *range,
                          int64_t *lo, int64_t *hi) {
    const int64_t step = ipex_fb_symbol_step(symbol);
    if (range->lo != 0)
        *lo = (range->lo + step - 1) / step * step;
    if (range->hi != 0)
        *hi = range->hi / step * step;
}

/* What ranges say of a symbol together: the last number given for either end, 0 where none is. */
static struct ipex_dim_range join_ranges(struct ipex_fb_entry entry, int32_t symbol,
                                         const struct ipex_dim_range *ranges, size_t n_ranges) {
    struct ipex_dim_range all = {0};
    for (size_t r = 0; r < n_ranges; r++) {
        if (find_symbol(entry, &ranges[r]) != symbol)
            continue;
        all.lo = ranges[r].lo != 0 ? ranges[r].lo : all.lo;
        all.hi = ranges[r].hi != 0 ? ranges[r].hi : all.hi;
    }
    return all;
}

static enum ipex_status check_range(struct ipex_fb_entry entry, int32_t index,
                                    const struct ipex_dim_range *range,
                                    const struct ipex_report *report) {
    struct ipex_fb_symbol symbol = ipex_fb_entry_symbols(entry, (uint32_t)index);
    int64_t lo = ipex_fb_symbol_lo(symbol), hi = ipex_fb_symbol_hi(symbol);
    const int64_t file_lo = lo, file_hi = hi;
    const bool inside = (range->lo == 0 || (range->lo >= lo && range->lo <= hi)) &&
                        (range->hi == 0 || (range->hi >= lo && range->hi <= hi));
    if (inside)
        narrow_symbol(symbol, range, &lo, &hi);
    IPEX_CHECK(inside && lo <= hi, report, IPEX_ERROR_ARGUMENT,
               "entry '%s', %s: %lld .. %lld is no range inside %lld .. %lld step %lld",
               ipex_fb_entry_name(entry), ipex_fb_symbol_name(symbol), (long long)range->lo,
               (long long)range->hi, (long long)file_lo, (long long)file_hi,
               (long long)ipex_fb_symbol_step(symbol));
    return IPEX_OK;
}

enum ipex_status ipex_sizes_check(const struct ipex_image *image, int32_t first, int32_t count,
                                  const struct ipex_dim_range *ranges, size_t n_ranges,
                                  const struct ipex_report *report) {
    IPEX_CHECK(ranges != NULL || n_ranges == 0, report, IPEX_ERROR_ARGUMENT, "dims is NULL");
    for (size_t r = 0; r < n_ranges; r++) {
        bool found = false;
        IPEX_CHECK(ranges[r].symbol != NULL, report, IPEX_ERROR_ARGUMENT,
                   "a range without a symbol");
        for (int32_t i = first; i < first + count; i++) {
            struct ipex_fb_entry entry = image->entry[i].fb;
            const int32_t symbol = find_symbol(entry, &ranges[r]);
            if (symbol < 0)
                continue;
            found = true;
            const struct ipex_dim_range all = join_ranges(entry, symbol, ranges, r + 1);
            IPEX_TRY(check_range(entry, symbol, &all, report));
        }
        IPEX_CHECK(found, report, IPEX_ERROR_NOT_FOUND, "no entry '%s' has a symbol '%s'",
                   ranges[r].entry != NULL ? ranges[r].entry : "(any)", ranges[r].symbol);
    }
    return IPEX_OK;
}

void ipex_sizes_narrow(struct ipex_fb_entry entry, const struct ipex_dim_range *ranges,
                       size_t n_ranges, int64_t *ret_lo, int64_t *ret_hi) {
    ipex_dims_lowest(entry, ret_lo);
    ipex_dims_highest(entry, ret_hi);
    for (size_t r = 0; r < n_ranges; r++) {
        const int32_t i = find_symbol(entry, &ranges[r]);
        if (i >= 0)
            narrow_symbol(ipex_fb_entry_symbols(entry, (uint32_t)i), &ranges[r], &ret_lo[i],
                          &ret_hi[i]);
    }
}

/* ---- tensors at other sizes ---- */

static uint32_t index_of(const struct ipex_image *image, const struct ipex_image_entry *entry) {
    return (uint32_t)(entry - image->entry);
}

/* "at n = 3, h = 64: " in front of what was reported, from the last symbol to the first. */
static enum ipex_status at_sizes(const struct ipex_report *report, struct ipex_fb_entry entry,
                                 const int64_t *symbols, enum ipex_status status) {
    const uint32_t count = ipex_fb_entry_symbols_len(entry);
    for (uint32_t i = count; i-- > 0;)
        status = ipex_fail_at(report, status, "%s%s = %lld%s", i > 0 ? ", " : "at ",
                              ipex_fb_symbol_name(ipex_fb_entry_symbols(entry, i)),
                              (long long)symbols[i], i + 1 == count ? ": " : "");
    return status;
}

/* Resolves the tensors, and the expressions for the builder. */
static enum ipex_status resolve(const struct ipex_image *image, uint32_t index,
                                const int64_t *symbols, struct ipex_tensor_info *tensors,
                                struct ipex_dim_values *values, const struct ipex_report *report) {
    struct ipex_fb_entry entry = image->entry[index].fb;
    IPEX_TRY(ipex_check_entry_at(image->model, index, symbols, tensors, report));
    return ipex_dims_evaluate(entry, symbols, values, report);
}

static void raise_capacities(const struct ipex_image_entry *entry,
                             const struct ipex_tensor_info *tensors, int64_t *capacity) {
    for (int32_t i = 0; i < entry->tensors; i++) {
        const int64_t bytes =
            tensors[i].storage * ipex_dtype_size((enum ipex_dtype)tensors[i].dtype);
        if (capacity[i] < bytes)
            capacity[i] = bytes;
    }
}

/* Resolves an entry at both ends, the lower one first. */
static enum ipex_status find_capacities(const struct ipex_image *image, uint32_t index,
                                        const int64_t *lo, const int64_t *hi,
                                        struct ipex_tensor_info *tensors, int64_t *capacity,
                                        struct ipex_dim_values *values,
                                        const struct ipex_report *report) {
    const struct ipex_image_entry *entry = &image->entry[index];
    memset(capacity, 0, (size_t)entry->tensors * sizeof *capacity);
    for (int end = 0; end < 2; end++) {
        const int64_t *symbols = end == 0 ? lo : hi;
        const enum ipex_status status = resolve(image, index, symbols, tensors, values, report);
        if (status != IPEX_OK)
            return at_sizes(report, entry->fb, symbols, status);
        raise_capacities(entry, tensors, capacity);
    }
    return IPEX_OK;
}

/* ---- counting ---- */

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* What a plan takes in front of what is bound anew. */
static struct ipex_plan_sizes *take_own(struct ipex_plan_builder *b) {
    struct ipex_plan_sizes *own = ipex_bump_take(b->memory, sizeof *own, IPEX_MEMORY_ALIGN);
    struct ipex_tensor_info *tensors =
        ipex_bump_take(b->memory, (size_t)b->entry->tensors * sizeof *tensors, IPEX_MEMORY_ALIGN);
    int64_t *capacity =
        ipex_bump_take(b->memory, (size_t)b->entry->tensors * sizeof *capacity, IPEX_MEMORY_ALIGN);
    if (own == NULL || b->memory->failed)
        return NULL;
    memset(own, 0, sizeof *own);
    own->tensor = tensors;
    own->capacity = capacity;
    return own;
}

/* One end of the ranges: the builder sees an entry with the tensors as they are there. */
static enum ipex_status count_end(struct ipex_plan_builder *b, const struct ipex_image_entry *at,
                                  struct ipex_plan_need *need, int64_t *least_steps) {
    struct ipex_bump memory = {0};
    b->memory = &memory;
    (void)take_own(b);
    b->entry = at;
    b->scratch_bytes = b->zero_bytes = 0;
    IPEX_TRY(ipex_plan_build(b));
    need->room = larger(need->room, memory.used);
    need->arena = larger(need->arena, (size_t)b->arena_bytes);
    need->scratch = larger(need->scratch, b->scratch_bytes);
    need->zeros = larger(need->zeros, b->zero_bytes);
    if (need->steps < b->steps)
        need->steps = b->steps;
    if (*least_steps > b->steps)
        *least_steps = b->steps;
    return IPEX_OK;
}

static enum ipex_status count_ends(struct ipex_plan_builder *b, const int64_t *lo,
                                   const int64_t *hi, struct ipex_plan_need *need) {
    const struct ipex_image *image = b->image;
    const struct ipex_image_entry *entry = b->entry;
    struct ipex_image_scratch *scratch = image->scratch;
    struct ipex_image_entry at = *entry;
    struct ipex_dim_values values;
    const uint32_t index = index_of(image, entry);
    int64_t least_steps = INT64_MAX;
    at.tensor = scratch->tensor;
    b->capacity = scratch->capacity;
    b->values = &values;
    IPEX_TRY(find_capacities(image, index, lo, hi, scratch->tensor, scratch->capacity, &values,
                             &b->report));
    IPEX_TRY(count_end(b, &at, need, &least_steps));
    IPEX_TRY(resolve(image, index, lo, scratch->tensor, &values, &b->report));
    IPEX_TRY(count_end(b, &at, need, &least_steps));
    /* The table of steps is as long as the most, and the rest as large as the most. */
    const size_t spare = (size_t)(need->steps - least_steps) * sizeof(struct ipex_plan_step);
    IPEX_CHECK(ipex_add_u64(need->room, spare + IPEX_MEMORY_ALIGN, &need->room), &b->report,
               IPEX_ERROR_MEMORY, "the plan does not fit an address space");
    return IPEX_OK;
}

enum ipex_status ipex_sizes_count(struct ipex_plan_builder *builder, const int64_t *lo,
                                  const int64_t *hi, struct ipex_plan_need *ret) {
    struct ipex_plan_need need = {0};
    struct ipex_image_scratch *scratch = builder->image->scratch;
    ipex_lock(&scratch->busy);
    const enum ipex_status status = count_ends(builder, lo, hi, &need);
    ipex_unlock(&scratch->busy);
    if (status == IPEX_OK)
        *ret = need;
    return status;
}

/* ---- placing and binding ---- */

static void copy_symbols(struct ipex_fb_entry entry, int64_t *to, const int64_t *from) {
    memcpy(to, from, ipex_fb_entry_symbols_len(entry) * sizeof *to);
}

enum ipex_status ipex_sizes_place(struct ipex_plan_builder *b, const int64_t *lo, const int64_t *hi,
                                  const struct ipex_plan_need *need) {
    const struct ipex_image_entry *entry = b->entry;
    struct ipex_plan_sizes *own = take_own(b);
    IPEX_CHECK(own != NULL, &b->report, IPEX_ERROR_MEMORY, "the memory is too small");
    own->entry = *entry;
    own->entry.tensor = own->tensor;
    own->need = *need;
    copy_symbols(entry->fb, own->lo, lo);
    copy_symbols(entry->fb, own->hi, hi);
    copy_symbols(entry->fb, own->symbols, hi);
    IPEX_TRY(find_capacities(b->image, index_of(b->image, entry), lo, hi, own->tensor,
                             own->capacity, &own->values, &b->report));
    own->memory = *b->memory;
    own->builder = *b;
    own->builder.memory = &own->memory;
    own->builder.entry = &own->entry;
    own->builder.capacity = own->capacity;
    own->builder.values = &own->values;
    b->plan->sizes = own;
    b->plan->entry = &own->entry;
    IPEX_TRY(ipex_plan_build(&own->builder));
    own->bound = true;
    return IPEX_OK;
}

static enum ipex_status rebuild(struct ipex_plan *plan, const struct ipex_report *report) {
    struct ipex_plan_sizes *own = plan->sizes;
    struct ipex_plan_builder *b = &own->builder;
    const struct ipex_plan_need *need = &own->need;
    b->report = *report;
    b->again = true;
    b->scratch_bytes = b->zero_bytes = 0;
    IPEX_TRY(
        resolve(b->image, (uint32_t)plan->index, own->symbols, own->tensor, &own->values, report));
    IPEX_TRY(ipex_plan_build(b));
    IPEX_CHECK(b->scratch_bytes <= need->scratch && b->zero_bytes <= need->zeros, report,
               IPEX_ERROR_SHAPE,
               "a kernel needs more scratch memory than at both ends of the ranges");
    return IPEX_OK;
}

enum ipex_status ipex_sizes_bind(struct ipex_plan *plan, const int64_t *symbols,
                                 const struct ipex_report *report) {
    struct ipex_plan_sizes *own = plan->sizes;
    struct ipex_fb_entry entry = own->entry.fb;
    const size_t bytes = ipex_fb_entry_symbols_len(entry) * sizeof *symbols;
    if (own->bound && memcmp(own->symbols, symbols, bytes) == 0)
        return IPEX_OK;
    copy_symbols(entry, own->symbols, symbols);
    own->bound = false;
    const enum ipex_status status = rebuild(plan, report);
    own->bound = status == IPEX_OK;
    if (status == IPEX_OK)
        return IPEX_OK;
    plan->steps = 0;
    return at_sizes(report, entry, symbols, IPEX_ERROR_SHAPE);
}
