#include "serialize/pt2/guards.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/sym/sym_ops.h"
#include "gtest/gtest.h"

namespace weft::pt2 {
namespace {

absl::StatusOr<SymInt> Parse(absl::string_view text) {
  return ParseGuard(text, [](absl::string_view input, int64_t dim) -> absl::StatusOr<SymInt> {
    if (input == "gone") return absl::NotFoundError("no such input");
    return SymInt::Symbol(absl::StrCat(input, dim));
  });
}

std::string Text(absl::string_view text) {
  const auto value = Parse(text);
  return value.ok() ? value->ToString()
                    : std::string(absl::StatusCodeToString(value.status().code()));
}

const SymInt x0 = SymInt::Symbol("x0"), y1 = SymInt::Symbol("y1");

TEST(GuardsTest, ReadsComparisons) {
  EXPECT_EQ(*Parse("L['x'].size()[0] == L['y'].size()[1]"), Equal(x0, y1));
  EXPECT_EQ(*Parse("(2*L['x'].size()[0]) == ((-1) + L['y'].size()[1])"), Equal(2 * x0, y1 - 1));
  EXPECT_EQ(*Parse("(L['x'].size()[0] % 4) == 0"), Equal(Mod(x0, 4), 0));
  EXPECT_EQ(*Parse("L['x'].size()[0] // 4 != 1"), NotEqual(FloorDiv(x0, 4), 1));
  EXPECT_EQ(*Parse("L['x'].size()[0] >= 3"), GreaterEqual(x0, 3));
  EXPECT_EQ(*Parse("3 < L['x'].size()[0]"), Greater(x0, 3));
}

TEST(GuardsTest, ReadsLogic) {
  EXPECT_EQ(*Parse("1 < L['x'].size()[0] < 5"), And(Greater(x0, 1), Less(x0, 5)));
  EXPECT_EQ(*Parse("(L['x'].size()[0] == 1 or L['y'].size()[1] == 2)"),
            Or(Equal(x0, 1), Equal(y1, 2)));
  EXPECT_EQ(*Parse("not L['x'].size()[0] == 1 and L['y'].size()[1] > 2"),
            And(NotEqual(x0, 1), Greater(y1, 2)));
}

TEST(GuardsTest, PathsAreNamesOfInputs) {
  EXPECT_EQ(Text("L['a'][0].size()[2] <= 5"), "a_02 <= 5");
  EXPECT_EQ(Text("L['d'][\"key\"][1].size()[0] <= 5"), "d_key_10 <= 5");
}

TEST(GuardsTest, OthersAreLeftOut) {
  for (const char* text :
       {"", "L['x'].size()[0]", "L['x'].stride()[0] == 1", "L['flag'] == True", "L['x'",
        "x == L['x'].size()[0]", "L['x'].size()[0] == 1 or L['x'].size()[0]",
        "not L['x'].size()[0] == 1 and 2"}) {
    const auto value = Parse(text);
    EXPECT_FALSE(value.ok()) << text;
  }
  EXPECT_EQ(Text("L['gone'].size()[0] == 1"), "NOT_FOUND");
  EXPECT_EQ(Text("L['x'].stride()[0] == 1"), "UNIMPLEMENTED");
}

TEST(GuardsTest, NestingIsBounded) {
  EXPECT_FALSE(Parse(absl::StrCat(std::string(100000, '('), "L['x'].size()[0] == 1")).ok());
  EXPECT_FALSE(Parse(absl::StrCat(std::string(1000, '-'), "L['x'].size()[0] == 1")).ok());
}

}  // namespace
}  // namespace weft::pt2
