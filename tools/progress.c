/* SPDX-License-Identifier: Apache-2.0 */
/* See progress.h. The text is written to one of two buffers while the timer's handler shows the
 * other; the handler calls nothing but write(). */
#include "tools/progress.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define WIDTH 60

static struct {
    char text[2][WIDTH + 2]; /* a carriage return and WIDTH characters */
    volatile sig_atomic_t which, shown;
    bool running;
    struct sigaction before;
} line;

static void put(const char *text, size_t size) {
    if (write(STDERR_FILENO, text, size) < 0)
        return; /* a terminal that is gone */
}

static void show(int signal_number) {
    const char *text = line.text[line.which];
    const int error = errno;
    (void)signal_number;
    put(text, strlen(text));
    line.shown = 1;
    errno = error;
}

static void set_timer(long first_us, long then_us) {
    const struct itimerval times = {{then_us / 1000000, then_us % 1000000},
                                    {first_us / 1000000, first_us % 1000000}};
    setitimer(ITIMER_REAL, &times, NULL);
}

void ipex_progress_begin(void) {
    struct sigaction action = {.sa_handler = show, .sa_flags = SA_RESTART};
    if (line.running || !isatty(STDERR_FILENO))
        return;
    line.text[0][0] = line.text[1][0] = 0;
    line.shown = 0;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGALRM, &action, &line.before) != 0)
        return;
    line.running = true;
    set_timer(1000000, 200000);
}

void ipex_progress_say(const char *format, ...) {
    char *text = line.text[!line.which];
    va_list list;
    if (!line.running)
        return;
    text[0] = '\r';
    va_start(list, format);
    int length = vsnprintf(text + 1, WIDTH + 1, format, list);
    va_end(list);
    for (int i = length < 0 ? 0 : length; i < WIDTH; i++) /* over what was there */
        memcpy(text + 1 + i, " ", 2);
    line.which = !line.which;
}

void ipex_progress_end(void) {
    char blank[WIDTH + 2]; /* between two carriage returns */
    if (!line.running)
        return;
    set_timer(0, 0);
    sigaction(SIGALRM, &line.before, NULL);
    line.running = false;
    memset(blank, ' ', sizeof blank);
    blank[0] = blank[WIDTH + 1] = '\r';
    if (line.shown)
        put(blank, sizeof blank);
}
