#include "passes/fuse_horizontal/products.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/nn.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "passes/fuse/nodes.h"

namespace weft {
namespace {

// False: not a product that may be merged, whatever its weight is.
bool FindDims(const Node& node, ProductCandidate* candidate) {
  const bool tensor = node.num_results() == 1 && node.result()->type().is_tensor();
  const int rank = tensor ? node.result()->type().rank() : 0;
  candidate->channel_dim = rank - 1;
  if (node.Is(ops::linear)) return true;
  if (node.Is(ops::matmul)) {
    candidate->weight_dim = 1;
    return node.operand(1)->type().rank() == 2 && rank >= 2;
  }
  if (!node.Is(ops::convolution)) return false;
  candidate->channel_dim = 1;
  const ops::ConvolutionView conv(node);
  return !conv.transposed() && conv.groups().Is(1);
}

// The unary pointwise op that is all that uses the result; null for none.
Node* ActivationOf(const Node& node) {
  if (!node.result()->has_one_use()) return nullptr;
  Node* user = node.result()->first_use()->user();
  return IsPointwise(*user) && user->num_operands() == 1 ? user : nullptr;
}

void Describe(ProductCandidate* candidate) {
  const Node& node = *candidate->node;
  const HostTensor* weight = LiteralOf(node.operand(1));
  candidate->is_constant = weight != nullptr && (node.num_operands() < 3 || !node.has_operand(2) ||
                                                 LiteralOf(node.operand(2)) != nullptr);
  if (!candidate->is_constant) return;
  candidate->weight = absl::StrCat(static_cast<int>(weight->dtype()));
  for (int i = 0; i < weight->rank(); ++i) {
    if (i != candidate->weight_dim) absl::StrAppend(&candidate->weight, " ", weight->dim(i));
  }
  const AttrList* attrs = node.attr_list();
  for (int i = 0; i < attrs->size(); ++i) {
    absl::StrAppend(&candidate->attrs, (*attrs)[i].ToString(), " ");
  }
  // Convolutions keep to their activations: a routine applies one to all that it stores, and a part
  // of its result costs another pass.
  const Node* activation = node.Is(ops::convolution) ? ActivationOf(node) : nullptr;
  if (activation != nullptr) candidate->activation = std::string(activation->op().name());
}

// Why two constant candidates of a family stay apart.
const char* DifferenceOf(const ProductCandidate& a, const ProductCandidate& b) {
  if (a.attrs != b.attrs) return "their attributes differ";
  if (a.weight != b.weight) return "their weights have other types or sizes";
  return "other activations follow them";
}

// The activations of all members, as long as they are all one op.
void FindActivations(ProductMerge* merge) {
  std::vector<Node*> roots;
  for (const ProductCandidate& product : merge->products) roots.push_back(product.node);
  merge->activations.resize(roots.size());
  while (true) {
    std::vector<Node*> users;
    for (const Node* root : roots) {
      Node* user = ActivationOf(*root);
      if (user == nullptr) return;
      if (!users.empty() &&
          (&user->op() != &users[0]->op() || user->attr_list() != users[0]->attr_list())) {
        return;
      }
      users.push_back(user);
    }
    for (size_t i = 0; i < users.size(); ++i) merge->activations[i].push_back(users[i]);
    roots = std::move(users);
  }
}

// Adds the family's merges, and why members stay apart.
void DecideFamily(const ProductFamily& family, ProductDecision* decision) {
  std::vector<ProductMerge> merges;
  absl::flat_hash_map<std::string, size_t> index;
  for (const ProductCandidate& candidate : family) {
    if (!candidate.is_constant) {
      const bool first = candidate.node == family[0].node;
      decision->refusals.push_back(
          {candidate.node, family[first ? 1 : 0].node, "its weights are not constant"});
      continue;
    }
    const auto [alike, inserted] = index.emplace(
        absl::StrCat(candidate.attrs, "/", candidate.weight, "/", candidate.activation),
        merges.size());
    if (!inserted) {
      merges[alike->second].products.push_back(candidate);
      continue;
    }
    if (!merges.empty()) {
      const ProductCandidate& first = merges[0].products[0];
      decision->refusals.push_back({candidate.node, first.node, DifferenceOf(first, candidate)});
    }
    merges.emplace_back().products.push_back(candidate);
  }
  for (ProductMerge& merge : merges) {
    if (merge.products.size() < 2) continue;
    FindActivations(&merge);
    decision->merges.push_back(std::move(merge));
  }
}

// One product in the place of several.
class Merger {
 public:
  Merger(Graph& graph, PassContext& context, const ProductMerge& merge)
      : graph_(graph),
        context_(context),
        merge_(merge),
        first_(merge.products[0]),
        builder_(&graph, first_.node) {}

  absl::Status Run() {
    WEFT_ASSIGN_OR_RETURN(Value * value, MakeProduct());
    for (const Node* activation : merge_.activations[0]) {
      value = builder_.CreateOne(activation->op(), {value}, activation->attr_list());
      WEFT_RETURN_IF_ERROR(builder_.status());
    }
    const auto parts = ops::BuildSplitWithSizes(builder_, value, sizes_, first_.channel_dim);
    WEFT_RETURN_IF_ERROR(builder_.status());
    Inherit();
    for (size_t i = 0; i < merge_.products.size(); ++i) {
      RootOf(i)->result()->ReplaceAllUsesWith(parts[i]);
      Erase(RootOf(i), merge_.products[i].node);
    }
    context_.Count("products");
    context_.Count("products_merged", static_cast<int64_t>(merge_.products.size()));
    return absl::OkStatus();
  }

 private:
  // The node that is replaced: the last activation of a product, or the product.
  Node* RootOf(size_t i) const {
    return merge_.activations[i].empty() ? merge_.products[i].node : merge_.activations[i].back();
  }

  absl::StatusOr<Value*> MakeProduct() {
    bool biased = false;
    std::vector<HostTensor> weights, biases;
    for (const ProductCandidate& product : merge_.products) {
      const Node* node = product.node;
      weights.push_back(*LiteralOf(node->operand(1)));
      const int64_t n = weights.back().dim(product.weight_dim);
      sizes_.push_back(n);
      biased |= node->has_operand(2);
      biases.push_back(node->has_operand(2) ? *LiteralOf(node->operand(2))
                                            : HostTensor(node->result()->type().dtype(), {n}));
    }
    const Node& first = *first_.node;
    std::vector<Value*> operands = {first.operand(0)};
    WEFT_ASSIGN_OR_RETURN(HostTensor weight, Cat(weights, first_.weight_dim));
    operands.push_back(Constant(weight));
    if (biased) {
      WEFT_ASSIGN_OR_RETURN(HostTensor bias, Cat(biases, 0));
      operands.push_back(Constant(bias));
    } else if (!first.Is(ops::matmul)) {
      operands.push_back(nullptr);
    }
    const auto made = builder_.Create(first.op(), operands, first.attr_list());
    WEFT_RETURN_IF_ERROR(builder_.status());
    return made[0];
  }

  static absl::StatusOr<HostTensor> Cat(const std::vector<HostTensor>& parts, int dim) {
    WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> results,
                          Evaluate(ops::cat, ops::CatAttrs(dim), parts));
    return std::move(results[0]);
  }

  Value* Constant(const HostTensor& tensor) {
    ConstantStore& constants = graph_.module().constants();
    const int first_new = constants.size();
    Value* value = builder_.Constant(tensor);
    if (constants.size() > first_new) constants.MarkDerived(first_new);
    return value;
  }

  // What stood for the source's nodes until now leaves that to what does from
  // now on.
  void Inherit() {
    Module& module = graph_.module();
    ProvenanceId provenance = 0;
    OriginId origin = 0;
    const auto add = [&](const Node* node) {
      provenance = module.provenance().Merge(provenance, node->provenance());
      origin = module.origins().Merge(origin, node->origin());
    };
    for (const ProductCandidate& product : merge_.products) add(product.node);
    for (size_t i = 0; i < merge_.products.size(); ++i) add(RootOf(i));
    origin = module.origins().Rewrite("products", context_.num_rewrites(), &first_.node->op(),
                                      first_.node->id(), origin);
    Node* node = first_.node->prev();  // The split, then what it splits.
    while (node != nullptr) {
      const Value* value = node->num_operands() > 0 ? node->operand(0) : nullptr;
      const bool product = &node->op() == &first_.node->op();
      node->set_provenance(module.provenance().Merge(node->provenance(), provenance));
      node->set_origin(origin);
      if (product || value == nullptr) break;
      node = value->node();
    }
  }

  // The chain from a root back to its product, which nothing uses any more.
  void Erase(Node* root, const Node* product) {
    while (true) {
      const bool last = root == product;
      Node* before = last ? nullptr : root->operand(0)->node();
      std::vector<Node*> constants;
      for (int i = 1; last && i < root->num_operands(); ++i) {
        if (root->has_operand(i)) constants.push_back(root->operand(i)->node());
      }
      graph_.EraseNode(root);
      for (Node* constant : constants) {
        if (!constant->has_uses()) graph_.EraseNode(constant);
      }
      if (last) return;
      root = before;
    }
  }

  Graph& graph_;
  PassContext& context_;
  const ProductMerge& merge_;
  const ProductCandidate& first_;
  Builder builder_;
  std::vector<SymInt> sizes_;
};

}  // namespace

std::vector<ProductFamily> CollectProducts(const Graph& graph) {
  std::vector<ProductFamily> families;
  absl::flat_hash_map<std::pair<const OpDef*, const Value*>, size_t> index;
  int position = 0;
  for (Node* node : graph.nodes()) {
    ProductCandidate candidate;
    candidate.node = node;
    candidate.position = position++;
    if (!FindDims(*node, &candidate)) continue;
    const auto [it, inserted] = index.try_emplace({&node->op(), node->operand(0)}, families.size());
    if (inserted) families.emplace_back();
    families[it->second].push_back(std::move(candidate));
  }
  const auto is_single = [](const ProductFamily& family) { return family.size() < 2; };
  families.erase(std::remove_if(families.begin(), families.end(), is_single), families.end());
  for (ProductFamily& family : families) {
    for (ProductCandidate& candidate : family) Describe(&candidate);
  }
  return families;
}

ProductDecision DecideProducts(const std::vector<ProductFamily>& families) {
  ProductDecision decision;
  for (const ProductFamily& family : families) DecideFamily(family, &decision);
  std::stable_sort(decision.merges.begin(), decision.merges.end(),
                   [](const ProductMerge& a, const ProductMerge& b) {
                     return a.products[0].position < b.products[0].position;
                   });
  return decision;
}

absl::Status ApplyProducts(Graph& graph, const ProductDecision& decision, PassContext& context) {
  AddRemarks(decision.refusals, context);
  for (const ProductMerge& merge : decision.merges) {
    if (!context.StartRewrite({NumericContract::kBitExact, "products", ""})) break;
    WEFT_RETURN_IF_ERROR(Merger(graph, context, merge).Run());
  }
  return absl::OkStatus();
}

std::string ToString(const ProductDecision& decision) {
  std::string text;
  for (const ProductMerge& merge : decision.merges) {
    const auto append = [](std::string* out, const ProductCandidate& product) {
      absl::StrAppend(out, NodeText(*product.node));
    };
    absl::StrAppend(&text, "products: ", absl::StrJoin(merge.products, ", ", append));
    for (const Node* activation : merge.activations[0]) {
      absl::StrAppend(&text, ", then ", activation->op().name());
    }
    absl::StrAppend(&text, "\n");
  }
  for (const FuseRefusal& refusal : decision.refusals) {
    absl::StrAppend(&text, ToString(refusal), "\n");
  }
  return text;
}

}  // namespace weft
