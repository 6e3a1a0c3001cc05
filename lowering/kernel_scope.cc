#include "lowering/kernel_scope.h"

#include <utility>

#include "absl/hash/hash.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "lowering/views.h"

namespace weft {
namespace {

bool SameView(const View& a, const View& b) {
  return a.buffer == b.buffer && a.type == b.type && a.offset == b.offset && a.strides == b.strides;
}

uint64_t HashOfView(const View& v) {
  uint64_t hash = absl::HashOf(v.buffer, v.type.hash(), v.offset.hash());
  for (SymInt s : v.strides) hash = absl::HashOf(hash, s.hash());
  return hash;
}

}  // namespace

KernelScope::KernelScope(const KernelRequest& request) : request_(request) {
  for (const Node* node : request.group.nodes) inside_[node] = 1;
  for (const Node* node : request.group.nodes) {
    const Value* self = node->num_operands() > 0 ? node->operand(0) : nullptr;
    if (self == nullptr || !self->type().is_tensor() || NodeOf(self) != nullptr ||
        self->IsResultOf(ops::constant)) {
      continue;
    }
    for (int r = 0; r < node->num_results(); ++r) {
      auto view = ViewOfNode(sizes(), *node, r, ViewOf(self));
      if (view) views_[node->result(r)] = *std::move(view);
    }
  }
}

const Node* KernelScope::NodeOf(const Value* value) const {
  const Node* node = value->node();
  if (node == nullptr || node->Is(ops::constant)) return nullptr;
  if (!inside_.contains(node) || views_.contains(value)) return nullptr;
  return node;
}

View KernelScope::ViewOf(const Value* value) const {
  const auto it = views_.find(value);
  return it == views_.end() ? request_.view_of(value) : it->second;
}

int KernelScope::ReadArg(const View& view) {
  std::vector<int>& same = by_hash_[HashOfView(view)];
  for (int i : same) {
    if (SameView(reads_[i], view)) return i;
  }
  same.push_back(static_cast<int>(reads_.size()));
  reads_.push_back(view);
  return same.back();
}

}  // namespace weft
