/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of an opened file, for the verbs that show or use more than runtime/ipex.h tells:
 * nodes, tensors, weights, ledger, known answers. The library has checked the file; the digest ties
 * what is read here to what it checked. */
#ifndef IPEX_TOOLS_METADATA_H
#define IPEX_TOOLS_METADATA_H

#include "format/check.h"
#include "runtime/ipex.h"
#include "tools/tensor_file.h"

struct ipex_metadata {
    struct ipex_fb_model model;
    void *copy; /* of header and metadata; `model` points into it */
    const uint8_t *file;
    uint64_t file_size;
};

/* Reads the metadata of `path`, which `image` is open on, and maps the file. A message on stderr
 * and false when it cannot be read or has been replaced since. */
bool ipex_metadata_open(struct ipex_metadata *ret, const char *path,
                        const struct ipex_image *image);
void ipex_metadata_close(struct ipex_metadata *metadata);

/* A weight of layout plain as a tensor that points into the map (do not finish it). False for other
 * layouts and no such weight. */
bool ipex_metadata_tensor(const struct ipex_metadata *metadata, int64_t weight,
                          struct ipex_tensor_data *ret);

/* "plain", "channels", "tiles"; "unknown" for others. */
const char *ipex_layout_text(unsigned layout);

#endif
