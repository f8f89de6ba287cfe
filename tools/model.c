/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of runtime/ipex.h in order, timed, each failure with the library's own message. */
#include "tools/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tools/arena.h"

#define MESSAGE_SIZE 512

double ipex_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* The library's message where it left one, else the status in words. It may begin with `what` as
 * the library quotes it, which cuts long names. */
static int failed(const char *what, enum ipex_status status, const char *message) {
    char quoted[MESSAGE_SIZE] = "";
    const struct ipex_report report = {quoted, sizeof quoted};
    (void)ipex_fail_at(&report, IPEX_OK, "%s: ", what);
    const size_t length = strlen(quoted);
    if (!strncmp(message, quoted, length))
        message += length;
    return ipex_cli_failed("%s: %s", what, *message ? message : ipex_status_text(status));
}

int ipex_model_open(struct ipex_model *model, const char *path, bool verify_data) {
    char message[MESSAGE_SIZE] = "";
    struct ipex_image_options options = {
        .size_of_struct = sizeof options,
        .verify_data = verify_data,
        .message = message,
        .message_size = sizeof message,
    };
    size_t size = 0;
    double start = ipex_now_us();
    enum ipex_status status = ipex_image_measure(path, &options, &size);
    if (status != IPEX_OK)
        return failed(path, status, message);
    model->image_memory = ipex_alloc_aligned(IPEX_MEMORY_ALIGN, size);
    status = ipex_image_open(&model->image, path, model->image_memory, size, &options);
    model->open_us = ipex_now_us() - start;
    if (status != IPEX_OK)
        return failed(path, status, message);
    struct stat file;
    if (!stat(path, &file))
        model->file_bytes = (uint64_t)file.st_size;
    return IPEX_EXIT_DONE;
}

/* ---- entries ---- */

static bool has_entry(const struct ipex_model *model, const char *name) {
    for (size_t i = 0; i < ipex_image_entry_count(model->image); i++)
        if (!strcmp(ipex_image_entry_name(model->image, i), name))
            return true;
    return false;
}

int ipex_model_entry(const struct ipex_model *model, const struct ipex_cli_verb *verb,
                     const char *wanted, const char **ret_entry) {
    size_t count = ipex_image_entry_count(model->image);
    const char *name = wanted       ? wanted
                       : count == 1 ? ipex_image_entry_name(model->image, 0)
                                    : "main";
    if (has_entry(model, name)) {
        *ret_entry = name;
        return 0;
    }
    struct ipex_arena arena = {0};
    const char *list = "";
    for (size_t i = 0; i < count; i++)
        list = ipex_arena_printf(&arena, "%s%s%s", list, i ? ", " : "",
                                 ipex_image_entry_name(model->image, i));
    int code = wanted ? ipex_cli_wrong(verb, "--entry %s: the entries are: %s", wanted, list)
                      : ipex_cli_wrong(verb, "--entry is needed, the entries are: %s", list);
    ipex_arena_finish(&arena);
    return code;
}

/* ---- levels and profiles ---- */

static void list_isa(char *text, size_t size) {
    static const enum ipex_isa levels[] = {
#define LEVEL(name, value) IPEX_ISA_##name,
        IPEX_ISA_LIST(LEVEL)
#undef LEVEL
    };
    size_t length = 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (ipex_isa_available(levels[i]))
            length +=
                (size_t)snprintf(text + length, size - length, " %s", ipex_isa_name(levels[i]));
}

static void list_arithmetic(char *text, size_t size) {
    static const enum ipex_arithmetic profiles[] = {
#define PROFILE(name, value, word) IPEX_ARITHMETIC_##name,
        IPEX_ARITHMETIC_LIST(PROFILE)
#undef PROFILE
    };
    size_t length = 0;
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (ipex_arithmetic_available(profiles[i]))
            length += (size_t)snprintf(text + length, size - length, " %s",
                                       ipex_arithmetic_name(profiles[i]));
}

/* Its name in IPEX_AMX_LIST. */
static const char *amx_name(enum ipex_amx_state state) {
#define STATE(name, value, text)                                                                   \
    if (state == IPEX_AMX_##name)                                                                  \
        return #name;
    IPEX_AMX_LIST(STATE)
#undef STATE
    return "unknown";
}

static int find_isa(const struct ipex_cli_verb *verb, const char *word, enum ipex_isa *ret) {
    char have[128] = "";
    *ret = IPEX_ISA_AUTO;
    if (!word)
        return 0;
#define LEVEL(name, value)                                                                         \
    if (!strcmp(word, #name))                                                                      \
        *ret = IPEX_ISA_##name;
    IPEX_ISA_LIST(LEVEL)
#undef LEVEL
    list_isa(have, sizeof have);
    if (*ret == IPEX_ISA_AUTO)
        return ipex_cli_wrong(verb, "--isa: no level is called '%s'; this machine has:%s", word,
                              have);
    const enum ipex_amx_state amx = ipex_amx_detect();
    if (*ret == IPEX_ISA_amx && amx == IPEX_AMX_not_requested)
        return 0; /* the session asks */
    if (*ret == IPEX_ISA_amx && amx != IPEX_AMX_permitted)
        return ipex_cli_failed("--isa amx: %s; this machine has:%s", ipex_amx_text(amx), have);
    if (!ipex_isa_available(*ret))
        return ipex_cli_failed("--isa: this machine does not have %s; it has:%s", word, have);
    return 0;
}

static int find_arithmetic(const struct ipex_cli_verb *verb, const char *word,
                           enum ipex_arithmetic *ret) {
    char have[128] = "";
    *ret = IPEX_ARITHMETIC_AUTO;
    if (!word)
        return 0;
#define PROFILE(name, value, text)                                                                 \
    if (!strcmp(word, text))                                                                       \
        *ret = IPEX_ARITHMETIC_##name;
    IPEX_ARITHMETIC_LIST(PROFILE)
#undef PROFILE
    list_arithmetic(have, sizeof have);
    if (*ret == IPEX_ARITHMETIC_AUTO)
        return ipex_cli_wrong(verb, "--arithmetic: no profile is called '%s'; this machine has:%s",
                              word, have);
    if (!ipex_arithmetic_available(*ret))
        return ipex_cli_failed("--arithmetic: %s is not available; this machine has:%s", word,
                               have);
    return 0;
}

/* ---- session ---- */

static int start_pool(struct ipex_model *model, int64_t threads) {
    char message[MESSAGE_SIZE] = "";
    struct ipex_pool_options options = {
        .size_of_struct = sizeof options,
        .threads = (int32_t)threads,
        .message = message,
        .message_size = sizeof message,
    };
    size_t size = 0;
    enum ipex_status status = ipex_pool_measure(&options, &size);
    if (status == IPEX_OK) {
        model->pool_memory = ipex_alloc_aligned(IPEX_MEMORY_ALIGN, size);
        status = ipex_pool_init(&model->pool, &options, model->pool_memory, size);
    }
    model->threads = (int)threads;
    return status == IPEX_OK ? 0 : failed("threads", status, message);
}

static int start_session(struct ipex_model *model, struct ipex_session_options *options) {
    char message[MESSAGE_SIZE] = "";
    struct ipex_requirements need = {0};
    options->message = message;
    options->message_size = sizeof message;
    enum ipex_status status = ipex_session_measure(model->image, options, &need);
    if (status == IPEX_OK) {
        model->session_bytes = need.memory;
        model->session_memory = ipex_alloc_aligned(IPEX_MEMORY_ALIGN, need.memory);
        status = ipex_session_init(&model->session, model->image, options, model->session_memory,
                                   need.memory);
    }
    return status == IPEX_OK ? 0 : failed("session", status, message);
}

int ipex_model_check_machine(const struct ipex_cli_verb *verb,
                             const struct ipex_machine_options *machine) {
    enum ipex_isa isa;
    enum ipex_arithmetic arithmetic;
    int code = find_isa(verb, machine->isa, &isa);
    return code ? code : find_arithmetic(verb, machine->arithmetic, &arithmetic);
}

int ipex_model_start(struct ipex_model *model, const struct ipex_cli_verb *verb,
                     const struct ipex_machine_options *machine, const char *entry,
                     const struct ipex_dim_range *dims, size_t n_dims) {
    struct ipex_session_options options = {.size_of_struct = sizeof options,
                                           .entry = entry,
                                           .no_bands = machine->no_bands,
                                           .request_amx = 1,
                                           .dims = dims,
                                           .n_dims = n_dims};
    int code = find_isa(verb, machine->isa, &options.isa);
    if (!code)
        code = find_arithmetic(verb, machine->arithmetic, &options.arithmetic);
    double start = ipex_now_us();
    if (!code && machine->threads > 1)
        code = start_pool(model, machine->threads);
    options.pool = model->pool;
    if (!code)
        code = start_session(model, &options);
    model->init_us = ipex_now_us() - start;
    return code;
}

bool ipex_model_input(const struct ipex_model *model, const char *entry, size_t index,
                      struct ipex_port *ret) {
    enum ipex_status status = ipex_image_input(model->image, entry, index, ret);
    if (status != IPEX_OK)
        failed("input", status, "");
    return status == IPEX_OK;
}

bool ipex_model_output(const struct ipex_model *model, const char *entry, size_t index,
                       struct ipex_port *ret) {
    enum ipex_status status = ipex_image_output(model->image, entry, index, ret);
    if (status != IPEX_OK)
        failed("output", status, "");
    return status == IPEX_OK;
}

struct ipex_tensor ipex_model_tensor(const char *name, const struct ipex_tensor_data *data) {
    struct ipex_tensor ret = {
        .name = name, .data = data->data, .dtype = data->dtype, .rank = data->rank};
    memcpy(ret.dims, data->dims, sizeof data->dims);
    return ret;
}

int ipex_model_run_failed(const struct ipex_model *model, const char *what,
                          enum ipex_status status) {
    return failed(what, status, ipex_session_message(model->session));
}

void ipex_model_json(const struct ipex_model *model, json_t *object) {
    ipex_json_set_text(object, "isa", ipex_isa_name(ipex_session_isa(model->session)));
    ipex_json_set_text(object, "arithmetic",
                       ipex_arithmetic_name(ipex_session_arithmetic(model->session)));
    ipex_json_set_integer(object, "threads", ipex_session_threads(model->session));
    ipex_json_set_text(object, "amx", amx_name(ipex_session_amx(model->session)));
}

void ipex_model_print(const struct ipex_model *model) {
    int threads = ipex_session_threads(model->session);
    enum ipex_amx_state amx = ipex_session_amx(model->session);
    printf("%s, %s, %d thread%s", ipex_isa_name(ipex_session_isa(model->session)),
           ipex_arithmetic_name(ipex_session_arithmetic(model->session)), threads,
           threads == 1 ? "" : "s");
    if (threads < model->threads)
        printf(" of %d (no more CPUs)", model->threads);
    if (ipex_session_isa(model->session) == IPEX_ISA_amx || amx == IPEX_AMX_refused ||
        amx == IPEX_AMX_no_state)
        printf(" (%s)", ipex_amx_text(amx));
}

void ipex_model_close(struct ipex_model *model) {
    ipex_session_finish(model->session);
    ipex_pool_finish(model->pool);
    ipex_image_close(model->image);
    free(model->session_memory);
    free(model->pool_memory);
    free(model->image_memory);
    *model = (struct ipex_model){0};
}
