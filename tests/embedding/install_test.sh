#!/usr/bin/env bash
# What //tools:install says to a bad command line, and that what it lays down may be
# moved and exports only names of public headers.
set -uo pipefail

install="$PWD/tools/install/install"
cd "$TEST_TMPDIR"
unset BUILD_WORKING_DIRECTORY
failures=0

expect() {  # STATUS TEXT ARGUMENT...
  local status=0 output
  output="$("$install" "${@:3}" 2>&1)" || status=$?
  if ((status != $1)) || [[ "$output" != *"$2"* ]]; then
    echo "FAILED: install ${*:3}: status $status, not $1 with \"$2\": $output"
    failures=$((failures + 1))
  fi
}

check() {  # WHAT COMMAND...
  "${@:2}" || { echo "FAILED: $1"; failures=$((failures + 1)); }
}

expect 2 "--prefix=DIR"
expect 2 'unknown argument "x"' x
expect 2 "--prefix needs a value" --prefix
expect 0 "Usage: install --prefix=DIR" --help
touch file
expect 2 "cannot make the folder file/below" --prefix=file/below
expect 0 "Weft is in $PWD/a b" --prefix "a b"
BUILD_WORKING_DIRECTORY="$PWD/a b" expect 0 "Weft is in $PWD/a b/c" --prefix=c
check "the library's other name" test "a b/lib/libweft.so" -ef a\ b/lib/libweft.so.*

# Moved, the files still find each other.
mv "a b/c" moved
check "opt runs" sh -c 'moved/bin/weft-opt --list-passes | grep -q canonicalize'
for tool in bench compile conformance diff make_model opt quantize reduce run trace; do
  check "$tool runs" sh -c "moved/bin/weft-$tool --help | grep -q 'Usage: $tool'"
  check "weft $tool runs" sh -c "moved/bin/weft $tool --help | grep -q 'Usage: $tool'"
  check "$tool has a page" grep -q "^.SH NAME" "moved/share/man/man1/weft-$tool.1"
  check "weft lists $tool" sh -c "moved/bin/weft --help | grep -q '^  $tool  *[A-Z]'"
done
check "weft says its version" sh -c 'moved/bin/weft --version | grep -qx "weft [0-9.]*"'
ln -s "$PWD/moved/bin/weft" linked
check "weft is found by a link" sh -c './linked opt --version | grep -q "^opt (Weft)"'
check "an unknown tool is named" sh -c 'moved/bin/weft optt 2>&1 | grep -q "no tool optt; there are bench compile"'
moved/bin/weft optt 2>/dev/null
check "with status 2" test $? = 2

# Completion: tools, then flags of the tool, then files.
complete_words() {  # WORD...: the last is completed.
  bash -c 'source "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _weft
           printf "%s\n" "${COMPREPLY[@]}"' - moved/share/bash-completion/completions/weft "$@"
}
PATH="$PWD/moved/bin:$PATH"
check "tools" test "$(complete_words weft comp)" = compile
check "flags of a tool of weft" test "$(complete_words weft opt --list-pas)" = --list-passes
check "flags of a tool" test "$(complete_words weft-run --targ)" = --target=
cflags="$(PKG_CONFIG_PATH=moved/lib/pkgconfig pkg-config --cflags-only-I weft)"
include="${cflags#-I}"
check "pkg-config finds the headers" test -f "${include% }/weft/api/compiler.h"
check "no header is executable" sh -c '! find moved/include -type f -perm /111 | grep .'

# Nothing but Weft's own names leaves the library, and of those only public ones.
nm --dynamic --defined-only --demangle --format=posix moved/lib/libweft.so >symbols
check "names of others" sh -c \
  '! sed "s/^\(vtable\|typeinfo\|typeinfo name\|guard variable\) for //" symbols |
     grep -vE "^([^(]* )?weft::"'
for name in 'weft::Compile(' 'weft::Builder::Op(' 'weft::ops::add' 'weft::ops::Registry(' \
  'weft::LoadPlugin(' 'weft::ParseModule(' 'typeinfo for weft::Pass' 'weft::ApplyRules('; do
  check "$name is missing" grep -qF "$name" symbols
done
# Of hidden headers: the importer, passes, rule parsing, bisection.
for name in ImportOnnx CreateCsePass ParseFileRules FindGuiltyRewrite ToDot Scanner; do
  check "$name is exported" sh -c "! grep -q '$name' symbols"
done

exit $((failures != 0))
