// Kernels that are functions of one byte run as a table: equal to the reference in every bit.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

// From %x, bytes, to %y.
struct Function {
  const char* name;
  const char* text;
  bool tabulated = true;
};

const Function kFunctions[] = {
    {"gelu", R"(
  %0 = dequantize_linear(%x, %s, %z)
  %1 = gelu(%0)
  %y = quantize_linear(%1, %t, %z, dtype=T))"},
    {"sigmoid", R"(
  %0 = dequantize_linear(%x, %s, %z)
  %1 = sigmoid(%0)
  %y = quantize_linear(%1, %t, %z, dtype=T))"},
    {"two_operands", R"(
  %0 = dequantize_linear(%x, %s, %z)
  %1 = dequantize_linear(%w, %t, %z)
  %2 = mul(%0, %1)
  %y = quantize_linear(%2, %t, %z, dtype=T))",
     false},
    // No faster than a comparison.
    {"relu", R"(
  %y = maximum(%x, %z))",
     false},
    // Elements of another place.
    {"permuted", R"(
  %0 = dequantize_linear(%x, %s, %z)
  %1 = tanh(%0)
  %2 = quantize_linear(%1, %t, %z, dtype=T)
  %3 = permute(%2, dims=[1, 0])
  %4 = convert(%3, dtype=i32)
  %y = convert(%4, dtype=T))",
     false},
};

class ByteFunctions : public testing::TestWithParam<Function> {
 protected:
  void ExpectEqual(const char* dtype, const char* isa) {
    if (!ChooseIsa(isa).ok()) return;
    const DType bytes = dtype[0] == 'i' ? DType::kI8 : DType::kU8;
    const std::string program = absl::StrCat(
        "func @main(%x: ", dtype, "[s0, 53], %w: ", dtype, "[s0, 53]) {",
        "  %s = constant(dense<0.043>) : f32[]  %t = constant(dense<0.021>) : f32[]  ",
        "%z = constant(dense<3>) : ", dtype, "[]",
        absl::StrReplaceAll(GetParam().text, {{"dtype=T", absl::StrCat("dtype=", dtype)}}),
        "\n  return %y\n}");
    const auto module = Parse(program);
    ASSERT_NE(module, nullptr) << program;
    CompileOptions compile;
    compile.passes = "cpu";
    ASSERT_TRUE(Compile(*module, compile).ok());
    auto plan = Lower(*module->main(), CpuTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    CpuOptions options;
    options.threads = 2;
    options.isa = isa;
    const auto executable = Executable::Create(*std::move(plan), options);
    ASSERT_TRUE(executable.ok()) << executable.status();
    for (const int64_t rows : {1, 7, 0, 5000}) {
      SCOPED_TRACE(rows);
      std::vector<HostTensor> inputs;
      for (const int factor : {1, 7}) {
        HostTensor t(bytes, {rows, 53});
        for (int64_t i = 0; i < t.numel(); ++i) {
          t.raw()[i] = static_cast<uint8_t>(i * factor);
        }
        inputs.push_back(std::move(t));
      }
      const auto want = reference::Run(*module->main(), inputs);
      const auto got = (*executable)->Run(inputs);
      ASSERT_TRUE(want.ok() && got.ok()) << got.status();
      EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "");
    }
    EXPECT_EQ((*executable)->stats().byte_tables > 0, GetParam().tabulated) << program;
  }
};

TEST_P(ByteFunctions, EqualTheReference) {
  for (const char* dtype : {"u8", "i8"}) {
    for (const char* isa : {"avx2", "avx512"}) {
      SCOPED_TRACE(absl::StrCat(dtype, " ", isa));
      ExpectEqual(dtype, isa);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ByteFunctions, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::cpu
