#!/usr/bin/env bash
# Runs the tests of recording and of sessions under ThreadSanitizer, many times over:
#
#   tests/profiler/tsan.sh [times]
#
# Nothing is suppressed. Profiler and tests are compiled with the sanitizer; the distribution's
# Abseil and gtest are not, so tests/support/mutex_for_tsan.cc says what a mutex does. Exit status
# 1 at the first report. `--faulty` leaves that file out: what it is for shows in reports then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
faulty=false
if [[ "${1:-}" == --faulty ]]; then
  faulty=true
  shift
fi
times="${1:-20}"
scratch="$(mktemp -d)"
trap 'rm -r "$scratch"' EXIT

# Of the symbols of absl::Mutex's methods.
prefix="$(nm -D --defined-only "$(g++ -print-file-name=libabsl_synchronization.so)" |
  sed -nE 's/.* (_ZN4absl.*5Mutex)4LockEv$/\1/p')"

flags=(-std=c++17 -O1 -g -fsanitize=thread -I. "-DWEFT_MUTEX_PREFIX=\"$prefix\"")
shims=(tests/support/mutex_for_tsan.cc)
for method in 4Lock 6Unlock 10ReaderLock 12ReaderUnlock; do
  shims+=("-Wl,--wrap=$prefix${method}Ev")
done
"$faulty" && shims=()
for source in profiler/*.cc; do
  g++ "${flags[@]}" -c "$source" -o "$scratch/$(basename "$source" .cc).o"
done
for test in record_test session_test; do
  g++ "${flags[@]}" "tests/profiler/$test.cc" "$scratch"/*.o "${shims[@]}" -o "$scratch/$test" \
    -lgmock_main -lgmock -lgtest -labsl_raw_hash_set -labsl_hash -labsl_city -labsl_low_level_hash \
    -labsl_status -labsl_statusor -labsl_str_format_internal -labsl_cord -labsl_synchronization \
    -labsl_strings -labsl_strings_internal -labsl_base -labsl_throw_delegate -labsl_int128 \
    -labsl_raw_logging_internal -labsl_time -labsl_bad_optional_access -labsl_bad_variant_access \
    -lpthread
  for ((i = 1; i <= times; ++i)); do
    TSAN_OPTIONS=halt_on_error=1:exitcode=1 "$scratch/$test" --gtest_brief=1 --gtest_shuffle \
      >"$scratch/log" 2>&1 || {
      cat "$scratch/log"
      echo "tsan.sh: $test failed in run $i" >&2
      exit 1
    }
  done
  echo "$test: $times runs without a report"
done
