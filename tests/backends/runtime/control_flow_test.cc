// Control flow on the runtime, on the host and on a device that shares nothing with it, against the
// reference executor.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/standalone/standalone.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backends/runtime/hidden_program.h"
#include "tests/support/parse.h"
#include "tests/support/programs.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using testing::HasSubstr;
using Call = HiddenDevice::Call;

HostTensor Flag(bool value) { return HostTensor::ScalarInt(DType::kBool, value ? 1 : 0); }
HostTensor Count(int64_t value) { return HostTensor::ScalarInt(DType::kI64, value); }

// Without an evaluator, as programs that have no ops run.
absl::StatusOr<std::vector<HostTensor>> RunOnHost(const Module& module,
                                                  const std::vector<HostTensor>& inputs) {
  auto plan = Lower(*module.main(), cpu::CpuTarget());
  if (!plan.ok()) return plan.status();
  cpu::StandaloneOptions options;
  auto program = cpu::Standalone::Create(*std::move(plan), options);
  if (!program.ok()) return program.status();
  std::vector<HostTensor> outputs;
  const absl::Status status = (*program)->Run(inputs, &outputs);
  if (!status.ok()) return status;
  return outputs;
}

void ExpectOnBoth(const std::string& text, const std::vector<HostTensor>& inputs) {
  HiddenProgram hidden(text);
  hidden.ExpectAsReference(inputs);
  const auto module = Parse(text);
  const auto want = reference::Run(*module->main(), inputs);
  const auto got = RunOnHost(*module, inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < got->size(); ++i) {
    EXPECT_EQ(Difference((*got)[i], (*want)[i], {1e-4, 1e-4}), "") << "output " << i;
  }
}

// Both must fail, with this in the message.
void ExpectErrorOnBoth(const std::string& text, const std::vector<HostTensor>& inputs,
                       const std::string& message) {
  HiddenProgram hidden(text);
  EXPECT_THAT(hidden.Run(inputs).status().message(), HasSubstr(message));
  EXPECT_THAT(RunOnHost(*Parse(text), inputs).status().message(), HasSubstr(message));
}

// A recurrent layer. Rows of 16 elements can be used where they lie, others on the device cannot.
constexpr char kScan[] = R"(
  func @main(%x: f32[s0, s1], %h: f32[s1], %w: f32[s1, s1]) -> (f32[s1], f32[s0, s1], f32[s0])
      where 0 <= s0, 1 <= s1 {
    %y, %ys, %sums = scan(%h, %x, %w, num_carried=1, num_scanned=1) {
      body(%a: f32[s1], %s: f32[s1], %m: f32[s1, s1]) {
        %p = matmul(%m, %a)
        %d = add(%p, %s)
        %e = tanh(%d)
        %t = sum(%e)
        return %e, %e, %t
      }
    }
    return %y, %ys, %sums
  })";

TEST(ControlFlow, ScansWithAndWithoutAlignedRows) {
  for (const int64_t size : {16, 5, 1}) {
    for (const int64_t length : {7, 1, 0}) {
      ExpectOnBoth(kScan, {Ramp({length, size}), Ramp({size}), Ramp({size, size})});
    }
  }
}

TEST(ControlFlow, TensorsStayOnTheDevice) {
  HiddenProgram program(kScan);
  const auto copies = [&](int64_t length) {
    const int64_t before =
        program.device().calls(Call::kCopyIn) + program.device().calls(Call::kCopyOut);
    program.ExpectAsReference({Ramp({length, 16}), Ramp({16}), Ramp({16, 16})});
    return program.device().calls(Call::kCopyIn) + program.device().calls(Call::kCopyOut) - before;
  };
  // Rows of the sums have four bytes. Those that are not aligned are copied, by way of the host on
  // this device: one of 2, and 30 of 32.
  const int64_t few = copies(2);
  EXPECT_EQ(copies(32) - few, 2 * 29);
}

// Steps whose number depends on data, values that are kept, and a captured one.
constexpr char kLoop[] = R"(
  func @main(%n: i64[], %go: bool[], %x: f32[s0], %limit: f32[]) -> (f32[s0], f32[u0, s0], i64[u0])
      where 1 <= s0 {
    %y, %ys, %is = loop(%n, %go, %x, %limit, num_carried=1) {
      body(%i: i64[], %c: bool[], %a: f32[s0], %l: f32[]) {
        %d = add(%a, %a)
        %t = amax(%d)
        %more = lt(%t, %l)
        return %more, %d, %a, %i
      }
    }
    return %y, %ys, %is
  })";

TEST(ControlFlow, LoopsUntilTheirConditionFails) {
  HostTensor limit = HostTensor::Scalar(DType::kF32, 500);
  for (const int64_t size : {16, 3}) {
    const HostTensor x = HostTensor::FromDoubles(
        DType::kF32, {size}, std::vector<double>(static_cast<size_t>(size), 0.25));
    for (const int64_t steps : {0, 1, 5, 100}) {
      ExpectOnBoth(kLoop, {Count(steps), Flag(true), x, limit});
    }
    ExpectOnBoth(kLoop, {Count(5), Flag(false), x, limit});
    ExpectOnBoth(kLoop, {Count(-3), Flag(true), x, limit});
  }
}

// Operands whose lengths are the same symbol cannot differ; these are found out by the run.
TEST(ControlFlow, RefusesLengthsThatDiffer) {
  constexpr char kText[] = R"(
    func @main(%p: bool[4], %q: bool[4], %h: f32[]) -> (f32[]) {
      %a = nonzero(%p) : i64[u0, 1]
      %b = nonzero(%q) : i64[u1, 1]
      %y = scan(%h, %a, %b, num_carried=1, num_scanned=2) {
        body(%c: f32[], %s: i64[1], %t: i64[1]) {
          %d = add(%s, %t)
          %f = sum(%d)
          %g = convert(%f, dtype=f32)
          %r = add(%c, %g)
          return %r
        }
      }
      return %y
    })";
  HiddenProgram hidden(kText);
  const auto flags = [](std::vector<double> values) {
    HostTensor t(DType::kBool, {4});
    t.WriteDoubles(values);
    return t;
  };
  const HostTensor two = flags({1, 0, 1, 0});
  const HostTensor three = flags({1, 1, 1, 0});
  hidden.ExpectAsReference({two, two, Ramp({})});
  EXPECT_THAT(hidden.Run({two, three, Ramp({})}).status().message(), HasSubstr("lengths 2 and 3"));
}

constexpr char kGrowing[] = R"(
  func @main(%n: i64[], %c: bool[], %x: i64[2], %y: i64[s0]) -> (i64[u0], i64[s0])
      where unbacked u7 {
    %a, %b = loop(%n, %c, %x, %y, num_carried=2) {
      body(%i: i64[], %b: bool[], %a: i64[u7], %k: i64[s0]) {
        %g = cat(%a, %k)
        %z = neg(%k)
        return %b, %g, %z
      }
    }
    return %a, %b
  })";

TEST(ControlFlow, CarriedSizesMayGrow) {
  ExpectOnBoth(kGrowing, {Count(4), Flag(true), Ints({2}, {1, 2}), Ints({3}, {3, 4, 5})});
  ExpectOnBoth(kGrowing, {Count(0), Flag(true), Ints({2}, {1, 2}), Ints({3}, {3, 4, 5})});
}

TEST(ControlFlow, RunsBranches) {
  ExpectOnBoth(kBranchProgram, {Flag(true), Ramp({3, 4})});
  ExpectOnBoth(kBranchProgram, {Flag(false), Ramp({3, 4})});
}

// The operands of the branch are rows of a scan, and those of the scan rows of a loop's.
TEST(ControlFlow, Nests) {
  constexpr char kNested[] = R"(
    func @main(%n: i64[], %go: bool[], %x: f32[4, 3]) -> (f32[3], f32[u0, 4, 3]) {
      %0 = constant(dense<0>) : f32[3]
      %y, %ys = loop(%n, %go, %0, %x, num_carried=1) {
        body(%i: i64[], %c: bool[], %a: f32[3], %m: f32[4, 3]) {
          %last, %rows = scan(%a, %m, num_carried=1, num_scanned=1) {
            body(%b: f32[3], %s: f32[3]) {
              %d = add(%b, %s)
              %t = sum(%d)
              %zero = constant(dense<0>) : f32[]
              %up = gt(%t, %zero)
              %r = cond(%up, %d) {
                then_graph(%e: f32[3]) {
                  %f = neg(%e)
                  return %f
                }
                else_graph(%e: f32[3]) {
                  %f = abs(%e)
                  return %f
                }
              }
              return %r, %d
            }
          }
          return %c, %last, %rows
        }
      }
      return %y, %ys
    })";
  ExpectOnBoth(kNested, {Count(3), Flag(true), Ramp({4, 3})});
}

TEST(ControlFlow, RefusesStepsOfDifferentSizes) {
  constexpr char kText[] = R"(
    func @main(%n: i64[], %c: bool[], %x: i64[1]) -> (i64[u0], i64[u1, u2]) where unbacked u7 {
      %a, %s = loop(%n, %c, %x, num_carried=1) {
        body(%i: i64[], %b: bool[], %a: i64[u7]) {
          %g = cat(%a, %a)
          return %b, %g, %g
        }
      }
      return %a, %s
    })";
  ExpectOnBoth(kText, {Count(1), Flag(true), Ints({1}, {1})});
  ExpectErrorOnBoth(kText, {Count(2), Flag(true), Ints({1}, {1})},
                    "result 1 is i64[2] in one step and i64[4] in another");
}

// Elements of half a byte: rows of three do not all begin with a byte.
TEST(ControlFlow, RefusesRowsWithinBytes) {
  constexpr char kText[] = R"(
    func @main(%x: i4[2, 3], %h: f32[3]) -> (f32[3]) {
      %y = scan(%h, %x, num_carried=1, num_scanned=1) {
        body(%a: f32[3], %s: i4[3]) {
          return %a
        }
      }
      return %y
    })";
  ExpectErrorOnBoth(kText, {HostTensor(DType::kI4, {2, 3}), Ramp({3})}, "begins within a byte");
}

TEST(ControlFlow, RunsAgainAfterEveryFailure) {
  const HostTensor x = HostTensor::FromDoubles(DType::kF32, {3}, {0.25, 0.5, 0.125});
  ExpectRunsAgainAfterEveryFailure(
      kLoop, {{Count(3), Flag(true), x, HostTensor::Scalar(DType::kF32, 500)}});
}

}  // namespace
}  // namespace weft
