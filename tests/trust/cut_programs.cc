#include "tests/trust/cut_programs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "api/check/region.h"
#include "api/check/seeded_inputs.h"
#include "api/inspect/cost.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "tests/trust/model_pool.h"

namespace weft::trust {
namespace {

// Limits of a program for the reference executor.
constexpr int64_t kMaxFlops = 10'000'000;
constexpr int64_t kMaxElements = 1 << 20;

bool IsConstant(const Value* v) { return v->IsResultOf(ops::constant); }

// Decompositions of matrices are unique up to signs only, random numbers are a contract of their
// own, and nodes with effects cannot be cut.
bool IsWanted(const Node& node) {
  return node.op().is_pure() && !node.Is(ops::constant) && !node.Is(ops::svd) &&
         !node.Is(ops::eigh) && !node.Is(ops::qr);
}

// Nodes around a random one, by edges in either direction.
absl::flat_hash_set<const Node*> Grow(const Graph& graph, Random& random) {
  std::vector<const Node*> all;
  for (const Node* node : graph.nodes()) {
    if (IsWanted(*node)) all.push_back(node);
  }
  absl::flat_hash_set<const Node*> chosen;
  if (all.empty()) return chosen;
  std::vector<const Node*> list = {random.Of(all)};
  chosen.insert(list[0]);
  for (int tries = random.Pick(2, 25); tries > 0; --tries) {
    const Node* from = random.Of(list);
    const Node* next = nullptr;
    if (random.OneIn(2) && from->num_operands() > 0) {
      const Value* operand = from->operand(random.Pick(0, from->num_operands() - 1));
      if (operand != nullptr) next = operand->node();
    } else {
      const Value* result = from->result(random.Pick(0, from->num_results() - 1));
      for (Use* use = result->first_use(); use != nullptr; use = use->next()) {
        if (next == nullptr || random.OneIn(2)) next = use->user();
      }
    }
    if (next == nullptr || next == graph.return_node() || !IsWanted(*next)) continue;
    if (chosen.insert(next).second) list.push_back(next);
  }
  return chosen;
}

// The spec of the chosen nodes with constants that stay constants.
RegionSpec SpecOf(const Graph& graph, const absl::flat_hash_set<const Node*>& chosen,
                  Random& random) {
  RegionSpec spec;
  absl::flat_hash_set<const Node*> constants;
  for (const Node* node : graph.nodes()) {
    if (!chosen.contains(node)) continue;
    for (int i = 0; i < node->num_operands(); ++i) {
      const Value* v = node->operand(i);
      if (v == nullptr || chosen.contains(v->node()) || spec.inputs.contains(v)) continue;
      if (v->node() != nullptr && constants.contains(v->node())) continue;
      // Integers and bools tell sizes and places as often as not.
      const bool free = v->type().is_tensor() && IsFloat(v->type().dtype()) && random.OneIn(2);
      if (IsConstant(v) && !free) {
        constants.insert(v->node());
        continue;
      }
      spec.inputs[v] = static_cast<int>(spec.input_types.size());
      spec.input_types.push_back(v->type());
    }
  }
  for (const Node* node : graph.nodes()) {
    if (!chosen.contains(node) && !constants.contains(node)) continue;
    spec.nodes.push_back(node);
    if (constants.contains(node)) continue;
    for (int r = 0; r < node->num_results(); ++r) {
      const Value* v = node->result(r);
      bool inside = v->has_uses();
      for (Use* use = v->first_use(); use != nullptr; use = use->next()) {
        inside &= chosen.contains(use->user());
      }
      if (!inside && v->type().is_tensor()) spec.outputs.push_back(v);
    }
  }
  return spec;
}

// The symbols that executors, which bind inputs in order, do not learn from a bare use before they
// meet them in an expression such as a * b, or at all.
std::vector<SymInt> NotLearnt(absl::Span<const SymInt> symbols, absl::Span<const Type> types) {
  absl::flat_hash_set<SymInt> bound, late;
  for (Type type : types) {
    std::vector<SymInt> sizes;
    if (type.is_symint()) sizes.push_back(type.symint());
    if (type.is_tensor()) sizes.assign(type.dims().begin(), type.dims().end());
    for (SymInt s : sizes) {
      if (s.is_symbol()) bound.insert(s);
    }
    for (SymInt s : sizes) {
      ForEachSymbol(s, [&](SymInt symbol) {
        if (!bound.contains(symbol)) late.insert(symbol);
      });
    }
  }
  std::vector<SymInt> asked;
  for (SymInt s : symbols) {
    if (late.contains(s) || !bound.contains(s)) asked.push_back(s);
  }
  return asked;
}

absl::StatusOr<std::unique_ptr<Module>> Cut(const Module& model, Random& random) {
  const Graph& graph = *model.main();
  const auto chosen = Grow(graph, random);
  RegionSpec spec = SpecOf(graph, chosen, random);
  if (spec.outputs.empty()) return absl::NotFoundError("nothing to cut");
  const std::vector<SymInt> more = NotLearnt(FreeSymbols(graph, spec), spec.input_types);
  return CutRegion(graph, spec, more);
}

// Builds copies of cut programs by running inference again, with other types of inputs.
class Rebuilder {
 public:
  Rebuilder(Random& random, bool symbols)
      : random_(random), symbols_(symbols), module_(std::make_unique<Module>(ops::Registry())) {
    main_ = module_->AddFunction("main");
  }

  absl::Status Add(const Module& part) {
    Builder b(main_);
    absl::flat_hash_map<const Value*, Value*> values;
    const Graph& from = *part.main();
    for (const SymbolInfo& info : part.symbols().symbols()) {
      if (module_->symbols().Find(info.symbol) == nullptr) module_->symbols().Declare(info);
    }
    for (Value* input : from.inputs()) values[input] = Input(b, input->type());
    for (const Node* node : from.nodes()) {
      if (node->num_regions() > 0) return absl::UnimplementedError("nested graphs");
      // Their symbols are defined once.
      if (node->op().has(kDataDependent)) return absl::UnimplementedError("unbacked symbols");
      if (node->Is(ops::constant)) {
        values[node->result()] = Constant(b, *LiteralOf(node->result()));
        continue;
      }
      std::vector<Value*> operands;
      for (int i = 0; i < node->num_operands(); ++i) {
        operands.push_back(node->operand(i) == nullptr ? nullptr : values.at(node->operand(i)));
      }
      const std::vector<Value*> results = b.Create(node->op(), operands, node->attr_list());
      WEFT_RETURN_IF_ERROR(b.status());
      for (int r = 0; r < node->num_results(); ++r) values[node->result(r)] = results[r];
    }
    for (Value* output : from.outputs()) outputs_.push_back(values.at(output));
    return b.status();
  }

  std::unique_ptr<Module> Finish() {
    main_->SetOutputs(outputs_);
    return std::move(module_);
  }

 private:
  // An output of an earlier part, a constant, or an input.
  Value* Input(Builder& b, Type type) {
    for (Value* earlier : outputs_) {
      if (earlier->type() == type && !random_.OneIn(3)) return earlier;
    }
    if (type.is_tensor() && type.is_static() && IsFloat(type.dtype()) && random_.OneIn(4)) {
      Dims dims;
      for (SymInt d : type.dims()) dims.push_back(d.value());
      if (NumElements(dims) <= kMaxElements) {
        return b.Constant(DrawTensor(type.dtype(), dims, false, random_));
      }
    }
    return main_->AddInput(Open(type));
  }

  Value* Constant(Builder& b, const HostTensor& tensor) { return b.Constant(tensor); }

  // Sizes as symbols, equal ones alike.
  Type Open(Type type) {
    if (!symbols_ || !type.is_tensor()) return type;
    std::vector<SymInt> dims;
    for (SymInt d : type.dims()) {
      if (d.is_constant() && d.value() > 1) {
        auto [it, is_new] = by_size_.try_emplace(d.value(), d);
        if (is_new && random_.OneIn(2)) {
          it->second = SymInt::Symbol(absl::StrCat("size", d.value()));
          module_->symbols().Declare({it->second, {0, 4096}, 1, d.value()});
        }
        d = it->second;
      }
      dims.push_back(d);
    }
    return type.WithDims(dims);
  }

  Random& random_;
  const bool symbols_;
  std::unique_ptr<Module> module_;
  Graph* main_ = nullptr;
  std::vector<Value*> outputs_;
  std::map<int64_t, SymInt> by_size_;
};

// Weights that meet padding, and values of hidden keys, are not read by all routines.
bool IsReadInFull(const Value* input) {
  for (const Use* use = input->first_use(); use != nullptr; use = use->next()) {
    const bool partly =
        use->user()->Is(ops::convolution) || use->user()->Is(ops::scaled_dot_product_attention);
    if (partly && use->operand_index() > 0) return false;
  }
  return true;
}

void AddNans(const Graph& main, Random& random, std::vector<HostTensor>* inputs) {
  for (size_t i = 0; i < inputs->size(); ++i) {
    HostTensor& tensor = (*inputs)[i];
    if (!IsFloat(tensor.dtype()) || !IsReadInFull(main.input(static_cast<int>(i)))) continue;
    std::vector<double> values = tensor.ReadDoubles();
    if (values.empty() || random.OneIn(2)) continue;
    values[random.Next() % values.size()] = std::nan("");
    tensor = HostTensor::FromDoubles(tensor.dtype(), tensor.dims(), values);
  }
}

// True if a mask may hide scores. As attention, the program gives NaN for a hidden one
// (passes/fuse_attention.h).
bool MayHideScores(const Graph& main) {
  bool masks = false, weighs = false;
  for (const Node* node : main.nodes()) {
    masks = masks || node->Is(ops::where);
    weighs = weighs || node->Is(ops::softmax);
  }
  return masks && weighs;
}

// By hints of sizes, before inputs are made, which is what large programs take longest for.
bool IsSmall(const Module& module) {
  std::map<std::string, int64_t> sizes;
  for (const SymbolInfo& info : module.symbols().symbols()) {
    sizes[std::string(info.symbol.name())] = info.hint.value_or(8);
  }
  const auto size_of = [&](SymInt s) -> std::optional<int64_t> {
    const auto it = sizes.find(std::string(s.name()));
    return it == sizes.end() ? std::nullopt : std::optional<int64_t>(it->second);
  };
  int64_t elements = 0;
  for (const Value* input : module.main()->inputs()) {
    if (!input->type().is_tensor()) continue;
    elements += Evaluate(input->type().numel(), size_of).value_or(0);
    if (elements > kMaxElements) return false;
  }
  const auto cost = CostOf(*module.main(), sizes);
  return !cost.ok() || cost->flops <= kMaxFlops;
}

bool AreSmall(const std::vector<HostTensor>& inputs) {
  int64_t elements = 0;
  for (const HostTensor& input : inputs) elements += input.numel();
  return elements <= kMaxElements;
}

}  // namespace

absl::StatusOr<TestProgram> MakeCutProgram(Random& random, const std::string& folder) {
  ModelPool& pool = ModelPool::Of(folder);
  const Module* model = pool.Any(random);
  if (model == nullptr) return absl::NotFoundError("the model does not import");
  TestProgram program;
  WEFT_ASSIGN_OR_RETURN(program.module, Cut(*model, random));
  const bool symbols = random.OneIn(3);
  const bool join = random.OneIn(3);
  if (symbols || join || random.OneIn(3)) {
    Rebuilder rebuilder(random, symbols);
    absl::Status status = rebuilder.Add(*program.module);
    if (status.ok() && join) {
      auto second = Cut(*model, random);
      status = second.ok() ? rebuilder.Add(**second) : second.status();
    }
    // Attributes may hold the old sizes.
    if (!status.ok()) return status;
    program.module = rebuilder.Finish();
  }
  if (!IsSmall(*program.module)) return absl::NotFoundError("too large");
  SeedOptions seeds;
  seeds.seed = random.Next();
  using Values = SeedOptions::Values;
  seeds.values = random.OneIn(4) ? Values::kWide : Values::kPlain;
  program.edge_values = random.OneIn(4);
  WEFT_ASSIGN_OR_RETURN(program.inputs, MakeSeededInputs(*program.module->main(), seeds));
  if (!AreSmall(program.inputs)) return absl::NotFoundError("too large");
  if (program.edge_values && !MayHideScores(*program.module->main())) {
    AddNans(*program.module->main(), random, &program.inputs);
  }
  return program;
}

}  // namespace weft::trust
