/* SPDX-License-Identifier: Apache-2.0 */
/* The optimisation ledger (promise P6): for every site that a pass looked at, applied, or the exact
 * reason why not. */
#ifndef IPEX_TOOLS_LEDGER_H
#define IPEX_TOOLS_LEDGER_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/arena.h"

/* Reason codes: X(code, sentence with a hint). */
#define IPEX_REASON_LIST(X)                                                                        \
    X(two_consumers, "the value in between is read by several nodes or is a graph output, so it "  \
                     "must exist on its own")                                                      \
    X(shared_weight, "other nodes use the same weight; folding would store it twice: export with " \
                     "separate weights to allow it")                                               \
    X(axis_mismatch, "the scale runs along an axis that is not the producer's output channel")     \
    X(dynamic_parameter, "a parameter of the normalisation is computed at run time: export it as " \
                         "a constant to allow folding")                                            \
    X(after_concat, "the producer is a concatenation, and not each of its inputs is a layer that " \
                    "can take its part and that it alone reads")                                   \
    X(no_producer, "the value comes straight from a graph input: there is no weight to fold into") \
    X(no_linear_producer, "the producer is not a convolution or a linear layer")                   \
    X(act_between, "an activation lies between the producer and this node")                        \
    X(residual_between, "an addition lies between the producer and this node")                     \
    X(epilogue_full, "the producer's epilogue already holds a residual or an activation")          \
    X(epilogue_differs, "its residual or activation is not that of the layers beside it")          \
    X(far_apart, "other layers lie between it and those beside it: its result would take memory "  \
                 "all the while")                                                                  \
    X(gaps_slower, "readers that work element by element lose more by gaps between its rows than " \
                   "one layer less saves")                                                         \
    X(more_channels,                                                                               \
      "what the layer reads has more channels than what it gives: its mean would take "            \
      "longer")                                                                                    \
    X(no_partner, "the other linear layers that read the value cannot be merged")                  \
    X(broadcast, "the operands have different shapes")                                             \
    X(not_an_epilogue, "no epilogue computes this operation")                                      \
    X(nonzero_padding, "the padding value is not zero")                                            \
    X(pads_channels, "the padding grows an axis that is not spatial")                              \
    X(padding_too_wide, "all padding together would be wider than the format allows")              \
    X(not_a_window, "a reader is not a convolution")                                               \
    X(program_full, "the joined program would have too many steps, inputs or constants")           \
    X(byte_table, "what is made of one byte alone is looked up in a table of its own")             \
    X(layout_differs, "the parts lie in memory in different axis orders")                          \
    X(port, "the value is a graph input, a graph output or a constant")                            \
    X(not_adjacent, "the elements do not lie next to each other in memory, so they are copied")    \
    X(not_3x3_stride_1, "the kernel is not 3x3 with strides and groups of 1")                      \
    X(no_tiles, "the kernel is not 3x3, 5x5 or 3 to 5 taps in a row with strides and groups of 1") \
    X(winograd_slower, "transforms and larger weights would cost more than the products saved")    \
    X(no_weight, "it multiplies two activations: there is no weight to store in bf16")             \
    X(rounded_between, "what lies between is rounded to bf16 by a step of its own")                \
    X(weights_too_large, "the weights, read again for every band, would cost what bands save")     \
    X(bf16_weights, "transformed kernels would lose too much in bf16")                             \
    X(may_be_amx, "AMX multiplies on bf16 faster than tiles in f32 do, other CPUs slower: "        \
                  "--arithmetic bf16-dp says that it is for these")                                \
    X(tiles_in_f32, "tiles of the winograd algorithm are computed in f32")                         \
    X(small_heads, "bf16 takes longer for heads of so few channels: rounding their scores costs "  \
                   "more than their products save")                                                \
    X(few_columns, "to so few columns f32 is as fast: its lanes are pixels")                       \
    X(no_bf16_kernel, "there is no bf16 kernel for this operator: it computes in f32")             \
    X(not_an_activation, "the nodes around it spell none of the known activations")                \
    X(not_attention, "the softmax is not between a product and its use as weights of another")     \
    X(scores_changed,                                                                              \
      "between the product and the softmax stands something other than masks and "                 \
      "scales that are one positive number: a cap, a small number in the place of "                \
      "masked scores (use -inf)")                                                                  \
    X(finite_mask, "masked scores become a finite number, and other masks come on top: use -inf")  \
    X(shape_mismatch, "the operands' shapes do not fit the fused operator")                        \
    X(mixed_inputs, "the nodes do not all work on the same value")                                 \
    X(grouped, "the convolution has groups")                                                       \
    X(padding_not_1, "the padding is not 1 on all sides")                                          \
    X(few_channels, "with so few channels a direct convolution is as fast")                        \
    X(dilated, "the convolution has dilations")                                                    \
    X(winograd_faster, "with so many channels, the smaller kernel on the parts is faster")         \
    X(windows_differ, "the strides differ, or neither kernel covers the pixels of the other: one " \
                      "that covers both would cost more than two")                                 \
    X(padding_is_not_mean, "the convolution pads with zeros, which are the mean and no pixel of "  \
                           "zeros: without padding, or with mean 0, it would be exact")            \
    X(not_quantised, "the input is no integer of 8 bits with one scale")                           \
    X(no_byte_kernel,                                                                              \
      "no kernel of transposed or merged layers multiplies bytes, nor one of depthwise layers of " \
      "fewer than 8 channels or with groups of 2 or 4 that are not 4 channels to 4 of 16 or more") \
    X(zero_moves, "it is padded with a zero point that every run computes")                        \
    X(few_products, "too few products in a row of the kernel, or too many for an exact sum")       \
    X(operands_differ, "the operands are no integers of 8 bits with one scale each")               \
    X(many_products, "too many products for an exact sum")                                         \
    X(weight_differs, "the weight is not of integers from -128 to 127 with a scale per output")    \
    X(weight_in_blocks, "the weight has scales for blocks of its numbers: it becomes the floats "  \
                        "that they stand for")                                                     \
    X(keeps_blocks,                                                                                \
      "the layer keeps its weight as numbers of 4 or 8 bits in blocks, which cannot "              \
      "take part in it")                                                                           \
    X(block_size, "blocks of so many numbers have no kernel: multiples of 16 have one")            \
    X(zero_points,                                                                                 \
      "a zero point of the weight's blocks is no whole number from 0 to 15 or, of 8 bits, to 255") \
    X(scattered_blocks, "the weight's blocks are of numbers that do not lie side by side (g_idx)") \
    X(floating_numbers, "the weight's numbers are floats of 4 bits (FP4, NF4): integers have a "   \
                        "kernel")                                                                  \
    X(quantised_input,                                                                             \
      "its input is quantised, but not so that it multiplies bytes (see integer): it is faster "   \
      "on floats")                                                                                 \
    X(blocks_of_outputs, "a scale of the weight is one of several outputs: blocks along what is "  \
                         "summed can be kept")                                                     \
    X(blocks_differ,                                                                               \
      "the weights beside it have blocks of another size or of other bits, or none")               \
    X(scale_too_large, "no float holds a block's scale times what follows the layer")              \
    X(sums_cost_more, "small for the sums that the zero point of its weight would take")           \
    X(few_outputs, "of few outputs, for which floats are as fast")                                 \
    X(padded_otherwise, "another layer pads these bytes with another zero point")                  \
    X(no_bytes_behind, "the result is not quantised to 8 bits by a node that alone reads it")      \
    X(scaled_behind, "an activation that is no clamp stands before the rounding, or no float "     \
                     "holds the product of scales")                                                \
    X(more_bits, "a number of its weight needs more than 16 bits")                                 \
    X(many_rows, "16 bits hold its weight, but of so many rows f32 may take 0.97 of the time "     \
                 "(--speed)")                                                                      \
    X(phases_slower,                                                                               \
      "a convolution to the channels of all phases at once would take more products than it "      \
      "saves")                                                                                     \
    X(file_budget, "the transformed weights would grow the file too much: --speed allows it")

enum ipex_reason {
    IPEX_REASON_applied,
#define IPEX_REASON_ENUM(code, text) IPEX_REASON_##code,
    IPEX_REASON_LIST(IPEX_REASON_ENUM)
#undef IPEX_REASON_ENUM
};

struct ipex_site {
    const char *site, *pass;
    enum ipex_reason reason;
    const char *text; /* what was done, or the reason's sentence */
};

struct ipex_ledger {
    struct ipex_arena arena;
    struct ipex_site *site;
    size_t sites, capacity;
};

void ipex_ledger_finish(struct ipex_ledger *ledger);

/* Records a verdict. text: NULL takes the reason's own sentence. Strings are copied. */
void ipex_ledger_add(struct ipex_ledger *ledger, const char *pass, const char *site,
                     enum ipex_reason reason, const char *text);

/* "two_consumers"; "" for applied. */
const char *ipex_reason_code(enum ipex_reason reason);
size_t ipex_ledger_count(const struct ipex_ledger *ledger, const char *pass, bool applied);

#endif
