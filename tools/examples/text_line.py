#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A worked example around ipexpack: is a line of text upright? text_line.py IPEXPACK FILE.ipex FOLDER

Draws a line of text, upright and turned by 180 degrees, prepares both pictures as the PP-OCR text direction classifier
wants them, runs the converted classifier on each and prints its answers. Needs numpy and pillow."""
import json
import pathlib
import subprocess
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

TEXT = "one file, plain C, no surprises"
HEIGHT, WIDTH = 48, 192


def draw(text):
    """Black text on white, a little larger than the text."""
    font = ImageFont.load_default(size=32)
    picture = Image.new("RGB", (int(font.getlength(text)) + 24, HEIGHT), "white")
    ImageDraw.Draw(picture).text((12, 6), text, font=font, fill="black")
    return picture


def prepare(picture):
    """[1][3][48][192], B G R, -1..1: scaled to height 48, at most 192 wide, the rest zero."""
    width = min(WIDTH, -(-HEIGHT * picture.width // picture.height))
    pixels = np.asarray(picture.resize((width, HEIGHT), Image.BILINEAR), np.float32)
    tensor = np.zeros((1, 3, HEIGHT, WIDTH), np.float32)
    tensor[0, :, :, :width] = ((pixels[:, :, ::-1] / 255 - 0.5) / 0.5).transpose(2, 0, 1)
    return tensor


def classify(program, model, folder, tensor):
    """The network's probabilities, [2]."""
    np.save(folder / "line.npy", tensor)
    subprocess.run([program, "run", model, "--input", f"x={folder / 'line.npy'}", "--output", folder / "answer"],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    (output,) = (folder / "answer").glob("*.npy")
    return np.load(output)[0]


def labels(program, model):
    entries = json.loads(subprocess.check_output([program, "inspect", model, "--json"], text=True))["entries"]
    return entries[0]["labels"]


def main(program, model, folder):
    folder = pathlib.Path(folder)
    (folder / "answer").mkdir(parents=True, exist_ok=True)
    names = labels(program, model)
    line = draw(TEXT)
    right = True
    for turned in (0, 180):
        picture = line.rotate(turned)
        picture.save(folder / f"line_{turned}.png")
        probability = classify(program, model, folder, prepare(picture))
        answer = names[int(probability.argmax())]
        right = right and answer == f"{turned} degrees"
        print(f'  "{TEXT}" turned by {turned:3}: {answer}, probability {probability.max():.6f}')
    return 0 if right else 1


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: text_line.py IPEXPACK FILE.ipex FOLDER")
    sys.exit(main(*sys.argv[1:]))
