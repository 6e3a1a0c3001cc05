// convert to and from 8-bit floats: in blocks that stay in L1, as f32.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/threads/parallel.h"
#include "graph/tensor/tensor.h"

namespace weft::cpu {
namespace {

constexpr int64_t kBlock = 1024;
// Elements that are worth a second thread.
constexpr int64_t kShare = 1 << 15;

struct Conversion {
  MoveFn load = nullptr;
  MoveFn store = nullptr;
  int64_t from_bytes = 0;
  int64_t to_bytes = 0;
  // The largest number of the result's dtype, if what is larger becomes that; else infinity.
  float most = std::numeric_limits<float>::infinity();
};

class Float8Call : public LibraryCall {
 public:
  Float8Call(const Conversion& conversion, int64_t numel, int threads)
      : c_(conversion),
        numel_(numel),
        threads_(static_cast<int>(std::min<int64_t>(threads, numel / kShare + 1))) {}

  int64_t scratch_bytes() const override { return 0; }
  std::string name() const override { return "convert_float8"; }

  absl::Status Run(const CallMemory& memory) override {
    const auto* from = static_cast<const char*>(memory.args[0]);
    auto* to = static_cast<char*>(memory.result);
    ForEach(threads_, (numel_ + kBlock - 1) / kBlock, [&](int64_t block, const TeamMember&) {
      const int64_t begin = block * kBlock;
      RunBlock(from + begin * c_.from_bytes, std::min(kBlock, numel_ - begin),
               to + begin * c_.to_bytes);
    });
    return absl::OkStatus();
  }

 private:
  void RunBlock(const char* from, int64_t count, char* to) const {
    float tile[kBlock];
    c_.load(tile, from, 1, count);
    if (!std::isinf(c_.most)) {
      const float most = c_.most;
      // NaN stays.
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        const float low = tile[i] > most ? most : tile[i];
        tile[i] = low < -most ? -most : low;
      }
    }
    c_.store(to, tile, 1, count);
  }

  const Conversion c_;
  const int64_t numel_;
  const int threads_;
};

}  // namespace

LibraryCallOr MakeFloat8Call(const LibraryStep& step, const LibraryContext& context) {
  const ConvertAttrs attrs(step.schema, step.attrs);
  const RunView& x = step.args[0];
  const RunView& y = step.result;
  const auto converts = [](DType dtype) {
    const bool narrow = IsFloat(dtype) && DTypeBits(dtype) == 8 && !IsStorageFloat(dtype);
    return narrow || dtype == DType::kF32 || IsNarrow(dtype);
  };
  if (!step.epilogue.empty() || x.dims != y.dims || !x.dense() || !y.dense() ||
      !converts(x.dtype) || !converts(y.dtype) || y.dtype != attrs.dtype()) {
    return absl::UnimplementedError("such a conversion");
  }
  Conversion conversion;
  conversion.load = context.table->load(x.dtype);
  conversion.store = context.table->store(y.dtype);
  conversion.from_bytes = DTypeBits(x.dtype) / 8;
  conversion.to_bytes = DTypeBits(y.dtype) / 8;
  if (DTypeBits(y.dtype) == 8 && attrs.saturate()) {
    const uint64_t code = EncodeFloat(y.dtype, HUGE_VAL, /*saturate=*/true);
    conversion.most = static_cast<float>(DecodeFloat(y.dtype, code));
  }
  return std::make_unique<Float8Call>(conversion, x.numel(), context.threads);
}

}  // namespace weft::cpu
