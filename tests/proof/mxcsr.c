/* SPDX-License-Identifier: Apache-2.0 */
/* P5: the result does not depend on the floating-point state of the calling thread, and that state
 * comes back as it was: rounding, flush-to-zero, denormals-are-zero, exception masks and flags,
 * also after a run that failed.
 *
 * mxcsr [--isa LEVEL] FILE.ipex... */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "tests/proof/proof.h"

#define FLAGS   0x003fu /* sticky exception flags */
#define DAZ     0x0040u
#define MASKS   0x1f80u
#define DOWN    0x2000u
#define UP      0x4000u
#define TO_ZERO 0x6000u
#define FTZ     0x8000u

static const struct {
    const char *name;
    unsigned csr;
} states[] = {
    {"default", MASKS},
    {"round down", MASKS | DOWN},
    {"round up", MASKS | UP},
    {"round to zero", MASKS | TO_ZERO},
    {"FTZ and DAZ", MASKS | FTZ | DAZ},
    {"no exception masked", 0},
    {"no exception masked, round up, flags set", UP | FTZ},
    {"flags set", MASKS | FLAGS},
};

/* A run of wrong rank, which must fail, and must also restore. */
static bool failing_run(const struct proof_model *model) {
    struct ipex_tensor input[PROOF_PORTS], output[PROOF_PORTS] = {0};
    memcpy(input, model->input, sizeof input);
    input[0].rank++;
    return ipex_run(model->session, NULL, input, model->inputs, output, model->outputs) != IPEX_OK;
}

static void prove_state(struct proof_model *model, struct proof_answer expected, const char *path,
                        int threads, size_t state) {
    char what[128];
    const unsigned before = states[state].csr, normal = _mm_getcsr();
    _mm_setcsr(before);
    bool ran = proof_run(model);
    unsigned after_run = _mm_getcsr();
    bool failed = failing_run(model);
    unsigned after_failure = _mm_getcsr();
    _mm_setcsr(normal);
    snprintf(what, sizeof what, "%d thread(s), %s: same bytes", threads, states[state].name);
    proof_ok(ran && proof_is(model, expected), proof_name(path, what),
             ran ? "other bytes than in the default state" : "the run failed");
    snprintf(what, sizeof what, "%d thread(s), %s: restored", threads, states[state].name);
    proof_ok(after_run == before && failed && after_failure == before, proof_name(path, what),
             "MXCSR differs after the run");
}

static void prove(const char *path, int threads) {
    struct proof_model model;
    struct proof_answer expected;
    if (proof_expected(path, &expected) && proof_open(&model, path, threads)) {
        for (size_t i = 0; i < sizeof states / sizeof *states; i++)
            prove_state(&model, expected, path, threads, i);
        proof_close(&model);
    } else {
        proof_ok(false, proof_name(path, "opens"), "cannot open or run it");
    }
}

int main(int argc, char **argv) {
    for (int i = proof_start(argc, argv); i < argc; i++) {
        if (access(argv[i], R_OK) != 0) {
            proof_skip(proof_name(argv[i], "MXCSR"), "the model is not here");
            continue;
        }
        prove(argv[i], 1);
        prove(argv[i], 2);
    }
    return proof_result();
}
