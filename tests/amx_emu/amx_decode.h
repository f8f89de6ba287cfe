/* SPDX-License-Identifier: Apache-2.0 */
/* AMX instructions in bytes. */
#ifndef AMX_DECODE_H
#define AMX_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/amx_emu/amx_emu.h"

enum { AMX_NO_REGISTER = -1, AMX_RIP = 16 };

struct amx_instruction {
    enum amx_op op;
    uint8_t length; /* bytes */
    /* Tiles: the one loaded, stored, zeroed or added to; a product's first (rows) and second. */
    uint8_t tile, a, b;
    /* Memory: base + displacement + index << scale; registers 0 (rax) to 15, or one of the above.
     * For tiles, index << scale is the distance of rows. */
    int8_t base, index;
    uint8_t scale;
    bool short_address; /* cut to 32 bits */
    int64_t displacement;
};

/* False: the bytes are no AMX instruction, or one that every CPU refuses. Reads no byte behind the
 * instruction, nor behind the first that shows there is none. */
bool amx_decode(const uint8_t *code, struct amx_instruction *ret);

#endif
