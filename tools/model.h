/* SPDX-License-Identifier: Apache-2.0 */
/* What run, bench, verify and compare share: an open image, a session on it, and their memory, with
 * messages on stderr. */
#ifndef IPEX_TOOLS_MODEL_H
#define IPEX_TOOLS_MODEL_H

#include "runtime/ipex.h"
#include "tools/cli.h"
#include "tools/json.h"
#include "tools/tensor_file.h"

#define IPEX_THREADS_MAX 1024

/* --threads, --isa, --arithmetic, --no-bands as given. {.threads = 1} are the defaults. */
struct ipex_machine_options {
    int64_t threads;
    const char *isa, *arithmetic;
    bool no_bands;
};

/* Rows for a verb's option table. `options` is a struct ipex_machine_options. */
/* clang-format off */
#define IPEX_MACHINE_OPTIONS(options)                                                              \
    {"threads", "N", "threads, the calling one included (1); more than CPUs sleep",                \
     IPEX_CLI_INTEGER, false, &(options).threads, 1, IPEX_THREADS_MAX},                            \
    {"isa", "LEVEL", "instruction set level (the best of this machine; asks Linux for AMX)",       \
     IPEX_CLI_TEXT, false, &(options).isa, 0, 0},                                                  \
    {"arithmetic", "PROFILE", "arithmetic profile (the file's, else the fastest native one)",      \
     IPEX_CLI_TEXT, false, &(options).arithmetic, 0, 0},                                           \
    {"no-bands", NULL, "run every node as a step of its own (for comparison: same results)",       \
     IPEX_CLI_FLAG, false, &(options).no_bands, 0, 0}
#define IPEX_ENTRY_OPTION(into)                                                                    \
    {"entry", "NAME", "the graph to use, where the file has several (main)",                       \
     IPEX_CLI_TEXT, false, &(into), 0, 0}
/* clang-format on */

struct ipex_model {
    struct ipex_image *image;
    void *image_memory;
    uint64_t file_bytes;
    double open_us;

    struct ipex_pool *pool; /* NULL: one thread */
    void *pool_memory;
    int threads; /* of the pool, those for which there is no CPU included */
    struct ipex_session *session;
    void *session_memory;
    size_t session_bytes;
    double init_us; /* pool, measure and init */
};

/* {0} is a closed model; ipex_model_close works after every failure. All return an exit code. */
int ipex_model_open(struct ipex_model *model, const char *path, bool verify_data);
/* The entry that --entry asks for (`wanted`, NULL: not given): without it main, or the only one.
 * Wrong use lists the entries. */
int ipex_model_entry(const struct ipex_model *model, const struct ipex_cli_verb *verb,
                     const char *wanted, const char **ret_entry);
/* `verb` is for messages: an unknown level or profile is wrong use, one that this machine lacks is
 * a failure; both list what there is. entry: NULL for all. dims: the sizes that it must run, as in
 * struct ipex_session_options. */
int ipex_model_start(struct ipex_model *model, const struct ipex_cli_verb *verb,
                     const struct ipex_machine_options *options, const char *entry,
                     const struct ipex_dim_range *dims, size_t n_dims);
/* Says early what ipex_model_start would say of level and profile. */
int ipex_model_check_machine(const struct ipex_cli_verb *verb,
                             const struct ipex_machine_options *options);
void ipex_model_close(struct ipex_model *model);

/* An output or input of an entry; false after a message when there is none of that index. */
bool ipex_model_input(const struct ipex_model *model, const char *entry, size_t index,
                      struct ipex_port *ret);
bool ipex_model_output(const struct ipex_model *model, const char *entry, size_t index,
                       struct ipex_port *ret);

/* A tensor as ipex_run takes it, over the data of another. */
struct ipex_tensor ipex_model_tensor(const char *name, const struct ipex_tensor_data *data);
/* Says what the session says of a run that failed, `what` before it. Returns IPEX_EXIT_FAILED. */
int ipex_model_run_failed(const struct ipex_model *model, const char *what,
                          enum ipex_status status);

/* "isa", "arithmetic", "threads" and "amx" (a name of IPEX_AMX_LIST) of the session. */
void ipex_model_json(const struct ipex_model *model, json_t *object);
/* "avx512, f32, 2 threads" on stdout, without a line end; of how many, where there are not so many
 * CPUs; in brackets whether AMX may be used, where the CPU has it. */
void ipex_model_print(const struct ipex_model *model);

/* Microseconds of CLOCK_MONOTONIC. */
double ipex_now_us(void);

#endif
