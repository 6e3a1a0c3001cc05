// Sizes that do not fit: every assumption of shape inference is checked, whatever runs
// the program and whatever the passes made of the node. Each case also runs with sizes
// that do fit, so that no check refuses too much.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/compiler.h"
#include "api/program.h"
#include "backends/cpu/target.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "tests/api/misfit_runs.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Case {
  const char* name;
  const char* text;    // With the node in question called "here".
  const char* fits;    // Sizes, and after `;` further ones.
  const char* misfit;  // Likewise.
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

Outputs RunProgram(const Module& model, const std::vector<HostTensor>& inputs, Dynamic dynamic) {
  ProgramOptions options;
  options.target = "cpu";
  options.dynamic = dynamic;
  options.compile.passes = "cpu";
  auto program = Program::Create(model.Clone(), options);
  if (!program.ok()) return program.status();
  return program->Run(inputs);
}

// The error names the node and the sizes.
void ExpectRefused(const Outputs& outputs, absl::string_view sizes, const std::string& where) {
  ASSERT_FALSE(outputs.ok()) << where << " takes " << sizes;
  const std::string message(outputs.status().message());
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument)
      << where << ": " << message;
  EXPECT_THAT(message, HasSubstr("here")) << where;
  for (const auto& [name, size] : Sizes(sizes).dims) {
    EXPECT_THAT(message, testing::AnyOf(HasSubstr(absl::StrCat(name, " = ", size)),
                                        HasSubstr(absl::StrCat(name, " is ", size)),
                                        HasSubstr(absl::StrCat("is ", size, ", outside"))))
        << where;
  }
}

void ExpectEqual(const Outputs& outputs, const std::vector<HostTensor>& want,
                 const std::string& where) {
  ASSERT_TRUE(outputs.ok()) << where << ": " << outputs.status();
  ASSERT_EQ(outputs->size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(Difference((*outputs)[i], want[i], {1e-4, 1e-4}), "") << where << ", output " << i;
  }
}

class Misfit : public testing::TestWithParam<Case> {};

TEST_P(Misfit, IsRefusedByEveryTarget) {
  const Case& c = GetParam();
  const auto model = Parse(c.text);
  for (const Way& way : kWays) {
    auto session = MakeSession(*model, way);
    ASSERT_TRUE(session.ok()) << way.name << ": " << session.status();
    for (absl::string_view sizes : absl::StrSplit(c.misfit, ';')) {
      ExpectRefused(session->Run(InputsOf(*model, sizes)), sizes, way.name);
    }
  }
}

TEST_P(Misfit, IsRefusedByPlansAndPrograms) {
  const Case& c = GetParam();
  const auto model = Parse(c.text);
  for (absl::string_view sizes : absl::StrSplit(c.misfit, ';')) {
    const std::vector<HostTensor> inputs = InputsOf(*model, sizes);
    ExpectRefused(RunPlan(*model, inputs), sizes, "a plan");
    ExpectRefused(RunProgram(*model, inputs, Dynamic::kSymbolic), sizes, "a program");
    ExpectRefused(RunProgram(*model, inputs, Dynamic::kAutomatic), sizes, "a program, automatic");
  }
}

TEST_P(Misfit, SizesThatFitRun) {
  const Case& c = GetParam();
  const auto model = Parse(c.text);
  for (absl::string_view sizes : absl::StrSplit(c.fits, ';')) {
    const std::vector<HostTensor> inputs = InputsOf(*model, sizes);
    auto reference = MakeSession(*model, kWays[0]);
    ASSERT_TRUE(reference.ok()) << reference.status();
    const Outputs want = reference->Run(inputs);
    ASSERT_TRUE(want.ok()) << sizes << ": " << want.status();
    for (const Way& way : kWays) {
      auto session = MakeSession(*model, way);
      ASSERT_TRUE(session.ok()) << way.name << ": " << session.status();
      ExpectEqual(session->Run(inputs), *want, absl::StrCat(way.name, ", ", sizes));
    }
    ExpectEqual(RunPlan(*model, inputs), *want, absl::StrCat("a plan, ", sizes));
    ExpectEqual(RunProgram(*model, inputs, Dynamic::kSymbolic), *want, std::string(sizes));
  }
}

constexpr Case kCases[] = {
    {"cat", R"(
       func @main(%x: f32[a, 3], %y: f32[b, 3]) {
         %0 = cat(%x, %y, dim=1) loc("here")
         return %0
       })",
     "a=2 b=2", "a=3 b=500;a=500 b=3"},
    {"stack", R"(
       func @main(%x: f32[a], %y: f32[b]) {
         %0 = stack(%x, %y, dim=0) loc("here")
         return %0
       })",
     "a=2 b=2", "a=6 b=2"},
    {"matmul", R"(
       func @main(%x: f32[4, a], %y: f32[b, 5]) {
         %0 = matmul(%x, %y) loc("here")
         return %0
       })",
     "a=3 b=3", "a=6 b=2;a=70000 b=1;a=1 b=70000"},
    {"bmm", R"(
       func @main(%x: f32[a, 3, 4], %y: f32[b, 4, 5]) {
         %0 = matmul(%x, %y) loc("here")
         return %0
       })",
     "a=2 b=2;a=1 b=3;a=3 b=1", "a=6 b=2;a=2 b=300"},
    {"gemm", R"(
       func @main(%x: f32[4, a], %w: f32[5, b], %y: f32[c, 5]) {
         %0 = linear(%x, %w, none) loc("here")
         %1 = add(%0, %y) loc("here")
         return %1
       })",
     "a=3 b=3 c=4;a=3 b=3 c=1", "a=6 b=2"},
    {"linear_bias", R"(
       func @main(%x: f32[2, 4], %w: f32[a, 4], %b: f32[b]) {
         %0 = linear(%x, %w, %b) loc("here")
         return %0
       })",
     "a=5 b=5", "a=500 b=5"},
    {"bias_epilogue", R"(
       func @main(%x: f32[4, 8], %w: f32[8, a], %y: f32[b]) {
         %0 = matmul(%x, %w)
         %1 = add(%0, %y) loc("here")
         %2 = relu(%1)
         return %2
       })",
     "a=16 b=16;a=16 b=1;a=1 b=16", "a=16 b=4"},
    {"einsum", R"(
       func @main(%x: f32[4, a], %y: f32[b, 5]) {
         %0 = einsum(%x, %y, equation="ij,jk->ik") loc("here")
         return %0
       })",
     "a=3 b=3", "a=6 b=2"},
    {"dft", R"(
       func @main(%x: f32[2, 3, a]) {
         %0 = dft(%x) loc("here")
         return %0
       })",
     "a=1;a=2", "a=0;a=3"},
    {"one_sided_inverse_dft", R"(
       func @main(%x: f32[2, 3, a]) {
         %0 = dft(%x, inverse=true, onesided=true) loc("here")
         return %0
       })",
     "a=2", "a=1;a=3"},
    {"interpolate", R"(
       func @main(%x: f32[1, 3, a]) {
         %0 = interpolate(%x, size=[1, 7, 6], scales=[1.0, 2.4, 0.5]) loc("here")
         return %0
       })",
     "a=11;a=12;a=14", "a=10;a=15;a=16"},
    {"batch_norm", R"(
       func @main(%x: f32[2, a, 4], %w: f32[b], %v: f32[b], %m: f32[b], %s: f32[b]) {
         %0 = batch_norm(%x, %w, %v, %m, %s, eps=2) loc("here")
         return %0
       })",
     "a=3 b=3", "a=300 b=2"},
    {"reshape_of_symbols", R"(
       func @main(%x: f32[2, a], %y: f32[b]) {
         %0 = reshape(%x, size=[2, b]) loc("here")
         %1 = mul(%0, %y)
         return %1
       })",
     "a=3 b=3;a=0 b=0", "a=2 b=300"},
    {"gather", R"(
       func @main(%x: f32[a, 3], %i: i64[b, 3]) {
         %0 = gather(%x, %i, dim=1) loc("here")
         return %0
       })",
     "a=4 b=2", "a=2 b=400"},
    {"reshape", R"(
       func @main(%x: f32[a]) {
         %0 = reshape(%x, size=[11]) loc("here")
         %1 = exp(%0)
         return %1
       })",
     "a=11", "a=5"},
    {"attention", R"(
       func @main(%q: f32[1, 2, 4, 8], %k: f32[1, 2, a, 8], %v: f32[1, 2, b, 8]) {
         %0 = scaled_dot_product_attention(%q, %k, %v, none) loc("here")
         return %0
       })",
     "a=5 b=5", "a=300 b=2"},
    {"attention_mask", R"(
       func @main(%q: f32[1, 2, 4, 8], %k: f32[1, 2, a, 8], %v: f32[1, 2, a, 8], %m: f32[4, b]) {
         %0 = scaled_dot_product_attention(%q, %k, %v, %m) loc("here")
         return %0
       })",
     "a=5 b=5;a=5 b=1", "a=300 b=2"},
    {"convolution_channels", R"(
       func @main(%x: f32[1, a, 5, 5], %w: f32[4, b, 3, 3]) {
         %0 = convolution(%x, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1]) loc("here")
         return %0
       })",
     "a=2 b=2", "a=2 b=20;a=20 b=2"},
    {"convolution_window", R"(
       func @main(%x: f32[1, 2, a, 5], %w: f32[4, 2, 3, 3]) {
         %0 = convolution(%x, %w, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1]) loc("here")
         return %0
       })",
     "a=3;a=8", "a=1;a=0"},
    {"expand", R"(
       func @main(%x: f32[a], %y: f32[b]) {
         %0 = expand(%x, size=[3, b]) loc("here")
         %1 = mul(%0, %y)
         return %1
       })",
     "a=4 b=4;a=1 b=4", "a=3 b=400"},
    {"split", R"(
       func @main(%x: f32[a], %y: f32[b]) {
         %0, %1 = split_with_sizes(%x, split_sizes=[2, b]) loc("here")
         %2 = mul(%1, %y)
         return %0, %2
       })",
     "a=6 b=4;a=2 b=0", "a=3 b=400"},
    {"nll_loss", R"(
       func @main(%x: f32[a, 4], %t: i64[b]) {
         %0 = nll_loss(%x, %t, none) loc("here")
         return %0
       })",
     "a=3 b=3", "a=2 b=300"},
    {"depth_to_space", R"(
       func @main(%x: f32[1, a, 2, 2]) {
         %0 = depth_to_space(%x, block_size=2) loc("here")
         return %0
       })",
     "a=8", "a=6"},
    {"space_to_depth", R"(
       func @main(%x: f32[1, 2, a, 4]) {
         %0 = space_to_depth(%x, block_size=2) loc("here")
         return %0
       })",
     "a=6", "a=5"},
    {"add", R"(
       func @main(%x: f32[4, a], %y: f32[b]) {
         %0 = add(%x, %y) loc("here")
         %1 = exp(%0)
         return %1
       })",
     "a=3 b=3;a=1 b=3;a=3 b=1;a=0 b=1", "a=6 b=2;a=2 b=6;a=0 b=2"},
    {"positions", R"(
       func @main(%x: f32[a, 4], %table: f32[32, 4]) {
         %0 = slice(%table, dim=0, end=a)
         %1 = add(%x, %0) loc("here")
         %2 = exp(%1)
         return %2
       })",
     "a=5;a=32;a=1;a=0", "a=40"},
    {"select", R"(
       func @main(%x: f32[a, 3]) {
         %0 = select(%x, dim=0, index=5) loc("here")
         return %0
       })",
     "a=6", "a=5"},
    // The passes need the node no more, and its operand goes unread.
    {"slice_of_cat", R"(
       func @main(%x: f32[2, a], %y: f32[3, b]) {
         %0 = cat(%x, %y, dim=0) loc("here")
         %1 = slice(%0, dim=0, end=2)
         return %1
       })",
     "a=4 b=4", "a=4 b=6"},
    {"fused", R"(
       func @main(%x: f32[a], %y: f32[b]) {
         %0 = fused(%x, %y, kind="pointwise") {
           body(%p: f32[a], %q: f32[b]) {
             %0 = mul(%p, %q) loc("here")
             %1 = exp(%0)
             return %1
           }
         }
         return %0
       })",
     "a=4 b=4;a=4 b=1", "a=4 b=6"},
    {"declared", R"(
       func @main(%x: f32[a, 2], %y: f32[b]) {
         %0 = reshape(%x, size=[2*a]) : f32[b] loc("here")
         %1 = add(%0, %y)
         return %1
       })",
     "a=2 b=4", "a=4 b=6"},
    {"negative", R"(
       func @main(%x: f32[1], %y: f32[a]) {
         %0 = expand(%x, size=[a - 3]) loc("here")
         return %0, %y
       })",
     "a=3;a=5", "a=2"},
};

std::unique_ptr<Module> ModelOf(absl::string_view name) {
  for (const Case& c : kCases) {
    if (c.name == name) return Parse(c.text);
  }
  ADD_FAILURE() << name;
  return nullptr;
}

INSTANTIATE_TEST_SUITE_P(Ops, Misfit, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// --- Sizes that data decides, and nested graphs ----------------------------------------

constexpr char kBranches[] = R"(
  func @main(%p: bool[], %x: f32[a, 3], %y: f32[b, 3]) {
    %0 = cond(%p, %x, %y) {
      then_graph(%l: f32[a, 3], %r: f32[b, 3]) {
        %0 = cat(%l, %r, dim=1) loc("here")
        return %0
      }
      else_graph(%l: f32[a, 3], %r: f32[b, 3]) {
        %0 = cat(%l, %l, dim=1)
        return %0
      }
    }
    return %0
  })";

TEST(MisfitInBranches, RefusesNothingForABranchThatIsNotTaken) {
  const auto model = Parse(kBranches);
  std::vector<HostTensor> inputs = InputsOf(*model, "a=3 b=50");
  for (const Way& way : kWays) {
    auto session = MakeSession(*model, way);
    ASSERT_TRUE(session.ok()) << way.name << ": " << session.status();
    inputs[0] = HostTensor::FromInts(DType::kBool, {}, {0});
    EXPECT_TRUE(session->Run(inputs).ok()) << way.name << ": " << session->Run(inputs).status();
    inputs[0] = HostTensor::FromInts(DType::kBool, {}, {1});
    const Outputs taken = session->Run(inputs);
    ASSERT_FALSE(taken.ok()) << way.name;
    EXPECT_EQ(taken.status().code(), absl::StatusCode::kInvalidArgument) << taken.status();
    EXPECT_THAT(std::string(taken.status().message()), AllOf(HasSubstr("here"), HasSubstr("50")));
  }
}

TEST(MisfitMessages, NameTheConditionAndItsInputs) {
  const auto positions = ModelOf("positions");
  const Outputs outputs = RunPlan(*positions, InputsOf(*positions, "a=40"));
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(std::string(outputs.status().message()),
              AllOf(HasSubstr("a <= 32"), HasSubstr("a = 40 (input %x dim 0)"), HasSubstr("here")));
}

TEST(MisfitPlans, KeepTheirConditionsInTheText) {
  const auto model = ModelOf("matmul");
  auto plan = Lower(*model->main(), cpu::CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::string text = PrintPlan(*plan);
  EXPECT_THAT(text, HasSubstr("condition (a == b) from \"matmul, from \\\"here\\\"\""));
  const auto again = ParsePlan(text, *model);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintPlan(*again), text);
}

TEST(HugeSizes, OfEmptyTensorsAreTaken) {
  const auto model = Parse(R"(
    func @main(%x: f32[a, b, 4]) {
      %0 = exp(%x)
      return %0
    })");
  const HostTensor empty(DType::kF32, {int64_t{1} << 62, 0, 4});
  for (const Way& way : kWays) {
    auto session = MakeSession(*model, way);
    ASSERT_TRUE(session.ok()) << way.name << ": " << session.status();
    const Outputs outputs = session->Run({empty});
    ASSERT_TRUE(outputs.ok()) << way.name << ": " << outputs.status();
    EXPECT_EQ((*outputs)[0].dims(), empty.dims());
  }
}

}  // namespace
}  // namespace weft
