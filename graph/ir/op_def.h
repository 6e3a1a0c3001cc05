// What an op is: its schema and the functions that every system asks.
//
// One op, one place (STYLE.md, 2): a file under graph/ops defines
//
//   WEFT_DEFINE_OP(softmax,
//                  OpSpec("softmax(Tensor self, int dim) -> Tensor",
//                         "Softmax along `dim`. ATen: aten::softmax.int.")
//                      .Infer(Infer)
//                      .Decompose(Decompose)
//                      .Eval(Eval)
//                      .Samples(kSamples));
//
// and nothing else anywhere: headers and the registry are generated from the
// definitions. op_schema.h describes the notation of the schema; op_args.h,
// op_fold.h, op_eval.h and op_symbolic_eval.h have what the functions take and give.
#ifndef WEFT_GRAPH_IR_OP_DEF_H_
#define WEFT_GRAPH_IR_OP_DEF_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

class Builder;
class EvalContext;
class OpDef;
class SymInt;
class SymbolicEvalContext;
class Type;
class Value;
enum class NumericContract;
struct ElementMap;
struct FlopsArgs;
struct Folded;
struct MapArgs;
struct OpArgs;
struct OpSchema;

enum OpTraits : uint32_t {
  kNoTraits = 0,
  // Result elements depend on the operands' elements at the same (broadcast)
  // position alone.
  kPointwise = 1u << 0,
  // op(a, b) = op(b, a); the builder orders the operands.
  kCommutative = 1u << 1,
  // Result elements are elements of the operands, moved or repeated; which ones
  // depends on shapes and attributes (and integer operands) alone.
  kDataMovement = 1u << 2,
  // Combines the elements along some dims.
  kReduction = 1u << 3,
  // Results have sizes or values that depend on data: each run of Infer defines
  // fresh unbacked symbols.
  kDataDependent = 1u << 4,
  // Has nested graphs.
  kControlFlow = 1u << 5,
  // Must not be merged, dropped or moved: writes, asserts, randomness.
  kSideEffect = 1u << 6,
  kTerminator = 1u << 7,
};

// A slot that an op leaves empty on purpose, and why.
struct Absent {
  const char* reason;
};

// Operations for each element of the first result, or of the first operand. One is an addition, a
// multiplication, a comparison or an elementary function; conversion, choice and movement are none.
// `functions` of them are divisions, roots or functions such as exp.
struct PerResult {
  int64_t flops = 1;
  int64_t functions = 0;
};
struct PerOperand {
  int64_t flops = 1;
  int64_t functions = 0;
};
// The operations of an op by a formula over its sizes (op_flops.h).
using FlopsFn = SymInt (*)(const FlopsArgs&);

// How the operations of an op are counted. An op that does not say is counted by its traits: one
// for each element of a pointwise op's result or of a reduction's operand, none for movement.
struct OpFlops {
  enum class Kind : uint8_t { kByTraits, kPerResult, kPerOperand, kFormula, kAbsent };

  Kind kind = Kind::kByTraits;
  int64_t flops = 0;
  int64_t functions = 0;
  FlopsFn formula = nullptr;
  const char* reason = nullptr;  // Why there is no count.
};

// The inverse of a view. `view` is the node's op with its attributes; its
// operands are null and types are the operands'. Returns `base`, a value of the
// viewed operand's type, with the elements that result `result` shows replaced
// by those of `update`; fails when that is not defined, as for elements that
// are shown twice.
using InvertViewFn = Value* (*)(Builder&, const OpArgs& view, int result, Value* base,
                                Value* update);

// Which elements of the operands an element of a result is made from (op_map.h); nothing
// where no map can say it for these attributes.
using MapFn = std::optional<ElementMap> (*)(const MapArgs&);

// The slots of an op. `Verify` says what the schema cannot; it runs before
// Infer, on types. `Infer` is the only shape function. `Fold` makes no node.
// `Decompose` builds an equal subgraph (its op is then a composite) and returns
// one value per result. `DecomposeContract` says what that does to the numbers,
// compared with Eval; it is of one step, as the subgraph may hold composites, which
// have contracts of their own. `Eval` is plain loops; without one the op is
// evaluated through Decompose. `SymbolicEval` computes the elements of a small integer
// tensor, the one result, from symbolic ones (op_symbolic_eval.h); false: it knows none.
// It belongs to arithmetic of sizes; ops that are kDataMovement need none.
// `Map` says where the elements of results come from; ops that are kPointwise need none,
// others that have none say why.
// `InvertView` belongs to ops with a result that is a view.
// `Functional` belongs to ops that write an operand: nodes that write nothing
// and whose values are the op's results; a result that stands for a written
// operand is the operand's new value. Eval gives the same and writes nothing
// either: whoever runs the op stores the value.
class OpSpec {
 public:
  using VerifyFn = absl::Status (*)(const OpArgs&);
  using InferFn = absl::StatusOr<std::vector<Type>> (*)(const OpArgs&);
  using FoldFn = Folded (*)(const OpArgs&);
  using DecomposeFn = std::vector<Value*> (*)(Builder&, const OpArgs&);
  using EvalFn = absl::Status (*)(EvalContext&);
  using SymbolicEvalFn = bool (*)(SymbolicEvalContext&);

  constexpr OpSpec(const char* schema, const char* doc) : schema_(schema), doc_(doc) {}
  constexpr OpSpec Traits(uint32_t t) const {
    auto s = *this;
    s.traits_ = t;
    return s;
  }
  constexpr OpSpec Verify(VerifyFn f) const {
    auto s = *this;
    s.verify_ = f;
    return s;
  }
  constexpr OpSpec Infer(InferFn f) const {
    auto s = *this;
    s.infer_ = f;
    return s;
  }
  constexpr OpSpec Fold(FoldFn f) const {
    auto s = *this;
    s.fold_ = f;
    return s;
  }
  constexpr OpSpec Decompose(DecomposeFn f) const {
    auto s = *this;
    s.decompose_ = f;
    return s;
  }
  // Composites that have an Eval and are not kDataMovement must state it; all others
  // are bit-exact.
  constexpr OpSpec DecomposeContract(NumericContract contract) const {
    auto s = *this;
    s.decompose_contract_ = contract;
    return s;
  }
  constexpr OpSpec Eval(EvalFn f) const {
    auto s = *this;
    s.eval_ = f;
    return s;
  }
  constexpr OpSpec SymbolicEval(SymbolicEvalFn f) const {
    auto s = *this;
    s.symbolic_eval_ = f;
    return s;
  }
  constexpr OpSpec Map(MapFn f) const {
    auto s = *this;
    s.map_ = f;
    return s;
  }
  constexpr OpSpec Map(Absent a) const {
    auto s = *this;
    s.map_absent_ = a;
    return s;
  }
  constexpr OpSpec InvertView(InvertViewFn f) const {
    auto s = *this;
    s.invert_view_ = f;
    return s;
  }
  constexpr OpSpec Functional(DecomposeFn f) const {
    auto s = *this;
    s.functional_ = f;
    return s;
  }
  constexpr OpSpec Vjp(Absent a) const {
    auto s = *this;
    s.vjp_ = a;
    return s;
  }
  constexpr OpSpec Jvp(Absent a) const {
    auto s = *this;
    s.jvp_ = a;
    return s;
  }
  constexpr OpSpec Vmap(Absent a) const {
    auto s = *this;
    s.vmap_ = a;
    return s;
  }
  constexpr OpSpec Flops(PerResult rate) const {
    auto s = *this;
    s.flops_ = {OpFlops::Kind::kPerResult, rate.flops, rate.functions};
    return s;
  }
  constexpr OpSpec Flops(PerOperand rate) const {
    auto s = *this;
    s.flops_ = {OpFlops::Kind::kPerOperand, rate.flops, rate.functions};
    return s;
  }
  constexpr OpSpec Flops(FlopsFn f) const {
    auto s = *this;
    s.flops_ = {OpFlops::Kind::kFormula, 0, 0, f};
    return s;
  }
  constexpr OpSpec Flops(Absent a) const {
    auto s = *this;
    s.flops_ = {OpFlops::Kind::kAbsent, 0, 0, nullptr, a.reason};
    return s;
  }
  // Lines of the text form's call syntax with types for operands; see
  // graph/ops/samples.h.
  constexpr OpSpec Samples(const char* text) const {
    auto s = *this;
    s.samples_ = text;
    return s;
  }

 private:
  friend class OpDef;
  const char* schema_;
  const char* doc_;
  uint32_t traits_ = kNoTraits;
  VerifyFn verify_ = nullptr;
  InferFn infer_ = nullptr;
  FoldFn fold_ = nullptr;
  DecomposeFn decompose_ = nullptr;
  std::optional<NumericContract> decompose_contract_;
  EvalFn eval_ = nullptr;
  SymbolicEvalFn symbolic_eval_ = nullptr;
  MapFn map_ = nullptr;
  Absent map_absent_ = {nullptr};
  InvertViewFn invert_view_ = nullptr;
  DecomposeFn functional_ = nullptr;
  Absent vjp_ = {"no gradient rules exist yet"};
  Absent jvp_ = {"no forward-mode rules exist yet"};
  Absent vmap_ = {"no batching rules exist yet"};
  OpFlops flops_;
  const char* samples_ = "";
};

// An op: a constant object with static storage, compared by address.
class OpDef {
 public:
  constexpr OpDef(const char* name, OpSpec spec) : name_(name), spec_(spec) {}
  OpDef(const OpDef&) = delete;
  OpDef& operator=(const OpDef&) = delete;

  absl::string_view name() const { return name_; }
  absl::string_view doc() const { return spec_.doc_; }
  absl::string_view schema_text() const { return spec_.schema_; }
  absl::string_view samples() const { return spec_.samples_; }
  // Parsed on first use; CHECKs that the text is well formed.
  const OpSchema& schema() const {
    const OpSchema* s = schema_.load(std::memory_order_acquire);
    return s != nullptr ? *s : ParseSchema();
  }

  bool has(OpTraits trait) const { return spec_.traits_ & trait; }
  uint32_t traits() const { return spec_.traits_; }
  bool is_composite() const { return spec_.decompose_ != nullptr; }
  bool is_pure() const { return !has(kSideEffect) && !has(kTerminator); }
  bool writes() const { return has(kSideEffect) && SchemaWrites(); }
  // May be merged with an equal node: pure, and equal operands give equal
  // results and types.
  bool is_mergeable() const { return is_pure() && !has(kDataDependent); }

  OpSpec::VerifyFn verify() const { return spec_.verify_; }
  OpSpec::InferFn infer() const { return spec_.infer_; }
  OpSpec::FoldFn fold() const { return spec_.fold_; }
  OpSpec::DecomposeFn decompose() const { return spec_.decompose_; }
  // The numeric contract of the decomposition, as the op states it or as it follows
  // from its other slots. Requires a composite.
  std::optional<NumericContract> known_decompose_contract() const;
  // The same; reassociating where nothing is known.
  NumericContract decompose_contract() const;
  OpSpec::EvalFn eval() const { return spec_.eval_; }
  // Null for ops without a rule.
  OpSpec::SymbolicEvalFn symbolic_eval() const { return spec_.symbolic_eval_; }
  // Null for ops without one; map_absent() then says why, where that is known.
  MapFn map() const;
  const char* map_absent() const;
  InvertViewFn invert_view() const { return spec_.invert_view_; }
  OpSpec::DecomposeFn functional() const { return spec_.functional_; }
  const OpFlops& flops() const { return spec_.flops_; }
  const char* vjp_absent() const { return spec_.vjp_.reason; }
  const char* jvp_absent() const { return spec_.jvp_.reason; }
  const char* vmap_absent() const { return spec_.vmap_.reason; }

 private:
  const OpSchema& ParseSchema() const;
  bool SchemaWrites() const;

  const char* name_;
  OpSpec spec_;
  mutable std::atomic<const OpSchema*> schema_{nullptr};
};

// The declaration gives the object external linkage without the generated
// header, so that files of ops that use no other op do not depend on it.
#define WEFT_DEFINE_OP(name, spec) \
  extern const ::weft::OpDef name; \
  const ::weft::OpDef name(#name, spec)

// Ops whose operands and attributes begin alike have a generated view in common:
// WEFT_SHARED_VIEW(Reduction, sum, prod) gives ReductionView and IsReduction. The lines
// of one name, in any files of a family, are one list. The line begins at the margin.
#define WEFT_SHARED_VIEW(name, ...) static_assert(sizeof(#name) > 1, "a view has a name")

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_DEF_H_
