/* SPDX-License-Identifier: Apache-2.0 */
/* The opponents that the program `peer` drives; `peer_ipexpack` has a list of its own. */
#include "tests/bench/peer.h"

const struct peer *const peers[] = {&peer_onnxruntime, &peer_openvino, NULL};
