// Matmuls and convolutions of 8-bit integers with what follows them, which the routine computes as
// it stores: equal in every bit to the reference's run of the same graph.
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/value.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/cpu/byte_products.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

using Dims = std::vector<int64_t>;

struct Shape {
  const char* name;
  const char* op;  // Of %i, %w and %z.
  Dims x, w, y;
  bool last = false;  // Channels lie last in memory; x and y are as the op has them.
};

const Shape kShapes[] = {
    {"matmul", "matmul_integer(%i, %w, %z, none)", {7, 33}, {33, 19}, {7, 19}},
    // Two shares of rows.
    {"batch", "matmul_integer(%i, %w, %z, none)", {3, 35, 72}, {72, 40}, {3, 35, 40}},
    {"row", "matmul_integer(%i, %w, %z, none)", {1, 64}, {64, 100}, {1, 100}},
    {"convolution",
     "convolution_integer(%i, %w, %z, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])",
     {2, 16, 9, 8},
     {32, 16, 3, 3},
     {2, 32, 9, 8}},
    {"strided",
     "convolution_integer(%i, %w, %z, none, stride=[2, 1], padding=[0, 2, 1, 0], dilation=[1, 2])",
     {2, 3, 11, 12},
     {5, 3, 3, 3},
     {2, 5, 5, 10},
     true},
    {"few_channels",
     "convolution_integer(%i, %w, %z, none, stride=[2, 2], padding=[1, 1], dilation=[1, 1])",
     {2, 3, 12, 13},
     {32, 3, 3, 3},
     {2, 32, 6, 7}},
    {"points",
     "convolution_integer(%i, %w, %z, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])",
     {2, 24, 13, 11},
     {48, 24, 1, 1},
     {2, 48, 13, 11},
     true},
    {"depthwise",
     "convolution_integer(%i, %w, %z, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], "
     "groups=48)",
     {2, 48, 9, 10},
     {48, 1, 3, 3},
     {2, 48, 9, 10},
     true},
    {"depthwise_planes",
     "convolution_integer(%i, %w, %z, none, stride=[2, 2], padding=[1, 1], dilation=[1, 1], "
     "groups=19)",
     {1, 19, 12, 9},
     {19, 1, 3, 3},
     {1, 19, 6, 5}},
    // More than a block of channels, and a window of five columns.
    {"depthwise_wide",
     "convolution_integer(%i, %w, %z, none, stride=[1, 1], padding=[2, 2], dilation=[1, 1], "
     "groups=83)",
     {1, 83, 7, 14},
     {83, 1, 5, 5},
     {1, 83, 7, 14},
     true},
    {"depthwise_halved",
     "convolution_integer(%i, %w, %z, none, stride=[2, 2], padding=[1, 1, 0, 0], dilation=[2, 1], "
     "groups=64)",
     {2, 64, 9, 23},
     {64, 1, 2, 3},
     {2, 64, 4, 11},
     true},
    // Two tiles of results at a time.
    {"depthwise_narrow",
     "convolution_integer(%i, %w, %z, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], "
     "groups=24)",
     {1, 24, 5, 21},
     {24, 1, 3, 3},
     {1, 24, 5, 21},
     true},
    {"depthwise_dilated",
     "convolution_integer(%i, %w, %z, none, stride=[1, 2], padding=[2, 0, 1, 3], dilation=[2, 1], "
     "groups=37)",
     {2, 37, 8, 9},
     {37, 1, 2, 4},
     {2, 37, 9, 5},
     true},
    {"depthwise_line",
     "convolution_integer(%i, %w, %z, none, stride=[1], padding=[2], dilation=[1], groups=5)",
     {2, 5, 17},
     {5, 1, 5},
     {2, 5, 17}},
};

struct Chain {
  const char* name;
  const char* result;  // Its dtype.
  const char* text;    // From %s to %v; %c and %b are f32 for each channel, %a floats, %q bytes.
  bool finished = true;
};

const Chain kChains[] = {
    // Multiples of a half have ties; the steps are scaled below.
    {"tensor", "u8", R"(
  %half = constant(dense<0.5>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %half)
  %v = quantize_linear(%1, %step, %zu, dtype=u8))"},
    {"channels", "i8", R"(
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = add(%1, %b)
  %v = quantize_linear(%2, %step, %zi, dtype=i8))"},
    {"relu", "u8", R"(
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = add(%b, %1)
  %3 = relu(%2)
  %v = quantize_linear(%3, %step, %zu, dtype=u8))"},
    {"clamp", "i8", R"(
  %least = constant(dense<-3.25>) : f32[]
  %most = constant(dense<600.0>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = clamp(%1, %least, %most)
  %v = quantize_linear(%2, %step, none, dtype=i8))"},
    {"add_floats", "u8", R"(
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = add(%1, %b)
  %3 = add(%2, %a)
  %4 = relu(%3)
  %v = quantize_linear(%4, %step, %zu, dtype=u8))"},
    {"add_bytes", "u8", R"(
  %t = constant(dense<0.37>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = add(%1, %b)
  %3 = dequantize_linear(%q, %t, %zu)
  %4 = add(%3, %2)
  %5 = relu(%4)
  %v = quantize_linear(%5, %step, %zu, dtype=u8))"},
    {"add_signed", "i8", R"(
  %t = constant(dense<0.37>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = add(%1, %b)
  %3 = dequantize_linear(%q, %t, %zi)
  %4 = add(%3, %2)
  %v = quantize_linear(%4, %step, %zi, dtype=i8))"},
    {"relu_add", "f32", R"(
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = relu(%1)
  %v = add(%2, %a))"},
    {"floats", "f32", R"(
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %v = add(%1, %b))"},
    // Narrowed and widened again on the way, as models have it that quantize every tensor.
    {"middle", "f32", R"(
  %t = constant(dense<0.37>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = add(%1, %b)
  %3 = quantize_linear(%2, %step, %zu, dtype=u8)
  %v = dequantize_linear(%3, %t, %zu))"},
    {"middle_signed", "i8", R"(
  %t = constant(dense<0.37>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = relu(%1)
  %3 = quantize_linear(%2, %step, none, dtype=i8)
  %4 = dequantize_linear(%3, %t, none)
  %5 = add(%4, %a)
  %6 = relu(%5)
  %v = quantize_linear(%6, %step, %zi, dtype=i8))"},
    {"middle_add", "u8", R"(
  %t = constant(dense<0.37>) : f32[]
  %r = constant(dense<3.0>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = add(%1, %b)
  %3 = quantize_linear(%2, %step, %zu, dtype=u8)
  %4 = dequantize_linear(%3, %t, %zu)
  %5 = dequantize_linear(%q, %r, %zu)
  %6 = add(%5, %4)
  %v = quantize_linear(%6, %step, %zu, dtype=u8))"},
    {"middle_bias", "u8", R"(
  %t = constant(dense<0.37>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = quantize_linear(%1, %step, %zu, dtype=u8)
  %3 = dequantize_linear(%2, %t, %zu)
  %4 = add(%b, %3)
  %v = quantize_linear(%4, %step, %zu, dtype=u8))"},
    // What follows is a function of the middle's 8 bits.
    {"table", "i8", R"(
  %t = constant(dense<0.037>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = add(%1, %b)
  %3 = quantize_linear(%2, %step, %zu, dtype=u8)
  %4 = dequantize_linear(%3, %t, %zu)
  %5 = gelu(%4)
  %v = quantize_linear(%5, %t, %zi, dtype=i8))"},
    // With another operand it is not.
    {"no_table", "u8", R"(
  %t = constant(dense<0.037>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = quantize_linear(%1, %step, %zu, dtype=u8)
  %3 = dequantize_linear(%2, %t, %zu)
  %4 = tanh(%3)
  %5 = mul(%4, %b)
  %v = quantize_linear(%5, %t, %zu, dtype=u8))",
     false},
    {"middle_unscaled", "u8", R"(
  %t = constant(dense<1.0>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = quantize_linear(%1, %step, %zu, dtype=u8)
  %3 = dequantize_linear(%2, %t, %zu)
  %4 = add(%b, %3)
  %v = quantize_linear(%4, %t, %zu, dtype=u8))"},
    {"two_middles", "f32", R"(
  %t = constant(dense<0.37>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = quantize_linear(%1, %step, %zu, dtype=u8)
  %3 = dequantize_linear(%2, %t, %zu)
  %4 = quantize_linear(%3, %step, %zi, dtype=i8)
  %5 = dequantize_linear(%4, %t, %zi)
  %v = add(%5, %b))"},
    // As transformers have it in front of the next norm.
    {"two_middles_add", "u8", R"(
  %t = constant(dense<0.37>) : f32[]
  %r = constant(dense<3.0>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = quantize_linear(%1, %step, %zu, dtype=u8)
  %3 = dequantize_linear(%2, %t, %zu)
  %4 = add(%3, %b)
  %5 = quantize_linear(%4, %t, %zu, dtype=u8)
  %6 = dequantize_linear(%5, %t, %zu)
  %7 = dequantize_linear(%q, %r, %zu)
  %8 = add(%7, %6)
  %v = quantize_linear(%8, %step, %zu, dtype=u8))"},
    // Three times is left to the kernel, and so is a clamp between two.
    {"three_middles", "f32", R"(
  %t = constant(dense<0.37>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = quantize_linear(%1, %step, %zu, dtype=u8)
  %3 = dequantize_linear(%2, %t, %zu)
  %4 = quantize_linear(%3, %step, %zi, dtype=i8)
  %5 = dequantize_linear(%4, %t, %zi)
  %6 = quantize_linear(%5, %t, %zu, dtype=u8)
  %7 = dequantize_linear(%6, %step, %zu)
  %v = add(%7, %b))",
     false},
    {"clamp_between", "u8", R"(
  %t = constant(dense<0.37>) : f32[]
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = quantize_linear(%1, %step, %zu, dtype=u8)
  %3 = dequantize_linear(%2, %t, %zu)
  %4 = relu(%3)
  %5 = quantize_linear(%4, %t, %zi, dtype=i8)
  %6 = dequantize_linear(%5, %t, %zi)
  %7 = add(%6, %b)
  %v = quantize_linear(%7, %step, %zu, dtype=u8))",
     false},
    // Functions are left to the kernel.
    {"sigmoid", "u8", R"(
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %2 = abs(%1)
  %3 = sqrt(%2)
  %v = quantize_linear(%3, %step, %zu, dtype=u8))",
     false},
    // A value that is needed twice.
    {"twice", "f32", R"(
  %0 = convert(%s, dtype=f32)
  %1 = mul(%0, %c)
  %v = mul(%1, %1))",
     false},
};

std::string TypeText(absl::string_view dtype, const Dims& dims) {
  return absl::StrCat(dtype, "[", absl::StrJoin(dims, ", "), "]");
}

// Channels last.
Dims Rotated(Dims dims) {
  dims.push_back(dims[1]);
  dims.erase(dims.begin() + 1);
  return dims;
}

// The dims of a permute from or to channels last.
std::string Order(size_t rank, bool to_last) {
  std::vector<size_t> order = {0};
  if (!to_last) order.push_back(rank - 1);
  for (size_t d = to_last ? 2 : 1; d < rank - (to_last ? 0 : 1); ++d) order.push_back(d);
  if (to_last) order.push_back(1);
  return absl::StrJoin(order, ", ");
}

bool IsMatmul(const Shape& shape) { return shape.op[0] == 'm'; }

Dims ChannelDims(const Shape& shape) {
  if (IsMatmul(shape)) return {shape.y.back()};
  Dims dims(shape.y.size() - 1, 1);
  dims[0] = shape.y[1];
  return dims;
}

// %q, the bytes that are added, has the type of its zero point.
DType AddendOf(const Chain& chain) {
  return absl::StrContains(chain.text, "(%q, %t, %zi)") ? DType::kI8 : DType::kU8;
}

std::string ProgramOf(const Shape& shape, const Chain& chain, const char* dtype) {
  const Dims x = shape.last ? Rotated(shape.x) : shape.x;
  const Dims y = shape.last ? Rotated(shape.y) : shape.y;
  const std::string channels = TypeText("f32", ChannelDims(shape));
  const auto view = [&](const char* from, const char* to) {
    const std::string order = Order(x.size(), false);
    return shape.last ? absl::StrCat("  ", to, " = permute(", from, ", dims=[", order, "])\n") : "";
  };
  std::string body = absl::StrCat(view("%x", "%i"), view("%af", "%a"), view("%qf", "%q"),
                                  "  %s = ", shape.op, chain.text, "\n");
  if (shape.last) {
    absl::StrAppend(&body, "  %o = permute(%v, dims=[", Order(x.size(), true),
                    "])\n  return %o\n}");
  } else {
    absl::StrAppend(&body, "  return %v\n}");
  }
  if (!shape.last) body = absl::StrReplaceAll(body, {{"%i", "%x"}});
  const char* suffix = shape.last ? "f" : "";
  return absl::StrCat(
      "func @main(%x: ", TypeText(dtype, x), ", %a", suffix, ": ", TypeText("f32", y), ", %q",
      suffix, ": ", TypeText(DTypeName(AddendOf(chain)), y), ", %w: ", TypeText("i8", shape.w),
      ", %z: ", dtype, "[], %c: ", channels, ", %b: ", channels,
      ", %step: f32[], %zu: u8[], %zi: i8[]) -> (", TypeText(chain.result, y), ") {\n", body);
}

HostTensor Floats(const Dims& dims, double low, double step, uint32_t seed) {
  HostTensor t = Integers(DType::kI32, dims, 0, 199, seed);
  std::vector<double> values = t.ReadDoubles();
  for (double& v : values) v = low + step * v;
  HostTensor floats(DType::kF32, dims);
  floats.WriteDoubles(values);
  return floats;
}

struct Form {
  bool special = false;  // A factor is NaN, a bias infinite.
  bool divides = false;  // Scales are not folded.
};

class FinishedProducts : public testing::TestWithParam<std::tuple<Shape, Chain>> {
 protected:
  void SetUp() override {
    if (!ChooseIsa(WEFT_TEST_ISA).ok()) GTEST_SKIP() << "not on this machine";
  }

  // `step` is that of the narrow result.
  void ExpectEqual(const char* dtype, double step, const Form& given = {}) {
    const Shape& shape = std::get<0>(GetParam());
    const Chain& chain = std::get<1>(GetParam());
    const bool is_signed = dtype[0] == 'i';
    const DType bytes = is_signed ? DType::kI8 : DType::kU8;
    const Dims x = shape.last ? Rotated(shape.x) : shape.x;
    const Dims y = shape.last ? Rotated(shape.y) : shape.y;
    std::vector<HostTensor> inputs = {
        Integers(bytes, x, is_signed ? -128 : 0, is_signed ? 127 : 255, 7),
        Floats(y, -300, 3.75, 11),
        AddendOf(chain) == DType::kI8 ? Integers(DType::kI8, y, -128, 127, 13)
                                      : Integers(DType::kU8, y, 0, 255, 13),
        Integers(DType::kI8, shape.w, -128, 127, 3),
        HostTensor::FromInts(bytes, {}, {is_signed ? -5 : 130}),
        Floats(ChannelDims(shape), 0.0, 1.0 / 128, 5),
        Floats(ChannelDims(shape), -50, 0.5, 6),
        HostTensor::Scalar(DType::kF32, step),
        HostTensor::FromInts(DType::kU8, {}, {19}),
        HostTensor::FromInts(DType::kI8, {}, {-7})};
    if (given.special) {
      inputs[5].data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
      inputs[6].data<float>()[1] = -std::numeric_limits<float>::infinity();
    }
    const std::string program = ProgramOf(shape, chain, dtype);
    const auto module = Parse(program);
    ASSERT_NE(module, nullptr) << program;
    for (int i = 3; i < 10; ++i) {
      if (i == 7 && !(step > 0)) continue;
      MakeConstant(*module->main(), i, inputs[i]);
    }
    CompileOptions compile;
    compile.passes = "cpu";
    if (given.divides) compile.context.admitted = NumericContract::kValueSafe;
    const auto done = Compile(*module, compile);
    ASSERT_TRUE(done.ok()) << done.status() << program;
    const auto want = reference::Run(*module->main(), inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    for (const int threads : {1, 2}) {
      auto plan = Lower(*module->main(), CpuTarget());
      ASSERT_TRUE(plan.ok()) << plan.status();
      CpuOptions options;
      options.threads = threads;
      options.isa = WEFT_TEST_ISA;
      const auto executable = Executable::Create(*std::move(plan), options);
      ASSERT_TRUE(executable.ok()) << executable.status();
      const auto got = (*executable)->Run(inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "") << program;
      EXPECT_EQ((*executable)->stats().fallbacks, 0);
      EXPECT_EQ((*executable)->stats().integer_products, 1);
      // An addend lies as the result does, in rows.
      const bool adds = absl::StrContains(chain.text, "%a") || absl::StrContains(chain.text, "%q");
      const bool rows = IsMatmul(shape) || shape.last;
      if (!chain.finished || rows || !adds) {
        EXPECT_EQ((*executable)->stats().finished_products, chain.finished ? 1 : 0) << program;
      }
    }
  }
};

TEST_P(FinishedProducts, EqualTheReference) {
  for (const char* dtype : {"u8", "i8"}) {
    // Ties, with an inverse that is exact and with one that is not; nothing saturates; almost all
    // does, some beyond 32 bits; steps without a normal inverse.
    for (const double step : {1.0, 61.0, 1234.5, 0.01, 1e-6, 1e-40, 3e38}) {
      for (const bool divides : {false, true}) {
        SCOPED_TRACE(absl::StrCat(dtype, " ", step, divides ? " divides" : ""));
        ExpectEqual(dtype, step, {/*special=*/false, divides});
      }
    }
    // Found at run time; quotients may be NaN.
    for (const double step : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
      SCOPED_TRACE(absl::StrCat(dtype, " ", step));
      ExpectEqual(dtype, step);
    }
    SCOPED_TRACE("special numbers");
    ExpectEqual(dtype, 61.0, {/*special=*/true});
  }
}

INSTANTIATE_TEST_SUITE_P(All, FinishedProducts,
                         testing::Combine(testing::ValuesIn(kShapes), testing::ValuesIn(kChains)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param).name, "_",
                                               std::get<1>(info.param).name);
                         });

}  // namespace
}  // namespace weft::cpu
