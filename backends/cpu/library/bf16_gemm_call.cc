#include "backends/cpu/library/bf16_gemm_call.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "backends/cpu/library/scratch_plan.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

// Bytes of the rows that are multiplied by all panels before the next ones: each panel passes from
// memory for that many rows, which themselves come from L2 and the last-level cache.
constexpr int64_t kShareBytes = 1 << 20;
// Elements that a thread rounds at a time.
constexpr int64_t kRoundedAtOnce = 4096;
// The keys of other packed weights (PanelWeights::GetPacked) do not begin with it.
constexpr int64_t kBf16Key = -3;

float FloatOf(uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}

// --- Weights -----------------------------------------------------------------------------

// A panel's weights of one tap as [columns, depth] of bf16.
void GatherTap(const WeightView& view, DType dtype, const void* data, const WeightPanel& panel,
               int64_t tap, uint16_t* to) {
  std::vector<float> row(view.depth);
  for (int64_t j = 0; j < panel.columns; ++j, to += view.depth) {
    const int64_t at = (panel.first + j) * view.column + view.tap[tap];
    if (dtype == DType::kBF16) {
      const auto* from = static_cast<const uint16_t*>(data) + at;
      for (int64_t k = 0; k < view.depth; ++k) to[k] = from[k * view.step];
      continue;
    }
    const auto* from = static_cast<const float*>(data) + at;
    for (int64_t k = 0; k < view.depth; ++k) row[k] = from[k * view.step];
    Avx512Bf16Gemm().round(row.data(), view.depth, to);
  }
}

// Pairs of elements are packed as f32 are, which moves their bits only.
void PackPanel(const WeightView& view, DType dtype, const void* data, const WeightPanel& panel,
               const GemmTable& table, float* to) {
  const int64_t pairs = view.depth / kBf16Pair;
  std::vector<float> columns(panel.columns * pairs);
  for (int64_t t = 0; t < view.taps; ++t, to += pairs * panel.vectors * table.lanes) {
    GatherTap(view, dtype, data, panel, t, reinterpret_cast<uint16_t*>(columns.data()));
    table.pack({columns.data(), pairs, 1, panel.columns, pairs, panel.vectors, to});
  }
}

}  // namespace

PackedBf16 PackBf16(int64_t key, DType dtype, const WeightView& view, PanelWeights* weights,
                    int threads) {
  const GemmTable& table = Avx512Gemm();
  const int64_t pairs = view.length() / kBf16Pair;
  PackedBf16 packed;
  packed.panels = PanelsFor(view.columns, pairs, table);
  const WeightPanel& last = packed.panels.back();
  std::vector<int64_t> whole = {
      kBf16Key, key, static_cast<int64_t>(dtype), view.columns, view.depth, view.column, view.step};
  whole.insert(whole.end(), view.tap.begin(), view.tap.end());
  packed.memory = weights->GetPacked(
      std::move(whole), last.offset + last.vectors * table.lanes * pairs, [&](float* to) {
        const void* data = view.load ? view.load() : view.data;
        const auto n = static_cast<int64_t>(packed.panels.size());
        ForEachNext(threads, n, [&](int64_t i, const TeamMember&) {
          PackPanel(view, dtype, data, packed.panels[i], table, to + packed.panels[i].offset);
        });
      });
  return packed;
}

// --- The call ----------------------------------------------------------------------------

namespace {

class Bf16GemmCall : public LibraryCall {
 public:
  Bf16GemmCall(GemmShape shape, GemmFollow follow, Bf16Form form, std::vector<int> slots,
               PackedBf16 packed, int threads)
      : shape_(std::move(shape)),
        follow_(std::move(follow)),
        form_(std::move(form)),
        slots_(std::move(slots)),
        packed_(std::move(packed)),
        table_(Avx512Bf16Gemm()),
        threads_(threads),
        zeros_(shape_.weights.depth) {
    if (slots_[kDnnBias] >= 0) {
      bias_at_ = scratch_.Place(AlignUp(shape_.weights.columns, table_.lanes) * 4);
    }
    if (form_.image) {
      x_at_ = scratch_.Place(form_.image->elements() * 2);
    } else if (rounds_operands()) {
      x_at_ = scratch_.Place(form_.x_elements * 2);
    }
    ChooseShares();
  }

  int64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string name() const override { return "bf16_gemm"; }
  bool rounds_operands() const override { return form_.x == DType::kF32; }

  absl::Status Run(const CallMemory& memory) override {
    char* const scratch = static_cast<char*>(memory.scratch);
    Bf16Panel panel;
    const void* x = memory.args[slots_[kDnnSource]];
    panel.x = Read(x, reinterpret_cast<uint16_t*>(scratch + x_at_));
    panel.taps = shape_.weights.taps;
    panel.depth = shape_.weights.depth;
    panel.zeros = zeros_.data();
    if (slots_[kDnnBias] >= 0) panel.bias = Bias(memory.args[slots_[kDnnBias]], scratch + bias_at_);
    panel.wide = form_.y == DType::kF32;
    panel.y = memory.result;
    panel.y_row = shape_.y_row;
    panel.least = follow_.least;
    panel.most = follow_.most;
    panel.stages = follow_.stages.data();
    panel.num_stages = static_cast<int64_t>(std::min(kMostStages, follow_.stages.size()));
    if (follow_.accumulates) {
      panel.addend = memory.result;
      panel.addend_row = shape_.y_row;
    } else if (follow_.addend.slot >= 0) {
      panel.addend = memory.args[follow_.addend.slot];
      panel.addend_row = follow_.addend.row;
    }
    const void* operands[kMostStages];
    for (int64_t s = 0; s < panel.num_stages; ++s) {
      const int slot = follow_.operands[s].slot;
      operands[s] = slot < 0 ? nullptr : memory.args[slot];
    }
    panel.operands = operands;
    RunShares(panel);
    return absl::OkStatus();
  }

 private:
  // Shares of about equal size, of whole blocks of rows; at least some for each thread. Of fewer
  // rows, one for each thread where the panels do not divide as well.
  void ChooseShares() {
    constexpr int64_t kBlock = 24;  // A multiple of the rows of a block, whatever its width.
    constexpr int64_t kLeastRows = 16;
    const int64_t row_bytes = shape_.weights.depth * 2;
    const int64_t most = std::max(4 * kBlock, kShareBytes / row_bytes);
    int64_t shares = (shape_.rows + most - 1) / most;
    if (threads_ > 1 && shape_.rows >= 8 * kBlock * threads_) {
      shares = std::max<int64_t>(shares, 4 * threads_);
    } else if (shape_.rows >= kLeastRows * threads_ && shares <= threads_ && !PanelsDivide()) {
      share_rows_ = (shape_.rows + threads_ - 1) / threads_;
      return;
    }
    share_rows_ = AlignUp((shape_.rows + shares - 1) / shares, kBlock);
  }

  // Whether the thread with the most panels has not much more than its part of them.
  bool PanelsDivide() const {
    constexpr double kUneven = 1.1;
    const auto panels = static_cast<int64_t>(packed_.panels.size());
    const int64_t most = (panels + threads_ - 1) / threads_;
    return static_cast<double>(most * threads_) <= kUneven * static_cast<double>(panels);
  }

  const uint16_t* Read(const void* x, uint16_t* scratch) const {
    if (form_.image) {
      CopyImage(*form_.image, x, threads_, scratch);
      return scratch;
    }
    if (!rounds_operands()) return static_cast<const uint16_t*>(x);
    const int64_t n = form_.x_elements;
    const int64_t pieces = (n + kRoundedAtOnce - 1) / kRoundedAtOnce;
    ForEach(threads_, pieces, [&](int64_t piece, const TeamMember&) {
      const int64_t i = piece * kRoundedAtOnce;
      table_.round(static_cast<const float*>(x) + i, std::min(kRoundedAtOnce, n - i), scratch + i);
    });
    return scratch;
  }

  const float* Bias(const void* given, char* scratch) const {
    auto* bias = reinterpret_cast<float*>(scratch);
    const int64_t columns = shape_.weights.columns;
    for (int64_t j = 0; j < columns; ++j) {
      bias[j] = form_.bias == DType::kF32 ? static_cast<const float*>(given)[j]
                                          : FloatOf(static_cast<const uint16_t*>(given)[j]);
    }
    std::fill(bias + columns, bias + AlignUp(columns, table_.lanes), 0.0f);
    return bias;
  }

  // Threads take shares of the rows and, where those are few, of the panels.
  void RunShares(const Bf16Panel& panel) const {
    const int64_t shares = (shape_.rows + share_rows_ - 1) / share_rows_;
    const auto panels = static_cast<int64_t>(packed_.panels.size());
    const bool by_rows = shares >= 2 * threads_ || (shares == threads_ && !PanelsDivide());
    const int64_t splits = by_rows ? 1 : std::min<int64_t>(panels, 2 * threads_);
    ForEachNext(threads_, shares * splits, [&](int64_t item, const TeamMember&) {
      const int64_t s = item / splits, p = item % splits;
      for (int64_t i = panels * p / splits; i < panels * (p + 1) / splits; ++i) {
        // As ForEachNext divides the shares.
        RunPanel(panel, s * share_rows_, i, BeginsRange(shares, threads_, s));
      }
    });
  }

  void RunPanel(Bf16Panel part, int64_t row, int64_t index, bool is_first) const {
    const WeightPanel& columns = packed_.panels[index];
    const int64_t bytes = part.wide ? 4 : 2;
    const auto at = [&](const void* first, int64_t row_stride, int64_t column) -> const char* {
      if (first == nullptr) return nullptr;
      return static_cast<const char*>(first) + (row * row_stride + columns.first * column) * bytes;
    };
    part.rows = std::min(share_rows_, shape_.rows - row);
    part.offsets = shape_.offsets.data() + row * part.taps;
    part.weights = WeightsOf(columns);
    // Only the first rows of a thread find the weights outside of its L2.
    if (is_first && index + 1 < static_cast<int64_t>(packed_.panels.size())) {
      const WeightPanel& next = packed_.panels[index + 1];
      part.next = reinterpret_cast<const char*>(WeightsOf(next));
      part.next_bytes = shape_.weights.length() * next.vectors * table_.lanes * 2;
    }
    part.vectors = columns.vectors;
    part.columns = columns.columns;
    if (part.bias != nullptr) part.bias += columns.first;
    part.addend = at(part.addend, part.addend_row, 1);
    part.y = const_cast<char*>(at(part.y, part.y_row, 1));
    const void* operands[kMostStages];
    for (int64_t s = 0; s < part.num_stages; ++s) {
      operands[s] = at(part.operands[s], part.stages[s].row, part.stages[s].column);
    }
    part.operands = operands;
    table_.run(part);
  }

  const uint16_t* WeightsOf(const WeightPanel& panel) const {
    return packed_.data() + panel.offset * kBf16Pair;
  }

  const GemmShape shape_;
  const GemmFollow follow_;
  const Bf16Form form_;
  const std::vector<int> slots_;
  const PackedBf16 packed_;
  const Bf16GemmTable& table_;
  const int threads_;
  const std::vector<uint16_t> zeros_;
  int64_t share_rows_ = 0;
  // Places in scratch.
  ScratchPlan scratch_;
  int64_t bias_at_ = 0;
  int64_t x_at_ = 0;
};

}  // namespace

std::unique_ptr<LibraryCall> MakeBf16PanelCall(GemmShape shape, GemmFollow follow, Bf16Form form,
                                               std::vector<int> slots, PackedBf16 packed,
                                               int threads) {
  return std::make_unique<Bf16GemmCall>(std::move(shape), std::move(follow), form, std::move(slots),
                                        std::move(packed), threads);
}

}  // namespace weft::cpu
