// vmap in an exported program: calls that bracket the nodes of a function of slices. They are
// replaced by one node with a graph.
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "serialize/pt2/program_importer.h"

namespace weft::pt2 {
namespace {

using Kind = Argument::Kind;

constexpr absl::string_view kPrefix = "torch._functorch.predispatch.";

Argument ListOf() {
  Argument list;
  list.kind = Kind::kList;
  return list;
}

Argument IntOf(int64_t value) {
  Argument a;
  a.kind = Kind::kInt;
  a.integer = value;
  return a;
}

// The nodes between two brackets.
struct Frame {
  std::vector<NodeDef> nodes;
  Argument mapped = ListOf(), in_dims = ListOf();
  Argument results = ListOf(), out_dims = ListOf();  // Names outside of the brackets.
  std::vector<Argument> inputs;                      // Slices.
  std::vector<Argument> outputs;
};

bool IsName(const Argument& a) {
  return a.is(Kind::kTensor) || a.is(Kind::kSymInt) || a.is(Kind::kSymFloat) ||
         a.is(Kind::kSymBool);
}

void Define(const Argument& a, std::set<std::string>* names) {
  if (!a.name.empty()) names->insert(a.name);
  for (const Argument& item : a.items) Define(item, names);
}

// Adds names that were not defined before, once each.
void Capture(const Argument& a, std::set<std::string>* known, Argument* captured) {
  if (IsName(a) && known->insert(a.name).second) captured->items.push_back(a);
  for (const Argument& item : a.items) Capture(item, known, captured);
}

NodeDef Close(Frame frame, const GraphDef& around) {
  auto graph = std::make_shared<GraphDef>();
  Argument captured = ListOf();
  std::set<std::string> known;
  for (const Argument& input : frame.inputs) Define(input, &known);
  for (const NodeDef& node : frame.nodes) {
    for (const NodeDef::Input& input : node.inputs) {
      Capture(input.value, &known, &captured);
    }
    for (const Argument& output : node.outputs) Define(output, &known);
  }
  for (const Argument& output : frame.outputs) {
    Capture(output, &known, &captured);
  }
  graph->inputs = std::move(frame.inputs);
  graph->inputs.insert(graph->inputs.end(), captured.items.begin(), captured.items.end());
  graph->outputs = std::move(frame.outputs);
  graph->nodes = std::move(frame.nodes);
  for (const std::string& name : known) {
    const auto meta = around.tensors.find(name);
    if (meta != around.tensors.end()) graph->tensors.insert(*meta);
  }
  NodeDef node;
  node.target = kVmapTarget;
  Argument body;
  body.kind = Kind::kGraph;
  body.name = "vmap";
  body.graph = std::move(graph);
  for (Argument* argument : {&body, &frame.mapped, &frame.in_dims, &captured, &frame.out_dims}) {
    node.inputs.push_back({"", std::move(*argument)});
  }
  node.outputs = std::move(frame.results.items);
  if (!node.outputs.empty()) node.name = node.outputs[0].name;
  return node;
}

// The arguments are tensor, dim, level.
bool AddBatchDim(const NodeDef& node, Frame* frame) {
  if (node.inputs.size() != 3 || node.outputs.size() != 1 || !node.inputs[1].value.is(Kind::kInt)) {
    return false;
  }
  frame->mapped.items.push_back(node.inputs[0].value);
  frame->in_dims.items.push_back(IntOf(node.inputs[1].value.integer));
  frame->inputs.push_back(node.outputs[0]);
  return true;
}

// The arguments are tensor, level, size, dim.
bool RemoveBatchDim(const NodeDef& node, Frame* frame) {
  if (node.inputs.size() != 4 || node.outputs.size() != 1 || !node.inputs[3].value.is(Kind::kInt)) {
    return false;
  }
  frame->outputs.push_back(node.inputs[0].value);
  frame->out_dims.items.push_back(IntOf(node.inputs[3].value.integer));
  frame->results.items.push_back(node.outputs[0]);
  return true;
}

}  // namespace

absl::Status FoldVmaps(GraphDef* graph) {
  constexpr size_t kMaxLevels = 16;
  const auto has_bracket = [](const NodeDef& n) { return absl::StartsWith(n.target, kPrefix); };
  for (NodeDef& node : graph->nodes) {
    for (NodeDef::Input& input : node.inputs) {
      if (input.value.graph == nullptr) continue;
      WEFT_RETURN_IF_ERROR(FoldVmaps(input.value.graph.get()));
    }
  }
  if (std::none_of(graph->nodes.begin(), graph->nodes.end(), has_bracket)) {
    return absl::OkStatus();
  }
  std::vector<Frame> frames(1);
  for (NodeDef& node : graph->nodes) {
    absl::string_view name = node.target;
    if (!absl::ConsumePrefix(&name, kPrefix)) {
      frames.back().nodes.push_back(std::move(node));
      continue;
    }
    bool fits = true;
    if (name == "_vmap_increment_nesting") {
      fits = frames.size() <= kMaxLevels;
      frames.emplace_back();
    } else if (name == "_vmap_decrement_nesting") {
      fits = frames.size() > 1;
      if (fits) {
        NodeDef closed = Close(std::move(frames.back()), *graph);
        frames.pop_back();
        frames.back().nodes.push_back(std::move(closed));
      }
    } else if (name == "_add_batch_dim" && frames.size() > 1) {
      fits = AddBatchDim(node, &frames.back());
    } else if (name == "_remove_batch_dim" && frames.size() > 1) {
      fits = RemoveBatchDim(node, &frames.back());
    } else if (name != "lazy_load_decompositions") {
      frames.back().nodes.push_back(std::move(node));
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat(DescribeNode(node), ": the brackets of vmap do not match"));
    }
  }
  if (frames.size() != 1) {
    return absl::InvalidArgumentError("a vmap has no end");
  }
  graph->nodes = std::move(frames[0].nodes);
  return absl::OkStatus();
}

}  // namespace weft::pt2
