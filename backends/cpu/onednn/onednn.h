// oneDNN behind one interface: the only files that name it are onednn*.cc. Written
// for 2.6; what 3.x does otherwise (operation descriptors, attributes) is inside.
//
// A DnnOp is a primitive for fixed sizes. Operands may have any non-negative strides:
// what the primitive wants otherwise is reordered on the way through scratch memory,
// weights that are constant once, when the op is made. Threads are OpenMP's: make and
// run an op under the same omp_get_max_threads().
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

struct DnnTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // In elements.
};

// What is done to the result before it is stored.
struct DnnPostOp {
  DnnFunction function = DnnFunction::kNone;
  float alpha = 0;
  float beta = 0;
  DnnTensor operand;  // Of kAdd and below; sizes of 1 broadcast.
};

// The operands of a run, by number; those of post-ops follow.
enum DnnSlot : int { kDnnSource, kDnnWeights, kDnnBias, kDnnResult, kDnnFirstPostOp };

// Weights in the layouts that primitives have asked for, one copy of each.
class DnnWeights {
 public:
  DnnWeights();
  ~DnnWeights();
  int64_t bytes() const;
  // What a part of the weights is called, from index `at` of a dim on.
  int64_t PartKey(int64_t key, int64_t at);
  // The least and the largest of constant weights of i32, found once.
  std::pair<int32_t, int32_t> Range(int64_t key, const void* data, int64_t elements);

  struct Store;
  Store* store() const { return store_.get(); }

 private:
  std::unique_ptr<Store> store_;
};

// Constant weights: their memory, what they are called in `weights`.
struct DnnConstant {
  const void* data = nullptr;
  int64_t key = 0;  // Equal keys and tensors are equal weights.
  DnnWeights* weights = nullptr;
  // Gives them where they are not in memory as the tensor has them, until the op is
  // made.
  std::function<const void*()> load;

  bool known() const { return data != nullptr || load != nullptr; }
};

// What a product reads of its operands, when that is not what they are.
struct DnnReading {
  // kF32 or kI32: as given. kBF16 for operands of f32: rounded, or parts of them. kU8
  // and kI8 for the first operand, of i32: parts; the weights' are kI8.
  DType dtype = DType::kF32;
  // One part of an operand meets the part of the other with its number.
  std::vector<SplitPart> x_parts;
  std::vector<SplitPart> weight_parts;
};

class DnnOp {
 public:
  ~DnnOp();
  int64_t scratch_bytes() const;
  // The primitive's implementation, as oneDNN names it.
  const std::string& implementation() const;
  // Reorders of a run.
  int num_reorders() const;
  // Memory by slot; `scratch` is aligned to 64 bytes. The slot of constant weights is
  // not read, unless they are used as they lie.
  absl::Status Run(absl::Span<void* const> slots, void* scratch);

  struct Impl;
  explicit DnnOp(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// y = a b + bias over the last two dims; all have one rank, sizes of 1 before the
// last two dims broadcast. Without bias its dims are empty.
struct DnnMatmul {
  DnnReading reading;
  DnnTensor a, b, bias, y;
  std::vector<DnnPostOp> post_ops;
};

// Weights are [groups,] out, in, kernel...; paddings may be uneven.
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

// Errors: Unimplemented when oneDNN has no primitive for it, or for operands that are
// not read as given, no fast one.
absl::StatusOr<std::unique_ptr<DnnOp>> MakeMatmul(const DnnMatmul& matmul,
                                                  const DnnConstant& constant);
absl::StatusOr<std::unique_ptr<DnnOp>> MakeConvolution(const DnnConvolution& convolution,
                                                       const DnnConstant& constant);
absl::StatusOr<std::unique_ptr<DnnOp>> MakePooling(const DnnPooling& pooling);

// The products that the machine is fast at, of those that LimitDnn leaves.
enum class DnnUnit : uint8_t { kNone, kVectors, kTiles /* AMX */ };
DnnUnit FindBf16Unit();  // Vectors: AVX512_BF16.
// Of u8 and s8, exact in s32 as long as no bias or zero point is added; on tiles of s8
// and s8 as well. Vectors: AVX512_VNNI. (What narrower sets do saturates, or goes
// through f32.)
DnnUnit FindInt8Unit();

// Keeps oneDNN to an instruction set; only before the first op of the process.
void LimitDnn(Isa isa);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_H_
