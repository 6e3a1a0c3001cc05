// Scans, sorts, updates at indices and resampling on the emulated driver, at sizes beyond a block.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

// Small integers that repeat, with a NaN here and there, so that order among equal ones shows.
HostTensor Repeating(std::vector<int64_t> dims, DType dtype, bool nan = false) {
  HostTensor t(dtype, std::move(dims));
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i * 48271 % 89 % 41);
    if (nan && i % 613 == 5) values[i] = std::numeric_limits<double>::quiet_NaN();
  }
  t.WriteDoubles(values);
  return t;
}

HostTensor Indices(std::vector<int64_t> dims, int64_t bound, DType dtype = DType::kI64) {
  HostTensor t(dtype, std::move(dims));
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int64_t>(i * 48271 % 2039) % (2 * bound) - bound);
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

// Lines of several parts, lines of one, and short or many lines with a thread for each.
TEST(CudaScan, AddsUpAndMultiplies) {
  for (const char* dtype : {"f32", "f16", "f64", "i64", "i8", "u32"}) {
    EmulatedProgram program(With(R"(
      func @main(%x: T[s0, s1, s2]) -> (T[s0, s1, s2], T[s0, s1, s2], T[s0, s1, s2], T[s0, s1, s2])
          where 0 <= s0, 0 <= s1, 0 <= s2 {
        %0 = cumsum(%x, dim=1)
        %1 = cumsum(%x, dim=1, exclusive=true, reverse=true)
        %2 = cumsum(%x, dim=-1, reverse=true)
        %3 = cumprod(%x, dim=0, exclusive=true)
        return %0, %1, %2, %3
      })",
                                 dtype));
    const DType type = *ParseDType(dtype);
    const double tolerance = type == DType::kF16 ? 1e-2 : 1e-4;
    for (const auto& dims : std::vector<std::vector<int64_t>>{
             {1, 4999, 1}, {2, 2049, 3}, {3, 300, 1}, {1, 40, 4200}, {2, 7, 5}, {0, 3, 2}}) {
      HostTensor x = type == DType::kF16 ? Ramp(dims, type) : Repeating(dims, type);
      program.ExpectAsReference({x}, tolerance);
    }
    ExpectOnDevice(program);
  }
}

TEST(CudaScan, FindsRunningExtrema) {
  for (const char* dtype : {"f32", "bf16", "i64", "u8"}) {
    EmulatedProgram program(With(R"(
      func @main(%x: T[s0, s1]) -> (T[s0, s1], i64[s0, s1], i64[s0, s1]) where 0 <= s0, 0 <= s1 {
        %0, %1 = cummax(%x, dim=1)
        %2, %3 = cummin(%x, dim=0)
        return %0, %1, %3
      })",
                                 dtype));
    const DType type = *ParseDType(dtype);
    for (const auto& dims : std::vector<std::vector<int64_t>>{{2, 5000}, {300, 9}, {1, 0}}) {
      program.ExpectAsReference({Repeating(dims, type, IsFloat(type))}, 0);
    }
    ExpectOnDevice(program);
  }
}

// One tile, a last tile that is not full, odd numbers of runs, and dims that are not the last.
TEST(CudaSort, KeepsTheOrderOfEqualElements) {
  for (const char* dtype : {"f32", "f16", "f64", "i64", "u64", "i8", "bool"}) {
    EmulatedProgram program(With(R"(
      func @main(%x: T[s0, s1]) -> (T[s0, s1], i64[s0, s1], T[s0, s1], i64[s0, s1], i64[s0, s1])
          where 0 <= s0, 0 <= s1 {
        %0, %1 = sort(%x, dim=1)
        %2, %3 = sort(%x, dim=1, descending=true)
        %4, %5 = sort(%x, dim=0)
        return %0, %1, %2, %3, %5
      })",
                                 dtype));
    const DType type = *ParseDType(dtype);
    for (const auto& dims : std::vector<std::vector<int64_t>>{
             {2, 1024}, {1, 1025}, {2, 2500}, {3, 5121}, {1100, 3}, {700, 2}, {2, 1}, {2, 0}}) {
      program.ExpectAsReference({Repeating(dims, type, IsFloat(type))}, 0);
    }
    ExpectOnDevice(program);
  }
}

TEST(CudaSort, FindsTheFirstElements) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, s1]) -> (f32[s0, 3], i64[s0, 3], f32[s0, 1500], i64[s0, 1500])
        where 0 <= s0, 1500 <= s1 {
      %0, %1 = topk(%x, k=3)
      %2, %3 = topk(%x, k=1500, largest=false)
      return %0, %1, %2, %3
    })");
  for (const auto& dims : std::vector<std::vector<int64_t>>{{2, 5000}, {1, 1500}, {2, 3073}}) {
    program.ExpectAsReference({Repeating(dims, DType::kF32, true)}, 0);
  }
  ExpectOnDevice(program);
}

// A plan that says of another routine that it works in place: the step runs on the host.
TEST(CudaScan, RefusesToWorkInPlace) {
  EmulatedProgram program(R"(
    func @main(%x: f32[3, 700]) -> (f32[3, 700]) {
      %0 = tanh(%x)
      %1 = cumsum(%0, dim=1)
      return %1
    })");
  Target target = MakeBackend()->target();
  for (Routine& routine : target.routines) routine.in_place = true;
  program.set_target(target);
  program.ExpectAsReference({Ramp({3, 700})});
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 1);
}

// Many updates of each element: the last one wins, or all are combined in their order.
TEST(CudaScatter, CombinesUpdatesInTheirOrder) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> cases = {
      {"f32", {"none", "add", "mul", "max", "min"}},
      {"bf16", {"add", "min"}},
      {"i64", {"add", "mul"}},
      {"u8", {"none", "add", "max"}},
      {"bool", {"none", "mul"}}};
  for (const auto& [dtype, reduces] : cases) {
    for (const char* reduce : reduces) {
      EmulatedProgram program(absl::StrReplaceAll(With(R"(
        func @main(%x: T[s0, 6], %i: i64[s1, 4], %u: T[s2, 5], %t: i32[s1, 1], %v: T[s1, 6])
            -> (T[s0, 6], T[s0, 6]) where 1 <= s0, 0 <= s1, s1 <= s2 {
          %0 = scatter(%x, %i, %u, dim=0, reduce="R")
          %1 = scatter_nd(%x, %t, %v, reduce="R")
          return %0, %1
        })",
                                                       dtype),
                                                  {{"\"R\"", absl::StrCat("\"", reduce, "\"")}}));
      const DType type = *ParseDType(dtype);
      const auto check = [&](int64_t size, int64_t updates) {
        program.ExpectAsReference(
            {Ramp({size, 6}, type), Indices({updates, 4}, size), Ramp({updates + 1, 5}, type),
             Indices({updates, 1}, size, DType::kI32), Ramp({updates, 6}, type)},
            type == DType::kBF16 ? 2e-2 : 1e-5);
      };
      for (const int64_t updates : {700, 2, 0}) check(40, updates);
      check(3, 16);
      check(900, 30);
      ExpectOnDevice(program);
    }
  }
}

// Indices and updates that are repeated along dims, or transposed.
TEST(CudaScatter, ReadsViews) {
  for (const char* reduce : {"none", "add"}) {
    EmulatedProgram program(absl::StrReplaceAll(R"(
      func @main(%x: f32[4, s0, 6], %i: i64[s1], %u: f32[s1, 4, 6], %j: i64[6, s1, 4])
          -> (f32[4, s0, 6], f32[4, s0, 6]) where 1 <= s0, 1 <= s1 {
        %0 = reshape(%i, size=[1, s1, 1])
        %1 = expand(%0, size=[4, s1, 6])
        %2 = permute(%u, dims=[1, 0, 2])
        %3 = scatter(%x, %1, %2, dim=1, reduce="R")
        %4 = permute(%j, dims=[2, 1, 0])
        %5 = scatter(%x, %4, %2, dim=1, reduce="R")
        return %3, %5
      })",
                                                {{"\"R\"", absl::StrCat("\"", reduce, "\"")}}));
    for (const auto& [size, updates] :
         std::vector<std::pair<int64_t, int64_t>>{{9, 1}, {9, 5}, {9, 40}, {700, 20}}) {
      program.ExpectAsReference({Ramp({4, size, 6}), Indices({updates}, size),
                                 Ramp({updates, 4, 6}), Indices({6, updates, 4}, size)},
                                1e-5);
    }
    ExpectOnDevice(program);
  }
}

TEST(CudaScatter, RefusesIndicesOutOfBounds) {
  for (const char* reduce : {"none", "add"}) {
    EmulatedProgram program(absl::StrReplaceAll(R"(
      func @main(%x: f32[9], %i: i64[3], %u: f32[3], %t: i64[3, 1]) -> (f32[9], f32[9]) {
        %0 = scatter(%x, %i, %u, dim=0, reduce="R")
        %1 = scatter_nd(%x, %t, %u, reduce="R")
        return %0, %1
      })",
                                                {{"\"R\"", absl::StrCat("\"", reduce, "\"")}}));
    const auto run = [&](std::vector<double> i, std::vector<double> t) {
      return program.Run({Ramp({9}), Ints({3}, i), Ramp({3}), Ints({3, 1}, t)}).status();
    };
    EXPECT_TRUE(run({0, -9, 8}, {-1, 1, 2}).ok());
    absl::Status status = run({0, 1, 9}, {0, 1, 2});
    EXPECT_TRUE(absl::StrContains(status.message(), "scatter)")) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "an index is out of bounds")) << status;
    status = run({0, 1, 2}, {0, 1, -10});
    EXPECT_TRUE(absl::StrContains(status.message(), "scatter_nd)")) << status;
    // The error does not stay.
    EXPECT_EQ(run({0, 1, 2}, {0, 1, 2}), absl::OkStatus());
  }
}

TEST(CudaInterpolate, ResizesViews) {
  for (const char* dtype : {"f32", "f16", "f64"}) {
    EmulatedProgram program(With(R"(
      func @main(%x: T[s0, 5, 7, 6, 3]) -> (T[s0, 3, 9, 4, 11], T[s0, 3, 10, 14, 6], T[s0, 3, 2, 3, 6])
          where 0 <= s0 {
        %0 = permute(%x, dims=[0, 4, 1, 2, 3])
        %1 = interpolate(%0, size=[s0, 3, 9, 4, 11], mode="linear")
        %2 = interpolate(%0, size=[s0, 3, 10, 14, 6], nearest_mode="floor", coordinate_transformation_mode="asymmetric")
        %3 = interpolate(%0, size=[s0, 3, 2, 3, 6], mode="cubic", antialias=true)
        return %1, %2, %3
      })",
                                 dtype));
    const DType type = *ParseDType(dtype);
    for (const int64_t n : {1, 3, 0}) {
      program.ExpectAsReference({Ramp({n, 5, 7, 6, 3}, type)}, type == DType::kF16 ? 1e-2 : 1e-5);
    }
    ExpectOnDevice(program);
  }
}

TEST(CudaGridSampler, SamplesViews) {
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
      EmulatedProgram program(absl::StrReplaceAll(R"(
        func @main(%x: f32[s0, 6, 7, 3], %g: f32[s0, 2, 9, 8]) -> (f32[s0, 3, 9, 8], f32[s0, 3, 9, 8]) where 0 <= s0 {
          %0 = permute(%x, dims=[0, 3, 1, 2])
          %1 = permute(%g, dims=[0, 2, 3, 1])
          %2 = grid_sampler(%0, %1, mode="M", padding_mode="P")
          %3 = grid_sampler(%0, %1, mode="M", padding_mode="P", align_corners=true)
          return %2, %3
        })",
                                                  {{"\"M\"", absl::StrCat("\"", mode, "\"")},
                                                   {"\"P\"", absl::StrCat("\"", padding, "\"")}}));
      for (const int64_t n : {2, 0}) {
        HostTensor grid = Ramp({n, 2, 9, 8});
        std::vector<double> values = grid.ReadDoubles();
        for (double& v : values) v *= 2.7;
        grid.WriteDoubles(values);
        program.ExpectAsReference({Ramp({n, 6, 7, 3}), grid}, 1e-4);
      }
      ExpectOnDevice(program);
    }
  }
}

}  // namespace
}  // namespace weft::cuda
