#!/usr/bin/env bash
# Runs the fuzzers under AddressSanitizer and UndefinedBehaviorSanitizer:
#
#   tests/fuzz/run.sh [seconds each]
#
# Needs Debian's clang and libclang-rt-14-dev. The seeds in the tree are read;
# what the fuzzers find stays in a scratch folder. Stops at the first crash.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds="${1:-60}"

fuzz() { # target, folder of seeds
  ./bazelw build --config=fuzz "$1"
  local corpus program
  corpus="$(mktemp -d)"
  program="bazel-bin/${1#//}"
  echo "== $1: ${seconds} s, corpus in ${corpus}"
  "${program/://}" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=25 \
    -print_final_stats=1 "$corpus" "$2"
}

fuzz //tests/graph/core:text_fuzzer tests/fuzz/seeds/text
fuzz //tests/fuzz:onnx_fuzz examples
