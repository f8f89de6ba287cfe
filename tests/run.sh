#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds in build/ and tests everything: tests/run.sh [--quick | --sanitize]
#
#   --quick      only the tests of suite "quick" (two to five minutes)
#   --sanitize   what else is to be run now and then: the tests of suite "sanitize", in a build with AddressSanitizer and
#                UndefinedBehaviorSanitizer (ten to twenty minutes)
#
# Failures are printed with their reasons. The last line is "N passed, M failed, K skipped"; the exit status is 1 when
# anything failed. Networks come from IPEX_TEST_DATA (default ../shared/data) and from a PyPI wheel; what is not there is
# skipped and said. One test alone: .venv/bin/python tests/run_tests.py --only NAME.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

arguments=()
case "${1-}" in
'') ;;
--quick) arguments=(--suite quick) ;;
--sanitize) arguments=(--suite apart) ;;
*) echo "usage: tests/run.sh [--quick | --sanitize]" >&2; exit 2 ;;
esac

tools/install_deps.sh --test
tools/install_deps.sh --python .venv
if [ -f build/build.ninja ]; then
    meson setup --reconfigure build >/dev/null # it may have been made before the tests' packages were there
else
    meson setup build
fi
meson compile -C build
.venv/bin/python tests/run_tests.py "${arguments[@]}"
