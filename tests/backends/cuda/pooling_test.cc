// Pooling on the emulated driver.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

TEST(CudaPooling, FindsMaximaAndMeans) {
  for (const char* dtype : {"f32", "f16", "bf16", "f64"}) {
    EmulatedProgram program(absl::StrReplaceAll(
        R"(
      func @main(%x: T[s0, 5, 9, 8], %v: T[s0, 9, 8, 5])
          -> (T[s0, 5, 5, 4], i64[s0, 5, 5, 4], T[s0, 5, 4, 3], i64[s0, 4, 3, 5], T[s0, 5, 4, 4]) where 0 <= s0 {
        %0, %1 = max_pool(%x, kernel_size=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1], dilation=[1, 1])
        %2 = permute(%v, dims=[0, 3, 1, 2])
        %3, %4 = max_pool(%2, kernel_size=[3, 2], stride=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 3])
        %5 = avg_pool(%2, kernel_size=[2, 3], stride=[3, 2], padding=[1, 0, 0, 2], dilation=[1, 1], ceil_mode=true, count_include_pad=true)
        %6 = permute(%4, dims=[0, 2, 3, 1])
        return %0, %1, %3, %6, %5
      })",
        {{"T[", absl::StrCat(dtype, "[")}}));
    const DType type = *ParseDType(dtype);
    for (const int64_t n : {1, 3, 0}) {
      program.ExpectAsReference({Ramp({n, 5, 9, 8}, type), Ramp({n, 9, 8, 5}, type)}, 1e-2);
    }
    EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
  }
}

}  // namespace
}  // namespace weft::cuda
