// Compiled files with plans for several instruction sets: a program runs the best that its machine
// has, with the bits of a session on that machine.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/compiled_file.h"
#include "api/compiled_program.h"
#include "api/compiler.h"
#include "api/runtime/compiled_plan.h"
#include "api/session.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/standalone/standalone.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/plan.h"
#include "lowering/plan_constants.h"
#include "serialize/flat/weftb_plan.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A product with a weight, and a sum, whose order goes by the length of vectors.
constexpr char kModel[] = R"(
func @main(%x: f32[s0, 48]) -> (%y: f32[s0], %w: f32[s0, 40]) {
  %0 = constant(@c0) : f32[48, 40]
  %w = matmul(%x, %0)
  %1 = exp(%w)
  %y = sum(%1, dim=[1])
  return %y, %w
}
constants {
  @c0 "weight" : f32[48, 40] = dense<0.03>
}
)";

const Backend& Cpu() { return **BuiltinBackends().Find("cpu"); }

std::unique_ptr<Module> Compiled() {
  auto module = Parse(kModel);
  CompileOptions options;
  SetTarget(Cpu(), &options);
  const auto status = Compile(*module, options).status();
  EXPECT_TRUE(status.ok()) << status;
  return module;
}

absl::Status TryWrite(const std::string& path, const CompiledFileOptions& options) {
  const auto module = Compiled();
  return absl::EndsWith(path, ".so") ? WriteCompiledLibrary(*module, Cpu(), path, options)
                                     : WriteCompiledFile(*module, Cpu(), path, options);
}

std::string Write(absl::string_view name, std::vector<std::string> sets, bool pack = false) {
  std::string path = absl::StrCat(testing::TempDir(), "/", name);
  CompiledFileOptions options;
  options.instruction_sets = std::move(sets);
  options.pack = pack;
  const absl::Status status = TryWrite(path, options);
  EXPECT_TRUE(status.ok()) << status;
  return path;
}

std::string WriteBoth(absl::string_view name) { return Write(name, {"avx512", "avx2"}); }

HostTensor Input(int64_t rows) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows * 48; ++i) values.push_back(0.37 * static_cast<double>(i % 13) - 2);
  return HostTensor::FromDoubles(DType::kF32, {rows, 48}, values);
}

std::vector<HostTensor> RunFile(const std::string& path, const std::string& cpu,
                                const HostTensor& input) {
  CompiledProgramOptions options;
  options.cpu = cpu;
  const auto program = CompiledProgram::Open(path, options);
  EXPECT_TRUE(program.ok()) << program.status();
  auto outputs = program->Run({input});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *std::move(outputs);
}

std::vector<HostTensor> RunSession(const std::string& cpu, const HostTensor& input) {
  auto session = Session::Create(Compiled(), Cpu(), {{"threads", "1"}, {"cpu", cpu}});
  EXPECT_TRUE(session.ok()) << session.status();
  auto outputs = session->Run({input});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *std::move(outputs);
}

Plan PlanFor(const std::string& path, std::vector<std::string> sets) {
  CompiledPlanOptions options;
  options.plan.instruction_sets = std::move(sets);
  auto compiled = ReadCompiledPlan(path, "cpu", options);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return std::move(compiled->plan);
}

int LanesFor(const std::string& path, std::vector<std::string> sets) {
  const Plan plan = PlanFor(path, std::move(sets));
  return plan.kernels.empty() ? 0 : plan.kernels[0].schedule.lanes;
}

TEST(InstructionSets, TheBestPlanIsRead) {
  const std::string path = WriteBoth("both.weftb");
  EXPECT_THAT(*ReadInstructionSets(path, "cpu"), ElementsAre("avx2", "avx512"));
  EXPECT_EQ(LanesFor(path, {"avx512", "avx2"}), 16);
  EXPECT_EQ(LanesFor(path, {"avx2"}), 8);
  // The first, as readers do that know nothing of instruction sets.
  EXPECT_EQ(LanesFor(path, {}), 8);
  EXPECT_EQ(LanesFor(Write("narrow.weftb", {"avx2"}), {"avx512", "avx2"}), 8);
}

TEST(InstructionSets, ResultsAreThoseOfASession) {
  for (const char* name : {"both.weftb", "both.so"}) {
    const std::string path = WriteBoth(name);
    for (const char* set : {"avx2", "avx512"}) {
      if (!cpu::ChooseIsa(set).ok()) continue;
      for (const int64_t rows : {1, 7, 200}) {
        SCOPED_TRACE(absl::StrCat(name, " ", set, " ", rows));
        const auto got = RunFile(path, set, Input(rows));
        const auto want = RunSession(set, Input(rows));
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i].BitEqual(want[i])) << i;
      }
    }
  }
}

TEST(InstructionSets, CodeIsThatOfThePlan) {
  const std::string path = WriteBoth("code.so");
  std::set<cpu::GeneratedFn> code;
  for (const char* set : {"avx2", "avx512"}) {
    CompiledPlanOptions options;
    options.plan.instruction_sets = {set};
    const auto compiled = ReadCompiledPlan(path, "cpu", options);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const uint64_t hash = HashPlanText(compiled->plan);
    const auto other = compiled->library->Kernels(absl::StrCat(set, "x"), hash);
    const auto same = compiled->library->Kernels(set, hash);
    ASSERT_TRUE(other.ok() && same.ok());
    EXPECT_THAT(*other, IsEmpty());
    ASSERT_FALSE(same->empty());
    ASSERT_EQ(compiled->kernels.size(), compiled->plan.kernels.size());
    EXPECT_EQ((*same)[0].fn, compiled->kernels[0].fn);
    EXPECT_TRUE(code.insert(compiled->kernels[0].fn).second);
    EXPECT_EQ(compiled->library->Kernels(set, hash + 1).status().message(),
              absl::StrCat(path, ": its machine code is not of the plan for ", set));
  }
}

TEST(InstructionSets, AMachineWithoutThemIsRefused) {
  const std::string path = Write("wide.weftb", {"avx512"});
  CompiledProgramOptions options;
  options.cpu = "avx2";
  const absl::Status status = CompiledProgram::Open(path, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            absl::StrCat(path,
                         ": there is no plan of @main for target cpu with avx2; the file has "
                         "@main for cpu:avx512"));
}

// Copies for another set would be mapped and checked for nothing.
TEST(InstructionSets, EachPlanHasItsPackedWeights) {
  if (!cpu::ChooseIsa("avx512").ok()) GTEST_SKIP() << "packing runs the plans";
  const std::string path = Write("packed.weftb", {"avx2", "avx512"}, /*pack=*/true);
  std::string layouts[2];
  for (const bool wide : {false, true}) {
    const std::string set = wide ? "avx512" : "avx2";
    Plan plan = PlanFor(path, {set});
    ASSERT_EQ(plan.constants->by_number.size(), 1u);
    const PlanConstant& weight = plan.constants->by_number.begin()->second;
    ASSERT_EQ(weight.packed.size(), 1u);
    layouts[wide] = weight.packed[0].layout;
    cpu::StandaloneOptions options;
    options.isa = set;
    const auto program = cpu::Standalone::Create(std::move(plan), options);
    ASSERT_TRUE(program.ok()) << program.status();
    std::vector<HostTensor> outputs;
    ASSERT_TRUE((*program)->Run({Input(5)}, &outputs).ok());
    EXPECT_THAT((*program)->Packed(), IsEmpty());
    EXPECT_TRUE(outputs[1].BitEqual(RunSession(set, Input(5))[1]));
  }
  EXPECT_NE(layouts[0], layouts[1]);
}

TEST(InstructionSets, TargetsOfAFile) {
  const auto one = ParseFileTargets("cpu");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->backend, "cpu");
  EXPECT_THAT(one->instruction_sets, IsEmpty());
  const auto two = ParseFileTargets("cpu,cpu:avx2");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->backend, "cpu");
  EXPECT_THAT(two->instruction_sets, ElementsAre("native", "avx2"));
  for (const char* text : {"", "cpu,", "cpu:", ":avx2", "cpu,cuda", "cpu:avx2,reference"}) {
    EXPECT_THAT(std::string(ParseFileTargets(text).status().message()),
                HasSubstr("is not one target, or one with several instruction sets"))
        << text;
  }
}

TEST(InstructionSets, UnknownOnesAreRefused) {
  const std::string path = absl::StrCat(testing::TempDir(), "/unknown.weftb");
  CompiledFileOptions options;
  options.instruction_sets = {"avx2_vnni"};
  EXPECT_EQ(TryWrite(path, options).message(),
            "plans are for native, avx2 or avx512, not for \"avx2_vnni\"");
  options.instruction_sets = {"avx2"};
  auto module = Parse(kModel);
  EXPECT_EQ(WriteCompiledFile(*module, **BuiltinBackends().Find("cuda"), path, options).message(),
            "instruction sets are for cpu, not for cuda");
}

TEST(InstructionSets, AllAreChecked) {
  const std::string path = WriteBoth("checked.weftb");
  const auto check = CheckCompiledFile(*Parse(kModel), Cpu(), path);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->difference, "");
  const int plans = cpu::ChooseIsa("avx512").ok() ? 2 : 1;
  EXPECT_EQ(check->compared() % plans, 0);
  EXPECT_EQ(check->unchecked.size(), 2u - plans);
  EXPECT_EQ(absl::StrContains(check->ToString(), "lacks it: avx512"), plans == 1);
}

}  // namespace
}  // namespace weft
