/* SPDX-License-Identifier: Apache-2.0 */
/* One broken file per rule of format/FORMAT.md, and the status and reason that it must give. Every
 * case starts from the valid default model, so whatever refuses it is the one change made. */
#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <xmmintrin.h>

#include <cmocka.h>

#include "format/ops.h"
#include "format/tile.h"
#include "tests/unit/model_maker.h"

struct rule_case {
    const char *name;
    void (*break_model)(struct maker_model *m);
    enum ipex_status status;
    const char *reason; /* part of the message */
};

#define TENSOR(i) (m->entry[0].tensor[i])
#define NODE(i)   (m->entry[0].node[i])
#define ENTRY     (m->entry[0])
#define EXPR(i)   (m->entry[0].expr[i])

static void swap_nodes(struct maker_model *m, int a, int b) {
    struct maker_node swap = m->entry[0].node[a];
    m->entry[0].node[a] = m->entry[0].node[b];
    m->entry[0].node[b] = swap;
}

#define RULE(name, status, reason, ...)                                                            \
    static void break_##name(struct maker_model *m) {                                              \
        __VA_ARGS__;                                                                               \
    }
#include "tests/unit/rules.inc"

static const struct rule_case cases[] = {
#define RULE(name, status, reason, ...) {#name, break_##name, IPEX_##status, reason},
#include "tests/unit/rules.inc"
};

static void run_case(void **state) {
    const struct rule_case *c = *state;
    struct maker_model *model = malloc(sizeof *model);
    char message[512] = "";
    struct ipex_report report = {message, sizeof message};
    maker_default(model);
    c->break_model(model);
    struct maker_file file = maker_write(model);
    const unsigned before = _mm_getcsr();
    _mm_setcsr(0); /* a file is refused, and raises nothing that the caller has unmasked */
    enum ipex_status status = maker_check(&file, &report);
    _mm_setcsr(before);
    maker_free(&file);
    free(model);
    if (status != c->status)
        print_message("# %s: %s\n", ipex_status_name(status), message);
    assert_string_equal(ipex_status_name(status), ipex_status_name(c->status));
    if (!strstr(message, c->reason))
        fail_msg("'%s' is not in '%s'", c->reason, message);
}

static void check_valid(void (*change)(struct maker_model *m)) {
    struct maker_model *model = malloc(sizeof *model);
    char message[512] = "";
    struct ipex_report report = {message, sizeof message};
    maker_default(model);
    if (change)
        change(model);
    struct maker_file file = maker_write(model);
    enum ipex_status status = maker_check(&file, &report);
    maker_free(&file);
    free(model);
    assert_string_equal(message, "");
    assert_int_equal(status, IPEX_OK);
}

static void default_model_is_valid(void **state) {
    (void)state;
    check_valid(NULL);
}

static void dynamic_model_is_valid(void **state) {
    (void)state;
    check_valid(maker_dynamic);
}

static void model_of_bytes_is_valid(void **state) {
    (void)state;
    check_valid(maker_bytes);
}

static void model_of_blocks_is_valid(void **state) {
    (void)state;
    check_valid(maker_blocks);
    check_valid(maker_blocks_8);
    check_valid(maker_f16);
}

int main(void) {
    enum { COUNT = sizeof cases / sizeof cases[0], VALID = 4 };
    static struct CMUnitTest rules[COUNT + VALID];
    rules[0] = (struct CMUnitTest)cmocka_unit_test(default_model_is_valid);
    rules[1] = (struct CMUnitTest)cmocka_unit_test(dynamic_model_is_valid);
    rules[2] = (struct CMUnitTest)cmocka_unit_test(model_of_bytes_is_valid);
    rules[3] = (struct CMUnitTest)cmocka_unit_test(model_of_blocks_is_valid);
    for (size_t i = 0; i < COUNT; i++)
        rules[i + VALID] = (struct CMUnitTest){.name = cases[i].name,
                                               .test_func = run_case,
                                               .initial_state = (void *)(uintptr_t)&cases[i]};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(rules, NULL, NULL);
}
