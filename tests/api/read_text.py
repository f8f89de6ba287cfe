#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The text reader of tools/examples/ocr against what RapidOCR read on the same pictures: lines exact, of pages 97 % of the
characters, and every box at an overlap of 0.7; and the page that tools/quickstart.sh draws. Also what it says about files
that are no pictures or no models."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, CLI, DATA, ROOT, Tap, command

PROGRAM = BUILD / "tools" / "examples" / "ocr" / "ocr"
FOLDER = BUILD / "test-ocr"
MODEL = FOLDER / "ocr.ipex"
PICTURES = DATA / "images"
# Entry, file below the wheel's models or DATA/ppocrv4, and the range of its height and width.
NETWORKS = [("detect", "ch_PP-OCRv4_det_infer.onnx", "32..4096:32", "32..4096:32"),
            ("classify", "ch_ppocr_mobile_v2.0_cls_infer.onnx", "48", "192"),
            ("recognize", "ch_PP-OCRv4_rec_infer.onnx", "48", "320..3200")]


def find_models():
    """The wheel's models name their characters; those of DATA have them in a file beside them."""
    for folder in (BUILD / "models", DATA / "ppocrv4"):
        if all((folder / name).exists() for _, name, _, _ in NETWORKS):
            return folder
    return None


def dim_flags(path, entry, height, width):
    """--dim for the height and width of input x, under the names that the converter asks for."""
    done = command(CLI, "convert", path, "-o", FOLDER / "none.ipex")
    inputs = re.search(r"^  x \[(.*)\]$", done.stderr, re.MULTILINE)
    names = inputs.group(1).split(", ")[2:]
    return [flag for name, size in zip(names, (height, width)) if not name.isdigit()
            for flag in ("--dim", f"{entry}:{name}={size}")]


def write_labels(folder):
    """The recogniser's classes: blank, the characters, a space."""
    path = FOLDER / "characters.txt"
    path.write_text("blank\n" + (folder / "ppocr_keys_v1.txt").read_text().rstrip("\n") + "\n \n")
    return ["--labels", f"recognize={path}"]


def convert(tap, folder, file=MODEL, *options):
    """Three networks, one file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    flags = [flag for entry, name, height, width in NETWORKS
             for flag in ("--entry", f"{entry}={folder / name}", *dim_flags(folder / name, entry, height, width))]
    labels = write_labels(folder) if (folder / "ppocr_keys_v1.txt").exists() else []
    done = command(CLI, "convert", "-o", file, "--quiet", *flags, *labels, *options)
    return tap.ok(" ".join(("convert three networks into one file", *options)), done.returncode == 0, f"exit {done.returncode}", done.stderr)


def read(picture, *options, model=MODEL):
    done = command(PROGRAM, "--json", *options, model, picture)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def edits(a, b):
    """Characters to insert, delete or replace to make b of a."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
    return row[-1]


def area(polygon):
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(polygon, polygon[1:] + polygon[:1])) / 2


def intersection(subject, clip):
    """Of two convex polygons, clockwise in pixels: cut the one by each side of the other."""
    for a, b in zip(clip, clip[1:] + clip[:1]):
        side = [(b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) for p in subject]
        cut = []
        for p, q, sp, sq in zip(subject, subject[1:] + subject[:1], side, side[1:] + side[:1]):
            if sp >= 0:
                cut.append(p)
            if sp * sq < 0:
                cut.append([p[0] + (q[0] - p[0]) * sp / (sp - sq), p[1] + (q[1] - p[1]) * sp / (sp - sq)])
        subject = cut
    return area(subject) if len(subject) > 2 else 0


def overlap(a, b):
    common = intersection(a, b)
    return common / (area(a) + area(b) - common)


def check_measures(tap):
    square = [[0, 0], [2, 0], [2, 2], [0, 2]]
    moved = [[x + 1, y] for x, y in square]
    tap.ok("overlap of squares", abs(overlap(square, moved) - 1 / 3) < 1e-12 and overlap(square, square) == 1)
    tap.ok("edits of words", edits("kitten", "sitting") == 3)


def check_page(tap, name, wanted):
    done, lines = read(PICTURES / name, "--html", FOLDER / "page.html")
    if not tap.ok(f"{name} is read", done.returncode == 0 and len(lines) == len(wanted),
                  f"exit {done.returncode}, {len(lines)} lines, wanted {len(wanted)}", done.stderr):
        return
    wrong, worst = 0, 1
    for line in wanted:
        found = max(lines, key=lambda other: overlap(line["box"], other["box"]))
        worst = min(worst, overlap(line["box"], found["box"]))
        wrong += edits(line["text"], found["text"])
    total = sum(len(line["text"]) for line in wanted)
    tap.ok(f"{name}: 97 % of {total} characters", wrong <= 0.03 * total, f"{wrong} wrong", *lines)
    tap.ok(f"{name}: every box", worst >= 0.7, f"least overlap {worst:.3f}", *lines)
    text = (FOLDER / "page.html").read_text()
    tap.ok(f"{name}: boxes over the picture", text.count("<polygon") == len(wanted) and "jpeg;base64,/9j/" in text)
    tap.ok(f"{name}: the page needs nothing from elsewhere", not re.search(r"(src|href|url)\W*(https?:|//)", text))


def check_drawn(tap):
    """The page of tools/quickstart.sh: every character but spaces, which this recogniser often leaves out; the boxes."""
    done = command(sys.executable, ROOT / "tools" / "examples" / "draw_page.py", FOLDER)
    if not tap.ok("a page is drawn", done.returncode == 0, done.stderr):
        return
    page, boxes, html = FOLDER / "page.png", FOLDER / "boxes.png", FOLDER / "drawn.html"
    done = command(PROGRAM, "--png", boxes, "--html", html, MODEL, page)
    wanted = (FOLDER / "page.txt").read_text()
    tap.ok("the drawn page is read", done.stdout.replace(" ", "") == wanted.replace(" ", ""), done.stderr, done.stdout)
    tap.ok("each stage's time is printed", re.search(
        r"^detect \d+\.\d ms, classify \d+\.\d ms, recognize \d+\.\d ms, 11 lines$", done.stderr, re.MULTILINE), done.stderr)
    tap.ok("--html of a PNG", "png;base64,iVBOR" in html.read_text())
    check_boxes(tap, page, boxes, read(page)[1])


def check_boxes(tap, page, boxes, lines):
    with Image.open(page) as before, Image.open(boxes) as after:
        corners = [after.getpixel((x, y)) for line in lines for x, y in line["box"]]
        same = before.size == after.size and before.convert("RGB").getpixel((2, 2)) == after.getpixel((2, 2))
    tap.ok("--png paints every box", same and corners and set(corners) == {(11, 107, 203)}, set(corners))


def check_quickstart(tap):
    """What it is asked to do wrongly, it refuses before it installs or builds anything."""
    script = ROOT / "tools" / "quickstart.sh"
    for what, arguments, code, part in (("an unknown option", ["--what"], 2, "usage:"), ("two pictures", ["a", "b"], 2, "usage:"),
                                        ("--html of nothing", ["--html"], 2, "usage:"),
                                        ("no such picture", ["nothing.png"], 1, "cannot read")):
        done = command(script, *arguments)
        tap.ok(f"quickstart: {what} is refused", done.returncode == code and part in done.stderr and not done.stdout,
               f"exit {done.returncode}", done.stderr, done.stdout)


def check_same_bits(tap, name):
    one, two = (read(PICTURES / name, "--threads", str(n))[1] for n in (1, 2))
    tap.ok(f"{name}: the same with two threads", one and one == two, one, two)


def check_refused(tap, what, options, code, part):
    done = command(PROGRAM, *options)
    tap.ok(f"{what} is refused", done.returncode == code and part in done.stderr and not done.stdout,
           f"exit {done.returncode}, wanted {code} and {part!r}", done.stderr, done.stdout)


def check_failures(tap):
    text, cut, page, model = FOLDER / "text.jpg", FOLDER / "cut.png", FOLDER / "page.png", MODEL
    text.write_text("not a picture\n")
    cut.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    check_refused(tap, "no argument", [], 2, "usage: ocr")
    check_refused(tap, "an unknown option", ["--what", model, text], 2, "usage: ocr")
    check_refused(tap, "no thread", ["--threads", "0", model, text], 2, "usage: ocr")
    check_refused(tap, "a text", [model, text], 1, "neither JPEG nor PNG")
    check_refused(tap, "a damaged PNG", [model, cut], 1, "cut.png")
    check_refused(tap, "no file", [model, FOLDER / "nothing.jpg"], 1, "nothing.jpg")
    whole, half = (PICTURES / "rapidocr_ch_en_num.jpg").read_bytes(), FOLDER / "half.jpg"
    half.write_bytes(whole[:len(whole) // 2])
    check_refused(tap, "half a JPEG", [model, half], 1, "half.jpg: Premature end")
    folder = BUILD / "models" if (BUILD / "models").exists() else DATA / "ppocrv4"
    done = command(CLI, "convert", folder / NETWORKS[1][1], "-o", FOLDER / "one.ipex", "--quiet", "--input", "x=1x3x48x192")
    tap.ok("a model of one entry converts", done.returncode == 0, done.stderr)
    check_refused(tap, "a model without the entries", [FOLDER / "one.ipex", page], 1, "detect")
    check_refused(tap, "no model", [FOLDER / "none.ipex", page], 1, "none.ipex")
    done = command(PROGRAM, FOLDER / "none.ipex", page)
    tap.ok("no model: named once", done.stderr.count("none.ipex") == 1, done.stderr)
    for options in [], ["--json"]:
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, *options, MODEL, page], stdout=full, stderr=subprocess.PIPE, text=True)
        tap.ok(" ".join(["text that cannot be written", *options]), done.returncode == 1 and "standard output" in done.stderr, done.stderr)
    pipe = FOLDER / "pipe"
    os.mkfifo(pipe)
    for option in ("--html", "--png"):
        done = command(PROGRAM, option, FOLDER / "no" / "folder", MODEL, page)
        tap.ok(f"{option} to nowhere fails", done.returncode == 1 and "folder" in done.stderr, done.stderr)
        done = command(PROGRAM, option, pipe, MODEL, page, timeout=60)
        tap.ok(f"{option} leaves what is no file alone", done.returncode == 1 and "not a regular file" in done.stderr
               and pipe.is_fifo(), done.stderr)


def main():
    tap = Tap()
    shutil.rmtree(FOLDER, ignore_errors=True)
    check_measures(tap)
    check_quickstart(tap)
    models = find_models()
    if not PROGRAM.exists():
        tap.skip("text reader", "it is not built: no libjpeg or libpng")
    elif not models:
        tap.skip("text reader", "the models are not here (no network, no IPEX_TEST_DATA)")
    elif convert(tap, models):
        check_drawn(tap)
        check_failures(tap)
        if not (PICTURES / "EXPECTED.json").exists():
            tap.skip("pictures", "they are not here (see IPEX_TEST_DATA)")
            return tap.done()
        expected = json.loads((PICTURES / "EXPECTED.json").read_text())
        for name, wanted in expected["pages"].items():
            check_page(tap, name, wanted)
        check_same_bits(tap, "rapidocr_ch_en_num.jpg")
        for name, wanted in expected["lines (no detector, with the direction classifier)"].items():
            done, lines = read(PICTURES / name, "--line")
            tap.ok(f"{name}: the line", [line["text"] for line in lines] == [wanted["text"]], done.stderr, *lines)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
