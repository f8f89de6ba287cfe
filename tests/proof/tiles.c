/* SPDX-License-Identifier: Apache-2.0 */
/* Level amx multiplies with tiles, and not by whatever else gives the same bits: the emulator has
 * carried out products of tiles. How many stands behind each file's check, as "# FILE: N tile
 * products per run, M with two threads"; tests/proof/on_amx.py says how many there must be.
 *
 * tiles --isa amx FILE.ipex... */
#include <inttypes.h>
#include <stdio.h>

#include "tests/amx_emu/amx_emu.h"
#include "tests/proof/proof.h"

enum { RUNS = 3 }; /* of a round */

/* Of a run, 0 where the round failed. */
static uint64_t products(const char *path, int threads) {
    struct proof_model model;
    uint64_t ret = 0;
    amx_emu_reset_counts();
    if (proof_open(&model, path, threads) && proof_run(&model))
        ret = amx_emu_counts().of[AMX_OP_tdpbf16ps] / RUNS;
    proof_close(&model);
    return ret;
}

static void prove(const char *path) {
    char counts[128];
    const uint64_t one = products(path, 1), two = products(path, 2);
    snprintf(counts, sizeof counts,
             "%" PRIu64 " tile products per run, %" PRIu64 " with two threads", one, two);
    proof_ok(one > 0 && two > 0, proof_name(path, "tiles are multiplied"), counts);
    printf("# %s\n", proof_name(path, counts));
}

int main(int argc, char **argv) {
    for (int i = proof_start(argc, argv); i < argc; i++) {
        if (proof_is_emulated())
            prove(argv[i]);
        else
            proof_skip(proof_name(argv[i], "tiles"), "the CPU has AMX and counts nothing");
    }
    return proof_result();
}
