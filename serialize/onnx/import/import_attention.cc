// Attention.
//
// It becomes scaled_dot_product_attention if that is equivalent. If the node has intermediate
// outputs, or a softmax in another dtype, it becomes separate matmuls and a softmax.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/nn.h"
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// --- Heads ------------------------------------------------------------------

// [batch, sequence, heads * size] to [batch, sequence, heads, size].
Value* UnpackHeads(NodeContext& c, Value* v, int64_t heads) {
  if (v == nullptr) return nullptr;
  const Type t = v->type();
  return Reshape(c, v, {t.dim(0), t.dim(1), SymInt(heads), FloorDiv(t.dim(2), heads)});
}

// Q, K, V as [batch, heads, sequence, size]; K and V with the past before them.
struct Inputs {
  Value* q = nullptr;
  Value* k = nullptr;
  Value* v = nullptr;
  Value* mask = nullptr;     // attn_mask
  Value* lengths = nullptr;  // nonpad_kv_seqlen
  SymInt past = 0;           // Length of the past.
  bool packed = false;       // The node's inputs are [batch, sequence, hidden].

  DType dtype() const { return q->type().dtype(); }
  SymInt q_length() const { return q->type().dim(2); }
  SymInt kv_length() const { return k->type().dim(2); }
};

absl::Status CheckInputs(NodeContext& c) {
  for (int i : {0, 1, 2}) c.in(i);
  WEFT_RETURN_IF_ERROR(c.status());
  const int rank = c.rank(0);
  if ((rank != 3 && rank != 4) || c.rank(1) != rank || c.rank(2) != rank) {
    return c.Fail(absl::StrCat("Q, K and V must all be of rank 3 or 4, not ", c.type(0).ToString(),
                               ", ", c.type(1).ToString(), ", ", c.type(2).ToString()));
  }
  if (c.has_input(4) != c.has_input(5)) {
    return c.Fail("past_key and past_value come together or not at all");
  }
  for (int i : {4, 5}) {
    if (c.has_input(i) && c.rank(i) != 4) {
      return c.Fail(absl::StrCat(c.InputText(i), " must be of rank 4"));
    }
  }
  if (c.has_input(6) && c.has_input(4)) {
    return c.Fail("nonpad_kv_seqlen is for caches outside of the operator");
  }
  return absl::OkStatus();
}

absl::StatusOr<Inputs> ReadInputs(NodeContext& c) {
  WEFT_RETURN_IF_ERROR(CheckInputs(c));
  Inputs in;
  in.packed = c.rank(0) == 3;
  in.q = c.in(0);
  in.k = c.in(1);
  in.v = Convert(c, c.in(2), c.dtype(0));
  if (in.packed) {
    const int64_t q_heads = c.RequiredInt("q_num_heads");
    const int64_t kv_heads = c.RequiredInt("kv_num_heads");
    WEFT_RETURN_IF_ERROR(c.status());
    if (q_heads < 1 || kv_heads < 1) {
      return c.Fail("the numbers of heads must be positive");
    }
    const auto unpack = [&](Value* v, int64_t heads) {
      return Permute(c, UnpackHeads(c, v, heads), {0, 2, 1, 3});
    };
    in.q = unpack(in.q, q_heads);
    in.k = unpack(in.k, kv_heads);
    in.v = unpack(in.v, kv_heads);
  } else {
    c.Ignore({"q_num_heads", "kv_num_heads"});
  }
  if (c.has_input(4)) {
    in.past = c.type(4).dim(2);
    in.k = ops::BuildCat(c.b(), {c.in(4), in.k}, 2);
    in.v = ops::BuildCat(c.b(), {Convert(c, c.in(5), c.dtype(0)), in.v}, 2);
  }
  in.mask = c.opt(3);
  in.lengths = c.opt(6);
  WEFT_RETURN_IF_ERROR(c.status());
  return in;
}

// --- Masks ------------------------------------------------------------------

Value* Both(NodeContext& c, Value* a, Value* b) {
  return a == nullptr ? b : c.Op(ops::logical_and, {a, b});
}

// The positions of keys, [kv_length].
Value* KeyPositions(NodeContext& c, const Inputs& in) { return Iota(c, in.kv_length()); }

// The positions of queries among the keys: [q_length, 1], or, if they differ between batches,
// [batch, 1, q_length, 1].
Value* QueryPositions(NodeContext& c, const Inputs& in) {
  const SymInt n = in.q_length();
  if (in.lengths == nullptr) {
    Value* v = ops::BuildArange(c, in.past, in.past + n);
    return Reshape(c, v, {n, SymInt(1)});
  }
  Value* v = ops::BuildArange(c, 0 - n, 0);
  const SymInt batch = in.lengths->type().dim(0);
  Value* lengths = Reshape(c, in.lengths, {batch, SymInt(1), SymInt(1), SymInt(1)});
  return c.Op(ops::add, {Reshape(c, v, {n, SymInt(1)}), lengths});
}

// The number of keys that a query may see on one side; -1: no limit. Since version 25.
int64_t WindowSize(NodeContext& c, absl::string_view name) {
  return c.opset() < 25 ? -1 : c.Int(name, -1);
}

bool HasWindow(NodeContext& c) {
  return WindowSize(c, "left_window_size") >= 0 || WindowSize(c, "right_window_size") >= 0;
}

// The keys that each query may see by their positions alone; null: all keys.
Value* VisibleKeys(NodeContext& c, const Inputs& in, bool is_causal) {
  const int64_t left = WindowSize(c, "left_window_size");
  const int64_t right = WindowSize(c, "right_window_size");
  Value* visible = nullptr;
  if (in.lengths != nullptr) {
    Value* lengths =
        Reshape(c, in.lengths, {in.lengths->type().dim(0), SymInt(1), SymInt(1), SymInt(1)});
    visible = c.Op(ops::lt, {KeyPositions(c, in), lengths});
  }
  if (!is_causal && left < 0 && right < 0) return visible;
  Value* key = KeyPositions(c, in);
  Value* query = QueryPositions(c, in);
  if (is_causal) visible = Both(c, visible, c.Op(ops::le, {key, query}));
  if (left >= 0) {
    Value* first = WithScalar(c, ops::sub, query, left);
    visible = Both(c, visible, c.Op(ops::ge, {key, first}));
  }
  if (right >= 0) {
    Value* last = WithScalar(c, ops::add, query, right);
    visible = Both(c, visible, c.Op(ops::le, {key, last}));
  }
  return visible;
}

Value* MinusInfinity(NodeContext& c, DType dtype) {
  return ScalarOf(c, dtype, -std::numeric_limits<double>::infinity());
}

// attn_mask as bool or in the dtype of Q, extended to the length of the keys: keys past its end are
// masked.
Value* FullMask(NodeContext& c, const Inputs& in) {
  Value* mask = in.mask;
  const bool is_bool = mask->type().dtype() == DType::kBool;
  if (!is_bool) mask = Convert(c, mask, in.dtype());
  const int rank = mask->type().rank();
  const SymInt missing = in.kv_length() - mask->type().dim(rank - 1);
  if (missing.Is(0)) return mask;
  std::vector<SymInt> pad(2 * rank, SymInt(0));
  pad[2 * rank - 1] = missing;
  Value* fill = is_bool ? ScalarOf(c, DType::kBool, 0) : MinusInfinity(c, in.dtype());
  return ops::BuildPad(c, mask, fill, pad);
}

// attn_mask combined with the visible keys: bool (true: visible), or numbers to add; null: nothing
// is masked.
Value* CombinedMask(NodeContext& c, const Inputs& in, bool is_causal) {
  Value* visible = VisibleKeys(c, in, is_causal);
  if (in.mask == nullptr) return visible;
  Value* mask = FullMask(c, in);
  if (visible == nullptr || mask == nullptr) return mask;
  if (mask->type().dtype() == DType::kBool) return Both(c, mask, visible);
  return c.Op(ops::where, {visible, mask, MinusInfinity(c, in.dtype())});
}

// --- Attention step by step -------------------------------------------------

// Sets rows without a visible key to zero.
Value* ZeroMaskedRows(NodeContext& c, Value* p, Value* mask) {
  if (mask == nullptr) return p;
  const bool is_bool = mask->type().dtype() == DType::kBool;
  const std::vector<int64_t> last = {mask->type().rank() - 1};
  Value* seen = ops::BuildDimsReduction(c, is_bool ? ops::any : ops::amax, mask, last, true);
  if (!is_bool) {
    seen = c.Op(ops::gt, {seen, MinusInfinity(c, mask->type().dtype())});
  }
  return c.Op(ops::where, {seen, p, ScalarOf(c, p->type().dtype(), 0)});
}

struct Steps {
  std::optional<double> scale;  // Unknown if the size of heads is symbolic.
  double softcap = 0;
  DType softmax = DType::kF32;
  int64_t output_mode = 0;
};

Value* Softmax(NodeContext& c, const Steps& steps, Value* scores, Value* mask) {
  Value* p = Convert(c, scores, steps.softmax);
  p = ops::BuildSoftmax(c, p, -1);
  p = Convert(c, p, scores->type().dtype());
  return p == nullptr ? nullptr : ZeroMaskedRows(c, p, mask);
}

// The result; `shown` gets the matrix that output_mode selects.
Value* Attend(NodeContext& c, const Inputs& in, const Steps& steps, Value* mask, Value** shown) {
  const SymInt heads = in.q->type().dim(1);
  const double root = std::sqrt(*steps.scale);
  Value* k = RepeatHeads(c, in.k, heads);
  Value* scores = c.Op(ops::matmul, {WithScalar(c, ops::mul, in.q, root),
                                     WithScalar(c, ops::mul, Permute(c, k, {0, 1, 3, 2}), root)});
  std::vector<Value*> stages = {scores};
  if (steps.softcap != 0) {
    scores = WithScalar(c, ops::div, scores, steps.softcap);
    scores = WithScalar(c, ops::mul, c.Op(ops::tanh, {scores}), steps.softcap);
  }
  stages.push_back(scores);
  if (mask != nullptr && mask->type().dtype() == DType::kBool) {
    scores = c.Op(ops::where, {mask, scores, MinusInfinity(c, in.dtype())});
  } else if (mask != nullptr) {
    scores = c.Op(ops::add, {scores, mask});
  }
  stages.push_back(scores);
  if (!c.ok()) return nullptr;
  Value* p = Softmax(c, steps, scores, mask);
  stages.push_back(p);
  *shown = stages[steps.output_mode];
  return c.Op(ops::matmul, {p, RepeatHeads(c, in.v, heads)});
}

// --- Attention --------------------------------------------------------------

absl::StatusOr<Steps> ReadSteps(NodeContext& c, const Inputs& in) {
  Steps steps;
  const SymInt size = in.q->type().dim(3);
  if (c.HasAttr("scale")) {
    steps.scale = c.Float("scale", 1);
  } else if (size.is_constant() && size.value() > 0) {
    steps.scale = 1 / std::sqrt(static_cast<double>(size.value()));
  }
  steps.softcap = c.Float("softcap", 0);
  steps.softmax =
      c.Int("softmax_precision", 0) == 0 ? in.dtype() : c.Dtype("softmax_precision", in.dtype());
  steps.output_mode = c.Int("qk_matmul_output_mode", 0);
  if (steps.output_mode < 0 || steps.output_mode > 3) {
    return c.Fail(absl::StrCat("unknown qk_matmul_output_mode ", steps.output_mode));
  }
  return steps;
}

// True if the fused op is equivalent; it computes in f32 at least.
bool FusedSaysTheSame(const Inputs& in, const Steps& steps) {
  return steps.softmax == in.dtype() ||
         (steps.softmax == DType::kF32 && DTypeBits(in.dtype()) <= 32);
}

absl::StatusOr<Value*> AttendFused(NodeContext& c, const Inputs& in, const Steps& steps,
                                   bool is_causal) {
  // If there is no other mask, the op itself applies the causal mask.
  const bool plain =
      is_causal && in.mask == nullptr && in.lengths == nullptr && in.past.Is(0) && !HasWindow(c);
  Value* mask = plain ? nullptr : CombinedMask(c, in, is_causal);
  WEFT_RETURN_IF_ERROR(c.status());
  return ops::BuildScaledDotProductAttention(c, in.q, in.k, in.v, mask, plain, steps.scale,
                                             steps.softcap,
                                             in.q->type().dim(1) != in.k->type().dim(1));
}

absl::StatusOr<Value*> AttendInSteps(NodeContext& c, const Inputs& in, const Steps& steps,
                                     bool is_causal) {
  if (!steps.scale.has_value()) {
    return c.Unsupported("the size of heads must be known when compiling");
  }
  if (!(*steps.scale >= 0)) return c.Fail("scale must not be negative");
  Value* mask = CombinedMask(c, in, is_causal);
  WEFT_RETURN_IF_ERROR(c.status());
  Value* shown = nullptr;
  Value* y = Attend(c, in, steps, mask, &shown);
  c.SetOutput(3, shown);
  return y;
}

absl::Status Attention(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const Inputs in, ReadInputs(c));
  WEFT_ASSIGN_OR_RETURN(const Steps steps, ReadSteps(c, in));
  const bool is_causal = c.Bool("is_causal", false);
  const bool fused = !c.wants_output(3) && FusedSaysTheSame(in, steps);
  WEFT_ASSIGN_OR_RETURN(Value * y, fused ? AttendFused(c, in, steps, is_causal)
                                         : AttendInSteps(c, in, steps, is_causal));
  WEFT_RETURN_IF_ERROR(c.status());
  if (in.packed) {
    const Type t = y->type();
    y = Reshape(c, Permute(c, y, {0, 2, 1, 3}), {t.dim(0), t.dim(2), t.dim(1) * t.dim(3)});
  }
  c.SetOutput(0, y);
  c.SetOutput(1, in.k);
  if (c.wants_output(2)) c.SetOutput(2, Convert(c, in.v, c.dtype(2)));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"Attention", {23, 24, 25}, Attention},
};

}  // namespace

absl::Span<const OnnxOp> AttentionTable() { return kTable; }

}  // namespace weft::onnx_import
