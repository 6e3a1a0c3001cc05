#include "graph/ir/op_map.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft {

bool ElementMap::IsStrided() const {
  if (kind != Kind::kMove || accesses.size() != 1 || !gathers.empty()) return false;
  if (!accesses[0].guards.empty()) return false;
  for (const MapIndex& index : accesses[0].at) {
    if (index.boundary != MapBoundary::kNone) return false;
  }
  return true;
}

Attrs MapArgs::attrs() const { return Attrs(&op->schema(), attr_list); }

bool MapArgs::Equal(SymInt a, SymInt b) const {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  return symbols->ProveEq(a, b) == Proof::kYes;
}

std::optional<ElementMap> MapOf(const MapArgs& args) {
  const MapFn map = args.op->map();
  return map == nullptr ? std::nullopt : map(args);
}

std::optional<ElementMap> MapOf(const Node& node, int result, const SymbolTable& symbols) {
  if (node.op().map() == nullptr || !node.result(result)->type().is_tensor()) return std::nullopt;
  Types operands, results;
  for (int i = 0; i < node.num_operands(); ++i) {
    operands.push_back(node.has_operand(i) ? node.operand(i)->type() : Type());
  }
  for (int i = 0; i < node.num_results(); ++i) results.push_back(node.result(i)->type());
  return MapOf({&node.op(), node.attr_list(), operands, results, result, &symbols});
}

std::optional<ElementMap> MapOf(const Node& node, int result) {
  return MapOf(node, result, node.graph()->module().symbols());
}

std::optional<std::vector<int>> PlainVariables(const ElementMap& map) {
  if (map.accesses.size() != 1 || !map.gathers.empty()) return std::nullopt;
  const OperandAccess& access = map.accesses[0];
  if (access.form != OperandAccess::Form::kIndices || !access.guards.empty()) return std::nullopt;
  std::vector<int> vars;
  for (const MapIndex& index : access.at) {
    const bool plain = index.offset.Is(0) && index.boundary == MapBoundary::kNone &&
                       index.terms.size() == 1 && index.terms[0].factor.Is(1);
    if (!plain) return std::nullopt;
    vars.push_back(index.terms[0].var);
  }
  return vars;
}

std::vector<int> ReducedDims(const ElementMap& map) {
  std::vector<int> dims;
  const std::vector<MapIndex>& at = map.accesses[0].at;
  for (size_t d = 0; d < at.size(); ++d) {
    const auto reduced = [&](const MapTerm& term) {
      return term.var >= map.first_reduced() && term.var < map.first_gathered();
    };
    if (std::any_of(at[d].terms.begin(), at[d].terms.end(), reduced)) {
      dims.push_back(static_cast<int>(d));
    }
  }
  return dims;
}

std::vector<MapIndex> BroadcastMapIndices(const MapArgs& args, absl::Span<const SymInt> from,
                                          absl::Span<const SymInt> to, int var) {
  const size_t grown = to.size() - from.size();
  std::vector<MapIndex> at(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    SymInt factor = 1;
    if (from[i].Is(1)) {
      factor = 0;
    } else if (!from[i].is_constant() && !args.Equal(from[i], to[grown + i])) {
      factor = NotEqual(from[i], 1);
    }
    at[i].terms.push_back({var + static_cast<int>(grown + i), factor});
  }
  return at;
}

std::optional<ElementMap> MapPointwise(const MapArgs& args) {
  ElementMap map;
  map.kind = ElementMap::Kind::kCombine;
  map.rank = args.out().rank();
  for (size_t i = 0; i < args.operands.size(); ++i) {
    const Type type = args.operands[i];
    if (!type.is_tensor()) continue;
    OperandAccess access;
    access.operand = static_cast<int>(i);
    access.at = BroadcastMapIndices(args, type.dims(), args.out().dims());
    map.accesses.push_back(std::move(access));
  }
  return map;
}

// --- Text ----------------------------------------------------------------------

namespace {

class Printer {
 public:
  explicit Printer(const ElementMap& map) : map_(map) {}

  std::string Text() {
    text_ = "(";
    for (int d = 0; d < map_.rank; ++d) absl::StrAppend(&text_, d == 0 ? "" : ", ", Name(d));
    text_ += ")";
    for (size_t i = 0; i < map_.reduced.size(); ++i) {
      absl::StrAppend(&text_, ", ", Name(map_.first_reduced() + static_cast<int>(i)), " < ",
                      map_.reduced[i].ToString());
    }
    for (size_t i = 0; i < map_.gathers.size(); ++i) {
      const MapGather& g = map_.gathers[i];
      absl::StrAppend(&text_, ", ", Name(map_.first_gathered() + static_cast<int>(i)), " = %",
                      g.operand, List(g.at), " < ", g.size.ToString());
    }
    text_ += " -> ";
    return map_.kind == ElementMap::Kind::kMove ? Moved() : Combined();
  }

 private:
  std::string Moved() {
    bool guarded = true;
    for (const OperandAccess& access : map_.accesses) {
      absl::StrAppend(&text_, &access == &map_.accesses[0] ? "" : " else ", TextOf(access));
      guarded = !access.guards.empty();
    }
    if (!guarded) return std::move(text_);
    absl::StrAppend(&text_, map_.accesses.empty() ? "" : " else ");
    return absl::StrCat(text_, map_.otherwise < 0 ? "0" : absl::StrCat("%", map_.otherwise));
  }

  std::string Combined() {
    text_ += "combine(";
    for (const OperandAccess& access : map_.accesses) {
      absl::StrAppend(&text_, &access == &map_.accesses[0] ? "" : ", ", TextOf(access));
    }
    return text_ + ")";
  }

  std::string Name(int var) const {
    if (var < map_.first_reduced()) return absl::StrCat("d", var);
    if (var < map_.first_gathered()) return absl::StrCat("r", var - map_.first_reduced());
    return absl::StrCat("g", var - map_.first_gathered());
  }

  static std::string Factor(SymInt s) {
    return s.is_constant() || s.is_symbol() ? s.ToString() : absl::StrCat("(", s.ToString(), ")");
  }

  std::string TextOf(const MapIndex& index) const {
    std::string text;
    for (const MapTerm& term : index.terms) {
      if (term.factor.Is(0)) continue;
      absl::StrAppend(&text, text.empty() ? "" : " + ");
      if (!term.factor.Is(1)) absl::StrAppend(&text, Factor(term.factor), "*");
      text += Name(term.var);
    }
    if (text.empty() || !index.offset.Is(0)) {
      absl::StrAppend(&text, text.empty() ? "" : " + ", index.offset.ToString());
    }
    switch (index.boundary) {
      case MapBoundary::kNone:
        return text;
      case MapBoundary::kWrap:
        return absl::StrCat("wrap(", text, ", ", index.size.ToString(), ")");
      case MapBoundary::kEdge:
        return absl::StrCat("edge(", text, ", ", index.size.ToString(), ")");
      case MapBoundary::kReflect:
        return absl::StrCat("reflect(", text, ", ", index.size.ToString(), ")");
    }
    return text;
  }

  std::string List(const std::vector<MapIndex>& at) const {
    std::string text = "[";
    for (const MapIndex& index : at) {
      absl::StrAppend(&text, text.size() == 1 ? "" : ", ", TextOf(index));
    }
    return text + "]";
  }

  std::string TextOf(const OperandAccess& access) const {
    std::string text = absl::StrCat("%", access.operand);
    if (access.form == OperandAccess::Form::kSameNumber) text += "#same";
    if (access.form == OperandAccess::Form::kNumber) text += "#";
    if (access.form != OperandAccess::Form::kSameNumber) text += List(access.at);
    for (const MapGuard& guard : access.guards) {
      absl::StrAppend(&text, &guard == &access.guards[0] ? " if " : " and ",
                      "0 <= ", TextOf(guard.index));
      if (guard.size.is_valid()) absl::StrAppend(&text, " < ", guard.size.ToString());
    }
    return text;
  }

  const ElementMap& map_;
  std::string text_;
};

}  // namespace

std::string ToString(const ElementMap& map) { return Printer(map).Text(); }

}  // namespace weft
