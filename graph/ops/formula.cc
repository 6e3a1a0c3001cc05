#include "graph/ops/formula.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/support/infer.h"
#include "graph/ops/support/pointwise.h"
#include "graph/sym/sym_int.h"

namespace weft::ops {
namespace {

using Kind = FormulaNode::Kind;

bool IsOp(const FormulaNode& node) { return node.kind == Kind::kOp; }

bool IsNumber(const FormulaNode& node) {
  return node.kind == Kind::kNumber || node.kind == Kind::kAttr;
}

bool IsPointwise(const Formula& formula) {
  return std::all_of(formula.begin(), formula.end(), [](const FormulaNode& node) {
    return !IsOp(node) || node.op->has(kPointwise);
  });
}

bool ReadsBits(const Formula& formula) {
  return std::any_of(formula.begin(), formula.end(),
                     [](const FormulaNode& node) { return IsOp(node) && node.op == &bitcast; });
}

bool UsesOperand(const Formula& formula, int operand) {
  return std::any_of(formula.begin(), formula.end(), [&](const FormulaNode& node) {
    return node.kind == Kind::kOperand && node.index == operand;
  });
}

bool IsNarrow(Type type) { return type.is_tensor() && WideDType(type.dtype()) != type.dtype(); }

double NumberOf(const FormulaNode& node, const OpArgs& args) {
  if (node.kind == Kind::kNumber) return node.number;
  const AttrValue& value = (*args.attr_list)[node.index];
  if (const double* number = value.get_if<double>()) return *number;
  return static_cast<double>(value.get_if<SymInt>()->value());
}

absl::Status CheckNumber(DType dtype, double number) {
  if (IsFloat(dtype) || IsComplex(dtype)) return absl::OkStatus();
  const bool is_signed = IsSignedInt(dtype);
  const double end = dtype == DType::kBool ? 2 : std::ldexp(1, DTypeBits(dtype) - is_signed);
  const bool fits = number < end && number >= (is_signed ? -end : 0);
  if (fits && number == std::trunc(number)) return absl::OkStatus();
  return Invalid(number, " is not a value of ", DTypeName(dtype));
}

// The attributes of a node of the formula.
absl::StatusOr<const AttrList*> AttrsOf(const FormulaNode& node, const OpArgs& args) {
  std::vector<NamedAttr> attrs;
  for (const FormulaAttr& attr : node.attrs) {
    attrs.push_back({attr.name, attr.from < 0 ? attr.value : (*args.attr_list)[attr.from]});
  }
  return MakeAttrs(*node.op, attrs);
}

// Computes types of operands and results, for Infer.
class OnTypes {
 public:
  using Result = Type;
  explicit OnTypes(const OpArgs& args) : args_(args) {}

  Type Operand(int i) const { return args_.type(i); }
  static Type TypeOf(Type type) { return type; }
  Type Number(DType dtype, double number) const { return Type::Scalar(dtype); }
  absl::StatusOr<Type> Apply(const OpDef& op, absl::Span<const Type> inputs,
                             const AttrList* attrs) const {
    OpArgs args;
    args.op = &op;
    args.types = inputs;
    args.attr_list = attrs;
    args.symbols = args_.symbols;
    args.needs = args_.needs;
    WEFT_ASSIGN_OR_RETURN(const Types types, InferTypes(args));
    return types[0];
  }

 private:
  const OpArgs& args_;
};

// Makes nodes, for Decompose.
class OnGraph {
 public:
  using Result = Value*;
  OnGraph(Builder& b, const OpArgs& args) : b_(b), args_(args) {}

  Value* Operand(int i) const { return args_.operand(i); }
  static Type TypeOf(const Value* value) { return value == nullptr ? Type() : value->type(); }
  Value* Number(DType dtype, double number) const { return b_.Scalar(dtype, number); }
  absl::StatusOr<Value*> Apply(const OpDef& op, absl::Span<Value* const> inputs,
                               const AttrList* attrs) const {
    Value* result = b_.CreateOne(op, inputs, attrs);
    if (result == nullptr) return b_.status();
    return result;
  }

 private:
  Builder& b_;
  const OpArgs& args_;
};

// Computes the nodes of a formula on types or in a graph.
template <typename Domain>
class Computation {
 public:
  using Result = typename Domain::Result;
  // `wide`: narrow floats are converted to f32, wherever they appear.
  Computation(const Formula& formula, const OpArgs& args, bool wide, Domain domain)
      : formula_(formula), args_(args), wide_(wide), domain_(domain) {}

  absl::StatusOr<Result> Run() {
    std::vector<Result> results;
    for (const FormulaNode& node : formula_) {
      Result result = {};
      if (node.kind == Kind::kOperand) {
        WEFT_ASSIGN_OR_RETURN(result, Widen(domain_.Operand(node.index)));
      } else if (IsOp(node)) {
        WEFT_ASSIGN_OR_RETURN(result, Apply(node, results));
        WEFT_ASSIGN_OR_RETURN(result, Widen(result));
      }
      results.push_back(result);  // Numbers get theirs beside the values of each use.
    }
    return results.back();
  }

 private:
  absl::StatusOr<Result> Widen(Result value) {
    if (!wide_ || !IsNarrow(Domain::TypeOf(value))) return value;
    WEFT_ASSIGN_OR_RETURN(const AttrList* attrs, MakeAttrs(convert, {{"dtype", DType::kF32}}));
    return domain_.Apply(convert, {value}, attrs);
  }

  DType DTypeOfNumbers(const FormulaNode& node, const std::vector<Result>& results) const {
    DType dtype = args_.type(0).dtype();
    if (wide_) dtype = WideDType(dtype);
    for (const int i : node.inputs) {
      if (IsNumber(formula_[i])) continue;
      const DType beside = Domain::TypeOf(results[i]).dtype();
      if (beside != DType::kBool) dtype = beside;
    }
    return dtype;
  }

  absl::StatusOr<Result> Apply(const FormulaNode& node, const std::vector<Result>& results) {
    const DType dtype = DTypeOfNumbers(node, results);
    std::vector<Result> inputs;
    for (const int i : node.inputs) {
      if (IsNumber(formula_[i])) {
        const double number = NumberOf(formula_[i], args_);
        WEFT_RETURN_IF_ERROR(CheckNumber(dtype, number));
        inputs.push_back(domain_.Number(dtype, number));
      } else {
        inputs.push_back(results[i]);
      }
    }
    // Optional operands that the formula leaves out.
    const size_t fixed = node.op->schema().num_fixed_operands();
    inputs.resize(std::max(inputs.size(), fixed), Result{});
    WEFT_ASSIGN_OR_RETURN(const AttrList* attrs, AttrsOf(node, args_));
    return domain_.Apply(*node.op, inputs, attrs);
  }

  const Formula& formula_;
  const OpArgs& args_;
  const bool wide_;
  Domain domain_;
};

}  // namespace

const FormulaOp* FormulaOp::From(const OpDef& op) {
  return op.infer() == Infer ? static_cast<const FormulaOp*>(&op) : nullptr;
}

absl::StatusOr<Types> FormulaOp::Infer(const OpArgs& args) {
  const Formula& formula = From(*args.op)->formula_;
  Computation<OnTypes> types(formula, args, /*wide=*/false, OnTypes(args));
  WEFT_ASSIGN_OR_RETURN(const Type type, types.Run());
  return Types{type};
}

std::vector<Value*> FormulaOp::Decompose(Builder& b, const OpArgs& args) {
  const Formula& formula = From(*args.op)->formula_;
  const bool wide = args.op->has(kPointwise) && !ReadsBits(formula) &&
                    std::any_of(args.types.begin(), args.types.end(), IsNarrow);
  Computation<OnGraph> nodes(formula, args, wide, OnGraph(b, args));
  const absl::StatusOr<Value*> result = nodes.Run();
  if (!result.ok()) return {b.Fail(result.status())};
  if (!wide) return {*result};
  const absl::StatusOr<Types> types = Infer(args);
  if (!types.ok()) return {b.Fail(types.status())};
  const DType dtype = (*types)[0].dtype();
  if ((*result)->type().dtype() == dtype) return {*result};
  // Overflow rounds as in an ordinary store.
  return {b.Op(convert, {*result}, {{"dtype", dtype}, {"saturate", false}})};
}

FormulaOp::FormulaOp(OpTexts texts, Formula formula)
    : DynamicOp(std::move(texts),
                [&](const OpSpec& spec) {
                  return spec.Traits(IsPointwise(formula) ? kPointwise : kNoTraits)
                      .Infer(Infer)
                      .Decompose(Decompose);
                }),
      formula_(std::move(formula)) {
  for (const FormulaNode& node : formula_) {
    const FormulaOp* inner = IsOp(node) ? From(*node.op) : nullptr;
    expanded_nodes_ += inner == nullptr ? 1 : inner->expanded_nodes_;
    if (inner != nullptr) depth_ = std::max(depth_, inner->depth_ + 1);
  }
}

absl::StatusOr<std::unique_ptr<const FormulaOp>> FormulaOp::Make(OpTexts texts, Formula formula) {
  if (formula.empty() || !IsOp(formula.back())) {
    return Invalid("a formula must apply an op");
  }
  if (formula.size() > kMaxNodes) {
    return Invalid("a formula has at most ", kMaxNodes, " nodes");
  }
  std::unique_ptr<const FormulaOp> op(new FormulaOp(std::move(texts), std::move(formula)));
  const std::vector<OperandSpec>& operands = op->schema().operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!UsesOperand(op->formula_, static_cast<int>(i))) {
      return Invalid("the formula does not use ", operands[i].name);
    }
  }
  if (op->expanded_nodes_ > kMaxExpandedNodes) {
    return Invalid("the formula has ", op->expanded_nodes_,
                   " nodes with those of its ops' formulas; the limit is ", kMaxExpandedNodes);
  }
  if (op->depth_ > kMaxDepth) {
    return Invalid("the formulas of its ops are nested more than ", kMaxDepth, " deep");
  }
  return op;
}

}  // namespace weft::ops
