// A slab is what one index of the outermost resampled dim has: a row of an image. Slabs of the
// operand are resampled in their own dims once, and kept while slabs of the result add them up.
#include "backends/cpu/library/resample_call.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

int64_t Aligned(int64_t floats) { return AlignUp(floats, int64_t{16}); }

// The number of taps of all elements, or 0 if they differ.
int64_t TapsOfAll(const ResampleAxis& axis) {
  const int64_t taps = axis.begins[1];
  for (int64_t i = 0; i < axis.out; ++i) {
    if (axis.begins[i + 1] - axis.begins[i] != taps) return 0;
  }
  return taps;
}

// Resamples one dim of [outer, in, inner].
class AxisPass {
 public:
  AxisPass(ResampleAxis axis, int64_t outer, int64_t inner, const SampleTable& table)
      : axis_(std::move(axis)), outer_(outer), inner_(inner), table_(table) {
    if (inner_ > 1) return;
    // Taps in the order of SampleTaps.
    taps_.taps = TapsOfAll(axis_);
    taps_.pitch = axis_.out;
    for (int64_t t = 0; t < taps_.taps; ++t) {
      for (int64_t i = 0; i < axis_.out; ++i) {
        offsets_.push_back(axis_.indices[axis_.begins[i] + t]);
        weights_.push_back(axis_.weights[axis_.begins[i] + t]);
      }
    }
  }

  int64_t floats() const { return outer_ * axis_.out * inner_; }

  void Run(const float* x, float* y) const {
    for (int64_t o = 0; o < outer_; ++o) {
      const float* from = x + o * axis_.in * inner_;
      float* to = y + o * axis_.out * inner_;
      if (inner_ > 1) {
        for (int64_t i = 0; i < axis_.out; ++i) BlendRow(from, i, to + i * inner_);
      } else if (taps_.taps > 0) {
        SampleTaps taps = taps_;
        taps.offsets = offsets_.data();
        taps.weights = weights_.data();
        table_.gather(from, taps, axis_.out, to, 1);
      } else {
        for (int64_t i = 0; i < axis_.out; ++i) to[i] = SumOf(from, i);
      }
    }
  }

 private:
  float SumOf(const float* x, int64_t i) const {
    float sum = 0;
    for (int64_t t = axis_.begins[i]; t < axis_.begins[i + 1]; ++t) {
      sum += axis_.weights[t] * x[axis_.indices[t]];
    }
    return sum;
  }

  // Some taps at once; later ones add to the sum.
  void BlendRow(const float* x, int64_t i, float* y) const {
    constexpr int64_t kMost = 8;
    const float* rows[kMost + 1];
    float weights[kMost + 1];
    int64_t count = 0;
    for (int64_t t = axis_.begins[i]; t < axis_.begins[i + 1]; ++t) {
      rows[count] = x + axis_.indices[t] * inner_;
      weights[count++] = axis_.weights[t];
      if (count <= kMost && t + 1 < axis_.begins[i + 1]) continue;
      table_.blend(rows, weights, count, inner_, y);
      rows[0] = y;
      weights[0] = 1;
      count = 1;
    }
  }

  const ResampleAxis axis_;
  const int64_t outer_, inner_;
  const SampleTable& table_;
  SampleTaps taps_;
  std::vector<int32_t> offsets_;
  std::vector<float> weights_;
};

// Slabs that are needed at once.
int64_t MostRows(const ResampleAxis& axis) {
  int64_t most = 1;
  for (int64_t i = 0; i < axis.out; ++i) {
    const auto begin = axis.indices.begin() + axis.begins[i];
    const auto end = axis.indices.begin() + axis.begins[i + 1];
    const auto [least, greatest] = std::minmax_element(begin, end);
    most = std::max<int64_t>(most, *greatest - *least + 1);
  }
  return most;
}

class ResampleCall : public LibraryCall {
 public:
  ResampleCall(std::vector<ResampleAxis> axes, const SampleTable& table, int threads)
      : table_(table), threads_(threads), axis_(0, 0) {
    size_t first = 0;
    for (; axes[first].kept(); ++first) outer_ *= axes[first].in;
    axis_ = axes[first];
    int64_t in = 1, after = 1;
    for (size_t d = first + 1; d < axes.size(); ++d) in *= axes[d].in;
    x_slab_ = in;
    for (size_t d = axes.size(); d-- > first + 1;) {
      const int64_t out = axes[d].out;
      in /= axes[d].in;
      if (!axes[d].kept()) passes_.emplace_back(std::move(axes[d]), in, after, table_);
      after *= out;
    }
    y_slab_ = after;
    if (x_slab_ == 1 && y_slab_ == 1 && passes_.empty()) {
      lines_.emplace_back(axis_, 1, 1, table_);
      parts_ = 1;
      return;
    }
    rows_ = MostRows(axis_);
    for (const AxisPass& pass : passes_) temporary_ = std::max(temporary_, pass.floats());
    constexpr int64_t kLeastRows = 8;
    const int64_t parts = (4 * threads_ + outer_ - 1) / outer_;
    parts_ = threads_ == 1 ? 1 : std::max<int64_t>(1, std::min(parts, axis_.out / kLeastRows));
  }

  std::string name() const override { return "resample"; }
  int64_t scratch_bytes() const override { return 4 * threads_ * TileFloats(); }

  absl::Status Run(const CallMemory& memory) override {
    const int64_t items = outer_ * parts_;
    const int threads = static_cast<int>(std::min<int64_t>(threads_, items));
    const float* x = static_cast<const float*>(memory.args[0]);
    float* y = static_cast<float*>(memory.result);
    ForEach(threads, items, [&](int64_t item, const TeamMember& member) {
      const int64_t o = item / parts_, part = item % parts_;
      const float* from = x + o * axis_.in * x_slab_;
      float* to = y + o * axis_.out * y_slab_;
      if (!lines_.empty()) {
        lines_[0].Run(from, to);
      } else {
        float* tile = static_cast<float*>(memory.scratch) + member.index * TileFloats();
        RunSlabs(from, axis_.out * part / parts_, axis_.out * (part + 1) / parts_, to, tile);
      }
    });
    return absl::OkStatus();
  }

 private:
  // Slabs that are kept, their indices, and two buffers between passes.
  int64_t TileFloats() const {
    if (!lines_.empty()) return 0;
    const int64_t kept = passes_.empty() ? 0 : rows_ * Aligned(y_slab_);
    return kept + Aligned(2 * rows_) + 2 * Aligned(temporary_);
  }

  void RunSlabs(const float* x, int64_t first, int64_t last, float* y, float* tile) const {
    int64_t* tags = reinterpret_cast<int64_t*>(tile);
    float* slabs = tile + Aligned(2 * rows_);
    float* temporary = slabs + (passes_.empty() ? 0 : rows_ * Aligned(y_slab_));
    std::fill(tags, tags + rows_, -1);
    const auto slab = [&](int64_t index) -> const float* {
      const float* from = x + index * x_slab_;
      if (passes_.empty()) return from;
      float* to = slabs + index % rows_ * Aligned(y_slab_);
      if (tags[index % rows_] != index) Resample(from, to, temporary);
      tags[index % rows_] = index;
      return to;
    };
    for (int64_t i = first; i < last; ++i) AddUp(slab, i, y + i * y_slab_);
  }

  void Resample(const float* x, float* y, float* temporary) const {
    for (size_t p = 0; p < passes_.size(); ++p) {
      float* to = p + 1 == passes_.size() ? y : temporary + p % 2 * Aligned(temporary_);
      passes_[p].Run(x, to);
      x = to;
    }
  }

  // Some taps at once; later ones add to the sum.
  template <typename Slab>
  void AddUp(Slab slab, int64_t i, float* y) const {
    constexpr int64_t kMost = 8;
    const float* rows[kMost + 1];
    float weights[kMost + 1];
    int64_t count = 0;
    for (int64_t t = axis_.begins[i]; t < axis_.begins[i + 1]; ++t) {
      rows[count] = slab(axis_.indices[t]);
      weights[count++] = axis_.weights[t];
      if (count <= kMost && t + 1 < axis_.begins[i + 1]) continue;
      table_.blend(rows, weights, count, y_slab_, y);
      rows[0] = y;
      weights[0] = 1;
      count = 1;
    }
  }

  const SampleTable& table_;
  const int threads_;
  ResampleAxis axis_;  // The outermost one that is resampled.
  int64_t outer_ = 1;
  int64_t x_slab_ = 1, y_slab_ = 1;  // Elements.
  std::vector<AxisPass> passes_;     // Of a slab, the innermost dim first.
  std::vector<AxisPass> lines_;      // One, if slabs are single elements.
  int64_t rows_ = 1;
  int64_t temporary_ = 0;
  int64_t parts_ = 1;
};

// --- Moves ---------------------------------------------------------------------------------------

class ResampleMoveCall : public LibraryCall {
 public:
  ResampleMoveCall(std::vector<ResampleAxis> axes, int64_t bytes, int threads)
      : axes_(std::move(axes)), bytes_(bytes), threads_(threads) {
    // Trailing dims that are kept are moved as one.
    while (axes_.size() > 1 && axes_.back().kept() && axes_[axes_.size() - 2].kept()) {
      axes_[axes_.size() - 2].in *= axes_.back().in;
      axes_[axes_.size() - 2].out = axes_[axes_.size() - 2].in;
      axes_.pop_back();
    }
    for (size_t d = 0; d + 1 < axes_.size(); ++d) rows_ *= axes_[d].out;
    FindPieces();
  }

  std::string name() const override { return "resample"; }
  int64_t scratch_bytes() const override { return 0; }

  absl::Status Run(const CallMemory& memory) override {
    const char* x = static_cast<const char*>(memory.args[0]);
    char* y = static_cast<char*>(memory.result);
    const ResampleAxis& last = axes_.back();
    const int threads = static_cast<int>(std::min<int64_t>(threads_, rows_));
    ForEach(threads, rows_, [&](int64_t row, const TeamMember&) {
      const char* from = x + SourceOf(row) * last.in * bytes_;
      char* to = y + row * last.out * bytes_;
      for (const Piece& piece : pieces_) {
        std::memcpy(to + piece.to * bytes_, from + piece.from * bytes_, piece.count * bytes_);
      }
      if (pieces_.empty()) MoveRow(from, to);
    });
    return absl::OkStatus();
  }

 private:
  // Elements of a row that lie side by side in x and in y.
  struct Piece {
    int64_t from = 0;
    int64_t to = 0;
    int64_t count = 0;
  };

  void FindPieces() {
    const ResampleAxis& last = axes_.back();
    for (int64_t i = 0; i < last.out; ++i) {
      const int64_t from = last.kept() ? i : last.indices[i];
      if (pieces_.empty() || from != pieces_.back().from + pieces_.back().count) {
        pieces_.push_back({from, i, 0});
      }
      ++pieces_.back().count;
    }
    constexpr int64_t kLeastPiece = 8;
    if (kLeastPiece * static_cast<int64_t>(pieces_.size()) > last.out) pieces_.clear();
  }

  // The row of x that row `row` of y comes from.
  int64_t SourceOf(int64_t row) const {
    int64_t source = 0, size = 1;
    for (size_t d = axes_.size() - 1; d-- > 0;) {
      const ResampleAxis& axis = axes_[d];
      const int64_t at = row % axis.out;
      row /= axis.out;
      source += (axis.kept() ? at : axis.indices[axis.begins[at]]) * size;
      size *= axis.in;
    }
    return source;
  }

  void MoveRow(const char* from, char* to) const {
    if (bytes_ == 1) return MoveAs<uint8_t>(from, to);
    if (bytes_ == 2) return MoveAs<uint16_t>(from, to);
    return bytes_ == 4 ? MoveAs<uint32_t>(from, to) : MoveAs<uint64_t>(from, to);
  }

  template <typename T>
  void MoveAs(const char* from, char* to) const {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    const std::vector<int32_t>& indices = axes_.back().indices;
    const int64_t n = axes_.back().out;
    if (indices.empty()) {
      std::copy(x, x + n, y);
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = x[indices[i]];
    }
  }

  std::vector<ResampleAxis> axes_;
  std::vector<Piece> pieces_;  // Empty: elements are moved one by one.
  const int64_t bytes_;
  const int threads_;
  int64_t rows_ = 1;
};

}  // namespace

void ResampleAxis::Add(const std::vector<std::pair<int64_t, double>>& taps) {
  if (begins.empty()) begins.push_back(0);
  for (const auto& [index, weight] : taps) {
    indices.push_back(static_cast<int32_t>(index));
    weights.push_back(static_cast<float>(weight));
  }
  begins.push_back(static_cast<int64_t>(indices.size()));
}

std::unique_ptr<LibraryCall> MakeResampleCall(std::vector<ResampleAxis> axes,
                                              const SampleTable& table, int threads) {
  return std::make_unique<ResampleCall>(std::move(axes), table, threads);
}

std::unique_ptr<LibraryCall> MakeResampleMoveCall(std::vector<ResampleAxis> axes, int64_t bytes,
                                                  int threads) {
  return std::make_unique<ResampleMoveCall>(std::move(axes), bytes, threads);
}

}  // namespace weft::cpu
