#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The long runs of the fuzz targets, not part of tests/run.sh: tests/fuzz/fuzz.sh [SECONDS [open|onnx]]   (default 600 open)
#
# onnx: mutants of ONNX models go through `convert` under both sanitizers: of the smaller real networks (IPEX_TEST_DATA), of
# the onnx package's node tests, and of all that the converter's tests convert (which run first for that, some minutes). A
# mutant that breaks a promise ends the run with status 1; its number and its model are printed.
#
# open:
# Builds in build-fuzz/ with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer (clang-14) and starts from the good
# files of the corpus; what it learns stays in build-fuzz/corpus. An input that breaks a promise ends the run with status 1
# and lies in build-fuzz/found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1-600}
build=${IPEX_FUZZ_BUILD-build-fuzz}

if [ "${2-open}" = onnx ]; then
  build=$build-onnx # without libFuzzer, which wants every object for itself
  [ -f "$build/build.ninja" ] || CC=clang-14 meson setup "$build" -Dbuildtype=debugoptimized -Db_sanitize=address,undefined \
    -Db_lundef=false -Db_ndebug=false -Dc_args=-fno-sanitize-recover=all
  ninja -C "$build" tests/fuzz/fuzz_onnx tools/ipexpack
  IPEX_BUILD=$build ASAN_OPTIONS=detect_leaks=1:abort_on_error=1 .venv/bin/python tests/fuzz/onnx_mutants.py \
    "$PWD/$build/tests/fuzz/fuzz_onnx" 20000 --seconds "$seconds" --more
  exit
fi
flags='-fno-sanitize-recover=all -fsanitize=fuzzer-no-link'

[ -f "$build/build.ninja" ] || CC=clang-14 meson setup "$build" -Dbuildtype=debugoptimized -Db_sanitize=address,undefined \
  -Db_lundef=false -Db_ndebug=false -Dc_args="$flags" -Dc_link_args=-fsanitize=fuzzer-no-link
ninja -C "$build" runtime/libipex.a tests/fuzz/libmutate.a tests/golden/make_bad
clang-14 -O1 -g -std=c11 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I. -I"$build" \
  tests/fuzz/fuzz_open.c "$build/tests/fuzz/libmutate.a" "$build/runtime/libipex.a" -lm -lpthread -o "$build/fuzz_open"

mkdir -p "$build/corpus" "$build/found" "$build/seeds"
"$build/tests/golden/make_bad" "$build/bad-files"
for file in "$build"/bad-files/*.ipex; do # an input is the metadata alone
  size=$(od -An -tu8 -j32 -N8 "$file" 2>/dev/null | tr -d ' ' || true)
  if [ "${size:-0}" -gt 0 ] && [ "$size" -lt 65536 ]; then
    head -c "$size" "$file" >"$build/seeds/$(basename "$file")"
  fi
done
"$build/fuzz_open" -max_total_time="$seconds" -max_len=65536 -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 \
  -artifact_prefix="$build/found/" "$build/corpus" "$build/seeds"
