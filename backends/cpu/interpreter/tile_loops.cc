#include "backends/cpu/interpreter/tile_loops.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

absl::StatusOr<std::vector<int64_t>> SizesOf(const std::vector<SymInt>& sizes, SizeFn value_of) {
  std::vector<int64_t> values;
  for (SymInt s : sizes) {
    WEFT_ASSIGN_OR_RETURN(const int64_t value, SizeOf(s, value_of));
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<TileAddress> MakeAddress(const Kernel& kernel, const Access& access,
                                        SizeFn value_of) {
  TileAddress address;
  address.arg = access.arg;
  address.element_bytes = DTypeBits(kernel.args[access.arg].dtype) / 8;
  WEFT_ASSIGN_OR_RETURN(address.offset, SizeOf(access.offset, value_of));
  WEFT_ASSIGN_OR_RETURN(address.strides, SizesOf(access.strides, value_of));
  for (const IndexTerm& t : access.terms) {
    TileTerm term;
    term.value = t.value;
    WEFT_ASSIGN_OR_RETURN(term.stride, SizeOf(t.stride, value_of));
    WEFT_ASSIGN_OR_RETURN(term.bound, SizeOf(t.bound, value_of));
    address.terms.push_back(term);
  }
  for (const Access::Guard& g : access.guards) {
    TileGuard guard;
    WEFT_ASSIGN_OR_RETURN(guard.offset, SizeOf(g.offset, value_of));
    WEFT_ASSIGN_OR_RETURN(guard.bound, SizeOf(g.bound, value_of));
    WEFT_ASSIGN_OR_RETURN(guard.strides, SizesOf(g.strides, value_of));
    address.guards.push_back(std::move(guard));
  }
  return address;
}

absl::Status MakeAddresses(const Kernel& kernel, const Nest& nest, SizeFn value_of,
                           NestLoops* out) {
  for (const Stage& stage : nest.stages) {
    std::vector<TileAddress> addresses;
    const auto add = [&](const Access& access) {
      auto address = MakeAddress(kernel, access, value_of);
      if (address.ok()) addresses.push_back(*std::move(address));
      return address.status();
    };
    for (const Instr& instr : stage.body) {
      if (instr.op == ScalarOp::kLoad) WEFT_RETURN_IF_ERROR(add(instr.access));
    }
    for (const Store& store : stage.stores) WEFT_RETURN_IF_ERROR(add(store.access));
    out->addresses.push_back(std::move(addresses));
  }
  return absl::OkStatus();
}

// Calls fn(strides) on every list of strides by loop.
template <typename Fn>
void ForEachStrides(NestLoops& n, Fn fn) {
  for (auto& stage : n.addresses) {
    for (TileAddress& address : stage) {
      fn(address.strides);
      for (TileGuard& guard : address.guards) fn(guard.strides);
    }
  }
}

// Marks the loops whose index a body reads.
std::vector<bool> LoopsWithNumbers(const Nest& nest) {
  std::vector<bool> numbers(nest.outer.size() + nest.inner.size());
  for (const Stage& stage : nest.stages) {
    for (const Instr& instr : stage.body) {
      if (instr.op == ScalarOp::kIndex) numbers[instr.loop] = true;
    }
  }
  return numbers;
}

// Removes loop `i`; loop `into` takes over its index, or none if it is -1.
void Erase(NestLoops& n, std::vector<bool>& numbers, size_t i, int into) {
  n.loops.erase(n.loops.begin() + i);
  numbers.erase(numbers.begin() + i);
  ForEachStrides(n, [i](std::vector<int64_t>& s) { s.erase(s.begin() + i); });
  for (int& place : n.place) {
    if (place == static_cast<int>(i)) {
      place = into;
    } else if (place > static_cast<int>(i)) {
      --place;
    }
  }
}

// Removes loops of one point, except the lane loop, and joins outer loops that every access walks
// with one stride, because their points are independent. Inner loops stay, so that reductions
// combine values in the order of the schedule.
void Simplify(NestLoops& n, std::vector<bool> numbers, int lane_loop) {
  for (size_t i = n.loops.size(); i-- > 0;) {
    const bool lanes = lane_loop >= 0 && n.place[lane_loop] == static_cast<int>(i);
    if (n.loops[i].extent == 1 && !lanes) Erase(n, numbers, i, -1);
  }
  for (size_t i = n.loops.size(); i-- > 1;) {
    TileLoop& outer = n.loops[i - 1];
    const int64_t extent = n.loops[i].extent;
    bool joins = !outer.inner && !n.loops[i].inner && !numbers[i] && !numbers[i - 1];
    ForEachStrides(
        n, [&](const std::vector<int64_t>& s) { joins = joins && s[i - 1] == s[i] * extent; });
    if (!joins) continue;
    n.loops[i].extent *= outer.extent;
    Erase(n, numbers, i - 1, static_cast<int>(i) - 1);
  }
  n.lane = lane_loop < 0 ? -1 : n.place[lane_loop];
  n.columns = n.lane >= 0 && !n.loops[n.lane].inner;
}

}  // namespace

absl::StatusOr<int64_t> SizeOf(SymInt s, SizeFn value_of) {
  if (s.is_constant()) return s.value();
  const std::optional<int64_t> value = value_of(s);
  if (value) return *value;
  return absl::InvalidArgumentError(absl::StrCat("the size ", s.ToString(), " has no value"));
}

absl::StatusOr<NestLoops> MakeLoops(const Kernel& kernel, const Nest& nest,
                                    const NestSchedule& schedule, SizeFn value_of) {
  NestLoops n;
  for (const bool inner : {false, true}) {
    for (SymInt extent : inner ? nest.inner : nest.outer) {
      TileLoop loop;
      WEFT_ASSIGN_OR_RETURN(loop.extent, SizeOf(extent, value_of));
      loop.inner = inner;
      n.empty |= !inner && loop.extent <= 0;
      if (inner) n.inner_points *= std::max<int64_t>(loop.extent, 0);
      n.place.push_back(static_cast<int>(n.loops.size()));
      n.loops.push_back(loop);
    }
  }
  WEFT_RETURN_IF_ERROR(MakeAddresses(kernel, nest, value_of, &n));
  Simplify(n, LoopsWithNumbers(nest), schedule.lane_loop);
  int64_t position = 1;
  for (size_t i = n.loops.size(); i-- > 0 && n.loops[i].inner;) {
    n.loops[i].position = position;
    position *= n.loops[i].extent;
  }
  return n;
}

}  // namespace weft::cpu
