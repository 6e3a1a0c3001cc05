// Plans without the module that they were made from: as they are, and read back from their text
// beside the constants by content id. They run on the CPU's launcher, without an evaluator of ops.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/launcher.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "backends/runtime/host_device.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/plan_runtime.h"
#include "examples/models/models.h"
#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "tests/backends/runtime/run_plan.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The constants that a file would hold beside the plan.
class Contents {
 public:
  explicit Contents(const Module& module) {
    const ConstantStore& store = module.constants();
    for (int i = 0; i < store.size(); ++i) {
      by_id_[store.tensor(i).Fingerprint()] = store.tensor(i);
    }
  }
  HostTensor operator()(uint64_t id, Type) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? HostTensor() : it->second;
  }

 private:
  std::map<uint64_t, HostTensor> by_id_;
};

// Runs a plan, and holds nothing that knows graphs or evaluates ops.
class Runtime {
 public:
  explicit Runtime(Plan plan) : plan_(std::move(plan)) {
    UseAvx2(&launcher_);
    auto runner = PlanRunner::Create(plan_, runtime_);
    EXPECT_TRUE(runner.ok()) << runner.status();
    runner_ = *std::move(runner);
  }

  absl::StatusOr<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs) {
    return RunPlan(*runner_, inputs);
  }

 private:
  Plan plan_;
  HostDevice device_;
  cpu::CpuLauncher launcher_;
  PlanRuntime runtime_{device_, launcher_, nullptr};
  std::unique_ptr<PlanRunner> runner_;
};

Plan LowerMain(const Module& module) {
  auto plan = Lower(*module.main(), cpu::CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

Plan ReadBack(const std::string& text, const Contents& contents) {
  auto plan = ParsePlan(text, ops::Registry(), contents);
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(PrintPlan(*plan), text);
  EXPECT_TRUE(VerifyPlan(*plan).ok()) << VerifyPlan(*plan);
  return *std::move(plan);
}

// A convolutional network of several sizes, and what the reference makes of it.
struct Case {
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> want;
};

std::vector<Case> CasesOf(const models::Model& model) {
  std::vector<Case> cases;
  for (const int64_t batch : {1, 3}) {
    Case& c = cases.emplace_back();
    auto inputs = models::MakeInputs(model, {{"batch", batch}});
    EXPECT_TRUE(inputs.ok()) << inputs.status();
    c.inputs = *std::move(inputs);
    auto want = reference::Run(*model.module->main(), c.inputs);
    EXPECT_TRUE(want.ok()) << want.status();
    c.want = *std::move(want);
  }
  return cases;
}

void ExpectValues(Runtime& runtime, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const auto got = runtime.Run(c.inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), c.want.size());
    for (size_t i = 0; i < c.want.size(); ++i) {
      EXPECT_EQ(Difference((*got)[i], c.want[i], {1e-4, 1e-4}), "") << "output " << i;
    }
  }
}

models::Model SmallConvNet() {
  models::ModelOptions options;
  options.small = true;
  auto model = models::BuildModel("mobilenet_v2", options);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

TEST(StandalonePlan, OutlivesItsModule) {
  models::Model model = SmallConvNet();
  const std::vector<Case> cases = CasesOf(model);
  Plan plan = LowerMain(*model.module);
  model.module.reset();
  Runtime runtime(std::move(plan));
  ExpectValues(runtime, cases);
}

TEST(StandalonePlan, RunsFromItsTextAndConstantsByContent) {
  models::Model model = SmallConvNet();
  const std::vector<Case> cases = CasesOf(model);
  const std::string text = PrintPlan(LowerMain(*model.module));
  const Contents contents(*model.module);
  model.module.reset();
  Runtime runtime(ReadBack(text, contents));
  ExpectValues(runtime, cases);
}

constexpr char kScaled[] = R"(
  func @main(%x: f32[s0, 3]) -> (f32[s0, 3]) where 1 <= s0 <= 8 {
    %c = constant(dense<[1.0, 2.0, 3.0]>) : f32[3]
    %0 = add(%x, %c) : f32[s0, 3]  loc("here")
    return %0
  })";

TEST(StandalonePlan, SaysWhatItNeeds) {
  const auto module = Parse(kScaled);
  const Plan plan = LowerMain(*module);
  ASSERT_EQ(plan.constants->by_number.size(), 1u);
  const HostTensor& constant = plan.constants->by_number.begin()->second.tensor;
  const std::string id = absl::StrCat("0x", absl::Hex(constant.Fingerprint(), absl::kZeroPad16));
  const std::string text = PrintPlan(plan);
  EXPECT_THAT(text, HasSubstr(absl::StrCat("  constant 0 : f32[3] id ", id, "\n")));
  EXPECT_THAT(text, HasSubstr(" where 1 <= s0 <= 8 {\n"));
  EXPECT_THAT(text, HasSubstr(" from \"here\"\n"));
}

TEST(StandalonePlan, SharesConstantsWithItsModuleAndNestedPlans) {
  const auto module = Parse(R"(
    func @main(%p: bool[], %x: f32[s0, 3]) -> (f32[s0, 3]) where 1 <= s0 {
      %0 = cond(%p, %x) {
        then_graph(%a: f32[s0, 3]) {
          %c = constant(dense<[1.0, 2.0, 3.0]>) : f32[3]
          %b = add(%a, %c)
          return %b
        }
        else_graph(%a: f32[s0, 3]) {
          %c = constant(dense<[1.0, 2.0, 3.0]>) : f32[3]
          %b = mul(%a, %c)
          return %b
        }
      }
      return %0
    })");
  Plan lowered = LowerMain(*module);
  const std::string text = PrintPlan(lowered);
  Plan read = ReadBack(text, Contents(*module));
  for (Plan* root : {&lowered, &read}) {
    const std::vector<Plan*> plans = AllPlans(root);
    ASSERT_EQ(plans.size(), 3u);
    for (const Plan* plan : plans) {
      EXPECT_EQ(plan->constants, root->constants);
      EXPECT_EQ(plan->symbols, root->symbols);
    }
    ASSERT_EQ(root->constants->by_number.size(), 1u);
    const auto& [number, constant] = *root->constants->by_number.begin();
    EXPECT_EQ(constant.tensor.buffer(), module->constants().tensor(number).buffer());
  }
}

std::vector<std::string> SymbolNames(const Plan& plan) {
  std::vector<std::string> names;
  for (const SymbolInfo& info : FactsOf(plan).symbols()) names.push_back(info.symbol.ToString());
  return names;
}

TEST(StandalonePlan, HasTheFactsOfItsOwnSymbolsAlone) {
  const auto module = Parse(R"(
    func @main(%x: f32[s0], %y: f32[s1]) -> (f32[s0]) where 1 <= s0 <= 8, s0 + s1 == s2 {
      %0 = exp(%x)
      return %0
    }
    func @other(%x: f32[t0]) -> (f32[t0]) where 1 <= t0, t0 % 4 == 0 {
      %0 = exp(%x)
      return %0
    })");
  // A condition ties s2, which nothing mentions.
  const Plan plan = LowerMain(*module);
  EXPECT_THAT(SymbolNames(plan), testing::UnorderedElementsAre("s0", "s1", "s2"));
  const auto other = Lower(*module->FindFunction("other"), cpu::CpuTarget());
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(SymbolNames(*other), ElementsAre("t0"));
  EXPECT_EQ(FactsOf(*other).symbols()[0].divisor, 4);
}

TEST(StandalonePlan, RefusesSizesAsItsModuleDoes) {
  const auto module = Parse(R"(
    func @main(%x: f32[s0], %y: f32[s1]) -> (f32[s0]) where 1 <= s0 <= 8, s1 == 2*s0 + 1 {
      %0 = exp(%x)
      %1 = sum(%y)
      %2 = add(%0, %1)
      return %2
    })");
  const std::string text = PrintPlan(LowerMain(*module));
  EXPECT_THAT(text, HasSubstr(" from \"the where clause\"\n"));
  Runtime made(LowerMain(*module));
  Runtime read(ReadBack(text, Contents(*module)));
  const auto tensor = [](int64_t n) { return HostTensor(DType::kF32, {n}); };
  for (Runtime* runtime : {&made, &read}) {
    EXPECT_TRUE(runtime->Run({tensor(3), tensor(7)}).ok());
    const auto far = runtime->Run({tensor(9), tensor(19)});
    EXPECT_THAT(std::string(far.status().message()),
                HasSubstr("input 0 (x): dim 0 is 9, outside of 1 <= s0 <= 8"));
    const auto wrong = runtime->Run({tensor(3), tensor(8)});
    EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("it comes from the where clause"));
  }
}

TEST(StandalonePlan, TakesAnythingForAnInputThatNothingReads) {
  const auto module = Parse(R"(
    func @main(%x: f32[s0], %like: f32[s1, 2]) -> (f32[s0]) where 1 <= s1 <= 4 {
      %0 = exp(%x)
      return %0
    })");
  Runtime runtime(LowerMain(*module));
  const HostTensor x(DType::kF32, {3});
  for (const HostTensor& like : {HostTensor(DType::kF32, {4, 2}), HostTensor(DType::kF32, {9, 2}),
                                 HostTensor(DType::kF32, {2, 3}), HostTensor(DType::kI64, {5})}) {
    const auto outputs = runtime.Run({x, like});
    ASSERT_TRUE(outputs.ok()) << like.type().ToString() << ": " << outputs.status();
    EXPECT_THAT((*outputs)[0].dims(), ElementsAre(3));
  }
  EXPECT_EQ(runtime.Run({x, HostTensor()}).status().message(), "input 1 (like) is missing");
}

TEST(StandalonePlan, ChecksTheValueOfAnInputOnEveryRun) {
  const auto module = Parse(R"(
    func @main(%x: f32[s0], %k: i64[] {value=dense<3>}) -> (f32[s0]) {
      %0 = exp(%x)
      return %0
    })");
  Runtime runtime(LowerMain(*module));
  const HostTensor x(DType::kF32, {3});
  const HostTensor right = HostTensor::ScalarInt(DType::kI64, 3);
  const HostTensor wrong = HostTensor::ScalarInt(DType::kI64, 4);
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(runtime.Run({x, wrong}).status().message(),
              "input 1 (k) differs from the value that the program was made for");
    EXPECT_TRUE(runtime.Run({x, right}).ok());
  }
}

TEST(StandalonePlan, NamesTheSourceOfAStepThatFails) {
  const auto module = Parse(R"(
    func @main(%x: f32[5]) -> (i64[u0, 1]) {
      %0 = nonzero(%x) : i64[u0, 1]  loc("here")
      return %0
    })");
  const std::string text = PrintPlan(LowerMain(*module));
  Runtime runtime(ReadBack(text, Contents(*module)));
  const auto got = runtime.Run({HostTensor(DType::kF32, {5})});
  EXPECT_EQ(got.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(got.status().message()), HasSubstr("nonzero from \"here\""));
}

// --- Hostile texts -------------------------------------------------------------------

class HostileText : public testing::Test {
 protected:
  HostileText() : module_(Parse(kScaled)), text_(PrintPlan(LowerMain(*module_))) {}

  // The text with `to` for the first `from`.
  std::string Edited(const std::string& from, const std::string& to) const {
    std::string text = text_;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in\n" << text;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
  std::string Refusal(const std::string& text) const {
    const auto plan = ParsePlan(text, ops::Registry(), Contents(*module_), "p.plan");
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(plan.status().message());
  }
  std::string VerifierRefusal(const std::string& text) const {
    const auto plan = ParsePlan(text, ops::Registry(), Contents(*module_), "p.plan");
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? std::string(VerifyPlan(*plan).message()) : "";
  }
  // The line of the constant, without the end of the line.
  std::string ConstantLine() const {
    const size_t begin = text_.find("  constant 0 ");
    return text_.substr(begin, text_.find('\n', begin) - begin);
  }

  const std::unique_ptr<Module> module_;
  const std::string text_;
};

TEST_F(HostileText, IsRefusedByTheReaderWithTheLine) {
  const std::string line = ConstantLine();
  const std::string id = line.substr(line.find("0x"));
  const struct {
    std::string from;
    std::string to;
    const char* why;
  } edits[] = {
      {id, "0x1", "there is no constant of content 0x0000000000000001"},
      {id, id + "0", "content id of up to 16 hexadecimal digits"},
      {id, "7", "content id of up to 16 hexadecimal digits"},
      {"f32[3] id", "f32[4] id", " is a f32[3]"},
      {"f32[3] id", "i32[3] id", " is a f32[3]"},
      {"f32[3] id", "f32[s0] id", "a tensor of a static shape"},
      {line, absl::StrCat(line, " ", line), "the constant is there already"},
      {line, absl::StrCat(line, " assume (s0 + 1)"), "is a size, not a condition"},
      {line, absl::StrCat(line, " assume (s0 <= 4) assume (5 <= s0)"), "leave no value for s0"},
      {line, absl::StrCat(line, " assume (s1 == 2*s0 + 20) assume (s1 <= 9)"),
       "contradicts other facts"},
      {line, absl::StrCat(line, " assume (s0 <= 4) from 3"), "expected"},
      {"constant 0 ", "constant 99999999999 ", "out of range"},
      {"1 <= s0 <= 8", "9 <= s0 <= 8", "the facts leave no value for s0"},
      {"1 <= s0 <= 8", "1 <= s0 <= 8, s0 % 0 == 0", "expected %"},
      {" where 1 <= s0 <= 8", " where", "expected a fact"},
      {"from \"here\"", "from 3", "expected"},
      {" node ", " accumulates 2 node ", "the step has no such argument"},
      {"launch @", "library nothing_of_the_kind @", "unknown op"},
  };
  for (const auto& edit : edits) {
    const std::string text = Edited(edit.from, edit.to);
    const std::string refusal = Refusal(text);
    const auto lines = std::count(text_.begin(), text_.begin() + text_.find(edit.from), '\n');
    EXPECT_THAT(refusal, StartsWith(absl::StrCat("p.plan:", lines + 1, ":"))) << edit.to;
    EXPECT_THAT(refusal, HasSubstr(edit.why)) << edit.to;
  }
}

TEST_F(HostileText, LacksAConstant) {
  EXPECT_THAT(Refusal(Edited(ConstantLine() + "\n", "")),
              testing::AllOf(StartsWith("p.plan:"), HasSubstr("the plan has no such constant")));
}

TEST_F(HostileText, GetsATensorOfAnotherType) {
  const auto liar = [](uint64_t, Type) {
    return HostTensor::FromDoubles(DType::kF32, {7}, {1, 2, 3, 4, 5, 6, 7});
  };
  const auto plan = ParsePlan(text_, ops::Registry(), liar, "p.plan");
  EXPECT_THAT(std::string(plan.status().message()),
              testing::AllOf(StartsWith("p.plan:2:"), HasSubstr(" is a f32[7]")));
}

TEST_F(HostileText, NamesAnOpThatTheRegistryLacks) {
  const auto module = Parse(R"(
    func @main(%x: f32[5]) -> (i64[u0, 1]) {
      %0 = nonzero(%x) : i64[u0, 1]
      return %0
    })");
  const std::string text = PrintPlan(LowerMain(*module));
  const OpRegistry none;
  const auto plan = ParsePlan(text, none, Contents(*module), "p.plan");
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("unknown op \"nonzero\""));
}

TEST_F(HostileText, IsRefusedByTheVerifier) {
  const struct {
    std::string from;
    std::string to;
    const char* why;
  } edits[] = {
      {"f32[3] constant 0", "f32[300] constant 0", "is not as constant 0"},
      {"f32[3] constant 0", "i32[3] constant 0", "is not as constant 0"},
      {"f32[3*s0] input 0", "f32[3000*s0] input 0", "is not as input 0"},
      {"f32[3*s0] input 0", "f32[3*s0] input 7", "is not as input 7"},
      {"f32[3*s0] output 0", "f32[3*s0] output 7", "is not as output 7"},
  };
  for (const auto& edit : edits) {
    EXPECT_THAT(VerifierRefusal(Edited(edit.from, edit.to)), HasSubstr(edit.why)) << edit.to;
  }
}

TEST(HostileSteps, AccumulateOnNothing) {
  const auto module = Parse(R"(
    func @main(%x: f32[4, 4], %w: f32[4, 4]) -> (f32[4, 4]) {
      %0 = matmul(%x, %w)
      return %0
    })");
  std::string text = PrintPlan(LowerMain(*module));
  const size_t at = text.find(" node ");
  ASSERT_NE(at, std::string::npos) << text;
  text.insert(at, " accumulates 0");
  const auto plan = ParsePlan(text, *module);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(std::string(VerifyPlan(*plan).message()),
              HasSubstr("does not accumulate on argument 0"));
}

// The outermost plan has what nested plans share.
TEST(HostileSteps, HaveConstantsOfTheirOwn) {
  const auto module = Parse(R"(
    func @main(%p: bool[], %x: f32[4]) -> (f32[4]) {
      %0 = cond(%p, %x) {
        then_graph(%a: f32[4]) {
          %b = exp(%a)
          return %b
        }
        else_graph(%a: f32[4]) {
          return %a
        }
      }
      return %0
    })");
  std::string text = PrintPlan(LowerMain(*module));
  const size_t nested = text.find("plan @", text.find("control cond"));
  ASSERT_NE(nested, std::string::npos) << text;
  const size_t body = text.find("{\n", nested) + 2;
  text.insert(body, "constant 0 : f32[3] id 0x1\n");
  const auto plan = ParsePlan(text, *module);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("expected a step"));
}

}  // namespace
}  // namespace weft
