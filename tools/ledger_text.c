/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are gathered into groups of one pass and one reason, in order of first appearance; there are
 * a few dozen of them at most. */
#include "tools/ledger_text.h"

#include <stdio.h>
#include <string.h>

#include "tools/cli.h"

#define COLUMNS 100 /* of a line */

struct group {
    const char *pass, *reason; /* reason "": applied */
    const char *text;          /* of the first row */
    bool same_words;           /* all rows have that text */
    size_t sites;
};

struct groups {
    struct ipex_fb_model model;
    struct group *group;
    size_t count;
};

static const char *reason_of(struct ipex_fb_site site) {
    return ipex_fb_site_applied(site) ? "" : ipex_fb_site_reason(site);
}

static struct group *find_group(const struct groups *g, struct ipex_fb_site site) {
    for (size_t i = 0; i < g->count; i++)
        if (!strcmp(g->group[i].pass, ipex_fb_site_pass(site)) &&
            !strcmp(g->group[i].reason, reason_of(site)))
            return &g->group[i];
    return NULL;
}

static void gather(struct groups *g, struct ipex_arena *arena) {
    uint32_t rows = ipex_fb_model_ledger_len(g->model);
    g->group = ipex_arena_array(arena, (size_t)rows + 1, sizeof *g->group);
    for (uint32_t i = 0; i < rows; i++) {
        struct ipex_fb_site site = ipex_fb_model_ledger(g->model, i);
        struct group *group = find_group(g, site);
        if (!group) {
            group = &g->group[g->count++];
            *group = (struct group){.pass = ipex_fb_site_pass(site),
                                    .reason = reason_of(site),
                                    .text = ipex_fb_site_text(site),
                                    .same_words = true};
        }
        group->sites++;
        group->same_words = group->same_words && !strcmp(group->text, ipex_fb_site_text(site));
    }
}

/* "conv1", "conv1 (detect)" where there are several entries. */
static const char *site_name(const struct groups *g, struct ipex_fb_site site,
                             struct ipex_arena *arena) {
    if (ipex_fb_model_entries_len(g->model) < 2)
        return ipex_fb_site_site(site);
    struct ipex_fb_entry entry = ipex_fb_model_entries(g->model, ipex_fb_site_entry(site));
    return ipex_arena_printf(arena, "%s (%s)", ipex_fb_site_site(site), ipex_fb_entry_name(entry));
}

/* As many names on a line as fit; a line each where each has a text of its own. */
static void print_sites(const struct groups *g, const struct group *group,
                        struct ipex_arena *arena) {
    size_t column = 0;
    for (uint32_t i = 0; i < ipex_fb_model_ledger_len(g->model); i++) {
        struct ipex_fb_site site = ipex_fb_model_ledger(g->model, i);
        if (find_group(g, site) != group)
            continue;
        const char *name = site_name(g, site, arena), *text = ipex_fb_site_text(site);
        if (!group->same_words) {
            ipex_cli_say("      %s: %s\n", name, text);
            continue;
        }
        const size_t length = strlen(name);
        if (column && column + 2 + length > COLUMNS) {
            ipex_cli_say(",\n");
            column = 0;
        }
        ipex_cli_say("%s%s", column ? ", " : "      ", name);
        column += length + (column ? 2 : 6);
    }
    if (column)
        putchar('\n');
}

/* Sites of a pass that it was applied to, or not. */
static size_t count_sites(const struct groups *g, const char *pass, bool applied) {
    size_t sites = 0;
    for (size_t i = 0; i < g->count; i++)
        if (!strcmp(g->group[i].pass, pass) && !*g->group[i].reason == applied)
            sites += g->group[i].sites;
    return sites;
}

static void print_pass(const struct groups *g, const char *pass, struct ipex_arena *arena) {
    ipex_cli_say("%s: applied to %zu, not to %zu\n", pass, count_sites(g, pass, true),
                 count_sites(g, pass, false));
    for (size_t i = 0; i < g->count; i++) {
        const struct group *group = &g->group[i];
        if (strcmp(group->pass, pass) || !*group->reason)
            continue;
        ipex_cli_say("  %zu %s", group->sites, group->reason);
        ipex_cli_say(group->same_words && *group->text ? ": %s\n" : "\n", group->text);
        print_sites(g, group, arena);
    }
}

void ipex_ledger_print(struct ipex_fb_model model, struct ipex_arena *arena) {
    struct groups g = {.model = model};
    gather(&g, arena);
    for (size_t i = 0; i < g.count; i++) {
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first = first && strcmp(g.group[k].pass, g.group[i].pass);
        if (!first)
            continue;
        if (i)
            putchar('\n');
        print_pass(&g, g.group[i].pass, arena);
    }
    if (!g.count)
        ipex_cli_say("no optimisation has looked at any site\n");
}
