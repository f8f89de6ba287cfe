/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzz target as a plain test: the seeds, then mutants of them with fixed seeds. TAP.
 *   fuzz_open SEEDS... [--mutations N] [--from I]
 * SEEDS: .ipex files, or folders of which those named OK-* are taken. When the target dies, the
 * number of the mutant is printed;
 * `--from I --mutations 1` makes it again. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/check.h"
#include "tests/fuzz/fuzz.h"

#define SEEDS 64

struct seed {
    char name[256];
    uint8_t *bytes; /* metadata only */
    size_t size;
};

static struct seed seeds[SEEDS];
static size_t seed_count;
static long current = -1; /* mutant at work; -1: a seed */
static const char *current_seed = "";

/* Of the sanitizers, where there are any. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void say_where(void) {
    fprintf(stderr, "# died at mutant %ld, of %s\n", current, current_seed);
}

static void read_seed(const char *path, const char *name) {
    uint8_t header[IPEX_HEADER_SIZE];
    uint64_t size;
    FILE *file = fopen(path, "rb");
    if (!file || seed_count == SEEDS || fread(header, 1, sizeof header, file) != sizeof header) {
        fprintf(stderr, "fuzz_open: cannot read %s\n", path);
        exit(1);
    }
    memcpy(&size, header + 32, sizeof size);
    struct seed *seed = &seeds[seed_count++];
    snprintf(seed->name, sizeof seed->name, "%s", name);
    seed->size = (size_t)size;
    seed->bytes = malloc(seed->size);
    rewind(file);
    if (fread(seed->bytes, 1, seed->size, file) != seed->size)
        exit(1);
    fclose(file);
}

static int is_good(const struct dirent *entry) {
    return strncmp(entry->d_name, "OK-", 3) == 0;
}

static void read_seeds(const char *path) {
    struct dirent **names = NULL;
    int count = scandir(path, &names, is_good, alphasort);
    const char *slash = strrchr(path, '/');
    if (count < 0)
        read_seed(path, slash ? slash + 1 : path);
    for (int i = 0; i < count; i++) {
        char file[1024];
        snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        read_seed(file, names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

static bool run_seed(const struct seed *seed) {
    uint64_t opened = fuzz_counts.opened, run = fuzz_counts.run;
    current_seed = seed->name;
    LLVMFuzzerTestOneInput(seed->bytes, seed->size);
    bool good = fuzz_counts.opened == opened + 1 && fuzz_counts.run > run;
    printf("%s - seed %s opens and runs\n", good ? "ok" : "not ok", seed->name);
    return good;
}

static void run_mutant(long index) {
    const struct seed *seed = &seeds[(size_t)index % seed_count];
    uint8_t *bytes = malloc(seed->size);
    memcpy(bytes, seed->bytes, seed->size);
    current = index;
    current_seed = seed->name;
    size_t size = LLVMFuzzerCustomMutator(bytes, seed->size, seed->size, (unsigned)index);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
}

/* Mutants that are all refused early would test little: some must open, some must run. */
static bool run_mutants(long from, long count) {
    fuzz_counts = (struct fuzz_counts){0};
    for (long i = from; i < from + count; i++)
        run_mutant(i);
    bool good = count < 1000 || (fuzz_counts.opened * 20 > fuzz_counts.inputs &&
                                 fuzz_counts.run * 50 > fuzz_counts.inputs);
    printf("%s - %llu mutants: %llu opened, %llu entries run\n", good ? "ok" : "not ok",
           (unsigned long long)fuzz_counts.inputs, (unsigned long long)fuzz_counts.opened,
           (unsigned long long)fuzz_counts.run);
    return good;
}

int main(int argc, char **argv) {
    long mutations = 0, from = 0;
    bool good = true;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--mutations") == 0 && i + 1 < argc)
            mutations = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--from") == 0 && i + 1 < argc)
            from = strtol(argv[++i], NULL, 10);
        else
            read_seeds(argv[i]);
    }
    if (seed_count == 0) {
        fprintf(stderr, "usage: fuzz_open SEEDS... [--mutations N] [--from I]\n");
        return 2;
    }
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(say_where);
    for (size_t i = 0; i < seed_count && from == 0; i++)
        good = run_seed(&seeds[i]) && good;
    good = run_mutants(from, mutations) && good;
    for (size_t i = 0; i < seed_count; i++)
        free(seeds[i].bytes);
    return !good;
}
