#include "backends/reference/executor.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "backends/runtime/symbol_env.h"
#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Module> Parse(absl::string_view text) {
  auto module = ParseModule(text, ops::Registry());
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  return *std::move(module);
}

HostTensor Floats(std::vector<int64_t> dims, std::vector<double> values) {
  return HostTensor::FromDoubles(DType::kF32, dims, values);
}

TEST(Executor, RunsNodesInOrder) {
  auto module = Parse(R"(
    func @main(%x: f32[2]) -> (f32[2]) {
      %0 = add(%x, %x)
      %1 = mul(%0, %x)
      return %1
    })");
  auto outputs = reference::Run(*module->main(), {Floats({2}, {1, 3})});
  ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
  EXPECT_THAT((*outputs)[0].ReadDoubles(), ElementsAre(2, 18));
}

// The address space may grow by so much.
void LimitMemory(int64_t bytes) {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0;
  statm >> pages;
  const auto limit = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + bytes);
  const rlimit limits = {limit, limit};
  setrlimit(RLIMIT_AS, &limits);
}

// Sizes may ask for more memory than there is: an error that names the node.
TEST(ExecutorDeathTest, MemoryThatRunsOutIsAnError) {
  auto module = Parse(R"(
    func @main(%x: f32[s0], %y: f32[1]) -> (f32[32768*s0]) {
      %0 = expand(%y, size=[32768*s0])
      return %0
    })");
  const std::vector<HostTensor> inputs = {HostTensor(DType::kF32, {8192}), Floats({1}, {1})};
  const auto run = [&] {
    LimitMemory(int64_t{256} << 20);
    const absl::Status status = reference::Run(*module->main(), inputs).status();
    std::cerr << status << std::endl;
    std::exit(status.code() == absl::StatusCode::kResourceExhausted ? 7 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(7), "expand.*no memory for 1073741824 bytes");
}

TEST(Executor, BindsSymbolsFromShapes) {
  auto module = Parse(R"(
    func @main(%x: f32[s0, 2]) -> (f32[2*s0]) {
      %0 = reshape(%x, size=[2*s0])
      return %0
    })");
  auto outputs = reference::Run(*module->main(), {Floats({3, 2}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
  EXPECT_THAT((*outputs)[0].dims(), ElementsAre(6));
}

TEST(Executor, RefusesInputsThatDoNotFit) {
  auto module = Parse(R"(
    func @main(%x: f32[s0, 2], %y: f32[s0]) -> (f32[s0, 2], f32[s0])
        where 2 <= s0 <= 8 {
      return %x, %y
    })");
  const Graph& main = *module->main();
  const auto message = [&](std::vector<HostTensor> inputs) {
    return std::string(reference::Run(main, inputs).status().message());
  };
  EXPECT_THAT(message({Floats({3, 2}, {1, 2, 3, 4, 5, 6})}), HasSubstr("takes 2 inputs, got 1"));
  EXPECT_THAT(message({Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Floats({1}, {1})}),
              HasSubstr("dim 1: expected 2, got 3"));
  EXPECT_THAT(message({Floats({1, 2}, {1, 2}), Floats({1}, {1})}),
              HasSubstr("s0 = 1 is outside of 2 <= s0 <= 8"));
  EXPECT_THAT(message({Floats({2, 2}, {1, 2, 3, 4}), Floats({3}, {1, 2, 3})}),
              HasSubstr("expected s0 = 2, got 3"));
  EXPECT_THAT(
      message({HostTensor::FromInts(DType::kI64, {2, 2}, {1, 2, 3, 4}), Floats({2}, {1, 2})}),
      HasSubstr("expected f32[s0, 2], got i64[2, 2]"));
}

TEST(Executor, UnreadInputsMayHaveAnyShape) {
  auto module = Parse(R"(
    func @main(%x: f32[2], %like: f32[3, 4]) -> (f32[2]) {
      return %x
    })");
  EXPECT_TRUE(reference::Run(*module->main(), {Floats({2}, {1, 2}), Floats({1}, {0})}).ok());
}

TEST(Executor, RefusesAnotherValueThanTheProgramWasMadeFor) {
  auto module = Parse(R"(
    func @main(%x: f32[2], %axes: i64[1]) -> (f32[2]) {
      return %x
    })");
  module->main()->input_info(1).value =
      module->constants().Add(HostTensor::FromInts(DType::kI64, {1}, {0}));
  const HostTensor x = Floats({2}, {1, 2});
  EXPECT_TRUE(
      reference::Run(*module->main(), {x, HostTensor::FromInts(DType::kI64, {1}, {0})}).ok());
  auto refused = reference::Run(*module->main(), {x, HostTensor::FromInts(DType::kI64, {1}, {1})});
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("input 1 (axes) differs from the value"));
}

TEST(Executor, DataDependentSizesBecomeKnown) {
  auto module = Parse(R"(
    func @main(%x: f32[4]) -> (i64[u0, 1]) where unbacked u0 {
      %0 = nonzero(%x) : i64[u0, 1]
      return %0
    })");
  auto outputs = reference::Run(*module->main(), {Floats({4}, {0, 5, 0, 7})});
  ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
  EXPECT_THAT((*outputs)[0].dims(), ElementsAre(2, 1));
  EXPECT_THAT((*outputs)[0].ReadInts(), ElementsAre(1, 3));
}

TEST(SymbolEnv, SolvesLinearExpressions) {
  SymbolTable facts;
  SymbolEnv env(facts);
  const SymInt s = SymInt::Symbol("s0");
  ASSERT_TRUE(env.Unify(SymInt(3) * s + 1, 10).ok());
  EXPECT_EQ(env.Find(s), 3);
  EXPECT_FALSE(env.Unify(SymInt(2) * SymInt::Symbol("s1"), 7).ok());
  EXPECT_FALSE(env.Unify(SymInt::Symbol("s2") * SymInt::Symbol("s3"), 6).ok());
}

}  // namespace
}  // namespace weft::reference
