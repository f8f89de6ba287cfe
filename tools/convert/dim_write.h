/* SPDX-License-Identifier: Apache-2.0 */
/* Dims as they stand in a file (format/dims.h): expressions of the converter's table become a list
 * of two-operand steps, each written once. */
#ifndef IPEX_TOOLS_DIM_WRITE_H
#define IPEX_TOOLS_DIM_WRITE_H

#include "format/model_fb.h"
#include "tools/convert/dim.h"

struct ipex_dim_writer {
    const struct ipex_dims *dims;
    struct ipex_fb_expr *expr;
    size_t exprs, capacity;
};

/* The code in the file of a dim; its expressions are appended as needed. */
int64_t ipex_dim_write(struct ipex_dim_writer *writer, int64_t dim);
void ipex_dim_writer_finish(struct ipex_dim_writer *writer);

#endif
