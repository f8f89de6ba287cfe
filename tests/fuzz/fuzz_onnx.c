/* SPDX-License-Identifier: Apache-2.0 */
/* Mutants of small ONNX models go through the whole of `ipexpack convert`: fuzz_onnx MUTANTS
 * MODEL.onnx... [--from I]. TAP. Whatever the model says, converting ends with status 0 and a file
 * that the loader accepts, or with 1 or 2, a message, and no file. Works in children, since the
 * tools end the process when memory runs out; a child that dies is replaced. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/loader.h"
#include "tests/fuzz/mutate_protobuf.h"
#include "tools/verbs.h"

#define MODEL_MOST  ((size_t)4 << 20)
#define MEMORY_MOST ((rlim_t)4 << 30) /* where no sanitizer needs the address space */
#define SECONDS     20
/* Sizes that a mutant made large are computed with, by the reference too. */
#define SECONDS_ANSWERED 120

struct model {
    const char *path;
    uint8_t *bytes;
    size_t size;
};

/* Shared with the children. */
struct progress {
    long at, converted, refused, out_of_memory;
    bool wrong;
    char why[1024];
};

static struct model *models;
static size_t model_count;
static struct progress *progress;

/* A sanitizer's malloc refuses what no small model needs, as a system with less memory would. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void read_model(const char *path) {
    static uint8_t bytes[MODEL_MOST];
    struct model *model = &models[model_count++];
    FILE *file = fopen(path, "rb");
    if (!file)
        die(path);
    model->path = path;
    model->size = fread(bytes, 1, sizeof bytes, file);
    model->bytes = malloc(model->size + 1);
    if (!model->bytes)
        die(path);
    memcpy(model->bytes, bytes, model->size);
    fclose(file);
}

/* ---- in the child ---- */

static void wrong(const char *what) {
    progress->wrong = true;
    snprintf(progress->why, sizeof progress->why, "%s", what);
}

static bool loads(const char *path, char *message, size_t message_size) {
    const struct ipex_source source = {.path = path, .fd = -1};
    const struct ipex_load_options options = {.verify_data = true,
                                              .report = {message, message_size}};
    struct ipex_image *image = NULL;
    size_t need = 0;
    if (ipex_load_measure(&source, &options, &need) != IPEX_OK)
        return false;
    void *memory = NULL;
    if (posix_memalign(&memory, 64, need) != 0)
        die("memory");
    bool good = ipex_load(&source, memory, need, &options, &image) == IPEX_OK;
    ipex_unload(image);
    free(memory);
    return good;
}

/* Nothing but the model, the messages and, where one is due, the result lies in the folder. */
static size_t count_files(void) {
    size_t count = 0;
    DIR *folder = opendir(".");
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (folder)
        closedir(folder);
    return count;
}

static void judge(int exit_code) {
    char message[512] = "";
    bool there = access("out.ipex", F_OK) == 0;
    bool said = lseek(STDERR_FILENO, 0, SEEK_END) > 0;
    if (count_files() != 2u + there)
        wrong("files are left over");
    else if (exit_code == 0 && (!there || !loads("out.ipex", message, sizeof message)))
        wrong(there ? message : "status 0, and no file");
    else if (exit_code != 0 && (there || !said || exit_code > 2))
        wrong(there ? "it failed and left a file" : "it failed with no message or an odd status");
    unlink("out.ipex");
}

static void write_mutant(long index, bool keep_data) {
    static uint8_t bytes[2 * MODEL_MOST];
    const struct model *model = &models[(size_t)index % model_count];
    memcpy(bytes, model->bytes, model->size);
    /* The first ones are the models themselves. */
    size_t size = (size_t)index < model_count ? model->size
                                              : mutate_protobuf(bytes, model->size, sizeof bytes,
                                                                (uint64_t)index, keep_data);
    int file = open("in.onnx", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size)
        die("in.onnx");
    close(file);
}

static bool messages_say(const char *part) {
    char text[4096];
    FILE *file = fopen("messages", "rb");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = 0;
    return strstr(text, part) != NULL;
}

/* The answers of the graph as it was read are what the file gives, kernels and all; but what
 * overflows may do so in one order of operations and not in another. */
static void verify(void) {
    char *arguments[] = {"verify", "out.ipex", NULL};
    int exit_code = ipex_verb_verify(2, arguments);
    fflush(stdout);
    if (exit_code != 0 && !messages_say(" inf ") && !messages_say(" nan "))
        wrong("the file gives other answers");
}

static void convert(long index) {
    static char *const flags[][2] = {{"--quiet", "--quiet"},
                                     {"--dtype", "bf16"},
                                     {"--weights", "bf16"},
                                     {"--activations", "i8"},
                                     {"--golden", "1"}};
    char *const *flag = flags[(size_t)index / model_count % (sizeof flags / sizeof flags[0])];
    char *arguments[] = {"convert", "in.onnx", "-o", "out.ipex", "--quiet", flag[0], flag[1], NULL};
    const bool answered = strcmp(flag[0], "--golden") == 0;
    alarm(answered ? SECONDS_ANSWERED : SECONDS);
    write_mutant(index, answered);
    if (ftruncate(STDERR_FILENO, 0) != 0 || lseek(STDERR_FILENO, 0, SEEK_SET) != 0)
        die("stderr");
    int exit_code = ipex_verb_convert(7, arguments);
    if (exit_code == 0 && answered)
        verify();
    fflush(stdout);
    fflush(stderr);
    judge(exit_code);
    progress->converted += exit_code == 0;
    progress->refused += exit_code != 0;
}

/* Of AddressSanitizer, where it is there. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static void limit(void) {
    const struct rlimit memory = {MEMORY_MOST, MEMORY_MOST};
    if (!__lsan_do_recoverable_leak_check)
        setrlimit(RLIMIT_AS, &memory);
}

/* stdout and stderr go to a file that judge() looks at and the parent shows. */
static void work(long last) {
    int messages = open("messages", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    if (messages < 0 || dup2(messages, STDERR_FILENO) < 0 || dup2(messages, STDOUT_FILENO) < 0)
        die("messages");
    close(messages);
    limit();
    for (; progress->at < last && !progress->wrong; progress->at++) {
        convert(progress->at);
    }
    alarm(0);
    if (!progress->wrong && __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check())
        wrong("memory is leaked by this mutant or one before it");
    _exit(0);
}

/* ---- in the parent ---- */

static void show_messages(void) {
    char line[512];
    FILE *file = fopen("messages", "rb");
    for (int i = 0; file && i < 40 && fgets(line, sizeof line, file); i++)
        printf("# %s%s", line, strchr(line, '\n') ? "" : "\n");
    if (file)
        fclose(file);
}

/* What a child that did not end by itself was about. True: go on behind this mutant. */
static bool explain(int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && messages_say("out of memory") &&
        !messages_say("ERROR: ") && !messages_say("runtime error")) {
        progress->out_of_memory++;
        progress->at++;
        return access("out.ipex", F_OK) != 0;
    }
    snprintf(progress->why, sizeof progress->why,
             WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "it took too long" : "it died");
    return progress->wrong = true, false;
}

static void run_mutants(long last) {
    while (progress->at < last && !progress->wrong) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            work(last);
        if (child < 0 || waitpid(child, &status, 0) != child)
            die("child");
        if ((!WIFEXITED(status) || WEXITSTATUS(status) != 0) && !explain(status))
            return;
    }
}

static bool report(long first, long last) {
    long done = progress->converted + progress->refused + progress->out_of_memory;
    bool some =
        last - first < 1000 || (progress->converted * 50 > done && progress->refused * 50 > done);
    bool good = !progress->wrong && done == last - first && some;
    printf("%s - %ld mutants of ONNX models: %ld converted, %ld refused, %ld out of memory\n",
           good ? "ok" : "not ok", done, progress->converted, progress->refused,
           progress->out_of_memory);
    if (progress->wrong) {
        printf("# mutant %ld of %s: %s\n", progress->at,
               models[(size_t)progress->at % model_count].path, progress->why);
        show_messages();
    }
    fflush(stdout);
    return good;
}

static void clean(const char *folder, bool keep) {
    if (keep) {
        printf("# the model is %s/in.onnx\n", folder);
        return;
    }
    unlink("in.onnx");
    unlink("messages");
    unlink("out.ipex");
    rmdir(folder);
}

int main(int argc, char **argv) {
    char folder[] = "/dev/shm/fuzz_onnx.XXXXXX", other[] = "/tmp/fuzz_onnx.XXXXXX";
    long count = argc > 2 ? strtol(argv[1], NULL, 10) : 0, first = 0;
    models = calloc((size_t)argc, sizeof *models);
    for (int i = 2; i < argc && models; i++) {
        if (strcmp(argv[i], "--from") == 0 && i + 1 < argc)
            first = strtol(argv[++i], NULL, 10);
        else
            read_model(argv[i]);
    }
    if (count <= 0 || model_count == 0) {
        fprintf(stderr, "usage: fuzz_onnx MUTANTS MODEL.onnx... [--from I]\n");
        return 2;
    }
    const char *made = mkdtemp(folder);
    made = made ? made : mkdtemp(other);
    progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!made || chdir(made) != 0 || progress == MAP_FAILED)
        die("folder");
    progress->at = first;
    run_mutants(first + count);
    bool good = report(first, first + count);
    clean(made, progress->wrong);
    return !good;
}
