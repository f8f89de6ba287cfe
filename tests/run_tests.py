#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests that the meson.build files of a build folder declare with test(), adds up their TAP lines, and says
what failed and why. run_tests.py [--build DIR] [--suite NAME] [--exclude NAME]... [--only TEXT] [--tap] [--verbose]

A test program that dies, runs too long or checks nothing is a failure of its own. The last line is
"N passed, M failed, K skipped"; with --tap, the programs' lines are passed on instead (for a run inside a test).
Output of every test: BUILD/test-logs/NAME.txt."""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from ipextest import BUILD, ROOT

LINE = re.compile(r"^(not )?ok\b(?: \d+)?(?: - | )?(.*)$")
SKIP = re.compile(r"#\s*skip", re.IGNORECASE)


class Result:
    def __init__(self, name):
        self.name, self.passed, self.skipped, self.failures, self.lines = name, 0, [], [], []
        self.seconds = 0.0

    def read(self, output):
        """Counts TAP lines; a failure keeps the comment lines behind it."""
        failing = None
        for line in output.splitlines():
            match = LINE.match(line)
            if match:
                self.lines.append(line)
                failing = self.count(match)
            elif line.startswith("#") and failing is not None:
                self.lines.append(line)
                failing.append(line)

    def count(self, match):
        failed, name = match.groups()
        if SKIP.search(name):
            self.skipped.append(name)
        elif failed:
            self.failures.append([name])
            return self.failures[-1]
        else:
            self.passed += 1
        return None

    def fail(self, what, output=""):
        last = [f"# {line}" for line in output.splitlines()[-15:]]
        self.failures.append([what, *last])
        self.lines += [f"not ok - {what}", *last]


def declared(build):
    """What meson knows of the tests: [{name, suite, cmd, env, workdir, timeout, is_parallel, priority}]."""
    done = subprocess.run(["meson", "introspect", "--tests", str(build)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def chosen(tests, options):
    for test in tests:
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        wanted = options.suite in suites if options.suite else options.only or "apart" not in suites
        if not wanted:
            continue
        if test["name"] in options.exclude or (options.only and options.only not in test["name"]):
            continue
        yield test


def command_of(test):
    """As declared, but Python programs run under this interpreter, which has the packages that they need."""
    command = test["cmd"]
    return [sys.executable, *command[1:]] if command[1:2] and command[1].endswith(".py") else command


def run(test, build):
    result = Result(test["name"])
    log = build / "test-logs" / f"{test['name']}.txt"
    env = dict(os.environ, IPEX_BUILD=str(build), **test["env"])
    begin = time.monotonic()
    status = None
    with open(log, "w+", errors="replace") as output:
        program = subprocess.Popen(command_of(test), cwd=test["workdir"] or build, env=env, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = program.wait(timeout=test["timeout"] or None)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
    text = log.read_text(errors="replace")
    result.seconds = time.monotonic() - begin
    result.read(text)
    judge(result, test, status, text)
    return result


def judge(result, test, status, text):
    """Adds what the TAP lines alone do not say."""
    if status is None:
        result.fail(f"{test['name']}: ran longer than {test['timeout']} s", text)
    elif status < 0:
        result.fail(f"{test['name']}: died of {signal.Signals(-status).name}", text)
    elif status == 77 and not result.lines:
        result.skipped.append(f"{test['name']}: it cannot run here")
    elif status != 0 and not result.failures:
        result.fail(f"{test['name']}: exit status {status} without a failed check", text)
    elif not result.lines:
        result.fail(f"{test['name']}: checked nothing", text)


def report(result, options):
    if options.tap:
        print("\n".join(result.lines), flush=True)
        return
    counts = f"{result.passed} passed, {len(result.failures)} failed, {len(result.skipped)} skipped"
    print(f"{'FAIL' if result.failures else 'ok  '} {result.name}: {counts}, {result.seconds:.1f} s", flush=True)
    for name, *why in result.failures[:20]:
        print("\n".join([f"  not ok - {name}", *(f"    {line}" for line in why[:20])]), flush=True)
    if len(result.failures) > 20:
        print(f"  and {len(result.failures) - 20} more: see test-logs/{result.name}.txt")
    for name in result.skipped if options.verbose else result.skipped[:5]:
        print(f"  skipped - {name}")
    if len(result.skipped) > 5 and not options.verbose:
        print(f"  and {len(result.skipped) - 5} more skipped")


def run_all(tests, options):
    """First those with a priority, which prepare the others; then two at a time; last those that must be alone."""
    first = sorted((t for t in tests if t["priority"] > 0), key=lambda t: -t["priority"])
    together = [t for t in tests if t["priority"] <= 0 and t["is_parallel"]]
    alone = [t for t in tests if t["priority"] <= 0 and not t["is_parallel"]]
    for test in first:
        yield run(test, options.build)
    with ThreadPoolExecutor(2) as workers:
        yield from workers.map(lambda test: run(test, options.build), together)
    for test in alone:
        yield run(test, options.build)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=lambda p: (ROOT / p).resolve(), default=BUILD)
    parser.add_argument("--suite")
    parser.add_argument("--exclude", action="append", default=[])
    parser.add_argument("--only")
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    (options.build / "test-logs").mkdir(exist_ok=True)
    passed = failed = skipped = 0
    for result in run_all(list(chosen(declared(options.build), options)), options):
        report(result, options)
        passed, failed, skipped = passed + result.passed, failed + len(result.failures), skipped + len(result.skipped)
    if not options.tap:
        print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
