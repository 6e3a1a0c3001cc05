// Any bytes as a file of rules: rules and ops, or a status, never a crash.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/ops/registry.h"
#include "passes/engine/rules/rule_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = weft::ParseRuleFile(text, "fuzz", weft::ops::Registry());
  if (!file.ok()) return 0;
  for (const auto& rule : file->rules) rule->ToRule();
  return 0;
}
