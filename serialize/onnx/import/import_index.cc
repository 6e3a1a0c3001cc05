// Gathers and scatters elements by index; parts of tensors; ordering.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/index.h"
#include "graph/ops/ops.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// --- Gather and scatter ---------------------------------------------------------

template <const OpDef& op>
absl::Status GatherAlong(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 0), c.rank(0)));
  c.SetOutput(0, c.Op(op, {c.in(0), c.in(1)}, {{"dim", axis}}));
  return c.status();
}

absl::Status GatherNd(NodeContext& c) {
  const int64_t batch_dims = c.opset() < 12 ? 0 : c.Int("batch_dims", 0);
  c.SetOutput(0, c.Op(ops::gather_nd, {c.in(0), c.in(1)}, {{"batch_dims", batch_dims}}));
  return c.status();
}

// "none" until opset 15; also add and mul since 16, min and max since 18.
std::string Reduction(NodeContext& c) {
  const std::string reduction = c.opset() < 16 ? "none" : c.Str("reduction", "none");
  const auto is_one_of = [&](std::initializer_list<absl::string_view> names) {
    return std::find(names.begin(), names.end(), reduction) != names.end();
  };
  if (!is_one_of({"none", "add", "mul"}) && !(c.opset() >= 18 && is_one_of({"min", "max"}))) {
    c.Record(absl::StrCat("attribute \"reduction\" is \"", reduction, "\""));
  }
  return reduction;
}

absl::Status ScatterElements(NodeContext& c) {
  const std::string reduction = Reduction(c);
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 0), c.rank(0)));
  c.SetOutput(
      0, c.Op(ops::scatter, {c.in(0), c.in(1), c.in(2)}, {{"dim", axis}, {"reduce", reduction}}));
  return c.status();
}

absl::Status ScatterNd(NodeContext& c) {
  const std::string reduction = Reduction(c);
  c.SetOutput(0, c.Op(ops::scatter_nd, {c.in(0), c.in(1), c.in(2)}, {{"reduce", reduction}}));
  return c.status();
}

// --- Elements that a condition picks --------------------------------------------

absl::Status Compress(NodeContext& c) {
  AttrValue dim;
  if (c.HasAttr("axis")) {
    WEFT_ASSIGN_OR_RETURN(dim, c.Axis(c.Int("axis", 0), c.rank(0)));
  }
  c.SetOutput(0, c.Op(ops::compress, {c.in(0), c.in(1)}, {{"dim", dim}}));
  return c.status();
}

// ONNX has one column per element, ATen one row.
absl::Status NonZero(NodeContext& c) {
  const std::vector<int64_t> swap = {1, 0};
  c.SetOutput(0, Permute(c, c.Op(ops::nonzero, {c.in(0)}), swap));
  return c.status();
}

absl::Status Unique(NodeContext& c) {
  std::optional<int64_t> dim;
  if (c.HasAttr("axis")) {
    WEFT_ASSIGN_OR_RETURN(dim, c.Axis(c.Int("axis", 0), c.rank(0)));
  }
  const bool sorted = c.Bool("sorted", true);
  if (c.in(0) == nullptr) return c.status();
  c.SetOutputs(ops::BuildUnique(c.b(), c.in(0), dim, sorted));
  return c.status();
}

// --- TopK -------------------------------------------------------------------------

absl::Status TopK(NodeContext& c) {
  const bool ordered = c.opset() >= 11;
  const bool largest = ordered ? c.Bool("largest", true) : true;
  const bool sorted = ordered ? c.Bool("sorted", true) : true;
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", -1), c.rank(0)));
  SymInt k;
  if (c.opset() < 10) {
    k = c.RequiredInt("k");
  } else {
    WEFT_ASSIGN_OR_RETURN(const auto given, c.SizesFromTensor(1));
    if (given.size() != 1) {
      return c.Fail(
          absl::StrCat(c.InputText(1), " has ", given.size(), " elements instead of one"));
    }
    k = given[0];
  }
  c.SetOutputs(ops::BuildTopk(c.b(), c.in(0), k, axis, largest, sorted));
  return c.status();
}

// --- OneHot -----------------------------------------------------------------------

// The depth, which may have any dtype, as a size.
absl::StatusOr<SymInt> Depth(NodeContext& c) {
  if (c.in(1) == nullptr) return c.status();
  if (IsInt(c.dtype(1))) {
    WEFT_ASSIGN_OR_RETURN(const auto known, c.KnownOrGivenInts(1));
    if (known && known->size() == 1) return (*known)[0];
  }
  Value* depth = AsScalar(c, Convert(c, c.in(1), DType::kI64));
  WEFT_ASSIGN_OR_RETURN(const auto sizes, c.SizesFromValue(depth));
  return sizes[0];
}

// values = [off, on]. Indices from -depth to depth - 1 are on; others are off.
absl::Status OneHot(NodeContext& c) {
  const int64_t axis_attr = c.Int("axis", -1);
  const int rank = c.rank(0) + 1;
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(axis_attr, rank));
  WEFT_ASSIGN_OR_RETURN(const SymInt depth, Depth(c));
  Value* index = Convert(c, c.in(0), DType::kI64);
  Value* negative = c.Op(ops::lt, {index, ScalarOf(c, DType::kI64, 0)});
  Value* from_end = c.Op(ops::add, {index, SymTensor(c, {depth}, {})});
  Value* wrapped = c.Op(ops::where, {negative, from_end, index});
  const std::vector<int64_t> at = {axis};
  Value* hot = c.Op(ops::eq, {Unsqueeze(c, wrapped, at), AlongDim(c, Iota(c, depth), axis, rank)});
  Value* off = AsScalar(c, Slice(c, c.in(2), 0, 0, 1));
  Value* on = AsScalar(c, Slice(c, c.in(2), 0, 1, 2));
  c.SetOutput(0, c.Op(ops::where, {hot, on, off}));
  return c.status();
}

// --- ReverseSequence --------------------------------------------------------------

// Element t of a sequence of length n comes from n - 1 - t, for t < n.
absl::Status ReverseSequence(NodeContext& c) {
  const int64_t time_attr = c.Int("time_axis", 0);
  const int64_t batch_attr = c.Int("batch_axis", 1);
  const int rank = c.rank(0);
  WEFT_ASSIGN_OR_RETURN(const int time, c.Axis(time_attr, rank));
  WEFT_ASSIGN_OR_RETURN(const int batch, c.Axis(batch_attr, rank));
  if (time == batch || !c.ok()) {
    return c.Fail("batch_axis and time_axis must differ");
  }
  const std::vector<SymInt> dims = Dims(c.in(0));
  Value* t = AlongDim(c, Iota(c, dims[time]), time, rank);
  Value* n = AlongDim(c, Convert(c, c.in(1), DType::kI64), batch, rank);
  Value* last = c.Op(ops::sub, {n, ScalarOf(c, DType::kI64, 1)});
  Value* index = c.Op(ops::where, {c.Op(ops::lt, {t, n}), c.Op(ops::sub, {last, t}), t});
  c.SetOutput(0, c.Op(ops::gather, {c.in(0), Expand(c, index, dims)}, {{"dim", time}}));
  return c.status();
}

// --- TensorScatter ----------------------------------------------------------------

// cache[b, .., write[b] + s, ..] = update[b, .., s, ..] along `axis`, modulo the dim if circular.
absl::Status TensorScatter(NodeContext& c) {
  const std::string mode = c.Str("mode", "linear");
  const int rank = c.rank(0);
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", -2), rank));
  if (axis == 0) return c.Fail("axis must not be that of the batch");
  if (mode != "linear" && mode != "circular") {
    return c.Fail(absl::StrCat("attribute \"mode\" is \"", mode, "\""));
  }
  if (c.rank(1) != rank) return c.Fail("cache and update differ in rank");
  const std::vector<SymInt> size = Dims(c.in(1));
  Value* index = AlongDim(c, Iota(c, size[axis]), axis, rank);
  if (c.has_input(2)) {
    Value* first = Convert(c, c.in(2), DType::kI64);
    index = c.Op(ops::add, {index, AlongDim(c, first, 0, rank)});
  }
  if (mode == "circular") {
    Value* n = SymTensor(c, {Dims(c.in(0))[axis]}, {});
    index = c.Op(ops::remainder, {index, n});
  }
  c.SetOutput(0, c.Op(ops::scatter, {c.in(0), Expand(c, index, size), c.in(1)}, {{"dim", axis}}));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"Compress", {9, 11}, Compress},
    {"Gather", {1, 11, 13}, GatherAlong<ops::index_select>},
    {"GatherElements", {11, 13}, GatherAlong<ops::gather>},
    {"GatherND", {11, 12, 13}, GatherNd},
    {"NonZero", {9, 13}, NonZero},
    {"OneHot", {9, 11}, OneHot},
    {"ReverseSequence", {10}, ReverseSequence},
    {"Scatter", {9}, ScatterElements},
    {"ScatterElements", {11, 13, 16, 18}, ScatterElements},
    {"ScatterND", {11, 13, 16, 18}, ScatterNd},
    {"TensorScatter", {24}, TensorScatter},
    {"TopK", {1, 10, 11, 24}, TopK},
    {"Unique", {11}, Unique},
};

}  // namespace

absl::Span<const OnnxOp> IndexTable() { return kTable; }

}  // namespace weft::onnx_import
