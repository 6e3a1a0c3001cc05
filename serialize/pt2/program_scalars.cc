// Arithmetic on symbolic scalars: `_operator.*`, `torch.sym_*`, `math.*`.
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/build.h"
#include "serialize/pt2/program_importer.h"

namespace weft::pt2 {
namespace {

using Kind = Arg::Kind;

Arg BoolArg(bool value) {
  Arg a;
  a.kind = Kind::kBool;
  a.integer = value ? 1 : 0;
  return a;
}

bool IsWhole(const Arg& a) { return a.is(Kind::kInt) || a.is(Kind::kBool); }

bool IsTruth(const Arg& a) {
  return a.is(Kind::kBool) || a.is(Kind::kRelation) || a.is(Kind::kBoolValue);
}

struct IntOp {
  absl::string_view name;
  SymInt (*fn)(SymInt, SymInt);
};

constexpr IntOp kIntOps[] = {
    {"add", [](SymInt a, SymInt b) { return a + b; }},
    {"sub", [](SymInt a, SymInt b) { return a - b; }},
    {"mul", [](SymInt a, SymInt b) { return a * b; }},
    {"floordiv", [](SymInt a, SymInt b) { return FloorDiv(a, b); }},
    {"mod", [](SymInt a, SymInt b) { return Mod(a, b); }},
    {"sym_max", [](SymInt a, SymInt b) { return Max(a, b); }},
    {"sym_min", [](SymInt a, SymInt b) { return Min(a, b); }},
};

struct FloatOp {
  absl::string_view name;
  const OpDef* op;
};

constexpr FloatOp kFloatOps[] = {
    {"add", &ops::add},         {"sub", &ops::sub},         {"mul", &ops::mul},
    {"truediv", &ops::div},     {"mod", &ops::remainder},   {"pow", &ops::pow},
    {"sym_max", &ops::maximum}, {"sym_min", &ops::minimum},
};

constexpr FloatOp kFloatFunctions[] = {
    {"sym_sqrt", &ops::sqrt}, {"sqrt", &ops::sqrt}, {"neg", &ops::neg}, {"exp", &ops::exp},
    {"log", &ops::log},       {"sin", &ops::sin},   {"cos", &ops::cos},
};

Arg RelationOf(Arg::Relation relation, SymInt a, SymInt b) {
  Arg arg;
  arg.kind = Kind::kRelation;
  arg.relation = relation;
  arg.integer = a;
  arg.other = b;
  return arg;
}

constexpr absl::string_view kRelations[] = {"eq", "ne", "lt", "le", "gt", "ge"};

Arg FloatValue(Value* v, std::optional<Rational> exact = std::nullopt) {
  Arg a;
  a.kind = Kind::kFloatValue;
  a.value = v;
  a.exact = std::move(exact);
  if (a.exact) a.exact->is_float = true;
  return a;
}

// The result of a float operator as a fraction of sizes; nullopt if it is not one.
std::optional<Rational> ExactResult(absl::string_view name, const Arg& a, const Arg& b) {
  std::optional<Rational> x = a.AsRational();
  std::optional<Rational> y = b.AsRational();
  if (!x || !y) return std::nullopt;
  x->is_float = y->is_float = true;
  const absl::StatusOr<Rational> result = name == "add"       ? Plus(*x, *y)
                                          : name == "sub"     ? Plus(*x, Negated(*y))
                                          : name == "mul"     ? Times(*x, *y)
                                          : name == "truediv" ? Quotient(*x, *y)
                                                              : absl::UnimplementedError("");
  return result.ok() ? std::optional<Rational>(*result) : std::nullopt;
}

Arg BoolValue(Value* v) {
  Arg a;
  a.kind = Kind::kBoolValue;
  a.value = v;
  return a;
}

// One node: its name without the prefix, and its arguments.
class ScalarNode {
 public:
  ScalarNode(absl::string_view name, std::vector<Arg> args, Builder* builder)
      : name_(name), args_(std::move(args)), call_(Schema(), {}, builder) {}

  // Nullopt for an unknown operator.
  absl::StatusOr<Arg> Run() {
    for (const Arg& a : args_) {
      if (!a.is_number()) {
        return absl::InvalidArgumentError("an argument is no number");
      }
    }
    absl::StatusOr<Arg> result = args_.size() == 1   ? Unary(args_[0])
                                 : args_.size() == 2 ? Binary(args_[0], args_[1])
                                 : args_.size() == 3 ? Choose()
                                                     : Unknown();
    if (result.ok() && result->is(Kind::kInt) && !result->integer.is_valid()) {
      return absl::InvalidArgumentError("the number does not fit in 64 bits");
    }
    return result;
  }

 private:
  static const AtenSchema& Schema() {
    static const AtenSchema& none = *new AtenSchema;
    return none;
  }

  absl::StatusOr<Arg> Unknown() const {
    return absl::UnimplementedError("the operator is not supported");
  }

  Value* Float(const Arg& a) { return call_.As(a, DType::kF64); }
  Value* Truth(const Arg& a) { return call_.As(a, DType::kBool); }

  absl::StatusOr<Arg> Unary(const Arg& a) {
    if (name_ == "sym_float" || name_ == "float") {
      return FloatValue(Float(a), a.AsRational());
    }
    if (name_ == "sym_not" || name_ == "not_") return Not(a);
    if (IsWhole(a)) {
      if (name_ == "neg") return Arg::Int(-a.integer);
      if (name_ == "pos" || name_ == "trunc" || name_ == "floor" || name_ == "ceil" ||
          name_ == "sym_int" || name_ == "index") {
        return Arg::Int(a.integer);
      }
      if (name_ == "abs") return Arg::Int(Max(a.integer, -a.integer));
    }
    for (const FloatOp& op : kFloatFunctions) {
      if (op.name == name_) {
        return FloatValue(call_.Op(*op.op, {Float(a)}));
      }
    }
    return ToInt(a);
  }

  // Converts a float to an integer: an expression of sizes, or an unbacked symbol.
  absl::StatusOr<Arg> ToInt(const Arg& a) {
    const std::optional<Rational> exact = a.AsRational();
    if (exact && name_ != "round") {
      const Rounding rounding = name_ == "floor"  ? Rounding::kFloor
                                : name_ == "ceil" ? Rounding::kCeil
                                                  : Rounding::kTrunc;
      if (rounding == Rounding::kTrunc && name_ != "trunc" && name_ != "sym_int") return Unknown();
      return Arg::Int(call_.b().module().symbols().Simplify(pt2::ToInt(*exact, rounding)));
    }
    Value* v = Float(a);
    if (name_ == "floor") {
      v = call_.Op(ops::floor, {v});
    } else if (name_ == "ceil") {
      v = call_.Op(ops::ceil, {v});
    } else if (name_ == "round") {
      v = call_.Op(ops::round, {v});
    } else if (name_ != "trunc" && name_ != "sym_int") {
      return Unknown();
    }
    Value* item = call_.Op(ops::item, {Convert(call_, v, DType::kI64)});
    if (item == nullptr) return call_.status();
    return Arg::Int(item->type().symint());
  }

  absl::StatusOr<Arg> Not(const Arg& a) {
    if (a.is(Kind::kBool)) return BoolArg(a.integer.Is(0));
    if (a.is(Kind::kRelation)) {
      Arg negated = a;
      constexpr Arg::Relation kNot[] = {Arg::Relation::kNe, Arg::Relation::kEq, Arg::Relation::kGe,
                                        Arg::Relation::kGt, Arg::Relation::kLe, Arg::Relation::kLt};
      negated.relation = kNot[static_cast<int>(a.relation)];
      return negated;
    }
    return BoolValue(call_.Op(ops::logical_not, {Truth(a)}));
  }

  absl::StatusOr<Arg> Binary(const Arg& a, const Arg& b) {
    for (size_t i = 0; i < std::size(kRelations); ++i) {
      if (kRelations[i] == name_) {
        return Compare(static_cast<Arg::Relation>(i), a, b);
      }
    }
    if (name_ == "and_" || name_ == "or_" || name_ == "xor") {
      return Combine(a, b);
    }
    if (IsWhole(a) && IsWhole(b)) {
      for (const IntOp& op : kIntOps) {
        if (op.name == name_) return Arg::Int(op.fn(a.integer, b.integer));
      }
      if (name_ == "pow") return Power(a.integer, b.integer);
    }
    for (const FloatOp& op : kFloatOps) {
      if (op.name == name_) {
        return FloatValue(call_.Op(*op.op, {Float(a), Float(b)}), ExactResult(name_, a, b));
      }
    }
    if (name_ == "floordiv") {
      return FloatValue(call_.Op(ops::div, {Float(a), Float(b)}, {{"rounding_mode", "floor"}}));
    }
    return Unknown();
  }

  absl::StatusOr<Arg> Power(SymInt base, SymInt exponent) const {
    constexpr int64_t kMaxExponent = 16;
    const auto n = exponent.constant();
    if (!n || *n < 0 || *n > kMaxExponent) return Unknown();
    SymInt power = 1;
    for (int64_t i = 0; i < *n; ++i) power = power * base;
    return Arg::Int(power);
  }

  absl::StatusOr<Arg> Compare(Arg::Relation relation, const Arg& a, const Arg& b) {
    if (IsWhole(a) && IsWhole(b)) return RelationOf(relation, a.integer, b.integer);
    const std::optional<Rational> x = a.AsRational();
    const std::optional<Rational> y = b.AsRational();
    const bool exact = x && y && x->meets_floats() && y->meets_floats();
    if (exact && !(x->rounded && y->rounded)) {
      return RelationOf(relation, x->numerator * y->denominator, y->numerator * x->denominator);
    }
    static const OpDef* const kOps[] = {&ops::eq, &ops::ne, &ops::lt, &ops::le, &ops::gt, &ops::ge};
    return BoolValue(call_.Op(*kOps[static_cast<int>(relation)], {Float(a), Float(b)}));
  }

  absl::StatusOr<Arg> Combine(const Arg& a, const Arg& b) {
    if (!IsTruth(a) || !IsTruth(b)) return Unknown();
    const OpDef& op = name_ == "and_"  ? ops::logical_and
                      : name_ == "or_" ? ops::logical_or
                                       : ops::logical_xor;
    return BoolValue(call_.Op(op, {Truth(a), Truth(b)}));
  }

  // sym_ite(condition, a, b) of integers is an unbacked symbol.
  absl::StatusOr<Arg> Choose() {
    if (name_ != "sym_ite" || !IsTruth(args_[0])) return Unknown();
    const bool whole = IsWhole(args_[1]) && IsWhole(args_[2]);
    const DType dtype = whole ? DType::kI64 : DType::kF64;
    Value* v = call_.Op(ops::where,
                        {Truth(args_[0]), call_.As(args_[1], dtype), call_.As(args_[2], dtype)});
    if (!whole) return FloatValue(v);
    Value* item = call_.Op(ops::item, {v});
    if (item == nullptr) return call_.status();
    return Arg::Int(item->type().symint());
  }

  absl::string_view name_;
  std::vector<Arg> args_;
  AtenCall call_;
};

}  // namespace

absl::Status ProgramImporter::ImportScalar(Scope* scope, const NodeDef& node, bool* done) {
  absl::string_view name = node.target;
  if (!absl::ConsumePrefix(&name, "_operator.") && !absl::ConsumePrefix(&name, "torch.") &&
      !absl::ConsumePrefix(&name, "math.")) {
    return absl::OkStatus();
  }
  Args args;
  for (const NodeDef::Input& input : node.inputs) {
    WEFT_ASSIGN_OR_RETURN(Arg arg, Resolve(scope, input.value));
    args.push_back(std::move(arg));
  }
  WEFT_ASSIGN_OR_RETURN(Arg result, ScalarNode(name, std::move(args), scope->builder).Run());
  WEFT_RETURN_IF_ERROR(scope->builder->status());
  *done = true;
  return SetResults(scope, node, {std::move(result)});
}

}  // namespace weft::pt2
