/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that are a constant times scales of their input and output channels. */
#ifndef IPEX_TOOLS_IMPORT_MODULATED_H
#define IPEX_TOOLS_IMPORT_MODULATED_H

#include "tools/convert/import_build.h"

/* An image convolved as `conv` says (out: the result's H and W) by such a weight w that a run
 * computes; NULL: w is another, nothing has been added. */
struct ipex_value *ipex_modulated_conv(struct ipex_import *import, struct ipex_value *x,
                                       struct ipex_value *w, const struct ipex_conv *conv,
                                       const int64_t *out);

/* The sum over `axes` (a bit mask) of `square`, where that is such a weight [N][M][C][KH][KW] times
 * itself and the axes are the last three: [N][M][1][1][1]; NULL: it is not. */
struct ipex_value *ipex_modulated_squares(struct ipex_import *import,
                                          const struct ipex_value *square, uint32_t axes);

#endif
