// One sweep per graph; after a replacement the sweep goes on at the first node
// that was made, so that decompositions are decomposed as well. Nested graphs
// are worked on one by one; decompositions that bring nested graphs are met
// through the list of graphs, which grows.
#include "passes/decompose.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "passes/decompose/selection.h"
#include "passes/engine/rewrite/rewriter.h"

namespace weft {
namespace {

// Nodes that the decomposition of one node may lead to, over all levels.
constexpr int64_t kMaxNodes = 1 << 20;

class Decomposer {
 public:
  Decomposer(PassContext& context, DecomposeSelection selection)
      : context_(context), selection_(std::move(selection)) {}

  absl::Status Run(Graph& graph, std::vector<Graph*>* graphs) {
    Rewriter rewriter(&graph);
    Node* next = nullptr;
    const Node* end_of_expansion = nullptr;
    int64_t expanded = 0;
    for (Node* node = graph.first_node(); node != graph.return_node(); node = next) {
      next = node->next();
      if (node == end_of_expansion) end_of_expansion = nullptr;
      if (end_of_expansion == nullptr) expanded = 0;
      if (!node->op().is_composite() || Stays(*node)) {
        for (int i = 0; i < node->num_regions(); ++i) {
          graphs->push_back(node->region(i));
        }
        continue;
      }
      const std::string name(node->op().name());
      const int64_t before = graph.num_nodes();
      WEFT_ASSIGN_OR_RETURN(bool done, Decompose(*node, rewriter));
      if (!done) continue;
      if (end_of_expansion == nullptr) end_of_expansion = next;
      expanded += std::max<int64_t>(graph.num_nodes() - before, 0) + 1;
      if (expanded > kMaxNodes) {
        return absl::InternalError(absl::StrCat("the decomposition of ", name, " does not end"));
      }
      for (Node* made : rewriter.created()) {
        if (made == nullptr) continue;
        next = made;
        break;
      }
    }
    return absl::OkStatus();
  }

 private:
  bool Stays(const Node& node) {
    const absl::string_view reason = selection_.Stays(node);
    if (reason.empty()) return false;
    context_.Count(reason);
    if (context_.wants_remarks()) {
      Missed(node, selection_.WhyStays(node));
    }
    return true;
  }

  absl::StatusOr<bool> Decompose(Node& node, Rewriter& rewriter) {
    const OpDef& op = node.op();
    const NumericContract contract = op.decompose_contract();
    if (!context_.StartRewrite({contract, op.name()})) return false;
    rewriter.Begin(&node, op.name(), context_.num_rewrites());
    std::vector<Value*> values = rewriter.Decompose(node);
    absl::Status status = rewriter.status();
    if (status.ok()) status = rewriter.ReplaceRoot(values);
    if (status.ok()) {
      context_.Count("decomposed");
      context_.Count(absl::StrCat("decomposed.", op.name()));
      return true;
    }
    rewriter.Abandon();
    if (status.code() == absl::StatusCode::kInternal) return status;
    context_.Count("refused");
    if (context_.wants_remarks()) Missed(node, status.message());
    return false;
  }

  void Missed(const Node& node, absl::string_view reason) {
    Remark remark = RemarkOn(node, RemarkKind::kMissed, reason);
    remark.contract = std::string(NumericContractName(node.op().decompose_contract()));
    context_.AddRemark(std::move(remark));
  }

  PassContext& context_;
  const DecomposeSelection selection_;
};

class DecomposePass : public Pass {
 public:
  explicit DecomposePass(const DecomposeOptions& options) : options_(options) {}
  absl::string_view name() const override { return "decompose"; }
  absl::string_view doc() const override {
    return "Replaces composite ops by their decompositions.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("all", &options_.all, "those that the target claims as well");
    visitor.Visit("ops", &options_.ops, "the only composite ops to decompose; empty: every one");
    visitor.Visit("keep", &options_.keep, "composite ops to keep");
  }
  // Ops out of tree may have any.
  NumericContract max_contract() const override { return NumericContract::kApproximate; }
  absl::Status Run(Module& module, PassContext& context) override {
    WEFT_ASSIGN_OR_RETURN(DecomposeSelection selection,
                          DecomposeSelection::Make(options_, module.registry(), context));
    Decomposer decomposer(context, std::move(selection));
    std::vector<Graph*> graphs;
    for (const auto& function : module.functions()) {
      graphs.push_back(function.get());
    }
    for (size_t i = 0; i < graphs.size(); ++i) {
      WEFT_RETURN_IF_ERROR(decomposer.Run(*graphs[i], &graphs));
    }
    return absl::OkStatus();
  }

 private:
  DecomposeOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateDecomposePass(const DecomposeOptions& options) {
  return std::make_unique<DecomposePass>(options);
}

std::unique_ptr<Pass> CreateDecomposePass() { return CreateDecomposePass({}); }

}  // namespace weft
