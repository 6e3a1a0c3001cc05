#include "backends/reference/node_profile.h"

#include <optional>
#include <utility>

#include "backends/runtime/step_names.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"

namespace weft::reference {
namespace {

profiler::TensorDescription DescribeOperand(const HostTensor& tensor) {
  profiler::TensorDescription d;
  if (!tensor.valid()) return d;
  d.type = ProfileTypeName(tensor.dtype());
  d.dims.assign(tensor.dims().begin(), tensor.dims().end());
  d.strides.assign(tensor.strides().begin(), tensor.strides().end());
  return d;
}

// The type, and the dims if all are known.
profiler::TensorDescription DescribeResult(Type type, const SymbolEnv& env) {
  profiler::TensorDescription d;
  if (!type.is_tensor()) return d;
  d.type = ProfileTypeName(type.dtype());
  for (int i = 0; i < type.rank(); ++i) {
    const std::optional<int64_t> dim = env.Eval(type.dim(i));
    if (!dim) {
      d.dims.clear();
      break;
    }
    d.dims.push_back(*dim);
  }
  return d;
}

// Bytes of operands and results together; -1 if unknown.
int64_t BytesOf(const Node& node, absl::Span<const HostTensor> operands, const SymbolEnv& env) {
  int64_t bytes = 0;
  for (const HostTensor& tensor : operands) {
    if (tensor.valid()) bytes += tensor.bytes();
  }
  for (int i = 0; i < node.num_results(); ++i) {
    const Type type = node.result(i)->type();
    if (!type.is_tensor()) continue;
    const std::optional<int64_t> numel = env.Eval(type.numel());
    if (!numel) return -1;
    bytes += DTypeBytes(type.dtype(), *numel);
  }
  return bytes;
}

}  // namespace

profiler::DescriptionId DescribeForProfile(const Node& node, absl::Span<const HostTensor> operands,
                                           const SymbolEnv& env) {
  const Module& module = node.graph()->module();
  profiler::Description d;
  for (const HostTensor& operand : operands) d.inputs.push_back(DescribeOperand(operand));
  for (int i = 0; i < node.num_results(); ++i) {
    d.outputs.push_back(DescribeResult(node.result(i)->type(), env));
  }
  d.bytes = BytesOf(node, operands, env);
  d.threads = 1;
  d.kernel = "reference";
  for (const SymbolInfo& info : module.symbols().symbols()) {
    const std::optional<int64_t> value = env.Eval(info.symbol);
    if (value) d.symbols.emplace_back(info.symbol.ToString(), *value);
  }
  // A merged kernel may stand for thousands of nodes; only this many are named.
  constexpr size_t kMaxNames = 16;
  d.provenance = module.provenance().Names(node.provenance(), kMaxNames);
  d.rules = module.origins().Rules(node.origin(), kMaxNames);
  return profiler::InternDescription(std::move(d));
}

}  // namespace weft::reference
