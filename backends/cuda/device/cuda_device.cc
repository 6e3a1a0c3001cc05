#include "backends/cuda/device/cuda_device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weft::cuda {
namespace {

CuAddress AddressOf(const char* address) { return reinterpret_cast<CuAddress>(address); }

}  // namespace

class CudaDevice::Piece : public DeviceMemory {
 public:
  Piece(CudaDevice& device, CuAddress address, int64_t bytes)
      : DeviceMemory(reinterpret_cast<char*>(address), bytes), device_(device) {}
  // The driver waits for work on the memory. Its errors are those of earlier work, which the next
  // synchronization reports.
  ~Piece() override { device_.driver_.memory_free(AddressOf(data())); }

 private:
  CudaDevice& device_;
};

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Open(const Libraries& libraries,
                                                             int ordinal) {
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
  WEFT_RETURN_IF_ERROR(made->Setup());
  return made;
}

absl::Status CudaDevice::Setup() {
  int minor = 0;
  const auto attribute = [&](int* value, CuDeviceAttribute which) {
    return Check(driver_.device_attribute(value, which, device_), "cuDeviceGetAttribute");
  };
  WEFT_RETURN_IF_ERROR(attribute(&multiprocessors_, kCuMultiprocessors));
  WEFT_RETURN_IF_ERROR(attribute(&compute_major_, kCuComputeMajor));
  WEFT_RETURN_IF_ERROR(attribute(&minor, kCuComputeMinor));
  arch_ = absl::StrCat("sm_", compute_major_, minor);
  WEFT_RETURN_IF_ERROR(
      Check(driver_.primary_context_retain(&context_, device_), "cuDevicePrimaryCtxRetain"));
  WEFT_RETURN_IF_ERROR(MakeCurrent());
  return Check(driver_.stream_create(&stream_, kCuStreamNonBlocking), "cuStreamCreate");
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  driver_.context_set_current(context_);
  if (stream_ != nullptr) driver_.stream_destroy(stream_);
  driver_.primary_context_release(device_);
}

absl::Status CudaDevice::MakeCurrent() {
  return Check(driver_.context_set_current(context_), "cuCtxSetCurrent");
}

absl::Status CudaDevice::Check(CuResult result, absl::string_view call) {
  const absl::Status status = ToStatus(libraries_, result, call);
  if (!IsSticky(result)) return status;
  std::string text(status.message());
  if (emulated()) {
    const std::string report = libraries_.emulation.report();
    if (!report.empty()) absl::StrAppend(&text, ": ", report);
  }
  if (labels_ == 1) {
    absl::StrAppend(&text, "; in ", first_label_);
  } else if (labels_ > 1) {
    absl::StrAppend(&text, "; in one of ", labels_, " launches from ", first_label_, " to ",
                    last_label_);
  }
  return absl::InternalError(absl::StrCat(text, "; this process cannot use the GPU any more"));
}

absl::Status CudaDevice::Synchronize(absl::string_view call) {
  const absl::Status status = Check(driver_.stream_synchronize(stream_), call);
  labels_ = 0;
  return status;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> CudaDevice::Allocate(int64_t bytes,
                                                                   profiler::MemoryCategory) {
  CuAddress address = 0;
  const int64_t least = std::max<int64_t>(bytes, 1);
  const CuResult result = driver_.memory_allocate(&address, static_cast<size_t>(least));
  if (result == kCuOutOfMemory) {
    size_t free = 0;
    size_t total = 0;
    driver_.memory_info(&free, &total);
    return absl::ResourceExhaustedError(absl::StrCat(
        "the GPU has no memory for ", bytes, " bytes; ", free, " of ", total, " bytes are free"));
  }
  WEFT_RETURN_IF_ERROR(Check(result, "cuMemAlloc"));
  return std::make_unique<Piece>(*this, address, least);
}

// Tensors are pageable memory: the driver has read them when the call returns.
absl::Status CudaDevice::CopyIn(char* to, const void* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  return Check(driver_.copy_in(AddressOf(to), from, static_cast<size_t>(bytes), stream_),
               "cuMemcpyHtoDAsync");
}

absl::Status CudaDevice::CopyOut(void* to, const char* from, int64_t bytes) {
  if (bytes > 0) {
    WEFT_RETURN_IF_ERROR(
        Check(driver_.copy_out(to, AddressOf(from), static_cast<size_t>(bytes), stream_),
              "cuMemcpyDtoHAsync"));
  }
  return Synchronize("cuStreamSynchronize behind a copy to the host");
}

absl::Status CudaDevice::Wait() { return Synchronize("cuStreamSynchronize"); }

absl::Status CudaDevice::Fill(char* to, unsigned char value, int64_t bytes) {
  return Check(driver_.fill(AddressOf(to), value, static_cast<size_t>(bytes), stream_),
               "cuMemsetD8Async");
}

absl::Status CudaDevice::Copy(char* to, const char* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  return Check(driver_.copy(AddressOf(to), AddressOf(from), static_cast<size_t>(bytes), stream_),
               "cuMemcpyDtoDAsync");
}

void CudaDevice::Forget(const OperandRange& range) {
  if (!emulated() || range.bytes <= 0) return;
  libraries_.emulation.forget(stream_, range.begin, static_cast<size_t>(range.bytes));
}

void CudaDevice::Note(const std::string& label) {
  if (labels_++ == 0) first_label_ = label;
  last_label_ = label;
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

absl::Status CudaDevice::Submit(absl::Span<const OperandRange> operands, const std::string& label,
                                absl::FunctionRef<absl::Status(CuStream)> submit) {
  Note(label);
  ShowOperands(operands);
  return submit(stream_);
}

absl::Status CudaDevice::Launch(CuFunction function, const LaunchShape& shape,
                                absl::Span<void*> parameters,
                                absl::Span<const OperandRange> operands, const std::string& label) {
  Note(label);
  ShowOperands(operands);
  ++launches_;
  return Check(driver_.launch(function, shape.blocks, 1, 1, shape.threads, 1, 1, shape.shared_bytes,
                              stream_, parameters.data(), nullptr),
               "cuLaunchKernel");
}

}  // namespace weft::cuda
