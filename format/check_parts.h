/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the checker share: check.c (container, weights, texts), check_entry.c (ports,
 * labels, answers) and check_graph.c (tensors, nodes, order). Private to them. */
#ifndef IPEX_FORMAT_CHECK_PARTS_H
#define IPEX_FORMAT_CHECK_PARTS_H

#include "format/check.h"
#include "format/dims.h"

/* One entry while it is checked, with its dims as numbers. */
struct ipex_checked_entry {
    struct ipex_fb_model model;
    struct ipex_fb_entry fb;
    struct ipex_tensor_info *tensor; /* [tensors] */
    int32_t tensors, nodes;
    const struct ipex_dim_values *values;
    bool again; /* checked before with other values: names are as they were */
    const struct ipex_report *report;
};

/* R20: a text of at most `max` bytes, UTF-8, without NUL. `what` names the field. */
IPEX_WARN_UNUSED enum ipex_status ipex_check_text(const char *text, uint32_t length, uint32_t max,
                                                  const char *what,
                                                  const struct ipex_report *report);

/* Section kind of a weight, whose record has been checked. */
uint32_t ipex_weight_kind(struct ipex_fb_model model, struct ipex_fb_weight weight);

/* Whether a weight has this dtype and these dims. */
bool ipex_weight_matches(struct ipex_fb_weight weight, uint8_t dtype, const int64_t *dims,
                         unsigned rank);

/* What does not depend on dims: arithmetic, bands, symbols, expressions (R31, R36, R39, R40). */
IPEX_WARN_UNUSED enum ipex_status ipex_check_entry_records(const struct ipex_checked_entry *entry);

/* What does: ports, labels (R32..R35) and the three below. */
IPEX_WARN_UNUSED enum ipex_status ipex_check_entry_dims(struct ipex_checked_entry *entry);

/* R37, R38. The entry has been checked at the ends of its symbols' ranges. */
IPEX_WARN_UNUSED enum ipex_status ipex_check_answers(const struct ipex_checked_entry *entry);

/* Rules R41..R47: fills entry->tensor from the tensor records. */
IPEX_WARN_UNUSED enum ipex_status ipex_check_tensors(struct ipex_checked_entry *entry);

/* Rules R50..R55: operands, shapes, order, lifetimes. Input ports are marked already. */
IPEX_WARN_UNUSED enum ipex_status ipex_check_nodes(struct ipex_checked_entry *entry);

/* R56, R57: every storage is an input or wholly written, and few enough are alive at a time. Output
 * ports are marked already. */
IPEX_WARN_UNUSED enum ipex_status ipex_check_storages(struct ipex_checked_entry *entry);

#endif
