/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers while they are imported: one operator of the plan, or layers step by step. */
#ifndef IPEX_TOOLS_IMPORT_RECURRENT_H
#define IPEX_TOOLS_IMPORT_RECURRENT_H

#include "tools/convert/import_lengths.h"

enum { IPEX_UNROLLED_MAX = 512 }; /* steps, each of which becomes layers */

/* ONNX's f, g and h of one direction. */
enum { IPEX_RECURRENT_ACTS = 3 };
struct ipex_recurrent_act {
    int64_t kind; /* of the names in import_unrolled.c */
    float alpha, beta;
};

struct ipex_recurrent {
    struct ipex_value *x, *w, *r, *bias, *state[2];  /* as with layout 0 */
    struct ipex_value *lengths;                      /* [B], NULL: all are as long as x */
    struct ipex_value *peepholes;                    /* LSTM: [D][3H], i o f; or NULL */
    int64_t directions, hidden, gates, steps, batch; /* gates: 1 RNN, 3 GRU, 4 LSTM */
    struct ipex_recurrent_act act[2][IPEX_RECURRENT_ACTS];
    float clip;            /* of what activations take; 0: none */
    bool plain;            /* the activations are the default ones, and there is nothing but them */
    bool reverse, coupled; /* LSTM: input_forget */
    bool batch_first;      /* layout 1: x [B][T][I], states [B][D][H], y [B][T][D][H] */
    bool reset_last;       /* GRU: linear_before_reset */
};

/* Activations, clip and peepholes of the current node; false after refusing. */
bool ipex_recurrent_read_acts(struct ipex_import *import, struct ipex_recurrent *n);

/* Row d of a constant [D][...] (NULL: NULL), with these dims. */
struct ipex_value *ipex_recurrent_row(struct ipex_import *import, const struct ipex_value *x,
                                      int64_t d, int32_t rank, const int64_t *dims);

/* One direction, step by step: y [T][1][B][H] and the states that are left, [1][B][H] each. With
 * lengths y is 0 past the end of a sequence, and states stay. */
struct ipex_value *ipex_recurrent_unrolled(struct ipex_import *import,
                                           const struct ipex_recurrent *n,
                                           struct ipex_value **ret_left);

#endif
