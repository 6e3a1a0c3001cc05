// Emitted CUDA C++ compiles for real GPUs: routines, and the kernels of all golden tests. The test
// needs NVRTC, at a path in WEFT_TEST_NVRTC or installed; without it, it is skipped and says where
// it looked.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cuda/device/kernel_facts.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/routines/attention_shape.h"
#include "backends/cuda/routines/attention_unit.h"
#include "backends/cuda/routines/convert.h"
#include "backends/cuda/routines/convolution_choice.h"
#include "backends/cuda/routines/convolution_unit.h"
#include "backends/cuda/routines/copy_unit.h"
#include "backends/cuda/routines/epilogue.h"
#include "backends/cuda/routines/finish_unit.h"
#include "backends/cuda/routines/fourier_unit.h"
#include "backends/cuda/routines/grid_sampler_unit.h"
#include "backends/cuda/routines/interpolate_unit.h"
#include "backends/cuda/routines/matmul_choice.h"
#include "backends/cuda/routines/matmul_unit.h"
#include "backends/cuda/routines/pooling_unit.h"
#include "backends/cuda/routines/scan_unit.h"
#include "backends/cuda/routines/scatter_unit.h"
#include "backends/cuda/routines/select_unit.h"
#include "backends/cuda/routines/sort_unit.h"
#include "backends/cuda/target.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/golden/runner.h"
#include "tests/support/parse.h"

namespace weft::cuda {
namespace {

constexpr const char* kArchs[] = {"sm_80", "sm_90a", "sm_100"};

class CudaNvrtc : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("WEFT_TEST_NVRTC");
    auto opened = OpenNvrtc(path == nullptr ? "" : path);
    if (!opened.ok()) GTEST_SKIP() << opened.status().message();
    nvrtc_ = *opened;
  }

  // Compiles for all architectures, and expects no spills. The log of each compilation is parsed:
  // there is an entry for each of `kernels` functions.
  void ExpectCompiles(const std::string& text, size_t kernels) {
    for (const char* arch : archs_) {
      std::string log;
      const auto cubin = CompileCubin(*nvrtc_, text, arch, &log);
      ASSERT_TRUE(cubin.ok()) << arch << ": " << cubin.status();
      EXPECT_GT(cubin->size(), 0u);
      const std::vector<KernelFacts> facts = ReadKernelFacts(log);
      EXPECT_EQ(facts.size(), kernels) << log;
      for (const KernelFacts& kernel : facts) {
        EXPECT_GT(kernel.registers, 0) << log;
        EXPECT_EQ(kernel.spill_bytes, 0) << arch << " " << kernel.name;
        RecordProperty(absl::StrCat(arch, "_", kernel.name, "_registers"), kernel.registers);
      }
    }
  }

  size_t CountKernels(const std::string& text) {
    size_t count = 0;
    for (size_t at = text.find("\nW_KERNEL("); at != std::string::npos;
         at = text.find("\nW_KERNEL(", at + 1)) {
      ++count;
    }
    return count;
  }

  void ExpectProgramCompiles(const std::string& program) {
    const auto module = Parse(program);
    const auto plan = Lower(*module->main(), CudaTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    std::vector<const Kernel*> kernels;
    for (const Kernel& kernel : plan->kernels) kernels.push_back(&kernel);
    ASSERT_FALSE(kernels.empty());
    const auto unit = EmitCuda(kernels);
    ASSERT_TRUE(unit.ok()) << unit.status();
    ExpectCompiles(unit->text, CountKernels(unit->text));
  }

  std::vector<const char*> archs_ = {std::begin(kArchs), std::end(kArchs)};
  const NvrtcApi* nvrtc_ = nullptr;
};

// Products of integers of 8 bits less their zero points.
TEST_F(CudaNvrtc, CompilesMatmulsOfBytes) {
  constexpr MatmulRead kOneK = MatmulRead::kOneAlongK;
  constexpr MatmulRead kGroupsK = MatmulRead::kGroupsAlongK;
  constexpr MatmulRead kGroupsLines = MatmulRead::kGroupsAlongLines;
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kTensor, DType::kU8)) {
    kernel.operands.right = DType::kI8;
    kernel.operands.left_zero = kernel.operands.right_zero = true;
    for (const MatmulRead read : {kGroupsK, kGroupsLines, kOneK}) {
      SetReads(kGroupsK, read, &kernel);
      SCOPED_TRACE(absl::StrCat("tile ", kernel.tile_m, ", read ", static_cast<int>(read)));
      ExpectCompiles(MatmulUnit(kernel, PlainEpilogue(DType::kI32)), 2);
    }
    SetReads(kGroupsLines, kGroupsLines, &kernel);
    kernel.operands.left = DType::kI8;
    SCOPED_TRACE("both in groups along lines");
    ExpectCompiles(MatmulUnit(kernel, PlainEpilogue(DType::kI32)), 2);
  }
}

// Products of floats of 8 bits: on their own tensor cores, or as f16.
TEST_F(CudaNvrtc, CompilesMatmulsOfFloat8) {
  constexpr MatmulRead kOneK = MatmulRead::kOneAlongK;
  constexpr MatmulRead kOneLines = MatmulRead::kOneAlongLines;
  constexpr MatmulRead kGroupsK = MatmulRead::kGroupsAlongK;
  constexpr MatmulRead kGroupsLines = MatmulRead::kGroupsAlongLines;
  const std::string plain = PlainEpilogue(DType::kF32);
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kTensor, DType::kF16)) {
    kernel.operands = {DType::kF8E4M3, DType::kF8E5M2, false, false, /*as_halves=*/true};
    SetReads(kOneK, kOneLines, &kernel);
    ExpectCompiles(MatmulUnit(kernel, plain), 2);
  }
  for (const auto& [m, far] : {std::pair(1, false), {4, false}, {64, true}}) {
    MatmulProblem problem;
    problem.m = m;
    problem.n = problem.k = 1024;
    problem.operands = {DType::kF8E5M2, DType::kF8E4M3};
    problem.a = problem.b = kGroupsK;
    problem.far = far;
    ExpectCompiles(MatmulUnit(ChooseMatmul(problem).kernel, plain), 2);
  }
  archs_ = {"sm_90a", "sm_100"};
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kTensor, DType::kF8E4M3)) {
    kernel.operands.right = DType::kF8E5M2;
    for (const MatmulRead read : {kGroupsK, kGroupsLines, kOneK}) {
      if (read == kOneK && kernel.tile_m == 128) continue;
      SetReads(kGroupsK, read, &kernel);
      SCOPED_TRACE(absl::StrCat("tile ", kernel.tile_m, ", read ", static_cast<int>(read)));
      ExpectCompiles(MatmulUnit(kernel, plain), 2);
    }
  }
}

// The kernels for products of matrices, with the reads that the others come closest to.
TEST_F(CudaNvrtc, CompilesMatmuls) {
  constexpr MatmulRead kOneK = MatmulRead::kOneAlongK;
  constexpr MatmulRead kGroupsK = MatmulRead::kGroupsAlongK;
  constexpr MatmulRead kGroupsLines = MatmulRead::kGroupsAlongLines;
  const auto expect = [&](MatmulKernel kernel, DType dtype, MatmulRead a, MatmulRead b) {
    kernel.operands.left = dtype;
    SetReads(a, b, &kernel);
    SCOPED_TRACE(absl::StrCat(DTypeName(dtype), " form ", static_cast<int>(kernel.form), " tile ",
                              kernel.tile_m, " reads ", static_cast<int>(a), " ",
                              static_cast<int>(b)));
    ExpectCompiles(MatmulUnit(kernel, PlainEpilogue(dtype)), 2);
  };
  for (const MatmulKernel& kernel : TiledKernels(MatmulForm::kFloat)) {
    expect(kernel, DType::kF32, kOneK, kOneK);
    expect(kernel, DType::kF32, kGroupsK, kGroupsK);
    expect(kernel, DType::kF32, kGroupsK, kGroupsLines);
    expect(kernel, DType::kF32, kGroupsLines, kGroupsLines);
  }
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kTf32)) {
    for (const int products : {1, 3}) {
      kernel.products = products;
      expect(kernel, DType::kF32, kGroupsK, kGroupsK);
      expect(kernel, DType::kF32, kOneK, kGroupsLines);
    }
  }
  for (const MatmulKernel& kernel : TiledKernels(MatmulForm::kTensor)) {
    expect(kernel, DType::kBF16, kGroupsK, kGroupsK);
    expect(kernel, DType::kBF16, kGroupsK, kGroupsLines);
    expect(kernel, DType::kF16, kGroupsLines, kOneK);
  }
  archs_ = {"sm_90a"};
  for (const MatmulKernel& kernel : TiledKernels(MatmulForm::kWgmma)) {
    expect(kernel, DType::kBF16, kGroupsK, kGroupsK);
    expect(kernel, DType::kF16, kGroupsLines, kGroupsLines);
  }
  archs_ = {std::begin(kArchs), std::end(kArchs)};
  for (const DType dtype :
       {DType::kF64, DType::kF32, DType::kBF16, DType::kF16, DType::kI32, DType::kI64}) {
    for (const MatmulKernel& kernel : TiledKernels(MatmulForm::kPlain, dtype)) {
      expect(kernel, dtype, kOneK, kOneK);
    }
  }
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kI32}) {
    for (const MatmulRead read : {kOneK, kGroupsK, kGroupsLines}) {
      MatmulProblem problem;
      problem.m = kMaxFewRows;
      problem.n = problem.k = 1024;
      problem.operands = {dtype, dtype};
      problem.a = read == kGroupsK ? kGroupsK : kOneK;
      problem.b = read;
      expect(ChooseMatmul(problem).kernel, dtype, problem.a, problem.b);
    }
  }
}

// The kernels of convolutions, for windows and for single points, without an epilogue.
TEST_F(CudaNvrtc, CompilesConvolutions) {
  const auto expect = [&](DType dtype, ConvolutionKind kind) {
    for (const ConvolutionTile& tile : ConvolutionTiles(dtype, kind)) {
      for (const bool groups : {true, false}) {
        if (!groups && kind == ConvolutionKind::kWgmma) continue;
        ConvolutionForm form;
        form.operands = {dtype, dtype};
        form.kind = kind;
        form.tile = tile;
        form.channel_groups = groups;
        form.dims = 2;
        form.points = groups && kind == ConvolutionKind::kPlain;
        ExpectCompiles(ConvolutionUnit(form, {PlainEpilogue(dtype), 0}), 2);
      }
    }
  };
  expect(DType::kF32, ConvolutionKind::kPlain);
  expect(DType::kF64, ConvolutionKind::kPlain);
  expect(DType::kI32, ConvolutionKind::kPlain);
  expect(DType::kI64, ConvolutionKind::kPlain);
  expect(DType::kBF16, ConvolutionKind::kTensor);
  archs_ = {"sm_90a"};
  expect(DType::kF16, ConvolutionKind::kWgmma);
  archs_ = {std::begin(kArchs), std::end(kArchs)};
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    ConvolutionForm form;
    form.operands = {dtype, dtype};
    form.wide = true;
    ExpectCompiles(DepthwiseConvolutionUnit(form, 5, 2, {PlainEpilogue(dtype), 0}), 1);
    ExpectCompiles(DirectConvolutionUnit(form, {PlainEpilogue(dtype), 0}), 1);
    ExpectCompiles(ConvolutionPackUnit(dtype, dtype == DType::kBF16, false), 1);
    ExpectCompiles(MaxPoolingUnit(dtype), 1);
    ExpectCompiles(AvgPoolingUnit(dtype), 1);
  }
}

// Convolutions of integers of 8 bits less their zero points.
TEST_F(CudaNvrtc, CompilesConvolutionsOfBytes) {
  ConvolutionForm form;
  form.operands = {DType::kU8, DType::kI8, true, true};
  const ConvolutionEpilogue plain = {PlainEpilogue(DType::kI32), 0};
  for (const ConvolutionTile& tile : ConvolutionTiles(DType::kU8, ConvolutionKind::kTensor)) {
    for (const bool groups : {true, false}) {
      form.kind = ConvolutionKind::kTensor;
      form.tile = tile;
      form.channel_groups = groups;
      form.dims = 2;
      SCOPED_TRACE(absl::StrCat("rows ", tile.rows, groups ? ", groups of channels" : ""));
      ExpectCompiles(ConvolutionUnit(form, plain), 2);
    }
  }
  form.wide = true;
  ExpectCompiles(DepthwiseConvolutionUnit(form, 5, 2, plain), 1);
  ExpectCompiles(DirectConvolutionUnit(form, plain), 1);
  ExpectCompiles(ConvolutionPackUnit(DType::kI8, true, false), 1);
}

TEST_F(CudaNvrtc, CompilesRoutines) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    ExpectCompiles(FinishUnit(dtype, PlainEpilogue(dtype)), 2);
  }
  ExpectCompiles(CopyUnit(), 5);
  ExpectCompiles(ConvertUnit(DType::kBF16, DType::kF8E4M3), 1);
  ExpectCompiles(ConvertUnit(DType::kF8E5M2, DType::kF32), 1);
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    ExpectCompiles(FourierUnit(dtype), 3);
  }
  ExpectCompiles(GridSamplerUnit(GridMode::kBicubic, DType::kF32, DType::kF32), 1);
  ExpectCompiles(GridSamplerUnit(GridMode::kBilinear, DType::kF16, DType::kF32), 1);
  ExpectCompiles(GridSamplerUnit(GridMode::kNearest, DType::kF64, DType::kF64), 1);
  for (const DType dtype : {DType::kBool, DType::kF32, DType::kI64}) {
    if (dtype != DType::kBool) ExpectCompiles(ScanUnit(ScanKind::kSum, dtype), 3);
    ExpectCompiles(ScanUnit(ScanKind::kMaximum, dtype), 3);
    ExpectCompiles(SortUnit(dtype), 3);
    ExpectCompiles(NonzeroUnit(dtype), 3);
    ExpectCompiles(UniqueUnit(dtype), 7);
    ExpectCompiles(ScatterUnit(ScatterReduce::kNone, dtype, DType::kI64), 4);
    ExpectCompiles(ScatterUnit(ScatterReduce::kAdd, dtype, DType::kI32), 3);
    ExpectCompiles(ScatterUnit(ScatterReduce::kMax, dtype, DType::kI32), 3);
    ExpectCompiles(InterpolateUnit(dtype, /*moves=*/true), 1);
    if (IsFloat(dtype)) ExpectCompiles(InterpolateUnit(dtype, /*moves=*/false), 1);
  }
}

TEST_F(CudaNvrtc, CompilesAttention) {
  const auto expect = [&](DType dtype, AttentionMask mask, int64_t queries, int64_t features) {
    AttentionShape shape;
    shape.dtype = dtype;
    shape.mask = mask;
    AttentionSizes sizes;
    sizes.heads = 64;
    sizes.queries = queries;
    sizes.keys = 1024;
    sizes.features = sizes.value_features = features;
    ChooseAttention({true, false, 163 << 10}, &shape, &sizes);
    SCOPED_TRACE(absl::StrCat(DTypeName(dtype), " queries ", queries, " features ", features));
    ExpectCompiles(AttentionUnit(shape), shape.form == AttentionForm::kPlain ? 1 : 2);
  };
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const int64_t features : {64, 128}) {
      expect(dtype, AttentionMask::kNone, 1024, features);
      expect(dtype, AttentionMask::kAdded, 1024, features);
      expect(dtype, AttentionMask::kNone, 1, features);
    }
    // Other kernels with masks spill a few bytes on some architectures.
    expect(dtype, AttentionMask::kNone, 1, 256);
    expect(dtype, AttentionMask::kNone, 1024, 256);
    expect(dtype, AttentionMask::kBool, 64, 80);
    expect(dtype, AttentionMask::kNone, 64, 257);
  }
  archs_ = {"sm_90a"};
  for (const int64_t features : {64, 128}) {
    for (const AttentionMask mask : {AttentionMask::kNone, AttentionMask::kAdded}) {
      AttentionShape shape = WgmmaAttention(features, features);
      shape.dtype = DType::kBF16;
      shape.mask = mask;
      ExpectCompiles(AttentionUnit(shape), 1);
    }
  }
}

TEST_F(CudaNvrtc, CompilesPointwiseKernels) {
  ExpectProgramCompiles(R"(
    func @main(%x: f32[s0], %i: i32[s0], %h: bf16[s0], %g: f16[s0], %p: bool[s0], %d: f64[s0],
               %u: u8[s0])
        -> (f32[s0], i32[s0], bf16[s0], f16[s0], bool[s0], i64[s0], f32[s0], f64[s0], u8[s0],
            i32[s0]) where 1 <= s0 {
      %0 = erf(%x)
      %1 = div(%i, %i, rounding_mode="floor")
      %2 = tanh(%h)
      %3 = add(%g, %g)
      %4 = logical_not(%p)
      %5 = convert(%x, dtype=i64)
      %6 = where(%p, %x, %0)
      %7 = lgamma(%d)
      %8 = maximum(%u, %u)
      %9 = pow(%i, %i)
      return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9
    })");
}

TEST_F(CudaNvrtc, CompilesReductions) {
  ExpectProgramCompiles(R"(
    func @main(%x: f32[s0, s1], %h: bf16[s0, s1], %i: i64[s0, s1], %p: bool[s0, s1], %k: i64[5])
        -> (f32[s0], f32[s1], f32[], i64[s0], i64[s1], bf16[s0, s1], bool[s0], i64[s0], f32[5, s1])
        where 1 <= s0, 1 <= s1 {
      %0 = sum(%x, dim=[1])
      %1 = sum(%x, dim=[0])
      %2 = amax(%x, dim=[0, 1])
      %3 = argmax(%x, dim=1)
      %4 = argmin(%x, dim=0)
      %5 = softmax(%h, dim=-1)
      %6 = any(%p, dim=[1])
      %7 = prod(%i, dim=1)
      %8 = index_select(%x, %k, dim=0)
      return %0, %1, %2, %3, %4, %5, %6, %7, %8
    })");
}

// Functions with tables of arguments, which are read where they are: no thread copies a table.
TEST_F(CudaNvrtc, CompilesTablesOfNests) {
  const auto module = Parse(R"(
    func @main(%a: f32[s0, s1], %b: f32[s2, s3], %h: bf16[s0], %g: bf16[s3], %k: i64[s2])
        -> (f32[s0, s1], f32[s2, s3], bf16[s0], bf16[s3], f32[s0, s1], f32[s2, s3], f32[s0], f32[s2],
            f32[s1], f32[s3], f32[s2, s1], f32[s2, s3])
        where 1 <= s0, 1 <= s1, 1 <= s2, 1 <= s3 {
      %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 = fused(%a, %b, %h, %g, %k, kind="horizontal") {
        body(%a: f32[s0, s1], %b: f32[s2, s3], %h: bf16[s0], %g: bf16[s3], %k: i64[s2]) {
          %0 = exp(%a)
          %1 = exp(%b)
          %2 = exp(%h)
          %3 = exp(%g)
          %4 = softmax(%a, dim=-1)
          %5 = softmax(%b, dim=-1)
          %6 = sum(%a, dim=[1])
          %7 = sum(%b, dim=[1])
          %8 = sum(%a, dim=[0])
          %9 = sum(%b, dim=[0])
          %10 = index_select(%a, %k, dim=0)
          %11 = index_select(%b, %k, dim=0)
          return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11
        }
      }
      return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11
    })");
  const auto plan = Lower(*module->main(), CudaTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->kernels.size(), 1u);
  const auto unit = EmitCuda({&plan->kernels[0]});
  ASSERT_TRUE(unit.ok()) << unit.status();
  for (const CudaNest& nest : unit->kernels[0].nests) EXPECT_GT(nest.function.table, 0);
  ExpectCompiles(unit->text, CountKernels(unit->text));
  for (const char* arch : archs_) {
    std::string log;
    ASSERT_TRUE(CompileCubin(*nvrtc_, unit->text, arch, &log).ok());
    for (const KernelFacts& kernel : ReadKernelFacts(log)) {
      EXPECT_EQ(kernel.stack_bytes, 0) << arch << " " << kernel.name;
    }
  }
}

// Kernels of the functions in all golden files, before and after their passes. Equal functions are
// compiled once.
TEST_F(CudaNvrtc, CompilesKernelsOfGoldens) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/golden")) {
    if (entry.path().extension() == ".weft") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<const Kernel*> kernels;
  const auto add = [&](const std::string& text) {
    if (text.empty()) return;
    modules.push_back(Parse(text));
    for (const auto& graph : modules.back()->functions()) {
      auto plan = Lower(*graph, CudaTarget());
      if (!plan.ok()) continue;  // A function of a quantizer's model, for example.
      plans.push_back(std::make_unique<Plan>(*std::move(plan)));
      for (const Kernel& kernel : plans.back()->kernels) {
        if (EmitCuda({&kernel}).ok()) kernels.push_back(&kernel);
      }
    }
  };
  for (const std::string& file : files) {
    const auto read = golden::ReadFile(file);
    ASSERT_TRUE(read.ok()) << read.status();
    for (const golden::Case& test : read->cases) {
      add(test.input);
      add(test.expected);
    }
  }
  ASSERT_GT(kernels.size(), 100u);
  const auto unit = EmitCuda(kernels);
  ASSERT_TRUE(unit.ok()) << unit.status();
  const std::string prelude = Prelude();
  const std::string functions = unit->text.substr(prelude.size());
  // Units of at most kFunctions functions.
  constexpr size_t kFunctions = 32;
  size_t total = 0;
  std::string text;
  const auto flush = [&] {
    const size_t count = CountKernels(text);
    total += count;
    if (count > 0) ExpectCompiles(prelude + text, count);
    text.clear();
  };
  for (size_t begin = 0; begin < functions.size();) {
    const size_t at = functions.find("\n// ", begin + 1);
    const size_t end = at == std::string::npos ? functions.size() : at;
    text += functions.substr(begin, end - begin);
    if (CountKernels(text) == kFunctions) flush();
    begin = end;
  }
  flush();
  RecordProperty("kernels", static_cast<int>(kernels.size()));
  RecordProperty("functions", static_cast<int>(total));
}

}  // namespace
}  // namespace weft::cuda
