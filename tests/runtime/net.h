/* SPDX-License-Identifier: Apache-2.0 */
/* Small models made in C for tests: a list of tensors and nodes, the .ipex file made of it, and an
 * oracle that computes it with plain loops, independent of kernels and runtime. */
#ifndef IPEX_TESTS_NET_H
#define IPEX_TESTS_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/ipex_types.h"
#include "format/ops.h"
#include "format/tile.h"

enum { NET_TENSORS = 64, NET_NODES = 48, NET_WEIGHTS = 32, NET_PORTS = 8, NET_INTS = 48 };

struct net_tensor {
    char name[32];
    int rank;
    int64_t dims[8];
    uint16_t halo[4];
    int weight;  /* -1: none */
    int view_of; /* -1: none */
    int view_axis;
    int64_t view_start;
    float *value; /* the oracle's: dense; roots and constants (in logical order) only */
};

struct net_weight {
    enum ipex_layout layout;
    int rank;
    int64_t dims[8];
    void *bytes; /* as in the file */
    int64_t size;
};

struct net_node {
    enum ipex_op op;
    int inputs[8], n_inputs, output;
    int32_t ints[NET_INTS];
    float floats[8];
    int n_ints, n_floats;
};

struct net {
    struct net_tensor tensor[NET_TENSORS];
    struct net_weight weight[NET_WEIGHTS];
    struct net_node node[NET_NODES];
    int input[NET_PORTS], output[NET_PORTS];
    int tensors, weights, nodes, inputs, outputs;
    uint32_t seed;
    uint8_t arithmetic;            /* pinned profile; 0: none */
    bool second_entry;             /* the same graph again, as entry "other" */
    const char *port[NET_TENSORS]; /* names of ports; NULL: the tensor's */
};

#define NET_DIMS(...)                                                                              \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {                 \
        __VA_ARGS__                                                                                \
    }

void net_init(struct net *net);
void net_free(struct net *net);

/* Tensors. Each returns its index. Random values are in [-1, 1). */
int net_tensor(struct net *net, int rank, const int64_t *dims);
int net_halo(struct net *net, int rank, const int64_t *dims, int halo); /* the same on all sides */
int net_input(struct net *net, int rank, const int64_t *dims);
int net_constant(struct net *net, int rank, const int64_t *dims);
int net_reshape(struct net *net, int of, int rank, const int64_t *dims);
int net_slice(struct net *net, int of, int axis, int64_t start, int64_t length);
void net_output(struct net *net, int tensor);

/* Nodes. act is of format/ops.h; residual and bias may be -1 / false. */
struct net_window {
    int kernel, stride, pad, dilation, groups;
};
void net_conv(struct net *net, int x, int y, struct net_window window, bool bias, int residual,
              enum ipex_act act);
void net_winograd(struct net *net, int x, int y, int pad, bool bias, int residual,
                  enum ipex_act act);
void net_depthwise(struct net *net, int x, int y, struct net_window window, bool bias,
                   enum ipex_act act);
void net_linear(struct net *net, int x, int y, bool bias, int residual, enum ipex_act act);
void net_pool(struct net *net, enum ipex_op op, int x, int y, struct net_window window,
              bool count_pad);
void net_node(struct net *net, enum ipex_op op, int y, int n_inputs, const int *inputs, int n_ints,
              const int32_t *ints, int n_floats, const float *floats);

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

int64_t net_numel(const struct net_tensor *tensor);

/* The file, in page-aligned memory of the caller's to free. */
void *net_file(const struct net *net, size_t *ret_size);

/* Fills inputs with new random values and computes every tensor. */
void net_oracle(struct net *net);

/* A dense copy of a tensor's value, views included; to be freed. */
float *net_value(const struct net *net, int tensor);

float net_random(uint32_t *seed);

#endif
