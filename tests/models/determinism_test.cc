// Compiles of one model in several processes, with salted hashing and 1 or 2
// threads, give equal bytes. determinism.sh does the work; here it runs a few
// times over examples/ and, where they lie beside the checkout, over the networks
// of other projects, and is shown programs whose output it must refuse.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

fs::path Runfile(const std::string& path) {
  return fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") / path;
}

// Folders of networks beside the checkout, found through the real path of a file
// in it.
fs::path Shared() {
  return fs::canonical(Runfile("WORKSPACE")).parent_path().parent_path() / "shared";
}

bool KernelRandomisesAddresses() {
  std::ifstream file("/proc/sys/kernel/randomize_va_space");
  int level = 0;
  return file >> level && level > 0;
}

class DeterminismTest : public testing::Test {
 protected:
  // Exit status; what the script says goes to output_.
  int Check(const std::string& arguments) {
    const std::string log = absl::StrCat(testing::TempDir(), "/determinism.log");
    const int status =
        std::system(absl::StrCat("'", Runfile("tests/models/determinism.sh").string(), "' ",
                                 arguments, " > '", log, "' 2>&1")
                        .c_str());
    std::ifstream file(log);
    std::ostringstream text;
    text << file.rdbuf();
    output_ = text.str();
    return WEXITSTATUS(status);
  }
  int CheckModels(int runs, const std::string& models) {
    return Check(
        absl::StrCat("--runs=", runs, " --opt='", Runfile("tools/opt").string(), "' ", models));
  }
  // A program in the place of opt: a shell command.
  int CheckProgram(const std::string& body) {
    const std::string path = absl::StrCat(testing::TempDir(), "/program.sh");
    std::ofstream(path) << "#!/usr/bin/env bash\n" << body << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return Check(absl::StrCat("--runs=3 --opt='", path, "' a.onnx"));
  }

  std::string output_;
};

TEST_F(DeterminismTest, ExamplesGiveEqualBytes) {
  const int status = CheckModels(4, Runfile("examples").string() + "/*.onnx");
  if (status == 3 && !KernelRandomisesAddresses()) {
    GTEST_SKIP() << "addresses are not randomised here, so hashes have one salt";
  }
  EXPECT_EQ(status, 0) << output_;
  EXPECT_THAT(output_, HasSubstr("2 models, 4 runs each"));
}

TEST_F(DeterminismTest, NetworksGiveEqualBytes) {
  for (const char* folder : {"models/models", "pt2"}) {
    const fs::path models = Shared() / folder;
    if (!fs::exists(models)) {
      GTEST_SKIP() << models << " is not there; it holds models of other projects";
    }
    const int status = CheckModels(2, absl::StrCat("'", models.string(), "'"));
    if (status == 3 && !KernelRandomisesAddresses()) {
      GTEST_SKIP() << "addresses are not randomised here, so hashes have one salt";
    }
    EXPECT_EQ(status, 0) << output_;
  }
}

TEST_F(DeterminismTest, OtherBytesAreFound) {
  EXPECT_EQ(CheckProgram("echo $OMP_NUM_THREADS; echo \"\\\"hash_salt\\\": \\\"$$\\\"\" >&2"), 1);
  EXPECT_THAT(output_, HasSubstr("run 2 differs from the first"));
}

TEST_F(DeterminismTest, OneSaltShowsNothing) {
  EXPECT_EQ(CheckProgram("echo a; echo '\"hash_salt\": \"17\"' >&2"), 3);
  EXPECT_THAT(output_, HasSubstr("1 models, 3 runs each, 1 salts: 0 differ"));
}

TEST_F(DeterminismTest, ModelsThatDoNotCompileAreErrors) {
  EXPECT_EQ(CheckProgram("echo 'opt: error: no' >&2; exit 2"), 2);
  EXPECT_THAT(output_, HasSubstr("opt: error: no"));
  EXPECT_EQ(Check("--rnus=3 a.onnx"), 2);
}

}  // namespace
}  // namespace weft
