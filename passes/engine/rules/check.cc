// An instance of a rule is its left side, built on inputs of random types, matched and rewritten by
// the rule itself; both sides are run. A graph for which inference or the match fails is not an
// instance.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/evaluate.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "passes/engine/rewrite/matcher.h"
#include "passes/engine/rewrite/replacement.h"
#include "passes/engine/rules/file_rule.h"

namespace weft {
namespace {

constexpr int kAttempts = 600;
constexpr int kInstances = 60;

constexpr DType kFloats[] = {DType::kF32, DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
constexpr DType kInts[] = {DType::kI32, DType::kI64, DType::kI8, DType::kU8};

class Instance {
 public:
  Instance(const FileRule& file, const Rule& rule, const OpRegistry& registry, uint64_t seed)
      : file_(file), rule_(rule), module_(registry), random_(seed) {}

  // False: no instance.
  bool Build(bool symbolic);
  // The error holds the counterexample.
  absl::Status Check(bool run);

 private:
  int Draw(int n) { return static_cast<int>(random_() % n); }
  DType DrawDType(absl::string_view name);
  std::vector<int64_t> DrawShape(const TypePattern* want);
  void Input(int variable);
  bool BuildNodes();
  Value* BuildOp(const PatternNode& node, absl::Span<Value* const> operands);
  AttrValue DrawAttr(AttrKind kind, int rank);
  bool FillAttrs(const OpDef& op, int variable, int rank, std::vector<NamedAttr>* attrs);
  HostTensor DrawTensor(Type type);
  absl::Status CompareRuns(const Module& before);
  absl::Status Wrong(const Module& before, absl::string_view what) const;

  const FileRule& file_;
  const Rule& rule_;
  Module module_;
  std::mt19937_64 random_;
  bool symbolic_ = false;
  Graph* graph_ = nullptr;
  std::unique_ptr<Builder> builder_;
  DType float_ = DType::kF32, int_ = DType::kI32, any_ = DType::kF32;
  std::vector<int64_t> base_;
  std::vector<int64_t> sizes_;     // By size name.
  std::vector<Value*> variables_;  // By variable.
  std::vector<AttrValue> attrs_;   // By attribute name; absent: not drawn.
  std::vector<HostTensor> inputs_;
  Match match_;
};

DType Instance::DrawDType(absl::string_view name) {
  if (name == "float") return float_;
  if (name == "int") return int_;
  if (name == "any") return any_;
  if (name == "number") return any_ == DType::kBool ? float_ : any_;
  return *ParseDType(name);
}

std::vector<int64_t> Instance::DrawShape(const TypePattern* want) {
  std::vector<int64_t> shape = base_;
  if (want != nullptr && (!want->any_rank || !want->dims.empty())) {
    shape.clear();
    if (want->any_rank && Draw(2) == 0) shape.push_back(Draw(3));
    for (int64_t dim : want->dims) {
      shape.push_back(dim >= 0 ? dim : sizes_[-1 - dim]);
    }
    return shape;
  }
  switch (Draw(4)) {
    case 0:  // Broadcasts along some dims.
      for (int64_t& dim : shape) dim = Draw(2) == 0 ? 1 : dim;
      break;
    case 1:
      shape.erase(shape.begin(), shape.begin() + Draw(shape.size() + 1));
      break;
    default:
      break;
  }
  return shape;
}

void Instance::Input(int variable) {
  if (variables_[variable] != nullptr) return;
  const TypePattern* want = nullptr;
  for (const TypePattern& type : file_.types) {
    if (type.variable == variable) want = &type;
  }
  const DType dtype = DrawDType(want == nullptr ? "any" : want->dtypes);
  std::vector<SymInt> dims;
  for (int64_t size : DrawShape(want)) {
    if (!symbolic_ || size < 2) {
      dims.push_back(size);
      continue;
    }
    SymbolInfo info;
    info.symbol = SymInt::Symbol(absl::StrCat("s", size));
    info.range = {2, SymRange::kMax};
    module_.symbols().Declare(info);
    dims.push_back(info.symbol);
  }
  variables_[variable] = graph_->AddInput(Type::Tensor(dtype, dims), file_.variables[variable]);
}

AttrValue Instance::DrawAttr(AttrKind kind, int rank) {
  switch (kind) {
    case AttrKind::kBool:
      return AttrValue(Draw(2) == 0);
    case AttrKind::kInt:
    case AttrKind::kSymInt:
      return AttrValue(Draw(2 * rank + 1) - rank);
    case AttrKind::kFloat:
      return AttrValue(0.25 * Draw(9) - 1);
    case AttrKind::kDType:
      return AttrValue(Draw(2) == 0 ? float_ : int_);
    case AttrKind::kInts:
    case AttrKind::kSymInts: {
      // A permutation, dims to reduce, or sizes.
      std::vector<SymInt> values;
      for (int i = 0; i < rank; ++i) values.push_back(i);
      std::shuffle(values.begin(), values.end(), random_);
      if (Draw(3) == 0) values.resize(Draw(rank + 1));
      if (Draw(4) == 0) {
        values.clear();
        for (int64_t size : base_) values.push_back(size);
      }
      return AttrValue(std::move(values));
    }
    default:
      return AttrValue();
  }
}

// The pattern's condition on attribute `i`; null if there is none.
const AttrTerm* FindTerm(const AttrPattern* pattern, size_t i) {
  if (pattern == nullptr) return nullptr;
  for (const auto& [index, term] : pattern->attrs) {
    if (index == static_cast<int>(i)) return &term;
  }
  return nullptr;
}

// Fills in attributes with a condition, and those without a default.
bool Instance::FillAttrs(const OpDef& op, int variable, int rank, std::vector<NamedAttr>* attrs) {
  const OpSchema& schema = op.schema();
  const AttrPattern* pattern = nullptr;
  for (const AttrPattern& p : file_.attrs) {
    if (p.variable == variable) pattern = &p;
  }
  for (size_t i = 0; i < schema.attrs.size(); ++i) {
    const AttrSpec& spec = schema.attrs[i];
    const AttrTerm* term = FindTerm(pattern, i);
    AttrValue value;
    if (term == nullptr) {
      if (spec.default_value || spec.optional) continue;
      value = DrawAttr(spec.kind, rank);
    } else if (term->kind == AttrTerm::Kind::kLiteral) {
      value = term->literal;
    } else {
      AttrValue& named = attrs_[term->a];
      if (!named.present()) named = DrawAttr(spec.kind, rank);
      value = named;
    }
    if (!value.present()) return false;
    attrs->push_back({spec.name, std::move(value)});
  }
  return true;
}

Value* Instance::BuildOp(const PatternNode& node, absl::Span<Value* const> operands) {
  const int rank = operands.empty() || operands[0] == nullptr || !operands[0]->type().is_tensor()
                       ? 0
                       : operands[0]->type().rank();
  std::vector<NamedAttr> attrs;
  if (!FillAttrs(*node.op, node.variable, rank, &attrs)) return nullptr;
  return builder_->Op(*node.op, operands, attrs);
}

// The pattern's nodes from the last to the first: the operands of a node are the
// last values made.
bool Instance::BuildNodes() {
  std::vector<Value*> made;
  for (int i = rule_.pattern.size() - 1; i >= 0; --i) {
    const PatternNode& node = rule_.pattern.node(i);
    Value* value = nullptr;
    if (node.kind == PatternNode::Kind::kAny) {
      value = variables_[node.variable];
    } else if (node.kind == PatternNode::Kind::kConstant) {
      value = builder_->Scalar(any_, node.splat);
    } else {
      std::vector<Value*> operands(made.end() - node.num_operands, made.end());
      std::reverse(operands.begin(), operands.end());
      made.resize(made.size() - node.num_operands);
      value = BuildOp(node, operands);
    }
    if (value == nullptr) return false;
    made.push_back(value);
  }
  graph_->SetOutputs(made);
  return true;
}

bool Instance::Build(bool symbolic) {
  symbolic_ = symbolic;
  float_ = kFloats[Draw(std::size(kFloats))];
  int_ = kInts[Draw(std::size(kInts))];
  const int kind = Draw(5);
  any_ = kind < 3 ? float_ : kind == 3 ? int_ : DType::kBool;
  constexpr int64_t kSizes[] = {2, 3, 2, 4, 1, 3, 0};
  for (int n = Draw(4); n > 0; --n) base_.push_back(kSizes[Draw(7)]);
  for (size_t i = 0; i < file_.size_names.size(); ++i) {
    sizes_.push_back(kSizes[Draw(7)]);
  }
  variables_.assign(file_.variables.size(), nullptr);
  attrs_.assign(file_.attr_names.size(), AttrValue());
  graph_ = module_.AddFunction("main");
  Builder::Options options;
  options.fold = false;
  builder_ = std::make_unique<Builder>(graph_, nullptr, options);
  for (int i = 0; i < rule_.pattern.size(); ++i) {
    const PatternNode& node = rule_.pattern.node(i);
    if (node.kind == PatternNode::Kind::kAny) Input(node.variable);
  }
  if (!BuildNodes()) return false;
  const Node* root = graph_->output(0)->node();
  for (uint32_t flips : OrdersOf(rule_.pattern)) {
    if (MatchRule(rule_, flips, *root, match_)) return true;
  }
  return false;
}

HostTensor Instance::DrawTensor(Type type) {
  std::vector<int64_t> dims;
  for (SymInt d : type.dims()) dims.push_back(d.value());
  HostTensor t(type.dtype(), dims);
  const double inf = std::numeric_limits<double>::infinity();
  const double edges[] = {0.0, -0.0, 1, -1, inf, -inf, std::nan(""), 1e30, -3};
  const bool edge = rule_.contract <= NumericContract::kValueSafe;
  if (IsFloat(type.dtype())) {
    std::vector<double> values(t.numel());
    for (double& v : values) {
      v = edge && Draw(3) == 0 ? edges[Draw(std::size(edges))] : Draw(4001) / 1000.0 - 2;
    }
    t.WriteDoubles(values);
  } else {
    std::vector<int64_t> values(t.numel());
    for (int64_t& v : values) {
      v = type.dtype() == DType::kBool ? Draw(2)
          : Draw(4) == 0               ? static_cast<int64_t>(random_())
                                       : Draw(9) - 4;
    }
    t.WriteInts(values);
  }
  return t;
}

bool SameNumber(double a, double b, NumericContract contract, DType dtype) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) {
    return contract != NumericContract::kBitExact || std::signbit(a) == std::signbit(b);
  }
  if (contract <= NumericContract::kValueSafe) return false;
  const double epsilon = dtype == DType::kF64 ? 1e-12 : dtype == DType::kF32 ? 1e-4 : 0.1;
  return std::abs(a - b) <= epsilon * (1 + std::abs(a) + std::abs(b));
}

// The first element that differs, as text; "" if none does.
std::string Difference(const HostTensor& a, const HostTensor& b, NumericContract contract) {
  if (IsFloat(a.dtype())) {
    const auto x = a.ReadDoubles(), y = b.ReadDoubles();
    for (size_t i = 0; i < x.size(); ++i) {
      if (SameNumber(x[i], y[i], contract, a.dtype())) continue;
      return absl::StrCat("element ", i, ": ", FloatToString(x[i]), " and ", FloatToString(y[i]));
    }
  } else if (!a.BitEqual(b)) {
    const auto x = a.ReadInts(), y = b.ReadInts();
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] != y[i]) {
        return absl::StrCat("element ", i, ": ", x[i], " and ", y[i]);
      }
    }
  }
  return "";
}

absl::Status Instance::Wrong(const Module& before, absl::string_view what) const {
  std::string text = absl::StrCat(file_.where, ": rule ", file_.name, " is wrong: ", what, "\n",
                                  PrintModule(before), "becomes\n", PrintModule(module_));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const HostTensor& t = inputs_[i];
    absl::StrAppend(&text, "%", before.main()->input_info(i).name, " = [");
    if (IsFloat(t.dtype())) {
      absl::StrAppend(&text, absl::StrJoin(t.ReadDoubles(), ", "));
    } else {
      absl::StrAppend(&text, absl::StrJoin(t.ReadInts(), ", "));
    }
    absl::StrAppend(&text, "]\n");
  }
  return absl::FailedPreconditionError(text);
}

absl::Status Instance::CompareRuns(const Module& before) {
  for (const Value* input : graph_->inputs()) {
    inputs_.push_back(DrawTensor(input->type()));
  }
  const auto want = EvaluateGraph(*before.main(), inputs_);
  if (!want.ok()) return absl::OkStatus();  // The data is outside of the op.
  const auto got = EvaluateGraph(*graph_, inputs_);
  if (!got.ok()) return Wrong(before, got.status().message());
  const std::string difference = Difference((*want)[0], (*got)[0], rule_.contract);
  if (difference.empty()) return absl::OkStatus();
  return Wrong(before, absl::StrCat("the results differ, ", difference));
}

absl::Status Instance::Check(bool run) {
  const std::unique_ptr<Module> before = module_.Clone();
  const Type type = graph_->output(0)->type();
  Rewriter rewriter(graph_);
  rewriter.Begin(graph_->output(0)->node());
  Value* value = BuildReplacement(match_, rewriter);
  if (value == nullptr || !rewriter.status().ok()) {
    const std::string why(rewriter.status().message());
    rewriter.Abandon();
    return Wrong(*before, absl::StrCat("the right side cannot be built, ", why));
  }
  bool same = value->type().is_tensor() && value->type().dtype() == type.dtype() &&
              value->type().rank() == type.rank();
  for (int i = 0; same && i < type.rank(); ++i) {
    same = module_.symbols().ProveEq(value->type().dim(i), type.dim(i)) == Proof::kYes;
  }
  if (!same) {
    const std::string types = absl::StrCat("the left side is ", type.ToString(),
                                           ", the right side ", value->type().ToString());
    rewriter.Abandon();
    return Wrong(*before, types);
  }
  WEFT_RETURN_IF_ERROR(rewriter.ReplaceRoot({&value, 1}));
  return run ? CompareRuns(*before) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> CheckFileRule(const FileRule& file_rule, const Rule& rule,
                                  const OpRegistry& registry, uint64_t seed) {
  // The seed depends only on the rule, so that other rules do not change its instances.
  std::vector<uint64_t> words(file_rule.name.begin(), file_rule.name.end());
  words.push_back(seed);
  words.push_back(seed >> 32);
  std::seed_seq sequence(words.begin(), words.end());
  std::mt19937_64 seeds(sequence);
  int instances = 0;
  for (int i = 0; i < kAttempts && instances < kInstances; ++i) {
    const uint64_t drawn = seeds();
    Instance concrete(file_rule, rule, registry, drawn);
    if (!concrete.Build(/*symbolic=*/false)) continue;
    ++instances;
    WEFT_RETURN_IF_ERROR(concrete.Check(/*run=*/true));
    Instance symbolic(file_rule, rule, registry, drawn);
    if (!symbolic.Build(/*symbolic=*/true)) continue;
    WEFT_RETURN_IF_ERROR(symbolic.Check(/*run=*/false));
  }
  return instances;
}

}  // namespace weft
