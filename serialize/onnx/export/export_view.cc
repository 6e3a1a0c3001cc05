// Views by place, and the ops that undo views. ONNX has indices for them: the
// elements that a view shows are those at the numbers that the view itself
// shows of 0, 1, 2, ... in its operand's shape.
#include <numeric>
#include <vector>

#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "graph/ir/node.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 24;
constexpr const char* kLimits = "symbolic sizes";

// The numbers of the elements of a tensor of type `base` that `view` shows.
absl::StatusOr<HostTensor> Numbers(NodeExport& e, const OpDef& view) {
  const auto dims = e.type().static_dims();
  if (!dims || e.attrs().list()->is_symbolic()) {
    return NodeExport::Unsupported("needs sizes that are constants");
  }
  const int64_t numel = e.type().numel().value();
  if (numel > kMostNumbers) return NodeExport::Unsupported("is too large");
  std::vector<int64_t> numbers(numel);
  std::iota(numbers.begin(), numbers.end(), 0);
  WEFT_ASSIGN_OR_RETURN(auto shown, Evaluate(view, e.attrs().list(),
                                             {HostTensor::FromInts(DType::kI64, *dims, numbers)}));
  return shown[0];
}

Val Flat(NodeExport& e, Val val, Type type) {
  const SymInt numel[] = {type.numel()};
  return e.Reshape(val, type.dims(), numel);
}

absl::Status ExportClone(NodeExport& e) {
  e.SetOutput(0, e.Op("Identity", {e.in(0)}));
  return absl::OkStatus();
}

absl::Status ExportSelect(NodeExport& e) {
  e.SetOutput(0, e.Op("Gather", {e.in(0), e.ScalarSize(e.attrs().Sym("index"))},
                      {{"axis", e.Dim("dim", e.rank())}}));
  return absl::OkStatus();
}

absl::Status ExportView(NodeExport& e) {
  WEFT_ASSIGN_OR_RETURN(auto numbers, Numbers(e, e.node().op()));
  e.SetOutput(0, e.Op("Gather", {Flat(e, e.in(0), e.type()), e.w().Tensor(numbers)}));
  return absl::OkStatus();
}

absl::Status ExportScatterOf(NodeExport& e, const OpDef& view) {
  WEFT_ASSIGN_OR_RETURN(auto numbers, Numbers(e, view));
  const int64_t count = numbers.numel();
  const SymInt flat[] = {e.type().numel()};
  Val written = e.Op("ScatterND", {Flat(e, e.in(0), e.type()),
                                   e.w().Tensor(numbers.Contiguous().Reshaped({count, 1})),
                                   Flat(e, e.in(1), e.type(1))});
  e.SetOutput(0, e.Reshape(written, flat, e.type().dims()));
  return absl::OkStatus();
}

template <const OpDef& view>
absl::Status ExportScatter(NodeExport& e) {
  return ExportScatterOf(e, view);
}

}  // namespace

absl::Span<const ExportEntry> ViewExports() {
  static const ExportEntry kEntries[] = {
      {&ops::as_strided, ExportView, "", kLimits},
      {&ops::as_strided_scatter, ExportScatter<ops::as_strided>, "", kLimits},
      {&ops::clone, ExportClone},
      {&ops::diagonal, ExportView, "", kLimits},
      {&ops::diagonal_scatter, ExportScatter<ops::diagonal>, "", kLimits},
      {&ops::select, ExportSelect},
      {&ops::select_scatter, ExportScatter<ops::select>, "", kLimits},
      {&ops::slice_scatter, ExportScatter<ops::slice>, "", kLimits},
      {&ops::unfold, ExportView, "", kLimits},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
