// scatter and scatter_nd. All indices are checked before anything is written; updates of an element
// are made in their order by one thread. If self has the result's memory, only the elements that
// are updated are touched.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/kernels/place_tile.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/library/scratch_plan.h"
#include "backends/cpu/threads/parallel.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

enum class Reduce { kNone, kAdd, kMul, kMax, kMin };

using Sizes = std::vector<int64_t>;

constexpr size_t kMaxLoops = 16;

struct ScatterShape {
  Reduce reduce = Reduce::kNone;
  bool wide_index = false;  // i64, else i32.
  const PlaceTable* places = nullptr;
  int64_t bytes = 0;  // Of an element.
  int64_t numel = 0;  // Of self.

  // An update's place in the result is that of a tuple of indices and, from there on, of the
  // element in its slice. The tuples that differ, with their strides in `indices`; the distance of
  // a tuple's elements; and for each of them the dim of self that it indexes.
  Sizes tuples, tuple_strides;
  int64_t index_stride = 1;
  Sizes bounds, bound_strides;

  // Loops over the updates in their order, with strides among the tuples, in the result behind a
  // tuple's place, and among the updates.
  Sizes loops, at, to, from;

  // Where elements are converted to f32, else null; and how many elements the updates lie among.
  MoveFn load = nullptr;
  MoveFn store = nullptr;
  int64_t given = 0;
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

// Some of the updates: loops as in ScatterShape, which begin at these offsets.
struct UpdatePart {
  Sizes loops;
  int64_t at = 0, to = 0, from = 0;
};

// Updates that are worth a second thread.
constexpr int64_t kUpdatesOfAThread = 1 << 14;

// Divides a loop whose steps lead to different elements of the result, whatever the indices are:
// each thread has elements of its own. One part if there is no such loop, or few updates.
std::vector<UpdatePart> DivideUpdates(const ScatterShape& s, int threads) {
  int64_t updates = 1;
  size_t divided = s.loops.size();
  for (size_t d = 0; d < s.loops.size(); ++d) {
    updates *= s.loops[d];
    const bool apart = s.to[d] != 0;
    if (apart && (divided == s.loops.size() || s.loops[d] > s.loops[divided])) divided = d;
  }
  if (divided == s.loops.size()) return {UpdatePart{s.loops, 0, 0, 0}};
  const int64_t n = s.loops[divided];
  const int64_t parts = std::clamp<int64_t>(std::min(n, updates / kUpdatesOfAThread), 1, threads);
  std::vector<UpdatePart> all(parts, UpdatePart{s.loops, 0, 0, 0});
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = n * i / parts;
    all[i].loops[divided] = n * (i + 1) / parts - begin;
    all[i].at = begin * s.at[divided];
    all[i].to = begin * s.to[divided];
    all[i].from = begin * s.from[divided];
  }
  return all;
}

// Calls row(offsets) for each row along the last of the loops, with an offset for each of
// `strides`.
template <size_t n, typename Row>
void ForEachRow(const Sizes& loops, const std::array<const Sizes*, n>& strides, Row row) {
  std::array<int64_t, n> offsets = {};
  if (std::count(loops.begin(), loops.end(), 0) > 0) return;
  std::array<int64_t, kMaxLoops> at = {};
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
using Update = void (*)(const UpdateRow& row, Reduce reduce, const void* updates, void* result);

template <typename T, typename Change>
void ForEachElement(const UpdateRow& row, const void* updates, void* result, Change change) {
  const T* x = static_cast<const T*>(updates);
  T* y = static_cast<T*>(result);
  if (row.at == 0 && row.to == 1 && row.from == 1) {
    y += row.places[0];
    for (int64_t i = 0; i < row.size; ++i) change(&y[i], x[i]);
    return;
  }
  for (int64_t i = 0; i < row.size; ++i) {
    change(&y[row.places[i * row.at] + i * row.to], x[i * row.from]);
  }
}
template <typename T>
void MoveElements(const UpdateRow& row, Reduce /*reduce*/, const void* updates, void* result) {
  ForEachElement<T>(row, updates, result, [](T* y, T x) { *y = x; });
}
template <typename T>
void CombineElements(const UpdateRow& row, Reduce reduce, const void* updates, void* result) {
  if (reduce == Reduce::kAdd) {
    ForEachElement<T>(row, updates, result, [](T* y, T x) { *y = Combined(Reduce::kAdd, *y, x); });
  } else {
    ForEachElement<T>(row, updates, result, [reduce](T* y, T x) { *y = Combined(reduce, *y, x); });
  }
}

class ScatterCall : public LibraryCall {
 public:
  ScatterCall(ScatterShape shape, Update update, int threads)
      : s_(std::move(shape)),
        update_(update),
        threads_(threads),
        parts_(DivideUpdates(s_, threads)),
        one_line_(IsOneLine(s_)) {
    int64_t tuples = one_line_ ? std::min(kPlaces, s_.tuples.back()) : 1;
    for (int64_t size : s_.tuples) tuples *= one_line_ ? 1 : size;
    places_at_ = scratch_.Place(tuples * static_cast<int64_t>(sizeof(int64_t)));
    const auto wide = static_cast<int64_t>(s_.load == nullptr ? 0 : sizeof(float));
    self_at_ = scratch_.Place(s_.numel * wide);
    updates_at_ = scratch_.Place(s_.given * wide);
  }

  std::string name() const override { return "scatter"; }
  int64_t scratch_bytes() const override { return scratch_.bytes(); }

  absl::Status Run(const CallMemory& memory) override {
    auto* const scratch = static_cast<char*>(memory.scratch);
    auto* const places = reinterpret_cast<int64_t*>(scratch + places_at_);
    WEFT_RETURN_IF_ERROR(ReadIndices(memory.args[1], places));
    const auto* self = static_cast<const char*>(memory.args[0]);
    const auto* updates = static_cast<const char*>(memory.args[2]);
    auto* y = static_cast<char*>(memory.result);
    if (s_.load == nullptr) {
      if (self != y) CopySelf(self, y);
      UpdateAll(memory.args[1], places, updates, s_.bytes, y);
      return absl::OkStatus();
    }
    auto* const wide = reinterpret_cast<float*>(scratch + self_at_);
    auto* const wide_updates = reinterpret_cast<float*>(scratch + updates_at_);
    ForChunks(s_.numel, [&](int64_t at, int64_t count) {
      s_.load(wide + at, self + at * s_.bytes, 1, count);
    });
    ForChunks(s_.given, [&](int64_t at, int64_t count) {
      s_.load(wide_updates + at, updates + at * s_.bytes, 1, count);
    });
    UpdateAll(memory.args[1], places, scratch + updates_at_, sizeof(float), scratch + self_at_);
    ForChunks(s_.numel,
              [&](int64_t at, int64_t count) { s_.store(y + at * s_.bytes, wide + at, 1, count); });
    return absl::OkStatus();
  }

 private:
  // Places of one line of updates that are found at once.
  static constexpr int64_t kPlaces = 1024;

  // Each update has an index of its own.
  static bool IsOneLine(const ScatterShape& s) {
    return s.tuples.size() == 1 && s.bounds.size() == 1 && s.loops.size() == 1 &&
           s.at.back() == 1 && s.to.back() == 0;
  }

  template <typename Fn>
  void ForChunks(int64_t count, Fn fn) const {
    constexpr int64_t kChunk = 1 << 12;
    ForEach(count < 4 * kChunk ? 1 : threads_, (count + kChunk - 1) / kChunk,
            [&](int64_t chunk, const TeamMember&) {
              fn(chunk * kChunk, std::min(kChunk, count - chunk * kChunk));
            });
  }

  // Indices from element `offset` on, of dim k of the tuples.
  IndexColumn Column(const void* indices, int64_t offset, size_t k) const {
    offset += static_cast<int64_t>(k) * s_.index_stride;
    const int64_t bytes = s_.wide_index ? sizeof(int64_t) : sizeof(int32_t);
    return {static_cast<const char*>(indices) + offset * bytes, s_.wide_index,
            s_.tuple_strides.back(), s_.bounds[k], s_.bound_strides[k]};
  }

  // Checks the indices; of tuples that are not one line, finds the places.
  absl::Status ReadIndices(const void* indices, int64_t* places) const {
    const int64_t row = s_.tuples.back();
    bool wrong = false;
    ForEachRow<1>(s_.tuples, {&s_.tuple_strides}, [&](const auto& offsets) {
      if (s_.bounds.empty()) std::fill_n(places, row, 0);
      for (size_t k = 0; k < s_.bounds.size(); ++k) {
        const IndexColumn column = Column(indices, offsets[0], k);
        wrong |= one_line_ ? s_.places->check(column, row)
                 : k == 0  ? s_.places->write(column, row, places)
                           : s_.places->add(column, row, places);
      }
      places += row;
    });
    if (!wrong) return absl::OkStatus();
    return s_.wide_index ? FindWrong(static_cast<const int64_t*>(indices))
                         : FindWrong(static_cast<const int32_t*>(indices));
  }

  template <typename Index>
  absl::Status FindWrong(const Index* indices) const {
    absl::Status status;
    ForEachRow<1>(s_.tuples, {&s_.tuple_strides}, [&](const auto& offsets) {
      for (int64_t i = 0; i < s_.tuples.back() && status.ok(); ++i) {
        const Index* tuple = indices + offsets[0] + i * s_.tuple_strides.back();
        for (size_t k = 0; k < s_.bounds.size() && status.ok(); ++k) {
          const int64_t index = tuple[static_cast<int64_t>(k) * s_.index_stride];
          if (index >= -s_.bounds[k] && index < s_.bounds[k]) continue;
          status = absl::OutOfRangeError(
              absl::StrCat("index ", index, " is out of range for size ", s_.bounds[k]));
        }
      }
    });
    return status;
  }

  void UpdateAll(const void* indices, int64_t* places, const char* updates, int64_t bytes,
                 char* y) const {
    if (one_line_) return UpdateLine(indices, places, updates, bytes, y);
    const auto parts = static_cast<int64_t>(parts_.size());
    ForEach(parts, parts, [&](int64_t i, const TeamMember&) {
      const UpdatePart& part = parts_[i];
      UpdateRow row = {part.loops.back(), nullptr, s_.at.back(), s_.to.back(), s_.from.back()};
      ForEachRow<3>(part.loops, {&s_.at, &s_.to, &s_.from}, [&](const auto& offsets) {
        row.places = places + part.at + offsets[0];
        update_(row, s_.reduce, updates + (part.from + offsets[2]) * bytes,
                y + (part.to + offsets[1]) * bytes);
      });
    });
  }

  void UpdateLine(const void* indices, int64_t* places, const char* updates, int64_t bytes,
                  char* y) const {
    UpdateRow row = {0, places, 1, 0, s_.from.back()};
    for (int64_t at = 0; at < s_.loops.back(); at += kPlaces) {
      row.size = std::min(kPlaces, s_.loops.back() - at);
      s_.places->write(Column(indices, at * s_.tuple_strides.back(), 0), row.size, places);
      update_(row, s_.reduce, updates + at * s_.from.back() * bytes, y);
    }
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
  const std::vector<UpdatePart> parts_;
  const bool one_line_;
  ScratchPlan scratch_;
  int64_t places_at_ = 0, self_at_ = 0, updates_at_ = 0;
};

// The strides of a dense tensor.
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

// Elements that are only moved are so by their size.
absl::StatusOr<Update> MoveOf(int64_t bytes) {
  switch (bytes) {
    case 1:
      return MoveElements<uint8_t>;
    case 2:
      return MoveElements<uint16_t>;
    case 4:
      return MoveElements<uint32_t>;
    case 8:
      return MoveElements<uint64_t>;
    default:
      return absl::UnimplementedError("such elements");
  }
}

absl::StatusOr<Update> UpdateOf(Reduce reduce, DType dtype) {
  if (reduce == Reduce::kNone) return MoveOf(DTypeBits(dtype) / 8);
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
      return CombineElements<float>;
    case DType::kF64:
      return CombineElements<double>;
    case DType::kI8:
      return CombineElements<int8_t>;
    case DType::kU8:
      return CombineElements<uint8_t>;
    case DType::kI16:
      return CombineElements<int16_t>;
    case DType::kU16:
      return CombineElements<uint16_t>;
    case DType::kI32:
      return CombineElements<int32_t>;
    case DType::kU32:
      return CombineElements<uint32_t>;
    case DType::kI64:
      return CombineElements<int64_t>;
    case DType::kU64:
      return CombineElements<uint64_t>;
    default:
      return absl::UnimplementedError("combinations of such elements");
  }
}

// Combinations of narrow floats are made in f32, and rounded once. False if the updates lie
// backwards.
bool SetNarrow(const LibraryStep& step, const LibraryContext& context, ScatterShape* s) {
  const DType dtype = step.args[0].dtype;
  const RunView& updates = step.args[2];
  if (s->reduce == Reduce::kNone || (dtype != DType::kF16 && dtype != DType::kBF16)) return true;
  s->load = context.table->load(dtype);
  s->store = context.table->store(dtype);
  if (updates.numel() == 0) return true;
  s->given = 1;
  for (int d = 0; d < updates.rank(); ++d) {
    if (updates.strides[d] < 0) return false;
    s->given += (updates.dims[d] - 1) * updates.strides[d];
  }
  return true;
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
  shape.places = &ForIsa(context.isa, Avx512Places, Avx2Places);
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
  if (shape.loops.size() > kMaxLoops || shape.tuples.size() > kMaxLoops) {
    return absl::UnimplementedError("updates of so many dims");
  }
  if (!SetNarrow(step, context, &shape)) return absl::UnimplementedError("such updates");
  WEFT_ASSIGN_OR_RETURN(const Update update, UpdateOf(shape.reduce, self.dtype));
  return std::make_unique<ScatterCall>(std::move(shape), update, context.threads);
}

}  // namespace weft::cpu
