// Blame and dumps between passes.
#include "api/inspect/blame.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "api/compiler.h"
#include "api/inspect/dump.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kProgram[] = R"(func @main(%x: f32[2, 3, 4], %y: f32[2, 2]) {
  %0 = permute(%x, dims=[1, 2, 0]) loc("first")
  %1 = matmul(%0, %y) loc("second")
  %2 = permute(%1, dims=[1, 2, 0]) loc("third")
  %3 = permute(%2, dims=[1, 2, 0]) loc("fourth")
  %4 = permute(%3, dims=[0, 2, 1]) loc("fifth")
  return %4
})";

class BlameTest : public testing::Test {
 protected:
  BlameTest() {
    auto module = ParseModule(kProgram, ops::Registry());
    EXPECT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
  }
  std::unique_ptr<Module> module_;
};

TEST_F(BlameTest, TellsTheWholeStory) {
  CompileOptions options;
  options.passes = "canonicalize";
  ASSERT_TRUE(Compile(*module_, options).ok());
  ASSERT_EQ(module_->num_nodes(), 3) << PrintModule(*module_);
  auto product = Blame(*module_, "%1");
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_EQ(*product,
            "@main %1 = matmul : f32[3, 4, 2]\n"
            "  stands for \"second\"\n"
            "  as it came with the program\n");
  auto last = Blame(*module_, "@main:%2");
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_THAT(*last, HasSubstr("@main %2 = permute : f32[2, 4, 3]\n  stands for "));
  EXPECT_THAT(*last, HasSubstr("\"third\""));
  EXPECT_THAT(*last, HasSubstr("rewrite 1: canonicalize, rule permute"));
  EXPECT_THAT(*last, HasSubstr(", from permute (node "));
  EXPECT_EQ(*Blame(*module_, "fifth"), *last);
  auto all = Blame(*module_, "all");
  ASSERT_TRUE(all.ok());
  EXPECT_THAT(*all, HasSubstr("@main %1 = matmul : f32[3, 4, 2]  [second]  as it came\n"));
  EXPECT_THAT(*all, HasSubstr("@main %2 = permute : f32[2, 4, 3]  ["));
}

TEST_F(BlameTest, ErrorsNameWhatIsMissing) {
  EXPECT_EQ(Blame(*module_, "%9").status().message(), "no node has the value %9 in @main");
  EXPECT_EQ(Blame(*module_, "@f:%0").status().message(), "no node has the value %0 in @f");
  EXPECT_EQ(Blame(*module_, "@main").status().message(),
            "\"@main\" is not a value like %12 or @main:%12");
  EXPECT_EQ(Blame(*module_, "sixth").status().message(), "no node stands for \"sixth\"");
}

TEST_F(BlameTest, DumpsBeforeAndAfterByName) {
  const fs::path folder = fs::path(testing::TempDir()) / "dumps";
  fs::remove_all(folder);
  DumpOptions dump;
  dump.before = {"ca.*"};
  dump.after = {"changed", "fixpoint.*dce"};
  dump.folder = folder.string();
  auto dumper = ModuleDumper::Create(dump, BuiltinPasses());
  ASSERT_TRUE(dumper.ok()) << dumper.status();
  CompileOptions options;
  options.passes = "dce,fixpoint(canonicalize,dce)";
  options.before_pass = [&](const PassReport& report, const Module& module) {
    return dumper->Before(report, module);
  };
  options.after_pass = [&](const PassReport& report, const Module& module) {
    return dumper->After(report, module);
  };
  ASSERT_TRUE(Compile(*module_, options).ok());
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("0001.fixpoint.1.canonicalize.after.weft",
                                 "0001.fixpoint.1.canonicalize.before.weft",
                                 "0002.fixpoint.1.dce.after.weft"));
}

TEST(DumpTest, ErrorsNameTheFlag) {
  const auto error = [](DumpOptions options) {
    return std::string(ModuleDumper::Create(options, BuiltinPasses()).status().message());
  };
  EXPECT_EQ(error({{}, {"dec"}}), "--print-after: unknown pass \"dec\", did you mean \"dce\"?");
  EXPECT_EQ(error({{"("}, {}}),
            "--print-before: \"(\" is not a regular expression: a '(' is not closed (character 1)");
  EXPECT_EQ(error({{"changed"}, {}}),
            "--print-before: before a pass it is not known whether it changes something");
}

}  // namespace
}  // namespace weft
