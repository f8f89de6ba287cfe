/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a session. Measuring and making one go through the same walk over the plans
 * (runtime/plan.c), first counting, then placing. */
#include "runtime/session.h"

#include <string.h>

#include "runtime/emit.h"
#include "runtime/memory.h"
#include "runtime/sizes.h"

#define PAGE 4096

/* Sizes of the regions of the session's memory, in bytes. */
struct layout {
    size_t plan, zeros, scratch_stride, scratch, arena, total;
};

/* Options, checked and with defaults filled in. */
struct request {
    const struct ipex_image *image;
    struct ipex_session_options set;
    struct ipex_report report;
    struct ipex_setup setup;
    int32_t first, count; /* entries */
    int amx_error;        /* of a request for AMX that was refused, else 0 */
};

/* ---- what is asked for ---- */

static void append(char *text, size_t size, const char *word) {
    const size_t used = strlen(text), length = strlen(word);
    if (used + length + 2 > size)
        return;
    text[used] = ' ';
    memcpy(text + used + 1, word, length + 1);
}

/* What the CPU has and the process may use. Linux is asked about AMX only where the answer is
 * needed: under a filter of system calls the question alone may be fatal. */
static void detect(struct request *r, struct ipex_cpu *ret) {
    const bool wanted =
        r->set.isa == IPEX_ISA_amx || (r->set.isa == IPEX_ISA_AUTO && r->set.request_amx != 0);
    const enum ipex_amx_ask ask = !wanted                   ? IPEX_AMX_ASK_NOTHING
                                  : r->set.request_amx != 0 ? IPEX_AMX_ASK_PERMISSION
                                                            : IPEX_AMX_ASK_LINUX;
    r->setup.amx = ipex_cpu_amx(ask, &r->amx_error);
    ipex_cpu_detect(ret);
    if (r->setup.amx != IPEX_AMX_permitted)
        ret->features &= ~(uint32_t)IPEX_CPU_AMX;
}

static enum ipex_status isa_missing(const struct request *r, const char *have) {
    const char *name = ipex_isa_name(r->set.isa);
    const char *why = ipex_amx_text(r->setup.amx);
    if (r->set.isa == IPEX_ISA_amx && r->setup.amx == IPEX_AMX_refused)
        return ipex_fail(&r->report, IPEX_ERROR_ISA,
                         "level amx is not available: %s (error %d); this machine has:%s", why,
                         r->amx_error, have);
    if (r->set.isa == IPEX_ISA_amx && r->setup.amx != IPEX_AMX_permitted)
        return ipex_fail(&r->report, IPEX_ERROR_ISA,
                         "level amx is not available: %s; this machine has:%s", why, have);
    return ipex_fail(&r->report, IPEX_ERROR_ISA, "level %s is not available; this machine has:%s",
                     name != NULL ? name : "(unknown)", have);
}

static enum ipex_status choose_isa(struct request *r) {
    struct ipex_cpu cpu;
    detect(r, &cpu);
    r->setup.l2_bytes = r->set.l2_bytes != 0 ? r->set.l2_bytes : cpu.l2_bytes;
    r->setup.l1_ways = cpu.l1d_bytes / IPEX_L1_SET_BYTES;
    r->setup.splits_512 = cpu.features & IPEX_CPU_SPLITS_512;
    r->setup.few_shuffles = cpu.features & IPEX_CPU_FEW_SHUFFLES;
    r->setup.no_bands = r->set.no_bands != 0;
    r->setup.isa = r->set.isa == IPEX_ISA_AUTO ? ipex_isa_best(cpu.features) : r->set.isa;
    if (ipex_isa_usable(r->setup.isa, cpu.features))
        return IPEX_OK;
    char have[128] = "";
#define IPEX_ISA_APPEND(name, value)                                                               \
    if (ipex_isa_usable(IPEX_ISA_##name, cpu.features))                                            \
        append(have, sizeof have, #name);
    IPEX_ISA_LIST(IPEX_ISA_APPEND)
#undef IPEX_ISA_APPEND
    return isa_missing(r, have);
}

/* The bf16 profile that a level computes fastest. */
static enum ipex_arithmetic native_bf16(enum ipex_isa isa) {
    return isa == IPEX_ISA_amx ? IPEX_ARITHMETIC_bf16_amx : IPEX_ARITHMETIC_bf16_dp;
}

/* The profile that every entry's file pins, where it pins one; else the caller's; else the fastest.
 * It must be one that can be computed, and that says how the file's products round. */
static enum ipex_status choose_arithmetic(struct request *r) {
    enum ipex_arithmetic wanted = r->set.arithmetic;
    bool pinned = false, bf16 = false;
    for (int32_t i = r->first; i < r->first + r->count; i++) {
        const enum ipex_arithmetic pin =
            (enum ipex_arithmetic)ipex_fb_entry_arithmetic(r->image->entry[i].fb);
        bf16 = bf16 || ipex_entry_multiplies_bf16(r->image->entry[i].fb);
        if (pin == IPEX_ARITHMETIC_AUTO)
            continue;
        IPEX_CHECK(wanted == IPEX_ARITHMETIC_AUTO || wanted == pin, &r->report,
                   IPEX_ERROR_ARITHMETIC, "entry '%s' pins the arithmetic profile %s",
                   ipex_fb_entry_name(r->image->entry[i].fb), ipex_arithmetic_name(pin));
        wanted = pin;
        pinned = true;
    }
    if (wanted == IPEX_ARITHMETIC_AUTO)
        wanted = bf16 ? native_bf16(r->setup.isa) : IPEX_ARITHMETIC_f32;
    IPEX_CHECK(ipex_arithmetic_available(wanted), &r->report, IPEX_ERROR_ARITHMETIC,
               "arithmetic profile %d is unknown; this library has: f32 bf16-dp bf16-amx",
               (int)wanted);
    r->setup.arithmetic = wanted;
    IPEX_CHECK(pinned || bf16 == (wanted != IPEX_ARITHMETIC_f32), &r->report, IPEX_ERROR_ARITHMETIC,
               "the file computes in %s, not in %s", bf16 ? "bf16" : "f32",
               ipex_arithmetic_name(wanted));
    return IPEX_OK;
}

static enum ipex_status choose_entries(struct request *r) {
    r->first = 0;
    r->count = r->image->entries;
    if (r->set.entry == NULL)
        return IPEX_OK;
    r->first = ipex_image_find_entry(r->image, r->set.entry);
    r->count = 1;
    IPEX_CHECK(r->first >= 0, &r->report, IPEX_ERROR_NOT_FOUND, "the file has no entry '%s'",
               r->set.entry);
    return IPEX_OK;
}

static enum ipex_status choose_threads(struct request *r) {
    const struct ipex_session_options *set = &r->set;
    r->setup.threads = set->pool != NULL ? ipex_pool_threads(set->pool) : 1;
    if (set->parallel_for == NULL)
        return IPEX_OK;
    IPEX_CHECK(set->pool == NULL, &r->report, IPEX_ERROR_ARGUMENT,
               "give either pool or parallel_for");
    IPEX_CHECK(set->parallel_threads >= 1 && set->parallel_threads <= IPEX_THREADS_MAX, &r->report,
               IPEX_ERROR_ARGUMENT, "parallel_threads must be 1..%d, %d given", IPEX_THREADS_MAX,
               (int)set->parallel_threads);
    r->setup.threads = set->parallel_threads;
    r->setup.callers_threads = true;
    return IPEX_OK;
}

static enum ipex_status read_request(const struct ipex_image *image,
                                     const struct ipex_session_options *options,
                                     struct request *ret) {
    memset(ret, 0, sizeof *ret);
    ret->image = image;
    if (options != NULL) {
        if (options->size_of_struct != sizeof *options)
            return IPEX_ERROR_ARGUMENT; /* a message buffer of unknown place cannot be filled */
        ret->set = *options;
        ret->report = (struct ipex_report){.text = options->message, .size = options->message_size};
    }
    IPEX_CHECK(image != NULL, &ret->report, IPEX_ERROR_ARGUMENT, "image is NULL");
    IPEX_TRY(choose_entries(ret));
    IPEX_TRY(ipex_sizes_check(image, ret->first, ret->count, ret->set.dims, ret->set.n_dims,
                              &ret->report));
    IPEX_CHECK(ret->set.l2_bytes >= 0, &ret->report, IPEX_ERROR_ARGUMENT,
               "l2_bytes must not be negative, %d given", (int)ret->set.l2_bytes);
    IPEX_TRY(choose_threads(ret));
    IPEX_TRY(choose_isa(ret));
    IPEX_TRY(choose_arithmetic(ret));
    ipex_kernels_init(&ret->setup.kernels, &ret->setup.names, ret->setup.isa);
    return IPEX_OK;
}

/* ---- counting ---- */

static struct ipex_session *take_session(struct ipex_bump *bump, const struct request *r,
                                         struct ipex_plan **ret_plans) {
    struct ipex_session *session = ipex_bump_take(bump, sizeof *session, IPEX_MEMORY_ALIGN);
    *ret_plans = ipex_bump_take(bump, (size_t)r->count * sizeof **ret_plans, IPEX_MEMORY_ALIGN);
    return session;
}

static void begin_build(struct ipex_plan_builder *b, const struct request *r,
                        struct ipex_bump *bump, int32_t index) {
    b->image = r->image;
    b->entry = &r->image->entry[r->first + index];
    b->setup = &r->setup;
    b->report = r->report;
    b->memory = bump;
    b->plan = NULL;
    b->arena = b->zeros = NULL;
    b->capacity = NULL;
    b->values = NULL;
    b->again = false;
    b->scratch_bytes = b->zero_bytes = 0;
}

/* Whether an entry has symbols, and their ranges in this session. */
static bool has_symbols(const struct request *r, const struct ipex_image_entry *entry, int64_t *lo,
                        int64_t *hi) {
    if (ipex_fb_entry_symbols_len(entry->fb) == 0)
        return false;
    ipex_sizes_narrow(entry->fb, r->set.dims, r->set.n_dims, lo, hi);
    return true;
}

static enum ipex_status count_plan(struct ipex_plan_builder *b, const struct request *r,
                                   int32_t index, struct ipex_plan_need *ret) {
    int64_t lo[IPEX_SYMBOLS_MAX], hi[IPEX_SYMBOLS_MAX];
    struct ipex_bump memory = {0};
    begin_build(b, r, &memory, index);
    if (has_symbols(r, b->entry, lo, hi))
        return ipex_sizes_count(b, lo, hi, ret);
    IPEX_TRY(ipex_plan_build(b));
    *ret = (struct ipex_plan_need){.room = memory.used,
                                   .steps = b->steps,
                                   .arena = (size_t)b->arena_bytes,
                                   .scratch = b->scratch_bytes,
                                   .zeros = b->zero_bytes};
    return IPEX_OK;
}

static bool add_up(struct layout *layout, int32_t threads) {
    uint64_t scratch, total;
    const uint64_t line = IPEX_MEMORY_ALIGN - 1;
    if (!ipex_mul_u64(layout->scratch_stride, (uint64_t)threads, &scratch) ||
        !ipex_add_u64(layout->plan, layout->zeros, &total) ||
        !ipex_add_u64(total, scratch, &total) || !ipex_add_u64(total, layout->arena, &total) ||
        total > SIZE_MAX / 2 - line)
        return false;
    layout->scratch = scratch;
    layout->total = total;
    return true;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t line_up(size_t size) {
    return (size + IPEX_MEMORY_ALIGN - 1) & ~(size_t)(IPEX_MEMORY_ALIGN - 1);
}

static enum ipex_status measure(const struct request *r, struct layout *ret) {
    struct ipex_bump bump = {0};
    struct ipex_plan *plans;
    (void)take_session(&bump, r, &plans);
    struct ipex_plan_builder builder;
    size_t scratch = 0, zeros = 0;
    memset(ret, 0, sizeof *ret);
    for (int32_t i = 0; i < r->count; i++) {
        struct ipex_plan_need need;
        IPEX_TRY(count_plan(&builder, r, i, &need));
        (void)ipex_bump_take(&bump, need.room, IPEX_MEMORY_ALIGN);
        ret->arena = larger(ret->arena, need.arena);
        scratch = larger(scratch, need.scratch);
        zeros = larger(zeros, need.zeros);
    }
    ret->plan = line_up(bump.used);
    ret->zeros = line_up(zeros);
    ret->scratch_stride = line_up(scratch);
    IPEX_CHECK(!bump.failed && add_up(ret, r->setup.threads), &r->report, IPEX_ERROR_MEMORY,
               "the session does not fit an address space");
    return IPEX_OK;
}

enum ipex_status ipex_session_measure(const struct ipex_image *image,
                                      const struct ipex_session_options *options,
                                      struct ipex_requirements *ret_requirements) {
    struct request request;
    struct layout layout;
    IPEX_TRY(read_request(image, options, &request));
    IPEX_TRY(measure(&request, &layout));
    *ret_requirements = (struct ipex_requirements){
        .memory = layout.total,
        .plan = layout.plan + layout.zeros,
        .arena = layout.arena,
        .scratch = layout.scratch,
    };
    return IPEX_OK;
}

/* ---- placing ---- */

/* Every page gets its memory now, so that no run meets a page fault. */
static void touch(uint8_t *memory, size_t size) {
    volatile uint8_t *at = memory;
    for (size_t i = 0; i < size; i += PAGE)
        at[i] = 0;
    if (size > 0)
        at[size - 1] = 0;
}

/* The same for the tiles of every thread that is known. */
static void touch_tiles(struct ipex_pool *pool) {
    if (pool != NULL)
        ipex_pool_visit(pool, ipex_amx_touch);
    else
        ipex_amx_touch();
}

static enum ipex_status build_plan(struct ipex_plan_builder *b, const struct request *r,
                                   struct ipex_session *session, int32_t index,
                                   struct ipex_bump *bump, const struct layout *layout,
                                   uint8_t *memory) {
    int64_t lo[IPEX_SYMBOLS_MAX], hi[IPEX_SYMBOLS_MAX];
    struct ipex_plan *plan = &session->plan[index];
    struct ipex_plan_need need;
    IPEX_TRY(count_plan(b, r, index, &need));
    struct ipex_bump own = {.base = ipex_bump_take(bump, need.room, IPEX_MEMORY_ALIGN),
                            .size = need.room};
    IPEX_CHECK(own.base != NULL, &r->report, IPEX_ERROR_MEMORY, "the memory is too small");
    begin_build(b, r, &own, index);
    *plan = (struct ipex_plan){
        .entry = b->entry, .index = r->first + index, .name = ipex_fb_entry_name(b->entry->fb)};
    b->setup = &session->setup;
    b->plan = plan;
    b->step_room = need.steps;
    b->arena_room = (int64_t)need.arena;
    b->zeros = memory + layout->plan;
    b->arena = memory + layout->plan + layout->zeros + layout->scratch;
    return has_symbols(r, b->entry, lo, hi) ? ipex_sizes_place(b, lo, hi, &need)
                                            : ipex_plan_build(b);
}

static enum ipex_status build_plans(const struct request *r, struct ipex_session *session,
                                    struct ipex_bump *bump, const struct layout *layout,
                                    uint8_t *memory) {
    struct ipex_plan_builder builder;
    for (int32_t i = 0; i < r->count; i++)
        IPEX_TRY(build_plan(&builder, r, session, i, bump, layout, memory));
    return IPEX_OK;
}

enum ipex_status ipex_session_init(struct ipex_session **ret_session,
                                   const struct ipex_image *image,
                                   const struct ipex_session_options *options, void *memory,
                                   size_t size) {
    struct request request;
    struct layout layout;
    IPEX_TRY(read_request(image, options, &request));
    IPEX_TRY(measure(&request, &layout));
    IPEX_TRY(ipex_memory_check("a session", memory, size, layout.total, &request.report));
    touch(memory, layout.total);
    struct ipex_bump bump = {.base = memory, .size = layout.plan};
    struct ipex_plan *plans;
    struct ipex_session *session = take_session(&bump, &request, &plans);
    memset(session, 0, sizeof *session);
    session->image = image;
    session->setup = request.setup;
    session->cancel = request.set.cancel;
    session->plan = plans;
    session->plans = request.count;
    session->team = (struct ipex_team){
        .pool = request.set.pool,
        .parallel_for = request.set.parallel_for,
        .parallel_user = request.set.parallel_user,
        .threads = request.setup.threads,
        .scratch = (uint8_t *)memory + layout.plan + layout.zeros,
        .scratch_stride = layout.scratch_stride,
    };
    memset((uint8_t *)memory + layout.plan, 0, layout.zeros);
    IPEX_TRY(build_plans(&request, session, &bump, &layout, memory));
    if (session->setup.isa == IPEX_ISA_amx)
        touch_tiles(session->team.pool);
    *ret_session = session;
    return IPEX_OK;
}

void ipex_session_finish(struct ipex_session *session) {
    if (session != NULL)
        memset(session, 0, sizeof *session); /* a later run finds no plan instead of a stale one */
}

/* ---- what it resolved to ---- */

struct ipex_plan *ipex_session_plan(const struct ipex_session *session, const char *entry) {
    if (entry == NULL && session->plans == 1)
        return session->plan;
    for (int32_t i = 0; i < session->plans; i++)
        if (strcmp(session->plan[i].name, entry != NULL ? entry : "main") == 0)
            return &session->plan[i];
    return NULL;
}

const char *ipex_session_message(const struct ipex_session *session) {
    return session->message;
}

enum ipex_isa ipex_session_isa(const struct ipex_session *session) {
    return session->setup.isa;
}

enum ipex_arithmetic ipex_session_arithmetic(const struct ipex_session *session) {
    return session->setup.arithmetic;
}

enum ipex_amx_state ipex_session_amx(const struct ipex_session *session) {
    return session->setup.amx;
}

int32_t ipex_session_threads(const struct ipex_session *session) {
    return session->setup.threads;
}

size_t ipex_session_step_count(const struct ipex_session *session, const char *entry) {
    const struct ipex_plan *plan = ipex_session_plan(session, entry);
    return plan != NULL ? (size_t)plan->steps : 0;
}

enum ipex_status ipex_session_step(const struct ipex_session *session, const char *entry,
                                   size_t index, struct ipex_step_info *ret_step) {
    const struct ipex_plan *plan = ipex_session_plan(session, entry);
    if (plan == NULL || index >= (size_t)plan->steps)
        return IPEX_ERROR_NOT_FOUND;
    const struct ipex_plan_step *step = &plan->step[index];
    *ret_step = (struct ipex_step_info){
        .name = step->name,
        .op = step->op,
        .kernel = step->kernel,
        .flops = step->flops,
        .spared_flops = step->spared_flops,
        .bytes = step->bytes,
        .jobs = step->jobs,
        .node = step->node,
        .nodes = step->nodes,
    };
    return IPEX_OK;
}

enum ipex_status ipex_session_storage(const struct ipex_session *session, const char *entry,
                                      size_t index, struct ipex_storage_info *ret_storage) {
    const struct ipex_plan *plan = ipex_session_plan(session, entry);
    if (plan == NULL || index >= (size_t)plan->entry->tensors)
        return IPEX_ERROR_NOT_FOUND;
    const struct ipex_tensor_info *info = &plan->entry->tensor[index];
    const uint8_t *place = plan->storage[index].arena;
    *ret_storage = (struct ipex_storage_info){
        .name = ipex_fb_tensor_name(ipex_fb_entry_tensors(plan->entry->fb, (uint32_t)index))};
    if (place == NULL)
        return IPEX_OK;
    ret_storage->offset = place - plan->arena;
    ret_storage->bytes = info->storage * ipex_element_size(info);
    ret_storage->first = info->first;
    ret_storage->last = info->last;
    return IPEX_OK;
}
