#!/usr/bin/env bash
# Programs that were compiled with api/c/weft.h run with later libraries: structs keep
# their layouts, and only grow; each library exports one name. After an addition:
#
#     python3 tests/api/c/layouts.py api/c/status.h api/c/attr.h api/c/weft.h > tests/api/c/abi.txt
#
# A line of abi.txt that changes or goes away breaks such programs.
set -uo pipefail

failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

python3 tests/api/c/layouts.py api/c/status.h api/c/attr.h api/c/weft.h >"$TEST_TMPDIR/now.txt" ||
  fail "the headers do not compile as C99"
diff tests/api/c/abi.txt "$TEST_TMPDIR/now.txt" ||
  fail "the layouts (>) are not those of abi.txt (<)"
echo '#include "api/c/device.h"
#include "api/c/weft.h"' |
  g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I. -x c++ - ||
  fail "the headers do not compile together as C++"

for library in api/c/library/libweft_c.so.1 api/c/runtime/libweft_c_runtime.so.1; do
  name="$(basename "$library")"
  names="$(nm --dynamic --defined-only --format=posix "$library" | cut -d' ' -f1 | sort |
    tr '\n' ' ')"
  [[ "$names" == "WEFT_C_1 weft_get_api@@WEFT_C_1 " ]] || fail "$name exports: $names"
  readelf --dynamic "$library" | grep -q "SONAME.*\[$name\]" || fail "the SONAME of $name"
done

exit $((failures != 0))
