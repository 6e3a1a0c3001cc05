#!/usr/bin/env bash
# install --prefix=DIR: lays Weft down under DIR, for programs outside of the tree.
# What goes where is make_tree.sh's; the files find each other, so that DIR may be
# moved. Exit status 2: the command line is wrong, or DIR cannot be written.
set -euo pipefail

fail() {
  echo "install: error: $*" >&2
  exit 2
}

help() {
  cat <<'TEXT'
Usage: install --prefix=DIR

Lays down, under DIR:

  include/weft/       the public headers, for #include "weft/api/compiler.h"
  lib/                libweft.so, libweft_runtime.so for compiled models,
                      libweft_c.so for C, libweft_c_runtime.so for C and
                      compiled models, and the emulation for
                      --cuda-driver=emulated
  lib/pkgconfig/      for `pkg-config` with weft, weft_runtime, weft_c and
                      weft_c_runtime
  lib/cmake/weft/     for CMake's find_package(weft)
  bin/                weft, and all tools as weft-opt, weft-run, ...
  share/              manual pages, completion for bash

docs/embedding.md shows programs and plugins that use them.
TEXT
}

prefix=
while (($#)); do
  case "$1" in
    --prefix=*) prefix="${1#*=}" ;;
    --prefix) (($# > 1)) || fail "--prefix needs a value: --prefix=DIR"
              prefix="$2"; shift ;;
    --help | -h) help; exit 0 ;;
    *) fail "unknown argument \"$1\"; --help shows the form" ;;
  esac
  shift
done
[[ -n "$prefix" ]] || fail "where to? --prefix=DIR"

tree="$(cd "$(dirname "$0")" && pwd)/weft.tar"
# `bazel run` starts programs in another folder than the user's.
cd "${BUILD_WORKING_DIRECTORY:-$PWD}"
mkdir -p "$prefix" || fail "cannot make the folder $prefix"
tar --extract --no-same-owner --file="$tree" --directory="$prefix" ||
  fail "cannot write to $prefix"
echo "Weft is in $(cd "$prefix" && pwd)"
