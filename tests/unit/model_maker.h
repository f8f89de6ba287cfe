/* SPDX-License-Identifier: Apache-2.0 */
/* Test files: a plain C description of a model, which a test changes at will before it is written.
 * maker_default describes one small valid model that uses every operator and every kind of record.
 */
#ifndef IPEX_TESTS_MODEL_MAKER_H
#define IPEX_TESTS_MODEL_MAKER_H

#include "format/check.h"
#include "format/dims.h"

#define MAKER_TEXT  128
#define MAKER_LISTS 48

struct maker_weight {
    char name[MAKER_TEXT];
    uint8_t dtype, layout;
    uint32_t rank;
    int64_t dims[9];
    uint32_t section;
    uint64_t offset, bytes;
};

struct maker_tensor {
    char name[MAKER_TEXT];
    uint8_t dtype;
    uint32_t rank;
    int64_t dims[9];
    uint32_t sides;
    uint16_t halo[5];
    uint8_t halo_value;
    int32_t weight, view_of, view_axis;
    int64_t view_start, room;
};

struct maker_node {
    char name[MAKER_TEXT];
    uint16_t op;
    uint32_t inputs, outputs, ints, floats;
    int32_t input[10], output[3];
    int32_t int_[200];
    float float_[70];
    uint32_t band;
    uint32_t dynamics; /* values in dynamic */
    int32_t dynamic[4];
};

struct maker_symbol {
    char name[MAKER_TEXT];
    int64_t lo, hi, step;
};

struct maker_port {
    char name[MAKER_TEXT];
    uint32_t tensor;
    uint32_t rank;
    int64_t dims[9];
};

struct maker_answer {
    char origin[MAKER_TEXT];
    uint32_t inputs, outputs;
    uint32_t input[4];
    int32_t output[4];
};

struct maker_entry {
    char name[MAKER_TEXT];
    uint32_t tensors, nodes, inputs, outputs, labels, answers;
    struct maker_tensor tensor[MAKER_LISTS];
    struct maker_node node[MAKER_LISTS];
    struct maker_port input[4], output[4];
    char label[MAKER_LISTS][MAKER_TEXT];
    struct maker_answer answer[2];
    uint8_t arithmetic;
    uint32_t symbols, exprs;
    struct maker_symbol symbol[IPEX_SYMBOLS_MAX + 1];
    struct ipex_fb_expr expr[IPEX_EXPRS_MAX + 1];
};

struct maker_site {
    uint32_t entry;
    bool applied;
    char site[MAKER_TEXT], pass[MAKER_TEXT], reason[MAKER_TEXT], text[MAKER_TEXT];
};

struct maker_model {
    char producer[MAKER_TEXT];
    uint32_t sections, weights, entries, sites, pairs;
    struct ipex_fb_section section[MAKER_LISTS]; /* offsets are filled in when written */
    bool keep_offsets;                           /* ... unless this is set */
    struct maker_weight weight[MAKER_LISTS];
    struct maker_entry entry[3];
    struct maker_site site[2];
    char key[2][MAKER_TEXT], value[2][MAKER_TEXT];
    int32_t extra_digests;    /* more (or fewer) chunk digests than there are chunks */
    uint32_t extra_file_size; /* the header states this much more than there is */
    uint32_t repeat_tensors;  /* how often the first tensor stands in its vector */
};

/* A written file, aligned to 4096. */
struct maker_file {
    uint8_t *bytes;
    uint64_t size, metadata_size;
};

/* Tensors of the default model that tests speak of. */
enum {
    T_X,       /* [1][6][6][3] input */
    T_XH,      /* [1][6][6][3] halo 1 */
    T_CONV_W,  /* constant tiles [1][3][8][3][3] */
    T_CONV_B,  /* constant channels [8] */
    T_CAT,     /* [1][6][6][24] halo 1 */
    T_CAT_A,   /* channels 0..7 of it */
    T_CAT_B,   /* channels 8..23 of it */
    T_POINT_W, /* constant tiles [1][1][16][1][3] */
    T_DEPTH_W, /* constant channels [3][3][24] */
    T_DEPTH,   /* [1][3][3][24] */
    T_MAX,     /* [1][2][2][24] */
    T_FLAT,    /* [1][96], T_MAX reshaped */
    T_LIN_W,   /* constant tiles [10][96] */
    T_LIN_B,   /* constant channels [10] */
    T_LIN,     /* [1][10] */
    T_SOFT,    /* [1][10] */
    T_SCALE,   /* constant plain [10] */
    T_PROB,    /* [1][10] output */
    T_TURNED,  /* [10][1] */
    T_PADDED,  /* [12][1] */
    T_SLICED,  /* [6][1] */
    T_MEAN,    /* [1][1] output */
    T_AVG,     /* [1][1][1][24] output */
    T_COUNT
};

enum {
    N_COPY,
    N_CONV,
    N_POINT,
    N_DEPTH,
    N_MAX,
    N_LINEAR,
    N_SOFTMAX,
    N_POINTWISE,
    N_TRANSPOSE,
    N_PAD,
    N_SLICE,
    N_REDUCE,
    N_AVG,
    N_COUNT
};

enum {
    W_CONV,
    W_CONV_B,
    W_POINT,
    W_DEPTH,
    W_LIN,
    W_LIN_B,
    W_SCALE,
    W_ANSWER_X,
    W_ANSWER_Y,
    W_COUNT
};

void maker_default(struct maker_model *model);

/* Makes a node one of another operator, with these ints and floats of 0. Its operands stay. */
void maker_become(struct maker_node *node, int op, const char *ints);
/* A convolution as it is, but for the operator and the attribute that it has not. */
void maker_winograd(struct maker_node *conv);

/* Adds nodes about integers, bools, indices and order to a default model: what they give is named
 * here, and nobody reads the last of it. T_SCALE stays f32. */
enum {
    T_LESS = T_COUNT, /* bool [1][10] */
    T_CHOSEN,         /* f32 [1][10] */
    T_BEST,           /* i64 [1][1] */
    T_PICKED,         /* f32 [1][1][1] */
    T_TWICE,          /* i64 [1][1] */
    T_WORST,          /* f32 [1][3] */
    T_WORST_AT,       /* i64 [1][3] */
    T_DATA_COUNT
};
void maker_data(struct maker_model *model);

/* And one that writes rows: node N_COUNT + 6. */
enum {
    T_UPDATES = T_DATA_COUNT, /* [1][1][10], T_LIN reshaped */
    T_SCATTERED,              /* f32 [1][10] */
    T_SCATTER_COUNT
};
void maker_scatter(struct maker_model *model);

/* Adds nodes that look up places of an image, N_COUNT, and of a volume, N_COUNT + 1. */
enum {
    T_PLACES = T_COUNT, /* [1][1][5][2], T_LIN reshaped */
    T_SEEN,             /* f32 [1][1][5][3] */
    T_VOLUME,           /* [1][1][6][6][3], T_X reshaped */
    T_FAR_PLACES,       /* [1][6][2][3][3], T_X reshaped */
    T_FAR_SEEN,         /* f32 [1][6][2][3][3] */
    T_GRID_COUNT
};
void maker_grid(struct maker_model *model);

/* Adds nodes about products of activations, norms and sequences to a default model. */
enum {
    T_PRODUCT = T_COUNT, /* [10][10] = T_TURNED * T_LIN */
    T_ATTENDED,          /* [6][1] of q T_SLICED, k and v T_PADDED */
    T_NORMED,            /* [1][10] of T_LIN, gamma T_SCALE */
    T_GROUPED,           /* [1][3][3][24] of T_DEPTH, 3 groups */
    T_SEQUENCE,          /* [1][1][10], T_LIN reshaped */
    T_LSTM_W,            /* constant tiles [1][1][8][1][10] */
    T_LSTM_R,            /* constant tiles [1][1][8][1][2] */
    T_LSTM_B,            /* constant plain [1][16] */
    T_LSTM,              /* [1][1][1][2] */
    T_LSTM_H,            /* [1][1][2] */
    T_LSTM_C,            /* [1][1][2] */
    T_GRU_W,             /* constant tiles [1][1][6][1][10] */
    T_GRU_R,             /* constant tiles [1][1][6][1][2] */
    T_GRU,               /* [1][1][1][2] */
    T_GRU_H,             /* [1][1][2] */
    T_PRODUCTS_COUNT
};
enum { N_MATMUL = N_COUNT, N_ATTENTION, N_LAYER_NORM, N_GROUP_NORM, N_LSTM, N_GRU };
void maker_products(struct maker_model *model);

/* Adds a node that convolves T_XH upsampled, N_COUNT, and its weight, W_COUNT. */
enum {
    T_UPSAMPLED_W = T_COUNT,
    T_UPSAMPLED, /* f32 [1][12][12][8] */
    T_UPSAMPLED_COUNT
};
void maker_upsampled(struct maker_model *model);

/* Adds nodes that multiply by numbers of 4 bits, or of 8: N_BLOCKS has all operands, N_BLOCKS_BYTES
 * none that may be absent. */
enum {
    T_BLOCKS_W = T_COUNT, /* constant tiles of u8 [10][48], or [10][96] */
    T_BLOCKS_SCALE,       /* constant plain [1][3][16] */
    T_BLOCKS_ZERO,        /* the same in u8 */
    T_BLOCKS,             /* [1][10] of T_FLAT, residual T_LIN, in blocks of 32 */
    T_BLOCKS_BYTES_W,     /* constant tiles of u8 [20][4], or [20][3] */
    T_BLOCKS_BYTES_SCALE, /* constant plain [2][1][16] */
    T_BLOCKS_BYTES,       /* [1][6][6][20] of T_X, rounded to bytes */
    T_BLOCKS_COUNT
};
enum { N_BLOCKS = N_COUNT, N_BLOCKS_BYTES };
enum {
    W_BLOCKS = W_COUNT,
    W_BLOCKS_SCALE,
    W_BLOCKS_ZERO,
    W_BLOCKS_BYTES,
    W_BLOCKS_BYTES_SCALE,
    W_BLOCKS_COUNT
};
void maker_blocks(struct maker_model *model);
void maker_blocks_8(struct maker_model *model);

/* T_XH and the weights of the two nodes that read it become bf16. */
void maker_bf16(struct maker_model *model);
/* The linear layer has its weight in f16. */
void maker_f16(struct maker_model *model);

/* T_XH, with a halo of 7s, and W_CONV become bytes, and nodes follow on what that convolution also
 * gives as u8. */
enum {
    T_BYTES = T_COUNT, /* u8 [1][6][6][8] of T_XH, rounded on the way */
    T_BYTES_W,         /* constant tiles of i8 [8][8] */
    T_MIXED,           /* u8 [1][6][6][8] of T_BYTES, residual T_BYTES */
    T_MIDDLE,          /* f32 [1][6][6][8] of T_BYTES, residual T_CAT_A */
    T_BYTES_SUM,       /* u8 [1][6][6][8] = T_MIXED + T_MIDDLE */
    T_BYTES_MAX,       /* u8 [1][3][3][8]: the largest of 2x2 of T_BYTES */
    T_BYTES_DEPTH_W,   /* constant channels of i8 [3][3][8] */
    T_BYTES_DEPTH,     /* u8 [1][4][4][8] of T_BYTES */
    T_BYTES_RESIZED,   /* u8 [1][12][12][8]: the nearest of T_BYTES */
    T_BYTES_MIDDLE,    /* [2][2][8] */
    T_BYTES_MEAN,      /* f32 [1][1][1][8] of T_BYTES_RESIZED */
    T_BYTES_PRODUCT,   /* [1][6][6][6] of T_BYTES by T_MIXED */
    T_BYTES_COUNT
};
enum {
    N_BYTES = N_COUNT,
    N_MIXED,
    N_MIDDLE,
    N_BYTES_SUM,
    N_BYTES_MAX,
    N_BYTES_DEPTH,
    N_BYTES_RESIZED,
    N_BYTES_MEAN,
    N_BYTES_PRODUCT
};
enum { W_BYTES = W_COUNT, W_BYTES_DEPTH, W_BYTES_MIDDLE, W_BYTES_COUNT };
void maker_bytes(struct maker_model *model);

/* Expressions of the dynamic model: the default with a batch of 1 to 4. */
enum { E_BATCH, E_ZERO, E_ELEVEN, E_EIGHT, E_COUNT };
#define MAKER_EXPR(i) (-1 - (i)) /* its dim code */

/* Makes a default model dynamic: batch is a symbol, and the start of the slice and of a view are
 * expressions. */
void maker_dynamic(struct maker_model *model);
/* One more symbol, which nothing mentions; another dim code wherever the batch stands. */
void maker_add_symbol(struct maker_model *model);
void maker_replace_batch(struct maker_model *model, int64_t code);

/* Writes the file. Weight bytes are a counter; sections, digests and header fit unless the model
 * says otherwise. */
struct maker_file maker_write(const struct maker_model *model);
void maker_free(struct maker_file *file);

/* Makes the header's digest fit the metadata again after it was tampered with. */
void maker_repair_digest(struct maker_file *file);

/* Checks a file as the loader does: header, then all of it, with room for tensors. */
enum ipex_status maker_check(const struct maker_file *file, const struct ipex_report *report);

#endif
