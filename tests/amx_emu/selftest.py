#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""amx_selftest wherever it may be run: selftest.py SELFTEST SELFTEST_STATIC PRELOAD. By its own emulator, by another one that
is preloaded, and where nothing executes AMX: then it says so and is skipped, whatever detection has found."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap, command

REFUSALS = {
    "0": "the CPU has no AMX",
    "refused": "the operating system refuses permission",
    "no-state": "does not save the registers of AMX",
    "masked": "a hypervisor hides it",
    "linux": "the operating system refuses permission",
    "foreign": "its first instruction is refused",
}


def run(*program, **environment):
    return command(*program, "--cases", "5", env=dict(os.environ, **environment))


def check_run(tap, name, done, by):
    last = done.stdout.splitlines()[-1:]
    passed = re.fullmatch(r"(\d+) passed, 0 failed", last[0]) if last else None
    tap.ok(f"{name}: executed by {by}, all passed", done.returncode == 0 and passed and int(passed[1]) >= 3
           and f"executed by {by}" in done.stdout, done.returncode, done.stdout, done.stderr)


def main(dynamic, static, preload):
    tap = Tap()
    for name, program in {"dynamic": dynamic, "static": static}.items():
        natively = "executed by the CPU" in run(program).stdout
        check_run(tap, name, run(program), "the CPU" if natively else "this program's emulator")
        for machine, words in REFUSALS.items():
            if natively:
                tap.skip(f"{name}, AMX_EMU={machine}", "the CPU has AMX")
                continue
            done = run(program, AMX_EMU=machine)
            tap.ok(f"{name}, AMX_EMU={machine}: skipped, and why", done.returncode == 77 and words in done.stdout,
                   done.returncode, done.stdout, done.stderr)
        done = run(program, AMX_EMU="nonsense")
        tap.ok(f"{name}, AMX_EMU=nonsense: wrong use", done.returncode == 2 and "nonsense" in done.stderr, done.stderr)
    if not natively:
        check_run(tap, "preloaded", run(dynamic, AMX_EMU="0", LD_PRELOAD=preload), "another emulator of this process")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
