#include "backends/cuda/trace/gpu_timeline.h"

#include <algorithm>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/const_init.h"
#include "absl/container/flat_hash_map.h"
#include "backends/cuda/trace/cupti_recorder.h"
#include "backends/cuda/trace/gpu_source.h"

namespace weft::cuda {
namespace {

// Pieces of work after which the host waits for their times.
constexpr size_t kMaxPending = 4096;

ABSL_CONST_INIT absl::Mutex names_mutex(absl::kConstInit);

absl::flat_hash_map<CuFunction, profiler::NameId>& FunctionNames() {
  static auto& names = *new absl::flat_hash_map<CuFunction, profiler::NameId>;
  return names;
}

uint32_t NextStreamNumber() {
  static std::atomic<uint32_t> next{1};
  return next++;
}

}  // namespace

void NameFunction(CuFunction function, const std::string& symbol) {
  const profiler::NameId name = profiler::InternName(symbol);
  const absl::MutexLock lock(&names_mutex);
  FunctionNames()[function] = name;
}

GpuTimeline::GpuTimeline(const Libraries& libraries, DeviceLimits limits, CuContext context,
                         CuStream stream, std::string cupti)
    : libraries_(libraries),
      limits_(std::move(limits)),
      context_(context),
      cupti_(std::move(cupti)),
      stream_number_(NextStreamNumber()),
      timer_(libraries, stream) {
  GpuSource::Get()->Add(this);
}

GpuTimeline::~GpuTimeline() { GpuSource::Get()->Remove(this); }

uint64_t GpuTimeline::SetCause(uint64_t cause) {
  const uint64_t before = std::exchange(cause_, cause);
  CuptiRecorder& recorder = CuptiRecorder::Get();
  if (mode() == Mode::kCupti) {
    if (before != 0) recorder.Pop();
    if (cause != 0) recorder.Push(cause);
  }
  return before;
}

GpuActivity GpuTimeline::Kernel(CuFunction function, unsigned blocks, unsigned threads,
                                unsigned shared_bytes) const {
  GpuActivity work;
  work.kind = GpuActivity::Kind::kKernel;
  {
    const absl::MutexLock lock(&names_mutex);
    const auto known = FunctionNames().find(function);
    if (known != FunctionNames().end()) work.name = known->second;
  }
  if (work.name == 0) work.name = profiler::InternName("kernel");
  work.grid = {static_cast<int32_t>(blocks), 1, 1};
  work.block = {static_cast<int32_t>(threads), 1, 1};
  work.dynamic_shared = static_cast<int32_t>(shared_bytes);
  libraries_.driver.function_attribute(&work.registers, kCuFunctionRegisters, function);
  libraries_.driver.function_attribute(&work.static_shared, kCuFunctionSharedBytes, function);
  return work;
}

void GpuTimeline::Begin(GpuActivity work, absl::string_view call) {
  work.device = static_cast<uint32_t>(limits_.ordinal);
  work.context = 1;
  work.stream = stream_number_;
  work.cause = cause_;
  const absl::MutexLock lock(&mutex_);
  if (timer_.num_pending() >= kMaxPending) timer_.Take(&timed_);
  timer_.Begin(work, profiler::InternName(call));
}

void GpuTimeline::End() {
  const absl::MutexLock lock(&mutex_);
  timer_.End();
}

void GpuTimeline::TakeTimed(std::vector<GpuActivity>* activities) {
  const absl::MutexLock lock(&mutex_);
  timer_.Take(&timed_);
  activities->insert(activities->end(), timed_.begin(), timed_.end());
  timed_.clear();
}

}  // namespace weft::cuda
