// Pooling, and how images are described to oneDNN.
#include <algorithm>
#include <numeric>
#include <utility>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/magnitude.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

// Strides of a dense tensor whose dims are in that order in memory, outermost first.
std::vector<int64_t> StridesInOrder(const std::vector<int64_t>& dims,
                                    const std::vector<int>& order) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = stride;
    stride *= dims[order[k]];
  }
  return strides;
}

// True if the dims with more than one element have these strides.
bool Matches(const DnnTensor& t, const std::vector<int64_t>& strides) {
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (t.dims[i] != 1 && t.strides[i] != strides[i]) return false;
  }
  return true;
}

// Refuses runs on tensors that are not finite: the routine would give a number for NaN, and the
// lowest number for a window of -infinity.
class FiniteCall : public LibraryCall {
 public:
  FiniteCall(std::unique_ptr<LibraryCall> call, const RunView& x, const LibraryContext& context)
      : call_(std::move(call)), scan_(x), isa_(context.isa), threads_(context.threads) {}

  int64_t scratch_bytes() const override { return call_->scratch_bytes(); }
  std::string name() const override { return call_->name(); }
  float result_bound() const override { return bound_; }
  absl::Status Run(const CallMemory& memory) override {
    bound_ = memory.bound(0);
    if (bound_ == kUnbounded) bound_ = scan_.Run(memory.args[0], isa_, threads_);
    if (bound_ == kUnbounded) return absl::UnimplementedError("a maximum of what is not finite");
    return call_->Run(memory);
  }

 private:
  const std::unique_ptr<LibraryCall> call_;
  const MagnitudeScan scan_;
  const Isa isa_;
  const int threads_;
  float bound_ = kUnbounded;
};

}  // namespace

DnnTensor ImagesOf(const RunView& view) {
  DnnTensor t{view.dtype, view.dims, view.strides};
  std::vector<int> order(t.dims.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<int64_t> row_major = StridesInOrder(t.dims, order);
  if (order.size() > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  const std::vector<int64_t> channels_last = StridesInOrder(t.dims, order);
  if (Matches(t, channels_last)) {
    t.strides = channels_last;
  } else if (Matches(t, row_major)) {
    t.strides = row_major;
  } else {
    for (size_t i = t.dims.size(); i-- > 0;) {
      if (t.dims[i] != 1) continue;
      t.strides[i] = i + 1 == t.dims.size() ? 1 : t.strides[i + 1] * t.dims[i + 1];
    }
  }
  return t;
}

bool HasPositiveStrides(const DnnTensor& t) {
  return std::all_of(t.strides.begin(), t.strides.end(), [](int64_t s) { return s > 0; });
}

LibraryCallOr MakePoolingCall(const LibraryStep& step, const LibraryContext& context) {
  const PoolAttrs pool(step.schema, step.attrs);
  const int n = step.result.rank() - 2;
  DnnPooling p;
  if (step.op == RoutineOp::kMaxPool) {
    p.kind = DnnPooling::Kind::kMaximum;
  } else {
    p.kind = pool.count_include_pad() ? DnnPooling::Kind::kAverageWithPadding
                                      : DnnPooling::Kind::kAverage;
  }
  p.kernel = pool.kernel_size();
  p.stride = pool.stride();
  const std::vector<int64_t> padding = pool.padding();
  for (int64_t d : pool.dilation()) {
    if (d != 1) return absl::UnimplementedError("pooling with dilation");
  }
  if (step.result.numel() == 0 || !step.epilogue.empty()) {
    return absl::UnimplementedError("such a pooling");
  }
  for (int i = 0; i < n; ++i) {
    p.before.push_back(padding[i]);
    const int64_t after = padding[static_cast<int>(padding.size()) == n ? i : n + i];
    // Windows that extend past the end count as extra padding.
    const int64_t last = (step.result.dims[2 + i] - 1) * p.stride[i] + p.kernel[i];
    const int64_t needed = last - step.args[0].dims[2 + i] - padding[i];
    if (needed > after && p.kind == DnnPooling::Kind::kAverageWithPadding) {
      return absl::UnimplementedError("a window over the end");
    }
    p.after.push_back(std::max<int64_t>(needed, 0));
    if (p.before[i] >= p.kernel[i] || needed >= p.kernel[i]) {
      return absl::UnimplementedError("a window of padding");
    }
  }
  p.x = ImagesOf(step.args[0]);
  p.y = ImagesOf(step.result);
  if (!HasPositiveStrides(p.x) || !HasPositiveStrides(p.y))
    return absl::UnimplementedError("a stride");
  const bool maximum = p.kind == DnnPooling::Kind::kMaximum;
  if (maximum) {
    auto call = MakeBf16MaximumCall(p, context);
    if (call.ok()) return call;
  }
  if (maximum && p.x.dtype != DType::kF32) {
    return absl::UnimplementedError("a maximum of numbers of 16 bits");
  }
  WEFT_ASSIGN_OR_RETURN(auto op, MakePooling(p));
  auto call = std::make_unique<DnnCall>(std::move(op), std::vector<int>{0, -1, -1, -1});
  if (!maximum) return call;
  return std::make_unique<FiniteCall>(std::move(call), step.args[0], context);
}

}  // namespace weft::cpu
