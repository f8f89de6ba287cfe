/* SPDX-License-Identifier: Apache-2.0 */
/* How steps are cut for threads (runtime/cut.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/cut.h"

static struct ipex_cut lines(int64_t count, int64_t least) {
    return (struct ipex_cut){
        .count = count, .times = 1, .least = least, .most = count, .multiple = 1};
}

/* Units of the thread that has most, where all take their blocks in turns. */
static int64_t most_units(const struct ipex_cut *cut, int32_t threads, int64_t block) {
    const int64_t blocks = (cut->count + block - 1) / block * cut->times;
    return (blocks + threads - 1) / threads * block;
}

static void one_thread_takes_all(void **state) {
    (void)state;
    struct ipex_cut cut = lines(14, 1);
    assert_int_equal(ipex_cut_even(&cut, 1), 14);
    cut.most = 5;
    assert_int_equal(ipex_cut_even(&cut, 1), 5);
}

/* 14 lines in blocks of 2 are 7: one thread would have 8 of them. */
static void shares_are_even(void **state) {
    (void)state;
    const struct ipex_cut single = lines(14, 1), pairs = lines(14, 2);
    assert_int_equal(ipex_cut_even(&single, 2), 1);
    assert_int_equal(ipex_cut_even(&pairs, 2), 7);
    for (int64_t count = 1; count < 400; count++)
        for (int32_t threads = 2; threads <= 9; threads++) {
            const struct ipex_cut cut = lines(count, 1);
            const int64_t block = ipex_cut_even(&cut, threads);
            const int64_t share = (count + threads - 1) / threads;
            assert_in_range(block, 1, (uintmax_t)share);
            assert_true((double)most_units(&cut, threads, block) <= (double)share * 33 / 32);
        }
}

static void bounds_hold(void **state) {
    (void)state;
    struct ipex_cut cut = lines(100, 80);
    assert_int_equal(ipex_cut_even(&cut, 2), 80); /* worth a job, even or not */
    cut.most = 10;
    assert_int_equal(ipex_cut_even(&cut, 2), 10); /* what a cache holds wins */
    cut = lines(20, 2);
    cut.multiple = 2;
    assert_int_equal(ipex_cut_even(&cut, 2) % 2, 0);
    cut = lines(INT32_MAX, 1);
    cut.times = INT64_MAX / 2;
    assert_in_range(ipex_cut_even(&cut, 256), 1, INT32_MAX);
    cut = lines(0, 1);
    assert_int_equal(ipex_cut_even(&cut, 2), 1);
}

/* Whole images are even shares already. */
static void images_count(void **state) {
    (void)state;
    struct ipex_cut cut = lines(7, 7);
    cut.times = 4;
    assert_int_equal(ipex_cut_even(&cut, 2), 7);
    cut.times = 3;
    cut.least = 1;
    assert_int_equal(most_units(&cut, 2, ipex_cut_even(&cut, 2)), 12); /* by single lines, 11 */
}

/* What neighbouring blocks compute twice makes them longer. */
static void repeated_work_counts(void **state) {
    (void)state;
    struct ipex_cut cut = lines(64, 1);
    const int64_t alone = ipex_cut_even(&cut, 2);
    cut.again = 4;
    const int64_t repeating = ipex_cut_even(&cut, 2);
    assert_true(repeating > alone);
    assert_int_equal(repeating, 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_takes_all), cmocka_unit_test(shares_are_even),
        cmocka_unit_test(bounds_hold),          cmocka_unit_test(images_count),
        cmocka_unit_test(repeated_work_counts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
