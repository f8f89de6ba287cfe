/* SPDX-License-Identifier: Apache-2.0 */
/* Running a band group: for every band of the last member's lines, the lines that it reads and the
 * buffers lack are written first, by members that see to what they read in the same way. Each is
 * called with arguments narrowed to its lines. */
#include "runtime/band_run.h"

#include <string.h>

#include "format/ops.h"
#include "runtime/bind.h"

/* [begin, end) of lines, or of rows (borders included). */
struct range {
    int64_t begin, end;
};

/* Where a job is. */
struct band {
    const struct ipex_band_args *args;
    char *scratch;
    int64_t image;
    struct range held[IPEX_BAND_MEMBERS]; /* rows in a buffer */
};

int64_t ipex_band_buffers(struct ipex_band_args *args, int64_t lines) {
    int64_t total = 0;
    for (int32_t i = args->members - 1; i > 0; i--) {
        const struct ipex_band_member *member = &args->member[i];
        const int64_t wanted = member->y.buffer < 0 ? lines : args->buffer[member->y.buffer].rows;
        const int64_t read = ipex_min_i64(wanted, member->at_once);
        for (int32_t b = 0; b < args->buffers; b++) {
            struct ipex_band_buffer *buffer = &args->buffer[b];
            if (buffer->reader != i)
                continue;
            buffer->rows = ipex_min_i64((read - 1) * buffer->stride + buffer->window,
                                        buffer->top + buffer->lines + buffer->below);
            buffer->begin = total;
            total += (buffer->rows * buffer->row * buffer->size + 63) / 64 * 64; /* cache lines */
        }
    }
    return total;
}

/* The borders at the left and right of all rows: members write between them, and rows move as a
 * whole. */
static void zero_columns(const struct ipex_band_args *args, char *scratch) {
    for (int32_t b = 0; b < args->buffers; b++) {
        const struct ipex_band_buffer *buffer = &args->buffer[b];
        const int64_t row = buffer->row * buffer->size, right = buffer->right * buffer->size;
        char *at = scratch + buffer->begin;
        for (int64_t r = 0; r < buffer->rows; r++, at += row) {
            memset(at, buffer->border, (size_t)(buffer->left * buffer->size));
            memset(at + row - right, buffer->border, (size_t)right);
        }
    }
}

/* The rows of a buffer that its reader reads for these lines. */
static struct range rows_read(const struct ipex_band_buffer *buffer, struct range lines) {
    const int64_t end = buffer->above + (lines.end - 1) * buffer->stride + buffer->window;
    return (struct range){
        ipex_max_i64(buffer->above + lines.begin * buffer->stride, 0),
        ipex_min_i64(end, buffer->top + buffer->lines + buffer->below),
    };
}

/* Moves a buffer's window to the rows wanted, keeping what it holds of them, and zeroes borders
 * above and below the tensor among the new ones. Returns the lines to be written. */
static struct range slide(struct band *band, int32_t b, struct range wanted) {
    const struct ipex_band_buffer *buffer = &band->args->buffer[b];
    const struct range held = band->held[b];
    const int64_t row = buffer->row * buffer->size, bottom = buffer->top + buffer->lines;
    const int64_t first_new = ipex_max_i64(wanted.begin, held.end);
    char *base = band->scratch + buffer->begin;
    if (held.end > wanted.begin && held.begin < wanted.begin)
        memmove(base, base + (wanted.begin - held.begin) * row,
                (size_t)((held.end - wanted.begin) * row));
    for (int64_t r = first_new; r < wanted.end; r++)
        if (r < buffer->top || r >= bottom)
            memset(base + (r - wanted.begin) * row, buffer->border, (size_t)row);
    band->held[b] = wanted;
    return (struct range){
        ipex_max_i64(first_new - buffer->top, 0),
        ipex_min_i64(wanted.end - buffer->top, buffer->lines),
    };
}

/* ---- operands of one image, from line `at` on; `p` is where they begin if not in a buffer ---- */

static void *buffer_row(const struct band *band, struct ipex_band_operand operand, int64_t row) {
    const struct ipex_band_buffer *buffer = &band->args->buffer[operand.buffer];
    const int64_t held = row - band->held[operand.buffer].begin;
    return band->scratch + buffer->begin + (held * buffer->row + operand.shift) * buffer->size;
}

static const void *first_x(const struct band *band, const struct ipex_band_member *member,
                           int32_t input, const void *p, int64_t image, int64_t line, int64_t at) {
    const struct ipex_band_operand x = member->x[input];
    if (x.buffer < 0)
        return (const char *)p + (band->image * image + at * line) * member->x_size[input];
    const struct ipex_band_buffer *buffer = &band->args->buffer[x.buffer];
    return buffer_row(band, x, buffer->above + at * buffer->stride);
}

static void *first_y(const struct band *band, const struct ipex_band_member *member, void *p,
                     int64_t image, int64_t line, int64_t at) {
    if (member->y.buffer < 0)
        return (char *)p + (band->image * image + at * line) * member->y_size;
    return buffer_row(band, member->y, band->args->buffer[member->y.buffer].top + at);
}

/* ---- members ---- */

/* Sets what the arguments of windows have alike: one image, lines [begin, end). */
#define NARROW(narrow, band, member, range, x_step)                                                \
    do {                                                                                           \
        const int64_t begin_ = (range).begin;                                                      \
        (narrow)->x =                                                                              \
            first_x(band, member, 0, (narrow)->x, (narrow)->x_image, (narrow)->x_step, begin_);    \
        if ((narrow)->residual != NULL)                                                            \
            (narrow)->residual += (band)->image * (narrow)->r_image + begin_ * (narrow)->r_line;   \
        (narrow)->images = 1;                                                                      \
        (narrow)->lines = (int32_t)((range).end - begin_);                                         \
    } while (0)

/* A pointer to y. */
#define NARROW_Y(narrow, pointer, band, member, range)                                             \
    ((narrow)->pointer = first_y(band, member, (narrow)->pointer, (narrow)->y_image,               \
                                 (narrow)->y_line, (range).begin))

/* Of f32 or bf16. */
#define NARROW_ANY_Y(narrow, band, member, range)                                                  \
    do {                                                                                           \
        if ((member)->y_size == sizeof *(narrow)->y_bf16)                                          \
            NARROW_Y(narrow, y_bf16, band, member, range);                                         \
        else                                                                                       \
            NARROW_Y(narrow, y, band, member, range);                                              \
    } while (0)

/* And of those that know where x ends. */
#define NARROW_PADDED(narrow, band, member, range)                                                 \
    do {                                                                                           \
        const int64_t after_ = (narrow)->lines - (range).end;                                      \
        (narrow)->padding.above -= (range).begin * (narrow)->padding.stride;                       \
        (narrow)->padding.below -= after_ * (narrow)->padding.stride;                              \
        NARROW(narrow, band, member, range, x_line);                                               \
        (narrow)->lines_per_job = (narrow)->lines;                                                 \
    } while (0)

static void call_conv(const struct band *band, const struct ipex_band_member *member,
                      struct range lines, void *scratch) {
    struct ipex_conv_args narrow = member->args.conv;
    if (narrow.residual_bf16 != NULL)
        narrow.residual_bf16 += band->image * narrow.r_image + lines.begin * narrow.r_line;
    if (narrow.residual_u8 != NULL)
        narrow.residual_u8 += band->image * narrow.r_image + lines.begin * narrow.r_line;
    if (member->y_size == sizeof *narrow.y_u8)
        NARROW_Y(&narrow, y_u8, band, member, lines);
    else
        NARROW_ANY_Y(&narrow, band, member, lines);
    NARROW_PADDED(&narrow, band, member, lines);
    member->fn(&narrow, 0, ipex_conv_jobs(&narrow), scratch);
}

static void call_depthwise(const struct band *band, const struct ipex_band_member *member,
                           struct range lines, void *scratch) {
    struct ipex_depthwise_args narrow = member->args.depthwise;
    NARROW_ANY_Y(&narrow, band, member, lines);
    NARROW_PADDED(&narrow, band, member, lines);
    member->fn(&narrow, 0, ipex_depthwise_jobs(&narrow), scratch);
}

/* Blocks of as many tiles each. */
static void call_winograd(const struct band *band, const struct ipex_band_member *member,
                          struct range lines, void *scratch) {
    struct ipex_winograd_args narrow = member->args.winograd;
    NARROW_Y(&narrow, y, band, member, lines);
    NARROW(&narrow, band, member, lines, x_row);
    const int64_t tiles = ipex_winograd_tiles(&narrow);
    const int64_t blocks = ipex_ceil_div(tiles, narrow.tiles_per_job);
    narrow.tiles_per_job = (int32_t)ipex_ceil_div(tiles, blocks);
    member->fn(&narrow, 0, ipex_winograd_jobs(&narrow), scratch);
}

static void call_pointwise(const struct band *band, const struct ipex_band_member *member,
                           struct range lines, void *scratch) {
    struct ipex_pointwise_args narrow = member->args.pointwise;
    const bool y_u8 = member->y_size == sizeof *narrow.y_u8;
    for (int32_t i = 0; i < narrow.inputs; i++) {
        const bool u8 = member->x_size[i] == sizeof *narrow.x_u8[i];
        const void *from = u8 ? (const void *)narrow.x_u8[i] : narrow.x[i];
        const void *x = first_x(band, member, i, from, narrow.x_stride[i][0], narrow.x_stride[i][1],
                                lines.begin);
        narrow.x[i] = u8 ? NULL : x;
        narrow.x_u8[i] = u8 ? x : NULL;
    }
    void *y = first_y(band, member, y_u8 ? (void *)narrow.y_u8 : narrow.y, narrow.y_stride[0],
                      narrow.y_stride[1], lines.begin);
    narrow.y = y_u8 ? NULL : y;
    narrow.y_u8 = y_u8 ? y : NULL;
    narrow.dims[0] = 1;
    narrow.dims[1] = lines.end - lines.begin;
    member->fn(&narrow, 0, ipex_pointwise_jobs(&narrow), scratch);
}

/* Where an operand would begin if all of it lay as its buffer does. */
static void *whole(const struct band *band, struct ipex_band_operand operand, int64_t image) {
    const struct ipex_band_buffer *buffer = &band->args->buffer[operand.buffer];
    return (char *)buffer_row(band, operand, buffer->top) - band->image * image * buffer->size;
}

/* Lines keep their numbers, which say what they are made of: a job is a line. */
static void call_resize(const struct band *band, const struct ipex_band_member *member,
                        struct range lines, void *scratch) {
    struct ipex_resize_args narrow = member->args.resize;
    const int64_t first = band->image * narrow.lines;
    if (member->y.buffer >= 0)
        narrow.y = whole(band, member->y, narrow.y_image);
    member->fn(&narrow, first + lines.begin, first + lines.end, scratch);
}

static void call_pool(const struct band *band, const struct ipex_band_member *member,
                      struct range lines, void *scratch) {
    struct ipex_pool_args narrow = member->args.pool;
    const int64_t first = band->image * narrow.lines;
    if (member->x[0].buffer >= 0)
        narrow.x = whole(band, member->x[0], narrow.x_image);
    if (member->y.buffer >= 0)
        narrow.y = whole(band, member->y, narrow.y_image);
    member->fn(&narrow, first + lines.begin, first + lines.end, scratch);
}

static void call_move(const struct band *band, const struct ipex_band_member *member,
                      struct range lines, void *scratch) {
    struct ipex_move_args narrow = member->args.move;
    narrow.x =
        first_x(band, member, 0, narrow.x, narrow.x_stride[0], narrow.x_stride[1], lines.begin);
    narrow.y = first_y(band, member, narrow.y, narrow.y_stride[0], narrow.y_stride[1], lines.begin);
    narrow.dims[0] = 1;
    narrow.dims[1] = lines.end - lines.begin;
    member->fn(&narrow, 0, 1, scratch);
}

static void call(const struct band *band, const struct ipex_band_member *member,
                 struct range lines) {
    void *scratch = band->scratch + band->args->member_scratch;
    switch (member->op) {
    case IPEX_OP_conv:
        call_conv(band, member, lines, scratch);
        break;
    case IPEX_OP_depthwise:
        call_depthwise(band, member, lines, scratch);
        break;
    case IPEX_OP_winograd:
        call_winograd(band, member, lines, scratch);
        break;
    case IPEX_OP_max_pool:
    case IPEX_OP_avg_pool:
        call_pool(band, member, lines, scratch);
        break;
    case IPEX_OP_pointwise:
        call_pointwise(band, member, lines, scratch);
        break;
    case IPEX_OP_resize:
        call_resize(band, member, lines, scratch);
        break;
    default:
        call_move(band, member, lines, scratch);
    }
}

/* Lines of a member, and before them what they are made of. Members read what earlier ones write,
 * so this ends. */
static void compute(struct band *band, int32_t index, struct range lines) {
    const struct ipex_band_args *args = band->args;
    const struct ipex_band_member *member = &args->member[index];
    struct range part = {.end = lines.begin};
    while (part.end < lines.end) {
        part.begin = part.end;
        part.end = ipex_min_i64(part.begin + member->at_once, lines.end);
        for (int32_t b = 0; b < args->buffers; b++) {
            if (args->buffer[b].reader != index)
                continue;
            const struct range missing = slide(band, b, rows_read(&args->buffer[b], part));
            for (int32_t writer = 0; writer < index; writer++)
                if (args->member[writer].y.buffer == b)
                    compute(band, writer, missing);
        }
        call(band, member, part);
    }
}

void ipex_band_run(const void *args_, int64_t job_begin, int64_t job_end, void *scratch) {
    const struct ipex_band_args *args = args_;
    const int64_t blocks = ipex_ceil_div(args->lines, args->lines_per_job);
    zero_columns(args, scratch);
    for (int64_t job = job_begin; job < job_end; job++) {
        struct band band = {.args = args, .scratch = scratch, .image = job / blocks};
        const int64_t begin = job % blocks * args->lines_per_job;
        const int64_t end = ipex_min_i64(begin + args->lines_per_job, args->lines);
        for (int64_t line = begin; line < end; line += args->lines_per_band)
            compute(&band, args->members - 1,
                    (struct range){line, ipex_min_i64(line + args->lines_per_band, end)});
    }
}
