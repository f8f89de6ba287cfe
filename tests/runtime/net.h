/* SPDX-License-Identifier: Apache-2.0 */
/* Small models made in C for tests: a list of tensors and nodes, the .ipex file made of it, and an
 * oracle that computes it with plain loops, independent of kernels and runtime. */
#ifndef IPEX_TESTS_NET_H
#define IPEX_TESTS_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/dims.h"
#include "format/ipex_types.h"
#include "format/ops.h"
#include "format/tile.h"

enum { NET_TENSORS = 64, NET_NODES = 48, NET_WEIGHTS = 32, NET_PORTS = 8, NET_INTS = 48 };
enum { NET_SYMBOLS = 8, NET_EXPRS = 64 };

struct net_tensor {
    char name[32];
    enum ipex_dtype dtype;
    int rank;
    int64_t dims[8];
    uint16_t halo[4];
    uint8_t halo_value;
    int weight;  /* -1: none */
    int view_of; /* -1: none */
    int view_axis;
    int64_t view_start;
    int64_t room;                    /* elements of a storage, at least */
    int64_t dim_code[8], start_code; /* below 0: instead of the number, in the file */
    float
        *value; /* the oracle's, of any dtype: dense; roots and constants (in logical order) only */
};

struct net_weight {
    enum ipex_dtype dtype;
    enum ipex_layout layout;
    int rank;
    int64_t dims[8];
    void *bytes; /* as in the file */
    int64_t size;
};

struct net_node {
    enum ipex_op op;
    int inputs[8], n_inputs, output[3], n_outputs;
    int32_t ints[NET_INTS];
    float floats[IPEX_INTEGER_ATTRS];
    int n_ints, n_floats;
    int32_t dynamic[8];
    int n_dynamic;
    uint32_t band;
};

struct net_symbol {
    char name[32];
    int64_t lo, hi, step;
};

struct net {
    struct net_tensor tensor[NET_TENSORS];
    struct net_weight weight[NET_WEIGHTS];
    struct net_node node[NET_NODES];
    int input[NET_PORTS], output[NET_PORTS];
    int tensors, weights, nodes, inputs, outputs;
    struct net_symbol symbol[NET_SYMBOLS];
    struct ipex_fb_expr expr[NET_EXPRS];
    int symbols, exprs;
    uint32_t seed;
    uint8_t arithmetic;            /* pinned profile; 0: none */
    bool bf16_weights;             /* of the nodes to come whose x is f32 */
    float scales[IPEX_SCALES];     /* of those whose x is u8, from IPEX_RESIDUAL_SCALE on */
    int middles;                   /* of those: roundings in between */
    float unit, shift;             /* about what the last of them multiplies by and adds */
    int32_t l2_bytes;              /* of its sessions; 0: the machine's */
    bool second_entry;             /* the same graph again, as entry "other" */
    const char *port[NET_TENSORS]; /* names of ports; NULL: the tensor's */
};

#define NET_DIMS(...)                                                                              \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {                 \
        __VA_ARGS__                                                                                \
    }

void net_init(struct net *net);
void net_free(struct net *net);

/* Tensors, f32. Each returns its index. Random values are in [-1, 1), or small integers. */
int net_tensor(struct net *net, int rank, const int64_t *dims);
int net_halo(struct net *net, int rank, const int64_t *dims, int halo); /* the same on all sides */
int net_input(struct net *net, int rank, const int64_t *dims);
int net_constant(struct net *net, int rank, const int64_t *dims);
/* The same of other dtypes: f32, i64, i32, i8, u8, bool; bf16, whose values are rounded to it. */
int net_typed(struct net *net, enum ipex_dtype dtype, int rank, const int64_t *dims);
int net_typed_input(struct net *net, enum ipex_dtype dtype, int rank, const int64_t *dims);
int net_typed_constant(struct net *net, enum ipex_dtype dtype, int rank, const int64_t *dims);
/* A constant of layout tiles: f32, bf16 or i8. */
int net_tiles(struct net *net, enum ipex_dtype dtype, int rank, const int64_t *dims);
/* Bytes with a halo of others, the same on all sides. */
int net_bytes(struct net *net, int rank, const int64_t *dims, int halo, uint8_t value);
/* x, rounded to bf16 by a cast, with a halo. */
int net_round(struct net *net, int x, int halo);
int net_reshape(struct net *net, int of, int rank, const int64_t *dims);
int net_slice(struct net *net, int of, int axis, int64_t start, int64_t length);
void net_output(struct net *net, int tensor);

/* Nodes. act is of format/ops.h; residual and bias may be -1 / false. Where x of a convolution or
 * linear layer is u8 the weight is i8, its scales so small that sums are about 1, and net->scales
 * say what becomes of them. */
struct net_window {
    int kernel, stride, pad, dilation, groups;
    bool columns; /* of net_conv: an attribute */
};
void net_conv(struct net *net, int x, int y, struct net_window window, bool bias, int residual,
              enum ipex_act act);
/* tile: outputs along its side, 4 or 2. */
void net_winograd(struct net *net, int tile, int x, int y, int pad, int dilation, bool bias,
                  int residual, enum ipex_act act);
/* Of another kernel, 5x5 or a row or column of 3 to 5 taps, and a y of x's size. */
void net_winograd_of(struct net *net, int kernel_h, int kernel_w, int x, int y, int dilation,
                     bool bias, int residual, enum ipex_act act);
/* Of an image upsampled by y's size over x's. */
void net_upsampled_conv(struct net *net, int x, int y, bool bias, int residual, enum ipex_act act);
/* One group per channel, or narrow groups where the window has some. */
void net_depthwise_plus(struct net *net, int x, int y, struct net_window w, bool bias, int residual,
                        enum ipex_act act);
void net_depthwise(struct net *net, int x, int y, struct net_window window, bool bias,
                   enum ipex_act act);
void net_linear(struct net *net, int x, int y, bool bias, int residual, enum ipex_act act);
void net_pool(struct net *net, enum ipex_op op, int x, int y, struct net_window window,
              bool count_pad);
void net_conv_transpose(struct net *net, int x, int y, struct net_window window, int out_pad,
                        bool bias, enum ipex_act act);
void net_node(struct net *net, enum ipex_op op, int y, int n_inputs, const int *inputs, int n_ints,
              const int32_t *ints, int n_floats, const float *floats);
void net_also(struct net *net, int y); /* one more output of the last node */

#define NET_IN(...)                                                                                \
    (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]) {                             \
        __VA_ARGS__                                                                                \
    }
#define NET_INTS_(...)                                                                             \
    (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (const int32_t[]) {                 \
        __VA_ARGS__                                                                                \
    }
#define NET_FLOATS(...)                                                                            \
    (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (const float[]) {                       \
        __VA_ARGS__                                                                                \
    }

/* Dims that a file leaves open. A net holds the numbers of one choice, by which the oracle goes,
 * and beside them dim codes, which go into the file. Both return a dim code. */
int64_t net_symbol(struct net *net, const char *name, int64_t lo, int64_t hi, int64_t step);
int64_t net_expr(struct net *net, enum ipex_expr_op op, int64_t a, int64_t b);
void net_dim(struct net *net, int tensor, int axis, int64_t code);
void net_start(struct net *net, int tensor, int64_t code);
void net_int(struct net *net, int place, int64_t code); /* of the last node; places ascend */

int64_t net_numel(const struct net_tensor *tensor);

/* The file, in page-aligned memory of the caller's to free. */
void *net_file(const struct net *net, size_t *ret_size);

/* New random values, as inputs and constants have them. */
void net_randomize(struct net *net, struct net_tensor *t);

/* Where element `index` of a tensor lies among the oracle's values: in its root's. */
float *net_element(const struct net *net, int tensor, const int64_t *index);

/* The oracle of operators 17 to 28 and pad's modes (oracle_data.c): element `at` of output number
 * `output`. */
float net_data_at(const struct net *net, const struct net_node *node, int output,
                  const int64_t *at);

/* The activation that a node's floats are the parameters of. */
float net_act(const struct net_node *node, int kind, float v);

/* The oracle of matmul, attention, norms and recurrent layers (oracle_products.c); false: the
 * operator is none of them. */
bool net_product_at(const struct net *net, const struct net_node *node, int output,
                    const int64_t *at, float *ret);

/* Fills inputs with new random values and computes every tensor. */
void net_oracle(struct net *net);

/* A dense copy of a tensor's value, views included; to be freed. */
float *net_value(const struct net *net, int tensor);

float net_random(uint32_t *seed);

/* To nearest, ties to even. */
float net_to_bf16(float value);
/* Likewise, and cut to 0 .. 255; a NaN becomes 0. */
float net_to_byte(float value);

/* A dot in the order of its profile: f32 one product after another; bf16-dp in pairs, of which the
 * odd one comes first; bf16-amx in tiles of 32, the even ones and the odd ones for themselves.
 * `end` closes a segment, behind which pairs and tiles begin anew. */
struct net_chain {
    float sum;
    bool pairs, tiles, half;
    float x, w;  /* the even product of half a pair */
    float of[2]; /* sums of a tile's even and odd products */
    int count;   /* of products in the tile */
};
struct net_chain net_chain_begin(const struct net *net, int x, float sum);
void net_chain_add(struct net_chain *chain, float x, float w);
void net_chain_end(struct net_chain *chain);

/* One element in memory, aligned or not. */
void net_store(enum ipex_dtype dtype, void *to, float value);
float net_load(enum ipex_dtype dtype, const void *from);

#endif
