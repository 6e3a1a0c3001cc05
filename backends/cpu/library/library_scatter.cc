// scatter and scatter_nd. All indices are checked before anything is written; updates are made in
// their order by one thread.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/library/scratch_plan.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

enum class Reduce { kNone, kAdd, kMul, kMax, kMin };

struct ScatterShape {
  Reduce reduce = Reduce::kNone;
  bool wide_index = false;  // i64, else i32.
  int64_t bytes = 0;        // Of an element.
  int64_t numel = 0;        // Of self.
  int64_t updates = 0;      // Places that are updated, with `inner` elements each.
  int64_t inner = 1;
  int64_t given = 0;  // Elements of the updates, some of which may be left out.
  // Elements are combined in f32, as which these read and write them.
  bool narrow = false;
  MoveFn load = nullptr;
  MoveFn store = nullptr;
  // scatter_nd: sizes and strides of the dims that a tuple indexes.
  // scatter: of all dims.
  std::vector<int64_t> dims, strides;
  // scatter alone.
  int along = -1;
  std::vector<int64_t> index_dims, update_strides;
};

// Integers wrap.
template <typename T>
T Combined(Reduce reduce, T a, T b) {
  using Wrapped = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  if (reduce == Reduce::kAdd) {
    return static_cast<T>(static_cast<Wrapped>(a) + static_cast<Wrapped>(b));
  }
  if (reduce == Reduce::kMul) {
    return static_cast<T>(static_cast<Wrapped>(a) * static_cast<Wrapped>(b));
  }
  if (a != a || b != b) return a != a ? a : b;
  return (reduce == Reduce::kMax ? a < b : b < a) ? b : a;
}

// Index `i` in [-size, size) of a dim.
int64_t Wrapped(int64_t i, int64_t size) { return i < 0 ? i + size : i; }

// Calls put(to, from) for all updates in order: `inner` elements of the result from place `to` on,
// and of the updates from place `from` on.
template <typename Put>
void ForEachSlice(const ScatterShape& s, const int64_t* indices, Put put) {
  const size_t width = s.dims.size();
  for (int64_t u = 0; u < s.updates; ++u, indices += width) {
    int64_t to = 0;
    for (size_t k = 0; k < width; ++k) to += Wrapped(indices[k], s.dims[k]) * s.strides[k];
    put(to, u * s.inner);
  }
}
template <typename Put>
void ForEachElement(const ScatterShape& s, const int64_t* indices, Put put) {
  const size_t last = s.index_dims.size() - 1;
  const int64_t size = s.dims[s.along], stride = s.strides[s.along];
  const int64_t row = s.index_dims[last];
  const int64_t step = s.along == static_cast<int>(last) ? 0 : s.strides[last];
  std::vector<int64_t> at(last);
  for (int64_t begin = 0; begin < s.updates; begin += row) {
    int64_t to = 0, from = 0;
    for (size_t d = 0; d < last; ++d) {
      from += at[d] * s.update_strides[d];
      if (static_cast<int>(d) != s.along) to += at[d] * s.strides[d];
    }
    for (int64_t j = 0; j < row; ++j) {
      put(to + Wrapped(indices[begin + j], size) * stride + j * step, from + j);
    }
    for (size_t d = last; d-- > 0;) {
      if (++at[d] < s.index_dims[d]) break;
      at[d] = 0;
    }
  }
}
template <typename Put>
void ForEachUpdate(const ScatterShape& s, const int64_t* indices, Put put) {
  if (s.along >= 0) {
    ForEachElement(s, indices, put);
  } else {
    ForEachSlice(s, indices, put);
  }
}

void Copy(const ScatterShape& s, const int64_t* indices, const char* x, char* y) {
  const int64_t bytes = s.inner * s.bytes;
  ForEachUpdate(s, indices, [&](int64_t to, int64_t from) {
    std::memcpy(y + to * s.bytes, x + from * s.bytes, bytes);
  });
}

template <typename T>
void Combine(const ScatterShape& s, const int64_t* indices, const char* x, char* y) {
  const T* updates = reinterpret_cast<const T*>(x);
  T* result = reinterpret_cast<T*>(y);
  const Reduce reduce = s.reduce;
  if (s.inner == 1) {
    return ForEachUpdate(s, indices, [&](int64_t to, int64_t from) {
      result[to] = Combined(reduce, result[to], updates[from]);
    });
  }
  ForEachUpdate(s, indices, [&](int64_t to, int64_t from) {
    for (int64_t i = 0; i < s.inner; ++i) {
      result[to + i] = Combined(reduce, result[to + i], updates[from + i]);
    }
  });
}

using Update = void (*)(const ScatterShape& shape, const int64_t* indices, const char* x, char* y);

class ScatterCall : public LibraryCall {
 public:
  ScatterCall(ScatterShape shape, Update update, int threads)
      : s_(std::move(shape)),
        indices_(s_.updates * (s_.along >= 0 ? 1 : static_cast<int64_t>(s_.dims.size()))),
        update_(update),
        threads_(threads) {
    indices_at_ = scratch_.Place(s_.wide_index ? 0 : indices_ * 8);
    self_at_ = scratch_.Place(s_.narrow ? s_.numel * 4 : 0);
    updates_at_ = scratch_.Place(s_.narrow ? s_.given * 4 : 0);
  }

  std::string name() const override { return "scatter"; }
  int64_t scratch_bytes() const override { return scratch_.bytes(); }

  absl::Status Run(const CallMemory& memory) override {
    char* const scratch = static_cast<char*>(memory.scratch);
    const auto* indices = static_cast<const int64_t*>(memory.args[1]);
    if (!s_.wide_index) {
      auto* wide = reinterpret_cast<int64_t*>(scratch + indices_at_);
      std::copy_n(static_cast<const int32_t*>(memory.args[1]), indices_, wide);
      indices = wide;
    }
    WEFT_RETURN_IF_ERROR(Check(indices));
    const auto* x = static_cast<const char*>(memory.args[0]);
    const auto* updates = static_cast<const char*>(memory.args[2]);
    auto* y = static_cast<char*>(memory.result);
    if (s_.narrow) {
      // Narrow floats are combined in f32, and rounded once.
      auto* wide = reinterpret_cast<float*>(scratch + self_at_);
      auto* wide_updates = reinterpret_cast<float*>(scratch + updates_at_);
      s_.load(wide, x, 1, s_.numel);
      s_.load(wide_updates, updates, 1, s_.given);
      update_(s_, indices, scratch + updates_at_, scratch + self_at_);
      s_.store(y, wide, 1, s_.numel);
      return absl::OkStatus();
    }
    CopySelf(x, y);
    update_(s_, indices, updates, y);
    return absl::OkStatus();
  }

 private:
  // Places of a dim in [-size, size): the sums of others have the sign bit.
  static bool AllWithin(const int64_t* indices, int64_t count, uint64_t size) {
    uint64_t signs = 0;
#pragma omp simd reduction(| : signs)
    for (int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<uint64_t>(indices[i]);
      signs |= (index + size) | (size - 1 - index);
    }
    return signs >> 63 == 0;
  }

  absl::Status Check(const int64_t* indices) const {
    if (s_.along >= 0 && AllWithin(indices, indices_, static_cast<uint64_t>(s_.dims[s_.along]))) {
      return absl::OkStatus();
    }
    const auto width = static_cast<int64_t>(s_.along >= 0 ? 1 : s_.dims.size());
    for (int64_t k = 0; k < width; ++k) {
      const int64_t size = s_.dims[s_.along >= 0 ? s_.along : k];
      for (int64_t i = k; i < indices_; i += width) {
        if (indices[i] >= -size && indices[i] < size) continue;
        return absl::OutOfRangeError(
            absl::StrCat("index ", indices[i], " is out of range for size ", size));
      }
    }
    return absl::OkStatus();
  }

  void CopySelf(const char* x, char* y) const {
    const int64_t bytes = s_.numel * s_.bytes;
    const auto parts = static_cast<int>(std::clamp<int64_t>(bytes >> 20, 1, threads_));
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
      const int64_t begin = bytes * part / parts;
      std::memcpy(y + begin, x + begin, bytes * (part + 1) / parts - begin);
    }
  }

  const ScatterShape s_;
  const int64_t indices_;  // How many there are.
  ScratchPlan scratch_;
  int64_t indices_at_ = 0, self_at_ = 0, updates_at_ = 0;
  const Update update_;
  const int threads_;
};

std::vector<int64_t> StridesOf(const RunView& view) {
  std::vector<int64_t> strides(view.rank());
  int64_t stride = 1;
  for (int d = view.rank() - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= view.dims[d];
  }
  return strides;
}

// False if the operands do not fit: a plan from a file may have any sizes.
bool DescribeElements(const LibraryStep& step, int64_t dim, ScatterShape* s) {
  const RunView& self = step.args[0];
  const RunView& index = step.args[1];
  const RunView& updates = step.args[2];
  if (dim < 0) dim += self.rank();
  if (dim < 0 || dim >= self.rank() || index.rank() != self.rank() ||
      updates.rank() != self.rank()) {
    return false;
  }
  for (int d = 0; d < self.rank(); ++d) {
    const bool within = d == dim || index.dims[d] <= self.dims[d];
    if (!within || index.dims[d] > updates.dims[d]) return false;
  }
  s->along = static_cast<int>(dim);
  s->updates = index.numel();
  s->dims = self.dims;
  s->strides = StridesOf(self);
  s->index_dims = index.dims;
  s->update_strides = StridesOf(updates);
  return true;
}

bool DescribeSlices(const LibraryStep& step, ScatterShape* s) {
  const RunView& self = step.args[0];
  const RunView& indices = step.args[1];
  const RunView& updates = step.args[2];
  if (indices.rank() < 1 || indices.dims.back() > self.rank()) return false;
  const auto width = static_cast<int>(indices.dims.back());
  s->updates = 1;
  for (int d = 0; d + 1 < indices.rank(); ++d) s->updates *= indices.dims[d];
  for (int d = width; d < self.rank(); ++d) s->inner *= self.dims[d];
  if (updates.numel() != s->updates * s->inner) return false;
  s->dims.assign(self.dims.begin(), self.dims.begin() + width);
  s->strides = StridesOf(self);
  // Nothing is written, and indices are not looked at.
  if (s->inner == 0) s->updates = 0;
  return true;
}

absl::StatusOr<Update> UpdateOf(Reduce reduce, DType dtype) {
  if (reduce == Reduce::kNone) return Copy;
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
      return Combine<float>;
    case DType::kF64:
      return Combine<double>;
    case DType::kI8:
      return Combine<int8_t>;
    case DType::kU8:
      return Combine<uint8_t>;
    case DType::kI16:
      return Combine<int16_t>;
    case DType::kU16:
      return Combine<uint16_t>;
    case DType::kI32:
      return Combine<int32_t>;
    case DType::kU32:
      return Combine<uint32_t>;
    case DType::kI64:
      return Combine<int64_t>;
    case DType::kU64:
      return Combine<uint64_t>;
    default:
      return absl::UnimplementedError("combinations of such elements");
  }
}

Reduce ReduceOf(const std::string& name) {
  if (name == "add") return Reduce::kAdd;
  if (name == "mul") return Reduce::kMul;
  if (name == "max") return Reduce::kMax;
  return name == "min" ? Reduce::kMin : Reduce::kNone;
}

}  // namespace

LibraryCallOr MakeScatterCall(const LibraryStep& step, const LibraryContext& context) {
  const RunView& self = step.args[0];
  const RunView& index = step.args[1];
  const bool elements = step.op == RoutineOp::kScatter;
  ScatterShape shape;
  shape.wide_index = index.dtype == DType::kI64;
  shape.bytes = DTypeBits(self.dtype) / 8;
  shape.numel = self.numel();
  const bool dense = self.dense() && index.dense() && step.args[2].dense() && step.result.dense();
  const bool alike = step.result.dims == self.dims && step.result.dtype == self.dtype &&
                     step.args[2].dtype == self.dtype;
  const bool indexed = shape.wide_index || index.dtype == DType::kI32;
  if (!step.epilogue.empty() || !dense || !alike || !indexed || shape.bytes < 1) {
    return absl::UnimplementedError("such a scatter");
  }
  const std::string& reduce = elements ? ScatterAttrs(step.schema, step.attrs).reduce()
                                       : ScatterNdAttrs(step.schema, step.attrs).reduce();
  shape.reduce = ReduceOf(reduce);
  const bool fits =
      elements ? DescribeElements(step, ScatterAttrs(step.schema, step.attrs).dim(), &shape)
               : DescribeSlices(step, &shape);
  if (!fits) return absl::UnimplementedError("sizes that do not fit");
  WEFT_ASSIGN_OR_RETURN(const Update update, UpdateOf(shape.reduce, self.dtype));
  shape.given = step.args[2].numel();
  shape.narrow =
      shape.reduce != Reduce::kNone && (self.dtype == DType::kF16 || self.dtype == DType::kBF16);
  shape.load = context.table->load(self.dtype);
  shape.store = context.table->store(self.dtype);
  return std::make_unique<ScatterCall>(std::move(shape), update, context.threads);
}

}  // namespace weft::cpu
