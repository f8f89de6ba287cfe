# SPDX-License-Identifier: Apache-2.0
"""The proofs at level amx, on files in bf16: on_amx.py PROOF..., programs that link an emulator, each as it is and as
PROOF_emu, where all that AVX2 lacks is emulated (tests/avx512_emu): of the two the one that this CPU can run.
TAP of the proofs, and whether as many tiles were multiplied as follows from the network."""
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import CLI, Tap, command, isa_levels, networks

SMALL = ["text_direction", "resnet20"]  # the emulator makes seconds of milliseconds


def conv3x3(size, channels, outputs):
    """Products of a 3x3 convolution: a tile has up to 16 pixels of one line, 16 outputs, and 32 elements of a kernel row."""
    return size * -(-size // 16) * -(-outputs // 16) * 3 * -(-3 * channels // 32)


# The first convolution, then three stages of six, of which the second and third begin with half the size and twice the
# channels. The shortcuts are slices and padding; the last layer has one row, which uses no tiles.
RESNET20 = conv3x3(32, 3, 16) + 6 * conv3x3(32, 16, 16) + conv3x3(16, 16, 32) + 5 * conv3x3(16, 32, 32) + \
    conv3x3(8, 32, 64) + 5 * conv3x3(8, 64, 64)


def run(tap, proof, files):
    """Whether the proof failed; what it prints is passed on."""
    more = ["--tries", "2"] if "seccomp" in proof else []
    done = command(proof if isa_levels()["avx512_bf16"] else f"{proof}_emu", "--isa", "amx", *more, *files)
    print(done.stdout, end="", flush=True)
    print(done.stderr, end="", file=sys.stderr)
    counts = re.search(r"^# resnet20\S*: (\d+) tile products per run, (\d+) with two threads$", done.stdout, re.MULTILINE)
    if "tiles" in proof and done.returncode == 0 and "# SKIP" not in done.stdout:
        name = "resnet20: as many tile products as follow from its layers, with one thread and with two"
        if not any(file.name.startswith("resnet20") for file in files):
            tap.skip(name, "its model is not here (see IPEX_TEST_DATA)")
        else:
            tap.ok(name, counts and [int(n) for n in counts.groups()] == [RESNET20] * 2, counts, RESNET20)
    return done.returncode not in [0, 77]


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
            failed |= run(tap, proof, files)
    return tap.done() or failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
