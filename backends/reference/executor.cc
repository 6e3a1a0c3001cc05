#include "backends/reference/executor.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/reference/memory.h"
#include "backends/reference/node_profile.h"
#include "backends/runtime/run_input.h"
#include "backends/runtime/symbol_env.h"
#include "base/annotate.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/guards.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_eval.h"
#include "graph/ir/provenance.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/region.h"
#include "profiler/record.h"

namespace weft::reference {
namespace {

std::string Describe(const Node& node) {
  const auto names = node.graph()->module().provenance().Names(node.provenance(), /*limit=*/3);
  return absl::StrCat(
      "node ", node.id(), " (", node.op().name(),
      names.empty() ? "" : absl::StrCat(" from \"", absl::StrJoin(names, "\", \""), "\""), ")");
}

// True if a nested graph at any depth writes an operand.
bool NestedGraphsWrite(const Graph& graph) {
  std::vector<const Graph*> graphs = {&graph};
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i]->num_region_nodes() == 0) continue;
    for (const Node* node : graphs[i]->nodes()) {
      for (int r = 0; r < node->num_regions(); ++r) {
        graphs.push_back(node->region(r));
        if (graphs.back()->num_write_nodes() > 0) return true;
      }
    }
  }
  return false;
}

// One run of one graph; nested graphs get frames of their own.
class Frame {
 public:
  // `region_runs` counts the runs of nested graphs.
  Frame(const Graph& graph, SymbolEnv env, const RunOptions& options, int64_t* region_runs)
      : graph_(graph), env_(std::move(env)), options_(options), region_runs_(region_runs) {}

  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs) {
    values_.resize(graph_.value_id_limit());
    uses_left_.resize(graph_.value_id_limit());
    if (graph_.num_write_nodes() > 0 || NestedGraphsWrite(graph_)) memory_.emplace(graph_);
    WEFT_RETURN_IF_ERROR(BindInputs(inputs));
    CountUses();
    for (const Node* node : graph_.nodes()) {
      const absl::Status status = CatchOutOfMemory([&] { return RunNode(*node); });
      if (!status.ok()) return Annotate(status, Describe(*node));
      ReleaseOperands(*node);
    }
    std::vector<HostTensor> outputs;
    for (int i = 0; i < graph_.num_outputs(); ++i) {
      WEFT_ASSIGN_OR_RETURN(HostTensor output, Get(graph_.output(i)));
      outputs.push_back(std::move(output));
    }
    if (options_.written != nullptr) *options_.written = Written(outputs);
    return outputs;
  }

  // Evaluates the node alone.
  absl::StatusOr<std::vector<HostTensor>> EvaluateNode(const Node& node, const AttrList* attrs,
                                                       std::vector<HostTensor> operands) {
    if (node.Is(ops::constant)) return std::vector<HostTensor>{*LiteralOf(node.result())};
    if (attrs->is_symbolic()) {
      return absl::InternalError("a symbol in an attribute has no value");
    }
    if (options_.edit_operands) options_.edit_operands(node, &operands);
    auto results = node.op().has(kControlFlow) ? EvalControlFlow(node, attrs, operands)
                                               : Evaluate(node.op(), attrs, operands, NoRegions);
    if (results.ok() && options_.edit_results) options_.edit_results(node, &*results);
    return results;
  }
  const AttrList* AttrsOf(const Node& node) const {
    return node.attr_list()->Substitute([this](SymInt s) { return env_.Replacement(s); });
  }

 private:
  absl::Status BindInputs(absl::Span<const HostTensor> inputs) {
    if (static_cast<int>(inputs.size()) != graph_.num_inputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "@", graph_.name(), " takes ", graph_.num_inputs(), " inputs, got ", inputs.size()));
    }
    for (int i = 0; i < graph_.num_inputs(); ++i) {
      const InputInfo& info = graph_.input_info(i);
      const std::string where = absl::StrCat("input ", i, " (", info.name, ")");
      if (!inputs[i].valid()) {
        return absl::InvalidArgumentError(absl::StrCat(where, " is missing"));
      }
      absl::Status status = env_.Unify(graph_.input(i)->type(), inputs[i]);
      // An unused input may have any shape.
      const bool read = graph_.input(i)->has_uses() || info.value >= 0;
      if (!status.ok() && read) return Annotate(status, where);
      if (info.value >= 0 &&
          !inputs[i].Contiguous().BitEqual(graph_.module().constants().tensor(info.value))) {
        return absl::InvalidArgumentError(
            absl::StrCat(where, " differs from the value that the program was made for"));
      }
      Set(graph_.input(i), inputs[i]);
    }
    const bool nested = graph_.module().FindFunction(graph_.name()) != &graph_;
    return nested ? absl::OkStatus() : env_.CheckConditions();
  }

  void Set(const Value* value, HostTensor tensor) {
    if (memory_) return memory_->Define(value, std::move(tensor));
    values_[value->id()] = std::move(tensor);
  }
  absl::StatusOr<HostTensor> Get(const Value* value) const {
    if (memory_) return memory_->Read(value);
    return values_[value->id()];
  }
  void Drop(const Value* value) {
    // Inputs stay, because Written() reads them at the end.
    if (memory_ && !value->is_input()) memory_->Drop(value);
    values_[value->id()] = HostTensor();
  }

  // By input: the value after writes by nodes, and after the write-backs.
  std::vector<HostTensor> Written(const std::vector<HostTensor>& outputs) {
    std::vector<HostTensor> written(graph_.num_inputs());
    for (int i = 0; memory_ && i < graph_.num_inputs(); ++i) {
      written[i] = memory_->Written(graph_.input(i));
    }
    const int own = graph_.num_own_outputs();
    for (size_t k = 0; k < graph_.write_backs().size(); ++k) {
      written[graph_.write_backs()[k]] = outputs[own + k];
    }
    return written;
  }

  void CountUses() {
    const auto count = [this](const Node& node) {
      for (int i = 0; i < node.num_operands(); ++i) {
        if (node.has_operand(i)) ++uses_left_[node.operand(i)->id()];
      }
    };
    for (const Node* node : graph_.nodes()) count(*node);
    count(*graph_.return_node());
  }

  // Drops tensors after their last use; results without uses at once.
  void ReleaseOperands(const Node& node) {
    for (int i = 0; i < node.num_operands(); ++i) {
      if (!node.has_operand(i)) continue;
      const uint32_t id = node.operand(i)->id();
      if (--uses_left_[id] == 0) Drop(node.operand(i));
    }
    for (int i = 0; i < node.num_results(); ++i) {
      const Value* result = node.result(i);
      if (uses_left_[result->id()] == 0) Drop(result);
    }
  }

  absl::Status RunNode(const Node& node) {
    if (node.Is(ops::constant)) {
      Set(node.result(), *LiteralOf(node.result()));
      return absl::OkStatus();
    }
    std::vector<HostTensor> operands(node.num_operands());
    for (int i = 0; i < node.num_operands(); ++i) {
      if (!node.has_operand(i)) continue;
      WEFT_ASSIGN_OR_RETURN(operands[i], Get(node.operand(i)));
    }
    profiler::NameId name = 0;
    profiler::DescriptionId description = 0;
    if (profiler::IsRecording(profiler::Activity::kCpuOp)) {
      name = profiler::InternName(node.op().name());
      description = DescribeForProfile(node, operands, env_);
    }
    const profiler::Scope scope(profiler::Activity::kCpuOp, name, description);
    const AttrList* attrs = AttrsOf(node);
    WEFT_ASSIGN_OR_RETURN(auto results, EvaluateNode(node, attrs, std::move(operands)));
    if (options_.on_node) options_.on_node(node, results);
    return KeepResults(node, attrs, std::move(results));
  }

  static absl::Status NoRegions(int, absl::Span<const HostTensor>, std::vector<HostTensor>*) {
    return absl::InternalError("the op has no nested graphs");
  }

  absl::StatusOr<std::vector<HostTensor>> EvalControlFlow(const Node& node, const AttrList* attrs,
                                                          absl::Span<const HostTensor> operands) {
    const auto replace = [this](SymInt s) { return env_.Replacement(s); };
    Types types;
    for (int i = 0; i < node.num_results(); ++i) {
      types.push_back(node.result(i)->type().Substitute(replace));
    }
    const auto run_region = [&](int region, absl::Span<const HostTensor> inputs,
                                std::vector<HostTensor>* outputs) {
      if (options_.run_region) return options_.run_region(node, region, inputs, outputs);
      if (*region_runs_ == options_.max_region_runs) {
        return absl::ResourceExhaustedError(
            absl::StrCat("more than ", *region_runs_, " runs of nested graphs"));
      }
      ++*region_runs_;
      RunOptions inner;
      inner.max_region_runs = options_.max_region_runs;
      inner.edit_operands = options_.edit_operands;
      inner.edit_results = options_.edit_results;
      std::vector<HostTensor> now(inputs.begin(), inputs.end());
      std::vector<HostTensor> written;
      if (memory_) {
        inner.written = &written;
        WEFT_RETURN_IF_ERROR(ReadCaptured(node, &now));
      }
      WEFT_ASSIGN_OR_RETURN(*outputs,
                            Frame(*node.region(region), env_, inner, region_runs_).Run(now));
      return memory_ ? WriteOperands(node, written) : absl::OkStatus();
    };
    EvalContext context(node.op(), attrs, operands, std::move(types), run_region);
    WEFT_RETURN_IF_ERROR(node.op().eval()(context));
    return context.TakeOutputs();
  }

  // Earlier runs may have written the values that nested graphs of `node` capture.
  absl::Status ReadCaptured(const Node& node, std::vector<HostTensor>* inputs) const {
    for (size_t input = 0; input < inputs->size(); ++input) {
      const int i = ops::CapturedOperand(node, static_cast<int>(input));
      if (i < 0) continue;
      WEFT_ASSIGN_OR_RETURN((*inputs)[input], Get(node.operand(i)));
    }
    return absl::OkStatus();
  }

  // Stores the values that a nested graph of `node` wrote to its inputs.
  absl::Status WriteOperands(const Node& node, const std::vector<HostTensor>& written) {
    for (size_t input = 0; input < written.size(); ++input) {
      if (!written[input].valid()) continue;
      const int i = ops::CapturedOperand(node, static_cast<int>(input));
      if (i < 0) {
        return absl::UnimplementedError(absl::StrCat("a nested graph writes its input ", input,
                                                     ", which is not captured memory"));
      }
      for (int j = ops::FirstOperandSeen(node); j < node.num_operands(); ++j) {
        if (i == j || !memory_->Share(node.operand(i), node.operand(j))) {
          continue;
        }
        return absl::UnimplementedError(
            absl::StrCat("operand ", i, " is written, and operand ", j, " shares its memory"));
      }
      WEFT_RETURN_IF_ERROR(memory_->Write(node.operand(i), written[input]));
    }
    return absl::OkStatus();
  }

  // Stores a result; in graphs with writes it may be a place in another value's memory.
  absl::Status Keep(const Value* value, const AttrList* attrs, HostTensor tensor) {
    if (!memory_) {
      Set(value, std::move(tensor));
      return absl::OkStatus();
    }
    if (const Value* viewed = ViewedBy(value)) {
      return memory_->DefineView(value, viewed, attrs);
    }
    const Value* written = WrittenAs(value);
    if (written == nullptr) {
      Set(value, std::move(tensor));
      return absl::OkStatus();
    }
    memory_->DefineAlias(value, written);
    return memory_->Write(written, tensor);
  }

  absl::Status KeepResults(const Node& node, const AttrList* attrs,
                           std::vector<HostTensor> results) {
    if (static_cast<int>(results.size()) != node.num_results()) {
      return absl::InternalError(
          absl::StrCat("gave ", results.size(), " results instead of ", node.num_results()));
    }
    for (int i = 0; i < node.num_results(); ++i) {
      const Value* value = node.result(i);
      if (!results[i].valid()) {
        return absl::InternalError(absl::StrCat("result ", i, " is missing"));
      }
      absl::Status status = env_.Unify(value->type(), results[i]);
      if (!status.ok()) {
        const std::string message =
            absl::StrCat("result ", i, " contradicts its type: ", status.message());
        // A data-dependent result may break a runtime assert.
        if (node.op().has(kDataDependent)) return absl::InvalidArgumentError(message);
        return absl::InternalError(message);
      }
      WEFT_RETURN_IF_ERROR(Keep(value, attrs, std::move(results[i])));
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  SymbolEnv env_;
  const RunOptions& options_;
  int64_t* region_runs_;
  std::vector<HostTensor> values_;
  std::optional<Memory> memory_;  // Replaces values_ in graphs with writes.
  std::vector<int> uses_left_;
};

}  // namespace

absl::StatusOr<std::vector<HostTensor>> Run(const Graph& graph, absl::Span<const HostTensor> inputs,
                                            const RunOptions& options) {
  int64_t region_runs = 0;
  return CatchOutOfMemory([&] {
    return Frame(graph, SymbolEnv(graph.module().symbols(), [&graph] { return SourcesOf(graph); }),
                 options, &region_runs)
        .Run(inputs);
  });
}

absl::StatusOr<std::vector<HostTensor>> RunNode(const Node& node,
                                                absl::Span<const HostTensor> operands,
                                                const SymbolEnv& env, const RunOptions& options) {
  int64_t region_runs = 0;
  Frame frame(*node.graph(), env, options, &region_runs);
  return frame.EvaluateNode(node, frame.AttrsOf(node), {operands.begin(), operands.end()});
}

}  // namespace weft::reference
