#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other builds than the one under test, in folders of their own beside it.

builds.py clang       the whole project with clang 14, warnings are errors; then the quick tests
builds.py sanitize    with AddressSanitizer and UndefinedBehaviorSanitizer, asserts on; then the tests of suite
                      "sanitize" (not the proofs about memory and system calls: a sanitizer needs both)"""
import os
import subprocess
import sys

from ipextest import BUILD, MODELS, ROOT, Tap, command

KINDS = {
    "clang": {
        "suite": "quick",
        "compiler": "clang-14",
        "options": ["-Dwerror=true"],
        "env": {},
    },
    "sanitize": {
        "suite": "sanitize",
        "compiler": "clang-14",
        "options": ["-Dbuildtype=debugoptimized", "-Db_sanitize=address,undefined", "-Db_lundef=false",
                    "-Db_ndebug=false", "-Dc_args=-fno-sanitize-recover=all"],
        "env": {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=1"},
    },
}


def share_models(folder):
    """Models made for the build under test are the same for every build: links, no copies."""
    models = folder / MODELS.name
    models.mkdir(exist_ok=True)
    for made in MODELS.glob("*.onnx"):
        if not made.is_symlink() and not (models / made.name).exists():
            os.link(made, models / made.name)


def main(name):
    tap, kind = Tap(), KINDS[name]
    folder = BUILD.with_name(f"{BUILD.name}-{name}")
    env = dict(os.environ, CC=kind["compiler"], **kind["env"])
    if not (folder / "build.ninja").exists():
        done = command("meson", "setup", folder, ROOT, *kind["options"], env=env)
        if not tap.ok(f"{name}: meson setup", done.returncode == 0, done.stdout[-2000:], done.stderr):
            return tap.done()
    done = command("meson", "compile", "-C", folder, env=env)
    clean = done.returncode == 0 and "warning:" not in done.stdout
    if not tap.ok(f"{name}: builds without warnings", clean, done.stdout[-4000:], done.stderr):
        return tap.done()
    share_models(folder)
    tests = subprocess.run([sys.executable, ROOT / "tests" / "run_tests.py", "--build", folder, "--tap",
                            "--suite", kind["suite"]], env=env, stdin=subprocess.DEVNULL)
    return tests.returncode or tap.done()


if __name__ == "__main__":
    if sys.argv[1:2] not in [[kind] for kind in KINDS]:
        sys.exit(f"usage: builds.py {'|'.join(KINDS)}")
    sys.exit(main(sys.argv[1]))
