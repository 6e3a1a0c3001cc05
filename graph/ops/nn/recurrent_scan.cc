#include "graph/ops/nn/recurrent_scan.h"

#include <memory>
#include <utility>

#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_args.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"

namespace weft::ops {

CellNodes::CellNodes(Builder& b, DType dtype, int64_t hidden, double clip,
                     absl::Span<const Activation> activations, const Inputs& inputs)
    : p_(b, dtype), hidden_(hidden), clip_(clip), activations_(activations), in_(inputs) {}

Value* CellNodes::Gates(Value* v, int64_t first, int64_t count) {
  return Slice(p_.builder(), v, v == nullptr ? 0 : v->type().rank() - 1, first * hidden_,
               (first + count) * hidden_);
}

Value* CellNodes::TimesState(int64_t first, int64_t count, Value* state) {
  Builder& b = p_.builder();
  Value* r = Slice(b, in_.r, 0, first * hidden_, (first + count) * hidden_);
  Value* bias = in_.state_bias == nullptr ? nullptr : Gates(in_.state_bias, first, count);
  return b.Op(linear, {state, r, bias});
}

Value* CellNodes::AddPeephole(Value* v, int64_t i, Value* cell) {
  if (in_.peepholes == nullptr) return v;
  return p_.Add(v, p_.Mul(Gates(in_.peepholes, i, 1), cell));
}

Value* CellNodes::Activate(int i, Value* v) {
  if (clip_ != 0) v = p_.Minimum(p_.Maximum(v, -clip_), clip_);
  return ActivateState(i, v);
}

namespace {

// Makes the scans of one node, one direction at a time.
class RecurrentScan {
 public:
  RecurrentScan(Builder& b, const OpArgs& args, const CellSpec& spec,
                absl::FunctionRef<CellState(CellNodes&)> step)
      : b_(b),
        args_(args),
        spec_(spec),
        step_(step),
        dtype_(ComputeDType(args.type(0).dtype())),
        hidden_(args.attrs().Int("hidden_size")),
        rows_(hidden_ * spec.op.gates),
        length_(args.type(0).dim(0)),
        batch_(args.type(0).dim(1)) {}

  std::vector<Value*> Run() {
    auto activations = FindActivations(args_.attrs(), spec_.op);
    if (!activations.ok()) {
      b_.Fail(activations.status());
      return {};
    }
    activations_ = *std::move(activations);
    const int64_t directions = NumDirections(args_.attrs());
    CheckLengths();
    std::vector<std::vector<Value*>> parts(spec_.cell < 0 ? 2 : 3);
    for (int64_t d = 0; d < directions; ++d) AddDirection(d, directions, &parts);
    if (!b_.status().ok()) return {};
    std::vector<Value*> results;
    for (size_t i = 0; i < parts.size(); ++i) {
      const int64_t dim = i == 0 ? 1 : 0;
      results.push_back(Convert(b_, b_.Op(cat, parts[i], {{"dim", dim}}), args_.type(0).dtype()));
    }
    return results;
  }

 private:
  // Direction `d` of operand `i`, [directions, size...], without that dim; null when absent.
  Value* Operand(int i, int64_t d, std::vector<SymInt> size) {
    if (i < 0 || !args_.has(i)) return nullptr;
    Value* v = Reshape(b_, Slice(b_, args_.operand(i), 0, d, d + 1), std::move(size));
    return Convert(b_, v, dtype_);
  }

  Value* InitialState(int i, int64_t d) {
    if (Value* given = Operand(i, d, {batch_, SymInt(hidden_)})) return given;
    return Expand(b_, b_.Scalar(dtype_, 0), {batch_, SymInt(hidden_)});
  }

  // x w^T plus biases, and the biases of r where they stay apart.
  Value* Inputs(int64_t d, Value** state_bias) {
    Value* bias = Operand(3, d, {SymInt(2 * rows_)});
    if (bias != nullptr) {
      *state_bias = Slice(b_, bias, 0, rows_, 2 * rows_);
      bias = Slice(b_, bias, 0, 0, rows_);
      if (spec_.adds_state_bias) {
        bias = b_.Op(add, {bias, *state_bias});
        *state_bias = nullptr;
      }
    }
    Value* w = Operand(1, d, {SymInt(rows_), args_.type(0).dim(2)});
    return b_.Op(linear, {Convert(b_, args_.operand(0), dtype_), w, bias});
  }

  Value* Flip(Value* v) { return b_.Op(flip, {v}, {{"dims", std::vector<int64_t>{0}}}); }

  // As Eval, a run refuses lengths that no sequence can have.
  void CheckLengths() {
    if (!args_.has(4)) return;
    Value* lengths = args_.operand(4);
    Value* most = b_.Op(sym_constant, {},
                        {{"values", std::vector<SymInt>{length_}},
                         {"size", std::vector<int64_t>()},
                         {"dtype", DType::kI32}});
    Value* in_range = b_.Op(
        logical_and, {b_.Op(ge, {lengths, b_.Scalar(DType::kI32, 0)}), b_.Op(le, {lengths, most})});
    b_.Ops(runtime_assert, {b_.Op(all, {in_range})},
           {{"message", "sequence_lens must lie between 0 and the length"}});
  }

  // True where a step is within its sequence, [length, batch, 1]; null if all steps are.
  Value* Within() {
    if (!args_.has(4)) return nullptr;
    Value* time = b_.Op(arange, {}, {{"start", 0}, {"end", length_}, {"dtype", DType::kI32}});
    time = Reshape(b_, time, {length_, SymInt(1), SymInt(1)});
    return b_.Op(lt, {time, Reshape(b_, args_.operand(4), {batch_, SymInt(1)})});
  }

  // Adds `v`, if it is not null, to the operands of the scan and the inputs of its body.
  Value* Pass(Graph* body, Value* v, bool scanned, std::vector<Value*>* operands) {
    if (v == nullptr) return nullptr;
    operands->push_back(v);
    const Type type = v->type();
    return body->AddInput(scanned ? type.WithDims(type.dims().subspan(1)) : type);
  }

  // The states after the steps, and h of each.
  std::vector<Value*> Scan(const CellState& state, Value* x, Value* within, Value* r,
                           Value* state_bias, Value* peepholes,
                           absl::Span<const Activation> activations) {
    auto body = std::make_unique<Graph>(&b_.graph()->module(), "step");
    std::vector<Value*> operands;
    CellNodes::Inputs in;
    in.h = Pass(body.get(), state.h, false, &operands);
    in.c = Pass(body.get(), state.c, false, &operands);
    const auto carried = static_cast<int64_t>(operands.size());
    in.x = Pass(body.get(), x, true, &operands);
    Value* runs = Pass(body.get(), within, true, &operands);
    const auto scanned = static_cast<int64_t>(operands.size()) - carried;
    in.r = Pass(body.get(), r, false, &operands);
    in.state_bias = Pass(body.get(), state_bias, false, &operands);
    in.peepholes = Pass(body.get(), peepholes, false, &operands);
    Builder inner(body.get());
    CellNodes nodes(inner, dtype_, hidden_, args_.attrs().Float("clip"), activations, in);
    body->SetOutputs(Outputs(inner, step_(nodes), in, runs));
    if (!inner.status().ok()) b_.Fail(inner.status());
    if (!b_.status().ok()) return {};
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(body));
    const NamedAttr attrs[] = {{"num_carried", carried}, {"num_scanned", scanned}};
    return b_.Ops(scan, operands, attrs, std::move(regions));
  }

  // The body's outputs: the state, and h to keep.
  std::vector<Value*> Outputs(Builder& inner, CellState after, const CellNodes::Inputs& before,
                              Value* runs) {
    Value* kept = after.h;
    if (runs != nullptr) {
      kept = inner.Op(where, {runs, after.h, inner.Scalar(dtype_, 0)});
      after.h = inner.Op(where, {runs, after.h, before.h});
      if (after.c != nullptr) after.c = inner.Op(where, {runs, after.c, before.c});
    }
    if (after.c == nullptr) return {after.h, kept};
    return {after.h, after.c, kept};
  }

  void AddDirection(int64_t d, int64_t directions, std::vector<std::vector<Value*>>* parts) {
    const bool reverse = d == 1 || args_.attrs().Str("direction") == "reverse";
    const size_t n = activations_.size() / directions;
    CellState state{InitialState(5, d), nullptr};
    if (spec_.cell >= 0) state.c = InitialState(spec_.cell, d);
    Value* state_bias = nullptr;
    Value* x = Inputs(d, &state_bias);
    Value* within = Within();
    if (reverse) {
      x = Flip(x);
      if (within != nullptr) within = Flip(within);
    }
    if (!b_.status().ok()) return;
    const auto results = Scan(state, x, within, Operand(2, d, {SymInt(rows_), SymInt(hidden_)}),
                              state_bias, Operand(spec_.peepholes, d, {SymInt(3 * hidden_)}),
                              absl::MakeConstSpan(activations_).subspan(d * n, n));
    if (results.empty()) return;
    Value* y = reverse ? Flip(results.back()) : results.back();
    AddPart(y, 1, &(*parts)[0]);
    for (size_t i = 1; i < parts->size(); ++i) AddPart(results[i - 1], 0, &(*parts)[i]);
  }

  // Adds `v` with a new dim for the direction.
  void AddPart(Value* v, int dim, std::vector<Value*>* parts) {
    if (v == nullptr) return;
    std::vector<SymInt> dims = DimsOf(v->type());
    dims.insert(dims.begin() + dim, SymInt(1));
    parts->push_back(Reshape(b_, v, std::move(dims)));
  }

  Builder& b_;
  const OpArgs& args_;
  const CellSpec& spec_;
  absl::FunctionRef<CellState(CellNodes&)> step_;
  const DType dtype_;
  const int64_t hidden_;
  const int64_t rows_;  // Rows of all gates.
  const SymInt length_, batch_;
  std::vector<Activation> activations_;
};

}  // namespace

std::vector<Value*> DecomposeRecurrent(Builder& b, const OpArgs& args, const CellSpec& spec,
                                       absl::FunctionRef<CellState(CellNodes&)> step) {
  return RecurrentScan(b, args, spec, step).Run();
}

}  // namespace weft::ops
