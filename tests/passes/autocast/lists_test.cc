// Lists of ops for autocast as text: the built-in ones, round trips, and errors that name their
// place.
#include "passes/autocast/lists.h"

#include <string>

#include "gmock/gmock.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(AutocastLists, BuiltInOnesParseAndPrintBack) {
  for (const absl::string_view name : BuiltinAutocastLists()) {
    const absl::StatusOr<AutocastLists> lists = LoadAutocastLists(name);
    ASSERT_TRUE(lists.ok()) << name << ": " << lists.status();
    EXPECT_EQ(lists->name, name);
    const std::string text = ToText(*lists);
    const absl::StatusOr<AutocastLists> again = LoadAutocastLists(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(ToText(*again), text);
  }
}

TEST(AutocastLists, FillTheTable) {
  const absl::StatusOr<AutocastLists> lists = LoadAutocastLists(
      "# Mine.\nlists\n mine \"for tests\"; low matmul, linear(0, 1)\nf32 exp widest "
      "batch_norm(0)");
  ASSERT_TRUE(lists.ok()) << lists.status();
  EXPECT_EQ(ToText(*lists),
            "lists mine \"for tests\"\nlow matmul, linear(0, 1)\nf32 exp\nwidest batch_norm(0)\n");
  ASSERT_NE(lists->Find(ops::linear), nullptr);
  EXPECT_EQ(lists->Find(ops::linear)->role, CastRole::kLow);
  EXPECT_THAT(lists->Find(ops::linear)->operands, ElementsAre(0, 1));
  EXPECT_THAT(lists->Find(ops::matmul)->operands, IsEmpty());
  EXPECT_EQ(lists->Find(ops::exp)->role, CastRole::kF32);
  EXPECT_EQ(lists->Find(ops::relu), nullptr);
}

std::string ErrorOf(absl::string_view text) {
  const absl::StatusOr<AutocastLists> lists = ParseAutocastLists(text, "l.txt", ops::Registry());
  return lists.ok() ? "parsed" : std::string(lists.status().message());
}

TEST(AutocastLists, ErrorsNameTheirPlace) {
  EXPECT_THAT(ErrorOf("low matmul"), HasSubstr("l.txt:1:1"));
  EXPECT_THAT(ErrorOf("lists"), HasSubstr("the lists' name"));
  EXPECT_THAT(ErrorOf("lists a\nlow matmul, lineer"),
              HasSubstr("l.txt:2:13: no op lineer, did you mean \"linear\"?"));
  EXPECT_THAT(ErrorOf("lists a\nlow matmul\nf32 exp, matmul"),
              HasSubstr("l.txt:3:10: matmul stands on a list above"));
  EXPECT_THAT(ErrorOf("lists a low matmul(2)"), HasSubstr("matmul has no operand 2"));
  EXPECT_THAT(ErrorOf("lists a low matmul(99999999999999999999)"), HasSubstr("l.txt:1:"));
  EXPECT_THAT(ErrorOf("lists a low matmul(0"), HasSubstr("l.txt:1:"));
  EXPECT_THAT(ErrorOf("lists a narrow matmul"), HasSubstr("expected low, f32 or widest"));
  EXPECT_THAT(ErrorOf("lists a \"open"), HasSubstr("l.txt:1:"));
}

}  // namespace
}  // namespace weft
