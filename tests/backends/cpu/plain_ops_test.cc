// What a program without oneDNN runs in its place, against the reference executor.
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/reference/executor.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

using Dims = std::vector<int64_t>;

HostTensor Random(DType dtype, const Dims& dims) {
  static std::mt19937 engine(7);
  std::uniform_real_distribution<double> draw(-2, 2);
  std::vector<double> values(static_cast<size_t>(*CheckedNumel(dims)));
  for (double& value : values) value = draw(engine);
  return HostTensor::FromDoubles(dtype, dims, values);
}

// The same elements with the last dim outermost in memory.
HostTensor LastOutermost(const HostTensor& tensor) {
  Dims strides(tensor.dims().size());
  int64_t stride = 1;
  for (size_t i = strides.size() - 1; i-- > 0;) {
    strides[i] = stride;
    stride *= tensor.dim(static_cast<int>(i));
  }
  strides.back() = stride;
  const HostTensor memory(tensor.dtype(), tensor.dims());
  HostTensor view = *HostTensor::View(memory.buffer(), tensor.dtype(), tensor.dims(), strides);
  view.WriteDoubles(tensor.ReadDoubles());
  return view;
}

DnnTensor Describe(const HostTensor& tensor) {
  return {tensor.dtype(), Dims(tensor.dims().begin(), tensor.dims().end()),
          Dims(tensor.strides().begin(), tensor.strides().end())};
}

// The result of `body`, lines that define %y over %a, %b, ..., on the reference executor.
HostTensor Reference(absl::string_view body, const std::vector<HostTensor>& inputs) {
  std::string text = "func @main(";
  for (size_t i = 0; i < inputs.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", "%", std::string(1, static_cast<char>('a' + i)), ": ",
                    inputs[i].type().ToString());
  }
  absl::StrAppend(&text, ") {\n", body, "\nreturn %y\n}\n");
  const std::unique_ptr<Module> module = Parse(text);
  auto outputs = reference::Run(*module->main(), inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? (*outputs)[0] : HostTensor();
}

// Runs the op, with the operands of post-ops behind `slots`.
void Expect(absl::StatusOr<std::unique_ptr<DnnOp>> op, const std::vector<HostTensor>& slots,
            const HostTensor& result, const HostTensor& want) {
  ASSERT_TRUE(op.ok()) << op.status();
  std::vector<void*> memory;
  for (const HostTensor& slot : slots) memory.push_back(slot.valid() ? slot.raw() : nullptr);
  memory[kDnnResult] = result.raw();
  std::vector<char> scratch(static_cast<size_t>((*op)->scratch_bytes()) + 64);
  ASSERT_TRUE((*op)->Run(memory, scratch.data()).ok());
  const Tolerance tolerance = {want.dtype() == DType::kF32 ? 1e-4 : 2e-2, 1e-4};
  EXPECT_EQ(Difference(result, want, tolerance), "");
}

HostTensor None() { return HostTensor(); }

TEST(PlainOpsTest, Products) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const bool strided : {false, true}) {
      HostTensor a = Random(dtype, {2, 5, 7});
      HostTensor b = Random(dtype, {1, 7, 300});
      if (strided) a = LastOutermost(a);
      if (strided) b = LastOutermost(b);
      DnnMatmul m;
      m.a = Describe(a);
      m.b = Describe(b);
      const HostTensor result(dtype, {2, 5, 300});
      m.y = Describe(result);
      SCOPED_TRACE(absl::StrCat(DTypeName(dtype), strided ? " strided" : ""));
      Expect(MakeMatmul(m, {}), {a, b, None(), None()}, result,
             Reference("%y = matmul(%a, %b)", {a, b}));
    }
  }
}

// They may lie elsewhere than in the slot, which is not read then.
TEST(PlainOpsTest, ConstantWeightsAreLoaded) {
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    const HostTensor a = Random(dtype, {3, 4});
    const HostTensor b = Random(dtype, {4, 6});
    DnnMatmul m;
    m.a = Describe(a);
    m.b = Describe(b);
    const HostTensor result(dtype, {3, 6});
    m.y = Describe(result);
    DnnWeights weights;
    const HostTensor want = Reference("%y = matmul(%a, %b)", {a, b});
    Expect(MakeMatmul(m, {b.raw(), 1, &weights, {}}), {a, b, None(), None()}, result, want);
    const HostTensor other(dtype, {4, 6});
    Expect(MakeMatmul(m, {nullptr, 1, &weights, [&] { return b.raw(); }}),
           {a, other, None(), None()}, result, want);
  }
}

struct Function {
  const char* body;  // Of %y over %p and, with an operand, %c.
  DnnFunction function;
  float alpha = 0;
  float beta = 0;
};

constexpr Function kFunctions[] = {
    {"%y = leaky_relu(%p, negative_slope=0.5)", DnnFunction::kRelu, 0.5f},
    {"%y = elu(%p)", DnnFunction::kElu, 1},
    {"%y = tanh(%p)", DnnFunction::kTanh},
    {"%y = sigmoid(%p)", DnnFunction::kSigmoid},
    {"%y = gelu(%p)", DnnFunction::kGeluErf},
    {"%y = gelu(%p, approximate=\"tanh\")", DnnFunction::kGeluTanh},
    {"%y = silu(%p)", DnnFunction::kSwish, 1},
    {"%y = hardswish(%p)", DnnFunction::kHardSwish},
    {"%y = exp(%p)", DnnFunction::kExp},
    {"%y = abs(%p)", DnnFunction::kAbs},
    {"%q = abs(%p) %z = abs(%q) %y = sqrt(%z)", DnnFunction::kSqrt},
    {"%y = hardtanh(%p, min_val=-0.5, max_val=1.5)", DnnFunction::kClip, -0.5f, 1.5f},
    {"%y = add(%p, %c)", DnnFunction::kAdd},
    {"%y = sub(%p, %c)", DnnFunction::kSub},
    {"%y = mul(%p, %c)", DnnFunction::kMul},
    {"%y = div(%p, %c)", DnnFunction::kDiv},
    {"%y = maximum(%p, %c)", DnnFunction::kMaximum},
    {"%y = minimum(%p, %c)", DnnFunction::kMinimum},
};

TEST(PlainOpsTest, FunctionsFollowTheBias) {
  const HostTensor a = Random(DType::kF32, {4, 3});
  const HostTensor b = Random(DType::kF32, {3, 5});
  const HostTensor c = Random(DType::kF32, {4, 1});
  const HostTensor bias = Random(DType::kF32, {1, 5});
  for (const Function& row : kFunctions) {
    SCOPED_TRACE(row.body);
    DnnMatmul m;
    m.a = Describe(a);
    m.b = Describe(b);
    m.bias = Describe(bias);
    const HostTensor result(DType::kF32, {4, 5});
    m.y = Describe(result);
    const bool binary = row.function >= DnnFunction::kAdd;
    if (row.function == DnnFunction::kSqrt) m.post_ops.push_back({DnnFunction::kAbs});
    m.post_ops.push_back({row.function, row.alpha, row.beta, binary ? Describe(c) : DnnTensor()});
    Expect(MakeMatmul(m, {}), {a, b, bias, None(), c}, result,
           Reference(absl::StrCat("%m = matmul(%a, %b) %p = add(%m, %d)\n", row.body),
                     {a, b, c, bias}));
  }
}

// What the result's memory has is added before the bias and the functions.
TEST(PlainOpsTest, SumsGoOntoTheResult) {
  const HostTensor a = Random(DType::kF32, {2, 3});
  const HostTensor b = Random(DType::kF32, {3, 4});
  const HostTensor old = Random(DType::kF32, {2, 4});
  DnnMatmul m;
  m.a = Describe(a);
  m.b = Describe(b);
  HostTensor result(DType::kF32, {2, 4});
  result.WriteDoubles(old.ReadDoubles());
  m.y = Describe(result);
  m.post_ops.push_back({DnnFunction::kAccumulate});
  m.post_ops.push_back({DnnFunction::kRelu});
  Expect(MakeMatmul(m, {}), {a, b, None(), None()}, result,
         Reference("%p = matmul(%a, %b) %q = add(%p, %c) %y = relu(%q)", {a, b, old}));
}

struct ConvolutionCase {
  Dims x, weights, y;
  int64_t groups = 1;
  Dims stride, dilation, padding;
  bool transposed = false;
};

// The weights of a transposed convolution with out and in exchanged, and with groups in front.
DnnTensor WeightsOf(const HostTensor& weights, int64_t groups, bool transposed) {
  DnnTensor t = Describe(weights);
  if (groups > 1) {
    t.strides.insert(t.strides.begin(), t.strides[0] * (t.dims[0] / groups));
    t.dims[0] /= groups;
    t.dims.insert(t.dims.begin(), groups);
  }
  const size_t first = groups > 1 ? 1 : 0;
  if (transposed) {
    std::swap(t.dims[first], t.dims[first + 1]);
    std::swap(t.strides[first], t.strides[first + 1]);
  }
  return t;
}

std::string List(const Dims& values) {
  std::string text;
  for (const int64_t value : values) absl::StrAppend(&text, text.empty() ? "" : ", ", value);
  return absl::StrCat("[", text, "]");
}

TEST(PlainOpsTest, Convolutions) {
  const ConvolutionCase cases[] = {
      {{2, 3, 9}, {4, 3, 3}, {2, 4, 9}, 1, {1}, {1}, {1}},
      {{1, 4, 7, 8}, {6, 2, 3, 2}, {1, 6, 4, 4}, 2, {2, 2}, {1, 1}, {1, 0}},
      {{1, 3, 9, 9}, {3, 1, 3, 3}, {1, 3, 9, 9}, 3, {1, 1}, {2, 2}, {2, 2}},
      {{1, 2, 3, 4, 5}, {2, 2, 2, 2, 2}, {1, 2, 2, 3, 4}, 1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
      {{1, 2, 4, 5}, {2, 3, 3, 3}, {1, 3, 7, 9}, 1, {2, 2}, {1, 1}, {1, 1}, true},
      {{1, 4, 4}, {4, 1, 2}, {1, 2, 8}, 2, {2}, {1}, {0}, true},
  };
  for (const ConvolutionCase& row : cases) {
    for (const bool strided : {false, true}) {
      SCOPED_TRACE(absl::StrCat(List(row.x), strided ? " strided" : ""));
      HostTensor x = Random(DType::kF32, row.x);
      if (strided) x = LastOutermost(x);
      const HostTensor weights = Random(DType::kF32, row.weights);
      const HostTensor bias = Random(DType::kF32, {row.y[1]});
      const HostTensor result(DType::kF32, row.y);
      DnnConvolution c;
      c.x = Describe(x);
      c.weights = WeightsOf(weights, row.groups, row.transposed);
      c.bias = Describe(bias);
      c.y = Describe(result);
      c.transposed = row.transposed;
      c.stride = row.stride;
      c.dilation = row.dilation;
      c.before = c.after = row.padding;
      const std::string text =
          absl::StrCat("%y = convolution(%a, %b, %c, stride=", List(row.stride),
                       ", padding=", List(row.padding), ", dilation=", List(row.dilation),
                       ", groups=", row.groups, row.transposed ? ", transposed=true" : "", ")");
      Expect(MakeConvolution(c, {}), {x, weights, bias, None()}, result,
             Reference(text, {x, weights, bias}));
    }
  }
}

TEST(PlainOpsTest, Poolings) {
  using Kind = DnnPooling::Kind;
  const HostTensor x = Random(DType::kF32, {2, 3, 7, 8});
  const std::string sizes =
      "(%a, kernel_size=[3, 2], stride=[2, 2], padding=[1, 0, 1, 0], "
      "dilation=[1, 1]";
  const std::pair<Kind, std::string> kinds[] = {
      {Kind::kMaximum, absl::StrCat("%y, %i = max_pool", sizes, ")")},
      {Kind::kAverage, absl::StrCat("%y = avg_pool", sizes, ", count_include_pad=false)")},
      {Kind::kAverageWithPadding,
       absl::StrCat("%y = avg_pool", sizes, ", count_include_pad=true)")},
  };
  for (const auto& [kind, text] : kinds) {
    for (const bool strided : {false, true}) {
      SCOPED_TRACE(text);
      const HostTensor given = strided ? LastOutermost(x) : x;
      const HostTensor result(DType::kF32, {2, 3, 4, 4});
      DnnPooling p;
      p.kind = kind;
      p.x = Describe(given);
      p.y = Describe(result);
      p.kernel = {3, 2};
      p.stride = {2, 2};
      p.before = {1, 0};
      p.after = {1, 0};
      Expect(MakePooling(p), {given, None(), None(), None()}, result, Reference(text, {given}));
    }
  }
}

TEST(PlainOpsTest, WhatThereIsNoRoutineForIsRefused) {
  DnnMatmul m;
  m.a = {DType::kI32, {2, 2}, {2, 1}};
  m.b = m.y = m.a;
  EXPECT_EQ(MakeMatmul(m, {}).status().code(), absl::StatusCode::kUnimplemented);
  m.a.dtype = m.b.dtype = m.y.dtype = DType::kF32;
  m.reading.dtype = DType::kBF16;
  EXPECT_EQ(MakeMatmul(m, {}).status().code(), absl::StatusCode::kUnimplemented);
  m.reading.dtype = DType::kF32;
  EXPECT_TRUE(MakeMatmul(m, {}).ok());
}

}  // namespace
}  // namespace weft::cpu
