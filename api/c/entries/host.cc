// Services of the embedding program: memory, threads, and lines of the log.
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/c/entries/entries.h"
#include "api/c/entries/errors.h"
#include "backends/cpu/threads/host_loop.h"
#include "backends/runtime/host_allocator.h"
#include "base/log.h"

namespace weft::c {

weft_error* SetLogSettings(const char* settings) {
  return Guarded("set_logs", [&] { return SetLogs(settings != nullptr ? settings : ""); });
}

void SetLogCallback(void (*line)(void* context, const char* text, size_t size), void* context) {
  if (line == nullptr) return SetLogSink(nullptr);
  SetLogSink([=](absl::string_view text) { line(context, text.data(), text.size()); });
}

weft_error* SetAllocator(void* (*allocate)(void* context, size_t size, size_t alignment),
                         void (*release)(void* context, void* memory, size_t size), void* context) {
  return Guarded("set_allocator", [&]() -> absl::Status {
    if ((allocate == nullptr) != (release == nullptr)) {
      return absl::InvalidArgumentError(
          "`allocate` and `release` are given together, or both null");
    }
    SetHostAllocator({allocate, release, context});
    return absl::OkStatus();
  });
}

weft_error* SetParallelFor(void (*run)(void* context, int64_t count,
                                       void (*task)(void* data, int64_t index), void* data),
                           void* context) {
  return Guarded("set_parallel_for", [&] {
    cpu::SetHostLoop({run, context});
    return absl::OkStatus();
  });
}

}  // namespace weft::c
