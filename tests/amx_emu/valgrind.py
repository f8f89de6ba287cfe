#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels of level amx under valgrind: valgrind.py SELFTEST_AVX2. It must find nothing: no byte outside a buffer that a
tile is loaded from or stored to, nothing that depends on what was never written. And it must find a tile that is loaded
from two bytes behind its buffer. (Of a load that is partly inside a buffer valgrind says nothing unless told to.)"""
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import Tap, command

ERROR = 9
WATCHED = ["valgrind", "-q", f"--error-exitcode={ERROR}", "--sigill-diagnostics=no", "--partial-loads-ok=no"]
KERNELS = 5


def main(program):
    tap = Tap()
    if not shutil.which("valgrind"):
        tap.skip("valgrind", "it is not installed")
        return tap.done()
    done = command(*WATCHED, program, "--normal", "--heap", "--cases", "5")
    passed = re.search(r"^([0-9]+) passed, 0 failed$", done.stdout, re.MULTILINE)
    tap.ok(f"valgrind: {KERNELS} kernels of level amx, all passed", done.returncode == 0 and passed and int(passed[1]) > KERNELS
           and f"# {KERNELS} kernels" in done.stdout, done.returncode, done.stdout, done.stderr)
    tap.ok("valgrind: no error", not done.stderr, done.stderr)
    done = command(*WATCHED, program, "--over-read", "--heap")
    tap.ok("valgrind: a tile that reaches behind its buffer is found", done.returncode == ERROR and "Invalid read" in done.stderr
           and "multiply_tiles" in done.stderr, done.returncode, done.stderr)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
