// Conversions to and from 8-bit floats, compared with the reference executor bit by bit.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/backends/cpu/routine_program.h"
#include "tests/support/parse.h"

namespace weft::cpu {
namespace {

constexpr const char* kFloat8[] = {"f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"};

std::string Program(absl::string_view from, absl::string_view to, int64_t n,
                    absl::string_view attrs) {
  return absl::StrCat("func @main(%x: ", from, "[", n, "]) -> ", to, "[", n,
                      "] { %y = convert(%x, dtype=", to, attrs, ") return %y }");
}

// The results have the bits of the reference's, NaN too.
void ExpectBits(absl::string_view text, const HostTensor& x) {
  for (const RoutineRun& run : {RoutineRun{"avx2", 1}, {"native", 3}}) {
    SCOPED_TRACE(absl::StrCat(text, " isa=", run.isa));
    const auto executable = RoutineProgram(text, "convert", run);
    ASSERT_NE(executable, nullptr);
    const auto wanted = reference::Run(*Parse(std::string(text))->main(), {x});
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    const HostTensor& want = (*wanted)[0];
    const auto got = executable->Run({x});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(executable->stats().fallbacks, 0);
    const uint8_t* a = (*got)[0].raw();
    const uint8_t* b = want.raw();
    const int64_t size = want.bytes();
    int64_t differs = 0;
    while (differs < size && a[differs] == b[differs]) ++differs;
    EXPECT_EQ(differs, size) << "the first byte that differs";
  }
}

// All exponents and 7 bits of the fraction, with what lies beside them: all ties are among them.
HostTensor F32Numbers() {
  constexpr uint32_t kLow[] = {0, 1, 0x8000, 0xffff};
  HostTensor x(DType::kF32, {4 << 16});
  uint32_t bits = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    bits = static_cast<uint32_t>(i / 4) << 16 | kLow[i % 4];
    std::memcpy(x.data<float>() + i, &bits, sizeof bits);
  }
  return x;
}

// All patterns of a dtype of 8 or 16 bits.
HostTensor AllPatterns(DType dtype) {
  const int bits = DTypeBits(dtype);
  HostTensor x(dtype, {int64_t{1} << bits});
  for (int64_t i = 0; i < x.numel(); ++i) {
    std::memcpy(x.raw() + i * bits / 8, &i, bits / 8);
  }
  return x;
}

TEST(Float8, RoundsF32) {
  const HostTensor x = F32Numbers();
  for (const char* to : kFloat8) {
    for (const char* attrs : {"", ", saturate=false"}) {
      ExpectBits(Program("f32", to, x.numel(), attrs), x);
    }
  }
}

TEST(Float8, ConvertsAllPatterns) {
  for (const char* from : {"f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f16", "bf16"}) {
    const HostTensor x = AllPatterns(*ParseDType(from));
    for (const char* to : {"f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f32", "f16", "bf16"}) {
      const DType narrow = *ParseDType(to);
      if (std::strcmp(from, to) == 0 || (x.numel() > 256 && DTypeBits(narrow) > 8)) continue;
      for (const char* attrs : {"", ", saturate=false"}) {
        ExpectBits(Program(from, to, x.numel(), attrs), x);
      }
    }
  }
}

TEST(Float8, OpenSizesAndViews) {
  const std::string text =
      "func @main(%x: f32[a, b]) -> f8e5m2[b, a] where a >= 0, b >= 0 {"
      " %t = permute(%x, dims=[1, 0]) %y = convert(%t, dtype=f8e5m2) return %y }";
  const auto executable = RoutineProgram(text, "convert", {"native", 2});
  ASSERT_NE(executable, nullptr);
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{0, 3}, {1, 1}, {7, 1000}, {300, 301}, {1, 0}}) {
    ExpectAsReference(*executable, text, {Noise(DType::kF32, dims, 1e5, 1)}, {0, 0});
  }
}

}  // namespace
}  // namespace weft::cpu
