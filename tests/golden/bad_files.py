#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the corpus of bad files in BUILD/bad-files and checks it: bad_files.py MAKE_BAD CHECK_BAD. TAP of check_bad."""
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, ROOT, Tap, command


def main(make_bad, check_bad):
    tap, folder = Tap(), BUILD / "bad-files"
    shutil.rmtree(folder, ignore_errors=True)
    made = command(make_bad, folder)
    if not tap.ok("make the corpus of bad files", made.returncode == 0, made.stderr):
        return tap.done()
    return subprocess.run([check_bad, folder, ROOT / "format" / "FORMAT.md"], stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
