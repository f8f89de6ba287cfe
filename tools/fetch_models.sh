#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/fetch_models.sh PYTHON DIR: puts the ONNX models of the PyPI package rapidocr-onnxruntime
# (PP-OCR detection, recognition and text direction; Apache-2.0) into DIR. Nothing of the package is
# installed or run. Done at once where the models are there already.
set -euo pipefail

[ $# = 2 ] || { echo "usage: tools/fetch_models.sh PYTHON DIR" >&2; exit 2; }
python=$1
folder=$2
package=rapidocr-onnxruntime==1.4.4

[ ! -f "$folder/ch_ppocr_mobile_v2.0_cls_infer.onnx" ] || exit 0
mkdir -p "$folder"
scratch=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$scratch" \
    "$package" </dev/null || { echo "fetch_models: cannot download $package (no network?)" >&2; exit 1; }
"$python" -m zipfile -e "$scratch"/*.whl "$scratch/wheel"
mv "$scratch"/wheel/rapidocr_onnxruntime/models/*.onnx "$folder"
