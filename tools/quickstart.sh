#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh checkout to the text in a picture: installs what is missing, builds, fetches the three networks of PP-OCR
# from PyPI, converts them into one file and reads a picture with it. Uses build/ and can be run again.
#
#   tools/quickstart.sh [--line] [--html FILE] [--png FILE] [PICTURE]
#
#   PICTURE   JPEG or PNG; without one, a page is drawn
#   --line    the picture is one line of text: do not look for lines
#   --html    where the page with boxes over the picture goes (default: build/quickstart/text.html)
#   --png     the picture with boxes
set -euo pipefail

usage() {
    echo "usage: tools/quickstart.sh [--line] [--html FILE] [--png FILE] [PICTURE]" >&2
    exit 2
}

step() { printf '\n== %s\n' "$*"; }

picture= html= png= line= options=()
while [ $# -gt 0 ]; do
    case "$1" in
    --line) line=yes; options+=(--line) ;;
    --html) [ $# -ge 2 ] || usage; html=$(realpath -m -- "$2"); shift ;;
    --png) [ $# -ge 2 ] || usage; png=$(realpath -m -- "$2"); options+=(--png "$png"); shift ;;
    -*) usage ;;
    *) [ -z "$picture" ] || usage; picture=$(realpath -m -- "$1") ;;
    esac
    shift
done
[ -z "$picture" ] || [ -r "$picture" ] || { echo "quickstart: cannot read $picture" >&2; exit 1; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
trap '[ $? = 0 ] || echo "quickstart: stopped; what failed is said above" >&2' EXIT

program=build/tools/ipexpack
folder=build/quickstart
models=build/models
model=$folder/ocr.ipex
python=$folder/python

step "Packages (Debian), and a Python environment to fetch the models and to draw"
tools/install_deps.sh
mkdir -p "$folder"
tools/install_deps.sh --python "$python" tools/examples/requirements.txt
echo "  all there"

step "Build in build/"
if ! { if [ -f build/build.ninja ]; then meson setup --reconfigure build; else meson setup build; fi; } \
    >"$folder/build.log" 2>&1 || ! meson compile -C build ipexpack ocr >>"$folder/build.log" 2>&1; then
    tail -n 30 "$folder/build.log" >&2
    exit 1
fi
echo "  $program, $(du -k build/runtime/libipex.a | cut -f1) KiB of libipex.a"

step "Fetch the three networks of PP-OCRv4 (PyPI package rapidocr-onnxruntime, Apache-2.0)"
tools/fetch_models.sh "$python/bin/python" "$models"
du -k "$models"/*.onnx | awk '{sum += $1; sub(".*/", "", $2); print "  " $2} END {print "  " sum " KiB"}'

step "Convert: three ONNX files -> one .ipex file with three entries"
"$program" convert -o "$model" --quiet \
    --entry detect="$models/ch_PP-OCRv4_det_infer.onnx" \
    --entry classify="$models/ch_ppocr_mobile_v2.0_cls_infer.onnx" \
    --entry recognize="$models/ch_PP-OCRv4_rec_infer.onnx" \
    --dim detect:p2o.DynamicDimension.1=32..4096:32 --dim detect:p2o.DynamicDimension.2=32..4096:32 \
    --dim 'classify:x[2]=48' --dim 'classify:x[3]=192' \
    --dim 'recognize:x[2]=48' --dim recognize:p2o.DynamicDimension.1=320..3200
echo "  $model, $(du -k "$model" | cut -f1) KiB: weights packed, sizes of pictures chosen by each run"

drawn=
if [ -z "$picture" ]; then
    step "Draw a page"
    "$python/bin/python" tools/examples/draw_page.py "$folder"
    picture=$folder/page.png
    drawn=$folder/page.txt
    echo "  $picture"
fi

step "Read $picture"
html=${html:-$folder/text.html}
build/tools/examples/ocr/ocr --threads "$(nproc)" "${options[@]}" --html "$html" "$model" "$picture" \
    2>"$folder/times.txt" | tee "$folder/text.txt" | sed 's/^/  | /' || { cat "$folder/times.txt" >&2; exit 1; }
sed 's/^/  /' "$folder/times.txt"
if [ -n "$drawn" ] && [ -z "$line" ]; then # this recogniser often leaves spaces out
    diff <(tr -d ' ' <"$drawn") <(tr -d ' ' <"$folder/text.txt") >&2 ||
        { echo "quickstart: this is not what was drawn" >&2; exit 1; }
    echo "  every character is as drawn, but for spaces"
fi

step "Done. Look further:"
echo "  boxes over the picture: $html${png:+, $png}"
echo "  $program inspect $model --why"
echo "  $program bench $model --entry recognize --profile"
echo "  tools/quickstart.sh PICTURE"
echo "  tests/run.sh"
