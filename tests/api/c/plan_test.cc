// Programs of compiled files in C, in the library and in the runtime: inputs as state.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "api/backends.h"
#include "api/c/weft.h"
#include "api/compiled_file.h"
#include "api/model_io.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "tests/api/c/weft_api.h"

namespace weft_api_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Opens the file that the program's main() is compiled into.
Program Open(const char* text, const char* name) {
  const std::string path = Path(name);
  auto module = weft::LoadModelText(text, "model.weft");
  EXPECT_TRUE(module.ok()) << module.status();
  const absl::Status written =
      weft::WriteCompiledFile(**module, **weft::BuiltinBackends().Find("cpu"), path);
  EXPECT_TRUE(written.ok()) << written;
  weft_program* program = nullptr;
  EXPECT_FINE(Weft().program_open(path.c_str(), nullptr, &program));
  return Program(program);
}

constexpr char kLinear[] = R"(
func @main(%w: f32[2, 2], %b: f32[2], %x: f32[s0, 2]) {
  %0 = matmul(%x, %w)
  %1 = add(%0, %b)
  return %1
}
)";

struct Owned {
  Owned(std::vector<int64_t> dims, std::vector<float> values, int* count)
      : given(F32(std::move(dims), std::move(values))), deleted(count) {
    managed.version_major = 1;
    managed.context = this;
    managed.deleter = [](weft_managed_tensor* self) {
      auto* owned = static_cast<Owned*>(self->context);
      ++*owned->deleted;
      delete owned;
    };
    managed.tensor = given->tensor;
  }
  std::unique_ptr<Floats> given;
  int* deleted;
  weft_managed_tensor managed = {};
};

weft_managed_tensor* Own(std::vector<int64_t> dims, std::vector<float> values, int* deleted) {
  return &(new Owned(std::move(dims), std::move(values), deleted))->managed;
}

std::vector<float> RunX(const Program& program, const weft_tensor* x) {
  const weft_tensor* inputs[] = {nullptr, nullptr, x};
  weft_managed_tensor* output = nullptr;
  EXPECT_FINE(Weft().program_run(program.get(), inputs, 3, &output, 1));
  return Read(Output(output));
}

TEST(WeftPlanTest, WeightsAreExchangedByName) {
  int deleted = 0;
  const auto x = F32({1, 2}, {3, 4});
  {
    const Program program = Open(kLinear, "linear.weftb");
    EXPECT_EQ(Weft().program_num_states(program.get()), 3u);
    EXPECT_STREQ(Weft().program_state_name(program.get(), 1), "b");
    EXPECT_EQ(Weft().program_input(program.get(), 0)->optional, 0);
    const weft_named_state states[] = {{"w", Own({2, 2}, {0, 1, 1, 0}, &deleted)},
                                       {"b", Own({2}, {10, 20}, &deleted)}};
    ASSERT_FINE(Weft().program_set_states(program.get(), states, 2));
    EXPECT_THAT(RunX(program, &x->tensor), ElementsAre(14, 23));
    weft_managed_tensor* state = nullptr;
    ASSERT_FINE(Weft().program_state(program.get(), "w", &state));
    EXPECT_EQ(state->tensor.data, states[0].tensor->tensor.data);
    EXPECT_EQ(state->flags & WEFT_TENSOR_READ_ONLY, static_cast<uint64_t>(WEFT_TENSOR_READ_ONLY));
    state->deleter(state);
    EXPECT_EQ(deleted, 0);
    const weft_named_state other = {"w", Own({2, 2}, {1, 0, 0, 1}, &deleted)};
    ASSERT_FINE(Weft().program_set_states(program.get(), &other, 1));
    EXPECT_EQ(deleted, 1);
    EXPECT_THAT(RunX(program, &x->tensor), ElementsAre(13, 24));
    const weft_named_tensor named = {"x", &x->tensor};
    weft_managed_tensor* output = nullptr;
    ASSERT_FINE(Weft().program_run_named(program.get(), &named, 1, &output, 1));
    EXPECT_THAT(Read(Output(output)), ElementsAre(13, 24));
  }
  EXPECT_EQ(deleted, 3);
}

TEST(WeftPlanTest, AFunctionalCallLeavesTheState) {
  const Program program = Open(kLinear, "functional.weftb");
  const auto x = F32({1, 2}, {3, 4});
  const auto identity = F32({2, 2}, {1, 0, 0, 1});
  const auto bias = F32({2}, {100, 200});
  const weft_named_tensor state[] = {{"w", &identity->tensor}, {"b", &bias->tensor}};
  const weft_named_tensor input = {"x", &x->tensor};
  weft_managed_tensor* output = nullptr;
  ASSERT_FINE(Weft().program_functional_call(program.get(), state, 2, &input, 1, &output, 1));
  EXPECT_THAT(Read(Output(output)), ElementsAre(103, 204));
  EXPECT_EQ(Take(Weft().program_run_named(program.get(), &input, 1, &output, 1)).message,
            "no tensor for \"w\"");
  EXPECT_EQ(Take(Weft().program_state(program.get(), "w", &output)).message,
            "state \"w\" has not been set");
}

TEST(WeftPlanTest, ARefusedStateIsGivenBack) {
  const Program program = Open(kLinear, "refused.weftb");
  int deleted = 0;
  const auto refused = [&](std::vector<weft_named_state> states) {
    return Take(Weft().program_set_states(program.get(), states.data(), states.size())).message;
  };
  EXPECT_EQ(refused({{"b", Own({2}, {1, 2}, &deleted)}, {"c", Own({1}, {1}, &deleted)}}),
            "the program has no input \"c\"");
  EXPECT_EQ(refused({{"b", Own({3}, {1, 2, 3}, &deleted)}}),
            "state \"b\" has type f32[2], not f32[3]");
  EXPECT_EQ(deleted, 3);
  weft_managed_tensor* output = nullptr;
  EXPECT_EQ(Take(Weft().program_state(program.get(), "b", &output)).code, WEFT_NOT_FOUND);
}

// A recurrence: the state has what the last run wrote, in memory that no output shares.
TEST(WeftPlanTest, RunsWriteTheState) {
  const Program program = Open(R"(
func @main(%sum: f32[2], %x: f32[2]) -> (f32[2], f32[2] {writes=%sum}) {
  %0 = add(%sum, %x)
  return %0, %0
}
)",
                               "sum.weftb");
  int deleted = 0;
  const weft_named_state state = {"sum", Own({2}, {0, 0}, &deleted)};
  ASSERT_FINE(Weft().program_set_states(program.get(), &state, 1));
  const auto x = F32({2}, {1, 10});
  const weft_tensor* inputs[] = {nullptr, &x->tensor};
  for (float runs = 1; runs <= 3; ++runs) {
    weft_managed_tensor* output = nullptr;
    ASSERT_FINE(Weft().program_run(program.get(), inputs, 2, &output, 1));
    const Output owned(output);
    EXPECT_THAT(Read(owned), ElementsAre(runs, 10 * runs));
    *static_cast<float*>(owned->tensor.data) = -1;  // The caller's to change.
  }
  EXPECT_EQ(deleted, 1);
}

TEST(WeftPlanTest, AProfileHasTheSteps) {
  const Program program = Open(kLinear, "profiled.weftb");
  const auto x = F32({1, 2}, {3, 4});
  const auto identity = F32({2, 2}, {1, 0, 0, 1});
  const auto bias = F32({2}, {100, 200});
  const weft_tensor* inputs[] = {&identity->tensor, &bias->tensor, &x->tensor};
  weft_profile* profile = nullptr;
  ASSERT_FINE(Weft().profile_start(&profile));
  for (int i = 0; i < 2; ++i) {
    weft_managed_tensor* output = nullptr;
    EXPECT_FINE(Weft().program_run(program.get(), inputs, 3, &output, 1));
    const Output owned(output);
    Weft().profile_step(profile);
  }
  const std::string path = Path("trace.json");
  ASSERT_FINE(Weft().profile_stop(profile, path.c_str()));
  std::ifstream file(path);
  const std::string trace(std::istreambuf_iterator<char>(file), {});
  for (const char* event : {"main", "matmul", "ProfilerStep#0", "ProfilerStep#1"}) {
    EXPECT_THAT(trace, HasSubstr(std::string("\"name\": \"") + event + "\"")) << event;
  }
  EXPECT_THAT(trace, HasSubstr("[1, 2]"));  // The dims of x.
  // The next profile begins with nothing.
  ASSERT_FINE(Weft().profile_start(&profile));
  ASSERT_FINE(Weft().profile_stop(profile, nullptr));
}

TEST(WeftPlanTest, ErrorsNameTheFile) {
  weft_program* program = nullptr;
  const Error missing = Take(Weft().program_open("none.weftb", nullptr, &program));
  EXPECT_EQ(missing.code, WEFT_NOT_FOUND);
  EXPECT_EQ(missing.function, "program_open");
  EXPECT_THAT(missing.message, HasSubstr("none.weftb"));
  EXPECT_EQ(Take(Weft().program_open(nullptr, nullptr, &program)).message, "`path` is null");
}

}  // namespace
}  // namespace weft_api_test
