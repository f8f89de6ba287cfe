/* SPDX-License-Identifier: Apache-2.0 */
/* Running a band group: for every band of the last member's lines, from the last member to the
 * first, which lines are missing; then, from the first to the last, these lines, each member called
 * with arguments narrowed to them. */
#include "runtime/band_run.h"

#include <string.h>

#include "runtime/bind.h"

/* [begin, end) of lines, or of rows (borders included). */
struct range {
    int64_t begin, end;
};

/* Where a job is. */
struct band {
    const struct ipex_band_args *args;
    float *scratch;
    int64_t image;
    struct range held[IPEX_BAND_MEMBERS];    /* rows in a member's buffer */
    struct range wanted[IPEX_BAND_MEMBERS];  /* rows that its reader reads now */
    struct range missing[IPEX_BAND_MEMBERS]; /* lines that it has to compute for them */
};

static bool is_empty(struct range range) {
    return range.begin >= range.end;
}

int64_t ipex_band_buffers(struct ipex_band_args *args, int64_t lines) {
    int64_t total = 0;
    for (int32_t i = args->members - 1; i > 0; i--) {
        const struct ipex_band_member *reader = &args->member[i];
        struct ipex_band_buffer *buffer = &args->member[i - 1].buffer;
        buffer->rows = ipex_min_i64((lines - 1) * reader->stride + reader->window,
                                    buffer->top + buffer->lines + buffer->below);
        buffer->begin = total;
        total += (buffer->rows * buffer->row + 15) / 16 * 16; /* whole cache lines */
        lines = buffer->rows;
    }
    return total;
}

/* The borders at the left and right of all rows: members write between them, and rows move as a
 * whole. */
static void zero_columns(const struct ipex_band_args *args, float *scratch) {
    for (int32_t i = 0; i + 1 < args->members; i++) {
        const struct ipex_band_buffer *buffer = &args->member[i].buffer;
        float *row = scratch + buffer->begin;
        for (int64_t r = 0; r < buffer->rows; r++, row += buffer->row) {
            memset(row, 0, (size_t)buffer->left * sizeof *row);
            memset(row + buffer->row - buffer->right, 0, (size_t)buffer->right * sizeof *row);
        }
    }
}

/* What every member has to compute for these lines of the last. */
static void find_missing(struct band *band, struct range lines) {
    for (int32_t i = band->args->members - 1; i > 0; i--) {
        const struct ipex_band_member *reader = &band->args->member[i];
        const struct ipex_band_buffer *buffer = &band->args->member[i - 1].buffer;
        struct range rows = {0, 0};
        band->missing[i] = lines;
        if (!is_empty(lines)) {
            rows.begin = reader->above + lines.begin * reader->stride;
            rows.end = reader->above + (lines.end - 1) * reader->stride + reader->window;
        }
        band->wanted[i - 1] = rows;
        lines.begin =
            ipex_max_i64(ipex_max_i64(rows.begin, band->held[i - 1].end) - buffer->top, 0);
        lines.end = ipex_min_i64(rows.end - buffer->top, buffer->lines);
    }
    band->missing[0] = lines;
}

/* Moves a buffer's window to the rows wanted, keeping what it holds of them, and zeroes borders
 * above and below the tensor among the new ones. */
static void slide(struct band *band, int32_t member) {
    const struct ipex_band_buffer *buffer = &band->args->member[member].buffer;
    const struct range wanted = band->wanted[member], held = band->held[member];
    const int64_t row = buffer->row, bottom = buffer->top + buffer->lines;
    float *base = band->scratch + buffer->begin;
    if (is_empty(wanted))
        return;
    if (held.end > wanted.begin && held.begin < wanted.begin)
        memmove(base, base + (wanted.begin - held.begin) * row,
                (size_t)((held.end - wanted.begin) * row) * sizeof *base);
    for (int64_t r = ipex_max_i64(wanted.begin, held.end); r < wanted.end; r++)
        if (r < buffer->top || r >= bottom)
            memset(base + (r - wanted.begin) * row, 0, (size_t)row * sizeof *base);
    band->held[member] = wanted;
}

/* Sets what conv and depthwise arguments have alike: one image, lines [begin, end). */
#define NARROW(narrow, band, index, range)                                                         \
    do {                                                                                           \
        const int64_t begin_ = (range).begin;                                                      \
        (narrow)->x =                                                                              \
            first_x(band, index, (narrow)->x, (narrow)->x_image, (narrow)->x_line, begin_);        \
        (narrow)->y =                                                                              \
            first_y(band, index, (narrow)->y, (narrow)->y_image, (narrow)->y_line, begin_);        \
        if ((narrow)->residual != NULL)                                                            \
            (narrow)->residual += (band)->image * (narrow)->r_image + begin_ * (narrow)->r_line;   \
        (narrow)->padding.above -= begin_ * (narrow)->padding.stride;                              \
        (narrow)->padding.below -= ((narrow)->lines - (range).end) * (narrow)->padding.stride;     \
        (narrow)->images = 1;                                                                      \
        (narrow)->lines = (narrow)->lines_per_job = (int32_t)((range).end - begin_);               \
    } while (0)

static const void *first_x(const struct band *band, int32_t member, const void *x, int64_t image,
                           int64_t line, int64_t at) {
    const struct ipex_band_member *reader = &band->args->member[member];
    if (member == 0)
        return (const char *)x + (band->image * image + at * line) * reader->x_size;
    const struct ipex_band_buffer *buffer = &band->args->member[member - 1].buffer;
    const int64_t row = reader->above + at * reader->stride - band->held[member - 1].begin;
    return band->scratch + buffer->begin + row * buffer->row + buffer->tap;
}

static float *first_y(const struct band *band, int32_t member, float *y, int64_t image,
                      int64_t line, int64_t at) {
    if (member == band->args->members - 1)
        return y + band->image * image + at * line;
    const struct ipex_band_buffer *buffer = &band->args->member[member].buffer;
    const int64_t row = buffer->top + at - band->held[member].begin;
    return band->scratch + buffer->begin + row * buffer->row + buffer->left;
}

static void call(const struct band *band, int32_t index) {
    const struct ipex_band_member *member = &band->args->member[index];
    const struct range lines = band->missing[index];
    float *scratch = band->scratch + band->args->member_scratch;
    if (is_empty(lines))
        return;
    if (member->depthwise) {
        struct ipex_depthwise_args narrow = member->args.depthwise;
        NARROW(&narrow, band, index, lines);
        member->fn(&narrow, 0, ipex_depthwise_jobs(&narrow), scratch);
    } else {
        struct ipex_conv_args narrow = member->args.conv;
        NARROW(&narrow, band, index, lines);
        member->fn(&narrow, 0, ipex_conv_jobs(&narrow), scratch);
    }
}

static void run_band(struct band *band, struct range lines) {
    find_missing(band, lines);
    for (int32_t i = 0; i < band->args->members; i++) {
        if (i + 1 < band->args->members)
            slide(band, i);
        call(band, i);
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
            run_band(&band, (struct range){line, ipex_min_i64(line + args->lines_per_band, end)});
    }
}
