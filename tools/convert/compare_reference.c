/* SPDX-License-Identifier: Apache-2.0 */
/* The other way: ONNX Runtime in a python3 of its own. The script (reference.py) is part of this
 * program; tensors go through files in a temporary folder. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "tools/convert/compare.h"
#include "tools/convert/reference_script.h"

int ipex_reference_open(struct ipex_contrast *c) {
    char message[IPEX_CLI_MESSAGE_SIZE] = "";
    const struct ipex_report report = {message, sizeof message};
    int code = ipex_scratch_open(&c->scratch, &c->arena);
    for (size_t i = 0; i < c->inputs && !code; i++) {
        const char *name = ipex_arena_printf(&c->arena, "%s/input_%zu.npy", c->scratch.path, i);
        if (ipex_tensor_write(name, &c->given[i], &report) != IPEX_OK)
            code = ipex_cli_failed("%s", message);
    }
    return code;
}

/* ---- the child ---- */

/* Of a file that a standard stream went to: what counts of it. */
static void last_line(const char *path, char *ret, size_t size) {
    char line[512];
    FILE *file = fopen(path, "r");
    *ret = 0;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (*line)
            snprintf(ret, size, "%.*s", (int)size - 1, line);
    }
    if (file)
        fclose(file);
}

static const char **make_arguments(struct ipex_contrast *c, const char *const *outputs,
                                   size_t count, const char *inner) {
    const char **argv = ipex_arena_array(&c->arena, c->inputs + count + 12, sizeof *argv);
    size_t n = 0;
    argv[n++] = "python3";
    argv[n++] = "-c";
    argv[n++] = ipex_reference_script;
    argv[n++] = c->model_path;
    argv[n++] = c->scratch.path;
    argv[n++] = ipex_arena_printf(&c->arena, "%zu", c->inputs);
    for (size_t i = 0; i < c->inputs; i++)
        argv[n++] = c->input[i]->name;
    argv[n++] = ipex_arena_printf(&c->arena, "%zu", count);
    for (size_t i = 0; i < count; i++)
        argv[n++] = outputs[i];
    argv[n++] = inner ? "1" : "0";
    if (inner)
        argv[n++] = inner;
    argv[n] = NULL;
    return argv;
}

static int read_results(struct ipex_contrast *c, size_t count, struct ipex_tensor_data *ret) {
    char message[IPEX_CLI_MESSAGE_SIZE] = "";
    const struct ipex_report report = {message, sizeof message};
    for (size_t i = 0; i < count; i++) {
        const char *path = ipex_arena_printf(&c->arena, "%s/output_%zu.npy", c->scratch.path, i);
        if (ipex_tensor_read(path, &ret[i], &report) != IPEX_OK)
            return ipex_cli_failed("%s: %s", c->reference, message);
    }
    return IPEX_EXIT_DONE;
}

int ipex_reference_run(struct ipex_contrast *c, const char *const *outputs, size_t count,
                       const char *inner, struct ipex_tensor_data *ret) {
    const char *out = ipex_arena_printf(&c->arena, "%s/out.txt", c->scratch.path),
               *err = ipex_arena_printf(&c->arena, "%s/err.txt", c->scratch.path);
    char why[256];
    int status = 0, error = ipex_scratch_run(&c->scratch, make_arguments(c, outputs, count, inner),
                                             out, err, &status);
    if (error) {
        snprintf(c->absent, sizeof c->absent, "python3 cannot be run: %s", strerror(error));
        return IPEX_REFERENCE_ABSENT;
    }
    last_line(err, why, sizeof why);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 3 || WEXITSTATUS(status) == 127)) {
        snprintf(c->absent, sizeof c->absent, "python3 has no ONNX Runtime: %.200s", why);
        return IPEX_REFERENCE_ABSENT;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return ipex_cli_failed("ONNX Runtime cannot run %s: %s", c->model_path,
                               *why ? why : "it ended without a message");
    last_line(out, c->reference, sizeof c->reference);
    return read_results(c, count + (inner != NULL), ret);
}
