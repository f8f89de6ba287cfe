/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN through its C interface. Versions 2 and 3 differ in what a memory descriptor is and in how
 * a primitive is described: the first section levels that. */
#include "tests/bench/peer_onednn.h"

#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARGS_MAX = 4 };

typedef dnnl_memory_desc_t descriptor;
#if DNNL_VERSION_MAJOR >= 3
#define DESCRIPTOR(d) (d)
#else
#define DESCRIPTOR(d) (&(d))
#endif

struct onednn_primitive {
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[ARGS_MAX];
    int n_args;
};

/* What every primitive is described by. */
struct operands {
    descriptor x, w, bias, y;
    bool has_bias;
};

struct window {
    dnnl_dims_t strides, dilations, before, after;
};

static dnnl_engine_t engine;
static dnnl_stream_t stream;

/* ---- the two versions ---- */

#if DNNL_VERSION_MAJOR >= 3

static bool describe(descriptor *ret, int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
    return dnnl_memory_desc_create_with_tag(ret, rank, dims, dnnl_f32, tag) == dnnl_success;
}

static void forget(descriptor *d) {
    dnnl_memory_desc_destroy(*d);
}

static bool describe_conv(dnnl_primitive_desc_t *ret, bool transpose, const struct operands *o,
                          const struct window *w, dnnl_primitive_attr_t attr) {
    const dnnl_status_t status =
        transpose ? dnnl_deconvolution_forward_primitive_desc_create(
                        ret, engine, dnnl_forward_inference, dnnl_deconvolution_direct, o->x, o->w,
                        o->bias, o->y, w->strides, w->dilations, w->before, w->after, attr)
                  : dnnl_convolution_forward_primitive_desc_create(
                        ret, engine, dnnl_forward_inference, dnnl_convolution_auto, o->x, o->w,
                        o->bias, o->y, w->strides, w->dilations, w->before, w->after, attr);
    return status == dnnl_success;
}

static bool describe_matmul(dnnl_primitive_desc_t *ret, const struct operands *o,
                            dnnl_primitive_attr_t attr) {
    return dnnl_matmul_primitive_desc_create(ret, engine, o->x, o->w, o->has_bias ? o->bias : NULL,
                                             o->y, attr) == dnnl_success;
}

static void add_sum(dnnl_post_ops_t ops) {
    dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_data_type_undef);
}

static void add_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha, float beta) {
    dnnl_post_ops_append_eltwise(ops, kind, alpha, beta);
}

#else

static bool describe(descriptor *ret, int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
    return dnnl_memory_desc_init_by_tag(ret, rank, dims, dnnl_f32, tag) == dnnl_success;
}

static void forget(descriptor *d) {
    (void)d;
}

static bool describe_operation(dnnl_primitive_desc_t *ret, dnnl_status_t made,
                               const_dnnl_op_desc_t operation, dnnl_primitive_attr_t attr) {
    return made == dnnl_success &&
           dnnl_primitive_desc_create(ret, operation, attr, engine, NULL) == dnnl_success;
}

static bool describe_conv(dnnl_primitive_desc_t *ret, bool transpose, const struct operands *o,
                          const struct window *w, dnnl_primitive_attr_t attr) {
    if (transpose) {
        dnnl_deconvolution_desc_t d;
        return describe_operation(ret,
                                  dnnl_dilated_deconvolution_forward_desc_init(
                                      &d, dnnl_forward_inference, dnnl_deconvolution_direct, &o->x,
                                      &o->w, &o->bias, &o->y, w->strides, w->dilations, w->before,
                                      w->after),
                                  &d, attr);
    }
    dnnl_convolution_desc_t d;
    return describe_operation(ret,
                              dnnl_dilated_convolution_forward_desc_init(
                                  &d, dnnl_forward_inference, dnnl_convolution_auto, &o->x, &o->w,
                                  &o->bias, &o->y, w->strides, w->dilations, w->before, w->after),
                              &d, attr);
}

static bool describe_matmul(dnnl_primitive_desc_t *ret, const struct operands *o,
                            dnnl_primitive_attr_t attr) {
    dnnl_matmul_desc_t d;
    return describe_operation(
        ret, dnnl_matmul_desc_init(&d, &o->x, &o->w, o->has_bias ? &o->bias : NULL, &o->y), &d,
        attr);
}

static void add_sum(dnnl_post_ops_t ops) {
    dnnl_post_ops_append_sum(ops, 1.0f);
}

static void add_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha, float beta) {
    dnnl_post_ops_append_eltwise(ops, 1.0f, kind, alpha, beta);
}

#endif

/* ---- layers ---- */

void onednn_start(bool avx2_only) {
    omp_set_num_threads(1);
    if ((avx2_only && dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2) != dnnl_success) ||
        dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success) {
        fputs("bench_kernels: oneDNN does not start\n", stderr);
        exit(1);
    }
}

const char *onednn_version(void) {
    static char text[64];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

static bool conv_operands(const struct onednn_layer *l, bool blocked, struct operands *ret) {
    const dnnl_format_tag_t tag = blocked ? dnnl_format_tag_any : dnnl_nhwc;
    const dnnl_dims_t x = {l->images, l->channels, l->height, l->width};
    const dnnl_dims_t y = {l->images, l->n, l->out_height, l->out_width};
    const dnnl_dims_t w = {l->groups, l->n / l->groups, l->channels / l->groups, l->kernel_h,
                           l->kernel_w};
    const dnnl_dims_t dense = {l->n, l->channels, l->kernel_h, l->kernel_w}, bias = {l->n};
    ret->has_bias = true;
    return describe(&ret->x, 4, x, tag) && describe(&ret->y, 4, y, tag) &&
           describe(&ret->bias, 1, bias, dnnl_a) &&
           (l->groups > 1 ? describe(&ret->w, 5, w, dnnl_format_tag_any)
                          : describe(&ret->w, 4, dense, dnnl_format_tag_any));
}

static bool matmul_operands(const struct onednn_layer *l, bool blocked, struct operands *ret) {
    const dnnl_dims_t x = {l->batch, l->m, l->k}, w = {l->batch, l->k, l->inner};
    const dnnl_dims_t y = {l->batch, l->m, l->inner}, bias = {1, 1, l->inner};
    const dnnl_format_tag_t rows = blocked ? dnnl_format_tag_any : dnnl_abc;
    const dnnl_format_tag_t w_tag = l->constant     ? dnnl_format_tag_any
                                    : l->transposed ? dnnl_acb
                                                    : dnnl_abc;
    ret->has_bias = l->constant;
    return describe(&ret->x, 3, x, rows) && describe(&ret->y, 3, y, rows) &&
           describe(&ret->w, 3, w, w_tag) && describe(&ret->bias, 3, bias, dnnl_abc);
}

/* As one or two elementwise operations; own: alpha and beta are the activation's a and b. Not every
 * version has a hard sigmoid. */
static void add_activation(dnnl_post_ops_t ops, const struct onednn_layer *l) {
    enum { STEPS = 2 };
    static const struct {
        dnnl_alg_kind_t kind;
        bool own;
        float alpha, beta;
    } kinds[IPEX_ACT_COUNT][STEPS] = {
        [IPEX_ACT_relu] = {{dnnl_eltwise_relu, false, 0, 0}},
        [IPEX_ACT_leaky_relu] = {{dnnl_eltwise_relu, true, 0, 0}},
        [IPEX_ACT_clip] = {{dnnl_eltwise_clip, true, 0, 0}},
        [IPEX_ACT_hard_sigmoid] = {{dnnl_eltwise_linear, true, 0, 0},
                                   {dnnl_eltwise_clip, false, 0, 1}},
        [IPEX_ACT_hard_swish] = {{dnnl_eltwise_hardswish, false, 1.0f / 6, 0.5f}},
        [IPEX_ACT_sigmoid] = {{dnnl_eltwise_logistic, false, 0, 0}},
        [IPEX_ACT_silu] = {{dnnl_eltwise_swish, false, 1, 0}},
        [IPEX_ACT_tanh] = {{dnnl_eltwise_tanh, false, 0, 0}},
        [IPEX_ACT_gelu] = {{dnnl_eltwise_gelu_erf, false, 0, 0}},
        [IPEX_ACT_gelu_tanh] = {{dnnl_eltwise_gelu_tanh, false, 0, 0}},
        [IPEX_ACT_mish] = {{dnnl_eltwise_mish, false, 0, 0}},
        [IPEX_ACT_elu] = {{dnnl_eltwise_elu, true, 0, 0}},
        [IPEX_ACT_softplus] = {{dnnl_eltwise_soft_relu, false, 1, 0}},
        [IPEX_ACT_hard_swish_affine] = {{dnnl_eltwise_hardswish, false, 1.0f / 6, 0.5f},
                                        {dnnl_eltwise_linear, true, 0, 0}},
    };
    for (int i = 0; i < STEPS && kinds[l->act][i].kind != dnnl_alg_kind_undef; i++)
        add_eltwise(ops, kinds[l->act][i].kind,
                    kinds[l->act][i].own ? l->act_a : kinds[l->act][i].alpha,
                    kinds[l->act][i].own ? l->act_b : kinds[l->act][i].beta);
}

static dnnl_primitive_attr_t make_attributes(const struct onednn_layer *l) {
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    if (dnnl_primitive_attr_create(&attr) != dnnl_success ||
        dnnl_post_ops_create(&ops) != dnnl_success)
        exit(1);
    if (l->residual)
        add_sum(ops);
    add_activation(ops, l);
    dnnl_primitive_attr_set_post_ops(attr, ops);
    dnnl_post_ops_destroy(ops);
    return attr;
}

static bool describe_layer(dnnl_primitive_desc_t *ret, const struct onednn_layer *l,
                           const struct operands *operands) {
    const struct window window = {{l->stride_h, l->stride_w},
                                  {l->dilation_h - 1, l->dilation_w - 1},
                                  {l->pad_top, l->pad_left},
                                  {l->pad_bottom, l->pad_right}};
    dnnl_primitive_attr_t attr = make_attributes(l);
    const bool made =
        l->kind == ONEDNN_MATMUL
            ? describe_matmul(ret, operands, attr)
            : describe_conv(ret, l->kind == ONEDNN_CONV_TRANSPOSE, operands, &window, attr);
    dnnl_primitive_attr_destroy(attr);
    return made;
}

/* Memory of the layout that the primitive asks for, owned by it. */
static bool add_memory(struct onednn_primitive *p, int arg, dnnl_query_t what) {
    dnnl_memory_t memory;
    void *data;
    if (dnnl_memory_create(&memory, dnnl_primitive_desc_query_md(p->description, what, 0), engine,
                           DNNL_MEMORY_ALLOCATE) != dnnl_success)
        return false;
    p->args[p->n_args++] = (dnnl_exec_arg_t){.arg = arg, .memory = memory};
    if (dnnl_memory_get_data_handle(memory, &data) != dnnl_success)
        return false;
    const size_t bytes =
        dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(p->description, what, 0));
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        ((float *)data)[i] = (float)(i % 17) * 0.0625f - 0.5f;
    return true;
}

struct onednn_primitive *onednn_create(const struct onednn_layer *layer, bool blocked) {
    struct operands operands;
    struct onednn_primitive *p = calloc(1, sizeof *p);
    if (!p)
        exit(1);
    const bool described = layer->kind == ONEDNN_MATMUL ? matmul_operands(layer, blocked, &operands)
                                                        : conv_operands(layer, blocked, &operands);
    if (!described) {
        free(p);
        return NULL;
    }
    bool made = describe_layer(&p->description, layer, &operands) &&
                dnnl_primitive_create(&p->primitive, p->description) == dnnl_success &&
                add_memory(p, DNNL_ARG_SRC, dnnl_query_src_md) &&
                add_memory(p, DNNL_ARG_WEIGHTS, dnnl_query_weights_md) &&
                add_memory(p, DNNL_ARG_DST, dnnl_query_dst_md);
    if (made && operands.has_bias) {
        dnnl_memory_t memory;
        made = dnnl_memory_create(&memory, DESCRIPTOR(operands.bias), engine,
                                  DNNL_MEMORY_ALLOCATE) == dnnl_success;
        if (made)
            p->args[p->n_args++] = (dnnl_exec_arg_t){.arg = DNNL_ARG_BIAS, .memory = memory};
    }
    forget(&operands.x);
    forget(&operands.w);
    forget(&operands.y);
    forget(&operands.bias);
    if (made)
        return p;
    onednn_destroy(p);
    return NULL;
}

const char *onednn_implementation(const struct onednn_primitive *primitive) {
    const char *name = "";
    dnnl_primitive_desc_query(primitive->description, dnnl_query_impl_info_str, 0, &name);
    return name;
}

void onednn_run(const struct onednn_primitive *primitive) {
    dnnl_primitive_execute(primitive->primitive, stream, primitive->n_args, primitive->args);
    dnnl_stream_wait(stream);
}

void onednn_destroy(struct onednn_primitive *primitive) {
    for (int i = 0; i < primitive->n_args; i++)
        dnnl_memory_destroy(primitive->args[i].memory);
    if (primitive->primitive)
        dnnl_primitive_destroy(primitive->primitive);
    if (primitive->description)
        dnnl_primitive_desc_destroy(primitive->description);
    free(primitive);
}
