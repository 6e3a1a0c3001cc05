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
