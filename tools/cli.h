/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of the verbs. A verb states its options in one table; parsing, checking, the usage
 * line and `--help` all come from that table. Messages go to stderr and begin with "ipexpack: ". */
#ifndef IPEX_TOOLS_CLI_H
#define IPEX_TOOLS_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes of every verb. */
enum ipex_exit {
    IPEX_EXIT_DONE = 0,
    IPEX_EXIT_FAILED = 1, /* the work failed; a message is on stderr */
    IPEX_EXIT_USAGE = 2,  /* wrong use */
};

/* Room for a message with the longest path in it, of 4,096 bytes. */
#define IPEX_CLI_MESSAGE_SIZE 4608

enum ipex_cli_kind {
    IPEX_CLI_FLAG,     /* bool */
    IPEX_CLI_TEXT,     /* const char *; the last one counts */
    IPEX_CLI_OPTIONAL, /* const char *: "" when the option stands without a value */
    IPEX_CLI_LIST,     /* struct ipex_cli_list: may be repeated */
    IPEX_CLI_INTEGER,  /* int64_t in [min, max] */
    IPEX_CLI_REAL,     /* double in [min, max] */
};

/* Points into argv; release with ipex_cli_list_finish. */
struct ipex_cli_list {
    const char **item;
    size_t count, capacity;
};

struct ipex_cli_option {
    const char *
        name; /* "threads", given as --threads N or --threads=N; a single letter is given as -o N */
    const char *value; /* "N", for usage and help; NULL for flags */
    const char *help;  /* one sentence */
    enum ipex_cli_kind kind;
    bool required;
    void *into;      /* what `kind` says; untouched when the option is not given */
    double min, max; /* of numbers */
};

struct ipex_cli_verb {
    const char *name, *argument; /* "run", "FILE"; in brackets: it may be missing (NULL) */
    const char *summary;         /* what it does: a sentence or a few lines */
    const struct ipex_cli_option *options; /* ends with a row whose name is NULL */
    const char *argument2;                 /* of verbs with two, else NULL */
};

/* argv[0] is the verb. True: go on, ret_argument[0] is set, and [1] of verbs with two. False: the
 * verb returns *ret_exit (help was asked for, or the use was wrong and has been explained). */
bool ipex_cli_parse(const struct ipex_cli_verb *verb, int argc, char **argv,
                    const char **ret_argument, int *ret_exit);
void ipex_cli_list_add(struct ipex_cli_list *list, const char *item);
void ipex_cli_list_finish(struct ipex_cli_list *list);

/* printf for text with names out of files: no control characters but line ends. */
void ipex_cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "ipexpack: ..." on stderr, so too. The first returns IPEX_EXIT_FAILED, the second also points to
 * --help and returns IPEX_EXIT_USAGE. */
int ipex_cli_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
int ipex_cli_wrong(const struct ipex_cli_verb *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Splits "NAME=REST" at the first '='; false when there is none or NAME or REST is empty. */
bool ipex_cli_split(const char *text, size_t *ret_name_length, const char **ret_rest);
/* A size, digits alone, of 1 or more, and what stands behind it. */
bool ipex_cli_size(const char *text, int64_t *ret, const char **ret_end);

#endif
