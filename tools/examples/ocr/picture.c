/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: libjpeg and libpng read them; scaling and cutting follow the conventions of the program
 * with which the networks were trained (bilinear without smoothing, bicubic with a = -0.75 and
 * positions in 1/32 pixel), because a recogniser sees the difference. */
#include "tools/examples/ocr/picture.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

enum { SIDE_MAX = 20000 }; /* of pictures that are read; 20000 x 20000 x 3 bytes fit a size_t */

void *allocate(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "ocr: out of memory\n");
        exit(1);
    }
    return memory;
}

static struct picture make(int width, int height) {
    return (struct picture){width, height, allocate((size_t)width * (size_t)height, 3)};
}

static uint8_t *pixel(const struct picture *p, int x, int y) {
    return p->rgb + ((size_t)y * (size_t)p->width + (size_t)x) * 3;
}

static int clamp(int value, int lo, int hi) {
    return value < lo ? lo : value > hi ? hi : value;
}

static uint8_t to_byte(double value) {
    return (uint8_t)clamp((int)lrint(value), 0, 255);
}

/* ---- reading ---- */

struct jpeg_failure {
    struct jpeg_error_mgr manager; /* first: libjpeg hands out a pointer to it */
    jmp_buf back;
    char message[JMSG_LENGTH_MAX];
};

static void jpeg_failed(j_common_ptr info) {
    struct jpeg_failure *failure = (struct jpeg_failure *)info->err;
    info->err->format_message(info, failure->message);
    longjmp(failure->back, 1);
}

/* A file that ends too early is no picture, for libjpeg fills up what is missing; all else that it
 * warns of goes by. */
static void jpeg_warned(j_common_ptr info, int level) {
    const int code = info->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
        jpeg_failed(info);
}

static bool read_jpeg(FILE *file, struct picture *picture, struct jpeg_failure *failure) {
    struct jpeg_decompress_struct info;
    info.err = jpeg_std_error(&failure->manager);
    failure->manager.error_exit = jpeg_failed;
    failure->manager.emit_message = jpeg_warned;
    if (setjmp(failure->back)) { /* libjpeg reports errors by not returning */
        jpeg_destroy_decompress(&info);
        return false;
    }
    jpeg_create_decompress(&info);
    jpeg_stdio_src(&info, file);
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_RGB;
    if (info.image_width <= SIDE_MAX && info.image_height <= SIDE_MAX) {
        jpeg_start_decompress(&info);
        *picture = make((int)info.output_width, (int)info.output_height);
        while (info.output_scanline < info.output_height) {
            JSAMPROW row = pixel(picture, 0, (int)info.output_scanline);
            jpeg_read_scanlines(&info, &row, 1);
        }
        jpeg_finish_decompress(&info);
    } else {
        snprintf(failure->message, sizeof failure->message, "too large");
    }
    jpeg_destroy_decompress(&info);
    return picture->rgb;
}

static bool read_png(FILE *file, struct picture *picture, char *why, size_t size) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    png_color white = {255, 255, 255}; /* behind what is transparent */
    if (png_image_begin_read_from_stdio(&image, file)) {
        image.format = PNG_FORMAT_RGB;
        if (image.width <= SIDE_MAX && image.height <= SIDE_MAX) {
            *picture = make((int)image.width, (int)image.height);
            if (png_image_finish_read(&image, &white, picture->rgb, 0, NULL))
                return true;
        } else {
            snprintf(image.message, sizeof image.message, "too large");
        }
    }
    snprintf(why, size, "%s", image.message);
    png_image_free(&image);
    return false;
}

bool picture_read(const char *path, struct picture *ret) {
    struct jpeg_failure failure = {.message = "neither JPEG nor PNG"};
    struct picture picture = {0};
    uint8_t magic[4] = {0};
    bool done = false;
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return false;
    }
    size_t n = fread(magic, 1, sizeof magic, file);
    rewind(file);
    if (n == sizeof magic && !memcmp(magic, "\xff\xd8", 2))
        done = read_jpeg(file, &picture, &failure);
    else if (n == sizeof magic && !memcmp(magic, "\x89PNG", 4))
        done = read_png(file, &picture, failure.message, sizeof failure.message);
    fclose(file);
    if (done)
        *ret = picture;
    else
        fprintf(stderr, "ocr: %s: %s\n", path, failure.message), free(picture.rgb);
    return done;
}

bool picture_write_png(const struct picture *picture, const char *path) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)picture->width,
                       .height = (png_uint_32)picture->height,
                       .format = PNG_FORMAT_RGB};
    bool done = png_image_write_to_file(&image, path, 0, picture->rgb, 0, NULL);
    if (!done)
        fprintf(stderr, "ocr: %s: %s\n", path, image.message);
    return done;
}

/* ---- geometry ---- */

struct picture picture_copy(const struct picture *from) {
    struct picture to = make(from->width, from->height);
    memcpy(to.rgb, from->rgb, (size_t)to.width * (size_t)to.height * 3);
    return to;
}

struct picture picture_resize(const struct picture *from, int width, int height) {
    struct picture to = make(width, height);
    for (int y = 0; y < height; y++) {
        double v = fmax((y + 0.5) * from->height / height - 0.5, 0);
        int y0 = clamp((int)v, 0, from->height - 1), y1 = clamp(y0 + 1, 0, from->height - 1);
        for (int x = 0; x < width; x++) {
            double u = fmax((x + 0.5) * from->width / width - 0.5, 0);
            int x0 = clamp((int)u, 0, from->width - 1), x1 = clamp(x0 + 1, 0, from->width - 1);
            for (int c = 0; c < 3; c++) {
                double top =
                    pixel(from, x0, y0)[c] * (1 - u + x0) + pixel(from, x1, y0)[c] * (u - x0);
                double low =
                    pixel(from, x0, y1)[c] * (1 - u + x0) + pixel(from, x1, y1)[c] * (u - x0);
                pixel(&to, x, y)[c] = to_byte(top * (1 - v + y0) + low * (v - y0));
            }
        }
    }
    return to;
}

struct picture picture_letterbox(const struct picture *from, int rows) {
    struct picture to = make(from->width, from->height + 2 * rows);
    memcpy(pixel(&to, 0, rows), from->rgb, (size_t)from->width * (size_t)from->height * 3);
    return to;
}

/* Weights of the four pixels around a position `t` after the second one. */
static void cubic(double t, double weight[4]) {
    const double a = -0.75;
    weight[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    weight[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    weight[2] = ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1;
    weight[3] = 1 - weight[0] - weight[1] - weight[2];
}

static void sample(const struct picture *from, double x, double y, uint8_t *rgb) {
    double u = rint(x * 32) / 32, v = rint(y * 32) / 32, wx[4], wy[4], sum[3] = {0};
    int x0 = (int)floor(u), y0 = (int)floor(v);
    cubic(u - x0, wx);
    cubic(v - y0, wy);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const uint8_t *p = pixel(from, clamp(x0 + j - 1, 0, from->width - 1),
                                     clamp(y0 + i - 1, 0, from->height - 1));
            for (int c = 0; c < 3; c++)
                sum[c] += wy[i] * wx[j] * p[c];
        }
    for (int c = 0; c < 3; c++)
        rgb[c] = to_byte(sum[c]);
}

/* The projective map from the unit square to the corners: x = (a u + b v + c) / (g u + h v + 1). */
struct picture picture_cut(const struct picture *from, const struct point corner[4], int width,
                           int height) {
    const struct point *p = corner;
    double dx1 = p[1].x - p[2].x, dx2 = p[3].x - p[2].x, sx = p[0].x - p[1].x + p[2].x - p[3].x;
    double dy1 = p[1].y - p[2].y, dy2 = p[3].y - p[2].y, sy = p[0].y - p[1].y + p[2].y - p[3].y;
    double scale = dx1 * dy2 - dx2 * dy1;
    double g = scale != 0 ? (sx * dy2 - dx2 * sy) / scale : 0;
    double h = scale != 0 ? (dx1 * sy - sx * dy1) / scale : 0;
    struct picture to = make(width, height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double u = (double)x / width, v = (double)y / height, w = g * u + h * v + 1;
            sample(
                from,
                ((p[1].x - p[0].x + g * p[1].x) * u + (p[3].x - p[0].x + h * p[3].x) * v + p[0].x) /
                    w,
                ((p[1].y - p[0].y + g * p[1].y) * u + (p[3].y - p[0].y + h * p[3].y) * v + p[0].y) /
                    w,
                pixel(&to, x, y));
        }
    return to;
}

struct picture picture_turn(const struct picture *from, int quarters) {
    bool lies = quarters % 2;
    struct picture to = lies ? make(from->height, from->width) : make(from->width, from->height);
    for (int y = 0; y < from->height; y++)
        for (int x = 0; x < from->width; x++) {
            int at_x = quarters == 1   ? y
                       : quarters == 2 ? from->width - 1 - x
                                       : from->height - 1 - y;
            int at_y = quarters == 1   ? from->width - 1 - x
                       : quarters == 2 ? from->height - 1 - y
                                       : x;
            memcpy(pixel(&to, at_x, at_y), pixel(from, x, y), 3);
        }
    return to;
}

static void paint(struct picture *p, int x, int y, int radius) {
    static const uint8_t colour[3] = {11, 107, 203};
    for (int v = clamp(y - radius, 0, p->height); v < clamp(y + radius + 1, 0, p->height); v++)
        for (int u = clamp(x - radius, 0, p->width); u < clamp(x + radius + 1, 0, p->width); u++)
            memcpy(pixel(p, u, v), colour, sizeof colour);
}

void picture_outline(struct picture *picture, const struct point corner[4]) {
    int radius = (picture->width + picture->height) / 1000;
    for (int i = 0; i < 4; i++) {
        struct point a = corner[i], b = corner[(i + 1) % 4];
        int steps = 1 + (int)fmax(fabs(b.x - a.x), fabs(b.y - a.y));
        for (int k = 0; k <= steps; k++)
            paint(picture, (int)lrint(a.x + (b.x - a.x) * k / steps),
                  (int)lrint(a.y + (b.y - a.y) * k / steps), radius);
    }
}
