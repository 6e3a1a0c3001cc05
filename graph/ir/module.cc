// ConstantStore, Module.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "base/check.h"
#include "graph/ir/graph.h"
#include "graph/ir/graph_internal.h"

namespace weft {
namespace internal {

std::vector<Graph*> NestedGraphs(Graph* root) {
  std::vector<Graph*> graphs = {root};
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i]->num_region_nodes() == 0) continue;
    for (Node* node : graphs[i]->nodes()) {
      for (int r = 0; r < node->num_regions(); ++r) {
        graphs.push_back(node->region(r));
      }
    }
  }
  return graphs;
}

}  // namespace internal

using internal::NestedGraphs;

namespace {

// Tensors up to this size are found by all of their bits.
constexpr int64_t kSampledBytes = 1 << 16;

// Of a dense tensor: its type, and a few of its bytes, spread over all of them. Weights
// that differ mostly differ there. Few places, since each may read pages of a file.
size_t SampleHash(const HostTensor& tensor) {
  constexpr int64_t kSamples = 3;
  constexpr int64_t kBytes = 256;
  const int64_t step = (tensor.bytes() - kBytes) / (kSamples - 1);
  std::string sample;
  for (int64_t i = 0; i < kSamples; ++i) {
    sample.append(reinterpret_cast<const char*>(tensor.raw()) + i * step, kBytes);
  }
  return absl::HashOf(sample, static_cast<int>(tensor.dtype()), tensor.dims());
}

}  // namespace

int ConstantStore::Add(HostTensor tensor, absl::string_view name) {
  const auto find = [&](const std::vector<int>& ids) {
    for (int id : ids) {
      if (!entries_[id].tensor.BitEqual(tensor)) continue;
      if (entries_[id].name.empty()) entries_[id].name = std::string(name);
      return id;
    }
    return -1;
  };
  std::vector<int>* same = nullptr;
  if (tensor.valid() && tensor.bytes() > kSampledBytes) {
    same = &by_fingerprint_[SampleHash(tensor.Contiguous())];
    const int id = find(*same);
    if (id >= 0) return id;
    // The first one with these samples alone is found by them.
    if (!same->empty()) same = nullptr;
  }
  if (same == nullptr) {
    same = &by_fingerprint_[tensor.Fingerprint()];
    const int id = find(*same);
    if (id >= 0) return id;
  }
  same->push_back(size());
  entries_.push_back({std::move(tensor), std::string(name)});
  return size() - 1;
}

const HostTensor* LiteralOf(const Value* value) {
  if (value == nullptr || !value->IsResultOf(ops::constant)) return nullptr;
  const Node* node = value->node();
  const int64_t id = (*node->attr_list())[0].symints()[0].value();
  return &node->graph()->module().constants().tensor(static_cast<int>(id));
}

Value* ViewedBy(const Value* value) {
  const Node* node = value->node();
  if (node == nullptr) return nullptr;
  const int i = node->op().schema().ViewedOperand(value->index());
  return i < 0 ? nullptr : node->operand(i);
}

Value* WrittenAs(const Value* value) {
  const Node* node = value->node();
  if (node == nullptr || !node->op().writes()) return nullptr;
  const int i = node->op().schema().WrittenOperand(value->index());
  return i < 0 ? nullptr : node->operand(i);
}

Graph* Module::AddFunction(absl::string_view name) {
  WEFT_CHECK(FindFunction(name) == nullptr) << "two functions called " << name;
  functions_.push_back(std::make_unique<Graph>(this, std::string(name)));
  return functions_.back().get();
}

Graph* Module::FindFunction(absl::string_view name) const {
  for (const auto& function : functions_) {
    if (function->name() == name) return function.get();
  }
  return nullptr;
}

std::vector<Graph*> Module::AllGraphs() const {
  std::vector<Graph*> graphs;
  for (const auto& function : functions_) {
    for (Graph* graph : NestedGraphs(function.get())) graphs.push_back(graph);
  }
  return graphs;
}

int64_t Module::num_nodes() const {
  int64_t n = 0;
  for (Graph* graph : AllGraphs()) n += graph->num_nodes();
  return n;
}

bool Module::HasWrites() const {
  for (const Graph* graph : AllGraphs()) {
    if (graph->num_write_nodes() > 0) return true;
  }
  return false;
}

}  // namespace weft
