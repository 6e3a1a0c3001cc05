#!/usr/bin/env bash
# Runs the tests of lowering and of the CPU executor under sanitizers:
#
#   tests/backends/cpu/sanitize.sh [asan|tsan]...
#
# asan: AddressSanitizer and UndefinedBehaviorSanitizer over all of them. tsan:
# ThreadSanitizer over those that run plans. Generated kernels and oneDNN are built
# without. Without arguments, both. Stops at the first report.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# The links that `bazel build` leaves stay with the usual configuration.
flags=(--symlink_prefix=/)
for kind in "${@:-asan tsan}"; do
  for one in $kind; do
    case "$one" in
      asan)
        ./bazelw test "${flags[@]}" --config=asan --config=ubsan \
          //tests/lowering/... //tests/backends/cpu/...
        ;;
      tsan)
        ./bazelw test "${flags[@]}" --config=tsan \
          //tests/backends/cpu:executable_test //tests/backends/cpu:models_test \
          //tests/backends/cpu:differential_test
        ;;
      *)
        echo "sanitize.sh: asan or tsan, not $one" >&2
        exit 2
        ;;
    esac
  done
done
