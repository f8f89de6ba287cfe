# SPDX-License-Identifier: Apache-2.0
"""The proofs at level amx, on files in bf16: on_amx.py PROOF..., programs that link the emulator where the CPU has no AMX.
TAP of the proofs."""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import CLI, Tap, command, networks

SMALL = ["text_direction", "resnet20"]  # the emulator makes seconds of milliseconds


def main(*proofs):
    tap, failed = Tap(), False
    here, _ = networks()
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for network in here:
            if network.name not in SMALL:
                continue
            target = pathlib.Path(folder) / f"{network.name}.bf16.ipex"
            done = command(CLI, "convert", network.onnx, "-o", target, "--quiet", "--dtype", "bf16", *network.batch_flags(1))
            if tap.ok(f"{network.name}: converts to bf16", done.returncode == 0, done.stderr):
                files.append(target)
        if not files:
            tap.skip("level amx", "no network is here")
        for proof in proofs if files else []:
            more = ["--tries", "2"] if "seccomp" in proof else []
            failed |= subprocess.run([proof, "--isa", "amx", *more, *files], stdin=subprocess.DEVNULL).returncode not in [0, 77]
    return tap.done() or failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
