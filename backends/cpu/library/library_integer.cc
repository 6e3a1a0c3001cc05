// i32 matmuls and convolutions whose operands fit in 8 bits and a sign, such as quantized tensors
// minus their zero points: computed as u8 by s8, exact in 32 bits. Machines without such
// instructions add up products in f32, in chunks small enough to be exact (constant weights only).
// Operands that are not constant are scanned in each run; the call refuses those with wider values,
// which in a convolution plain_convolution.h adds up.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "backends/cpu/kernels/integer_range.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/plain_convolution.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

// Largest magnitude of a u8 minus a zero point.
constexpr int32_t kWidest = 255;

struct Range {
  int32_t low = 0;
  int32_t high = 0;
  bool within(int32_t least, int32_t most) const { return low >= least && high <= most; }
};

// True if the elements are contiguous, in any order of the dims.
bool IsCompact(const RunView& view) {
  int64_t reach = 1;
  for (int i = 0; i < view.rank(); ++i) {
    if (view.dims[i] != 1 && view.strides[i] <= 0) return false;
    reach += (view.dims[i] - 1) * view.strides[i];
  }
  return reach == view.numel();
}

Range RangeOf(const void* data, int64_t elements) {
  Range range;
  const auto* values = static_cast<const int32_t*>(data);
  absl::Mutex mutex;
  RunTeam(elements > 1 << 16 ? ScopeThreads() : 1, [&](const TeamMember& member) {
    const int64_t begin = member.Begin(elements);
    int32_t least = 0, most = 0;
    RangeOfI32(values + begin, member.End(elements) - begin, &least, &most);
    absl::MutexLock lock(&mutex);
    range.low = std::min<int64_t>(range.low, least);
    range.high = std::max<int64_t>(range.high, most);
  });
  return range;
}

// Kinds of first operands that a call is made for.
enum Kind { kUnsigned, kSigned, kParts, kNumKinds };

DnnReading ReadingOf(Kind kind, const Range& weights) {
  using P = SplitPart;
  // Negated weights must fit as well.
  const bool one = weights.within(kind == kParts ? -127 : -128, 127);
  DnnReading r;
  r.dtype = kind == kSigned ? DType::kI8 : DType::kU8;
  if (kind == kParts) {
    r.x_parts = one ? std::vector<P>{P::kPositive, P::kNegative}
                    : std::vector<P>{P::kPositive, P::kPositive, P::kNegative, P::kNegative};
    r.weight_parts = one ? std::vector<P>{P::kValue, P::kMinusValue}
                         : std::vector<P>{P::kFirst, P::kSecond, P::kMinusFirst, P::kMinusSecond};
    return r;
  }
  r.x_parts.assign(one ? 1 : 2, P::kValue);
  r.weight_parts = one ? std::vector<P>{P::kValue} : std::vector<P>{P::kFirst, P::kSecond};
  return r;
}

// A call, and one without limits for runs that it refuses.
class UnlimitedCall : public LibraryCall {
 public:
  UnlimitedCall(std::unique_ptr<LibraryCall> call, std::unique_ptr<LibraryCall> plain)
      : call_(std::move(call)), plain_(std::move(plain)) {}

  int64_t scratch_bytes() const override {
    return std::max(call_->scratch_bytes(), plain_->scratch_bytes());
  }
  std::string name() const override { return call_->name(); }
  bool narrows_integers() const override { return call_->narrows_integers(); }

  absl::Status Run(const CallMemory& memory) override {
    const absl::Status status = call_->Run(memory);
    return absl::IsUnimplemented(status) ? plain_->Run(memory) : status;
  }

 private:
  const std::unique_ptr<LibraryCall> call_, plain_;
};

class IntegerCall : public LibraryCall {
 public:
  IntegerCall(std::vector<int> slots, int64_t elements, int64_t weight_elements, Range weights)
      : slots_(std::move(slots)),
        memory_(slots_.size()),
        elements_(elements),
        weight_elements_(weight_elements),
        weights_(weights) {}

  void Add(Kind kind, std::unique_ptr<DnnOp> op) { ops_[kind] = std::move(op); }

  int64_t scratch_bytes() const override {
    int64_t bytes = 0;
    for (const auto& op : ops_) {
      if (op != nullptr) bytes = std::max(bytes, op->scratch_bytes());
    }
    return bytes;
  }
  std::string name() const override { return ops_[kUnsigned]->implementation(); }
  bool narrows_integers() const override { return true; }

  absl::Status Run(const CallMemory& memory) override {
    const absl::Span<void* const> args = memory.args;
    const Range x = RangeOf(args[0], elements_);
    const bool fits = weight_elements_ == 0 || Covers(RangeOf(args[1], weight_elements_));
    if (!fits || !x.within(-kWidest, kWidest)) return absl::UnimplementedError("wide integers");
    const Kind kind = x.low >= 0                                        ? kUnsigned
                      : ops_[kSigned] != nullptr && x.within(-128, 127) ? kSigned
                                                                        : kParts;
    for (size_t i = 0; i < slots_.size(); ++i) {
      memory_[i] = i == kDnnResult ? memory.result : slots_[i] < 0 ? nullptr : args[slots_[i]];
    }
    return ops_[kind]->Run(memory_, memory.scratch);
  }

 private:
  bool Covers(const Range& range) const { return range.within(weights_.low, weights_.high); }

  const std::vector<int> slots_;
  std::vector<void*> memory_;
  const int64_t elements_;
  const int64_t weight_elements_;  // 0: the weights are constant.
  const Range weights_;
  std::unique_ptr<DnnOp> ops_[kNumKinds];
};

// f32 matmuls whose results stay below 2^24, run one after another.
class FloatCall : public LibraryCall {
 public:
  FloatCall(int64_t elements, int64_t results) : elements_(elements), results_(results) {}

  // Adds an op that reads the first operand from element `offset` on.
  void Add(std::unique_ptr<DnnOp> op, int64_t offset) {
    scratch_ = std::max(scratch_, op->scratch_bytes());
    ops_.push_back({std::move(op), offset});
  }

  int64_t scratch_bytes() const override {
    return AlignUp(4 * elements_, kCacheLine) + AlignUp(4 * results_, kCacheLine) + scratch_;
  }
  std::string name() const override { return ops_[0].op->implementation() + " of integers"; }

  absl::Status Run(const CallMemory& memory) override {
    if (!RangeOf(memory.args[0], elements_).within(-kWidest, kWidest)) {
      return absl::UnimplementedError("wide integers");
    }
    auto* x = static_cast<float*>(memory.scratch);
    auto* y = reinterpret_cast<float*>(static_cast<char*>(memory.scratch) +
                                       AlignUp(4 * elements_, kCacheLine));
    char* rest = reinterpret_cast<char*>(y) + AlignUp(4 * results_, kCacheLine);
    const auto* given = static_cast<const int32_t*>(memory.args[0]);
    auto* sums = static_cast<int32_t*>(memory.result);
    const auto threads = [](int64_t n) { return n > 1 << 16 ? ScopeThreads() : 1; };
    RunTeam(threads(elements_), [&](const TeamMember& member) {
      const int64_t end = member.End(elements_);
      for (int64_t i = member.Begin(elements_); i < end; ++i) x[i] = static_cast<float>(given[i]);
    });
    for (size_t k = 0; k < ops_.size(); ++k) {
      void* const slots[] = {x + ops_[k].offset, nullptr, nullptr, y};
      WEFT_RETURN_IF_ERROR(ops_[k].op->Run(slots, rest));
      const uint32_t keep = k == 0 ? 0u : ~0u;
      ForEach(threads(results_), results_, [&](int64_t i, const TeamMember&) {
        const uint32_t before = static_cast<uint32_t>(sums[i]) & keep;
        sums[i] = static_cast<int32_t>(before + static_cast<uint32_t>(static_cast<int32_t>(y[i])));
      });
    }
    return absl::OkStatus();
  }

 private:
  struct Chunk {
    std::unique_ptr<DnnOp> op;
    int64_t offset = 0;
  };
  const int64_t elements_;
  const int64_t results_;
  std::vector<Chunk> ops_;
  int64_t scratch_ = 0;
};

// The tensors of a description that change when its depth is split.
struct Sum {
  DnnTensor* x;
  DnnTensor* weights;
  DnnTensor* y;
  int x_dim = 0;
  int weight_dim = 0;
  int64_t window = 1;  // Products per index of the dim.
};
Sum SumOf(DnnMatmul& m) {
  const int rank = static_cast<int>(m.a.dims.size());
  return {&m.a, &m.b, &m.y, rank - 1, rank - 2, 1};
}
Sum SumOf(DnnConvolution& c) {
  const int groups = static_cast<int>(c.weights.dims.size() - c.x.dims.size());
  Sum sum = {&c.x, &c.weights, &c.y, 1, groups + 1, 1};
  for (size_t d = groups + 2; d < c.weights.dims.size(); ++d) sum.window *= c.weights.dims[d];
  return sum;
}

// The constant as f32, from element `offset` on.
std::function<const void*()> AsFloats(const DnnConstant& constant, int64_t elements,
                                      int64_t offset) {
  auto floats = std::make_shared<std::vector<float>>();
  return [=]() -> const void* {
    const void* data = constant.load ? constant.load() : constant.data;
    const auto* integers = static_cast<const int32_t*>(data);
    floats->assign(integers, integers + elements);
    return floats->data() + offset;
  };
}

template <typename Op, typename Fn>
LibraryCallOr MakeFloatCall(const LibraryStep& step, const LibraryContext& context,
                            const DnnConstant& constant, const Range& weights, Op& op, Fn make) {
  if (!constant.known() || !IsCompact(step.result)) {
    return absl::UnimplementedError("no exact products of 8 bits");
  }
  const Sum sum = SumOf(op);
  sum.x->dtype = sum.weights->dtype = sum.y->dtype = DType::kF32;
  constexpr int64_t kExact = int64_t{1} << 24;
  const int64_t widest = std::max<int64_t>({1, -int64_t{weights.low}, weights.high});
  const int64_t most = kExact / (kWidest * widest * sum.window);
  const int64_t length = sum.weights->dims[sum.weight_dim];
  const bool grouped = sum.x->dims[sum.x_dim] != length;
  if (most == 0 || (grouped && most < length)) return absl::UnimplementedError("long sums");
  auto call = std::make_unique<FloatCall>(step.args[0].numel(), step.result.numel());
  for (int64_t at = 0; at < length; at += most) {
    const int64_t n = std::min(most, length - at);
    if (!grouped) sum.x->dims[sum.x_dim] = n;
    sum.weights->dims[sum.weight_dim] = n;
    const DnnConstant part = {
        nullptr, context.weights->PartKey(constant.key, at), context.weights,
        AsFloats(constant, step.args[1].numel(), at * sum.weights->strides[sum.weight_dim])};
    WEFT_ASSIGN_OR_RETURN(auto made, make(op, part));
    call->Add(std::move(made), at * sum.x->strides[sum.x_dim]);
  }
  return call;
}

template <typename Op, typename Fn>
LibraryCallOr MakeCalls(const LibraryStep& step, const LibraryContext& context,
                        std::vector<int> slots, Op& op, Fn make) {
  const RunView& w = step.args[1];
  if (!IsCompact(step.args[0]) || !IsCompact(w)) return absl::UnimplementedError("gaps");
  const DnnConstant constant = ConstantOf(step, 1, context);
  // Weights that are not constant are scanned in each run.
  Range weights = {-127, 127};
  if (constant.known()) {
    const void* data = constant.load ? constant.load() : constant.data;
    const auto range = context.weights->Range(constant.key, data, w.numel());
    weights = {range.first, range.second};
  }
  if (!weights.within(-254, 254)) return absl::UnimplementedError("wide weights");
  const DnnUnit unit = FindInt8Unit();
  if (unit == DnnUnit::kNone) return MakeFloatCall(step, context, constant, weights, op, make);
  auto call = std::make_unique<IntegerCall>(slots, step.args[0].numel(),
                                            constant.known() ? 0 : w.numel(), weights);
  for (const Kind kind : {kUnsigned, kSigned, kParts}) {
    if (kind == kSigned && unit != DnnUnit::kTiles) continue;
    op.reading = ReadingOf(kind, weights);
    auto made = make(op, constant);
    if (made.ok()) {
      call->Add(kind, *std::move(made));
    } else if (kind != kSigned) {
      // Mostly the case for narrow groups.
      op.reading = DnnReading();
      return MakeFloatCall(step, context, constant, weights, op, make);
    }
  }
  return call;
}

LibraryCallOr MakeByteConvolution(const LibraryStep& step, const LibraryContext& context) {
  std::vector<int> slots;
  WEFT_ASSIGN_OR_RETURN(DnnConvolution c, DescribeConvolution(step, &slots));
  // oneDNN 2.6 leaves other numbers than 0 in results that no pixel reaches.
  if (c.transposed) return absl::UnimplementedError("a transposed convolution of integers");
  if (!c.bias.dims.empty() || !c.post_ops.empty()) {
    return absl::UnimplementedError("what follows a product goes through f32");
  }
  return MakeCalls(step, context, std::move(slots), c, MakeConvolution);
}

LibraryCallOr MakeIntegerConvolution(const LibraryStep& step, const LibraryContext& context) {
  LibraryCallOr call = MakeByteConvolution(step, context);
  LibraryCallOr plain = MakePlainConvolutionCall(step, context);
  if (!plain.ok()) return call;
  if (!call.ok()) return absl::IsUnimplemented(call.status()) ? std::move(plain) : std::move(call);
  return std::make_unique<UnlimitedCall>(*std::move(call), *std::move(plain));
}

}  // namespace

LibraryCallOr MakeIntegerCall(const LibraryStep& step, const LibraryContext& context) {
  for (const RunView& arg : step.args) {
    if (arg.present() && arg.dtype != DType::kI32) return absl::UnimplementedError("mixed dtypes");
  }
  if (step.op == RoutineOp::kConvolution) return MakeIntegerConvolution(step, context);
  if (step.op != RoutineOp::kMatmul && step.op != RoutineOp::kLinear) {
    return absl::UnimplementedError("no product");
  }
  std::vector<int> slots;
  int64_t rows = 0;
  WEFT_ASSIGN_OR_RETURN(DnnMatmul m, DescribeProduct(step, &slots, &rows));
  if (!m.bias.dims.empty() || !m.post_ops.empty()) {
    return absl::UnimplementedError("what follows a product goes through f32");
  }
  return MakeCalls(step, context, std::move(slots), m, MakeMatmul);
}

}  // namespace weft::cpu
