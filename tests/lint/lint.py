#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules about sources that a program can check. lint.py: TAP, each rule first on a bad example that it must refuse.

  include law   which folder may include whom (root-relative, the table below), and which system headers
  licence line  SPDX in the first two lines of every source
  file names    unique across the project
  AMX           by kernels/x86/amx_tile.h only: compilers' intrinsics lose stores (its head says how)
  clang-format  as .clang-format says"""
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import ROOT, Tap, command

# Folder: what it may include besides itself, as folders ("format/") or files. The longest matching folder rules.
MAY_INCLUDE = {
    "format/": [],
    "format/gen/": ["format/"],  # a program of the build
    "kernels/": ["format/"],
    "loader/": ["format/"],
    "runtime/": ["format/", "loader/loader.h", "kernels/kernels.h"],
    "tools/": ["format/", "runtime/ipex.h", "kernels/kernels.h"],
    "tests/": [""],
}

# System header: the only files or folders that may include it. Headers not listed here and not in FREESTANDING are for
# tools/, tests/ and format/gen/ alone: the library asks nothing of the system outside these few files.
SYSTEM_HEADERS = {
    "pthread.h": ["runtime/threads.c"],
    "sched.h": ["runtime/threads.c"],
    "time.h": ["runtime/threads.c", "runtime/clock.c"],
    "unistd.h": ["loader/map.c", "runtime/threads.c", "kernels/x86/cpu_probe.c"],
    "signal.h": ["runtime/threads.c"],
    "errno.h": ["loader/map.c", "runtime/threads.c", "kernels/x86/cpu_probe.c"],
    "fcntl.h": ["loader/map.c"],
    "sys/mman.h": ["loader/map.c"],
    "sys/stat.h": ["loader/map.c"],
    "sys/syscall.h": ["runtime/threads.c", "kernels/x86/cpu_probe.c"],
    "linux/futex.h": ["runtime/threads.c"],
    "link.h": ["runtime/threads.c"],
    "immintrin.h": ["kernels/x86/", "format/sha256.c"],
    "x86intrin.h": ["runtime/fpu.h"],
    "cpuid.h": ["kernels/x86/", "format/sha256.c"],
    "math.h": ["kernels/ref/"],
    "stdlib.h": ["format/fb_build.c"],  # the writer, linked into tools and tests only
}
FREESTANDING = {f"{name}.h" for name in "assert float limits stdarg stdatomic stdbool stddef stdint string".split()}
HOSTED = ("tools/", "tests/", "format/gen/")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
GENERATED = {"format/model_fb.h", "format/model_fb_tables.h", "format/model_fb_build.h", "tools/convert/reference_script.h", "tools/bench_page_text.h"}
LICENCE = "SPDX-License-Identifier: Apache-2.0"
NEEDS_LICENCE = {".c", ".h", ".inc", ".py", ".sh", ".fbs"}
MAY_REPEAT = {"meson.build", "README.md", "requirements.txt", "ops.inc"}  # ops.inc: the operator and the kernel table


def files(root):
    """Sources relative to the root: what git knows and new files that it does not ignore; without git, what is not in
    a hidden folder or a build folder."""
    listed = None
    if shutil.which("git"):
        listed = command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard")
    if listed and listed.returncode == 0:
        found = {pathlib.Path(line) for line in listed.stdout.splitlines()}
    else:
        found = {path.relative_to(root) for path in root.rglob("*")}
        found = {path for path in found if not path.parts[0].startswith((".", "build"))}
    return sorted(path for path in found if (root / path).is_file())


def folder_rule(path):
    rules = [folder for folder in MAY_INCLUDE if path.startswith(folder)]
    return max(rules, key=len) if rules else None


def project_include_fault(root, path, included):
    if "/" not in included:
        return "is not root-relative"
    if not (root / included).exists() and included not in GENERATED:
        return "does not exist"
    rule = folder_rule(path)
    if rule is None:
        return "comes from a folder without a rule"
    if any(included.startswith(allowed) for allowed in [rule, *MAY_INCLUDE[rule]]):
        return None
    return f"is not allowed for {rule}"


def system_include_fault(path, included):
    if included in FREESTANDING or path.startswith(HOSTED):
        return None
    if any(path.startswith(place) for place in SYSTEM_HEADERS.get(included, [])):
        return None
    return "is a system header that this file may not include"


def include_law(root, names):
    for path in (str(n) for n in names if n.suffix in {".c", ".h", ".inc"}):
        for project, system in INCLUDE.findall((root / path).read_text(errors="replace")):
            fault = project_include_fault(root, path, project) if project else system_include_fault(path, system)
            if fault:
                yield f"{path}: {project or system} {fault}"


def licence_lines(root, names):
    for name in names:
        if name.suffix in NEEDS_LICENCE or name.name == "meson.build":
            head = (root / name).read_text(errors="replace").splitlines()[:2]
            if not any(LICENCE in line for line in head):
                yield f"{name}: no '{LICENCE}' in its first two lines"


def unique_names(_root, names):
    seen = {}
    for name in names:
        if name.name not in MAY_REPEAT and "golden" not in name.parts:
            if name.name in seen:
                yield f"{name}: the same file name as {seen[name.name]}"
            seen.setdefault(name.name, name)


AMX_INTRINSIC = re.compile(r"\b(?:_tile_\w+|__tile_\w+|__tile1024i|__builtin_ia32_(?:tile\w*|tdp\w*|ldtilecfg|sttilecfg))\b")


def amx_intrinsics(root, names):
    for name in names:
        if name.suffix in {".c", ".h", ".inc"}:
            for number, line in enumerate((root / name).read_text(errors="replace").splitlines(), 1):
                if match := AMX_INTRINSIC.search(line):
                    yield f"{name}:{number}: {match[0]} in place of kernels/x86/amx_tile.h"


def clang_format(root, names):
    sources = [root / n for n in names if n.suffix in {".c", ".h"}]
    if not sources:
        return
    done = command("clang-format-14", "--dry-run", "-Werror", f"--style=file:{ROOT / '.clang-format'}", *sources)
    places = [line.split(":")[:2] for line in done.stderr.splitlines() if ": error" in line]
    for path, line in dict(reversed(places)).items():
        yield f"{path.removeprefix(f'{root}/')}:{line}: the first line that clang-format would change"
    if done.returncode != 0 and not places:
        yield f"clang-format: exit {done.returncode}: {done.stderr}"


# Rule, a bad tree {path: text}, and what the rule must say about it.
HEAD = f"/* {LICENCE} */\n"
RULES = [
    ("include law", include_law, [
        ({"format/a.c": HEAD + '#include "kernels/k.h"\n', "kernels/k.h": HEAD}, "not allowed for format/"),
        ({"runtime/a.c": HEAD + '#include "loader/map.h"\n', "loader/map.h": HEAD}, "not allowed for runtime/"),
        ({"tools/a.c": HEAD + '#  include "runtime/plan.h"\n', "runtime/plan.h": HEAD}, "not allowed for tools/"),
        ({"loader/a.c": HEAD + '#include "map.h"\n', "loader/map.h": HEAD}, "not root-relative"),
        ({"loader/a.c": HEAD + '#include "loader/gone.h"\n'}, "does not exist"),
        ({"runtime/plan.c": HEAD + "#include <stdio.h>\n"}, "may not include"),
        ({"other/a.c": HEAD + '#include "other/a.h"\n', "other/a.h": HEAD}, "without a rule"),
    ]),
    ("licence line", licence_lines, [
        ({"format/a.c": "int a;\n"}, "no 'SPDX"),
        ({"tools/a.py": "import os\n\n# " + LICENCE}, "no 'SPDX"),
    ]),
    ("file names", unique_names, [({"format/a.c": HEAD, "loader/a.c": HEAD}, "same file name")]),
    ("AMX", amx_intrinsics, [
        ({"kernels/x86/a.c": HEAD + "void f(void) { _tile_zero(0); }\n"}, "_tile_zero in place of"),
        ({"tests/a.c": HEAD + "void f(void) { __tile_dpbf16ps(&c, a, b); }\n"}, "__tile_dpbf16ps in place of"),
        ({"kernels/x86/a.c": HEAD + "void f(void) { __builtin_ia32_tilerelease(); }\n"}, "__builtin_ia32_tilerelease"),
    ]),
    ("clang-format", clang_format, [({"format/a.c": HEAD + "int  a ;\n"}, "format/a.c")]),
]


def faults_of_tree(check, tree):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return list(check(root, [pathlib.Path(path) for path in tree]))


def main():
    tap = Tap()
    names = files(ROOT)
    tap.ok("there are sources", sum(n.suffix == ".c" for n in names) > 10, f"{len(names)} files")
    for title, check, controls in RULES:
        if check is clang_format and not shutil.which("clang-format-14"):
            tap.skip(title, "clang-format-14 is not installed")
            continue
        for tree, wanted in controls:
            found = faults_of_tree(check, tree)
            tap.ok(f"control: {title} refuses {next(iter(tree))}: {wanted}", any(wanted in f for f in found), found)
        found = list(check(ROOT, names))
        tap.ok(title, not found, *found)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
