/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over symbols: evaluated, solved for the symbol from an input's dim, and as text. The
 * entry is the dynamic default model's, whose expressions are replaced; nothing here is checked, so
 * it need not be a model that opens. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/model_maker.h"

/* Expression 0 is the symbol n, 2 .. 10 step 2; 1 is the number -5; 2 and 3 are the case's. The
 * first dim of the only input is the last of them that has an operation. */
enum { N = MAKER_EXPR(0), MINUS_5 = MAKER_EXPR(1), FIRST = MAKER_EXPR(2) };

struct dim_case {
    struct ipex_fb_expr expr[2]; /* the second one may be left out */
    int64_t dim;                 /* for n = 6 */
    bool solved;                 /* n follows from it */
    const char *text;
};

#define EXPR(op_, a_, b_)                                                                          \
    { .op = IPEX_EXPR_##op_, .a = (a_), .b = (b_) }

static const struct dim_case cases[] = {
    {{EXPR(add, N, 3)}, 9, true, "n + 3"},
    {{EXPR(add, 3, N)}, 9, true, "3 + n"},
    {{EXPR(add, N, MINUS_5)}, 1, true, "n + -5"},
    {{EXPR(sub, N, 1)}, 5, true, "n - 1"},
    {{EXPR(sub, 20, N)}, 14, true, "20 - n"},
    {{EXPR(mul, N, 3)}, 18, true, "n*3"},
    {{EXPR(mul, 3, N)}, 18, true, "3*n"},
    {{EXPR(mul, N, 0)}, 0, false, "n*0"},
    {{EXPR(mul, N, MINUS_5)}, -30, false, "n*-5"},
    {{EXPR(mul, N, N)}, 36, false, "n*n"},
    {{EXPR(floor_div, N, 2)}, 3, true, "n/2"},
    {{EXPR(floor_div, 13, N)}, 2, false, "13/n"},
    {{EXPR(floor_div, MINUS_5, N)}, -1, false, "-5/n"},
    {{EXPR(min, N, 4)}, 4, false, "min(n, 4)"},
    {{EXPR(max, N, 4)}, 6, false, "max(n, 4)"},
    {{EXPR(add, N, 1), EXPR(mul, FIRST, 2)}, 14, true, "(n + 1)*2"},
    {{EXPR(floor_div, N, 2), EXPR(sub, FIRST, 1)}, 2, true, "(n/2) - 1"},
    {{EXPR(min, N, 4), EXPR(add, FIRST, 1)}, 5, false, "min(n, 4) + 1"},
};

struct fixture {
    struct maker_file file;
    struct ipex_fb_entry entry;
    int64_t code;
};

static struct fixture make_entry(const struct dim_case *c) {
    struct maker_model *m = malloc(sizeof *m);
    struct maker_entry *e = &m->entry[0];
    maker_default(m);
    maker_dynamic(m);
    e->symbol[0] = (struct maker_symbol){.name = "n", .lo = 2, .hi = 10, .step = 2};
    e->exprs = c->expr[1].op ? 4 : 3;
    e->expr[1] = (struct ipex_fb_expr)EXPR(negative, 5, 0);
    e->expr[2] = c->expr[0];
    e->expr[3] = c->expr[1];
    struct fixture f = {.code = -(int64_t)e->exprs};
    e->input[0].rank = 1;
    e->input[0].dims[0] = f.code;
    f.file = maker_write(m);
    f.entry = ipex_fb_model_entries(ipex_fb_root(f.file.bytes), 0);
    free(m);
    return f;
}

static void evaluates(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f = make_entry(&cases[i]);
        struct ipex_dim_values values;
        int64_t dim = 0;
        assert_int_equal(ipex_dims_evaluate(f.entry, (int64_t[]){6}, &values, NULL), IPEX_OK);
        assert_true(ipex_dims_number(&values, f.code, &dim));
        assert_int_equal(dim, cases[i].dim);
        assert_false(ipex_dims_number(&values, f.code - 1, &dim));
        assert_false(ipex_dims_number(&values, INT64_MIN, &dim));
        maker_free(&f.file);
    }
}

static void is_solved(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f = make_entry(&cases[i]);
        char message[128] = "";
        const struct ipex_report report = {message, sizeof message};
        const int64_t *dims[1] = {&cases[i].dim};
        int64_t symbols[1] = {-7};
        enum ipex_status status =
            ipex_dims_bind(f.entry, dims, (int64_t[]){2}, (int64_t[]){10}, symbols, &report);
        assert_int_equal(status, cases[i].solved ? IPEX_OK : IPEX_ERROR_SHAPE);
        assert_int_equal(symbols[0], cases[i].solved ? 6 : -7);
        if (!cases[i].solved)
            assert_string_equal(message, "no input says what n is");
        maker_free(&f.file);
    }
}

/* Dims that no n gives, or none in its range. */
static void is_refused(void **state) {
    static const struct {
        struct dim_case c;
        int64_t dim;
        const char *message;
    } refused[] = {
        {{{EXPR(mul, N, 3)}, 0, true, ""}, 19, "input 'image': axis 0 is 19 instead of n*3 = 18"},
        {{{EXPR(add, N, 3)}, 0, true, ""},
         15,
         "input 'image': axis 0 is 15, but n = 12 is not in 2 .. 10 step 2"},
        {{{EXPR(add, N, 3)}, 0, true, ""},
         8,
         "input 'image': axis 0 is 8, but n = 5 is not in 2 .. 10 step 2"},
        {{{EXPR(add, N, MINUS_5)}, 0, true, ""}, INT64_MAX, "no input says what n is"},
        {{{EXPR(floor_div, N, INT64_MAX)}, 0, true, ""}, 3, "no input says what n is"},
        {{{EXPR(sub, N, INT64_MAX)}, 0, true, ""}, 3, "no input says what n is"},
        {{{EXPR(add, N, 1), EXPR(floor_div, 9, MAKER_EXPR(1))}, 0, true, ""},
         3,
         "no input says what n is"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct fixture f = make_entry(&refused[i].c);
        char message[128] = "";
        const struct ipex_report report = {message, sizeof message};
        const int64_t *dims[1] = {&refused[i].dim};
        int64_t symbols[1];
        assert_int_equal(
            ipex_dims_bind(f.entry, dims, (int64_t[]){2}, (int64_t[]){10}, symbols, &report),
            IPEX_ERROR_SHAPE);
        assert_string_equal(message, refused[i].message);
        maker_free(&f.file);
    }
}

/* The dim decides n, and another expression fails there. */
static void fails_there(void **state) {
    const struct dim_case c = {{EXPR(sub, N, 6), EXPR(floor_div, 9, FIRST)}, 0, true, ""};
    (void)state;
    struct fixture f = make_entry(&c);
    struct ipex_dim_values values;
    char message[128] = "";
    const struct ipex_report report = {message, sizeof message};
    assert_int_equal(ipex_dims_evaluate(f.entry, (int64_t[]){8}, &values, &report), IPEX_OK);
    assert_int_equal(ipex_dims_evaluate(f.entry, (int64_t[]){6}, &values, &report),
                     IPEX_ERROR_MODEL_SHAPE);
    assert_string_equal(message, "expression 3 overflows or divides by less than 1");
    maker_free(&f.file);
}

static void has_text(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f = make_entry(&cases[i]);
        char text[32] = "", cut[4] = "xxx";
        ipex_dims_text(f.entry, f.code, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        ipex_dims_text(f.entry, f.code, cut, sizeof cut);
        assert_true(strlen(cut) <= 3 && strncmp(cut, text, strlen(cut)) == 0);
        ipex_dims_text(f.entry, f.code, cut, 0);
        maker_free(&f.file);
    }
}

/* Expressions within each other are shown to a depth, and take no more time than that. */
static void deep_text(void **state) {
    struct maker_model *m = malloc(sizeof *m);
    char text[4096];
    (void)state;
    maker_default(m);
    maker_dynamic(m);
    m->entry[0].exprs = IPEX_EXPRS_MAX;
    for (int i = 1; i < IPEX_EXPRS_MAX; i++)
        m->entry[0].expr[i] = (struct ipex_fb_expr)EXPR(max, MAKER_EXPR(i - 1), MAKER_EXPR(i - 1));
    struct maker_file file = maker_write(m);
    struct ipex_fb_entry entry = ipex_fb_model_entries(ipex_fb_root(file.bytes), 0);
    ipex_dims_text(entry, -IPEX_EXPRS_MAX, text, sizeof text);
    assert_non_null(strstr(text, "max(..., ...)"));
    maker_free(&file);
    free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluates),   cmocka_unit_test(is_solved), cmocka_unit_test(is_refused),
        cmocka_unit_test(fails_there), cmocka_unit_test(has_text),  cmocka_unit_test(deep_text),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("dims", tests, NULL, NULL);
}
