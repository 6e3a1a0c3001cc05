// Parameters and buffers exchanged by name.
#include <map>
#include <string>
#include <vector>

#include "api/program.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Named = std::map<std::string, HostTensor>;

// A linear layer that counts its calls.
constexpr char kModel[] = R"(
func @main(%p_weight: f32[2, 2] {param="fc.weight", initial=dense<[[1.0, 0.0], [0.0, 1.0]]>},
      %p_bias: f32[2] {param="fc.bias", initial=dense<[0.0, 0.0]>},
      %b_calls: i64[] {param="calls", initial=dense<0>}, %x: f32[s0, 2]) {
  %0 = matmul(%x, %p_weight)
  %1 = add(%0, %p_bias)
  %2 = constant("scale" dense<1>) : i64[]
  %3 = add(%b_calls, %2)
  %4 = copy_(%b_calls, %3)
  return %1
})";

Program Make() {
  auto program = Program::Create(Parse(kModel));
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

HostTensor Floats(std::vector<int64_t> dims, std::vector<double> values) {
  return HostTensor::FromDoubles(DType::kF32, dims, values);
}
HostTensor X() { return Floats({1, 2}, {3, 4}); }

TEST(FunctionalCallTest, ExchangesWithoutCompilingAnew) {
  Program program = Make();
  ASSERT_TRUE(program.Run(Named{{"x", X()}}).ok());
  const Named tensors = {{"fc.weight", Floats({2, 2}, {0, 1, 1, 0})},
                         {"p_bias", Floats({2}, {10, 20})}};
  for (int i = 0; i < 3; ++i) {
    const auto outputs = program.FunctionalCall(tensors, {{"x", X()}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT((*outputs)[0].ReadDoubles(), ElementsAre(14, 23));
  }
  EXPECT_EQ(program.Explain().compiles, 1);
  EXPECT_EQ(program.Explain().hits, 3);
  // For that call alone.
  EXPECT_THAT((*program.Run(Named{{"x", X()}}))[0].ReadDoubles(), ElementsAre(3, 4));
  EXPECT_EQ(program.state("calls")->IntAt(0), 2);
}

TEST(FunctionalCallTest, GivesBackWhatIsWritten) {
  Program program = Make();
  Named tensors = {{"calls", HostTensor::ScalarInt(DType::kI64, 41)}};
  ASSERT_TRUE(program.FunctionalCall(&tensors, {{"x", X()}}).ok());
  EXPECT_EQ(tensors["calls"].IntAt(0), 42);
  Named none;
  ASSERT_TRUE(program.FunctionalCall(&none, {{"x", X()}}).ok());
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(none["calls"].IntAt(0), 1);
  EXPECT_EQ(program.state("calls")->IntAt(0), 0);
}

TEST(FunctionalCallTest, RefusesWhatDoesNotFit) {
  Program program = Make();
  const auto error = [&](const Named& tensors) {
    return std::string(program.FunctionalCall(tensors, {{"x", X()}}).status().message());
  };
  EXPECT_EQ(error({{"fc.wieght", Floats({2}, {1, 2})}}),
            "the program has no parameter or buffer \"fc.wieght\", did you mean \"fc.weight\"? It "
            "has fc.weight, fc.bias, calls");
  EXPECT_EQ(program.FunctionalCall({{"nothing", X()}}, {{"x", X()}}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(error({{"fc.bias", Floats({3}, {1, 2, 3})}}),
            "state \"fc.bias\" has type f32[2], not f32[3]");
  EXPECT_THAT(error({{"fc.bias", HostTensor(DType::kF64, {2})}}), HasSubstr("not f64[2]"));
  EXPECT_THAT(error({{"fc.bias", HostTensor()}}), HasSubstr("empty tensor"));
  EXPECT_THAT(error({{"scale", HostTensor::ScalarInt(DType::kI64, 1)}}),
              AllOf(HasSubstr("a constant of the program"), HasSubstr("parameters_as_inputs")));
  EXPECT_EQ(error({{"fc.bias", Floats({2}, {1, 2})}, {"p_bias", Floats({2}, {1, 2})}}),
            "\"p_bias\" is given twice");
  EXPECT_THAT(std::string(program.SetState("fc.bais", X()).message()),
              HasSubstr("did you mean \"fc.bias\"?"));
  EXPECT_EQ(program.Explain().compiles, 0);
}

}  // namespace
}  // namespace weft
