# SPDX-License-Identifier: Apache-2.0
"""Runs a proof on every network of tests/sized_networks.py, converted for a range of sizes, one file after the other:
on_networks.py PROOF [OPTION...]. TAP of the proof."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import MODELS, Tap
from sized_networks import networks_here


def main(proof, *options):
    tap, failed = Tap(), False
    for network in networks_here(tap):
        target = MODELS / f"{network.name}.{pathlib.Path(proof).name}.ipex"  # of its own: other tests run beside
        done = network.convert(target)
        if tap.ok(f"{network.name}: converts", done.returncode == 0, done.stderr):
            failed |= subprocess.run([proof, *options, target], stdin=subprocess.DEVNULL).returncode != 0
            target.unlink()
    return tap.done() or failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
