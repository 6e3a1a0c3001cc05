#include "backends/cpu/generated_call.h"

#include <omp.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft::cpu {
namespace {

// Below this many instructions a kernel runs on one thread.
constexpr int64_t kParallelWork = 1 << 15;

}  // namespace

absl::Status RunGenerated(const GeneratedCall& call, void* const* args, char* scratch, int threads,
                          absl::string_view name) {
  int failed = 0;
  threads = static_cast<int>(std::min<int64_t>(threads, call.points));
  if (threads <= 1 || call.work < kParallelWork) {
    failed = call.fn(args, call.sizes.data(), scratch, 0, call.points);
  } else {
#pragma omp parallel num_threads(threads) reduction(| : failed)
    {
      const int64_t n = omp_get_num_threads();
      const int64_t t = omp_get_thread_num();
      failed |= call.fn(args, call.sizes.data(), scratch + t * call.scratch_bytes,
                        call.points * t / n, call.points * (t + 1) / n);
    }
  }
  if (failed == 0) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("kernel @", name, ": an index is out of bounds"));
}

}  // namespace weft::cpu
