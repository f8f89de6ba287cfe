# SPDX-License-Identifier: Apache-2.0
"""Runs the proof about the stack on every network of tests/sized_networks.py, in f32 and in bf16, at the vector levels:
on_stack.py PROOF. TAP of the proof."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import MODELS, Tap
from sized_networks import networks_here

LEVELS = ["avx2", "avx512", "avx512_bf16"]


def main(proof):
    tap, failed = Tap(), False
    for network in networks_here(tap):
        for kind, flags in {"f32": [], "bf16": ["--dtype", "bf16"]}.items():
            target = MODELS / f"{network.name}.{kind}.stack.ipex"  # of its own: other tests run beside
            done = network.convert(target, *flags)
            if tap.ok(f"{network.name}: converts to {kind}", done.returncode == 0, done.stderr):
                for level in LEVELS if kind == "bf16" else LEVELS[:2]:
                    print(f"# {network.name}, {kind}, {level}", flush=True)
                    status = subprocess.run([proof, "--isa", level, target], stdin=subprocess.DEVNULL).returncode
                    failed |= status not in [0, 77]
                    if status < 0:
                        tap.ok(f"{network.name}, {kind}, {level}: stays on its stack", False, f"ended by signal {-status}")
                target.unlink()
    return tap.done() or failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
