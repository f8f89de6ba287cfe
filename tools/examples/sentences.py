#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How alike are sentences? sentences.py MODEL.ipex VOCAB.txt SENTENCE SENTENCE...

Prints the similarity (cosine, -1 to 1) of the first sentence to each of the others, best first. MODEL is a BERT-like encoder
such as all-MiniLM-L6-v2, converted with dynamic batch and sequence; VOCAB its WordPiece vocabulary, one token per line.
All sentences are one batch: shorter ones are padded and the mask says so. Needs numpy."""
import pathlib
import sys
import unicodedata

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import ipex


def is_alone(character):
    """Punctuation and Chinese characters are words of their own."""
    code = ord(character)
    ascii_sign = 33 <= code <= 126 and not character.isalnum()
    chinese = 0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x2FA1F
    return ascii_sign or chinese or unicodedata.category(character).startswith("P")


def words(text):
    """Lower case without accents, split at spaces and around what stands alone."""
    spaced = []
    for c in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(c)
        if c.isspace():
            spaced.append(" ")
        elif kind != "Mn" and not kind.startswith("C") and c != "\ufffd":
            spaced.append(f" {c} " if is_alone(c) else c)
    return "".join(spaced).split()


def word_pieces(word, vocabulary):
    """The longest pieces from the left; those inside a word begin with ##."""
    pieces, start = [], 0
    while start < len(word):
        end = len(word)
        while end > start and ("##" if start else "") + word[start:end] not in vocabulary:
            end -= 1
        if end == start or len(word) > 100:
            return [vocabulary["[UNK]"]]
        pieces.append(vocabulary[("##" if start else "") + word[start:end]])
        start = end
    return pieces


def tokenize(text, vocabulary):
    inner = [piece for word in words(text) for piece in word_pieces(word, vocabulary)]
    return [vocabulary["[CLS]"], *inner, vocabulary["[SEP]"]]


def embed(model, vocabulary, sentences):
    """Unit vectors [sentences][features]: the mean of the last hidden state over the true tokens."""
    tokens = [tokenize(sentence, vocabulary) for sentence in sentences]
    ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
    mask = np.zeros_like(ids)
    for row, line in enumerate(tokens):
        ids[row, :len(line)], mask[row, :len(line)] = line, 1
    (hidden,) = model.run({"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def main(path, vocabulary, first, *others):
    tokens = pathlib.Path(vocabulary).read_text(encoding="utf-8").rstrip("\n").split("\n")
    with ipex.Model(path) as model:
        vectors = embed(model, {token: i for i, token in enumerate(tokens)}, [first, *others])
    for score, sentence in sorted(zip(vectors[1:] @ vectors[0], others), reverse=True):
        print(f"{score:6.3f}  {sentence}")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit("usage: sentences.py MODEL.ipex VOCAB.txt SENTENCE SENTENCE...")
    main(*sys.argv[1:])
