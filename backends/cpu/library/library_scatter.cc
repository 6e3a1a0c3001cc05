// scatter and scatter_nd. All indices are checked before anything is written; updates are made in
// their order by one thread. If self has the result's memory, only the elements that are updated
// are touched.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/threads/parallel.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

enum class Reduce { kNone, kAdd, kMul, kMax, kMin };

using Sizes = std::vector<int64_t>;

struct ScatterShape {
  Reduce reduce = Reduce::kNone;
  bool wide_index = false;  // i64, else i32.
  int64_t bytes = 0;        // Of an element.
  int64_t numel = 0;        // Of self.

  // An update's place in the result is that of a tuple of indices and, from there on, of the
  // element in its slice. The tuples that differ, with their strides in `indices`; the distance of
  // a tuple's elements; and for each of them the dim of self that it indexes.
  Sizes tuples, tuple_strides;
  int64_t index_stride = 1;
  Sizes bounds, bound_strides;

  // Loops over the updates in their order, with strides among the tuples, in the result behind a
  // tuple's place, and among the updates.
  Sizes loops, at, to, from;
};

// Integers wrap.
template <typename T>
struct WrappedOf {
  using Type = T;
};
template <>
struct WrappedOf<int32_t> {
  using Type = uint32_t;
};
template <>
struct WrappedOf<int64_t> {
  using Type = uint64_t;
};

template <typename T, Reduce reduce>
T Combined(T a, T b) {
  using Wrapped = typename WrappedOf<T>::Type;
  if constexpr (reduce == Reduce::kNone) {
    return b;
  } else if constexpr (reduce == Reduce::kAdd) {
    return static_cast<T>(static_cast<Wrapped>(a) + static_cast<Wrapped>(b));
  } else if constexpr (reduce == Reduce::kMul) {
    return static_cast<T>(static_cast<Wrapped>(a) * static_cast<Wrapped>(b));
  } else {
    if (a != a || b != b) return a != a ? a : b;
    return (reduce == Reduce::kMax ? a < b : b < a) ? b : a;
  }
}

// Calls row(offsets) for each row along the last of the loops, with an offset for each of
// `strides`.
template <size_t n, typename Row>
void ForEachRow(const Sizes& loops, const std::array<const Sizes*, n>& strides, Row row) {
  std::array<int64_t, n> offsets = {};
  if (std::count(loops.begin(), loops.end(), 0) > 0) return;
  Sizes at(loops.size());
  for (;;) {
    row(offsets);
    size_t d = loops.size() - 1;
    for (; d > 0; --d) {
      const bool ends = ++at[d - 1] == loops[d - 1];
      const int64_t steps = ends ? 1 - loops[d - 1] : 1;
      for (size_t k = 0; k < n; ++k) offsets[k] += steps * (*strides[k])[d - 1];
      if (!ends) break;
      at[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

// The updates of a row, whose tuples have the places `places`.
struct UpdateRow {
  int64_t size = 0;
  const int64_t* places = nullptr;
  int64_t at = 0, to = 0, from = 0;  // Strides.
};
using Update = void (*)(const UpdateRow& row, const void* updates, void* result);

template <typename T, Reduce reduce>
void UpdateElements(const UpdateRow& row, const void* updates, void* result) {
  const T* x = static_cast<const T*>(updates);
  T* y = static_cast<T*>(result);
  if (row.at == 0 && row.to == 1 && row.from == 1) {
    y += row.places[0];
    for (int64_t i = 0; i < row.size; ++i) y[i] = Combined<T, reduce>(y[i], x[i]);
    return;
  }
  for (int64_t i = 0; i < row.size; ++i) {
    T& element = y[row.places[i * row.at] + i * row.to];
    element = Combined<T, reduce>(element, x[i * row.from]);
  }
}

class ScatterCall : public LibraryCall {
 public:
  ScatterCall(ScatterShape shape, Update update, int threads)
      : s_(std::move(shape)), update_(update), threads_(threads) {}

  std::string name() const override { return "scatter"; }
  int64_t scratch_bytes() const override {
    int64_t tuples = sizeof(int64_t);
    for (int64_t size : s_.tuples) tuples *= size;
    return tuples;
  }

  absl::Status Run(const CallMemory& memory) override {
    auto* places = static_cast<int64_t*>(memory.scratch);
    WEFT_RETURN_IF_ERROR(s_.wide_index
                             ? ReadIndices(static_cast<const int64_t*>(memory.args[1]), places)
                             : ReadIndices(static_cast<const int32_t*>(memory.args[1]), places));
    auto* y = static_cast<char*>(memory.result);
    if (memory.args[0] != y) CopySelf(static_cast<const char*>(memory.args[0]), y);
    const auto* x = static_cast<const char*>(memory.args[2]);
    UpdateRow row = {s_.loops.back(), nullptr, s_.at.back(), s_.to.back(), s_.from.back()};
    ForEachRow<3>(s_.loops, {&s_.at, &s_.to, &s_.from}, [&](const auto& offsets) {
      row.places = places + offsets[0];
      update_(row, x + offsets[2] * s_.bytes, y + offsets[1] * s_.bytes);
    });
    return absl::OkStatus();
  }

 private:
  // The places of the tuples.
  template <typename Index>
  absl::Status ReadIndices(const Index* indices, int64_t* places) const {
    const int64_t row = s_.tuples.back();
    const int64_t stride = s_.tuple_strides.back();
    bool found = true;
    int64_t wrong = 0, wrong_bound = 0;
    ForEachRow<1>(s_.tuples, {&s_.tuple_strides}, [&](const auto& offsets) {
      for (int64_t i = 0; i < row; ++i) {
        const Index* tuple = indices + offsets[0] + i * stride;
        int64_t place = 0;
        for (size_t k = 0; k < s_.bounds.size(); ++k) {
          const int64_t index = tuple[static_cast<int64_t>(k) * s_.index_stride];
          const int64_t bound = s_.bounds[k];
          if (found && (index < -bound || index >= bound)) {
            found = false;
            wrong = index;
            wrong_bound = bound;
          }
          place += (index < 0 ? index + bound : index) * s_.bound_strides[k];
        }
        *places++ = place;
      }
    });
    if (found) return absl::OkStatus();
    return absl::OutOfRangeError(
        absl::StrCat("index ", wrong, " is out of range for size ", wrong_bound));
  }

  void CopySelf(const char* x, char* y) const {
    const int64_t bytes = s_.numel * s_.bytes;
    const auto parts = static_cast<int>(std::clamp<int64_t>(bytes >> 20, 1, threads_));
    RunTeam(parts, [&](const TeamMember& member) {
      const int64_t begin = member.Begin(bytes);
      std::memcpy(y + begin, x + begin, member.End(bytes) - begin);
    });
  }

  const ScatterShape s_;
  const Update update_;
  const int threads_;
};

// Of a dense tensor.
Sizes StridesOf(const RunView& view) {
  Sizes strides(view.rank());
  int64_t stride = 1;
  for (int d = view.rank() - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= view.dims[d];
  }
  return strides;
}

// A loop over a dim of the updates, in which the tuple changes, or not.
void AddLoop(int64_t size, int64_t to, int64_t from, ScatterShape* s) {
  s->loops.push_back(size);
  s->at.push_back(0);
  s->to.push_back(to);
  s->from.push_back(from);
}
// Sets the distinct tuples of dims `dims` of `indices`, which the first loops run over.
void SetTuples(const RunView& indices, int dims, ScatterShape* s) {
  int64_t distinct = 1;
  for (int d = dims - 1; d >= 0; --d) {
    if (indices.strides[d] == 0 || indices.dims[d] == 1) continue;
    s->at[d] = distinct;
    distinct *= indices.dims[d];
    s->tuples.insert(s->tuples.begin(), indices.dims[d]);
    s->tuple_strides.insert(s->tuple_strides.begin(), indices.strides[d]);
  }
  if (s->tuples.empty()) {
    s->tuples = {1};
    s->tuple_strides = {0};
  }
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
  const Sizes strides = StridesOf(self);
  for (int d = 0; d < self.rank(); ++d) {
    const bool within = d == dim || index.dims[d] <= self.dims[d];
    if (!within || index.dims[d] > updates.dims[d]) return false;
    AddLoop(index.dims[d], d == dim ? 0 : strides[d], updates.strides[d], s);
  }
  SetTuples(index, index.rank(), s);
  s->bounds = {self.dims[dim]};
  s->bound_strides = {strides[dim]};
  return true;
}

bool DescribeSlices(const LibraryStep& step, ScatterShape* s) {
  const RunView& self = step.args[0];
  const RunView& indices = step.args[1];
  const RunView& updates = step.args[2];
  if (indices.rank() < 1 || indices.dims.back() > self.rank()) return false;
  const auto width = static_cast<int>(indices.dims.back());
  const int outer = indices.rank() - 1;
  if (updates.rank() != outer + self.rank() - width) return false;
  const Sizes strides = StridesOf(self);
  for (int d = 0; d < updates.rank(); ++d) {
    const int in_self = d - outer + width;
    const int64_t size = d < outer ? indices.dims[d] : self.dims[in_self];
    if (updates.dims[d] != size) return false;
    AddLoop(size, d < outer ? 0 : strides[in_self], updates.strides[d], s);
  }
  if (s->loops.empty()) AddLoop(1, 0, 0, s);
  SetTuples(indices, outer, s);
  s->index_stride = indices.strides.back();
  s->bounds.assign(self.dims.begin(), self.dims.begin() + width);
  s->bound_strides.assign(strides.begin(), strides.begin() + width);
  return true;
}

// Leaves out loops of one step, and joins those that follow each other as one would.
void JoinLoops(ScatterShape* s) {
  const auto drop = [&](size_t d) {
    for (Sizes* sizes : {&s->loops, &s->at, &s->to, &s->from}) {
      sizes->erase(sizes->begin() + static_cast<int64_t>(d));
    }
  };
  for (size_t d = s->loops.size(); d-- > 0 && s->loops.size() > 1;) {
    if (s->loops[d] == 1) drop(d);
  }
  for (size_t d = s->loops.size() - 1; d > 0; --d) {
    const auto joins = [&](const Sizes& strides) {
      return strides[d - 1] == strides[d] * s->loops[d];
    };
    if (!joins(s->at) || !joins(s->to) || !joins(s->from)) continue;
    s->loops[d] *= s->loops[d - 1];
    drop(d - 1);
  }
}

template <typename T>
Update CombineBy(Reduce reduce) {
  switch (reduce) {
    case Reduce::kNone:
      break;
    case Reduce::kAdd:
      return UpdateElements<T, Reduce::kAdd>;
    case Reduce::kMul:
      return UpdateElements<T, Reduce::kMul>;
    case Reduce::kMax:
      return UpdateElements<T, Reduce::kMax>;
    case Reduce::kMin:
      return UpdateElements<T, Reduce::kMin>;
  }
  return nullptr;
}

// Elements that are only moved are so by their size.
absl::StatusOr<Update> MoveOf(int64_t bytes) {
  switch (bytes) {
    case 1:
      return UpdateElements<uint8_t, Reduce::kNone>;
    case 2:
      return UpdateElements<uint16_t, Reduce::kNone>;
    case 4:
      return UpdateElements<uint32_t, Reduce::kNone>;
    case 8:
      return UpdateElements<uint64_t, Reduce::kNone>;
    default:
      return absl::UnimplementedError("such elements");
  }
}

absl::StatusOr<Update> UpdateOf(Reduce reduce, DType dtype) {
  if (reduce == Reduce::kNone) return MoveOf(DTypeBits(dtype) / 8);
  switch (dtype) {
    case DType::kF32:
      return CombineBy<float>(reduce);
    case DType::kF64:
      return CombineBy<double>(reduce);
    case DType::kI32:
      return CombineBy<int32_t>(reduce);
    case DType::kI64:
      return CombineBy<int64_t>(reduce);
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
  const bool dense = self.dense() && step.result.dense();
  const bool alike = step.result.dims == self.dims && step.result.dtype == self.dtype &&
                     step.args[2].dtype == self.dtype;
  const bool indexed = shape.wide_index || index.dtype == DType::kI32;
  if (!step.epilogue.empty() || !dense || !alike || !indexed) {
    return absl::UnimplementedError("such a scatter");
  }
  const std::string& reduce = elements ? ScatterAttrs(step.schema, step.attrs).reduce()
                                       : ScatterNdAttrs(step.schema, step.attrs).reduce();
  shape.reduce = ReduceOf(reduce);
  const bool fits =
      elements ? DescribeElements(step, ScatterAttrs(step.schema, step.attrs).dim(), &shape)
               : DescribeSlices(step, &shape);
  if (!fits) return absl::UnimplementedError("sizes that do not fit");
  // Without updates no index is looked at.
  if (std::count(shape.loops.begin(), shape.loops.end(), 0) > 0) shape.tuples.front() = 0;
  JoinLoops(&shape);
  WEFT_ASSIGN_OR_RETURN(const Update update, UpdateOf(shape.reduce, self.dtype));
  return std::make_unique<ScatterCall>(std::move(shape), update, context.threads);
}

}  // namespace weft::cpu
