// Any bytes: a status, or a module that prints to a text that reads back to the
// same print.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "graph/ir/module.h"
#include "graph/text/text.h"
#include "tests/graph/ir/test_ops.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto& registry = weft::test_ops::Registry();
  auto module = weft::ParseModule(text, registry);
  if (!module.ok()) {
    // The parser must find every fault that the verifier finds.
    WEFT_CHECK(!absl::StartsWith(module.status().message(), "<text>:1:1: verifier: "))
        << module.status().ToString();
    weft::ParseSamples(text, registry).status().IgnoreError();
    return 0;
  }
  const std::string printed = weft::PrintModule(**module);
  auto again = weft::ParseModule(printed, registry);
  WEFT_CHECK(again.ok()) << again.status().ToString() << "\n" << printed;
  WEFT_CHECK(weft::PrintModule(**again) == printed) << printed;
  return 0;
}
