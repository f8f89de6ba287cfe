/* SPDX-License-Identifier: Apache-2.0 */
/* What `ipexpack convert` tells when it is done: for a person, or as JSON. Sites that were left as
 * they are appear as one line per pass and reason; `inspect --why` names them all. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/convert/convert.h"
#include "tools/json.h"
#include "tools/model.h"

static const struct {
    const char *name, *text;
} passes[] = {
    {"constant", "constant nodes computed"},
#define IPEX_PASS(name, what) {#name, what},
#include "tools/convert/passes.inc"
    {"branch", "convolutions of one value that were added are one"},
    {"half", "casts to half precision left out: values stay in f32"},
    {"lengths", "attention of one sequence, whose length is that of its keys"},
    {"winograd", "convolutions with transformed weights: of 3x3 a quarter of the products, or 4/9"},
    {"columns",
     "convolutions that leave out what lies beside the image, a kernel column at a time"},
    {"dtype", "products on bf16"},
    {"lossless", "weights that 16 bits hold exactly are stored so"},
    {"concat", "concatenated values written straight into place"},
    {"slice", "slices that are views"},
    {"layout", "reshapes and transposes that cost nothing"},
    {"room", "tensors that are larger between the ends of the ranges than at both"},
    {"band", "steps that can run together, band of lines by band of lines"},
};
#define PASSES (sizeof passes / sizeof *passes)

struct totals {
    size_t source_nodes, steps, answers, labels;
};

static struct totals add_up(const struct ipex_convert *c) {
    struct totals sum = {0};
    for (size_t e = 0; e < c->entries; e++) {
        const struct ipex_convert_entry *entry = &c->entry[e];
        sum.source_nodes += entry->model.graph.nodes;
        sum.steps += entry->plan.nodes;
        sum.answers += entry->answers.answers;
        sum.labels += entry->labels;
    }
    return sum;
}

/* Sites of a pass, over all entries. */
static size_t count_sites(const struct ipex_convert *c, const char *pass, bool applied) {
    size_t n = 0;
    for (size_t e = 0; e < c->entries; e++)
        n += ipex_ledger_count(&c->entry[e].ledger, pass, applied);
    return n;
}

/* ---- JSON ---- */

static json_t *entry_json(const struct ipex_convert_entry *entry) {
    json_t *object = ipex_json_object();
    ipex_json_set_text(object, "name", entry->name);
    ipex_json_set_integer(object, "source_nodes", (long long)entry->model.graph.nodes);
    ipex_json_set_integer(object, "steps", (long long)entry->plan.nodes);
    ipex_json_set_integer(object, "known_answers", (long long)entry->answers.answers);
    ipex_json_set_integer(object, "labels", (long long)entry->labels);
    ipex_json_set_text(object, "notes", entry->notes ? entry->notes : "");
    return object;
}

void ipex_convert_print_json(const struct ipex_convert *c) {
    struct totals sum = add_up(c);
    json_t *object = ipex_json_object(), *pass_list = ipex_json_array(),
           *entries = ipex_json_array();
    for (size_t i = 0; i < PASSES; i++) {
        json_t *pass = ipex_json_object();
        ipex_json_set_text(pass, "pass", passes[i].name);
        ipex_json_set_integer(pass, "applied", (long long)count_sites(c, passes[i].name, true));
        ipex_json_set_integer(pass, "refused", (long long)count_sites(c, passes[i].name, false));
        ipex_json_append(pass_list, pass);
    }
    for (size_t e = 0; e < c->entries; e++)
        ipex_json_append(entries, entry_json(&c->entry[e]));
    ipex_json_set_text(object, "file", c->output);
    ipex_json_set_integer(object, "file_bytes", (long long)c->written.file_size);
    ipex_json_set_integer(object, "weight_bytes", (long long)c->written.weight_bytes);
    ipex_json_set_integer(object, "shared_bytes", (long long)c->written.shared_bytes);
    ipex_json_set_integer(object, "metadata_bytes", (long long)c->written.metadata_size);
    ipex_json_set_integer(object, "source_nodes", (long long)sum.source_nodes);
    ipex_json_set_integer(object, "steps", (long long)sum.steps);
    ipex_json_set_integer(object, "known_answers", (long long)sum.answers);
    ipex_json_set_integer(object, "labels", (long long)sum.labels);
    ipex_json_set(object, "entries", entries);
    ipex_json_set(object, "passes", pass_list);
    ipex_json_set_real(object, "seconds", (ipex_now_us() - c->start_us) * 1e-6);
    ipex_json_finish(object);
}

/* ---- text ---- */

static void print_entries(const struct ipex_convert *c) {
    for (size_t e = 0; e < c->entries; e++) {
        const struct ipex_convert_entry *entry = &c->entry[e];
        if (c->entries > 1)
            ipex_cli_say("entry %s: ", entry->name);
        ipex_cli_say("%zu nodes became %zu steps", entry->model.graph.nodes, entry->plan.nodes);
        ipex_cli_say(entry->shape_folds ? " (%zu were shape arithmetic)\n" : "\n",
                     entry->shape_folds);
        if (entry->notes)
            ipex_cli_say("%s", entry->notes);
    }
}

static void print_passes(const struct ipex_convert *c) {
    for (size_t i = 0; i < PASSES; i++) {
        size_t applied = count_sites(c, passes[i].name, true),
               refused = count_sites(c, passes[i].name, false);
        if (applied)
            ipex_cli_say("  %-10s %4zu applied, %zu not: %s\n", passes[i].name, applied, refused,
                         passes[i].text);
    }
}

/* Sites with the pass and reason of one, over all entries. */
struct alike {
    size_t sites;
    bool first;      /* no earlier site has them */
    bool same_words; /* all have the same text */
};

static struct alike count_alike(const struct ipex_convert *c, const struct ipex_site *site) {
    struct alike result = {.same_words = true};
    for (size_t e = 0; e < c->entries; e++)
        for (size_t i = 0; i < c->entry[e].ledger.sites; i++) {
            const struct ipex_site *other = &c->entry[e].ledger.site[i];
            if (other->reason != site->reason || strcmp(other->pass, site->pass))
                continue;
            if (!result.sites++)
                result.first = other == site;
            result.same_words &= !strcmp(other->text, site->text);
        }
    return result;
}

static void print_refusals(const struct ipex_convert *c) {
    size_t lines = 0;
    for (size_t e = 0; e < c->entries; e++)
        for (size_t i = 0; i < c->entry[e].ledger.sites; i++) {
            const struct ipex_site *site = &c->entry[e].ledger.site[i];
            if (site->reason == IPEX_REASON_applied)
                continue;
            struct alike alike = count_alike(c, site);
            if (!alike.first)
                continue;
            if (!lines++)
                ipex_cli_say("left as it is (ipexpack inspect %s --why names every site):\n",
                             c->output);
            ipex_cli_say("  %-10s %4zu %s: %s%s\n", site->pass, alike.sites,
                         ipex_reason_code(site->reason),
                         alike.same_words ? "" : "for example: ", site->text);
        }
}

void ipex_convert_print_summary(const struct ipex_convert *c) {
    struct totals sum = add_up(c);
    print_entries(c);
    print_passes(c);
    print_refusals(c);
    ipex_cli_say("%s: %.2f MB (weights %.2f MB", c->output, (double)c->written.file_size * 1e-6,
                 (double)c->written.weight_bytes * 1e-6);
    if (c->written.shared_bytes)
        ipex_cli_say(", %.2f MB more if entries did not share",
                     (double)c->written.shared_bytes * 1e-6);
    if (sum.answers)
        ipex_cli_say(", %zu known answer%s %.2f MB", sum.answers, sum.answers == 1 ? "" : "s",
                     (double)c->written.answer_bytes * 1e-6);
    ipex_cli_say("), %.2f s\n", (ipex_now_us() - c->start_us) * 1e-6);
}
