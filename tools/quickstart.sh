#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh checkout to a real network's answer: installs what is missing, builds, fetches a small trained model
# from PyPI, converts it, runs it on a drawn line of text and times it. Uses build/ and .venv/ and can be run again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n== %s\n' "$*"; }
trap '[ $? = 0 ] || echo "quickstart: stopped; what failed is said above" >&2' EXIT

program=build/tools/ipexpack
folder=build/quickstart
model=$folder/text_direction.ipex

step "Packages (Debian), and a Python environment in .venv for the example's pictures"
tools/install_deps.sh
tools/install_deps.sh --python .venv
echo "  all there"

step "Build in build/"
mkdir -p build
if ! { [ -f build/build.ninja ] || meson setup build; } >build/quickstart.log 2>&1 ||
    ! meson compile -C build ipexpack >>build/quickstart.log 2>&1; then
    tail -n 30 build/quickstart.log >&2
    exit 1
fi
echo "  $program, $(du -k build/runtime/libipex.a | cut -f1) KiB of libipex.a"

step "Fetch the text direction classifier of PP-OCR (PyPI package rapidocr-onnxruntime, Apache-2.0)"
tools/fetch_models.sh .venv/bin/python build/models
mkdir -p "$folder"
printf '0 degrees\n180 degrees\n' >"$folder/labels.txt"

step "Convert: ONNX -> one .ipex file"
"$program" convert build/models/ch_ppocr_mobile_v2.0_cls_infer.onnx -o "$model" --input x=1x3x48x192 \
    --labels "$folder/labels.txt"

step "Run: which way up is a line of text?"
.venv/bin/python tools/examples/text_line.py "$program" "$model" "$folder"

step "Bench: one thread, the slowest steps first"
"$program" bench "$model" --seconds 1 --profile >"$folder/bench.txt"
head -n 18 "$folder/bench.txt"
echo "  ... all steps: $folder/bench.txt"

step "Done. The pictures are $folder/line_*.png. Look further:"
echo "  $program inspect $model --why"
echo "  tests/run.sh"
