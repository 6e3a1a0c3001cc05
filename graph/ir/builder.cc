#include "graph/ir/builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_fold.h"
#include "graph/ir/op_schema.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// Checks the number of operands, and that only optional ones are absent.
absl::Status CheckOperands(const OpDef& op, absl::Span<Value* const> operands) {
  const OpSchema& schema = op.schema();
  const int fixed = schema.num_fixed_operands();
  const int given = static_cast<int>(operands.size());
  if (given < fixed || (given > fixed && !schema.has_variadic_operand())) {
    return absl::InvalidArgumentError(absl::StrCat(op.name(), ": expected ", fixed,
                                                   schema.has_variadic_operand() ? " or more" : "",
                                                   " operands, got ", given));
  }
  for (int i = 0; i < given; ++i) {
    const OperandSpec& spec =
        schema.operands[std::min<int>(i, static_cast<int>(schema.operands.size()) - 1)];
    if (operands[i] == nullptr) {
      if (spec.optional) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(op.name(), ": operand ", spec.name, " is missing"));
    }
    if (operands[i]->type().is_symint() != spec.symint) {
      return absl::InvalidArgumentError(absl::StrCat(op.name(), ": operand ", spec.name,
                                                     " has type ", operands[i]->type().ToString()));
    }
  }
  return absl::OkStatus();
}

// Canonical order of the operands of a commutative op: constants last, else by age.
void OrderOperands(std::vector<Value*>* operands) {
  if (operands->size() != 2) return;
  const auto rank = [](const Value* v) {
    return std::make_pair(v->IsResultOf(ops::constant), v->id());
  };
  if (rank((*operands)[1]) < rank((*operands)[0])) {
    std::swap((*operands)[0], (*operands)[1]);
  }
}

}  // namespace

absl::StatusOr<const AttrList*> MakeAttrs(const OpDef& op, absl::Span<const NamedAttr> attrs) {
  const OpSchema& schema = op.schema();
  if (schema.attrs.empty() && attrs.empty()) return AttrList::Empty();
  std::vector<AttrValue> values(schema.attrs.size());
  std::vector<bool> given(schema.attrs.size());
  for (const NamedAttr& attr : attrs) {
    const int i = schema.FindAttr(attr.name);
    if (i < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(op.name(), " has no attribute \"", attr.name, "\""));
    }
    values[i] = attr.value;
    given[i] = true;
    // An empty list has no element kind, so it takes the attribute's.
    const auto* ints = attr.value.get_if<std::vector<SymInt>>();
    if (ints != nullptr && ints->empty()) {
      if (schema.attrs[i].kind == AttrKind::kFloats) {
        values[i] = std::vector<double>();
      } else if (schema.attrs[i].kind == AttrKind::kStrings) {
        values[i] = std::vector<std::string>();
      }
    }
    const bool absent = !values[i].present() && schema.attrs[i].optional;
    if (!absent && !values[i].Matches(schema.attrs[i].kind)) {
      return absl::InvalidArgumentError(
          absl::StrCat(op.name(), ": attribute ", attr.name, " cannot be ", attr.value.ToString()));
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (given[i]) continue;
    if (!schema.attrs[i].default_value) {
      return absl::InvalidArgumentError(
          absl::StrCat(op.name(), ": attribute ", schema.attrs[i].name, " is missing"));
    }
    values[i] = *schema.attrs[i].default_value;
  }
  return AttrList::Get(std::move(values));
}

Value* NodeMaker::CreateOne(const OpDef& op, absl::Span<Value* const> operands,
                            const AttrList* attrs) {
  const std::vector<Value*> results = Create(op, operands, attrs);
  return results.empty() ? nullptr : results[0];
}

Module& Builder::module() const { return graph_->module(); }

Value* Builder::Fail(absl::Status status) {
  WEFT_CHECK(!status.ok());
  if (status_.ok()) status_ = std::move(status);
  return nullptr;
}

Value* Builder::Op(const OpDef& op, absl::Span<Value* const> operands,
                   absl::Span<const NamedAttr> attrs) {
  std::vector<Value*> results = Ops(op, operands, attrs);
  return results.empty() ? nullptr : results[0];
}

std::vector<Value*> Builder::Ops(const OpDef& op, absl::Span<Value* const> operands,
                                 absl::Span<const NamedAttr> attrs) {
  return Ops(op, operands, attrs, {});
}

std::vector<Value*> Builder::Ops(const OpDef& op, absl::Span<Value* const> operands,
                                 absl::Span<const NamedAttr> attrs,
                                 std::vector<std::unique_ptr<Graph>> regions) {
  if (!status_.ok()) return {};
  auto list = MakeAttrs(op, attrs);
  if (!list.ok()) {
    Fail(list.status());
    return {};
  }
  return Create(op, operands, *list, std::move(regions));
}

std::vector<Value*> Builder::Create(const OpDef& op, absl::Span<Value* const> operands,
                                    const AttrList* attrs) {
  return Create(op, operands, attrs, {});
}

std::vector<Value*> Builder::Create(const OpDef& op, absl::Span<Value* const> operands,
                                    const AttrList* attrs,
                                    std::vector<std::unique_ptr<Graph>> regions) {
  if (!status_.ok()) return {};
  absl::Status status = CheckOperands(op, operands);
  if (!status.ok()) {
    Fail(std::move(status));
    return {};
  }
  std::vector<Value*> ordered(operands.begin(), operands.end());
  if (options_.fold && op.has(kCommutative)) OrderOperands(&ordered);
  Types types;
  for (Value* v : ordered) types.push_back(v ? v->type() : Type());
  std::vector<Graph*> region_ptrs;
  for (const auto& region : regions) region_ptrs.push_back(region.get());
  OpArgs args;
  args.op = &op;
  args.operands = ordered;
  args.types = types;
  args.attr_list = attrs;
  args.regions = region_ptrs;
  args.symbols = &module().symbols();
  absl::StatusOr<Types> results = InferTypes(args);
  if (!results.ok()) {
    Fail(results.status());
    return {};
  }
  if (options_.fold && op.fold() != nullptr && results->size() == 1) {
    if (Folded folded = op.fold()(args)) {
      return {folded.value ? folded.value : Constant(*folded.literal)};
    }
  }
  Node* node = graph_->CreateNode(op, ordered, attrs, *results, before_, std::move(regions));
  node->set_provenance(provenance_);
  std::vector<Value*> values;
  for (int i = 0; i < node->num_results(); ++i) {
    values.push_back(node->result(i));
  }
  return values;
}

Value* Builder::Constant(const HostTensor& tensor, absl::string_view name) {
  if (!status_.ok()) return nullptr;
  const int id = module().constants().Add(tensor, name);
  Node* node = graph_->CreateNode(ops::constant, {}, AttrList::Get({AttrValue(id)}),
                                  {tensor.type()}, before_);
  node->set_provenance(provenance_);
  return node->result();
}

Value* Builder::Scalar(DType dtype, double value) {
  return Constant(HostTensor::Scalar(dtype, value));
}

Value* Builder::Ints(absl::Span<const int64_t> values) {
  return Constant(HostTensor::FromInts(DType::kI64, {static_cast<int64_t>(values.size())}, values));
}

}  // namespace weft
