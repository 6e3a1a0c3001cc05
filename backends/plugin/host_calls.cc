#include "backends/plugin/host_calls.h"

#include <cstring>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "backends/plugin/call_error.h"
#include "backends/plugin/device_events.h"
#include "backends/plugin/logs.h"
#include "backends/runtime/host_memory.h"
#include "base/host_buffer.h"
#include "base/out_of_memory.h"
#include "base/printable.h"

namespace weft::plugin {
namespace {

class KernelTable {
 public:
  static KernelTable& Get() {
    static auto& table = *new KernelTable;
    return table;
  }
  weft_kernel Add(std::shared_ptr<HostKernel> kernel) {
    const absl::MutexLock lock(&mutex_);
    kernels_[++last_] = std::move(kernel);
    return last_;
  }
  void Remove(weft_kernel number) {
    const absl::MutexLock lock(&mutex_);
    kernels_.erase(number);
  }
  std::shared_ptr<HostKernel> Find(weft_kernel number) {
    const absl::MutexLock lock(&mutex_);
    const auto it = kernels_.find(number);
    return it == kernels_.end() ? nullptr : it->second;
  }

 private:
  absl::Mutex mutex_;
  weft_kernel last_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<weft_kernel, std::shared_ptr<HostKernel>> kernels_ ABSL_GUARDED_BY(mutex_);
};

// --- Functions of weft_host: none lets an exception out -------------------------------

weft_status Interpret(weft_kernel number, void* const* memory, const int64_t* sizes, int32_t count,
                      weft_device_error* error) {
  const absl::Status status = CatchOutOfMemory([&] {
    const std::shared_ptr<HostKernel> kernel = KernelTable::Get().Find(number);
    if (kernel == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("interpret: there is no kernel ", number));
    }
    return kernel->RunChecked(memory, sizes, count);
  });
  return FromStatus(status, error);
}

constexpr size_t kMaxText = 1024;

std::string TextOf(const char* text) {
  return text == nullptr ? "" : PrintableName(absl::string_view(text, strnlen(text, kMaxText)));
}

void Record(const char* device, int32_t stream, const char* name, int64_t begin, int64_t end) {
  if (!DeviceEvents::Get()->recording()) return;
  CatchOutOfMemory([&] {
    DeviceEvents::Get()->Record(TextOf(device), stream, TextOf(name), begin, end);
    return absl::OkStatus();
  }).IgnoreError();
}

void Remark(const char* text) {
  if (!device_hints_log.IsLogged()) return;
  CatchOutOfMemory([&] {
    Log(device_hints_log, TextOf(text));
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace

const weft_host& HostCalls() {
  static const weft_host calls = {sizeof(weft_host), WEFT_DEVICE_ABI, 0, Interpret, Record, Remark};
  return calls;
}

absl::Status HostKernel::Run(absl::Span<void* const> memory) {
  std::shared_ptr<HostBuffer> scratch;
  if (code_->scratch_bytes() > 0) {
    scratch = AllocateAligned(code_->scratch_bytes(), profiler::MemoryCategory::kTemporary);
    if (scratch == nullptr) return absl::ResourceExhaustedError("no memory for scratch");
  }
  LaunchMemory launch;
  launch.args = memory.first(num_args_);
  launch.results = memory.subspan(num_args_);
  launch.all = memory;
  launch.scratch = scratch == nullptr ? nullptr : reinterpret_cast<char*>(scratch->data());
  return code_->Launch(launch);
}

absl::Status HostKernel::RunChecked(void* const* memory, const int64_t* sizes, int32_t count) {
  const auto wrong = [&](auto... what) {
    return absl::InvalidArgumentError(absl::StrCat("interpret: ", label_, ": ", what...));
  };
  if (memory == nullptr || sizes == nullptr || count != static_cast<int64_t>(bytes_.size())) {
    return wrong("the kernel has ", bytes_.size(), " arguments and results, not ", count);
  }
  for (int32_t i = 0; i < count; ++i) {
    if (bytes_[i] == 0) continue;
    if (memory[i] == nullptr) return wrong("argument ", i, " has no memory");
    if (sizes[i] >= bytes_[i]) continue;
    return wrong("argument ", i, " has ", sizes[i], " bytes of ", bytes_[i]);
  }
  return Run(absl::MakeConstSpan(memory, static_cast<size_t>(count)));
}

KernelNumber::KernelNumber(std::shared_ptr<HostKernel> kernel)
    : value_(KernelTable::Get().Add(std::move(kernel))) {}
KernelNumber::~KernelNumber() { KernelTable::Get().Remove(value_); }

}  // namespace weft::plugin
