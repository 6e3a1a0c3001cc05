// Programs of torch.export with their parameters and buffers as state: results equal those with
// constants, and other tensors can replace them by name without another compilation. The programs
// are beside the checkout (../shared/pt2).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "api/check/compare.h"
#include "api/check/seeded_inputs.h"
#include "api/model_io.h"
#include "api/program.h"
#include "api/session.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

fs::path SharedPrograms() {
  const fs::path workspace =
      fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") / "WORKSPACE";
  return fs::canonical(workspace).parent_path().parent_path() / "shared" / "pt2";
}

class ParametersTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const fs::path root = SharedPrograms();
    if (!fs::exists(root)) {
      GTEST_SKIP() << root << " is not there; it holds programs that torch.export wrote";
    }
    file_ = root / GetParam() / "core.pt2";
  }
  std::unique_ptr<Module> Load(bool parameters_as_inputs) {
    LoadOptions options;
    options.parameters_as_inputs = parameters_as_inputs;
    auto module = LoadModel(file_.string(), options);
    EXPECT_TRUE(module.ok()) << module.status();
    return *std::move(module);
  }

  fs::path file_;
};

void ExpectEqual(const std::vector<HostTensor>& got, const std::vector<HostTensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  CompareOptions exact;
  exact.rtol = exact.atol = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const absl::Status status = Compare(got[i], want[i], exact);
    EXPECT_TRUE(status.ok()) << "output " << i << ": " << status.message();
  }
}

// By name, those without state.
std::map<std::string, HostTensor> UserInputs(const Graph& main) {
  std::map<std::string, HostTensor> inputs;
  const auto seeded = MakeSeededInputs(main);
  EXPECT_TRUE(seeded.ok()) << seeded.status();
  for (int i = 0; i < main.num_inputs(); ++i) {
    if (main.input_info(i).initial < 0) inputs[main.input_info(i).name] = (*seeded)[i];
  }
  return inputs;
}

TEST_P(ParametersTest, AreState) {
  auto program = Program::Create(Load(true));
  ASSERT_TRUE(program.ok()) << program.status();
  auto constants = Session::Create(Load(false), "reference");
  ASSERT_TRUE(constants.ok()) << constants.status();
  EXPECT_GE(program->state_names().size(), 2u);
  const auto inputs = UserInputs(constants->main());
  for (int i = 0; i < 2; ++i) {
    const auto got = program->Run(inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    const auto want = constants->Run(inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    ExpectEqual(*got, *want);
  }
  EXPECT_EQ(program->Explain().compiles, 1);
}

TEST_P(ParametersTest, AreExchangedByName) {
  auto program = Program::Create(Load(true));
  ASSERT_TRUE(program.ok()) << program.status();
  const auto inputs = UserInputs(program->main());
  const auto before = program->Run(inputs);
  ASSERT_TRUE(before.ok()) << before.status();
  std::map<std::string, HostTensor> others;
  auto model = Session::Create(Load(true), "reference");
  ASSERT_TRUE(model.ok()) << model.status();
  for (const std::string& name : program->state_names()) {
    // The run before has written buffers.
    const HostTensor old = *program->state(name);
    ASSERT_TRUE(model->SetState(name, old).ok());
    if (!IsFloat(old.dtype())) continue;
    std::vector<double> values = old.ReadDoubles();
    for (double& v : values) v = std::abs(v) * 0.5 + 0.25;
    HostTensor other(old.dtype(), old.dims());
    other.WriteDoubles(values);
    others[name] = other;
    ASSERT_TRUE(model->SetState(name, other).ok());
  }
  if (model->main().write_backs().empty()) {
    const auto want = model->Run(inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    const auto got = program->FunctionalCall(others, inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectEqual(*got, *want);
    EXPECT_FALSE((*got)[0].BitEqual((*before)[0]));
    const auto after = program->Run(inputs);
    ASSERT_TRUE(after.ok()) << after.status();
    ExpectEqual(*after, *before);
  } else {
    // Values that the call writes are returned, and the program's state is unchanged.
    std::map<std::string, HostTensor> buffers;
    for (const std::string& name : program->state_names()) buffers[name] = *program->state(name);
    const auto want = model->Run(inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    const auto got = program->FunctionalCall(&others, inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectEqual(*got, *want);
    for (const auto& [name, tensor] : others) {
      EXPECT_TRUE(tensor.BitEqual(*model->state(name))) << name;
    }
    for (const auto& [name, tensor] : buffers) {
      EXPECT_TRUE(tensor.BitEqual(*program->state(name))) << name;
    }
  }
  EXPECT_EQ(program->Explain().compiles, 1);
}

INSTANTIATE_TEST_SUITE_P(Programs, ParametersTest,
                         testing::Values("mlp_gelu", "encoder_sdpa_causal", "gpt2_like_2layer",
                                         "dyn_batch_seq", "mutate_buffer_and_view"));

}  // namespace
}  // namespace weft
