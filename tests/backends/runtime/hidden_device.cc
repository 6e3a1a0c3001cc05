#include "tests/backends/runtime/hidden_device.h"

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/tensor/dtype.h"

namespace weft {
namespace {

// No address of a process has this bit: following such a pointer is a fault.
constexpr uintptr_t kHidden = uintptr_t{1} << 62;
constexpr int kPoison = 0xA5;

char* Hide(char* memory) {
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(memory) | kHidden);
}

std::vector<void*> RevealAll(absl::Span<void* const> addresses) {
  std::vector<void*> memory;
  for (const void* address : addresses) memory.push_back(HiddenDevice::Reveal(address));
  return memory;
}

class HiddenCode : public StepCode {
 public:
  HiddenCode(HiddenDevice& device, std::unique_ptr<StepCode> code)
      : device_(device), code_(std::move(code)) {}

  absl::Status Refresh(const SymbolEnv& env) override { return code_->Refresh(env); }
  absl::Status Launch(const LaunchMemory& memory) override {
    const size_t num_args = memory.args.size();
    std::vector<float> bounds(memory.bounds.begin(), memory.bounds.end());
    return device_.Submit([code = code_.get(), all = RevealAll(memory.all), num_args,
                           scratch = HiddenDevice::Reveal(memory.scratch),
                           bounds = std::move(bounds)] {
      const auto span = absl::MakeConstSpan(all);
      return code->Launch({span.first(num_args), span.subspan(num_args), span, scratch, bounds});
    });
  }
  int64_t scratch_bytes() const override { return code_->scratch_bytes(); }
  const char* runner() const override { return code_->runner(); }
  std::string routine() const override { return code_->routine(); }

 private:
  HiddenDevice& device_;
  const std::unique_ptr<StepCode> code_;
};

}  // namespace

class HiddenDevice::Piece : public DeviceMemory {
 public:
  Piece(HiddenDevice& device, char* memory, int64_t bytes)
      : DeviceMemory(Hide(memory), bytes), device_(device), memory_(memory) {
    std::memset(memory, kPoison, static_cast<size_t>(bytes));
    device_.live_bytes_ += bytes;
  }
  ~Piece() override {
    std::memset(memory_, kPoison, static_cast<size_t>(size()));
    device_.live_bytes_ -= size();
    std::free(memory_);
  }

 private:
  HiddenDevice& device_;
  char* const memory_;
};

char* HiddenDevice::Reveal(const void* address) {
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(address) & ~kHidden);
}

void HiddenDevice::FailAt(Call call, int64_t count) {
  failing_ = call;
  failing_at_ = count == 0 ? 0 : calls(call) + count;
}

absl::Status HiddenDevice::Count(Call call) {
  const int64_t n = ++calls_[static_cast<int>(call)];
  if (call != failing_ || n != failing_at_) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the device failed in call ", n));
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> HiddenDevice::Allocate(int64_t bytes,
                                                                     profiler::MemoryCategory) {
  WEFT_RETURN_IF_ERROR(Count(Call::kAllocate));
  // Vector code may touch a line behind the end.
  const int64_t rounded = (bytes + 127) / 64 * 64;
  char* memory = static_cast<char*>(std::aligned_alloc(64, static_cast<size_t>(rounded)));
  if (memory == nullptr) return absl::ResourceExhaustedError("no memory");
  return std::make_unique<Piece>(*this, memory, rounded);
}

absl::Status HiddenDevice::CopyIn(char* to, const void* from, int64_t bytes) {
  WEFT_RETURN_IF_ERROR(Count(Call::kCopyIn));
  const char* begin = static_cast<const char*>(from);
  queue_.push_back([to = Reveal(to), data = std::vector<char>(begin, begin + bytes)] {
    if (!data.empty()) std::memcpy(to, data.data(), data.size());
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status HiddenDevice::CopyOut(void* to, const char* from, int64_t bytes) {
  WEFT_RETURN_IF_ERROR(Count(Call::kCopyOut));
  WEFT_RETURN_IF_ERROR(Drain());
  if (bytes > 0) std::memcpy(to, Reveal(from), static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status HiddenDevice::Wait() {
  const absl::Status done = Drain();
  WEFT_RETURN_IF_ERROR(Count(Call::kWait));
  return done;
}

absl::Status HiddenDevice::Submit(std::function<absl::Status()> work) {
  WEFT_RETURN_IF_ERROR(Count(Call::kLaunch));
  queue_.push_back(std::move(work));
  return absl::OkStatus();
}

// Work behind a failure is dropped: it would work on what was never written.
absl::Status HiddenDevice::Drain() {
  absl::Status status;
  while (!queue_.empty()) {
    const auto work = std::move(queue_.front());
    queue_.pop_front();
    if (status.ok()) status = work();
  }
  return status;
}

absl::StatusOr<std::unique_ptr<StepCode>> HiddenLauncher::Compile(const StepRequest& request) {
  if (request.step.kind == StepKind::kLibrary && !IsFloat(request.results[0].dtype)) return nullptr;
  std::vector<char*> constants;
  for (const char* address : request.constants) {
    constants.push_back(HiddenDevice::Reveal(address));
  }
  // Code may read constants when it is made.
  WEFT_RETURN_IF_ERROR(device_.Wait());
  const StepRequest on_host{request.plan, request.step,    request.env,    request.attrs,
                            request.args, request.results, request.memory, constants};
  WEFT_ASSIGN_OR_RETURN(auto code, host_.Compile(on_host));
  if (code == nullptr) return nullptr;
  return std::make_unique<HiddenCode>(device_, std::move(code));
}

absl::StatusOr<std::unique_ptr<StepCode>> HiddenLauncher::CompileCopy(const RunView& from,
                                                                      const RunView& to) {
  WEFT_ASSIGN_OR_RETURN(auto code, host_.CompileCopy(from, to));
  if (code == nullptr) return nullptr;
  return std::make_unique<HiddenCode>(device_, std::move(code));
}

}  // namespace weft
