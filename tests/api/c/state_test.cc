// State of programs in C: parameters and buffers that are exchanged by name.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/c/weft.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/c/weft_api.h"

namespace weft_api_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kLinear[] = R"(
func @main(%w: f32[2, 2] {param="fc.weight", initial=dense<[[1.0, 0.0], [0.0, 1.0]]>},
           %b: f32[2] {param="fc.bias", initial=dense<[0.0, 0.0]>}, %x: f32[s0, 2]) {
  %0 = matmul(%x, %w)
  %1 = add(%0, %b)
  return %1
}
)";

// The state may be an input of an earlier run.
TEST(WeftStateTest, StateDoesNotStandOnAnInput) {
  for (const char* target : {"cpu", "reference"}) {
    weft_program_options options = {sizeof options};
    options.target = target;
    const Program program = Create(Parse(R"(
func @main(%last: f32[2] {param="last", initial=dense<[0.0, 0.0]>}, %x: f32[2]) -> (f32[2], f32[2] {writes=%last}) {
  %0 = sub(%x, %last)
  return %0, %x
}
)"),
                                   &options);
    weft_managed_tensor* output = nullptr;
    auto input = F32({2}, {1, 2});
    const weft_tensor* inputs[] = {nullptr, &input->tensor};
    ASSERT_FINE(Weft().program_run(program.get(), inputs, 2, &output, 1));
    EXPECT_THAT(Read(Output(output)), ElementsAre(1, 2));
    input->data.assign(2, 10);  // The state is still 1, 2.
    ASSERT_FINE(Weft().program_run(program.get(), inputs, 2, &output, 1));
    EXPECT_THAT(Read(Output(output)), ElementsAre(9, 8)) << target;
  }
}

struct Owned {
  explicit Owned(std::vector<float> values, std::vector<int64_t> dims, int* count)
      : data(std::move(values)), shape(std::move(dims)), deleted(count) {
    managed.version_major = 1;
    managed.context = this;
    managed.deleter = [](weft_managed_tensor* self) {
      auto* owned = static_cast<Owned*>(self->context);
      ++*owned->deleted;
      delete owned;
    };
    managed.tensor.data = data.data();
    managed.tensor.device = {1, 0};
    managed.tensor.ndim = static_cast<int32_t>(shape.size());
    managed.tensor.dtype = kF32;
    managed.tensor.shape = shape.data();
  }
  std::vector<float> data;
  std::vector<int64_t> shape;
  int* deleted;
  weft_managed_tensor managed = {};
};

weft_managed_tensor* Own(std::vector<float> values, std::vector<int64_t> dims, int* deleted) {
  return &(new Owned(std::move(values), std::move(dims), deleted))->managed;
}

Output RunX(const Program& program, const weft_tensor* x) {
  const weft_named_tensor named = {"x", x};
  weft_managed_tensor* output = nullptr;
  EXPECT_FINE(Weft().program_run_named(program.get(), &named, 1, &output, 1));
  return Output(output);
}

TEST(WeftStateTest, StateIsExchangedWithoutACopy) {
  int deleted = 0;
  const auto x = F32({1, 2}, {3, 4});
  {
    const Program program = Create(Parse(kLinear));
    ASSERT_EQ(Weft().program_num_states(program.get()), 2u);
    EXPECT_STREQ(Weft().program_state_name(program.get(), 0), "fc.weight");
    EXPECT_EQ(Weft().program_input(program.get(), 0)->optional, 1);
    EXPECT_THAT(Read(RunX(program, &x->tensor)), ElementsAre(3, 4));
    weft_managed_tensor* weight = Own({0, 1, 1, 0}, {2, 2}, &deleted);
    const void* memory = weight->tensor.data;
    const weft_named_state states[] = {{"fc.weight", weight},
                                       {"fc.bias", Own({10, 20}, {2}, &deleted)}};
    ASSERT_FINE(Weft().program_set_states(program.get(), states, 2));
    EXPECT_THAT(Read(RunX(program, &x->tensor)), ElementsAre(14, 23));
    weft_managed_tensor* state = nullptr;
    ASSERT_FINE(Weft().program_state(program.get(), "fc.weight", &state));
    const Output held(state);
    EXPECT_EQ(held->tensor.data, memory);
    EXPECT_EQ(held->flags & WEFT_TENSOR_READ_ONLY, static_cast<uint64_t>(WEFT_TENSOR_READ_ONLY));
    EXPECT_EQ(deleted, 0);
    const weft_named_state other = {"fc.weight", Own({1, 0, 0, 1}, {2, 2}, &deleted)};
    ASSERT_FINE(Weft().program_set_states(program.get(), &other, 1));
    EXPECT_EQ(deleted, 0);  // Still held above.
    EXPECT_THAT(Read(held), ElementsAre(0, 1, 1, 0));
  }
  EXPECT_EQ(deleted, 3);
}

TEST(WeftStateTest, ARefusedStateIsGivenBack) {
  const Program program = Create(Parse(kLinear));
  const auto x = F32({1, 2}, {3, 4});
  const auto refused = [&](std::vector<weft_named_state> states, int* deleted) {
    const Error error =
        Take(Weft().program_set_states(program.get(), states.data(), states.size()));
    EXPECT_EQ(*deleted, static_cast<int>(states.size())) << error.message;
    EXPECT_THAT(Read(RunX(program, &x->tensor)), ElementsAre(3, 4));
    return error.message;
  };
  int d = 0;
  EXPECT_THAT(refused({{"fc.bias", Own({1, 2}, {2}, &d)}, {"fc.wieght", Own({1}, {1}, &d)}}, &d),
              HasSubstr("did you mean \"fc.weight\"?"));
  d = 0;
  EXPECT_EQ(refused({{"fc.bias", Own({1, 2, 3}, {3}, &d)}}, &d),
            "state \"fc.bias\" has type f32[2], not f32[3]");
  d = 0;
  EXPECT_EQ(refused({{"fc.bias", Own({1, 2}, {2}, &d)}, {"b", Own({1, 2}, {2}, &d)}}, &d),
            "\"fc.bias\" is given twice");
  d = 0;
  weft_managed_tensor* later = Own({1, 2}, {2}, &d);
  later->version_major = 2;
  EXPECT_EQ(refused({{"fc.bias", later}}, &d), "tensor for \"fc.bias\": it is of version 2, not 1");
}

// Each version of the weights has the same number in all of them, so that a run that sees two
// versions gives an element that is no multiple of the sum of one.
TEST(WeftStateTest, NoRunSeesAMixtureOfStates) {
  constexpr int kSwaps = 5000;
  const Program program = Create(Parse(kLinear));
  std::vector<std::thread> runs;
  std::vector<int> mixed(3);
  std::atomic<bool> stop{false};
  for (int t = 0; t < 3; ++t) {
    runs.emplace_back([&, t] {
      while (!stop) {
        const auto x = F32({2, 2}, {1000, 1000, 1000, 1000});
        for (const float y : Read(RunX(program, &x->tensor))) {
          // v * 1000 + v * 1000 + v, or the identity at first.
          const bool fine = y == 1000 || static_cast<int64_t>(y) % 2001 == 0;
          if (!fine) ++mixed[t];
        }
      }
    });
  }
  int deleted = 0;
  for (int version = 1; version <= kSwaps; ++version) {
    const auto v = static_cast<float>(version);
    const weft_named_state states[] = {{"fc.weight", Own({v, v, v, v}, {2, 2}, &deleted)},
                                       {"fc.bias", Own({v, v}, {2}, &deleted)}};
    EXPECT_FINE(Weft().program_set_states(program.get(), states, 2));
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& run : runs) run.join();
  EXPECT_THAT(mixed, ElementsAre(0, 0, 0));
}

TEST(WeftStateTest, FunctionalCallsLeaveTheState) {
  const Program program = Create(Parse(kLinear));
  const auto x = F32({1, 2}, {3, 4});
  const auto bias = F32({2}, {100, 200});
  const weft_named_tensor state = {"fc.bias", &bias->tensor};
  const weft_named_tensor input = {"x", &x->tensor};
  weft_managed_tensor* output = nullptr;
  ASSERT_FINE(Weft().program_functional_call(program.get(), &state, 1, &input, 1, &output, 1));
  EXPECT_THAT(Read(Output(output)), ElementsAre(103, 204));
  EXPECT_THAT(Read(RunX(program, &x->tensor)), ElementsAre(3, 4));
}

}  // namespace
}  // namespace weft_api_test
