/* SPDX-License-Identifier: Apache-2.0 */
/* The parts under the verbs: tensor files, files that appear whole or not at all (disk full, size
 * limit, kill, no O_TMPFILE), option parsing, tables, JSON. */
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/tool_test.h"
#include "tools/atomic_file.h"
#include "tools/cli.h"
#include "tools/json.h"
#include "tools/name_table.h"
#include "tools/npy.h"
#include "tools/text_table.h"
#include "tools/tensor_compare.h"
#include "tools/tensor_file.h"

static char message[1024];
static const struct ipex_report report = {message, sizeof message};

/* ---- .npy ---- */

static void round_trip(enum ipex_dtype dtype, const int64_t *dims, int32_t rank) {
    struct ipex_tensor_data out, in = {0};
    char shape[128];
    if (!ipex_tensor_data_init(&out, dtype, dims, rank))
        abort();
    for (uint64_t i = 0; i < out.size; i++)
        out.data[i] = (uint8_t)(i * 37 + 11);
    bool right = ipex_tensor_write("t.npy", &out, &report) == IPEX_OK &&
                 ipex_tensor_read("t.npy", &in, &report) == IPEX_OK && in.dtype == dtype &&
                 in.rank == rank && in.size == out.size &&
                 !memcmp(in.dims, out.dims, sizeof in.dims) && !memcmp(in.data, out.data, in.size);
    test_ok(right, message, "npy round trip: %s",
            ipex_shape_text(dtype, dims, rank, shape, sizeof shape));
    ipex_tensor_data_finish(&in);
    ipex_tensor_data_finish(&out);
}

static void test_round_trips(void) {
    static const int64_t dims[] = {2, 3, 1, 4, 1, 2, 1, 3}, empty[] = {4, 0, 3};
    for (int32_t rank = 0; rank <= 8; rank++)
        round_trip(IPEX_DTYPE_f32, dims, rank);
    round_trip(IPEX_DTYPE_f32, empty, 3);
#define ROUND_TRIP(name, value, size)                                                              \
    if (IPEX_DTYPE_##name != IPEX_DTYPE_bf16)                                                      \
        round_trip(IPEX_DTYPE_##name, dims, 2);
    IPEX_DTYPE_LIST(ROUND_TRIP)
#undef ROUND_TRIP
    struct ipex_tensor_data bf16;
    if (!ipex_tensor_data_init(&bf16, IPEX_DTYPE_bf16, dims, 1))
        abort();
    test_ok(ipex_tensor_write("b.npy", &bf16, &report) == IPEX_ERROR_DTYPE && !test_exists("b.npy"),
            message, "npy: bf16 is refused, no file");
    ipex_tensor_data_finish(&bf16);
}

/* A version 1 or 2 file with this dictionary and `size` bytes 0, 1, 2, ... behind it. */
static size_t make_npy(uint8_t *file, int version, const char *dictionary, size_t size) {
    size_t length = strlen(dictionary), at = version == 1 ? 10 : 12;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (uint8_t)version;
    file[7] = 0;
    memset(file + 8, 0, 4);
    file[8] = (uint8_t)length;
    file[9] = (uint8_t)(length >> 8);
    memcpy(file + at, dictionary, length);
    for (size_t i = 0; i < size; i++)
        file[at + length + i] = (uint8_t)i;
    return at + length + size;
}

static void check_npy(const char *name, int version, const char *dictionary, size_t size,
                      enum ipex_status expected) {
    uint8_t file[512];
    struct ipex_tensor_data tensor;
    message[0] = 0;
    test_write("t.npy", file, make_npy(file, version, dictionary, size));
    enum ipex_status status = ipex_tensor_read("t.npy", &tensor, &report);
    bool named = status == IPEX_OK || test_contains(message, "t.npy: ");
    test_ok(status == expected && named, message, "npy: %s", name);
    if (status == IPEX_OK)
        ipex_tensor_data_finish(&tensor);
}

static void test_npy_headers(void) {
#define HEAD "{'descr': '<f4', 'fortran_order': False, 'shape': "
    check_npy("version 1", 1, HEAD "(2, 3), }\n", 24, IPEX_OK);
    check_npy("version 2", 2, HEAD "(2, 3), }\n", 24, IPEX_OK);
    check_npy("keys in another order", 1,
              "{\"shape\": (6,), 'descr': '<f4', 'fortran_order': False}", 24, IPEX_OK);
    check_npy("dimensions of Python 2", 1, HEAD "(2L, 3L)}", 24, IPEX_OK);
    check_npy("version 9", 9, HEAD "(2, 3), }", 24, IPEX_ERROR_FILE_METADATA);
    check_npy("a shape that is a number", 1, HEAD "(6)}", 24, IPEX_ERROR_FILE_METADATA);
    check_npy("a negative dimension", 1, HEAD "(-6,)}", 24, IPEX_ERROR_FILE_METADATA);
    check_npy("a dimension over the limit", 1, HEAD "(99999999999,)}", 24,
              IPEX_ERROR_FILE_METADATA);
    check_npy("a dimension of 40 digits", 1, HEAD "(1000000000000000000000000000000000000000,)}",
              24, IPEX_ERROR_FILE_METADATA);
    check_npy("too many elements", 1, HEAD "(2147483647, 2147483647)}", 24, IPEX_ERROR_SHAPE);
    check_npy("nine dimensions", 1, HEAD "(1, 1, 1, 1, 1, 1, 1, 1, 1)}", 4,
              IPEX_ERROR_FILE_METADATA);
    check_npy("too few bytes", 1, HEAD "(2, 3)}", 23, IPEX_ERROR_FILE_TRUNCATED);
    check_npy("big-endian", 1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}", 24,
              IPEX_ERROR_DTYPE);
    test_ok(test_contains(message, "big-endian"), message, "npy: big-endian is named");
    check_npy("a dtype that is not supported", 1,
              "{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", 24, IPEX_ERROR_DTYPE);
    check_npy("records", 1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", 24,
              IPEX_ERROR_FILE_METADATA);
    check_npy("a missing key", 1, "{'descr': '<f4', 'shape': (6,)}", 24, IPEX_ERROR_FILE_METADATA);
    check_npy("an unknown key", 1, HEAD "(6,), 'extra': 1}", 24, IPEX_ERROR_FILE_METADATA);
    check_npy("text behind the dictionary", 1, HEAD "(6,)} x", 24, IPEX_ERROR_FILE_METADATA);
    check_npy("no dictionary", 1, "", 0, IPEX_ERROR_FILE_METADATA);
    test_write("t.npy", "plain text", 10);
    struct ipex_tensor_data tensor;
    test_ok(ipex_tensor_read("t.npy", &tensor, &report) == IPEX_ERROR_FILE_METADATA, message,
            "npy: a text file called .npy");
    test_ok(ipex_tensor_read("gone.npy", &tensor, &report) == IPEX_ERROR_FILE_IO, message,
            "npy: no such file");
}

/* Column-major bytes 0..5 of shape 2x3 are [[0, 2, 4], [1, 3, 5]]. */
static void test_fortran_order(void) {
    uint8_t file[512];
    struct ipex_tensor_data tensor = {0};
    test_write("t.npy", file,
               make_npy(file, 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", 6));
    bool right = ipex_tensor_read("t.npy", &tensor, &report) == IPEX_OK &&
                 !memcmp(tensor.data, "\0\2\4\1\3\5", 6);
    test_ok(right, message, "npy: column-major is turned, rank 2");
    ipex_tensor_data_finish(&tensor);
    test_write(
        "t.npy", file,
        make_npy(file, 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 1, 3, 2)}", 12));
    right = ipex_tensor_read("t.npy", &tensor, &report) == IPEX_OK;
    for (int a = 0; right && a < 2; a++)
        for (int c = 0; c < 3; c++)
            for (int d = 0; d < 2; d++)
                right = right && tensor.data[a * 6 + c * 2 + d] == a + 2 * c + 6 * d;
    test_ok(right, message, "npy: column-major is turned, rank 4");
    ipex_tensor_data_finish(&tensor);
}

/* No prefix and no flipped bit of a file may do worse than fail. */
static void test_npy_damage(void) {
    uint8_t file[512];
    struct ipex_npy npy;
    size_t size = make_npy(file, 1, HEAD "(2, 3), }\n", 24), accepted = 0;
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut + 1); /* exact, for the sanitizers */
        memcpy(copy, file, cut);
        accepted += ipex_npy_parse(copy, cut, &npy, &report) == IPEX_OK;
        free(copy);
    }
    test_ok(!accepted, NULL, "npy: cut at every byte, never read");
    size_t wrong = 0;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        wrong += ipex_npy_parse(file, size, &npy, &report) == IPEX_OK &&
                 !ipex_range_ok(npy.data_offset, npy.data_size, size);
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    test_ok(!wrong, NULL, "npy: every bit flipped, elements always inside the file");
}

/* ---- elements ---- */

static void test_elements(void) {
    uint16_t bits = 0;
    const struct ipex_tensor_data half = {
        .dtype = IPEX_DTYPE_f16, .data = (uint8_t *)&bits, .size = 2};
    int wrong = 0;
    for (uint32_t value = 0; value < 0x10000; value++) {
        bits = (uint16_t)value;
        int exponent = value >> 10 & 31, fraction = value & 1023;
        double expected = exponent == 31  ? fraction ? NAN : INFINITY
                          : exponent == 0 ? ldexp(fraction, -24)
                                          : ldexp(1024 + fraction, exponent - 25);
        double got = ipex_tensor_element(&half, 0);
        if (value & 0x8000)
            expected = -expected;
        wrong += isnan(expected) ? !isnan(got) : got != expected;
    }
    test_ok(!wrong, NULL, "elements: all 65536 f16 values");
    const int64_t wide = -5;
    const int32_t medium = -6;
    const int8_t small = -7;
    const uint16_t bf16 = 0xc049;
    const struct {
        enum ipex_dtype dtype;
        const void *bytes;
        double value;
    } cases[] = {
        {IPEX_DTYPE_i64, &wide, -5},         {IPEX_DTYPE_i32, &medium, -6},
        {IPEX_DTYPE_i8, &small, -7},         {IPEX_DTYPE_u8, &small, 249},
        {IPEX_DTYPE_bf16, &bf16, -3.140625},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ipex_tensor_data tensor = {.dtype = cases[i].dtype,
                                                .data = (uint8_t *)(uintptr_t)cases[i].bytes};
        test_ok(ipex_tensor_element(&tensor, 0) == cases[i].value, NULL, "elements: %s",
                ipex_dtype_name(cases[i].dtype));
    }
}

/* ---- atomic files ---- */

static bool file_is(const char *path, const char *text) {
    char bytes[256] = "";
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    size_t got = fread(bytes, 1, sizeof bytes - 1, file);
    fclose(file);
    return got == strlen(text) && !memcmp(bytes, text, got);
}

static void test_atomic(void) {
    struct ipex_atomic_file file;
    mkdir("a", 0777);
    bool right = ipex_atomic_open("a/f", &file, &report) == IPEX_OK &&
                 ipex_atomic_write(&file, "world", 5, 6, &report) == IPEX_OK &&
                 ipex_atomic_write(&file, "hello ", 6, 0, &report) == IPEX_OK;
    test_ok(right && !test_exists("a/f"), message, "atomic: not there before the commit");
    right = ipex_atomic_commit(&file, &report) == IPEX_OK;
    test_ok(right && file_is("a/f", "hello world") && test_count_files("a") == 1, message,
            "atomic: there after it, pieces in any order, nothing else");
    right = ipex_atomic_open("a/f", &file, &report) == IPEX_OK &&
            ipex_atomic_write(&file, "new", 3, 0, &report) == IPEX_OK;
    test_ok(right && file_is("a/f", "hello world"), message,
            "atomic: the old file stays until then");
    right = ipex_atomic_commit(&file, &report) == IPEX_OK;
    test_ok(right && file_is("a/f", "new") && test_count_files("a") == 1, message,
            "atomic: replaced whole");
    right = ipex_atomic_open("a/g", &file, &report) == IPEX_OK &&
            ipex_atomic_write(&file, "x", 1, 0, &report) == IPEX_OK;
    ipex_atomic_discard(&file);
    test_ok(right && test_count_files("a") == 1, message, "atomic: discarded, nothing left");
    right = ipex_atomic_open("a/large", &file, &report) == IPEX_OK &&
            ipex_atomic_write(&file, "end", 3, UINT64_C(5) << 30, &report) == IPEX_OK &&
            ipex_atomic_commit(&file, &report) == IPEX_OK;
    struct stat status;
    test_ok(right && !stat("a/large", &status) && status.st_size == (INT64_C(5) << 30) + 3, message,
            "atomic: offsets over 4 GiB");
    unlink("a/large");
}

static void check_open_fails(const char *path, const char *part) {
    struct ipex_atomic_file file;
    message[0] = 0;
    enum ipex_status status = ipex_atomic_open(path, &file, &report);
    test_ok(status == IPEX_ERROR_FILE_IO && test_contains(message, part), message,
            "atomic: %s: refused with '%s'", path, part);
    if (status == IPEX_OK)
        ipex_atomic_discard(&file);
}

/* A link of our own to what a rename must not take the place of, which stays what it was. */
static void check_link_refused(const char *to, const char *part) {
    char text[64];
    if (symlink(to, "a/link"))
        abort();
    check_open_fails("a/link", part);
    test_ok(readlink("a/link", text, sizeof text) == (ssize_t)strlen(to) &&
                !memcmp(text, to, strlen(to)),
            "", "atomic: a link to %s stays", to);
    unlink("a/link");
}

/* A link to a file, or to none, is replaced; what it leads to is left alone. */
static void check_link_replaced(const char *to) {
    struct ipex_atomic_file file;
    struct stat status;
    if (symlink(to, "a/link"))
        abort();
    const bool right = ipex_atomic_open("a/link", &file, &report) == IPEX_OK &&
                       ipex_atomic_write(&file, "linked", 6, 0, &report) == IPEX_OK &&
                       ipex_atomic_commit(&file, &report) == IPEX_OK;
    test_ok(right && !lstat("a/link", &status) && S_ISREG(status.st_mode) &&
                file_is("a/link", "linked") && file_is("a/f", "new") && !test_exists("a/none"),
            message, "atomic: a link to %s is replaced", to);
    unlink("a/link");
}

static void test_atomic_links(void) {
    check_link_replaced("f");
    check_link_replaced("none");
    if (mkfifo("a/fifo", 0666))
        abort();
    check_link_refused("fifo", "not a regular file");
    unlink("a/fifo");
    check_link_refused("/dev/null", "not a regular file");
    check_link_refused(".", "Is a directory");
    int fd = open("a/f", O_RDONLY); /* as a standard output that goes to a file */
    char self[32];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    check_link_refused(self, "not a regular file");
    close(fd);
}

static int open_in_readonly(void *arg) {
    (void)arg;
    struct ipex_atomic_file file;
    if (setgid(65534) || setuid(65534))
        return 9;
    enum ipex_status status = ipex_atomic_open("readonly/f", &file, &report);
    return status != IPEX_ERROR_FILE_IO || !test_contains(message, "Permission denied");
}

static void test_atomic_refusals(void) {
    check_open_fails("gone/f", "cannot open the folder");
    check_open_fails("a/f/g", "Not a directory");
    check_open_fails("a", "Is a directory");
    check_open_fails("a/", "not a file name");
    check_open_fails("/dev/null", "not a regular file");
    mkdir("readonly", 0755);
    if (chmod("readonly", 0555) || chmod(".", 0755))
        abort();
    if (geteuid())
        check_open_fails("readonly/f", "Permission denied");
    else
        test_ok(!test_in_child(open_in_readonly, NULL), message,
                "atomic: a folder without write permission is refused");
}

/* Exit status 0: the write failed with the message expected, and left nothing. */
static int write_too_much(void *part) {
    static const char block[65536];
    struct ipex_atomic_file file;
    if (ipex_atomic_open("full/f", &file, &report) != IPEX_OK)
        return 2;
    enum ipex_status status = IPEX_OK;
    for (uint64_t i = 0; i < 64 && status == IPEX_OK; i++)
        status = ipex_atomic_write(&file, block, sizeof block, i * sizeof block, &report);
    ipex_atomic_discard(&file);
    if (status != IPEX_ERROR_FILE_IO || !test_contains(message, part))
        return 3;
    return test_count_files("full") == 0 ? 0 : 4;
}

static int write_limited(void *arg) {
    (void)arg;
    const struct rlimit limit = {1 << 20, 1 << 20};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return 1;
    return write_too_much("file size limit");
}

static int write_to_full_disk(void *arg) {
    (void)arg;
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", "full", "tmpfs", 0, "size=1m"))
        return 77;
    return write_too_much("disk is full");
}

static void test_full_disk(void) {
    mkdir("full", 0777);
    test_ok(test_in_child(write_limited, NULL) == 0, message,
            "atomic: file size limit, a clear message and nothing left");
    const char *name = "atomic: full disk, a clear message and nothing left";
    int code = test_in_child(write_to_full_disk, NULL);
    if (code == 77)
        test_skip("mounting needs privileges", name);
    else
        test_ok(code == 0, NULL, "%s", name);
}

/* Writes, says so through the pipe, waits to be killed. */
static int write_and_wait(void *arg) {
    const int *ready = arg;
    struct ipex_atomic_file file;
    if (ipex_atomic_open("killed/f", &file, &report) != IPEX_OK ||
        ipex_atomic_write(&file, "half", 4, 0, &report) != IPEX_OK || write(*ready, "x", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static void test_kill(void) {
    int ready[2];
    char byte;
    mkdir("killed", 0777);
    test_write("killed/f", "old", 3);
    if (pipe(ready))
        abort();
    fflush(NULL);
    pid_t child = fork();
    if (!child)
        _exit(write_and_wait(&ready[1]));
    close(ready[1]);
    bool started = read(ready[0], &byte, 1) == 1;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    test_ok(started && file_is("killed/f", "old") && test_count_files("killed") == 1, NULL,
            "atomic: killed while writing: the old file, nothing else");
}

/* In a root without /proc, files get a temporary name. Exit status 0: that worked. */
static int write_named(void *arg) {
    (void)arg;
    struct ipex_atomic_file file;
    if (chroot("named") || chdir("/"))
        return 77;
    if (ipex_atomic_open("f", &file, &report) != IPEX_OK || !file.temporary ||
        test_count_files("/") != 1)
        return 1;
    ipex_atomic_discard(&file);
    if (test_count_files("/") != 0)
        return 2;
    for (int i = 0; i < 2; i++) /* new, then replaced */
        if (ipex_atomic_open("f", &file, &report) != IPEX_OK ||
            ipex_atomic_write(&file, "named", 5, 0, &report) != IPEX_OK ||
            ipex_atomic_commit(&file, &report) != IPEX_OK)
            return 3;
    return test_count_files("/") == 1 && file_is("f", "named") ? 0 : 4;
}

static void test_named(void) {
    const char *name = "atomic: without nameless files, a temporary name";
    mkdir("named", 0777);
    int code = test_in_child(write_named, NULL);
    if (code == 77)
        test_skip("chroot needs privileges", name);
    else
        test_ok(code == 0, NULL, "%s", name);
}

/* ---- command line ---- */

struct parsed {
    bool flag;
    const char *text, *maybe, *file;
    struct ipex_cli_list list;
    int64_t number;
    double real;
    int code;
    bool go;
};

/* Parses the words of `line` (split at spaces); stderr goes to the file "err". */
static struct parsed parse(const char *line) {
    static char words[256];
    static struct parsed result;
    result = (struct parsed){.number = 1, .code = -1};
    const struct ipex_cli_option options[] = {
        {"flag", NULL, "a flag", IPEX_CLI_FLAG, false, &result.flag, 0, 0},
        {"o", "FILE", "a text", IPEX_CLI_TEXT, false, &result.text, 0, 0},
        {"why", "TEXT", "an optional text", IPEX_CLI_OPTIONAL, false, &result.maybe, 0, 0},
        {"dim", "NAME=N", "a list", IPEX_CLI_LIST, false, &result.list, 0, 0},
        {"threads", "N", "a number", IPEX_CLI_INTEGER, false, &result.number, 1, 8},
        {"seconds", "S", "a real", IPEX_CLI_REAL, false, &result.real, 0.1, 60},
        {0},
    };
    const struct ipex_cli_verb verb = {"test", "INPUT", "A test.", options, NULL};
    char *argv[32];
    int argc = 0;
    snprintf(words, sizeof words, "test %s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    fflush(NULL);
    int saved = dup(2), file = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(file, 2);
    close(file);
    result.go = ipex_cli_parse(&verb, argc, argv, &result.file, &result.code);
    dup2(saved, 2);
    close(saved);
    return result;
}

static void check_wrong(const char *line, const char *part) {
    char text[4096] = "";
    struct parsed result = parse(line);
    FILE *file = fopen("err", "rb");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[got] = 0;
    bool right = !result.go && result.code == IPEX_EXIT_USAGE && test_contains(text, part) &&
                 test_contains(text, "usage: ipexpack test INPUT") &&
                 !strncmp(text, "ipexpack: test: ", 16);
    test_ok(right, text, "cli: '%s': exit 2, '%s', usage", line, part);
    ipex_cli_list_finish(&result.list);
}

static void test_cli(void) {
    struct parsed all =
        parse("in --flag -o out --dim a=1 --why x --dim=b=2 --threads 4 --seconds=0.5");
    test_ok(all.go && all.flag && !strcmp(all.file, "in") && !strcmp(all.text, "out") &&
                !strcmp(all.maybe, "x") && all.list.count == 2 &&
                !strcmp(all.list.item[0], "a=1") && !strcmp(all.list.item[1], "b=2") &&
                all.number == 4 && all.real == 0.5,
            NULL, "cli: every kind of option");
    ipex_cli_list_finish(&all.list);
    struct parsed last = parse("in --why");
    test_ok(last.go && last.maybe && !*last.maybe, NULL, "cli: optional value left out at the end");
    struct parsed first = parse("--why in");
    test_ok(first.go && !strcmp(first.file, "in") && !*first.maybe, NULL,
            "cli: optional value left out before the argument");
    struct parsed both = parse("--why x in");
    test_ok(both.go && !strcmp(both.file, "in") && !strcmp(both.maybe, "x"), NULL,
            "cli: optional value before the argument");
    struct parsed dashes = parse("-- --in");
    test_ok(dashes.go && !strcmp(dashes.file, "--in"), NULL, "cli: -- ends options");
    check_wrong("", "INPUT is missing");
    check_wrong("in --nope", "unknown option '--nope'");
    check_wrong("in -x", "unknown option '-x'");
    check_wrong("in --o out", "unknown option '--o'");
    check_wrong("in --fla", "unknown option '--fla'");
    check_wrong("in more", "what is 'more'?");
    check_wrong("in --threads", "--threads needs a value: N");
    check_wrong("in -o", "-o needs a value: FILE");
    check_wrong("in -o --flag", "-o needs a value: FILE");
    check_wrong("in --flag=1", "--flag takes no value");
    check_wrong("in --threads 0", "'0' is not a whole number between 1 and 8");
    check_wrong("in --threads 9", "between 1 and 8");
    check_wrong("in --threads 2x", "'2x' is not a whole number");
    check_wrong("in --threads 99999999999999999999", "is not a whole number");
    check_wrong("in --seconds nan", "'nan' is not a number");
    check_wrong("in --seconds -1", "between 0.1 and 60");
}

/* ---- table, JSON ---- */

static char *captured(void (*print)(FILE *file)) {
    static char text[1024];
    memset(text, 0, sizeof text);
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    if (!file)
        abort();
    print(file);
    fclose(file);
    return text;
}

static void print_table(FILE *file) {
    static const struct ipex_table_column columns[] = {
        {"us", true, 0}, {"name", false, 8}, {"x", false, 0}};
    struct ipex_table table;
    ipex_table_init(&table, columns, 3);
    ipex_table_cell(&table, "%.1f", 123.45);
    ipex_table_cell(&table, "Größe");
    ipex_table_cell(&table, "a\nb");
    ipex_table_cell(&table, "1");
    ipex_table_cell(&table, "ÄÖÜäöüßÄÖ");
    ipex_table_print(&table, file);
    ipex_table_finish(&table);
}

static void test_table(void) {
    const char *expected = "   us  name      x\n"
                           "123.5  Größe     a?b\n"
                           "    1  ÄÖÜäö...\n";
    const char *got = captured(print_table);
    char digits[16];
    test_ok(!strcmp(got, expected), got,
            "table: alignment in characters, cut cells, no control characters, short last row");
    test_ok(!strcmp(ipex_bytes_text(999, digits), "999 B") &&
                !strcmp(ipex_bytes_text(1234567, digits), "1.2 MB") &&
                !strcmp(ipex_bytes_text(86605005, digits), "86.6 MB"),
            digits, "table: byte counts");
}

static void test_json(void) {
    json_t *object = ipex_json_object();
    ipex_json_set_real(object, "nan", NAN);
    ipex_json_set_text(object, "bad", "a\xff");
    ipex_json_set_text(object, "null", NULL);
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    test_ok(text && !strcmp(text, "{\"bad\":\"a?\",\"nan\":null,\"null\":null}"), text,
            "json: NaN and text that is not UTF-8 do not lose the object");
    free(text);
    json_decref(object);
}

/* ---- differences ---- */

static bool near(double got, double expected) {
    return fabs(got - expected) <= 1e-9 * fabs(expected);
}

static void compares(const char *name, const float *got, const float *expected, double relative,
                     double norm) {
    static const int64_t dims[] = {4};
    struct ipex_tensor_data a, b;
    if (!ipex_tensor_data_init(&a, IPEX_DTYPE_f32, dims, 1) ||
        !ipex_tensor_data_init(&b, IPEX_DTYPE_f32, dims, 1))
        abort();
    memcpy(a.data, got, a.size);
    memcpy(b.data, expected, b.size);
    const struct ipex_tensor_difference d = ipex_tensor_compare(&a, &b);
    snprintf(message, sizeof message, "relative %g, norm %g", d.relative, d.norm);
    test_ok(near(d.relative, relative) && near(d.norm, norm), message, "differences: %s", name);
    ipex_tensor_data_finish(&a);
    ipex_tensor_data_finish(&b);
}

static void test_differences(void) {
    static const float zeros[4], some[] = {3, -4, 0, 0}, other[] = {3, -3, 0, 0};
    static const float tiny[] = {0, 0x1p-28f, 0, 0}, far[] = {0, 0, 0.5f, 0};
    compares("none", some, some, 0, 0);
    compares("by the largest, and by the norm", other, some, 0.25, 0.2);
    compares("none from zeros", zeros, zeros, 0, 0);
    compares("little from zeros", tiny, zeros, 0x1p-28, 0x1p-29);
    compares("much from zeros", far, zeros, 0.5, 0.25);
    compares("zeros from others", zeros, some, 1, 1);
}

/* ---- names ---- */

static void test_names(void) {
    enum { NAMES = 3000 };
    static char text[NAMES][8];
    struct ipex_arena arena = {0};
    struct ipex_name_table table = {.arena = &arena};
    bool absent = !ipex_name_find(&table, "n0"), kept = true, fresh = true;
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(text[i], sizeof text[i], "n%u", i);
        struct ipex_name *name = ipex_name_add(&table, text[i]);
        fresh &= name->value.pointer == NULL;
        name->value.number = i + 1;
    }
    for (uint32_t i = 0; i < NAMES; i++) {
        char same[8];
        snprintf(same, sizeof same, "n%u", i);
        const struct ipex_name *found = ipex_name_find(&table, same);
        kept &= found && found == ipex_name_add(&table, same) && found->text == text[i] &&
                found->value.number == i + 1;
    }
    test_ok(absent && fresh && !ipex_name_find(&table, "n"), NULL, "names: what is not there");
    test_ok(kept && table.used == NAMES, NULL, "names: found again after the table has grown");
    ipex_arena_finish(&arena);
}

int main(void) {
    umask(022);
    test_start();
    test_round_trips();
    test_npy_headers();
    test_fortran_order();
    test_npy_damage();
    test_elements();
    test_atomic();
    test_atomic_links();
    test_atomic_refusals();
    test_full_disk();
    test_kill();
    test_named();
    test_cli();
    test_table();
    test_json();
    test_differences();
    test_names();
    return test_done();
}
