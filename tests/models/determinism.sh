#!/usr/bin/env bash
# Compiles models again and again and demands equal bytes:
#
#   tests/models/determinism.sh [--runs=50] [--opt=PROGRAM] FILE|FOLDER...
#
# A folder stands for the .onnx and .pt2 files below it. Each run is a process of
# its own, with 1 or 2 OpenMP threads in turn. Hash tables are salted by process:
# --stats=json tells the salt, and how many there were is printed, since equal
# bytes under one salt show nothing. A line a model, then the sum. Exit status: 0
# all equal; 1 some differ; 2 the command line is wrong, or a model does not
# compile; 3 all processes had the same salt.
set -euo pipefail

runs=50
opt=bazel-bin/tools/opt
models=()
for argument in "$@"; do
  case "$argument" in
    --runs=*) runs="${argument#*=}" ;;
    --opt=*) opt="${argument#*=}" ;;
    -*) echo "determinism.sh: unknown flag $argument" >&2; exit 2 ;;
    *)
      if [[ -d "$argument" ]]; then
        while read -r file; do models+=("$file"); done \
          < <(find -L "$argument" -name '*.onnx' -o -name '*.pt2' | LC_ALL=C sort)
      else
        models+=("$argument")
      fi
      ;;
  esac
done
if ((${#models[@]} == 0 || runs < 2)); then
  echo "determinism.sh: needs models and two runs" >&2
  exit 2
fi

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

different=0 all_salts="$scratch/salts"
for model in "${models[@]}"; do
  : >"$scratch/own"
  verdict=equal
  for ((run = 1; run <= runs; ++run)); do
    if ! OMP_NUM_THREADS=$((run % 2 + 1)) "$opt" --passes=default --emit=text,stats \
      --stats=json "$model" >"$scratch/$((run > 1)).weft" 2>"$scratch/stats"; then
      cat "$scratch/stats" >&2
      exit 2
    fi
    sed -n 's/.*"hash_salt": "\([0-9a-f]*\)".*/\1/p' "$scratch/stats" >>"$scratch/own"
    ((run > 1)) || continue
    if ! cmp -s "$scratch/0.weft" "$scratch/1.weft"; then
      verdict="run $run differs from the first"
      diff "$scratch/0.weft" "$scratch/1.weft" | cut -c -200 | head -n 20 >&2 || true
      different=$((different + 1))
      break
    fi
  done
  cat "$scratch/own" >>"$all_salts"
  echo "$model: $((run > runs ? runs : run)) runs," \
    "$(sort -u "$scratch/own" | wc -l) salts, $(wc -c <"$scratch/0.weft") bytes: $verdict"
done
salts="$(sort -u "$all_salts" | wc -l)"
echo "${#models[@]} models, $runs runs each, $salts salts: $different differ"
((different == 0)) || exit 1
((salts > 1)) || exit 3
