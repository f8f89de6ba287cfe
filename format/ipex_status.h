/* SPDX-License-Identifier: Apache-2.0 */
/* Every way a call can end. Grouped by decade; values never change once released. */
#ifndef IPEX_STATUS_H
#define IPEX_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, sentence) */
#define IPEX_STATUS_LIST(X)                                                                        \
    X(OK, 0, "success")                                                                            \
    /* the call */                                                                                 \
    X(ERROR_ARGUMENT, 10, "an argument is not valid")                                              \
    X(ERROR_MEMORY, 11, "the memory given by the caller is too small or not aligned")              \
    X(ERROR_SHAPE, 12, "a tensor has the wrong shape")                                             \
    X(ERROR_DTYPE, 13, "a tensor has the wrong data type")                                         \
    X(ERROR_NOT_FOUND, 14, "no entry or tensor has that name")                                     \
    X(ERROR_ISA, 15, "the instruction set level is not available on this machine")                 \
    X(ERROR_ARITHMETIC, 16, "the arithmetic profile is not available")                             \
    X(ERROR_CANCELLED, 17, "the run was cancelled")                                                \
    X(ERROR_DEADLINE, 18, "the run passed its deadline")                                           \
    X(ERROR_SYSTEM, 19, "the operating system refused a request")                                  \
    /* the file as a container */                                                                  \
    X(ERROR_FILE_IO, 20, "the file cannot be opened, read or mapped")                              \
    X(ERROR_FILE_TRUNCATED, 21, "the file is shorter or longer than its header says")              \
    X(ERROR_FILE_MAGIC, 22, "this is not an .ipex file")                                           \
    X(ERROR_FILE_VERSION, 23, "the file was written for another format version")                   \
    X(ERROR_FILE_FEATURE, 24, "the file needs a feature that this library does not have")          \
    X(ERROR_FILE_HEADER, 25, "the header is damaged")                                              \
    X(ERROR_FILE_DIGEST, 26, "a digest does not match: the file is damaged or not the one pinned") \
    X(ERROR_FILE_METADATA, 27, "the metadata is not a well-formed FlatBuffer of this schema")      \
    X(ERROR_FILE_SECTION, 28, "a section lies wrongly in the file")                                \
    X(ERROR_FILE_LIMIT, 29, "a count or a size is over the format's limits")                       \
    /* the model inside */                                                                         \
    X(ERROR_MODEL_TENSOR, 30, "a tensor record is not valid")                                      \
    X(ERROR_MODEL_WEIGHT, 31, "a weight record is not valid")                                      \
    X(ERROR_MODEL_OPERATOR, 32, "an operator is unknown or has the wrong operands")                \
    X(ERROR_MODEL_ATTRIBUTE, 33, "an operator attribute is not valid")                             \
    X(ERROR_MODEL_SHAPE, 34, "an operator's shapes do not fit together")                           \
    X(ERROR_MODEL_ORDER, 35, "a tensor is used before it is written, or written twice")            \
    X(ERROR_MODEL_ENTRY, 36, "an entry is not valid")                                              \
    X(ERROR_MODEL_VIEW, 37, "a view does not lie inside its parent")                               \
    X(ERROR_MODEL_ANSWER, 38, "a known answer is not valid")                                       \
    X(ERROR_MODEL_TEXT, 39, "a string or a ledger row is not valid")

enum ipex_status {
#define IPEX_STATUS_ENUM(name, value, text) IPEX_##name = value,
    IPEX_STATUS_LIST(IPEX_STATUS_ENUM)
#undef IPEX_STATUS_ENUM
};

#if defined(__GNUC__)
#define IPEX_WARN_UNUSED __attribute__((warn_unused_result))
#else
#define IPEX_WARN_UNUSED
#endif

/* The status as a word ("ERROR_SHAPE") and as a sentence. Static strings, never NULL. */
const char *ipex_status_name(enum ipex_status status);
const char *ipex_status_text(enum ipex_status status);

#ifdef __cplusplus
}
#endif
#endif
