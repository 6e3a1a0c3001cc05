#include "passes/engine/remarks/name_filter.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::HasSubstr;

struct Case {
  const char* regex;
  std::vector<const char*> matches;  // As a whole.
  std::vector<const char*> refuses;
};

TEST(NameFilterTest, Grammar) {
  const Case cases[] = {
      {"", {""}, {"a"}},
      {"abc", {"abc"}, {"ab", "abcd", ""}},
      {"a.c",
       {"abc", "a.c",
        "a\xff"
        "c"},
       {"a\nc", "ac"}},
      {"a|bc|d", {"a", "bc", "d"}, {"ac", "b", ""}},
      {"(a|b)*c", {"c", "abbac"}, {"ab", "abd"}},
      {"(?:ab)+", {"ab", "abab"}, {"", "aba"}},
      {"ab?c", {"ac", "abc"}, {"abbc"}},
      {"a{3}", {"aaa"}, {"aa", "aaaa"}},
      {"a{2,}", {"aa", "aaaaa"}, {"a"}},
      {"a{1,3}b", {"ab", "aab", "aaab"}, {"b", "aaaab"}},
      {"a{0}b", {"b"}, {"ab"}},
      {"(a{2}|b){2}", {"aaaa", "bb", "aab", "baa"}, {"aa", "b", "ab"}},
      {"a*?b", {"b", "aab"}, {"a"}},
      {"[a-c_]+", {"abc_"}, {"abcd", ""}},
      {"[^a-c]", {"d", "\n"}, {"a"}},
      {"[]a]", {}, {"a", "]", "]a]"}},
      {"[a-]", {"a", "-"}, {"b"}},
      {"[\\d\\-x]+", {"1-x"}, {"a"}},
      {"\\w+\\.\\d\\s\\S", {"ab_1.2 x"}, {"ab.x y"}},
      {"\\x41\\n\\(", {"A\n("}, {"x41"}},
      {"^a$", {"a"}, {"ab"}},
      {"a^b", {}, {"ab", "a^b"}},
      {"mul\\b.*", {"mul", "mul-one"}, {"mul_one"}},
      {"missed:fold_constants|passed:.*", {"missed:fold_constants", "passed:"}, {"missed:"}},
  };
  for (const Case& c : cases) {
    auto filter = NameFilter::Parse(c.regex);
    ASSERT_TRUE(filter.ok()) << c.regex << ": " << filter.status();
    for (const char* text : c.matches) EXPECT_TRUE(filter->Matches(text)) << c.regex << " " << text;
    for (const char* text : c.refuses) {
      EXPECT_FALSE(filter->Matches(text)) << c.regex << " " << text;
    }
  }
}

TEST(NameFilterTest, FindsParts) {
  const auto finds = [](const char* regex, const char* text) {
    return NameFilter::Parse(regex)->Finds(text);
  };
  EXPECT_TRUE(finds("b+", "abba"));
  EXPECT_TRUE(finds("", "a"));
  EXPECT_TRUE(finds("a$", "ba"));
  EXPECT_FALSE(finds("^a", "ba"));
  EXPECT_TRUE(finds("fold.permute", "passed:canonicalize.fold.permute"));
  EXPECT_TRUE(finds("\\bfold", "x.fold"));
  EXPECT_FALSE(finds("\\Bfold", "x.fold"));
}

TEST(NameFilterTest, ErrorsSayWhatAndWhere) {
  const std::pair<std::string, const char*> cases[] = {
      {"(", "a '(' is not closed (character 1)"},
      {"a)", "a ')' closes nothing (character 2)"},
      {"a[b", "a '[' is not closed (character 2)"},
      {"*a", "a quantifier follows nothing (character 1)"},
      {"a**", "a quantifier follows another (character 3)"},
      {"^*", "a place cannot be repeated"},
      {"a{2,1}", "a count is {m}, {m,} or {m,n}, up to 1000"},
      {"a{1001}", "a count is"},
      {"a{", "a count is"},
      {"[z-a]", "the ends of a range are no range"},
      {"\\", "a '\\' ends it"},
      {"(a)\\1", "back-references are not supported"},
      {"(?=a)", "look-ahead is not supported"},
      {"[[:alpha:]]", "classes with names are not supported"},
      {"\\q", "the escape is not known"},
      {"((a{1000}){1000}){1000}", "more than 10000 states"},
      {std::string(50000, '('), "more than 1000 characters"},
      {std::string(500, '('), "more than 100 groups nest"},
  };
  for (const auto& [regex, message] : cases) {
    const absl::Status status = NameFilter::Parse(regex).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << regex;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
    EXPECT_LT(status.message().size(), 200u);
  }
}

// A matcher that backtracks takes longer than the universe has lasted.
TEST(NameFilterTest, TakesLinearTime) {
  const std::string text(20000, 'a');
  for (const char* regex :
       {"(((((.*)*)*)*)*)*x", "(a|a)*b", "(a*)*c", "(a?){30}a{30}b", "(.*){50}z"}) {
    EXPECT_FALSE(NameFilter::Parse(regex)->Matches(text)) << regex;
    EXPECT_FALSE(NameFilter::Parse(regex)->Finds(text)) << regex;
  }
}

}  // namespace
}  // namespace weft
