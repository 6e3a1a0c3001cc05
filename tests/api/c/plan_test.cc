// Programs of compiled files in C, in the library and in the runtime: inputs as state.
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
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

Program OpenModule(weft::Module& module, const char* name, int32_t threads) {
  const std::string path = Path(name);
  const absl::Status written =
      weft::WriteCompiledFile(module, **weft::BuiltinBackends().Find("cpu"), path);
  EXPECT_TRUE(written.ok()) << written;
  weft_program* program = nullptr;
  weft_plan_options options = {sizeof options};
  options.threads = threads;
  EXPECT_FINE(Weft().program_open(path.c_str(), &options, &program));
  return Program(program);
}

// Opens the file that the program's main() is compiled into.
Program Open(const char* text, const char* name, int32_t threads = 1) {
  auto module = weft::LoadModelText(text, "model.weft");
  EXPECT_TRUE(module.ok()) << module.status();
  return OpenModule(**module, name, threads);
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

// Loops that wait until two of them have begun.
struct Pair {
  std::mutex mutex;
  std::condition_variable both;
  int begun = 0;

  static void Run(void* context, int64_t count, void (*task)(void* data, int64_t index),
                  void* data) {
    auto& self = *static_cast<Pair*>(context);
    {
      std::unique_lock lock(self.mutex);
      ++self.begun;
      self.both.notify_all();
      const bool met =
          self.both.wait_for(lock, std::chrono::seconds(60), [&] { return self.begun >= 2; });
      EXPECT_TRUE(met) << "one run waits for the other";
    }
    for (int64_t i = 0; i < count; ++i) task(data, i);
  }
};

TEST(WeftPlanTest, RunsGoAtOnce) {
  const Program program = Open(R"(
func @main(%x: f32[s0, 4096]) {
  %0 = exp(%x)
  return %0
}
)",
                               "at_once.weftb", 2);
  Pair pair;
  ASSERT_FINE(Weft().set_parallel_for(Pair::Run, &pair));
  std::vector<std::thread> threads;
  for (int64_t rows = 32; rows < 34; ++rows) {
    threads.emplace_back([&program, rows] {
      const auto x = F32({rows, 4096}, std::vector<float>(rows * 4096, 0));
      EXPECT_THAT(Read(Run1(program, &x->tensor)), testing::Each(1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_FINE(Weft().set_parallel_for(nullptr, nullptr));
  EXPECT_GE(pair.begun, 2);
}

// Versions of the weights, which are exchanged meanwhile, are not mixed: b is w's first column.
TEST(WeftPlanTest, ThreadsRunAllSizesWhileWeightsChange) {
  const Program program = Open(kLinear, "threads.weftb");
  int deleted = 0;
  const auto exchange = [&](float version) {
    const weft_named_state states[] = {{"w", Own({2, 2}, {version, 0, version, 0}, &deleted)},
                                       {"b", Own({2}, {version, 0}, &deleted)}};
    ASSERT_FINE(Weft().program_set_states(program.get(), states, 2));
  };
  exchange(1);
  std::vector<std::thread> threads;
  for (int64_t rows = 1; rows <= 8; ++rows) {
    threads.emplace_back([&program, rows] {
      const auto x = F32({rows, 2}, std::vector<float>(rows * 2, 1));
      for (int run = 0; run < 100; ++run) {
        const std::vector<float> y = RunX(program, &x->tensor);
        ASSERT_EQ(y.size(), 2 * rows);
        const float version = y[0] / 3;
        EXPECT_EQ(version, std::round(version));
        for (int64_t row = 0; row < rows; ++row) EXPECT_EQ(y[2 * row], y[0]);
      }
    });
  }
  for (int version = 2; version < 50; ++version) exchange(static_cast<float>(version));
  for (std::thread& thread : threads) thread.join();
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

// State that is not compiled in begins with the model's value, and can be exchanged.
TEST(WeftPlanTest, StateBeginsWithItsInitialValue) {
  constexpr char kCounter[] = R"(
func @main(%w: f32[2] {param="w", initial=@w}, %sum: f32[2] {param="sum", initial=@start},
           %x: f32[2]) -> (f32[2], f32[2] {writes=%sum}) {
  %0 = mul(%x, %w)
  %1 = add(%sum, %0)
  return %1, %1
}
constants {
  @w : f32[2] = dense<2.0>
  @start : f32[2] = dense<[0.5, 0.25]>
}
)";
  const Program program = Open(kCounter, "counter.weftb");
  EXPECT_EQ(Weft().program_input(program.get(), 0)->optional, 1);
  EXPECT_EQ(Weft().program_input(program.get(), 1)->optional, 1);
  EXPECT_EQ(Weft().program_input(program.get(), 2)->optional, 0);
  const auto x = F32({2}, {1, 10});
  for (float runs = 1; runs <= 3; ++runs) {
    EXPECT_THAT(RunX(program, &x->tensor), ElementsAre(0.5f + 2 * runs, 0.25f + 20 * runs));
  }
  weft_managed_tensor* state = nullptr;
  ASSERT_FINE(Weft().program_state(program.get(), "sum", &state));
  EXPECT_THAT(Read(Output(state)), ElementsAre(6.5, 60.25));
  int deleted = 0;
  const weft_named_state other = {"w", Own({2}, {0, 1}, &deleted)};
  ASSERT_FINE(Weft().program_set_states(program.get(), &other, 1));
  EXPECT_THAT(RunX(program, &x->tensor), ElementsAre(6.5, 70.25));
}

TEST(WeftPlanTest, AnInputWithoutAUseMayBeLeftOut) {
  const Program program = Open(R"(
func @main(%a: f32[2], %b: f32[64, 64], %x: f32[2]) {
  %0 = add(%x, %a)
  return %0
}
)",
                               "unread.weftb");
  EXPECT_EQ(Weft().program_input(program.get(), 1)->optional, 1);
  const auto x = F32({2}, {1, 10});
  const weft_tensor* inputs[] = {&x->tensor, nullptr, &x->tensor};
  weft_managed_tensor* output = nullptr;
  ASSERT_FINE(Weft().program_run(program.get(), inputs, 3, &output, 1));
  EXPECT_THAT(Read(Output(output)), ElementsAre(2, 20));
  int deleted = 0;
  const weft_named_state other = {"b", Own({1}, {1}, &deleted)};
  const Error error = Take(Weft().program_set_states(program.get(), &other, 1));
  EXPECT_EQ(error.code, WEFT_FAILED_PRECONDITION);
  EXPECT_EQ(error.message, "the plan does not read \"b\"");
  EXPECT_EQ(deleted, 1);
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
