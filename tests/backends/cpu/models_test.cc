// The example models, small, on the CPU executor against the reference: as they are
// and after the executor's pipeline, interpreted and as generated code, at two sizes of
// each symbol. Every library step has a routine, and a call with sizes that were met
// before allocates nothing.
#include "examples/models/models.h"

#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/counting_new.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

using models::Model;
using models::Sizes;

struct Setting {
  const char* passes;
  CpuOptions::Code code;
};
constexpr Setting kSettings[] = {
    {"none", CpuOptions::Code::kNone},
    {"cpu", CpuOptions::Code::kNone},
    {"cpu", CpuOptions::Code::kBeforeCreation},
};

Model Build(const std::string& name) {
  models::ModelOptions options;
  options.small = true;
  auto model = models::BuildModel(name, options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

Sizes SizesOf(const Model& model, bool large) {
  const std::map<std::string, std::pair<int64_t, int64_t>> all = {
      {"batch", {1, 3}}, {"sequence", {5, 18}}, {"rows", {3, 20}}};
  Sizes sizes;
  for (const SymbolInfo& info : model.module->symbols().symbols()) {
    const std::string name(info.symbol.name());
    sizes[name] = large ? all.at(name).second : all.at(name).first;
  }
  return sizes;
}

class Models : public testing::TestWithParam<std::string> {};

// One size of the model: the values, then that calls to come allocate nothing.
void CheckCalls(const Model& model, Executable& executable, bool large) {
  SCOPED_TRACE(large ? "large" : "small");
  const auto inputs = models::MakeInputs(model, SizesOf(model, large));
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto want = reference::Run(*model.module->main(), *inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  std::vector<HostTensor> got;
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = executable.Run(*inputs, &got);
    ASSERT_TRUE(status.ok()) << status;
  }
  ASSERT_EQ(got.size(), want->size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(Difference(got[i], (*want)[i], {1e-4, 1e-4}), "") << "output " << i;
  }
  const CpuStats before = executable.stats();
  CountingNew counting;
  const absl::Status status = executable.Run(*inputs, &got);
  EXPECT_EQ(counting.Stop(), 0);
  ASSERT_TRUE(status.ok()) << status;
  const CpuStats after = executable.stats();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.compiled_steps, before.compiled_steps);
  EXPECT_EQ(after.assignments, before.assignments);
}

TEST_P(Models, GiveWhatTheReferenceGives) {
  const Model model = Build(GetParam());
  ASSERT_NE(model.module, nullptr);
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(absl::StrCat("passes ", setting.passes,
                              setting.code == CpuOptions::Code::kNone ? "" : " and code"));
    const Model compiled = Build(GetParam());
    CompileOptions compile;
    compile.passes = setting.passes;
    const auto done = Compile(*compiled.module, compile);
    ASSERT_TRUE(done.ok()) << done.status();
    const Graph& main = *compiled.module->main();
    auto plan = Lower(main, CpuTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    CpuOptions options;
    options.threads = 2;
    options.code = setting.code;
    const bool generates = setting.code != CpuOptions::Code::kNone && !plan->kernels.empty();
    const auto executable = Executable::Create(*std::move(plan), options);
    ASSERT_TRUE(executable.ok()) << executable.status();
    const absl::Status code = (*executable)->WaitForCode();
    ASSERT_TRUE(code.ok()) << code;
    CheckCalls(model, **executable, false);
    CheckCalls(model, **executable, true);
    EXPECT_EQ((*executable)->stats().fallbacks, 0);
    EXPECT_EQ((*executable)->stats().generated_steps > 0, generates);
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const models::ModelEntry& entry : models::AllModels()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Models, testing::ValuesIn(Names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace weft::cpu
