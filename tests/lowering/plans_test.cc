// Golden plans. Each file of plans/ has functions and, in a file beside it with the suffix .plan,
// their plans. After an intended change, copy the files from the test's undeclared outputs
// (bazel-testlogs/.../outputs.zip, or --test_env=TEST_UNDECLARED_OUTPUTS_DIR=DIR).
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/memory_plan.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "tests/support/generic_target.h"

namespace weft {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Plans : public testing::TestWithParam<const char*> {};

TEST_P(Plans, AreAsWritten) {
  const std::string stem = absl::StrCat("tests/lowering/plans/", GetParam());
  const std::string source = ReadText(stem + ".weft");
  const auto module = ParseModule(source, ops::Registry(), stem + ".weft");
  ASSERT_TRUE(module.ok()) << module.status();
  std::string plans;
  for (const auto& function : (*module)->functions()) {
    const auto plan = Lower(*function, GenericTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    const std::string text = PrintPlan(*plan);
    EXPECT_TRUE(VerifyPlan(*plan).ok()) << VerifyPlan(*plan) << text;
    const auto parsed = ParsePlan(text, **module);
    ASSERT_TRUE(parsed.ok()) << parsed.status() << text;
    EXPECT_EQ(PrintPlan(*parsed), text);
    absl::StrAppend(&plans, plans.empty() ? "" : "\n", text);
  }
  if (const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR")) {
    std::ofstream(absl::StrCat(folder, "/", GetParam(), ".plan")) << plans;
  }
  EXPECT_EQ(plans, ReadText(stem + ".plan"));
}

INSTANTIATE_TEST_SUITE_P(Themes, Plans,
                         testing::Values("pointwise", "rows", "move", "library", "control",
                                         "write_backs"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft
