/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `ipexpack`. argv[0] is the verb's own name; the result is the exit code
 * (tools/cli.h). */
#ifndef IPEX_TOOLS_VERBS_H
#define IPEX_TOOLS_VERBS_H

int ipex_verb_convert(int argc, char **argv);
int ipex_verb_inspect(int argc, char **argv);
int ipex_verb_run(int argc, char **argv);
int ipex_verb_bench(int argc, char **argv);
int ipex_verb_verify(int argc, char **argv);
int ipex_verb_compare(int argc, char **argv);

#endif
