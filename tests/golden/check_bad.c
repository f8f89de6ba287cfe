/* SPDX-License-Identifier: Apache-2.0 */
/* Opens every file of a corpus made by make_bad and expects the status that its name begins with,
 * the same from memory and from the file system, and a message. With FORMAT.md also compares names
 * and rules: every rule has a file for every status that it can give. check_bad FOLDER [FORMAT.md]
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"

#define MESSAGE 512
#define RULES   160

static int failures, checks;

static void ok(bool condition, const char *name, const char *why) {
    checks++;
    failures += !condition;
    printf("%s - %s\n", condition ? "ok" : "not ok", name);
    if (!condition)
        printf("# %s\n", why);
}

static void *whole_file(const char *path, size_t *ret_size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "check_bad: cannot read %s\n", path);
        exit(1);
    }
    *ret_size = (size_t)ftell(file);
    rewind(file);
    void *bytes = NULL;
    if (posix_memalign(&bytes, 4096, *ret_size + 1) != 0 ||
        fread(bytes, 1, *ret_size, file) != *ret_size)
        exit(1);
    fclose(file);
    return bytes;
}

/* ---- opening ---- */

static enum ipex_status open_source(const struct ipex_source *source, char *message) {
    const struct ipex_load_options options = {.verify_data = true, .report = {message, MESSAGE}};
    size_t size = 0;
    struct ipex_image *image = NULL;
    message[0] = 0;
    IPEX_TRY(ipex_load_measure(source, &options, &size));
    void *memory = NULL;
    if (posix_memalign(&memory, 64, size) != 0)
        exit(1);
    memset(memory, 0xa5, size);
    enum ipex_status status = ipex_load(source, memory, size, &options, &image);
    if (status == IPEX_OK)
        ipex_unload(image);
    free(memory);
    return status;
}

static void check_file(const char *folder, const char *name) {
    char path[1024], message[MESSAGE], why[2 * MESSAGE];
    size_t size, length = strcspn(name, "-");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *bytes = whole_file(path, &size);
    const struct ipex_source from_memory = {.bytes = bytes, .size = size, .fd = -1};
    const struct ipex_source from_path = {.path = path, .fd = -1};
    enum ipex_status status = open_source(&from_memory, message);
    const char *got = ipex_status_name(status);
    bool wanted = strlen(got) == length && strncmp(name, got, length) == 0;
    bool said = (message[0] != 0) == (status != IPEX_OK);
    snprintf(why, sizeof why, "%s: %s", got, message);
    bool same = open_source(&from_path, message) == status;
    ok(wanted && said && same, name, same ? why : "another status when opened by its path");
    free(bytes);
}

/* The header is read twice, first to size the caller's memory. A file that changes in between is no
 * file of the corpus. */
static void check_changed_header(const char *folder) {
    char path[1024], message[MESSAGE] = "";
    const struct ipex_report report = {message, sizeof message};
    struct ipex_header header;
    struct ipex_fb_model model;
    size_t size;
    snprintf(path, sizeof path, "%s/OK-default.ipex", folder);
    void *bytes = whole_file(path, &size);
    if (ipex_check_header(bytes, size, &header, &report) != IPEX_OK)
        exit(1);
    struct ipex_tensor_info *tensors = calloc(header.tensors, sizeof *tensors);
    header.tensors--;
    enum ipex_status status = ipex_check(bytes, &header, tensors, &model, &report);
    ok(status == IPEX_ERROR_FILE_HEADER && message[0], "the header changes while it is read",
       message);
    free(tensors);
    free(bytes);
}

/* ---- rules and files ---- */

struct rule {
    char number[8];  /* "R12" */
    char status[40]; /* "FILE_DIGEST" */
    bool tested;
};

static struct rule rules[RULES];
static size_t rule_count;

/* Table rows "| R12 text | STATUS |", or "| ... text | STATUS |" for one more status of the same
 * rule. */
static void read_rules(const char *path) {
    char line[2048], number[8] = "";
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        char *status = strrchr(line, '|');
        if (strncmp(line, "| R", 3) == 0 && line[3] >= '0' && line[3] <= '9')
            snprintf(number, sizeof number, "R%02d", atoi(line + 3) % 1000);
        else if (strncmp(line, "| ...", 5) != 0 || !number[0])
            continue;
        *status = 0; /* the last bar */
        while (status > line && status[-1] != '|')
            status--;
        if (rule_count == RULES)
            exit(1);
        struct rule *rule = &rules[rule_count++];
        memcpy(rule->number, number, sizeof number);
        sscanf(status, " %39s", rule->status);
    }
    if (file)
        fclose(file);
}

/* "ERROR_FILE_MAGIC-R02-tag.ipex" */
static void note_rule(const char *name) {
    const char *number = strchr(name, '-');
    size_t length = number ? (size_t)(number - name) : 0;
    if (!number || strncmp(name, "OK-", 3) == 0)
        return;
    for (size_t i = 0; i < rule_count; i++) {
        struct rule *rule = &rules[i];
        if (strcspn(number + 1, "-") == strlen(rule->number) &&
            strncmp(number + 1, rule->number, strlen(rule->number)) == 0 &&
            length == 6 + strlen(rule->status) &&
            strncmp(name + 6, rule->status, length - 6) == 0) {
            rule->tested = true;
            return;
        }
    }
    ok(false, name, "its rule does not give that status");
}

static void report_rules(void) {
    char name[80];
    ok(rule_count >= 60, "FORMAT.md lists the rules", "too few were found");
    for (size_t i = 0; i < rule_count; i++) {
        snprintf(name, sizeof name, "%.16s has a file that gives %.40s", rules[i].number,
                 rules[i].status);
        ok(rules[i].tested, name, "no file in the corpus");
    }
}

static int is_ipex(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".ipex") == 0;
}

int main(int argc, char **argv) {
    struct dirent **names = NULL;
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: check_bad FOLDER [FORMAT.md]\n");
        return 2;
    }
    if (argc == 3)
        read_rules(argv[2]);
    int count = scandir(argv[1], &names, is_ipex, alphasort);
    for (int i = 0; i < count; i++) {
        check_file(argv[1], names[i]->d_name);
        if (argc == 3)
            note_rule(names[i]->d_name);
        free(names[i]);
    }
    free(names);
    check_changed_header(argv[1]);
    if (argc == 3)
        report_rules();
    return failures || checks < 100;
}
