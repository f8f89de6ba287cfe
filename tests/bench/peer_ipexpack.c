/* SPDX-License-Identifier: Apache-2.0 */
/* ipexpack in the place of an opponent: the same program around it, linked with libipex. The model
 * is an .ipex file. */
#include "tests/bench/peer.h"
#include "tests/bench/use_ipex.h"

#include <string.h>

static struct {
    struct ipex_session *session;
    struct ipex_tensor input[PEER_INPUTS], output[PEER_OUTPUTS];
    size_t inputs, outputs;
} state;

/* The library is there already. */
static void load(const char *path) {
    (void)path;
}

static void create(const struct peer_job *job) {
    static const enum ipex_dtype types[] = {
        [PEER_F32] = IPEX_DTYPE_f32, [PEER_I32] = IPEX_DTYPE_i32, [PEER_I64] = IPEX_DTYPE_i64};
    const struct ipex_image *image = use_image(job->model);
    state.session = use_session(image, use_pool(job->threads));
    state.outputs = ipex_image_output_count(image, NULL);
    if (state.outputs > PEER_OUTPUTS)
        peer_fail("ipexpack", "too many outputs");
    state.inputs = job->inputs;
    for (size_t i = 0; i < job->inputs; i++) {
        const struct peer_input *input = &job->input[i];
        struct ipex_tensor *tensor = &state.input[i];
        tensor->name = input->name;
        tensor->data = input->data;
        tensor->dtype = types[input->type];
        tensor->rank = (int32_t)input->rank;
        memcpy(tensor->dims, input->dims, sizeof tensor->dims);
    }
}

static const float *run(void) {
    use_run(state.session, state.input, state.inputs, state.output, state.outputs);
    return state.output[0].data;
}

static const struct peer peer_ipexpack = {"ipexpack", load, create, run};
const struct peer *const peers[] = {&peer_ipexpack, NULL};
