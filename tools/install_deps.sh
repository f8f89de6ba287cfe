#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what building and testing ipexpack needs on Debian 12. Only what is missing is installed;
# where nothing is missing the script prints nothing and returns at once.
#
#   tools/install_deps.sh                          packages to build
#   tools/install_deps.sh --test                   and those to run every test
#   tools/install_deps.sh --python DIR [FILE...]   a Python environment in DIR with the packages that
#                                                  FILEs pin (default: tests/requirements.txt)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build_packages=(gcc libc6-dev meson ninja-build pkg-config flatbuffers-compiler libjansson-dev
    libjpeg62-turbo-dev libpng-dev python3 python3-venv)
test_packages=(g++ clang-14 clang-format-14 libclang-rt-14-dev llvm-14 libcmocka-dev libseccomp-dev
    libflatbuffers-dev util-linux valgrind)

die() {
    printf 'install_deps: %s\n' "$*" >&2
    exit 1
}

# The packages among "$@" that are not installed, one a line.
missing() {
    local package status
    for package in "$@"; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$status" = installed ] || printf '%s\n' "$package"
    done
}

# Runs a command as root, its output only shown when it fails.
as_root() {
    local log status=0
    local -a sudo=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "not root and no sudo; run as root: $*"
        sudo=(sudo)
    fi
    log=$(mktemp)
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1 </dev/null || status=$?
    [ "$status" = 0 ] || tail -n 20 "$log" >&2
    rm -f "$log"
    return "$status"
}

install_packages() {
    local -a lacking
    command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
        die "this system has no apt-get; install the counterparts of these packages by hand: $*"
    mapfile -t lacking < <(missing "$@")
    [ "${#lacking[@]}" -gt 0 ] || return 0
    printf 'installing packages: %s\n' "${lacking[*]}"
    as_root apt-get update || die "apt-get update failed (no network?); wanted: ${lacking[*]}"
    as_root apt-get install -y --no-install-recommends "${lacking[@]}" ||
        die "apt-get could not install: ${lacking[*]}"
}

# The interpreter that python3-venv belongs to, which need not be the first in PATH.
system_python() {
    if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else command -v python3; fi
}

make_python() {
    local folder=$1 stamp=$1/requirements.installed file
    local -a files=("${@:2}") arguments=()
    [ "${#files[@]}" -gt 0 ] || files=("$root/tests/requirements.txt")
    if [ -f "$stamp" ] && cat "${files[@]}" | cmp -s - "$stamp"; then
        return 0
    fi
    printf 'installing Python packages into %s\n' "$folder"
    [ -x "$folder/bin/python" ] || "$(system_python)" -m venv "$folder" ||
        die "cannot make a Python environment in $folder (is python3-venv installed?)"
    for file in "${files[@]}"; do
        arguments+=(-r "$file")
    done
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "${arguments[@]}" \
        </dev/null || die "pip could not install the packages of ${files[*]} (no network?)"
    cat "${files[@]}" >"$stamp"
}

case "${1-}" in
'') install_packages "${build_packages[@]}" ;;
--test) install_packages "${build_packages[@]}" "${test_packages[@]}" ;;
--python)
    [ $# -ge 2 ] || die "--python needs a folder"
    make_python "${@:2}"
    ;;
*) die "usage: tools/install_deps.sh [--test | --python DIR [FILE...]]" ;;
esac
