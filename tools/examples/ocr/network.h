/* SPDX-License-Identifier: Apache-2.0 */
/* network.h: an .ipex file, and a session of one of its entries for the sizes that one picture
 * needs. This is all that a program has to do with libipex. Functions that return false have said
 * why on stderr. */
#ifndef NETWORK_H
#define NETWORK_H

#include "runtime/ipex.h"

#include "tools/examples/ocr/picture.h"

struct model {
    struct ipex_image *image;
    struct ipex_pool *pool; /* NULL: one thread */
    void *image_memory, *pool_memory;
};

struct network {
    const struct model *model;
    const char *entry;
    struct ipex_session *session;
    void *session_memory;
};

bool model_open(const char *path, int threads, struct model *ret);
void model_close(struct model *model);

/* Entry `entry` of an open file. */
bool network_open(const struct model *model, const char *entry, struct network *ret);
/* A session for inputs [1..batch][3][height][lo..width]. */
bool network_prepare(struct network *n, int batch, int height, int lo, int width);
/* input: [batch][3][height][width]. *ret_output is a view into the session until the next run. */
bool network_run(struct network *n, float *input, int batch, int height, int width,
                 struct ipex_tensor *ret_output);
/* The largest height (axis 2) or width (axis 3) that the file allows. */
int network_limit(const struct network *n, int axis);
void network_close(struct network *n);

#endif
