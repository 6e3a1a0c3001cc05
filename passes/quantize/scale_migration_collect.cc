// Finds values between products whose channels take factors.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "passes/quantize/scale_migration.h"

namespace weft {
namespace {

// Nodes that a walk from a value to its constants passes.
constexpr int kMaxSteps = 8;

const HostTensor* FloatLiteral(const Node& node, int operand) {
  const HostTensor* literal =
      node.has_operand(operand) ? LiteralOf(node.operand(operand)) : nullptr;
  return literal != nullptr && literal->dtype() == DType::kF32 ? literal : nullptr;
}

// The axis of the product's weight that is summed over; -1 where it is no product with a constant
// matrix.
int SumAxis(const Node& node) {
  if (!node.Is(ops::linear) && !node.Is(ops::matmul)) return -1;
  const HostTensor* weight = FloatLiteral(node, 1);
  if (weight == nullptr || weight->rank() != 2 || weight->numel() == 0) return -1;
  return node.Is(ops::linear) ? 1 : 0;
}

class Collector {
 public:
  Collector(const Graph& graph, const QuantDecision& decision) : graph_(graph) {
    for (const QuantMark& mark : decision.marks) {
      const QuantPlace& place = mark.place;
      const void* key = place.user == nullptr ? static_cast<const void*>(place.value) : place.user;
      specs_[{key, place.operand}] = &mark.note.spec;
    }
  }

  std::vector<MigrationEdge> Run() const {
    std::vector<MigrationEdge> edges;
    for (Node* node : graph_.nodes()) {
      if (node->num_results() == 0) continue;
      MigrationEdge edge;
      edge.value = node->result();
      if (HasChannels(&edge) && AddReaders(&edge) && AddSources(&edge)) {
        edges.push_back(std::move(edge));
      }
    }
    return edges;
  }

 private:
  static bool HasChannels(MigrationEdge* edge) {
    const Type type = edge->value->type();
    if (!type.is_tensor() || type.dtype() != DType::kF32 || type.rank() == 0) return false;
    const SymInt channels = type.dim(type.rank() - 1);
    if (!channels.is_constant() || channels.value() == 0) return false;
    edge->channels = channels.value();
    return edge->value->has_uses();
  }

  // The spec of an operand: its own, or that of its value.
  const QuantSpec* SpecOf(const Node* user, int operand) const {
    auto it = specs_.find({user, operand});
    if (it == specs_.end()) it = specs_.find({user->operand(operand), -1});
    return it == specs_.end() ? nullptr : it->second;
  }

  bool AddReaders(MigrationEdge* edge) const {
    for (const Use* use = edge->value->first_use(); use != nullptr; use = use->next()) {
      Node* user = use->user();
      const int axis = SumAxis(*user);
      if (axis < 0 || use->operand_index() != 0) return false;
      if (FloatLiteral(*user, 1)->dim(axis) != edge->channels) return false;
      const QuantSpec* weight = SpecOf(user, 1);
      if (weight == nullptr) return false;
      MigrationReader reader = {user, *weight, std::nullopt};
      if (const QuantSpec* activation = SpecOf(user, 0)) {
        const bool rows = activation->granularity == QuantGranularity::kTensor ||
                          activation->granularity == QuantGranularity::kToken;
        if (!rows) return false;
        reader.activation = *activation;
      }
      edge->readers.push_back(std::move(reader));
    }
    std::sort(edge->readers.begin(), edge->readers.end(),
              [](const auto& a, const auto& b) { return a.node->id() < b.node->id(); });
    return !edge->readers.empty();
  }

  // A constant with one element for each channel of the last dim.
  static bool IsVector(const Node& node, int operand, int64_t channels) {
    const HostTensor* literal = FloatLiteral(node, operand);
    return literal != nullptr && literal->rank() > 0 && literal->numel() == channels &&
           literal->dim(literal->rank() - 1) == channels;
  }

  static void Add(MigrationEdge* edge, Node* node, int operand) {
    const int rank = LiteralOf(node->operand(operand))->rank();
    edge->sources.push_back({node, operand, rank - 1});
  }

  // From the value up, until one constant factor takes all of it.
  static bool AddSources(MigrationEdge* edge) {
    const Value* value = edge->value;
    for (int step = 0; step < kMaxSteps && value != nullptr; ++step) {
      Node* node = value->node();
      if (node == nullptr || (value != edge->value && !value->has_one_use())) return false;
      if (value != node->result()) return false;
      const Type type = value->type();
      if (!type.is_tensor() || type.rank() == 0) return false;
      if (!type.dim(type.rank() - 1).Is(edge->channels)) return false;
      bool done = false;
      value = Before(edge, node, &done);
      if (done) return true;
    }
    return false;
  }

  // The value to go on with, null where there is none; `done` where the node took the factor.
  static const Value* Before(MigrationEdge* edge, Node* node, bool* done) {
    if (node->Is(ops::relu) || node->Is(ops::leaky_relu)) return node->operand(0);
    if (node->Is(ops::add) || node->Is(ops::mul)) {
      for (const int i : {1, 0}) {
        if (!IsVector(*node, i, edge->channels)) continue;
        Add(edge, node, i);
        *done = node->Is(ops::mul);
        return node->operand(1 - i);
      }
      return node->Is(ops::mul) ? ScaledFactor(*node) : nullptr;
    }
    *done = node->Is(ops::linear) || node->Is(ops::matmul) ? TakesRows(edge, node)
                                                           : TakesWeights(edge, node);
    return nullptr;
  }

  // Of the factors of a mul the one that comes from a product; the second where both do.
  static const Value* ScaledFactor(const Node& mul) {
    for (const int i : {1, 0}) {
      const Value* value = mul.operand(i);
      const bool product = value->IsResultOf(ops::linear) || value->IsResultOf(ops::matmul) ||
                           value->IsResultOf(ops::add);
      if (product && value->has_one_use()) return value;
    }
    return nullptr;
  }

  static bool TakesRows(MigrationEdge* edge, Node* node) {
    if (SumAxis(*node) < 0) return false;
    const int axis = 1 - SumAxis(*node);
    if (FloatLiteral(*node, 1)->dim(axis) != edge->channels) return false;
    const bool biased = node->Is(ops::linear) && node->has_operand(2);
    if (biased && !IsVector(*node, 2, edge->channels)) return false;
    edge->sources.push_back({node, 1, axis});
    if (biased) Add(edge, node, 2);
    return true;
  }

  static bool TakesWeights(MigrationEdge* edge, Node* node) {
    const bool layer = node->Is(ops::native_layer_norm);
    if (!layer && !node->Is(ops::rms_norm)) return false;
    if (!IsVector(*node, 1, edge->channels)) return false;
    const bool biased = layer && node->has_operand(2);
    if (biased && !IsVector(*node, 2, edge->channels)) return false;
    Add(edge, node, 1);
    if (biased) Add(edge, node, 2);
    return true;
  }

  const Graph& graph_;
  absl::flat_hash_map<std::pair<const void*, int>, const QuantSpec*> specs_;
};

}  // namespace

std::vector<MigrationEdge> CollectMigrations(const Graph& graph, const QuantDecision& decision) {
  return Collector(graph, decision).Run();
}

}  // namespace weft
