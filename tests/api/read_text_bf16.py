#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The text reader of tools/examples/ocr with its networks in bf16 (convert --dtype bf16, --weights bf16): of what the f32
file reads in each picture, at most 3 % of the characters are read otherwise. The rate of every picture is printed."""
import json
import shutil
import sys

import read_text  # also finds ipextest
from ipextest import BUILD, Tap

FOLDER = read_text.FOLDER = BUILD / "test-ocr-bf16"  # api-read-text runs beside
MOST = 0.03  # of the characters that f32 reads
KINDS = {"dtype": ("--dtype", "bf16"), "weights": ("--weights", "bf16")}


def pictures():
    """{name: options of the program}: pages, then single lines."""
    expected = json.loads((read_text.PICTURES / "EXPECTED.json").read_text())
    return {**{name: () for name in expected["pages"]},
            **{name: ("--line",) for name in expected["lines (no detector, with the direction classifier)"]}}


def text_of(model, name, options):
    """(what the program said where it failed, the lines below each other)"""
    done, lines = read_text.read(read_text.PICTURES / name, *options, model=model)
    return done.stderr if done.returncode else None, "\n".join(line["text"] for line in lines)


def check_kind(tap, kind, flags, models, plain):
    model = FOLDER / f"ocr.{kind}.ipex"
    if not read_text.convert(tap, models, model, *flags):
        return
    wrong = total = 0
    for name, options in pictures().items():
        failed, text = text_of(model, name, options)
        errors = read_text.edits(plain[name], text)
        tap.ok(f"{name}, --{kind} bf16: at most {MOST:.0%} of the characters that f32 reads are others",
               not failed and errors <= MOST * len(plain[name]), failed or f"f32: {plain[name]}", f"bf16: {text}")
        print(f"# {name}, --{kind} bf16: {errors} of {len(plain[name])} characters, {errors / len(plain[name]):.2%}")
        wrong, total = wrong + errors, total + len(plain[name])
    print(f"# all, --{kind} bf16: {wrong} of {total} characters, {wrong / total:.2%}")


def main():
    tap, models = Tap(), read_text.find_models()
    shutil.rmtree(FOLDER, ignore_errors=True)
    if not read_text.PROGRAM.exists():
        tap.skip("text reader in bf16", "it is not built: no libjpeg or libpng")
    elif not models:
        tap.skip("text reader in bf16", "the models are not here (no network, no IPEX_TEST_DATA)")
    elif not (read_text.PICTURES / "EXPECTED.json").exists():
        tap.skip("text reader in bf16", "the pictures are not here (see IPEX_TEST_DATA)")
    elif read_text.convert(tap, models, FOLDER / "ocr.f32.ipex"):
        plain = {name: text_of(FOLDER / "ocr.f32.ipex", name, options)[1] for name, options in pictures().items()}
        tap.ok("f32 reads something in every picture", all(plain.values()), plain)
        for kind, flags in KINDS.items():
            check_kind(tap, kind, flags, models, plain)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
