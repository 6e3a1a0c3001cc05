// A device of the CUDA driver: its primary context, and one stream.
//
// An error of a kernel that the driver calls sticky (an illegal address, for example) makes the
// context of the process useless: this and every later call on any CudaDevice of the process fails,
// and only a new process can use the GPU again. Other errors, such as a lack of memory, leave the
// device usable.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_CUDA_DEVICE_H_
#define WEFT_BACKENDS_CUDA_DEVICE_CUDA_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/cuda/device/context.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/trace/gpu_timeline.h"
#include "backends/runtime/device.h"

namespace weft::cuda {

class GraphBuilder;
class InputStaging;

// Memory that submitted work may access. It orders the work in a graph, and the emulation refuses
// other accesses.
struct OperandRange {
  CuAddress begin = 0;
  int64_t bytes = 0;
  bool written = true;  // False: it is only read.
};

struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 1;
  unsigned shared_bytes = 0;  // Dynamic shared memory.
};

// Steps whose work was submitted, for errors that are reported late: the first, the last, and the
// number of works.
struct StepLabels {
  std::string first;
  std::string last;
  int64_t works = 0;

  // `more` was submitted behind these.
  void Add(const StepLabels& more);
  void Add(const std::string& label);
};

class CudaDevice : public Device {
 public:
  // FailedPrecondition if there is no such device. `cupti`: the library that records its work for
  // traces (GpuTimeline).
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Open(const Libraries& libraries, int ordinal,
                                                          const std::string& cupti = "");
  ~CudaDevice() override;

  const Libraries& libraries() const { return libraries_; }
  int multiprocessors() const { return multiprocessors_; }
  // "sm_80", for NVRTC; "sm_90a" for compute capability 9.0.
  const std::string& arch() const { return arch_; }
  // Multiplies matrices of 16-bit floats in tensor cores (mma.m16n8k16).
  bool has_tensor_cores() const { return compute_major_ >= 8; }
  // Multiplies matrices of 8-bit floats in tensor cores (mma.m16n8k32): from compute capability 8.9
  // on, if NVRTC has them.
  bool has_float8() const { return has_float8_; }
  // Has the instructions of compute capability 9.0 alone (wgmma).
  bool has_wgmma() const { return arch_ == "sm_90a"; }
  // TF32 products that stand for a product of f32 numbers in matmuls: three read 22 bits of an
  // operand, one reads 11; 0: none, products are of f32.
  int f32_products() const { return has_tensor_cores() ? f32_products_ : 0; }
  void set_f32_products(int products) { f32_products_ = products; }
  // Most bytes of dynamic shared memory of a block, by AllowShared.
  int max_shared_bytes() const { return max_shared_bytes_; }
  // Kernels launched outside of graphs.
  int64_t launches() const { return launches_; }

  // Lets launches of the function have so many bytes of dynamic shared memory.
  absl::Status AllowShared(CuFunction function, int bytes);

  // Must be called by each thread before it uses the device.
  absl::Status MakeCurrent();

  bool host_visible() const override { return false; }
  const void* memory_space() const override { return context_->get(); }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      int64_t bytes, profiler::MemoryCategory category) override;
  bool frees_in_order() const override { return true; }
  absl::Status CopyIn(char* to, const void* from, int64_t bytes) override;
  absl::Status CopyInLater(char* to, const void* from, int64_t bytes) override;
  absl::Status CopyOut(void* to, const char* from, int64_t bytes) override;
  absl::Status CopyOutLater(void* to, const char* from, int64_t bytes) override;
  absl::Status Copy(char* to, const char* from, int64_t bytes) override;
  // Page-locked memory, within a limit.
  std::shared_ptr<HostBuffer> AllocateHost(int64_t bytes,
                                           profiler::MemoryCategory category) override;
  absl::Status Wait() override;
  // Work that is submitted from now on is done behind all that the caller's stream was given so
  // far. FailedPrecondition if the stream's work is captured.
  absl::Status WaitFor(CuStream stream);
  // Work that the caller's stream is given from now on is done behind all that was submitted so
  // far.
  absl::Status Hold(CuStream stream);
  // True if the work before the last Hold() is done.
  absl::StatusOr<bool> HasReachedHold();
  // InvalidArgument if the address is not in the memory of this GPU.
  absl::Status CheckAddress(const void* address);
  int ordinal() const { return ordinal_; }
  bool is_traced() const override { return timeline_->mode() != GpuTimeline::Mode::kOff; }
  uint64_t SetCause(uint64_t correlation) override { return timeline_->SetCause(correlation); }

  // Recordings are CUDA graphs. Calls that synchronize or allocate fail while one is made.
  bool records() const override { return graphs_; }
  absl::Status BeginRecording() override;
  absl::StatusOr<std::unique_ptr<Recording>> EndRecording(
      std::unique_ptr<Recording> reuse) override;
  void DropRecording() override;
  absl::Status Replay(Recording& recording) override;
  // Large inputs are copied by that many threads; below two, by the driver.
  void set_copy_threads(int threads);
  void set_graphs(bool graphs) { graphs_ = graphs; }
  int64_t graph_launches() const { return graph_launches_; }
  int64_t graph_instantiations() const { return graph_instantiations_; }
  int64_t graph_updates() const { return graph_updates_; }

  absl::Status Fill(char* to, unsigned char value, int64_t bytes);
  // True if the driver is the emulated one.
  bool emulated() const { return libraries_.emulation.present(); }
  // On the emulation: reads of this memory are errors until work submitted later writes it.
  void Forget(const OperandRange& range);
  // Submits a launch. `operands` are in the order of the pointers in the parameters; behind them
  // stands memory that the kernel accesses without such a parameter. `label` names the step in
  // errors.
  absl::Status Launch(CuFunction function, const LaunchShape& shape, absl::Span<void*> parameters,
                      absl::Span<const OperandRange> operands, const std::string& label);
  // Submits the work of a library: calls `submit` with a stream, to which it must submit all of its
  // work. It must neither wait nor allocate memory. `operands`: all memory that the work accesses.
  absl::Status Submit(absl::Span<const OperandRange> operands, const std::string& label,
                      absl::FunctionRef<absl::Status(CuStream)> submit);

 private:
  class Piece;
  CudaDevice(const Libraries& libraries, CuDevice device);
  absl::Status Setup(int ordinal, const std::string& cupti);
  absl::Status MakePool();
  absl::Status MakeEvents();
  absl::Status SubmitCopyIn(char* to, const void* from, int64_t bytes);
  // CUPTI's number (gpu_activity.h) of the kind of host memory.
  uint8_t MemoryKindOf(const void* host) const;
  absl::Status Check(CuResult result, absl::string_view call);
  absl::Status Synchronize(absl::string_view call);
  void Note(const std::string& label);
  // Internal while work is recorded.
  absl::Status CheckNotRecording(absl::string_view call) const;
  // Tells the emulation the operands of the next call.
  void ShowOperands(absl::Span<const OperandRange> operands);

  const Libraries& libraries_;
  const DriverApi& driver_;
  const CuDevice device_;
  int ordinal_ = 0;
  std::shared_ptr<PrimaryContext> context_;
  std::unique_ptr<InputStaging> staging_;
  CuMemoryPool pool_ = nullptr;  // Null: the device has none.
  CuStream stream_ = nullptr;
  // Work of a caller's stream that is waited for, and own work that such a stream waits for; made
  // for the first such stream.
  CuEvent before_ = nullptr;
  CuEvent behind_ = nullptr;
  std::unique_ptr<GpuTimeline> timeline_;
  int multiprocessors_ = 1;
  int compute_major_ = 0;
  int max_shared_bytes_ = 0;
  int f32_products_ = 0;
  std::string arch_;
  int64_t launches_ = 0;
  bool graphs_ = true;
  bool has_float8_ = false;
  std::unique_ptr<GraphBuilder> builder_;  // Of the recording that is being made; null: none.
  int64_t graph_launches_ = 0;
  int64_t graph_instantiations_ = 0;
  int64_t graph_updates_ = 0;
  StepLabels labels_;    // Since the last synchronization.
  StepLabels recorded_;  // Of the recording that is being made.
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_CUDA_DEVICE_H_
