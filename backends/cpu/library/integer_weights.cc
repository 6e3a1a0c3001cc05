#include "backends/cpu/library/integer_weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/threads/parallel.h"
#include "backends/runtime/host_memory.h"
#include "base/align.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

// The largest sum of two weights of one sign that, times 255, fits in 16 bits.
constexpr int32_t kMaxPair = 128;
// Parts of which any four weights in [-255, 255] are the sum.
constexpr int kMaxParts = 4;

// Four weights of a column as the sum of parts that the kernel multiplies at once: weights of i8
// and, where pairs of products saturate, pairs that do not. Most groups are one part.
struct Group {
  int32_t parts[kMaxParts][kIntegerGroup] = {};
  int count = 0;
};

// Moves as much of a pair as may be multiplied at once from `rest` to `part`.
void TakePair(bool saturates, int32_t* rest, int32_t* part) {
  for (int k = 0; k < 2; ++k) part[k] = std::clamp(rest[k], -128, 127);
  const int32_t sum = part[0] + part[1];
  const bool one_sign = (part[0] < 0) == (part[1] < 0);
  if (saturates && one_sign && sum > kMaxPair) part[1] -= sum - kMaxPair;
  if (saturates && one_sign && sum < -kMaxPair) part[1] -= sum + kMaxPair;
  for (int k = 0; k < 2; ++k) rest[k] -= part[k];
}

Group GroupAt(const IntegerWeightView& view, bool saturates, int64_t column, int64_t tap,
              int64_t begin) {
  Group group;
  int32_t rest[kIntegerGroup] = {};
  for (int64_t k = 0; k < kIntegerGroup && begin + k < view.depth; ++k) {
    rest[k] = view.At(column, tap, begin + k);
  }
  bool more = true;
  while (more && group.count < kMaxParts) {
    int32_t* part = group.parts[group.count++];
    for (int k = 0; k < kIntegerGroup; k += 2) TakePair(saturates, rest + k, part + k);
    more = std::any_of(rest, rest + kIntegerGroup, [](int32_t left) { return left != 0; });
  }
  return group;
}

// Packs one panel in two passes, between which its memory is laid out: neither allocates.
class PanelPacker {
 public:
  PanelPacker(const IntegerWeightView& view, const IntegerGemmTable& table,
              PackedIntegerPanel* panel)
      : view_(view), lanes_(table.lanes), saturates_(table.saturates), panel_(*panel) {}

  // Counts the entries of the excess and adds up the columns.
  void Count(int32_t* sums) {
    ForEachGroup([&](int vector, int64_t tap, int64_t begin, int64_t) {
      int parts = 1;
      ForEachColumn(vector, [&](int64_t, int64_t column) {
        const Group group = GroupAt(view_, saturates_, panel_.first + column, tap, begin);
        for (int i = 0; i < group.count; ++i) {
          for (int64_t k = 0; k < kIntegerGroup; ++k) sums[column] += group.parts[i][k];
        }
        parts = std::max(parts, group.count);
      });
      panel_.excess[vector].count += parts - 1;
    });
  }

  // Writes the weights to zeroed memory.
  void Fill(uint8_t* memory) {
    int64_t filled[kMaxIntegerVectors] = {};
    ForEachGroup([&](int vector, int64_t tap, int64_t begin, int64_t index) {
      const PackedIntegerPanel::Excess& excess = panel_.excess[vector];
      uint8_t* to = memory + panel_.weights_at + index * lanes_ * kIntegerGroup;
      uint8_t* rest = memory + excess.weights_at + filled[vector] * lanes_ * kIntegerGroup;
      int parts = 1;
      ForEachColumn(vector, [&](int64_t lane, int64_t column) {
        const Group group = GroupAt(view_, saturates_, panel_.first + column, tap, begin);
        Write(group.parts[0], to + lane * kIntegerGroup);
        for (int i = 1; i < group.count; ++i) {
          Write(group.parts[i], rest + ((i - 1) * lanes_ + lane) * kIntegerGroup);
        }
        parts = std::max(parts, group.count);
      });
      auto* offsets = reinterpret_cast<int64_t*>(memory + excess.offsets_at);
      for (int i = 1; i < parts; ++i) offsets[filled[vector]++] = begin;
      reinterpret_cast<int64_t*>(memory + excess.first_at)[tap + 1] = filled[vector];
    });
  }

 private:
  // fn(vector, tap, first index of the group, number of the group), in the order of the memory.
  template <typename Fn>
  void ForEachGroup(Fn fn) const {
    int64_t index = 0;
    for (int64_t tap = 0; tap < view_.taps(); ++tap) {
      for (int64_t begin = 0; begin < view_.depth; begin += kIntegerGroup) {
        for (int v = 0; v < panel_.vectors; ++v) fn(v, tap, begin, index++);
      }
    }
  }

  // fn(lane, column of the panel)
  template <typename Fn>
  void ForEachColumn(int vector, Fn fn) const {
    const int64_t first = vector * lanes_;
    const int64_t last = std::min(panel_.columns, first + lanes_);
    for (int64_t column = first; column < last; ++column) fn(column - first, column);
  }

  static void Write(const int32_t (&values)[kIntegerGroup], uint8_t* to) {
    for (int64_t k = 0; k < kIntegerGroup; ++k) to[k] = static_cast<uint8_t>(values[k]);
  }

  const IntegerWeightView& view_;
  const int64_t lanes_;
  const bool saturates_;
  PackedIntegerPanel& panel_;
};

std::vector<PackedIntegerPanel> PanelsFor(int64_t columns, const IntegerGemmTable& table) {
  std::vector<PackedIntegerPanel> panels;
  const int64_t width = table.lanes * table.vectors;
  for (int64_t first = 0; first < columns; first += width) {
    PackedIntegerPanel panel;
    panel.first = first;
    panel.columns = std::min(width, columns - first);
    panel.vectors = static_cast<int>((panel.columns + table.lanes - 1) / table.lanes);
    panels.push_back(panel);
  }
  return panels;
}

// Gives each part of the panels a place; returns the bytes of all.
int64_t LayOut(const IntegerWeightView& view, int64_t lanes,
               std::vector<PackedIntegerPanel>* panels) {
  int64_t bytes = 0;
  const auto place = [&](int64_t size) {
    const int64_t at = bytes;
    bytes += AlignUp(size, kCacheLine);
    return at;
  };
  const int64_t groups = (view.depth + kIntegerGroup - 1) / kIntegerGroup;
  const int64_t vector_bytes = lanes * kIntegerGroup;
  for (PackedIntegerPanel& panel : *panels) {
    panel.weights_at = place(view.taps() * groups * panel.vectors * vector_bytes);
    for (int v = 0; v < panel.vectors; ++v) {
      PackedIntegerPanel::Excess& excess = panel.excess[v];
      excess.first_at = place((view.taps() + 1) * 8);
      excess.offsets_at = place(excess.count * 8);
      excess.weights_at = place(excess.count * vector_bytes);
    }
  }
  return bytes;
}

}  // namespace

int32_t IntegerWeightView::At(int64_t c, int64_t t, int64_t index) const {
  int64_t offset = index * step;
  if (point > 0) {
    if (index % point >= point_depth) return 0;
    offset = index / point * point_stride + index % point * step;
  }
  const uint8_t byte = data[c * column + tap[t] + offset];
  const int32_t value = is_signed ? static_cast<int8_t>(byte) : byte;
  if (zero_points.empty()) return value;
  return value - zero_points[zero_points.size() == 1 ? 0 : c];
}

void IntegerWeightView::ReadZeroPoints(const void* memory, int64_t count, int64_t stride) {
  zero_points.clear();
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t byte = static_cast<const uint8_t*>(memory)[i * stride];
    zero_points.push_back(is_signed ? static_cast<int8_t>(byte) : byte);
  }
}

void PackedIntegers::Describe(const PackedIntegerPanel& from, IntegerPanel* panel) const {
  const uint8_t* base = memory->data();
  panel->weights = reinterpret_cast<const int8_t*>(base + from.weights_at);
  panel->vectors = from.vectors;
  panel->columns = from.columns;
  const bool has_excess = std::any_of(from.excess, from.excess + from.vectors,
                                      [](const auto& excess) { return excess.count > 0; });
  for (int v = 0; v < from.vectors; ++v) {
    if (!has_excess) {
      panel->excess[v] = {};
      continue;
    }
    const PackedIntegerPanel::Excess& excess = from.excess[v];
    panel->excess[v] = {reinterpret_cast<const int64_t*>(base + excess.first_at),
                        reinterpret_cast<const int64_t*>(base + excess.offsets_at),
                        reinterpret_cast<const int8_t*>(base + excess.weights_at)};
  }
}

absl::StatusOr<std::shared_ptr<const PackedIntegers>> PackIntegers(const IntegerWeightView& view,
                                                                   const IntegerGemmTable& table,
                                                                   int threads) {
  auto packed = std::make_shared<PackedIntegers>();
  packed->panels = PanelsFor(view.columns, table);
  packed->sums.assign(AlignUp(view.columns, table.lanes), 0);
  const int64_t n = static_cast<int64_t>(packed->panels.size());
  ForEachNext(threads, n, [&](int64_t i, const TeamMember&) {
    PackedIntegerPanel& panel = packed->panels[i];
    PanelPacker(view, table, &panel).Count(&packed->sums[panel.first]);
  });
  const int64_t bytes = LayOut(view, table.lanes, &packed->panels);
  packed->memory = AllocateAligned(bytes, profiler::MemoryCategory::kParameter);
  if (packed->memory == nullptr) return absl::ResourceExhaustedError("no memory for weights");
  std::memset(packed->memory->data(), 0, bytes);
  ForEachNext(threads, n, [&](int64_t i, const TeamMember&) {
    PanelPacker(view, table, &packed->panels[i]).Fill(packed->memory->data());
  });
  return std::shared_ptr<const PackedIntegers>(std::move(packed));
}

absl::StatusOr<std::shared_ptr<const PackedIntegers>> IntegerWeights::Get(
    int64_t key, const IntegerWeightView& view, const IntegerGemmTable& table, int threads) {
  Key whole = {key,         view.columns,    view.depth, view.column,      view.step,
               table.lanes, table.saturates, view.point, view.point_depth, view.point_stride};
  whole.insert(whole.end(), view.tap.begin(), view.tap.end());
  whole.insert(whole.end(), view.zero_points.begin(), view.zero_points.end());
  auto& found = packed_[whole];
  if (found != nullptr) return found;
  WEFT_ASSIGN_OR_RETURN(found, PackIntegers(view, table, threads));
  bytes_ += found->bytes();
  return found;
}

}  // namespace weft::cpu
