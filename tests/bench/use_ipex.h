/* SPDX-License-Identifier: Apache-2.0 */
/* ipexpack as a careful user of its public interface sets it up: memory taken once, from the heap.
 * A failure ends the program with a message: these are measuring tools. */
#ifndef IPEX_TESTS_BENCH_USE_IPEX_H
#define IPEX_TESTS_BENCH_USE_IPEX_H

#include "runtime/ipex.h"

struct ipex_image *use_image(const char *path);
/* NULL for one thread. */
struct ipex_pool *use_pool(int threads);
struct ipex_session *use_session(const struct ipex_image *image, struct ipex_pool *pool);
/* Runs entry main; outputs are views into the session, renewed with each run. */
void use_run(struct ipex_session *session, const struct ipex_tensor *inputs, size_t n_inputs,
             struct ipex_tensor *outputs, size_t n_outputs);

#endif
