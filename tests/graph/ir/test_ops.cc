#include "tests/graph/ir/test_ops.h"

#include "absl/strings/str_cat.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft::test_ops {
namespace {

absl::StatusOr<Types> Same(const OpArgs& args) { return Types{args.type(0)}; }

absl::StatusOr<Types> None(const OpArgs& args) { return Types{}; }

absl::StatusOr<Types> Broadcast(const OpArgs& args) {
  Type a = args.type(0), b = args.type(1);
  if (a.dtype() != b.dtype()) {
    return absl::InvalidArgumentError("dtypes differ");
  }
  if (a.rank() < b.rank()) std::swap(a, b);
  std::vector<SymInt> dims(a.dims().begin(), a.dims().end());
  for (int i = 0; i < b.rank(); ++i) {
    SymInt& d = dims[a.rank() - 1 - i];
    d = BroadcastSize(d, b.dim(b.rank() - 1 - i));
  }
  return Types{a.WithDims(dims)};
}

absl::Status VerifySoftmax(const OpArgs& args) {
  const int64_t dim = args.attrs().Int("dim");
  if (dim >= 0 && dim < args.type(0).rank()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("dim ", dim, " is out of range"));
}

absl::StatusOr<Types> InferCat(const OpArgs& args) {
  if (args.size() == 0) return absl::InvalidArgumentError("no operands");
  std::vector<SymInt> dims(args.type(0).dims().begin(), args.type(0).dims().end());
  const int64_t dim = args.attrs().Int("dim");
  if (dim < 0 || dim >= args.type(0).rank()) {
    return absl::InvalidArgumentError("dim is out of range");
  }
  for (int i = 1; i < args.size(); ++i) {
    if (args.type(i).rank() != args.type(0).rank()) {
      return absl::InvalidArgumentError("ranks differ");
    }
    dims[dim] = dims[dim] + args.type(i).dim(static_cast<int>(dim));
  }
  return Types{args.type(0).WithDims(dims)};
}

absl::StatusOr<Types> InferSplit(const OpArgs& args) {
  Types types;
  for (int64_t size : args.attrs().Ints("sizes")) {
    types.push_back(args.type(0).WithDims({SymInt(size)}));
  }
  return types;
}

absl::StatusOr<Types> InferTopk(const OpArgs& args) {
  const Type values = args.type(0).WithDims({args.attrs().Sym("k")});
  return Types{values, values.WithDType(DType::kI64)};
}

absl::StatusOr<Types> InferFull(const OpArgs& args) {
  return Types{Type::Tensor(args.attrs().Dtype("dtype"), args.attrs().Syms("size"))};
}

absl::StatusOr<Types> InferNonzero(const OpArgs& args) {
  SymbolInfo info;
  info.unbacked = true;
  return Types{Type::Tensor(DType::kI64, {args.symbols->Fresh("u", info), args.type(0).rank()})};
}

absl::StatusOr<Types> InferItem(const OpArgs& args) {
  SymbolInfo info;
  info.unbacked = true;
  info.range = SymRange();
  return Types{Type::Symbolic(args.symbols->Fresh("u", info))};
}

absl::StatusOr<Types> InferRange(const OpArgs& args) {
  return Types{Type::Tensor(DType::kI64, {args.type(0).symint()})};
}

absl::StatusOr<Types> InferCond(const OpArgs& args) {
  Types types;
  for (Value* v : args.regions[0]->outputs()) types.push_back(v->type());
  return types;
}

}  // namespace

const OpDef relu("relu", OpSpec("relu(Tensor x) -> Tensor", "").Infer(Same));
const OpDef add("add", OpSpec("add(Tensor a, Tensor b) -> Tensor", "")
                           .Traits(kPointwise | kCommutative)
                           .Infer(Broadcast));
const OpDef softmax(
    "softmax",
    OpSpec("softmax(Tensor x, int dim) -> Tensor", "").Verify(VerifySoftmax).Infer(Same));
const OpDef cat("cat", OpSpec("cat(Tensor[] xs, int dim=0) -> Tensor", "").Infer(InferCat));
const OpDef split("split",
                  OpSpec("split(Tensor x, int[] sizes) -> Tensor[]", "").Infer(InferSplit));
const OpDef topk("topk", OpSpec("topk(Tensor x, SymInt k) -> (Tensor values, Tensor "
                                "indices)",
                                "")
                             .Infer(InferTopk));
const OpDef layer("layer", OpSpec("layer(Tensor x, Tensor? weight, Tensor? "
                                  "bias, float eps=1e-05) -> Tensor",
                                  "")
                               .Infer(Same));
const OpDef full("full", OpSpec("full(SymInt[] size, float value=0.0, "
                                "ScalarType dtype=f32) -> Tensor",
                                "")
                             .Infer(InferFull));
const OpDef zoo("zoo", OpSpec("zoo(Tensor x, *, bool b, int i, SymInt s, float f, str "
                              "t, ScalarType d, int[] is, SymInt[] ss, float[] fs, "
                              "str[] ts, int? oi=None, float? of=1.5) -> Tensor",
                              "")
                           .Infer(Same));
const OpDef nonzero(
    "nonzero",
    OpSpec("nonzero(Tensor x) -> Tensor", "").Traits(kDataDependent).Infer(InferNonzero));
const OpDef item("item",
                 OpSpec("item(Tensor x) -> SymInt", "").Traits(kDataDependent).Infer(InferItem));
const OpDef range("range", OpSpec("range(SymInt* n) -> Tensor", "").Infer(InferRange));
const OpDef trace("trace",
                  OpSpec("trace(Tensor x, str label) -> ()", "").Traits(kSideEffect).Infer(None));
const OpDef cond("cond", OpSpec("cond(Tensor pred, Tensor[] args, Graph then_graph, "
                                "Graph else_graph) -> Tensor[]",
                                "")
                             .Traits(kControlFlow)
                             .Infer(InferCond));

const OpRegistry& Registry() {
  static const OpRegistry* const registry = [] {
    auto* r = new OpRegistry;
    for (const OpDef* op : {&ops::constant, &ops::return_, &relu, &add, &softmax, &cat, &split,
                            &topk, &layer, &full, &zoo, &nonzero, &item, &range, &trace, &cond}) {
      r->Register(op);
    }
    return r;
  }();
  return *registry;
}

}  // namespace weft::test_ops
