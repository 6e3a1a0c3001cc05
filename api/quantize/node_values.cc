#include "api/quantize/node_values.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/nn.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"

namespace weft {
namespace {

// The copies of `module`'s nodes in its clone, whose nodes have the same order.
absl::flat_hash_map<const Node*, Node*> CopiesOf(const Module& module, const Module& clone) {
  absl::flat_hash_map<const Node*, Node*> copies;
  Node* copy = clone.main()->first_node();
  for (const Node* node : module.main()->nodes()) {
    copies[node] = copy;
    copy = copy->next();
  }
  return copies;
}

// Over the dims other than the channels, which are the second of a convolution and the last of a
// linear or matmul.
Value* ChannelMeans(Builder& b, const Node& product) {
  const int rank = product.result()->type().rank();
  const int channel = product.Is(ops::convolution) ? 1 : rank - 1;
  std::vector<int64_t> dims;
  for (int d = 0; d < rank; ++d) {
    if (d != channel) dims.push_back(d);
  }
  return dims.empty() ? product.result() : ops::BuildMean(b, product.result(), dims);
}

Value* InputMoments(Builder& b, const Node& product) {
  Value* x = product.operand(0);
  const Type type = x->type();
  SymInt rows = 1;
  for (int d = 0; d + 1 < type.rank(); ++d) rows = rows * type.dim(d);
  const SymInt columns = type.dim(type.rank() - 1);
  x = ops::BuildReshape(b, x, {rows, columns});
  return ops::BuildMatmul(b, ops::BuildPermute(b, x, {1, 0}), x);
}

Value* Wanted(Builder& b, NodeValues::Kind kind, const Node& node) {
  if (kind == NodeValues::Kind::kChannelMeans) return ChannelMeans(b, node);
  return kind == NodeValues::Kind::kInputMoments ? InputMoments(b, node) : node.result();
}

}  // namespace

absl::StatusOr<NodeValues> NodeValues::Create(const Module& module, absl::Span<Node* const> nodes,
                                              const Backend& backend, const Options& options) {
  std::unique_ptr<Module> clone = module.Clone();
  Graph& graph = *clone->main();
  std::vector<std::string> given;
  const auto copies = CopiesOf(module, *clone);
  for (const OperandInput& one : options.given) {
    Value* input = graph.AddInput(one.tensor.type(), absl::StrCat("given.", graph.num_inputs()));
    given.push_back(graph.input_info(input->index()).name);
    copies.at(one.node)->set_operand(one.operand, input);
  }
  Builder b(&graph);
  std::vector<Value*> outputs;
  for (const Node* node : nodes) {
    outputs.push_back(Wanted(b, options.kind, *copies.at(node)));
  }
  WEFT_RETURN_IF_ERROR(b.status());
  graph.SetWriteBacks({});
  graph.output_names().clear();
  graph.SetOutputs(outputs);
  WEFT_ASSIGN_OR_RETURN(Session session, SessionOf(std::move(clone), backend));
  return NodeValues(std::move(session), std::move(given));
}

NodeValues::NodeValues(Session session, std::vector<std::string> given)
    : session_(std::move(session)), given_(std::move(given)) {
  const Graph& graph = session_.main();
  for (int i = 0; i < graph.num_inputs(); ++i) names_.insert(graph.input_info(i).name);
}

absl::StatusOr<std::vector<HostTensor>> NodeValues::Run(
    const std::map<std::string, HostTensor>& inputs, absl::Span<const HostTensor> given) {
  std::map<std::string, HostTensor> tensors;
  for (const auto& [name, tensor] : inputs) {
    if (tensor.valid() && names_.count(name) != 0) tensors[name] = tensor;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (names_.count(given_[i]) != 0) tensors[given_[i]] = given[i];
  }
  const std::map<std::string, HostTensor>& by_name = tensors;
  return session_.Run(by_name);
}

absl::Status RunPasses(Module& module, absl::string_view passes) {
  CompileOptions options;
  options.passes = std::string(passes);
  return Compile(module, options).status();
}

absl::StatusOr<Session> SessionOf(std::unique_ptr<Module> module, const Backend& backend) {
  CompileOptions compile;
  compile.passes = "";
  SetTarget(backend, &compile);
  WEFT_RETURN_IF_ERROR(Compile(*module, compile).status());
  return Session::Create(std::move(module), backend);
}

}  // namespace weft
