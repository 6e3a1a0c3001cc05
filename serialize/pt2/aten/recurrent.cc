// Recurrent layers as ONNX's ops, whose gates are in another order.
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// The differences between the kinds of layers.
struct Cell {
  const OpDef* op;
  int gates;
  // Index of PyTorch's gate `i` among ONNX's.
  Ints order;
  bool cell_state;
  std::vector<NamedAttr> attrs;
};

// [gates * h, ..] with the gates in ONNX's order.
Value* Reorder(AtenCall& c, Value* v, const Cell& cell) {
  if (v == nullptr || cell.gates == 1) return v;
  const SymInt h = FloorDiv(DimOf(v, 0), cell.gates);
  std::vector<Value*> gates;
  for (int64_t from : cell.order) {
    gates.push_back(Slice(c, v, 0, h * from, h * (from + 1)));
  }
  return Cat(c, gates, 0);
}

struct Layer {
  Value* w = nullptr;
  Value* r = nullptr;
  Value* b = nullptr;
};

// Weights of one layer, directions stacked.
Layer LayerOf(AtenCall& c, const Cell& cell, absl::Span<Value* const> params, int directions,
              int per_direction) {
  std::vector<Value*> w, r, b;
  for (int d = 0; d < directions; ++d) {
    const auto p = params.subspan(d * per_direction, per_direction);
    w.push_back(Unsqueeze(c, Reorder(c, p[0], cell), 0));
    r.push_back(Unsqueeze(c, Reorder(c, p[1], cell), 0));
    if (per_direction < 4) continue;
    b.push_back(Unsqueeze(c, Cat(c, {Reorder(c, p[2], cell), Reorder(c, p[3], cell)}, 0), 0));
  }
  return {Cat(c, w, 0), Cat(c, r, 0), b.empty() ? nullptr : Cat(c, b, 0)};
}

// [length, dirs, batch, hidden] to [length, batch, dirs * hidden].
Value* JoinDirections(AtenCall& c, Value* y) {
  if (y == nullptr) return nullptr;
  Value* v = Permute(c, y, {0, 2, 1, 3});
  return Flatten(c, v, 2, 3);
}

struct Options {
  bool has_biases = true;
  int64_t layers = 1;
  bool bidirectional = false;
  bool batch_first = false;
};

// Adds a batch dim of size 1 if there is none.
void Run(AtenCall& c, const Cell& cell, Value* x, std::vector<Value*> states,
         const std::vector<Value*>& params, const Options& o) {
  const int directions = o.bidirectional ? 2 : 1;
  const int per_direction = o.has_biases ? 4 : 2;
  const size_t per_layer = static_cast<size_t>(directions * per_direction);
  if (o.layers < 1 || o.layers > 1024 ||
      params.size() != per_layer * static_cast<size_t>(o.layers)) {
    return c.Return(
        c.Unsupported(absl::StrCat(params.size(), " parameters for ", o.layers, " layers")));
  }
  const bool batched = RankOf(x) == 3;
  if (!batched) {
    x = Unsqueeze(c, x, o.batch_first ? 0 : 1);
    for (Value*& s : states) s = Unsqueeze(c, s, 1);
  }
  if (o.batch_first) x = Permute(c, x, {1, 0, 2});
  std::vector<Value*> last_h, last_c;
  for (int64_t l = 0; l < o.layers && c.ok(); ++l) {
    const auto of_layer = absl::MakeConstSpan(params).subspan(l * per_layer, per_layer);
    const Layer layer = LayerOf(c, cell, of_layer, directions, per_direction);
    if (!c.ok() || RankOf(layer.r) != 3) break;
    const auto state = [&](Value* s) {
      return Slice(c, s, 0, l * directions, (l + 1) * directions);
    };
    std::vector<Value*> operands = {x, layer.w, layer.r, layer.b, nullptr, state(states[0])};
    if (cell.cell_state) {
      operands.push_back(state(states[1]));
      operands.push_back(nullptr);
    }
    std::vector<NamedAttr> attrs = cell.attrs;
    attrs.push_back({"direction", o.bidirectional ? "bidirectional" : "forward"});
    attrs.push_back({"hidden_size", DimOf(layer.r, 2)});
    const std::vector<Value*> y = c.b().Ops(*cell.op, operands, attrs);
    if (y.empty()) return;
    x = JoinDirections(c, y[0]);
    last_h.push_back(y[1]);
    if (cell.cell_state) last_c.push_back(y[2]);
  }
  if (!c.ok()) return;
  if (o.batch_first) x = Permute(c, x, {1, 0, 2});
  const auto unbatched = [&](Value* v, int dim) { return batched ? v : Squeeze(c, v, dim); };
  c.Return(unbatched(x, o.batch_first ? 0 : 1));
  c.Return(unbatched(Cat(c, last_h, 0), 1));
  if (cell.cell_state) c.Return(unbatched(Cat(c, last_c, 0), 1));
}

Options OptionsOf(AtenCall& c) {
  Options o;
  o.has_biases = c.Bool("has_biases");
  o.layers = c.Int("num_layers");
  o.bidirectional = c.Bool("bidirectional");
  o.batch_first = c.Bool("batch_first");
  if (c.Bool("train") && c.Float("dropout") != 0 && o.layers > 1) {
    c.Unsupported("dropout between layers draws numbers");
  }
  return o;
}

void Recurrent(AtenCall& c, const Cell& cell) {
  const Options o = OptionsOf(c);
  std::vector<Value*> states;
  if (cell.cell_state) {
    states = c.Ts("hx");
    if (states.size() != 2) return c.Return(c.Fail("hx has no two states"));
  } else {
    states = {c.T("hx")};
  }
  Run(c, cell, c.T("input"), states, c.Ts("params"), o);
}

// PyTorch's gates are i f g o, ONNX's are i o f c.
void Lstm(AtenCall& c) { Recurrent(c, {&ops::lstm, 4, {0, 3, 1, 2}, true, {}}); }

// PyTorch's gates are r z n, ONNX's are z r h, with the reset gate after the matmul.
void Gru(AtenCall& c) {
  Recurrent(c, {&ops::gru, 3, {1, 0, 2}, false, {{"linear_before_reset", true}}});
}

void RnnTanh(AtenCall& c) { Recurrent(c, {&ops::rnn, 1, {0}, false, {}}); }

void RnnRelu(AtenCall& c) {
  const bool both = c.Bool("bidirectional");
  Recurrent(c, {&ops::rnn,
                1,
                {0},
                false,
                {{"activations", std::vector<std::string>(both ? 2 : 1, "Relu")}}});
}

// --- One step ---------------------------------------------------------------------

void CellStep(AtenCall& c, const Cell& cell) {
  Value* x = c.T("input");
  std::vector<Value*> states = cell.cell_state ? c.Ts("hx") : std::vector<Value*>{c.T("hx")};
  std::vector<Value*> params = {c.T("w_ih"), c.T("w_hh")};
  Options o;
  o.has_biases = c.Has("b_ih") && c.Has("b_hh");
  if (o.has_biases) {
    params.push_back(c.T("b_ih"));
    params.push_back(c.T("b_hh"));
  }
  const int rank = RankOf(x);
  if (rank == 1) {
    x = Unsqueeze(c, x, 0);
    for (Value*& s : states) s = Unsqueeze(c, s, 0);
  }
  x = Unsqueeze(c, x, 0);
  for (Value*& s : states) s = Unsqueeze(c, s, 0);
  Run(c, cell, x, states, params, o);
  // Drops the output, which equals the last state.
  auto& results = c.results();
  if (results.size() < 2) return;
  results.erase(results.begin());
  for (Arg& r : results) {
    r.value = Squeeze(c, r.value, 0);
    if (rank == 1) r.value = Squeeze(c, r.value, 0);
  }
}

void LstmCell(AtenCall& c) { CellStep(c, {&ops::lstm, 4, {0, 3, 1, 2}, true, {}}); }

void GruCell(AtenCall& c) {
  CellStep(c, {&ops::gru, 3, {1, 0, 2}, false, {{"linear_before_reset", true}}});
}

void RnnTanhCell(AtenCall& c) { CellStep(c, {&ops::rnn, 1, {0}, false, {}}); }

void RnnReluCell(AtenCall& c) {
  CellStep(c, {&ops::rnn, 1, {0}, false, {{"activations", std::vector<std::string>{"Relu"}}}});
}

constexpr AtenOp kTable[] = {
    {"gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool "
     "batch_first) -> (Tensor, Tensor)",
     Gru},
    {"gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? "
     "b_ih=None, Tensor? b_hh=None) -> Tensor",
     GruCell},
    {"lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, "
     "int num_layers, float dropout, bool train, bool bidirectional, bool "
     "batch_first) -> (Tensor, Tensor, Tensor)",
     Lstm},
    {"lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? "
     "b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
     LstmCell},
    {"rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool "
     "bidirectional, bool batch_first) -> (Tensor, Tensor)",
     RnnRelu},
    {"rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? "
     "b_ih=None, Tensor? b_hh=None) -> Tensor",
     RnnReluCell},
    {"rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool "
     "bidirectional, bool batch_first) -> (Tensor, Tensor)",
     RnnTanh},
    {"rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? "
     "b_ih=None, Tensor? b_hh=None) -> Tensor",
     RnnTanhCell},
};

}  // namespace

absl::Span<const AtenOp> RecurrentTable() { return kTable; }

}  // namespace weft::pt2
