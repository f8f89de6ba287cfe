# SPDX-License-Identifier: Apache-2.0
"""Real networks whose sizes may change between runs: what to convert, with which ranges, and real inputs of two sizes.

A size is {symbol: value}; the first one has every symbol at the low end of the range that the file is converted for, the
second one at the high end. Models come from IPEX_TEST_DATA, the three exported from PyTorch from IPEX_TEST_MODELS
(convnext_tiny.onnx, minilm.onnx, cond_unet.onnx) or the model maker beside the data; what is not there is skipped."""
import os
import pathlib
import sys
import wave

import numpy as np
from PIL import Image

from ipextest import CLI, DATA, MODELS, NETWORKS, command

MADE = pathlib.Path(os.environ.get("IPEX_TEST_MODELS", MODELS)).resolve()
P2O = "p2o.DynamicDimension."


class Sized:
    """`inputs(size, seed)` gives {port: array}; `bound` are the inputs that --const binds at convert time, as arrays for
    who still wants them; `steps` {symbol: step of its range}; `most` {symbol: as far as the network goes}."""

    def __init__(self, name, path, sizes, inputs, bound=None, steps=None, most=None):
        self.name, self.path, self.sizes, self.inputs = name, pathlib.Path(path), sizes, inputs
        self.bound, self.steps, self.most = bound or {}, steps or {}, most or {}

    @property
    def ipex(self):
        return MODELS / f"{self.name}.{os.getpid()}.ipex"  # of its own: other tests run beside

    @property
    def fixed(self):
        return len(self.sizes) == 1

    def ranges(self):
        """{symbol: (lo, hi, step)}"""
        return {symbol: (low, self.sizes[-1][symbol], self.steps.get(symbol, 1)) for symbol, low in self.sizes[0].items()}

    def wider(self):
        """The same, up to twice as high."""
        return {symbol: (lo, lo if lo == hi else min(2 * hi, self.most.get(symbol, 2 * hi)), step)
                for symbol, (lo, hi, step) in self.ranges().items()}

    def flags(self):
        dims = [["--dim", f"{symbol}={lo}..{hi}:{step}"] for symbol, (lo, hi, step) in self.ranges().items()]
        given = [["--const", f"{name}={value}"] for name, value in self.bound.items()]
        return [word for pair in dims + given for word in pair]

    def feeds(self, inputs):
        """The inputs and what was bound: what ONNX Runtime wants."""
        return inputs | self.bound

    def convert(self, target=None, *flags):
        """The finished process of `ipexpack convert`."""
        return command(CLI, "convert", self.path, "-o", target or self.ipex, "--quiet", *self.flags(), *flags)


# ---- inputs ----

def picture(name, height, width):
    """[1][H][W][3], 0 .. 1."""
    image = Image.open(DATA / "images" / name).convert("RGB").resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(image, np.float32)[None] / np.float32(255)


def channels_first(x):
    return np.ascontiguousarray(np.moveaxis(x, -1, 1), np.float32)


def page(size, seed):
    """Cut out of a page where it has lines of text."""
    mean, deviation = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    n, height, width = (size[P2O + axis] for axis in "012")
    x = np.tile(picture("rapidocr_ch_en_num.jpg", 430, 323), (1, 2, 2, 1))
    cuts = [x[0, 90 + 16 * i :][:height, 60 + 16 * (seed % 2) :][:, :width] for i in range(n)]
    return {"x": channels_first((np.stack(cuts) - mean) / deviation)}


def text_line(width):
    def inputs(size, seed):
        x = picture(f"rapidocr_{'text' if seed % 2 else 'en'}_rec.jpg", 48, size[width])
        return {"x": channels_first(np.repeat(x, size[P2O + "0"], 0) * 2 - 1)}
    return inputs


def photo_letterboxed(name, side=416):
    """YOLOX's own preprocessing: 0 .. 255, blue first, scaled into the upper left corner of a grey square."""
    image = Image.open(DATA / "images" / name).convert("RGB")
    ratio = side / max(image.size)
    small = image.resize((int(image.width * ratio), int(image.height * ratio)), Image.Resampling.BILINEAR)
    x = np.full((1, side, side, 3), 114, np.float32)
    x[0, : small.height, : small.width] = np.asarray(small, np.float32)[:, :, ::-1]
    return channels_first(x)


def noisy_photo(height, width, seed):
    """(clean, noisy) [1][3][H][W], 0 .. 1; noise of standard deviation 25/255."""
    clean = channels_first(picture("astronaut.jpg", height, width))
    noise = np.random.default_rng(seed).standard_normal(clean.shape) * (25 / 255)
    return clean, np.clip(clean + noise, 0, 1).astype(np.float32)


def wav(path):
    """(samples -1 .. 1, rate)"""
    with wave.open(str(path)) as file:
        frames = np.frombuffer(file.readframes(file.getnframes()), np.int16)
        return frames.astype(np.float32) / np.float32(32768), file.getframerate()


def speech(batch, samples):
    def inputs(size, seed):
        n, length = size[batch], size[samples]
        sound = wav(DATA / "silero_vad" / "test_first10s_16k.wav")[0][16000 * (1 + seed % 4) :]
        state = np.random.default_rng(seed).standard_normal((2, n, 128)) * 0.1
        return {"input": sound[: n * length].reshape(n, length), "state": state.astype(np.float32)}
    return inputs


def file_bytes(size, seed):
    """Magika's own: the first and the last 1024 bytes of a file; 256 stands where there is none."""
    text = (pathlib.Path(__file__).parent / ("ipextest.py", "run.sh")[seed % 2]).read_bytes().strip()
    rows = np.full((size["unk__214"], 2048), 256, np.int32)
    for i, row in enumerate(rows):
        begin, end = text[i * 100 :][:1024], text[-1024:]
        row[: len(begin)] = list(begin)
        row[2048 - len(end) :] = list(end)
    return {"bytes": rows}


def music(size, seed):
    sound = wav(DATA / "basic_pitch" / "vocadito_10.wav")[0]
    rows = [sound[(seed + i) * 43844 :][:43844] for i in range(size["unk__749"])]
    return {"serving_default_input_2:0": np.stack(rows)[:, :, None]}


def sentences(size, seed):
    """Rows of tokens, the further down the more padding."""
    shape = size["batch"], size["seq"]
    ids = np.random.default_rng(seed).integers(1000, 30000, shape)
    mask = (np.arange(shape[1]) < shape[1] - 3 * np.arange(shape[0])[:, None]).astype(np.int64)
    return {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": np.zeros(shape, np.int64)}


def normal(**shapes):
    """Ports of f32; a dim may be a symbol."""
    def inputs(size, seed):
        random = np.random.default_rng(seed)
        dims = {name: [size.get(d, d) for d in shape] for name, shape in shapes.items()}
        return {name: random.standard_normal(d, np.float32) for name, d in dims.items()}
    return inputs


def diffusion(size, seed):
    x = normal(sample=["batch", 4, 32, 32], ctx=["batch", 77, 256])(size, seed)
    return x | {"timestep": np.array([500 - 400 * (seed % 2)])}


# ---- the list ----

def sizes(*symbols, low, high):
    return [dict(zip(symbols, low)), dict(zip(symbols, high))]


def batches(symbol, high):
    return sizes(symbol, low=[1], high=[high])


def with_sizes():
    ocr, voice = DATA / "ppocrv4", DATA / "silero_vad"
    rate = {"sr": np.array(16000)}
    yield Sized("ppocr_det", ocr / "ch_PP-OCRv4_det_infer.onnx",
                sizes(P2O + "0", P2O + "1", P2O + "2", low=[1, 96, 160], high=[2, 224, 192]), page,
                steps={P2O + "1": 32, P2O + "2": 32})
    yield Sized("ppocr_rec", ocr / "ch_PP-OCRv4_rec_infer.onnx", sizes(P2O + "0", P2O + "1", low=[1, 150], high=[2, 320]),
                text_line(P2O + "1"))
    yield Sized("ppocr_cls", ocr / "ch_ppocr_mobile_v2.0_cls_infer.onnx",
                sizes(P2O + "0", P2O + "1", P2O + "2", low=[1, 48, 100], high=[3, 48, 192]), text_line(P2O + "2"))
    yield Sized("yolox_nano", DATA / "yolox_nano" / "yolox_nano.onnx", [{}],
                lambda size, seed: {"images": photo_letterboxed(("dog1.jpg", "dog2.jpg")[seed % 2])})
    yield Sized("oidn_unet", DATA / "oidn_unet" / "oidn_rt_ldr.onnx", sizes("N", "H", "W", low=[1, 64, 96], high=[2, 112, 128]),
                lambda size, seed: {"input": np.repeat(noisy_photo(size["H"], size["W"], seed)[1], size["N"], 0)},
                steps={"H": 16, "W": 16})
    yield Sized("silero_vad", voice / "silero_vad.onnx", sizes("input[0]", "input[1]", "state[1]", low=[1, 512, 1], high=[1, 600, 1]),
                speech("input[0]", "input[1]"), rate, most={"input[1]": 703})
    yield Sized("silero_vad_op18", voice / "silero_vad_op18_ifless.onnx",
                sizes("batch", "sequence", low=[1, 512], high=[3, 576]), speech("batch", "sequence"), rate)
    yield Sized("magika", DATA / "magika" / "standard_v3_3.onnx", batches("unk__214", 3), file_bytes)
    yield Sized("basic_pitch", DATA / "basic_pitch" / "nmp.onnx", batches("unk__749", 2), music)
    yield Sized("minilm", MADE / "minilm.onnx", sizes("batch", "seq", low=[1, 12], high=[3, 37]), sentences)
    yield Sized("convnext_tiny", MADE / "convnext_tiny.onnx", batches("batch", 2), normal(x=["batch", 3, 224, 224]))
    yield Sized("cond_unet", MADE / "cond_unet.onnx", batches("batch", 2), diffusion)


def with_batches():
    for n in NETWORKS:
        if n.fixed:
            yield Sized(n.name, n.onnx, [{}], normal(**{n.port: n.shape}))
        elif n.name == "text_direction":
            continue
        else:
            yield Sized(n.name, n.onnx, batches(n.dim, 2), normal(**{n.port: [n.dim, *n.shape[1:]]}))


SIZED = [*with_sizes(), *with_batches()]


def make_models(names):
    """Lets the model maker beside the data make what is missing and was asked for."""
    MODELS.mkdir(parents=True, exist_ok=True)
    maker = DATA.parent / "bench" / "make_models.py"
    missing = [n.name for n in SIZED if n.path.parent == MODELS and n.name in names and not n.path.exists()]
    for name in missing if maker.exists() else ():
        command(sys.executable, maker, MODELS, name)


def networks_here(tap, names=()):
    """Gives the networks (of these names) whose models are here or can be made, one after the other; the others are
    skipped and said."""
    chosen = [n for n in SIZED if not names or n.name in names]
    make_models([n.name for n in chosen])
    for network in chosen:
        if network.path.exists():
            yield network
        else:
            tap.skip(network.name, "its model is not here (IPEX_TEST_DATA, IPEX_TEST_MODELS)")
