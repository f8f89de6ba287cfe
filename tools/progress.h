/* SPDX-License-Identifier: Apache-2.0 */
/* What is being done, on the terminal, once work has taken over a second: one line on stderr, which
 * ends without a trace. A timer writes it, so it also moves while the disk is waited for. One at a
 * time in a process. */
#ifndef IPEX_TOOLS_PROGRESS_H
#define IPEX_TOOLS_PROGRESS_H

#include <stdint.h>

/* Does nothing where stderr is no terminal; nor do the others then, or without it. */
void ipex_progress_begin(void);
/* printf, at most 60 characters: "packing: 54 MB". */
void ipex_progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Takes the line away; what fails and says so does that too. */
void ipex_progress_end(void);

#endif
