#!/usr/bin/env bash
# Each released schema of .weftb files against the present one: flatc finds fields that moved or
# changed their types; what it accepts and should not (a field that went from the end of a table, a
# new `required`) is found by comparing the fields themselves.
set -euo pipefail
new=serialize/flat/weftb.fbs
scratch="$(mktemp -d)"

# "table.field:type" of each field, in order.
fields() {
  sed -E 's://.*::' "$1" | awk '
    /^table / { table = $2; n = 0 }
    /^ .*:.*;/ { gsub(/[ ;]/, ""); print table "." n++ "." $0 }'
}

# Fails unless files of the schema $1 can be read by programs with the schema $2.
conforms() {
  flatc --conform "$1" "$2" || return 1
  fields "$1" >"$scratch/old"
  fields "$2" >"$scratch/new"
  ! grep -vxFf "$scratch/new" "$scratch/old"
}

must_refuse() { # what, sed expression
  sed -E "$2" "$new" >"$scratch/changed.fbs"
  ! cmp -s "$new" "$scratch/changed.fbs" || { echo "no change: $1"; exit 1; }
  if conforms "$new" "$scratch/changed.fbs" >/dev/null 2>&1; then
    echo "accepted: $1"
    exit 1
  fi
}

for old in tests/serialize/flat/files/*.fbs; do
  conforms "$old" "$new" || { echo "$new does not conform to $old"; exit 1; }
done
must_refuse "a field that moved" 's/^  bytes:ulong;//'
must_refuse "another type" 's/source_hash:ulong/source_hash:uint/'
must_refuse "another default" 's/graph:int = -1/graph:int = 0/'
must_refuse "a last field that went" 's/^  checks:\[Check\];//'
must_refuse "a field that is required now" 's/producer:string;/producer:string (required);/'
