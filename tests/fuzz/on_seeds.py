#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the good files of the corpus in BUILD/seeds-NAME and runs a program on them:
on_seeds.py [--seed FILE] MAKE_BAD PROGRAM ARGUMENTS... runs PROGRAM SEEDS... ARGUMENTS. TAP of PROGRAM."""
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, Tap, command


def main(arguments):
    wanted = "OK-*.ipex"
    if arguments[0] == "--seed":
        wanted, arguments = arguments[1], arguments[2:]
    make_bad, program, *rest = arguments
    tap, folder = Tap(), BUILD / f"seeds-{pathlib.Path(program).name}"
    shutil.rmtree(folder, ignore_errors=True)
    made = command(make_bad, folder)
    for bad in folder.glob("ERROR_*"):
        bad.unlink()
    seeds = sorted(folder.glob(wanted))
    if made.returncode != 0 or not seeds:
        tap.ok("make the seeds", False, made.stderr)
        return tap.done()
    return subprocess.run([program, *seeds, *rest], stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
