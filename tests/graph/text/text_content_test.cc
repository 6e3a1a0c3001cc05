// Modules as text with large constants by content id.
#include "graph/text/text_content.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

HostTensor Iota(DType dtype, int64_t n) {
  HostTensor tensor(dtype, {n});
  std::vector<int64_t> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(i % 7);
  tensor.WriteInts(values);
  return tensor;
}

// A small constant, and two large ones of which the second comes first in the store.
std::unique_ptr<Module> Sample() {
  return Parse(R"(
func @main(%x: f32[s0, 20], %b: f32[20] {param="b", initial=@c1}) -> (f32[s0, 20]) where s0 <= 64 {
  %0 = constant(@c0) : f32[20]
  %1 = constant("two" dense<2.0>) : f32[]
  %2 = mul(%x, %0) : f32[s0, 20]  loc("fc/mul")
  %3 = mul(%2, %1) : f32[s0, 20]
  %4 = add(%3, %b) : f32[s0, 20]
  return %4
}
constants {
  @c0 "scale" : f32[20] = dense<3.0>
  @c1 "bias" : f32[20] = dense<0.5>
}
)");
}

HostTensor Find(const Module& module, uint64_t id) {
  for (int i = 0; i < module.constants().size(); ++i) {
    if (module.constants().tensor(i).Fingerprint() == id) return module.constants().tensor(i);
  }
  return HostTensor();
}

TEST(TextContent, PrintsIdsAndParsesBack) {
  const auto module = Sample();
  const ContentText printed = PrintModuleByContent(*module);
  ASSERT_EQ(printed.constants.size(), 2u);
  for (const ContentText::Constant& constant : printed.constants) {
    const HostTensor& tensor = module->constants().tensor(constant.index);
    EXPECT_EQ(tensor.Fingerprint(), constant.id);
    EXPECT_THAT(printed.text, HasSubstr(absl::StrCat(" : f32[20] = content 0x",
                                                     absl::Hex(constant.id, absl::kZeroPad16))));
  }
  EXPECT_THAT(printed.text, Not(HasSubstr("base64")));
  EXPECT_THAT(printed.text, HasSubstr("constant(\"two\" dense<2.0>)"));
  const auto find = [&](uint64_t id, Type) { return Find(*module, id); };
  const auto again = ParseModuleByContent(printed.text, ops::Registry(), find);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintModule(**again), PrintModule(*module));
  EXPECT_EQ(PrintModuleByContent(**again).text, printed.text);
}

TEST(TextContent, LeavesOutLocationsOnRequest) {
  PrintOptions options;
  options.locations = false;
  EXPECT_THAT(PrintModuleByContent(*Sample()).text, HasSubstr("loc(\"fc/mul\")"));
  EXPECT_THAT(PrintModuleByContent(*Sample(), options).text, Not(HasSubstr("loc(")));
}

TEST(TextContent, RefusesOtherConstants) {
  const auto module = Sample();
  const std::string text = PrintModuleByContent(*module).text;
  const auto error = [&](const std::string& from, const HostTensor& given) {
    const auto give = [&](uint64_t, Type) { return given; };
    return std::string(ParseModuleByContent(from, ops::Registry(), give, "m").status().message());
  };
  EXPECT_THAT(error(text, HostTensor()), HasSubstr("there is no constant of content 0x"));
  EXPECT_THAT(error(text, Iota(DType::kF32, 20)), HasSubstr("is another tensor, a f32[20]"));
  EXPECT_THAT(error(text, Iota(DType::kI32, 20)), HasSubstr("is another tensor, a i32[20]"));
  EXPECT_THAT(error(absl::StrReplaceAll(text, {{"content 0x", "content x"}}), HostTensor()),
              HasSubstr("expected a content id of up to 16 hexadecimal digits"));
  EXPECT_THAT(error(absl::StrReplaceAll(text, {{": f32[20] = content", ": f32[s9] = content"}}),
                    HostTensor()),
              HasSubstr("a constant is a tensor of a static shape"));
  // Without a source.
  EXPECT_THAT(std::string(ParseModule(text, ops::Registry(), "m").status().message()),
              HasSubstr("is in another file; this text has its id alone"));
}

}  // namespace
}  // namespace weft
