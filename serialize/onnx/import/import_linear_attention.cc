// LinearAttention: a scan over the tokens, with a matrix [keys, values] per head as the state.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

struct Heads {
  int64_t q = 0;
  int64_t kv = 0;
};

struct Rule {
  bool gated = false;  // The state decays.
  bool delta = false;  // A new value replaces the state's value for its key.
};

absl::StatusOr<Rule> ReadRule(NodeContext& c) {
  const std::string name = c.Str("update_rule", "gated_delta");
  if (name != "linear" && name != "gated" && name != "delta" && name != "gated_delta") {
    return c.Fail(absl::StrCat("unknown update_rule \"", name, "\""));
  }
  const Rule rule = {name == "gated" || name == "gated_delta",
                     name == "delta" || name == "gated_delta"};
  if (c.has_input(4) != rule.gated || c.has_input(5) != rule.delta) {
    return c.Fail(absl::StrCat("decay and beta do not fit update_rule \"", name, "\""));
  }
  return rule;
}

absl::StatusOr<Heads> ReadHeads(NodeContext& c) {
  const Heads heads = {c.RequiredInt("q_num_heads"), c.RequiredInt("kv_num_heads")};
  WEFT_RETURN_IF_ERROR(c.status());
  if (heads.kv < 1 || heads.q < 1 || heads.q % heads.kv != 0) {
    return c.Fail(
        absl::StrCat("q_num_heads ", heads.q, " is no multiple of kv_num_heads ", heads.kv));
  }
  for (int i = 0; i < 6; ++i) {
    if (i == 3 || (i > 3 && !c.has_input(i))) continue;
    if (c.rank(i) == 3) continue;
    return c.Fail(absl::StrCat(c.InputText(i), " must have rank 3, got ", c.type(i).ToString()));
  }
  return heads;
}

// [batch, tokens, heads * n] in f32 as [tokens, batch, heads, a, b], where one of a and b is n and
// the other is 1.
Value* ByToken(NodeContext& c, Value* v, SymInt heads, bool column) {
  if (v == nullptr) return nullptr;
  const Type t = v->type();
  const SymInt n = FloorDiv(t.dim(2), heads);
  v = Permute(c, Convert(c, v, DType::kF32), {1, 0, 2});
  return Reshape(c, v, {t.dim(1), t.dim(0), heads, column ? n : SymInt(1), column ? SymInt(1) : n});
}

// Queries that share a head of keys are the rows of one matrix: [tokens, batch, kv heads, queries,
// keys].
Value* Queries(NodeContext& c, const Heads& heads) {
  const Type t = c.type(0);
  Value* v = Permute(c, Convert(c, c.in(0), DType::kF32), {1, 0, 2});
  return Reshape(c, v,
                 {t.dim(1), t.dim(0), SymInt(heads.kv), SymInt(heads.q / heads.kv),
                  FloorDiv(t.dim(2), heads.q)});
}

// One token: computes the new state and the outputs of the queries from the state and the token's
// q, k, v, decay and beta.
std::vector<Value*> Step(Builder& b, const Rule& rule, const std::vector<Value*>& in) {
  Value* state = in[0];
  Value* k = in[2];  // A column.
  Value* v = in[3];  // A row.
  size_t next = 4;
  if (rule.gated) state = b.Op(ops::mul, {state, b.Op(ops::exp, {in[next++]})});
  if (rule.delta) {
    Value* row = ops::BuildPermute(b, k, {0, 1, 3, 2});
    Value* held = b.Op(ops::matmul, {row, state});
    v = b.Op(ops::mul, {in[next], b.Op(ops::sub, {v, held})});
  }
  state = b.Op(ops::add, {state, b.Op(ops::mul, {k, v})});
  return {state, b.Op(ops::matmul, {in[1], state})};
}

// The results of a scan of Step over `scanned`, from `state`.
std::vector<Value*> Scan(NodeContext& c, const Rule& rule, Value* state,
                         const std::vector<Value*>& scanned) {
  auto body = std::make_unique<weft::Graph>(&c.b().module(), "token");
  std::vector<Value*> inputs = {body->AddInput(state->type())};
  std::vector<Value*> operands = {state};
  for (Value* v : scanned) {
    const Type t = v->type();
    inputs.push_back(body->AddInput(t.WithDims(t.dims().subspan(1))));
    operands.push_back(v);
  }
  Builder b(body.get());
  const std::vector<Value*> outputs = Step(b, rule, inputs);
  if (!b.status().ok()) {
    c.b().Fail(b.status());
    return {};
  }
  body->SetOutputs(outputs);
  std::vector<std::unique_ptr<weft::Graph>> regions;
  regions.push_back(std::move(body));
  const NamedAttr attrs[] = {{"num_carried", 1}, {"num_scanned", static_cast<int>(scanned.size())}};
  return c.b().Ops(ops::scan, operands, attrs, std::move(regions));
}

absl::StatusOr<double> Scale(NodeContext& c, SymInt keys) {
  const double scale = c.Float("scale", 0);
  if (scale != 0) return scale;
  if (keys.is_constant() && keys.value() > 0) {
    return 1 / std::sqrt(static_cast<double>(keys.value()));
  }
  return c.Unsupported("the size of heads must be known when compiling");
}

absl::Status LinearAttention(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const Rule rule, ReadRule(c));
  WEFT_ASSIGN_OR_RETURN(const Heads heads, ReadHeads(c));
  c.Ignore({"chunk_size"});
  const DType dtype = c.dtype(0);
  std::vector<Value*> scanned = {Queries(c, heads), ByToken(c, c.in(1), heads.kv, true),
                                 ByToken(c, c.in(2), heads.kv, false)};
  if (rule.gated) scanned.push_back(ByToken(c, c.in(4), heads.kv, true));
  if (rule.delta) {
    // One per head, or one for all heads.
    const bool one = c.type(5).dim(2).Is(1);
    scanned.push_back(ByToken(c, c.in(5), one ? 1 : heads.kv, true));
  }
  WEFT_RETURN_IF_ERROR(c.status());
  const SymInt batch = c.type(0).dim(0);
  const std::vector<SymInt> state_dims = {batch, SymInt(heads.kv), scanned[1]->type().dim(3),
                                          scanned[2]->type().dim(4)};
  Value* state = c.has_input(3) ? Reshape(c, Convert(c, c.in(3), DType::kF32), state_dims)
                                : Expand(c, ScalarOf(c, DType::kF32, 0), state_dims);
  WEFT_ASSIGN_OR_RETURN(const double scale, Scale(c, state_dims[2]));
  WEFT_RETURN_IF_ERROR(c.status());
  const std::vector<Value*> results = Scan(c, rule, state, scanned);
  WEFT_RETURN_IF_ERROR(c.status());
  // [tokens, batch, kv heads, queries, values] to [batch, tokens, hidden].
  Value* y = Permute(c, WithScalar(c, ops::mul, results[1], scale), {1, 0, 2, 3, 4});
  y = Reshape(c, y, {batch, c.type(0).dim(1), heads.q * state_dims[3]});
  c.SetOutput(0, Convert(c, y, dtype));
  const DType state_dtype = c.has_input(3) ? c.dtype(3) : dtype;
  c.SetOutput(1, Convert(c, results[0], state_dtype));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"LinearAttention", {27}, LinearAttention},
};

}  // namespace

absl::Span<const OnnxOp> LinearAttentionTable() { return kTable; }

}  // namespace weft::onnx_import
