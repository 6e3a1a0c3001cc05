#include "backends/cpu/library/integer_weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace weft::cpu {
namespace {

// The largest sum of two weights of one sign that, times 255, fits in 16 bits.
constexpr int32_t kMaxPair = 128;

// Moves to `*second`'s excess what makes a pair of one sign larger than 16 bits hold.
int32_t TakeExcess(int32_t first, int32_t* second) {
  const int32_t sum = first + *second;
  const bool same_sign = (first < 0) == (*second < 0);
  if (!same_sign || (sum <= kMaxPair && sum >= -kMaxPair)) return 0;
  const int32_t excess = sum > 0 ? sum - kMaxPair : sum + kMaxPair;
  *second -= excess;
  return excess;
}

class PanelPacker {
 public:
  PanelPacker(const IntegerWeightView& view, int64_t lanes, PackedIntegerPanel* panel,
              int32_t* sums)
      : view_(view), lanes_(lanes), panel_(*panel), sums_(sums) {}

  // False when a weight does not fit.
  bool Run() {
    const int64_t groups = (view_.depth + kIntegerGroup - 1) / kIntegerGroup;
    const int64_t vector_bytes = lanes_ * kIntegerGroup;
    panel_.weights.assign(view_.taps() * groups * panel_.vectors * vector_bytes, 0);
    panel_.excess.resize(panel_.vectors);
    for (auto& excess : panel_.excess) excess.first = {0};
    int8_t* to = panel_.weights.data();
    for (int64_t tap = 0; tap < view_.taps(); ++tap) {
      for (int64_t g = 0; g < groups; ++g) {
        for (int v = 0; v < panel_.vectors; ++v, to += vector_bytes) {
          if (!PackGroup(v, tap, g * kIntegerGroup, to)) return false;
        }
      }
      for (auto& excess : panel_.excess) {
        excess.first.push_back(static_cast<int64_t>(excess.offsets.size()));
      }
    }
    return true;
  }

 private:
  bool PackGroup(int vector, int64_t tap, int64_t begin, int8_t* to) {
    std::vector<int8_t> rest(lanes_ * kIntegerGroup, 0);
    bool any = false;
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      const int64_t own = vector * lanes_ + lane;
      if (own >= panel_.columns) break;
      int32_t w[kIntegerGroup] = {};
      for (int64_t k = 0; k < kIntegerGroup && begin + k < view_.depth; ++k) {
        w[k] = view_.At(panel_.first + own, tap, begin + k);
        if (w[k] < -128 || w[k] > 127) return false;
        sums_[own] += w[k];
      }
      for (int64_t k = 0; k < kIntegerGroup; k += 2) {
        const int32_t excess = TakeExcess(w[k], &w[k + 1]);
        rest[lane * kIntegerGroup + k + 1] = static_cast<int8_t>(excess);
        any = any || excess != 0;
      }
      for (int64_t k = 0; k < kIntegerGroup; ++k) {
        to[lane * kIntegerGroup + k] = static_cast<int8_t>(w[k]);
      }
    }
    if (any) {
      PackedIntegerPanel::Excess& excess = panel_.excess[vector];
      excess.offsets.push_back(begin);
      excess.weights.insert(excess.weights.end(), rest.begin(), rest.end());
    }
    return true;
  }

  const IntegerWeightView& view_;
  const int64_t lanes_;
  PackedIntegerPanel& panel_;
  int32_t* const sums_;  // Of the panel's columns.
};

std::vector<PackedIntegerPanel> PanelsFor(int64_t columns, const IntegerGemmTable& table) {
  std::vector<PackedIntegerPanel> panels;
  const int64_t width = table.lanes * table.vectors;
  for (int64_t first = 0; first < columns; first += width) {
    PackedIntegerPanel panel;
    panel.first = first;
    panel.columns = std::min(width, columns - first);
    panel.vectors = static_cast<int>((panel.columns + table.lanes - 1) / table.lanes);
    panels.push_back(std::move(panel));
  }
  return panels;
}

}  // namespace

int32_t IntegerWeightView::At(int64_t c, int64_t t, int64_t index) const {
  const uint8_t byte = data[c * column + tap[t] + index * step];
  const int32_t value = is_signed ? static_cast<int8_t>(byte) : byte;
  if (zero_points.empty()) return value;
  return value - zero_points[zero_points.size() == 1 ? 0 : c];
}

void PackedIntegerPanel::Describe(IntegerPanel* panel) const {
  panel->weights = weights.data();
  panel->vectors = vectors;
  panel->columns = columns;
  for (int v = 0; v < vectors; ++v) {
    panel->excess[v] = {excess[v].first.data(), excess[v].offsets.data(), excess[v].weights.data()};
  }
}

int64_t PackedIntegers::bytes() const {
  int64_t bytes = static_cast<int64_t>(sums.size() * sizeof(int32_t));
  for (const PackedIntegerPanel& panel : panels) {
    bytes += static_cast<int64_t>(panel.weights.size());
    for (const auto& excess : panel.excess) {
      bytes += static_cast<int64_t>(excess.weights.size() + 8 * excess.offsets.size());
    }
  }
  return bytes;
}

std::shared_ptr<const PackedIntegers> PackIntegers(const IntegerWeightView& view,
                                                   const IntegerGemmTable& table, int threads) {
  auto packed = std::make_shared<PackedIntegers>();
  packed->panels = PanelsFor(view.columns, table);
  packed->sums.assign((view.columns + table.lanes - 1) / table.lanes * table.lanes, 0);
  const int64_t n = static_cast<int64_t>(packed->panels.size());
  std::atomic<bool> fits{true};
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t i = 0; i < n; ++i) {
    PackedIntegerPanel& panel = packed->panels[i];
    if (!PanelPacker(view, table.lanes, &panel, &packed->sums[panel.first]).Run()) fits = false;
  }
  return fits ? packed : nullptr;
}

std::shared_ptr<const PackedIntegers> IntegerWeights::Get(int64_t key,
                                                          const IntegerWeightView& view,
                                                          const IntegerGemmTable& table,
                                                          int threads) {
  Key whole = {key, view.columns, view.depth, view.column, view.step, table.lanes};
  whole.insert(whole.end(), view.tap.begin(), view.tap.end());
  whole.insert(whole.end(), view.zero_points.begin(), view.zero_points.end());
  auto& found = packed_[whole];
  if (found != nullptr) return found;
  found = PackIntegers(view, table, threads);
  if (found != nullptr) bytes_ += found->bytes();
  return found;
}

}  // namespace weft::cpu
