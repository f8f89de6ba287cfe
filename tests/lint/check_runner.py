#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/run_tests.py itself: on a made-up project with programs that pass, fail, skip, die, hang, and check nothing, every
one of them must be counted as what it is."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import ROOT, Tap, command

# Program, and what the runner must count for it: passed, failed, skipped; and a text that must be in its report.
PROGRAMS = {
    "passes": ("echo 'ok - a'; echo 'ok 2 - b'", (2, 0, 0), "2 passed"),
    "fails": ("echo 'ok - a'; echo 'not ok - b'; echo '# the reason'; exit 1", (1, 1, 0), "# the reason"),
    "lies": ("echo 'ok - a'; echo 'not ok - b'", (1, 1, 0), "not ok - b"),
    "skips": ("echo 'ok - a # SKIP no such thing here'", (0, 0, 1), "no such thing here"),
    "skips-all": ("exit 77", (0, 0, 1), "cannot run here"),
    "dies": ("echo 'ok - a'; kill -SEGV $$", (1, 1, 0), "died of SIGSEGV"),
    "exits": ("echo 'ok - a'; exit 3", (1, 1, 0), "exit status 3"),
    "hangs": ("echo 'ok - a'; sleep 60", (1, 1, 0), "longer than 1 s"),
    "empty": ("echo nothing", (0, 1, 0), "checked nothing"),
}


def project(folder, names):
    lines = ["project('made-up')", "shell = find_program('sh')"]
    for name in names:
        (folder / f"{name}.sh").write_text(PROGRAMS[name][0] + "\n")
        lines.append(f"test('{name}', shell, args: [files('{name}.sh')], timeout: {1 if name == 'hangs' else 30})")
    (folder / "meson.build").write_text("\n".join(lines) + "\n")
    command("meson", "setup", folder / "build", folder, check=True)


def run(folder, *arguments):
    return command(sys.executable, ROOT / "tests" / "run_tests.py", "--build", folder / "build", *arguments)


def check(tap, folder, name):
    counts, text = PROGRAMS[name][1:]
    done = run(folder, "--only", name)
    last = done.stdout.splitlines()[-1] if done.stdout else ""
    wanted = "{} passed, {} failed, {} skipped".format(*counts)
    status = 0 if counts[0] and not counts[1] else 1
    tap.ok(f"runner: a program that {name}", last == wanted and text in done.stdout and done.returncode == status,
           f"exit {done.returncode}, wanted {status}, {wanted}, {text}", done.stdout, done.stderr)


def main():
    tap = Tap()
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory() as scratch:
            project(pathlib.Path(scratch), [name])
            check(tap, pathlib.Path(scratch), name)
    with tempfile.TemporaryDirectory() as scratch:
        project(pathlib.Path(scratch), list(PROGRAMS))
        done = run(pathlib.Path(scratch))
        total = "{} passed, {} failed, {} skipped".format(*(sum(p[1][i] for p in PROGRAMS.values()) for i in range(3)))
        tap.ok("runner: adds up", done.stdout.splitlines()[-1:] == [total], f"wanted {total}", done.stdout)
        tap.ok("runner: passes lines on with --tap", "not ok - b" in run(pathlib.Path(scratch), "--tap").stdout.splitlines())
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
