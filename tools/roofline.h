/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline: what work takes at least on a measured machine, by its arithmetic and by its bytes.
 */
#ifndef IPEX_TOOLS_ROOFLINE_H
#define IPEX_TOOLS_ROOFLINE_H

#include "tools/machine.h"

/* The longer of the two counts. All 0 where no peak of the level was measured. */
struct ipex_roofline {
    double computing_us; /* at the peak */
    double reading_us;   /* at the speed of the nearest store that holds all of it */
    const char *store;   /* that store: "L2", "memory" */
};

/* The most that all threads reach at levels up to `isa`, with factors of this type; 0: not known.
 */
double ipex_machine_peak_gflops(const struct ipex_machine *machine, enum ipex_isa isa,
                                enum ipex_dtype dtype);

/* Of all threads together. */
struct ipex_roofline ipex_machine_roofline(const struct ipex_machine *machine, enum ipex_isa isa,
                                           enum ipex_dtype dtype, double flops, double bytes);

/* Of a step of a session of this level, by the multiplications that its algorithm does. */
struct ipex_roofline ipex_step_roofline(const struct ipex_machine *machine, enum ipex_isa isa,
                                        const struct ipex_step_info *step);

double ipex_roofline_us(const struct ipex_roofline *bound);

/* The level whose instructions a step may use: tiles only for products in their own profile. */
enum ipex_isa ipex_step_isa(enum ipex_isa session, bool tiles);

#endif
