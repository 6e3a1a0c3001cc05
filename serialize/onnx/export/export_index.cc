// Ops that take elements by index, and find indices.

#include "graph/ops/ops.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

// `op_type` with the dim as its axis.
absl::Status ExportAlongDim(NodeExport& e) {
  e.SetOutput(0, e.w().Op(e.op_type(), e.ins(), {{"axis", e.Dim("dim", e.rank())}}));
  return absl::OkStatus();
}

// ONNX gives the transpose, and does not say what it gives for a scalar.
absl::Status ExportNonzero(NodeExport& e) {
  if (e.rank() > 0) {
    e.SetOutput(
        0, e.Op("Transpose", {e.Op("NonZero", {e.in(0)})}, {{"perm", std::vector<int64_t>{1, 0}}}));
    return absl::OkStatus();
  }
  Val one = e.Op("Reshape", {e.in(0), e.Ints({1})});
  Val found = e.Op("Transpose", {e.Op("NonZero", {one})}, {{"perm", std::vector<int64_t>{1, 0}}});
  e.SetOutput(0, e.Op("Slice", {found, e.Ints({0}), e.Ints({0}), e.Ints({1})}));
  return absl::OkStatus();
}

absl::Status ExportGatherNd(NodeExport& e) {
  e.SetOutput(0, e.Op("GatherND", {e.in(0), e.in(1)}, {{"batch_dims", e.Int("batch_dims")}}));
  return absl::OkStatus();
}

// --- Updates ----------------------------------------------------------------------

// The operator with the reduction of the node. Of bools it says nothing but
// where they go: they are combined as integers.
absl::Status Scatter(NodeExport& e, Val updates, OnnxAttrs attrs) {
  const std::string& reduce = e.attrs().Str("reduce");
  if ((reduce == "max" || reduce == "min") && e.opset() < 18) {
    return NodeExport::Unsupported("with reduce=\"", reduce, "\" needs opset 18");
  }
  attrs.push_back({"reduction", reduce});
  const bool combines_bool = e.dtype() == DType::kBool && reduce != "none";
  const DType dtype = combines_bool ? DType::kI32 : e.dtype();
  Val result = e.Op(e.op_type(), {e.Cast(e.in(0), dtype), e.in(1), e.Cast(updates, dtype)}, attrs);
  e.SetOutput(0, e.Cast(result, e.dtype()));
  return absl::OkStatus();
}

// Updates have the shape of the indices, where src may be larger.
absl::Status ExportScatter(NodeExport& e) {
  Val src = e.in(2);
  const int rank = e.rank();
  if (rank == 0) return e.Unsupported("has no form for scalars");
  if (e.type(1).dims() != e.type(2).dims()) {
    src = e.Op("Slice", {src, e.Ints(std::vector<int64_t>(rank, 0)), e.Sizes(e.type(1).dims())});
  }
  return Scatter(e, src, {{"axis", e.Dim("dim", rank)}});
}

absl::Status ExportScatterNd(NodeExport& e) { return Scatter(e, e.in(2), {}); }

// --- Order ------------------------------------------------------------------------

// `k` of n sorted elements.
absl::Status SetTopK(NodeExport& e, Val k, int64_t largest) {
  const std::vector<Val> results =
      e.Ops("TopK", {e.in(0), k},
            {{"axis", e.Dim("dim", e.rank())}, {"largest", largest}, {"sorted", 1}}, {true, true});
  e.SetOutput(0, results[0]);
  e.SetOutput(1, results[1]);
  return absl::OkStatus();
}

absl::Status ExportSort(NodeExport& e) {
  if (e.rank() == 0) {
    e.SetOutput(0, e.in(0));
    e.SetOutput(1, e.IntScalar(0));
    return absl::OkStatus();
  }
  const int dim = static_cast<int>(e.Dim("dim", e.rank()));
  return SetTopK(e, e.Size(e.type().dim(dim)), e.Flag("descending"));
}

absl::Status ExportTopk(NodeExport& e) {
  if (e.rank() == 0) return e.Unsupported("has no form for scalars");
  return SetTopK(e, e.Size(e.attrs().Sym("k")), e.Flag("largest"));
}

// --- Sizes that depend on data ------------------------------------------------------

absl::Status ExportCompress(NodeExport& e) {
  OnnxAttrs attrs;
  Val x = e.in(0);
  if (e.attrs().Has("dim")) attrs = {{"axis", e.Dim("dim", e.rank())}};
  if (e.rank() == 0) x = e.Op("Reshape", {x, e.Ints({1})});
  e.SetOutput(0, e.Op("Compress", {x, e.in(1)}, attrs));
  return absl::OkStatus();
}

absl::Status ExportUnique(NodeExport& e) {
  OnnxAttrs attrs = {{"sorted", e.Flag("sorted")}};
  Val x = e.in(0);
  if (e.attrs().Has("dim")) attrs.push_back({"axis", e.Dim("dim", e.rank())});
  if (e.rank() == 0) x = e.Op("Reshape", {x, e.Ints({1})});
  const std::vector<bool> wanted = {true, e.used(1), e.used(2), e.used(3)};
  const std::vector<Val> results = e.Ops("Unique", {x}, attrs, wanted);
  for (int i = 0; i < 4; ++i) e.SetOutput(i, results[i]);
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> IndexExports() {
  static const ExportEntry kEntries[] = {
      {&ops::compress, ExportCompress},
      {&ops::gather, ExportAlongDim, "GatherElements"},
      {&ops::gather_nd, ExportGatherNd},
      {&ops::index_select, ExportAlongDim, "Gather"},
      {&ops::nonzero, ExportNonzero},
      {&ops::scatter, ExportScatter, "ScatterElements", "reduce max and min need opset 18"},
      {&ops::scatter_nd, ExportScatterNd, "ScatterND", "reduce max and min need opset 18"},
      {&ops::sort, ExportSort},
      {&ops::topk, ExportTopk},
      {&ops::unique, ExportUnique},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
