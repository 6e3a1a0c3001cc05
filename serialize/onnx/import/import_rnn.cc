// Recurrent layers. layout=1 (batch first) is implemented by permuting dims.
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// Swaps [batch, length or dirs, n] and [length or dirs, batch, n].
Value* SwapBatch(NodeContext& c, Value* v) {
  if (v == nullptr || v->type().rank() != 3) return v;
  const int64_t perm[] = {1, 0, 2};
  return Permute(c, v, perm);
}

absl::StatusOr<int64_t> HiddenSize(NodeContext& c) {
  const Type r = c.type(2);
  if (!c.ok() || r.rank() != 3) {
    return c.Fail(absl::StrCat("R must have rank 3, got ", r.ToString()));
  }
  const int64_t given = c.Int("hidden_size", 0);
  if (given > 0) return given;
  if (!r.dim(2).is_constant()) {
    return c.Fail("hidden_size must be known when compiling");
  }
  return r.dim(2).value();
}

// LSTM, GRU and RNN share inputs 0 to 5 and most attributes.
absl::Status ImportRecurrent(NodeContext& c, const OpDef& op, int num_operands,
                             std::vector<NamedAttr> attrs) {
  const bool batch_first = c.Int("layout", 0) == 1;
  if (c.opset() < 7) c.Ignore({"output_sequence"});
  WEFT_ASSIGN_OR_RETURN(const int64_t hidden_size, HiddenSize(c));
  std::vector<Value*> operands = {c.in(0), c.in(1), c.in(2)};
  for (int i = 3; i < num_operands; ++i) operands.push_back(c.opt(i));
  if (batch_first) {
    operands[0] = SwapBatch(c, operands[0]);
    for (int i = 5; i < std::min(num_operands, 7); ++i) {
      operands[i] = SwapBatch(c, operands[i]);
    }
  }
  attrs.push_back({"direction", c.Str("direction", "forward")});
  attrs.push_back({"hidden_size", hidden_size});
  attrs.push_back({"activations", c.Strs("activations")});
  attrs.push_back({"activation_alpha", c.Floats("activation_alpha")});
  attrs.push_back({"activation_beta", c.Floats("activation_beta")});
  attrs.push_back({"clip", c.Float("clip", 0)});
  std::vector<Value*> results = c.b().Ops(op, operands, attrs);
  if (results.empty()) return c.status();
  if (batch_first) {
    // [length, dirs, batch, hidden] to [batch, length, dirs, hidden].
    const int64_t perm[] = {2, 0, 1, 3};
    results[0] = Permute(c, results[0], perm);
    for (size_t i = 1; i < results.size(); ++i) {
      results[i] = SwapBatch(c, results[i]);
    }
  }
  c.SetOutputs(results);
  return c.status();
}

absl::Status Lstm(NodeContext& c) {
  return ImportRecurrent(c, ops::lstm, 8, {{"input_forget", c.Bool("input_forget", false)}});
}

absl::Status Gru(NodeContext& c) {
  return ImportRecurrent(c, ops::gru, 6,
                         {{"linear_before_reset", c.Bool("linear_before_reset", false)}});
}

absl::Status Rnn(NodeContext& c) { return ImportRecurrent(c, ops::rnn, 6, {}); }

constexpr OnnxOp kTable[] = {
    {"GRU", {1, 3, 7, 14, 22}, Gru},
    {"LSTM", {1, 7, 14, 22}, Lstm},
    {"RNN", {1, 7, 14, 22}, Rnn},
};

}  // namespace

absl::Span<const OnnxOp> RnnTable() { return kTable; }

}  // namespace weft::onnx_import
