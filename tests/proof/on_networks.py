# SPDX-License-Identifier: Apache-2.0
"""Runs a proof on every network of tests/sized_networks.py, converted for a range of sizes, one file after the other:
on_networks.py PROOF [OPTION...]. TAP of the proof."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import MODELS, Tap
from sized_networks import SIZED, make_models


def main(proof, *options):
    tap, failed = Tap(), False
    MODELS.mkdir(parents=True, exist_ok=True)
    make_models([network.name for network in SIZED])
    for network in SIZED:
        target = MODELS / f"{network.name}.{pathlib.Path(proof).name}.ipex"  # of its own: other tests run beside
        if not network.path.exists():
            tap.skip(network.name, "its model is not here (IPEX_TEST_DATA, IPEX_TEST_MODELS)")
            continue
        done = network.convert(target)
        if tap.ok(f"{network.name}: converts", done.returncode == 0, done.stderr):
            failed |= subprocess.run([proof, *options, target], stdin=subprocess.DEVNULL).returncode != 0
            target.unlink()
    return tap.done() or failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
