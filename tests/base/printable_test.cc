#include "base/printable.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace weft {
namespace {

using Cases = std::vector<std::pair<absl::string_view, absl::string_view>>;

TEST(PrintableTest, WritesOutWhatATerminalObeys) {
  const Cases cases = {
      {"", ""},
      {"conv_1/relu", "conv_1/relu"},
      {"\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80", "\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80"},
      {"\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"},
      {"a\rb\x07\x7f", "a\\u000db\\u0007\\u007f"},
      {"\xc2\x9b"
       "31m",
       "\\u009b31m"},
      {"line\xe2\x80\xa8separator", "line\\u2028separator"},
      {"\xe2\x80\xaegnp.exe", "\\u202egnp.exe"},
      {absl::string_view("a\0b", 3), "a\\u0000b"},
  };
  for (const auto& [raw, shown] : cases) EXPECT_EQ(Printable(raw), shown);
}

TEST(PrintableTest, BytesThatAreNotUtf8) {
  const Cases cases = {
      {"\x9b", "\\x9b"},  // C1 in Latin-1.
      {"\xff\xfe", "\\xff\\xfe"},
      {"\xc3", "\\xc3"},  // Cut.
      {"\xe4\xb8", "\\xe4\\xb8"},
      {"\xc3(", "\\xc3("},
      {"\xc0\x9b", "\\xc0\\x9b"},           // Overlong ESC.
      {"\xe0\x82\x9b", "\\xe0\\x82\\x9b"},  // Overlong C1.
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // Half of a surrogate pair.
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
  };
  for (const auto& [raw, shown] : cases) EXPECT_EQ(Printable(raw), shown);
}

TEST(PrintableTest, OnlyNamesLoseTheirNewlines) {
  EXPECT_EQ(Printable("a\n\tb"), "a\n\tb");
  EXPECT_EQ(PrintableName("a\n\tb"), "a\\u000a\\u0009b");
}

TEST(PrintableTest, WhatIsPrintableStays) {
  for (const char* text : {"\x1b[m", "\x9b", "\xe2\x80\xae"}) {
    const std::string once = Printable(text);
    EXPECT_EQ(Printable(once), once);
  }
}

TEST(PrintableTest, UnfinishedBytes) {
  EXPECT_EQ(UnfinishedBytes(""), 0u);
  EXPECT_EQ(UnfinishedBytes("abc"), 0u);
  EXPECT_EQ(UnfinishedBytes("a\xc3"), 1u);
  EXPECT_EQ(UnfinishedBytes("a\xc3\xa9"), 0u);
  EXPECT_EQ(UnfinishedBytes("\xe4\xb8"), 2u);
  EXPECT_EQ(UnfinishedBytes("\xf0\x9f\x98"), 3u);
  EXPECT_EQ(UnfinishedBytes("\x80\x80\x80\x80"), 0u);
}

}  // namespace
}  // namespace weft
