// Blocks of lines are transformed side by side. A few long lines are transformed one after the
// other, each by all threads.
//
// Real numbers of an even length are taken as pairs, half as many complex numbers.
#include "backends/cpu/library/fourier_call.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "backends/cpu/library/fourier_plan.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

using Form = FourierPlan::Form;

constexpr int64_t kMostBlock = 4096;       // Elements of a block, for L2.
constexpr int64_t kParallelFloats = 8192;  // Less work is left to one thread.

// Complex, or as pairs: the whole spectrum of real numbers, or these from half of it.
enum class Kind : uint8_t { kComplex, kFromReal, kToReal };

int64_t Aligned(int64_t floats) { return AlignUp(floats, int64_t{16}); }

int64_t LinesOf(const FourierShape& s) {
  int64_t lines = 1;
  for (const int64_t d : s.dims) lines *= d;
  return lines;
}

Kind KindOf(const FourierShape& s) {
  if (s.length % 2 == 1) return Kind::kComplex;
  return s.real_inverse ? Kind::kToReal : s.x.part == 0 ? Kind::kFromReal : Kind::kComplex;
}

// The same numbers as pairs.
FourierLines AsPairs(FourierLines lines) {
  lines.part = lines.step;
  lines.step *= 2;
  return lines;
}

class FourierCall : public LibraryCall {
 public:
  FourierCall(FourierShape shape, int threads)
      : s_(std::move(shape)),
        table_(*s_.table),
        lines_(LinesOf(s_)),
        kind_(KindOf(s_)),
        points_(kind_ == Kind::kComplex ? s_.length : s_.length / 2),
        form_(ChooseForm(s_, points_, lines_)),
        plan_(points_, form_, table_),
        threads_(lines_ * s_.length < kParallelFloats ? 1 : threads) {
    if (kind_ != Kind::kComplex) roots_ = FourierRoots(s_.length, points_ / 2 + 1);
    scale_.re = s_.inverse ? 1.0f / static_cast<float>(s_.length) : 1.0f;
    // Spectra of real numbers are conjugates of the inverse ones.
    scale_.im = kind_ == Kind::kFromReal && s_.inverse ? -scale_.re : scale_.re;
    room_ = std::max({plan_.room(), points_ + 1, s_.y.part == 0 ? 0 : s_.y.count});
  }

  std::string name() const override { return s_.name; }

  int64_t scratch_bytes() const override {
    if (form_ == Form::kBlock) return 4 * threads_ * TileFloats(room_);
    return 4 * (2 * Aligned(2 * room_) + threads_ * TileFloats(LineTile()));
  }

  absl::Status Run(const CallMemory& memory) override {
    float* scratch = static_cast<float*>(memory.scratch);
    const bool fits = form_ == Form::kLine ? RunLines(memory, scratch) : RunBlocks(memory, scratch);
    // The reference adds up in f64, and says what comes of infinities.
    return fits ? absl::OkStatus() : absl::UnimplementedError("numbers that are too large");
  }

 private:
  // False if numbers do not fit: what was written is of no use.
  bool RunBlocks(const CallMemory& memory, float* scratch) const {
    std::atomic<bool> fits{true};
    const int64_t blocks = (lines_ + table_.lanes - 1) / table_.lanes;
    const int64_t threads = std::clamp<int64_t>(blocks, 1, threads_);
    ForEach(threads, blocks, [&](int64_t block, const TeamMember& member) {
      float* tile = scratch + member.index * TileFloats(room_);
      if (!RunBlock(memory, block * table_.lanes, tile)) fits = false;
    });
    return fits;
  }

  static Form ChooseForm(const FourierShape& s, int64_t points, int64_t lines) {
    if (!FourierPlan::Admits(points, Form::kLine)) return Form::kBlock;
    return points > kMostBlock || 2 * lines < s.table->lanes ? Form::kLine : Form::kBlock;
  }

  // Two blocks of a thread.
  int64_t TileFloats(int64_t room) const { return 2 * room * 2 * table_.lanes; }
  const FourierPlan& Matrix() const { return plan_.inner() == nullptr ? plan_ : *plan_.inner(); }
  int64_t LineTile() const { return std::max(Matrix().columns()->room(), Matrix().rows()->room()); }

  FourierLines LinesAt(const FourierView& view, void* data, int64_t first, int64_t lanes) const {
    FourierLines lines;
    lines.data = static_cast<float*>(data);
    lines.lanes = std::min(lanes, lines_ - first);
    lines.step = view.step;
    lines.part = view.part;
    for (int64_t i = 0; i < lines.lanes; ++i) {
      int64_t rest = first + i;
      for (size_t d = s_.dims.size(); d-- > 0;) {
        lines.offsets[i] += rest % s_.dims[d] * view.strides[d];
        rest /= s_.dims[d];
      }
    }
    return lines;
  }

  // --- Before and after a transform, of a block or a line -------------------------------------

  void Zero(float* block, int64_t from, int64_t to, int64_t lanes) const {
    if (from < to) std::memset(block + from * 2 * lanes, 0, (to - from) * 2 * lanes * 4);
  }

  // Frees element `i` of its imaginary part.
  void MakeReal(float* block, int64_t i, int64_t lanes) const {
    std::memset(block + (2 * i + 1) * lanes, 0, lanes * 4);
  }

  // False if a number is too large.
  bool Fill(const FourierBlockFunctions& f, int64_t lanes, const CallMemory& memory, int64_t first,
            float* block) const {
    const FourierLines from = LinesAt(s_.x, memory.args[0], first, lanes);
    const int64_t count = s_.x.count;
    const bool pairs = kind_ == Kind::kFromReal;
    if (pairs) {
      const int64_t whole = count / 2;
      f.load(AsPairs(from), whole, block);
      Zero(block, whole, points_, lanes);
      if (count % 2 == 1) {
        FourierLines last = from;
        last.data += (count - 1) * from.step;
        f.load(last, 1, block + whole * 2 * lanes);
      }
    } else {
      f.load(from, count, block);
      Zero(block, count, kind_ == Kind::kToReal ? points_ + 1 : points_, lanes);
    }
    if (s_.window >= 0) {
      const float* window = static_cast<const float*>(memory.args[s_.window]);
      f.window(block, points_, window, pairs ? 2 : 1);
    }
    if (!f.fits(block, kind_ == Kind::kToReal ? points_ + 1 : points_)) return false;
    if (!s_.real_inverse) return true;
    MakeReal(block, 0, lanes);
    if (kind_ == Kind::kComplex) {
      f.mirror(block, s_.length, s_.length);
    } else {
      MakeReal(block, points_, lanes);
      f.start_real(block, points_, roots_.data());
    }
    return true;
  }

  // Inverse transforms to a spectrum of real numbers are conjugates of forward ones.
  bool Swapped() const { return s_.inverse && kind_ != Kind::kFromReal; }

  void Empty(const FourierBlockFunctions& f, int64_t lanes, const CallMemory& memory, int64_t first,
             float* block) const {
    const FourierLines to = LinesAt(s_.y, memory.result, first, lanes);
    if (kind_ == Kind::kToReal) return f.store(block, points_, scale_, AsPairs(to));
    if (kind_ == Kind::kFromReal) {
      f.finish_real(block, points_, roots_.data());
      f.mirror(block, s_.length, s_.y.count);
    }
    f.store(block, s_.y.count, scale_, to);
  }

  // --- Blocks ------------------------------------------------------------------------------------

  // Returns the block of both that has the result.
  float* Transform(const FourierPlan& plan, float* x, float* y, bool swapped) const {
    if (plan.inner() == nullptr) return table_.transform(plan.stages(), x, y, swapped);
    const FourierPlan& inner = *plan.inner();
    table_.block.multiply(x, plan.length(), plan.chirp(), swapped);
    Zero(x, plan.length(), inner.length(), table_.lanes);
    float* spectrum = Transform(inner, x, y, swapped);
    table_.block.multiply(spectrum, inner.length(), plan.spectrum(), swapped);
    float* result = Transform(inner, spectrum, spectrum == x ? y : x, !swapped);
    table_.block.multiply(result, plan.length(), plan.chirp(), swapped);
    return result;
  }

  bool RunBlock(const CallMemory& memory, int64_t first, float* tile) const {
    if (!Fill(table_.block, table_.lanes, memory, first, tile)) return false;
    float* result = Transform(plan_, tile, tile + TileFloats(room_) / 2, Swapped());
    Empty(table_.block, table_.lanes, memory, first, result);
    return true;
  }

  // --- Lines -------------------------------------------------------------------------------------

  bool RunLines(const CallMemory& memory, float* scratch) const {
    bool fits = true;
    float* x = scratch;
    float* y = x + Aligned(2 * room_);
    float* tiles = y + Aligned(2 * room_);
    for (int64_t line = 0; line < lines_; ++line) {
      fits = Fill(table_.line, 1, memory, line, x) && fits;
      TransformLine(x, y, tiles);
      Empty(table_.line, 1, memory, line, x);
    }
    return fits;
  }

  // In place; `y` is overwritten.
  void TransformLine(float* x, float* y, float* tiles) const {
    const bool swapped = Swapped();
    if (plan_.inner() == nullptr) return TransformMatrix(plan_, x, y, tiles, swapped);
    const FourierPlan& inner = *plan_.inner();
    table_.line.multiply(x, points_, plan_.chirp(), swapped);
    Zero(x, points_, inner.length(), 1);
    TransformMatrix(inner, x, y, tiles, swapped);
    table_.line.multiply(x, inner.length(), plan_.spectrum(), swapped);
    TransformMatrix(inner, x, y, tiles, !swapped);
    table_.line.multiply(x, points_, plan_.chirp(), swapped);
  }

  // The line as a matrix: its columns, then its rows, which lie in y meanwhile.
  void TransformMatrix(const FourierPlan& plan, float* x, float* y, float* tiles,
                       bool swapped) const {
    const FourierPlan& columns = *plan.columns();
    const FourierPlan& rows = *plan.rows();
    const int64_t height = columns.length(), width = rows.length(), lanes = table_.lanes;
    const int64_t tile_floats = TileFloats(LineTile());
    ForEach(threads_, (width + lanes - 1) / lanes, [&](int64_t block, const TeamMember& member) {
      const int64_t at = block * lanes;
      float* tile = tiles + member.index * tile_floats;
      const FourierLines from = Adjacent(x, at, width);
      table_.block.load(from, height, tile);
      float* result = Transform(columns, tile, tile + tile_floats / 2, swapped);
      table_.twiddle(result, height, plan.twiddles() + at * height * 2, swapped);
      table_.block.store(result, height, {}, Adjacent(y, at, width));
    });
    ForEach(threads_, (height + lanes - 1) / lanes, [&](int64_t block, const TeamMember& member) {
      const int64_t at = block * lanes;
      float* tile = tiles + member.index * tile_floats;
      FourierLines from = Adjacent(y, at, height);
      for (int64_t i = 0; i < from.lanes; ++i) from.offsets[i] = (at + i) * width * 2;
      from.step = 2;
      table_.block.load(from, width, tile);
      float* result = Transform(rows, tile, tile + tile_floats / 2, swapped);
      table_.block.store(result, width, {}, Adjacent(x, at, height));
    });
  }

  // Columns from `at` on of a matrix of pairs with `width` columns.
  FourierLines Adjacent(float* matrix, int64_t at, int64_t width) const {
    FourierLines lines;
    lines.data = matrix;
    lines.lanes = std::min(table_.lanes, width - at);
    lines.step = 2 * width;
    for (int64_t i = 0; i < lines.lanes; ++i) lines.offsets[i] = 2 * (at + i);
    return lines;
  }

  const FourierShape s_;
  const FourierTable& table_;
  const int64_t lines_;
  const Kind kind_;
  const int64_t points_;  // Of the complex transform.
  const Form form_;
  const FourierPlan plan_;
  const int threads_;
  std::vector<float> roots_;
  FourierScale scale_;
  int64_t room_ = 0;
};

}  // namespace

std::unique_ptr<LibraryCall> MakeFourierCall(FourierShape shape, int threads) {
  return std::make_unique<FourierCall>(std::move(shape), threads);
}

}  // namespace weft::cpu
