// Invariants 5 to 11: agreement of one node with its schema and its op.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"
#include "graph/verify/verifier.h"
#include "graph/verify/verifier_internal.h"

namespace weft::internal {

bool IsSizeType(Type type) {
  if (type.is_symint()) return type.symint().is_valid();
  if (type.rank() > Type::kMaxRank) return false;
  for (SymInt d : type.dims()) {
    if (!d.is_valid() || (d.is_constant() && d.value() < 0)) return false;
  }
  return type.numel().is_valid();
}

namespace {

const OperandSpec& OperandSpecAt(const OpSchema& schema, int i) {
  return schema.operands[std::min<size_t>(i, schema.operands.size() - 1)];
}

class NodeVerifier {
 public:
  NodeVerifier(const Node& node, InferCache* sound, const OpArgs& args)
      : node_(node),
        module_(node.graph()->module()),
        args_(args),
        sound_(InferCache::Admits(args) ? sound : nullptr) {}

  absl::Status Run() {
    if (IsKnown()) return absl::OkStatus();
    if (CheckOperands() && CheckAttributes() && CheckRegions() && CheckResults()) {
      CheckTypes();
    }
    return std::move(status_);
  }

 private:
  bool Fail(Invariant invariant, absl::string_view message) {
    status_ = BrokenInvariant(invariant, *node_.graph(), &node_, message);
    return false;
  }

  bool IsKnown() const;
  bool HasTypes(const Types& types) const;
  bool CheckOperands();
  bool CheckAttributes();
  bool CheckRegions();
  bool CheckResults();
  bool CheckTypes();
  bool CheckConstant();

  const Node& node_;
  const Module& module_;
  const OpArgs& args_;
  InferCache* sound_;  // Null if the node's signature is not cached.
  absl::Status status_;
};

bool NodeVerifier::IsKnown() const {
  if (sound_ == nullptr) return false;
  const Types* types = sound_->Find(args_);
  return types != nullptr && HasTypes(*types);
}

bool NodeVerifier::HasTypes(const Types& types) const {
  const int n = node_.num_results();
  if (static_cast<size_t>(n) != types.size()) return false;
  for (int i = 0; i < n; ++i) {
    if (node_.result(i)->type() != types[i]) return false;
  }
  return true;
}

bool NodeVerifier::CheckOperands() {
  const OpSchema& schema = node_.op().schema();
  const int n = node_.num_operands();
  const int fixed = schema.num_fixed_operands();
  if (n < fixed || (n > fixed && !schema.has_variadic_operand())) {
    return Fail(Invariant::kOperands, absl::StrCat(n, " operands where the schema has ", fixed));
  }
  for (int i = 0; i < n; ++i) {
    const OperandSpec& spec = OperandSpecAt(schema, i);
    const Value* v = node_.operand(i);
    if (v == nullptr) {
      if (spec.optional) continue;
      return Fail(Invariant::kOperands, absl::StrCat("operand ", spec.name, " is absent"));
    }
    if (v->type().is_symint() != spec.symint && !node_.Is(ops::return_)) {
      return Fail(Invariant::kOperands,
                  absl::StrCat("operand ", spec.name, " has type ", v->type().ToString()));
    }
  }
  return true;
}

bool NodeVerifier::CheckAttributes() {
  const std::vector<AttrSpec>& specs = node_.op().schema().attrs;
  const AttrList* list = node_.attr_list();
  if (list == nullptr || list->size() != static_cast<int>(specs.size())) {
    return Fail(Invariant::kAttributes,
                absl::StrCat(list == nullptr ? 0 : list->size(),
                             " attributes where the schema has ", specs.size()));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    const AttrValue& value = (*list)[i];
    const AttrSpec& spec = specs[i];
    if (!value.present()) {
      const bool none = spec.default_value && !spec.default_value->present();
      if (spec.optional || none) continue;
    }
    if (!value.Matches(spec.kind)) {
      return Fail(Invariant::kAttributes,
                  absl::StrCat("attribute ", spec.name, " cannot be ", value.ToString()));
    }
    for (SymInt s : value.symints()) {
      if (!s.is_valid()) {
        return Fail(Invariant::kSizes, absl::StrCat("attribute ", spec.name, " is invalid"));
      }
    }
  }
  return true;
}

bool NodeVerifier::CheckRegions() {
  const size_t expected = node_.op().schema().regions.size();
  if (static_cast<size_t>(node_.num_regions()) != expected) {
    return Fail(
        Invariant::kRegions,
        absl::StrCat(node_.num_regions(), " nested graphs where the schema has ", expected));
  }
  for (int i = 0; i < node_.num_regions(); ++i) {
    const Graph* region = node_.region(i);
    if (region == nullptr || &region->module() != &module_) {
      return Fail(Invariant::kRegions, absl::StrCat("nested graph ", i, " is of another module"));
    }
  }
  return true;
}

bool NodeVerifier::CheckResults() {
  const std::vector<ResultSpec>& specs = node_.op().schema().results;
  const bool variadic = node_.op().schema().has_variadic_result();
  const int fixed = static_cast<int>(specs.size()) - variadic;
  const int n = node_.num_results();
  if (n < fixed || (n > fixed && !variadic)) {
    return Fail(Invariant::kResults, absl::StrCat(n, " results where the schema has ", fixed));
  }
  for (int i = 0; i < n; ++i) {
    const ResultSpec& spec = specs[std::min<size_t>(i, specs.size() - 1)];
    const Type type = node_.result(i)->type();
    if (spec.symint ? !type.is_symint() : !type.is_tensor()) {
      return Fail(Invariant::kResults, absl::StrCat("result ", i, " has type ", type.ToString()));
    }
    if (!IsSizeType(type)) {
      return Fail(Invariant::kSizes, absl::StrCat("result ", i, " has type ", type.ToString()));
    }
  }
  return true;
}

bool NodeVerifier::CheckTypes() {
  if (node_.Is(ops::constant)) return CheckConstant();
  if (node_.Is(ops::return_)) return true;
  if (node_.op().has(kDataDependent)) {
    if (node_.op().verify() == nullptr) return true;
    const absl::Status verified = node_.op().verify()(args_);
    return verified.ok() || Fail(Invariant::kTypes, verified.message());
  }
  const absl::StatusOr<Types> inferred = InferTypes(args_);
  if (!inferred.ok()) return Fail(Invariant::kTypes, inferred.status().message());
  if (inferred->size() != static_cast<size_t>(node_.num_results())) {
    return Fail(Invariant::kTypes, absl::StrCat(inferred->size(), " types are inferred for ",
                                                node_.num_results(), " results"));
  }
  if (HasTypes(*inferred)) {
    if (sound_ != nullptr) sound_->Insert(args_, *inferred);
    return true;
  }
  for (int i = 0; i < node_.num_results(); ++i) {
    const Type type = node_.result(i)->type();
    if (IsLegalRefinement(type, (*inferred)[i], module_.symbols())) continue;
    return Fail(Invariant::kTypes, absl::StrCat("result ", i, " has type ", type.ToString(),
                                                ", inferred is ", (*inferred)[i].ToString()));
  }
  return true;
}

bool NodeVerifier::CheckConstant() {
  const int64_t id = (*node_.attr_list())[0].symints()[0].value();
  if (id < 0 || id >= module_.constants().size()) {
    return Fail(Invariant::kConstants, absl::StrCat("no constant has the id ", id));
  }
  const Type type = module_.constants().tensor(static_cast<int>(id)).type();
  if (type != node_.result()->type()) {
    return Fail(Invariant::kConstants, absl::StrCat("the constant's type is ", type.ToString()));
  }
  return true;
}

}  // namespace

absl::Status VerifyNode(const Node& node, NodeScratch* scratch) {
  const OpArgs args = node.Args(&scratch->storage);
  return NodeVerifier(node, &scratch->sound, args).Run();
}

}  // namespace weft::internal
