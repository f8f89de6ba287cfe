/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sizes of what the lists of ipex_status.h, ipex_types.h and ops.inc number. */
#include "format/base.h"
#include "format/ipex_types.h"
#include "format/ops.h"

const char *ipex_status_name(enum ipex_status status) {
    switch (status) {
#define NAME(name, value, text)                                                                    \
    case IPEX_##name:                                                                              \
        return #name;
        IPEX_STATUS_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

const char *ipex_status_text(enum ipex_status status) {
    switch (status) {
#define TEXT(name, value, text)                                                                    \
    case IPEX_##name:                                                                              \
        return text;
        IPEX_STATUS_LIST(TEXT)
#undef TEXT
    }
    return "not a status";
}

const char *ipex_dtype_name(enum ipex_dtype dtype) {
    switch (dtype) {
    case IPEX_DTYPE_NONE:
        break;
#define NAME(name, value, size)                                                                    \
    case IPEX_DTYPE_##name:                                                                        \
        return #name;
        IPEX_DTYPE_LIST(NAME)
#undef NAME
    }
    return NULL;
}

unsigned ipex_dtype_size(enum ipex_dtype dtype) {
    switch (dtype) {
    case IPEX_DTYPE_NONE:
        break;
#define SIZE(name, value, size)                                                                    \
    case IPEX_DTYPE_##name:                                                                        \
        return size;
        IPEX_DTYPE_LIST(SIZE)
#undef SIZE
    }
    return 0;
}

const char *ipex_isa_name(enum ipex_isa isa) {
    switch (isa) {
    case IPEX_ISA_AUTO:
        break;
#define NAME(name, value)                                                                          \
    case IPEX_ISA_##name:                                                                          \
        return #name;
        IPEX_ISA_LIST(NAME)
#undef NAME
    }
    return NULL;
}

const char *ipex_arithmetic_name(enum ipex_arithmetic arithmetic) {
    switch (arithmetic) {
    case IPEX_ARITHMETIC_AUTO:
        break;
#define NAME(name, value, text)                                                                    \
    case IPEX_ARITHMETIC_##name:                                                                   \
        return text;
        IPEX_ARITHMETIC_LIST(NAME)
#undef NAME
    }
    return NULL;
}

const char *ipex_amx_text(enum ipex_amx_state state) {
    switch (state) {
#define TEXT(name, value, text)                                                                    \
    case IPEX_AMX_##name:                                                                          \
        return text;
        IPEX_AMX_LIST(TEXT)
#undef TEXT
    }
    return NULL;
}

static const struct ipex_op_info ops[] = {
#define IPEX_OP(id, name, min_in, max_in, n_out, n_ints, n_floats)                                 \
    [id] = {#name, min_in, max_in, n_out, n_ints, n_floats},
#include "format/ops.inc"
};

const struct ipex_op_info *ipex_op_info(uint32_t id) {
    if (id >= sizeof ops / sizeof ops[0] || !ops[id].name[0])
        return NULL;
    return &ops[id];
}

bool ipex_numel(const int64_t *dims, unsigned rank, int64_t *ret) {
    int64_t numel = 1;
    if (rank > IPEX_MAX_RANK)
        return false;
    for (unsigned i = 0; i < rank; i++) {
        if (dims[i] < 0 || dims[i] > IPEX_MAX_DIM)
            return false;
        if (__builtin_mul_overflow(numel, dims[i], &numel) || numel > IPEX_MAX_NUMEL)
            return false;
    }
    *ret = numel;
    return true;
}
