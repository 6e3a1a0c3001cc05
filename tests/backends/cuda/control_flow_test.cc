// Control flow on the emulated driver: tensors that stay on the device, and work that no step of a
// loop waits for.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

int64_t Calls(const std::string& entry) {
  return Emulated().emulation.counter(("calls " + entry).c_str());
}

struct Traffic {
  int64_t in = Calls("cuMemcpyHtoDAsync_v2");
  int64_t out = Calls("cuMemcpyDtoHAsync_v2");
  int64_t waits = Calls("cuStreamSynchronize");
};

HostTensor Flag(bool value) { return HostTensor::ScalarInt(DType::kBool, value ? 1 : 0); }
HostTensor Count(int64_t value) { return HostTensor::ScalarInt(DType::kI64, value); }

// A recurrent layer: rows of the inputs are products that were computed before.
constexpr char kRecurrent[] = R"(
  func @main(%x: f32[s0, 2, 80], %h: f32[2, 20], %c: f32[2, 20], %r: f32[80, 20])
      -> (f32[2, 20], f32[2, 20], f32[s0, 2, 20]) where 0 <= s0 {
    %hn, %cn, %y = scan(%h, %c, %x, %r, num_carried=2, num_scanned=1) {
      body(%h: f32[2, 20], %c: f32[2, 20], %s: f32[2, 80], %w: f32[80, 20]) {
        %p = linear(%h, %w, none)
        %g = add(%p, %s)
        %i = slice(%g, dim=1, start=0, end=20, step=1)
        %f = slice(%g, dim=1, start=20, end=40, step=1)
        %si = sigmoid(%i)
        %tf = tanh(%f)
        %m = mul(%si, %c)
        %cn = add(%m, %tf)
        %hn = tanh(%cn)
        return %hn, %cn, %hn
      }
    }
    return %hn, %cn, %y
  })";

TEST(CudaControlFlow, ScansWithoutTheHost) {
  EmulatedProgram program(kRecurrent);
  const auto run = [&](int64_t length) {
    const Traffic before;
    program.ExpectAsReference(
        {Ramp({length, 2, 80}), Ramp({2, 20}), Ramp({2, 20}), Ramp({80, 20})});
    const Traffic after;
    return std::vector<int64_t>{after.in - before.in, after.out - before.out,
                                after.waits - before.waits};
  };
  // The first runs make the memory larger, which waits.
  run(17);
  const std::vector<int64_t> few = run(3);
  EXPECT_EQ(run(17), few);
  EXPECT_EQ(few, (std::vector<int64_t>{4, 3, 1}));
  run(0);
}

// Rows of three elements are copied before steps read them.
TEST(CudaControlFlow, ScansRowsThatAreNotAligned) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, 3], %h: f32[3]) -> (f32[3], f32[s0, 3], i64[s0]) where 1 <= s0 {
      %y, %ys, %at = scan(%h, %x, num_carried=1, num_scanned=1) {
        body(%a: f32[3], %s: f32[3]) {
          %d = sub(%s, %a)
          %t = argmax(%d, dim=0, keepdim=false)
          return %d, %d, %t
        }
      }
      return %y, %ys, %at
    })");
  for (const int64_t length : {1, 6, 33}) program.ExpectAsReference({Ramp({length, 3}), Ramp({3})});
}

// The host reads the condition of each step.
TEST(CudaControlFlow, LoopsUntilTheirConditionFails) {
  EmulatedProgram program(R"(
    func @main(%n: i64[], %go: bool[], %x: f32[s0], %limit: f32[])
        -> (f32[s0], f32[u0, s0], i64[u0]) where 1 <= s0 {
      %y, %ys, %is = loop(%n, %go, %x, %limit, num_carried=1) {
        body(%i: i64[], %c: bool[], %a: f32[s0], %l: f32[]) {
          %d = add(%a, %a)
          %t = amax(%d)
          %more = lt(%t, %l)
          return %more, %d, %a, %i
        }
      }
      return %y, %ys, %is
    })");
  const HostTensor limit = HostTensor::Scalar(DType::kF32, 500);
  for (const int64_t size : {16, 3}) {
    const HostTensor x = HostTensor::FromDoubles(
        DType::kF32, {size}, std::vector<double>(static_cast<size_t>(size), 0.25));
    for (const int64_t steps : {0, 1, 100}) {
      program.ExpectAsReference({Count(steps), Flag(true), x, limit});
    }
    program.ExpectAsReference({Count(5), Flag(false), x, limit});
  }
}

// An index out of bounds in a nested plan is an error of the run, and the next one is right.
TEST(CudaControlFlow, NamesTheNestedStepThatIsOutOfBounds) {
  EmulatedProgram program(R"(
    func @main(%x: f32[4, 8], %i: i64[3, 2], %h: f32[2, 8]) -> (f32[2, 8]) {
      %y = scan(%h, %i, %x, num_carried=1, num_scanned=1) {
        body(%a: f32[2, 8], %k: i64[2], %t: f32[4, 8]) {
          %r = index_select(%t, %k, dim=0)
          %s = add(%a, %r)
          return %s
        }
      }
      return %y
    })");
  const std::vector<HostTensor> good = {Ramp({4, 8}), Ints({3, 2}, {3, 0, 1, 1, 2, 0}),
                                        Ramp({2, 8})};
  std::vector<HostTensor> bad = good;
  bad[1] = Ints({3, 2}, {3, 0, 1, 4, 2, 0});
  program.ExpectAsReference(good);
  EXPECT_THAT(program.Run(bad).status().message(), testing::HasSubstr("index_select"));
  program.ExpectAsReference(good);
}

// A body of which the first step reads a row and carried values, and the last one makes them; those
// between are a graph.
constexpr char kLongBody[] = R"(
  func @main(%x: f32[s0, 4, s1], %h: f32[4, s1], %w: f32[s1, s1]) -> (f32[4, s1], f32[s0, 4, s1])
      where 0 <= s0, 1 <= s1 {
    %y, %ys = scan(%h, %x, %w, num_carried=1, num_scanned=1) {
      body(%a: f32[4, s1], %s: f32[4, s1], %v: f32[s1, s1]) {
        %0 = add(%a, %s)
        %1 = matmul(%0, %v)
        %2 = matmul(%1, %v)
        %3 = cumsum(%2, dim=1)
        %4 = matmul(%3, %v)
        %5 = tanh(%4)
        return %5, %5
      }
    }
    return %y, %ys
  })";

TEST(CudaControlFlow, RecordsStepsOfBodies) {
  EmulatedProgram program(kLongBody);
  const auto run = [&](int64_t length, int64_t size) {
    program.ExpectAsReference({Ramp({length, 4, size}), Ramp({4, size}), Ramp({size, size})}, 1e-3);
  };
  const auto count = [&](const char* name) { return CounterOf(program.counters(), name); };
  // The second step shows what moves, and the third has no graph yet.
  run(6, 16);
  EXPECT_EQ(count("graph_instantiations"), 1);
  EXPECT_EQ(count("graph_launches"), 4);
  run(6, 16);
  EXPECT_EQ(count("graph_launches"), 10);
  EXPECT_EQ(count("graph_updates"), 0);
  // Other sizes of the outer plan.
  run(3, 16);
  EXPECT_EQ(count("graph_launches"), 11);
  EXPECT_EQ(count("graph_instantiations"), 2);
  run(1, 16);
  run(0, 16);
  EXPECT_EQ(count("graph_launches"), 11);
}

// The matrix is another tensor of the caller's in each run: graphs are made anew, from the old
// ones.
TEST(CudaControlFlow, RecordsAgainForOtherOperands) {
  EmulatedProgram program(kLongBody);
  ASSERT_EQ(program.Compile(), absl::OkStatus());
  for (int64_t run = 0; run < 3; ++run) {
    const std::vector<HostTensor> inputs = {Ramp({5, 4, 16}), Ramp({4, 16}), Ramp({16 + run, 16})};
    std::vector<HostTensor> given = inputs;
    // Other values, too.
    given[2] = HostTensor(DType::kF32, {16, 16});
    std::vector<double> values = inputs[2].ReadDoubles();
    values.erase(values.begin(), values.begin() + 16 * run);
    given[2].WriteDoubles(values);
    program.ExpectAsReference(given, program.RunOnDevice(given), 1e-3);
  }
  EXPECT_EQ(CounterOf(program.counters(), "graph_instantiations"), 1);
  EXPECT_EQ(CounterOf(program.counters(), "graph_updates"), 2);
  EXPECT_EQ(CounterOf(program.counters(), "graph_launches"), 3 + 4 + 4);
}

// Graphs of sizes that are not met again are taken over.
TEST(CudaControlFlow, KeepsGraphsOfSomeSizes) {
  EmulatedProgram program(kLongBody);
  const auto run = [&](int64_t size) {
    program.ExpectAsReference({Ramp({5, 4, size}), Ramp({4, size}), Ramp({size, size})}, 1e-3);
  };
  for (int64_t size = 12; size > 0; --size) run(size);
  const int64_t made = CounterOf(program.counters(), "graph_instantiations") +
                       CounterOf(program.counters(), "graph_updates");
  EXPECT_EQ(made, 12);
  EXPECT_LE(CounterOf(program.counters(), "graph_instantiations"), 12);
  // The newest sizes still have theirs, the oldest ones do not.
  run(1);
  EXPECT_EQ(CounterOf(program.counters(), "graph_instantiations") +
                CounterOf(program.counters(), "graph_updates"),
            12);
  run(12);
  EXPECT_EQ(CounterOf(program.counters(), "graph_instantiations") +
                CounterOf(program.counters(), "graph_updates"),
            13);
}

TEST(CudaControlFlow, BranchesOnTheDevice) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, 4]) -> (f32[s0, 4]) where 1 <= s0 {
      %t = sum(%x)
      %zero = constant(dense<0>) : f32[]
      %p = gt(%t, %zero)
      %1 = cond(%p, %x) {
        then_graph(%a: f32[s0, 4]) {
          %b = add(%a, %a)
          return %b
        }
        else_graph(%a: f32[s0, 4]) {
          %b = neg(%a)
          return %b
        }
      }
      %3 = sin(%1)
      return %3
    })");
  for (const int64_t n : {1, 5, 40}) program.ExpectAsReference({Ramp({n, 4})});
}

}  // namespace
}  // namespace weft::cuda
