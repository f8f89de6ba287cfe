/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads begin the same work at the same time; the shortest of many rounds counts, which
 * is the least disturbed. */
#include "tools/machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/kernels.h"
#include "tools/arena.h"
#include "tools/cli.h"
#include "tools/model.h"
#include "tools/text_table.h"

#define ROUNDS       25
#define ROUND_US     1000
#define SPINS        4096
#define MEMORY_LEAST ((int64_t)256 << 20)
#define MEMORY_MOST  ((int64_t)1 << 30)

/* ---- the work of a round ---- */

struct work {
    void (*multiply)(long times);
    ipex_read_fn read; /* where multiply is NULL */
    uint8_t *block;    /* [threads][size] */
    size_t size;       /* for one thread */
    long times;
};

static void do_work(const struct work *work, int thread) {
    if (work->multiply)
        work->multiply(work->times);
    else
        work->read(work->block + work->size * (size_t)thread, work->size, work->times);
}

/* So many times that a round is long enough. */
static void calibrate(struct work *work) {
    work->times = 1;
    for (;;) {
        double start = ipex_now_us();
        do_work(work, 0);
        if (ipex_now_us() - start >= ROUND_US)
            return;
        work->times *= 2;
    }
}

/* ---- several threads ---- */

struct crew {
    const struct work *work;
    int threads;
    atomic_int arrived; /* members at the beginnings of all rounds so far */
};

struct member {
    struct crew *crew;
    int number;
    pthread_t thread;
    double us[ROUNDS];
};

/* Until all are here. Nobody sleeps: waking would count. */
static void meet(struct crew *crew, int round) {
    atomic_fetch_add(&crew->arrived, 1);
    for (long spins = 1; atomic_load(&crew->arrived) < (round + 1) * crew->threads; spins++)
        if (spins % SPINS == 0) /* there may be fewer CPUs than threads */
            sched_yield();
}

static void *do_rounds(void *argument) {
    struct member *member = argument;
    for (int round = 0; round < ROUNDS; round++) {
        meet(member->crew, round);
        double start = ipex_now_us();
        do_work(member->crew->work, member->number);
        member->us[round] = ipex_now_us() - start;
    }
    return NULL;
}

static double shortest(const struct member *member, int threads) {
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        double longest = 0;
        for (int i = 0; i < threads; i++)
            longest = member[i].us[round] > longest ? member[i].us[round] : longest;
        best = longest < best ? longest : best;
    }
    return best;
}

/* Fatal: those that have started wait for those that have not. */
static _Noreturn void die_of_threads(int threads, int error) {
    exit(ipex_cli_failed("cannot start %d threads: %s", threads, strerror(error)));
}

/* The shortest round of so many threads, in us: of its slowest member. */
static double best_round(const struct work *work, int threads) {
    struct crew crew = {.work = work, .threads = threads};
    struct member *member = ipex_alloc((size_t)threads * sizeof *member);
    for (int i = 0; i < threads; i++)
        member[i] = (struct member){.crew = &crew, .number = i};
    for (int i = 1; i < threads; i++) {
        const int error = pthread_create(&member[i].thread, NULL, do_rounds, &member[i]);
        if (error)
            die_of_threads(threads, error);
    }
    do_rounds(&member[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(member[i].thread, NULL);
    double best = shortest(member, threads);
    free(member);
    return best;
}

/* Of work that counts `units` for each thread and time, in thousands of millions a second. */
static struct ipex_machine_rate measure(struct work *work, int threads, double units) {
    calibrate(work);
    const double each = units * (double)work->times * 1e-3;
    struct ipex_machine_rate rate = {.one = each / best_round(work, 1)};
    rate.all = threads > 1 ? each * threads / best_round(work, threads) : rate.one;
    return rate;
}

/* ---- caches ---- */

/* The first line of a file about cache `index` of CPU 0; false where there is none. */
static bool read_cache(int index, const char *file, char *ret, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, file);
    FILE *stream = fopen(path, "re");
    bool good = stream && fgets(ret, (int)size, stream);
    if (stream)
        fclose(stream);
    return good;
}

/* "32K", "1M" */
static int64_t parse_size(const char *text) {
    char *unit;
    int64_t value = strtoll(text, &unit, 10);
    return *unit == 'M' ? value << 20 : *unit == 'K' ? value << 10 : value;
}

/* Data caches of levels 1 to 3, as far as the system tells. */
static void find_caches(struct ipex_machine *machine) {
    static const char *const names[IPEX_MACHINE_CACHES] = {"L1", "L2", "L3"};
    char type[32], level[32], size[32];
    for (int i = 0; read_cache(i, "type", type, sizeof type); i++) {
        if (!strncmp(type, "Instruction", 11) || !read_cache(i, "level", level, sizeof level) ||
            !read_cache(i, "size", size, sizeof size))
            continue;
        long n = strtol(level, NULL, 10);
        bool next = n >= 1 && n <= IPEX_MACHINE_CACHES && machine->stores < (size_t)n;
        if (next && parse_size(size) > 0)
            machine->store[machine->stores++] = (struct ipex_machine_store){
                .name = names[n - 1], .size = parse_size(size), .own = n < 3};
    }
    machine->store[machine->stores++] = (struct ipex_machine_store){.name = "memory"};
}

/* ---- reading ---- */

/* Bytes that each of the threads reads, so that they lie in this store and in no nearer one: half
 * of an own cache; of a shared one half together, but more than the nearer one holds; of memory
 * several times the last cache. */
static size_t block_size(const struct ipex_machine *machine, size_t index, int threads) {
    const struct ipex_machine_store *store = &machine->store[index];
    const int64_t nearer = index ? machine->store[index - 1].size : 0;
    int64_t bytes = store->size / 2;
    if (!store->size) {
        const int64_t all = 8 * nearer < MEMORY_LEAST  ? MEMORY_LEAST
                            : 8 * nearer > MEMORY_MOST ? MEMORY_MOST
                                                       : 8 * nearer;
        bytes = all / threads;
    } else if (!store->own) {
        bytes = bytes / threads < 2 * nearer ? 2 * nearer : bytes / threads;
    }
    return (size_t)(bytes / IPEX_READ_UNIT * IPEX_READ_UNIT);
}

static bool measure_stores(struct ipex_machine *machine, enum ipex_isa isa) {
    const bool wide = isa >= IPEX_ISA_avx512 && ipex_isa_available(IPEX_ISA_avx512);
    size_t room = 0;
    for (size_t i = 0; i < machine->stores; i++) {
        const size_t need = block_size(machine, i, machine->threads) * (size_t)machine->threads;
        room = need > room ? need : room;
    }
    struct work work = {.read = ipex_read_loop(wide ? IPEX_ISA_avx512 : IPEX_ISA_avx2)};
    work.block = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (work.block == MAP_FAILED)
        return false;
    for (size_t i = 0; i < machine->stores; i++) {
        struct ipex_machine_store *store = &machine->store[i];
        work.size = block_size(machine, i, machine->threads);
        /* pages of zeros that nobody has written are one page */
        memset(work.block, 1, work.size * (size_t)machine->threads);
        store->gbs = measure(&work, machine->threads, (double)work.size);
    }
    munmap(work.block, room);
    return true;
}

/* ---- all ---- */

int ipex_machine_threads(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

static void find_name(struct ipex_machine *machine) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    strcpy(machine->cpu, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *name = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !name)
            continue;
        name += 1 + strspn(name + 1, " ");
        snprintf(machine->cpu, sizeof machine->cpu, "%.*s", (int)strcspn(name, "\n"), name);
        break;
    }
    if (file)
        fclose(file);
}

int ipex_machine_measure(int threads, enum ipex_isa isa, struct ipex_machine *ret) {
    int error;
    *ret = (struct ipex_machine){.threads = threads};
    find_name(ret);
    (void)ipex_cpu_amx(IPEX_AMX_ASK_PERMISSION,
                       &error); /* refused, the machine is one without it */
    for (size_t i = 0; i < IPEX_MULTIPLY_LOOPS; i++) {
        const struct ipex_multiply_loop *loop = &ipex_multiply_loops[i];
        struct work work = {.multiply = loop->fn};
        if (ipex_isa_available(loop->isa))
            ret->peak[ret->peaks++] = (struct ipex_machine_peak){
                loop->isa, loop->dtype, measure(&work, threads, loop->flops)};
    }
    if (!ret->peaks)
        return ipex_cli_failed("this machine has no level above the reference to measure");
    find_caches(ret);
    return measure_stores(ret, isa) ? IPEX_EXIT_DONE
                                    : ipex_cli_failed("no memory to measure reading with");
}

/* ---- report ---- */

static void print_rate(struct ipex_table *table, const struct ipex_machine *machine,
                       struct ipex_machine_rate rate) {
    ipex_table_cell(table, "%.1f", rate.one);
    if (machine->threads > 1)
        ipex_table_cell(table, "%.1f", rate.all);
}

void ipex_machine_print(const struct ipex_machine *machine) {
    char all[32], size[16];
    snprintf(all, sizeof all, "%d threads", machine->threads);
    const struct ipex_table_column peaks[] = {{"GFLOP/s at most", false, 0},
                                              {"factors", false, 0},
                                              {"1 thread", true, 0},
                                              {all, true, 0}},
                                   stores[] = {{"GB/s, reading", false, 0},
                                               {"size", true, 0},
                                               {"1 thread", true, 0},
                                               {all, true, 0}};
    struct ipex_table table;
    printf("%s\n\n", machine->cpu);
    ipex_table_init(&table, peaks, machine->threads > 1 ? 4 : 3);
    for (size_t i = 0; i < machine->peaks; i++) {
        ipex_table_cell(&table, "%s", ipex_isa_name(machine->peak[i].isa));
        ipex_table_cell(&table, "%s", ipex_dtype_name(machine->peak[i].dtype));
        print_rate(&table, machine, machine->peak[i].gflops);
    }
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
    putchar('\n');
    ipex_table_init(&table, stores, machine->threads > 1 ? 4 : 3);
    for (size_t i = 0; i < machine->stores; i++) {
        const struct ipex_machine_store *store = &machine->store[i];
        ipex_table_cell(&table, "%s", store->name);
        ipex_table_cell(&table, "%s",
                        store->size ? ipex_bytes_text((double)store->size, size) : "");
        print_rate(&table, machine, store->gbs);
    }
    ipex_table_print(&table, stdout);
    ipex_table_finish(&table);
}

json_t *ipex_machine_json(const struct ipex_machine *machine) {
    json_t *object = ipex_json_object(), *peaks = ipex_json_array(), *stores = ipex_json_array();
    ipex_json_set_text(object, "cpu", machine->cpu);
    ipex_json_set_integer(object, "threads", machine->threads);
    for (size_t i = 0; i < machine->peaks; i++) {
        const struct ipex_machine_peak *peak = &machine->peak[i];
        json_t *row = ipex_json_object();
        ipex_json_set_text(row, "isa", ipex_isa_name(peak->isa));
        ipex_json_set_text(row, "dtype", ipex_dtype_name(peak->dtype));
        ipex_json_set_real(row, "gflops_one_thread", peak->gflops.one);
        ipex_json_set_real(row, "gflops", peak->gflops.all);
        ipex_json_append(peaks, row);
    }
    ipex_json_set(object, "peaks", peaks);
    for (size_t i = 0; i < machine->stores; i++) {
        const struct ipex_machine_store *store = &machine->store[i];
        json_t *row = ipex_json_object();
        ipex_json_set_text(row, "name", store->name);
        ipex_json_set_integer(row, "bytes", store->size);
        ipex_json_set_real(row, "gbs_one_thread", store->gbs.one);
        ipex_json_set_real(row, "gbs", store->gbs.all);
        ipex_json_append(stores, row);
    }
    ipex_json_set(object, "read", stores);
    return object;
}
