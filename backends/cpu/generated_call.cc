#include "backends/cpu/generated_call.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "backends/cpu/threads/parallel.h"

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
    std::atomic<int> any{0};
    RunTeam(threads, [&](const TeamMember& member) {
      any |= call.fn(args, call.sizes.data(), scratch + member.index * call.scratch_bytes,
                     member.Begin(call.points), member.End(call.points));
    });
    failed = any;
  }
  if (failed == 0) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("kernel @", name, ": an index is out of bounds"));
}

}  // namespace weft::cpu
