// Ops of a program's own run as kernels, fused with what is around them, on every target that
// generates code: the results are those of the reference.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/backends.h"
#include "api/compiler.h"
#include "api/extensions.h"
#include "api/session.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/pointwise.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

// In C++ the decomposition is the body of a kernel: x^3 / (1 + |x|).
std::vector<Value*> DecomposeSoftCube(Builder& b, const OpArgs& args) {
  ops::Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  return {p.Done(p.Div(p.Mul(p.Mul(x, x), x), p.Add(p.Abs(x), 1)))};
}
const OpDef soft_cube("soft_cube", OpSpec("soft_cube(Tensor self) -> Tensor", "x^3 / (1 + |x|).")
                                       .Traits(kPointwise)
                                       .Infer(ops::InferUnaryFloat)
                                       .Decompose(DecomposeSoftCube));

constexpr char kOps[] = R"(
op gelu_of(x) = 0.5 * x * (1 + erf(x * 0.7071067811865476))
op positive_of(x) = relu(x)
op swish_of(x, float beta = 1.0) = x * sigmoid(beta * x)
op step_of(x, y, int low = 0) = where(x > y, x - y, low)
op rms_of(x, scale, float eps = 1e-6)
  = x / sqrt(mean(x * x, dim=[-1], keepdim=true) + eps) * scale
)";

struct Setting {
  const char* name;
  const char* target;
  BackendOptions options;
};

const std::vector<Setting>& Settings() {
  static const auto& settings = *new std::vector<Setting>{
      {"interpreted", "cpu", {{"code", "none"}}},
      {"generated", "cpu", {{"code", "before"}}},
      {"cuda", "cuda", {{"cuda-driver", "emulated"}}},
  };
  return settings;
}

HostTensor Numbers(DType dtype, std::vector<int64_t> dims) {
  HostTensor tensor(dtype, std::move(dims));
  std::vector<double> values(tensor.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<double>(static_cast<int64_t>(i * 48271 % 97) - 48) / (IsFloat(dtype) ? 16 : 1);
  }
  tensor.WriteDoubles(values);
  return tensor;
}

class OwnOps : public testing::Test {
 protected:
  OwnOps() {
    EXPECT_TRUE(mine_.AddOp(&soft_cube).ok());
    const absl::Status status = mine_.AddRules(kOps, "own.rules");
    EXPECT_TRUE(status.ok()) << status;
  }

  std::unique_ptr<Module> Parse(const std::string& text) {
    auto module = ParseModule(text, mine_.ops());
    EXPECT_TRUE(module.ok()) << module.status();
    return module.ok() ? *std::move(module) : nullptr;
  }

  // Compiles for the target; checks that the plan has `kernels` steps, all of them kernels.
  std::unique_ptr<Module> Compiled(const std::string& text, const Backend& backend,
                                   size_t kernels) {
    std::unique_ptr<Module> module = Parse(text);
    if (module == nullptr) return nullptr;
    CompileOptions options;
    options.passes.clear();
    SetTarget(backend, &options);
    options.registry = &mine_.passes();
    options.verify = VerifyLevel::kSemantics;
    const auto result = Compile(*module, options);
    EXPECT_TRUE(result.ok()) << result.status();
    const auto plan = Lower(*module->main(), backend.target());
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) return nullptr;
    EXPECT_EQ(plan->steps.size(), kernels) << PrintPlan(*plan);
    for (const Step& step : plan->steps) {
      EXPECT_EQ(step.kind, StepKind::kKernel) << PrintPlan(*plan);
    }
    return module;
  }

  void ExpectAsReference(const std::string& text, const std::vector<HostTensor>& inputs,
                         size_t kernels = 1) {
    auto reference = Session::Create(Parse(text), "reference");
    ASSERT_TRUE(reference.ok()) << reference.status();
    const auto want = reference->Run(inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    for (const Setting& setting : Settings()) {
      const auto backend = BuiltinBackends().Find(setting.target);
      ASSERT_TRUE(backend.ok()) << backend.status();
      std::unique_ptr<Module> module = Compiled(text, **backend, kernels);
      ASSERT_NE(module, nullptr);
      auto session = Session::Create(std::move(module), **backend, setting.options);
      ASSERT_TRUE(session.ok()) << setting.name << ": " << session.status();
      EXPECT_TRUE(session->WaitForCode().ok()) << setting.name;
      const auto got = session->Run(inputs);
      ASSERT_TRUE(got.ok()) << setting.name << ": " << got.status();
      for (size_t i = 0; i < want->size(); ++i) {
        EXPECT_EQ(Difference((*got)[i], (*want)[i], ToleranceOf((*want)[i].dtype())), "")
            << setting.name << ", output " << i;
      }
    }
  }

  Extensions mine_;
};

TEST_F(OwnOps, AreFusedWithTheOpsAroundThem) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    const std::string type = absl::StrCat(DTypeName(dtype), "[n, 33]");
    ExpectAsReference(absl::StrCat("func @main(%x: ", type, ", %y: ", type, R"() {
  %0 = neg(%x)
  %1 = gelu_of(%0)
  %2 = add(%1, %y)
  %3 = swish_of(%2, beta=0.5)
  %4 = soft_cube(%3)
  %5 = relu(%4)
  return %5
})"),
                      {Numbers(dtype, {5, 33}), Numbers(dtype, {5, 33})});
  }
}

TEST_F(OwnOps, Broadcast) {
  for (const DType dtype : {DType::kF32, DType::kI32}) {
    const absl::string_view name = DTypeName(dtype);
    ExpectAsReference(absl::StrCat("func @main(%x: ", name, "[n, 1, 7], %y: ", name, R"([5, 1]) {
  %0 = step_of(%x, %y, low=-3)
  %1 = neg(%0)
  return %1
})"),
                      {Numbers(dtype, {3, 1, 7}), Numbers(dtype, {5, 1})});
  }
}

TEST_F(OwnOps, Reduce) {
  ExpectAsReference(R"(
func @main(%x: f32[n, 65], %scale: f32[65]) {
  %0 = swish_of(%x)
  %1 = rms_of(%0, %scale, eps=0.001)
  %2 = relu(%1)
  return %2
})",
                    {Numbers(DType::kF32, {4, 65}), Numbers(DType::kF32, {65})});
}

// Plans are those of models that have the formulas' ops instead: a product takes a relu into its
// own step.
TEST_F(OwnOps, FollowProductsAsTheOpsOfTheirFormulasDo) {
  const auto backend = BuiltinBackends().Find("cpu");
  ASSERT_TRUE(backend.ok());
  const auto plan_of = [&](const std::string& activation) {
    std::unique_ptr<Module> module = Parse(absl::StrCat(
        "func @main(%x: f32[8, 32], %w: f32[32, 16]) {\n  %0 = matmul(%x, %w)\n", activation, "}"));
    CompileOptions options;
    options.passes.clear();
    SetTarget(**backend, &options);
    options.registry = &mine_.passes();
    EXPECT_TRUE(Compile(*module, options).ok());
    auto plan = Lower(*module->main(), (*backend)->target());
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? *std::move(plan) : Plan();
  };
  const Plan positive = plan_of("  %1 = positive_of(%0)\n  return %1\n");
  EXPECT_EQ(positive.steps.size(), 1u) << PrintPlan(positive);
  const Plan gelu = plan_of("  %1 = gelu_of(%0)\n  return %1\n");
  const Plan spelled_out = plan_of(R"(
  %half = constant(dense<0.5>) : f32[]
  %one = constant(dense<1.0>) : f32[]
  %root = constant(dense<0.70710677>) : f32[]
  %1 = mul(%half, %0)
  %2 = mul(%0, %root)
  %3 = erf(%2)
  %4 = add(%one, %3)
  %5 = mul(%1, %4)
  return %5
)");
  EXPECT_EQ(gelu.steps.size(), spelled_out.steps.size()) << PrintPlan(gelu);
}

}  // namespace
}  // namespace weft
