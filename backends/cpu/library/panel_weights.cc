#include "backends/cpu/library/panel_weights.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/threads/parallel.h"
#include "backends/runtime/host_memory.h"
#include "base/align.h"
#include "base/mapped_memory.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan_constants.h"

namespace weft::cpu {
namespace {

void PackPanel(const WeightView& view, const float* data, const WeightPanel& panel,
               const GemmTable& table, float* to) {
  for (int64_t t = 0; t < view.taps; ++t) {
    GemmPack pack;
    pack.from = data + panel.first * view.column + view.tap[t];
    pack.column = view.column;
    pack.step = view.step;
    pack.columns = panel.columns;
    pack.depth = view.depth;
    pack.vectors = panel.vectors;
    pack.to = to + t * view.depth * panel.vectors * table.lanes;
    table.pack(pack);
  }
}

int NumberOf(int64_t key) { return static_cast<int>(key & 0xffffffff); }

// All that the packed floats depend on, but the elements. Files have these names: panels that are
// laid out in another way need others.
std::string LayoutOf(int64_t key, const WeightView& view, const GemmTable& table) {
  return absl::StrCat("panels of ", table.vectors, "x", table.lanes, ": element ", key >> 32, ", ",
                      view.columns, " columns by ", view.column, ", depth ", view.depth, " by ",
                      view.step, ", taps at ", absl::StrJoin(view.tap, " "));
}

}  // namespace

std::vector<WeightPanel> PanelsFor(int64_t columns, int64_t length, const GemmTable& table) {
  std::vector<WeightPanel> panels;
  int64_t left = (columns + table.lanes - 1) / table.lanes;
  int64_t first = 0;
  int64_t offset = 0;
  while (left > 0) {
    int64_t vectors = std::min<int64_t>(left, table.vectors);
    // Avoids a panel of one vector beside a wide one.
    if (left == table.vectors + 1) vectors = (left + 1) / 2;
    WeightPanel panel;
    panel.first = first;
    panel.columns = std::min(columns - first, vectors * table.lanes);
    panel.vectors = static_cast<int>(vectors);
    panel.offset = offset;
    panels.push_back(panel);
    first += vectors * table.lanes;
    offset += vectors * table.lanes * length;
    left -= vectors;
  }
  return panels;
}

bool PanelWeights::Has(int64_t key) const { return keys_.contains(key); }

std::shared_ptr<const PackedPanels> PanelWeights::Get(int64_t key, const WeightView& view,
                                                      const GemmTable& table, int threads) {
  Key whole = {key, view.columns, view.depth, view.column, view.step, table.lanes};
  whole.insert(whole.end(), view.tap.begin(), view.tap.end());
  auto& found = packed_[whole];
  if (found != nullptr) return found;
  auto packed = std::make_shared<PackedPanels>();
  packed->panels = PanelsFor(view.columns, view.length(), table);
  const WeightPanel& last = packed->panels.back();
  const int64_t floats = last.offset + last.vectors * table.lanes * view.length();
  const std::string layout = LayoutOf(key, view, table);
  if (const HostTensor* const copy = FindCopy(key, layout, floats)) {
    packed->floats = copy->data<float>();
    packed->num_floats = floats;
    packed->memory = copy->buffer();
    keys_.insert(key);
    found = std::move(packed);
    return found;
  }
  packed->memory = AllocateAligned(floats * 4, profiler::MemoryCategory::kParameter);
  if (packed->memory == nullptr) return nullptr;
  float* to = reinterpret_cast<float*>(packed->memory->data());
  packed->floats = to;
  packed->num_floats = floats;
  const auto* data = static_cast<const float*>(view.load ? view.load() : view.data);
  const int64_t n = static_cast<int64_t>(packed->panels.size());
  ForEachNext(threads, n, [&](int64_t i, const TeamMember&) {
    PackPanel(view, data, packed->panels[i], table, to + packed->panels[i].offset);
  });
  if (!view.load && view.column > 0 && view.step > 0) {
    ReleaseMappedPages(data, view.columns * view.length() * static_cast<int64_t>(sizeof(float)));
  }
  bytes_ += floats * 4;
  keys_.insert(key);
  if (key >= 0) own_.push_back({key, layout, packed});
  found = std::move(packed);
  return found;
}

const HostTensor* PanelWeights::FindCopy(int64_t key, const std::string& layout,
                                         int64_t floats) const {
  if (key < 0 || constants_ == nullptr) return nullptr;
  const auto constant = constants_->by_number.find(NumberOf(key));
  if (constant == constants_->by_number.end()) return nullptr;
  for (const PackedConstant& packed : constant->second.packed) {
    const HostTensor& data = packed.data;
    if (packed.layout != layout || data.dtype() != DType::kF32 || data.numel() != floats ||
        !data.is_contiguous() || reinterpret_cast<uintptr_t>(data.raw()) % kCacheLine != 0) {
      continue;
    }
    return &data;
  }
  return nullptr;
}

std::vector<std::pair<int, PackedConstant>> PanelWeights::Packed() const {
  std::vector<std::pair<int, PackedConstant>> packed;
  for (const Own& own : own_) {
    auto data = HostTensor::View(own.packed->memory, DType::kF32, {own.packed->num_floats});
    if (data.ok()) packed.push_back({NumberOf(own.key), {own.layout, *std::move(data)}});
  }
  return packed;
}

std::shared_ptr<const HostBuffer> PanelWeights::GetPacked(std::vector<int64_t> key, int64_t floats,
                                                          absl::FunctionRef<void(float*)> pack) {
  auto& found = others_[std::move(key)];
  if (found != nullptr) return found;
  auto memory = AllocateAligned(floats * 4, profiler::MemoryCategory::kParameter);
  if (memory == nullptr) return nullptr;
  pack(reinterpret_cast<float*>(memory->data()));
  bytes_ += floats * 4;
  found = std::move(memory);
  return found;
}

}  // namespace weft::cpu
