/* SPDX-License-Identifier: Apache-2.0 */
/* The signal handler. A trap costs some microseconds, an instruction a fraction of one: AMX
 * instructions that follow each other are carried out in one go. */
#include "tests/amx_emu/amx_emu.h"

#include <cpuid.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <ucontext.h>
#include <xmmintrin.h>

#include "tests/amx_emu/amx_execute.h"

#define MXCSR_PRODUCTS 0x9fc0u   /* round to nearest, DAZ, FTZ, nothing raised */
#define L7_EDX_AMX     (1 << 24) /* cpuid 7.0: AMX-TILE */

/* Room in every thread from its start: a signal handler may not allocate it. */
static _Thread_local struct amx_tiles tiles __attribute__((tls_model("initial-exec")));

static atomic_bool installed, permitted;
static _Atomic uint64_t counts[AMX_OPS_COUNT];
static struct sigaction previous;

/* ---- operands ---- */

static int64_t value_of(const greg_t *registers, int8_t number) {
    static const int place[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    return number == AMX_NO_REGISTER ? 0 : registers[place[number]];
}

/* rip counts from behind the instruction. */
static uint64_t address_of(const greg_t *registers, const struct amx_instruction *i) {
    const int64_t length = i->base == AMX_RIP ? i->length : 0;
    const uint64_t address =
        (uint64_t)value_of(registers, i->base) + (uint64_t)(i->displacement + length);
    return i->short_address ? (uint32_t)address : address;
}

static int64_t stride_of(const greg_t *registers, const struct amx_instruction *i) {
    const uint64_t stride = (uint64_t)value_of(registers, i->index) << i->scale;
    return i->short_address ? (int32_t)(uint32_t)stride : (int64_t)stride;
}

/* ---- the handler ---- */

/* Carries out the instruction at rip and those behind it as far as they are AMX; rip is then behind
 * the last one. Returns how the first one went that could not be done. */
static enum amx_fault run_ahead(greg_t *registers) {
    struct amx_instruction instruction;
    bool first = true;
    for (;; first = false) {
        if (!amx_decode((const uint8_t *)registers[REG_RIP], &instruction))
            return first ? AMX_UNDEFINED : AMX_DONE;
        const enum amx_fault fault =
            amx_execute(&tiles, &instruction, address_of(registers, &instruction),
                        stride_of(registers, &instruction));
        if (fault != AMX_DONE)
            return fault;
        registers[REG_RIP] += instruction.length;
        atomic_fetch_add_explicit(&counts[instruction.op], 1, memory_order_relaxed);
    }
}

/* Gives the signal to whoever had it before. Without a handler the instruction is met again, and
 * the process dies of it as it would have. */
static void pass_on(int number, siginfo_t *info, void *context) {
    if (previous.sa_flags & SA_SIGINFO)
        previous.sa_sigaction(number, info, context);
    else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
        previous.sa_handler(number);
    else
        sigaction(number, &previous, NULL);
}

static void on_undefined(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned mxcsr = _mm_getcsr();
    enum amx_fault fault = AMX_UNDEFINED;
    if (info->si_code > 0 && atomic_load(&permitted)) { /* of the CPU, not of kill() */
        _mm_setcsr(MXCSR_PRODUCTS);
        fault = run_ahead(registers);
        _mm_setcsr(mxcsr);
    }
    if (fault == AMX_UNDEFINED)
        pass_on(number, info, context);
    if (fault == AMX_PROTECTION)
        raise(SIGSEGV);
}

/* ---- life cycle ---- */

bool amx_emu_install(void) {
    unsigned a, b, c, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & L7_EDX_AMX))
        return false;
    struct sigaction action = {.sa_sigaction = on_undefined, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (atomic_load(&installed))
        return true;
    atomic_store(&installed, sigaction(SIGILL, &action, &previous) == 0);
    return atomic_load(&installed);
}

bool amx_emu_installed(void) {
    return atomic_load(&installed);
}

void amx_emu_permit(bool value) {
    atomic_store(&permitted, value);
}

bool amx_emu_permitted(void) {
    return atomic_load(&permitted);
}

struct amx_counts amx_emu_counts(void) {
    struct amx_counts ret;
    for (int op = 0; op < AMX_OPS_COUNT; op++)
        ret.of[op] = atomic_load_explicit(&counts[op], memory_order_relaxed);
    return ret;
}

void amx_emu_reset_counts(void) {
    for (int op = 0; op < AMX_OPS_COUNT; op++)
        atomic_store_explicit(&counts[op], 0, memory_order_relaxed);
}
