// One test for each case of each .weft file in the folders of tests/golden.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "passes/pipelines.h"
#include "tests/golden/runner.h"

namespace weft::golden {
namespace {

std::vector<std::string> GoldenFiles() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/golden")) {
    if (entry.path().extension() == ".weft") {
      paths.push_back(entry.path().generic_string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class GoldenTest : public testing::Test {
 public:
  GoldenTest(const File* file, const Case* test) : file_(file), test_(test) {}
  void TestBody() override {
    const absl::Status status = RunCase(*file_, *test_);
    EXPECT_TRUE(status.ok()) << status.message();
  }

 private:
  const File* file_;
  const Case* test_;
};

TEST(GoldenFiles, EveryPassHasOne) {
  std::set<std::string> folders;
  for (const std::string& path : GoldenFiles()) {
    folders.insert(std::filesystem::path(path).parent_path().filename().string());
  }
  for (const std::string& pass : BuiltinPasses().PassNames()) {
    EXPECT_THAT(folders, testing::Contains(pass));
  }
}

// The runner itself: what it must refuse.

Case MakeCase(std::string input, std::string expected) {
  Case test;
  test.name = "f";
  test.input = std::move(input);
  test.expected = std::move(expected);
  test.has_expectation = true;
  return test;
}

std::string Refusal(const std::string& pipeline, const Case& test) {
  File file;
  file.path = "made_up.weft";
  file.pipeline = pipeline;
  return std::string(RunCase(file, test).message());
}

constexpr char kTwice[] = R"(
func @f(%x: f32[4]) -> (f32[4], f32[4]) {
  %0 = neg(%x) : f32[4]
  %1 = neg(%x) : f32[4]
  return %0, %1
})";
constexpr char kOnce[] = R"(
func @f(%x: f32[4]) -> (f32[4], f32[4]) {
  %0 = neg(%x) : f32[4]
  return %0, %0
})";

TEST(GoldenRunner, AcceptsTheRightResult) {
  EXPECT_EQ(Refusal("cse", MakeCase(kTwice, kOnce)), "");
  EXPECT_EQ(Refusal("cse", MakeCase(kOnce, "")), "");
}

TEST(GoldenRunner, RefusesAnotherResult) {
  using testing::HasSubstr;
  EXPECT_THAT(Refusal("none", MakeCase(kTwice, kOnce)), HasSubstr("result: expected"));
  EXPECT_THAT(Refusal("cse", MakeCase(kTwice, "")), HasSubstr("result: expected"));
  EXPECT_THAT(Refusal("cse", MakeCase("func @f(", "")), HasSubstr("input: "));
  EXPECT_THAT(Refusal("csx", MakeCase(kTwice, kOnce)), HasSubstr("no pass or pipeline"));
  Case test = MakeCase(kTwice, kOnce);
  test.notes = {"// counters: merged=2"};
  EXPECT_THAT(Refusal("cse", test), HasSubstr("merged is 1"));
  test.notes = {"// remark: hello"};
  EXPECT_THAT(Refusal("cse", test), HasSubstr("no remark has \"hello\""));
  test.has_expectation = false;
  EXPECT_THAT(Refusal("cse", test), HasSubstr("missing"));
}

void RegisterCases() {
  for (const std::string& path : GoldenFiles()) {
    auto file = ReadFile(path);
    if (!file.ok()) {
      testing::RegisterTest("Golden", path.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [path]() -> testing::Test* {
                              static File bad;
                              bad.path = path;
                              static Case none;
                              return new GoldenTest(&bad, &none);
                            });
      continue;
    }
    // The tests refer to it for as long as the process lives.
    static auto& files = *new std::deque<File>;
    files.push_back(*std::move(file));
    const File* kept = &files.back();
    std::filesystem::path stem(path);
    for (const Case& test : kept->cases) {
      const std::string suite = absl::StrCat("Golden.", stem.parent_path().filename().string(), ".",
                                             stem.stem().string());
      testing::RegisterTest(
          suite.c_str(), test.name.c_str(), nullptr, nullptr, path.c_str(), test.line,
          [kept, &test]() -> testing::Test* { return new GoldenTest(kept, &test); });
    }
  }
}

}  // namespace
}  // namespace weft::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  weft::golden::RegisterCases();
  return RUN_ALL_TESTS();
}
