#!/usr/bin/env bash
# make_tree.sh OUT VERSION ABSEIL LIBRARY RUNTIME C_LIBRARY C_RUNTIME EMULATED LICENSE WEFT
#     COMPLETION TOOLS TEMPLATES HEADERS
#
# Packs what //tools:install lays down as the archive OUT; the last three arguments
# and ABSEIL, the libraries of Abseil that the headers need, are lists in one word
# each.
#
# Headers of this tree include each other from its root. Installed they stand under
# weft/ and say so: names such as graph/ and passes/ are not Weft's alone.
set -euo pipefail

out="$PWD/$1" version="$2" library="$4" runtime="$5" c_library="$6" c_runtime="$7" emulated="$8"
license="$9" weft="${10}" completion="${11}"
read -ra abseil <<<"$3"
read -ra tools <<<"${12}"
read -ra templates <<<"${13}"
read -ra headers <<<"${14}"
umask 022
root="$(mktemp -d)"
chmod 755 "$root"
trap 'rm -rf "$root"' EXIT

put() {  # MODE FILE PATH
  install -D --mode="$1" "$2" "$root/$3"
}

put 755 "$library" "lib/libweft.so.$version"
ln -s "libweft.so.$version" "$root/lib/libweft.so"
put 755 "$runtime" "lib/libweft_runtime.so.$version"
ln -s "libweft_runtime.so.$version" "$root/lib/libweft_runtime.so"
put 755 "$c_library" lib/libweft_c.so.1
ln -s libweft_c.so.1 "$root/lib/libweft_c.so"
put 755 "$c_runtime" lib/libweft_c_runtime.so.1
ln -s libweft_c_runtime.so.1 "$root/lib/libweft_c_runtime.so"
put 755 "$emulated" lib/libweft_cuda_emulated.so
put 644 "$license" share/doc/weft/LICENSE
put 755 "$weft" bin/weft
put 644 "$completion" share/bash-completion/completions/weft
mkdir -p "$root/share/man/man1"
for tool in "${tools[@]}"; do
  name="${tool##*/}"
  # The main programs of tools/bench and others like it.
  [[ "$name" == main ]] && name="$(basename "$(dirname "$tool")")"
  put 755 "$tool" "bin/weft-$name"
  "$root/bin/weft-$name" --help=man >"$root/share/man/man1/weft-$name.1"
  # bash looks for completions by the name of the command.
  ln -s weft "$root/share/bash-completion/completions/weft-$name"
done

for header in "${headers[@]}"; do
  # Generated ones lie in a folder of Bazel's.
  put 644 "$header" "include/weft/${header#bazel-out/*/bin/}"
done
find "$root/include" -type f -exec \
  sed -i 's|^#include "\([a-z]*/\)|#include "weft/\1|; s|"weft/absl/|"absl/|' {} +
grep -q "define WEFT_VERSION \"$version\"" "$root/include/weft/api/version.h" || {
  echo "api/version.h is not of version $version" >&2
  exit 1
}

cmake="$(printf ';absl::%s' "${abseil[@]}")"
for template in "${templates[@]}"; do
  name="$(basename "$template" .in)"
  folder=lib/cmake/weft
  [[ "$name" == *.pc ]] && folder=lib/pkgconfig
  put 644 "$template" "$folder/$name"
  sed -i "s|@VERSION@|$version|g
          s|@CMAKE_ABSEIL@|${cmake#;}|g
          s|@PKG_CONFIG_ABSEIL@|${abseil[*]/#/absl_}|g" "$root/$folder/$name"
done

tar --create --file="$out" --directory="$root" --sort=name --mtime=@0 --owner=0 --group=0 \
  --numeric-owner .
