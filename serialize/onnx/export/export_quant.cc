// QuantizeLinear and DequantizeLinear.
//
// Versions: u8 and i8 with scales of f32 for a tensor or along an axis, and dequantized i32 without
// zero point: 13. 8-bit floats and scales of f16 and bf16: 19. 4-bit and 16-bit integers, blocks:
// 21. In all of them the quotient has the dtype of the scale, as in quantize_linear. What ONNX has
// no form for is decomposed: scales of f64, other integers, blocks over several dims, zero points
// of another dtype, and those of floats and of i32 that are not known to be 0.
#include "serialize/onnx/export/export_quant.h"

#include <algorithm>

#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

constexpr int kNoForm = 0;
constexpr int kFirst = 13;
constexpr int kNarrowFloats = 19;
constexpr int kNarrowInts = 21;
constexpr int kFourBitFloats = 23;
constexpr int kPowersOfTwo = 24;  // As scales.

// The operands of both ops.
enum { kSelf, kScale, kZeroPoint };

bool IsNarrowFloat(DType dtype) { return IsFloat(dtype) && DTypeBits(dtype) <= 8; }

bool IsPerTensor(const Node& node, int64_t block_size) {
  const Type scale = node.operand(kScale)->type();
  return block_size == 0 && (scale.rank() == 0 || scale.numel().Is(1));
}

// Whether the zero point is absent, or known to be 0.
bool HasZeroOffset(const Node& node) {
  if (!node.has_operand(kZeroPoint)) return true;
  const HostTensor* zero = LiteralOf(node.operand(kZeroPoint));
  if (zero == nullptr) return false;
  const std::vector<double> values = zero->ReadDoubles();
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

int OpsetOfQuantized(DType dtype) {
  if (dtype == DType::kU8 || dtype == DType::kI8) return kFirst;
  if (dtype == DType::kF4E2M1) return kFourBitFloats;
  if (IsNarrowFloat(dtype)) return kNarrowFloats;
  const bool narrow = IsInt(dtype) && (DTypeBits(dtype) == 4 || DTypeBits(dtype) == 16);
  return narrow ? kNarrowInts : kNoForm;
}

int OpsetOfScale(DType dtype) {
  if (dtype == DType::kF32) return kFirst;
  if (dtype == DType::kF8E8M0) return kPowersOfTwo;
  return dtype == DType::kF16 || dtype == DType::kBF16 ? kNarrowFloats : kNoForm;
}

int Latest(std::initializer_list<int> opsets) {
  return std::min(opsets) == kNoForm ? kNoForm : std::max(opsets);
}

int OpsetOfQuantize(const Node& node) {
  const ops::QuantizeLinearView view(node);
  if (!view.block_shape().empty()) return kNoForm;
  const DType scale = view.scale()->type().dtype();
  if (scale == DType::kF8E8M0 && view.self()->type().dtype() == DType::kF64) return kNoForm;
  if (IsNarrowFloat(view.dtype()) && !HasZeroOffset(node)) return kNoForm;
  return Latest({OpsetOfQuantized(view.dtype()), OpsetOfScale(scale),
                 view.block_size() != 0 ? kNarrowInts : kFirst});
}

// Scales of 16 bits can be converted to f32 beforehand, which is exact, in older opsets.
int OpsetOfDequantize(const Node& node, bool converted_scale) {
  const ops::DequantizeLinearView view(node);
  const DType from = view.self()->type().dtype();
  const bool bias = from == DType::kI32;
  if (view.dtype() == DType::kF64 || !view.block_shape().empty()) return kNoForm;
  if (view.zero_point() != nullptr && view.zero_point()->type().dtype() != from) return kNoForm;
  if ((bias || IsNarrowFloat(from)) && !HasZeroOffset(node)) return kNoForm;
  const int scale = OpsetOfScale(view.scale()->type().dtype());
  const bool converts = converted_scale && scale != kNoForm && scale != kPowersOfTwo;
  return Latest({bias ? kFirst : OpsetOfQuantized(from), converts ? kFirst : scale,
                 view.block_size() != 0 ? kNarrowInts : kFirst});
}

// The node is decomposed where this is an error.
absl::Status CheckForm(const NodeExport& e, int opset) {
  if (opset == kNoForm) return NodeExport::Unsupported("has no form for these dtypes");
  return opset <= e.opset() ? absl::OkStatus() : e.NeedsOpset(opset);
}

// A scale or zero point for the whole tensor is a scalar.
Val Parameter(NodeExport& e, int i) {
  if (!e.has(i)) return nullptr;
  if (e.rank(i) == 0 || !IsPerTensor(e.node(), e.Int("block_size"))) return e.in(i);
  if (const HostTensor* literal = e.literal(i)) {
    return e.w().Tensor(literal->Contiguous().Reshaped({}));
  }
  return e.Op("Reshape", {e.in(i), e.w().Tensor(HostTensor(DType::kI64, {0}))});
}

OnnxAttrs QuantAttrs(const NodeExport& e) {
  // The axis of a whole tensor does not matter, and may not exist.
  OnnxAttrs attrs;
  if (IsPerTensor(e.node(), e.Int("block_size"))) return attrs;
  attrs.push_back({"axis", e.Dim("axis", e.rank())});
  if (e.Int("block_size") != 0) attrs.push_back({"block_size", e.Int("block_size")});
  return attrs;
}

// A zero point of zeros, which says which dtype to quantize to; null where its size is not known,
// and in blocks, where it would be as large as the scales.
Val ZeroOfDtype(NodeExport& e, DType dtype) {
  if (IsPerTensor(e.node(), e.Int("block_size"))) return e.w().Tensor(HostTensor(dtype, {}));
  const auto size = AllConstant(e.type(kScale).dims());
  if (!size || e.Int("block_size") != 0) return nullptr;
  return e.w().Tensor(HostTensor(dtype, *size));
}

// ONNX Runtime rewrites weights of i8 with their zero points to u8 for processors without VNNI
// (session.x64quantprecision), and fails where two weights share one.
Val OwnZero(NodeExport& e) {
  if (e.literal(kSelf) == nullptr) return ZeroOfDtype(e, e.dtype());
  const auto size = AllConstant(e.type(kScale).dims());
  if (!size || e.Int("block_size") != 0) return nullptr;
  const bool one = IsPerTensor(e.node(), 0);
  ModelWriter& model = e.w().model();
  return model.AddInitializer(HostTensor(e.dtype(), one ? std::vector<int64_t>() : *size),
                              model.UniqueName("zero_point"));
}

absl::Status ExportQuantize(NodeExport& e) {
  WEFT_RETURN_IF_ERROR(CheckForm(e, OpsetOfQuantize(e.node())));
  const DType dtype = e.out_type().dtype();
  OnnxAttrs attrs = QuantAttrs(e);
  Val zero = Parameter(e, kZeroPoint);
  if (zero == nullptr) zero = ZeroOfDtype(e, dtype);
  if (zero == nullptr && e.opset() >= kNarrowInts) {
    attrs.push_back({"output_dtype", int64_t{e.w().model().DataType(dtype)}});
  } else if (zero == nullptr) {
    if (IsNarrowFloat(dtype)) return e.NeedsOpset(kNarrowInts);
    zero = e.Full(e.type(kScale).dims(), HostTensor::ScalarInt(dtype, 0));
  }
  if (IsNarrowFloat(dtype) && !e.Flag("saturate")) attrs.push_back({"saturate", int64_t{0}});
  // From opset 19 on the operand has the dtype of the scale; before, it may be i32 too. With powers
  // of two for scales it may be another one, and the division says its precision.
  const DType scale = e.dtype(kScale);
  const bool powers = scale == DType::kF8E8M0;
  if (powers) attrs.push_back({"precision", int64_t{e.w().model().DataType(DType::kF32)}});
  const bool as_it_is = powers || (e.opset() < kNarrowFloats && e.dtype() == DType::kI32);
  Val x = as_it_is ? e.in(kSelf) : e.Cast(e.in(kSelf), scale);
  e.SetOutput(0, e.w().OpAs("QuantizeLinear", {x, Parameter(e, kScale), zero}, attrs, dtype));
  return absl::OkStatus();
}

// The result has the dtype of the scale: the product is computed in f32 and rounds to it once.
absl::Status ExportDequantize(NodeExport& e) {
  WEFT_RETURN_IF_ERROR(CheckForm(e, OpsetOfDequantize(e.node(), /*converted_scale=*/true)));
  const DType to = e.out_type().dtype();
  const bool powers = e.dtype(kScale) == DType::kF8E8M0;
  const bool native = powers || (e.opset() >= kNarrowFloats && e.dtype(kScale) == to);
  const DType product = native ? to : DType::kF32;
  Val scale = powers ? Parameter(e, kScale) : e.Cast(Parameter(e, kScale), product);
  const bool without = e.dtype() == DType::kI32 || IsNarrowFloat(e.dtype());
  Val zero = without ? nullptr : Parameter(e, kZeroPoint);
  // ONNX Runtime makes integer kernels of bytes only where the zero point is written.
  const bool bytes = IsInt(e.dtype()) && DTypeBits(e.dtype()) == 8;
  if (zero == nullptr && bytes) zero = OwnZero(e);
  OnnxAttrs attrs = QuantAttrs(e);
  if (powers) attrs.push_back({"output_dtype", int64_t{e.w().model().DataType(product)}});
  Val y = e.w().OpAs("DequantizeLinear", {e.in(kSelf), scale, zero}, attrs, product);
  e.SetOutput(0, e.Cast(y, to));
  return absl::OkStatus();
}

// The opset of each node, of nested graphs too, and of the dtypes of results.
int OpsetOfGraph(const Graph& graph, std::vector<const Graph*>* nested) {
  int opset = 0;
  const auto see = [&](Type type) {
    if (type.is_tensor()) opset = std::max(opset, OpsetOfDtype(type.dtype()));
  };
  for (const Value* input : graph.inputs()) see(input->type());
  for (const Node* node = graph.first_node(); node != nullptr; node = node->next()) {
    for (int i = 0; i < node->num_results(); ++i) see(node->result(i)->type());
    opset = std::max(opset, OpsetOfQuantization(*node));
    for (int i = 0; i < node->num_regions(); ++i) nested->push_back(node->region(i));
  }
  return opset;
}

}  // namespace

int OpsetOfQuantization(const Node& node) {
  if (node.Is(ops::quantize_linear)) return OpsetOfQuantize(node);
  if (node.Is(ops::dequantize_linear)) return OpsetOfDequantize(node, /*converted_scale=*/false);
  return kNoForm;
}

int OpsetOfQuantization(const Module& module, int least) {
  int opset = least;
  std::vector<const Graph*> graphs = {module.main()};
  while (!graphs.empty()) {
    const Graph* graph = graphs.back();
    graphs.pop_back();
    opset = std::max(opset, OpsetOfGraph(*graph, &graphs));
  }
  return opset;
}

absl::Span<const ExportEntry> QuantExports() {
  static const ExportEntry kEntries[] = {
      {&ops::dequantize_linear, ExportDequantize, "",
       "needs opset 19 for 8-bit floats, 21 for 4-bit and 16-bit integers and for blocks, 23 for "
       "f4e2m1, 24 for scales of f8e8m0"},
      {&ops::quantize_linear, ExportQuantize, "",
       "needs opset 19 for 8-bit floats and scales of 16 bits, 21 for 4-bit and 16-bit integers "
       "and for blocks, 23 for f4e2m1, 24 for scales of f8e8m0"},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
