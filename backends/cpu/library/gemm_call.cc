#include "backends/cpu/library/gemm_call.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

// Bytes of the first operand's rows that stay in cache while all panels are multiplied.
constexpr int64_t kRowBytes = 1792 << 10;

class GemmCall : public LibraryCall {
 public:
  GemmCall(GemmShape shape, GemmFollow follow, std::vector<int> slots,
           std::shared_ptr<const PackedPanels> packed, const GemmTable& table, int threads)
      : shape_(std::move(shape)),
        follow_(std::move(follow)),
        slots_(std::move(slots)),
        packed_(std::move(packed)),
        table_(table),
        threads_(threads),
        zeros_(shape_.weights.depth) {
    const int64_t columns = shape_.weights.columns;
    if (slots_[kDnnBias] >= 0 && columns % table_.lanes != 0) bias_floats_ = Padded(columns);
    const int64_t row_bytes = shape_.weights.depth * 4;
    const int64_t most = std::max<int64_t>(96, kRowBytes / row_bytes);
    const int64_t chunks = (shape_.rows + most - 1) / most;
    per_chunk_ = (shape_.rows / chunks + 24) / 24 * 24;
    by_rows_ = ChooseRows();
  }

  int64_t scratch_bytes() const override {
    return (bias_floats_ + threads_ * kGemmScratchFloats) * 4;
  }
  std::string name() const override { return "gemm"; }

  absl::Status Run(const CallMemory& memory) override {
    const absl::Span<void* const> args = memory.args;
    float* room = static_cast<float*>(memory.scratch);
    GemmPanel panel;
    panel.x = static_cast<const float*>(args[slots_[kDnnSource]]);
    panel.y = static_cast<float*>(memory.result);
    if (slots_[kDnnBias] >= 0) panel.bias = static_cast<const float*>(args[slots_[kDnnBias]]);
    if (bias_floats_ > 0) {
      std::copy(panel.bias, panel.bias + shape_.weights.columns, room);
      std::fill(room + shape_.weights.columns, room + bias_floats_, 0.0f);
      panel.bias = room;
    }
    if (follow_.accumulates) {
      panel.addend = panel.y;
    } else if (follow_.addend.slot >= 0) {
      panel.addend = static_cast<const float*>(args[follow_.addend.slot]);
    }
    for (size_t s = 0; s < follow_.stages.size(); ++s) {
      const int slot = follow_.operands[s].slot;
      follow_.stages[s].operand = slot < 0 ? nullptr : static_cast<const float*>(args[slot]);
    }
    const int threads = static_cast<int>(
        std::min<int64_t>(threads_, by_rows_ ? shape_.rows / 8 + 1 : packed_->panels.size()));
    RunTeam(threads, [&](const TeamMember& member) {
      RunShare(panel, member.index, member.count,
               room + bias_floats_ + member.index * kGemmScratchFloats);
    });
    return absl::OkStatus();
  }

 private:
  int64_t Padded(int64_t columns) const { return AlignUp(columns, table_.lanes); }

  int64_t RowAt(int64_t share, int64_t shares) const {
    return share == shares ? shape_.rows : shape_.rows * share / shares / 8 * 8;
  }
  size_t PanelAt(int64_t share, int64_t shares) const {
    return packed_->panels.size() * share / shares;
  }

  // True if threads split the rows and each reads all weights; false if they split the panels and
  // each reads all rows. Compares the largest share of work in both cases, with a bias toward
  // splitting the smaller operand.
  bool ChooseRows() const {
    if (threads_ == 1) return false;
    int64_t most_rows = 0;
    int64_t most_vectors = 0;
    int64_t vectors = 0;
    for (int t = 0; t < threads_; ++t) {
      most_rows = std::max(most_rows, RowAt(t + 1, threads_) - RowAt(t, threads_));
      int64_t own = 0;
      for (size_t p = PanelAt(t, threads_); p < PanelAt(t + 1, threads_); ++p) {
        own += packed_->panels[p].vectors;
      }
      most_vectors = std::max(most_vectors, own);
      vectors += own;
    }
    const double rows = static_cast<double>(most_rows) * threads_ / shape_.rows;
    const double panels = static_cast<double>(most_vectors) * threads_ / vectors;
    return rows + (shape_.weights.columns > shape_.rows ? 0.05 : -0.05) < panels;
  }

  void RunShare(GemmPanel panel, int share, int shares, float* scratch) const {
    const int64_t first = by_rows_ ? RowAt(share, shares) : 0;
    const int64_t last = by_rows_ ? RowAt(share + 1, shares) : shape_.rows;
    const size_t begin = by_rows_ ? 0 : PanelAt(share, shares);
    const size_t end = by_rows_ ? packed_->panels.size() : PanelAt(share + 1, shares);
    for (int64_t row = first; row < last; row += per_chunk_) {
      for (size_t p = begin; p < end; ++p) {
        RunPanel(panel, packed_->panels[p], row, std::min(per_chunk_, last - row), scratch);
      }
    }
  }

  void RunPanel(GemmPanel panel, const WeightPanel& weights, int64_t row, int64_t rows,
                float* scratch) const {
    const auto at = [&](const float* operand, int64_t row_stride, int64_t column) {
      return operand == nullptr ? nullptr : operand + row * row_stride + weights.first * column;
    };
    const int64_t taps = shape_.weights.taps;
    panel.offsets = shape_.offsets.data() + row * taps;
    panel.taps = taps;
    panel.depth = shape_.weights.depth;
    panel.zeros = zeros_.data();
    panel.rows = rows;
    panel.weights = packed_->data() + weights.offset;
    panel.end = packed_->end();
    panel.vectors = weights.vectors;
    panel.columns = weights.columns;
    panel.bias = at(panel.bias, 0, 1);
    panel.addend_row = follow_.accumulates ? shape_.y_row : follow_.addend.row;
    panel.addend = at(panel.addend, panel.addend_row, 1);
    panel.y += row * shape_.y_row + weights.first;
    panel.y_row = shape_.y_row;
    panel.least = follow_.least;
    panel.most = follow_.most;
    GemmStage stages[kMostStages];
    panel.num_stages = static_cast<int64_t>(std::min(kMostStages, follow_.stages.size()));
    for (int64_t s = 0; s < panel.num_stages; ++s) {
      stages[s] = follow_.stages[s];
      stages[s].operand = at(stages[s].operand, stages[s].row, stages[s].column);
    }
    panel.stages = stages;
    table_.run(panel, scratch);
  }

  const GemmShape shape_;
  GemmFollow follow_;
  const std::vector<int> slots_;
  const std::shared_ptr<const PackedPanels> packed_;
  const GemmTable& table_;
  const int threads_;
  const std::vector<float> zeros_;
  int64_t bias_floats_ = 0;  // Floats of a copy padded to whole vectors; 0: no copy is needed.
  int64_t per_chunk_ = 0;
  bool by_rows_ = false;
};

}  // namespace

std::unique_ptr<LibraryCall> MakePanelCall(GemmShape shape, GemmFollow follow,
                                           std::vector<int> slots,
                                           std::shared_ptr<const PackedPanels> packed,
                                           const GemmTable& table, int threads) {
  return std::make_unique<GemmCall>(std::move(shape), std::move(follow), std::move(slots),
                                    std::move(packed), table, threads);
}

}  // namespace weft::cpu
