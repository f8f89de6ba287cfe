#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of the checker the corpus of bad files reaches: coverage.py MAKE_BAD. Builds the checker with gcc --coverage in
BUILD/coverage, opens the whole corpus and counts lines with gcov; the checker's files together must reach WANTED percent.
Prints what each file reaches, and every line that nothing reached."""
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, ROOT, Tap, command

WANTED = 95.0
MEASURED = ["format/check.c", "format/check_entry.c", "format/check_graph.c", "format/dims.c", "format/fb_read.c",
            "format/shape.c", "format/shape_element.c", "format/shape_image.c", "format/shape_move.c", "format/shape_products.c", "format/tile.c"]
OTHERS = ["format/names.c", "format/report.c", "format/sha256.c", "loader/image.c", "loader/map.c",
          "tests/golden/check_bad.c"]


def compile_all(folder):
    """Object files beside which gcov finds its counts; one program of them."""
    flags = ["-O0", "-g", "-std=c11", "-D_GNU_SOURCE", "-DNDEBUG", f"-I{ROOT}", f"-I{BUILD}"]
    objects = []
    for source in MEASURED + OTHERS:
        objects.append(folder / (pathlib.Path(source).stem + ".o"))
        coverage = ["--coverage"] if source in MEASURED else []
        done = command("gcc", *flags, *coverage, "-c", ROOT / source, "-o", objects[-1])
        if done.returncode != 0:
            return done
    return command("gcc", "--coverage", *objects, "-o", folder / "check_bad")


def count(folder, source):
    """{line: runs} of one source file."""
    done = command("gcov", "--json-format", "--stdout", f"{pathlib.Path(source).stem}.o", cwd=folder)
    lines = {}
    for unit in json.loads(done.stdout)["files"]:
        if unit["file"].endswith(source):
            for line in unit["lines"]:
                lines[line["line_number"]] = lines.get(line["line_number"], 0) + line["count"]
    return lines


def percent(lines):
    return 100.0 * sum(runs > 0 for runs in lines) / len(lines)


def main(make_bad):
    tap, folder, corpus = Tap(), BUILD / "coverage", BUILD / "coverage" / "bad-files"
    if not shutil.which("gcc") or not shutil.which("gcov"):
        tap.skip("line coverage of the checker", "gcc and gcov are needed")
        return tap.done()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for step in (lambda: compile_all(folder), lambda: command(make_bad, corpus),
                 lambda: command(folder / "check_bad", corpus)):
        done = step()
        if done.returncode != 0:
            tap.ok("line coverage of the checker", False, done.stdout[-2000:], done.stderr[-2000:])
            return tap.done()
    everything = []
    for source in MEASURED:
        lines = count(folder, source)
        everything += lines.values()
        print(f"# {source}: {percent(lines.values()):.1f} % of {len(lines)} lines", flush=True)
        text = (ROOT / source).read_text().splitlines()
        for number in sorted(n for n, runs in lines.items() if runs == 0):
            print(f"#   {source}:{number} not reached: {text[number - 1].strip()}", flush=True)
    reached = percent(everything)
    tap.ok(f"line coverage of the checker: {reached:.1f} % (at least {WANTED:.0f} %)", reached >= WANTED)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
