// Plans the new types of the inputs and tries them on a clone. Dims that the program fixes are
// removed from the plan, and the rest is tried again until it succeeds.
#include "passes/assume_sizes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/guards.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/text/text.h"
#include "passes/sizes/logs.h"
#include "passes/sizes/retype.h"
#include "passes/sizes/specialize.h"

namespace weft {
namespace {

using Dim = std::pair<int, int>;  // An input and its dim.

// The text of an option about a dim.
struct DimSpec {
  std::string text;
  bool is_static = false;
  bool is_fresh = false;  // `dynamic`: a symbol without a name of its own.
  SymInt size;            // Else.
  SymRange range = {0, SymRange::kMax};
  int64_t divisor = 1;
};

absl::Status BadOption(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("assume_sizes: \"", text, "\": ", why));
}

// ":1..64%8"
absl::Status ParseFacts(absl::string_view text, DimSpec* spec) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('%', 1));
  if (!parts.second.empty() &&
      (!absl::SimpleAtoi(parts.second, &spec->divisor) || spec->divisor < 1)) {
    return BadOption(spec->text, "expected a positive divisor after '%'");
  }
  if (parts.first.empty()) return absl::OkStatus();
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(parts.first, absl::MaxSplits("..", 1));
  const bool min = ends.first.empty() || absl::SimpleAtoi(ends.first, &spec->range.min);
  const bool max = ends.second.empty() || absl::SimpleAtoi(ends.second, &spec->range.max);
  if (min && max && spec->range.min <= spec->range.max) return absl::OkStatus();
  return BadOption(spec->text, "expected a range such as 1..64 after ':'");
}

absl::Status ParseSpec(absl::string_view text, DimSpec* spec) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  WEFT_RETURN_IF_ERROR(ParseFacts(parts.second, spec));
  spec->is_static = parts.first == "static";
  spec->is_fresh = parts.first == "dynamic";
  if (spec->is_static || spec->is_fresh) return absl::OkStatus();
  const auto size = ParseSymInt(parts.first);
  if (!size.ok()) return BadOption(spec->text, size.status().message());
  spec->size = *size;
  if (!size->is_constant()) return absl::OkStatus();
  return BadOption(spec->text, "expected static, dynamic, a name or an expression");
}

// --- The plan -----------------------------------------------------------------------

class Plan {
 public:
  Plan(const Graph& graph, const AssumeSizesOptions& options) : graph_(graph), options_(options) {}

  absl::Status Make();
  // The types of the inputs, the symbols of `module` declared.
  std::vector<Type> Declare(Module& module) const;
  // Removes dims with these symbols from the plan. Fails, naming the dim, if it was requested
  // explicitly.
  absl::Status Drop(SymInt symbol, absl::string_view why);

  const std::vector<SymbolValue>& values() const { return values_; }
  // Dims that `all` or an option made variable.
  int64_t num_dynamic() const { return static_cast<int64_t>(dims_.size()); }
  int64_t num_fixed() const { return num_fixed_; }
  bool empty() const { return dims_.empty() && values_.empty(); }
  const std::map<Dim, SymInt>& dims() const { return dims_; }
  // The last of the symbols that `all` introduced.
  std::optional<SymInt> LastOffered(SymInt s) const;

 private:
  absl::Status ReadDims();
  absl::Status ReadSizes();
  absl::StatusOr<int> InputNamed(absl::string_view name, absl::string_view text) const;
  absl::Status PlanDim(Dim dim, SymInt have);
  absl::Status PlanSpec(Dim dim, SymInt have, const DimSpec& spec);
  absl::Status PlanStatic(Dim dim, SymInt have, const DimSpec& spec);
  void PlanByDefault(Dim dim, int64_t have);
  std::optional<int64_t> ExampleOf(Dim dim, SymInt have) const;
  SymInt NewSymbol();
  std::string NameOf(Dim dim) const {
    return absl::StrCat("input %", graph_.input_info(dim.first).name, " dim ", dim.second);
  }

  const Graph& graph_;
  const AssumeSizesOptions& options_;
  std::map<Dim, DimSpec> specs_;
  std::map<Dim, int64_t> examples_;
  std::map<Dim, SymInt> dims_;         // New sizes.
  std::vector<SymbolInfo> symbols_;    // Of these.
  std::map<int64_t, SymInt> by_size_;  // Duck shaping.
  std::vector<SymbolValue> values_;    // For sizes that were symbols.
  int64_t num_fixed_ = 0;
  int next_ = 0;
};

absl::StatusOr<int> Plan::InputNamed(absl::string_view name, absl::string_view text) const {
  for (int i = 0; i < graph_.num_inputs(); ++i) {
    if (graph_.input_info(i).name == name) return i;
  }
  return BadOption(text, absl::StrCat("there is no input %", name));
}

absl::Status Plan::ReadDims() {
  for (const std::string& text : options_.dims) {
    const size_t equals = text.find('=');
    const size_t dot = text.rfind('.', equals);
    int dim;
    if (equals == std::string::npos || dot == std::string::npos ||
        !absl::SimpleAtoi(text.substr(dot + 1, equals - dot - 1), &dim)) {
      return BadOption(text, "expected an input, a dim and a size, such as x.0=batch");
    }
    WEFT_ASSIGN_OR_RETURN(const int input, InputNamed(text.substr(0, dot), text));
    const Type type = graph_.input(input)->type();
    if (!type.is_tensor() || dim < 0 || dim >= type.rank())
      return BadOption(text, "there is no such dim");
    DimSpec spec;
    spec.text = text;
    WEFT_RETURN_IF_ERROR(ParseSpec(text.substr(equals + 1), &spec));
    specs_[{input, dim}] = std::move(spec);
  }
  return absl::OkStatus();
}

absl::Status Plan::ReadSizes() {
  for (const std::string& text : options_.sizes) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    WEFT_ASSIGN_OR_RETURN(const int input, InputNamed(parts.first, text));
    const Type type = graph_.input(input)->type();
    const std::vector<std::string> sizes = absl::StrSplit(parts.second, 'x', absl::SkipEmpty());
    if (!type.is_tensor() || static_cast<int>(sizes.size()) != type.rank()) {
      return BadOption(text, absl::StrCat("the input is ", type.ToString()));
    }
    for (int d = 0; d < type.rank(); ++d) {
      int64_t size;
      if (!absl::SimpleAtoi(sizes[d], &size) || size < 0) return BadOption(text, "expected sizes");
      const auto have = type.dim(d).constant();
      if (have && *have != size) return BadOption(text, absl::StrCat("dim ", d, " is ", *have));
      examples_[{input, d}] = size;
    }
  }
  return absl::OkStatus();
}

std::optional<int64_t> Plan::ExampleOf(Dim dim, SymInt have) const {
  if (have.is_constant()) return have.value();
  auto it = examples_.find(dim);
  if (it != examples_.end()) return it->second;
  const SymbolInfo* info = have.is_symbol() ? graph_.module().symbols().Find(have) : nullptr;
  return info != nullptr ? info->hint : std::nullopt;
}

// The smallest free "s<number>" that the plan has not given.
SymInt Plan::NewSymbol() {
  SymInt symbol;
  do {
    symbol = SymInt::Symbol(absl::StrCat("s", next_++));
  } while (graph_.module().symbols().Find(symbol) != nullptr);
  return symbol;
}

absl::Status Plan::PlanStatic(Dim dim, SymInt have, const DimSpec& spec) {
  if (have.is_constant()) return absl::OkStatus();
  const auto example = ExampleOf(dim, have);
  if (!have.is_symbol() || !example) {
    return BadOption(spec.text, absl::StrCat("the size is ", have.ToString(),
                                             " and has no example; give one in `sizes`"));
  }
  values_.push_back({have, SymInt(*example)});
  return absl::OkStatus();
}

absl::Status Plan::PlanSpec(Dim dim, SymInt have, const DimSpec& spec) {
  if (spec.is_static) return PlanStatic(dim, have, spec);
  if (!have.is_constant()) {
    // It is variable already; only the name may change.
    if (spec.is_fresh || spec.size == have) return absl::OkStatus();
    if (!have.is_symbol()) return BadOption(spec.text, "the size is " + have.ToString());
    values_.push_back({have, spec.size});
    return absl::OkStatus();
  }
  const SymInt size = spec.is_fresh ? NewSymbol() : spec.size;
  dims_[dim] = size;
  ForEachSymbol(size, [&](SymInt symbol) {
    SymbolInfo info;
    info.symbol = symbol;
    if (symbol == size) {
      info.range = spec.range;
      info.divisor = spec.divisor;
      info.hint = ExampleOf(dim, have);
    }
    symbols_.push_back(info);
  });
  return absl::OkStatus();
}

void Plan::PlanByDefault(Dim dim, int64_t have) {
  if (options_.specialize01 && have <= 1) return;
  SymInt& symbol = by_size_[options_.duck ? have : -1 - static_cast<int64_t>(dims_.size())];
  if (symbol.is_constant()) {
    symbol = NewSymbol();
    SymbolInfo info;
    info.symbol = symbol;
    info.range.min = options_.specialize01 ? 2 : 0;
    info.hint = have;
    symbols_.push_back(info);
  }
  dims_[dim] = symbol;
}

absl::Status Plan::PlanDim(Dim dim, SymInt have) {
  auto spec = specs_.find(dim);
  if (spec != specs_.end()) return PlanSpec(dim, have, spec->second);
  const InputInfo& info = graph_.input_info(dim.first);
  const bool is_state = !info.param.empty() || info.value >= 0 || info.initial >= 0;
  if (options_.all && have.is_constant() && !is_state) PlanByDefault(dim, have.value());
  return absl::OkStatus();
}

absl::Status Plan::Make() {
  WEFT_RETURN_IF_ERROR(ReadDims());
  WEFT_RETURN_IF_ERROR(ReadSizes());
  for (int i = 0; i < graph_.num_inputs(); ++i) {
    const Type type = graph_.input(i)->type();
    for (int d = 0; type.is_tensor() && d < type.rank(); ++d) {
      WEFT_RETURN_IF_ERROR(PlanDim({i, d}, type.dim(d)));
    }
  }
  return absl::OkStatus();
}

std::vector<Type> Plan::Declare(Module& module) const {
  for (const SymbolInfo& info : symbols_) {
    const bool used = std::any_of(dims_.begin(), dims_.end(), [&](const auto& dim) {
      return ContainsSymbol(dim.second, info.symbol);
    });
    if (used) module.symbols().Declare(info);
  }
  std::vector<Type> types;
  for (int i = 0; i < graph_.num_inputs(); ++i) {
    const Type type = graph_.input(i)->type();
    types.push_back(type);
    if (!type.is_tensor()) continue;
    std::vector<SymInt> dims(type.dims().begin(), type.dims().end());
    for (int d = 0; d < type.rank(); ++d) {
      auto it = dims_.find({i, d});
      if (it != dims_.end()) dims[d] = it->second;
    }
    types.back() = type.WithDims(dims);
  }
  return types;
}

std::optional<SymInt> Plan::LastOffered(SymInt s) const {
  std::optional<SymInt> last;
  for (const auto& [dim, size] : dims_) {
    if (specs_.count(dim) == 0 && size.is_symbol() && ContainsSymbol(s, size)) last = size;
  }
  for (const auto& [dim, size] : dims_) {
    if (last && specs_.count(dim) > 0 && ContainsSymbol(size, *last)) return std::nullopt;
  }
  return last;
}

absl::Status Plan::Drop(SymInt symbol, absl::string_view why) {
  for (auto it = dims_.begin(); it != dims_.end();) {
    if (!ContainsSymbol(it->second, symbol)) {
      ++it;
      continue;
    }
    auto spec = specs_.find(it->first);
    if (spec != specs_.end()) {
      return absl::InvalidArgumentError(absl::StrCat(NameOf(it->first), " (", symbol.ToString(),
                                                     ") cannot vary: ", why, "; leave out \"",
                                                     spec->second.text, "\""));
    }
    ++num_fixed_;
    it = dims_.erase(it);
  }
  return absl::OkStatus();
}

// --- Trying it ----------------------------------------------------------------------

// Puts the sizes of the plan into the module, and collects the assumptions of nodes.
absl::Status Apply(const Plan& plan, bool follow, Module& module, Graph& graph,
                   std::vector<SizeAssumption>* assumptions) {
  const std::vector<Type> types = plan.Declare(module);
  return RetypeInputs(graph, types, follow, assumptions);
}

std::string Because(const SizeAssumption& assumption) {
  return absl::StrCat(assumption.origin, " needs ", assumption.condition.ToString());
}

// An equation that few sizes meet: s0*s1 == 168, or s2*s0*s1 == 168*s2.
bool FixesSizes(SymInt condition, const SymbolTable& facts) {
  if (condition.kind() != SymInt::Kind::kZero) return false;
  SymInt s = condition.args()[0];
  ForEachSymbol(s, [&](SymInt factor) {
    const SymInt rest = FloorDiv(s, factor);
    if (facts.RangeOf(factor).min > 0 && rest * factor == s) s = rest;
  });
  if (s.kind() == SymInt::Kind::kSum && s.coefficient() > 0) s = -s;
  if (s.kind() != SymInt::Kind::kSum || s.coefficient() >= 0) return false;
  return std::all_of(s.args().begin(), s.args().end(), [](SymInt term) {
    return term.kind() != SymInt::Kind::kProduct || term.coefficient() > 0;
  });
}

// Adds the assumptions of nodes. If a new symbol then has only one value, the program fixes it, and
// it is removed from the plan with the assumption as the reason. The same holds for the last of
// several symbols that only few sizes satisfy together.
absl::StatusOr<bool> AssumeAll(Module& module, const std::vector<SizeAssumption>& assumptions,
                               Plan* plan) {
  SymbolTable& facts = module.symbols();
  bool dropped = false;
  for (const SizeAssumption& assumption : assumptions) {
    std::vector<SymInt> symbols;
    ForEachSymbol(assumption.condition, [&](SymInt symbol) { symbols.push_back(symbol); });
    if (Assume(facts, assumption) == Proof::kNo) {
      return absl::InvalidArgumentError(
          absl::StrCat(Because(assumption), ", which the given ranges rule out"));
    }
    const SymInt simple = facts.Simplify(assumption.condition);
    const auto offered = FixesSizes(simple, facts) ? plan->LastOffered(simple) : std::nullopt;
    if (offered) {
      WEFT_RETURN_IF_ERROR(plan->Drop(*offered, Because(assumption)));
      return true;
    }
    for (SymInt symbol : symbols) {
      if (facts.IsUnbacked(symbol) || !facts.Simplify(symbol).is_constant()) continue;
      const size_t before = plan->dims().size();
      WEFT_RETURN_IF_ERROR(plan->Drop(symbol, absl::StrCat(Because(assumption), ", so that it is ",
                                                           facts.Simplify(symbol).ToString())));
      dropped |= plan->dims().size() != before;
    }
  }
  return dropped;
}

// The dims that fit, after a number of trials that the dims bound.
absl::Status Fit(const Module& module, const std::string& function, bool follow, Plan* plan) {
  constexpr int kMaxTrials = 16;
  for (int trial = 0; trial < kMaxTrials && !plan->dims().empty(); ++trial) {
    const std::unique_ptr<Module> clone = module.Clone();
    std::vector<SizeAssumption> assumptions;
    Graph& graph = *clone->FindFunction(function);
    WEFT_RETURN_IF_ERROR(Apply(*plan, follow, *clone, graph, &assumptions));
    WEFT_ASSIGN_OR_RETURN(const bool dropped, AssumeAll(*clone, assumptions, plan));
    if (!dropped) return absl::OkStatus();
  }
  if (plan->dims().empty()) return absl::OkStatus();
  return absl::ResourceExhaustedError("assume_sizes: the sizes that vary do not settle");
}

}  // namespace

absl::Status AssumeSizes(Module& module, const AssumeSizesOptions& options, PassContext& context) {
  Graph* graph = module.main();
  if (graph == nullptr && module.functions().size() == 1) graph = module.functions()[0].get();
  if (graph == nullptr)
    return absl::InvalidArgumentError("assume_sizes: there is no function main");
  Plan plan(*graph, options);
  WEFT_RETURN_IF_ERROR(plan.Make());
  WEFT_RETURN_IF_ERROR(Fit(module, graph->name(), options.follow, &plan));
  if (plan.num_fixed() > 0) context.Count("fixed", plan.num_fixed());
  if (plan.empty()) return absl::OkStatus();
  context.Count("dynamic", plan.num_dynamic());
  std::vector<SizeAssumption> assumptions;
  if (!plan.dims().empty()) {
    WEFT_RETURN_IF_ERROR(Apply(plan, options.follow, module, *graph, &assumptions));
  }
  for (const SizeAssumption& assumption : assumptions) {
    if (Assume(module.symbols(), assumption) == Proof::kUnknown) context.Count("guards");
  }
  return SpecializeSymbols(module, plan.values());
}

namespace {

class AssumeSizesPass : public Pass {
 public:
  explicit AssumeSizesPass(const AssumeSizesOptions& options) : options_(options) {}
  absl::string_view name() const override { return "assume_sizes"; }
  const LogComponent& log() const override { return shapes_log; }
  absl::string_view doc() const override {
    return "Lets sizes of the inputs vary that were numbers, and names them.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("dims", &options_.dims, "input dims: x.0=batch:1..64%8;y.0=dynamic;x.1=static");
    visitor.Visit("sizes", &options_.sizes, "example sizes: x=2x128");
    visitor.Visit("all", &options_.all, "all other sizes that the program allows to vary");
    visitor.Visit("duck", &options_.duck, "with all: equal sizes are one symbol");
    visitor.Visit("specialize01", &options_.specialize01,
                  "with all: 0 and 1 stay, other sizes are 2 or more");
    visitor.Visit("follow", &options_.follow, "sizes of reshape and expand follow");
  }
  bool HandlesWrites() const override { return true; }
  bool ChangesInputs() const override { return true; }
  absl::Status Run(Module& module, PassContext& context) override {
    return AssumeSizes(module, options_, context);
  }

 private:
  AssumeSizesOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateAssumeSizesPass(const AssumeSizesOptions& options) {
  return std::make_unique<AssumeSizesPass>(options);
}

std::unique_ptr<Pass> CreateAssumeSizesPass() { return CreateAssumeSizesPass({}); }

}  // namespace weft
