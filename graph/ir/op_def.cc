#include "graph/ir/op_def.h"

#include <utility>

#include "base/check.h"
#include "graph/ir/op_schema.h"

namespace weft {

const OpSchema& OpDef::ParseSchema() const {
  auto schema = OpSchema::Parse(spec_.schema_);
  WEFT_CHECK(schema.ok()) << name_ << ": " << schema.status().ToString();
  auto* parsed = new OpSchema(*std::move(schema));
  const OpSchema* expected = nullptr;
  if (!schema_.compare_exchange_strong(expected, parsed)) {
    delete parsed;  // Another thread was first.
    return *expected;
  }
  return *parsed;
}

bool OpDef::SchemaWrites() const { return schema().writes; }

}  // namespace weft
