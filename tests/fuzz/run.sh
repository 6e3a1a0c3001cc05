#!/usr/bin/env bash
# Runs the fuzzers under AddressSanitizer and UndefinedBehaviorSanitizer:
#
#   tests/fuzz/run.sh [seconds each]
#
# The seeds in the tree are read, and ONNX's test models where they are
# installed; what the fuzzers find and say stays in a scratch folder. On a terminal
# a line shows how far they are. Stops at the first crash, and says which file holds
# the input.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds="${1:-60}"

compiler="$(command -v clang clang-14 | head -n 1 || true)"
runtime="$([[ -z "$compiler" ]] ||
  "$compiler" -print-file-name=libclang_rt.fuzzer-x86_64.a)"
if [[ ! -e "$runtime" ]]; then
  echo "run.sh: needs clang and its sanitizer runtimes:" >&2
  echo "    apt-get install clang-14 libclang-rt-14-dev" >&2
  exit 1
fi

# The links that `bazel build` leaves stay with the usual configuration.
config=(--config=fuzz "--repo_env=CC=$compiler" --symlink_prefix=/)
scratch="$(mktemp -d)"

# Until the process ends.
show_progress() { # name, process
  local begin="$SECONDS"
  while kill -0 "$2" 2>/dev/null; do
    [[ ! -t 2 ]] || printf '\r%s: %d of %d s\e[K' "$1" "$((SECONDS - begin))" "$seconds" >&2
    sleep 1
  done
  [[ ! -t 2 ]] || printf '\r\e[K' >&2
}

fuzz() { # target, folders of seeds
  local target="$1" program name process
  shift
  ./bazelw build "${config[@]}" "$target"
  program="$(./bazelw info "${config[@]}" bazel-bin 2>/dev/null)/${target#//}"
  name="${target##*:}"
  mkdir "$scratch/$name"
  echo "== $target: $seconds s, in $scratch"
  "${program/://}" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=25 \
    -print_final_stats=1 -artifact_prefix="$scratch/$name-" \
    "$scratch/$name" "$@" >"$scratch/$name.log" 2>&1 &
  process="$!"
  trap 'kill "$process" 2>/dev/null || true' EXIT
  show_progress "$name" "$process"
  if ! wait "$process"; then
    tail -n 60 "$scratch/$name.log" >&2
    return 1
  fi
  trap - EXIT
  grep '^stat::' "$scratch/$name.log"
}

onnx_models=/usr/share/libonnx-testdata/data/node
[[ -d "$onnx_models" ]] || onnx_models=examples

# The samples of each op.
mkdir "$scratch/samples"
for source in graph/ops/*/*.cc; do
  grep -E '^[a-z_0-9]+\(.*\)$' "$source" \
    >"$scratch/samples/$(basename "$source" .cc)" || true
done

fuzz //tests/graph/text:text_fuzzer tests/fuzz/seeds/text
fuzz //tests/fuzz:ops_fuzz tests/fuzz/seeds/ops tests/golden \
  "$scratch/samples"
fuzz //tests/fuzz:onnx_fuzz tests/fuzz/seeds/onnx examples "$onnx_models"
fuzz //tests/fuzz:pt2_fuzz tests/fuzz/seeds/pt2
fuzz //tests/fuzz:trace_fuzz tests/fuzz/seeds/trace
fuzz //tests/fuzz:npy_fuzz tests/fuzz/seeds/npy
fuzz //tests/fuzz:gguf_fuzz tests/fuzz/seeds/gguf
fuzz //tests/fuzz:weftb_fuzz tests/fuzz/seeds/weftb tests/serialize/flat/files
fuzz //tests/fuzz:rules_fuzz tests/fuzz/seeds/rules examples
fuzz //tests/fuzz:heads_fuzz tests/fuzz/seeds/heads
