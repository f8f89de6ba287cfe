/* SPDX-License-Identifier: Apache-2.0 */
/* The emulator as a library for LD_PRELOAD, with permission for all: another emulator, as far as a
 * program can see that was started with AMX_EMU=0. */
#include "tests/amx_emu/amx_emu.h"

__attribute__((constructor)) static void start(void) {
    amx_emu_install();
    amx_emu_permit(true);
}
