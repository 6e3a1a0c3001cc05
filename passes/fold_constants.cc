// One sweep per graph in topological order, so chains fold in one run. The limit of growth is
// relative to constants that were not made by folding, so a second run has the same limit and
// changes nothing.
#include "passes/fold_constants.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/rewrite/rewriter.h"

namespace weft {
namespace {

constexpr double kGrowthSlack = 1 << 20;

int ConstantId(const Node& node) {
  return static_cast<int>((*node.attr_list())[0].symints()[0].value());
}

// Bytes and elements of the results; false when a size is symbolic or too big
// for 64 bits.
bool ResultSize(const Node& node, int64_t* bytes, int64_t* numel) {
  *bytes = *numel = 0;
  for (int i = 0; i < node.num_results(); ++i) {
    const Type type = node.result(i)->type();
    if (!type.is_tensor()) return false;
    const SymInt n = type.numel();
    if (!n.is_constant() || n.value() > (int64_t{1} << 40)) return false;
    *bytes += DTypeBytes(type.dtype(), n.value());
    *numel += n.value();
  }
  return true;
}

// True for the transpose of a large weight that only matmuls read: they can read it through
// strides, so a copy would waste memory and time.
bool IsReadInPlace(const Node& node) {
  constexpr int64_t kLarge = 1 << 16;
  if (!node.Is(ops::permute) || node.result()->type().rank() != 2) return false;
  const HostTensor* literal = LiteralOf(node.operand(0));
  if (literal == nullptr || literal->bytes() <= kLarge) return false;
  for (Use* use = node.result()->first_use(); use != nullptr; use = use->next()) {
    if (!use->user()->Is(ops::matmul) || use->operand_index() != 1) return false;
  }
  return true;
}

// True for a conversion of a constant of 8-bit floats or narrower ones, with scales or without.
bool WidensFloats(const Node& node) {
  if (!node.Is(ops::convert) && !node.Is(ops::dequantize_linear)) return false;
  const DType from = node.operand(0)->type().dtype();
  const DType to = node.result()->type().dtype();
  constexpr int kNarrowBits = 8;
  return IsFloat(from) && IsFloat(to) && DTypeBits(from) <= kNarrowBits &&
         DTypeBits(to) > kNarrowBits;
}

bool AllUsesAreBy(const Value& value, const Node& user) {
  for (Use* use = value.first_use(); use != nullptr; use = use->next()) {
    if (use->user() != &user) return false;
  }
  return true;
}

// True if a constant is only cut into slices that concatenations put together again, as gates of
// recurrent layers are: in the end, nothing but the new order is left.
bool IsRearranged(const Value& constant, int64_t constant_bytes) {
  int64_t slices = 0;
  for (Use* use = constant.first_use(); use != nullptr; use = use->next()) {
    const Node& slice = *use->user();
    int64_t bytes = 0, numel = 0;
    if (!slice.Is(ops::slice) || !ResultSize(slice, &bytes, &numel)) return false;
    slices += bytes;
    if (slices > constant_bytes) return false;
    for (Use* part = slice.result()->first_use(); part != nullptr; part = part->next()) {
      if (!part->user()->Is(ops::cat)) return false;
    }
  }
  return true;
}

class Folder {
 public:
  Folder(Module& module, PassContext& context, const FoldConstantsOptions& options)
      : module_(module), context_(context), options_(options) {
    const ConstantStore& constants = module.constants();
    for (int i = 0; i < constants.size(); ++i) {
      if (!constants.derived(i)) original_bytes_ += constants.tensor(i).bytes();
    }
    for (Graph* graph : module.AllGraphs()) {
      for (Node* node : graph->nodes()) {
        if (node->Is(ops::constant)) ChangeUses(ConstantId(*node), 1);
      }
    }
    max_bytes_ = original_bytes_ * options.max_growth + kGrowthSlack;
  }

  absl::Status Run(Graph& graph) {
    Rewriter rewriter(&graph);
    for (Node* node : graph.nodes()) {
      if (!IsCandidate(*node)) continue;
      WEFT_RETURN_IF_ERROR(Fold(*node, rewriter));
    }
    return absl::OkStatus();
  }

 private:
  // Keeps the total of the bytes of distinct constants in use.
  void ChangeUses(int id, int by) {
    if (id >= static_cast<int>(uses_.size())) uses_.resize(id + 1);
    const bool was_used = uses_[id] != 0;
    uses_[id] += by;
    const int change = (uses_[id] != 0) - was_used;
    total_bytes_ += change * module_.constants().tensor(id).bytes();
  }

  static bool IsCandidate(const Node& node) {
    if (node.Is(ops::constant) || !node.op().is_mergeable() || node.num_regions() != 0 ||
        !node.has_uses() || node.attr_list()->is_symbolic()) {
      return false;
    }
    for (int i = 0; i < node.num_operands(); ++i) {
      const Value* v = node.operand(i);
      if (v != nullptr && !v->IsResultOf(ops::constant)) return false;
    }
    return !IsReadInPlace(node);
  }

  // The reason that the node is not folded, and the option that would allow it; empty if it is
  // folded.
  struct Objection {
    std::string reason;
    std::string option;
  };
  Objection ObjectionTo(const Node& node, int64_t* growth) {
    int64_t bytes = 0, numel = 0;
    if (!ResultSize(node, &bytes, &numel)) return {"its size is not constant", ""};
    int64_t dead = 0;
    int64_t operand_numel = 1;
    for (int i = 0; i < node.num_operands(); ++i) {
      const HostTensor* literal = LiteralOf(node.operand(i));
      if (literal == nullptr) continue;
      operand_numel = std::max(operand_numel, literal->numel());
      const Node* constant = node.operand(i)->node();
      const bool last =
          uses_[ConstantId(*constant)] == 1 && AllUsesAreBy(*constant->result(), node);
      if (last) dead += literal->bytes();
    }
    *growth = bytes - dead;
    if (node.Is(ops::expand) && *growth > 0) return {"it repeats its operand", ""};
    if (options_.widen_floats && WidensFloats(node)) return {};
    const bool linear = (node.op().traits() & (kPointwise | kDataMovement | kReduction)) != 0;
    const double work = linear ? static_cast<double>(numel) + operand_numel
                               : static_cast<double>(numel) * operand_numel;
    if (work > options_.max_work) {
      return {"it takes too much work", absl::StrFormat("max_work=%.0f", std::ceil(work))};
    }
    if (bytes <= options_.ratio * dead && *growth <= 0) return {};
    if (node.Is(ops::slice) && IsPartOfRearranged(*node.operand(0))) return {};
    if (*growth > options_.node_bytes && bytes > options_.ratio * dead) {
      return {"its result is too large", absl::StrCat("node_bytes=", *growth)};
    }
    if (total_bytes_ + *growth <= max_bytes_) return {};
    const double needed = total_bytes_ + *growth - kGrowthSlack;
    if (original_bytes_ == 0) return {"constants grow too much", ""};
    return {"constants grow too much",
            absl::StrFormat("max_growth=%.2f", std::ceil(100 * needed / original_bytes_) / 100)};
  }

  // Asked once for each constant, before one of its slices is folded.
  bool IsPartOfRearranged(const Value& constant) {
    const int id = ConstantId(*constant.node());
    const auto [known, is_new] = rearranged_.try_emplace(id, false);
    if (is_new && uses_[id] == 1) {
      known->second = IsRearranged(constant, module_.constants().tensor(id).bytes());
    }
    return known->second;
  }

  absl::Status Fold(Node& node, Rewriter& rewriter) {
    int64_t growth = 0;
    const Objection objection = ObjectionTo(node, &growth);
    if (!objection.reason.empty()) {
      context_.Count("over_budget");
      Missed(node, absl::StrCat("would fold, but ", objection.reason), objection.option, growth);
      return absl::OkStatus();
    }
    std::vector<HostTensor> inputs;
    for (int i = 0; i < node.num_operands(); ++i) {
      const HostTensor* literal = LiteralOf(node.operand(i));
      inputs.push_back(literal == nullptr ? HostTensor() : *literal);
    }
    auto outputs = Evaluate(node.op(), node.attr_list(), inputs);
    if (!outputs.ok()) {
      context_.Count("failed");
      Missed(node, absl::StrCat("does not fold: ", outputs.status().message()), "", growth);
      return absl::OkStatus();
    }
    if (!context_.StartRewrite({NumericContract::kBitExact})) {
      return absl::OkStatus();
    }
    return Replace(node, *outputs, rewriter);
  }

  absl::Status Replace(Node& node, const std::vector<HostTensor>& outputs, Rewriter& rewriter) {
    ConstantStore& constants = module_.constants();
    std::vector<int> dropped;
    for (int i = 0; i < node.num_operands(); ++i) {
      const Value* v = node.operand(i);
      if (v == nullptr || !AllUsesAreBy(*v, node)) continue;
      // An operand that is given twice counts once.
      const int id = ConstantId(*v->node());
      bool first = true;
      for (int j = 0; j < i; ++j) first &= node.operand(j) != v;
      if (first) dropped.push_back(id);
    }
    rewriter.Begin(&node);
    std::vector<Value*> values;
    for (const HostTensor& output : outputs) {
      const int first_new = constants.size();
      values.push_back(rewriter.Constant(output));
      // A value that may grow beyond the limit does not count against it.
      const bool free = options_.widen_floats && WidensFloats(node);
      if (free) max_bytes_ += static_cast<double>(output.bytes()) * options_.max_growth;
      if (!free && constants.size() > first_new) constants.MarkDerived(first_new);
    }
    std::vector<int> used;
    for (int i = 0; i < node.num_results(); ++i) {
      if (node.result(i)->has_uses()) {
        used.push_back(ConstantId(*values[i]->node()));
      }
    }
    WEFT_RETURN_IF_ERROR(rewriter.ReplaceRoot(values));
    for (int id : used) ChangeUses(id, 1);
    for (int id : dropped) ChangeUses(id, -1);
    context_.Count("folded");
    return absl::OkStatus();
  }

  // Adds a remark; `option` would allow the fold.
  void Missed(const Node& node, absl::string_view reason, absl::string_view option,
              int64_t growth) {
    if (!context_.wants_remarks()) return;
    Remark remark = RemarkOn(node, RemarkKind::kMissed, reason);
    if (!option.empty()) {
      remark.suggestion = absl::StrCat("fold_constants{", option, "} lifts this bound");
    }
    for (int i = 0; i < node.num_operands(); ++i) {
      if (node.has_operand(i)) remark.related.push_back(node.operand(i)->node()->id());
    }
    remark.args = {{"growth", absl::StrCat(growth)}};
    context_.AddRemark(std::move(remark));
  }

  Module& module_;
  PassContext& context_;
  const FoldConstantsOptions& options_;
  std::vector<int> uses_;  // Nodes by constant id.
  absl::flat_hash_map<int, bool> rearranged_;
  double original_bytes_ = 0;
  double total_bytes_ = 0;
  double max_bytes_ = 0;
};

class FoldConstantsPass : public Pass {
 public:
  explicit FoldConstantsPass(const FoldConstantsOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fold_constants"; }
  absl::string_view doc() const override {
    return "Evaluates nodes whose operands are all constants, within a budget.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("ratio", &options_.ratio, "result bytes allowed per byte of constants that go");
    visitor.Visit("node_bytes", &options_.node_bytes,
                  "growth in bytes always allowed for one node");
    visitor.Visit("max_growth", &options_.max_growth,
                  "bytes of all constants, relative to the original ones");
    visitor.Visit("max_work", &options_.max_work, "bound on the work of one evaluation");
    visitor.Visit("widen_floats", &options_.widen_floats,
                  "widens constants of 8-bit floats whatever their size");
  }
  absl::Status Run(Module& module, PassContext& context) override {
    Folder folder(module, context, options_);
    for (Graph* graph : module.AllGraphs()) {
      WEFT_RETURN_IF_ERROR(folder.Run(*graph));
    }
    return absl::OkStatus();
  }

 private:
  FoldConstantsOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateFoldConstantsPass(const FoldConstantsOptions& options) {
  return std::make_unique<FoldConstantsPass>(options);
}

std::unique_ptr<Pass> CreateFoldConstantsPass() { return CreateFoldConstantsPass({}); }

}  // namespace weft
