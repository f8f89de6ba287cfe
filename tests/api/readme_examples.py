#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shell examples of README.md run as they stand there, in a folder with the files that they name, and print what the text
around them says. tools/examples/sentences.py splits text into the tokens that another program found."""
import os
import pathlib
import re
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, DATA, MODELS, ROOT, Tap, command

os.environ["IPEX_LIBRARY"] = str(BUILD / "runtime" / "libipex.so")
sys.path.insert(0, str(ROOT / "tools" / "examples"))
import sentences

VOCABULARY = DATA / "tokenizers" / "ggml-vocab-bert-bge.gguf"  # the one of MiniLM too
MINILM = pathlib.Path(os.environ.get("IPEX_TEST_MODELS", MODELS)).resolve() / "minilm.onnx"
ENVIRONMENT = dict(os.environ, PATH=f"{BUILD / 'tools'}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
SEPARATOR = "\n__ggml_vocab_test__\n"
GGUF_KINDS = "BbHhIif?__Qqd"  # struct's letters by GGUF's type; 8 is a string, 9 an array


class Gguf:
    """Reads the metadata of a GGUF file: {key: value}."""

    def __init__(self, path):
        self.data, self.at = path.read_bytes(), 4
        self.take("I"), self.take("Q")
        self.metadata = {}
        for _ in range(self.take("Q")):
            key = self.string()
            self.metadata[key] = self.value(self.take("I"))

    def take(self, kind):
        (value,) = struct.unpack_from("<" + kind, self.data, self.at)
        self.at += struct.calcsize("<" + kind)
        return value

    def string(self):
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            inner, count = self.take("I"), self.take("Q")
            return [self.value(inner) for _ in range(count)]
        return self.take(GGUF_KINDS[kind])


def vocabulary():
    """As WordPiece's own files have it: ## inside words, where this one marks the beginnings."""
    def piece(token):
        special = token.startswith("[") and token.endswith("]") and len(token) > 1
        return token[1:] if token.startswith("\u2581") else token if special else "##" + token
    return [piece(token) for token in Gguf(VOCABULARY).metadata["tokenizer.ggml.tokens"]]


def check_tokens(tap, tokens):
    numbers = {token: i for i, token in enumerate(tokens)}
    texts = VOCABULARY.with_suffix(".gguf.inp").read_bytes().decode().split(SEPARATOR)
    wanted = VOCABULARY.with_suffix(".gguf.out").read_text().split("\n")
    wrong = [f"{text!r}: {ours}, wanted {line}" for text, line in zip(texts, wanted)
             if (ours := sentences.tokenize(text, numbers)[1:-1]) != [int(word) for word in line.split()]]
    tap.ok(f"{len(texts)} texts have the tokens that llama.cpp finds", len(texts) > 40 and not wrong, *wrong)


def run(program, files):
    """A block in a folder of links to what it needs; its process and what {name: text} it left."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for link, target in {"build": BUILD, "tools": ROOT / "tools", **files}.items():
            if isinstance(target, str):
                (folder / link).write_text(target)
            else:
                (folder / link).symlink_to(target)
        done = command("bash", "-euc", program, cwd=folder, env=ENVIRONMENT)
        return done, {path.name: path.read_text() for path in folder.glob("*.html")}


def check_text(tap, program):
    models = [BUILD / name for name in re.findall(r"=build/(\S+\.onnx)", program)]
    picture = DATA / "images" / "rapidocr_en.jpg"
    if not (BUILD / "tools" / "examples" / "ocr" / "ocr").exists():
        tap.skip("README: text in pictures", "the program is not built: no libjpeg or libpng")
    elif not all(path.exists() for path in models):
        tap.skip("README: text in pictures", "the models of PP-OCR are not here (no network)")
    elif not picture.exists():
        tap.skip("README: text in pictures", "its picture is not here (see IPEX_TEST_DATA)")
    else:
        done, pages = run(program, {"page.jpg": picture})
        tap.ok("README: text in pictures", done.returncode == 0 and "MovieShots" in done.stdout
               and "MovieShots" in pages.get("text.html", ""), done.stderr, done.stdout)


def check_classes(tap, program):
    model = DATA / "squeezenet1.1_imagenet" / "squeezenet1.1.onnx"
    if not model.exists():
        tap.skip("README: classes of pictures", "the model is not here (see IPEX_TEST_DATA)")
        return
    labels = "".join(f"dog {i}\n" if 151 <= i <= 268 else f"other {i}\n" for i in range(1000))  # ImageNet's breeds
    for picture in ("dog1.jpg", "dog2.jpg"):
        done, _ = run(program, {"squeezenet1.1.onnx": model, "imagenet.txt": labels, "dog.jpg": DATA / "images" / picture})
        rows = re.findall(r"^ *-?\d+\.\d+ +(\d+) +(\w+ \d+)$", done.stdout, re.MULTILINE)
        tap.ok(f"README: classes of pictures, {picture}", done.returncode == 0 and len(rows) == 5 and rows[0][1].startswith("dog ")
               and all(label.endswith(f" {number}") for number, label in rows), done.stderr, done.stdout)


def check_sentences(tap, program, tokens):
    if not MINILM.exists() or not tokens:
        tap.skip("README: sentences of like meaning", "MiniLM or its vocabulary is not here (IPEX_TEST_DATA, IPEX_TEST_MODELS)")
        return
    done, _ = run(program, {"minilm.onnx": MINILM, "vocab.txt": "\n".join(tokens) + "\n"})
    rows = re.findall(r"^ *(-?\d\.\d{3})  (.*)$", done.stdout, re.MULTILINE)
    tap.ok("README: sentences of like meaning", done.returncode == 0 and [text for _, text in rows] ==
           ["Someone is having a meal.", "The sky is blue."] and float(rows[0][0]) > 0.5 > 0.2 > float(rows[1][0]),
           done.stderr, done.stdout)


def main():
    tap = Tap()
    text = (ROOT / "README.md").read_text()
    examples = text[text.index("\n## Three examples\n"):text.index("\n## From PyTorch\n")]
    blocks = re.findall(r"^```sh\n(.*?)^```", examples, re.MULTILINE | re.DOTALL)
    if not tap.ok("the README has three examples", len(blocks) == 3, *blocks):
        return tap.done()
    check_text(tap, blocks[0])
    check_classes(tap, blocks[1])
    tokens = vocabulary() if VOCABULARY.exists() else None
    if tokens:
        check_tokens(tap, tokens)
    else:
        tap.skip("tokens", "the vocabulary is not here (see IPEX_TEST_DATA)")
    check_sentences(tap, blocks[2], tokens)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
