#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks do what they are for, end to end: YOLOX finds the dogs, the denoiser removes noise, the voice detectors follow
a recording with their state fed back and agree, Basic Pitch gives its authors' own output for a song.

meaning.py [NAME...]   prints TAP, with what was measured"""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, DATA, ROOT, Tap, cli

os.environ["IPEX_LIBRARY"] = str(BUILD / "runtime" / "libipex.so")
sys.path.insert(0, str(ROOT / "tools" / "python"))

import numpy as np
import onnxruntime
import soxr

import ipex
from sized_networks import noisy_photo, photo_letterboxed, wav

DOG = 16  # of COCO's classes


def convert(folder, model, *flags):
    file = folder / "network.ipex"
    cli("convert", model, "-o", file, "--quiet", *flags)
    return file


# ---- YOLOX ----

def best_box(rows, side=416):
    """(score, class, x, y, width, height) of the surest row; rows [3549][85]: centre, size, object, classes."""
    grids = [(stride, y, x) for stride in (8, 16, 32) for y in range(side // stride) for x in range(side // stride)]
    scores = rows[:, 4:5] * rows[:, 5:]
    row, kind = np.unravel_index(scores.argmax(), scores.shape)
    stride, y, x = grids[row]
    centre = (rows[row, :2] + (x, y)) * stride
    return scores[row, kind], int(kind), *centre, *(np.exp(rows[row, 2:4]) * stride)


def yolox(tap, folder):
    with ipex.Model(convert(folder, DATA / "yolox_nano" / "yolox_nano.onnx"), threads=2) as model:
        for name in ("dog1.jpg", "dog2.jpg"):
            score, kind, x, y, width, height = best_box(model.run(photo_letterboxed(name))[0][0])
            said = f"class {kind} with score {score:.3f} at {x:.0f}, {y:.0f}, {width:.0f} x {height:.0f}"
            inside = 0 < x < 416 and 0 < y < 416 and width * height > 0.05 * 416 * 416
            if tap.ok(f"yolox_nano finds a dog in {name}", kind == DOG and score > 0.5 and inside, said):
                print(f"# {said}")


# ---- the denoiser ----

def quality(clean, x):
    """Peak signal to noise ratio in dB."""
    return -10 * np.log10(np.mean((clean - np.clip(x, 0, 1)) ** 2))


def denoiser(tap, folder):
    file = convert(folder, DATA / "oidn_unet" / "oidn_rt_ldr.onnx", "--dim", "N=1", "--dim", "H=128..256:16", "--dim",
                   "W=128..256:16")
    with ipex.Model(file, threads=2) as model:
        for height, width in ((256, 256), (160, 208)):
            clean, noisy = noisy_photo(height, width, 1)
            before, after = quality(clean, noisy), quality(clean, model.run(noisy)[0])
            said = f"{before:.1f} dB became {after:.1f} dB"
            if tap.ok(f"oidn_unet gains more than 5 dB at {height} x {width}", after - before > 5, said):
                print(f"# {said}")


# ---- voice ----

def windows(sound, length, context):
    """Rows of `length` new samples behind the last `context` samples of the row before."""
    padded = np.concatenate([np.zeros(context, np.float32), sound])
    return [padded[None, at : at + context + length] for at in range(0, len(sound) - length + 1, length)]


def follow(run, rows):
    """Probabilities of speech, the state of every row fed back to the next."""
    state, said = np.zeros((2, 1, 128), np.float32), []
    for row in rows:
        probability, state = run(row, state)
        said.append(probability[0, 0])
    return np.array(said)


def voice(tap, folder):
    sound, _ = wav(DATA / "silero_vad" / "test_first10s_16k.wav")
    said = {}
    for name, names in (("silero_vad", ["input[0]", "state[1]"]), ("silero_vad_op18_ifless", ["batch"])):
        path = DATA / "silero_vad" / f"{name}.onnx"
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        peer = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        for rate, length, context in ((16000, 512, 64), (8000, 256, 32)):
            if rate == 8000 and name != "silero_vad":
                continue  # that file is for 16 kHz only
            rows = windows(sound[:: 16000 // rate], length, context)
            size = "input[1]" if name == "silero_vad" else "sequence"
            flags = [word for symbol in names for word in ("--dim", f"{symbol}=1")]
            file = convert(folder, path, "--const", f"sr={rate}", "--dim", f"{size}={length + context}", *flags)
            with ipex.Model(file) as model:
                ours = follow(lambda x, state: model.run({"input": x, "state": state}), rows)
            theirs = follow(lambda x, state: peer.run(None, {"input": x, "state": state, "sr": np.array(rate)}), rows)
            said[name, rate] = ours
            worst = np.abs(ours - theirs).max()
            tap.ok(f"{name} at {rate} Hz: {len(rows)} windows as ONNX Runtime", worst <= 1e-4, f"{worst:.3g} off")
            tap.ok(f"{name} at {rate} Hz: speech and pauses", ours.max() > 0.9 and ours.min() < 0.1, ours.min(), ours.max())
    one, other = said["silero_vad", 16000], said["silero_vad_op18_ifless", 16000]
    tap.ok("both voice detectors agree", np.abs(one - other).max() <= 1e-4, np.abs(one - other).max())


# ---- Basic Pitch ----

RATE, WINDOW, FRAME = 22050, 43844, 256  # samples: per second, per window, per frame of the output
OVERLAP = 30  # frames by which windows overlap; half of them are cut off at either side


def music(tap, folder):
    sound, rate = wav(DATA / "basic_pitch" / "vocadito_10.wav")
    sound = soxr.resample(sound, rate, RATE, quality="HQ")
    hop, half = WINDOW - OVERLAP * FRAME, OVERLAP // 2
    padded = np.concatenate([np.zeros(half * FRAME, np.float32), sound, np.zeros(WINDOW, np.float32)])
    rows = np.stack([padded[at : at + WINDOW] for at in range(0, len(sound) + half * FRAME, hop)])[:, :, None]
    expected = np.load(DATA / "basic_pitch" / "vocadito_10_model_output.npz", allow_pickle=True)["arr_0"].item()
    file = convert(folder, DATA / "basic_pitch" / "nmp.onnx", "--dim", f"unk__749=1..{len(rows)}")
    with ipex.Model(file, threads=2) as model:
        outputs = {name.split(":")[1]: y for (name, _, _), y in zip(model.ports("output"), model.run(rows))}
    for name, port in (("note", "1"), ("onset", "2"), ("contour", "0")):
        frames = outputs[port][:, half:-half].reshape(-1, outputs[port].shape[2])
        frames = frames[: int(len(sound) / hop * (WINDOW // FRAME + 1 - OVERLAP))]
        same_shape = frames.shape == expected[name].shape
        worst = np.abs(frames - expected[name]).max() if same_shape else np.inf
        if tap.ok(f"basic_pitch's {name} as its authors'", worst <= 1e-3, f"{frames.shape}, {expected[name].shape}: {worst:.3g}"):
            print(f"# {worst:.3g} of {expected[name].max():.3g}")


CASES = {"yolox_nano": yolox, "oidn_unet": denoiser, "silero_vad": voice, "basic_pitch": music}


def main(names):
    tap = Tap()
    for name, check in CASES.items():
        if names and name not in names:
            continue
        if not (DATA / name).exists():
            tap.skip(name, "its model is not here (IPEX_TEST_DATA)")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(tap, pathlib.Path(folder))
            except (RuntimeError, ipex.Error) as error:
                tap.ok(f"{name} runs", False, error)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
