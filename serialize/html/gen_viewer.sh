#!/bin/sh
# Prints viewer_page.cc: page.html with the style sheet and the scripts in it, cut at
# the line of the data.
#
#   gen_viewer.sh page.html viewer.css SCRIPT...
set -eu
page=$1
style=$2
shift 2

part() {  # NAME: a string of what comes in, in pieces that every compiler takes.
  echo "extern const char $1[] ="
  sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/'
  echo '    ;'
}

whole() {
  sed '/@STYLE@/,$d' "$page"
  cat "$style"
  sed '1,/@STYLE@/d;/@SCRIPT@/,$d' "$page"
  cat "$@"
  sed '1,/@SCRIPT@/d' "$page"
}

echo '#include "serialize/html/viewer_page.h"'
echo 'namespace weft {'
whole "$@" | sed '/@DATA@/,$d' | part kViewerHead
whole "$@" | sed '1,/@DATA@/d' | part kViewerTail
echo '}  // namespace weft'
