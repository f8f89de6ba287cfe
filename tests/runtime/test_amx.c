/* SPDX-License-Identifier: Apache-2.0 */
/* Level amx is taken where it was asked for and granted, and nowhere else: on machines with AMX,
 * without it, where it is hidden, not saved or not permitted, and under filters of system calls.
 * The machines are tests/amx_emu/amx_seam.c's. */
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "tests/amx_emu/amx_emu.h"
#include "tests/runtime/harness.h"

enum { THREADS = 3, KILLED = 128 };

static struct harness h;

static void dense_net(struct net *net) {
    net_init(net);
    const int x = net_input(net, NET_DIMS(5, 70));
    const int y = net_tensor(net, NET_DIMS(5, 40));
    net_linear(net, x, y, true, -1, IPEX_ACT_relu);
    net_output(net, y);
    net_oracle(net);
}

/* What becomes of a session: its status, and what it resolved to. */
struct outcome {
    enum ipex_status status;
    enum ipex_isa isa;
    enum ipex_amx_state amx;
    char message[256];
};

static struct outcome try_session(enum ipex_isa isa, bool request, struct ipex_pool *pool) {
    struct outcome ret = {.amx = (enum ipex_amx_state)0};
    struct ipex_requirements need;
    struct ipex_session *session;
    const struct ipex_session_options options = {.size_of_struct = sizeof options,
                                                 .isa = isa,
                                                 .request_amx = request,
                                                 .pool = pool,
                                                 .message = ret.message,
                                                 .message_size = sizeof ret.message};
    ret.status = ipex_session_measure(h.image, &options, &need);
    if (ret.status != IPEX_OK)
        return ret;
    void *memory = aligned_alloc(IPEX_MEMORY_ALIGN, (need.memory + 63) & ~(size_t)63);
    ret.status = ipex_session_init(&session, h.image, &options, memory, need.memory);
    if (ret.status == IPEX_OK) {
        ret.isa = ipex_session_isa(session);
        ret.amx = ipex_session_amx(session);
        ipex_session_finish(session);
    }
    free(memory);
    return ret;
}

static void forget_permission(void) {
    amx_emu_permit(false);
    amx_emu_reset_counts();
}

/* ---- asked for or not ---- */

static void test_not_asked(void) {
    forget_permission();
    const struct outcome automatic = try_session(IPEX_ISA_AUTO, false, NULL);
    check(automatic.status == IPEX_OK && automatic.isa < IPEX_ISA_amx &&
              automatic.amx == IPEX_AMX_not_requested,
          "without a request the best level is below amx", automatic.message);
    const struct outcome chosen = try_session(IPEX_ISA_amx, false, NULL);
    check(chosen.status == IPEX_ERROR_ISA && strstr(chosen.message, "has not been requested"),
          "level amx without a request is refused", chosen.message);
    const struct outcome lower = try_session(IPEX_ISA_avx2, true, NULL);
    check(lower.status == IPEX_OK && lower.amx == IPEX_AMX_not_requested,
          "a lower level requests nothing", lower.message);
    check(!amx_emu_permitted() && ipex_amx_detect() == IPEX_AMX_not_requested &&
              !ipex_isa_available(IPEX_ISA_amx) && ipex_isa_detect() < IPEX_ISA_amx,
          "nothing was requested", "the process has permission");
    check(amx_emu_counts().of[AMX_OP_ldtilecfg] == 0, "no tile was used", "one was");
}

static struct ipex_pool *make_pool(void **ret_memory) {
    const struct ipex_pool_options options = {.size_of_struct = sizeof options, .threads = THREADS};
    struct ipex_pool *pool;
    size_t need;
    if (ipex_pool_measure(&options, &need) != IPEX_OK)
        abort();
    *ret_memory = aligned_alloc(IPEX_MEMORY_ALIGN, (need + 63) & ~(size_t)63);
    if (ipex_pool_init(&pool, &options, *ret_memory, need) != IPEX_OK)
        abort();
    return pool;
}

static void test_asked(void) {
    void *memory;
    struct ipex_pool *pool = make_pool(&memory);
    forget_permission();
    const struct outcome alone = try_session(IPEX_ISA_AUTO, true, NULL);
    check(alone.status == IPEX_OK && alone.isa == IPEX_ISA_amx && alone.amx == IPEX_AMX_permitted,
          "a request gives level amx", alone.message);
    check(ipex_isa_available(IPEX_ISA_amx) && ipex_isa_detect() == IPEX_ISA_amx,
          "the level is then the machine's best", "it is not available");
    amx_emu_reset_counts();
    const struct outcome pooled = try_session(IPEX_ISA_amx, true, pool);
    const struct amx_counts counts = amx_emu_counts();
    check(pooled.status == IPEX_OK && counts.of[AMX_OP_ldtilecfg] == THREADS &&
              counts.of[AMX_OP_tilezero] == THREADS && counts.of[AMX_OP_tilerelease] == THREADS,
          "init uses a tile once on every thread of the pool", pooled.message);
    const struct outcome later = try_session(IPEX_ISA_amx, false, NULL);
    check(later.status == IPEX_OK && later.amx == IPEX_AMX_permitted,
          "a process with permission needs no request", later.message);
    const struct outcome automatic = try_session(IPEX_ISA_AUTO, false, NULL);
    check(automatic.status == IPEX_OK && automatic.isa < IPEX_ISA_amx,
          "but without one AUTO leaves AMX alone", automatic.message);
    ipex_pool_finish(pool);
    free(memory);
}

/* ---- machines that do not give it ---- */

static void check_machine(const char *machine, enum ipex_amx_state state, const char *words) {
    char name[128];
    forget_permission();
    amx_seam_machine(machine);
    const struct outcome automatic = try_session(IPEX_ISA_AUTO, true, NULL);
    const struct outcome chosen = try_session(IPEX_ISA_amx, true, NULL);
    snprintf(name, sizeof name, "%s: the next best level, and why", machine);
    check(automatic.status == IPEX_OK && automatic.isa < IPEX_ISA_amx && automatic.amx == state,
          name, automatic.message);
    snprintf(name, sizeof name, "%s: level amx is refused with the reason", machine);
    check(chosen.status == IPEX_ERROR_ISA && strstr(chosen.message, words) != NULL &&
              strstr(chosen.message, "this machine has: reference") != NULL,
          name, chosen.message);
    amx_seam_machine(NULL);
}

/* Where vdpbf16ps is slow, level avx512_bf16 multiplies by FMA: the same bits. */
static void test_slow_dot(void) {
    struct ipex_cpu cpu;
    struct ipex_kernels kernels;
    struct ipex_kernel_names names;
    ipex_cpu_detect(&cpu);
    const bool slow = cpu.features & IPEX_CPU_SLOW_BF16_DOT;
    ipex_kernels_init(&kernels, &names, IPEX_ISA_avx512_bf16);
    check(strcmp(names.conv_bf16, slow ? "conv_bf16__avx512" : "conv_bf16__avx512_bf16") == 0,
          "this machine's products of bf16", names.conv_bf16);
    amx_seam_machine("intel");
    ipex_cpu_detect(&cpu);
    ipex_kernels_init(&kernels, &names, IPEX_ISA_avx512_bf16);
    check(cpu.features & IPEX_CPU_SLOW_BF16_DOT, "intel: vdpbf16ps is known to be slow",
          "it is not");
    check(strcmp(names.conv_bf16, "conv_bf16__avx512") == 0 &&
              strcmp(names.matmul_bf16, "matmul_bf16__avx512") == 0 &&
              strcmp(names.attention_bf16, "attention_bf16__avx512") == 0 &&
              strcmp(names.cast, "cast__avx512_bf16") == 0,
          "intel: products of bf16 by FMA, casts by their instruction", names.conv_bf16);
    ipex_kernels_init(&kernels, &names, IPEX_ISA_amx);
    check(strcmp(names.conv_bf16t, "conv_bf16t__amx") == 0, "intel: tiles at level amx",
          names.conv_bf16t);
    amx_seam_machine(NULL);
}

/* Which CPU it is decides how many rows a block of short chains has and which side lies in lanes,
 * not their bits (tests/checkkern). */
static void test_split_512(void) {
    struct ipex_cpu cpu;
    amx_seam_machine("zen4");
    ipex_cpu_detect(&cpu);
    const bool avx512 = cpu.features & IPEX_CPU_AVX512;
    check(!(cpu.features & IPEX_CPU_SPLITS_512) == !avx512,
          "zen4: 512 bits are known to take two passes", "they are not");
    check(!(cpu.features & IPEX_CPU_FEW_SHUFFLES), "zen4: as many units move lanes as multiply",
          "fewer");
    amx_seam_machine("intel");
    ipex_cpu_detect(&cpu);
    check(!(cpu.features & IPEX_CPU_SPLITS_512), "intel: 512 bits take one pass", "two");
    check(cpu.features & IPEX_CPU_FEW_SHUFFLES, "intel: fewer units move lanes than multiply",
          "as many");
    amx_seam_machine(NULL);
}

/* Cores of two kinds have caches of two sizes; what is measured on one is what is found on the
 * other. */
static void test_hybrid(void) {
    struct ipex_cpu one, two;
    amx_seam_machine("hybrid");
    ipex_cpu_detect(&one);
    ipex_cpu_detect(&two);
    check(one.l1d_bytes == 32 << 10 && one.l2_bytes == 1 << 20,
          "hybrid: caches that all cores have", "others");
    check(two.l1d_bytes == one.l1d_bytes && two.l2_bytes == one.l2_bytes,
          "hybrid: the same on the other core", "others");
    amx_seam_machine(NULL);
}

/* Calls it in a child process under a filter that answers arch_prctl with `action`; the exit
 * status, or 128 + the signal. */
static int under_filter(uint32_t action, int (*fn)(void)) {
    int status;
    const pid_t child = fork();
    if (child == 0) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        if (!filter || seccomp_rule_add(filter, action, SCMP_SYS(arch_prctl), 0) != 0 ||
            seccomp_load(filter) != 0)
            _exit(99);
        amx_emu_permit(false);
        amx_seam_machine("linux");
        _exit(fn());
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFSIGNALED(status) ? KILLED + WTERMSIG(status) : WEXITSTATUS(status);
}

static int request_is_refused(void) {
    const struct outcome chosen = try_session(IPEX_ISA_amx, true, NULL);
    const struct outcome automatic = try_session(IPEX_ISA_AUTO, true, NULL);
    return chosen.status == IPEX_ERROR_ISA && strstr(chosen.message, "(error 1)") &&
                   automatic.status == IPEX_OK && automatic.amx == IPEX_AMX_refused
               ? 0
               : 1;
}

static int nothing_is_asked(void) {
    return try_session(IPEX_ISA_AUTO, false, NULL).status != IPEX_OK ||
           try_session(IPEX_ISA_avx2, true, NULL).status != IPEX_OK;
}

static int request(void) {
    return try_session(IPEX_ISA_AUTO, true, NULL).status != IPEX_OK;
}

static void test_filters(void) {
    check(under_filter(SCMP_ACT_ERRNO(1), request_is_refused) == 0,
          "arch_prctl is an error: refused, with its number", "another status or message");
    check(under_filter(SCMP_ACT_KILL_PROCESS, nothing_is_asked) == 0,
          "arch_prctl is fatal: without a request it is not called", "the process died");
    check(under_filter(SCMP_ACT_KILL_PROCESS, request) == KILLED + SIGSYS,
          "control: with a request it is called", "the process lives");
}

/* ---- results ---- */

static void test_results(struct net *net, const char *what) {
    forget_permission();
    for (int threads = 0; threads < HARNESS_THREADS; threads++) {
        char name[64];
        harness_session(&h, IPEX_ISA_amx, (enum harness_threads)threads);
        snprintf(name, sizeof name, "a session of level amx runs %s, threads of form %d", what,
                 threads);
        check(harness_run(&h, net, DENSE, DENSE, 0), name, h.message);
    }
}

/* Bytes: groups, whose last tile of rows spans lines, a border, residuals and results of both
 * dtypes. */
static void bytes_net(struct net *net) {
    static const float rounded[IPEX_SCALES] = {0.01f, 70, 90};
    static const float middle[IPEX_SCALES] = {0.013f, 0, 0, -99, 156, -30, 70};
    const struct net_window grouped = {
        .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 2};
    net_init(net);
    const int x = net_typed_input(net, IPEX_DTYPE_u8, NET_DIMS(2, 7, 9, 40));
    const int a = net_bytes(net, NET_DIMS(2, 7, 9, 40), 1, 203);
    const int b = net_bytes(net, NET_DIMS(2, 7, 9, 38), 0, 0);
    const int y = net_tensor(net, NET_DIMS(2, 7, 9, 38));
    memcpy(net->scales, rounded, sizeof rounded);
    net_linear(net, x, a, true, x, IPEX_ACT_leaky_relu);
    net_conv(net, a, b, grouped, true, -1, IPEX_ACT_relu);
    memcpy(net->scales, middle, sizeof middle);
    net->middles = 2;
    net->unit = 0x1p-6f;
    net->shift = 0.25f;
    net_linear(net, b, y, true, b, IPEX_ACT_none);
    net_output(net, y);
    net_oracle(net);
}

static void test_bytes(void) {
    struct net net;
    bytes_net(&net);
    harness_open(&h, &net);
    amx_emu_reset_counts();
    test_results(&net, "on bytes");
    check(amx_emu_counts().of[AMX_OP_tdpbusd] > 0, "bytes are multiplied in tiles", "they are not");
    harness_close(&h);
    net_free(&net);
}

int main(void) {
    struct net net;
    if (!ipex_isa_available(IPEX_ISA_avx512_bf16)) {
        printf("ok - level amx is asked for # SKIP no level avx512_bf16, on which amx rests\n");
        return 0;
    }
    if (!amx_emu_installed()) {
        printf("ok - level amx is asked for # SKIP only the emulator's permission can be undone\n");
        return 0;
    }
    dense_net(&net);
    harness_open(&h, &net);
    test_not_asked();
    test_asked();
    check_machine("refused", IPEX_AMX_refused, "refuses permission to use AMX (error 1)");
    check_machine("no-state", IPEX_AMX_no_state, "does not save the registers of AMX");
    check_machine("masked", IPEX_AMX_absent, "a hypervisor hides it");
    check_machine("0", IPEX_AMX_absent, "the CPU has no AMX");
    check_machine("linux", IPEX_AMX_refused, "refuses permission to use AMX (error ");
    test_slow_dot();
    test_split_512();
    test_hybrid();
    test_filters();
    test_results(&net, "on f32");
    harness_close(&h);
    net_free(&net);
    test_bytes();
    return check_result();
}
