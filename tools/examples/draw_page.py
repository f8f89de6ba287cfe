#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a page to read: draw_page.py FOLDER. Writes FOLDER/page.png (one line of it stands on its head) and
FOLDER/page.txt, its lines from top to bottom. Needs pillow alone, whose own font it uses."""
import pathlib
import sys

from PIL import Image, ImageDraw, ImageFont

WIDTH, MARGIN = 960, 56
# Size of the font, text, where it begins (none: at the margin), whether it is turned round.
LINES = [
    (44, "Harbour Office", None, False),
    (26, "Tide table for Saturday, 21 November", None, False),
    (30, "High water 04:52", None, False),
    (30, "5.31 m", 600, False),
    (30, "Low water 11:07", None, False),
    (30, "1.24 m", 600, False),
    (30, "High water 17:20", None, False),
    (30, "5.08 m", 600, False),
    (28, "Wind from the south-west, force 5, gusts of 7", None, False),
    (28, "THIS LINE STANDS ON ITS HEAD", None, True),
    (22, "Pilots are to be ordered six hours ahead on channel 12", None, False),
]


def draw_line(page, top, size, text, left, turned):
    """Text of one line, of which a turned one is drawn upright and then rotated in its place."""
    font = ImageFont.load_default(size=size)
    box = font.getbbox(text)
    line = Image.new("RGB", (box[2] + 8, box[3] + 12), "white")
    ImageDraw.Draw(line).text((4, 4), text, font=font, fill="#1b2430")
    page.paste(line.rotate(180) if turned else line, (left or MARGIN, top))


def main(folder):
    heights = [0 if left else 2 * size for size, _, left, _ in LINES]
    page = Image.new("RGB", (WIDTH, 2 * MARGIN + sum(heights)), "white")
    top = MARGIN
    for height, (size, text, left, turned) in zip(heights, LINES):
        draw_line(page, top - 2 * size if left else top, size, text, left, turned)
        top += height
    page.save(folder / "page.png")
    (folder / "page.txt").write_text("".join(f"{text}\n" for _, text, _, _ in LINES))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: draw_page.py FOLDER")
    main(pathlib.Path(sys.argv[1]))
