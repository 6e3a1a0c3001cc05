#include "lowering/plan_text_ops.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_schema.h"
#include "graph/text/parts/text_parts.h"
#include "lowering/plan_facts.h"
#include "lowering/plan_text_reader.h"

namespace weft {

using text::kIdentifier;

std::string OpText(const OpSchema& schema, const AttrList* attrs) {
  const std::string list = attrs == nullptr ? "" : text::AttrsToString(schema, attrs);
  return list.empty() ? schema.name : absl::StrCat(schema.name, "(", list, ")");
}

namespace {

// The schema that steps with this op point to; null if there is none.
const OpSchema* SchemaOf(const Plan& plan, absl::string_view op) {
  for (const Plan* p : AllPlans(plan)) {
    for (const Step& step : p->steps) {
      for (const Epilogue& e : step.epilogue) {
        if (e.schema != nullptr && e.schema->name == op) return e.schema;
      }
    }
  }
  return nullptr;
}

}  // namespace

std::string OpsText(const Plan& plan) {
  std::string out;
  if (plan.ops == nullptr) return out;
  for (const auto& [name, schema] : plan.ops->schemas) {
    absl::StrAppend(&out, "  op ", Quote(schema), "\n");
  }
  for (const ScalarBody& body : plan.ops->bodies) {
    const OpSchema* schema = SchemaOf(plan, body.op);
    absl::StrAppend(&out, "  body ", schema == nullptr ? body.op : OpText(*schema, body.attrs),
                    " : ", DTypeName(body.dtype), " ", PrintKernel(body.kernel));
  }
  return out;
}

bool OpsParser::ParseLines() {
  while (reader_.AtWord("op")) {
    if (!ParseSchema()) return false;
  }
  while (reader_.AtWord("body")) {
    if (!ParseBody()) return false;
  }
  return true;
}

bool OpsParser::ParseSchema() {
  reader_.Advance();
  const size_t position = reader_.position();
  std::string text;
  if (!reader_.ParseString(&text)) return false;
  absl::StatusOr<OpSchema> schema = OpSchema::Parse(text);
  if (!schema.ok()) return reader_.Fail(position, schema.status().message());
  if (source_ != nullptr) {
    const NamedOp known = (*source_)(schema->name);
    if (known.schema != nullptr && known.schema_text != text) {
      return reader_.Fail(position, absl::StrCat("the schema of ", schema->name, " is here \"",
                                                 known.schema_text, "\""));
    }
  }
  if (!ops_->schemas.emplace(schema->name, text).second) {
    return reader_.Fail(position, "the op is there already");
  }
  ops_->owned.push_back(std::make_unique<const OpSchema>(*std::move(schema)));
  return true;
}

bool OpsParser::ParseBody() {
  reader_.Advance();
  ScalarBody body;
  NamedOp op;
  if (!ParseOp(&op, &body.attrs) || !reader_.Expect(':') || !ParseDType(reader_, &body.dtype)) {
    return false;
  }
  if (!reader_.AtWord("kernel")) return reader_.Expected("a kernel");
  body.op = op.schema->name;
  if (!ParseKernelText(reader_, &body.kernel)) return false;
  ops_->bodies.push_back(std::move(body));
  return true;
}

NamedOp OpsParser::Find(absl::string_view name) const {
  if (source_ != nullptr) return (*source_)(name);
  NamedOp op;
  for (const auto& schema : ops_->owned) {
    if (schema->name == name) op.schema = schema.get();
  }
  return op;
}

bool OpsParser::ParseOp(NamedOp* op, const AttrList** attrs) {
  if (!reader_.At(kIdentifier)) return reader_.Expected("an op");
  const size_t position = reader_.position();
  *op = Find(reader_.token().text);
  if (op->schema == nullptr) {
    return reader_.Fail(position, absl::StrCat("unknown op \"", reader_.token().text, "\""));
  }
  reader_.Advance();
  const OpSchema& schema = *op->schema;
  std::vector<AttrValue> values(schema.attrs.size());
  std::vector<bool> given(schema.attrs.size(), false);
  // Operands are in parentheses as well, but begin differently.
  if (reader_.At('(') && AttributesFollow(schema)) {
    reader_.Advance();
    do {
      if (!reader_.ParseAttribute(schema, &values, &given)) return false;
    } while (reader_.Accept(','));
    if (!reader_.Expect(')')) return false;
  }
  if (!reader_.FinishAttributes(schema, position, &values, given)) return false;
  *attrs = AttrList::Get(std::move(values));
  return true;
}

bool OpsParser::AttributesFollow(const OpSchema& schema) {
  const size_t position = reader_.position();
  reader_.Advance();
  const bool attribute = reader_.At(kIdentifier) && schema.FindAttr(reader_.token().text) >= 0;
  reader_.Seek(position);
  return attribute;
}

void OpsParser::Finish(Plan* plan) { SetPlanOps(ops_, plan); }

}  // namespace weft
