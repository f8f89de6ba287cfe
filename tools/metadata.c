/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata is copied before its digest is compared, so nobody can change it in between. */
#include "tools/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/tile.h"
#include "tools/arena.h"
#include "tools/cli.h"

#define DIGEST_BYTES 32

static bool map_file(struct ipex_metadata *ret, const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *bytes = MAP_FAILED;
    if (fd >= 0 && !fstat(fd, &status) && status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (bytes == MAP_FAILED) {
        ipex_cli_failed("%s: cannot map: %s", path, strerror(error));
        return false;
    }
    ret->file = bytes;
    ret->file_size = (uint64_t)status.st_size;
    return true;
}

/* True when the copy is what the image was opened on. */
static bool copy_metadata(struct ipex_metadata *ret, const struct ipex_image *image) {
    struct ipex_header header;
    uint8_t digest[DIGEST_BYTES];
    if (ret->file_size < IPEX_HEADER_SIZE ||
        ipex_check_header(ret->file, ret->file_size, &header, NULL) != IPEX_OK)
        return false;
    ret->copy = ipex_alloc_aligned(IPEX_MEMORY_ALIGN, header.metadata_size);
    memcpy(ret->copy, ret->file, header.metadata_size);
    ipex_metadata_digest(ret->copy, header.metadata_size, digest);
    return !memcmp(digest, ipex_image_digest(image), DIGEST_BYTES);
}

bool ipex_metadata_open(struct ipex_metadata *ret, const char *path,
                        const struct ipex_image *image) {
    struct ipex_metadata metadata = {0};
    if (!map_file(&metadata, path))
        return false;
    if (!copy_metadata(&metadata, image)) {
        ipex_metadata_close(&metadata);
        ipex_cli_failed("%s: the file was replaced while it was being read", path);
        return false;
    }
    metadata.model = ipex_fb_root(metadata.copy);
    *ret = metadata;
    return true;
}

void ipex_metadata_close(struct ipex_metadata *metadata) {
    if (metadata->file)
        munmap((void *)(uintptr_t)metadata->file, metadata->file_size);
    free(metadata->copy);
    *metadata = (struct ipex_metadata){0};
}

bool ipex_metadata_tensor(const struct ipex_metadata *metadata, int64_t index,
                          struct ipex_tensor_data *ret) {
    if (index < 0 || index >= ipex_fb_model_weights_len(metadata->model))
        return false;
    struct ipex_fb_weight weight = ipex_fb_model_weights(metadata->model, (uint32_t)index);
    if (ipex_fb_weight_layout(weight) != IPEX_LAYOUT_plain)
        return false;
    const struct ipex_fb_section *section =
        ipex_fb_model_sections(metadata->model) + ipex_fb_weight_section(weight);
    *ret = (struct ipex_tensor_data){
        .dtype = ipex_fb_weight_dtype(weight),
        .rank = (int32_t)ipex_fb_weight_dims_len(weight),
        /* the checker has compared these with the file's size */
        .data = (uint8_t *)(uintptr_t)(metadata->file + section->offset +
                                       ipex_fb_weight_offset(weight)),
        .size = ipex_fb_weight_bytes(weight),
    };
    for (int32_t i = 0; i < ret->rank; i++)
        ret->dims[i] = ipex_fb_weight_dims(weight)[i];
    return true;
}

const char *ipex_layout_text(unsigned layout) {
    switch (layout) {
    case IPEX_LAYOUT_plain:
        return "plain";
    case IPEX_LAYOUT_channels:
        return "channels";
    case IPEX_LAYOUT_tiles:
        return "tiles";
    default:
        return "unknown";
    }
}
