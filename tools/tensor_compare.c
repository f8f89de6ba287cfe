/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/tensor_compare.h"

#include <math.h>

/* A NaN and a number differ infinitely. */
static double distance(double a, double b) {
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double difference = fabs(a - b);
    return isnan(difference) ? INFINITY : difference;
}

struct ipex_tensor_difference ipex_tensor_compare(const struct ipex_tensor_data *got,
                                                  const struct ipex_tensor_data *expected) {
    uint64_t count = expected->size / ipex_dtype_size(expected->dtype);
    struct ipex_tensor_difference result = {0};
    double squares = 0, difference_squares = 0, sum = 0, differing = 0;
    for (uint64_t i = 0; i < count; i++) {
        double value = ipex_tensor_element(expected, i);
        double difference = distance(ipex_tensor_element(got, i), value);
        if (isfinite(value) && fabs(value) > result.largest)
            result.largest = fabs(value);
        if (difference > result.difference)
            result.difference = difference;
        squares += isfinite(value) ? value * value : 0;
        sum += isfinite(value) ? value : 0;
        difference_squares += difference * difference;
        differing += difference > 0;
    }
    const double deviations = count ? squares - sum * (sum / (double)count) : 0;
    const double largest = result.largest > 0 ? result.largest : 1;
    const double all = squares > 0 ? squares : (double)count;
    result.relative = result.difference > 0 ? result.difference / largest : 0;
    result.norm = result.difference > 0 ? sqrt(difference_squares / all) : 0;
    result.spread =
        result.difference > 0 ? sqrt(difference_squares / (deviations > 0 ? deviations : 0)) : 0;
    result.share = count ? differing / (double)count : 0;
    return result;
}
