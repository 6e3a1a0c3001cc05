#!/usr/bin/env bash
# make_list.sh LIST: the header chosen_kernels.h for a list of kernels (kernel_list.h).
set -euo pipefail
lines="$(grep -vE '^(#.*)?$' "$1")"
if grep -nvxE '[a-z]+ [a-z0-9_]+' <<<"$lines" >&2; then
  echo "$1: a line is a kind and a name, as in \"dtype f32\"" >&2
  exit 1
fi
echo "// Generated from $1."
echo "namespace weft::cpu {"
echo "inline constexpr char kChosenKernels[] ="
sed 's/.*/    "&\\n"/' <<<"$lines"
echo "    \"\";"
echo "}  // namespace weft::cpu"
