#include "backends/cuda/device/cuda_device.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "backends/cuda/device/graph.h"
#include "backends/cuda/device/staging.h"
#include "base/status_macros.h"

namespace weft::cuda {
namespace {

// Freed memory that stays with a device for later allocations.
constexpr uint64_t kMaxKeptBytes = uint64_t{256} << 20;

CuAddress AddressOf(const char* address) { return reinterpret_cast<CuAddress>(address); }

GpuActivity CopyOf(uint8_t kind, uint8_t from, uint8_t to, int64_t bytes) {
  GpuActivity work;
  work.kind = GpuActivity::Kind::kCopy;
  work.copy_kind = kind;
  work.from_kind = from;
  work.to_kind = to;
  work.bytes = bytes;
  return work;
}

GpuActivity FillOf(int64_t bytes) {
  GpuActivity work;
  work.kind = GpuActivity::Kind::kFill;
  work.to_kind = kDeviceMemory;
  work.bytes = bytes;
  return work;
}

}  // namespace

void StepLabels::Add(const StepLabels& more) {
  if (works == 0) first = more.first;
  last = more.last;
  works += more.works;
}

void StepLabels::Add(const std::string& label) {
  if (works++ == 0) first = label;
  last = label;
}

class CudaDevice::Piece : public DeviceMemory {
 public:
  Piece(CudaDevice& device, CuAddress address, int64_t bytes)
      : DeviceMemory(reinterpret_cast<char*>(address), bytes),
        device_(device),
        stream_(device.stream_) {}
  void SetStream(std::optional<void*> stream) override {
    stream_ = stream ? static_cast<CuStream>(*stream) : device_.stream_;
  }
  // On any thread, whose context stays what it is. Work that was submitted before still uses the
  // memory. Errors are those of earlier work, which
  // the next synchronization reports.
  ~Piece() override {
    const DriverApi& driver = device_.driver_;
    const bool pushed = driver.context_push(device_.context_->get()) == kCuSuccess;
    if (device_.pool_ != nullptr) {
      driver.pool_free(AddressOf(data()), stream_);
    } else {
      driver.memory_free(AddressOf(data()));
    }
    CuContext popped = nullptr;
    if (pushed) driver.context_pop(&popped);
  }

 private:
  CudaDevice& device_;
  std::atomic<CuStream> stream_;  // In whose order the memory is freed.
};

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Open(const Libraries& libraries,
                                                             int ordinal,
                                                             const std::string& cupti) {
  const DriverApi& driver = libraries.driver;
  WEFT_RETURN_IF_ERROR(ToStatus(libraries, driver.init(0), "cuInit"));
  int count = 0;
  WEFT_RETURN_IF_ERROR(ToStatus(libraries, driver.device_count(&count), "cuDeviceGetCount"));
  if (ordinal < 0 || ordinal >= count) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no CUDA device ", ordinal, "; the machine has ", count));
  }
  CuDevice device = 0;
  WEFT_RETURN_IF_ERROR(ToStatus(libraries, driver.device_get(&device, ordinal), "cuDeviceGet"));
  std::unique_ptr<CudaDevice> made(new CudaDevice(libraries, device));
  WEFT_RETURN_IF_ERROR(made->Setup(ordinal, cupti));
  return made;
}

absl::Status CudaDevice::Setup(int ordinal, const std::string& cupti) {
  int minor = 0;
  ordinal_ = ordinal;
  const auto attribute = [&](int* value, CuDeviceAttribute which) {
    return Check(driver_.device_attribute(value, which, device_), "cuDeviceGetAttribute");
  };
  WEFT_RETURN_IF_ERROR(attribute(&multiprocessors_, kCuMultiprocessors));
  WEFT_RETURN_IF_ERROR(attribute(&compute_major_, kCuComputeMajor));
  WEFT_RETURN_IF_ERROR(attribute(&minor, kCuComputeMinor));
  WEFT_RETURN_IF_ERROR(attribute(&max_shared_bytes_, kCuSharedBytesPerBlockOptIn));
  arch_ = absl::StrCat("sm_", compute_major_, minor);
  if (arch_ == "sm_90") arch_ += "a";
  int nvrtc_major = 0;
  int nvrtc_minor = 0;
  libraries_.nvrtc.version(&nvrtc_major, &nvrtc_minor);
  has_float8_ = std::make_pair(compute_major_, minor) >= std::make_pair(8, 9) &&
                std::make_pair(nvrtc_major, nvrtc_minor) >= std::make_pair(12, 4);
  WEFT_ASSIGN_OR_RETURN(context_, PrimaryContext::Retain(libraries_, device_));
  WEFT_RETURN_IF_ERROR(MakeCurrent());
  WEFT_RETURN_IF_ERROR(
      Check(driver_.stream_create(&stream_, kCuStreamNonBlocking), "cuStreamCreate"));
  staging_ = std::make_unique<InputStaging>(driver_, *context_);
  WEFT_ASSIGN_OR_RETURN(DeviceLimits limits, ReadLimits(libraries_, device_, ordinal));
  timeline_ =
      std::make_unique<GpuTimeline>(libraries_, std::move(limits), context_->get(), stream_, cupti);
  int pools = 0;
  WEFT_RETURN_IF_ERROR(attribute(&pools, kCuMemoryPools));
  return pools != 0 ? MakePool() : absl::OkStatus();
}

absl::Status CudaDevice::MakePool() {
  CuMemoryPoolProperties properties;
  properties.device = device_;
  WEFT_RETURN_IF_ERROR(Check(driver_.pool_create(&pool_, &properties), "cuMemPoolCreate"));
  uint64_t kept = kMaxKeptBytes;
  return Check(driver_.pool_set(pool_, kCuPoolReleaseThreshold, &kept), "cuMemPoolSetAttribute");
}

CudaDevice::CudaDevice(const Libraries& libraries, CuDevice device)
    : libraries_(libraries), driver_(libraries.driver), device_(device) {}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  driver_.context_set_current(context_->get());
  timeline_ = nullptr;
  for (CuEvent event : {before_, behind_}) {
    if (event != nullptr) driver_.event_destroy(event);
  }
  if (stream_ != nullptr) driver_.stream_destroy(stream_);
  if (pool_ != nullptr) driver_.pool_destroy(pool_);
}

absl::Status CudaDevice::MakeCurrent() {
  return Check(driver_.context_set_current(context_->get()), "cuCtxSetCurrent");
}

absl::Status CudaDevice::Check(CuResult result, absl::string_view call) {
  const absl::Status status = ToStatus(libraries_, result, call);
  if (!IsSticky(result)) return status;
  std::string text(status.message());
  if (emulated()) {
    const std::string report = libraries_.emulation.report();
    if (!report.empty()) absl::StrAppend(&text, ": ", report);
  }
  if (labels_.works == 1) {
    absl::StrAppend(&text, "; in ", labels_.first);
  } else if (labels_.works > 1) {
    absl::StrAppend(&text, "; in one of ", labels_.works, " launches from ", labels_.first, " to ",
                    labels_.last);
  }
  return absl::InternalError(absl::StrCat(text, "; this process cannot use the GPU any more"));
}

absl::Status CudaDevice::CheckNotRecording(absl::string_view call) const {
  if (builder_ == nullptr) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, " while a graph is recorded"));
}

absl::Status CudaDevice::Synchronize(absl::string_view call) {
  WEFT_RETURN_IF_ERROR(CheckNotRecording(call));
  const absl::Status status = Check(driver_.stream_synchronize(stream_), call);
  labels_.works = 0;
  staging_->Release();
  return status;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> CudaDevice::Allocate(int64_t bytes,
                                                                   profiler::MemoryCategory) {
  WEFT_RETURN_IF_ERROR(CheckNotRecording("cuMemAlloc"));
  CuAddress address = 0;
  const int64_t least = std::max<int64_t>(bytes, 1);
  const auto size = static_cast<size_t>(least);
  const CuResult result = pool_ != nullptr ? driver_.pool_allocate(&address, size, pool_, stream_)
                                           : driver_.memory_allocate(&address, size);
  if (result == kCuOutOfMemory) {
    size_t free = 0;
    size_t total = 0;
    driver_.memory_info(&free, &total);
    return absl::ResourceExhaustedError(absl::StrCat(
        "the GPU has no memory for ", bytes, " bytes; ", free, " of ", total, " bytes are free"));
  }
  WEFT_RETURN_IF_ERROR(Check(result, "cuMemAllocFromPoolAsync"));
  return std::make_unique<Piece>(*this, address, least);
}

uint8_t CudaDevice::MemoryKindOf(const void* host) const {
  unsigned type = 0;  // Stays 0 for memory that the driver does not know.
  CuPointerAttribute which[] = {kCuPointerMemoryType};
  void* values[] = {&type};
  const auto address = static_cast<CuAddress>(reinterpret_cast<uintptr_t>(host));
  const CuResult found = driver_.pointer_attributes(1, which, values, address);
  return found == kCuSuccess && type == 0 ? kPageableMemory : kPinnedMemory;
}

absl::Status CudaDevice::SubmitCopyIn(char* to, const void* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(CheckNotRecording("cuMemcpyHtoDAsync"));
  const GpuTimeline::Timed timed(*timeline_, "cuMemcpyHtoDAsync", [&] {
    return CopyOf(kCopyToDevice, MemoryKindOf(from), kDeviceMemory, bytes);
  });
  return Check(driver_.copy_in(AddressOf(to), from, static_cast<size_t>(bytes), stream_),
               "cuMemcpyHtoDAsync");
}

// The driver has read pageable memory when the call returns, but not memory that is page-locked.
absl::Status CudaDevice::CopyIn(char* to, const void* from, int64_t bytes) {
  WEFT_RETURN_IF_ERROR(SubmitCopyIn(to, from, bytes));
  if (bytes == 0 || MemoryKindOf(from) == kPageableMemory) return absl::OkStatus();
  return Synchronize("cuStreamSynchronize behind a copy to the device");
}

absl::Status CudaDevice::CopyInLater(char* to, const void* from, int64_t bytes) {
  CuResult result = kCuSuccess;
  // Events time whole copies.
  const bool timed = timeline_->mode() == GpuTimeline::Mode::kEvents;
  if (bytes >= InputStaging::kLeastBytes && !timed && MemoryKindOf(from) == kPageableMemory &&
      staging_->Copy(AddressOf(to), from, bytes, stream_, &result)) {
    return Check(result, "cuMemcpyHtoDAsync");
  }
  return SubmitCopyIn(to, from, bytes);
}

absl::Status CudaDevice::CopyOutLater(void* to, const char* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(CheckNotRecording("cuMemcpyDtoHAsync"));
  const GpuTimeline::Timed timed(*timeline_, "cuMemcpyDtoHAsync", [&] {
    return CopyOf(kCopyToHost, kDeviceMemory, MemoryKindOf(to), bytes);
  });
  return Check(driver_.copy_out(to, AddressOf(from), static_cast<size_t>(bytes), stream_),
               "cuMemcpyDtoHAsync");
}

absl::Status CudaDevice::CopyOut(void* to, const char* from, int64_t bytes) {
  WEFT_RETURN_IF_ERROR(CopyOutLater(to, from, bytes));
  return Synchronize("cuStreamSynchronize behind a copy to the host");
}

std::shared_ptr<HostBuffer> CudaDevice::AllocateHost(int64_t bytes,
                                                     profiler::MemoryCategory category) {
  std::shared_ptr<HostBuffer> locked = context_->AllocateLocked(bytes);
  return locked != nullptr ? locked : Device::AllocateHost(bytes, category);
}

absl::Status CudaDevice::Wait() { return Synchronize("cuStreamSynchronize"); }

absl::Status CudaDevice::Fill(char* to, unsigned char value, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  if (builder_ != nullptr) {
    return Check(builder_->AddFill({AddressOf(to), bytes, true}, value), "cuGraphAddMemsetNode");
  }
  const GpuTimeline::Timed timed(*timeline_, "cuMemsetD8Async", [&] { return FillOf(bytes); });
  return Check(driver_.fill(AddressOf(to), value, static_cast<size_t>(bytes), stream_),
               "cuMemsetD8Async");
}

absl::Status CudaDevice::Copy(char* to, const char* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  if (builder_ != nullptr) {
    return Check(builder_->AddCopy({AddressOf(to), bytes, true}, {AddressOf(from), bytes, false}),
                 "cuGraphAddMemcpyNode");
  }
  const GpuTimeline::Timed timed(*timeline_, "cuMemcpyDtoDAsync", [&] {
    return CopyOf(kCopyOnDevice, kDeviceMemory, kDeviceMemory, bytes);
  });
  return Check(driver_.copy(AddressOf(to), AddressOf(from), static_cast<size_t>(bytes), stream_),
               "cuMemcpyDtoDAsync");
}

absl::Status CudaDevice::AllowShared(CuFunction function, int bytes) {
  // Launches may have 48 KiB without it.
  if (bytes <= 48 << 10) return absl::OkStatus();
  return Check(driver_.set_function_attribute(function, kCuFunctionMaxDynamicSharedBytes, bytes),
               "cuFuncSetAttribute");
}

void CudaDevice::Forget(const OperandRange& range) {
  if (!emulated() || range.bytes <= 0) return;
  const auto bytes = static_cast<size_t>(range.bytes);
  if (builder_ != nullptr) {
    libraries_.emulation.forget_next(range.begin, bytes);
  } else {
    libraries_.emulation.forget(stream_, range.begin, bytes);
  }
}

void CudaDevice::Note(const std::string& label) {
  (builder_ != nullptr ? recorded_ : labels_).Add(label);
}

void CudaDevice::ShowOperands(absl::Span<const OperandRange> operands) {
  if (!emulated()) return;
  std::vector<CuAddress> begins;
  std::vector<size_t> bytes;
  for (const OperandRange& range : operands) {
    begins.push_back(range.begin);
    bytes.push_back(static_cast<size_t>(range.bytes));
  }
  libraries_.emulation.operands(begins.data(), bytes.data(), static_cast<unsigned>(begins.size()));
}

absl::Status CudaDevice::Launch(CuFunction function, const LaunchShape& shape,
                                absl::Span<void*> parameters,
                                absl::Span<const OperandRange> operands, const std::string& label) {
  Note(label);
  ShowOperands(operands);
  if (builder_ != nullptr) {
    return Check(builder_->AddKernel(function, shape, parameters, operands),
                 "cuGraphAddKernelNode");
  }
  ++launches_;
  const GpuTimeline::Timed timed(*timeline_, "cuLaunchKernel", [&] {
    return timeline_->Kernel(function, shape.blocks, shape.threads, shape.shared_bytes);
  });
  return Check(driver_.launch(function, shape.blocks, 1, 1, shape.threads, 1, 1, shape.shared_bytes,
                              stream_, parameters.data(), nullptr),
               "cuLaunchKernel");
}

absl::Status CudaDevice::Submit(absl::Span<const OperandRange> operands, const std::string& label,
                                absl::FunctionRef<absl::Status(CuStream)> submit) {
  Note(label);
  ShowOperands(operands);
  if (builder_ == nullptr) {
    absl::Status status;
    {
      const GpuTimeline::Timed timed(*timeline_, "library call", [&] {
        GpuActivity work;
        work.name = profiler::InternName(label);
        return work;
      });
      status = submit(stream_);
    }
    // Errors of earlier kernels are errors of a library's calls, too.
    if (!status.ok()) WEFT_RETURN_IF_ERROR(Synchronize("cuStreamSynchronize"));
    return status;
  }
  WEFT_RETURN_IF_ERROR(
      Check(driver_.capture_begin(stream_, kCuCaptureThreadLocal), "cuStreamBeginCapture"));
  const absl::Status submitted = submit(stream_);
  CuGraph captured = nullptr;
  const absl::Status ended = Check(driver_.capture_end(stream_, &captured), "cuStreamEndCapture");
  const absl::Cleanup destroy = [&] {
    if (captured != nullptr) driver_.graph_destroy(captured);
  };
  WEFT_RETURN_IF_ERROR(submitted);
  WEFT_RETURN_IF_ERROR(ended);
  return Check(builder_->AddChild(captured, operands), "cuGraphAddChildGraphNode");
}

// --- Recordings --------------------------------------------------------------------------

absl::Status CudaDevice::BeginRecording() {
  WEFT_RETURN_IF_ERROR(CheckNotRecording("cuGraphCreate"));
  recorded_.works = 0;
  builder_ = std::make_unique<GraphBuilder>(driver_, context_->get());
  const absl::Status status = Check(builder_->Begin(), "cuGraphCreate");
  if (!status.ok()) builder_ = nullptr;
  return status;
}

absl::StatusOr<std::unique_ptr<Recording>> CudaDevice::EndRecording(
    std::unique_ptr<Recording> reuse) {
  if (builder_ == nullptr) return absl::InternalError("no graph is recorded");
  const std::unique_ptr<GraphBuilder> builder = std::move(builder_);
  std::unique_ptr<GraphRecording> old(static_cast<GraphRecording*>(reuse.release()));
  std::unique_ptr<GraphRecording> made;
  bool updated = false;
  WEFT_RETURN_IF_ERROR(
      Check(builder->Finish(std::move(old), &made, &updated), "cuGraphInstantiate"));
  ++(updated ? graph_updates_ : graph_instantiations_);
  made->labels = recorded_;
  return made;
}

void CudaDevice::set_copy_threads(int threads) { staging_->set_threads(threads); }

void CudaDevice::DropRecording() { builder_ = nullptr; }

absl::Status CudaDevice::Replay(Recording& recording) {
  const auto& graph = static_cast<const GraphRecording&>(recording);
  labels_.Add(graph.labels);
  ++graph_launches_;
  return Check(driver_.graph_launch(graph.exec(), stream_), "cuGraphLaunch");
}

}  // namespace weft::cuda
