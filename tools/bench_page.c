/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `ipexpack bench --html`: bench_page.html, which is part of this program, with the
 * numbers in it as JSON. The page asks nothing of any network. */
#include <stdlib.h>
#include <string.h>

#include "tools/arena.h"
#include "tools/bench.h"
#include "tools/bench_page_text.h"

#define PLACE "@DATA@" /* of the JSON in the page */

struct writer {
    struct ipex_atomic_file *page;
    const struct ipex_report *report;
    uint64_t at;
};

static enum ipex_status put(struct writer *w, const char *text, size_t size) {
    IPEX_TRY(ipex_atomic_write(w->page, text, size, w->at, w->report));
    w->at += size;
    return IPEX_OK;
}

/* JSON has '<' in strings alone, where it may be written another way: then no name, whatever it
 * holds, ends the element that the JSON stands in. */
static enum ipex_status put_json(struct writer *w, const char *text) {
    for (;;) {
        const size_t plain = strcspn(text, "<");
        IPEX_TRY(put(w, text, plain));
        text += plain;
        if (!*text)
            return IPEX_OK;
        IPEX_TRY(put(w, "\\u003c", 6));
        text++;
    }
}

enum ipex_status ipex_bench_page(struct ipex_atomic_file *page, const json_t *data,
                                 const struct ipex_report *report) {
    struct writer w = {.page = page, .report = report};
    const char *place = strstr(ipex_bench_page_text, PLACE);
    char *text = ipex_json_text(data);
    enum ipex_status status = put(&w, ipex_bench_page_text, (size_t)(place - ipex_bench_page_text));
    if (status == IPEX_OK)
        status = put_json(&w, text);
    if (status == IPEX_OK)
        status = put(&w, place + strlen(PLACE), strlen(place + strlen(PLACE)));
    free(text);
    return status == IPEX_OK ? ipex_atomic_commit(page, report) : status;
}
