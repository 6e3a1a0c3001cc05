#!/bin/sh
# weft TOOL [ARGUMENT...]: runs weft-TOOL, which lies beside this file.
set -eu

folder="$(dirname "$(readlink -f "$0")")"

tools() {
  for path in "$folder"/weft-*; do
    [ -x "$path" ] && printf '%s\n' "${path##*/weft-}"
  done
}

help() {
  cat <<'TEXT'
Usage: weft TOOL [ARGUMENT...]

weft TOOL --help lists the flags of a tool; so does `man weft-TOOL`.

TEXT
  # The first line of what each says of itself.
  for tool in $(tools); do
    printf '  %-14s%s\n' "$tool" "$("$folder/weft-$tool" --help | sed -n 3p)"
  done
}

case "${1:---help}" in
  --help | -h | help) help; exit 0 ;;
  --version) "$folder/weft-opt" --version | sed 's/^opt (Weft)/weft/'; exit 0 ;;
  -*) echo "weft: error: the first argument is a tool; weft --help lists them" >&2; exit 2 ;;
esac
if [ ! -x "$folder/weft-$1" ]; then
  echo "weft: error: there is no tool $1; there are $(tools | tr '\n' ' ')" >&2
  exit 2
fi
tool="$1"
shift
exec "$folder/weft-$tool" "$@"
