/* SPDX-License-Identifier: Apache-2.0 */
/* Options may stand before or after the argument; "--" ends them. The value of an IPEX_CLI_OPTIONAL
 * option is the next word when that is no option; should the verb's argument then be missing, the
 * word was the argument. */
#include "tools/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arena.h"
#include "tools/progress.h"
#include "tools/text_table.h"

#define LINE_WIDTH 100

struct parser {
    const struct ipex_cli_verb *verb;
    int argc, next; /* next: index of the next word */
    char **argv;
    const char *argument, *argument2;
    const char *
        *borrowed; /* value of an IPEX_CLI_OPTIONAL option that may yet prove to be the argument */
    bool help, options_ended;
};

static void say(FILE *file, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    const size_t size = (size_t)(length < 0 ? 0 : length) + 1;
    char *text = ipex_alloc(size);
    *text = 0;
    vsnprintf(text, size, format, args);
    ipex_make_printable(text, true);
    fputs(text, file);
    free(text);
}

void ipex_cli_say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(stdout, format, args);
    va_end(args);
}

int ipex_cli_failed(const char *format, ...) {
    va_list args;
    ipex_progress_end();
    va_start(args, format);
    fputs("ipexpack: ", stderr);
    say(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return IPEX_EXIT_FAILED;
}

/* ---- usage and help ---- */

static const char *dashes(const struct ipex_cli_option *option) {
    return option->name[1] ? "--" : "-";
}

/* "[--input NAME=FILE]..." */
static int format_option(char *text, size_t size, const struct ipex_cli_option *option) {
    bool optional_value = option->kind == IPEX_CLI_OPTIONAL;
    return snprintf(text, size, "%s%s%s%s%s%s%s%s", option->required ? "" : "[", dashes(option),
                    option->name, option->value ? optional_value ? " [" : " " : "",
                    option->value ? option->value : "", optional_value ? "]" : "",
                    option->required ? "" : "]", option->kind == IPEX_CLI_LIST ? "..." : "");
}

static void print_usage(const struct ipex_cli_verb *verb, FILE *file) {
    int column = fprintf(file, "usage: ipexpack %s %s%s%s", verb->name, verb->argument,
                         verb->argument2 ? " " : "", verb->argument2 ? verb->argument2 : "");
    int indent = (int)(strlen("usage: ipexpack ") + strlen(verb->name));
    char text[128];
    for (const struct ipex_cli_option *option = verb->options; option->name; option++) {
        int length = format_option(text, sizeof text, option);
        if (column + 1 + length > LINE_WIDTH) {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
        }
        column += fprintf(file, " %s", text);
    }
    fputc('\n', file);
}

static void print_help(const struct ipex_cli_verb *verb) {
    print_usage(verb, stdout);
    printf("\n%s\n\noptions:\n", verb->summary);
    for (const struct ipex_cli_option *option = verb->options; option->name; option++) {
        char text[64];
        snprintf(text, sizeof text, "%s%s%s%s", dashes(option), option->name,
                 option->value ? " " : "", option->value ? option->value : "");
        printf("  %-24s %s\n", text, option->help);
    }
    printf("  %-24s %s\n", "--help", "print this text");
}

int ipex_cli_wrong(const struct ipex_cli_verb *verb, const char *format, ...) {
    va_list args;
    va_start(args, format);
    ipex_progress_end();
    fprintf(stderr, "ipexpack: %s: ", verb->name);
    say(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    print_usage(verb, stderr);
    return IPEX_EXIT_USAGE;
}

/* ---- values ---- */

void ipex_cli_list_add(struct ipex_cli_list *list, const char *item) {
    list->item = ipex_grow(list->item, &list->capacity, list->count + 1, sizeof *list->item);
    list->item[list->count++] = item;
}

void ipex_cli_list_finish(struct ipex_cli_list *list) {
    free(list->item);
    *list = (struct ipex_cli_list){0};
}

bool ipex_cli_split(const char *text, size_t *ret_name_length, const char **ret_rest) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return false;
    *ret_name_length = (size_t)(equals - text);
    *ret_rest = equals + 1;
    return true;
}

bool ipex_cli_size(const char *text, int64_t *ret, const char **ret_end) {
    char *end;
    errno = 0;
    *ret = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0; /* no sign, no spaces */
    *ret_end = *ret ? end : text;
    return *ret >= 1 && !errno;
}

static bool set_integer(const struct ipex_cli_option *option, const char *text) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || (double)value < option->min || (double)value > option->max)
        return false;
    *(int64_t *)option->into = value;
    return true;
}

static bool set_real(const struct ipex_cli_option *option, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < option->min || value > option->max)
        return false;
    *(double *)option->into = value;
    return true;
}

/* Returns 0, or an exit code after a message. */
static int set_value(struct parser *parser, const struct ipex_cli_option *option,
                     const char *text) {
    bool good = true;
    switch (option->kind) {
    case IPEX_CLI_FLAG:
        break; /* has no value */
    case IPEX_CLI_TEXT:
    case IPEX_CLI_OPTIONAL:
        *(const char **)option->into = text;
        break;
    case IPEX_CLI_LIST:
        ipex_cli_list_add(option->into, text);
        break;
    case IPEX_CLI_INTEGER:
        good = set_integer(option, text);
        break;
    case IPEX_CLI_REAL:
        good = set_real(option, text);
        break;
    }
    if (good)
        return 0;
    return ipex_cli_wrong(parser->verb, "%s%s: '%s' is not %s between %.15g and %.15g",
                          dashes(option), option->name, text,
                          option->kind == IPEX_CLI_INTEGER ? "a whole number" : "a number",
                          option->min, option->max);
}

/* ---- parsing ---- */

static bool is_option(const char *word) {
    return word[0] == '-' && word[1] != 0;
}

static const struct ipex_cli_option *find_option(const struct ipex_cli_verb *verb, const char *name,
                                                 size_t length, bool is_long) {
    for (const struct ipex_cli_option *option = verb->options; option->name; option++)
        if (is_long == (option->name[1] != 0) && strlen(option->name) == length &&
            !strncmp(option->name, name, length))
            return option;
    return NULL;
}

/* The option's value is the next word, if there is one. */
static int take_value(struct parser *parser, const struct ipex_cli_option *option) {
    bool any = parser->next < parser->argc;
    if (option->kind == IPEX_CLI_OPTIONAL) {
        bool follows = any && !is_option(parser->argv[parser->next]);
        *(const char **)option->into = follows ? parser->argv[parser->next++] : "";
        if (follows)
            parser->borrowed = option->into;
        return 0;
    }
    /* "-5" is a value, "--quiet" is not */
    if (!any || !strncmp(parser->argv[parser->next], "--", 2))
        return ipex_cli_wrong(parser->verb, "%s%s needs a value: %s", dashes(option), option->name,
                              option->value);
    return set_value(parser, option, parser->argv[parser->next++]);
}

static int parse_option(struct parser *parser, const char *word) {
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    const char *equals = is_long ? strchr(name, '=') : NULL;
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct ipex_cli_option *option = find_option(parser->verb, name, length, is_long);
    if (!strcmp(word, "--help") || (!strcmp(word, "-h") && !option)) {
        parser->help = true;
        return 0;
    }
    if (!option)
        return ipex_cli_wrong(parser->verb, "unknown option '%s'", word);
    if (option->kind == IPEX_CLI_FLAG) {
        if (equals)
            return ipex_cli_wrong(parser->verb, "--%s takes no value", option->name);
        *(bool *)option->into = true;
        return 0;
    }
    return equals ? set_value(parser, option, equals + 1) : take_value(parser, option);
}

static int parse_word(struct parser *parser) {
    const char *word = parser->argv[parser->next++];
    if (!parser->options_ended && !strcmp(word, "--")) {
        parser->options_ended = true;
        return 0;
    }
    if (!parser->options_ended && is_option(word))
        return parse_option(parser, word);
    const char **into = !parser->argument                               ? &parser->argument
                        : parser->verb->argument2 && !parser->argument2 ? &parser->argument2
                                                                        : NULL;
    if (!into)
        return ipex_cli_wrong(
            parser->verb, "one %s only: what is '%s'?",
            parser->verb->argument2 ? parser->verb->argument2 : parser->verb->argument, word);
    *into = word;
    return 0;
}

static int check_required(struct parser *parser) {
    if (!parser->argument && parser->borrowed) {
        parser->argument = *parser->borrowed;
        *parser->borrowed = "";
    }
    if (!parser->argument && *parser->verb->argument != '[')
        return ipex_cli_wrong(parser->verb, "%s is missing", parser->verb->argument);
    if (!parser->argument2 && parser->verb->argument2)
        return ipex_cli_wrong(parser->verb, "%s is missing", parser->verb->argument2);
    for (const struct ipex_cli_option *option = parser->verb->options; option->name; option++)
        if (option->required && !*(const char **)option->into)
            return ipex_cli_wrong(parser->verb, "%s%s %s is missing", dashes(option), option->name,
                                  option->value);
    return 0;
}

bool ipex_cli_parse(const struct ipex_cli_verb *verb, int argc, char **argv,
                    const char **ret_argument, int *ret_exit) {
    struct parser parser = {.verb = verb, .argc = argc, .next = 1, .argv = argv};
    while (parser.next < argc && !parser.help) {
        *ret_exit = parse_word(&parser);
        if (*ret_exit)
            return false;
    }
    if (parser.help) {
        print_help(verb);
        *ret_exit = IPEX_EXIT_DONE;
        return false;
    }
    *ret_exit = check_required(&parser);
    if (*ret_exit)
        return false;
    ret_argument[0] = parser.argument;
    if (verb->argument2)
        ret_argument[1] = parser.argument2;
    return true;
}
