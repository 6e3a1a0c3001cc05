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
// definitions. The schema is ATen's notation:
//
//   operands    Tensor, Tensor?, Tensor[], SymInt* (a symint value)
//   attributes  bool, int, SymInt, float, str, ScalarType; int[], SymInt[],
//               float[], str[]; with `?` and `= default`
//   regions     Graph (a nested graph)
//   results     Tensor, SymInt, (Tensor, Tensor), Tensor[]
//   aliasing    Tensor(a) self -> Tensor(a)     the result is a view of self
//               Tensor(a!) self -> Tensor(a!)   self is written; the result is
//                                               self after that
//
// Operands come first, then attributes, then regions. At most one operand is a
// list, and it is the last one.
#ifndef WEFT_GRAPH_IR_OP_H_
#define WEFT_GRAPH_IR_OP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/attr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft {

class Builder;
class Graph;
class Module;
class Node;
class Value;
class OpDef;

struct OperandSpec {
  std::string name;
  bool optional = false;
  bool variadic = false;
  bool symint = false;
  std::string alias;     // Alias set: "a" in Tensor(a!).
  bool written = false;  // The '!' in Tensor(a!).
};

struct AttrSpec {
  std::string name;
  AttrKind kind = AttrKind::kInt;
  bool optional = false;  // Absent is a legal value.
  std::optional<AttrValue> default_value;
};

struct ResultSpec {
  std::string name;  // "out0" when the schema gives none.
  bool variadic = false;
  bool symint = false;
  std::string alias;
};

struct OpSchema {
  std::string name;
  std::vector<OperandSpec> operands;
  std::vector<AttrSpec> attrs;
  std::vector<std::string> regions;
  std::vector<ResultSpec> results;
  bool views = false;   // A result is a view of an operand.
  bool writes = false;  // An operand is written.

  // The operand that result `i` is a view of, or -1.
  int ViewedOperand(int i) const;
  // The operand that result `i` stands for once it is written, or -1.
  int WrittenOperand(int i) const;

  int num_fixed_operands() const;
  bool has_variadic_operand() const;
  bool has_variadic_result() const;
  // Index in `attrs`, or -1.
  int FindAttr(absl::string_view name) const;

  static absl::StatusOr<OpSchema> Parse(absl::string_view text);
};

// Attributes by name. The getters CHECK that the schema has the attribute with
// that kind: a misspelt name fails in the op's own conformance test.
class Attrs {
 public:
  Attrs(const OpSchema* schema, const AttrList* list) : schema_(schema), list_(list) {}

  bool Has(absl::string_view name) const;  // Present (optional attributes).
  bool Bool(absl::string_view name) const;
  int64_t Int(absl::string_view name) const;
  double Float(absl::string_view name) const;
  const std::string& Str(absl::string_view name) const;
  DType Dtype(absl::string_view name) const;
  SymInt Sym(absl::string_view name) const;
  absl::Span<const SymInt> Syms(absl::string_view name) const;
  // Of int[], or of SymInt[] once all are constant (CHECKed).
  std::vector<int64_t> Ints(absl::string_view name) const;
  const std::vector<double>& Floats(absl::string_view name) const;
  const std::vector<std::string>& Strs(absl::string_view name) const;
  const AttrValue& Get(absl::string_view name) const;

  const AttrList* list() const { return list_; }
  const OpSchema& schema() const { return *schema_; }

 private:
  const OpSchema* schema_;
  const AttrList* list_;
};

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

// An op applied to operands, before or after a node exists for it.
struct OpArgs {
  const OpDef* op = nullptr;
  // Null entries are absent optional operands.
  absl::Span<Value* const> operands;
  // Type() for absent operands.
  absl::Span<const Type> types;
  const AttrList* attr_list = nullptr;
  absl::Span<Graph* const> regions;
  // Facts about symbols, and where data-dependent ops declare new ones.
  SymbolTable* symbols = nullptr;
  // Where Verify and Infer list the conditions that they took on trust; may be
  // null. All of them hold whenever the op runs without an error.
  std::vector<SymInt>* needs = nullptr;

  int size() const { return static_cast<int>(types.size()); }
  bool has(int i) const { return i < size() && types[i].kind() != Type::Kind::kNone; }
  Type type(int i) const { return types[i]; }
  // Requires that operands are given (not during Infer on bare types).
  Value* operand(int i) const { return operands[i]; }
  Attrs attrs() const;
  // False when the condition provably does not hold. What is not known is taken
  // on trust.
  bool MayHold(SymInt condition) const;
};

using Types = std::vector<Type>;

// What Fold returns: for a single-result op an existing value, a literal, or
// nothing.
struct Folded {
  Value* value = nullptr;
  std::optional<HostTensor> literal;

  Folded() = default;
  Folded(Value* v) : value(v) {}                   // NOLINT
  Folded(HostTensor t) : literal(std::move(t)) {}  // NOLINT
  explicit operator bool() const { return value || literal; }
};

// One evaluation of an op on host tensors. All attributes are constants.
class EvalContext {
 public:
  using RegionRunner = absl::FunctionRef<absl::Status(
      int region, absl::Span<const HostTensor> inputs, std::vector<HostTensor>* outputs)>;

  EvalContext(const OpDef& op, const AttrList* attrs, absl::Span<const HostTensor> inputs,
              Types result_types, RegionRunner run_region);

  Attrs attrs() const;
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i < num_inputs() && inputs_[i].valid(); }
  const HostTensor& in(int i) const { return inputs_[i]; }

  // Result types from Infer, with constant dims except those that this
  // evaluation decides.
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  Type out_type(int i) const { return result_types_[i]; }
  // Zero-filled and of out_type when that is static.
  HostTensor& out(int i) { return outputs_[i]; }
  void set_out(int i, HostTensor t) { outputs_[i] = std::move(t); }
  std::vector<HostTensor> TakeOutputs() { return std::move(outputs_); }

  absl::Status RunRegion(int region, absl::Span<const HostTensor> inputs,
                         std::vector<HostTensor>* outputs) {
    return run_region_(region, inputs, outputs);
  }

 private:
  const OpDef& op_;
  const AttrList* attrs_;
  absl::Span<const HostTensor> inputs_;
  Types result_types_;
  std::vector<HostTensor> outputs_;
  RegionRunner run_region_;
};

// A slot that an op leaves empty on purpose, and why.
struct Absent {
  const char* reason;
};

// The inverse of a view. `view` is the node's op with its attributes; its
// operands are null and types are the operands'. Returns `base`, a value of the
// viewed operand's type, with the elements that result `result` shows replaced
// by those of `update`; fails when that is not defined, as for elements that
// are shown twice.
using InvertViewFn = Value* (*)(Builder&, const OpArgs& view, int result, Value* base,
                                Value* update);

// The slots of an op. `Verify` says what the schema cannot; it runs before
// Infer, on types. `Infer` is the only shape function. `Fold` makes no node.
// `Decompose` builds an equal subgraph (its op is then a composite) and returns
// one value per result. `Eval` is plain loops; without one the op is evaluated
// through Decompose. `InvertView` belongs to ops with a result that is a view.
// `Functional` belongs to ops that write an operand: nodes that write nothing
// and whose values are the op's results; a result that stands for a written
// operand is the operand's new value. Eval gives the same and writes nothing
// either: whoever runs the op stores the value.
class OpSpec {
 public:
  using VerifyFn = absl::Status (*)(const OpArgs&);
  using InferFn = absl::StatusOr<Types> (*)(const OpArgs&);
  using FoldFn = Folded (*)(const OpArgs&);
  using DecomposeFn = std::vector<Value*> (*)(Builder&, const OpArgs&);
  using EvalFn = absl::Status (*)(EvalContext&);

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
  constexpr OpSpec Eval(EvalFn f) const {
    auto s = *this;
    s.eval_ = f;
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
  EvalFn eval_ = nullptr;
  InvertViewFn invert_view_ = nullptr;
  DecomposeFn functional_ = nullptr;
  Absent vjp_ = {"no gradient rules exist yet"};
  Absent jvp_ = {"no forward-mode rules exist yet"};
  Absent vmap_ = {"no batching rules exist yet"};
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
  bool writes() const { return has(kSideEffect) && schema().writes; }
  // May be merged with an equal node: pure, and equal operands give equal
  // results and types.
  bool is_mergeable() const { return is_pure() && !has(kDataDependent); }

  OpSpec::VerifyFn verify() const { return spec_.verify_; }
  OpSpec::InferFn infer() const { return spec_.infer_; }
  OpSpec::FoldFn fold() const { return spec_.fold_; }
  OpSpec::DecomposeFn decompose() const { return spec_.decompose_; }
  OpSpec::EvalFn eval() const { return spec_.eval_; }
  InvertViewFn invert_view() const { return spec_.invert_view_; }
  OpSpec::DecomposeFn functional() const { return spec_.functional_; }
  const char* vjp_absent() const { return spec_.vjp_.reason; }
  const char* jvp_absent() const { return spec_.jvp_.reason; }
  const char* vmap_absent() const { return spec_.vmap_.reason; }

 private:
  const OpSchema& ParseSchema() const;

  const char* name_;
  OpSpec spec_;
  mutable std::atomic<const OpSchema*> schema_{nullptr};
};

// The declaration gives the object external linkage without the generated
// header, so that files of ops that use no other op do not depend on it.
#define WEFT_DEFINE_OP(name, spec) \
  extern const ::weft::OpDef name; \
  const ::weft::OpDef name(#name, spec)

// Ops by name. The built-in set is ops::Registry() (graph/ops/registry.h); a
// program that embeds Weft may copy it and add its own.
class OpRegistry {
 public:
  // CHECKs that the name is free and the schema parses.
  void Register(const OpDef* op);
  const OpDef* Find(absl::string_view name) const;
  // In the order of their names.
  std::vector<const OpDef*> All() const;

 private:
  absl::flat_hash_map<absl::string_view, const OpDef*> by_name_;
};

// Verify, then Infer. The error names the op.
absl::StatusOr<Types> InferTypes(const OpArgs& args);

// Ops that the core itself creates; every registry has them.
namespace ops {
// constant(int id): element `id` of the module's constant store.
extern const OpDef constant;
// The last node of every graph; its operands are the graph's outputs.
extern const OpDef return_;
}  // namespace ops

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_H_
