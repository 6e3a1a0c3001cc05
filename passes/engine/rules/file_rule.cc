// Guards and right sides of rules from files: functions that find the FileRule
// in Rule::data.
#include "passes/engine/rules/file_rule.h"

#include <algorithm>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/sym/sym_facts.h"

namespace weft {
namespace {

const FileRule& FileRuleOf(const Match& m) { return *static_cast<const FileRule*>(m.rule->data); }

// p[q], the permutation that does q after p; negative dims count from the end.
std::optional<AttrValue> Compose(const AttrValue& p, const AttrValue& q) {
  const auto first = p.symints(), second = q.symints();
  const int64_t rank = static_cast<int64_t>(first.size());
  std::vector<SymInt> dims;
  for (SymInt s : second) {
    if (!s.is_constant()) return std::nullopt;
    const int64_t i = s.value() < 0 ? s.value() + rank : s.value();
    if (i < 0 || i >= rank) return std::nullopt;
    dims.push_back(first[i]);
  }
  return AttrValue(std::move(dims));
}

// The values bound to the names of attributes and of sizes.
struct AttrBindings {
  std::vector<AttrValue> values;
};
struct SizeBindings {
  std::vector<SymInt> sizes;
};

// Nullopt if an attribute cannot have such a value.
std::optional<AttrValue> ValueOf(const AttrTerm& term, const Match& m) {
  switch (term.kind) {
    case AttrTerm::Kind::kLiteral:
      return term.literal;
    case AttrTerm::Kind::kVariable:
      return m.Found<AttrBindings>().values[term.a];
    case AttrTerm::Kind::kDims:
      return AttrValue(m.bound[term.a]->type().dims());
    case AttrTerm::Kind::kDType:
      return AttrValue(m.bound[term.a]->type().dtype());
    case AttrTerm::Kind::kCompose:
      return Compose(m.Found<AttrBindings>().values[term.a],
                     m.Found<AttrBindings>().values[term.b]);
  }
  return std::nullopt;
}

// Tests attributes, and binds their names.
bool AttrsAgree(const Node& root, Match& m) {
  const FileRule& rule = FileRuleOf(m);
  std::vector<AttrValue>& values = m.Find<AttrBindings>().values;
  values.assign(rule.attr_names.size(), AttrValue());
  std::vector<bool> bound(rule.attr_names.size());
  for (const AttrPattern& pattern : rule.attrs) {
    const AttrList& list = *m.bound[pattern.variable]->node()->attr_list();
    for (const auto& [i, term] : pattern.attrs) {
      if (term.kind == AttrTerm::Kind::kVariable && !bound[term.a]) {
        values[term.a] = list[i];
        bound[term.a] = true;
      } else if (list[i] != *ValueOf(term, m)) {
        return false;
      }
    }
  }
  return true;
}

const SymbolTable& SymbolsOf(const Match& m) { return m.root->graph()->module().symbols(); }

// Binds the names of sizes.
bool TypesAgree(const Node& root, Match& m) {
  const FileRule& rule = FileRuleOf(m);
  std::vector<SymInt>& sizes = m.Find<SizeBindings>().sizes;
  sizes.assign(rule.size_names.size(), SymInt(-1));
  for (const TypePattern& want : rule.types) {
    const Type type = m.bound[want.variable]->type();
    if (!type.is_tensor() || !IsOfClass(type.dtype(), want.dtypes)) {
      return false;
    }
    const int n = static_cast<int>(want.dims.size());
    if (want.any_rank ? type.rank() < n : type.rank() != n) return false;
    for (int i = 0; i < n; ++i) {
      const SymInt dim = type.dim(type.rank() - n + i);
      if (want.dims[i] >= 0) {
        if (!dim.Is(want.dims[i])) return false;
        continue;
      }
      SymInt& bound = sizes[-1 - want.dims[i]];
      if (bound.Is(-1)) {
        bound = dim;
      } else if (SymbolsOf(m).ProveEq(bound, dim) != Proof::kYes) {
        return false;
      }
    }
  }
  return true;
}

// The number that a size, rank or integer attribute stands for; nullopt for other terms.
std::optional<SymInt> NumberOf(const Term& term, const Match& m) {
  switch (term.kind) {
    case Term::Kind::kInt:
      return SymInt(term.number);
    case Term::Kind::kAttr: {
      const SymInt* value = m.Found<AttrBindings>().values[term.number].get_if<SymInt>();
      if (value == nullptr) return std::nullopt;
      return *value;
    }
    case Term::Kind::kSize:
      return m.Found<SizeBindings>().sizes[term.number];
    case Term::Kind::kRank:
      return SymInt(m.bound[term.variable]->type().rank());
    case Term::Kind::kDim: {
      const Type type = m.bound[term.variable]->type();
      const int64_t dim = term.number < 0 ? term.number + type.rank() : term.number;
      if (dim < 0 || dim >= type.rank()) return std::nullopt;
      return type.dim(static_cast<int>(dim));
    }
    default:
      return std::nullopt;
  }
}

std::optional<DType> DTypeOf(const Term& term, const Match& m) {
  switch (term.kind) {
    case Term::Kind::kDType:
      return term.dtype;
    case Term::Kind::kDTypeOf:
      return m.bound[term.variable]->type().dtype();
    case Term::Kind::kAttr: {
      const DType* value = m.Found<AttrBindings>().values[term.number].get_if<DType>();
      if (value == nullptr) return std::nullopt;
      return *value;
    }
    default:
      return std::nullopt;
  }
}

bool Holds(const Condition& c, const Match& m) {
  if (c.kind == Condition::Kind::kOneUse) {
    return m.bound[c.left.variable]->has_one_use();
  }
  const std::optional<DType> a = DTypeOf(c.left, m), b = DTypeOf(c.right, m);
  if (a && b) return c.kind == Condition::Kind::kEq ? *a == *b : *a != *b;
  const std::optional<SymInt> x = NumberOf(c.left, m), y = NumberOf(c.right, m);
  if (!x || !y) return false;
  const SymbolTable& symbols = SymbolsOf(m);
  switch (c.kind) {
    case Condition::Kind::kEq:
      return symbols.ProveEq(*x, *y) == Proof::kYes;
    case Condition::Kind::kNe:
      return symbols.ProveEq(*x, *y) == Proof::kNo;
    case Condition::Kind::kLt:
      return symbols.ProveLt(*x, *y) == Proof::kYes;
    default:
      return symbols.ProveLe(*x, *y) == Proof::kYes;
  }
}

template <int i>
bool ConditionHolds(const Node& root, Match& m) {
  return Holds(FileRuleOf(m).conditions[i], m);
}
constexpr decltype(Guard::holds) kConditions[] = {ConditionHolds<0>, ConditionHolds<1>,
                                                  ConditionHolds<2>, ConditionHolds<3>,
                                                  ConditionHolds<4>, ConditionHolds<5>};

// Right sides are preorder: built from the last node to the first, the operands
// of a node are the last values made.
Value* Build(const Match& m, Rewriter& rewriter) {
  const FileRule& rule = FileRuleOf(m);
  std::vector<Value*> made;
  for (size_t i = rule.value.size(); i-- > 0;) {
    const ValueNode& node = rule.value[i];
    if (node.variable >= 0) {
      made.push_back(m.bound[node.variable]);
      continue;
    }
    if (node.op == nullptr) {
      const DType dtype = m.root->result()->type().dtype();
      made.push_back(rewriter.Scalar(dtype, node.number));
      continue;
    }
    std::vector<Value*> operands(made.end() - node.num_operands, made.end());
    std::reverse(operands.begin(), operands.end());
    made.resize(made.size() - node.num_operands);
    std::vector<NamedAttr> attrs;
    for (const auto& [name, term] : node.attrs) {
      std::optional<AttrValue> value = ValueOf(term, m);
      if (!value) return nullptr;
      attrs.push_back({name, *std::move(value)});
    }
    made.push_back(rewriter.Op(*node.op, operands, attrs));
    if (made.back() == nullptr) return nullptr;
  }
  return made.back();
}

}  // namespace

bool IsOfClass(DType dtype, absl::string_view name) {
  if (name == "any") return true;
  if (name == "float") return IsFloat(dtype);
  if (name == "int") return IsInt(dtype);
  if (name == "number") return IsFloat(dtype) || IsInt(dtype);
  return DTypeName(dtype) == name;
}

Rule FileRule::ToRule() const {
  static_assert(std::size(kConditions) + 2 <= RuleGuards::kMax);
  Rule rule = {name.c_str(), identity.c_str(), contract, pattern, {}, Build, 1,
               this,         source.c_str()};
  int n = 0;
  if (!attrs.empty()) rule.guards.list[n++] = {"the attributes", AttrsAgree};
  if (!types.empty()) rule.guards.list[n++] = {"the types", TypesAgree};
  for (size_t i = 0; i < conditions.size(); ++i) {
    rule.guards.list[n++] = {conditions[i].text.c_str(), kConditions[i]};
  }
  return rule;
}

}  // namespace weft
