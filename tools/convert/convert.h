/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `ipexpack convert` share: the command line taken apart, and every entry of the
 * file on its way from model to plan. */
#ifndef IPEX_TOOLS_CONVERT_H
#define IPEX_TOOLS_CONVERT_H

#include "tools/atomic_file.h"
#include "tools/cli.h"
#include "tools/convert/golden.h"
#include "tools/convert/import.h"
#include "tools/convert/write.h"

/* One graph of the file. */
struct ipex_convert_entry {
    const char *name, *model_path;
    const char *labels_path;           /* NULL: those of the model's metadata */
    struct ipex_cli_list golden_from;  /* folders of known answers */
    struct ipex_import_options import; /* what was said of this entry, and of all */

    struct ipex_onnx_model model;
    struct ipex_graph graph;
    struct ipex_ledger ledger;
    struct ipex_plan plan;
    struct ipex_golden_set answers;
    const char *const *label;
    size_t labels;
    const char *notes;
    size_t shape_folds;
};

struct ipex_convert {
    /* as given */
    const char *model_path, *output;
    struct ipex_cli_list images, entry_list, dims, shapes, constants, labels, golden_from;
    int64_t golden;
    bool speed, size, quiet, json;
    const char *dtype, *weights, *profile, *activations_text;

    struct ipex_arena arena;          /* of the command line and the labels */
    struct ipex_convert_entry *entry; /* [entries] in the arena */
    size_t entries;
    struct ipex_const_option *constant; /* [constants.count], owns the tensors */
    enum ipex_precision precision;
    enum ipex_activations activations;
    enum ipex_arithmetic arithmetic; /* to be pinned */
    const char *options_text;        /* what decided the result, for the file */
    struct ipex_written written;
    struct ipex_atomic_file file;
    double start_us;
    char text[IPEX_CLI_MESSAGE_SIZE];
    struct ipex_report report;
};

/* convert_options.c: entries with their models' paths, and which option is for which; reads the
 * files of --const. An exit code. */
int ipex_convert_take_options(struct ipex_convert *c, const struct ipex_cli_verb *verb);
/* A text of the command line for the file, which holds UTF-8 alone. */
const char *ipex_convert_text(struct ipex_convert *c, const char *text);
/* Once all entries are imported: options for all entries that fit none. False after a message. */
bool ipex_convert_check_options(const struct ipex_convert *c, const struct ipex_cli_verb *verb);

/* labels.c: fills entry->label from entry->labels_path or the model's metadata. An exit code. */
int ipex_convert_read_labels(struct ipex_convert *c, struct ipex_convert_entry *entry);

/* summary.c: what was done and what was not, on stdout. */
void ipex_convert_print_summary(const struct ipex_convert *c);
void ipex_convert_print_json(const struct ipex_convert *c);

#endif
