#include "passes/train_batch_norm.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "passes/engine/rewrite/rewriter.h"

namespace weft {
namespace {

constexpr int kMean = 3;
constexpr int kVar = 4;

// The write-backs of a function with the values that they write.
struct WriteBack {
  int input = 0;
  Value* value = nullptr;
  std::string name;  // Of the output; empty where outputs have no names.
};

std::vector<WriteBack> WriteBacksOf(const Graph& graph) {
  std::vector<WriteBack> writes;
  const int own = graph.num_own_outputs();
  for (size_t k = 0; k < graph.write_backs().size(); ++k) {
    const int output = own + static_cast<int>(k);
    const bool named = !graph.output_names().empty();
    writes.push_back({graph.write_backs()[k], graph.output(output),
                      named ? graph.output_names()[output] : std::string()});
  }
  return writes;
}

// They are listed by input.
void SetWriteBacks(std::vector<WriteBack> writes, Graph& graph) {
  std::sort(writes.begin(), writes.end(),
            [](const WriteBack& a, const WriteBack& b) { return a.input < b.input; });
  const int own = graph.num_own_outputs();
  std::vector<Value*> outputs = graph.outputs();
  outputs.resize(own);
  std::vector<std::string> names = graph.output_names();
  if (!names.empty()) names.resize(own);
  std::vector<int> inputs;
  for (WriteBack& write : writes) {
    outputs.push_back(write.value);
    inputs.push_back(write.input);
    if (!names.empty()) names.push_back(std::move(write.name));
  }
  graph.SetWriteBacks({});
  graph.SetOutputs(outputs);
  graph.SetWriteBacks(std::move(inputs));
  graph.output_names() = std::move(names);
}

// --- Forward -------------------------------------------------------------------------

class Trainer {
 public:
  Trainer(Graph& graph, double momentum, PassContext& context)
      : graph_(graph), momentum_(momentum), context_(context), rewriter_(&graph) {
    for (const WriteBack& write : WriteBacksOf(graph)) taken_.insert(graph.input(write.input));
  }

  absl::Status Run() {
    for (Node* node : graph_.nodes()) {
      if (node->Is(ops::batch_norm)) WEFT_RETURN_IF_ERROR(Visit(node));
    }
    if (changed_.empty()) return absl::OkStatus();
    return Write();
  }

 private:
  struct Changed {
    Node* norm = nullptr;
    Value* mean = nullptr;  // The running ones.
    Value* var = nullptr;
  };

  bool CanTrain(const Node& node) {
    const Type x = node.operand(0)->type();
    for (int i = 1; i < node.num_operands(); ++i) {
      if (node.operand(i)->type().dtype() != x.dtype()) return false;
    }
    if (DTypeBits(x.dtype()) < 32) return false;
    const Value *mean = node.operand(kMean), *var = node.operand(kVar);
    return mean->node() == nullptr && var->node() == nullptr && mean != var &&
           taken_.insert(mean).second && taken_.insert(var).second;
  }

  absl::Status Visit(Node* node) {
    if (!CanTrain(*node) ||
        !context_.StartRewrite({NumericContract::kApproximate, "train-batch-norm", ""})) {
      return absl::OkStatus();
    }
    const ops::BatchNormView norm(*node);
    Value *running_mean = norm.running_mean(), *running_var = norm.running_var();
    rewriter_.Begin(node, "train-batch-norm", context_.num_rewrites());
    Value* x = norm.input();
    std::vector<int64_t> dims;
    std::vector<SymInt> size(x->type().rank(), SymInt(1));
    size[1] = x->type().dim(1);
    for (int d = 0; d < x->type().rank(); ++d) {
      if (d != 1) dims.push_back(d);
    }
    Value* mean = ops::BuildMean(rewriter_, x, dims);
    Value* around = rewriter_.Op(ops::reshape, {mean}, {{"size", size}});
    Value* centred = rewriter_.Op(ops::sub, {x, around});
    Value* var = ops::BuildMean(rewriter_, rewriter_.Op(ops::mul, {centred, centred}), dims);
    Value* made = rewriter_.Op(ops::batch_norm, {x, norm.weight(), norm.bias(), mean, var},
                               {{"eps", norm.eps()}});
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    WEFT_RETURN_IF_ERROR(rewriter_.ReplaceRoot({&made, 1}));
    changed_.push_back({made->node(), running_mean, running_var});
    context_.Count("norms");
    return absl::OkStatus();
  }

  absl::Status Write() {
    std::vector<WriteBack> writes = WriteBacksOf(graph_);
    Builder b(&graph_);
    for (const Changed& changed : changed_) {
      b.set_provenance(changed.norm->provenance());
      Value* var = changed.norm->operand(kVar);
      Value* unbiased = b.Op(ops::mul, {var, OverOneLess(b, *changed.norm)});
      Add(b, changed.mean, changed.norm->operand(kMean), &writes);
      Add(b, changed.var, unbiased, &writes);
    }
    WEFT_RETURN_IF_ERROR(b.status());
    SetWriteBacks(std::move(writes), graph_);
    return absl::OkStatus();
  }

  // n / (n - 1) for the elements of a channel.
  static Value* OverOneLess(Builder& b, const Node& norm) {
    const Type x = norm.operand(0)->type();
    SymInt count = 1;
    for (int d = 0; d < x.rank(); ++d) {
      if (d != 1) count = count * x.dim(d);
    }
    const auto number = [&](const SymInt& v) {
      return b.Op(ops::convert, {ops::BuildSymConstant(b, {&v, 1}, {})}, {{"dtype", x.dtype()}});
    };
    return b.Op(ops::div, {number(count), number(count - 1)});
  }

  void Add(Builder& b, Value* running, Value* now, std::vector<WriteBack>* writes) const {
    const DType dtype = running->type().dtype();
    Value* old = b.Op(ops::mul, {running, b.Scalar(dtype, 1 - momentum_)});
    Value* added = b.Op(ops::mul, {now, b.Scalar(dtype, momentum_)});
    const int input = running->index();
    writes->push_back({input, b.Op(ops::add, {old, added}), graph_.input_info(input).name});
  }

  Graph& graph_;
  const double momentum_;
  PassContext& context_;
  Rewriter rewriter_;
  absl::flat_hash_set<const Value*> taken_;
  std::vector<Changed> changed_;
};

// --- Inverse -------------------------------------------------------------------------

// The values that are scaled and added to a running one, or to what is written for it: the mean,
// or the variance behind one more factor.
std::vector<const Value*> SourcesOf(const Value* written) {
  std::vector<const Value*> sources = {written};
  for (size_t i = 0; i < sources.size() && sources.size() < 8; ++i) {
    const Node* node = sources[i]->node();
    if (node == nullptr || (!node->Is(ops::add) && !node->Is(ops::mul))) continue;
    for (int k = 0; k < 2; ++k) sources.push_back(node->operand(k));
  }
  return sources;
}

class Inverter {
  // The statistics of one value for several running ones, which nothing tells apart.
  static constexpr size_t kSeveral = ~size_t{0};

 public:
  Inverter(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), rewriter_(&graph), writes_(WriteBacksOf(graph)) {
    for (size_t k = 0; k < writes_.size(); ++k) {
      for (const Value* source : SourcesOf(writes_[k].value)) {
        if (!source->IsResultOf(ops::mean)) continue;
        const auto [it, is_new] = written_.try_emplace(source, k);
        if (!is_new) it->second = kSeveral;
      }
    }
  }

  absl::Status Run() {
    for (Node* node : graph_.nodes()) {
      if (node->Is(ops::batch_norm)) WEFT_RETURN_IF_ERROR(Visit(node));
    }
    if (dropped_.empty()) return absl::OkStatus();
    std::vector<WriteBack> kept;
    for (size_t k = 0; k < writes_.size(); ++k) {
      if (!dropped_.contains(k)) kept.push_back(writes_[k]);
    }
    SetWriteBacks(std::move(kept), graph_);
    return absl::OkStatus();
  }

 private:
  absl::Status Visit(Node* node) {
    const ops::BatchNormView norm(*node);
    const auto mean = written_.find(norm.running_mean());
    const auto var = written_.find(norm.running_var());
    if (mean == written_.end() || var == written_.end() || mean->second == kSeveral ||
        var->second == kSeveral ||
        !context_.StartRewrite({NumericContract::kApproximate, "train-batch-norm", ""})) {
      return absl::OkStatus();
    }
    const size_t of_mean = mean->second, of_var = var->second;
    rewriter_.Begin(node, "train-batch-norm", context_.num_rewrites());
    Value* made =
        rewriter_.Op(ops::batch_norm,
                     {norm.input(), norm.weight(), norm.bias(),
                      graph_.input(writes_[of_mean].input), graph_.input(writes_[of_var].input)},
                     {{"eps", norm.eps()}});
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    WEFT_RETURN_IF_ERROR(rewriter_.ReplaceRoot({&made, 1}));
    dropped_.insert(of_mean);
    dropped_.insert(of_var);
    context_.Count("norms");
    return absl::OkStatus();
  }

  Graph& graph_;
  PassContext& context_;
  Rewriter rewriter_;
  const std::vector<WriteBack> writes_;
  absl::flat_hash_map<const Value*, size_t> written_;
  absl::flat_hash_set<size_t> dropped_;
};

class TrainBatchNormPass : public Pass {
 public:
  explicit TrainBatchNormPass(const TrainBatchNormOptions& options) : options_(options) {}
  absl::string_view name() const override { return "train_batch_norm"; }
  absl::string_view doc() const override {
    return "Batch norms take the statistics of batches, and running ones follow: for training.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("momentum", &options_.momentum, "the share of a batch in running statistics");
    visitor.Visit("inverse", &options_.inverse, "back to the running statistics");
  }
  NumericContract max_contract() const override { return NumericContract::kApproximate; }
  // Results are others, on purpose.
  bool ChangesInputs() const override { return true; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (const auto& graph : module.functions()) {
      WEFT_RETURN_IF_ERROR(options_.inverse ? Inverter(*graph, context).Run()
                                            : Trainer(*graph, options_.momentum, context).Run());
    }
    return absl::OkStatus();
  }

 private:
  TrainBatchNormOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateTrainBatchNormPass(const TrainBatchNormOptions& options) {
  return std::make_unique<TrainBatchNormPass>(options);
}

std::unique_ptr<Pass> CreateTrainBatchNormPass() { return CreateTrainBatchNormPass({}); }

}  // namespace weft
