// Shapes: queries, reshapes, tensors made from sizes.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_model.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// --- Queries ------------------------------------------------------------------

// Out-of-range `start` and `end` (opset 15) are clamped.
absl::Status Shape(NodeContext& c) {
  const std::vector<SymInt> dims = Dims(c.in(0));
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = clamp(c.Int("start", 0));
  const int64_t end = std::max(start, clamp(c.Int("end", rank)));
  const auto part = absl::MakeConstSpan(dims).subspan(start, end - start);
  c.SetOutput(0, SymTensor(c, part, {end - start}));
  return c.status();
}

absl::Status Size(NodeContext& c) {
  c.SetOutput(0, SymTensor(c, {c.type(0).numel()}, {}));
  return c.status();
}

// --- Reshape ------------------------------------------------------------------

// total / product(sizes), after cancelling common factors.
SymInt Remainder(absl::Span<const SymInt> dims, std::vector<SymInt> sizes) {
  std::vector<SymInt> left;
  for (SymInt d : dims) {
    auto it = std::find(sizes.begin(), sizes.end(), d);
    if (it == sizes.end()) {
      left.push_back(d);
    } else {
      sizes.erase(it);
    }
  }
  return FloorDiv(Product(left), Product(sizes));
}

// 0 means the input's dim (unless `allow_zero`), -1 the remaining size.
absl::StatusOr<std::vector<SymInt>> ResolveSizes(NodeContext& c, std::vector<SymInt> size,
                                                 bool allow_zero) {
  const std::vector<SymInt> dims = Dims(c.in(0));
  int inferred = -1;
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i].Is(0) && !allow_zero) {
      if (i >= dims.size()) {
        return c.Fail(absl::StrCat("size 0 at ", i, " copies a dim that ", c.type(0).ToString(),
                                   " does not have"));
      }
      size[i] = dims[i];
    } else if (size[i].Is(-1)) {
      if (inferred >= 0) return c.Fail("the new shape has two sizes of -1");
      inferred = static_cast<int>(i);
    } else if (size[i].is_constant() && size[i].value() < -1) {
      return c.Fail(absl::StrCat("the new shape has a size ", size[i].ToString()));
    }
  }
  if (inferred < 0) return size;
  std::vector<SymInt> others = size;
  others.erase(others.begin() + inferred);
  const SymInt product = Product(others);
  if (product.Is(0)) {
    return c.Fail("a size of -1 beside a size of 0 is ambiguous");
  }
  size[inferred] = Remainder(dims, std::move(others));
  return size;
}

// The same at run time, by integer arithmetic on the shape tensor.
absl::StatusOr<std::vector<SymInt>> RuntimeSizes(NodeContext& c, bool allow_zero) {
  Value* shape = Convert(c, c.in(1), DType::kI64);
  WEFT_RETURN_IF_ERROR(c.status());
  const int64_t n = shape->type().numel().value();
  const auto all = [&](int64_t value) {
    return SymTensor(c, std::vector<SymInt>(n, SymInt(value)), {n});
  };
  if (!allow_zero) {
    std::vector<SymInt> copied = Dims(c.in(0));
    copied.resize(n, SymInt(0));
    shape = c.Op(ops::where, {c.Op(ops::eq, {shape, all(0)}), SymTensor(c, copied, {n}), shape});
  }
  Value* open = c.Op(ops::eq, {shape, all(-1)});
  Value* known = ops::BuildProd(c, c.Op(ops::where, {open, all(1), shape}), {0}, /*keepdim=*/true);
  // Without a -1 the quotient is not used, but it must not divide by 0.
  known = c.Op(ops::maximum, {known, SymTensor(c, {SymInt(1)}, {1})});
  Value* total = SymTensor(c, {c.type(0).numel()}, {1});
  Value* left = ops::BuildDiv(c, total, known, "trunc");
  return c.SizesFromValue(c.Op(ops::where, {open, left, shape}));
}

absl::Status ReshapeOp(NodeContext& c) {
  const bool allow_zero = c.Bool("allowzero", false);
  Value* x = c.in(0);
  std::vector<SymInt> size;
  if (c.in(1) == nullptr) return c.status();
  WEFT_ASSIGN_OR_RETURN(auto known, c.KnownOrGivenInts(1));
  if (known) {
    WEFT_ASSIGN_OR_RETURN(size, ResolveSizes(c, *known, allow_zero));
  } else {
    WEFT_RETURN_IF_ERROR(c.CheckLengthKnown(1));
    WEFT_ASSIGN_OR_RETURN(size, RuntimeSizes(c, allow_zero));
  }
  c.SetOutput(0, Reshape(c, x, size));
  return c.status();
}

absl::Status Flatten(NodeContext& c) {
  const std::vector<SymInt> dims = Dims(c.in(0));
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 1), c.rank(0), true));
  const auto all = absl::MakeConstSpan(dims);
  c.SetOutput(0, Reshape(c, c.in(0), {Product(all.subspan(0, axis)), Product(all.subspan(axis))}));
  return c.status();
}

// --- Dims of size 1 -----------------------------------------------------------

// Axes are an attribute before opset 13, then an input.
absl::StatusOr<std::vector<int64_t>> ReadAxes(NodeContext& c) {
  if (c.opset() < 13) return c.Ints("axes");
  if (!c.has_input(1)) return std::vector<int64_t>();
  return c.RequireConstantInts(1);
}

absl::Status Squeeze(NodeContext& c) {
  std::vector<SymInt> size = Dims(c.in(0));
  const bool given = c.opset() < 13 ? c.HasAttr("axes") : c.has_input(1);
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> read, ReadAxes(c));
  WEFT_ASSIGN_OR_RETURN(std::vector<int64_t> axes, c.Axes(read, c.rank(0)));
  if (!given) {
    const SymbolTable& symbols = c.b().module().symbols();
    for (size_t i = 0; i < size.size(); ++i) {
      const Proof is_one = symbols.ProveEq(size[i], 1);
      // At most one element, for example from a slice; reshape refuses an empty tensor.
      const bool at_most_one =
          is_one == Proof::kUnknown && symbols.ProveLe(size[i], 1) == Proof::kYes;
      if (is_one == Proof::kYes || at_most_one) {
        axes.push_back(static_cast<int64_t>(i));
      } else if (is_one == Proof::kUnknown) {
        return c.Fail(absl::StrCat("which dims of ", c.type(0).ToString(),
                                   " are 1 must be known, or axes be given"));
      }
    }
  }
  std::sort(axes.rbegin(), axes.rend());
  for (int64_t axis : axes) {
    if (size[axis].is_constant() && !size[axis].Is(1)) {
      return c.Fail(absl::StrCat("dim ", axis, " of ", c.type(0).ToString(), " is not 1"));
    }
    size.erase(size.begin() + axis);
  }
  c.SetOutput(0, Reshape(c, c.in(0), size));
  return c.status();
}

absl::Status UnsqueezeOp(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> read, ReadAxes(c));
  const int rank = c.rank(0) + static_cast<int>(read.size());
  WEFT_ASSIGN_OR_RETURN(std::vector<int64_t> axes, c.Axes(read, rank));
  std::sort(axes.begin(), axes.end());
  c.SetOutput(0, Unsqueeze(c, c.in(0), axes));
  return c.status();
}

// --- Repetition ---------------------------------------------------------------

// Broadcasts both ways: a size of 1 in the shape keeps the input's dim.
absl::Status ExpandOp(NodeContext& c) {
  Value* x = c.in(0);
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, c.SizesFromTensor(1));
  const std::vector<SymInt> size = BroadcastDims(Dims(x), shape);
  for (SymInt s : size) {
    if (s.is_valid()) continue;
    return c.Fail(absl::StrCat(c.type(0).ToString(), " does not broadcast to ", ToString(shape)));
  }
  c.SetOutput(0, Expand(c, x, size));
  return c.status();
}

absl::Status Tile(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> repeats, c.SizesFromTensor(1));
  c.SetOutput(0, ops::BuildRepeat(c, c.in(0), repeats));
  return c.status();
}

// --- Tensors made from shapes -------------------------------------------------

absl::Status ConstantOfShape(NodeContext& c) {
  HostTensor value = HostTensor::Scalar(DType::kF32, 0);
  if (c.HasAttr("value")) {
    WEFT_ASSIGN_OR_RETURN(value, c.Tensor("value"));
  }
  if (value.numel() != 1) {
    return c.Fail(
        absl::StrCat("attribute \"value\" has ", value.numel(), " elements instead of one"));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> size, c.SizesFromTensor(0));
  Value* scalar = c.b().Constant(value.Contiguous().Reshaped({}));
  c.SetOutput(0, Expand(c, scalar, size));
  return c.status();
}

absl::Status EyeLike(NodeContext& c) {
  const DType dtype = c.Dtype("dtype", c.dtype(0));
  const int64_t k = c.Int("k", 0);
  if (c.rank(0) != 2) {
    return c.Fail(absl::StrCat("the input must be a matrix, not ", c.type(0).ToString()));
  }
  c.SetOutput(0, ops::BuildEye(c, c.type(0).dim(0), c.type(0).dim(1), k, dtype));
  return c.status();
}

// Known integers give the length now; others give a data-dependent length.
absl::Status Range(NodeContext& c) {
  c.Ignore({"stash_type"});
  Value* start = AsScalar(c, c.in(0));
  Value* limit = AsScalar(c, c.in(1));
  Value* delta = AsScalar(c, c.in(2));
  WEFT_RETURN_IF_ERROR(c.status());
  const DType dtype = c.dtype(0);
  const auto a = c.SymbolicInts(0);
  const auto b = c.SymbolicInts(1);
  const auto step = c.SymbolicInts(2);
  if (a && b && step && (*step)[0].is_constant() && !(*step)[0].Is(0)) {
    c.SetOutput(0, ops::BuildArange(c, (*a)[0], (*b)[0], (*step)[0], dtype));
    return c.status();
  }
  c.SetOutput(0, c.Op(ops::range, {start, limit, delta}));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"ConstantOfShape", {9, 20, 21, 23, 24, 25}, ConstantOfShape},
    {"Expand", {8, 13}, ExpandOp},
    {"EyeLike", {9, 22}, EyeLike},
    {"Flatten", {1, 9, 11, 13, 21, 23, 24, 25}, Flatten},
    {"Range", {11, 27}, Range},
    {"Reshape", {5, 13, 14, 19, 21, 23, 24, 25}, ReshapeOp},
    {"Shape", {1, 13, 15, 19, 21, 23, 24, 25}, Shape},
    {"Size", {1, 13, 19, 21, 23, 24, 25}, Size},
    {"Squeeze", {1, 11, 13, 21, 23, 24, 25}, Squeeze},
    {"Tile", {6, 13}, Tile},
    {"Unsqueeze", {1, 11, 13, 21, 23, 24, 25}, UnsqueezeOp},
};

}  // namespace

absl::Span<const OnnxOp> ShapeTable() { return kTable; }

}  // namespace weft::onnx_import
