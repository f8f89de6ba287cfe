/* SPDX-License-Identifier: Apache-2.0 */
/* ipex_run: the caller's tensors in, the steps in order, the results out. Nothing is decided here
 * any more. */
#include <string.h>

#include "runtime/fpu.h"
#include "runtime/session.h"

void ipex_team_do(const struct ipex_team *team, ipex_kernel_fn fn, const void *args, int64_t jobs,
                  int64_t rounds, bool alone) {
    if (alone || team->threads == 1 || (team->pool != NULL && ipex_pool_crowded(team->pool))) {
        fn(args, 0, rounds * jobs, team->scratch);
        return;
    }
    struct ipex_work work = {
        .fn = fn,
        .args = args,
        .jobs = jobs,
        .scratch = team->scratch,
        .scratch_stride = rounds > 1 ? 0 : team->scratch_stride,
    };
    for (int64_t i = 0; i < rounds; i++, work.first += jobs) {
        if (team->pool != NULL)
            ipex_pool_work(team->pool, &work);
        else
            ipex_parallel_work(team->parallel_for, team->parallel_user, team->threads, &work);
    }
}

/* Between steps: whether the run has to end early. */
static enum ipex_status look_up(const struct ipex_session *session, uint64_t deadline_ns) {
    if (session->cancel != NULL && *(const volatile int *)session->cancel != 0)
        return IPEX_ERROR_CANCELLED;
    if (deadline_ns != 0 && ipex_now_ns() >= deadline_ns)
        return IPEX_ERROR_DEADLINE;
    return IPEX_OK;
}

static enum ipex_status run_steps(struct ipex_session *session, const struct ipex_plan *plan,
                                  const struct ipex_run_options *options) {
    const struct ipex_report report = {.text = session->message, .size = sizeof session->message};
    uint64_t *ticks = options->step_ticks;
    for (int64_t i = 0; i < plan->steps; i++) {
        const struct ipex_plan_step *step = &plan->step[i];
        const enum ipex_status status = look_up(session, options->deadline_ns);
        if (status != IPEX_OK)
            return ipex_fail(&report, status, "before step %lld of %lld (%s)", (long long)i,
                             (long long)plan->steps, step->name);
        if (ticks != NULL)
            ticks[i] = __rdtsc();
        for (int32_t f = 0; f < step->fills; f++)
            session->setup.kernels.fill(&step->fill[f], 0, step->fill[f].dims[0], NULL);
        ipex_team_do(&session->team, step->fn, step->args, step->jobs, step->rounds, step->alone);
    }
    if (ticks != NULL)
        ticks[plan->steps] = __rdtsc();
    return IPEX_OK;
}

enum ipex_status ipex_run_with(struct ipex_session *session, const char *entry,
                               const struct ipex_tensor *inputs, size_t n_inputs,
                               struct ipex_tensor *outputs, size_t n_outputs,
                               const struct ipex_run_options *options) {
    static const struct ipex_run_options defaults = {.size_of_struct = sizeof defaults};
    const struct ipex_report report = {.text = session->message, .size = sizeof session->message};
    session->message[0] = '\0';
    if (options == NULL)
        options = &defaults;
    struct ipex_plan *plan = ipex_session_plan(session, entry);
    IPEX_CHECK(plan != NULL, &report, IPEX_ERROR_NOT_FOUND, "the session has no entry '%s'",
               entry != NULL ? entry : "main");
    IPEX_CHECK(options->size_of_struct == sizeof *options, &report, IPEX_ERROR_ARGUMENT,
               "ipex_run_options.size_of_struct");
    IPEX_TRY(ipex_ports_match(session, plan, inputs, n_inputs, outputs, n_outputs));
    IPEX_CHECK(options->step_ticks == NULL || options->step_ticks_count > (size_t)plan->steps,
               &report, IPEX_ERROR_ARGUMENT, "step_ticks needs room for %lld values",
               (long long)plan->steps + 1);
    const uint32_t fpu = ipex_fpu_enter();
    if (session->team.pool != NULL)
        ipex_pool_enter(session->team.pool);
    ipex_ports_begin(session, plan);
    const enum ipex_status status = run_steps(session, plan, options);
    if (status == IPEX_OK)
        ipex_ports_end(session, plan);
    if (session->team.pool != NULL)
        ipex_pool_leave(session->team.pool);
    ipex_fpu_leave(fpu);
    return status;
}

enum ipex_status ipex_run(struct ipex_session *session, const char *entry,
                          const struct ipex_tensor *inputs, size_t n_inputs,
                          struct ipex_tensor *outputs, size_t n_outputs) {
    return ipex_run_with(session, entry, inputs, n_inputs, outputs, n_outputs, NULL);
}
