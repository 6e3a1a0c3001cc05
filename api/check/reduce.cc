#include "api/check/reduce.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "api/check/reduce_edits.h"
#include "api/check/region.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/tensor/tensor.h"
#include "graph/verify/verifier.h"

namespace weft {
namespace {

using reduce::Candidate;

// Steps that try every node, or every pair of inputs, are skipped for larger graphs.
constexpr int64_t kSmallGraph = 400;
constexpr int kFewInputs = 16;

class Reducer {
 public:
  Reducer(const Module& module, const ModulePredicate& holds, const ReduceOptions& options)
      : holds_(holds), options_(options), current_(module.Clone()) {}

  bool HoldsAtFirst() {
    ++tests_;
    return holds_(*current_);
  }

  void Run() {
    step_ = "functions";
    if (!Try(reduce::KeepFunction(graph()))) {
      for (size_t i = 0; i < current_->functions().size(); ++i) {
        if (Try(reduce::KeepFunction(*current_->functions()[i]))) break;
      }
    }
    if (current_->functions().size() != 1) return;  // There must be several functions.
    bool changed = true;
    while (changed && !exhausted()) {
      changed = false;
      changed |= CutAfter();
      changed |= DropOutputs();
      changed |= CutBefore();
      changed |= RunsToInputs();
      changed |= SimplifyNodes();
      changed |= MergeInputs();
      changed |= ShrinkSizes();
      changed |= PlainConstants();
    }
  }

  bool exhausted() const { return tests_ >= options_.max_tests; }
  int64_t tests() const { return tests_; }
  Candidate Take() { return std::move(current_); }

 private:
  const Graph& graph() const {
    const Graph* main = current_->main();
    return main != nullptr ? *main : *current_->functions()[0];
  }
  int64_t size() const { return graph().num_nodes(); }

  bool Holds(const Candidate& candidate) {
    if (candidate == nullptr || exhausted()) return false;
    if (!seen_.insert(absl::HashOf(TextKey(*candidate))).second) return false;
    if (!Verify(*candidate).ok()) return false;
    ++tests_;
    return holds_(*candidate);
  }

  void Accept(Candidate candidate) {
    current_ = std::move(candidate);
    if (options_.progress) options_.progress({step_, current_->num_nodes(), tests_});
  }

  bool Try(Candidate candidate) {
    if (!Holds(candidate)) return false;
    Accept(std::move(candidate));
    return true;
  }

  // Keeps the first nodes that satisfy the predicate; values that later nodes use become outputs.
  bool CutAfter() {
    step_ = "cut after";
    Candidate best;
    for (int64_t low = 0, high = size() - 1; low < high;) {
      const int64_t middle = low + (high - low) / 2;
      Candidate candidate = reduce::CutAfter(graph(), middle);
      if (Holds(candidate)) {
        best = std::move(candidate);
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (best == nullptr) return false;
    Accept(std::move(best));
    return true;
  }

  // Turns the longest possible prefix of nodes into inputs.
  bool CutBefore() {
    step_ = "cut before";
    Candidate best;
    for (int64_t low = 0, high = size(); low + 1 < high;) {
      const int64_t middle = low + (high - low) / 2;
      Candidate candidate = reduce::CutBefore(graph(), middle);
      if (Holds(candidate)) {
        best = std::move(candidate);
        low = middle;
      } else {
        high = middle;
      }
    }
    if (best == nullptr) return false;
    Accept(std::move(best));
    return true;
  }

  bool DropOutputs() {
    step_ = "outputs";
    bool changed = false;
    for (int64_t run = graph().num_outputs() / 2; run >= 1; run /= 2) {
      for (int64_t first = 0; first < graph().num_outputs() && !exhausted();) {
        std::vector<const Value*> kept;
        for (int64_t i = 0; i < graph().num_outputs(); ++i) {
          if (i < first || i >= first + run) kept.push_back(graph().output(i));
        }
        if (Try(reduce::Keep(graph(), kept))) {
          changed = true;
        } else {
          first += run;
        }
      }
    }
    return changed;
  }

  // Turns runs of nodes into inputs, from the last to the first; their length is halved each time.
  bool RunsToInputs() {
    step_ = "nodes to inputs";
    bool changed = false;
    for (int64_t run = std::max<int64_t>(size() / 2, 1); run >= 1; run /= 2) {
      for (int64_t last = size(); last > 0 && !exhausted(); last = std::min(last - run, size())) {
        changed |= Try(reduce::NodesToInputs(graph(), std::max<int64_t>(last - run, 0), last));
      }
    }
    return changed;
  }

  bool SimplifyNodes() {
    step_ = "nodes";
    if (size() > kSmallGraph) return false;
    bool changed = false;
    for (int64_t i = size(); i-- > 0 && !exhausted();) {
      while (i < size() && SimplifyNode(i)) changed = true;
    }
    return changed;
  }

  bool SimplifyNode(int64_t i) {
    const Node* node = reduce::NodesOf(graph())[i];
    if (node->num_results() == 1 && graph().num_outputs() == 1 &&
        graph().output(0) != node->result() && Try(reduce::Keep(graph(), {node->result()}))) {
      return true;
    }
    const int operands = node->num_operands();
    const int regions = node->num_regions();
    for (int k = 0; k < operands; ++k) {
      if (Try(reduce::NodeToOperand(graph(), i, k))) return true;
    }
    for (int k = 0; k < regions; ++k) {
      if (Try(reduce::InlineRegion(graph(), i, k))) return true;
    }
    return Try(reduce::NodeToConstant(graph(), i, 1));
  }

  bool MergeInputs() {
    step_ = "inputs";
    bool changed = false;
    for (int i = std::min(graph().num_inputs(), kFewInputs) - 1; i > 0; --i) {
      for (int k = 0; k < i; ++k) {
        if (i < graph().num_inputs() && Try(reduce::MergeInputs(graph(), i, k))) {
          changed = true;
          break;
        }
      }
    }
    return changed;
  }

  bool ShrinkSizes() {
    step_ = "sizes";
    bool changed = false;
    for (SymInt from : reduce::SizesOf(graph())) {
      const bool number = from.is_constant();
      for (int64_t to : {int64_t{1}, int64_t{2}, number ? from.value() / 2 : int64_t{3}}) {
        if (number && to >= from.value()) continue;
        if (!Try(reduce::Resize(graph(), from, to))) continue;
        changed = true;
        break;
      }
    }
    return changed;
  }

  bool PlainConstants() {
    step_ = "constants";
    if (size() > kSmallGraph) return false;
    bool changed = false;
    for (int64_t i = 0; i < size(); ++i) {
      const HostTensor* literal = LiteralOf(reduce::NodesOf(graph())[i]->result());
      if (literal == nullptr || IsPlain(*literal)) continue;
      for (double number : {1.0, 0.0, 2.0}) {
        if (!Try(reduce::PlainConstant(graph(), i, number))) continue;
        changed = true;
        break;
      }
    }
    return changed;
  }

  static bool IsPlain(const HostTensor& literal) {
    if (literal.numel() <= 1 || IsComplex(literal.dtype())) return true;
    const std::vector<double> values = literal.ReadDoubles();
    return std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
  }

  const ModulePredicate& holds_;
  const ReduceOptions& options_;
  Candidate current_;
  absl::string_view step_;
  int64_t tests_ = 0;
  absl::flat_hash_set<size_t> seen_;  // Tested, or rejected by the verifier.
};

}  // namespace

absl::StatusOr<ReduceResult> Reduce(const Module& module, const ModulePredicate& holds,
                                    const ReduceOptions& options) {
  Reducer reducer(module, holds, options);
  if (module.functions().empty() || !reducer.HoldsAtFirst()) {
    return absl::InvalidArgumentError("the predicate does not hold for the whole module");
  }
  reducer.Run();
  ReduceResult result;
  result.nodes_before = module.num_nodes();
  result.tests = reducer.tests();
  result.exhausted = reducer.exhausted();
  result.module = reducer.Take();
  result.nodes_after = result.module->num_nodes();
  return result;
}

}  // namespace weft
