// Every case of suites that others wrote, as a test of its own: on the reference as
// imported and again after the default pipeline, on the CPU executor after its own
// pipeline as well, there also through compiled files, whose bits must be those of
// sessions, with one plan and with the narrower of two, and on the CUDA executor
// with an emulated driver.
//
// The ONNX suite comes from Debian's libonnx-testdata. A folder of networks and
// fixtures beside the checkout (../shared/models) and one of torch.export
// programs (../shared/pt2) are tested when they are there.
// exceptions.txt lists the cases that are not expected to pass, with the
// reason; one that passes after all must leave the list.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tools/conformance/case.h"
#include "tools/conformance/pt2_case.h"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kOnnxSuite[] = "/usr/share/libonnx-testdata/data";

fs::path Runfile(const std::string& path) {
  return fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") / path;
}

// The checkout, found through the real path of a file in it.
fs::path Checkout() { return fs::canonical(Runfile("WORKSPACE")).parent_path(); }

std::map<std::string, std::string> Exceptions() {
  std::map<std::string, std::string> exceptions;
  std::ifstream file(Runfile("tests/conformance/exceptions.txt"));
  std::string line;
  while (std::getline(file, line)) {
    const size_t space = line.find(' ');
    if (line.empty() || line[0] == '#') continue;
    exceptions[line.substr(0, space)] = line.substr(space + 1);
  }
  return exceptions;
}

struct Setting {
  const char* target;
  const char* passes;
  const char* through = "";
  // Every `step`-th case, for time: `conformance` runs them all.
  size_t step = 1;
  // The machine that is simulated: files have plans for several then.
  const char* cpu = "";
};
constexpr Setting kSettings[] = {
    {"reference", "none"},
    {"reference", "default"},
    {"cpu", "none"},
    {"cpu", "default"},
    {"cpu", "cpu"},
    {"cpu", "cpu", "weftb", 4},
    {"cpu", "cpu", "so", 20},
    {"cpu", "cpu", "weftb", 4, "avx2"},
    {"cpu", "cpu", "so", 40, "avx2"},
    {"cuda", "cpu", "", 4},
};

struct SuiteCase {
  Case c;
  Setting setting;
};

std::vector<SuiteCase> AllCases() {
  std::vector<Case> cases = FindCases(kOnnxSuite);
  const fs::path models = Checkout().parent_path() / "shared" / "models";
  if (fs::exists(models)) {
    for (Case& c : FindCases(models.string())) cases.push_back(std::move(c));
  } else {
    std::cerr << "skipped: " << models
              << " is not there; it holds networks and fixtures of other "
                 "projects that are not part of this one\n";
  }
  const fs::path programs = Checkout().parent_path() / "shared" / "pt2";
  for (Case& c : FindPt2Cases(programs.string())) cases.push_back(std::move(c));
  std::vector<SuiteCase> all;
  for (const Setting& setting : kSettings) {
    for (size_t i = 0; i < cases.size(); i += setting.step) all.push_back({cases[i], setting});
  }
  return all;
}

class Suite : public testing::TestWithParam<SuiteCase> {};

TEST_P(Suite, AsExpected) {
  static const auto& exceptions = *new auto(Exceptions());
  CaseOptions options;
  options.target.target = GetParam().setting.target;
  options.pipeline.passes = GetParam().setting.passes;
  options.through = GetParam().setting.through;
  const std::string cpu = GetParam().setting.cpu;
  if (!cpu.empty()) options.target.options["cpu"] = cpu;
  if (options.target.target == "cuda") options.target.options["cuda-driver"] = "emulated";
  const CaseResult result = RunCaseIsolated(GetParam().c, options);
  // A line for one target is about rounding: the case may pass or not, by instruction set.
  const auto rounding =
      exceptions.find(absl::StrCat(options.target.target, ":", GetParam().c.name));
  if (rounding != exceptions.end()) {
    EXPECT_EQ(result.message.find("crashed"), std::string::npos) << result.message;
    return;
  }
  auto exception = exceptions.find(GetParam().c.name);
  if (exception == exceptions.end()) {
    EXPECT_EQ(result.outcome, Outcome::kPassed) << result.message;
  } else {
    EXPECT_NE(result.outcome, Outcome::kPassed)
        << "passes, but exceptions.txt says: " << exception->second;
    EXPECT_EQ(result.message.find("crashed"), std::string::npos) << result.message;
  }
}

std::string TestName(const testing::TestParamInfo<SuiteCase>& info) {
  const Setting& setting = info.param.setting;
  std::string name = absl::StrCat(setting.target, "_", setting.passes, "_", setting.through, "_",
                                  setting.cpu, "_", info.param.c.name);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
      '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, Suite, testing::ValuesIn(AllCases()), TestName);

}  // namespace
}  // namespace weft::tools
