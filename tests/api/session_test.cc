// Sessions of programs that write: to inputs, to state; before and after
// functionalize and reinplace.
#include "api/session.h"

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "base/host_buffer.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A batch norm in training, as it were: the running sum and the count are state,
// and %x is overwritten.
constexpr char kProgram[] = R"(
func @main(%sum: f32[2] {param="bn.sum", initial=dense<[0.0, 0.0]>},
      %count: i64[] {param="bn.count", initial=dense<0>}, %x: f32[2, 2]) -> (%y: f32[2], %n: i64[]) {
  %0 = select(%x, dim=0, index=1)
  %1 = add(%sum, %0)
  %2 = copy_(%sum, %1)
  %3 = constant(dense<1>) : i64[]
  %4 = add(%count, %3)
  %5 = copy_(%count, %4)
  %6 = neg(%0)
  %7 = copy_(%0, %6)
  return %2, %5
})";

class SessionTest : public testing::TestWithParam<const char*> {
 protected:
  Session Make(const char* text = kProgram) {
    auto module = ParseModule(text, ops::Registry());
    EXPECT_TRUE(module.ok()) << module.status();
    CompileOptions options;
    options.passes = GetParam();
    options.verify = VerifyLevel::kSemantics;
    const auto compiled = Compile(**module, options);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    auto session = Session::Create(*std::move(module), "reference");
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
};

HostTensor X() { return HostTensor::FromDoubles(DType::kF32, {2, 2}, {1, 2, 3, 4}); }

TEST_P(SessionTest, KeepsState) {
  Session session = Make();
  const std::map<std::string, HostTensor> inputs = {{"x", X()}};
  for (int run = 1; run <= 3; ++run) {
    const auto outputs = session.Run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ASSERT_EQ(outputs->size(), 2u);
    EXPECT_THAT((*outputs)[0].ReadDoubles(), ElementsAre(3 * run, 4 * run));
    EXPECT_EQ((*outputs)[1].IntAt(0), run);
    ASSERT_NE(session.state("bn.sum"), nullptr);
    EXPECT_THAT(session.state("bn.sum")->ReadDoubles(), ElementsAre(3 * run, 4 * run));
    EXPECT_EQ(session.state("count")->IntAt(0), run);
  }
  EXPECT_EQ(session.state("x"), nullptr);
  ASSERT_TRUE(session.SetState("bn.count", HostTensor::ScalarInt(DType::kI64, 7)).ok());
  EXPECT_EQ((*session.Run(inputs))[1].IntAt(0), 8);
}

TEST_P(SessionTest, WritesToTheCallersTensors) {
  Session session = Make();
  const HostTensor x = X();
  std::map<std::string, HostTensor> named = {{"x", x},
                                             {"count", HostTensor::ScalarInt(DType::kI64, 4)}};
  ASSERT_TRUE(session.Run(&named).ok());
  EXPECT_THAT(named["x"].ReadDoubles(), ElementsAre(1, 2, -3, -4));
  EXPECT_EQ(named["count"].IntAt(0), 5);
  // A given tensor is not state, and its bytes are unchanged.
  EXPECT_EQ(session.state("count")->IntAt(0), 0);
  EXPECT_THAT(x.ReadDoubles(), ElementsAre(1, 2, 3, 4));
  std::vector<HostTensor> ordered = {HostTensor(), HostTensor(), x};
  ASSERT_TRUE(session.Run(&ordered).ok());
  EXPECT_THAT(ordered[2].ReadDoubles(), ElementsAre(1, 2, -3, -4));
  EXPECT_FALSE(ordered[0].valid());
  EXPECT_EQ(session.state("count")->IntAt(0), 1);
}

TEST_P(SessionTest, RefusesWrongInputs) {
  Session session = Make();
  EXPECT_THAT(std::string(session.Run(std::map<std::string, HostTensor>{}).status().message()),
              HasSubstr("input \"x\" is missing"));
  EXPECT_THAT(
      std::string(session.Run(std::map<std::string, HostTensor>{{"z", X()}}).status().message()),
      HasSubstr("no input \"z\""));
  EXPECT_THAT(std::string(session.SetState("bn.sum", X()).message()),
              HasSubstr("has type f32[2], not f32[2, 2]"));
  EXPECT_EQ(session.SetState("bn.mean", X()).code(), absl::StatusCode::kNotFound);
}

// The result of a write would be undefined if another input shares the memory.
TEST_P(SessionTest, RefusesWrittenInputsThatShareMemory) {
  Session session = Make();
  const HostTensor x = X();
  const auto row = HostTensor::View(x.buffer(), DType::kF32, {2}, {1}, 1);
  ASSERT_TRUE(row.ok());
  std::vector<HostTensor> inputs = {*row, HostTensor(), x};
  EXPECT_THAT(std::string(session.Run(&inputs).status().message()),
              HasSubstr("inputs \"x\" and \"sum\" share memory"));
  Session pure = Make("func @main(%a: f32[2, 2], %b: f32[2, 2]) {\n%0 = add(%a, %b)\nreturn %0\n}");
  EXPECT_TRUE(pure.Run(std::vector<HostTensor>{x, x}).ok());
}

INSTANTIATE_TEST_SUITE_P(Passes, SessionTest,
                         testing::Values("", "functionalize", "default", "functionalize,reinplace",
                                         "default,reinplace"));

TEST(SessionCountersTest, CountsWhatAPlanHas) {
  const auto counters_of = [](const char* target) {
    auto module = ParseModule(
        "func @main(%x: f32[n, 4]) {\n  %0 = softmax(%x, dim=1)\n  return %0\n}", ops::Registry());
    EXPECT_TRUE(module.ok()) << module.status();
    auto session = Session::Create(*std::move(module), target);
    EXPECT_TRUE(session.ok()) << session.status();
    for (int64_t n : {2, 3, 2}) {
      EXPECT_TRUE(session->Run({HostTensor(DType::kF32, {n, 4})}).ok());
    }
    return session->counters();
  };
  EXPECT_TRUE(counters_of("reference").empty());
  const Counters counters = counters_of("cpu");
  EXPECT_EQ(counters.at("steps"), 1);
  EXPECT_EQ(counters.at("kernels"), 1);
  EXPECT_EQ(counters.at("generated_kernels"), 0);
  EXPECT_EQ(counters.at("assignments"), 2);
  EXPECT_EQ(counters.at("fallbacks"), 0);
  EXPECT_GT(counters.at("lowering_us"), 0);
}

TEST(SessionTargetTest, IsKnownAndHasTheOptions) {
  const auto error = [](const char* target, const BackendOptions& options) {
    auto module = ParseModule("func @main(%x: f32[2]) { return %x }", ops::Registry());
    EXPECT_TRUE(module.ok()) << module.status();
    return std::string(Session::Create(*std::move(module), target, options).status().message());
  };
  EXPECT_EQ(error("gpu", {}), "unknown target \"gpu\"; the targets are: reference, cpu, cuda");
  EXPECT_EQ(error("reference", {{"threads", "2"}}),
            "the target reference has no option \"threads\"");
  EXPECT_THAT(error("cpu", {{"code", "soon"}}), HasSubstr("none, background or before"));
}

TEST(SessionTargetTest, RunsMainAlone) {
  auto module = ParseModule("func @other(%x: f32[2]) { return %x }", ops::Registry());
  ASSERT_TRUE(module.ok()) << module.status();
  const auto session = Session::Create(*std::move(module), "reference");
  EXPECT_TRUE(absl::IsInvalidArgument(session.status()));
  EXPECT_EQ(session.status().message(), "the module has no function @main");
}

TEST(SessionThreadsTest, AreBounded) {
  for (const int threads : {-1, 1025, std::numeric_limits<int>::max()}) {
    auto module = ParseModule("func @main(%x: f32[2]) { return %x }", ops::Registry());
    ASSERT_TRUE(module.ok()) << module.status();
    const auto session =
        Session::Create(*std::move(module), "cpu", {{"threads", absl::StrCat(threads)}});
    EXPECT_TRUE(absl::IsInvalidArgument(session.status()));
    EXPECT_THAT(
        std::string(session.status().message()),
        HasSubstr(absl::StrCat("threads takes an integer from 0 to 1024, not \"", threads, "\"")));
  }
}

}  // namespace
}  // namespace weft
