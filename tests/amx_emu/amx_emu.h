/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of AMX on a CPU without them: the CPU refuses one with SIGILL, whose handler
 * carries it out on tiles in memory. Exact to the text of Intel's manual (SDM volume 2), checked
 * against tests/amx_model.c; nobody has compared it with a CPU.
 *
 *   amx_decode.c   the bytes of an instruction -> struct amx_instruction
 *   amx_execute.c  the instruction on the tiles of one thread
 *   amx_emu.c      the signal handler, permission, counters
 *   amx_seam.c     what the library's detection is told (kernels/x86/cpu_probe.h)
 *
 * Known: ldtilecfg, sttilecfg, tilerelease, tilezero, tileloadd, tileloaddt1, tilestored,
 * tdpbf16ps, tdpbssd, tdpbsud, tdpbusd, tdpbuud, with every addressing form but the segments FS and
 * GS. A signal handler sees the tiles of the code that it interrupted. */
#ifndef AMX_EMU_H
#define AMX_EMU_H

#include <stdbool.h>
#include <stdint.h>

/* X(instruction) */
#define AMX_OPS(X)                                                                                 \
    X(ldtilecfg)                                                                                   \
    X(sttilecfg)                                                                                   \
    X(tilerelease)                                                                                 \
    X(tilezero)                                                                                    \
    X(tileloadd)                                                                                   \
    X(tileloaddt1)                                                                                 \
    X(tilestored)                                                                                  \
    X(tdpbf16ps)                                                                                   \
    X(tdpbssd)                                                                                     \
    X(tdpbsud)                                                                                     \
    X(tdpbusd)                                                                                     \
    X(tdpbuud)

enum amx_op {
#define AMX_OP_ENUM(name) AMX_OP_##name,
    AMX_OPS(AMX_OP_ENUM)
#undef AMX_OP_ENUM
        AMX_OPS_COUNT
};

/* Instructions carried out, by all threads together. */
struct amx_counts {
    uint64_t of[AMX_OPS_COUNT];
};

/* Takes SIGILL for the whole process; what is not AMX goes to the handler that was there. False,
 * and nothing is done, where the CPU has AMX: programs then run natively. Threads must not block
 * SIGILL. */
bool amx_emu_install(void);
bool amx_emu_installed(void);

/* As under Linux, the first tile instruction of a process without permission dies of SIGILL. */
void amx_emu_permit(bool permitted);
bool amx_emu_permitted(void);

/* Carried out since the last reset; all zero where nothing is emulated. */
struct amx_counts amx_emu_counts(void);
void amx_emu_reset_counts(void);

/* Another machine from here on: a name that AMX_EMU may have (amx_seam.c), NULL as at the start
 * without it. False, and nothing changes: no machine has that name. */
bool amx_seam_machine(const char *name);

#endif
