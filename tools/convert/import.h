/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX model -> graph. One small function per ONNX operator, in tables (import_nn.c,
 * import_pointwise.c, import_move.c); integer shape arithmetic on constants is evaluated on the way
 * (symbolic.c). Import never stops at the first thing it cannot do: it lists them all. */
#ifndef IPEX_TOOLS_IMPORT_H
#define IPEX_TOOLS_IMPORT_H

#include "tools/convert/graph.h"
#include "tools/convert/onnx_read.h"
#include "tools/name_table.h"
#include "tools/tensor_file.h"

/* Given on the command line: --dim NAME=N, NAME=LO..HI[:STEP] or NAME=OTHER, --input NAME=AxBxC. */
struct ipex_dim_option {
    const char *name;
    const char *same;     /* the dim of this name has its size; NULL: a range */
    int64_t lo, hi, step; /* lo and hi are multiples of step; equal: a number */
    bool used;
    bool shared; /* given for several graphs: nothing is wrong when this one does not use it */
};
struct ipex_shape_option {
    const char *name;
    int32_t rank;
    int64_t dims[IPEX_MAX_RANK];
    bool used, shared; /* as above */
};
/* --const NAME=VALUE|FILE.npy */
struct ipex_const_option {
    const char *name, *text;        /* text: a number, or the file's path */
    bool is_file, used, shared;     /* as above */
    struct ipex_tensor_data tensor; /* of the file */
};
/* --image NAME=u8,mean=M,...,std=S,...,order=bgr */
#define IPEX_IMAGE_CHANNELS 4
struct ipex_image_option {
    const char *name;
    int32_t means, stds; /* 0: not given, 1: for all channels */
    double mean[IPEX_IMAGE_CHANNELS], std[IPEX_IMAGE_CHANNELS]; /* in the model's channel order */
    bool has_order, reversed; /* the pixels' channels are the model's from last to first */
    bool shared, used;
};
struct ipex_import_options {
    struct ipex_image_option *image;
    size_t images;
    struct ipex_const_option *constant;
    size_t constants;
    const char *prefix; /* of names in flags to paste: "detect:"; NULL: none */
    struct ipex_dim_option *dim;
    size_t dims;
    struct ipex_shape_option *shape;
    size_t shapes;
    bool every_site; /* what cannot be converted is listed node by node, also where many share one
                        reason */
};

struct ipex_unsupported {
    const char *node, *op, *reason;
    bool said; /* of values without elements: it is in the list */
};

struct ipex_import {
    struct ipex_graph *graph;
    const struct ipex_onnx_model *model;
    const struct ipex_onnx_node *node; /* the one being imported */
    const char *label;                 /* its name, or its first output's */
    struct ipex_name_table names;      /* of the values computed so far; pointers to them */
    struct ipex_name_table symbols;    /* of the inputs' dims; pointers to these */
    struct ipex_name_table declared;   /* what the model says of values; import_refused.c */
    struct ipex_unsupported *unsupported;
    size_t unsupported_count, unsupported_capacity;
    const char *notes;                     /* lines for the person: what was assumed */
    size_t shape_folds;                    /* nodes of shape arithmetic evaluated */
    size_t unrolled;                       /* nodes of all iterations; import_loop.c */
    size_t half_constants, half_casts;     /* import_half.c */
    size_t double_constants, double_casts; /* import_double.c */
};

typedef void (*ipex_import_fn)(struct ipex_import *import);
struct ipex_import_op {
    const char *op_type;
    ipex_import_fn fn;
};
extern const struct ipex_import_op ipex_import_nn[], ipex_import_window[], ipex_import_pointwise[],
    ipex_import_move[], ipex_import_tensor[], ipex_import_resize[], ipex_import_transposed[],
    ipex_import_norm[], ipex_import_order[], ipex_import_padding[], ipex_import_recurrent[],
    ipex_import_lengths[], ipex_import_lists[], ipex_import_math[], ipex_import_reduce[],
    ipex_import_index[], ipex_import_loss[], ipex_import_quantized[], ipex_import_integer[],
    ipex_import_qlinear[], ipex_import_attention[], ipex_import_scatter[], ipex_import_einsum[],
    ipex_import_grid[], ipex_import_blocks[], ipex_import_signal[], ipex_import_rotary[],
    ipex_import_state[];
/* ... of the domain com.microsoft */
extern const struct ipex_import_op ipex_import_contrib[], ipex_import_contrib_norm[],
    ipex_import_contrib_attention[], ipex_import_contrib_groups[], ipex_import_contrib_qlinear[],
    ipex_import_nbits[], ipex_import_contrib_rotary[];

enum ipex_import_result { IPEX_IMPORT_OK, IPEX_IMPORT_FAILED, IPEX_IMPORT_USAGE };

/* Fills the graph. On FAILED (something cannot be converted) and USAGE (dims missing or
 * contradictory) *ret_message is the full text for the person, in the graph's arena. */
enum ipex_import_result ipex_import_model(const struct ipex_onnx_model *model,
                                          struct ipex_import_options *options,
                                          struct ipex_graph *graph, struct ipex_import *ret_import,
                                          const char **ret_message);

/* ---- for the operator functions ---- */

/* The current node cannot be converted, and why (printf). Its outputs become unknown. */
void ipex_import_refuse(struct ipex_import *import, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Input i, NULL when absent. */
struct ipex_value *ipex_import_in(const struct ipex_import *import, size_t i);
/* Output i, like `like` but for its dims, has no elements, where that is no failure yet: what
 * cannot do without makes it one, for this reason (printf). */
void ipex_import_empty(struct ipex_import *import, size_t i, const struct ipex_value *like,
                       const int64_t *dims, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* What output i has become; NULL: nothing yet. */
struct ipex_value *ipex_import_result(const struct ipex_import *import, size_t i);
/* Output i becomes this value. */
void ipex_import_out(struct ipex_import *import, size_t i, struct ipex_value *value);
/* A new f32 value named after output i, bound to it. */
struct ipex_value *ipex_import_new(struct ipex_import *import, size_t i, int32_t rank,
                                   const int64_t *dims);
/* A new node named after the current one. */
struct ipex_node *ipex_import_node(struct ipex_import *import, enum ipex_kind kind);

const struct ipex_onnx_attr *ipex_import_attr(const struct ipex_import *import, const char *name);
int64_t ipex_import_int(const struct ipex_import *import, const char *name, int64_t otherwise);
/* One that says yes or no: any number but 0 is yes. */
bool ipex_import_flag(const struct ipex_import *import, const char *name, bool otherwise);
float ipex_import_float(const struct ipex_import *import, const char *name, float otherwise);
const char *ipex_import_string(const struct ipex_import *import, const char *name,
                               const char *otherwise);
/* The place of such an attribute's text among `count` words; -1: it is none of them. */
int64_t ipex_import_word(const char *text, const char *const *words, int count);
/* Integers from attribute `name` or, from some opset on, from constant input i: count (at most
 * `max`), 0 when there are none, -1 when refused. */
int ipex_import_ints(struct ipex_import *import, const char *name, size_t input, int64_t *ret,
                     int max);

/* The elements of an integer value as dims, where they are known; NULL otherwise. */
const int64_t *ipex_import_known(struct ipex_import *import, struct ipex_value *value);
/* As ipex_import_ints, from an input only, but the elements are dims and may be expressions. */
int ipex_import_dims(struct ipex_import *import, const char *name, size_t input, int64_t *ret,
                     int max);
/* What makes two dims equal, for the end of a message: flags to paste where both are plain sizes.
 * "" where both are numbers. */
const char *ipex_import_make_equal(struct ipex_import *import, int64_t a, int64_t b);
/* What makes a dim large enough, for the end of a message; "" where it is a number. */
const char *ipex_import_make_larger(const struct ipex_import *import, int64_t dim);
/* A dim as text, for messages. */
const char *ipex_import_text(const struct ipex_import *import, int64_t dim);

/* The first input as a run-time or constant f32 tensor; NULL after refusing. */
struct ipex_value *ipex_import_f32(struct ipex_import *import, size_t i);

/* Input i, of any type that values can have at run time (f32, i32, i64, bool, u8, i8); NULL after
 * refusing. */
struct ipex_value *ipex_import_any(struct ipex_import *import, size_t i);
/* Joint dims of two shapes after the numpy rule, into the first; false after refusing. */
bool ipex_import_broadcast(struct ipex_import *import, const struct ipex_value *x, int32_t *rank,
                           int64_t *dims);
/* A node for a plan operator with a result of this type and shape, bound to output 0 under its name
 * when `bind`. Operands are added by the caller. */
struct ipex_node *ipex_import_plan(struct ipex_import *import, enum ipex_op op,
                                   enum ipex_order_policy policy, enum ipex_dtype dtype,
                                   int32_t rank, const int64_t *dims, bool bind);
/* The element type in which an ONNX data type is computed; IPEX_DTYPE_NONE where there is none. */
enum ipex_dtype ipex_import_dtype(int64_t onnx_type);
/* "float64": what ONNX calls a type, for messages. */
const char *ipex_import_type_name(int64_t onnx_type);
/* An axis counted from the end where negative; false after refusing. */
bool ipex_import_axis(struct ipex_import *import, int64_t *axis, int32_t rank);

/* x convolved by w, or averaged, as its attributes say. NULL after refusing. */
struct ipex_value *ipex_import_convolved(struct ipex_import *import, struct ipex_value *x,
                                         struct ipex_value *w, struct ipex_value *bias);
struct ipex_value *ipex_import_averaged(struct ipex_import *import, struct ipex_value *x);
/* The softmax of x along its attribute axis; flattened: everything from the axis on is one row, as
 * up to opset 12. NULL after refusing. */
struct ipex_value *ipex_import_softmaxed(struct ipex_import *import, struct ipex_value *x,
                                         bool flattened);

/* Building blocks shared by operators. */
struct ipex_value *ipex_import_reshape(struct ipex_import *import, struct ipex_value *x,
                                       const char *name, int32_t rank, const int64_t *dims);
struct ipex_value *ipex_import_transpose(struct ipex_import *import, struct ipex_value *x,
                                         const char *name, const int32_t *perm);

/* symbolic.c: evaluates an integer operator on constants (and Shape of anything). True when it did;
 * the outputs are bound then. */
bool ipex_import_symbolic(struct ipex_import *import);
/* The current node's operator is one of those. */
bool ipex_import_is_symbolic(const struct ipex_import *import);

#endif
