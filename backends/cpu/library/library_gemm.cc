// Matmuls and convolutions with constant weights: f32 by gemm_tile.h, bf16, and f32 that may be
// read as bf16, by bf16_gemm_tile.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backends/cpu/library/bf16_gemm_call.h"
#include "backends/cpu/library/gemm_call.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/threads/host_loop.h"
#include "base/status_macros.h"

namespace weft::cpu {

bool IsOneLoop(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides, int64_t* row) {
  *row = 0;
  int64_t size = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) continue;
    if (size == 1) *row = strides[d];
    if (strides[d] != *row * size) return false;
    size *= dims[d];
  }
  return true;
}

namespace {

constexpr int64_t kNothing = -1;  // Offset of an element that is padding.
// With more rows than this, weights stay in cache anyway and oneDNN's primitives are as fast or
// faster, unless the weights are already packed as panels. With several taps the limit is lower,
// because oneDNN skips padding.
constexpr int64_t kMostRows = 800;
constexpr int64_t kMostRowsOfTaps = 256;

absl::Status None(absl::string_view what) { return absl::UnimplementedError(what); }

// The same for the dims of a tensor in this order.
bool IsOneLoop(const DnnTensor& t, const std::vector<int>& dims, int64_t* row) {
  std::vector<int64_t> sizes, strides;
  for (const int d : dims) {
    sizes.push_back(t.dims[d]);
    strides.push_back(t.strides[d]);
  }
  return cpu::IsOneLoop(sizes, strides, row);
}

// Describes an operand of a function by its strides along the results' rows and columns.
bool OperandOf(const DnnTensor& t, const DnnTensor& y, const std::vector<int>& row_dims,
               int channel, GemmOperand* operand) {
  if (t.dtype != y.dtype) return false;
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

bool IsGemmFunction(DnnFunction function) {
  switch (function) {
    case DnnFunction::kRelu:
    case DnnFunction::kTanh:
    case DnnFunction::kSigmoid:
    case DnnFunction::kGeluErf:
    case DnnFunction::kGeluTanh:
    case DnnFunction::kSwish:
    case DnnFunction::kHardSwish:
    case DnnFunction::kClip:
    case DnnFunction::kAdd:
    case DnnFunction::kMul:
    case DnnFunction::kMaximum:
    case DnnFunction::kMinimum:
      return true;
    default:
      return false;
  }
}

// The first addition and the first clamp become part of the accumulation.
absl::Status FollowOf(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y,
                      const std::vector<int>& row_dims, int channel, const std::vector<int>& slots,
                      GemmFollow* follow) {
  size_t next = kDnnFirstPostOp;
  bool sums = true;    // No addition so far.
  bool bounds = true;  // No clamp so far.
  for (const DnnPostOp& post : post_ops) {
    if (post.function == DnnFunction::kAccumulate) {
      if (!sums) return None("a second addend");
      follow->accumulates = true;
      sums = false;
      continue;
    }
    GemmStage stage;
    GemmOperand operand;
    if (!IsGemmFunction(post.function)) return None("such a function");
    stage.function = post.function;
    stage.alpha = post.alpha;
    stage.beta = post.beta;
    if (post.function >= DnnFunction::kAdd) {
      if (!OperandOf(post.operand, y, row_dims, channel, &operand)) return None("an operand");
      operand.slot = slots[next++];
    }
    // As a clamp, because -infinity times 0 is NaN.
    if (post.function == DnnFunction::kRelu && post.alpha == 0) {
      stage.function = DnnFunction::kClip;
      stage.beta = std::numeric_limits<float>::infinity();
    }
    if (sums && post.function == DnnFunction::kAdd && operand.column == 1) {
      follow->addend = operand;
    } else if (bounds && stage.function == DnnFunction::kClip) {
      follow->least = stage.alpha;
      follow->most = stage.beta;
      bounds = false;
    } else {
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

// The element types that the kernels read and give.
enum class GemmForm {
  kNone,
  kF32,
  kBf16,     // All operands and the results are bf16.
  kRounded,  // f32, of which x and the weights are rounded to bf16.
};

GemmForm FormOf(const DnnTensor& x, const DnnTensor& weights, const DnnTensor& y,
                const DnnTensor& bias, const DnnReading& reading, const LibraryContext& context) {
  const auto all = [&](DType dtype) {
    return x.dtype == dtype && weights.dtype == dtype && y.dtype == dtype &&
           (bias.dims.empty() || bias.dtype == dtype);
  };
  if (all(DType::kF32) && reading.dtype == DType::kF32) return GemmForm::kF32;
  if (!HasBf16Kernels(context)) return GemmForm::kNone;
  if (all(DType::kBF16)) return GemmForm::kBf16;
  const bool rounded = reading.dtype == DType::kBF16 && reading.x_parts.empty();
  return all(DType::kF32) && rounded ? GemmForm::kRounded : GemmForm::kNone;
}

bool IsFaster(const GemmShape& shape, GemmForm form, const DnnConstant& constant,
              const LibraryContext& context) {
  // A panel with few columns, or a short depth, is mostly overhead.
  constexpr int64_t kLeastColumns = 16;
  constexpr int64_t kLeastLength = 32;
  // A host's loop runs kernels of ours alone: oneDNN has one thread then.
  const bool alone = !HasDnn() || (context.threads > 1 && HasHostLoop());
  if (alone || form == GemmForm::kBf16) return true;
  if (shape.weights.columns < kLeastColumns || shape.weights.length() < kLeastLength) return false;
  if (form == GemmForm::kRounded) return true;
  const int64_t most = shape.weights.taps == 1 ? kMostRows : kMostRowsOfTaps;
  return shape.rows <= most || context.panels->Has(constant.key);
}

// Elements of memory from the first element to the last one.
int64_t ElementsOf(const DnnTensor& t) {
  int64_t last = 0;
  for (size_t d = 0; d < t.dims.size(); ++d) last += (t.dims[d] - 1) * t.strides[d];
  return last + 1;
}

LibraryCallOr AssembleBf16(GemmShape shape, GemmFollow follow, Bf16Form form,
                           std::vector<int> slots, const DnnConstant& constant,
                           const LibraryContext& context) {
  if (shape.weights.depth % kBf16Pair != 0) return None("an odd depth");
  PackedBf16 packed =
      PackBf16(constant.key, form.x, shape.weights, context.panels, context.threads);
  if (packed.memory == nullptr) return absl::ResourceExhaustedError("no memory for packed weights");
  shape.weights.load = nullptr;  // It holds a copy of the weights.
  return MakeBf16PanelCall(std::move(shape), std::move(follow), std::move(form), std::move(slots),
                           std::move(packed), context.threads);
}

// How x is read where it lies. All of the memory of f32 is rounded.
absl::StatusOr<Bf16Form> FormInPlace(const DnnTensor& x, DType y) {
  Bf16Form form;
  form.x = x.dtype;
  form.y = form.bias = y;
  form.x_elements = ElementsOf(x);
  int64_t read = 1;
  for (const int64_t d : x.dims) read *= d;
  if (x.dtype == DType::kF32 && form.x_elements > 2 * read) return None("gaps between elements");
  return form;
}

LibraryCallOr Assemble(GemmShape shape, GemmFollow follow, std::vector<int> slots,
                       const DnnConstant& constant, const LibraryContext& context) {
  const GemmTable& table = ForIsa(context.isa, Avx512Gemm, Avx2Gemm);
  auto packed = context.panels->Get(constant.key, shape.weights, table, context.threads);
  if (packed == nullptr) return absl::ResourceExhaustedError("no memory for packed weights");
  shape.weights.load = nullptr;  // It holds a copy of the weights.
  return MakePanelCall(std::move(shape), std::move(follow), std::move(slots), std::move(packed),
                       table, context.threads);
}

}  // namespace

LibraryCallOr MakeGemmCall(const DnnMatmul& m, const DnnReading& reading,
                           const std::vector<int>& slots, const DnnConstant& constant,
                           const LibraryContext& context) {
  const size_t rank = m.y.dims.size();
  const GemmForm form = FormOf(m.a, m.b, m.y, m.bias, reading, context);
  if (!constant.known() || rank != 2 || form == GemmForm::kNone) return None("such a product");
  GemmShape shape;
  shape.rows = m.y.dims[0];
  shape.y_row = m.y.strides[0];
  shape.weights.data = constant.data;
  shape.weights.load = constant.load;
  shape.weights.columns = m.y.dims[1];
  shape.weights.depth = m.a.dims[1];
  // An expanded vector has one column for all.
  shape.weights.column = m.b.dims[1] == 1 ? 0 : m.b.strides[1];
  shape.weights.step = m.b.strides[0];
  shape.weights.tap = {0};
  if (!IsFaster(shape, form, constant, context)) return None("such a size");
  const bool unit = shape.weights.depth == 1 || m.a.strides[1] == 1;
  if (!unit || (m.y.dims[1] != 1 && m.y.strides[1] != 1)) return None("columns with gaps");
  const int64_t a_row = m.a.dims[0] == 1 ? 0 : m.a.strides[0];
  for (int64_t i = 0; i < shape.rows; ++i) shape.offsets.push_back(i * a_row);
  GemmFollow follow;
  WEFT_RETURN_IF_ERROR(FollowOf(m.post_ops, m.y, {0}, 1, slots, &follow));
  if (HasBf16Kernels(context) && form != GemmForm::kF32) {
    WEFT_ASSIGN_OR_RETURN(Bf16Form narrow, FormInPlace(m.a, m.y.dtype));
    return AssembleBf16(std::move(shape), std::move(follow), std::move(narrow), slots, constant,
                        context);
  }
  return Assemble(std::move(shape), std::move(follow), slots, constant, context);
}

namespace {

// Finds the offset of each tap's first element, for each result of an image.
void FindOffsets(const DnnConvolution& c, GemmShape* shape) {
  const int n = static_cast<int>(c.x.dims.size()) - 2;
  const std::vector<int64_t> kernel(c.weights.dims.end() - n, c.weights.dims.end());
  std::vector<int64_t> at(n + 1);  // Image, then spatial dims.
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

LibraryCallOr MakeGemmCall(const DnnConvolution& given, const DnnReading& reading,
                           const std::vector<int>& slots, const DnnConstant& given_constant,
                           const LibraryContext& context) {
  DnnConvolution c = given;
  DnnConstant constant = given_constant;
  const size_t rank = c.x.dims.size();
  const GemmForm form = FormOf(c.x, c.weights, c.y, c.bias, reading, context);
  if (!constant.known() || c.transposed || c.weights.dims.size() != rank ||
      form == GemmForm::kNone) {
    return None("such a convolution");
  }
  absl::StatusOr<Bf16Form> narrow = None("f32");
  const bool is_narrow = HasBf16Kernels(context) && form != GemmForm::kF32;
  if (is_narrow) {
    narrow = FormInPlace(c.x, c.y.dtype);
    absl::StatusOr<Bf16Image> image = JoinTaps(&c, &constant);
    if (image.ok()) narrow = Bf16Form{given.x.dtype, 0, c.y.dtype, c.y.dtype, *std::move(image)};
    if (!narrow.ok()) return narrow.status();
  }
  std::vector<int> row_dims = {0};
  for (size_t d = 2; d < rank; ++d) row_dims.push_back(static_cast<int>(d));
  GemmShape shape;
  shape.rows = 1;
  for (int d : row_dims) shape.rows *= c.y.dims[d];
  WeightView& w = shape.weights;
  w.data = constant.data;
  w.load = constant.load;
  w.columns = c.weights.dims[0];
  w.depth = c.weights.dims[1];
  w.column = c.weights.strides[0];
  w.step = c.weights.strides[1];
  for (size_t d = 2; d < rank; ++d) w.taps *= c.weights.dims[d];
  if (!IsFaster(shape, form, constant, context)) return None("such a size");
  const bool unit = (w.depth == 1 || c.x.strides[1] == 1) &&
                    (w.columns == 1 || c.y.strides[1] == 1) &&
                    IsOneLoop(c.y, row_dims, &shape.y_row);
  // A short depth per looked-up offset is faster in other routines.
  constexpr int64_t kMinDepth = 16;
  constexpr int64_t kMostOffsets = int64_t{1} << 20;
  const bool is_short = w.depth < kMinDepth && !(narrow.ok() && narrow->image);
  if (!unit || is_short || shape.rows * w.taps > kMostOffsets) return None("such a convolution");
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
  if (is_narrow) {
    return AssembleBf16(std::move(shape), std::move(follow), *std::move(narrow), slots, constant,
                        context);
  }
  return Assemble(std::move(shape), std::move(follow), slots, constant, context);
}

}  // namespace weft::cpu
