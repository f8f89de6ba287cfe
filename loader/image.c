/* SPDX-License-Identifier: Apache-2.0 */
/* Loading, in the one order there is: header, copy of the metadata, check, map, data digests if
 * wanted, tables.
 *
 * The caller's memory, every part aligned to 64:  struct ipex_image | struct ipex_image_scratch |
 * entries | resolved tensors of all entries | scratch: tensors and capacities of one entry with
 * symbols | metadata
 *
 * The metadata is checked and used from this private copy, so that whoever can write to the file
 * cannot change it after the check. What is used from the map is data only: never a size, an index
 * or an offset. */
#include "format/check.h"
#include "format/sha256.h"
#include "loader/map.h"

#define PART_ALIGN 64

/* Byte offsets of the parts. */
struct parts {
    uint64_t scratch, entries, tensors, resized, capacities, metadata, size;
};

/* Adds a part of count * size bytes behind the others. */
static bool add_part(struct parts *p, uint64_t count, uint64_t size, uint64_t *ret_begin) {
    uint64_t bytes;
    return ipex_align_u64(p->size, PART_ALIGN, ret_begin) && ipex_mul_u64(count, size, &bytes) &&
           ipex_add_u64(*ret_begin, bytes, &p->size);
}

/* Counts come from a checked header: 2^8 entries, 2^24 tensors, 2^26 bytes of metadata at most. */
static enum ipex_status plan_parts(const struct ipex_header *header, struct parts *ret,
                                   const struct ipex_report *report) {
    struct parts p = {.size = sizeof(struct ipex_image)};
    const uint32_t dynamic = header->dynamic_tensors;
    bool fits = add_part(&p, 1, sizeof(struct ipex_image_scratch), &p.scratch) &&
                add_part(&p, header->entries, sizeof(struct ipex_image_entry), &p.entries) &&
                add_part(&p, header->tensors, sizeof(struct ipex_tensor_info), &p.tensors) &&
                add_part(&p, dynamic, sizeof(struct ipex_tensor_info), &p.resized) &&
                add_part(&p, dynamic, sizeof(int64_t), &p.capacities) &&
                add_part(&p, header->metadata_size, 1, &p.metadata);
    IPEX_CHECK(fits && p.size <= SIZE_MAX && header->file_size <= SIZE_MAX, report,
               IPEX_ERROR_FILE_LIMIT, "the file is too large for this machine's addresses");
    *ret = p;
    return IPEX_OK;
}

static enum ipex_status read_header(const struct ipex_file *file, struct ipex_header *ret,
                                    struct parts *ret_parts, const struct ipex_report *report) {
    uint8_t bytes[IPEX_HEADER_SIZE];
    struct ipex_header header;
    IPEX_TRY(ipex_file_read(file, 0, bytes, sizeof bytes, report));
    IPEX_TRY(ipex_check_header(bytes, file->size, &header, report));
    IPEX_TRY(plan_parts(&header, ret_parts, report));
    *ret = header;
    return IPEX_OK;
}

static bool all_zero(const uint8_t *bytes, uint64_t count) {
    uint8_t seen = 0;
    for (uint64_t i = 0; i < count; i++)
        seen |= bytes[i];
    return seen == 0;
}

/* R81: the padding in front of every section is zero. Sections lie inside the file, in order, at
 * most 64 KiB apart. */
static enum ipex_status verify_gaps(const struct ipex_image *image,
                                    const struct ipex_report *report) {
    const struct ipex_fb_section *sections = ipex_fb_model_sections(image->model);
    uint64_t end = image->metadata_size;
    for (uint32_t i = 0; i < ipex_fb_model_sections_len(image->model); i++) {
        IPEX_CHECK(all_zero(image->file + end, sections[i].offset - end), report,
                   IPEX_ERROR_FILE_SECTION, "the padding before section %u is not zero", i);
        end = sections[i].offset + sections[i].stored;
    }
    return IPEX_OK;
}

/* R80: every chunk has the digest that the metadata states; their number has been checked. */
static enum ipex_status verify_chunks(const struct ipex_image *image,
                                      const struct ipex_report *report) {
    const uint8_t *digests = ipex_fb_model_chunk_digests(image->model);
    uint64_t at = ipex_data_begin(image->metadata_size);
    for (uint32_t i = 0; at < image->file_size; i++) {
        uint64_t left = image->file_size - at;
        uint64_t size = left < IPEX_CHUNK_BYTES ? left : IPEX_CHUNK_BYTES;
        uint8_t digest[IPEX_SHA256_BYTES];
        ipex_sha256(image->file + at, (size_t)size, digest);
        IPEX_CHECK(memcmp(digest, digests + (size_t)i * IPEX_SHA256_BYTES, sizeof digest) == 0,
                   report, IPEX_ERROR_FILE_DIGEST, "data from byte %llu on is damaged",
                   (unsigned long long)at);
        at += size;
    }
    return IPEX_OK;
}

static void fill_entries(struct ipex_image *image, struct ipex_image_entry *entries,
                         const struct ipex_tensor_info *tensors) {
    for (int32_t i = 0; i < image->entries; i++) {
        struct ipex_fb_entry fb = ipex_fb_model_entries(image->model, (uint32_t)i);
        entries[i] = (struct ipex_image_entry){
            .fb = fb,
            .tensors = (int32_t)ipex_fb_entry_tensors_len(fb),
            .nodes = (int32_t)ipex_fb_entry_nodes_len(fb),
            .inputs = (int32_t)ipex_fb_entry_inputs_len(fb),
            .outputs = (int32_t)ipex_fb_entry_outputs_len(fb),
            .tensor = tensors,
        };
        tensors += entries[i].tensors;
    }
    image->entry = entries;
}

static enum ipex_status check_memory(const void *memory, size_t size, uint64_t wanted,
                                     const struct ipex_report *report) {
    IPEX_CHECK(memory && (uintptr_t)memory % PART_ALIGN == 0, report, IPEX_ERROR_MEMORY,
               "the memory is NULL or not aligned to %u bytes", (unsigned)PART_ALIGN);
    IPEX_CHECK(size >= wanted, report, IPEX_ERROR_MEMORY, "%llu bytes of memory instead of %llu",
               (unsigned long long)size, (unsigned long long)wanted);
    return IPEX_OK;
}

/* Everything up to the map; nothing to undo on failure. */
static enum ipex_status read_and_check(const struct ipex_file *file, void *memory, size_t size,
                                       const uint8_t *expect_digest, struct ipex_image **ret,
                                       const struct ipex_report *report) {
    struct ipex_header header;
    struct parts parts = {0};
    IPEX_TRY(read_header(file, &header, &parts, report));
    IPEX_TRY(check_memory(memory, size, parts.size, report));
    IPEX_CHECK(!expect_digest || memcmp(expect_digest, header.digest, sizeof header.digest) == 0,
               report, IPEX_ERROR_FILE_DIGEST, "this is not the file that was expected");
    uint8_t *base = memory;
    struct ipex_image *image = memory;
    struct ipex_tensor_info *tensors = (void *)(base + parts.tensors);
    struct ipex_image_scratch *scratch = (void *)(base + parts.scratch);
    *scratch = (struct ipex_image_scratch){.tensor = (void *)(base + parts.resized),
                                           .capacity = (void *)(base + parts.capacities)};
    *image = (struct ipex_image){.metadata = base + parts.metadata,
                                 .metadata_size = (size_t)header.metadata_size,
                                 .file_size = header.file_size,
                                 .entries = (int32_t)header.entries,
                                 .scratch = scratch};
    memcpy(image->digest, header.digest, sizeof image->digest);
    IPEX_TRY(ipex_file_read(file, 0, base + parts.metadata, image->metadata_size, report));
    IPEX_TRY(ipex_check(image->metadata, &header, tensors, &image->model, report));
    fill_entries(image, (void *)(base + parts.entries), tensors);
    *ret = image;
    return IPEX_OK;
}

static enum ipex_status map_data(struct ipex_image *image, const struct ipex_file *file,
                                 const struct ipex_load_options *options) {
    const struct ipex_report *report = &options->report;
    IPEX_TRY(ipex_file_map(file, options->prefault, &image->file, &image->mapped, report));
    enum ipex_status status = IPEX_OK;
    if (options->verify_data) {
        status = verify_gaps(image, report);
        if (status == IPEX_OK)
            status = verify_chunks(image, report);
    }
    if (status != IPEX_OK)
        ipex_unload(image);
    return status;
}

static const struct ipex_load_options default_options;

enum ipex_status ipex_load_measure(const struct ipex_source *source,
                                   const struct ipex_load_options *options, size_t *ret_size) {
    if (!options)
        options = &default_options;
    struct ipex_file file;
    struct ipex_header header;
    struct parts parts = {0};
    IPEX_TRY(ipex_file_open(source, &file, &options->report));
    enum ipex_status status = read_header(&file, &header, &parts, &options->report);
    ipex_file_close(&file);
    if (status == IPEX_OK)
        *ret_size = (size_t)parts.size;
    else if (source->path)
        return ipex_fail_at(&options->report, status, "%s: ", source->path);
    return status;
}

enum ipex_status ipex_load(const struct ipex_source *source, void *memory, size_t size,
                           const struct ipex_load_options *options, struct ipex_image **ret_image) {
    if (!options)
        options = &default_options;
    struct ipex_file file;
    struct ipex_image *image = NULL;
    IPEX_TRY(ipex_file_open(source, &file, &options->report));
    enum ipex_status status =
        read_and_check(&file, memory, size, options->expect_digest, &image, &options->report);
    if (status == IPEX_OK)
        status = map_data(image, &file, options);
    ipex_file_close(&file);
    if (status == IPEX_OK)
        *ret_image = image;
    else if (source->path)
        return ipex_fail_at(&options->report, status, "%s: ", source->path);
    return status;
}

void ipex_unload(struct ipex_image *image) {
    if (image && image->mapped)
        ipex_file_unmap(image->file, image->file_size);
    if (image)
        image->mapped = false;
}

const void *ipex_image_weight(const struct ipex_image *image, int32_t weight) {
    struct ipex_fb_weight w = ipex_fb_model_weights(image->model, (uint32_t)weight);
    const struct ipex_fb_section *section =
        &ipex_fb_model_sections(image->model)[ipex_fb_weight_section(w)];
    return image->file + section->offset + ipex_fb_weight_offset(w);
}
