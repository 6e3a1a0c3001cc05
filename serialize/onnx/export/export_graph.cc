#include "serialize/onnx/export/export_graph.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/provenance.h"
#include "graph/ops/quant.h"
#include "serialize/onnx/export/export_nbits.h"
#include "serialize/onnx/export/export_own_op.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

// Protobuf's readers stop at 100 messages within each other; a nested graph
// takes three.
constexpr int kMaxNesting = 30;
// Of one model: a decomposition that comes back to its op is an error.
constexpr int64_t kMaxDecompositions = int64_t{1} << 24;
constexpr size_t kMaxRefusals = 20;
constexpr size_t kMaxSourceNames = 8;

}  // namespace

// --- Main -------------------------------------------------------------------

namespace {

std::string InputDoc(const InputInfo& info, const Module& module) {
  if (info.value < 0) return "";
  const HostTensor& value = module.constants().tensor(info.value);
  std::string doc =
      absl::StrCat("The model holds only for one value of type ", value.type().ToString());
  if (value.numel() <= 16 && IsInt(value.dtype())) {
    absl::StrAppend(&doc, ": ", absl::StrJoin(value.ReadInts(), ", "));
  }
  return doc;
}

absl::Status At(absl::string_view what, absl::string_view name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(what, " '", name, "' ", status.message()));
}

std::string OutputName(const Graph& graph, int i) {
  if (!graph.output_names().empty() && !graph.output_names()[i].empty()) {
    return graph.output_names()[i];
  }
  return absl::StrCat("output_", i);
}

}  // namespace

absl::Status GraphExporter::ExportMain(onnx::GraphProto* proto) {
  Graph* graph = module_->main();
  if (!graph->write_backs().empty()) {
    return absl::UnimplementedError(absl::StrCat("the program writes to its input \"",
                                                 graph->input_info(graph->write_backs()[0]).name,
                                                 "\", which ONNX has no form for"));
  }
  GraphWriter w(model_, nullptr, proto);
  proto->set_name(graph->name());
  std::vector<Val> inputs;
  for (int i = 0; i < graph->num_inputs(); ++i) {
    const InputInfo& info = graph->input_info(i);
    inputs.push_back(w.AddInput(graph->input(i)->type(),
                                info.name.empty() ? absl::StrCat("input_", i) : info.name));
    const std::string doc = InputDoc(info, *module_);
    if (!doc.empty()) proto->mutable_input(i)->set_doc_string(doc);
    // What the input is when the caller gives nothing.
    if (info.initial >= 0) {
      model_->AddInitializer(module_->constants().tensor(info.initial), inputs.back()->name);
    }
    WEFT_RETURN_IF_ERROR(At("input", info.name, model_->TakeStatus()));
  }
  OutputNames names;
  std::vector<std::string> output_names;
  for (int i = 0; i < graph->num_outputs(); ++i) {
    const Value* output = graph->output(i);
    output_names.push_back(model_->UniqueName(OutputName(*graph, i)));
    w.AddOutput(output->type(), output_names.back());
    WEFT_RETURN_IF_ERROR(At("output", output_names.back(), model_->TakeStatus()));
    if (!output->is_input() && output->type().is_tensor()) {
      names.emplace(output, output_names.back());
    }
  }
  for (int i = 0; i < graph->num_inputs(); ++i) {
    Val val = inputs[i];
    if (graph->input(i)->type().is_symint()) {
      val = w.Shared("Reshape", {val, w.Ints({1})});
    }
    w.Define(graph->input(i), val);
  }
  ExportNodes(graph, &w, &names);
  for (int i = 0; i < graph->num_outputs(); ++i) {
    Val val = w.Find(graph->output(i));
    if (val == nullptr || named_outputs_.count(output_names[i])) continue;
    w.BeginNode(output_names[i], "");
    if (graph->output(i)->type().is_symint()) {
      val = w.Shared("Squeeze", {val, w.Ints({0})});
    }
    w.NameValue(val, output_names[i]);
  }
  WEFT_RETURN_IF_ERROR(error_);
  if (!refusals_.empty()) {
    return absl::UnimplementedError(absl::StrCat("no form in ONNX opset ", model_->opset(), ": ",
                                                 absl::StrJoin(refusals_, "; ")));
  }
  return model_->status();
}

// --- Nested graphs ------------------------------------------------------------

absl::Status GraphExporter::ExportRegion(Graph* graph, GraphWriter* outer,
                                         absl::Span<const Val> inputs, onnx::GraphProto* proto) {
  if (depth_ >= kMaxNesting) {
    return NodeExport::Unsupported("graphs are nested more than ", kMaxNesting, " deep");
  }
  ++depth_;
  GraphWriter w(model_, outer, proto);
  proto->set_name(model_->UniqueName(graph->name().empty() ? "body" : graph->name()));
  for (int i = 0; i < graph->num_inputs(); ++i) {
    const std::string& name = graph->input_info(i).name;
    w.Define(
        graph->input(i),
        inputs[i] ? inputs[i] : w.AddInput(graph->input(i)->type(), name.empty() ? "in" : name));
  }
  OutputNames names;
  ExportNodes(graph, &w, &names);
  absl::flat_hash_set<std::string> used;
  for (int i = 0; i < graph->num_outputs(); ++i) {
    Val val = w.Find(graph->output(i));
    if (val == nullptr) continue;  // Refused.
    std::string name = val->name;
    if (val->graph != &w || val->node < 0 || used.count(name)) {
      name = model_->UniqueName("out");
      w.BeginNode("Identity", "");
      val->shared = true;
      w.NameValue(val, name);
    }
    used.insert(name);
    w.AddOutput(graph->output(i)->type(), name);
  }
  --depth_;
  return absl::OkStatus();
}

absl::Status NodeExport::Region(int region, absl::Span<const Val> inputs, onnx::GraphProto* proto) {
  return exporter_->ExportRegion(node_.region(region), w_, inputs, proto);
}

// --- Nodes ------------------------------------------------------------------

void GraphExporter::ExportNodes(Graph* graph, GraphWriter* w, OutputNames* names) {
  Node* node = graph->first_node();
  while (node != graph->return_node() && error_.ok()) {
    Node* again = ExportNode(node, w, names);
    node = again != nullptr ? again : node->next();
  }
}

Node* GraphExporter::ExportNode(Node* node, GraphWriter* w, OutputNames* names) {
  if (!node->has_uses() && node->op().is_pure()) return nullptr;
  const bool packs = model_->packs_weights();
  if (packs && IsPackedAway(*node)) return nullptr;
  if (node->Is(ops::constant)) {
    w->Define(node->result(), model_->StoredConstant(ops::ConstantView(*node).id()));
    return nullptr;
  }
  const auto sources = module_->provenance().Names(node->provenance(), kMaxSourceNames);
  w->BeginNode(NameOf(*node), sources.size() > 1 ? absl::StrJoin(sources, "\n") : "");
  const ExportEntry* entry = FindExport(node->op());
  NodeExport e(this, w, *node, entry != nullptr ? entry->op_type : "");
  absl::Status status;
  if (packs && HasPackedWeight(*node)) {
    ExportMatMulNBits(e);
  } else if (const OnnxName* own = module_->registry().OnnxNameOf(node->op())) {
    status = ExportOwnOp(e, *own);
  } else if (entry == nullptr) {
    status = NodeExport::Unsupported("is not an op that the exporter knows");
  } else if (entry->fn == nullptr) {
    status = NodeExport::Unsupported(entry->limits);
  } else {
    status = entry->fn(e);
  }
  if (status.ok()) status = model_->status();
  if (status.ok()) status = Finish(e, w, *names);
  if (status.ok()) return nullptr;
  model_->TakeStatus().IgnoreError();
  w->Rollback();
  if (absl::IsUnimplemented(status) && node->op().decompose() != nullptr) {
    return Decompose(node, w, names);
  }
  Refuse(*node, w, status);
  return nullptr;
}

absl::Status GraphExporter::Finish(const NodeExport& e, GraphWriter* w, const OutputNames& names) {
  for (int i = 0; i < e.node().num_results(); ++i) {
    const Value* result = e.node().result(i);
    if (!result->has_uses()) continue;
    Val val = e.output(i);
    if (val == nullptr) {
      return absl::InternalError(absl::StrCat("gave no result ", i));
    }
    if (result->type().is_tensor() && val->dtype != result->type().dtype()) {
      return absl::InternalError(
          absl::StrCat("gave ", DTypeName(val->dtype), " for ", result->type().ToString()));
    }
  }
  for (int i = 0; i < e.node().num_results(); ++i) {
    const Value* result = e.node().result(i);
    Val val = e.output(i);
    if (!result->has_uses() || val == nullptr) continue;
    auto it = names.find(result);
    if (it != names.end()) {
      w->NameValue(val, it->second);
      named_outputs_.insert(it->second);
    }
    w->Define(result, val);
  }
  return absl::OkStatus();
}

// Replaces the node by what it is made of; the first node of that, which is to
// be exported next.
Node* GraphExporter::Decompose(Node* node, GraphWriter* w, OutputNames* names) {
  Graph* graph = node->graph();
  Node* previous = node->prev();
  Node* next = node->next();
  Builder builder(graph, node);
  builder.set_provenance(node->provenance());
  Node::ArgStorage storage;
  const std::vector<Value*> values = node->op().decompose()(builder, node->Args(&storage));
  if (!builder.status().ok()) {
    Refuse(*node, w, builder.status());
    return nullptr;
  }
  if (++decompositions_ > kMaxDecompositions) {
    error_ = absl::InternalError(
        absl::StrCat("the decomposition of ", node->op().name(), " does not come to an end"));
    return nullptr;
  }
  for (int i = 0; i < node->num_results(); ++i) {
    Value* old = node->result(i);
    auto it = names->find(old);
    if (it != names->end()) {
      const std::string name = it->second;
      names->erase(it);
      if (w->Find(values[i]) == nullptr && !values[i]->is_input()) {
        names->emplace(values[i], name);
      }
    }
    old->ReplaceAllUsesWith(values[i]);
  }
  graph->EraseNode(node);
  Node* first = previous != nullptr ? previous->next() : graph->first_node();
  return first != nullptr ? first : next;
}

void GraphExporter::Refuse(const Node& node, GraphWriter* w, const absl::Status& why) {
  const std::string reason = absl::StrCat(node.op().name(), why.message());
  const std::string text = absl::StrCat(node.op().name(), " '", NameOf(node), "' ", why.message());
  if (refused_.insert(reason).second && refusals_.size() < kMaxRefusals) {
    refusals_.push_back(text);
  }
  if (!absl::IsUnimplemented(why) && error_.ok()) {
    error_ = absl::Status(why.code(), text);
  }
  // So that the rest can be looked at.
  for (int i = 0; i < node.num_results(); ++i) {
    const Type type = node.result(i)->type();
    Val val = model_->NewValue("", type.is_tensor() ? type.dtype() : DType::kI64);
    val->shared = true;
    w->Define(node.result(i), val);
  }
}

std::string GraphExporter::NameOf(const Node& node) const {
  const auto names = module_->provenance().Names(node.provenance(), 1);
  if (names.empty() || names[0].empty()) return std::string(node.op().name());
  // The node that computes has the plain name, as in files of ONNX Runtime's quantizer.
  if (node.Is(ops::quantize_linear)) return absl::StrCat(names[0], "_QuantizeLinear");
  if (node.Is(ops::dequantize_linear)) return absl::StrCat(names[0], "_DequantizeLinear");
  return names[0];
}

}  // namespace weft::onnx_export
