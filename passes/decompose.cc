// One sweep per graph; after a replacement the sweep goes on at the first node
// that was made, so that decompositions are decomposed as well. Nested graphs
// are worked on one by one; decompositions that bring nested graphs are met
// through the list of graphs, which grows.
#include "passes/decompose.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "passes/registry.h"
#include "passes/rewrite/rewriter.h"

namespace weft {
namespace {

// Nodes that the decomposition of one node may lead to, over all levels.
constexpr int64_t kMaxNodes = 1 << 20;

class Decomposer {
 public:
  Decomposer(PassContext& context, absl::flat_hash_set<const OpDef*> kept)
      : context_(context), kept_(std::move(kept)) {}

  absl::Status Run(Graph& graph, std::vector<Graph*>* graphs) {
    Rewriter rewriter(&graph);
    Node* next = nullptr;
    const Node* end_of_expansion = nullptr;
    int64_t expanded = 0;
    for (Node* node = graph.first_node(); node != graph.return_node();
         node = next) {
      next = node->next();
      if (node == end_of_expansion) end_of_expansion = nullptr;
      if (end_of_expansion == nullptr) expanded = 0;
      if (!node->op().is_composite() || kept_.contains(&node->op())) {
        for (int i = 0; i < node->num_regions(); ++i) {
          graphs->push_back(node->region(i));
        }
        continue;
      }
      const std::string name(node->op().name());
      const int64_t before = graph.num_nodes();
      absl::StatusOr<bool> done = Decompose(*node, rewriter);
      if (!done.ok()) return done.status();
      if (!*done) continue;
      if (end_of_expansion == nullptr) end_of_expansion = next;
      expanded += std::max<int64_t>(graph.num_nodes() - before, 0) + 1;
      if (expanded > kMaxNodes) {
        return absl::InternalError(absl::StrCat(
            "the decomposition of ", name, " does not end"));
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
  absl::StatusOr<bool> Decompose(Node& node, Rewriter& rewriter) {
    if (!context_.StartRewrite({NumericContract::kReassociating})) return false;
    rewriter.Begin(&node);
    std::vector<Value*> values = rewriter.Decompose(node);
    absl::Status status = rewriter.status();
    if (status.ok()) status = rewriter.ReplaceRoot(values);
    if (status.ok()) {
      context_.Count("decomposed");
      return true;
    }
    rewriter.Abandon();
    if (status.code() == absl::StatusCode::kInternal) return status;
    context_.Count("refused");
    if (context_.wants_remarks()) {
      context_.AddRemark(
          RemarkOn(node, RemarkKind::kMissed, status.message()));
    }
    return false;
  }

  PassContext& context_;
  absl::flat_hash_set<const OpDef*> kept_;
};

class DecomposePass : public Pass {
 public:
  explicit DecomposePass(const DecomposeOptions& options)
      : options_(options) {}
  absl::string_view name() const override { return "decompose"; }
  absl::string_view doc() const override {
    return "Replaces composite ops by their decompositions.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("keep", &options_.keep, "composite ops to keep");
  }
  absl::Status Run(Module& module, PassContext& context) override {
    absl::flat_hash_set<const OpDef*> kept(context.target().claims.begin(),
                                           context.target().claims.end());
    for (const std::string& name : options_.keep) {
      const OpDef* op = module.registry().Find(name);
      if (op == nullptr) return UnknownOp(module, name);
      kept.insert(op);
    }
    Decomposer decomposer(context, std::move(kept));
    std::vector<Graph*> graphs;
    for (const auto& function : module.functions()) {
      graphs.push_back(function.get());
    }
    for (size_t i = 0; i < graphs.size(); ++i) {
      absl::Status status = decomposer.Run(*graphs[i], &graphs);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status UnknownOp(const Module& module, const std::string& name) {
    std::vector<std::string> names;
    for (const OpDef* op : module.registry().All()) {
      if (op->is_composite()) names.emplace_back(op->name());
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "keep: no op is called \"", name, "\"", DidYouMean(name, names)));
  }

  DecomposeOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateDecomposePass(const DecomposeOptions& options) {
  return std::make_unique<DecomposePass>(options);
}

std::unique_ptr<Pass> CreateDecomposePass() { return CreateDecomposePass({}); }

}  // namespace weft
