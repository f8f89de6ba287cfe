/* SPDX-License-Identifier: Apache-2.0 */
/* How far one tensor is from another. */
#ifndef IPEX_TOOLS_TENSOR_COMPARE_H
#define IPEX_TOOLS_TENSOR_COMPARE_H

#include "tools/tensor_file.h"

struct ipex_tensor_difference {
    double
        difference;  /* the largest |got - expected|; equal infinities and two NaNs do not differ */
    double largest;  /* magnitude of a finite expected element */
    double relative; /* difference / largest, or / 1 where that is 0; 0 where nothing differs */
    double norm;     /* of all differences / of all that is expected, or of ones, alike */
    double spread;   /* of all differences / of how far the expected elements lie from their mean */
    double share;    /* elements that differ / all */
};

/* Both have the same type and number of elements. */
struct ipex_tensor_difference ipex_tensor_compare(const struct ipex_tensor_data *got,
                                                  const struct ipex_tensor_data *expected);

#endif
