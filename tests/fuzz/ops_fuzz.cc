// Any bytes as a text of the built-in ops. A module prints to a text that reads back to the same
// print; samples (operand types and attributes of one op) give types or a status. This reaches
// Verify and Infer of ops with arbitrary operands and attributes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "graph/ir/module.h"
#include "graph/ir/op_args.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/sym/sym_facts.h"
#include "graph/text/text.h"

namespace {

void InferSamples(absl::string_view text) {
  auto samples = weft::ParseSamples(text, weft::ops::Registry());
  if (!samples.ok()) return;
  for (const weft::Sample& sample : *samples) {
    const std::vector<weft::Type> types = weft::SampleTypes(sample);
    weft::SymbolTable symbols;
    weft::OpArgs args;
    args.op = sample.op;
    args.types = types;
    args.attr_list = sample.attrs;
    args.symbols = &symbols;
    weft::InferTypes(args).status().IgnoreError();
  }
}

void RoundTrip(const weft::Module& module) {
  const std::string printed = weft::PrintModule(module);
  auto again = weft::ParseModule(printed, weft::ops::Registry());
  WEFT_CHECK(again.ok()) << again.status().ToString() << "\n" << printed;
  WEFT_CHECK(weft::PrintModule(**again) == printed) << printed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  auto module = weft::ParseModule(text, weft::ops::Registry());
  if (module.ok()) {
    RoundTrip(**module);
    return 0;
  }
  // The parser must find every fault that the verifier finds.
  WEFT_CHECK(!absl::StartsWith(module.status().message(), "<text>:1:1: verifier: "))
      << module.status().ToString();
  InferSamples(text);
  return 0;
}
