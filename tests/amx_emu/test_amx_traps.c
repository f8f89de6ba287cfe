/* SPDX-License-Identifier: Apache-2.0 */
/* The emulator at work: compiled AMX instructions are executed, their addresses are the program's,
 * counters count, threads have tiles of their own, and what must be refused is. Where the CPU has
 * AMX the same is asked of it, but for counters. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/x86/amx_tile.h"
#include "tests/amx_emu/amx_check.h"
#include "tests/amx_emu/amx_emu.h"
#include "tests/tools/tool_test.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

enum { ROW = IPEX_TILE_ROW_BYTES, TILE = IPEX_TILE_ROWS * ROW };

static const struct ipex_tile_config full = {.palette = IPEX_TILE_PALETTE,
                                             .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                             .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

/* ---- addressing ---- */

/* Each loads tile 0 from p, rows `stride` bytes apart, in a way of its own; instructions that the
 * compiler would choose, and some that it never does. */
#define LOAD_FORM(name, text, ...)                                                                 \
    static void name(const uint8_t *p, int64_t stride) {                                           \
        __asm__ volatile(text : : [p] "r"(p), [s] "r"(stride) : "memory", __VA_ARGS__);            \
    }
LOAD_FORM(load_plain, "tileloadd (%[p],%[s],1), %%tmm0", "cc")
LOAD_FORM(load_once, "tileloaddt1 (%[p],%[s],1), %%tmm0", "cc")
LOAD_FORM(load_disp8, "lea 100(%[p]), %%rax\n tileloadd -100(%%rax,%[s],1), %%tmm0", "rax")
LOAD_FORM(load_disp32, "lea -70000(%[p]), %%rcx\n tileloadd 70000(%%rcx,%[s],1), %%tmm0", "rcx")
LOAD_FORM(load_scale_2, "mov %[s], %%rbx\n sar %%rbx\n tileloadd (%[p],%%rbx,2), %%tmm0", "rbx",
          "cc")
LOAD_FORM(load_scale_8, "mov %[s], %%r9\n sar $3, %%r9\n tileloadd (%[p],%%r9,8), %%tmm0", "r9",
          "cc")
LOAD_FORM(load_r12_r13, "mov %[p], %%r12\n mov %[s], %%r13\n tileloadd (%%r12,%%r13,1), %%tmm0",
          "r12", "r13")
LOAD_FORM(load_r13_r12, "mov %[p], %%r13\n mov %[s], %%r12\n tileloadd (%%r13,%%r12,1), %%tmm0",
          "r12", "r13")
LOAD_FORM(load_r8_r15, "mov %[p], %%r8\n mov %[s], %%r15\n tileloadd (%%r8,%%r15,1), %%tmm0", "r8",
          "r15")
LOAD_FORM(load_r10_r11, "mov %[p], %%r10\n mov %[s], %%r11\n tileloadd (%%r10,%%r11,1), %%tmm0",
          "r10", "r11")
LOAD_FORM(load_rdi_rsi, "mov %[p], %%rdi\n mov %[s], %%rsi\n tileloadd (%%rdi,%%rsi,1), %%tmm0",
          "rdi", "rsi")
LOAD_FORM(load_rdx_r14, "mov %[p], %%rdx\n mov %[s], %%r14\n tileloadd (%%rdx,%%r14,1), %%tmm0",
          "rdx", "r14")

static const struct {
    const char *name;
    void (*load)(const uint8_t *p, int64_t stride);
} load_forms[] = {
    {"base, index", load_plain}, {"with a hint", load_once},  {"disp8", load_disp8},
    {"disp32", load_disp32},     {"index x 2", load_scale_2}, {"index x 8", load_scale_8},
    {"r12, r13", load_r12_r13},  {"r13, r12", load_r13_r12},  {"r8, r15", load_r8_r15},
    {"r10, r11", load_r10_r11},  {"rdi, rsi", load_rdi_rsi},  {"rdx, r14", load_rdx_r14},
};

static uint8_t source[200 * 1024];

static bool loaded(const uint8_t *from, int64_t stride) {
    uint8_t got[TILE];
    IPEX_TILE_STORE(got, ROW, 0);
    for (int r = 0; r < IPEX_TILE_ROWS; r++)
        if (memcmp(got + r * ROW, from + r * stride, ROW) != 0)
            return false;
    return true;
}

static void check_addresses(void) {
    const uint8_t *middle = source + sizeof source / 2;
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t f = 0; f < sizeof load_forms / sizeof *load_forms; f++) {
        ipex_tile_configure(&full);
        load_forms[f].load(middle, 1032);
        const bool up = loaded(middle, 1032);
        load_forms[f].load(middle, -1032);
        test_ok(up && loaded(middle, -1032), NULL, "load: %s", load_forms[f].name);
    }
    __asm__ volatile("tileloadd (%0), %%tmm0" : : "r"(middle) : "memory");
    test_ok(loaded(middle, 0), NULL, "load: no index, all rows are the first");
    ipex_tile_release();
}

/* Addresses of 32 bits: absolute, and in registers that are cut. */
static void check_low_addresses(void) {
    uint8_t *low = mmap((void *)0x10000000, 8192, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (low == MAP_FAILED) {
        test_skip("that address is taken", "load: absolute address");
        return;
    }
    memcpy(low, source, 8192);
    ipex_tile_configure(&full);
    __asm__ volatile("tileloadd 0x10000000(,%0,2), %%tmm0" : : "r"(INT64_C(40)) : "memory");
    test_ok(loaded(low, 80), NULL, "load: absolute address, index x 2");
    __asm__ volatile("tileloadd (%%eax,%%ecx,1), %%tmm0"
                     :
                     : "a"(UINT64_C(0xdead000010000000)), "c"(UINT64_C(0xbeef00000060))
                     : "memory");
    test_ok(loaded(low, 96), NULL, "load: registers cut to 32 bits");
    ipex_tile_release();
    munmap(low, 8192);
}

static void check_config_from_anywhere(void) {
    struct ipex_tile_config local = {.palette = IPEX_TILE_PALETTE}, back;
    for (int t = 0; t < 3; t++) {
        local.row_bytes[t] = (uint16_t)(16 + 4 * t);
        local.rows[t] = (uint8_t)(3 + t);
    }
    ipex_tile_configure(&local);
    memset(&back, 0xff, sizeof back);
    ipex_tile_store_config(&back);
    test_ok(memcmp(&back, &local, sizeof back) == 0, NULL, "a local configuration, stored back");
    ipex_tile_configure(&full);
    ipex_tile_store_config(&back);
    test_ok(memcmp(&back, &full, sizeof back) == 0, NULL, "a static configuration, stored back");
    ipex_tile_release();
    ipex_tile_store_config(&back);
    static const struct ipex_tile_config none;
    test_ok(memcmp(&back, &none, sizeof back) == 0, NULL, "released: all zero");
}

/* ---- products, threads, counters ---- */

enum { THREADS = 4, ROUNDS = 50 };

static void *thread_main(void *arg) {
    struct rng rng = {.state = (uintptr_t)arg};
    bool good = true;
    for (int i = 0; i < ROUNDS; i++)
        good &= amx_check_bf16(AMX_SPECIAL, &rng);
    return good ? arg : NULL;
}

static void check_multiplication(void) {
    struct rng rng = {.state = 1};
    bool bf16 = true, i8 = true, threads = true;
    for (int i = 0; i < ROUNDS; i++) {
        bf16 &= amx_check_bf16(i % 2 ? AMX_SPECIAL : AMX_DENORMAL, &rng);
        i8 &= amx_check_i8(&rng);
    }
    test_ok(bf16, NULL, "bf16 products as the model");
    test_ok(i8, NULL, "i8 products as the model");
    pthread_t thread[THREADS];
    amx_emu_reset_counts();
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, thread_main, (void *)(i + 1)) != 0)
            abort();
    for (int i = 0; i < THREADS; i++) {
        void *good = NULL;
        pthread_join(thread[i], &good);
        threads &= good != NULL;
    }
    test_ok(threads, NULL, "%d threads have tiles of their own", THREADS);
    if (!amx_emu_installed()) {
        test_skip("the CPU executes them itself", "instructions are counted");
        return;
    }
    const struct amx_counts counts = amx_emu_counts();
    const uint64_t n = THREADS * ROUNDS;
    test_ok(counts.of[AMX_OP_ldtilecfg] == n && counts.of[AMX_OP_tileloadd] == 2 * n &&
                counts.of[AMX_OP_tileloaddt1] == n && counts.of[AMX_OP_tdpbf16ps] == n &&
                counts.of[AMX_OP_tilestored] == n && counts.of[AMX_OP_tilerelease] == n &&
                counts.of[AMX_OP_tdpbusd] == 0,
            NULL, "instructions of all threads are counted");
}

/* ---- what is refused ---- */

static int use_tiles(void *arg) {
    (void)arg;
    ipex_tile_configure(&full);
    ipex_tile_release();
    return 0;
}

static int without_permission(void *arg) {
    amx_emu_permit(false);
    return use_tiles(arg);
}

static int bad_config(void *arg) {
    (void)arg;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer has it */
    struct ipex_tile_config config = full;
    config.rows[3] = 17;
    ipex_tile_configure(&config);
    return 0;
}

static int no_config(void *arg) {
    (void)arg;
    IPEX_TILE_ZERO(0);
    return 0;
}

static int load_from_nowhere(void *arg) {
    (void)arg;
    ipex_tile_configure(&full);
    IPEX_TILE_LOAD(0, (const void *)16, ROW);
    return 0;
}

/* The last row of the tile has one byte more than the block. */
static int load_behind_block(void *arg) {
    (void)arg;
    char *block = malloc(IPEX_TILE_BYTES - 1);
    memset(block, 0, IPEX_TILE_BYTES - 1);
    ipex_tile_configure(&full);
    IPEX_TILE_LOAD(0, block, ROW);
    ipex_tile_release();
    free(block);
    return 0;
}

static int undefined_instruction(void *arg) {
    (void)arg;
    __asm__ volatile("ud2");
    return 0;
}

static void leave(int number) {
    (void)number;
    _exit(77);
}

/* Before the emulator, which is there before main. */
__attribute__((constructor(101))) static void handle_before(void) {
    const struct sigaction action = {.sa_handler = leave};
    sigaction(SIGILL, &action, NULL);
}

static int with_handler_before(void *arg) {
    __asm__ volatile("ud2");
    return *(int *)arg;
}

static void check_refusals(void) {
    enum { DIED = 128 };
    int none = 0;
    test_ok(test_in_child(use_tiles, NULL) == 0, NULL, "a child process may use tiles");
    test_ok(test_in_child(bad_config, NULL) == DIED + SIGSEGV, NULL, "17 rows: SIGSEGV");
    test_ok(test_in_child(no_config, NULL) != 0, NULL, "tilezero without configuration: a signal");
    test_ok(test_in_child(load_from_nowhere, NULL) != 0, NULL, "load from nowhere: a signal");
    if (SANITIZED && amx_emu_installed())
        test_ok(test_in_child(load_behind_block, NULL) != 0, NULL,
                "a sanitizer sees a load behind its block");
    else
        test_skip("for emulated AMX under AddressSanitizer",
                  "a sanitizer sees a load behind its block");
    test_ok(test_in_child(undefined_instruction, NULL) != 0, NULL, "ud2 is no AMX: a signal");
    if (!amx_emu_installed()) {
        test_skip("the CPU executes them itself", "no permission: SIGILL");
        test_skip("the CPU executes them itself", "other undefined instructions are passed on");
        return;
    }
    test_ok(test_in_child(without_permission, NULL) == 77, NULL,
            "no permission: the signal is the program's");
    test_ok(test_in_child(with_handler_before, &none) == 77, NULL,
            "other undefined instructions are the program's");
}

int main(void) {
    int error;
    test_start();
    if (ipex_cpu_amx(IPEX_AMX_ASK_PERMISSION, &error) != IPEX_AMX_permitted) {
        test_skip("the emulator is switched off", "instructions are executed");
        return test_done();
    }
    check_addresses();
    check_low_addresses();
    check_config_from_anywhere();
    test_ok(amx_check_order(), NULL, "loads and stores keep their order with the compiler's");
    check_multiplication();
    check_refusals();
    return test_done();
}
