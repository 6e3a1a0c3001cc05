// Any bytes as a file of rules: rules or a status, never a crash.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/ops/registry.h"
#include "passes/engine/rules/file_rule.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rules = weft::ParseFileRules(text, "fuzz", weft::ops::Registry());
  if (!rules.ok()) return 0;
  for (const auto& rule : *rules) rule->ToRule();
  return 0;
}
