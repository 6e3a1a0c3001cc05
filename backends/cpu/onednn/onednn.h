// Interface to oneDNN; only the files onednn*.cc use oneDNN directly. Written for 2.6; the
// differences of 3.x (operation descriptors, attributes) are inside.
//
// A DnnOp is a primitive for fixed sizes. Operands may have any non-negative strides: layouts that
// the primitive does not support are reordered in each run through scratch memory, constant weights
// once, when the op is made. Threads are OpenMP's: make and run an op under the same
// omp_get_max_threads().
#ifndef WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_H_
#define WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/kernels/dnn_function.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/split_row.h"
#include "graph/tensor/dtype.h"

namespace weft::cpu {

// False in a program that is built without oneDNN: nothing can be made then.
bool HasDnn();

struct DnnTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // Strides in elements.
};

// A function applied to the result before it is stored.
struct DnnPostOp {
  DnnFunction function = DnnFunction::kNone;
  float alpha = 0;
  float beta = 0;
  DnnTensor operand;  // For kAdd and the functions after it; sizes of 1 broadcast.
};

// The operands of a run by number, followed by those of post-ops.
enum DnnSlot : int { kDnnSource, kDnnWeights, kDnnBias, kDnnResult, kDnnFirstPostOp };

// Constant weights in the layouts that primitives use, one copy of each.
class DnnWeights {
 public:
  DnnWeights();
  ~DnnWeights();
  int64_t bytes() const;
  // The key of a part of the weights that begins at index `at` of a dim.
  int64_t PartKey(int64_t key, int64_t at);
  // Smallest and largest value of constant i32 weights, computed once.
  std::pair<int32_t, int32_t> Range(int64_t key, const void* data, int64_t elements);

  struct Store;
  Store* store() const { return store_.get(); }

 private:
  std::unique_ptr<Store> store_;
};

// Constant weights: their memory, and their key in `weights`.
struct DnnConstant {
  const void* data = nullptr;
  int64_t key = 0;  // Equal keys and tensors are equal weights.
  DnnWeights* weights = nullptr;
  // If set, loads the weights when they are not in memory in the tensor's layout; used until the op
  // is made.
  std::function<const void*()> load;

  bool known() const { return data != nullptr || load != nullptr; }
};

// The dtype and parts in which a matmul or convolution reads its operands.
struct DnnReading {
  // kF32 or kI32: as given. kBF16 for f32 operands: rounded, or as parts. kU8 and kI8 for the first
  // operand if it is i32: as parts; those of the weights are kI8.
  DType dtype = DType::kF32;
  // Part i of one operand is multiplied with part i of the other.
  std::vector<SplitPart> x_parts;
  std::vector<SplitPart> weight_parts;
};

class DnnOp {
 public:
  ~DnnOp();
  int64_t scratch_bytes() const;
  // The primitive's implementation by oneDNN's name.
  const std::string& implementation() const;
  // Number of reorders in a run.
  int num_reorders() const;
  // Memory by slot; `scratch` is aligned to 64 bytes. The slot of constant weights is read only if
  // they are used in their own layout.
  absl::Status Run(absl::Span<void* const> slots, void* scratch);

  struct Impl;
  explicit DnnOp(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// y = a b + bias over the last two dims; all have one rank, and sizes of 1 before the last two dims
// broadcast. Without a bias its dims are empty.
struct DnnMatmul {
  DnnReading reading;
  DnnTensor a, b, bias, y;
  std::vector<DnnPostOp> post_ops;
};

// Weights are [groups,] out, in, kernel...; padding may differ between sides.
struct DnnConvolution {
  DnnReading reading;
  DnnTensor x, weights, bias, y;
  bool transposed = false;
  std::vector<int64_t> stride, dilation, before, after;
  std::vector<DnnPostOp> post_ops;
};

struct DnnPooling {
  enum class Kind : uint8_t { kMaximum, kAverage, kAverageWithPadding };
  Kind kind = Kind::kMaximum;
  DnnTensor x, y;
  std::vector<int64_t> kernel, stride, before, after;
};

// Unimplemented if oneDNN has no primitive, or, for operands that are not read as given, no fast
// one.
absl::StatusOr<std::unique_ptr<DnnOp>> MakeMatmul(const DnnMatmul& matmul,
                                                  const DnnConstant& constant);
absl::StatusOr<std::unique_ptr<DnnOp>> MakeConvolution(const DnnConvolution& convolution,
                                                       const DnnConstant& constant);
absl::StatusOr<std::unique_ptr<DnnOp>> MakePooling(const DnnPooling& pooling);

// The fastest unit for a kind of matmul on this machine, within the set of LimitDnn.
enum class DnnUnit : uint8_t { kNone, kVectors, kTiles /* AMX */ };
DnnUnit FindBf16Unit();  // kVectors: AVX512_BF16.
// For u8 by s8, exact in s32 if no bias or zero point is added; on tiles also s8 by s8. kVectors:
// AVX512_VNNI. (Older instructions saturate, or use f32.)
DnnUnit FindInt8Unit();

// Limits oneDNN to an instruction set; must be called before the first op of the process.
void LimitDnn(Isa isa);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_H_
