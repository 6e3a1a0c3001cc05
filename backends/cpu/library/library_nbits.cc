// Matmuls with weights of 4 or 8 bits in groups, by nbits_tile.h. Operands other than weights and
// scales are f32. Weights that are constant are packed once.
#include <cstdint>
#include <utility>
#include <vector>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/nbits_call.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

constexpr int kWeight = 1;
constexpr int kScale = 2;
constexpr int kZeroPoint = 3;
constexpr int kBias = 4;
constexpr size_t kNumOperands = 5;

// The keys of other packed weights (PanelWeights::GetPacked) begin with a key that is not negative.
constexpr int64_t kNbitsKey = -2;

bool HasDims(const RunView& view, DType dtype, const std::vector<int64_t>& dims) {
  return view.dtype == dtype && view.dims == dims && view.dense();
}

bool IsFloatOfScales(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// A plan may come from a file, so sizes are compared with one another.
bool HasSizes(const LibraryStep& step, const NbitsShape& s) {
  const RunView& zero = step.args[kZeroPoint];
  const RunView& bias = step.args[kBias];
  return IsFloatOfScales(s.scale) &&
         HasDims(step.args[kWeight], DType::kU8, {s.columns, s.groups(), s.group_bytes()}) &&
         HasDims(step.args[kScale], s.scale, {s.columns, s.groups()}) &&
         (!zero.present() || HasDims(zero, s.has_floats() ? s.scale : DType::kU8,
                                     {s.columns, s.has_floats() ? s.groups() : s.zero_row()})) &&
         (!bias.present() || HasDims(bias, DType::kF32, {s.columns}));
}

// The rows of self or of the result: all dims but the last, which has no gaps.
bool HasRows(const RunView& view, int64_t* row) {
  if (view.dtype != DType::kF32 || view.rank() == 0) return false;
  if (view.dims.back() != 1 && view.strides.back() != 1) return false;
  const absl::Span<const int64_t> dims(view.dims.data(), view.dims.size() - 1);
  return IsOneLoop(dims, {view.strides.data(), dims.size()}, row);
}

absl::StatusOr<NbitsShape> ShapeOf(const LibraryStep& step) {
  const NbitsAttrs attrs(step.schema, step.attrs);
  // Those of an epilogue stand behind them.
  if (step.args.size() < kNumOperands || step.args[0].rank() == 0 ||
      step.args[kWeight].rank() != 3) {
    return absl::UnimplementedError("such operands");
  }
  NbitsShape shape;
  shape.bits = static_cast<int>(attrs.bits());
  shape.group = attrs.group_size();
  constexpr int64_t kMostGroup = int64_t{1} << 31;
  if ((shape.bits != 4 && shape.bits != 8) || shape.group < 1 || shape.group > kMostGroup ||
      shape.group * shape.bits % 8 != 0) {
    return absl::UnimplementedError("such groups");
  }
  if (step.args[0].numel() == 0 || step.result.numel() == 0) {
    return absl::UnimplementedError("an empty result or sum");
  }
  shape.depth = step.args[0].dims.back();
  shape.columns = step.args[kWeight].dims[0];
  shape.rows = step.args[0].numel() / shape.depth;
  shape.has_zero_points = step.args[kZeroPoint].present();
  if (shape.has_zero_points && step.args[kZeroPoint].dtype != DType::kU8) {
    shape.zeros = attrs.offset() ? NbitsZeros::kOffsets : NbitsZeros::kFloats;
  } else if (attrs.offset()) {
    return absl::UnimplementedError("offsets that are no floats");
  }
  shape.has_bias = step.args[kBias].present();
  shape.scale = step.args[kScale].dtype;
  std::vector<int64_t> result = step.args[0].dims;
  result.back() = shape.columns;
  if (!HasSizes(step, shape) || step.result.dims != result) {
    return absl::UnimplementedError("operands of other sizes");
  }
  if (!HasRows(step.args[0], &shape.x_row) || !HasRows(step.result, &shape.y_row)) {
    return absl::UnimplementedError("rows with gaps, or that are no f32");
  }
  return shape;
}

bool IsConstant(const LibraryStep& step) {
  return step.constants[kWeight] != nullptr && step.constants[kScale] != nullptr &&
         (!step.args[kZeroPoint].present() || step.constants[kZeroPoint] != nullptr);
}

}  // namespace

LibraryCallOr MakeNbitsCall(const LibraryStep& step, const LibraryContext& context) {
  if (!step.epilogue.empty()) return absl::UnimplementedError("an epilogue");
  WEFT_ASSIGN_OR_RETURN(const NbitsShape shape, ShapeOf(step));
  const NbitsTables tables = {ForIsa(context.isa, Avx512Nbits, Avx2Nbits),
                              ForIsa(context.isa, Avx512Gemm, Avx2Gemm)};
  if (!IsConstant(step)) return MakeNbitsPanelCall(shape, nullptr, tables, context.threads);
  const int64_t lanes = tables.nbits.lanes;
  const NbitsFormat format = NbitsFormatOf(shape, lanes);
  const std::vector<int64_t>& keys = step.constant_keys;
  auto packed = context.panels->GetPacked(
      {kNbitsKey, keys[kWeight], keys[kScale], shape.has_zero_points ? keys[kZeroPoint] : -1,
       shape.bits, shape.group, shape.depth, shape.columns, lanes},
      NbitsBytes(shape, format, lanes) / 4, [&](float* to) {
        PackNbits(shape, format, lanes,
                  {step.constants[kWeight], step.constants[kScale], step.constants[kZeroPoint]},
                  context.threads, reinterpret_cast<uint8_t*>(to));
      });
  if (packed == nullptr) return absl::ResourceExhaustedError("no memory for packed weights");
  return MakeNbitsPanelCall(shape, std::move(packed), tables, context.threads);
}

}  // namespace weft::cpu
