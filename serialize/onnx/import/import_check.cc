// Finds all operators of a model that cannot be imported.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/op_registry.h"
#include "serialize/onnx/import/import_model.h"
#include "serialize/onnx/import/import_tables.h"

namespace weft::onnx_import {
namespace {

using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

class OperatorCheck {
 public:
  OperatorCheck(const Opsets& opsets, const FunctionTable& functions, const OpRegistry& ops)
      : model_opsets_(opsets), functions_(functions), ops_(ops) {}

  absl::Status Run(const GraphProto& graph) {
    AddNodes(graph.node(), nullptr);
    // Nested graphs and called functions are appended during the loop.
    for (size_t i = 0; i < pending_.size(); ++i) {
      const Pending item = pending_[i];
      for (const NodeProto& node : *item.nodes) Check(node, item.function);
    }
    return Report();
  }

 private:
  struct Pending {
    const NodeProtos* nodes;
    const FunctionProto* function;
  };
  struct Missing {
    std::string title;
    std::vector<std::string> nodes;
    int64_t count = 0;
  };

  void AddNodes(const NodeProtos& nodes, const FunctionProto* function) {
    pending_.push_back({&nodes, function});
  }

  void Check(const NodeProto& node, const FunctionProto* function) {
    for (const auto& attr : node.attribute()) {
      if (attr.has_g()) AddNodes(attr.g().node(), function);
      for (const GraphProto& g : attr.graphs()) AddNodes(g.node(), function);
    }
    const std::string domain = NormalizeDomain(node.domain());
    if (ops_.FindInOnnx(domain, node.op_type()) != nullptr) return;
    if (const FunctionProto* callee = functions_.Find(node)) {
      if (visited_.insert(callee).second) AddNodes(callee->node(), callee);
      return;
    }
    const Opsets& opsets = OpsetsOf(function);
    const int opset = OpsetOf(opsets, domain);
    if (FindOp(domain, node.op_type(), opset).op != nullptr) return;
    const bool imports = opsets.count(domain) > 0;
    Add(Title(node, domain, imports ? opset : 0), node, function);
  }

  const Opsets& OpsetsOf(const FunctionProto* function) {
    if (function == nullptr) return model_opsets_;
    auto [it, inserted] = opsets_.try_emplace(function);
    if (inserted) it->second = functions_.OpsetsOf(*function, model_opsets_);
    return it->second;
  }

  std::string Title(const NodeProto& node, const std::string& domain, int opset) {
    const std::string name = OperatorName(node);
    const std::vector<std::string> own = ops_.OnnxTypesOf(domain);
    if (opset == 0 && own.empty()) {
      return absl::StrCat(name, " (no opset of its domain is imported)");
    }
    const absl::string_view reason = ReasonForAbsence(domain, node.op_type());
    if (!reason.empty()) return absl::StrCat(name, " (", reason, ")");
    if (IsKnownOp(domain, node.op_type())) {
      return absl::StrCat(name, " (not in opset ", opset, ")");
    }
    if (domain.empty()) return name;
    return absl::StrCat(
        name, " (no registered op has this name",
        own.empty() ? "" : absl::StrCat("; those of ", domain, " are ", absl::StrJoin(own, ", ")),
        ")");
  }

  void Add(const std::string& title, const NodeProto& node, const FunctionProto* function) {
    auto [it, inserted] = index_.emplace(title, missing_.size());
    if (inserted) missing_.push_back({title, {}, 0});
    Missing& missing = missing_[it->second];
    ++missing.count;
    if (missing.nodes.size() == kMaxNodesShown) return;
    missing.nodes.push_back(absl::StrCat(
        "'", function == nullptr ? "" : absl::StrCat(function->name(), "/"), NodeName(node), "'"));
  }

  absl::Status Report() const {
    if (missing_.empty()) return absl::OkStatus();
    std::string text =
        absl::StrCat(missing_.size(), missing_.size() == 1 ? " operator" : " operators",
                     " of the model cannot be imported:");
    for (const Missing& missing : missing_) {
      absl::StrAppend(&text, "\n  ", missing.title, ": ", missing.count == 1 ? "node " : "nodes ");
      for (size_t i = 0; i < missing.nodes.size(); ++i) {
        absl::StrAppend(&text, i == 0 ? "" : ", ", missing.nodes[i]);
      }
      const int64_t left = missing.count - missing.nodes.size();
      if (left > 0) absl::StrAppend(&text, " and ", left, " more");
    }
    return absl::UnimplementedError(text);
  }

  static constexpr size_t kMaxNodesShown = 32;
  const Opsets& model_opsets_;
  const FunctionTable& functions_;
  const OpRegistry& ops_;
  std::vector<Pending> pending_;
  absl::flat_hash_set<const FunctionProto*> visited_;
  std::map<const FunctionProto*, Opsets> opsets_;
  std::map<std::string, size_t> index_;
  std::vector<Missing> missing_;
};

}  // namespace

absl::Status CheckOperators(const ::onnx::ModelProto& model, const Opsets& opsets,
                            const FunctionTable& functions, const OpRegistry& ops) {
  return OperatorCheck(opsets, functions, ops).Run(model.graph());
}

}  // namespace weft::onnx_import
