/* SPDX-License-Identifier: Apache-2.0 */
/* Speeds on the layers of real networks, as GFLOP/s and as a share of the peak that this level
 * reaches in the same minute with FMAs on registers alone. One thread; the best of several rounds
 * of at least 10 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/jobs.h"
#include "tests/checkkern/checkkern.h"
#include "tests/checkkern/conv_shape.h"
#include "tools/machine_loops.h"

struct layer {
    const char *name;
    int32_t height, width, channels; /* of the output's lines and pixels; of x */
    int32_t kernel, stride, n;
    bool depthwise;
};

#define CONV(net, k, s, size, c, n)                                                                \
    { net " " #k "x" #k "/" #s " " #size "x" #size " " #c "->" #n, size, size, c, k, s, n, false }
#define LINEAR(net, m, c, n)                                                                       \
    { net " linear " #m "x " #c "->" #n, 1, m, c, 1, 1, n, false }
#define DEPTHWISE(net, k, s, size, c)                                                              \
    { net " depthwise " #k "x" #k "/" #s " " #size "x" #size " " #c, size, size, c, k, s, c, true }

static const struct layer layers[] = {
    CONV("resnet34", 7, 2, 114, 3, 64),
    CONV("resnet34", 3, 1, 55, 64, 64),
    CONV("resnet34", 3, 2, 27, 64, 128),
    CONV("resnet34", 3, 1, 27, 128, 128),
    CONV("resnet34", 3, 2, 13, 128, 256),
    CONV("resnet34", 3, 1, 13, 256, 256),
    CONV("resnet34", 3, 2, 6, 256, 512),
    CONV("resnet34", 3, 1, 6, 512, 512),
    CONV("resnet50", 7, 2, 112, 3, 64),
    CONV("resnet50", 3, 1, 56, 64, 64),
    CONV("resnet50", 3, 1, 28, 128, 128),
    CONV("resnet50", 3, 1, 14, 256, 256),
    CONV("resnet50", 3, 1, 7, 512, 512),
    CONV("resnet50", 3, 2, 7, 512, 512),
    CONV("resnet50", 1, 1, 56, 64, 64),
    CONV("resnet50", 1, 1, 56, 64, 256),
    CONV("resnet50", 1, 1, 56, 256, 64),
    CONV("resnet50", 1, 1, 28, 128, 512),
    CONV("resnet50", 1, 1, 28, 512, 128),
    CONV("resnet50", 1, 2, 28, 256, 512),
    CONV("resnet50", 1, 1, 14, 256, 1024),
    CONV("resnet50", 1, 1, 14, 1024, 256),
    CONV("resnet50", 1, 1, 7, 512, 2048),
    CONV("resnet50", 1, 1, 7, 2048, 512),
    CONV("mobilenetv2", 3, 2, 112, 3, 32),
    CONV("mobilenetv2", 1, 1, 112, 32, 16),
    CONV("mobilenetv2", 1, 1, 112, 16, 96),
    CONV("mobilenetv2", 1, 1, 56, 96, 24),
    CONV("mobilenetv2", 1, 1, 56, 24, 144),
    CONV("mobilenetv2", 1, 1, 28, 192, 32),
    CONV("mobilenetv2", 1, 1, 14, 384, 64),
    CONV("mobilenetv2", 1, 1, 14, 64, 384),
    CONV("mobilenetv2", 1, 1, 7, 960, 160),
    CONV("mobilenetv2", 1, 1, 7, 160, 960),
    CONV("mobilenetv2", 1, 1, 7, 320, 1280),
    CONV("squeezenet", 3, 2, 113, 3, 64),
    CONV("squeezenet", 1, 1, 55, 64, 16),
    CONV("squeezenet", 1, 1, 55, 16, 64),
    CONV("squeezenet", 3, 1, 55, 16, 64),
    CONV("squeezenet", 3, 1, 27, 32, 128),
    CONV("squeezenet", 1, 1, 13, 512, 64),
    CONV("squeezenet", 3, 1, 13, 64, 256),
    CONV("squeezenet", 1, 1, 13, 512, 1000),
    LINEAR("resnet50", 1, 2048, 1000),
    LINEAR("mlp", 4, 1024, 4096),
    LINEAR("mlp", 128, 1024, 1024),
    DEPTHWISE("mobilenetv2", 3, 1, 112, 32),
    DEPTHWISE("mobilenetv2", 3, 2, 56, 96),
    DEPTHWISE("mobilenetv2", 3, 1, 56, 144),
    DEPTHWISE("mobilenetv2", 3, 1, 14, 384),
    DEPTHWISE("mobilenetv2", 3, 1, 7, 960),
    DEPTHWISE("mobilenetv3", 5, 1, 28, 120),
    DEPTHWISE("mobilenetv3", 5, 2, 14, 240),
};

/* Time on the CPU: what other processes take does not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A 1x1 convolution at stride 1 is a matrix: its M rows are cut into lines of at most 84, a
 * multiple of 14, 12, 7, 6. */
enum { LINE = 84 };

static struct ipex_conv_args conv_args(const struct layer *l, int32_t l2) {
    const int32_t m = l->height * l->width;
    const int64_t weights = (int64_t)l->kernel * l->kernel * l->channels * l->n * 4;
    struct conv_shape shape = {
        .lines = l->height,
        .pixels = l->width,
        .kernel_h = l->kernel,
        .kernel_w = l->kernel,
        .stride_h = l->stride,
        .stride_w = l->stride,
        .k = l->channels,
        .n = l->n,
    };
    if (l->kernel == 1 && l->stride == 1) {
        shape.lines = (int32_t)ipex_div_up(m, LINE);
        shape.pixels = m < LINE ? m : LINE;
        shape.last_pixels = m - (shape.lines - 1) * shape.pixels;
    }
    struct ipex_conv_args ret = conv_shape_args(&shape);
    ret.act = IPEX_ACT_relu;
    ret.panels_outside = ret.weights_far = weights > l2 / 2;
    ret.cache_l2 = l2;
    return ret;
}

static struct ipex_depthwise_args depthwise_args(const struct layer *l) {
    const int64_t x_row = (int64_t)l->channels * ((l->width - 1) * l->stride + l->kernel);
    return (struct ipex_depthwise_args){
        .x_line = l->stride * x_row,
        .x_pixel = (int64_t)l->stride * l->channels,
        .x_kh = x_row,
        .x_kw = l->channels,
        .y_line = (int64_t)l->width * l->n,
        .y_pixel = l->n,
        .images = 1,
        .lines = l->height,
        .pixels = l->width,
        .channels = l->channels,
        .kernel_h = l->kernel,
        .kernel_w = l->kernel,
        .lines_per_job = l->height,
        .act = IPEX_ACT_relu,
    };
}

static float *random_floats(int64_t n, struct rng *rng) {
    float *ret = aligned_alloc(4096, (size_t)(n * 4 + 4095) / 4096 * 4096);
    if (!ret)
        exit(2);
    for (int64_t i = 0; i < n; i++)
        ret[i] = rng_float(rng);
    return ret;
}

/* Seconds of one call: the least of 12 rounds, each as many calls as fill 10 ms. */
static double best_time(ipex_kernel_fn fn, const void *args, int64_t jobs) {
    double best = 1e9, start = now();
    fn(args, 0, jobs, NULL);
    const int64_t calls = 1 + (int64_t)(0.01 / (now() - start + 1e-9));
    for (int round = 0; round < 12; round++) {
        start = now();
        for (int64_t i = 0; i < calls; i++)
            fn(args, 0, jobs, NULL);
        const double each = (now() - start) / (double)calls;
        best = each < best ? each : best;
    }
    return best;
}

static void bench_layer(const struct level *level, const struct layer *l, int32_t l2) {
    struct rng rng = {7};
    struct ipex_conv_args conv = conv_args(l, l2);
    struct ipex_depthwise_args depthwise = depthwise_args(l);
    const int64_t x_rows = (l->height - 1) * l->stride + l->kernel;
    const int64_t x_floats = x_rows * l->channels * ((l->width - 1) * l->stride + l->kernel);
    const int64_t taps = (int64_t)l->kernel * l->kernel;
    const int64_t outputs = (int64_t)l->height * l->width * l->n;
    float *x = random_floats(x_floats, &rng);
    float *w = random_floats(taps * (l->channels + 16) * (l->n + 16), &rng);
    float *bias = random_floats(l->n + 16, &rng), *y = random_floats(outputs, &rng);
    conv.x = depthwise.x = x;
    conv.w = depthwise.w = w;
    conv.bias = depthwise.bias = bias;
    conv.y = depthwise.y = y;
    const double flops = 2.0 * (double)(outputs * taps) * (double)(l->depthwise ? 1 : l->channels);
    const double seconds = l->depthwise ? best_time((ipex_kernel_fn)level->kernels.depthwise_f32,
                                                    &depthwise, ipex_depthwise_jobs(&depthwise))
                                        : best_time((ipex_kernel_fn)level->kernels.conv_f32, &conv,
                                                    ipex_conv_jobs(&conv));
    const double peak = ipex_multiply_gflops(level->isa, IPEX_DTYPE_f32),
                 rate = flops / seconds * 1e-9;
    printf("%-44s %10.1f us %7.1f GFLOP/s %5.1f %%\n", l->name, seconds * 1e6, rate,
           100 * rate / peak);
    fflush(stdout);
    free(x);
    free(w);
    free(bias);
    free(y);
}

static void print_cpu(void) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0) {
            printf("cpu%s", strchr(line, ':'));
            break;
        }
    if (file)
        fclose(file);
}

void bench(const struct context *context) {
    struct ipex_cpu cpu;
    ipex_cpu_detect(&cpu);
    print_cpu();
    for (size_t i = 1; i < context->n_levels; i++) {
        const struct level *level = &context->levels[i];
        if (level->isa != IPEX_ISA_avx2 && level->isa != IPEX_ISA_avx512)
            continue; /* the others run the same f32 kernels */
        printf("level %s, register-only FMA peak %.1f GFLOP/s, one thread\n", level->name,
               ipex_multiply_gflops(level->isa, IPEX_DTYPE_f32));
        for (size_t k = 0; k < sizeof layers / sizeof layers[0]; k++)
            if (wanted(context, layers[k].depthwise ? "depthwise_f32" : "conv_f32"))
                bench_layer(level, &layers[k], cpu.l2_bytes);
    }
}
