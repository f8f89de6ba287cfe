/* SPDX-License-Identifier: Apache-2.0 */
/* The format's parts one by one: digests, messages, names, tile sizes, header,
 * FlatBuffers verifier and builder. Rules of the checker as a whole are test_rules.c's. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/model_fb_build.h"
#include "format/model_fb_tables.h"
#include "format/ops.h"
#include "format/sha256.h"
#include "format/tile.h"
#include "tests/unit/model_maker.h"

/* ---- SHA-256 ---- */

static void assert_digest(const uint8_t *digest, const char *hex) {
    char text[2 * IPEX_SHA256_BYTES + 1];
    for (int i = 0; i < IPEX_SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)digest[i]);
    assert_string_equal(text, hex);
}

/* FIPS 180-4 example vectors. */
static void sha256_vectors(void **state) {
    static const struct {
        const char *text, *hex;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    uint8_t digest[IPEX_SHA256_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        ipex_sha256(vectors[i].text, strlen(vectors[i].text), digest);
        assert_digest(digest, vectors[i].hex);
    }
}

static void sha256_million(void **state) {
    char block[1000];
    uint8_t digest[IPEX_SHA256_BYTES];
    struct ipex_sha256 hash;
    (void)state;
    memset(block, 'a', sizeof block);
    ipex_sha256_init(&hash);
    for (int i = 0; i < 1000; i++)
        ipex_sha256_update(&hash, block, sizeof block);
    ipex_sha256_final(&hash, digest);
    assert_digest(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Every length up to three blocks, cut in two at every place: the picked code and the portable one
 * agree. */
static void sha256_pieces(void **state) {
    uint8_t bytes[192], whole[IPEX_SHA256_BYTES], pieces[IPEX_SHA256_BYTES];
    (void)state;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + 11);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        ipex_sha256(bytes, size, whole);
        for (size_t cut = 0; cut <= size; cut++) {
            struct ipex_sha256 hash;
            ipex_sha256_init(&hash);
            hash.blocks = ipex_sha256_blocks_portable;
            ipex_sha256_update(&hash, bytes, cut);
            ipex_sha256_update(&hash, bytes + cut, size - cut);
            ipex_sha256_final(&hash, pieces);
            assert_memory_equal(whole, pieces, sizeof whole);
        }
    }
}

/* ---- messages and names ---- */

static void report_formats(void **state) {
    char text[128];
    struct ipex_report report = {text, sizeof text};
    (void)state;
    assert_int_equal(ipex_fail(&report, IPEX_ERROR_SHAPE, "%s|%d|%u|%lld|%llu|%%|%s", "a", -5, 7u,
                               (long long)INT64_MIN, (unsigned long long)UINT64_MAX, ""),
                     IPEX_ERROR_SHAPE);
    assert_string_equal(text, "a|-5|7|-9223372036854775808|18446744073709551615|%|");
    assert_int_equal(ipex_fail(NULL, IPEX_ERROR_SHAPE, "%s", "x"), IPEX_ERROR_SHAPE);
}

static void report_cuts(void **state) {
    char text[8] = "zzzzzzz";
    struct ipex_report small = {text, 5}, empty = {text, 0};
    (void)state;
    assert_int_equal(ipex_fail(&small, IPEX_ERROR_DTYPE, "%s", "abcdefgh"), IPEX_ERROR_DTYPE);
    assert_memory_equal(text, "abcd\0zz", 8);
    assert_int_equal(ipex_fail_at(&small, IPEX_ERROR_DTYPE, "%s", "xy"), IPEX_ERROR_DTYPE);
    assert_memory_equal(text, "xyab\0zz", 8);
    assert_int_equal(ipex_fail_at(&small, IPEX_ERROR_DTYPE, "%s", "123456"), IPEX_ERROR_DTYPE);
    assert_memory_equal(text, "1234\0zz", 8);
    assert_int_equal(ipex_fail(&empty, IPEX_ERROR_DTYPE, "%s", "abc"), IPEX_ERROR_DTYPE);
    assert_memory_equal(text, "1234\0zz", 8);
}

/* A name from a file neither hides the reason nor reaches the terminal as control characters. */
static void report_tames_names(void **state) {
    char text[256], name[200];
    struct ipex_report report = {text, sizeof text};
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(ipex_fail(&report, IPEX_ERROR_SHAPE, "reason %s", "\x1b[2J\x7f"),
                     IPEX_ERROR_SHAPE);
    assert_int_equal(ipex_fail_at(&report, IPEX_ERROR_SHAPE, "'%s': ", name), IPEX_ERROR_SHAPE);
    assert_non_null(strstr(text, "nnn...': reason ?[2J?"));
}

static void names(void **state) {
    (void)state;
    assert_string_equal(ipex_status_name(IPEX_ERROR_SHAPE), "ERROR_SHAPE");
    assert_string_equal(ipex_status_text(IPEX_OK), "success");
    assert_string_equal(ipex_status_name((enum ipex_status)9999), "unknown");
    assert_string_equal(ipex_status_text((enum ipex_status)9999), "not a status");
    assert_null(ipex_isa_name(IPEX_ISA_AUTO));
    assert_string_equal(ipex_dtype_name(IPEX_DTYPE_bf16), "bf16");
    assert_null(ipex_dtype_name(IPEX_DTYPE_NONE));
    assert_int_equal(ipex_dtype_size(IPEX_DTYPE_i64), 8);
    assert_int_equal(ipex_dtype_size((enum ipex_dtype)10), 0);
    assert_string_equal(ipex_isa_name(IPEX_ISA_avx512_bf16), "avx512_bf16");
    assert_null(ipex_isa_name((enum ipex_isa)8));
    assert_string_equal(ipex_arithmetic_name(IPEX_ARITHMETIC_bf16_dp), "bf16-dp");
    assert_null(ipex_arithmetic_name(IPEX_ARITHMETIC_AUTO));
    assert_string_equal(ipex_op_info(IPEX_OP_softmax)->name, "softmax");
    assert_null(ipex_op_info(0));
    assert_null(ipex_op_info(999));
    assert_null(ipex_op_info(UINT32_MAX));
}

/* ---- sizes ---- */

static void numel_limits(void **state) {
    int64_t numel = -7;
    (void)state;
    assert_true(ipex_numel((int64_t[]){1 << 20, 1 << 20}, 2, &numel));
    assert_true(numel == IPEX_MAX_NUMEL);
    assert_true(ipex_numel(NULL, 0, &numel));
    assert_true(numel == 1);
    assert_true(ipex_numel((int64_t[]){5, 0, 7}, 3, &numel));
    assert_true(numel == 0);
    assert_false(ipex_numel((int64_t[]){(1 << 20) + 1, 1 << 20}, 2, &numel));
    assert_false(ipex_numel((int64_t[]){-1}, 1, &numel));
    assert_false(ipex_numel((int64_t[]){IPEX_MAX_DIM + 1}, 1, &numel));
    assert_false(ipex_numel((int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, 9, &numel));
    int64_t huge[8];
    for (int i = 0; i < 8; i++)
        huge[i] = IPEX_MAX_DIM;
    assert_false(ipex_numel(huge, 8, &numel));
    assert_true(numel == 0);
}

static int64_t bytes_of(int dtype, int layout, const int64_t *dims, unsigned rank) {
    int64_t bytes = -1;
    return ipex_weight_bytes((enum ipex_dtype)dtype, (enum ipex_layout)layout, dims, rank, &bytes)
               ? bytes
               : -1;
}

static void weight_bytes(void **state) {
    const int64_t linear[] = {17, 33}, conv[] = {2, 3, 20, 1, 5}, deep[] = {3, 3, 17};
    (void)state;
    /* 2 panels x ceil(33 / {16, 32, 64}) tiles of 1 KiB */
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_tiles, linear, 2), 2 * 3 * 1024);
    assert_int_equal(bytes_of(IPEX_DTYPE_bf16, IPEX_LAYOUT_tiles, linear, 2), 2 * 2 * 1024);
    assert_int_equal(bytes_of(IPEX_DTYPE_i8, IPEX_LAYOUT_tiles, linear, 2), 2 * 1 * 1024);
    /* bytes, of two numbers each, are as those of i8, but of no convolution */
    assert_int_equal(bytes_of(IPEX_DTYPE_u8, IPEX_LAYOUT_tiles, linear, 2), 2 * 1 * 1024);
    assert_int_equal(bytes_of(IPEX_DTYPE_u8, IPEX_LAYOUT_tiles, (int64_t[]){16, 64}, 2), 1024);
    assert_int_equal(bytes_of(IPEX_DTYPE_u8, IPEX_LAYOUT_tiles, (int64_t[]){17, 68}, 2), 4 * 1024);
    assert_int_equal(bytes_of(IPEX_DTYPE_i8, IPEX_LAYOUT_tiles, conv, 5), 2 * 3 * 2 * 1 * 1024);
    assert_int_equal(bytes_of(IPEX_DTYPE_u8, IPEX_LAYOUT_tiles, conv, 5), -1);
    /* groups x segments x panels x k tiles */
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_tiles, conv, 5), 2 * 3 * 2 * 1 * 1024);
    /* rows an odd multiple of 16 apart, the last one of a multiple of 16 */
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_channels, deep, 3), (8 * 48 + 32) * 4);
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_channels, linear, 2), 17 * 48 * 4);
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_channels, linear, 1), 32 * 4);
    assert_int_equal(bytes_of(IPEX_DTYPE_i8, IPEX_LAYOUT_plain, deep, 3), 9 * 17);
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_plain, NULL, 0), 4);
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_channels, NULL, 0), -1);
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_tiles, deep, 3), -1);
    assert_int_equal(bytes_of(IPEX_DTYPE_i64, IPEX_LAYOUT_tiles, linear, 2), -1);
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, 9, linear, 2), -1);
    assert_int_equal(bytes_of(99, IPEX_LAYOUT_plain, linear, 2), -1);
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_plain, (int64_t[]){0}, 1), -1);
}

/* Dims that fit the caps one by one, and whose padded tiles do not. */
static void weight_bytes_overflow(void **state) {
    const int64_t thin[] = {1 << 10, 1 << 30, 1, 1, 1}, taps[] = {1, 1, 1, 1 << 17, 1 << 17};
    const int64_t huge[] = {IPEX_MAX_DIM, IPEX_MAX_DIM, 1, IPEX_MAX_DIM, IPEX_MAX_DIM};
    struct ipex_tiles tiles;
    (void)state;
    assert_false(ipex_tiles_of(IPEX_DTYPE_f32, huge, 5, &tiles));
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_tiles, thin, 5), -1);
    assert_int_equal(bytes_of(IPEX_DTYPE_f32, IPEX_LAYOUT_tiles, taps, 5), -1);
    assert_int_equal(
        bytes_of(IPEX_DTYPE_f64, IPEX_LAYOUT_channels, (int64_t[]){1 << 20, 1 << 16, 1}, 3),
        INT64_C(128) << 36);
    assert_int_equal(
        bytes_of(IPEX_DTYPE_f64, IPEX_LAYOUT_channels, (int64_t[]){1 << 20, 1 << 20, 1}, 3), -1);
}

/* ---- header ---- */

static struct maker_file default_file(void) {
    struct maker_model *model = malloc(sizeof *model);
    maker_default(model);
    struct maker_file file = maker_write(model);
    free(model);
    return file;
}

/* What the default file's header gives after `bytes` replaced what lies at `at`. */
static enum ipex_status header_with(size_t at, const void *bytes, size_t count) {
    struct maker_file file = default_file();
    memcpy(file.bytes + at, bytes, count);
    maker_repair_digest(&file);
    enum ipex_status status = maker_check(&file, NULL);
    maker_free(&file);
    return status;
}

static enum ipex_status header_with_u32(size_t at, uint32_t value) {
    return header_with(at, &value, sizeof value);
}

static enum ipex_status header_with_u64(size_t at, uint64_t value) {
    return header_with(at, &value, sizeof value);
}

static void header_rules(void **state) {
    (void)state;
    struct maker_file file = default_file();
    uint32_t size = (uint32_t)file.metadata_size;
    maker_free(&file);
    assert_int_equal(header_with(4, "IPEX", 4), IPEX_OK);
    assert_int_equal(header_with(4, "IPEY", 4), IPEX_ERROR_FILE_MAGIC);          /* R2 */
    assert_int_equal(header_with(8, "xh02", 4), IPEX_ERROR_FILE_MAGIC);          /* R2 */
    assert_int_equal(header_with_u32(12, 256), IPEX_ERROR_FILE_HEADER);          /* R3 */
    assert_int_equal(header_with_u32(16, 1), IPEX_ERROR_FILE_VERSION);           /* R4 */
    assert_int_equal(header_with_u32(20, 0xffff), IPEX_ERROR_FILE_VERSION);      /* R4 */
    assert_int_equal(header_with_u64(40, 4), IPEX_ERROR_FILE_FEATURE);           /* R5 */
    assert_int_equal(header_with_u64(48, UINT64_MAX), IPEX_OK);                  /* optional */
    assert_int_equal(header_with(127, "\1", 1), IPEX_ERROR_FILE_HEADER);         /* R6 */
    assert_int_equal(header_with_u64(24, UINT64_MAX), IPEX_ERROR_FILE_LIMIT);    /* R7 */
    assert_int_equal(header_with_u64(32, UINT64_MAX), IPEX_ERROR_FILE_LIMIT);    /* R7 */
    assert_int_equal(header_with_u32(24, 77), IPEX_ERROR_FILE_TRUNCATED);        /* R8 */
    assert_int_equal(header_with_u64(32, 128), IPEX_ERROR_FILE_HEADER);          /* R9 */
    assert_int_equal(header_with_u64(32, size + 1), IPEX_ERROR_FILE_HEADER);     /* R9 */
    assert_int_equal(header_with_u64(32, 1 << 20), IPEX_ERROR_FILE_HEADER);      /* R9 */
    assert_int_equal(header_with_u32(0, 124), IPEX_ERROR_FILE_HEADER);           /* R10 */
    assert_int_equal(header_with_u32(0, size), IPEX_ERROR_FILE_HEADER);          /* R10 */
    assert_int_equal(header_with_u32(0, 130), IPEX_ERROR_FILE_HEADER);           /* R10 */
    assert_int_equal(header_with_u32(56, 257), IPEX_ERROR_FILE_LIMIT);           /* R11 */
    assert_int_equal(header_with_u32(60, size / 16 + 1), IPEX_ERROR_FILE_LIMIT); /* R11 */
    assert_int_equal(header_with_u32(56, 2), IPEX_ERROR_FILE_HEADER);            /* R16 */
    assert_int_equal(header_with_u32(60, T_COUNT - 1), IPEX_ERROR_FILE_HEADER);  /* R16 */
}

static void header_is_enough_to_fail(void **state) {
    struct ipex_header header;
    struct maker_file file = default_file();
    (void)state;
    for (uint64_t size = 0; size < file.size; size += size < 256 ? 1 : 4096) {
        enum ipex_status status = ipex_check_header(file.bytes, size, &header, NULL);
        assert_int_equal(status, IPEX_ERROR_FILE_TRUNCATED);
    }
    maker_free(&file);
}

static void digest_is_checked(void **state) {
    (void)state;
    struct maker_file file = default_file();
    file.bytes[file.metadata_size - 1] ^= 1;
    assert_int_equal(maker_check(&file, NULL), IPEX_ERROR_FILE_DIGEST);
    file.bytes[file.metadata_size - 1] ^= 1;
    file.bytes[64] ^= 0x80;
    assert_int_equal(maker_check(&file, NULL), IPEX_ERROR_FILE_DIGEST);
    maker_free(&file);
}

/* The header that sized the caller's memory must be the one that is checked. */
static void header_must_not_change(void **state) {
    struct ipex_header header;
    struct ipex_fb_model model;
    struct ipex_tensor_info *tensors = calloc(T_COUNT, sizeof *tensors);
    struct maker_file file = default_file();
    (void)state;
    assert_int_equal(ipex_check_header(file.bytes, file.size, &header, NULL), IPEX_OK);
    header.tensors--;
    assert_int_equal(ipex_check(file.bytes, &header, tensors, &model, NULL),
                     IPEX_ERROR_FILE_HEADER);
    free(tensors);
    maker_free(&file);
}

/* ---- FlatBuffers ---- */

/* Two fields, one byte and one string, by hand: at 128 a vtable, at 136 the table, at 148 the
 * string. */
static void hand_made(uint8_t buffer[192]) {
    static const struct {
        uint8_t at, size;
        uint32_t value;
    } words[] = {
        {0, 4, 136}, /* root */
        {128, 2, 8},
        {130, 2, 12},
        {132, 2, 8},
        {134, 2, 4}, /* vtable: sizes, two offsets */
        {136, 4, 8},
        {140, 4, 8},
        {144, 1, 9},
        {148, 4, 3},                          /* table; length of the string */
        {152, 4, 'a' | 'b' << 8 | 'c' << 16}, /* string */
    };
    memset(buffer, 0, 192);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        memcpy(buffer + words[i].at, &words[i].value, words[i].size);
}

static const struct ipex_fb_field hand_fields[] = {{IPEX_FB_SCALAR, 1, 1, 0},
                                                   {IPEX_FB_STRING, 4, 4, 0}};
static const struct ipex_fb_table hand_tables[] = {{hand_fields, 2}};
static const struct ipex_fb_schema hand_schema = {hand_tables, 0};

/* Status and reason after the u16 at `at` became `value`. */
static void assert_refused(unsigned at, uint32_t value, unsigned size, const char *reason) {
    _Alignas(64) uint8_t buffer[192];
    char message[128] = "";
    struct ipex_report report = {message, sizeof message};
    hand_made(buffer);
    memcpy(buffer + at, &value, size);
    assert_int_equal(ipex_fb_verify(&hand_schema, buffer, 156, 128, &report),
                     IPEX_ERROR_FILE_METADATA);
    if (!strstr(message, reason))
        fail_msg("'%s' is not in '%s'", reason, message);
}

static void verifier_by_hand(void **state) {
    _Alignas(64) uint8_t buffer[192];
    (void)state;
    hand_made(buffer);
    assert_int_equal(ipex_fb_verify(&hand_schema, buffer, 156, 128, NULL), IPEX_OK);
    assert_int_equal(ipex_fb_verify(&hand_schema, buffer, 152, 128, NULL),
                     IPEX_ERROR_FILE_METADATA);
    assert_int_equal(ipex_fb_verify(&hand_schema, buffer + 4, 152, 124, NULL),
                     IPEX_ERROR_FILE_METADATA);
    assert_int_equal(ipex_fb_verify(&hand_schema, buffer, 130, 128, NULL),
                     IPEX_ERROR_FILE_METADATA);
    assert_refused(0, 120, 4, "the root lies outside");
    assert_refused(0, 138, 4, "the root lies outside");
    assert_refused(0, 156, 4, "the root lies outside");
    assert_refused(136, 16, 4, "a vtable lies outside");         /* in the header */
    assert_refused(136, 0xffffff00, 4, "a vtable lies outside"); /* beyond the end */
    assert_refused(136, 7, 4, "a vtable lies outside");          /* odd */
    assert_refused(128, 3, 2, "a vtable has a wrong size");
    assert_refused(128, 9, 2, "a vtable has a wrong size");
    assert_refused(128, 0xfffe, 2, "a vtable has a wrong size");
    assert_refused(130, 0, 2, "a table has a wrong size");
    assert_refused(130, 21, 2, "a table has a wrong size");
    assert_refused(132, 12, 2, "a field lies outside");
    assert_refused(132, 2, 2, "a field lies outside");
    assert_refused(134, 6, 2, "a field is not aligned");
    assert_refused(140, 0, 4, "a reference leads outside");
    assert_refused(140, 0x7fffffff, 4, "a reference leads outside");
    assert_refused(140, 0xfffffff0, 4, "a reference leads outside");
    assert_refused(140, 6, 4, "a reference is not aligned");
    assert_refused(148, 5, 4, "a vector reaches outside");
    assert_refused(148, 0xffffffff, 4, "a vector reaches outside");
    assert_refused(148, 4, 4, "a string is not terminated");
    assert_refused(148, 2, 4, "a string is not terminated");
}

/* `depth` tables, each the only one in a vector of the one around it. */
static enum ipex_status verify_nested(int depth) {
    static const struct ipex_fb_field inside = {IPEX_FB_TABLES, 4, 4, 0};
    static const struct ipex_fb_table recursive = {&inside, 1};
    static const struct ipex_fb_schema schema = {&recursive, 0};
    struct ipex_fb_builder b;
    uint32_t table = 0, size = 0;
    ipex_fb_init(&b);
    for (int i = 0; i < depth; i++) {
        uint32_t vector = ipex_fb_refs(&b, &table, table == 0 ? 0 : 1);
        ipex_fb_start(&b);
        ipex_fb_put_ref(&b, 0, vector);
        table = ipex_fb_end(&b);
    }
    uint8_t *bytes = ipex_fb_finish(&b, table, &size);
    enum ipex_status status = ipex_fb_verify(&schema, bytes, size, IPEX_HEADER_SIZE, NULL);
    ipex_fb_free(&b);
    return status;
}

/* R14 */
static void verifier_depth(void **state) {
    (void)state;
    assert_int_equal(verify_nested(1), IPEX_OK);
    assert_int_equal(verify_nested(IPEX_FB_DEPTH), IPEX_OK);
    assert_int_equal(verify_nested(IPEX_FB_DEPTH + 1), IPEX_ERROR_FILE_METADATA);
    assert_int_equal(verify_nested(1000), IPEX_ERROR_FILE_METADATA);
}

/* R14: the model and `count` empty records. */
static enum ipex_status verify_many(uint32_t count) {
    struct ipex_fb_builder b;
    uint32_t size = 0, *refs = calloc(count, sizeof *refs);
    ipex_fb_init(&b);
    for (uint32_t i = 0; i < count; i++) {
        ipex_fb_start(&b);
        refs[i] = ipex_fb_end(&b);
    }
    uint32_t vector = ipex_fb_refs(&b, refs, count);
    ipex_fb_start(&b);
    ipex_fb_model_put_weights(&b, vector);
    uint8_t *bytes = ipex_fb_finish(&b, ipex_fb_end(&b), &size);
    enum ipex_status status = ipex_fb_verify(&ipex_fb_schema, bytes, size, IPEX_HEADER_SIZE, NULL);
    ipex_fb_free(&b);
    free(refs);
    return status;
}

static void verifier_visits(void **state) {
    (void)state;
    assert_int_equal(verify_many(IPEX_FB_VISITS - 1), IPEX_OK);
    assert_int_equal(verify_many(IPEX_FB_VISITS), IPEX_ERROR_FILE_METADATA);
}

/* Every single bit of the metadata, with the digest repaired: never a crash (under a sanitizer:
 * never a wrong access). */
static void every_bit_flipped(void **state) {
    struct maker_file file = default_file();
    int accepted = 0, refused = 0;
    (void)state;
    for (uint64_t bit = 0; bit < 8 * file.metadata_size; bit++) {
        file.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        uint8_t digest[32];
        memcpy(digest, file.bytes + 64, sizeof digest);
        maker_repair_digest(&file);
        if (maker_check(&file, NULL) == IPEX_OK)
            accepted++;
        else
            refused++;
        memcpy(file.bytes + 64, digest, sizeof digest);
        file.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(maker_check(&file, NULL), IPEX_OK);
    assert_true(accepted > 100);  /* letters of names, optional features */
    assert_true(refused > 10000); /* everything that means something */
    maker_free(&file);
}

/* Deterministic pseudo-random numbers (Marsaglia's xorshift). */
static uint32_t next_random(uint32_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    return *seed ^= *seed << 5;
}

/* Any name, any dims: what goes in comes out. */
static void round_trip(void **state) {
    uint32_t seed = 2463534242;
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct ipex_fb_builder b;
        char name[200];
        int64_t dims[8];
        uint32_t refs[40], size, count = 1 + next_random(&seed) % 40, begin = seed;
        ipex_fb_init(&b);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t length = next_random(&seed) % sizeof name, rank = next_random(&seed) % 9;
            for (uint32_t k = 0; k < length; k++)
                name[k] = (char)(1 + next_random(&seed) % 127);
            for (uint32_t k = 0; k < rank; k++)
                dims[k] = (int64_t)next_random(&seed) << 20;
            uint32_t text = ipex_fb_string_n(&b, name, length);
            uint32_t vector = ipex_fb_weight_make_dims(&b, dims, rank);
            ipex_fb_start(&b);
            ipex_fb_weight_put_name(&b, text);
            ipex_fb_weight_put_dims(&b, vector);
            ipex_fb_weight_put_dtype(&b, (uint8_t)next_random(&seed));
            ipex_fb_weight_put_bytes(&b, (uint64_t)next_random(&seed) << 31);
            refs[i] = ipex_fb_end(&b);
        }
        uint32_t vector = ipex_fb_refs(&b, refs, count);
        ipex_fb_start(&b);
        ipex_fb_model_put_weights(&b, vector);
        uint8_t *bytes = ipex_fb_finish(&b, ipex_fb_end(&b), &size);
        assert_non_null(bytes);
        uint8_t *copy = aligned_alloc(64, size);
        memcpy(copy, bytes, size);
        ipex_fb_free(&b);
        assert_int_equal(ipex_fb_verify(&ipex_fb_schema, copy, size, IPEX_HEADER_SIZE, NULL),
                         IPEX_OK);
        struct ipex_fb_model model = ipex_fb_root(copy);
        assert_int_equal(ipex_fb_model_weights_len(model), count);
        for (uint32_t i = 0; i < count; i++) {
            struct ipex_fb_weight w = ipex_fb_model_weights(model, i);
            uint32_t length = next_random(&begin) % sizeof name, rank = next_random(&begin) % 9;
            assert_int_equal(ipex_fb_weight_name_len(w), length);
            for (uint32_t k = 0; k < length; k++)
                assert_int_equal(ipex_fb_weight_name(w)[k], 1 + next_random(&begin) % 127);
            assert_int_equal(ipex_fb_weight_name(w)[length], 0);
            assert_int_equal(ipex_fb_weight_dims_len(w), rank);
            for (uint32_t k = 0; k < rank; k++)
                assert_true(ipex_fb_weight_dims(w)[k] == (int64_t)next_random(&begin) << 20);
            assert_int_equal(ipex_fb_weight_dtype(w), (uint8_t)next_random(&begin));
            assert_true(ipex_fb_weight_bytes(w) == (uint64_t)next_random(&begin) << 31);
            assert_int_equal(ipex_fb_weight_section(w), 0);
        }
        assert_string_equal(ipex_fb_model_producer(model), "");
        assert_int_equal(ipex_fb_model_entries_len(model), 0);
        assert_null(ipex_fb_model_sections(model));
        free(copy);
    }
}

/* Equal tables share a vtable; a second value in one field, or a field beyond the room, is refused.
 */
static void builder_limits(void **state) {
    struct ipex_fb_builder b;
    uint32_t size;
    (void)state;
    ipex_fb_init(&b);
    uint32_t used[3];
    for (int i = 0; i < 3; i++) {
        ipex_fb_start(&b);
        ipex_fb_port_put_tensor(&b, 5);
        (void)ipex_fb_end(&b);
        used[i] = b.used;
    }
    assert_int_equal(used[1] - used[0], used[2] - used[1]);
    assert_int_equal(used[1] - used[0], 8);
    ipex_fb_start(&b);
    ipex_fb_port_put_tensor(&b, 5);
    ipex_fb_port_put_tensor(&b, 6);
    assert_null(ipex_fb_finish(&b, ipex_fb_end(&b), &size));
    ipex_fb_free(&b);
    ipex_fb_start(&b);
    ipex_fb_put(&b, IPEX_FB_BUILD_FIELDS, "x", 1);
    assert_null(ipex_fb_finish(&b, ipex_fb_end(&b), &size));
    ipex_fb_free(&b);
}

/* ---- resolved tensors ---- */

static void resolved_tensors(void **state) {
    struct ipex_header header;
    struct ipex_fb_model model;
    struct ipex_tensor_info t[T_COUNT];
    struct maker_file file = default_file();
    (void)state;
    assert_int_equal(ipex_check_header(file.bytes, file.size, &header, NULL), IPEX_OK);
    assert_int_equal(ipex_check(file.bytes, &header, t, &model, NULL), IPEX_OK);
    /* [1][6][6][24] with a halo of 1: 8 rows of 8 pixels of 24, which take 13 x 64 bytes */
    assert_int_equal(t[T_CAT].storage, 8 * 13 * 16);
    assert_memory_equal(t[T_CAT].strides, ((int64_t[]){8 * 13 * 16, 13 * 16, 24, 1}), 32);
    assert_int_equal(t[T_CAT].offset, 13 * 16 + 24);
    assert_false(t[T_CAT].dense);
    assert_int_equal(t[T_CAT].first, N_CONV);
    assert_int_equal(t[T_CAT].last, N_DEPTH);
    assert_int_equal(t[T_CAT_B].root, T_CAT);
    assert_memory_equal(t[T_CAT_B].strides, t[T_CAT].strides, 32);
    assert_int_equal(t[T_CAT_B].offset, 13 * 16 + 24 + 8);
    assert_int_equal(t[T_CAT_B].slice_axis, 3);
    assert_int_equal(t[T_CAT_B].slice_start, 8);
    assert_int_equal(t[T_FLAT].root, T_MAX);
    assert_true(t[T_FLAT].dense);
    assert_memory_equal(t[T_FLAT].strides, ((int64_t[]){96, 1}), 16);
    assert_int_equal(t[T_MAX].last, N_LINEAR);
    assert_true(t[T_X].is_input);
    assert_int_equal(t[T_X].first, -1);
    assert_int_equal(t[T_X].last, N_COPY);
    assert_true(t[T_PROB].is_output);
    assert_int_equal(t[T_PROB].last, N_COUNT);
    assert_int_equal(t[T_LIN_W].weight, W_LIN);
    maker_free(&file);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_vectors),
        cmocka_unit_test(sha256_million),
        cmocka_unit_test(sha256_pieces),
        cmocka_unit_test(report_formats),
        cmocka_unit_test(report_cuts),
        cmocka_unit_test(report_tames_names),
        cmocka_unit_test(names),
        cmocka_unit_test(numel_limits),
        cmocka_unit_test(weight_bytes),
        cmocka_unit_test(weight_bytes_overflow),
        cmocka_unit_test(header_rules),
        cmocka_unit_test(header_is_enough_to_fail),
        cmocka_unit_test(digest_is_checked),
        cmocka_unit_test(header_must_not_change),
        cmocka_unit_test(verifier_by_hand),
        cmocka_unit_test(verifier_depth),
        cmocka_unit_test(verifier_visits),
        cmocka_unit_test(every_bit_flipped),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(builder_limits),
        cmocka_unit_test(resolved_tensors),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
