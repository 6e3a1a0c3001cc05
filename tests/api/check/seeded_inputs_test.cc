#include "api/check/seeded_inputs.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SeededInputsTest : public testing::Test {
 protected:
  SeededInputsTest() : module_(ops::Registry()) {
    SymbolInfo info;
    info.symbol = SymInt::Symbol("s0");
    info.range = {4, 64};
    info.divisor = 4;
    module_.symbols().Declare(info);
    Graph* main = module_.AddFunction("main");
    const SymInt s0 = info.symbol;
    main->AddInput(Type::Tensor(DType::kF32, {s0, 3}), "x");
    main->AddInput(Type::Tensor(DType::kBool, {s0 + 1}), "mask");
  }
  Module module_;
};

TEST_F(SeededInputsTest, SizesObeyTheFacts) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SeedOptions options;
    options.seed = seed;
    auto inputs = MakeSeededInputs(*module_.main(), options);
    ASSERT_TRUE(inputs.ok()) << inputs.status().ToString();
    const int64_t s0 = (*inputs)[0].dim(0);
    EXPECT_EQ(s0 % 4, 0);
    EXPECT_GE(s0, 4);
    EXPECT_LE(s0, 64);
    EXPECT_EQ((*inputs)[1].dim(0), s0 + 1);
  }
}

TEST_F(SeededInputsTest, IndicesStayInTheirTable) {
  const auto module = Parse(
      "func @main(%t: f32[2, 3], %i: i64[200], %j: i64[200]) -> (f32[200, 3], i64[200]) {"
      " %0 = index_select(%t, %i, dim=0) return %0, %j }");
  const auto inputs = MakeSeededInputs(*module->main(), {});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto largest = [](const HostTensor& t) {
    const std::vector<int64_t> values = t.ReadInts();
    return *std::max_element(values.begin(), values.end());
  };
  EXPECT_EQ(largest((*inputs)[1]), 1);
  EXPECT_EQ(largest((*inputs)[2]), 2);
}

TEST_F(SeededInputsTest, SizesObeyEqualities) {
  const SymInt s0 = SymInt::Symbol("s0"), s1 = SymInt::Symbol("s1");
  SymbolInfo info;
  info.symbol = s1;
  module_.symbols().Declare(info);
  ASSERT_EQ(module_.symbols().Assume(Equal(s1, 2 * s0 + 1)), Proof::kUnknown);
  module_.main()->AddInput(Type::Tensor(DType::kF32, {s1}), "y");
  auto inputs = MakeSeededInputs(*module_.main(), {});
  ASSERT_TRUE(inputs.ok()) << inputs.status().ToString();
  EXPECT_EQ((*inputs)[2].dim(0), 2 * (*inputs)[0].dim(0) + 1);
}

TEST_F(SeededInputsTest, SizesObeyOtherConditions) {
  const SymInt s1 = SymInt::Symbol("s1");
  SymbolInfo info;
  info.symbol = s1;
  module_.symbols().Declare(info);
  ASSERT_EQ(module_.symbols().Assume(Or(Equal(s1, 2304), Equal(s1, 1))), Proof::kUnknown);
  module_.main()->AddInput(Type::Tensor(DType::kF32, {s1}), "y");
  auto inputs = MakeSeededInputs(*module_.main(), {});
  ASSERT_TRUE(inputs.ok()) << inputs.status().ToString();
  EXPECT_EQ((*inputs)[2].dim(0), 1);
  EXPECT_EQ((*inputs)[0].dim(0) % 4, 0);
  SeedOptions given;
  given.dims["s1"] = 7;
  inputs = MakeSeededInputs(*module_.main(), given);
  ASSERT_TRUE(inputs.ok()) << inputs.status().ToString();
  EXPECT_EQ((*inputs)[2].dim(0), 7);
}

TEST_F(SeededInputsTest, SizesNearTheLargestDoNotWrap) {
  for (const char* facts : {"9223372036854775807 <= s0", "9223372036854775800 <= s0, s0 % 5 == 0",
                            "9223372036854775805 <= s0 <= 9223372036854775806"}) {
    const auto module =
        Parse(absl::StrCat("func @main(%x: f32[s0]) -> f32[s0] where ", facts, " { return %x }"));
    for (uint64_t seed = 0; seed < 8; ++seed) {
      SeedOptions options;
      options.seed = seed;
      const auto inputs = MakeSeededInputs(*module->main(), options);
      EXPECT_EQ(inputs.status().code(), absl::StatusCode::kResourceExhausted) << facts;
      EXPECT_THAT(std::string(inputs.status().message()),
                  HasSubstr("input x: f32[92233720368547758"));
    }
  }
}

TEST_F(SeededInputsTest, LargeInputsAreFilledToTheEnd) {
  const auto module =
      Parse("func @main(%x: f32[200000], %i: i4[131075]) -> f32[200000] { return %x }");
  SeedOptions options;
  options.values = SeedOptions::Values::kWide;
  const auto inputs = MakeSeededInputs(*module->main(), options);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  for (const HostTensor& t : *inputs) {
    const std::vector<double> values = t.ReadDoubles();
    const auto is_set = [](double v) { return v != 0; };
    EXPECT_GT(std::count_if(values.end() - 100, values.end(), is_set), 50);
    EXPECT_GT(std::count_if(values.begin(), values.begin() + 100, is_set), 50);
  }
}

TEST_F(SeededInputsTest, MemoryThatRunsOutIsAnError) {
  const auto module = Parse("func @main(%x: f32[s0, 4]) -> f32[s0, 4] { return %x }");
  SeedOptions options;
  options.dims = {{"s0", int64_t{1} << 40}};
  const auto inputs = MakeSeededInputs(*module->main(), options);
  EXPECT_EQ(inputs.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(inputs.status().message()), HasSubstr("input x: f32[1099511627776, 4]"));
}

TEST_F(SeededInputsTest, EqualSeedsGiveEqualBits) {
  auto a = MakeSeededInputs(*module_.main(), {});
  auto b = MakeSeededInputs(*module_.main(), {});
  SeedOptions other;
  other.seed = 1;
  other.dims["s0"] = (*a)[0].dim(0);
  auto c = MakeSeededInputs(*module_.main(), other);
  EXPECT_TRUE((*a)[0].BitEqual((*b)[0]));
  EXPECT_FALSE((*a)[0].BitEqual((*c)[0]));
}

TEST_F(SeededInputsTest, SizesNearTheEndOf64BitsAreRefused) {
  const auto inputs_for = [](int64_t min, int64_t max, int64_t divisor) {
    Module module(ops::Registry());
    SymbolInfo info;
    info.symbol = SymInt::Symbol("s0");
    info.range = {min, max};
    info.divisor = divisor;
    module.symbols().Declare(info);
    module.AddFunction("main")->AddInput(Type::Tensor(DType::kF32, {info.symbol}), "x");
    return MakeSeededInputs(*module.main(), {}).status();
  };
  constexpr int64_t kMax = SymRange::kMax;
  EXPECT_THAT(std::string(inputs_for(kMax, kMax, 1).message()),
              HasSubstr("f32[9223372036854775807]"));
  EXPECT_THAT(std::string(inputs_for(kMax, kMax, 8).message()),
              HasSubstr("no size is allowed for s0"));
  EXPECT_THAT(std::string(inputs_for(5, 4, 1).message()), HasSubstr("no size is allowed for s0"));
  EXPECT_TRUE(inputs_for(8, 8, 8).ok());
}

TEST_F(SeededInputsTest, GivenSizesAreChecked) {
  const auto with = [&](const std::string& name, int64_t size) {
    SeedOptions options;
    options.dims[name] = size;
    return MakeSeededInputs(*module_.main(), options);
  };
  EXPECT_THAT((*with("s0", 8))[0].dims(), ElementsAre(8, 3));
  EXPECT_THAT(std::string(with("s0", 6).status().message()), HasSubstr("s0 = 6 is not allowed"));
  EXPECT_THAT(std::string(with("batch", 2).status().message()),
              HasSubstr("no input has the size \"batch\" in its shape; there are s0"));
  EXPECT_THAT(std::string(with("s00", 2).status().message()),
              HasSubstr("in its shape, did you mean \"s0\"? There are s0"));
}

}  // namespace
}  // namespace weft
