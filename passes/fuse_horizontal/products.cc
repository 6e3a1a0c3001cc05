#include "passes/fuse_horizontal/products.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
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

// How a product holds its weight.
struct Form {
  int weight_dim = 0;   // Of the weight: the result's channels.
  int channel_dim = 0;  // Of the result.
};

bool IsProduct(const Node& node, Form* form) {
  const bool tensor = node.num_results() == 1 && node.result()->type().is_tensor();
  const int rank = tensor ? node.result()->type().rank() : 0;
  if (node.Is(ops::linear)) {
    *form = {0, rank - 1};
  } else if (node.Is(ops::matmul)) {
    *form = {1, rank - 1};
    if (node.operand(1)->type().rank() != 2 || rank < 2) return false;
  } else if (node.Is(ops::convolution)) {
    *form = {0, 1};
    const ops::ConvolutionView conv(node);
    if (conv.transposed() || !conv.groups().Is(1)) return false;
  } else {
    return false;
  }
  if (LiteralOf(node.operand(1)) == nullptr) return false;
  return !node.has_operand(2) || LiteralOf(node.operand(2)) != nullptr;
}

// The unary pointwise op that is all that uses the result; null for none.
Node* ActivationOf(const Node& node) {
  if (!node.result()->has_one_use()) return nullptr;
  Node* user = node.result()->first_use()->user();
  return IsPointwise(*user) && user->num_operands() == 1 ? user : nullptr;
}

// Equal for products that can be one. Convolutions go by their activations as well: a
// routine applies one to all that it stores, and a part of its result costs another pass.
std::string KeyOf(const Node& node, const Form& form) {
  const HostTensor& weight = *LiteralOf(node.operand(1));
  std::string key = absl::StrCat(node.op().name(), " ", node.operand(0)->id(), " ",
                                 static_cast<int>(weight.dtype()));
  for (int i = 0; i < weight.rank(); ++i) {
    if (i != form.weight_dim) absl::StrAppend(&key, " ", weight.dim(i));
  }
  const AttrList* attrs = node.attr_list();
  for (int i = 0; i < attrs->size(); ++i) {
    absl::StrAppend(&key, " ", (*attrs)[i].ToString());
  }
  const Node* activation = node.Is(ops::convolution) ? ActivationOf(node) : nullptr;
  if (activation != nullptr) absl::StrAppend(&key, " ", activation->op().name());
  return key;
}

// One product in the place of several.
class Merger {
 public:
  Merger(Graph& graph, PassContext& context, std::vector<Node*> products, const Form& form)
      : graph_(graph),
        context_(context),
        products_(std::move(products)),
        roots_(products_),
        form_(form),
        builder_(&graph, products_[0]) {}

  absl::Status Run() {
    WEFT_ASSIGN_OR_RETURN(Value * value, MakeProduct());
    while (TakeActivation(&value)) {
    }
    const auto parts = ops::BuildSplitWithSizes(builder_, value, sizes_, form_.channel_dim);
    WEFT_RETURN_IF_ERROR(builder_.status());
    Inherit();
    for (size_t i = 0; i < roots_.size(); ++i) {
      roots_[i]->result()->ReplaceAllUsesWith(parts[i]);
      Erase(roots_[i], products_[i]);
    }
    context_.Count("products");
    context_.Count("products_merged", static_cast<int64_t>(products_.size()));
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Value*> MakeProduct() {
    bool biased = false;
    std::vector<HostTensor> weights, biases;
    for (const Node* node : products_) {
      weights.push_back(*LiteralOf(node->operand(1)));
      const int64_t n = weights.back().dim(form_.weight_dim);
      sizes_.push_back(n);
      biased |= node->has_operand(2);
      biases.push_back(node->has_operand(2) ? *LiteralOf(node->operand(2))
                                            : HostTensor(node->result()->type().dtype(), {n}));
    }
    const Node& first = *products_[0];
    std::vector<Value*> operands = {first.operand(0)};
    WEFT_ASSIGN_OR_RETURN(HostTensor weight, Cat(weights, form_.weight_dim));
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

  // Each root is used by one node alone, and these are all one unary pointwise
  // op: then it is applied to `value`, and they are the roots.
  bool TakeActivation(Value** value) {
    std::vector<Node*> users;
    for (const Node* root : roots_) {
      Node* user = ActivationOf(*root);
      if (user == nullptr) return false;
      if (!users.empty() &&
          (&user->op() != &users[0]->op() || user->attr_list() != users[0]->attr_list())) {
        return false;
      }
      users.push_back(user);
    }
    const auto made = builder_.Create(users[0]->op(), {value, 1}, users[0]->attr_list());
    if (made.empty()) return false;
    *value = made[0];
    roots_ = std::move(users);
    return true;
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
    for (const Node* node : products_) add(node);
    for (const Node* node : roots_) add(node);
    origin = module.origins().Rewrite("products", context_.num_rewrites(), &products_[0]->op(),
                                      products_[0]->id(), origin);
    Node* node = products_[0]->prev();  // The split, then what it splits.
    while (node != nullptr) {
      const Value* value = node->num_operands() > 0 ? node->operand(0) : nullptr;
      const bool product = &node->op() == &products_[0]->op();
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
  const std::vector<Node*> products_;
  std::vector<Node*> roots_;  // What is replaced: activations of products.
  const Form form_;
  Builder builder_;
  std::vector<SymInt> sizes_;
};

}  // namespace

absl::Status MergeProducts(Graph& graph, PassContext& context) {
  struct Bucket {
    std::vector<Node*> products;
    Form form;
  };
  std::vector<Bucket> buckets;  // In the order of their first products.
  absl::flat_hash_map<std::string, size_t> index;
  for (Node* node : graph.nodes()) {
    Form form;
    if (!IsProduct(*node, &form)) continue;
    const auto [it, inserted] = index.emplace(KeyOf(*node, form), buckets.size());
    if (inserted) buckets.push_back({{}, form});
    buckets[it->second].products.push_back(node);
  }
  for (Bucket& bucket : buckets) {
    if (bucket.products.size() < 2) continue;
    if (!context.StartRewrite({NumericContract::kBitExact, "products", ""})) {
      break;
    }
    WEFT_RETURN_IF_ERROR(Merger(graph, context, std::move(bucket.products), bucket.form).Run());
  }
  return absl::OkStatus();
}

}  // namespace weft
