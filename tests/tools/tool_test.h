// Programs of tools/, run as users run them, each test in a folder of its own.
#ifndef WEFT_TESTS_TOOLS_TOOL_TEST_H_
#define WEFT_TESTS_TOOLS_TOOL_TEST_H_

#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace weft {

class ToolTest : public testing::Test {
 protected:
  // Two permutes that cancel out and a sine that stands twice, in in.weft.
  static constexpr char kModel[] = R"(
func @main(%x: f32[2, 3]) -> (f32[2, 3], f32[2, 3]) {
  %0 = permute(%x, dims=[1, 0]) loc("a")
  %1 = permute(%0, dims=[1, 0]) loc("b")
  %2 = sin(%1) loc("c")
  %3 = sin(%x) loc("d")
  return %2, %3
}
)";

  // `tool` is built as tools/<tool>.
  explicit ToolTest(std::string tool);

  // Runs the tool with these flags, as the shell reads them, in the folder; -1
  // unless it ends by itself. Its exit status; what it prints goes to out_ and
  // err_.
  int Run(const std::string& flags);
  // The same in `below`, a folder in the folder, as `bazel run` does: the user is
  // in the folder itself.
  int RunFrom(const std::string& below, const std::string& flags);

  // Another tool, in the folder.
  int RunOther(const std::string& tool, const std::string& flags);

  std::string Read(const std::string& name) const;
  void Write(const std::string& name, const std::string& text) const;
  bool Exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }

  std::filesystem::path folder_;
  std::string out_;
  std::string err_;

 private:
  std::string tool_;
};

}  // namespace weft

#endif  // WEFT_TESTS_TOOLS_TOOL_TEST_H_
