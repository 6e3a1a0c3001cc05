// What quantize_prepare and quantize_convert decide, before they edit anything.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "passes/quantize/choose_params.h"
#include "passes/quantize/observer_plan.h"
#include "passes/quantize/sites.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<SiteGroup> Sites(const Module& module) {
  auto groups = CollectSites(*module.main());
  EXPECT_TRUE(groups.ok()) << groups.status();
  return groups.ok() ? *std::move(groups) : std::vector<SiteGroup>();
}

std::string PlanText(const Module& module) {
  const auto plans = PlanObservers(Sites(module));
  return plans.ok() ? ToText(*plans) : std::string(plans.status().message());
}

absl::StatusOr<std::vector<GroupParams>> Params(const Module& module) {
  return ChooseParams(*module.main(), Sites(module));
}

std::string ErrorOf(const Module& module) { return std::string(Params(module).status().message()); }

TEST(PlanObservers, OneForEachGroupThatNeedsIt) {
  const auto module = Parse(R"(
func @main(%x: f32[2, 4], %w: f32[2, 4] {initial=dense<0.5>}) {
  %0 = linear(%x, %w, none)  loc("fc")  note(operand 0 quant="u8 affine tensor histogram group=0", operand 1 quant="i8 symmetric axis=0 min_max group=1")
  %1 = relu(%0)  loc("act")  note(quant="u8 affine tensor histogram group=0")
  %2 = neg(%1)  note(quant="i8 symmetric axis=1 min_max group=2")
  return %2
})");
  const std::string text = PlanText(*module);
  EXPECT_THAT(text, HasSubstr("histogram of input %x; "));
  EXPECT_THAT(text, HasSubstr("(relu, from \"act\")\n"));
  EXPECT_THAT(text, HasSubstr("min_max axis=1 of "));
  EXPECT_THAT(text, testing::Not(HasSubstr("input 1")));
}

TEST(PlanObservers, NamesAValueWithoutConstantSlices) {
  const auto module = Parse(R"(
func @main(%x: f32[s0, 4]) {
  %0 = relu(%x)  loc("act")  note(quant="i8 symmetric axis=0 min_max group=0")
  return %0
})");
  EXPECT_THAT(PlanText(*module),
              HasSubstr("(relu, from \"act\"): axis 0 of the spec has no constant size"));
}

TEST(CollectSites, NamesBothPlacesOfAConflict) {
  const auto module = Parse(R"(
func @main(%x: f32[4]) {
  %0 = relu(%x)  loc("one")  note(quant="i8 symmetric tensor min_max group=0")
  %1 = neg(%0)  loc("two")  note(quant="u8 affine tensor min_max group=0")
  return %1
})");
  const absl::Status status = CollectSites(*module->main()).status();
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("from \"one\""), HasSubstr("from \"two\""), HasSubstr("share")));
}

// The state holds -1 and 3; the weight has 1.27 and 2.54 at most.
TEST(ChooseParams, ReadsStatesAndWeights) {
  const auto module = Parse(R"(
func @main(%x: f32[2, 2], %observer.0: f32[2] {initial=dense<[-1.0, 3.0]>}) -> (f32[2, 2], f32[2] {writes=%observer.0}) {
  %w = constant(dense<[[1.27, 0.5], [2.54, -1.0]]>) : f32[2, 2]
  %b = constant(dense<[0.5, 0.25]>) : f32[2]
  %0 = observe(%x, %observer.0)
  %1 = linear(%x, %w, %b)  note(operand 0 quant="u8 affine tensor min_max group=0", operand 0 observer="observer.0", operand 1 quant="i8[-127..127] symmetric axis=0 min_max group=1", operand 2 quant="i32 derived axis=0 group=2")
  return %1, %0
})");
  const auto params = Params(*module);
  ASSERT_TRUE(params.ok()) << params.status();
  ASSERT_EQ(params->size(), 3);
  const QuantParams& x = (*params)[0].params;
  EXPECT_FLOAT_EQ(x.scale[0], 4.0 / 255);
  EXPECT_THAT(x.zero_point, ElementsAre(64));
  EXPECT_THAT((*params)[0].dims, ElementsAre());
  const QuantParams& w = (*params)[1].params;
  EXPECT_FLOAT_EQ(w.scale[0], 0.01);
  EXPECT_FLOAT_EQ(w.scale[1], 0.02);
  EXPECT_THAT(w.zero_point, ElementsAre(0, 0));
  EXPECT_THAT((*params)[1].dims, ElementsAre(2));
  const QuantParams& b = (*params)[2].params;
  EXPECT_FLOAT_EQ(b.scale[0], 0.04 / 255);
  EXPECT_FLOAT_EQ(b.scale[1], 0.08 / 255);
}

TEST(ChooseParams, NamesWhatHasNoData) {
  EXPECT_THAT(
      ErrorOf(*Parse(R"(
func @main(%x: f32[2], %observer.0: f32[2] {initial=dense<[1.0, -1.0]>}) -> (f32[2], f32[2] {writes=%observer.0}) {
  %0 = relu(%x)  loc("act")  note(quant="u8 affine tensor min_max group=0", observer="observer.0")
  %1 = observe(%0, %observer.0)
  return %0, %1
})")),
      testing::AllOf(HasSubstr("from \"act\""), HasSubstr("observer.0: no element was seen")));
  EXPECT_THAT(ErrorOf(*Parse(R"(
func @main(%x: f32[2]) {
  %0 = relu(%x)  loc("act")  note(quant="u8 affine tensor min_max group=0")
  return %0
})")),
              HasSubstr("from \"act\"): nothing observes it"));
  EXPECT_THAT(ErrorOf(*Parse(R"(
func @main(%x: f32[2, 2], %b: f32[2] {initial=dense<0.5>}) {
  %0 = linear(%x, %x, %b)  loc("fc")  note(operand 2 quant="i32 derived axis=0 group=0")
  return %0
})")),
              HasSubstr("operand 0 has no parameters"));
}

}  // namespace
}  // namespace weft
