/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabularies that a file, a session and a kernel share: element types, instruction-set
 * levels, arithmetic profiles, whether AMX may be used. Values (but the last's) are stored in files
 * and never change. */
#ifndef IPEX_TYPES_H
#define IPEX_TYPES_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, bytes per element) */
#define IPEX_DTYPE_LIST(X)                                                                         \
    X(f32, 1, 4)                                                                                   \
    X(bf16, 2, 2)                                                                                  \
    X(f16, 3, 2)                                                                                   \
    X(i8, 4, 1)                                                                                    \
    X(u8, 5, 1)                                                                                    \
    X(i32, 6, 4)                                                                                   \
    X(i64, 7, 8)                                                                                   \
    X(bool, 8, 1)                                                                                  \
    X(f64, 9, 8)

enum ipex_dtype {
    IPEX_DTYPE_NONE = 0,
#define IPEX_DTYPE_ENUM(name, value, size) IPEX_DTYPE_##name = value,
    IPEX_DTYPE_LIST(IPEX_DTYPE_ENUM)
#undef IPEX_DTYPE_ENUM
};

/* Ordered: each level has everything of the levels before it that share its family (see
 * ipex_isa_detect). */
#define IPEX_ISA_LIST(X)                                                                           \
    X(reference, 1)                                                                                \
    X(avx2, 2)                                                                                     \
    X(avx_vnni, 3)                                                                                 \
    X(avx512, 4)                                                                                   \
    X(avx512_vnni, 5)                                                                              \
    X(avx512_bf16, 6)                                                                              \
    X(amx, 7)

enum ipex_isa {
    IPEX_ISA_AUTO = 0, /* the best that this machine has */
#define IPEX_ISA_ENUM(name, value) IPEX_ISA_##name = value,
    IPEX_ISA_LIST(IPEX_ISA_ENUM)
#undef IPEX_ISA_ENUM
};

#define IPEX_ARITHMETIC_LIST(X)                                                                    \
    X(f32, 1, "f32")                                                                               \
    X(bf16_dp, 2, "bf16-dp")                                                                       \
    X(bf16_amx, 3, "bf16-amx")

enum ipex_arithmetic {
    IPEX_ARITHMETIC_AUTO = 0, /* the file's pin, else the fastest native one */
#define IPEX_ARITHMETIC_ENUM(name, value, text) IPEX_ARITHMETIC_##name = value,
    IPEX_ARITHMETIC_LIST(IPEX_ARITHMETIC_ENUM)
#undef IPEX_ARITHMETIC_ENUM
};

/* Whether a process can use the tiles of AMX. X(name, value, sentence) */
#define IPEX_AMX_LIST(X)                                                                           \
    X(permitted, 1, "the process may use AMX")                                                     \
    X(absent, 2, "the CPU has no AMX, or a hypervisor hides it")                                   \
    X(no_state, 3, "the operating system does not save the registers of AMX")                      \
    X(not_requested, 4, "permission to use AMX has not been requested")                            \
    X(refused, 5, "the operating system refuses permission to use AMX")

enum ipex_amx_state {
#define IPEX_AMX_ENUM(name, value, text) IPEX_AMX_##name = value,
    IPEX_AMX_LIST(IPEX_AMX_ENUM)
#undef IPEX_AMX_ENUM
};

/* Names as in the lists above ("f32", "avx512", "bf16-dp"); NULL for a value that is none of them.
 */
const char *ipex_dtype_name(enum ipex_dtype dtype);
const char *ipex_isa_name(enum ipex_isa isa);
const char *ipex_arithmetic_name(enum ipex_arithmetic arithmetic);
const char *ipex_amx_text(enum ipex_amx_state state); /* the sentence */

/* Bytes of one element; 0 for a value that is no dtype. */
unsigned ipex_dtype_size(enum ipex_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
