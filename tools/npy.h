/* SPDX-License-Identifier: Apache-2.0 */
/* The header of NumPy's .npy files, versions 1 to 3: parsed from bytes and made into bytes. No
 * input or output here. */
#ifndef IPEX_TOOLS_NPY_H
#define IPEX_TOOLS_NPY_H

#include "format/base.h"
#include "format/ipex_types.h"

/* The longest header that ipex_npy_format makes. */
#define IPEX_NPY_HEADER_MAX 384

struct ipex_npy {
    enum ipex_dtype dtype;
    bool fortran_order; /* elements lie column-major */
    int32_t rank;
    int64_t dims[IPEX_MAX_RANK];
    uint64_t data_offset; /* bytes from the start of the file */
    uint64_t data_size;   /* bytes; lies within the file */
};

bool ipex_npy_is(const void *bytes, uint64_t size);

/* Parses a whole file. ERROR_FILE_METADATA, ERROR_DTYPE (big-endian or unknown elements),
 * ERROR_SHAPE (over the limits of format/base.h), ERROR_FILE_TRUNCATED; messages do not name the
 * file. */
IPEX_WARN_UNUSED enum ipex_status ipex_npy_parse(const void *bytes, uint64_t size,
                                                 struct ipex_npy *ret,
                                                 const struct ipex_report *report);

/* The header of a C-order array of these dims, a multiple of 64 bytes. Returns its length; 0 when
 * NumPy has no such dtype (bf16). */
size_t ipex_npy_format(enum ipex_dtype dtype, const int64_t *dims, int32_t rank,
                       char ret[IPEX_NPY_HEADER_MAX]);

#endif
