// com.microsoft Attention, as ONNX Runtime documents it: becomes the projections of one input,
// heads, and scaled_dot_product_attention with a float mask.
//
// Refused: rotary embedding inside of the operator, caches that past and present share, and the
// packed form of mask_index, [3 * batch + 2].
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/nn.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// Q, K, V: [batch, heads, length, size]; K and V with the past before them.
struct Inputs {
  Value* q = nullptr;
  Value* k = nullptr;
  Value* v = nullptr;
  SymInt batch = 1;
  SymInt length = 1;
  SymInt past = 0;
  SymInt total() const { return past + length; }
};

absl::Status Refuse(NodeContext& c) {
  // It has no effect without do_rotary.
  c.Ignore({"rotary_embedding_dim"});
  if (c.Bool("do_rotary", false)) return c.Unsupported("do_rotary");
  if (c.Bool("past_present_share_buffer", false) || c.has_input(6)) {
    return c.Unsupported("past_present_share_buffer");
  }
  return c.status();
}

// The sizes of Q, K and V in the projection.
absl::StatusOr<std::vector<SymInt>> HiddenSizes(NodeContext& c) {
  const SymInt all = c.type(1).dim(1);
  const std::vector<int64_t> given = c.Ints("qkv_hidden_sizes");
  WEFT_RETURN_IF_ERROR(c.status());
  if (given.empty()) return std::vector<SymInt>(3, FloorDiv(all, 3));
  bool fits = given.size() == 3 && given[0] == given[1];
  for (int64_t size : given) fits &= size > 0 && size < (int64_t{1} << 31);
  if (fits && all.is_constant()) {
    fits = all.Is(given[0] + given[1] + given[2]);
  }
  if (fits) return ToSymInts(given);
  return c.Fail(
      absl::StrCat("qkv_hidden_sizes do not divide ", c.InputText(1), ", ", c.type(1).ToString()));
}

absl::Status CheckInputs(NodeContext& c, int64_t heads) {
  for (int i : {0, 1}) c.in(i);
  WEFT_RETURN_IF_ERROR(c.status());
  if (heads < 1) return c.Fail("num_heads must be positive");
  if (c.rank(0) != 3 || c.rank(1) != 2) {
    return c.Fail(absl::StrCat("input and weights must be of ranks 3 and 2, ", "not ",
                               c.type(0).ToString(), " and ", c.type(1).ToString()));
  }
  if (c.has_input(4) && c.rank(4) != 5) {
    return c.Fail(absl::StrCat(c.InputText(4), " must be of rank 5"));
  }
  return absl::OkStatus();
}

// Half `i` of the past, [batch, heads, past, size], followed by `v`.
Value* WithPast(NodeContext& c, int64_t i, Value* v) {
  if (!c.has_input(4) || v == nullptr) return v;
  const std::vector<SymInt> dims = Dims(c.in(4));
  Value* past = Reshape(c, Slice(c, c.in(4), 0, i, i + 1), absl::MakeConstSpan(dims).subspan(1));
  return ops::BuildCat(c.b(), {past, v}, 2);
}

absl::StatusOr<Inputs> ReadInputs(NodeContext& c) {
  const int64_t heads = c.RequiredInt("num_heads");
  WEFT_RETURN_IF_ERROR(CheckInputs(c, heads));
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> sizes, HiddenSizes(c));
  Value* all = c.Op(ops::matmul, {c.in(0), c.in(1)});
  if (c.has_input(2)) all = c.Op(ops::add, {all, c.in(2)});
  Inputs in;
  in.batch = c.type(0).dim(0);
  in.length = c.type(0).dim(1);
  if (c.has_input(4)) in.past = c.type(4).dim(3);
  SymInt start = 0;
  std::vector<Value*> parts;
  for (const SymInt& size : sizes) {
    Value* v = Slice(c, all, 2, start, start + size);
    v = Reshape(c, v, {in.batch, in.length, SymInt(heads), FloorDiv(size, heads)});
    parts.push_back(Permute(c, v, {0, 2, 1, 3}));
    start = start + size;
  }
  in.q = parts[0];
  in.k = WithPast(c, 0, parts[1]);
  in.v = WithPast(c, 1, parts[2]);
  WEFT_RETURN_IF_ERROR(c.status());
  return in;
}

// --- Masks ------------------------------------------------------------------

// Half `i` of a mask of ends, or of ends followed by starts: [batch, 1, 1, 1].
Value* Bounds(NodeContext& c, const Inputs& in, int64_t i) {
  Value* v = Slice(c, c.in(3), 0, in.batch * i, in.batch * (i + 1));
  return Reshape(c, v, {in.batch, SymInt(1), SymInt(1), SymInt(1)});
}

// mask_index of rank 1: the exclusive ends of the keys of each batch, and possibly their starts.
absl::StatusOr<Value*> KeysInBounds(NodeContext& c, const Inputs& in) {
  const SymInt n = c.type(3).dim(0);
  Value* key = Iota(c, in.total(), c.dtype(3));
  Value* seen = c.Op(ops::lt, {key, Bounds(c, in, 0)});
  if (n == in.batch) return seen;
  if (n == in.batch * 2) {
    Value* started = c.Op(ops::ge, {key, Bounds(c, in, 1)});
    return c.Op(ops::logical_and, {seen, started});
  }
  return c.Unsupported(absl::StrCat(c.InputText(3), " of ", c.type(3).ToString(),
                                    " for a batch of ", in.batch.ToString()));
}

// mask_index as a bool mask that broadcasts to [batch, heads, length, total]; null if it is absent.
absl::StatusOr<Value*> SeenKeys(NodeContext& c, const Inputs& in) {
  if (!c.has_input(3)) return nullptr;
  Value* mask = c.in(3);
  const int rank = c.rank(3);
  if (rank == 1) return KeysInBounds(c, in);
  if (rank == 2) mask = Unsqueeze(c, mask, {1, 2});
  if (rank == 3) mask = Unsqueeze(c, mask, {1});
  if (rank == 4) {
    mask = Slice(c, mask, 2, in.past, in.total());
    mask = Slice(c, mask, 3, 0, in.total());
  }
  WEFT_RETURN_IF_ERROR(c.status());
  return WithScalar(c, ops::gt, mask, 0);
}

// A mask of the keys up to the query's own position, [length, total].
Value* PastKeys(NodeContext& c, const Inputs& in) {
  Value* query = ops::BuildArange(c, in.past, in.total());
  return c.Op(ops::le, {Iota(c, in.total()), Unsqueeze(c, query, {1})});
}

// The numbers to add to the scores; null: none. A key that mask_index hides gets mask_filter_value,
// which is finite: if all keys are hidden, all are visible.
absl::StatusOr<Value*> Bias(NodeContext& c, const Inputs& in) {
  const DType dtype = c.dtype(0);
  const double filter = c.Float("mask_filter_value", -10000);
  WEFT_ASSIGN_OR_RETURN(Value * seen, SeenKeys(c, in));
  Value* bias = c.opt(5);
  if (seen != nullptr) {
    Value* numbers = c.Op(ops::where, {seen, ScalarOf(c, dtype, 0), ScalarOf(c, dtype, filter)});
    bias = bias == nullptr ? numbers : c.Op(ops::add, {numbers, bias});
  }
  return bias;
}

// --- Attention --------------------------------------------------------------

absl::Status Attention(NodeContext& c) {
  WEFT_RETURN_IF_ERROR(Refuse(c));
  WEFT_ASSIGN_OR_RETURN(const Inputs in, ReadInputs(c));
  WEFT_ASSIGN_OR_RETURN(Value * bias, Bias(c, in));
  bool is_causal = c.Bool("unidirectional", false);
  if (is_causal && (bias != nullptr || !in.past.Is(0))) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    is_causal = false;
    if (bias == nullptr) bias = ScalarOf(c, c.dtype(0), 0);
    bias = c.Op(ops::where, {PastKeys(c, in), bias, ScalarOf(c, c.dtype(0), -kInfinity)});
  }
  std::optional<double> scale;  // The op's default is used for 0 or if it is absent.
  if (const double given = c.Float("scale", 0); given != 0) scale = given;
  Value* y = ops::BuildScaledDotProductAttention(c, in.q, in.k, in.v, bias, is_causal, scale);
  WEFT_RETURN_IF_ERROR(c.status());
  const Type t = y->type();
  c.SetOutput(0,
              Reshape(c, Permute(c, y, {0, 2, 1, 3}), {t.dim(0), t.dim(2), t.dim(1) * t.dim(3)}));
  if (c.wants_output(1)) {
    c.SetOutput(1, ops::BuildCat(c.b(), {Unsqueeze(c, in.k, {0}), Unsqueeze(c, in.v, {0})}, 0));
  }
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"Attention", {1}, Attention, "com.microsoft"},
};

}  // namespace

absl::Span<const OnnxOp> ContribAttentionTable() { return kTable; }

}  // namespace weft::onnx_import
