// Matmuls of cuBLASLt.
//
// The library is optional. It is opened when a matmul is prepared for the first time.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_CUBLASLT_H_
#define WEFT_BACKENDS_CUDA_DEVICE_CUBLASLT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/driver/cublaslt_library.h"

namespace weft::cuda {

// Column-major matrices of a batch, whose first elements lie `batch_offset` elements apart.
struct LtMatrix {
  int64_t rows = 1, columns = 1;
  int64_t ld = 1;  // Elements from a column to the next one.
  int64_t batch_offset = 0;
  int64_t alignment = 1;  // Bytes: the address of the first matrix is a multiple.
};

// d = function(op(a) * op(b) + beta * c + bias). All matrices and the bias have one type.
struct LtProblem {
  CublasCompute compute = kCublas32F;
  CublasDataType type = kCublasF32;
  bool transpose_a = false, transpose_b = false;
  uint32_t epilogue = 0;  // Flags of CublasLtEpilogue.
  double beta = 0;
  int64_t bias_alignment = 1;
  int64_t batches = 1;
  LtMatrix a, b, c, d;
};

// Addresses of a call; those that the problem does not use are null.
struct LtMemory {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;
  void* workspace = nullptr;  // workspace_bytes() bytes, at a multiple of kLtWorkspaceAlignment.
};

inline constexpr int64_t kLtWorkspaceAlignment = 256;

// A prepared problem: its descriptors and its algorithm.
class LtCall {
 public:
  ~LtCall();
  LtCall(const LtCall&) = delete;
  LtCall& operator=(const LtCall&) = delete;

  int64_t workspace_bytes() const { return static_cast<int64_t>(algorithm_.workspace_bytes); }
  // Submits the matmul to the stream.
  absl::Status Submit(const LtMemory& memory, CuStream stream);

 private:
  friend class CublasLt;
  LtCall(const CublasLtApi& api, CublasLtHandle handle, const LtProblem& problem, int64_t& calls)
      : api_(api), handle_(handle), problem_(problem), calls_(calls) {}
  absl::Status Setup();
  absl::Status MakeLayout(const LtMatrix& matrix, CublasLtLayout* layout);
  // Nothing: the library has no algorithm.
  absl::StatusOr<std::optional<CublasLtHeuristic>> Search(uint64_t max_workspace);

  const CublasLtApi& api_;
  const CublasLtHandle handle_;
  const LtProblem problem_;
  int64_t& calls_;
  CublasLtMatmulDesc desc_ = nullptr;
  CublasLtLayout a_ = nullptr, b_ = nullptr, c_ = nullptr, d_ = nullptr;
  CublasLtHeuristic algorithm_ = {};
};

// The library for a device: a handle, and the algorithms of the problems so far. The algorithm of a
// problem is the first one that the library proposes; nothing is timed. Not thread-safe; the device
// must be current.
class CublasLt {
 public:
  // `place`: "none" for no library, else of OpenCublasLt. The device outlives this object, and this
  // object its calls.
  CublasLt(CudaDevice& device, std::string place) : device_(device), place_(std::move(place)) {}
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // True if there is a library. A library that was not named and is missing, or does not work with
  // the driver, is reported in the log of performance hints; one that was named is an error.
  absl::StatusOr<bool> Open();
  // Unimplemented if the library has no algorithm. Requires Open().
  absl::StatusOr<std::unique_ptr<LtCall>> Prepare(const LtProblem& problem);

  // Matmuls of f32 may read operands as TF32.
  void set_tf32(bool tf32) { tf32_ = tf32; }
  bool tf32() const { return tf32_; }

  // Matmuls that were submitted.
  int64_t calls() const { return calls_; }

 private:
  CudaDevice& device_;
  const std::string place_;
  bool tf32_ = false;
  bool absent_ = false;
  const CublasLtLibrary* library_ = nullptr;
  CublasLtHandle handle_ = nullptr;
  int64_t calls_ = 0;
  // By the numbers of the problem; nothing: the library has none.
  std::map<std::vector<int64_t>, std::optional<CublasLtHeuristic>> algorithms_;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_CUBLASLT_H_
