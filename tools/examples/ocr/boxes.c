/* SPDX-License-Identifier: Apache-2.0 */
/* Probabilities above 0.3 are text; each connected region (and each hole in one) gets the smallest
 * rectangle around it. Rectangles whose mean probability is under 0.5 are dropped; the others are
 * grown by area * 1.6 / circumference, because the network was trained on shrunk lines. */
#include "tools/examples/ocr/boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_PROBABILITY 0.3f
#define BOX_SCORE        0.5
#define GROWTH           1.6
enum { REGIONS_MAX = 1000, SIDE_MIN = 3 };

struct map {
    const float *probability; /* [height][width] */
    uint8_t *text;            /* [height][width]: 1 where text is, and the pixels right and below */
    uint8_t *seen;            /* [height][width] */
    int *stack;               /* [height * width] */
    int *first, *last;        /* [height]: columns of the region in hand; first > last: none */
    struct point *point;      /* [2 * height] */
    int width, height;
};

struct rectangle {
    struct point corner[4];
    double width, height;
};

/* ---- regions ---- */

static void mark_text(struct map *m) {
    for (int y = 0; y < m->height; y++)
        for (int x = 0; x < m->width; x++)
            for (int i = 0; i < 4; i++) {
                int u = x - i % 2, v = y - i / 2;
                if (u >= 0 && v >= 0 && m->probability[v * m->width + u] > TEXT_PROBABILITY)
                    m->text[y * m->width + x] = 1;
            }
}

static void cover(struct map *m, int x, int y) {
    m->first[y] = x < m->first[y] ? x : m->first[y];
    m->last[y] = x > m->last[y] ? x : m->last[y];
}

/* Floods the region of pixel `start`: text over 8 neighbours, holes over 4; covers its pixels, of a
 * hole also those that enclose it. False for the surroundings of all text. */
static bool flood(struct map *m, int start) {
    static const int dx[8] = {1, -1, 0, 0, 1, 1, -1, -1}, dy[8] = {0, 0, 1, -1, 1, -1, 1, -1};
    const uint8_t text = m->text[start];
    bool enclosed = true;
    int depth = 0;
    for (int y = 0; y < m->height; y++)
        m->first[y] = m->width, m->last[y] = -1;
    m->seen[start] = 1;
    m->stack[depth++] = start;
    while (depth) {
        int at = m->stack[--depth], x = at % m->width, y = at / m->width;
        cover(m, x, y);
        for (int i = 0; i < (text ? 8 : 4); i++) {
            int u = x + dx[i], v = y + dy[i], to = v * m->width + u;
            if (u < 0 || v < 0 || u >= m->width || v >= m->height) {
                enclosed = false;
            } else if (m->text[to] != text) {
                if (!text)
                    cover(m, u, v);
            } else if (!m->seen[to]) {
                m->seen[to] = 1;
                m->stack[depth++] = to;
            }
        }
    }
    return text || enclosed;
}

/* ---- rectangles ---- */

static double cross(struct point a, struct point b, struct point c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

static int by_row(const void *left, const void *right) {
    const struct point *a = left, *b = right;
    if (a->y != b->y)
        return a->y < b->y ? -1 : 1;
    return (a->x > b->x) - (a->x < b->x);
}

/* Convex hull of n points; ret_hull has room for n + 1. */
static size_t convex_hull(struct point *point, size_t n, struct point *ret_hull) {
    size_t size = 0;
    qsort(point, n, sizeof *point, by_row);
    for (size_t i = 0; i < n; i++) {
        while (size > 1 && cross(ret_hull[size - 2], ret_hull[size - 1], point[i]) <= 0)
            size--;
        ret_hull[size++] = point[i];
    }
    for (size_t i = n - 1, lower = size + 1; i-- > 0;) {
        while (size >= lower && cross(ret_hull[size - 2], ret_hull[size - 1], point[i]) <= 0)
            size--;
        ret_hull[size++] = point[i];
    }
    return size > 1 ? size - 1 : size;
}

/* Sorts corners: top left, top right, bottom right, bottom left. */
static void order_corners(struct point corner[4]) {
    struct point p[4], swap;
    memcpy(p, corner, sizeof p);
    for (int i = 1; i < 4; i++)
        for (int j = i; j > 0 && p[j].x < p[j - 1].x; j--)
            swap = p[j], p[j] = p[j - 1], p[j - 1] = swap;
    int left = p[1].y > p[0].y ? 0 : 1, right = p[3].y > p[2].y ? 2 : 3;
    corner[0] = p[left], corner[1] = p[right], corner[2] = p[5 - right], corner[3] = p[1 - left];
}

/* The smallest rectangle around a hull: one of its sides lies on a side of the hull. */
static struct rectangle smallest_rectangle(const struct point *hull, size_t n) {
    struct rectangle best = {0};
    for (size_t i = 0; i < n; i++) {
        struct point a = hull[i], b = hull[(i + 1) % n];
        double length = hypot(b.x - a.x, b.y - a.y), ux, uy;
        double lo_u = 0, hi_u = 0, lo_v = 0, hi_v = 0;
        if (length == 0)
            continue;
        ux = (b.x - a.x) / length, uy = (b.y - a.y) / length;
        for (size_t k = 0; k < n; k++) {
            double u = (hull[k].x - a.x) * ux + (hull[k].y - a.y) * uy;
            double v = (hull[k].y - a.y) * ux - (hull[k].x - a.x) * uy;
            lo_u = fmin(lo_u, u), hi_u = fmax(hi_u, u);
            lo_v = fmin(lo_v, v), hi_v = fmax(hi_v, v);
        }
        double width = hi_u - lo_u, height = hi_v - lo_v;
        if (best.width == 0 || width * height < best.width * best.height) {
            const double u[4] = {lo_u, hi_u, hi_u, lo_u}, v[4] = {lo_v, lo_v, hi_v, hi_v};
            for (int k = 0; k < 4; k++)
                best.corner[k] =
                    (struct point){a.x + u[k] * ux - v[k] * uy, a.y + u[k] * uy + v[k] * ux};
            best.width = width, best.height = height;
        }
    }
    order_corners(best.corner);
    return best;
}

static struct rectangle region_rectangle(struct map *m, struct point *hull) {
    size_t n = 0;
    for (int y = 0; y < m->height; y++)
        if (m->first[y] <= m->last[y]) {
            m->point[n++] = (struct point){m->first[y], y};
            m->point[n++] = (struct point){m->last[y], y};
        }
    return smallest_rectangle(hull, convex_hull(m->point, n, hull));
}

/* Mean probability inside, borders included; corners cut to whole pixels. */
static double mean_score(const struct map *m, const struct point corner[4]) {
    double sum = 0;
    long count = 0;
    for (int y = 0; y < m->height; y++) {
        double first = m->width, last = -1;
        for (int i = 0; i < 4; i++) {
            struct point a = {trunc(corner[i].x), trunc(corner[i].y)};
            struct point b = {trunc(corner[(i + 1) % 4].x), trunc(corner[(i + 1) % 4].y)};
            double from = fmax(fmin(a.y, b.y), y - 0.5), to = fmin(fmax(a.y, b.y), y + 0.5);
            if (from > to)
                continue;
            double slope = a.y == b.y ? 0 : (b.x - a.x) / (b.y - a.y);
            double x0 = a.y == b.y ? a.x : a.x + (from - a.y) * slope;
            double x1 = a.y == b.y ? b.x : a.x + (to - a.y) * slope;
            first = fmin(first, fmin(x0, x1)), last = fmax(last, fmax(x0, x1));
        }
        for (int x = (int)fmax(rint(first), 0); x <= fmin(rint(last), m->width - 1); x++)
            sum += m->probability[y * m->width + x], count++;
    }
    return count ? sum / (double)count : 0;
}

/* The rectangle around all that is within `distance` of the rectangle, its corners cut to whole
 * pixels: around each of them a circle of 64 points in whole pixels. */
static struct rectangle grow(const struct rectangle *r, double distance) {
    enum { STEPS = 64 };
    struct point point[4 * STEPS], hull[4 * STEPS + 1];
    for (int i = 0; i < 4 * STEPS; i++) {
        double angle = 6.283185307179586 * i / STEPS;
        point[i].x = rint(trunc(r->corner[i / STEPS].x) + distance * cos(angle));
        point[i].y = rint(trunc(r->corner[i / STEPS].y) + distance * sin(angle));
    }
    return smallest_rectangle(hull, convex_hull(point, 4 * STEPS, hull));
}

/* ---- boxes ---- */

static double bound(double value, double hi) {
    return fmin(fmax(value, 0), hi);
}

/* The box of the region in hand, in the picture's pixels; false when it is none. */
static bool region_box(struct map *m, struct point *hull, int width, int height, struct box *ret) {
    struct rectangle r = region_rectangle(m, hull);
    if (fmin(r.width, r.height) < SIDE_MIN || mean_score(m, r.corner) < BOX_SCORE)
        return false;
    r = grow(&r, r.width * r.height * GROWTH / (2 * (r.width + r.height)));
    if (fmin(r.width, r.height) < SIDE_MIN + 2)
        return false;
    for (int i = 0; i < 4; i++) {
        r.corner[i].x = bound(rint(bound(r.corner[i].x / m->width * width, width)), width - 1);
        r.corner[i].y = bound(rint(bound(r.corner[i].y / m->height * height, height)), height - 1);
    }
    order_corners(r.corner);
    memcpy(ret->corner, r.corner, sizeof r.corner);
    const struct point *p = r.corner;
    return trunc(hypot(p[1].x - p[0].x, p[1].y - p[0].y)) > SIDE_MIN &&
           trunc(hypot(p[3].x - p[0].x, p[3].y - p[0].y)) > SIDE_MIN;
}

static int by_first_corner(const void *left, const void *right) {
    return by_row(&((const struct box *)left)->corner[0], &((const struct box *)right)->corner[0]);
}

/* Top to bottom; what begins within 10 rows of each other is one line, left to right. */
static void sort_boxes(struct box *box, size_t n) {
    qsort(box, n, sizeof *box, by_first_corner);
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0; j--) {
            struct box swap = box[j];
            if (fabs(box[j].corner[0].y - box[j - 1].corner[0].y) >= 10 ||
                box[j].corner[0].x >= box[j - 1].corner[0].x)
                break;
            box[j] = box[j - 1], box[j - 1] = swap;
        }
}

struct box *boxes_find(const float *map, int width, int height, int picture_width,
                       int picture_height, size_t *ret_count) {
    size_t pixels = (size_t)width * (size_t)height, rows = (size_t)height, regions = 0;
    struct map m = {.probability = map, .width = width, .height = height};
    struct box *box = allocate(REGIONS_MAX, sizeof *box);
    struct point *hull = allocate(2 * rows + 1, sizeof *hull);
    m.text = allocate(pixels, 1), m.seen = allocate(pixels, 1);
    m.stack = allocate(pixels, sizeof *m.stack);
    m.first = allocate(rows, sizeof *m.first), m.last = allocate(rows, sizeof *m.last);
    m.point = allocate(2 * rows, sizeof *m.point);
    mark_text(&m);
    *ret_count = 0;
    for (size_t i = 0; i < pixels && regions < REGIONS_MAX; i++)
        if (!m.seen[i] && flood(&m, (int)i)) {
            regions++;
            *ret_count += region_box(&m, hull, picture_width, picture_height, &box[*ret_count]);
        }
    sort_boxes(box, *ret_count);
    free(hull), free(m.text), free(m.seen), free(m.stack);
    free(m.first), free(m.last), free(m.point);
    return box;
}
