// Maxima of windows of 8-bit integers: equal to the reference in every bit, and none of them runs
// on it.
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/cpu/byte_products.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

using Dims = std::vector<int64_t>;

struct Case {
  const char* name;
  const char* attrs;
  Dims x, y;
  bool last = false;  // Channels lie last in memory; x and y are as the op has them.
};

const Case kCases[] = {
    {"square",
     "kernel_size=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1], dilation=[1, 1]",
     {2, 70, 9, 8},
     {2, 70, 5, 4},
     true},
    {"planes",
     "kernel_size=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1], dilation=[1, 1]",
     {1, 5, 9, 8},
     {1, 5, 5, 4}},
    {"dilated",
     "kernel_size=[2, 3], stride=[1, 1], padding=[0, 1, 1, 0], dilation=[2, 1]",
     {2, 33, 7, 6},
     {2, 33, 6, 5},
     true},
    {"line", "kernel_size=[4], stride=[3], padding=[2, 2], dilation=[1]", {2, 3, 17}, {2, 3, 6}},
    {"ceil",
     "kernel_size=[2, 2], stride=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 1], ceil_mode=true",
     {1, 64, 5, 7},
     {1, 64, 3, 4},
     true},
};

std::string TypeText(const char* dtype, const Dims& dims) {
  return absl::StrCat(dtype, "[", absl::StrJoin(dims, ", "), "]");
}

std::string ProgramOf(const Case& c, const char* dtype) {
  const std::string pool = absl::StrCat("max_pool(%i, ", c.attrs, ")");
  if (!c.last) {
    return absl::StrCat("func @main(%i: ", TypeText(dtype, c.x), ") {\n  %v, %at = ", pool,
                        "\n  return %v\n}");
  }
  const Dims x = {c.x[0], c.x[2], c.x[3], c.x[1]};
  return absl::StrCat("func @main(%x: ", TypeText(dtype, x),
                      ") {\n  %i = permute(%x, dims=[0, 3, 1, 2])\n  %v, %at = ", pool,
                      "\n  %o = permute(%v, dims=[0, 2, 3, 1])\n  return %o\n}");
}

class BytePooling : public testing::TestWithParam<Case> {};

TEST_P(BytePooling, EqualsTheReference) {
  const Case& c = GetParam();
  for (const char* dtype : {"u8", "i8"}) {
    const bool is_signed = dtype[0] == 'i';
    const auto module = Parse(ProgramOf(c, dtype));
    const Dims x = c.last ? Dims{c.x[0], c.x[2], c.x[3], c.x[1]} : c.x;
    // Signed bytes are all below 0, so that no padding may count.
    const std::vector<HostTensor> inputs = {Integers(
        is_signed ? DType::kI8 : DType::kU8, x, is_signed ? -128 : 0, is_signed ? -3 : 255, 7)};
    const auto want = reference::Run(*module->main(), inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    for (const int threads : {1, 2}) {
      auto plan = Lower(*module->main(), CpuTarget());
      ASSERT_TRUE(plan.ok()) << plan.status();
      for (const Step& step : plan->steps) EXPECT_NE(step.kind, StepKind::kReference);
      CpuOptions options;
      options.threads = threads;
      options.isa = WEFT_TEST_ISA;
      const auto executable = Executable::Create(*std::move(plan), options);
      ASSERT_TRUE(executable.ok()) << executable.status();
      const auto got = (*executable)->Run(inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "");
      EXPECT_EQ((*executable)->stats().fallbacks, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, BytePooling, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::cpu
