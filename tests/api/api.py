#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library as its users meet it: public headers compile alone as C99, C11 and C++; the README's program compiles and
runs; the installed library is found through pkg-config and links shared and fully static."""
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, NETWORKS, ROOT, Tap, command

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
COMPILERS = [("gcc", "c99"), ("gcc", "c11"), ("clang-14", "c99"), ("g++", "c++11"), ("g++", "c++20")]
PREFIX = "usr/local"


def readme_program():
    """The C program in README.md; it takes the model's path as its argument."""
    blocks = re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    programs = [block for block in blocks if "int main" in block]
    return programs[0] if len(programs) == 1 else None


def check_compiles(tap, name, *arguments):
    done = command(*arguments)
    return tap.ok(name, done.returncode == 0, done.stderr)


def check_headers(tap, folder, cflags, header):
    for compiler, standard in COMPILERS:
        source = folder / ("header.cpp" if "++" in compiler else "header.c")
        source.write_text(f'#include "{header}"\nint main(void) {{ return ipex_status_name(IPEX_OK) == 0; }}\n')
        check_compiles(tap, f"{header} as {standard} ({compiler})", compiler, f"-std={standard}", *STRICT, *cflags,
                       "-c", source, "-o", folder / "header.o")


def check_runs(tap, name, program, env=None):
    """The program must run on a real network and print numbers; on a missing file it must fail with a message."""
    models = [n.ipex() for n in NETWORKS if n.ipex().exists()]
    if not models:
        tap.skip(f"{name} runs", "no converted network is here")
        return
    done = command(program, models[-1], env=env)
    tap.ok(f"{name} runs", done.returncode == 0 and re.search(r"\d", done.stdout), f"exit {done.returncode}",
           done.stdout, done.stderr)
    done = command(program, "no such file.ipex", env=env)
    tap.ok(f"{name} fails clearly", done.returncode == 1 and "no such file.ipex" in done.stdout + done.stderr,
           f"exit {done.returncode}", done.stdout, done.stderr)


def check_readme(tap, folder, source):
    program = folder / "readme"
    if check_compiles(tap, "README program", "gcc", "-std=c11", *STRICT, "-I", ROOT, source,
                      BUILD / "runtime" / "libipex.a", "-pthread", "-lm", "-o", program):
        check_runs(tap, "README program", program)


def pkg_config(root, *flags):
    """Flags for the library installed below `root`, as words."""
    places = [str(path) for path in root.rglob("pkgconfig")]
    env = dict(os.environ, PKG_CONFIG_PATH=":".join(places))
    done = command("pkg-config", f"--define-variable=prefix={root / PREFIX}", *flags, "ipex", env=env)
    return done.stdout.split() if done.returncode == 0 else None


def check_installed(tap, folder, source):
    root = folder / "root"
    done = command("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root)
    if not tap.ok("meson install", done.returncode == 0, done.stdout, done.stderr):
        return
    shared = pkg_config(root, "--cflags", "--libs")
    static = pkg_config(root, "--static", "--cflags", "--libs")
    if not tap.ok("pkg-config finds ipex", shared and static, "no flags"):
        return
    check_headers(tap, folder, [flag for flag in shared if flag.startswith("-I")], "runtime/ipex.h")
    (library,) = (root / PREFIX).rglob("libipex.so")
    env = dict(os.environ, LD_LIBRARY_PATH=str(library.parent))
    if check_compiles(tap, "README program, installed, shared", "gcc", *STRICT, source, *shared, "-o", folder / "shared"):
        check_runs(tap, "README program, installed, shared", folder / "shared", env)
    if check_compiles(tap, "README program, installed, static", "gcc", "-static", *STRICT, source, *static,
                      "-o", folder / "static"):
        check_runs(tap, "README program, installed, static", folder / "static")
    done = command(root / PREFIX / "bin" / "ipexpack", "inspect", "no such file.ipex", env=env)
    tap.ok("installed ipexpack starts", done.returncode == 1 and "no such file.ipex" in done.stderr,
           f"exit {done.returncode}", done.stderr)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_headers(tap, folder, ["-I", ROOT], "runtime/ipex.h")
        text = readme_program()
        tap.ok("the README has one C program", text is not None, "one ```c block with main is wanted")
        if text:
            tap.ok("the README program has at most 30 lines", len(text.splitlines()) <= 30, len(text.splitlines()))
            source = folder / "readme.c"
            source.write_text(text)
            check_readme(tap, folder, source)
            check_installed(tap, folder, source)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
