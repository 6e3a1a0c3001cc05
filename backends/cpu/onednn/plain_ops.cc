// The interface of oneDNN in a program that is built without it: plain loops, for the products,
// convolutions and poolings that no kernel of ours computes.
//
// An op computes rows, runs of elements of the result along its last dim, as f32: sums or extrema
// first, then the bias and the functions that follow, then the elements are rounded once. Floats of
// 16 bits are widened before. Integers, and operands that are to be read in another way than given,
// are refused.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/cpu/onednn/weight_facts.h"
#include "backends/cpu/threads/parallel.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft::cpu {
namespace {

constexpr int64_t kMostColumns = 256;  // Elements of a row.
constexpr int64_t kAlignment = 64;

using Index = std::array<int64_t, Type::kMaxRank>;

bool IsFloatOperand(const DnnTensor& t) {
  return t.dtype == DType::kF32 || t.dtype == DType::kF16 || t.dtype == DType::kBF16;
}

int64_t NumElements(const DnnTensor& t) {
  int64_t count = 1;
  for (const int64_t dim : t.dims) count *= dim;
  return count;
}

// Sizes of 1 broadcast.
std::vector<int64_t> BroadcastStrides(const DnnTensor& t, std::vector<int64_t> strides) {
  for (size_t i = 0; i < strides.size(); ++i) {
    if (t.dims[i] == 1) strides[i] = 0;
  }
  return strides;
}

int64_t OffsetOf(const std::vector<int64_t>& strides, const Index& index) {
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

// The index of row `row` of a tensor: all dims but the last.
Index IndexOfRow(const std::vector<int64_t>& dims, int64_t row) {
  Index index = {};
  for (size_t i = dims.size() - 1; i-- > 0;) {
    index[i] = row % dims[i];
    row /= dims[i];
  }
  return index;
}

float ReadFloat(DType dtype, const void* from, int64_t at) {
  if (dtype == DType::kF32) return static_cast<const float*>(from)[at];
  return static_cast<float>(DecodeFloat(dtype, static_cast<const uint16_t*>(from)[at]));
}

void WriteFloat(DType dtype, float value, void* to, int64_t at) {
  if (dtype == DType::kF32) {
    static_cast<float*>(to)[at] = value;
  } else {
    static_cast<uint16_t*>(to)[at] = static_cast<uint16_t>(EncodeFloat(dtype, value));
  }
}

// The elements as dense floats.
void Widen(const DnnTensor& t, const void* from, float* to) {
  const int64_t columns = t.dims.back();
  const int64_t rows = columns == 0 ? 0 : NumElements(t) / columns;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = OffsetOf(t.strides, IndexOfRow(t.dims, row));
    for (int64_t i = 0; i < columns; ++i)
      *to++ = ReadFloat(t.dtype, from, at + i * t.strides.back());
  }
}

// An operand as floats: in place, widened by each run, or, if it is constant, once.
struct Operand {
  int slot = 0;
  DnnTensor tensor;
  std::vector<int64_t> strides;  // Those of the floats; 0 for dims that broadcast.
  int64_t scratch_at = -1;       // Place of what a run widens; -1: nothing.
  std::vector<float> kept;

  const float* Bind(absl::Span<void* const> slots, char* scratch) const {
    if (!kept.empty()) return kept.data();
    if (scratch_at < 0) return static_cast<const float*>(slots[slot]);
    auto* widened = reinterpret_cast<float*>(scratch + scratch_at);
    Widen(tensor, slots[slot], widened);
    return widened;
  }
};

// An operand in a run.
struct Floats {
  const float* data = nullptr;
  const std::vector<int64_t>* strides = nullptr;

  const float* At(const Index& index) const { return data + OffsetOf(*strides, index); }
  int64_t stride(size_t dim) const { return (*strides)[dim]; }
};

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

float Apply(const DnnPostOp& op, float x, float operand) {
  constexpr float kHalfRoot = 0.70710678f;
  constexpr float kTanhScale = 0.79788456f;  // sqrt(2 / pi)
  switch (op.function) {
    case DnnFunction::kNone:
      return x;
    case DnnFunction::kRelu:
      return x < 0 ? op.alpha * x : x;
    case DnnFunction::kElu:
      return x < 0 ? op.alpha * std::expm1(x) : x;
    case DnnFunction::kTanh:
      return std::tanh(x);
    case DnnFunction::kSigmoid:
      return Sigmoid(x);
    case DnnFunction::kGeluErf:
      return 0.5f * x * (1 + std::erf(kHalfRoot * x));
    case DnnFunction::kGeluTanh:
      return 0.5f * x * (1 + std::tanh(kTanhScale * (x + 0.044715f * x * x * x)));
    case DnnFunction::kSwish:
      return x * Sigmoid(op.alpha * x);
    case DnnFunction::kHardSwish:
      return x * std::min(std::max(x + 3, 0.0f), 6.0f) / 6;
    case DnnFunction::kExp:
      return std::exp(x);
    case DnnFunction::kAbs:
      return std::abs(x);
    case DnnFunction::kSqrt:
      return std::sqrt(x);
    case DnnFunction::kClip:
      return std::min(std::max(x, op.alpha), op.beta);
    case DnnFunction::kLinear:
      return op.alpha * x + op.beta;
    case DnnFunction::kAccumulate:
    case DnnFunction::kAdd:
      return x + operand;
    case DnnFunction::kSub:
      return x - operand;
    case DnnFunction::kMul:
      return x * operand;
    case DnnFunction::kDiv:
      return x / operand;
    // NaN stays.
    case DnnFunction::kMaximum:
      return operand != operand || x < operand ? operand : x;
    case DnnFunction::kMinimum:
      return operand != operand || x > operand ? operand : x;
  }
  return x;
}

}  // namespace

bool HasDnn() { return false; }

struct DnnWeights::Store {
  WeightFacts facts;
};

DnnWeights::DnnWeights() : store_(std::make_unique<Store>()) {}
DnnWeights::~DnnWeights() = default;
int64_t DnnWeights::bytes() const { return 0; }

int64_t DnnWeights::PartKey(int64_t key, int64_t at) { return store_->facts.PartKey(key, at); }

std::pair<int32_t, int32_t> DnnWeights::Range(int64_t key, const void* data, int64_t elements) {
  return store_->facts.Range(key, data, elements);
}

// The rows of one op, and what follows them.
struct DnnOp::Impl {
  explicit Impl(DnnTensor result) : y(std::move(result)) {}
  virtual ~Impl() = default;

  // The operands of the op, in the order in which they were added: for `count` elements of the row
  // that begins at `index`, the values before the bias.
  virtual void Row(absl::Span<const Floats> operands, const Index& index, int64_t count,
                   float* values) const = 0;

  absl::Status Add(int slot, const DnnTensor& tensor, const DnnConstant& constant = {}) {
    if (!IsFloatOperand(tensor)) {
      return absl::UnimplementedError(
          absl::StrCat("no routine without oneDNN for operands of ", DTypeName(tensor.dtype)));
    }
    Operand operand;
    operand.slot = slot;
    operand.tensor = tensor;
    const bool in_place = tensor.dtype == DType::kF32 && constant.load == nullptr;
    operand.strides =
        BroadcastStrides(tensor, in_place ? tensor.strides : ContiguousStrides(tensor.dims));
    if (!in_place && constant.known()) {
      operand.kept.resize(NumElements(tensor));
      Widen(tensor, constant.load ? constant.load() : constant.data, operand.kept.data());
    } else if (!in_place) {
      operand.scratch_at = scratch_bytes;
      const int64_t bytes = NumElements(tensor) * static_cast<int64_t>(sizeof(float));
      scratch_bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    operands.push_back(std::move(operand));
    return absl::OkStatus();
  }

  // `given_bias` broadcasts to the result; without dims there is none.
  absl::Status Follow(const DnnTensor& given_bias, const std::vector<DnnPostOp>& functions) {
    num_own = operands.size();
    if (!given_bias.dims.empty()) {
      DnnPostOp add;
      add.function = DnnFunction::kAdd;
      posts.push_back({add, operands.size()});
      if (const absl::Status status = Add(kDnnBias, given_bias); !status.ok()) return status;
    }
    int slot = kDnnFirstPostOp;
    for (const DnnPostOp& op : functions) {
      posts.push_back({op, operands.size()});
      if (op.function < DnnFunction::kAdd) continue;
      if (const absl::Status status = Add(slot++, op.operand); !status.ok()) return status;
    }
    return IsFloatOperand(y) ? absl::OkStatus()
                             : absl::UnimplementedError(absl::StrCat(
                                   "no routine without oneDNN for ", DTypeName(y.dtype)));
  }

  void Finish(absl::Span<const Floats> bound, const Index& index, int64_t count, float* values,
              void* result) const {
    const int64_t at = OffsetOf(y.strides, index);
    const int64_t step = y.strides.back();
    for (const Post& post : posts) {
      const bool accumulates = post.op.function == DnnFunction::kAccumulate;
      if (accumulates) {
        for (int64_t i = 0; i < count; ++i) values[i] += ReadFloat(y.dtype, result, at + i * step);
      } else if (post.op.function < DnnFunction::kAdd) {
        for (int64_t i = 0; i < count; ++i) values[i] = Apply(post.op, values[i], 0);
      } else {
        const Floats& operand = bound[post.operand];
        const float* from = operand.At(index);
        const int64_t stride = operand.stride(y.dims.size() - 1);
        for (int64_t i = 0; i < count; ++i) {
          values[i] = Apply(post.op, values[i], from[i * stride]);
        }
      }
    }
    for (int64_t i = 0; i < count; ++i) WriteFloat(y.dtype, values[i], result, at + i * step);
  }

  void Run(absl::Span<void* const> slots, char* scratch) const {
    std::vector<Floats> bound;
    for (const Operand& operand : operands) {
      bound.push_back({operand.Bind(slots, scratch), &operand.strides});
    }
    const auto own = absl::MakeConstSpan(bound).first(num_own);
    const int64_t columns = y.dims.back();
    const int64_t pieces = (columns + kMostColumns - 1) / kMostColumns;
    const int64_t rows = columns == 0 ? 0 : NumElements(y) / columns * pieces;
    const int threads = NumElements(y) > 1 << 10 ? ScopeThreads() : 1;
    ForEach(threads, rows, [&](int64_t r, const TeamMember&) {
      Index index = IndexOfRow(y.dims, r / pieces);
      index[y.dims.size() - 1] = r % pieces * kMostColumns;
      const int64_t count = std::min(kMostColumns, columns - r % pieces * kMostColumns);
      float values[kMostColumns];
      Row(own, index, count, values);
      Finish(bound, index, count, values, slots[kDnnResult]);
    });
  }

  struct Post {
    DnnPostOp op;
    size_t operand;  // Number among `operands`, for functions that have one.
  };

  const DnnTensor y;
  std::vector<Operand> operands;
  size_t num_own = 0;  // Those of the op; the others are of what follows it.
  std::vector<Post> posts;
  int64_t scratch_bytes = 0;
  std::string implementation = "plain";
};

namespace {

struct PlainMatmul : DnnOp::Impl {
  explicit PlainMatmul(const DnnMatmul& m) : Impl(m.y), depth(m.a.dims.back()) {}

  void Row(absl::Span<const Floats> operands, const Index& index, int64_t count,
           float* values) const override {
    const size_t rank = y.dims.size();
    const Floats& a = operands[0];
    const Floats& b = operands[1];
    Index of_a = index;
    Index of_b = index;
    of_a[rank - 1] = 0;
    of_b[rank - 2] = 0;
    const float* row = a.At(of_a);
    const float* columns = b.At(of_b);
    const int64_t step = b.stride(rank - 1);
    std::fill(values, values + count, 0.0f);
    for (int64_t k = 0; k < depth; ++k) {
      const float factor = row[k * a.stride(rank - 1)];
      const float* from = columns + k * b.stride(rank - 2);
      if (step == 1) {
        for (int64_t i = 0; i < count; ++i) values[i] += factor * from[i];
      } else {
        for (int64_t i = 0; i < count; ++i) values[i] += factor * from[i * step];
      }
    }
  }

  const int64_t depth;
};

// A window of an image along one spatial dim.
struct WindowDim {
  int64_t image = 0;  // Size of the image.
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
  bool transposed = false;

  // The element of the image that point k of the kernel has for an element of the result; -1: none.
  int64_t At(int64_t result, int64_t k) const {
    int64_t at = 0;
    if (transposed) {
      const int64_t wide = result + before - k * dilation;
      if (wide < 0 || wide % stride != 0) return -1;
      at = wide / stride;
    } else {
      at = result * stride - before + k * dilation;
    }
    return at >= 0 && at < image ? at : -1;
  }
};

// Calls fn(k, offset) for each point of the kernel's outer dims that has an element of the image:
// k is its number among all points, offset that of the element.
template <typename Fn>
void ForOuterPoints(const std::vector<WindowDim>& window, const Floats& x, const Index& index,
                    Fn fn) {
  const size_t outer = window.size() - 1;
  int64_t points = 1;
  for (size_t d = 0; d < outer; ++d) points *= window[d].kernel;
  for (int64_t p = 0; p < points; ++p) {
    int64_t rest = p;
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = outer; inside && d-- > 0;) {
      const int64_t at = window[d].At(index[2 + d], rest % window[d].kernel);
      rest /= window[d].kernel;
      inside = at >= 0;
      offset += at * x.stride(2 + d);
    }
    if (inside) fn(p * window[outer].kernel, offset);
  }
}

struct PlainConvolution : DnnOp::Impl {
  explicit PlainConvolution(const DnnConvolution& c)
      : Impl(c.y), has_groups(c.weights.dims.size() > c.x.dims.size()) {
    const size_t first = has_groups ? 1 : 0;
    outputs = c.weights.dims[first];
    inputs = c.weights.dims[first + 1];
    for (size_t d = 0; d + 2 < c.x.dims.size(); ++d) {
      window.push_back({c.x.dims[2 + d], c.weights.dims[first + 2 + d], c.stride[d], c.dilation[d],
                        c.before[d], c.transposed});
    }
  }

  void Row(absl::Span<const Floats> operands, const Index& index, int64_t count,
           float* values) const override {
    const Floats& x = operands[0];
    const Floats& w = operands[1];
    const size_t first = has_groups ? 1 : 0;
    const int64_t group = index[1] / outputs;
    Index image = {};
    image[0] = index[0];
    image[1] = group * inputs;
    Index of_weights = {};
    if (has_groups) of_weights[0] = group;
    of_weights[first] = index[1] % outputs;
    std::fill(values, values + count, 0.0f);
    for (int64_t c = 0; c < inputs; ++c, ++image[1], ++of_weights[first + 1]) {
      const float* from = x.At(image);
      const float* kernel = w.At(of_weights);
      ForOuterPoints(window, x, index, [&](int64_t point, int64_t offset) {
        Line(from + offset, x.stride(1 + window.size()), kernel, point, w, first + 2,
             index[1 + window.size()], count, values);
      });
    }
  }

  // Adds the products of one line of the kernel with one of the image.
  void Line(const float* from, int64_t step, const float* kernel, int64_t point, const Floats& w,
            size_t first_dim, int64_t begin, int64_t count, float* values) const {
    int64_t at = 0;
    int64_t rest = point / window.back().kernel;
    for (size_t d = window.size() - 1; d-- > 0;) {
      at += rest % window[d].kernel * w.stride(first_dim + d);
      rest /= window[d].kernel;
    }
    const WindowDim& inner = window.back();
    for (int64_t k = 0; k < inner.kernel; ++k) {
      const float weight = kernel[at + k * w.stride(first_dim + window.size() - 1)];
      if (!inner.transposed) {
        AddLine(from, step, weight, inner, k, begin, count, values);
        continue;
      }
      for (int64_t i = 0; i < count; ++i) {
        const int64_t place = inner.At(begin + i, k);
        if (place >= 0) values[i] += weight * from[place * step];
      }
    }
  }

  // Elements inside of the image are neighbours among those of the result.
  static void AddLine(const float* from, int64_t step, float weight, const WindowDim& inner,
                      int64_t k, int64_t begin, int64_t count, float* values) {
    int64_t first = 0;
    while (first < count && inner.At(begin + first, k) < 0) ++first;
    int64_t end = count;
    while (end > first && inner.At(begin + end - 1, k) < 0) --end;
    if (first == end) return;
    const int64_t stride = inner.stride * step;
    const float* const at = from + inner.At(begin + first, k) * step;
    if (stride == 1) {
      for (int64_t i = first; i < end; ++i) values[i] += weight * at[i - first];
    } else {
      for (int64_t i = first; i < end; ++i) values[i] += weight * at[(i - first) * stride];
    }
  }

  const bool has_groups;
  int64_t outputs = 0;  // Channels of a group.
  int64_t inputs = 0;
  std::vector<WindowDim> window;
};

struct PlainPooling : DnnOp::Impl {
  explicit PlainPooling(const DnnPooling& p) : Impl(p.y), kind(p.kind) {
    for (size_t d = 0; d + 2 < p.x.dims.size(); ++d) {
      window.push_back({p.x.dims[2 + d], p.kernel[d], p.stride[d], 1, p.before[d], false});
      points *= p.kernel[d];
    }
  }

  void Row(absl::Span<const Floats> operands, const Index& index, int64_t count,
           float* values) const override {
    const Floats& x = operands[0];
    const bool maximum = kind == DnnPooling::Kind::kMaximum;
    const WindowDim& inner = window.back();
    const int64_t step = x.stride(1 + window.size());
    Index image = {};
    image[0] = index[0];
    image[1] = index[1];
    const float* from = x.At(image);
    int64_t seen[kMostColumns] = {};
    std::fill(values, values + count, maximum ? -std::numeric_limits<float>::infinity() : 0.0f);
    ForOuterPoints(window, x, index, [&](int64_t, int64_t offset) {
      for (int64_t k = 0; k < inner.kernel; ++k) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t place = inner.At(index[1 + window.size()] + i, k);
          if (place < 0) continue;
          const float v = from[offset + place * step];
          if (!maximum) values[i] += v;
          // NaN stays.
          if (maximum && (v > values[i] || v != v)) values[i] = v;
          ++seen[i];
        }
      }
    });
    for (int64_t i = 0; !maximum && i < count; ++i) {
      const bool all = kind == DnnPooling::Kind::kAverageWithPadding;
      values[i] /= static_cast<float>(all ? points : seen[i]);
    }
  }

  const DnnPooling::Kind kind;
  std::vector<WindowDim> window;
  int64_t points = 1;
};

// Operands are read as they are.
absl::Status CheckReading(const DnnReading& reading) {
  const bool given = reading.x_parts.empty() && reading.weight_parts.empty() &&
                     reading.dtype != DType::kBF16 && reading.dtype != DType::kU8 &&
                     reading.dtype != DType::kI8;
  return given ? absl::OkStatus() : absl::UnimplementedError("no such reading without oneDNN");
}

absl::StatusOr<std::unique_ptr<DnnOp>> Made(absl::Status status,
                                            std::unique_ptr<DnnOp::Impl> impl) {
  if (!status.ok()) return status;
  return std::make_unique<DnnOp>(std::move(impl));
}

}  // namespace

DnnOp::DnnOp(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DnnOp::~DnnOp() = default;
int64_t DnnOp::scratch_bytes() const { return impl_->scratch_bytes; }
const std::string& DnnOp::implementation() const { return impl_->implementation; }
int DnnOp::num_reorders() const { return 0; }
absl::Status DnnOp::Run(absl::Span<void* const> slots, void* scratch) {
  impl_->Run(slots, static_cast<char*>(scratch));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DnnOp>> MakeMatmul(const DnnMatmul& m, const DnnConstant& constant) {
  auto impl = std::make_unique<PlainMatmul>(m);
  absl::Status status = CheckReading(m.reading);
  status.Update(impl->Add(kDnnSource, m.a));
  status.Update(impl->Add(kDnnWeights, m.b, constant));
  status.Update(impl->Follow(m.bias, m.post_ops));
  return Made(std::move(status), std::move(impl));
}

absl::StatusOr<std::unique_ptr<DnnOp>> MakeConvolution(const DnnConvolution& c,
                                                       const DnnConstant& constant) {
  auto impl = std::make_unique<PlainConvolution>(c);
  DnnTensor bias = c.bias;
  if (!bias.dims.empty()) {
    bias.dims.assign(c.y.dims.size(), 1);
    bias.strides.assign(c.y.dims.size(), 1);
    bias.dims[1] = c.bias.dims[0];
    bias.strides[1] = c.bias.strides[0];
  }
  absl::Status status = CheckReading(c.reading);
  status.Update(impl->Add(kDnnSource, c.x));
  status.Update(impl->Add(kDnnWeights, c.weights, constant));
  status.Update(impl->Follow(bias, c.post_ops));
  return Made(std::move(status), std::move(impl));
}

absl::StatusOr<std::unique_ptr<DnnOp>> MakePooling(const DnnPooling& p) {
  auto impl = std::make_unique<PlainPooling>(p);
  absl::Status status = impl->Add(kDnnSource, p.x);
  status.Update(impl->Follow({}, {}));
  return Made(std::move(status), std::move(impl));
}

DnnUnit FindBf16Unit() { return DnnUnit::kNone; }
DnnUnit FindInt8Unit() { return DnnUnit::kNone; }
void LimitDnn(Isa) {}

}  // namespace weft::cpu
