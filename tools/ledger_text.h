/* SPDX-License-Identifier: Apache-2.0 */
/* The optimisation ledger of a file as a person reads it. */
#ifndef IPEX_TOOLS_LEDGER_TEXT_H
#define IPEX_TOOLS_LEDGER_TEXT_H

#include "format/model_fb.h"
#include "tools/arena.h"

/* On stdout, by pass: how many sites it was applied to, and what was left as it is by reason, with
 * the reason's sentence once and the names of its sites. */
void ipex_ledger_print(struct ipex_fb_model model, struct ipex_arena *arena);

#endif
