/* SPDX-License-Identifier: Apache-2.0 */
/* network.h: an entry of an .ipex file and a session for the sizes that one picture needs. This is
 * all that a program has to do with libipex. */
#ifndef NETWORK_H
#define NETWORK_H

#include "runtime/ipex.h"

#include "tools/examples/ocr/picture.h"

struct network {
    struct ipex_image *image;
    const char *entry;
    struct ipex_pool *pool;
    struct ipex_session *session;
    void *image_memory, *session_memory, *pool_memory;
};

/* Opens entry `entry` of a file; of a folder, the file FOLDER/ENTRY.ipex. Functions that return
 * false have said why on stderr. */
bool network_open(const char *path, const char *entry, int threads, struct network *ret);
/* A session for inputs [1..batch][3][height][lo..width]. */
bool network_prepare(struct network *n, int batch, int height, int lo, int width);
/* input: [batch][3][height][width]. *ret_output is a view into the session until the next run. */
bool network_run(struct network *n, float *input, int batch, int height, int width,
                 struct ipex_tensor *ret_output);
/* The largest height (axis 2) or width (axis 3) that the file allows. */
int network_limit(const struct network *n, int axis);
void network_close(struct network *n);

#endif
