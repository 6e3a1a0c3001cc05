// fuse_nbits: the decisions, and packed weights that equal the dequantized ones in every form.
#include "tests/support/nbits.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"
#include "graph/ops/registry.h"
#include "graph/target/target.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "passes/engine/pass_manager.h"
#include "passes/fuse_nbits/decision.h"
#include "passes/pipelines.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

Target Keeping() {
  Target target;
  target.composites = {"matmul_nbits"};
  return target;
}

constexpr int64_t kColumns = 5;

// Weights of x[3, depth] that are dequantized: how they lie, and what shares a scale.
struct Form {
  DType dtype = DType::kI4;
  int64_t depth = 48;
  int64_t shared_columns = 1;
  int64_t group = 16;  // At least `depth`: all of it.
  bool rows = true;    // [columns, depth], else [depth, columns].
  bool linear = false;
  bool zero_points = false;
  bool small = false;  // Numbers from -8 to 7, or 0 to 15.
  bool wide_zero_points = false;
  bool float_zero_points = false;
  DType scale = DType::kF32;
};

std::string TextOf(const Form& f) {
  return absl::StrCat(DTypeName(f.dtype), " depth ", f.depth, " in groups of ", f.group, " by ",
                      f.shared_columns, f.rows ? " rows" : "", f.linear ? " linear" : "",
                      f.zero_points ? " zero points" : "", f.float_zero_points ? " of floats" : "",
                      f.small ? " small" : "");
}

// The nearest values of the dtype to 3/4 of the numbers, so that f4e2m1 has its largest one.
HostTensor Floats(DType dtype, const std::vector<int64_t>& dims,
                  const std::vector<int64_t>& numbers) {
  std::vector<double> values;
  for (int64_t number : numbers) values.push_back(0.75 * static_cast<double>(number));
  return HostTensor::FromDoubles(dtype, dims, values);
}

std::unique_ptr<Module> ModuleOf(const Form& f) {
  auto module = std::make_unique<Module>(ops::Registry());
  Graph* graph = module->AddFunction("main");
  Value* x = graph->AddInput(Type::Tensor(DType::kF32, {3, f.depth}), "x");
  Builder b(graph);
  const auto dims = [&](int64_t columns, int64_t along) {
    return f.rows ? std::vector<int64_t>{columns, along} : std::vector<int64_t>{along, columns};
  };
  NbitsRandom random(7);
  const auto numbers = [&](const std::vector<int64_t>& sizes, bool small) {
    const int bits = small ? 4 : DTypeBits(f.dtype);
    const int low = IsSignedInt(f.dtype) || IsFloat(f.dtype) ? -(1 << (bits - 1)) : 0;
    std::vector<int64_t> values(sizes[0] * sizes[1]);
    for (int64_t& v : values) v = random.Next(low, low + (1 << bits) - 1);
    values[0] = low;
    if (IsFloat(f.dtype)) return Floats(f.dtype, sizes, values);
    return HostTensor::FromInts(f.dtype, sizes, values);
  };
  const std::vector<int64_t> blocks =
      dims((kColumns + f.shared_columns - 1) / f.shared_columns, (f.depth + f.group - 1) / f.group);
  std::vector<double> scales(blocks[0] * blocks[1]);
  for (double& scale : scales) {
    const int k = random.Next(1, 9);
    scale = f.scale == DType::kF8E8M0 ? std::ldexp(0.25, k) : 0.25 * k;
  }
  Value* q = b.Constant(numbers(dims(kColumns, f.depth), f.small));
  Value* scale = b.Constant(HostTensor::FromDoubles(f.scale, blocks, scales));
  Value* zero =
      f.zero_points ? b.Constant(numbers(blocks, f.small && !f.wide_zero_points)) : nullptr;
  if (f.float_zero_points) {
    std::vector<double> points(scales.size());
    for (double& point : points) point = 0.5 * random.Next(-9, 39);
    zero = b.Constant(HostTensor::FromDoubles(f.scale, blocks, points));
  }
  Value* w = ops::BuildDequantizeLinear(b, q, scale, zero, DType::kF32, 1, 0,
                                        dims(f.shared_columns, f.group));
  const bool turned = f.linear != f.rows;
  if (turned) w = b.Op(ops::permute, {w}, {{"dims", std::vector<int64_t>{1, 0}}});
  Value* bias = b.Constant(HostTensor::FromDoubles(DType::kF32, {kColumns}, {1, 2, 3, 4, 5}));
  Value* y = f.linear ? b.Op(ops::linear, {x, w, bias}) : b.Op(ops::matmul, {x, w});
  graph->SetOutputs({y});
  EXPECT_TRUE(b.status().ok()) << b.status();
  return module;
}

void RunPass(Module& module, const Target& target) {
  auto pipeline = Pipeline::Parse("fuse_nbits{admit=reassociating},dce", BuiltinPasses());
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  PassContext::Options options;
  options.target = target;
  PassContext context(options);
  const absl::Status status = PassManager(*std::move(pipeline)).Run(module, context);
  ASSERT_TRUE(status.ok()) << status;
}

// The number of bits of the one product; 0: it stays.
int64_t BitsOf(const Graph& graph) {
  for (Node* node : graph.nodes()) {
    if (node->Is(ops::matmul_nbits)) return ops::MatmulNbitsView(*node).bits();
  }
  return 0;
}

void ExpectFused(const Form& form, int64_t bits) {
  SCOPED_TRACE(TextOf(form));
  const auto module = ModuleOf(form);
  const std::vector<HostTensor> inputs = {
      HostTensor::FromDoubles(DType::kF32, {3, form.depth}, SmallIntegers(3 * form.depth))};
  const auto want = reference::Run(*module->main(), inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  RunPass(*module, Keeping());
  EXPECT_EQ(BitsOf(*module->main()), bits);
  const auto got = reference::Run(*module->main(), inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "");
}

TEST(FuseNbits, PacksWhatWasDequantized) {
  for (const DType dtype : {DType::kI4, DType::kU4, DType::kI8, DType::kU8}) {
    const bool narrow = DTypeBits(dtype) == 4;
    for (const bool rows : {false, true}) {
      for (const bool linear : {false, true}) {
        for (const bool zero_points : {false, true}) {
          Form form;
          form.dtype = dtype;
          form.rows = rows;
          form.linear = linear;
          form.zero_points = zero_points;
          ExpectFused(form, narrow ? 4 : 8);
          form.depth = 41;  // A cut group.
          ExpectFused(form, narrow ? 4 : 8);
          form.small = true;
          ExpectFused(form, 4);
          form.wide_zero_points = true;
          ExpectFused(form, narrow || !zero_points ? 4 : 8);
        }
      }
    }
  }
}

TEST(FuseNbits, TakesFloatZeroPoints) {
  for (const DType dtype : {DType::kU4, DType::kU8, DType::kI8}) {
    for (const bool rows : {false, true}) {
      for (const int64_t shared : {1, 2}) {
        Form form;
        form.dtype = dtype;
        form.rows = rows;
        form.depth = 41;
        form.shared_columns = shared;
        form.float_zero_points = true;
        const int64_t bits = DTypeBits(dtype);
        // With signs, the numbers would move and the zero points round.
        ExpectFused(form, IsSignedInt(dtype) ? 0 : bits);
        form.small = true;
        ExpectFused(form, IsSignedInt(dtype) ? 0 : 4);
      }
    }
  }
}

// x[3, 48] times weights with a number added to each group, as formats with a minimum have them.
std::unique_ptr<Module> OffsetModule(DType dtype, bool swapped) {
  auto module = std::make_unique<Module>(ops::Registry());
  Graph* graph = module->AddFunction("main");
  Value* x = graph->AddInput(Type::Tensor(dtype, {3, 48}), "x");
  Builder b(graph);
  const std::vector<int64_t> heads = {kColumns, 3, 1};
  std::vector<Value*> outputs;
  // Several, whose packed constants come between those of the others.
  for (const uint32_t seed : {1, 2, 3, 4, 5}) {
    const NbitsMatrix m = MakeFloatNbits(4, kColumns, 48, 16, true, seed);
    const std::vector<int64_t> numbers(m.numbers.begin(), m.numbers.end());
    Value* w = ops::BuildDequantizeLinear(
        b, b.Constant(HostTensor::FromInts(DType::kU4, {kColumns, 3, 16}, numbers)),
        b.Constant(HostTensor::FromDoubles(DType::kF32, heads, m.scales)), nullptr, DType::kF32, 1,
        0, {1, 1, -1});
    w = b.Op(ops::add, {w, b.Constant(HostTensor::FromDoubles(DType::kF32, heads, m.floats))});
    if (dtype != DType::kF32) w = b.Op(ops::convert, {w}, {{"dtype", dtype}});
    w = b.Op(ops::reshape, {w}, {{"size", std::vector<SymInt>{kColumns, 48}}});
    if (swapped) w = b.Op(ops::permute, {w}, {{"dims", std::vector<int64_t>{1, 0}}});
    outputs.push_back(swapped ? b.Op(ops::matmul, {x, w}) : b.Op(ops::linear, {x, w, nullptr}));
  }
  graph->SetOutputs(outputs);
  EXPECT_TRUE(b.status().ok()) << b.status();
  return module;
}

TEST(FuseNbits, TakesOffsets) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const bool swapped : {false, true}) {
      const auto module = OffsetModule(dtype, swapped);
      const std::vector<HostTensor> inputs = {
          HostTensor::FromDoubles(dtype, {3, 48}, SmallIntegers(3 * 48))};
      const auto want = reference::Run(*module->main(), inputs);
      ASSERT_TRUE(want.ok()) << want.status();
      RunPass(*module, Keeping());
      EXPECT_EQ(BitsOf(*module->main()), 4);
      const auto got = reference::Run(*module->main(), inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      for (size_t i = 0; i < want->size(); ++i) {
        EXPECT_EQ(ExactDifference((*got)[i], (*want)[i]), "");
      }
    }
  }
}

// Up to 6 in halves: the numbers need more than four bits.
TEST(FuseNbits, TakesMicroscalingWeights) {
  for (const DType scale : {DType::kF32, DType::kF8E8M0}) {
    for (const bool rows : {false, true}) {
      Form form;
      form.dtype = DType::kF4E2M1;
      form.scale = scale;
      form.rows = rows;
      form.depth = 41;
      ExpectFused(form, 8);
    }
  }
  Form halved;
  halved.dtype = DType::kF4E2M1;
  halved.scale = DType::kF16;
  ExpectFused(halved, 0);
}

TEST(FuseNbits, RepeatsScalesThatColumnsShare) {
  for (const bool rows : {false, true}) {
    for (const int64_t shared : {1, 2, 5, 7}) {
      for (const int64_t group : {16, 48, 64}) {
        Form form;
        form.rows = rows;
        form.shared_columns = shared;
        form.group = group;
        form.zero_points = true;
        ExpectFused(form, 4);
      }
    }
  }
}

// An odd number of weights of 4 bits is no whole byte, but for the last group of a row.
TEST(FuseNbits, OddGroupsHaveBytes) {
  Form form;
  form.group = 17;
  ExpectFused(form, 8);
  form.depth = 33;
  form.group = 33;
  ExpectFused(form, 4);
}

TEST(FuseNbits, StaysWhereTheTargetLacksTheOp) {
  const auto module = ModuleOf(Form());
  RunPass(*module, Target());
  EXPECT_EQ(BitsOf(*module->main()), 0);
}

TEST(NbitsDecision, SaysWhatTheWeightsAre) {
  const auto module = Parse(R"(
    func @main(%x: f32[s0, 16], %v: i8[2, 16]) {
      %s = constant(dense<0.5>) : f32[]
      %w = constant(dense<[[7, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, -8],
                           [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 8]]>) : i8[2, 16]
      %u = constant(dense<[[0.5, 1.0], [2.0, 3.0]]>) : f32[2, 2]
      %p = constant(dense<[0.5, 1.0]>) : f32[2]
      %z = constant(dense<[[0.5, 1.0], [2.0, 3.0]]>) : f32[2, 2]
      %t = constant(dense<[0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 0.5, 1.0,
                           2.0, 4.0]>) : f32[16]
      %0 = dequantize_linear(%w, %s, none)
      %1 = linear(%x, %0, none)
      %2 = dequantize_linear(%w, %u, none, block_size=8)
      %3 = linear(%x, %2, none)
      %4 = dequantize_linear(%w, %t, none, axis=1)
      %5 = linear(%x, %4, none)
      %6 = dequantize_linear(%w, %u, %z, block_size=8)
      %7 = linear(%x, %6, none)
      %8 = dequantize_linear(%v, %s, none)
      %9 = linear(%x, %8, none)
      %10 = dequantize_linear(%w, %p, none, axis=0)
      %11 = permute(%10, dims=[-1, 0])
      %12 = matmul(%x, %11)
      %13 = linear(%0, %x, none)
      return %1, %3, %5, %7, %9, %12, %13
    })");
  const uint64_t epoch = module->main()->epoch();
  const auto candidates = CollectNbits(*module->main());
  const std::string text = ToString(DecideNbits(candidates, Keeping(), 16));
  EXPECT_EQ(module->main()->epoch(), epoch);
  EXPECT_EQ(text,
            "%8 = linear: 8 bits in groups of 16\n"
            "%19 = matmul: 8 bits in groups of 16\n"
            "%10 = linear: a scale is for 8 weights of a sum, fewer than 16\n"
            "%12 = linear: a scale is for 1 weights of a sum, fewer than 16\n"
            "%14 = linear: its zero points are floats, its numbers have signs\n");
  EXPECT_EQ(ToString(DecideNbits(candidates, Target(), 16)), "");
}

}  // namespace
}  // namespace weft
