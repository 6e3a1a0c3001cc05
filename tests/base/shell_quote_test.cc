#include "base/shell_quote.h"

#include <array>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

// The word as the shell parses it.
std::string AsTheShellReads(const std::string& word) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen(absl::StrCat("printf %s ", word).c_str(), "r"), pclose);
  std::array<char, 256> buffer;
  const size_t size = fread(buffer.data(), 1, buffer.size(), pipe.get());
  return std::string(buffer.data(), size);
}

TEST(ShellQuoteTest, TheShellReadsTheText) {
  for (const char* text : {"model.weft", "/tmp/a b.weft", "o'neil", "x';touch pwned;'",
                           "$HOME `id`", "a\nb", "*", "~", "", "\\", "\"", "'", "!x", "a;b|c&d"}) {
    EXPECT_EQ(AsTheShellReads(ShellQuote(text)), text);
  }
}

TEST(ShellQuoteTest, PlainTextStays) {
  EXPECT_EQ(ShellQuote("dir/model-1.weft"), "dir/model-1.weft");
  EXPECT_EQ(ShellQuote("a b"), "'a b'");
}

}  // namespace
}  // namespace weft
