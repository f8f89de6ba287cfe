/* SPDX-License-Identifier: Apache-2.0 */
/* The checker's container half: header, digest, FlatBuffer, texts, sections, weights, ledger. Rule
 * numbers are those of format/FORMAT.md. */
#include "format/check.h"

#include "format/check_parts.h"
#include "format/model_fb_tables.h"
#include "format/sha256.h"
#include "format/tile.h"

/* Byte offsets in the header (format/FORMAT.md, "Header"). */
enum {
    AT_ROOT = 0,
    AT_IDENTIFIER = 4,
    AT_TAG = 8,
    AT_HEADER_SIZE = 12,
    AT_VERSION = 16,
    AT_WRITER = 20,
    AT_FILE_SIZE = 24,
    AT_METADATA_SIZE = 32,
    AT_REQUIRED = 40,
    AT_OPTIONAL = 48,
    AT_ENTRIES = 56,
    AT_TENSORS = 60,
    AT_DIGEST = 64,
    AT_DYNAMIC_TENSORS = 96,
    AT_RESERVED = 100,
};

static uint64_t load_u64(const uint8_t *p) {
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

uint64_t ipex_data_begin(uint64_t metadata_size) {
    return (metadata_size + IPEX_SECTION_ALIGN - 1) & ~(uint64_t)(IPEX_SECTION_ALIGN - 1);
}

void ipex_metadata_digest(const void *metadata, uint64_t metadata_size, uint8_t ret[32]) {
    static const uint8_t zero[IPEX_SHA256_BYTES];
    const uint8_t *bytes = metadata;
    struct ipex_sha256 hash;
    ipex_sha256_init(&hash);
    ipex_sha256_update(&hash, bytes, AT_DIGEST);
    ipex_sha256_update(&hash, zero, sizeof zero);
    const uint64_t after = AT_DIGEST + sizeof zero;
    ipex_sha256_update(&hash, bytes + after, metadata_size - after);
    ipex_sha256_final(&hash, ret);
}

/* ---- header ---- */

/* R2..R6: what kind of file this is, before anything in it is given a meaning. */
static enum ipex_status check_identity(const uint8_t *p, const struct ipex_report *report) {
    static const uint8_t zero[IPEX_HEADER_SIZE - AT_RESERVED];
    IPEX_CHECK(memcmp(p + AT_IDENTIFIER, "IPEX", 4) == 0 && memcmp(p + AT_TAG, "xh01", 4) == 0,
               report, IPEX_ERROR_FILE_MAGIC, "bytes 4 to 11 are not those of an .ipex file");
    IPEX_CHECK(ipex_fb_u32(p + AT_HEADER_SIZE) == IPEX_HEADER_SIZE, report, IPEX_ERROR_FILE_HEADER,
               "the header states a size of %u bytes instead of %u",
               ipex_fb_u32(p + AT_HEADER_SIZE), (unsigned)IPEX_HEADER_SIZE);
    IPEX_CHECK(ipex_fb_u32(p + AT_VERSION) == IPEX_FORMAT_VERSION &&
                   ipex_fb_u32(p + AT_WRITER) == IPEX_WRITER_VERSION,
               report, IPEX_ERROR_FILE_VERSION,
               "format %u of writer %u; this library reads format %u of writer %u: convert again",
               ipex_fb_u32(p + AT_VERSION), ipex_fb_u32(p + AT_WRITER),
               (unsigned)IPEX_FORMAT_VERSION, (unsigned)IPEX_WRITER_VERSION);
    IPEX_CHECK(load_u64(p + AT_REQUIRED) == 0, report, IPEX_ERROR_FILE_FEATURE,
               "required features %llu are not known to this library",
               (unsigned long long)load_u64(p + AT_REQUIRED));
    IPEX_CHECK(memcmp(p + AT_RESERVED, zero, sizeof zero) == 0, report, IPEX_ERROR_FILE_HEADER,
               "reserved bytes of the header are not zero");
    return IPEX_OK;
}

/* R7..R11: sizes and counts, which measure and the loader build on before the metadata is read. */
static enum ipex_status check_sizes(const struct ipex_header *h, uint32_t root, uint64_t actual,
                                    const struct ipex_report *report) {
    IPEX_CHECK(h->file_size <= IPEX_FILE_MAX && h->metadata_size <= IPEX_METADATA_MAX, report,
               IPEX_ERROR_FILE_LIMIT, "file or metadata size is over the format's limit");
    IPEX_CHECK(h->file_size == actual, report, IPEX_ERROR_FILE_TRUNCATED,
               "the header states %llu bytes, the file has %llu", (unsigned long long)h->file_size,
               (unsigned long long)actual);
    IPEX_CHECK(h->metadata_size > IPEX_HEADER_SIZE && h->metadata_size % 64 == 0 &&
                   h->metadata_size <= h->file_size,
               report, IPEX_ERROR_FILE_HEADER, "a metadata size of %llu bytes is not possible",
               (unsigned long long)h->metadata_size);
    IPEX_CHECK(root >= IPEX_HEADER_SIZE && root % 4 == 0 && root <= h->metadata_size - 4, report,
               IPEX_ERROR_FILE_HEADER, "the root table lies outside the metadata");
    IPEX_CHECK(h->entries >= 1 && h->entries <= IPEX_ENTRIES_MAX, report, IPEX_ERROR_FILE_LIMIT,
               "%u entries; a file has 1 to %u", h->entries, (unsigned)IPEX_ENTRIES_MAX);
    IPEX_CHECK(h->tensors <= h->metadata_size / 16 &&
                   h->tensors <= (uint64_t)h->entries * IPEX_TENSORS_MAX,
               report, IPEX_ERROR_FILE_LIMIT, "%u tensors cannot be described in %llu bytes",
               h->tensors, (unsigned long long)h->metadata_size);
    IPEX_CHECK(h->dynamic_tensors <= h->tensors && h->dynamic_tensors <= IPEX_TENSORS_MAX, report,
               IPEX_ERROR_FILE_LIMIT, "%u tensors of an entry with symbols, of %u",
               h->dynamic_tensors, h->tensors);
    return IPEX_OK;
}

enum ipex_status ipex_check_header(const void *bytes, uint64_t actual_size, struct ipex_header *ret,
                                   const struct ipex_report *report) {
    const uint8_t *p = bytes;
    IPEX_CHECK(actual_size >= IPEX_HEADER_SIZE, report, IPEX_ERROR_FILE_TRUNCATED,
               "%llu bytes are less than a header", (unsigned long long)actual_size); /* R1 */
    IPEX_TRY(check_identity(p, report));
    struct ipex_header header = {
        .file_size = load_u64(p + AT_FILE_SIZE),
        .metadata_size = load_u64(p + AT_METADATA_SIZE),
        .required_features = load_u64(p + AT_REQUIRED),
        .optional_features = load_u64(p + AT_OPTIONAL),
        .entries = ipex_fb_u32(p + AT_ENTRIES),
        .tensors = ipex_fb_u32(p + AT_TENSORS),
        .dynamic_tensors = ipex_fb_u32(p + AT_DYNAMIC_TENSORS),
    };
    memcpy(header.digest, p + AT_DIGEST, sizeof header.digest);
    IPEX_TRY(check_sizes(&header, ipex_fb_u32(p + AT_ROOT), actual_size, report));
    *ret = header;
    return IPEX_OK;
}

/* ---- texts ---- */

/* Length of the UTF-8 sequence at s (0: none there), of which `left` bytes exist. Refuses overlong
 * forms, surrogates and values over U+10FFFF. */
static uint32_t utf8_length(const uint8_t *s, uint32_t left) {
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t length = s[0] < 0x80       ? 1
                      : s[0] >> 5 == 6  ? 2
                      : s[0] >> 4 == 14 ? 3
                      : s[0] >> 3 == 30 ? 4
                                        : 0;
    if (length <= 1)
        return s[0] == 0 ? 0 : length;
    if (length > left)
        return 0;
    uint32_t code = s[0] & (0x7fu >> length);
    for (uint32_t i = 1; i < length; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < smallest[length] || code > 0x10ffff || surrogate ? 0 : length;
}

enum ipex_status ipex_check_text(const char *text, uint32_t length, uint32_t max, const char *what,
                                 const struct ipex_report *report) {
    IPEX_CHECK(length <= max, report, IPEX_ERROR_MODEL_TEXT, "%s of %u bytes; at most %u", what,
               length, max);
    for (uint32_t at = 0, step; at < length; at += step) {
        step = utf8_length((const uint8_t *)text + at, length - at);
        IPEX_CHECK(step > 0, report, IPEX_ERROR_MODEL_TEXT, "%s is not UTF-8 at its byte %u", what,
                   at);
    }
    return IPEX_OK;
}

static enum ipex_status check_site(struct ipex_fb_site site, uint32_t entries,
                                   const struct ipex_report *report) {
    uint32_t max = IPEX_LONG_TEXT_MAX;
    IPEX_TRY(
        ipex_check_text(ipex_fb_site_site(site), ipex_fb_site_site_len(site), max, "site", report));
    IPEX_TRY(
        ipex_check_text(ipex_fb_site_pass(site), ipex_fb_site_pass_len(site), max, "pass", report));
    IPEX_TRY(ipex_check_text(ipex_fb_site_reason(site), ipex_fb_site_reason_len(site), max,
                             "reason", report));
    IPEX_TRY(
        ipex_check_text(ipex_fb_site_text(site), ipex_fb_site_text_len(site), max, "text", report));
    IPEX_CHECK(ipex_fb_site_entry(site) < entries, report, IPEX_ERROR_MODEL_TEXT,
               "entry %u does not exist", ipex_fb_site_entry(site));
    IPEX_CHECK(ipex_fb_site_applied(site) == (ipex_fb_site_reason_len(site) == 0), report,
               IPEX_ERROR_MODEL_TEXT, "applied with a reason against it, or not and without one");
    return IPEX_OK;
}

/* R21, R22: the model's own texts, the ledger, the source's metadata. */
static enum ipex_status check_texts(struct ipex_fb_model m, const struct ipex_report *report) {
    IPEX_TRY(ipex_check_text(ipex_fb_model_producer(m), ipex_fb_model_producer_len(m),
                             IPEX_TEXT_MAX, "producer", report));
    IPEX_TRY(ipex_check_text(ipex_fb_model_source(m), ipex_fb_model_source_len(m), IPEX_TEXT_MAX,
                             "source", report));
    IPEX_TRY(ipex_check_text(ipex_fb_model_options(m), ipex_fb_model_options_len(m),
                             IPEX_LONG_TEXT_MAX, "options", report));
    for (uint32_t i = 0; i < ipex_fb_model_ledger_len(m); i++) {
        enum ipex_status status =
            check_site(ipex_fb_model_ledger(m, i), ipex_fb_model_entries_len(m), report);
        if (status != IPEX_OK)
            return ipex_fail_at(report, status, "ledger row %u: ", i);
    }
    for (uint32_t i = 0; i < ipex_fb_model_metadata_len(m); i++) {
        struct ipex_fb_pair pair = ipex_fb_model_metadata(m, i);
        IPEX_TRY(ipex_check_text(ipex_fb_pair_key(pair), ipex_fb_pair_key_len(pair), IPEX_TEXT_MAX,
                                 "metadata key", report));
        IPEX_TRY(ipex_check_text(ipex_fb_pair_value(pair), ipex_fb_pair_value_len(pair),
                                 IPEX_LONG_TEXT_MAX, "metadata value", report));
    }
    return IPEX_OK;
}

/* ---- sections and weights ---- */

/* R23..R25: sections follow each other with no more than the padding between them, from the
 * metadata to the end of the file. */
static enum ipex_status check_sections(struct ipex_fb_model m, const struct ipex_header *h,
                                       const struct ipex_report *report) {
    const struct ipex_fb_section *sections = ipex_fb_model_sections(m);
    uint32_t count = ipex_fb_model_sections_len(m);
    uint64_t end = h->metadata_size, begin = 0;
    IPEX_CHECK(count <= IPEX_SECTIONS_MAX, report, IPEX_ERROR_FILE_LIMIT, "%u sections", count);
    for (uint32_t i = 0; i < count; i++) {
        const struct ipex_fb_section *s = &sections[i];
        bool follows = ipex_align_u64(end, IPEX_SECTION_ALIGN, &begin) && s->offset == begin;
        IPEX_CHECK(follows && s->stored > 0 && ipex_range_ok(s->offset, s->stored, h->file_size),
                   report, IPEX_ERROR_FILE_SECTION, "section %u lies wrongly in the file", i);
        IPEX_CHECK(s->codec == 0 && s->raw == s->stored, report, IPEX_ERROR_FILE_SECTION,
                   "section %u: codec %u is unknown or its sizes differ", i, s->codec);
        IPEX_CHECK(s->kind <= 1, report, IPEX_ERROR_FILE_SECTION, "section %u: kind %u is unknown",
                   i, s->kind);
        end = s->offset + s->stored; /* in the file, as just checked */
    }
    IPEX_CHECK(end == h->file_size, report, IPEX_ERROR_FILE_SECTION,
               "the last section ends at byte %llu of %llu", (unsigned long long)end,
               (unsigned long long)h->file_size);
    return IPEX_OK;
}

/* R26: one digest per MiB of data. */
static enum ipex_status check_chunk_count(struct ipex_fb_model m, const struct ipex_header *h,
                                          const struct ipex_report *report) {
    uint64_t begin = ipex_data_begin(h->metadata_size);
    uint64_t data = h->file_size > begin ? h->file_size - begin : 0;
    uint64_t chunks = data / IPEX_CHUNK_BYTES + (data % IPEX_CHUNK_BYTES != 0);
    uint32_t stated = ipex_fb_model_chunk_digests_len(m);
    IPEX_CHECK(stated % IPEX_SHA256_BYTES == 0 && stated / IPEX_SHA256_BYTES == chunks, report,
               IPEX_ERROR_FILE_SECTION, "%u bytes of digests for %llu chunks of data", stated,
               (unsigned long long)chunks);
    return IPEX_OK;
}

uint32_t ipex_weight_kind(struct ipex_fb_model model, struct ipex_fb_weight weight) {
    return ipex_fb_model_sections(model)[ipex_fb_weight_section(weight)].kind;
}

bool ipex_weight_matches(struct ipex_fb_weight weight, uint8_t dtype, const int64_t *dims,
                         unsigned rank) {
    return ipex_fb_weight_dtype(weight) == dtype && ipex_fb_weight_dims_len(weight) == rank &&
           (rank == 0 || memcmp(ipex_fb_weight_dims(weight), dims, rank * sizeof *dims) == 0);
}

/* R28, R29: the bytes that dtype, layout and dims take, no more and no less, lie aligned inside a
 * section. */
static enum ipex_status check_weight(struct ipex_fb_model m, struct ipex_fb_weight w,
                                     const struct ipex_report *report) {
    uint32_t rank = ipex_fb_weight_dims_len(w), section = ipex_fb_weight_section(w);
    uint64_t offset = ipex_fb_weight_offset(w);
    int64_t bytes = 0;
    IPEX_TRY(ipex_check_text(ipex_fb_weight_name(w), ipex_fb_weight_name_len(w), IPEX_TEXT_MAX,
                             "name", report));
    IPEX_CHECK(rank <= IPEX_MAX_RANK, report, IPEX_ERROR_MODEL_WEIGHT, "rank %u", rank);
    IPEX_CHECK(ipex_weight_bytes(ipex_fb_weight_dtype(w), ipex_fb_weight_layout(w),
                                 ipex_fb_weight_dims(w), rank, &bytes),
               report, IPEX_ERROR_MODEL_WEIGHT, "dtype %u, layout %u and dims do not fit together",
               (unsigned)ipex_fb_weight_dtype(w), (unsigned)ipex_fb_weight_layout(w));
    IPEX_CHECK((uint64_t)bytes == ipex_fb_weight_bytes(w), report, IPEX_ERROR_MODEL_WEIGHT,
               "%llu bytes instead of %lld", (unsigned long long)ipex_fb_weight_bytes(w),
               (long long)bytes);
    IPEX_CHECK(section < ipex_fb_model_sections_len(m), report, IPEX_ERROR_MODEL_WEIGHT,
               "section %u does not exist", section);
    uint64_t align =
        ipex_fb_weight_layout(w) == IPEX_LAYOUT_tiles ? IPEX_TILE_BYTES : IPEX_WEIGHT_ALIGN;
    IPEX_CHECK(offset % align == 0 &&
                   ipex_range_ok(offset, (uint64_t)bytes, ipex_fb_model_sections(m)[section].raw),
               report, IPEX_ERROR_MODEL_WEIGHT, "not aligned, or not inside section %u", section);
    return IPEX_OK;
}

static enum ipex_status check_weights(struct ipex_fb_model m, const struct ipex_report *report) {
    uint32_t count = ipex_fb_model_weights_len(m);
    IPEX_CHECK(count <= IPEX_WEIGHTS_MAX, report, IPEX_ERROR_FILE_LIMIT, "%u weights",
               count); /* R27 */
    for (uint32_t i = 0; i < count; i++) {
        struct ipex_fb_weight w = ipex_fb_model_weights(m, i);
        enum ipex_status status = check_weight(m, w, report);
        if (status != IPEX_OK)
            return ipex_fail_at(report, status, "weight %u '%s': ", i, ipex_fb_weight_name(w));
    }
    return IPEX_OK;
}

/* ---- entries ---- */

/* R30: names are unique. Entries are few, so every pair is compared. */
static enum ipex_status check_entry_name(struct ipex_fb_model m, uint32_t index,
                                         const struct ipex_report *report) {
    struct ipex_fb_entry entry = ipex_fb_model_entries(m, index);
    const char *name = ipex_fb_entry_name(entry);
    uint32_t length = ipex_fb_entry_name_len(entry);
    IPEX_TRY(ipex_check_text(name, length, IPEX_PORT_NAME_MAX, "name", report));
    IPEX_CHECK(length > 0, report, IPEX_ERROR_MODEL_ENTRY, "an entry has no name");
    for (uint32_t i = 0; i < index; i++) {
        struct ipex_fb_entry other = ipex_fb_model_entries(m, i);
        IPEX_CHECK(ipex_fb_entry_name_len(other) != length ||
                       memcmp(ipex_fb_entry_name(other), name, length) != 0,
                   report, IPEX_ERROR_MODEL_ENTRY, "entry %u has the same name", i);
    }
    return IPEX_OK;
}

/* R16: the counts are those of the header, by which the caller's memory was sized. */
static enum ipex_status check_counts(struct ipex_fb_model m, const struct ipex_header *h,
                                     const struct ipex_report *report) {
    uint64_t tensors = 0;
    uint32_t dynamic = 0;
    IPEX_CHECK(ipex_fb_model_entries_len(m) == h->entries, report, IPEX_ERROR_FILE_HEADER,
               "%u entries, but the header says %u", ipex_fb_model_entries_len(m), h->entries);
    for (uint32_t i = 0; i < h->entries; i++) {
        struct ipex_fb_entry entry = ipex_fb_model_entries(m, i);
        uint32_t nodes = ipex_fb_entry_nodes_len(entry), own = ipex_fb_entry_tensors_len(entry);
        IPEX_CHECK(own <= IPEX_TENSORS_MAX && nodes <= IPEX_NODES_MAX, report,
                   IPEX_ERROR_FILE_LIMIT, "entry %u: %u tensors and %u nodes", i, own, nodes);
        tensors += own; /* 2^8 * 2^16 at most */
        if (ipex_fb_entry_symbols_len(entry) > 0 && dynamic < own)
            dynamic = own;
    }
    IPEX_CHECK(tensors == h->tensors, report, IPEX_ERROR_FILE_HEADER,
               "%llu tensors, but the header says %u", (unsigned long long)tensors, h->tensors);
    IPEX_CHECK(dynamic == h->dynamic_tensors, report, IPEX_ERROR_FILE_HEADER,
               "%u tensors of an entry with symbols, but the header says %u", dynamic,
               h->dynamic_tensors);
    return IPEX_OK;
}

static struct ipex_checked_entry begin_entry(struct ipex_fb_model m, uint32_t index,
                                             struct ipex_tensor_info *tensors,
                                             struct ipex_dim_values *values,
                                             const struct ipex_report *report) {
    struct ipex_fb_entry fb = ipex_fb_model_entries(m, index);
    return (struct ipex_checked_entry){.model = m,
                                       .fb = fb,
                                       .tensor = tensors,
                                       .tensors = (int32_t)ipex_fb_entry_tensors_len(fb),
                                       .nodes = (int32_t)ipex_fb_entry_nodes_len(fb),
                                       .values = values,
                                       .report = report};
}

/* An entry with its symbols at one end of their ranges. */
static enum ipex_status check_at(struct ipex_checked_entry *entry, struct ipex_dim_values *values,
                                 const int64_t *symbols) {
    IPEX_TRY(ipex_dims_evaluate(entry->fb, symbols, values, entry->report));
    IPEX_TRY(ipex_check_entry_dims(entry));
    return ipex_dims_check_inputs(entry->fb, symbols, values, entry->report);
}

/* At the lowest values of the symbols and at the highest, which are what stays in the table. */
static enum ipex_status check_entry(struct ipex_checked_entry *entry,
                                    struct ipex_dim_values *values) {
    int64_t symbols[IPEX_SYMBOLS_MAX];
    IPEX_TRY(ipex_check_entry_records(entry));
    if (ipex_fb_entry_symbols_len(entry->fb) > 0) {
        ipex_dims_lowest(entry->fb, symbols);
        enum ipex_status status = check_at(entry, values, symbols);
        if (status != IPEX_OK)
            return ipex_fail_at(entry->report, status, "with the lowest symbols, ");
        entry->again = true;
    }
    ipex_dims_highest(entry->fb, symbols);
    IPEX_TRY(check_at(entry, values, symbols));
    return ipex_check_answers(entry);
}

static enum ipex_status check_entries(struct ipex_fb_model m, struct ipex_tensor_info *tensors,
                                      const struct ipex_report *report) {
    struct ipex_dim_values values;
    for (uint32_t i = 0; i < ipex_fb_model_entries_len(m); i++) {
        struct ipex_checked_entry entry = begin_entry(m, i, tensors, &values, report);
        enum ipex_status status = check_entry_name(m, i, report);
        if (status == IPEX_OK)
            status = check_entry(&entry, &values);
        if (status != IPEX_OK)
            return ipex_fail_at(report, status, "entry %u '%s', ", i, ipex_fb_entry_name(entry.fb));
        tensors += entry.tensors;
    }
    return IPEX_OK;
}

enum ipex_status ipex_check_entry_at(struct ipex_fb_model model, uint32_t entry,
                                     const int64_t *symbols, struct ipex_tensor_info *tensors,
                                     const struct ipex_report *report) {
    struct ipex_dim_values values;
    struct ipex_checked_entry checked = begin_entry(model, entry, tensors, &values, report);
    checked.again = true;
    IPEX_TRY(ipex_dims_evaluate(checked.fb, symbols, &values, report));
    return ipex_check_entry_dims(&checked);
}

/* The header was read once to size the caller's memory, and again with the metadata: both must say
 * the same (R16). */
static enum ipex_status check_same_header(const void *metadata, const struct ipex_header *header,
                                          const struct ipex_report *report) {
    struct ipex_header again;
    IPEX_TRY(ipex_check_header(metadata, header->file_size, &again, report));
    bool same = again.metadata_size == header->metadata_size && again.entries == header->entries &&
                again.tensors == header->tensors &&
                again.dynamic_tensors == header->dynamic_tensors &&
                memcmp(again.digest, header->digest, sizeof again.digest) == 0;
    IPEX_CHECK(same, report, IPEX_ERROR_FILE_HEADER, "the header changed while it was read");
    return IPEX_OK;
}

enum ipex_status ipex_check(const void *metadata, const struct ipex_header *header,
                            struct ipex_tensor_info *tensors, struct ipex_fb_model *ret_model,
                            const struct ipex_report *report) {
    uint8_t digest[IPEX_SHA256_BYTES];
    IPEX_TRY(check_same_header(metadata, header, report));
    ipex_metadata_digest(metadata, header->metadata_size, digest);
    IPEX_CHECK(memcmp(digest, header->digest, sizeof digest) == 0, report, IPEX_ERROR_FILE_DIGEST,
               "the metadata does not have the digest that the header states"); /* R12 */
    IPEX_TRY(ipex_fb_verify(&ipex_fb_schema, metadata, (uint32_t)header->metadata_size,
                            IPEX_HEADER_SIZE, report)); /* R13..R15 */
    struct ipex_fb_model model = ipex_fb_root(metadata);
    IPEX_TRY(check_counts(model, header, report));
    IPEX_TRY(check_texts(model, report));
    IPEX_TRY(check_sections(model, header, report));
    IPEX_TRY(check_chunk_count(model, header, report));
    IPEX_TRY(check_weights(model, report));
    IPEX_TRY(check_entries(model, tensors, report));
    *ret_model = model;
    return IPEX_OK;
}
