#include <string>

#include "gmock/gmock.h"
#include "graph/ir/attr.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/test_ops.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Sample> Parse(absl::string_view text) {
  auto samples = ParseSamples(text, test_ops::Registry());
  if (!samples.ok()) ADD_FAILURE() << samples.status();
  return samples.ok() ? *std::move(samples) : std::vector<Sample>();
}

std::string Error(absl::string_view text) {
  auto samples = ParseSamples(text, test_ops::Registry());
  if (samples.ok()) ADD_FAILURE() << "parsed: " << text;
  return std::string(samples.status().message());
}

TEST(Samples, ParsesOperandsAndAttributes) {
  const auto samples = Parse(R"(
      // A comment.
      softmax(f32[2, 3], dim=1)

      layer(f32[2], none, bf16[2])   // Another.
      full(size=[2, s0 // 2], value=2)
      cat(f32[1], f32[2], f32[3])
      range(symint[5])
      layer(f32[2])
  )");
  ASSERT_EQ(samples.size(), 6u);
  EXPECT_EQ(samples[0].op, &test_ops::softmax);
  EXPECT_EQ(samples[0].text, "softmax(f32[2, 3], dim=1)");
  EXPECT_EQ(samples[0].operands[0].type.ToString(), "f32[2, 3]");
  EXPECT_EQ((*samples[0].attrs)[0], AttrValue(1));
  EXPECT_TRUE(samples[0].expected_error.empty());
  EXPECT_EQ(samples[1].operands[1].type, Type());
  EXPECT_EQ((*samples[1].attrs)[0], AttrValue(1e-5));
  EXPECT_EQ((*samples[2].attrs)[0].ToString(), "[2, s0 // 2]");
  EXPECT_EQ((*samples[2].attrs)[1], AttrValue(2.0));
  EXPECT_EQ(samples[3].operands.size(), 3u);
  EXPECT_EQ(samples[4].operands[0].type, Type::Symbolic(5));
  EXPECT_EQ(samples[5].operands.size(), 3u);
}

TEST(Samples, ParsesValuesAndRanges) {
  const auto samples = Parse(R"(
      cat(i64[3]{0, -3, 1}, f32[2]{-0.5..1.5}, i64[2, 5]{0..3}, bool[2]{true, false}, f32[2]{nan, -inf}, f32[]{1e-3}, f32[5]{2, 7..})
  )");
  ASSERT_EQ(samples.size(), 1u);
  const auto& operands = samples[0].operands;
  EXPECT_THAT(operands[0].values, ElementsAre(0, -3, 1));
  EXPECT_TRUE(operands[1].values.empty());
  EXPECT_EQ(operands[1].min, -0.5);
  EXPECT_EQ(operands[1].max, 1.5);
  EXPECT_EQ(operands[2].min, 0);
  EXPECT_EQ(operands[2].max, 3);
  EXPECT_THAT(operands[3].values, ElementsAre(1, 0));
  EXPECT_THAT(operands[5].values, ElementsAre(1e-3));
  EXPECT_THAT(operands[6].values, ElementsAre(2, 7, 7, 7, 7));
  EXPECT_FALSE(operands[0].min.has_value());
}

TEST(Samples, ParsesExpectedErrors) {
  const auto samples = Parse(
      "softmax(f32[2, 3], dim=5) ! \"dim 5 is \\\"out\\\"\"\n"
      "softmax(f32[2, 3], dim=0)");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].expected_error, "dim 5 is \"out\"");
  EXPECT_EQ(samples[0].text, "softmax(f32[2, 3], dim=5) ! \"dim 5 is \\\"out\\\"\"");
  EXPECT_TRUE(samples[1].expected_error.empty());
}

TEST(Samples, ErrorsNameTheirPlace) {
  EXPECT_THAT(Error("\n  sofmax(f32[2])"), HasSubstr("<samples>:2:3: unknown op \"sofmax\""));
  EXPECT_THAT(Error("softmax(f32[2])"), HasSubstr("dim is missing"));
  EXPECT_THAT(Error("softmax(f32[2], axis=1)"), HasSubstr("no attribute"));
  EXPECT_THAT(Error("softmax(dim=1, f32[2])"), HasSubstr("before attributes"));
  EXPECT_THAT(Error("softmax(dim=1)"), HasSubstr("takes 1 operands, not 0"));
  EXPECT_THAT(Error("relu(none)"), HasSubstr("cannot be none"));
  EXPECT_THAT(Error("relu(symint[3])"), HasSubstr("cannot be symint[3]"));
  EXPECT_THAT(Error("relu(f32[2]{1, 2, 3})"), HasSubstr("3 values for f32[2]"));
  EXPECT_THAT(Error("relu(f32[2]{1, 2, 3..})"), HasSubstr("3 values for f32[2]"));
  EXPECT_THAT(Error("relu(f32[1000000000]{1, 2..})"), HasSubstr("2 values for f32[1000000000]"));
  EXPECT_THAT(Error("relu(f32[2]{3..1})"), HasSubstr("the range is empty"));
  EXPECT_THAT(Error("relu(f32[2]) ! 3"), HasSubstr("expected a string"));
  EXPECT_THAT(Error("relu(f32[2]"), HasSubstr("expected \")\""));
}

}  // namespace
}  // namespace weft
