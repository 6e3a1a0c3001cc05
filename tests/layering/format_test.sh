#!/usr/bin/env bash
# Every C++ source has the layout that .clang-format says. To mend one:
#
#     clang-format -i FILE
set -uo pipefail

root="$(dirname "$(realpath WORKSPACE)")"
cd "$root" || exit 1
mapfile -t files < <(find . -name 'bazel-*' -prune -o -name .git -prune -o \
  \( -name '*.cc' -o -name '*.h' \) -print | sort)
if ((${#files[@]} < 500)); then
  echo "only ${#files[@]} sources under $root"
  exit 1
fi
if ! printf '%s\0' "${files[@]}" | xargs -0 -n 50 clang-format --dry-run -Werror; then
  echo "format them with: clang-format -i FILE"
  exit 1
fi
echo "${#files[@]} sources"
