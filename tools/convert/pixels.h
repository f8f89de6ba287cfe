/* SPDX-License-Identifier: Apache-2.0 */
/* --image: an input of the model becomes the pixels of a picture, as decoders give them. */
#ifndef IPEX_TOOLS_PIXELS_H
#define IPEX_TOOLS_PIXELS_H

#include "tools/convert/import.h"

/* Names the nodes that --image makes, for pass_image.c. */
#define IPEX_IMAGE_OP "Image"

/* INPUT=u8[,mean=M[,M...]][,std=S[,S...]][,order=rgb|bgr] into the arena. False with what is wrong
 * of it. */
bool ipex_image_parse(const char *text, struct ipex_arena *arena, struct ipex_image_option *ret,
                      const char **ret_wrong);

/* The inputs named become u8 [N][H][W][C]; nodes make of them what the model expects. NULL, or what
 * does not fit as lines for the person. */
const char *ipex_import_images(struct ipex_import *import, struct ipex_import_options *options);

#endif
