#include "graph/ir/op_registry.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"

namespace weft {
namespace {

bool HasOnly(absl::string_view text, absl::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(c) || more.find(c) != more.npos;
  });
}

}  // namespace

absl::Status CheckOnnxName(const OnnxName& name) {
  if (!HasOnly(name.domain, ".-_") || name.domain == "ai.onnx") {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name.domain, "\" cannot be a domain of own operators"));
  }
  if (!HasOnly(name.type, "_")) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name.type, "\" cannot be the name of an operator"));
  }
  return absl::OkStatus();
}

void OpRegistry::Register(const OpDef* op) {
  WEFT_CHECK(op->schema().name == op->name())
      << op->name() << " has the schema of " << op->schema().name;
  const bool inserted = by_name_.emplace(op->name(), op).second;
  WEFT_CHECK(inserted) << "two ops are called " << op->name();
}

const OpDef* OpRegistry::Find(absl::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> ops;
  for (const auto& [name, op] : by_name_) ops.push_back(op);
  std::sort(ops.begin(), ops.end(),
            [](const OpDef* a, const OpDef* b) { return a->name() < b->name(); });
  return ops;
}

void OpRegistry::NameInOnnx(const OpDef* op, OnnxName name) {
  const bool is_new = by_onnx_name_.emplace(std::make_pair(name.domain, name.type), op).second;
  WEFT_CHECK(is_new && Find(op->name()) == op && !onnx_names_.contains(op))
      << name.domain << "::" << name.type;
  onnx_names_.emplace(op, std::move(name));
}

const OpDef* OpRegistry::FindInOnnx(absl::string_view domain, absl::string_view type) const {
  const auto it = by_onnx_name_.find({std::string(domain), std::string(type)});
  return it == by_onnx_name_.end() ? nullptr : it->second;
}

const OnnxName* OpRegistry::OnnxNameOf(const OpDef& op) const {
  const auto it = onnx_names_.find(&op);
  return it == onnx_names_.end() ? nullptr : &it->second;
}

std::vector<std::string> OpRegistry::OnnxTypesOf(absl::string_view domain) const {
  std::vector<std::string> types;
  for (const auto& [name, op] : by_onnx_name_) {
    if (name.first == domain) types.push_back(name.second);
  }
  return types;
}

}  // namespace weft
