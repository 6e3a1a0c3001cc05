#include "tests/tools/tool_test.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {

namespace fs = std::filesystem;

ToolTest::ToolTest(std::string tool) : tool_(std::move(tool)) {
  unsetenv("BUILD_WORKING_DIRECTORY");
  folder_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  Write("in.weft", kModel);
}

int ToolTest::Run(const std::string& flags) { return RunFrom(".", flags); }

int ToolTest::RunOther(const std::string& tool, const std::string& flags) {
  const std::string own = std::exchange(tool_, tool);
  const int status = Run(flags);
  tool_ = own;
  return status;
}

int ToolTest::RunFrom(const std::string& below, const std::string& flags) {
  const fs::path program =
      fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") / "tools" / tool_;
  const fs::path scratch = fs::path(testing::TempDir());
  fs::create_directories(folder_ / below);
  const std::string user =
      below == "." ? "" : absl::StrCat("BUILD_WORKING_DIRECTORY='", folder_.string(), "' ");
  const int status =
      std::system(absl::StrCat("cd '", (folder_ / below).string(), "' && ", user, "'",
                               program.string(), "' ", flags, " > '", (scratch / "out").string(),
                               "' 2> '", (scratch / "err").string(), "'")
                      .c_str());
  out_ = Read((scratch / "out").string());
  err_ = Read((scratch / "err").string());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string ToolTest::Read(const std::string& name) const {
  std::ifstream file(folder_ / name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void ToolTest::Write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name) << text;
}

}  // namespace weft
