#!/usr/bin/env bash
# size_test.sh LIBRARY MOST: the library has at most MOST bytes, stripped.
set -euo pipefail
strip -o "$TEST_TMPDIR/stripped" "$1"
bytes="$(stat --format=%s "$TEST_TMPDIR/stripped")"
echo "$1 has $bytes bytes, stripped"
if ((bytes > $2)); then
  echo "FAILED: more than $2; the largest functions are"
  nm --demangle --print-size --size-sort --reverse-sort "$1" | head -n 30
  exit 1
fi
