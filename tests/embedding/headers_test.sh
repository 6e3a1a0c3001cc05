#!/usr/bin/env bash
# headers_test.sh HEADER...: each public header compiles by itself, in a tree that
# holds public headers alone; so it includes all it needs, and nothing hidden.
set -euo pipefail

(($# > 40)) || { echo "only $# headers: is the list whole?"; exit 1; }

alone() {
  echo "#include \"$1\"" |
    g++ -std=c++17 -Wall -Wextra -Wno-unused-parameter -Werror -fsyntax-only -I. -x c++ - ||
    { echo "FAILED: $1 does not compile alone. If it includes a header that is not" \
           "there: that one is not in the public list of its BUILD.bazel"; return 255; }
}
export -f alone
printf '%s\n' "$@" | xargs -P 2 -I{} bash -c 'alone {}'
