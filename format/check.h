/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: the one gate between a file's bytes and everything else. Total (every rule of
 * format/FORMAT.md), linear in the file's metadata, bounded stack, no memory of its own. It also
 * leaves behind what it had to compute anyway: the resolved tensors. */
#ifndef IPEX_FORMAT_CHECK_H
#define IPEX_FORMAT_CHECK_H

#include "format/base.h"
#include "format/model_fb.h" /* generated from format/model.fbs */

/* While the format version is 0 it is not frozen: the writer version is raised with every change,
 * and only builds of the same writer version read a file. */
#define IPEX_FORMAT_VERSION 0
#define IPEX_WRITER_VERSION 16

#define IPEX_HEADER_SIZE   128
#define IPEX_SECTION_ALIGN 65536
#define IPEX_CHUNK_BYTES   (1u << 20) /* of chunk_digests */

/* The format's limits. */
#define IPEX_FILE_MAX      (UINT64_C(1) << 48) /* bytes */
#define IPEX_METADATA_MAX  (64u << 20)         /* bytes, header included */
#define IPEX_SECTIONS_MAX  4096
#define IPEX_WEIGHTS_MAX   65536
#define IPEX_ENTRIES_MAX   256
#define IPEX_TENSORS_MAX   65536 /* of one entry */
#define IPEX_NODES_MAX     65536 /* of one entry */
#define IPEX_PORTS_MAX     256   /* inputs of one entry, and outputs */
#define IPEX_PORT_NAME_MAX 256   /* bytes; entry names too */
#define IPEX_TEXT_MAX      4096  /* bytes of any other string ... */
#define IPEX_LONG_TEXT_MAX 65536 /* ... but node names, options, ledger texts, metadata values */
#define IPEX_OUTPUTS_MAX   3     /* of one node */
#define IPEX_LIVE_MAX      1024  /* storages alive at one node */
#define IPEX_HALO_MAX      1024  /* rows or columns on one side */
#define IPEX_WINDOW_MAX    65535 /* kernel, stride, dilation, pad of a pool or convolution */

/* The header as read from a file, first rules checked. */
struct ipex_header {
    uint64_t file_size, metadata_size;
    uint64_t required_features, optional_features;
    uint32_t entries, tensors; /* tensors: of all entries together */
    uint32_t dynamic_tensors;  /* of that entry with symbols which has most; 0: none has symbols */
    uint8_t digest[32];
};

/* A tensor of an entry, resolved: what follows from dims, halos and views. */
struct ipex_tensor_info {
    int32_t root;   /* the tensor whose storage this one uses (itself where it is no view) */
    int32_t weight; /* Model.weights, or -1 */
    int32_t first;  /* of a root: node that first writes any part of it; -1 for an entry input */
    int32_t last;   /* of a root: node that last reads or writes any part of it, be it through a
                     * view; the node count for an entry output; -1 for an input nobody reads */
    uint8_t dtype, rank;
    bool dense;               /* row-major without gaps */
    bool is_input, is_output; /* of a root: it or a view of it is a port */
    uint16_t halo[4];         /* top left bottom right */
    uint8_t halo_value;       /* of u8: the bytes in it */
    int64_t dims[IPEX_MAX_RANK];
    int64_t strides[IPEX_MAX_RANK]; /* elements */
    int64_t offset;                 /* elements from the storage's first to element (0, ..., 0) */
    int64_t storage;                /* of a root: elements of its storage, halo included */
    int8_t slice_axis;   /* of a view made of slices only: the root's axis that is cut; -1: all of
                          * the root; -2: any other view */
    int64_t slice_start; /* where on that axis */
    int32_t order;       /* used while checking */
    int64_t tally;       /* used while checking: writers, elements, lives */
};

/* Reads and checks the first IPEX_HEADER_SIZE bytes. actual_size: of the file. */
IPEX_WARN_UNUSED enum ipex_status ipex_check_header(const void *bytes, uint64_t actual_size,
                                                    struct ipex_header *ret,
                                                    const struct ipex_report *report);

/* Checks header + metadata (metadata_size bytes, 64-byte aligned, a private copy) against digest,
 * schema and every rule; entries with symbols with all of them at their lowest, and at their
 * highest. `tensors`: room for header->tensors, filled entry after entry in order, with the symbols
 * at their highest. */
IPEX_WARN_UNUSED enum ipex_status ipex_check(const void *metadata, const struct ipex_header *header,
                                             struct ipex_tensor_info *tensors,
                                             struct ipex_fb_model *ret_model,
                                             const struct ipex_report *report);

/* Checks an entry of a checked model once more, with these values of its symbols (which must lie in
 * their ranges), and resolves its tensors. Linear (n log n for slices), no memory; 12 KiB of stack.
 * Any ERROR_MODEL_*: at values between the ends of their ranges, expressions may still overflow and
 * shapes not fit. */
IPEX_WARN_UNUSED enum ipex_status ipex_check_entry_at(struct ipex_fb_model model, uint32_t entry,
                                                      const int64_t *symbols,
                                                      struct ipex_tensor_info *tensors,
                                                      const struct ipex_report *report);

/* Shape rule of one operator (format/shape.c): given the resolved operands (NULL: absent) checks
 * dtypes, ranks, dims, layouts, attributes and computes the output's dims. Used by the checker
 * (which compares) and by the converter (which believes). layout: of constants; IPEX_LAYOUT_plain
 * for others. ret_output: one per output of the operator (format/ops.inc). Some dims do not follow
 * from attributes (those of a slice): ret_output holds the wanted rank and dims on entry, and they
 * are checked. Output: dtype, rank and dims; the rest zero. Not touched on failure. */
struct ipex_shape_operand {
    uint8_t dtype, rank, layout;
    bool constant;
    uint16_t halo[4];
    int64_t dims[IPEX_MAX_RANK];
};
struct ipex_shape_node {
    uint32_t op;
    uint32_t inputs, ints, floats;
    const struct ipex_shape_operand *input[IPEX_MAX_RANK];
    const int32_t *int_;
    const float *float_;
};
IPEX_WARN_UNUSED enum ipex_status ipex_shape_infer(const struct ipex_shape_node *node,
                                                   struct ipex_shape_operand *ret_output,
                                                   const struct ipex_report *report);

/* Whether a node of a checked entry is a product whose operands are bf16: such nodes compute in a
 * bf16 profile, all others in f32. Operators that only move or cast elements round nothing. */
bool ipex_entry_multiplies_bf16(struct ipex_fb_entry entry);

/* Where data begins: the first section's offset, or the end of the file where there are no
 * sections. Chunk i of chunk_digests is the MiB from here + i MiB on. */
uint64_t ipex_data_begin(uint64_t metadata_size);

/* SHA-256 of the metadata with the header's own digest field taken as zero. */
void ipex_metadata_digest(const void *metadata, uint64_t metadata_size, uint8_t ret[32]);

#endif
