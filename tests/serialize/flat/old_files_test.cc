// Files of all versions of the format are read.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/standalone/standalone.h"
#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/target/target_text.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_format.h"
#include "serialize/flat/weftb_module.h"
#include "serialize/flat/weftb_plan.h"
#include "tests/serialize/flat/sample_files.h"

namespace weft {
namespace {

constexpr char kFolder[] = "tests/serialize/flat/files/";

std::string Read(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// "1.0-plan" of each file whose name ends with `end`.
std::set<std::string> Names(const std::string& end) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (absl::EndsWith(name, end)) names.insert(name.substr(0, name.rfind('.')));
  }
  return names;
}

TEST(OldFiles, ModulesAreRead) {
  const std::set<std::string> names = Names(".weftb");
  EXPECT_GE(names.size(), 2u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto file = WeftbFile::Open(absl::StrCat(kFolder, name, ".weftb"));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE((*file)->CheckAll().ok()) << (*file)->CheckAll();
    EXPECT_TRUE(
        absl::StartsWith(name, absl::StrCat(kWeftbMajor, ".", (*file)->contents().minor, "-")));
    EXPECT_EQ((*file)->contents().producer, "weft test");
    const auto module = ReadModuleFromWeftb(**file, ops::Registry());
    ASSERT_TRUE(module.ok()) << module.status();
    // The text form may have changed since then.
    const auto want = ParseModule(Read(name + ".weft"), ops::Registry(), name);
    ASSERT_TRUE(want.ok()) << want.status();
    EXPECT_EQ(PrintModule(**module), PrintModule(**want));
  }
}

TEST(OldFiles, PlansAreReadAndRun) {
  const std::set<std::string> names = Names("-plan.weftb");
  EXPECT_GE(names.size(), 1u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto file = WeftbFile::Open(absl::StrCat(kFolder, name, ".weftb"));
    ASSERT_TRUE(file.ok()) << file.status();
    const WeftbContents& contents = (*file)->contents();
    EXPECT_EQ(contents.pipeline, "none");
    ASSERT_GE(contents.targets.size(), 1u);
    EXPECT_TRUE(ParseTarget(contents.targets[0].text).ok());
    WeftbPlanOptions read;
    read.instruction_sets = {"avx2"};
    auto plan = ReadPlanFromWeftb(**file, "main", "cpu", read);
    ASSERT_TRUE(plan.ok()) << plan.status();
    cpu::StandaloneOptions options;
    options.isa = "avx2";
    const auto program = cpu::Standalone::Create(*std::move(plan), options);
    ASSERT_TRUE(program.ok()) << program.status();
    const auto module = ParseModule(Read(name + ".weft"), ops::Registry(), name);
    ASSERT_TRUE(module.ok()) << module.status();
    for (const int64_t rows : {1, 7}) {
      HostTensor x(DType::kF32, {rows, 24});
      std::vector<double> values;
      for (int64_t i = 0; i < x.numel(); ++i) values.push_back(0.25 * static_cast<double>(i % 11));
      x.WriteDoubles(values);
      std::vector<HostTensor> got;
      const absl::Status ran = (*program)->Run({x}, &got);
      ASSERT_TRUE(ran.ok()) << ran;
      const auto want = reference::Run(*(*module)->main(), {x});
      ASSERT_TRUE(want.ok()) << want.status();
      ASSERT_EQ(got.size(), want->size());
      for (size_t i = 0; i < got.size(); ++i) {
        const std::vector<double> a = got[i].ReadDoubles();
        const std::vector<double> b = (*want)[i].ReadDoubles();
        EXPECT_THAT(a, testing::Pointwise(testing::DoubleNear(1e-6), b));
      }
    }
  }
}

// A writer whose bytes differ has a new minor version, or a reason.
TEST(OldFiles, ThePresentVersionIsWrittenAsItWas) {
  const auto sample = ModuleSample();
  ASSERT_TRUE(sample.ok()) << sample.status();
  const std::string name = absl::StrCat(kWeftbMajor, ".", kWeftbMinor, "-module");
  EXPECT_EQ(sample->text, Read(name + ".weft"));
  EXPECT_TRUE(sample->bytes == Read(name + ".weftb"));
}

}  // namespace
}  // namespace weft
