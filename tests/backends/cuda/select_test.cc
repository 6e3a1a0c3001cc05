// Ops whose result sizes depend on data on the emulated driver, at sizes beyond a block.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

int64_t Calls(const std::string& entry) {
  return Emulated().emulation.counter(("calls " + entry).c_str());
}

// Numbers below `different`, with zeros of both signs and, if `nan`, NaN here and there.
HostTensor Scattered(std::vector<int64_t> dims, DType dtype, int64_t different, bool nan = false) {
  HostTensor t(dtype, std::move(dims));
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int64_t>(i * 48271 % 10007) % different);
    if (nan && i % 613 == 5) values[i] = std::numeric_limits<double>::quiet_NaN();
    if (nan && i % 7 == 3 && values[i] == 0) values[i] = -0.0;
  }
  t.WriteDoubles(values);
  return t;
}

void ExpectOnDevice(const EmulatedProgram& program) {
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
  EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 0);
}

std::string With(absl::string_view text, absl::string_view dtype) {
  return absl::StrReplaceAll(text, {{"T[", absl::StrCat(dtype, "[")}});
}

// Nothing, a part that is not full, and several parts; rows, and a step behind that reads them.
TEST(CudaNonzero, GivesPlacesInOrder) {
  for (const char* dtype : {"f32", "f16", "bf16", "f64", "i64", "u8", "bool"}) {
    EmulatedProgram program(With(R"(
      func @main(%x: T[s0, s1, 3], %y: T[s2]) -> (i64[u0, 3], i64[u0, 3], i64[u1, 1])
          where 0 <= s0, 0 <= s1, 0 <= s2 {
        %0 = nonzero(%x) : i64[u0, 3]
        %1 = add(%0, %0)
        %2 = nonzero(%y) : i64[u1, 1]
        return %0, %1, %2
      })",
                                 dtype));
    const DType type = *ParseDType(dtype);
    for (const int64_t size : {4500, 1, 0, 257, 2048}) {
      for (const int64_t different : {1, 3}) {
        program.ExpectAsReference({Scattered({size, 2, 3}, type, different, IsFloat(type)),
                                   Scattered({size}, type, different + 1)},
                                  0);
      }
    }
    ExpectOnDevice(program);
  }
}

TEST(CudaNonzero, CountsAScalar) {
  EmulatedProgram program(R"(
    func @main(%x: f32[]) -> (i64[u0, 0]) {
      %0 = nonzero(%x) : i64[u0, 0]
      return %0
    })");
  program.ExpectAsReference({HostTensor::Scalar(DType::kF32, 0)});
  program.ExpectAsReference({HostTensor::Scalar(DType::kF32, std::nan(""))});
  ExpectOnDevice(program);
}

// The host reads the number, and no tensor moves.
TEST(CudaNonzero, WaitsOnce) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, 8]) -> (f32[u0, 8]) where 0 <= s0 {
      %0 = amax(%x, dim=[1])
      %1 = nonzero(%0) : i64[u0, 1]
      %2 = select(%1, dim=1, index=0)
      %3 = index_select(%x, %2, dim=0)
      return %3
    })");
  const std::vector<HostTensor> inputs = {Scattered({300, 8}, DType::kF32, 2)};
  program.ExpectAsReference(inputs);
  const int64_t out = Calls("cuMemcpyDtoHAsync_v2");
  const int64_t in = Calls("cuMemcpyHtoDAsync_v2");
  program.ExpectAsReference(inputs);
  // The number, the output and the flags of indices.
  EXPECT_EQ(Calls("cuMemcpyDtoHAsync_v2") - out, 3);
  EXPECT_EQ(Calls("cuMemcpyHtoDAsync_v2") - in, 1);
  ExpectOnDevice(program);
}

TEST(CudaUnique, GroupsEqualElements) {
  for (const char* sorted : {"true", "false"}) {
    for (const char* dtype : {"f32", "f16", "f64", "i64", "u64", "i8", "bool"}) {
      EmulatedProgram program(absl::StrReplaceAll(With(R"(
        func @main(%x: T[s0, s1]) -> (T[u0], i64[u0], i64[s0*s1], i64[u0]) where 0 <= s0, 0 <= s1 {
          %0, %1, %2, %3 = unique(%x, sorted=S) : T[u0], i64[u0], i64[s0*s1], i64[u0]
          return %0, %1, %2, %3
        })",
                                                       dtype),
                                                  {{"=S", absl::StrCat("=", sorted)}}));
      const DType type = *ParseDType(dtype);
      const auto check = [&](std::vector<int64_t> dims, int64_t different) {
        program.ExpectAsReference({Scattered(std::move(dims), type, different, IsFloat(type))}, 0);
      };
      check({3, 1500}, 97);
      check({1, 1}, 2);
      check({2, 0}, 2);
      check({5, 5}, 1);
      check({1, 300}, 10007);
      ExpectOnDevice(program);
    }
  }
}

// Results that nothing reads are not made.
TEST(CudaUnique, MakesWhatIsRead) {
  for (const char* sorted : {"true", "false"}) {
    EmulatedProgram program(absl::StrReplaceAll(R"(
      func @main(%x: i32[s0, 1]) -> (i32[u0, 1], i64[s0]) where 1 <= s0 {
        %0, %1, %2, %3 = unique(%x, dim=-2, sorted=S) : i32[u0, 1], i64[u0], i64[s0], i64[u0]
        %4, %5, %6, %7 = unique(%x, dim=0, sorted=S) : i32[u1, 1], i64[u1], i64[s0], i64[u1]
        return %0, %6
      })",
                                                {{"=S", absl::StrCat("=", sorted)}}));
    for (const int64_t size : {1, 2500}) {
      program.ExpectAsReference({Scattered({size, 1}, DType::kI32, 41)});
    }
    ExpectOnDevice(program);
  }
}

// Slices of several elements run on the host.
TEST(CudaUnique, LeavesSlicesToTheHost) {
  EmulatedProgram program(R"(
    func @main(%x: i32[s0, 2]) -> (i32[u0, 2], i64[s0]) where 1 <= s0 {
      %0, %1, %2, %3 = unique(%x, dim=0) : i32[u0, 2], i64[u0], i64[s0], i64[u0]
      return %0, %2
    })");
  for (const int64_t size : {40, 7}) {
    program.ExpectAsReference({Scattered({size, 2}, DType::kI32, 2)});
  }
  EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 2);
}

// A number that the module's facts rule out is an error of the run, and the next run is right.
TEST(CudaNonzero, RefusesSizesThatBreakAFact) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0]) -> (i64[u0, 1]) where 1 <= s0, u0 <= 3 {
      %0 = nonzero(%x) : i64[u0, 1]
      return %0
    })");
  const auto run = [&](std::vector<double> x) {
    return program.Run({Ints({static_cast<int64_t>(x.size())}, x, DType::kF32)}).status();
  };
  EXPECT_TRUE(run({1, 0, 1, 1}).ok());
  const absl::Status status = run({1, 1, 1, 1});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "nonzero")) << status;
  EXPECT_TRUE(run({1, 0, 1, 1}).ok());
}

// In a body, where each step has its own number.
TEST(CudaNonzero, RunsInNestedPlans) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, 40], %h: f32[40]) -> (f32[40]) where 0 <= s0 {
      %y = scan(%h, %x, num_carried=1, num_scanned=1) {
        body(%a: f32[40], %s: f32[40]) {
          %i = nonzero(%s) : i64[u0, 1]
          %k = select(%i, dim=1, index=0)
          %v = index_select(%s, %k, dim=0)
          %t = sum(%v, dim=[0], keepdim=true)
          %n = add(%a, %t)
          return %n
        }
      }
      return %y
    })");
  for (const int64_t steps : {3, 1, 0}) {
    program.ExpectAsReference({Scattered({steps, 40}, DType::kF32, 3), Ramp({40})});
  }
  ExpectOnDevice(program);
}

}  // namespace
}  // namespace weft::cuda
