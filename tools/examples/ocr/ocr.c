/* SPDX-License-Identifier: Apache-2.0 */
/* ocr: reads the text in a picture with three networks of PP-OCR in one .ipex file.
 *
 *   detect      picture -> where lines of text are            [1][3][H][W], H and W multiples of 32
 *   classify    line    -> is it upside down?                 [N][3][48][192]
 *   recognize   line    -> characters                         [N][3][48][W]
 *
 * Lines are recognised six at a time, those of similar length together, each batch as wide as its
 * longest line: sizes change from run to run and cost neither memory nor a system call. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/examples/ocr/boxes.h"
#include "tools/examples/ocr/network.h"
#include "tools/examples/ocr/page.h"

enum {
    BATCH = 6,        /* lines */
    LINE_HEIGHT = 48, /* of what classifier and recogniser look at */
    TURN_WIDTH = 192, /* of what the classifier looks at */
    LINE_WIDTH = 320, /* the narrowest batch */
    SIDE_MAX = 2000,  /* a larger picture is made smaller first */
    SIDE_MIN = 30,
    FLAT = 8,         /* pictures this many times wider than high get black rows */
    DETECT_MIN = 736, /* the shorter side that the detector sees, at least */
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- pictures for networks ---- */

/* Writes a picture as planes blue, green, red in -1..1 at the left of [3][height][width]. */
static void normalise(const struct picture *p, float *to, int height, int width) {
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < p->height; y++)
            for (int x = 0; x < p->width; x++)
                to[((size_t)c * (size_t)height + (size_t)y) * (size_t)width + (size_t)x] =
                    (float)p->rgb[((size_t)y * (size_t)p->width + (size_t)x) * 3 + 2 - (size_t)c] /
                        255 * 2 -
                    1;
}

/* A batch of lines, each scaled to the height of 48 and at most `width` wide; the rest is 0. */
static float *line_batch(struct line *const *line, size_t n, int width) {
    size_t size = (size_t)3 * LINE_HEIGHT * (size_t)width;
    float *to = allocate(n * size, sizeof *to);
    for (size_t i = 0; i < n; i++) {
        const struct picture *p = &line[i]->picture;
        double scaled = ceil(LINE_HEIGHT * ((double)p->width / p->height));
        struct picture fit = picture_resize(p, scaled < width ? (int)scaled : width, LINE_HEIGHT);
        normalise(&fit, to + i * size, LINE_HEIGHT, width);
        free(fit.rgb);
    }
    return to;
}

static int to_multiple_of_32(double size) {
    int whole = (int)rint(trunc(size) / 32) * 32;
    return whole < 32 ? 32 : whole;
}

static void replace(struct picture *p, struct picture by) {
    free(p->rgb);
    *p = by;
}

/* Very large, very small and very flat pictures become what the networks know. */
static void prepare_page(struct page *page, bool letterbox) {
    struct picture *p = &page->picture;
    int width = p->width, height = p->height;
    int longer = width > height ? width : height, shorter = width < height ? width : height;
    double scale = longer > SIDE_MAX ? (double)SIDE_MAX / longer : 1;
    if (shorter * scale < SIDE_MIN)
        scale = (double)SIDE_MIN / shorter;
    if (scale != 1)
        replace(p, picture_resize(p, to_multiple_of_32(width * scale),
                                  to_multiple_of_32(height * scale)));
    page->width = width, page->height = height;
    page->scale_x = (double)width / p->width, page->scale_y = (double)height / p->height;
    if (letterbox && (p->height <= SIDE_MIN || p->width > FLAT * p->height)) {
        int rows = p->width / FLAT > SIDE_MIN ? p->width / FLAT : SIDE_MIN;
        page->letterbox = abs(2 * rows - p->height) / 2;
        replace(p, picture_letterbox(p, page->letterbox));
    }
}

/* ---- the three networks ---- */

/* Cuts a line out, upright: one that is much higher than wide was written from top to bottom. */
static struct picture cut_line(const struct picture *page, const struct point p[4]) {
    int width =
        (int)fmax(hypot(p[1].x - p[0].x, p[1].y - p[0].y), hypot(p[3].x - p[2].x, p[3].y - p[2].y));
    int height =
        (int)fmax(hypot(p[3].x - p[0].x, p[3].y - p[0].y), hypot(p[2].x - p[1].x, p[2].y - p[1].y));
    struct picture line = picture_cut(page, p, width, height);
    if (line.height >= 1.5 * line.width)
        replace(&line, picture_turn(&line, 1));
    return line;
}

static bool detect(struct network *n, struct page *page) {
    const struct picture *p = &page->picture;
    int shorter = p->width < p->height ? p->width : p->height;
    double scale = shorter < DETECT_MIN ? (double)DETECT_MIN / shorter : 1;
    int height = (int)fmin(to_multiple_of_32(p->height * scale), network_limit(n, 2));
    int width = (int)fmin(to_multiple_of_32(p->width * scale), network_limit(n, 3));
    struct picture fit = picture_resize(p, width, height);
    float *input = allocate((size_t)3 * (size_t)width * (size_t)height, sizeof *input);
    struct ipex_tensor map;
    normalise(&fit, input, height, width);
    bool done = network_prepare(n, 1, height, width, width) &&
                network_run(n, input, 1, height, width, &map);
    if (done) {
        struct box *box = boxes_find(map.data, width, height, p->width, p->height, &page->lines);
        page->line = allocate(page->lines, sizeof *page->line);
        for (size_t i = 0; i < page->lines; i++) {
            page->line[i].box = box[i];
            page->line[i].picture = cut_line(p, box[i].corner);
        }
        free(box);
    }
    free(input), free(fit.rgb);
    return done;
}

/* Turns lines around that the classifier is sure stand on their heads. */
static bool classify(struct network *n, struct line *const *line, size_t count) {
    float *input = line_batch(line, count, TURN_WIDTH);
    struct ipex_tensor y;
    bool done = network_run(n, input, (int)count, LINE_HEIGHT, TURN_WIDTH, &y);
    for (size_t i = 0; done && i < count; i++)
        if (((float *)y.data)[(int64_t)i * y.strides[0] + y.strides[1]] > 0.9f)
            replace(&line[i]->picture, picture_turn(&line[i]->picture, 2));
    free(input);
    return done;
}

/* The likeliest class of each time step; repetitions and the blank (class 0) are left out. */
static void read_text(const struct network *n, const struct ipex_tensor *y, size_t index,
                      struct line *line) {
    size_t size = 0, count = 0, capacity = (size_t)y->dims[1] * 8 + 1; /* UTF-8, 4 bytes at most */
    int64_t before = 0;
    line->text = allocate(capacity, 1);
    for (int64_t t = 0; t < y->dims[1]; t++) {
        const float *p =
            (const float *)y->data + (int64_t)index * y->strides[0] + t * y->strides[1];
        int64_t best = 0;
        for (int64_t c = 1; c < y->dims[2]; c++)
            if (p[c * y->strides[2]] > p[best * y->strides[2]])
                best = c;
        const char *label = ipex_image_label(n->model->image, n->entry, (size_t)best);
        if (best && best != before && label && size + strlen(label) < capacity) {
            memcpy(line->text + size, label, strlen(label));
            size += strlen(label);
            line->score += (double)p[best * y->strides[2]];
            count++;
        }
        before = best;
    }
    line->score /= count ? (double)count : 1;
}

/* Width of a batch: that of its longest line, but at least 320. */
static int batch_width(struct line *const *line, size_t count) {
    double ratio = (double)LINE_WIDTH / LINE_HEIGHT;
    for (size_t i = 0; i < count; i++)
        ratio = fmax(ratio, (double)line[i]->picture.width / line[i]->picture.height);
    return (int)(LINE_HEIGHT * ratio);
}

static bool recognize(struct network *n, struct line *const *line, size_t count) {
    int width = (int)fmin(batch_width(line, count), network_limit(n, 3));
    float *input = line_batch(line, count, width);
    struct ipex_tensor y;
    bool done = network_run(n, input, (int)count, LINE_HEIGHT, width, &y);
    for (size_t i = 0; done && i < count; i++)
        read_text(n, &y, i, line[i]);
    free(input);
    return done;
}

static int by_ratio(const void *left, const void *right) {
    const struct picture *a = &(*(struct line *const *)left)->picture;
    const struct picture *b = &(*(struct line *const *)right)->picture;
    double ra = (double)a->width / a->height, rb = (double)b->width / b->height;
    return (ra > rb) - (ra < rb);
}

/* Runs `stage` over all lines, six at a time, lines of similar length together. */
static bool each_batch(struct network *n, struct page *page, struct line **line,
                       bool (*stage)(struct network *, struct line *const *, size_t)) {
    for (size_t i = 0; i < page->lines; i++)
        line[i] = &page->line[i];
    qsort(line, page->lines, sizeof *line, by_ratio);
    for (size_t i = 0; i < page->lines; i += BATCH)
        if (!stage(n, line + i, page->lines - i < BATCH ? page->lines - i : BATCH))
            return false;
    return true;
}

static bool read_lines(struct network *classifier, struct network *recogniser, struct page *page) {
    struct line **line = allocate(page->lines, sizeof(struct line *));
    for (size_t i = 0; i < page->lines; i++)
        line[i] = &page->line[i];
    int width = (int)fmin(batch_width(line, page->lines), network_limit(recogniser, 3));
    double start = now();
    bool done = network_prepare(classifier, BATCH, LINE_HEIGHT, TURN_WIDTH, TURN_WIDTH) &&
                each_batch(classifier, page, line, classify);
    page->spent[1] = now() - start, start = now();
    done = done && network_prepare(recogniser, BATCH, LINE_HEIGHT, LINE_WIDTH, width) &&
           each_batch(recogniser, page, line, recognize);
    page->spent[2] = now() - start;
    free(line);
    return done;
}

/* Boxes in pixels of the picture file; lines that were hardly read are dropped. */
static void finish_page(struct page *page, bool whole_page) {
    size_t kept = 0;
    for (size_t i = 0; i < page->lines; i++) {
        struct line *line = &page->line[i];
        for (int k = 0; whole_page && k < 4; k++) {
            line->box.corner[k].x = fmax(line->box.corner[k].x, 0) * page->scale_x;
            line->box.corner[k].y =
                fmax(line->box.corner[k].y - page->letterbox, 0) * page->scale_y;
        }
        if (whole_page && line->score < 0.5)
            free(line->text), free(line->picture.rgb);
        else
            page->line[kept++] = *line;
    }
    page->lines = kept;
}

/* ---- the program ---- */

struct options {
    const char *model, *picture, *html, *png;
    int threads;
    bool line, json;
};

static int usage(void) {
    fprintf(
        stderr,
        "usage: ocr [--line] [--json] [--html FILE] [--png FILE] [--threads N] OCR.ipex PICTURE\n"
        "  --line     the picture is one line of text: do not look for lines\n"
        "  --json     one object a line, with box and score\n"
        "  --html     writes a page: the picture with boxes over it, and the text\n"
        "  --png      writes the picture with boxes\n"
        "  OCR.ipex   with entries detect, classify, recognize\n"
        "  PICTURE    JPEG or PNG\n");
    return 2;
}

static bool read_options(int argc, char **argv, struct options *ret) {
    static const struct option known[] = {
        {"line", no_argument, NULL, 'l'},          {"json", no_argument, NULL, 'j'},
        {"html", required_argument, NULL, 'h'},    {"png", required_argument, NULL, 'p'},
        {"threads", required_argument, NULL, 't'}, {0}};
    *ret = (struct options){.threads = 1};
    for (int key; (key = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (key == '?')
            return false;
        ret->line |= key == 'l';
        ret->json |= key == 'j';
        if (key == 'h')
            ret->html = optarg;
        if (key == 'p')
            ret->png = optarg;
        if (key == 't')
            ret->threads = atoi(optarg);
    }
    if (argc - optind != 2 || ret->threads < 1)
        return false;
    ret->model = argv[optind], ret->picture = argv[optind + 1];
    return true;
}

static bool read_page(struct network net[3], const struct options *options, struct page *page) {
    double start = now();
    prepare_page(page, !options->line);
    if (options->line) {
        page->line = allocate(1, sizeof *page->line);
        const double right = page->width - 1, low = page->height - 1;
        page->line[page->lines++] =
            (struct line){.box = {{{0, 0}, {right, 0}, {right, low}, {0, low}}},
                          .picture = picture_copy(&page->picture)};
    } else if (!detect(&net[0], page)) {
        return false;
    }
    page->spent[0] = now() - start;
    if (page->lines && !read_lines(&net[1], &net[2], page))
        return false;
    finish_page(page, !options->line);
    return true;
}

static bool show_page(const struct page *page, const struct options *options) {
    if (options->json)
        page_write_json(page);
    for (size_t i = 0; !options->json && i < page->lines; i++)
        puts(page->line[i].text);
    if (fflush(stdout) || ferror(stdout)) {
        perror("ocr: standard output");
        return false;
    }
    fprintf(stderr, "detect %.1f ms, classify %.1f ms, recognize %.1f ms, %zu lines\n",
            page->spent[0], page->spent[1], page->spent[2], page->lines);
    return (!options->html || page_write_html(page, options->picture, options->html)) &&
           (!options->png || page_write_png(page, options->picture, options->png));
}

int main(int argc, char **argv) {
    static const char *const entry[3] = {"detect", "classify", "recognize"};
    struct model model = {0};
    struct network net[3] = {0};
    struct page page = {0};
    struct options options;
    if (!read_options(argc, argv, &options))
        return usage();
    bool done = picture_read(options.picture, &page.picture) &&
                model_open(options.model, options.threads, &model);
    for (int i = 0; i < 3; i++)
        done = done && network_open(&model, entry[i], &net[i]);
    done = done && read_page(net, &options, &page) && show_page(&page, &options);
    for (size_t i = 0; i < page.lines; i++)
        free(page.line[i].text), free(page.line[i].picture.rgb);
    for (int i = 0; i < 3; i++)
        network_close(&net[i]);
    model_close(&model);
    free(page.line), free(page.picture.rgb);
    return done ? 0 : 1;
}
