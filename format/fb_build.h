/* SPDX-License-Identifier: Apache-2.0 */
/* Building the metadata of a file: FlatBuffers from back to front in a growing buffer. For tools
 * and tests; allocates. The typed helpers in format/model_fb_build.h (generated) are what a writer
 * calls; this is what they stand on.
 *
 *   struct ipex_fb_builder b;
 *   ipex_fb_init(&b);
 *   uint32_t name = ipex_fb_string(&b, "relu_1");           children first: a reference is made
 * from what exists uint32_t dims = ipex_fb_tensor_make_dims(&b, d, 4); ipex_fb_start(&b); then the
 * table, one at a time ipex_fb_tensor_put_name(&b, name);                      fields in any order,
 * each at most once; defaults are left out ipex_fb_tensor_put_dims(&b, dims); uint32_t tensor =
 * ipex_fb_end(&b);
 *   ...
 *   uint8_t *metadata = ipex_fb_finish(&b, model, &size);   then patch what was not known, fill
 * struct ipex_header, ipex_header_seal(metadata, &header);                    seal, write, and
 *   ipex_fb_free(&b);
 *
 * References are distances from the end of the buffer, so they hold while it grows; 0 is "none". A
 * failed allocation is remembered: every call goes on harmlessly and ipex_fb_finish returns NULL.
 * Same calls, same bytes. */
#ifndef IPEX_FORMAT_FB_BUILD_H
#define IPEX_FORMAT_FB_BUILD_H

#include "format/check.h"

#define IPEX_FB_BUILD_FIELDS  32 /* of one table */
#define IPEX_FB_BUILD_VTABLES 64 /* distinct ones remembered for sharing */

struct ipex_fb_builder {
    uint8_t *buffer;
    uint32_t capacity, used; /* the last `used` bytes of the buffer are filled */
    bool failed;
    uint32_t table_end;                   /* `used` when the table was begun */
    uint32_t field[IPEX_FB_BUILD_FIELDS]; /* reference to the field's bytes, 0 when left out */
    uint32_t fields;
    uint32_t vtable[IPEX_FB_BUILD_VTABLES];
    uint32_t vtables;
};

void ipex_fb_init(struct ipex_fb_builder *b);
void ipex_fb_free(struct ipex_fb_builder *b);

/* A string, which must be UTF-8 without NUL (the checker looks). */
uint32_t ipex_fb_string(struct ipex_fb_builder *b, const char *text);
uint32_t ipex_fb_string_n(struct ipex_fb_builder *b, const char *text, size_t length);

/* A vector of `count` scalars or structs of `size` bytes each; none (0) where count is 0. */
uint32_t ipex_fb_vector(struct ipex_fb_builder *b, const void *elements, uint32_t count,
                        uint32_t size, uint32_t align);

/* A vector of references to tables or strings; none (0) where count is 0. */
uint32_t ipex_fb_refs(struct ipex_fb_builder *b, const uint32_t *refs, uint32_t count);

/* A table: start, puts, end. */
void ipex_fb_start(struct ipex_fb_builder *b);
void ipex_fb_put(struct ipex_fb_builder *b, unsigned id, const void *scalar, uint32_t size);
void ipex_fb_put_ref(struct ipex_fb_builder *b, unsigned id, uint32_t ref);
uint32_t ipex_fb_end(struct ipex_fb_builder *b);

/* Ends the buffer: the root's offset, the identifier and room for the header in front, a multiple
 * of 64 bytes in all. Returns the first byte, which the builder owns; NULL when memory ran out or
 * the metadata is over IPEX_METADATA_MAX. */
uint8_t *ipex_fb_finish(struct ipex_fb_builder *b, uint32_t root, uint32_t *ret_size);

/* First element of a vector in a finished buffer, to patch section offsets and digests once they
 * are known. */
void *ipex_fb_patch(struct ipex_fb_builder *b, uint32_t vector);

/* Writes the header's fields into finished metadata (dynamic_tensors is counted here), then the
 * digest over all of it, into the metadata and into header->digest. */
void ipex_header_seal(uint8_t *metadata, struct ipex_header *header);

#endif
