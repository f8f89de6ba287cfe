/* SPDX-License-Identifier: Apache-2.0 */
/* The optimisation ledger: an append-only list, written into the file by write.c. */
#include "tools/convert/ledger.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *code, *text;
} reasons[] = {[IPEX_REASON_applied] = {"", "applied"},
#define ROW(code, text) [IPEX_REASON_##code] = {#code, text},
               IPEX_REASON_LIST(ROW)
#undef ROW
};

void ipex_ledger_finish(struct ipex_ledger *ledger) {
    free(ledger->site);
    ipex_arena_finish(&ledger->arena);
    *ledger = (struct ipex_ledger){0};
}

void ipex_ledger_add(struct ipex_ledger *ledger, const char *pass, const char *site,
                     enum ipex_reason reason, const char *text) {
    if (!ledger) /* the unoptimised graph keeps none */
        return;
    ledger->site =
        ipex_grow(ledger->site, &ledger->capacity, ledger->sites + 1, sizeof *ledger->site);
    ledger->site[ledger->sites++] = (struct ipex_site){
        .site = ipex_arena_strdup(&ledger->arena, site),
        .pass = ipex_arena_strdup(&ledger->arena, pass),
        .reason = reason,
        .text = ipex_arena_strdup(&ledger->arena, text ? text : reasons[reason].text),
    };
}

const char *ipex_reason_code(enum ipex_reason reason) {
    return reasons[reason].code;
}

size_t ipex_ledger_count(const struct ipex_ledger *ledger, const char *pass, bool applied) {
    size_t n = 0;
    for (size_t i = 0; i < ledger->sites; i++)
        n += !strcmp(ledger->site[i].pass, pass) &&
             (ledger->site[i].reason == IPEX_REASON_applied) == applied;
    return n;
}
