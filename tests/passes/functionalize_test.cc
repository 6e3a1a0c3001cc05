// Errors of functionalize, and other passes on modules with writes.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"

namespace weft {
namespace {

using testing::HasSubstr;

std::unique_ptr<Module> Parse(const std::string& text) {
  auto module = ParseModule(text, ops::Registry());
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

absl::Status RunPasses(const std::string& passes, Module& module,
                       std::vector<Remark>* remarks = nullptr, PipelineReport* report = nullptr) {
  auto pipeline = Pipeline::Parse(passes, BuiltinPasses());
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  PassContext::Options options;
  options.remarks = true;
  PassContext context(options);
  absl::Status status = PassManager(*std::move(pipeline)).Run(module, context, report);
  if (remarks != nullptr) *remarks = context.TakeRemarks();
  return status;
}

std::string Refusal(const std::string& body) {
  auto module =
      Parse(absl::StrCat("func @main(%p: bool[], %x: f32[3]) {\n", body, "\nreturn %x\n}"));
  return std::string(RunPasses("functionalize", *module).message());
}

TEST(Functionalize, RefusesWritesToElementsShownTwice) {
  EXPECT_THAT(Refusal("%0 = expand(%x, size=[2, 3])\n"
                      "%1 = neg(%0)\n"
                      "%2 = copy_(%0, %1)"),
              HasSubstr("@main, node 3 (copy_): expand of f32[3] to [2, 3] "
                        "shows elements more than once"));
  EXPECT_THAT(Refusal("%0 = unfold(%x, dimension=0, size=2, step=1)\n"
                      "%1 = copy_(%0, %0)"),
              HasSubstr("node 2 (copy_): windows of unfold overlap"));
  EXPECT_THAT(Refusal("%0 = as_strided(%x, size=[2, 2], stride=[1, 1])\n"
                      "%1 = copy_(%0, %0)"),
              HasSubstr("node 2 (copy_): as_strided may show an element"));
}

// Also if the written value is unused.
TEST(Functionalize, RefusesThemInMemoryOfNoOneElse) {
  EXPECT_THAT(Refusal("%0 = neg(%x)\n"
                      "%1 = expand(%0, size=[2, 3])\n"
                      "%2 = copy_(%1, %0)"),
              HasSubstr("shows elements more than once"));
}

constexpr char kLoop[] = R"(
func @main(%n: i64[], %c: bool[], %x: f32[3]) {
  %0, %1 = loop(%n, %c, %x, num_carried=1) : f32[3], i64[u0] {
    body(%i: i64[], %d: bool[], %a: f32[3]) {
      %0 = neg(%a)
      %1 = copy_(%a, %0)
      return %d, %a, %i
    }
  }
  return %1
})";

TEST(Functionalize, RefusesLoopsThatWriteCarriedValues) {
  auto module = Parse(kLoop);
  EXPECT_THAT(std::string(RunPasses("functionalize", *module).message()),
              HasSubstr("(loop): its nested graph body writes its input 2, "
                        "which is not captured memory"));
}

TEST(Functionalize, RefusesBranchesOfOperandsThatShareMemory) {
  EXPECT_THAT(Refusal("%0 = reshape(%x, size=[3, 1])\n"
                      "cond(%p, %x, %0) {\n"
                      "then_graph(%a: f32[3], %b: f32[3, 1]) {\n"
                      "%0 = neg(%a)\n"
                      "%1 = copy_(%a, %0)\n"
                      "return\n}\n"
                      "else_graph(%a: f32[3], %b: f32[3, 1]) {\nreturn\n}\n}"),
              HasSubstr("operand 1 is written, and operand 2 shares its"));
}

// A fold, a merge or a move would read what is not there any more.
constexpr char kOrdered[] = R"(
func @main(%x: f32[3]) {
  %0 = clone(%x)
  %1 = clone(%x)
  %2 = neg(%x)
  %3 = copy_(%0, %2)
  %4 = neg(%x)
  %5 = copy_(%x, %4)
  %6 = neg(%x)
  return %0, %1, %2, %6
})";

TEST(Functionalize, OtherPassesLeaveModulesWithWritesAlone) {
  auto module = Parse(kOrdered);
  const std::string before = PrintModule(*module);
  for (const std::string& pass : BuiltinPasses().PassNames()) {
    // Sizes may be specialised or freed before.
    if (pass == "functionalize" || pass == "specialize_symbols" || pass == "assume_sizes") continue;
    std::vector<Remark> remarks;
    PipelineReport report;
    ASSERT_TRUE(RunPasses(pass, *module, &remarks, &report).ok()) << pass;
    EXPECT_EQ(PrintModule(*module), before) << pass;
    EXPECT_TRUE(report.passes[0].skipped) << pass;
    ASSERT_EQ(remarks.size(), 1u) << pass;
    EXPECT_THAT(remarks[0].ToString(), HasSubstr("the module has writes, which functionalize"));
  }
  ASSERT_TRUE(RunPasses("functionalize", *module).ok());
  EXPECT_FALSE(module->HasWrites());
}

TEST(Functionalize, OneWriteAndOneReadAfterAnotherStayLinear) {
  // Each write is read through the other view: one inverse, one view each.
  std::string text = "func @main(%x: f32[8]) {\n";
  constexpr int kWrites = 500;
  for (int i = 0; i < kWrites; ++i) {
    absl::StrAppend(&text, "%", 3 * i, " = slice(%x, dim=0, start=", i % 2, ", end=", 6 + i % 2,
                    ")\n%", 3 * i + 1, " = neg(%", 3 * i, ")\n%", 3 * i + 2, " = copy_(%", 3 * i,
                    ", %", 3 * i + 1, ")\n");
  }
  auto module = Parse(text + "return %x\n}");
  ASSERT_TRUE(RunPasses("functionalize", *module).ok());
  EXPECT_EQ(module->num_nodes(), 3 * kWrites);
}

TEST(Functionalize, VerifierRefusesWritesToConstants) {
  const auto module = ParseModule(
      "func @main() {\n%0 = constant(dense<[1.0, 2.0]>) : f32[2]\n"
      "%1 = reshape(%0, size=[2, 1])\n%2 = copy_(%1, %1)\nreturn\n}",
      ops::Registry());
  EXPECT_THAT(std::string(module.status().message()),
              HasSubstr("invariant 14 (writes) is broken: operand self is a "
                        "constant, or a view of one"));
}

}  // namespace
}  // namespace weft
