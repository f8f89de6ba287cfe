/* SPDX-License-Identifier: Apache-2.0 */
/* C between the C++ of differential.cpp and headers that are C. */
#include "tests/fuzz/verify.h"

#include "format/check.h"
#include "format/model_fb_tables.h"

int verify_metadata(const void *metadata, size_t size) {
    return ipex_fb_verify(&ipex_fb_schema, metadata, (uint32_t)size, IPEX_HEADER_SIZE, NULL) ==
           IPEX_OK;
}
