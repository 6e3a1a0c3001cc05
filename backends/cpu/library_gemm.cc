// Products and convolutions of f32 with constant weights by gemm_tile.h.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backends/cpu/gemm_tile.h"
#include "backends/cpu/library_internal.h"
#include "backends/cpu/panel_weights.h"
#include "graph/core/status_macros.h"

namespace weft::cpu {
namespace {

constexpr int64_t kNothing = -1;  // The offset of an element that is padding.
// Rows whose operand stays in the cache while all panels pass: bytes of it.
constexpr int64_t kRowBytes = 768 << 10;
// More rows than these find weights in the cache, and oneDNN's primitives as fast or
// faster; unless the weights are there as panels already.
constexpr int64_t kMostRows = 768;

// A product as rows: where the columns that each sums begin in x, and in y.
struct GemmShape {
  int64_t rows = 0;
  int64_t y_row = 0;
  std::vector<int64_t> offsets;  // [rows, taps]
  WeightView weights;
};

struct GemmOperand {
  int slot = -1;
  int64_t row = 0;
  int64_t column = 0;
};

// What follows the sums, as the panels do it.
struct GemmFollow {
  GemmOperand addend;
  bool accumulates = false;
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
  std::vector<GemmStage> stages;
  std::vector<GemmOperand> operands;  // Of each stage.
};

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
    bias_floats_ = slots_[kDnnBias] < 0 ? 0 : Padded(shape_.weights.columns);
    const int64_t row_bytes = shape_.weights.depth * 4;
    per_chunk_ = std::max<int64_t>(96, kRowBytes / row_bytes / 48 * 48);
    by_rows_ = ChooseRows();
  }

  int64_t scratch_bytes() const override { return (bias_floats_ + threads_ * GemmScratch()) * 4; }
  std::string name() const override { return "gemm"; }

  absl::Status Run(absl::Span<void* const> args, void* result, void* scratch) override {
    float* room = static_cast<float*>(scratch);
    GemmPanel panel;
    panel.x = static_cast<const float*>(args[slots_[kDnnSource]]);
    panel.y = static_cast<float*>(result);
    if (bias_floats_ > 0) {
      const float* bias = static_cast<const float*>(args[slots_[kDnnBias]]);
      std::copy(bias, bias + shape_.weights.columns, room);
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
#pragma omp parallel num_threads(threads) if (threads > 1)
    RunShare(panel, omp_get_thread_num(), omp_get_num_threads(),
             room + bias_floats_ + omp_get_thread_num() * GemmScratch());
    return absl::OkStatus();
  }

 private:
  int64_t Padded(int64_t columns) const {
    return (columns + table_.lanes - 1) / table_.lanes * table_.lanes;
  }

  int64_t RowAt(int64_t share, int64_t shares) const {
    return share == shares ? shape_.rows : shape_.rows * share / shares / 8 * 8;
  }
  size_t PanelAt(int64_t share, int64_t shares) const {
    return packed_->panels.size() * share / shares;
  }

  // Threads take rows, and all weights each; or panels, and all rows. The largest share
  // counts, and what each reads alone is better the larger operand.
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
    constexpr size_t kMostStages = 8;
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
  int64_t bias_floats_ = 0;
  int64_t per_chunk_ = 0;
  bool by_rows_ = false;
};

absl::Status None(absl::string_view what) { return absl::UnimplementedError(what); }

// Elements of dims in the order `dims` lie `*row` apart throughout.
bool IsOneLoop(const DnnTensor& t, const std::vector<int>& dims, int64_t* row) {
  *row = 0;
  int64_t size = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    const int d = dims[k];
    if (t.dims[d] == 1) continue;
    if (size == 1) {
      *row = t.strides[d];
    } else if (t.strides[d] != *row * size) {
      return false;
    }
    size *= t.dims[d];
  }
  return true;
}

// How an operand of a function goes along with the results.
bool OperandOf(const DnnTensor& t, const DnnTensor& y, const std::vector<int>& row_dims,
               int channel, GemmOperand* operand) {
  if (t.dtype != DType::kF32) return false;
  bool whole = true;
  bool single = true;
  for (int d : row_dims) {
    whole = whole && t.dims[d] == y.dims[d];
    single = single && t.dims[d] == 1;
  }
  if (!whole && !single) return false;
  if (whole && !IsOneLoop(t, row_dims, &operand->row)) return false;
  if (single && !whole) operand->row = 0;
  operand->column = t.dims[channel] == 1 ? 0 : t.strides[channel];
  return t.dims[channel] == 1 || (t.dims[channel] == y.dims[channel] && operand->column == 1);
}

bool StageOf(DnnFunction function, GemmFunction* stage) {
  switch (function) {
    case DnnFunction::kRelu:
      *stage = GemmFunction::kRelu;
      return true;
    case DnnFunction::kTanh:
      *stage = GemmFunction::kTanh;
      return true;
    case DnnFunction::kSigmoid:
      *stage = GemmFunction::kSigmoid;
      return true;
    case DnnFunction::kGeluErf:
      *stage = GemmFunction::kGeluErf;
      return true;
    case DnnFunction::kGeluTanh:
      *stage = GemmFunction::kGeluTanh;
      return true;
    case DnnFunction::kSwish:
      *stage = GemmFunction::kSwish;
      return true;
    case DnnFunction::kHardSwish:
      *stage = GemmFunction::kHardSwish;
      return true;
    case DnnFunction::kClip:
      *stage = GemmFunction::kClip;
      return true;
    case DnnFunction::kAdd:
      *stage = GemmFunction::kAdd;
      return true;
    case DnnFunction::kMul:
      *stage = GemmFunction::kMul;
      return true;
    case DnnFunction::kMaximum:
      *stage = GemmFunction::kMaximum;
      return true;
    case DnnFunction::kMinimum:
      *stage = GemmFunction::kMinimum;
      return true;
    default:
      return false;
  }
}

// The first addition and the first bounds are done with the sums.
absl::Status FollowOf(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y,
                      const std::vector<int>& row_dims, int channel, const std::vector<int>& slots,
                      GemmFollow* follow) {
  constexpr size_t kMostStages = 8;
  size_t next = kDnnFirstPostOp;
  bool sums = true;    // Nothing has followed them yet.
  bool bounds = true;  // Nor bounds.
  for (const DnnPostOp& post : post_ops) {
    if (post.function == DnnFunction::kAccumulate) {
      follow->accumulates = true;
      sums = false;
      continue;
    }
    GemmStage stage;
    GemmOperand operand;
    if (!StageOf(post.function, &stage.function)) return None("such a function");
    if (post.function >= DnnFunction::kAdd) {
      if (!OperandOf(post.operand, y, row_dims, channel, &operand)) return None("an operand");
      operand.slot = slots[next++];
    }
    const bool relu = post.function == DnnFunction::kRelu && post.alpha == 0;
    if (sums && post.function == DnnFunction::kAdd && operand.column == 1) {
      follow->addend = operand;
    } else if (bounds && (relu || post.function == DnnFunction::kClip)) {
      follow->least = relu ? 0 : post.alpha;
      if (!relu) follow->most = post.beta;
      bounds = false;
    } else {
      stage.alpha = post.alpha;
      stage.beta = post.beta;
      stage.row = operand.row;
      stage.column = operand.column;
      follow->stages.push_back(stage);
      follow->operands.push_back(operand);
      bounds = false;
    }
    sums = false;
  }
  return follow->stages.size() <= kMostStages ? absl::OkStatus() : None("so many functions");
}

bool AllF32(const DnnTensor& x, const DnnTensor& weights, const DnnTensor& y,
            const DnnTensor& bias) {
  return x.dtype == DType::kF32 && weights.dtype == DType::kF32 && y.dtype == DType::kF32 &&
         (bias.dims.empty() || bias.dtype == DType::kF32);
}

bool IsFaster(const GemmShape& shape, const DnnConstant& constant, const LibraryContext& context) {
  // A panel of few columns, or of few sums, is mostly edges.
  constexpr int64_t kLeastColumns = 16;
  constexpr int64_t kLeastLength = 32;
  if (shape.weights.columns < kLeastColumns || shape.weights.length() < kLeastLength) return false;
  return shape.rows <= kMostRows || context.panels->Has(constant.key);
}

LibraryCallOr Assemble(GemmShape shape, GemmFollow follow, std::vector<int> slots,
                       const DnnConstant& constant, const LibraryContext& context) {
  const GemmTable& table = context.isa == Isa::kAvx512 ? Avx512Gemm() : Avx2Gemm();
  auto packed = context.panels->Get(constant.key, shape.weights, table, context.threads);
  if (packed == nullptr) return absl::ResourceExhaustedError("no memory for packed weights");
  return std::make_unique<GemmCall>(std::move(shape), std::move(follow), std::move(slots),
                                    std::move(packed), table, context.threads);
}

}  // namespace

LibraryCallOr MakeGemmCall(const DnnMatmul& m, const std::vector<int>& slots,
                           const DnnConstant& constant, const LibraryContext& context) {
  const size_t rank = m.y.dims.size();
  if (constant.data == nullptr || rank != 2 || !AllF32(m.a, m.b, m.y, m.bias)) {
    return None("such a product");
  }
  GemmShape shape;
  shape.rows = m.y.dims[0];
  shape.y_row = m.y.strides[0];
  shape.weights.data = static_cast<const float*>(constant.data);
  shape.weights.columns = m.y.dims[1];
  shape.weights.depth = m.a.dims[1];
  shape.weights.column = m.b.strides[1];
  shape.weights.step = m.b.strides[0];
  shape.weights.tap = {0};
  if (!IsFaster(shape, constant, context)) return None("such a size");
  const bool unit = shape.weights.depth == 1 || m.a.strides[1] == 1;
  if (!unit || (m.y.dims[1] != 1 && m.y.strides[1] != 1)) return None("columns with gaps");
  const int64_t a_row = m.a.dims[0] == 1 ? 0 : m.a.strides[0];
  for (int64_t i = 0; i < shape.rows; ++i) shape.offsets.push_back(i * a_row);
  GemmFollow follow;
  WEFT_RETURN_IF_ERROR(FollowOf(m.post_ops, m.y, {0}, 1, slots, &follow));
  return Assemble(std::move(shape), std::move(follow), slots, constant, context);
}

namespace {

// Where the elements of each tap begin, for each result of an image.
void FindOffsets(const DnnConvolution& c, GemmShape* shape) {
  const int n = static_cast<int>(c.x.dims.size()) - 2;
  const std::vector<int64_t> kernel(c.weights.dims.end() - n, c.weights.dims.end());
  std::vector<int64_t> at(n + 1);  // Image, then places.
  const int64_t taps = shape->weights.taps;
  shape->offsets.assign(shape->rows * taps, kNothing);
  for (int64_t row = 0; row < shape->rows; ++row) {
    int64_t rest = row;
    for (int i = n; i-- > 0;) {
      at[i + 1] = rest % c.y.dims[i + 2];
      rest /= c.y.dims[i + 2];
    }
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t left = tap;
      int64_t offset = rest * c.x.strides[0];
      bool inside = true;
      for (int i = n; i-- > 0;) {
        const int64_t place =
            at[i + 1] * c.stride[i] + left % kernel[i] * c.dilation[i] - c.before[i];
        left /= kernel[i];
        inside = inside && place >= 0 && place < c.x.dims[i + 2];
        offset += place * c.x.strides[i + 2];
      }
      if (inside) shape->offsets[row * taps + tap] = offset;
    }
  }
}

}  // namespace

LibraryCallOr MakeGemmCall(const DnnConvolution& c, const std::vector<int>& slots,
                           const DnnConstant& constant, const LibraryContext& context) {
  const size_t rank = c.x.dims.size();
  if (constant.data == nullptr || c.transposed || c.weights.dims.size() != rank ||
      !AllF32(c.x, c.weights, c.y, c.bias)) {
    return None("such a convolution");
  }
  std::vector<int> row_dims = {0};
  for (size_t d = 2; d < rank; ++d) row_dims.push_back(static_cast<int>(d));
  GemmShape shape;
  shape.rows = 1;
  for (int d : row_dims) shape.rows *= c.y.dims[d];
  WeightView& w = shape.weights;
  w.data = static_cast<const float*>(constant.data);
  w.columns = c.weights.dims[0];
  w.depth = c.weights.dims[1];
  w.column = c.weights.strides[0];
  w.step = c.weights.strides[1];
  for (size_t d = 2; d < rank; ++d) w.taps *= c.weights.dims[d];
  if (!IsFaster(shape, constant, context)) return None("such a size");
  const bool unit = (w.depth == 1 || c.x.strides[1] == 1) &&
                    (w.columns == 1 || c.y.strides[1] == 1) &&
                    IsOneLoop(c.y, row_dims, &shape.y_row);
  // Few sums for each element that is looked up are better done by others.
  constexpr int64_t kMinDepth = 16;
  constexpr int64_t kMostOffsets = int64_t{1} << 20;
  if (!unit || w.depth < kMinDepth || shape.rows * w.taps > kMostOffsets) {
    return None("such a convolution");
  }
  for (int64_t tap = 0; tap < w.taps; ++tap) {
    int64_t left = tap;
    int64_t offset = 0;
    for (size_t d = rank; d-- > 2;) {
      offset += left % c.weights.dims[d] * c.weights.strides[d];
      left /= c.weights.dims[d];
    }
    w.tap.push_back(offset);
  }
  FindOffsets(c, &shape);
  GemmFollow follow;
  WEFT_RETURN_IF_ERROR(FollowOf(c.post_ops, c.y, row_dims, 1, slots, &follow));
  return Assemble(std::move(shape), std::move(follow), slots, constant, context);
}

int64_t GemmScratch() { return 32 * 32; }

}  // namespace weft::cpu
