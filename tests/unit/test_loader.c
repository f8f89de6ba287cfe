/* SPDX-License-Identifier: Apache-2.0 */
/* Loading from paths, descriptors and memory; whatever goes wrong, a status and a message, and
 * nothing left open or mapped. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "loader/loader.h"
#include "tests/unit/model_maker.h"

static char directory[] = "/tmp/ipex-loader-XXXXXX";
static char path[64];

static struct maker_file default_file(void) {
    struct maker_model *model = malloc(sizeof *model);
    maker_default(model);
    struct maker_file file = maker_write(model);
    free(model);
    return file;
}

static void write_file(const struct maker_file *file, uint64_t size) {
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(file->bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static int open_descriptors(void) {
    int count = 0;
    DIR *list = opendir("/proc/self/fd");
    assert_non_null(list);
    while (readdir(list))
        count++;
    closedir(list);
    return count;
}

static bool is_mapped(void) {
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        found = found || strstr(line, directory);
    fclose(maps);
    return found;
}

/* Measures and loads; the memory goes to *ret_memory, to be freed. */
static enum ipex_status load(const struct ipex_source *source,
                             const struct ipex_load_options *options, void **ret_memory,
                             struct ipex_image **ret_image) {
    size_t size = 0;
    *ret_memory = NULL;
    IPEX_TRY(ipex_load_measure(source, options, &size));
    *ret_memory = aligned_alloc(64, (size + 63) & ~(size_t)63);
    memset(*ret_memory, 0xee, size);
    return ipex_load(source, *ret_memory, size, options, ret_image);
}

/* Loading must fail so, with the reason in the message and the path in front of it, and leave
 * nothing behind. */
static void assert_fails(const struct ipex_source *source, struct ipex_load_options options,
                         enum ipex_status wanted, const char *reason) {
    char message[256] = "";
    void *memory;
    struct ipex_image *image = (void *)&memory;
    int descriptors = open_descriptors();
    options.report = (struct ipex_report){message, sizeof message};
    enum ipex_status status = load(source, &options, &memory, &image);
    assert_string_equal(ipex_status_name(status), ipex_status_name(wanted));
    if (!strstr(message, reason) ||
        (source->path && strncmp(message, source->path, strlen(source->path))))
        fail_msg("'%s' is not in '%s'", reason, message);
    assert_ptr_equal(image, &memory); /* not touched */
    assert_int_equal(open_descriptors(), descriptors);
    assert_false(is_mapped());
    free(memory);
}

static void assert_image(const struct ipex_image *image, const struct maker_file *file) {
    assert_int_equal(image->file_size, file->size);
    assert_int_equal(image->entries, 1);
    assert_int_equal(image->entry[0].tensors, T_COUNT);
    assert_int_equal(image->entry[0].nodes, N_COUNT);
    assert_int_equal(image->entry[0].inputs, 1);
    assert_int_equal(image->entry[0].outputs, 3);
    assert_int_equal(image->entry[0].tensor[T_CAT].last, N_DEPTH);
    assert_string_equal(ipex_fb_entry_name(image->entry[0].fb), "main");
    assert_memory_equal(image->digest, file->bytes + 64, 32);
    const uint8_t *weight = ipex_image_weight(image, W_SCALE);
    assert_ptr_equal(weight,
                     image->file + 65536 +
                         ipex_fb_weight_offset(ipex_fb_model_weights(image->model, W_SCALE)));
    assert_int_equal(weight[3], file->bytes[weight - image->file + 3]);
}

static void load_path(void **state) {
    static const enum ipex_load_prefault prefaults[] = {IPEX_LOAD_LAZY, IPEX_LOAD_WILLNEED,
                                                        IPEX_LOAD_POPULATE};
    struct maker_file file = default_file();
    struct ipex_source source = {.path = path};
    (void)state;
    write_file(&file, file.size);
    for (int i = 0; i < 3; i++) {
        struct ipex_load_options options = {.prefault = prefaults[i], .verify_data = i == 1};
        void *memory;
        struct ipex_image *image = NULL;
        int descriptors = open_descriptors();
        assert_int_equal(load(&source, &options, &memory, &image), IPEX_OK);
        assert_ptr_equal(image, memory);
        assert_true(image->mapped);
        assert_image(image, &file);
        assert_int_equal(open_descriptors(), descriptors);
        assert_true(is_mapped());
        ipex_unload(image);
        assert_false(is_mapped());
        free(memory);
    }
    maker_free(&file);
}

static void load_descriptor(void **state) {
    struct maker_file file = default_file();
    void *memory;
    struct ipex_image *image = NULL;
    (void)state;
    write_file(&file, file.size);
    struct ipex_source source = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    assert_int_equal(lseek(source.fd, 77, SEEK_SET), 77);
    assert_int_equal(load(&source, NULL, &memory, &image), IPEX_OK);
    assert_int_equal(lseek(source.fd, 0, SEEK_CUR), 77); /* still ours, and where it was */
    close(source.fd);
    assert_image(image, &file);
    ipex_unload(image);
    free(memory);
    maker_free(&file);
}

static void load_memory(void **state) {
    struct maker_file file = default_file();
    struct ipex_source source = {.bytes = file.bytes, .size = file.size};
    struct ipex_load_options options = {.verify_data = true};
    void *memory;
    struct ipex_image *image = NULL;
    (void)state;
    assert_int_equal(load(&source, &options, &memory, &image), IPEX_OK);
    assert_ptr_equal(image->file, file.bytes);
    assert_false(image->mapped);
    assert_true(image->metadata != file.bytes);
    assert_image(image, &file);
    ipex_unload(image);
    free(memory);
    source.bytes = file.bytes + 64;
    assert_fails(&source, options, IPEX_ERROR_ARGUMENT, "aligned to 4096");
    maker_free(&file);
}

/* A file of any other length than its header's. */
static void truncated(void **state) {
    struct maker_file file = default_file();
    struct ipex_source source = {.path = path};
    struct ipex_load_options options = {0};
    (void)state;
    for (uint64_t size = 0; size < file.size; size += size < file.metadata_size ? 61 : 9973) {
        write_file(&file, size);
        assert_fails(&source, options, IPEX_ERROR_FILE_TRUNCATED, "bytes");
    }
    write_file(&file, file.size);
    FILE *append = fopen(path, "ab");
    fputc(0, append);
    fclose(append);
    assert_fails(&source, options, IPEX_ERROR_FILE_TRUNCATED, "the file has");
    maker_free(&file);
}

static void not_a_file(void **state) {
    struct ipex_load_options options = {0};
    char fifo[80];
    (void)state;
    snprintf(fifo, sizeof fifo, "%s/fifo", directory);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_fails(&(struct ipex_source){.path = "/nonexistent/x.ipex"}, options, IPEX_ERROR_FILE_IO,
                 "no such file");
    assert_fails(&(struct ipex_source){.path = directory}, options, IPEX_ERROR_FILE_IO,
                 "not a regular file");
    assert_fails(&(struct ipex_source){.path = fifo}, options, IPEX_ERROR_FILE_IO,
                 "not a regular file");
    assert_fails(&(struct ipex_source){.fd = -1}, options, IPEX_ERROR_FILE_IO,
                 "not a descriptor open for reading");
    assert_int_equal(unlink(fifo), 0);
}

static void unreadable(void **state) {
    struct maker_file file = default_file();
    struct ipex_load_options options = {0};
    char below[80];
    (void)state;
    write_file(&file, file.size);
    snprintf(below, sizeof below, "%s/x.ipex", path);
    assert_fails(&(struct ipex_source){.path = below}, options, IPEX_ERROR_FILE_IO, "no directory");
    struct ipex_source source = {.fd = open(path, O_WRONLY | O_CLOEXEC)};
    assert_fails(&source, options, IPEX_ERROR_FILE_IO, "cannot read");
    close(source.fd);
    maker_free(&file);
}

static void wrong_memory(void **state) {
    struct maker_file file = default_file();
    struct ipex_source source = {.bytes = file.bytes, .size = file.size};
    struct ipex_image *image = NULL;
    size_t size = 0;
    (void)state;
    assert_int_equal(ipex_load_measure(&source, NULL, &size), IPEX_OK);
    uint8_t *memory = aligned_alloc(64, (size + 127) & ~(size_t)63);
    assert_int_equal(ipex_load(&source, memory, size - 1, NULL, &image), IPEX_ERROR_MEMORY);
    assert_int_equal(ipex_load(&source, memory + 8, size, NULL, &image), IPEX_ERROR_MEMORY);
    assert_int_equal(ipex_load(&source, NULL, 0, NULL, &image), IPEX_ERROR_MEMORY);
    assert_null(image);
    assert_int_equal(ipex_load(&source, memory, size, NULL, &image), IPEX_OK);
    ipex_unload(image);
    ipex_unload(NULL);
    free(memory);
    maker_free(&file);
}

static void pinned_digest(void **state) {
    struct maker_file file = default_file();
    struct ipex_source source = {.bytes = file.bytes, .size = file.size};
    uint8_t digest[32];
    struct ipex_load_options options = {.expect_digest = digest};
    void *memory;
    struct ipex_image *image = NULL;
    (void)state;
    memcpy(digest, file.bytes + 64, sizeof digest);
    assert_int_equal(load(&source, &options, &memory, &image), IPEX_OK);
    ipex_unload(image);
    free(memory);
    digest[31] ^= 1;
    assert_fails(&source, options, IPEX_ERROR_FILE_DIGEST, "not the file that was expected");
    maker_free(&file);
}

/* R80, R81: damaged data is found when asked for, and only then. */
static void damaged_data(void **state) {
    struct maker_file file = default_file();
    struct ipex_source source = {.path = path};
    struct ipex_load_options lazy = {0}, verify = {.verify_data = true};
    void *memory;
    struct ipex_image *image = NULL;
    (void)state;
    file.bytes[file.size - 1] ^= 1;
    write_file(&file, file.size);
    assert_fails(&source, verify, IPEX_ERROR_FILE_DIGEST, "data from byte 65536 on is damaged");
    assert_int_equal(load(&source, &lazy, &memory, &image), IPEX_OK);
    ipex_unload(image);
    free(memory);
    file.bytes[file.size - 1] ^= 1;
    file.bytes[65535] = 1;
    write_file(&file, file.size);
    assert_fails(&source, verify, IPEX_ERROR_FILE_SECTION, "the padding before section 0");
    maker_free(&file);
}

/* Two and a bit MiB of data: the last chunk is a short one. */
static void several_chunks(void **state) {
    struct maker_model *model = malloc(sizeof *model);
    struct ipex_load_options verify = {.verify_data = true};
    void *memory;
    struct ipex_image *image = NULL;
    (void)state;
    maker_default(model);
    model->section[0].stored = model->section[0].raw = 2 * IPEX_CHUNK_BYTES + 12345;
    struct maker_file file = maker_write(model);
    struct ipex_source source = {.bytes = file.bytes, .size = file.size};
    assert_int_equal(load(&source, &verify, &memory, &image), IPEX_OK);
    ipex_unload(image);
    free(memory);
    file.bytes[65536 + IPEX_CHUNK_BYTES + 3] ^= 0x10;
    assert_fails(&source, verify, IPEX_ERROR_FILE_DIGEST, "data from byte 1114112 on");
    maker_free(&file);
    free(model);
}

static void broken_model(void **state) {
    struct maker_model *model = malloc(sizeof *model);
    struct ipex_source source = {.path = path};
    struct ipex_load_options options = {0};
    (void)state;
    maker_default(model);
    model->entry[0].node[N_LINEAR].op = 999;
    struct maker_file file = maker_write(model);
    write_file(&file, file.size);
    assert_fails(&source, options, IPEX_ERROR_MODEL_OPERATOR,
                 "entry 0 'main', node 5 'linear_5': operator 999 is unknown");
    maker_free(&file);
    free(model);
}

static int make_directory(void **state) {
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/m.ipex", directory);
    return 0;
}

static int remove_directory(void **state) {
    (void)state;
    unlink(path);
    return rmdir(directory);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_path),    cmocka_unit_test(load_descriptor),
        cmocka_unit_test(load_memory),  cmocka_unit_test(truncated),
        cmocka_unit_test(not_a_file),   cmocka_unit_test(unreadable),
        cmocka_unit_test(wrong_memory), cmocka_unit_test(pinned_digest),
        cmocka_unit_test(damaged_data), cmocka_unit_test(several_chunks),
        cmocka_unit_test(broken_model),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
