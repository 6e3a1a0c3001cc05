// Data movement: parts, joins, padding, order of dims.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

absl::Status Transpose(NodeContext& c) {
  const int rank = c.rank(0);
  std::vector<int64_t> perm = c.Ints("perm");
  if (perm.empty()) {
    for (int i = rank - 1; i >= 0; --i) perm.push_back(i);
  }
  c.SetOutput(0, Permute(c, c.in(0), perm));
  return c.status();
}

absl::Status Concat(NodeContext& c) {
  const std::vector<Value*> parts = c.all_inputs();
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.RequiredInt("axis"), c.rank(0)));
  c.SetOutput(0, ops::BuildCat(c.b(), parts, axis));
  return c.status();
}

// --- Split ------------------------------------------------------------------------

// Sizes of `n` parts. Since opset 18 the last one may be smaller.
std::vector<SymInt> EqualParts(NodeContext& c, SymInt size, int64_t n) {
  if (c.opset() < 18) {
    return std::vector<SymInt>(n, FloorDiv(size, SymInt(n)));
  }
  const SymInt part = CeilDiv(size, SymInt(n));
  std::vector<SymInt> parts(n, part);
  // Trailing parts can be empty: 5 in 4 parts is 2, 2, 1 and 0.
  SymInt left = size;
  for (SymInt& p : parts) {
    p = c.opset() >= 18 && size.is_constant() ? Min(part, left) : p;
    left = left - p;
  }
  if (!size.is_constant()) parts.back() = size - part * SymInt(n - 1);
  return parts;
}

absl::Status Split(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 0), c.rank(0)));
  const int64_t n = c.opset() >= 18 ? c.Int("num_outputs", c.num_outputs()) : c.num_outputs();
  const SymInt size = c.type(0).dim(axis);
  std::vector<SymInt> parts;
  if (c.opset() < 13) {
    parts = ToSymInts(c.Ints("split"));
  } else if (c.has_input(1)) {
    WEFT_ASSIGN_OR_RETURN(parts, c.SizesFromTensor(1));
  }
  if (parts.empty()) {
    if (n < 1 || n > 65536) {
      return c.Fail(absl::StrCat("cannot split into ", n, " parts"));
    }
    if (c.opset() < 18 && size.is_constant() && size.value() % n != 0) {
      return c.Fail(absl::StrCat(size.ToString(), " cannot be split into ", n, " equal parts"));
    }
    parts = EqualParts(c, size, n);
  }
  if (c.num_outputs() > static_cast<int>(parts.size())) {
    return c.Fail(absl::StrCat(parts.size(), " parts for ", c.num_outputs(), " outputs"));
  }
  c.SetOutputs(ops::BuildSplitWithSizes(c.b(), c.in(0), parts, axis));
  return c.status();
}

// --- Slice ------------------------------------------------------------------------

struct Range {
  SymInt start;
  SymInt end;
  int64_t step = 1;
};

// For a negative step: converts a position counted from the beginning of the dim (or, if negative,
// from its end) to one counted from the other side.
SymInt Mirrored(NodeContext& c, SymInt position, SymInt dim) {
  const SymbolTable& symbols = c.b().module().symbols();
  // -1 - x instead of -x, because it does not overflow for the least integer.
  if (position.is_constant() && position.value() < 0) {
    return SymInt(-1 - position.value());
  }
  if (position.Is(std::numeric_limits<int64_t>::max())) return 0;
  if (symbols.RangeOf(position).max < 0) return SymInt(-1) - position;
  return Max(dim - SymInt(1) - position, 0);
}

absl::StatusOr<Value*> SliceDim(NodeContext& c, Value* x, int axis, const Range& range) {
  if (x == nullptr) return c.status();
  if (range.step == 0) return c.Fail("a step is 0");
  if (range.step > 0) {
    return Slice(c, x, axis, range.start, range.end, SymInt(range.step));
  }
  const SymInt dim = x->type().dim(axis);
  const SymbolTable& symbols = c.b().module().symbols();
  for (SymInt position : {range.start, range.end}) {
    const SymRange values = symbols.RangeOf(position);
    if (values.min >= 0 || values.max < 0) continue;
    return c.Unsupported(absl::StrCat("a negative step with a position whose sign is not known, ",
                                      position.ToString()));
  }
  Value* flipped = ops::BuildFlip(c, x, {axis});
  // Clamps the first element into the dim. 0 is valid, or the dim is empty.
  SymInt start = Mirrored(c, range.start, dim);
  if (!start.Is(0)) start = Max(Min(start, dim - SymInt(1)), 0);
  const int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t step = range.step == least ? std::numeric_limits<int64_t>::max() : -range.step;
  return Slice(c, flipped, axis, start, Mirrored(c, range.end, dim), SymInt(step));
}

// Exporters write "to the end" as a very large number, and, with a negative step, "from the
// beginning" as its negative.
SymInt Unbounded(SymInt position) {
  constexpr int64_t kHuge = std::numeric_limits<int32_t>::max();
  if (!position.is_constant()) return position;
  if (position.value() >= kHuge) return std::numeric_limits<int64_t>::max();
  if (position.value() <= -kHuge) return std::numeric_limits<int64_t>::min();
  return position;
}

struct SliceArgs {
  std::vector<SymInt> starts, ends;
  std::vector<int64_t> axes, steps;
};

// Arguments are attributes before opset 10, then inputs.
absl::StatusOr<SliceArgs> ReadSliceArgs(NodeContext& c) {
  SliceArgs args;
  if (c.opset() < 10) {
    args.starts = ToSymInts(c.Ints("starts"));
    args.ends = ToSymInts(c.Ints("ends"));
    args.axes = c.Ints("axes");
  } else {
    WEFT_ASSIGN_OR_RETURN(args.starts, c.SizesFromTensor(1, false));
    WEFT_ASSIGN_OR_RETURN(args.ends, c.SizesFromTensor(2, false));
    if (c.has_input(3)) {
      WEFT_ASSIGN_OR_RETURN(args.axes, c.RequireConstantInts(3));
    }
    if (c.has_input(4)) {
      WEFT_ASSIGN_OR_RETURN(args.steps, c.RequireConstantInts(4));
    }
  }
  for (SymInt& s : args.starts) s = Unbounded(s);
  for (SymInt& s : args.ends) s = Unbounded(s);
  const size_t n = args.starts.size();
  if (args.axes.empty()) {
    for (size_t i = 0; i < n; ++i) args.axes.push_back(static_cast<int64_t>(i));
  }
  if (args.steps.empty()) args.steps.assign(n, 1);
  if (args.ends.size() != n || args.axes.size() != n || args.steps.size() != n) {
    return c.Fail("starts, ends, axes and steps differ in length");
  }
  WEFT_ASSIGN_OR_RETURN(args.axes, c.Axes(args.axes, c.rank(0)));
  return args;
}

absl::Status SliceOp(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const SliceArgs args, ReadSliceArgs(c));
  Value* x = c.in(0);
  for (size_t i = 0; i < args.axes.size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(x, SliceDim(c, x, static_cast<int>(args.axes[i]),
                                      {args.starts[i], args.ends[i], args.steps[i]}));
  }
  c.SetOutput(0, x);
  return c.status();
}

// --- Pad --------------------------------------------------------------------------

// `pads` of `axes` as begins and ends of all dims.
absl::StatusOr<std::vector<SymInt>> AllPads(NodeContext& c, absl::Span<const SymInt> pads,
                                            absl::Span<const int64_t> axes) {
  const size_t rank = c.rank(0);
  if (pads.size() != 2 * axes.size()) {
    return c.Fail(
        absl::StrCat(pads.size(), " pads for ", axes.size(), " dims of ", c.type(0).ToString()));
  }
  std::vector<SymInt> all(2 * rank, SymInt(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    all[axes[i]] = pads[i];
    all[rank + axes[i]] = pads[axes.size() + i];
  }
  return all;
}

absl::Status Pad(NodeContext& c) {
  const std::string mode = c.Str("mode", "constant");
  const bool by_inputs = c.opset() >= 11;
  std::vector<SymInt> pads;
  std::vector<int64_t> axes;
  Value* value = nullptr;
  if (by_inputs) {
    WEFT_ASSIGN_OR_RETURN(pads, c.SizesFromTensor(1, false));
    if (c.has_input(2)) value = AsScalar(c, c.in(2));
  } else {
    pads = ToSymInts(c.Ints("pads"));
    value = ScalarOf(c, c.dtype(0), c.Float("value", 0));
  }
  if (by_inputs && c.has_input(3)) {
    WEFT_ASSIGN_OR_RETURN(axes, c.RequireConstantInts(3));
    WEFT_ASSIGN_OR_RETURN(axes, c.Axes(axes, c.rank(0)));
  } else {
    axes = OtherDims(c.rank(0), {});
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> all, AllPads(c, pads, axes));
  if (mode != "constant") value = nullptr;
  c.SetOutput(0, ops::BuildPad(c, c.in(0), value, all, mode));
  return c.status();
}

// Keeps the middle of a dim that is too long, and pads one that is too short with zeros.
absl::Status CenterCropPad(NodeContext& c) {
  const int rank = c.rank(0);
  std::vector<int64_t> axes = c.Ints("axes");
  if (!c.HasAttr("axes")) axes = OtherDims(rank, {});
  WEFT_ASSIGN_OR_RETURN(axes, c.Axes(axes, rank));
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, c.SizesFromTensor(1));
  if (shape.size() != axes.size()) {
    return c.Fail(absl::StrCat(shape.size(), " sizes for ", axes.size(), " axes"));
  }
  Value* x = c.in(0);
  std::vector<SymInt> pads(2 * rank, SymInt(0));
  bool padded = false;
  for (size_t i = 0; i < axes.size() && c.ok(); ++i) {
    const SymInt dim = x->type().dim(static_cast<int>(axes[i]));
    const SymInt cropped = FloorDiv(Max(dim - shape[i], 0), 2);
    x = Slice(c, x, axes[i], cropped, cropped + Min(dim, shape[i]));
    const SymInt missing = Max(shape[i] - dim, 0);
    pads[axes[i]] = FloorDiv(missing, 2);
    pads[rank + axes[i]] = missing - FloorDiv(missing, 2);
    padded |= !missing.Is(0);
  }
  if (padded) x = ops::BuildPad(c, x, nullptr, pads);
  c.SetOutput(0, x);
  return c.status();
}

// --- Blocks -----------------------------------------------------------------------

absl::Status DepthToSpace(NodeContext& c) {
  const int64_t block = c.RequiredInt("blocksize");
  const std::string mode = c.opset() < 11 ? "DCR" : c.Str("mode", "DCR");
  c.SetOutput(0, ops::BuildDepthToSpace(c, c.in(0), block, mode));
  return c.status();
}

absl::Status SpaceToDepth(NodeContext& c) {
  const int64_t block = c.RequiredInt("blocksize");
  c.SetOutput(0, ops::BuildSpaceToDepth(c, c.in(0), block));
  return c.status();
}

absl::Status Trilu(NodeContext& c) {
  const bool upper = c.Bool("upper", true);
  SymInt diagonal = 0;
  if (c.has_input(1)) {
    WEFT_ASSIGN_OR_RETURN(const auto known, c.KnownOrGivenInts(1));
    std::vector<SymInt> k;
    if (known) {
      k = *known;
    } else {
      WEFT_ASSIGN_OR_RETURN(k, c.SizesFromValue(AsScalar(c, c.in(1)), false));
    }
    if (k.size() != 1) return c.Fail("k must have one element");
    diagonal = k[0];
  }
  c.SetOutput(0, c.Op(upper ? ops::triu : ops::tril, {c.in(0)}, {{"diagonal", diagonal}}));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"CenterCropPad", {18}, CenterCropPad},
    {"Concat", {4, 11, 13}, Concat},
    {"DepthToSpace", {1, 11, 13}, DepthToSpace},
    {"Pad", {2, 11, 13, 18, 19, 21, 23, 24, 25}, Pad},
    {"Slice", {1, 10, 11, 13}, SliceOp},
    {"SpaceToDepth", {1, 13}, SpaceToDepth},
    {"Split", {2, 11, 13, 18}, Split},
    {"Transpose", {1, 13, 21, 23, 24, 25}, Transpose},
    {"Trilu", {14}, Trilu},
};

}  // namespace

absl::Span<const OnnxOp> MoveTable() { return kTable; }

}  // namespace weft::onnx_import
