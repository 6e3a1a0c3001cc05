// Sizes that are made variable: the messages, and that the program then runs with them.
#include "passes/assume_sizes.h"

#include <memory>
#include <string>
#include <vector>

#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kProgram[] = R"(
func @main(%x: f32[2, 6], %y: f32[2, 6]) {
  %0 = add(%x, %y)
  %1 = reshape(%0, size=[2, 2, 3])  loc("split")
  %2 = constant(dense<[1.0, 2.0, 3.0]>) : f32[3]
  %3 = mul(%1, %2)  loc("scale")
  return %3
}
)";

std::string Message(const std::vector<std::string>& dims, const std::string& program = kProgram) {
  auto module = Parse(program);
  const std::string before = PrintModule(*module);
  AssumeSizesOptions options;
  options.dims = dims;
  PassContext context;
  const absl::Status status = AssumeSizes(*module, options, context);
  if (status.ok()) return "";
  EXPECT_EQ(PrintModule(*module), before);
  return std::string(status.message());
}

TEST(AssumeSizes, RunsForSizesThatItDidNotHaveBefore) {
  auto module = Parse(kProgram);
  AssumeSizesOptions options;
  options.all = true;
  PassContext context;
  ASSERT_TRUE(AssumeSizes(*module, options, context).ok());
  ASSERT_TRUE(Verify(*module).ok()) << Verify(*module) << PrintModule(*module);
  for (int64_t n : {2, 5}) {
    const HostTensor x =
        HostTensor::FromDoubles(DType::kF32, {n, 6}, std::vector<double>(6 * n, 1));
    const auto outputs = reference::Run(*module->main(), {x, x});
    ASSERT_TRUE(outputs.ok()) << outputs.status() << PrintModule(*module);
    EXPECT_THAT((*outputs)[0].dims(), ElementsAre(n, 2, 3));
  }
}

// Both inputs have the same symbol, so the message names the first one with the nearest size.
TEST(AssumeSizes, RuntimeMessagesNameInputsAndTheNearestSizes) {
  auto module = Parse(kProgram);
  AssumeSizesOptions options;
  options.dims = {"x.0=batch:2..8%2", "y.0=batch"};
  PassContext context;
  ASSERT_TRUE(AssumeSizes(*module, options, context).ok());
  const auto run = [&](int64_t n) {
    const HostTensor x =
        HostTensor::FromDoubles(DType::kF32, {n, 6}, std::vector<double>(6 * n, 1));
    return std::string(reference::Run(*module->main(), {x, x}).status().message());
  };
  EXPECT_EQ(run(4), "");
  EXPECT_THAT(run(5), HasSubstr("batch = 5 is not a multiple of 2; batch is input %x dim 0; "
                                "nearest allowed: batch = 6"));
  EXPECT_THAT(run(9), HasSubstr("batch = 9 is outside of 2 <= batch <= 8; batch is input %x dim 0; "
                                "nearest allowed: batch = 8"));
}

TEST(AssumeSizes, NamesWhatFixesADim) {
  EXPECT_EQ(Message({"x.1=dynamic"}, R"(
func @main(%x: f32[2, 6], %w: f32[6, 3]) {
  %0 = neg(%x)
  %1 = matmul(%0, %w)  loc("fc")
  return %1
}
)"),
            "input %x dim 1 (s0) cannot vary: matmul, from \"fc\" needs s0 == 6, so that it is 6; "
            "leave out \"x.1=dynamic\"");
  EXPECT_THAT(Message({"x.0=n:7..9", "y.0=2*n"}, R"(
func @main(%x: f32[7], %y: f32[14]) {
  %0 = constant(dense<1.0>) : f32[7]
  %1 = add(%x, %0)
  return %1, %y
}
)"),
              HasSubstr("cannot vary: add needs n == 7"));
}

TEST(AssumeSizes, RefusesOptionsThatSayNothing) {
  EXPECT_THAT(Message({"z.0=n"}), HasSubstr("there is no input %z"));
  EXPECT_THAT(Message({"x.2=n"}), HasSubstr("there is no such dim"));
  EXPECT_THAT(Message({"x=n"}), HasSubstr("such as x.0=batch"));
  EXPECT_THAT(Message({"x.0=3"}), HasSubstr("expected static, dynamic, a name"));
  EXPECT_THAT(Message({"x.0=n:4..2"}), HasSubstr("expected a range"));
  EXPECT_THAT(Message({"x.0=n:1..8%0"}), HasSubstr("expected a positive divisor"));
  EXPECT_THAT(Message({"x.0=n*"}), HasSubstr("expected"));
  EXPECT_THAT(Message({"x.0=static"}, "func @main(%x: f32[s0]) -> f32[s0] {\n  return %x\n}\n"),
              HasSubstr("give one in `sizes`"));
}

TEST(AssumeSizes, MakesSymbolsNumbersAndRenamesThem) {
  auto module = Parse(R"(
func @main(%x: f32[s0, s1]) -> f32[s0, s1] where s0 <= 8 {
  return %x
}
)");
  AssumeSizesOptions options;
  options.dims = {"x.0=batch", "x.1=static"};
  options.sizes = {"x=4x7"};
  PassContext context;
  ASSERT_TRUE(AssumeSizes(*module, options, context).ok());
  EXPECT_THAT(PrintModule(*module),
              HasSubstr("%x: f32[batch, 7]) -> f32[batch, 7]\n    where batch <= 8"));
}

TEST(AssumeSizes, IsAPass) {
  auto pipeline = Pipeline::Parse("assume_sizes{all,duck=false}", BuiltinPasses());
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  auto module = Parse(kProgram);
  PassContext context;
  ASSERT_TRUE(PassManager(*std::move(pipeline)).Run(*module, context).ok());
  EXPECT_THAT(PrintModule(*module), HasSubstr("%x: f32[s0, 6], %y: f32[s2, 6]"));
}

}  // namespace
}  // namespace weft
