/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages without libc: a printf subset into the caller's buffer, cut where the buffer ends.
 */
#include <stdarg.h>
#include <string.h>

#include "format/base.h"

/* Names quoted where an error lies may be this long; a file must not be able to push the message
 * itself out of the buffer. */
#define QUOTE_MAX 96

struct sink {
    char *text;     /* NULL: only count */
    size_t size;    /* room, the terminator included */
    size_t length;  /* of the whole text, also where it was cut */
    size_t longest; /* of one %s */
};

static void put(struct sink *sink, char c) {
    if (sink->text && sink->length + 1 < sink->size)
        sink->text[sink->length] = c;
    sink->length++;
}

/* Names come from files: control characters must not reach a terminal. */
static void put_string(struct sink *sink, const char *s) {
    size_t length = strlen(s);
    for (size_t i = 0; i < length && i < sink->longest; i++)
        put(sink, ((unsigned char)s[i] < 0x20 && s[i] != '\n') || s[i] == 0x7f ? '?' : s[i]);
    for (int i = 0; i < 3 && length > sink->longest; i++)
        put(sink, '.');
}

static void put_unsigned(struct sink *sink, unsigned long long value) {
    char digits[20]; /* 2^64 has 20 */
    int n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    while (n > 0)
        put(sink, digits[--n]);
}

static void put_signed(struct sink *sink, long long value) {
    if (value < 0)
        put(sink, '-');
    put_unsigned(sink, value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value);
}

/* One conversion; returns the first character after it. */
static const char *convert(struct sink *sink, const char *format, va_list *args) {
    if (format[0] == 's') {
        put_string(sink, va_arg(*args, const char *));
        return format + 1;
    }
    if (format[0] == 'd') {
        put_signed(sink, va_arg(*args, int));
        return format + 1;
    }
    if (format[0] == 'u') {
        put_unsigned(sink, va_arg(*args, unsigned));
        return format + 1;
    }
    if (format[0] == 'l' && format[1] == 'l' && format[2] == 'd') {
        put_signed(sink, va_arg(*args, long long));
        return format + 3;
    }
    if (format[0] == 'l' && format[1] == 'l' && format[2] == 'u') {
        put_unsigned(sink, va_arg(*args, unsigned long long));
        return format + 3;
    }
    put(sink, '%');
    return format[0] == '%' ? format + 1 : format;
}

static void print(struct sink *sink, const char *format, va_list *args) {
    while (*format) {
        char c = *format++;
        if (c == '%')
            format = convert(sink, format, args);
        else
            put(sink, c);
    }
}

enum ipex_status ipex_fail(const struct ipex_report *report, enum ipex_status status,
                           const char *format, ...) {
    if (!report || !report->text || report->size == 0)
        return status;
    struct sink sink = {report->text, report->size, 0, SIZE_MAX};
    va_list args;
    va_start(args, format);
    print(&sink, format, &args);
    va_end(args);
    report->text[sink.length < report->size ? sink.length : report->size - 1] = 0;
    return status;
}

/* Opens a gap of `length` characters in front of the text that is there, dropping what no longer
 * fits. */
static void shift(const struct ipex_report *report, size_t length) {
    size_t old = strlen(report->text);
    size_t room = report->size - 1;
    size_t kept = length < room ? room - length : 0;
    if (kept > old)
        kept = old;
    if (kept > 0)
        memmove(report->text + length, report->text, kept);
    report->text[length < room ? length + kept : room] = 0;
}

enum ipex_status ipex_fail_at(const struct ipex_report *report, enum ipex_status status,
                              const char *format, ...) {
    if (!report || !report->text || report->size == 0)
        return status;
    struct sink sink = {NULL, 0, 0, QUOTE_MAX};
    va_list args;
    va_start(args, format);
    print(&sink, format, &args);
    va_end(args);
    shift(report, sink.length);
    sink = (struct sink){report->text, report->size, 0, QUOTE_MAX};
    va_start(args, format);
    print(&sink, format, &args);
    va_end(args);
    return status;
}
